//! Logs that are one JSON document: read whole, looked through once for where frames stand in it, and then handed on frame by
//! frame in the order in which they were sent, as far as that is known.

use std::io::Read;
use std::ops::Range;

use super::entry::{Entry, Text, Told};
use super::{Format, Lost, Reading};
use crate::capture::{CaptureLine, EventKind, Opening};
use crate::event::Role;
use crate::file::json::Wrong;
use crate::http::Http;
use crate::lines::{InputError, LineReader, ReadError};
use crate::recording::Recording;
use crate::scan::{Scanner, unescape, white};

/// A larger document is not read.
const DOCUMENT_BYTES_MAX: usize = 1 << 30;

/// Where something stands in the document, in bytes.
pub(super) type Span = Range<usize>;

/// Looks through a document and says what is to be handed on.
pub(super) type Planner = fn(&Document, &mut Plan) -> Reading<()>;

/// Reads the whole of the input.
///
/// # Errors
/// It cannot be read, is too large, or is not JSON.
pub(super) fn open<R: Read + 'static>(
    format: &'static Format,
    lines: LineReader<R>,
    planner: Planner,
) -> Result<Box<dyn Recording>, ReadError> {
    let Some(bytes) = lines.whole(DOCUMENT_BYTES_MAX)? else {
        let message = format!(
            "this is {}, one JSON document, and larger than {} MiB, which is too much to read at once",
            format.what,
            DOCUMENT_BYTES_MAX >> 20
        );
        return Err(Wrong::new(0, message).on(1).into());
    };
    let document = Document::new(bytes);
    let mut plan = Plan::default();
    let planned = document
        .validate()
        .and_then(|()| planner(&document, &mut plan));
    planned.map_err(|wrong| document.on(wrong))?;
    Ok(Box::new(WholeLog {
        format,
        document,
        items: std::mem::take(&mut plan.items).into_iter(),
        plan,
        line: 0,
        scratch: vec![],
    }))
}

/// A place to count lines from.
#[derive(Clone, Copy, Default)]
struct Mark {
    /// So many line feeds stand before it.
    feeds: u64,
    /// Where the line begins that it stands in.
    line_start: usize,
}

/// A mark is set after so many bytes: for every frame as many are looked through for its line.
const MARK_BYTES: usize = 1 << 12;

/// A JSON document, with what it takes to find the line of any of its bytes.
pub(super) struct Document {
    pub(super) bytes: Vec<u8>,
    marks: Vec<Mark>,
}

impl Document {
    fn new(bytes: Vec<u8>) -> Document {
        let mut marks = vec![];
        let mut mark = Mark::default();
        for (nth, part) in bytes.chunks(MARK_BYTES).enumerate() {
            marks.push(mark);
            mark.feeds += memchr::memchr_iter(b'\n', part).count() as u64;
            if let Some(last) = memchr::memrchr(b'\n', part) {
                mark.line_start = nth * MARK_BYTES + last + 1;
            }
        }
        Document { bytes, marks }
    }

    /// The line, from 1, that a byte stands in, and where that line begins.
    fn place(&self, at: usize) -> (u64, usize) {
        let nth = at / MARK_BYTES;
        let mark = self.marks.get(nth).or(self.marks.last());
        let mark = mark.copied().unwrap_or_default();
        let from = (nth * MARK_BYTES).min(self.bytes.len());
        let part = &self.bytes[from..at.clamp(from, self.bytes.len())];
        let feeds = memchr::memchr_iter(b'\n', part).count() as u64;
        let start = memchr::memrchr(b'\n', part).map_or(mark.line_start, |last| from + last + 1);
        (mark.feeds + feeds + 1, start)
    }

    fn on(&self, wrong: Wrong) -> InputError {
        let (line, start) = self.place(wrong.at);
        let at = wrong.at.saturating_sub(start);
        Wrong { at, ..wrong }.on(line)
    }

