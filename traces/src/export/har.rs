//! HTTP Archive 1.2: an entry for each exchange. Sessions on a pipe become exchanges as if each frame of the client were a
//! request: an answer goes to what it answers, and whatever else the server says to what is open, or to a GET that listens.
//! Entries are kept until the end, since an exchange may last as long as the session.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};

use super::date::{Dates, iso};
use super::{
    BREAKS, BYTES, Beginning, CUT_FRAMES, EPOCH, EVENTS, End, Export, FIELDS, HEADS, Losses, SSE,
    STATUSES, ends_exchange, is_of_recording, lose_ends,
};
use crate::capture::{CaptureEvent, CaptureFrame, CaptureLine, CaptureWhat, EventKind};
use crate::classify::classify;
use crate::event::Role;
use crate::file::json::{put_base64, put_string};
use crate::http::{Field, Head, Http, Sse, Start};
use crate::key::Key;
use crate::message::Kind;
use crate::scan::Scanner;

pub(super) struct Har<W> {
    out: W,
    beginning: Beginning,
    scanner: Scanner,
    dates: Dates,
    entries: Vec<Entry>,
    /// The latest entry of each exchange that the log names.
    exchanges: BTreeMap<String, usize>,
    /// Of each session of a log that names no exchanges.
    pipes: BTreeMap<String, Pipe>,
    has_untimed: bool,
    /// The latest time so far: entries stand in their order, which readers take from their times.
    clock_ms: Option<u64>,
    losses: Losses,
}

/// A session without exchanges.
#[derive(Default)]
struct Pipe {
    /// Requests without an answer, the latest last, by their ids; a batch has none.
    open: Vec<(Key, usize)>,
    /// What the server said last when nothing was open.
    listening: Option<usize>,
}

/// An exchange.
#[derive(Default)]
struct Entry {
    session: Option<String>,
    start_ms: Option<u64>,
    answer_ms: Option<u64>,
    last_ms: Option<u64>,
    request: Option<Head<'static>>,
    body: Option<Vec<u8>>,
    response: Option<Head<'static>>,
    answers: Vec<Answer>,
    /// The log does not tell that there was such an exchange.
    is_made_up: bool,
    /// Nothing is to be answered: what was sent is no request.
    is_one_way: bool,
    /// The log says that the answer has no body.
    is_empty: bool,
    /// A frame of the client, or of the server, was cut off and is left out.
    is_request_cut: bool,
    is_answer_cut: bool,
    /// How it ended, and by whom.
    end: Option<(Option<Role>, EventKind)>,
}

/// A frame in an answer, or a server-sent event without one.
struct Answer {
    raw: Option<Vec<u8>>,
    sse: Sse<'static>,
}

const EVENTS_OF_SERVER: &str = "text/event-stream";

const ORDER: &str = "places of frames among those of other exchanges";
const TIMES: &str = "times of frames within an answer";
const BACK: &str = "times earlier than that of the line before, now the same";
const ADDED: &str = "frames that share a request, now requests of their own";
const EVENT_STREAMS: &str = "answers of several frames, now server-sent events";
const EMPTY: &str = "empty frames in server-sent events";
const ADDRESS: &str = "what the log does not tell of addresses is made up: http://mcp.invalid/";
const MADE_UP: &str = "the log tells of no HTTP exchanges: methods and statuses are made up";
pub(crate) const UNDATED: &str = "what has no time is written as of 1970-01-01T00:00:00Z";

/// Where nothing is known of the time.
const NO_DATE: &str = "1970-01-01T00:00:00.000Z";

// Comments that tell a reader of our archives what else was known, or was not.

