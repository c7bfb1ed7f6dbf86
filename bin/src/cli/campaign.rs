//! Many runs over threads: the same failures in the same order for any number of them.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::sim::choose::derive_seed;

/// Runs are handed to threads in chunks of so many, in order.
const CHUNK: u64 = 16;

/// What to run.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The campaign's seed; each run's own is derived from it and the run's index.
    pub(crate) seed: u64,
    /// The runs, by index.
    pub(crate) runs: Range<u64>,
    /// When to stop at the latest.
    pub(crate) deadline: Option<Instant>,
    /// How many threads.
    pub(crate) jobs: u16,
    /// Whether to go on after a failure.
    pub(crate) keep_going: bool,
}

/// A run that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Failed<F> {
    /// Its index.
    pub(crate) index: u64,
    /// Its own seed.
    pub(crate) seed: u64,
    /// What was found.
    pub(crate) found: F,
}

/// What a campaign gave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Swept<F> {
    /// The failures, in the order of their index.
    pub(crate) failures: Vec<Failed<F>>,
    /// Every run before this index is done.
    pub(crate) next: u64,
    /// Whether it was interrupted or ran out of time before its end.
    pub(crate) cut_short: bool,
}

/// A run that is to be played.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Run {
    /// Its index.
    pub(crate) index: u64,
    /// Its own seed.
    pub(crate) seed: u64,
}

/// Plays the runs of a plan. `play` gets a run and what its thread has kept of the runs before, all with lower indices, and
/// returns what was found, if it failed. What the threads have kept is returned in no order.
///
/// Without `keep_going` the failure with the lowest index is the only one returned, whichever
/// thread is first to find one; every run before it has been played.
pub(crate) fn sweep<F: Send, K: Default + Send>(
    plan: &Plan,
    stop: &AtomicBool,
    play: impl Fn(Run, &mut K) -> Option<F> + Sync,
) -> (Swept<F>, Vec<K>) {
    let board = Board {
        next: AtomicU64::new(plan.runs.start),
        first_failure: AtomicU64::new(u64::MAX),
        tally: Mutex::new(Tally {
            failures: vec![],
            unfinished: vec![],
            kept: vec![],
        }),
    };
    std::thread::scope(|scope| {
        for _ in 1..plan.jobs {
            scope.spawn(|| work(plan, stop, &board, &play));
        }
        work(plan, stop, &board, &play);
    });
    let dispensed = board.next.into_inner().min(plan.runs.end);
    let tally = board
        .tally
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    let kept = tally.kept;
    let mut failures = tally.failures;
    failures.sort_by_key(|failed| failed.index);
    let mut next = tally.unfinished.into_iter().min().unwrap_or(dispensed);
    if !plan.keep_going {
        failures.truncate(1);
        if let Some(first) = failures.first() {
            // Runs after the first failure do not matter, those before it do.
            let cut_short = next <= first.index;
            next = next.min(first.index + 1);
            let swept = Swept {
                next,
                cut_short,
                failures,
            };
            return (swept, kept);
        }
    }
    let swept = Swept {
        cut_short: next < plan.runs.end,
        next,
        failures,
    };
    (swept, kept)
}

/// What the threads share.
struct Board<F, K> {
    next: AtomicU64,
    /// Without `keep_going`: runs after this index need not be played.
    first_failure: AtomicU64,
    tally: Mutex<Tally<F, K>>,
}

struct Tally<F, K> {
    failures: Vec<Failed<F>>,
    /// Where chunks were given up.
    unfinished: Vec<u64>,
    /// Of each thread that has ended.
    kept: Vec<K>,
}

impl<F, K> Board<F, K> {
    fn tally(&self) -> MutexGuard<'_, Tally<F, K>> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn work<F, K: Default>(
    plan: &Plan,
    stop: &AtomicBool,
    board: &Board<F, K>,
    play: &impl Fn(Run, &mut K) -> Option<F>,
) {
    let mut kept = K::default();
    while play_chunk(plan, stop, board, |run| play(run, &mut kept)) {}
    board.tally().kept.push(kept);
}