    /// Where the document's value begins.
    pub(super) fn root(&self) -> usize {
        let mark = self.bytes.starts_with(b"\xEF\xBB\xBF");
        white(&self.bytes, if mark { 3 } else { 0 })
    }

    /// All of it must be one JSON value: whatever is looked for afterwards is there.
    fn validate(&self) -> Reading<()> {
        let end = Scanner::new().value(&self.bytes, self.root())?;
        let rest = white(&self.bytes, end);
        if rest < self.bytes.len() {
            return Err(Wrong::new(rest, "something stands after the JSON document"));
        }
        Ok(())
    }

    /// The items of the array that begins there; none where no array does.
    pub(super) fn items(&self, at: usize) -> Items<'_> {
        let is_array = self.bytes.get(at) == Some(&b'[');
        Items {
            bytes: &self.bytes,
            scanner: Scanner::new(),
            next: is_array.then(|| white(&self.bytes, at + 1)),
        }
    }

    /// What stands between the quotes of the string there; `None` where it is none.
    pub(super) fn inside(&self, span: &Span) -> Option<Span> {
        (self.bytes.get(span.start) == Some(&b'"')).then(|| span.start + 1..span.end - 1)
    }
}

/// The items of an array, as they stand in a document that is known to be JSON.
pub(super) struct Items<'a> {
    bytes: &'a [u8],
    scanner: Scanner,
    next: Option<usize>,
}

impl Iterator for Items<'_> {
    type Item = Span;

    fn next(&mut self) -> Option<Span> {
        let at = self.next.take()?;
        let end = self.scanner.value(self.bytes, at).ok()?;
        let behind = white(self.bytes, end);
        if self.bytes.get(behind) == Some(&b',') {
            self.next = Some(white(self.bytes, behind + 1));
        }
        Some(at..end)
    }
}

/// Where a frame stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Words {
    /// A JSON value of the document.
    Value(Span),
    /// Between the quotes of a string.
    Inside(Span),
    /// In what the plan keeps; in the document that begins there.
    Kept { text: Span, at: usize },
}

/// What an item tells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Tells {
    Frame(Words),
    Event(EventKind),
    /// Nothing but what HTTP tells.
    Http,
}

/// Something that is handed on in its turn.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) t_ms: Option<u64>,
    pub(super) from: Role,
    /// Which of the plan's sessions it belongs to, and which of its streams it travels on.
    pub(super) session: Option<u32>,
    pub(super) stream: Option<u32>,
    pub(super) http: Option<Box<Http<'static>>>,
    /// Where it stands in the document.
    pub(super) at: usize,
    pub(super) tells: Tells,
}

impl Item {
    pub(super) fn frame(from: Role, t_ms: Option<u64>, words: Words) -> Item {
        let at = match &words {
            Words::Value(span) | Words::Inside(span) => span.start,
            Words::Kept { at, .. } => *at,
        };
        Item {
            tells: Tells::Frame(words),
            ..Item::event(from, t_ms, EventKind::Other, at)
        }
    }

    pub(super) fn event(from: Role, t_ms: Option<u64>, kind: EventKind, at: usize) -> Item {
        Item {
            t_ms,
            from,
            session: None,
            stream: None,
            http: None,
            at,
            tells: Tells::Event(kind),
        }
    }

    /// Nothing but what HTTP tells.
    pub(super) fn http(from: Role, t_ms: Option<u64>, http: Http<'static>, at: usize) -> Item {
        Item {
            http: Some(Box::new(http)),
            tells: Tells::Http,
            ..Item::event(from, t_ms, EventKind::Other, at)
        }
    }
}

/// What is to be handed on of a document.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) items: Vec<Item>,
    /// Names of sessions and streams.
    pub(super) sessions: Vec<String>,
    pub(super) streams: Vec<String>,
    /// Texts that were decoded.
    pub(super) kept: Vec<u8>,
    pub(super) opening: Opening,
    pub(super) lost: Lost,
    pub(super) guessed: Vec<String>,
    pub(super) remarks: Vec<String>,
}

