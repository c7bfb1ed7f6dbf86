//! What a reader sees of rules and findings: lists and their filters, explanations, the frame at fault and its column.
#![cfg(feature = "cli")]

mod common;

use common::{captured, folder, handshake, mcpsim, mcpsim_reading, read, text, write};
use serde_json::Value;

fn rows(report: &Value) -> Vec<Value> {
    report["rules"].as_array().expect("rules").clone()
}

#[test]
fn rules_are_listed_by_category_and_filtered() {
    let here = folder();
    let list = |args: &[&str]| {
        let all = [&["list", "rules", "--format", "json"], args].concat();
        rows(&mcpsim(here.path(), &all).ends(0).json())
    };
    let all = list(&[]);
    let mut categories: Vec<&str> = all.iter().map(|row| text(row, "category")).collect();
    categories.dedup();
    let mut once = categories.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(
        categories.len(),
        once.len(),
        "each category stands in one place"
    );

    let batch = list(&["--category", "batch"]);
    assert!(!batch.is_empty() && batch.iter().all(|row| row["category"] == "batch"));
    // The level of a rule may depend on the revision.
    let in_2025_06_18 = list(&[
        "--category",
        "batch",
        "--revision",
        "2025-06-18",
        "--level",
        "must",
    ]);
    let in_2024_11_05 = list(&[
        "--category",
        "batch",
        "--revision",
        "2024-11-05",
        "--level",
        "must",
    ]);
    let has = |rows: &[Value]| {
        rows.iter()
            .any(|row| row["rule"] == "batch-not-in-revision")
    };
    assert!(
        in_2025_06_18
            .iter()
            .chain(&in_2024_11_05)
            .all(|row| row["level"] == "MUST")
    );
    assert!(!has(&list(&["--category", "batch", "--revision", "2025-03-26"])) || has(&batch));
    let counts = |level: &str| list(&["--level", level]).len();
    let sum: usize = ["MUST", "SHOULD", "MAY-note", "none"]
        .map(counts)
        .iter()
        .sum();
    assert_eq!(sum, all.len(), "every rule has one level");

    let shown = mcpsim(here.path(), &["list", "rules"]).ends(0);
    let last = format!("\n{} rules\n", all.len());
    assert!(shown.text().ends_with(&last), "{}", shown.text());
    mcpsim(here.path(), &["list", "rules", "--category", "batches"])
        .ends(2)
        .says(&["`batch`"]);
    mcpsim(here.path(), &["list", "faults", "--level", "MUST"])
        .ends(2)
        .says(&["list rules"]);
    mcpsim(here.path(), &["list", "rules", "--revision", "2025"])
        .ends(2)
        .says(&["2025-11-25"]);
}

#[test]
fn what_is_not_judged_is_listed_and_explained() {
    let here = folder();
    let report = mcpsim(here.path(), &["list", "not-judged", "--format", "json"])
        .ends(0)
        .json();
    let rows = report["not_judged"].as_array().expect("rows");
    let first = rows.first().expect("something is not judged");
    let (rule, because) = (text(first, "rule"), text(first, "because"));
    let shown = mcpsim(here.path(), &["explain", rule]).ends(0);
    assert_eq!(shown.text(), format!("{rule}   not judged\n\n{because}\n"));
    let report = mcpsim(here.path(), &["explain", rule, "--format", "json"])
        .ends(0)
        .json();
    assert_eq!(
        (&report["judged"], text(&report, "because")),
        (&false.into(), because)
    );
}

