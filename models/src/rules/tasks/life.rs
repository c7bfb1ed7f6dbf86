//! The life of a task as frames show it: what its receiver showed, and what its requestor was told.

use std::cmp::Ordering;

use mcpsim_traces::judge::{Severity, Verdict};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Kind, Method};
use mcpsim_traces::tape::Value;

use super::{
    TASK_INPUT_REQUIRED_RESULT, TASK_RESULT_BLOCKS, TASK_STATUS_DIRECTION, TASK_TERMINAL_FINAL,
    TASK_TIMESTAMPS, TASK_TOOL_ERROR_FAILED,
};
use crate::deep::tasks::{Place, Run, Shown, Status, Tasks, View, contradicts, text_key};
use crate::deep::{Asked, Deep, Frame};
use crate::idset::Used;
use crate::ledger::{Cx, bit};
use crate::part::{Part, flag};
use crate::rules::When;

/// The party announces something.
pub(super) fn announced_by(part: &Part, tasks: &mut Tasks, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let (Method::TasksStatus, Some(task)) = (frame.method, frame.payload) else {
        return;
    };
    cx.ledger.saw(bit(When::TASK));
    let view = View::of(task, "pollInterval");
    let is_mine =
        tasks.issued.has(view.id) != Used::Never || !tasks.mine.is_known() || part.is(flag::JOINED);
    if !is_mine && tasks.heard.has(view.id) == Used::Before {
        let told = tasks.told.get(view.id).map_or(0, |told| told.frame);
        let text = "the status of a task that the other side runs: that side announces it";
        return part.broken(
            cx,
            &TASK_STATUS_DIRECTION,
            &[told, cx.frame],
            text.to_string(),
        );
    }
    show(part, tasks, cx, frame, &view);
}

/// The party shows a task that it runs.
pub(super) fn show(
    part: &Part,
    tasks: &mut Tasks,
    cx: &mut Cx<'_>,
    frame: &Frame<'_>,
    view: &View,
) {
    if !view.id.is_present() {
        return;
    }
    tasks.issued.insert(view.id);
    let run = tasks.runs.entry(view.id);
    born(part, cx, run, view);
    let Some(status) = view.status else { return };
    let shown = Shown {
        status,
        place: Place::of(cx),
        updated: view.updated,
    };
    let was_over = run.end.is_some();
    let sides = (&mut run.open, &mut run.end);
    if let Some(first) = contradicts(part, cx, frame, sides, shown) {
        changed(part, cx, first, shown);
    } else if status.is_terminal() && !was_over {
        ended(part, cx, run, status);
    } else if run.end.is_none() {
        went_on(part, cx, frame, run, status);
    }
}

fn born(part: &Part, cx: &mut Cx<'_>, run: &mut Run, view: &View) {
    let Some(born) = view.born else { return };
    let before = *run.born.get_or_insert(born);
    if before.order(born) == Ordering::Equal {
        return;
    }
    run.born = Some(born);
    let first = run.created.map_or(0, |place| place.frame);
    let text = "the task has another `createdAt` than before".to_string();
    let frames = [first, cx.frame];
    let (verdict, severity) = (Verdict::Broken, Some(Severity::Warning));
    part.case(cx, &TASK_TIMESTAMPS, verdict, severity, &frames, None, text);
}

/// The task is shown as over for the first time.
fn ended(part: &Part, cx: &mut Cx<'_>, run: &Run, status: Status) {
    let failed = run.outcome.filter(|outcome| outcome.is_error);
    if let Some(outcome) = failed.filter(|_| status == Status::Completed) {
        let frames = [outcome.place.frame, cx.frame];
        part.broken(cx, &TASK_TOOL_ERROR_FAILED, &frames, completed_with_error());
    }
}

pub(super) fn completed_with_error() -> String {
    "the task is shown as completed, and its result is an error: such a task ends as failed"
        .to_string()
}

