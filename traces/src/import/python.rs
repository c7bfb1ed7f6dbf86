//! Values as Python shows them (`repr`), written anew as JSON: without recursion, and no deeper than is sensible.

use crate::file::json::{Wrong, put_string};

use super::Reading;

/// Values in values in values: more levels than this are an error.
const DEPTH_MAX: usize = 256;

/// What a value stands in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Level {
    /// `{'a': 1}`
    Dict,
    /// `[1, 2]`
    List,
    /// `(1, 2)`, the end of which is another.
    Tuple,
    /// `Name(a=1)`: members that are None are not there.
    Object,
    /// `Name('text')`, which stands for what is in it.
    Wrapped,
    /// `<Name.A: 'text'>`, which stands for what is in it.
    Enum,
    /// `root=Name(…)`, or `method='ping' id=1`: members up to the end of the text.
    Top,
}

/// Writes the fields of a model, `method='ping', params=None, id=1` with or without a name and brackets around them, or
/// with `root=` before them, as one JSON object.
///
/// # Errors
/// The first place where it cannot be read.
pub(super) fn fields_to_json(text: &[u8], out: &mut Vec<u8>) -> Reading<()> {
    let begin = text.len() - text.strip_prefix(b"root=").unwrap_or(text).len();
    let mut parser = Parser {
        text,
        at: begin,
        out,
        levels: vec![],
    };
    if parser.is_call() {
        parser.value()?;
    } else {
        parser.out.push(b'{');
        parser.levels.push(Open::new(Level::Top));
    }
    parser.run()
}

/// What is open.
#[derive(Clone, Copy, Debug)]
struct Open {
    level: Level,
    /// Something in it has been read.
    is_begun: bool,
    /// Something in it has been written.
    is_written: bool,
}

impl Open {
    fn new(level: Level) -> Open {
        Open {
            level,
            is_begun: false,
            is_written: false,
        }
    }
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    out: &'a mut Vec<u8>,
    levels: Vec<Open>,
}

