//! Cases of a rule that are less severe than the rule: what is wrong in them may do no harm, or its sender could not know better.

/// By rule: when a finding of it says a milder severity than the rule's own.
const MILDER: &[(&str, &str)] = &[
    (
        "batch-not-in-revision",
        "a warning where the sender may not have known the revision yet: seen from elsewhere, before the client has shown that \
         it had the answer to initialize (on HTTP each request shows it by its session id or version header)",
    ),
    (
        "cancel-request-id-missing",
        "a warning under 2025-11-25 where there are params without an id: its schema does not require one",
    ),
    (
        "cancel-task-by-notification",
        "a warning while the sender may not have known yet that the request runs as a task: seen from elsewhere, until what it \
         sends shows that it had the task",
    ),
    (
        "client-serves-undeclared",
        "a note where what it serves is an empty list",
    ),
    (
        "cursor-not-issued",
        "a warning for an empty cursor, by which some clients ask for the first page",
    ),
    (
        "http-session-id-issue",
        "a warning where an answer carries another id than the answer to initialize did",
    ),
    (
        "http-sse-close-after-response",
        "a warning where more comes on the stream after the answer",
    ),
    (
        "http-x-mcp-header-valid",
        "a warning on stdio, where nobody reads the annotation",
    ),
    (
        "id-unique-in-flight",
        "a note where the id is that of a request that was cancelled and never answered",
    ),
    (
        "mrtr-has-requests-or-state",
        "a warning for a result that has inputRequests, but none in it",
    ),
    (
        "mrtr-no-invented-state",
        "a warning, and unsure, where the recording or the process is not known from its beginning",
    ),
    (
        "mrtr-retry-new-id",
        "a warning where the id is that of the exchange's first request, and not of the last",
    ),
    (
        "mrtr-state-single-exchange",
        "a warning where only the names of the answers are those of another request's question",
    ),
    (
        "not-utf8",
        "a note under 2024-11-05, whose transport page does not ask for UTF-8 yet",
    ),
    (
        "request-unanswered",
        "a warning, and unsure, where the answer came after the patience had run out",
    ),
    (
        "response-to-notification",
        "a warning where the order alone shows it: an error without an id while no request is open",
    ),
    (
        "result-type-known",
        "a warning where the request declares an extension that may define the kind",
    ),
    (
        "server-serves-undeclared",
        "a warning where what it serves is an empty list",
    ),
    (
        "task-capability",
        "a warning where the client declares the extension and only the server does not list it",
    ),
    (
        "task-timestamps",
        "a warning where the time of creation changes",
    ),
    (
        "unknown-method-answer",
        "a warning where the method exists and the server does not list what it belongs to",
    ),
];

/// When a finding of that rule is less severe than the rule; `None` where that is never said.
pub fn milder(id: &str) -> Option<&'static str> {
    let found = MILDER.iter().find(|(rule, _)| *rule == id);
    found.map(|(_, words)| *words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::rule;

    #[test]
    fn the_table_is_sorted_and_names_rules() {
        assert!(MILDER.is_sorted_by(|one, other| one.0 < other.0));
        for (id, words) in MILDER {
            assert!(rule(id).is_some(), "{id}");
            assert!(words.starts_with("a "), "{words}");
        }
        assert_eq!(milder("duplicate-response"), None);
    }
}
