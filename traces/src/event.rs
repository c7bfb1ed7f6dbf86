//! Events of a trace in the order in which they happened, and the sinks that take them.

use std::fmt;

use crate::http::Http;
use crate::message::{Kind, Message};
use crate::render::{Spellings, render};

/// A party: a client, a server or a gateway, by its place in the scenario, from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct PartyId(pub u8);

/// A link: one session between a client end and a server end, by its place in the scenario, from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct LinkId(pub u8);

/// The number of a frame in its trace, from 1; 0 where there is none.
pub type FrameNo = u32;

/// An end of a link. The same party can be a client on one link and a server on another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Role {
    /// The end that sends `initialize`.
    Client,
    /// The end that answers it.
    Server,
}

impl Role {
    /// The other end.
    #[inline]
    pub const fn other(self) -> Role {
        match self {
            Role::Client => Role::Server,
            Role::Server => Role::Client,
        }
    }

    /// The role in one lower-case word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Role::Client => "client",
            Role::Server => "server",
        }
    }
}

/// What a link does to frames.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum LinkKind {
    /// stdio: in order, nothing lost, bounded.
    Pipe,
    /// Streamable HTTP: each stream in order, no order between streams, exchanges can be lost.
    Http,
}

impl LinkKind {
    /// The kind in one lower-case word.
    pub const fn as_str(self) -> &'static str {
        match self {
            LinkKind::Pipe => "pipe",
            LinkKind::Http => "http",
        }
    }
}

/// One of the three pipes of a link over stdio, by its name at the server's program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Pipe {
    /// What the client writes and the server reads.
    Stdin,
    /// What the server writes and the client reads.
    Stdout,
    /// What the server writes beside its frames, for people: the client takes it or lets it be.
    Stderr,
}

impl Pipe {
    /// All pipes.
    pub const ALL: [Pipe; 3] = [Pipe::Stdin, Pipe::Stdout, Pipe::Stderr];

    /// The pipe in one lower-case word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Pipe::Stdin => "stdin",
            Pipe::Stdout => "stdout",
            Pipe::Stderr => "stderr",
        }
    }

    /// The pipe that carries the frames of that end.
    pub const fn of_frames(writer: Role) -> Pipe {
        match writer {
            Role::Client => Pipe::Stdin,
            Role::Server => Pipe::Stdout,
        }
    }

    /// Who writes into it; the other end reads.
    pub const fn writer(self) -> Role {
        match self {
            Pipe::Stdin => Role::Client,
            Pipe::Stdout | Pipe::Stderr => Role::Server,
        }
    }
}

/// A stream of a link: frames of one stream stay in order. A pipe has only stream 0; on http each
/// POST is a stream of its own, and stream 0 is the standing GET stream.
pub type Stream = u32;

/// What caused a frame or a step: a step of a party's workload, and all that follows from it. It
/// survives the removal of other steps, which ids do not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Origin {
    /// The party whose workload it was.
    pub party: PartyId,
    /// The step of that workload, from 1; 0 for what a party does before any (the handshake).
    pub step: u16,
}

/// What an option of a choice is, in a form that survives the removal of other steps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Label {
    /// The frame of that description on that link arrives (or is dropped, delayed, … at its site).
    Frame {
        /// The link.
        link: LinkId,
        /// The end that it travels to.
        to: Role,
        /// What kind of frame.
        kind: Kind,
        /// What caused it.
        origin: Origin,
        /// Which one of that description, oldest first, from 0.
        nth: u16,
    },
    /// A party's own step, by the tag that it gave.
    Own {
        /// The party.
        party: PartyId,
        /// Its tag.
        tag: u32,
    },
    /// A party's timer, by the tag that it gave.
    Timer {
        /// The party.
        party: PartyId,
        /// Its tag.
        tag: u32,
    },
    /// A fault or its absence, by the fault's number in [`Fault::ALL`] plus one, or 0 for none.
    Fault(u8),
    /// A plain number: a party's own question.
    Number(u32),
}

