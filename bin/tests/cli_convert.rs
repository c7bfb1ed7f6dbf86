//! `mcpsim convert` from the outside: each form, what it says is not held, and the files that it writes, or leaves alone.
#![cfg(feature = "cli")]

mod common;

use std::io::Write;
use std::path::{Path, PathBuf};

use common::{
    captured, documented, files, folder, handshake, mcpsim, mcpsim_reading, members, ping, read,
    write,
};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

const FORMS: [&str; 5] = ["capture", "trace", "mcp-trace", "mcpsnoop", "har"];

fn logs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../traces/tests/logs")
}

/// Eight frames, and the end of the server's program.
fn session() -> String {
    let exit = "{\"dir\":\"s2c\",\"event\":\"exit\",\"status\":1}\n";
    handshake() + &ping(2) + &ping(3) + &captured("s2c", "Listening on port 80") + exit
}

/// What `check` finds in the one log that these arguments name: findings in words, what was lost, what was left open.
fn verdict(folder: &Path, args: &[&str]) -> Verdict {
    let args = [&["check", "--format", "json"], args].concat();
    let report = mcpsim(folder, &args).json();
    let file = &report["files"][0];
    let words = |finding: &Value| {
        let names = ["rule", "blame", "verdict", "severity", "frames"];
        names.map(|name| finding[name].to_string()).join(" ")
    };
    let findings = file["findings"].as_array().map_or(&[][..], Vec::as_slice);
    let mut findings: Vec<String> = findings.iter().map(words).collect();
    findings.sort();
    (
        findings,
        file["lost"].clone(),
        file["not_checkable"].clone(),
    )
}

/// Every sample, as arguments.
fn samples() -> Vec<Vec<String>> {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/cases/real");
    let folders = [logs(), logs().join("hostile"), cases];
    let names = folders.iter().flat_map(|folder| files_below(folder));
    // One direction of two tells nothing alone.
    let names = names.filter(|name| !name.contains("/tee-") && !name.ends_with("expect.json"));
    let mut samples: Vec<Vec<String>> = names.map(|name| vec![name]).collect();
    let tee = |name: String| logs().join(name).display().to_string();
    for real in ["", "real-"] {
        let client = tee(format!("tee-{real}c2s.ndjson"));
        let server = tee(format!("tee-{real}s2c.ndjson"));
        samples.push(vec!["--c2s".to_owned(), client, "--s2c".to_owned(), server]);
    }
    samples
}

fn files_below(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("the samples");
    let paths = entries.map(|entry| entry.expect("readable").path());
    let mut names: Vec<String> = paths
        .filter(|path| path.is_file())
        .map(|path| path.display().to_string())
        .collect();
    names.sort();
    names
}

