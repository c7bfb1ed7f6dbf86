//! HTTP exchanges of a session: what each carries and how it ends, from the heads and events that a log has beside its
//! frames. What is wrong with them is judged in `rules/http`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use mcpsim_traces::event::{FrameNo, Role, Stream};
use mcpsim_traces::http::{Head, Http, Start};
use mcpsim_traces::judge::{Severity, Verdict};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Condition, Kind, Message, Method, Revision};
use mcpsim_traces::tape::Value;

use crate::era::{Awaits, Era};
use crate::ledger::{Ledger, bit};
use crate::observer::{LogEvent, LogWhat, ObserverOptions, Seen, outside};
use crate::part::{Knows, Part, flag, open};
use crate::rules::{Rule, When};

pub(crate) mod events;
pub(crate) mod head;
pub(crate) mod params;

use events::{Events, Root};
use head::Media;
use params::Tools;

/// So many exchanges are remembered that are over: something may still come on them.
const OVER_MAX: usize = 512;
/// So many exchanges are remembered in all.
const EXCHANGES_MAX: usize = 1 << 14;
/// So many requests are remembered that may be sent again after their exchange failed.
const SENT_MAX: usize = 256;
/// So many findings wait for the revision to be settled.
const HELD_MAX: usize = 64;
/// So many ids of earlier sessions are remembered.
const PAST_MAX: usize = 64;

/// What a rule may look at and where its findings go.
pub(crate) struct Scene<'a> {
    pub(crate) ledger: &'a mut Ledger,
    pub(crate) client: &'a mut Part,
    pub(crate) server: &'a mut Part,
    pub(crate) options: &'a ObserverOptions,
    pub(crate) now_ms: u32,
}

impl Scene<'_> {
    pub(crate) fn saw(&mut self, when: When) {
        self.ledger.saw(bit(when));
    }

    /// The revision that was agreed on.
    pub(crate) fn revision(&self) -> Option<Revision> {
        self.server.revision.or(self.client.revision)
    }

    /// The own order of the client's frames is known.
    pub(crate) fn is_client_exact(&self) -> bool {
        self.client.mode == crate::part::Mode::Exact
    }

    /// Files a finding whose rule the revision has.
    #[cold]
    fn file(&mut self, fault: Fault) {
        let is_client = fault.blame == Role::Client;
        // An older server may answer a newer request as it likes.
        let is_unproven = !is_client && !self.server.is(flag::MODERN | flag::FORCED);
        let (part, party) = match fault.blame {
            Role::Client => (&mut *self.client, self.options.client),
            Role::Server => (&mut *self.server, self.options.server),
        };
        let mut cx = outside(self.ledger, party, self.options.link);
        cx.frame = fault.frames.last().copied().unwrap_or(0);
        cx.now_ms = self.now_ms;
        cx.awaits = match part.handshake_begun() {
            true => Awaits::Proof,
            false => Awaits::Newer,
        };
        cx.set_era(match fault.is_stateless {
            true if is_unproven => Era::Unproven,
            true => Era::Stateless,
            false => Era::Session,
        });
        part.case(
            &mut cx,
            fault.rule,
            fault.verdict,
            fault.severity,
            &fault.frames,
            None,
            fault.text,
        );
        if !self.ledger.held.is_empty() {
            part.keep_held(self.ledger);
        }
    }
}

/// A finding that may have to wait for the revision.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    blame: Role,
    rule: &'static Rule,
    is_stateless: bool,
    /// It binds the transport whatever revision was agreed on.
    is_of_transport: bool,
    verdict: Verdict,
    severity: Option<Severity>,
    frames: Vec<FrameNo>,
    text: String,
}

impl Fault {
    pub(crate) fn new(
        blame: Role,
        rule: &'static Rule,
        frames: &[FrameNo],
        text: impl Into<String>,
    ) -> Fault {
        Fault {
            blame,
            rule,
            is_stateless: rule.from == Revision::V2026_07_28,
            is_of_transport: false,
            verdict: Verdict::Broken,
            severity: None,
            frames: frames.to_vec(),
            text: text.into(),
        }
    }

    pub(crate) fn unsure(self) -> Fault {
        Fault {
            verdict: Verdict::Unsure,
            ..self
        }
    }

    pub(crate) fn at(self, severity: Severity) -> Fault {
        Fault {
            severity: Some(severity),
            ..self
        }
    }

    /// The frame may stand outside any session: then the twin is broken.
    pub(crate) fn in_era(self, is_stateless: bool) -> Fault {
        Fault {
            is_stateless,
            ..self
        }
    }

    pub(crate) fn of_transport(self) -> Fault {
        Fault {
            is_of_transport: true,
            ..self
        }
    }
}

/// What becomes of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    /// It is judged.
    Frame,
    /// It is judged, in the body of an answer that refuses what was asked on transport grounds.
    Refusal,
    /// It is judged, but for that rule: a closer one was found broken.
    But(&'static [&'static str]),
    /// It is no message, or was delivered before.
    Nothing,
}

