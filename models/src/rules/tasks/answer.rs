//! How a receiver answers: with a task where one is asked for, and with the task's own result in the end.

use mcpsim_traces::event::LinkKind;
use mcpsim_traces::judge::{Severity, Verdict};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Kind, Method};
use mcpsim_traces::tape::Value;

use super::life::{completed_with_error, remember, show};
use super::{
    TASK_CANCEL_RESULT_STATUS, TASK_CANCEL_TERMINAL, TASK_CREATE_RESULT, TASK_CREATE_UNASKED,
    TASK_FAILED_MESSAGE, TASK_ID_UNIQUE, TASK_LIST_COMPLETE, TASK_LIST_CURSOR_ERROR,
    TASK_RESULT_SAME_AS_REQUEST, TASK_TOOL_ERROR_FAILED, TASK_TOOL_FORBIDDEN_ERROR,
    TASK_TOOL_REQUIRED_ERROR, TASK_UNDECLARED_RECEIVER_PLAIN, TASK_UNKNOWN_ERROR, creates_task,
    is_of_another_kind,
};
use crate::deep::task_tools::Support;
use crate::deep::tasks::{Chain, Outcome, Place, Status, Tasks, View, text_key};
use crate::deep::{Asked, Deep, Frame, digest};
use crate::idset::Used;
use crate::ledger::{Cx, bit};
use crate::part::{Part, flag};
use crate::rules::{Rule, When};

const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const INTERNAL_ERROR: i64 = -32603;
const INVALID_REQUEST: i64 = -32600;

/// The party answers a request.
pub(super) fn by(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let tasks = &mut deep.tasks;
    let Some(asked) = frame.asked else {
        // It answers nothing that is known, and may create a task all the same.
        let id = frame
            .payload
            .and_then(|result| result.path(&["task", "taskId"]));
        tasks.issued.insert(text_key(id));
        return;
    };
    let answer = Answer {
        asked,
        result: frame.payload.filter(|_| frame.message.kind == Kind::Result),
        code: frame.message.number,
    };
    match asked.method {
        Method::ToolsCall | Method::SamplingCreateMessage | Method::ElicitationCreate => {
            augmented(part, tasks, cx, frame, &answer);
        }
        Method::TasksGet => got(part, tasks, cx, frame, &answer),
        Method::TasksResult => resulted(part, tasks, cx, &answer),
        Method::TasksCancel => cancelled(part, tasks, cx, frame, &answer),
        Method::TasksList => listed(part, tasks, cx, frame, &answer),
        _ => {}
    }
}

struct Answer<'a> {
    asked: &'a Asked,
    /// Absent for an error.
    result: Option<Value<'a>>,
    /// The error's code.
    code: i64,
}

impl Answer<'_> {
    /// Whether it is an error of one of these codes.
    fn is_error_of(&self, codes: &[i64]) -> bool {
        self.result.is_none() && codes.contains(&self.code)
    }

    fn told(&self) -> String {
        match self.result {
            Some(_) => "with a result".to_string(),
            None => format!("with {}", self.code),
        }
    }

    fn report(
        &self,
        part: &Part,
        cx: &mut Cx<'_>,
        rule: &'static Rule,
        severity: Option<Severity>,
        text: String,
    ) {
        let frames = [self.asked.frame, cx.frame];
        part.case(cx, rule, Verdict::Broken, severity, &frames, None, text);
    }
}

