//! Shapes of elicitations, the schemas of their forms, and their results.

use mcpsim_traces::judge::Severity;
use mcpsim_traces::message::Revision;
use mcpsim_traces::tape::Value;

use super::rows::{
    ELICIT_ACTION, ELICIT_CONTENT_VALUE_TYPE, ELICIT_FORM_PARAMS, ELICIT_SCHEMA_FLAT,
    ELICIT_STRING_FORMAT, ELICIT_URL_PARAMS,
};
use super::url;
use crate::rules::Rule;
use crate::shape::{Def, Form, Ill, Member, Walk, What, found, optional, required, shown};

pub(crate) static FORM: Def = Def::new(
    "an elicitation by form",
    &[
        required("message", What::Text),
        required("requestedSchema", What::Def(&SCHEMA)).until(Revision::V2025_11_25),
        required("requestedSchema", What::Def(&SCHEMA))
            .since(Revision::V2026_07_28)
            .rule(&ELICIT_SCHEMA_FLAT)
            .absent(&ELICIT_FORM_PARAMS),
    ],
)
.rule(&ELICIT_FORM_PARAMS);

static SCHEMA: Def = Def::new(
    "a requested schema",
    &[
        required("type", What::OneOf(&["object"])),
        required(
            "properties",
            What::MapOf(&What::Check("a flat schema", property)),
        ),
        optional("required", What::ArrayOf(&What::Text)),
        optional("$schema", What::Text).since(Revision::V2025_11_25),
    ],
);

pub(crate) static BY_URL: Def = Def::new(
    "an elicitation by url",
    &[
        required("message", What::Text),
        required("url", What::Form(&URL)),
        required("elicitationId", What::Text).until(Revision::V2025_11_25),
    ],
)
.rule(&ELICIT_URL_PARAMS);

static URL: Form = Form {
    name: "an absolute URL",
    rule: &ELICIT_URL_PARAMS,
    flaw: |value| {
        let is_url = value.as_text().is_some_and(|text| url::is_url(&text));
        let ill = Ill {
            why: "it does not parse as one".into(),
            severity: Severity::Error,
        };
        (!is_url).then_some(ill)
    },
};

pub(crate) static RESULT: Def = Def::new(
    "the result of an elicitation",
    &[
        required("action", What::OneOf(&["accept", "decline", "cancel"])),
        optional(
            "content",
            What::MapOf(&What::Check("a plain value", answer)),
        )
        .rule(&ELICIT_CONTENT_VALUE_TYPE)
        .null_is_worse(),
    ],
)
.rule(&ELICIT_ACTION);

/// A value of the content.
fn answer<'a>(walk: &mut Walk<'a>, value: Value<'a>, rule: &'static Rule) {
    let has_lists = walk.some(Revision::V2025_11_25, Revision::V2026_07_28);
    let is_right = value.is_text()
        || value.is_number()
        || value.as_bool().is_some()
        || has_lists && value.is_array() && value.items().all(Value::is_text);
    if !is_right {
        let path = walk.path(value);
        walk.flaw(rule, value, || {
            let lists = if has_lists {
                ", or an array of strings"
            } else {
                ""
            };
            format!(
                "`{path}` is {}; it is a string, a number or a boolean{lists}",
                found(value)
            )
        });
    }
}

/// One property of a requested schema.
fn property<'a>(walk: &mut Walk<'a>, value: Value<'a>, _: &'static Rule) {
    let kind = value.get("type");
    let is = |name: &str| kind.is_some_and(|kind| kind.is(name));
    let ill = match () {
        () if is("string") => return string(walk, value),
        () if is("number") || is("integer") || is("boolean") => {
            let odd = value.get("enum");
            odd.map(|odd| (odd, "an enumeration that is not of strings".to_string()))
        }
        () if is("array") && walk.every(Revision::V2025_11_25, Revision::V2026_07_28) => {
            let is_choice = value.get("items").is_some_and(is_multiple_choice);
            (!is_choice).then(|| {
                (
                    value,
                    "an array that is no choice among strings".to_string(),
                )
            })
        }
        () => {
            let text = match kind {
                None => "one without a type".to_string(),
                Some(kind) if kind.is_text() => format!("of type {}", shown(kind)),
                Some(kind) => format!("one whose type is {}", found(kind)),
            };
            Some((kind.unwrap_or(value), text))
        }
    };
    match ill {
        Some((value, what)) => flat(walk, value, &what),
        None if is("boolean") => walk.object(value, &BOOLEAN, &ELICIT_SCHEMA_FLAT),
        None if is("array") => walk.object(value, &CHOICES, &ELICIT_SCHEMA_FLAT),
        None => walk.object(value, &NUMBER, &ELICIT_SCHEMA_FLAT),
    }
}