/// The address where nothing is known of it.
pub(crate) const NOWHERE: &str = "http://mcp.invalid";
/// On a request or an answer.
pub(crate) const NO_FIELDS: &str = "headers were not recorded";
pub(crate) const NO_HEAD: &str = "the head was not recorded";
/// On a body.
pub(crate) const LEFT_OUT: &str = "a frame that was cut off is left out";
/// On an entry.
pub(crate) const PIPED: &str = "made up of frames on a pipe";
pub(crate) const BROKEN: &str = "the connection broke";
pub(crate) const CLOSED_BY_CLIENT: &str = "the client closed it";
pub(crate) const CLOSED_BY_SERVER: &str = "the server closed it";

impl<W: Write> Har<W> {
    pub(super) fn new(out: W, beginning: Beginning) -> Har<W> {
        Har {
            out,
            beginning,
            scanner: Scanner::new(),
            dates: Dates::default(),
            entries: vec![],
            exchanges: BTreeMap::new(),
            pipes: BTreeMap::new(),
            has_untimed: false,
            clock_ms: None,
            losses: Losses::default(),
        }
    }

    /// A new entry, and its place.
    fn add(&mut self, line: &CaptureLine<'_>) -> usize {
        self.entries.push(Entry {
            session: line.session.as_deref().map(str::to_owned),
            ..Entry::default()
        });
        self.entries.len() - 1
    }

    /// The latest entry of the line's exchange. The answer may be the first to name the session.
    fn known(&mut self, line: &CaptureLine<'_>) -> Option<usize> {
        let name = exchange_name(line);
        if let Some(&at) = self.exchanges.get(&name) {
            return Some(at);
        }
        let session = line.session.as_deref()?;
        let nameless = format!("{:?}{:?}", None::<&str>, line.stream.as_deref());
        let at = *self.exchanges.get(&nameless)?;
        let entry = &mut self.entries[at];
        let is_asked = entry.request.is_some() || entry.body.is_some();
        if !is_asked || entry.response.is_some() || !entry.answers.is_empty() {
            return None;
        }
        entry.session = Some(session.to_owned());
        self.exchanges.remove(&nameless);
        self.exchanges.insert(name, at);
        Some(at)
    }

    /// The entry of the line's exchange, for what the client sends: another one where that cannot belong to it any more.
    fn request(&mut self, line: &CaptureLine<'_>, has_body: bool) -> usize {
        let name = exchange_name(line);
        let has_head = line.http.as_deref().is_some_and(|http| http.head.is_some());
        if let Some(&at) = self.exchanges.get(&name) {
            let entry = &self.entries[at];
            let is_answered = entry.response.is_some() || !entry.answers.is_empty();
            let is_taken = has_head && entry.request.is_some() || has_body && entry.body.is_some();
            if !is_answered && !is_taken {
                return at;
            }
            self.losses.add_if(!has_head, ADDED);
        }
        let at = self.add(line);
        self.exchanges.insert(name, at);
        at
    }

    /// The entry of the line's exchange, for what the server sends.
    fn response(&mut self, line: &CaptureLine<'_>) -> usize {
        if let Some(at) = self.known(line) {
            return at;
        }
        let at = self.add(line);
        self.exchanges.insert(exchange_name(line), at);
        at
    }

    /// Notes the time of what goes into an entry, and whether others came between.
    fn touch(&mut self, at: usize, line: &CaptureLine<'_>, from: Role) {
        self.losses.add_if(at + 1 < self.entries.len(), ORDER);
        let date = self.dates.of(line.t_ms, &mut self.losses);
        self.has_untimed |= date.is_none();
        let is_back = line.t_ms.is_some() && line.t_ms < self.clock_ms;
        self.losses.add_if(is_back, BACK);
        self.clock_ms = self.clock_ms.max(line.t_ms);
        let t_ms = line.t_ms.and(self.clock_ms);
        let entry = &mut self.entries[at];
        entry.start_ms = entry.start_ms.or(t_ms);
        if from == Role::Server {
            entry.answer_ms = entry.answer_ms.or(t_ms);
        }
        entry.last_ms = entry.last_ms.max(t_ms);
    }

