//! Whether what a user entered fits the flat schema that was asked for.

use mcpsim_traces::tape::Value;

use crate::schema::{Fit, Reading, Schemas};
use crate::shape::{found, shown};

/// No more fields, and no more choices, than this are looked up: no person fills in longer forms.
const FIELDS_MAX: usize = 256;

/// What does not fit, and why.
pub(crate) fn misfit<'a>(
    schema: Value<'_>,
    result: Value<'a>,
    content: Option<Value<'a>>,
) -> Option<(Value<'a>, String)> {
    flat_misfit(schema, result, content).or_else(|| {
        let content = content.filter(|_| goes_beyond(schema))?;
        let schema = Schemas::default().intern(schema)?;
        match schema.fit(Some(content), Reading::Either) {
            Fit::Misfit(words) => Some((content, format!("the content does not fit: {words}"))),
            Fit::Fits | Fit::Unknown(_) => None,
        }
    })
}

/// Whether a schema says more than the flat subset, and no property is of another type: a form that cannot be
/// shown is not held against what comes back.
fn goes_beyond(schema: Value<'_>) -> bool {
    let properties = schema.get("properties");
    let mut properties = properties.into_iter().flat_map(Value::members);
    let mut is_beyond = schema.members().any(|(name, _)| {
        !name.is_one_of(&[
            "$schema",
            "type",
            "properties",
            "required",
            "title",
            "description",
        ])
    });
    let is_flat = properties.all(|(_, property)| {
        is_beyond |= property.members().any(|(name, _)| !name.is_one_of(KNOWN));
        let kind = property.get("type");
        kind.is_some_and(|kind| {
            kind.is_one_of(&["string", "number", "integer", "boolean", "array"])
        })
    });
    is_flat && is_beyond
}

/// The members of a property that are looked at here, or say nothing of values.
const KNOWN: &[&str] = &[
    "type",
    "title",
    "description",
    "default",
    "enum",
    "enumNames",
    "oneOf",
    "format",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "items",
    "minItems",
    "maxItems",
];

/// As [`misfit`], by the flat subset alone; what that does not have is let through.
fn flat_misfit<'a>(
    schema: Value<'_>,
    result: Value<'a>,
    content: Option<Value<'a>>,
) -> Option<(Value<'a>, String)> {
    let names = schema.get("required").filter(|list| list.is_array());
    for name in names.into_iter().flat_map(Value::items).take(FIELDS_MAX) {
        let Some(text) = name.as_text() else { continue };
        if content.and_then(|content| content.get(&text)).is_none() {
            let name = shown(name);
            let text = match content {
                None => format!("the answer accepts without content, but {name} is required"),
                Some(_) => format!("the content lacks {name}, which is required"),
            };
            return Some((content.unwrap_or(result), text));
        }
    }
    let properties = schema.get("properties")?;
    for (name, value) in content?.members().take(FIELDS_MAX) {
        let property = name.as_text().and_then(|name| properties.get(&name));
        if let Some(why) = property.and_then(|property| flaw(property, value)) {
            return Some((value, format!("{} of the content {why}", shown(name))));
        }
    }
    None
}

fn flaw(property: Value<'_>, value: Value<'_>) -> Option<String> {
    let kind = property.get("type")?;
    let is = |name: &str| kind.is(name);
    let is_right = match () {
        () if is("string") => value.is_text(),
        () if is("number") => value.is_number(),
        () if is("integer") => value.is_integer(),
        () if is("boolean") => value.as_bool().is_some(),
        () if is("array") => value.is_array(),
        () => true,
    };
    if !is_right {
        return Some(format!("is {}, not of type {}", found(value), shown(kind)));
    }
    match () {
        () if value.is_text() => string(property, value),
        () if value.is_number() => number(property, value),
        () if value.is_array() => list(property, value),
        () => None,
    }
}

fn string(property: Value<'_>, value: Value<'_>) -> Option<String> {
    if !is_among(property, "oneOf", value) {
        return Some(format!("is {}, which was no choice", shown(value)));
    }
    let text = value.as_text()?;
    let length = || i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    let bound = |name| property.get(name).and_then(Value::as_integer);
    if bound("minLength").is_some_and(|least| length() < least) {
        return Some("is too short".to_string());
    }
    if bound("maxLength").is_some_and(|most| length() > most) {
        return Some("is too long".to_string());
    }
    // A choice is no free text.
    if property.get("enum").is_some() {
        return None;
    }
    let format = property.get("format")?;
    let is_right = match () {
        () if format.is("email") => is_email(&text),
        () if format.is("uri") => super::url::is_url(&text),
        () if format.is("date") => is_date(text.as_bytes()),
        () if format.is("date-time") => is_time(text.as_bytes()),
        () => true,
    };
    (!is_right).then(|| format!("is {}, not of the format {}", shown(value), shown(format)))
}

fn number(property: Value<'_>, value: Value<'_>) -> Option<String> {
    let number = value.as_ordered()?;
    let bound = |name| property.get(name).and_then(Value::as_ordered);
    if bound("minimum").is_some_and(|least| number < least) {
        return Some(format!("is {}, below the minimum", shown(value)));
    }
    if bound("maximum").is_some_and(|most| number > most) {
        return Some(format!("is {}, above the maximum", shown(value)));
    }
    None
}

fn list(property: Value<'_>, value: Value<'_>) -> Option<String> {
    let count = i64::try_from(value.items().count()).unwrap_or(i64::MAX);
    let bound = |name| property.get(name).and_then(Value::as_integer);
    if bound("minItems").is_some_and(|least| count < least) {
        return Some("has too few choices".to_string());
    }
    if bound("maxItems").is_some_and(|most| count > most) {
        return Some("has too many choices".to_string());
    }
    let items = property.get("items")?;
    let mut chosen = value.items().take(FIELDS_MAX);
    let other = chosen.find(|one| !is_among(items, "anyOf", *one))?;
    Some(format!("holds {}, which was no choice", shown(other)))
}

/// Whether a string is one of those that the schema lists, if it lists any.
fn is_among(schema: Value<'_>, titled: &str, value: Value<'_>) -> bool {
    let key = value.key();
    if let Some(list) = schema.get("enum").filter(|list| list.is_array()) {
        return list.items().any(|one| one.key() == key);
    }
    let Some(list) = schema.get(titled).filter(|list| list.is_array()) else {
        return true;
    };
    // An alternative without a constant says something that is not looked at.
    list.items()
        .any(|one| one.get("const").is_none_or(|one| one.key() == key))
}

fn is_email(text: &str) -> bool {
    text.rsplit_once('@').is_some_and(|(name, host)| {
        !name.is_empty() && !host.is_empty() && !text.contains(char::is_whitespace)
    })
}

/// `2025-11-25`
fn is_date(text: &[u8]) -> bool {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *text else {
        return false;
    };
    let digits = [y1, y2, y3, y4, m1, m2, d1, d2];
    let two = |tens: u8, ones: u8| (tens - b'0') * 10 + (ones - b'0');
    digits.iter().all(u8::is_ascii_digit)
        && (1..=12).contains(&two(m1, m2))
        && (1..=31).contains(&two(d1, d2))
}

/// A date, and a time of day; with or without a zone.
fn is_time(text: &[u8]) -> bool {
    let Some((date, rest)) = text.split_at_checked(10) else {
        return false;
    };
    let [b'T' | b't' | b' ', h1, h2, b':', m1, m2, ..] = *rest else {
        return false;
    };
    is_date(date) && [h1, h2, m1, m2].iter().all(u8::is_ascii_digit)
}
