//! The reference client: handshake, a window of workload steps, time-outs and cancellations, and answers to what the server asks.

use std::sync::Arc;

use mcpsim_sim::actor::{Actor, Input, Out, Port, Route};
use mcpsim_traces::event::{Origin, Role};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Capability, Kind, Message, Method, Shape, Version};

use crate::defect::Defect;
use crate::plan::{Plan, REVISION};
use crate::scenario::{Act, Step};
use crate::session::{Asked, Heard, METHOD_NOT_FOUND, Owed, Phase, Purpose, Session, Stage, Work};
use crate::tag::{Tag, What};

/// What a hostile client sends as a top-level array: one request, whose answer nobody needs.
pub(crate) const BATCH: &[u8] = br#"[{"jsonrpc":"2.0","id":"in-a-batch","method":"ping"}]"#;

/// A client with one session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Client {
    session: Session,
    /// The workload step that begins next, from 0.
    next: u16,
    plan: Arc<Plan>,
}

impl Client {
    pub(crate) fn new(plan: Arc<Plan>, repeats: bool) -> Client {
        Client {
            session: Session::new(Port(0), Role::Client, repeats, &plan),
            next: 0,
            plan,
        }
    }

    /// Whether every step of the workload is settled and nothing of the server's is in work.
    pub fn is_done(&self) -> bool {
        usize::from(self.next) == self.plan.steps.len()
            && self.session.asked.is_empty()
            && self.session.owed.is_empty()
    }

    /// Whether it waits for an answer.
    pub fn waits(&self) -> bool {
        !self.session.asked.is_empty()
    }

    fn opened(&mut self, lossy: bool, out: &mut Out<'_>) {
        let Client { session, plan, .. } = self;
        session.open(lossy);
        out.caused_by_step(0);
        let hello = Message::initialize(Key::ABSENT, REVISION, plan.capabilities);
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
            out.send(session.port, ready, Route::Usual);
        }
    }

    fn heard(&mut self, heard: Heard, message: &Message, out: &mut Out<'_>) {
        match heard {
            Heard::Request(owed) => self.serve(owed, out),
            Heard::Answer(asked) => self.answered(asked, message, out),
            Heard::Progress(at) => self.progressed(at, out),
            Heard::Nothing | Heard::Initialized | Heard::Cancelled(_) => self.go_on(out),
            Heard::Batch => {
                if self.plan.defect == Defect::DiesOnBatch {
                    out.exit();
                }
            }
        }
    }

    fn answered(&mut self, asked: Asked, message: &Message, out: &mut Out<'_>) {
        if asked.purpose != Purpose::Handshake {
            return self.go_on(out);
        }
        if message.kind != Kind::Result || message.version != Version::Known(REVISION) {
            // Refused, or a revision that this client does not speak.
            return self.leave(out);
        }
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
        out.send(self.session.port, ready, Route::Usual);
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
        let step = |asked: &&Asked| matches!(asked.purpose, Purpose::Step(_));
        self.session.asked.iter().filter(step).count()
    }

    fn begin(&mut self, number: u16, out: &mut Out<'_>) {
        out.caused_by_step(number);
        let step = self.plan.steps[usize::from(number) - 1];
        match step.act {
            Act::Call | Act::ListTools | Act::Ping => self.begin_request(number, &step, out),
            Act::RootsChanged => {
                if self.plan.capabilities.has(Capability::RootsListChanged) {
                    let changed = Message::notification(Method::RootsListChanged);
                    out.send(self.session.port, changed, Route::Usual);
                }
            }
            Act::Cancel => {
                let origin = Origin {
                    party: out.party,
                    step: step.of.unwrap_or(0),
                };
                if let Some(at) = self.session.open_of(origin) {
                    self.session.withdraw(at, Route::Usual, out);
                }
            }
            Act::Batch => {
                let slips = &["batch-not-in-revision"];
                out.send_raw(self.session.port, BATCH, Route::Usual, slips);
            }
        }
    }

    fn begin_request(&mut self, number: u16, step: &Step, out: &mut Out<'_>) {
        if step.act != Act::Ping && !self.session.other.has(Capability::Tools) {
            // The server has no tools: there is nothing to ask it for.
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
        let message = match step.act {
            Act::Call => Message::tools_call(Key::ABSENT, step.tool, step.n, Key::ABSENT),
            Act::ListTools => Message::request(Method::ToolsList, Key::ABSENT),
            _ => Message::request(Method::Ping, Key::ABSENT),
        };
        session.send(plan, at, message, step.timeout_ms, Route::Usual, out);
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
                self.session.withdraw(at, Route::Usual, out);
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
                    session.answer(plan, &owed, reply(&owed), out);
                    self.go_on(out);
                }
            }
            What::Report => {}
        }
    }

    fn cancel(&mut self, origin: Origin, out: &mut Out<'_>) {
        if let Some(at) = self.session.open_of(origin) {
            self.session.withdraw(at, Route::Usual, out);
            self.go_on(out);
        }
    }

    fn timed_out(&mut self, origin: Origin, out: &mut Out<'_>) {
        let Some(at) = self.session.open_of(origin) else {
            return;
        };
        self.session.asked[at].timed = false;
        if self.session.asked[at].purpose != Purpose::Handshake {
            return self.cancel(origin, out);
        }
        if self.plan.defect == Defect::CancelsInitialize {
            let id = self.session.asked[at].id;
            return out.send(self.session.port, Message::cancelled(id), Route::Usual);
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
        if asked.purpose == Purpose::Handshake {
            self.leave(out);
        } else {
            self.go_on(out);
        }
    }

    // ---- what the server asks

    fn serve(&mut self, owed: Owed, out: &mut Out<'_>) {
        let Client { session, plan, .. } = self;
        let needed = match owed.method {
            Method::SamplingCreateMessage => Capability::Sampling,
            Method::ElicitationCreate => Capability::Elicitation,
            Method::RootsList => Capability::Roots,
            _ => return session.refuse(plan, &owed, METHOD_NOT_FOUND, out),
        };
        if !plan.capabilities.has(needed) {
            session.refuse(plan, &owed, METHOD_NOT_FOUND, out);
        } else if plan.hesitates && owed.method != Method::RootsList {
            // A model or a person is asked: others may move meanwhile.
            out.again(session.tag(What::Work, owed.origin));
            session.owe(owed, Work::Later);
        } else {
            session.answer(plan, &owed, reply(&owed), out);
        }
    }
}

/// A plain client's answer to a request of the server's.
fn reply(owed: &Owed) -> Message {
    let shape = match owed.method {
        Method::SamplingCreateMessage => Shape::Sampling,
        Method::ElicitationCreate => Shape::Elicitation,
        _ => Shape::Roots,
    };
    Message::result(owed.id, shape)
}

impl Actor for Client {
    fn on(&mut self, input: &Input<'_>, out: &mut Out<'_>) {
        match *input {
            Input::Opened { lossy, .. } => self.opened(lossy, out),
            Input::Frame {
                message, stream, ..
            } => {
                let heard = self.session.hear(&self.plan, message, stream, out);
                self.heard(heard, message, out);
            }
            Input::Timer { tag } | Input::Own { tag } => {
                if let Some(tag) = Tag::read(tag) {
                    self.moved(tag, out);
                }
            }
            Input::ExchangeLost { message, .. } => self.exchange_lost(message, out),
            Input::Closed { .. } => self.session.close(out),
        }
    }
}
