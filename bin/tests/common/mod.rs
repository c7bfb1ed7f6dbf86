//! Runs the binary in a folder of its own and reads what it says; every run is held to ending in time and without a panic.
#![allow(dead_code, unreachable_pub)]

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// The binary under test.
pub const MCPSIM: &str = env!("CARGO_BIN_EXE_mcpsim");

/// A run that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// How a run of the binary ended and what it said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ran {
    pub code: i32,
    pub out: Vec<u8>,
    pub err: String,
}

impl Ran {
    /// Standard output as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.out).expect("text")
    }

    /// Standard output as one JSON object with a `schema`.
    pub fn json(&self) -> Value {
        let report: Value = serde_json::from_slice(&self.out)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", self.text(), self.err));
        assert!(report["schema"].is_string(), "{report}");
        report
    }

    /// The same, ended with that exit code.
    #[track_caller]
    pub fn ends(self, code: i32) -> Ran {
        assert_eq!(
            self.code,
            code,
            "{}\n{}",
            String::from_utf8_lossy(&self.out),
            self.err
        );
        self
    }

    /// The same, with exactly one message on standard error, which has all of these in it.
    #[track_caller]
    pub fn says(self, parts: &[&str]) -> Ran {
        assert_eq!(self.err.trim_end().lines().count(), 1, "{}", self.err);
        for part in parts {
            assert!(self.err.contains(part), "{part:?} in {}", self.err);
        }
        self
    }
}

/// The binary with these arguments in that folder, free of the surroundings' seed.
pub fn command(binary: impl AsRef<Path>, folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(binary.as_ref());
    command
        .args(args)
        .current_dir(folder)
        .env_remove("MCPSIM_SEED");
    command
}

/// Runs it without input.
pub fn mcpsim(folder: &Path, args: &[&str]) -> Ran {
    finish(command(MCPSIM, folder, args), b"")
}

/// Runs it with that on standard input.
pub fn mcpsim_reading(folder: &Path, args: &[&str], input: &[u8]) -> Ran {
    finish(command(MCPSIM, folder, args), input)
}

/// Runs a command to its end.
pub fn finish(mut command: Command, input: &[u8]) -> Ran {
    let name = format!("{command:?}");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_vec();
    // Whoever does not read its input may close it.
    let feed = thread::spawn(move || drop(stdin.write_all(&input)));
    let out = drain(child.stdout.take().expect("a pipe"));
    let err = drain(child.stderr.take().expect("a pipe"));
    let code = wait(&mut child, &name);
    feed.join().expect("fed");
    let ran = Ran {
        code,
        out: out.join().expect("read"),
        err: String::from_utf8_lossy(&err.join().expect("read")).into_owned(),
    };
    assert!(!ran.err.contains("panicked"), "{name}: {}", ran.err);
    ran
}

fn drain(mut from: impl Read + Send + 'static) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut all = vec![];
        from.read_to_end(&mut all).expect("readable");
        all
    })
}

/// The exit code of a child that ends in time; 255 for one that a signal ended.
pub fn wait(child: &mut Child, name: &str) -> i32 {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child") {
            return status.code().unwrap_or(255);
        }
        if began.elapsed() > PATIENCE {
            child.kill().expect("a child");
            panic!("{name}: hangs");
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// A folder that is gone after the test.
pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// The files of a folder by name; none where there is no folder.
pub fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return BTreeMap::new();
    };
    entries
        .map(|entry| {
            let entry = entry.expect("readable");
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, read(&entry.path()))
        })
        .collect()
}

/// A file's bytes.
pub fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Writes a file into a folder and gives its name.
pub fn write(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("writable");
    path
}

/// The names of an object's members.
pub fn members(object: &Value) -> Vec<&str> {
    let object = object
        .as_object()
        .unwrap_or_else(|| panic!("no object: {object}"));
    let mut names: Vec<&str> = object.keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

/// A member that is text.
#[track_caller]
pub fn text<'a>(object: &'a Value, member: &str) -> &'a str {
    object[member]
        .as_str()
        .unwrap_or_else(|| panic!("no text {member:?} in {object}"))
}

/// The fault catalogue, as the program lists it.
pub fn faults() -> Vec<Value> {
    let here = folder();
    let report = mcpsim(here.path(), &["list", "faults", "--format", "json"])
        .ends(0)
        .json();
    let rows = report["faults"].as_array().expect("rows").clone();
    assert!(rows.len() >= 19, "{}", rows.len());
    rows
}

/// The first failure of that fault's campaign, saved in `out` below the folder.
pub fn failure(folder: &Path, fault: &str) -> Value {
    let args = [
        "run", "--fault", fault, "--seed", "7", "--runs", "2000", "--out", "out", "--format",
        "json",
    ];
    let report = mcpsim(folder, &args).ends(1).json();
    report["failures"][0].clone()
}

/// A table of `docs/reports.md`: the members that the section with that heading names.
pub fn documented(heading: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reports.md");
    let page = String::from_utf8(read(&path)).expect("text");
    let section = page
        .split("\n## ")
        .find(|section| section.starts_with(heading))
        .unwrap_or_else(|| panic!("no section {heading}"));
    let mut names = vec![];
    for row in section.lines().filter(|line| line.starts_with("| `")) {
        let cell = row.split('|').nth(1).expect("a first column");
        let mut parent = "";
        for name in cell.split('`').skip(1).step_by(2) {
            // `failures[].rule`, `.blame`: the second one stands in the same list.
            match name.strip_prefix('.') {
                Some(rest) => names.push(format!("{parent}{rest}")),
                None => {
                    parent = name.rfind('.').map_or("", |dot| &name[..=dot]);
                    names.push(name.to_owned());
                }
            }
        }
    }
    assert!(!names.is_empty(), "no table in {heading}");
    names
}

/// A line of a capture: a frame from the client (`c2s`) or the server (`s2c`).
pub fn captured(dir: &str, raw: &str) -> String {
    format!("{}\n", serde_json::json!({ "dir": dir, "raw": raw }))
}

/// A session's first three frames.
pub fn handshake() -> String {
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}"#;
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    captured("c2s", initialize) + &captured("s2c", answer) + &captured("c2s", initialized)
}

/// A ping with that id and its answer.
pub fn ping(id: u32) -> String {
    captured(
        "c2s",
        &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#),
    ) + &captured(
        "s2c",
        &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#),
    )
}
