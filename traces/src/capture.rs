//! Captures: JSON Lines of `{"dir":"c2s","raw":"…"}` that anybody can write, read one line at a time in one pass.
//! What the lines mean is in `docs/trace-format.md`.

use std::borrow::Cow;
use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::event::{LinkKind, Role};
use crate::file::json::{
    HALF_PAIR, Read, Value, Wrong, as_it_stands, lone_surrogate, quoted, utf8,
};
use crate::file::reader::{is_cut, start, too_long};
use crate::http::{Head, Http, Sse, Unknown};
use crate::judge::Vantage;
use crate::lines::{KEPT_BYTES_MAX, Line, LineReader, ReadError};
use crate::lost::Lost;
use crate::place::Origin;
use crate::scan::{Scanner, unescape, white};

/// One line of a capture. What it lends is gone when the next line is read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CaptureLine<'a> {
    /// The line in the file, from 1.
    pub line: u64,
    /// Milliseconds by the clock of whoever wrote the capture; a fraction is cut off.
    pub t_ms: Option<u64>,
    /// The session, where a capture holds several.
    pub session: Option<Cow<'a, str>>,
    /// The stream, where the transport has several: on HTTP the exchange.
    pub stream: Option<Cow<'a, str>>,
    /// What HTTP tells beside a frame or an event.
    pub http: Option<Box<Http<'a>>>,
    /// What the line tells.
    pub what: CaptureWhat<'a>,
    /// How a frame stands in the line of a log that is no capture.
    pub origin: Option<Origin<'a>>,
}

/// What a line of a capture tells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CaptureWhat<'a> {
    /// A frame passed.
    Frame(CaptureFrame<'a>),
    /// Something else happened: never a frame on the wire.
    Event(CaptureEvent<'a>),
    /// Nothing but what HTTP tells: a head without a body, an event without data; and which end sent it.
    Http(Role),
}

/// A frame in a capture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CaptureFrame<'a> {
    /// The end that sent it.
    pub from: Role,
    /// Its bytes, without the LF; a CR before that is part of them.
    pub raw: &'a [u8],
    /// It is known to be UTF-8: it stood there as text.
    pub is_utf8: bool,
    /// Whether an LF was sent after it (`"eol":""` says no).
    pub has_eol: bool,
    /// Whoever wrote the log laid it out: a line feed in it is white space of theirs, and ended no line on the wire.
    pub is_laid_out: bool,
    /// Its true size, where a long text was left out: whoever plays it again grows a text to that.
    pub pad_to: Option<u64>,
    /// Its true size, where the end was cut off by whoever wrote the capture.
    pub cut_from_bytes: Option<u64>,
}

/// Something that is no frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CaptureEvent<'a> {
    /// What happened; [`EventKind::Other`] for a name that has no meaning here.
    pub kind: EventKind,
    /// The name as it stands there.
    pub name: Cow<'a, str>,
    /// The end that it happened to, or that did it.
    pub by: Option<Role>,
    /// The text that stands with it (of a lost frame, of a notice); often empty.
    pub raw: &'a [u8],
    /// The exit status of a program.
    pub status: Option<i64>,
    /// Where the observer stood, on an `open` line.
    pub vantage: Option<Vantage>,
    /// The kind of link, on an `open` line.
    pub transport: Option<LinkKind>,
    /// The recording begins with the session, says an `open` line.
    pub whole: bool,
    /// What the recording has lost, on a `recording` line.
    pub lost: Lost,
}

