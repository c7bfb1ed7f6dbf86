//! How a command ends: its exit code, and one clear message where it could not do its work.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use crate::traces::show::escape;

/// How a command that could be carried out ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// Nothing was found.
    Clean,
    /// A rule is broken.
    Found,
    /// Some input could not be used, or nothing could be judged; whatever could be is reported.
    Unusable,
    /// Ctrl-C.
    Interrupted,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> ExitCode {
        ExitCode::from(match outcome {
            Outcome::Clean => 0,
            Outcome::Found => 1,
            Outcome::Unusable => 2,
            Outcome::Interrupted => 130,
        })
    }
}

/// Why a command could not be carried out: one message that names the place and what to do.
#[derive(Debug)]
pub(crate) struct Failure(String);

impl Failure {
    /// A failure with that message.
    pub(crate) fn new(message: impl fmt::Display) -> Failure {
        Failure(message.to_string())
    }

    /// A failure to read or write that file.
    pub(crate) fn file(doing: &str, path: &Path, error: &io::Error) -> Failure {
        Failure(format!("{}: cannot {doing}: {error}", shown(path)))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A path as it is safe to print: a file's name can hold what moves a terminal's cursor.
pub(crate) fn shown(path: &Path) -> String {
    escape(&path.display().to_string()).into_owned()
}

/// What commands return.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// Writes a report to standard output at once. Where its reader has gone there is nobody to tell:
/// the command goes on and its exit code says how it ended.
///
/// # Errors
/// A message for any other error (a full disk).
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => {
            let message = format!("cannot write to standard output: {error}");
            Err(Failure::new(message))
        }
    }
}

/// Writes a remark to standard error; a closed one is no reason to stop.
pub(crate) fn remark(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// "Did you mean": the names most like the one that was given, the nearest first.
pub(crate) fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut scored: Vec<(usize, &str)> = known
        .into_iter()
        .map(|name| {
            let within = name.contains(wanted) || wanted.contains(name);
            let distance = strsim::damerau_levenshtein(wanted, name);
            (if within { distance.min(3) } else { distance }, name)
        })
        .filter(|(distance, name)| *distance <= 3.max(name.len() / 2))
        .collect();
    scored.sort();
    scored.into_iter().take(3).map(|(_, name)| name).collect()
}

/// So many of something, in words: `1 frame`, `2 frames`.
pub(crate) fn counted(number: impl Into<u64>, noun: &str) -> String {
    let number = number.into();
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// The message for a name that is not known.
pub(crate) fn unknown<'a>(
    kind: &str,
    wanted: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Failure {
    unknown_in(kind, wanted, known, &format!("mcpsim list {kind}s"))
}

/// The same, with the command that lists what is known.
pub(crate) fn unknown_in<'a>(
    kind: &str,
    wanted: &str,
    known: impl IntoIterator<Item = &'a str>,
    command: &str,
) -> Failure {
    let near = nearest(wanted, known);
    let hint = if near.is_empty() {
        String::new()
    } else {
        format!(
            "; did you mean {}?",
            near.iter()
                .map(|name| format!("`{name}`"))
                .collect::<Vec<_>>()
                .join(" or ")
        )
    };
    Failure::new(format!("unknown {kind} {wanted:?}{hint} (see `{command}`)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_offered_and_far_ones_are_not() {
        let known = ["cancel-initialize", "cancel-twice", "duplicate-response"];
        assert_eq!(nearest("cancel-initialise", known)[0], "cancel-initialize");
        assert_eq!(nearest("xyz", known), [""; 0]);
        let message = unknown("rule", "duplicate-respons", known).to_string();
        assert!(
            message.contains("did you mean `duplicate-response`?"),
            "{message}"
        );
    }
}
