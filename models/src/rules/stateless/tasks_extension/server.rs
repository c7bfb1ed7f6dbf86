//! A server that runs calls as tasks: to whom it gives them, and what it shows of them.

use mcpsim_traces::event::LinkKind;
use mcpsim_traces::judge::{Severity, Verdict};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Kind, Method};
use mcpsim_traces::tape::Value;

use crate::rules::stateless::capability::undeclared_extension;

use super::{
    TASK_CAPABILITY, TASK_DURABLE_BEFORE_REPLY, TASK_EXT_ID_UNIQUE, TASK_EXT_TERMINAL_FINAL,
    TASK_INPUT_KEY_UNIQUE, TASK_METHODS_NEED_CAPABILITY, TASK_NOTIFICATIONS_OPTED_IN,
    TASK_TYPE_ELSEWHERE, TASK_UNKNOWN_ID, TASK_UPDATE_ACK, form, is_task, lists_extension,
    saw_task,
};
use crate::deep::tasks::{Entry, Place, Shown, Status, View, contradicts, text_key};
use crate::deep::tasks_ext::{EXTENSION, Input, Run, Ttl, declares};
use crate::deep::{Asked, Deep, Frame, digest};
use crate::idset::Used;
use crate::ledger::Cx;
use crate::part::Part;
use crate::rules::Rule;

/// The member of a notification's `_meta` that says on which subscription it comes.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// The request lacks a capability.
const MISSING_CAPABILITY: i64 = -32021;
/// Codes for faults of a request that have nothing to do with the task that it names.
const OTHER_FAULTS: &[i64] = &[-32700, -32600, -32601, -32602, -32603, -32020, -32022];

/// The server answers.
pub(super) fn answers(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let Some(asked) = frame.asked else { return };
    let result = frame.payload.filter(|_| frame.message.kind == Kind::Result);
    match (frame.method, result) {
        (Method::TasksGet | Method::TasksUpdate | Method::TasksCancel, _) => {
            operation(part, deep, cx, frame, asked, result);
        }
        (method, Some(result)) => {
            if method == Method::ServerDiscover {
                deep.tasks_ext.has = lists_extension(frame);
            }
            if is_task(result) {
                new_task(part, deep, cx, frame, asked);
            }
        }
        (_, None) => {}
    }
}

fn broken(part: &Part, cx: &mut Cx<'_>, rule: &'static Rule, asked: &Asked, text: String) {
    part.broken(cx, rule, &[asked.frame, cx.frame], text);
}

/// A request is answered with a task.
fn new_task(part: &Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>, asked: &Asked) {
    saw_task(cx);
    if asked.method != Method::ToolsCall {
        let text = format!(
            "{} is answered with a task; only tools/call can be",
            asked.method.words()
        );
        return broken(part, cx, &TASK_CAPABILITY, asked, text);
    }
    match (declares(asked), deep.tasks_ext.has) {
        (Some(false), _) => {
            let text =
                format!("the call is answered with a task, and does not declare `{EXTENSION}`");
            let rule = undeclared_extension(deep, EXTENSION, &TASK_CAPABILITY);
            broken(part, cx, rule, asked, text);
        }
        (Some(true), Some(false)) => {
            let text = format!(
                "the call is answered with a task by a server that does not list `{EXTENSION}`"
            );
            let frames = [asked.frame, cx.frame];
            part.broken_at(cx, &TASK_CAPABILITY, Severity::Warning, &frames, text);
        }
        _ => {}
    }
    form::created(part, deep, cx, frame);
    let Some(task) = frame.payload else { return };
    let id = text_key(task.get("taskId"));
    if !id.is_present() {
        return;
    }
    let tasks = &mut deep.tasks_ext;
    if tasks.created.insert(id) == Used::Before {
        let first = tasks.runs.get(id).map_or(0, |run| run.created.frame);
        let text = "the new task has the id of an earlier one".to_string();
        part.broken(cx, &TASK_EXT_ID_UNIQUE, &[first, cx.frame], text);
        *tasks.runs.entry(id) = Run::new(id);
    }
    let run = tasks.runs.entry(id);
    run.request = asked.id;
    run.token = asked.token;
    run.created = Place::of(cx);
    run.born_ms = cx.now_ms;
    show(part, cx, frame, run, task);
}

