//! Progress, cancellation and roots under 2026-07-28: rows whose code is that of sessions.

use mcpsim_traces::judge::Severity;

use crate::rules::{
    Basis, Category, Level, Needs, Rule, STATELESS_MUST, STATELESS_SHOULD, Side, When,
};

pub(crate) const PAGE_CURSOR_OPAQUE: Rule = Rule {
    id: "page-cursor-opaque",
    category: Category::Pagination,
    severity: Severity::Warning,
    side: Side::Client,
    source: "2026-07-28 server/utilities/pagination (Implementation Guidelines)",
    says: "A cursor goes back as it was, to the list that handed it out, and is never made up.",
    why: "It means something to its server alone; another one is refused, or read as another place in the list.",
    tier: 2,
    needs: Needs::Causal,
    when: When::CURSOR,
    ..STATELESS_MUST
};

pub(crate) const PAGE_NO_LOOP: Rule = Rule {
    id: "page-no-loop",
    category: Category::Pagination,
    basis: Basis::Derived,
    side: Side::Server,
    source: "2026-07-28 server/utilities/pagination (Implementation Guidelines)",
    says: "Following nextCursor comes to an end: no page leads back to itself or to an earlier one.",
    why: "A client that reads the whole list reads for ever.",
    needs: Needs::Causal,
    when: When::PAGE,
    ..STATELESS_SHOULD
};

pub(crate) const PAGE_INVALID_CURSOR_ERROR: Rule = Rule {
    id: "page-invalid-cursor-error",
    category: Category::Pagination,
    side: Side::Server,
    source: "2026-07-28 server/utilities/pagination (Error Handling)",
    says: "A cursor that the server does not know is refused with -32602.",
    why: "A client that gets a page instead goes on from a place that nobody chose.",
    tier: 3,
    needs: Needs::Causal,
    when: When::CURSOR,
    ..STATELESS_SHOULD
};

const PROGRESS: Rule = Rule {
    category: Category::Progress,
    side: Side::Server,
    when: When::STATELESS_PROGRESS,
    ..STATELESS_MUST
};

const PROGRESS_TOKEN_UNIQUE: Rule = Rule {
    id: "progress-token-unique",
    side: Side::Client,
    needs: Needs::OffenderLog,
    source: "2026-07-28 basic/patterns/progress (Progress Flow)",
    says: "A progress token belongs to one request in flight.",
    why: "Nobody can tell whose progress it is. Once the request is answered the token is free again.",
    when: When::STATELESS_TOKEN,
    ..PROGRESS
};

const PROGRESS_KNOWN_TOKEN: Rule = Rule {
    id: "progress-known-token",
    needs: Needs::Causal,
    source: "2026-07-28 basic/patterns/progress (Behavior Requirements)",
    says: "Progress is reported under a token that the client gave.",
    why: "It is dropped, and the request that it is for looks dead. The request's id is no substitute.",
    ..PROGRESS
};

const PROGRESS_INCREASES: Rule = Rule {
    id: "progress-increases",
    needs: Needs::SameDirection,
    source: "2026-07-28 basic/patterns/progress (Progress Flow)",
    says: "Each progress value of a request is greater than the one before.",
    why: "Bars jump back, and timers that restart on progress never end. Equal values count.",
    ..PROGRESS
};

const PROGRESS_STOPS_AFTER_RESPONSE: Rule = Rule {
    id: "progress-stops-after-response",
    needs: Needs::SameDirection,
    source: "2026-07-28 basic/patterns/progress (Implementation Notes)",
    says: "Progress ends with the answer, be it only a question for input.",
    why: "The token is free by then, and what comes late is shown on the next request that has it.",
    ..PROGRESS
};

const CANCEL: Rule = Rule {
    category: Category::Cancellation,
    when: When::STATELESS_CANCEL,
    ..STATELESS_MUST
};

