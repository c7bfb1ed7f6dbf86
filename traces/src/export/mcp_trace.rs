//! Traces as mcp-trace-validator reads them: one session, and one JSON object a line with its number, direction and kind.
//! Payloads are written as they are; what reads them takes them as parsed.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use super::date::Dates;
use super::{
    BYTES, Beginning, CUT_FRAMES, EPOCH, EVENTS, End, Export, FIELDS, HEADS, Losses, SESSIONS, SSE,
    STATUSES, STREAMS, Shape, TARGETS, TEXTS, is_http, is_of_recording, lose_circumstances,
    lose_ends, lose_white, put_value, shape,
};
use crate::capture::{CaptureEvent, CaptureFrame, CaptureLine, CaptureWhat, EventKind, Opening};
use crate::classify::classify;
use crate::event::Role;
use crate::file::json::put_string;
use crate::http::{Field, Http, Start};
use crate::import::overlap::{Exchanges, LIVE_MAX, tells_stream};
use crate::lines::KEPT_BYTES_MAX;
use crate::scan::Scanner;

pub(super) struct McpTrace<W> {
    out: W,
    opening: Opening,
    text: Vec<u8>,
    scanner: Scanner,
    dates: Dates,
    next: u64,
    /// From the first line on that tells of HTTP, the session is one over HTTP.
    is_http: bool,
    sessions: BTreeSet<String>,
    /// As a reader concludes which exchange a line belongs to.
    exchanges: Exchanges,
    /// Which these are here.
    names: BTreeMap<u64, String>,
    losses: Losses,
}

/// More names than these are not told apart.
const SESSIONS_MAX: usize = 1024;
/// More exchanges than these are not kept in mind.
const NAMES_MAX: usize = 2 * LIVE_MAX;

/// Readers keep the value of a payload: the order of its members and how numbers are spelled are lost on them.
const RAW: &str = "raw text of frames: what reads payloads takes them as parsed";
const DUPLICATES: &str = "frames in which a member stands twice: what reads them keeps the last";
/// As the form's own recorder does: there they are what could not be parsed.
const UNREAD: &str =
    "frames that its reader cannot parse (numbers, nesting, half surrogates), now text";
const REPEATED: &str = "header fields that stand there more than once, now joined";
/// The form wants none of them recorded.
const SECRETS: &str = "header fields with credentials, left out";
const CREDENTIALS: [&str; 4] = [
    "authorization",
    "cookie",
    "proxy-authorization",
    "set-cookie",
];
const EXITS: &str = "exits, now ends of the transport";

impl<W: Write> McpTrace<W> {
    pub(super) fn new(out: W, beginning: &Beginning) -> McpTrace<W> {
        McpTrace {
            out,
            opening: beginning.opening,
            text: vec![],
            scanner: Scanner::recording(),
            dates: Dates::default(),
            next: 0,
            is_http: false,
            sessions: BTreeSet::new(),
            exchanges: Exchanges::default(),
            names: BTreeMap::new(),
            losses: Losses::default(),
        }
    }

    /// Begins an object of that kind.
    fn begin(&mut self, from: Role, kind: &str) {
        let direction = match from {
            Role::Client => "client-to-server",
            Role::Server => "server-to-client",
        };
        let transport = if self.is_http {
            "streamable-http"
        } else {
            "stdio"
        };
        self.put(&format!(
            "{{\"seq\":{},\"direction\":\"{direction}\",\"transport\":\"{transport}\",\"kind\":\"{kind}\"",
            self.next
        ));
        self.next += 1;
    }

    fn put(&mut self, text: &str) {
        self.text.extend_from_slice(text.as_bytes());
    }

    /// Ends the object, with its time.
    fn end(&mut self, date: Option<&str>) -> io::Result<()> {
        if let Some(date) = date {
            self.put(&format!(",\"ts\":\"{date}\""));
        }
        self.text.extend_from_slice(b"}\n");
        let written = self.out.write_all(&self.text);
        self.text.clear();
        self.text.shrink_to(KEPT_BYTES_MAX);
        written
    }

