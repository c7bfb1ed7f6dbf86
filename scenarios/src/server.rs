//! The reference server: one or several clients, the tools of the reference peers, nested requests to the client.

use std::sync::Arc;

use mcpsim_sim::actor::{Actor, Habits, Input, Out, Port, Route};
use mcpsim_traces::classify::classify;
use mcpsim_traces::event::Stream;
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{
    Capabilities, Capability, Condition, Kind, Message, Method, Revision, Tool, Version,
};
use mcpsim_traces::render::Body;
use mcpsim_traces::scan::Scanner;
use serde_json::Value;

use crate::asked_tasks;
use crate::defect::Defect;
use crate::dress;
use crate::features;
use crate::plan::Plan;
use crate::rounds;
use crate::session::{
    Asked, End, Heard, INVALID_PARAMS, INVALID_REQUEST, Letter, Owed, Phase, Purpose, Session,
    UNSUPPORTED_VERSION, Work,
};
use crate::tag::{Tag, What};
use crate::tasks;

/// A server with a session for each of its clients.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Server {
    sessions: Vec<Session>,
    /// The end that spoke last; only a defect looks at it.
    last: Port,
    plan: Arc<Plan>,
}

impl Server {
    pub(crate) fn new(plan: Arc<Plan>, ends: &[End]) -> Server {
        let session = |(at, &end): (usize, &End)| Session::new(Port(at as u8), end, &plan);
        Server {
            sessions: ends.iter().enumerate().map(session).collect(),
            last: Port(0),
            plan,
        }
    }

    fn heard(
        &mut self,
        port: Port,
        heard: Heard,
        message: &Message,
        raw: Option<&[u8]>,
        stream: Stream,
        out: &mut Out<'_>,
    ) {
        match heard {
            Heard::Request(owed) => self.serve(port, owed, raw, out),
            Heard::Initialized => self.ready(port, out),
            Heard::Answer(asked) => self.answered(port, asked, message, raw, out),
            Heard::Cancelled(owed) => self.stop(port, &owed, out),
            Heard::Batch => {
                if self.plan.defect == Defect::DiesOnBatch {
                    out.exit();
                } else {
                    self.serve_batch(port, raw, stream, out);
                }
            }
            Heard::Nothing | Heard::Progress(_) => {}
        }
    }

    /// 2025-03-26 has arrays of frames: each member is taken as if it had come alone.
    fn serve_batch(&mut self, port: Port, raw: Option<&[u8]>, stream: Stream, out: &mut Out<'_>) {
        let session = &self.sessions[usize::from(port.0)];
        let is_known = session.has_batches();
        if !is_known || self.plan.defect == Defect::IgnoresBatch {
            return;
        }
        let members = raw.and_then(|raw| serde_json::from_slice::<Vec<Value>>(raw).ok());
        for member in members.unwrap_or_default() {
            let text = member.to_string();
            let text = text.as_bytes();
            let found = classify(text, &mut Scanner::new()).message;
            let session = &mut self.sessions[usize::from(port.0)];
            let heard = session.hear(&self.plan, &found, stream, out);
            self.heard(port, heard, &found, Some(text), stream, out);
        }
    }

    fn serve(&mut self, port: Port, owed: Owed, raw: Option<&[u8]>, out: &mut Out<'_>) {
        let plan = &self.plan;
        let session = &mut self.sessions[usize::from(port.0)];
        let is_stateless = owed.revision == Revision::V2026_07_28;
        let dies = match plan.defect {
            Defect::DiesOnProbe => {
                session.phase == Phase::Fresh && owed.method != Method::Initialize
            }
            Defect::DiesOnSecondClient => owed.method == Method::Initialize && port != Port(0),
            _ => false,
        };
        if dies {
            return out.exit();
        }
        if plan.writes_stderr && !session.http {
            out.stderr(port, owed.method.as_str());
        }
        match owed.method {
            Method::Initialize => greet(session, plan, &owed, plan.capabilities, out),
            _ if is_unsupported(plan, &owed) => {
                let data = versions(plan, &owed);
                session.refuse_with(plan, &owed, UNSUPPORTED_VERSION, &data, out);
            }
            _ if is_stateless && rounds::declared(raw).is_null() => {
                // Each request says what its client can do.
                session.refuse(plan, &owed, INVALID_PARAMS, out);
            }
            _ if !is_stateless && plan.revisions.newest_with_handshake().is_none() => {
                // It names no version, and there is no session that could have one.
                session.refuse(plan, &owed, INVALID_PARAMS, out);
            }
            _ if !is_stateless && session.phase == Phase::Fresh => {
                session.refuse(plan, &owed, INVALID_REQUEST, out);
            }
            Method::ToolsCall if plan.capabilities.has(Capability::Tools) => {
                self.call(port, owed, raw, out);
            }
            _ => features::serve(session, plan, owed, raw, out),
        }
    }

