//! Where a campaign is: its seed and runs, kept on disk so that an interrupted one can go on.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::args::RunArgs;
use super::campaign::Swept;
use super::outcome::{Failure, Result, counted, shown};
use super::play::Play;
use super::seed;
use super::store::write_whole;
use crate::models::{Coverage, rule};
use crate::sim::shrink::Target;
use crate::sim::strategy::Strategy;
use crate::traces::judge::Blame;
use crate::traces::show::escape;

/// How many runs a campaign has when nobody says.
const RUNS_USUAL: u64 = 1_000;

/// A campaign's place, as it is kept on disk.
#[derive(Serialize, Deserialize, PartialEq, Eq, Clone, Debug)]
#[serde(deny_unknown_fields)]
struct Saved {
    /// The scenario with its fault, as traces have it.
    play: String,
    seed: u64,
    /// By what law the runs are drawn.
    strategy: String,
    /// The first run that was not played.
    next: u64,
    /// The end of the campaign's runs.
    end: u64,
    /// What was found before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    found: Vec<SavedGroup>,
    /// What was reached before, by name, with the first run that did.
    #[serde(default)]
    reached: BTreeMap<String, u64>,
}

/// A group of failures, as it is kept on disk.
#[derive(Serialize, Deserialize, PartialEq, Eq, Clone, Debug)]
#[serde(deny_unknown_fields)]
struct SavedGroup {
    rule: String,
    blame: String,
    /// Of its first run.
    seed: u64,
    runs: u64,
}

/// Failures that break the same rule, with the same side to blame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Group {
    /// What they break.
    pub(crate) target: Target,
    /// The seed of the first of them.
    pub(crate) seed: u64,
    /// How many there are.
    pub(crate) runs: u64,
}

/// The seed and runs of a campaign that begins or goes on.
pub(crate) struct Progress {
    /// The campaign's seed.
    pub(crate) seed: u64,
    /// The runs that are to be played.
    pub(crate) runs: Range<u64>,
    /// What an interrupted campaign had found before it goes on.
    before: Vec<Group>,
    /// What it had reached.
    reached: Coverage,
    path: PathBuf,
    play: String,
    strategy: Strategy,
}

impl Progress {
    /// A new campaign, or with `--resume` the rest of the one that was interrupted.
    ///
    /// # Errors
    /// Flags that contradict each other; nothing to go on with.
    pub(crate) fn start(args: &RunArgs, play: &Play, strategy: Strategy) -> Result<Progress> {
        let path = args.out.join("campaign.json");
        let play = play.to_json();
        if args.runs == Some(0) {
            return Err(Failure::new("--runs 0: a campaign needs at least one run"));
        }
        if args.resume {
            return Progress::resume(args, path, play, strategy);
        }
        let (seed, usual) = match args.seed {
            Some(seed) => (seed::checked(seed)?, 1),
            None => (seed::fresh(), RUNS_USUAL),
        };
        // With a limit on time and none on runs, time alone decides.
        let usual = if args.time.is_some() && args.runs.is_none() {
            u64::MAX
        } else {
            usual
        };
        Ok(Progress {
            seed,
            runs: 0..args.runs.unwrap_or(usual),
            before: vec![],
            reached: Coverage::default(),
            path,
            play,
            strategy,
        })
    }

    fn resume(args: &RunArgs, path: PathBuf, play: String, strategy: Strategy) -> Result<Progress> {
        let saved = read(&path)?;
        if saved.play != play {
            let message = "the interrupted campaign played another scenario or fault: give the same, or leave --resume out";
            return Err(Failure::new(format!("{}: {message}", shown(&path))));
        }
        if saved.strategy != strategy.to_string() {
            let message = "the interrupted campaign has another strategy: go on with --strategy";
            return Err(Failure::new(format!(
                "{}: {message} {}",
                shown(&path),
                escape(&saved.strategy)
            )));
        }
        if args.seed.is_some_and(|seed| seed != saved.seed) {
            let seed = saved.seed;
            return Err(Failure::new(format!(
                "{}: the interrupted campaign has seed {seed}",
                shown(&path)
            )));
        }
        let end = args.runs.unwrap_or(saved.end);
        if saved.next >= end {
            return Err(Failure::new(format!(
                "{}: nothing is left of {}: all are played",
                shown(&path),
                counted(end, "run")
            )));
        }
        Ok(Progress {
            seed: saved.seed,
            runs: saved.next..end,
            before: saved
                .found
                .iter()
                .map(|group| group.read(&path))
                .collect::<Result<_>>()?,
            reached: Coverage::restore(&saved.reached, saved.next),
            path,
            play,
            strategy,
        })
    }

