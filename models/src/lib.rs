//! What is legal between peers that speak the Model Context Protocol: the rule table, what each party
//! could have known when it sent something, and who is to blame.
//!
//! [`Monitor`] judges a world exactly; [`Observer`] judges what somebody recorded, from where they
//! stood. Both keep one [`Part`] for each party and link, and the same code decides for both.

pub mod coverage;
mod deep;
mod era;
pub mod examples;
mod foreign;
mod full_pipes;
mod hangs;
mod http;
mod idset;
mod knowledge;
mod ledger;
mod monitor;
mod observer;
mod opens;
mod overdue;
mod part;
pub mod retold;
pub mod rules;
mod same;
mod schema;
mod shape;
mod spelled;
mod spots;
mod unread;

pub use coverage::Coverage;
pub use foreign::{Foreign, ForeignVersion};
pub use http::head::resolved_target;
pub use ledger::{Outcome, Summary};
pub use monitor::Monitor;
pub use observer::{LogEvent, LogWhat, Observer, ObserverOptions, OpenRequest, Seen};
pub use part::Part;
pub use rules::{Basis, Category, Level, Needs, Rule, Side, rule, rules};
pub use unread::Unread;
