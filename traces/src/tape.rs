//! Where the values of one frame lie, written down by the scanner in its one pass; and how to read them.

use std::borrow::Cow;
use std::ops::Range;

use crate::classify::key_with;
use crate::key::{Key, KeyType, word_of};
use crate::message::ordered;
use crate::scan::{PLAIN, unescape};

/// More values than this are not written down: the frame is judged by its envelope alone.
pub const NODES_MAX: usize = 1 << 18;

/// What a JSON value is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum ValueKind {
    /// `null`
    Null,
    /// `true`
    True,
    /// `false`
    False,
    /// A number.
    Number,
    /// A string.
    Text,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl ValueKind {
    /// The kind with its article, for a message: `a string`, `null`.
    pub const fn as_str(self) -> &'static str {
        match self {
            ValueKind::Null => "null",
            ValueKind::True => "true",
            ValueKind::False => "false",
            ValueKind::Number => "a number",
            ValueKind::Text => "a string",
            ValueKind::Array => "an array",
            ValueKind::Object => "an object",
        }
    }
}

/// One value, or one member's name: an object is followed by names and values in turn.
#[derive(Clone, Copy, Debug)]
struct Node {
    start: u32,
    end: u32,
    /// The node after this value and all in it.
    next: u32,
    kind: ValueKind,
    /// A string with escapes: its text is not what stands there.
    is_escaped: bool,
    /// An object in which a name may stand twice.
    may_repeat: bool,
    /// A string that is a member's name.
    is_name: bool,
    /// Of a string: the first bytes between its quotes ([`word_of`]). Of an object: a bit for each name in it
    /// ([`bit_of`]), so that most members that are not there are not looked for.
    word: u64,
}

impl Node {
    /// Whether what stands between the quotes of a string is that text, which begins with that word.
    #[inline]
    fn spells_plainly(&self, bytes: &[u8], text: &[u8], word: u64) -> bool {
        // Most names are told apart by how they begin.
        self.word == word
            && (self.end - self.start) as usize == text.len() + 2
            && (text.len() <= 8 || bytes[self.start as usize + 9..][..text.len() - 8] == text[8..])
    }
}

/// One bit of 64 for a name with that beginning.
#[inline]
fn bit_of(word: u64) -> u64 {
    // An odd number without a pattern: the highest bits of the product depend on every byte.
    1 << (word.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58)
}

/// The beginning of the string whose quotes are at `start` and before `end`.
#[inline]
fn word_at(bytes: &[u8], start: usize, end: usize) -> u64 {
    let length = end - start - 2;
    let Some(word) = bytes[start + 1..].first_chunk() else {
        return word_of(&bytes[start + 1..end - 1]);
    };
    let word = u64::from_le_bytes(*word);
    match length {
        0..8 => word & !(u64::MAX << (8 * length)),
        _ => word,
    }
}

/// An array or object that is not closed.
#[derive(Clone, Copy, Debug)]
struct Opened {
    at: u32,
    /// What is known of the names in the one around it so far.
    names: Names,
}

/// The names of an object so far.
#[derive(Clone, Copy, Default, Debug)]
struct Names {
    /// A bit for each ([`bit_of`]).
    bits: u64,
    /// Two of them have the same bit.
    may_repeat: bool,
}

/// The values of one text, in the order in which they stand there.
#[derive(Clone, Default, Debug)]
pub(crate) struct Tape {
    nodes: Vec<Node>,
    open: Vec<Opened>,
    /// Those of what was opened last.
    names: Names,
    is_on: bool,
    /// How many values may be written down: none where it is off.
    nodes_max: usize,
}

impl Tape {
    pub(crate) fn recording() -> Tape {
        Tape {
            is_on: true,
            nodes_max: NODES_MAX,
            ..Tape::default()
        }
    }

