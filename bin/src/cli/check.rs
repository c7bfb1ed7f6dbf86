//! `mcpsim check`: recorded logs, judged from where their observer stood.

mod account;
mod all;
mod capture;
mod choice;
mod follow;
mod lines;
mod trace;
mod versions;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;

use self::choice::Choice;
use self::lines::Lines;
use self::versions::Versions;
use super::args::{CheckArgs, Format};
use super::evidence::{self, Source, Tee};
use super::findings::{findings_text, report_of};
use super::input::{Input, Meter, Starts};
use super::outcome::{Failure, Outcome, Result, counted, print, remark, shown};
use super::replay::read_failure;
use super::report::{
    CheckReport, FileReport, FindingReport, SessionReport, SummaryReport, to_json,
};
use crate::models::{Outcome as RuleOutcome, Unread, rules};
use crate::traces::event::FrameNo;
use crate::traces::file::{Party, TraceReader};
use crate::traces::import::pair::Pair;
use crate::traces::import::pattern::Pattern;
use crate::traces::judge::{Finding, Severity, Vantage, Verdict};
use crate::traces::lines::LineReader;
use crate::traces::lost::Lost;
use crate::traces::message::Revision;
use crate::traces::observed::ObservedTrace;
use crate::traces::sniff::Log;
use crate::traces::tape::NODES_MAX;

/// How a log is to be judged, where the command line says so.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    vantage: Option<Vantage>,
    revision: Option<Revision>,
    patience_ms: u64,
    choice: Choice,
    /// How lines with frames look, where the user says so.
    pattern: Option<Pattern>,
}

/// Findings of one rule in one file beyond this are counted and not shown.
const FINDINGS_MAX: u32 = 50;

/// So many sessions of a file are told in sentences.
const SESSIONS_MAX: usize = 5;

/// What was found in one file.
#[derive(Default)]
struct Checked {
    report: FileReport,
    /// The severest rule that is broken for certain.
    worst: Option<Severity>,
    /// The outcome of each rule, in the order of the table.
    outcomes: Vec<RuleOutcome>,
    /// Findings that are less severe than what is told.
    hidden: u64,
    /// How many findings are listed of a kind: each session of the file has its own.
    listed: BTreeMap<(&'static str, Verdict, Severity), u32>,
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
        choice: Choice::new(args)?,
        pattern: args.pattern.as_deref().map(pattern).transpose()?,
    };
    let mut checked = match args.follow {
        true => vec![follow::check(&args.files, &wanted, args.format)?],
        false => all::check(&args.files, args.jobs, &wanted),
    };
    let pair = [args.c2s.as_deref(), args.s2c.as_deref()];
    if pair != [None; 2] {
        checked.push(check_pair(pair, &wanted));
    }
    let outcomes = outcomes(&checked);
    let summary = summary(&outcomes, &wanted.choice);
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
                rules: rules()
                    .iter()
                    .zip(&outcomes)
                    .map(|(rule, outcome)| (rule.id, outcome.as_str()))
                    .collect(),
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
                left_out,
            } = summary;
            let found = checked.iter().any(|file| !file.report.findings.is_empty());
            let blank = if found { "\n" } else { "" };
            let left_out = match left_out {
                0 => String::new(),
                left_out => format!(", {left_out} left out"),
            };
            let mut text = format!(
                "{blank}rules: {broken} broken, {unsure} unsure, {kept} kept, {idle} not triggered{left_out}\n"
            );
            if args.rules {
                text.push_str(&rules_text(&outcomes, &wanted.choice));
            }
            print(&text)?;
        }
    }
    Ok(match (unusable, found) {
        (true, _) => Outcome::Unusable,
        (false, true) => Outcome::Found,
        (false, false) => Outcome::Clean,
    })
}

