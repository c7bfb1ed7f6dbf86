//! One exchange: what is remembered of a request of HTTP and of its answer.

use mcpsim_traces::event::{FrameNo, Role, Stream};
use mcpsim_traces::http::Head;
use mcpsim_traces::key::Key;
use mcpsim_traces::message::Method;

use crate::http::events::Root;
use crate::http::head::Media;

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
    pub(super) fn of(method: &str) -> Verb {
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
    pub(crate) at_ms: u64,
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
    /// It names the version that was agreed on, or the session that was opened with it.
    pub(crate) const AGREED: u32 = 1 << 28;
    /// Its headers name 2026-07-28.
    pub(crate) const NEWER: u32 = 1 << 29;
}

/// One exchange.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    pub(crate) stream: Stream,
    pub(crate) marks: u32,
    pub(crate) verb: Verb,
    /// The head of a request until its frame has come.
    pub(super) waiting: Option<Box<Head<'static>>>,
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
    pub(crate) answered_at: u64,
    pub(crate) end: Option<End>,
    /// What is wrong with its target, until its status shows that it was no redirection.
    pub(crate) elsewhere: Option<Box<str>>,
}

impl Exchange {
    pub(super) fn new(stream: Stream, frame: FrameNo) -> Exchange {
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

    /// Whether nothing was seen of its request: it need not be one of the protocol.
    pub(crate) fn is_unasked(&self) -> bool {
        self.frame == 0
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

    /// Whether the answer is a single body of JSON, and has come; that it has none is another matter.
    pub(crate) fn is_object(&self) -> bool {
        let is_success = self.status.is_none_or(|status| status < 300);
        let is_told = mark::BODY_TOLD | mark::FOREIGN | mark::OTHER_SESSION | mark::ASIDE;
        self.media == Media::Json && self.messages > 0 && is_success && !self.is(is_told)
    }

    pub(crate) fn is_stateless(&self) -> bool {
        self.is(mark::STATELESS)
    }

    /// The frames that a finding about the answer names.
    pub(crate) fn frames(&self, answer: FrameNo) -> [FrameNo; 2] {
        [self.frame, answer]
    }
}
