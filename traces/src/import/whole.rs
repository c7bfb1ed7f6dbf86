//! Logs that are one JSON document: read whole, looked through once for where frames stand in it, and then handed on frame by
//! frame in the order in which they were sent, as far as that is known.

use std::io::Read;
use std::ops::Range;

use super::entry::{Entry, Text};
use super::{Format, Lost, Reading};
use crate::capture::{CaptureLine, Opening};
use crate::event::Role;
use crate::file::json::Wrong;
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
        plan,
        next: 0,
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

/// A mark is set after so many bytes.
const MARK_BYTES: usize = 1 << 16;

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
}

/// A frame that is handed on in its turn.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) t_ms: Option<u64>,
    pub(super) from: Role,
    /// Which of the plan's streams it travels on.
    pub(super) stream: Option<u32>,
    pub(super) words: Words,
}

/// What is to be handed on of a document.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) items: Vec<Item>,
    /// Names of streams.
    pub(super) streams: Vec<String>,
    pub(super) opening: Opening,
    pub(super) lost: Lost,
    pub(super) guessed: Vec<String>,
    pub(super) remarks: Vec<String>,
}

/// A log that is one document.
struct WholeLog {
    format: &'static Format,
    document: Document,
    plan: Plan,
    /// The item that is handed on next.
    next: usize,
    line: u64,
    /// The text of the last frame, where it had to be decoded.
    scratch: Vec<u8>,
}

impl WholeLog {
    /// The item as an entry, with its text in places from the beginning of its line.
    fn entry(&mut self, item: &Item, start: usize) -> Entry {
        let here = |span: &Span| span.start - start..span.end - start;
        let text = match &item.words {
            Words::Value(span) => Text::Here(here(span)),
            Words::Inside(span) => {
                self.scratch.clear();
                unescape(&self.document.bytes[span.clone()], &mut self.scratch);
                let text = 0..self.scratch.len();
                let inside = here(span);
                Text::Json { text, inside }
            }
        };
        let name = |nth: u32| self.plan.streams.get(nth as usize).cloned();
        Entry {
            line: self.line,
            stream: item.stream.and_then(name),
            ..Entry::frame(item.from, item.t_ms, text)
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
        let Some(item) = self.plan.items.get(self.next).cloned() else {
            return Ok(None);
        };
        self.next += 1;
        let (Words::Value(span) | Words::Inside(span)) = &item.words;
        let (line, start) = self.document.place(span.start);
        self.line = line;
        let entry = self.entry(&item, start);
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
