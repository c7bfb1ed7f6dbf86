//! One end of one link: the part of a dispatcher that both sides share. Own requests and their timers, the
//! other side's requests, ids, cancellation, progress, and the answers to what no dispatcher can serve.

use mcpsim_sim::actor::{Out, Port, Route};
use mcpsim_traces::event::{Origin, Role, Stream};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{
    Capabilities, Condition, Conditions, Kind, Message, Method, Revision, Shape, Tool, Version,
};
use mcpsim_traces::render::Body;

use crate::defect::Defect;
use crate::dress;
use crate::features::Features;
use crate::plan::Plan;
use crate::scenario::Ids;
use crate::tag::{Tag, What};

/// JSON-RPC: invalid JSON was received.
pub(crate) const PARSE_ERROR: i64 = -32700;
/// JSON-RPC: what was received is no valid request, or not now.
pub(crate) const INVALID_REQUEST: i64 = -32600;
/// JSON-RPC: there is no such method here.
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
/// JSON-RPC: the parameters are wrong.
pub(crate) const INVALID_PARAMS: i64 = -32602;
/// MCP, 2026-07-28: the version that a request names is not spoken here.
pub(crate) const UNSUPPORTED_VERSION: i64 = -32022;
/// JSON-RPC: something went wrong inside.
pub(crate) const INTERNAL_ERROR: i64 = -32603;

/// How far the session has come, as this end knows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Phase {
    /// Not open yet, or closed.
    Down,
    /// Open; `initialize` is not answered.
    Fresh,
    /// `initialize` is answered; `notifications/initialized` is not sent (client) or received (server).
    Greeted,
    /// The handshake is done.
    Ready,
}

/// What an own request is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// It opens the session.
    Handshake,
    /// It asks whether the other side speaks the revision without a handshake.
    Probe,
    /// It is that step of the workload, from 1.
    Step(u16),
    /// The request of that id, from the other side, needs its answer.
    Nested(Key),
    /// It is another session's request, passed on: the end where that came in, and its id there.
    Relay(Port, Key),
    /// Nothing waits for it.
    Alone,
    /// Nobody waits any more for the task that it asks for.
    Abandoned,
}

/// How far an own request has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// Its id is taken; it is not sent yet.
    Taken,
    /// Sent and listed.
    Open,
    /// Sent and not listed yet: an answer would not be found. A defect.
    Unlisted,
}

/// An own request that is not settled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Asked {
    pub(crate) id: Key,
    /// Its progress token, or [`Key::ABSENT`].
    pub(crate) token: Key,
    pub(crate) purpose: Purpose,
    /// The method, once it is sent.
    pub(crate) method: Method,
    pub(crate) stage: Stage,
    /// Whether a timer is set for it.
    pub(crate) timed: bool,
    /// How many progress reports came, where the step counts them.
    pub(crate) reports: u32,
    pub(crate) origin: Origin,
}

/// How a request of the other side is being served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Work {
    /// Not begun.
    New,
    /// An own step will answer.
    Later,
    /// An own step will report this progress, and the last one answer.
    Counting(u32),
    /// It waits for the session (or the next one) to be ready.
    Deferred,
    /// It waits for the answer to a nested request.
    Nested,
    /// It waits for the answer to the request of that id at that end.
    Relayed(Port, Key),
    /// It waits for that task to end.
    Awaits(u16),
    /// It is a subscription to changes of these kinds, which stays open.
    Listens(Kinds),
}

/// Kinds of changes, one bit each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Kinds(pub(crate) u8);

/// A request of the other side that is not answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Owed {
    pub(crate) id: Key,
    pub(crate) token: Key,
    pub(crate) method: Method,
    pub(crate) tool: Tool,
    pub(crate) value: u32,
    pub(crate) conditions: Conditions,
    pub(crate) version: Version,
    /// The revision that governs it.
    pub(crate) revision: Revision,
    pub(crate) capabilities: Capabilities,
    pub(crate) origin: Origin,
    pub(crate) stream: Stream,
    /// The last progress that was passed on for it, as a [`Message`] gives it.
    pub(crate) passed_on: Option<i64>,
    pub(crate) work: Work,
}

