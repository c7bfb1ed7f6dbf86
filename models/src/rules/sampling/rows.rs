//! The rows of sampling.

use mcpsim_traces::judge::Severity;
use mcpsim_traces::message::{Method, Revision};

use crate::rules::{Basis, Category, MUST, NOTE, Needs, Rule, SHOULD, Side, When};

/// What most rows of sampling have in common.
const SAMPLING: Rule = Rule {
    category: Category::Sampling,
    side: Side::Server,
    when: When::call(Method::SamplingCreateMessage),
    ..MUST
};

/// … and those about tools, which came with 2025-11-25.
const TOOLS: Rule = Rule {
    from: Revision::V2025_11_25,
    when: When::SAMPLING_TOOLS,
    ..SAMPLING
};

pub(crate) const SAMPLING_PARAMS: Rule = Rule {
    id: "sampling-params",
    source: "2025-11-25 schema.ts (CreateMessageRequestParams)",
    says: "A sampling request brings its messages as an array, and maxTokens as an integer.",
    why: "Clients cannot call a model without either; typed ones refuse the request before their handler sees it.",
    twin: "samp-request-shape",
    ..SAMPLING
};

pub(crate) const SAMPLING_MESSAGE_SHAPE: Rule = Rule {
    id: "sampling-message-shape",
    source: "2025-11-25 schema.ts (SamplingMessage)",
    says: "A sampling message has a content, and the role user or assistant.",
    why: "Habits of model APIs (a system message, a bare string as content) do not parse here.",
    twin: "samp-request-shape",
    ..SAMPLING
};

pub(crate) const SAMPLING_CONTENT_ARRAY: Rule = Rule {
    id: "sampling-content-array",
    until: Revision::V2025_06_18,
    side: Side::Both,
    needs: Needs::Causal,
    source: "2025-06-18 schema.ts (SamplingMessage)",
    says: "Up to 2025-06-18 a sampling message or result holds one content block.",
    why: "A newer library that sends arrays in an older session is not understood by peers that keep to it.",
    ..SAMPLING
};

pub(crate) const SAMPLING_CONTENT_TYPE: Rule = Rule {
    id: "sampling-content-type",
    side: Side::Both,
    needs: Needs::Causal,
    source: "2025-11-25 schema.ts (SamplingMessageContentBlock)",
    says: "Sampling holds texts and images, sounds from 2025-03-26, tool uses and results from 2025-11-25.",
    why: "A block that the revision does not have fails to parse; resources never stand in sampling by themselves.",
    twin: "samp-request-shape",
    ..SAMPLING
};

pub(crate) const SAMPLING_RESULT_SHAPE: Rule = Rule {
    id: "sampling-result-shape",
    side: Side::Client,
    needs: Needs::Causal,
    source: "2025-11-25 schema.ts (CreateMessageResult)",
    says: "The result of a sampling has a role, a content and the model's name; a stopReason is a string.",
    why: "The server's call fails on a result that it cannot parse, after the tokens were paid for.",
    when: When::result(Method::SamplingCreateMessage),
    twin: "mrtr-response-shape",
    ..SAMPLING
};

pub(crate) const SAMPLING_PREFERENCES_RANGE: Rule = Rule {
    id: "sampling-preferences-range",
    source: "2025-11-25 schema.ts (ModelPreferences)",
    says: "Priorities of a model are numbers from 0 to 1, and hints are objects.",
    why: "A priority of 80 outweighs all others, or is refused; a hint that is a bare name is lost.",
    ..SAMPLING
};

pub(crate) const SAMPLING_INCLUDE_CONTEXT_VALUE: Rule = Rule {
    id: "sampling-include-context-value",
    source: "2025-11-25 schema.ts (CreateMessageRequestParams)",
    says: "includeContext is none, thisServer or allServers.",
    why: "Typed clients refuse the request, others leave the context out without a word.",
    twin: "samp-request-shape",
    ..SAMPLING
};

