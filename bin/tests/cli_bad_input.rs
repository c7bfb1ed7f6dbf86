//! Input that cannot be used gets one clear message and exit code 2; nothing panics, hangs or is guessed in silence.
#![cfg(feature = "cli")]

mod common;

use std::path::Path;

use common::{Ran, captured, folder, handshake, mcpsim, mcpsim_reading, ping, text, write};
use serde_json::Value;

/// `check` of a file with these bytes.
fn check(bytes: impl AsRef<[u8]>) -> Ran {
    let here = folder();
    write(here.path(), "log", bytes);
    mcpsim(here.path(), &["check", "log", "--format", "json"])
}

/// The one file of a `check` report.
fn file(ran: &Ran) -> Value {
    ran.json()["files"][0].clone()
}

/// The rules that are broken for certain, with the line of each.
fn broken(ran: &Ran) -> Vec<(String, Option<u64>)> {
    let file = file(ran);
    let findings = file["findings"].as_array().expect("a list").iter();
    findings
        .filter(|finding| finding["verdict"] == "broken")
        .map(|finding| (text(finding, "rule").to_owned(), finding["line"].as_u64()))
        .collect()
}

#[test]
fn unknown_names_get_the_nearest() {
    let here = folder();
    let run = |args: &[&str]| mcpsim(here.path(), args).ends(2);
    run(&["run", "one-cal"]).says(&["unknown scenario \"one-cal\"", "`one-call`"]);
    run(&["run", "--fault", "answer-twice"])
        .says(&["unknown fault \"answer-twice\"", "`answers-twice`"]);
    run(&["run", "busy", "--fault", "answer-twice"]).says(&["unknown fault", "`answers-twice`"]);
    run(&["explain", "duplicate-respons"]).says(&["unknown rule", "`duplicate-response`"]);
    run(&["explain", "qqqqqqqqqq"]).says(&["unknown rule \"qqqqqqqqqq\"", "mcpsim list rules"]);
    run(&["explain", ""]).says(&["unknown rule"]);
    run(&["explain", "\u{1b}[31m\nred"]).says(&["\\u{1b}", "\\n"]);
    mcpsim(
        here.path(),
        &[
            "run",
            "--fault",
            "answers-twice",
            "--seed",
            "1",
            "--record",
            "t.jsonl",
        ],
    )
    .ends(1);
    run(&["shrink", "t.jsonl", "--rule", "duplicate-respond"])
        .says(&["unknown rule", "`duplicate-response`"]);
    run(&["check", "t.jsonl", "--revision", "2025-11-26"]).says(&["2025-11-26", "2025-11-25"]);
    run(&["schema", "scenaro"]).says(&["unknown schema \"scenaro\"; did you mean `scenario`?"]);
    run(&["schema", "NOPE"]).says(&["unknown schema \"NOPE\"; known here: scenario"]);
    // The parser's own words, with its own hints.
    for (args, hint) in [
        (&["rum", "busy"][..], "run"),
        (&["list", "rule"], "rules"),
        (&["run", "busy", "--sed", "1"], "--seed"),
        (&["check", "t.jsonl", "--vantage", "everywhere"], "between"),
        (&["check", "t.jsonl", "--format", "yaml"], "json"),
        (&["show", "t.jsonl", "--as", "picture"], "mermaid"),
    ] {
        let ran = run(args);
        assert!(ran.err.contains(hint), "{args:?}: {}", ran.err);
    }
}

