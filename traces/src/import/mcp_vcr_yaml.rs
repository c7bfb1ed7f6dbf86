//! Recordings of mcp-vcr as YAML: below `messages:` an item for each message, `- dir: c2s` with its `payload:` and `t:`. Each
//! item is read by itself, so that no more than one has to be kept. YAML says what is a number and what is a text in its own
//! way.

use std::borrow::Cow;

use saphyr_parser::{Event, Parser, ScalarStyle};

use super::entry::{Entries, Entry, Text};
use super::json_lines::members_of;
use super::{Head, Kind, Lost, Reading, several};
use crate::event::Role;
use crate::file::json::{Wrong, put_string};
use crate::lines::Line;

pub(super) const FORMAT: super::Format = super::Format {
    name: "mcp-vcr-yaml",
    what: "a recording of mcp-vcr as YAML",
    found: "mcp-vcr record, as YAML",
    lost: Lost::RAW.with(Lost::LINES),
    hint: "members are sorted and values written anew; its times count from the beginning",
    is_read: true,
    recognises,
    kind: Kind::McpVcrYaml,
};

fn recognises(head: &Head<'_>) -> bool {
    let has = |words: &[u8]| head.any(|line| line.trim_ascii_end() == words);
    let says = |line: &&[u8]| !line.is_empty() && !line.starts_with(b"#") && *line != b"---";
    let first = head.lines.iter().copied().find(says);
    let is_key = first.is_some_and(|line| line[0].is_ascii_lowercase() && line.contains(&b':'));
    is_key && has(b"messages:") && (has(b"- dir: c2s") || has(b"- dir: s2c"))
}

/// Values in values in values: more levels than this are an error.
const DEPTH_MAX: usize = 256;
/// An item of more bytes is an error.
const ITEM_BYTES_MAX: usize = crate::lines::LINE_BYTES_MAX;

#[derive(Clone, Default)]
pub(super) struct Form {
    /// The item at hand, and its first line and last one; 0 where there is none.
    item: Vec<u8>,
    first: u64,
    last: u64,
    is_in_messages: bool,
    kept: Vec<u8>,
    untimed: bool,
    /// Items at the end that could not be read.
    broken: u64,
}

impl super::Form for Form {
    fn line(&mut self, line: &Line<'_>, out: &mut Entries) -> Reading<()> {
        let bytes = line.bytes.strip_suffix(b"\r").unwrap_or(line.bytes);
        let is_inside = bytes.starts_with(b" ") && self.first > 0;
        let mut read = Ok(());
        if !is_inside {
            read = self.close(out);
            if bytes.starts_with(b"- ") && self.is_in_messages {
                (self.first, self.last) = (line.number, line.number);
            } else {
                self.is_in_messages = bytes.trim_ascii_end() == b"messages:";
                return read;
            }
        }
        if self.item.len() + bytes.len() > ITEM_BYTES_MAX {
            self.item.clear();
            self.first = 0;
            return Err(Wrong::new(0, "the entry is too long"));
        }
        // Blank lines are not handed on, and mean something in a text.
        let ends = usize::try_from(line.number - self.last).unwrap_or(0);
        self.item
            .extend(std::iter::repeat_n(b'\n', ends.min(ITEM_BYTES_MAX)));
        self.item.extend_from_slice(bytes);
        self.last = line.number;
        read
    }

    fn end(&mut self, out: &mut Entries) -> Reading<()> {
        self.broken += u64::from(self.close(out).is_err());
        Ok(())
    }

    fn is_by_line(&self) -> bool {
        false
    }

    fn kept(&self) -> &[u8] {
        &self.kept
    }

    fn lost(&self) -> Lost {
        let mut lost = Lost::NOTHING;
        if self.untimed {
            lost |= Lost::TIME;
        }
        if self.broken > 0 {
            lost |= Lost::FRAMES;
        }
        lost
    }

    fn remarks(&self) -> Vec<String> {
        match self.broken {
            0 => vec![],
            broken => vec![format!(
                "at the end {} cannot be read",
                several(broken, "entry", "entries")
            )],
        }
    }
}