    #[inline]
    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
        self.open.clear();
        self.names = Names::default();
    }

    #[inline]
    pub(crate) fn is_cut(&self) -> bool {
        self.is_on && !self.is_writing()
    }

    /// On, and not cut.
    #[inline]
    fn is_writing(&self) -> bool {
        self.nodes.len() < self.nodes_max
    }

    #[inline]
    fn push_text(&mut self, start: usize, end: usize, is_escaped: bool, word: u64, is_name: bool) {
        self.nodes.push(Node {
            start: start as u32,
            end: end as u32,
            next: self.next(),
            kind: ValueKind::Text,
            is_escaped,
            may_repeat: false,
            is_name,
            word,
        });
    }

    /// The node after the one that comes next.
    #[inline]
    fn next(&self) -> u32 {
        self.nodes.len() as u32 + 1
    }

    /// A string of these bytes. A text of 4 GiB is longer than any line that is kept.
    #[inline]
    pub(crate) fn text(&mut self, bytes: &[u8], start: usize, end: usize, is_escaped: bool) {
        if self.is_writing() {
            self.push_text(start, end, is_escaped, word_at(bytes, start, end), false);
        }
    }

    /// The name of a member of the object that was opened last.
    #[inline]
    pub(crate) fn name(&mut self, bytes: &[u8], start: usize, end: usize, is_escaped: bool) {
        if self.is_writing() {
            let word = word_at(bytes, start, end);
            // An escaped name may be any.
            let bits = if is_escaped { u64::MAX } else { bit_of(word) };
            self.names.may_repeat |= self.names.bits & bits != 0;
            self.names.bits |= bits;
            self.push_text(start, end, is_escaped, word, true);
        }
    }

    #[inline]
    pub(crate) fn leaf(&mut self, kind: ValueKind, start: usize, end: usize) {
        if self.is_writing() {
            self.nodes.push(Node {
                start: start as u32,
                end: end as u32,
                next: self.next(),
                kind,
                is_escaped: false,
                may_repeat: false,
                is_name: false,
                word: 0,
            });
        }
    }

    #[inline]
    pub(crate) fn open(&mut self, kind: ValueKind, start: usize) {
        if self.is_writing() {
            self.open.push(Opened {
                at: self.nodes.len() as u32,
                names: std::mem::take(&mut self.names),
            });
            self.leaf(kind, start, start);
        }
    }

    #[inline]
    pub(crate) fn close(&mut self, end: usize) {
        if !self.is_writing() {
            return;
        }
        let next = self.nodes.len() as u32;
        if let Some(Opened { at, names }) = self.open.pop() {
            let node = &mut self.nodes[at as usize];
            node.end = end as u32;
            node.next = next;
            let own = std::mem::replace(&mut self.names, names);
            node.word = own.bits;
            node.may_repeat = own.may_repeat;
        }
    }

    #[inline]
    pub(crate) fn root<'a>(&'a self, text: &'a [u8]) -> Option<Value<'a>> {
        let whole = !self.nodes.is_empty() && self.is_writing() && self.open.is_empty();
        whole.then_some(Value {
            text,
            nodes: &self.nodes,
            at: 0,
        })
    }
}

/// A name that is looked for often: how it begins is known when the program is built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Name {
    text: &'static str,
    word: u64,
}

impl Name {
    /// That name.
    pub const fn new(text: &'static str) -> Name {
        Name {
            text,
            word: word_of(text.as_bytes()),
        }
    }

    /// Its text.
    pub const fn as_str(self) -> &'static str {
        self.text
    }
}

/// A value of a frame: a place in its text. Members are looked for one after the other; the last one
/// of a name counts, as in most readers.
#[derive(Clone, Copy)]
pub struct Value<'a> {
    text: &'a [u8],
    nodes: &'a [Node],
    at: u32,
}

impl std::fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&String::from_utf8_lossy(self.raw()))
    }
}

impl<'a> Value<'a> {
    #[inline]
    fn node(self) -> Node {
        self.nodes[self.at as usize]
    }

