//! Where to point at in a frame for a finding that names no value of its own.

use std::ops::Range;

use mcpsim_traces::scan::{Scanner, white};
use mcpsim_traces::tape::Value;

use crate::rules::{Category, Rule};

/// A member by the names that lead to it.
type Path = &'static [&'static str];

const ID: Path = &["id"];
const METHOD: Path = &["method"];
const PARAMS: Path = &["params"];
const RESULT: Path = &["result"];
const ERROR: Path = &["error"];
const CODE: Path = &["error", "code"];
const PARAM_TASK: Path = &["params", "task"];
const TASK_ID: Path = &["params", "taskId"];
const RESULT_TASK_ID: Path = &["result", "taskId"];
const STATUS: Path = &["result", "status"];
const TOLD_STATUS: Path = &["params", "status"];
const RESULT_TYPE: Path = &["result", "resultType"];
const VERSION: Path = &["params", "_meta", "io.modelcontextprotocol/protocolVersion"];
const SUBSCRIPTION: Path = &["params", "_meta", "io.modelcontextprotocol/subscriptionId"];
const TOKEN: Path = &["params", "progressToken"];
const ASKED_TOKEN: Path = &["params", "_meta", "progressToken"];

/// Rules that point at another member than the rest of their category; the first that is there.
const BY_RULE: &[(&str, &[Path])] = &[
    ("jsonrpc-version", &[&["jsonrpc"]]),
    ("response-result-and-error", &[ERROR]),
    ("params-not-object", &[PARAMS]),
    ("result-not-object", &[RESULT]),
    ("error-object-shape", &[ERROR]),
    ("error-code-not-integer", &[CODE]),
    (
        "meta-not-object",
        &[&["params", "_meta"], &["result", "_meta"]],
    ),
    ("method-not-string", &[METHOD]),
    ("method-not-in-revision", &[METHOD]),
    ("rpc-reserved-method", &[METHOD]),
    ("request-wrong-direction", &[METHOD]),
    ("notification-wrong-direction", &[METHOD]),
    ("request-without-id", &[METHOD]),
    ("result-id-missing", &[RESULT]),
    ("error-id-missing", &[ID, ERROR]),
    ("response-after-cancel-received", &[ID]),
    ("cancel-answered", &[ID]),
    ("progress-not-increasing", &[&["params", "progress"]]),
    ("progress-beyond-total", &[&["params", "progress"]]),
    ("progress-fields", &[&["params", "progress"], PARAMS]),
    ("version-answer-known", &[&["result", "protocolVersion"]]),
    (
        "version-offered-supported",
        &[&["params", "protocolVersion"]],
    ),
    ("server-serves-undeclared", &[RESULT]),
    ("client-serves-undeclared", &[RESULT]),
    ("is-error-type", &[&["result", "isError"]]),
    ("message-kind-unclear", &[]),
    ("env-jsonrpc-version", &[&["jsonrpc"]]),
    ("env-shape", &[METHOD, ERROR]),
    ("env-params-object", &[PARAMS]),
    ("env-result-object", &[RESULT]),
    ("env-error-shape", &[ERROR]),
    ("env-request-id-type", &[ID, METHOD]),
    ("env-notification-no-id", &[ID]),
    ("env-no-reply-to-notification", &[ID, RESULT, ERROR]),
    ("env-error-id-absent-only-if-unreadable", &[ID, ERROR]),
    ("dir-server-never-requests", &[METHOD]),
    ("removed-method", &[METHOD]),
    ("no-initialize", &[METHOD]),
    ("era-no-fallback-after-modern-error", &[METHOD]),
    ("era-dual-server-separation", &[RESULT_TYPE, RESULT, CODE]),
    ("version-client-retries-supported", &[VERSION, METHOD]),
    ("mrtr-retry-new-id", &[ID]),
    (
        "mrtr-retry-state-echo",
        &[&["params", "requestState"], PARAMS],
    ),
    ("sub-ack-first", &[METHOD]),
    ("sub-ack-once", &[METHOD]),
    ("sub-only-requested-types", &[METHOD]),
    ("sub-only-acknowledged-types", &[METHOD]),
    ("sub-silence-after-end", &[METHOD]),
    ("sub-no-tag-elsewhere", &[SUBSCRIPTION, METHOD]),
    ("log-needs-level", &[METHOD]),
    ("log-on-own-stream", &[METHOD]),
    ("log-flood", &[METHOD]),
    ("tool-call-unlisted", &[&["params", "name"]]),
    (
        "tool-arguments-fit-schema",
        &[&["params", "arguments"], PARAMS],
    ),
    ("task-undeclared", &[PARAM_TASK, PARAMS]),
    ("task-tools-undeclared", &[PARAM_TASK, PARAMS]),
    ("task-tool-forbidden", &[PARAM_TASK, PARAMS]),
    ("task-tool-required", &[&["params", "name"], PARAMS]),
    ("task-ops-undeclared", &[METHOD]),
    ("task-cancel-undeclared", &[METHOD]),
    ("task-status-direction", &[METHOD]),
    ("task-create-unasked", &[&["result", "task"], RESULT]),
    ("task-id-unique", &[&["result", "task", "taskId"], RESULT]),
    ("task-id-not-issued", &[TASK_ID, PARAMS]),
    (
        "task-terminal-final",
        &[STATUS, TOLD_STATUS, RESULT, PARAMS],
    ),
    ("task-cancel-result-status", &[STATUS, RESULT]),
    ("task-failed-message", &[STATUS, TOLD_STATUS, RESULT]),
    ("task-tool-error-failed", &[&["result", "isError"], RESULT]),
    ("task-list-complete", &[RESULT_TASK_ID, RESULT]),
    ("task-poll-interval", &[TASK_ID, METHOD]),
    ("task-capability", &[RESULT_TYPE, RESULT, METHOD]),
    ("task-ext-id-unique", &[RESULT_TASK_ID, RESULT]),
    (
        "task-ext-terminal-final",
        &[STATUS, TOLD_STATUS, RESULT, PARAMS],
    ),
    ("task-ext-poll-interval", &[TASK_ID, METHOD]),
    ("task-no-progress", &[TOKEN]),
    ("task-notifications-opted-in", &[TASK_ID, PARAMS]),
    ("task-methods-need-capability", &[RESULT, METHOD]),
    ("res-empty-contents", &[&["result", "contents"], RESULT]),
    ("tools-list-order", &[&["result", "tools"], RESULT]),
    (
        "elicit-complete-known",
        &[&["params", "elicitationId"], METHOD],
    ),
    (
        "elicit-complete-twice",
        &[&["params", "elicitationId"], METHOD],
    ),
];

