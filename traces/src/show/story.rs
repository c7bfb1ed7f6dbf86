//! What a trace or a capture tells, in one form that every renderer takes. Peers' texts are short and unescaped here.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use crate::capture::{CaptureEvent, CaptureLine, CaptureWhat};
use crate::classify::{Classified, classify};
use crate::event::{Choice, Fault, FrameNo, LinkKind, Pipe, Role, Stream, Told};
use crate::file::{Header, OwnedEvent, OwnedWhat, PartyRole, TraceReader};
use crate::http::{Head, Http, Start};
use crate::judge::{Blame, Finding, Verdict};
use crate::key::Key;
use crate::lines::{InputError, ReadError};
use crate::message::{Kind, Method};
use crate::recording::Recording;
use crate::scan::Scanner;
use crate::show::escape::escape_bytes;

/// What is kept of a frame's payload, in bytes: more than any renderer shows.
const PAYLOAD_BYTES_MAX: usize = 400;

/// What is kept of an id or a method, in bytes.
const NAME_BYTES_MAX: usize = 80;

/// What happened between whom.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Story {
    /// What it is the story of, in one line.
    pub title: String,
    /// The parties, in the order in which they are shown.
    pub parties: Vec<StoryParty>,
    /// The links between them.
    pub links: Vec<StoryLink>,
    /// What happened, in order.
    pub items: Vec<Item>,
    /// What a reader must know of the whole: that the file is cut, …
    pub remarks: Vec<String>,
    /// The lines that could not be used.
    pub errors: Vec<InputError>,
}

/// A party.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoryParty {
    /// Its name.
    pub name: String,
    /// What it is.
    pub role: PartyRole,
}

/// A link between two parties.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoryLink {
    /// Its kind.
    pub kind: LinkKind,
    /// The party at its client end, a place in [`Story::parties`].
    pub client: usize,
    /// The party at its server end.
    pub server: usize,
}

impl StoryLink {
    /// The party at that end.
    pub fn end(&self, role: Role) -> usize {
        match role {
            Role::Client => self.client,
            Role::Server => self.server,
        }
    }
}

/// Something that happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
    /// The line in the file, from 1.
    pub line: u64,
    /// When, in milliseconds, where that is known.
    pub at_ms: Option<u64>,
    /// What.
    pub what: ItemWhat,
}