/// Captures and traces keep the verdict of every sample: what was found, what was lost, what cannot be checked; so do archives of
/// what was recorded as exchanges. The other forms keep what was found where the log had lost nothing that looks like a fault, but
/// for rules that need what they cannot hold.
#[test]
fn the_verdict_stays() {
    let here = folder();
    let mut compared = 0;
    for log in samples() {
        let log: Vec<&str> = log.iter().map(String::as_str).collect();
        let name = log[log.len() - 1].rsplit('/').next().expect("a name");
        let check = [&["check"], &log[..]].concat();
        let has_frames = !mcpsim(here.path(), &check).err.contains("mcpsim: ");
        if !has_frames {
            let args = [&["convert", "-o", "none"], &log[..]].concat();
            mcpsim(here.path(), &args).ends(2);
            continue;
        }
        let before = verdict(here.path(), &log);
        for form in FORMS {
            let flags = ["convert", "-o", "out", "--force", "--lossy", "--to", form];
            let ran = mcpsim(here.path(), &[&flags, &log[..]].concat()).ends(0);
            // What would accuse somebody is refused where nobody insists.
            let is_misleading = ran.err.contains("may take") || ran.err.contains("takes frames");
            let strict = ["convert", "-o", "strict", "--force", "--to", form];
            let strict = mcpsim(here.path(), &[&strict, &log[..]].concat());
            assert_eq!(
                strict.code,
                if is_misleading { 2 } else { 0 },
                "{name} as {form}"
            );
            compared += 1;
            let after = verdict(here.path(), &["out"]);
            match form {
                "capture" => assert_eq!(after, before, "{name} as {form}"),
                "trace" => assert_eq!(
                    changes(&before, &after),
                    without_bare_heads(name),
                    "{name} as {form}"
                ),
                "har" if EXCHANGES.contains(&name) => assert_eq!(after, before, "{name} as {form}"),
                "har" => {
                    let before: Vec<&str> = before.0.iter().map(|one| accusation(one)).collect();
                    let mut added: Vec<&str> = after.0.iter().map(|one| accusation(one)).collect();
                    added.retain(|one| one.contains("broken") && !before.contains(one));
                    assert_eq!(added, accused_instead(name), "{name} as {form}");
                }
                _ if is_misleading || differs(name, form) => {}
                _ => assert_eq!(after.0, before.0, "{name} as {form}"),
            }
        }
    }
    assert!(compared > 200, "{compared}");
    assert!(!here.path().join("none").exists());
}

/// Samples of exchanges, which is what an archive holds.
const EXCHANGES: [&str; 3] = ["http.har", "http-real.har", "inspector-network.json"];

/// A finding without its frames: archives have them in another order.
fn accusation(finding: &str) -> &str {
    finding
        .rsplit_once(" [")
        .map_or(finding, |(words, _)| words)
}

type Verdict = (Vec<String>, Value, Value);

/// Findings, losses, and rules that are not checkable with what they lack: what is gone, and what is new.
fn changes(before: &Verdict, after: &Verdict) -> Vec<String> {
    let lines = |(findings, lost, open): &Verdict| {
        let lost = lost.as_array().into_iter().flatten();
        let open = open.as_object().into_iter().flatten();
        let lost = lost
            .filter_map(Value::as_str)
            .map(|name| format!("lost {name}"));
        let open = open.map(|(rule, needs)| format!("{rule} {needs}"));
        findings
            .iter()
            .cloned()
            .chain(lost)
            .chain(open)
            .collect::<Vec<String>>()
    };
    let (before, after) = (lines(before), lines(after));
    let beside = |these: &[String], those: &[String], sign: &str| {
        let mut rest = those.to_vec();
        let mut found = vec![];
        for line in these {
            match rest.iter().position(|other| other == line) {
                Some(at) => drop(rest.remove(at)),
                None => found.push(format!("{sign} {line}")),
            }
        }
        found
    };
    [beside(&before, &after, "-"), beside(&after, &before, "+")].concat()
}

/// A trace has no line for a head without a frame, nor for an event without data: rules that only these set off are not triggered
/// any more, which is not the same as not checkable; and where it left out an event with an id, it says that ids are missing.
fn without_bare_heads(name: &str) -> &'static [&'static str] {
    match name {
        "http.har" => &[
            r#"- http-404-new-session ["order between streams"]"#,
            r#"- http-cancel-explicit ["order between streams"]"#,
            r#"- http-response-on-get ["event ids"]"#,
            r#"- http-resume-with-get ["order between streams","event ids"]"#,
            r#"- http-session-ended-404 ["order between streams"]"#,
            r#"- http-sse-close-early ["order between streams","event ids"]"#,
            r#"- http-sse-has-response ["order between streams"]"#,
            r#"- http-unrelated-on-get ["order between streams"]"#,
        ],
        "http-real.har" => &[
            "+ lost event ids",
            r#"+ http-event-id-unique ["event ids"]"#,
            r#"+ http-prime-event ["event ids"]"#,
        ],
        "inspector-network.json" => &[
            r#"- http-202-for-one-way ["some frames"]"#,
            r#"- http-cancel-explicit ["some frames"]"#,
            r#"- http-error-for-refused-one-way ["some frames"]"#,
            r#"- http-request-content-type ["some frames"]"#,
            r#"- http-resume-with-get ["some frames","event ids"]"#,
            r#"- http-sse-close-early ["some frames","event ids"]"#,
            r#"- http-sse-has-response ["some frames"]"#,
        ],
        _ => &[],
    }
}

