//! Traces of mcp-trace-validator and its recorder: a JSON object a line, `{"seq":…,"direction":"client-to-server","kind":
//! "message","payload":{…}}`, with `http` and `lifecycle` lines between. Members are sorted and numbers written anew.

use super::entry::{Entries, Entry, Text, Told};
use super::json_lines::{Members, members_of};
use super::overlap::{Exchanges, tells_stream};
use super::{Head, Kind, Lost, Reading};
use crate::capture::{EventKind, Opening};
use crate::classify::classify;
use crate::event::{LinkKind, Role};
use crate::http::{Field, Head as HttpHead, Http, Start};
use crate::lines::Line;
use crate::scan::{Scanner, unescape};
use std::borrow::Cow;

pub(super) const FORMAT: super::Format = super::Format {
    name: "mcp-trace",
    what: "a trace of mcp-trace-validator",
    found: "mcp-trace-capture, the mcp-conformance corpus",
    lost: Lost::RAW.with(Lost::LINES),
    hint: "its recorder sorts members and writes numbers anew",
    is_read: true,
    recognises,
    kind: Kind::McpTrace,
};

fn recognises(head: &Head<'_>) -> bool {
    let names: [&[u8]; 2] = [b"direction", b"kind"];
    let has = |line: &[u8], words: &[u8]| memchr::memmem::find(line, words).is_some();
    head.lines.iter().take(4).any(|line| {
        // A long line is not whole here.
        let is_compact = line.starts_with(b"{")
            && (has(line, b"\"direction\":\"client-to-server\"")
                || has(line, b"\"direction\":\"server-to-client\""))
            && has(line, b"\"kind\":\"");
        is_compact
            || members_of(line, &names).is_some_and(|members| {
                let is_side = |word| members.is(0, word);
                members.has(1) && (is_side("client-to-server") || is_side("server-to-client"))
            })
    })
}

const NAMES: [&[u8]; 10] = [
    b"direction",
    b"kind",
    b"payload",
    b"ts",
    b"event",
    b"method",
    b"status",
    b"headers",
    b"transport",
    b"seq",
];
const DIRECTION: usize = 0;
const KIND: usize = 1;
const PAYLOAD: usize = 2;
const TIME: usize = 3;
const EVENT: usize = 4;
const METHOD: usize = 5;
const STATUS: usize = 6;
const HEADERS: usize = 7;
const TRANSPORT: usize = 8;
const SEQ: usize = 9;

/// The numbers of the lines, in about their order.
#[derive(Clone, Copy, Debug, Default)]
struct Numbers {
    /// The least and the greatest of those at hand, and how many there are.
    run: Option<(i64, i64)>,
    count: u64,
    /// What earlier runs lack.
    lacking: u64,
}

impl Numbers {
    fn put(&mut self, number: i64) {
        self.run = match self.run {
            Some((least, greatest)) if number > least => Some((least, greatest.max(number))),
            // A recorder that is started again counts from the beginning.
            _ => {
                self.lacking = self.missing();
                self.count = 0;
                Some((number, number))
            }
        };
        self.count += 1;
    }

    /// How many are not there, as far as was read.
    fn missing(&self) -> u64 {
        let whole = self.run.map_or(0, |(least, greatest)| {
            greatest.abs_diff(least).saturating_add(1)
        });
        self.lacking
            .saturating_add(whole.saturating_sub(self.count))
    }
}

#[derive(Clone, Default)]
pub(super) struct Form {
    scanner: Scanner,
    kept: Vec<u8>,
    /// Messages without a time.
    untimed: u64,
    numbers: Numbers,
    is_http: bool,
    exchanges: Exchanges,
}

