//! Legal traffic that looks wrong: in none of it anything of severity error is found, from wherever it is seen.

mod common;

use std::collections::BTreeSet;

use common::{How, Line, cases, describe, judge, line_of, read};
use mcpsim_models::examples::spell_out;
use mcpsim_models::rule;
use mcpsim_traces::judge::{Finding, Severity, Vantage, Verdict};
use serde_json::Value;

/// One block of a page, and the errors that stand in it, as `rule blame`.
struct Session {
    place: String,
    heading: String,
    options: String,
    lines: Vec<Line>,
    errors: BTreeSet<String>,
}

fn page(name: &str) -> Vec<Session> {
    let text = read(&cases().join("lawful").join(name));
    let mut sessions = vec![];
    let (mut heading, mut block): (String, Option<(String, Vec<&str>)>) = (String::new(), None);
    let mut is_inside = false;
    for (number, line) in text.lines().enumerate() {
        let place = format!("{name}:{}", number + 1);
        if let Some(words) = line.strip_prefix("## ") {
            heading = words.to_string();
        } else if let Some(options) = line.strip_prefix("```frames") {
            is_inside = true;
            block = Some((options.trim().to_string(), vec![]));
        } else if line == "```" {
            is_inside = false;
        } else if is_inside {
            block.as_mut().expect("a block").1.push(line);
        } else if let Some(found) = line.strip_prefix("findings:") {
            let (options, frames) = block.take().expect("findings below a block");
            let found = found.trim();
            let errors = found.split("; ").filter(|one| *one != "none");
            sessions.push(Session {
                lines: spell_out(frames).unwrap_or_else(|wrong| panic!("{place}: {wrong}")),
                errors: errors.map(str::to_string).collect(),
                heading: heading.clone(),
                options,
                place,
            });
        }
    }
    assert!(block.is_none(), "{name}: the last block has no findings");
    sessions
}

/// What is certain and an error; what is unsure accuses nobody.
fn errors(findings: &[Finding]) -> Vec<&Finding> {
    let is_error = |finding: &&Finding| {
        finding.severity == Severity::Error && finding.verdict == Verdict::Broken
    };
    findings.iter().filter(is_error).collect()
}

/// Where the block names no observer: as the world sees it, which finds exactly what it says, and from
/// everywhere else, where no more is found than that.
fn problems(session: &Session) -> Vec<String> {
    let how = How::parse(&session.options).expect("options");
    let is_fixed = session.options.contains("vantage=");
    let vantages = if is_fixed {
        vec![how.vantage]
    } else {
        Vantage::ALL.to_vec()
    };
    let mut wrong = vec![];
    for vantage in vantages {
        let findings = judge(&session.lines, &How { vantage, ..how });
        let mut seen = BTreeSet::new();
        for finding in errors(&findings) {
            let short = format!("{} {}", finding.rule, finding.blame.as_str());
            if !session.errors.contains(&short) {
                wrong.push(format!("{}: {}", vantage.as_str(), describe(finding)));
            }
            seen.insert(short);
        }
        if is_fixed || vantage == Vantage::World {
            // Faults of rules that are not in the table are not missed.
            let is_judged = |short: &&String| {
                let id = short.split(' ').next().unwrap_or("");
                rule(id).is_some()
            };
            let missing = session.errors.difference(&seen).filter(is_judged);
            wrong.extend(missing.map(|short| format!("{}: no {short}", vantage.as_str())));
        }
    }
    wrong
        .into_iter()
        .map(|problem| format!("{} ({}): {problem}", session.place, session.heading))
        .collect()
}

#[track_caller]
fn check(name: &str, traps: usize) {
    let sessions = page(name);
    let numbers: BTreeSet<usize> = sessions
        .iter()
        .filter_map(|session| session.heading.split(' ').next()?.parse().ok())
        .collect();
    assert_eq!(
        numbers,
        (1..=traps).collect(),
        "{name}: every trap has a session"
    );
    let wrong: Vec<String> = sessions.iter().flat_map(problems).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn traps_of_the_revisions_with_a_handshake_are_passed() {
    check("stateful-traps.md", 25);
}

#[test]
fn traps_of_the_newest_revision_are_passed() {
    check("stateless-traps.md", 24);
}

/// Reported faults in which some side is clean: nothing at all is said of that side.
#[test]
fn what_was_refused_without_reason_is_clean() {
    let text = read(&cases().join("public-faults.jsonl"));
    let mut wrong = vec![];
    let mut seen = 0;
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).expect("JSON");
        let sides: &[&str] = match case["clean"].as_str() {
            None => continue,
            Some("c2s") => &["client"],
            Some("s2c") => &["server"],
            Some(_) => &["client", "server"],
        };
        // The refusal that was the real fault is the other side's.
        let real: Vec<&str> = case["expect_unclean"].as_array().map_or(vec![], |list| {
            list.iter().filter_map(|one| one["rule"].as_str()).collect()
        });
        seen += 1;
        let lines: Vec<Line> = case["frames"]
            .as_array()
            .expect("frames")
            .iter()
            .map(line_of)
            .collect();
        let key = case["key"].as_str().expect("a key");
        for vantage in Vantage::ALL {
            let how = How {
                http: lines.iter().any(|line| line.stream.is_some()),
                ..How::from(vantage)
            };
            let findings = judge(&lines, &how);
            for finding in errors(&findings) {
                if sides.contains(&finding.blame.as_str()) && !real.contains(&finding.rule) {
                    wrong.push(format!(
                        "{key}, {}: {}",
                        vantage.as_str(),
                        describe(finding)
                    ));
                }
            }
        }
    }
    assert_eq!(seen, 20);
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Recorded sessions in which nothing is to be found.
#[test]
fn clean_recordings_are_clean() {
    let folder = cases().join("real");
    let expect: Value = serde_json::from_str(&read(&folder.join("expect.json"))).expect("JSON");
    let mut wrong = vec![];
    let mut seen = 0;
    for (name, want) in expect.as_object().expect("sessions by name") {
        let found = want["findings"].as_array().expect("a list");
        if found.iter().any(|one| one["verdict"] == "broken") {
            continue;
        }
        seen += 1;
        let text = read(&folder.join(format!("{name}.jsonl")));
        let all = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let mut all = all.peekable();
        let stood = all
            .peek()
            .and_then(|line| Vantage::parse(line["vantage"].as_str()?));
        let lines: Vec<Line> = all.skip(1).map(|line| line_of(&line)).collect();
        // From elsewhere than they were recorded they would be other sessions.
        for vantage in [Vantage::Between].into_iter().chain(stood) {
            let findings = judge(&lines, &How::from(vantage));
            for finding in errors(&findings) {
                wrong.push(format!(
                    "{name}, {}: {}",
                    vantage.as_str(),
                    describe(finding)
                ));
            }
        }
    }
    assert!(seen >= 10, "{seen}");
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
