//! The schemas of tools as they are listed: whether they are schemas, and what they say of HTTP headers.

use std::collections::BTreeSet;

use mcpsim_traces::event::LinkKind;
use mcpsim_traces::judge::{Severity, Verdict};
use mcpsim_traces::message::{Method, Revision};
use mcpsim_traces::tape::Value;

use crate::deep::{Deep, Frame};
use crate::ledger::Cx;
use crate::part::Part;
use crate::rules::{Basis, Category, MUST, Rule, STATELESS_MUST, Side, When};
use crate::schema::{SCHEMA_MAX, Validity, Why};
use crate::shape::shown;

pub(crate) const TOOL_SCHEMA_DIALECT: Rule = Rule {
    id: "tool-schema-dialect",
    category: Category::Tools,
    basis: Basis::Text,
    side: Side::Server,
    from: Revision::V2025_11_25,
    source: "2025-11-25 basic/index (Schema Validation)",
    says: "The schemas of a tool are valid in the dialect that they name, or in 2020-12.",
    why: "Clients hand them to a validator or a model's API, which refuses the tool, or all of them.",
    when: When::result(Method::ToolsList),
    twin: "tools-schema-valid",
    ..MUST
};

pub(crate) const HTTP_X_MCP_HEADER_VALID: Rule = Rule {
    id: "http-x-mcp-header-valid",
    category: Category::TransportHttp,
    side: Side::Server,
    source: "2026-07-28 basic/transports/streamable-http (Schema Extension)",
    says: "An x-mcp-header names a header by a token that no other in the schema has, on an integer, a string or a \
        boolean that is reached through properties alone.",
    why: "Clients refuse the tool: they cannot write such a header, or not know what goes into it.",
    when: When::result(Method::ToolsList),
    ..STATELESS_MUST
};

/// The rows of this group.
pub(crate) const ROWS: &[Rule] = &[TOOL_SCHEMA_DIALECT, HTTP_X_MCP_HEADER_VALID];

/// The tools of a page.
pub(crate) fn listed(
    part: &Part,
    deep: &mut Deep,
    cx: &mut Cx<'_>,
    frame: &Frame<'_>,
    result: Value<'_>,
) {
    let has_dialect = frame.is_stateless || frame.revision == Some(Revision::V2025_11_25);
    if !has_dialect {
        return;
    }
    let tools = result.get("tools");
    let (mut wrong, mut odd, mut header) = (None, None, None);
    for tool in tools.into_iter().flat_map(Value::items) {
        for name in ["inputSchema", "outputSchema"] {
            // What is no object is another rule's matter.
            let Some(schema) = tool.get(name).filter(|schema| schema.is_object()) else {
                continue;
            };
            let why = match cx.ledger.schemas.intern(schema) {
                None if schema.raw().len() > SCHEMA_MAX => Some(Why::Large),
                None => None,
                Some(known) => match known.validity() {
                    Validity::Valid => None,
                    Validity::Unknown(why) => Some(*why),
                    Validity::Invalid(_) if is_misshapen(schema, frame.is_stateless) => None,
                    Validity::Invalid(words) => {
                        wrong.get_or_insert_with(|| (tool, name, schema, words.clone()));
                        None
                    }
                    Validity::Odd(words) => {
                        odd.get_or_insert_with(|| (tool, name, schema, words.clone()));
                        None
                    }
                },
            };
            if let Some(why) = why {
                not_judged(part, deep, cx, frame, (tool, name, why));
            }
        }
        if frame.is_stateless && header.is_none() {
            let schema = tool.get("inputSchema");
            header = schema.and_then(header_flaw).map(|flaw| (tool, flaw));
        }
    }
    if let Some((tool, flaw)) = header {
        header_wrong(part, cx, tool, flaw);
    }
    if let Some((tool, name, schema, words)) = wrong {
        let text = format!("the {name} of {} is no valid schema: {words}", named(tool));
        part.broken_value(cx, &TOOL_SCHEMA_DIALECT, schema, text);
    } else if let Some((tool, name, schema, words)) = odd {
        part.case(
            cx,
            &TOOL_SCHEMA_DIALECT,
            Verdict::Broken,
            Some(Severity::Warning),
            &[cx.frame],
            Some(schema),
            format!("the {name} of {} cannot be used: {words}", named(tool)),
        );
    }
}

/// Whether the published types of tools refuse the schema already, whatever its dialect says.
#[cold]
fn is_misshapen(schema: Value<'_>, is_stateless: bool) -> bool {
    let is_typed = schema.get("type").is_none_or(|kind| kind.is("object"));
    let is_schema =
        |(_, value): (Value<'_>, Value<'_>)| value.is_object() || value.as_bool().is_some();
    let properties = schema.get("properties").filter(|value| !value.is_null());
    let required = schema.get("required").filter(|value| !value.is_null());
    let has_slip = properties.is_some_and(|all| !all.is_object() || !all.members().all(is_schema))
        || required.is_some_and(|all| !all.is_array() || !all.items().all(Value::is_text));
    !is_typed || has_slip && !is_stateless
}

