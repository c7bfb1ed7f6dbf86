//! Duties of the specification that are not judged here, each with the reason.

/// A duty that is not judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotJudged {
    /// Its id in the catalogue of duties.
    pub id: &'static str,
    /// Why it is not judged.
    pub because: &'static str,
}

const fn row(id: &'static str, because: &'static str) -> NotJudged {
    NotJudged { id, because }
}

/// Every duty that is not judged, by id.
pub const NOT_JUDGED: &[NotJudged] = &[
    row(
        "capabilities-fixed",
        "How a peer reads a later message is not in its frames.",
    ),
    row(
        "client-continues-on-unsupported-version",
        "Which versions a client can speak is not in its frames.",
    ),
    row(
        "elicit-outside-request",
        "Nothing to report: in sessions a server may ask its client without being asked itself.",
    ),
    row(
        "elicit-url-consent",
        "Who opens a page, and when, is not in the frames.",
    ),
    row(
        "error-after-success-effect",
        "Nothing to report: an error settles a request as a result does, which every rule about answers follows.",
    ),
    row(
        "init-error-is-legal",
        "Nothing to report: a server may refuse initialize.",
    ),
    row(
        "ping-prompt",
        "The text gives no number; an answer that outlasts the patience is request-unanswered.",
    ),
    row(
        "resource-link-unlisted",
        "Nothing to report: a linked resource need not be listed.",
    ),
    row(
        "response-after-cancel-sent",
        "Nothing to report: an answer and a cancel may cross.",
    ),
    row(
        "responses-any-order",
        "Nothing to report: answers come in any order.",
    ),
    row(
        "sampling-hints-order",
        "Which models a client has is not in its frames, and hints are advice.",
    ),
    row(
        "task-get-no-stream",
        "Which kind of body answered a request is not in what is judged with the frames.",
    ),
    row(
        "task-isolation",
        "It takes two sessions with different identities.",
    ),
    row(
        "task-legacy-param-ignored",
        "That a result depends on the member shows only where the same call is made with and without it.",
    ),
    row(
        "task-status-not-relied-on",
        "What a requestor relies on is not in its frames.",
    ),
    row(
        "task-transition",
        "Nothing to report: frames show samples of a task's life, and what lies between them may have been any lawful step.",
    ),
    row(
        "task-ttl-override",
        "Nothing to report: a receiver may keep a task longer or shorter than was asked.",
    ),
    row(
        "version-latest-offered",
        "Which versions a peer can speak is not in its frames.",
    ),
    row(
        "version-same-when-supported",
        "Which versions a server can speak is not in its frames.",
    ),
];