    /// What the line tells of HTTP, where it is of an exchange: what is made up has none of it.
    fn of_exchange<'l>(&mut self, line: &'l CaptureLine<'_>) -> Option<&'l Http<'l>> {
        let http = line.http.as_deref()?;
        let is_made_up = line.stream.is_none();
        self.losses.add_if(is_made_up && http.head.is_some(), HEADS);
        self.losses.add_if(is_made_up && !http.sse.is_empty(), SSE);
        (!is_made_up).then_some(http)
    }

    /// The head of a line, at its entry.
    fn head(&mut self, at: usize, http: &Http<'_>) {
        let Some(head) = &http.head else { return };
        self.losses.add_if(head.fields.is_none(), FIELDS);
        let entry = &mut self.entries[at];
        let place = match head.start {
            Start::Request { .. } => &mut entry.request,
            Start::Answer { .. } => &mut entry.response,
        };
        if place.is_some() {
            self.losses.add(HEADS);
        } else {
            *place = Some(head.clone().into_owned());
        }
    }

    fn client(&mut self, frame: &CaptureFrame<'_>, line: &CaptureLine<'_>) {
        let is_cut = frame.cut_from_bytes.is_some();
        let at = match line.stream {
            Some(_) => self.request(line, !is_cut),
            None if is_cut => return,
            None => self.posted(frame, line),
        };
        self.touch(at, line, Role::Client);
        if let Some(http) = self.of_exchange(line) {
            self.head(at, http);
        }
        match is_cut {
            true => self.entries[at].is_request_cut = true,
            false => self.entries[at].body = Some(self.text(frame, line)),
        }
    }

    /// The text of a frame. On a pipe a line feed would end the line: whoever laid the frame out meant a blank.
    fn text(&mut self, frame: &CaptureFrame<'_>, line: &CaptureLine<'_>) -> Vec<u8> {
        let mut raw = frame.raw.to_vec();
        if frame.is_laid_out && line.stream.is_none() && raw.contains(&b'\n') {
            self.losses.add(BREAKS);
            for byte in raw.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')) {
                *byte = b' ';
            }
        }
        raw
    }

    /// A request for a frame on a pipe.
    fn posted(&mut self, frame: &CaptureFrame<'_>, line: &CaptureLine<'_>) -> usize {
        let at = self.add(line);
        let message = classify(frame.raw, &mut self.scanner).message;
        let is_asking = matches!(message.kind, Kind::Request | Kind::Batch);
        let pipe = self.pipes.entry(session_name(line)).or_default();
        pipe.listening = None;
        if is_asking {
            pipe.open.push((message.id, at));
        }
        let entry = &mut self.entries[at];
        (entry.is_made_up, entry.is_one_way) = (true, !is_asking);
        at
    }

    fn server(&mut self, frame: &CaptureFrame<'_>, line: &CaptureLine<'_>) {
        let is_cut = frame.cut_from_bytes.is_some();
        let at = match line.stream {
            Some(_) => self.response(line),
            None if is_cut => return,
            None => self.answered(frame, line),
        };
        self.touch(at, line, Role::Server);
        let mut sse = Sse::default();
        if let Some(http) = self.of_exchange(line) {
            self.head(at, http);
            sse = http.clone().into_owned().sse;
        }
        if is_cut {
            self.entries[at].is_answer_cut = true;
        } else {
            let raw = Some(self.text(frame, line));
            self.entries[at].answers.push(Answer { raw, sse });
        }
    }

    /// The entry whose answer a frame on a pipe is part of.
    fn answered(&mut self, frame: &CaptureFrame<'_>, line: &CaptureLine<'_>) -> usize {
        let message = classify(frame.raw, &mut self.scanner).message;
        let is_answer = message.kind.is_response() || message.kind == Kind::Batch;
        let pipe = self.pipes.entry(session_name(line)).or_default();
        let asked = pipe.open.iter().position(|(id, _)| *id == message.id);
        if let Some(nth) = asked.filter(|_| is_answer) {
            return pipe.open.remove(nth).1;
        }
        if let Some((_, latest)) = pipe.open.last() {
            return *latest;
        }
        if let Some(at) = pipe.listening {
            return at;
        }
        let at = self.add(line);
        self.entries[at].is_made_up = true;
        let pipe = self.pipes.entry(session_name(line)).or_default();
        pipe.listening = Some(at);
        at
    }

    /// A head without a body, or an event without data.
    fn alone(&mut self, by: Role, line: &CaptureLine<'_>) {
        let Some(http) = line.http.as_deref() else {
            return;
        };
        if line.stream.is_none() {
            self.losses.add(HEADS);
            return;
        }
        let at = match by {
            Role::Client => self.request(line, false),
            Role::Server => self.response(line),
        };
        self.touch(at, line, by);
        self.head(at, http);
        if !http.sse.is_empty() {
            let sse = http.clone().into_owned().sse;
            self.entries[at].answers.push(Answer { raw: None, sse });
        }
    }

    fn event(&mut self, event: &CaptureEvent<'_>, line: &CaptureLine<'_>) {
        if line.http.is_some() {
            self.alone(event.by.unwrap_or(Role::Server), line);
        }
        match event.kind {
            kind if is_of_recording(line, kind) => {}
            EventKind::EmptyBody if line.stream.is_some() => {
                let at = self.response(line);
                self.entries[at].is_empty = true;
            }
            kind => {
                let is_end =
                    ends_exchange(line, kind) && (event.by.is_some() || kind == EventKind::Drop);
                let at = self.known(line).filter(|_| is_end);
                match at.map(|at| &mut self.entries[at].end) {
                    Some(end @ None) => *end = Some((event.by, kind)),
                    _ => self.losses.add(EVENTS),
                }
                self.losses.add_if(event.status.is_some(), STATUSES);
            }
        }
    }

    fn document(&mut self, end: &End) -> io::Result<()> {
        let entries = std::mem::take(&mut self.entries);
        let is_made_up = entries.iter().any(|entry| entry.is_made_up);
        let mut text = b"{\"log\":{\"version\":\"1.2\",\"creator\":".to_vec();
        let (name, version) = self
            .beginning
            .program
            .split_once(' ')
            .unwrap_or(("mcpsim", ""));
        put(&mut text, "{\"name\":");
        put_string(&mut text, name);
        put(&mut text, ",\"version\":");
        put_string(&mut text, version);
        put(&mut text, "}");
        self.circumstances(end, &mut text);
        put(&mut text, ",\"pages\":[");
        self.pages(&entries, &mut text);
        put(&mut text, "],\"entries\":[");
        for (at, entry) in entries.iter().enumerate() {
            put(&mut text, if at == 0 { "\n" } else { ",\n" });
            entry.write(&mut text, &mut self.losses);
            self.out.write_all(&text)?;
            text.clear();
        }
        put(&mut text, "\n]");
        let said = [(is_made_up, MADE_UP), (self.has_untimed, UNDATED)];
        let said = said.iter().filter(|(is_so, _)| *is_so);
        let said: Vec<&str> = said.map(|(_, words)| *words).collect();
        if !said.is_empty() {
            put(&mut text, ",\"comment\":");
            put_string(&mut text, &said.join("; "));
        }
        put(&mut text, "}}\n");
        self.out.write_all(&text)?;
        self.out.flush()
    }

    /// Members of our own begin with an underscore, as those must that the form does not name.
    fn circumstances(&self, end: &End, text: &mut Vec<u8>) {
        let opening = self.beginning.opening;
        if let Some(vantage) = opening.vantage {
            put(text, &format!(",\"_vantage\":\"{}\"", vantage.as_str()));
        }
        if opening.whole {
            put(text, ",\"_whole\":true");
        }
        for (at, name) in end.lost.names().enumerate() {
            put(text, if at == 0 { ",\"_lost\":[" } else { "," });
            put_string(text, name);
        }
        if !end.lost.is_nothing() {
            put(text, "]");
        }
    }

    /// Sessions that have names are pages.
    fn pages(&self, entries: &[Entry], text: &mut Vec<u8>) {
        let mut starts: BTreeMap<&str, Option<u64>> = BTreeMap::new();
        for entry in entries {
            if let Some(session) = &entry.session {
                starts.entry(session).or_insert(entry.start_ms);
            }
        }
        for (at, (session, start_ms)) in starts.iter().enumerate() {
            put(
                text,
                if at == 0 {
                    "{\"startedDateTime\":"
                } else {
                    ",{\"startedDateTime\":"
                },
            );
            put_string(text, &date(*start_ms));
            for member in [",\"id\":", ",\"title\":"] {
                put(text, member);
                put_string(text, session);
            }
            put(text, ",\"pageTimings\":{}}");
        }
    }
}

