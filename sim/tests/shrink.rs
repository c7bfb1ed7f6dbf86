//! The shrinker on a small world: 1-minimal from every seed, and as short as the best of all schedules.

use mcpsim_sim::actor::{Actor, Input, Out, Route};
use mcpsim_sim::choose::{Chooser, Dice, LenientScript, Odometer};
use mcpsim_sim::run::run;
use mcpsim_sim::setup::{Beyond, Bounds, FaultBudget, LinkSetup, Setup};
use mcpsim_sim::shrink::{Attempt, Case, Target, shrink, with_plain};
use mcpsim_traces::encode::Encoder;
use mcpsim_traces::event::{Choice, Choices, LinkId, LinkKind, PartyId, Role, Site};
use mcpsim_traces::judge::{
    Blame, EndState, Ending, Finding, Judge, PartEvent, Severity, Sight, Verdict,
};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Kind, Message, Method, Shape};
use proptest::prelude::*;

/// A client that sends the listed pings; a server that answers each, in a step of its own.
#[derive(Clone)]
enum Peer {
    Client(Vec<i64>),
    Server(Vec<(Key, u32)>),
}

impl Actor for Peer {
    fn on(&mut self, input: &Input<'_>, out: &mut Out<'_>) {
        match (self, input) {
            (Peer::Client(pings), Input::Opened { port, .. }) => {
                for &id in pings.iter() {
                    out.caused_by_step(id as u16);
                    out.send(
                        *port,
                        Message::request(Method::Ping, Key::integer(id)),
                        Route::Usual,
                    );
                }
            }
            (
                Peer::Server(held),
                Input::Frame {
                    message, stream, ..
                },
            ) => {
                held.push((message.id, *stream));
                out.again(message.id.as_integer().unwrap_or(0) as u32);
            }
            (Peer::Server(held), Input::Own { tag }) => {
                let at = held
                    .iter()
                    .position(|(id, _)| *id == Key::integer(i64::from(*tag)));
                let (id, stream) = held.remove(at.expect("a held request"));
                out.send(
                    mcpsim_sim::actor::Port(0),
                    Message::result(id, Shape::Empty),
                    Route::On(stream),
                );
            }
            _ => {}
        }
    }
}

/// Finds it wrong when an answer comes before one of a smaller id.
#[derive(Clone, Default)]
struct InOrder(Vec<Finding>);

impl Judge for InOrder {
    type Part = Vec<i64>;
    fn part(&self, _: Role, _: LinkKind) -> Vec<i64> {
        vec![]
    }
    fn by(&mut self, part: &mut Vec<i64>, sight: &Sight<'_>) {
        let id = sight.message.id.as_integer().unwrap_or(0);
        match sight.message.kind {
            Kind::Request => part.push(id),
            Kind::Result if part.iter().any(|&open| open < id) => self.0.push(Finding {
                rule: "answers-in-order",
                verdict: Verdict::Broken,
                severity: Severity::Error,
                blame: Blame::Server,
                party: sight.party,
                link: sight.link,
                frames: vec![sight.frame],
                message: "an answer overtook an older one".into(),
                spot: None,
                knew: String::new(),
                waits: vec![],
            }),
            _ => part.retain(|&open| open != id),
        }
    }
    fn toward(&mut self, part: &mut Vec<i64>, sight: &Sight<'_>) {
        let id = sight.message.id.as_integer().unwrap_or(0);
        if sight.message.kind == Kind::Request {
            part.push(id);
        }
    }
    fn event(&mut self, _: &mut Vec<i64>, _: PartyId, _: LinkId, _: PartEvent) {}
    fn settle(&mut self, _: &mut [EndState<'_, Vec<i64>>], _: Ending) {}
    fn encode(&self, part: &Vec<i64>, encoder: &mut Encoder) {
        part.iter().for_each(|&id| encoder.word(id as u64));
    }
    fn findings(&self) -> &[Finding] {
        &self.0
    }
    fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.0)
    }
}

const TARGET: Target = Target {
    rule: "answers-in-order",
    blame: Blame::Server,
};

#[derive(Clone)]
struct Pings(Vec<i64>);

