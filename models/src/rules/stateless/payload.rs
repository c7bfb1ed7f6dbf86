//! Params and results of 2026-07-28: members and their types. The tables are those of all revisions, in
//! `rules/payload`.

use mcpsim_traces::judge::Severity;
use mcpsim_traces::message::Method;

use crate::rules::{
    Basis, Category, Level, Needs, Rule, STATELESS_MUST, STATELESS_NOTE, STATELESS_SHOULD, Side,
    When,
};

pub(crate) const REQUEST_SCHEMA: Rule = Rule {
    id: "request-schema",
    category: Category::RequestMeta,
    basis: Basis::Schema,
    side: Side::Client,
    source: "2026-07-28 schema.ts (ClientRequest)",
    says: "The params of a request have the members of its method, each of its type.",
    why: "The server refuses the request with -32602, or takes a default for what it cannot read.",
    ..STATELESS_MUST
};

pub(crate) const RESULT_SCHEMA: Rule = Rule {
    id: "result-schema",
    category: Category::ResultType,
    basis: Basis::Schema,
    side: Side::Server,
    source: "2026-07-28 basic/index (Result Responses)",
    says: "A complete result has the members of its request's method, and content blocks those of their types.",
    why: "Readers that check results drop the whole of one for a single wrong member.",
    needs: Needs::Causal,
    when: When::STATELESS_RESULT,
    ..STATELESS_MUST
};

pub(crate) const NOTIFICATION_SCHEMA: Rule = Rule {
    id: "notification-schema",
    category: Category::Notification,
    basis: Basis::Schema,
    side: Side::Both,
    source: "2026-07-28 schema.ts (ProgressNotification)",
    says: "The params of a notification have the members of its method.",
    why: "Strict receivers drop the notification, or close the session over it.",
    when: When::NOTIFICATION,
    ..STATELESS_MUST
};

pub(crate) const DISCOVER_RESULT_SHAPE: Rule = Rule {
    id: "discover-result-shape",
    category: Category::Discovery,
    basis: Basis::Schema,
    side: Side::Server,
    source: "2026-07-28 server/discover (DiscoverResult)",
    says: "What is discovered is a list of supported versions and an object of capabilities.",
    why: "The client chooses its version by the list; without one it falls back to older revisions.",
    when: When::result(Method::ServerDiscover),
    ..STATELESS_MUST
};

pub(crate) const PAGE_NEXT_CURSOR_TYPE: Rule = Rule {
    id: "page-next-cursor-type",
    category: Category::Pagination,
    basis: Basis::Schema,
    side: Side::Server,
    source: "2026-07-28 server/utilities/pagination (Response Format)",
    says: "nextCursor is a string, and is left out on the last page.",
    why: "Of null some clients make a cursor and ask for ever.",
    when: When::NEXT_CURSOR,
    ..STATELESS_MUST
};

pub(crate) const CACHE_TTL_VALID: Rule = Rule {
    id: "cache-ttl-valid",
    category: Category::Caching,
    side: Side::Server,
    source: "2026-07-28 server/utilities/caching (Time-to-Live (TTL) Field)",
    says: "ttlMs is a whole number of milliseconds, not below zero.",
    why: "Clients take anything else for zero, or keep the result for ever.",
    when: When::CACHE_HINTS,
    ..STATELESS_MUST
};

pub(crate) const CACHE_SCOPE_VALID: Rule = Rule {
    id: "cache-scope-valid",
    category: Category::Caching,
    basis: Basis::Schema,
    side: Side::Server,
    source: "2026-07-28 server/utilities/caching (Cache Scope Field)",
    says: "cacheScope is public or private.",
    why: "A cache that does not know the word may hand one user's result to another.",
    when: When::CACHE_HINTS,
    ..STATELESS_MUST
};

pub(crate) const CONTENT_BASE64: Rule = Rule {
    id: "content-base64",
    category: Category::Tools,
    source: "2026-07-28 server/prompts (Image Content)",
    says: "The data of images, sounds and blobs is base64.",
    why: "It cannot be decoded, or some decoders make another thing of it than others.",
    when: When::BINARY,
    ..STATELESS_MUST
};