/// A log that is one document.
struct WholeLog {
    format: &'static Format,
    document: Document,
    /// What is still to be handed on.
    items: std::vec::IntoIter<Item>,
    plan: Plan,
    line: u64,
    /// The text of the last frame, where it had to be decoded.
    scratch: Vec<u8>,
}

impl WholeLog {
    /// The item as an entry, with its text in places from the beginning of its line.
    fn entry(&mut self, item: Item, start: usize) -> Entry {
        let told = match item.tells {
            Tells::Frame(words) => Told::Frame {
                from: item.from,
                text: self.text(words, start),
                has_eol: true,
                cut_from_bytes: None,
            },
            Tells::Event(kind) => Told::Event {
                kind,
                by: Some(item.from),
                status: None,
            },
            Tells::Http => Told::Http(item.from),
        };
        let name = |names: &[String], nth: Option<u32>| names.get(nth? as usize).cloned();
        Entry {
            line: self.line,
            session: name(&self.plan.sessions, item.session),
            stream: name(&self.plan.streams, item.stream),
            http: item.http,
            ..Entry::told(item.t_ms, told)
        }
    }

    fn text(&mut self, words: Words, start: usize) -> Text {
        match words {
            Words::Value(span) => Text::Here(span.start - start..span.end - start),
            Words::Inside(span) => {
                self.scratch.clear();
                unescape(&self.document.bytes[span.clone()], &mut self.scratch);
                let text = 0..self.scratch.len();
                let inside = span.start - start..span.end - start;
                Text::Json { text, inside }
            }
            Words::Kept { text, at } => {
                self.scratch.clear();
                self.scratch.extend_from_slice(&self.plan.kept[text]);
                let text = 0..self.scratch.len();
                let at = at - start;
                Text::Kept { text, at }
            }
        }
    }
}

impl Recording for WholeLog {
    fn format(&self) -> &'static str {
        self.format.name
    }

    fn opening(&self) -> Opening {
        self.plan.opening
    }

    fn next_line(&mut self) -> Result<Option<CaptureLine<'_>>, ReadError> {
        let Some(item) = self.items.next() else {
            return Ok(None);
        };
        let (line, start) = self.document.place(item.at);
        self.line = line;
        let entry = self.entry(item, start);
        Ok(Some(entry.hand_on(
            &self.document.bytes[start..],
            line,
            &self.scratch,
        )))
    }

    fn line_number(&self) -> u64 {
        self.line
    }

    fn is_cut(&self) -> bool {
        false
    }

    fn lost(&self) -> Lost {
        self.format.lost | self.plan.lost
    }

    fn guessed(&self) -> Vec<String> {
        self.plan.guessed.clone()
    }

    fn remarks(&self) -> Vec<String> {
        self.plan.remarks.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_found_in_its_line() {
        let mut text = String::new();
        for nth in 0..9000 {
            text.push_str(&"x".repeat(nth % 37));
            text.push('\n');
        }
        text.push_str(&"y".repeat(3 * MARK_BYTES));
        let document = Document::new(text.clone().into_bytes());
        let (mut line, mut start) = (1, 0);
        for (at, byte) in text.bytes().enumerate() {
            if at % 101 == 0 || byte == b'\n' {
                assert_eq!(document.place(at), (line, start), "byte {at}");
            }
            if byte == b'\n' {
                (line, start) = (line + 1, at + 1);
            }
        }
        assert_eq!(document.place(text.len()), (line, start));
    }

    #[test]
    fn items_are_those_of_the_array() {
        let document = Document::new(b"[ 1, [2,3] ,{}]".to_vec());
        let items: Vec<&[u8]> = document
            .items(0)
            .map(|span| &document.bytes[span])
            .collect();
        assert_eq!(items, [&b"1"[..], b"[2,3]", b"{}"]);
        assert_eq!(Document::new(b"[ ]".to_vec()).items(0).count(), 0);
        assert_eq!(Document::new(b"{}".to_vec()).items(0).count(), 0);
    }
}
