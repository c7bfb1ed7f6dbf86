//! Logs of other programs that come line by line: each sample is recognised, and read as the frames that passed.

use std::fs;
use std::io::Cursor;
use std::path::PathBuf;

use mcpsim_traces::capture::EventKind;
use mcpsim_traces::event::Role;
use mcpsim_traces::import::pattern::Pattern;
use mcpsim_traces::import::{FORMATS, recognise};
use mcpsim_traces::lines::LineReader;
use mcpsim_traces::lost::Lost;
use mcpsim_traces::sniff::Log;
use proptest::prelude::*;
use serde_json::Value;

mod logs_read;

use logs_read::{All, garden, read, refusal, sample};

/// Every sample, and the form that it has.
const SAMPLES: &[(&str, Option<&str>)] = &[
    ("arrow-text.log", Some("arrow")),
    ("bare.ndjson", Some("bare")),
    ("claude-code.jsonl", Some("claude-code")),
    ("claude-desktop-mcp.log", Some("claude-desktop")),
    ("claude-desktop-mid.log", Some("claude-desktop")),
    ("claude-desktop-old.log", Some("claude-desktop")),
    ("claude-desktop.log", Some("claude-desktop")),
    ("cursor-mcp.log", Some("cursor")),
    ("http-real.pcap", Some("pcap")),
    ("mcp-rec-real.jsonl", Some("mcp-rec")),
    ("mcp-rec.jsonl", Some("mcp-rec")),
    ("mcp-remote-debug-real.log", Some("mcp-remote")),
    ("mcp-remote-debug.log", Some("mcp-remote")),
    ("mcp-server-logger.log", Some("std-tags")),
    ("mcp-session-audit.jsonl", Some("mcp-session-audit")),
    ("mcp-snoop-real.log", Some("mcp-snoop-text")),
    ("mcp-trace-validator-real.jsonl", Some("mcp-trace")),
    ("mcp-trace-http-real.jsonl", Some("mcp-trace")),
    ("claude-desktop-hang.log", Some("claude-desktop")),
    ("mcp-trace-validator.jsonl", Some("mcp-trace")),
    ("mcp-vcr-real.ndjson", Some("mcp-vcr")),
    ("mcp-vcr-real.yaml", Some("mcp-vcr-yaml")),
    ("mcp-vcr.ndjson", Some("mcp-vcr")),
    ("mcpsnoop.jsonl", Some("mcpsnoop")),
    ("python-sdk-http-real.log", Some("python-sdk-http")),
    ("python-sdk-http.log", Some("python-sdk-http")),
    ("python-sdk-stdio-real.log", Some("python-sdk-stdio")),
    ("python-sdk-stdio.log", Some("python-sdk-stdio")),
    ("strace-real.txt", Some("strace")),
    ("strace.txt", Some("strace")),
    ("supergateway-real.log", Some("supergateway")),
    ("supergateway.log", Some("supergateway")),
    ("tee-c2s.ndjson", None),
    ("tee-noise-s2c.ndjson", None),
    ("tee-real-c2s.ndjson", None),
    ("tee-real-s2c.ndjson", None),
    ("tee-s2c.ndjson", None),
    ("vscode-output-info.log", Some("vscode-info")),
    ("vscode-output-old.log", Some("vscode")),
    ("vscode-output.log", Some("vscode")),
];

const BEGIN_MS: u64 = 1_772_615_700_000;
/// When the frames of the garden's session passed, from its beginning on.
const TIMES_MS: [u64; 13] = [0, 14, 16, 20, 27, 31, 33, 420, 455, 467, 502, 900, 901];
/// The same by the clock on the wall.
const OF_DAY_MS: u64 = (9 * 60 + 15) * 60_000;

/// Reads a sample of the garden's session and holds its frames, their order, senders and times against it.
#[track_caller]
fn is_garden(name: &str, begin_ms: Option<u64>) -> All {
    let all = read(sample(name));
    assert_eq!(all.errors, [""; 0], "{name}");
    let garden = garden();
    assert_eq!(all.frames.len(), garden.len(), "{name}");
    for (at, (frame, (role, text))) in all.frames.iter().zip(&garden).enumerate() {
        assert_eq!(frame.from, *role, "{name}: {at}: {}", frame.text);
        assert_eq!(
            frame.t_ms,
            begin_ms.map(|begin| begin + TIMES_MS[at]),
            "{name}: {at}"
        );
        assert!(
            frame.has_eol && frame.cut_from_bytes.is_none(),
            "{name}: {at}"
        );
        if all.lost.has(Lost::PAYLOAD) {
            continue;
        }
        if all.lost.has(Lost::RAW) {
            let value = |text: &str| serde_json::from_str::<Value>(text).expect(text);
            assert_eq!(value(&frame.text), value(text), "{name}: {at}");
        } else {
            assert_eq!(frame.text, *text, "{name}: {at}");
        }
    }
    all
}

