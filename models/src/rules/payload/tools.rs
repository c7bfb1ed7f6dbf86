//! The list of tools, calls of them and what these return.

use mcpsim_traces::judge::Severity;
use mcpsim_traces::message::{Method, Revision};
use mcpsim_traces::tape::Value;

use super::content::{BLOCK, DESCRIPTION, ICONS, TITLE};
use super::pagination::{CACHE_SCOPE, NEXT_CURSOR, TTL};
use super::{INPUT_RESPONSES, INPUT_SLIP, meta};
use crate::rules::stateless::payload::{RESULT_SCHEMA, TOOLS_OUTPUT_SCHEMA_OBJECT};
use crate::rules::tools::IS_ERROR_TYPE;
use crate::rules::{Category, MUST, Needs, Rule, SHOULD, Side, When};
use crate::shape::{Def, Form, Ill, Member, Walk, What, optional, required};

pub(crate) const TOOLS_LIST_SHAPE: Rule = Rule {
    id: "tools-list-shape",
    category: Category::Tools,
    side: Side::Server,
    until: Revision::V2026_07_28,
    source: "2025-11-25 schema.ts (ListToolsResult)",
    says: "A list of tools is an array `tools`; each has a string `name` and an `inputSchema`.",
    why: "Readers check the list as a whole: one tool without a name hides all the others.",
    when: When::result(Method::ToolsList),
    ..MUST
};

pub(crate) const TOOL_INPUT_SCHEMA: Rule = Rule {
    id: "tool-input-schema",
    category: Category::Tools,
    side: Side::Server,
    until: Revision::V2026_07_28,
    source: "2025-11-25 schema.ts (Tool)",
    says: "The inputSchema of a tool is a JSON Schema object with type object at its root.",
    why: "Hosts hand it to a model's interface, which refuses anything else; of a tool without parameters it is {\"type\":\"object\"}.",
    when: When::TOOL,
    ..MUST
};

pub(crate) const TOOL_NAME_CHARSET: Rule = Rule {
    id: "tool-name-charset",
    category: Category::Tools,
    side: Side::Server,
    from: Revision::V2025_11_25,
    source: "2025-11-25 server/tools (Tool Names)",
    says: "The name of a tool has 1 to 128 letters, digits, underscores, hyphens and dots.",
    why: "Model interfaces refuse other names, or hosts rename the tool and calls do not find back.",
    when: When::TOOL,
    twin: "tools-names",
    ..SHOULD
};

pub(crate) const TOOL_OUTPUT_SCHEMA: Rule = Rule {
    id: "tool-output-schema",
    category: Category::Tools,
    side: Side::Server,
    from: Revision::V2025_06_18,
    source: "2025-11-25 schema.ts (Tool)",
    says: "The outputSchema of a tool, where it has one, is a JSON Schema object with type object at its root.",
    why: "Clients compile it before the first call; structured content is an object in these revisions.",
    when: When::TOOL,
    twin: "tools-output-schema-object",
    ..MUST
};

pub(crate) const TOOL_ANNOTATIONS_SHAPE: Rule = Rule {
    id: "tool-annotations-shape",
    category: Category::Tools,
    side: Side::Server,
    from: Revision::V2025_03_26,
    source: "2025-11-25 schema.ts (ToolAnnotations)",
    says: "The annotations of a tool are a string title and hints that are true or false.",
    why: "\"false\" is true in half of the languages, and hosts decide by the hints what to ask their users.",
    when: When::TOOL,
    ..MUST
};

pub(crate) const TOOL_TASK_SUPPORT_VALUE: Rule = Rule {
    id: "tool-task-support-value",
    category: Category::Tools,
    side: Side::Server,
    from: Revision::V2025_11_25,
    source: "2025-11-25 schema.ts (ToolExecution)",
    says: "The execution of a tool is an object, and its taskSupport is forbidden, optional or required.",
    why: "Clients cannot tell whether to ask for a task; without the member they do not.",
    when: When::TOOL,
    ..MUST
};