    fn frame(
        &mut self,
        frame: &CaptureFrame<'_>,
        line: &CaptureLine<'_>,
        date: Option<&str>,
    ) -> io::Result<()> {
        if frame.cut_from_bytes.is_some() {
            self.losses.add(CUT_FRAMES);
            return Ok(());
        }
        lose_ends(&mut self.losses, frame);
        self.begin(frame.from, "message");
        self.put(",\"payload\":");
        match self.payload(frame, line) {
            Some(value) => {
                lose_white(&mut self.losses, frame.raw, value);
                self.losses.add(RAW);
                put_value(&mut self.text, value);
            }
            None => {
                let text = String::from_utf8_lossy(frame.raw);
                let is_utf8 = matches!(text, Cow::Borrowed(_));
                self.losses.add_if(!is_utf8, BYTES);
                put_string(&mut self.text, &text);
            }
        }
        self.end(date)
    }

    /// The frame as a value, where the form's reader takes it for one: strings there are what was no JSON.
    fn payload<'a>(
        &mut self,
        frame: &CaptureFrame<'a>,
        line: &CaptureLine<'_>,
    ) -> Option<&'a [u8]> {
        let Shape::Value(value) = shape(frame, line, &mut self.scanner) else {
            return None;
        };
        if matches!(value.first(), Some(b'"' | b'n')) {
            return None;
        }
        // The event around it is a level of its own. The form's reader is written with this parser.
        let is_deep = self.scanner.depth_max() > DEPTH_MAX;
        if is_deep || serde_json::from_slice::<serde_json::Value>(value).is_err() {
            self.losses.add(UNREAD);
            return None;
        }
        let repeats = self.scanner.body(frame.raw).is_some_and(has_a_name_twice);
        self.losses.add_if(repeats, DUPLICATES);
        Some(value)
    }

    fn head(
        &mut self,
        http: &Http<'_>,
        line: &CaptureLine<'_>,
        date: Option<&str>,
    ) -> io::Result<bool> {
        self.losses.add_if(!http.sse.is_empty(), SSE);
        let Some(head) = &http.head else {
            return Ok(true);
        };
        let mut is_read_so = true;
        match &head.start {
            Start::Request { method, target } => {
                self.losses.add_if(target.is_some(), TARGETS);
                self.exchanges.begin(method);
                self.names.insert(self.exchanges.last, exchange_name(line));
                if self.names.len() > NAMES_MAX {
                    self.names.pop_first();
                }
                self.begin(Role::Client, "http");
                self.put(",\"method\":");
                put_string(&mut self.text, method);
            }
            Start::Answer { status } => {
                let fields = head.fields.iter().flatten();
                let number = self.exchanges.answered(*status, tells_stream(fields));
                is_read_so = self.is_of(number, line);
                self.begin(Role::Server, "http");
                self.put(&format!(",\"status\":{status}"));
            }
        }
        match &head.fields {
            Some(fields) => self.fields(fields),
            None => self.losses.add(FIELDS),
        }
        self.end(date)?;
        Ok(is_read_so)
    }

    /// A name can stand there once: values of the same one are joined, as HTTP allows for lists.
    fn fields(&mut self, fields: &[Field<'_>]) {
        let mut joined: BTreeMap<String, String> = BTreeMap::new();
        for field in fields {
            let name = field.name.to_ascii_lowercase();
            if CREDENTIALS.contains(&name.as_str()) {
                self.losses.add(SECRETS);
                continue;
            }
            match joined.get_mut(&name) {
                Some(value) => {
                    self.losses.add(REPEATED);
                    value.push_str(", ");
                    value.push_str(&field.value);
                }
                None => {
                    joined.insert(name, field.value.clone().into_owned());
                }
            }
        }
        self.put(",\"headers\":{");
        for (at, (name, value)) in joined.iter().enumerate() {
            self.put(if at == 0 { "" } else { "," });
            put_string(&mut self.text, name);
            self.put(":");
            put_string(&mut self.text, value);
        }
        self.put("}");
    }

    fn event(
        &mut self,
        event: &CaptureEvent<'_>,
        line: &CaptureLine<'_>,
        date: Option<&str>,
    ) -> io::Result<()> {
        let name = match (event.kind, event.by) {
            (EventKind::Recording, _) => return Ok(()),
            (kind, _) if is_of_recording(line, kind) => "transport-open",
            (EventKind::Eof | EventKind::Exit, Some(_)) if line.stream.is_none() => {
                self.losses.add_if(event.kind == EventKind::Exit, EXITS);
                "transport-close"
            }
            (EventKind::Drop, Some(_)) if line.stream.is_none() => "transport-abort",
            _ => {
                self.losses.add(EVENTS);
                return Ok(());
            }
        };
        self.losses.add_if(event.status.is_some(), STATUSES);
        self.losses.add_if(!event.raw.is_empty(), TEXTS);
        self.begin(event.by.unwrap_or(Role::Client), "lifecycle");
        self.put(&format!(",\"event\":\"{name}\""));
        self.end(date)
    }

    /// Counts that a session of its own is lost.
    fn place(&mut self, line: &CaptureLine<'_>) {
        if let Some(session) = &line.session
            && self.sessions.len() < SESSIONS_MAX
            && self.sessions.insert(session.clone().into_owned())
        {
            self.losses.add(SESSIONS);
        }
    }

    /// Whether the line is read as part of that exchange, and is.
    fn is_of(&self, number: u64, line: &CaptureLine<'_>) -> bool {
        match self.names.get(&number) {
            Some(name) => *name == exchange_name(line),
            None => line.stream.is_none(),
        }
    }
}

