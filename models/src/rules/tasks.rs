//! Tasks of 2025-11-25: requests that are answered twice.

use mcpsim_traces::judge::Severity;
use mcpsim_traces::message::{Kind, Method, Revision};
use mcpsim_traces::tape::Value;

use crate::deep::tasks::Declared;
use crate::deep::{Deep, Frame, Topic};
use crate::ledger::Cx;
use crate::part::Part;
use crate::rules::asks::in_session;
use crate::rules::{Basis, Category, Level, MUST, Needs, Rule, Side, When};

mod answer;
mod ask;
mod form;
mod life;
mod progress;

/// What the rows of this category have in common.
const TASK: Rule = Rule {
    category: Category::Tasks,
    from: Revision::V2025_11_25,
    ..MUST
};

pub(crate) const TASK_UNDECLARED: Rule = Rule {
    id: "task-undeclared",
    level: Level::Should,
    basis: Basis::Text,
    severity: Severity::Warning,
    side: Side::Sender,
    source: "2025-11-25 basic/utilities/tasks (Capability Negotiation)",
    says: "A server asks for a sampling or an elicitation as a task only where the client declared that it runs these as tasks.",
    why: "The client ignores the wish and answers once; a server that waits for a task never learns what was said.",
    tier: 2,
    needs: Needs::Causal,
    when: When::TASK,
    ..TASK
};

pub(crate) const TASK_TOOLS_UNDECLARED: Rule = Rule {
    id: "task-tools-undeclared",
    basis: Basis::Text,
    side: Side::Client,
    source: "2025-11-25 basic/utilities/tasks (Tool-Level Negotiation)",
    says: "A client calls tools as tasks only where the server declared `tasks.requests.tools.call`.",
    why: "The server runs the call at once and answers with the tool's result, which the client takes for a broken task.",
    needs: Needs::Causal,
    when: When::TASK,
    ..TASK
};

pub(crate) const TASK_TOOL_FORBIDDEN: Rule = Rule {
    id: "task-tool-forbidden",
    basis: Basis::Text,
    side: Side::Client,
    source: "2025-11-25 basic/utilities/tasks (Tool-Level Negotiation)",
    says: "A tool whose listing has no `taskSupport`, or `forbidden`, is not called as a task.",
    why: "The tool cannot run detached: the call is refused, or its result comes where a task was expected.",
    needs: Needs::OffenderLog,
    when: When::TASK,
    ..TASK
};

pub(crate) const TASK_TOOL_REQUIRED: Rule = Rule {
    id: "task-tool-required",
    basis: Basis::Text,
    side: Side::Client,
    source: "2025-11-25 basic/utilities/tasks (Tool-Level Negotiation)",
    says: "A tool that is listed with `taskSupport` `required` is called as a task.",
    why: "The server refuses the plain call; to the user the tool looks broken.",
    needs: Needs::OffenderLog,
    when: When::call(Method::ToolsCall),
    ..TASK
};

pub(crate) const TASK_TOOL_REQUIRED_ERROR: Rule = Rule {
    id: "task-tool-required-error",
    basis: Basis::Text,
    side: Side::Server,
    source: "2025-11-25 basic/utilities/tasks (Tool-Level Negotiation)",
    says: "A plain call of a tool that has to run as a task is refused with -32601.",
    why: "A client learns from that very code that it has to ask for a task; a result hides that, and the next call may take hours.",
    needs: Needs::Causal,
    when: When::call(Method::ToolsCall),
    ..TASK
};

pub(crate) const TASK_UNDECLARED_RECEIVER_PLAIN: Rule = Rule {
    id: "task-undeclared-receiver-plain",
    basis: Basis::Text,
    side: Side::Receiver,
    source: "2025-11-25 basic/utilities/tasks (Task Support and Handling)",
    says: "Who did not declare tasks for a kind of request ignores the wish for one and answers with the result itself.",
    why: "The other side was told that there would be no task, and has nothing that polls for one.",
    needs: Needs::Causal,
    when: When::TASK,
    ..TASK
};

pub(crate) const TASK_CREATE_RESULT: Rule = Rule {
    id: "task-create-result",
    basis: Basis::Text,
    side: Side::Receiver,
    source: "2025-11-25 basic/utilities/tasks (Result Retrieval)",
    says: "Who declared tasks for a kind of request, and takes up one that asks for a task, answers with the task.",
    why: "The requestor looks for a task id, finds none, and loses the result.",
    needs: Needs::Causal,
    when: When::TASK,
    ..TASK
};

