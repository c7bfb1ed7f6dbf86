//! Params and results: the members that each method asks for, and their types. Which table belongs to which
//! method is said here, the tables and their rules stand in the files below.

use mcpsim_traces::event::Role;
use mcpsim_traces::judge::Severity;
use mcpsim_traces::message::{Condition, Kind, Method, Revision, Version};
use mcpsim_traces::tape::Value;

use crate::deep::Frame;
use crate::era::Era;
use crate::ledger::Cx;
use crate::part::{Part, flag};
use crate::rules::envelope::{is_in, may_send};
use crate::rules::stateless::payload::{
    DISCOVER_RESULT_SHAPE, NOTIFICATION_SCHEMA, REQUEST_SCHEMA, RESULT_SCHEMA,
};
use crate::rules::{Basis, Category, Level, MUST, NOTE, Needs, Rule, Side, When, roots};
use crate::shape::{self, Def, Member, Walk, What, optional, required};

pub(crate) mod completion;
pub(crate) mod content;
pub(crate) mod lifecycle;
pub(crate) mod logging;
pub(crate) mod meta;
pub(crate) mod pagination;
pub(crate) mod prompts;
pub(crate) mod resources;
pub(crate) mod tools;

pub(crate) const PARAMS_SHAPE: Rule = Rule {
    id: "params-shape",
    category: Category::Correlation,
    source: "2025-11-25 schema.ts (Request)",
    says: "Params have the members that the method has in the agreed revision, each of its type.",
    why: "The receiver refuses the call, or takes a default for what it cannot read.",
    when: When::CALL,
    twin: "request-schema",
    ..MUST
};

pub(crate) const RESULT_SHAPE: Rule = Rule {
    id: "result-shape",
    category: Category::Correlation,
    side: Side::Receiver,
    source: "2025-11-25 schema.ts (Result)",
    says: "A result has the members that its request's method has in the agreed revision, each of its type.",
    why: "Readers that check results drop the whole of one for a single wrong member; null is not the same as absent.",
    needs: Needs::Causal,
    when: When::RESPONSE,
    twin: "result-schema",
    ..MUST
};

pub(crate) const CANCEL_REASON_TYPE: Rule = Rule {
    id: "cancel-reason-type",
    category: Category::Cancellation,
    source: "2025-11-25 schema.ts (CancelledNotification)",
    says: "The reason of a cancel, where it has one, is a string.",
    why: "Strict receivers drop the cancel, and the work goes on.",
    when: When::CANCEL,
    ..MUST
};

pub(crate) const PROGRESS_MESSAGE_TYPE: Rule = Rule {
    id: "progress-message-type",
    category: Category::Progress,
    side: Side::Receiver,
    from: Revision::V2025_03_26,
    source: "2025-11-25 schema.ts (ProgressNotification)",
    says: "The message of a progress notification, where it has one, is a string.",
    why: "Strict receivers drop the notification.",
    when: When::PROGRESS,
    ..MUST
};

pub(crate) const PING_NO_PARAMS: Rule = Rule {
    id: "ping-no-params",
    category: Category::Ping,
    level: Level::MayNote,
    basis: Basis::Lowercase,
    source: "2025-11-25 basic/utilities/ping (Message Format)",
    says: "A ping has no params of its own.",
    why: "Nobody reads them.",
    when: When::call(Method::Ping),
    ..NOTE
};

pub(crate) const ERROR_MESSAGE_SENTENCE: Rule = Rule {
    id: "error-message-sentence",
    category: Category::Errors,
    source: "2025-11-25 schema.ts (Error)",
    says: "The message of an error is one short sentence.",
    why: "It is shown to people and to models; what is longer belongs into `data`.",
    when: When::ERROR,
    ..NOTE
};

/// The rows that stand here.
pub(crate) const ROWS: &[Rule] = &[
    PARAMS_SHAPE,
    RESULT_SHAPE,
    CANCEL_REASON_TYPE,
    PROGRESS_MESSAGE_TYPE,
    PING_NO_PARAMS,
    ERROR_MESSAGE_SENTENCE,
];

