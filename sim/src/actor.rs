//! What a peer is to the world: one event in, a changed state and a filled [`Out`] back; no I/O, no clock.

use mcpsim_traces::event::{Origin, PartyId, Role, Stream};
use mcpsim_traces::message::Message;
use mcpsim_traces::render::Body;

/// One of a party's own link ends, in the order of the links in the world, from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Port(pub u8);

/// One event for an actor.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// The link is up. A client begins here.
    Opened {
        /// The party's end of it.
        port: Port,
        /// Whether the link can lose frames: then a careful client sets timers.
        lossy: bool,
    },
    /// A frame arrived.
    Frame {
        /// The end that it arrived at.
        port: Port,
        /// What it says.
        message: &'a Message,
        /// Its bytes, where it was sent as raw bytes.
        raw: Option<&'a [u8]>,
        /// The stream that it came on: on http, what is related to a request goes back on its stream.
        stream: Stream,
    },
    /// A timer that the actor set has fired.
    Timer {
        /// The actor's own tag.
        tag: u32,
    },
    /// A step that the actor put off ([`Out::again`]).
    Own {
        /// The actor's own tag.
        tag: u32,
    },
    /// The exchange that carried this frame of the actor's is lost: no answer will come on it.
    ExchangeLost {
        /// The end that had sent it.
        port: Port,
        /// The frame that the actor had sent.
        message: &'a Message,
    },
    /// The connection of that stream is broken, and can be opened again ([`Wish::Resume`]).
    StreamBroken {
        /// The client's end.
        port: Port,
        /// The stream.
        stream: Stream,
    },
    /// The client has opened a broken stream again: the server says what is to become of what was kept for it
    /// ([`Wish::Replay`] or [`Wish::Forget`]).
    StreamReopened {
        /// The server's end.
        port: Port,
        /// The stream.
        stream: Stream,
        /// How many frames the client had had on it.
        delivered: u32,
    },
    /// The server wrote that line on its stderr, and the client has read it.
    Stderr {
        /// The client's end.
        port: Port,
        /// The line.
        text: &'a str,
    },
    /// The link is closed: by the other end, by a cut, or because the other party is gone.
    Closed {
        /// The party's end of it.
        port: Port,
    },
}

/// Where a frame goes on an http link; on a pipe all frames share one stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Route {
    /// From a client: a POST of its own. From a server: the standing GET stream.
    Usual,
    /// The stream of that exchange (from a server: the request that this belongs to).
    On(Stream),
}

/// A frame that an actor sends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sent {
    /// The party's end.
    pub port: Port,
    /// What it says; for raw bytes, filled in by the world.
    pub message: Message,
    /// The bytes, for a frame that has no structured form.
    pub raw: Option<Box<[u8]>>,
    /// A payload that the structured form does not hold.
    pub body: Option<Box<Body>>,
    /// Where it goes.
    pub route: Route,
    /// What caused it.
    pub origin: Origin,
    /// Rules that the actor breaks with it on purpose.
    pub slips: &'static [&'static str],
}

/// Everything else that an actor wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wish {
    /// Fire [`Input::Timer`] after that long.
    Timer {
        /// The actor's own tag; one timer a tag: setting it again replaces it.
        tag: u32,
        /// Milliseconds from now.
        delay_ms: u32,
    },
    /// Forget the timer.
    CancelTimer {
        /// The actor's own tag.
        tag: u32,
    },
    /// Give me [`Input::Own`] at some later moment; others may move in between.
    Again {
        /// The actor's own tag.
        tag: u32,
        /// What caused it.
        origin: Origin,
    },
    /// Open that broken stream again: a client's wish.
    Resume {
        /// The party's end.
        port: Port,
        /// The stream.
        stream: Stream,
    },
    /// Send what was kept for that stream, in its order; what is sent on it from here on follows.
    Replay {
        /// The party's end.
        port: Port,
        /// The stream.
        stream: Stream,
    },
    /// What was kept for that stream is gone: a defect.
    Forget {
        /// The party's end.
        port: Port,
        /// The stream.
        stream: Stream,
    },
    /// Write a line on the program's stderr, after what is sent: a server's wish. Over http nobody reads it.
    Stderr {
        /// The party's end.
        port: Port,
        /// The line.
        text: &'static str,
    },
    /// Close this end.
    Close {
        /// The party's end.
        port: Port,
    },
    /// The program ends, with all its links: a defect.
    Exit,
}

/// Answers an actor's questions; what the [`crate::door::Door`] is to actors.
pub trait Ask {
    /// One of `0..bound`, 0 being the plain answer.
    fn ask(&mut self, bound: u32) -> u32;
}

/// What an actor does in answer to one input. Reused from step to step, so that nothing is
/// allocated on the usual path.
pub struct Out<'a> {
    /// The actor's party.
    pub party: PartyId,
    origin: Origin,
    sent: &'a mut Vec<Sent>,
    wishes: &'a mut Vec<Wish>,
    ask: &'a mut dyn Ask,
}

