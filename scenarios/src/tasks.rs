//! Tasks that a reference peer runs: those of 2025-11-25, which either side asks the other for, and those of the
//! extension to 2026-07-28, which a server makes where the client knows them.

use mcpsim_sim::actor::{Out, Route};
use mcpsim_traces::event::Origin;
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{
    Capabilities, Capability, Condition, Message, Method, Revision, Shape, Tool,
};
use mcpsim_traces::render::Body;
use serde_json::Value;

use crate::defect::Defect;
use crate::features::{give, tagged};
use crate::plan::Plan;
use crate::rounds;
use crate::session::{INVALID_PARAMS, INVALID_REQUEST, Letter, Owed, Session, Work};
use crate::tag::What;

/// The most steps that a task takes.
const STEPS_MAX: u32 = 8;
/// The steps of a task of a client's: others can ask for it meanwhile.
const CLIENT_STEPS: u32 = 8;

/// How far a task has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Working,
    /// It waits for what only the client can give.
    NeedsInput,
    Completed,
    /// Its result is a failure, which 2025-11-25 tells apart.
    Failed,
    Cancelled,
}

impl State {
    /// Whether the task has a result.
    fn has_result(self) -> bool {
        matches!(self, State::Completed | State::Failed)
    }
}

/// Whether clients ask for calls to be run as tasks there.
pub(crate) fn are_asked_for(plan: &Plan, revision: Revision) -> bool {
    revision == Revision::V2025_11_25 && plan.capabilities.has(Capability::Tasks)
}

/// A task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Task {
    /// Its number in the session, from 1.
    pub(crate) number: u16,
    pub(crate) state: State,
    /// The request that became the task, and whether that sends a user to an address.
    method: Method,
    is_address: bool,
    tool: Tool,
    value: u32,
    /// How many steps of its own it has still to take.
    left: u32,
    revision: Revision,
    origin: Origin,
}

/// A task's id.
pub(crate) fn id(number: u16) -> String {
    format!("task-{number}")
}

/// The number of the task of that id.
pub(crate) fn number(id: &str) -> Option<u16> {
    id.strip_prefix("task-")?.parse().ok()
}

impl Task {
    fn status(&self) -> &'static str {
        match self.state {
            State::Working => "working",
            State::NeedsInput => "input_required",
            State::Completed => "completed",
            State::Failed => "failed",
            State::Cancelled => "cancelled",
        }
    }

    /// The members that say how far it has come.
    fn members(&self) -> String {
        // Clients of 2025-11-25 ask for the result at once, which waits.
        let (date, lives, polls) = match self.revision {
            Revision::V2026_07_28 => ("2026-07-28", "ttlMs", ",\"pollIntervalMs\":100"),
            _ => ("2025-11-25", "ttl", ""),
        };
        let (id, status) = (id(self.number), self.status());
        let why = match self.state {
            State::Failed => ",\"statusMessage\":\"the tool failed\"",
            _ => "",
        };
        format!(
            "\"taskId\":\"{id}\",\"status\":\"{status}\",\"createdAt\":\"{date}T00:00:00Z\",\
             \"lastUpdatedAt\":\"{date}T00:00:00Z\",\"{lives}\":60000{polls}{why}"
        )
    }

    /// The result of the request that became the task.
    fn result(&self) -> String {
        if self.method != Method::ToolsCall {
            return rounds::reply(self.method, self.is_address).to_owned();
        }
        let (n, failed) = (self.value, self.tool == Tool::Fail);
        format!("\"content\":[{{\"type\":\"text\",\"text\":\"{n}\"}}],\"isError\":{failed}")
    }

    /// The members of 2026-07-28, which bring what goes with the state.
    fn detailed(&self) -> String {
        let members = self.members();
        match self.state {
            State::NeedsInput => format!(
                "{members},\"inputRequests\":{{\"go-on\":{{\"method\":\"elicitation/create\",\"params\":{{{}}}}}}}",
                rounds::form()
            ),
            State::Completed => {
                format!(
                    "{members},\"result\":{{{},\"resultType\":\"complete\"}}",
                    self.result()
                )
            }
            State::Working | State::Failed | State::Cancelled => members,
        }
    }
}

