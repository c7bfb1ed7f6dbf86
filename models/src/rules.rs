//! The rule table: one row for each rule, kept beside the code that decides it.

use mcpsim_traces::judge::Severity;
use mcpsim_traces::message::{Method, Revision};

pub(crate) mod asks;
pub(crate) mod batch;
pub(crate) mod cancellation;
pub(crate) mod capability;
pub mod cite;
pub(crate) mod completion;
pub(crate) mod correlation;
pub(crate) mod elicitation;
pub(crate) mod envelope;
pub(crate) mod errors;
pub(crate) mod flood;
pub(crate) mod http;
mod http_parts;
pub(crate) mod ids;
pub(crate) mod lifecycle;
pub(crate) mod listing;
pub(crate) mod log_levels;
pub(crate) mod logging;
pub mod lost;
mod milder;
mod not_judged;
pub(crate) mod notification;
pub(crate) mod pagination;
pub(crate) mod payload;
pub(crate) mod ping;
pub(crate) mod progress;
pub(crate) mod prompts;
pub(crate) mod refusals;
pub(crate) mod resources;
pub(crate) mod roots;
pub(crate) mod sampling;
pub(crate) mod stateless;
pub(crate) mod tasks;
pub(crate) mod tool_calls;
pub(crate) mod tool_results;
pub(crate) mod tool_schemas;
pub(crate) mod tools;
pub(crate) mod transport_stdio;
pub(crate) mod updates;

pub use http_parts::http_part;
pub use milder::milder;
pub use not_judged::{NOT_JUDGED, NotJudged};

/// What a rule is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Category {
    /// The form of a frame.
    Envelope,
    /// Ids of requests and responses.
    Ids,
    /// Which response belongs to which request.
    Correlation,
    /// The handshake and the end.
    Lifecycle,
    /// What was declared.
    Capability,
    /// Names of notifications.
    Notification,
    /// Cancellation.
    Cancellation,
    /// Progress.
    Progress,
    /// Tools.
    Tools,
    /// Arrays of messages.
    Batch,
    /// Lines on a pipe.
    TransportStdio,
    /// Error codes.
    Errors,
    /// Pings.
    Ping,
    /// Resources, templates and subscriptions to them.
    Resources,
    /// Prompts.
    Prompts,
    /// Completion of arguments.
    Completion,
    /// Log messages and their levels.
    Logging,
    /// Roots.
    Roots,
    /// Sampling.
    Sampling,
    /// Elicitation.
    Elicitation,
    /// Tasks of 2025-11-25.
    Tasks,
    /// Lists in pages.
    Pagination,
    /// Streamable HTTP, and HTTP with SSE before it.
    TransportHttp,
    /// Which revision governs, and falling back to an older one.
    Versioning,
    /// server/discover.
    Discovery,
    /// What each stateless request says of itself.
    RequestMeta,
    /// The kind of a stateless result.
    ResultType,
    /// Results that ask for input, and the requests that bring it.
    Mrtr,
    /// subscriptions/listen.
    Subscriptions,
    /// How long a result may be kept.
    Caching,
    /// Tasks as an extension of 2026-07-28.
    TasksExtension,
}

impl Category {
    /// All categories.
    pub const ALL: [Category; 31] = [
        Category::Envelope,
        Category::Ids,
        Category::Correlation,
        Category::Lifecycle,
        Category::Capability,
        Category::Notification,
        Category::Cancellation,
        Category::Progress,
        Category::Tools,
        Category::Batch,
        Category::TransportStdio,
        Category::Errors,
        Category::Ping,
        Category::Resources,
        Category::Prompts,
        Category::Completion,
        Category::Logging,
        Category::Roots,
        Category::Sampling,
        Category::Elicitation,
        Category::Tasks,
        Category::Pagination,
        Category::TransportHttp,
        Category::Versioning,
        Category::Discovery,
        Category::RequestMeta,
        Category::ResultType,
        Category::Mrtr,
        Category::Subscriptions,
        Category::Caching,
        Category::TasksExtension,
    ];