/// Answers to what a result asked for.
pub(crate) const INPUT_RESPONSES: Member = optional("inputResponses", What::Object)
    .since(Revision::V2026_07_28)
    .rule(&REQUEST_SCHEMA);

/// A complete result that asks for input all the same.
pub(crate) const INPUT_SLIP: Member = optional("inputRequests", What::Check("absent", input_slip))
    .since(Revision::V2026_07_28)
    .rule(&RESULT_SCHEMA);

fn input_slip<'a>(walk: &mut Walk<'a>, value: Value<'a>, rule: &'static Rule) {
    walk.flaw_at(rule, Severity::Warning, value, || {
        "the result is complete and has `inputRequests`; a result that asks for input is input_required"
            .to_string()
    });
}

static PROGRESS: Def = Def::new(
    "a progress notification",
    &[
        required("progressToken", What::Any).since(Revision::V2026_07_28),
        required("progress", What::Number).since(Revision::V2026_07_28),
        optional("total", What::Number)
            .since(Revision::V2026_07_28)
            .at_most(Severity::Warning),
        optional("message", What::Text)
            .since(Revision::V2025_03_26)
            .until(Revision::V2025_11_25)
            .rule(&PROGRESS_MESSAGE_TYPE),
        optional("message", What::Text)
            .since(Revision::V2026_07_28)
            .at_most(Severity::Warning),
    ],
);

static CANCELLED: Def = Def::new(
    "a cancel",
    &[
        required("requestId", What::TextOrInteger).since(Revision::V2026_07_28),
        optional("reason", What::Text)
            .until(Revision::V2025_11_25)
            .rule(&CANCEL_REASON_TYPE),
        optional("reason", What::Text)
            .since(Revision::V2026_07_28)
            .at_most(Severity::Warning),
    ],
);

static FILTER: Def = Def::new(
    "a filter",
    &[
        optional("toolsListChanged", What::Bool),
        optional("promptsListChanged", What::Bool),
        optional("resourcesListChanged", What::Bool),
        optional("resourceSubscriptions", What::ArrayOf(&What::Text)),
        optional("taskIds", What::ArrayOf(&What::Text)),
    ],
);

static LISTEN: Def = Def::new(
    "a call of subscriptions/listen",
    &[required("notifications", What::Def(&FILTER))],
);

static ACKNOWLEDGED: Def = Def::new(
    "an acknowledgement",
    &[required("notifications", What::Def(&FILTER))],
);

/// What a task's id is before 2026-07-28 is another rule's matter.
static TASK: Def = Def::new(
    "a call about a task",
    &[
        required("taskId", What::Any)
            .since(Revision::V2025_11_25)
            .until(Revision::V2025_11_25),
        required("taskId", What::Text).since(Revision::V2026_07_28),
    ],
);

static TASK_UPDATE: Def = Def::new(
    "a call of tasks/update",
    &[
        required("taskId", What::Text),
        required("inputResponses", What::Object),
    ],
);

/// The table for calls of that method, and the rule that they are charged to.
fn call(method: Method) -> Option<(&'static Def, &'static Rule)> {
    Some(match method {
        Method::ToolsCall => (&tools::CALL, &tools::TOOL_CALL_PARAMS),
        Method::ToolsList
        | Method::PromptsList
        | Method::ResourcesList
        | Method::ResourcesTemplatesList
        | Method::TasksList => (&pagination::LIST_CALL, &PARAMS_SHAPE),
        Method::Progress => (&PROGRESS, &NOTIFICATION_SCHEMA),
        Method::Cancelled => (&CANCELLED, &NOTIFICATION_SCHEMA),
        Method::LogMessage => (&logging::MESSAGE, &logging::LOG_MESSAGE_FIELDS),
        Method::ResourcesRead => (&resources::READ_CALL, &PARAMS_SHAPE),
        Method::PromptsGet => (&prompts::GET, &prompts::PROMPT_GET_PARAMS),
        Method::CompletionComplete => (&completion::CALL, &completion::COMPLETE_PARAMS),
        Method::ResourcesSubscribe | Method::ResourcesUnsubscribe => {
            (&resources::SUBSCRIBE, &resources::SUBSCRIBE_PARAMS)
        }
        Method::ResourcesUpdated => (&resources::UPDATED, &resources::UPDATED_PARAMS),
        Method::LoggingSetLevel => (&logging::SET_LEVEL, &PARAMS_SHAPE),
        Method::Initialize => (&lifecycle::CALL, &lifecycle::INITIALIZE_PARAMS),
        Method::SubscriptionsListen => (&LISTEN, &REQUEST_SCHEMA),
        Method::SubscriptionsAcknowledged => (&ACKNOWLEDGED, &NOTIFICATION_SCHEMA),
        Method::TasksGet | Method::TasksCancel | Method::TasksResult => (&TASK, &PARAMS_SHAPE),
        Method::TasksUpdate => (&TASK_UPDATE, &REQUEST_SCHEMA),
        _ => return None,
    })
}

