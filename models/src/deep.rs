//! What lies inside params and results: kept of each request, and handed to the rules that look at it.
//!
//! Frames without text (those of reference peers in a fast run) are not looked at here: what they hold is
//! lawful by construction, which `scenarios` tests.

use std::sync::Arc;

use mcpsim_traces::encode::Encoder;
use mcpsim_traces::event::{FrameNo, Role, Stream};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Capabilities, Condition, Kind, Message, Method, Revision};
use mcpsim_traces::scan::Scanner;
use mcpsim_traces::tape::Value;

use crate::ledger::{Cx, bit};
use crate::opens::{Keyed, Opens};
use crate::part::{Fact, Part};
use crate::rules::asks::Asks;
use crate::rules::flood::Floods;
use crate::rules::{When, listing as lists, pagination, payload};
use crate::unread::Closed;

pub(crate) mod digest;
pub(crate) mod discover;
pub(crate) mod exchanges;
pub(crate) mod instant;
pub(crate) mod levels;
pub(crate) mod listing;
pub(crate) mod log_streams;
pub(crate) mod odd_tasks;
pub(crate) mod scopes;
pub(crate) mod subscribed;
pub(crate) mod subscriptions;
pub(crate) mod task_tools;
pub(crate) mod tasks;
pub(crate) mod tasks_ext;
pub(crate) mod topics;

pub(crate) use discover::{Meta, Outside};
use exchanges::Exchanges;
use levels::Levels;
use listing::{Basis, Listings};
use log_streams::{Level, LogStreams};
use odd_tasks::OddTasks;
use scopes::Scopes;
use subscribed::Subscribed;
use subscriptions::Subscriptions;

/// A request that is not settled, and what its answer and later frames are judged by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Asked {
    pub(crate) id: Key,
    pub(crate) method: Method,
    pub(crate) frame: FrameNo,
    /// When it went to the party, for requests toward it.
    pub(crate) fact: Fact,
    pub(crate) stream: Stream,
    pub(crate) is_stateless: bool,
    /// What it is about, by method: the name of the tool or prompt, the uri, the task's id; absent where
    /// there is none or it is no string.
    pub(crate) subject: Key,
    /// The cursor that it carries.
    pub(crate) cursor: Key,
    /// `params._meta.progressToken`
    pub(crate) token: Key,
    /// `params.task` is an object: it asks to be run as a task.
    pub(crate) wants_task: bool,
    /// What its `_meta` says of itself, outside sessions.
    pub(crate) meta: Meta,
    /// What requests before it declared, outside sessions.
    pub(crate) earlier: Capabilities,
    /// The task that its `_meta` names (2025-11-25).
    pub(crate) related: Key,
    /// For requests toward the party: what lists told of what it asks for.
    pub(crate) basis: Basis,
    /// For requests toward the party: its params break the shape of its method.
    pub(crate) is_misshapen: bool,
    /// The least level of log messages that it asks for (2026-07-28).
    pub(crate) level: Level,
    /// The text of params, where answers are judged by it ([`keeps_params`]).
    pub(crate) params: Option<Arc<[u8]>>,
}

impl Keyed for Box<Asked> {
    type By = Key;

    #[inline]
    fn by(&self) -> Key {
        self.id
    }
}

/// So many open requests of a side are kept with what they ask for; answers to others are judged by themselves.
const ASKED_MAX: usize = 1 << 14;

/// Params longer than this are not kept; answers to them are judged by the rest.
const PARAMS_MAX: usize = 1 << 16;

/// Whether answers to that method are judged by the text of its params.
fn keeps_params(method: Method, is_stateless: bool) -> bool {
    is_stateless
        || matches!(
            method,
            Method::Initialize
                | Method::ElicitationCreate
                | Method::SamplingCreateMessage
                | Method::PromptsGet
                | Method::LoggingSetLevel
                | Method::CompletionComplete
        )
}

