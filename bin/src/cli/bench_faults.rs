//! `mcpsim bench-faults`: how many schedules each strategy needs until it finds each fault of the catalogue. It counts
//! schedules and no time, so that its numbers are the same everywhere.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::args::{BenchFaultsArgs, Format};
use super::outcome::{Outcome, Result, print, unknown};
use super::play::{Play, Stop};
use super::report::{BenchFaultsReport, FaultBench, StrategyBench, to_json};
use super::run::cores;
use super::{interrupt, strategies};
use crate::scenarios::{Fault, fault, faults};
use crate::sim::choose::derive_seed;
use crate::sim::shrink::Target;
use crate::sim::strategy::Strategy;
use crate::traces::event::Nothing;

/// Runs the command.
///
/// # Errors
/// Names that are not known.
pub(crate) fn bench_faults(args: &BenchFaultsArgs) -> Result<Outcome> {
    let strategies: Vec<Strategy> = match args.strategy.as_slice() {
        [] => Strategy::NAMES
            .iter()
            .map(|name| strategies::named(name))
            .collect::<Result<_>>()?,
        names => names
            .iter()
            .map(|name| strategies::named(name))
            .collect::<Result<_>>()?,
    };
    let known = || faults().iter().map(|fault| fault.name);
    let faults: Vec<&Fault> = match args.fault.as_slice() {
        [] => faults().iter().collect(),
        names => names
            .iter()
            .map(|name| fault(name).ok_or_else(|| unknown("fault", name, known())))
            .collect::<Result<_>>()?,
    };
    let Some(benches) = measure(args, &strategies, &faults)? else {
        return Ok(Outcome::Interrupted);
    };
    match args.format {
        Format::Json => print(&to_json(&BenchFaultsReport {
            schema: "mcpsim-bench-faults/1",
            seeds: args.seeds,
            runs_max: args.runs_max,
            strategies: benches.iter().map(Bench::report).collect(),
        })?)?,
        Format::Text => print(&table(&benches, args))?,
    }
    Ok(Outcome::Clean)
}

/// One strategy over all faults that were asked for.
struct Bench {
    strategy: Strategy,
    faults: Vec<(&'static str, bool, Counts)>,
}

/// How many schedules each campaign took, fewest first; none for one that was given up.
struct Counts(Vec<Option<u64>>);

impl Counts {
    fn new(mut all: Vec<Option<u64>>) -> Counts {
        all.sort_by_key(|count| count.unwrap_or(u64::MAX));
        Counts(all)
    }

    /// Of an even number, the lower one of the middle: it is one that was counted.
    fn median(&self) -> Option<u64> {
        self.0[(self.0.len() - 1) / 2]
    }

    fn worst(&self) -> Option<u64> {
        *self.0.last().expect("there is at least one campaign")
    }

    fn found(&self) -> u64 {
        self.0.iter().flatten().count() as u64
    }
}

/// All cells of the table, over threads; `None` where Ctrl-C came.
fn measure(
    args: &BenchFaultsArgs,
    strategies: &[Strategy],
    faults: &[&'static Fault],
) -> Result<Option<Vec<Bench>>> {
    let plays: Vec<Play> = faults
        .iter()
        .map(|fault| {
            let target = Target {
                rule: fault.rule,
                blame: fault.blame,
            };
            Play::find(None, None, Some(fault.name), Stop::Target(target))
        })
        .collect::<Result<_>>()?;
    let stop = interrupt::flag()?;
    // One cell for each strategy and fault, filled in whatever order threads come to them.
    let count = strategies.len() * faults.len();
    let cells: Vec<Mutex<Option<Counts>>> = (0..count).map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(cell) = cells.get(at) else {
                return;
            };
            let (strategy, play) = (strategies[at / faults.len()], &plays[at % faults.len()]);
            let mut counts = vec![];
            for campaign in 1..=args.seeds {
                let mut found = None;
                for index in 0..args.runs_max {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let mut drawn = play.drawn(strategy, derive_seed(campaign, index));
                    let outcome = drawn.play.run(&mut drawn.dice, &mut Nothing);
                    if play.failure(&outcome.findings).is_some() {
                        found = Some(index + 1);
                        break;
                    }
                }
                counts.push(found);
            }
            let mut cell = cell
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            *cell = Some(Counts::new(counts));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..args.jobs.unwrap_or_else(cores) {
            scope.spawn(work);
        }
        work();
    });
    let cells: Option<Vec<Counts>> = cells
        .into_iter()
        .map(|cell| {
            cell.into_inner()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
        })
        .collect();
    let Some(cells) = cells else {
        return Ok(None);
    };
    let mut cells = cells.into_iter();
    let benches = strategies.iter().map(|&strategy| Bench {
        strategy,
        faults: faults
            .iter()
            .zip(&mut cells)
            .map(|(fault, counts)| (fault.name, fault.needs_schedule, counts))
            .collect(),
    });
    Ok(Some(benches.collect()))
}

