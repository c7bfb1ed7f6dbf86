//! Questions inside results: what a server of 2026-07-28 answers with where it needs something of the client,
//! and what the client comes back with.

use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Message, Method, Shape, Tool};
use mcpsim_traces::render::{Body, ELICITATION, SAMPLED, SAMPLING};
use serde_json::Value;

use crate::features::member;
use crate::server::{done, failure};
use crate::session::{Letter, Owed};

/// The key of a question.
const KEY: &str = "question";

/// The client's capabilities as this very request declares them.
pub(crate) fn declared(raw: Option<&[u8]>) -> Value {
    let mut params = member(raw, "params");
    let path = "/_meta/io.modelcontextprotocol~1clientCapabilities";
    params
        .pointer_mut(path)
        .map(Value::take)
        .unwrap_or_default()
}

/// The id under which a user visits an address.
pub(crate) fn visit(owed: &Owed) -> String {
    match owed.id.as_integer() {
        Some(number) => format!("visit-{number}"),
        None => format!("visit-{}-{}", owed.origin.party.0, owed.origin.step),
    }
}

/// The address that a user is sent to, as 2025-11-25 has it.
pub(crate) fn address(owed: &Owed) -> String {
    let visit = visit(owed);
    format!("\"elicitationId\":\"{visit}\",\"url\":\"https://example.com/{visit}\"")
}

/// The params of an elicitation by a form.
pub(crate) fn form() -> String {
    format!("\"mode\":\"form\",{ELICITATION}")
}

/// The answer to the call of a tool that needs something of the client: a question, or what the answer to it leads to.
pub(crate) fn next(owed: &Owed, raw: Option<&[u8]>) -> Letter {
    let params = member(raw, "params");
    let pointer = format!("/inputResponses/{KEY}");
    if params.pointer(&pointer).is_some() {
        return done(owed).into();
    }
    if params.get("requestState").is_some() {
        // The client came back without an answer: asking once more would lead nowhere.
        return failure(owed).into();
    }
    let declared = declared(raw);
    let (method, is_declared, params) = match owed.tool {
        Tool::Ask => (
            Method::SamplingCreateMessage,
            declared.get("sampling").is_some(),
            SAMPLING.to_owned(),
        ),
        Tool::Confirm => (
            Method::ElicitationCreate,
            declared.get("elicitation").is_some(),
            form(),
        ),
        Tool::Link => (
            Method::ElicitationCreate,
            declared.pointer("/elicitation/url").is_some(),
            format!(
                "\"mode\":\"url\",\"message\":\"go there\",\"url\":\"https://example.com/{}\"",
                visit(owed)
            ),
        ),
        _ => (
            Method::RootsList,
            declared.get("roots").is_some(),
            String::new(),
        ),
    };
    if !is_declared {
        return failure(owed).into();
    }
    let params = match params.as_str() {
        "" => String::new(),
        params => format!(",\"params\":{{{params}}}"),
    };
    let question = format!("{{\"method\":\"{}\"{params}}}", method.as_str());
    let members = format!(
        "\"inputRequests\":{{\"{KEY}\":{question}}},\"requestState\":\"{}\"",
        owed.value
    );
    Letter {
        message: Message::result(owed.id, Shape::Other),
        body: Some(Body::of(members).and("\"resultType\":\"input_required\"")),
    }
}

/// What a client answers a question with, as the result's members.
pub(crate) fn reply(method: Method, is_address: bool) -> &'static str {
    match method {
        Method::SamplingCreateMessage => SAMPLED,
        Method::ElicitationCreate if is_address => "\"action\":\"accept\"",
        Method::ElicitationCreate => "\"action\":\"accept\",\"content\":{}",
        _ => "\"roots\":[{\"uri\":\"file:///home/user\",\"name\":\"home\"}]",
    }
}

/// The answers to the questions of a result or a task, as the member that brings them.
pub(crate) fn responses(asked: &Value) -> String {
    let questions = asked.as_object().into_iter().flatten();
    let answers: Vec<String> = questions
        .map(|(key, question)| {
            let method = question.get("method").and_then(Value::as_str).unwrap_or("");
            let mode = question.pointer("/params/mode").and_then(Value::as_str);
            let reply = reply(Method::parse(method.as_bytes()), mode == Some("url"));
            format!("{}:{{{reply}}}", Value::from(key.as_str()))
        })
        .collect();
    format!("\"inputResponses\":{{{}}}", answers.join(","))
}

/// The call that comes back with what a result asked for.
pub(crate) fn again(tool: Tool, n: u32, result: &Value) -> Letter {
    let mut body = Body::default();
    if let Some(asked) = result.get("inputRequests") {
        body = body.and(&responses(asked));
    }
    if let Some(state) = result.get("requestState") {
        body = body.and(&format!("\"requestState\":{state}"));
    }
    Letter {
        message: Message::tools_call(Key::ABSENT, tool, n, Key::ABSENT),
        body: Some(body),
    }
}
