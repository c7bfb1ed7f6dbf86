//! Results that ask for input, and the requests that bring it.

mod retry;
mod rows;

use mcpsim_traces::event::Role;
use mcpsim_traces::judge::{Severity, Verdict};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Capability, Kind, Method};
use mcpsim_traces::tape::Value;

use crate::deep::exchanges::{Exchange, Input, Lack, Stage, State, fingerprint};
use crate::deep::tasks_ext;
use crate::deep::{Asked, Deep, Frame, Topic};
use crate::era::Era;
use crate::ledger::{Cx, bit};
use crate::part::{Fact, Part};
use crate::rules::When;
use crate::rules::stateless::caching;
use crate::rules::stateless::capability::undeclared;
use crate::shape::{found, shown};

pub(crate) use retry::judge_answer;
pub(crate) use rows::*;

/// Requests of the client that bring input, and results of the server that ask for it.
pub(crate) const TOPIC: Topic = Topic { by, toward };

fn by(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    match (part.role, frame.message.kind) {
        (Role::Client, Kind::Request) => retry::sent(part, deep, cx, frame),
        (Role::Server, Kind::Result) => match asks_for_input(frame) {
            Some(result) => asks(part, deep, cx, frame, result),
            None => completes(part, deep, cx, frame),
        },
        (Role::Server, Kind::Error) => refuses(part, deep, cx, frame),
        _ => {}
    }
}

fn toward(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    match (part.role, frame.message.kind) {
        (Role::Server, Kind::Request) => retry::received(deep, frame),
        (Role::Client, Kind::Result | Kind::Error) => learn(deep, cx, frame),
        _ => {}
    }
}

/// The result, where it asks for input.
fn asks_for_input<'a>(frame: &Frame<'a>) -> Option<Value<'a>> {
    let result = frame.payload.filter(|result| result.is_object())?;
    let kind = result.get("resultType")?;
    kind.is("input_required").then_some(result)
}

/// Takes note of an answer to a request, which may ask for input.
fn learn(deep: &mut Deep, cx: &Cx<'_>, frame: &Frame<'_>) {
    let Some(asked) = frame.asked else { return };
    let result = asks_for_input(frame).filter(|_| frame.message.kind == Kind::Result);
    let exchanges = &mut deep.exchanges;
    if exchanges.is_empty() && result.is_none() {
        return;
    }
    let first_id = exchanges.answer(asked.id, result.is_some(), frame.fact);
    let Some(result) = result else { return };
    let mut new = Exchange {
        method: asked.method,
        subject: asked.subject,
        id: asked.id,
        first_id: first_id.unwrap_or(asked.id),
        frame: cx.frame,
        state: State::read(result.get("requestState")),
        keys: vec![],
        is_vague: false,
        params: asked.read_params(fingerprint).flatten(),
        requests: None,
        fact: frame.fact,
        stage: Stage::Asked,
        retry: Key::ABSENT,
        superseded: Fact::NONE,
    };
    new.read_requests(result.get("inputRequests"));
    exchanges.ask(new);
}

/// The server asks for input.
fn asks(part: &Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>, result: Value<'_>) {
    cx.ledger.saw(bit(When::INPUT_REQUIRED));
    learn(deep, cx, frame);
    if let Some(asked) = frame.asked {
        deep.exchanges.settle(asked.id);
    }
    caching::interim(part, cx, result);
    let takes_input = matches!(
        frame.method,
        Method::ToolsCall | Method::PromptsGet | Method::ResourcesRead | Method::None
    );
    if !takes_input {
        let text = format!(
            "{} is answered with a question; only tools/call, prompts/get and resources/read may be",
            method_name(frame.method)
        );
        let kind = result.get("resultType");
        let frames = [frame.asked.map_or(0, |asked| asked.frame), cx.frame];
        let rule = &MRTR_ALLOWED_METHODS;
        return part.case(cx, rule, Verdict::Broken, None, &frames, kind, text);
    }
    let state = result.get("requestState");
    if let Some(state) = state {
        judge_state(part, cx, state);
    }
    match result.get("inputRequests") {
        Some(requests) => judge_requests(part, cx, frame, requests, state.is_some()),
        None if state.is_none() => {
            let text = "the result asks for input and has neither inputRequests nor requestState";
            part.broken(
                cx,
                &MRTR_HAS_REQUESTS_OR_STATE,
                &[cx.frame],
                text.to_string(),
            );
        }
        None => {}
    }
}