const CANCEL_OWN_REQUEST: Rule = Rule {
    id: "cancel-own-request",
    side: Side::Client,
    needs: Needs::SameDirection,
    source: "2026-07-28 basic/patterns/cancellation (Behavior Requirements)",
    says: "A client cancels only its own requests, by the id with its type, and only while they run.",
    why: "Under another id nothing is withdrawn, and what was meant runs on. That an answer and a cancel cross is normal.",
    ..CANCEL
};

pub(crate) const CANCEL_SERVER_ONLY_LISTEN: Rule = Rule {
    id: "cancel-server-only-listen",
    side: Side::Server,
    needs: Needs::Causal,
    source: "2026-07-28 basic/patterns/cancellation (Behavior Requirements)",
    says: "A server cancels nothing but the client's request subscriptions/listen, to end that subscription.",
    why: "The client goes on waiting for its answer; to stop serving a request, answer it with an error.",
    ..CANCEL
};

const CANCEL_NO_MORE_MESSAGES: Rule = Rule {
    id: "cancel-no-more-messages",
    side: Side::Server,
    needs: Needs::OffenderLog,
    tier: 3,
    source: "2026-07-28 basic/transports/stdio (Cancellation)",
    says: "Once a server has received a cancel it sends nothing more for that request.",
    why: "The id and the token are free for the client to use again. Where the two may have crossed this is a note.",
    ..CANCEL
};

pub(crate) const CANCEL_NOT_ON_HTTP: Rule = Rule {
    id: "cancel-not-on-http",
    category: Category::Cancellation,
    side: Side::Client,
    level: Level::MayNote,
    severity: Severity::Note,
    tier: 3,
    needs: Needs::Transport,
    source: "2026-07-28 basic/patterns/cancellation (Transport-Specific Cancellation)",
    says: "On HTTP a client cancels by closing the response stream.",
    why: "A server that looks at streams alone goes on working; nothing forbids the notification.",
    ..CANCEL
};

const CANCEL_CLIENT_STDIO: Rule = Rule {
    id: "cancel-client-stdio",
    side: Side::Client,
    severity: Severity::Warning,
    tier: 3,
    needs: Needs::Time,
    source: "2026-07-28 basic/patterns/cancellation (Transport-Specific Cancellation)",
    says: "A client that gives up on a request says so: on a pipe with a cancel, on HTTP by closing the stream.",
    why: "The server goes on working for nobody.",
    when: When::STATELESS,
    ..CANCEL
};

const CANCEL_IGNORED_IF_MOOT: Rule = Rule {
    id: "cancel-ignored-if-moot",
    category: Category::Cancellation,
    side: Side::Receiver,
    needs: Needs::OffenderLog,
    tier: 3,
    source: "2026-07-28 basic/patterns/cancellation (Error Handling)",
    says: "A cancel that means nothing to the server is dropped without a reply.",
    why: "Nobody waits for one, and a cancel and an answer may have crossed.",
    when: When::STATELESS_CANCEL,
    ..STATELESS_SHOULD
};

const ROOTS_FILE_URI: Rule = Rule {
    id: "roots-file-uri",
    category: Category::Roots,
    side: Side::Client,
    needs: Needs::Causal,
    source: "2026-07-28 client/roots (Root)",
    says: "The uri of a root begins with file://.",
    why: "Servers cut the scheme off to get a path; of a bare path they cut something else.",
    when: When::RETRY,
    ..STATELESS_MUST
};

/// The rows of this group.
pub(crate) const ROWS: &[Rule] = &[
    PROGRESS_TOKEN_UNIQUE,
    PROGRESS_KNOWN_TOKEN,
    PROGRESS_INCREASES,
    PROGRESS_STOPS_AFTER_RESPONSE,
    CANCEL_OWN_REQUEST,
    CANCEL_SERVER_ONLY_LISTEN,
    CANCEL_NO_MORE_MESSAGES,
    CANCEL_NOT_ON_HTTP,
    CANCEL_CLIENT_STDIO,
    CANCEL_IGNORED_IF_MOOT,
    ROOTS_FILE_URI,
    PAGE_CURSOR_OPAQUE,
    PAGE_NO_LOOP,
    PAGE_INVALID_CURSOR_ERROR,
];
