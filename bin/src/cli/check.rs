//! `mcpsim check`: recorded logs, judged from where their observer stood.

mod capture;
mod trace;

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use super::args::{CheckArgs, Format};
use super::findings::{finding_text, report_at};
use super::outcome::{Failure, Outcome, Result, print, remark, shown};
use super::replay::{open, read_failure};
use super::report::{
    CheckReport, FileReport, FindingReport, SessionReport, SummaryReport, to_json,
};
use crate::models::{Outcome as RuleOutcome, rules};
use crate::traces::event::FrameNo;
use crate::traces::file::Party;
use crate::traces::judge::{Finding, Severity, Vantage, Verdict};
use crate::traces::message::Revision;
use crate::traces::sniff::Log;

/// How a log is to be judged, where the command line says so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    vantage: Option<Vantage>,
    revision: Option<Revision>,
    patience_ms: u64,
}

/// Findings of one rule in one file beyond this are counted and not shown.
const FINDINGS_MAX: u32 = 50;

/// What was found in one file.
#[derive(Default)]
struct Checked {
    report: FileReport,
    /// The severest rule that is broken for certain.
    worst: Option<Severity>,
    /// The outcome of each rule, in the order of the table.
    outcomes: Vec<RuleOutcome>,
}

/// Runs the command.
///
/// # Errors
/// A flag that cannot be used, or an output that cannot be written. Files that cannot be used are
/// reported with the others.
pub(crate) fn check(args: &CheckArgs) -> Result<Outcome> {
    let wanted = Wanted {
        vantage: args.vantage.as_deref().and_then(Vantage::parse),
        revision: args.revision.as_deref().map(revision).transpose()?,
        patience_ms: u64::try_from(args.patience.as_millis()).unwrap_or(u64::MAX),
    };
    let checked: Vec<Checked> = args
        .files
        .iter()
        .map(|path| check_file(path, &wanted))
        .collect();
    let summary = summary(&checked);
    let fail_on = Severity::from(args.fail_on);
    let unusable = checked.iter().any(|file| !file.report.errors.is_empty());
    let found = checked
        .iter()
        .any(|file| file.worst.is_some_and(|worst| worst >= fail_on));
    match args.format {
        Format::Json => {
            for error in checked.iter().flat_map(|file| &file.report.errors) {
                remark(&format!("mcpsim: {error}"));
            }
            let files = checked.into_iter().map(|file| file.report).collect();
            print(&to_json(&CheckReport {
                schema: "mcpsim-check/1",
                files,
                summary,
            })?)?;
        }
        Format::Text => {
            for file in &checked {
                print(&text(&file.report))?;
                for error in &file.report.errors {
                    remark(&format!("mcpsim: {error}"));
                }
            }
            let SummaryReport {
                broken,
                unsure,
                kept,
                idle,
            } = summary;
            print(&format!(
                "rules: {broken} broken, {unsure} unsure, {kept} kept, {idle} not triggered\n"
            ))?;
        }
    }
    Ok(match (unusable, found) {
        (true, _) => Outcome::Unusable,
        (false, true) => Outcome::Found,
        (false, false) => Outcome::Clean,
    })
}

fn revision(date: &str) -> Result<Revision> {
    Revision::parse(date).ok_or_else(|| {
        let known: Vec<&str> = Revision::ALL
            .iter()
            .map(|revision| revision.as_str())
            .collect();
        Failure::new(format!(
            "--revision {date:?}: no such revision; there are {}",
            known.join(", ")
        ))
    })
}

/// Judges one file. What cannot be used of it is in the report's errors.
fn check_file(path: &Path, wanted: &Wanted) -> Checked {
    let mut checked = match read_log(path) {
        Ok(log) => judge(path, log, wanted),
        Err(failure) => failed(&failure),
    };
    checked.report.file = path.display().to_string();
    checked
}

type Input = Box<dyn BufRead>;

fn read_log(path: &Path) -> Result<Log<Input>> {
    let input: Input = if path == Path::new("-") {
        Box::new(BufReader::with_capacity(1 << 18, io::stdin()))
    } else {
        Box::new(open(path)?)
    };
    Log::open(input).map_err(|error| read_failure(path, &error))
}

fn judge(path: &Path, log: Log<Input>, wanted: &Wanted) -> Checked {
    let mut checked = match log {
        Log::Capture(reader) => capture::judge(path, *reader, wanted),
        Log::Trace(reader) => trace::judge(path, *reader, wanted),
    };
    let report = &mut checked.report;
    if report.frames == 0 && report.errors.is_empty() {
        report.errors.push(format!(
            "{}: no line is a frame: nothing could be judged",
            shown(path)
        ));
    }
    let rank = |finding: &FindingReport| match (finding.verdict.as_str(), finding.severity.as_str())
    {
        ("broken", "error") => 0,
        ("broken", "warning") => 1,
        ("broken", _) => 2,
        _ => 3,
    };
    report.findings.sort_by_key(rank);
    checked
}