pub(crate) const TOOL_CALL_PARAMS: Rule = Rule {
    id: "tool-call-params",
    category: Category::Tools,
    side: Side::Client,
    source: "2025-11-25 schema.ts (CallToolRequest)",
    says: "A call of a tool has a string `name` and may have an object of `arguments`.",
    why: "Arguments as a string of JSON are the usual slip; servers refuse them, or fall over.",
    when: When::call(Method::ToolsCall),
    twin: "request-schema",
    ..MUST
};

pub(crate) const TOOL_RESULT_CONTENT: Rule = Rule {
    id: "tool-result-content",
    category: Category::Tools,
    side: Side::Server,
    source: "2025-11-25 schema.ts (CallToolResult)",
    says: "The result of a tool has an array `content`, also beside structured content.",
    why: "Readers loop over it, and those that check the result refuse it as a whole; with nothing to say it is empty.",
    needs: Needs::Causal,
    when: When::result(Method::ToolsCall),
    twin: "result-schema",
    ..MUST
};

pub(crate) const STRUCTURED_CONTENT_TYPE: Rule = Rule {
    id: "structured-content-type",
    category: Category::Tools,
    side: Side::Server,
    from: Revision::V2025_06_18,
    source: "2025-11-25 schema.ts (CallToolResult)",
    says: "structuredContent is an object.",
    why: "Arrays and bare values have no place there before 2026-07-28, whatever the outputSchema says; wrap them in an object.",
    when: When::STRUCTURED,
    ..MUST
};

/// The rows that stand here.
pub(crate) const ROWS: &[Rule] = &[
    TOOLS_LIST_SHAPE,
    TOOL_INPUT_SCHEMA,
    TOOL_NAME_CHARSET,
    TOOL_OUTPUT_SCHEMA,
    TOOL_ANNOTATIONS_SHAPE,
    TOOL_TASK_SUPPORT_VALUE,
    TOOL_CALL_PARAMS,
    TOOL_RESULT_CONTENT,
    STRUCTURED_CONTENT_TYPE,
];

static TOOL_NAME: Form = Form {
    name: "a name that is safe everywhere",
    rule: &TOOL_NAME_CHARSET,
    flaw: tool_name,
};

fn tool_name(value: Value<'_>) -> Option<Ill> {
    const LENGTH_MAX: usize = 128;
    let text = value.as_bytes()?;
    let is_safe = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let why = match text.len() {
        0 => "it is empty".into(),
        _ if !text.iter().all(is_safe) => odd_letter(&text).into(),
        LENGTH_MAX.. if text.len() > LENGTH_MAX => "it is longer than 128 characters".into(),
        _ => return None,
    };
    Some(Ill {
        why,
        severity: Severity::Warning,
    })
}

/// Which character stands in the name of a tool that does not belong there.
#[cold]
fn odd_letter(name: &[u8]) -> String {
    let is_safe = |letter: &char| letter.is_ascii_alphanumeric() || "_-.".contains(*letter);
    let letters = String::from_utf8_lossy(name);
    let odd = letters.chars().find(|letter| !is_safe(letter));
    let odd = odd.unwrap_or(char::REPLACEMENT_CHARACTER);
    format!("{odd:?} stands in it; its characters are A to Z, a to z, 0 to 9, `_`, `-` and `.`")
}

/// A schema of a tool, as far as its type goes: 2026-07-28 leaves all but the root to JSON Schema.
pub(crate) static SCHEMA: Def = Def::new(
    "a tool's schema",
    &[
        required("type", What::OneOf(&["object"])),
        optional(
            "properties",
            What::MapOf(&What::Check("an object", subschema)),
        )
        .until(Revision::V2025_11_25),
        optional("required", What::ArrayOf(&What::Text)).until(Revision::V2025_11_25),
    ],
);

/// JSON Schema has true and false for schemas, the published types have not.
fn subschema<'a>(walk: &mut Walk<'a>, value: Value<'a>, rule: &'static Rule) {
    if value.is_object() {
        return;
    }
    if value.as_bool().is_none() {
        return walk.wrong(value, &What::Object, rule);
    }
    let place = walk.place();
    walk.flaw_at(rule, Severity::Note, value, || {
        let path = place.path(value);
        format!("`{path}` is a boolean; JSON Schema has it, the published type has objects only")
    });
}