/// The revision of that date, given as `--revision`.
///
/// # Errors
/// There is none; the message has all that there are.
pub(crate) fn revision(date: &str) -> Result<Revision> {
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

/// The form of log that `--pattern` describes.
///
/// # Errors
/// It is no regular expression, or lacks a group.
pub(crate) fn pattern(text: &str) -> Result<Pattern> {
    Pattern::new(text).map_err(|message| Failure::new(format!("--pattern, {message}")))
}

/// Judges one input. What cannot be used of it is in the report's errors.
fn check_input(input: &Input, wanted: &Wanted, meter: Option<&Meter>) -> Checked {
    let name = input.name();
    let path = Path::new(&name);
    let mut checked = match read_log(input, wanted.pattern.as_ref(), meter) {
        Ok(opened) => {
            let is_import = matches!(opened.log, Log::Import(_));
            let mut checked = judge(path, opened.log, wanted);
            // Some logs tell only at their end that nothing in them can be judged: as if it were said at once.
            if is_import && checked.report.frames == 0 {
                let errors = std::mem::take(&mut checked.report.errors);
                checked = Checked::default();
                checked.report.errors = errors;
            }
            let source = opened.copy.as_ref();
            let source = source.map_or(Source::Input(input), Source::Spool);
            let findings = &mut checked.report.findings;
            match &*checked.report.format {
                "trace" | "capture" => evidence::fill(findings, &source),
                _ => evidence::fill_from_import(findings, &source, wanted.pattern.as_ref()),
            }
            if input.is_series() {
                all::place(&mut checked.report, input, &opened.starts);
                without_lines(&mut checked.report);
            }
            checked
        }
        Err(failure) => failed(&failure),
    };
    checked.report.file = name;
    checked
}

/// Judges what each side sent, each in a file of its own.
fn check_pair(paths: [Option<&Path>; 2], wanted: &Wanted) -> Checked {
    let open_both = || open_pair(paths);
    let both = || paths.into_iter().flatten();
    let name = both().map(|path| path.display().to_string());
    let name = name.collect::<Vec<_>>().join(" + ");
    let mut checked = match open_both() {
        Ok(mut pair) => {
            let mut checked = capture::judge(Path::new(&name), &mut pair, wanted);
            finish(Path::new(&name), &mut checked);
            without_lines(&mut checked.report);
            if let Some(side) = paths.iter().position(Option::is_none) {
                without_side(&mut checked.report, ["client", "server"][side]);
            }
            let findings = &mut checked.report.findings;
            if let Ok(pair) = open_both() {
                evidence::fill_from(findings, Box::new(pair));
            }
            for finding in findings {
                let side = finding.evidence.last().and_then(|shown| shown.from.clone());
                let path = match side.as_deref() {
                    Some("server") => paths[1],
                    Some(_) => paths[0],
                    None => both().next().filter(|_| both().count() == 1),
                };
                finding.file = path.map(|path| path.display().to_string());
            }
            checked
        }
        Err(failure) => failed(&failure),
    };
    checked.report.file = name;
    checked
}

/// What each side sent, each in a file of its own.
///
/// # Errors
/// A file that cannot be read, or that is none of one side.
pub(crate) fn open_pair(paths: [Option<&Path>; 2]) -> Result<Pair<Box<dyn Read>>> {
    let bytes = |path: &Path| Input::one(path).open(None).map(|(bytes, _)| bytes);
    let [client, server] = paths.map(|path| path.map(bytes).transpose());
    Pair::new(client?, server?).map_err(|(side, error)| {
        let path = paths[side as usize].unwrap_or(Path::new("-"));
        read_failure(path, &error)
    })
}

/// Of several files a line alone does not tell where an open request stands.
fn without_lines(report: &mut FileReport) {
    let open = report
        .sessions
        .iter_mut()
        .flat_map(|session| &mut session.open);
    open.for_each(|open| open.line = None);
}

/// Of a side that nobody recorded nothing is known: neither what it said, nor what it owes.
fn without_side(report: &mut FileReport, side: &'static str) {
    for session in &mut report.sessions {
        session.not_recorded = Some(side);
        session.open.retain(|open| open.owed_by != side);
        session.open_requests = session.open.len() as u64;
    }
}

/// A log that was opened.
struct Opened {
    log: Log<Box<dyn Read>>,
    /// A copy of what cannot be read twice.
    copy: Option<File>,
    starts: Starts,
}

fn read_log(input: &Input, pattern: Option<&Pattern>, meter: Option<&Meter>) -> Result<Opened> {
    let name = input.name();
    let path = Path::new(&name);
    let (mut bytes, starts) = input.open(meter)?;
    let mut copy = None;
    if !input.is_repeatable() {
        let (tee, kept) = Tee::new(bytes).map_err(|error| Failure::file("copy", path, &error))?;
        bytes = Box::new(tee);
        copy = Some(kept);
    }
    let log = match pattern {
        Some(pattern) => pattern.open(LineReader::new(bytes)).map(Log::Import),
        None => Log::open(bytes),
    };
    let log = log.map_err(|error| read_failure(path, &error))?;
    Ok(Opened { log, copy, starts })
}

/// The findings of a trace of ours, with the frames that they show.
///
/// # Errors
/// No trace, with the place.
pub(crate) fn findings_of_trace(
    path: &Path,
    input: impl Read,
    source: &Source<'_>,
) -> Result<Vec<FindingReport>> {
    let wanted = Wanted {
        vantage: None,
        revision: None,
        patience_ms: 0,
        choice: Choice::default(),
        pattern: None,
    };
    let reader = TraceReader::new(input).map_err(|error| read_failure(path, &error))?;
    let mut checked = trace::judge(path, reader, &wanted);
    evidence::fill(&mut checked.report.findings, source);
    Ok(checked.report.findings)
}

fn judge(path: &Path, log: Log<Box<dyn Read>>, wanted: &Wanted) -> Checked {
    let mut checked = match log {
        Log::Capture(mut reader) => capture::judge(path, &mut *reader, wanted),
        Log::Import(mut reader) => capture::judge(path, &mut *reader, wanted),
        // Nobody played it: it is what an observer saw, and is judged as that.
        Log::Trace(reader) if reader.header().is_recorded() => {
            capture::judge(path, &mut ObservedTrace::new(*reader), wanted)
        }
        Log::Trace(reader) => trace::judge(path, *reader, wanted),
    };
    finish(path, &mut checked);
    checked
}

/// What is said of a file without frames; and the worst findings come first.
fn finish(path: &Path, checked: &mut Checked) {
    let report = &mut checked.report;
    // Where there is one session, nobody asks which.
    if report.sessions.len() < 2 {
        for finding in &mut report.findings {
            finding.session = None;
            finding.server = None;
        }
    }
    if report.findings.is_empty() && checked.hidden > 0 {
        let is = if checked.hidden == 1 { "is" } else { "are" };
        report.remarks.push(format!(
            "{} {is} less severe than --level and not told",
            counted(checked.hidden, "finding")
        ));
    }
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
        let mut findings = findings.to_vec();
        context.choice.weigh(&mut findings);
        let nth = self.report.sessions.len() as u32 + 1;
        let peer = context.session.server.as_ref().map(|peer| &peer.name);
        let server = context.session.name.as_ref().or(peer);
        for finding in &findings {
            if finding.verdict == Verdict::Broken {
                self.worst = self.worst.max(Some(finding.severity));
            }
            if !context.choice.shows(finding) {
                self.hidden += 1;
                continue;
            }
            let kind = (finding.rule, finding.verdict, finding.severity);
            let listed = self.listed.entry(kind).or_default();
            *listed += 1;
            if *listed > FINDINGS_MAX {
                continue;
            }
            let line_of = |frame| context.lines.of(frame);
            let mut report = report_of(finding, context.parties, line_of, context.revision);
            if context.session.is_told {
                report.session = Some(nth);
                report.server = server.cloned();
            }
            self.report.findings.push(report);
        }
        for (rule, count) in counted.filter(|(rule, _)| context.choice.tells(rule)) {
            *self.report.counted.entry(rule.to_owned()).or_default() += u64::from(count);
        }
        self.outcomes.resize(rules().len(), RuleOutcome::Idle);
        for (rule, known) in rules().iter().zip(&mut self.outcomes) {
            *known = (*known).max(outcome(rule));
        }
        let revision = context
            .revision
            .map(|revision| revision.as_str().to_owned());
        self.report.sessions.push(SessionReport {
            revision,
            versions: context.versions.names.clone(),
            ..context.session.clone()
        });
        put_new(&mut self.report.revisions, &context.versions.names);
        put_new(&mut self.report.remarks, &context.versions.remarks);
        let unread = unread_remark(context.unread, context.lines);
        self.report.remarks.extend(unread);
        let beyond = context.unread.beyond;
        self.report.remarks.extend(beyond.map(|frame| {
            format!(
                "{}: so many requests are open by then that not all are followed: what becomes of this one, and of later ones, may be \
                 told from less, or not at all",
                place_of(frame, context.lines)
            )
        }));
    }
}

