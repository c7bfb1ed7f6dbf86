//! The rule table and the catalogue of duties, held against each other in both directions.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{cases, read};
use mcpsim_models::rules::{NOT_JUDGED, Rule};
use mcpsim_models::{rule, rules};
use mcpsim_traces::message::Revision;
use serde_json::Value;

/// A row of the catalogue, from all its files: some ids stand in two of them.
struct Row {
    from: Revision,
    until: Revision,
    parts: Vec<Value>,
}

fn catalogue() -> BTreeMap<String, Row> {
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    for name in ["stateful", "stateless", "extra"] {
        let text = read(&cases().join(format!("catalogue/{name}.jsonl")));
        for line in text.lines() {
            let part: Value = serde_json::from_str(line).expect("a row");
            let date = |key: &str| Revision::parse(word(&part, key)).expect("a revision");
            let (from, until) = (date("from"), date("until"));
            let row = rows.entry(word(&part, "id").to_string()).or_insert(Row {
                from,
                until,
                parts: vec![],
            });
            row.from = row.from.min(from);
            row.until = row.until.max(until);
            row.parts.push(part);
        }
    }
    rows
}

fn word<'a>(part: &'a Value, key: &str) -> &'a str {
    part[key]
        .as_str()
        .unwrap_or_else(|| panic!("{key} in {part}"))
}

/// Whether the row says of that revision what the catalogue says.
fn differences(rule: &Rule, part: &Value) -> Vec<String> {
    let mut found = vec![];
    let from = Revision::parse(word(part, "from")).expect("a revision");
    let until = Revision::parse(word(part, "until")).expect("a revision");
    for revision in Revision::ALL {
        if !(from..=until).contains(&revision) {
            continue;
        }
        let by = |key: &str, general: &str| {
            let table = &part[key][revision.as_str()];
            table
                .as_str()
                .unwrap_or_else(|| word(part, general))
                .to_string()
        };
        let level = by("level_by_revision", "level");
        let severity = by("severity_by_revision", "default_severity");
        if rule.level_at(Some(revision)).as_str() != level {
            found.push(format!("{revision}: level {level}"));
        }
        if rule.severity_at(Some(revision)).as_str() != severity {
            found.push(format!("{revision}: severity {severity}"));
        }
    }
    found
}

#[test]
fn every_row_is_judged_or_listed() {
    let listed: BTreeMap<&str, &str> = NOT_JUDGED.iter().map(|row| (row.id, row.because)).collect();
    let missing: Vec<String> = catalogue()
        .into_iter()
        // Tolerances are near-misses of the rules that they touch.
        .filter(|(id, _)| rule(id).is_none() && !listed.contains_key(id.as_str()))
        .map(|(id, row)| format!("{} {id}", word(&row.parts[0], "category")))
        .collect();
    assert!(
        missing.is_empty(),
        "{} rows are neither judged nor listed:\n{}",
        missing.len(),
        missing.join("\n")
    );
}

#[test]
fn every_rule_says_what_the_catalogue_says() {
    let catalogue = catalogue();
    let mut wrong = vec![];
    for rule in rules() {
        let Some(row) = catalogue.get(rule.id) else {
            wrong.push(format!("{}: no such row", rule.id));
            continue;
        };
        if (rule.from, rule.until) != (row.from, row.until) {
            wrong.push(format!("{}: {} to {}", rule.id, row.from, row.until));
        }
        for part in &row.parts {
            let told = differences(rule, part);
            wrong.extend(told.iter().map(|told| format!("{}: {told}", rule.id)));
        }
        let part = &row.parts[0];
        for (name, mine) in [
            ("category", rule.category.as_str()),
            ("basis", rule.basis.as_str()),
            ("side", rule.side.as_str()),
        ] {
            if word(part, name) != mine {
                wrong.push(format!("{}: {name} {}", rule.id, word(part, name)));
            }
        }
        if part["tier"] != u64::from(rule.tier) {
            wrong.push(format!("{}: tier {}", rule.id, part["tier"]));
        }
        if word(part, "depends_on") != rule.needs.as_str() && word(part, "depends_on") != "meaning"
        {
            wrong.push(format!("{}: needs {}", rule.id, word(part, "depends_on")));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn the_list_of_what_is_not_judged_is_in_order() {
    let catalogue = catalogue();
    let mut seen = BTreeSet::new();
    for row in NOT_JUDGED {
        assert!(
            seen.last().is_none_or(|last| *last < row.id),
            "{}: out of order",
            row.id
        );
        seen.insert(row.id);
        assert!(catalogue.contains_key(row.id), "{}: no such row", row.id);
        assert!(rule(row.id).is_none(), "{}: is judged", row.id);
        assert!(row.because.ends_with('.'), "{}", row.id);
    }
}

/// A rule's twin is a row of the other era.
#[test]
fn twins_are_rows_of_the_other_era() {
    for one in rules().iter().filter(|one| !one.twin.is_empty()) {
        let twin = rule(one.twin).unwrap_or_else(|| panic!("{}: no row {}", one.id, one.twin));
        assert!(
            !one.is_in(Revision::V2026_07_28) && twin.is_in(Revision::V2026_07_28),
            "{}",
            one.id
        );
    }
}