/// What happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ItemWhat {
    /// A frame was sent (or seen).
    Frame(Box<StoryFrame>),
    /// A frame that was sent earlier, with other things in between, has arrived.
    Arrival {
        /// The frame's number.
        frame: FrameNo,
        /// The link, a place in [`Story::links`].
        link: usize,
        /// The end that it arrived at.
        to: Role,
        /// Whether it had arrived before.
        again: bool,
    },
    /// A frame will not arrive.
    Lost {
        /// The frame's number.
        frame: FrameNo,
        /// The link.
        link: usize,
        /// The end that it travelled to.
        to: Role,
        /// Who learns of it.
        told: Told,
        /// Whether the link's kind forbids it.
        forbidden: bool,
    },
    /// The exchange of a request is lost: its answer cannot come.
    ExchangeLost {
        /// The request's number.
        frame: FrameNo,
        /// The link.
        link: usize,
        /// Whether the link's kind forbids it.
        forbidden: bool,
    },
    /// The connection of a stream that can be resumed broke.
    Broken {
        /// The stream.
        stream: Stream,
        /// The link.
        link: usize,
    },
    /// The client has opened a broken stream again.
    Resumed {
        /// The stream.
        stream: Stream,
        /// The link.
        link: usize,
    },
    /// The server does not have that frame of a broken stream any more.
    Forgotten {
        /// The frame's number.
        frame: FrameNo,
        /// The link.
        link: usize,
    },
    /// The server of that link wrote a line on its stderr.
    Stderr {
        /// The link.
        link: usize,
        /// The line.
        text: String,
    },
    /// The pipe is full, and whoever writes into it does nothing else until there is room.
    Blocked {
        /// The link.
        link: usize,
        /// The pipe.
        on: Pipe,
    },
    /// There is room in that pipe again.
    Unblocked {
        /// The link.
        link: usize,
        /// The pipe.
        on: Pipe,
    },
    /// A fault was injected.
    Fault {
        /// Which.
        fault: Fault,
        /// The frame's number; 0 for a fault of the link or party alone.
        frame: FrameNo,
        /// The link.
        link: usize,
        /// The party that it befell, a place in [`Story::parties`].
        party: usize,
        /// Whether the link's kind forbids it.
        forbidden: bool,
    },
    /// A party's timer fired.
    Timer {
        /// The party.
        party: usize,
        /// The tag that the party gave it.
        tag: u32,
    },
    /// A party took a step of its own.
    Own {
        /// The party.
        party: usize,
        /// The tag that the party gave it.
        tag: u32,
    },
    /// A link came up.
    Open {
        /// The link.
        link: usize,
    },
    /// An end closed a link.
    Close {
        /// The link.
        link: usize,
        /// The end.
        by: Role,
    },
    /// An end learned that its link is closed.
    Closed {
        /// The link.
        link: usize,
        /// The end.
        to: Role,
    },
    /// A party's program ended by itself.
    Exit {
        /// The party.
        party: usize,
    },
    /// Faults are over.
    Calm,
    /// Nothing can happen any more.
    Quiet,
    /// A question was answered.
    Choice(Choice),
    /// A text for the reader.
    Note(String),
    /// An event of a capture.
    Event {
        /// Its name.
        name: String,
        /// What stands with it.
        detail: String,
        /// The link, where it is about one.
        link: Option<usize>,
        /// The end that it happened to.
        by: Option<Role>,
    },
}

/// A frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoryFrame {
    /// Its number, from 1.
    pub number: FrameNo,
    /// The link.
    pub link: usize,
    /// The end that sent it.
    pub from: Role,
    /// The stream, where the link has several.
    pub stream: Option<String>,
    /// What kind of frame.
    pub kind: Kind,
    /// The method of a request or notification; what a response answers; else what the frame is.
    pub method: String,
    /// The id as it was spelled: `3` is not `"3"`. Empty where there is none.
    pub id: String,
    /// The beginning of `params`, `result`, `error` or of the frame itself.
    pub payload: String,
    /// Rules that the sender breaks with it on purpose.
    pub slips: Vec<String>,
    /// Whether and when it arrived.
    pub delivery: Delivery,
}

/// Whether and when a frame arrived.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Delivery {
    /// Nothing happened between its sending and its arrival, or nobody knows.
    AtOnce,
    /// There is an [`ItemWhat::Arrival`] further on.
    Later,
    /// It was lost.
    Lost,
    /// It was still on its way when the story ended.
    OnItsWay,
}

impl StoryFrame {
    /// The frame in a few words: kind, method or what it answers, id.
    pub fn words(&self) -> String {
        let StoryFrame {
            kind, method, id, ..
        } = self;
        let space = if id.is_empty() { "" } else { " " };
        match kind {
            Kind::Notification if method.starts_with("notifications/") => method.clone(),
            Kind::Request | Kind::Notification => {
                format!("{} {method}{space}{id}", kind.as_str())
            }
            Kind::Result | Kind::Error if method.is_empty() => {
                format!("{}{space}{id} of an unknown request", kind.as_str())
            }
            Kind::Result | Kind::Error => format!("{}{space}{id} of {method}", kind.as_str()),
            Kind::Batch => kind.as_str().to_owned(),
            Kind::Malformed => format!("malformed ({method}){space}{id}"),
        }
    }
}

/// A finding, to be shown below its frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoryFinding {
    /// The frame at fault; 0 where there is none, or in a story without it, for the end.
    pub frame: FrameNo,
    /// The rule's id.
    pub rule: String,
    /// Who is to blame.
    pub blame: Blame,
    /// Whether it is certain.
    pub verdict: Verdict,
    /// What happened and what would have been right.
    pub message: String,
}