/// An event with a payload is read with these many levels below it at most.
const DEPTH_MAX: usize = 120;

impl<W: Write> Export for McpTrace<W> {
    fn line(&mut self, line: &CaptureLine<'_>) -> io::Result<()> {
        self.is_http |= is_http(self.opening, line);
        let date = self.dates.of(line.t_ms, &mut self.losses);
        let date = date.as_deref();
        let mut is_read_so = true;
        if let Some(http) = &line.http {
            match &line.what {
                CaptureWhat::Event(event) if event.by.is_none() => self.losses.add(HEADS),
                _ => is_read_so = self.head(http, line, date)?,
            }
        }
        if let CaptureWhat::Frame(frame) = &line.what
            && self.is_http
        {
            let message = classify(frame.raw, &mut self.scanner).message;
            let number = match frame.from {
                Role::Client => self.exchanges.sent(&message),
                Role::Server => self.exchanges.received(&message),
            };
            is_read_so &= self.is_of(number, line);
        }
        self.losses.add_if(!is_read_so, STREAMS);
        self.place(line);
        match &line.what {
            CaptureWhat::Frame(frame) => self.frame(frame, line, date),
            CaptureWhat::Event(event) => self.event(event, line, date),
            CaptureWhat::Http(_) => Ok(()),
        }
    }

    fn finish(&mut self, end: &End) -> io::Result<()> {
        lose_circumstances(&mut self.losses, self.opening, end);
        self.out.flush()
    }

    fn losses(&mut self) -> &mut Losses {
        &mut self.losses
    }

    fn remarks(&self) -> Vec<String> {
        let date = self.dates.has_no_date.then(|| EPOCH.to_owned());
        date.into_iter().collect()
    }
}

/// Exchanges are told apart by session and stream.
fn exchange_name(line: &CaptureLine<'_>) -> String {
    let part = |name: &Option<Cow<'_, str>>| format!("{:?}", name.as_deref());
    part(&line.session) + &part(&line.stream)
}

/// Whether a name stands twice in some object of it.
fn has_a_name_twice(body: crate::tape::Value<'_>) -> bool {
    let mut objects = body
        .all()
        .filter(|value| value.is_object() && value.may_repeat());
    objects.any(|object| {
        let mut names = BTreeSet::new();
        let mut members = object.members();
        !members.all(|(name, _)| names.insert(name.as_bytes()))
    })
}
