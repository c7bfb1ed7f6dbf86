//! The command line's grammar: every command and flag, with the words of its help.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

use crate::models::Level;

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
    /// Write a log in another form, and say what that cannot hold
    Convert(ConvertArgs),
    /// Show a trace or capture as text or as a Mermaid sequence diagram
    Show(ShowArgs),
    /// List scenarios, faults, rules, what is not judged, or forms of logs
    List(ListArgs),
    /// What a rule says, why it exists, how it is broken and how it is kept
    Explain(ExplainArgs),
    /// Measure how many schedules each strategy needs to find each fault of the catalogue
    BenchFaults(BenchFaultsArgs),
    /// The JSON Schema of scenario files, from which editors complete them
    Schema(SchemaArgs),
}

impl Command {
    /// The form of the command's report.
    pub(crate) fn format(&self) -> Format {
        match self {
            Command::Run(args) => args.format,
            Command::Replay(args) => args.format,
            Command::Shrink(args) => args.format,
            Command::Check(args) => args.format,
            Command::Convert(args) => args.format,
            Command::Show(args) => args.format,
            Command::List(args) => args.format,
            Command::Explain(args) => args.format,
            Command::BenchFaults(args) => args.format,
            Command::Schema(args) => args.format,
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

/// How strongly the text asks for a rule. Lists say in words what is asked for by none.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LevelName {
    /// The text says MUST, or nothing works without it.
    #[value(name = "MUST")]
    Must,
    /// The text says SHOULD.
    #[value(name = "SHOULD")]
    Should,
    /// Nothing asks for it; told as `worth knowing`.
    #[value(name = "MAY-note", alias = "worth knowing")]
    MayNote,
    /// It follows from no text; told as `in no text`.
    #[value(name = "none", alias = "in no text")]
    None,
}

impl LevelName {
    pub(crate) fn level(self) -> Level {
        match self {
            LevelName::Must => Level::Must,
            LevelName::Should => Level::Should,
            LevelName::MayNote => Level::MayNote,
            LevelName::None => Level::None,
        }
    }
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

/// From which severity on findings are told.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Least {
    /// Errors only.
    Error,
    /// Errors and warnings.
    Warning,
    /// Everything.
    #[default]
    Note,
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
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) fault: Option<String>,
    /// The campaign's seed, below 2^53; a fresh one is drawn and printed without it
    #[arg(long, env = "MCPSIM_SEED", allow_hyphen_values = true)]
    pub(crate) seed: Option<u64>,
    /// How schedules are drawn: uniform (equal odds), pct or pct:DEPTH (priorities with DEPTH - 1 change points), swarm (each run
    /// leaves out some kinds of faults and requests), mix (some of each)
    #[arg(
        long,
        value_name = "NAME",
        default_value = "mix",
        allow_hyphen_values = true
    )]
    pub(crate) strategy: String,
    /// How many runs [default: 1000, with --seed 1]
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) runs: Option<u64>,
    /// Stop after that long, for example 30s, 5m or 500ms
    #[arg(long, value_parser = parse_duration, allow_hyphen_values = true)]
    pub(crate) time: Option<Duration>,
    /// How many threads [default: one for each core]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024), allow_hyphen_values = true)]
    pub(crate) jobs: Option<u16>,
    /// Where failing traces are saved
    #[arg(long, default_value = ".mcpsim/failures")]
    pub(crate) out: PathBuf,
    /// Keep the trace of a single run, even when nothing is found
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Write what was reached as JSON: each rule, method, state and transition with the first run that did
    #[arg(long, value_name = "FILE")]
    pub(crate) coverage: Option<PathBuf>,
    /// Go on where an interrupted campaign of the same scenario stopped
    #[arg(long, conflicts_with = "record")]
    pub(crate) resume: bool,
    /// From which severity on a broken rule counts as a failure [default: error, or that of the fault's rule]
    #[arg(long, value_enum, allow_hyphen_values = true)]
    pub(crate) fail_on: Option<FailOn>,
    /// Do not stop at the first failure: group them
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// The form of the report
    #[arg(long, value_enum, default_value_t, allow_hyphen_values = true)]
    pub(crate) format: Format,
}