/// What a request does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Verb {
    /// Its head was not recorded.
    #[default]
    Unknown,
    Get,
    Post,
    Delete,
    Other,
}

impl Verb {
    fn of(method: &str) -> Verb {
        match method {
            "GET" => Verb::Get,
            "POST" => Verb::Post,
            "DELETE" => Verb::Delete,
            _ => Verb::Other,
        }
    }
}

/// How an exchange ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct End {
    /// Who closed it; `None` where it broke.
    pub(crate) by: Option<Role>,
    /// When, in milliseconds of the log; 0 where no time is kept.
    pub(crate) at_ms: u32,
    /// How many exchanges the client had begun.
    pub(crate) begun: u32,
}

/// Bits of an exchange.
pub(crate) mod mark {
    /// The request's headers were recorded.
    pub(crate) const FIELDS: u32 = 1;
    /// It carries an Authorization header.
    pub(crate) const TOKEN: u32 = 1 << 1;
    /// Several requests came on it without heads: it is no exchange of HTTP.
    pub(crate) const SHARED: u32 = 1 << 2;
    /// It has nothing to do with the protocol's endpoint.
    pub(crate) const FOREIGN: u32 = 1 << 3;
    /// It belongs to another session.
    pub(crate) const OTHER_SESSION: u32 = 1 << 4;
    /// Its request stands outside any session.
    pub(crate) const STATELESS: u32 = 1 << 5;
    /// Events with something beside their data came on it.
    pub(crate) const EVENTS: u32 = 1 << 7;
    /// An event with an id came on it.
    pub(crate) const HAS_ID: u32 = 1 << 8;
    /// A one-way message was answered by another 2xx than 202: what follows decides what is wrong.
    pub(crate) const ODD_ACK: u32 = 1 << 9;
    /// The answer's body was judged.
    pub(crate) const BODY_TOLD: u32 = 1 << 10;
    /// The server ended it before the answer to its request.
    pub(crate) const CUT_EARLY: u32 = 1 << 11;
    /// A GET went on with its stream.
    pub(crate) const RESUMED: u32 = 1 << 12;
    /// Something came after the last answer, and was reported.
    pub(crate) const TRAILED: u32 = 1 << 13;
    /// The endpoint event came.
    pub(crate) const ENDPOINT: u32 = 1 << 14;
    /// The request was sent after the session was known to have ended.
    pub(crate) const AFTER_END: u32 = 1 << 15;
    /// It names no version, or none that there is.
    pub(crate) const NO_VERSION: u32 = 1 << 16;
    pub(crate) const BAD_VERSION: u32 = 1 << 17;
    /// A header of a stateless request is missing or contradicts its body.
    pub(crate) const MISMATCH: u32 = 1 << 18;
    /// ... and it is the version that is missing.
    pub(crate) const MISMATCH_VERSION: u32 = 1 << 19;
    /// The stateless request lacks what `_meta` must have.
    pub(crate) const META_MISSING: u32 = 1 << 20;
    /// The request was answered by a frame.
    pub(crate) const ANSWERED: u32 = 1 << 21;
    /// Ids of other streams came on it, and were reported.
    pub(crate) const IDS_TOLD: u32 = 1 << 22;
    /// It opens with initialize.
    pub(crate) const INITIALIZE: u32 = 1 << 23;
    /// It is in the list of those that are over.
    pub(crate) const OVER: u32 = 1 << 24;
    /// It lacks the session's id.
    pub(crate) const NO_SESSION: u32 = 1 << 25;
    /// It carries notifications/initialized.
    pub(crate) const INITIALIZED: u32 = 1 << 26;
    /// A version that is not known here governs it.
    pub(crate) const ASIDE: u32 = 1 << 27;
}

/// One exchange.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    pub(crate) stream: Stream,
    pub(crate) marks: u32,
    pub(crate) verb: Verb,
    /// The head of a request until its frame has come.
    waiting: Option<Box<Head<'static>>>,
    /// The first line of the request, and of the answer.
    pub(crate) frame: FrameNo,
    pub(crate) answer_frame: FrameNo,
    /// Requests in its body that are not answered, and all that it holds.
    pub(crate) asked: Vec<Key>,
    pub(crate) requests: u32,
    pub(crate) one_way: u32,
    pub(crate) method: Method,
    /// Path, session and Last-Event-ID of the request.
    pub(crate) path: Key,
    pub(crate) session: Key,
    pub(crate) last_event: Key,
    /// The target as it was written, of a GET.
    pub(crate) target: Option<Box<str>>,
    /// The stream that its events belong to.
    pub(crate) root: Option<Root>,
    pub(crate) status: Option<u16>,
    pub(crate) media: Media,
    /// Frames of the answer that are messages.
    pub(crate) messages: u32,
    /// The first message of a stream of events.
    pub(crate) first_message: FrameNo,
    pub(crate) retry_ms: Option<u64>,
    /// When its last request was answered.
    pub(crate) answered_at: u32,
    pub(crate) end: Option<End>,
    /// What is wrong with its target, until its status shows that it was no redirection.
    pub(crate) elsewhere: Option<Box<str>>,
}

