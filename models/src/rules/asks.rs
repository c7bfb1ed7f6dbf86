//! What a server asks of its client, in frames or inside results: what the client declared of it, and
//! what is kept until the answer comes.

use mcpsim_traces::encode::Encoder;
use mcpsim_traces::event::{FrameNo, Role};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Capabilities, Capability, Condition, Kind, Method, Revision};
use mcpsim_traces::tape::Value;

use crate::deep::topics::ignore;
use crate::deep::{Asked, Deep, Frame, Topic};
use crate::ledger::{Cx, bit};
use crate::part::{Knows, Part, flag};
use crate::rules::elicitation::{self, ELICIT_CAPABILITY_MODE, Given};
use crate::rules::{When, sampling};

/// Whether something was declared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Told {
    /// Nobody can tell, or another rule speaks of it.
    Unclear,
    No,
    Yes,
}

impl From<bool> for Told {
    fn from(is_told: bool) -> Told {
        if is_told { Told::Yes } else { Told::No }
    }
}

/// What a client declared of sampling and elicitation. Where a feature is not declared at all, its parts
/// are unclear: that it is used is reported once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Declared {
    pub(crate) sampling: Told,
    pub(crate) tools: Told,
    pub(crate) context: Told,
    pub(crate) elicitation: Told,
    pub(crate) form: Told,
    pub(crate) url: Told,
}

impl Declared {
    /// Nothing is known.
    pub(crate) const UNCLEAR: Declared = Declared {
        sampling: Told::Unclear,
        tools: Told::Unclear,
        context: Told::Unclear,
        elicitation: Told::Unclear,
        form: Told::Unclear,
        url: Told::Unclear,
    };

    /// What the client of the session said in its handshake, as the part knows it.
    pub(crate) fn of_session(part: &Part, deep: &Deep) -> Declared {
        let (is_known, all, untold) = match part.role {
            Role::Client => (part.is(flag::INIT_SENT), part.mine, flag::UNTOLD_MINE),
            Role::Server => (part.opened.is_some(), part.theirs, flag::UNTOLD_THEIRS),
        };
        if !is_known || part.is(untold) {
            return Declared::UNCLEAR;
        }
        Declared::from_flags(all, deep.asks.has_odd_modes)
    }

    fn from_flags(all: Capabilities, has_odd_modes: bool) -> Declared {
        let has = |capability| Told::from(all.has(capability));
        let mut declared = Declared {
            sampling: has(Capability::Sampling),
            elicitation: has(Capability::Elicitation),
            ..Declared::UNCLEAR
        };
        if declared.sampling == Told::Yes {
            declared.tools = has(Capability::SamplingTools);
            declared.context = has(Capability::SamplingContext);
        }
        if declared.elicitation == Told::Yes && !has_odd_modes {
            declared.url = has(Capability::ElicitationUrl);
            // An empty object stands for forms.
            let is_form = all.has(Capability::ElicitationForm) || declared.url == Told::No;
            declared.form = Told::from(is_form);
        }
        declared
    }

    /// What the request of that text declares in its `_meta`.
    pub(crate) fn of_request(asked: Option<&Asked>) -> Declared {
        let path = ["_meta", "io.modelcontextprotocol/clientCapabilities"];
        let declared = asked.and_then(|asked| {
            asked.read_params(|params| {
                let all = params.path(&path);
                all.filter(|value| value.is_object()).map(Declared::of)
            })
        });
        declared.flatten().unwrap_or(Declared::UNCLEAR)
    }

    fn of(capabilities: Value<'_>) -> Declared {
        let mut all = Capabilities::NONE;
        let mut has_odd_modes = false;
        for (name, inner, flags) in [
            (
                "sampling",
                Capability::Sampling,
                [
                    ("tools", Capability::SamplingTools),
                    ("context", Capability::SamplingContext),
                ],
            ),
            (
                "elicitation",
                Capability::Elicitation,
                [
                    ("form", Capability::ElicitationForm),
                    ("url", Capability::ElicitationUrl),
                ],
            ),
        ] {
            let Some(feature) = capabilities.get(name).filter(|value| value.is_object()) else {
                continue;
            };
            all.insert(inner);
            for (name, capability) in flags {
                if feature.get(name).is_some_and(Value::is_object) {
                    all.insert(capability);
                }
            }
            has_odd_modes |= inner == Capability::Elicitation && modes(feature) != Modes::Clear;
        }
        Declared::from_flags(all, has_odd_modes)
    }
}

