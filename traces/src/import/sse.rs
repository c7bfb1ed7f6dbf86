//! Bodies of server-sent events as a log keeps them: cut into events where they stand, in plain bytes or between the quotes of
//! a JSON string.

use super::whole::Span;
use crate::scan::unescape;

/// How a body is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Written {
    /// As it was.
    Plain,
    /// As the inside of a JSON string.
    Escaped,
}

/// A server-sent event, or a field without one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Event {
    /// Where its data stands, line by line.
    pub(super) data: Vec<Span>,
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) retry_ms: Option<u64>,
    /// A blank line ended it: otherwise the body stopped in its middle.
    pub(super) is_ended: bool,
}

impl Event {
    fn is_empty(&self) -> bool {
        let has_field = self.id.is_some() || self.name.is_some() || self.retry_ms.is_some();
        self.data.is_empty() && !has_field
    }
}

/// The events of the body that stands there.
pub(super) fn events(bytes: &[u8], body: Span, written: Written) -> Vec<Event> {
    let mut events = vec![];
    let mut event = Event::default();
    let mut at = body.start;
    while at < body.end {
        let (end, next) = line(&bytes[..body.end], at, written);
        if end == at {
            event.is_ended = true;
            put(&mut events, std::mem::take(&mut event));
        } else {
            field(bytes, at..end, written, &mut event);
        }
        at = next;
    }
    put(&mut events, event);
    events
}

fn put(events: &mut Vec<Event>, event: Event) {
    if !event.is_empty() {
        events.push(event);
    }
}

/// Where the line that begins there ends, and where the next one begins.
fn line(bytes: &[u8], from: usize, written: Written) -> (usize, usize) {
    match written {
        Written::Plain => {
            let Some(length) = memchr::memchr2(b'\n', b'\r', &bytes[from..]) else {
                return (bytes.len(), bytes.len());
            };
            let end = from + length;
            let is_pair = bytes[end..].starts_with(b"\r\n");
            (end, end + if is_pair { 2 } else { 1 })
        }
        Written::Escaped => {
            let mut at = from;
            while let Some(length) = memchr::memchr(b'\\', &bytes[at..]) {
                let end = at + length;
                let (letter, next) = escape(bytes, end);
                match letter {
                    b'\n' => return (end, next),
                    b'\r' => return (end, after_feed(bytes, next)),
                    _ => at = next,
                }
            }
            (bytes.len(), bytes.len())
        }
    }
}

/// The control character that the escape there stands for, or 0 for anything else; and where it ends.
fn escape(bytes: &[u8], at: usize) -> (u8, usize) {
    match bytes.get(at + 1) {
        Some(b'n') => (b'\n', at + 2),
        Some(b'r') => (b'\r', at + 2),
        Some(b'u') => {
            let end = (at + 6).min(bytes.len());
            let letter = match &bytes[at + 2..end] {
                code if code.eq_ignore_ascii_case(b"000a") => b'\n',
                code if code.eq_ignore_ascii_case(b"000d") => b'\r',
                _ => 0,
            };
            (letter, end)
        }
        _ => (0, (at + 2).min(bytes.len())),
    }
}

/// Behind the line feed there, where one stands: it belongs to the carriage return before it.
fn after_feed(bytes: &[u8], at: usize) -> usize {
    match bytes.get(at) {
        Some(b'\\') if escape(bytes, at).0 == b'\n' => escape(bytes, at).1,
        _ => at,
    }
}

fn field(bytes: &[u8], line: Span, written: Written, event: &mut Event) {
    let text = &bytes[line.clone()];
    let colon = memchr::memchr(b':', text);
    let name = &text[..colon.unwrap_or(text.len())];
    let mut value = colon.map_or(line.end, |colon| line.start + colon + 1)..line.end;
    if bytes.get(value.start) == Some(&b' ') && !value.is_empty() {
        value.start += 1;
    }
    let plain = || {
        let mut plain = vec![];
        match written {
            Written::Plain => plain.extend_from_slice(&bytes[value.clone()]),
            Written::Escaped => unescape(&bytes[value.clone()], &mut plain),
        }
        String::from_utf8_lossy(&plain).into_owned()
    };
    match name.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(name) {
        b"data" => event.data.push(value),
        b"id" => event.id = Some(plain()).filter(|id| !id.contains('\0')),
        b"event" => event.name = Some(plain()),
        b"retry" => event.retry_ms = plain().parse().ok(),
        // Comments, and fields that mean nothing.
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(bytes: &[u8], written: Written) -> Vec<String> {
        let of = |event: &Event| {
            let data: Vec<_> = event
                .data
                .iter()
                .map(|span| String::from_utf8_lossy(&bytes[span.clone()]).into_owned())
                .collect();
            let Event {
                id,
                name,
                retry_ms,
                is_ended,
                ..
            } = event;
            let fields = (id.as_deref(), name.as_deref(), *retry_ms);
            format!("{} {fields:?} {is_ended}", data.join("|"))
        };
        let events = events(bytes, 0..bytes.len(), written);
        events.iter().map(of).collect()
    }

    #[test]
    fn fields_and_line_ends_are_those_of_the_standard() {
        let body = b": hello\nid: 1\nevent:message\ndata: {\"a\":\ndata:1}\n\nretry: 5\r\n\r\ndata\r\rdata: x\nid: a\0b";
        let expected = [
            "{\"a\":|1} (Some(\"1\"), Some(\"message\"), None) true",
            " (None, None, Some(5)) true",
            " (None, None, None) true",
            "x (None, None, None) false",
        ];
        assert_eq!(shown(body, Written::Plain), expected);
    }

    #[test]
    fn escapes_end_lines_and_stay_in_data() {
        let body = br#"data: {\"t\":\"a\\nb\"}\u000d\u000A\u000a\r\ndata: \\\n\n"#;
        let expected = [
            r#"{\"t\":\"a\\nb\"} (None, None, None) true"#,
            r"\\ (None, None, None) true",
        ];
        assert_eq!(shown(body, Written::Escaped), expected);
    }

    proptest! {
        /// However a body is written, its events are the same.
        #[test]
        fn escaped_bodies_read_as_plain_ones(body in "[a:d\n\r \\\\\"ïdta]{0,60}") {
            let plain = events(body.as_bytes(), 0..body.len(), Written::Plain);
            let text = serde_json::to_string(&body).expect("text");
            let inside = 1..text.len() - 1;
            let escaped = events(text.as_bytes(), inside, Written::Escaped);
            prop_assert_eq!(plain.len(), escaped.len());
            for (one, other) in plain.iter().zip(&escaped) {
                prop_assert_eq!(&one.id, &other.id);
                prop_assert_eq!(one.data.len(), other.data.len());
                for (one, other) in one.data.iter().zip(&other.data) {
                    let mut data = vec![];
                    unescape(&text.as_bytes()[other.clone()], &mut data);
                    prop_assert_eq!(&body.as_bytes()[one.clone()], &data[..]);
                }
            }
        }
    }
}
