//! Traces of mcp-trace-validator and its recorder: a JSON object a line, `{"seq":…,"direction":"client-to-server","kind":
//! "message","payload":{…}}`, with `http` and `lifecycle` lines between. Members are sorted and numbers written anew.

use super::entry::{Entries, Entry, Text, Told};
use super::json_lines::Members;
use super::{Head, Kind, Lost, Reading};
use crate::capture::{EventKind, Opening};
use crate::classify::classify;
use crate::event::{LinkKind, Role};
use crate::http::{Field, Head as HttpHead, Http, Start};
use crate::key::Key;
use crate::lines::Line;
use crate::message::{Kind as MessageKind, Message};
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
    head.lines.iter().take(4).any(|line| {
        line.starts_with(b"{")
            && has(line, b"\"direction\":\"")
            && (has(line, b"\"client-to-server\"") || has(line, b"\"server-to-client\""))
            && has(line, b"\"kind\":\"")
    })
}

fn has(line: &[u8], words: &[u8]) -> bool {
    memchr::memmem::find(line, words).is_some()
}

const NAMES: [&[u8]; 9] = [
    b"direction",
    b"kind",
    b"payload",
    b"ts",
    b"event",
    b"method",
    b"status",
    b"headers",
    b"transport",
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

#[derive(Default)]
pub(super) struct Form {
    scanner: Scanner,
    kept: Vec<u8>,
    /// Messages without a time.
    untimed: u64,
    is_http: bool,
    /// HTTP exchanges are told one after the other: which one is at hand.
    exchange: u64,
    /// What is known of that one.
    current: Exchange,
    /// A GET was answered by a stream, which may still be open.
    is_listening: bool,
    /// Something shows that exchanges overlap: which of them it belongs to is not told.
    do_overlap: bool,
}

/// An exchange as far as it has come.
#[derive(Default)]
struct Exchange {
    is_get: bool,
    /// The id of the request, once it was sent.
    asked: Option<Key>,
    is_begun: bool,
    is_answered: bool,
}

impl super::Form for Form {
    fn line(&mut self, line: &Line<'_>, out: &mut Entries) -> Reading<()> {
        let members = Members::read(line, &NAMES, &mut self.scanner)?;
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
            let mut entry = Entry::frame(from, t_ms, text.clone());
            if is_http {
                let text = match &text {
                    Text::Here(span) => &line.bytes[span.clone()],
                    _ => &self.kept[..],
                };
                let message = classify(text, &mut self.scanner).message;
                self.look(from, &message);
            }
            entry.stream = is_http.then(|| self.exchange.to_string());
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
        let mut lost = match self.untimed {
            0 => Lost::NOTHING,
            _ => Lost::TIME,
        };
        if self.do_overlap {
            lost |= Lost::HTTP | Lost::STREAMS;
        }
        lost
    }
}

impl Form {
    /// Whether a message can belong to the exchange at hand.
    fn look(&mut self, from: Role, message: &Message) {
        let is_response = message.kind.is_response();
        let current = &mut self.current;
        if from == Role::Client {
            let is_request = message.kind == MessageKind::Request;
            current.asked = is_request.then_some(message.id);
            return;
        }
        let is_own = current.asked == Some(message.id);
        // On the stream of a GET the server speaks whenever it likes.
        let is_aside = !is_response && self.is_listening && !current.is_get;
        self.do_overlap |= is_aside || is_response && !is_own && current.is_begun;
    }

    fn head(&mut self, members: &Members<'_, 9>, from: Role, t_ms: Option<u64>) -> Option<Entry> {
        let start = match (members.text(METHOD), members.integer(STATUS)) {
            (Some(method), _) if from == Role::Client => {
                self.exchange += 1;
                // The one before is not answered yet: it goes on, or never was.
                self.do_overlap |= self.current.is_begun && !self.current.is_answered;
                self.current = Exchange {
                    is_get: method == "GET",
                    is_begun: true,
                    ..Exchange::default()
                };
                Start::Request {
                    method: Cow::Owned(method.into_owned()),
                    target: None,
                }
            }
            (_, Some(status)) if from == Role::Server => {
                self.do_overlap |= self.current.is_answered;
                self.current.is_answered = true;
                self.is_listening |= self.current.is_get && status < 300;
                Start::Answer {
                    status: u16::try_from(status).ok()?,
                }
            }
            _ => return None,
        };
        let fields = members.raw(HEADERS).map(|headers| {
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
        let mut entry = Entry::told(t_ms, Told::Http(from));
        entry.stream = Some(self.exchange.to_string());
        entry.http = Some(Box::new(Http {
            head: Some(HttpHead { start, fields }),
            ..Http::default()
        }));
        Some(entry)
    }
}
