//! What runs have reached: rules with each outcome, methods, states and the ways between them; and that nothing depends on
//! how runs are shared among threads.

use mcpsim_models::coverage::{Coverage, State};
use mcpsim_models::{Monitor, Outcome, Summary, rules};
use mcpsim_scenarios::{Scenario, scenario, scenarios};
use mcpsim_sim::choose::{Dice, derive_seed};
use mcpsim_sim::run::run_seen;
use mcpsim_traces::event::{Nothing, Role};
use mcpsim_traces::judge::Judge;
use mcpsim_traces::message::{Kind, Method, Revision};

/// What these runs of a scenario have reached. A run ends at its first finding.
fn reach(name: &str, fault: Option<&str>, runs: impl Iterator<Item = u64>) -> Coverage {
    reach_in(scenario(name).expect("a named scenario"), fault, runs)
}

fn reach_in(scenario: &Scenario, fault: Option<&str>, runs: impl Iterator<Item = u64>) -> Coverage {
    let setup = scenario.setup(fault).expect("a party for the fault");
    let mut coverage = Coverage::default();
    for run in runs {
        let mut dice = Dice::new(derive_seed(5, run));
        run_seen(
            setup.clone(),
            Monitor::new(),
            &mut dice,
            &mut Nothing,
            |judge: &Monitor| !judge.findings().is_empty(),
            |judge| coverage.add(run, judge),
        );
    }
    coverage
}

/// One run, whatever is found in it.
fn reach_to_the_end(name: &str, fault: &str) -> Coverage {
    let scenario = scenario(name).expect("a named scenario");
    let setup = scenario.setup(Some(fault)).expect("a party for the fault");
    let mut coverage = Coverage::default();
    let see = |judge: &Monitor| coverage.add(0, judge);
    let mut dice = Dice::new(5);
    run_seen(
        setup,
        Monitor::new(),
        &mut dice,
        &mut Nothing,
        |_| false,
        see,
    );
    coverage
}

fn rule(coverage: &Coverage, id: &str) -> (Outcome, Option<u64>) {
    let rules = coverage.rules();
    let found = rules.iter().find(|covered| covered.rule.id == id);
    let covered = found.unwrap_or_else(|| panic!("no rule {id}"));
    (covered.outcome, covered.first)
}

#[test]
fn rules_are_idle_kept_or_broken_from_their_first_run_on() {
    let nothing = Coverage::default();
    let all = rules().len() as u32;
    let idle = Summary {
        idle: all,
        ..Summary::default()
    };
    assert_eq!(nothing.summary(), idle);
    assert_eq!((nothing.last_new(), nothing.revisions()), (None, vec![]));

    let clean = reach("one-call", None, 0..20);
    assert_eq!(rule(&clean, "duplicate-response"), (Outcome::Kept, Some(0)));
    assert_eq!(rule(&clean, "cancel-initialize"), (Outcome::Idle, None));
    let summary = clean.summary();
    assert_eq!((summary.broken, summary.unsure), (0, 0));
    assert_eq!(summary.kept + summary.idle, all);

    let faulty = reach("one-call", Some("answers-twice"), 3..5);
    assert_eq!(
        rule(&faulty, "duplicate-response"),
        (Outcome::Broken, Some(3))
    );
    assert_eq!(faulty.summary().broken, 1);
}

/// Runs that are given up early: whether what is open then would have been answered nobody can tell.
#[test]
fn a_rule_is_unsure_until_some_run_breaks_it() {
    const UNANSWERED: &str = "request-unanswered";
    let mut cut = scenario("busy").expect("named").clone();
    cut.bounds.steps_max = 40;
    let mut both = reach("one-call", None, 0..3);
    assert_eq!(rule(&both, UNANSWERED), (Outcome::Kept, Some(0)));
    both.merge(&reach_in(&cut, None, 3..5));
    assert_eq!(rule(&both, UNANSWERED), (Outcome::Unsure, Some(3)));
    both.merge(&reach("nested", Some("ignores-requests"), 5..20));
    assert_eq!(rule(&both, UNANSWERED), (Outcome::Broken, Some(5)));
    // An earlier end of the campaign knows less.
    assert_eq!(rule(&both.before(5), UNANSWERED).0, Outcome::Unsure);
    assert_eq!(rule(&both.before(3), UNANSWERED).0, Outcome::Kept);
    assert_eq!(both.last_new().map(|run| run >= 5), Some(true));
}