#[test]
fn every_sample_has_the_form_that_it_has() {
    for (name, format) in SAMPLES {
        let found = recognise(&sample(name)).map(|format| format.name);
        assert_eq!(found, *format, "{name}");
    }
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/logs");
    let known = |name: &str| SAMPLES.iter().any(|(sample, _)| *sample == name);
    for file in fs::read_dir(folder).expect("a folder") {
        let file = file.expect("a file");
        if file.file_type().expect("a type").is_dir() {
            continue;
        }
        let name = file.file_name().into_string().expect("text");
        let is_line_by_line = !name.ends_with(".json") && !name.ends_with(".har");
        assert!(
            known(&name) || !is_line_by_line,
            "{name} is not in the list"
        );
    }
}

#[test]
fn what_is_our_own_is_no_log_of_others() {
    let frame = r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#;
    let raw = serde_json::to_string(frame).expect("text");
    for text in [
        format!("{{\"dir\":\"c2s\",\"raw\":{raw}}}\n"),
        format!("{{\"dir\":\"c2s\",\"t_ms\":1,\"raw\":{raw},\"t\":1,\"payload\":{{}}}}\n"),
        "{\"mcpsim_trace\":1}\n".to_owned(),
        format!("{{\"event\":\"open\",\"by\":\"client\"}}\n{{\"dir\":\"c2s\",\"raw\":{raw}}}\n"),
        "{\"dir\":\"s2c\",\"raw\":\"--> {\\\"jsonrpc\\\":1}\"}\n".to_owned(),
        "{\"dir\":\"s2c\",\"raw\":\"[supergateway] A → Child: {}\"}\n".to_owned(),
    ] {
        let found = recognise(text.as_bytes()).map(|format| format.name);
        assert_eq!(found, None, "{text}");
    }
}

/// However its JSON is laid out, and however long its first line is.
#[test]
fn a_trace_is_recognised_in_any_spelling() {
    let long = "x".repeat(100_000);
    for line in [
        r#"{ "seq" : 0, "kind" : "message", "direction" : "client-to-server", "payload" : {} }"#
            .to_owned(),
        format!(
            r#"{{"seq":0,"direction":"server-to-client","kind":"message","payload":{{"x":"{long}"}}}}"#
        ),
    ] {
        let beginning = &line.as_bytes()[..line.len().min(64 << 10)];
        let found = recognise(beginning).map(|format| format.name);
        assert_eq!(found, Some("mcp-trace"));
    }
}

#[test]
fn names_of_forms_are_different() {
    for (at, format) in FORMATS.iter().enumerate() {
        let others = &FORMATS[..at];
        assert!(
            others.iter().all(|other| other.name != format.name),
            "{}",
            format.name
        );
        assert!(!format.hint.is_empty() && !format.found.is_empty());
    }
}

#[test]
fn the_same_session_is_read_from_every_sample() {
    let nothing = Lost::NOTHING;
    let lines = Lost::LINES;
    let anew = Lost::RAW | Lost::LINES;
    for (name, begin_ms, lost) in [
        ("supergateway.log", None, Lost::TIME),
        ("strace.txt", Some(OF_DAY_MS), nothing),
        ("mcp-rec.jsonl", Some(BEGIN_MS), anew),
        ("mcp-vcr.ndjson", Some(BEGIN_MS), anew),
        ("arrow-text.log", Some(BEGIN_MS), lines),
        (
            "mcp-remote-debug.log",
            Some(BEGIN_MS),
            anew | Lost::PAYLOAD | Lost::HTTP,
        ),
        ("python-sdk-http.log", Some(BEGIN_MS), anew | Lost::HTTP),
        ("bare.ndjson", None, Lost::DIRECTION | Lost::TIME | lines),
    ] {
        let all = is_garden(name, begin_ms);
        assert_eq!(all.lost, lost, "{name}");
        assert_eq!(all.remarks, [""; 0], "{name}");
    }
}