fn of_category(category: Category) -> &'static [Path] {
    match category {
        Category::Ids | Category::Correlation => &[ID, METHOD],
        Category::Lifecycle | Category::Capability | Category::Notification => {
            &[METHOD, RESULT, CODE, ERROR]
        }
        Category::Cancellation => &[&["params", "requestId"], PARAMS, METHOD],
        Category::Progress => &[TOKEN, ASKED_TOKEN, PARAMS, METHOD],
        Category::Errors => &[CODE, ERROR],
        _ => &[PARAMS, RESULT, CODE, ERROR, METHOD],
    }
}

/// Where a finding of that rule points at, in the text of its frame (or of a member of an array): a member, or
/// the first byte that cannot be read.
#[cold]
pub(crate) fn spot(rule: &Rule, text: &[u8], body: Option<Value<'_>>) -> Option<Range<usize>> {
    if rule.id == "not-utf8" {
        let wrong = std::str::from_utf8(text).err()?;
        let length = wrong.error_len().unwrap_or(1);
        return Some(wrong.valid_up_to()..(wrong.valid_up_to() + length).min(text.len()));
    }
    if matches!(rule.category, Category::Batch) || rule.id == "env-single-message" {
        let open = white(text, 0);
        if text.get(open) == Some(&b'[') {
            return Some(open..open + 1);
        }
    }
    let is_whole = |body: &Value<'_>| white(text, body.span().end) == text.len();
    let Some(body) = body.filter(is_whole) else {
        return unreadable(text);
    };
    if rule.id == "json-duplicate-keys" {
        return doubled(body);
    }
    let paths = BY_RULE
        .iter()
        .find(|(id, _)| *id == rule.id)
        .map_or(of_category(rule.category), |(_, paths)| paths);
    paths
        .iter()
        .find_map(|path| body.path(path))
        .map(Value::span)
}