pub(crate) const TASK_CREATE_UNASKED: Rule = Rule {
    id: "task-create-unasked",
    basis: Basis::Derived,
    side: Side::Receiver,
    source: "2025-11-25 basic/utilities/tasks (Creating Tasks)",
    says: "A task is created only where the request asked for one.",
    why: "The requestor waits for a result and gets a ticket that it does not know how to use.",
    needs: Needs::Causal,
    when: When::TASK,
    ..TASK
};

pub(crate) const TASK_OBJECT_SHAPE: Rule = Rule {
    id: "task-object-shape",
    side: Side::Receiver,
    source: "2025-11-25 schema.ts (Task)",
    says: "A task has `taskId`, `status`, `createdAt`, `lastUpdatedAt` and `ttl`, each of its type; `ttl` is there even when it is null.",
    why: "Typed clients reject the whole answer, and the task is lost to them.",
    needs: Needs::Frame,
    when: When::TASK,
    ..TASK
};

pub(crate) const TASK_STATUS_VALUE: Rule = Rule {
    id: "task-status-value",
    side: Side::Receiver,
    source: "2025-11-25 schema.ts (TaskStatus)",
    says: "A task is `working`, `input_required`, `completed`, `failed` or `cancelled`.",
    why: "A poller that does not know the word either fails or polls for ever.",
    needs: Needs::Frame,
    when: When::TASK,
    ..TASK
};

pub(crate) const TASK_INITIAL_STATUS: Rule = Rule {
    id: "task-initial-status",
    basis: Basis::Text,
    severity: Severity::Warning,
    side: Side::Receiver,
    source: "2025-11-25 basic/utilities/tasks (Task Status Lifecycle)",
    says: "A task begins as `working`.",
    why: "Clients start to poll on `working`; what begins elsewhere may never be looked at. A very fast task may have \
        ended by the time the answer is written.",
    tier: 2,
    needs: Needs::Frame,
    when: When::TASK,
    ..TASK
};

pub(crate) const TASK_TERMINAL_FINAL: Rule = Rule {
    id: "task-terminal-final",
    basis: Basis::Text,
    side: Side::Receiver,
    source: "2025-11-25 basic/utilities/tasks (Task Status Lifecycle)",
    says: "A task that is completed, failed or cancelled stays so.",
    why: "The requestor stopped polling when it saw the end; whatever comes later it never sees.",
    needs: Needs::SameDirection,
    when: When::TASK,
    ..TASK
};

pub(crate) const TASK_ID_UNIQUE: Rule = Rule {
    id: "task-id-unique",
    basis: Basis::Text,
    side: Side::Receiver,
    source: "2025-11-25 basic/utilities/tasks (Task ID Requirements)",
    says: "Each task has an id of its own.",
    why: "One requestor polls the other's task, and takes its result.",
    needs: Needs::SameDirection,
    when: When::TASK,
    ..TASK
};

pub(crate) const TASK_ID_TYPE: Rule = Rule {
    id: "task-id-type",
    basis: Basis::Text,
    side: Side::Sender,
    source: "2025-11-25 basic/utilities/tasks (Task ID Requirements)",
    says: "A task id is a string, also where `_meta` names the task that a message belongs to.",
    why: "A number is not found in a table of strings: the task looks lost.",
    needs: Needs::Frame,
    when: When::TASK,
    ..TASK
};

pub(crate) const TASK_UNKNOWN_ERROR: Rule = Rule {
    id: "task-unknown-error",
    basis: Basis::Text,
    side: Side::Receiver,
    source: "2025-11-25 basic/utilities/tasks (Protocol Errors)",
    says: "A task id that was never issued is refused with -32602.",
    why: "A requestor that polls a task that does not exist, and hears that it is working, polls for ever.",
    needs: Needs::Causal,
    when: When::TASK,
    ..TASK
};

pub(crate) const TASK_ID_NOT_ISSUED: Rule = Rule {
    id: "task-id-not-issued",
    level: Level::Should,
    basis: Basis::Derived,
    severity: Severity::Note,
    side: Side::Sender,
    source: "2025-11-25 basic/utilities/tasks (Task ID Requirements)",
    says: "A requestor asks after tasks that it was told of.",
    why: "The id may come from an earlier session or another channel; otherwise it is made up or mixed up.",
    tier: 3,
    needs: Needs::Causal,
    when: When::TASK,
    ..TASK
};

