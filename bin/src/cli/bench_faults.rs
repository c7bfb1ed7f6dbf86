//! `mcpsim bench-faults`: how many schedules each strategy needs until it finds each fault of the catalogue. It counts
//! schedules and no time, so that its numbers are the same everywhere.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde::Serialize;

use super::args::{BenchFaultsArgs, Format};
use super::outcome::{Failure, Outcome, Result, counted, print, unknown};
use super::play::{Play, Stop};
use super::report::to_json;
use super::run::cores;
use super::{interrupt, seed, strategies};
use crate::scenarios::{Fault, fault, faults};
use crate::sim::choose::{SEED_END, derive_seed};
use crate::sim::shrink::Target;
use crate::sim::strategy::Strategy;
use crate::traces::event::Nothing;

/// Runs the command.
///
/// # Errors
/// Names that are not known, seeds that are none.
pub(crate) fn bench_faults(args: &BenchFaultsArgs) -> Result<Outcome> {
    let bench = Bench::new(args)?;
    let stop = interrupt::flag()?;
    let Some(measured) = bench.measure(args.jobs.unwrap_or_else(cores), stop) else {
        return Ok(Outcome::Interrupted);
    };
    let report = bench.report(&measured);
    match args.format {
        Format::Json => print(&to_json(&report)?)?,
        Format::Text => print(&report.text())?,
    }
    Ok(if report.summary.never_found.is_empty() {
        Outcome::Clean
    } else {
        Outcome::Found
    })
}

/// What is measured.
struct Bench {
    strategies: Vec<Strategy>,
    faults: Vec<&'static Fault>,
    /// Of each fault, its scenario, until its rule is broken.
    plays: Vec<Play>,
    /// Of the first campaign.
    seed: u64,
    /// How many campaigns.
    seeds: u64,
    /// Schedules of a campaign at most.
    runs: u64,
}

impl Bench {
    fn new(args: &BenchFaultsArgs) -> Result<Bench> {
        let named = |names: &mut dyn Iterator<Item = &str>| -> Result<Vec<Strategy>> {
            names.map(strategies::named).collect()
        };
        let strategies = match args.strategy.as_slice() {
            [] => named(&mut Strategy::NAMES.into_iter())?,
            names => named(&mut names.iter().map(String::as_str))?,
        };
        let known = || faults().iter().map(|fault| fault.name);
        let faults: Vec<&Fault> = match args.fault.as_slice() {
            [] => faults().iter().collect(),
            names => names
                .iter()
                .map(|name| fault(name).ok_or_else(|| unknown("fault", name, known())))
                .collect::<Result<_>>()?,
        };
        let seed = seed::checked(args.seed)?;
        if args.seeds > SEED_END - seed {
            return Err(Failure::new(format!(
                "--seed {seed} with --seeds {}: the last campaign would have a seed of 2^53 or more",
                args.seeds
            )));
        }
        let play = |fault: &&Fault| {
            let target = Target {
                rule: fault.rule,
                blame: fault.blame,
            };
            Play::find(None, None, Some(fault.name), Stop::Target(target))
        };
        Ok(Bench {
            plays: faults.iter().map(play).collect::<Result<_>>()?,
            strategies,
            faults,
            seed,
            seeds: args.seeds,
            runs: args.runs,
        })
    }

    /// Of each strategy and fault, its campaigns; `None` where Ctrl-C came. Threads take campaigns in any order, and each
    /// has its own place.
    fn measure(&self, jobs: u16, stop: &AtomicBool) -> Option<Vec<Vec<Counts>>> {
        let seeds = self.seeds as usize;
        let per_strategy = self.faults.len() * seeds;
        let total = self.strategies.len() * per_strategy;
        let places: Vec<OnceLock<Option<u64>>> = (0..total).map(|_| OnceLock::new()).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some((at, place)) = take(&places, &next) {
                let strategy = self.strategies[at / per_strategy];
                let play = &self.plays[at % per_strategy / seeds];
                let seed = self.seed + (at % seeds) as u64;
                let Some(found) = campaign(play, strategy, seed, self.runs, stop) else {
                    return;
                };
                place.get_or_init(|| found);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..jobs {
                scope.spawn(work);
            }
            work();
        });
        let counts: Option<Vec<Option<u64>>> =
            places.into_iter().map(OnceLock::into_inner).collect();
        let counts = counts?;
        let of_strategy = |counts: &[Option<u64>]| {
            counts
                .chunks(seeds)
                .map(|campaigns| Counts::new(campaigns.to_vec()))
                .collect()
        };
        Some(counts.chunks(per_strategy).map(of_strategy).collect())
    }

    fn report(&self, measured: &[Vec<Counts>]) -> Report {
        let fault_row = |(at, fault): (usize, &&'static Fault)| FaultRow {
            fault: fault.name,
            scenario: fault.scenario,
            needs_schedule: fault.needs_schedule,
            by_strategy: measured.iter().map(|counts| counts[at].row()).collect(),
        };
        let rows: Vec<FaultRow> = self.faults.iter().enumerate().map(fault_row).collect();
        let never = |row: &&FaultRow| row.by_strategy.iter().all(|counts| counts.found == 0);
        Report {
            schema: "mcpsim-bench-faults/1",
            seed: self.seed,
            seeds: self.seeds,
            runs: self.runs,
            strategies: self.strategies.iter().map(Strategy::to_string).collect(),
            summary: Summary {
                faults: rows.len(),
                need_schedule: rows.iter().filter(|row| row.needs_schedule).count(),
                never_found: rows.iter().filter(never).map(|row| row.fault).collect(),
                by_strategy: (0..self.strategies.len())
                    .map(|strategy| summed_up(&rows, strategy, self.seeds))
                    .collect(),
            },
            faults: rows,
        }
    }
}