fn failed(failure: &Failure) -> Checked {
    let mut checked = Checked::default();
    checked.report.errors.push(failure.to_string());
    checked
}

impl Checked {
    /// Adds what one judge of the file came to.
    fn add(
        &mut self,
        findings: &[Finding],
        counted: impl Iterator<Item = (&'static str, u32)>,
        outcome: impl Fn(&crate::models::Rule) -> RuleOutcome,
        context: &Context<'_>,
    ) {
        for finding in findings {
            if finding.verdict == Verdict::Broken {
                self.worst = self.worst.max(Some(finding.severity));
            }
            let line = finding
                .frames
                .last()
                .and_then(|&frame| context.lines.of(frame));
            self.report
                .findings
                .push(report_at(finding, context.parties, line, context.revision));
        }
        for (rule, count) in counted {
            *self.report.counted.entry(rule.to_owned()).or_default() += u64::from(count);
        }
        self.outcomes.resize(rules().len(), RuleOutcome::Idle);
        for (rule, known) in rules().iter().zip(&mut self.outcomes) {
            *known = (*known).max(outcome(rule));
        }
        let revision = context
            .revision
            .map(|revision| revision.as_str().to_owned());
        self.report.sessions.push(SessionReport { revision });
    }
}

/// What a finding needs to be shown.
struct Context<'a> {
    parties: &'a [Party],
    revision: Option<Revision>,
    lines: &'a Lines,
}

/// Which line of the file each frame stands on: frames and lines run side by side, so only the
/// places where lines without a frame come in are kept.
#[derive(Default)]
struct Lines {
    /// From this frame on, the line is the frame's number plus that.
    offsets: Vec<(FrameNo, u64)>,
}

impl Lines {
    fn put(&mut self, frame: FrameNo, line: u64) {
        let offset = line - u64::from(frame);
        if self.offsets.last().is_none_or(|(_, last)| *last != offset) {
            self.offsets.push((frame, offset));
        }
    }

    fn of(&self, frame: FrameNo) -> Option<u64> {
        let after = self.offsets.partition_point(|(from, _)| *from <= frame);
        let (_, offset) = self.offsets.get(after.checked_sub(1)?)?;
        Some(u64::from(frame) + offset)
    }
}

fn summary(checked: &[Checked]) -> SummaryReport {
    let mut best: BTreeMap<usize, RuleOutcome> = BTreeMap::new();
    for (at, outcome) in checked
        .iter()
        .flat_map(|file| file.outcomes.iter().enumerate())
    {
        let known = best.entry(at).or_insert(RuleOutcome::Idle);
        *known = (*known).max(*outcome);
    }
    let count = |wanted| best.values().filter(|outcome| **outcome == wanted).count() as u32;
    SummaryReport {
        broken: count(RuleOutcome::Broken),
        unsure: count(RuleOutcome::Unsure),
        kept: count(RuleOutcome::Kept),
        idle: count(RuleOutcome::Idle),
    }
}

fn text(report: &FileReport) -> String {
    if report.format.is_empty() {
        return String::new();
    }
    let revisions: Vec<&str> = report
        .sessions
        .iter()
        .map(|session| {
            session
                .revision
                .as_deref()
                .unwrap_or("no revision negotiated")
        })
        .collect();
    let mut text = format!(
        "{}: {} seen from {}, {}, {}\n",
        report.file,
        report.format,
        match report.vantage.as_str() {
            "between" => "between the two".to_owned(),
            vantage => format!("the {vantage}"),
        },
        count(report.frames, "frame"),
        revisions.join(", ")
    );
    for finding in &report.findings {
        text.push_str(&finding_text(finding));
    }
    let shown = report.findings.len() as u64;
    let all: u64 = report.counted.values().sum();
    if all > shown {
        text.push_str(&format!(
            "         and {} more of these rules (--format json counts them)\n",
            all - shown
        ));
    }
    if report.findings.is_empty() && report.frames > 0 {
        text.push_str("         nothing found\n");
    }
    for note in &report.remarks {
        text.push_str(&format!("         {note}\n"));
    }
    text
}

fn count(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_again() {
        let mut lines = Lines::default();
        for (frame, line) in [(1, 2), (2, 3), (3, 7), (4, 8), (5, 20)] {
            lines.put(frame, line);
        }
        assert_eq!(lines.offsets.len(), 3);
        assert_eq!(
            [1, 2, 3, 4, 5].map(|frame| lines.of(frame)),
            [2, 3, 7, 8, 20].map(Some)
        );
        assert_eq!(lines.of(0), None);
    }
}