impl Exchange {
    fn new(stream: Stream, frame: FrameNo) -> Exchange {
        Exchange {
            stream,
            marks: 0,
            verb: Verb::Unknown,
            waiting: None,
            frame,
            answer_frame: 0,
            asked: vec![],
            requests: 0,
            one_way: 0,
            method: Method::None,
            path: Key::ABSENT,
            session: Key::ABSENT,
            last_event: Key::ABSENT,
            target: None,
            root: None,
            status: None,
            media: Media::Unknown,
            messages: 0,
            first_message: 0,
            retry_ms: None,
            answered_at: 0,
            end: None,
            elsewhere: None,
        }
    }

    pub(crate) fn is(&self, mark: u32) -> bool {
        self.marks & mark != 0
    }

    pub(crate) fn set(&mut self, mark: u32) {
        self.marks |= mark;
    }

    pub(crate) fn unset(&mut self, mark: u32) {
        self.marks &= !mark;
    }

    /// Whether it carries messages of the client, each in an exchange of its own.
    pub(crate) fn is_post(&self) -> bool {
        match self.verb {
            Verb::Post => true,
            Verb::Unknown => self.requests + self.one_way > 0 && !self.is(mark::SHARED),
            Verb::Get | Verb::Delete | Verb::Other => false,
        }
    }

    /// Whether it is certain that it goes on with no other stream.
    pub(crate) fn is_fresh(&self) -> bool {
        match self.verb {
            Verb::Get => self.is(mark::FIELDS) && !self.last_event.is_present(),
            _ => self.is_post(),
        }
    }

    /// Whether the answer is a stream of events.
    pub(crate) fn is_stream(&self) -> bool {
        self.media == Media::Events || self.media == Media::Unknown && self.is(mark::EVENTS)
    }

    pub(crate) fn is_stateless(&self) -> bool {
        self.is(mark::STATELESS)
    }

    /// The frames that a finding about the answer names.
    pub(crate) fn frames(&self, answer: FrameNo) -> [FrameNo; 2] {
        [self.frame, answer]
    }
}

/// Whether the server gave the session an id.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Issued {
    #[default]
    Unknown,
    Never,
    Given,
}

/// How a session came to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HowDead {
    NotFound,
    Deleted,
    /// The server's program ended; another one may know its sessions.
    Exited,
}

/// The end of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Dead {
    pub(crate) how: HowDead,
    pub(crate) frame: FrameNo,
    /// A client that goes on with it was reported.
    pub(crate) is_told: bool,
}

/// The session as its headers tell it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Session {
    pub(crate) issued: Issued,
    pub(crate) id: Key,
    pub(crate) issued_frame: FrameNo,
    /// The text of its initialize request.
    pub(crate) opening: Key,
    /// Its answer to initialize came in that exchange.
    pub(crate) opened_by: Stream,
    /// Where messages are answered, and where they were sent last.
    pub(crate) endpoint: Key,
    pub(crate) tried: Key,
    pub(crate) dead: Option<Dead>,
    /// The exchange of initialize failed; that of notifications/initialized.
    pub(crate) is_refused: bool,
    is_initialized_refused: bool,
    /// A request with a token was served, and initialize was one.
    pub(crate) is_authorized: bool,
    pub(crate) is_opened_with_token: bool,
    /// The session id whose characters were looked at.
    pub(crate) checked: Key,
    /// The client sent DELETE.
    pub(crate) asked_to_end: bool,
    /// Methods of which a request without a token was refused with 401.
    pub(crate) needs_token: BTreeSet<Method>,
    /// How often the client has begun an exchange.
    pub(crate) begun: u32,
}

/// An earlier session of the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Past {
    pub(crate) id: Key,
    /// The text of its initialize, and whether the client went on after the answer.
    pub(crate) opening: Key,
    pub(crate) is_opened: bool,
    pub(crate) frame: FrameNo,
    pub(crate) dead: Option<Dead>,
}

/// The transport of 2024-11-05: messages of the server come on one stream, those of the client are posted.
#[derive(Clone, Debug, Default)]
pub(crate) struct OldTransport {
    /// Where messages go, with the stream that said so; the latest last.
    pub(crate) endpoints: Vec<(Key, Stream)>,
}

/// A request that may come again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    id: Key,
    text: Key,
    stream: Stream,
    pub(crate) frame: FrameNo,
    fate: SentFate,
}

/// What became of the exchange of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SentFate {
    Open,
    /// It was refused, or sent elsewhere, before anybody read it.
    Failed,
    /// It broke before the answer.
    Broke,
}

