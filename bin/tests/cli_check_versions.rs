//! `mcpsim check`: which protocol versions a log goes by, and where one session ends and another begins.
#![cfg(feature = "cli")]

mod common;

use common::{captured, folder, handshake, mcpsim, text, write};
use serde_json::{Value, json};

/// Capabilities and a version, as a request that needs no handshake names them.
fn call(id: u32, version: &str) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "t", "_meta": meta});
    let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
    captured("c2s", &call.to_string())
}

/// … and its answer.
fn answer(id: u32) -> String {
    let result = json!({"resultType": "complete", "content": []});
    captured(
        "s2c",
        &json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string(),
    )
}

/// A handshake in which the server answers with that version.
fn agreed_on(version: &str) -> String {
    let init = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"},
    });
    let result = json!({
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "s", "version": "1"},
    });
    let frames = [
        (
            "c2s",
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": init}),
        ),
        ("s2c", json!({"jsonrpc": "2.0", "id": 1, "result": result})),
        (
            "c2s",
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        ),
    ];
    let lines = frames.map(|(dir, frame)| captured(dir, &frame.to_string()));
    lines.concat()
}

/// What `check` reports of that log, as JSON and for people.
fn checked(log: &str) -> (Value, String) {
    let here = folder();
    write(here.path(), "log", log);
    let json = mcpsim(here.path(), &["check", "log", "--format", "json"]);
    assert!(json.code < 2, "{}", json.err);
    let shown = mcpsim(here.path(), &["check", "log"]);
    let file = json.json()["files"][0].clone();
    (file, shown.text().to_owned())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn rules(file: &Value) -> Vec<&str> {
    let findings = list(&file["findings"]).iter();
    findings.map(|finding| text(finding, "rule")).collect()
}

/// The revision of each session.
fn revisions(file: &Value) -> Value {
    let sessions = list(&file["sessions"]).iter();
    sessions
        .map(|session| session["revision"].clone())
        .collect()
}

const EXIT: &str = "{\"event\":\"exit\",\"dir\":\"s2c\",\"status\":0}\n";

/// A server of both eras serves a session and, beside it, a request that needs none.
#[test]
fn all_revisions_of_a_session_are_named() {
    let (file, shown) = checked(&(handshake() + &call(7, "2026-07-28") + &answer(7)));
    assert_eq!(file["revisions"], json!(["2025-11-25", "2026-07-28"]));
    assert_eq!(revisions(&file), json!(["2025-11-25"]));
    assert!(
        shown.contains("frames, 2025-11-25, 2026-07-28\n"),
        "{shown}"
    );
    assert_eq!(file["remarks"], Value::Null);
}

/// Not only the last of several sessions; and a revision that two of them have is named once.
#[test]
fn all_revisions_of_a_log_are_named() {
    let log = agreed_on("2025-06-18") + EXIT + &handshake() + EXIT + &agreed_on("2025-06-18");
    let (file, shown) = checked(&log);
    assert_eq!(list(&file["sessions"]).len(), 3);
    assert_eq!(file["revisions"], json!(["2025-06-18", "2025-11-25"]));
    assert!(
        shown.contains("frames, 2025-06-18, 2025-11-25\n"),
        "{shown}"
    );
}

/// Two handshakes within one session, which is a fault: both revisions are named.
#[test]
fn a_second_handshake_hides_no_revision() {
    let (file, _) = checked(&(agreed_on("2025-06-18") + &agreed_on("2025-11-25")));
    assert_eq!(list(&file["sessions"]).len(), 1);
    assert!(rules(&file).contains(&"initialize-twice"), "{file}");
    assert!(list(&file["revisions"]).contains(&json!("2025-06-18")));
}

/// A server that is started again is another one, whatever the client says first to it.
#[test]
fn a_request_that_needs_no_handshake_begins_a_session_after_an_exit() {
    let modern = call(1, "2026-07-28") + &answer(1);
    let (file, _) = checked(&(handshake() + EXIT + &modern));
    assert_eq!(revisions(&file), json!(["2025-11-25", "2026-07-28"]));
    assert_eq!(rules(&file), [""; 0], "{file}");

    let discover = json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }}});
    let probe = captured("c2s", &discover.to_string());
    let (file, _) = checked(&(modern.clone() + EXIT + &probe));
    assert_eq!(list(&file["sessions"]).len(), 2, "{file}");

    // Without an exit they are one session, and what belongs to a session begins none.
    let (file, _) = checked(&(handshake() + &modern));
    assert_eq!(list(&file["sessions"]).len(), 1, "{file}");
    let late = captured(
        "s2c",
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#,
    );
    let (file, _) = checked(&(handshake() + EXIT + &late));
    assert_eq!(list(&file["sessions"]).len(), 1, "{file}");
}

