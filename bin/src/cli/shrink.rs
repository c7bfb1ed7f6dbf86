//! `mcpsim shrink`: a failing trace made as short as it gets.

use super::args::{Format, ShrinkArgs};
use super::failures::shrink_to;
use super::outcome::{Failure, Outcome, Result, counted, print, shown, unknown};
use super::play::{Play, Stop};
use super::replay::load;
use super::report::{ShrinkReport, to_json};
use super::store::{same_file, shrunk_path};
use crate::models::{rule, rules};
use crate::sim::shrink::Target;
use crate::traces::judge::Verdict;

/// Runs the command.
///
/// # Errors
/// A trace that cannot be read, that does not fail, or whose result cannot be written.
pub(crate) fn shrink(args: &ShrinkArgs) -> Result<Outcome> {
    let path = &args.trace;
    let loaded = load(path)?;
    let play = Play::from_header(&loaded.header)
        .map_err(|failure| Failure::new(format!("{}:1: {failure}", shown(path))))?;
    if let Some(wanted) = &args.rule
        && rule(wanted).is_none()
    {
        return Err(unknown("rule", wanted, rules().iter().map(|rule| rule.id)));
    }
    let findings = play.findings(&loaded.choices);
    let chosen = match &args.rule {
        Some(wanted) => findings
            .iter()
            .find(|finding| finding.verdict == Verdict::Broken && finding.rule == wanted),
        None => play.failure(&findings),
    };
    let Some(chosen) = chosen else {
        let what = args
            .rule
            .as_deref()
            .map_or("no rule is broken in it".to_owned(), |rule| {
                format!("{rule} is not broken in it")
            });
        return Err(Failure::new(format!(
            "{}: does not fail: {what}",
            shown(path)
        )));
    };
    let target = Target {
        rule: chosen.rule,
        blame: chosen.blame,
    };
    let output = args.output.clone().unwrap_or_else(|| shrunk_path(path));
    if same_file(path, &output) {
        return Err(Failure::new(format!(
            "{}: the result would overwrite the trace: give another -o",
            shown(&output)
        )));
    }
    let before = play
        .with_stop(Stop::Target(target))
        .count_frames(&loaded.choices);
    let Some(short) = shrink_to(&play, &loaded.choices, target, &output, args.budget)? else {
        return Err(Failure::new(format!(
            "{}: {} did not break again under its own choices",
            shown(path),
            target.rule
        )));
    };
    match args.format {
        Format::Json => print(&to_json(&ShrinkReport {
            schema: "mcpsim-shrink/1",
            failure: short.report(path, before),
        })?)?,
        Format::Text => {
            let minimal = if short.minimal {
                ""
            } else {
                " (the limit on executions was reached)"
            };
            print(&format!(
                "{}\n       {} of {} left after {}{minimal}\nrepeat: {}\n",
                short.screen()?,
                short.frames,
                counted(before, "frame"),
                counted(short.executions, "execution"),
                short.repeat()
            ))?;
        }
    }
    Ok(Outcome::Found)
}
