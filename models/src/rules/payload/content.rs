//! What tools, prompts and resources share: content blocks, contents of resources, annotations, icons.

use mcpsim_traces::judge::Severity;
use mcpsim_traces::message::Revision;
use mcpsim_traces::tape::Value;

use super::{RESULT_SHAPE, meta};
use crate::rules::stateless::payload::{REQUEST_SCHEMA, RESULT_SCHEMA};
use crate::rules::{Basis, Category, MUST, Needs, Rule, SHOULD, Side, When};
use crate::shape::{Arm, Def, Form, Ill, Member, Union, Walk, What, optional, required, text};

pub(crate) const CONTENT_TYPE_IN_REVISION: Rule = Rule {
    id: "content-type-in-revision",
    category: Category::Tools,
    side: Side::Server,
    source: "2025-11-25 schema.ts (CallToolResult)",
    says: "Content blocks are of the types that the agreed revision has.",
    why: "Readers that know the types of one revision refuse the whole result for one block of another: \
        audio came with 2025-03-26, resource_link with 2025-06-18.",
    needs: Needs::Causal,
    when: When::CONTENT,
    twin: "result-schema",
    ..MUST
};

pub(crate) const CONTENT_BLOCK_FIELDS: Rule = Rule {
    id: "content-block-fields",
    category: Category::Tools,
    source: "2025-11-25 schema.ts (TextContent)",
    says: "A content block has the members of its type: text, or data and mimeType, or a resource, or uri and name.",
    why: "The block cannot be shown, and strict readers drop the result that it stands in.",
    when: When::CONTENT,
    twin: "result-schema",
    ..MUST
};

pub(crate) const IMAGE_AUDIO_BASE64: Rule = Rule {
    id: "image-audio-base64",
    category: Category::Tools,
    basis: Basis::Text,
    source: "2025-11-25 server/prompts (Image Content)",
    says: "The data of images and sounds is base64.",
    why: "It cannot be decoded. Of the URL-safe alphabet, of missing padding and of line breaks some decoders make sense: a warning.",
    when: When::BINARY,
    twin: "content-base64",
    ..MUST
};

pub(crate) const BLOB_BASE64: Rule = Rule {
    id: "blob-base64",
    category: Category::Resources,
    basis: Basis::Text,
    side: Side::Server,
    source: "2025-11-25 server/resources (Security Considerations)",
    says: "The blob of a resource is base64.",
    why: "It cannot be decoded, or some decoders make another thing of it than others.",
    when: When::BINARY,
    twin: "content-base64",
    ..MUST
};

pub(crate) const RESOURCE_URI_VALID: Rule = Rule {
    id: "resource-uri-valid",
    category: Category::Resources,
    basis: Basis::Text,
    severity: Severity::Warning,
    severity_by: &[
        (Revision::V2025_06_18, Severity::Error),
        (Revision::V2025_11_25, Severity::Error),
    ],
    source: "2025-11-25 server/resources (Common URI Schemes)",
    says: "The uri of a resource is an absolute URI.",
    why: "A client that parses it before it asks for it fails, or asks for something else; custom schemes are fine.",
    tier: 2,
    when: When::RESOURCE_URI,
    twin: "res-uri-valid",
    ..MUST
};

pub(crate) const RESOURCE_SIZE_TYPE: Rule = Rule {
    id: "resource-size-type",
    category: Category::Resources,
    side: Side::Server,
    source: "2025-11-25 schema.ts (Resource)",
    says: "The size of a resource is a whole number of bytes.",
    why: "Clients reckon with it how much a resource takes before they fetch it.",
    when: When::RESOURCE_SIZE,
    ..MUST
};

