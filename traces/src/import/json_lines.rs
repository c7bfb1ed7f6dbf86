//! Lines that are JSON objects: their members by name, with where their values stand.

use std::borrow::Cow;
use std::ops::Range;

use super::Reading;
use super::entry::Text;
use super::time::stamp;
use crate::file::json::Wrong;
use crate::lines::Line;
use crate::scan::{Scanner, unescape, white};

/// The members of those names, where the line is a whole object.
pub(crate) fn members_of<'a, const N: usize>(
    line: &'a [u8],
    names: &[&[u8]; N],
) -> Option<Members<'a, N>> {
    let first = white(line, 0);
    let is_object = line.get(first) == Some(&b'{');
    let members = || Members::of(line, first, names, &mut Scanner::new()).ok();
    is_object.then(members).flatten()
}

/// The members of an object that have a meaning for the importer, in the order in which it names them. What stands there twice
/// is taken from the first.
pub(crate) struct Members<'a, const N: usize> {
    line: &'a [u8],
    spans: [Option<Range<usize>>; N],
}

impl<'a, const N: usize> Members<'a, N> {
    /// Looks for the members of those names.
    ///
    /// # Errors
    /// The line is no JSON object.
    pub(crate) fn read(
        line: &Line<'a>,
        names: &[&[u8]; N],
        scanner: &mut Scanner,
    ) -> Reading<Members<'a, N>> {
        let bytes = line.bytes;
        let start = if line.number == 1 && bytes.starts_with(b"\xEF\xBB\xBF") {
            3
        } else {
            0
        };
        let first = white(bytes, start);
        if bytes.get(first) != Some(&b'{') {
            return Err(Wrong::new(first, "a JSON object was expected"));
        }
        let end = scanner.value(bytes, first)?;
        let behind = white(bytes, end);
        if behind < bytes.len() {
            return Err(Wrong::new(
                behind,
                "one JSON object a line was expected, and there is more",
            ));
        }
        Members::of(bytes, first, names, scanner)
    }

    /// … in the object that begins there.
    pub(crate) fn of(
        bytes: &'a [u8],
        first: usize,
        names: &[&[u8]; N],
        scanner: &mut Scanner,
    ) -> Reading<Members<'a, N>> {
        let mut spans = [const { None }; N];
        scanner.object(bytes, first, |scanner, name, at| {
            let end = scanner.value(bytes, at)?;
            if let Some(place) = names.iter().position(|wanted| *wanted == name)
                && spans[place].is_none()
                && bytes[at] != b'n'
            {
                spans[place] = Some(at..end);
            }
            Ok(end)
        })?;
        Ok(Members { line: bytes, spans })
    }

    /// Where the value of that one stands.
    pub(crate) fn span(&self, place: usize) -> Option<Range<usize>> {
        self.spans[place].clone()
    }

    /// Its text as it stands there.
    pub(crate) fn raw(&self, place: usize) -> Option<&'a [u8]> {
        self.spans[place].clone().map(|span| &self.line[span])
    }

    /// The string that it is.
    pub(crate) fn text(&self, place: usize) -> Option<Cow<'a, str>> {
        let inner = self.raw(place)?.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        if !inner.contains(&b'\\') {
            return Some(String::from_utf8_lossy(inner));
        }
        let mut plain = vec![];
        unescape(inner, &mut plain);
        Some(Cow::Owned(String::from_utf8_lossy(&plain).into_owned()))
    }

    /// Whether it is that word.
    pub(crate) fn is(&self, place: usize, word: &str) -> bool {
        let inner = self.raw(place).and_then(|raw| raw.strip_prefix(b"\""));
        inner.and_then(|inner| inner.strip_suffix(b"\"")) == Some(word.as_bytes())
    }

    /// The whole number that it is.
    pub(crate) fn integer(&self, place: usize) -> Option<i64> {
        std::str::from_utf8(self.raw(place)?).ok()?.parse().ok()
    }

    /// The point in time that it is, in milliseconds.
    pub(crate) fn time(&self, place: usize) -> Option<u64> {
        let inner = self.raw(place)?.strip_prefix(b"\"")?;
        Some(stamp(inner)?.ms)
    }

    /// The frame that it is: as it stands there, or the inside of a string for what was no JSON on the wire.
    pub(crate) fn payload(&self, place: usize, kept: &mut Vec<u8>) -> Option<Text> {
        let span = self.span(place)?;
        if self.line[span.start] != b'"' {
            return Some(Text::Here(span));
        }
        kept.clear();
        let inside = span.start + 1..span.end - 1;
        unescape(&self.line[inside.clone()], kept);
        let text = 0..kept.len();
        Some(Text::Json { text, inside })
    }

    pub(crate) fn has(&self, place: usize) -> bool {
        self.spans[place].is_some()
    }

    /// A message about that one.
    pub(crate) fn wrong(&self, place: usize, message: &str) -> Wrong {
        let at = self.spans[place].as_ref().map_or(0, |span| span.start);
        Wrong::new(at, message)
    }
}