impl Asked {
    fn of(cx: &Cx<'_>, frame: &Frame<'_>) -> Asked {
        let message = frame.message;
        let params = frame.payload;
        let text = |name| {
            let value: Option<Value<'_>> = params.and_then(|params| params.get(name));
            value
                .filter(|value| value.is_text())
                .map_or(Key::ABSENT, Value::key)
        };
        let subject = match message.method {
            Method::ToolsCall | Method::PromptsGet => text("name"),
            Method::ResourcesRead | Method::ResourcesSubscribe | Method::ResourcesUnsubscribe => {
                text("uri")
            }
            Method::TasksGet | Method::TasksResult | Method::TasksCancel | Method::TasksUpdate => {
                text("taskId")
            }
            Method::ElicitationCreate => text("elicitationId"),
            _ => Key::ABSENT,
        };
        let cursor = match message.method {
            Method::ToolsList
            | Method::ResourcesList
            | Method::ResourcesTemplatesList
            | Method::PromptsList
            | Method::TasksList => text("cursor"),
            _ => Key::ABSENT,
        };
        let keeps = keeps_params(message.method, frame.is_stateless);
        Asked {
            id: message.id,
            method: message.method,
            frame: cx.frame,
            fact: frame.fact,
            stream: cx.stream,
            is_stateless: frame.is_stateless,
            subject,
            cursor,
            token: message.token,
            wants_task: message.has(Condition::TaskAsked)
                && params
                    .and_then(|params| params.get("task"))
                    .is_some_and(Value::is_object),
            related: tasks::text_key(
                params
                    .filter(|_| !frame.is_stateless)
                    .and_then(|params| params.path(&["_meta", tasks::RELATED, "taskId"])),
            ),
            meta: match frame.is_stateless {
                true => Meta::of(message, params),
                false => Meta::default(),
            },
            earlier: Capabilities::NONE,
            basis: Basis::default(),
            is_misshapen: false,
            level: match params {
                Some(params) if frame.is_stateless => {
                    Level::read(params.path(&["_meta", Level::MEMBER]))
                }
                _ => Level::None,
            },
            params: params
                .map(Value::raw)
                .filter(|text| keeps && text.len() <= PARAMS_MAX)
                .map(Arc::from),
        }
    }
}

impl Asked {
    /// Reads the params of the request again, where they were kept.
    #[cold]
    pub(crate) fn read_params<T>(&self, look: impl FnOnce(Value<'_>) -> T) -> Option<T> {
        let text = self.params.as_deref()?;
        let mut scanner = Scanner::recording();
        scanner.value(text, 0).ok()?;
        scanner.body(text).map(look)
    }
}

/// One frame as rules about payloads see it.
#[derive(Clone, Copy)]
pub(crate) struct Frame<'a> {
    pub(crate) message: &'a Message,
    /// The frame's own method, or that of the request that it answers; [`Method::None`] where an answer
    /// fits no request that is known.
    pub(crate) method: Method,
    /// `params`, `result` or `error`.
    pub(crate) payload: Option<Value<'a>>,
    /// The request that it answers, or that it is.
    pub(crate) asked: Option<&'a Asked>,
    /// The revision that governs it, where that is settled. Outside sessions: the one in `_meta` of the
    /// request, where it is known.
    pub(crate) revision: Option<Revision>,
    pub(crate) is_stateless: bool,
    /// For frames toward the party: when. [`Part::knows`] says whether it had received it.
    pub(crate) fact: Fact,
}

/// What a group of rules does with a frame that the party sends, or that goes to it.
pub(crate) type Hook = fn(&mut Part, &mut Deep, &mut Cx<'_>, &Frame<'_>);

/// A group of rules and what they keep.
pub(crate) struct Topic {
    pub(crate) by: Hook,
    pub(crate) toward: Hook,
}