macro_rules! event_kinds {
    ($($(#[$doc:meta])+ $variant:ident = $name:literal,)+) => {
        /// The events of captures that have a meaning.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum EventKind {
            $($(#[$doc])+ $variant,)+
            /// A name without a meaning here.
            Other,
        }

        impl EventKind {
            /// All kinds with a name.
            pub const ALL: &'static [EventKind] = &[$(EventKind::$variant,)+];

            /// The name in captures; empty for [`EventKind::Other`].
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(EventKind::$variant => $name,)+
                    EventKind::Other => "",
                }
            }
        }
    };
}

event_kinds! {
    /// A session, a link or a stream came up; tells where the observer stood.
    Open = "open",
    /// That end will send nothing more: it closed its output.
    Eof = "eof",
    /// That end's program ended.
    Exit = "exit",
    /// Nothing more comes from that end, though it is there.
    Stall = "stall",
    /// That end gave up waiting.
    Timeout = "timeout",
    /// The connection or stream broke.
    Drop = "drop",
    /// A close was asked for and waits.
    CloseQueued = "close-queued",
    /// A frame was handed over and waits.
    Queued = "queued",
    /// A frame was sent by the program and never reached the wire.
    Lost = "lost",
    /// Nobody reads the program's stderr and its pipe is full.
    StderrFull = "stderr-full",
    /// The session was taken down.
    Teardown = "teardown",
    /// An HTTP response without a body.
    EmptyBody = "empty-body",
    /// Nothing happened: whoever made the capture of another log says what of the session that had lost.
    Recording = "recording",
}

impl EventKind {
    /// Whether a connection is over where this happens to that end, or its doing is: another one came up, the last broke or was
    /// taken down by nobody in particular, the server's program ended, or an end closed what it writes to.
    pub fn ends_connection(self, by: Option<Role>) -> bool {
        match self {
            EventKind::Open | EventKind::Drop => true,
            EventKind::Teardown => by.is_none(),
            EventKind::Exit => by == Some(Role::Server),
            EventKind::Eof => by.is_some(),
            _ => false,
        }
    }
}

/// What the first line of a capture says of the observer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Opening {
    /// Where it stood; without a word of it, between the two.
    pub vantage: Option<Vantage>,
    /// The kind of link.
    pub transport: Option<LinkKind>,
    /// The recording begins with the session. Without a word of it, that is concluded from its frames.
    pub whole: bool,
}

/// Reads a capture line by line. A line that is none is an error with its place, and the lines
/// after it can still be read. What is kept is bounded by the longest line.
#[derive(Debug)]
pub struct CaptureReader<R> {
    lines: LineReader<R>,
    decoder: Decoder,
    opening: Opening,
    lost: Lost,
    cut: bool,
}

impl<R: io::Read> CaptureReader<R> {
    /// Looks at the first line for what it says of the observer.
    ///
    /// # Errors
    /// The input cannot be read.
    pub fn new(input: R) -> Result<CaptureReader<R>, ReadError> {
        CaptureReader::from_lines(LineReader::new(input))
    }

    /// As [`CaptureReader::new`], from a reader of lines that stands before the first one.
    ///
    /// # Errors
    /// The input cannot be read.
    pub fn from_lines(lines: LineReader<R>) -> Result<CaptureReader<R>, ReadError> {
        let mut reader = CaptureReader {
            lines,
            decoder: Decoder::default(),
            opening: Opening::default(),
            lost: Lost::NOTHING,
            cut: false,
        };
        let mut opening = Opening::default();
        match reader.next_line() {
            Err(ReadError::Io(error)) => return Err(error.into()),
            // What is wrong with the line is told when it is asked for.
            Err(ReadError::Input(_)) | Ok(None) => {}
            Ok(Some(line)) => {
                if let CaptureWhat::Event(event) = line.what
                    && event.kind == EventKind::Open
                {
                    opening = Opening {
                        vantage: event.vantage,
                        transport: event.transport,
                        whole: event.whole,
                    };
                }
            }
        }
        reader.opening = opening;
        reader.cut = false;
        reader.lines.unread();
        Ok(reader)
    }

    /// What the first line says of the observer.
    pub fn opening(&self) -> Opening {
        self.opening
    }

    /// What the recording has lost, by the `recording` lines that were read.
    pub fn lost(&self) -> Lost {
        self.lost
    }

    /// Whether the file stopped in the middle of its last line, which was left out.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// The number of the last line that was read.
    pub fn line_number(&self) -> u64 {
        self.lines.number()
    }

