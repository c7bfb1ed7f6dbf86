//! A frame found again in a line of a log, and in which column of that line a byte of the frame stands.

use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::event::Role;
use crate::scan::{Scanner, unescape, white};

/// How the bytes of a frame stand in a line of an imported log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin<'a> {
    /// Where they begin in the line, in bytes from 0.
    at: usize,
    form: Written<'a>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Written<'a> {
    /// Byte by byte; a frame of several lines goes on in those that follow.
    Verbatim,
    /// As the inside of a JSON string.
    Json(&'a [u8]),
    /// As the inside of a string of C.
    C(&'a [u8]),
    /// Over several lines, whose ends are blanks in the frame.
    Rows(&'a [u8]),
    /// In another way: only the beginning is known.
    Somewhere,
}

impl<'a> Origin<'a> {
    /// As they are, from that byte of the line on.
    pub fn verbatim(at: usize) -> Origin<'a> {
        let form = Written::Verbatim;
        Origin { at, form }
    }

    /// As the inside of a JSON string, which begins at that byte of the line.
    pub fn json(at: usize, inside: &'a [u8]) -> Origin<'a> {
        let form = Written::Json(inside);
        Origin { at, form }
    }

    /// As the inside of a string of C, which begins at that byte of the line.
    pub fn c(at: usize, inside: &'a [u8]) -> Origin<'a> {
        let form = Written::C(inside);
        Origin { at, form }
    }

    /// Over several lines: so they stand there, from that byte of the first one on, with their ends, each of which is one
    /// byte of the frame.
    pub fn rows(at: usize, rows: &'a [u8]) -> Origin<'a> {
        let form = Written::Rows(rows);
        Origin { at, form }
    }

    /// In a way that is not known here, from that byte on.
    pub fn somewhere(at: usize) -> Origin<'a> {
        let form = Written::Somewhere;
        Origin { at, form }
    }

    /// So many lines below the first one, and in which column (in bytes, from 1), that byte of the frame stands.
    pub fn place(&self, text: &[u8], byte: usize) -> (u64, u64) {
        let column = |inside: usize| (self.at + inside + 1) as u64;
        match self.form {
            Written::Somewhere => (0, column(0)),
            Written::Json(inside) => (0, column(source_offset(inside, byte))),
            Written::C(inside) => (0, column(c_offset(inside, byte))),
            Written::Verbatim => self.below(text, byte),
            Written::Rows(rows) => self.below(rows, byte),
        }
    }
}

impl Origin<'_> {
    /// So many lines below the first one, and in which column, a byte of that text stands.
    fn below(&self, text: &[u8], byte: usize) -> (u64, u64) {
        let before = &text[..byte.min(text.len())];
        match memchr::memrchr(b'\n', before) {
            None => (0, (self.at + byte + 1) as u64),
            Some(last) => {
                let lines = memchr::memchr_iter(b'\n', before).count();
                (lines as u64, (byte - last) as u64)
            }
        }
    }
}

/// A frame in its line of a trace or a capture: `raw` or `raw_b64` of an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placed<'a> {
    /// Who sent it, where the line says so.
    pub from: Option<Role>,
    /// The frame's bytes.
    pub text: Vec<u8>,
    /// The text between the quotes, as it stands in the line.
    inner: &'a [u8],
    /// Where that begins in the line.
    at: usize,
    is_base64: bool,
}

impl<'a> Placed<'a> {
    /// Finds the frame of a line; `None` where it has none.
    pub fn find(line: &'a [u8]) -> Option<Placed<'a>> {
        let first = beginning(line);
        if line.get(first) != Some(&b'{') {
            return None;
        }
        let mut from = None;
        let mut found = None;
        let scanned = Scanner::new().object(line, first, |scanner, name, at| {
            let end = scanner.value(line, at)?;
            let value = &line[at..end];
            match name {
                b"dir" | b"from" => from = role(value),
                b"raw" | b"raw_b64" if value.len() >= 2 && value[0] == b'"' => {
                    found = Some((at + 1, &line[at + 1..end - 1], name == b"raw_b64"));
                }
                _ => {}
            }
            Ok(end)
        });
        scanned.ok()?;
        let (at, inner, is_base64) = found?;
        let mut text = vec![];
        if is_base64 {
            text = STANDARD.decode(inner).ok()?;
        } else {
            unescape(inner, &mut text);
        }
        Some(Placed {
            from,
            text,
            inner,
            at,
            is_base64,
        })
    }

    /// In which column of the line, in bytes from 1, that byte of the frame stands.
    pub fn column(&self, byte: usize) -> u64 {
        let inside = if self.is_base64 {
            (byte * 4 / 3).min(self.inner.len())
        } else {
            source_offset(self.inner, byte)
        };
        (self.at + inside + 1) as u64
    }
}

/// A part of what a line of a capture has of HTTP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HttpPart {
    /// A header, by its name in lower case.
    Header(&'static str),
    /// The method of a request.
    Method,
    /// The target of a request.
    Target,
    /// The status of an answer.
    Status,
    /// The id of a server-sent event.
    EventId,
}

/// Where the line has that part: its name and its value, in bytes, quotes and all. Headers are looked for in any case; `None`
/// where there is no such part.
pub fn http(line: &[u8], part: HttpPart) -> Option<(Range<usize>, Range<usize>)> {
    let first = beginning(line);
    if part == HttpPart::EventId {
        return member(line, first, |key| key == b"sse_id");
    }
    let head = member(line, first, |key| key == b"head")?.1.start;
    let name: &[u8] = match part {
        HttpPart::Header(name) => {
            let headers = member(line, head, |key| key == b"headers")?.1;
            return member(line, headers.start, |key| {
                key.eq_ignore_ascii_case(name.as_bytes())
            });
        }
        HttpPart::Method => b"method",
        HttpPart::Target => b"target",
        HttpPart::Status | HttpPart::EventId => b"status",
    };
    member(line, head, |key| key == name)
}

/// Who sent what a line of a trace or a capture tells, where it says so.
pub fn sender(line: &[u8]) -> Option<Role> {
    let first = beginning(line);
    let (_, value) = member(line, first, |key| key == b"dir" || key == b"from")?;
    role(&line[value])
}

/// Where the line's value begins, behind a byte order mark and blanks.
fn beginning(line: &[u8]) -> usize {
    let mark = line.starts_with(b"\xEF\xBB\xBF");
    white(line, if mark { 3 } else { 0 })
}

fn role(value: &[u8]) -> Option<Role> {
    match value {
        b"\"c2s\"" | b"\"client\"" => Some(Role::Client),
        b"\"s2c\"" | b"\"server\"" => Some(Role::Server),
        _ => None,
    }
}

/// The first member of the object there whose name fits: its name and its value.
fn member(
    line: &[u8],
    at: usize,
    fits: impl Fn(&[u8]) -> bool,
) -> Option<(Range<usize>, Range<usize>)> {
    if line.get(at) != Some(&b'{') {
        return None;
    }
    let mut found = None;
    let mut before = at + 1;
    let scanned = Scanner::new().object(line, at, |scanner, name, value| {
        let end = scanner.value(line, value)?;
        if found.is_none() && fits(name) {
            let quote = before + memchr::memchr(b'"', &line[before..value]).unwrap_or(0);
            let colon = memchr::memrchr(b':', &line[..value]).unwrap_or(value);
            found = Some((quote..line[..colon].trim_ascii_end().len(), value..end));
        }
        before = end;
        Ok(end)
    });
    scanned.ok()?;
    found
}

/// Where the byte of a string's plain text stands between its quotes, where escapes are longer than what they
/// stand for.
fn source_offset(inner: &[u8], plain: usize) -> usize {
    let mut source = 0;
    let mut left = plain;
    while left > 0 && source < inner.len() {
        let escape = &inner[source..];
        if escape[0] != b'\\' {
            let run = memchr::memchr(b'\\', escape).unwrap_or(escape.len());
            let taken = run.min(left);
            source += taken;
            left -= taken;
            continue;
        }
        let length = escape_length(escape);
        let mut stands_for = vec![];
        unescape(&escape[..length], &mut stands_for);
        if stands_for.len() > left {
            // In the middle of one letter: its beginning.
            return source;
        }
        source += length;
        left -= stands_for.len();
    }
    source
}

/// The byte that an escape of C stands for, without its backslash, and how long that is.
pub(crate) fn c_escape(rest: &[u8]) -> (u8, usize) {
    let Some(&first) = rest.first() else {
        return (b'\\', 0);
    };
    let byte = match first {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'f' => 0x0C,
        b'v' => 0x0B,
        b'a' => 0x07,
        b'b' => 0x08,
        b'e' => 0x1B,
        b'0'..=b'7' => {
            let digits = rest
                .iter()
                .take(3)
                .take_while(|byte| matches!(byte, b'0'..=b'7'));
            let length = digits.clone().count();
            let value = digits.fold(0_u32, |value, digit| value * 8 + u32::from(digit - b'0'));
            return (value as u8, length);
        }
        b'x' => {
            let digits = rest[1..]
                .iter()
                .take(2)
                .take_while(|byte| byte.is_ascii_hexdigit());
            let length = digits.count();
            let text = std::str::from_utf8(&rest[1..1 + length]).unwrap_or_default();
            return (u8::from_str_radix(text, 16).unwrap_or(b'x'), 1 + length);
        }
        other => other,
    };
    (byte, 1)
}

/// Where a byte of the plain text stands in the inside of a string of C.
pub(crate) fn c_offset(inside: &[u8], plain: usize) -> usize {
    let (mut at, mut left) = (0, plain);
    while at < inside.len() && left > 0 {
        at += match inside[at] {
            b'\\' => 1 + c_escape(&inside[at + 1..]).1,
            _ => 1,
        };
        left -= 1;
    }
    at
}

/// How long the escape is that the bytes begin with: a pair of surrogates is one.
fn escape_length(escape: &[u8]) -> usize {
    if escape.get(1) != Some(&b'u') {
        return 2.min(escape.len());
    }
    let unit = |at: usize| {
        let digits = escape.get(at..at + 4)?;
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let is_pair = escape.get(6..8) == Some(b"\\u")
        && matches!(unit(2), Some(0xD800..=0xDBFF))
        && matches!(unit(8), Some(0xDC00..=0xDFFF));
    if is_pair { 12 } else { 6.min(escape.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_found_in_any_case() {
        let line = br#"{"raw":"{\"head\":{\"headers\":{\"accept\":1}}}","dir":"c2s","head":{"method":"POST","headers":{"x":["accept"], "Accept" : "y"}}}"#;
        let (name, value) = http(line, HttpPart::Header("accept")).unwrap();
        assert_eq!(&line[name], b"\"Accept\"");
        assert_eq!(&line[value], b"\"y\"");
        assert_eq!(sender(line), Some(Role::Client));
        assert_eq!(http(line, HttpPart::Header("origin")), None);
        assert_eq!(http(b"{\"head\":[]}", HttpPart::Header("accept")), None);
        assert_eq!(
            http(b"{\"head\":{\"headers\":{}}", HttpPart::Header("accept")),
            None
        );
    }

    use proptest::prelude::*;

    #[test]
    fn a_byte_of_a_frame_is_found_in_its_line() {
        let line = br#"{"dir":"s2c","t_ms":1,"raw":"{\"a\":\"\u00e9\\n\ud83d\ude00x\",\"b\":1}"}"#;
        let placed = Placed::find(line).expect("a frame");
        assert_eq!(placed.from, Some(Role::Server));
        let text = "{\"a\":\"é\\n😀x\",\"b\":1}";
        assert_eq!(placed.text, text.as_bytes());
        for (what, stands_as) in [
            ("{", r#"{\""#),
            ("é", r"\u00e9"),
            ("😀", r"\ud83d\ude00x"),
            ("x", "x"),
            ("1}", "1}"),
        ] {
            let at = text.find(what).expect("there");
            let column = placed.column(at) as usize - 1;
            assert!(
                line[column..].starts_with(stands_as.as_bytes()),
                "{what} in column {column}"
            );
        }
        // In the middle of a letter.
        let middle = text.find('é').expect("there") + 1;
        assert_eq!(placed.column(middle), placed.column(middle - 1));
    }

    #[test]
    fn base64_is_counted_in_its_own_letters() {
        let line = br#"{"dir":"c2s","raw_b64":"YWJj/2Rl"}"#;
        let placed = Placed::find(line).expect("a frame");
        assert_eq!(placed.text, b"abc\xFFde");
        assert_eq!(line[placed.column(3) as usize - 1], b'/');
    }

    #[test]
    fn lines_without_a_frame_have_none() {
        for line in [
            &b"{\"event\":\"open\"}"[..],
            b"",
            b"{\"dir\":\"c2s\",\"raw\":1}",
            b"{\"dir\":\"c2s\",\"raw\":\"",
            b"[]",
        ] {
            assert_eq!(
                Placed::find(line),
                None,
                "{}",
                String::from_utf8_lossy(line)
            );
        }
    }

    proptest! {
        /// Every byte of every text is found again, and none panics.
        #[test]
        fn columns_rise_with_bytes(text in ".{0,40}") {
            let line = format!("{{\"raw\":{}}}", serde_json::to_string(&text).expect("text"));
            let placed = Placed::find(line.as_bytes()).expect("a frame");
            prop_assert_eq!(&placed.text, text.as_bytes());
            let mut last = 0;
            for (at, letter) in text.char_indices() {
                let column = placed.column(at) as usize - 1;
                prop_assert!(column > last);
                last = column;
                let rest = &line[column..];
                prop_assert!(rest.starts_with(letter) || rest.starts_with('\\'));
            }
        }
    }
}
