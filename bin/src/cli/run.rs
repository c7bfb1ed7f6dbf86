//! `mcpsim run`: a campaign of seeded runs; each failure is saved, shrunk and shown.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::args::{FailOn, Format, RunArgs};
use super::campaign::{Plan, Swept, sweep};
use super::coverage::{Campaign, CoverageSummary, write_report};
use super::failures::{Failed, first_failure, record_drawn, save_and_shrink};
use super::interrupt;
use super::outcome::{Failure, Outcome, Result, counted, print, remark, shown};
use super::play::{Play, Stop};
use super::progress::{Group, Progress};
use super::report::{RunReport, to_json};
use super::store::{Whole, same_file, write_whole};
use super::strategies;
use crate::models::{Coverage, Monitor, rule};
use crate::scenarios::fault;
use crate::sim::shrink::Target;
use crate::sim::strategy::Strategy;
use crate::sim::world::RunEnd;
use crate::traces::event::Nothing;
use crate::traces::judge::Severity;
use crate::traces::show::escape;

/// How many executions shrinking one failure may take.
const SHRINK_EXECUTIONS_MAX: u32 = 10_000;

impl From<FailOn> for Severity {
    fn from(fail_on: FailOn) -> Severity {
        match fail_on {
            FailOn::Error => Severity::Error,
            FailOn::Warning => Severity::Warning,
        }
    }
}

/// Runs the command.
///
/// # Errors
/// A scenario, fault or flag that cannot be used; a file that cannot be written.
pub(crate) fn run(args: &RunArgs) -> Result<Outcome> {
    let fail_on = fail_on(args);
    let play = Play::find(
        args.scenario.as_deref(),
        args.scenario_file.as_deref(),
        args.fault.as_deref(),
        Stop::At(fail_on),
    )?;
    let strategy = strategies::named(&args.strategy)?;
    let progress = Progress::start(args, &play, strategy)?;
    let seed = progress.seed;
    let runs = progress.runs.clone();
    if args.record.is_some() && runs.end - runs.start != 1 {
        return Err(Failure::new(
            "--record keeps the trace of a single run: give --seed, or --runs 1",
        ));
    }
    let report = coverage_file(args)?;
    let opening = opening(&play, strategy, seed, runs.end, args.time);
    match args.format {
        Format::Text => print(&format!("{opening}\n"))?,
        // A report is one object on standard output; a fresh seed must be known before the first step all the same.
        Format::Json if args.seed.is_none() => remark(&opening),
        Format::Json => {}
    }
    if let Some(path) = &args.record {
        let recorded = record_drawn(play.drawn(strategy, seed))?;
        write_whole(path, &recorded.bytes)?;
    }
    let plan = Plan {
        seed,
        runs,
        // A time that no clock can hold is no limit.
        deadline: args.time.and_then(|time| Instant::now().checked_add(time)),
        jobs: args.jobs.unwrap_or_else(cores),
        keep_going: args.keep_going,
    };
    let stop = interrupt::flag()?;
    let unfinished = AtomicU64::new(0);
    let (swept, kept) = sweep(&plan, stop, |run, reached: &mut Coverage| {
        let see = |judge: &Monitor| reached.add(run.index, judge);
        let mut drawn = play.drawn(strategy, run.seed);
        let outcome = drawn.play.run_seen(&mut drawn.dice, &mut Nothing, see);
        if outcome.ended.end == RunEnd::Unfinished {
            unfinished.fetch_add(1, Ordering::Relaxed);
        }
        first_failure(&outcome.findings, fail_on).map(|finding| Target {
            rule: finding.rule,
            blame: finding.blame,
        })
    });
    let groups = progress.groups(&swept);
    let coverage = progress.coverage(&swept, &kept);
    progress.save(&swept, &coverage)?;
    if swept.next == plan.runs.start && groups.is_empty() && !stop.load(Ordering::Relaxed) {
        return Err(Failure::new(
            "the time was up before the first run: nothing was judged",
        ));
    }
    let campaign = Campaign {
        scenario: play.name(),
        fault: play.fault(),
        strategy,
        seed,
        runs: swept.next,
        complete: !swept.cut_short,
    };
    if let Some(file) = report {
        write_report(file, &campaign, &coverage)?;
    }
    let coverage = CoverageSummary::new(&coverage);
    let outcome = finish(args, &play, &campaign, &swept, &groups, coverage, stop)?;
    let unfinished = unfinished.into_inner();
    // Without a failure every run was played, so that the number does not depend on the threads.
    if unfinished > 0 && groups.is_empty() {
        let were = if unfinished == 1 { "was" } else { "were" };
        remark(&format!(
            "mcpsim: {unfinished} of these runs reached the bound of steps (`bounds.steps_max`) and {were} not judged for hangs"
        ));
    }
    Ok(outcome)
}