#[test]
fn what_programs_truly_wrote_is_read() {
    for (name, counts) in [
        ("supergateway-real.log", [6, 6]),
        ("strace-real.txt", [5, 4]),
        ("mcp-rec-real.jsonl", [8, 13]),
        ("mcp-vcr-real.ndjson", [8, 13]),
        ("mcp-vcr-real.yaml", [8, 13]),
        ("mcp-snoop-real.log", [8, 13]),
        ("mcp-remote-debug-real.log", [8, 11]),
        ("python-sdk-http-real.log", [6, 5]),
    ] {
        let all = read(sample(name));
        assert_eq!(all.counts(), counts, "{name}");
        assert_eq!(all.errors, [""; 0], "{name}");
        for frame in &all.frames {
            let value: Value = serde_json::from_str(&frame.text).expect(name);
            assert_eq!(value["jsonrpc"], "2.0", "{name}");
        }
        let times: Vec<u64> = all.frames.iter().filter_map(|frame| frame.t_ms).collect();
        assert!(times.is_sorted(), "{name}");
    }
}

#[test]
fn sessions_are_named_where_the_log_names_them() {
    let all = read(sample("mcp-remote-debug.log"));
    assert!(
        all.frames
            .iter()
            .all(|frame| frame.session.as_deref() == Some("4711"))
    );
    assert_eq!(
        all.frames[1].text,
        r#"{"jsonrpc":"2.0","id":0,"result":{}}"#
    );
    let text = &all.frames[7].text;
    assert!(
        text.contains(r#""_meta":{"progressToken":"w-1"}"#),
        "{text}"
    );
}

#[test]
fn refusals_say_what_to_do() {
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
        ("vscode-output-info.log", "Debug or Trace"),
    ] {
        let said = refusal(&sample(name));
        assert!(
            said.starts_with("1:1: this is ") && said.contains(hint),
            "{name}: {said}"
        );
    }
    for (text, hint) in [
        (&b"SQLite format 3\0\x10\0"[..], "sqlite3 -json"),
        (b"1234:9:websocket;0:~8:response;", "hardump"),
        (b"<!DOCTYPE html><html>", "HTML"),
        (b"{\"resourceSpans\":[{}]}", "OTLP"),
        (b"\x0A\x0D\x0D\x0A\x1C", "pcap"),
        (b"2026-03-04T09:15:00.1Z DEBUG serve_inner: rmcp::service: new event evt=PeerMessage(Request(..))", "Rust"),
    ] {
        let said = refusal(text);
        assert!(said.contains(hint), "{said}");
    }
}

/// An entry of Claude Code's log, at that many milliseconds of the session.
fn entry(kind: &str, t_ms: u64, text: &str) -> String {
    let text = serde_json::to_string(text).expect("text");
    format!(
        "{{\"{kind}\": {text}, \"timestamp\": \"2026-03-04T09:15:{:02}.{:03}Z\", \"sessionId\": \"s\", \"cwd\": \"/srv\"}}\n",
        t_ms / 1000,
        t_ms % 1000
    )
}

/// The garden's session in such a log, each frame behind the words for its side; and states between them.
fn logged_by_claude_code(words: [&str; 2]) -> String {
    let mut log = entry("debug", 0, "Starting connection with timeout of 30000ms");
    for (at, (role, frame)) in garden().iter().enumerate() {
        let text = format!("{}{frame}", words[*role as usize]);
        log += &entry("debug", TIMES_MS[at], &text);
        let state = match at {
            2 => "Successfully connected to stdio server in 16ms",
            7 => "Calling MCP tool: water",
            10 => "Tool 'water' completed successfully in 82ms",
            _ => continue,
        };
        log += &entry("debug", TIMES_MS[at], state);
    }
    log
}

