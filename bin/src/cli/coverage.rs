//! What a campaign has reached, in words and as a report.

use serde::Serialize;

use super::outcome::Result;
use super::report::{SummaryReport, to_json};
use super::store::{Over, Whole};
use crate::models::coverage::RuleCovered;
use crate::models::{Coverage, Outcome, Summary};
use crate::sim::strategy::Strategy;
use crate::traces::judge::Severity;

/// A campaign with fewer runs since anything new says nothing of it.
const QUIET_RUNS_MIN: u64 = 100;

/// In `mcpsim run --format json`: what was reached, in numbers.
#[derive(Serialize, Clone, PartialEq, Eq, Debug)]
pub(crate) struct CoverageSummary {
    /// Rules by their outcome over all runs.
    rules: SummaryReport,
    /// By revision: what the sides may send, and how much of that they sent.
    methods: Vec<MethodsCount>,
    /// Ways between the states of an end.
    transitions: Count,
    /// The last run that reached anything new, from 1; null where there was none.
    last_new: Option<u64>,
    /// Of the broken rules, those that are no failure at any `--fail-on`.
    #[serde(skip)]
    notes: usize,
}

/// Requests and notifications under a revision, each by the side that sends it.
#[derive(Serialize, Clone, PartialEq, Eq, Debug)]
struct MethodsCount {
    revision: &'static str,
    #[serde(flatten)]
    count: Count,
}

/// So many of how many.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, Debug)]
struct Count {
    reached: usize,
    all: usize,
}

/// The file of `--coverage`.
#[derive(Serialize, Debug)]
struct CoverageReport<'a> {
    /// `mcpsim-coverage/1`
    schema: &'static str,
    scenario: &'a str,
    fault: Option<&'a str>,
    strategy: String,
    seed: u64,
    runs: u64,
    complete: bool,
    summary: CoverageSummary,
    rules: Vec<RuleReport>,
    methods: Vec<MethodReport>,
    states: Vec<StateReport>,
    transitions: Vec<TransitionReport>,
}

#[derive(Serialize, Debug)]
struct RuleReport {
    rule: &'static str,
    outcome: &'static str,
    first: Option<u64>,
}

#[derive(Serialize, Debug)]
struct MethodReport {
    revision: &'static str,
    by: &'static str,
    kind: &'static str,
    method: &'static str,
    lawful: bool,
    first: Option<u64>,
}

#[derive(Serialize, Debug)]
struct StateReport {
    end: &'static str,
    state: &'static str,
    first: Option<u64>,
}

#[derive(Serialize, Debug)]
struct TransitionReport {
    end: &'static str,
    from: &'static str,
    to: &'static str,
    lawful: bool,
    first: Option<u64>,
}

/// The campaign that reached it.
pub(crate) struct Campaign<'a> {
    pub(crate) scenario: &'a str,
    pub(crate) fault: Option<&'a str>,
    pub(crate) strategy: Strategy,
    pub(crate) seed: u64,
    pub(crate) runs: u64,
    pub(crate) complete: bool,
}

impl CoverageSummary {
    /// What was reached, in numbers.
    pub(crate) fn new(coverage: &Coverage) -> CoverageSummary {
        let count = |lawful: &[Option<u64>]| Count {
            reached: lawful.iter().flatten().count(),
            all: lawful.len(),
        };
        let methods = coverage.revisions().into_iter().map(|revision| {
            let sent = coverage.methods(revision);
            let calls = sent.iter().filter(|row| row.is_lawful && row.is_call());
            MethodsCount {
                revision: revision.as_str(),
                count: count(&calls.map(|row| row.first).collect::<Vec<_>>()),
            }
        });
        let ways = coverage.ways();
        let ways = ways.iter().filter(|way| way.is_lawful);
        CoverageSummary {
            rules: coverage.summary().into(),
            methods: methods.collect(),
            transitions: count(&ways.map(|way| way.first).collect::<Vec<_>>()),
            last_new: number(coverage.last_new()),
            notes: coverage.rules().iter().filter(is_note).count(),
        }
    }

