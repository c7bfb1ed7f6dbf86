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
        let requests = || steps.iter().filter(|step| step.is_request());
        let mut kinds = kinds_of(requests());
        // A step that is about an earlier one may go with it: it cannot be what stays.
        let alone = kinds_of(requests().filter(|step| step.of.is_none()));
        if !alone.is_empty() {
            let always = alone[draws.below(alone.len() as u32) as usize];
            kinds.retain(|&kind| kind != always);
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

/// The kinds of these steps, each once, in their order.
fn kinds_of<'a>(steps: impl Iterator<Item = &'a Step>) -> Vec<Kind> {
    let mut kinds = vec![];
    for step in steps {
        if !kinds.contains(&kind(step)) {
            kinds.push(kind(step));
        }
    }
    kinds
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::named::scenarios;
    use crate::scenario::PartyRole;

    /// The steps of all clients, without what they refer to.
    fn steps(scenario: &Scenario) -> Vec<Step> {
        let all = scenario.workload.values().flatten();
        all.map(|step| Step { of: None, ..*step }).collect()
    }

    /// Whether one is left of the other by leaving entries out.
    fn is_part<T: PartialEq>(part: &[T], whole: &[T]) -> bool {
        let mut whole = whole.iter();
        part.iter().all(|one| whole.any(|other| other == one))
    }

    #[test]
    fn a_part_of_a_scenario_is_a_valid_one() {
        for scenario in scenarios() {
            for seed in 0..200 {
                let part = swarmed(scenario, seed);
                let name = &scenario.name;
                assert_eq!(part.check(), Ok(()), "{name} with seed {seed}");
                assert_eq!(part, swarmed(scenario, seed), "{name} with seed {seed}");
                assert!(is_part(&steps(&part), &steps(scenario)), "{name}");
                // Nothing but steps, hesitation and pings is another.
                let mut back = part.into_owned();
                back.workload = scenario.workload.clone();
                for (party, whole) in back.parties.iter_mut().zip(&scenario.parties) {
                    assert!(whole.hesitates || !party.hesitates, "{name}");
                    assert!(whole.pings || !party.pings, "{name}");
                    (party.hesitates, party.pings) = (whole.hesitates, whole.pings);
                }
                assert_eq!(back, *scenario);
            }
        }
    }

    /// Steps of all named scenarios, mixed, about any earlier one.
    fn any_steps() -> impl Strategy<Value = Vec<Step>> {
        let workloads = scenarios()
            .iter()
            .flat_map(|scenario| scenario.workload.values());
        let known: Vec<Step> = workloads.flatten().copied().collect();
        let about = |(step, of): (Step, u16)| Step {
            of: step.of.map(|_| of),
            ..step
        };
        let step = (prop::sample::select(known), 1..8u16).prop_map(about);
        prop::collection::vec(step, 1..24)
    }

    proptest! {
        /// Whatever a file may hold, a part of it can be played.
        #[test]
        fn a_part_of_any_workload_is_a_valid_one(
            whole in prop::sample::select(scenarios()),
            steps in any_steps(),
        ) {
            let mut scenario = whole.clone();
            for client in whole.workload.keys() {
                let mut own = vec![];
                for &step in &steps {
                    // Without those that this client cannot have there.
                    own.push(step);
                    let before = scenario.workload.insert(client.clone(), own.clone());
                    if scenario.check().is_err() {
                        own.pop();
                        scenario.workload.extend(before.map(|steps| (client.clone(), steps)));
                    }
                }
            }
            prop_assert_eq!(scenario.check(), Ok(()));
            for seed in 0..20 {
                prop_assert_eq!(swarmed(&scenario, seed).check(), Ok(()));
            }
        }
    }

    /// Every kind of request is missing somewhere, where there is more than one; every one is there in many runs.
    #[test]
    fn every_kind_is_left_out_and_kept() {
        let scenario = crate::scenario("busy").expect("named");
        let whole: BTreeSet<String> = words(scenario);
        assert!(whole.len() > 4, "{whole:?}");
        let parts: Vec<_> = (0..400)
            .map(|seed| words(&swarmed(scenario, seed)))
            .collect();
        for kind in &whole {
            let kept = parts.iter().filter(|part| part.contains(kind)).count();
            assert!((160..360).contains(&kept), "{kind}: in {kept} of 400");
        }
        let clients = |scenario: &Scenario| {
            let parties = scenario.parties.iter();
            parties
                .filter(|party| party.role == PartyRole::Client && party.hesitates)
                .count()
        };
        let hesitating = (0..400)
            .filter(|&seed| clients(&swarmed(scenario, seed)) > 0)
            .count();
        assert!((260..340).contains(&hesitating), "{hesitating}");
    }

    fn words(scenario: &Scenario) -> BTreeSet<String> {
        let steps = scenario.workload.values().flatten();
        let requests = steps.filter(|step| step.is_request());
        requests.map(|step| format!("{:?}", kind(step))).collect()
    }

    /// Pinned: which words decide, and for what. If this fails, seeds that people wrote down no longer repeat their runs.
    #[test]
    fn parts_are_pinned() {
        let scenario = crate::scenario("busy").expect("named");
        let counts = [1, 2, 3, 4].map(|seed| steps(&swarmed(scenario, seed)).len());
        assert_eq!((steps(scenario).len(), counts), (70, [49, 35, 14, 28]));
    }
}