    fn call(&mut self, port: Port, owed: Owed, raw: Option<&[u8]>, out: &mut Out<'_>) {
        let plan = &self.plan;
        let session = &mut self.sessions[usize::from(port.0)];
        if becomes_task(plan, &owed, raw) {
            return tasks::create(session, plan, &owed, out);
        }
        if plan.defect == Defect::LogsUnasked {
            features::log(session, plan, &owed, raw, out);
        }
        match owed.tool {
            Tool::None => session.refuse(plan, &owed, INVALID_PARAMS, out),
            Tool::Echo | Tool::Fail => session.answer(plan, &owed, done(&owed), out),
            Tool::Slow => put_off(session, owed, Work::Later, out),
            Tool::Log => {
                features::log(session, plan, &owed, raw, out);
                put_off(session, owed, Work::Later, out);
            }
            Tool::Touch => {
                out.caused_by(owed.origin);
                for session in &mut self.sessions {
                    features::changed(session, plan, owed.value % 5, out);
                    if let Some(how) = features::LastWord::of(owed.value) {
                        features::end_subscriptions(session, plan, how, out);
                    }
                }
                self.sessions[usize::from(port.0)].answer(plan, &owed, done(&owed), out);
            }
            Tool::Count => {
                let reports =
                    owed.token.is_present() || plan.defect == Defect::ProgressWithoutToken;
                let upto = if reports { owed.value } else { 0 };
                if !plan.hesitates && plan.defect != Defect::ProgressRacesAnswer {
                    (1..=upto).for_each(|progress| report(session, plan, &owed, progress, out));
                    session.answer(plan, &owed, done(&owed), out);
                } else if upto > 0 {
                    put_off(session, owed, Work::Counting(1), out);
                } else {
                    put_off(session, owed, Work::Later, out);
                }
            }
            Tool::Ask | Tool::Confirm | Tool::Look | Tool::Link => {
                let outright = plan.defect == Defect::AsksOutright;
                if owed.revision == Revision::V2026_07_28 && !outright {
                    let letter = rounds::next(&owed, raw);
                    session.answer(plan, &owed, letter, out);
                } else if session.phase == Phase::Ready
                    || plan.defect == Defect::AsksTooEarly
                    || outright
                {
                    self.ask_client(port, owed, out);
                } else {
                    // The client may not be asked anything before it says that it is ready.
                    session.owe(owed, Work::Deferred);
                }
            }
        }
    }

    /// Sends the nested request that a tool needs, or fails where the client has no such capability.
    fn ask_client(&mut self, port: Port, owed: Owed, out: &mut Out<'_>) {
        let plan = &self.plan;
        let session = &mut self.sessions[usize::from(port.0)];
        let (method, needed) = match owed.tool {
            Tool::Ask => (Method::SamplingCreateMessage, Capability::Sampling),
            Tool::Confirm => (Method::ElicitationCreate, Capability::Elicitation),
            Tool::Link => (Method::ElicitationCreate, Capability::ElicitationUrl),
            _ => (Method::RootsList, Capability::Roots),
        };
        let unguarded = plan.defect == Defect::AsksUndeclaredSampling && owed.tool == Tool::Ask
            || plan.defect == Defect::AsksOutright;
        let known = dress::known_in(session.other, owed.revision);
        if !known.has(needed) && !unguarded {
            return session.answer(plan, &owed, failure(&owed), out);
        }
        out.caused_by(owed.origin);
        let mut question: Letter = match method {
            Method::RootsList => Message::request(method, Key::ABSENT).into(),
            _ => Message::request(method, Key::ABSENT).with_params().into(),
        };
        if owed.tool == Tool::Link {
            let address = rounds::address(&owed);
            question.body = Some(Body::of(format!(
                "\"mode\":\"url\",\"message\":\"go there\",{address}"
            )));
        }
        if asked_tasks::are_wanted(session, plan, method) {
            let body = question.body.take().unwrap_or_default();
            question.body = Some(body.and("\"task\":{\"ttl\":60000}"));
        }
        let route = session.route(&owed);
        session.owe(owed, Work::Nested);
        // Who wants to hear of progress wants to hear of the client's too.
        let wants_progress = owed.token.is_present() && owed.tool != Tool::Look;
        session.ask(
            plan,
            question,
            Purpose::Nested(owed.id),
            wants_progress,
            route,
            out,
        );
    }