pub(crate) const TASK_CANCEL_TERMINAL: Rule = Rule {
    id: "task-cancel-terminal",
    basis: Basis::Text,
    side: Side::Receiver,
    source: "2025-11-25 basic/utilities/tasks (Task Cancellation)",
    says: "Cancelling a task that is over is refused with -32602.",
    why: "The requestor believes that it stopped what had long taken effect.",
    needs: Needs::SameDirection,
    when: When::call(Method::TasksCancel),
    ..TASK
};

pub(crate) const TASK_CANCEL_RESULT_STATUS: Rule = Rule {
    id: "task-cancel-result-status",
    basis: Basis::Text,
    side: Side::Receiver,
    source: "2025-11-25 basic/utilities/tasks (Task Cancellation)",
    says: "A task whose cancelling succeeds is shown as cancelled in the answer.",
    why: "Nobody can tell whether the work goes on.",
    needs: Needs::Frame,
    when: When::result(Method::TasksCancel),
    ..TASK
};

pub(crate) const TASK_RESULT_BLOCKS: Rule = Rule {
    id: "task-result-blocks",
    basis: Basis::Text,
    side: Side::Receiver,
    source: "2025-11-25 basic/utilities/tasks (Result Retrieval)",
    says: "tasks/result is answered once the task is over.",
    why: "What came before the end is half a result, and the requestor takes it for the whole.",
    needs: Needs::SameDirection,
    when: When::result(Method::TasksResult),
    ..TASK
};

pub(crate) const TASK_RESULT_SAME_AS_REQUEST: Rule = Rule {
    id: "task-result-same-as-request",
    basis: Basis::Text,
    side: Side::Receiver,
    source: "2025-11-25 basic/utilities/tasks (Result Retrieval)",
    says: "tasks/result gives what the original request would have given, each time the same.",
    why: "The requestor hands it to code that expects a tool's result, a sampling or an elicitation, and that code fails.",
    needs: Needs::Causal,
    when: When::result(Method::TasksResult),
    ..TASK
};

pub(crate) const TASK_RESULT_RELATED_META: Rule = Rule {
    id: "task-result-related-meta",
    basis: Basis::Text,
    side: Side::Receiver,
    source: "2025-11-25 basic/utilities/tasks (Related Task Metadata)",
    says: "The result of tasks/result names its task in `_meta`.",
    why: "The result itself does not say which task it is of; hosts that sort by the metadata drop it.",
    needs: Needs::Frame,
    when: When::result(Method::TasksResult),
    ..TASK
};

pub(crate) const TASK_RELATED_META: Rule = Rule {
    id: "task-related-meta",
    basis: Basis::Text,
    severity: Severity::Warning,
    side: Side::Receiver,
    source: "2025-11-25 basic/utilities/tasks (Associating Task-Related Messages)",
    says: "Progress of a task names the task in `_meta`.",
    why: "Hosts that show what a task does sort messages by that key, and miss this one.",
    tier: 2,
    needs: Needs::Causal,
    when: When::PROGRESS,
    ..TASK
};

pub(crate) const TASK_RESPONSE_RELATED_META: Rule = Rule {
    id: "task-response-related-meta",
    basis: Basis::Text,
    side: Side::Receiver,
    source: "2025-11-25 basic/utilities/tasks (Associating Task-Related Messages)",
    says: "The answer to a request that names a task in `_meta` names the same task.",
    why: "A gateway that routes by the key sends the answer nowhere.",
    needs: Needs::Causal,
    when: When::META,
    ..TASK
};

pub(crate) const TASK_META_ON_TASK_OPS: Rule = Rule {
    id: "task-meta-on-task-ops",
    level: Level::Should,
    basis: Basis::Text,
    severity: Severity::Warning,
    side: Side::Both,
    source: "2025-11-25 basic/utilities/tasks (Associating Task-Related Messages)",
    says: "tasks/get, tasks/list, tasks/cancel, what answers them, tasks/result requests and status notifications do \
        without the task in `_meta`.",
    why: "The id stands there already; a second place is a second truth.",
    tier: 2,
    needs: Needs::Frame,
    when: When::TASK,
    ..TASK
};

