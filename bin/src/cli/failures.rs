//! What becomes of a failing run: its trace on disk, shrunk, and one screen with the line that repeats it.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use super::check::findings_of_trace;
use super::evidence::Source;
use super::findings::details;
use super::outcome::{Failure, Result, shown};
use super::play::{Drawn, Play, Stop};
use super::report::{FailureReport, FindingReport, shell_path};
use super::store::{failure_path, shrunk_path, write_whole};
use super::story;
use crate::sim::choose::Script;
use crate::sim::shrink::{Shrunk, Target, shrink};
use crate::sim::strategy::Strategy;
use crate::traces::event::{Choice, Choices};
use crate::traces::file::{EndFinding, TraceWriter};
use crate::traces::judge::{Finding, Severity, Verdict};
use crate::traces::show::escape;

/// A trace in memory, as it goes to disk.
pub(crate) struct Recorded {
    /// The file's bytes.
    pub(crate) bytes: Vec<u8>,
    /// The digest of its events, 32 hexadecimal digits.
    pub(crate) digest: String,
    /// What was found.
    pub(crate) findings: Vec<Finding>,
    /// The choices.
    pub(crate) choices: Vec<Choice>,
    /// Frames sent.
    pub(crate) frames: u32,
}

/// Plays a run again and keeps its trace.
///
/// # Errors
/// None that writing to memory can meet; passed on all the same.
pub(crate) fn record(
    play: &Play,
    drawn: Option<(u64, Strategy)>,
    chooser: &mut impl crate::sim::choose::Chooser,
) -> Result<Recorded> {
    let mut writer = TraceWriter::new(Vec::new(), &play.header(drawn));
    let mut choices = Choices::default();
    let outcome = play.run(chooser, &mut (&mut writer, &mut choices));
    let ends: Vec<EndFinding> = outcome.findings.iter().map(EndFinding::from).collect();
    let written = writer.finish(&ends).map_err(Failure::new)?;
    Ok(Recorded {
        digest: format!("{:032x}", written.digest),
        bytes: written.out,
        findings: outcome.findings,
        choices: choices.0,
        frames: outcome.ended.frames,
    })
}

/// The finding that makes a run a failure: the first broken rule of at least that severity.
pub(crate) fn first_failure(findings: &[Finding], fail_on: Severity) -> Option<&Finding> {
    findings
        .iter()
        .find(|finding| finding.verdict == Verdict::Broken && finding.severity >= fail_on)
}

/// Plays a run of a seed again and keeps its trace.
///
/// # Errors
/// As [`record`].
pub(crate) fn record_drawn(mut drawn: Drawn<'_>) -> Result<Recorded> {
    let origin = Some((drawn.seed, drawn.strategy));
    record(&drawn.play, origin, &mut drawn.dice)
}

/// Saves a failing run's trace before anything is said, shrinks it, saves the result.
///
/// # Errors
/// A file that cannot be written; a run that does not fail again (a peer that is not repeatable).
pub(crate) fn save_and_shrink(
    drawn: Drawn<'_>,
    target: Target,
    folder: &Path,
    budget: u32,
) -> Result<Failed> {
    let (seed, strategy, play) = (drawn.seed, drawn.strategy, drawn.play.clone());
    let whole = record_drawn(drawn)?;
    let trace = failure_path(folder, target.rule, target.blame.as_str(), &whole.digest);
    write_whole(&trace, &whole.bytes)?;
    let shrunk = shrink_to(&play, &whole.choices, target, &shrunk_path(&trace), budget)?
        .ok_or_else(|| {
            Failure::new(format!(
                "the run of seed {seed} did not fail again: saved as {}",
                shown(&trace)
            ))
        })?;
    Ok(Failed {
        seed,
        strategy,
        trace,
        frames_before: whole.frames,
        runs: 1,
        shrunk,
    })
}

/// A failure, saved and shrunk.
pub(crate) struct Failed {
    /// The run's own seed.
    pub(crate) seed: u64,
    /// The run's own strategy.
    pub(crate) strategy: Strategy,
    /// Where its trace was saved.
    pub(crate) trace: PathBuf,
    /// Frames in it.
    pub(crate) frames_before: u32,
    /// How many runs failed this way.
    pub(crate) runs: u64,
    /// The short trace.
    pub(crate) shrunk: Short,
}

