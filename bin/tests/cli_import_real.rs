//! What programs truly wrote, each log read by hand: what is to be found in it, and what cannot be checked. Four sessions are in
//! these logs, each recorded in several ways.
#![cfg(feature = "cli")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use common::mcpsim;
use serde_json::Value;

fn logs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../traces/tests/logs")
}

/// Rules that need the bytes as they were.
const RAW: [&str; 3] = ["id-beyond-2-53", "json-duplicate-keys", "not-utf8"];
/// Rules that need every line that passed on a pipe.
const LINES: [&str; 5] = [
    "stdio-crlf",
    "stdio-embedded-newline",
    "stdio-stdin-noise",
    "stdio-stdout-noise",
    "stdio-truncated-at-exit",
];
/// The same of a session with an error.
const LINES_AT_ERROR: [&str; 1] = ["error-id-missing"];
/// The same of a session whose client closed its side.
const LINES_AT_EOF: [&str; 1] = ["stdio-server-exits-on-eof"];
/// Rules that need times, in a session with pings and requests, and with log messages and progress as well.
const TIMES: [&str; 2] = ["ping-flood", "request-timeout-cancel"];
const TIMES_OF_FLOODS: [&str; 2] = ["log-flood", "progress-flood"];

/// A log as it was read by hand.
struct Real {
    log: &'static [&'static str],
    format: &'static str,
    /// Frames of the client and of the server.
    frames: [u64; 2],
    revision: Option<&'static str>,
    /// Rule, blame, verdict, severity and frames.
    found: &'static [&'static str],
    lost: &'static [&'static str],
    /// All rules that cannot be checked; where they are not listed, one of them and how many there are.
    open: Result<&'static [&'static [&'static str]], (&'static str, &'static str)>,
}

/// The demo client and the server "everything" by 2025-06-18: handshake, tools, two changes of the list of tools, a call of
/// `echo`, one of a long operation with three steps of progress, in the middle of it the server's question for the roots and a log
/// message; all of that as it is declared and answered once. Then the client calls `no-such-tool`, which stands in no list
/// (frame 18, the list is frame 7): worth a note. The server answers with a result that has `isError` (frame 19), where the
/// page on tools has a protocol error for a tool that is not known: a note on the server. A ping, and its answer.
const UNKNOWN_TOOL: &[&str] = &[
    "tool-call-unlisted client broken note [7,18]",
    "unknown-tool-error server broken note [18,19]",
];

const REAL: &[Real] = &[
    // Members are sorted and no line has a time; the recorder tells that the client closed its side.
    Real {
        log: &["mcp-trace-validator-real.jsonl"],
        format: "mcp-trace",
        frames: [8, 13],
        revision: Some("2025-06-18"),
        found: UNKNOWN_TOOL,
        lost: &["raw text", "time", "lines that are no frames"],
        open: Ok(&[
            &RAW,
            &TIMES,
            &TIMES_OF_FLOODS,
            &LINES,
            &LINES_AT_ERROR,
            &LINES_AT_EOF,
        ]),
    },
    Real {
        log: &["mcp-rec-real.jsonl"],
        format: "mcp-rec",
        frames: [8, 13],
        revision: Some("2025-06-18"),
        found: UNKNOWN_TOOL,
        lost: &["raw text", "lines that are no frames"],
        open: Ok(&[&RAW, &LINES, &LINES_AT_ERROR]),
    },
    Real {
        log: &["mcp-vcr-real.ndjson"],
        format: "mcp-vcr",
        frames: [8, 13],
        revision: Some("2025-06-18"),
        found: UNKNOWN_TOOL,
        lost: &["raw text", "lines that are no frames"],
        open: Ok(&[&RAW, &LINES, &LINES_AT_ERROR]),
    },
    Real {
        log: &["mcp-vcr-real.yaml"],
        format: "mcp-vcr-yaml",
        frames: [8, 13],
        revision: Some("2025-06-18"),
        found: UNKNOWN_TOOL,
        lost: &["raw text", "lines that are no frames"],
        open: Ok(&[&RAW, &LINES, &LINES_AT_ERROR]),
    },
    Real {
        log: &["mcp-snoop-real.log"],
        format: "mcp-snoop-text",
        frames: [8, 13],
        revision: Some("2025-06-18"),
        found: UNKNOWN_TOOL,
        lost: &["raw text", "lines that are no frames"],
        open: Ok(&[&RAW, &LINES, &LINES_AT_ERROR]),
    },
    // Values are replaced where they looked private: neither a name nor a result is what it was.
    Real {
        log: &["mcp-cassette-real.json"],
        format: "mcp-cassette",
        frames: [8, 13],
        revision: Some("2025-06-18"),
        found: &[],
        lost: &["raw text", "payload", "lines that are no frames"],
        open: Err(("unknown-tool-error", "payload")),
    },
    // Whether the list came before the call is what two files do not tell.
    Real {
        log: &[
            "--c2s",
            "tee-real-c2s.ndjson",
            "--s2c",
            "tee-real-s2c.ndjson",
        ],
        format: "tee",
        frames: [8, 13],
        revision: Some("2025-06-18"),
        found: &[],
        lost: &["time", "order between the sides"],
        open: Err(("tool-call-unlisted", "order between the sides")),
    },
    // The same client through mcp-remote. Results are one word; what was agreed on is not told.
    Real {
        log: &["mcp-remote-debug-real.log"],
        format: "mcp-remote",
        frames: [8, 11],
        revision: None,
        found: &[],
        lost: &["raw text", "payload", "lines that are no frames", "HTTP"],
        open: Err(("unknown-tool-error", "payload")),
    },
    // The client of the Python SDK and the same server by 2025-11-25, over HTTP: handshake, tools, a call of `echo`, one of the
    // long operation without a token for progress, a ping, each answered in its own stream, which begins with an event that has
    // an id and no data; the notification is accepted with 202; each request after the handshake has its session and its
    // version; the DELETE at the end is answered with 200. An event has
    // no time of its own.
    Real {
        log: &["http-real.har"],
        format: "har",
        frames: [6, 5],
        revision: Some("2025-11-25"),
        found: &[],
        lost: &["time"],
        open: Ok(&[&TIMES]),
    },
    Real {
        log: &["mcp-trace-http-real.jsonl"],
        format: "mcp-trace",
        frames: [6, 5],
        revision: Some("2025-11-25"),
        found: &[],
        lost: &["raw text", "time", "lines that are no frames"],
        open: Ok(&[&RAW, &TIMES, &LINES_AT_ERROR]),
    },
    // No heads, and messages as Python shows them.
    Real {
        log: &["python-sdk-http-real.log"],
        format: "python-sdk-http",
        frames: [6, 5],
        revision: Some("2025-11-25"),
        found: &[],
        lost: &["raw text", "lines that are no frames", "HTTP"],
        open: Ok(&[&RAW, &LINES_AT_ERROR]),
    },
    // The same calls through supergateway, which has the server on a pipe: here its change of the list of tools is in the log as
    // well. All is answered when the server's program ends.
    Real {
        log: &["supergateway-real.log"],
        format: "supergateway",
        frames: [6, 6],
        revision: Some("2025-11-25"),
        found: &[],
        lost: &["time"],
        open: Ok(&[&TIMES]),
    },
    // A server with one tool, on a pipe, seen by the system: handshake, tools, one call with what its schema wants, a ping, the end
    // of the client's side. Two frames came in one read, and line ends in writes of their own, which is lawful. Nothing is lost.
    Real {
        log: &["strace-real.txt"],
        format: "strace",
        frames: [5, 4],
        revision: Some("2025-06-18"),
        found: &[],
        lost: &[],
        open: Ok(&[]),
    },
];