impl super::Form for Form {
    fn line(&mut self, line: &Line<'_>, out: &mut Entries) -> Reading<()> {
        let members = Members::read(line, &NAMES, &mut self.scanner)?;
        if let Some(seq) = members.integer(SEQ) {
            self.numbers.put(seq);
        }
        let from = match () {
            () if members.is(DIRECTION, "client-to-server") => Role::Client,
            () if members.is(DIRECTION, "server-to-client") => Role::Server,
            () => {
                let message = "\"client-to-server\" or \"server-to-client\" was expected";
                return Err(members.wrong(DIRECTION, message));
            }
        };
        let t_ms = members.time(TIME);
        let is_http = members.has(TRANSPORT) && !members.is(TRANSPORT, "stdio");
        self.is_http |= is_http;
        if members.is(KIND, "message") {
            self.untimed += u64::from(t_ms.is_none());
            let Some(span) = members.span(PAYLOAD) else {
                return Err(members.wrong(KIND, "a message without a payload"));
            };
            // What was no JSON on the wire is a string here.
            let text = if line.bytes[span.start] == b'"' {
                self.kept.clear();
                let inside = span.start + 1..span.end - 1;
                unescape(&line.bytes[inside.clone()], &mut self.kept);
                let text = 0..self.kept.len();
                Text::Json { text, inside }
            } else {
                Text::Here(span)
            };
            let mut stream = None;
            if is_http {
                let frame = match &text {
                    Text::Here(span) => &line.bytes[span.clone()],
                    _ => &self.kept,
                };
                let message = classify(frame, &mut self.scanner).message;
                stream = Some(match from {
                    Role::Client => self.exchanges.sent(&message),
                    Role::Server => self.exchanges.received(&message),
                });
            }
            let mut entry = Entry::frame(from, t_ms, text);
            entry.stream = stream.map(|number| number.to_string());
            out.push_back(entry);
        } else if members.is(KIND, "http") {
            if let Some(entry) = self.head(&members, from, t_ms) {
                out.push_back(entry);
            }
        } else if members.is(KIND, "lifecycle") {
            let kind = match () {
                () if members.is(EVENT, "transport-close") => EventKind::Eof,
                () if members.is(EVENT, "transport-abort") => EventKind::Drop,
                () if members.is(EVENT, "process-exit") => EventKind::Exit,
                () => return Ok(()),
            };
            out.push_back(Entry::event(Some(from), t_ms, kind));
        }
        Ok(())
    }

    fn kept(&self) -> &[u8] {
        &self.kept
    }

    fn opening(&self) -> Opening {
        Opening {
            transport: self.is_http.then_some(LinkKind::Http),
            ..Opening::default()
        }
    }

    fn lost(&self) -> Lost {
        let mut lost = Lost::NOTHING;
        if self.untimed > 0 {
            lost |= Lost::TIME;
        }
        if self.numbers.missing() > 0 {
            lost |= Lost::FRAMES;
        }
        if self.exchanges.is_blurred {
            lost |= Lost::HTTP | Lost::STREAMS;
        }
        lost
    }

    fn remarks(&self) -> Vec<String> {
        let count = self.numbers.missing();
        let missing = super::several(count, "line is", "lines are");
        match count {
            0 => vec![],
            _ => vec![format!(
                "the numbers of the lines have gaps: {missing} missing"
            )],
        }
    }

    fn guessed(&self) -> Vec<String> {
        match self.exchanges.is_concluded {
            true => vec!["which of the HTTP exchanges that overlap a line belongs to".to_owned()],
            false => vec![],
        }
    }
}

impl Form {
    fn head(&mut self, members: &Members<'_, 10>, from: Role, t_ms: Option<u64>) -> Option<Entry> {
        let fields: Option<Vec<Field<'static>>> = members.raw(HEADERS).map(|headers| {
            let mut fields = vec![];
            let read = Scanner::new().object(headers, 0, |scanner, name, at| {
                let end = scanner.value(headers, at)?;
                let text = |bytes: &[u8]| {
                    let mut plain = vec![];
                    unescape(bytes, &mut plain);
                    Cow::Owned(String::from_utf8_lossy(&plain).into_owned())
                };
                if headers[at] == b'"' {
                    fields.push(Field {
                        name: text(name),
                        value: text(&headers[at + 1..end - 1]),
                    });
                }
                Ok(end)
            });
            // A header that is no object was not recorded as one.
            read.map(|_| fields).unwrap_or_default()
        });
        let is_stream = tells_stream(fields.iter().flatten());
        let (start, number) = match (members.text(METHOD), members.integer(STATUS)) {
            (Some(method), _) if from == Role::Client => {
                self.exchanges.begin(&method);
                let method = Cow::Owned(method.into_owned());
                let target = None;
                (Start::Request { method, target }, self.exchanges.last)
            }
            (_, Some(status)) if from == Role::Server => {
                let status = u16::try_from(status).ok()?;
                let number = self.exchanges.answered(status, is_stream);
                (Start::Answer { status }, number)
            }
            _ => return None,
        };
        let mut entry = Entry::told(t_ms, Told::Http(from));
        entry.stream = Some(number.to_string());
        entry.http = Some(Box::new(Http {
            head: Some(HttpHead { start, fields }),
            ..Http::default()
        }));
        Some(entry)
    }
}