/// Makes a request a task and says so at once.
pub(crate) fn create(session: &mut Session, plan: &Plan, owed: &Owed, out: &mut Out<'_>) {
    let number = session.features.tasks.len() as u16 + 1;
    let asks = owed.tool == Tool::Confirm && owed.revision == Revision::V2026_07_28;
    let task = Task {
        number,
        state: match asks {
            true => State::NeedsInput,
            false => State::Working,
        },
        method: owed.method,
        is_address: owed.conditions.has(Condition::ElicitationUrl),
        tool: owed.tool,
        value: owed.value,
        left: match owed.method {
            Method::ToolsCall => owed.value.clamp(1, STEPS_MAX),
            _ => CLIENT_STEPS,
        },
        revision: owed.revision,
        origin: owed.origin,
    };
    let message = Message::result(owed.id, Shape::Task);
    let members = Task {
        state: State::Working,
        ..task.clone()
    }
    .members();
    let letter = match owed.revision {
        Revision::V2026_07_28 => Letter {
            message,
            body: Some(Body::of(members).and("\"resultType\":\"task\"")),
        },
        _ => Letter::with(message, format!("\"task\":{{{members}}}")),
    };
    session.answer(plan, owed, letter, out);
    if !asks {
        out.again(session.tag(What::Task, owed.origin));
    }
    session.features.tasks.push(task);
}

/// Whether a peer with these capabilities serves such a request about its tasks, in 2025-11-25.
pub(crate) fn are_served(method: Method, capabilities: Capabilities) -> bool {
    match method {
        Method::TasksGet | Method::TasksResult => capabilities.has(Capability::Tasks),
        Method::TasksList => capabilities.has(Capability::TasksList),
        Method::TasksCancel => capabilities.has(Capability::TasksCancel),
        _ => false,
    }
}

/// Serves a request about a task.
pub(crate) fn serve(
    session: &mut Session,
    plan: &Plan,
    owed: Owed,
    params: &Value,
    out: &mut Out<'_>,
) {
    if owed.method == Method::TasksList {
        let all: Vec<String> = session
            .features
            .tasks
            .iter()
            .map(|task| format!("{{{}}}", task.members()))
            .collect();
        return give(
            session,
            plan,
            &owed,
            format!("\"tasks\":[{}]", all.join(",")),
            out,
        );
    }
    let named = params
        .get("taskId")
        .and_then(Value::as_str)
        .and_then(number);
    let found = named.and_then(|number| {
        let tasks = &session.features.tasks;
        tasks.iter().position(|task| task.number == number)
    });
    let Some(at) = found else {
        return session.refuse(plan, &owed, INVALID_PARAMS, out);
    };
    let task = session.features.tasks[at].clone();
    let is_stateless = owed.revision == Revision::V2026_07_28;
    match owed.method {
        Method::TasksGet if is_stateless => give(session, plan, &owed, task.detailed(), out),
        Method::TasksGet => give(session, plan, &owed, task.members(), out),
        Method::TasksResult => match task.state {
            State::Completed | State::Failed => give_result(session, plan, &owed, &task, out),
            State::Cancelled => session.refuse(plan, &owed, INVALID_REQUEST, out),
            State::Working if plan.defect == Defect::AnswersTaskEarly => {
                give_result(session, plan, &owed, &task, out);
            }
            State::Working | State::NeedsInput => {
                session.owe(owed, Work::Awaits(task.number));
            }
        },
        Method::TasksCancel if task.state.has_result() => {
            if is_stateless {
                // Too late is no error here.
                give(session, plan, &owed, String::new(), out);
            } else {
                session.refuse(plan, &owed, INVALID_PARAMS, out);
            }
        }
        Method::TasksCancel => {
            session.features.tasks[at].state = State::Cancelled;
            let task = session.features.tasks[at].clone();
            let members = match is_stateless {
                true => String::new(),
                false => task.members(),
            };
            give(session, plan, &owed, members, out);
            ended(session, plan, &task, out);
        }
        // What is not asked for, or no longer, is taken without a word.
        _ => {
            let is_answered = params.pointer("/inputResponses/go-on").is_some();
            give(session, plan, &owed, String::new(), out);
            if is_answered && task.state == State::NeedsInput {
                session.features.tasks[at].state = State::Working;
                out.caused_by(task.origin);
                out.again(session.tag(What::Task, task.origin));
            }
        }
    }
}

