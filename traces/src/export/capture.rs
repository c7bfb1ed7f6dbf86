//! Captures: everything that a recording has, in lines of our own.

use std::io::{self, Write};

use super::{BREAKS, Beginning, End, Export, Losses};
use crate::capture::{CaptureEvent, CaptureFrame, CaptureLine, CaptureWhat, EventKind, Opening};
use crate::event::{LinkKind, Role};
use crate::file::json::{put_base64, put_string, put_strings};
use crate::http::{Head, Http};
use crate::lines::KEPT_BYTES_MAX;
use crate::lost::Lost;

pub(super) struct Capture<W> {
    out: W,
    text: Vec<u8>,
    beginning: Beginning,
    has_begun: bool,
    /// What the file says to be lost, so far.
    told: Lost,
    losses: Losses,
}

/// What the conversion concluded is told to whoever converts; a capture has no place for it.
const GUESSES: &str = "what had to be guessed";

impl<W: Write> Capture<W> {
    pub(super) fn new(out: W, beginning: Beginning) -> Capture<W> {
        Capture {
            out,
            text: vec![],
            beginning,
            has_begun: false,
            told: Lost::NOTHING,
            losses: Losses::default(),
        }
    }

    /// Where the observer stood has to come first, unless the first line says so itself.
    fn begin(&mut self) -> io::Result<()> {
        let opening = self.beginning.opening;
        if opening != Opening::default() {
            self.text.extend_from_slice(b"{\"event\":\"open\"");
            put_opening(&mut self.text, opening);
            self.end_line()?;
        }
        Ok(())
    }

    /// Says what is lost, where not all of that was said.
    fn tell(&mut self, lost: Lost) -> io::Result<()> {
        if self.told.has(lost) {
            return Ok(());
        }
        self.told |= lost;
        let names: Vec<&str> = lost.names().collect();
        self.text
            .extend_from_slice(b"{\"event\":\"recording\",\"lost\":");
        put_strings(&mut self.text, &names);
        self.end_line()
    }

    fn end_line(&mut self) -> io::Result<()> {
        self.text.extend_from_slice(b"}\n");
        let written = self.out.write_all(&self.text);
        self.text.clear();
        self.text.shrink_to(KEPT_BYTES_MAX);
        written
    }

    fn frame(&mut self, frame: &CaptureFrame<'_>, line: &CaptureLine<'_>) {
        // In a line of a pipe a line feed would end it: whoever laid the frame out meant a blank.
        if frame.is_laid_out && line.stream.is_none() && frame.raw.contains(&b'\n') {
            self.losses.add(BREAKS);
            let raw: Vec<u8> = frame
                .raw
                .iter()
                .map(|byte| if *byte == b'\n' { b' ' } else { *byte })
                .collect();
            put_raw(&mut self.text, &raw);
        } else {
            put_raw(&mut self.text, frame.raw);
        }
        if !frame.has_eol {
            put(&mut self.text, ",\"eol\":\"\"");
        }
        for (name, size) in [
            ("pad_to", frame.pad_to),
            ("cut_from_bytes", frame.cut_from_bytes),
        ] {
            if let Some(size) = size {
                put(&mut self.text, &format!(",\"{name}\":{size}"));
            }
        }
    }

    fn event(&mut self, event: &CaptureEvent<'_>) {
        put(&mut self.text, ",\"event\":");
        put_string(&mut self.text, &event.name);
        put_opening(&mut self.text, opening_of(event));
        if let Some(status) = event.status {
            put(&mut self.text, &format!(",\"status\":{status}"));
        }
        if !event.raw.is_empty() {
            put_raw(&mut self.text, event.raw);
        }
    }
}

impl<W: Write> Export for Capture<W> {
    fn line(&mut self, line: &CaptureLine<'_>) -> io::Result<()> {
        let event = match &line.what {
            CaptureWhat::Event(event) => Some(event),
            CaptureWhat::Frame(_) | CaptureWhat::Http(_) => None,
        };
        let says_so = event.is_some_and(|event| {
            event.kind == EventKind::Open && opening_of(event) == self.beginning.opening
        });
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        if is_first && !says_so {
            self.begin()?;
            self.tell(self.beginning.lost)?;
        }
        if let Some(event) = event.filter(|event| event.kind == EventKind::Recording) {
            return self.tell(event.lost);
        }
        let by = match &line.what {
            CaptureWhat::Frame(frame) => Some(frame.from),
            CaptureWhat::Event(event) => event.by,
            CaptureWhat::Http(by) => Some(*by),
        };
        let start = self.text.len();
        if let Some(t_ms) = line.t_ms {
            put(&mut self.text, &format!(",\"t_ms\":{t_ms}"));
        }
        if let Some(by) = by {
            put(
                &mut self.text,
                &format!(",\"dir\":\"{}\"", super::direction(by)),
            );
        }
        for (name, value) in [("session", &line.session), ("stream", &line.stream)] {
            if let Some(value) = value {
                put(&mut self.text, &format!(",\"{name}\":"));
                put_string(&mut self.text, value);
            }
        }
        if let Some(http) = &line.http {
            put_http(&mut self.text, http, by);
        }
        match &line.what {
            CaptureWhat::Frame(frame) => self.frame(frame, line),
            CaptureWhat::Event(event) => self.event(event),
            CaptureWhat::Http(_) => {}
        }
        // Each member brought its comma.
        self.text[start] = b'{';
        self.end_line()?;
        if is_first && says_so {
            self.tell(self.beginning.lost)?;
        }
        Ok(())
    }

    fn finish(&mut self, end: &End) -> io::Result<()> {
        if !self.has_begun {
            self.begin()?;
        }
        self.tell(end.lost)?;
        self.losses.add_many(GUESSES, end.guessed.len() as u64);
        self.out.flush()
    }

    fn losses(&mut self) -> &mut Losses {
        &mut self.losses
    }

    fn remarks(&self) -> Vec<String> {
        vec![]
    }
}

fn put(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

fn opening_of(event: &CaptureEvent<'_>) -> Opening {
    Opening {
        vantage: event.vantage,
        transport: event.transport,
        whole: event.whole,
    }
}

fn put_opening(out: &mut Vec<u8>, opening: Opening) {
    if let Some(vantage) = opening.vantage {
        put(out, &format!(",\"vantage\":\"{}\"", vantage.as_str()));
    }
    match opening.transport {
        Some(LinkKind::Pipe) => put(out, ",\"transport\":\"stdio\""),
        Some(LinkKind::Http) => put(out, ",\"transport\":\"http\""),
        None => {}
    }
    if opening.whole {
        put(out, ",\"whole\":true");
    }
}

/// The bytes as text where they are text.
fn put_raw(out: &mut Vec<u8>, raw: &[u8]) {
    match simdutf8::basic::from_utf8(raw) {
        Ok(text) => {
            put(out, ",\"raw\":");
            put_string(out, text);
        }
        Err(_) => {
            put(out, ",\"raw_b64\":");
            put_base64(out, raw);
        }
    }
}

/// A status alone has a short form, which needs no direction.
fn put_http(out: &mut Vec<u8>, http: &Http<'_>, by: Option<Role>) {
    let status = http.status().filter(|status| {
        let short = Head::of_status(*status);
        by.is_none() || http.head.as_ref() == Some(&short)
    });
    match status {
        Some(status) => {
            put(out, &format!(",\"http\":{status}"));
            let sse = http.sse.clone();
            Http { head: None, sse }.write(out);
        }
        None => http.write(out),
    }
}
