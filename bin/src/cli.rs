//! The command line: one module a command, thin over the crates that do the work.

mod args;
mod campaign;
mod check;
mod explain;
mod failures;
mod findings;
mod interrupt;
mod list;
mod outcome;
mod play;
mod progress;
mod replay;
mod report;
mod run;
mod seed;
mod show;
mod shrink;
mod store;
mod story;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
use outcome::{Failure, Outcome, remark};

/// Reads the arguments, carries the command out, and says how it ended.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors; a closed output is nobody's.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let outcome = match &cli.command {
        Command::Run(args) => run::run(args),
        Command::Replay(args) => replay::replay(args),
        Command::Shrink(args) => shrink::shrink(args),
        Command::Check(args) => check::check(args),
        Command::Show(args) => show::show(args),
        Command::List(args) => list::list(args),
        Command::Explain(args) => explain::explain(args),
    };
    match outcome {
        Ok(outcome) => outcome.into(),
        Err(Failure::ClosedPipe) => Outcome::Clean.into(),
        Err(failure) => {
            remark(&format!("mcpsim: {failure}"));
            Outcome::Unusable.into()
        }
    }
}