/// `mcpsim bench-faults`
#[derive(Args, Debug)]
#[command(after_help = BENCH_EXIT_CODES)]
pub(crate) struct BenchFaultsArgs {
    /// Measure this strategy, as `run --strategy` names it; may be given several times [default: uniform, pct, swarm and mix]
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) strategy: Vec<String>,
    /// Look for this fault of the catalogue (see `mcpsim list faults`); may be given several times [default: all]
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) fault: Vec<String>,
    /// The seed of the first campaign; those of the others follow it one by one
    #[arg(long, default_value_t = 1, allow_hyphen_values = true)]
    pub(crate) seed: u64,
    /// How many campaigns each fault has
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u64).range(1..=1_000_000), allow_hyphen_values = true)]
    pub(crate) seeds: u64,
    /// After how many schedules a campaign is given up
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..), allow_hyphen_values = true)]
    pub(crate) runs: u64,
    /// How many threads [default: one for each core]; they change no number
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024), allow_hyphen_values = true)]
    pub(crate) jobs: Option<u16>,
    /// The form of the report
    #[arg(long, value_enum, default_value_t, allow_hyphen_values = true)]
    pub(crate) format: Format,
}

const BENCH_EXIT_CODES: &str = "\
Exit codes: 0 every fault was found, by one strategy at least; 1 one was found by none; 2 some input could not be
used; 130 interrupted.";

/// `mcpsim replay`
#[derive(Args, Debug)]
pub(crate) struct ReplayArgs {
    /// A trace that mcpsim wrote
    pub(crate) trace: PathBuf,
    /// The form of the report
    #[arg(long, value_enum, default_value_t, allow_hyphen_values = true)]
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
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) rule: Option<String>,
    /// How many executions at most
    #[arg(long, default_value_t = 10_000, allow_hyphen_values = true)]
    pub(crate) budget: u32,
    /// The form of the report
    #[arg(long, value_enum, default_value_t, allow_hyphen_values = true)]
    pub(crate) format: Format,
}

/// `mcpsim check`
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// Traces, captures and logs of other programs (see `mcpsim list formats`), also packed with gzip; folders stand for all logs in
    /// them, parts of a rotated log are read as one; `-` for standard input
    #[arg(required_unless_present_any = ["c2s", "s2c"])]
    pub(crate) files: Vec<PathBuf>,
    /// What the client sent, bare frames one a line, as `tee` leaves them; times may stand before them, as `ts` writes them
    #[arg(long, value_name = "FILE")]
    pub(crate) c2s: Option<PathBuf>,
    /// What the server sent, as with --c2s
    #[arg(long, value_name = "FILE")]
    pub(crate) s2c: Option<PathBuf>,
    /// What a line with a frame looks like in a log of your own: a regular expression with the groups frame, dir (or c2s and s2c),
    /// and perhaps time and session. A time is a date, a time of day, or a number of seconds (from 12 digits on: of milliseconds)
    #[arg(long, value_name = "REGEX", allow_hyphen_values = true)]
    pub(crate) pattern: Option<String>,
    /// Go on with a log that is being written, also where it is rotated, and tell findings as they come, with --format json each as
    /// an object on a line of its own before the report; Ctrl-C ends it. A log that nobody writes any more hangs with all that is open
    #[arg(long, conflicts_with_all = ["c2s", "s2c"])]
    pub(crate) follow: bool,
    /// How many files are looked at at once [default: one for each core]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024), allow_hyphen_values = true)]
    pub(crate) jobs: Option<u16>,
    /// Where the observer stood [default: as the log says, else between]
    #[arg(long, value_parser = ["world", "client", "server", "between"], allow_hyphen_values = true)]
    pub(crate) vantage: Option<String>,
    /// Judge by this revision, whatever the traffic negotiated
    #[arg(long, value_name = "DATE", allow_hyphen_values = true)]
    pub(crate) revision: Option<String>,
    /// How long, in the log's own time, an answer may take before it counts as missing; 0s for ever. With --follow time goes on by
    /// this machine's clock while nothing is written. An answer that comes after that was late: unsure, and a warning. Requests
    /// that a person may have to answer (elicitation, sampling) have as long as they like
    #[arg(long, default_value = "30s", value_parser = parse_duration, allow_hyphen_values = true)]
    pub(crate) patience: Duration,
    /// From which severity on a broken rule makes the exit code 1, whether it is told (see --level) or not
    #[arg(long, value_enum, default_value_t, allow_hyphen_values = true)]
    pub(crate) fail_on: FailOn,
    /// Tell nothing that is less severe
    #[arg(long, value_enum, default_value_t, allow_hyphen_values = true)]
    pub(crate) level: Least,
    /// Tell of this rule only; may be given several times
    #[arg(long, value_name = "RULE", allow_hyphen_values = true)]
    pub(crate) rule: Vec<String>,
    /// Tell nothing of this rule; may be given several times
    #[arg(long, value_name = "RULE", allow_hyphen_values = true)]
    pub(crate) ignore: Vec<String>,
    /// Severities by rule [default: mcpsim.toml, where there is one]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Say of each rule whether it was broken, kept, not triggered, or could not be told
    #[arg(long)]
    pub(crate) rules: bool,
    /// The form of the report
    #[arg(long, value_enum, default_value_t, allow_hyphen_values = true)]
    pub(crate) format: Format,
}

