//! From a [`Message`] to the text that a plain peer would write: classifying that text gives the message back.

use std::collections::BTreeMap;

use crate::key::Key;
use crate::message::{
    Capability, Condition, Kind, Message, Method, Shape, Tool, Version, unordered,
};

/// How keys too long to be held in place were spelled by whoever sent them first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spellings(BTreeMap<Key, Box<[u8]>>);

impl Spellings {
    /// Remembers a key's JSON text (quotes included); the first spelling stays.
    pub fn remember(&mut self, key: Key, text: &[u8]) {
        if key.as_integer().is_none() && key.as_short_text().is_none() {
            self.0.entry(key).or_insert_with(|| text.into());
        }
    }

    fn get(&self, key: Key) -> Option<&[u8]> {
        self.0.get(&key).map(|text| &**text)
    }
}

/// The payload of a frame whose structured form does not hold all that it says, as JSON text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Body {
    /// The members of `params` or `result`, without braces; `None`: those that [`render`] writes.
    pub members: Option<Box<str>>,
    /// Members that follow these; in an error they stand in the error object.
    pub more: Box<str>,
    /// The members of `_meta`, without braces; a progress token of the message's own follows them.
    pub meta: Box<str>,
}

impl Body {
    /// These members and nothing else.
    pub fn of(members: impl Into<Box<str>>) -> Body {
        Body {
            members: Some(members.into()),
            ..Body::default()
        }
    }

    /// Adds members after those that are there.
    pub fn and(mut self, more: &str) -> Body {
        self.more = joined(&self.more, more);
        self
    }

    /// Adds members to `_meta`.
    pub fn with_meta(mut self, meta: &str) -> Body {
        self.meta = joined(&self.meta, meta);
        self
    }
}

fn joined(first: &str, second: &str) -> Box<str> {
    match (first, second) {
        ("", text) | (text, "") => text.into(),
        _ => format!("{first},{second}").into(),
    }
}

/// Appends the text of `message` with a payload of its own: envelope, id and progress token are the message's.
pub fn render_with(message: &Message, body: &Body, spellings: &Spellings, out: &mut Vec<u8>) {
    frame(message, Some(body), spellings, out);
}

/// Writes an object and takes its braces off.
fn inside(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    write(out);
    if out.get(at) == Some(&b'{') {
        out.remove(at);
        out.pop();
    }
}

/// Members that follow those since `at`.
fn member(text: &str, at: usize, out: &mut Vec<u8>) {
    if !text.is_empty() {
        if out.len() > at {
            out.push(b',');
        }
        put(out, text);
    }
}

/// An object with the body's members, or with those of the object that is written in their place, and what follows them.
fn payload(
    body: &Body,
    token: Key,
    spellings: &Spellings,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>),
) {
    out.push(b'{');
    let at = out.len();
    match &body.members {
        Some(members) => put(out, members),
        None => inside(out, write),
    }
    member(&body.more, at, out);
    if !body.meta.is_empty() || token.is_present() {
        member("\"_meta\":{", at, out);
        let at = out.len();
        put(out, &body.meta);
        if token.is_present() {
            member("\"progressToken\":", at, out);
            key(token, spellings, out);
        }
        out.push(b'}');
    }
    out.push(b'}');
}

/// Appends the text of `message` to `out`, without a line end.
///
/// Members come in the order `jsonrpc`, `id`, `method`, `params`, or `jsonrpc`, `id`, `result`,
/// `error`. Frames that are no messages (batches, malformed ones) have no structured form: they
/// are sent as raw bytes, and here become an object without a kind.
pub fn render(message: &Message, spellings: &Spellings, out: &mut Vec<u8>) {
    frame(message, None, spellings, out);
}

#[inline(always)]
fn frame(message: &Message, body: Option<&Body>, spellings: &Spellings, out: &mut Vec<u8>) {
    out.push(b'{');
    envelope(message, spellings, out);
    match message.kind {
        Kind::Request | Kind::Notification => {
            put(out, "\"method\":\"");
            put(out, message.method.as_str());
            out.push(b'"');
            match body {
                Some(body) => {
                    put(out, ",\"params\":");
                    // The token stands in the body's `_meta`.
                    let plain = Message {
                        token: Key::ABSENT,
                        ..*message
                    };
                    payload(body, message.token, spellings, out, |out| {
                        params(&plain, spellings, out);
                    });
                }
                None if message.has(Condition::HasParams) || message.token.is_present() => {
                    put(out, ",\"params\":");
                    params(message, spellings, out);
                }
                None => {}
            }
        }
        Kind::Result => {
            put(out, "\"result\":");
            match body {
                Some(body) => {
                    payload(body, Key::ABSENT, spellings, out, |out| {
                        result(message, out);
                    });
                }
                None => result(message, out),
            }
            if message.has(Condition::ResultAndError) {
                put(out, ",");
                error(message, out);
            }
        }
        Kind::Error => {
            error(message, out);
            if let Some(body) = body {
                // Before the brace that closes the error.
                out.pop();
                member(&body.more, 0, out);
                out.push(b'}');
            }
        }
        // The comma is left over.
        Kind::Batch | Kind::Malformed => {
            if out.last() == Some(&b',') {
                out.pop();
            }
        }
    }
    out.push(b'}');
}

