//! How requests are refused that cannot be served: what does not exist, is not known or is not offered, and
//! under which error code.

use mcpsim_traces::event::Role;
use mcpsim_traces::judge::{Severity, Verdict};
use mcpsim_traces::message::{Capability, Kind, Method, Revision};
use mcpsim_traces::tape::Value;

use crate::deep::levels::LEVELS;
use crate::deep::listing::{Body, ListKind};
use crate::deep::topics::ignore;
use crate::deep::{Deep, Frame, Topic};
use crate::ledger::Cx;
use crate::part::{Part, flag};
use crate::rules::listing::is_partial;
use crate::rules::pagination::strange_cursor_answered;
use crate::rules::stateless::capability::CAPS_LIST_ANSWERED;
use crate::rules::stateless::payload::RES_EMPTY_CONTENTS;
use crate::rules::{Basis, Category, NOTE, Needs, Rule, Side, When};

pub(crate) const UNKNOWN_TOOL_ERROR: Rule = Rule {
    id: "unknown-tool-error",
    category: Category::Tools,
    basis: Basis::Lowercase,
    side: Side::Server,
    source: "2025-11-25 server/tools (Error Handling)",
    says: "A call of a tool that does not exist gets a protocol error, not a result with isError.",
    why: "A model reads such a result as a tool that failed, and tries again.",
    needs: Needs::Causal,
    when: When::result(Method::ToolsCall),
    twin: "tools-unknown-tool-error",
    ..NOTE
};

pub(crate) const TOOL_FAILURE_AS_PROTOCOL_ERROR: Rule = Rule {
    id: "tool-failure-as-protocol-error",
    category: Category::Tools,
    side: Side::Server,
    source: "2025-11-25 schema.ts (CallToolResult)",
    says: "What fails inside a tool is told in a result with isError, not as a JSON-RPC error.",
    why: "Clients keep protocol errors from the model, which then never learns what went wrong.",
    needs: Needs::Causal,
    when: When::error(Method::ToolsCall),
    twin: "tools-exec-error-in-result",
    ..NOTE
};

pub(crate) const RESOURCE_NOT_FOUND_CODE: Rule = Rule {
    id: "resource-not-found-code",
    category: Category::Resources,
    side: Side::Server,
    source: "2025-11-25 server/resources (Error Handling)",
    says: "Reading a resource that does not exist is refused with -32002.",
    why: "Clients tell a missing resource from a broken server by the code.",
    needs: Needs::Causal,
    when: When::error(Method::ResourcesRead),
    twin: "res-not-found-code",
    ..NOTE
};

pub(crate) const PROMPT_REQUIRED_ARGUMENT: Rule = Rule {
    id: "prompt-required-argument",
    category: Category::Prompts,
    side: Side::Server,
    source: "2025-11-25 server/prompts (Error Handling)",
    says: "A prompt asked for without a required argument, or one that does not exist, is refused with -32602.",
    why: "A prompt with a hole in it goes to the model as if somebody had meant it.",
    needs: Needs::Causal,
    when: When::call(Method::PromptsGet),
    twin: "prompts-bad-name-error",
    ..NOTE
};

pub(crate) const COMPLETE_ERROR_CODES: Rule = Rule {
    id: "complete-error-codes",
    category: Category::Completion,
    side: Side::Server,
    from: Revision::V2025_03_26,
    source: "2025-11-25 server/utilities/completion (Error Handling)",
    says: "Completion that is not offered is refused with -32601, a bad reference or a missing argument with -32602.",
    why: "A client that knows the reason stops asking; with another code it asks at every key.",
    needs: Needs::Causal,
    when: When::error(Method::CompletionComplete),
    ..NOTE
};

pub(crate) const LOG_INVALID_LEVEL_ERROR: Rule = Rule {
    id: "log-invalid-level-error",
    category: Category::Logging,
    side: Side::Server,
    source: "2025-11-25 server/utilities/logging (Error Handling)",
    says: "A log level that does not exist is refused with -32602.",
    why: "Accepted, it sets some level that nobody chose.",
    needs: Needs::Causal,
    when: When::call(Method::LoggingSetLevel),
    ..NOTE
};

pub(crate) const ROOTS_UNSUPPORTED_ERROR: Rule = Rule {
    id: "roots-unsupported-error",
    category: Category::Roots,
    side: Side::Client,
    source: "2025-11-25 client/roots (Error Handling)",
    says: "A client without roots refuses roots/list with -32601.",
    why: "The server cannot tell a client that has no roots from one that is broken.",
    needs: Needs::Causal,
    when: When::error(Method::RootsList),
    ..NOTE
};

