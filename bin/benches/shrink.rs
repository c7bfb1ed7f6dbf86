//! What shrinking takes: `cargo bench -p mcpsim --bench shrink`.
//!
//! Every fault of the catalogue, from the first seed of ten campaigns that finds it: executions, frames before and after, CPU time.
//! And the failing runs of long workloads, which end as short.

#[allow(
    dead_code,
    reason = "only the benchmarks of whole commands run children"
)]
#[path = "support/cpu.rs"]
mod cpu;

use mcpsim::models::Monitor;
use mcpsim::scenarios::scenario::PartyRole;
use mcpsim::scenarios::{Fault, ScenarioCase, faults, scenario};
use mcpsim::sim::choose::{Dice, derive_seed};
use mcpsim::sim::run::run;
use mcpsim::sim::shrink::{Target, shrink};
use mcpsim::traces::event::{Choice, Choices};
use mcpsim::traces::judge::Judge;

/// Seeds of campaigns; each gives one failing run of each fault.
const CAMPAIGNS: u64 = 10;
/// Runs of a campaign until a fault counts as not found.
const RUNS_MAX: u64 = 2_000;
/// Executions of one shrinking.
const EXECUTIONS_MAX: u32 = 100_000;

fn main() {
    println!(
        "{:<36} {:>8} {:>8} {:>8} {:>21} {:>10}",
        "fault", "found", "frames", "shrunk", "executions", "CPU ms"
    );
    let mut all = vec![];
    for fault in faults() {
        all.extend(row(fault.name, fault, fault.scenario));
    }
    println!("\nfaults of the catalogue: {}", summary(&mut all));

    println!("\nlong workloads");
    let mut long = vec![];
    for fault in faults() {
        let long_scenario = match fault.at {
            PartyRole::Gateway => "busy-gateway",
            PartyRole::Client | PartyRole::Server => "busy",
        };
        long.extend(row(fault.name, fault, long_scenario));
    }
    println!("\nlong workloads: {}", summary(&mut long));
}

/// Shrinks the failing runs of one fault in one scenario, prints a row and gives the executions.
fn row(name: &str, fault: &Fault, in_scenario: &str) -> Vec<u32> {
    let mut failures = vec![];
    for campaign in 0..CAMPAIGNS {
        failures.extend(find(fault, in_scenario, campaign));
    }
    let Some(before) = failures.iter().map(|failure| failure.frames).max() else {
        println!("{name:<36} {:>8}", "never");
        return vec![];
    };
    let whole = scenario(in_scenario).expect("a named scenario").clone();
    let start = cpu::time_used();
    let (mut executions, mut frames) = (vec![], 0);
    for failure in &failures {
        let case = ScenarioCase::new(whole.clone(), Some(fault.name)).expect("it was played");
        let shrunk = shrink(case, &failure.choices, &failure.target, EXECUTIONS_MAX)
            .expect("it fails under its own choices");
        assert!(shrunk.minimal, "{name}: the limit was reached");
        executions.push(shrunk.executions);
        frames = frames.max(shrunk.attempt.frames);
    }
    let time = (cpu::time_used() - start).as_secs_f64() * 1e3 / failures.len() as f64;
    executions.sort_unstable();
    let median = executions[executions.len() / 2];
    let spread = format!(
        "{median} ({}..{})",
        executions[0],
        executions[executions.len() - 1]
    );
    let found = format!("{}/{CAMPAIGNS}", failures.len());
    println!("{name:<36} {found:>8} {before:>8} {frames:>8} {spread:>21} {time:>10.2}");
    executions
}

struct Failing {
    target: Target,
    choices: Vec<Choice>,
    frames: u32,
}

/// The first failing run of a campaign.
fn find(fault: &Fault, in_scenario: &str, campaign: u64) -> Option<Failing> {
    let named = scenario(in_scenario)?;
    let setup = named.setup(Some(fault.name)).ok()?;
    let target = Target {
        rule: fault.rule,
        blame: fault.blame,
    };
    (0..RUNS_MAX).find_map(|index| {
        let mut choices = Choices::default();
        let mut dice = Dice::new(derive_seed(campaign, index));
        let outcome = run(
            setup.clone(),
            named.judge(Some(fault.name)),
            &mut dice,
            &mut choices,
            |judge: &Monitor| target.is_in(judge.findings()),
        );
        target.is_in(&outcome.findings).then_some(Failing {
            target,
            choices: choices.0,
            frames: outcome.ended.frames,
        })
    })
}

fn summary(executions: &mut [u32]) -> String {
    executions.sort_unstable();
    match &*executions {
        [] => "nothing was found".to_owned(),
        [first, .., last] => format!(
            "{} failures, {first} to {last} executions, median {}",
            executions.len(),
            executions[executions.len() / 2]
        ),
        [only] => format!("one failure, {only} executions"),
    }
}