/// A form that logs are written in.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum ConvertTo {
    /// A capture: everything that the log has.
    #[default]
    Capture,
    /// A trace: frames in their order.
    Trace,
    /// For mcp-trace-validator.
    McpTrace,
    /// For mcpsnoop.
    Mcpsnoop,
    /// HTTP Archive 1.2.
    Har,
}

/// `mcpsim convert`
#[derive(Args, Debug)]
pub(crate) struct ConvertArgs {
    /// Whatever `check` reads; `-` for standard input
    #[arg(required_unless_present_any = ["c2s", "s2c"], conflicts_with_all = ["c2s", "s2c"])]
    pub(crate) log: Option<PathBuf>,
    /// What the client sent, bare frames one a line, as `tee` leaves them; times may stand before them, as `ts` writes them
    #[arg(long, value_name = "FILE")]
    pub(crate) c2s: Option<PathBuf>,
    /// What the server sent, as with --c2s
    #[arg(long, value_name = "FILE")]
    pub(crate) s2c: Option<PathBuf>,
    /// What a line with a frame looks like in a log of your own, as for `check`
    #[arg(long, value_name = "REGEX", conflicts_with_all = ["c2s", "s2c"], allow_hyphen_values = true)]
    pub(crate) pattern: Option<String>,
    /// Where it goes; `-` for standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// The form to write
    #[arg(long, value_enum, default_value_t, allow_hyphen_values = true)]
    pub(crate) to: ConvertTo,
    /// Write it also where the form cannot say what the log lacks, so that whoever reads it may blame the peers for that, and where
    /// lines of the log could not be read
    #[arg(long)]
    pub(crate) lossy: bool,
    /// Write over a file that is there already; never over the log itself
    #[arg(long)]
    pub(crate) force: bool,
    /// The form of the report, which text writes to standard error
    #[arg(long, value_enum, default_value_t, allow_hyphen_values = true)]
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
    #[arg(long = "as", value_enum, default_value_t, allow_hyphen_values = true)]
    pub(crate) show_as: ShowAs,
    /// Where it goes [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// ASCII signs instead of arrows
    #[arg(long)]
    pub(crate) ascii: bool,
    /// The form of the report
    #[arg(long, value_enum, default_value_t, allow_hyphen_values = true)]
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
    /// Forms of logs that `check` reads, or knows to have nothing to judge.
    Formats,
}

