//! What `check` can be given: packed files, folders, parts of rotated logs, patterns, and logs that are still being written.

mod common;

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::{MCPSIM, captured, command, folder, handshake, mcpsim, text, write};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(vec![], Compression::default());
    packed.write_all(bytes).expect("packed");
    packed.finish().expect("packed")
}

fn asked() -> String {
    captured("c2s", r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#)
}

fn answered() -> String {
    captured("s2c", r#"{"jsonrpc":"2.0","id":5,"result":{}}"#)
}

/// A session whose server answers one ping twice, in the last two lines.
fn session() -> String {
    format!("{}{}{}{}", handshake(), asked(), answered(), answered())
}

fn report(folder: &Path, args: &[&str], code: i32) -> Value {
    let args = [&["check", "--format", "json"], args].concat();
    mcpsim(folder, &args).ends(code).json()
}

/// Each finding of a file as rule, file and line.
fn found(file: &Value) -> Vec<String> {
    let findings = file["findings"].as_array().expect("findings");
    findings
        .iter()
        .map(|one| format!("{} {} {}", text(one, "rule"), one["file"], one["line"]))
        .collect()
}

#[test]
fn a_packed_log_is_unpacked() {
    let folder = folder();
    let whole = session();
    write(folder.path(), "log.jsonl.gz", gzip(whole.as_bytes()));
    let plain = write(folder.path(), "log.jsonl", &whole);
    let packed = report(folder.path(), &["log.jsonl.gz"], 1);
    let unpacked = report(folder.path(), &[plain.to_str().expect("UTF-8")], 1);
    assert_eq!(
        packed["files"][0]["findings"],
        unpacked["files"][0]["findings"]
    );
    // One that was cut is judged as far as it goes, and told.
    let long = whole.repeat(2000);
    let cut = &gzip(long.as_bytes())[..3000];
    write(folder.path(), "cut.gz", cut);
    let ran = mcpsim(folder.path(), &["check", "cut.gz"]).ends(2);
    ran.says(&["cut.gz: cannot read:"]);
}

#[test]
fn what_only_pretends_to_be_a_log_is_not_unpacked_for_ever() {
    let folder = folder();
    let mut packed = GzEncoder::new(vec![], Compression::best());
    let line = b"{\"dir\":\"c2s\",\"event\":\"x\"}\n".repeat(40_000);
    for _ in 0..320 {
        packed.write_all(&line).expect("packed");
    }
    write(folder.path(), "bomb.gz", packed.finish().expect("packed"));
    let ran = mcpsim(folder.path(), &["check", "bomb.gz"]).ends(2);
    ran.says(&["bomb.gz: cannot read: it unpacks to more than 400 times its size"]);
}

#[test]
fn parts_of_a_rotated_log_are_one_log() {
    let folder = folder();
    let whole = session();
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let (old, new) = lines.split_at(lines.len() - 2);
    write(folder.path(), "mcp.log.1.gz", gzip(old.concat().as_bytes()));
    write(folder.path(), "mcp.log", new.concat());
    let report = report(folder.path(), &["mcp.log", "mcp.log.1.gz"], 1);
    let files = report["files"].as_array().expect("files");
    assert_eq!(files.len(), 1);
    assert_eq!(files[0]["file"], "mcp.log.1.gz + mcp.log");
    assert_eq!(found(&files[0]), [r#"duplicate-response "mcp.log" 2"#]);
}

#[test]
fn a_folder_stands_for_its_logs_in_their_order() {
    let folder = folder();
    let inside = folder.path().join("logs");
    fs::create_dir_all(inside.join("b")).expect("a folder");
    for nth in 0..9 {
        write(&inside, &format!("b/{nth}.jsonl"), session());
    }
    write(&inside, "a.jsonl", handshake());
    write(&inside, "notes.txt", "nothing to see");
    write(&inside, ".hidden", "nothing to see");
    let one = report(folder.path(), &["logs", "--jobs", "1"], 1);
    assert_eq!(one, report(folder.path(), &["logs", "--jobs", "4"], 1));
    let names: Vec<&str> = one["files"]
        .as_array()
        .expect("files")
        .iter()
        .map(|file| text(file, "file"))
        .collect();
    let logs = (0..9).map(|nth| format!("logs/b/{nth}.jsonl"));
    let wanted: Vec<String> = ["logs/a.jsonl".to_owned()]
        .into_iter()
        .chain(logs)
        .collect();
    assert_eq!(names[..10], wanted);
    let rest = &one["files"][10]["remarks"][0];
    assert_eq!(
        rest,
        "1 file is no log that can be checked; name one to see why"
    );
    fs::create_dir(folder.path().join("empty")).expect("a folder");
    let ran = mcpsim(folder.path(), &["check", "empty"]).ends(2);
    ran.says(&["empty: there is no file in that folder"]);
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_back_is_told_and_not_followed() {
    let folder = folder();
    let inside = folder.path().join("logs");
    fs::create_dir(&inside).expect("a folder");
    write(&inside, "a.jsonl", handshake());
    std::os::unix::fs::symlink("..", inside.join("back")).expect("a link");
    let ran = mcpsim(folder.path(), &["check", "logs"]).ends(0);
    assert!(
        ran.text().contains("logs/back leads back to"),
        "{}",
        ran.text()
    );
}

#[test]
fn a_pattern_describes_a_log() {
    let folder = folder();
    let log = "#1 OUT {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\
               #2 IN {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\
               #3 IN {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n";
    write(folder.path(), "own.txt", log);
    let pattern = r"^#\d+ (?:(?<c2s>OUT)|(?<s2c>IN)) (?<frame>\{.*)$";
    let report = report(folder.path(), &["own.txt", "--pattern", pattern], 1);
    assert_eq!(found(&report["files"][0]), ["duplicate-response null 3"]);
    let ran = mcpsim(
        folder.path(),
        &["check", "own.txt", "--pattern", "(?<frame>x"],
    )
    .ends(2);
    ran.says(&["mcpsim: --pattern, column "]);
}

/// Waits until the output has that, and gives all of it.
fn wait_for(path: &Path, wanted: &str) -> String {
    let began = Instant::now();
    loop {
        let mut seen = String::new();
        let mut file = File::open(path).expect("the output");
        file.read_to_string(&mut seen).expect("UTF-8");
        if seen.contains(wanted) {
            return seen;
        }
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "{wanted}: {seen}"
        );
        thread::sleep(Duration::from_millis(20));
    }
}

fn follow(folder: &Path, args: &[&str]) -> Child {
    let out = File::create(folder.join("out")).expect("a file");
    let mut command = command(MCPSIM, folder, &[&["check", "--follow"], args].concat());
    command.stdin(Stdio::null());
    command.stdout(out).stderr(Stdio::null());
    command.spawn().expect("a child")
}

#[cfg(unix)]
#[test]
fn a_log_is_followed_while_it_is_written() {
    let folder = folder();
    let out = folder.path().join("out");
    let log = folder.path().join("log.jsonl");
    let mut child = follow(folder.path(), &["log.jsonl"]);
    let append = |text: &str| {
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&log)
            .expect("open");
        file.write_all(text.as_bytes()).expect("written");
    };
    let answer = answered();
    append(&handshake());
    append(&asked());
    // A line in two halves is one line.
    append(&answer[..20]);
    thread::sleep(Duration::from_millis(300));
    append(&answer[20..]);
    append(&answer);
    wait_for(&out, "duplicate-response");
    fs::rename(&log, folder.path().join("log.jsonl.1")).expect("renamed");
    append(&captured(
        "s2c",
        r#"{"jsonrpc":"2.0","id":"x","result":{}}"#,
    ));
    let seen = wait_for(&out, "response-unknown-id");
    assert!(seen.contains("line 1"), "{seen}");
    let id = child.id().to_string();
    let sent = std::process::Command::new("kill")
        .args(["-INT", &id])
        .status();
    assert!(sent.expect("kill").success());
    assert_eq!(common::wait(&mut child, "follow"), 1);
    wait_for(&out, "rules: 2 broken");
}

/// Time goes on where nothing is written: a hang is found while it lasts.
#[test]
fn a_hang_is_found_while_it_lasts() {
    let folder = folder();
    let timed = |t: u64, line: &str| line.replacen('{', &format!("{{\"t_ms\":{t},"), 1);
    let lines: String = handshake()
        .split_inclusive('\n')
        .chain([asked().as_str()])
        .enumerate()
        .map(|(t, line)| timed(t as u64, line))
        .collect();
    write(folder.path(), "log.jsonl", lines);
    let args = ["log.jsonl", "--patience", "500ms", "--format", "json"];
    let mut child = follow(folder.path(), &args);
    let seen = wait_for(&folder.path().join("out"), "request-unanswered");
    child.kill().expect("killed");
    child.wait().expect("gone");
    let finding: Value = serde_json::from_str(seen.lines().next().expect("a line")).expect("JSON");
    assert_eq!(finding["blame"], "server");
    assert_eq!(finding["verdict"], "broken");
}

/// What the beginning told is what the rest is read by, also where a finding is shown.
#[cfg(unix)]
#[test]
fn findings_are_shown_in_a_log_that_looked_otherwise_at_first() {
    let folder = folder();
    let (out, log) = (folder.path().join("out"), folder.path().join("log"));
    let ping = |id: u32, version: &str| {
        format!("--> {{\"jsonrpc\":\"{version}\",\"id\":{id},\"method\":\"ping\"}}\n")
    };
    let marked = |(line, mark): (&str, &str)| {
        let captured: Value = serde_json::from_str(line).expect("JSON");
        format!("{mark} {}\n", captured["raw"].as_str().expect("a frame"))
    };
    let begun = handshake();
    let lines = begun.lines().zip(["-->", "<--", "-->"]);
    let begun: String = lines.map(marked).collect();
    write(folder.path(), "log", begun + &ping(1, "1.0"));
    let mut child = follow(folder.path(), &["log"]);
    wait_for(&out, "line 4:");
    // From here on each line stands there twice.
    let mut more: String = (2..50).map(|id| ping(id, "2.0").repeat(2)).collect();
    more.push_str(&ping(77, "3.0"));
    let mut file = OpenOptions::new().append(true).open(&log).expect("open");
    file.write_all(more.as_bytes()).expect("written");
    let seen = wait_for(&out, "line 101:");
    child.kill().expect("killed");
    child.wait().expect("gone");
    assert!(seen.contains("\"jsonrpc\":\"3.0\",\"id\":77"), "{seen}");
}

/// Where there are several sessions, whoever follows a log wants to know which.
#[cfg(unix)]
#[test]
fn findings_of_a_followed_log_name_their_server() {
    let folder = folder();
    let say = |name: &str, line: &str| {
        let captured: Value = serde_json::from_str(line).expect("JSON");
        let side = if captured["dir"] == "c2s" {
            "client"
        } else {
            "server"
        };
        let raw = captured["raw"].as_str().expect("a frame");
        format!("2026-03-04T09:15:00.000Z [{name}] [info] Message from {side}: {raw}\n")
    };
    let one = format!(
        "{}{}",
        handshake(),
        captured("s2c", r#"{"jsonrpc":"2.0","id":"x","result":{}}"#)
    );
    let both: String = one
        .lines()
        .map(|line| say("garden", line) + &say("weather", line))
        .collect();
    write(folder.path(), "mcp.log", both);
    let mut child = follow(folder.path(), &["mcp.log"]);
    let seen = wait_for(&folder.path().join("out"), "the server   weather   frame");
    child.kill().expect("killed");
    child.wait().expect("gone");
    assert!(seen.contains("the server   garden   frame"), "{seen}");
}

/// It would be waited for what never comes.
#[test]
fn what_is_judged_as_a_whole_is_not_followed() {
    let folder = folder();
    write(folder.path(), "log.gz", gzip(handshake().as_bytes()));
    write(folder.path(), "log.jsonl", handshake());
    let args = ["convert", "log.jsonl", "-o", "trace.jsonl", "--to", "trace"];
    mcpsim(folder.path(), &args).ends(0);
    for (name, said) in [
        ("log.gz", "what is packed is not written on"),
        ("trace.jsonl", "a trace is not followed"),
    ] {
        mcpsim(folder.path(), &["check", "--follow", name])
            .ends(2)
            .says(&[said, "without --follow"]);
    }
}

#[test]
fn only_one_file_is_followed() {
    let folder = folder();
    for args in [&["a", "b"][..], &["-"]] {
        let args = [&["check", "--follow"], args].concat();
        mcpsim(folder.path(), &args).ends(2).says(&["--follow"]);
    }
}
