//! A client that follows a task: what it was told, how often it asks, and what it answers.

use mcpsim_traces::judge::{Severity, Verdict};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Kind, Method};
use mcpsim_traces::scan::Scanner;
use mcpsim_traces::tape::Value;

use super::{TASK_EXT_POLL_INTERVAL, TASK_UPDATE_KNOWN_KEYS, is_task, saw_task};
use crate::deep::tasks::{Status, View};
use crate::deep::tasks_ext::TaskKey;
use crate::deep::{Deep, Frame};
use crate::ledger::Cx;
use crate::part::{Knows, Mode, Part, flag};
use crate::rules::stateless::mrtr::judge_answer;
use crate::shape::Walk;

/// The client sends a request.
pub(super) fn asks(part: &Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    match frame.method {
        Method::TasksGet => polls(part, deep, cx, frame),
        Method::TasksUpdate => updates(part, deep, cx, frame),
        Method::TasksCancel => saw_task(cx),
        _ => {}
    }
}

fn polls(part: &Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    saw_task(cx);
    let Some(told) = subject(frame).and_then(|id| deep.tasks_ext.told.get_mut(id)) else {
        return;
    };
    let before = std::mem::replace(&mut told.poll.frame, cx.frame);
    let early = told.poll.poll(cx);
    if let Some((interval, gap)) = early.filter(|_| part.mode == Mode::Exact) {
        let text = format!("the task is polled again after {gap} ms; {interval} ms were asked for");
        part.broken(cx, &TASK_EXT_POLL_INTERVAL, &[before, cx.frame], text);
    }
}

fn subject(frame: &Frame<'_>) -> Option<Key> {
    frame.asked.map(|asked| asked.subject)
}

/// Answers to what a task asked.
fn updates(part: &Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    saw_task(cx);
    let told = subject(frame).and_then(|id| deep.tasks_ext.told.get_mut(id));
    let answers = frame
        .payload
        .and_then(|params| params.get("inputResponses"));
    let (Some(told), Some(answers)) = (told, answers) else {
        return;
    };
    told.poll.is_news = true;
    // Another poll may have shown what this log does not.
    let is_whole = told.request.is_present()
        && !told.has_more
        && !part.may_be_unseen()
        && !part.is(flag::GARBLED_IN);
    let mut unknown: Option<Value<'_>> = None;
    let mut again: Option<Value<'_>> = None;
    let mut walk = Walk::begin(frame);
    for (name, answer) in answers.members() {
        match told.key(name.key()) {
            None => unknown = unknown.or(Some(name)),
            Some(key) => {
                if part.knows(key.acked) == Knows::Must {
                    again = again.or(Some(name));
                } else if let Some(walk) = &mut walk {
                    held_against(walk, name, answer, key);
                }
                key.sent = cx.frame;
            }
        }
    }
    if let Some(walk) = walk {
        walk.report(part, cx);
    }
    if let Some(name) = unknown.filter(|_| is_whole) {
        let text = "tasks/update answers a key that the task never asked under".to_string();
        part.broken_value(cx, &TASK_UPDATE_KNOWN_KEYS, name, text);
    } else if let Some(name) = again {
        let text = "tasks/update answers a key again; the server ignores that".to_string();
        let (verdict, severity) = (Verdict::Broken, Some(Severity::Note));
        let (rule, frames) = (&TASK_UPDATE_KNOWN_KEYS, [cx.frame]);
        part.case(cx, rule, verdict, severity, &frames, Some(name), text);
    }
}

/// An answer to a task, by what the task asked for under its name.
fn held_against<'a>(walk: &mut Walk<'a>, name: Value<'a>, answer: Value<'a>, key: &TaskKey) {
    let mut scanner = Scanner::recording();
    let request = key.request.as_deref().and_then(|text| {
        scanner.value(text, 0).ok()?;
        scanner.body(text)
    });
    judge_answer(walk, name, answer, key.input, request);
}

/// Something goes to the client.
pub(super) fn hears(deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let Some(payload) = frame.payload else { return };
    match (frame.message.kind, frame.method) {
        (Kind::Result, Method::TasksGet) | (Kind::Notification, Method::TasksNotification) => {
            told(deep, cx, frame, payload);
        }
        (Kind::Result, Method::ToolsCall) if is_task(payload) => told(deep, cx, frame, payload),
        (Kind::Result, Method::TasksUpdate) => {
            let Some(asked) = frame.asked else { return };
            if let Some(told) = deep.tasks_ext.told.get_mut(asked.subject) {
                told.acknowledged(asked.frame, frame.fact);
            }
        }
        _ => {}
    }
}

fn told(deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>, task: Value<'_>) {
    let view = View::of(task, "pollIntervalMs");
    if !view.id.is_present() {
        return;
    }
    let told = deep.tasks_ext.told.entry(view.id);
    if !told.fact.is_some() {
        (told.fact, told.frame) = (frame.fact, cx.frame);
    }
    if let Some(asked) = frame
        .asked
        .filter(|asked| asked.method == Method::ToolsCall)
    {
        told.request = asked.id;
    }
    told.poll.asked_for(view.interval);
    told.poll.is_news |= frame.message.kind == Kind::Notification;
    told.is_over = view.status.is_some_and(Status::is_terminal);
    let inputs = task.get("inputRequests");
    for (name, request) in inputs.iter().flat_map(|inputs| inputs.members()) {
        told.learn(name.key(), request);
    }
}
