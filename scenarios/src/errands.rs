//! What a step of a workload asks for, and what follows from the answer: the next page, the question that came
//! back, the task that was made.

use mcpsim_traces::key::Key;
use mcpsim_traces::message::{
    Capabilities, Capability, Kind, Message, Method, Revision, Shape, Tool,
};
use mcpsim_traces::render::Body;
use serde_json::Value;

use crate::features::member;
use crate::library;
use crate::rounds;
use crate::scenario::{Act, Step};
use crate::session::Letter;

/// What comes after an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// The step is done.
    Done,
    /// Another request of the same step.
    Ask(Letter),
    /// A task was made; after a while it is asked for.
    Wait(String),
    /// A task was made, and is asked for at once.
    Follow(String),
}

/// The capability without which a client does not try that.
pub(crate) fn needed(act: Act, revision: Revision) -> Option<Capability> {
    match act {
        Act::Call | Act::ListTools => Some(Capability::Tools),
        Act::ListResources | Act::ListTemplates | Act::ReadResource => Some(Capability::Resources),
        Act::Subscribe | Act::Unsubscribe => Some(Capability::ResourcesSubscribe),
        Act::ListPrompts | Act::GetPrompt => Some(Capability::Prompts),
        Act::Complete if revision == Revision::V2024_11_05 => Some(Capability::Prompts),
        Act::Complete => Some(Capability::Completions),
        Act::SetLevel => Some(Capability::Logging),
        Act::ListTasks => Some(Capability::TasksList),
        Act::GetTask => Some(Capability::Tasks),
        Act::CancelTask if revision == Revision::V2026_07_28 => Some(Capability::Tasks),
        Act::CancelTask => Some(Capability::TasksCancel),
        Act::Ping
        | Act::Discover
        | Act::Listen
        | Act::RootsChanged
        | Act::Cancel
        | Act::Garbage
        | Act::Batch => None,
    }
}

/// Whether the revision has what the step asks for.
pub(crate) fn is_in(act: Act, revision: Revision) -> bool {
    let is_stateless = revision == Revision::V2026_07_28;
    match act {
        Act::Ping | Act::RootsChanged | Act::Subscribe | Act::Unsubscribe | Act::SetLevel => {
            !is_stateless
        }
        Act::ListTasks => revision == Revision::V2025_11_25,
        Act::CancelTask | Act::GetTask => revision >= Revision::V2025_11_25,
        Act::Discover | Act::Listen => is_stateless,
        _ => true,
    }
}

/// What a step begins with; `task` is the id of the task of the step that it names. `None` where there is nothing to ask.
pub(crate) fn first(
    step: &Step,
    revision: Revision,
    other: Capabilities,
    task: Option<&str>,
) -> Option<Letter> {
    let is_stateless = revision == Revision::V2026_07_28;
    let request = |method| Message::request(method, Key::ABSENT);
    let with = |method, members: String| Letter::with(request(method).with_params(), members);
    let n = step.n;
    Some(match step.act {
        Act::Call => {
            let message = Message::tools_call(Key::ABSENT, step.tool, n, Key::ABSENT);
            let is_task =
                step.task && revision == Revision::V2025_11_25 && other.has(Capability::Tasks);
            let body = if is_task {
                Some(Body::default().and("\"task\":{\"ttl\":60000}"))
            } else if step.tool == Tool::Log && is_stateless {
                Some(Body::default().with_meta("\"io.modelcontextprotocol/logLevel\":\"info\""))
            } else {
                None
            };
            Letter { message, body }
        }
        Act::ListTools => request(Method::ToolsList).into(),
        Act::Ping => request(Method::Ping).into(),
        Act::ListResources => request(Method::ResourcesList).into(),
        Act::ListTemplates => request(Method::ResourcesTemplatesList).into(),
        Act::ListPrompts => request(Method::PromptsList).into(),
        Act::ReadResource => with(
            Method::ResourcesRead,
            format!("\"uri\":\"{}\"", library::uri(n)),
        ),
        Act::Subscribe => with(
            Method::ResourcesSubscribe,
            format!("\"uri\":\"{}\"", library::uri(n)),
        ),
        Act::Unsubscribe => with(
            Method::ResourcesUnsubscribe,
            format!("\"uri\":\"{}\"", library::uri(n)),
        ),
        Act::GetPrompt => {
            let arguments = match n % 2 {
                1 => ",\"arguments\":{\"topic\":\"x\"}",
                _ => "",
            };
            with(Method::PromptsGet, format!("\"name\":\"p{n}\"{arguments}"))
        }
        Act::Complete => {
            let (reference, name) = match n % 2 {
                0 => (
                    "\"type\":\"ref/resource\",\"uri\":\"file:///r/{number}\"",
                    "number",
                ),
                _ => ("\"type\":\"ref/prompt\",\"name\":\"p1\"", "topic"),
            };
            with(
                Method::CompletionComplete,
                format!(
                    "\"ref\":{{{reference}}},\"argument\":{{\"name\":\"{name}\",\"value\":\"1\"}}"
                ),
            )
        }
        Act::SetLevel => {
            let level = library::LEVELS[n as usize % library::LEVELS.len()];
            with(Method::LoggingSetLevel, format!("\"level\":\"{level}\""))
        }
        Act::ListTasks => request(Method::TasksList).into(),
        Act::GetTask => poll(&crate::tasks::id(n.try_into().unwrap_or(u16::MAX))),
        Act::CancelTask => with(Method::TasksCancel, format!("\"taskId\":\"{}\"", task?)),
        Act::Discover => request(Method::ServerDiscover).into(),
        Act::Listen => {
            let task = task.map_or(String::new(), |id| format!(",\"taskIds\":[\"{id}\"]"));
            let uri = library::uri(n);
            with(
                Method::SubscriptionsListen,
                format!(
                    "\"notifications\":{{\"toolsListChanged\":true,\"promptsListChanged\":true,\
                     \"resourcesListChanged\":true,\"resourceSubscriptions\":[\"{uri}\"]{task}}}"
                ),
            )
        }
        Act::RootsChanged | Act::Cancel | Act::Garbage | Act::Batch => return None,
    })
}