#[test]
fn claude_code_may_log_whole_messages() {
    let anew = Lost::RAW | Lost::LINES;
    for (words, is_told) in [
        (["Sending message: ", "Received message: "], true),
        (["Client: ", "Server: "], true),
        (["Sent to server ", "from server "], true),
        (["JSON-RPC: ", "JSON-RPC: "], false),
        (["", ""], false),
    ] {
        let log = logged_by_claude_code(words);
        // The older layout: all of them in one array.
        let entries: Vec<&str> = log.lines().collect();
        let array = format!("[\n{}\n]", entries.join(",\n"));
        for log in [&log, &array] {
            let all = read(log);
            assert_eq!(all.errors, [""; 0]);
            for (at, (frame, (role, text))) in all.frames.iter().zip(garden()).enumerate() {
                assert_eq!((frame.from, &frame.text), (role, &text), "{words:?}: {at}");
                assert_eq!(frame.t_ms, Some(BEGIN_MS + TIMES_MS[at]));
                assert_eq!(frame.session.as_deref(), Some("s"));
                // Where its first byte stands.
                let line = log.lines().nth(frame.line as usize - 1).expect("a line");
                let before = &line[..frame.column as usize - 1];
                let begin = format!("{{\"debug\": \"{}", words[role as usize]);
                assert_eq!(before, begin, "{at}");
            }
            assert_eq!(all.counts(), [6, 7]);
            let direction = if is_told {
                Lost::NOTHING
            } else {
                Lost::DIRECTION
            };
            assert_eq!(all.lost, anew | direction, "{words:?}");
            assert_eq!(all.guessed.is_empty(), is_told);
            let states = "4 entries tell states, hold no message and were passed over";
            assert_eq!(all.remarks, [states]);
        }
    }
}

/// What the log tells of and does not hold is missing; that it holds something else does not make it whole.
#[test]
fn claude_code_may_leave_messages_out() {
    let log = logged_by_claude_code(["Sending: ", "Received: "]);
    let without = |words: &str| -> String {
        let lines = log.split_inclusive('\n');
        lines.filter(|line| !line.contains(words)).collect()
    };
    for (log, missing) in [
        (without("tools/call"), true),
        (without("\\\"id\\\":2,\\\"result\\\""), true),
        (without("\\\"initialize\\\""), true),
        (without("completed successfully"), false),
        (log.clone(), false),
    ] {
        for log in [
            log.clone(),
            format!("[{}]", log.trim_end().replace('\n', ",")),
        ] {
            let all = read(&log);
            assert_eq!(all.lost.has(Lost::FRAMES), missing, "{:?}", all.remarks);
            let is_said = all.remarks[0].starts_with("it tells of calls and answers");
            assert_eq!(is_said, missing);
        }
    }
    // A message that is cut, one that an error repeats, and what the server wrote beside the protocol.
    let ping = r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#;
    for (kind, text, missing) in [
        ("debug", &format!("Sending: {}", &ping[..20]), true),
        ("error", &format!("Cannot handle {ping}"), true),
        ("error", &format!("Server stderr: {ping}"), false),
        ("error", &format!("Server stderr: Sending {ping}"), false),
    ] {
        let all = read(log.clone() + &entry(kind, 950, text));
        assert_eq!(all.frames.len(), 13, "{text}");
        assert_eq!(all.lost.has(Lost::FRAMES), missing, "{text}");
    }
    // A second connection of the same session of the client is a session of its own.
    let all = read(log.clone() + &entry("debug", 950, "Closing transport") + &log);
    let names = |nth: usize| all.frames[nth].session.as_deref();
    assert_eq!((names(12), names(13)), (Some("s"), Some("s #2")));
    assert_eq!(all.events, [(EventKind::Eof, Some(Role::Client), None)]);
    // Over HTTP there are no pipes.
    let over_http = entry(
        "debug",
        0,
        "Initializing HTTP transport to https://example.com/mcp",
    ) + &log;
    assert!(read(over_http).lost.has(Lost::HTTP));
}

/// States alone are refused, however long it takes to see that there is nothing else.
#[test]
fn states_of_claude_code_are_refused() {
    let states = String::from_utf8(sample("claude-code.jsonl")).expect("text");
    let array = format!("[{}]", states.trim_end().replace('\n', ",\n"));
    for log in [states.clone(), array] {
        let said = refusal(log.as_bytes());
        assert!(said.contains("put a recorder"), "{said}");
    }
    let long = states.repeat(100);
    let all = read(&long);
    assert_eq!(all.errors.len(), 1);
    assert!(all.errors[0].contains("put a recorder"), "{:?}", all.errors);
    let last = long + &logged_by_claude_code(["", ""]);
    assert_eq!(read(last).counts(), [6, 7]);
}