    /// The category's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Category::Envelope => "envelope",
            Category::Ids => "ids",
            Category::Correlation => "correlation",
            Category::Lifecycle => "lifecycle",
            Category::Capability => "capability",
            Category::Notification => "notification",
            Category::Cancellation => "cancellation",
            Category::Progress => "progress",
            Category::Tools => "tools",
            Category::Batch => "batch",
            Category::TransportStdio => "transport-stdio",
            Category::Errors => "errors",
            Category::Ping => "ping",
            Category::Resources => "resources",
            Category::Prompts => "prompts",
            Category::Completion => "completion",
            Category::Logging => "logging",
            Category::Roots => "roots",
            Category::Sampling => "sampling",
            Category::Elicitation => "elicitation",
            Category::Tasks => "tasks",
            Category::Pagination => "pagination",
            Category::TransportHttp => "transport-http",
            Category::Versioning => "versioning",
            Category::Discovery => "discovery",
            Category::RequestMeta => "request-meta",
            Category::ResultType => "result-type",
            Category::Mrtr => "mrtr",
            Category::Subscriptions => "subscriptions",
            Category::Caching => "caching",
            Category::TasksExtension => "tasks-extension",
        }
    }
}

/// How strongly the cited sentence asks for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// A MUST.
    Must,
    /// A SHOULD.
    Should,
    /// Nothing asks for it; worth knowing.
    MayNote,
    /// No rule of the text.
    None,
}

impl Level {
    /// All levels.
    pub const ALL: [Level; 4] = [Level::Must, Level::Should, Level::MayNote, Level::None];

    /// The level as reports spell it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Level::Must => "MUST",
            Level::Should => "SHOULD",
            Level::MayNote => "MAY-note",
            Level::None => "none",
        }
    }
}

/// Where a rule comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Basis {
    /// A capitalised key word in the prose or a schema comment.
    Text,
    /// A type of the schema.
    Schema,
    /// JSON-RPC 2.0, which the protocol adopts.
    Jsonrpc,
    /// Uncapitalised wording or an example.
    Lowercase,
    /// Inferred.
    Derived,
    /// No rule, but people call it a bug.
    Robustness,
}

impl Basis {
    /// The basis in one lower-case word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Basis::Text => "text",
            Basis::Schema => "schema",
            Basis::Jsonrpc => "jsonrpc",
            Basis::Lowercase => "lowercase",
            Basis::Derived => "derived",
            Basis::Robustness => "robustness",
        }
    }

    /// What the basis means, for a reader.
    pub const fn in_words(self) -> &'static str {
        match self {
            Basis::Text => "a key word (MUST, SHOULD) in the text",
            Basis::Schema => "a type of the schema",
            Basis::Jsonrpc => "JSON-RPC 2.0, which the protocol adopts",
            Basis::Lowercase => "wording without a key word, or an example",
            Basis::Derived => "inferred from what the text says elsewhere",
            Basis::Robustness => "no text: people report it as a bug",
        }
    }
}

/// Whose duty a rule is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The client's.
    Client,
    /// The server's.
    Server,
    /// Whoever sends the frame.
    Sender,
    /// Whoever answers or works for the other side.
    Receiver,
    /// Either's.
    Both,
}

impl Side {
    /// The side in one lower-case word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Side::Client => "client",
            Side::Server => "server",
            Side::Sender => "sender",
            Side::Receiver => "receiver",
            Side::Both => "both",
        }
    }

    /// Whose duty it is, for a reader.
    pub const fn in_words(self) -> &'static str {
        match self {
            Side::Client => "the client",
            Side::Server => "the server",
            Side::Sender => "whoever sends the frame, client or server",
            Side::Receiver => {
                "whoever owes the answer or works for the other side, client or server"
            }
            Side::Both => "whichever side does it",
        }
    }
}

/// What a log must hold for the rule to be decided from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Needs {
    /// The frame alone.
    Frame,
    /// The frames of one direction in order.
    SameDirection,
    /// Frames of which one caused the other: either log will do.
    Causal,
    /// The log of the party that is to blame; another's decides only where it leaves no choice.
    OffenderLog,
    /// Times, or the end.
    Time,
    /// Lines or exchanges as they were on the transport.
    Transport,
}

