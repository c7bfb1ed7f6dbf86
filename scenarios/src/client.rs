//! The reference client: handshake, a window of workload steps, time-outs and cancellations, and answers to what the server asks.

use std::sync::Arc;

use mcpsim_sim::actor::{Actor, Habits, Input, Out, Port, Route};
use mcpsim_traces::event::Origin;
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{
    Capabilities, Capability, Condition, Kind, Message, Method, Revision, Shape,
};
use mcpsim_traces::render::{Spellings, render};
use serde_json::Value;

use crate::defect::Defect;
use crate::dress;
use crate::errands::{self, Next};
use crate::features::member;
use crate::plan::Plan;
use crate::rounds;
use crate::scenario::{Act, Step};
use crate::session::{
    Asked, End, Heard, Letter, METHOD_NOT_FOUND, Owed, Phase, Purpose, Session, Stage, Work,
};
use crate::tag::{Tag, What};
use crate::tasks;

/// What a hostile client sends as a top-level array: one request, whose answer nobody needs.
pub(crate) const BATCH: &[u8] = br#"[{"jsonrpc":"2.0","id":"in-a-batch","method":"ping"}]"#;

/// What a hostile client sends that is no JSON: a request that stops in the middle.
pub(crate) const GARBAGE: &[u8] = br#"{"jsonrpc":"2.0","id":"cut","method":"pi"#;

/// A client with one session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Client {
    session: Session,
    /// The workload step that begins next, from 0.
    next: u16,
    /// The tasks that steps have begun, by step.
    tasks: Vec<(u16, String)>,
    /// The steps that wait before they ask for their task again.
    waiting: Vec<u16>,
    plan: Arc<Plan>,
}

/// How long a client waits before it asks for a task again, in milliseconds.
const POLL_MS: u32 = 100;
/// How long a client waits for an answer to its probe, in milliseconds: an old server may say nothing.
const PROBE_MS: u32 = 5_000;

impl Client {
    pub(crate) fn new(plan: Arc<Plan>, end: End) -> Client {
        Client {
            session: Session::new(Port(0), end, &plan),
            next: 0,
            tasks: vec![],
            waiting: vec![],
            plan,
        }
    }

    /// Whether every step of the workload is settled and nothing of the server's is in work.
    pub fn is_done(&self) -> bool {
        usize::from(self.next) == self.plan.steps.len()
            && !self.waits()
            && self.session.owed.is_empty()
    }

    /// Whether it has given its session up, or has none any more.
    pub fn has_left(&self) -> bool {
        self.session.phase == Phase::Down
    }

    /// Whether it waits for an answer; a subscription has none to wait for.
    pub fn waits(&self) -> bool {
        let listens = |asked: &Asked| asked.method == Method::SubscriptionsListen;
        !self.session.asked.iter().all(listens) || !self.waiting.is_empty()
    }

    fn opened(&mut self, lossy: bool, out: &mut Out<'_>) {
        let Client { session, plan, .. } = self;
        session.open(lossy);
        out.caused_by_step(0);
        if plan.revisions.is_stateless_too() {
            session.agreed = Some(Revision::V2026_07_28);
            if plan.revisions.newest_with_handshake().is_none() {
                // Nothing to agree on: any request may come first, and what the server has shows when it is asked.
                session.phase = Phase::Ready;
                session.other = ALL;
                return self.go_on(out);
            }
            let probe = Message::request(Method::ServerDiscover, Key::ABSENT);
            let at = session.reserve(plan, Purpose::Probe, false, out);
            return session.send(plan, at, probe, Some(PROBE_MS), Route::Usual, out);
        }
        self.greet(out);
    }

    /// Opens a session with a handshake.
    fn greet(&mut self, out: &mut Out<'_>) {
        let Client { session, plan, .. } = self;
        out.caused_by_step(0);
        session.agreed = None;
        let hello = dress::hello(plan, plan.offer());
        let at = session.reserve(plan, Purpose::Handshake, false, out);
        let impatient = plan.defect == Defect::CancelsInitialize;
        let timeout_ms = impatient.then_some(plan.timeout_ms);
        session.send(plan, at, hello, timeout_ms, Route::Usual, out);
        if plan.defect == Defect::ListsTooEarly {
            let list = Message::request(Method::ToolsList, Key::ABSENT);
            session.ask(plan, list, Purpose::Alone, false, Route::Usual, out);
        }
        if plan.defect == Defect::InitializedTooEarly {
            let ready = Message::notification(Method::Initialized);
            session.say(plan, ready, Route::Usual, out);
        }
    }

