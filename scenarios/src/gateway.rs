//! The reference gateway: a server to its clients, a client to its servers; translates ids and tokens, passes
//! nested requests and cancellations on.

use std::sync::Arc;

use mcpsim_sim::actor::{Actor, Habits, Input, Out, Port, Route};
use mcpsim_traces::event::{Origin, Role};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Capabilities, Capability, Kind, Message, Method, Shape, Tool};
use mcpsim_traces::render::Body;

use crate::defect::Defect;
use crate::dress;
use crate::features::member;
use crate::plan::Plan;
use crate::scenario::Routing;
use crate::server::greet;
use crate::session::{
    Asked, End, Heard, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, Letter, METHOD_NOT_FOUND,
    Owed, Phase, Purpose, Session, Work,
};
use crate::tag::{Tag, What};

/// A gateway between clients and servers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gateway {
    /// Its ends, those toward clients ([`Role::Server`]) and those toward servers ([`Role::Client`]).
    sessions: Vec<Session>,
    plan: Arc<Plan>,
}

impl Gateway {
    pub(crate) fn new(plan: Arc<Plan>, ends: &[End]) -> Gateway {
        let session = |(at, &end): (usize, &End)| Session::new(Port(at as u8), end, &plan);
        Gateway {
            sessions: ends.iter().enumerate().map(session).collect(),
            plan,
        }
    }

    /// Whether nothing is open at any end.
    pub fn is_idle(&self) -> bool {
        let idle = |session: &Session| session.asked.is_empty() && session.owed.is_empty();
        self.sessions.iter().all(idle)
    }

    /// Whether it waits for an answer.
    pub fn waits(&self) -> bool {
        self.sessions
            .iter()
            .any(|session| !session.asked.is_empty())
    }

    fn at(&mut self, port: Port) -> &mut Session {
        &mut self.sessions[usize::from(port.0)]
    }

    fn opened(&mut self, port: Port, lossy: bool, out: &mut Out<'_>) {
        let plan = &self.plan;
        let session = &mut self.sessions[usize::from(port.0)];
        session.open(lossy);
        if session.role == Role::Client {
            out.caused_by_step(0);
            let hello = dress::hello(plan, plan.offer());
            session.ask(plan, hello, Purpose::Handshake, false, Route::Usual, out);
        }
    }

    fn heard(
        &mut self,
        port: Port,
        heard: Heard,
        message: &Message,
        raw: Option<&[u8]>,
        out: &mut Out<'_>,
    ) {
        match heard {
            Heard::Request(owed) => match self.at(port).role {
                Role::Server => self.serve_client(port, owed, out),
                Role::Client => self.serve_server(port, owed, out),
            },
            Heard::Initialized => self.flush(out),
            Heard::Answer(asked) => self.answered(port, asked, message, raw, out),
            Heard::Progress(at) => self.pass_progress(port, at, message, out),
            Heard::Cancelled(owed) => {
                if let Work::Relayed(to, id) = owed.work {
                    self.pass_cancel(&owed, to, id, out);
                }
            }
            Heard::Batch => {
                if self.plan.defect == Defect::DiesOnBatch {
                    out.exit();
                }
            }
            Heard::Nothing => {}
        }
    }

    // ---- requests

    fn serve_client(&mut self, port: Port, owed: Owed, out: &mut Out<'_>) {
        let plan = &self.plan;
        let session = &mut self.sessions[usize::from(port.0)];
        match owed.method {
            Method::Initialize => greet(session, plan, &owed, AS_SERVER, out),
            _ if session.phase == Phase::Fresh => session.refuse(plan, &owed, INVALID_REQUEST, out),
            Method::ToolsList => {
                session.answer(plan, &owed, Message::result(owed.id, Shape::Tools), out);
            }
            Method::ToolsCall if owed.tool == Tool::None => {
                session.refuse(plan, &owed, INVALID_PARAMS, out);
            }
            Method::ToolsCall => {
                let to = self.server_for(&owed);
                self.pass_request(port, owed, to, out);
            }
            _ => session.refuse(plan, &owed, METHOD_NOT_FOUND, out),
        }
    }

    /// The end toward the server that serves this call.
    fn server_for(&self, owed: &Owed) -> Option<Port> {
        let servers = || self.ends(Role::Client);
        let number = match self.plan.routing {
            Routing::Value => owed.value as usize,
            Routing::Tool => owed.tool as usize,
        };
        let count = servers().count();
        servers().nth(number.checked_rem(count)?)
    }

    fn ends(&self, role: Role) -> impl Iterator<Item = Port> {
        self.sessions
            .iter()
            .filter(move |session| session.role == role)
            .map(|session| session.port)
    }