#[test]
fn methods_are_counted_by_side_kind_and_revision() {
    let coverage = reach("one-call", None, 7..8);
    assert_eq!(coverage.revisions(), [Revision::V2025_11_25]);
    let sent = coverage.methods(Revision::V2025_11_25);
    let reached: Vec<_> = sent
        .iter()
        .filter(|row| row.first == Some(7))
        .map(|row| (row.by, row.kind, row.method))
        .collect();
    assert_eq!(
        reached,
        [
            (Role::Client, Kind::Request, Method::Initialize),
            (Role::Server, Kind::Result, Method::Initialize),
            (Role::Client, Kind::Notification, Method::Initialized),
            (Role::Client, Kind::Request, Method::ToolsCall),
            (Role::Server, Kind::Result, Method::ToolsCall),
        ]
    );
    assert!(sent.iter().all(|row| row.is_lawful));
    // Each request of a side has its two answers by the other side.
    let count = |kind| sent.iter().filter(|row| row.kind == kind).count();
    assert_eq!(count(Kind::Request), count(Kind::Result));
    assert_eq!(count(Kind::Request), count(Kind::Error));
}

#[test]
fn states_are_those_that_the_judge_sees() {
    let taken = |coverage: &Coverage, role| -> Vec<(State, State)> {
        let ways = coverage.ways();
        let ways = ways.iter().filter(|way| way.role == role);
        let taken = ways.filter(|way| way.first.is_some());
        taken.map(|way| (way.from, way.to)).collect()
    };
    let handshake = [
        (State::Fresh, State::Opening),
        (State::Opening, State::Greeted),
        (State::Greeted, State::Ready),
    ];
    let plain = reach("one-call", None, 0..1);
    for role in [Role::Client, Role::Server] {
        assert_eq!(taken(&plain, role), handshake);
    }
    let states = plain.states();
    let reached = states.iter().filter(|row| row.first.is_some());
    assert_eq!(reached.count(), 8);

    let unreliable = reach("unreliable-parties", None, 0..400);
    for role in [Role::Client, Role::Server] {
        let taken = taken(&unreliable, role);
        for way in [
            (State::Ready, State::Closed),
            (State::Ready, State::Gone),
            (State::Greeted, State::Closed),
        ] {
            // Clients never crash: a gateway is one toward its servers.
            assert!(taken.contains(&way), "{role:?} {way:?}");
        }
    }
    assert!(unreliable.ways().iter().all(|way| way.is_lawful));

    // This one leaves out what is between.
    let early = reach_to_the_end("one-call", "initialized-too-early");
    let ways = early.ways();
    let unlawful: Vec<_> = ways.iter().filter(|way| !way.is_lawful).collect();
    assert!(!unlawful.is_empty());
    for way in unlawful {
        assert_eq!((way.from, way.to), (State::Opening, State::Ready));
    }
}

/// However runs are dealt out and in whichever order they come together: the same.
#[test]
fn nothing_depends_on_how_runs_are_shared() {
    for (name, fault) in [
        ("nested", None),
        ("lossy-http", None),
        ("mixed-ids", Some("cancels-by-text")),
    ] {
        let whole = reach(name, fault, 0..120);
        for parts in [2, 3, 7] {
            let mut dealt: Vec<Coverage> = (0..parts)
                .map(|part| reach(name, fault, (0..120).filter(|run| run % parts == part)))
                .collect();
            dealt.reverse();
            let mut merged = Coverage::default();
            for part in &dealt {
                merged.merge(part);
            }
            assert_eq!(merged, whole, "{name}");
        }
        // A thread that ran ahead counts for nothing.
        assert_eq!(whole.before(50), reach(name, fault, 0..50));
        assert_eq!(Coverage::restore(&whole.named(), 120), whole);
        let last = whole.last_new().expect("something was reached");
        assert_ne!(whole.before(last), whole.before(last + 1));
        assert_eq!(whole.before(last + 1).named(), whole.named());
    }
}

/// What reference peers do is lawful: no way and no message is one that only a fault explains.
#[test]
fn clean_peers_reach_what_is_lawful_only() {
    for scenario in scenarios() {
        let coverage = reach(&scenario.name, None, 0..30);
        assert!(coverage.ways().iter().all(|way| way.is_lawful));
        for revision in coverage.revisions() {
            for row in coverage.methods(revision) {
                assert!(row.is_lawful, "{}: {row:?}", scenario.name);
            }
        }
    }
}
