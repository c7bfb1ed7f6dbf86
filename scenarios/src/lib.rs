//! The peers and what they do: reference client, server and gateway, scenario files, the fault catalogue; here a world meets its judge.

mod case;
mod client;
mod defect;
mod faults;
mod gateway;
mod named;
mod parse;
pub mod peer;
mod plan;
mod play;
pub mod scenario;
mod schema;
mod sense;
mod server;
mod session;
mod shape;
mod tag;

pub use case::ScenarioCase;
pub use faults::{Fault, fault, faults};
pub use named::{scenario, scenarios};
pub use parse::{COUNT_MAX, Mistake, PARTIES_MAX, Place, STEPS_MAX, ScenarioError, nearest};
pub use peer::Peer;
pub use play::{PlayError, play, play_until};
pub use scenario::Scenario;
pub use schema::scenario_schema;