/// A frame that is to be sent: what its structured form holds, and what not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Letter {
    pub(crate) message: Message,
    pub(crate) body: Option<Body>,
}

impl Letter {
    /// With these members as its params or result.
    pub(crate) fn with(message: Message, members: impl Into<Box<str>>) -> Letter {
        Letter {
            message,
            body: Some(Body::of(members)),
        }
    }
}

impl From<Message> for Letter {
    #[inline]
    fn from(message: Message) -> Letter {
        Letter {
            message,
            body: None,
        }
    }
}

/// What a frame means to the party, once the session has done its own part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Heard {
    /// Nothing more to do.
    Nothing,
    /// A well-formed request, which the party now serves.
    Request(Owed),
    /// The client is ready.
    Initialized,
    /// The answer to an own request, which is settled with it.
    Answer(Asked),
    /// Progress of the own request at that place of the list.
    Progress(usize),
    /// The other side has withdrawn its request.
    Cancelled(Owed),
    /// A top-level array came; where the revision has none it has been refused.
    Batch,
}

/// Request ids that have come in, where a link can deliver twice: all integers below a mark, and
/// some keys beside. Ids are never used twice in a session, so a known one is a repetition.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Known {
    /// The run of consecutive integers that have come, as (first, one past the last).
    run: Option<(i64, i64)>,
    others: Vec<Key>,
}

impl Known {
    /// Whether the id is new; it is known from here on.
    fn take(&mut self, id: Key) -> bool {
        let in_run = |value| {
            self.run
                .is_some_and(|(first, end)| (first..end).contains(&value))
        };
        if id.as_integer().is_some_and(in_run) {
            return false;
        }
        if self.others.contains(&id) {
            return false;
        }
        let (Some(value), None) = (id.as_integer(), self.run) else {
            self.others.push(id);
            self.others.sort_unstable();
            self.absorb();
            return true;
        };
        self.run = Some((value, value.saturating_add(1)));
        true
    }

    /// Moves what continues the run into it, so that the list stays short.
    fn absorb(&mut self) {
        while let Some((first, end)) = self.run {
            let next = Key::integer(end);
            let Some(at) = self.others.iter().position(|&id| id == next) else {
                return;
            };
            self.others.remove(at);
            self.run = Some((first, end.saturating_add(1)));
        }
    }
}

/// What a scenario says of one end of one link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct End {
    pub(crate) role: Role,
    /// Whether the link can deliver a frame twice.
    pub(crate) repeats: bool,
    pub(crate) http: bool,
}

/// One end of one link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Session {
    pub(crate) port: Port,
    pub(crate) role: Role,
    pub(crate) phase: Phase,
    /// What the other side declared.
    pub(crate) other: Capabilities,
    /// Own requests, in the order in which their ids were taken.
    pub(crate) asked: Vec<Asked>,
    /// The other side's requests in work, in the order in which they arrived.
    pub(crate) owed: Vec<Owed>,
    /// What some defects remember: an id.
    pub(crate) memo: Key,
    /// A frame that a defect has still to write, or to write the half of, and where.
    pub(crate) half: Option<(Box<[u8]>, Route)>,
    /// The revision that was agreed, or that a client speaks without asking.
    pub(crate) agreed: Option<Revision>,
    /// What the session keeps beside its requests.
    pub(crate) features: Features,
    /// Whether the link is http.
    pub(crate) http: bool,
    /// Client: streams that broke and are not opened again yet, with what their frames were caused by.
    broken: Vec<(Stream, Origin)>,
    /// What a defect has written down: progress that was reported, and on which stream.
    pub(crate) reported: Vec<(Stream, Message)>,
    lossy: bool,
    /// Whether the link can deliver a frame twice.
    repeats: bool,
    known: Known,
    next_id: i64,
    /// Under [`Ids::Mixed`]: the number is used up, its text is not.
    text_left: bool,
}