/// A scenario of the catalogue's kind, with one thing wrong: the message has the place and the key.
#[test]
fn a_scenario_file_is_told_where_it_is_wrong() {
    let here = folder();
    let good = r#"{
  "name": "mine",
  "parties": [
    {"name": "client", "role": "client"},
    {"name": "server", "role": "server"}
  ],
  "links": [{"kind": "pipe", "client": "client", "server": "server"}],
  "workload": {"client": [{"do": "call", "tool": "echo", "n": 1}]},
  "faults": {"delay": 1}
}"#;
    let run = |text: &str| {
        write(here.path(), "mine.json", text);
        mcpsim(
            here.path(),
            &["run", "--scenario", "mine.json", "--seed", "1"],
        )
    };
    run(good).ends(0);
    let wrong: [(&str, &str, &[&str]); 9] = [
        (
            "\"delay\"",
            "\"dely\"",
            &["mine.json:9:", "`dely`", "`delay`"],
        ),
        (
            "\"role\": \"server\"",
            "\"rolle\": \"server\"",
            &["mine.json:5:", "`rolle`", "`role`"],
        ),
        (
            "\"workload\"",
            "\"workloads\"",
            &["mine.json:8:", "`workloads`", "`workload`"],
        ),
        ("\"echo\"", "\"ecko\"", &["mine.json:8:", "ecko", "echo"]),
        ("\"pipe\"", "\"pip\"", &["mine.json:7:", "`pip`", "`pipe`"]),
        (
            "\"client\": [{\"do\"",
            "\"clint\": [{\"do\"",
            &["mine.json:8:", "clint", "client"],
        ),
        ("\"n\": 1", "\"n\": -1", &["mine.json:8:", "-1"]),
        ("\"delay\": 1}", "\"delay\": 1,}", &["mine.json:9:"]),
        ("\"faults\": {\"delay\": 1}\n}", "", &["mine.json:9:"]),
    ];
    for (from, to, parts) in wrong {
        let changed = good.replacen(from, to, 1);
        assert_ne!(changed, good, "{from}");
        run(&changed).ends(2).says(parts);
    }
    run("").ends(2).says(&["mine.json:1:"]);
    run("[]").ends(2).says(&["mine.json:1:"]);
    let deep = "[".repeat(100_000);
    run(&deep).ends(2).says(&["mine.json:1:"]);
    let deep = good.replacen("{\"delay\": 1}", &format!("{{\"delay\": {deep}"), 1);
    run(&deep).ends(2).says(&["mine.json:9:"]);
    std::fs::write(here.path().join("mine.json"), b"\xff\xfe{}").expect("written");
    let ran = mcpsim(here.path(), &["run", "--scenario", "mine.json"]);
    ran.ends(2).says(&["mine.json", "UTF-8"]);
    let ran = mcpsim(here.path(), &["run", "--scenario", "none.json"]);
    ran.ends(2).says(&["none.json: cannot read"]);
    let ran = mcpsim(here.path(), &["run", "--scenario", "."]);
    ran.ends(2).says(&[".: ", "directory"]);

    // A fault that no party of the scenario can have.
    write(here.path(), "mine.json", good);
    let ran = mcpsim(
        here.path(),
        &[
            "run",
            "--scenario",
            "mine.json",
            "--fault",
            "gateway-mixes-servers",
        ],
    );
    ran.ends(2).says(&["gateway"]);
}

#[test]
fn flags_that_contradict_each_other_are_refused() {
    let here = folder();
    write(here.path(), "s.json", "{}");
    for (args, parts) in [
        (
            &["run", "busy", "--scenario", "s.json"][..],
            &["--scenario"][..],
        ),
        (&["run"], &["--fault", "one-call"]),
        (
            &["run", "busy", "--resume", "--record", "t.jsonl"],
            &["--record"],
        ),
        (&["run", "busy", "--seed", "9007199254740992"], &["2^53"]),
        (&["run", "busy", "--seed", "-1"], &["-1"]),
        (&["run", "busy", "--seed", "1.5"], &["1.5"]),
        (&["run", "busy", "--jobs", "0"], &["--jobs"]),
        (&["run", "busy", "--time", "30"], &["30s"]),
        (
            &["run", "busy", "--time", "99999999999999999999s"],
            &["no duration"],
        ),
        (&["run", "busy", "--runs", "-1"], &["-1"]),
        (&["check"], &["FILES"]),
        (&["check", "t", "--patience", "soon"], &["soon"]),
        (&["shrink", "t.jsonl", "--budget", "x"], &["--budget"]),
    ] {
        let ran = mcpsim(here.path(), args).ends(2);
        assert!(ran.out.is_empty(), "{args:?}");
        for part in parts {
            assert!(ran.err.contains(part), "{args:?}: {part:?} in {}", ran.err);
        }
    }
    let ran = mcpsim(
        here.path(),
        &["run", "one-call", "--runs", "2", "--time", "5000000000000h"],
    );
    ran.ends(0);
    // Nothing asked for is help, which says what there is.
    assert!(mcpsim(here.path(), &[]).ends(2).err.contains("Usage"));
    assert!(
        mcpsim(here.path(), &["--help"])
            .ends(0)
            .text()
            .contains("Exit codes")
    );
    assert!(
        mcpsim(here.path(), &["run", "--help"])
            .ends(0)
            .text()
            .contains("--seed")
    );
    assert!(
        mcpsim(here.path(), &["--version"])
            .ends(0)
            .text()
            .starts_with("mcpsim ")
    );
}

