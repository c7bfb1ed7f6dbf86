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
        "batch-order-inside",
        "Nothing to report: the members of an array may be handled in any order.",
    ),
    row(
        "cache-invalidated-by-notification",
        "What a client takes from its cache it does not send.",
    ),
    row(
        "cache-key",
        "What a client takes from its cache it does not send.",
    ),
    row(
        "cache-private-not-shared",
        "What is taken from a cache, and on whose rights, is not in the frames.",
    ),
    row(
        "cancel-disconnect-is-cancel",
        "Once the stream is closed nothing of the work can be seen any more.",
    ),
    row(
        "capabilities-fixed",
        "How a peer reads a later message is not in its frames.",
    ),
    row(
        "client-continues-on-unsupported-version",
        "Which versions a client can speak is not in its frames.",
    ),
    row(
        "custom-transport-preserves",
        "Faults of form and lifecycle are reported by their own rules, whatever carries the frames.",
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
        "env-unknown-method-note",
        "Nothing to report: an extension may define methods of its own, and refusing them is right.",
    ),
    row(
        "era-cached",
        "A second server/discover may ask for fresh capabilities as well as probe; its frame does not tell which.",
    ),
    row(
        "era-legacy-result-without-type",
        "How a client reads a result is not in its frames.",
    ),
    row(
        "error-after-success-effect",
        "Nothing to report: an error settles a request as a result does, which every rule about answers follows.",
    ),
    row(
        "http-client-accepts-both",
        "It takes a server that answers one way and the other on purpose, and a client that is seen to fail.",
    ),
    row(
        "http-disconnect-not-cancel",
        "Whether a server dropped its work when a connection broke shows only in its own log.",
    ),
    row(
        "http-old-transport-probe",
        "Nothing to report: a client may try the older transport after its first POST failed.",
    ),
    row(
        "http-origin",
        "Which origins are foreign to a server is known only to whoever tries one.",
    ),
    row(
        "http-origin-403",
        "Which origins are foreign to a server is known only to whoever tries one.",
    ),
    row(
        "http-origin-checked",
        "Which origins are foreign to a server is known only to whoever tries one.",
    ),
    row(
        "id-reuse-after-completion-note",
        "Nothing to report: once it is answered an id is free again.",
    ),
    row(
        "identity-not-for-behaviour",
        "Only the same session under two names shows it, which is two logs.",
    ),
    row(
        "init-error-is-legal",
        "Nothing to report: a server may refuse initialize.",
    ),
    row(
        "mrtr-not-cached",
        "What a client takes from its cache it does not send.",
    ),
    row(
        "mrtr-state-replay",
        "Who presents a state, and what a server binds it to, is not in the frames.",
    ),
    row(
        "mrtr-tampered-state-rejected",
        "Whether a state was altered on purpose, and what it decides, is not in the frames.",
    ),
    row(
        "page-empty-cursor-valid",
        "A client may stop reading a list at any page; why it stopped is not in its frames.",
    ),
    row(
        "page-size-assumed",
        "A client may stop reading a list at any page; what it took for granted is not in its frames.",
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
        "result-type-unknown-rejected",
        "What a client makes of a result that it has to refuse is not in its frames.",
    ),
    row(
        "roots-boundaries",
        "What a server does with files is not in its frames.",
    ),
    row(
        "sampling-hints-order",
        "Which models a client has is not in its frames, and hints are advice.",
    ),
    row(
        "schema-dialect-unsupported",
        "Whether a peer can read a dialect, and what it does with one that it cannot, is not in its frames.",
    ),
    row(
        "stdio-client-shutdown-order",
        "Signals to the server's process are not in its frames.",
    ),
    row(
        "stdio-no-session-proxy",
        "It takes two runs of one request, in a fresh process and in a used one.",
    ),
    row(
        "stdio-shutdown-order",
        "Signals to the server's process are not in its frames.",
    ),
    row(
        "stdio-stderr-not-error",
        "Why a client ends a session is not in its frames.",
    ),
    row(
        "sub-change-notified",
        "That a list changed shows only where it is read twice, and outside sessions what is read may differ by caller and be told later.",
    ),
    row(
        "sub-relisten-after-reconnect",
        "Whether a client still wants to be told is not in its frames.",
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
        "tools-list-stable",
        "Frames do not tell a list that depends on its connection from one that has changed.",
    ),
    row(
        "tools-no-network-ref",
        "What a peer fetches is on no link that is watched.",
    ),
    row(
        "version-latest-offered",
        "Which versions a peer can speak is not in its frames.",
    ),
    row(
        "version-legacy-in-modern-meta",
        "Nothing to report: what an older version means in the newer form is not laid down.",
    ),
    row(
        "version-same-when-supported",
        "Which versions a server can speak is not in its frames.",
    ),
];