/// Every rule is explained with both kinds of session, and what is found in them is what the rule is about.
#[test]
fn every_rule_is_explained() {
    let here = folder();
    let all = rows(
        &mcpsim(here.path(), &["list", "rules", "--format", "json"])
            .ends(0)
            .json(),
    );
    for row in &all {
        let rule = text(row, "rule");
        let shown = mcpsim(here.path(), &["explain", rule]).ends(0);
        let words = shown.text();
        for part in [
            "Written in:",
            "Broken by",
            "Near, but kept",
            text(row, "says"),
        ] {
            assert!(words.contains(part), "{rule}: no {part:?}\n{words}");
        }
        let (broken, kept) = words.split_once("Near, but kept").expect("both");
        assert!(broken.contains(&format!(" {rule}, ")), "{rule}\n{broken}");
        let found = kept.lines().filter(|line| line.starts_with("  found: "));
        for line in found {
            assert!(!line.contains(&format!(" {rule}, ")), "{rule}\n{kept}");
        }
        assert!(
            !words.contains("$M") && !words.contains("$/"),
            "{rule}\n{words}"
        );
    }
}

/// A log in which a finding points at a member behind escapes, and its line.
fn log() -> String {
    let answer = "{\"jsonrpc\":\"2.0\",\"note\":\"é\\n\\u20ac\",\"id\":\"seven\",\"result\":{}}";
    handshake() + &captured("s2c", answer)
}