/// The rows of this group.
pub(crate) const ROWS: &[Rule] = &[
    UNKNOWN_TOOL_ERROR,
    TOOL_FAILURE_AS_PROTOCOL_ERROR,
    RESOURCE_NOT_FOUND_CODE,
    PROMPT_REQUIRED_ARGUMENT,
    COMPLETE_ERROR_CODES,
    LOG_INVALID_LEVEL_ERROR,
    ROOTS_UNSUPPORTED_ERROR,
];

/// prompts/get and its answers.
pub(crate) const PROMPT: Topic = server_answers(prompt_answered);
/// resources/read and its answers.
pub(crate) const READ: Topic = server_answers(read_answered);
/// completion/complete and its answers.
pub(crate) const COMPLETE: Topic = server_answers(complete_answered);
/// server/discover and its answers.
pub(crate) const DISCOVER: Topic = server_answers(discovered);

const fn server_answers(by: crate::deep::Hook) -> Topic {
    Topic { by, toward: ignore }
}

/// Whether the frame is an answer of the server to a request that nobody withdrew; its code, where it is an
/// error. The body of an HTTP error may come from anybody inside a session.
fn answer(part: &Part, cx: &Cx<'_>, frame: &Frame<'_>) -> Option<Option<i64>> {
    let asked = frame.asked.filter(|_| part.role == Role::Server)?;
    let is_cancelled = || {
        let request = part.find_in(asked.id).ok().map(|at| &part.inn[at]);
        request.is_some_and(|request| request.cancel.is_some())
    };
    match frame.message.kind {
        Kind::Result => Some(None),
        Kind::Error if cx.refused && !frame.is_stateless => None,
        Kind::Error if is_cancelled() => None,
        Kind::Error => Some(Some(frame.message.number)),
        _ => None,
    }
}

/// Errors that say nothing about what was asked for: the method, the request as such, its revision or its
/// sender's capabilities.
fn is_about_something_else(code: i64) -> bool {
    matches!(code, -32601 | -32600 | -32700) || (-32022..=-32020).contains(&code)
}

/// The server refuses to give a list.
pub(crate) fn list_refused(
    part: &Part,
    deep: &Deep,
    cx: &mut Cx<'_>,
    frame: &Frame<'_>,
    kind: ListKind,
) {
    let Some(Some(code)) = answer(part, cx, frame) else {
        return;
    };
    let is_offered = deep.listings.offered[kind as usize];
    if frame.is_stateless && code == -32601 && is_offered {
        let text = format!(
            "{} is refused as unknown, although server/discover offered `{}`",
            kind.method().as_str(),
            kind.items()
        );
        let asked = frame.asked.map_or(0, |asked| asked.frame);
        return part.broken(cx, &CAPS_LIST_ANSWERED, &[asked, cx.frame], text);
    }
    strange_cursor_answered(part, deep, cx, frame, kind, Some(code));
}

fn discovered(part: &mut Part, deep: &mut Deep, _: &mut Cx<'_>, frame: &Frame<'_>) {
    let capabilities = frame.payload.and_then(|result| result.get("capabilities"));
    if part.role != Role::Server || frame.message.kind != Kind::Result {
        return;
    }
    for kind in [ListKind::Tools, ListKind::Resources, ListKind::Prompts] {
        let offer = capabilities.and_then(|capabilities| capabilities.get(kind.items()));
        deep.listings.offered[kind as usize] = offer.is_some_and(Value::is_object);
    }
}

/// A tool's failure, told in a result: right, unless there is no such tool.
pub(crate) fn tool_failed_politely(part: &Part, deep: &Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let (Some(asked), Some(result)) = (frame.asked, frame.payload) else {
        return;
    };
    let is_error = result.get("isError").and_then(Value::as_bool) == Some(true);
    let is_missing = || {
        deep.listings
            .misses(ListKind::Tools, asked.subject, asked.basis)
    };
    if !is_error || !is_missing() || is_partial(part, deep) {
        return;
    }
    let told = result.get("content").and_then(|content| {
        let texts = content.items().filter_map(|block| block.get("text"));
        texts.into_iter().find(|text| text.is_text())
    });
    // It may have a tool that it does not list, and that one may have failed.
    let verdict = match told {
        Some(told) if says_missing(told) => Verdict::Broken,
        _ => Verdict::Unsure,
    };
    let text = "a call of a tool that no list had is answered with a result with isError; \
        of a tool that does not exist, an error tells"
        .to_string();
    let frames = [asked.frame, cx.frame];
    part.case(cx, &UNKNOWN_TOOL_ERROR, verdict, None, &frames, None, text);
}

