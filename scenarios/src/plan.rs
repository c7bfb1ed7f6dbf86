//! What a party is told to do: the part of it that never changes during a run, shared by all copies of its state.

use mcpsim_traces::message::{Capabilities, Revision};

use crate::defect::Defect;
use crate::scenario::{Ids, Routing, Step};

/// The revision that the reference peers speak.
pub(crate) const REVISION: Revision = Revision::V2025_11_25;

/// A party's orders.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Plan {
    pub(crate) defect: Defect,
    pub(crate) capabilities: Capabilities,
    pub(crate) ids: Ids,
    pub(crate) first_id: i64,
    /// How many workload steps a client has open at once.
    pub(crate) window: usize,
    /// Whether the party lets others move where orders matter in practice.
    pub(crate) hesitates: bool,
    /// Whether a client closes its end after its last step.
    pub(crate) closes: bool,
    /// Whether a server pings the client when the session is ready.
    pub(crate) pings: bool,
    /// The timer of every own request where the link can lose frames.
    pub(crate) timeout_ms: u32,
    pub(crate) routing: Routing,
    pub(crate) steps: Vec<Step>,
}
