//! Strategies: by what law a seed becomes the answers of a run.

use std::fmt;

use mcpsim_traces::event::{Nothing, Site};
use mcpsim_traces::judge::NoJudge;

use crate::actor::Actor;
use crate::choose::{Chooser, Dice, Draws, Options, Purpose};
use crate::run::run;
use crate::setup::Setup;

/// By what law a seed becomes the answers of a run. Whatever it is, the answers are written down, so that replaying and
/// shrinking need not know it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Strategy {
    /// Equal odds for all that can happen next, and every kind of fault.
    Uniform,
    /// Priorities with change points, for bugs of that depth (the paper is cited where they are drawn); some kinds of fault
    /// are left out.
    Pct(Depth),
    /// Equal odds; each run leaves out some kinds of fault, and whoever builds the world some of its workload.
    Swarm,
    /// Each run has one of the others, by its seed.
    #[default]
    Mix,
}

/// How many orderings a bug needs: from 1 to [`Depth::MAX`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Depth(u8);

impl Depth {
    /// The deepest that can be asked for. The promise shrinks by the length of the run with each step, so that more help nobody.
    pub const MAX: u8 = 16;

    /// A depth, if it is one.
    pub const fn new(depth: u8) -> Option<Depth> {
        match depth {
            1..=Depth::MAX => Some(Depth(depth)),
            _ => None,
        }
    }

    /// As a number.
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl Default for Depth {
    fn default() -> Depth {
        Depth(3)
    }
}

/// What the runs of a mix have, with equal odds. Measured (`mcpsim bench-faults`, and the faults of the catalogue in the long
/// scenarios), no strategy alone is as good: equal odds nearly never hold one message back for long, priorities seldom swap
/// back and forth, and what a workload without some of its requests finds the others find as soon.
const MIX: [Strategy; 4] = [
    Strategy::Uniform,
    Strategy::Pct(Depth(1)),
    Strategy::Pct(Depth(2)),
    Strategy::Pct(Depth(3)),
];

impl Strategy {
    /// The name of each, for lists; `pct` may be followed by a depth.
    pub const NAMES: [&'static str; 4] = ["uniform", "pct", "swarm", "mix"];

    /// The strategy of that name: `uniform`, `pct` (of depth 3), `pct:5`, `swarm`, `mix`.
    pub fn parse(name: &str) -> Option<Strategy> {
        match name {
            "uniform" => Some(Strategy::Uniform),
            "pct" => Some(Strategy::Pct(Depth::default())),
            "swarm" => Some(Strategy::Swarm),
            "mix" => Some(Strategy::Mix),
            other => {
                let depth = other.strip_prefix("pct:")?;
                // A sign or a zero in front is another spelling of the same: names are one.
                let plain =
                    depth.bytes().all(|byte| byte.is_ascii_digit()) && !depth.starts_with('0');
                let depth = plain.then(|| depth.parse().ok()).flatten()?;
                Depth::new(depth).map(Strategy::Pct)
            }
        }
    }

    /// The strategy of one run: of a mix, the one that its seed draws; else the same.
    pub fn of_run(self, seed: u64) -> Strategy {
        match self {
            Strategy::Mix => {
                let at = Draws::apart(seed, Purpose::Mix).below(MIX.len() as u32);
                MIX[at as usize]
            }
            other => other,
        }
    }
}

/// As [`Strategy::parse`] reads it.
impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Strategy::Uniform => f.write_str("uniform"),
            Strategy::Pct(depth) => write!(f, "pct:{}", depth.0),
            Strategy::Swarm => f.write_str("swarm"),
            Strategy::Mix => f.write_str("mix"),
        }
    }
}

/// About how many choices of what happens next a run of that world has: counted in one run of equal odds, the same for
/// everybody who asks, and at least 1.
pub fn length<A: Actor>(setup: Setup<A>) -> u32 {
    let mut counter = Counter {
        dice: Dice::by(Strategy::Uniform, 0, 1),
        choices: 0,
    };
    run(setup, NoJudge, &mut counter, &mut Nothing, |_| false);
    counter.choices.max(1)
}

/// Dice that count.
struct Counter {
    dice: Dice,
    choices: u32,
}

impl Chooser for Counter {
    fn choose(&mut self, site: Site, options: &dyn Options) -> u32 {
        self.choices += u32::from(site == Site::Next);
        self.dice.choose(site, options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{prop_assert, prop_assert_eq, proptest};

    #[test]
    fn names_are_read_as_they_are_written() {
        for name in ["uniform", "pct:1", "pct:3", "pct:16", "swarm", "mix"] {
            let strategy = Strategy::parse(name).expect(name);
            assert_eq!(strategy.to_string(), name);
        }
        assert_eq!(Strategy::parse("pct"), Strategy::parse("pct:3"));
        for name in Strategy::NAMES {
            assert!(Strategy::parse(name).is_some(), "{name}");
        }
        for wrong in [
            "", "Uniform", "mixed", "pct:", "pct:0", "pct:17", "pct:+3", "pct:03", "pct:256",
            "pct: 3", "pct3", "swarm:2", "uniform ",
        ] {
            assert_eq!(Strategy::parse(wrong), None, "{wrong:?}");
        }
    }

    /// A run of a mix has one strategy, which all who have its seed agree on, and each comes about as often.
    #[test]
    fn a_mix_has_some_of_each() {
        for strategy in MIX {
            let runs = (0..4_000).filter(|&seed| Strategy::Mix.of_run(seed) == strategy);
            let count = runs.count();
            assert!((900..1_100).contains(&count), "{strategy}: {count}");
        }
    }

    /// Pinned: which word decides. If this fails, seeds that people wrote down no longer repeat their runs.
    #[test]
    fn the_mix_is_pinned() {
        let names = [1, 2, 3, 4, 5, 6].map(|seed| Strategy::Mix.of_run(seed).to_string());
        assert_eq!(
            names,
            ["pct:2", "pct:3", "uniform", "pct:1", "pct:2", "pct:2"]
        );
    }

    proptest! {
        /// The strategy that a report names for a run of a mix is all that it takes to repeat it.
        #[test]
        fn a_run_of_a_mix_is_one_of_its_strategies(seed: u64) {
            let strategy = Strategy::Mix.of_run(seed);
            prop_assert!(MIX.contains(&strategy));
            prop_assert_eq!(strategy.of_run(seed), strategy);
        }
    }
}