/// What is kept of payloads for one part.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Deep {
    /// Requests of the party that are not answered. Boxed, since the lists move what they hold.
    pub(crate) own: Opens<Box<Asked>>,
    /// Requests toward the party that it has not answered.
    pub(crate) inn: Opens<Box<Asked>>,
    /// Sampling and elicitation.
    pub(crate) asks: Asks,
    pub(crate) tasks: tasks::Tasks,
    pub(crate) tasks_ext: tasks_ext::Tasks,
    /// What the server's lists told, and the client's roots.
    pub(crate) listings: Listings,
    pub(crate) subscribed: Subscribed,
    pub(crate) levels: Levels,
    pub(crate) floods: Floods,
    /// Requests that were answered with a question.
    pub(crate) exchanges: Exchanges,
    /// Server: what clients subscribed to.
    pub(crate) subscriptions: Subscriptions,
    /// Server: answered streams, and which log messages they may carry.
    pub(crate) logs: LogStreams,
    /// Server: for whom pages may be kept.
    pub(crate) scopes: Scopes,
    /// What is wrong with tasks that the party shows.
    pub(crate) odd_tasks: OddTasks,
    /// What was told outside sessions.
    pub(crate) outside: Option<Box<Outside>>,
}

impl Deep {
    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        if let Some(outside) = &self.outside {
            outside.encode(encoder);
        }
        self.odd_tasks.encode(encoder);
        for list in [&self.own, &self.inn] {
            encoder.word(0x6465_6570 << 32 | list.len() as u64);
            for asked in list.iter() {
                encoder.key(asked.id);
                encoder.key(asked.subject);
                encoder.key(asked.cursor);
                encoder.key(asked.token);
                encoder.key(asked.related);
                let params = asked.params.as_deref().map_or(Key::ABSENT, Key::text);
                encoder.key(params);
                asked.meta.encode(encoder);
                encoder.word(asked.earlier.bits().into());
                encoder.word(
                    u64::from(asked.fact.0) << 16
                        | asked.level.word() << 12
                        | u64::from(asked.is_misshapen) << 10
                        | u64::from(asked.is_stateless) << 9
                        | u64::from(asked.wants_task) << 8
                        | asked.method as u64,
                );
                encoder.key(asked.basis.entry);
                encoder.key(asked.basis.lacks);
            }
        }
        self.asks.encode(encoder);
        self.tasks.encode(encoder);
        self.tasks_ext.encode(encoder);
        self.listings.encode(encoder);
        self.subscribed.encode(encoder);
        self.levels.encode(encoder);
        self.exchanges.encode(encoder);
        self.subscriptions.encode(encoder);
        self.logs.encode(encoder);
        self.scopes.encode(encoder);
    }
}

impl Part {
    /// The payload of a frame that the party sends. For answers this comes before the request is settled.
    pub(crate) fn deep_by(&mut self, cx: &mut Cx<'_>, message: &Message) {
        self.deep_frame(cx, message, Fact::NONE, true);
    }

    /// The payload of a frame that goes to the party.
    pub(crate) fn deep_toward(&mut self, cx: &mut Cx<'_>, message: &Message, fact: Fact) {
        self.deep_frame(cx, message, fact, false);
    }

