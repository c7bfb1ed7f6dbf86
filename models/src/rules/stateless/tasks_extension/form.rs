//! What a task of the extension looks like in a frame.

use mcpsim_traces::message::Kind;
use mcpsim_traces::tape::Value;

use super::{TASK_FAILED_PROTOCOL_ONLY, TASK_RESULT_SHAPE, TASK_STATUS_PAYLOAD};
use crate::deep::{Deep, Frame};
use crate::ledger::Cx;
use crate::part::Part;
use crate::rules::Rule;
use crate::shape::{Def, Walk, What, optional, required};

const STATUSES: What = What::OneOf(&[
    "working",
    "input_required",
    "completed",
    "failed",
    "cancelled",
]);

const NEW: Def = Def::new(
    "a task",
    &[
        required("taskId", What::Text),
        required("status", STATUSES),
        required("createdAt", What::Text),
        required("lastUpdatedAt", What::Text),
        required("ttlMs", What::OrNull(&What::Integer)),
        optional("pollIntervalMs", What::Integer),
        optional("statusMessage", What::Text),
    ],
);

static DETAILED: Def = NEW.also(payload);

/// What belongs to the status.
fn payload<'a>(walk: &mut Walk<'a>, task: Value<'a>, _: &'static Rule) {
    let Some(status) = task.get("status") else {
        return;
    };
    let (name, what) = match () {
        () if status.is("completed") => ("result", "an object"),
        () if status.is("input_required") => ("inputRequests", "an object"),
        () if status.is("failed") => ("error", "the JSON-RPC error"),
        () => return,
    };
    match task.get(name) {
        Some(error) if name == "error" => failure(walk, error),
        Some(value) if value.is_object() => {}
        found => walk.flaw(&TASK_STATUS_PAYLOAD, found.unwrap_or(status), || {
            let status = String::from_utf8_lossy(status.raw()).into_owned();
            format!("the task is {status}, and its `{name}`, {what}, is not there")
        }),
    }
}

fn failure<'a>(walk: &mut Walk<'a>, error: Value<'a>) {
    let is_error = error.get("code").is_some_and(Value::is_integer)
        && error.get("message").is_some_and(Value::is_text);
    if !is_error {
        walk.flaw(&TASK_FAILED_PROTOCOL_ONLY, error, || {
            "the failed task's `error` is no JSON-RPC error; what a tool itself reports completes its task"
                .to_string()
        });
    }
}

/// The form of an answer that creates a task.
pub(super) fn created(part: &Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    if !is_nested(part, cx, frame) {
        deep.odd_tasks
            .judge(part, cx, frame, &NEW, &TASK_RESULT_SHAPE);
    }
}

/// The form of a task that is shown, with what belongs to its status.
pub(super) fn shown(part: &Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    if is_nested(part, cx, frame) {
        return;
    }
    let asked = frame.asked.map(|asked| asked.subject);
    let id = frame.payload.and_then(|task| task.get("taskId"));
    if let (Kind::Result, Some(asked), Some(id)) = (frame.message.kind, asked, id)
        && asked.is_present()
        && id.is_text()
        && id.key() != asked
    {
        let text = "the result is about another task than was asked for".to_string();
        return part.broken_value(cx, &TASK_RESULT_SHAPE, id, text);
    }
    deep.odd_tasks
        .judge(part, cx, frame, &DETAILED, &TASK_RESULT_SHAPE);
}

/// Whether the task lies under `task`, as it did in 2025-11-25.
fn is_nested(part: &Part, cx: &mut Cx<'_>, frame: &Frame<'_>) -> bool {
    let nested = frame
        .payload
        .filter(|task| task.get("taskId").is_none())
        .and_then(|task| task.get("task"));
    let Some(nested) = nested.filter(|nested| nested.is_object()) else {
        return false;
    };
    let text = "the task lies under `task`; it lies flat in the result".to_string();
    part.broken_value(cx, &TASK_RESULT_SHAPE, nested, text);
    true
}