/// All exchanges of a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exchanges {
    map: BTreeMap<Stream, Exchange>,
    over: VecDeque<Stream>,
    started: VecDeque<Stream>,
    sent: VecDeque<Sent>,
    held: Vec<Fault>,
    pub(crate) events: Events,
    pub(crate) session: Session,
    pub(crate) past: VecDeque<Past>,
    pub(crate) old: Option<OldTransport>,
    pub(crate) tools: Tools,
    /// The log has fields of server-sent events; names of them; ends of exchanges.
    pub(crate) has_event_fields: bool,
    pub(crate) has_event_names: bool,
    has_ends: bool,
    /// Sessions cannot be told apart.
    is_mixed: bool,
    /// A stateless request was served; the server says that it serves nothing else.
    pub(crate) is_modern: bool,
    pub(crate) is_modern_only: bool,
    /// Notes that are made once.
    pub(crate) told_priming: bool,
    pub(crate) told_buffering: bool,
    pub(crate) told_old_version: bool,
    /// The client left in order.
    has_left: bool,
}

impl Exchanges {
    /// Files the finding, or keeps it until it is known whether the revision has the rule.
    #[cold]
    pub(crate) fn say(&mut self, scene: &mut Scene<'_>, fault: Fault) {
        if fault.is_stateless || fault.is_of_transport {
            return scene.file(fault);
        }
        if self.old.is_some() {
            return;
        }
        match scene.revision() {
            Some(revision) if !fault.rule.is_in(revision) => {}
            Some(_) => scene.file(fault),
            None if fault.rule.from == Revision::V2024_11_05 => scene.file(fault),
            None if scene.client.is(flag::JOINED) => {}
            None if self.held.len() < HELD_MAX => self.held.push(fault),
            None => {}
        }
    }

    pub(crate) fn exchange(&self, stream: Stream) -> Option<&Exchange> {
        self.map.get(&stream)
    }

    pub(crate) fn exchange_mut(&mut self, stream: Stream) -> Option<&mut Exchange> {
        self.map.get_mut(&stream)
    }

    // Lines of the log.

    /// A frame, before it is judged.
    pub(crate) fn see(
        &mut self,
        scene: &mut Scene<'_>,
        seen: &Seen<'_>,
        body: Option<Value<'_>>,
    ) -> Fate {
        if seen.stream == 0 {
            return Fate::Frame;
        }
        match seen.from {
            Role::Client => self.client_frame(scene, seen, body),
            Role::Server => self.server_frame(scene, seen, body),
        }
    }

    /// A frame was judged: the revision may be settled now.
    pub(crate) fn after(&mut self, scene: &mut Scene<'_>) {
        if self.held.is_empty() {
            return;
        }
        if scene.revision().is_some() || self.old.is_some() {
            for fault in std::mem::take(&mut self.held) {
                self.say(scene, fault);
            }
        }
    }

    /// Something on an exchange that is no frame. Returns whether it concerns that exchange alone.
    pub(crate) fn event(&mut self, scene: &mut Scene<'_>, event: &LogEvent<'_>) -> bool {
        let Some(stream) = event.stream.filter(|&stream| stream != 0) else {
            if event.by == Role::Client && matches!(event.what, LogWhat::Eof) {
                self.has_left = true;
            }
            if event.by == Role::Server && matches!(event.what, LogWhat::Exit { .. }) {
                self.die(HowDead::Exited, event.frame);
            }
            return false;
        };
        if let Some(http) = event.http {
            self.http(scene, event.by, stream, event.frame, http);
        }
        match event.what {
            LogWhat::Http => {
                if event.by == Role::Server && event.http.is_some_and(|http| !http.sse.is_empty()) {
                    self.event_without_data(scene, stream, event);
                }
                true
            }
            LogWhat::EmptyBody => {
                self.with(stream, |all, exchange| all.judge_empty(scene, exchange));
                true
            }
            LogWhat::Eof | LogWhat::Drop => {
                let by = matches!(event.what, LogWhat::Eof).then_some(event.by);
                self.end(scene, stream, by);
                true
            }
            _ => false,
        }
    }

    /// The log is over. `is_over`: the session was seen to end, or to come to rest.
    pub(crate) fn finish(&mut self, scene: &mut Scene<'_>, is_over: bool) {
        let is_deleted = |dead: Dead| dead.how == HowDead::Deleted;
        let is_over = is_over || self.session.dead.is_some_and(is_deleted);
        let streams: Vec<Stream> = self.map.keys().copied().collect();
        for stream in streams {
            self.with(stream, |all, exchange| {
                all.close(scene, exchange);
                all.judge_left(scene, exchange, is_over);
            });
        }
        self.judge_leaving(scene, self.has_left);
        // No revision was agreed on: whether the rule binds cannot be told.
        for fault in std::mem::take(&mut self.held) {
            if self.old.is_none() {
                scene.file(fault.unsure());
            }
        }
    }

    /// Takes an exchange out while something is done with it.
    pub(crate) fn with(
        &mut self,
        stream: Stream,
        work: impl FnOnce(&mut Exchanges, &mut Exchange),
    ) {
        if let Some(mut exchange) = self.map.remove(&stream) {
            work(self, &mut exchange);
            self.map.insert(stream, exchange);
        }
    }

