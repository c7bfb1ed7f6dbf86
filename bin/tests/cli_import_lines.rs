//! `mcpsim check` on logs of other programs that come line by line: nothing is found in sessions that are valid, what is wrong
//! is found where it stands, and what cannot be checked is refused with what to do instead.
#![cfg(feature = "cli")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{folder, mcpsim, mcpsim_reading, write};
use serde_json::Value;

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../traces/tests/logs")
}

/// What the report says of the file.
fn check(name: &str, code: i32) -> Value {
    let ran = mcpsim(&samples(), &["check", "--format", "json", name]).ends(code);
    ran.json()["files"][0].clone()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Each finding: rule, blame, line and column.
fn found(file: &Value) -> Vec<String> {
    let one = |finding: &Value| {
        let (rule, blame) = (&finding["rule"], &finding["blame"]);
        let words = [rule, blame].map(|word| word.as_str().unwrap_or_default());
        format!(
            "{} {} {}:{}",
            words[0], words[1], finding["line"], finding["column"]
        )
    };
    list(&file["findings"]).iter().map(one).collect()
}

#[test]
fn nothing_is_found_in_a_valid_session() {
    for (name, format) in [
        ("supergateway.log", "supergateway"),
        ("strace.txt", "strace"),
        ("mcp-rec.jsonl", "mcp-rec"),
        ("mcp-vcr.ndjson", "mcp-vcr"),
        ("arrow-text.log", "arrow"),
        ("mcp-remote-debug.log", "mcp-remote"),
        ("python-sdk-http.log", "python-sdk-http"),
        ("bare.ndjson", "bare"),
    ] {
        let file = check(name, 0);
        assert_eq!(file["format"], format, "{name}");
        assert_eq!(file["frames"], 13, "{name}");
        assert_eq!(found(&file), [""; 0], "{name}");
        assert_eq!(list(&file["errors"]).len(), 0, "{name}");
        let known = if format == "mcp-remote" { 0 } else { 1 };
        assert_eq!(list(&file["revisions"]).len(), known, "{name}");
    }
}

#[test]
fn what_is_to_be_found_stands_where_it_stands() {
    let calls_what_is_not_there = |call: &str, answer: &str| {
        vec![
            format!("tool-call-unlisted client {call}"),
            format!("unknown-tool-error server {answer}"),
        ]
    };
    for (name, frames, expected) in [
        ("supergateway-real.log", 12, vec![]),
        ("strace-real.txt", 9, vec![]),
        ("mcp-remote-debug-real.log", 19, vec![]),
        ("python-sdk-http-real.log", 11, vec![]),
        (
            "mcp-rec-real.jsonl",
            21,
            calls_what_is_not_there("18:131", "19:71"),
        ),
        (
            "mcp-vcr-real.ndjson",
            21,
            calls_what_is_not_there("19:109", "20:49"),
        ),
        (
            "mcp-snoop-real.log",
            21,
            calls_what_is_not_there("607:13", "613:13"),
        ),
    ] {
        let file = check(name, 0);
        assert_eq!(file["frames"], frames, "{name}");
        assert_eq!(found(&file), expected, "{name}");
    }
}

/// A server that answers with the wrong id, and a notification that is answered, in every form.
#[test]
fn an_answer_to_nothing_is_found_in_every_form() {
    let here = folder();
    for (name, from, to) in [
        (
            "supergateway.log",
            "\"id\":3,\"result\"",
            "\"id\":9,\"result\"",
        ),
        (
            "strace.txt",
            "\\\"id\\\":3,\\\"result\\\"",
            "\\\"id\\\":9,\\\"result\\\"",
        ),
        (
            "mcp-rec.jsonl",
            "\"id\": 3, \"result\"",
            "\"id\": 9, \"result\"",
        ),
        (
            "mcp-vcr.ndjson",
            "\"id\": 3, \"result\"",
            "\"id\": 9, \"result\"",
        ),
        (
            "arrow-text.log",
            "\"id\":3,\"result\"",
            "\"id\":9,\"result\"",
        ),
        (
            "mcp-remote-debug.log",
            "{\"id\":3,\"result\"",
            "{\"id\":9,\"result\"",
        ),
        ("python-sdk-http.log", "id=3, result", "id=9, result"),
    ] {
        let log = fs::read_to_string(samples().join(name)).expect(name);
        let changed = log.replace(from, to);
        assert_ne!(log, changed, "{name}");
        write(here.path(), name, changed.as_bytes());
        let ran = mcpsim(here.path(), &["check", "--format", "json", name]).ends(1);
        let report = ran.json();
        let file = &report["files"][0];
        let lines = log.lines().count() as u64;
        let finding = list(&file["findings"])
            .iter()
            .find(|finding| finding["rule"] == "response-unknown-id");
        let finding = finding.unwrap_or_else(|| panic!("{name}: {:?}", found(file)));
        assert_eq!(finding["blame"], "server", "{name}");
        let line = finding["line"].as_u64().expect("a line");
        assert!(
            line == lines || name == "strace.txt" && line == lines - 1,
            "{name}: {line}"
        );
        // Where the frame stands there as it was, the finding points at the id; otherwise at the beginning of what was made one.
        let begin = match name {
            "mcp-remote-debug.log" => "{\"",
            "python-sdk-http.log" => "root=",
            _ => "9",
        };
        let text = changed.lines().nth(line as usize - 1).expect("a line");
        let column = finding["column"].as_u64().expect("a column") as usize;
        assert!(
            text[column - 1..].starts_with(begin),
            "{name}: {column}: {text}"
        );
    }
}

#[test]
fn what_cannot_be_checked_is_refused_with_a_hint() {
    for (name, hint) in [
        ("cursor-mcp.log", "put a recorder"),
        (
            "python-sdk-stdio.log",
            "record the server's standard streams",
        ),
        (
            "python-sdk-stdio-real.log",
            "record the server's standard streams",
        ),
        ("claude-code.jsonl", "put a recorder"),
        ("mcp-session-audit.jsonl", "not who sent them"),
        ("http-real.pcap", "mitmdump"),
    ] {
        let ran = mcpsim(&samples(), &["check", name]).ends(2);
        assert!(ran.err.contains("which cannot be checked"), "{}", ran.err);
        assert!(ran.err.contains(hint), "{}", ran.err);
    }
}

/// An entry of Claude Code's log.
fn entry(second: u32, text: &str) -> String {
    let text = serde_json::to_string(text).expect("text");
    format!(
        "{{\"debug\":{text},\"timestamp\":\"2026-03-04T09:{:02}:{:02}.000Z\",\"sessionId\":\"s\",\"cwd\":\"/srv\"}}\n",
        second / 60,
        second % 60
    )
}

/// A call that hangs is found where Claude Code logged all messages; where a state tells that some are not there, nobody is
/// accused of what these may explain.
#[test]
fn messages_that_claude_code_left_out_accuse_nobody() {
    let here = folder();
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"claude-code","version":"2"}}}"#;
    let welcome = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}"#;
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let call =
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","arguments":{}}}"#;
    let hang = [
        entry(0, &format!("Sending: {initialize}")),
        entry(1, &format!("Received: {welcome}")),
        entry(1, "Successfully connected to stdio server in 54ms"),
        entry(1, &format!("Sending: {initialized}")),
        entry(2, "Calling MCP tool: t"),
        entry(2, &format!("Sending: {call}")),
        entry(602, "Closing transport"),
    ];
    write(here.path(), "hang.jsonl", hang.concat());
    let done = [
        &hang[..6],
        &[entry(600, "Tool 't' completed successfully in 598000ms")],
    ]
    .concat();
    write(here.path(), "done.jsonl", done.concat());
    let array = format!("[{}]", hang.concat().trim_end().replace('\n', ","));
    write(here.path(), "old.json", array);

    for (name, lines) in [("hang.jsonl", "6:"), ("old.json", "1:")] {
        let ran = mcpsim(here.path(), &["check", "--format", "json", name]).ends(1);
        let file = &ran.json()["files"][0];
        let found = found(file);
        assert_eq!(found.len(), 1, "{found:?}");
        let words = format!("request-unanswered server {lines}");
        assert!(found[0].starts_with(&words), "{found:?}");
        assert_eq!(file["format"], "claude-code");
        assert_eq!(file["sessions"][0]["ended"], "the client closed its side");
    }

    let ran = mcpsim(here.path(), &["check", "--format", "json", "done.jsonl"]).ends(0);
    let file = &ran.json()["files"][0];
    assert_eq!(found(file), [""; 0]);
    let lost = serde_json::json!(["raw text", "lines that are no frames", "some frames"]);
    assert_eq!(file["lost"], lost);
    let open = &file["not_checkable"]["request-unanswered"];
    assert_eq!(open, &serde_json::json!(["some frames"]));

    // Nothing but states, which shows only at the end of a long one: refused alone, and no log among others.
    let states = fs::read_to_string(samples().join("claude-code.jsonl")).expect("a sample");
    write(here.path(), "logs.jsonl", states.repeat(100));
    let ran = mcpsim(here.path(), &["check", "logs.jsonl"]).ends(2);
    assert!(ran.err.contains("which cannot be checked"), "{}", ran.err);
    assert_eq!(ran.text().lines().count(), 1, "{}", ran.text());
    let ran = mcpsim(here.path(), &["check", "."]).ends(1);
    assert!(ran.text().contains("1 file is no log"), "{}", ran.text());
}