impl Needs {
    /// The need in words, as the catalogue has them.
    pub const fn as_str(self) -> &'static str {
        match self {
            Needs::Frame => "frame",
            Needs::SameDirection => "same-direction",
            Needs::Causal => "causal",
            Needs::OffenderLog => "offender-log",
            Needs::Time => "time",
            Needs::Transport => "transport",
        }
    }

    /// What of a log decides it, for a reader.
    pub const fn in_words(self) -> &'static str {
        match self {
            Needs::Frame => "the frame alone: any log that has it",
            Needs::SameDirection => {
                "the frames of one direction in their order: any log of a pipe, and of http within one stream"
            }
            Needs::Causal => {
                "frames of which one caused the other: the log of either side, or one taken in between"
            }
            Needs::OffenderLog => {
                "what that side had received when it sent the frame: its own log; a log taken elsewhere only \
                 where it leaves no choice, else the finding is unsure or missing"
            }
            Needs::Time => {
                "times, or that the end was seen (eof, exit, a stall): a log that merely stops leaves it unsure"
            }
            Needs::Transport => {
                "lines or HTTP exchanges as they were on the transport, not only the messages in them"
            }
        }
    }
}

/// What has to be seen for a rule to be kept rather than idle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct When(pub(crate) u8);

// The numbers from 108 to 127 lie between those of calls and those of results.
const _: () = assert!(64 + (Method::Unknown as u8) < 108);

