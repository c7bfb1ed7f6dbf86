//! What frames about tasks look like: the task itself, the wish for one, and the metadata that names one.

use std::cmp::Ordering;

use mcpsim_traces::judge::{Severity, Verdict};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Condition, Kind, Method};
use mcpsim_traces::tape::Value;

use super::{
    TASK_ID_TYPE, TASK_INITIAL_STATUS, TASK_LIST_SHAPE, TASK_META_ON_TASK_OPS, TASK_OBJECT_SHAPE,
    TASK_PARAMS_SHAPE, TASK_RESPONSE_RELATED_META, TASK_RESULT_RELATED_META, TASK_STATUS_VALUE,
    TASK_TIMESTAMPS, creates_task,
};
use crate::deep::instant::{self, Written};
use crate::deep::tasks::{RELATED, is_augmentable, text_key};
use crate::deep::{Asked, Deep, Frame};
use crate::ledger::{Cx, bit};
use crate::part::Part;
use crate::rules::payload::pagination::NEXT_CURSOR;
use crate::rules::{Rule, When};
use crate::shape::{self, Def, Form, Ill, Walk, What, optional, required};

static TIME: Form = Form {
    name: "a time of RFC 3339",
    rule: &TASK_TIMESTAMPS,
    flaw: time_flaw,
};

static TASK: Def = Def::new(
    "a task",
    &[
        required("taskId", What::Text).rule(&TASK_ID_TYPE),
        required(
            "status",
            What::OneOf(&[
                "working",
                "input_required",
                "completed",
                "failed",
                "cancelled",
            ]),
        )
        .rule(&TASK_STATUS_VALUE),
        required("createdAt", What::Form(&TIME)),
        required("lastUpdatedAt", What::Form(&TIME)),
        required("ttl", What::OrNull(&What::Integer)),
        optional("pollInterval", What::Integer),
        optional("statusMessage", What::Text),
    ],
)
.rule(&TASK_OBJECT_SHAPE)
.also(updated_after_created);

static CREATED: Def = Def::new(
    "an answer that creates a task",
    &[required("task", What::Def(&TASK))],
);

static LIST: Def = Def::new(
    "a result of tasks/list",
    &[
        required("tasks", What::ArrayOf(&What::Def(&TASK))),
        NEXT_CURSOR,
    ],
)
.rule(&TASK_LIST_SHAPE);

/// What follows needs a string.
static NAMED: Def = Def::new(
    "what is asked of a task",
    &[optional("taskId", What::Text)
        .rule(&TASK_ID_TYPE)
        .null_is_worse()],
);

static WISH: Def = Def::new(
    "the wish for a task",
    &[optional("ttl", What::Integer).null_is_worse()],
)
.rule(&TASK_PARAMS_SHAPE);

static AUGMENTED: Def = Def::new(
    "a request for a task",
    &[optional("task", What::Def(&WISH)).null_is_worse()],
);

fn time_flaw(value: Value<'_>) -> Option<Ill> {
    match instant::read(&value.as_bytes()?) {
        Written::Rfc3339(_) => None,
        Written::OtherIso => Some(Ill {
            why: "another form of ISO 8601 stands there".into(),
            severity: Severity::Warning,
        }),
        Written::NoDay => Some(Ill {
            why: "there is no such day".into(),
            severity: Severity::Error,
        }),
        Written::No => Some(Ill {
            why: "it is none of ISO 8601".into(),
            severity: Severity::Error,
        }),
    }
}

/// The order of the two times is inferred: no text states it.
fn updated_after_created<'a>(walk: &mut Walk<'a>, task: Value<'a>, _: &'static Rule) {
    let time = |name: &str| {
        let value = task.get(name)?;
        Some((value, instant::rfc3339(&value.as_bytes()?)?))
    };
    let (Some((_, born)), Some((value, updated))) = (time("createdAt"), time("lastUpdatedAt"))
    else {
        return;
    };
    if updated.order(born) == Ordering::Less {
        walk.flaw_at(&TASK_TIMESTAMPS, Severity::Warning, value, || {
            "the task was updated before it was created".to_string()
        });
    }
}

/// The forms of a frame that the party sends.
pub(super) fn by(part: &Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    match (frame.message.kind, frame.method) {
        (Kind::Result, Method::TasksGet | Method::TasksCancel)
        | (Kind::Notification, Method::TasksStatus) => {
            if let Some(id) = other_task(frame) {
                let text = "the result is about another task than was asked for".to_string();
                part.broken_value(cx, &TASK_OBJECT_SHAPE, id, text);
            } else {
                deep.odd_tasks
                    .judge(part, cx, frame, &TASK, &TASK_OBJECT_SHAPE);
            }
        }
        (Kind::Result, Method::TasksList) => {
            deep.odd_tasks
                .judge(part, cx, frame, &LIST, &TASK_LIST_SHAPE);
        }
        (Kind::Result, method) if is_augmentable(method) => created(part, deep, cx, frame),
        (Kind::Request, Method::TasksGet | Method::TasksResult | Method::TasksCancel)
            if frame.payload.is_some() =>
        {
            shape::judge(part, cx, frame, &NAMED, &TASK_ID_TYPE);
        }
        (Kind::Request, method) if frame.message.has(Condition::TaskAsked) => {
            wish(part, cx, frame, method);
        }
        _ => {}
    }
    metadata(part, cx, frame);
}