    /// The next line that is not blank; `None` at the end.
    ///
    /// # Errors
    /// A line that is no line of a capture: ask again for the next one. Or the input cannot be read.
    #[inline]
    pub fn next_line(&mut self) -> Result<Option<CaptureLine<'_>>, ReadError> {
        let Some(line) = self.lines.next_filled()? else {
            return Ok(None);
        };
        if line.too_long {
            return Err(too_long(&line).into());
        }
        match self.decoder.line(&line, start(&line)) {
            Ok(line) => {
                if let CaptureWhat::Event(event) = &line.what {
                    self.lost |= event.lost;
                }
                Ok(Some(line))
            }
            Err(_) if !line.has_eol && is_cut(line.bytes, &mut Scanner::new()) => {
                self.cut = true;
                Ok(None)
            }
            Err(wrong) => Err(wrong.on(line.number).into()),
        }
    }
}

/// Decodes lines into a buffer that is used again.
#[derive(Debug, Default)]
struct Decoder {
    scanner: Scanner,
    /// The plain text of the last `raw`, and what longer texts have left behind it.
    raw: Vec<u8>,
}

/// Where a value stands in its line; empty where there is none, or null.
#[derive(Clone, Copy, Default)]
struct Span {
    at: usize,
    end: usize,
}

impl Span {
    fn is_there(self) -> bool {
        self.end > 0
    }
}

/// The members of a line that have a meaning.
#[derive(Default)]
struct Spans {
    dir: Span,
    raw: Span,
    raw_b64: Span,
    t_ms: Span,
    stream: Span,
    session: Span,
    event: Span,
    eol: Span,
    pad_to: Span,
    cut_from_bytes: Span,
    http: Span,
    head: Span,
    sse_id: Span,
    sse_event: Span,
    sse_retry: Span,
    status: Span,
    vantage: Span,
    transport: Span,
}

impl Spans {
    /// Whether the line tells something of HTTP.
    #[inline]
    fn has_http(&self) -> bool {
        let spans = [
            self.http,
            self.head,
            self.sse_id,
            self.sse_event,
            self.sse_retry,
        ];
        spans.iter().any(|span| span.is_there())
    }

    #[inline]
    fn of(&mut self, name: &[u8]) -> Option<&mut Span> {
        Some(match name {
            b"dir" => &mut self.dir,
            b"raw" => &mut self.raw,
            b"raw_b64" => &mut self.raw_b64,
            b"t_ms" => &mut self.t_ms,
            b"stream" => &mut self.stream,
            b"session" => &mut self.session,
            b"event" => &mut self.event,
            b"eol" => &mut self.eol,
            b"pad_to" => &mut self.pad_to,
            b"cut_from_bytes" => &mut self.cut_from_bytes,
            b"http" => &mut self.http,
            b"head" => &mut self.head,
            b"sse_id" => &mut self.sse_id,
            b"sse_event" => &mut self.sse_event,
            b"sse_retry" => &mut self.sse_retry,
            b"status" | b"code" => &mut self.status,
            b"vantage" => &mut self.vantage,
            b"transport" => &mut self.transport,
            _ => return None,
        })
    }
}

const FORM: &str = "a capture has lines of {\"dir\":\"c2s\",\"raw\":\"…\"}";