const NAMES: [&[u8]; 3] = [b"dir", b"payload", b"t"];
const DIRECTION: usize = 0;
const PAYLOAD: usize = 1;
const TIME: usize = 2;

impl Form {
    /// The item at hand is whole.
    fn close(&mut self, out: &mut Entries) -> Reading<()> {
        self.kept.clear();
        let (item, first) = (std::mem::take(&mut self.item), self.first);
        self.first = 0;
        if item.is_empty() {
            return Ok(());
        }
        let entry = self.entry(&item);
        let mut entry = entry.map_err(|why| {
            let message = format!("the entry that begins in line {first}: {why}");
            Wrong::new(0, message)
        })?;
        entry.line += first;
        out.push_back(entry);
        Ok(())
    }

    /// The entry that the item tells; its line is counted from the item's first.
    fn entry(&mut self, item: &[u8]) -> Result<Entry, String> {
        let text = std::str::from_utf8(item).map_err(|_| "it is no UTF-8".to_owned())?;
        let (line, column) = to_json(&without_indents(text), &mut self.kept)?;
        let inner = self
            .kept
            .strip_prefix(b"[")
            .and_then(|list| list.strip_suffix(b"]"));
        let members = inner.and_then(|object| members_of(object, &NAMES));
        let members = members.ok_or("it is no mapping")?;
        let role = match () {
            () if members.is(DIRECTION, "c2s") => Role::Client,
            () if members.is(DIRECTION, "s2c") => Role::Server,
            () => return Err("\"dir\" has to be c2s or s2c".to_owned()),
        };
        let payload = members.span(PAYLOAD).ok_or("it has no payload")?;
        let t_ms = members.integer(TIME).and_then(|ms| u64::try_from(ms).ok());
        self.untimed |= t_ms.is_none();
        let text = Text::Kept {
            text: payload.start + 1..payload.end + 1,
            at: column,
        };
        let mut entry = Entry::frame(role, t_ms, text);
        entry.line = line;
        Ok(entry)
    }
}

/// What ends a line in YAML 1.1, which the recorder writes, and in 1.2 does not.
const OLD_BREAKS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];

/// Behind such an end stands the indent of the next line, which is no part of the text: a text with blanks there is written with
/// escapes.
fn without_indents(text: &str) -> Cow<'_, str> {
    if !text.contains(OLD_BREAKS) {
        return Cow::Borrowed(text);
    }
    let mut parts = text.split_inclusive(OLD_BREAKS);
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        whole.push_str(part.trim_start_matches(' '));
    }
    Cow::Owned(whole)
}

/// Whether a value without quotes is a number to the recorder: in YAML 1.1 one with an exponent has a point and a sign, and `1e3`
/// is a text.
fn is_number(value: &str) -> bool {
    let is_json = crate::scan::number(value.as_bytes(), 0) == Ok(value.len());
    let is_plain = value
        .split_once(['e', 'E'])
        .is_none_or(|(number, exponent)| number.contains('.') && exponent.starts_with(['+', '-']));
    is_json && is_plain
}

/// What is open.
struct Open {
    is_mapping: bool,
    /// So many keys and values have been written.
    count: usize,
}