    #[inline]
    fn with(self, at: u32) -> Value<'a> {
        Value { at, ..self }
    }

    /// What it is.
    #[inline]
    pub fn kind(self) -> ValueKind {
        self.node().kind
    }

    /// Where it lies in the frame, quotes and brackets included.
    #[inline]
    pub fn span(self) -> Range<usize> {
        let node = self.node();
        node.start as usize..node.end as usize
    }

    /// Its text as it stands there.
    #[inline]
    pub fn raw(self) -> &'a [u8] {
        &self.text[self.span()]
    }

    /// The text of the whole frame.
    #[inline]
    pub fn frame(self) -> &'a [u8] {
        self.text
    }

    /// Whether it is an object.
    #[inline]
    pub fn is_object(self) -> bool {
        self.kind() == ValueKind::Object
    }

    /// Whether it is an array.
    #[inline]
    pub fn is_array(self) -> bool {
        self.kind() == ValueKind::Array
    }

    /// Whether it is a string.
    #[inline]
    pub fn is_text(self) -> bool {
        self.kind() == ValueKind::Text
    }

    /// Whether it is a number.
    #[inline]
    pub fn is_number(self) -> bool {
        self.kind() == ValueKind::Number
    }

    /// Whether it is `null`.
    #[inline]
    pub fn is_null(self) -> bool {
        self.kind() == ValueKind::Null
    }

    /// `true` or `false`; `None` for anything else.
    #[inline]
    pub fn as_bool(self) -> Option<bool> {
        match self.kind() {
            ValueKind::True => Some(true),
            ValueKind::False => Some(false),
            _ => None,
        }
    }

    /// A string's text with its escapes resolved; `None` for anything else. Half surrogates are their
    /// three generalised bytes.
    pub fn as_bytes(self) -> Option<Cow<'a, [u8]>> {
        if !self.is_text() {
            return None;
        }
        let inner = self.inner();
        if !self.node().is_escaped {
            return Some(Cow::Borrowed(inner));
        }
        let mut plain = Vec::with_capacity(inner.len());
        unescape(inner, &mut plain);
        Some(Cow::Owned(plain))
    }

    /// As [`Value::as_bytes`], as text; what is not UTF-8 is replaced.
    pub fn as_text(self) -> Option<Cow<'a, str>> {
        Some(match self.as_bytes()? {
            Cow::Borrowed(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => String::from_utf8_lossy(bytes),
            },
            Cow::Owned(bytes) => match String::from_utf8(bytes) {
                Ok(text) => Cow::Owned(text),
                Err(wrong) => Cow::Owned(String::from_utf8_lossy(wrong.as_bytes()).into_owned()),
            },
        })
    }

    /// Whether it is that string.
    #[inline]
    pub fn is(self, text: &str) -> bool {
        let node = self.node();
        if node.kind != ValueKind::Text {
            return false;
        }
        if node.is_escaped {
            return self.spells(text.as_bytes());
        }
        node.spells_plainly(self.text, text.as_bytes(), word_of(text.as_bytes()))
    }

    /// Whether it is that name.
    #[inline]
    pub fn is_name(self, name: &Name) -> bool {
        let node = self.node();
        let text = name.text.as_bytes();
        match node.is_escaped {
            false => node.spells_plainly(self.text, text, name.word),
            true => self.spells(text),
        }
    }

    /// What stands between the quotes of a string.
    #[inline]
    fn inner(self) -> &'a [u8] {
        let raw = self.raw();
        &raw[1..raw.len() - 1]
    }

    /// Whether it is a string with escapes in it.
    #[inline]
    pub fn is_escaped(self) -> bool {
        self.node().is_escaped
    }

    /// Whether it is a string of that text; nothing is copied where it has no `\u`.
    pub fn spells(self, plain: &[u8]) -> bool {
        if !self.is_text() {
            return false;
        }
        let inner = self.inner();
        if !self.node().is_escaped {
            return inner == plain;
        }
        // No escape has more than six bytes for one.
        if inner.len() <= plain.len() || inner.len() / 6 > plain.len() {
            return false;
        }
        let mut inner = inner.iter();
        for &wanted in plain {
            let said = match inner.next() {
                Some(b'\\') => match inner.next().map(|&own| PLAIN[usize::from(own)]) {
                    Some(0) | None => return self.as_bytes().is_some_and(|own| *own == *plain),
                    Some(said) => said,
                },
                Some(&said) => said,
                None => return false,
            };
            if said != wanted {
                return false;
            }
        }
        inner.next().is_none()
    }

    /// Whether it is one of those strings.
    pub fn is_one_of(self, texts: &[&str]) -> bool {
        texts.iter().any(|text| self.is(text))
    }

    /// The value as a key: numbers and strings by their value, anything else by its text.
    #[inline]
    pub fn key(self) -> Key {
        let span = self.span();
        key_with(self.text, span.start, span.end, self.is_escaped())
    }

    /// Whether it is a number without a fraction, however spelled and however large.
    pub fn is_integer(self) -> bool {
        self.is_number() && self.key().key_type() == KeyType::Integer
    }

    /// A whole number of 64 bits; `None` for anything else.
    pub fn as_integer(self) -> Option<i64> {
        if !self.is_number() {
            return None;
        }
        self.key().as_integer()
    }

    /// A number as an integer that orders the same way ([`ordered`]); `None` for anything else.
    pub fn as_ordered(self) -> Option<i64> {
        if !self.is_number() {
            return None;
        }
        let text = std::str::from_utf8(self.raw()).ok()?;
        Some(ordered(text.parse().ok()?))
    }

    /// The members of an object as names and values, in their order; nothing for anything else.
    #[inline]
    pub fn members(self) -> Members<'a> {
        Members(self.inside(ValueKind::Object))
    }

    /// The items of an array; nothing for anything else.
    #[inline]
    pub fn items(self) -> Items<'a> {
        Items(self.inside(ValueKind::Array))
    }

    #[inline]
    fn inside(self, kind: ValueKind) -> Inside<'a> {
        let node = self.node();
        let first = if node.kind == kind {
            self.at + 1
        } else {
            node.next
        };
        Inside {
            next: self.with(first),
            end: node.next,
        }
    }

    /// The member of that name: the last one, where there are several.
    #[inline]
    pub fn get(self, name: &str) -> Option<Value<'a>> {
        let (node, word) = (self.node(), word_of(name.as_bytes()));
        if node.kind != ValueKind::Object || node.word & bit_of(word) == 0 {
            return None;
        }
        self.find(name.as_bytes(), word)
    }

    /// The member of that name, which begins with that word.
    #[inline]
    fn find(self, name: &[u8], word: u64) -> Option<Value<'a>> {
        let at = place_of(self.text, self.nodes, self.at, name, word)?;
        Some(self.with(at))
    }

    /// The member of a member …, by their names.
    #[inline]
    pub fn path(self, names: &[&str]) -> Option<Value<'a>> {
        names.iter().try_fold(self, |value, name| value.get(name))
    }

    /// Everything in it, itself included, as it stands in the text: what is inside an array or object comes right after it,
    /// names before what they name.
    #[inline]
    pub fn all(self) -> All<'a> {
        All(Inside {
            next: self,
            end: self.node().next,
        })
    }

    /// Whether it is a member's name.
    #[inline]
    pub fn is_a_name(self) -> bool {
        self.node().is_name
    }

    /// Whether it is an object in which a name may stand twice; where that is false, none does.
    #[inline]
    pub fn may_repeat(self) -> bool {
        self.node().may_repeat
    }

    /// How many values lie in it, itself included, names too.
    #[inline]
    pub fn size(self) -> usize {
        (self.node().next - self.at) as usize
    }
}