/// The answer to a request that can be run as a task.
fn augmented(
    part: &Part,
    tasks: &mut Tasks,
    cx: &mut Cx<'_>,
    frame: &Frame<'_>,
    answer: &Answer<'_>,
) {
    let asked = answer.asked;
    let is_created = answer.result.is_some_and(creates_task);
    if tasks.mine.is_known() {
        match (tasks.mine.has(asked.method), asked.wants_task) {
            (true, true) => taken_up(part, tasks, cx, answer),
            (true, false) => {
                if !plain(part, tasks, cx, answer) && is_created {
                    unasked(part, cx, answer);
                }
            }
            (false, true) if is_created => {
                let text = "a task is created, though its receiver did not declare tasks for such requests: it ignores the wish";
                answer.report(
                    part,
                    cx,
                    &TASK_UNDECLARED_RECEIVER_PLAIN,
                    None,
                    text.to_string(),
                );
            }
            (false, false) if is_created => unasked(part, cx, answer),
            (false, _) => {}
        }
    }
    let task = answer.result.and_then(|result| result.get("task"));
    let view = task
        .filter(|task| task.is_object())
        .map(|task| View::of(task, "pollInterval"));
    let Some(view) = view.filter(|view| view.id.is_present()) else {
        return;
    };
    if !asked.wants_task {
        tasks.issued.insert(view.id);
        return;
    }
    if tasks.created.insert(view.id) == Used::Before {
        let run = tasks.runs.get(view.id);
        let first = run
            .and_then(|run| run.created)
            .map_or(0, |place| place.frame);
        let text = "the new task has the id of an earlier one".to_string();
        part.broken(cx, &TASK_ID_UNIQUE, &[first, cx.frame], text);
        *tasks.runs.entry(view.id) = crate::deep::tasks::Entry::new(view.id);
    }
    remember(part, tasks, cx, asked, view.id);
    show(part, tasks, cx, frame, &view);
}

/// A request for a task, of a kind that was declared.
fn taken_up(part: &Part, tasks: &Tasks, cx: &mut Cx<'_>, answer: &Answer<'_>) {
    let asked = answer.asked;
    if asked.method == Method::ToolsCall {
        match tasks.tools.told_support(asked.subject, asked.frame).0 {
            Support::Unknown => return,
            Support::Forbidden => {
                let lawful = [METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR];
                if !answer.is_error_of(&lawful) {
                    let text = format!(
                        "the call of a tool as a task, which it does not run as, is answered {}; it is refused with -32601",
                        answer.told()
                    );
                    answer.report(part, cx, &TASK_TOOL_FORBIDDEN_ERROR, None, text);
                }
                return;
            }
            Support::Optional | Support::Required => {}
        }
    }
    let Some(result) = answer.result else { return };
    let has_task = result.get("task").is_some_and(Value::is_object);
    let is_ordinary = ["content", "structuredContent", "action"]
        .iter()
        .any(|name| result.get(name).is_some());
    let (severity, text) = match (has_task, is_ordinary) {
        (true, false) => return,
        (true, true) => (
            Some(Severity::Note),
            "the result itself stands beside the task; it is asked for with tasks/result",
        ),
        (false, _) => (
            None,
            "the request asked to be run as a task, and its result has no `task`",
        ),
    };
    answer.report(part, cx, &TASK_CREATE_RESULT, severity, text.to_string());
}

/// A plain call of a tool that runs only as a task; whether that was reported.
fn plain(part: &Part, tasks: &Tasks, cx: &mut Cx<'_>, answer: &Answer<'_>) -> bool {
    let asked = answer.asked;
    let support = tasks.tools.told_support(asked.subject, asked.frame).0;
    if asked.method != Method::ToolsCall
        || support != Support::Required
        || answer.is_error_of(&[METHOD_NOT_FOUND, INTERNAL_ERROR])
    {
        return false;
    }
    let severity = answer
        .is_error_of(&[INVALID_REQUEST])
        .then_some(Severity::Warning);
    let text = format!(
        "the plain call of a tool that runs only as a task is answered {}; it is refused with -32601",
        answer.told()
    );
    answer.report(part, cx, &TASK_TOOL_REQUIRED_ERROR, severity, text);
    true
}

fn unasked(part: &Part, cx: &mut Cx<'_>, answer: &Answer<'_>) {
    let text = format!(
        "{} is answered with a task that it did not ask for",
        answer.asked.method.words()
    );
    answer.report(part, cx, &TASK_CREATE_UNASKED, None, text);
}