impl When {
    /// Words of a set of these.
    pub(crate) const WORDS: usize = 4;
    /// Any frame.
    pub(crate) const FRAME: When = When(0);
    /// A request or a notification.
    pub(crate) const CALL: When = When(1);
    /// A request.
    pub(crate) const REQUEST: When = When(2);
    /// A notification.
    pub(crate) const NOTIFICATION: When = When(3);
    /// A response.
    pub(crate) const RESPONSE: When = When(4);
    /// A request or a notification of the client.
    pub(crate) const CLIENT_CALL: When = When(5);
    /// A request or a notification of the server.
    pub(crate) const SERVER_CALL: When = When(6);
    /// A result of the client.
    pub(crate) const CLIENT_RESULT: When = When(7);
    /// A result of the server.
    pub(crate) const SERVER_RESULT: When = When(8);
    /// initialize, or its answer.
    pub(crate) const INITIALIZE: When = When(9);
    /// notifications/initialized.
    pub(crate) const INITIALIZED: When = When(10);
    /// A cancellation.
    pub(crate) const CANCEL: When = When(11);
    /// A progress notification.
    pub(crate) const PROGRESS: When = When(12);
    /// A progress token.
    pub(crate) const TOKEN: When = When(13);
    /// An array of messages.
    pub(crate) const BATCH: When = When(14);
    /// A line on a pipe.
    pub(crate) const LINE: When = When(15);
    /// Any peer.
    pub(crate) const PEER: When = When(16);
    /// HTTP metadata of an exchange.
    pub(crate) const HTTP: When = When(17);
    /// A cursor in a request.
    pub(crate) const CURSOR: When = When(18);
    /// structuredContent, or the result of a tool with an outputSchema.
    pub(crate) const STRUCTURED: When = When(19);
    /// A request outside any session.
    pub(crate) const STATELESS: When = When(20);
    /// A task in a request, a result or a notification.
    pub(crate) const TASK: When = When(21);
    /// A content block.
    pub(crate) const CONTENT: When = When(22);
    /// A `_meta` member.
    pub(crate) const META: When = When(23);
    /// A call of a tool whose inputSchema is known.
    pub(crate) const TOOL_ARGUMENTS: When = When(24);
    /// A result of server/discover.
    pub(crate) const DISCOVERED: When = When(25);
    /// A result that asks for input.
    pub(crate) const INPUT_REQUIRED: When = When(26);
    /// A request with answers to what was asked.
    pub(crate) const RETRY: When = When(27);
    /// A frame of a subscription.
    pub(crate) const SUBSCRIPTION: When = When(28);
    /// A result outside any session.
    pub(crate) const STATELESS_RESULT: When = When(29);
    /// An error outside any session.
    pub(crate) const STATELESS_ERROR: When = When(30);
    /// A server-sent event.
    pub(crate) const SSE: When = When(31);
    /// A page of a list that is not the last.
    pub(crate) const PAGE: When = When(32);
    /// The last page of a list.
    pub(crate) const WHOLE_LIST: When = When(33);
    /// The result of a tool whose outputSchema is known.
    pub(crate) const OUTPUT_SCHEMA: When = When(34);
    /// Any frame outside sessions.
    pub(crate) const STATELESS_FRAME: When = When(35);
    /// A request or a notification outside any session.
    pub(crate) const STATELESS_CALL: When = When(36);
    /// A notification outside any session.
    pub(crate) const STATELESS_NOTIFICATION: When = When(37);
    /// A response outside any session.
    pub(crate) const STATELESS_RESPONSE: When = When(38);
    /// Tools in a sampling request.
    pub(crate) const SAMPLING_TOOLS: When = When(39);
    /// A request of the server that its client has to refuse.
    pub(crate) const MISASKED: When = When(40);
    /// An elicitation by URL.
    pub(crate) const BY_URL: When = When(41);
    /// The error that asks for an elicitation by URL.
    pub(crate) const URL_REQUIRED: When = When(42);
    /// A sampling request inside a result.
    pub(crate) const SAMPLING_INSIDE: When = When(43);
    /// An elicitation inside a result.
    pub(crate) const ELICITATION_INSIDE: When = When(44);
    /// An answer to an elicitation inside a request.
    pub(crate) const ELICITED_INSIDE: When = When(45);
    /// A result outside any session that a client may keep.
    pub(crate) const CACHEABLE: When = When(46);
    /// A page of a list whose cursor came with an earlier page.
    pub(crate) const PAGE_SCOPE: When = When(47);
    /// A log message outside any session.
    pub(crate) const STATELESS_LOG: When = When(48);
    /// A request that asks for log messages of a level that is none.
    pub(crate) const BAD_LEVEL: When = When(49);
    /// A progress notification outside any session.
    pub(crate) const STATELESS_PROGRESS: When = When(50);
    /// A progress token outside any session.
    pub(crate) const STATELESS_TOKEN: When = When(51);
    /// A cancellation outside any session.
    pub(crate) const STATELESS_CANCEL: When = When(52);
    /// Progress or a log message outside any session.
    pub(crate) const STATELESS_SCOPED: When = When(53);
    /// A requestState.
    pub(crate) const REQUEST_STATE: When = When(54);
    /// nextCursor in a result.
    pub(crate) const NEXT_CURSOR: When = When(108);
    /// How long a result may be kept.
    pub(crate) const CACHE_HINTS: When = When(109);
    /// Base64.
    pub(crate) const BINARY: When = When(110);
    /// The uri of a resource, from its server.
    pub(crate) const RESOURCE_URI: When = When(111);
    /// The size of a resource.
    pub(crate) const RESOURCE_SIZE: When = When(112);
    /// Annotations, but for those of tools.
    pub(crate) const ANNOTATIONS: When = When(113);
    /// Icons.
    pub(crate) const ICON: When = When(114);
    /// A tool in a list.
    pub(crate) const TOOL: When = When(115);
    /// A resource within a prompt.
    pub(crate) const PROMPT_RESOURCE: When = When(116);
    /// An image or a sound within a prompt.
    pub(crate) const PROMPT_MEDIA: When = When(117);
    /// A context of a completion.
    pub(crate) const COMPLETION_CONTEXT: When = When(118);
    /// The level of a log message, or one that is set.
    pub(crate) const LOG_LEVEL: When = When(119);
    /// Capabilities.
    pub(crate) const CAPABILITIES: When = When(120);
    /// An error.
    pub(crate) const ERROR: When = When(121);

    /// The head of a POST.
    pub(crate) const HTTP_POST: When = When(55);
    /// The status of an answer.
    pub(crate) const HTTP_ANSWER: When = When(56);
    /// The head of a GET.
    pub(crate) const HTTP_GET: When = When(57);
    /// A session id in a header.
    pub(crate) const HTTP_SESSION: When = When(58);
    /// An answer that is a stream of events.
    pub(crate) const HTTP_STREAM: When = When(59);
    /// The acknowledgement of a notification or response.
    pub(crate) const HTTP_ONE_WAY: When = When(60);
    /// A token, or the demand for one.
    pub(crate) const HTTP_TOKEN: When = When(61);
    /// An endpoint event of 2024-11-05.
    pub(crate) const OLD_SSE: When = When(62);
    /// A Last-Event-ID header.
    pub(crate) const HTTP_RESUMED: When = When(63);
    /// The head of a request outside any session.
    pub(crate) const STATELESS_HTTP: When = When(104);
    /// The end of an exchange.
    pub(crate) const HTTP_END: When = When(105);
    /// The end of the server's input.
    pub(crate) const INPUT_END: When = When(106);
    /// A head inside a session of a revision with the version header.
    pub(crate) const HTTP_VERSION: When = When(107);