    fn ready(&mut self, port: Port, out: &mut Out<'_>) {
        let session = &mut self.sessions[usize::from(port.0)];
        if self.plan.pings {
            let ping = Message::request(Method::Ping, Key::ABSENT);
            let route = Route::Usual;
            session.ask(&self.plan, ping, Purpose::Alone, false, route, out);
        }
        let deferred = |owed: &Owed| owed.work == Work::Deferred;
        while let Some(at) = self.sessions[usize::from(port.0)]
            .owed
            .iter()
            .position(deferred)
        {
            let owed = self.sessions[usize::from(port.0)].owed.remove(at);
            self.ask_client(port, owed, out);
        }
    }

    fn answered(
        &mut self,
        port: Port,
        asked: Asked,
        message: &Message,
        raw: Option<&[u8]>,
        out: &mut Out<'_>,
    ) {
        let plan = &self.plan;
        let session = &mut self.sessions[usize::from(port.0)];
        let outer = match asked.purpose {
            Purpose::Nested(outer) => outer,
            Purpose::Abandoned => return asked_tasks::came_late(session, plan, raw, out),
            _ => return,
        };
        let open = session.owed.iter().find(|owed| owed.id == outer).copied();
        if let Some(owed) = open.filter(|_| plan.asks_for_tasks)
            && let Some(letter) = asked_tasks::next(session, &asked, &owed, message, raw)
        {
            let route = session.route(&owed);
            session.ask(plan, letter, asked.purpose, false, route, out);
            return;
        }
        asked_tasks::forget(session, outer);
        if let Some(owed) = session.pay(outer) {
            let answer = match message.kind {
                Kind::Result => done(&owed),
                _ => failure(&owed),
            };
            if owed.tool == Tool::Link && message.kind == Kind::Result {
                // What the user did at that address is done.
                out.caused_by(owed.origin);
                let complete = Letter::with(
                    Message::notification(Method::ElicitationComplete),
                    format!("\"elicitationId\":\"{}\"", rounds::visit(&owed)),
                );
                let route = session.route(&owed);
                session.say(&self.plan, complete, route, out);
            }
            session.answer(&self.plan, &owed, answer, out);
        }
    }

    /// A request was cancelled: nothing more is sent for it, and what it waits for is cancelled too.
    fn stop(&mut self, port: Port, owed: &Owed, out: &mut Out<'_>) {
        let session = &mut self.sessions[usize::from(port.0)];
        let nested = |asked: &Asked| asked.purpose == Purpose::Nested(owed.id);
        if let Some(at) = session.asked.iter().position(nested) {
            if asked_tasks::are_wanted(session, &self.plan, session.asked[at].method) {
                // Until its task is known there is nothing to cancel, and the wish for one is not cancelled.
                session.asked[at].purpose = Purpose::Abandoned;
            } else {
                let route = session.route(owed);
                session.withdraw(&self.plan, at, route, out);
            }
        }
        asked_tasks::give_up(session, &self.plan, owed, out);
    }

    /// An own step or a timer.
    fn moved(&mut self, tag: Tag, out: &mut Out<'_>) {
        let plan = &self.plan;
        let Some(session) = self.sessions.get_mut(usize::from(tag.port.0)) else {
            return;
        };
        if session.phase == Phase::Down {
            return;
        }
        out.caused_by(tag.origin);
        match tag.what {
            What::Work => self.work(tag, out),
            What::List => session.list_late(tag.origin),
            What::Report => {
                let late = |owed: &&Owed| owed.origin == tag.origin;
                // Invariant: with this defect the request is kept until its last report is out.
                if let Some(owed) = session.owed.iter().find(late).copied() {
                    report(session, plan, &owed, owed.value, out);
                    if owed.work == Work::New {
                        session.pay(owed.id);
                    } else {
                        rework(session, owed.id, Work::Later);
                    }
                }
            }
            What::Timeout => {
                let Some(at) = session.open_of(tag.origin) else {
                    return;
                };
                session.asked[at].timed = false;
                let Purpose::Nested(outer) = session.asked[at].purpose else {
                    session.withdraw(plan, at, Route::Usual, out);
                    return;
                };
                let owed = session.pay(outer);
                let route = owed.map_or(Route::Usual, |owed| session.route(&owed));
                if asked_tasks::are_wanted(session, plan, session.asked[at].method) {
                    session.asked[at].purpose = Purpose::Abandoned;
                } else {
                    session.withdraw(plan, at, route, out);
                }
                if let Some(owed) = &owed {
                    asked_tasks::give_up(session, plan, owed, out);
                }
                if let Some(owed) = owed {
                    session.answer(plan, &owed, failure(&owed), out);
                }
            }
            What::Task => tasks::work(session, plan, tag.origin, out),
            What::Flush => session.flush(out),
            What::Send | What::Cancel | What::Initialized | What::Poll | What::Resume => {}
        }
    }