/// The task is shown as not over.
fn went_on(part: &Part, cx: &mut Cx<'_>, frame: &Frame<'_>, run: &mut Run, status: Status) {
    let outcome = run
        .outcome
        .filter(|outcome| outcome.place.is_before(part, cx, frame));
    let Some(outcome) = outcome else { return };
    run.outcome = None;
    let text = format!(
        "the task is {} after tasks/result gave its result; that waits for the end",
        status.as_str()
    );
    let frames = [outcome.place.frame, cx.frame];
    part.broken(cx, &TASK_RESULT_BLOCKS, &frames, text);
}

#[cold]
fn changed(part: &Part, cx: &mut Cx<'_>, first: Shown, then: Shown) {
    let text = format!(
        "the task is shown as {} and as {}; a task that is over stays as it is",
        first.status.as_str(),
        then.status.as_str()
    );
    let frames = [first.place.frame, cx.frame];
    part.broken(cx, &TASK_TERMINAL_FINAL, &frames, text);
}

/// Something about a task goes to its requestor.
pub(super) fn toward(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let Some(payload) = frame.payload else { return };
    match (frame.message.kind, frame.method) {
        (Kind::Result, Method::TasksGet | Method::TasksCancel) => {
            told(part, deep, cx, frame, payload);
        }
        (Kind::Result, Method::TasksList) => {
            let tasks = payload.get("tasks");
            for task in tasks.iter().flat_map(|tasks| tasks.items()) {
                told(part, deep, cx, frame, task);
            }
        }
        (Kind::Notification, Method::TasksStatus)
            // A wrong sender teaches nothing.
            if deep.tasks.issued.has(text_key(payload.get("taskId"))) == Used::Never =>
        {
            told(part, deep, cx, frame, payload);
        }
        (
            Kind::Result,
            Method::ToolsCall
            | Method::SamplingCreateMessage
            | Method::ElicitationCreate
            | Method::None,
        ) => {
            if let Some(task) = payload.get("task").filter(|task| task.is_object()) {
                created(part, deep, cx, frame, task);
            }
        }
        _ => {}
    }
}

fn created(part: &Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>, task: Value<'_>) {
    told(part, deep, cx, frame, task);
    let request = frame.asked.filter(|asked| asked.wants_task);
    let told = deep.tasks.told.get_mut(text_key(task.get("taskId")));
    if let (Some(told), Some(request)) = (told, request) {
        told.request = request.id;
    }
}

/// The requestor is told of a task, in a result or a notification.
fn told(part: &Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>, task: Value<'_>) {
    let view = View::of(task, "pollInterval");
    if !view.id.is_present() {
        return;
    }
    deep.tasks.heard.insert(view.id);
    let told = deep.tasks.told.entry(view.id);
    if !told.fact.is_some() {
        (told.fact, told.frame) = (frame.fact, cx.frame);
    }
    told.poll.asked_for(view.interval);
    told.poll.is_news |= frame.message.kind == Kind::Notification;
    let Some(status) = view.status else { return };
    told.is_over = status.is_terminal();
    if status == Status::InputRequired {
        told.wanted.get_or_insert((frame.fact, cx.frame));
        return;
    }
    let (wanted, idled) = (told.wanted.take(), std::mem::take(&mut told.idled));
    if let Some((_, wanted)) = wanted.filter(|_| idled != 0) {
        let text = "the task waited for input, and was only polled: tasks/result would have brought what it asks";
        let frames = [wanted, idled];
        part.broken(cx, &TASK_INPUT_REQUIRED_RESULT, &frames, text.to_string());
    }
}

/// A task that the party created; what is known of its request comes with it.
pub(super) fn remember(part: &Part, tasks: &mut Tasks, cx: &Cx<'_>, asked: &Asked, id: Key) {
    let progress = part.tokens.as_ref().and_then(|tokens| {
        let mut open = tokens.inn.list.iter();
        let series = open.find(|series| series.id == asked.id)?;
        series.begun.then_some((series.last, series.frame))
    });
    let run = tasks.runs.entry(id);
    run.method = asked.method;
    run.token = asked.token;
    run.created = Some(Place::of(cx));
    run.progress = progress;
}
