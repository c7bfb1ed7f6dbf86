//! The page on scenario files: its examples are scenarios, and it names every member and every value.

use std::collections::BTreeSet;

use mcpsim_scenarios::Scenario;
use mcpsim_sim::choose::{Dice, derive_seed};
use mcpsim_traces::event::{Fault, Nothing};
use mcpsim_traces::judge::{Severity, Verdict};
use mcpsim_traces::message::Tool;

const PAGE: &str = include_str!("../../docs/scenarios.md");

/// The JSON blocks of the page.
fn examples() -> Vec<&'static str> {
    let blocks = PAGE.split("```json\n").skip(1);
    blocks
        .map(|block| block.split("```").next().unwrap_or_default())
        .collect()
}

#[test]
fn the_examples_are_scenarios_that_stay_clean() {
    assert_eq!(examples().len(), 2);
    for example in examples() {
        let scenario = Scenario::parse(example).unwrap_or_else(|error| panic!("{error}"));
        for index in 0..300 {
            let mut dice = Dice::new(derive_seed(3, index));
            let outcome =
                mcpsim_scenarios::play(&scenario, None, &mut dice, &mut Nothing).expect("valid");
            let broken = outcome.findings.iter().find(|finding| {
                finding.verdict == Verdict::Broken && finding.severity > Severity::Note
            });
            assert_eq!(broken, None, "{} run {index}", scenario.name);
        }
    }
}

/// The names that a reader offers, taken from what it says of an unknown one: `known here: a, b`.
fn known(text: &str) -> Vec<String> {
    let error = Scenario::parse(text).expect_err("an unknown name");
    let listed = error.message.split("known here: ").nth(1);
    let listed = listed.unwrap_or_else(|| panic!("{text}: {error}"));
    listed.split(", ").map(str::to_owned).collect()
}

#[test]
fn the_page_names_every_member_and_every_value() {
    let unknown = "\"qqqqqqqqqqqqqqqq\"";
    let mut names = BTreeSet::new();
    for text in [
        format!("{{{unknown}: 1}}"),
        format!("{{\"parties\": [{{{unknown}: 1}}]}}"),
        format!("{{\"parties\": [{{\"role\": {unknown}}}]}}"),
        format!("{{\"parties\": [{{\"ids\": {unknown}}}]}}"),
        format!("{{\"parties\": [{{\"routing\": {unknown}}}]}}"),
        format!("{{\"links\": [{{{unknown}: 1}}]}}"),
        format!("{{\"links\": [{{\"kind\": {unknown}}}]}}"),
        format!("{{\"links\": [{{\"beyond\": {{{unknown}: 1}}}}]}}"),
        format!("{{\"workload\": {{\"c\": [{{{unknown}: 1}}]}}}}"),
        format!("{{\"workload\": {{\"c\": [{{\"do\": {unknown}}}]}}}}"),
        format!("{{\"workload\": {{\"c\": [{{\"tool\": {unknown}}}]}}}}"),
        format!("{{\"faults\": {{{unknown}: 1}}}}"),
        format!("{{\"bounds\": {{{unknown}: 1}}}}"),
    ] {
        names.extend(known(&text));
    }
    names.extend(Tool::ALL.iter().map(|tool| tool.as_str().to_owned()));
    names.extend(Fault::ALL.iter().map(|fault| fault.as_str().to_owned()));
    for name in &names {
        // Every name has a row of its own, or stands in the type of one.
        let stands = PAGE
            .lines()
            .any(|line| line.starts_with('|') && line.contains(&format!("`{name}`")));
        assert!(stands, "the page has no row for `{name}`");
    }
    assert!(names.len() > 40, "{names:?}");
}
