//! `mcpsim list`: scenarios, faults, rules and what is not judged, printed from the tables that the program runs on.

use serde::Serialize;

use super::args::{Format, LevelName, ListArgs, ListKind};
use super::check::revision;
use super::findings::level_words;
use super::outcome::{Failure, Outcome, Result, nearest, print};
use super::report::to_json;
use crate::models::rules::NOT_JUDGED;
use crate::models::rules::cite;
use crate::models::{Category, Level, Rule, rules};
use crate::scenarios::{faults, scenarios};
use crate::traces::import::FORMATS;
use crate::traces::lost::Lost;
use crate::traces::message::Revision;

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

#[derive(Serialize)]
struct NotJudgedReport {
    schema: &'static str,
    not_judged: Vec<NotJudgedRow>,
}

#[derive(Serialize)]
struct NotJudgedRow {
    rule: &'static str,
    because: &'static str,
}

#[derive(Serialize)]
struct FormatsReport {
    schema: &'static str,
    formats: Vec<FormatRow>,
}

#[derive(Serialize)]
struct FormatRow {
    format: &'static str,
    what: &'static str,
    found: &'static str,
    judged: bool,
    lost: Vec<&'static str>,
    hint: &'static str,
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
    tier: u8,
    needs: &'static str,
    twin: Option<&'static str>,
    says: &'static str,
    source: String,
    address: Option<String>,
}

/// A rule's row, as it is in that revision, or in general.
pub(crate) fn rule_row(rule: &Rule, revision: Option<Revision>) -> RuleRow {
    let cited = cite::revision_for(rule, revision);
    RuleRow {
        rule: rule.id,
        category: rule.category.as_str(),
        level: rule.level_at(revision).as_str(),
        basis: rule.basis.as_str(),
        severity: rule.severity_at(revision).as_str(),
        side: rule.side.as_str(),
        from: rule.from.as_str(),
        until: rule.until.as_str(),
        tier: rule.tier,
        needs: rule.needs.as_str(),
        twin: (!rule.twin.is_empty()).then_some(rule.twin),
        says: rule.says,
        source: cite::line(rule, cited),
        address: cite::address(rule, cited),
    }
}

/// Which rules are listed.
#[derive(Default)]
struct Wanted {
    revision: Option<Revision>,
    level: Option<Level>,
    category: Option<Category>,
}

impl Wanted {
    fn new(args: &ListArgs) -> Result<Wanted> {
        let is_filtered =
            args.revision.is_some() || args.level.is_some() || args.category.is_some();
        if is_filtered && args.kind != ListKind::Rules {
            return Err(Failure::new(
                "--revision, --level and --category choose among rules: `mcpsim list rules`",
            ));
        }
        Ok(Wanted {
            revision: args.revision.as_deref().map(revision).transpose()?,
            level: args.level.map(LevelName::level),
            category: args.category.as_deref().map(category).transpose()?,
        })
    }

    /// The rules, by category.
    fn rules(&self) -> Vec<RuleRow> {
        let mut fitting: Vec<&Rule> = rules().iter().filter(|rule| self.fits(rule)).collect();
        fitting.sort_by_key(|rule| rule.category);
        fitting
            .into_iter()
            .map(|rule| rule_row(rule, self.revision))
            .collect()
    }

    fn fits(&self, rule: &Rule) -> bool {
        let level = rule.level_at(self.revision);
        self.revision.is_none_or(|revision| rule.is_in(revision))
            && self.level.is_none_or(|wanted| level == wanted)
            && self.category.is_none_or(|wanted| rule.category == wanted)
    }
}

fn category(name: &str) -> Result<Category> {
    let names = || Category::ALL.iter().map(|category| category.as_str());
    let found = Category::ALL.into_iter().find(|one| one.as_str() == name);
    found.ok_or_else(|| {
        let near = nearest(name, names());
        let hint = match near.first() {
            Some(near) => format!("; did you mean `{near}`? There are"),
            None => "; there are".to_owned(),
        };
        let all: Vec<&str> = names().collect();
        let all = all.join(", ");
        Failure::new(format!("--category {name:?}: no such category{hint} {all}"))
    })
}

