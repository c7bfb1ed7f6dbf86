//! Sessions as mcpsnoop reads them: an envelope a line, with the frame as it was.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::date::Dates;
use super::{
    BYTES, Beginning, EPOCH, EVENTS, End, Export, FIELDS, HEADS, Losses, SIZES, SSE, STATUSES,
    STREAMS, Shape, direction, ends_exchange, is_http, is_of_recording, lose_circumstances,
    lose_ends, lose_white, put_value, shape,
};
use crate::capture::{CaptureEvent, CaptureFrame, CaptureLine, CaptureWhat, Opening};
use crate::event::Role;
use crate::file::json::put_string;
use crate::http::{Http, Start};
use crate::lines::KEPT_BYTES_MAX;
use crate::scan::Scanner;

pub(super) struct Mcpsnoop<W> {
    out: W,
    opening: Opening,
    text: Vec<u8>,
    scanner: Scanner,
    dates: Dates,
    /// The number of each session's last line.
    numbers: BTreeMap<String, u64>,
    has_untimed: bool,
    losses: Losses,
}

/// A session needs a name.
const NAMELESS: &str = "mcpsim";

/// Only its stderr has a line of its own.
const STDERR: &str = "stderr";

impl<W: Write> Mcpsnoop<W> {
    pub(super) fn new(out: W, beginning: &Beginning) -> Mcpsnoop<W> {
        Mcpsnoop {
            out,
            opening: beginning.opening,
            text: vec![],
            scanner: Scanner::new(),
            dates: Dates::default(),
            numbers: BTreeMap::new(),
            has_untimed: false,
            losses: Losses::default(),
        }
    }

    fn put(&mut self, text: &str) {
        self.text.extend_from_slice(text.as_bytes());
    }

    /// Begins an envelope of that direction.
    fn begin(&mut self, line: &CaptureLine<'_>, direction: &str) {
        let session = line.session.as_deref().unwrap_or(NAMELESS);
        let number = match self.numbers.get_mut(session) {
            Some(last) => {
                *last += 1;
                *last
            }
            None => {
                self.numbers.insert(session.to_owned(), 1);
                1
            }
        };
        self.put("{\"session_id\":");
        put_string(&mut self.text, session);
        self.put(",\"server_label\":\"server\"");
        self.put(&format!(",\"seq\":{number}"));
        match self.dates.of(line.t_ms, &mut self.losses) {
            Some(date) => self.put(&format!(",\"ts\":\"{date}\"")),
            None => self.has_untimed = true,
        }
        let transport = if is_http(self.opening, line) {
            "http"
        } else {
            "stdio"
        };
        self.put(&format!(
            ",\"direction\":\"{direction}\",\"transport\":\"{transport}\""
        ));
    }

    fn end(&mut self) -> io::Result<()> {
        self.text.extend_from_slice(b"}\n");
        let written = self.out.write_all(&self.text);
        self.text.clear();
        self.text.shrink_to(KEPT_BYTES_MAX);
        written
    }

    fn text(&mut self, raw: &[u8]) {
        let text = String::from_utf8_lossy(raw);
        let is_utf8 = matches!(text, std::borrow::Cow::Borrowed(_));
        self.losses.add_if(!is_utf8, BYTES);
        self.put(",\"text\":");
        put_string(&mut self.text, &text);
    }

    fn frame(&mut self, frame: &CaptureFrame<'_>, line: &CaptureLine<'_>) -> io::Result<()> {
        lose_ends(&mut self.losses, frame);
        self.losses.add_if(line.stream.is_some(), STREAMS);
        self.begin(line, direction(frame.from));
        match shape(frame, line, &mut self.scanner) {
            // Null is as good as nothing to whoever reads it.
            Shape::Value(value) if value != b"null" => {
                lose_white(&mut self.losses, frame.raw, value);
                self.put(",\"raw\":");
                put_value(&mut self.text, value);
            }
            _ => self.text(frame.raw),
        }
        if let Some(size) = frame.cut_from_bytes {
            self.losses.add_if(size > 0, SIZES);
            self.put(",\"truncated\":true");
        }
        if let Some(http) = &line.http {
            self.http(http);
        }
        self.end()
    }

    /// What an envelope holds of HTTP: a status, and what routes a request.
    fn http(&mut self, http: &Http<'_>) {
        self.losses.add_if(!http.sse.is_empty(), SSE);
        let Some(head) = &http.head else { return };
        self.losses.add_if(head.fields.is_none(), FIELDS);
        match &head.start {
            Start::Answer { status } => {
                self.put(&format!(",\"status\":{status}"));
                self.losses.add(ANSWER_HEADS);
            }
            Start::Request { .. } => {
                self.losses.add(REQUEST_HEADS);
                for (member, field) in ROUTES {
                    if let Some(value) = head.value(field).filter(|value| !value.is_empty()) {
                        self.put(&format!(",\"{member}\":"));
                        put_string(&mut self.text, value);
                    }
                }
            }
        }
    }

    fn event(&mut self, event: &CaptureEvent<'_>, line: &CaptureLine<'_>) -> io::Result<()> {
        if is_of_recording(line, event.kind) {
            return Ok(());
        }
        self.losses.add_if(event.status.is_some(), STATUSES);
        self.losses.add_if(line.http.is_some(), HEADS);
        if event.name == STDERR && event.by == Some(Role::Server) {
            self.losses.add_if(line.stream.is_some(), STREAMS);
            self.begin(line, STDERR);
            self.text(event.raw);
            return self.end();
        }
        let is_end = ends_exchange(line, event.kind);
        self.losses.add(if is_end { STREAMS } else { EVENTS });
        Ok(())
    }
}

/// Members for what some headers say.
const ROUTES: [(&str, &str); 3] = [
    ("mcp_method", "mcp-method"),
    ("mcp_name", "mcp-name"),
    ("mcp_protocol_version", "mcp-protocol-version"),
];

const ANSWER_HEADS: &str = "heads of HTTP answers, but for the status";
const REQUEST_HEADS: &str = "heads of HTTP requests, but for what routes them";
const UNDATED: &str = "lines without a time have no \"ts\": mcpsnoop takes that for the year 1";

impl<W: Write> Export for Mcpsnoop<W> {
    fn line(&mut self, line: &CaptureLine<'_>) -> io::Result<()> {
        match &line.what {
            CaptureWhat::Frame(frame) => self.frame(frame, line),
            CaptureWhat::Event(event) => self.event(event, line),
            CaptureWhat::Http(_) => {
                let http = line.http.as_deref();
                let has_head = http.is_some_and(|http| http.head.is_some());
                self.losses.add(if has_head { HEADS } else { SSE });
                Ok(())
            }
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
        let mut remarks = vec![];
        if self.dates.has_no_date {
            remarks.push(EPOCH.to_owned());
        }
        if self.has_untimed {
            remarks.push(UNDATED.to_owned());
        }
        remarks
    }
}
