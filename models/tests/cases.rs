//! The cases of every rule: traces that break it and near-misses that do not, as Markdown in `cases/`.

mod common;

use std::collections::BTreeMap;

use common::{How, Line, cases, describe, judge, read};
use mcpsim_models::examples::spell_out;
use mcpsim_models::rules;
use mcpsim_traces::judge::Finding;

/// One fenced block and what is found in it.
struct Case {
    rule: String,
    place: String,
    lines: Vec<Line>,
    how: How,
    expected: Vec<String>,
}

/// Told once of every session outside handshakes that has roots, sampling or logging, as the cases of many
/// rules must: only cases of its own say where.
const OWN_CASES_ONLY: &str = "deprecated-features";

#[test]
fn every_case_is_judged_as_written() {
    let mut wrong = vec![];
    for case in all_cases() {
        let mut findings = judge(&case.lines, &case.how);
        if case.rule != OWN_CASES_ONLY {
            findings.retain(|finding| finding.rule != OWN_CASES_ONLY);
        }
        let found: Vec<String> = findings.iter().map(short).collect();
        if found != case.expected {
            let told: Vec<String> = findings.iter().map(describe).collect();
            wrong.push(format!(
                "{} ({}): expected {:?}, found\n    {}",
                case.place,
                case.rule,
                case.expected,
                told.join("\n    ")
            ));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// A rule without a case that breaks it, or without a near-miss, is not finished.
#[test]
fn every_rule_has_a_case_that_breaks_it_and_a_near_miss() {
    let mut seen: BTreeMap<String, (bool, bool)> = BTreeMap::new();
    for case in all_cases() {
        let entry = seen.entry(case.rule.clone()).or_default();
        let breaks = case
            .expected
            .iter()
            .any(|found| found.starts_with(&format!("{} ", case.rule)));
        if breaks {
            entry.0 = true;
        } else {
            entry.1 = true;
        }
    }
    let missing: Vec<&str> = rules()
        .iter()
        .map(|rule| rule.id)
        .filter(|&id| seen.get(id) != Some(&(true, true)))
        .collect();
    assert!(
        missing.is_empty(),
        "without both kinds of case: {missing:?}"
    );
    for id in seen.keys() {
        assert!(
            rules().iter().any(|rule| rule.id == id),
            "cases for an unknown rule: {id}"
        );
    }
}

/// The table is whole: ids are unique, and no row is without its words.
#[test]
fn rows_are_complete() {
    for (at, rule) in rules().iter().enumerate() {
        assert!(
            rules()[..at].iter().all(|other| other.id != rule.id),
            "{} twice",
            rule.id
        );
        for words in [rule.says, rule.why, rule.source] {
            assert!(!words.is_empty(), "{}", rule.id);
        }
        assert!(
            rule.says.ends_with('.') && rule.why.ends_with('.'),
            "{}",
            rule.id
        );
        assert!(rule.from <= rule.until, "{}", rule.id);
    }
}

fn short(finding: &Finding) -> String {
    let frames: Vec<String> = finding.frames.iter().map(u32::to_string).collect();
    format!(
        "{} {} {} {} [{}]",
        finding.rule,
        finding.blame.as_str(),
        finding.verdict.as_str(),
        finding.severity.as_str(),
        frames.join(",")
    )
}

fn all_cases() -> Vec<Case> {
    let files = std::fs::read_dir(cases()).expect("the cases");
    let mut names: Vec<String> = files
        .map(|file| {
            file.expect("a file")
                .file_name()
                .into_string()
                .expect("UTF-8")
        })
        .filter(|name| name.ends_with(".md") && name != "README.md")
        .collect();
    names.sort();
    names
        .iter()
        .flat_map(|name| parse(name, &read(&cases().join(name))))
        .collect()
}

/// Reads one file: `## rule`, words, fenced blocks of frames, and after each a line `findings:`.
fn parse(file: &str, text: &str) -> Vec<Case> {
    let mut found = vec![];
    let mut rule = String::new();
    let mut open: Option<Case> = None;
    let mut is_inside = false;
    for (number, line) in text.lines().enumerate() {
        let place = format!("{file}:{}", number + 1);
        if let Some(id) = line.strip_prefix("## ") {
            rule = id.trim().to_string();
        } else if line == "```" && is_inside {
            is_inside = false;
        } else if is_inside {
            let case = open.as_mut().expect("an open case");
            let lines = spell_out([line]).unwrap_or_else(|wrong| panic!("{place}: {wrong}"));
            case.lines.extend(lines);
        } else if let Some(options) = line.strip_prefix("```frames") {
            assert!(open.is_none(), "{place}: the case before has no findings");
            is_inside = true;
            open = Some(Case {
                rule: rule.clone(),
                place,
                lines: vec![],
                how: How::parse(options)
                    .unwrap_or_else(|wrong| panic!("{file}:{}: {wrong}", number + 1)),
                expected: vec![],
            });
        } else if let Some(list) = line.strip_prefix("findings:") {
            let mut case = open
                .take()
                .unwrap_or_else(|| panic!("{place}: findings without a case"));
            if list.trim() != "none" {
                case.expected = list.split(';').map(|one| one.trim().to_string()).collect();
            }
            found.push(case);
        }
    }
    assert!(open.is_none(), "{file}: the last case has no findings");
    found
}

/// "Never" is said only where the end was seen: when patience runs out, an answer may still come.
#[test]
fn patience_says_what_is_true_at_that_moment() {
    let session = "\
        @0 handshake\n\
        @10 c2s {\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}\n\
        @40000 c2s {\"id\":2,\"method\":\"ping\"}\n\
        @40001 s2c {\"id\":1,\"result\":{\"content\":[]}}\n\
        @40002 s2c {\"id\":2,\"result\":{}}\n";
    for (patience_ms, expected) in [
        (
            30_000,
            "server had not answered tools/call 1 after 30 s (patience); the answer came after 39 s",
        ),
        (
            1_500,
            "server had not answered tools/call 1 after 1500 ms (patience); the answer came after 39 s",
        ),
    ] {
        let page = format!("## x\n\n```frames vantage=client\n{session}```\nfindings: none\n");
        let case = &parse("x", &page)[0];
        let how = How {
            patience_ms,
            ..case.how
        };
        let findings = judge(&case.lines, &how);
        let told: Vec<&str> = findings.iter().map(|one| one.message.as_str()).collect();
        assert_eq!(told, [expected]);
    }
}
