//! What is played: a scenario with or without a fault, and when to stop; found by name, in a file, or in a
//! trace's header, and written there.

use std::borrow::Cow;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::failures::first_failure;
use super::outcome::{Failure, Result, shown, unknown};
use crate::models::{Monitor, rule};
use crate::scenarios::peer::Peer;
use crate::scenarios::scenario::PartyRole as Role;
use crate::scenarios::{Scenario, ScenarioCase, fault, faults, scenario, scenarios, swarmed};
use crate::sim::choose::{Chooser, Dice, LenientScript};
use crate::sim::run::{Outcome, run_seen};
use crate::sim::setup::Setup;
use crate::sim::shrink::Target;
use crate::sim::strategy::{Strategy, length};
use crate::traces::event::{Choice, Nothing, Sink};
use crate::traces::file::{Header, Link, Party, PartyRole};
use crate::traces::judge::{Blame, Finding, Judge, Severity, Vantage};
use crate::traces::message::Revision;

/// When a run has seen enough.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// At the first broken rule of at least that severity.
    At(Severity),
    /// When that rule is broken with that blame.
    Target(Target),
}

/// A scenario, its fault, and when to stop: all that a seed or a script needs to be a run.
#[derive(Clone, Debug)]
pub(crate) struct Play {
    scenario: Scenario,
    fault: Option<&'static str>,
    stop: Stop,
    setup: Setup<Peer>,
    /// A judge that has seen nothing, for each run to begin with.
    judge: Monitor,
    /// About how many choices of what happens next a run has; counted where a strategy asks for it.
    length: OnceLock<u32>,
}

/// What a seed and a strategy make of a play: all of one run.
pub(crate) struct Drawn<'a> {
    /// The play, without what this run leaves out.
    pub(crate) play: Cow<'a, Play>,
    /// Its answers.
    pub(crate) dice: Dice,
    /// Its own seed.
    pub(crate) seed: u64,
    /// Its own strategy; never a mix.
    pub(crate) strategy: Strategy,
}

/// The play as a trace's header has it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    scenario: Scenario,
    fault: Option<String>,
    stop: WrittenStop,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
enum WrittenStop {
    /// A severity.
    At(String),
    /// A rule and whom it blames.
    On { rule: String, blame: String },
}

impl Play {
    /// The play that the command line asks for.
    ///
    /// # Errors
    /// Unknown names, with the nearest; a scenario file that cannot be used, with the place.
    pub(crate) fn find(
        name: Option<&str>,
        file: Option<&Path>,
        fault_name: Option<&str>,
        stop: Stop,
    ) -> Result<Play> {
        let fault_row = match fault_name {
            None => None,
            Some(wanted) => {
                let known = || faults().iter().map(|fault| fault.name);
                Some(fault(wanted).ok_or_else(|| unknown("fault", wanted, known()))?)
            }
        };
        let chosen = match (name, file, fault_row) {
            (Some(name), None, _) => named(name)?,
            (None, Some(path), _) => read(path)?,
            (None, None, Some(fault)) => named(fault.scenario)?,
            _ => {
                let names: Vec<&str> = scenarios()
                    .iter()
                    .map(|scenario| scenario.name.as_str())
                    .collect();
                let message = "name a scenario, a --scenario FILE or a --fault; the scenarios are";
                return Err(Failure::new(format!("{message} {}", names.join(", "))));
            }
        };
        Play::new(chosen, fault_row.map(|fault| fault.name), stop)
    }

    fn new(scenario: Scenario, fault: Option<&'static str>, stop: Stop) -> Result<Play> {
        scenario.check().map_err(Failure::new)?;
        let setup = scenario.setup(fault).map_err(Failure::new)?;
        Ok(Play {
            judge: scenario.judge(fault),
            scenario,
            fault,
            stop,
            setup,
            length: OnceLock::new(),
        })
    }

