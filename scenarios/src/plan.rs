//! What a party is told to do: the part of it that never changes during a run, shared by all copies of its state.

use mcpsim_sim::actor::Habits;
use mcpsim_traces::message::{Capabilities, Kind, Message, Revision, Version};

use crate::defect::Defect;
use crate::revisions::Revisions;
use crate::scenario::{Ids, Routing, Step};

/// A party's orders.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) defect: Defect,
    pub(crate) revisions: Revisions,
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
    /// Whether a server writes a line on its stderr for each request that it serves.
    pub(crate) writes_stderr: bool,
    /// Whether a server asks for samplings and elicitations as tasks where its client runs them so.
    pub(crate) asks_for_tasks: bool,
    /// The timer of every own request where the link can lose frames.
    pub(crate) timeout_ms: u32,
    pub(crate) routing: Routing,
    pub(crate) steps: Vec<Step>,
}

impl Plan {
    /// What the party's program does about pipes.
    pub(crate) fn habits(&self) -> Habits {
        Habits {
            reads_while_writing: self.defect != Defect::WritesBeforeReading,
            reads_stderr: self.defect != Defect::LeavesStderr,
        }
    }

    /// The revision that the party offers in a handshake, or answers an offer with that it does not speak.
    /// A party without a handshake has none to offer; the newest stands in for it.
    pub(crate) fn offer(&self) -> Revision {
        self.revisions
            .newest_with_handshake()
            .unwrap_or(Revision::V2025_11_25)
    }

    /// The revision that the answer to `initialize` settles on; `None` where it is a refusal, or no revision of the party's.
    pub(crate) fn accepts(&self, answer: &Message) -> Option<Revision> {
        match (answer.kind, answer.version) {
            (Kind::Result, Version::Known(revision))
                if revision.has_handshake() && self.revisions.has(revision) =>
            {
                Some(revision)
            }
            _ => None,
        }
    }
}