/// As traces spell it, and as [`Label::parse`] reads it.
impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Label::Frame {
                link,
                to,
                kind,
                origin,
                nth,
            } => write!(
                f,
                "frame/{}/{}/{}/{}.{}/{nth}",
                link.0,
                to.as_str(),
                kind.as_str(),
                origin.party.0,
                origin.step
            ),
            Label::Own { party, tag } => write!(f, "own/{}/{tag}", party.0),
            Label::Timer { party, tag } => write!(f, "timer/{}/{tag}", party.0),
            Label::Fault(number) => match number
                .checked_sub(1)
                .map(|at| Fault::ALL.get(usize::from(at)))
            {
                Some(Some(fault)) => write!(f, "fault/{}", fault.as_str()),
                _ => f.write_str("fault/none"),
            },
            Label::Number(number) => write!(f, "number/{number}"),
        }
    }
}

impl Label {
    /// The label that was spelled so; `None` for anything else.
    pub fn parse(text: &str) -> Option<Label> {
        let parts: Vec<&str> = text.split('/').collect();
        let number = |text: &str| text.parse::<u32>().ok();
        match parts[..] {
            ["frame", link, to, kind, origin, nth] => {
                let (party, step) = origin.split_once('.')?;
                Some(Label::Frame {
                    link: LinkId(link.parse().ok()?),
                    to: [Role::Client, Role::Server]
                        .into_iter()
                        .find(|role| role.as_str() == to)?,
                    kind: KINDS.into_iter().find(|known| known.as_str() == kind)?,
                    origin: Origin {
                        party: PartyId(party.parse().ok()?),
                        step: step.parse().ok()?,
                    },
                    nth: nth.parse().ok()?,
                })
            }
            ["own", party, tag] => Some(Label::Own {
                party: PartyId(party.parse().ok()?),
                tag: number(tag)?,
            }),
            ["timer", party, tag] => Some(Label::Timer {
                party: PartyId(party.parse().ok()?),
                tag: number(tag)?,
            }),
            ["fault", "none"] => Some(Label::Fault(0)),
            ["fault", name] => {
                let at = Fault::ALL.iter().position(|fault| fault.as_str() == name)?;
                Some(Label::Fault(at as u8 + 1))
            }
            ["number", text] => Some(Label::Number(number(text)?)),
            _ => None,
        }
    }
}

const KINDS: [Kind; 6] = [
    Kind::Request,
    Kind::Notification,
    Kind::Result,
    Kind::Error,
    Kind::Batch,
    Kind::Malformed,
];

/// A fault that the world can inject.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Fault {
    /// The frame is lost.
    Drop,
    /// The frame arrives twice.
    Duplicate,
    /// The frame waits, and others may overtake it.
    Delay,
    /// The link is cut: what is in flight is lost, both ends are told.
    Cut,
    /// The receiving party crashes: its links close.
    Crash,
}

impl Fault {
    /// All faults, mildest first.
    pub const ALL: [Fault; 5] = [
        Fault::Delay,
        Fault::Duplicate,
        Fault::Drop,
        Fault::Cut,
        Fault::Crash,
    ];

    /// The fault in one lower-case word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Fault::Drop => "drop",
            Fault::Duplicate => "duplicate",
            Fault::Delay => "delay",
            Fault::Cut => "cut",
            Fault::Crash => "crash",
        }
    }
}

/// Who learns that a frame was lost.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Told {
    /// Nobody.
    Nobody,
    /// The client, whose exchange it was.
    Client,
    /// Both ends: their link closes.
    Both,
}

impl Told {
    /// All of them.
    pub const ALL: [Told; 3] = [Told::Nobody, Told::Client, Told::Both];

    /// Who learns of it, in one lower-case word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Told::Nobody => "nobody",
            Told::Client => "client",
            Told::Both => "both",
        }
    }

    /// Whether the end of that role learns of it.
    pub fn is(self, role: Role) -> bool {
        self == Told::Both || (self == Told::Client && role == Role::Client)
    }
}

