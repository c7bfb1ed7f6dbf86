//! Lawful sessions of which the beginning or the end was not recorded: nobody is accused for what stood there.

mod common;

use common::{How, Line, cases, describe, judge, line_of, read};
use mcpsim_models::examples::examples;
use mcpsim_models::rules;
use mcpsim_traces::judge::{Finding, Severity, Vantage, Verdict};
use serde_json::Value;

/// What is certain of a part of a session, seen from there.
fn accused(lines: &[Line], how: &How, vantage: Vantage) -> Vec<Finding> {
    let mut findings = judge(lines, &How { vantage, ..*how });
    findings
        .retain(|finding| finding.verdict == Verdict::Broken && finding.severity != Severity::Note);
    findings
}

/// Where it is seen from: some near-misses are none elsewhere.
fn places(options: &str, written: Vantage) -> Vec<Vantage> {
    match options.contains("vantage=") {
        true => vec![written],
        false => vec![Vantage::Client, Vantage::Server, Vantage::Between],
    }
}

/// What tells nothing any more without its beginning: a session with requests outside it, which looks like a faulty one of
/// either kind; ids that differ in their type alone; messages that are posted where nobody saw the older transport begin;
/// and a body of something else whose head was cut off.
fn is_ambiguous(options: &str, frames: &[&str]) -> bool {
    let any = |words: &[&str]| {
        let has = |line: &&str| words.iter().any(|word| line.contains(word));
        frames.iter().any(has)
    };
    let is_of_both_eras = options.contains("joined") || any(&["handshake", "\"initialize\""]);
    is_of_both_eras && any(&["$M", "2026-07-28", "server/discover"])
        || any(&["\"id\":1,"]) && any(&["\"id\":\"1\""])
        || any(&["event=endpoint", "grant_type"])
}

/// Every near-miss that is seen in part: which part, by the lines that are left of how many.
#[track_caller]
fn nobody_is_accused(
    is_told: fn(&str, &[&str]) -> bool,
    part: fn(&[Line], usize) -> &[Line],
    how: fn(How) -> How,
) {
    let mut wrong = vec![];
    let mut seen = 0;
    for rule in rules() {
        for (number, example) in examples(rule.id).iter().enumerate() {
            if example.findings != "none" || !is_told(example.options, &example.frames) {
                continue;
            }
            let lines = example.lines().expect("a session");
            let written = example.how().expect("options");
            for cut in 1..lines.len() {
                for vantage in places(example.options, written.vantage) {
                    seen += 1;
                    for finding in accused(part(&lines, cut), &how(written), vantage) {
                        wrong.push(format!(
                            "{} #{}, {cut} of {} lines, {}: {}",
                            rule.id,
                            number + 1,
                            lines.len(),
                            vantage.as_str(),
                            describe(&finding)
                        ));
                    }
                }
            }
        }
    }
    assert!(seen > 10_000, "{seen}");
    assert!(
        wrong.is_empty(),
        "{} of {seen}\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn what_is_missing_at_the_beginning_accuses_nobody() {
    nobody_is_accused(
        |options, frames| !is_ambiguous(options, frames),
        |lines, cut| &lines[cut..],
        |how| How {
            whole: false,
            ..how
        },
    );
}

/// The recording merely stops: nothing says that the session came to rest.
#[test]
fn what_is_missing_at_the_end_accuses_nobody() {
    nobody_is_accused(
        |_, _| true,
        |lines, cut| &lines[..cut],
        |how| How {
            quiet: false,
            ..how
        },
    );
}

/// Recorded sessions in which nothing is broken, without their first lines.
#[test]
fn recordings_that_begin_later_accuse_nobody() {
    let folder = cases().join("real");
    let expect: Value = serde_json::from_str(&read(&folder.join("expect.json"))).expect("JSON");
    let mut wrong = vec![];
    let mut seen = 0;
    for (name, want) in expect.as_object().expect("sessions by name") {
        let found = want["findings"].as_array().expect("a list");
        if found.iter().any(|one| one["verdict"] == "broken") {
            continue;
        }
        let text = read(&folder.join(format!("{name}.jsonl")));
        let all: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        let stood = all[0]["vantage"].as_str().and_then(Vantage::parse);
        let lines: Vec<Line> = all.iter().skip(1).map(line_of).collect();
        for cut in 1..lines.len() {
            for vantage in [Vantage::Between].into_iter().chain(stood) {
                seen += 1;
                for finding in accused(&lines[cut..], &How::from(vantage), vantage) {
                    let told = describe(&finding);
                    wrong.push(format!("{name} from {cut}, {}: {told}", vantage.as_str()));
                }
            }
        }
    }
    assert!(seen > 150, "{seen}");
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