/// How an elicitation capability names its modes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Modes {
    /// By an empty object, or by objects under `form` and `url`.
    Clear,
    /// A mode is there and no object.
    Mistyped,
    /// There are members, and none is a mode.
    Missing,
}

fn modes(elicitation: Value<'_>) -> Modes {
    let is_mode = |name: Value<'_>| name.is_one_of(&["form", "url"]);
    let mut is_empty = true;
    let mut has_mode = false;
    for (name, value) in elicitation.members() {
        is_empty = false;
        if is_mode(name) {
            has_mode = true;
            if !value.is_object() {
                return Modes::Mistyped;
            }
        }
    }
    if is_empty || has_mode {
        Modes::Clear
    } else {
        Modes::Missing
    }
}

/// A request that the party answered with a task, which will bring the real answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Deferred {
    task: Key,
    asked: Asked,
}

/// Of more tasks than this the oldest is forgotten.
const DEFERRED_MAX: usize = 16;

/// What is kept of sampling and elicitation for one part.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Asks {
    /// The client's `elicitation` does not say clearly which modes there are.
    has_odd_modes: bool,
    /// … because it names none.
    lacks_mode: bool,
    /// Client: sampling and elicitation that it answers by tasks.
    deferred: Vec<Deferred>,
    /// Server: the elicitations by URL that it named, sorted by their ids.
    pub(crate) given: Vec<Given>,
    /// Server: some id of an elicitation had to be forgotten.
    pub(crate) is_lossy: bool,
    /// Server: completions that fit nothing yet, where its own frames have no order.
    pub(crate) early: Vec<(Key, FrameNo)>,
}

impl Asks {
    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.word(
            0x6173_6b73 << 32
                | u64::from(self.has_odd_modes)
                | u64::from(self.lacks_mode) << 1
                | u64::from(self.is_lossy) << 2,
        );
        encoder.word(self.deferred.len() as u64);
        for deferred in &self.deferred {
            encoder.key(deferred.task);
            encoder.word(deferred.asked.method as u64);
            encoder.bytes(deferred.asked.params.as_deref().unwrap_or_default());
        }
        encoder.word(self.given.len() as u64);
        for given in &self.given {
            given.encode(encoder);
        }
        encoder.word(self.early.len() as u64);
        for (id, _) in &self.early {
            encoder.key(*id);
        }
    }

    /// The party answers that request with a task; its result will come later.
    pub(crate) fn defer(&mut self, asked: &Asked, result: Option<Value<'_>>) {
        let task = result.and_then(|result| result.path(&["task", "taskId"]));
        let Some(task) = task.filter(|task| task.is_text()) else {
            return;
        };
        if self.deferred.len() >= DEFERRED_MAX {
            self.deferred.remove(0);
        }
        self.deferred.push(Deferred {
            task: task.key(),
            asked: asked.clone(),
        });
    }

    /// The request that the task of that id stands for.
    pub(crate) fn deferred(&self, task: Key) -> Option<&Asked> {
        let mut found = self.deferred.iter().filter(|one| one.task == task);
        // Of two with one id nobody knows which is meant.
        found
            .next()
            .filter(|_| found.next().is_none())
            .map(|one| &one.asked)
    }
}

/// What the client declares in its handshake.
pub(crate) const HANDSHAKE: Topic = Topic {
    by: handshake_by,
    toward: handshake_toward,
};

fn handshake_by(part: &mut Part, deep: &mut Deep, _: &mut Cx<'_>, frame: &Frame<'_>) {
    if part.role == Role::Client && frame.message.kind == Kind::Request {
        learn_modes(deep, frame);
    }
}

fn handshake_toward(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    match (part.role, frame.message.kind) {
        (Role::Server, Kind::Request) => learn_modes(deep, frame),
        (Role::Client, Kind::Result) => modes_by_then(part, deep, cx, frame),
        _ => {}
    }
}