#[test]
fn a_finding_shows_the_frame_and_its_column() {
    let here = folder();
    write(here.path(), "log", log());
    let report = mcpsim(here.path(), &["check", "log", "--format", "json"])
        .ends(1)
        .json();
    let finding = &report["files"][0]["findings"][0];
    assert_eq!(text(finding, "rule"), "response-unknown-id");
    let whole = String::from_utf8(read(&here.path().join("log"))).expect("text");
    let line = whole.lines().nth(3).expect("a fourth line");
    let column = finding["column"].as_u64().expect("a column") as usize;
    assert!(
        line[column - 1..].starts_with(r#"\"seven\""#),
        "{}",
        &line[column - 1..]
    );
    let shown = &finding["evidence"][0];
    let underline = shown["underline"].as_array().expect("a place");
    let at = |index: usize| underline[index].as_u64().expect("a number") as usize;
    let letters: Vec<char> = text(shown, "text").chars().collect();
    let marked: String = letters[at(0)..at(1)].iter().collect();
    assert_eq!(marked, "\"seven\"");
    assert!(
        text(finding, "knew").starts_with("2025-11-25 agreed on"),
        "{finding}"
    );
    assert_eq!(
        text(finding, "address"),
        "https://modelcontextprotocol.io/specification/2025-11-25/basic#responses"
    );

    let shown = mcpsim(here.path(), &["check", "log"]).ends(1);
    let lines: Vec<&str> = shown.text().lines().collect();
    let carets = lines
        .iter()
        .position(|line| line.trim() == "^^^^^^^")
        .expect("carets");
    let begin = lines[carets].find('^').expect("carets");
    let above: String = lines[carets - 1].chars().skip(begin).take(7).collect();
    assert_eq!(above, "\"seven\"");
}

/// What comes in on standard input is shown as well as what stands in a file.
#[test]
fn standard_input_is_shown_too() {
    let here = folder();
    let ran = mcpsim_reading(here.path(), &["check", "-"], log().as_bytes()).ends(1);
    assert!(ran.text().contains("^^^^^^^"), "{}", ran.text());
}

/// A line feed inside a frame: the column is that of the line's own text.
#[test]
fn a_column_in_the_second_line_of_a_frame_is_right() {
    let here = folder();
    let ping = r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#;
    let answer = r#"{"jsonrpc":"2.0","id":"seven","result":{}}"#;
    let two = captured("s2c", &format!("{answer}\n{answer}"));
    write(
        here.path(),
        "log",
        handshake() + &captured("c2s", ping) + &two,
    );
    let report = mcpsim(here.path(), &["check", "log", "--format", "json"]).json();
    let whole = String::from_utf8(read(&here.path().join("log"))).expect("text");
    for finding in report["files"][0]["findings"].as_array().expect("findings") {
        let (Some(line), Some(column)) = (finding["line"].as_u64(), finding["column"].as_u64())
        else {
            continue;
        };
        if finding["rule"] == "response-unknown-id" || finding["rule"] == "duplicate-response" {
            let line = whole.lines().nth(line as usize - 1).expect("a line");
            assert!(
                line[column as usize - 1..].starts_with(r#"\"seven\""#),
                "{finding}"
            );
        }
    }
}

/// A long frame is cut around what is at fault, on one line of bounded width.
#[test]
fn a_long_frame_is_cut() {
    let here = folder();
    let long = "x".repeat(100_000);
    let answer = format!(r#"{{"jsonrpc":"2.0","a":"{long}","id":77,"result":{{"b":"{long}"}}}}"#);
    write(here.path(), "log", handshake() + &captured("s2c", &answer));
    let ran = mcpsim(here.path(), &["check", "log"]).ends(1);
    assert!(
        ran.text().contains("77") && ran.text().contains("^^"),
        "{}",
        ran.text()
    );
    let widest = ran.text().lines().map(|line| line.chars().count()).max();
    assert!(widest < Some(200), "{widest:?}");
}

#[test]
fn the_outcome_of_each_rule_is_told_when_asked() {
    let here = folder();
    write(here.path(), "log", log());
    let short = mcpsim(here.path(), &["check", "log"]).ends(1);
    let long = mcpsim(here.path(), &["check", "log", "--rules"]).ends(1);
    let rest = long
        .text()
        .strip_prefix(short.text())
        .expect("the same, and more");
    let report = mcpsim(here.path(), &["check", "log", "--format", "json"]).json();
    let outcomes = report["rules"].as_object().expect("outcomes");
    assert_eq!(rest.lines().count(), outcomes.len());
    assert_eq!(outcomes["response-unknown-id"], "broken");
    let broken = outcomes.values().filter(|one| *one == "broken").count();
    let first: Vec<&str> = rest.lines().take(broken).collect();
    assert!(
        first.contains(&"  broken         response-unknown-id")
            && first.iter().all(|line| line.starts_with("  broken ")),
        "{rest}"
    );
    let count = |word: &str| outcomes.values().filter(|one| *one == word).count() as u64;
    for word in ["broken", "unsure", "kept", "idle"] {
        assert_eq!(report["summary"][word], count(word), "{word}");
    }
}

/// Who waits for whom, one line each, down to the end of the chain.
#[test]
fn a_hang_shows_its_chain() {
    let here = folder();
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}"#;
    let ask = r#"{"jsonrpc":"2.0","id":5,"method":"roots/list"}"#;
    let log = handshake()
        + &captured("c2s", call)
        + &captured("s2c", ask)
        + "{\"dir\":\"c2s\",\"event\":\"stall\"}\n";
    write(here.path(), "log", &log);
    let report = mcpsim(
        here.path(),
        &["check", "log", "--vantage", "server", "--format", "json"],
    )
    .ends(1)
    .json();
    let findings = report["files"][0]["findings"].as_array().expect("findings");
    let hang = findings
        .iter()
        .find(|one| one["rule"] == "request-unanswered");
    assert_eq!(
        hang.expect("a hang")["waits"],
        serde_json::json!([
            "client waits for server to answer tools/call 2 (#4)",
            "server waits for client to answer roots/list 5 (#5)",
        ])
    );
    let shown = mcpsim(here.path(), &["check", "log", "--vantage", "server"]).ends(1);
    assert!(
        shown
            .text()
            .contains("\n         client waits for server to answer tools/call 2 (#4)\n"),
        "{}",
        shown.text()
    );
}

/// A replay points at what the saved trace has, as `check` of the same file does.
#[test]
fn a_replay_shows_the_frame() {
    let here = folder();
    let failure = common::failure(here.path(), "echoes-the-id-as-text");
    let trace = text(&failure, "shrunk");
    let report = mcpsim(here.path(), &["replay", trace, "--format", "json"])
        .ends(1)
        .json();
    let finding = &report["findings"][0];
    assert!(
        !finding["evidence"].as_array().expect("frames").is_empty(),
        "{finding}"
    );
    assert!(finding["line"].is_u64(), "{finding}");
}