    fn heard(&mut self, heard: Heard, message: &Message, raw: Option<&[u8]>, out: &mut Out<'_>) {
        match heard {
            Heard::Request(owed) => self.serve(owed, raw, out),
            Heard::Answer(asked) => self.answered(asked, message, raw, out),
            Heard::Progress(at) => self.progressed(at, out),
            Heard::Nothing | Heard::Initialized | Heard::Cancelled(_) => self.go_on(out),
            Heard::Batch => {
                if self.plan.defect == Defect::DiesOnBatch {
                    out.exit();
                }
            }
        }
    }

    fn answered(&mut self, asked: Asked, message: &Message, raw: Option<&[u8]>, out: &mut Out<'_>) {
        match asked.purpose {
            Purpose::Handshake => self.greeted(message, out),
            Purpose::Probe => self.probed(message, raw, out),
            Purpose::Step(number) => {
                self.follow(number, &asked, message, raw, out);
                self.go_on(out);
            }
            _ => self.go_on(out),
        }
    }

    /// The server has said whether it speaks the revision without a handshake; any error says that it does not.
    fn probed(&mut self, message: &Message, raw: Option<&[u8]>, out: &mut Out<'_>) {
        let result = member(raw, "result");
        let versions = result.get("supportedVersions").and_then(Value::as_array);
        let newest = Value::from(Revision::V2026_07_28.as_str());
        if message.kind == Kind::Result && versions.is_some_and(|all| all.contains(&newest)) {
            self.session.phase = Phase::Ready;
            self.session.other = declared(message, &result);
            return self.go_on(out);
        }
        self.greet(out);
    }

    /// Goes on with a step after an answer.
    fn follow(
        &mut self,
        number: u16,
        asked: &Asked,
        message: &Message,
        raw: Option<&[u8]>,
        out: &mut Out<'_>,
    ) {
        let Client { session, plan, .. } = self;
        let step = plan.steps[usize::from(number) - 1];
        let revision = session.revision(plan);
        if asked.method == Method::ServerDiscover && message.kind == Kind::Result {
            session.other = declared(message, &member(raw, "result"));
        }
        out.caused_by(asked.origin);
        let letter = match errands::next(&step, asked.method, revision, message, raw) {
            Next::Done => return,
            Next::Ask(letter) => letter,
            Next::Follow(id) => {
                let letter = errands::poll(&id);
                self.tasks.push((number, id));
                letter
            }
            Next::Wait(id) => {
                if task_of(&self.tasks, Some(number)).is_none() {
                    self.tasks.push((number, id));
                }
                self.waiting.push(number);
                return out.timer(session.tag(What::Poll, asked.origin), POLL_MS);
            }
        };
        self.ask_again(number, letter, out);
    }

    /// Another request of a step.
    fn ask_again(&mut self, number: u16, letter: Letter, out: &mut Out<'_>) {
        let Client { session, plan, .. } = self;
        let timeout_ms = plan.steps[usize::from(number) - 1].timeout_ms;
        let at = session.reserve(plan, Purpose::Step(number), false, out);
        session.send(plan, at, letter, timeout_ms, Route::Usual, out);
    }

    fn greeted(&mut self, message: &Message, out: &mut Out<'_>) {
        let Some(revision) = self.plan.accepts(message) else {
            // Refused, or a revision that this client does not speak.
            return self.leave(out);
        };
        self.session.agreed = Some(revision);
        self.session.phase = Phase::Greeted;
        self.session.other = message.capabilities;
        out.caused_by_step(0);
        let silent = matches!(
            self.plan.defect,
            Defect::SkipsInitialized | Defect::InitializedTooEarly
        );
        if silent {
            self.session.phase = Phase::Ready;
        } else if self.plan.hesitates && out.ask(2) == 1 {
            // The first requests may go before the notification.
            out.again(self.session.tag(What::Initialized, out.origin()));
        } else {
            self.say_initialized(out);
        }
        self.go_on(out);
    }

