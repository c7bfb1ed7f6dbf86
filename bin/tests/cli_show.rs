//! `mcpsim show` from the outside: a small trace as text and as a diagram, and peers' text that would like to be more than text.
#![cfg(feature = "cli")]

mod common;

use common::{captured, failure, folder, handshake, mcpsim, mcpsim_reading, read, text, write};

const TEXT: &str = r#"trace by mcpsim 0.1.0: client → server (pipe)
    0 ms  -- link 0 opens: client and server
#1  0 ms  client → server  request initialize 1  {"protocolVersion":"2025-11-25","capabilities":{"roots":{"li…
#2  0 ms  client ← server  result 1 of initialize  {"protocolVersion":"2025-11-25","capabilities":{"tools":{}},…
#3  0 ms  client → server  notifications/initialized  [arrives later]
#4  0 ms  client → server  request tools/call 2  {"name":"ask","arguments":{"n":1}}  [arrives later]
    0 ms  client → server  #3 arrives
    0 ms  client → server  #4 arrives
#5  0 ms  client ← server  request sampling/createMessage 1  {"messages":[{"role":"user","content":{"type":"text","text":…
#6  0 ms  client → server  result 1 of sampling/createMessage  {"role":"assistant","model":"m","content":{"type":"text","te…
    0 ms  -- calm: no more faults
    0 ms  -- quiet: nothing can happen any more
"#;

const MERMAID: &str = "\
sequenceDiagram
    participant P0 as client
    participant P1 as server
    Note over P0,P1: link 0 opens#58; client and server
    P0->>P1: #35;1 request initialize 1
    P1-->>P0: #35;2 result 1 of initialize
    P0-)P1: #35;3 notifications/initialized
    P0-)P1: #35;4 request tools/call 2
    Note over P1: #35;3 arrives
    Note over P1: #35;4 arrives
    P1->>P0: #35;5 request sampling/createMessage 1
    P0-->>P1: #35;6 result 1 of sampling/createMessage
    Note over P0,P1: calm#58; no more faults
    Note over P0,P1: quiet#58; nothing can happen any more
";

#[test]
fn a_small_trace_as_text_and_as_a_diagram() {
    let here = folder();
    let failure = failure(here.path(), "lists-a-request-late");
    let path = text(&failure, "shrunk");
    let show = |args: &[&str]| mcpsim(here.path(), &[&["show", path][..], args].concat()).ends(0);
    assert_eq!(show(&[]).text(), TEXT);
    assert_eq!(show(&["--as", "text"]).text(), TEXT);
    assert_eq!(show(&["--as", "mermaid"]).text(), MERMAID);
    let ascii = show(&["--ascii"]);
    assert!(ascii.text().is_ascii(), "{}", ascii.text());
    assert_eq!(
        ascii.text(),
        TEXT.replace('→', "->")
            .replace('←', "<-")
            .replace('…', "...")
    );

    let json = show(&["--as", "mermaid", "--format", "json"]).json();
    assert_eq!(
        (text(&json, "text"), text(&json, "as"), text(&json, "trace")),
        (MERMAID, "mermaid", path)
    );
    assert!(
        show(&["-o", "deep/trace.mmd", "--as", "mermaid"])
            .out
            .is_empty()
    );
    assert_eq!(
        read(&here.path().join("deep/trace.mmd")),
        MERMAID.as_bytes()
    );
    let piped = mcpsim_reading(here.path(), &["show", "-"], &read(&here.path().join(path)));
    assert_eq!(piped.ends(0).text(), TEXT);
}

/// What stands in the frames, names and events of a capture: to colour, to turn the line round, to end the diagram.
const HOSTILE: &str = "\u{1b}[31mred\u{1b}[0m\u{9b}2J\u{202e}desrever\u{2066}\n    P0-->>P1: forged\nend\r\u{7}\u{8} \
    %%{init: {}}%% <script>alert(1)</script> \u{85}\u{2028}\u{200b}\u{feff} #quot; `x`; --";

