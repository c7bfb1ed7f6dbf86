//! Shrinking from the outside, and what it promises held against the library: the same failure, and no piece to spare.
#![cfg(feature = "cli")]

mod common;

use common::{failure, faults, files, folder, mcpsim, read, text};
use mcpsim::models::Monitor;
use mcpsim::scenarios::peer::Peer;
use mcpsim::scenarios::scenario::{Faults, PartyRole, Scenario};
use mcpsim::scenarios::{Fault, ScenarioCase, scenario};
use mcpsim::sim::choose::{Dice, LenientScript, derive_seed};
use mcpsim::sim::run::run;
use mcpsim::sim::setup::Setup;
use mcpsim::sim::shrink::{Case, Shrunk, Target, shrink, with_plain};
use mcpsim::traces::event::{Choice, Choices, Nothing};
use mcpsim::traces::judge::Judge;
use serde_json::Value;

/// A minimal trace between two parties stays below this, one through a gateway below the other.
const FRAMES_END: u64 = 12;
const FRAMES_END_GATEWAY: u64 = 20;

fn frames_end(fault: &Fault) -> u64 {
    match fault.name {
        // Each line of a frame is a frame of its own there.
        name if name.ends_with("over-several-lines") => 25,
        // A task is made, asked for and cancelled.
        "goes-on-when-cancelled" | "answers-a-task-early" => 16,
        "client-goes-on-when-cancelled" | "client-answers-a-task-early" => 17,
        _ if fault.at == PartyRole::Gateway => FRAMES_END_GATEWAY,
        _ => FRAMES_END,
    }
}

fn rows() -> Vec<(Value, &'static Fault)> {
    let known = |row: Value| {
        let fault = mcpsim::scenarios::fault(text(&row, "name")).expect("listed");
        (row, fault)
    };
    faults().into_iter().map(known).collect()
}

/// For every fault: the short trace repeats, `shrink` comes to the same bytes, what is short stays short, and no input is
/// written to.
#[test]
fn every_fault_shrinks_to_a_trace_that_repeats() {
    let here = folder();
    let json = |args: &[&str]| {
        let mut all = args.to_vec();
        all.extend(["--format", "json"]);
        mcpsim(here.path(), &all).ends(1).json()
    };
    for (row, fault) in rows() {
        let name = fault.name;
        let failure = failure(here.path(), name);
        let (whole, short) = (text(&failure, "trace"), text(&failure, "shrunk"));
        let frames = failure["frames"].as_u64().expect("a number");
        assert!(frames < frames_end(fault), "{name}: {frames} frames");
        assert_eq!(failure["minimal"], true, "{name}");

        let replayed = json(&["replay", short]);
        assert_eq!(replayed["same"], true, "{name}: {replayed}");
        let is_target =
            |finding: &&Value| finding["rule"] == row["rule"] && finding["blame"] == row["blame"];
        assert!(
            replayed["findings"]
                .as_array()
                .expect("a list")
                .iter()
                .any(|finding| is_target(&finding)),
            "{name}"
        );

        let before = files(&here.path().join("out"));
        let again = json(&["shrink", whole, "-o", "again.jsonl"]);
        let is_same = read(&here.path().join("again.jsonl")) == read(&here.path().join(short));
        assert!(is_same, "{name}: shrunk by hand it is another trace");
        for same in [
            "rule",
            "blame",
            "frames",
            "frames_before",
            "minimal",
            "message",
        ] {
            assert_eq!(again[same], failure[same], "{name}: {same}");
        }
        let twice = json(&["shrink", short, "-o", "twice.jsonl"]);
        for same in ["rule", "blame", "frames", "message"] {
            assert_eq!(twice[same], failure[same], "{name}: {same}, shrunk twice");
        }
        assert_eq!(json(&["replay", "twice.jsonl"])["same"], true, "{name}");
        assert_eq!(files(&here.path().join("out")), before, "{name}");
    }
}

#[test]
fn the_input_is_never_overwritten() {
    let here = folder();
    let failure = failure(here.path(), "answers-twice");
    let short = text(&failure, "shrunk");
    let bytes = read(&here.path().join(short));
    for output in [short, &format!("./{short}"), "out/../out/link.jsonl"] {
        if output.ends_with("link.jsonl") {
            if cfg!(not(unix)) {
                continue;
            }
            #[cfg(unix)]
            std::os::unix::fs::symlink(here.path().join(short), here.path().join("out/link.jsonl"))
                .expect("linked");
        }
        mcpsim(here.path(), &["shrink", short, "-o", output])
            .ends(2)
            .says(&["would overwrite"]);
        assert_eq!(read(&here.path().join(short)), bytes, "{output}");
    }
    // Left to itself it writes beside the trace, under another name.
    mcpsim(here.path(), &["shrink", short]).ends(1);
    assert_eq!(read(&here.path().join(short)), bytes);
    assert!(
        here.path()
            .join(short.replace(".jsonl", ".min.jsonl"))
            .is_file()
    );
}

