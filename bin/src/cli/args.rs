//! The command line's grammar: every command and flag, with the words of its help.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Finds ordering, correlation and lifecycle bugs in programs that speak the Model Context Protocol.
#[derive(Parser, Debug)]
#[command(name = "mcpsim", version, after_help = EXIT_CODES, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 nothing found; 1 a rule is broken, at least as severe as --fail-on (default error; an unsure
finding never counts); 2 some input could not be used or nothing could be judged; 130 interrupted.";

/// The commands.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Run randomized simulations; each failure is saved, shrunk and shown with the line that repeats it
    Run(RunArgs),
    /// Play a saved trace again: the same bytes, or the first difference
    Replay(ReplayArgs),
    /// Make a failing trace as short as it gets
    Shrink(ShrinkArgs),
    /// Judge recorded logs (traces, captures) and name who broke what
    Check(CheckArgs),
    /// Show a trace or capture as text or as a Mermaid sequence diagram
    Show(ShowArgs),
    /// List scenarios, faults, rules, or what is not judged
    List(ListArgs),
    /// What a rule says, why it exists, how it is broken and how it is kept
    Explain(ExplainArgs),
}

impl Command {
    /// The form of the command's report.
    pub(crate) fn format(&self) -> Format {
        match self {
            Command::Run(args) => args.format,
            Command::Replay(args) => args.format,
            Command::Shrink(args) => args.format,
            Command::Check(args) => args.format,
            Command::Show(args) => args.format,
            Command::List(args) => args.format,
            Command::Explain(args) => args.format,
        }
    }
}

/// The form of a report.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON object, documented in docs/reports.md.
    Json,
}

/// From which severity on a broken rule fails a run.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum FailOn {
    /// Errors only.
    #[default]
    Error,
    /// Warnings too.
    Warning,
}

/// `mcpsim run`
#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// The scenario by name (see `mcpsim list scenarios`); may be left out where the fault names one
    #[arg(conflicts_with = "scenario_file")]
    pub(crate) scenario: Option<String>,
    /// A scenario of your own
    #[arg(long = "scenario", value_name = "FILE")]
    pub(crate) scenario_file: Option<PathBuf>,
    /// Put a defect into one of the peers (see `mcpsim list faults`)
    #[arg(long)]
    pub(crate) fault: Option<String>,
    /// The campaign's seed, below 2^53; a fresh one is drawn and printed without it
    #[arg(long, env = "MCPSIM_SEED")]
    pub(crate) seed: Option<u64>,
    /// How many runs [default: 1000, with --seed 1]
    #[arg(long)]
    pub(crate) runs: Option<u64>,
    /// Stop after that long, for example 30s, 5m or 500ms
    #[arg(long, value_parser = parse_duration)]
    pub(crate) time: Option<Duration>,
    /// How many threads [default: one for each core]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// Where failing traces are saved
    #[arg(long, default_value = ".mcpsim/failures")]
    pub(crate) out: PathBuf,
    /// Keep the trace of a single run, even when nothing is found
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Go on where an interrupted campaign of the same scenario stopped
    #[arg(long, conflicts_with = "record")]
    pub(crate) resume: bool,
    /// From which severity on a broken rule counts as a failure [default: error, or that of the fault's rule]
    #[arg(long, value_enum)]
    pub(crate) fail_on: Option<FailOn>,
    /// Do not stop at the first failure: group them
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// The form of the report
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// `mcpsim replay`
#[derive(Args, Debug)]
pub(crate) struct ReplayArgs {
    /// A trace that mcpsim wrote
    pub(crate) trace: PathBuf,
    /// The form of the report
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// `mcpsim shrink`
#[derive(Args, Debug)]
pub(crate) struct ShrinkArgs {
    /// A failing trace that mcpsim wrote
    pub(crate) trace: PathBuf,
    /// Where the short trace goes [default: beside the trace, as NAME.min.jsonl]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The rule that must stay broken [default: the trace's first broken one]
    #[arg(long)]
    pub(crate) rule: Option<String>,
    /// How many executions at most
    #[arg(long, default_value_t = 10_000)]
    pub(crate) budget: u32,
    /// The form of the report
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// `mcpsim check`
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// Traces and captures; `-` for standard input
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Where the observer stood [default: as the log says, else between]
    #[arg(long, value_parser = ["world", "client", "server", "between"])]
    pub(crate) vantage: Option<String>,
    /// Judge by this revision, whatever the traffic negotiated
    #[arg(long, value_name = "DATE")]
    pub(crate) revision: Option<String>,
    /// How long, in the log's own time, an answer may take before it counts as missing; 0s for ever
    #[arg(long, default_value = "30s", value_parser = parse_duration)]
    pub(crate) patience: Duration,
    /// From which severity on a broken rule makes the exit code 1
    #[arg(long, value_enum, default_value_t)]
    pub(crate) fail_on: FailOn,
    /// Say of each rule whether it was broken, kept, not triggered, or could not be told
    #[arg(long)]
    pub(crate) rules: bool,
    /// The form of the report
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// How a trace is rendered.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum ShowAs {
    /// One line a frame.
    #[default]
    Text,
    /// A Mermaid sequence diagram.
    Mermaid,
}

/// `mcpsim show`
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// A trace or capture; `-` for standard input
    pub(crate) trace: PathBuf,
    /// The rendering
    #[arg(long = "as", value_enum, default_value_t)]
    pub(crate) show_as: ShowAs,
    /// Where it goes [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// ASCII signs instead of arrows
    #[arg(long)]
    pub(crate) ascii: bool,
    /// The form of the report
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// What can be listed.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ListKind {
    /// Named scenarios.
    Scenarios,
    /// Rules of the protocol that are judged.
    Rules,
    /// Defects that can be put into a peer.
    Faults,
    /// Duties of the specification that are not judged, each with the reason.
    NotJudged,
}

/// `mcpsim list`
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// What to list
    #[arg(value_enum)]
    pub(crate) kind: ListKind,
    /// Rules of that revision only, with the level and severity that they have there
    #[arg(long, value_name = "DATE")]
    pub(crate) revision: Option<String>,
    /// Rules of that level only
    #[arg(long, value_parser = ["MUST", "SHOULD", "MAY-note", "none"], ignore_case = true)]
    pub(crate) level: Option<String>,
    /// Rules of that category only
    #[arg(long)]
    pub(crate) category: Option<String>,
    /// The form of the report
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// `mcpsim explain`
#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    /// The rule's id, or that of a duty that is not judged
    pub(crate) rule: String,
    /// The form of the report
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// A number with a unit: `500ms`, `30s`, `5m`, `2h`.
fn parse_duration(text: &str) -> Result<Duration, String> {
    let help =
        || format!("`{text}` is no duration: write a number with ms, s, m or h, such as 30s");
    let split = text
        .find(|character: char| !character.is_ascii_digit())
        .ok_or_else(help)?;
    let (number, unit) = text.split_at(split);
    let number: u64 = number.parse().map_err(|_| help())?;
    let factor = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(help()),
    };
    number
        .checked_mul(factor)
        .map(Duration::from_millis)
        .ok_or_else(help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        assert_eq!(parse_duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("2h"), Ok(Duration::from_secs(7200)));
        for wrong in [
            "30",
            "s",
            "",
            "1d",
            "-3s",
            "99999999999999999999s",
            "18446744073709551615h",
        ] {
            let error = parse_duration(wrong).expect_err(wrong);
            assert!(error.contains("such as 30s"), "{error}");
        }
    }

    #[test]
    fn the_grammar_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