#[test]
fn hostile_text_is_escaped() {
    let here = folder();
    let quoted = serde_json::json!(HOSTILE);
    let line = |members: serde_json::Value| format!("{members}\n");
    let mut log = handshake();
    for (dir, raw) in [
        (
            "c2s",
            format!(
                r#"{{"jsonrpc":"2.0","id":{quoted},"method":"tools/call","params":{{"name":{quoted}}}}}"#
            ),
        ),
        (
            "s2c",
            format!(
                r#"{{"jsonrpc":"2.0","id":{quoted},"error":{{"code":-32603,"message":{quoted}}}}}"#
            ),
        ),
        (
            "c2s",
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":{quoted},{quoted}:1}}"#),
        ),
        ("s2c", HOSTILE.to_owned()),
        ("s2c", "end".to_owned()),
    ] {
        log += &captured(dir, &raw);
    }
    log += &line(serde_json::json!({"dir": "s2c", "event": HOSTILE, "raw": HOSTILE}));
    log += &line(serde_json::json!({"dir": "s2c", "event": "eof", "raw": HOSTILE}));
    log += &line(
        serde_json::json!({"dir": "c2s", "session": HOSTILE, "stream": HOSTILE, "raw": HOSTILE}),
    );
    write(here.path(), "log", &log);
    // A line that is none gets into a message.
    write(
        here.path(),
        "broken",
        log.clone() + HOSTILE.lines().next().expect("a line") + "\n" + &log,
    );
    for (name, code) in [("log", 0), ("broken", 2)] {
        for view in [
            &["show"][..],
            &["show", "--as", "mermaid"],
            &["check"],
            &["show", "--ascii"],
        ] {
            let ran = mcpsim(here.path(), &[view, &[name]].concat());
            if view[0] == "show" {
                assert_eq!(ran.code, code, "{view:?}");
            }
            for (place, said) in [("stdout", ran.text()), ("stderr", &ran.err)] {
                let bad = said
                    .chars()
                    .find(|&letter| letter != '\n' && is_dangerous(letter));
                assert_eq!(bad, None, "{view:?} {name} {place}: {said:?}");
                assert!(
                    !said.contains("\n    P0-->>P1: forged"),
                    "{view:?} {place}: {said}"
                );
            }
        }
    }

    // Nothing in the diagram is a line that a peer wrote.
    let diagram = mcpsim(here.path(), &["show", "--as", "mermaid", "log"]).ends(0);
    for line in diagram.text().lines().skip(1) {
        let line = line.trim_start();
        let known = line.starts_with("participant P")
            || line.starts_with("Note over P")
            || line.starts_with('P');
        assert!(known, "{line}");
        let words = line
            .split_once(": ")
            .or(line.split_once(" as "))
            .expect("words")
            .1;
        for sign in ["-->>", "%%", "<script", ";;", "`x`;"] {
            assert!(!words.contains(sign), "{sign} in {words}");
        }
        assert!(
            words != "end" && !words.contains(" end") && !words.contains("\\nend "),
            "{words}"
        );
    }
}

/// Control characters, and those that turn or hide what stands around them.
fn is_dangerous(letter: char) -> bool {
    let hidden = [
        '\u{200b}'..='\u{200f}',
        '\u{2028}'..='\u{202e}',
        '\u{2060}'..='\u{206f}',
        '\u{feff}'..='\u{feff}',
    ];
    letter.is_control() || hidden.iter().any(|range| range.contains(&letter))
}

#[test]
fn the_schema_of_scenario_files_is_printed_or_written() {
    let here = folder();
    let printed = mcpsim(here.path(), &["schema", "scenario"]).ends(0);
    let schema: serde_json::Value = serde_json::from_slice(&printed.out).expect("JSON");
    assert_eq!(
        schema["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
    let steps = &schema["properties"]["workload"]["additionalProperties"]["items"];
    assert_eq!(steps["required"][0], "do");
    mcpsim(here.path(), &["schema", "scenario", "-o", "new/s.json"]).ends(0);
    assert_eq!(read(&here.path().join("new/s.json")), printed.out);
    let report = mcpsim(here.path(), &["schema", "scenario", "--format", "json"]).ends(0);
    assert_eq!(report.json()["document"], schema);
}
