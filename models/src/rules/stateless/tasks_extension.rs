//! Tasks as an extension: the server decides whether a call runs as one, and the client polls.

use mcpsim_traces::event::Role;
use mcpsim_traces::judge::Severity;
use mcpsim_traces::message::{Kind, Method};
use mcpsim_traces::tape::Value;

use crate::deep::tasks_ext::EXTENSION;
use crate::deep::{Deep, Frame, Topic};
use crate::ledger::{Cx, bit};
use crate::part::Part;
use crate::rules::{Basis, Category, Needs, Rule, STATELESS_MUST, STATELESS_NOTE, Side, When};

mod client;
mod form;
mod server;

/// What the rows of this category have in common.
const TASK: Rule = Rule {
    category: Category::TasksExtension,
    side: Side::Server,
    needs: Needs::Causal,
    ..STATELESS_MUST
};

pub(crate) const TASK_CAPABILITY: Rule = Rule {
    id: "task-capability",
    source: "SEP-2663 tasks-extension (Capability Negotiation)",
    says: "Only a tools/call that declares the tasks extension itself is answered with a task.",
    why: "A client that does not know the extension takes the ticket for the tool's result.",
    when: When::STATELESS_RESULT,
    ..TASK
};

pub(crate) const TASK_RESULT_SHAPE: Rule = Rule {
    id: "task-result-shape",
    basis: Basis::Schema,
    source: "SEP-2663 tasks-extension (Tasks)",
    says: "A task lies flat in the result, with `taskId`, `status`, `createdAt`, `lastUpdatedAt` and `ttlMs`.",
    why: "Typed clients reject the whole answer, and the task is lost to them.",
    needs: Needs::Frame,
    when: When::TASK,
    ..TASK
};

pub(crate) const TASK_TYPE_ELSEWHERE: Rule = Rule {
    id: "task-type-elsewhere",
    source: "SEP-2663 tasks-extension (Polymorphic Results)",
    says: "tasks/get, tasks/update and tasks/cancel are answered with a complete result.",
    why: "A client that goes by `resultType` takes the answer for a second task.",
    when: When::TASK,
    ..TASK
};

pub(crate) const TASK_METHODS_NEED_CAPABILITY: Rule = Rule {
    id: "task-methods-need-capability",
    source: "SEP-2663 tasks-extension (Protocol Errors)",
    says: "A request about tasks that does not declare the extension is refused with -32021.",
    why: "What one request may do would depend on an earlier one, which another instance never saw.",
    when: When::TASK,
    ..TASK
};

pub(crate) const TASK_DURABLE_BEFORE_REPLY: Rule = Rule {
    id: "task-durable-before-reply",
    source: "SEP-2663 tasks-extension (Task Creation)",
    says: "A task can be fetched as soon as the client knows of it.",
    why: "The client's first poll finds nothing, and the call counts as lost while its work goes on.",
    when: When::error(Method::TasksGet),
    ..TASK
};

pub(crate) const TASK_STATUS_PAYLOAD: Rule = Rule {
    id: "task-status-payload",
    source: "SEP-2663 tasks-extension (Task Status)",
    says: "A completed task shows its `result`, a failed one its `error`, one that waits for input its `inputRequests`.",
    why: "There is no other place to get them from: the task is over and its outcome unknown.",
    needs: Needs::Frame,
    when: When::TASK,
    ..TASK
};

pub(crate) const TASK_FAILED_PROTOCOL_ONLY: Rule = Rule {
    id: "task-failed-protocol-only",
    source: "SEP-2663 tasks-extension (Task Execution Errors)",
    says: "A failed task's `error` is a JSON-RPC error; a tool's own failure is a completed task with `isError`.",
    why: "The client raises it as an error of the protocol, and the model never sees what the tool said.",
    needs: Needs::Frame,
    when: When::TASK,
    ..TASK
};

pub(crate) const TASK_EXT_TERMINAL_FINAL: Rule = Rule {
    id: "task-ext-terminal-final",
    basis: Basis::Derived,
    source: "SEP-2663 tasks-extension (Task Status)",
    says: "A task that is completed, failed or cancelled stays so.",
    why: "The client stopped polling when it saw the end; whatever comes later it never sees.",
    needs: Needs::SameDirection,
    when: When::TASK,
    ..TASK
};

pub(crate) const TASK_INPUT_KEY_UNIQUE: Rule = Rule {
    id: "task-input-key-unique",
    source: "SEP-2663 tasks-extension (Task Update Requests)",
    says: "A key of `inputRequests` stands for one request as long as the task lives.",
    why: "Clients remember the keys that they answered, and skip the new question.",
    needs: Needs::SameDirection,
    when: When::TASK,
    ..TASK
};

pub(crate) const TASK_UPDATE_ACK: Rule = Rule {
    id: "task-update-ack",
    source: "SEP-2663 tasks-extension (Task Update Requests)",
    says: "tasks/update and tasks/cancel are acknowledged with an empty result.",
    why: "What the acknowledgement says of the task is out of date when it is read; only tasks/get tells.",
    when: When::TASK,
    ..TASK
};

pub(crate) const TASK_UNKNOWN_ID: Rule = Rule {
    id: "task-unknown-id",
    source: "SEP-2663 tasks-extension (Protocol Errors)",
    says: "A task id that the server does not know is refused with -32602.",
    why: "Clients tell a task that is gone from a server in trouble by the code.",
    when: When::TASK,
    ..TASK
};