    /// A request or notification of that method.
    pub(crate) const fn call(method: Method) -> When {
        When(64 + method as u8)
    }

    /// A result of that method.
    pub(crate) const fn result(method: Method) -> When {
        When(128 + method as u8)
    }

    /// An error in answer to that method.
    pub(crate) const fn error(method: Method) -> When {
        When(192 + method as u8)
    }
}

/// One rule.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its name; never changes.
    pub id: &'static str,
    /// What it is about.
    pub category: Category,
    /// How strongly the text asks for it.
    pub level: Level,
    /// Revisions in which the level is another one.
    pub level_by: &'static [(Revision, Level)],
    /// Where it comes from.
    pub basis: Basis,
    /// How bad it is to break it.
    pub severity: Severity,
    /// Revisions in which that is different.
    pub severity_by: &'static [(Revision, Severity)],
    /// Whose duty it is.
    pub side: Side,
    /// The first revision that has it.
    pub from: Revision,
    /// The last revision that has it.
    pub until: Revision,
    /// Where it is written.
    pub source: &'static str,
    /// What it says, in one line.
    pub says: &'static str,
    /// Why it matters.
    pub why: &'static str,
    /// 1: errors decidable from frames or transport data; 2: warnings; 3: notes.
    pub tier: u8,
    /// What a log must hold for it to be decided.
    pub needs: Needs,
    pub(crate) when: When,
    /// The rule of the same duty under 2026-07-28, where that is another row; empty where there is none.
    pub twin: &'static str,
}

/// What most rows of the revisions with a handshake have in common: a MUST of all four, an error.
pub(crate) const MUST: Rule = Rule {
    id: "",
    category: Category::Envelope,
    level: Level::Must,
    level_by: &[],
    basis: Basis::Schema,
    severity: Severity::Error,
    severity_by: &[],
    side: Side::Sender,
    from: Revision::V2024_11_05,
    until: Revision::V2025_11_25,
    source: "",
    says: "",
    why: "",
    tier: 1,
    needs: Needs::Frame,
    when: When::FRAME,
    twin: "",
};

/// A SHOULD of those revisions: a warning.
pub(crate) const SHOULD: Rule = Rule {
    level: Level::Should,
    basis: Basis::Text,
    severity: Severity::Warning,
    tier: 2,
    ..MUST
};

/// Something worth a note under those revisions.
pub(crate) const NOTE: Rule = Rule {
    level: Level::Should,
    basis: Basis::Text,
    severity: Severity::Note,
    tier: 3,
    ..MUST
};

/// A MUST of 2026-07-28: an error.
pub(crate) const STATELESS_MUST: Rule = Rule {
    basis: Basis::Text,
    from: Revision::V2026_07_28,
    until: Revision::V2026_07_28,
    when: When::STATELESS,
    ..MUST
};

/// A SHOULD of 2026-07-28: a warning.
pub(crate) const STATELESS_SHOULD: Rule = Rule {
    level: Level::Should,
    severity: Severity::Warning,
    tier: 2,
    ..STATELESS_MUST
};

/// Something worth a note under 2026-07-28.
pub(crate) const STATELESS_NOTE: Rule = Rule {
    level: Level::Should,
    severity: Severity::Note,
    tier: 3,
    ..STATELESS_MUST
};

/// A MUST since 2025-06-18.
pub(crate) const MUST_SINCE_2025_06: &[(Revision, Level)] = &[
    (Revision::V2025_06_18, Level::Must),
    (Revision::V2025_11_25, Level::Must),
];

/// A warning before 2025-06-18.
pub(crate) const WARNING_BEFORE_2025_06: &[(Revision, Severity)] = &[
    (Revision::V2024_11_05, Severity::Warning),
    (Revision::V2025_03_26, Severity::Warning),
];

