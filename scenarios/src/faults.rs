//! The fault catalogue: reference peers with one small defect each, and what must be found about them.

mod dispatch;
mod features;
mod payload;
mod stateless;
mod wire;

use std::sync::OnceLock;

use mcpsim_traces::judge::Blame;

use crate::defect::Defect;
use crate::scenario::PartyRole;
use crate::tamper::{Edit, On, Tamper};

/// A faulty peer: one defect, the scenario in which it shows, and the finding that it must lead to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    /// Its name.
    pub name: &'static str,
    /// One sentence on what the peer does wrong.
    pub about: &'static str,
    /// The named scenario in which it shows.
    pub scenario: &'static str,
    /// The first party of this role has it, …
    pub at: PartyRole,
    /// … or every party has: it takes all of them.
    pub is_shared: bool,
    /// The rule that must be found broken.
    pub rule: &'static str,
    /// Who must be blamed.
    pub blame: Blame,
    /// Whether it shows only under some schedules.
    pub needs_schedule: bool,
    pub(crate) defect: Defect,
}

/// The catalogue.
pub fn faults() -> &'static [Fault] {
    static ALL: OnceLock<Vec<Fault>> = OnceLock::new();
    ALL.get_or_init(|| {
        [
            dispatch::FAULTS,
            payload::FAULTS,
            features::FAULTS,
            stateless::FAULTS,
            wire::FAULTS,
        ]
        .concat()
    })
}

/// The fault of that name.
pub fn fault(name: &str) -> Option<&'static Fault> {
    faults().iter().find(|fault| fault.name == name)
}

/// A peer with that defect, which shows in every schedule and is its own side's to blame.
const fn does(
    name: &'static str,
    about: &'static str,
    scenario: &'static str,
    at: PartyRole,
    rule: &'static str,
    defect: Defect,
) -> Fault {
    Fault {
        name,
        about,
        scenario,
        at,
        is_shared: false,
        rule,
        blame: match at {
            PartyRole::Client => Blame::Client,
            PartyRole::Server | PartyRole::Gateway => Blame::Server,
        },
        needs_schedule: false,
        defect,
    }
}

/// A peer that writes some of its frames like that.
const fn writes(
    name: &'static str,
    about: &'static str,
    scenario: &'static str,
    at: PartyRole,
    rule: &'static str,
    on: On,
    edit: Edit,
) -> Fault {
    let defect = Defect::Writes(Tamper { on, edit });
    does(name, about, scenario, at, rule, defect)
}

impl Fault {
    /// It shows under some schedules only.
    const fn sometimes(mut self) -> Fault {
        self.needs_schedule = true;
        self
    }

    /// Every party has it, and of two sides each is to blame.
    const fn shared(mut self) -> Fault {
        self.is_shared = true;
        self
    }

    /// The client end of a gateway is to blame.
    const fn as_client(mut self) -> Fault {
        self.blame = Blame::Client;
        self
    }
}