fn learn_modes(deep: &mut Deep, frame: &Frame<'_>) {
    let declared = frame
        .payload
        .and_then(|params| params.path(&["capabilities", "elicitation"]));
    let modes = declared
        .filter(|value| value.is_object())
        .map_or(Modes::Clear, modes);
    deep.asks.has_odd_modes = modes != Modes::Clear;
    deep.asks.lacks_mode = modes == Modes::Missing;
}

/// The answer to initialize says which revision the client's capabilities belong to.
fn modes_by_then(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    use mcpsim_traces::message::Version;
    let agreed = match frame.message.version {
        Version::Known(revision) => Some(revision),
        _ => None,
    };
    let revision = if part.is(flag::FORCED) {
        part.revision
    } else {
        agreed
    };
    if revision != Some(Revision::V2025_11_25) || part.opened.is_some() {
        return;
    }
    cx.ledger.saw(bit(When::INITIALIZE));
    if let (true, Some(asked)) = (deep.asks.lacks_mode, frame.asked) {
        let text = "the client's `elicitation` has members and neither `form` nor `url`; at least one of them is declared".to_string();
        part.broken(cx, &ELICIT_CAPABILITY_MODE, &[asked.frame], text);
    }
}

/// What a client answers when a server asks for the result of its task.
pub(crate) const TASK_RESULT: Topic = Topic {
    by: task_result_by,
    toward: ignore,
};

fn task_result_by(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    if part.role != Role::Client || frame.is_stateless || frame.message.kind != Kind::Result {
        return;
    }
    let task = frame.asked.map_or(Key::ABSENT, |asked| asked.subject);
    let Some(asked) = deep.asks.deferred(task).cloned() else {
        return;
    };
    let is_other = |result| super::tasks::is_of_another_kind(asked.method, result);
    if frame.payload.is_some_and(is_other) {
        return;
    }
    answered(part, deep, cx, &in_session(part, frame), &asked);
}

/// sampling/createMessage and elicitation/create, and what is answered, inside sessions.
pub(crate) const TOPIC: Topic = Topic { by, toward: ignore };

fn by(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    if frame.is_stateless {
        return;
    }
    let frame = &in_session(part, frame);
    let is_sampling = frame.method == Method::SamplingCreateMessage;
    match (part.role, frame.message.kind, frame.asked) {
        (Role::Server, Kind::Request, _) if is_sampling => {
            sampling::requested(part, deep, cx, frame);
        }
        (Role::Server, Kind::Request, _) => elicitation::requested(part, deep, cx, frame),
        // The client created a task instead of answering.
        (Role::Client, Kind::Result, Some(asked)) if frame.message.has(Condition::TaskCreated) => {
            deep.asks.defer(asked, frame.payload);
        }
        (Role::Client, Kind::Result, Some(asked)) => answered(part, deep, cx, frame, asked),
        (Role::Client, Kind::Error, Some(asked)) if is_sampling => {
            sampling::refused(part, deep, cx, frame, asked);
        }
        (Role::Client, Kind::Error, Some(asked)) => {
            elicitation::refused(part, deep, cx, frame, asked);
        }
        _ => {}
    }
}

/// What was asked for is answered, at once or as the result of a task.
fn answered(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>, asked: &Asked) {
    match asked.method {
        Method::SamplingCreateMessage => sampling::answered(part, deep, cx, frame, asked),
        Method::ElicitationCreate => elicitation::answered(part, deep, cx, frame, asked),
        _ => {}
    }
}

/// The frame under the revision of the session. A server asks only after the handshake, so whoever answers it
/// knows the revision, even where the order of frames is not known.
pub(crate) fn in_session<'a>(part: &Part, frame: &Frame<'a>) -> Frame<'a> {
    Frame {
        revision: frame.revision.or(part.revision),
        ..*frame
    }
}

/// Whether the request that this frame answers was cancelled, as far as the party may know.
pub(crate) fn may_be_cancelled(part: &Part, frame: &Frame<'_>) -> bool {
    part.find_in(frame.message.id)
        .is_ok_and(|at| part.knows(part.inn[at].cancel) != Knows::No)
}
