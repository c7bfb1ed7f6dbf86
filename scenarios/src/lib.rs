//! The peers and what they do: reference client, server and gateway, scenario files, the fault catalogue; here a world meets its judge.

mod case;
mod client;
mod defect;
mod dress;
mod errands;
mod faults;
mod features;
mod gateway;
mod library;
mod named;
mod parse;
pub mod peer;
mod plan;
mod play;
mod revisions;
mod rounds;
pub mod scenario;
mod schema;
mod sense;
mod server;
mod session;
mod shape;
mod tag;
mod tamper;
mod tasks;
mod wire;

pub use case::ScenarioCase;
pub use faults::{Fault, fault, faults};
pub use named::{scenario, scenarios};
pub use parse::{COUNT_MAX, Mistake, PARTIES_MAX, Place, STEPS_MAX, ScenarioError, nearest};
pub use peer::Peer;
pub use play::{PlayError, play, play_until};
pub use revisions::Revisions;
pub use scenario::Scenario;
pub use schema::scenario_schema;
