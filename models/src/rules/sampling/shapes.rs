//! Shapes of sampling requests, their messages and their results.

use mcpsim_traces::judge::Severity;
use mcpsim_traces::message::Revision;
use mcpsim_traces::tape::Value;

use super::messages::is_type;
use super::rows::{
    SAMPLING_CONTENT_ARRAY, SAMPLING_CONTENT_TYPE, SAMPLING_INCLUDE_CONTEXT_VALUE,
    SAMPLING_MESSAGE_SHAPE, SAMPLING_PARAMS, SAMPLING_PREFERENCES_RANGE, SAMPLING_RESULT_SHAPE,
    SAMPLING_TOOL_BLOCK_FIELDS, SAMPLING_TOOL_CHOICE,
};
use crate::rules::payload::content::{self, CONTENT_BLOCK_FIELDS, ICONS};
use crate::rules::payload::meta;
use crate::rules::payload::tools::{ANNOTATIONS, EXECUTION, SCHEMA};
use crate::rules::{Rule, When};
use crate::shape::{Arm, Def, Member, Union, Walk, What, optional, required};

pub(crate) static REQUEST: Def = Def::new(
    "a sampling request",
    &[
        required("messages", What::ArrayOf(&What::Def(&MESSAGE))),
        required("maxTokens", What::Integer),
        optional("modelPreferences", What::Def(&PREFERENCES))
            .until(Revision::V2025_11_25)
            .rule(&SAMPLING_PREFERENCES_RANGE),
        optional("modelPreferences", What::Def(&PREFERENCES)).since(Revision::V2026_07_28),
        optional("systemPrompt", What::Text),
        optional("temperature", What::Number),
        optional("stopSequences", What::ArrayOf(&What::Text)),
        optional("metadata", What::Object),
        optional("tools", What::ArrayOf(&What::Def(&TOOL))).since(Revision::V2025_11_25),
        optional(
            "includeContext",
            What::OneOf(&["none", "thisServer", "allServers"]),
        )
        .rule(&SAMPLING_INCLUDE_CONTEXT_VALUE),
        optional("toolChoice", What::Def(&CHOICE))
            .since(Revision::V2025_11_25)
            .rule(&SAMPLING_TOOL_CHOICE),
    ],
)
.rule(&SAMPLING_PARAMS);

static MESSAGE: Def = Def::new(
    "a sampling message",
    &[
        required("role", What::OneOf(&["user", "assistant"])),
        required("content", What::Check("a content block", blocks)),
        optional("_meta", What::Object).since(Revision::V2025_11_25),
    ],
)
.rule(&SAMPLING_MESSAGE_SHAPE);

/// A tool that the model may use: all that is wrong with it is the request's matter.
static TOOL: Def = Def::new(
    "a tool",
    &[
        required("name", What::Text),
        optional("title", What::Text),
        optional("description", What::Text),
        required("inputSchema", What::Def(&SCHEMA)),
        optional("outputSchema", What::Def(&SCHEMA)).until(Revision::V2025_11_25),
        optional("outputSchema", What::Object).since(Revision::V2026_07_28),
        optional("annotations", What::Def(&ANNOTATIONS)).until(Revision::V2025_11_25),
        optional("annotations", What::Def(&ANNOTATIONS))
            .since(Revision::V2026_07_28)
            .at_most(Severity::Warning),
        optional("execution", What::Def(&EXECUTION)).until(Revision::V2025_11_25),
        ICONS,
        meta::NESTED,
    ],
);

static PREFERENCES: Def = Def::new(
    "the preferences",
    &[
        optional("hints", What::ArrayOf(&What::Def(&HINT))),
        optional("costPriority", What::Between(0, 1)),
        optional("speedPriority", What::Between(0, 1)),
        optional("intelligencePriority", What::Between(0, 1)),
    ],
);

static HINT: Def = Def::new("a hint", &[optional("name", What::Text)]);

static CHOICE: Def = Def::new(
    "a choice of tools",
    &[optional("mode", What::OneOf(&["auto", "required", "none"]))],
);

pub(crate) static RESULT: Def = Def::new(
    "a sampling result",
    &[
        required("role", What::OneOf(&["user", "assistant"])),
        required("content", What::Check("a content block", blocks)),
        required("model", What::Text),
        optional("stopReason", What::Text),
        optional("_meta", What::Object).since(Revision::V2026_07_28),
    ],
)
.rule(&SAMPLING_RESULT_SHAPE);