pub(crate) const SAMPLING_CONTEXT_UNDECLARED: Rule = Rule {
    id: "sampling-context-undeclared",
    category: Category::Sampling,
    from: Revision::V2025_11_25,
    side: Side::Server,
    needs: Needs::Causal,
    source: "2025-11-25 client/sampling (Capabilities)",
    says: "Context of servers is asked for only where the client declared `sampling.context`.",
    why: "The client may ignore it, and the model answers without what the server counts on.",
    when: When::call(Method::SamplingCreateMessage),
    twin: "samp-include-context",
    ..SHOULD
};

pub(crate) const SAMPLING_TOOLS_UNDECLARED: Rule = Rule {
    id: "sampling-tools-undeclared",
    basis: Basis::Text,
    needs: Needs::Causal,
    source: "2025-11-25 client/sampling (Tools in Sampling)",
    says: "Tools are sent with a sampling request only where the client declared `sampling.tools`.",
    why: "The client has to refuse; one that does not know of tools leaves them out, and the model never calls any.",
    twin: "samp-tools-capability",
    ..TOOLS
};

pub(crate) const SAMPLING_TOOLS_MUST_ERROR: Rule = Rule {
    id: "sampling-tools-must-error",
    basis: Basis::Text,
    side: Side::Client,
    needs: Needs::Causal,
    source: "2025-11-25 schema.ts (CreateMessageRequestParams)",
    says: "A client that did not declare `sampling.tools` refuses requests with tools.",
    why: "The server takes an answer without tool uses for the model's choice.",
    when: When::MISASKED,
    ..TOOLS
};

pub(crate) const SAMPLING_TOOL_CHOICE: Rule = Rule {
    id: "sampling-tool-choice",
    source: "2025-11-25 schema.ts (ToolChoice)",
    says: "toolChoice is an object whose mode is auto, required or none.",
    why: "Names of model APIs (any, a tool's name, a bare string) mean nothing here and are refused or ignored.",
    twin: "samp-request-shape",
    ..TOOLS
};

pub(crate) const SAMPLING_TOOL_CHOICE_OBEYED: Rule = Rule {
    id: "sampling-tool-choice-obeyed",
    basis: Basis::Text,
    severity: Severity::Warning,
    tier: 2,
    side: Side::Client,
    needs: Needs::Causal,
    source: "2025-11-25 schema.ts (ToolChoice)",
    says: "With the choice none no tool is used, with required at least one.",
    why: "A server that ends its loop with none gets one more tool use and starts another round.",
    when: When::SAMPLING_TOOLS,
    ..TOOLS
};

pub(crate) const SAMPLING_TOOL_RESULT_ONLY: Rule = Rule {
    id: "sampling-tool-result-only",
    basis: Basis::Text,
    source: "2025-11-25 client/sampling (Tool Result Messages)",
    says: "A message of the user that holds tool results holds nothing else.",
    why: "Model APIs that have a role of their own for tool results cannot take the mixture.",
    twin: "samp-tool-result-only",
    ..TOOLS
};

pub(crate) const SAMPLING_TOOL_BALANCE: Rule = Rule {
    id: "sampling-tool-balance",
    basis: Basis::Text,
    source: "2025-11-25 client/sampling (Tool Use and Result Balance)",
    says: "The message after one with tool uses brings a result for each of them.",
    why: "Model APIs refuse a conversation in which a tool use was left open.",
    twin: "samp-tool-use-balance",
    ..TOOLS
};

pub(crate) const SAMPLING_TOOL_RESULT_ORPHAN: Rule = Rule {
    id: "sampling-tool-result-orphan",
    basis: Basis::Text,
    source: "2025-11-25 schema.ts (ToolResultContent)",
    says: "A tool result names a tool use that stands before it.",
    why: "A history that was cut between a use and its result is refused by model APIs.",
    twin: "samp-tool-use-balance",
    ..TOOLS
};