/// The next place that nobody has taken yet.
fn take<'a, T>(places: &'a [T], next: &AtomicUsize) -> Option<(usize, &'a T)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    places.get(at).map(|place| (at, place))
}

/// After how many schedules the play fails, if it does; `None` where Ctrl-C came.
fn campaign(
    play: &Play,
    strategy: Strategy,
    seed: u64,
    runs: u64,
    stop: &AtomicBool,
) -> Option<Option<u64>> {
    for index in 0..runs {
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        let mut drawn = play.drawn(strategy, derive_seed(seed, index));
        let outcome = drawn.play.run(&mut drawn.dice, &mut Nothing);
        if play.failure(&outcome.findings).is_some() {
            return Some(Some(index + 1));
        }
    }
    Some(None)
}

/// How many schedules each campaign took, fewest first; last those that were given up.
struct Counts(Vec<Option<u64>>);

impl Counts {
    fn new(mut all: Vec<Option<u64>>) -> Counts {
        all.sort_by_key(|&count| rank(count));
        Counts(all)
    }

    fn row(&self) -> CountsRow {
        CountsRow {
            found: self.0.iter().flatten().count() as u64,
            median: median(&self.0).flatten(),
            worst: self.0.last().copied().flatten(),
        }
    }
}

/// A campaign that was given up is worse than any other.
fn rank(count: Option<u64>) -> u64 {
    count.unwrap_or(u64::MAX)
}

/// What stands in the middle of a sorted list; of an even number the lower one, so that it is one that was counted.
fn median<T: Copy>(sorted: &[T]) -> Option<T> {
    sorted.get(sorted.len().checked_sub(1)? / 2).copied()
}

/// One strategy over all faults.
fn summed_up(rows: &[FaultRow], strategy: usize, seeds: u64) -> StrategyRow {
    let of = |row: &FaultRow| row.by_strategy[strategy];
    let needing = || rows.iter().filter(|row| row.needs_schedule);
    let mut medians: Vec<Option<u64>> = needing().map(|row| of(row).median).collect();
    medians.sort_by_key(|&count| rank(count));
    // Of equals the first of the catalogue.
    let worst = rows
        .iter()
        .rev()
        .max_by_key(|row| (rank(of(row).median), rank(of(row).worst)));
    StrategyRow {
        always_found: rows.iter().filter(|row| of(row).found == seeds).count(),
        found: rows.iter().filter(|row| of(row).found > 0).count(),
        median: median(&medians).flatten(),
        worst_fault: worst.map(|row| row.fault),
        worst_median: worst.and_then(|row| of(row).median),
        worst: rows
            .iter()
            .map(|row| of(row).worst)
            .max_by_key(|&count| rank(count))
            .flatten(),
    }
}

/// `mcpsim bench-faults --format json`
#[derive(Serialize, Debug)]
struct Report {
    /// `mcpsim-bench-faults/1`
    schema: &'static str,
    /// Of the first campaign.
    seed: u64,
    /// How many campaigns each fault had.
    seeds: u64,
    /// After how many schedules a campaign was given up.
    runs: u64,
    /// By name; all that is told by strategy is in this order.
    strategies: Vec<String>,
    summary: Summary,
    /// In the order of the catalogue.
    faults: Vec<FaultRow>,
}

#[derive(Serialize, Debug)]
struct Summary {
    faults: usize,
    need_schedule: usize,
    /// Faults that no campaign of any strategy found.
    never_found: Vec<&'static str>,
    by_strategy: Vec<StrategyRow>,
}

#[derive(Serialize, Debug)]
struct StrategyRow {
    /// Faults that every campaign found, and that any did.
    always_found: usize,
    found: usize,
    /// Of the medians of the faults that need a schedule.
    median: Option<u64>,
    /// The fault with the highest median, that median, and the longest campaign of any fault.
    worst_fault: Option<&'static str>,
    worst_median: Option<u64>,
    worst: Option<u64>,
}

#[derive(Serialize, Debug)]
struct FaultRow {
    fault: &'static str,
    scenario: &'static str,
    needs_schedule: bool,
    by_strategy: Vec<CountsRow>,
}

/// Schedules until it was found; null where that campaign was given up.
#[derive(Serialize, Clone, Copy, Debug)]
struct CountsRow {
    /// How many campaigns found it.
    found: u64,
    median: Option<u64>,
    worst: Option<u64>,
}

