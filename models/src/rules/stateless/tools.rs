//! Tools and their results under 2026-07-28.

use mcpsim_traces::judge::Severity;
use mcpsim_traces::message::Method;

use crate::rules::{
    Basis, Category, Needs, Rule, STATELESS_MUST, STATELESS_NOTE, STATELESS_SHOULD, Side, When,
};

pub(crate) const TOOLS_SCHEMA_VALID: Rule = Rule {
    id: "tools-schema-valid",
    category: Category::Tools,
    severity: Severity::Warning,
    side: Side::Server,
    source: "2026-07-28 basic/index (Schema Validation)",
    says: "The schemas of a tool are valid in the dialect that they name, or in 2020-12.",
    why: "Clients hand them to a validator or a model's API, which refuses the tool, or all of them.",
    tier: 2,
    when: When::result(Method::ToolsList),
    ..STATELESS_MUST
};

pub(crate) const TOOLS_NAMES: Rule = Rule {
    id: "tools-names",
    category: Category::Tools,
    side: Side::Server,
    source: "2026-07-28 server/tools (Tool Names)",
    says: "No two tools of a server have one name, and a name is 1 to 128 ASCII letters, digits, underscores, \
        hyphens and dots.",
    why: "A call names its tool, in its body and in a header; which of two runs is anybody's guess.",
    needs: Needs::SameDirection,
    when: When::result(Method::ToolsList),
    ..STATELESS_SHOULD
};

pub(crate) const TOOLS_UNKNOWN_TOOL_ERROR: Rule = Rule {
    id: "tools-unknown-tool-error",
    category: Category::Tools,
    basis: Basis::Lowercase,
    side: Side::Server,
    source: "2026-07-28 server/tools (Error Handling)",
    says: "A call of a tool that does not exist is refused with -32602, and is no result with isError.",
    why: "A model reads such a result as a tool that failed, and tries again.",
    needs: Needs::Causal,
    when: When::call(Method::ToolsCall),
    ..STATELESS_SHOULD
};

pub(crate) const TOOLS_STRUCTURED_OUTPUT: Rule = Rule {
    id: "tools-structured-output",
    category: Category::Tools,
    side: Side::Server,
    source: "2026-07-28 server/tools (Output Schema)",
    says: "A tool with an outputSchema that succeeds returns structuredContent that satisfies it.",
    why: "The client promised its program typed data; it raises an error or throws the result away.",
    needs: Needs::Causal,
    when: When::OUTPUT_SCHEMA,
    ..STATELESS_MUST
};

pub(crate) const TOOLS_LIST_ORDER: Rule = Rule {
    id: "tools-list-order",
    category: Category::Tools,
    side: Side::Server,
    source: "2026-07-28 server/tools (Capabilities)",
    says: "While the tools are the same, they are listed in the same order.",
    why: "The list stands at the head of a model's prompt; another order throws its cache away.",
    needs: Needs::SameDirection,
    when: When::WHOLE_LIST,
    ..STATELESS_NOTE
};

pub(crate) const TOOLS_EXEC_ERROR_IN_RESULT: Rule = Rule {
    id: "tools-exec-error-in-result",
    category: Category::Tools,
    side: Side::Server,
    source: "2026-07-28 server/tools (Error Handling)",
    says: "What fails inside a tool, its input included, is told in a result with isError.",
    why: "Clients keep protocol errors from the model, which then never learns what went wrong.",
    needs: Needs::Causal,
    when: When::error(Method::ToolsCall),
    ..STATELESS_NOTE
};

pub(crate) const TOOLS_STRUCTURED_TEXT_COPY: Rule = Rule {
    id: "tools-structured-text-copy",
    category: Category::Tools,
    side: Side::Server,
    source: "2026-07-28 server/tools (Structured Content)",
    says: "structuredContent is repeated as JSON in a text block.",
    why: "Clients that know only content blocks, and many models behind them, see nothing else.",
    when: When::STRUCTURED,
    ..STATELESS_NOTE
};

/// The rows of this group.
pub(crate) const ROWS: &[Rule] = &[
    TOOLS_SCHEMA_VALID,
    TOOLS_NAMES,
    TOOLS_UNKNOWN_TOOL_ERROR,
    TOOLS_STRUCTURED_OUTPUT,
    TOOLS_LIST_ORDER,
    TOOLS_EXEC_ERROR_IN_RESULT,
    TOOLS_STRUCTURED_TEXT_COPY,
];