    fn deep_frame(&mut self, cx: &mut Cx<'_>, message: &Message, fact: Fact, is_by: bool) {
        if cx.body.is_none() {
            return self.deep_blind(cx, message, is_by);
        }
        if matches!(message.kind, Kind::Batch | Kind::Malformed) {
            return;
        }
        let payload = cx.payload;
        let mut deep = self.deep.take().unwrap_or_default();
        let mut answered = None;
        if message.kind.is_response() {
            let asked = if is_by { &mut deep.inn } else { &mut deep.own };
            answered = asked.find(message.id).ok().map(|at| asked.remove(at));
        }
        let mut frame = Frame {
            message,
            method: match &answered {
                Some(asked) => asked.method,
                None => message.method,
            },
            payload,
            asked: answered.as_deref(),
            revision: self.revision_of(cx.era, is_by),
            is_stateless: cx.is_stateless,
            fact,
        };
        let new = (message.kind == Kind::Request).then(|| {
            let mut asked = Box::new(Asked::of(cx, &frame));
            if !is_by {
                asked.basis = deep.listings.basis(&frame);
                asked.is_misshapen = payload::is_misshapen(self, cx, &frame);
            }
            if let Some(outside) = &deep.outside {
                asked.earlier = outside.declared;
            }
            asked
        });
        if new.is_some() {
            frame.asked = new.as_deref();
        }
        if is_by {
            cx.ledger.saw(bit(match message.kind {
                Kind::Result => When::result(frame.method),
                Kind::Error => When::error(frame.method),
                _ => When::call(frame.method),
            }));
        }
        if is_by {
            payload::judge(self, cx, &frame);
        } else if frame.method == Method::Initialize && message.kind == Kind::Result {
            payload::lifecycle::initialize_settled(self, cx, &frame);
        }
        let every = match message.kind {
            _ if cx.is_stateless => topics::STATELESS,
            Kind::Error => topics::ERRORS,
            _ => topics::SESSION,
        };
        for topic in every.iter().chain(topics::of(frame.method)) {
            let hook = if is_by { topic.by } else { topic.toward };
            hook(self, &mut deep, cx, &frame);
        }
        if is_by && deep.listings.is_due() {
            lists::tick(self, &mut deep, cx);
        }
        if let Some(new) = new {
            // A second one of the same id: nobody can tell their answers apart.
            let is_open = |found: Result<usize, usize>| found.is_ok();
            let (asked, is_open) = match is_by {
                true => (&mut deep.own, is_open(self.find_own(new.id))),
                false => (&mut deep.inn, is_open(self.find_in(new.id))),
            };
            match asked.find(new.id) {
                Err(_) if is_open && asked.len() >= ASKED_MAX => {
                    deep.logs.is_lossy |= new.level != Level::None;
                    cx.ledger.unread.go_beyond(&Closed {
                        frame: cx.frame,
                        by: if is_by { self.role } else { self.role.other() },
                        kind: message.kind,
                        method: new.method,
                        is_stateless: cx.is_stateless,
                    });
                }
                Err(at) if is_open => asked.insert(at, new),
                Err(_) => {}
                Ok(at) => {
                    let old = asked.remove(at);
                    deep.logs.is_lossy |= old.level != Level::None || new.level != Level::None;
                }
            }
        }
        self.deep = Some(deep);
    }

    /// Nothing more comes from the party: the end of the session was seen, or the recording merely stops.
    pub(crate) fn deep_end(&mut self, cx: &mut Cx<'_>, is_over: bool, is_quiet: bool) {
        let Some(mut deep) = self.deep.take() else {
            return;
        };
        lists::never_told(self, &mut deep, cx, is_quiet);
        if is_over && self.role == Role::Client {
            pagination::pages_left(self, &deep, cx, is_quiet);
        }
        self.deep = Some(deep);
    }

    /// A frame with a text that is too large to be looked into: it may have told anything.
    fn deep_blind(&mut self, cx: &mut Cx<'_>, message: &Message, is_by: bool) {
        let is_frame = !matches!(message.kind, Kind::Batch | Kind::Malformed);
        if !is_frame || cx.text.is_none() {
            return;
        }
        let deep = self.deep.get_or_insert_default();
        deep.listings.is_blind = true;
        let mut method = message.method;
        if message.kind.is_response() {
            let asked = if is_by { &mut deep.inn } else { &mut deep.own };
            if let Ok(at) = asked.find(message.id) {
                method = asked[at].method;
            }
            self.deep_forget(message.id, !is_by);
        }
        if is_by {
            cx.ledger.unread.put(&Closed {
                frame: cx.frame,
                by: self.role,
                kind: message.kind,
                method,
                is_stateless: cx.is_stateless,
            });
        }
    }

    /// The request is no longer followed.
    #[inline]
    pub(crate) fn deep_forget(&mut self, id: Key, is_own: bool) {
        if let Some(deep) = &mut self.deep {
            let asked = if is_own { &mut deep.own } else { &mut deep.inn };
            if let Ok(at) = asked.find(id) {
                let asked = asked.remove(at);
                deep.logs.is_lossy |= asked.level != Level::None;
            }
        }
    }
}
