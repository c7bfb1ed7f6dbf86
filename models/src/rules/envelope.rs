//! The form of a frame: what it must look like before anybody asks what it means.

use mcpsim_traces::event::LinkKind;
use mcpsim_traces::event::Role;
use mcpsim_traces::judge::{Severity, Verdict};
use mcpsim_traces::message::{Condition, Conditions, Kind, Message, Method, Revision};
use mcpsim_traces::tape::Value;

use crate::ledger::Cx;
use crate::part::flag;
use crate::part::{Own, Part, open};
use crate::rules::transport_stdio::{STDIO_CRLF, noise_rule};
use crate::rules::{
    Basis, Level, MUST, MUST_SINCE_2025_06, NOTE, Rule, SHOULD, WARNING_BEFORE_2025_06, When,
    errors,
};
use crate::shape::shown;

pub(crate) const JSONRPC_VERSION: Rule = Rule {
    id: "jsonrpc-version",
    source: "2025-11-25 schema.ts (JSONRPC_VERSION)",
    says: "Every message carries `jsonrpc` with the string \"2.0\".",
    why: "The tag is how a reader knows that the object is a message at all; a strict reader drops what has none.",
    twin: "env-jsonrpc-version",
    ..MUST
};

pub(crate) const MESSAGE_NOT_OBJECT: Rule = Rule {
    id: "message-not-object",
    source: "2025-11-25 schema.ts (JSONRPCMessage)",
    says: "A message is a JSON object.",
    why: "A bare string, number, boolean or null says neither what it is nor whom it answers; readers drop it or end.",
    twin: "env-shape",
    ..MUST
};

pub(crate) const UNPARSABLE_MESSAGE: Rule = Rule {
    id: "unparsable-message",
    basis: Basis::Jsonrpc,
    source: "JSON-RPC 2.0 specification (Request object), adopted by 2025-11-25 basic/index (Messages)",
    says: "What is sent as a message parses as JSON.",
    why: "Nothing can be matched with a frame that cannot be read: whatever it asked or answered \
        is lost. Often two writers shared the pipe without a lock.",
    ..MUST
};

pub(crate) const MESSAGE_KIND_UNCLEAR: Rule = Rule {
    id: "message-kind-unclear",
    basis: Basis::Text,
    source: "2025-11-25 basic/index (Messages)",
    says: "A message is one of request, notification, result and error.",
    why: "Without `method`, `result` or `error` (or with a method and an answer at once) each reader guesses differently.",
    twin: "env-shape",
    ..MUST
};

pub(crate) const RESPONSE_RESULT_AND_ERROR: Rule = Rule {
    id: "response-result-and-error",
    basis: Basis::Text,
    source: "2025-11-25 basic/index (Responses)",
    says: "A response has exactly one of `result` and `error`.",
    why: "Some readers look for `result` first, some for `error`: one side sees success where the \
        other sees failure. It counts for both members whatever their values.",
    when: When::RESPONSE,
    twin: "env-shape",
    ..MUST
};

pub(crate) const METHOD_NOT_STRING: Rule = Rule {
    id: "method-not-string",
    basis: Basis::Text,
    source: "2025-11-25 basic/index (Requests)",
    says: "`method` is a string.",
    why: "A dispatcher has nothing to look up.",
    twin: "env-shape",
    ..MUST
};

pub(crate) const PARAMS_NOT_OBJECT: Rule = Rule {
    id: "params-not-object",
    basis: Basis::Text,
    source: "2025-11-25 basic/index (Requests)",
    says: "`params`, where present, is an object.",
    why: "This protocol has named parameters only; arrays and null are refused by typed readers.",
    when: When::CALL,
    twin: "env-params-object",
    ..MUST
};

pub(crate) const RESULT_NOT_OBJECT: Rule = Rule {
    id: "result-not-object",
    source: "2025-11-25 schema.ts (Result)",
    says: "`result` is an object.",
    why: "An empty acknowledgement is `{}`; null and scalars fail in typed readers.",
    when: When::RESPONSE,
    twin: "env-result-object",
    ..MUST
};

pub(crate) const ERROR_OBJECT_SHAPE: Rule = Rule {
    id: "error-object-shape",
    basis: Basis::Text,
    source: "2025-11-25 basic/index (Responses)",
    says: "`error` is an object with `code` and `message`.",
    why: "Without them a client can neither show nor sort the failure.",
    when: When::RESPONSE,
    twin: "env-error-shape",
    ..MUST
};