/// The `taskId` of a result that shows a task, where another one was asked for.
fn other_task<'a>(frame: &Frame<'a>) -> Option<Value<'a>> {
    let asked = frame.asked.map(|asked| asked.subject)?;
    let id = frame.payload?.get("taskId")?;
    let is_other = asked.is_present() && id.is_text() && id.key() != asked;
    is_other.then_some(id)
}

fn created(part: &Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let is_wanted = frame.asked.is_some_and(|asked| asked.wants_task);
    let task = frame.payload.and_then(|result| result.get("task"));
    let Some(task) = task.filter(|task| is_wanted && task.is_object()) else {
        return;
    };
    cx.ledger.saw(bit(When::TASK));
    deep.odd_tasks
        .judge(part, cx, frame, &CREATED, &TASK_OBJECT_SHAPE);
    let is_begun = |status: Value<'_>| {
        !status.is_one_of(&["input_required", "completed", "failed", "cancelled"])
    };
    if let Some(status) = task.get("status").filter(|status| !is_begun(*status)) {
        let text = "the new task is not `working`, as every task begins".to_string();
        part.broken_value(cx, &TASK_INITIAL_STATUS, status, text);
    }
}

/// A request that asks to be run as a task.
fn wish(part: &Part, cx: &mut Cx<'_>, frame: &Frame<'_>, method: Method) {
    cx.ledger.saw(bit(When::TASK));
    if is_augmentable(method) {
        return shape::judge(part, cx, frame, &AUGMENTED, &TASK_PARAMS_SHAPE);
    }
    let task = frame.payload.and_then(|params| params.get("task"));
    let (Some(task), false) = (task, method == Method::Unknown) else {
        return;
    };
    let text = format!(
        "{} cannot be run as a task, so its `task` is ignored",
        method.words()
    );
    let frames = [cx.frame];
    part.case(
        cx,
        &TASK_PARAMS_SHAPE,
        Verdict::Broken,
        Some(Severity::Note),
        &frames,
        Some(task),
        text,
    );
}

/// The metadata that names a task.
fn metadata(part: &Part, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let Some(payload) = frame.payload.filter(|_| frame.message.kind != Kind::Error) else {
        return;
    };
    let meta = payload.get("_meta");
    if meta.is_some_and(|meta| !meta.is_object()) {
        return;
    }
    let related = meta.and_then(|meta| meta.get(RELATED));
    if related.is_some() {
        cx.ledger.saw(bit(When::META) | bit(When::TASK));
        if let Some(related) = related.filter(|_| is_own_place(frame)) {
            let text = format!(
                "{} names its task in itself, and again in `_meta`",
                frame.method.words()
            );
            return part.broken_value(cx, &TASK_META_ON_TASK_OPS, related, text);
        }
    }
    let id = text_key(related.and_then(|related| related.get("taskId")));
    if let Some(related) = related.filter(|_| !id.is_present()) {
        let text = format!("`{RELATED}` is no object with a string `taskId`");
        return part.broken_value(cx, &TASK_ID_TYPE, related, text);
    }
    if let (Kind::Result, Some(asked)) = (frame.message.kind, frame.asked) {
        answered(part, cx, asked, payload, related, id);
    }
}

/// Whether the frame says elsewhere which task it is about, and does without the metadata.
fn is_own_place(frame: &Frame<'_>) -> bool {
    match frame.method {
        Method::TasksGet | Method::TasksList | Method::TasksCancel | Method::TasksStatus => true,
        Method::TasksResult => frame.message.kind == Kind::Request,
        _ => false,
    }
}

/// What a result has to name: the task of the parameter, or that of the request's metadata.
fn answered(
    part: &Part,
    cx: &mut Cx<'_>,
    asked: &Asked,
    result: Value<'_>,
    related: Option<Value<'_>>,
    id: Key,
) {
    let (rule, want, whose) = match asked.method {
        Method::TasksResult => (&TASK_RESULT_RELATED_META, asked.subject, "asked for"),
        Method::TasksGet | Method::TasksList | Method::TasksCancel => return,
        _ => (&TASK_RESPONSE_RELATED_META, asked.related, "of the request"),
    };
    // What creates another task may name either.
    if !want.is_present() || id == want || creates_task(result) {
        return;
    }
    let what = if id.is_present() {
        "names another task"
    } else {
        "names no task"
    };
    let text = format!("the result {what} in `_meta`; it names the one {whose}");
    let frames = [asked.frame, cx.frame];
    part.case(cx, rule, Verdict::Broken, None, &frames, related, text);
}