impl Decoder {
    fn line<'a>(&'a mut self, line: &Line<'a>, start: usize) -> Read<CaptureLine<'a>> {
        let bytes = line.bytes;
        if self.raw.len() > KEPT_BYTES_MAX {
            self.raw = Vec::new();
        }
        let first = white(bytes, start);
        if bytes.get(first) != Some(&b'{') {
            return Err(Wrong::new(
                first,
                format!("{FORM}, not {}", quoted(&bytes[first..])),
            ));
        }
        let mut spans = Spans::default();
        let raw_length = self.scan(line, first, &mut spans)?;
        let text = utf8(bytes)?;
        if self.scanner.saw_lone_surrogate() && spans.raw.is_there() {
            let Span { at, end } = spans.raw;
            if let Some(inside) = lone_surrogate(&bytes[at + 1..end - 1]) {
                return Err(Wrong::new(at + 1 + inside, HALF_PAIR));
            }
        }
        let raw_length = if spans.raw_b64.is_there() {
            self.base64(text, spans.raw_b64, spans.raw)?
        } else {
            raw_length
        };
        let values = Values {
            text,
            first,
            spans: &spans,
        };
        let http = if spans.has_http() {
            Some(Box::new(values.http(&mut self.scanner)?))
        } else {
            None
        };
        let has_frame = spans.raw.is_there() || spans.raw_b64.is_there();
        Ok(CaptureLine {
            line: line.number,
            t_ms: values.milliseconds()?,
            session: values.name(spans.session)?,
            stream: values.name(spans.stream)?,
            what: if spans.event.is_there() {
                CaptureWhat::Event(values.event(&self.raw[..raw_length])?)
            } else if has_frame || http.is_none() {
                CaptureWhat::Frame(values.frame(&self.raw[..raw_length])?)
            } else {
                CaptureWhat::Http(values.direction()?.ok_or_else(|| values.missing("dir"))?)
            },
            http,
            origin: None,
        })
    }

    /// Finds the members, decodes `raw` on the way, and returns its length.
    fn scan(&mut self, line: &Line<'_>, first: usize, spans: &mut Spans) -> Read<usize> {
        let Decoder { scanner, raw } = self;
        let bytes = line.bytes;
        scanner.reset();
        let mut raw_length = 0;
        let mut twice = None;
        let end = scanner.object(bytes, first, |scanner, name, at| {
            let Some(span) = spans.of(name) else {
                return scanner.value(bytes, at);
            };
            if span.is_there() && twice.is_none() {
                twice = Some((at, String::from_utf8_lossy(name).into_owned()));
            }
            let end = if name == b"raw" && bytes.get(at) == Some(&b'"') {
                let (end, length) = scanner.string_into(bytes, at, line.buffer, raw)?;
                raw_length = length;
                end
            } else {
                scanner.value(bytes, at)?
            };
            if bytes[at] != b'n' {
                *span = Span { at, end };
            }
            Ok(end)
        })?;
        if let Some((at, name)) = twice {
            return Err(Wrong::new(at, format!("\"{name}\" stands there twice")));
        }
        let rest = white(bytes, end);
        if rest < bytes.len() {
            return Err(Wrong::new(rest, "something stands after the JSON object"));
        }
        if spans.raw.is_there() && bytes[spans.raw.at] != b'"' {
            return Err(expected("a string", bytes, spans.raw));
        }
        Ok(raw_length)
    }

    #[cold]
    fn base64(&mut self, text: &str, span: Span, raw: Span) -> Read<usize> {
        if raw.is_there() {
            return Err(Wrong::new(
                span.at,
                "\"raw\" and \"raw_b64\" stand there both",
            ));
        }
        let plain = string(text, span)?;
        match STANDARD.decode(plain.as_bytes()) {
            Ok(bytes) => {
                self.raw = bytes;
                Ok(self.raw.len())
            }
            Err(_) => Err(Wrong::new(span.at, "not base64")),
        }
    }
}

#[cold]
fn expected(what: &str, bytes: &[u8], span: Span) -> Wrong {
    let found = as_it_stands(&bytes[span.at..span.end]);
    Wrong::new(span.at, format!("{what} was expected, not {found}"))
}

fn string(text: &str, span: Span) -> Read<Cow<'_, str>> {
    let source = &text[span.at..span.end];
    if !source.starts_with('"') {
        return Err(expected("a string", text.as_bytes(), span));
    }
    let inner = &source[1..source.len() - 1];
    if !inner.contains('\\') {
        return Ok(Cow::Borrowed(inner));
    }
    let mut plain = vec![];
    unescape(inner.as_bytes(), &mut plain);
    let place = |_| {
        let inside = lone_surrogate(inner.as_bytes()).unwrap_or(0);
        Wrong::new(span.at + 1 + inside, HALF_PAIR)
    };
    String::from_utf8(plain).map(Cow::Owned).map_err(place)
}