#[test]
fn supergateway_says_what_it_could_not_write() {
    let text = "[supergateway] SSE → Child (session a): {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}\n\
                [supergateway] Child → SSE: {\n  jsonrpc: '2.0',\n  id: 1,\n  result: {}\n}\n\
                [supergateway] Child → SSE: { jsonrpc: '2.0', method: 'x' }\n\
                [supergateway] Child non-JSON: server ready\n\
                [supergateway] Child exited: code=1, signal=null\n";
    let all = read(text);
    assert_eq!(all.counts(), [1, 1]);
    assert_eq!(all.frames[1].text, "server ready");
    assert!(all.lost.has(Lost::FRAMES));
    assert_eq!(all.events, [(EventKind::Exit, Some(Role::Server), Some(1))]);
    assert!(
        all.remarks[0].starts_with("2 frames are written over several lines or as JavaScript"),
        "{:?}",
        all.remarks
    );
    // Two sessions that cannot be told apart.
    let all = read(sample("supergateway.log").repeat(2));
    assert!(all.lost.has(Lost::IDS | Lost::ORDER), "{}", all.lost);
    assert!(
        all.remarks[0].starts_with("2 sessions"),
        "{:?}",
        all.remarks
    );
}

#[test]
fn strace_cuts_frames_out_of_bytes() {
    let text = r#"7 10:00:00.000000 read(0, "{\"jsonrpc\":\"2.0\",\"id\":1}\n{\"jsonrpc\":\"2.0\",", 65536) = 42
7 10:00:00.001000 read(0, "\"id\":2}\n\n", 65536) = 9
7 10:00:00.002000 write(2, "on stderr\n", 10) = 10
7 10:00:00.002000 write(1, "\303\251\x41\t\"\\\n", 100) = 7
7 10:00:00.003000 write(1, "abc", 3) = -1 EAGAIN (Resource temporarily unavailable)
7 10:00:00.004000 write(1, "[]ab", 4) = 2
7 10:00:00.005000 write(1, "\n", 1) = 1
7 10:00:00.006000 read(0, "", 65536) = 0
7 10:00:00.007000 +++ exited with 3 +++
"#;
    let all = read(text);
    let expected = [
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":"2.0","id":2}"#,
        "éA\t\"\\",
        "[]",
    ];
    assert_eq!(all.texts(), expected);
    let places: Vec<(u64, u64)> = all
        .frames
        .iter()
        .map(|frame| (frame.line, frame.column))
        .collect();
    assert_eq!(places, [(1, 28), (1, 60), (4, 29), (6, 29)]);
    assert_eq!(all.frames[3].t_ms, Some(36_000_005));
    let events = [
        (EventKind::Eof, Some(Role::Client), None),
        (EventKind::Exit, Some(Role::Server), Some(3)),
    ];
    assert_eq!(all.events, events);
    assert_eq!(all.errors, [""; 0]);
}

#[test]
fn strace_puts_calls_together_that_were_interrupted() {
    let text = r#"7 23:59:59.900000 read(0,  <unfinished ...>
8 23:59:59.950000 write(1, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}\n", 41 <unfinished ...>
7 00:00:00.100000 <... read resumed>"{\"jsonrpc\":\"2.0\",\"id\":1}\n", 65536) = 25
8 00:00:00.200000 <... write resumed>) = 41
9 00:00:00.300000 write(1, "what another program says\n", 26) = 26
"#;
    let all = read(text);
    assert_eq!(all.counts(), [1, 1]);
    assert_eq!(all.frames[0].t_ms, Some(86_400_100));
    assert_eq!(all.frames[1].t_ms, Some(86_400_200));
    assert_eq!((all.frames[1].line, all.frames[1].column), (2, 29));
    assert_eq!(all.frames[0].session, all.frames[1].session);
    assert_eq!(all.remarks.len(), 1, "{:?}", all.remarks);
}