/// The answer to a request about a task.
fn operation(
    part: &Part,
    deep: &mut Deep,
    cx: &mut Cx<'_>,
    frame: &Frame<'_>,
    asked: &Asked,
    result: Option<Value<'_>>,
) {
    saw_task(cx);
    let code = frame.message.number;
    let declared = declares(asked);
    if declared == Some(false) {
        // A task of a session may be served as that session's.
        let is_of_session = matches!(asked.method, Method::TasksGet | Method::TasksCancel)
            && deep.tasks.issued.has(asked.subject) != Used::Never;
        let is_lawful =
            result.is_none() && (code == MISSING_CAPABILITY || OTHER_FAULTS.contains(&code));
        if !is_lawful && !is_of_session {
            let text = format!(
                "{} does not declare `{EXTENSION}`, and is not refused with -32021",
                asked.method.words()
            );
            broken(part, cx, &TASK_METHODS_NEED_CAPABILITY, asked, text);
        }
        return;
    }
    let Some(result) = result else {
        return refused(part, deep, cx, asked, code, declared);
    };
    if let Some(kind) = result.get("resultType").filter(|kind| kind.is("task")) {
        let text = format!(
            "the answer to {} is `complete`; `task` says that a task was created",
            asked.method.words()
        );
        part.broken_value(cx, &TASK_TYPE_ELSEWHERE, kind, text);
    } else if asked.method != Method::TasksGet {
        acknowledged(part, cx, asked, result);
    }
    match asked.method {
        Method::TasksGet => {
            form::shown(part, deep, cx, frame);
            shown(part, deep, cx, frame, result);
        }
        Method::TasksUpdate => answered(deep, asked),
        _ => {}
    }
}

fn acknowledged(part: &Part, cx: &mut Cx<'_>, asked: &Asked, result: Value<'_>) {
    let names = ["taskId", "status", "result", "error", "inputRequests"];
    if let Some(value) = names.iter().find_map(|name| result.get(name)) {
        let text = format!(
            "{} is acknowledged with an empty result; this one tells of the task",
            asked.method.words()
        );
        part.broken_value(cx, &TASK_UPDATE_ACK, value, text);
    }
}

/// The client's answers were taken.
fn answered(deep: &mut Deep, asked: &Asked) {
    let Some(run) = deep.tasks_ext.runs.get_mut(asked.subject) else {
        return;
    };
    asked.read_params(|params| {
        let answers = params.get("inputResponses");
        for (name, _) in answers.iter().flat_map(|answers| answers.members()) {
            let key = name.key();
            let known = run.inputs.iter_mut().find(|input| input.key == key);
            if let Some(input) = known {
                input.is_answered = true;
            }
        }
    });
}

fn refused(
    part: &Part,
    deep: &Deep,
    cx: &mut Cx<'_>,
    asked: &Asked,
    code: i64,
    declared: Option<bool>,
) {
    if !asked.subject.is_present() {
        return;
    }
    let run = deep.tasks_ext.runs.get(asked.subject);
    if code == -32602 && asked.method == Method::TasksGet && declared == Some(true) {
        if let Some(run) = run.filter(|run| is_kept(cx, run, asked)) {
            let text = "the task was created in an earlier answer, and is not found".to_string();
            let frames = [run.created.frame, asked.frame, cx.frame];
            // Over http the two may have come under different authorizations.
            if part.link == LinkKind::Http {
                part.unsure(cx, &TASK_DURABLE_BEFORE_REPLY, &frames, text);
            } else {
                part.broken(cx, &TASK_DURABLE_BEFORE_REPLY, &frames, text);
            }
        }
        return;
    }
    let is_issued = deep.tasks_ext.created.has(asked.subject) != Used::Never;
    if is_issued || code == MISSING_CAPABILITY || OTHER_FAULTS.contains(&code) {
        return;
    }
    let severity = if asked.method == Method::TasksGet {
        Severity::Error
    } else {
        Severity::Warning
    };
    let text = format!(
        "{} for a task that this log never saw is refused with {code}; if it is unknown, -32602 says so",
        asked.method.words()
    );
    let frames = [asked.frame, cx.frame];
    let (verdict, severity) = (Verdict::Unsure, Some(severity));
    part.case(cx, &TASK_UNKNOWN_ID, verdict, severity, &frames, None, text);
}

/// Whether the task has to be found: it is young, neither over nor cancelled, and the client knew of it.
fn is_kept(cx: &Cx<'_>, run: &Run, asked: &Asked) -> bool {
    run.request.is_present()
        && run.created.frame != 0
        && asked.frame > run.created.frame
        && run.end.is_none()
        && !run.is_cancelled
        && !run.may_have_expired(cx.now_ms)
}

/// The server announces something.
pub(super) fn announces(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let Some(params) = frame.payload else { return };
    let tag = params.path(&["_meta", SUBSCRIPTION]).map(Value::key);
    match frame.method {
        Method::TasksNotification => {
            saw_task(cx);
            form::shown(part, deep, cx, frame);
            // Metadata that is no object is the envelope's matter.
            if params.get("_meta").is_none_or(|meta| meta.is_object()) {
                opted_in(part, deep, cx, params, tag);
            }
            shown(part, deep, cx, frame, params);
        }
        Method::SubscriptionsAcknowledged => {
            let task_ids = params.path(&["notifications", "taskIds"]);
            subscribed(part, deep, cx, tag, task_ids);
        }
        _ => {}
    }
}