impl Rule {
    /// The row of this duty for a frame inside a session, or outside any; `None` where that era has no
    /// such duty.
    pub(crate) fn in_era(&'static self, is_stateless: bool) -> Option<&'static Rule> {
        match (is_stateless, self.until) {
            (false, _) if self.from == Revision::V2026_07_28 => None,
            (false, _) | (true, Revision::V2026_07_28) => Some(self),
            (true, _) => rule(self.twin),
        }
    }

    /// Whether the revision has this rule.
    pub fn is_in(&self, revision: Revision) -> bool {
        (self.from..=self.until).contains(&revision)
    }

    /// The level under that revision, or in general.
    pub fn level_at(&self, revision: Option<Revision>) -> Level {
        at(self.level_by, revision).unwrap_or(self.level)
    }

    /// The severity under that revision, or in general.
    pub fn severity_at(&self, revision: Option<Revision>) -> Severity {
        at(self.severity_by, revision).unwrap_or(self.severity)
    }
}

fn at<T: Copy>(table: &[(Revision, T)], revision: Option<Revision>) -> Option<T> {
    let revision = revision?;
    table
        .iter()
        .find(|(known, _)| *known == revision)
        .map(|(_, value)| *value)
}

const GROUPS: &[&[Rule]] = &[
    envelope::ROWS,
    payload::meta::ROWS,
    ids::ROWS,
    correlation::ROWS,
    payload::ROWS,
    lifecycle::ROWS,
    payload::lifecycle::ROWS,
    capability::ROWS,
    notification::ROWS,
    cancellation::ROWS,
    progress::ROWS,
    tools::ROWS,
    tool_schemas::ROWS,
    tool_calls::ROWS,
    tool_results::ROWS,
    listing::ROWS,
    refusals::ROWS,
    payload::tools::ROWS,
    payload::content::TOOL_ROWS,
    batch::ROWS,
    transport_stdio::ROWS,
    errors::ROWS,
    ping::ROWS,
    resources::ROWS,
    updates::ROWS,
    payload::resources::ROWS,
    payload::content::RESOURCE_ROWS,
    prompts::ROWS,
    payload::prompts::ROWS,
    completion::ROWS,
    payload::completion::ROWS,
    logging::ROWS,
    log_levels::ROWS,
    flood::ROWS,
    payload::logging::ROWS,
    roots::ROWS,
    sampling::ROWS,
    elicitation::ROWS,
    tasks::ROWS,
    pagination::ROWS,
    http::old::ROWS,
    http::requests::ROWS,
    http::answers::ROWS,
    http::streams::ROWS,
    http::endings::ROWS,
    http::sessions::ROWS,
    http::versions::ROWS,
    http::auth::ROWS,
    payload::pagination::ROWS,
    stateless::envelope::ROWS,
    stateless::correlation::ROWS,
    stateless::versioning::ROWS,
    stateless::eras::ROWS,
    stateless::deprecated::ROWS,
    stateless::discovery::ROWS,
    stateless::request_meta::ROWS,
    stateless::result_type::ROWS,
    stateless::payload::ROWS,
    stateless::mrtr::ROWS,
    stateless::subscriptions::ROWS,
    stateless::logging::ROWS,
    stateless::caching::ROWS,
    stateless::capability::ROWS,
    stateless::tools::ROWS,
    stateless::client_features::ROWS,
    stateless::utilities::ROWS,
    stateless::errors::ROWS,
    stateless::tasks_extension::ROWS,
    stateless::transport_http::ROWS,
    stateless::http_headers::ROWS,
    stateless::transport_stdio::ROWS,
];

const COUNT: usize = {
    let mut count = 0;
    let mut at = 0;
    while at < GROUPS.len() {
        count += GROUPS[at].len();
        at += 1;
    }
    count
};

static TABLE: [Rule; COUNT] = {
    let mut table = [MUST; COUNT];
    let (mut group, mut row, mut at) = (0, 0, 0);
    while group < GROUPS.len() {
        if row == GROUPS[group].len() {
            group += 1;
            row = 0;
            continue;
        }
        table[at] = GROUPS[group][row];
        row += 1;
        at += 1;
    }
    table
};

/// Every rule, by category.
pub fn rules() -> &'static [Rule] {
    &TABLE
}

/// The rule of that id.
pub fn rule(id: &str) -> Option<&'static Rule> {
    TABLE.iter().find(|rule| rule.id == id)
}