/// A handshake on a version that nobody published: one remark says what is judged of it all the same.
#[test]
fn a_session_of_an_unknown_version_is_judged_by_its_form() {
    let strange = agreed_on("2099-01-01");
    // A revision to come may have that method, and have lists of another shape.
    let list_all = captured("c2s", r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#);
    let listed = captured("s2c", r#"{"jsonrpc":"2.0","id":2,"result":{"tools":{}}}"#);
    let (file, shown) = checked(&(strange.clone() + &list_all + &listed));
    assert_eq!(rules(&file), ["version-answer-known"], "{file}");
    let remarks = list(&file["remarks"]);
    assert_eq!(remarks.len(), 1, "{file}");
    let remark = remarks[0].as_str().expect("a sentence");
    assert!(
        remark.contains("\"2099-01-01\", which is not known here"),
        "{remark}"
    );
    assert!(
        shown.contains(remark) && shown.contains("frames, \"2099-01-01\"\n"),
        "{shown}"
    );
    assert_eq!(file["revisions"], json!(["2099-01-01"]));
    assert_eq!(revisions(&file), json!([null]));

    // Ids and answers are what they are in any version.
    let again = captured("s2c", r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}"#);
    let (file, _) = checked(&(strange.clone() + &list_all + &listed + &again));
    assert!(rules(&file).contains(&"duplicate-response"), "{file}");

    // A revision that is given governs whatever was agreed on, and two sessions are told of once.
    let here = folder();
    write(here.path(), "log", strange.clone() + &list_all + &listed);
    let given = [
        "check",
        "log",
        "--format",
        "json",
        "--revision",
        "2025-11-25",
    ];
    let file = mcpsim(here.path(), &given).json()["files"][0].clone();
    assert!(rules(&file).contains(&"tools-list-shape"), "{file}");
    assert_eq!(file["remarks"], Value::Null);
    let (file, _) = checked(&(strange.clone() + EXIT + &strange));
    assert_eq!(
        (list(&file["sessions"]).len(), list(&file["remarks"]).len()),
        (2, 1)
    );
}

/// Requests that name a version that nobody published, or one that a handshake settles.
#[test]
fn requests_of_an_unknown_version_are_told_of_once() {
    let log = call(1, "2099-01-01") + &answer(1) + &call(2, "2099-01-01") + &answer(2);
    let (file, _) = checked(&log);
    let remarks = list(&file["remarks"]);
    assert_eq!(remarks.len(), 1, "{file}");
    let remark = remarks[0].as_str().expect("a sentence");
    assert!(remark.starts_with("requests name the version \"2099-01-01\", which is not known"));
    assert_eq!(file["revisions"], json!(["2099-01-01"]));

    let (file, _) =
        checked(&(call(1, "2026-07-28") + &answer(1) + &call(2, "2025-06-18") + &answer(2)));
    let remarks = list(&file["remarks"]);
    assert_eq!(remarks.len(), 1, "{file}");
    let remark = remarks[0].as_str().expect("a sentence");
    assert!(
        remark.contains("\"2025-06-18\" as if it needed no handshake"),
        "{remark}"
    );

    // What is known needs no words.
    let (file, _) = checked(&(call(1, "2026-07-28") + &answer(1)));
    assert_eq!(file["remarks"], Value::Null);
    assert_eq!(file["revisions"], json!(["2026-07-28"]));
}
