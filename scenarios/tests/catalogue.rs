//! The fault catalogue and the reference peers against the judge: every fault is found with its rule and
//! blame, nobody else is blamed, and peers without a defect stay clean.

use std::borrow::Cow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcpsim_scenarios::scenario::PartyRole;
use mcpsim_scenarios::{Fault, Scenario, ScenarioCase, faults, play, scenario, scenarios, swarmed};
use mcpsim_sim::choose::{Dice, Script, derive_seed};
use mcpsim_sim::shrink::{Target, shrink};
use mcpsim_sim::strategy::Strategy;
use mcpsim_traces::event::{Choice, Choices, Event, Nothing, PartyId, Sink, What};
use mcpsim_traces::judge::{Blame, Finding, Severity, Verdict};

/// Runs of a fault that needs a schedule: each is found in at least one of a dozen.
const RUNS: u64 = 300;

/// Runs of that fault: one that shows in every schedule needs few.
fn runs(fault: &Fault) -> u64 {
    match fault.needs_schedule {
        true => RUNS,
        false => 40,
    }
}

fn counts(finding: &Finding) -> bool {
    finding.verdict == Verdict::Broken && finding.severity > Severity::Note
}

fn named(fault: &Fault) -> &'static Scenario {
    scenario(fault.scenario).unwrap_or_else(|| panic!("{} names no scenario", fault.name))
}

/// One run of a fault: what counts of what was found, and the choices.
fn run(fault: &Fault, index: u64) -> (Vec<Finding>, Vec<Choice>) {
    let mut choices = Choices::default();
    let mut dice = Dice::new(derive_seed(1, index));
    let outcome = play(named(fault), Some(fault.name), &mut dice, &mut choices).expect("valid");
    let findings = outcome.findings.into_iter().filter(counts).collect();
    (findings, choices.0)
}

fn target(fault: &Fault) -> Target {
    Target {
        rule: fault.rule,
        blame: fault.blame,
    }
}

/// The parties that have the defect, with the side that each may be blamed as; a gateway is both.
fn culprits(fault: &Fault) -> Vec<(PartyId, Option<Blame>)> {
    let parties = (0..).map(PartyId).zip(&named(fault).parties);
    let side = |role| match role {
        PartyRole::Client => Some(Blame::Client),
        PartyRole::Server => Some(Blame::Server),
        PartyRole::Gateway => None,
    };
    let mut able = parties.filter(|(_, party)| fault.is_shared || party.role == fault.at);
    let first = able.next().into_iter();
    let all = first.chain(able.take_while(|_| fault.is_shared));
    all.map(|(at, party)| (at, side(party.role))).collect()
}

/// Does that with every fault, on as many threads as there are.
fn for_every_fault(work: impl Fn(&Fault) + Sync) {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(fault) = faults().get(next.fetch_add(1, Ordering::Relaxed)) {
                    work(fault);
                }
            });
        }
    });
}

/// Only a party with the defect is accused, and a client's fault is never blamed on a server, nor a server's on a client.
fn is_right(finding: &Finding, fault: &Fault) -> bool {
    let sides = [Blame::Client, Blame::Server];
    culprits(fault).into_iter().any(|(party, side)| {
        let is_other =
            side.is_some_and(|side| sides.contains(&finding.blame) && finding.blame != side);
        finding.party == party && !is_other
    })
}

#[test]
fn every_fault_is_found_with_its_rule_and_blame() {
    for_every_fault(|fault| {
        let runs = runs(fault);
        let (mut first, mut clean, mut other) = (None, 0, 0);
        for index in 0..runs {
            let (findings, _) = run(fault, index);
            clean += u32::from(findings.is_empty());
            if target(fault).is_in(&findings) {
                first.get_or_insert(index);
            }
            other += u64::from(
                findings
                    .first()
                    .is_some_and(|finding| !target(fault).is(finding)),
            );
            for finding in &findings {
                assert!(
                    is_right(finding, fault),
                    "{} in run {index}: {} of {:?}: {}",
                    fault.name,
                    finding.rule,
                    finding.blame,
                    finding.message
                );
            }
        }
        println!(
            "{:34} first in run {first:?}, {clean} of {runs} clean, {other} with another rule first",
            fault.name
        );
        assert!(
            other * 20 <= runs,
            "{}: {other} runs show another rule first",
            fault.name
        );
        assert!(
            first.is_some(),
            "{} is never found as {}",
            fault.name,
            fault.rule
        );
        assert_eq!(
            clean > 0,
            fault.needs_schedule,
            "{}: {clean} of {runs} clean",
            fault.name
        );
    });
}