    /// A server asks for something that only a client has.
    fn serve_server(&mut self, port: Port, owed: Owed, out: &mut Out<'_>) {
        let known = matches!(
            owed.method,
            Method::SamplingCreateMessage | Method::ElicitationCreate | Method::RootsList
        );
        if !known {
            let Gateway { sessions, plan } = self;
            return sessions[usize::from(port.0)].refuse(plan, &owed, METHOD_NOT_FOUND, out);
        }
        let to = self.client_for(port);
        self.pass_request(port, owed, to, out);
    }

    /// The end toward the client whose call that server has had for longest; with none, the first.
    fn client_for(&self, server: Port) -> Option<Port> {
        let asked = &self.sessions[usize::from(server.0)].asked;
        let caller = |asked: &Asked| match asked.purpose {
            Purpose::Relay(port, _) => Some(port),
            _ => None,
        };
        asked
            .iter()
            .find_map(caller)
            .or_else(|| self.ends(Role::Server).next())
    }

    /// Passes a request on; it waits where the other session is not ready, and fails where it is gone.
    fn pass_request(&mut self, from: Port, owed: Owed, to: Option<Port>, out: &mut Out<'_>) {
        let phase = to.map_or(Phase::Down, |to| self.at(to).phase);
        match to {
            Some(to) if phase == Phase::Ready => self.forward(from, owed, to, out),
            Some(_) if phase != Phase::Down => self.at(from).owe(owed, Work::Deferred),
            _ => {
                let Gateway { sessions, plan } = self;
                sessions[usize::from(from.0)].refuse(plan, &owed, INTERNAL_ERROR, out);
            }
        }
    }

    fn forward(&mut self, from: Port, owed: Owed, to: Port, out: &mut Out<'_>) {
        let needed = match owed.method {
            Method::SamplingCreateMessage => Capability::Sampling,
            Method::ElicitationCreate => Capability::Elicitation,
            Method::RootsList => Capability::Roots,
            _ => Capability::Tools,
        };
        if !self.at(to).other.has(needed) {
            let Gateway { sessions, plan } = self;
            return sessions[usize::from(from.0)].refuse(plan, &owed, METHOD_NOT_FOUND, out);
        }
        out.caused_by(owed.origin);
        let message = match owed.method {
            Method::ToolsCall => {
                Message::tools_call(Key::ABSENT, owed.tool, owed.value, Key::ABSENT)
            }
            Method::RootsList => Message::request(owed.method, Key::ABSENT),
            _ => Message::request(owed.method, Key::ABSENT).with_params(),
        };
        let route = self.route_of_caller(from, to);
        let with_token = owed.token.is_present();
        let purpose = Purpose::Relay(from, owed.id);
        let Gateway { sessions, plan } = self;
        let target = &mut sessions[usize::from(to.0)];
        let at = target.reserve(plan, purpose, with_token, out);
        if plan.defect == Defect::ForwardsIds {
            target.asked[at].id = owed.id;
        }
        target.send(plan, at, message, None, route, out);
        let id = target.asked[at].id;
        if plan.defect == Defect::OneTableForAllServers && target.role == Role::Client {
            // One table by id: the older request of that id is gone from it.
            for other in sessions
                .iter_mut()
                .filter(|other| other.role == Role::Client && other.port != to)
            {
                let same =
                    |asked: &Asked| asked.id == id && matches!(asked.purpose, Purpose::Relay(..));
                if let Some(at) = other.asked.iter().position(same) {
                    other.forget(at, out);
                }
            }
        }
        sessions[usize::from(from.0)].owe(owed, Work::Relayed(to, id));
    }

    /// Toward a client, what belongs to its call goes on that call's stream.
    fn route_of_caller(&self, server: Port, client: Port) -> Route {
        let sessions = &self.sessions;
        let call = |asked: &Asked| match asked.purpose {
            Purpose::Relay(port, id) if port == client => Some(id),
            _ => None,
        };
        let id = sessions[usize::from(server.0)].asked.iter().find_map(call);
        let session = &sessions[usize::from(client.0)];
        let owed = id.and_then(|id| session.owed.iter().find(|owed| owed.id == id));
        owed.map_or(Route::Usual, |owed| session.route(owed))
    }

    /// Passes on what has waited for a session to be ready.
    fn flush(&mut self, out: &mut Out<'_>) {
        for at in 0..self.sessions.len() {
            let port = Port(at as u8);
            let waiting = self.sessions[at].owed.len();
            for _ in 0..waiting {
                let deferred =
                    |owed: &Owed| owed.work == Work::Deferred && self.is_ready_for(port, owed);
                let Some(index) = self.sessions[at].owed.iter().position(deferred) else {
                    break;
                };
                let owed = self.sessions[at].owed.remove(index);
                let to = self.target_of(port, &owed);
                self.pass_request(port, owed, to, out);
            }
        }
    }