impl From<&Finding> for StoryFinding {
    fn from(finding: &Finding) -> StoryFinding {
        StoryFinding {
            // The offending frame is the last one.
            frame: finding.frames.last().copied().unwrap_or(0),
            rule: finding.rule.to_owned(),
            blame: finding.blame,
            verdict: finding.verdict,
            message: finding.message.clone(),
        }
    }
}

impl Story {
    /// The rest of a trace, as a story. Lines that cannot be used are among its errors.
    ///
    /// # Errors
    /// The file itself cannot be read.
    pub fn of_trace(reader: &mut TraceReader<impl io::Read>) -> io::Result<Story> {
        let mut builder = StoryBuilder::of_trace(reader.header());
        let mut last = 1;
        for item in reader.by_ref() {
            match item {
                Ok(event) => {
                    last = event.line;
                    builder.event(event);
                }
                Err(ReadError::Input(error)) => builder.story.errors.push(error),
                Err(ReadError::Io(error)) => return Err(error),
            }
        }
        if reader.is_cut() {
            builder.remark(format!(
                "the file stops in the middle of a line after line {last}"
            ));
        } else if reader.end().is_none() {
            builder.remark("the file has no closing line: its writer was interrupted".to_owned());
        }
        if reader.is_altered() {
            builder.remark("the file was changed after it was written".to_owned());
        }
        Ok(builder.finish())
    }

    /// The rest of a capture, as a story. Lines that cannot be used are among its errors.
    ///
    /// # Errors
    /// The file itself cannot be read.
    pub fn of_recording(reader: &mut (impl Recording + ?Sized)) -> io::Result<Story> {
        let opening = reader.opening();
        let kind = opening.transport.unwrap_or(LinkKind::Pipe);
        let mut builder = StoryBuilder::of_recording(reader.format(), kind);
        loop {
            match reader.next_line() {
                Ok(Some(line)) => builder.line(&line),
                Ok(None) => break,
                Err(ReadError::Input(error)) => builder.story.errors.push(error),
                Err(ReadError::Io(error)) => return Err(error),
            }
        }
        if reader.is_cut() {
            builder.remark(format!(
                "the file stops in the middle of line {}",
                reader.line_number()
            ));
        }
        Ok(builder.finish())
    }

    /// The number of frames.
    pub fn frames(&self) -> usize {
        let frame = |item: &&Item| matches!(item.what, ItemWhat::Frame(_));
        self.items.iter().filter(frame).count()
    }
}

/// Makes a story of events as they come.
#[derive(Debug)]
pub struct StoryBuilder {
    story: Story,
    scanner: Scanner,
    /// Where each frame's item stands, and whether it has arrived.
    frames: BTreeMap<FrameNo, (usize, bool)>,
    /// What was asked: by link, asking end and id.
    asked: BTreeMap<(usize, Role, Key), String>,
    /// The last item that a reader sees: a frame there can still arrive at once.
    last_seen: Option<usize>,
    /// Links by session, for a capture.
    sessions: BTreeMap<String, usize>,
    kind: LinkKind,
    count: FrameNo,
}

impl StoryBuilder {
    /// For the events of a trace.
    pub fn of_trace(header: &Header) -> StoryBuilder {
        let seed = header.seed.map(|seed| format!(", seed {seed}"));
        let mut builder = StoryBuilder::new(
            format!("trace by {}{}", header.program, seed.unwrap_or_default()),
            LinkKind::Pipe,
        );
        let party = |party: &crate::file::Party| StoryParty {
            name: party.name.clone(),
            role: party.role,
        };
        builder.story.parties = header.parties.iter().map(party).collect();
        let link = |link: &crate::file::Link| StoryLink {
            kind: link.kind,
            client: usize::from(link.client.0),
            server: usize::from(link.server.0),
        };
        builder.story.links = header.links.iter().map(link).collect();
        builder
    }