/// The table for results of that method, and the rule that they are charged to.
fn result(frame: &Frame<'_>) -> Option<(&'static Def, &'static Rule)> {
    Some(match frame.method {
        Method::ToolsCall if is_about_task(frame) => {
            (&tools::TASK_RESULT, &tools::TOOL_RESULT_CONTENT)
        }
        Method::ToolsCall => (&tools::RESULT, &tools::TOOL_RESULT_CONTENT),
        Method::ToolsList => (&tools::LIST, &tools::TOOLS_LIST_SHAPE),
        Method::ResourcesList => (&resources::LIST, &resources::RESOURCES_LIST_SHAPE),
        Method::ResourcesTemplatesList => (&resources::TEMPLATES, &resources::TEMPLATES_LIST_SHAPE),
        Method::ResourcesRead => (&resources::READ_RESULT, &resources::READ_RESULT_SHAPE),
        Method::PromptsList => (&prompts::LIST, &prompts::PROMPTS_LIST_SHAPE),
        Method::PromptsGet => (&prompts::RESULT, &prompts::PROMPT_RESULT_SHAPE),
        Method::CompletionComplete => (&completion::RESULT, &completion::COMPLETE_RESULT_SHAPE),
        Method::Initialize => (&lifecycle::RESULT, &lifecycle::INITIALIZE_RESULT),
        Method::ServerDiscover => (&lifecycle::DISCOVERED, &DISCOVER_RESULT_SHAPE),
        Method::RootsList => (&roots::RESULT, &roots::ROOTS_RESULT_SHAPE),
        _ => return None,
    })
}

/// Whether a task was asked for or created, so that the ordinary result may come later.
fn is_about_task(frame: &Frame<'_>) -> bool {
    let was_asked = frame.asked.is_some_and(|asked| asked.wants_task);
    let may_be = !frame.is_stateless
        && frame
            .revision
            .is_none_or(|revision| is_in(Method::TasksGet, revision));
    may_be && (was_asked || frame.message.has(Condition::TaskCreated))
}

/// Judges the shape of what the party sends.
pub(crate) fn judge(part: &Part, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    // Of a version that is not known here, nobody knows what its payloads hold.
    if cx.era == Era::Foreign || part.is_strange(cx) {
        return;
    }
    let mut frame = *frame;
    if frame.method == Method::Initialize && frame.message.kind == Kind::Result {
        // The answer itself settles the revision.
        if let (None, Version::Known(revision)) = (frame.revision, frame.message.version) {
            frame.revision = Some(revision).filter(|revision| revision.has_handshake());
        }
    }
    let Some(mut walk) = Walk::begin(&frame) else {
        if let Some((def, rule)) = table(part.role, &frame) {
            shape::without_params(part, cx, &frame, def, rule);
        }
        return;
    };
    if frame.message.kind == Kind::Error {
        is_one_sentence(&mut walk);
        return walk.report(part, cx);
    }
    if part.is(flag::ODD_CURSOR) {
        walk.forgive("cursor");
    }
    meta::judge(&mut walk);
    let is_kept = is_complete(&walk, &frame) && !lifecycle::is_of_later(&mut walk, &frame);
    if is_kept && let Some((def, rule)) = table(part.role, &frame) {
        walk.whole(def, rule);
    }
    pagination::unpaged(&mut walk, &frame);
    if frame.message.kind == Kind::Request {
        cx.is_misshapen = Some(walk.breaks(OF_PARAMS));
        if frame.method == Method::Ping {
            has_no_params(&mut walk);
        }
    }
    walk.report(part, cx);
}

