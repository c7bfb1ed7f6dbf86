//! The world in which peers meet: actors, links, virtual time, choices; run, replay, shrink. What
//! is legal is not known here: a judge is handed in.

pub mod actor;
pub mod choose;
pub mod door;
mod net;
mod pct;
pub mod run;
pub mod setup;
pub mod shrink;
pub mod strategy;
pub mod world;
