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
    /// Priorities with change points, for bugs of that depth ([`crate::pct`] tells what that promises); some kinds of fault
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

/// What the runs of a mix have, with equal odds.
const MIX: [Strategy; 4] = [
    Strategy::Swarm,
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