/// Where a choice was asked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Site {
    /// What happens next in the world.
    Next,
    /// Which fault, if any, befalls the frame that was chosen.
    Fault,
    /// A question of a party's own.
    Party,
}

impl Site {
    /// All sites.
    pub const ALL: [Site; 3] = [Site::Next, Site::Fault, Site::Party];

    /// The site in one lower-case word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Site::Next => "next",
            Site::Fault => "fault",
            Site::Party => "party",
        }
    }
}

/// One answered question: all that a replay needs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Choice {
    /// Where it was asked.
    pub site: Site,
    /// How many options there were; 1 where the step was forced.
    pub bound: u32,
    /// The option taken, from 0, plainest first.
    pub answer: u32,
    /// What that option was.
    pub label: Label,
}

/// The text of a frame, there or to be rendered.
#[derive(Clone, Copy, Debug)]
pub struct FrameText<'a> {
    /// The frame as a structured value.
    pub message: &'a Message,
    /// The bytes, for a frame that was sent as raw bytes.
    pub raw: Option<&'a [u8]>,
    /// How long keys were spelled by whoever sent them first.
    pub spellings: &'a Spellings,
}

impl FrameText<'_> {
    /// Appends the frame's bytes to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self.raw {
            Some(raw) => out.extend_from_slice(raw),
            None => render(self.message, self.spellings, out),
        }
    }
}

/// Something that happened, at a time in milliseconds of the world (or of the log).
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// Milliseconds since the start.
    pub at_ms: u64,
    /// What happened.
    pub what: What<'a>,
}

/// What happened.
#[derive(Clone, Copy, Debug)]
pub enum What<'a> {
    /// A link came up.
    Open {
        /// The link.
        link: LinkId,
    },
    /// A party put a frame on a link.
    Send {
        /// The frame's number.
        frame: FrameNo,
        /// The link.
        link: LinkId,
        /// The end that sent it.
        from: Role,
        /// The stream that it travels on.
        stream: Stream,
        /// What caused it.
        origin: Origin,
        /// What it says.
        text: FrameText<'a>,
        /// What HTTP tells beside it.
        http: Option<&'a Http<'a>>,
        /// Rules that the sender breaks with it on purpose.
        slips: &'static [&'static str],
    },
    /// A frame arrived at a party.
    Recv {
        /// The frame's number.
        frame: FrameNo,
        /// The link.
        link: LinkId,
        /// The end that it arrived at.
        to: Role,
    },
    /// A fault befell a frame (or, with `frame` 0, the link or party alone).
    Fault {
        /// Which fault.
        fault: Fault,
        /// The frame's number.
        frame: FrameNo,
        /// The link.
        link: LinkId,
        /// The party that it befell: the frame's receiver.
        party: PartyId,
        /// Whether the link's kind forbids it: then the transport is to blame for what follows.
        forbidden: bool,
    },
    /// A frame is lost on its way: dropped, or its exchange, link or receiver is gone.
    Lost {
        /// The frame's number.
        frame: FrameNo,
        /// The link.
        link: LinkId,
        /// The end that it travelled to.
        to: Role,
        /// Who learns of it.
        told: Told,
        /// Whether the link's kind forbids the loss.
        forbidden: bool,
    },
    /// With an answer, or something on its way beside it, the exchange of this request is lost.
    ExchangeLost {
        /// The request's frame number.
        frame: FrameNo,
        /// The link.
        link: LinkId,
        /// Whether the link's kind forbids the loss.
        forbidden: bool,
    },
    /// The connection of a stream that can be resumed broke: what is on its way there waits at the server.
    Broken {
        /// The stream.
        stream: Stream,
        /// The link.
        link: LinkId,
    },
    /// The client has opened a broken stream again, and the server knows.
    Resumed {
        /// The stream.
        stream: Stream,
        /// The link.
        link: LinkId,
    },
    /// The server had kept that frame for a stream that broke, and does not have it any more: a defect.
    Forgotten {
        /// The frame's number.
        frame: FrameNo,
        /// The link.
        link: LinkId,
    },
    /// The server of that link wrote a line on its stderr.
    Stderr {
        /// The link.
        link: LinkId,
        /// The line.
        text: &'a str,
    },
    /// The pipe is full, and whoever writes into it does nothing else until there is room.
    Blocked {
        /// The link.
        link: LinkId,
        /// The pipe.
        on: Pipe,
    },
    /// There is room in that pipe again: its writer goes on.
    Unblocked {
        /// The link.
        link: LinkId,
        /// The pipe.
        on: Pipe,
    },
    /// A party's timer fired.
    Timer {
        /// The party.
        party: PartyId,
        /// The tag that the party gave it.
        tag: u32,
    },
    /// A party took a step of its own.
    Own {
        /// The party.
        party: PartyId,
        /// The tag that the party gave it.
        tag: u32,
    },
    /// An end closed a link.
    Close {
        /// The link.
        link: LinkId,
        /// The end that closed it.
        by: Role,
    },
    /// An end learns that its link is closed.
    Closed {
        /// The link.
        link: LinkId,
        /// The end that learns of it.
        to: Role,
    },
    /// A party's program ended by itself, with its links.
    Exit {
        /// The party.
        party: PartyId,
    },
    /// Faults are over: from here on delivery is fair and every open request must be settled.
    Calm,
    /// Nothing can happen any more.
    Quiet,
    /// A question was answered.
    Choice(Choice),
    /// Something to tell the reader.
    Note(&'a str),
}