#[test]
fn what_does_not_fail_is_not_shrunk() {
    let here = folder();
    let run = |args: &[&str]| mcpsim(here.path(), args);
    run(&["run", "nested", "--seed", "1", "--record", "clean.jsonl"]).ends(0);
    run(&["shrink", "clean.jsonl"])
        .ends(2)
        .says(&["clean.jsonl: does not fail"]);
    run(&[
        "run",
        "--fault",
        "answers-twice",
        "--seed",
        "1",
        "--record",
        "bad.jsonl",
    ])
    .ends(1);
    run(&["shrink", "bad.jsonl", "--rule", "cancel-initialize"])
        .ends(2)
        .says(&["cancel-initialize is not broken in it"]);
    run(&["shrink", "bad.jsonl", "--rule", "duplicate-response"]).ends(1);
    assert!(!here.path().join("clean.min.jsonl").exists());
    // A trace that tells of a failure which its choices do not bring about.
    let bad = String::from_utf8(read(&here.path().join("bad.jsonl"))).expect("text");
    let mended = bad.replacen("answers-twice", "reports-twice", 1);
    assert_ne!(mended, bad);
    common::write(here.path(), "mended.jsonl", mended);
    run(&["shrink", "mended.jsonl"])
        .ends(2)
        .says(&["mended.jsonl: "]);
    // One execution is not enough, and that is said.
    let report = run(&["shrink", "bad.jsonl", "--budget", "1", "--format", "json"])
        .ends(1)
        .json();
    assert_eq!(
        (&report["minimal"], &report["executions"]),
        (&false.into(), &1.into())
    );
}

/// Runs of about two hundred frames, of every fault that the busy scenarios can show that late.
#[test]
fn long_failures_end_as_short_ones() {
    let here = folder();
    let mut longest = [0, 0];
    for (name, through_a_gateway, fault) in [
        ("busy", false, "cancels-the-newest"),
        ("busy", false, "lists-a-request-late"),
        ("busy", false, "ignores-requests"),
        ("busy", false, "waits-for-its-own-request"),
        ("busy", false, "answers-under-the-last-id"),
        ("busy-gateway", true, "gateway-mixes-servers"),
        ("busy-gateway", true, "gateway-forwards-the-cancelled-id"),
        ("busy-gateway", true, "lists-a-request-late"),
    ] {
        let args = [
            "run", name, "--fault", fault, "--seed", "3", "--runs", "200", "--out", "out",
            "--format", "json",
        ];
        let ran = mcpsim(here.path(), &args);
        let report = ran.json();
        let Some(failure) = report["failures"].get(0) else {
            panic!("{name} with {fault} does not fail");
        };
        let number = |member: &str| failure[member].as_u64().expect("a number");
        println!(
            "{name} {fault}: {} of {} after {}",
            number("frames"),
            number("frames_before"),
            number("executions")
        );
        let end = if through_a_gateway {
            FRAMES_END_GATEWAY
        } else {
            FRAMES_END
        };
        assert!(
            number("frames") < end,
            "{name} with {fault}: {} frames",
            number("frames")
        );
        assert_eq!(failure["minimal"], true, "{name} with {fault}");
        let longest = &mut longest[usize::from(through_a_gateway)];
        *longest = number("frames_before").max(*longest);
        mcpsim(here.path(), &["replay", text(failure, "shrunk")]).ends(1);
    }
    assert!(
        longest.iter().all(|frames| *frames >= 180),
        "frames before: {longest:?}"
    );
}

fn target(fault: &Fault) -> Target {
    Target {
        rule: fault.rule,
        blame: fault.blame,
    }
}

fn setup(scenario: &Scenario, fault: &Fault) -> Setup<Peer> {
    scenario.setup(Some(fault.name)).expect("a party for it")
}

/// The choices of the first run that breaks the fault's rule.
fn failing(scenario: &Scenario, fault: &Fault) -> Vec<Choice> {
    let target = target(fault);
    (0..2_000)
        .find_map(|index| {
            let mut choices = Choices::default();
            let mut dice = Dice::new(derive_seed(7, index));
            let stop = |judge: &Monitor| target.is_in(judge.findings());
            let outcome = run(
                setup(scenario, fault),
                scenario.judge(Some(fault.name)),
                &mut dice,
                &mut choices,
                stop,
            );
            target.is_in(&outcome.findings).then_some(choices.0)
        })
        .unwrap_or_else(|| panic!("{} is not found", fault.name))
}