/// A schema that is not judged by is said once.
#[cold]
fn not_judged(
    part: &Part,
    deep: &mut Deep,
    cx: &mut Cx<'_>,
    frame: &Frame<'_>,
    (tool, name, why): (Value<'_>, &str, Why),
) {
    // Outside sessions an unknown dialect gives no verdict at all.
    let is_silent = frame.is_stateless && why == Why::Dialect;
    if is_silent || deep.listings.is_noted {
        return;
    }
    let because = why.told();
    deep.listings.is_noted = true;
    let text = format!(
        "the {name} of {} is not judged, nor anything by it: {because}",
        named(tool)
    );
    part.case(
        cx,
        &TOOL_SCHEMA_DIALECT,
        Verdict::Unsure,
        Some(Severity::Note),
        &[cx.frame],
        tool.get(name),
        text,
    );
}

/// A tool in words.
pub(crate) fn named(tool: Value<'_>) -> String {
    match tool.get("name").filter(|name| name.is_text()) {
        Some(name) => format!("tool {}", shown(name)),
        None => "a tool".to_string(),
    }
}

/// An annotation that copies an argument into a header is wrong.
#[cold]
fn header_wrong(part: &Part, cx: &mut Cx<'_>, tool: Value<'_>, (value, flaw): (Value<'_>, String)) {
    let severity = match part.link {
        LinkKind::Http => None,
        LinkKind::Pipe => Some(Severity::Warning),
    };
    let text = format!("in the inputSchema of {}, {flaw}", named(tool));
    part.case(
        cx,
        &HTTP_X_MCP_HEADER_VALID,
        Verdict::Broken,
        severity,
        &[cx.frame],
        Some(value),
        text,
    );
}

/// The first annotation that is wrong, and how. The walk keeps its own stack.
fn header_flaw(schema: Value<'_>) -> Option<(Value<'_>, String)> {
    const NAME: &str = "x-mcp-header";
    // Most schemas have none.
    memchr::memmem::find(schema.raw(), NAME.as_bytes())?;
    let mut stack = vec![(schema, true)];
    let mut taken = BTreeSet::new();
    while let Some((schema, is_reachable)) = stack.pop() {
        if let Some(name) = schema.get(NAME) {
            if !is_reachable {
                let text = format!("`{NAME}` stands where no chain of `properties` leads");
                return Some((name, text));
            }
            let flaw = name_flaw(name, &mut taken).or_else(|| type_flaw(schema));
            if let Some(flaw) = flaw {
                return Some((name, flaw));
            }
        }
        let mut parts = vec![];
        for (keyword, value) in schema.members() {
            let Some(keyword) = keyword.as_text() else {
                continue;
            };
            match &*keyword {
                "properties" => {
                    parts.extend(value.members().map(|(_, value)| (value, is_reachable)));
                }
                "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
                    parts.extend(value.members().map(|(_, value)| (value, false)));
                }
                "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
                    parts.extend(value.items().map(|value| (value, false)));
                }
                "items"
                | "additionalProperties"
                | "unevaluatedProperties"
                | "unevaluatedItems"
                | "contains"
                | "propertyNames"
                | "not"
                | "if"
                | "then"
                | "else"
                | "additionalItems"
                | "contentSchema" => parts.push((value, false)),
                _ => {}
            }
        }
        // In the order in which they stand there.
        stack.extend(parts.into_iter().rev());
    }
    None
}

fn name_flaw(name: Value<'_>, taken: &mut BTreeSet<Vec<u8>>) -> Option<String> {
    let Some(text) = name.as_bytes() else {
        return Some("`x-mcp-header` is no string".to_string());
    };
    if text.is_empty() {
        return Some("`x-mcp-header` is empty".to_string());
    }
    if !text.iter().all(|&byte| is_token(byte)) {
        return Some(format!(
            "the header name {} has characters that no header name may have",
            shown(name)
        ));
    }
    let is_new = taken.insert(text.to_ascii_lowercase());
    (!is_new).then(|| {
        format!(
            "the header name {} is given twice; the case does not count",
            shown(name)
        )
    })
}

/// A character of a header's name (RFC 9110, section 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn type_flaw(property: Value<'_>) -> Option<String> {
    let kind = property.get("type").filter(|kind| kind.is_text())?;
    let is_plain = kind.is_one_of(&["integer", "string", "boolean"]);
    (!is_plain).then(|| {
        format!(
            "`x-mcp-header` stands on a property of type {}; only integers, strings and booleans go into headers",
            shown(kind)
        )
    })
}
