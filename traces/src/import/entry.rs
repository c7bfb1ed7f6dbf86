//! What an importer makes of a line, before it is handed on: places in the line instead of borrowed text, so that a line can
//! give several.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;

use crate::capture::{CaptureEvent, CaptureFrame, CaptureLine, CaptureWhat, EventKind};
use crate::event::Role;
use crate::http::Http;
use crate::lost::Lost;
use crate::place::Origin;

/// Entries of the line at hand that are still to be handed on.
pub(crate) type Entries = VecDeque<Entry>;

/// One frame or event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    /// The line that it begins in; 0 for the line at hand.
    pub(crate) line: u64,
    pub(crate) t_ms: Option<u64>,
    pub(crate) session: Option<String>,
    pub(crate) stream: Option<String>,
    pub(crate) http: Option<Box<Http<'static>>>,
    pub(crate) told: Told,
}

/// What an entry tells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Told {
    Frame {
        from: Role,
        text: Text,
        /// Whether a line end was seen after it.
        has_eol: bool,
        /// The recorder cut it: its true size, as far as that is known.
        cut_from_bytes: Option<u64>,
    },
    Event {
        kind: EventKind,
        by: Option<Role>,
        status: Option<i64>,
    },
    /// A line on the stderr of the server's program.
    Stderr(Text),
    /// Nothing but what HTTP tells.
    Http(Role),
}

/// Where the bytes of a frame lie, and how they stand in the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Text {
    /// In the line, as they were.
    Here(Range<usize>),
    /// In what the importer keeps, decoded in another way from the line, where they begin at that byte.
    Kept { text: Range<usize>, at: usize },
    /// In what the importer keeps, and beside it how it stands in the line, from that byte on, as a string of C.
    C {
        text: Range<usize>,
        inside: Range<usize>,
        at: usize,
    },
    /// Over several lines, of which the importer keeps what they say, and as many bytes of how they stand there.
    Rows {
        text: Range<usize>,
        rows: Range<usize>,
        at: usize,
    },
    /// In the line as the inside of a JSON string, decoded into what the importer keeps.
    Json {
        text: Range<usize>,
        inside: Range<usize>,
    },
}

impl Text {
    /// The text that it points at.
    pub(crate) fn bytes<'a>(&self, line: &'a [u8], kept: &'a [u8]) -> &'a [u8] {
        match self {
            Text::Here(place) => &line[place.clone()],
            Text::Kept { text, .. }
            | Text::C { text, .. }
            | Text::Rows { text, .. }
            | Text::Json { text, .. } => &kept[text.clone()],
        }
    }

    /// In a line that has so many bytes more before it.
    fn shift(&mut self, by: usize) {
        let moved = |place: &Range<usize>| place.start + by..place.end + by;
        match self {
            Text::Here(place) => *place = moved(place),
            Text::Json { inside, .. } => *inside = moved(inside),
            Text::Kept { at, .. } | Text::C { at, .. } | Text::Rows { at, .. } => *at += by,
        }
    }

    /// The text that it points at, in the line or in what is kept, and how that stands in the file.
    fn hand_on<'a>(self, line: &'a [u8], kept: &'a [u8]) -> (&'a [u8], Origin<'a>) {
        let text = self.bytes(line, kept);
        let origin = match self {
            Text::Here(at) => Origin::verbatim(at.start),
            Text::Kept { at, .. } => Origin::somewhere(at),
            Text::C { inside, at, .. } => Origin::c(at, &kept[inside]),
            Text::Rows { rows, at, .. } => Origin::rows(at, &kept[rows]),
            Text::Json { inside, .. } => Origin::json(inside.start, &line[inside]),
        };
        (text, origin)
    }
}

impl Told {
    /// With its text in a line that has so many bytes more before it.
    pub(crate) fn shift(&mut self, by: usize) {
        if let Told::Frame { text, .. } | Told::Stderr(text) = self {
            text.shift(by);
        }
    }
}

impl Entry {
    /// A frame of the line at hand, as it stands there.
    pub(crate) fn frame(from: Role, t_ms: Option<u64>, text: Text) -> Entry {
        let told = Told::Frame {
            from,
            text,
            has_eol: true,
            cut_from_bytes: None,
        };
        Entry::told(t_ms, told)
    }

    /// Something else that happened.
    pub(crate) fn event(by: Option<Role>, t_ms: Option<u64>, kind: EventKind) -> Entry {
        let status = None;
        Entry::told(t_ms, Told::Event { kind, by, status })
    }

    pub(crate) fn told(t_ms: Option<u64>, told: Told) -> Entry {
        Entry {
            line: 0,
            t_ms,
            session: None,
            stream: None,
            http: None,
            told,
        }
    }

    pub(crate) fn in_session(mut self, session: Option<String>) -> Entry {
        self.session = session;
        self
    }

    /// With the text that it points at: in the line of that number, or in what is kept.
    pub(crate) fn hand_on<'a>(
        self,
        line: &'a [u8],
        number: u64,
        kept: &'a [u8],
    ) -> CaptureLine<'a> {
        let mut origin = None;
        let what = match self.told {
            Told::Frame {
                from,
                text,
                has_eol,
                cut_from_bytes,
            } => {
                let is_laid_out = matches!(text, Text::Here(_));
                let (raw, place) = text.hand_on(line, kept);
                origin = Some(place);
                CaptureWhat::Frame(CaptureFrame {
                    from,
                    raw,
                    is_utf8: false,
                    has_eol,
                    is_laid_out,
                    pad_to: None,
                    cut_from_bytes,
                })
            }
            Told::Stderr(text) => CaptureWhat::Event(CaptureEvent {
                kind: EventKind::Other,
                name: Cow::Borrowed("stderr"),
                by: Some(Role::Server),
                raw: text.hand_on(line, kept).0,
                status: None,
                vantage: None,
                transport: None,
                whole: false,
                lost: Lost::NOTHING,
            }),
            Told::Event { kind, by, status } => CaptureWhat::Event(CaptureEvent {
                kind,
                name: Cow::Borrowed(kind.as_str()),
                by,
                raw: b"",
                status,
                vantage: None,
                transport: None,
                whole: false,
                lost: Lost::NOTHING,
            }),
            Told::Http(by) => CaptureWhat::Http(by),
        };
        CaptureLine {
            line: if self.line == 0 { number } else { self.line },
            t_ms: self.t_ms,
            session: self.session.map(Cow::Owned),
            stream: self.stream.map(Cow::Owned),
            http: self.http,
            what,
            origin,
        }
    }
}