static BOOLEAN: Def = Def::new(
    "a boolean of a form",
    &[TITLE, DESCRIPTION, optional("default", What::Bool)],
);

static NUMBER: Def = Def::new(
    "a number of a form",
    &[
        TITLE,
        DESCRIPTION,
        optional("minimum", What::Number),
        optional("maximum", What::Number),
        optional("default", What::Number).since(Revision::V2025_11_25),
    ],
);

static TEXT: Def = Def::new(
    "a string of a form",
    &[
        TITLE,
        DESCRIPTION,
        optional("minLength", What::Integer),
        optional("maxLength", What::Integer),
        DEFAULT_TEXT,
    ],
);

static CHOICE: Def = Def::new(
    "a choice of a form",
    &[
        TITLE,
        DESCRIPTION,
        optional("enumNames", What::ArrayOf(&What::Text)),
        optional("oneOf", What::ArrayOf(&What::Def(&TITLED))).since(Revision::V2025_11_25),
        DEFAULT_TEXT,
    ],
);

static TITLED: Def = Def::new("one of a choice", &[required("title", What::Text)]);

static CHOICES: Def = Def::new(
    "several of a choice",
    &[
        TITLE,
        DESCRIPTION,
        optional("minItems", What::Integer),
        optional("maxItems", What::Integer),
        optional("items", What::Def(&ITEMS)),
        optional("default", What::ArrayOf(&What::Text)),
    ],
);

static ITEMS: Def = Def::new(
    "what may be chosen",
    &[
        optional("type", What::OneOf(&["string"])),
        optional("anyOf", What::ArrayOf(&What::Def(&TITLED))),
    ],
)
.also(says_strings);

/// A plain list of what may be chosen says that they are strings; one with titles need not.
fn says_strings<'a>(walk: &mut Walk<'a>, items: Value<'a>, rule: &'static Rule) {
    let is_silent = items.get("type").is_none_or(Value::is_null);
    if is_silent && items.get("enum").is_some() {
        walk.flaw(rule, items, || {
            "the choices of a form have no type; it is string".to_string()
        });
    }
}

const TITLE: Member = optional("title", What::Text);
const DESCRIPTION: Member = optional("description", What::Text);

/// Before 2025-11-25 only booleans have a default.
const DEFAULT_TEXT: Member = optional("default", What::Text).since(Revision::V2025_11_25);

#[cold]
fn flat<'a>(walk: &mut Walk<'a>, value: Value<'a>, what: &str) {
    walk.flaw(&ELICIT_SCHEMA_FLAT, value, || {
        format!(
            "a property of the form is {what}; properties are strings, numbers, integers, booleans or choices among strings"
        )
    });
}

/// A property of type string: free text, or one of several.
fn string<'a>(walk: &mut Walk<'a>, value: Value<'a>) {
    let titled = value
        .get("oneOf")
        .filter(|_| walk.every(Revision::V2025_11_25, Revision::V2026_07_28));
    let is_choice = match (value.get("enum"), titled) {
        (Some(list), _) => list.is_array() && list.items().all(Value::is_text),
        (None, Some(list)) => is_titled(list),
        (None, None) => {
            format(walk, value);
            return walk.object(value, &TEXT, &ELICIT_SCHEMA_FLAT);
        }
    };
    if is_choice {
        walk.object(value, &CHOICE, &ELICIT_SCHEMA_FLAT);
    } else {
        flat(walk, value, "an enumeration that is not of strings");
    }
}

fn format<'a>(walk: &mut Walk<'a>, value: Value<'a>) {
    let Some(format) = value.get("format") else {
        return;
    };
    if !format.is_one_of(&["email", "uri", "date", "date-time"]) {
        walk.flaw(&ELICIT_STRING_FORMAT, format, || {
            format!(
                "a property of the form has the format {}; formats are email, uri, date and date-time",
                shown(format)
            )
        });
    }
}

/// `items` of an array from which several may be chosen.
fn is_multiple_choice(items: Value<'_>) -> bool {
    let listed = items.get("enum");
    let is_listed = |list: Value<'_>| list.is_array() && list.items().all(Value::is_text);
    listed.is_some_and(is_listed) || items.get("anyOf").is_some_and(is_titled)
}

/// A list of constants with titles.
fn is_titled(list: Value<'_>) -> bool {
    list.is_array()
        && list
            .items()
            .all(|one| one.get("const").is_some_and(Value::is_text))
}