    /// For the lines of a capture; each session becomes a link of that kind between two parties.
    pub fn of_recording(format: &str, kind: LinkKind) -> StoryBuilder {
        StoryBuilder::new(format.to_owned(), kind)
    }

    fn new(title: String, kind: LinkKind) -> StoryBuilder {
        StoryBuilder {
            story: Story {
                title,
                ..Story::default()
            },
            scanner: Scanner::new(),
            frames: BTreeMap::new(),
            asked: BTreeMap::new(),
            last_seen: None,
            sessions: BTreeMap::new(),
            kind,
            count: 0,
        }
    }

    /// Something that a reader must know of the whole.
    pub fn remark(&mut self, text: String) {
        self.story.remarks.push(text);
    }

    /// The story so far.
    pub fn finish(self) -> Story {
        self.story
    }

    /// Takes an event of a trace.
    pub fn event(&mut self, event: OwnedEvent) {
        let index = |link: crate::event::LinkId| usize::from(link.0);
        let what = match event.what {
            OwnedWhat::Send {
                frame,
                link,
                from,
                stream,
                raw,
                slips,
                ..
            } => {
                let link = index(link);
                let several = self.story.links[link].kind == LinkKind::Http;
                let stream = several.then(|| stream.to_string());
                let frame = self.frame(frame, link, from, stream, &raw);
                ItemWhat::Frame(Box::new(StoryFrame {
                    slips,
                    delivery: Delivery::OnItsWay,
                    ..frame
                }))
            }
            OwnedWhat::Recv { frame, link, to } => {
                let Some(again) = self.arrived(frame) else {
                    return;
                };
                ItemWhat::Arrival {
                    frame,
                    link: index(link),
                    to,
                    again,
                }
            }
            OwnedWhat::Lost {
                frame,
                link,
                to,
                told,
                forbidden,
            } => {
                self.deliver(frame, Delivery::Lost);
                ItemWhat::Lost {
                    frame,
                    link: index(link),
                    to,
                    told,
                    forbidden,
                }
            }
            OwnedWhat::ExchangeLost {
                frame,
                link,
                forbidden,
            } => ItemWhat::ExchangeLost {
                frame,
                link: index(link),
                forbidden,
            },
            OwnedWhat::Broken { stream, link } => ItemWhat::Broken {
                stream,
                link: index(link),
            },
            OwnedWhat::Resumed { stream, link } => ItemWhat::Resumed {
                stream,
                link: index(link),
            },
            OwnedWhat::Forgotten { frame, link } => {
                self.deliver(frame, Delivery::Lost);
                ItemWhat::Forgotten {
                    frame,
                    link: index(link),
                }
            }
            OwnedWhat::Fault {
                fault,
                frame,
                link,
                party,
                forbidden,
            } => ItemWhat::Fault {
                fault,
                frame,
                link: index(link),
                party: usize::from(party.0),
                forbidden,
            },
            OwnedWhat::Timer { party, tag } => ItemWhat::Timer {
                party: usize::from(party.0),
                tag,
            },
            OwnedWhat::Stderr { link, text } => ItemWhat::Stderr {
                link: index(link),
                text,
            },
            OwnedWhat::Blocked { link, on } => ItemWhat::Blocked {
                link: index(link),
                on,
            },
            OwnedWhat::Unblocked { link, on } => ItemWhat::Unblocked {
                link: index(link),
                on,
            },
            OwnedWhat::Own { party, tag } => ItemWhat::Own {
                party: usize::from(party.0),
                tag,
            },
            OwnedWhat::Open { link } => ItemWhat::Open { link: index(link) },
            OwnedWhat::Close { link, by } => ItemWhat::Close {
                link: index(link),
                by,
            },
            OwnedWhat::Closed { link, to } => ItemWhat::Closed {
                link: index(link),
                to,
            },
            OwnedWhat::Exit { party } => ItemWhat::Exit {
                party: usize::from(party.0),
            },
            OwnedWhat::Calm => ItemWhat::Calm,
            OwnedWhat::Quiet => ItemWhat::Quiet,
            OwnedWhat::Choice(choice) => ItemWhat::Choice(choice),
            OwnedWhat::Note(text) => ItemWhat::Note(text),
        };
        self.push(event.line, Some(event.at_ms), what);
    }

