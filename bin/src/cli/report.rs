//! The JSON reports, member for member as docs/reports.md has them, and the words that text reports share.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::coverage::CoverageSummary;
use super::outcome::{Failure, Result};

/// Any command with `--format json` that could not be carried out.
#[derive(Serialize, Debug)]
pub(crate) struct ErrorReport {
    /// `mcpsim-error/1`
    schema: &'static str,
    /// What could not be used, where, and what to do.
    error: String,
}

impl ErrorReport {
    /// The report of that failure.
    pub(crate) fn new(failure: &Failure) -> ErrorReport {
        ErrorReport {
            schema: "mcpsim-error/1",
            error: failure.to_string(),
        }
    }
}

/// `mcpsim run --format json`
#[derive(Serialize, Debug)]
pub(crate) struct RunReport {
    /// `mcpsim-run/1`
    pub(crate) schema: &'static str,
    /// The campaign's seed.
    pub(crate) seed: u64,
    /// The campaign's strategy.
    pub(crate) strategy: String,
    /// The scenario's name.
    pub(crate) scenario: String,
    /// The defect that was put in.
    pub(crate) fault: Option<String>,
    /// How many runs were played, up to the failure that ended the campaign.
    pub(crate) runs: u64,
    /// Whether the campaign was interrupted or ran out of time.
    pub(crate) complete: bool,
    /// What was reached, in numbers.
    pub(crate) coverage: CoverageSummary,
    /// One for each group of failures.
    pub(crate) failures: Vec<FailureReport>,
}

/// One failure, or the first of a group of them.
#[derive(Serialize, Clone, Debug)]
pub(crate) struct FailureReport {
    /// The broken rule.
    pub(crate) rule: String,
    /// Who is to blame.
    pub(crate) blame: String,
    /// The failing run's own seed; null for a trace that was shrunk by hand.
    pub(crate) seed: Option<u64>,
    /// The failing run's own strategy; null likewise.
    pub(crate) strategy: Option<String>,
    /// How many runs failed this way.
    pub(crate) runs: u64,
    /// Where the failing trace was saved.
    pub(crate) trace: String,
    /// Where the shrunk trace was saved.
    pub(crate) shrunk: String,
    /// Frames in the shrunk trace.
    pub(crate) frames: u32,
    /// Frames in the failing trace.
    pub(crate) frames_before: u32,
    /// Executions that shrinking took.
    pub(crate) executions: u32,
    /// Whether nothing more can be taken from the shrunk trace.
    pub(crate) minimal: bool,
    /// The command that repeats it.
    pub(crate) repeat: String,
    /// What happened, in one sentence.
    pub(crate) message: String,
}

/// `mcpsim replay --format json`
#[derive(Serialize, Debug)]
pub(crate) struct ReplayReport {
    /// `mcpsim-replay/1`
    pub(crate) schema: &'static str,
    /// The trace.
    pub(crate) trace: String,
    /// Whether the replay gave the same bytes.
    pub(crate) same: bool,
    /// The first difference, where there is one.
    pub(crate) difference: Option<String>,
    /// What was found in the replay.
    pub(crate) findings: Vec<FindingReport>,
}

/// `mcpsim shrink --format json`
#[derive(Serialize, Debug)]
pub(crate) struct ShrinkReport {
    /// `mcpsim-shrink/1`
    pub(crate) schema: &'static str,
    /// The result.
    #[serde(flatten)]
    pub(crate) failure: FailureReport,
}

/// `mcpsim check --format json`
#[derive(Serialize, Debug)]
pub(crate) struct CheckReport {
    /// `mcpsim-check/1`
    pub(crate) schema: &'static str,
    /// One for each file, in the order of the arguments.
    pub(crate) files: Vec<FileReport>,
    /// Rules over all files, by their outcome.
    pub(crate) summary: SummaryReport,
    /// The outcome of each rule over all files.
    pub(crate) rules: BTreeMap<&'static str, &'static str>,
}