impl Session {
    pub(crate) fn new(port: Port, end: End, plan: &Plan) -> Session {
        let End {
            role,
            repeats,
            http,
        } = end;
        Session {
            port,
            role,
            half: None,
            agreed: None,
            features: Features::default(),
            http,
            broken: vec![],
            reported: vec![],
            phase: Phase::Down,
            other: Capabilities::NONE,
            asked: vec![],
            owed: vec![],
            memo: Key::ABSENT,
            lossy: false,
            repeats,
            known: Known::default(),
            next_id: plan.first_id,
            text_left: false,
        }
    }

    /// The link is up.
    pub(crate) fn open(&mut self, lossy: bool) {
        self.phase = Phase::Fresh;
        self.lossy = lossy;
    }

    /// The link is gone: what is open on either side is dropped.
    pub(crate) fn close(&mut self, out: &mut Out<'_>) {
        self.phase = Phase::Down;
        self.half = None;
        self.broken.clear();
        for asked in std::mem::take(&mut self.asked) {
            self.untime(&asked, out);
        }
        self.owed.clear();
    }

    /// The tag for something about this end, caused by what causes the sends now.
    pub(crate) fn tag(&self, what: What, origin: Origin) -> u32 {
        let port = self.port;
        Tag { what, port, origin }.word()
    }

    // ---- streams that break

    /// The client hears that a stream broke: it opens it again in a step of its own.
    pub(crate) fn stream_broken(&mut self, stream: Stream, out: &mut Out<'_>) {
        if self.phase == Phase::Down {
            return;
        }
        let origin = out.origin();
        self.broken.push((stream, origin));
        out.again(self.tag(What::Resume, origin));
    }

    /// Opens the stream again that broke first of those of that cause.
    pub(crate) fn resume(&mut self, origin: Origin, out: &mut Out<'_>) {
        let due = |(_, cause): &(Stream, Origin)| *cause == origin;
        if let Some(at) = self.broken.iter().position(due) {
            let (stream, _) = self.broken.remove(at);
            out.resume(self.port, stream);
        }
    }

    /// The server hears that a stream is open again, on which the client had so many frames.
    pub(crate) fn stream_reopened(
        &mut self,
        plan: &Plan,
        stream: Stream,
        delivered: u32,
        out: &mut Out<'_>,
    ) {
        match plan.defect {
            Defect::ForgetsEvents => return out.forget(self.port, stream),
            Defect::ReplaysAll => {
                let had = self.reported.iter().filter(|(one, _)| *one == stream);
                let had: Vec<Message> = had.map(|(_, message)| *message).collect();
                for message in had.into_iter().take(delivered as usize) {
                    self.say(plan, message, Route::On(stream), out);
                }
            }
            _ => {}
        }
        out.replay(self.port, stream);
    }

    // ---- own requests

    /// Takes an id and lists a request that is to be sent later.
    pub(crate) fn reserve(
        &mut self,
        plan: &Plan,
        purpose: Purpose,
        with_token: bool,
        out: &Out<'_>,
    ) -> usize {
        let id = self.take_id(plan);
        self.asked.push(Asked {
            id,
            token: if with_token { id } else { Key::ABSENT },
            purpose,
            method: Method::None,
            stage: Stage::Taken,
            timed: false,
            reports: 0,
            origin: out.origin(),
        });
        self.asked.len() - 1
    }

    /// Sends the request at that place of the list; `message` needs no id and token yet.
    pub(crate) fn send(
        &mut self,
        plan: &Plan,
        at: usize,
        what: impl Into<Letter>,
        timeout_ms: Option<u32>,
        route: Route,
        out: &mut Out<'_>,
    ) {
        let Letter { message, body } = what.into();
        let timeout_ms = timeout_ms.or(self.lossy.then_some(plan.timeout_ms));
        let late = plan.defect == Defect::ListsRequestLate && message.method != Method::Initialize;
        if plan.defect == Defect::RaisesIdLate {
            self.raise_id(plan);
        }
        let asked = &mut self.asked[at];
        out.caused_by(asked.origin);
        asked.stage = if late { Stage::Unlisted } else { Stage::Open };
        asked.timed = timeout_ms.is_some();
        asked.method = message.method;
        let asked = *asked;
        let message = Message {
            id: asked.id,
            token: asked.token,
            ..message
        };
        let body = dress::request(self, plan, &message, body);
        self.say(plan, Letter { message, body }, route, out);
        if let Some(delay_ms) = timeout_ms {
            out.timer(self.tag(What::Timeout, asked.origin), delay_ms);
        }
        if late {
            out.again(self.tag(What::List, asked.origin));
        }
    }

