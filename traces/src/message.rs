//! What one frame says, as a small copyable value: kind, method, keys and named conditions, no text.

use std::fmt;

use crate::key::Key;

/// A protocol revision, named by its date, oldest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Revision {
    /// 2024-11-05, stateful.
    V2024_11_05,
    /// 2025-03-26, stateful, the only one with batches.
    V2025_03_26,
    /// 2025-06-18, stateful.
    V2025_06_18,
    /// 2025-11-25, stateful, with tasks.
    V2025_11_25,
    /// 2026-07-28, stateless: no handshake.
    V2026_07_28,
}

impl Revision {
    /// All revisions, oldest first.
    pub const ALL: [Revision; 5] = [
        Revision::V2024_11_05,
        Revision::V2025_03_26,
        Revision::V2025_06_18,
        Revision::V2025_11_25,
        Revision::V2026_07_28,
    ];

    /// The date that names it in the protocol.
    pub const fn as_str(self) -> &'static str {
        match self {
            Revision::V2024_11_05 => "2024-11-05",
            Revision::V2025_03_26 => "2025-03-26",
            Revision::V2025_06_18 => "2025-06-18",
            Revision::V2025_11_25 => "2025-11-25",
            Revision::V2026_07_28 => "2026-07-28",
        }
    }

    /// The revision of that date, if one was published.
    pub fn parse(date: &str) -> Option<Revision> {
        Revision::ALL
            .into_iter()
            .find(|revision| revision.as_str() == date)
    }

    /// Whether sessions of this revision begin with an `initialize` handshake.
    pub const fn has_handshake(self) -> bool {
        !matches!(self, Revision::V2026_07_28)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The version that a frame names: none, a published revision, or some other text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Version {
    /// The frame names no version.
    #[default]
    None,
    /// A published revision.
    Known(Revision),
    /// A string that is no published revision.
    Unknown,
    /// A value that is no string.
    NotString,
}

/// What a frame is, by the presence of `id`, `method`, `result` and `error` alone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Kind {
    /// `method` and `id`.
    Request,
    /// `method` without `id`.
    Notification,
    /// `result`, without `method`. With `error` beside it, [`Condition::ResultAndError`] is set.
    Result,
    /// `error`, without `method` and `result`.
    Error,
    /// A top-level array.
    Batch,
    /// Nothing of these; the message's conditions say why.
    Malformed,
}

impl Kind {
    /// Whether this is a response: a result or an error.
    #[inline]
    pub fn is_response(self) -> bool {
        matches!(self, Kind::Result | Kind::Error)
    }

    /// The kind in one lower-case word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Request => "request",
            Kind::Notification => "notification",
            Kind::Result => "result",
            Kind::Error => "error",
            Kind::Batch => "batch",
            Kind::Malformed => "malformed",
        }
    }
}

macro_rules! methods {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)+) => {
        /// A method by name, over all revisions; what each revision allows is the models' business.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum Method {
            /// The frame has no `method` (a response, or a malformed frame).
            None,
            $(#[doc = concat!("`", $name, "`")] $variant,)+
            /// A name that no revision knows, or a value that is no string.
            Unknown,
        }

        impl Method {
            /// All methods that some revision knows.
            pub const ALL: &'static [Method] = &[$(Method::$variant,)+];

            /// The name on the wire; empty for [`Method::None`] and [`Method::Unknown`].
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Method::$variant => $name,)+
                    Method::None | Method::Unknown => "",
                }
            }

            /// As [`Method::as_str`], and in words where that is empty.
            pub const fn words(self) -> &'static str {
                match self {
                    Method::None => "no method",
                    Method::Unknown => "an unknown method",
                    _ => self.as_str(),
                }
            }

            /// The method of that name, or [`Method::Unknown`].
            pub fn parse(name: &[u8]) -> Method {
                let Ok(name) = std::str::from_utf8(name) else { return Method::Unknown };
                match name {
                    $($name => Method::$variant,)+
                    _ => Method::Unknown,
                }
            }
        }
    };
}