#[test]
fn files_that_are_no_logs_are_named_with_what_was_seen() {
    let here = folder();
    std::fs::create_dir(here.path().join("folder")).expect("made");
    write(here.path(), "empty", "");
    write(here.path(), "blank", "\n\n  \n");
    write(
        here.path(),
        "binary",
        [0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0xff, 0xfe],
    );
    write(here.path(), "gzip", b"\x1f\x8b\x08\x00\x00\x00");
    write(here.path(), "utf16", b"\xff\xfe{\x00}\x00\n\x00");
    write(
        here.path(),
        "words",
        "2025-12-01 INFO starting\nGET / 200\n",
    );
    write(here.path(), "json", "{\n  \"log\": []\n}\n");
    write(
        here.path(),
        "other.jsonl",
        "{\"time\":1,\"message\":\"hello\"}\n",
    );
    write(
        here.path(),
        "bare.jsonl",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n",
    );
    write(here.path(), "array", "[{\"dir\":\"c2s\"}]\n");
    write(
        here.path(),
        "escape",
        "\u{1b}[2J\u{1b}]0;gone\u{7} no log\n",
    );
    let cases: [(&str, &[&str]); 10] = [
        ("missing", &["missing: cannot read"]),
        (
            "empty",
            &["empty:1:1: ", "empty", "{\"dir\":\"c2s\",\"raw\":"],
        ),
        ("blank", &["blank:3:1: ", "blank lines"]),
        ("binary", &["binary:1:8: ", "binary"]),
        ("utf16", &["utf16:1:1: ", "UTF-16"]),
        ("words", &["words:1:1: ", "no JSON"]),
        ("json", &["json:1:1: ", "goes on in the next line"]),
        (
            "other.jsonl",
            &["other.jsonl:1:1: ", "no capture", "\"dir\""],
        ),
        ("bare.jsonl", &["bare.jsonl:1:1: ", "bare frame"]),
        ("array", &["array:1:1: ", "array"]),
    ];
    // `check` looks into folders and unpacks; `show` takes one file as it is.
    let apart: [(&str, &[&str], &[&str]); 2] = [
        (
            "folder",
            &["folder: there is no file in that folder"],
            &["folder: is a directory"],
        ),
        (
            "gzip",
            &["gzip: cannot read: unexpected end of file"],
            &["gzip:1:1: ", "unpack"],
        ),
    ];
    let alike = cases.map(|(name, parts)| (name, parts, parts));
    for (name, checked, shown) in alike.into_iter().chain(apart) {
        let parts = checked;
        mcpsim(here.path(), &["check", name]).ends(2).says(checked);
        mcpsim(here.path(), &["show", name]).ends(2).says(shown);
        let json = mcpsim(here.path(), &["check", name, "--format", "json"])
            .ends(2)
            .says(parts);
        let errors = file(&json)["errors"].clone();
        assert_eq!(errors.as_array().map(Vec::len), Some(1), "{errors}");
    }
    let ran = mcpsim(here.path(), &["check", "escape"]).ends(2);
    assert!(
        !ran.err.contains('\u{1b}') && !ran.err.contains('\u{7}'),
        "{:?}",
        ran.err
    );
    for command in ["replay", "shrink"] {
        for name in ["missing", "folder", "empty", "binary", "words"] {
            mcpsim(here.path(), &[command, name]).ends(2).says(&[name]);
        }
        write(here.path(), "capture.jsonl", handshake());
        mcpsim(here.path(), &[command, "capture.jsonl"])
            .ends(2)
            .says(&["capture.jsonl:1:"]);
    }
    // What could be judged is reported all the same, and 2 wins over 1.
    write(
        here.path(),
        "bad.jsonl",
        handshake() + &captured("s2c", "{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}"),
    );
    let ran = mcpsim(
        here.path(),
        &["check", "bad.jsonl", "missing", "--format", "json"],
    )
    .ends(2);
    assert_eq!(broken(&ran), [("response-unknown-id".to_owned(), Some(4))]);
    mcpsim(here.path(), &["check", "bad.jsonl"]).ends(1);
}

