//! `mcpsim check` from the outside: recorded sessions as they were read by hand, and the program's own traces judged again.
#![cfg(feature = "cli")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use common::{
    captured, documented, failure, faults, folder, handshake, mcpsim, mcpsim_reading, members,
    ping, read, text, write,
};
use serde_json::Value;

/// The recorded sessions.
fn real() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/cases/real")
}

fn check(folder: &Path, args: &[&str]) -> Value {
    let mut all = vec!["check", "--format", "json"];
    all.extend(args);
    let ran = mcpsim(folder, &all);
    assert!(ran.code < 2, "{args:?}: {}", ran.err);
    ran.json()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A finding in one line.
fn brief(finding: &Value) -> String {
    let of = |member: &str| finding[member].as_str().unwrap_or("").to_owned();
    let frames = &finding["frames"];
    format!(
        "{} {} {} {} {frames}: {}",
        of("rule"),
        of("blame"),
        of("verdict"),
        of("severity"),
        of("message")
    )
}

/// The rules in the table, by id.
fn rules(folder: &Path) -> Vec<String> {
    let report = mcpsim(folder, &["list", "rules", "--format", "json"])
        .ends(0)
        .json();
    list(&report["rules"])
        .iter()
        .map(|rule| text(rule, "rule").to_owned())
        .collect()
}

/// Whether a finding is what was expected: rule (or one of `or`), blame, verdict, and severity and frames where they are given.
fn is_expected(finding: &Value, want: &Value) -> bool {
    let rule = &finding["rule"];
    let named = want["rule"] == *rule || list(&want["or"]).contains(rule);
    let given = |member: &str| want[member].is_null() || want[member] == finding[member];
    named
        && ["blame", "verdict", "severity", "frames"]
            .into_iter()
            .all(given)
}

/// Every session: what was worked out by reading is found, no other rule is broken, and the line of each finding is the line
/// in the file on which its last frame stands.
#[test]
fn recorded_sessions_are_judged_as_they_were_read() {
    let here = folder();
    let known = rules(here.path());
    let expect: Value = serde_json::from_slice(&read(&real().join("expect.json"))).expect("JSON");
    let sessions = expect.as_object().expect("sessions by name");
    assert_eq!(sessions.len(), 40);
    let mut wrong = vec![];
    for (name, want) in sessions {
        let path = real().join(format!("{name}.jsonl"));
        let report = check(here.path(), &[path.to_str().expect("text")]);
        let file = &report["files"][0];
        let findings = list(&file["findings"]);
        let is_judged = |want: &&Value| {
            let ids = std::iter::once(&want["rule"]).chain(list(&want["or"]));
            ids.filter_map(Value::as_str)
                .any(|id| known.iter().any(|known| known == id))
        };
        let mut taken = vec![false; findings.len()];
        for want in list(&want["findings"]).iter().filter(is_judged) {
            match (0..findings.len()).find(|&at| !taken[at] && is_expected(&findings[at], want)) {
                Some(at) => taken[at] = true,
                None if want["optional"] == true => {}
                None => wrong.push(format!("{name}: missing: {want}")),
            }
        }
        for (finding, taken) in findings.iter().zip(&taken) {
            if !taken && finding["verdict"] == "broken" {
                wrong.push(format!("{name}: not expected: {}", brief(finding)));
            }
        }
        for entry in list(&want["must_not"]).iter().filter_map(Value::as_str) {
            let (id, rest) = entry.split_once(' ').unwrap_or((entry, ""));
            let counts = |finding: &&Value| rest != "as broken" || finding["verdict"] == "broken";
            if known.iter().any(|known| known == id) && !rest.starts_with("for ") {
                let found = findings
                    .iter()
                    .filter(|finding| finding["rule"] == id)
                    .find(counts);
                wrong.extend(
                    found.map(|finding| format!("{name}: must not be found: {}", brief(finding))),
                );
            }
        }
        wrong.extend(
            wrong_places(&path, file)
                .into_iter()
                .map(|problem| format!("{name}: {problem}")),
        );
        assert_eq!(file["vantage"], open_line(&path)["vantage"], "{name}");
        assert_eq!(file["format"], "capture", "{name}");
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

fn lines(path: &Path) -> Vec<Value> {
    let whole = String::from_utf8(read(path)).expect("text");
    whole
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

fn open_line(path: &Path) -> Value {
    lines(path).remove(0)
}

/// Frames are numbered by counting the lines that are frames; `line` is that of the last frame named.
fn wrong_places(path: &Path, file: &Value) -> Vec<String> {
    let lines = lines(path);
    let frames: Vec<u64> = (1u64..)
        .zip(&lines)
        .filter(|(_, line)| line["event"].is_null())
        .map(|(number, _)| number)
        .collect();
    let mut wrong = vec![];
    if file["frames"] != frames.len() as u64 {
        wrong.push(format!("{} frames, not {}", file["frames"], frames.len()));
    }
    for finding in list(&file["findings"]) {
        let last = list(&finding["frames"]).last().and_then(Value::as_u64);
        let line = last.map(|frame| frames[frame as usize - 1]);
        if finding["line"].as_u64() != line {
            wrong.push(format!(
                "line {} and not {line:?}: {}",
                finding["line"],
                brief(finding)
            ));
        }
    }
    wrong
}

/// `counted`, `summary` and exit codes agree with the findings that are listed.
#[test]
fn sums_and_exit_codes_follow_from_the_findings() {
    let here = folder();
    let table = rules(here.path()).len() as u64;
    let mut seen = [false; 3];
    for path in sessions() {
        let path = path.to_str().expect("text");
        let report = check(here.path(), &[path]);
        let file = &report["files"][0];
        let findings = list(&file["findings"]);
        let mut counted: BTreeMap<&str, u64> = BTreeMap::new();
        for finding in findings {
            *counted.entry(text(finding, "rule")).or_default() += 1;
        }
        assert_eq!(file["counted"], serde_json::json!(counted), "{path}");
        let broken = |finding: &&Value| finding["verdict"] == "broken";
        let summary = &report["summary"];
        let total: u64 = ["broken", "unsure", "kept", "idle"]
            .iter()
            .filter_map(|name| summary[name].as_u64())
            .sum();
        assert_eq!(total, table, "{path}: every rule has one outcome");
        let mut rules: Vec<&str> = findings
            .iter()
            .filter(broken)
            .map(|finding| text(finding, "rule"))
            .collect();
        rules.sort_unstable();
        rules.dedup();
        assert_eq!(summary["broken"], rules.len() as u64, "{path}");
        assert_eq!(
            summary["unsure"],
            (counted.len() - rules.len()) as u64,
            "{path}"
        );
        // Faults first.
        let verdicts: Vec<bool> = findings
            .iter()
            .map(|finding| finding["verdict"] == "broken")
            .collect();
        assert!(verdicts.is_sorted_by(|one, other| one >= other), "{path}");

        let has = |severity: &str| {
            findings
                .iter()
                .filter(broken)
                .any(|finding| finding["severity"] == severity)
        };
        let code = |fail_on: &str| mcpsim(here.path(), &["check", path, "--fail-on", fail_on]).code;
        assert_eq!(code("error"), i32::from(has("error")), "{path}");
        assert_eq!(
            code("warning"),
            i32::from(has("error") || has("warning")),
            "{path}"
        );
        seen[0] |= has("error");
        seen[1] |= has("warning") && !has("error");
        seen[2] |= !has("error") && !has("warning");
    }
    assert_eq!(seen, [true; 3], "sessions of each kind");
}

fn sessions() -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = std::fs::read_dir(real())
        .expect("a folder")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "jsonl"))
        .collect();
    all.sort();
    all
}

#[test]
fn standard_input_gives_what_the_file_gives() {
    let here = folder();
    for path in sessions().iter().step_by(5) {
        let whole = read(path);
        let path = path.to_str().expect("text");
        let mut file = check(here.path(), &[path]);
        let mut piped =
            mcpsim_reading(here.path(), &["check", "-", "--format", "json"], &whole).json();
        assert_eq!(piped["files"][0]["file"], "-");
        for report in [&mut file, &mut piped] {
            report["files"][0]["file"] = Value::Null;
        }
        assert_eq!(piped, file, "{path}");
    }
    mcpsim(
        here.path(),
        &["run", "nested", "--seed", "1", "--record", "t.jsonl"],
    )
    .ends(0);
    let trace = read(&here.path().join("t.jsonl"));
    let piped = mcpsim_reading(here.path(), &["check", "-", "--format", "json"], &trace)
        .ends(0)
        .json();
    assert_eq!(piped["files"][0]["format"], "trace");
}

#[test]
fn files_are_reported_in_the_order_of_the_arguments() {
    let here = folder();
    write(here.path(), "b", handshake());
    write(
        here.path(),
        "a",
        handshake() + &captured("s2c", r#"{"jsonrpc":"2.0","id":9,"result":{}}"#),
    );
    mcpsim(
        here.path(),
        &["run", "one-call", "--seed", "1", "--record", "c"],
    )
    .ends(0);
    let report = check(here.path(), &["b", "c", "a", "b"]);
    let names: Vec<&str> = list(&report["files"])
        .iter()
        .map(|file| text(file, "file"))
        .collect();
    assert_eq!(names, ["b", "c", "a", "b"]);
    let formats: Vec<&str> = list(&report["files"])
        .iter()
        .map(|file| text(file, "format"))
        .collect();
    assert_eq!(formats, ["capture", "trace", "capture", "capture"]);
    assert_eq!(
        report["files"][0], report["files"][3],
        "one file does not colour the next"
    );
    assert_eq!(
        report["files"][2]["counted"],
        serde_json::json!({"response-unknown-id": 1})
    );
    assert_eq!(report["summary"]["broken"], 1, "rules over all files");
    let one = check(here.path(), &["a"]);
    assert_eq!(report["files"][2], one["files"][0]);
    let ran = mcpsim(here.path(), &["check", "b", "a"]).ends(1);
    let (b, a) = (ran.text().find("b: capture"), ran.text().find("a: capture"));
    assert!(b.is_some() && b < a, "{}", ran.text());
}

#[test]
fn the_report_has_the_members_that_are_documented() {
    let here = folder();
    let wrong = captured("s2c", r#"{"jsonrpc":"2.0","id":9,"result":{}}"#);
    write(here.path(), "log", handshake() + "?\n" + &wrong + "{\"dir");
    let ran = mcpsim(here.path(), &["check", "log", "--format", "json"]).ends(2);
    let report = ran.json();
    let wanted = documented("`mcpsim check`");
    let below = |prefix: &str| {
        let mut names: Vec<&str> = wanted
            .iter()
            .filter_map(|name| name.strip_prefix(prefix))
            .collect();
        names.retain(|name| !name.contains('['));
        names.sort_unstable();
        names
    };
    let mut file = members(&report["files"][0]);
    file.retain(|name| *name != "sessions");
    assert_eq!(file, below("files[]."));
    assert_eq!(members(&report), ["files", "rules", "schema", "summary"]);
    assert_eq!(
        members(&report["summary"]),
        ["broken", "idle", "kept", "unsure"]
    );
    let session = &report["files"][0]["sessions"][0];
    assert_eq!(members(session), below("files[].sessions[]."));
    assert_eq!(session["revision"], "2025-11-25");
    assert_eq!(session["client"]["name"], "c");
    assert_eq!(session["server"]["version"], "1");
    let finding = &report["files"][0]["findings"][0];
    let promised = [
        "address", "basis", "blame", "column", "evidence", "frames", "knew", "level", "line",
        "link", "message", "party", "rule", "says", "severity", "source", "verdict", "waits",
    ];
    assert_eq!(members(finding), promised);
    assert_eq!(text(finding, "level"), "MUST");
    assert_eq!(
        (&finding["frames"], &finding["line"]),
        (&serde_json::json!([4]), &5.into())
    );
    assert_eq!(text(finding, "party"), "server");
    assert_eq!(
        report["files"][0]["guessed"],
        serde_json::json!(["vantage: between"])
    );
}

/// A log from the middle of a session lacks what was asked before, wherever it was recorded: nobody is blamed for
/// that, unless it says that nothing came before. A handshake that follows shows the same.
#[test]
fn a_capture_may_begin_in_the_middle_of_a_session() {
    let here = folder();
    let frames = [
        ("s2c", r#"{"jsonrpc":"2.0","id":6,"result":{}}"#),
        (
            "c2s",
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":"p2"}}"#,
        ),
        (
            "s2c",
            r#"{"jsonrpc":"2.0","id":"s1","method":"roots/list"}"#,
        ),
        (
            "c2s",
            r#"{"jsonrpc":"2.0","id":"s1","result":{"roots":[]}}"#,
        ),
        ("s2c", r#"{"jsonrpc":"2.0","id":7,"result":{"tools":[]}}"#),
    ];
    let frames: String = frames.iter().map(|(dir, raw)| captured(dir, raw)).collect();
    let whole = "{\"event\":\"open\",\"transport\":\"stdio\",\"whole\":true}\n";
    write(here.path(), "bare", &frames);
    write(
        here.path(),
        "open",
        whole.replace(",\"whole\":true", "") + &frames,
    );
    write(here.path(), "whole", whole.to_owned() + &frames);
    write(
        here.path(),
        "late",
        captured("c2s", r#"{"jsonrpc":"2.0","id":0,"method":"tools/list"}"#) + &handshake(),
    );
    for vantage in ["world", "client", "server", "between"] {
        let rules = |log: &str| -> BTreeSet<String> {
            let report = check(here.path(), &[log, "--vantage", vantage]);
            let findings = list(&report["files"][0]["findings"]).iter();
            findings
                .map(|finding| text(finding, "rule").to_owned())
                .collect()
        };
        assert_eq!(rules("bare"), BTreeSet::new(), "{vantage}");
        assert_eq!(rules("open"), BTreeSet::new(), "{vantage}");
        for rule in ["initialize-first", "response-unknown-id"] {
            assert!(rules("whole").contains(rule), "{vantage}: {rule}");
        }
        assert!(rules("late").contains("initialize-first"), "{vantage}");
    }
}

/// Vantage, revision and patience.
#[test]
fn the_command_line_overrides_what_the_log_says() {
    let here = folder();
    let open = "{\"event\":\"open\",\"vantage\":\"server\",\"transport\":\"stdio\"}\n";
    write(here.path(), "log", open.to_owned() + &handshake());
    assert_eq!(
        check(here.path(), &["log"])["files"][0]["vantage"],
        "server"
    );
    for vantage in ["world", "client", "server", "between"] {
        let report = check(here.path(), &["log", "--vantage", vantage]);
        assert_eq!(report["files"][0]["vantage"], vantage);
        assert_eq!(report["files"][0]["guessed"], serde_json::json!([]));
    }

    // The client cancels what has just been answered: only its own log tells that it knew.
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#;
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}"#;
    let answer = r#"{"jsonrpc":"2.0","id":2,"result":{"content":[]}}"#;
    write(
        here.path(),
        "crossing",
        handshake() + &captured("c2s", call) + &captured("s2c", answer) + &captured("c2s", cancel),
    );
    let verdict = |vantage: &str| {
        let report = check(here.path(), &["crossing", "--vantage", vantage]);
        let findings = list(&report["files"][0]["findings"]).iter();
        let mut late =
            findings.filter(|finding| text(finding, "rule") == "cancel-after-response-received");
        late.next()
            .map(|finding| text(finding, "verdict").to_owned())
    };
    assert_eq!(verdict("client").as_deref(), Some("broken"));
    assert_ne!(verdict("server").as_deref(), Some("broken"));
    assert_ne!(verdict("between").as_deref(), Some("broken"));

    // A batch was legal once.
    let batch = r#"[{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}]"#;
    write(here.path(), "batch", handshake() + &captured("c2s", batch));
    let broken = |revision: &str| {
        let report = check(here.path(), &["batch", "--revision", revision]);
        assert_eq!(report["files"][0]["sessions"][0]["revision"], revision);
        list(&report["files"][0]["findings"])
            .iter()
            .any(|finding| finding["rule"] == "batch-not-in-revision")
    };
    assert!(broken("2025-11-25") && !broken("2025-03-26"));

    // Ten seconds without an answer.
    let at = |t_ms: u32, frame: &str| {
        let mut line: Value = serde_json::from_str(frame).expect("JSON");
        line["t_ms"] = t_ms.into();
        format!("{line}\n")
    };
    let log = handshake()
        + &at(1_000, &captured("c2s", call))
        + &at(11_000, ping(3).lines().next().expect("a line"));
    write(here.path(), "slow", log);
    let hang = |patience: &str| {
        let report = check(here.path(), &["slow", "--patience", patience]);
        list(&report["files"][0]["findings"]).iter().any(|finding| {
            finding["rule"] == "request-unanswered" && finding["verdict"] == "broken"
        })
    };
    assert!(hang("9s") && hang("500ms") && !hang("11s") && !hang("1h"));
    mcpsim(here.path(), &["check", "slow"]).ends(0);
    mcpsim(here.path(), &["check", "slow", "--patience", "9s"]).ends(1);

    // Whom a person may have to help has as long as it takes, and the finding says so.
    let ask = r#"{"jsonrpc":"2.0","id":9,"method":"elicitation/create","params":{"message":"a?","requestedSchema":{"type":"object","properties":{}}}}"#;
    let opening = handshake().replacen(
        r#"\"capabilities\":{}"#,
        r#"\"capabilities\":{\"elicitation\":{}}"#,
        1,
    );
    let log = opening
        + &at(1_000, &captured("s2c", ask))
        + &ping(3)
            .lines()
            .map(|line| at(900_000, line))
            .collect::<String>();
    write(here.path(), "asked", log);
    let run = mcpsim(here.path(), &["check", "asked"]).ends(0);
    let words =
        "a person may have to answer it, so it has no patience; the recording stops with it open";
    assert!(run.text().contains(words), "{}", run.text());
}

/// Two sessions in one capture are judged apart; an exit that names none of them ends both.
#[test]
fn sessions_of_one_capture_are_judged_apart() {
    let here = folder();
    let in_session = |name: &str, lines: String| {
        let named = |line: &str| {
            let mut line: Value = serde_json::from_str(line).expect("JSON");
            line["session"] = name.into();
            format!("{line}\n")
        };
        lines.lines().map(named).collect::<String>()
    };
    let call = captured(
        "c2s",
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}"#,
    );
    let both = in_session("one", handshake())
        + &in_session("two", handshake() + &call)
        + &in_session("one", call);
    let exit = "{\"dir\":\"s2c\",\"event\":\"exit\",\"status\":0}\n";
    write(here.path(), "apart", both + exit);
    let report = check(here.path(), &["apart"]);
    let file = &report["files"][0];
    assert_eq!(list(&file["sessions"]).len(), 2, "{file}");
    assert_eq!(
        file["counted"],
        serde_json::json!({"request-unanswered": 2})
    );
    let found = list(&file["findings"])
        .iter()
        .map(|finding| (finding["verdict"].clone(), finding["line"].clone()));
    let found: Vec<(Value, Value)> = found.collect();
    assert_eq!(
        found,
        [("broken".into(), 8.into()), ("broken".into(), 7.into())]
    );
}

/// At most fifty findings of a rule are listed, and all are counted.
#[test]
fn many_findings_are_counted_and_not_all_listed() {
    let here = folder();
    let mut log = handshake();
    for _ in 0..300 {
        log += &captured("s2c", r#"{"jsonrpc":"2.0","id":9,"result":{}}"#);
    }
    log += &captured("s2c", r#"{"id":9,"result":{}}"#);
    write(here.path(), "log", log);
    let report = check(here.path(), &["log"]);
    let file = &report["files"][0];
    let of = |rule: &str| {
        list(&file["findings"])
            .iter()
            .filter(|finding| finding["rule"] == rule)
            .count()
    };
    assert_eq!(of("response-unknown-id"), 50);
    assert!(
        file["counted"]["response-unknown-id"].as_u64() >= Some(300),
        "{}",
        file["counted"]
    );
    assert_eq!(of("jsonrpc-version"), 1, "another rule is not pushed out");
    let ran = mcpsim(here.path(), &["check", "log"]).ends(1);
    assert!(ran.text().contains("more of these rules"), "{}", ran.text());
}

/// A frame with more values than are kept: it is named, and no rule about what it carries is said to be kept or
/// to have had no occasion. What the envelope alone decides is judged.
#[test]
fn a_frame_that_is_not_looked_into_is_named() {
    let here = folder();
    let result = format!(
        r#"{{"jsonrpc":"2.0","id":2,"result":{{"content":[{{"type":"text"}}{}]}}}}"#,
        ",0".repeat(1 << 18)
    );
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}"#;
    let mut capture = handshake();
    capture.push_str(&captured("c2s", call));
    capture.push_str(&captured("s2c", &result));
    write(here.path(), "large.jsonl", capture);
    let report = check(here.path(), &["large.jsonl"]);
    let remarks = list(&report["files"][0]["remarks"]);
    assert_eq!(
        remarks,
        [
            "frame #5 (line 5) has more than 262144 JSON values: its params, result or error was not judged, and rules \
          about that are unsure"
        ]
    );
    assert_eq!(list(&report["files"][0]["findings"]).len(), 0);
    for rule in [
        "tool-result-content",
        "content-block-fields",
        "result-shape",
        "is-error-type",
    ] {
        assert_eq!(report["rules"][rule], "unsure", "{rule}");
    }
    for rule in ["tool-call-params", "jsonrpc-version", "request-unanswered"] {
        assert_eq!(report["rules"][rule], "kept", "{rule}");
    }
    assert_eq!(report["rules"]["result-type-known"], "idle");
}

/// What a run found is found again in the traces that it saved, whole and shrunk; and from wherever else one looks,
/// nobody but the faulty side is accused.
#[test]
fn saved_traces_are_judged_as_the_run_was() {
    let here = folder();
    let mut wrong = vec![];
    for row in faults() {
        let fault = text(&row, "name");
        let failure = failure(here.path(), fault);
        assert_eq!(
            (&failure["rule"], &failure["blame"]),
            (&row["rule"], &row["blame"]),
            "{fault}"
        );
        for trace in ["trace", "shrunk"] {
            let path = text(&failure, trace);
            let replayed = mcpsim(here.path(), &["replay", path, "--format", "json"])
                .ends(1)
                .json();
            let report = check(here.path(), &[path]);
            let file = &report["files"][0];
            assert_eq!(file["vantage"], "world", "{fault}");
            let found: Vec<String> = list(&file["findings"]).iter().map(brief).collect();
            let mut run: Vec<String> = list(&replayed["findings"]).iter().map(brief).collect();
            run.sort_unstable();
            let mut sorted = found.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, run, "{fault}: {trace}");
            let is_target = |finding: &Value| {
                finding["rule"] == row["rule"]
                    && finding["blame"] == row["blame"]
                    && finding["verdict"] == "broken"
            };
            assert!(
                list(&file["findings"]).iter().any(is_target),
                "{fault}: {trace}: {found:?}"
            );
            for vantage in ["client", "server", "between"] {
                let report = check(here.path(), &[path, "--vantage", vantage]);
                let findings = list(&report["files"][0]["findings"]).iter();
                // Notes blame nobody in earnest: an id beyond 2^53 is legal, for one.
                let accused = findings.filter(|finding| {
                    finding["verdict"] == "broken" && finding["severity"] != "note"
                });
                wrong.extend(
                    accused
                        .filter(|finding| finding["blame"] != row["blame"])
                        .map(|finding| {
                            format!("{fault}: {trace} from {vantage}: {}", brief(finding))
                        }),
                );
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Clean runs of every scenario are clean from everywhere; so are runs in which the transport repeated a frame, lost an
/// answer, or delivered one to an end that had closed, which an end's log alone shows as somebody's fault.
#[test]
fn clean_traces_are_clean_from_everywhere() {
    let here = folder();
    let scenarios = mcpsim(here.path(), &["list", "scenarios", "--format", "json"])
        .ends(0)
        .json();
    let mut runs: Vec<(&str, u64)> = vec![
        ("lossy-http", 286_983_366_758),
        ("lossy-http", 437_902_893_681),
        ("lossy-http", 1_050_393_776_798),
        ("lossy-http", 619_766_743_318),
        ("lossy-http", 713_568_875_110),
        ("lossy-http", 533_751_853_571),
    ];
    for scenario in list(&scenarios["scenarios"]) {
        runs.extend([1, 2].map(|seed| (text(scenario, "name"), seed)));
    }
    for (name, seed) in runs {
        mcpsim(
            here.path(),
            &[
                "run",
                name,
                "--seed",
                &seed.to_string(),
                "--record",
                "t.jsonl",
            ],
        )
        .ends(0);
        for vantage in ["world", "client", "server", "between"] {
            let args = [
                "check",
                "t.jsonl",
                "--vantage",
                vantage,
                "--fail-on",
                "warning",
            ];
            let ran = mcpsim(here.path(), &args);
            assert_eq!(
                ran.code,
                0,
                "{name} with seed {seed}: {}{}",
                ran.text(),
                ran.err
            );
        }
    }
}

const PLAIN_HANDSHAKE: &str = concat!(
    r#"{"dir":"c2s","raw":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\","#,
    r#"\"capabilities\":{},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}"}"#,
    "\n",
    r#"{"dir":"s2c","raw":"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"#,
    r#"\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}"}"#,
    "\n",
    r#"{"dir":"c2s","raw":"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"}"#,
    "\n",
);

/// The rules that `check` finds broken in that capture, with the number of its sessions.
fn judged(capture: &str) -> (Vec<String>, usize) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("log"), capture).expect("a file");
    let ran = std::process::Command::new(env!("CARGO_BIN_EXE_mcpsim"))
        .args(["check", "log", "--format", "json"])
        .current_dir(folder.path())
        .output()
        .expect("the program runs");
    let report: serde_json::Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    let file = &report["files"][0];
    let list = |name: &str| file[name].as_array().cloned().unwrap_or_default();
    let broken = list("findings")
        .iter()
        .filter(|finding| finding["verdict"] == "broken")
        .map(|finding| finding["rule"].as_str().unwrap_or("").to_owned())
        .collect();
    (broken, list("sessions").len())
}

/// A server that is started again begins another session: its ids and its handshake are new.
#[test]
fn a_handshake_after_the_exit_is_another_session() {
    let exit = "{\"event\":\"exit\",\"dir\":\"s2c\",\"status\":0}\n";
    let again = format!("{PLAIN_HANDSHAKE}{exit}{PLAIN_HANDSHAKE}");
    assert_eq!(judged(&again), (vec![], 2));
    let (broken, sessions) = judged(&format!("{PLAIN_HANDSHAKE}{PLAIN_HANDSHAKE}"));
    assert_eq!(sessions, 1);
    assert!(
        broken.contains(&"initialize-twice".to_owned()),
        "without an exit it is one: {broken:?}"
    );
}

/// On a pipe a line feed inside the text ends a line for whoever reads it.
#[test]
fn a_line_feed_inside_a_frame_is_found() {
    let split = r#"{"dir":"c2s","raw":"{\"jsonrpc\":\"2.0\",\n\"id\":5,\"method\":\"ping\"}"}"#;
    let (broken, _) = judged(&format!("{PLAIN_HANDSHAKE}{split}\n"));
    assert_eq!(broken, ["stdio-embedded-newline"]);
    let whole = r#"{"dir":"c2s","raw":"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}"}"#;
    assert_eq!(judged(&format!("{PLAIN_HANDSHAKE}{whole}\n")).0, [""; 0]);
}

/// A log with the heads of exchanges is judged by them; each finding stands on the line of its head, and heads are no
/// frames. The session is named by the answer to initialize: what came before it in that exchange belongs to it.
#[test]
fn heads_of_exchanges_are_judged() {
    let folder = folder();
    let init = r#"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}"#;
    let answer = r#"{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}"#;
    let session = |name: &str| {
        format!(
            r#"{{"dir":"c2s","stream":"{name}-i","raw":"{init}","head":{{"method":"POST","target":"/mcp"}}}}
{{"dir":"s2c","stream":"{name}-i","session":"{name}","raw":"{answer}"}}
{{"dir":"c2s","stream":"{name}-n","session":"{name}","raw":"{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}}"}}
{{"dir":"s2c","stream":"{name}-n","head":{{"status":202,"headers":{{}}}}}}
"#
        )
    };
    let log = format!(
        r#"{{"event":"open","vantage":"client","transport":"http"}}
{}{}{{"dir":"c2s","stream":"g","session":"B","head":{{"method":"GET","target":"/mcp","headers":{{"accept":"*/*"}}}}}}
{{"dir":"s2c","stream":"g","head":{{"status":405,"headers":{{}}}}}}
"#,
        session("A"),
        session("B")
    );
    write(folder.path(), "log.jsonl", log);
    let report = check(folder.path(), &["log.jsonl"]);
    let file = &report["files"][0];
    assert_eq!(file["frames"], 6);
    let findings = list(&file["findings"]);
    let found: Vec<String> = findings
        .iter()
        .map(|finding| {
            format!(
                "{} {} {} line {} column {}",
                text(finding, "rule"),
                text(finding, "blame"),
                text(finding, "severity"),
                finding["line"],
                finding["column"]
            )
        })
        .collect();
    // A header that is there is shown; one that is missing stands nowhere.
    assert_eq!(
        found,
        [
            "http-version-header client error line 10 column null",
            "http-accept-get client warning line 10 column 100",
        ]
    );
    let shown = &list(&findings[1]["evidence"])[0];
    assert_eq!(shown["text"], r#""accept":"*/*""#);
    assert_eq!(shown["from"], "client");
}

/// Where no header is at fault, a finding points at the method, the target, the status or the id of the event.
#[test]
fn findings_about_http_point_at_its_parts() {
    let folder = folder();
    let frame = |text: &str| serde_json::Value::from(text).to_string();
    let init = frame(
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#,
    );
    let welcome = frame(
        r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}"#,
    );
    let told = frame(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let list = |id: u32| {
        frame(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#
        ))
    };
    let tools = |id: u32| {
        frame(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[]}}}}"#
        ))
    };
    let post = |stream: &str, method: &str, target: &str, raw: &str| {
        format!(
            r#"{{"dir":"c2s","stream":"{stream}","raw":{raw},"head":{{"method":"{method}","target":"{target}"}}}}"#
        )
    };
    let json = r#"{"content-type":"application/json"}"#;
    let events = r#"{"content-type":"text/event-stream"}"#;
    let answer = |stream: &str, headers: &str, id: &str, raw: &str| {
        format!(
            r#"{{"dir":"s2c","stream":"{stream}"{id},"raw":{raw},"head":{{"status":200,"headers":{headers}}}}}"#
        )
    };
    let lines = [
        r#"{"event":"open","vantage":"client","transport":"http"}"#.to_owned(),
        post("i", "POST", "/mcp", &init),
        answer("i", json, "", &welcome),
        post("n", "POST", "/mcp", &told),
        r#"{"dir":"s2c","stream":"n","head":{"status":200,"headers":{}}}"#.to_owned(),
        post("a", "PUT", "/mcp", &list(1)),
        answer("a", events, r#","sse_id":"e""#, &tools(1)),
        r#"{"dir":"s2c","stream":"a","event":"eof"}"#.to_owned(),
        post("b", "POST", "/mcp?access_token=x", &list(2)),
        answer("b", events, r#","sse_id":"e""#, &tools(2)),
        r#"{"dir":"s2c","stream":"b","event":"eof"}"#.to_owned(),
    ];
    write(folder.path(), "log.jsonl", lines.join("\n") + "\n");
    let report = check(folder.path(), &["log.jsonl"]);
    let shown: Vec<String> = self::list(&report["files"][0]["findings"])
        .iter()
        .map(|finding| {
            let line = finding["line"].as_u64().expect("a line") as usize;
            let column = finding["column"].as_u64().map(|column| column as usize);
            let there = column.map_or("", |column| &lines[line - 1][column - 1..]);
            let there: String = there.chars().take_while(|c| !",}".contains(*c)).collect();
            format!("{} {there}", text(finding, "rule"))
        })
        .collect();
    assert_eq!(
        shown,
        [
            "http-one-post-per-message \"PUT\"",
            "http-auth-header \"/mcp?access_token=x\"",
            "http-event-id-unique \"e\"",
            "http-202-for-one-way 200",
        ]
    );
}

/// A recording that begins in the middle: what came before may explain an answer that looks like one too many, or an error without
/// an id.
#[test]
fn what_came_before_the_recording_may_explain_it() {
    let here = folder();
    let broken = |capture: String| {
        write(here.path(), "log", capture);
        let report = mcpsim(here.path(), &["check", "--format", "json", "log"]).json();
        let findings = report["files"][0]["findings"]
            .as_array()
            .expect("a list")
            .clone();
        let broken = findings
            .into_iter()
            .filter(|finding| finding["verdict"] == "broken");
        broken
            .map(|finding| finding["rule"].clone())
            .collect::<Vec<_>>()
    };
    let call =
        r#"{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"t","arguments":{}}}"#;
    let answer = captured(
        "s2c",
        r#"{"jsonrpc":"2.0","id":77,"result":{"content":[]}}"#,
    );
    assert!(broken(captured("c2s", call) + &answer + &answer).is_empty());
    let ping = captured("c2s", r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    let error = r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid request"}}"#;
    let pong = captured("s2c", r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    let log = ping + &captured("s2c", error) + &pong;
    assert!(broken(log.clone()).is_empty());
    // Seen from the beginning neither is explained.
    assert_eq!(
        broken(handshake() + &log.replace("\\\"id\\\":1,", "\\\"id\\\":9,")),
        ["error-id-missing"]
    );
    assert_eq!(
        broken(handshake() + &captured("c2s", call) + &answer + &answer),
        ["duplicate-response"]
    );
}

/// How long a request is open is counted from when it was asked, whatever came since, up to the last time that the log knows, also
/// where 32 bits are too few for it.
#[test]
fn a_request_is_open_since_it_was_asked() {
    let here = folder();
    let at = |ms: u64, line: &str| line.replacen('{', &format!("{{\"t_ms\":{ms},"), 1);
    let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":1}}}"#;
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#;
    let roots = captured("s2c", r#"{"jsonrpc":"2.0","id":0,"method":"roots/list"}"#);
    let lines = [
        at(1_000, &captured("c2s", call)),
        at(2_000, &roots),
        at(9_000, &captured("s2c", progress)),
        at(
            9_500,
            &captured("c2s", r#"{"jsonrpc":"2.0","id":8,"method":"ping"}"#),
        ),
        at(
            9_500,
            &captured("s2c", r#"{"jsonrpc":"2.0","id":8,"result":{}}"#),
        ),
    ];
    let waited = |more: &str| {
        write(here.path(), "log", handshake() + &lines.concat() + more);
        let report = mcpsim(here.path(), &["check", "--format", "json", "log"]).json();
        let open = report["files"][0]["sessions"][0]["open"].clone();
        [0, 1].map(|nth: usize| open[nth]["waited_ms"].as_u64().expect("a time"))
    };
    assert_eq!(waited(""), [8_500, 7_500]);
    // A line that is no frame has a time as well.
    let stderr = "{\"t_ms\":5000000000,\"event\":\"stderr\",\"dir\":\"s2c\",\"raw\":\"waiting\"}\n";
    assert_eq!(waited(stderr), [4_999_999_000, 4_999_998_000]);
}

/// Where a log has several sessions, a finding says which one it is about.
#[test]
fn a_finding_names_its_session() {
    let here = folder();
    let named = |name: &str, lines: String| {
        let session = format!("{{\"session\":\"{name}\",");
        lines
            .lines()
            .map(|line| line.replacen('{', &session, 1) + "\n")
            .collect::<String>()
    };
    let stray = captured("s2c", r#"{"jsonrpc":"2.0","id":99,"result":{}}"#);
    let frames = |lines: String| {
        lines
            .lines()
            .filter(|line| line.contains("raw"))
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    };
    let clean = frames(handshake());
    let log = named("garden", clean.clone()) + &named("weather", clean.clone() + &stray);
    write(here.path(), "log", log);
    let ran = mcpsim(here.path(), &["check", "log"]).ends(1);
    assert!(
        ran.text()
            .contains("the server   session 2, weather   frame"),
        "{}",
        ran.text()
    );
    assert!(
        ran.text().contains("         session 1, garden: by "),
        "{}",
        ran.text()
    );
    let report = mcpsim(here.path(), &["check", "--format", "json", "log"]).json();
    let file = &report["files"][0];
    assert_eq!(
        (
            &file["findings"][0]["session"],
            &file["findings"][0]["server"]
        ),
        (&2.into(), &"weather".into())
    );
    assert_eq!(file["sessions"][1]["name"], "weather");
    // Of one session nobody asks which.
    write(here.path(), "log", clean + &stray);
    let report = mcpsim(here.path(), &["check", "--format", "json", "log"]).json();
    assert!(report["files"][0]["findings"][0].get("session").is_none());
}

/// What is not told still makes the check fail; and a rule cannot be wanted and unwanted at once.
#[test]
fn hidden_findings_count_all_the_same() {
    let here = folder();
    write(
        here.path(),
        "mcpsim.toml",
        "[rules]\nresponse-unknown-id = \"warning\"\n",
    );
    let stray = captured("s2c", r#"{"jsonrpc":"2.0","id":99,"result":{}}"#);
    write(here.path(), "log", handshake() + &stray);
    mcpsim(here.path(), &["check", "--fail-on", "warning", "log"]).ends(1);
    let ran = mcpsim(
        here.path(),
        &["check", "--level", "error", "--fail-on", "warning", "log"],
    )
    .ends(1);
    assert!(
        ran.text().contains("less severe than --level and not told"),
        "{}",
        ran.text()
    );
    mcpsim(here.path(), &["check", "--level", "error", "log"]).ends(0);
    let args = [
        "check",
        "--rule",
        "ping-flood",
        "--ignore",
        "ping-flood",
        "log",
    ];
    mcpsim(here.path(), &args)
        .ends(2)
        .says(&["--rule ping-flood and --ignore ping-flood"]);
}

/// Lines that match the pattern, with words for the direction that mean nothing: they are told, with those that do.
#[test]
fn words_for_a_direction_are_known_or_told() {
    let here = folder();
    let lines = |client: &str, server: &str| {
        let text = handshake();
        let frames = text.lines().filter_map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
            let side = if line["dir"] == "c2s" { client } else { server };
            Some(format!("{side}|{}\n", line["raw"].as_str()?))
        });
        frames.collect::<String>()
    };
    let args = ["check", "--pattern", r"^(?<dir>\w+)\|(?<frame>.*)$", "log"];
    write(here.path(), "log", lines("TX", "RX"));
    mcpsim(here.path(), &args).ends(0);
    write(here.path(), "log", lines("up", "down"));
    let ran = mcpsim(here.path(), &args).ends(2);
    for words in ["lines match the pattern", "\"down\", \"up\"", "tx and rx"] {
        assert!(ran.err.contains(words), "{words}: {}", ran.err);
    }
}
