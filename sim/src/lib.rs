//! The world in which peers meet: actors, links, virtual time, choices; run, replay, shrink. What
//! is legal is not known here: a judge is handed in.

pub mod actor;
pub mod choose;
pub mod door;
mod net;
pub mod run;
pub mod setup;
pub mod shrink;
pub mod world;