/// One checked file.
#[derive(Serialize, Debug, Default)]
pub(crate) struct FileReport {
    /// The file as it was named.
    pub(crate) file: String,
    /// `trace` or `capture`.
    pub(crate) format: String,
    /// Where the observer stood.
    pub(crate) vantage: String,
    /// What the log lost.
    pub(crate) lost: Vec<String>,
    /// What had to be guessed.
    pub(crate) guessed: Vec<String>,
    /// Rules that came up and that nobody can decide, since the log lost what they look at: with what that is.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) not_checkable: BTreeMap<&'static str, Vec<&'static str>>,
    /// The sessions in it.
    pub(crate) sessions: Vec<SessionReport>,
    /// All versions that governed something in it, or that frames go by: each once.
    pub(crate) revisions: Vec<String>,
    /// What was found, broken rules first; capped for each rule.
    pub(crate) findings: Vec<FindingReport>,
    /// All findings of each rule.
    pub(crate) counted: BTreeMap<String, u64>,
    /// How many frames were judged.
    pub(crate) frames: u64,
    /// Places that could not be used, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) errors: Vec<String>,
    /// What a reader should know of the file: a cut last line, an altered trace.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) remarks: Vec<String>,
}

/// `mcpsim convert --format json`
#[derive(Serialize, Debug)]
pub(crate) struct ConvertReport {
    /// `mcpsim-convert/1`
    pub(crate) schema: &'static str,
    /// The log as it was named.
    pub(crate) file: String,
    /// Its form.
    pub(crate) format: String,
    /// Where it was written to.
    pub(crate) output: String,
    /// The form that was written.
    pub(crate) to: &'static str,
    /// How many frames were read.
    pub(crate) frames: u64,
    /// How many events, and heads without a frame.
    pub(crate) events: u64,
    /// What the new form cannot hold.
    pub(crate) not_held: Vec<NotHeldReport>,
    /// What the log had lost before.
    pub(crate) lost: Vec<String>,
    /// What had to be guessed.
    pub(crate) guessed: Vec<String>,
    /// Places that could not be used, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) errors: Vec<String>,
    /// What a reader should know of the log or of what was written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) remarks: Vec<String>,
}

/// Something that a form cannot hold.
#[derive(Serialize, Debug)]
pub(crate) struct NotHeldReport {
    /// What.
    pub(crate) what: &'static str,
    /// How often.
    pub(crate) count: u64,
}

/// One session of a log.
#[derive(Serialize, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct SessionReport {
    /// What the log calls it: the server's name, an id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// The revision that governed it; null where none was negotiated.
    pub(crate) revision: Option<String>,
    /// What the client calls itself; null where it did not say.
    pub(crate) client: Option<PeerReport>,
    /// What the server calls itself.
    pub(crate) server: Option<PeerReport>,
    /// Frames that the client sent.
    pub(crate) frames_from_client: u64,
    /// Frames that the server sent.
    pub(crate) frames_from_server: u64,
    /// From the first time in the log to the last; null where it has none.
    pub(crate) lasted_ms: Option<u64>,
    /// The side whose frames were not recorded: `client` or `server`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) not_recorded: Option<&'static str>,
    /// Whether the recording seems to begin in its middle.
    pub(crate) joined: bool,
    /// How it was seen to end; null where the recording merely stops.
    pub(crate) ended: Option<String>,
    /// How many requests wait for an answer.
    pub(crate) open_requests: u64,
    /// The oldest of them.
    pub(crate) open: Vec<OpenReport>,
    /// What was heard last from the client, and when.
    pub(crate) last_from_client: Option<String>,
    /// What was heard last from the server.
    pub(crate) last_from_server: Option<String>,
    /// It was looked at as one session, and not by its parties: there is nothing to say of it.
    #[serde(skip)]
    pub(crate) is_told: bool,
    /// All versions that it goes by.
    #[serde(skip)]
    pub(crate) versions: Vec<String>,
}

/// A party by its own words.
#[derive(Serialize, Clone, PartialEq, Eq, Debug)]
pub(crate) struct PeerReport {
    /// Its name.
    pub(crate) name: String,
    /// Its version.
    pub(crate) version: Option<String>,
}

/// A request without an answer.
#[derive(Serialize, Clone, PartialEq, Eq, Debug)]
pub(crate) struct OpenReport {
    /// Its method and id.
    pub(crate) request: String,
    /// Its frame.
    pub(crate) frame: u32,
    /// The line of the file that it stands on; null where the log is more than one file.
    pub(crate) line: Option<u64>,
    /// How long it has waited, in the log's own time; null where that has none.
    pub(crate) waited_ms: Option<u64>,
    /// `client` or `server`.
    pub(crate) owed_by: &'static str,
}

