//! The list of prompts, requests for one and what these return.

use mcpsim_traces::judge::Severity;
use mcpsim_traces::message::{Method, Revision};
use mcpsim_traces::tape::Value;

use super::content::{
    ANNOTATED, BLOB_OF, CONTENT_BLOCK_FIELDS, DESCRIPTION, ICONS, LINK, MEDIA, RESOURCE_URI, TEXT,
    TEXT_OF, TITLE, text_or_blob,
};
use super::pagination::{CACHE_SCOPE, NEXT_CURSOR, TTL};
use super::{INPUT_RESPONSES, INPUT_SLIP, meta};
use crate::rules::stateless::payload::{PROMPTS_ARGUMENTS_STRINGS, RESULT_SCHEMA};
use crate::rules::{Basis, Category, MUST, Needs, Rule, Side, When};
use crate::shape::{Arm, Def, Form, Member, Union, Walk, What, optional, required, text};

pub(crate) const PROMPTS_LIST_SHAPE: Rule = Rule {
    id: "prompts-list-shape",
    category: Category::Prompts,
    side: Side::Server,
    source: "2025-11-25 schema.ts (ListPromptsResult)",
    says: "A list of prompts is an array `prompts` of named prompts; their arguments are an array of named items.",
    why: "Arguments in the form of a JSON Schema, as tools have them, are the usual slip: no client finds them there.",
    when: When::result(Method::PromptsList),
    twin: "prompts-shape",
    ..MUST
};

pub(crate) const PROMPT_GET_PARAMS: Rule = Rule {
    id: "prompt-get-params",
    category: Category::Prompts,
    side: Side::Client,
    source: "2025-11-25 schema.ts (GetPromptRequest)",
    says: "prompts/get has a string `name` and may have `arguments`, all of them strings.",
    why: "Unlike a tool's, the arguments of a prompt are strings: servers refuse numbers and booleans.",
    when: When::call(Method::PromptsGet),
    twin: "request-schema",
    ..MUST
};

pub(crate) const PROMPT_RESULT_SHAPE: Rule = Rule {
    id: "prompt-result-shape",
    category: Category::Prompts,
    side: Side::Server,
    source: "2025-11-25 schema.ts (GetPromptResult)",
    says: "A prompt is an array `messages`, each of the user or the assistant, with one content block.",
    why: "There is no system role here, and content is one block, no list and no string.",
    when: When::result(Method::PromptsGet),
    twin: "prompts-shape",
    ..MUST
};

pub(crate) const PROMPT_CONTENT_TYPE: Rule = Rule {
    id: "prompt-content-type",
    category: Category::Prompts,
    side: Side::Server,
    source: "2025-11-25 schema.ts (PromptMessage)",
    says: "Messages of a prompt have content of the types that the agreed revision has.",
    why: "A reader that knows one revision's types refuses the whole prompt for a block of another.",
    needs: Needs::Causal,
    when: When::result(Method::PromptsGet),
    twin: "result-schema",
    ..MUST
};

pub(crate) const PROMPT_EMBEDDED_RESOURCE: Rule = Rule {
    id: "prompt-embedded-resource",
    category: Category::Prompts,
    basis: Basis::Text,
    side: Side::Server,
    source: "2025-11-25 server/prompts (Embedded Resources)",
    says: "A resource within a prompt has a uri, a MIME type, and text or a blob.",
    why: "A client cannot show what it cannot name; without a type it has to guess.",
    when: When::PROMPT_RESOURCE,
    twin: "prompts-shape",
    ..MUST
};

pub(crate) const PROMPT_MEDIA_MIME: Rule = Rule {
    id: "prompt-media-mime",
    category: Category::Prompts,
    basis: Basis::Text,
    side: Side::Server,
    source: "2025-11-25 server/prompts (Image Content)",
    says: "An image or a sound within a prompt has a MIME type of the form type/subtype.",
    why: "\"png\" finds no decoder.",
    when: When::PROMPT_MEDIA,
    ..MUST
};

/// The rows that stand here.
pub(crate) const ROWS: &[Rule] = &[
    PROMPTS_LIST_SHAPE,
    PROMPT_GET_PARAMS,
    PROMPT_RESULT_SHAPE,
    PROMPT_CONTENT_TYPE,
    PROMPT_EMBEDDED_RESOURCE,
    PROMPT_MEDIA_MIME,
];

static ARGUMENT: Def = Def::new(
    "an argument of a prompt",
    &[
        required("name", What::Text),
        TITLE,
        DESCRIPTION,
        optional("required", What::Bool),
    ],
);

static ARGUMENTS: What = What::ArrayOf(&What::Def(&ARGUMENT));