/// Where the member of that name, which begins with that word, lies in the object at `at`.
#[inline(never)]
fn place_of(text: &[u8], nodes: &[Node], at: u32, name: &[u8], word: u64) -> Option<u32> {
    let first = at as usize + 1;
    let node = &nodes[first - 1];
    let inside = nodes.get(first..node.next as usize)?;
    let mut found = None;
    let mut from = 0;
    while let Some([known, value]) = inside.get(from..).and_then(<[Node]>::first_chunk) {
        if known.word == word && known.spells_plainly(text, name, word) && !known.is_escaped
            || known.is_escaped && spells_at(text, nodes, first + from, name)
        {
            found = Some((first + from) as u32 + 1);
            if !node.may_repeat {
                break;
            }
        }
        from = value.next as usize - first;
    }
    found
}

#[cold]
#[inline(never)]
fn spells_at(text: &[u8], nodes: &[Node], at: usize, name: &[u8]) -> bool {
    let at = at as u32;
    Value { text, nodes, at }.spells(name)
}

/// What is left of an object or array.
#[derive(Clone, Copy, Debug)]
struct Inside<'a> {
    next: Value<'a>,
    end: u32,
}

/// The members of an object: [`Value::members`].
#[derive(Clone, Debug)]
pub struct Members<'a>(Inside<'a>);