impl<W: Write> Export for Har<W> {
    fn line(&mut self, line: &CaptureLine<'_>) -> io::Result<()> {
        match &line.what {
            CaptureWhat::Frame(frame) => {
                lose_ends(&mut self.losses, frame);
                self.losses
                    .add_if(frame.cut_from_bytes.is_some(), CUT_FRAMES);
                match frame.from {
                    Role::Client => self.client(frame, line),
                    Role::Server => self.server(frame, line),
                }
            }
            CaptureWhat::Event(event) => self.event(event, line),
            CaptureWhat::Http(by) => self.alone(*by, line),
        }
        Ok(())
    }

    fn finish(&mut self, end: &End) -> io::Result<()> {
        self.document(end)
    }

    fn losses(&mut self) -> &mut Losses {
        &mut self.losses
    }

    fn remarks(&self) -> Vec<String> {
        let said = [
            (!self.pipes.is_empty(), MADE_UP),
            (true, ADDRESS),
            (self.dates.has_no_date, EPOCH),
            (self.has_untimed, UNDATED),
        ];
        let said = said.into_iter().filter(|(is_so, _)| *is_so);
        said.map(|(_, words)| words.to_owned()).collect()
    }
}

impl Entry {
    fn write(&self, out: &mut Vec<u8>, losses: &mut Losses) {
        put(out, "{\"startedDateTime\":");
        put_string(out, &date(self.start_ms));
        let between = |from: Option<u64>, to: Option<u64>| {
            to.zip(from).map_or(0, |(to, from)| to.saturating_sub(from))
        };
        let time = between(self.start_ms, self.last_ms);
        let wait = between(self.start_ms, self.answer_ms).min(time);
        put(out, &format!(",\"time\":{time}"));
        if let Some(session) = &self.session {
            put(out, ",\"pageref\":");
            put_string(out, session);
        }
        put(out, ",\"request\":");
        self.write_request(out, losses);
        put(out, ",\"response\":");
        self.write_response(out, losses);
        let receive = time - wait;
        put(
            out,
            &format!(
                ",\"cache\":{{}},\"timings\":{{\"send\":0,\"wait\":{wait},\"receive\":{receive}}}"
            ),
        );
        let comment = match self.end {
            _ if self.is_made_up => PIPED,
            Some((_, EventKind::Drop)) => BROKEN,
            Some((Some(Role::Client), _)) => CLOSED_BY_CLIENT,
            Some(_) => CLOSED_BY_SERVER,
            None => "",
        };
        if !comment.is_empty() {
            put(out, ",\"comment\":");
            put_string(out, comment);
        }
        put(out, "}");
        if self.last_ms.is_some() {
            losses.add_many(TIMES, self.answers.len().saturating_sub(2) as u64);
        }
    }