pub(crate) const ANNOTATIONS_SHAPE: Rule = Rule {
    id: "annotations-shape",
    category: Category::Resources,
    source: "2025-11-25 schema.ts (Annotations)",
    says: "Annotations have an audience of user and assistant, a priority from 0 to 1, and a time of the last change.",
    why: "Clients sort and hide by them; of a priority of 10 or an audience of \"users\" they make nothing.",
    when: When::ANNOTATIONS,
    twin: "res-annotations-range",
    ..MUST
};

pub(crate) const ICON_SHAPE: Rule = Rule {
    id: "icon-shape",
    category: Category::Tools,
    from: Revision::V2025_11_25,
    source: "2025-11-25 schema.ts (Icon)",
    says: "Icons are an array of objects with a string `src`, and perhaps mimeType, an array of sizes, and a theme.",
    why: "One bad icon makes strict readers drop the tool that has it. `sizes` was one string in drafts.",
    when: When::ICON,
    ..MUST
};

pub(crate) const ICON_UNSAFE_SCHEME: Rule = Rule {
    id: "icon-unsafe-scheme",
    category: Category::Tools,
    basis: Basis::Derived,
    from: Revision::V2025_11_25,
    source: "2025-11-25 basic/index (icons)",
    says: "Icons come from https or data URIs.",
    why: "Clients refuse schemes that reach into their own machine or run code; plain http is read but not safe.",
    when: When::ICON,
    twin: "icon-src-scheme",
    ..SHOULD
};

/// The rows about tools that stand here.
pub(crate) const TOOL_ROWS: &[Rule] = &[
    CONTENT_TYPE_IN_REVISION,
    CONTENT_BLOCK_FIELDS,
    IMAGE_AUDIO_BASE64,
    ICON_SHAPE,
    ICON_UNSAFE_SCHEME,
];

/// The rows about resources that stand here.
pub(crate) const RESOURCE_ROWS: &[Rule] = &[
    RESOURCE_URI_VALID,
    BLOB_BASE64,
    RESOURCE_SIZE_TYPE,
    ANNOTATIONS_SHAPE,
];

/// Data of an image or a sound.
pub(crate) static MEDIA: Form = Form {
    name: "base64",
    rule: &IMAGE_AUDIO_BASE64,
    flaw: text::base64,
};

static BLOB: Form = Form {
    name: "base64",
    rule: &BLOB_BASE64,
    flaw: text::base64,
};

/// The uri of a resource, as its server gives it.
pub(crate) static RESOURCE_URI: Form = Form {
    name: "an absolute URI",
    rule: &RESOURCE_URI_VALID,
    flaw: text::uri,
};

static CHANGED: Form = Form {
    name: "a point in time",
    rule: &ANNOTATIONS_SHAPE,
    flaw: text::timestamp,
};

static ICON_SRC: Form = Form {
    name: "an https or data URI",
    rule: &ICON_UNSAFE_SCHEME,
    flaw: icon_src,
};

fn icon_src(value: Value<'_>) -> Option<Ill> {
    let text = value.as_bytes()?;
    let (scheme, _) = text::scheme(&text)?;
    let is = |name: &str| scheme.eq_ignore_ascii_case(name.as_bytes());
    let severity = match () {
        () if is("https") || is("data") => return None,
        () if is("http") => Severity::Note,
        () => Severity::Error,
    };
    Some(Ill {
        why: "it has another scheme".into(),
        severity,
    })
}

static ICON: Def = Def::new(
    "an icon",
    &[
        required("src", What::Form(&ICON_SRC)),
        optional("mimeType", What::Text).until(Revision::V2025_11_25),
        optional("sizes", What::ArrayOf(&What::Text)).until(Revision::V2025_11_25),
        optional("theme", What::OneOf(&["light", "dark"])).until(Revision::V2025_11_25),
        optional("mimeType", What::Check("a string", icon_text))
            .since(Revision::V2026_07_28)
            .at_most(Severity::Warning),
        optional("sizes", What::Check("an array of strings", icon_sizes))
            .since(Revision::V2026_07_28)
            .at_most(Severity::Warning),
        optional("theme", What::Check("light or dark", icon_theme))
            .since(Revision::V2026_07_28)
            .at_most(Severity::Warning),
    ],
);