methods! {
    Initialize = "initialize",
    Initialized = "notifications/initialized",
    ToolsCall = "tools/call",
    ToolsList = "tools/list",
    Ping = "ping",
    Progress = "notifications/progress",
    Cancelled = "notifications/cancelled",
    LogMessage = "notifications/message",
    SamplingCreateMessage = "sampling/createMessage",
    ElicitationCreate = "elicitation/create",
    RootsList = "roots/list",
    ResourcesList = "resources/list",
    ResourcesRead = "resources/read",
    ResourcesTemplatesList = "resources/templates/list",
    ResourcesSubscribe = "resources/subscribe",
    ResourcesUnsubscribe = "resources/unsubscribe",
    PromptsList = "prompts/list",
    PromptsGet = "prompts/get",
    CompletionComplete = "completion/complete",
    LoggingSetLevel = "logging/setLevel",
    TasksGet = "tasks/get",
    TasksResult = "tasks/result",
    TasksList = "tasks/list",
    TasksCancel = "tasks/cancel",
    TasksUpdate = "tasks/update",
    ServerDiscover = "server/discover",
    SubscriptionsListen = "subscriptions/listen",
    ToolsListChanged = "notifications/tools/list_changed",
    PromptsListChanged = "notifications/prompts/list_changed",
    ResourcesListChanged = "notifications/resources/list_changed",
    ResourcesUpdated = "notifications/resources/updated",
    RootsListChanged = "notifications/roots/list_changed",
    ElicitationComplete = "notifications/elicitation/complete",
    SubscriptionsAcknowledged = "notifications/subscriptions/acknowledged",
    TasksNotification = "notifications/tasks",
    TasksStatus = "notifications/tasks/status",
}

impl Method {
    /// Whether the name is a defined notification's.
    pub fn is_notification(self) -> bool {
        self.as_str().starts_with("notifications/")
    }

    /// Whether the name is a defined request's.
    pub fn is_request(self) -> bool {
        !matches!(self, Method::None | Method::Unknown) && !self.is_notification()
    }
}