/// `mcpsim list`
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// What to list
    #[arg(value_enum)]
    pub(crate) kind: ListKind,
    /// Rules of that revision only, with the level and severity that they have there
    #[arg(long, value_name = "DATE", allow_hyphen_values = true)]
    pub(crate) revision: Option<String>,
    /// Rules of that level only
    #[arg(long, value_enum, ignore_case = true, allow_hyphen_values = true)]
    pub(crate) level: Option<LevelName>,
    /// Rules of that category only
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) category: Option<String>,
    /// The form of the report
    #[arg(long, value_enum, default_value_t, allow_hyphen_values = true)]
    pub(crate) format: Format,
}

/// `mcpsim explain`
#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    /// The rule's id, or that of a duty that is not judged
    pub(crate) rule: String,
    /// The form of the report
    #[arg(long, value_enum, default_value_t, allow_hyphen_values = true)]
    pub(crate) format: Format,
}

/// `mcpsim schema`
#[derive(Args, Debug)]
pub(crate) struct SchemaArgs {
    /// The form of files: scenario
    #[arg(value_name = "FORM")]
    pub(crate) of: String,
    /// Where it goes [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The form of the report
    #[arg(long, value_enum, default_value_t, allow_hyphen_values = true)]
    pub(crate) format: Format,
}

/// What is to be said where the name of a file after its flag begins with a dash, instead of advice about arguments of
/// the command. Such a value is taken for a flag, since that is what it mostly was meant to be.
pub(crate) fn dash_advice(error: &clap::Error, words: &[OsString]) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let grammar = Cli::command();
    let flags: Vec<&clap::Arg> = grammar
        .get_subcommands()
        .flat_map(clap::Command::get_arguments)
        .filter(|flag| flag.get_action().takes_values() && !flag.is_positional())
        .collect();
    let is_flag = |word: &str| {
        flags.iter().any(|flag| {
            let long = word.strip_prefix("--");
            let short = word.strip_prefix('-').and_then(|rest| rest.chars().next());
            flag.get_long().is_some_and(|name| long == Some(name))
                || word.chars().count() == 2
                    && flag.get_short().is_some_and(|name| short == Some(name))
        })
    };
    words.windows(2).find_map(|pair| {
        let (flag, value) = (pair[0].to_str()?, pair[1].to_str()?);
        (value.starts_with(wrong.as_str()) && is_flag(flag)).then(|| {
            let joined = if flag.starts_with("--") { "=" } else { "" };
            format!(
                "{flag} {value}: a value is missing, or the name begins with a dash: write {flag}{joined}{value} for it"
            )
        })
    })
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
    use std::any::TypeId;

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

    /// A value that begins with a dash: the flag's own words say what is wrong with it, or how it is written.
    #[test]
    fn a_value_with_a_dash_is_the_flags_own() {
        for command in Cli::command().get_subcommands() {
            let flags = command
                .get_arguments()
                .filter(|flag| flag.get_action().takes_values() && !flag.is_positional());
            for flag in flags {
                let is_path = flag.get_value_parser().type_id() == TypeId::of::<PathBuf>();
                assert_ne!(
                    flag.is_allow_hyphen_values_set(),
                    is_path,
                    "{} --{}",
                    command.get_name(),
                    flag.get_id()
                );
            }
        }
        for (line, told) in [
            ("check log --patience -1s", "such as 30s"),
            ("run --time -5m", "such as 30s"),
            ("run --seed -1", "'-1' for '--seed <SEED>'"),
            ("run --out --nothing", "write --out=--nothing for it"),
            ("show log -o -x", "write -o-x for it"),
            ("check log --vantage -c", "possible values: world"),
        ] {
            let words: Vec<OsString> = ["mcpsim"]
                .into_iter()
                .chain(line.split(' '))
                .map(OsString::from)
                .collect();
            let error = Cli::try_parse_from(&words).expect_err(line);
            let said = dash_advice(&error, &words).unwrap_or_else(|| error.to_string());
            assert!(said.contains(told), "{line}: {said}");
        }
        let words = ["mcpsim", "check", "log", "--nothing"].map(OsString::from);
        let error = Cli::try_parse_from(&words).expect_err("no such flag");
        assert_eq!(dash_advice(&error, &words), None);
    }

    #[test]
    fn the_grammar_is_consistent() {
        Cli::command().debug_assert();
    }
}
