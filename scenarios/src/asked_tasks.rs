//! Tasks of 2025-11-25 that a reference server asks its client for: how it follows them, and how it gives them up. For a
//! sampling it asks how far the task is and waits for its result; for an elicitation it looks through the list of tasks, waits
//! for the result, and asks how the task ended.

use mcpsim_sim::actor::{Out, Route};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Capability, Kind, Message, Method, Revision, Tool};
use serde_json::Value;

use crate::errands;
use crate::features::member;
use crate::plan::Plan;
use crate::session::{Asked, Letter, Owed, Purpose, Session};

/// Whether the server asks its client to run such requests as tasks.
pub(crate) fn are_wanted(session: &Session, plan: &Plan, method: Method) -> bool {
    plan.asks_for_tasks
        && session.agreed == Some(Revision::V2025_11_25)
        && session.other.has(Capability::Tasks)
        && matches!(
            method,
            Method::SamplingCreateMessage | Method::ElicitationCreate
        )
}

/// What comes after an answer about a question that was to become a task; `None` where the question is settled.
pub(crate) fn next(
    session: &mut Session,
    asked: &Asked,
    outer: &Owed,
    message: &Message,
    raw: Option<&[u8]>,
) -> Option<Letter> {
    if message.kind != Kind::Result {
        return None;
    }
    match asked.method {
        Method::SamplingCreateMessage | Method::ElicitationCreate => {
            let id = made(raw)?;
            let lists = session.other.has(Capability::TasksList);
            let letter = match outer.tool {
                Tool::Ask => errands::poll(&id),
                _ if lists => Message::request(Method::TasksList, Key::ABSENT).into(),
                _ => about(Method::TasksResult, &id),
            };
            session.features.asked_tasks.push((outer.id, id));
            Some(letter)
        }
        asked => {
            let tasks = &session.features.asked_tasks;
            let (_, id) = tasks.iter().find(|(of, _)| *of == outer.id)?;
            match (asked, outer.tool) {
                (Method::TasksGet, Tool::Ask) | (Method::TasksList, _) => {
                    Some(about(Method::TasksResult, id))
                }
                // How it ended stands beside what came of it.
                (Method::TasksResult, tool) if tool != Tool::Ask => Some(errands::poll(id)),
                _ => None,
            }
        }
    }
}

/// The question of that request is settled, or nobody waits for it: its task is of no interest any more.
pub(crate) fn forget(session: &mut Session, outer: Key) -> Option<String> {
    let tasks = &mut session.features.asked_tasks;
    let at = tasks.iter().position(|(of, _)| *of == outer)?;
    Some(tasks.remove(at).1)
}

/// Nobody waits for the answer to that request any more: its task, if it has one, is cancelled.
pub(crate) fn give_up(session: &mut Session, plan: &Plan, owed: &Owed, out: &mut Out<'_>) {
    if let Some(id) = forget(session, owed.id) {
        cancel(session, plan, &id, out);
    }
}

/// A task was made for a question that had been given up meanwhile.
pub(crate) fn came_late(session: &mut Session, plan: &Plan, raw: Option<&[u8]>, out: &mut Out<'_>) {
    if let Some(id) = made(raw) {
        cancel(session, plan, &id, out);
    }
}

fn cancel(session: &mut Session, plan: &Plan, id: &str, out: &mut Out<'_>) {
    if session.other.has(Capability::TasksCancel) {
        let letter = about(Method::TasksCancel, id);
        session.ask(plan, letter, Purpose::Alone, false, Route::Usual, out);
    }
}

/// The id of the task that an answer tells of.
fn made(raw: Option<&[u8]>) -> Option<String> {
    let result = member(raw, "result");
    let id = result.pointer("/task/taskId").and_then(Value::as_str)?;
    Some(id.to_owned())
}

fn about(method: Method, id: &str) -> Letter {
    let message = Message::request(method, Key::ABSENT).with_params();
    Letter::with(message, format!("\"taskId\":{}", Value::from(id)))
}