macro_rules! conditions {
    ($($(#[$doc:meta])+ $variant:ident = $name:literal,)+) => {
        /// Something about a frame that has a name: a malformation, or a fact that rules look at.
        /// Conditions say what is there, never whether it is legal.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum Condition {
            $($(#[$doc])+ $variant,)+
        }

        impl Condition {
            /// Every condition, in the order of their bits.
            pub const ALL: &'static [Condition] = &[$(Condition::$variant,)+];

            /// The condition's name, as traces and reports show it.
            pub const fn as_str(self) -> &'static str {
                match self { $(Condition::$variant => $name,)+ }
            }
        }
    };
}

conditions! {
    // The unit on the wire.
    /// The line begins with a UTF-8 byte-order mark; what follows it was classified.
    ByteOrderMark = "byte-order-mark",
    /// The line ends with CR before its LF.
    CarriageReturn = "carriage-return",
    /// Nothing but white space.
    Blank = "blank-line",
    /// The bytes are not UTF-8.
    NotUtf8 = "not-utf-8",
    /// There is a NUL byte.
    NulByte = "nul-byte",
    /// Not JSON; what there is begins like a JSON object or array.
    NotJson = "not-json",
    /// Not JSON, and nothing like it: a banner, a log line.
    Noise = "noise",
    /// JSON up to its end, where it stops in the middle. Comes with [`Condition::NotJson`].
    Truncated = "truncated",
    /// A whole JSON value and then something more on the line.
    TrailingData = "trailing-data",
    /// `NaN` or `Infinity` stands where a value belongs. Comes with [`Condition::NotJson`].
    NotANumber = "nan",
    /// A JSON value that is neither object nor array.
    Scalar = "scalar",
    /// A top-level array without members.
    EmptyBatch = "empty-batch",
    /// A top-level array with an array as a member.
    NestedBatch = "nested-batch",
    /// Nested deeper than 128 levels, where today's readers begin to give up.
    DeeplyNested = "deeply-nested",
    /// A `\ud800`-like escape without its other half.
    LoneSurrogate = "lone-surrogate",
    // The envelope.
    /// No `jsonrpc` member.
    VersionTagMissing = "version-tag-missing",
    /// `jsonrpc` is not the string `2.0`.
    VersionTagWrong = "version-tag-wrong",
    /// One of the frame's own members stands there twice. The last one counts.
    DuplicateMember = "duplicate-member",
    /// A top-level member beside `jsonrpc`, `id`, `method`, `params`, `result` and `error`.
    ExtraMember = "extra-member",
    /// None of `method`, `result`, `error`.
    KindUnclear = "kind-unclear",
    /// `method` together with `result` or `error`.
    MethodAndAnswer = "method-and-answer",
    /// Both `result` and `error`.
    ResultAndError = "result-and-error",
    /// `method` is no string.
    MethodNotString = "method-not-string",
    /// `method` begins with `notifications/`.
    NotificationPrefix = "notification-prefix",
    /// `method` begins with `rpc.`.
    RpcPrefix = "rpc-prefix",
    /// There is a `params` member.
    HasParams = "params",
    /// `params` is there and no object.
    ParamsNotObject = "params-not-object",
    /// `result` is there and no object.
    ResultNotObject = "result-not-object",
    /// `error` is there and no object.
    ErrorNotObject = "error-not-object",
    /// `error` has no `code`.
    ErrorCodeMissing = "error-code-missing",
    /// `error.code` is no integer.
    ErrorCodeNotInteger = "error-code-not-integer",
    /// `error.message` is missing or no string.
    ErrorMessageMissing = "error-message-missing",
    // The payload.
    /// `_meta` is there and no object.
    MetaNotObject = "meta-not-object",
    /// `params._meta` names a protocol version: the frame speaks for itself (2026-07-28 and later).
    MetaVersion = "meta-version",
    /// `result.isError` is true: a tool's failure, which is no error object.
    IsError = "is-error",
    /// `result.isError` is there and no boolean.
    IsErrorNotBoolean = "is-error-not-boolean",
    /// `params.task` is there: the request asks to be run as a task.
    TaskAsked = "task-asked",
    /// `result.task` is there: a task was created.
    TaskCreated = "task-created",
    /// `capabilities` is missing in an `initialize` request or result.
    CapabilitiesMissing = "capabilities-missing",
    /// `clientInfo` or `serverInfo` is missing in an `initialize` request or result.
    InfoMissing = "info-missing",
    /// A progress notification without a numeric `progress`.
    ProgressMissing = "progress-missing",
    /// `progress` has more digits than a double keeps, or is beyond what one holds: [`Message::number`] is rounded.
    ProgressRounded = "progress-rounded",
    /// `reason` of a cancellation is there and no string.
    ReasonNotString = "reason-not-string",
    /// `params.mode` of an elicitation is `url`.
    ElicitationUrl = "elicitation-url",
    /// A sampling request that brings `tools` or `toolChoice`.
    SamplingTools = "sampling-tools",
    /// An unknown method that would be a defined notification with `notifications/` before it.
    UnprefixedNotification = "unprefixed-notification",
    /// A result whose list (`tools`, `resources`, `resourceTemplates`, `prompts`, `roots`) is empty.
    EmptyList = "empty-list",
    /// `total` of a progress notification is there and no number.
    TotalNotNumber = "total-not-number",
}

/// A set of [`Condition`]s.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Conditions(u64);

impl Conditions {
    /// No condition.
    pub const NONE: Conditions = Conditions(0);
    const MALFORMED: Conditions = Conditions::of(&[
        Condition::Blank,
        Condition::NotJson,
        Condition::Noise,
        Condition::TrailingData,
        Condition::Scalar,
        Condition::KindUnclear,
        Condition::MethodAndAnswer,
        Condition::MethodNotString,
    ]);

    /// The set of these.
    pub const fn of(list: &[Condition]) -> Conditions {
        let mut bits = 0;
        let mut at = 0;
        while at < list.len() {
            bits |= 1 << list[at] as u64;
            at += 1;
        }
        Conditions(bits)
    }

    /// Adds one.
    #[inline]
    pub fn insert(&mut self, condition: Condition) {
        self.0 |= 1 << condition as u64;
    }

    /// Takes one out.
    #[inline]
    pub fn remove(&mut self, condition: Condition) {
        self.0 &= !(1 << condition as u64);
    }

    /// Whether it is in.
    #[inline]
    pub fn has(self, condition: Condition) -> bool {
        self.0 >> condition as u64 & 1 == 1
    }

    /// Whether any of those is in.
    #[inline]
    pub fn intersects(self, other: Conditions) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether one of them makes the frame [`Kind::Malformed`].
    #[inline]
    pub fn is_malformed(self) -> bool {
        self.intersects(Conditions::MALFORMED)
    }

    /// Whether the set is empty.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The conditions in the order of their bits.
    pub fn iter(self) -> impl Iterator<Item = Condition> {
        Condition::ALL
            .iter()
            .copied()
            .filter(move |&condition| self.has(condition))
    }

    /// The set as one word, for canonical encodings.
    #[inline]
    pub fn bits(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for Conditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(self.iter().map(Condition::as_str))
            .finish()
    }
}

macro_rules! capabilities {
    ($($variant:ident = $bit:literal, $path:literal;)+) => {
        /// A capability that an `initialize` request or result can declare.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum Capability {
            $(#[doc = concat!("`", $path, "`")] $variant = $bit,)+
        }

        impl Capability {
            /// Every capability, in the order in which frames are rendered.
            pub const ALL: &'static [Capability] = &[$(Capability::$variant,)+];

            /// The path below `capabilities`, with a dot between the levels.
            pub const fn as_str(self) -> &'static str {
                match self { $(Capability::$variant => $path,)+ }
            }
        }
    };
}

// A path of two levels follows its parent: the renderer relies on it.
capabilities! {
    Roots = 0, "roots";
    RootsListChanged = 1, "roots.listChanged";
    Sampling = 2, "sampling";
    SamplingTools = 3, "sampling.tools";
    SamplingContext = 4, "sampling.context";
    Elicitation = 5, "elicitation";
    ElicitationForm = 6, "elicitation.form";
    ElicitationUrl = 7, "elicitation.url";
    Tasks = 8, "tasks";
    TasksList = 9, "tasks.list";
    TasksCancel = 10, "tasks.cancel";
    Tools = 11, "tools";
    ToolsListChanged = 12, "tools.listChanged";
    Resources = 13, "resources";
    ResourcesSubscribe = 14, "resources.subscribe";
    ResourcesListChanged = 15, "resources.listChanged";
    Prompts = 16, "prompts";
    PromptsListChanged = 17, "prompts.listChanged";
    Logging = 18, "logging";
    Completions = 19, "completions";
    Experimental = 20, "experimental";
}

/// A set of declared [`Capability`]s. A flag such as `tools.listChanged` is in when it is `true`, an object-valued one when it
/// is an object. A value of another type is a fault of its own, and counts as declared, with all that could be in it, unless it
/// is `null` or `false`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Capabilities(u32);

impl Capabilities {
    /// Nothing declared.
    pub const NONE: Capabilities = Capabilities(0);

    /// The set of these.
    pub const fn of(list: &[Capability]) -> Capabilities {
        let mut bits = 0;
        let mut at = 0;
        while at < list.len() {
            bits |= 1 << list[at] as u32;
            at += 1;
        }
        Capabilities(bits)
    }

    /// Adds one.
    pub fn insert(&mut self, capability: Capability) {
        self.0 |= 1 << capability as u32;
    }

    /// Takes one out.
    pub fn remove(&mut self, capability: Capability) {
        self.0 &= !(1 << capability as u32);
    }

    /// Adds all of those.
    pub fn add(&mut self, others: Capabilities) {
        self.0 |= others.0;
    }

    /// Whether it is declared.
    #[inline]
    pub fn has(self, capability: Capability) -> bool {
        self.0 >> capability as u32 & 1 == 1
    }

    /// The set as one word, for canonical encodings.
    #[inline]
    pub fn bits(self) -> u32 {
        self.0
    }
}

impl fmt::Debug for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let declared = Capability::ALL
            .iter()
            .filter(|&&capability| self.has(capability));
        f.debug_set()
            .entries(declared.map(|capability| capability.as_str()))
            .finish()
    }
}