fn integer<T: TryFrom<i64>>(text: &str, span: Span) -> Read<Option<T>> {
    if !span.is_there() {
        return Ok(None);
    }
    match text[span.at..span.end].parse::<i64>().map(T::try_from) {
        Ok(Ok(number)) => Ok(Some(number)),
        Ok(Err(_)) => Err(expected("a number in its bounds", text.as_bytes(), span)),
        Err(_) => Err(expected("a whole number", text.as_bytes(), span)),
    }
}

/// The values of one line.
struct Values<'a, 's> {
    text: &'a str,
    /// Where the object begins.
    first: usize,
    spans: &'s Spans,
}

impl<'a> Values<'a, '_> {
    fn missing(&self, name: &str) -> Wrong {
        let bare = self.text[self.first..].contains("\"jsonrpc\"");
        let hint = if bare && !self.spans.raw.is_there() {
            ": a bare frame, which does not tell who sent it"
        } else {
            ""
        };
        Wrong::new(
            self.first,
            format!("the line has no \"{name}\"{hint}; {FORM}"),
        )
    }

    fn frame(&self, raw: &'a [u8]) -> Read<CaptureFrame<'a>> {
        let spans = self.spans;
        let Some(from) = self.direction()? else {
            return Err(self.missing("dir"));
        };
        if !spans.raw.is_there() && !spans.raw_b64.is_there() {
            return Err(self.missing("raw"));
        }
        let has_eol = !spans.eol.is_there()
            || match &*string(self.text, spans.eol)? {
                "\n" => true,
                "" => false,
                _ => {
                    return Err(expected("\"\" or \"\\n\"", self.text.as_bytes(), spans.eol));
                }
            };
        Ok(CaptureFrame {
            from,
            raw,
            // A half of a surrogate pair was refused before.
            is_utf8: spans.raw.is_there(),
            has_eol,
            is_laid_out: false,
            pad_to: integer(self.text, spans.pad_to)?,
            cut_from_bytes: integer(self.text, spans.cut_from_bytes)?,
        })
    }

    /// `http` is the short form of the head of an answer. Which of the two kinds a head is, is told by the
    /// direction.
    #[cold]
    fn http(&self, scanner: &mut Scanner) -> Read<Http<'a>> {
        let spans = self.spans;
        let status: Option<u16> = integer(self.text, spans.http)?;
        if status.is_some_and(|status| !(100..1000).contains(&status)) {
            return Err(expected(
                "a status of HTTP",
                self.text.as_bytes(),
                spans.http,
            ));
        }
        let from = self.direction()?;
        let mut head = status.map(Head::of_status);
        if spans.head.is_there() {
            let from = from.ok_or_else(|| self.missing("dir"))?;
            let value = Value::at(self.text, spans.head.at, spans.head.end);
            let whole = Head::read(value, from, Unknown::Passed, scanner)?;
            if status.is_some() && whole.status() != status {
                let message = "\"http\" is another status than that of \"head\"";
                return Err(Wrong::new(spans.http.at, message));
            }
            head = Some(whole);
        }
        Ok(Http {
            head,
            sse: Sse {
                id: self.name(spans.sse_id)?,
                event: self.name(spans.sse_event)?,
                retry_ms: integer(self.text, spans.sse_retry)?,
            },
        })
    }

    #[cold]
    fn event(&self, raw: &'a [u8]) -> Read<CaptureEvent<'a>> {
        let spans = self.spans;
        let name = string(self.text, spans.event)?;
        let mut kinds = EventKind::ALL.iter().copied();
        let kind = kinds.find(|kind| kind.as_str() == name);
        let kind = kind.unwrap_or(EventKind::Other);
        let opening = match kind {
            EventKind::Open => self.opening()?,
            _ => Opening::default(),
        };
        let lost = match kind {
            EventKind::Recording => self.lost()?,
            _ => Lost::NOTHING,
        };
        Ok(CaptureEvent {
            kind,
            name,
            by: self.direction()?,
            raw,
            // A status of another type, such as the name of a signal, is none.
            status: integer(self.text, spans.status).unwrap_or(None),
            vantage: opening.vantage,
            transport: opening.transport,
            whole: opening.whole,
            lost,
        })
    }

    fn opening(&self) -> Read<Opening> {
        let mut opening = Opening::default();
        let spans = self.spans;
        if spans.vantage.is_there() {
            let name = string(self.text, spans.vantage)?;
            opening.vantage = Some(Vantage::parse(&name).ok_or_else(|| {
                let known = "client, server, between or world";
                expected(known, self.text.as_bytes(), spans.vantage)
            })?);
        }
        if spans.transport.is_there() {
            opening.transport = Some(match &*string(self.text, spans.transport)? {
                "stdio" | "pipe" => LinkKind::Pipe,
                "http" | "streamable-http" | "streamable_http" | "streamableHttp" | "sse" => {
                    LinkKind::Http
                }
                _ => {
                    let known = "stdio or http";
                    return Err(expected(known, self.text.as_bytes(), spans.transport));
                }
            });
        }
        opening.whole = self.whole()?;
        Ok(opening)
    }

    fn whole(&self) -> Read<bool> {
        let bytes = self.text.as_bytes();
        let span = self.member(b"whole")?;
        match &bytes[span.at..span.end] {
            b"true" => Ok(true),
            b"false" | b"null" | b"" => Ok(false),
            _ => Err(expected("true or false", bytes, span)),
        }
    }

    /// The names in `lost`.
    fn lost(&self) -> Read<Lost> {
        let span = self.member(b"lost")?;
        if !span.is_there() {
            return Ok(Lost::NOTHING);
        }
        let mut lost = Lost::NOTHING;
        let list = Value::at(self.text, span.at, span.end);
        for item in list.items(&mut Scanner::new())? {
            let known = Lost::parse(&item.string()?);
            lost |= known.ok_or_else(|| item.wrong(format!("known are {}", Lost::all())))?;
        }
        Ok(lost)
    }

    /// Where the value of that member stands. Looked for on few lines alone, not on every frame's.
    fn member(&self, wanted: &[u8]) -> Read<Span> {
        let bytes = self.text.as_bytes();
        let mut span = Span::default();
        let mut scanner = Scanner::new();
        scanner.object(bytes, self.first, |scanner, name, at| {
            let end = scanner.value(bytes, at)?;
            if name == wanted {
                span = Span { at, end };
            }
            Ok(end)
        })?;
        Ok(span)
    }

    #[inline]
    fn direction(&self) -> Read<Option<Role>> {
        let span = self.spans.dir;
        match &self.text[span.at..span.end] {
            "\"c2s\"" => Ok(Some(Role::Client)),
            "\"s2c\"" => Ok(Some(Role::Server)),
            "" => Ok(None),
            _ => {
                let known = "\"c2s\" (client to server) or \"s2c\"";
                Err(expected(known, self.text.as_bytes(), span))
            }
        }
    }

    #[inline]
    fn milliseconds(&self) -> Read<Option<u64>> {
        let span = self.spans.t_ms;
        let text = &self.text[span.at..span.end];
        if let Ok(number) = text.parse() {
            return Ok(Some(number));
        }
        if !span.is_there() {
            return Ok(None);
        }
        // Clocks of other programs give fractions.
        match text.parse::<f64>() {
            Ok(number) if (0.0..9e15).contains(&number) => Ok(Some(number as u64)),
            _ => Err(expected(
                "a time in milliseconds",
                self.text.as_bytes(),
                span,
            )),
        }
    }

    /// The name of a stream, a session, an event: a string, or a number as it is spelled.
    #[inline]
    fn name(&self, span: Span) -> Read<Option<Cow<'a, str>>> {
        if !span.is_there() {
            return Ok(None);
        }
        let source = &self.text[span.at..span.end];
        match source.as_bytes()[0] {
            b'"' => string(self.text, span).map(Some),
            b'-' | b'0'..=b'9' => Ok(Some(Cow::Borrowed(source))),
            _ => Err(expected("a name", self.text.as_bytes(), span)),
        }
    }
}