    /// Takes an id and sends the request.
    pub(crate) fn ask(
        &mut self,
        plan: &Plan,
        what: impl Into<Letter>,
        purpose: Purpose,
        with_token: bool,
        route: Route,
        out: &mut Out<'_>,
    ) -> Key {
        let at = self.reserve(plan, purpose, with_token, out);
        self.send(plan, at, what, None, route, out);
        self.asked[at].id
    }

    fn take_id(&mut self, plan: &Plan) -> Key {
        let id = self.peek_id(plan);
        if plan.defect != Defect::RaisesIdLate {
            self.raise_id(plan);
        }
        id
    }

    fn peek_id(&self, plan: &Plan) -> Key {
        let number = match plan.defect {
            Defect::ReusesId => self.next_id | 1,
            _ => self.next_id,
        };
        match plan.ids {
            Ids::Numbers => Key::integer(number),
            Ids::Text => text_id(number),
            Ids::Mixed if self.text_left => text_id(number),
            Ids::Mixed => Key::integer(number),
        }
    }

    fn raise_id(&mut self, plan: &Plan) {
        if plan.ids == Ids::Mixed && !self.text_left {
            self.text_left = true;
            return;
        }
        self.text_left = false;
        self.next_id = self.next_id.wrapping_add(1);
    }

    /// Lists a request that was sent before.
    pub(crate) fn list_late(&mut self, origin: Origin) {
        let unlisted =
            |asked: &&mut Asked| asked.stage == Stage::Unlisted && asked.origin == origin;
        if let Some(asked) = self.asked.iter_mut().find(unlisted) {
            asked.stage = Stage::Open;
        }
    }

    /// The place of the own request of that cause, if it is sent and not settled.
    pub(crate) fn open_of(&self, origin: Origin) -> Option<usize> {
        self.asked
            .iter()
            .position(|asked| asked.origin == origin && asked.stage != Stage::Taken)
    }

    /// Withdraws the own request at that place: it is cancelled, and whatever comes for it is ignored.
    ///
    /// On http, 2026-07-28 has no word for that: the exchange is given up.
    pub(crate) fn withdraw(
        &mut self,
        plan: &Plan,
        at: usize,
        route: Route,
        out: &mut Out<'_>,
    ) -> Asked {
        let asked = self.asked.remove(at);
        self.untime(&asked, out);
        out.caused_by(asked.origin);
        if let (Defect::FreesCancelledId, Some(number)) = (plan.defect, asked.id.as_integer()) {
            self.next_id = number;
        }
        if !(self.http && self.is_stateless()) {
            let cancelled = Message::cancelled(asked.id);
            self.say(plan, cancelled, route, out);
        }
        asked
    }

    /// Settles the own request at that place without a word: its exchange is lost.
    pub(crate) fn forget(&mut self, at: usize, out: &mut Out<'_>) -> Asked {
        let asked = self.asked.remove(at);
        self.untime(&asked, out);
        asked
    }

    fn untime(&self, asked: &Asked, out: &mut Out<'_>) {
        if asked.timed {
            out.cancel_timer(self.tag(What::Timeout, asked.origin));
        }
    }

    // ---- requests of the other side

    /// Where something that belongs to that request goes.
    pub(crate) fn route(&self, owed: &Owed) -> Route {
        match self.role {
            Role::Client => Route::Usual,
            Role::Server => Route::On(owed.stream),
        }
    }

    /// Keeps a request that is answered later.
    pub(crate) fn owe(&mut self, owed: Owed, work: Work) {
        self.owed.push(Owed { work, ..owed });
    }

    /// Takes the request of that id out of the list.
    pub(crate) fn pay(&mut self, id: Key) -> Option<Owed> {
        let at = self.owed.iter().position(|owed| owed.id == id)?;
        Some(self.owed.remove(at))
    }