impl Parser<'_> {
    fn wrong<T>(&self, message: &str) -> Reading<T> {
        Err(Wrong::new(self.at, message))
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn blank(&mut self) {
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
    }

    fn takes(&mut self, words: &[u8]) -> bool {
        let is_there = self.text[self.at..].starts_with(words);
        self.at += if is_there { words.len() } else { 0 };
        is_there
    }

    /// The name that begins here: letters, digits, points and underlines.
    fn name(&self) -> &[u8] {
        let rest = &self.text[self.at..];
        let is_of = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(**byte, b'_' | b'.');
        let length = match rest.first() {
            Some(byte) if byte.is_ascii_alphabetic() || *byte == b'_' => {
                rest.iter().take_while(is_of).count()
            }
            _ => 0,
        };
        &rest[..length]
    }

    fn is_call(&self) -> bool {
        let length = self.name().len();
        length > 0 && self.text.get(self.at + length) == Some(&b'(')
    }

    /// Until everything that is open has ended.
    fn run(&mut self) -> Reading<()> {
        while let Some(&open) = self.levels.last() {
            let level = open.level;
            self.blank();
            if self.ends(level) {
                continue;
            }
            if level == Level::Wrapped || level == Level::Enum {
                if open.is_begun {
                    return self.wrong("one value was expected in it");
                }
                self.set_begun(true);
                self.value()?;
                continue;
            }
            if open.is_begun && !self.takes(b",") && level != Level::Top {
                return self.wrong("a comma was expected");
            }
            self.blank();
            // A comma before the end means nothing, and is how a tuple of one is told.
            if self.ends(level) {
                continue;
            }
            self.member(open)?;
        }
        Ok(())
    }

    fn set_begun(&mut self, is_written: bool) {
        if let Some(last) = self.levels.last_mut() {
            last.is_begun = true;
            last.is_written |= is_written;
        }
    }

    /// Takes the end of what is open, where it is here.
    fn ends(&mut self, level: Level) -> bool {
        let end: &[u8] = match level {
            Level::Dict => b"}",
            Level::List => b"]",
            Level::Tuple | Level::Object | Level::Wrapped => b")",
            Level::Enum => b">",
            Level::Top => b"",
        };
        let is_end = match level {
            Level::Top => self.at == self.text.len(),
            _ => self.takes(end),
        };
        if is_end {
            match level {
                Level::Dict | Level::Object | Level::Top => self.out.push(b'}'),
                Level::List | Level::Tuple => self.out.push(b']'),
                Level::Wrapped | Level::Enum => {}
            }
            self.levels.pop();
        }
        is_end
    }

    fn member(&mut self, open: Open) -> Reading<()> {
        let level = open.level;
        let before = self.out.len();
        if open.is_written {
            self.out.push(b',');
        }
        if level == Level::Dict {
            self.key()?;
        } else if level == Level::Object || level == Level::Top {
            let name = self.name();
            if name.is_empty() || self.text.get(self.at + name.len()) != Some(&b'=') {
                return self.wrong("a name and an equals sign were expected");
            }
            let name = String::from_utf8_lossy(name).into_owned();
            self.at += name.len() + 1;
            if self.name() == b"None" {
                self.at += 4;
                self.out.truncate(before);
                self.set_begun(false);
                return Ok(());
            }
            put_string(self.out, &name);
            self.out.push(b':');
        }
        self.set_begun(true);
        self.value()
    }

    /// The key of a dict and its colon.
    fn key(&mut self) -> Reading<()> {
        match self.peek() {
            Some(b'\'' | b'"') => self.string()?,
            _ => {
                // A number, or one of the three words: JSON has names alone.
                let rest = &self.text[self.at..];
                let is_of = |byte: &&u8| byte.is_ascii_alphanumeric() || b"-._".contains(*byte);
                let length = rest.iter().take_while(is_of).count();
                if length == 0 {
                    return self.wrong("a key was expected");
                }
                put_string(self.out, &String::from_utf8_lossy(&rest[..length]));
                self.at += length;
            }
        }
        self.blank();
        if !self.takes(b":") {
            return self.wrong("a colon was expected");
        }
        self.out.push(b':');
        self.blank();
        Ok(())
    }

    fn open(&mut self, level: Level) -> Reading<()> {
        if self.levels.len() >= DEPTH_MAX {
            return self.wrong("values are nested too deeply");
        }
        match level {
            Level::Dict | Level::Object => self.out.push(b'{'),
            Level::List | Level::Tuple => self.out.push(b'['),
            Level::Wrapped | Level::Enum | Level::Top => {}
        }
        self.levels.push(Open::new(level));
        Ok(())
    }

    /// A value, or the beginning of one that holds others.
    fn value(&mut self) -> Reading<()> {
        self.blank();
        match self.peek() {
            Some(b'{') => {
                self.at += 1;
                self.open(Level::Dict)
            }
            Some(b'[') => {
                self.at += 1;
                self.open(Level::List)
            }
            Some(b'(') => {
                self.at += 1;
                self.open(Level::Tuple)
            }
            Some(b'<') => self.shown(),
            Some(b'\'' | b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => self.word(),
            None => self.wrong("the value is cut here"),
        }
    }

    /// `<Name.A: 'text'>`
    fn shown(&mut self) -> Reading<()> {
        self.at += 1;
        let name = self.name().len();
        if name == 0 || self.text.get(self.at + name) != Some(&b':') {
            self.at -= 1;
            return self.wrong("what stands here is no value of JSON");
        }
        self.at += name + 1;
        self.open(Level::Enum)
    }

    fn word(&mut self) -> Reading<()> {
        let name = self.name();
        let json: &[u8] = match name {
            b"None" => b"null",
            b"True" => b"true",
            b"False" => b"false",
            b"" => return self.wrong("what stands here is no value of Python"),
            _ if self.is_call() => {
                self.at += name.len() + 1;
                // With names for what is in it, it is an object.
                let first = self.name().len();
                let is_named = first > 0 && self.text.get(self.at + first) == Some(&b'=');
                let is_empty = self.peek() == Some(b')');
                let level = if is_named || is_empty {
                    Level::Object
                } else {
                    Level::Wrapped
                };
                return self.open(level);
            }
            _ => return self.wrong("what stands here is no value of JSON"),
        };
        self.at += name.len();
        self.out.extend_from_slice(json);
        Ok(())
    }

    fn number(&mut self) -> Reading<()> {
        let rest = &self.text[self.at..];
        let is_of = |byte: &&u8| {
            byte.is_ascii_digit() || matches!(**byte, b'-' | b'+' | b'.' | b'e' | b'E')
        };
        let length = rest.iter().take_while(is_of).count();
        let is_number = crate::scan::number(&rest[..length], 0) == Ok(length);
        if !is_number {
            return self.wrong("what stands here is no number of JSON");
        }
        self.out.extend_from_slice(&rest[..length]);
        self.at += length;
        Ok(())
    }

    /// A string, with the escapes of the one made those of the other.
    fn string(&mut self) -> Reading<()> {
        let Some(quote) = self.peek() else {
            return self.wrong("a string was expected");
        };
        self.at += 1;
        self.out.push(b'"');
        loop {
            let rest = &self.text[self.at..];
            let plain = |byte: &&u8| !matches!(**byte, b'\\' | b'"' | b'\'') && **byte >= 0x20;
            let run = rest.iter().take_while(plain).count();
            self.out.extend_from_slice(&rest[..run]);
            self.at += run;
            match self.peek() {
                None => return self.wrong("the string is cut here"),
                Some(byte) if byte == quote => {
                    self.at += 1;
                    self.out.push(b'"');
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                Some(byte) => {
                    self.at += 1;
                    self.byte(byte);
                }
            }
        }
    }

    /// A byte that has to be escaped in JSON, or a quote that does not.
    fn byte(&mut self, byte: u8) {
        match byte {
            b'"' | b'\\' => self.out.extend_from_slice(&[b'\\', byte]),
            b'\n' => self.out.extend_from_slice(b"\\n"),
            b'\t' => self.out.extend_from_slice(b"\\t"),
            b'\r' => self.out.extend_from_slice(b"\\r"),
            0..0x20 => self
                .out
                .extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => self.out.push(byte),
        }
    }

    fn escape(&mut self) -> Reading<()> {
        let letter = self.text.get(self.at + 1).copied();
        let digits = match letter {
            Some(b'x') => 2,
            Some(b'u') => 4,
            Some(b'U') => 8,
            Some(byte @ (b'\\' | b'\'' | b'"')) => {
                self.at += 2;
                self.byte(byte);
                return Ok(());
            }
            Some(b'n' | b't' | b'r') => {
                self.out.extend_from_slice(&self.text[self.at..self.at + 2]);
                self.at += 2;
                return Ok(());
            }
            _ => return self.wrong("an escape that Python does not write"),
        };
        let text = self.text.get(self.at + 2..self.at + 2 + digits);
        let text = text.and_then(|text| std::str::from_utf8(text).ok());
        let code = text.and_then(|text| u32::from_str_radix(text, 16).ok());
        let Some(code) = code else {
            return self.wrong("an escape without its digits");
        };
        if code > 0xFFFF {
            let Some(letter) = char::from_u32(code) else {
                return self.wrong("an escape that stands for no character");
            };
            let mut bytes = [0; 4];
            self.out
                .extend_from_slice(letter.encode_utf8(&mut bytes).as_bytes());
        } else {
            // Half of a pair of surrogates stays what it is.
            self.out
                .extend_from_slice(format!("\\u{code:04x}").as_bytes());
        }
        self.at += 2 + digits;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, json: &str) {
        let mut out = vec![];
        let read = fields_to_json(text.as_bytes(), &mut out);
        read.unwrap_or_else(|wrong| panic!("{text}: {}: {}", wrong.at, wrong.message));
        assert_eq!(String::from_utf8_lossy(&out), json);
    }

    #[test]
    fn models_become_objects() {
        check(
            "root=JSONRPCRequest(method='ping', params=None, jsonrpc='2.0', id=3)",
            r#"{"method":"ping","jsonrpc":"2.0","id":3}"#,
        );
        check(
            "method='ping' params=None jsonrpc='2.0' id=3",
            r#"{"method":"ping","jsonrpc":"2.0","id":3}"#,
        );
        check(
            "JSONRPCError(jsonrpc='2.0', id='a', error=ErrorData(code=-32601, message=\"it's\", data=None))",
            r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"it's"}}"#,
        );
        check("A()", "{}");
        check("A(params=None, id=1)", r#"{"id":1}"#);
    }

    #[test]
    fn values_become_those_of_json() {
        check(
            "A(a={'x': None, 'y': [True, False, 2.0, -1, 1e+16], 'z': {}, 1: ()}, b=(1,), c=AnyUrl('file:///'), d=<Level.INFO: 'info'>)",
            r#"{"a":{"x":null,"y":[true,false,2.0,-1,1e+16],"z":{},"1":[]},"b":[1],"c":"file:///","d":"info"}"#,
        );
        check(
            r#"A(a='it\'s "so" \\ \n \x1b \u2013 \U0001f389 – ')"#,
            "{\"a\":\"it's \\\"so\\\" \\\\ \\n \\u001b \\u2013 🎉 – \"}",
        );
    }

    #[test]
    fn what_is_no_value_is_wrong_at_its_place() {
        for (text, at) in [
            ("A(a=<object at 0x7f>)", 4),
            ("A(a=nan)", 4),
            ("A(a='x", 6),
            ("A(a=1", 5),
            ("A(a={'x' 1})", 9),
            ("", 0),
        ] {
            let wrong = fields_to_json(text.as_bytes(), &mut vec![]);
            match wrong {
                Err(wrong) => assert_eq!(wrong.at, at, "{text}: {}", wrong.message),
                Ok(()) => assert_eq!(text, ""),
            }
        }
        let deep = format!("A(a={}", "[".repeat(100_000));
        assert!(fields_to_json(deep.as_bytes(), &mut vec![]).is_err());
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "[A-Za-z'\"\\\\(){}\\[\\]<>=:, 0-9.xuU-]{0,60}") {
            let _ = fields_to_json(text.as_bytes(), &mut vec![]);
        }
    }
}