/// A server that says hello on its standard output is told so, where the log keeps the line.
#[test]
fn what_is_no_frame_is_the_servers_doing() {
    let here = folder();
    let log = fs::read_to_string(samples().join("supergateway.log")).expect("a sample");
    write(
        here.path(),
        "gateway",
        format!("{log}[supergateway] Child non-JSON: hello\n").as_bytes(),
    );
    let log = fs::read_to_string(samples().join("strace.txt")).expect("a sample");
    let line = "4711  09:15:00.950000 write(1, \"hello\\n\", 6) = 6\n";
    write(here.path(), "strace", format!("{log}{line}").as_bytes());
    for name in ["gateway", "strace"] {
        let ran = mcpsim(here.path(), &["check", "--format", "json", name]);
        let report = ran.json();
        let found = found(&report["files"][0]);
        assert_eq!(found.len(), 1, "{name}: {found:?}");
        assert!(found[0].contains(" server "), "{name}: {found:?}");
    }
}

/// From standard input it is the same.
#[test]
fn a_log_may_come_in() {
    let log = fs::read(samples().join("strace.txt")).expect("a sample");
    let ran = mcpsim_reading(&samples(), &["check", "-"], &log).ends(0);
    assert!(ran.text().contains("nothing found"), "{}", ran.text());
}