    /// Answers a request; the id is filled in.
    pub(crate) fn answer(
        &mut self,
        plan: &Plan,
        owed: &Owed,
        what: impl Into<Letter>,
        out: &mut Out<'_>,
    ) {
        let Letter { message, body } = what.into();
        out.caused_by(owed.origin);
        let id = match (plan.defect, owed.id.as_integer()) {
            (Defect::EchoesIdAsText, Some(number)) => text_id(number),
            (Defect::IdThroughDouble, Some(number)) => Key::integer(number as f64 as i64),
            (Defect::AnswersUnderLastId, _) if owed.method == Method::ToolsCall => self.memo,
            _ => owed.id,
        };
        let mut message = Message { id, ..message };
        let failed = message.kind == Kind::Error || message.has(Condition::IsError);
        if failed && plan.defect == Defect::VersionTagMissing {
            message.conditions.insert(Condition::VersionTagMissing);
        }
        if failed && plan.defect == Defect::ResultAndError && message.kind == Kind::Result {
            message.conditions.insert(Condition::ResultAndError);
            message.number = INTERNAL_ERROR;
        }
        let route = self.route(owed);
        let body = dress::answer(owed, &message, body);
        let letter = Letter { message, body };
        if plan.defect == Defect::AnswersTwice && owed.method == Method::ToolsCall {
            self.transmit(plan, letter.clone(), owed.method, route, out);
        }
        self.transmit(plan, letter, owed.method, route, out);
        if plan.defect == Defect::ErrorAfterCancel {
            self.memo = owed.id;
        }
    }

    /// Answers a request with an error.
    pub(crate) fn refuse(&mut self, plan: &Plan, owed: &Owed, code: i64, out: &mut Out<'_>) {
        self.answer(plan, owed, Message::error(owed.id, code), out);
    }

    /// Answers a request with an error that says more.
    pub(crate) fn refuse_with(
        &mut self,
        plan: &Plan,
        owed: &Owed,
        code: i64,
        data: &str,
        out: &mut Out<'_>,
    ) {
        let letter = Letter {
            message: Message::error(owed.id, code),
            body: Some(Body::default().and(data)),
        };
        self.answer(plan, owed, letter, out);
    }

    /// Answers something that is no request, and so has no id.
    fn reject(&mut self, plan: &Plan, code: i64, stream: Stream, out: &mut Out<'_>) {
        let route = match self.role {
            Role::Client => Route::Usual,
            Role::Server => Route::On(stream),
        };
        let id = match (plan.defect, self.agreed) {
            (Defect::AnswersBadInputUnderLastId, _) => self.memo,
            // What cannot be read has no id in 2026-07-28, which is spoken wherever no session was opened.
            (_, None) if plan.revisions.is_stateless_too() => Key::ABSENT,
            (_, Some(Revision::V2026_07_28)) => Key::ABSENT,
            _ => Key::NULL,
        };
        let letter = match plan.defect {
            Defect::LogsBadInput => Letter::with(
                Message::notification(Method::LogMessage),
                "\"level\":\"error\",\"data\":\"cannot read that\"",
            ),
            _ => Message::error(id, code).into(),
        };
        self.say(plan, letter, route, out);
    }

    // ---- frames

    /// Takes a frame: does what every dispatcher does, and says what is left to the party.
    pub(crate) fn hear(
        &mut self,
        plan: &Plan,
        message: &Message,
        stream: Stream,
        out: &mut Out<'_>,
    ) -> Heard {
        if self.phase == Phase::Down {
            return Heard::Nothing;
        }
        match message.kind {
            Kind::Request => self.hear_request(plan, message, stream, out),
            Kind::Notification => self.hear_notification(plan, message, stream, out),
            Kind::Result | Kind::Error => self.hear_answer(message, out),
            Kind::Batch => {
                let is_served = self.role == Role::Server && self.has_batches();
                if plan.defect != Defect::DiesOnBatch && !is_served {
                    self.reject(plan, INVALID_REQUEST, stream, out);
                }
                Heard::Batch
            }
            Kind::Malformed => {
                match plan.defect {
                    Defect::DiesOnGarbage => {
                        out.exit();
                        return Heard::Nothing;
                    }
                    Defect::DeafAfterGarbage => {
                        self.phase = Phase::Down;
                        return Heard::Nothing;
                    }
                    _ => {}
                }
                if !message.has(Condition::Blank) {
                    self.reject(plan, malformed_code(message), stream, out);
                }
                Heard::Nothing
            }
        }
    }

