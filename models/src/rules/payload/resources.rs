//! Lists of resources and templates, what is read of them, and subscriptions to them.

use mcpsim_traces::judge::Severity;
use mcpsim_traces::message::{Method, Revision};
use mcpsim_traces::tape::Value;

use super::content::{
    ANNOTATED, DESCRIPTION, ICONS, MIME_TYPE, READ, RESOURCE_URI, SIZE, SIZE_OUTSIDE, TITLE,
};
use super::pagination::{CACHE_SCOPE, NEXT_CURSOR, TTL};
use super::{INPUT_RESPONSES, INPUT_SLIP, meta};
use crate::rules::stateless::payload::RESULT_SCHEMA;
use crate::rules::{Category, MUST, Rule, Side, When};
use crate::shape::{Def, Form, Walk, What, required, text};

pub(crate) const RESOURCES_LIST_SHAPE: Rule = Rule {
    id: "resources-list-shape",
    category: Category::Resources,
    side: Side::Server,
    until: Revision::V2026_07_28,
    source: "2025-11-25 schema.ts (ListResourcesResult)",
    says: "A list of resources is an array `resources`; each has a string `uri` and a string `name`.",
    why: "Readers check the list as a whole: one resource without a name hides all the others, and a title is no name.",
    when: When::result(Method::ResourcesList),
    ..MUST
};

pub(crate) const TEMPLATES_LIST_SHAPE: Rule = Rule {
    id: "templates-list-shape",
    category: Category::Resources,
    side: Side::Server,
    until: Revision::V2026_07_28,
    source: "2025-11-25 schema.ts (ListResourceTemplatesResult)",
    says: "A list of templates is an array `resourceTemplates`; each has a string `uriTemplate` and a string `name`.",
    why: "Under another member's name, `templates` say, nobody finds them.",
    when: When::result(Method::ResourcesTemplatesList),
    ..MUST
};

pub(crate) const URI_TEMPLATE_VALID: Rule = Rule {
    id: "uri-template-valid",
    category: Category::Resources,
    severity: Severity::Warning,
    side: Side::Server,
    source: "2025-11-25 server/resources (Resource Templates)",
    says: "A uriTemplate follows RFC 6570.",
    why: "Clients expand it with a library that refuses open braces and names with hyphens.",
    tier: 2,
    when: When::result(Method::ResourcesTemplatesList),
    ..MUST
};

pub(crate) const READ_RESULT_SHAPE: Rule = Rule {
    id: "read-result-shape",
    category: Category::Resources,
    side: Side::Server,
    source: "2025-11-25 schema.ts (ReadResourceResult)",
    says: "What is read is an array `contents`; each item has a `uri` and either `text` or `blob`, a string.",
    why: "A reader cannot tell text from binary, or finds nothing at all.",
    when: When::result(Method::ResourcesRead),
    twin: "res-contents-shape",
    ..MUST
};

pub(crate) const SUBSCRIBE_PARAMS: Rule = Rule {
    id: "subscribe-params",
    category: Category::Resources,
    side: Side::Client,
    source: "2025-11-25 schema.ts (SubscribeRequest)",
    says: "resources/subscribe and resources/unsubscribe carry a string `uri`.",
    why: "There is nothing to subscribe to.",
    when: When::call(Method::ResourcesSubscribe),
    ..MUST
};

pub(crate) const UPDATED_PARAMS: Rule = Rule {
    id: "updated-params",
    category: Category::Resources,
    side: Side::Server,
    source: "2025-11-25 schema.ts (ResourceUpdatedNotification)",
    says: "notifications/resources/updated carries the `uri`, a string.",
    why: "The client cannot tell what to read again.",
    when: When::call(Method::ResourcesUpdated),
    twin: "notification-schema",
    ..MUST
};

/// The rows that stand here.
pub(crate) const ROWS: &[Rule] = &[
    RESOURCES_LIST_SHAPE,
    TEMPLATES_LIST_SHAPE,
    URI_TEMPLATE_VALID,
    READ_RESULT_SHAPE,
    SUBSCRIBE_PARAMS,
    UPDATED_PARAMS,
];

static RESOURCE: Def = Def::new(
    "a resource",
    &[
        required("uri", What::Form(&RESOURCE_URI)),
        required("name", What::Text),
        TITLE,
        DESCRIPTION,
        MIME_TYPE,
        SIZE,
        SIZE_OUTSIDE,
        ANNOTATED,
        ICONS,
        meta::NESTED,
    ],
);

/// The result of resources/list.
pub(crate) static LIST: Def = Def::new(
    "a result of resources/list",
    &[
        required("resources", What::ArrayOf(&What::Def(&RESOURCE))),
        NEXT_CURSOR,
        TTL,
        CACHE_SCOPE,
    ],
);

static URI_TEMPLATE: Form = Form {
    name: "a URI template",
    rule: &URI_TEMPLATE_VALID,
    flaw: text::uri_template,
};

static TEMPLATE: Def = Def::new(
    "a resource template",
    &[
        required("uriTemplate", What::Form(&URI_TEMPLATE)),
        required("name", What::Text),
        TITLE,
        DESCRIPTION,
        MIME_TYPE,
        ANNOTATED,
        ICONS,
        meta::NESTED,
    ],
);

/// The result of resources/templates/list.
pub(crate) static TEMPLATES: Def = Def::new(
    "a result of resources/templates/list",
    &[
        required("resourceTemplates", What::ArrayOf(&What::Def(&TEMPLATE))),
        NEXT_CURSOR,
        TTL,
        CACHE_SCOPE,
    ],
);

/// The result of resources/read.
pub(crate) static READ_RESULT: Def = Def::new(
    "a result of resources/read",
    &[
        required("contents", What::ArrayOf(&What::Def(&READ))).until(Revision::V2025_11_25),
        required("contents", What::ArrayOf(&What::Def(&READ)))
            .since(Revision::V2026_07_28)
            .rule(&RESULT_SCHEMA)
            .absent(&RESULT_SCHEMA),
        TTL,
        CACHE_SCOPE,
        INPUT_SLIP,
    ],
)
.also(something);

/// Nothing is lawful, but worth knowing: a resource that is not there is refused.
fn something<'a>(walk: &mut Walk<'a>, object: Value<'a>, rule: &'static Rule) {
    let contents = object
        .get("contents")
        .filter(|contents| contents.is_array());
    let Some(contents) = contents else { return };
    if !walk.is_stateless() && contents.items().next().is_none() {
        walk.flaw_at(rule, Severity::Note, contents, || {
            "`result.contents` is empty; a resource that is not there is refused".to_string()
        });
    }
}

/// The params of resources/read.
pub(crate) static READ_CALL: Def = Def::new(
    "a call of resources/read",
    &[required("uri", What::Text), INPUT_RESPONSES],
);

/// The params of resources/subscribe and resources/unsubscribe.
pub(crate) static SUBSCRIBE: Def = Def::new("a subscription", &[required("uri", What::Text)]);

/// The params of notifications/resources/updated.
pub(crate) static UPDATED: Def =
    Def::new("an update", &[required("uri", What::Form(&RESOURCE_URI))]);