impl Bench {
    /// Faults that every campaign found.
    fn found(&self) -> usize {
        let always = |(_, _, counts): &&(_, _, Counts)| counts.worst().is_some();
        self.faults.iter().filter(always).count()
    }

    /// All campaigns of faults that need a schedule, as one.
    fn needing(&self) -> Option<Counts> {
        let needing = self.faults.iter().filter(|(_, needs, _)| *needs);
        let all: Vec<_> = needing
            .flat_map(|(_, _, counts)| counts.0.iter().copied())
            .collect();
        (!all.is_empty()).then(|| Counts::new(all))
    }

    /// The fault with the highest median, by how many schedules that is.
    fn hardest(&self) -> &(&'static str, bool, Counts) {
        let hard = |(_, _, counts): &&(_, _, Counts)| counts.median().unwrap_or(u64::MAX);
        // Of equals the first of the catalogue.
        let reversed = self.faults.iter().rev();
        reversed.max_by_key(hard).expect("there is a fault")
    }

    fn report(&self) -> StrategyBench {
        let needing = self.needing();
        let (hardest, _, counts) = self.hardest();
        StrategyBench {
            strategy: self.strategy.to_string(),
            faults_found: self.found() as u64,
            median: needing.as_ref().and_then(Counts::median),
            worst: needing.as_ref().and_then(Counts::worst),
            hardest: (*hardest).to_owned(),
            hardest_median: counts.median(),
            faults: self
                .faults
                .iter()
                .map(|(name, needs, counts)| FaultBench {
                    fault: (*name).to_owned(),
                    needs_schedule: *needs,
                    found: counts.found(),
                    median: counts.median(),
                    worst: counts.worst(),
                })
                .collect(),
        }
    }
}

fn number(count: Option<u64>) -> String {
    count.map_or_else(|| "none".to_owned(), |count| count.to_string())
}

/// The summary, then every fault that needs a schedule, as Markdown that lines up.
fn table(benches: &[Bench], args: &BenchFaultsArgs) -> String {
    let mut rows = vec![
        [
            "strategy",
            "faults always found",
            "median",
            "worst",
            "hardest fault",
            "its median",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    for bench in benches {
        let needing = bench.needing();
        let (hardest, _, counts) = bench.hardest();
        rows.push(vec![
            bench.strategy.to_string(),
            format!("{} of {}", bench.found(), bench.faults.len()),
            number(needing.as_ref().and_then(Counts::median)),
            number(needing.as_ref().and_then(Counts::worst)),
            (*hardest).to_owned(),
            number(counts.median()),
        ]);
    }
    let mut text = format!(
        "Schedules until a fault is found, of campaigns with the seeds 1 to {}, given up after {}. Median and worst are over all\n\
         campaigns of the faults that need a schedule.\n\n{}",
        args.seeds,
        args.runs_max,
        markdown(&rows)
    );
    let mut rows = vec![vec!["fault (median, worst)".to_owned()]];
    rows[0].extend(benches.iter().map(|bench| bench.strategy.to_string()));
    for (at, (name, needs, _)) in benches[0].faults.iter().enumerate() {
        if !needs {
            continue;
        }
        let mut row = vec![(*name).to_owned()];
        row.extend(benches.iter().map(|bench| {
            let counts = &bench.faults[at].2;
            format!("{}, {}", number(counts.median()), number(counts.worst()))
        }));
        rows.push(row);
    }
    if rows.len() > 1 {
        text.push('\n');
        text.push_str(&markdown(&rows));
    }
    text
}

/// A table whose first row is its head.
fn markdown(rows: &[Vec<String>]) -> String {
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
