//! Strict reading of small JSON objects with the place of everything that is wrong, and JSON strings written
//! so that a terminal can show them. Knows JSON, not traces.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::lines::InputError;
use crate::scan::{Fault, Scanner, unescape, white};
use crate::show::{escape_bytes, is_hidden};

/// No object that is read here has more members.
const MEMBERS_MAX: usize = 128;

/// Names from a file are repeated in messages up to here.
const QUOTED_CHARS_MAX: usize = 60;

/// Something that cannot be used, at an offset in bytes of its line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Wrong {
    pub(crate) at: usize,
    pub(crate) message: String,
}

impl Wrong {
    pub(crate) fn new(at: usize, message: impl Into<String>) -> Wrong {
        Wrong {
            at,
            message: message.into(),
        }
    }

    pub(crate) fn on(self, line: u64) -> InputError {
        InputError {
            line,
            column: self.at as u64 + 1,
            message: self.message,
        }
    }
}

impl From<Fault> for Wrong {
    fn from(fault: Fault) -> Wrong {
        Wrong::new(fault.at, format!("not JSON: {}", fault.kind.as_str()))
    }
}

pub(crate) type Read<T> = Result<T, Wrong>;

/// Text from a file as a message may repeat it: quoted, short, safe to print.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    format!("\"{}\"", short(bytes))
}

/// A JSON value from a file as a message may repeat it: as it stands there, short, safe to print.
pub(crate) fn as_it_stands(value: &[u8]) -> String {
    let inner = value.strip_prefix(b"\"");
    match inner.and_then(|inner| inner.strip_suffix(b"\"")) {
        Some(inner) => quoted(inner),
        None => short(value),
    }
}

fn short(bytes: &[u8]) -> String {
    let text = escape_bytes(bytes);
    match text.char_indices().nth(QUOTED_CHARS_MAX) {
        None => text.into_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// The bytes must be UTF-8.
pub(crate) fn utf8(line: &[u8]) -> Read<&str> {
    // Where the bytes are none, it takes longer to find out where.
    simdutf8::basic::from_utf8(line)
        .or_else(|_| simdutf8::compat::from_utf8(line))
        .map_err(|error| {
            Wrong::new(
                error.valid_up_to(),
                "not UTF-8: bytes that are not belong into \"raw_b64\"",
            )
        })
}

/// The one JSON object that a line is, from the first byte that is not white space.
pub(crate) fn object_of_line<'a>(line: &'a [u8], scanner: &mut Scanner) -> Read<Members<'a>> {
    let start = white(line, 0);
    let text = utf8(line)?;
    scanner.reset();
    let end = scanner.value(line, start)?;
    let value = Value {
        line: text,
        at: start,
        end,
    };
    let rest = white(line, end);
    if rest < line.len() {
        return Err(Wrong::new(rest, "something stands after the JSON object"));
    }
    value.members("the line", scanner)
}

/// A JSON value in its line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value<'a> {
    line: &'a str,
    at: usize,
    end: usize,
}

impl<'a> Value<'a> {
    /// The value that is proven to lie there in the line.
    pub(crate) fn at(line: &'a str, at: usize, end: usize) -> Value<'a> {
        Value { line, at, end }
    }

    /// Its source text.
    pub(crate) fn text(self) -> &'a str {
        &self.line[self.at..self.end]
    }

    pub(crate) fn is_null(self) -> bool {
        self.text() == "null"
    }

    pub(crate) fn wrong(self, message: impl Into<String>) -> Wrong {
        Wrong::new(self.at, message)
    }