    fn hear_request(
        &mut self,
        plan: &Plan,
        message: &Message,
        stream: Stream,
        out: &mut Out<'_>,
    ) -> Heard {
        let no_id = plan.defect == Defect::IdZeroIsNone && message.id == Key::integer(0);
        // A notification that carries an id by mistake is owed nothing.
        if message.has(Condition::NotificationPrefix)
            || no_id
            || plan.defect == Defect::IgnoresRequests
        {
            return Heard::Nothing;
        }
        if plan.defect == Defect::DiesOnTextId && message.id.as_integer().is_none() {
            out.exit();
            return Heard::Nothing;
        }
        let others = |owed: &Owed| owed.method == Method::ToolsCall;
        if plan.defect == Defect::DiesOnSecondCall
            && message.method == Method::ToolsCall
            && self.owed.iter().any(others)
        {
            out.exit();
            return Heard::Nothing;
        }
        if plan.defect == Defect::AnswersBadInputUnderLastId {
            self.memo = message.id;
        }
        if !message.id.is_legal() {
            self.reject(plan, INVALID_REQUEST, stream, out);
            return Heard::Nothing;
        }
        if self.repeats && !self.known.take(message.id) {
            return Heard::Nothing;
        }
        let owed = Owed {
            id: message.id,
            token: message.token,
            method: message.method,
            tool: message.tool,
            value: message.value,
            conditions: message.conditions,
            version: message.version,
            revision: self.governs(plan, message),
            capabilities: message.capabilities,
            origin: out.origin(),
            stream,
            passed_on: None,
            work: Work::New,
        };
        if plan.defect == Defect::AnswersUnderLastId {
            self.memo = owed.id;
        }
        let untagged = [Condition::VersionTagMissing, Condition::VersionTagWrong];
        if message.conditions.intersects(Conditions::of(&untagged)) {
            self.refuse(plan, &owed, INVALID_REQUEST, out);
        } else if message.has(Condition::ParamsNotObject) {
            self.refuse(plan, &owed, INVALID_PARAMS, out);
        } else if message.method == Method::Ping && owed.revision.has_handshake() {
            self.answer(plan, &owed, Message::result(owed.id, Shape::Empty), out);
        } else {
            return Heard::Request(owed);
        }
        Heard::Nothing
    }

    /// The revision of a request of the other side.
    fn governs(&self, plan: &Plan, message: &Message) -> Revision {
        let newest = Revision::V2026_07_28;
        if message.has(Condition::MetaVersion) && plan.revisions.has(newest) {
            return newest;
        }
        self.revision(plan)
    }

    /// The revision of the session; where none is agreed on, the one that the party would offer.
    pub(crate) fn revision(&self, plan: &Plan) -> Revision {
        self.agreed.unwrap_or(plan.offer())
    }

    /// Whether the revision without a handshake is spoken.
    pub(crate) fn is_stateless(&self) -> bool {
        self.agreed == Some(Revision::V2026_07_28)
    }

    /// Whether the revision has arrays of frames.
    pub(crate) fn has_batches(&self) -> bool {
        self.agreed == Some(Revision::V2025_03_26)
    }

    fn hear_notification(
        &mut self,
        plan: &Plan,
        message: &Message,
        stream: Stream,
        out: &mut Out<'_>,
    ) -> Heard {
        match message.method {
            Method::Initialized => {
                if plan.defect == Defect::AnswersNotification {
                    let wrong = Message::result(Key::NULL, Shape::Empty);
                    self.say(plan, wrong, Route::On(stream), out);
                }
                if plan.defect == Defect::AnswersUnderOwnId {
                    let id = Key::text(b"5f2c");
                    let wrong = Message::result(id, Shape::Empty);
                    self.say(plan, wrong, Route::On(stream), out);
                }
                if self.role == Role::Server && self.phase == Phase::Greeted {
                    self.phase = Phase::Ready;
                    return Heard::Initialized;
                }
                Heard::Nothing
            }
            Method::Progress => {
                let open = |asked: &Asked| asked.token.is_present() && asked.token == message.token;
                match self.asked.iter().position(open) {
                    Some(at) if self.asked[at].stage == Stage::Open => Heard::Progress(at),
                    _ => Heard::Nothing,
                }
            }
            Method::Cancelled => self.hear_cancelled(plan, message, stream, out),
            Method::RootsListChanged if plan.defect == Defect::AnswersRootsChanged => {
                let wrong = Message::error(Key::NULL, METHOD_NOT_FOUND);
                self.say(plan, wrong, Route::On(stream), out);
                Heard::Nothing
            }
            _ => Heard::Nothing,
        }
    }

