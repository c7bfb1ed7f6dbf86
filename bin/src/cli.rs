//! The command line: one module a command, thin over the crates that do the work.

mod args;
mod bench_faults;
mod campaign;
mod check;
mod convert;
mod coverage;
mod evidence;
mod explain;
mod failures;
mod findings;
mod input;
mod inputs;
mod interrupt;
mod list;
mod outcome;
mod play;
mod progress;
mod replay;
mod report;
mod run;
mod schema;
mod seed;
mod show;
mod shrink;
mod store;
mod story;
mod strategies;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use args::Format;
use args::{Cli, Command};
use outcome::{Outcome, Result, print, remark};

/// Reads the arguments, carries the command out, and says how it ended.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => {
            let words: Vec<OsString> = std::env::args_os().collect();
            match args::dash_advice(&error, &words) {
                Some(advice) => remark(&format!("mcpsim: {advice}")),
                None => {
                    let _ = error.print();
                }
            }
            return Outcome::Unusable.into();
        }
        // Help and version are no errors.
        Err(text) => {
            let shown = print(&text.render().to_string()).map(|()| Outcome::Clean);
            return ended(shown, Format::Text);
        }
    };
    let outcome = match &cli.command {
        Command::Run(args) => run::run(args),
        Command::Replay(args) => replay::replay(args),
        Command::Shrink(args) => shrink::shrink(args),
        Command::Check(args) => check::check(args),
        Command::Convert(args) => convert::convert(args),
        Command::Show(args) => show::show(args),
        Command::List(args) => list::list(args),
        Command::Explain(args) => explain::explain(args),
        Command::BenchFaults(args) => bench_faults::bench_faults(args),
        Command::Schema(args) => schema::schema(args),
    };
    ended(outcome, cli.command.format())
}

fn ended(outcome: Result<Outcome>, format: Format) -> ExitCode {
    match outcome {
        Ok(outcome) => outcome.into(),
        Err(failure) => {
            if format == Format::Json {
                // A full output has nobody to tell.
                let report = report::ErrorReport::new(&failure);
                let _ = report::to_json(&report).and_then(|text| print(&text));
            }
            remark(&format!("mcpsim: {failure}"));
            Outcome::Unusable.into()
        }
    }
}