/// What a tool does to the world, as its server says.
pub(crate) static ANNOTATIONS: Def = Def::new(
    "a tool's annotations",
    &[
        optional("title", What::Text),
        optional("readOnlyHint", What::Bool),
        optional("destructiveHint", What::Bool),
        optional("idempotentHint", What::Bool),
        optional("openWorldHint", What::Bool),
    ],
);

/// How a tool is run.
pub(crate) static EXECUTION: Def = Def::new(
    "a tool's execution",
    &[optional(
        "taskSupport",
        What::OneOf(&["forbidden", "optional", "required"]),
    )],
);

/// A tool of a list.
pub(crate) static TOOL: Def = Def::new(
    "a tool",
    &[
        required("name", What::Form(&TOOL_NAME)),
        TITLE,
        DESCRIPTION,
        required("inputSchema", What::Def(&SCHEMA)).rule(&TOOL_INPUT_SCHEMA),
        optional("outputSchema", What::Def(&SCHEMA))
            .since(Revision::V2025_06_18)
            .until(Revision::V2025_11_25)
            .rule(&TOOL_OUTPUT_SCHEMA),
        optional("outputSchema", What::Object)
            .since(Revision::V2026_07_28)
            .rule(&TOOLS_OUTPUT_SCHEMA_OBJECT)
            .null_is_worse(),
        optional("annotations", What::Def(&ANNOTATIONS))
            .since(Revision::V2025_03_26)
            .until(Revision::V2025_11_25)
            .rule(&TOOL_ANNOTATIONS_SHAPE),
        optional("annotations", What::Def(&ANNOTATIONS))
            .since(Revision::V2026_07_28)
            .at_most(Severity::Warning),
        optional("execution", What::Def(&EXECUTION))
            .since(Revision::V2025_11_25)
            .until(Revision::V2025_11_25)
            .rule(&TOOL_TASK_SUPPORT_VALUE),
        ICONS,
        meta::NESTED,
    ],
);

/// The result of tools/list.
pub(crate) static LIST: Def = Def::new(
    "a result of tools/list",
    &[
        required("tools", What::ArrayOf(&What::Def(&TOOL))),
        NEXT_CURSOR,
        TTL,
        CACHE_SCOPE,
    ],
);

/// The params of tools/call.
pub(crate) static CALL: Def = Def::new(
    "a call of tools/call",
    &[
        required("name", What::Text),
        optional("arguments", What::Object),
        INPUT_RESPONSES,
    ],
);

/// What a tool returns as data: before 2026-07-28 an object.
const STRUCTURED: Member = optional("structuredContent", What::Object)
    .since(Revision::V2025_06_18)
    .until(Revision::V2025_11_25)
    .rule(&STRUCTURED_CONTENT_TYPE)
    .null_is_worse();

/// The result of tools/call.
pub(crate) static RESULT: Def = Def::new(
    "a result of tools/call",
    &[
        required("content", What::ArrayOf(&What::Union(&BLOCK))),
        STRUCTURED,
        optional("isError", What::Bool)
            .since(Revision::V2026_07_28)
            .rule(&RESULT_SCHEMA),
        INPUT_SLIP,
    ],
);

/// The result of tools/call where a task was asked for or created: what then has to be there is another
/// rule's matter, but content that is there is content.
pub(crate) static TASK_RESULT: Def = Def::new(
    "a result of tools/call",
    &[
        optional("content", What::ArrayOf(&What::Union(&BLOCK))),
        STRUCTURED,
    ],
);

/// The result of tasks/result for a call of a tool: that it lacks its content is another rule's matter.
pub(crate) static TASK_PAYLOAD: Def = Def::new(
    "a result of tools/call",
    &[
        optional("content", What::ArrayOf(&What::Union(&BLOCK))).null_is_worse(),
        optional("structuredContent", What::Object)
            .rule(&STRUCTURED_CONTENT_TYPE)
            .null_is_worse(),
        optional("isError", What::Bool).rule(&IS_ERROR_TYPE),
    ],
);
