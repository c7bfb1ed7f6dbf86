//! `mcpsim explain`: what a rule says, why it exists, how it is broken and how it is kept.

use serde::Serialize;

use super::args::{ExplainArgs, Format};
use super::list::{RuleRow, rule_row};
use super::outcome::{Outcome, Result, print, unknown};
use super::report::to_json;
use crate::models::examples::{Example, examples};
use crate::models::{Rule, Side, rule, rules};

#[derive(Serialize)]
struct ExplainReport {
    schema: &'static str,
    #[serde(flatten)]
    row: RuleRow,
    why: &'static str,
    breaking: Vec<&'static str>,
    near_miss: Vec<&'static str>,
}

/// Runs the command.
///
/// # Errors
/// An unknown rule, with the nearest names.
pub(crate) fn explain(args: &ExplainArgs) -> Result<Outcome> {
    let known = rule(&args.rule)
        .ok_or_else(|| unknown("rule", &args.rule, rules().iter().map(|rule| rule.id)))?;
    let examples = examples(known.id);
    let breaking = shortest(&examples, |example| example.finds(known.id));
    let near_miss = shortest(&examples, |example| !example.finds(known.id));
    print(&match args.format {
        Format::Json => to_json(&ExplainReport {
            schema: "mcpsim-explain/1",
            row: rule_row(known),
            why: known.why,
            breaking: breaking.map_or(vec![], |example| example.frames.clone()),
            near_miss: near_miss.map_or(vec![], |example| example.frames.clone()),
        })?,
        Format::Text => text(known, breaking, near_miss),
    })?;
    Ok(Outcome::Clean)
}

fn shortest(examples: &[Example], wanted: impl Fn(&&Example) -> bool) -> Option<&Example> {
    examples
        .iter()
        .filter(wanted)
        .min_by_key(|example| example.frames.len())
}

fn text(rule: &Rule, breaking: Option<&Example>, near_miss: Option<&Example>) -> String {
    let mut text = format!(
        "{}   {} · {} · {}\n",
        rule.id,
        rule.level.as_str(),
        rule.severity.as_str(),
        rule.category.as_str()
    );
    text.push_str(&format!("\n{}\n{}\n", rule.says, rule.why));
    text.push_str(&format!("\nWritten in: {}\n", rule.source));
    text.push_str(&format!("Revisions:  {} to {}\n", rule.from, rule.until));
    for (revision, level) in rule.level_by {
        text.push_str(&format!("            {} in {revision}\n", level.as_str()));
    }
    text.push_str(&format!("Basis:      {}\n", rule.basis.as_str()));
    text.push_str(&format!("Blame:      {}\n", blame(rule.side)));
    for (title, example) in [("Broken by", breaking), ("Near, but kept", near_miss)] {
        if let Some(example) = example {
            text.push_str(&format!("\n{title}:\n"));
            for line in &example.frames {
                text.push_str(&format!("    {line}\n"));
            }
            if !example.why.is_empty() {
                text.push_str(&format!("  {}\n", example.why));
            }
        }
    }
    text
}

fn blame(side: Side) -> &'static str {
    match side {
        Side::Client => "the client",
        Side::Server => "the server",
        Side::Sender => "whoever sent the frame, client or server",
        Side::Receiver => "whoever owed the answer or worked for the other side, client or server",
        Side::Both => "whichever side did it",
    }
}