    /// Takes a line of a capture. Its frames are numbered from 1.
    pub fn line(&mut self, line: &CaptureLine<'_>) {
        let session = line.session.as_deref().unwrap_or("");
        let what = match &line.what {
            CaptureWhat::Frame(frame) => {
                self.count += 1;
                let link = self.session(session);
                let stream = line.stream.as_deref().map(str::to_owned);
                let frame = self.frame(self.count, link, frame.from, stream, frame.raw);
                ItemWhat::Frame(Box::new(frame))
            }
            CaptureWhat::Event(event) => ItemWhat::Event {
                name: event.name.clone().into_owned(),
                detail: detail(event, line),
                // A line about the whole capture makes no session.
                link: (event.by.is_some() || !session.is_empty()).then(|| self.session(session)),
                by: event.by,
            },
            CaptureWhat::Http(from) => {
                // Findings name it by its number.
                self.count += 1;
                self.frames
                    .insert(self.count, (self.story.items.len(), false));
                ItemWhat::Event {
                    name: line.http.as_deref().map_or("http".to_owned(), http_name),
                    detail: stream_detail(line).join(", "),
                    link: Some(self.session(session)),
                    by: Some(*from),
                }
            }
        };
        self.push(line.line, line.t_ms, what);
    }

    fn push(&mut self, line: u64, at_ms: Option<u64>, what: ItemWhat) {
        let at = self.story.items.len();
        if let ItemWhat::Frame(frame) = &what {
            self.frames.insert(frame.number, (at, false));
        }
        if !matches!(what, ItemWhat::Choice(_) | ItemWhat::Own { .. }) {
            self.last_seen = Some(at);
        }
        self.story.items.push(Item { line, at_ms, what });
    }

    /// Notes a frame's arrival; `None` where it needs no item of its own, else whether it is not the first.
    fn arrived(&mut self, frame: FrameNo) -> Option<bool> {
        let Some((at, arrived)) = self.frames.get_mut(&frame) else {
            return Some(false);
        };
        let again = std::mem::replace(arrived, true);
        let at_once = !again && self.last_seen == Some(*at);
        if !again {
            let delivery = if at_once {
                Delivery::AtOnce
            } else {
                Delivery::Later
            };
            self.deliver(frame, delivery);
        }
        (!at_once).then_some(again)
    }

    fn deliver(&mut self, frame: FrameNo, delivery: Delivery) {
        if let Some(&(at, _)) = self.frames.get(&frame)
            && let ItemWhat::Frame(frame) = &mut self.story.items[at].what
        {
            frame.delivery = delivery;
        }
    }

    /// The link of a session of a capture, with its parties.
    fn session(&mut self, name: &str) -> usize {
        if let Some(&link) = self.sessions.get(name) {
            return link;
        }
        let link = self.story.links.len();
        let space = if name.is_empty() { "" } else { " " };
        for role in [PartyRole::Client, PartyRole::Server] {
            self.story.parties.push(StoryParty {
                name: format!("{}{space}{}", role.as_str(), shortened(name.as_bytes())),
                role,
            });
        }
        self.story.links.push(StoryLink {
            kind: self.kind,
            client: 2 * link,
            server: 2 * link + 1,
        });
        self.sessions.insert(name.to_owned(), link);
        link
    }