/// Takes the events of a trace as they happen.
pub trait Sink {
    /// Takes one event.
    fn event(&mut self, event: &Event<'_>);

    /// Whether it does anything with an event: nothing is prepared for a sink that doesn't.
    #[inline]
    fn listens(&self) -> bool {
        true
    }
}

/// Takes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

impl Sink for Nothing {
    #[inline]
    fn event(&mut self, _: &Event<'_>) {}

    #[inline]
    fn listens(&self) -> bool {
        false
    }
}

impl<S: Sink + ?Sized> Sink for &mut S {
    #[inline]
    fn event(&mut self, event: &Event<'_>) {
        (**self).event(event);
    }

    #[inline]
    fn listens(&self) -> bool {
        (**self).listens()
    }
}

/// Both, one after the other.
impl<A: Sink, B: Sink> Sink for (A, B) {
    #[inline]
    fn event(&mut self, event: &Event<'_>) {
        self.0.event(event);
        self.1.event(event);
    }

    #[inline]
    fn listens(&self) -> bool {
        self.0.listens() || self.1.listens()
    }
}

/// Keeps the choices and nothing else: all that a campaign needs of a run.
#[derive(Clone, Debug, Default)]
pub struct Choices(pub Vec<Choice>);

impl Sink for Choices {
    #[inline]
    fn event(&mut self, event: &Event<'_>) {
        if let What::Choice(choice) = event.what {
            self.0.push(choice);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_read_as_they_are_written() {
        let origin = Origin {
            party: PartyId(2),
            step: 14,
        };
        for label in [
            Label::Frame {
                link: LinkId(1),
                to: Role::Client,
                kind: Kind::Result,
                origin,
                nth: 3,
            },
            Label::Own {
                party: PartyId(0),
                tag: 7,
            },
            Label::Timer {
                party: PartyId(9),
                tag: 4_000_000_000,
            },
            Label::Fault(0),
            Label::Fault(3),
            Label::Number(5),
        ] {
            assert_eq!(Label::parse(&label.to_string()), Some(label));
        }
        assert_eq!(Label::parse("frame/1/client/result/2.14"), None);
        assert_eq!(Label::parse("fault/flood"), None);
    }
}