/// One finding.
#[derive(Serialize, Clone, PartialEq, Eq, Debug)]
pub(crate) struct FindingReport {
    /// The rule's id.
    pub(crate) rule: String,
    /// `MUST`, `SHOULD`, `MAY-note` or `none`.
    pub(crate) level: String,
    /// Where the rule comes from.
    pub(crate) basis: String,
    /// `broken` or `unsure`.
    pub(crate) verdict: String,
    /// `error`, `warning` or `note`.
    pub(crate) severity: String,
    /// `client`, `server`, `transport`, `none` or `harness`.
    pub(crate) blame: String,
    /// The party by name.
    pub(crate) party: String,
    /// The link by number.
    pub(crate) link: u8,
    /// The session, by its place in `sessions` from 1, where the file has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<u32>,
    /// There, the server as the log names it, or as it calls itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<String>,
    /// The frames that matter, by number from 1.
    pub(crate) frames: Vec<u32>,
    /// The file, where what was checked are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
    /// The line in the file of the last of them; null where there is none.
    pub(crate) line: Option<u64>,
    /// The column of that line where the offending member stands, in bytes from 1; null where none is known.
    pub(crate) column: Option<u64>,
    /// What happened and what would have been right.
    pub(crate) message: String,
    /// What the rule says.
    pub(crate) says: String,
    /// What the party knew when it sent the frame; empty where that does not matter.
    pub(crate) knew: String,
    /// For an answer that never came: who waits for whom, one line each.
    pub(crate) waits: Vec<String>,
    /// The frames themselves, cut to a line each.
    pub(crate) evidence: Vec<EvidenceReport>,
    /// Where the rule is written, in the revision that governed.
    pub(crate) source: String,
    /// The address of that page; null for what no text has.
    pub(crate) address: Option<String>,
    /// Where the offending member lies in the last frame's text, in bytes.
    #[serde(skip)]
    pub(crate) spot: Option<(u32, u32)>,
    /// The line of each of the frames.
    #[serde(skip)]
    pub(crate) lines: Vec<Option<u64>>,
}

/// One frame of a finding.
#[derive(Serialize, Clone, PartialEq, Eq, Debug)]
pub(crate) struct EvidenceReport {
    /// Its number.
    pub(crate) frame: u32,
    /// Its line in the file.
    pub(crate) line: Option<u64>,
    /// The column of what is underlined, in bytes from 1.
    pub(crate) column: Option<u64>,
    /// `client` or `server`: who sent it.
    pub(crate) from: Option<String>,
    /// Its text, escaped and cut around what is at fault.
    pub(crate) text: String,
    /// From which to which column of `text` the offending member stands, from 0; null where none is known.
    pub(crate) underline: Option<[usize; 2]>,
}

/// Rules by outcome.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct SummaryReport {
    /// Broken at least once.
    pub(crate) broken: u32,
    /// Never broken, but somewhere this vantage could not tell.
    pub(crate) unsure: u32,
    /// Triggered and kept.
    pub(crate) kept: u32,
    /// Never triggered.
    pub(crate) idle: u32,
    /// Nothing was to be told of them: by the command line, or by `mcpsim.toml`.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) left_out: u32,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A report as one JSON object and a line end.
///
/// # Errors
/// None that a report of ours can meet; passed on all the same.
pub(crate) fn to_json(report: &impl Serialize) -> Result<String> {
    let mut text = serde_json::to_string_pretty(report).map_err(Failure::new)?;
    text.push('\n');
    Ok(text)
}

/// A path as an argument in a shell: never taken for a flag, quoted only where it must be.
pub(crate) fn shell_path(path: &Path) -> String {
    let text = path.display().to_string();
    if text.starts_with('-') {
        shell_word(&format!("./{text}"))
    } else {
        shell_word(&text)
    }
}

fn shell_word(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:=+,@%".contains(&byte);
    if !text.is_empty() && text.bytes().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_only_where_they_must_be() {
        assert_eq!(shell_word("out/a-b_c.1.jsonl"), "out/a-b_c.1.jsonl");
        assert_eq!(shell_word("my file"), "'my file'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
        assert_eq!(shell_path(Path::new("--out/a.jsonl")), "./--out/a.jsonl");
    }
}
