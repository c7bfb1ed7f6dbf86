//! The world in which peers meet: actors, links, virtual time, choices; run, replay, shrink. What
//! is legal is not known here: a judge is handed in.

pub mod actor;