    fn target_of(&self, port: Port, owed: &Owed) -> Option<Port> {
        match self.sessions[usize::from(port.0)].role {
            Role::Server => self.server_for(owed),
            Role::Client => self.client_for(port),
        }
    }

    /// Whether a request need not wait any longer: the session that it goes to is ready, or gone.
    fn is_ready_for(&self, port: Port, owed: &Owed) -> bool {
        self.target_of(port, owed).is_none_or(|to| {
            let phase = self.sessions[usize::from(to.0)].phase;
            phase == Phase::Ready || phase == Phase::Down
        })
    }

    // ---- answers, progress, cancellation

    fn answered(
        &mut self,
        port: Port,
        asked: Asked,
        message: &Message,
        raw: Option<&[u8]>,
        out: &mut Out<'_>,
    ) {
        match asked.purpose {
            Purpose::Handshake => self.greeted(port, message, out),
            Purpose::Relay(to, id) => self.pass_answer(to, id, message, raw, out),
            Purpose::Step(_)
            | Purpose::Nested(_)
            | Purpose::Probe
            | Purpose::Alone
            | Purpose::Abandoned => {}
        }
    }

    fn greeted(&mut self, port: Port, message: &Message, out: &mut Out<'_>) {
        let Some(revision) = self.plan.accepts(message) else {
            return self.leave(port, out);
        };
        out.caused_by_step(0);
        let Gateway { sessions, plan } = self;
        let session = &mut sessions[usize::from(port.0)];
        session.phase = Phase::Ready;
        session.agreed = Some(revision);
        session.other = message.capabilities;
        let ready = Message::notification(Method::Initialized);
        session.say(plan, ready, Route::Usual, out);
        self.flush(out);
    }

    fn pass_answer(
        &mut self,
        to: Port,
        id: Key,
        message: &Message,
        raw: Option<&[u8]>,
        out: &mut Out<'_>,
    ) {
        let Gateway { sessions, plan } = self;
        let session = &mut sessions[usize::from(to.0)];
        if let Some(owed) = session.pay(id) {
            // What came with a payload of its own goes on with it.
            let result = raw.map(|raw| member(Some(raw), "result").to_string());
            let members = result
                .as_deref()
                .and_then(|text| text.strip_prefix('{')?.strip_suffix('}'));
            let letter = Letter {
                message: *message,
                body: members.map(Body::of),
            };
            session.answer(plan, &owed, letter, out);
        }
    }

    /// Passes progress on while the request is open, and only what grows: a link may deliver twice, or late.
    fn pass_progress(&mut self, port: Port, at: usize, message: &Message, out: &mut Out<'_>) {
        let Purpose::Relay(to, id) = self.at(port).asked[at].purpose else {
            return;
        };
        let Gateway { sessions, plan } = self;
        let session = &mut sessions[usize::from(to.0)];
        let Some(at) = session.owed.iter().position(|owed| owed.id == id) else {
            return;
        };
        let owed = &mut session.owed[at];
        let stale = owed.passed_on.is_some_and(|last| message.number <= last);
        if !owed.token.is_present() || stale {
            return;
        }
        owed.passed_on = Some(message.number);
        let owed = session.owed[at];
        let token = match plan.defect {
            Defect::ForwardsProgressToken => message.token,
            _ => owed.token,
        };
        out.caused_by(owed.origin);
        let route = session.route(&owed);
        let message = Message { token, ..*message };
        session.say(plan, message, route, out);
    }

    /// The request was withdrawn where it came in: withdraws it where it was passed on to.
    fn pass_cancel(&mut self, owed: &Owed, to: Port, id: Key, out: &mut Out<'_>) {
        let Gateway { sessions, plan } = self;
        let session = &mut sessions[usize::from(to.0)];
        let same = |asked: &Asked| asked.id == id;
        let Some(at) = session.asked.iter().position(same) else {
            return;
        };
        if plan.defect == Defect::ForwardsCancelId {
            session.forget(at, out);
            let cancelled = Message::cancelled(owed.id);
            session.say(plan, cancelled, Route::Usual, out);
        } else {
            session.withdraw(plan, at, Route::Usual, out);
        }
    }

    // ---- time, losses, ends

    fn timed_out(&mut self, port: Port, origin: Origin, out: &mut Out<'_>) {
        let Some(at) = self.at(port).open_of(origin) else {
            return;
        };
        self.at(port).asked[at].timed = false;
        if self.at(port).asked[at].purpose == Purpose::Handshake {
            return self.leave(port, out);
        }
        let Gateway { sessions, plan } = self;
        let session = &mut sessions[usize::from(port.0)];
        let asked = session.withdraw(plan, at, Route::Usual, out);
        self.fail(&asked, out);
    }