impl Report {
    /// As Markdown that lines up: every fault, then the strategies.
    fn text(&self) -> String {
        let Summary {
            faults,
            need_schedule,
            never_found,
            by_strategy,
        } = &self.summary;
        let names = self.strategies.iter().cloned();
        let mut rows = vec![
            ["fault", "scenario", "needs a schedule"]
                .map(str::to_owned)
                .to_vec(),
        ];
        rows[0].extend(names.clone());
        for row in &self.faults {
            let needs = if row.needs_schedule { "yes" } else { "" };
            let mut cells = [row.fault, row.scenario, needs].map(str::to_owned).to_vec();
            cells.extend(row.by_strategy.iter().map(|counts| self.cell(counts)));
            rows.push(cells);
        }
        let every = table(&rows);
        let head = [
            "strategy",
            "always found",
            "median",
            "worst fault",
            "its median",
            "worst campaign",
        ];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        for (name, row) in names.zip(by_strategy) {
            rows.push(vec![
                name,
                format!("{} of {faults}", row.always_found),
                self.number(row.median),
                row.worst_fault.unwrap_or("").to_owned(),
                self.number(row.worst_median),
                self.number(row.worst),
            ]);
        }
        let verdict = match never_found.as_slice() {
            [] => format!("all of {} found", counted(*faults as u64, "fault")),
            never => format!("found by no strategy: {}", never.join(", ")),
        };
        let last = self.seed + (self.seeds - 1);
        format!(
            "Schedules until a fault is found: the median of {}, with the seeds {} to {last}, each given up after {}.\n\n\
             {every}\n\
             Over all faults. The median is that of the medians of the {need_schedule} that need a schedule.\n\n\
             {}\n{verdict}\n",
            counted(self.seeds, "campaign"),
            self.seed,
            counted(self.runs, "schedule"),
            table(&rows),
        )
    }

    /// A median, and how many campaigns found it where not all did.
    fn cell(&self, counts: &CountsRow) -> String {
        let median = self.number(counts.median);
        match counts.found {
            found if found == self.seeds => median,
            0 => median,
            found => format!("{median} ({found} of {})", self.seeds),
        }
    }

    fn number(&self, count: Option<u64>) -> String {
        count.map_or_else(|| format!("> {}", self.runs), |count| count.to_string())
    }
}

/// A table whose first row is its head.
fn table(rows: &[Vec<String>]) -> String {
    let widths: Vec<usize> = (0..rows[0].len())
        .map(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0))
        .collect();
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells
            .iter()
            .zip(&widths)
            .map(|(cell, &width)| format!("{cell:width$}"))
            .collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rule: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();
    let mut text = line(&rows[0]);
    text.push_str(&line(&rule));
    rows[1..].iter().for_each(|row| text.push_str(&line(row)));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Campaigns that were given up count as the longest, and a median is one of what was counted.
    #[test]
    fn counts_are_summed_up() {
        let row = |counts: &[Option<u64>]| {
            let row = Counts::new(counts.to_vec()).row();
            (row.found, row.median, row.worst)
        };
        assert_eq!(row(&[Some(9), Some(1), Some(4)]), (3, Some(4), Some(9)));
        assert_eq!(row(&[Some(9), Some(1)]), (2, Some(1), Some(9)));
        assert_eq!(row(&[None, Some(1), Some(4)]), (2, Some(4), None));
        assert_eq!(row(&[None, None, Some(4)]), (1, None, None));
        assert_eq!(median::<u64>(&[]), None);
    }

    /// Only faults that need a schedule count for the median; all of them for the rest.
    #[test]
    fn a_strategy_is_summed_up() {
        let fault = |name, needs_schedule, counts: &[Option<u64>]| FaultRow {
            fault: name,
            scenario: "s",
            needs_schedule,
            by_strategy: vec![Counts::new(counts.to_vec()).row()],
        };
        let mut rows = vec![
            fault("plain", false, &[Some(1), Some(1), Some(40)]),
            fault("easy", true, &[Some(2), Some(2), Some(3)]),
            fault("hard", true, &[Some(5), Some(6), Some(7)]),
            fault("as hard", true, &[Some(6), Some(6), Some(7)]),
        ];
        let row = summed_up(&rows, 0, 3);
        assert_eq!((row.always_found, row.found, row.median), (4, 4, Some(6)));
        assert_eq!((row.worst_fault, row.worst_median), (Some("hard"), Some(6)));
        assert_eq!(row.worst, Some(40));
        rows.push(fault("harder", true, &[Some(6), None, None]));
        rows.push(fault("hidden", true, &[None; 3]));
        let row = summed_up(&rows, 0, 3);
        assert_eq!((row.always_found, row.found, row.median), (4, 5, Some(6)));
        assert_eq!((row.worst_fault, row.worst_median), (Some("harder"), None));
        assert_eq!(row.worst, None);
        let row = summed_up(&rows[..1], 0, 3);
        assert_eq!((row.median, row.worst_fault), (None, Some("plain")));
    }
}