/// Where both sides stop before full pipes, both are blamed, whatever the other did.
#[test]
fn two_that_stop_each_other_are_both_blamed() {
    let fault = mcpsim_scenarios::fault("writes-before-it-reads").expect("named");
    let mut stopped = 0;
    for index in 0..runs(fault) {
        let (findings, _) = run(fault, index);
        let mut blamed: Vec<Blame> = findings.iter().map(|finding| finding.blame).collect();
        blamed.sort_unstable();
        assert!(
            matches!(blamed[..], [] | [Blame::Client, Blame::Server]),
            "run {index}: {findings:?}"
        );
        stopped += u32::from(!blamed.is_empty());
    }
    assert!(stopped > 0);
}

/// The dice of a run by a strategy, and the part of the scenario that it plays.
fn drawn<'a>(scenario: &'a Scenario, name: &str, seed: u64) -> (Cow<'a, Scenario>, Dice) {
    let strategy = Strategy::parse(name).expect("a name");
    let part = match strategy {
        Strategy::Swarm => swarmed(scenario, seed),
        _ => Cow::Borrowed(scenario),
    };
    // About so many choices have the runs of most scenarios.
    (part, Dice::by(strategy, seed, 60))
}

/// By no strategy is anybody else accused, also in a part of the scenario.
#[test]
fn every_strategy_blames_only_the_culprit() {
    for_every_fault(|fault| {
        for name in ["uniform", "pct:1", "pct:4", "swarm"] {
            for index in 0..runs(fault) / 10 {
                let (scenario, mut dice) = drawn(named(fault), name, derive_seed(17, index));
                let outcome = play(&scenario, Some(fault.name), &mut dice, &mut Nothing);
                let findings = outcome.expect("valid").findings;
                for finding in findings.iter().filter(|finding| counts(finding)) {
                    assert!(
                        is_right(finding, fault),
                        "{} by {name} in run {index}: {} of {:?}: {}",
                        fault.name,
                        finding.rule,
                        finding.blame,
                        finding.message
                    );
                }
            }
        }
    });
}

#[test]
fn the_catalogue_is_complete() {
    assert!(faults().len() >= 160);
    let scheduled = faults().iter().filter(|fault| fault.needs_schedule);
    assert!(scheduled.count() >= 20);
    for (at, fault) in faults().iter().enumerate() {
        assert!(
            faults()[..at].iter().all(|other| other.name != fault.name),
            "{}",
            fault.name
        );
        assert!(fault.about.ends_with('.'), "{}", fault.name);
        let rule = mcpsim_models::rule(fault.rule);
        assert!(
            rule.is_some(),
            "{}: there is no rule {}",
            fault.name,
            fault.rule
        );
    }
}