    /// The method that it has, or that fits what is known.
    fn method(&self) -> &str {
        let known = self.request.as_ref().and_then(Head::method);
        known.unwrap_or(if self.body.is_some() { "POST" } else { "GET" })
    }

    fn write_request(&self, out: &mut Vec<u8>, losses: &mut Losses) {
        let head = self.request.as_ref();
        put(out, "{\"method\":");
        put_string(out, self.method());
        let url = address(head);
        put(out, ",\"url\":");
        put_string(out, &url);
        put(out, ",\"httpVersion\":\"unknown\",\"cookies\":[]");
        put_fields(out, head);
        put(out, ",\"queryString\":[");
        put_query(out, &url);
        let size = match &self.body {
            Some(body) => format!("{}", body.len()),
            None if self.is_request_cut => "1".to_owned(),
            None => "0".to_owned(),
        };
        put(out, &format!("],\"headersSize\":-1,\"bodySize\":{size}"));
        if let Some(body) = &self.body {
            let text = String::from_utf8_lossy(body);
            losses.add_if(matches!(text, Cow::Owned(_)), BYTES);
            put(out, ",\"postData\":{\"mimeType\":");
            put_string(out, content_type(head).unwrap_or("application/json"));
            put(out, ",\"text\":");
            put_string(out, &text);
            put(out, "}");
        }
        put(out, "}");
    }

