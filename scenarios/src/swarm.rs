//! Swarm testing of workloads: each run leaves out a random part of what a scenario does (Groce, Zhang, Eide, Chen and
//! Regehr, "Swarm Testing", ISSTA 2012). What keeps a bug from showing is then missing from some runs.

use std::borrow::Cow;

use mcpsim_sim::choose::{Draws, Purpose};
use mcpsim_traces::message::Tool;

use crate::scenario::{Act, Scenario, Step, leave_out};

/// The scenario of the run of that seed: each client without some of its kinds of requests (a kind is an act and its tool),
/// and with parties that do not hesitate or ping although they might. Every kind and option stays in at least half of all runs,
/// and one kind of each client always; what steps remain refer to the same ones as before. A valid scenario stays valid.
pub fn swarmed(scenario: &Scenario, seed: u64) -> Cow<'_, Scenario> {
    let mut draws = Draws::apart(seed, Purpose::Workload);
    let mut smaller = scenario.clone();
    for party in &mut smaller.parties {
        // Drawn for every party, whatever it has: so one has no say in what the others do.
        party.hesitates &= draws.below(4) > 0;
        party.pings &= draws.below(2) == 0;
    }
    for steps in smaller.workload.values_mut() {
        let mut kinds: Vec<Kind> = vec![];
        for step in steps.iter().filter(|step| step.is_request()) {
            if !kinds.contains(&kind(step)) {
                kinds.push(kind(step));
            }
        }
        if !kinds.is_empty() {
            let always = draws.below(kinds.len() as u32) as usize;
            kinds.swap_remove(always);
        }
        kinds.retain(|_| draws.below(2) == 0);
        leave_out(steps, |_, step| kinds.contains(&kind(step)));
    }
    if smaller == *scenario {
        Cow::Borrowed(scenario)
    } else {
        Cow::Owned(smaller)
    }
}

type Kind = (Act, Tool);

fn kind(step: &Step) -> Kind {
    (step.act, step.tool)
}