/// The server answers tools/call with an error.
pub(crate) fn tool_refused(part: &Part, deep: &Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let (Some(asked), Some(Some(code))) = (frame.asked, answer(part, cx, frame)) else {
        return;
    };
    let listings = &deep.listings;
    let frames = [asked.frame, cx.frame];
    if listings.misses(ListKind::Tools, asked.subject, asked.basis) {
        let is_other = code != -32602 && !is_about_something_else(code);
        if frame.is_stateless && is_other && !is_partial(part, deep) {
            let text = format!(
                "a call of a tool that no list had is refused with {code}, not with -32602"
            );
            let rule = &UNKNOWN_TOOL_ERROR;
            let severity = Some(Severity::Note);
            part.case(cx, rule, Verdict::Broken, severity, &frames, None, text);
        }
        return;
    }
    let is_listed = listings
        .steady(ListKind::Tools, asked.subject, asked.basis)
        .is_some();
    // Codes that the protocol and servers reserve for the request as such.
    let is_reserved = (-32768..=-32000).contains(&code) && !(frame.is_stateless && code == -32603);
    if is_listed && !is_reserved {
        let text = format!(
            "a call of a listed tool is refused with {code}; if the tool failed, a result with isError tells"
        );
        let rule = &TOOL_FAILURE_AS_PROTOCOL_ERROR;
        part.unsure(cx, rule, &frames, text);
    }
}

fn prompt_answered(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let (Some(asked), Some(code)) = (frame.asked, answer(part, cx, frame)) else {
        return;
    };
    let is_right = match code {
        Some(code) => code == -32602 || is_about_something_else(code),
        // A server outside sessions may ask for what it lacks.
        None => frame.payload.is_some_and(|result| {
            let kind = result.get("resultType");
            frame.is_stateless && kind.is_some_and(|kind| !kind.is("complete"))
        }),
    };
    if is_right {
        return;
    }
    let frames = [asked.frame, cx.frame];
    let rule = &PROMPT_REQUIRED_ARGUMENT;
    let answer = match code {
        Some(code) => format!("is refused with {code}, not with -32602"),
        None => "is answered with a prompt; it is refused with -32602".to_string(),
    };
    let entry = deep
        .listings
        .steady(ListKind::Prompts, asked.subject, asked.basis);
    if let Some(entry) = entry
        && matches!(entry.body, Body::Prompt(_))
        && asked.basis.lacks.is_present()
    {
        let text = format!(
            "a prompts/get without the required argument {} {answer}",
            asked.basis.lacks
        );
        return part.broken(cx, rule, &frames, text);
    }
    let is_missing = deep
        .listings
        .misses(ListKind::Prompts, asked.subject, asked.basis);
    if is_missing && !is_partial(part, deep) {
        // One that is served exists, listed or not.
        let text = format!("a prompts/get of a prompt that no list had {answer}");
        match code {
            Some(_) => part.broken(cx, rule, &frames, text),
            None if frame.is_stateless => part.unsure(cx, rule, &frames, text),
            None => {}
        }
    }
}

fn read_answered(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let (Some(asked), Some(code)) = (frame.asked, answer(part, cx, frame)) else {
        return;
    };
    if !asked.subject.is_present() {
        return;
    }
    let frames = [asked.frame, cx.frame];
    let Some(code) = code else {
        return nothing_read(part, deep, cx, frame);
    };
    let rule = &RESOURCE_NOT_FOUND_CODE;
    let right = if frame.is_stateless { -32602 } else { -32002 };
    if frame.is_stateless && code == -32002 {
        let text = "resources/read is refused with -32002, which 2026-07-28 has given up; \
            a missing resource is -32602"
            .to_string();
        return part.broken(cx, rule, &frames, text);
    }
    let is_told = || {
        let error = frame.payload;
        let told = ["message", "data"].map(|name| error.and_then(|error| error.get(name)));
        told.into_iter().flatten().any(says_missing)
    };
    if code == right || is_about_something_else(code) || !is_told() {
        return;
    }
    let text =
        format!("a resource that the error calls missing is refused with {code}, not with {right}");
    if frame.is_stateless {
        part.unsure(cx, rule, &frames, text);
    } else {
        part.broken(cx, rule, &frames, text);
    }
}