    pub(crate) fn has_ends(&self) -> bool {
        self.has_ends
    }

    /// The session ended.
    pub(crate) fn die(&mut self, how: HowDead, frame: FrameNo) {
        self.session.dead.get_or_insert(Dead {
            how,
            frame,
            is_told: false,
        });
    }

    // Beginnings and ends of exchanges.

    /// The head, if the line has one.
    fn http(
        &mut self,
        scene: &mut Scene<'_>,
        by: Role,
        stream: Stream,
        frame: FrameNo,
        http: &Http<'_>,
    ) {
        match (&http.head, by) {
            (Some(head), Role::Client) if head.method().is_some() => {
                self.begin(scene, stream, frame, head);
            }
            (Some(head), Role::Server) if head.status().is_some() => {
                self.with(stream, |all, exchange| {
                    all.answer_begins(scene, exchange, frame, head);
                });
            }
            _ => {}
        }
    }

    /// The head of a request begins an exchange.
    fn begin(&mut self, scene: &mut Scene<'_>, stream: Stream, frame: FrameNo, head: &Head<'_>) {
        let Start::Request { method, target } = &head.start else {
            return;
        };
        self.replace(scene, stream);
        scene.saw(When::HTTP);
        let mut exchange = Exchange {
            verb: Verb::of(method),
            path: head::path_key(head),
            ..Exchange::new(stream, frame)
        };
        if head.fields.is_some() {
            exchange.set(mark::FIELDS);
            let key = |name: &str| {
                head.value(name)
                    .map_or(Key::ABSENT, |value| Key::text(value.as_bytes()))
            };
            exchange.session = key("mcp-session-id");
            exchange.last_event = key("last-event-id");
            if head.value("authorization").is_some() {
                exchange.set(mark::TOKEN);
            }
        }
        if target.as_deref().is_some_and(head::is_discovery) {
            exchange.set(mark::FOREIGN);
        }
        match exchange.verb {
            Verb::Post | Verb::Other => {
                exchange.root = Some(Root {
                    stream,
                    is_post: true,
                });
                exchange.waiting = Some(Box::new(head.clone().into_owned()));
            }
            Verb::Get => self.begin_get(scene, &mut exchange, head),
            _ => {}
        }
        if matches!(exchange.verb, Verb::Get | Verb::Delete) {
            self.judge_request(scene, &mut exchange, head, None, None);
        }
        if !exchange.is(mark::FOREIGN) {
            self.session.begun += 1;
        }
        self.start(exchange);
    }

    fn begin_get(&mut self, scene: &mut Scene<'_>, exchange: &mut Exchange, head: &Head<'_>) {
        exchange.target = head.target().map(Box::from);
        if !exchange.is(mark::FIELDS) {
            return;
        }
        exchange.root = match self.events.get(exchange.last_event) {
            Some(event) => event.root,
            None if exchange.last_event.is_present() => None,
            None => Some(Root {
                stream: exchange.stream,
                is_post: false,
            }),
        };
        if exchange.last_event.is_present() {
            self.resume(scene, exchange);
        }
    }

    /// Puts the exchange into the list; the oldest give way.
    fn start(&mut self, exchange: Exchange) {
        let stream = exchange.stream;
        self.map.insert(stream, exchange);
        self.started.push_back(stream);
        while self.map.len() > EXCHANGES_MAX {
            match self.started.pop_front() {
                Some(oldest) => drop(self.map.remove(&oldest)),
                None => break,
            }
        }
        while self.started.len() > 2 * EXCHANGES_MAX {
            self.started.pop_front();
        }
    }

    /// What comes next on that stream is another exchange.
    fn replace(&mut self, scene: &mut Scene<'_>, stream: Stream) {
        if let Some(mut exchange) = self.map.remove(&stream) {
            self.close(scene, &mut exchange);
        }
    }

    /// Nothing more is expected on it: it is among the first to be forgotten.
    pub(crate) fn over(&mut self, exchange: &mut Exchange) {
        if exchange.is(mark::OVER) {
            return;
        }
        exchange.set(mark::OVER);
        self.over.push_back(exchange.stream);
        if self.over.len() > OVER_MAX
            && let Some(oldest) = self.over.pop_front()
            && self.map.get(&oldest).is_some_and(|old| old.is(mark::OVER))
        {
            self.map.remove(&oldest);
        }
    }

    fn end(&mut self, scene: &mut Scene<'_>, stream: Stream, by: Option<Role>) {
        self.has_ends = true;
        let end = End {
            by,
            at_ms: scene.now_ms,
            begun: self.session.begun,
        };
        self.with(stream, |all, exchange| {
            if exchange.end.is_some() {
                return;
            }
            exchange.end = Some(end);
            if by != Some(Role::Client) || exchange.is_stateless() {
                all.fail(exchange, SentFate::Broke);
            }
            all.close(scene, exchange);
            if !exchange.is(mark::FOREIGN | mark::SHARED | mark::OTHER_SESSION) {
                all.judge_end(scene, exchange);
            }
            if exchange.asked.is_empty() {
                all.over(exchange);
            }
        });
    }

