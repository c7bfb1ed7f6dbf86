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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use mcpsim_traces::event::Label;
    use proptest::prelude::*;

    use super::*;
    use crate::choose::{Purpose, SEED_END};

    /// Options by their lanes; from `prompt` on they wait.
    struct Lanes<'a> {
        lanes: &'a [u64],
        prompt: u32,
    }

    impl Options for Lanes<'_> {
        fn bound(&self) -> u32 {
            self.lanes.len() as u32
        }
        fn prompt(&self) -> u32 {
            self.prompt
        }
        fn label(&self, answer: u32) -> Label {
            Label::Number(answer)
        }
        fn lane(&self, answer: u32) -> u64 {
            self.lanes[answer as usize]
        }
    }

    fn pct(seed: u64, depth: u8, length: u32) -> Pct {
        let depth = Depth::new(depth).expect("a depth");
        Pct::new(Draws::apart(seed, Purpose::Priorities), depth, length, 0)
    }

    /// Which of these lanes goes next, all of them prompt.
    fn next(pct: &mut Pct, lanes: &[u64]) -> u64 {
        let prompt = lanes.len() as u32;
        lanes[pct.next(&Lanes { lanes, prompt }) as usize]
    }

    /// Two threads, one of so many steps and one of a single step: before which of the others that comes.
    fn place(pct: &mut Pct, steps: u32) -> u32 {
        for at in 0..steps {
            if next(pct, &[1, 2]) == 2 {
                return at;
            }
        }
        steps
    }

    /// What the paper promises, counted: a run of two threads and k steps has any place of the single step, which is a bug of
    /// depth 2, with odds of at least 1 / 2k, and the two ends, of depth 1, with odds of a half. Under equal odds the last
    /// place would come once in 2^30 runs.
    #[test]
    fn each_bug_of_depth_2_is_found_as_often_as_promised() {
        const STEPS: u32 = 30;
        const RUNS: u64 = 10_000;
        let mut found = [0; STEPS as usize + 1];
        for seed in 0..RUNS {
            found[place(&mut pct(seed, 2, STEPS + 1), STEPS) as usize] += 1;
        }
        // 161 is promised; that is a mean, so that some room is left.
        let least = found.iter().min();
        assert!(least.is_some_and(|&least| least > 120), "{found:?}");
        let depth_1 = |at| {
            (0..RUNS)
                .filter(|&seed| place(&mut pct(seed, 1, STEPS + 1), STEPS) == at)
                .count()
        };
        let (first, last) = (depth_1(0), depth_1(STEPS));
        assert_eq!(
            first + last,
            RUNS as usize,
            "without a change there is nothing between"
        );
        assert!((4_800..5_200).contains(&first), "{first}");
    }

    /// Lanes that wait go after the others, unless they are among the eager ones; what falls mostly stays above them.
    #[test]
    fn what_waits_goes_last() {
        let lanes = [1, 2, 3, 4];
        let options = Lanes {
            lanes: &lanes,
            prompt: 2,
        };
        let waiting_first = |eager| {
            let draws = |seed| Draws::apart(seed, Purpose::Priorities);
            let first =
                |seed| Pct::new(draws(seed), Depth::default(), 1_000_000, eager).next(&options);
            (0..1_000).filter(|&seed| first(seed) >= 2).count()
        };
        assert_eq!(waiting_first(0), 0);
        assert!((430..570).contains(&waiting_first(256)));
        let below_what_waits = |seed: &u64| {
            let mut pct = pct(*seed, 2, 1);
            pct.next(&Lanes {
                lanes: &[1, 9],
                prompt: 1,
            }) == 1
        };
        let count = (0..1_000).filter(below_what_waits).count();
        assert!((210..290).contains(&count), "{count}");
    }

    /// Pinned: which words decide. If this fails, seeds that people wrote down no longer repeat their runs.
    #[test]
    fn priorities_are_pinned() {
        let mut pct = pct(42, 3, 12);
        let order: Vec<u64> = (0..12).map(|_| next(&mut pct, &[1, 2, 3, 4, 5])).collect();
        assert_eq!(order, [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 4, 4]);
    }

    proptest! {
        /// Without change points there is one order of all lanes: of any that can go, the same one does, whatever
        /// went before and in whatever order they are listed.
        #[test]
        fn priorities_are_one_order(
            seed in 0..SEED_END,
            sets in prop::collection::vec(prop::collection::vec(any::<u64>(), 1..6), 1..12),
        ) {
            let mut whole = pct(seed, 1, 50);
            for lanes in &sets {
                let chosen = next(&mut whole, lanes);
                for &other in lanes {
                    prop_assert_eq!(next(&mut pct(seed, 1, 50), &[other, chosen]), chosen);
                }
                let reversed: Vec<u64> = lanes.iter().rev().copied().collect();
                prop_assert_eq!(next(&mut whole, &reversed), chosen);
            }
        }

        /// Between the change points nothing changes; each lets the lane that is about to go fall below all others that
        /// need not wait, and when all are spent as many lanes have fallen as there were.
        #[test]
        fn change_points_let_lanes_fall(seed in 0..SEED_END, depth in 1..=Depth::MAX, length in 1u32..60) {
            let lanes: Vec<u64> = (0..40).collect();
            let mut pct = pct(seed, depth, length);
            let due: BTreeSet<u32> = pct.changes.iter().map(|change| change.at).collect();
            prop_assert_eq!(pct.changes.len(), usize::from(depth) - 1);
            prop_assert!(due.iter().all(|&at| at < length));
            let mut last = None;
            let mut seen = BTreeSet::new();
            for at in 0..length {
                let lane = next(&mut pct, &lanes);
                if last != Some(lane) {
                    prop_assert!(last.is_none() || due.contains(&at), "a change at {} without a point", at);
                    prop_assert!(seen.insert(lane), "{} came back", lane);
                }
                last = Some(lane);
            }
            let fallen: BTreeSet<u64> = pct.changes.iter().filter_map(|change| change.lane).collect();
            prop_assert_eq!(fallen.len(), pct.changes.len());
            for &lane in &fallen {
                prop_assert_eq!(next(&mut pct, &[lane, 99]), 99);
            }
            // Among those that have fallen, the order is that of the points' numbers.
            if let [first, .., second] = pct.changes.as_slice()
                && first.to.rank == second.to.rank
            {
                let (first, second) = (first.lane.expect("fallen"), second.lane.expect("fallen"));
                prop_assert_eq!(next(&mut pct, &[first, second]), second);
            }
        }

        #[test]
        fn the_same_seed_has_the_same_priorities(
            seed in 0..SEED_END,
            depth in 1..=Depth::MAX,
            sets in prop::collection::vec(prop::collection::vec(0..9u64, 1..6), 1..40),
        ) {
            let order = || {
                let mut pct = pct(seed, depth, 40);
                sets.iter().map(|lanes| next(&mut pct, lanes)).collect::<Vec<_>>()
            };
            prop_assert_eq!(order(), order());
        }
    }
}