/// A shrunk trace on disk.
pub(crate) struct Short {
    /// What must stay broken.
    pub(crate) target: Target,
    /// The finding in the short trace.
    pub(crate) finding: Finding,
    /// The name of the party that is to blame, or that the finding is about.
    pub(crate) party: String,
    /// Where it was saved.
    pub(crate) path: PathBuf,
    /// Its bytes.
    pub(crate) bytes: Vec<u8>,
    /// Frames sent in it.
    pub(crate) frames: u32,
    /// Executions that shrinking took.
    pub(crate) executions: u32,
    /// Whether nothing more can be taken away.
    pub(crate) minimal: bool,
}

/// Shrinks a failing play and writes the short trace; `None` where it does not fail under these
/// choices.
///
/// # Errors
/// A file that cannot be written.
pub(crate) fn shrink_to(
    play: &Play,
    choices: &[Choice],
    target: Target,
    path: &Path,
    budget: u32,
) -> Result<Option<Short>> {
    let Some(Shrunk {
        case,
        attempt,
        executions,
        minimal,
    }) = shrink(play.case()?, choices, &target, budget)
    else {
        return Ok(None);
    };
    let short = Play::of_case(&case, Stop::Target(target))?;
    let choices = case.own_choices(&attempt.choices);
    let mut script = Script::new(&choices);
    let recorded = record(&short, None, &mut script)?;
    if let Some(drift) = script.drift() {
        return Err(Failure::new(format!(
            "the shrunk run is not repeatable: {drift}"
        )));
    }
    write_whole(path, &recorded.bytes)?;
    let finding = recorded
        .findings
        .into_iter()
        .find(|finding| target.is(finding));
    let finding = finding.ok_or_else(|| Failure::new("the shrunk run did not fail again"))?;
    let parties = short.header(None).parties;
    let party = parties.get(usize::from(finding.party.0));
    Ok(Some(Short {
        target,
        party: party.map_or_else(String::new, |party| party.name.clone()),
        finding,
        path: path.to_owned(),
        bytes: recorded.bytes,
        frames: recorded.frames,
        executions,
        minimal,
    }))
}

impl Failed {
    /// The command that repeats the short trace.
    pub(crate) fn repeat(&self) -> String {
        self.shrunk.repeat()
    }

    /// For a JSON report.
    pub(crate) fn report(&self) -> FailureReport {
        FailureReport {
            seed: Some(self.seed),
            strategy: Some(self.strategy.to_string()),
            runs: self.runs,
            trace: self.trace.display().to_string(),
            frames_before: self.frames_before,
            ..self.shrunk.report(&self.trace, self.frames_before)
        }
    }
}

impl Short {
    /// The command that repeats it.
    pub(crate) fn repeat(&self) -> String {
        format!("mcpsim replay {}", shell_path(&self.path))
    }

    /// For a JSON report.
    pub(crate) fn report(&self, trace: &Path, frames_before: u32) -> FailureReport {
        FailureReport {
            rule: self.target.rule.to_owned(),
            blame: self.target.blame.as_str().to_owned(),
            seed: None,
            strategy: None,
            runs: 1,
            trace: trace.display().to_string(),
            shrunk: self.path.display().to_string(),
            frames: self.frames,
            frames_before,
            executions: self.executions,
            minimal: self.minimal,
            repeat: self.repeat(),
            message: self.finding.message.clone(),
        }
    }

    /// One screen: the rule, who is to blame, the frames that matter.
    ///
    /// # Errors
    /// None that a trace of ours can meet.
    pub(crate) fn screen(&self) -> Result<String> {
        // A gateway is a client to its servers: its name says more than its role.
        let blame = self.target.blame.as_str();
        let who = match escape(&self.party) {
            name if name.is_empty() || name == blame => blame.to_owned(),
            name => format!("{blame} ({name})"),
        };
        let message = escape(&self.finding.message);
        let mut text = format!("FOUND  {}   {who}\n       {message}\n", self.target.rule);
        let source = Source::Memory(&self.bytes);
        let found = findings_of_trace(&self.path, Cursor::new(&self.bytes), &source)?;
        let blame = self.target.blame.as_str();
        let same = |one: &&FindingReport| one.rule == self.target.rule && one.blame == blame;
        if let Some(report) = found.iter().find(same) {
            text.push_str(&details(report, "       "));
            text.push_str(&format!("       {}\n", report.source));
            if let Some(address) = &report.address {
                text.push_str(&format!("       {address}\n"));
            }
        }
        text.push('\n');
        text.push_str(&story::text_of_trace(
            &self.bytes,
            std::slice::from_ref(&self.finding),
        )?);
        Ok(text)
    }
}