    /// All failures of the campaign by what they break and who is to blame, in the order of their first run.
    pub(crate) fn groups(&self, swept: &Swept<Target>) -> Vec<Group> {
        self.groups_before(swept, u64::MAX)
    }

    /// The same of those runs only that come before that index.
    fn groups_before(&self, swept: &Swept<Target>, end: u64) -> Vec<Group> {
        let mut groups = self.before.clone();
        for failed in swept.failures.iter().filter(|failed| failed.index < end) {
            match groups.iter_mut().find(|group| group.target == failed.found) {
                Some(group) => group.runs += 1,
                None => groups.push(Group {
                    target: failed.found,
                    seed: failed.seed,
                    runs: 1,
                }),
            }
        }
        groups
    }

    /// All that the campaign has reached so far, whichever thread played which runs.
    pub(crate) fn coverage(&self, swept: &Swept<Target>, kept: &[Coverage]) -> Coverage {
        let mut all = self.reached.clone();
        for coverage in kept {
            all.merge(coverage);
        }
        // Threads run ahead: what counts are the runs that are counted.
        all.before(swept.next)
    }

    /// Keeps the place of a campaign that was cut short, forgets that of one that has ended.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn save(&self, swept: &Swept<Target>, coverage: &Coverage) -> Result<()> {
        if !swept.cut_short {
            if read(&self.path)
                .is_ok_and(|saved| saved.play == self.play && saved.seed == self.seed)
            {
                fs::remove_file(&self.path)
                    .map_err(|error| Failure::file("remove", &self.path, &error))?;
            }
            return Ok(());
        }
        let saved = Saved {
            play: self.play.clone(),
            seed: self.seed,
            strategy: self.strategy.to_string(),
            next: swept.next,
            end: self.runs.end,
            // Threads run ahead: what they found after `next` will be found again.
            found: self
                .groups_before(swept, swept.next)
                .iter()
                .map(SavedGroup::from)
                .collect(),
            reached: coverage.named(),
        };
        let mut text = serde_json::to_string(&saved).map_err(Failure::new)?;
        text.push('\n');
        write_whole(&self.path, text.as_bytes())
    }
}

impl SavedGroup {
    fn read(&self, path: &Path) -> Result<Group> {
        let known = rule(&self.rule).zip(Blame::parse(&self.blame));
        let (rule, blame) = known.ok_or_else(|| {
            Failure::new(format!(
                "{}: no rule {:?} with blame {:?} is known",
                shown(path),
                self.rule,
                self.blame
            ))
        })?;
        Ok(Group {
            target: Target {
                rule: rule.id,
                blame,
            },
            seed: self.seed,
            runs: self.runs,
        })
    }
}

impl From<&Group> for SavedGroup {
    fn from(group: &Group) -> SavedGroup {
        SavedGroup {
            rule: group.target.rule.to_owned(),
            blame: group.target.blame.as_str().to_owned(),
            seed: group.seed,
            runs: group.runs,
        }
    }
}

fn read(path: &Path) -> Result<Saved> {
    let text = fs::read_to_string(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Failure::new(format!(
            "{}: there is no interrupted campaign to go on with",
            shown(path)
        )),
        _ => Failure::file("read", path, &error),
    })?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::new(format!(
            "{}:{}:{}: {error}",
            shown(path),
            error.line(),
            error.column()
        ))
    })
}