/// What a reference server's tool does; on the wire it is the tool's name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum Tool {
    /// No tool of ours: no `name`, or a name that the reference peers do not know.
    #[default]
    None,
    /// Answers at once.
    Echo,
    /// Answers in a step of its own, after others may have moved.
    Slow,
    /// Reports progress, then answers.
    Count,
    /// Asks the client for a sampling before it answers.
    Ask,
    /// Asks the client for an elicitation before it answers.
    Confirm,
    /// Asks the client for its roots before it answers.
    Look,
    /// Fails: a result with `isError`.
    Fail,
    /// Changes a resource and the lists, and tells those who want to know.
    Touch,
    /// Writes log messages, then answers.
    Log,
    /// Sends the user to an address (an elicitation of mode `url`) before it answers.
    Link,
}

impl Tool {
    /// Every tool of the reference servers.
    pub const ALL: [Tool; 10] = [
        Tool::Echo,
        Tool::Slow,
        Tool::Count,
        Tool::Ask,
        Tool::Confirm,
        Tool::Look,
        Tool::Fail,
        Tool::Touch,
        Tool::Log,
        Tool::Link,
    ];

    /// The name on the wire; empty for [`Tool::None`].
    pub const fn as_str(self) -> &'static str {
        match self {
            Tool::None => "",
            Tool::Echo => "echo",
            Tool::Slow => "slow",
            Tool::Count => "count",
            Tool::Ask => "ask",
            Tool::Confirm => "confirm",
            Tool::Look => "look",
            Tool::Fail => "fail",
            Tool::Touch => "touch",
            Tool::Log => "log",
            Tool::Link => "link",
        }
    }

    /// The tool of that name, or [`Tool::None`].
    pub fn parse(name: &[u8]) -> Tool {
        Tool::ALL
            .into_iter()
            .find(|tool| tool.as_str().as_bytes() == name)
            .unwrap_or(Tool::None)
    }
}

