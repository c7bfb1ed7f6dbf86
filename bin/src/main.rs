//! The command: hands the arguments to the library and the exit code to the system.

use std::process::ExitCode;

fn main() -> ExitCode {
    mcpsim::cli::main()
}
