//! What a world is made of: parties, links, the budget of faults, bounds.

use mcpsim_traces::event::{Fault, LinkKind, PartyId, Role};

/// A world before its first step.
#[derive(Clone, Debug)]
pub struct Setup<A> {
    /// The parties.
    pub parties: Vec<A>,
    /// The links between them.
    pub links: Vec<LinkSetup>,
    /// How many faults of each kind the hostile part may inject.
    pub faults: FaultBudget,
    /// Where a run ends at the latest.
    pub bounds: Bounds,
}

/// A link between a client end and a server end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkSetup {
    /// What the link does to frames.
    pub kind: LinkKind,
    /// The party with the client end.
    pub client: PartyId,
    /// The party with the server end.
    pub server: PartyId,
    /// How many frames a pipe holds in each direction. While there are more, whoever has no queue before it
    /// ([`crate::actor::Habits`]) does nothing. With 0, every frame is larger than the pipe.
    pub capacity: u32,
    /// How many lines a server's stderr holds; while there are more that nobody has read, the server does nothing.
    pub stderr_capacity: u32,
    /// Http: whether a server keeps what it sends on a stream whose connection breaks, and the client can open the
    /// stream again. Then a drop breaks a connection and takes nothing; what a client posts is not dropped.
    pub resumable: bool,
    /// What may happen although the kind forbids it; the transport is to blame for what follows.
    pub beyond: Beyond,
}

impl LinkSetup {
    /// The party at that end.
    pub fn party(&self, role: Role) -> PartyId {
        match role {
            Role::Client => self.client,
            Role::Server => self.server,
        }
    }
}

/// What a link may do beyond its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Beyond {
    /// Frames of one stream overtake each other.
    pub reorder: bool,
    /// A pipe loses frames.
    pub drop: bool,
    /// A pipe delivers frames twice.
    pub duplicate: bool,
}

/// How many faults of each kind may happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FaultBudget {
    /// Streams held back.
    pub delay: u8,
    /// Frames delivered twice.
    pub duplicate: u8,
    /// Frames lost.
    pub drop: u8,
    /// Links cut.
    pub cut: u8,
    /// Parties crashed.
    pub crash: u8,
}

impl FaultBudget {
    /// How many of that kind.
    pub fn left(&self, fault: Fault) -> u8 {
        match fault {
            Fault::Delay => self.delay,
            Fault::Duplicate => self.duplicate,
            Fault::Drop => self.drop,
            Fault::Cut => self.cut,
            Fault::Crash => self.crash,
        }
    }

    pub(crate) fn spend(&mut self, fault: Fault) {
        let left = match fault {
            Fault::Delay => &mut self.delay,
            Fault::Duplicate => &mut self.duplicate,
            Fault::Drop => &mut self.drop,
            Fault::Cut => &mut self.cut,
            Fault::Crash => &mut self.crash,
        };
        *left -= 1;
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        *self == FaultBudget::default()
    }
}

/// Where a run ends at the latest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// After so many steps the run is given up as unfinished.
    pub steps_max: u32,
    /// After so many steps no more faults happen: the calm part begins.
    pub hostile_steps: u32,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds {
            steps_max: 100_000,
            hostile_steps: 10_000,
        }
    }
}
