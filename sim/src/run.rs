//! One run from set-up to end: a world, a judge, a chooser, a sink.

use mcpsim_traces::event::Sink;
use mcpsim_traces::judge::{Finding, Judge};

use crate::actor::Actor;
use crate::choose::Chooser;
use crate::door::Door;
use crate::setup::Setup;
use crate::world::{Ended, World};

/// What a run gave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// How it ended.
    pub ended: Ended,
    /// What the judge found, in the order in which it was found.
    pub findings: Vec<Finding>,
}

/// Runs a world until `stop` says so, it is quiet, or a bound is reached.
pub fn run<A: Actor, J: Judge>(
    setup: Setup<A>,
    judge: J,
    chooser: &mut (impl Chooser + ?Sized),
    sink: &mut (impl Sink + ?Sized),
    stop: impl FnMut(&J) -> bool,
) -> Outcome {
    run_seen(setup, judge, chooser, sink, stop, |_| {})
}

/// The same, and shows the judge to `see` when all is settled: it may have counted more than it found.
pub fn run_seen<A: Actor, J: Judge>(
    setup: Setup<A>,
    judge: J,
    chooser: &mut (impl Chooser + ?Sized),
    sink: &mut (impl Sink + ?Sized),
    stop: impl FnMut(&J) -> bool,
    see: impl FnOnce(&J),
) -> Outcome {
    let mut world = World::new(setup, judge);
    let ended = world.run(&mut Door::new(chooser, sink), stop);
    see(world.judge());
    Outcome {
        ended,
        findings: world.take_findings(),
    }
}