    /// What had to wait for more on the exchange waits no longer.
    fn close(&mut self, scene: &mut Scene<'_>, exchange: &mut Exchange) {
        if let Some(head) = exchange.waiting.take() {
            // A POST without a message is none of the protocol's.
            drop(head);
        }
        self.judge_elsewhere(scene, exchange);
        self.judge_odd_ack(scene, exchange);
    }

    /// The head of an answer.
    fn answer_begins(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        frame: FrameNo,
        head: &Head<'_>,
    ) {
        let Some(status) = head.status() else { return };
        if exchange.answer_frame == 0 {
            exchange.answer_frame = frame;
        }
        exchange.status = Some(status);
        exchange.media = Media::of(head);
        if exchange.is(mark::FOREIGN | mark::OTHER_SESSION | mark::SHARED) {
            return;
        }
        scene.saw(When::HTTP_ANSWER);
        self.judge_elsewhere(scene, exchange);
        if status >= 300 {
            self.fail(exchange, SentFate::Failed);
            self.settle(scene, exchange);
            self.session.is_refused |= exchange.is(mark::INITIALIZE);
            self.session.is_initialized_refused |= exchange.is(mark::INITIALIZED);
        }
        if self.old.is_none() && !exchange.is(mark::ASIDE) {
            if exchange.is_stateless() {
                self.judge_stateless_answer(scene, exchange, head);
            } else {
                self.judge_answer(scene, exchange, head);
            }
        }
        if status >= 300 || exchange.requests == 0 && exchange.is_post() {
            self.over(exchange);
        }
    }

    // Frames.

    fn client_frame(
        &mut self,
        scene: &mut Scene<'_>,
        seen: &Seen<'_>,
        body: Option<Value<'_>>,
    ) -> Fate {
        if let Some(http) = seen.http {
            self.http(scene, Role::Client, seen.stream, seen.frame, http);
        }
        let is_used_up = |exchange: &Exchange| {
            exchange.waiting.is_none()
                && (exchange.answer_frame != 0
                    || exchange.status.is_some()
                    || exchange.end.is_some())
        };
        if self.map.get(&seen.stream).is_none_or(is_used_up) {
            self.replace(scene, seen.stream);
            self.start(Exchange {
                root: Some(Root {
                    stream: seen.stream,
                    is_post: true,
                }),
                ..Exchange::new(seen.stream, seen.frame)
            });
            self.session.begun += 1;
        }
        let mut fate = Fate::Frame;
        self.with(seen.stream, |all, exchange| {
            fate = all.message_of_client(scene, exchange, seen, body);
        });
        fate
    }

    fn message_of_client(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        seen: &Seen<'_>,
        body: Option<Value<'_>>,
    ) -> Fate {
        let message = seen.message;
        let is_message = message.kind != Kind::Malformed;
        let is_other_path = exchange.path.is_present()
            && self.session.tried.is_present()
            && ![self.session.tried, self.session.endpoint].contains(&exchange.path);
        if exchange.is(mark::FOREIGN) || is_other_path && !is_message {
            exchange.set(mark::FOREIGN);
            exchange.waiting = None;
            return Fate::Nothing;
        }
        if message.has(Condition::Blank) {
            return Fate::Nothing;
        }
        let is_second = exchange.requests + exchange.one_way > 0;
        let is_told = (is_second || message.has(Condition::TrailingData))
            && self.second_message(scene, exchange, seen);
        let era = era_of(scene, seen, body);
        let is_stateless = era.is_stateless();
        if is_stateless {
            exchange.set(mark::STATELESS);
        }
        if era == Era::Foreign {
            exchange.set(mark::ASIDE);
            exchange.waiting = None;
        }
        if exchange.path.is_present() && is_message {
            self.session.tried = exchange.path;
        }
        let text = seen.text.map_or(Key::ABSENT, Key::text);
        if message.kind == Kind::Request {
            if message.method == Method::Initialize && !is_stateless {
                self.initialize_comes(scene, exchange, text);
            } else {
                self.comes_again(scene, exchange, seen, text);
            }
            self.remember(message.id, text, seen);
        }
        if message.kind == Kind::Notification && message.method == Method::Initialized {
            exchange.set(mark::INITIALIZED);
            // What was refused, or sent on to another address, may come again.
            if std::mem::take(&mut self.session.is_initialized_refused) {
                scene.client.flags &= !flag::INITIALIZED_SENT;
            }
        }
        self.note_contents(exchange, seen);
        if !exchange.is(mark::FIELDS) {
            self.mark_after_end(exchange);
        }
        if let Some(head) = exchange.waiting.take() {
            self.judge_request(scene, exchange, &head, Some(seen), body);
        } else if exchange.verb != Verb::Unknown {
            self.judge_body_of(scene, exchange, seen);
        }
        if exchange.is(mark::OTHER_SESSION) {
            return Fate::Nothing;
        }
        if self.is_mixed && message.kind == Kind::Request {
            self.forget(scene, message.id);
            scene.server.answerable(message.id);
        }
        if is_told {
            Fate::But(&["unparsable-message"])
        } else {
            Fate::Frame
        }
    }

