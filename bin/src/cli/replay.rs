//! `mcpsim replay`: a saved trace once more; the same bytes, or the first difference.

use std::fs::File;
use std::path::Path;

use super::args::{Format, ReplayArgs};
use super::check::findings_of_trace;
use super::evidence::Source;
use super::failures::first_failure;
use super::findings::{findings_text, report_of};
use super::input::Input;
use super::outcome::{Failure, Outcome, Result, counted, print, shown};
use super::play::Play;
use super::report::FindingReport;
use super::report::{ReplayReport, to_json};
use super::story;
use crate::sim::choose::Script;
use crate::traces::event::Choice;
use crate::traces::file::{Comparison, EndFinding, Header, TraceReader};
use crate::traces::judge::{Finding, Severity};
use crate::traces::lines::ReadError;

/// A trace that can be played again.
pub(crate) struct Loaded {
    /// Its header.
    pub(crate) header: Header,
    /// Its choices.
    pub(crate) choices: Vec<Choice>,
    /// What a reader should know of the file.
    pub(crate) remarks: Vec<String>,
}

/// Reads a trace's header and choices.
///
/// # Errors
/// A file that is no trace, with the place.
pub(crate) fn load(path: &Path) -> Result<Loaded> {
    let wrong = |error: ReadError| read_failure(path, &error);
    let mut reader = TraceReader::new(open(path)?).map_err(wrong)?;
    let choices = reader.choices().map_err(wrong)?;
    let mut remarks = vec![];
    if reader.is_cut() {
        remarks.push(format!(
            "{}: the file is cut; it is played as far as it goes",
            shown(path)
        ));
    }
    if reader.end().is_none() && !reader.is_cut() {
        remarks.push(format!(
            "{}: there is no closing line: the trace is played as far as it goes",
            shown(path)
        ));
    }
    if reader.is_altered() {
        remarks.push(format!(
            "{}: the events are not those that were written (the digest differs)",
            shown(path)
        ));
    }
    Ok(Loaded {
        header: reader.header().clone(),
        choices,
        remarks,
    })
}

/// Opens a file for reading.
///
/// # Errors
/// A missing file, or a folder, by name.
pub(crate) fn open(path: &Path) -> Result<File> {
    let file = File::open(path).map_err(|error| Failure::file("read", path, &error))?;
    if file.metadata().is_ok_and(|data| data.is_dir()) {
        return Err(Failure::new(format!(
            "{}: is a directory; name a file in it",
            shown(path)
        )));
    }
    Ok(file)
}

/// A reader's error in words, with the file's name.
pub(crate) fn read_failure(path: &Path, error: &ReadError) -> Failure {
    match error {
        ReadError::Input(error) => Failure::new(format!(
            "{}:{}:{}: {}",
            shown(path),
            error.line,
            error.column,
            error.message
        )),
        ReadError::Io(error) => Failure::file("read", path, error),
    }
}

/// Runs the command.
///
/// # Errors
/// A trace that cannot be read or played.
pub(crate) fn replay(args: &ReplayArgs) -> Result<Outcome> {
    let path = &args.trace;
    let loaded = load(path)?;
    let play = Play::from_header(&loaded.header)
        .map_err(|failure| Failure::new(format!("{}:1: {failure}", shown(path))))?;
    let mut script = Script::new(&loaded.choices);
    let mut comparison = Comparison::new(open(path)?);
    let outcome = play.run(&mut script, &mut comparison);
    let ends: Vec<EndFinding> = outcome.findings.iter().map(EndFinding::from).collect();
    let mut difference = script.drift().map(|drift| drift.to_string());
    let bytes = comparison
        .finish(&ends)
        .map_err(|error| read_failure(path, &error))?;
    if let Some(found) = bytes {
        difference.get_or_insert_with(|| {
            format!(
                "line {}: recorded {}, got {}",
                found.line,
                shorten(&found.wanted),
                shorten(&found.got)
            )
        });
    }
    let same = difference.is_none();
    let findings = reports(path, &loaded.header, &outcome.findings)?;
    match args.format {
        Format::Json => print(&to_json(&ReplayReport {
            schema: "mcpsim-replay/1",
            trace: path.display().to_string(),
            same,
            difference: difference.clone(),
            findings,
        })?)?,
        Format::Text => {
            let mut text = String::new();
            for remark in &loaded.remarks {
                text.push_str(&format!("{remark}\n"));
            }
            text.push_str(&story::text_of_file(path, &outcome.findings)?);
            text.push_str(&findings_text(&findings));
            if !findings.is_empty() {
                text.push('\n');
            }
            text.push_str(&match &difference {
                None => {
                    let frames = counted(outcome.ended.frames, "frame");
                    format!("{}: same, {frames}\n", shown(path))
                }
                Some(difference) => format!("{}: not the same: {difference}\n", shown(path)),
            });
            print(&text)?;
        }
    }
    Ok(
        match (
            same,
            first_failure(&outcome.findings, Severity::Error.min(play.fail_on())),
        ) {
            (false, _) => Outcome::Unusable,
            (true, Some(_)) => Outcome::Found,
            (true, None) => Outcome::Clean,
        },
    )
}

/// What the replay found, with the frames of the file: judged there once more, since a replay has no text.
fn reports(path: &Path, header: &Header, findings: &[Finding]) -> Result<Vec<FindingReport>> {
    if findings.is_empty() {
        return Ok(vec![]);
    }
    let mut recorded = findings_of_trace(path, open(path)?, &Source::Input(&Input::one(path)))?;
    Ok(findings
        .iter()
        .map(|finding| {
            let revision = header.revisions.first().copied();
            let report = report_of(finding, &header.parties, |_| None, revision);
            match recorded.iter().position(|one| is_same(one, &report)) {
                Some(at) => recorded.swap_remove(at),
                None => report,
            }
        })
        .collect())
}

/// Whether two reports tell of the same finding.
pub(crate) fn is_same(one: &FindingReport, other: &FindingReport) -> bool {
    (&one.rule, &one.blame, &one.verdict) == (&other.rule, &other.blame, &other.verdict)
        && one.frames == other.frames
}

/// The start of a line that may be long.
fn shorten(text: &str) -> String {
    let short: String = crate::traces::show::escape(text)
        .chars()
        .take(160)
        .collect();
    if short.len() < text.len() {
        format!("{short}…")
    } else {
        short
    }
}