    fn write_response(&self, out: &mut Vec<u8>, losses: &mut Losses) {
        let head = self.response.as_ref();
        let (body, kind) = self.content(losses);
        let status = head
            .and_then(Head::status)
            .unwrap_or(match self.answers.len() {
                0 if self.is_one_way => 202,
                0 if !self.is_empty && !self.is_answer_cut => 0,
                _ => 200,
            });
        put(
            out,
            &format!("{{\"status\":{status},\"statusText\":\"{}\"", words(status)),
        );
        put(out, ",\"httpVersion\":\"unknown\",\"cookies\":[]");
        put_fields(out, head);
        // A body cannot be there and be empty.
        losses.add_if(self.is_empty && !self.answers.is_empty(), EVENTS);
        // A head alone tells of no body, and of none either.
        let is_told = !body.is_empty() || self.is_empty || head.is_none() && !self.is_answer_cut;
        let is_stream = kind.starts_with(EVENTS_OF_SERVER);
        let size = match is_told || is_stream {
            true => body.len().to_string(),
            false => "-1".to_owned(),
        };
        put(
            out,
            &format!(",\"content\":{{\"size\":{size},\"mimeType\":"),
        );
        put_string(out, kind);
        match std::str::from_utf8(&body) {
            Ok("") if !is_told && !is_stream => {}
            Ok(text) => {
                put(out, ",\"text\":");
                put_string(out, text);
            }
            Err(_) => {
                put(out, ",\"text\":");
                put_base64(out, &body);
                put(out, ",\"encoding\":\"base64\"");
            }
        }
        if self.is_answer_cut {
            put(out, ",\"comment\":");
            put_string(out, LEFT_OUT);
        }
        put(
            out,
            &format!("}},\"redirectURL\":\"\",\"headersSize\":-1,\"bodySize\":{size}}}"),
        );
    }

    /// The body of the answer, and what it is.
    fn content(&self, losses: &mut Losses) -> (Vec<u8>, &str) {
        let told = content_type(self.response.as_ref());
        let is_told = told.is_some_and(|told| told.starts_with(EVENTS_OF_SERVER));
        let has_events = self.answers.iter().any(|answer| !answer.sse.is_empty());
        let is_listening = told.is_none() && self.method() == "GET" && !self.answers.is_empty();
        if is_told || has_events || is_listening || self.answers.len() > 1 {
            let is_new =
                told.is_some() && !is_told || self.answers.len() > 1 && !is_told && !has_events;
            losses.add_if(is_new && !is_listening, EVENT_STREAMS);
            let mut body = vec![];
            self.answers
                .iter()
                .for_each(|answer| answer.write(&mut body, losses));
            let kind = told.filter(|_| is_told).unwrap_or(EVENTS_OF_SERVER);
            return (body, kind);
        }
        match self.answers.first().and_then(|answer| answer.raw.clone()) {
            Some(raw) => (raw, told.unwrap_or("application/json")),
            None => (vec![], told.unwrap_or("x-unknown")),
        }
    }
}