/// Writes a list of one mapping as JSON; tells how many lines below the first and in which column the value of `payload` begins.
fn to_json(text: &str, out: &mut Vec<u8>) -> Result<(u64, usize), String> {
    let mut open: Vec<Open> = vec![];
    let mut place = (0, 0);
    let mut is_payload = false;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| error.to_string())?;
        let is_value = !matches!(
            event,
            Event::StreamStart
                | Event::StreamEnd
                | Event::DocumentStart(_)
                | Event::DocumentEnd
                | Event::Nothing
                | Event::MappingEnd
                | Event::SequenceEnd
        );
        if is_value {
            if std::mem::take(&mut is_payload) {
                let below = span.start.line().saturating_sub(1);
                place = (below as u64, span.start.col());
            }
            separate(open.last_mut(), out);
        }
        match event {
            Event::MappingStart(..) | Event::SequenceStart(..) => {
                let is_mapping = matches!(event, Event::MappingStart(..));
                if open.len() >= DEPTH_MAX {
                    return Err("values are nested too deeply".to_owned());
                }
                if open
                    .last()
                    .is_some_and(|open| open.is_mapping && open.count % 2 == 1)
                {
                    return Err("a key is no text".to_owned());
                }
                out.push(if is_mapping { b'{' } else { b'[' });
                open.push(Open {
                    is_mapping,
                    count: 0,
                });
            }
            Event::MappingEnd | Event::SequenceEnd => {
                let is_mapping = matches!(event, Event::MappingEnd);
                open.pop();
                out.push(if is_mapping { b'}' } else { b']' });
            }
            Event::Scalar(value, style, ..) => {
                let depth = open.len();
                let is_key = open
                    .last()
                    .is_some_and(|open| open.is_mapping && open.count % 2 == 1);
                is_payload = is_key && depth == 2 && value == "payload";
                if is_key || style != ScalarStyle::Plain {
                    put_string(out, &value);
                } else {
                    put_plain(out, &value)?;
                }
            }
            Event::Alias(_) => return Err("aliases are not read: export it as NDJSON".to_owned()),
            _ => {}
        }
    }
    Ok(place)
}

/// What stands between keys and values, before the next of them.
fn separate(open: Option<&mut Open>, out: &mut Vec<u8>) {
    let Some(open) = open else {
        return;
    };
    if open.is_mapping && open.count % 2 == 1 {
        out.push(b':');
    } else if open.count > 0 {
        out.push(b',');
    }
    open.count += 1;
}

/// A value without quotes: a word, a number, or a text.
fn put_plain(out: &mut Vec<u8>, value: &str) -> Result<(), String> {
    let json = match value {
        "" | "~" | "null" | "Null" | "NULL" => "null",
        "true" | "True" | "TRUE" => "true",
        "false" | "False" | "FALSE" => "false",
        ".inf" | "-.inf" | "+.inf" | ".nan" => return Err(format!("{value} is no number of JSON")),
        _ if is_number(value) => value,
        _ => {
            put_string(out, value);
            return Ok(());
        }
    };
    out.extend_from_slice(json.as_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(yaml: &str, json: &str, place: (u64, usize)) {
        let mut out = vec![];
        assert_eq!(to_json(yaml, &mut out), Ok(place), "{yaml}");
        assert_eq!(String::from_utf8_lossy(&out), json);
    }

    #[test]
    fn items_become_objects() {
        check(
            "- dir: c2s\n  payload:\n    id: 1\n    jsonrpc: '2.0'\n    x: [2.0, ~, true, a b, {}]\n  t: 22",
            r#"[{"dir":"c2s","payload":{"id":1,"jsonrpc":"2.0","x":[2.0,null,true,"a b",{}]},"t":22}]"#,
            (2, 4),
        );
        check(
            "- payload: \"a \\u2013\\\n    \\ b\\n\"\n  1: 'it''s'",
            "[{\"payload\":\"a – b\\n\",\"1\":\"it's\"}]",
            (0, 11),
        );
    }

    #[test]
    fn values_are_those_of_the_older_yaml() {
        check(
            "- payload: [1e3, 1.5e3, 1.5e+3, -2, 1e+20]",
            r#"[{"payload":["1e3","1.5e3",1.5e+3,-2,"1e+20"]}]"#,
            (0, 11),
        );
        let text = "- payload: 'a\u{2028}    b\u{85}    \u{85}    c d'";
        check(
            &without_indents(text),
            r#"[{"payload":"a\u2028b\u0085\u0085c d"}]"#,
            (0, 11),
        );
    }

    #[test]
    fn what_json_does_not_have_is_an_error() {
        for yaml in ["- {a: .nan}", "- {[1]: 2}", "- a: &x 1\n  b: *x", "- 'a"] {
            assert!(to_json(yaml, &mut vec![]).is_err(), "{yaml}");
        }
        let deep = format!("- {}", "[".repeat(300));
        assert!(to_json(&deep, &mut vec![]).is_err());
    }
}
