//! The logs that a command line names: files, folders with all that is in them, and parts of rotated logs, which belong together.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use super::input::Input;
use super::outcome::shown;

/// The inputs that were named, in their order.
#[derive(Default, Debug)]
pub(crate) struct Inputs {
    /// Each with whether it was found in a folder, and not named itself.
    pub(crate) all: Vec<(Input, bool)>,
    /// What could not be looked at.
    pub(crate) errors: Vec<String>,
    /// Links that lead back to where they stand.
    pub(crate) loops: Vec<String>,
}

/// Looks at what was named.
pub(crate) fn gather(named: &[PathBuf]) -> Inputs {
    let mut inputs = Inputs::default();
    let mut files = vec![];
    for path in named {
        if path != Path::new("-") && path.is_dir() {
            walk(path, &mut files, &mut inputs);
        } else {
            files.push((path.clone(), false));
        }
    }
    inputs.all = joined(files);
    inputs
}

/// All files of a folder, by name; what begins with a dot is left alone, and so are folders that contain themselves.
fn walk(folder: &Path, files: &mut Vec<(PathBuf, bool)>, inputs: &mut Inputs) {
    let is_seen = |entry: &walkdir::DirEntry| {
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        entry.depth() == 0 || !is_hidden
    };
    let walk = WalkDir::new(folder).follow_links(true).sort_by_file_name();
    let before = files.len();
    for entry in walk.into_iter().filter_entry(is_seen) {
        match entry {
            Ok(entry) if entry.file_type().is_file() => files.push((entry.into_path(), true)),
            Ok(_) => {}
            Err(error) => {
                let path = shown(error.path().unwrap_or(folder));
                match (error.loop_ancestor(), error.io_error()) {
                    (Some(ancestor), _) => inputs.loops.push(format!(
                        "{path} leads back to {} and was not followed",
                        shown(ancestor)
                    )),
                    (None, Some(error)) => {
                        inputs.errors.push(format!("{path}: cannot read: {error}"));
                    }
                    (None, None) => inputs.errors.push(format!("{path}: cannot be looked at")),
                }
            }
        }
    }
    if files.len() == before {
        let message = format!("{}: there is no file in that folder", shown(folder));
        inputs.errors.push(message);
    }
}

/// Where in the life of a rotated log a part comes: the greater, the newer.
type Age = (u8, i64, String);

/// Puts parts of one log together, where the first of them stands.
fn joined(files: Vec<(PathBuf, bool)>) -> Vec<(Input, bool)> {
    let mut series: BTreeMap<PathBuf, Vec<(Age, PathBuf)>> = BTreeMap::new();
    for (path, _) in &files {
        let (log, age) = part_of(path);
        let parts = series.entry(log).or_default();
        if parts.iter().all(|(_, known)| known != path) {
            parts.push((age, path.clone()));
        }
    }
    let mut inputs = vec![];
    for (path, is_found) in files {
        let (log, _) = part_of(&path);
        match series.get_mut(&log) {
            // Told already.
            Some(parts) if parts.is_empty() => {}
            Some(parts) if parts.len() > 1 => {
                let mut parts = std::mem::take(parts);
                parts.sort();
                let parts = parts.into_iter().map(|(_, path)| path).collect();
                inputs.push((Input::series(parts), is_found));
            }
            _ => inputs.push((Input::one(path), is_found)),
        }
    }
    inputs
}

/// The log that a file is a part of, by its name, and which part: `a.log.2`, `a.log.2.gz` (the higher, the older),
/// `a.log-20260304` (by date), `a.old.log`; anything else is a log of its own.
fn part_of(path: &Path) -> (PathBuf, Age) {
    let newest = (2, 0, String::new());
    let whole = (path.to_path_buf(), newest.clone());
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return whole;
    };
    let plain = name.strip_suffix(".gz").unwrap_or(name);
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((log, number)) = plain.rsplit_once('.')
        && is_number(number)
        && number.len() < 6
        && log.contains('.')
    {
        let number: i64 = number.parse().unwrap_or(0);
        return (path.with_file_name(log), (1, -number, String::new()));
    }
    if let Some((log, date)) = plain.split_once(".log-")
        && is_number(&date.replace('-', ""))
        && date.len() >= 8
    {
        let log = format!("{log}.log");
        return (path.with_file_name(log), (1, 0, date.to_owned()));
    }
    if let Some(log) = plain.strip_suffix(".old.log") {
        let log = format!("{log}.log");
        return (path.with_file_name(log), (0, 0, String::new()));
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(inputs: &[&str]) -> Vec<String> {
        let files = inputs.iter().map(|name| (PathBuf::from(name), false));
        let inputs = joined(files.collect());
        inputs.iter().map(|(input, _)| input.name()).collect()
    }

    #[test]
    fn parts_of_a_rotated_log_belong_together() {
        assert_eq!(
            names(&["x.log", "b.jsonl", "x.log.10.gz", "x.log.2"]),
            ["x.log.10.gz + x.log.2 + x.log", "b.jsonl"]
        );
        assert_eq!(
            names(&["x.log-20260302", "x.log", "x.log-20260301.gz"]),
            ["x.log-20260301.gz + x.log-20260302 + x.log"]
        );
        assert_eq!(names(&["m.log", "m.old.log"]), ["m.old.log + m.log"]);
    }

    #[test]
    fn other_files_stand_alone() {
        let all = [
            "a/x.log",
            "b/x.log.1",
            "x.log.1",
            "x.gz",
            "x",
            "v1.2",
            "v1",
            "7",
        ];
        assert_eq!(names(&all), all);
        assert_eq!(names(&["x.log", "x.log"]), ["x.log", "x.log"]);
    }
}