/// Outside sessions the icon's own rule is about where it comes from; what else it holds is the payload's matter.
fn of_payload(walk: &Walk<'_>) -> &'static Rule {
    if walk.is_result() {
        &RESULT_SCHEMA
    } else {
        &REQUEST_SCHEMA
    }
}

fn icon_text<'a>(walk: &mut Walk<'a>, value: Value<'a>, _: &'static Rule) {
    walk.value(value, &What::Text, of_payload(walk));
}

fn icon_sizes<'a>(walk: &mut Walk<'a>, value: Value<'a>, _: &'static Rule) {
    walk.value(value, &What::ArrayOf(&What::Text), of_payload(walk));
}

fn icon_theme<'a>(walk: &mut Walk<'a>, value: Value<'a>, _: &'static Rule) {
    walk.value(value, &What::OneOf(&["light", "dark"]), of_payload(walk));
}

static AN_ICON: What = What::Def(&ICON);

fn icons<'a>(walk: &mut Walk<'a>, value: Value<'a>, rule: &'static Rule) {
    const ALL: What = What::ArrayOf(&AN_ICON);
    if !walk.is_stateless() {
        return walk.value(value, &ALL, rule);
    }
    let rule = of_payload(walk);
    walk.at_most(Severity::Warning, |walk| walk.value(value, &ALL, rule));
}

/// `icons` of whatever has some.
pub(crate) const ICONS: Member = optional("icons", What::Check("an array", icons))
    .since(Revision::V2025_11_25)
    .rule(&ICON_SHAPE);

static ANNOTATIONS: Def = Def::new(
    "annotations",
    &[
        optional(
            "audience",
            What::ArrayOf(&What::OneOf(&["user", "assistant"])),
        ),
        optional("priority", What::Between(0, 1)),
        optional("lastModified", What::Form(&CHANGED)).since(Revision::V2025_06_18),
    ],
);

/// `annotations` of a resource, a template or a content block.
pub(crate) const ANNOTATED: Member =
    optional("annotations", What::Def(&ANNOTATIONS)).rule(&ANNOTATIONS_SHAPE);

/// `size` of a resource, inside sessions.
pub(crate) const SIZE: Member = optional("size", What::Check("a whole number", size))
    .until(Revision::V2025_11_25)
    .rule(&RESOURCE_SIZE_TYPE);

/// … and outside.
pub(crate) const SIZE_OUTSIDE: Member = optional("size", What::Check("a whole number", size))
    .since(Revision::V2026_07_28)
    .rule(&RESULT_SCHEMA);

fn size<'a>(walk: &mut Walk<'a>, value: Value<'a>, rule: &'static Rule) {
    if !value.is_integer() {
        return walk.wrong(value, &What::Integer, rule);
    }
    if value.raw().starts_with(b"-") && value.as_integer() != Some(0) {
        let place = walk.place();
        walk.flaw_at(rule, Severity::Warning, value, || {
            format!(
                "`{}` is below zero; it is a number of bytes",
                place.path(value)
            )
        });
    }
}

const A_TEXT: &[Member] = &[required("text", What::Text), ANNOTATED, meta::NESTED];

const A_MEDIUM: &[Member] = &[
    required("data", What::Form(&MEDIA)),
    required("mimeType", What::Text),
    ANNOTATED,
    meta::NESTED,
];

/// A text block. Flaws of this and the next two are charged to whoever refers.
pub(crate) static TEXT: Def = Def::new("a text block", A_TEXT);

/// An image block.
pub(crate) static IMAGE: Def = Def::new("an image block", A_MEDIUM);

/// An audio block.
pub(crate) static AUDIO: Def = Def::new("an audio block", A_MEDIUM);