/// Plays the next chunk of runs, if there is one; whether there may be more to play.
fn play_chunk<F, K>(
    plan: &Plan,
    stop: &AtomicBool,
    board: &Board<F, K>,
    mut play: impl FnMut(Run) -> Option<F>,
) -> bool {
    let over =
        || stop.load(Ordering::Relaxed) || plan.deadline.is_some_and(|end| Instant::now() >= end);
    let from = board.next.fetch_add(CHUNK, Ordering::Relaxed);
    if from >= plan.runs.end {
        return false;
    }
    let mut failures = vec![];
    let mut unfinished = None;
    for index in from..(from + CHUNK).min(plan.runs.end) {
        if !plan.keep_going && index > board.first_failure.load(Ordering::Relaxed) {
            break;
        }
        if over() {
            unfinished = Some(index);
            break;
        }
        let seed = derive_seed(plan.seed, index);
        if let Some(found) = play(Run { index, seed }) {
            board.first_failure.fetch_min(index, Ordering::Relaxed);
            failures.push(Failed { index, seed, found });
            if !plan.keep_going {
                break;
            }
        }
    }
    let ended = unfinished.is_some() || (!plan.keep_going && !failures.is_empty());
    let mut tally = board.tally();
    tally.failures.extend(failures);
    tally.unfinished.extend(unfinished);
    !ended
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(jobs: u16, keep_going: bool) -> Plan {
        Plan {
            seed: 7,
            runs: 0..1000,
            deadline: None,
            jobs,
            keep_going,
        }
    }

    /// A run fails by its seed alone, now and then slowly.
    fn play(run: Run, kept: &mut Vec<u64>) -> Option<u64> {
        let seed = run.seed;
        kept.push(run.index);
        if seed.is_multiple_of(5) {
            std::thread::yield_now();
        }
        (seed % 97 == 3).then_some(seed)
    }

    /// What a sweep gives; what its threads keep is in the order of the runs, and holds every run that counts.
    fn swept(plan: &Plan, stop: &AtomicBool) -> Swept<u64> {
        let (swept, kept) = sweep(plan, stop, play);
        assert_eq!(kept.len(), usize::from(plan.jobs));
        assert!(kept.iter().all(|indices| indices.is_sorted()));
        let mut all: Vec<u64> = kept.concat();
        all.sort_unstable();
        all.truncate(swept.next as usize);
        assert!(all.into_iter().eq(0..swept.next));
        swept
    }

    #[test]
    fn the_number_of_threads_changes_nothing() {
        let stop = AtomicBool::new(false);
        for keep_going in [false, true] {
            let one = swept(&plan(1, keep_going), &stop);
            assert!(!one.failures.is_empty() && !one.cut_short);
            for jobs in [2, 3, 8] {
                for _ in 0..20 {
                    assert_eq!(swept(&plan(jobs, keep_going), &stop), one);
                }
            }
        }
    }

    #[test]
    fn a_campaign_without_failures_plays_every_run() {
        let played = AtomicU64::new(0);
        let (swept, _) = sweep(
            &plan(4, false),
            &AtomicBool::new(false),
            |_, (): &mut ()| {
                played.fetch_add(1, Ordering::Relaxed);
                None::<()>
            },
        );
        assert_eq!(
            (played.into_inner(), swept.next, swept.cut_short),
            (1000, 1000, false)
        );
    }

    #[test]
    fn an_interrupted_campaign_says_where_it_was() {
        let stop = AtomicBool::new(false);
        let played = Mutex::new(std::collections::BTreeSet::new());
        let (swept, _) = sweep(&plan(3, true), &stop, |run, (): &mut ()| {
            let mut played = played.lock().expect("no run panics");
            played.insert(run.seed);
            if played.len() == 300 {
                stop.store(true, Ordering::Relaxed);
            }
            None::<()>
        });
        let played = played.into_inner().expect("no run panics");
        assert!(swept.cut_short, "{}", swept.next);
        // However the threads were scheduled: what counts as played was, and not all of it was.
        assert!((0..swept.next).all(|index| played.contains(&derive_seed(7, index))));
        assert!(swept.next <= played.len() as u64 && played.len() < 1000);
    }

    #[test]
    fn time_runs_out() {
        let mut plan = plan(2, false);
        plan.deadline = Some(Instant::now());
        let swept = swept(&plan, &AtomicBool::new(false));
        assert_eq!((swept.next, swept.cut_short), (0, true));
    }
}