/// Twenty thousand schedules over all scenarios by every strategy, on as many threads as there are.
#[test]
fn reference_peers_stay_clean() {
    const SCHEDULES: usize = 20_000;
    let next = AtomicUsize::new(0);
    let work = || loop {
        let at = next.fetch_add(1, Ordering::Relaxed);
        if at >= SCHEDULES {
            return;
        }
        let scenario = &scenarios()[at % scenarios().len()];
        let round = at / scenarios().len();
        let seed = derive_seed(2, round as u64);
        let name = ["swarm", "uniform", "pct:1", "pct:4"][round % 4];
        let (part, mut dice) = drawn(scenario, name, seed);
        let outcome = play(&part, None, &mut dice, &mut Nothing).expect("valid");
        let broken = outcome.findings.iter().find(|finding| counts(finding));
        assert_eq!(broken, None, "{} by {name} with seed {seed}", scenario.name);
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
}

/// Every event in one line of text, and its choices.
#[derive(Default)]
struct Lines(String);

impl Sink for Lines {
    fn event(&mut self, event: &Event<'_>) {
        use std::fmt::Write;
        if let What::Send { text, .. } = event.what {
            let mut bytes = vec![];
            text.write(&mut bytes);
            self.0.push_str(&String::from_utf8_lossy(&bytes));
        }
        writeln!(self.0, "{} {:?}", event.at_ms, event.what).expect("a string takes everything");
    }
}

#[test]
fn the_same_seed_gives_the_same_events_and_findings() {
    for scenario in scenarios() {
        let once = |seed| {
            let mut lines = Lines::default();
            let outcome = play(scenario, None, &mut Dice::new(seed), &mut lines).expect("valid");
            (lines.0, outcome)
        };
        for seed in [1, 1 << 52] {
            assert_eq!(once(seed), once(seed), "{} with seed {seed}", scenario.name);
        }
    }
}

/// Every fault's first failure shrinks to something small that strictly replays to the same finding,
/// and of which no piece can be spared.
#[test]
fn failures_shrink_to_what_repeats_them() {
    let executions = Mutex::new(vec![]);
    for_every_fault(|fault| {
        let failing = (0..RUNS).map(|index| run(fault, index));
        let (_, choices) = failing
            .into_iter()
            .find(|(findings, _)| target(fault).is_in(findings))
            .expect("found above");
        let case = ScenarioCase::new(named(fault).clone(), Some(fault.name)).expect("valid");
        let shrunk = shrink(case, &choices, &target(fault), 5_000).expect("it failed before");
        assert!(shrunk.minimal, "{}", fault.name);
        let frames = shrunk.attempt.frames;
        executions.lock().expect("no panic").push(shrunk.executions);
        println!(
            "{}: {frames} frames after {} executions",
            fault.name, shrunk.executions
        );
        // A frame over several lines is as many frames; a task is made, asked for and cancelled.
        let most = match fault.name {
            name if name.ends_with("over-several-lines") => 24,
            "goes-on-when-cancelled" | "answers-a-task-early" => 15,
            "client-goes-on-when-cancelled" | "client-answers-a-task-early" => 16,
            _ if fault.at == PartyRole::Gateway => 19,
            _ => 11,
        };
        assert!(
            frames <= most,
            "{}: {frames} frames\n{}",
            fault.name,
            shrunk.case.scenario().to_json()
        );

        let own = shrunk.case.own_choices(&shrunk.attempt.choices);
        let mut script = Script::new(&own);
        let target = target(fault);
        let outcome = mcpsim_scenarios::play_until(
            shrunk.case.scenario(),
            Some(fault.name),
            &mut script,
            &mut Nothing,
            |findings| target.is_in(findings),
        );
        assert_eq!(script.drift(), None, "{}", fault.name);
        assert!(
            target.is_in(&outcome.expect("valid").findings),
            "{}",
            fault.name
        );
    });
    let mut executions = executions.into_inner().expect("no panic");
    executions.sort_unstable();
    println!("median {} executions", executions[executions.len() / 2]);
}

/// Long runs of every kind of call shrink as far as short ones do.
#[test]
fn long_failures_shrink_as_far_as_short_ones() {
    let cases = [
        ("busy", "answers-under-the-last-id", 11),
        ("busy", "reports-after-the-answer", 11),
        ("busy", "lists-a-request-late", 11),
        ("busy", "ignores-requests", 11),
        ("busy-gateway", "gateway-mixes-servers", 19),
        ("busy-gateway", "gateway-forwards-the-cancelled-id", 19),
    ];
    for (name, fault_name, most) in cases {
        let scenario = scenario(name).expect("named");
        let fault = mcpsim_scenarios::fault(fault_name).expect("named");
        let failing = (0..RUNS).find_map(|index| {
            let mut choices = Choices::default();
            let mut dice = Dice::new(derive_seed(5, index));
            let outcome = play(scenario, Some(fault_name), &mut dice, &mut choices).expect("valid");
            target(fault)
                .is_in(&outcome.findings)
                .then_some((outcome.ended.frames, choices.0))
        });
        let (before, choices) = failing.unwrap_or_else(|| panic!("{fault_name} in {name}"));
        let case = ScenarioCase::new(scenario.clone(), Some(fault_name)).expect("valid");
        let shrunk = shrink(case, &choices, &target(fault), 5_000).expect("it failed before");
        let (frames, executions) = (shrunk.attempt.frames, shrunk.executions);
        println!("{fault_name}: {before} to {frames} frames after {executions} executions");
        assert!(
            shrunk.minimal && frames <= most,
            "{fault_name}: {frames} frames"
        );
    }
}