/// The place where a text stops to be JSON: the first character that does not fit, or the last one of a text
/// that goes on no further.
fn unreadable(text: &[u8]) -> Option<Range<usize>> {
    let at = match Scanner::new().value(text, white(text, 0)) {
        Err(fault) => fault.at.min(text.len().checked_sub(1)?),
        Ok(end) => white(text, end),
    };
    (at < text.len()).then_some(at..at + 1)
}

/// The second member of a name, where that is among the frame's own members.
fn doubled(body: Value<'_>) -> Option<Range<usize>> {
    let mut seen = vec![];
    for (name, value) in body.members() {
        let name_text = name.as_bytes()?;
        if seen.contains(&name_text) {
            return Some(name.span().start..value.span().end);
        }
        seen.push(name_text);
        if seen.len() > MEMBERS_MAX {
            return None;
        }
    }
    None
}

/// More members than this are not compared with each other.
const MEMBERS_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::rule;

    #[track_caller]
    fn check(id: &str, text: &[u8], expected: Option<&[u8]>) {
        let rule = rule(id).expect("a rule");
        let mut scanner = Scanner::recording();
        let body = match scanner.value(text, 0) {
            Ok(_) => scanner.body(text),
            Err(_) => None,
        };
        assert_eq!(spot(rule, text, body).map(|spot| &text[spot]), expected);
    }

    #[test]
    fn the_member_that_matters_is_pointed_at() {
        let cancel = br#"{"method":"notifications/cancelled","params":{"requestId":"a"}}"#;
        check("cancel-unknown-request", cancel, Some(b"\"a\""));
        check(
            "response-unknown-id",
            br#"{"id": 7,"result":{}}"#,
            Some(b"7"),
        );
        check(
            "initialize-first",
            br#"{"id":7,"method":"ping"}"#,
            Some(b"\"ping\""),
        );
        check("jsonrpc-version", br#"{"id":7,"method":"ping"}"#, None);
        let twice = br#"{"id":7,"method":"ping","id":8}"#;
        check("json-duplicate-keys", twice, Some(b"\"id\":8"));
    }

    #[test]
    fn what_is_wrong_without_a_value_of_its_own_is_pointed_at() {
        let change = br#"{"method":"notifications/tools/list_changed","params":{"_meta":{}}}"#;
        let method = Some(&b"\"notifications/tools/list_changed\""[..]);
        check("sub-ack-first", change, method);
        check("sub-only-requested-types", change, method);
        let early = br#"{"id":null,"method":"tools/list","params":{}}"#;
        check("env-request-id-type", early, Some(b"null"));
        check(
            "removed-method",
            br#"{"id":1,"method":"ping","params":{}}"#,
            Some(b"\"ping\""),
        );
        let task = br#"{"id":1,"result":{"task":{"taskId":"k"}}}"#;
        check("task-id-unique", task, Some(b"\"k\""));
        // Of an error what is wrong is its code, where nothing else is known of it.
        let error = br#"{"id":1,"error":{"message":"m","code":-32603}}"#;
        check("ping-answered", error, Some(b"-32603"));
        check("task-unknown-id", error, Some(b"-32603"));
        check(
            "env-error-shape",
            br#"{"id":1,"error":"no"}"#,
            Some(b"\"no\""),
        );
    }

    #[test]
    fn what_cannot_be_read_is_pointed_at() {
        check("unparsable-message", b"{\"id\":1,", Some(b","));
        check("unparsable-message", b"{\"id\":x}", Some(b"x"));
        check("not-utf8", b"{\"a\":\"\xFF\"}", Some(b"\xFF"));
        check("unparsable-message", b"", None);
        check("unparsable-message", b"{\"id\":1} {}", Some(b"{"));
        check("unparsable-message", b"{\"id\":1", Some(b"1"));
        check("batch-not-in-revision", b" [{\"id\":1}]", Some(b"["));
    }

    #[test]
    fn every_rule_that_is_named_is_there() {
        for (id, _) in BY_RULE {
            assert!(rule(id).is_some(), "{id}");
        }
    }
}