#[test]
fn a_broken_line_is_placed_and_the_rest_is_judged() {
    // What is wrong with a frame of its own is certain; that nobody sent request 9 is not, since the
    // line that could not be used may have held it.
    let late = captured("s2c", "{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}")
        + &captured("s2c", "{\"id\":9,\"method\":\"ping\"}");
    for (line, column) in [
        ("this is no line\n", ":4:1: "),
        ("{\"dir\":\"c2s\",\"raw\":\"a\\qb\"}\n", ":4:22: "),
        ("{\"dir\":\"c3s\",\"raw\":\"{}\"}\n", ":4:"),
        ("{\"dir\":\"c2s\",\"raw\":7}\n", ":4:20: "),
        ("{\"dir\":\"c2s\"}\n", ":4:"),
        ("{\"raw\":\"{}\"}\n", ":4:"),
        ("{\"dir\":\"c2s\",\"raw_b64\":\"***\"}\n", ":4:"),
        ("{\"dir\":\"c2s\",\"raw\":\"{}\"\n", ":4:"),
        ("{\"dir\":\"c2s\",\"raw\":\"\\ud800\"}\n", ":4:"),
    ] {
        let ran = check(handshake() + line + &late)
            .ends(2)
            .says(&[&format!("log{column}")]);
        assert_eq!(
            broken(&ran),
            [("jsonrpc-version".to_owned(), Some(6))],
            "{line}"
        );
        let findings = file(&ran)["findings"].to_string();
        assert!(
            findings.contains("response-unknown-id"),
            "as unsure: {line}"
        );
        assert_eq!(file(&ran)["frames"], 5, "{line}");
        assert_eq!(
            file(&ran)["errors"].as_array().map(Vec::len),
            Some(1),
            "{line}"
        );
    }
    let ran = check(
        [
            handshake().as_bytes(),
            b"{\"dir\":\"c2s\",\"raw\":\"\xff\"}\n",
            late.as_bytes(),
        ]
        .concat(),
    );
    let ran = ran.ends(2).says(&["log:4:21: "]);
    assert_eq!(broken(&ran), [("jsonrpc-version".to_owned(), Some(6))]);
    // A flood of them is counted.
    let ran = check(handshake() + &"?\n".repeat(10_000) + &late).ends(2);
    let errors = file(&ran)["errors"].as_array().expect("a list").len();
    assert_eq!(errors, 21);
    assert!(ran.err.contains("9980 more lines"), "{}", ran.err);
    assert_eq!(broken(&ran), [("jsonrpc-version".to_owned(), Some(10_005))]);
}

#[test]
fn a_cut_last_line_is_a_remark() {
    let late = captured("s2c", "{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}");
    let cut = "{\"dir\":\"c2s\",\"ra";
    let clean = check(handshake() + cut).ends(0);
    assert_eq!(file(&clean)["remarks"][0], "line 4 is cut and was left out");
    assert_eq!(file(&clean)["errors"], Value::Null);
    let found = check(handshake() + &late + cut).ends(1);
    assert_eq!(file(&found)["remarks"][0], "line 5 is cut and was left out");
    // A whole last line without its end is no cut one.
    let whole = check((handshake() + &late).trim_end()).ends(1);
    assert_eq!(file(&whole)["remarks"], Value::Null);

    let here = folder();
    mcpsim(
        here.path(),
        &["run", "one-call", "--seed", "1", "--record", "t.jsonl"],
    )
    .ends(0);
    let trace = common::read(&here.path().join("t.jsonl"));
    for cut in [trace.len() - 1, trace.len() - 40, trace.len() / 2] {
        let ran = check(&trace[..cut]);
        if cut == trace.len() - 1 {
            assert_eq!(file(&ran)["remarks"], Value::Null);
        } else {
            assert_eq!(
                file(&ran)["remarks"][0],
                "the last line is cut and was left out",
                "{cut}"
            );
        }
        ran.ends(0);
    }
}

