//! Frames in flight by age, and beside them all that listing and labelling options need.

use mcpsim_traces::event::{FrameNo, Label, LinkId, Origin, Role, Stream};
use mcpsim_traces::message::{Kind, Message};

/// Something on its way to an end of a link.
#[derive(Clone, Debug)]
pub(crate) struct Flight {
    pub(crate) link: LinkId,
    pub(crate) to: Role,
    pub(crate) stream: Stream,
    pub(crate) origin: Origin,
    pub(crate) cargo: Cargo,
}

/// What is on its way.
#[derive(Clone, Debug)]
pub(crate) enum Cargo {
    Frame(Frame),
    /// The end of the link: everything sent before it has arrived.
    Close,
    /// News for the sender of this request: its exchange is lost.
    Lost(Message),
    /// News for a client: the connection of that stream is broken.
    Broken(Stream),
    /// A client opens that stream again.
    Reopen(Stream),
    /// A line of a server's stderr.
    Stderr(&'static str),
}

impl Cargo {
    /// The kind by which names and labels tell flights apart.
    #[inline]
    fn kind(&self) -> Kind {
        match self {
            Cargo::Frame(frame) => frame.message.kind,
            // No frame is told apart from another by these two: a batch and a malformed frame are
            // raw bytes, and a close, a line of stderr or news of a stream is never on the same stream as they.
            Cargo::Close => Kind::Batch,
            Cargo::Lost(_) | Cargo::Broken(_) | Cargo::Reopen(_) | Cargo::Stderr(_) => {
                Kind::Malformed
            }
        }
    }
}

/// A frame in flight.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) number: FrameNo,
    pub(crate) message: Message,
    pub(crate) raw: Option<Box<[u8]>>,
    pub(crate) slips: &'static [&'static str],
}

/// What listing and labelling need of a flight, side by side in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Flights of the same link, direction and stream that are older.
    pub(crate) behind: u32,
    /// Link, direction and stream in one word.
    lane: u64,
    /// Link, direction, kind and origin in one word: two flights of one name differ only by age.
    name: u64,
    pub(crate) held: bool,
}

impl Entry {
    fn new(flight: &Flight) -> Entry {
        let kind = flight.cargo.kind();
        let end = u64::from(flight.link.0) << 1 | flight.to as u64;
        Entry {
            behind: 0,
            lane: end << 32 | u64::from(flight.stream),
            name: end << 32
                | (kind as u64) << 24
                | u64::from(flight.origin.party.0) << 16
                | u64::from(flight.origin.step),
            held: false,
        }
    }

    /// Link, direction and stream in one word below 2^62.
    #[inline]
    pub(crate) fn lane(&self) -> u64 {
        self.lane
    }

    #[inline]
    pub(crate) fn link(&self) -> LinkId {
        LinkId((self.lane >> 33) as u8)
    }

    #[inline]
    pub(crate) fn to(&self) -> Role {
        if self.lane >> 32 & 1 == 0 {
            Role::Client
        } else {
            Role::Server
        }
    }

    /// Whether both are of one link, direction, kind and origin.
    #[inline]
    pub(crate) fn same_name(&self, other: &Entry) -> bool {
        self.name == other.name
    }
}

/// All that is in flight, oldest first.
#[expect(
    clippy::vec_box,
    reason = "taking one out of the middle moves pointers, not flights"
)]
#[derive(Clone, Debug, Default)]
pub(crate) struct Net {
    /// Side by side with `flights`.
    order: Vec<Entry>,
    flights: Vec<Box<Flight>>,
    /// Boxes of flights that have ended, for the next ones.
    spare: Vec<Box<Flight>>,
    /// Streams that are held back, with the time of their release.
    held: Vec<(u64, u64)>,
}

impl Net {
    /// Takes a flight in as the youngest.
    #[inline]
    pub(crate) fn push(&mut self, flight: Flight) {
        let mut entry = Entry::new(&flight);
        let older = self.order.iter().filter(|older| older.lane == entry.lane);
        entry.behind = older.count() as u32;
        entry.held = self.holds() && self.held.iter().any(|(lane, _)| *lane == entry.lane);
        self.order.push(entry);
        let boxed = match self.spare.pop() {
            Some(mut spare) => {
                *spare = flight;
                spare
            }
            None => Box::new(flight),
        };
        self.flights.push(boxed);
    }

    /// What is in flight, oldest first.
    #[inline]
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.order
    }

    /// The flight at that place of the order.
    #[inline]
    pub(crate) fn flight(&self, index: usize) -> &Flight {
        &self.flights[index]
    }

    /// What an option on that place is; `nth` counts those of the same name before it.
    #[inline]
    pub(crate) fn label(&self, index: usize, nth: u16) -> Label {
        let flight = self.flight(index);
        Label::Frame {
            link: flight.link,
            to: flight.to,
            kind: flight.cargo.kind(),
            origin: flight.origin,
            nth,
        }
    }

    /// Takes the flight at that place out.
    #[inline]
    pub(crate) fn take(&mut self, index: usize) -> Box<Flight> {
        let lane = self.order[index].lane;
        let last = self.order.len() - 1;
        for at in index..last {
            let mut younger = self.order[at + 1];
            younger.behind -= u32::from(younger.lane == lane);
            self.order[at] = younger;
        }
        self.order.truncate(last);
        self.flights.remove(index)
    }

    /// Gives a flight back that has ended.
    #[inline]
    pub(crate) fn give_back(&mut self, flight: Box<Flight>) {
        self.spare.push(flight);
    }

    /// Holds the stream of the flight at that place back until then.
    pub(crate) fn hold(&mut self, index: usize, until_ms: u64) {
        let lane = self.order[index].lane;
        self.held.retain(|(other, _)| *other != lane);
        self.held.push((lane, until_ms));
        self.order
            .iter_mut()
            .filter(|entry| entry.lane == lane)
            .for_each(|entry| entry.held = true);
    }

    /// Lets the stream of that flight go on; returns when it was to be released.
    pub(crate) fn release(&mut self, index: usize) -> Option<u64> {
        let lane = self.order[index].lane;
        let until = self.held_until(index);
        self.held.retain(|(other, _)| *other != lane);
        self.order
            .iter_mut()
            .filter(|entry| entry.lane == lane)
            .for_each(|entry| entry.held = false);
        until
    }

    /// Whether any stream is held back.
    #[inline]
    pub(crate) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// When the stream of that flight is to be released, where it is held.
    pub(crate) fn held_until(&self, index: usize) -> Option<u64> {
        let lane = self.order[index].lane;
        self.held
            .iter()
            .find(|(other, _)| *other == lane)
            .map(|(_, until)| *until)
    }

    /// The oldest flight of the same stream.
    pub(crate) fn oldest_beside(&self, index: usize) -> &Flight {
        let lane = self.order[index].lane;
        let oldest = self.order.iter().position(|entry| entry.lane == lane);
        self.flight(oldest.unwrap_or(index))
    }

    /// The place of the oldest flight that is wanted.
    pub(crate) fn first(&self, mut wanted: impl FnMut(&Flight) -> bool) -> Option<usize> {
        self.flights.iter().position(|flight| wanted(flight))
    }
}