fn method_name(method: Method) -> &'static str {
    match method {
        Method::Unknown => "an unknown method",
        method => method.words(),
    }
}

/// A state is a string; whether it is.
fn judge_state(part: &Part, cx: &mut Cx<'_>, state: Value<'_>) -> bool {
    cx.ledger.saw(bit(When::REQUEST_STATE));
    if state.is_text() {
        return true;
    }
    let text = format!("requestState is {}; it is a string", found(state));
    part.broken_value(cx, &MRTR_STATE_TYPE, state, text);
    false
}

fn judge_requests(
    part: &Part,
    cx: &mut Cx<'_>,
    frame: &Frame<'_>,
    requests: Value<'_>,
    has_state: bool,
) {
    if !requests.is_object() {
        let text = format!("inputRequests is {}; it is an object", found(requests));
        return part.broken_value(cx, &MRTR_INPUT_REQUEST_KIND, requests, text);
    }
    if requests.members().next().is_none() && !has_state {
        let text = "the result asks for input: nothing in particular, and without a requestState";
        let rule = &MRTR_HAS_REQUESTS_OR_STATE;
        let (verdict, severity) = (Verdict::Broken, Some(Severity::Warning));
        let frames = [cx.frame];
        return part.case(
            cx,
            rule,
            verdict,
            severity,
            &frames,
            Some(requests),
            text.to_string(),
        );
    }
    if let Some(name) = repeated(requests) {
        let text = format!("the key {} stands twice in inputRequests", shown(name));
        part.broken_value(cx, &MRTR_UNIQUE_KEYS, name, text);
    }
    judge_kinds(part, cx, requests);
    if let Some(asked) = frame.asked {
        judge_gate(part, cx, asked, requests, None);
    }
}

