//! `mcpsim list`: scenarios, rules and faults, printed from the tables that the program runs on.

use serde::Serialize;

use super::args::{Format, ListArgs, ListKind};
use super::outcome::{Outcome, Result, print};
use super::report::to_json;
use crate::models::{Rule, rules};
use crate::scenarios::{faults, scenarios};

#[derive(Serialize)]
struct ScenariosReport {
    schema: &'static str,
    scenarios: Vec<ScenarioRow>,
}

#[derive(Serialize)]
struct ScenarioRow {
    name: String,
    about: String,
}

#[derive(Serialize)]
struct FaultsReport {
    schema: &'static str,
    faults: Vec<FaultRow>,
}

#[derive(Serialize)]
struct FaultRow {
    name: &'static str,
    about: &'static str,
    scenario: &'static str,
    rule: &'static str,
    blame: &'static str,
    needs_schedule: bool,
}

#[derive(Serialize)]
struct RulesReport {
    schema: &'static str,
    rules: Vec<RuleRow>,
}

/// One rule, as `list rules` and `explain` show it.
#[derive(Serialize, Clone)]
pub(crate) struct RuleRow {
    rule: &'static str,
    category: &'static str,
    level: &'static str,
    basis: &'static str,
    severity: &'static str,
    side: &'static str,
    from: &'static str,
    until: &'static str,
    says: &'static str,
    source: &'static str,
}

/// A rule's row.
pub(crate) fn rule_row(rule: &Rule) -> RuleRow {
    RuleRow {
        rule: rule.id,
        category: rule.category.as_str(),
        level: rule.level.as_str(),
        basis: rule.basis.as_str(),
        severity: rule.severity.as_str(),
        side: rule.side.as_str(),
        from: rule.from.as_str(),
        until: rule.until.as_str(),
        says: rule.says,
        source: rule.source,
    }
}

/// Runs the command.
///
/// # Errors
/// The output cannot be written.
pub(crate) fn list(args: &ListArgs) -> Result<Outcome> {
    let text = match (args.kind, args.format) {
        (ListKind::Scenarios, Format::Json) => to_json(&ScenariosReport {
            schema: "mcpsim-scenarios/1",
            scenarios: scenarios()
                .iter()
                .map(|known| ScenarioRow {
                    name: known.name.clone(),
                    about: known.about.clone(),
                })
                .collect(),
        })?,
        (ListKind::Scenarios, Format::Text) => columns(
            scenarios()
                .iter()
                .map(|known| vec![known.name.clone(), known.about.clone()]),
        ),
        (ListKind::Faults, Format::Json) => to_json(&FaultsReport {
            schema: "mcpsim-faults/1",
            faults: fault_rows(),
        })?,
        (ListKind::Faults, Format::Text) => columns(fault_rows().iter().map(|row| {
            let schedule = if row.needs_schedule {
                "some schedules"
            } else {
                "every schedule"
            };
            [
                row.name,
                row.scenario,
                row.rule,
                row.blame,
                schedule,
                row.about,
            ]
            .map(str::to_owned)
            .to_vec()
        })),
        (ListKind::Rules, Format::Json) => to_json(&RulesReport {
            schema: "mcpsim-rules/1",
            rules: rules().iter().map(rule_row).collect(),
        })?,
        (ListKind::Rules, Format::Text) => columns(rules().iter().map(|rule| {
            let row = rule_row(rule);
            [
                row.rule,
                row.category,
                row.level,
                row.severity,
                row.side,
                row.says,
            ]
            .map(str::to_owned)
            .to_vec()
        })),
    };
    print(&text)?;
    Ok(Outcome::Clean)
}

fn fault_rows() -> Vec<FaultRow> {
    let row = |fault: &crate::scenarios::Fault| FaultRow {
        name: fault.name,
        about: fault.about,
        scenario: fault.scenario,
        rule: fault.rule,
        blame: fault.blame.as_str(),
        needs_schedule: fault.needs_schedule,
    };
    faults().iter().map(row).collect()
}

/// Columns as wide as their widest word; the last one runs free.
fn columns(rows: impl Iterator<Item = Vec<String>>) -> String {
    let rows: Vec<Vec<String>> = rows.collect();
    let count = rows.first().map_or(0, Vec::len);
    let width = |at: usize| {
        rows.iter()
            .map(|row| row[at].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        for (at, word) in row.iter().enumerate() {
            if at + 1 == count {
                text.push_str(word);
            } else {
                text.push_str(&format!("{word:<width$}  ", width = widths[at]));
            }
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows =
            [["a", "bb", "c"], ["aaa", "b", "c d"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(columns(rows.into_iter()), "a    bb  c\naaa  b   c d\n");
    }
}