fn arguments<'a>(walk: &mut Walk<'a>, value: Value<'a>, rule: &'static Rule) {
    if !value.is_object() {
        return walk.value(value, &ARGUMENTS, rule);
    }
    let place = walk.place();
    walk.flaw(rule, value, || {
        let path = place.path(value);
        format!("`{path}` is an object, as a tool's schema is; it is an array of named arguments")
    });
}

static PROMPT: Def = Def::new(
    "a prompt",
    &[
        required("name", What::Text),
        TITLE,
        DESCRIPTION,
        optional("arguments", What::Check("an array", arguments)),
        ICONS,
        meta::NESTED,
    ],
);

/// The result of prompts/list.
pub(crate) static LIST: Def = Def::new(
    "a result of prompts/list",
    &[
        required("prompts", What::ArrayOf(&What::Def(&PROMPT))),
        NEXT_CURSOR,
        TTL,
        CACHE_SCOPE,
    ],
);

/// The params of prompts/get.
pub(crate) static GET: Def = Def::new(
    "a call of prompts/get",
    &[
        required("name", What::Text),
        optional("arguments", What::MapOf(&What::Text)).until(Revision::V2025_11_25),
        optional("arguments", What::MapOf(&What::Text))
            .since(Revision::V2026_07_28)
            .rule(&PROMPTS_ARGUMENTS_STRINGS),
        INPUT_RESPONSES,
    ],
);

static MIME: Form = Form {
    name: "a MIME type",
    rule: &PROMPT_MEDIA_MIME,
    flaw: text::media_type,
};

const MEDIA_MEMBERS: &[Member] = &[
    required("data", What::Form(&MEDIA)),
    required("mimeType", What::Form(&MIME)),
    ANNOTATED,
    meta::NESTED,
];

static PICTURE: Def = Def::new("an image block", MEDIA_MEMBERS);

static SOUND: Def = Def::new("an audio block", MEDIA_MEMBERS);

static NESTED: Def = Def::new(
    "a resource within a prompt",
    &[
        required("uri", What::Form(&RESOURCE_URI)),
        optional("mimeType", What::Text),
        TEXT_OF,
        BLOB_OF,
        meta::NESTED,
    ],
)
.also(whole);

/// The text of the specification asks for a MIME type, the types do not: without one it is a warning.
fn whole<'a>(walk: &mut Walk<'a>, object: Value<'a>, rule: &'static Rule) {
    text_or_blob(walk, object, rule);
    if object.get("mimeType").is_none() {
        let place = walk.place();
        walk.flaw_at(rule, Severity::Warning, object, || {
            let path = place.path(object);
            format!("`{path}` has no `mimeType`; a resource within a prompt has it, a string")
        });
    }
}

static EMBEDDED: Def = Def::new(
    "an embedded resource",
    &[
        required("resource", What::Def(&NESTED))
            .rule(&PROMPT_EMBEDDED_RESOURCE)
            .absent(&PROMPT_EMBEDDED_RESOURCE),
        ANNOTATED,
        meta::NESTED,
    ],
);

static BLOCK: Union = Union {
    name: "a content block",
    tag: "type",
    arms: &[
        Arm::new("text", &TEXT),
        Arm::new("image", &PICTURE),
        Arm::new("audio", &SOUND).since(Revision::V2025_03_26),
        Arm::new("resource", &EMBEDDED),
        Arm::new("resource_link", &LINK).since(Revision::V2025_06_18),
    ],
    rule: Some(&CONTENT_BLOCK_FIELDS),
    unknown: Some(&PROMPT_CONTENT_TYPE),
};

static CONTENT: What = What::Union(&BLOCK);

/// That content is a block is the message's matter, what the block holds is its own.
fn content<'a>(walk: &mut Walk<'a>, value: Value<'a>, rule: &'static Rule) {
    if value.is_object() {
        return walk.value(value, &CONTENT, rule);
    }
    walk.wrong(
        value,
        &What::Check("one content block, an object", content),
        rule,
    );
}

static MESSAGE: Def = Def::new(
    "a message of a prompt",
    &[
        required("role", What::OneOf(&["user", "assistant"])),
        required(
            "content",
            What::Check("one content block, an object", content),
        ),
    ],
)
.rule(&PROMPT_RESULT_SHAPE);

/// The result of prompts/get.
pub(crate) static RESULT: Def = Def::new(
    "a result of prompts/get",
    &[
        required("messages", What::ArrayOf(&What::Def(&MESSAGE))).until(Revision::V2025_11_25),
        required("messages", What::ArrayOf(&What::Def(&MESSAGE)))
            .since(Revision::V2026_07_28)
            .rule(&RESULT_SCHEMA)
            .absent(&RESULT_SCHEMA),
        DESCRIPTION,
        INPUT_SLIP,
    ],
);