/// A block, or from 2025-11-25 also an array of them.
fn blocks<'a>(walk: &mut Walk<'a>, value: Value<'a>, rule: &'static Rule) {
    walk.saw(When::CONTENT);
    let block = if walk.is_stateless() {
        &OUTSIDE
    } else {
        &INSIDE
    };
    if !value.is_array() {
        return walk.value(value, block, rule);
    }
    if !walk.some(Revision::V2025_11_25, Revision::V2026_07_28) {
        return walk.flaw(&SAMPLING_CONTENT_ARRAY, value, || {
            "the content is an array of blocks, which comes with 2025-11-25; before, it is one block"
                .to_string()
        });
    }
    for item in value.items() {
        walk.value(item, block, rule);
    }
}

/// Inside sessions each kind of fault has its rule.
static INSIDE: What = What::Union(&Union {
    name: "a content block of a sampling",
    tag: "type",
    arms: &[
        Arm::new("text", &content::SAMPLED_TEXT),
        Arm::new("image", &content::SAMPLED_IMAGE),
        Arm::new("audio", &content::SAMPLED_AUDIO).since(Revision::V2025_03_26),
        Arm::new("tool_use", &TOOL_USE_INSIDE).since(Revision::V2025_11_25),
        Arm::new("tool_result", &TOOL_RESULT_INSIDE).since(Revision::V2025_11_25),
    ],
    rule: None,
    unknown: Some(&SAMPLING_CONTENT_TYPE),
});

/// Outside, one rule holds all that may be wrong with a request, and another with an answer.
static OUTSIDE: What = What::Union(&Union {
    name: "a content block of a sampling",
    tag: "type",
    arms: &[
        Arm::new("text", &content::TEXT),
        Arm::new("image", &content::IMAGE),
        Arm::new("audio", &content::AUDIO),
        Arm::new("tool_use", &TOOL_USE),
        Arm::new("tool_result", &TOOL_RESULT),
    ],
    rule: None,
    unknown: None,
});

const USE: &[Member] = &[
    required("id", What::Text),
    required("name", What::Text),
    required("input", What::Object),
    meta::NESTED,
];
const OUTCOME: &[Member] = &[
    required("toolUseId", What::Text),
    required(
        "content",
        What::ArrayOf(&What::Check("an ordinary content block", ordinary)),
    ),
    optional("isError", What::Bool),
    optional("structuredContent", What::Object).until(Revision::V2025_11_25),
    meta::NESTED,
];
static TOOL_USE: Def = Def::new("a tool use", USE);
static TOOL_RESULT: Def = Def::new("a tool result", OUTCOME);
static TOOL_USE_INSIDE: Def = Def::new("a tool use", USE).rule(&SAMPLING_TOOL_BLOCK_FIELDS);
static TOOL_RESULT_INSIDE: Def =
    Def::new("a tool result", OUTCOME).rule(&SAMPLING_TOOL_BLOCK_FIELDS);

/// What tools return, inside sessions.
static RETURNED_INSIDE: What = What::Union(&Union {
    name: "an ordinary content block",
    tag: "type",
    arms: content::ARMS,
    rule: Some(&CONTENT_BLOCK_FIELDS),
    unknown: Some(&SAMPLING_TOOL_BLOCK_FIELDS),
});

/// … and outside.
static RETURNED_OUTSIDE: What = What::Union(&Union {
    name: "an ordinary content block",
    tag: "type",
    arms: content::ARMS,
    rule: None,
    unknown: None,
});

/// Tool uses and results do not stand in each other.
fn ordinary<'a>(walk: &mut Walk<'a>, value: Value<'a>, rule: &'static Rule) {
    static ORDINARY: What = What::Check("an ordinary content block, an object", ordinary);
    if !value.is_object() {
        return walk.wrong(value, &ORDINARY, rule);
    }
    if is_type(value, "tool_use") || is_type(value, "tool_result") {
        return walk.flaw(rule, value, || {
            "a tool result holds a tool use or another tool result; it holds ordinary blocks"
                .to_string()
        });
    }
    let block = match walk.is_stateless() {
        true => &RETURNED_OUTSIDE,
        false => &RETURNED_INSIDE,
    };
    walk.value(value, block, rule);
}