    /// Goes on with a request that was put off.
    fn work(&mut self, tag: Tag, out: &mut Out<'_>) {
        let plan = &self.plan;
        let session = &mut self.sessions[usize::from(tag.port.0)];
        let due = |owed: &Owed| {
            owed.origin == tag.origin && matches!(owed.work, Work::Later | Work::Counting(_))
        };
        let Some(at) = session.owed.iter().position(due) else {
            // Cancelled meanwhile.
            return;
        };
        let owed = session.owed[at];
        let races = plan.defect == Defect::ProgressRacesAnswer;
        match owed.work {
            Work::Counting(next) if races && next == owed.value => {
                // The last report is left to a step of its own, and so is the answer.
                out.again(session.tag(What::Report, owed.origin));
                out.again(session.tag(What::Work, owed.origin));
                session.owed[at].work = Work::Counting(next + 1);
            }
            Work::Counting(next) if next <= owed.value => {
                report(session, plan, &owed, next, out);
                session.owed[at].work = Work::Counting(next + 1);
                out.again(session.tag(What::Work, owed.origin));
            }
            _ => {
                self.finish(tag.port, at, out);
            }
        }
    }

    fn finish(&mut self, port: Port, at: usize, out: &mut Out<'_>) {
        let plan = &self.plan;
        let session = &mut self.sessions[usize::from(port.0)];
        let owed = session.owed[at];
        let reporting = plan.defect == Defect::ProgressRacesAnswer
            && matches!(owed.work, Work::Counting(next) if next > owed.value);
        if reporting {
            session.owed[at].work = Work::New;
        } else {
            session.owed.remove(at);
        }
        let to = match plan.defect {
            Defect::AnswersLastClient => self.last,
            _ => port,
        };
        self.sessions[usize::from(to.0)].answer(plan, &owed, done(&owed), out);
    }
}

/// Answers `initialize`: once.
pub(crate) fn greet(
    session: &mut Session,
    plan: &Plan,
    owed: &Owed,
    capabilities: Capabilities,
    out: &mut Out<'_>,
) {
    if session.phase != Phase::Fresh {
        return session.refuse(plan, owed, INVALID_REQUEST, out);
    }
    let incomplete = !matches!(owed.version, Version::Known(_) | Version::Unknown)
        || owed.conditions.has(Condition::CapabilitiesMissing)
        || owed.conditions.has(Condition::InfoMissing);
    if incomplete {
        return session.refuse(plan, owed, INVALID_PARAMS, out);
    }
    if plan.revisions.newest_with_handshake().is_none() {
        // No session can be opened here.
        let data = versions(plan, owed);
        return session.refuse_with(plan, owed, UNSUPPORTED_VERSION, &data, out);
    }
    session.phase = Phase::Greeted;
    session.other = owed.capabilities;
    let revision = dress::counter_offer(plan, owed.version);
    session.agreed = Some(revision);
    let welcome = dress::welcome(capabilities, owed.id, revision);
    session.answer(plan, owed, welcome, out);
}

/// Whether a request names a version that the server does not speak outside a session.
fn is_unsupported(plan: &Plan, owed: &Owed) -> bool {
    let names_other = match owed.version {
        Version::Known(revision) => revision != Revision::V2026_07_28,
        Version::Unknown => true,
        Version::None | Version::NotString => false,
    };
    owed.conditions.has(Condition::MetaVersion) && names_other && plan.revisions.is_stateless_too()
}

/// What an error says of the versions that are spoken here.
fn versions(plan: &Plan, owed: &Owed) -> String {
    let spoken: Vec<String> = plan
        .revisions
        .iter()
        .map(|revision| format!("\"{revision}\""))
        .collect();
    let requested = match owed.version {
        Version::Known(revision) => revision.as_str(),
        _ => "unknown",
    };
    let spoken = spoken.join(",");
    format!("\"data\":{{\"supported\":[{spoken}],\"requested\":\"{requested}\"}}")
}