/// Taking away any piece, or setting any choice to the plainest, loses the failure: the shrinker's own candidates, and
/// pieces that are taken away here without asking it.
#[test]
fn every_minimal_failure_has_no_piece_to_spare() {
    for (_, fault) in rows() {
        let name = fault.name;
        let target = target(fault);
        let first = scenario(fault.scenario).expect("named");
        let case = ScenarioCase::new(first.clone(), Some(name)).expect("valid");
        let shrunk =
            shrink(case, &failing(first, fault), &target, 10_000).expect("it failed before");
        assert!(shrunk.minimal, "{name}");
        let Shrunk { case, attempt, .. } = &shrunk;
        let still_fails = |case: &ScenarioCase, choices: &[Choice]| {
            target.is_in(&case.run(choices, &target).findings)
        };
        assert!(
            still_fails(case, &attempt.choices),
            "{name}: the result itself fails"
        );

        for candidate in case.candidates() {
            let smaller = candidate.scenario().to_json();
            assert!(
                !still_fails(&candidate, &attempt.choices),
                "{name}: this fails too:\n{smaller}"
            );
        }
        for (at, choice) in attempt
            .choices
            .iter()
            .enumerate()
            .filter(|(_, choice)| choice.answer != 0)
        {
            let plainer = with_plain(&attempt.choices, |which| which == at);
            assert!(
                !still_fails(case, &plainer),
                "{name}: choice {at} is not needed: {choice:?}"
            );
        }
        for (what, smaller) in taken_away(case.scenario()) {
            if smaller.check().is_err() || smaller.setup(Some(name)).is_err() {
                continue;
            }
            let known = case
                .candidates()
                .into_iter()
                .find(|candidate| same_world(candidate.scenario(), &smaller));
            let fails = match known {
                Some(candidate) => still_fails(&candidate, &attempt.choices),
                // A cut that the shrinker does not try: under the choices as they are, and without any.
                None => [&case.own_choices(&attempt.choices)[..], &[]]
                    .iter()
                    .any(|script| {
                        let stop = |judge: &Monitor| target.is_in(judge.findings());
                        let mut chooser = LenientScript::new(script);
                        let outcome = run(
                            setup(&smaller, fault),
                            smaller.judge(Some(fault.name)),
                            &mut chooser,
                            &mut Nothing,
                            stop,
                        );
                        target.is_in(&outcome.findings)
                    }),
            };
            assert!(
                !fails,
                "{name}: fails without {what}:\n{}",
                smaller.to_json()
            );
        }
    }
}

/// Whether two scenarios are the same but for empty workloads, which say nothing.
fn same_world(one: &Scenario, other: &Scenario) -> bool {
    let bare = |scenario: &Scenario| {
        let mut bare = scenario.clone();
        bare.workload.retain(|_, steps| !steps.is_empty());
        bare
    };
    bare(one) == bare(other)
}

/// One of the budgets.
type Budget = fn(&mut Faults) -> &mut u8;

/// Every scenario that is one piece smaller: a workload step, a party with its links, a link, one fault of a budget.
fn taken_away(scenario: &Scenario) -> Vec<(String, Scenario)> {
    let mut all = vec![];
    for (name, steps) in &scenario.workload {
        for at in 0..steps.len() {
            let mut smaller = scenario.clone();
            let left = smaller.workload.get_mut(name).expect("the same");
            left.remove(at);
            // Steps that name a later one by its place.
            for of in left.iter_mut().filter_map(|step| step.of.as_mut()) {
                *of -= u16::from(usize::from(*of) > at + 1);
            }
            all.push((format!("step {} of {name}", at + 1), smaller));
        }
    }
    for party in &scenario.parties {
        let mut smaller = scenario.clone();
        smaller.parties.retain(|other| other.name != party.name);
        smaller
            .links
            .retain(|link| link.client != party.name && link.server != party.name);
        smaller.workload.remove(&party.name);
        all.push((format!("the party {}", party.name), smaller));
    }
    for at in 0..scenario.links.len() {
        let mut smaller = scenario.clone();
        smaller.links.remove(at);
        all.push((format!("link {at}"), smaller));
    }
    let budgets: [(&str, Budget); 5] = [
        ("delay", |faults| &mut faults.delay),
        ("duplicate", |faults| &mut faults.duplicate),
        ("drop", |faults| &mut faults.drop),
        ("cut", |faults| &mut faults.cut),
        ("crash", |faults| &mut faults.crash),
    ];
    for (kind, budget) in budgets {
        let mut smaller = scenario.clone();
        if *budget(&mut smaller.faults) > 0 {
            *budget(&mut smaller.faults) -= 1;
            all.push((format!("one {kind}"), smaller));
        }
    }
    all
}

/// The test above can see: in an unshrunk failure there is a piece to spare.
#[test]
fn a_failure_that_is_not_minimal_has_pieces_to_spare() {
    let fault = mcpsim::scenarios::fault("answers-twice").expect("named");
    let busy = scenario("busy").expect("named");
    let choices = failing(busy, fault);
    let case = ScenarioCase::new(busy.clone(), Some(fault.name)).expect("valid");
    let target = target(fault);
    let spare = case
        .candidates()
        .into_iter()
        .filter(|case| target.is_in(&case.run(&choices, &target).findings));
    assert!(spare.count() > 10);
    assert!(taken_away(busy).len() > 60);
}