    fn say_initialized(&mut self, out: &mut Out<'_>) {
        out.caused_by_step(0);
        self.session.phase = Phase::Ready;
        let ready = Message::notification(Method::Initialized);
        let Client { session, plan, .. } = self;
        session.say(plan, ready, Route::Usual, out);
    }

    /// Gives the session up.
    fn leave(&mut self, out: &mut Out<'_>) {
        self.session.close(out);
        out.close(self.session.port);
    }

    // ---- the workload

    /// Begins steps while the window has room, and leaves after the last where it is told to.
    fn go_on(&mut self, out: &mut Out<'_>) {
        if self.session.phase < Phase::Greeted {
            return;
        }
        while usize::from(self.next) < self.plan.steps.len() && self.open_steps() < self.plan.window
        {
            self.next += 1;
            self.begin(self.next, out);
        }
        if self.plan.closes && self.session.phase == Phase::Ready && self.is_done() {
            self.leave(out);
        }
    }

    fn open_steps(&self) -> usize {
        let step = |asked: &&Asked| {
            matches!(asked.purpose, Purpose::Step(_)) && asked.method != Method::SubscriptionsListen
        };
        self.session.asked.iter().filter(step).count() + self.waiting.len()
    }

    fn begin(&mut self, number: u16, out: &mut Out<'_>) {
        out.caused_by_step(number);
        let step = self.plan.steps[usize::from(number) - 1];
        match step.act {
            Act::RootsChanged => {
                let has_it = !self.session.is_stateless();
                let Client { session, plan, .. } = self;
                if has_it && plan.capabilities.has(Capability::RootsListChanged) {
                    let changed = Message::notification(Method::RootsListChanged);
                    session.say(plan, changed, Route::Usual, out);
                }
            }
            Act::Cancel => {
                let origin = Origin {
                    party: out.party,
                    step: step.of.unwrap_or(0),
                };
                if let Some(at) = self.session.open_of(origin) {
                    let Client { session, plan, .. } = self;
                    session.withdraw(plan, at, Route::Usual, out);
                }
            }
            Act::Batch if self.session.has_batches() => {
                self.send_batch(number, out);
            }
            Act::Batch => {
                let slips = &["batch-not-in-revision"];
                out.send_raw(self.session.port, BATCH, Route::Usual, slips);
            }
            Act::Garbage => {
                let slips = &["unparsable-message"];
                out.send_raw(self.session.port, GARBAGE, Route::Usual, slips);
            }
            _ => self.begin_request(number, &step, out),
        }
    }

    /// Two requests in one array.
    fn send_batch(&mut self, number: u16, out: &mut Out<'_>) {
        let Client { session, plan, .. } = self;
        let mut text = vec![b'['];
        for _ in 0..2 {
            let at = session.reserve(plan, Purpose::Step(number), false, out);
            let asked = &mut session.asked[at];
            asked.stage = Stage::Open;
            asked.method = Method::Ping;
            if text.len() > 1 {
                text.push(b',');
            }
            let ping = Message::request(Method::Ping, asked.id);
            render(&ping, &Spellings::default(), &mut text);
        }
        text.push(b']');
        out.send_raw(session.port, &text, Route::Usual, &[]);
    }

    fn begin_request(&mut self, number: u16, step: &Step, out: &mut Out<'_>) {
        let revision = self.session.revision(&self.plan);
        let is_offered =
            errands::needed(step.act, revision).is_none_or(|needed| self.session.other.has(needed));
        let lacks_task = step.act == Act::CancelTask && task_of(&self.tasks, step.of).is_none();
        if !is_offered || lacks_task || !errands::is_in(step.act, revision) {
            // The server has nothing of the kind: there is nothing to ask it for.
            return;
        }
        let Client { session, plan, .. } = self;
        let at = session.reserve(plan, Purpose::Step(number), step.progress, out);
        if plan.hesitates && out.ask(2) == 1 {
            out.again(session.tag(What::Send, out.origin()));
        } else {
            self.send_step(at, out);
        }
    }

    fn send_step(&mut self, at: usize, out: &mut Out<'_>) {
        let Client { session, plan, .. } = self;
        let Purpose::Step(number) = session.asked[at].purpose else {
            return;
        };
        let step = plan.steps[usize::from(number) - 1];
        let revision = session.revision(plan);
        let task = task_of(&self.tasks, step.of);
        let Some(letter) = errands::first(&step, revision, session.other, task) else {
            session.forget(at, out);
            return;
        };
        session.send(plan, at, letter, step.timeout_ms, Route::Usual, out);
        if step.cancel_soon {
            out.again(session.tag(What::Cancel, out.origin()));
        }
    }