/// What a finding needs to be shown.
struct Context<'a> {
    parties: &'a [Party],
    revision: Option<Revision>,
    versions: &'a Versions,
    lines: &'a Lines,
    unread: &'a Unread,
    choice: &'a Choice,
    /// What is said of the session; its revision is filled in.
    session: SessionReport,
}

fn place_of(frame: FrameNo, lines: &Lines) -> String {
    match lines.of(frame) {
        Some(line) => format!("#{frame} (line {line})"),
        None => format!("#{frame}"),
    }
}

/// What is said of frames that could not be looked into.
fn unread_remark(unread: &Unread, lines: &Lines) -> Option<String> {
    let places: Vec<String> = unread
        .frames
        .iter()
        .map(|&frame| place_of(frame, lines))
        .collect();
    let (has, its) = match unread.count {
        0 => return None,
        1 => ("has", "its"),
        _ => ("have", "their"),
    };
    let left = u64::from(unread.count) - places.len() as u64;
    let more = match left {
        0 => String::new(),
        left => format!(" and {left} more"),
    };
    let noun = if unread.count == 1 { "frame" } else { "frames" };
    Some(format!(
        "{noun} {}{more} {has} more than {NODES_MAX} JSON values: {its} params, result or error was not judged, and rules \
         about that are unsure",
        places.join(", ")
    ))
}

