//! Playing a scenario: here the world is introduced to its judge.

use std::fmt;

use mcpsim_models::Monitor;
use mcpsim_sim::choose::Chooser;
use mcpsim_sim::run::{Outcome, run};
use mcpsim_traces::event::Sink;
use mcpsim_traces::judge::Judge;
use mcpsim_traces::message::{Capability, Tool};

use crate::defect::Defect;
use crate::parse::Mistake;
use crate::scenario::{Act, Party, Scenario, Step};

/// Why a scenario cannot be played.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PlayError {
    /// The scenario is not valid.
    Scenario(Mistake),
    /// The fault is unknown, or no party of the scenario could have it.
    Fault(String),
}

impl fmt::Display for PlayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlayError::Scenario(mistake) => mistake.fmt(f),
            PlayError::Fault(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for PlayError {}

/// Plays a scenario to its end, with a fault of the catalogue or without.
///
/// # Errors
/// When the scenario is not valid or has no party for the fault.
pub fn play(
    scenario: &Scenario,
    fault: Option<&str>,
    chooser: &mut (impl Chooser + ?Sized),
    sink: &mut (impl Sink + ?Sized),
) -> Result<Outcome, PlayError> {
    play_until(scenario, fault, chooser, sink, |_| false)
}

/// Plays a scenario until `stop` has seen enough, asked before every step, or to its end.
///
/// # Errors
/// When the scenario is not valid or has no party for the fault.
pub fn play_until(
    scenario: &Scenario,
    fault: Option<&str>,
    chooser: &mut (impl Chooser + ?Sized),
    sink: &mut (impl Sink + ?Sized),
    mut stop: impl FnMut(&[mcpsim_traces::judge::Finding]) -> bool,
) -> Result<Outcome, PlayError> {
    scenario.check().map_err(PlayError::Scenario)?;
    let setup = scenario.setup(fault).map_err(PlayError::Fault)?;
    let judge = scenario.judge(fault);
    Ok(run(setup, judge, chooser, sink, |judge| {
        stop(judge.findings())
    }))
}

impl Scenario {
    /// A judge that sees as much of this scenario's frames as it needs. Where structured messages hold all that
    /// the peers say, no text is made; where some frames have more in them, all are read, because rules compare
    /// them with each other (a call with the list of tools, a cursor with the page before).
    pub fn judge(&self, fault: Option<&str>) -> Monitor {
        match self.needs_text(fault) {
            true => Monitor::reading(),
            false => Monitor::new(),
        }
    }

    /// Whether some frame has more in it than a structured message holds.
    pub fn needs_text(&self, fault: Option<&str>) -> bool {
        let tampers = fault
            .and_then(crate::faults::fault)
            .is_some_and(|fault| matches!(fault.defect, Defect::Writes(_)));
        tampers || !self.is_structured()
    }

    /// Whether structured messages hold all that is said.
    fn is_structured(&self) -> bool {
        let plain_party = |party: &Party| {
            party.revisions == Default::default() && !party.declared().has(Capability::Tasks)
        };
        let plain_step = |step: &Step| match step.act {
            Act::Call => !step.task && !matches!(step.tool, Tool::Touch | Tool::Log | Tool::Link),
            Act::ListTools
            | Act::Ping
            | Act::RootsChanged
            | Act::Cancel
            | Act::Batch
            | Act::Garbage => true,
            _ => false,
        };
        self.parties.iter().all(plain_party) && self.workload.values().flatten().all(plain_step)
    }
}
