//! Defects of what is written: a frame is picked out, and its text is changed on the way to the wire.

use mcpsim_traces::message::{Kind, Message, Method};
use serde_json::Value;

/// Which frames of a party a defect changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum On {
    /// Every frame.
    Any,
    /// Requests of that method.
    Request(Method),
    /// Notifications of that method.
    Notification(Method),
    /// Results that answer that method.
    Result(Method),
    /// Errors that answer that method.
    Error(Method),
    /// Every answer but the handshake's.
    Answer,
}

/// What becomes of such a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Edit {
    /// The value at that JSON pointer is set; the member is added where there is none.
    Set(&'static str, &'static str),
    /// The member at that JSON pointer is left out.
    Remove(&'static str),
    /// It is never sent.
    Lost,
    /// It is sent a second time.
    Twice,
    /// In its place goes an error of that code.
    Refused(i64),
    /// In its place goes a result with these members.
    Granted(&'static str),
    /// It is written through a buffer that holds one frame: a step of its own sends what is in it.
    ThroughOneSlot,
    /// Something follows it on the same line.
    Followed(&'static [u8]),
    /// A line goes before it.
    Before(&'static [u8]),
    /// A line goes after it.
    After(&'static [u8]),
    /// The line breaks after so many bytes.
    BrokenAfter(usize),
    /// The line ends after so many bytes, and the rest never comes.
    CutAfter(usize),
    /// Before it goes its length, as language servers have it.
    LengthHeader,
    /// It is written over several lines.
    Pretty,
    /// A byte-order mark goes before it.
    Marked,
    /// A byte of another encoding stands in it.
    Latin1,
    /// Its second half is written in a step of its own, and another writer's frame can come between.
    Woven,
}

/// A defect of what is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tamper {
    pub(crate) on: On,
    pub(crate) edit: Edit,
}

impl On {
    /// Whether it picks that frame; `about` is the method that an answer answers.
    pub(crate) fn picks(self, message: &Message, about: Method) -> bool {
        match self {
            On::Any => true,
            On::Request(method) => message.kind == Kind::Request && message.method == method,
            On::Notification(method) => {
                message.kind == Kind::Notification && message.method == method
            }
            On::Result(method) => message.kind == Kind::Result && about == method,
            On::Error(method) => message.kind == Kind::Error && about == method,
            On::Answer => message.kind.is_response() && about != Method::Initialize,
        }
    }
}

/// What goes on the wire in place of a frame.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Written {
    /// Lines, in order.
    pub(crate) lines: Vec<Box<[u8]>>,
    /// The half of a frame that is still to come.
    pub(crate) half: Option<Box<[u8]>>,
}

impl Edit {
    /// What is written in place of that text.
    pub(crate) fn apply(self, text: &str) -> Written {
        let bytes = text.as_bytes();
        let line = |bytes: &[u8]| Box::<[u8]>::from(bytes);
        let mut lines = vec![];
        let mut half = None;
        match self {
            Edit::Set(pointer, value) => {
                let value = serde_json::from_str(value).unwrap_or(Value::Null);
                lines.push(changed(text, pointer, Some(value)));
            }
            Edit::Remove(pointer) => lines.push(changed(text, pointer, None)),
            Edit::Lost => {}
            Edit::Twice => lines.extend([line(bytes), line(bytes)]),
            Edit::Refused(code) => {
                let error = serde_json::json!({"jsonrpc": "2.0", "id": id_of(text),
                    "error": {"code": code, "message": "Failed"}});
                lines.push(error.to_string().into_bytes().into());
            }
            Edit::Granted(members) => {
                let id = id_of(text);
                let result =
                    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{{members}}}}}");
                lines.push(result.into_bytes().into());
            }
            Edit::Followed(other) => lines.push([bytes, other].concat().into()),
            Edit::ThroughOneSlot | Edit::Woven => half = Some(line(bytes)),
            Edit::Before(other) => lines.extend([line(other), line(bytes)]),
            Edit::After(other) => lines.extend([line(bytes), line(other)]),
            Edit::BrokenAfter(at) => {
                let at = at.min(bytes.len());
                lines.extend([line(&bytes[..at]), line(&bytes[at..])]);
            }
            Edit::CutAfter(at) => lines.push(line(&bytes[..at.min(bytes.len())])),
            Edit::LengthHeader => {
                let header = format!("Content-Length: {}", bytes.len());
                lines.extend([line(header.as_bytes()), line(b""), line(bytes)]);
            }
            Edit::Pretty => {
                let pretty = serde_json::from_str::<Value>(text)
                    .and_then(|value| serde_json::to_string_pretty(&value))
                    .unwrap_or_else(|_| text.to_owned());
                lines.extend(pretty.lines().map(|part| line(part.as_bytes())));
            }
            Edit::Marked => lines.push([b"\xef\xbb\xbf", bytes].concat().into()),
            Edit::Latin1 => {
                // In place of the last letter before the end of the last string.
                let at = text.rfind('"').unwrap_or(0);
                lines.push([&bytes[..at], b"\xe9", &bytes[at..]].concat().into());
            }
        }
        Written { lines, half }
    }
}