pub(crate) const TASK_LIST_UNDECLARED: Rule = Rule {
    id: "task-list-undeclared",
    basis: Basis::Text,
    side: Side::Sender,
    source: "2025-11-25 basic/utilities/tasks (Capability Negotiation)",
    says: "tasks/list is sent only to a side that declared `tasks.list`.",
    why: "The other side said that it has none; the refusal that follows is right.",
    needs: Needs::Causal,
    when: When::call(Method::TasksList),
    ..TASK
};

pub(crate) const TASK_CANCEL_UNDECLARED: Rule = Rule {
    id: "task-cancel-undeclared",
    basis: Basis::Text,
    side: Side::Sender,
    source: "2025-11-25 basic/utilities/tasks (Capability Negotiation)",
    says: "tasks/cancel is sent only to a side that declared `tasks.cancel`.",
    why: "Tasks of that side cannot be cancelled; the refusal that follows is right.",
    needs: Needs::Causal,
    when: When::call(Method::TasksCancel),
    ..TASK
};

pub(crate) const TASK_LIST_COMPLETE: Rule = Rule {
    id: "task-list-complete",
    basis: Basis::Text,
    severity: Severity::Warning,
    side: Side::Receiver,
    source: "2025-11-25 basic/utilities/tasks (Task Listing)",
    says: "A task that tasks/get finds stands in tasks/list too.",
    why: "A client that starts again finds its tasks by listing them, and takes this one for lost.",
    tier: 2,
    needs: Needs::Causal,
    when: When::result(Method::TasksList),
    ..TASK
};

pub(crate) const TASK_LIST_CURSOR_ERROR: Rule = Rule {
    id: "task-list-cursor-error",
    basis: Basis::Text,
    severity: Severity::Warning,
    side: Side::Receiver,
    source: "2025-11-25 basic/utilities/tasks (Protocol Errors)",
    says: "A cursor of tasks/list that was never given out is refused with -32602.",
    why: "A page that answers it is not the page that was meant: tasks are skipped or come twice.",
    tier: 2,
    needs: Needs::Causal,
    when: When::call(Method::TasksList),
    ..TASK
};

pub(crate) const TASK_POLL_INTERVAL: Rule = Rule {
    id: "task-poll-interval",
    level: Level::Should,
    basis: Basis::Text,
    severity: Severity::Note,
    side: Side::Sender,
    source: "2025-11-25 basic/utilities/tasks (Getting Tasks)",
    says: "A task is not polled more often than its `pollInterval` suggests.",
    why: "Polling in a tight loop loads the side that does the work.",
    tier: 3,
    needs: Needs::Time,
    when: When::call(Method::TasksGet),
    ..TASK
};

pub(crate) const TASK_TOOL_ERROR_FAILED: Rule = Rule {
    id: "task-tool-error-failed",
    level: Level::Should,
    basis: Basis::Lowercase,
    severity: Severity::Warning,
    side: Side::Receiver,
    source: "2025-11-25 basic/utilities/tasks (Task Execution Errors)",
    says: "A task whose tool or request failed ends as failed, not as completed.",
    why: "Who looks at the status alone reports a success.",
    tier: 2,
    needs: Needs::Causal,
    when: When::result(Method::TasksResult),
    ..TASK
};

pub(crate) const TASK_TIMESTAMPS: Rule = Rule {
    id: "task-timestamps",
    basis: Basis::Text,
    side: Side::Receiver,
    source: "2025-11-25 basic/utilities/tasks (TTL and Resource Management)",
    says: "`createdAt` and `lastUpdatedAt` are times in the form of RFC 3339; `createdAt` never changes.",
    why: "When a task may be deleted is counted from them; a time that cannot be read leaves the requestor guessing.",
    needs: Needs::Frame,
    when: When::TASK,
    ..TASK
};

pub(crate) const TASK_STATUS_DIRECTION: Rule = Rule {
    id: "task-status-direction",
    basis: Basis::Derived,
    side: Side::Receiver,
    source: "2025-11-25 basic/utilities/tasks (Task Status Notification)",
    says: "The side that runs a task announces its status.",
    why: "The other side is told about its own task by somebody who cannot know.",
    needs: Needs::Causal,
    when: When::call(Method::TasksStatus),
    ..TASK
};