/// Runs the command.
///
/// # Errors
/// The output cannot be written.
pub(crate) fn list(args: &ListArgs) -> Result<Outcome> {
    let wanted = Wanted::new(args)?;
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
            rules: wanted.rules(),
        })?,
        (ListKind::Rules, Format::Text) => rules_text(&wanted.rules()),
        (ListKind::NotJudged, Format::Json) => to_json(&NotJudgedReport {
            schema: "mcpsim-not-judged/1",
            not_judged: NOT_JUDGED
                .iter()
                .map(|row| NotJudgedRow {
                    rule: row.id,
                    because: row.because,
                })
                .collect(),
        })?,
        (ListKind::NotJudged, Format::Text) => columns(
            NOT_JUDGED
                .iter()
                .map(|row| vec![row.id.to_owned(), row.because.to_owned()]),
        ),
        (ListKind::Formats, Format::Json) => to_json(&FormatsReport {
            schema: "mcpsim-formats/1",
            formats: format_rows().collect(),
        })?,
        (ListKind::Formats, Format::Text) => formats_text(),
    };
    print(&text)?;
    Ok(Outcome::Clean)
}

/// The program's own forms, and those of others.
fn format_rows() -> impl Iterator<Item = FormatRow> {
    let own = [
        (
            "trace",
            "a trace of mcpsim",
            "`mcpsim run` saves them; docs/trace-format.md",
        ),
        (
            "capture",
            "lines of {\"dir\":\"c2s\",\"raw\":\"…\"}",
            "written by your own recorder; docs/trace-format.md",
        ),
    ];
    let own = own.map(|(format, what, found)| FormatRow {
        format,
        what,
        found,
        judged: true,
        lost: vec![],
        hint: "",
    });
    // No recogniser tells it: a file alone is named with its side.
    let pair = FormatRow {
        format: "tee",
        what: "two files of frames, what each side wrote",
        found: "`tee` in a script that starts the server",
        judged: true,
        lost: (Lost::TIME | Lost::ORDER).names().collect(),
        hint: "`--c2s FILE --s2c FILE`; with a time before each frame nothing is lost",
    };
    let others = FORMATS.iter().map(|known| FormatRow {
        format: known.name,
        what: known.what,
        found: known.found,
        judged: known.is_read,
        lost: known.lost.names().collect(),
        hint: known.hint,
    });
    own.into_iter().chain([pair]).chain(others)
}

/// Each form, where it is found and what it lacks.
fn formats_text() -> String {
    let mut text = String::new();
    let (read, refused): (Vec<FormatRow>, Vec<FormatRow>) =
        format_rows().partition(|row| row.judged);
    for row in read {
        text.push_str(&format!(
            "{}\n  {}\n  {}\n",
            row.format, row.what, row.found
        ));
        if !row.lost.is_empty() {
            text.push_str(&format!("  lost: {}\n", row.lost.join(", ")));
        }
        if !row.hint.is_empty() {
            text.push_str(&format!("  {}\n", row.hint));
        }
    }
    text.push_str("\nKnown, and without frames to judge:\n\n");
    for row in refused {
        text.push_str(&format!(
            "{}\n  {}\n  {}\n  {}\n",
            row.format, row.what, row.found, row.hint
        ));
    }
    text
}

/// Rules under the names of their categories, and how many there are.
fn rules_text(rows: &[RuleRow]) -> String {
    let lines = columns(rows.iter().map(|row| {
        let revisions = match (row.from, row.until) {
            (from, until) if from == until => from.to_owned(),
            (from, until) => format!("{from} to {until}"),
        };
        let words = [row.rule, level_words(row.level), row.severity, row.side];
        let mut words: Vec<String> = words.map(str::to_owned).to_vec();
        words.extend([revisions, row.says.to_owned()]);
        words
    }));
    let mut text = String::new();
    let mut category = "";
    for (row, line) in rows.iter().zip(lines.lines()) {
        if row.category != category {
            let blank = if category.is_empty() { "" } else { "\n" };
            category = row.category;
            text.push_str(&format!("{blank}{category}\n"));
        }
        text.push_str(&format!("  {line}\n"));
    }
    let plural = if rows.len() == 1 { "rule" } else { "rules" };
    text.push_str(&format!("\n{} {plural}\n", rows.len()));
    text
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