/// What a result holds, told by its characteristic member.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum Shape {
    /// The frame is no result, or its result is no object.
    #[default]
    None,
    /// `{}`, or nothing but `_meta`.
    Empty,
    /// `protocolVersion`: the answer to `initialize`.
    Initialize,
    /// `content` or `structuredContent`: the answer to `tools/call`.
    Tool,
    /// `tools`
    Tools,
    /// `roots`
    Roots,
    /// `role` and `model`: the answer to a sampling request.
    Sampling,
    /// `action`: the answer to an elicitation.
    Elicitation,
    /// `task`: the answer to a request that asked to be run as a task.
    Task,
    /// Members of none of these.
    Other,
}

/// One frame as a structured value: what simulated peers exchange, and what one pass over a
/// recorded frame finds. The text, where there is one, is kept apart and is never rebuilt from this.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Message {
    /// What it is, by presence of members.
    pub kind: Kind,
    /// The method of a request or notification.
    pub method: Method,
    /// The tool that a reference peer's `tools/call` names.
    pub tool: Tool,
    /// What a result holds.
    pub shape: Shape,
    /// `params.protocolVersion` or `result.protocolVersion` of a handshake, or the version named in
    /// `params._meta` (then with [`Condition::MetaVersion`]).
    pub version: Version,
    /// Everything else that has a name.
    pub conditions: Conditions,
    /// The `id` member.
    pub id: Key,
    /// A request's `params._meta.progressToken`, the `progressToken` of a progress notification, the
    /// `requestId` of a cancellation.
    pub token: Key,
    /// `error.code`, or the `progress` of a progress notification as an order-preserving integer
    /// ([`ordered`]); else 0.
    pub number: i64,
    /// `capabilities` of an `initialize` request or result.
    pub capabilities: Capabilities,
    /// The number `n` that reference peers put into `arguments` and `structuredContent`, so that an
    /// answer can be told from another request's answer; else 0.
    pub value: u32,
}