    /// The run of that seed by that strategy.
    pub(crate) fn drawn(&self, strategy: Strategy, seed: u64) -> Drawn<'_> {
        let strategy = strategy.of_run(seed);
        let play = match strategy {
            Strategy::Swarm => match swarmed(&self.scenario, seed) {
                Cow::Borrowed(_) => Cow::Borrowed(self),
                Cow::Owned(scenario) => Cow::Owned(
                    Play::new(scenario, self.fault, self.stop)
                        .expect("a part of a valid scenario is one, with the same parties"),
                ),
            },
            _ => Cow::Borrowed(self),
        };
        let length = match strategy {
            Strategy::Pct(_) => *self.length.get_or_init(|| length(self.setup.clone())),
            _ => 1,
        };
        Drawn {
            play,
            dice: Dice::by(strategy, seed, length),
            seed,
            strategy,
        }
    }

    /// The play of a trace that this program wrote.
    ///
    /// # Errors
    /// A header without a scenario of ours, or with one that is not valid.
    pub(crate) fn from_header(header: &Header) -> Result<Play> {
        let Some(text) = &header.scenario else {
            return Err(Failure::new(
                "this trace names no scenario: it was not made by `mcpsim run`, and can be shown and checked only",
            ));
        };
        let written: Written = serde_json::from_str(text).map_err(|error| {
            Failure::new(format!(
                "the scenario in this trace cannot be read: {error}"
            ))
        })?;
        let fault_name = match &written.fault {
            None => None,
            Some(name) => {
                let known = || faults().iter().map(|fault| fault.name);
                Some(
                    fault(name)
                        .ok_or_else(|| unknown("fault", name, known()))?
                        .name,
                )
            }
        };
        let stop = match &written.stop {
            WrittenStop::At(severity) => {
                let all = [Severity::Note, Severity::Warning, Severity::Error];
                let found = all.into_iter().find(|known| known.as_str() == severity);
                Stop::At(found.ok_or_else(|| {
                    Failure::new(format!("unknown severity {severity:?} in this trace"))
                })?)
            }
            WrittenStop::On { rule: id, blame } => {
                let known = rule(id).ok_or_else(|| {
                    unknown(
                        "rule",
                        id,
                        crate::models::rules().iter().map(|rule| rule.id),
                    )
                })?;
                let blame = Blame::parse(blame).ok_or_else(|| {
                    Failure::new(format!("unknown blame {blame:?} in this trace"))
                })?;
                Stop::Target(Target {
                    rule: known.id,
                    blame,
                })
            }
        };
        Play::new(written.scenario, fault_name, stop)
    }

    /// The play of a case that was shrunk.
    pub(crate) fn of_case(case: &ScenarioCase, stop: Stop) -> Result<Play> {
        Play::new(case.scenario().clone(), case.fault(), stop)
    }

    /// The same, with another end.
    pub(crate) fn with_stop(&self, stop: Stop) -> Play {
        Play {
            stop,
            ..self.clone()
        }
    }

    /// The scenario's name.
    pub(crate) fn name(&self) -> &str {
        &self.scenario.name
    }

    /// The fault's name.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        self.fault
    }

    /// The severity from which on a broken rule is a failure of this play.
    pub(crate) fn fail_on(&self) -> Severity {
        match self.stop {
            Stop::At(severity) => severity,
            // A rule can be milder than its row says, by revision or by what is broken of it.
            Stop::Target(target) => rule(target.rule)
                .map_or(Severity::Error, |rule| rule.severity.min(Severity::Warning)),
        }
    }

    /// The play as JSON text, on one line.
    pub(crate) fn to_json(&self) -> String {
        let stop = match self.stop {
            Stop::At(severity) => WrittenStop::At(severity.as_str().to_owned()),
            Stop::Target(target) => WrittenStop::On {
                rule: target.rule.to_owned(),
                blame: target.blame.as_str().to_owned(),
            },
        };
        let written = Written {
            scenario: self.scenario.clone(),
            fault: self.fault.map(str::to_owned),
            stop,
        };
        serde_json::to_string(&written).expect("a scenario is plain data")
    }

    /// The header of a trace of this play.
    pub(crate) fn header(&self, drawn: Option<(u64, Strategy)>) -> Header {
        let mut header = Header::new(concat!("mcpsim ", env!("CARGO_PKG_VERSION")));
        header.generator = drawn.map(|_| "chacha8".to_owned());
        header.seed = drawn.map(|(seed, _)| seed);
        header.strategy = drawn.map(|(_, strategy)| strategy.to_string());
        header.scenario = Some(self.to_json());
        header.revisions = vec![Revision::V2025_11_25];
        header.vantage = Vantage::World;
        header.parties = self
            .scenario
            .parties
            .iter()
            .map(|party| Party {
                name: party.name.clone(),
                role: role(party.role),
            })
            .collect();
        header.links = self
            .setup
            .links
            .iter()
            .map(|link| Link {
                kind: link.kind,
                client: link.client,
                server: link.server,
            })
            .collect();
        header
    }

    /// One run.
    pub(crate) fn run(
        &self,
        chooser: &mut impl Chooser,
        sink: &mut (impl Sink + ?Sized),
    ) -> Outcome {
        self.run_seen(chooser, sink, |_| {})
    }

    /// The same, and shows the judge at the end.
    pub(crate) fn run_seen(
        &self,
        chooser: &mut impl Chooser,
        sink: &mut (impl Sink + ?Sized),
        see: impl FnOnce(&Monitor),
    ) -> Outcome {
        run_seen(
            self.setup.clone(),
            self.judge.clone(),
            chooser,
            sink,
            |judge: &Monitor| self.failure(judge.findings()).is_some(),
            see,
        )
    }

    /// What a run under these choices finds.
    pub(crate) fn findings(&self, choices: &[Choice]) -> Vec<Finding> {
        self.run(&mut LenientScript::new(choices), &mut Nothing)
            .findings
    }

    /// The finding that makes a run of this play a failure.
    pub(crate) fn failure<'a>(&self, findings: &'a [Finding]) -> Option<&'a Finding> {
        match self.stop {
            Stop::Target(target) => findings.iter().find(|finding| target.is(finding)),
            Stop::At(severity) => first_failure(findings, severity),
        }
    }

    /// How many frames a run under these choices sends.
    pub(crate) fn count_frames(&self, choices: &[Choice]) -> u32 {
        self.run(&mut LenientScript::new(choices), &mut Nothing)
            .ended
            .frames
    }

    /// The play as something to shrink.
    ///
    /// # Errors
    /// None that a play that was made can meet; passed on all the same.
    pub(crate) fn case(&self) -> Result<ScenarioCase> {
        ScenarioCase::new(self.scenario.clone(), self.fault).map_err(Failure::new)
    }
}

fn role(role: Role) -> PartyRole {
    match role {
        Role::Client => PartyRole::Client,
        Role::Server => PartyRole::Server,
        Role::Gateway => PartyRole::Gateway,
    }
}

fn named(name: &str) -> Result<Scenario> {
    let known = || scenarios().iter().map(|scenario| scenario.name.as_str());
    scenario(name)
        .cloned()
        .ok_or_else(|| unknown("scenario", name, known()))
}

fn read(path: &Path) -> Result<Scenario> {
    let text = fs::read_to_string(path).map_err(|error| Failure::file("read", path, &error))?;
    Scenario::parse(&text).map_err(|error| {
        Failure::new(format!(
            "{}:{}:{}: {}",
            shown(path),
            error.line,
            error.column,
            error.message
        ))
    })
}