/// The id of the frame; null where it has none.
fn id_of(text: &str) -> Value {
    let frame = serde_json::from_str::<Value>(text).ok();
    frame
        .and_then(|mut frame| frame.get_mut("id").map(Value::take))
        .unwrap_or(Value::Null)
}

/// The text with the value at that pointer set or taken out.
fn changed(text: &str, pointer: &str, value: Option<Value>) -> Box<[u8]> {
    let Ok(mut frame) = serde_json::from_str::<Value>(text) else {
        return text.as_bytes().into();
    };
    let (parent, name) = pointer.rsplit_once('/').unwrap_or(("", pointer));
    let name = name.replace("~1", "/").replace("~0", "~");
    match frame.pointer_mut(parent) {
        Some(Value::Object(members)) => {
            match value {
                Some(value) => members.insert(name, value),
                None => members.remove(&name),
            };
        }
        Some(Value::Array(elements)) => {
            let at = name.parse::<usize>().unwrap_or(elements.len());
            match value {
                Some(value) if at < elements.len() => elements[at] = value,
                Some(value) => elements.push(value),
                None if at < elements.len() => {
                    elements.remove(at);
                }
                None => {}
            }
        }
        _ => {}
    }
    frame.to_string().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(edit: Edit, text: &str) -> Vec<String> {
        let written = edit.apply(text);
        let text = |line: &[u8]| String::from_utf8_lossy(line).into_owned();
        written.lines.iter().map(|line| text(line)).collect()
    }

    #[test]
    fn members_are_set_and_left_out() {
        let text = r#"{"id":1,"result":{"tools":[{"name":"a"},{"name":"b"}]}}"#;
        assert_eq!(
            lines(Edit::Set("/result/tools/1/name", "5"), text),
            [r#"{"id":1,"result":{"tools":[{"name":"a"},{"name":5}]}}"#]
        );
        assert_eq!(
            lines(Edit::Set("/result/nextCursor", "\"\""), text),
            [r#"{"id":1,"result":{"nextCursor":"","tools":[{"name":"a"},{"name":"b"}]}}"#]
        );
        assert_eq!(
            lines(Edit::Remove("/result/tools/0"), text),
            [r#"{"id":1,"result":{"tools":[{"name":"b"}]}}"#]
        );
        assert_eq!(
            lines(Edit::Set("/a~1b", "1"), "{}"),
            [r#"{"a/b":1}"#],
            "a slash in a name is escaped"
        );
    }

    #[test]
    fn lines_are_broken_cut_and_led_by_others() {
        assert_eq!(lines(Edit::BrokenAfter(2), "abcd"), ["ab", "cd"]);
        assert_eq!(lines(Edit::CutAfter(9), "abcd"), ["abcd"]);
        assert_eq!(lines(Edit::Before(b"hello"), "{}"), ["hello", "{}"]);
        assert_eq!(
            lines(Edit::LengthHeader, "{}"),
            ["Content-Length: 2", "", "{}"]
        );
        assert_eq!(lines(Edit::Pretty, r#"{"a":1}"#), ["{", "  \"a\": 1", "}"]);
        assert_eq!(
            lines(Edit::Refused(-32601), r#"{"id":"x","result":{}}"#),
            [r#"{"error":{"code":-32601,"message":"Failed"},"id":"x","jsonrpc":"2.0"}"#]
        );
        assert!(lines(Edit::Lost, "{}").is_empty());
    }

    #[test]
    fn a_woven_frame_keeps_its_whole_text() {
        let written = Edit::Woven.apply("abcd");
        assert!(written.lines.is_empty(), "no line of it has ended yet");
        assert_eq!(written.half.as_deref(), Some(&b"abcd"[..]));
    }
}