pub(crate) const ERROR_CODE_NOT_INTEGER: Rule = Rule {
    id: "error-code-not-integer",
    basis: Basis::Text,
    source: "2025-11-25 basic/index (Responses)",
    says: "`error.code` is an integer.",
    why: "Codes are compared as integers; a string or a fraction matches none.",
    when: When::RESPONSE,
    twin: "env-error-shape",
    ..MUST
};

pub(crate) const NOT_UTF8: Rule = Rule {
    id: "not-utf8",
    basis: Basis::Text,
    from: Revision::V2025_03_26,
    source: "2025-11-25 basic/transports (Transports)",
    says: "Messages are UTF-8.",
    why: "Line readers that decode strictly end the session on the first bad byte.",
    twin: "env-utf8",
    ..MUST
};

pub(crate) const JSON_DUPLICATE_KEYS: Rule = Rule {
    id: "json-duplicate-keys",
    level: Level::MayNote,
    basis: Basis::Derived,
    source: "RFC 8259 section 4 (names within an object), JSON being the encoding of JSON-RPC \
        2.0, adopted by 2025-11-25 basic/index (Messages)",
    says: "No member of the envelope stands there twice.",
    why: "Readers disagree on which one wins, so two peers can see two different messages. A note: JSON only advises against it.",
    ..NOTE
};

pub(crate) const RPC_RESERVED_METHOD: Rule = Rule {
    id: "rpc-reserved-method",
    level: Level::Must,
    basis: Basis::Jsonrpc,
    source: "JSON-RPC 2.0 specification (Request object), adopted by 2025-11-25 basic/index (Messages)",
    says: "No method name begins with `rpc.`.",
    why: "JSON-RPC keeps these names for itself.",
    when: When::CALL,
    ..SHOULD
};

pub(crate) const METHOD_NOT_IN_REVISION: Rule = Rule {
    id: "method-not-in-revision",
    level: Level::Should,
    level_by: MUST_SINCE_2025_06,
    basis: Basis::Derived,
    severity_by: WARNING_BEFORE_2025_06,
    source: "2025-11-25 basic/lifecycle (Operation)",
    says: "Only methods of the agreed revision are used.",
    why: "The other side agreed to that revision and need not know any other; a name that no \
        revision knows is a note, since vendors may agree on their own, and is not worth one \
        where it was refused as it should be.",
    when: When::CALL,
    ..MUST
};

pub(crate) const META_NOT_OBJECT: Rule = Rule {
    id: "meta-not-object",
    until: Revision::V2026_07_28,
    source: "2025-11-25 schema.ts (Result)",
    says: "`_meta` is an object.",
    why: "It is the protocol's own drawer: progress tokens and versions are looked up in it.",
    ..MUST
};

pub(crate) const ENVELOPE_EXTRA_MEMBERS: Rule = Rule {
    id: "envelope-extra-members",
    level: Level::MayNote,
    basis: Basis::Schema,
    source: "2025-11-25 schema.ts (JSONRPCRequest)",
    says: "A message has no members but `jsonrpc`, `id`, `method`, `params`, `result` and `error`.",
    why: "Readers ignore the others, and some drop the message; what is to be kept goes into `_meta`.",
    ..NOTE
};

/// The rows of this category.
pub(crate) const ROWS: &[Rule] = &[
    JSONRPC_VERSION,
    MESSAGE_NOT_OBJECT,
    UNPARSABLE_MESSAGE,
    MESSAGE_KIND_UNCLEAR,
    RESPONSE_RESULT_AND_ERROR,
    METHOD_NOT_STRING,
    PARAMS_NOT_OBJECT,
    RESULT_NOT_OBJECT,
    ERROR_OBJECT_SHAPE,
    ERROR_CODE_NOT_INTEGER,
    NOT_UTF8,
    JSON_DUPLICATE_KEYS,
    RPC_RESERVED_METHOD,
    METHOD_NOT_IN_REVISION,
    META_NOT_OBJECT,
    ENVELOPE_EXTRA_MEMBERS,
];

impl Part {
    /// Judges the form of a frame that the party sent.
    #[inline]
    pub(crate) fn form(&mut self, cx: &mut Cx<'_>, message: &Message) {
        const FORM: Conditions = Conditions::of(&[
            Condition::ByteOrderMark,
            Condition::CarriageReturn,
            Condition::NotUtf8,
            Condition::VersionTagMissing,
            Condition::VersionTagWrong,
            Condition::DuplicateMember,
            Condition::RpcPrefix,
            Condition::ParamsNotObject,
            Condition::ResultNotObject,
            Condition::ResultAndError,
            Condition::MetaNotObject,
            Condition::ExtraMember,
        ]);
        if message.kind == Kind::Error {
            self.error_form(cx, message);
        }
        if message.conditions.intersects(FORM)
            && !matches!(message.kind, Kind::Malformed | Kind::Batch)
        {
            self.odd_form(cx, message);
        }
    }

