//! Frames in flight: a slab, and an order by age so that taking one out moves indices and not frames.

use mcpsim_traces::event::{FrameNo, LinkId, Origin, Role, Stream};
use mcpsim_traces::message::Message;

/// Something on its way to an end of a link.
#[derive(Clone, Debug)]
pub(crate) struct Flight {
    pub(crate) link: LinkId,
    pub(crate) to: Role,
    pub(crate) stream: Stream,
    pub(crate) origin: Origin,
    pub(crate) cargo: Cargo,
    /// Frames of the same link, direction and stream that are older.
    pub(crate) behind: u32,
    /// The stream is held back until then.
    pub(crate) held_until_ms: Option<u64>,
}

/// What is on its way.
#[derive(Clone, Debug)]
pub(crate) enum Cargo {
    Frame(Frame),
    /// The end of the link: everything sent before it has arrived.
    Close,
    /// News for the sender of this request: its exchange is lost.
    Lost(Message),
}

/// A frame in flight.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) number: FrameNo,
    pub(crate) message: Message,
    pub(crate) raw: Option<Box<[u8]>>,
    pub(crate) slips: &'static [&'static str],
}

impl Flight {
    fn same_stream(&self, other: &Flight) -> bool {
        self.link == other.link && self.to == other.to && self.stream == other.stream
    }
}

/// An index into the slab: names a flight while it is in flight.
pub(crate) type Slot = u32;

/// All that is in flight, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Net {
    slab: Vec<Option<Flight>>,
    free: Vec<Slot>,
    order: Vec<Slot>,
}

impl Net {
    /// Takes a flight in as the youngest.
    #[inline]
    pub(crate) fn push(&mut self, mut flight: Flight) {
        flight.behind = 0;
        flight.held_until_ms = None;
        for older in self.iter() {
            if older.same_stream(&flight) {
                flight.behind += 1;
                flight.held_until_ms = older.held_until_ms;
            }
        }
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slab[slot as usize] = Some(flight);
                slot
            }
            None => {
                self.slab.push(Some(flight));
                self.slab.len() as Slot - 1
            }
        };
        self.order.push(slot);
    }

    /// The flights, oldest first.
    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Flight> {
        self.order.iter().map(|&slot| self.at(slot))
    }

    /// The flights with their slots, oldest first.
    #[inline]
    pub(crate) fn slots(&self) -> impl Iterator<Item = (Slot, &Flight)> {
        self.order.iter().map(|&slot| (slot, self.at(slot)))
    }

    /// The flight of that slot.
    ///
    /// # Panics
    /// When there is none.
    #[inline]
    pub(crate) fn at(&self, slot: Slot) -> &Flight {
        self.slab[slot as usize]
            .as_ref()
            .expect("a slot in the order holds a flight")
    }

    /// Takes the flight of that slot out.
    #[inline]
    pub(crate) fn take(&mut self, slot: Slot) -> Flight {
        let at = self
            .order
            .iter()
            .position(|&other| other == slot)
            .expect("the slot is in the order");
        self.order.remove(at);
        let flight = self.slab[slot as usize]
            .take()
            .expect("a slot in the order holds a flight");
        self.free.push(slot);
        for index in at..self.order.len() {
            let younger = self.slab[self.order[index] as usize]
                .as_mut()
                .expect("a slot in the order holds a flight");
            if younger.same_stream(&flight) {
                younger.behind -= 1;
            }
        }
        flight
    }

    /// Holds the stream of that flight back until then.
    pub(crate) fn hold(&mut self, slot: Slot, until_ms: Option<u64>) {
        let key = (self.at(slot).link, self.at(slot).to, self.at(slot).stream);
        for flight in self.slab.iter_mut().flatten() {
            if (flight.link, flight.to, flight.stream) == key {
                flight.held_until_ms = until_ms;
            }
        }
    }

    /// The oldest flight that is wanted.
    pub(crate) fn first_slot(&self, mut wanted: impl FnMut(&Flight) -> bool) -> Option<Slot> {
        self.slots()
            .find(|(_, flight)| wanted(flight))
            .map(|(slot, _)| slot)
    }
}