#[test]
fn strace_that_left_something_out_is_cut_and_not_malformed() {
    let text = r#"7 10:00:00.000000 write(1, "{\"jsonrpc\":\"2.0\",\"result\":\"aa"..., 500) = 500
7 10:00:00.001000 write(1, "\n", 1) = 1
7 10:00:00.002000 write(1, "{\"jsonrpc\":\"2.0\",\"id\":1}\n", 25) = 25
7 10:00:00.003000 write(1, "{\"jsonrpc\":\"2.0\",\"resu"..., 500) = 500
7 10:00:00.004000 write(1, "the rest\n", 9) = 9
7 10:00:00.005000 write(1, "{\"jsonrpc\":\"2.0\"", 16) = 16
"#;
    let all = read(text);
    let cut: Vec<Option<u64>> = all
        .frames
        .iter()
        .map(|frame| frame.cut_from_bytes)
        .collect();
    assert_eq!(cut, [Some(500), None, Some(500), Some(16)]);
    assert_eq!(all.frames[1].text, r#"{"jsonrpc":"2.0","id":1}"#);
}

/// A read that waits is told when it begins: what it read came later.
#[test]
fn strace_tells_reads_when_they_begin() {
    let text = |took: &str| {
        format!(
            "10:00:00.000000 read(0, \"{{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":1}}\\n\", 65536) = 25{took}\n\
             10:01:00.500000 write(1, \"{{}}\\n\", 3) = 3\n"
        )
    };
    let times = |text: String| {
        let all = read(text);
        let times = all.frames.iter().filter_map(|frame| frame.t_ms);
        let times: Vec<u64> = times.map(|ms| ms - 36_000_000).collect();
        (times, all.remarks.len())
    };
    assert_eq!(times(text("")), (vec![60_500, 60_500], 1));
    assert_eq!(times(text(" <59.250000>")), (vec![59_250, 60_500], 0));
    assert_eq!(times(text(" <0.000100>")), (vec![0, 60_500], 0));
}

#[test]
fn strace_of_two_servers_has_two_sessions() {
    let one = String::from_utf8(sample("strace.txt")).expect("text");
    let two = one.replace("4711", "4712");
    let mixed: String = one
        .lines()
        .zip(two.lines())
        .map(|(a, b)| format!("{a}\n{b}\n"))
        .collect();
    let all = read(mixed);
    assert_eq!(all.counts(), [12, 14]);
    for name in ["4711", "4712"] {
        let of = all
            .frames
            .iter()
            .filter(|frame| frame.session.as_deref() == Some(name));
        let texts: Vec<&str> = of.map(|frame| frame.text.as_str()).collect();
        let garden = garden();
        let expected: Vec<&str> = garden.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, expected);
    }
}

/// Each spelling of the arrows tells the same.
#[test]
fn arrows_are_spelled_in_many_ways() {
    for (out, back) in [
        ("-->", "<--"),
        (">>", "<<"),
        ("→", "←"),
        ("[OUT]", "[IN]"),
        ("[CLIENT -> SERVER]", "[SERVER -> CLIENT]"),
        ("Client:", "Server:"),
        ("<--", "-->"),
        ("[IN]", "[OUT]"),
    ] {
        let mut text = String::new();
        for (role, frame) in garden() {
            let mark = if role == Role::Client { out } else { back };
            text.push_str(&format!("[09:15:00.5] {mark} {frame}\nsomething else\n"));
        }
        let all = read(&text);
        let read: Vec<(Role, String)> = all
            .frames
            .iter()
            .map(|frame| (frame.from, frame.text.clone()))
            .collect();
        assert_eq!(read, garden(), "{out}");
        let names_sides = out.to_ascii_lowercase().contains("client");
        assert_eq!(
            all.guessed.is_empty(),
            names_sides,
            "{out}: {:?}",
            all.guessed
        );
        assert_eq!(all.remarks, ["13 lines have no frame and were passed over"]);
    }
}