impl Message {
    const EMPTY: Message = Message {
        kind: Kind::Malformed,
        method: Method::None,
        tool: Tool::None,
        shape: Shape::None,
        version: Version::None,
        conditions: Conditions::NONE,
        id: Key::ABSENT,
        token: Key::ABSENT,
        number: 0,
        capabilities: Capabilities::NONE,
        value: 0,
    };

    /// A request without parameters.
    #[inline]
    pub fn request(method: Method, id: Key) -> Message {
        Message {
            kind: Kind::Request,
            method,
            id,
            ..Message::EMPTY
        }
    }

    /// A notification without parameters.
    #[inline]
    pub fn notification(method: Method) -> Message {
        let mut conditions = Conditions::NONE;
        if method.is_notification() {
            conditions.insert(Condition::NotificationPrefix);
        }
        Message {
            kind: Kind::Notification,
            method,
            conditions,
            ..Message::EMPTY
        }
    }

    /// A response with a result of that shape.
    #[inline]
    pub fn result(id: Key, shape: Shape) -> Message {
        let mut conditions = Conditions::NONE;
        if shape == Shape::Roots {
            // A plain peer's roots are an empty list.
            conditions.insert(Condition::EmptyList);
        }
        Message {
            kind: Kind::Result,
            id,
            shape,
            conditions,
            ..Message::EMPTY
        }
    }

    /// A `tools/call` of a reference server's tool; `token` is [`Key::ABSENT`] where no progress is
    /// asked for, `value` goes into `arguments.n`.
    #[inline]
    pub fn tools_call(id: Key, tool: Tool, value: u32, token: Key) -> Message {
        let conditions = Conditions::of(&[Condition::HasParams]);
        Message {
            tool,
            value,
            token,
            conditions,
            ..Message::request(Method::ToolsCall, id)
        }
    }

    /// The answer to a `tools/call`, with `value` as `structuredContent.n`.
    #[inline]
    pub fn tool_result(id: Key, value: u32) -> Message {
        Message {
            value,
            ..Message::result(id, Shape::Tool)
        }
    }

    /// An `initialize` request.
    pub fn initialize(id: Key, revision: Revision, capabilities: Capabilities) -> Message {
        Message {
            version: Version::Known(revision),
            capabilities,
            conditions: Conditions::of(&[Condition::HasParams]),
            ..Message::request(Method::Initialize, id)
        }
    }

    /// The answer to `initialize`.
    pub fn initialize_result(id: Key, revision: Revision, capabilities: Capabilities) -> Message {
        let version = Version::Known(revision);
        Message {
            version,
            capabilities,
            ..Message::result(id, Shape::Initialize)
        }
    }

    /// A progress notification.
    #[inline]
    pub fn progress(token: Key, progress: u32) -> Message {
        let mut message = Message::notification(Method::Progress);
        message.conditions.insert(Condition::HasParams);
        Message {
            token,
            number: ordered(f64::from(progress)),
            ..message
        }
    }

    /// A cancellation of the request of that id.
    #[inline]
    pub fn cancelled(request: Key) -> Message {
        let mut message = Message::notification(Method::Cancelled);
        message.conditions.insert(Condition::HasParams);
        Message {
            token: request,
            ..message
        }
    }