/// Whether a call is run as a task: in 2025-11-25 where the client asks for it, in 2026-07-28 where the client
/// knows tasks and the tool takes its time.
fn becomes_task(plan: &Plan, owed: &Owed, raw: Option<&[u8]>) -> bool {
    if !plan.capabilities.has(Capability::Tasks) || owed.tool == Tool::None {
        return false;
    }
    match owed.revision {
        Revision::V2025_11_25 => owed.conditions.has(Condition::TaskAsked),
        Revision::V2026_07_28 if matches!(owed.tool, Tool::Slow | Tool::Confirm) => {
            let declared = rounds::declared(raw);
            let knows = declared
                .get("extensions")
                .and_then(|extensions| extensions.get(dress::TASKS))
                .is_some();
            let knows = knows || plan.defect == Defect::MakesTasksUnasked;
            knows && (owed.tool == Tool::Slow || declared.get("elicitation").is_some())
        }
        _ => false,
    }
}

fn put_off(session: &mut Session, owed: Owed, work: Work, out: &mut Out<'_>) {
    out.caused_by(owed.origin);
    out.again(session.tag(What::Work, owed.origin));
    session.owe(owed, work);
}

fn rework(session: &mut Session, id: Key, work: Work) {
    if let Some(owed) = session.owed.iter_mut().find(|owed| owed.id == id) {
        owed.work = work;
    }
}

fn report(session: &mut Session, plan: &Plan, owed: &Owed, progress: u32, out: &mut Out<'_>) {
    out.caused_by(owed.origin);
    let token = match plan.defect {
        Defect::ProgressWithoutToken if !owed.token.is_present() => owed.id,
        _ => owed.token,
    };
    let route = session.route(owed);
    let message = Message::progress(token, progress);
    session.say(plan, message, route, out);
    if plan.defect == Defect::ReplaysAll {
        session.reported.push((owed.stream, message));
    }
    if plan.defect == Defect::ProgressRepeats {
        session.say(plan, message, route, out);
    }
}

pub(crate) fn done(owed: &Owed) -> Message {
    match owed.tool {
        Tool::Fail => failure(owed),
        _ => Message::tool_result(owed.id, owed.value),
    }
}

pub(crate) fn failure(owed: &Owed) -> Message {
    let mut message = Message::tool_result(owed.id, owed.value);
    message.conditions.insert(Condition::IsError);
    message
}

impl Actor for Server {
    fn on(&mut self, input: &Input<'_>, out: &mut Out<'_>) {
        if self.plan.defect == Defect::SerialDispatcher && self.is_waiting() {
            // Invariant of this defect: it waits for ever, so what is not read need not be kept.
            return;
        }
        match *input {
            Input::Opened { port, lossy } => self.sessions[usize::from(port.0)].open(lossy),
            Input::Frame {
                port,
                message,
                raw,
                stream,
            } => {
                if self.plan.defect == Defect::AnswersLastClient {
                    self.last = port;
                }
                let session = &mut self.sessions[usize::from(port.0)];
                let heard = session.hear(&self.plan, message, stream, out);
                self.heard(port, heard, message, raw, stream, out);
            }
            Input::Timer { tag } | Input::Own { tag } => {
                if let Some(tag) = Tag::read(tag) {
                    self.moved(tag, out);
                }
            }
            // Only clients open exchanges, and have servers whose stderr they could read.
            Input::ExchangeLost { .. } | Input::StreamBroken { .. } | Input::Stderr { .. } => {}
            Input::StreamReopened {
                port,
                stream,
                delivered,
            } => {
                let session = &mut self.sessions[usize::from(port.0)];
                session.stream_reopened(&self.plan, stream, delivered, out);
            }
            Input::Closed { port } => self.sessions[usize::from(port.0)].close(out),
        }
    }

    fn habits(&self) -> Habits {
        self.plan.habits()
    }
}

impl Server {
    fn is_waiting(&self) -> bool {
        let nested = |asked: &Asked| matches!(asked.purpose, Purpose::Nested(_));
        self.sessions
            .iter()
            .any(|session| session.asked.iter().any(nested))
    }

    /// Whether nothing is open at any end; a subscription is no work.
    pub fn is_idle(&self) -> bool {
        let listens = |owed: &Owed| matches!(owed.work, Work::Listens(_));
        let idle = |session: &Session| session.asked.is_empty() && session.owed.iter().all(listens);
        self.sessions.iter().all(idle)
    }

    /// Whether it waits for an answer.
    pub fn waits(&self) -> bool {
        self.sessions
            .iter()
            .any(|session| !session.asked.is_empty())
    }
}