    /// The lines of a text report, each with its end.
    pub(crate) fn lines(&self, runs: u64) -> String {
        let SummaryReport {
            broken,
            unsure,
            kept,
            idle,
            ..
        } = self.rules;
        let notes = match self.notes {
            0 => String::new(),
            notes => format!(" ({notes} worth a note only)"),
        };
        let mut text = format!(
            "rules: {broken} broken{notes}, {unsure} unsure, {kept} kept, {idle} not triggered"
        );
        for methods in &self.methods {
            let Count { reached, all } = methods.count;
            let revision = methods.revision;
            text.push_str(&format!(" · methods of {revision}: {reached} of {all}"));
        }
        let Count { reached, all } = self.transitions;
        text.push_str(&format!(" · transitions: {reached} of {all}\n"));
        let quiet = runs - self.last_new.unwrap_or(runs);
        if quiet >= QUIET_RUNS_MIN && quiet >= runs / 2 {
            let last = runs - quiet;
            text.push_str(&format!("nothing new since run {last} of {runs}\n"));
        }
        text
    }
}

/// Writes the file of `--coverage`, which was begun before the first run: a path that leads nowhere is told then.
///
/// # Errors
/// It cannot be written.
pub(crate) fn write_report(
    mut file: Whole,
    campaign: &Campaign<'_>,
    coverage: &Coverage,
) -> Result<()> {
    let methods = coverage.revisions().into_iter().flat_map(|revision| {
        let sent = coverage.methods(revision).into_iter();
        sent.map(move |row| MethodReport {
            revision: revision.as_str(),
            by: row.by.as_str(),
            kind: row.kind.as_str(),
            method: row.method.words(),
            lawful: row.is_lawful,
            first: number(row.first),
        })
    });
    let rules = coverage.rules().into_iter().map(|row| RuleReport {
        rule: row.rule.id,
        outcome: row.outcome.as_str(),
        first: number(row.first),
    });
    let states = coverage.states().into_iter().map(|row| StateReport {
        end: row.role.as_str(),
        state: row.state.as_str(),
        first: number(row.first),
    });
    let transitions = coverage.ways().into_iter().map(|row| TransitionReport {
        end: row.role.as_str(),
        from: row.from.as_str(),
        to: row.to.as_str(),
        lawful: row.is_lawful,
        first: number(row.first),
    });
    let report = CoverageReport {
        schema: "mcpsim-coverage/1",
        scenario: campaign.scenario,
        fault: campaign.fault,
        strategy: campaign.strategy.to_string(),
        seed: campaign.seed,
        runs: campaign.runs,
        complete: campaign.complete,
        summary: CoverageSummary::new(coverage),
        rules: rules.collect(),
        methods: methods.collect(),
        states: states.collect(),
        transitions: transitions.collect(),
    };
    file.put_in(to_json(&report)?.as_bytes())?;
    file.keep(Over::Anything)
}

fn is_note(covered: &&RuleCovered) -> bool {
    covered.outcome == Outcome::Broken && covered.rule.severity == Severity::Note
}

/// A run by its number from 1, as people count.
fn number(index: Option<u64>) -> Option<u64> {
    index.map(|index| index + 1)
}

impl From<Summary> for SummaryReport {
    fn from(summary: Summary) -> SummaryReport {
        SummaryReport {
            broken: summary.broken,
            unsure: summary.unsure,
            kept: summary.kept,
            idle: summary.idle,
            left_out: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(named: &[(&str, u64)], runs: u64) -> String {
        let named = named.iter().map(|&(name, run)| (name.to_owned(), run));
        let coverage = Coverage::restore(&named.collect(), runs);
        CoverageSummary::new(&coverage).lines(runs)
    }

    /// What is broken and yet no failure is told apart; a long quiet is told, a short one is not.
    #[test]
    fn the_lines_say_what_counts() {
        let named = [
            ("broken deprecated-features", 4),
            ("broken duplicate-response", 9),
            ("client fresh to opening", 0),
            ("2026-07-28 client request tools/call", 0),
        ];
        let text = told(&named, 300);
        assert!(
            text.starts_with("rules: 2 broken (1 worth a note only), 0 unsure, 0 kept, "),
            "{text}"
        );
        assert!(text.contains(" · methods of 2026-07-28: 1 of "), "{text}");
        assert!(
            text.ends_with("\nnothing new since run 10 of 300\n"),
            "{text}"
        );
        assert!(!told(&named, 100).contains("nothing new"));
        assert!(told(&named[1..2], 300).starts_with("rules: 1 broken, "));
        assert!(!told(&[], 300).contains("nothing new"));
    }
}