/// On a pipe the id was taken while its request was open; the archive holds no order that tells that, only that it came twice.
fn accused_instead(name: &str) -> &'static [&'static str] {
    match name {
        "rmcp-sample-id_reused_outstanding.jsonl" | "reused_id.mcp-trace.jsonl" => {
            &[r#""id-reused-by-sender" "client" "broken" "error""#]
        }
        _ => &[],
    }
}

/// Findings that go with what the form cannot hold, which is said.
fn differs(name: &str, form: &str) -> bool {
    let known = [
        // How a number is spelled.
        ("go-grafana-id_2p53p1.jsonl", "mcp-trace"),
        // Bytes that are not UTF-8.
        ("py2-client-garbage_utf8.jsonl", "mcp-trace"),
        // The exit of the server's program.
        ("go-grafana-json_invalid.jsonl", "mcpsnoop"),
        ("py1-lowlevel-cancel_race.jsonl", "mcpsnoop"),
    ];
    known.contains(&(name, form))
}

/// Each form is told by its content, and says what it does not hold.
#[test]
fn each_form_is_written_and_says_what_it_does_not_hold() {
    let here = folder();
    write(here.path(), "log", session());
    for (form, not_held) in [
        ("capture", &[][..]),
        ("trace", &["1 × exit statuses"]),
        (
            "mcp-trace",
            &[
                "1 × exit statuses",
                "1 × exits, now ends of the transport",
                "7 × raw text of frames",
            ],
        ),
        ("mcpsnoop", &["1 × events", "1 × exit statuses"]),
        (
            "har",
            &[
                "1 × events",
                "1 × exit statuses",
                "methods and statuses are made up",
            ],
        ),
    ] {
        let ran = mcpsim(here.path(), &["convert", "log", "-o", form, "--to", form]).ends(0);
        assert!(ran.out.is_empty());
        let first = format!("log: capture as {form}, 8 frames and 1 event\n");
        assert!(ran.err.starts_with(&first), "{}", ran.err);
        for words in not_held {
            assert!(ran.err.contains(words), "{words:?} in {}", ran.err);
        }
        let said = ran
            .err
            .lines()
            .filter(|line| line.contains("not held"))
            .count();
        let counted = not_held.iter().filter(|words| words.contains('×')).count();
        assert_eq!(said, counted, "{}", ran.err);
        if form == "har" {
            let archive: Value =
                serde_json::from_slice(&read(&here.path().join(form))).expect("JSON");
            assert_eq!(archive["log"]["entries"].as_array().map(Vec::len), Some(5));
            continue;
        }
        let report = mcpsim(here.path(), &["check", "--format", "json", form]).json();
        assert_eq!(report["files"][0]["format"], form);
        assert_eq!(report["files"][0]["frames"], 8, "{form}");
        let shown = mcpsim(here.path(), &["show", form]).ends(0);
        assert!(
            shown.text().contains("request initialize 1"),
            "{}",
            shown.text()
        );
    }
}

/// A trace of a recording says that nothing was played, and is judged, shown, and not replayed.
#[test]
fn a_trace_of_a_recording_is_no_trace_of_a_run() {
    let here = folder();
    write(here.path(), "log", session());
    mcpsim(
        here.path(),
        &["convert", "log", "-o", "t.jsonl", "--to", "trace"],
    )
    .ends(0);
    let ran = mcpsim(here.path(), &["check", "t.jsonl"]).ends(1);
    assert!(
        ran.text()
            .starts_with("t.jsonl: trace seen from between the two, 8 frames"),
        "{}",
        ran.text()
    );
    assert!(
        ran.text().contains("the server's process ended"),
        "{}",
        ran.text()
    );
    mcpsim(here.path(), &["replay", "t.jsonl"])
        .ends(2)
        .says(&["t.jsonl:1: "]);
    mcpsim(
        here.path(),
        &["convert", "t.jsonl", "-o", "u.jsonl", "--to", "trace"],
    )
    .ends(2)
    .says(&["t.jsonl: is a trace already"]);
    // And back: nothing that the trace held is missing. How the program ended it did not hold.
    mcpsim(here.path(), &["convert", "t.jsonl", "-o", "back"]).ends(0);
    assert_eq!(
        verdict(here.path(), &["back"]).0,
        verdict(here.path(), &["t.jsonl"]).0
    );
}

/// The trace of a run becomes what an observer between the two would have recorded.
#[test]
fn a_run_can_be_converted() {
    let here = folder();
    let run = ["run", "one-call", "--seed", "1", "--record", "t.jsonl"];
    mcpsim(here.path(), &run).ends(0);
    let ran = mcpsim(here.path(), &["convert", "t.jsonl", "-o", "log"]).ends(0);
    assert!(ran.err.contains("left out: arrivals: "), "{}", ran.err);
    let report = mcpsim(here.path(), &["check", "--format", "json", "log"])
        .ends(0)
        .json();
    let of_trace = mcpsim(here.path(), &["check", "--format", "json", "t.jsonl"])
        .ends(0)
        .json();
    assert_eq!(report["files"][0]["frames"], of_trace["files"][0]["frames"]);
}

/// Standard input and standard output; the report does not get into what is written.
#[test]
fn streams_go_in_and_out() {
    let here = folder();
    let session = session();
    let ran = mcpsim_reading(
        here.path(),
        &["convert", "-", "-o", "-"],
        session.as_bytes(),
    )
    .ends(0);
    assert_eq!(ran.text().lines().count(), 9);
    assert!(
        ran.err.starts_with("-: capture as capture, 8 frames"),
        "{}",
        ran.err
    );
    let args = ["convert", "-", "-o", "-", "--to", "mcpsnoop"];
    let first = mcpsim_reading(here.path(), &args, session.as_bytes()).ends(0);
    let again = mcpsim_reading(here.path(), &args, &first.out).ends(0);
    assert_eq!(
        first.out, again.out,
        "what was written is read as it was meant"
    );
    mcpsim_reading(
        here.path(),
        &["convert", "-", "-o", "-", "--format", "json"],
        session.as_bytes(),
    )
    .ends(2)
    .says(&["give -o FILE"]);
    assert!(files(here.path()).is_empty());
}

/// A log with broken lines: they are told with their places, the rest is converted where somebody insists, and the exit code is
/// that of `check`.
#[test]
fn broken_lines_are_told_and_the_rest_is_converted() {
    let here = folder();
    write(
        here.path(),
        "log",
        handshake() + "{\"dir\":\"c3s\"}\n" + &ping(2) + "?\n",
    );
    for form in FORMS {
        let args = ["convert", "log", "-o", form, "--to", form, "--lossy"];
        let ran = mcpsim(here.path(), &args[..6]).ends(2);
        assert!(ran.err.starts_with("mcpsim: log:4:8: "), "{}", ran.err);
        assert!(
            ran.err.contains("2 places could not be read"),
            "{}",
            ran.err
        );
        assert!(!here.path().join(form).exists(), "{form}");
        let ran = mcpsim(here.path(), &args).ends(2);
        assert!(ran.err.starts_with("mcpsim: log:4:8: "), "{}", ran.err);
        assert!(ran.err.contains("\nmcpsim: log:7:1: "), "{}", ran.err);
        assert!(ran.err.contains("5 frames"), "{}", ran.err);
    }
    let (_, lost, _) = verdict(here.path(), &["capture"]);
    assert_eq!(lost, serde_json::json!(["some frames"]));
    // A flood of them is counted.
    write(here.path(), "flood", handshake() + &"?\n".repeat(1000));
    let ran = mcpsim(here.path(), &["convert", "flood", "-o", "out"]).ends(2);
    assert!(
        ran.err.contains("flood: 980 more lines could not be used"),
        "{}",
        ran.err
    );
    assert_eq!(ran.err.lines().count(), 22);
}

/// What is nothing to convert leaves no file, and says so in one line.
#[test]
fn without_frames_nothing_is_written() {
    let here = folder();
    write(here.path(), "empty", "");
    write(here.path(), "events", "{\"event\":\"open\"}\n");
    write(here.path(), "text", "hello\n");
    for (log, words) in [
        ("empty", "empty:1:1: the file is empty"),
        ("events", "events: no line is a frame"),
        ("text", "text:1:1: this is no JSON"),
        ("missing", "missing: cannot read"),
        (".", ".: is a directory"),
    ] {
        for output in ["out", "-"] {
            let ran = mcpsim(here.path(), &["convert", log, "-o", output])
                .ends(2)
                .says(&[words]);
            assert!(ran.out.is_empty());
        }
        let ran = mcpsim(
            here.path(),
            &["convert", log, "-o", "out", "--format", "json"],
        )
        .ends(2);
        assert_eq!(ran.json()["schema"], "mcpsim-error/1");
    }
    assert_eq!(files(here.path()).len(), 3);
}

/// Nothing is written over what is there, unless that is wanted, and never over the log.
#[test]
fn files_that_are_there_stay() {
    let here = folder();
    write(here.path(), "log", session());
    write(here.path(), "old", "old");
    let convert = |args: &[&str]| mcpsim(here.path(), &[&["convert"], args].concat());
    convert(&["log", "-o", "old"])
        .ends(2)
        .says(&["old: is there already", "--force"]);
    assert_eq!(read(&here.path().join("old")), b"old");
    for args in [
        &["log", "-o", "log", "--force"][..],
        &["log", "-o", "./log", "--force"],
        &["--c2s", "old", "--s2c", "log", "-o", "log", "--force"],
    ] {
        convert(args)
            .ends(2)
            .says(&["log: the result would overwrite the log"]);
    }
    assert_eq!(read(&here.path().join("log")), session().as_bytes());
    convert(&["log", "-o", "old", "--force"]).ends(0);
    assert_ne!(read(&here.path().join("old")), b"old");
    convert(&["log", "-o", "deep/new"]).ends(0);
    let names: Vec<String> = files(&here.path().join("deep")).into_keys().collect();
    assert_eq!(names, ["new"], "nothing else is left over");
    convert(&["log", "-o", "old/below"])
        .ends(2)
        .says(&["old/below: cannot write"]);
}

/// A link to the log is the log; a device is written to.
#[cfg(unix)]
#[test]
fn links_and_devices_are_what_they_lead_to() {
    let here = folder();
    write(here.path(), "log", session());
    std::os::unix::fs::symlink("log", here.path().join("link")).expect("a link");
    mcpsim(here.path(), &["convert", "log", "-o", "link", "--force"])
        .ends(2)
        .says(&["link: the result would overwrite the log"]);
    mcpsim(here.path(), &["convert", "log", "-o", "/dev/null"]).ends(0);
    assert_eq!(read(&here.path().join("log")), session().as_bytes());
}

/// A full disk is told, and leaves no file.
#[cfg(target_os = "linux")]
#[test]
fn a_full_output_is_told() {
    let here = folder();
    write(here.path(), "log", session());
    for form in FORMS {
        let ran = mcpsim(
            here.path(),
            &["convert", "log", "-o", "/dev/full", "--to", form],
        )
        .ends(2);
        assert!(ran.err.contains("/dev/full: cannot write"), "{}", ran.err);
    }
}

/// Two files of frames, one a direction.
#[test]
fn two_files_become_one_log() {
    let here = folder();
    let log = |name: &str| logs().join(name).display().to_string();
    let (client, server) = (log("tee-c2s.ndjson"), log("tee-s2c.ndjson"));
    let args = ["convert", "--c2s", &client, "--s2c", &server, "-o", "log"];
    let ran = mcpsim(here.path(), &args).ends(0);
    assert!(ran.err.contains("tee as capture, 13 frames"), "{}", ran.err);
    assert!(
        ran.err
            .contains("the log had lost before: time, order between the sides"),
        "{}",
        ran.err
    );
    let (found, lost, _) = verdict(here.path(), &["log"]);
    assert!(found.is_empty());
    assert_eq!(lost, serde_json::json!(["time", "order between the sides"]));
    // What the other forms cannot say is written to them only where somebody insists.
    let args = [&args[..5], &["-o", "out", "--to", "mcpsnoop"]].concat();
    let words = "mcpsnoop cannot say what the log had lost (order between the sides)";
    mcpsim(here.path(), &args).ends(2).says(&[words, "--lossy"]);
    assert!(!here.path().join("out").exists());
    let ran = mcpsim(here.path(), &[&args[..], &["--lossy"]].concat()).ends(0);
    assert!(ran.err.contains(words), "{}", ran.err);
}

/// Packed files are unpacked here as elsewhere, alone or as one direction of two.
#[test]
fn packed_logs_are_unpacked() {
    let here = folder();
    let pack = |name: &str| {
        let mut packed = GzEncoder::new(vec![], Compression::default());
        packed.write_all(&read(&logs().join(name))).expect("packed");
        write(here.path(), name, packed.finish().expect("packed"));
    };
    let names = ["tee-c2s.ndjson", "tee-s2c.ndjson", "claude-desktop.log"];
    names.iter().for_each(|name| pack(name));
    let converted = |folder: &Path, args: &[&str]| {
        let args = [&["convert", "-o", "-"], args].concat();
        mcpsim(folder, &args).ends(0).out
    };
    for log in [
        &["--c2s", names[0], "--s2c", names[1]][..],
        &["--c2s", names[0]],
        &[names[2]],
    ] {
        let packed = converted(here.path(), log);
        assert!(!packed.is_empty());
        assert_eq!(packed, converted(&logs(), log), "{log:?}");
    }
}

/// Ctrl-C while a log still comes in: nothing of what was begun is left.
#[cfg(unix)]
#[test]
fn an_interrupted_conversion_leaves_nothing() {
    use common::{MCPSIM, command, wait};
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};
    for signal in ["-INT", "-TERM"] {
        let here = folder();
        let mut child = command(MCPSIM, here.path(), &["convert", "-", "-o", "out"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a child");
        let mut stdin = child.stdin.take().expect("a pipe");
        // More than is looked at to tell what it is.
        let log = session().repeat(200);
        stdin.write_all(log.as_bytes()).expect("read");
        let began = Instant::now();
        while files(here.path()).is_empty() {
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "nothing is begun"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        let sent = Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status();
        assert!(sent.expect("kill").success());
        assert_eq!(wait(&mut child, "convert"), 130);
        assert_eq!(files(here.path()).len(), 0);
        drop(stdin);
    }
}

#[test]
fn the_report_has_the_members_that_are_documented() {
    let here = folder();
    write(
        here.path(),
        "log",
        handshake() + "?\n{\"dir\":\"s2c\",\"event\":\"exit\",\"status\":1}\n",
    );
    let args = [
        "convert", "log", "-o", "out", "--to", "mcpsnoop", "--lossy", "--format", "json",
    ];
    let report = mcpsim(here.path(), &args).ends(2).json();
    let mut wanted = documented("`mcpsim convert`");
    wanted.push("schema".to_owned());
    let mut found: Vec<String> = members(&report).into_iter().map(str::to_owned).collect();
    let inner = members(&report["not_held"][0]);
    found.extend(inner.into_iter().map(|name| format!("not_held[].{name}")));
    wanted.sort();
    found.sort();
    assert_eq!(found, wanted);
    assert_eq!(
        report["not_held"][0],
        serde_json::json!({"what": "events", "count": 1})
    );
}

/// Writes the log, converts it into the form and judges both: what is found must be the same.
fn stays(log: &str, forms: &[&str]) {
    let here = folder();
    write(here.path(), "log", log);
    let check = |name| mcpsim(here.path(), &["check", "--format", "json", name]).json();
    let before = check("log");
    let (found, ..) = verdict(here.path(), &["log"]);
    for form in forms {
        let args = ["convert", "log", "-o", "out", "--force", "--to", form];
        mcpsim(here.path(), &args).ends(0);
        let after = check("out");
        assert_eq!(after["files"][0]["frames"], before["files"][0]["frames"]);
        assert_eq!(verdict(here.path(), &["out"]).0, found, "{form}");
    }
}

/// Connections that follow each other stay apart.
#[test]
fn a_restart_is_no_second_handshake() {
    let open = "{\"event\":\"open\"}\n";
    let exit = "{\"dir\":\"s2c\",\"event\":\"exit\",\"status\":0}\n";
    for between in [open, exit] {
        let log = handshake() + &ping(2) + between + &handshake() + &ping(2);
        stays(&log, &["trace", "har", "mcpsnoop"]);
        let here = folder();
        write(here.path(), "log", log);
        let args = ["convert", "log", "-o", "out", "--to", "mcp-trace"];
        let ran = mcpsim(here.path(), &args).ends(2);
        assert!(
            ran.err.contains("several sessions became one"),
            "{}",
            ran.err
        );
    }
}

/// A clock that goes back does not turn the order of exchanges.
#[test]
fn a_clock_that_goes_back_leaves_the_order() {
    let log: String = (handshake() + &ping(2) + &ping(3))
        .lines()
        .zip(0..)
        .map(|(line, nth)| {
            let base = 1_772_615_700_000_u64 - if nth < 3 { 0 } else { 30_000 };
            let stamp = format!("{{\"t_ms\":{},", base + 5 * nth);
            line.replacen('{', &stamp, 1) + "\n"
        })
        .collect();
    stays(&log, &["har"]);
}

/// Frames that a log lays out over several lines come back as one each.
#[test]
fn what_is_laid_out_is_one_frame_in_an_archive() {
    for name in ["inspector-protocol.json", "mcp-cassette.json"] {
        let text = read(&logs().join(name));
        let document: Value = serde_json::from_slice(&text).expect("JSON");
        stays(
            &serde_json::to_string_pretty(&document).expect("text"),
            &["har"],
        );
    }
}

/// What the log does not tell of exchanges is taken for a fault by whoever reads a form that has no word for it.
#[test]
fn what_was_lost_of_exchanges_is_refused() {
    let here = folder();
    for (name, forms, lost) in [
        ("python-sdk-http.log", &["mcp-trace"][..], "HTTP"),
        (
            "http.har",
            &["mcp-trace", "mcpsnoop"],
            "order between streams",
        ),
    ] {
        let log = logs().join(name).display().to_string();
        for form in forms {
            let args = ["convert", &log, "-o", "out", "--to", form];
            let ran = mcpsim(here.path(), &args).ends(2);
            let is_told = ran.err.contains("may take that for missing") && ran.err.contains(lost);
            assert!(is_told, "{}", ran.err);
            assert!(files(here.path()).is_empty());
        }
    }
}
