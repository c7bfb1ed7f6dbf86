//! Playing a scenario: here the world is introduced to its judge.

use std::fmt;

use mcpsim_models::Monitor;
use mcpsim_sim::choose::Chooser;
use mcpsim_sim::run::{Outcome, run};
use mcpsim_traces::event::Sink;
use mcpsim_traces::judge::Judge;

use crate::parse::Mistake;
use crate::scenario::Scenario;

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
    Ok(run(setup, Monitor::new(), chooser, sink, |judge| {
        stop(judge.findings())
    }))
}