    /// A response with an error object of that code.
    #[inline]
    pub fn error(id: Key, code: i64) -> Message {
        Message {
            kind: Kind::Error,
            id,
            number: code,
            ..Message::EMPTY
        }
    }

    /// A frame that is none of the above, with the conditions that say why.
    #[inline]
    pub fn malformed(conditions: Conditions) -> Message {
        Message {
            conditions,
            ..Message::EMPTY
        }
    }

    /// The same frame with the `params` that a plain peer sends with that method.
    #[inline]
    pub fn with_params(mut self) -> Message {
        self.conditions.insert(Condition::HasParams);
        self
    }

    /// Whether the condition is set.
    #[inline]
    pub fn has(&self, condition: Condition) -> bool {
        self.conditions.has(condition)
    }

    /// Whether it is the request that a handshake begins with.
    #[inline]
    pub fn is_handshake(&self) -> bool {
        self.kind == Kind::Request && self.method == Method::Initialize
    }

    /// Whether it needs no session before it, by what it says of itself: by whichever revision has none.
    #[inline]
    pub fn speaks_for_itself(&self) -> bool {
        self.has(Condition::MetaVersion)
            || matches!(
                self.method,
                Method::ServerDiscover | Method::SubscriptionsListen
            )
    }

    /// Whether a session may begin with it: where the last one is over, it is another one's.
    #[inline]
    pub fn begins_session(&self) -> bool {
        self.method == Method::Initialize || self.kind == Kind::Request && self.speaks_for_itself()
    }
}

/// A number as an integer that orders the same way, without the pitfalls of comparing floats.
pub fn ordered(number: f64) -> i64 {
    // -0.0 and 0.0 are one JSON value.
    let bits = (number + 0.0).to_bits() as i64;
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

/// The number that [`ordered`] made `order` of.
pub fn unordered(order: i64) -> f64 {
    f64::from_bits((order ^ ((order >> 63) as u64 >> 1) as i64) as u64)
}

/// The number that [`ordered`] made `order` of, for readers: in words where it is beyond what a double holds.
pub fn spelled_order(order: i64) -> String {
    let number = unordered(order);
    match number.is_infinite() {
        true if number.is_sign_positive() => "more than a double holds".to_owned(),
        true => "less than a double holds".to_owned(),
        false => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_again() {
        for &method in Method::ALL {
            assert_eq!(Method::parse(method.as_str().as_bytes()), method);
        }
        assert_eq!(Method::parse(b"tools/Call"), Method::Unknown);
        for tool in Tool::ALL {
            assert_eq!(Tool::parse(tool.as_str().as_bytes()), tool);
        }
        for revision in Revision::ALL {
            assert_eq!(Revision::parse(revision.as_str()), Some(revision));
        }
    }

    #[test]
    fn conditions_fit_their_word() {
        assert!(Condition::ALL.len() <= 64, "Conditions is one 64-bit word");
        let all: Conditions = Conditions::of(Condition::ALL);
        assert_eq!(all.iter().count(), Condition::ALL.len());
    }

    #[test]
    fn ordered_numbers_keep_their_order() {
        let numbers = [f64::MIN, -2.5, -1.0, 0.0, 1e-300, 0.5, 1.0, 1.5, 1e300];
        for pair in numbers.windows(2) {
            assert!(ordered(pair[0]) < ordered(pair[1]), "{pair:?}");
        }
        assert_eq!(ordered(-0.0), ordered(0.0));
        for number in numbers {
            assert_eq!(unordered(ordered(number)), number);
            assert_eq!(spelled_order(ordered(number)), number.to_string());
        }
        let [least, most] = [f64::NEG_INFINITY, f64::INFINITY].map(ordered);
        assert_eq!(spelled_order(most), "more than a double holds");
        assert_eq!(spelled_order(least), "less than a double holds");
    }

    /// The hot path moves messages by value: they must stay small.
    #[test]
    fn a_message_is_small() {
        assert!(size_of::<Message>() <= 72, "{} bytes", size_of::<Message>());
    }
}