/// Whether the task was never issued by the party; a finding where it answers as if it had been.
fn is_unknown(part: &Part, tasks: &mut Tasks, cx: &mut Cx<'_>, answer: &Answer<'_>) -> bool {
    let asked = answer.asked;
    if !asked.subject.is_present()
        || !tasks.mine.is_known()
        || part.is(flag::JOINED)
        || tasks.issued.has(asked.subject) != Used::Never
    {
        return false;
    }
    let is_lawful = answer.is_error_of(&[INVALID_PARAMS, INTERNAL_ERROR])
        || answer.is_error_of(&[METHOD_NOT_FOUND]) && !tasks.mine.has(asked.method);
    if is_lawful {
        return true;
    }
    // Bound to an authorization, tasks outlive the session: over http the id may come from another one.
    if answer.result.is_some() {
        tasks.issued.insert(asked.subject);
    }
    let may_be_older = part.link == LinkKind::Http
        && (answer.result.is_some() || asked.method == Method::TasksResult);
    let text = format!(
        "{} for a task that was never issued is answered {}; it is refused with -32602",
        asked.method.words(),
        answer.told()
    );
    let verdict = if may_be_older {
        Verdict::Unsure
    } else {
        Verdict::Broken
    };
    let frames = [asked.frame, cx.frame];
    part.case(cx, &TASK_UNKNOWN_ERROR, verdict, None, &frames, None, text);
    true
}

fn got(part: &Part, tasks: &mut Tasks, cx: &mut Cx<'_>, frame: &Frame<'_>, answer: &Answer<'_>) {
    is_unknown(part, tasks, cx, answer);
    let Some(result) = answer.result else { return };
    cx.ledger.saw(bit(When::TASK));
    let view = View::of(result, "pollInterval");
    if view.status == Some(Status::Failed) {
        let why = result.get("statusMessage");
        if why.is_none_or(|why| why.is("")) {
            let text = "the task failed, and no `statusMessage` says why".to_string();
            part.broken(cx, &TASK_FAILED_MESSAGE, &[cx.frame], text);
        }
    }
    show(part, tasks, cx, frame, &view);
    let Some(run) = tasks.runs.get_mut(view.id) else {
        return;
    };
    if run.got == 0 {
        run.got = cx.frame;
    }
    if run.missing != 0 && answer.asked.frame > run.missing {
        let frames = [std::mem::take(&mut run.missing), cx.frame];
        let text = "the task is found before and after a whole listing without it".to_string();
        part.broken(cx, &TASK_LIST_COMPLETE, &frames, text);
    }
}

fn cancelled(
    part: &Part,
    tasks: &mut Tasks,
    cx: &mut Cx<'_>,
    frame: &Frame<'_>,
    answer: &Answer<'_>,
) {
    if is_unknown(part, tasks, cx, answer) && answer.result.is_none() {
        return;
    }
    let asked = answer.asked;
    let run = tasks.runs.get(asked.subject);
    // What was cancelled by this very request may be announced before it is answered.
    let end = run
        .and_then(|run| run.end)
        .filter(|end| end.place.was_seen_before(frame));
    let is_lawful = answer.is_error_of(&[INVALID_PARAMS, INTERNAL_ERROR])
        || answer.is_error_of(&[METHOD_NOT_FOUND]) && !tasks.mine.has(Method::TasksCancel);
    let view = answer.result.map(|result| View::of(result, "pollInterval"));
    if let Some(end) = end.filter(|_| !is_lawful) {
        let text = format!(
            "tasks/cancel for a task shown as {} is answered {}; it is refused with -32602",
            end.status.as_str(),
            answer.told()
        );
        let frames = [end.place.frame, asked.frame, cx.frame];
        return part.broken(cx, &TASK_CANCEL_TERMINAL, &frames, text);
    }
    let Some(view) = view else { return };
    if let Some(status) = view.status
        && status != Status::Cancelled
    {
        let text = format!(
            "tasks/cancel succeeds, and shows the task as {}",
            status.as_str()
        );
        answer.report(part, cx, &TASK_CANCEL_RESULT_STATUS, None, text);
    }
    show(part, tasks, cx, frame, &view);
}