    #[cold]
    fn odd_form(&mut self, cx: &mut Cx<'_>, message: &Message) {
        let frame = [cx.frame];
        let has = |condition| message.has(condition);
        if has(Condition::ByteOrderMark) && self.link == LinkKind::Pipe {
            let text =
                "a byte-order mark stands before the message; a line begins with `{`".to_string();
            self.broken_at(cx, noise_rule(self.role), Severity::Warning, &frame, text);
        }
        if has(Condition::CarriageReturn) && self.link == LinkKind::Pipe && !self.is(flag::CRLF) {
            self.set(flag::CRLF);
            let text = "lines of this side end with CR LF; LF alone ends a line".to_string();
            self.broken(cx, &STDIO_CRLF, &frame, text);
        }
        if has(Condition::NotUtf8) {
            // The transport page of the first revision does not say so, JSON does.
            let severity = match self.revision {
                Some(Revision::V2024_11_05) => Severity::Note,
                _ => Severity::Error,
            };
            let text = "the frame holds bytes that are not UTF-8".to_string();
            self.broken_at(cx, &NOT_UTF8, severity, &frame, text);
        }
        if (has(Condition::VersionTagMissing) || has(Condition::VersionTagWrong)) && !cx.refused {
            let what = if has(Condition::VersionTagMissing) {
                "has no `jsonrpc` member"
            } else {
                "has another `jsonrpc`"
            };
            let text = format!("the frame {what}; it is the string \"2.0\"");
            self.broken(cx, &JSONRPC_VERSION, &frame, text);
        }
        if has(Condition::DuplicateMember) {
            let text =
                "a member of the envelope stands there twice; readers disagree on which one wins"
                    .to_string();
            self.broken(cx, &JSON_DUPLICATE_KEYS, &frame, text);
        }
        if has(Condition::RpcPrefix) {
            let text = "the method begins with `rpc.`, which JSON-RPC keeps for itself".to_string();
            self.broken(cx, &RPC_RESERVED_METHOD, &frame, text);
        }
        if has(Condition::ExtraMember) {
            self.extra_member(cx);
        }
        if has(Condition::ParamsNotObject) {
            let text = "`params` is no object; leave it out where there are none".to_string();
            self.broken(cx, &PARAMS_NOT_OBJECT, &frame, text);
        }
        if has(Condition::MetaNotObject) {
            let text =
                "`_meta` is no object; leave it out where there is nothing to say".to_string();
            self.broken(cx, &META_NOT_OBJECT, &frame, text);
        }
        if has(Condition::ResultAndError) {
            let text = format!(
                "the answer to {} has both `result` and `error`; it has exactly one",
                message.id
            );
            self.broken(cx, &RESPONSE_RESULT_AND_ERROR, &frame, text);
        } else if has(Condition::ResultNotObject) {
            let text = format!(
                "the result for {} is no object; with nothing to say it is `{{}}`",
                message.id
            );
            self.broken(cx, &RESULT_NOT_OBJECT, &frame, text);
        }
    }

    fn extra_member(&self, cx: &mut Cx<'_>) {
        const KNOWN: &[&str] = &["jsonrpc", "id", "method", "params", "result", "error"];
        let mut members = cx.body.into_iter().flat_map(Value::members);
        let extra = members.find(|(name, _)| !name.is_one_of(KNOWN));
        let text = match extra {
            Some((name, _)) => format!("the message has a member {}", shown(name)),
            None => "the message has a member of another name".to_string(),
        };
        let text = format!("{text}, which no revision knows; readers ignore it");
        let (rule, frame) = (&ENVELOPE_EXTRA_MEMBERS, [cx.frame]);
        let name = extra.map(|(name, _)| name);
        self.case(cx, rule, Verdict::Broken, None, &frame, name, text);
    }