    /// A string, its escapes resolved.
    pub(crate) fn string(self) -> Read<Cow<'a, str>> {
        let text = self.text();
        if !text.starts_with('"') {
            return Err(self.wrong(format!(
                "a string was expected, not {}",
                as_it_stands(text.as_bytes())
            )));
        }
        let inner = &text[1..text.len() - 1];
        if !inner.contains('\\') {
            return Ok(Cow::Borrowed(inner));
        }
        let mut bytes = Vec::with_capacity(inner.len());
        unescape(inner.as_bytes(), &mut bytes);
        match String::from_utf8(bytes) {
            Ok(plain) => Ok(Cow::Owned(plain)),
            // The line is UTF-8, so only half a surrogate pair can have done this.
            Err(_) => Err(Wrong::new(
                self.at + 1 + lone_surrogate(inner.as_bytes()).unwrap_or(0),
                HALF_PAIR,
            )),
        }
    }

    /// The bytes that a base64 string stands for.
    pub(crate) fn base64(self) -> Read<Vec<u8>> {
        STANDARD
            .decode(self.string()?.as_bytes())
            .map_err(|_| self.wrong("not base64"))
    }

    /// A whole number that fits its type.
    pub(crate) fn integer<T: TryFrom<u64>>(self) -> Read<T> {
        let text = self.text();
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = if digits {
            text.parse::<u64>().ok()
        } else {
            None
        };
        match number.map(T::try_from) {
            Some(Ok(number)) => Ok(number),
            _ if digits => Err(self.wrong(format!("the number {text} is too large here"))),
            _ => Err(self.wrong(format!(
                "a whole number was expected, not {}",
                as_it_stands(text.as_bytes())
            ))),
        }
    }

    pub(crate) fn boolean(self) -> Read<bool> {
        match self.text() {
            "true" => Ok(true),
            "false" => Ok(false),
            text => Err(self.wrong(format!(
                "true or false was expected, not {}",
                as_it_stands(text.as_bytes())
            ))),
        }
    }

    /// One of the words of a closed list.
    pub(crate) fn word<T: Copy>(self, all: &[T], as_str: fn(T) -> &'static str) -> Read<T> {
        let text = self.string()?;
        match all.iter().find(|&&one| as_str(one) == text) {
            Some(&one) => Ok(one),
            None => {
                let known: Vec<&str> = all.iter().map(|&one| as_str(one)).collect();
                Err(self.wrong(format!(
                    "unknown word {}; known: {}",
                    quoted(text.as_bytes()),
                    known.join(", ")
                )))
            }
        }
    }

    /// The values of an array.
    pub(crate) fn items(self, scanner: &mut Scanner) -> Read<Vec<Value<'a>>> {
        let bytes = self.line.as_bytes();
        if bytes[self.at] != b'[' {
            return Err(self.wrong(format!(
                "an array was expected, not {}",
                as_it_stands(self.text().as_bytes())
            )));
        }
        let mut items = vec![];
        let mut at = white(bytes, self.at + 1);
        while bytes[at] != b']' {
            let end = scanner.value(bytes, at)?;
            items.push(Value {
                line: self.line,
                at,
                end,
            });
            at = white(bytes, end);
            if bytes[at] == b',' {
                at = white(bytes, at + 1);
            }
        }
        Ok(items)
    }

    /// The strings of an array.
    pub(crate) fn strings(self, scanner: &mut Scanner) -> Read<Vec<String>> {
        let items = self.items(scanner)?;
        items
            .into_iter()
            .map(|item| Ok(item.string()?.into_owned()))
            .collect()
    }

    /// The members of an object, which messages call `noun`.
    pub(crate) fn members(self, noun: &'static str, scanner: &mut Scanner) -> Read<Members<'a>> {
        let bytes = self.line.as_bytes();
        if bytes[self.at] != b'{' {
            return Err(self.wrong(format!(
                "an object was expected, not {}",
                as_it_stands(self.text().as_bytes())
            )));
        }
        let mut list: Vec<Member<'a>> = Vec::with_capacity(10);
        let mut next = white(bytes, self.at + 1);
        while bytes[next] != b'}' {
            let name_at = next;
            let name_end = scanner.string(bytes, name_at)?;
            let name = &self.line[name_at + 1..name_end - 1];
            // The text is proven: after the name come a colon and a value.
            let at = white(bytes, white(bytes, name_end) + 1);
            let end = scanner.value(bytes, at)?;
            if list.len() == MEMBERS_MAX {
                return Err(Wrong::new(name_at, "too many members"));
            }
            if list.iter().any(|member| member.name == name) {
                let message = format!("{} stands there twice", quoted(name.as_bytes()));
                return Err(Wrong::new(name_at, message));
            }
            list.push(Member {
                name,
                name_at,
                value: Value {
                    line: self.line,
                    at,
                    end,
                },
                taken: false,
            });
            next = white(bytes, end);
            if bytes[next] == b',' {
                next = white(bytes, next + 1);
            }
        }
        Ok(Members {
            noun,
            at: self.at,
            list,
        })
    }
}

