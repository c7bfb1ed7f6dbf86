//! The innocent stay innocent: `cargo bench -p mcpsim --bench clean [-- SCHEDULES]`.
//!
//! Plays every named scenario without a fault under schedules of its own, a million over all of them unless told otherwise, and
//! judges them; of every tenth each frame's text is read as well. Anything that is found, but for notes, ends
//! the program with the seed that shows it.

use mcpsim::models::Monitor;
use mcpsim::scenarios::{Scenario, scenarios};
use mcpsim::sim::choose::{Dice, derive_seed};
use mcpsim::sim::run::run;
use mcpsim::traces::event::Nothing;
use mcpsim::traces::judge::{Finding, Severity};
use std::process::ExitCode;
use std::thread;
use std::time::Instant;

const SCHEDULES: u64 = 1_000_000;
/// One schedule in so many is judged by what its frames' text holds, too.
const READING: u64 = 10;
const CAMPAIGN: u64 = 1;

fn main() -> ExitCode {
    let wanted = std::env::args().find_map(|argument| argument.parse().ok());
    let each = wanted
        .unwrap_or(SCHEDULES)
        .div_ceil(scenarios().len() as u64);
    println!(
        "{:<28} {:>10} {:>12} {:>10} {:>9}",
        "scenario", "schedules", "frames", "read", "seconds"
    );
    let (mut frames, mut schedules) = (0, 0);
    for (at, scenario) in scenarios().iter().enumerate() {
        let start = Instant::now();
        match innocent(scenario, derive_seed(CAMPAIGN, at as u64), each) {
            Ok(seen) => {
                println!(
                    "{:<28} {each:>10} {seen:>12} {:>10} {:>9.1}",
                    scenario.name,
                    each.div_ceil(READING),
                    start.elapsed().as_secs_f64()
                );
                frames += seen;
                schedules += each;
            }
            Err(accused) => {
                println!("{:<28} {accused}", scenario.name);
                return ExitCode::FAILURE;
            }
        }
    }
    println!("\nnothing found in {schedules} schedules, {frames} frames");
    ExitCode::SUCCESS
}

/// Plays so many schedules on all cores, and gives the number of frames; or who was accused, and under which seed.
fn innocent(scenario: &Scenario, campaign: u64, schedules: u64) -> Result<u64, String> {
    let threads = thread::available_parallelism().map_or(1, |count| count.get() as u64);
    thread::scope(|scope| {
        let parts: Vec<_> = (0..threads)
            .map(|first| {
                scope.spawn(move || {
                    let runs = (first..schedules).step_by(threads as usize);
                    runs.map(|number| frames_of(scenario, campaign, number))
                        .sum::<Result<u64, String>>()
                })
            })
            .collect();
        parts
            .into_iter()
            .map(|part| part.join().expect("no schedule panics"))
            .sum()
    })
}

fn frames_of(scenario: &Scenario, campaign: u64, number: u64) -> Result<u64, String> {
    let seed = derive_seed(campaign, number);
    let setup = scenario.setup(None).expect("a clean setup");
    let reads = number.is_multiple_of(READING);
    let monitor = match reads {
        true => Monitor::reading(),
        false => Monitor::new(),
    };
    let outcome = run(setup, monitor, &mut Dice::new(seed), &mut Nothing, |_| {
        false
    });
    // Notes are of what is odd and lawful: an old feature, or an id that some readers round.
    let is_fault = |finding: &&Finding| finding.severity > Severity::Note;
    match outcome.findings.iter().find(is_fault) {
        Some(finding) => Err(format!("seed {seed}: {finding:?}")),
        None => Ok(u64::from(outcome.ended.frames)),
    }
}
