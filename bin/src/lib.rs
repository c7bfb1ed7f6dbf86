//! mcpsim as a library: the facade over the crates that make it up.
//!
//! Users of the library name this crate alone: [`traces`] is what happened, [`models`] what is legal,
//! [`sim`] the world in which peers meet, [`scenarios`] the reference peers. The command line is
//! behind the default feature `cli`.

pub use mcpsim_models as models;
pub use mcpsim_scenarios as scenarios;
pub use mcpsim_sim as sim;
pub use mcpsim_traces as traces;

#[cfg(feature = "cli")]
pub mod cli;
