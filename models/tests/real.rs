//! Recorded sessions of today's peers, and faults that people reported: what is found in each was worked
//! out by reading the frames, and the judge has to agree.

mod common;

use common::{Expected, How, Line, cases, compare, describe, judge, line_of, read};
use mcpsim_models::rule;
use mcpsim_traces::judge::{Finding, Vantage, Verdict};
use mcpsim_traces::message::Revision;
use serde_json::Value;

/// Expected in a recorded session, by rules that are not in the table yet.
const REAL_NOT_YET: &[(&str, &str)] = &[];

/// Expected in a reported fault, by rules that are not in the table yet.
const FAULTS_NOT_YET: &[(&str, &str)] = &[];

#[test]
fn recorded_sessions_are_judged_as_they_were_read() {
    assert_eq!(sessions("real", 40), owned(REAL_NOT_YET));
}

/// Small logs of peers that misbehave on purpose.
#[test]
fn hostile_sessions_are_judged_as_they_were_read() {
    assert_eq!(sessions("hostile", 14), vec![]);
}

/// Judges every session of a folder; what is expected by rules that are not in the table is handed back.
fn sessions(folder: &str, count: usize) -> Vec<(String, String)> {
    let folder = cases().join(folder);
    let expect: Value = serde_json::from_str(&read(&folder.join("expect.json"))).expect("JSON");
    let mut wrong = vec![];
    let mut not_yet = vec![];
    let sessions = expect.as_object().expect("sessions by name");
    assert_eq!(
        sessions.len(),
        count,
        "every recorded session has its expectations"
    );
    for (name, want) in sessions {
        let text = read(&folder.join(format!("{name}.jsonl")));
        let mut lines = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let open = lines.next().expect("a first line");
        let vantage = open["vantage"]
            .as_str()
            .and_then(Vantage::parse)
            .expect("a vantage");
        let lines: Vec<Line> = lines.map(|line| line_of(&line)).collect();
        let findings = judge(&lines, &How::from(vantage));
        let expected = Expected::list(&want["findings"]);
        for want in expected
            .iter()
            .filter(|want| !want.is_judged() && !want.optional)
        {
            not_yet.push((name.clone(), want.rules[0].clone()));
        }
        let forbidden = want["must_not"]
            .as_array()
            .map_or(vec![], |list| must_not(list, &findings));
        for problem in compare(&findings, &expected).into_iter().chain(forbidden) {
            wrong.push(format!("{name}: {problem}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    not_yet
}

fn owned(list: &[(&str, &str)]) -> Vec<(String, String)> {
    let pairs = list.iter();
    pairs
        .map(|(name, rule)| (name.to_string(), rule.to_string()))
        .collect()
}

/// What `must_not` names by a rule of the table: never found, or never found broken.
fn must_not(list: &[Value], findings: &[Finding]) -> Vec<String> {
    let mut wrong = vec![];
    for entry in list.iter().filter_map(Value::as_str) {
        let (id, rest) = entry.split_once(' ').unwrap_or((entry, ""));
        if rule(id).is_none() || rest.starts_with("for ") {
            // "for …" names one frame of several: the comparison covers it.
            continue;
        }
        for finding in findings.iter().filter(|finding| finding.rule == id) {
            if rest != "as broken" || finding.verdict == Verdict::Broken {
                wrong.push(format!("must not be found: {}", describe(finding)));
            }
        }
    }
    wrong
}

#[test]
fn reported_faults_are_found_and_traps_are_passed() {
    let text = read(&cases().join("public-faults.jsonl"));
    let mut wrong = vec![];
    let mut not_yet = vec![];
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).expect("JSON");
        let key = case["key"].as_str().expect("a key").to_string();
        let lines: Vec<Line> = case["frames"]
            .as_array()
            .expect("frames")
            .iter()
            .map(line_of)
            .collect();
        let findings = judge(&lines, &how(&case, &lines));
        let expected = Expected::list(&case["expect"]);
        let unclean = Expected::list(&case["expect_unclean"]);
        for want in expected
            .iter()
            .chain(&unclean)
            .filter(|want| !want.is_judged() && !want.optional)
        {
            not_yet.push((key.clone(), want.rules[0].clone()));
        }
        let all: Vec<Expected> = expected.iter().chain(&unclean).cloned().collect();
        let mut problems = compare(&findings, &all);
        // That lines end with CR LF, that a cursor is empty, is the point of these: legal, and a note by the
        // catalogue's row, which the cases' expectations leave out.
        let notes = [("B061", "stdio-crlf"), ("B073", "next-cursor-type")];
        problems.retain(|problem| {
            let is_note = |(of, rule): &(&str, &str)| key == *of && problem.contains(rule);
            !notes.iter().any(is_note)
        });
        if case["verdict"] == "valid-but-looks-wrong" {
            problems.extend(unclean_trap(&case, &findings, &unclean));
        }
        wrong.extend(
            problems
                .into_iter()
                .map(|problem| format!("{key}: {problem}")),
        );
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert_eq!(not_yet, owned(FAULTS_NOT_YET));
}

/// From between, or from the world where only a simulation shows it.
fn how(case: &Value, lines: &[Line]) -> How {
    let of_a_world = ["queued", "lost", "close-queued", "teardown", "drop"];
    let has_world_events = lines
        .iter()
        .filter_map(|line| line.event.as_deref())
        .any(|event| of_a_world.contains(&event));
    let is_world = case["basis"] == "differential" || has_world_events;
    let vantage = if is_world {
        Vantage::World
    } else {
        Vantage::Between
    };
    // Without a handshake only the case itself can say that it is of the newest revision.
    let revision = case["revision"].as_str().and_then(Revision::parse);
    How {
        http: lines.iter().any(|line| line.stream.is_some()),
        revision: revision
            .filter(|&revision| revision == Revision::V2026_07_28 && !has_handshake(lines)),
        ..How::from(vantage)
    }
}

fn has_handshake(lines: &[Line]) -> bool {
    lines
        .iter()
        .any(|line| String::from_utf8_lossy(&line.bytes).contains("\"initialize\""))
}

/// On the side that must be clean nothing is found, be it unsure.
fn unclean_trap(case: &Value, findings: &[Finding], unclean: &[Expected]) -> Vec<String> {
    let clean = case["clean"].as_str().expect("a clean side");
    let sides: &[&str] = match clean {
        "c2s" => &["client"],
        "s2c" => &["server"],
        _ => &["client", "server"],
    };
    findings
        .iter()
        .filter(|finding| sides.contains(&finding.blame.as_str()))
        .filter(|finding| !unclean.iter().any(|want| want.matches(finding)))
        .map(|finding| format!("on the clean side: {}", describe(finding)))
        .collect()
}