fn resulted(part: &Part, tasks: &mut Tasks, cx: &mut Cx<'_>, answer: &Answer<'_>) {
    if is_unknown(part, tasks, cx, answer) {
        return;
    }
    let Some(run) = tasks.runs.get_mut(answer.asked.subject) else {
        return;
    };
    let completed = run.end.filter(|end| end.status == Status::Completed);
    let Some(result) = answer.result else {
        // Errors of the reserved range may be about the task's id.
        let is_original = !(-32768..=-32000).contains(&answer.code);
        if let Some(end) = completed.filter(|_| is_original) {
            let frames = [end.place.frame, cx.frame];
            part.broken(cx, &TASK_TOOL_ERROR_FAILED, &frames, completed_with_error());
        }
        return;
    };
    let outcome = Outcome {
        place: Place::of(cx),
        digest: digest::without(result, "_meta"),
        is_error: result.get("isError").and_then(Value::as_bool) == Some(true),
    };
    match run.outcome {
        Some(first) => {
            if first.digest != outcome.digest {
                let frames = [first.place.frame, cx.frame];
                let text = "tasks/result gives another result than before".to_string();
                part.broken(cx, &TASK_RESULT_SAME_AS_REQUEST, &frames, text);
            }
            return;
        }
        None => run.outcome = Some(outcome),
    }
    if is_of_another_kind(run.method, result) {
        let text = format!(
            "tasks/result gives something that is no result of {}, which the task is for",
            run.method.words()
        );
        answer.report(part, cx, &TASK_RESULT_SAME_AS_REQUEST, None, text);
    } else if let Some(end) = completed.filter(|_| outcome.is_error) {
        let frames = [end.place.frame, cx.frame];
        part.broken(cx, &TASK_TOOL_ERROR_FAILED, &frames, completed_with_error());
    }
}

fn listed(part: &Part, tasks: &mut Tasks, cx: &mut Cx<'_>, frame: &Frame<'_>, answer: &Answer<'_>) {
    let asked = answer.asked;
    // An empty one stands for none.
    let is_made_up = asked.cursor.is_present()
        && asked.cursor != Key::text(b"")
        && tasks.mine.is_known()
        && !part.is(flag::JOINED)
        && tasks.cursors.has(asked.cursor) == Used::Never;
    let is_lawful = answer.is_error_of(&[INVALID_PARAMS, INTERNAL_ERROR])
        || answer.is_error_of(&[METHOD_NOT_FOUND]) && !tasks.mine.has(Method::TasksList);
    if is_made_up && !is_lawful {
        let text = format!(
            "tasks/list with a cursor that was never given out is answered {}; it is refused with -32602",
            answer.told()
        );
        answer.report(part, cx, &TASK_LIST_CURSOR_ERROR, None, text);
    }
    let Some(result) = answer.result else { return };
    let mut chain = match tasks.chain.take() {
        _ if !asked.cursor.is_present() => {
            tasks.runs.iter_mut().for_each(|run| run.is_listed = false);
            Some(Chain {
                next: asked.cursor,
                begun: asked.frame,
            })
        }
        chain => chain.filter(|chain| chain.next == asked.cursor),
    };
    let items = result.get("tasks");
    for task in items.iter().flat_map(|items| items.items()) {
        let view = View::of(task, "pollInterval");
        show(part, tasks, cx, frame, &view);
        if let Some(run) = tasks.runs.get_mut(view.id) {
            run.is_listed = true;
        }
    }
    let next = text_key(result.get("nextCursor"));
    if next.is_present() {
        tasks.cursors.insert(next);
        if let Some(chain) = &mut chain {
            chain.next = next;
        }
        tasks.chain = chain;
    } else if let Some(chain) = chain.filter(|_| result.get("nextCursor").is_none()) {
        whole_listing(tasks, cx, &chain);
    }
}

/// The last page: what was found before the listing began, and does not stand in it, is missing.
fn whole_listing(tasks: &mut Tasks, cx: &Cx<'_>, chain: &Chain) {
    if !tasks.mine.has(Method::TasksList) {
        return;
    }
    for run in tasks.runs.iter_mut() {
        if run.got != 0 && run.got < chain.begun && !run.is_listed {
            run.missing = cx.frame;
        }
    }
}