fn by_pattern(pattern: &str, text: &str) -> All {
    let pattern = Pattern::new(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
    let lines = LineReader::new(Cursor::new(text.as_bytes().to_vec()));
    All::of(pattern.open(lines).expect("opened"))
}

#[test]
fn a_pattern_reads_what_nobody_knows() {
    let text = "1772615700.5|s1|REQ|{\"jsonrpc\":\"2.0\",\"id\":1}\n# remark\n1772615700.75|s1|RES|{\"id\":1} \n";
    let pattern = r"^(?<time>[\d.]+)\|(?<session>\w+)\|(?:(?<c2s>REQ)|(?P<s2c>RES))\|(?<frame>.*)$";
    let all = by_pattern(pattern, text);
    assert_eq!(
        all.texts(),
        ["{\"jsonrpc\":\"2.0\",\"id\":1}", "{\"id\":1}"]
    );
    assert_eq!(all.counts(), [1, 1]);
    let times: Vec<Option<u64>> = all.frames.iter().map(|frame| frame.t_ms).collect();
    assert_eq!(times, [Some(1_772_615_700_500), Some(1_772_615_700_750)]);
    assert_eq!(all.frames[0].session.as_deref(), Some("s1"));
    assert_eq!(all.frames[0].column, 21);
    assert_eq!(all.remarks, ["one line does not match the pattern"]);
    assert_eq!(all.lost, Lost::LINES);
    let all = by_pattern(
        r"^(?<dir>\S+) (?<frame>.*)",
        "s2c {}\nclient {}\nsideways {}\n",
    );
    assert_eq!(all.counts(), [1, 1]);
    assert_eq!(all.lost, Lost::LINES | Lost::TIME | Lost::FRAMES);
}

#[test]
fn a_pattern_that_is_none_is_told_where() {
    for (pattern, said) in [
        ("^(?<dir>a(", "column 10: unclosed group"),
        (
            "(?<frame>.*)",
            "column 13: groups for the direction are missing",
        ),
        ("(?<dir>.)", "column 10: a group for the frame is missing"),
        (
            "(?<c2s>.)(?<frame>.*)",
            "groups for the direction are missing",
        ),
        (
            "(?<dir>.) (?<what>.)(?<frame>.*)",
            "column 11: no meaning for a group named \"what\"",
        ),
        ("(?<dir>.)(?<frame>.{100000000})", "size limit"),
    ] {
        let error = Pattern::new(pattern).expect_err(pattern);
        assert!(error.contains(said), "{pattern}: {error}");
    }
}

#[test]
fn bare_frames_whose_sender_is_not_known_are_counted() {
    let mut text = String::from_utf8(sample("bare.ndjson")).expect("text");
    text.push_str("{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"ping\"}\n{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}\nnoise\n");
    let all = read(&text);
    assert_eq!(all.counts(), [6, 7]);
    assert!(all.lost.has(Lost::FRAMES));
    assert_eq!(all.remarks.len(), 2, "{:?}", all.remarks);
    assert!(all.remarks[0].starts_with("2 frames"), "{:?}", all.remarks);
}

#[test]
fn lines_of_mcp_snoop_stand_where_they_stand() {
    let all = read(sample("mcp-snoop-real.log"));
    let first = &all.frames[0];
    assert_eq!(
        (first.line, first.column, first.t_ms),
        (2, 1, Some(75_912_916))
    );
    assert!(!first.text.contains('\n'));
}

#[test]
fn python_without_answers_says_so() {
    let text = String::from_utf8(sample("python-sdk-http.log")).expect("text");
    let sent: String = text
        .lines()
        .filter(|line| !line.contains("SSE"))
        .map(|line| format!("{line}\n"))
        .collect();
    let all = read(&sent);
    assert_eq!(all.counts(), [6, 0]);
    assert!(all.lost.has(Lost::FRAMES));
    assert_eq!(
        all.remarks,
        ["6 messages were sent; answers that came as plain JSON are not in the log"]
    );
    // What cannot be read is an error with its place.
    let broken = text.replace("params={}", "params={<x>}");
    let all = read(&broken);
    assert_eq!(all.frames.len(), 12);
    assert!(all.errors[0].starts_with("6:132: "), "{:?}", all.errors);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever becomes of a log, nothing panics, and no frame stands beyond its end.
    #[test]
    fn no_change_of_a_sample_panics(
        which in 0..SAMPLES.len() + 2,
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), 0..4_u8, any::<u8>()), 1..12),
    ) {
        // The samples, and what Claude Code may write in either layout.
        let mut text = match SAMPLES.get(which) {
            Some((name, _)) => sample(name),
            None => {
                let log = logged_by_claude_code(["Sending: ", "in "]);
                let array = format!("[{}]", log.trim_end().replace('\n', ",\n"));
                if which == SAMPLES.len() { log } else { array }.into_bytes()
            }
        };
        for (place, kind, byte) in changes {
            if text.is_empty() {
                break;
            }
            let at = place.index(text.len());
            match kind {
                0 => text[at] = byte,
                1 => text.insert(at, byte),
                2 => {
                    text.remove(at);
                }
                _ => text.truncate(at.max(text.len() / 2)),
            }
        }
        if let Ok(Log::Import(recording)) = Log::open(Cursor::new(text.clone())) {
            let lines = text.split(|byte| *byte == b'\n').count() as u64;
            let all = All::of(recording);
            prop_assert!(all.frames.iter().all(|frame| frame.line <= lines));
        }
    }
}