/// The request for how far a task has come.
pub(crate) fn poll(id: &str) -> Letter {
    let message = Message::request(Method::TasksGet, Key::ABSENT).with_params();
    Letter::with(message, format!("\"taskId\":\"{id}\""))
}

/// What follows from the answer to a request of that step.
pub(crate) fn next(
    step: &Step,
    asked: Method,
    revision: Revision,
    message: &Message,
    raw: Option<&[u8]>,
) -> Next {
    // What a structured message holds needs no second look.
    if message.kind != Kind::Result || raw.is_none() {
        return Next::Done;
    }
    let result = member(raw, "result");
    let text = |name: &str| result.get(name).and_then(Value::as_str);
    match asked {
        Method::ResourcesList | Method::ResourcesTemplatesList | Method::PromptsList => {
            match result.get("nextCursor") {
                // What is no string is no cursor, and there is nothing to go on with.
                Some(Value::String(cursor)) => {
                    let cursor = Value::from(cursor.as_str());
                    let message = Message::request(asked, Key::ABSENT).with_params();
                    Next::Ask(Letter::with(message, format!("\"cursor\":{cursor}")))
                }
                _ => Next::Done,
            }
        }
        Method::ToolsCall if message.shape == Shape::Task => {
            match result.pointer("/task/taskId").and_then(Value::as_str) {
                Some(id) => Next::Follow(id.to_owned()),
                None => Next::Done,
            }
        }
        Method::ToolsCall => match (text("resultType"), text("taskId")) {
            (Some("input_required"), _) => {
                let asks = ["inputRequests", "requestState"]
                    .iter()
                    .any(|name| result.get(name).is_some());
                match asks {
                    true => Next::Ask(rounds::again(step.tool, step.n, &result)),
                    // What asks for nothing would be asked for ever.
                    false => Next::Done,
                }
            }
            (Some("task"), Some(id)) => Next::Wait(id.to_owned()),
            _ => Next::Done,
        },
        Method::TasksGet if step.act == Act::GetTask => Next::Done,
        Method::TasksGet => {
            let Some(id) = text("taskId") else {
                return Next::Done;
            };
            let about = |method, more: &str| {
                let message = Message::request(method, Key::ABSENT).with_params();
                Next::Ask(Letter::with(message, format!("\"taskId\":\"{id}\"{more}")))
            };
            match (text("status"), result.get("inputRequests")) {
                (Some("input_required"), Some(asked)) => about(
                    Method::TasksUpdate,
                    &format!(",{}", rounds::responses(asked)),
                ),
                (Some("working"), _) if revision == Revision::V2026_07_28 => {
                    Next::Wait(id.to_owned())
                }
                (Some("working" | "completed"), _) if revision == Revision::V2025_11_25 => {
                    about(Method::TasksResult, "")
                }
                _ => Next::Done,
            }
        }
        _ => Next::Done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpsim_traces::render::{Spellings, render_with};

    fn after(asked: Method, revision: Revision, text: &str) -> Next {
        use mcpsim_traces::classify::classify;
        use mcpsim_traces::scan::Scanner;
        let message = classify(text.as_bytes(), &mut Scanner::new()).message;
        let step = Step::call(Tool::Ask, 3);
        next(&step, asked, revision, &message, Some(text.as_bytes()))
    }

    #[test]
    fn pages_are_followed_whatever_their_cursor_says() {
        let more = r#"{"jsonrpc":"2.0","id":1,"result":{"prompts":[],"nextCursor":""}}"#;
        let Next::Ask(letter) = after(Method::PromptsList, Revision::V2025_11_25, more) else {
            panic!("an empty cursor is a cursor")
        };
        assert_eq!(letter.message.method, Method::PromptsList);
        let last = r#"{"jsonrpc":"2.0","id":1,"result":{"prompts":[]}}"#;
        assert_eq!(
            after(Method::PromptsList, Revision::V2025_11_25, last),
            Next::Done
        );
    }

    #[test]
    fn a_question_is_answered_under_its_state() {
        let asks = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s","inputRequests":{"k":{"method":"roots/list"}}}}"#;
        let Next::Ask(letter) = after(Method::ToolsCall, Revision::V2026_07_28, asks) else {
            panic!("a question wants an answer")
        };
        let mut text = vec![];
        let body = letter.body.expect("members");
        render_with(&letter.message, &body, &Spellings::default(), &mut text);
        let text = String::from_utf8(text).expect("text");
        assert!(
            text.contains("\"inputResponses\":{\"k\":{\"roots\":["),
            "{text}"
        );
        assert!(text.contains("\"requestState\":\"s\""), "{text}");
        assert!(
            text.contains("\"name\":\"ask\",\"arguments\":{\"n\":3}"),
            "{text}"
        );
    }

    #[test]
    fn a_task_is_waited_for() {
        let made = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"task","taskId":"t"}}"#;
        assert_eq!(
            after(Method::ToolsCall, Revision::V2026_07_28, made),
            Next::Wait("t".to_owned())
        );
    }
}
