//! Logs of other programs, as `check` reads them: what is found in them, where it stands, and what they have lost.

mod common;

use std::path::{Path, PathBuf};

use common::{folder, mcpsim, read, write};
use serde_json::Value;

fn logs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../traces/tests/logs")
}

/// The report of the one file that these arguments name.
fn report(args: &[&str]) -> Value {
    let args = [&["check", "--format", "json"], args].concat();
    let mut report = mcpsim(&logs(), &args).json();
    report["files"][0].take()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Each finding as rule, blame, verdict, severity and frames.
fn found(report: &Value) -> Vec<String> {
    let word = |finding: &Value, name: &str| finding[name].as_str().unwrap_or("?").to_owned();
    list(&report["findings"])
        .iter()
        .map(|finding| {
            let words = ["rule", "blame", "verdict", "severity"].map(|name| word(finding, name));
            format!("{} {}", words.join(" "), finding["frames"])
        })
        .collect()
}

/// The same session in each form: nothing is found, and everything that was lost is named.
#[test]
fn the_same_session_is_lawful_in_every_form() {
    for (file, format, lost) in [
        (
            "claude-desktop.log",
            "claude-desktop",
            "lines that are no frames",
        ),
        (
            "claude-desktop-mid.log",
            "claude-desktop",
            "lines that are no frames",
        ),
        (
            "claude-desktop-old.log",
            "claude-desktop",
            "lines that are no frames",
        ),
        ("vscode-output.log", "vscode", "lines that are no frames"),
        (
            "vscode-output-old.log",
            "vscode",
            "lines that are no frames",
        ),
        (
            "mcp-trace-validator.jsonl",
            "mcp-trace",
            "raw text, lines that are no frames",
        ),
        ("mcpsnoop.jsonl", "mcpsnoop", ""),
        ("mcp-server-logger.log", "std-tags", ""),
    ] {
        let report = report(&[file]);
        assert_eq!(report["format"], format, "{file}");
        assert_eq!(report["frames"], 13, "{file}");
        assert!(found(&report).is_empty(), "{file}: {:?}", found(&report));
        let names: Vec<&str> = list(&report["lost"])
            .iter()
            .filter_map(Value::as_str)
            .collect();
        assert_eq!(names.join(", "), lost, "{file}");
        assert_eq!(report["sessions"][0]["revision"], "2025-06-18", "{file}");
        assert_eq!(list(&report["sessions"]).len(), 1, "{file}");
    }
}

/// Two servers in one file have the same ids, and are two sessions.
#[test]
fn servers_in_one_log_are_told_apart() {
    let report = report(&["claude-desktop-mcp.log"]);
    assert_eq!(report["frames"], 26);
    assert_eq!(list(&report["sessions"]).len(), 2);
    assert!(found(&report).is_empty());
}

/// The commonest bug report there is: two findings, one for each side, and each stands where the user finds it.
#[test]
fn a_client_that_hangs_is_two_findings() {
    let report = report(&["claude-desktop-hang.log"]);
    assert_eq!(
        found(&report),
        [
            "request-unanswered server broken error [1]",
            "cancel-initialize client broken error [1,2]",
        ]
    );
    let cancel = &report["findings"][1];
    let text = String::from_utf8(read(&logs().join("claude-desktop-hang.log"))).expect("text");
    let line = cancel["line"].as_u64().expect("a line") as usize;
    let column = cancel["column"].as_u64().expect("a column") as usize;
    let there = &text.lines().nth(line - 1).expect("the line")[column - 1..];
    assert!(there.starts_with("0,\"reason\""), "{there}");
}

/// What the session did, in words: whoever waits sees first for what, since where in the log, and who owes it.
#[test]
fn a_session_that_hangs_is_told_in_words() {
    let ran = mcpsim(&logs(), &["check", "claude-desktop-hang.log"]).ends(1);
    let text = ran.text();
    let beginning = "\
claude-desktop-hang.log: claude-desktop seen from between the two, 2 frames, no revision negotiated
         without an agreed revision the client orchard-desk 0.3.0 sent 2 frames and the server sent none, in 1 min 0 s; the client closed its side
         open for 1 min 0 s: initialize 0 (#1, line 2), the server owes the answer
         nothing was heard from the server

error    request-unanswered   the server   frame #1   line 2
";
    assert!(text.starts_with(beginning), "{text}");
    // What is said of the log stands apart from what was found.
    let notes = "\n\n         not checkable from this log";
    assert!(text.contains(notes), "{text}");

    // What was agreed on is lost, which is not the same as that nothing was.
    let ran = mcpsim(&logs(), &["check", "mcp-remote-debug-real.log"]).ends(0);
    let words = "19 frames, revision not told\n         by a revision that is not told the client";
    assert!(ran.text().contains(words), "{}", ran.text());

    // A peer without a version, and a request of which nothing was lost but the line: the log is two files.
    let here = folder();
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":""}}}"#;
    write(here.path(), "c2s", initialize);
    let log =
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#;
    write(here.path(), "s2c", log);
    let args = ["check", "--format", "json", "--c2s", "c2s", "--s2c", "s2c"];
    let report = mcpsim(here.path(), &args).json()["files"][0].take();
    let open = &report["sessions"][0]["open"][0];
    assert_eq!(open["frame"], 1);
    assert_eq!(open["line"], Value::Null);
    // Of a side that nobody recorded it is not known what it said, or owes.
    let ran = mcpsim(here.path(), &["check", "--c2s", "c2s"]);
    let words = "the client c sent 1 frame and what the server sent was not recorded; the recording stops\n         nothing found\n";
    assert!(ran.text().contains(words), "{}", ran.text());
    let args = ["check", "--format", "json", "--c2s", "c2s"];
    let session = mcpsim(here.path(), &args).json()["files"][0]["sessions"][0].take();
    assert_eq!(session["not_recorded"], "server");
    assert_eq!(
        (&session["open"], &session["open_requests"]),
        (&serde_json::json!([]), &0.into())
    );
}

/// One slip is one finding, in both forms; the form without times leaves open what time decides.
#[test]
fn hostile_sessions_are_judged_as_written() {
    let expected = read(&logs().join("hostile/expect.json"));
    let expected: Value = serde_json::from_slice(&expected).expect("JSON");
    let expected = expected.as_object().expect("an object");
    assert_eq!(expected.len(), 14);
    for (name, wanted) in expected {
        let case = name.strip_suffix(".mcpsnoop").expect("its name");
        let words =
            |finding: &Value| found(&serde_json::json!({ "findings": [finding] })).remove(0);
        let (may, must): (Vec<&Value>, Vec<&Value>) = list(&wanted["findings"])
            .iter()
            .partition(|finding| finding["optional"] == true);
        let may: Vec<String> = may.into_iter().map(words).collect();
        let mut wanted: Vec<String> = must.into_iter().map(words).collect();
        wanted.sort();
        for (form, has_times) in [("mcpsnoop", true), ("mcp-trace", false)] {
            let file = format!("hostile/{case}.{form}.jsonl");
            let mut found = found(&report(&[&file]));
            found.retain(|one| !may.contains(one));
            found.sort();
            let wanted: Vec<String> = match (case, has_times) {
                ("hang", false) => vec!["request-unanswered server unsure error [6]".into()],
                ("init_cancelled", false) => wanted[..1].to_vec(),
                _ => wanted.clone(),
            };
            assert_eq!(found, wanted, "{file}");
        }
    }
}

/// In a trace of HTTP no line says which exchange it belongs to. Where they overlap it is concluded, and where nothing
/// decides, nobody is accused of what rests on it.
#[test]
fn overlapping_exchanges_of_a_trace_accuse_nobody() {
    let here = folder();
    let log = String::from_utf8(read(&logs().join("mcp-trace-http-real.jsonl"))).expect("text");
    let lines: Vec<&str> = log.lines().collect();
    let checked = |order: &[&str]| {
        // Numbered anew: nothing is missing.
        let numbered = order.iter().enumerate().map(|(at, line)| {
            let mut line: Value = serde_json::from_str(line).expect("JSON");
            line["seq"] = at.into();
            line.to_string()
        });
        let numbered: Vec<String> = numbered.collect();
        write(here.path(), "x.jsonl", numbered.join("\n"));
        let args = ["check", "--format", "json", "x.jsonl"];
        mcpsim(here.path(), &args).json()["files"][0].take()
    };
    let guess = Value::from("which of the HTTP exchanges that overlap a line belongs to");
    let is_guessed = |report: &Value| list(&report["guessed"]).contains(&guess);
    // As it is: the 202 for the notification comes when a GET was sent as well.
    let real = checked(&lines);
    assert_eq!(found(&real), [""; 0]);
    assert!(is_guessed(&real));
    // The list is asked for before the 202 for the notification comes; without a GET.
    let (before, after) = (&lines[..6], &lines[12..]);
    let [accepted, stream] = [lines[7], lines[11]];
    let overlapping = [before, &lines[8..10], &[accepted, stream], after].concat();
    let overlap = checked(&overlapping);
    assert_eq!(found(&overlap), [""; 0]);
    assert!(is_guessed(&overlap));
    // The same status twice in a row is the server's: the request is answered with 202.
    let wrong = [before, &[accepted], &lines[8..10], &[accepted], after].concat();
    let wrong = checked(&wrong);
    assert_eq!(
        found(&wrong),
        ["http-request-content-type server broken error [8,10]"]
    );
    assert!(!is_guessed(&wrong));
    // An error that may belong to either of two.
    let refused = accepted.replace("202", "404");
    let unclear = [before, &lines[8..10], &[&refused, stream], after].concat();
    let unclear = checked(&unclear);
    assert_eq!(found(&unclear), [""; 0]);
    assert!(list(&unclear["lost"]).contains(&"HTTP".into()));
}

/// What each side wrote, in a file each: a finding names its file, and what needs the order of both is not checkable.
#[test]
fn two_files_are_one_session() {
    let both = |client: &str, server: &str| report(&["--c2s", client, "--s2c", server]);
    let clean = both("tee-c2s.ndjson", "tee-s2c.ndjson");
    assert_eq!((&clean["frames"], found(&clean)), (&13.into(), vec![]));
    let lost = &clean["not_checkable"]["initialized-missing"];
    assert_eq!(lost, &serde_json::json!(["order between the sides"]));
    let guess = "how the two files were interleaved".into();
    assert!(list(&clean["guessed"]).contains(&guess));
    let real = both("tee-real-c2s.ndjson", "tee-real-s2c.ndjson");
    assert_eq!((&real["frames"], found(&real)), (&21.into(), vec![]));

    let noise = both("tee-c2s.ndjson", "tee-noise-s2c.ndjson");
    assert_eq!(
        found(&noise),
        ["stdio-stdout-noise server broken error [2]"]
    );
    let finding = &noise["findings"][0];
    assert_eq!(finding["file"], "tee-noise-s2c.ndjson");
    assert_eq!(
        (&finding["line"], &finding["column"]),
        (&1.into(), &1.into())
    );
    let half = report(&["--s2c", "tee-noise-s2c.ndjson"]);
    assert_eq!(found(&half), ["stdio-stdout-noise server broken error [1]"]);
}

/// With times before the frames their order is known.
#[test]
fn times_put_two_files_in_order() {
    let here = folder();
    let at = |second: u32, frame: &str| format!("2026-03-04T09:15:{second:02}.000Z {frame}\n");
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}"#;
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let client = at(1, initialize) + &at(2, initialized);
    write(here.path(), "c2s", client);
    write(here.path(), "s2c", at(3, answer));
    let args = ["check", "--format", "json", "--c2s", "c2s", "--s2c", "s2c"];
    let report = mcpsim(here.path(), &args).ends(1).json()["files"][0].take();
    assert_eq!(
        found(&report),
        ["initialized-too-early client broken error [2]"]
    );
}

/// A log without frames is refused, with what to do instead.
#[test]
fn logs_without_frames_are_refused() {
    mcpsim(&logs(), &["check", "vscode-output-info.log"])
        .ends(2)
        .says(&["vscode-output-info.log:1:1", "Debug or Trace"]);
}

/// Every form is listed, with what it lacks.
#[test]
fn formats_are_listed() {
    let text = mcpsim(&logs(), &["list", "formats"]).ends(0);
    for words in ["claude-desktop", "lost: raw text", "capture", "vscode-info"] {
        assert!(text.text().contains(words), "{words}");
    }
    let json = mcpsim(&logs(), &["list", "formats", "--format", "json"]).json();
    assert_eq!(json["schema"], "mcpsim-formats/1");
    assert!(
        list(&json["formats"])
            .iter()
            .any(|row| row["judged"] == false)
    );
}

/// Rules and severities of one's own.
#[test]
fn findings_are_chosen() {
    let here = folder();
    let hang = logs().join("claude-desktop-hang.log");
    let hang = hang.to_str().expect("a path");
    let found_with = |args: &[&str]| {
        let args = [&["check", "--format", "json", hang], args].concat();
        let ran = mcpsim(here.path(), &args);
        let code = ran.code;
        (code, found(&ran.json()["files"][0]))
    };
    let cancel = "cancel-initialize client broken error [1,2]";
    let silent = "request-unanswered server broken error [1]";
    assert_eq!(found_with(&[]), (1, vec![silent.into(), cancel.into()]));
    let only = found_with(&["--rule", "cancel-initialize"]);
    assert_eq!(only, (1, vec![cancel.into()]));
    let less = found_with(&["--ignore", "cancel-initialize"]);
    assert_eq!(less, (1, vec![silent.into()]));
    let none = found_with(&[
        "--ignore",
        "cancel-initialize",
        "--ignore",
        "request-unanswered",
    ]);
    assert_eq!(none, (0, vec![]));

    // The file that lies here is read by itself; the command line comes after it.
    write(
        here.path(),
        "mcpsim.toml",
        "[rules]\ncancel-initialize = \"off\"\nrequest-unanswered = \"note\"\n",
    );
    let note = "request-unanswered server broken note [1]";
    assert_eq!(found_with(&[]), (0, vec![note.into()]));
    assert_eq!(found_with(&["--level", "warning"]), (0, vec![]));
    assert_eq!(found_with(&["--rule", "cancel-initialize"]), only);
}

/// A broken configuration is named with its place and the nearest name.
#[test]
fn a_broken_configuration_has_its_place() {
    let here = folder();
    let capture = write(here.path(), "log", common::handshake());
    let log = capture.to_str().expect("a path");
    for (config, words) in [
        (
            "[rules]\nping-flood = \"off\"\ncancel-initialise = \"off\"\n",
            &["mcpsim.toml:3:1", "did you mean cancel-initialize?"][..],
        ),
        (
            "[rules]\nping-flood = \"of\"\n",
            &["mcpsim.toml:2:14", "not \"of\""],
        ),
        (
            "[rules]\nping-flood = 1\n",
            &["mcpsim.toml:2:14", "integer"],
        ),
        ("[rule]\n", &["mcpsim.toml:1:2", "unknown field `rule`"]),
        ("[rules\n", &["mcpsim.toml:1:"]),
    ] {
        write(here.path(), "mcpsim.toml", config);
        mcpsim(here.path(), &["check", log]).ends(2).says(words);
    }
    std::fs::remove_file(here.path().join("mcpsim.toml")).expect("removed");
    mcpsim(here.path(), &["check", log, "--rule", "ping-floot"])
        .ends(2)
        .says(&["ping-flood"]);
    mcpsim(here.path(), &["check", log, "--config", "none.toml"])
        .ends(2)
        .says(&["none.toml"]);
}

/// A log that goes on after a restart has two sessions, whatever its form says of it: nothing of the first is held against the second.
#[test]
fn a_restart_begins_another_session() {
    let dir = folder();
    for name in [
        "arrow-text.log",
        "claude-desktop.log",
        "claude-desktop-mid.log",
        "claude-desktop-old.log",
        "mcp-rec.jsonl",
        "mcp-server-logger.log",
        "mcp-vcr.ndjson",
        "vscode-output.log",
        "vscode-output-old.log",
    ] {
        let text = read(&logs().join(name));
        write(dir.path(), name, [&text[..], &text[..]].concat());
        let args = ["check", "--format", "json", name];
        let report = mcpsim(dir.path(), &args).ends(0).json()["files"][0].take();
        assert_eq!(list(&report["sessions"]).len(), 2, "{name}");
        assert_eq!(found(&report), [""; 0], "{name}");
        // Converted, they are still two.
        let args = ["convert", name, "-o", "two.jsonl", "--to", "capture"];
        mcpsim(dir.path(), &args).ends(0);
        let args = ["check", "--format", "json", "two.jsonl"];
        let report = mcpsim(dir.path(), &args).ends(0).json()["files"][0].take();
        assert_eq!(list(&report["sessions"]).len(), 2, "{name}");
        std::fs::remove_file(dir.path().join("two.jsonl")).expect("it is there");
    }
}

/// Times of lines without a frame are times all the same: until then nothing came.
#[test]
fn a_log_that_goes_on_without_frames_waits() {
    let dir = folder();
    let at = |time: &str, text: &str| format!("2026-03-04 09:{time}.000 [{text}\n");
    let waiting = "info] Waiting for server to respond to `initialize` request...";
    let initialize = "debug] [editor -> server] {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\
        \"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"editor\",\"version\":\"1\"}}}";
    let log = [
        at("15:00", "info] Starting server garden"),
        at("15:00", initialize),
        at("15:05", waiting),
        at("15:40", waiting),
    ];
    write(dir.path(), "vscode.log", log.concat());
    let report = mcpsim(dir.path(), &["check", "--format", "json", "vscode.log"])
        .ends(1)
        .json()["files"][0]
        .take();
    assert_eq!(
        found(&report),
        ["request-unanswered server broken error [1]"]
    );
    assert_eq!(report["findings"][0]["line"], 2);
    write(dir.path(), "vscode.log", log[..3].concat());
    let report =
        mcpsim(dir.path(), &["check", "--format", "json", "vscode.log"]).json()["files"][0].take();
    assert_eq!(
        found(&report),
        ["request-unanswered server unsure error [1]"]
    );
}

/// A line that was cut is left out, and said, in whatever form.
#[test]
fn a_cut_line_accuses_nobody() {
    let dir = folder();
    for name in [
        "claude-desktop-mid.log",
        "vscode-output-old.log",
        "mcp-server-logger.log",
        "arrow-text.log",
        "mcpsnoop.jsonl",
    ] {
        let text = read(&logs().join(name));
        let frames = last_frame(&text);
        write(dir.path(), name, &text[..frames + 30]);
        let report = mcpsim(dir.path(), &["check", "--format", "json", name])
            .ends(0)
            .json()["files"][0]
            .take();
        let remarks = report["remarks"].to_string();
        assert!(
            remarks.contains("is cut and was left out"),
            "{name}: {remarks}"
        );
        let is_open =
            |line: &String| line.starts_with("request-unanswered") && line.contains(" unsure ");
        assert!(
            found(&report).iter().all(is_open),
            "{name}: {:?}",
            found(&report)
        );
    }
}

/// Where the last frame is named as one.
fn last_frame(text: &[u8]) -> usize {
    let text = std::str::from_utf8(text).expect("text");
    text.rfind("jsonrpc").expect("a frame")
}
