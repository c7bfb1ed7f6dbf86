//! What a requestor asks for: tasks where they were declared, and news of tasks that it knows.

use mcpsim_traces::event::FrameNo;
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Capability, Method};

use super::{
    TASK_CANCEL_UNDECLARED, TASK_ID_NOT_ISSUED, TASK_INPUT_REQUIRED_META, TASK_LIST_UNDECLARED,
    TASK_OPS_UNDECLARED, TASK_POLL_INTERVAL, TASK_TOOL_FORBIDDEN, TASK_TOOL_REQUIRED,
    TASK_TOOLS_UNDECLARED, TASK_UNDECLARED,
};
use crate::deep::task_tools::Support;
use crate::deep::tasks::{RELATED, Run, Status, Tasks};
use crate::deep::{Asked, Deep, Frame};
use crate::idset::Used;
use crate::ledger::{Cx, bit};
use crate::part::{Knows, Mode, Part, flag};
use crate::rules::{Rule, When};

/// The party sends a request.
pub(super) fn by(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let Some(asked) = frame.asked else { return };
    match frame.method {
        Method::ToolsCall => {
            augmented(part, &deep.tasks, cx, asked);
            tool(part, &deep.tasks, cx, asked);
        }
        Method::SamplingCreateMessage | Method::ElicitationCreate => {
            augmented(part, &deep.tasks, cx, asked);
            input(part, &deep.tasks, cx, frame);
        }
        Method::TasksGet | Method::TasksResult | Method::TasksCancel | Method::TasksList => {
            cx.ledger.saw(bit(When::TASK));
            if !is_declared(part, &deep.tasks, cx, frame.method) {
                return;
            }
            known(part, &deep.tasks, cx, asked);
            follow(part, deep, cx, asked);
        }
        _ => {}
    }
}

/// The wish for a task, where the receiver does not run such requests as tasks.
fn augmented(part: &Part, tasks: &Tasks, cx: &mut Cx<'_>, asked: &Asked) {
    let theirs = tasks.theirs;
    if !asked.wants_task || !theirs.is_known() || theirs.has(asked.method) {
        return;
    }
    let (rule, path, capability): (&Rule, _, _) = match asked.method {
        Method::ToolsCall => (&TASK_TOOLS_UNDECLARED, "tools.call", Capability::Tools),
        Method::SamplingCreateMessage => (
            &TASK_UNDECLARED,
            "sampling.createMessage",
            Capability::Sampling,
        ),
        _ => (
            &TASK_UNDECLARED,
            "elicitation.create",
            Capability::Elicitation,
        ),
    };
    // What the receiver did not declare at all is another rule's matter.
    if !part.theirs.has(capability) {
        return;
    }
    let text = format!(
        "{} asks to be run as a task, but the {} did not declare `tasks.requests.{path}`",
        asked.method.words(),
        part.role.other().as_str()
    );
    part.broken(cx, rule, &[cx.frame], text);
}

/// A call against what the tool's listing says.
fn tool(part: &Part, tasks: &Tasks, cx: &mut Cx<'_>, asked: &Asked) {
    if !tasks.theirs.has(Method::ToolsCall) {
        return;
    }
    let (support, listing) = tasks.tools.read_support(part, asked.subject);
    let (rule, text): (&Rule, _) = match (support, asked.wants_task) {
        (Support::Forbidden, true) => (
            &TASK_TOOL_FORBIDDEN,
            "the tool is called as a task, and is listed as one that does not run so",
        ),
        (Support::Required, false) => (
            &TASK_TOOL_REQUIRED,
            "the tool is called without a task, and is listed as one that runs only so",
        ),
        _ => return,
    };
    part.broken(cx, rule, &[listing, cx.frame], text.to_string());
}

/// A request for input while a task waits for some, and nothing else can have caused it.
fn input(part: &Part, tasks: &Tasks, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let is_named = frame
        .payload
        .is_some_and(|params| params.path(&["_meta", RELATED]).is_some());
    if is_named || part.mode == Mode::Loose || part.is(flag::JOINED | flag::GARBLED_IN) {
        return;
    }
    let is_waiting = |run: &Run| {
        let status = run.end.or(run.open).map(|shown| shown.status);
        status == Some(Status::InputRequired)
    };
    let Some(run) = tasks.runs.iter().find(|run| is_waiting(run)) else {
        return;
    };
    let is_else = |method: Method| method != Method::TasksResult;
    if part.inn.iter().any(|request| is_else(request.method)) {
        return;
    }
    let text = format!(
        "{} while a task waits for input and no other request is open: it names the task in `_meta`",
        frame.method.words()
    );
    let shown = run.open.map_or(0, |shown| shown.place.frame);
    part.broken(cx, &TASK_INPUT_REQUIRED_META, &[shown, cx.frame], text);
}

fn is_declared(part: &Part, tasks: &Tasks, cx: &mut Cx<'_>, method: Method) -> bool {
    if !tasks.theirs.is_known() || tasks.theirs.has(method) {
        return true;
    }
    let (rule, path): (&Rule, _) = match method {
        Method::TasksList => (&TASK_LIST_UNDECLARED, "tasks.list"),
        Method::TasksCancel => (&TASK_CANCEL_UNDECLARED, "tasks.cancel"),
        _ => (&TASK_OPS_UNDECLARED, "tasks"),
    };
    let text = format!(
        "{}, but the {} did not declare `{path}`",
        method.words(),
        part.role.other().as_str()
    );
    part.broken(cx, rule, &[cx.frame], text);
    false
}

/// Whether the task was ever shown to the requestor.
fn known(part: &Part, tasks: &Tasks, cx: &mut Cx<'_>, asked: &Asked) {
    let id = asked.subject;
    if !id.is_present()
        || !tasks.theirs.is_known()
        || part.is(flag::JOINED | flag::GARBLED_IN)
        || tasks.heard.has(id) != Used::Never
    {
        return;
    }
    let text = format!(
        "{} asks after a task that no frame to its sender had shown",
        asked.method.words()
    );
    // It may have come another way.
    part.unsure(cx, &TASK_ID_NOT_ISSUED, &[cx.frame], text);
}

/// How the requestor follows a task: how often it polls, and whether it lets the task ask.
fn follow(part: &Part, deep: &mut Deep, cx: &mut Cx<'_>, asked: &Asked) {
    let id = asked.subject;
    let is_waited_for = is_waited_for(deep, id);
    let Some(told) = deep.tasks.told.get_mut(id) else {
        return;
    };
    if asked.method != Method::TasksGet {
        (told.wanted, told.idled) = (None, 0);
        return;
    }
    if let Some((fact, _)) = told.wanted
        && part.mode == Mode::Exact
        && part.knows(fact) == Knows::Must
        && !is_waited_for
        && told.idled == 0
    {
        told.idled = cx.frame;
    }
    let before: FrameNo = std::mem::replace(&mut told.poll.frame, cx.frame);
    let early = told.poll.poll(cx);
    if let Some((interval, gap)) = early.filter(|_| part.mode == Mode::Exact) {
        let text = format!("the task is polled again after {gap} ms; {interval} ms were asked for");
        part.broken(cx, &TASK_POLL_INTERVAL, &[before, cx.frame], text);
    }
}

/// Whether a tasks/result for that task is open.
fn is_waited_for(deep: &Deep, id: Key) -> bool {
    let mut own = deep.own.iter();
    own.any(|asked| asked.method == Method::TasksResult && asked.subject == id)
}