pub(crate) const TASK_CANCEL_METHOD: Rule = Rule {
    id: "task-cancel-method",
    severity: Severity::Warning,
    side: Side::Client,
    source: "SEP-2663 tasks-extension (Task Cancellation)",
    says: "A task is cancelled with tasks/cancel.",
    why: "The call was answered when its task began: a cancelled notification finds nothing, and the task runs on.",
    tier: 2,
    needs: Needs::OffenderLog,
    when: When::CANCEL,
    ..TASK
};

pub(crate) const TASK_NO_PROGRESS: Rule = Rule {
    id: "task-no-progress",
    source: "SEP-2663 tasks-extension (Task Status Notifications)",
    says: "Once a call runs as a task there is no more progress for it.",
    why: "The token ended with the answer to the call: nobody listens any more.",
    needs: Needs::SameDirection,
    when: When::PROGRESS,
    ..TASK
};

pub(crate) const TASK_NOTIFICATIONS_OPTED_IN: Rule = Rule {
    id: "task-notifications-opted-in",
    severity: Severity::Warning,
    source: "SEP-2663 tasks-extension (Task Status Notifications)",
    says: "News of a task comes on a subscription that asked for it, and says which.",
    why: "A client cannot tell who wants the news, and a gateway cannot tell where to send it.",
    tier: 2,
    when: When::call(Method::TasksNotification),
    ..TASK
};

pub(crate) const TASK_EXT_ID_UNIQUE: Rule = Rule {
    id: "task-ext-id-unique",
    basis: Basis::Derived,
    source: "SEP-2663 tasks-extension (Specification)",
    says: "Each task has an id of its own.",
    why: "Two calls share one result, and one of the two callers gets the other's.",
    needs: Needs::SameDirection,
    when: When::TASK,
    ..TASK
};

pub(crate) const TASK_UPDATE_KNOWN_KEYS: Rule = Rule {
    id: "task-update-known-keys",
    side: Side::Client,
    source: "SEP-2663 tasks-extension (Task Update Requests)",
    says: "tasks/update answers what the task asks.",
    why: "The server ignores the answer, and the task goes on waiting for the right one.",
    when: When::call(Method::TasksUpdate),
    ..TASK
};

pub(crate) const TASK_EXT_POLL_INTERVAL: Rule = Rule {
    id: "task-ext-poll-interval",
    category: Category::TasksExtension,
    side: Side::Client,
    source: "SEP-2663 tasks-extension (Task Polling)",
    says: "A task is not polled more often than its `pollIntervalMs` suggests.",
    why: "The server may limit the rate, and polling in a tight loop loads it for nothing.",
    needs: Needs::Time,
    when: When::call(Method::TasksGet),
    ..STATELESS_NOTE
};

/// The rows of this category.
pub(crate) const ROWS: &[Rule] = &[
    TASK_CAPABILITY,
    TASK_RESULT_SHAPE,
    TASK_TYPE_ELSEWHERE,
    TASK_METHODS_NEED_CAPABILITY,
    TASK_DURABLE_BEFORE_REPLY,
    TASK_STATUS_PAYLOAD,
    TASK_FAILED_PROTOCOL_ONLY,
    TASK_EXT_TERMINAL_FINAL,
    TASK_INPUT_KEY_UNIQUE,
    TASK_UPDATE_ACK,
    TASK_UNKNOWN_ID,
    TASK_CANCEL_METHOD,
    TASK_NO_PROGRESS,
    TASK_NOTIFICATIONS_OPTED_IN,
    TASK_EXT_ID_UNIQUE,
    TASK_UPDATE_KNOWN_KEYS,
    TASK_EXT_POLL_INTERVAL,
];

/// For servers that run calls as tasks, and clients that follow them.
pub(crate) const TOPIC: Topic = Topic { by, toward };

fn by(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    if !frame.is_stateless {
        return;
    }
    match (part.role, frame.message.kind) {
        (Role::Server, Kind::Result | Kind::Error) => server::answers(part, deep, cx, frame),
        (Role::Server, Kind::Notification) => server::announces(part, deep, cx, frame),
        (Role::Client, Kind::Request) => client::asks(part, deep, cx, frame),
        _ => {}
    }
}

fn toward(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    if !frame.is_stateless {
        return;
    }
    match part.role {
        Role::Server => server::hears(deep, frame),
        Role::Client => client::hears(deep, cx, frame),
    }
}

/// Notes that tasks are in play.
fn saw_task(cx: &mut Cx<'_>) {
    cx.ledger.saw(bit(When::TASK));
}

/// Whether a discover result has the extension.
fn lists_extension(frame: &Frame<'_>) -> Option<bool> {
    // Of what is no object nobody can tell what would be in it.
    let capabilities = frame.payload?.get("capabilities");
    let capabilities = capabilities.filter(|all| all.is_object())?;
    match capabilities.get("extensions") {
        None => Some(false),
        Some(all) => all.is_object().then(|| all.get(EXTENSION).is_some()),
    }
}

/// Whether a result says that a task was created.
fn is_task(result: Value<'_>) -> bool {
    result.get("resultType").is_some_and(|kind| kind.is("task"))
}