pub(crate) const TASK_INPUT_REQUIRED_META: Rule = Rule {
    id: "task-input-required-meta",
    basis: Basis::Text,
    severity: Severity::Warning,
    side: Side::Receiver,
    source: "2025-11-25 basic/utilities/tasks (Input Required Status)",
    says: "A request for input that a task waits for names the task in `_meta`.",
    why: "A client with several tasks cannot tell its user which one asks.",
    tier: 2,
    needs: Needs::OffenderLog,
    when: When::SERVER_CALL,
    ..TASK
};

pub(crate) const TASK_PARAMS_SHAPE: Rule = Rule {
    id: "task-params-shape",
    side: Side::Sender,
    source: "2025-11-25 schema.ts (TaskMetadata)",
    says: "`params.task` is an object; a `ttl` in it is a whole number of milliseconds.",
    why: "Receivers that look for the member only, and those that read it, disagree on whether a task is wanted.",
    needs: Needs::Frame,
    when: When::TASK,
    ..TASK
};

pub(crate) const TASK_OPS_UNDECLARED: Rule = Rule {
    id: "task-ops-undeclared",
    basis: Basis::Text,
    side: Side::Sender,
    source: "2025-11-25 basic/lifecycle (Operation)",
    says: "tasks/get and tasks/result are sent only to a side that declared `tasks`.",
    why: "The other side said that it runs none; the refusal that follows is right.",
    needs: Needs::Causal,
    when: When::TASK,
    ..TASK
};

pub(crate) const TASK_TOOL_FORBIDDEN_ERROR: Rule = Rule {
    id: "task-tool-forbidden-error",
    level: Level::Should,
    basis: Basis::Text,
    severity: Severity::Warning,
    side: Side::Server,
    source: "2025-11-25 basic/utilities/tasks (Tool-Level Negotiation)",
    says: "A call as a task of a tool that does not run as one is refused with -32601.",
    why: "Without the refusal the client never learns that its table of tools is wrong.",
    tier: 2,
    needs: Needs::Causal,
    when: When::TASK,
    ..TASK
};

pub(crate) const TASK_FAILED_MESSAGE: Rule = Rule {
    id: "task-failed-message",
    level: Level::Should,
    basis: Basis::Text,
    severity: Severity::Warning,
    side: Side::Receiver,
    source: "2025-11-25 basic/utilities/tasks (Task Execution Errors)",
    says: "tasks/get says in `statusMessage` why a task failed.",
    why: "All that the user sees is that it failed.",
    tier: 2,
    needs: Needs::Frame,
    when: When::result(Method::TasksGet),
    ..TASK
};

pub(crate) const TASK_LIST_SHAPE: Rule = Rule {
    id: "task-list-shape",
    side: Side::Receiver,
    source: "2025-11-25 schema.ts (ListTasksResult)",
    says: "The result of tasks/list has an array `tasks`.",
    why: "Typed clients reject the answer, and with it every task of the page.",
    needs: Needs::Frame,
    when: When::result(Method::TasksList),
    ..TASK
};

pub(crate) const TASK_INPUT_REQUIRED_RESULT: Rule = Rule {
    id: "task-input-required-result",
    level: Level::Should,
    basis: Basis::Text,
    severity: Severity::Note,
    side: Side::Sender,
    source: "2025-11-25 basic/utilities/tasks (Input Required Status)",
    says: "A requestor that sees `input_required` calls tasks/result, so that what is asked can reach it.",
    why: "Over http the requests for input may have no stream to come on, and the task waits for ever.",
    tier: 3,
    needs: Needs::Time,
    when: When::TASK,
    ..TASK
};

pub(crate) const TASK_GET_NO_STREAM: Rule = Rule {
    id: "task-get-no-stream",
    level: Level::Should,
    basis: Basis::Text,
    severity: Severity::Note,
    side: Side::Server,
    source: "2025-11-25 basic/utilities/tasks (Input Required Status)",
    says: "tasks/get is answered as plain JSON where that is possible, not with a stream of events.",
    why: "Who polls wants an answer and no stream; streams that stay open after it pile up.",
    tier: 3,
    needs: Needs::Transport,
    when: When::call(Method::TasksGet),
    ..TASK
};