#[derive(Debug)]
struct Member<'a> {
    name: &'a str,
    name_at: usize,
    value: Value<'a>,
    taken: bool,
}

/// The members of an object, each to be taken once; what nobody takes is an error.
#[derive(Debug)]
pub(crate) struct Members<'a> {
    /// What the object is, in messages.
    pub(crate) noun: &'static str,
    at: usize,
    list: Vec<Member<'a>>,
}

impl<'a> Members<'a> {
    pub(crate) fn wrong(&self, message: impl Into<String>) -> Wrong {
        Wrong::new(self.at, message)
    }

    /// The first of these names that is there.
    pub(crate) fn first_of(&self, names: &[&'static str]) -> Option<&'static str> {
        let known = |name: &str| names.iter().find(|&&known| known == name).copied();
        self.list.iter().find_map(|member| known(member.name))
    }

    pub(crate) fn take(&mut self, name: &str) -> Option<Value<'a>> {
        let member = self.list.iter_mut().find(|member| member.name == name)?;
        member.taken = true;
        Some(member.value)
    }

    pub(crate) fn need(&mut self, name: &str) -> Read<Value<'a>> {
        match self.take(name) {
            Some(value) => Ok(value),
            None => Err(self.wrong(format!("{} has no {name:?}", self.noun))),
        }
    }

    /// All names and values, whatever the names are.
    pub(crate) fn into_pairs(self) -> impl Iterator<Item = Read<(Cow<'a, str>, Value<'a>)>> {
        self.list.into_iter().map(|member| {
            let name = Value {
                line: member.value.line,
                at: member.name_at,
                end: member.name_at + member.name.len() + 2,
            };
            Ok((name.string()?, member.value))
        })
    }

    /// Everything must have been taken.
    pub(crate) fn finish(self) -> Read<()> {
        match self.list.iter().find(|member| !member.taken) {
            None => Ok(()),
            Some(member) => Err(Wrong::new(
                member.name_at,
                format!(
                    "unknown key {} in {}",
                    quoted(member.name.as_bytes()),
                    self.noun
                ),
            )),
        }
    }
}

pub(crate) const HALF_PAIR: &str =
    "half of a surrogate pair is no character: bytes that are not UTF-8 belong into \"raw_b64\"";

/// Where in a string's inner bytes an escape of half a surrogate pair stands.
pub(crate) fn lone_surrogate(inner: &[u8]) -> Option<usize> {
    let unit = |at: usize| {
        let text = inner.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u32::from_str_radix(std::str::from_utf8(text).ok()?, 16).ok()
    };
    let mut at = 0;
    while at < inner.len() {
        if inner[at] != b'\\' {
            at += 1;
            continue;
        }
        match unit(at) {
            Some(0xD800..=0xDBFF) if matches!(unit(at + 6), Some(0xDC00..=0xDFFF)) => at += 12,
            Some(0xD800..=0xDFFF) => return Some(at),
            Some(_) => at += 6,
            None => at += 2,
        }
    }
    None
}