/// The file of `--coverage`, begun: whoever gives a path that leads nowhere is told before the first run.
fn coverage_file(args: &RunArgs) -> Result<Option<Whole>> {
    let Some(path) = &args.coverage else {
        return Ok(None);
    };
    let inputs = [&args.scenario_file, &args.record];
    if let Some(other) = inputs
        .into_iter()
        .flatten()
        .find(|other| same_file(other, path))
    {
        let message = "--coverage would take the place of this file: give another one";
        return Err(Failure::new(format!("{}: {message}", shown(other))));
    }
    Whole::new(path).map(Some)
}

/// As the command line says; without a word of it, whatever the rule of the fault that was put in has.
fn fail_on(args: &RunArgs) -> Severity {
    args.fail_on.map_or_else(
        || {
            let broken = args.fault.as_deref().and_then(fault);
            let severity = broken
                .and_then(|fault| rule(fault.rule))
                .map(|rule| rule.severity);
            // A rule can be milder than its row says, by revision or by what is broken of it.
            severity.map_or(Severity::Error, |severity| severity.min(Severity::Warning))
        },
        Severity::from,
    )
}

pub(crate) fn cores() -> u16 {
    std::thread::available_parallelism()
        .map_or(1, |count| u16::try_from(count.get()).unwrap_or(u16::MAX))
}

fn opening(
    play: &Play,
    strategy: Strategy,
    seed: u64,
    runs: u64,
    time: Option<Duration>,
) -> String {
    let fault = play
        .fault()
        .map(|fault| format!(" · fault {fault}"))
        .unwrap_or_default();
    let limit = match (runs, time) {
        (u64::MAX, Some(time)) => format!("runs for {time:?}"),
        (runs, _) => counted(runs, "run"),
    };
    format!(
        "mcpsim {} · scenario {}{fault} · strategy {strategy} · seed {seed} · {limit}",
        env!("CARGO_PKG_VERSION"),
        escape(play.name())
    )
}

fn finish(
    args: &RunArgs,
    play: &Play,
    campaign: &Campaign<'_>,
    swept: &Swept<Target>,
    groups: &[Group],
    coverage: CoverageSummary,
    stop: &AtomicBool,
) -> Result<Outcome> {
    if args.format == Format::Text {
        print(&coverage.lines(swept.next))?;
    }
    let mut failures = vec![];
    for group in groups {
        let mut failed = save_and_shrink(
            play.drawn(campaign.strategy, group.seed),
            group.target,
            &args.out,
            SHRINK_EXECUTIONS_MAX,
        )?;
        failed.runs = group.runs;
        if args.format == Format::Text {
            print(&screen(&failed, args.keep_going)?)?;
        }
        failures.push(failed);
    }
    let interrupted = stop.load(std::sync::atomic::Ordering::Relaxed);
    match args.format {
        Format::Json => print(&to_json(&RunReport {
            schema: "mcpsim-run/1",
            seed: campaign.seed,
            strategy: campaign.strategy.to_string(),
            scenario: campaign.scenario.to_owned(),
            fault: campaign.fault.map(str::to_owned),
            runs: campaign.runs,
            complete: campaign.complete,
            coverage,
            failures: failures.iter().map(Failed::report).collect(),
        })?)?,
        Format::Text => print(&closing(swept, &failures, campaign.complete, interrupted))?,
    }
    Ok(match (interrupted, failures.is_empty()) {
        (true, _) => Outcome::Interrupted,
        (false, true) => Outcome::Clean,
        (false, false) => Outcome::Found,
    })
}

fn screen(failed: &Failed, keep_going: bool) -> Result<String> {
    let short = &failed.shrunk;
    let mut text = format!("\n{}", short.screen()?);
    let minimal = if short.minimal {
        ""
    } else {
        " (the limit on executions was reached)"
    };
    text.push_str(&format!(
        "\n       {} of {} left after {}{minimal}\n       run: seed {}, strategy {}, saved as {}\n",
        short.frames,
        counted(failed.frames_before, "frame"),
        counted(short.executions, "execution"),
        failed.seed,
        failed.strategy,
        shown(&failed.trace)
    ));
    if keep_going {
        let plural = if failed.runs == 1 {
            "run fails"
        } else {
            "runs fail"
        };
        text.push_str(&format!("       {} {plural} this way\n", failed.runs));
    }
    text.push_str(&format!("repeat: {}\n", failed.repeat()));
    Ok(text)
}

/// The last lines; after a single failure its own repeat line stays last.
fn closing(
    swept: &Swept<Target>,
    failures: &[Failed],
    complete: bool,
    interrupted: bool,
) -> String {
    let mut text = String::new();
    let plural = if swept.next == 1 { "run" } else { "runs" };
    if interrupted {
        text.push_str(&format!(
            "interrupted after {} {plural}; go on with --resume\n",
            swept.next
        ));
    } else if !complete {
        text.push_str(&format!(
            "time is up after {} {plural}; go on with --resume\n",
            swept.next
        ));
    }
    if failures.is_empty() {
        text.push_str(&format!("nothing found in {} {plural}\n", swept.next));
    }
    text
}