impl<'a> Out<'a> {
    /// An empty answer of `party`; what it sends is caused by `origin` until it says otherwise.
    pub fn new(
        party: PartyId,
        origin: Origin,
        sent: &'a mut Vec<Sent>,
        wishes: &'a mut Vec<Wish>,
        ask: &'a mut dyn Ask,
    ) -> Out<'a> {
        Out {
            party,
            origin,
            sent,
            wishes,
            ask,
        }
    }

    /// From here on, what is sent or put off is caused by that step of the actor's own workload.
    #[inline]
    pub fn caused_by_step(&mut self, step: u16) {
        self.origin = Origin {
            party: self.party,
            step,
        };
    }

    /// From here on, what is sent or put off has that cause (a gateway, or a server that answers later).
    #[inline]
    pub fn caused_by(&mut self, origin: Origin) {
        self.origin = origin;
    }

    /// What causes the sends now: at first, whatever caused the input.
    #[inline]
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Sends a frame.
    #[inline]
    pub fn send(&mut self, port: Port, message: Message, route: Route) {
        self.sent.push(Sent {
            port,
            message,
            raw: None,
            body: None,
            route,
            origin: self.origin,
            slips: &[],
        });
    }

    /// Sends a frame with a payload of its own.
    pub fn send_with(&mut self, port: Port, message: Message, body: Body, route: Route) {
        self.sent.push(Sent {
            port,
            message,
            raw: None,
            body: Some(Box::new(body)),
            route,
            origin: self.origin,
            slips: &[],
        });
    }

    /// Sends a frame that breaks these rules on purpose.
    pub fn send_wrong(
        &mut self,
        port: Port,
        message: Message,
        route: Route,
        slips: &'static [&'static str],
    ) {
        self.sent.push(Sent {
            port,
            message,
            raw: None,
            body: None,
            route,
            origin: self.origin,
            slips,
        });
    }

    /// Sends raw bytes, without a line end, that break these rules on purpose (or none).
    pub fn send_raw(
        &mut self,
        port: Port,
        bytes: &[u8],
        route: Route,
        slips: &'static [&'static str],
    ) {
        let message = Message::malformed(Default::default());
        let raw = Some(bytes.into());
        self.sent.push(Sent {
            port,
            message,
            raw,
            body: None,
            route,
            origin: self.origin,
            slips,
        });
    }

    /// Sets or replaces the timer of that tag.
    #[inline]
    pub fn timer(&mut self, tag: u32, delay_ms: u32) {
        self.wishes.push(Wish::Timer { tag, delay_ms });
    }

    /// Forgets the timer of that tag, if it is set.
    #[inline]
    pub fn cancel_timer(&mut self, tag: u32) {
        self.wishes.push(Wish::CancelTimer { tag });
    }

    /// Puts a step off: an order can come in between.
    #[inline]
    pub fn again(&mut self, tag: u32) {
        self.wishes.push(Wish::Again {
            tag,
            origin: self.origin,
        });
    }

    /// Opens a broken stream again.
    pub fn resume(&mut self, port: Port, stream: Stream) {
        self.wishes.push(Wish::Resume { port, stream });
    }

    /// Sends what was kept for a stream that the client has opened again.
    pub fn replay(&mut self, port: Port, stream: Stream) {
        self.wishes.push(Wish::Replay { port, stream });
    }

    /// Loses what was kept for a stream that the client has opened again: a defect.
    pub fn forget(&mut self, port: Port, stream: Stream) {
        self.wishes.push(Wish::Forget { port, stream });
    }

    /// Writes a line on the program's stderr, after what is sent.
    pub fn stderr(&mut self, port: Port, text: &'static str) {
        self.wishes.push(Wish::Stderr { port, text });
    }

    /// Closes an end.
    pub fn close(&mut self, port: Port) {
        self.wishes.push(Wish::Close { port });
    }

    /// Ends the party's program.
    pub fn exit(&mut self) {
        self.wishes.push(Wish::Exit);
    }

    /// One of `0..bound`, 0 being the plain answer. Asked and recorded even where it is forced.
    #[inline]
    pub fn ask(&mut self, bound: u32) -> u32 {
        self.ask.ask(bound)
    }
}

/// What a party's program does about pipes, beside what it says on them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Habits {
    /// What it writes has a queue before the pipe: while that is full it goes on, and reads above all. Otherwise it does
    /// nothing at all until there is room.
    pub reads_while_writing: bool,
    /// Client: it reads what its servers write on stderr, or never took hold of it.
    pub reads_stderr: bool,
}

impl Default for Habits {
    /// Those of a program that gets nobody stuck.
    fn default() -> Habits {
        Habits {
            reads_while_writing: true,
            reads_stderr: true,
        }
    }
}

/// A peer without I/O. Given one input it changes its state and fills an [`Out`]. It never sees
/// the time and holds no randomness: the same state and input and answers give the same output.
pub trait Actor {
    /// Takes one input.
    fn on(&mut self, input: &Input<'_>, out: &mut Out<'_>);

    /// What it does about pipes; asked once, before anything happens.
    fn habits(&self) -> Habits {
        Habits::default()
    }
}

/// A party's end of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct End {
    /// The party.
    pub party: PartyId,
    /// Its port for this link.
    pub port: Port,
    /// Its role on this link.
    pub role: Role,
}