impl Answer {
    /// As a server-sent event.
    fn write(&self, out: &mut Vec<u8>, losses: &mut Losses) {
        for (name, value) in [("event", &self.sse.event), ("id", &self.sse.id)] {
            match value {
                Some(value) if value.contains(['\n', '\r', '\0']) => losses.add(SSE),
                Some(value) => put(out, &format!("{name}: {value}\n")),
                None => {}
            }
        }
        if let Some(retry_ms) = self.sse.retry_ms {
            put(out, &format!("retry: {retry_ms}\n"));
        }
        if let Some(raw) = &self.raw {
            losses.add_if(raw.is_empty(), EMPTY);
            losses.add_if(raw.contains(&b'\r'), BREAKS);
            // Each of these ends a line there; a CR and an LF together are one end.
            let mut rest = &raw[..];
            loop {
                let end = memchr::memchr2(b'\n', b'\r', rest);
                out.extend_from_slice(b"data: ");
                out.extend_from_slice(&rest[..end.unwrap_or(rest.len())]);
                out.push(b'\n');
                let Some(end) = end else { break };
                let is_pair = rest[end..].starts_with(b"\r\n");
                rest = &rest[end + if is_pair { 2 } else { 1 }..];
            }
        }
        out.push(b'\n');
    }
}

fn put(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

fn date(t_ms: Option<u64>) -> String {
    t_ms.and_then(iso).unwrap_or_else(|| NO_DATE.to_owned())
}

fn session_name(line: &CaptureLine<'_>) -> String {
    line.session.as_deref().unwrap_or_default().to_owned()
}

/// Exchanges are told apart by session and stream.
fn exchange_name(line: &CaptureLine<'_>) -> String {
    format!("{:?}{:?}", line.session.as_deref(), line.stream.as_deref())
}

fn content_type<'a>(head: Option<&'a Head<'_>>) -> Option<&'a str> {
    head?.value("content-type")
}

/// A whole address: what the log does not tell of it stands for nothing that there is.
fn address(head: Option<&Head<'_>>) -> String {
    let host = head.and_then(|head| head.value("host"));
    let Some(target) = head.and_then(Head::target) else {
        return host.map_or(NOWHERE.to_owned(), |host| format!("http://{host}/"));
    };
    if target.contains("://") {
        return target.to_owned();
    }
    let slash = if target.starts_with('/') { "" } else { "/" };
    match host {
        Some(host) => format!("http://{host}{slash}{target}"),
        None => format!("{NOWHERE}{slash}{target}"),
    }
}

fn put_fields(out: &mut Vec<u8>, head: Option<&Head<'_>>) {
    put(out, ",\"headers\":[");
    let fields = head.and_then(|head| head.fields.as_deref());
    for (at, Field { name, value }) in fields.unwrap_or_default().iter().enumerate() {
        put(out, if at == 0 { "{\"name\":" } else { ",{\"name\":" });
        put_string(out, name);
        put(out, ",\"value\":");
        put_string(out, value);
        put(out, "}");
    }
    put(out, "]");
    if fields.is_none() {
        put(out, ",\"comment\":");
        put_string(out, if head.is_some() { NO_FIELDS } else { NO_HEAD });
    }
}

/// The pairs of a query, as they are spelled.
fn put_query(out: &mut Vec<u8>, url: &str) {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    for (at, pair) in pairs.enumerate() {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        put(out, if at == 0 { "{\"name\":" } else { ",{\"name\":" });
        put_string(out, name);
        put(out, ",\"value\":");
        put_string(out, value);
        put(out, "}");
    }
}

/// What commonly stands behind a status.
fn words(status: u16) -> &'static str {
    match status {
        200 => "OK",
        202 => "Accepted",
        204 => "No Content",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        500 => "Internal Server Error",
        _ => "",
    }
}