/// Adds those that are not there yet: sessions of one log mostly go by the same versions.
fn put_new(list: &mut Vec<String>, new: &[String]) {
    for one in new {
        if !list.contains(one) {
            list.push(one.clone());
        }
    }
}

/// The outcome of each rule over all files, in the order of the table.
fn outcomes(checked: &[Checked]) -> Vec<RuleOutcome> {
    let mut best = vec![RuleOutcome::Idle; rules().len()];
    for file in checked {
        for (known, outcome) in best.iter_mut().zip(&file.outcomes) {
            *known = (*known).max(*outcome);
        }
    }
    best
}

/// One line a rule: broken ones first, those that nothing triggered last.
fn rules_text(outcomes: &[RuleOutcome], choice: &Choice) -> String {
    let mut text = String::new();
    let order = [
        (RuleOutcome::Broken, "broken"),
        (RuleOutcome::Unsure, "unsure"),
        (RuleOutcome::Kept, "kept"),
        (RuleOutcome::Idle, "not triggered"),
    ];
    for (wanted, words) in order {
        let fitting = rules().iter().zip(outcomes);
        let fitting =
            fitting.filter(|(rule, outcome)| **outcome == wanted && choice.tells(rule.id));
        for (rule, _) in fitting {
            text.push_str(&format!("  {words:<13}  {}\n", rule.id));
        }
    }
    text
}

fn summary(outcomes: &[RuleOutcome], choice: &Choice) -> SummaryReport {
    let told = rules()
        .iter()
        .zip(outcomes)
        .filter(|(rule, _)| choice.tells(rule.id));
    let count = |wanted| {
        let fitting = told.clone().filter(|(_, outcome)| **outcome == wanted);
        fitting.count() as u32
    };
    SummaryReport {
        left_out: (rules().len() - told.clone().count()) as u32,
        broken: count(RuleOutcome::Broken),
        unsure: count(RuleOutcome::Unsure),
        kept: count(RuleOutcome::Kept),
        idle: count(RuleOutcome::Idle),
    }
}

fn text(report: &FileReport) -> String {
    if report.format.is_empty() {
        let remarks = report.remarks.iter();
        return remarks
            .map(|remark| format!("{}: {remark}\n", report.file))
            .collect();
    }
    let mut revisions: Vec<String> = vec![];
    let has_payload = report
        .lost
        .iter()
        .all(|lost| Lost::parse(lost) != Some(Lost::PAYLOAD));
    let none = match has_payload {
        true => "no revision negotiated",
        false => "revision not told",
    };
    for session in &report.sessions {
        match session.versions.as_slice() {
            [] => put_new(&mut revisions, &[none.to_owned()]),
            names => {
                let names: Vec<String> = names.iter().map(|name| versions::shown(name)).collect();
                put_new(&mut revisions, &names);
            }
        }
    }
    if revisions.is_empty() {
        revisions.push("no session".to_owned());
    }
    let mut text = format!(
        "{}: {} seen from {}, {}, {}\n",
        report.file,
        report.format,
        match report.vantage.as_str() {
            "between" => "between the two".to_owned(),
            vantage => format!("the {vantage}"),
        },
        counted(report.frames, "frame"),
        revisions.join(", ")
    );
    let told = report.sessions.iter().filter(|session| session.is_told);
    let is_one = report.sessions.len() < 2;
    for (session, nth) in told.clone().zip(1..).take(SESSIONS_MAX) {
        let nth = (!is_one).then_some(nth);
        text.push_str(&account::text(session, nth, has_payload, "         "));
    }
    let more = told.count().saturating_sub(SESSIONS_MAX) as u64;
    if more > 0 {
        text.push_str(&format!("         and {}\n", counted(more, "more session")));
    }
    text.push_str(&findings_text(&report.findings));
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
    let mut notes: Vec<String> = not_checkable(report).into_iter().collect();
    let guesses = report.guessed.iter();
    let guesses = guesses.filter(|guess| !guess.starts_with("vantage"));
    notes.extend(guesses.map(|guess| format!("guessed: {guess}")));
    notes.extend(report.remarks.iter().cloned());
    // They are about the log, and not about the finding above them.
    if !notes.is_empty() && !report.findings.is_empty() {
        text.push('\n');
    }
    for note in notes {
        text.push_str(&format!("         {note}\n"));
    }
    text
}

/// What the log lost, and how many of the rules that came up it therefore leaves open.
fn not_checkable(report: &FileReport) -> Option<String> {
    let count = report.not_checkable.len() as u64;
    if count == 0 {
        return None;
    }
    let lost: BTreeSet<&str> = report.not_checkable.values().flatten().copied().collect();
    let lost: Vec<&str> = lost.into_iter().collect();
    Some(format!(
        "not checkable from this log, which has lost {}: {} (--format json names them)",
        lost.join(", "),
        counted(count, "rule")
    ))
}