pub(crate) const RES_CONTENTS_SHAPE: Rule = Rule {
    id: "res-contents-shape",
    category: Category::Resources,
    basis: Basis::Schema,
    side: Side::Server,
    source: "2026-07-28 server/resources (Resource Contents)",
    says: "Each item of what is read has a `uri` and either `text` or `blob`, a string.",
    why: "A reader cannot tell text from binary, or finds nothing at all.",
    when: When::result(Method::ResourcesRead),
    ..STATELESS_MUST
};

pub(crate) const PROMPTS_SHAPE: Rule = Rule {
    id: "prompts-shape",
    category: Category::Prompts,
    basis: Basis::Schema,
    side: Side::Server,
    source: "2026-07-28 server/prompts (PromptMessage)",
    says: "Prompts and their arguments have names; messages of a prompt are of the user or the assistant, with one content block.",
    why: "There is no system role here, and content is one block, no list and no string.",
    when: When::result(Method::PromptsList),
    ..STATELESS_MUST
};

pub(crate) const PROMPTS_ARGUMENTS_STRINGS: Rule = Rule {
    id: "prompts-arguments-strings",
    category: Category::Prompts,
    basis: Basis::Schema,
    side: Side::Client,
    source: "2026-07-28 schema.ts (GetPromptRequestParams)",
    says: "The arguments of a prompt are strings by their names.",
    why: "Unlike a tool's, they are strings: servers refuse numbers and booleans.",
    when: When::call(Method::PromptsGet),
    ..STATELESS_MUST
};

pub(crate) const COMP_MAX_100: Rule = Rule {
    id: "comp-max-100",
    category: Category::Completion,
    basis: Basis::Schema,
    side: Side::Server,
    source: "2026-07-28 server/utilities/completion (Completion Results)",
    says: "A completion has an array `values` of at most 100 strings.",
    why: "Strict clients refuse more; `total` and `hasMore` say that there are.",
    when: When::result(Method::CompletionComplete),
    ..STATELESS_MUST
};

pub(crate) const LOG_LEVEL_VALID: Rule = Rule {
    id: "log-level-valid",
    category: Category::Logging,
    basis: Basis::Schema,
    side: Side::Both,
    source: "2026-07-28 server/utilities/logging (Log Levels)",
    says: "Log levels are the eight names of syslog, in lower case.",
    why: "\"warn\", \"fatal\" and \"trace\" come from other libraries: whoever compares levels does not know where they stand.",
    when: When::LOG_LEVEL,
    ..STATELESS_MUST
};

pub(crate) const META_SERVER_INFO_SHAPE: Rule = Rule {
    id: "meta-server-info-shape",
    category: Category::RequestMeta,
    basis: Basis::Schema,
    side: Side::Server,
    source: "2026-07-28 schema.ts (ResultMetaObject)",
    says: "serverInfo in a result's `_meta` is an object with a string name and a string version.",
    why: "Logs and hosts show it to people; a bare string shows nothing.",
    when: When::STATELESS_RESULT,
    ..STATELESS_MUST
};

pub(crate) const TOOLS_OUTPUT_SCHEMA_OBJECT: Rule = Rule {
    id: "tools-output-schema-object",
    category: Category::Tools,
    basis: Basis::Schema,
    side: Side::Server,
    source: "2026-07-28 schema.ts (Tool)",
    says: "The outputSchema of a tool, where it has one, is an object.",
    why: "Clients compile it before the first call; true and false are JSON Schemas, but not here.",
    when: When::TOOL,
    ..STATELESS_MUST
};

pub(crate) const META_TRACE_CONTEXT_FORMAT: Rule = Rule {
    id: "meta-trace-context-format",
    category: Category::RequestMeta,
    severity: Severity::Warning,
    source: "2026-07-28 basic/index (_meta)",
    says: "traceparent, tracestate and baggage in `_meta` have the forms that W3C gives them.",
    why: "A tracer drops what it cannot read, and the trace breaks off at that hop.",
    tier: 3,
    when: When::META,
    ..STATELESS_MUST
};

pub(crate) const CAPS_ROOTS_LIST_CHANGED_GONE: Rule = Rule {
    id: "caps-roots-list-changed-gone",
    category: Category::Capability,
    level: Level::MayNote,
    side: Side::Client,
    source: "2026-07-28 client/roots (Capabilities)",
    says: "The roots capability has no listChanged any more.",
    why: "A client that counts on announcing changes finds no notification to do it with.",
    when: When::CAPABILITIES,
    ..STATELESS_NOTE
};