    fn frame(
        &mut self,
        number: FrameNo,
        link: usize,
        from: Role,
        stream: Option<String>,
        raw: &[u8],
    ) -> StoryFrame {
        let Classified { message, spans, .. } = classify(raw, &mut self.scanner);
        let name = |span: &Range<usize>| match message.method {
            Method::Unknown | Method::None => {
                let text = &raw[span.clone()];
                let inner = text.strip_prefix(b"\"").and_then(|t| t.strip_suffix(b"\""));
                shortened(inner.unwrap_or(text))
            }
            known => known.as_str().to_owned(),
        };
        let (method, payload) = match message.kind {
            Kind::Request => {
                let method = name(&spans.method);
                let asked = (link, from, message.id);
                self.asked.insert(asked, method.clone());
                (method, spans.params)
            }
            Kind::Notification => {
                let mut method = name(&spans.method);
                if matches!(message.method, Method::Cancelled | Method::Progress) {
                    let about = message.token.to_string();
                    method = format!("{method} of {}", shortened(about.as_bytes()));
                }
                (method, spans.params)
            }
            Kind::Result | Kind::Error => {
                let asked = self.asked.get(&(link, from.other(), message.id));
                let payload = if message.kind == Kind::Result {
                    spans.result
                } else {
                    spans.error
                };
                (asked.cloned().unwrap_or_default(), payload)
            }
            Kind::Batch => (String::new(), 0..raw.len()),
            Kind::Malformed => {
                let conditions: Vec<&str> = message.conditions.iter().map(|c| c.as_str()).collect();
                (conditions.join(", "), 0..raw.len())
            }
        };
        let payload = &raw[payload];
        StoryFrame {
            number,
            link,
            from,
            stream,
            kind: message.kind,
            method,
            id: shortened(&raw[spans.id]),
            payload: beginning(payload, PAYLOAD_BYTES_MAX),
            slips: vec![],
            delivery: Delivery::AtOnce,
        }
    }
}

/// What stands with an event of a capture.
fn detail(event: &CaptureEvent<'_>, line: &CaptureLine<'_>) -> String {
    let mut words = vec![];
    if let Some(vantage) = event.vantage {
        words.push(format!("seen from {}", vantage.as_str()));
    }
    if let Some(transport) = event.transport {
        words.push(format!("over {}", transport.as_str()));
    }
    if let Some(status) = event.status {
        words.push(format!("status {status}"));
    }
    if let Some(http) = line.http.as_deref().filter(|http| http.head.is_some()) {
        words.push(http_name(http));
    }
    words.extend(stream_detail(line));
    if !event.raw.is_empty() {
        words.push(shortened(event.raw));
    }
    words.join(", ")
}

fn stream_detail(line: &CaptureLine<'_>) -> Vec<String> {
    let on = |stream: &str| format!("on {}", shortened(stream.as_bytes()));
    line.stream.as_deref().map(on).into_iter().collect()
}

/// A head, or what stands with an event that has no data, in few words.
fn http_name(http: &Http<'_>) -> String {
    match &http.head {
        Some(Head {
            start: Start::Request { method, target },
            ..
        }) => {
            let target = target.as_deref().unwrap_or_default();
            shortened(format!("{method} {target}").trim_end().as_bytes())
        }
        Some(Head {
            start: Start::Answer { status },
            ..
        }) => format!("HTTP {status}"),
        None => match &http.sse.id {
            Some(id) => format!("event {}", shortened(id.as_bytes())),
            None => "event".to_owned(),
        },
    }
}

/// The beginning of a name that a peer has chosen.
fn shortened(bytes: &[u8]) -> String {
    beginning(bytes, NAME_BYTES_MAX)
}

/// The beginning of a text; what is not UTF-8 is spelled out.
fn beginning(bytes: &[u8], length_max: usize) -> String {
    let text = |bytes| match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => escape_bytes(bytes).into_owned(),
    };
    if bytes.len() <= length_max {
        return text(bytes);
    }
    let is_inside = |&at: &usize| bytes[at] & 0xC0 == 0x80;
    let end = (0..=length_max).rev().find(|at| !is_inside(at));
    text(&bytes[..end.unwrap_or(0)]) + "…"
}