    fn error_form(&mut self, cx: &mut Cx<'_>, message: &Message) {
        const SHAPE: Conditions = Conditions::of(&[
            Condition::ErrorNotObject,
            Condition::ErrorCodeMissing,
            Condition::ErrorMessageMissing,
        ]);
        let frame = [cx.frame];
        if message.conditions.intersects(SHAPE) {
            // A JSON body under an HTTP error that makes no claim to be a message is none.
            if cx.refused && message.has(Condition::VersionTagMissing) {
                return;
            }
            let what = match () {
                () if message.has(Condition::ErrorNotObject) => "`error` is no object",
                () if message.has(Condition::ErrorCodeMissing) => "`error` has no `code`",
                () => "`error` has no `message`, or one that is no string",
            };
            let text =
                format!("{what}; it is an object with an integer `code` and a string `message`");
            self.broken(cx, &ERROR_OBJECT_SHAPE, &frame, text);
        } else if message.has(Condition::ErrorCodeNotInteger) {
            let text = "`error.code` is no integer".to_string();
            self.broken(cx, &ERROR_CODE_NOT_INTEGER, &frame, text);
        } else if errors::is_undefined(message.number) {
            let text = format!(
                "the code {} lies in JSON-RPC's own range and is not defined there",
                message.number
            );
            self.broken(cx, &errors::ERROR_CODE_RESERVED_RANGE, &frame, text);
        }
    }

    /// Judges who sends a request, and whether the agreed revision has it.
    #[inline]
    pub(crate) fn direction_of_request(&mut self, cx: &mut Cx<'_>, message: &Message) {
        if message.method == Method::Unknown {
            return;
        }
        if self.is_foreign(message.method) {
            self.not_in_revision(cx, message.method);
        } else if !may_send(self.role, message.method) {
            let text = format!(
                "{} is the {}'s request to send",
                message.method.words(),
                self.role.other().as_str()
            );
            self.broken(
                cx,
                &super::correlation::REQUEST_WRONG_DIRECTION,
                &[cx.frame],
                text,
            );
        }
    }

    /// Whether the revision that governs the party certainly has no such method.
    #[inline]
    pub(crate) fn is_foreign(&self, method: Method) -> bool {
        self.governing()
            .is_some_and(|revision| !is_in(method, revision))
    }

    #[cold]
    pub(crate) fn not_in_revision(&mut self, cx: &mut Cx<'_>, method: Method) {
        let revision = self.revision.map_or("", Revision::as_str);
        let text = format!(
            "revision {revision}, which was agreed on, has no {}",
            method.words()
        );
        self.broken(cx, &METHOD_NOT_IN_REVISION, &[cx.frame], text);
    }

    /// The other side refused a name that no revision knows, and not as unknown methods are refused:
    /// then the reader gains by knowing that the name is nobody's.
    #[cold]
    pub(crate) fn unknown_method_refused(&mut self, cx: &mut Cx<'_>, own: &Own, message: &Message) {
        let passes = message.number == -32601
            || own.flags & (open::BAD | open::STATELESS) != 0
            || self.governing().is_none();
        if passes {
            return;
        }
        let text =
            "no revision knows this method; vendors may agree on methods of their own".to_string();
        self.broken_at(
            cx,
            &METHOD_NOT_IN_REVISION,
            Severity::Note,
            &[own.frame],
            text,
        );
    }
}

/// Whether that side may send that method, in any revision.
pub(crate) fn may_send(role: Role, method: Method) -> bool {
    use Method as M;
    match method {
        M::SamplingCreateMessage
        | M::ElicitationCreate
        | M::RootsList
        | M::LogMessage
        | M::ToolsListChanged
        | M::PromptsListChanged
        | M::ResourcesListChanged
        | M::ResourcesUpdated
        | M::ElicitationComplete
        | M::SubscriptionsAcknowledged
        | M::TasksNotification => role == Role::Server,
        M::Ping
        | M::Progress
        | M::Cancelled
        | M::TasksGet
        | M::TasksResult
        | M::TasksList
        | M::TasksCancel
        | M::TasksStatus
        | M::None
        | M::Unknown => true,
        _ => role == Role::Client,
    }
}

/// Whether that revision has that method.
pub(crate) fn is_in(method: Method, revision: Revision) -> bool {
    use Method as M;
    use Revision as R;
    match method {
        M::ElicitationCreate => revision >= R::V2025_06_18,
        M::TasksGet | M::TasksCancel => revision >= R::V2025_11_25,
        M::TasksList | M::TasksResult | M::TasksStatus | M::ElicitationComplete => {
            revision == R::V2025_11_25
        }
        M::ServerDiscover
        | M::SubscriptionsListen
        | M::SubscriptionsAcknowledged
        | M::TasksUpdate
        | M::TasksNotification => revision == R::V2026_07_28,
        M::Initialize
        | M::Initialized
        | M::Ping
        | M::LoggingSetLevel
        | M::ResourcesSubscribe
        | M::ResourcesUnsubscribe
        | M::RootsListChanged => revision.has_handshake(),
        _ => true,
    }
}