/// Logs without frames, or whose frames lack what correlates them.
const REFUSED: [&str; 3] = [
    "http-real.pcap",
    "mcp-debugger-real.json",
    "python-sdk-stdio-real.log",
];

fn strings(value: &Value) -> Vec<String> {
    let list = value.as_array().map_or(&[][..], Vec::as_slice);
    list.iter()
        .map(|one| one.as_str().expect("text").to_owned())
        .collect()
}

#[test]
fn real_logs_are_judged_as_they_were_read_by_hand() {
    for real in REAL {
        let args = [&["check", "--format", "json"], real.log].concat();
        let report = mcpsim(&logs(), &args).ends(0).json();
        let file = &report["files"][0];
        let name = real.log.last().expect("a name");
        assert_eq!(file["format"], real.format, "{name}");
        assert!(file["errors"].is_null(), "{name}");

        let found: Vec<String> = file["findings"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|finding| {
                let words = ["rule", "blame", "verdict", "severity"];
                let words = words.map(|name| finding[name].as_str().expect(name));
                format!("{} {}", words.join(" "), finding["frames"])
            })
            .collect();
        assert_eq!(found, real.found, "{name}");
        assert_eq!(strings(&file["lost"]), real.lost, "{name}");

        let sessions = file["sessions"].as_array().expect("a list");
        assert_eq!(sessions.len(), 1, "{name}");
        let counts = ["frames_from_client", "frames_from_server"].map(|side| &sessions[0][side]);
        assert_eq!(counts.map(Value::as_u64), real.frames.map(Some), "{name}");
        assert_eq!(sessions[0]["revision"].as_str(), real.revision, "{name}");
        assert_eq!(
            sessions[0]["open_requests"].as_u64().unwrap_or(0),
            0,
            "{name}"
        );

        // Nothing is kept of what has no say: pipes where there are none, rules of later revisions.
        let outcome = |rule: &str| {
            report["rules"][rule]
                .as_str()
                .expect("an outcome")
                .to_owned()
        };
        if real.revision == Some("2025-11-25") {
            assert_eq!(outcome("http-param-headers"), "idle", "{name}");
        }
        let is_http = real.frames == [6, 5];
        let is_idle = LINES.iter().all(|rule| outcome(rule) == "idle");
        assert_eq!(is_idle, is_http, "{name}");

        let open: BTreeMap<String, Value> =
            serde_json::from_value(file["not_checkable"].clone()).unwrap_or_default();
        match real.open {
            Ok(rules) => {
                let mut rules = rules.concat();
                rules.sort_unstable();
                assert_eq!(open.keys().collect::<Vec<_>>(), rules, "{name}");
            }
            Err((rule, what)) => {
                assert_eq!(strings(&open[rule]), [what], "{name}");
                // Answers are held against requests all the same.
                assert!(!open.contains_key("response-unknown-id"), "{name}");
                assert!(!open.contains_key("request-unanswered"), "{name}");
            }
        }
    }
}

/// None is left out.
#[test]
fn every_real_log_was_read() {
    let mut read: Vec<&str> = REAL.iter().flat_map(|real| real.log).copied().collect();
    read.extend(REFUSED);
    for entry in fs::read_dir(logs()).expect("a folder") {
        let name = entry.expect("a file").file_name();
        let name = name.to_str().expect("text");
        assert!(!name.contains("-real") || read.contains(&name), "{name}");
    }
    for name in REFUSED {
        let ran = mcpsim(&logs(), &["check", name]).ends(2);
        assert!(ran.err.contains("which cannot be checked"), "{}", ran.err);
    }
}