/// Goes on with the task of that cause: it is done now.
pub(crate) fn work(session: &mut Session, plan: &Plan, origin: Origin, out: &mut Out<'_>) {
    let goes_on = plan.defect == Defect::GoesOnWhenCancelled;
    let due = |task: &&mut Task| {
        let is_due = task.state == State::Working || goes_on && task.state == State::Cancelled;
        task.origin == origin && is_due
    };
    let Some(task) = session.features.tasks.iter_mut().find(due) else {
        // Cancelled meanwhile.
        return;
    };
    let fails = task.tool == Tool::Fail && task.revision == Revision::V2025_11_25;
    task.left = task.left.saturating_sub(1);
    if task.left > 0 {
        return out.again(session.tag(What::Task, origin));
    }
    task.state = match fails {
        true => State::Failed,
        false => State::Completed,
    };
    let task = task.clone();
    ended(session, plan, &task, out);
}

/// A task has ended: tells who waits for it or wants to know.
fn ended(session: &mut Session, plan: &Plan, task: &Task, out: &mut Out<'_>) {
    if task.revision == Revision::V2025_11_25 {
        out.caused_by(task.origin);
        let message = Message::notification(Method::TasksStatus);
        let letter = Letter::with(message, task.members());
        session.say(plan, letter, Route::Usual, out);
    }
    let waits = |owed: &Owed| owed.work == Work::Awaits(task.number);
    while let Some(at) = session.owed.iter().position(waits) {
        let owed = session.owed.remove(at);
        match task.state {
            state if state.has_result() => give_result(session, plan, &owed, task, out),
            _ => session.refuse(plan, &owed, INVALID_REQUEST, out),
        }
    }
    let watchers: Vec<Key> = session
        .features
        .task_watches
        .iter()
        .filter(|(_, number)| *number == task.number)
        .map(|(id, _)| *id)
        .collect();
    for id in watchers {
        let open = |owed: &&Owed| owed.id == id && matches!(owed.work, Work::Listens(_));
        if let Some(owed) = session.owed.iter().find(open).copied() {
            let members = task.detailed();
            tagged(
                session,
                plan,
                &owed,
                Method::TasksNotification,
                &members,
                out,
            );
        }
    }
}

fn give_result(session: &mut Session, plan: &Plan, owed: &Owed, task: &Task, out: &mut Out<'_>) {
    let shape = match task.method {
        Method::SamplingCreateMessage => Shape::Sampling,
        Method::ElicitationCreate => Shape::Elicitation,
        _ => Shape::Tool,
    };
    let mut message = Message::result(owed.id, shape);
    if task.tool == Tool::Fail {
        message.conditions.insert(Condition::IsError);
    }
    let related = format!(
        "\"io.modelcontextprotocol/related-task\":{{\"taskId\":\"{}\"}}",
        id(task.number)
    );
    let letter = Letter {
        message,
        body: Some(Body::of(task.result()).with_meta(&related)),
    };
    session.answer(plan, owed, letter, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_back() {
        assert_eq!(number(&id(7)), Some(7));
        for text in ["task-", "task--1", "7", "task-70000"] {
            assert_eq!(number(text), None, "{text}");
        }
    }
}
