//! `mcpsim check`: logs of other programs that are one JSON document.
#![cfg(feature = "cli")]

mod common;

use common::{folder, mcpsim};

fn log(name: &str) -> String {
    format!("{}/../traces/tests/logs/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn nothing_is_found_in_a_clean_cassette() {
    for (name, frames) in [("mcp-cassette.json", 13), ("mcp-cassette-real.json", 21)] {
        let ran = mcpsim(folder().path(), &["check", "--format", "json", &log(name)]).ends(0);
        let report = ran.json();
        let file = &report["files"][0];
        assert_eq!(file["format"], "mcp-cassette");
        assert_eq!(file["frames"], frames, "{name}");
        assert_eq!(file["findings"], serde_json::json!([]), "{name}");
    }
}

#[test]
fn nothing_is_found_in_a_clean_export_of_the_inspector() {
    let name = log("inspector-protocol.json");
    let ran = mcpsim(folder().path(), &["check", "--format", "json", &name]).ends(0);
    let file = &ran.json()["files"][0];
    assert_eq!(file["format"], "inspector-protocol");
    assert_eq!(file["frames"], 13);
    assert_eq!(file["findings"], serde_json::json!([]));
}

/// The Inspector leaves a second response with the same id standing alone: it is found where it stands.
#[test]
fn a_second_response_is_found_in_an_export_of_the_inspector() {
    let text = std::fs::read_to_string(log("inspector-protocol.json")).expect("a sample");
    let end = text.rfind("\n]").expect("an array");
    let second = ",\n  {\"id\": \"m13\", \"timestamp\": \"2026-03-04T09:15:00.950Z\", \"direction\": \"response\", \"origin\": \"server\", \
                  \"message\": {\"jsonrpc\": \"2.0\", \"id\": 3, \"result\": {}}}";
    let folder = folder();
    let path = folder.path().join("twice.json");
    std::fs::write(&path, format!("{}{second}{}", &text[..end], &text[end..])).expect("written");
    let ran = mcpsim(folder.path(), &["check", "--format", "json", "twice.json"]).ends(1);
    let report = ran.json();
    let findings = report["files"][0]["findings"].as_array().expect("a list");
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(findings[0]["rule"], "duplicate-response");
    assert_eq!(findings[0]["blame"], "server");
    let line = text[..end].lines().count() + 1;
    assert_eq!(findings[0]["line"], line);
}

#[test]
fn an_export_without_ids_is_refused_with_a_hint() {
    let name = log("mcp-debugger-real.json");
    let ran = mcpsim(folder().path(), &["check", &name]).ends(2);
    assert!(ran.err.contains("leaves out the ids"), "{}", ran.err);
}

/// The answer was folded into its request: progress of the same millisecond may have come before it.
#[test]
fn equal_times_have_no_order_in_an_export_of_the_inspector() {
    let text = std::fs::read_to_string(log("inspector-protocol.json")).expect("a sample");
    let mut all: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let entries = all.as_array_mut().expect("a list");
    let method = |entry: &serde_json::Value| entry["message"]["method"].clone();
    let call = entries
        .iter()
        .position(|entry| method(entry) == "tools/call")
        .expect("a call");
    entries[call]["timestamp"] = "2026-03-04T09:15:00.400Z".into();
    entries[call]["duration"] = 60.into();
    let progress = entries
        .iter_mut()
        .find(|entry| method(entry) == "notifications/progress");
    progress.expect("progress")["timestamp"] = "2026-03-04T09:15:00.460Z".into();
    let folder = folder();
    std::fs::write(folder.path().join("tie.json"), all.to_string()).expect("written");
    let ran = mcpsim(folder.path(), &["check", "--format", "json", "tie.json"]).ends(0);
    let file = &ran.json()["files"][0];
    assert_eq!(file["findings"], serde_json::json!([]));
    let lost = file["lost"].as_array().expect("a list");
    assert!(lost.contains(&"order between streams".into()), "{lost:?}");
}