    /// What the body holds.
    fn note_contents(&mut self, exchange: &mut Exchange, seen: &Seen<'_>) {
        let mut note = |message: &Message| match message.kind {
            Kind::Request => {
                exchange.requests += 1;
                exchange.method = message.method;
                if message.method == Method::Initialize {
                    exchange.set(mark::INITIALIZE);
                }
                if message.id.is_legal() {
                    exchange.asked.push(message.id);
                }
            }
            Kind::Notification | Kind::Result | Kind::Error => exchange.one_way += 1,
            Kind::Batch | Kind::Malformed => {}
        };
        match (seen.message.kind, seen.text) {
            (Kind::Batch, Some(text)) => Part::members(text, |_, member| note(member)),
            _ => note(seen.message),
        }
    }

    fn remember(&mut self, id: Key, text: Key, seen: &Seen<'_>) {
        if self.sent.len() == SENT_MAX {
            self.sent.pop_front();
        }
        self.sent.push_back(Sent {
            id,
            text,
            stream: seen.stream,
            frame: seen.frame,
            fate: SentFate::Open,
        });
    }

    /// What becomes of the requests of an exchange that are not answered.
    fn fail(&mut self, exchange: &Exchange, fate: SentFate) {
        let of_it =
            |sent: &&mut Sent| sent.stream == exchange.stream && exchange.asked.contains(&sent.id);
        for sent in self.sent.iter_mut().filter(of_it) {
            sent.fate = fate;
        }
    }

    /// initialize: of another session, or once more of the one that could not be opened.
    fn initialize_comes(&mut self, scene: &mut Scene<'_>, exchange: &mut Exchange, text: Key) {
        let was_refused = self.session.is_refused;
        let is_new = self.session.dead.is_some()
            || self.session.issued == Issued::Never
            || exchange.is(mark::FIELDS) && !exchange.session.is_present();
        if scene.client.handshake_begun() {
            let was_opened = scene.server.is(flag::ANSWERED_INIT);
            if was_refused && !was_opened || was_opened && is_new {
                self.is_mixed |=
                    self.session.issued == Issued::Never && self.session.dead.is_none();
                self.begin_session(scene.client.is(flag::INITIALIZED_SENT | flag::OPERATED));
                scene.client.begin_anew(scene.options);
                scene.server.begin_anew(scene.options);
            }
        }
        self.session.opening = text;
        self.session.opened_by = exchange.stream;
    }

    /// What was known of the session is that of an earlier one.
    fn begin_session(&mut self, is_opened: bool) {
        let session = &mut self.session;
        if session.id.is_present() {
            if self.past.len() == PAST_MAX {
                self.past.pop_front();
            }
            self.past.push_back(Past {
                id: session.id,
                opening: session.opening,
                is_opened,
                frame: session.issued_frame,
                dead: session.dead,
            });
        }
        self.session = Session {
            tried: session.tried,
            is_authorized: session.is_authorized,
            needs_token: std::mem::take(&mut session.needs_token),
            begun: session.begun,
            ..Session::default()
        };
        // Its initialize may be sent once more under the same id, and is new.
        self.sent.clear();
    }

    /// A request that was sent before, in an exchange that failed.
    fn comes_again(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        seen: &Seen<'_>,
        text: Key,
    ) {
        let id = seen.message.id;
        let sent = self.sent.iter().rev().find(|sent| sent.id == id);
        let Some(sent) = sent.copied() else { return };
        let is_same = sent.text == text && text.is_present();
        match sent.fate {
            SentFate::Failed if is_same => self.forget(scene, id),
            SentFate::Broke if scene.server.find_in(id).is_ok() => {
                self.judge_sent_again(scene, exchange, &sent, seen, is_same);
            }
            _ => {}
        }
    }

    /// The request never came to be: its id is free.
    pub(crate) fn forget(&mut self, scene: &mut Scene<'_>, id: Key) {
        scene.client.unsend(id);
        scene.server.unreceive(id);
    }

    /// What the exchange carried is settled without an answer.
    pub(crate) fn settle(&mut self, scene: &mut Scene<'_>, exchange: &Exchange) {
        for &id in &exchange.asked {
            if let Ok(at) = scene.client.find_own(id) {
                scene.client.own[at].flags |= open::EXCUSED;
            }
        }
    }

