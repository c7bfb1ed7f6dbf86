//! `mcpsim check`: documents of HTTP exchanges. Each fault is put into a clean sample, and found alone.
#![cfg(feature = "cli")]

mod common;

use common::{folder, mcpsim};
use serde_json::Value;

fn sample(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../traces/tests/logs");
    std::fs::read_to_string(format!("{folder}/{name}")).expect("a sample")
}

fn checked(text: &str, code: i32) -> Value {
    let folder = folder();
    std::fs::write(folder.path().join("x.har"), text).expect("written");
    let ran = mcpsim(folder.path(), &["check", "--format", "json", "x.har"]).ends(code);
    ran.json()["files"][0].clone()
}

/// In `http-real.har` every exchange was answered in its own stream, with the headers that its revision wants, ids of events that
/// are all different, and the DELETE at the end: a server and a client that do as they should.
#[test]
fn nothing_is_found_in_clean_documents() {
    for (name, format, frames) in [
        ("http.har", "har", 13),
        ("http-real.har", "har", 11),
        ("inspector-network.json", "inspector-network", 12),
    ] {
        let file = checked(&sample(name), 0);
        assert_eq!(file["format"], format);
        assert_eq!(file["frames"], frames, "{name}");
        assert_eq!(file["findings"], serde_json::json!([]), "{name}");
    }
}

/// The one finding of a document: its rule, whom it blames, and where.
fn only_finding(text: &str) -> (String, String, u64) {
    let file = checked(text, 1);
    let findings = file["findings"].as_array().expect("a list");
    assert_eq!(findings.len(), 1, "{findings:?}");
    let word = |name: &str| findings[0][name].as_str().expect(name).to_owned();
    let line = findings[0]["line"].as_u64().expect("a line");
    (word("rule"), word("blame"), line)
}

fn line_of(text: &str, words: &str) -> u64 {
    let at = text.rfind(words).expect("there");
    text[..at].matches('\n').count() as u64 + 1
}

fn told(rule: &str, blame: &str, line: u64) -> (String, String, u64) {
    (rule.to_owned(), blame.to_owned(), line)
}

#[test]
fn a_second_response_in_a_body_is_found() {
    let text = sample("http.har");
    let one = r#"data: {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\n\n"#;
    let twice = text.replace(one, &format!("{one}id: 2\\n{one}"));
    let line = line_of(&twice, one);
    assert_eq!(
        only_finding(&twice),
        told("duplicate-response", "server", line)
    );
}

#[test]
fn an_unknown_id_is_found() {
    let text = sample("http-real.har");
    let id = r#"{\"result\":{},\"jsonrpc\":\"2.0\",\"id\":4}"#;
    assert!(text.contains(id), "the answer to the ping");
    let other = text.replace(id, &id.replace("4}", "44}"));
    let file = checked(&other, 1);
    let findings = file["findings"].as_array().expect("a list");
    let rules: Vec<&str> = findings
        .iter()
        .filter_map(|one| one["rule"].as_str())
        .collect();
    assert!(rules.contains(&"response-unknown-id"), "{rules:?}");
    assert!(findings.iter().all(|one| one["blame"] == "server"));
}

#[test]
fn a_missing_version_header_is_found() {
    let mut text = sample("http.har");
    let name = "\"MCP-Protocol-Version\"";
    let at = text.rfind(name).expect("there");
    text.replace_range(at..at + name.len(), "\"X-Other\"");
    let line = line_of(&text, r#"\"method\":\"ping\""#);
    assert_eq!(
        only_finding(&text),
        told("http-version-header", "client", line)
    );
}

#[test]
fn an_answer_to_a_notification_is_found() {
    let text = sample("http.har");
    let content = "\"size\": 0,\n      \"mimeType\": \"x-unknown\",\n      \"text\": \"\"";
    let json = "\"size\": 2,\n      \"mimeType\": \"application/json\",\n      \"text\": \"{}\"";
    let other = text
        .replacen(content, json, 1)
        .replacen("\"status\": 202", "\"status\": 200", 1);
    assert_ne!(other, text);
    let line = line_of(&other, "\"text\": \"{}\"");
    let finding = told("http-202-for-one-way", "server", line);
    assert_eq!(only_finding(&other), finding);
}

/// Bodies that do not begin with 1 show that the server numbers its events: here all are different but the last one.
#[test]
fn an_event_id_that_comes_twice_is_found() {
    let text = sample("http.har");
    let parts: Vec<&str> = text.split("id: ").collect();
    let mut other = parts[0].to_owned();
    for (nth, part) in parts[1..].iter().enumerate() {
        let number = if nth + 2 == parts.len() { nth - 1 } else { nth };
        let (_, rest) = part.split_once('\\').expect("a number");
        other.push_str(&format!("id: e{number}\\{rest}"));
    }
    let line = line_of(&other, "id: e");
    let finding = told("http-event-id-unique", "server", line);
    assert_eq!(only_finding(&other), finding);
}

/// An archive that was made of a session on a pipe tells of no exchanges, and of no fault in them.
#[test]
fn an_archive_of_a_pipe_is_no_http() {
    let folder = folder();
    let log = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../traces/tests/logs/inspector-protocol.json"
    );
    let made = ["convert", log, "--to", "har", "-o", "x.har"];
    mcpsim(folder.path(), &made).ends(0);
    let ran = mcpsim(folder.path(), &["check", "--format", "json", "x.har"]).ends(0);
    let file = ran.json()["files"][0].clone();
    assert_eq!(
        (&file["format"], &file["frames"]),
        (&"har".into(), &13.into())
    );
    assert_eq!(file["findings"], serde_json::json!([]));
}

#[test]
fn a_broken_document_ends_with_2() {
    let folder = folder();
    std::fs::write(folder.path().join("x.har"), "{\"log\":{\"entries\":[\n3]}}").expect("written");
    let ran = mcpsim(folder.path(), &["check", "x.har"]).ends(2);
    assert!(ran.err.contains("x.har:2:1: "), "{}", ran.err);
}