/// The rules that params break which have not the shape of their method.
const OF_PARAMS: &[&str] = &[
    PARAMS_SHAPE.id,
    tools::TOOL_CALL_PARAMS.id,
    prompts::PROMPT_GET_PARAMS.id,
    completion::COMPLETE_PARAMS.id,
    completion::COMPLETE_CONTEXT.id,
    resources::SUBSCRIBE_PARAMS.id,
    lifecycle::INITIALIZE_PARAMS.id,
    pagination::CURSOR_TYPE.id,
];

/// Whether the params of a request that goes to the party break the shape of its method. Mostly its sender's
/// side has just been judged, and the frame tells; where the two are apart, it is looked at again.
pub(crate) fn is_misshapen(part: &Part, cx: &Cx<'_>, frame: &Frame<'_>) -> bool {
    if frame.is_stateless || part.is_strange(cx) {
        return false;
    }
    cx.is_misshapen.unwrap_or_else(|| {
        let Some((def, rule)) = table(part.role.other(), frame) else {
            return false;
        };
        match Walk::begin(frame) {
            Some(mut walk) => {
                if part.is(flag::ODD_CURSOR) {
                    walk.forgive("cursor");
                }
                walk.whole(def, rule);
                walk.breaks(OF_PARAMS)
            }
            None => shape::lacks_params(cx, frame, def),
        }
    })
}

/// The table for that side's frame; `None` where the method is not this side's, or certainly or perhaps not of the
/// revision.
fn table(from: Role, frame: &Frame<'_>) -> Option<(&'static Def, &'static Rule)> {
    let is_result = frame.message.kind == Kind::Result;
    let caller = if is_result { from.other() } else { from };
    let is_known = match frame.revision {
        Some(revision) => is_in(frame.method, revision),
        None => {
            is_in(frame.method, Revision::V2024_11_05) && is_in(frame.method, Revision::V2025_11_25)
        }
    };
    if !is_known || !may_send(caller, frame.method) {
        return None;
    }
    match frame.message.kind {
        // All that a client may have run as a task is a call of a tool.
        Kind::Result if frame.method == Method::TasksResult && from == Role::Server => {
            Some((&tools::TASK_PAYLOAD, &tools::TOOL_RESULT_CONTENT))
        }
        Kind::Result => result(frame),
        Kind::Request | Kind::Notification => call(frame.method),
        _ => None,
    }
}

/// Whether a stateless result is what its method returns in the end. One without a kind is taken for it.
fn is_complete(walk: &Walk<'_>, frame: &Frame<'_>) -> bool {
    if !frame.is_stateless || frame.message.kind != Kind::Result {
        return true;
    }
    match walk.root().get("resultType") {
        Some(kind) => kind.is("complete"),
        // What asks for input, or stands for a task, lacks its kind and nothing else.
        None => ["inputRequests", "taskId"]
            .iter()
            .all(|name| walk.root().get(name).is_none()),
    }
}

fn has_no_params(walk: &mut Walk<'_>) {
    let mut members = walk.root().members();
    if let Some((name, _)) = members.find(|(name, _)| !name.is("_meta")) {
        walk.flaw(&PING_NO_PARAMS, name, || {
            format!(
                "the ping has params of its own, {}; nobody reads them",
                shape::shown(name)
            )
        });
    }
}

fn is_one_sentence(walk: &mut Walk<'_>) {
    walk.saw(When::ERROR);
    let Some(message) = walk.root().get("message") else {
        return;
    };
    let has_escape = message.raw().contains(&b'\\');
    let is_long = has_escape
        && message
            .as_text()
            .is_some_and(|text| text.trim_end().contains(['\n', '\r']));
    if is_long {
        walk.flaw(&ERROR_MESSAGE_SENTENCE, message, || {
            "the message of the error has several lines; it is one sentence, and the rest is `data`"
                .to_string()
        });
    }
}