/// The rows of this category.
pub(crate) const ROWS: &[Rule] = &[
    TASK_UNDECLARED,
    TASK_TOOLS_UNDECLARED,
    TASK_TOOL_FORBIDDEN,
    TASK_TOOL_REQUIRED,
    TASK_TOOL_REQUIRED_ERROR,
    TASK_UNDECLARED_RECEIVER_PLAIN,
    TASK_CREATE_RESULT,
    TASK_CREATE_UNASKED,
    TASK_OBJECT_SHAPE,
    TASK_STATUS_VALUE,
    TASK_INITIAL_STATUS,
    TASK_TERMINAL_FINAL,
    TASK_ID_UNIQUE,
    TASK_ID_TYPE,
    TASK_UNKNOWN_ERROR,
    TASK_ID_NOT_ISSUED,
    TASK_CANCEL_TERMINAL,
    TASK_CANCEL_RESULT_STATUS,
    TASK_RESULT_BLOCKS,
    TASK_RESULT_SAME_AS_REQUEST,
    TASK_RESULT_RELATED_META,
    TASK_RELATED_META,
    TASK_RESPONSE_RELATED_META,
    TASK_META_ON_TASK_OPS,
    TASK_LIST_UNDECLARED,
    TASK_CANCEL_UNDECLARED,
    TASK_LIST_COMPLETE,
    TASK_LIST_CURSOR_ERROR,
    TASK_POLL_INTERVAL,
    TASK_TOOL_ERROR_FAILED,
    TASK_TIMESTAMPS,
    TASK_STATUS_DIRECTION,
    TASK_INPUT_REQUIRED_META,
    TASK_PARAMS_SHAPE,
    TASK_OPS_UNDECLARED,
    TASK_TOOL_FORBIDDEN_ERROR,
    TASK_FAILED_MESSAGE,
    TASK_LIST_SHAPE,
    TASK_INPUT_REQUIRED_RESULT,
    TASK_GET_NO_STREAM,
];

/// For whoever runs tasks, and whoever asks for them.
pub(crate) const TOPIC: Topic = Topic { by, toward };

fn by(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    if frame.is_stateless {
        return;
    }
    match (frame.method, frame.message.kind) {
        (Method::Initialize, Kind::Request | Kind::Result) => {
            deep.tasks.mine = Declared::of(frame.payload);
            return;
        }
        (Method::ToolsList, Kind::Result) if deep.tasks.mine.has(Method::ToolsCall) => {
            deep.tasks.tools.read(part, frame, cx.frame);
        }
        (Method::ToolsListChanged, _) => deep.tasks.tools.changed(),
        _ => {}
    }
    let frame = &match frame.message.kind {
        Kind::Result | Kind::Error => in_session(part, frame),
        _ => Frame { ..*frame },
    };
    if frame.revision != Some(Revision::V2025_11_25) {
        return;
    }
    form::by(part, deep, cx, frame);
    match frame.message.kind {
        Kind::Request => ask::by(part, deep, cx, frame),
        Kind::Result | Kind::Error => answer::by(part, deep, cx, frame),
        _ => life::announced_by(part, &mut deep.tasks, cx, frame),
    }
}

fn toward(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    if frame.is_stateless {
        return;
    }
    match (frame.method, frame.message.kind) {
        (Method::Initialize, Kind::Request | Kind::Result) => {
            deep.tasks.theirs = Declared::of(frame.payload);
        }
        (Method::ToolsList, Kind::Result) if deep.tasks.theirs.has(Method::ToolsCall) => {
            deep.tasks.tools.read(part, frame, cx.frame);
        }
        _ => life::toward(part, deep, cx, frame),
    }
}

/// Whether a result is the answer that creates a task, and no result of the method itself.
pub(crate) fn creates_task(result: Value<'_>) -> bool {
    let is_task = result.get("task").is_some_and(|task| {
        task.is_object() && task.get("taskId").is_some() && task.get("status").is_some()
    });
    is_task && result.get("content").is_none() && result.get("action").is_none()
}

/// Whether a result has nothing of what one of that method has to have; what it lacks in part is a matter
/// of the method's own rules.
pub(crate) fn is_of_another_kind(method: Method, result: Value<'_>) -> bool {
    let names: &[&str] = match method {
        Method::ToolsCall => &["content"],
        Method::SamplingCreateMessage => &["role", "content", "model"],
        Method::ElicitationCreate => &["action"],
        _ => return false,
    };
    names.iter().all(|name| result.get(name).is_none())
}