/// News of a task, on the subscription of that tag.
fn opted_in(part: &Part, deep: &Deep, cx: &mut Cx<'_>, task: Value<'_>, tag: Option<Key>) {
    let Some(tag) = tag else {
        let text = "the news of a task does not say on which subscription it comes".to_string();
        return part.broken(cx, &TASK_NOTIFICATIONS_OPTED_IN, &[cx.frame], text);
    };
    let id = text_key(task.get("taskId"));
    if !id.is_present() {
        return;
    }
    let listen = deep.tasks_ext.listened(tag);
    if let Some(listen) = listen.filter(|listen| !listen.tasks.contains(&id)) {
        let text = "the news is of a task that its subscription does not name".to_string();
        let frames = [listen.frame, cx.frame];
        part.broken(cx, &TASK_NOTIFICATIONS_OPTED_IN, &frames, text);
    }
}

/// A subscription to tasks is taken up.
fn subscribed(
    part: &Part,
    deep: &Deep,
    cx: &mut Cx<'_>,
    tag: Option<Key>,
    task_ids: Option<Value<'_>>,
) {
    let listen = tag.and_then(|tag| deep.tasks_ext.listened(tag));
    let Some(listen) = listen.filter(|listen| listen.is_declared == Some(false)) else {
        return;
    };
    // A server without the extension just leaves the tasks out.
    if task_ids.is_some() || deep.tasks_ext.has == Some(true) {
        let text = format!(
            "the subscription to tasks does not declare `{EXTENSION}`, and is not refused with -32021"
        );
        let frames = [listen.frame, cx.frame];
        part.broken(cx, &TASK_METHODS_NEED_CAPABILITY, &frames, text);
    }
}

/// Something goes to the server.
pub(super) fn hears(deep: &mut Deep, frame: &Frame<'_>) {
    let (Some(asked), Some(params)) = (frame.asked, frame.payload) else {
        return;
    };
    if frame.message.kind != Kind::Request {
        return;
    }
    match frame.method {
        Method::SubscriptionsListen => {
            let task_ids = params.path(&["notifications", "taskIds"]);
            if let Some(task_ids) = task_ids.filter(|task_ids| task_ids.is_array()) {
                deep.tasks_ext.listen(asked, task_ids);
            }
        }
        Method::TasksCancel => {
            if let Some(run) = deep.tasks_ext.runs.get_mut(asked.subject) {
                run.is_cancelled = true;
            }
        }
        _ => {}
    }
}

/// A task is shown, with what it asks.
fn shown(part: &Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>, task: Value<'_>) {
    let id = text_key(task.get("taskId"));
    if id.is_present() {
        let run = deep.tasks_ext.runs.entry(id);
        show(part, cx, frame, run, task);
        inputs(part, cx, frame, run, task);
    }
}

fn show(part: &Part, cx: &mut Cx<'_>, frame: &Frame<'_>, run: &mut Run, task: Value<'_>) {
    let view = View::of(task, "pollIntervalMs");
    let ttl = Ttl::of(task);
    if ttl != Ttl::Unknown {
        run.ttl = ttl;
    }
    let Some(status) = view.status else { return };
    let shown = Shown {
        status,
        place: Place::of(cx),
        updated: view.updated,
    };
    let sides = (&mut run.open, &mut run.end);
    let Some(first) = contradicts(part, cx, frame, sides, shown) else {
        return;
    };
    // What has outlived its time may be marked as failed.
    if status == Status::Failed && run.may_have_expired(cx.now_ms) {
        return;
    }
    let text = format!(
        "the task is shown as {} and as {}; a task that is over stays as it is",
        first.status.as_str(),
        status.as_str()
    );
    let frames = [first.place.frame, cx.frame];
    part.broken(cx, &TASK_EXT_TERMINAL_FINAL, &frames, text);
}

/// The requests for input that a task shows.
fn inputs(part: &Part, cx: &mut Cx<'_>, frame: &Frame<'_>, run: &mut Run, task: Value<'_>) {
    let place = Place::of(cx);
    let requests = task.get("inputRequests");
    for (name, request) in requests.iter().flat_map(|requests| requests.members()) {
        let (key, digest) = (name.key(), digest::of(request));
        let Some(input) = run.inputs.iter_mut().find(|input| input.key == key) else {
            run.push_input(Input {
                key,
                digest,
                frame: cx.frame,
                is_answered: false,
                gone: None,
            });
            continue;
        };
        let is_back = input.gone.is_some_and(|gone| {
            gone.was_seen_before(frame)
                || frame.message.kind == Kind::Notification && gone.is_on_stream(part, cx)
        });
        let text = match () {
            () if input.digest != digest => "the key stood for another request before",
            () if is_back => "the key stood for a request that was answered, and was gone",
            () => continue,
        };
        (input.digest, input.gone) = (digest, None);
        let frames = [std::mem::replace(&mut input.frame, cx.frame), cx.frame];
        let (rule, verdict) = (&TASK_INPUT_KEY_UNIQUE, Verdict::Broken);
        part.case(
            cx,
            rule,
            verdict,
            None,
            &frames,
            Some(name),
            text.to_string(),
        );
        return;
    }
    for input in run.inputs.iter_mut().filter(|input| input.is_answered) {
        let is_there = requests
            .is_some_and(|requests| requests.members().any(|(name, _)| name.key() == input.key));
        if !is_there && input.gone.is_none() {
            input.gone = Some(place);
        }
    }
}