    fn progressed(&mut self, at: usize, out: &mut Out<'_>) {
        let asked = &mut self.session.asked[at];
        let Purpose::Step(number) = asked.purpose else {
            return;
        };
        let step = self.plan.steps[usize::from(number) - 1];
        if let Some(enough) = step.cancel_after_progress {
            asked.reports += 1;
            if asked.reports >= enough {
                let Client { session, plan, .. } = self;
                session.withdraw(plan, at, Route::Usual, out);
                self.go_on(out);
            }
        }
    }

    /// An own step or a timer.
    fn moved(&mut self, tag: Tag, out: &mut Out<'_>) {
        let Client { session, plan, .. } = self;
        if session.phase == Phase::Down {
            return;
        }
        out.caused_by(tag.origin);
        match tag.what {
            What::Initialized => {
                self.say_initialized(out);
                self.go_on(out);
            }
            What::Send => {
                let taken =
                    |asked: &Asked| asked.origin == tag.origin && asked.stage == Stage::Taken;
                if let Some(at) = session.asked.iter().position(taken) {
                    self.send_step(at, out);
                }
            }
            What::List => session.list_late(tag.origin),
            What::Cancel => self.cancel(tag.origin, out),
            What::Timeout => self.timed_out(tag.origin, out),
            What::Work => {
                let due = |owed: &Owed| owed.origin == tag.origin && owed.work == Work::Later;
                if let Some(at) = session.owed.iter().position(due) {
                    let owed = session.owed.remove(at);
                    self.reply(&owed, out);
                    self.go_on(out);
                }
            }
            What::Flush => session.flush(out),
            What::Poll => {
                let number = tag.origin.step;
                self.waiting.retain(|step| *step != number);
                if let Some(id) = task_of(&self.tasks, Some(number)) {
                    let letter = errands::poll(id);
                    self.ask_again(number, letter, out);
                }
            }
            What::Resume => session.resume(tag.origin, out),
            What::Task => {
                tasks::work(session, plan, tag.origin, out);
                self.go_on(out);
            }
            What::Report => {}
        }
    }

    fn cancel(&mut self, origin: Origin, out: &mut Out<'_>) {
        if let Some(at) = self.session.open_of(origin) {
            let Client { session, plan, .. } = self;
            session.withdraw(plan, at, Route::Usual, out);
            self.go_on(out);
        }
    }

    fn timed_out(&mut self, origin: Origin, out: &mut Out<'_>) {
        let Some(at) = self.session.open_of(origin) else {
            return;
        };
        self.session.asked[at].timed = false;
        match self.session.asked[at].purpose {
            Purpose::Handshake => {}
            Purpose::Probe => {
                // Silence is what some old servers answer a probe with.
                self.session.forget(at, out);
                return self.greet(out);
            }
            _ => return self.cancel(origin, out),
        }
        if self.plan.defect == Defect::CancelsInitialize {
            let Client { session, plan, .. } = self;
            let cancelled = Message::cancelled(session.asked[at].id);
            return session.say(plan, cancelled, Route::Usual, out);
        }
        // The handshake is never cancelled: there is no session to go on with.
        self.leave(out);
    }

    fn exchange_lost(&mut self, message: &Message, out: &mut Out<'_>) {
        if message.kind != Kind::Request {
            return;
        }
        let lost = |asked: &Asked| asked.id == message.id;
        let Some(at) = self.session.asked.iter().position(lost) else {
            return;
        };
        let asked = self.session.forget(at, out);
        match asked.purpose {
            Purpose::Handshake => self.leave(out),
            Purpose::Probe => self.greet(out),
            _ => self.go_on(out),
        }
    }

    // ---- what the server asks