    fn server_frame(
        &mut self,
        scene: &mut Scene<'_>,
        seen: &Seen<'_>,
        body: Option<Value<'_>>,
    ) -> Fate {
        if let Some(http) = seen.http {
            self.http(scene, Role::Server, seen.stream, seen.frame, http);
        }
        if !self.map.contains_key(&seen.stream) {
            self.start(Exchange::new(seen.stream, 0));
        }
        let mut fate = Fate::Frame;
        self.with(seen.stream, |all, exchange| {
            fate = all.message_of_server(scene, exchange, seen, body);
        });
        fate
    }

    fn message_of_server(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        seen: &Seen<'_>,
        body: Option<Value<'_>>,
    ) -> Fate {
        if exchange.answer_frame == 0 {
            exchange.answer_frame = seen.frame;
        }
        if exchange.is(mark::FOREIGN | mark::OTHER_SESSION) {
            return Fate::Nothing;
        }
        let message = seen.message;
        if !self.is_message(scene, exchange, seen) {
            return Fate::Nothing;
        }
        if self.was_delivered(scene, exchange, seen) {
            return Fate::Nothing;
        }
        exchange.messages += 1;
        let is_refused = exchange.status.is_some_and(|status| status >= 400);
        self.judge_message(scene, exchange, seen, body);
        match (message.kind, seen.text) {
            (Kind::Batch, Some(text)) => Part::members(text, |_, member| {
                if member.kind.is_response() {
                    self.note_answer(scene, exchange, member);
                }
            }),
            (Kind::Result | Kind::Error, _) => self.note_answer(scene, exchange, message),
            _ => {}
        }
        let is_odd = exchange.is(mark::BODY_TOLD) && message.kind == Kind::Error;
        if exchange.is(mark::BODY_TOLD) && message.kind == Kind::Batch {
            return Fate::But(&["batch-no-empty-answer", "batch-empty"]);
        }
        if is_refused || is_odd {
            Fate::Refusal
        } else {
            Fate::Frame
        }
    }

    /// A request is answered, in its own exchange or in another one.
    fn note_answer(&mut self, scene: &mut Scene<'_>, exchange: &mut Exchange, message: &Message) {
        let now = scene.now_ms;
        let settle = |exchange: &mut Exchange| {
            let before = exchange.asked.len();
            exchange.asked.retain(|id| *id != message.id);
            if exchange.asked.len() < before {
                exchange.set(mark::ANSWERED);
                exchange.answered_at = now;
            }
            exchange.asked.len() < before
        };
        if !settle(exchange) {
            let place = scene.server.find_in(message.id);
            let stream = place.map_or(0, |at| scene.server.inn[at].stream);
            if let Some(other) = self.map.get_mut(&stream) {
                settle(other);
            }
        } else if exchange.asked.is_empty() && exchange.media == Media::Json {
            self.over(exchange);
        }
    }

    // What rules ask.

    /// Whether that is the endpoint, as far as the log tells.
    pub(crate) fn is_endpoint(&self, exchange: &Exchange) -> bool {
        let session = &self.session;
        !exchange.path.is_present()
            || exchange.path == session.endpoint
            || !session.endpoint.is_present() && exchange.path == session.tried
    }

    /// Whether the client knew the answer to initialize when it sent this.
    pub(crate) fn client_knew(
        &self,
        scene: &Scene<'_>,
        exchange: &Exchange,
        message: Option<&Message>,
    ) -> Knows {
        let known = scene.client.knows(scene.client.opened);
        if known != Knows::May {
            return known;
        }
        let shows = match message {
            Some(message) => {
                message.method == Method::Initialized
                    || message.kind == Kind::Request
                        && !matches!(message.method, Method::Ping | Method::Initialize)
            }
            None => exchange.verb == Verb::Delete,
        };
        if shows || exchange.session.is_present() && exchange.session == self.session.id {
            Knows::Must
        } else {
            Knows::May
        }
    }
}

/// By which rules what the client sends is judged.
fn era_of(scene: &mut Scene<'_>, seen: &Seen<'_>, body: Option<Value<'_>>) -> Era {
    let mut cx = outside(scene.ledger, scene.options.client, scene.options.link);
    cx.frame = seen.frame;
    cx.stream = seen.stream;
    cx.text = seen.text;
    cx.body = body;
    scene.client.era_of(&cx, seen.message, true)
}

impl Part {
    /// The next session begins: nothing is known of it.
    #[cold]
    fn begin_anew(&mut self, options: &ObserverOptions) {
        *self = Part::new(self.role, self.link, self.mode);
        if options.revision.is_some() {
            self.revision = options.revision;
            self.set(flag::FORCED);
        }
    }

    #[cold]
    fn unsend(&mut self, id: Key) {
        if let Ok(at) = self.find_own(id) {
            self.drop_own(at);
        }
        self.issued.remove(id);
        if let Some(rare) = &mut self.rare {
            rare.outside.remove(id);
        }
    }

    #[cold]
    fn unreceive(&mut self, id: Key) {
        if let Ok(at) = self.find_in(id) {
            self.drop_in(at);
            self.retire_tokens(id, false, 0);
        }
    }
}