/// A read that gave nothing: of a resource that does not exist, an error tells.
fn nothing_read(part: &Part, deep: &Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let (Some(asked), Some(result)) = (frame.asked, frame.payload) else {
        return;
    };
    let is_empty = |contents: Value<'_>| contents.is_array() && contents.items().next().is_none();
    let is_listed = deep.listings.list(ListKind::Resources).knows(asked.subject);
    if frame.is_stateless && !is_listed && result.get("contents").is_some_and(is_empty) {
        let text = "a resource that no list had is read as empty contents; if it does not exist, \
            an error -32602 tells"
            .to_string();
        let frames = [asked.frame, cx.frame];
        let severity = Some(Severity::Note);
        let rule = &RES_EMPTY_CONTENTS;
        part.case(cx, rule, Verdict::Unsure, severity, &frames, None, text);
    }
}

fn complete_answered(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let (Some(asked), Some(Some(code))) = (frame.asked, answer(part, cx, frame)) else {
        return;
    };
    let is_in = frame
        .revision
        .is_some_and(|revision| COMPLETE_ERROR_CODES.is_in(revision));
    if !is_in || frame.is_stateless {
        return;
    }
    let is_undeclared = part.is(flag::ANSWERED_INIT) && !part.mine.has(Capability::Completions);
    let (right, what) = if is_undeclared {
        (-32601, "completion that was not declared")
    } else if asked.read_params(|params| is_bad_reference(deep, params)) == Some(true) {
        (
            -32602,
            "completion for a prompt that no list had, or without an argument,",
        )
    } else {
        return;
    };
    if code == right || !is_undeclared && is_partial(part, deep) {
        return;
    }
    let text = format!("{what} is refused with {code}, not with {right}");
    let frames = [asked.frame, cx.frame];
    part.broken(cx, &COMPLETE_ERROR_CODES, &frames, text);
}

/// Whether the params of completion/complete name a prompt that does not exist, or no argument.
fn is_bad_reference(deep: &Deep, params: Value<'_>) -> bool {
    let name = params.path(&["ref", "name"]).filter(|name| name.is_text());
    let is_prompt = params
        .path(&["ref", "type"])
        .is_some_and(|kind| kind.is("ref/prompt"));
    let prompts = deep.listings.list(ListKind::Prompts);
    let is_missing = is_prompt && name.is_some_and(|name| prompts.lacks(name.key()));
    is_missing || params.get("argument").is_none()
}

/// The server answers logging/setLevel.
pub(crate) fn level_answered(part: &Part, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let (Some(asked), Some(code)) = (frame.asked, answer(part, cx, frame)) else {
        return;
    };
    if matches!(code, Some(-32602 | -32601)) || frame.is_stateless {
        return;
    }
    let is_known = asked.read_params(|params| {
        let level = params.get("level");
        level.is_some_and(|level| level.is_one_of(&LEVELS))
    });
    if is_known != Some(false) {
        return;
    }
    let text = match code {
        Some(code) => {
            format!("a log level that does not exist is refused with {code}, not with -32602")
        }
        None => {
            "a log level that does not exist is accepted; it is refused with -32602".to_string()
        }
    };
    let frames = [asked.frame, cx.frame];
    part.broken(cx, &LOG_INVALID_LEVEL_ERROR, &frames, text);
}

/// The client answers roots/list with an error.
pub(crate) fn roots_refused(part: &Part, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let Some(asked) = frame.asked.filter(|_| !cx.refused && !frame.is_stateless) else {
        return;
    };
    let request = part.find_in(asked.id).ok().map(|at| &part.inn[at]);
    let is_cancelled = request.is_some_and(|request| request.cancel.is_some());
    let is_without = part.is(flag::INIT_SENT) && !part.mine.has(Capability::Roots);
    let code = frame.message.number;
    if is_without && !is_cancelled && code != -32601 {
        let text =
            format!("a client without roots refuses roots/list with {code}, not with -32601");
        let frames = [asked.frame, cx.frame];
        part.broken(cx, &ROOTS_UNSUPPORTED_ERROR, &frames, text);
    }
}

/// Whether a text says that something does not exist.
fn says_missing(text: Value<'_>) -> bool {
    const WORDS: [&[u8]; 7] = [
        b"not found",
        b"notfound",
        b"no such",
        b"does not exist",
        b"doesn't exist",
        b"unknown tool",
        b"unknown resource",
    ];
    const LOOKED_AT: usize = 512;
    let Some(text) = text.as_bytes() else {
        return false;
    };
    let head = text[..text.len().min(LOOKED_AT)].to_ascii_lowercase();
    WORDS
        .iter()
        .any(|words| memchr::memmem::find(&head, words).is_some())
}