    fn serve(&mut self, owed: Owed, raw: Option<&[u8]>, out: &mut Out<'_>) {
        let Client { session, plan, .. } = self;
        let runs_tasks = session.agreed == Some(Revision::V2025_11_25)
            && plan.capabilities.has(Capability::Tasks);
        if runs_tasks && tasks::are_served(owed.method, plan.capabilities) {
            return tasks::serve(session, plan, owed, &member(raw, "params"), out);
        }
        let needed = match owed.method {
            _ if session.is_stateless() => {
                // Servers of this revision ask nothing of their own.
                return session.refuse(plan, &owed, METHOD_NOT_FOUND, out);
            }
            Method::ElicitationCreate if owed.conditions.has(Condition::ElicitationUrl) => {
                Capability::ElicitationUrl
            }
            Method::SamplingCreateMessage => Capability::Sampling,
            Method::ElicitationCreate => Capability::Elicitation,
            Method::RootsList => Capability::Roots,
            _ => return session.refuse(plan, &owed, METHOD_NOT_FOUND, out),
        };
        if !plan.capabilities.has(needed) {
            session.refuse(plan, &owed, METHOD_NOT_FOUND, out);
        } else if runs_tasks && owed.conditions.has(Condition::TaskAsked) {
            tasks::create(session, plan, &owed, out);
        } else if plan.hesitates && owed.method != Method::RootsList {
            // A model or a person is asked: others may move meanwhile.
            out.again(session.tag(What::Work, owed.origin));
            session.owe(owed, Work::Later);
        } else {
            self.reply(&owed, out);
        }
    }

    /// Answers what the server asked, once half of the work is told of where the server wants to know.
    fn reply(&mut self, owed: &Owed, out: &mut Out<'_>) {
        let Client { session, plan, .. } = self;
        if owed.token.is_present() {
            out.caused_by(owed.origin);
            let half = Message::progress(owed.token, 1);
            session.say(plan, half, Route::Usual, out);
        }
        session.answer(plan, owed, reply(owed), out);
    }
}

/// The id of the task that the step of that number has begun.
fn task_of(tasks: &[(u16, String)], number: Option<u16>) -> Option<&str> {
    let made = tasks.iter().find(|(step, _)| Some(*step) == number)?;
    Some(&made.1)
}

/// Everything that a server could have.
const ALL: Capabilities = Capabilities::of(Capability::ALL);

/// What an answer to `server/discover` declares.
fn declared(message: &Message, result: &Value) -> Capabilities {
    let mut declared = message.capabilities;
    let extension = result.pointer("/capabilities/extensions");
    if extension.and_then(|all| all.get(dress::TASKS)).is_some() {
        declared.add(Capabilities::of(&[
            Capability::Tasks,
            Capability::TasksCancel,
        ]));
    }
    declared
}

/// A plain client's answer to a request of the server's.
fn reply(owed: &Owed) -> Letter {
    if owed.conditions.has(Condition::ElicitationUrl) {
        let message = Message::result(owed.id, Shape::Elicitation);
        return Letter::with(message, rounds::reply(owed.method, true));
    }
    let shape = match owed.method {
        Method::SamplingCreateMessage => Shape::Sampling,
        Method::ElicitationCreate => Shape::Elicitation,
        _ => Shape::Roots,
    };
    Message::result(owed.id, shape).into()
}

impl Actor for Client {
    fn on(&mut self, input: &Input<'_>, out: &mut Out<'_>) {
        match *input {
            Input::Opened { lossy, .. } => self.opened(lossy, out),
            Input::Frame {
                message,
                raw,
                stream,
                ..
            } => {
                let waits = !self.session.asked.is_empty() && self.session.phase == Phase::Ready;
                if self.plan.defect == Defect::TakesAnyFrame && waits && !message.kind.is_response()
                {
                    self.session.forget(0, out);
                    return self.go_on(out);
                }
                let heard = self.session.hear(&self.plan, message, stream, out);
                self.heard(heard, message, raw, out);
            }
            Input::Timer { tag } | Input::Own { tag } => {
                if let Some(tag) = Tag::read(tag) {
                    self.moved(tag, out);
                }
            }
            Input::ExchangeLost { message, .. } => self.exchange_lost(message, out),
            Input::StreamBroken { stream, .. } => self.session.stream_broken(stream, out),
            // Only servers keep streams; what they write for people is for people.
            Input::StreamReopened { .. } | Input::Stderr { .. } => {}
            Input::Closed { .. } => {
                self.session.close(out);
                self.waiting.clear();
            }
        }
    }

    fn habits(&self) -> Habits {
        self.plan.habits()
    }
}