    /// An own request got no answer: whoever waits for it gets an error.
    fn fail(&mut self, asked: &Asked, out: &mut Out<'_>) {
        if let Purpose::Relay(to, id) = asked.purpose {
            let Gateway { sessions, plan } = self;
            let session = &mut sessions[usize::from(to.0)];
            if let Some(owed) = session.pay(id) {
                session.refuse(plan, &owed, INTERNAL_ERROR, out);
            }
        }
    }

    fn exchange_lost(&mut self, port: Port, message: &Message, out: &mut Out<'_>) {
        if message.kind != Kind::Request {
            return;
        }
        let session = self.at(port);
        let Some(at) = session
            .asked
            .iter()
            .position(|asked| asked.id == message.id)
        else {
            return;
        };
        let asked = session.forget(at, out);
        match asked.purpose {
            Purpose::Handshake => self.leave(port, out),
            _ => self.fail(&asked, out),
        }
    }

    fn leave(&mut self, port: Port, out: &mut Out<'_>) {
        out.close(port);
        self.closed(port, out);
    }

    /// A session is gone: what was passed on to it fails, what came from it is withdrawn.
    fn closed(&mut self, port: Port, out: &mut Out<'_>) {
        let session = self.at(port);
        let (asked, owed) = (session.asked.clone(), session.owed.clone());
        session.close(out);
        for asked in &asked {
            self.fail(asked, out);
        }
        for owed in &owed {
            if let Work::Relayed(to, id) = owed.work {
                self.pass_cancel(owed, to, id, out);
            }
        }
        // What waited for this session to be ready fails now.
        self.flush(out);
    }

    fn moved(&mut self, tag: Tag, out: &mut Out<'_>) {
        let Some(session) = self.sessions.get_mut(usize::from(tag.port.0)) else {
            return;
        };
        if session.phase == Phase::Down {
            return;
        }
        out.caused_by(tag.origin);
        match tag.what {
            What::Timeout => self.timed_out(tag.port, tag.origin, out),
            What::List => session.list_late(tag.origin),
            What::Flush => session.flush(out),
            What::Resume => session.resume(tag.origin, out),
            What::Send
            | What::Cancel
            | What::Work
            | What::Report
            | What::Initialized
            | What::Task
            | What::Poll => {}
        }
    }
}

/// What a gateway declares toward clients; its plan says what it declares toward servers.
pub(crate) const AS_SERVER: Capabilities = Capabilities::of(&[Capability::Tools]);

impl Actor for Gateway {
    fn on(&mut self, input: &Input<'_>, out: &mut Out<'_>) {
        match *input {
            Input::Opened { port, lossy } => self.opened(port, lossy, out),
            Input::Frame {
                port,
                message,
                raw,
                stream,
            } => {
                let Gateway { sessions, plan } = self;
                let session = &mut sessions[usize::from(port.0)];
                let answers_server = session.role == Role::Client && message.kind.is_response();
                let heard = if plan.defect == Defect::OneTableForAllServers && answers_server {
                    let mut heard = Heard::Nothing;
                    for session in sessions
                        .iter_mut()
                        .filter(|session| session.role == Role::Client)
                    {
                        let own = session.port == port;
                        let mixed = |asked: &Asked| {
                            asked.id == message.id
                                && (own || matches!(asked.purpose, Purpose::Relay(..)))
                        };
                        if let Some(at) = session.asked.iter().position(mixed) {
                            heard = Heard::Answer(session.forget(at, out));
                            break;
                        }
                    }
                    heard
                } else {
                    session.hear(plan, message, stream, out)
                };
                self.heard(port, heard, message, raw, out);
            }
            Input::Timer { tag } | Input::Own { tag } => {
                if let Some(tag) = Tag::read(tag) {
                    self.moved(tag, out);
                }
            }
            Input::ExchangeLost { port, message } => self.exchange_lost(port, message, out),
            Input::StreamBroken { port, stream } => {
                self.sessions[usize::from(port.0)].stream_broken(stream, out);
            }
            Input::StreamReopened {
                port,
                stream,
                delivered,
            } => {
                let Gateway { sessions, plan } = self;
                let session = &mut sessions[usize::from(port.0)];
                session.stream_reopened(plan, stream, delivered, out);
            }
            Input::Stderr { .. } => {}
            Input::Closed { port } => self.closed(port, out),
        }
    }

    fn habits(&self) -> Habits {
        self.plan.habits()
    }
}
