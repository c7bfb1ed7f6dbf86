//! Priorities with change points, after Burckhardt, Kothari, Musuvathi and Nagarakatte, "A Randomized Scheduler with
//! Probabilistic Guarantees of Finding Bugs", ASPLOS 2010.
//!
//! There, every thread has a random priority, and the highest that can move does; at d − 1 random steps the thread that is about
//! to move falls below all others. A bug of depth d, one that shows whenever d given pairs of steps come in one given order, is
//! then found in a run of n threads and k steps with odds of at least 1 / (n · k^(d − 1)), however unlikely it is under equal odds.
//!
//! Here a lane has the part of a thread: a stream of a link in one direction, an own step of a party, a timer
//! ([`Options::lane`]). What differs, and what is left of the promise:
//!
//! - Where a link lets frames of one stream overtake each other, each frame is a lane.
//! - Lanes come into being during a run and n counts all of them, as threads that are forked there. Their priorities are
//!   independent of all that happened, as they are there; the promise holds for the orders of lanes.
//! - Only steps with a choice are counted, so k is smaller than the number of steps. A change at a step without one
//!   would do nothing that the next choice cannot.
//! - k is estimated. Where a run is longer, its tail has no change points, and a bug of depth 2 or more there has
//!   no promise; where it is shorter, some are spent on nothing.
//! - Timers and streams that are held back would fire before everything else in half of all runs. Most are put
//!   below all that need not wait, in a share of runs all of them; what falls at a change point mostly stays above them.
//!   Their orders have a smaller promise, by these shares.
//! - Questions of parties and faults are no matter of order: they have equal odds, and what shows only by them has that factor more.

use crate::choose::{Draws, Options};
use crate::strategy::Depth;

/// One change point in so many lets a lane fall below even what waits. Where every request has a timer, that ends most sessions
/// early: needed for what only a time-out shows, a loss for all else.
const LAST_ONE_IN: u32 = 4;

/// Decides what happens next by priorities.
#[derive(Clone, Debug)]
pub(crate) struct Pct {
    /// Turns lanes into priorities.
    key: u64,
    /// Of 256 lanes that wait, how many have a priority as if they need not.
    eager: u32,
    /// Choices so far.
    at: u32,
    changes: Vec<Change>,
}

/// A change point.
#[derive(Clone, Copy, Debug)]
struct Change {
    /// The choice at which it comes, from 0.
    at: u32,
    /// Where the lane falls to, among those that have fallen.
    to: Priority,
    /// The lane that has fallen there.
    lane: Option<u64>,
}

/// Higher goes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Priority {
    rank: Rank,
    within: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Rank {
    /// Fallen, below even what waits: time passes first.
    Last,
    /// A timer, or a stream that is held back.
    Waits,
    /// Fallen, above what waits.
    Fallen,
    First,
}

impl Pct {
    /// Priorities for bugs of that depth in runs of about `length` choices; of 256 lanes that wait, `eager` do not wait their turn.
    pub(crate) fn new(mut draws: Draws, depth: Depth, length: u32, eager: u32) -> Pct {
        let key = draws.word();
        let changes = (1..depth.get()).map(|nth| Change {
            at: draws.below(length.max(1)),
            to: Priority {
                rank: if draws.below(LAST_ONE_IN) == 0 {
                    Rank::Last
                } else {
                    Rank::Fallen
                },
                within: u64::from(nth),
            },
            lane: None,
        });
        Pct {
            key,
            eager,
            at: 0,
            changes: changes.collect(),
        }
    }

    /// The option of the highest lane.
    pub(crate) fn next(&mut self, options: &dyn Options) -> u32 {
        let mut best = self.best(options);
        for nth in 0..self.changes.len() {
            if self.changes[nth].at == self.at {
                let lane = options.lane(best);
                // A lane that falls again stands at its new place only.
                for change in &mut self.changes {
                    if change.lane == Some(lane) {
                        change.lane = None;
                    }
                }
                self.changes[nth].lane = Some(lane);
                best = self.best(options);
            }
        }
        self.at = self.at.saturating_add(1);
        best
    }

    /// The plainest option of the highest lane.
    fn best(&self, options: &dyn Options) -> u32 {
        let prompt = options.prompt();
        let priority = |answer: u32| self.priority(options.lane(answer), answer >= prompt);
        let rest = 1..options.bound();
        let first = (0, priority(0));
        let (best, _) = rest.fold(first, |best, answer| {
            let own = priority(answer);
            if own > best.1 { (answer, own) } else { best }
        });
        best
    }

    fn priority(&self, lane: u64, waits: bool) -> Priority {
        let fallen = self.changes.iter().find(|change| change.lane == Some(lane));
        if let Some(change) = fallen {
            return change.to;
        }
        // A function of the key and the lane is a random priority for each lane, and nothing has to be kept.
        let word = mixed(self.key ^ mixed(lane));
        let rank = if waits && (word >> 56) as u32 >= self.eager {
            Rank::Waits
        } else {
            Rank::First
        };
        Priority {
            rank,
            within: mixed(word),
        }
    }
}

/// The finishing function of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): every bit of the word has a say in every bit
/// of the result, and no two words have the same one.
fn mixed(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}