/// A text block of a sampling; as the next two it has its own rule, whoever refers.
pub(crate) static SAMPLED_TEXT: Def = Def::new("a text block", A_TEXT).rule(&CONTENT_BLOCK_FIELDS);

/// An image block of a sampling.
pub(crate) static SAMPLED_IMAGE: Def =
    Def::new("an image block", A_MEDIUM).rule(&CONTENT_BLOCK_FIELDS);

/// An audio block of a sampling.
pub(crate) static SAMPLED_AUDIO: Def =
    Def::new("an audio block", A_MEDIUM).rule(&CONTENT_BLOCK_FIELDS);

/// A link to a resource.
pub(crate) static LINK: Def = Def::new(
    "a resource link",
    &[
        required("uri", What::Form(&RESOURCE_URI)),
        required("name", What::Text),
        optional("title", What::Text),
        optional("description", What::Text),
        optional("mimeType", What::Text),
        SIZE,
        SIZE_OUTSIDE,
        ANNOTATED,
        ICONS,
        meta::NESTED,
    ],
);

static EMBEDDED: Def = Def::new(
    "an embedded resource",
    &[
        required("resource", What::Def(&NESTED)),
        ANNOTATED,
        meta::NESTED,
    ],
);

/// The members of the contents of a resource.
const CONTENTS: &[Member] = &[
    required("uri", What::Form(&RESOURCE_URI)),
    optional("mimeType", What::Text),
    TEXT_OF,
    BLOB_OF,
    meta::NESTED,
];

/// `text` of the contents of a resource.
pub(crate) const TEXT_OF: Member = optional("text", What::Text);

/// `blob` of the contents of a resource.
pub(crate) const BLOB_OF: Member = optional("blob", What::Form(&BLOB));

static NESTED: Def = Def::new("a resource", CONTENTS).also(text_or_blob);

/// An item of a result of resources/read.
pub(crate) static READ: Def = Def::new("a content item", CONTENTS)
    .rule(&super::resources::READ_RESULT_SHAPE)
    .also(text_or_blob);

/// Contents are text or binary.
pub(crate) fn text_or_blob<'a>(walk: &mut Walk<'a>, object: Value<'a>, rule: &'static Rule) {
    let is_there = |name| {
        let value: Option<Value<'_>> = object.get(name);
        value.is_some_and(|value| !value.is_null())
    };
    let (severity, what) = match (is_there("text"), is_there("blob")) {
        (true, false) | (false, true) => return,
        (false, false) => (Severity::Error, "neither `text` nor `blob`"),
        (true, true) => (Severity::Warning, "both `text` and `blob`"),
    };
    let place = walk.place();
    walk.flaw_at(rule, severity, object, || {
        format!(
            "`{}` has {what}; it has one of them, a string",
            place.path(object)
        )
    });
}

/// The kinds of blocks.
pub(crate) const ARMS: &[Arm] = &[
    Arm::new("text", &TEXT),
    Arm::new("image", &IMAGE),
    Arm::new("audio", &AUDIO).since(Revision::V2025_03_26),
    Arm::new("resource", &EMBEDDED),
    Arm::new("resource_link", &LINK).since(Revision::V2025_06_18),
];

/// A block of a tool's result.
pub(crate) static BLOCK: Union = Union {
    name: "a content block",
    tag: "type",
    arms: ARMS,
    rule: Some(&CONTENT_BLOCK_FIELDS),
    unknown: Some(&CONTENT_TYPE_IN_REVISION),
};

/// `title` of what has a `name`.
pub(crate) const TITLE: Member = optional("title", What::Text)
    .since(Revision::V2025_06_18)
    .rule(&RESULT_SHAPE);

/// `description` of what is listed.
pub(crate) const DESCRIPTION: Member = optional("description", What::Text).rule(&RESULT_SHAPE);

/// `mimeType` of what is listed.
pub(crate) const MIME_TYPE: Member = optional("mimeType", What::Text).rule(&RESULT_SHAPE);