impl<'a> Iterator for Members<'a> {
    type Item = (Value<'a>, Value<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let Inside { next: name, end } = self.0;
        if name.at >= end {
            return None;
        }
        let value = name.with(name.at + 1);
        self.0.next.at = value.node().next;
        Some((name, value))
    }
}

/// The items of an array: [`Value::items`].
#[derive(Clone, Debug)]
pub struct Items<'a>(Inside<'a>);

impl<'a> Iterator for Items<'a> {
    type Item = Value<'a>;

    #[inline]
    fn next(&mut self) -> Option<Value<'a>> {
        let Inside { next: value, end } = self.0;
        if value.at >= end {
            return None;
        }
        self.0.next.at = value.node().next;
        Some(value)
    }
}

/// Everything in a value: [`Value::all`].
#[derive(Clone, Debug)]
pub struct All<'a>(Inside<'a>);

impl<'a> Iterator for All<'a> {
    type Item = Value<'a>;

    #[inline]
    fn next(&mut self) -> Option<Value<'a>> {
        let Inside { next: value, end } = self.0;
        if value.at >= end {
            return None;
        }
        self.0.next.at = value.at + 1;
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::Scanner;
    use proptest::prelude::*;

    fn read(text: &str, look: impl FnOnce(Value<'_>)) {
        let mut scanner = Scanner::recording();
        scanner.value(text.as_bytes(), 0).expect("JSON");
        look(scanner.body(text.as_bytes()).expect("a body"));
    }

    #[test]
    fn members_are_found() {
        let text = r#"{"a":[1,{"b":null},"x\u0041"],"c":{"d":true,"d":-2e0},"e":{}}"#;
        read(text, |body| {
            assert_eq!(body.members().count(), 3);
            let a = body.get("a").expect("a");
            let kinds: Vec<_> = a.items().map(Value::kind).collect();
            assert_eq!(
                kinds,
                [ValueKind::Number, ValueKind::Object, ValueKind::Text]
            );
            assert!(a.items().nth(2).is_some_and(|text| text.is("xA")));
            let d = body.path(&["c", "d"]).expect("d");
            assert_eq!((d.raw(), d.as_integer()), (&b"-2e0"[..], Some(-2)));
            assert!(
                body.get("e")
                    .is_some_and(|e| e.is_object() && e.size() == 1)
            );
            assert!(body.get("b").is_none() && a.get("b").is_none());
        });
    }

    /// The last one of a name counts, also where the names are spelled in different ways, and whatever stands beside them.
    #[test]
    fn the_last_of_a_name_counts() {
        for (text, a) in [
            (r#"{"a":1,"b":2}"#, 1),
            (r#"{"a":1,"b":2,"a":3}"#, 3),
            (r#"{"a":{"a":2},"\u0061":4}"#, 4),
            (r#"{"\u0061":5,"a":6}"#, 6),
            (r#"{"b":{"a":1,"a":2},"a":7}"#, 7),
        ] {
            read(text, |body| {
                let found = body.get("a").and_then(Value::as_integer);
                assert_eq!(found, Some(a), "{text}");
            });
        }
    }

    #[test]
    fn too_many_values_are_not_written_down() {
        let text = format!("[{}0]", "0,".repeat(NODES_MAX));
        let mut scanner = Scanner::recording();
        scanner.value(text.as_bytes(), 0).expect("JSON");
        assert!(scanner.is_tape_cut() && scanner.body(text.as_bytes()).is_none());
        scanner.reset();
        scanner.value(b"[]", 0).expect("JSON");
        assert!(scanner.body(b"[]").is_some());
    }

    /// A string written with escapes where the choices say so.
    fn spelled(text: &str, choices: &[u8]) -> String {
        let mut out = String::from("\"");
        for (at, letter) in text.chars().enumerate() {
            let choice = choices.get(at).copied().unwrap_or(0);
            let short = match letter {
                '"' | '\\' | '/' => Some(letter),
                '\n' => Some('n'),
                '\t' => Some('t'),
                '\u{8}' => Some('b'),
                _ => None,
            };
            let must = matches!(letter, '"' | '\\') || letter < ' ';
            match short {
                Some(short) if must || choice == 1 => out.extend(['\\', short]),
                _ if must || choice == 2 => {
                    for unit in letter.encode_utf16(&mut [0; 2]) {
                        out += &format!("\\u{unit:04x}");
                    }
                }
                _ => out.push(letter),
            }
        }
        out + "\""
    }

    proptest! {
        /// However a string is spelled, it is that string and no other.
        #[test]
        fn a_string_spells_its_text(
            text in r#"[a-c"/\\\n\t\x08\x01é😀]{0,20}"#,
            other in r#"[a-c"/\\\n]{0,20}"#,
            choices in proptest::collection::vec(0u8..3, 20),
        ) {
            let spelled = spelled(&text, &choices);
            read(&spelled, |value| {
                assert_eq!(value.is_escaped(), spelled.contains('\\'));
                assert!(value.spells(text.as_bytes()) && value.is(&text));
                assert_eq!(value.as_text().as_deref(), Some(&*text));
                for other in [&*other, &text[..text.char_indices().last().map_or(0, |(at, _)| at)]] {
                    assert_eq!(value.spells(other.as_bytes()), text == other);
                    assert_eq!(value.is(other), text == other);
                }
            });
        }
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(serde_json::Value::from),
            any::<i64>().prop_map(serde_json::Value::from),
            ".{0,8}".prop_map(serde_json::Value::from),
        ];
        leaf.prop_recursive(4, 64, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(serde_json::Value::from),
                prop::collection::btree_map(".{0,4}", inner, 0..6)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }

    fn back(value: Value<'_>) -> serde_json::Value {
        match value.kind() {
            ValueKind::Null => serde_json::Value::Null,
            ValueKind::True => true.into(),
            ValueKind::False => false.into(),
            ValueKind::Number => value.as_integer().expect("an integer").into(),
            ValueKind::Text => value.as_text().expect("a text").into(),
            ValueKind::Array => value.items().map(back).collect::<Vec<_>>().into(),
            ValueKind::Object => serde_json::Value::Object(
                value
                    .members()
                    .map(|(name, value)| (name.as_text().expect("a name").into(), back(value)))
                    .collect(),
            ),
        }
    }

    /// Everything in the value, one in the other.
    fn one_by_one(value: Value<'_>, out: &mut Vec<(std::ops::Range<usize>, bool)>) {
        out.push((value.span(), false));
        value.items().for_each(|item| one_by_one(item, out));
        for (name, value) in value.members() {
            out.push((name.span(), true));
            one_by_one(value, out);
        }
    }

    proptest! {
        /// All of it in one pass is what a walk finds; and an object that may not repeat a name does not.
        #[test]
        fn all_is_what_a_walk_finds(value in json()) {
            read(&value.to_string(), |body| {
                let mut expected = vec![];
                one_by_one(body, &mut expected);
                let all = body.all().map(|value| (value.span(), value.is_a_name()));
                assert_eq!(all.collect::<Vec<_>>(), expected);
            });
        }

        /// What is written down is what another reader sees.
        #[test]
        fn a_tape_says_what_the_text_says(value in json(), pretty in any::<bool>()) {
            let text = if pretty {
                serde_json::to_string_pretty(&value).expect("text")
            } else {
                value.to_string()
            };
            read(&text, |body| assert_eq!(back(body), value));
        }
    }
}