#[inline]
fn envelope(message: &Message, spellings: &Spellings, out: &mut Vec<u8>) {
    if message.has(Condition::VersionTagWrong) {
        put(out, "\"jsonrpc\":\"1.0\",");
    } else if !message.has(Condition::VersionTagMissing) {
        put(out, "\"jsonrpc\":\"2.0\",");
    }
    if message.id.is_present() {
        put(out, "\"id\":");
        key(message.id, spellings, out);
        out.push(b',');
    }
}

#[inline]
fn put(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

fn error(message: &Message, out: &mut Vec<u8>) {
    put(out, "\"error\":{\"code\":");
    integer(message.number, out);
    put(out, ",\"message\":\"");
    put(
        out,
        match message.number {
            -32700 => "Parse error",
            -32600 => "Invalid request",
            -32601 => "Method not found",
            -32602 => "Invalid params",
            -32603 => "Internal error",
            _ => "Failed",
        },
    );
    put(out, "\"}");
}

fn params(message: &Message, spellings: &Spellings, out: &mut Vec<u8>) {
    match message.method {
        Method::Initialize => {
            handshake(message, "clientInfo", out);
            return;
        }
        Method::Progress => {
            put(out, "{\"progressToken\":");
            key(message.token, spellings, out);
            if !message.has(Condition::ProgressMissing) {
                put(out, ",\"progress\":");
                decimal(message.number, out);
            }
            out.push(b'}');
            return;
        }
        Method::Cancelled => {
            out.push(b'{');
            if message.token.is_present() {
                put(out, "\"requestId\":");
                key(message.token, spellings, out);
            }
            out.push(b'}');
            return;
        }
        _ => {}
    }
    let body = match message.method {
        Method::ToolsCall => None,
        Method::SamplingCreateMessage => Some(SAMPLING),
        Method::ElicitationCreate => Some(ELICITATION),
        Method::LogMessage => Some("\"level\":\"info\",\"data\":\"working\""),
        _ => Some(""),
    };
    out.push(b'{');
    match body {
        Some(text) => put(out, text),
        None => tool_arguments(message, out),
    }
    if message.token.is_present() {
        if out.last() != Some(&b'{') {
            out.push(b',');
        }
        put(out, "\"_meta\":{\"progressToken\":");
        key(message.token, spellings, out);
        out.push(b'}');
    }
    out.push(b'}');
}

/// The params of a plain peer's sampling request, without braces.
pub const SAMPLING: &str = "\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"go on?\"}}],\"maxTokens\":16";
/// The result of a plain peer's sampling, without braces.
pub const SAMPLED: &str =
    "\"role\":\"assistant\",\"model\":\"m\",\"content\":{\"type\":\"text\",\"text\":\"yes\"}";
/// The params of a plain peer's elicitation by a form, without braces.
pub const ELICITATION: &str =
    "\"message\":\"go on?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}";

fn tool_arguments(message: &Message, out: &mut Vec<u8>) {
    if message.tool != Tool::None {
        put(out, "\"name\":\"");
        put(out, message.tool.as_str());
        put(out, "\",");
    }
    put(out, "\"arguments\":{");
    number_n(message.value, out);
    out.push(b'}');
}

fn number_n(value: u32, out: &mut Vec<u8>) {
    if value != 0 {
        put(out, "\"n\":");
        integer(i64::from(value), out);
    }
}

fn handshake(message: &Message, info: &str, out: &mut Vec<u8>) {
    put(out, "{\"protocolVersion\":");
    match message.version {
        Version::Known(revision) => {
            out.push(b'"');
            put(out, revision.as_str());
            out.push(b'"');
        }
        Version::Unknown => put(out, "\"1.0\""),
        Version::None | Version::NotString => put(out, "1"),
    }
    if !message.has(Condition::CapabilitiesMissing) {
        put(out, ",\"capabilities\":");
        capabilities(message, out);
    }
    if !message.has(Condition::InfoMissing) {
        put(out, ",\"");
        put(out, info);
        put(out, "\":{\"name\":\"mcpsim\",\"version\":\"1\"}");
    }
    out.push(b'}');
}

/// Invariant of [`Capability::ALL`]: the children of a capability follow it directly.
fn capabilities(message: &Message, out: &mut Vec<u8>) {
    out.push(b'{');
    let mut children = false;
    for &capability in Capability::ALL {
        match capability.as_str().split_once('.') {
            None => {
                if children {
                    put(out, "}");
                }
                children = message.capabilities.has(capability);
                if children {
                    if out.last() != Some(&b'{') {
                        out.push(b',');
                    }
                    out.push(b'"');
                    put(out, capability.as_str());
                    put(out, "\":{");
                }
            }
            Some((_, child)) => {
                if children && message.capabilities.has(capability) {
                    if out.last() != Some(&b'{') {
                        out.push(b',');
                    }
                    out.push(b'"');
                    put(out, child);
                    let flag = matches!(child, "listChanged" | "subscribe");
                    put(out, if flag { "\":true" } else { "\":{}" });
                }
            }
        }
    }
    if children {
        put(out, "}");
    }
    out.push(b'}');
}

fn result(message: &Message, out: &mut Vec<u8>) {
    let body = match message.shape {
        Shape::None => "null",
        Shape::Empty => "{}",
        Shape::Initialize => return handshake(message, "serverInfo", out),
        Shape::Tool => {
            // What is structured stands there as text as well, for readers that know no better.
            put(out, "{\"content\":[{\"type\":\"text\",\"text\":\"{");
            if message.value != 0 {
                put(out, "\\\"n\\\":");
                integer(i64::from(message.value), out);
            }
            put(out, "}\"}],\"structuredContent\":{");
            number_n(message.value, out);
            let failed = message.has(Condition::IsError);
            put(
                out,
                if failed {
                    "},\"isError\":true}"
                } else {
                    "},\"isError\":false}"
                },
            );
            return;
        }
        Shape::Tools => TOOLS,
        Shape::Roots => "{\"roots\":[]}",
        Shape::Sampling => {
            put(out, "{");
            put(out, SAMPLED);
            "}"
        }
        Shape::Elicitation => "{\"action\":\"accept\",\"content\":{}}",
        Shape::Task => {
            "{\"task\":{\"taskId\":\"t\",\"status\":\"working\",\"createdAt\":\"2025-11-25T00:00:00Z\",\
             \"lastUpdatedAt\":\"2025-11-25T00:00:00Z\",\"ttl\":null}}"
        }
        Shape::Other => "{\"ok\":true}",
    };
    put(out, body);
}

const TOOLS: &str = "{\"tools\":[\
{\"name\":\"echo\",\"inputSchema\":{\"type\":\"object\"},\
\"outputSchema\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}},\
{\"name\":\"slow\",\"inputSchema\":{\"type\":\"object\"}},\
{\"name\":\"count\",\"inputSchema\":{\"type\":\"object\"}},\
{\"name\":\"ask\",\"inputSchema\":{\"type\":\"object\"}},\
{\"name\":\"confirm\",\"inputSchema\":{\"type\":\"object\"}},\
{\"name\":\"look\",\"inputSchema\":{\"type\":\"object\"}},\
{\"name\":\"fail\",\"inputSchema\":{\"type\":\"object\"}},\
{\"name\":\"touch\",\"inputSchema\":{\"type\":\"object\"}},\
{\"name\":\"log\",\"inputSchema\":{\"type\":\"object\"}},\
{\"name\":\"link\",\"inputSchema\":{\"type\":\"object\"}}]}";

fn integer(value: i64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

fn decimal(order: i64, out: &mut Vec<u8>) {
    let number = unordered(order);
    if number.fract() == 0.0 && number.abs() < 1e15 {
        return integer(number as i64, out);
    }
    put(out, &number.to_string());
}

fn key(key: Key, spellings: &Spellings, out: &mut Vec<u8>) {
    if let Some(value) = key.as_integer() {
        return integer(value, out);
    }
    if let Some(text) = key.as_short_text() {
        // A string's Display is not JSON's: control characters and quotes need JSON's escapes.
        return put(out, &serde_json::Value::from(text).to_string());
    }
    match spellings.get(key) {
        Some(text) => out.extend_from_slice(text),
        None if key == Key::NULL => put(out, "null"),
        None => put(out, "false"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::classify;
    use crate::message::{Capabilities, Conditions, Revision};
    use crate::scan::Scanner;
    use proptest::prelude::*;

    fn text(message: &Message) -> String {
        let mut out = vec![];
        render(message, &Spellings::default(), &mut out);
        String::from_utf8(out).expect("rendered frames are UTF-8")
    }

    #[test]
    fn frames_read_as_a_person_would_write_them() {
        let call = Message::tools_call(Key::integer(2), Tool::Echo, 7, Key::integer(2));
        assert_eq!(
            text(&call),
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"n":7},"_meta":{"progressToken":2}}}"#
        );
        assert_eq!(
            text(&Message::progress(Key::text(b"t"), 3)),
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":3}}"#
        );
        assert_eq!(
            text(&Message::error(Key::integer(1), -32601)),
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}"#
        );
    }

    fn any_key() -> impl Strategy<Value = Key> {
        prop_oneof![
            any::<i64>().prop_map(Key::integer),
            (0i64..20).prop_map(Key::integer),
            "[a-z\"\\\\\n]{0,3}".prop_map(|text| Key::text(text.as_bytes())),
        ]
    }

    fn any_capabilities() -> impl Strategy<Value = Capabilities> {
        any::<u32>().prop_map(|bits| {
            let mut set = Capabilities::NONE;
            for &capability in Capability::ALL {
                let parent = capability.as_str().split_once('.').map(|(above, _)| above);
                let orphan = parent.is_some_and(|above| {
                    !Capability::ALL
                        .iter()
                        .any(|&other| other.as_str() == above && set.has(other))
                });
                if bits >> capability as u32 & 1 == 1 && !orphan {
                    set.insert(capability);
                }
            }
            set
        })
    }

    fn any_message() -> impl Strategy<Value = Message> {
        let method = proptest::sample::select(Method::ALL);
        let tool = proptest::sample::select(&Tool::ALL[..]);
        let revision = proptest::sample::select(&Revision::ALL[..]);
        let shape = proptest::sample::select(vec![
            Shape::Empty,
            Shape::Tools,
            Shape::Roots,
            Shape::Sampling,
            Shape::Elicitation,
            Shape::Other,
        ]);
        let token = prop_oneof![Just(Key::ABSENT), any_key()];
        prop_oneof![
            (any_key(), tool, any::<u32>(), token)
                .prop_map(|(id, tool, n, token)| Message::tools_call(id, tool, n, token)),
            (any_key(), any::<u32>()).prop_map(|(id, n)| Message::tool_result(id, n)),
            (any_key(), revision.clone(), any_capabilities())
                .prop_map(|(id, r, c)| Message::initialize(id, r, c)),
            (any_key(), revision, any_capabilities())
                .prop_map(|(id, r, c)| Message::initialize_result(id, r, c)),
            (any_key(), 0u32..1000).prop_map(|(token, n)| Message::progress(token, n)),
            any_key().prop_map(Message::cancelled),
            (any_key(), any::<i32>()).prop_map(|(id, code)| Message::error(id, i64::from(code))),
            (any_key(), shape).prop_map(|(id, shape)| Message::result(id, shape)),
            (any_key(), method.clone()).prop_filter_map(
                "has its own constructor",
                |(id, method)| {
                    let own = matches!(method, Method::Initialize | Method::ToolsCall)
                        || !method.is_request();
                    (!own).then(|| Message::request(method, id))
                }
            ),
            method.prop_filter_map("has its own constructor", |method| {
                let own = matches!(method, Method::Progress | Method::Cancelled)
                    || !method.is_notification();
                (!own).then(|| Message::notification(method))
            }),
        ]
    }

    proptest! {
        /// Rendering then classifying gives back the same message.
        #[test]
        fn classify_undoes_render(message in any_message()) {
            let text = text(&message);
            let found = classify(text.as_bytes(), &mut Scanner::new());
            prop_assert_eq!(found.message, message, "{}", text);
        }

        /// A defect written into a message is found again by its condition.
        #[test]
        fn envelope_defects_survive(mut message in any_message()) {
            message.conditions.insert(Condition::VersionTagMissing);
            if message.kind == Kind::Result {
                message.conditions.insert(Condition::ResultAndError);
            }
            let found = classify(text(&message).as_bytes(), &mut Scanner::new());
            prop_assert_eq!(found.message, message);
            prop_assert!(!found.message.conditions.intersects(Conditions::of(&[Condition::NotJson])));
        }
    }
}