/// All of these are one session of 5 frames without a fault.
#[test]
fn blank_lines_marks_and_line_ends_do_not_matter() {
    let plain = handshake() + &ping(2);
    let crlf = plain.replace('\n', "\r\n");
    for (name, bytes, line) in [
        ("plain", plain.clone(), 6),
        (
            "blank lines",
            format!("\n\n{}\n  \t\n", plain.replace('\n', "\n\n")),
            12,
        ),
        ("BOM", format!("\u{feff}{plain}"), 6),
        ("CRLF", crlf.clone(), 6),
        ("BOM and CRLF", format!("\u{feff}{crlf}"), 6),
        ("no last line end", plain.trim_end().to_owned(), 6),
    ] {
        let ran = check(&bytes);
        assert_eq!(
            (ran.code, file(&ran)["frames"].as_u64()),
            (0, Some(5)),
            "{name}: {}",
            ran.err
        );
        // The line of a finding is the line in the file, blank ones counted.
        let late = captured("s2c", "{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}");
        let ran = check(format!("{}\n{late}", bytes.trim_end()));
        assert_eq!(
            broken(&ran),
            [("response-unknown-id".to_owned(), Some(line))],
            "{name}"
        );
    }
}

/// Each is one frame after a handshake: judged, named, and never a reason to fall over.
#[test]
fn frames_of_any_size_and_kind_are_judged() {
    let request = |id: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
    };
    let deep =
        |open: &str, shut: &str| format!("{}1{}", open.repeat(100_000), shut.repeat(100_000));
    let member = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let frames: [(&str, String, Option<&str>); 14] = [
        (
            "10 MB",
            request(
                "2",
                &format!(r#"{{"name":"a","x":"{}"}}"#, "x".repeat(10 << 20)),
            ),
            None,
        ),
        (
            "deep array",
            request("2", &format!(r#"{{"name":"a","x":{}}}"#, deep("[", "]"))),
            None,
        ),
        (
            "deep object",
            request(
                "2",
                &format!(r#"{{"name":"a","x":{}}}"#, deep("{\"a\":", "}")),
            ),
            None,
        ),
        (
            "deep id",
            request(&deep("[", "]"), "{}"),
            Some("request-id-type"),
        ),
        (
            "deep, not closed",
            "[".repeat(100_000),
            Some("unparsable-message"),
        ),
        (
            "empty batch",
            "[]".to_owned(),
            Some("batch-not-in-revision"),
        ),
        (
            "nested batch",
            "[[[]]]".to_owned(),
            Some("batch-not-in-revision"),
        ),
        (
            "batch of 100,000",
            format!("[{}]", vec![member; 100_000].join(",")),
            Some("batch-not-in-revision"),
        ),
        (
            "long id",
            request(&"9".repeat(1 << 20), r#"{"name":"a"}"#),
            Some("id-beyond-2-53"),
        ),
        (
            "huge exponent",
            request("1e999999999", r#"{"name":"a"}"#),
            Some("id-beyond-2-53"),
        ),
        ("NaN", request("NaN", "{}"), Some("unparsable-message")),
        ("NUL", "\0\0\0".to_owned(), Some("stdio-stdin-noise")),
        ("nothing", String::new(), Some("stdio-stdin-noise")),
        (
            "two values",
            format!("{member}{member}"),
            Some("unparsable-message"),
        ),
    ];
    for (name, frame, rule) in frames {
        let ran = check(handshake() + &captured("c2s", &frame) + &ping(7));
        assert_eq!(ran.err, "", "{name}");
        assert_eq!(file(&ran)["frames"], 6, "{name}");
        let broken = broken(&ran);
        if let Some(rule) = rule {
            assert!(
                broken
                    .iter()
                    .any(|(id, line)| id == rule && *line == Some(4)),
                "{name}: {broken:?}"
            );
        }
        let report_size = ran.out.len();
        assert!(report_size < 60_000, "{name}: {report_size} bytes");
        let fails = file(&ran)["findings"]
            .as_array()
            .expect("a list")
            .iter()
            .any(|finding| finding["verdict"] == "broken" && finding["severity"] == "error");
        assert_eq!(ran.code, i32::from(fails), "{name}: {broken:?}");
    }
    // Bytes that are not UTF-8, in base64: `{"jsonrpc":"2.0","method":"\xff"}`.
    let bytes = "{\"dir\":\"c2s\",\"raw_b64\":\"eyJqc29ucnBjIjoiMi4wIiwibWV0aG9kIjoi/yJ9\"}\n";
    let ran = check(handshake() + bytes);
    assert_eq!(
        broken(&ran).first().map(|(_, line)| *line),
        Some(Some(4)),
        "{}",
        ran.text()
    );
    // The same bytes raw in a line of the capture are a line that cannot be used: see above.
    // A line that is itself deep, of a member that nobody reads.
    let line = format!(
        "{{\"dir\":\"c2s\",\"raw\":\"{{}}\",\"x\":{}}}\n",
        deep("[", "]")
    );
    let ran = check(handshake() + &line);
    assert_eq!(file(&ran)["frames"], 4, "{}", ran.err);
}

#[test]
fn a_capture_where_no_line_is_a_frame_is_no_success() {
    for bytes in [
        "{\"event\":\"open\",\"vantage\":\"client\"}\n",
        "{\"dir\":\"s2c\",\"event\":\"exit\",\"status\":1}\n\n",
        "{\"dir\":\"c2s\",\"event\":\"unheard-of\"}\n",
    ] {
        check(bytes).ends(2).says(&["no line is a frame"]);
    }
    let ran = check("{\"dir\":\"c2s\"}\n{\"dir\":\"s2c\"}\n").ends(2);
    assert!(
        ran.err.contains("log:1:") && ran.err.contains("log:2:"),
        "{}",
        ran.err
    );
}

/// A log in a folder that cannot be written, and outputs below a file: one message, and nothing half written.
#[test]
fn what_cannot_be_written_is_said_once() {
    let here = folder();
    write(here.path(), "file", "x");
    let run = |args: &[&str]| mcpsim(here.path(), args).ends(2);
    run(&["run", "nested", "--seed", "1", "--record", "file/t.jsonl"])
        .says(&["file/t.jsonl: cannot write"]);
    run(&[
        "run",
        "--fault",
        "answers-twice",
        "--seed",
        "1",
        "--out",
        "file/out",
    ])
    .says(&["file/out/", "cannot write"]);
    run(&[
        "run", "nested", "--seed", "1", "--runs", "9", "--time", "0s", "--out", "file",
    ])
    .says(&["file/campaign.json: cannot write"]);
    mcpsim(
        here.path(),
        &[
            "run",
            "--fault",
            "answers-twice",
            "--seed",
            "1",
            "--record",
            "t.jsonl",
            "--out",
            "out",
        ],
    )
    .ends(1);
    run(&["shrink", "t.jsonl", "-o", "file/min.jsonl"]).says(&["file/min.jsonl: cannot write"]);
    run(&["show", "t.jsonl", "-o", "file/t.txt"]).says(&["file/t.txt: cannot write"]);
    run(&["show", "t.jsonl", "-o", "out"]).says(&["out: cannot write"]);
    assert_eq!(common::read(&here.path().join("file")), b"x");
    let mut names: Vec<String> = common::files(&here.path().join("out"))
        .into_keys()
        .collect();
    names.retain(|name| !name.starts_with("duplicate-response-server-"));
    assert!(names.is_empty(), "left over: {names:?}");
}

#[cfg(target_os = "linux")]
mod output {
    //! A full disk behind standard output, and a reader that goes away.

    use std::fs::OpenOptions;
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Command, Stdio};

    use super::*;
    use common::command;

    /// Commands that print, with their exit code where the output can be written.
    fn commands(here: &Path) -> Vec<Vec<&'static str>> {
        mcpsim(
            here,
            &[
                "run",
                "--fault",
                "answers-twice",
                "--seed",
                "1",
                "--record",
                "t.jsonl",
                "--out",
                "out",
            ],
        )
        .ends(1);
        let mut log = handshake();
        for id in 2..4_000 {
            // Each answer is a finding, or the report would be short.
            log += &ping(id);
            log += &captured(
                "s2c",
                &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#),
            );
        }
        write(here, "log", log);
        let mut all: Vec<Vec<&str>> = vec![
            vec!["run", "busy", "--seed", "1"],
            vec!["run", "--fault", "answers-twice", "--seed", "1"],
            vec!["replay", "t.jsonl"],
            vec!["shrink", "t.jsonl"],
            vec!["check", "log"],
            vec!["check", "t.jsonl"],
            vec!["show", "log"],
            vec!["show", "log", "--as", "mermaid"],
            vec!["list", "rules"],
            vec!["list", "scenarios"],
            vec!["list", "faults"],
            vec!["explain", "duplicate-response"],
        ];
        let json: Vec<Vec<&str>> = all
            .iter()
            .map(|args| [args.as_slice(), &["--format", "json"]].concat())
            .collect();
        all.extend(json);
        all
    }

    fn to(here: &Path, args: &[&str], stdout: Stdio) -> Command {
        let mut command = command(common::MCPSIM, here, args);
        command
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(Stdio::piped());
        command
    }

    #[test]
    fn a_full_disk_is_one_message() {
        let here = folder();
        let mut all = commands(here.path());
        all.push(vec!["--help"]);
        all.push(vec!["--version"]);
        for args in all {
            let full = OpenOptions::new()
                .write(true)
                .open("/dev/full")
                .expect("a full device");
            let mut child = to(here.path(), &args, full.into())
                .spawn()
                .expect("spawned");
            let mut err = String::new();
            child
                .stderr
                .take()
                .expect("a pipe")
                .read_to_string(&mut err)
                .expect("text");
            let code = common::wait(&mut child, "a full disk");
            assert_eq!(code, 2, "{args:?}: {err}");
            assert_eq!(err.lines().count(), 1, "{args:?}: {err}");
            assert!(
                err.contains("cannot write to standard output"),
                "{args:?}: {err}"
            );
        }
    }

    /// One line is read, or none; then the reader goes. Nobody is told.
    #[test]
    fn a_closed_pipe_ends_quietly() {
        let here = folder();
        for args in commands(here.path()) {
            for reads in [true, false] {
                let mut child = to(here.path(), &args, Stdio::piped())
                    .spawn()
                    .expect("spawned");
                let mut out = BufReader::with_capacity(16, child.stdout.take().expect("a pipe"));
                if reads {
                    out.read_line(&mut String::new()).expect("readable");
                }
                drop(out);
                let mut err = String::new();
                child
                    .stderr
                    .take()
                    .expect("a pipe")
                    .read_to_string(&mut err)
                    .expect("text");
                let code = common::wait(&mut child, "a closed pipe");
                assert_eq!(err, "", "{args:?}");
                assert!(code == 0 || code == 1, "{args:?}: {code}");
            }
        }
    }
}

/// Every command's report is one JSON object that says what it is, whatever was found or failed.
#[test]
fn every_report_is_json_with_a_schema() {
    let here = folder();
    let run = |args: &[&str]| {
        let mut all = args.to_vec();
        all.extend(["--format", "json"]);
        mcpsim(here.path(), &all)
    };
    let recorded = [
        "--fault",
        "answers-twice",
        "--seed",
        "1",
        "--record",
        "t.jsonl",
        "--out",
        "out",
    ];
    let schemas: [(&[&str], &str, i32); 13] = [
        (&["run", "one-call", "--seed", "1"], "mcpsim-run/1", 0),
        (&[&["run"][..], &recorded].concat(), "mcpsim-run/1", 1),
        (&["replay", "t.jsonl"], "mcpsim-replay/1", 1),
        (&["shrink", "t.jsonl"], "mcpsim-shrink/1", 1),
        (&["check", "t.jsonl"], "mcpsim-check/1", 1),
        (&["check", "t.jsonl", "missing"], "mcpsim-check/1", 2),
        (&["show", "t.jsonl"], "mcpsim-show/1", 0),
        (&["schema", "scenario"], "mcpsim-schema/1", 0),
        (&["show", "t.jsonl", "--as", "mermaid"], "mcpsim-show/1", 0),
        (&["list", "scenarios"], "mcpsim-scenarios/1", 0),
        (&["list", "rules"], "mcpsim-rules/1", 0),
        (&["list", "faults"], "mcpsim-faults/1", 0),
        (&["explain", "duplicate-response"], "mcpsim-explain/1", 0),
    ];
    for (args, schema, code) in schemas {
        let report = run(args).ends(code).json();
        assert_eq!(report["schema"], schema, "{args:?}");
    }
    let scenarios = run(&["list", "scenarios"]).json();
    let first = &scenarios["scenarios"][0];
    assert_eq!(common::members(first), ["about", "name"]);
    let faults = run(&["list", "faults"]).json();
    assert_eq!(
        common::members(&faults["faults"][0]),
        [
            "about",
            "blame",
            "name",
            "needs_schedule",
            "rule",
            "scenario"
        ]
    );
    let explained = run(&["explain", "duplicate-response"]).json();
    assert_eq!(explained["rule"], "duplicate-response");
    let stdin = mcpsim_reading(
        here.path(),
        &["check", "-", "--format", "json"],
        handshake().as_bytes(),
    );
    assert_eq!(stdin.ends(0).json()["files"][0]["file"], "-");
}