impl Pings {
    fn play(&self, chooser: &mut impl Chooser) -> Attempt {
        let setup = Setup {
            parties: vec![Peer::Client(self.0.clone()), Peer::Server(vec![])],
            links: vec![LinkSetup {
                kind: LinkKind::Http,
                client: PartyId(0),
                server: PartyId(1),
                capacity: 64,
                stderr_capacity: 64,
                resumable: false,
                beyond: Beyond::default(),
            }],
            faults: FaultBudget {
                delay: 2,
                duplicate: 1,
                ..FaultBudget::default()
            },
            bounds: Bounds::default(),
        };
        let mut choices = Choices::default();
        let outcome = run(setup, InOrder::default(), chooser, &mut choices, |judge| {
            TARGET.is_in(judge.findings())
        });
        Attempt {
            findings: outcome.findings,
            choices: choices.0,
            frames: outcome.ended.frames,
        }
    }
}

impl Case for Pings {
    fn candidates(&self) -> Vec<Self> {
        let without = |from: usize, to: usize| Pings([&self.0[..from], &self.0[to..]].concat());
        let half = self.0.len() / 2;
        let halves = [(0, half), (half, self.0.len())];
        let singles = (0..self.0.len()).map(|at| (at, at + 1));
        halves
            .into_iter()
            .filter(|_| half > 1)
            .chain(singles)
            .map(|(from, to)| without(from, to))
            .collect()
    }

    fn run(&self, script: &[Choice], _: &Target) -> Attempt {
        self.play(&mut LenientScript::new(script))
    }
}

/// The fewest frames in which two pings break the rule, over all schedules without faults.
fn best() -> u32 {
    struct NoFaults(Odometer);
    impl Chooser for NoFaults {
        fn choose(&mut self, site: Site, options: &dyn mcpsim_sim::choose::Options) -> u32 {
            if site == Site::Fault {
                0
            } else {
                self.0.choose(site, options)
            }
        }
    }
    let mut odometer = NoFaults(Odometer::new());
    let mut best = u32::MAX;
    loop {
        let attempt = Pings(vec![1, 2]).play(&mut odometer);
        if TARGET.is_in(&attempt.findings) {
            best = best.min(attempt.frames);
        }
        if !odometer.0.advance() {
            return best;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_seed_ends_at_the_same_minimal_trace(seed in 0u64..1 << 53) {
        let case = Pings((1..=20).collect());
        let attempt = case.play(&mut Dice::new(seed));
        prop_assume!(TARGET.is_in(&attempt.findings));
        let shrunk = shrink(case, &attempt.choices, &TARGET, 10_000).expect("it fails under its own choices");
        prop_assert!(shrunk.minimal);
        prop_assert_eq!(shrunk.case.0.len(), 2);
        prop_assert_eq!(shrunk.attempt.frames, best());
        prop_assert!(shrunk.executions < 200, "{} executions", shrunk.executions);

        // 1-minimal: take each piece away in turn, and the failure is gone.
        let choices = &shrunk.attempt.choices;
        for smaller in shrunk.case.candidates() {
            prop_assert!(!TARGET.is_in(&smaller.run(choices, &TARGET).findings));
        }
        for (at, choice) in choices.iter().enumerate() {
            if choice.answer != 0 {
                let script = with_plain(choices, |other| other == at);
                prop_assert!(!TARGET.is_in(&shrunk.case.run(&script, &TARGET).findings));
            }
        }
    }
}

#[test]
fn what_does_not_fail_is_not_shrunk() {
    assert!(shrink(Pings(vec![1, 2]), &[], &TARGET, 100).is_none());
}

#[test]
fn the_limit_on_executions_is_kept_and_said() {
    let case = Pings((1..=20).collect());
    let attempt = (0..100)
        .map(|seed| case.play(&mut Dice::new(seed)))
        .find(|attempt| TARGET.is_in(&attempt.findings))
        .expect("some schedule fails");
    let shrunk =
        shrink(case, &attempt.choices, &TARGET, 5).expect("it fails under its own choices");
    assert!(!shrunk.minimal && shrunk.executions == 5);
    assert!(
        TARGET.is_in(&shrunk.attempt.findings),
        "what is kept still fails"
    );
}
