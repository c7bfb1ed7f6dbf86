//! What reference peers say is lawful to the last member: a judge that reads their text finds nothing either.

use mcpsim_models::Monitor;
use mcpsim_scenarios::scenarios;
use mcpsim_sim::choose::{Dice, derive_seed};
use mcpsim_sim::run::run;
use mcpsim_traces::event::Nothing;
use mcpsim_traces::judge::{Finding, Severity, Verdict};

/// Seeds for each scenario.
const SEEDS: u64 = 40;

#[test]
fn the_text_of_clean_peers_breaks_no_rule() {
    for scenario in scenarios() {
        let setup = scenario.setup(None).expect("a clean setup");
        for seed in 0..SEEDS {
            let seed = derive_seed(seed, 7);
            let mut dice = Dice::new(seed);
            let outcome = run(
                setup.clone(),
                Monitor::reading(),
                &mut dice,
                &mut Nothing,
                |_| false,
            );
            let broken: Vec<&Finding> = outcome
                .findings
                .iter()
                .filter(|one| is_broken(one))
                .collect();
            assert!(
                broken.is_empty(),
                "{} with seed {seed}: {broken:#?}",
                scenario.name
            );
        }
    }
}

/// Notes say what is odd, not what is wrong.
fn is_broken(finding: &Finding) -> bool {
    finding.verdict == Verdict::Broken && finding.severity > Severity::Note
}

/// The text adds to what is found and takes nothing away.
#[test]
fn a_judge_that_reads_finds_what_one_that_does_not_finds() {
    for fault in mcpsim_scenarios::faults() {
        let scenario = mcpsim_scenarios::scenario(fault.scenario).expect("its scenario");
        if scenario.needs_text(Some(fault.name)) {
            continue;
        }
        let setup = scenario.setup(Some(fault.name)).expect("its setup");
        for seed in 0..4 {
            let seed = derive_seed(seed, 11);
            let find = |monitor: Monitor| {
                let mut dice = Dice::new(seed);
                run(setup.clone(), monitor, &mut dice, &mut Nothing, |_| false).findings
            };
            let (plain, read) = (find(Monitor::new()), find(Monitor::reading()));
            for finding in &plain {
                let is_same =
                    |one: &&Finding| one.rule == finding.rule && one.blame == finding.blame;
                assert!(
                    read.iter().any(|one| is_same(&one)),
                    "{}: {finding:?}",
                    fault.name
                );
            }
        }
    }
}