    fn hear_cancelled(
        &mut self,
        plan: &Plan,
        message: &Message,
        stream: Stream,
        out: &mut Out<'_>,
    ) -> Heard {
        let named = self.owed.iter().position(|owed| owed.id == message.token);
        match plan.defect {
            Defect::CancelsByText => {
                let spelled = bare(message.token);
                self.owed
                    .retain(|owed| owed.id == message.token || bare(owed.id) != spelled);
            }
            Defect::CancelsNewest if named.is_some() => {
                self.owed.pop();
                return Heard::Nothing;
            }
            Defect::ErrorAfterCancel if named.is_none() && self.memo == message.token => {
                let late = Message::error(message.token, 0);
                self.say(plan, late, Route::On(stream), out);
            }
            Defect::AnswersLateCancel if named.is_none() => {
                self.reject(plan, INVALID_REQUEST, stream, out)
            }
            _ => {}
        }
        // A server ends a subscription so (2026-07-28): nothing more comes for it.
        let ended = |asked: &Asked| {
            asked.id == message.token && asked.method == Method::SubscriptionsListen
        };
        if let (Role::Client, Some(at)) = (self.role, self.asked.iter().position(ended)) {
            self.forget(at, out);
            return Heard::Nothing;
        }
        // What is unknown or answered already is ignored.
        match self.pay(message.token) {
            Some(owed) => Heard::Cancelled(owed),
            None => Heard::Nothing,
        }
    }

    fn hear_answer(&mut self, message: &Message, out: &mut Out<'_>) -> Heard {
        let open = |asked: &Asked| asked.id == message.id && asked.stage == Stage::Open;
        match self.asked.iter().position(open) {
            Some(at) => Heard::Answer(self.forget(at, out)),
            // An answer to a cancelled request, to none, or a second one.
            None => Heard::Nothing,
        }
    }
}

fn malformed_code(message: &Message) -> i64 {
    let unreadable = Conditions::of(&[
        Condition::NotJson,
        Condition::Noise,
        Condition::TrailingData,
        Condition::NotUtf8,
    ]);
    if message.conditions.intersects(unreadable) {
        PARSE_ERROR
    } else {
        INVALID_REQUEST
    }
}

/// The id that a number makes as a string, without an allocation.
pub(crate) fn text_id(number: i64) -> Key {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut rest = number.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        at -= 1;
        digits[at] = b'-';
    }
    Key::text(&digits[at..])
}

/// A key as a careless comparison sees it: a number and its text are one.
fn bare(key: Key) -> Key {
    key.as_integer().map_or(key, text_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_ids_stay_short_and_exact() {
        let mut known = Known::default();
        for id in [1, 2, 3, 7, 4, 6, 5] {
            assert!(known.take(Key::integer(id)), "{id} is new");
        }
        for id in 1..=7 {
            assert!(!known.take(Key::integer(id)), "{id} came before");
        }
        assert!(known.others.is_empty(), "1 to 7 are one run: {known:?}");
        assert!(known.take(Key::text(b"1")), "a string is another id");
        assert!(!known.take(Key::text(b"1")));
        assert!(known.take(Key::integer(0)), "below the run");
        assert!(!known.take(Key::integer(0)));
    }

    #[test]
    fn text_ids_are_spelled_as_numbers() {
        for number in [0, 7, -3, i64::MAX, i64::MIN] {
            assert_eq!(text_id(number), Key::text(number.to_string().as_bytes()));
        }
    }
}