pub(crate) const SAMPLING_TOOL_ROLES: Rule = Rule {
    id: "sampling-tool-roles",
    basis: Basis::Lowercase,
    severity: Severity::Warning,
    tier: 2,
    side: Side::Both,
    source: "2025-11-25 client/sampling (Message Roles)",
    says: "The assistant uses tools, and the user brings their results.",
    why: "The schema takes it the other way round too, and the model API behind the client does not.",
    twin: "samp-tool-roles",
    ..TOOLS
};

pub(crate) const SAMPLING_TOOL_USE_NAME: Rule = Rule {
    id: "sampling-tool-use-name",
    category: Category::Sampling,
    basis: Basis::Derived,
    from: Revision::V2025_11_25,
    side: Side::Client,
    needs: Needs::Causal,
    source: "2025-11-25 client/sampling (Sampling with Tools)",
    says: "A tool that is used was offered.",
    why: "Models make up names, and clients may pass them on; a server that looks the name up unchecked fails.",
    when: When::SAMPLING_TOOLS,
    ..NOTE
};

pub(crate) const SAMPLING_REFUSED_CODE: Rule = Rule {
    id: "sampling-refused-code",
    category: Category::Sampling,
    side: Side::Client,
    needs: Needs::Causal,
    source: "2025-11-25 client/sampling (Error Handling)",
    says: "That the user refused a sampling is told by an error with the code -1.",
    why: "A server that cannot tell a refusal from a failure asks again.",
    when: When::error(Method::SamplingCreateMessage),
    ..NOTE
};

pub(crate) const SAMPLING_TOOL_BLOCK_FIELDS: Rule = Rule {
    id: "sampling-tool-block-fields",
    side: Side::Sender,
    source: "2025-11-25 schema.ts (ToolUseContent, ToolResultContent)",
    says: "A tool use has an id, a name and an input object; a tool result has a toolUseId and an array of ordinary blocks.",
    why: "Uses and results find each other by these members; a content that is a bare string does not parse.",
    twin: "samp-request-shape",
    ..TOOLS
};

pub(crate) const SAMPLING_TOOL_FAULT_REFUSED: Rule = Rule {
    id: "sampling-tool-fault-refused",
    category: Category::Sampling,
    from: Revision::V2025_11_25,
    side: Side::Client,
    needs: Needs::Causal,
    source: "2025-11-25 client/sampling (Error Handling)",
    says: "A sampling request whose tool results are missing or mixed is refused with -32602.",
    why: "A client that passes it on shows the server an error of the model's maker, or a made-up answer.",
    when: When::MISASKED,
    ..SHOULD
};

/// The rows of this category.
pub(crate) const ROWS: &[Rule] = &[
    SAMPLING_PARAMS,
    SAMPLING_MESSAGE_SHAPE,
    SAMPLING_CONTENT_ARRAY,
    SAMPLING_CONTENT_TYPE,
    SAMPLING_RESULT_SHAPE,
    SAMPLING_PREFERENCES_RANGE,
    SAMPLING_INCLUDE_CONTEXT_VALUE,
    SAMPLING_CONTEXT_UNDECLARED,
    SAMPLING_TOOLS_UNDECLARED,
    SAMPLING_TOOLS_MUST_ERROR,
    SAMPLING_TOOL_CHOICE,
    SAMPLING_TOOL_CHOICE_OBEYED,
    SAMPLING_TOOL_RESULT_ONLY,
    SAMPLING_TOOL_BALANCE,
    SAMPLING_TOOL_RESULT_ORPHAN,
    SAMPLING_TOOL_ROLES,
    SAMPLING_TOOL_USE_NAME,
    SAMPLING_REFUSED_CODE,
    SAMPLING_TOOL_BLOCK_FIELDS,
    SAMPLING_TOOL_FAULT_REFUSED,
];