/// Bytes that [`put_string`] copies without a look at what follows them.
const PLAIN: [bool; 256] = {
    let mut plain = [true; 256];
    let mut byte = 0;
    while byte < 0x20 {
        plain[byte] = false;
        byte += 1;
    }
    // Beside JSON's own, the first bytes of characters that may be hidden ones.
    let special = [b'"', b'\\', 0x7F, 0xC2, 0xD8, 0xE1, 0xE2, 0xE3, 0xEF, 0xF3];
    let mut at = 0;
    while at < special.len() {
        plain[special[at] as usize] = false;
        at += 1;
    }
    plain
};

/// Appends a JSON string, quotes included. Characters that could deceive a reader at a terminal are
/// escaped; read back, the text is the same.
pub(crate) fn put_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut start = 0;
    let mut at = 0;
    while at < bytes.len() {
        if PLAIN[usize::from(bytes[at])] {
            at += 1;
            continue;
        }
        let character = text[at..].chars().next().expect("a character begins here");
        let length = character.len_utf8();
        if is_hidden(character) || matches!(character, '"' | '\\') {
            out.extend_from_slice(&bytes[start..at]);
            put_escape(out, character);
            start = at + length;
        }
        at += length;
    }
    out.extend_from_slice(&bytes[start..]);
    out.push(b'"');
}

fn put_escape(out: &mut Vec<u8>, character: char) {
    let short = match character {
        '"' => b'"',
        '\\' => b'\\',
        '\n' => b'n',
        '\r' => b'r',
        '\t' => b't',
        _ => {
            for unit in character.encode_utf16(&mut [0; 2]) {
                out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
            }
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

/// Appends bytes that are not UTF-8 as a JSON string of base64.
pub(crate) fn put_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    out.extend_from_slice(STANDARD.encode(bytes).as_bytes());
    out.push(b'"');
}

/// Appends an array of JSON strings.
pub(crate) fn put_strings<T: AsRef<str>>(out: &mut Vec<u8>, list: &[T]) {
    out.push(b'[');
    for (at, text) in list.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        put_string(out, text.as_ref());
    }
    out.push(b']');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(text: &str) -> String {
        let mut out = vec![];
        put_string(&mut out, text);
        String::from_utf8(out).expect("JSON of text is text")
    }

    #[test]
    fn strings_are_short_and_safe_to_print() {
        assert_eq!(written("a\"b\\c/\n\r\t"), r#""a\"b\\c/\n\r\t""#);
        assert_eq!(
            written("\0\x1b\x7f\u{9b}\u{202e}é日本🎉"),
            r#""\u0000\u001b\u007f\u009b\u202eé日本🎉""#
        );
        assert_eq!(written("\u{E0041}"), r#""\udb40\udc41""#);
    }

    /// No hidden character begins with a byte that is copied blindly.
    #[test]
    fn every_hidden_character_is_seen() {
        for hidden in ('\0'..=char::MAX).filter(|&character| is_hidden(character)) {
            let first = hidden.encode_utf8(&mut [0; 4]).as_bytes()[0];
            assert!(!PLAIN[usize::from(first)], "{hidden:?}");
        }
    }

    #[test]
    fn half_a_pair_is_found_where_it_stands() {
        for (inner, place) in [
            (r"a\ud83d\ude00", None),
            (r"a\ud83d\ude00\udc00", Some(13)),
            (r"\\ud800", None),
            (r"\ud800\ud800\udc00", Some(0)),
            (r"x\n\ud800", Some(3)),
        ] {
            assert_eq!(lone_surrogate(inner.as_bytes()), place, "{inner}");
        }
    }

    proptest! {
        #[test]
        fn a_written_string_reads_the_same(text in any::<String>()) {
            let line = written(&text);
            prop_assert!(!line.contains(is_hidden));
            let value = Value { line: &line, at: 0, end: line.len() };
            prop_assert_eq!(value.string().expect("a string"), text.as_str());
            prop_assert_eq!(serde_json::from_str::<String>(&line).expect("JSON"), text);
        }
    }
}