pub(crate) const ICON_SRC_SCHEME: Rule = Rule {
    id: "icon-src-scheme",
    category: Category::Tools,
    severity: Severity::Warning,
    source: "2026-07-28 basic/index (icons)",
    says: "Icons come from https or data URIs.",
    why: "Clients refuse schemes that reach into their own machine or run code; plain http is read but not safe.",
    tier: 3,
    when: When::ICON,
    ..STATELESS_MUST
};

pub(crate) const RES_ANNOTATIONS_RANGE: Rule = Rule {
    id: "res-annotations-range",
    category: Category::Resources,
    severity: Severity::Warning,
    source: "2026-07-28 server/resources (Annotations)",
    says: "Annotations have an audience of user and assistant and a priority from 0 to 1.",
    why: "Clients sort and hide by them; of a priority of 10 or an audience of \"users\" they make nothing.",
    tier: 3,
    when: When::ANNOTATIONS,
    ..STATELESS_MUST
};

pub(crate) const RES_URI_VALID: Rule = Rule {
    id: "res-uri-valid",
    category: Category::Resources,
    severity: Severity::Warning,
    side: Side::Server,
    source: "2026-07-28 server/resources (Custom URI Schemes)",
    says: "The uri of a resource is an absolute URI.",
    why: "A client that parses it before it asks for it fails, or asks for something else; custom schemes are fine.",
    tier: 3,
    when: When::RESOURCE_URI,
    ..STATELESS_MUST
};

pub(crate) const RES_NOT_FOUND_CODE: Rule = Rule {
    id: "res-not-found-code",
    category: Category::Resources,
    side: Side::Server,
    source: "2026-07-28 server/resources (Error Handling)",
    says: "Reading a resource that does not exist is refused with -32602.",
    why: "-32002 belongs to the revisions before; clients of this one do not know what it says.",
    needs: Needs::Causal,
    when: When::error(Method::ResourcesRead),
    ..STATELESS_MUST
};

pub(crate) const RES_EMPTY_CONTENTS: Rule = Rule {
    id: "res-empty-contents",
    category: Category::Resources,
    severity: Severity::Warning,
    side: Side::Server,
    source: "2026-07-28 server/resources (Error Handling)",
    says: "That a resource does not exist is told by an error, not by empty contents.",
    why: "The client takes it for an empty resource, and keeps that.",
    needs: Needs::Causal,
    tier: 3,
    when: When::result(Method::ResourcesRead),
    ..STATELESS_MUST
};

pub(crate) const PROMPTS_BAD_NAME_ERROR: Rule = Rule {
    id: "prompts-bad-name-error",
    category: Category::Prompts,
    side: Side::Server,
    source: "2026-07-28 server/prompts (Error Handling)",
    says: "A prompt that does not exist, or asked for without a required argument, is refused with -32602.",
    why: "A prompt with a hole in it goes to the model as if somebody had meant it.",
    needs: Needs::Causal,
    tier: 3,
    when: When::call(Method::PromptsGet),
    ..STATELESS_SHOULD
};

/// The rows of this category.
pub(crate) const ROWS: &[Rule] = &[
    REQUEST_SCHEMA,
    RESULT_SCHEMA,
    NOTIFICATION_SCHEMA,
    DISCOVER_RESULT_SHAPE,
    PAGE_NEXT_CURSOR_TYPE,
    CACHE_TTL_VALID,
    CACHE_SCOPE_VALID,
    CONTENT_BASE64,
    RES_CONTENTS_SHAPE,
    PROMPTS_SHAPE,
    PROMPTS_ARGUMENTS_STRINGS,
    COMP_MAX_100,
    LOG_LEVEL_VALID,
    META_SERVER_INFO_SHAPE,
    META_TRACE_CONTEXT_FORMAT,
    TOOLS_OUTPUT_SCHEMA_OBJECT,
    CAPS_ROOTS_LIST_CHANGED_GONE,
    ICON_SRC_SCHEME,
    RES_ANNOTATIONS_RANGE,
    RES_URI_VALID,
    RES_NOT_FOUND_CODE,
    RES_EMPTY_CONTENTS,
    PROMPTS_BAD_NAME_ERROR,
];
