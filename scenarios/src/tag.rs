//! Tags of own steps and timers: what for, at which end, and caused by what, packed into one word that survives the removal of other steps.

use mcpsim_sim::actor::Port;
use mcpsim_traces::event::{Origin, PartyId};

/// What an own step or a timer is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum What {
    /// Send the request whose id is taken.
    Send = 1,
    /// The other side took too long to answer a request.
    Timeout,
    /// Cancel the request if it is still open.
    Cancel,
    /// Go on with a request of the other side.
    Work,
    /// Report progress apart from the work (a defect).
    Report,
    /// List a request that was sent already (a defect).
    List,
    /// Send `notifications/initialized`.
    Initialized,
    /// Write the half of a frame that is still to come (a defect).
    Flush,
    /// Go on with a task.
    Task,
    /// Ask how far a task has come.
    Poll,
    /// Open a broken stream again.
    Resume,
}

const WHATS: [What; 11] = [
    What::Send,
    What::Timeout,
    What::Cancel,
    What::Work,
    What::Report,
    What::List,
    What::Initialized,
    What::Flush,
    What::Task,
    What::Poll,
    What::Resume,
];

/// The most ends that a party can have: a port is packed into four bits.
pub(crate) const PORTS_MAX: usize = 16;

/// One own step or timer of a reference peer. There is at most one of each at a time, because a
/// workload step causes at most one request at each end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tag {
    /// What it is for.
    pub(crate) what: What,
    /// The end that it is about.
    pub(crate) port: Port,
    /// What caused it.
    pub(crate) origin: Origin,
}

impl Tag {
    /// The word for the world.
    #[inline]
    pub(crate) fn word(self) -> u32 {
        debug_assert!(usize::from(self.port.0) < PORTS_MAX);
        (self.what as u32) << 28
            | u32::from(self.port.0) << 24
            | u32::from(self.origin.party.0) << 16
            | u32::from(self.origin.step)
    }

    /// The tag of that word; `None` for a word that no reference peer makes.
    #[inline]
    pub(crate) fn read(word: u32) -> Option<Tag> {
        let at = (word >> 28).checked_sub(1)? as usize;
        Some(Tag {
            what: *WHATS.get(at)?,
            port: Port((word >> 24 & 15) as u8),
            origin: Origin {
                party: PartyId((word >> 16) as u8),
                step: word as u16,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back() {
        for what in WHATS {
            for (port, party, step) in [(0, 0, 0), (15, 255, 65_535), (3, 1, 513)] {
                let origin = Origin {
                    party: PartyId(party),
                    step,
                };
                let tag = Tag {
                    what,
                    port: Port(port),
                    origin,
                };
                assert_eq!(Tag::read(tag.word()), Some(tag));
            }
        }
        assert_eq!(Tag::read(0), None);
        assert_eq!(Tag::read(15 << 28), None);
    }
}