/// A name that stands there before.
fn repeated(object: Value<'_>) -> Option<Value<'_>> {
    let mut seen: Vec<Key> = vec![];
    for (name, _) in object.members() {
        match seen.binary_search(&name.key()) {
            Ok(_) => return Some(name),
            Err(at) => seen.insert(at, name.key()),
        }
    }
    None
}

fn judge_kinds(part: &Part, cx: &mut Cx<'_>, requests: Value<'_>) {
    let mut wrapped = None;
    for (name, request) in requests.members() {
        if let Some(why) = flaw(request) {
            let text = format!("what is asked under {} {why}", shown(name));
            return part.broken_value(cx, &MRTR_INPUT_REQUEST_KIND, request, text);
        }
        let is_wrapped = |member| request.get(member).is_some();
        if wrapped.is_none() && (is_wrapped("jsonrpc") || is_wrapped("id")) {
            wrapped = Some((name, request));
        }
    }
    if let Some((name, request)) = wrapped {
        let text = format!(
            "what is asked under {} looks like a frame; it has no jsonrpc and no id",
            shown(name)
        );
        let (verdict, severity) = (Verdict::Broken, Some(Severity::Note));
        let frames = [cx.frame];
        let rule = &MRTR_INPUT_REQUEST_KIND;
        part.case(cx, rule, verdict, severity, &frames, Some(request), text);
    }
}

/// Why that is no request to a client; what is in its params, other rules say.
fn flaw(request: Value<'_>) -> Option<String> {
    if !request.is_object() {
        return Some(format!("is {}; it is a request, an object", found(request)));
    }
    let needs_params = match Input::of(request) {
        Input::Roots => false,
        Input::Elicitation | Input::Sampling => true,
        Input::Other => {
            return Some(match request.get("method") {
                Some(method) => format!(
                    "has the method {}; it is elicitation/create, sampling/createMessage or roots/list",
                    shown(method)
                ),
                None => "has no method".to_string(),
            });
        }
    };
    let params = request.get("params");
    if needs_params && !params.is_some_and(Value::is_object) {
        return Some("has no params object, which its method needs".to_string());
    }
    None
}

/// What the request at hand declared its client to support.
fn judge_gate(
    part: &Part,
    cx: &mut Cx<'_>,
    asked: &Asked,
    requests: Value<'_>,
    severity: Option<Severity>,
) {
    // What a version that is not known here asks for, nobody can tell.
    if cx.era == Era::Foreign {
        return;
    }
    // A task that the request may not ask for at all is one fault.
    let is_of_tasks = matches!(asked.method, Method::TasksGet | Method::TasksUpdate);
    if is_of_tasks && tasks_ext::declares(asked) == Some(false) {
        return;
    }
    let Some(declared) = asked.read_params(Declared::read).flatten() else {
        return;
    };
    let lacking = requests.members().find_map(|(name, request)| {
        let missing = declared.missing(Input::of(request))?;
        Some((name, missing))
    });
    let Some((name, missing)) = lacking else {
        return;
    };
    let (rule, source) = undeclared(part, asked, missing, &MRTR_CAPABILITY_GATE);
    let text = format!(
        "{} asks for {}, which the request's clientCapabilities do not declare{source}",
        shown(name),
        missing.as_str()
    );
    let frames = [asked.frame, cx.frame];
    part.case(
        cx,
        rule,
        Verdict::Broken,
        severity,
        &frames,
        Some(name),
        text,
    );
}

/// The capabilities of a client that a request declares.
#[derive(Clone, Copy)]
struct Declared {
    elicitation: bool,
    sampling: bool,
    roots: bool,
}

impl Declared {
    fn read(params: Value<'_>) -> Option<Declared> {
        let all = params.path(&["_meta", "io.modelcontextprotocol/clientCapabilities"])?;
        let has = |name| all.get(name).is_some();
        all.is_object().then(|| Declared {
            elicitation: has("elicitation"),
            sampling: has("sampling"),
            roots: has("roots"),
        })
    }

    /// The capability that this input needs and that is not declared.
    fn missing(self, input: Input) -> Option<Capability> {
        match input {
            Input::Elicitation => (!self.elicitation).then_some(Capability::Elicitation),
            Input::Sampling => (!self.sampling).then_some(Capability::Sampling),
            Input::Roots => (!self.roots).then_some(Capability::Roots),
            Input::Other => None,
        }
    }
}

/// The server answers with something else than a question.
fn completes(part: &Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let Some(asked) = frame.asked else { return };
    if frame.method == Method::TasksGet {
        task_asks(part, cx, frame, asked);
    }
    if deep.exchanges.settle(asked.id) == Some(Lack::Mistyped) && is_complete(frame) {
        let text = format!(
            "{} is served although its inputResponses are no object",
            asked.id
        );
        let frames = [asked.frame, cx.frame];
        part.unsure(cx, &MRTR_SERVER_VALIDATES_RESPONSES, &frames, text);
    }
    deep.exchanges.answer(asked.id, false, Fact::NONE);
}

fn is_complete(frame: &Frame<'_>) -> bool {
    let kind = frame.payload.and_then(|result| result.get("resultType"));
    kind.is_some_and(|kind| kind.is("complete"))
}

/// A task that waits for input lists what it waits for, whoever looks at it.
fn task_asks(part: &Part, cx: &mut Cx<'_>, frame: &Frame<'_>, asked: &Asked) {
    let Some(task) = frame.payload else { return };
    let waits = task
        .get("status")
        .is_some_and(|status| status.is("input_required"));
    if let Some(requests) = task.get("inputRequests").filter(|_| waits) {
        judge_gate(part, cx, asked, requests, Some(Severity::Warning));
    }
}

/// Codes of errors that say what went wrong, and that it is not the answers.
const OTHER_CAUSES: &[i64] = &[-32020, -32021, -32022, -32603, -32601, -32700, -32600];

/// The server refuses a request.
fn refuses(part: &Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let Some(asked) = frame.asked else { return };
    deep.exchanges.answer(asked.id, false, Fact::NONE);
    let Some(Lack::Lacking { has_state }) = deep.exchanges.settle(asked.id) else {
        return;
    };
    if OTHER_CAUSES.contains(&frame.message.number) {
        return;
    }
    let text = format!(
        "{} lacks answers and is refused; the server asks for what it needs again",
        asked.id
    );
    let frames = [asked.frame, cx.frame];
    if has_state || part.may_be_unseen() {
        // The state may be what is refused; or it comes back to a question from before the recording.
        part.unsure(cx, &MRTR_MISSING_ANSWER_REASKS, &frames, text);
    } else {
        part.broken(cx, &MRTR_MISSING_ANSWER_REASKS, &frames, text);
    }
}
