//! Headers of 2026-07-28 that repeat what stands in the body: how values are written, and which parameters of which
//! tools have one.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mcpsim_traces::event::FrameNo;
use mcpsim_traces::key::Key;
use mcpsim_traces::tape::{Value, ValueKind};

/// Tools beyond so many are not followed.
const TOOLS_MAX: usize = 4096;
/// Parameters nested deeper are not followed.
const DEPTH_MAX: usize = 16;
const ANNOTATION: &str = "x-mcp-header";

/// A parameter that has a header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Param {
    /// What stands after `Mcp-Param-`.
    pub(crate) header: Box<str>,
    /// The names that lead to it in the arguments.
    pub(crate) path: Vec<Box<str>>,
}

impl Param {
    /// The argument; `None` where it is absent or null.
    pub(crate) fn argument<'a>(&self, arguments: Value<'a>) -> Option<Value<'a>> {
        let mut path = self.path.iter();
        let value = path.try_fold(arguments, |value, name| value.get(name));
        value.filter(|value| !value.is_null())
    }
}

/// A tool of which some parameter has a header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Tool {
    pub(crate) params: Vec<Param>,
    /// What is wrong with its annotations.
    pub(crate) flaw: Option<&'static str>,
    /// The list that named it.
    pub(crate) frame: FrameNo,
}

/// The tools with such parameters, as the server listed them last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tools {
    by_name: BTreeMap<Key, Tool>,
}

impl Tools {
    pub(crate) fn get(&self, name: Key) -> Option<&Tool> {
        self.by_name.get(&name)
    }

    /// A result of tools/list.
    pub(crate) fn learn(&mut self, result: Value<'_>, frame: FrameNo) {
        let has_any = memchr::memmem::find(result.raw(), ANNOTATION.as_bytes()).is_some();
        if !has_any && self.by_name.is_empty() {
            return;
        }
        let Some(tools) = result.get("tools") else {
            return;
        };
        for tool in tools.items() {
            let (Some(name), Some(schema)) = (tool.get("name"), tool.get("inputSchema")) else {
                continue;
            };
            let mut found = Tool {
                params: vec![],
                flaw: None,
                frame,
            };
            collect(schema, &mut vec![], &mut found);
            if found.params.is_empty() && found.flaw.is_none() {
                self.by_name.remove(&name.key());
            } else if self.by_name.len() < TOOLS_MAX {
                self.by_name.insert(name.key(), found);
            }
        }
    }
}

fn collect(schema: Value<'_>, path: &mut Vec<Box<str>>, found: &mut Tool) {
    let Some(properties) = schema.get("properties") else {
        return;
    };
    for (name, property) in properties.members() {
        let Some(name) = name.as_text() else { continue };
        path.push(Box::from(&*name));
        if let Some(annotation) = property.get(ANNOTATION) {
            let is_primitive = property
                .get("type")
                .is_some_and(|kind| kind.is_one_of(&["string", "integer", "boolean"]));
            let header = annotation.as_text().unwrap_or_default();
            let is_taken = |param: &Param| param.header.eq_ignore_ascii_case(&header);
            if !is_token(&header) {
                found.flaw = Some("is no name of a header");
            } else if !is_primitive {
                found.flaw = Some("stands on a parameter that is no string, integer or boolean");
            } else if found.params.iter().any(is_taken) {
                found.flaw = Some("stands on two parameters");
            }
            found.params.push(Param {
                header: Box::from(&*header),
                path: path.clone(),
            });
        }
        if path.len() < DEPTH_MAX {
            collect(property, path, found);
        }
        path.pop();
    }
}

fn is_token(text: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_token)
}

/// The value that a header carries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Carried<'a> {
    Plain(&'a str),
    Coded(String),
    /// It has the marks of Base64 and is none, or not of UTF-8.
    BadCode,
    /// It has characters that no header may have.
    BadCharacters,
}

/// Whether a value has the marks of the coded form.
pub(crate) fn has_marks(value: &str) -> bool {
    inner(value).is_some()
}

fn inner(value: &str) -> Option<&str> {
    value.strip_prefix("=?base64?")?.strip_suffix("?=")
}

/// What a header's value stands for.
pub(crate) fn carried(value: &str) -> Carried<'_> {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\t');
    if !value.bytes().all(is_plain) {
        return Carried::BadCharacters;
    }
    let Some(coded) = inner(value) else {
        return Carried::Plain(value);
    };
    let bytes = STANDARD.decode(coded).ok();
    match bytes.and_then(|bytes| String::from_utf8(bytes).ok()) {
        Some(text) => Carried::Coded(text),
        None => Carried::BadCode,
    }
}

/// Whether that text is the value in the body: numbers by their value.
pub(crate) fn is_same(text: &str, value: Value<'_>) -> bool {
    match value.kind() {
        ValueKind::Text => value.is(text),
        ValueKind::Number => Key::number(text.as_bytes()) == Some(value.key()),
        ValueKind::True => text == "true",
        ValueKind::False => text == "false",
        ValueKind::Null | ValueKind::Array | ValueKind::Object => false,
    }
}

/// Whether a value of the body can stand in a header as it is.
pub(crate) fn is_plain(value: &str) -> bool {
    matches!(carried(value), Carried::Plain(_)) && value.trim_matches([' ', '\t']) == value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_decoded_as_the_examples_of_the_text() {
        let coded = |text: &str| Carried::Coded(text.to_string());
        for (value, expected) in [
            ("us-west1", Carried::Plain("us-west1")),
            ("=?base64?SGVsbG8sIOS4lueVjA==?=", coded("Hello, 世界")),
            ("=?base64?IHBhZGRlZCA=?=", coded(" padded ")),
            (
                "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
                coded("=?base64?literal?="),
            ),
            ("=?base64?literal?=", Carried::BadCode),
            ("=?BASE64?eA==?=", Carried::Plain("=?BASE64?eA==?=")),
            ("=?base64?/w==?=", Carried::BadCode),
            ("caf\u{e9}", Carried::BadCharacters),
        ] {
            assert_eq!(carried(value), expected);
        }
        assert!(!is_plain(" x") && !is_plain("a\nb") && is_plain("a b"));
    }
}
