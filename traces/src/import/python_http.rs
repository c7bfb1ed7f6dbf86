//! What the client of the Python SDK logs on HTTP at the level DEBUG: `Sending client message: root=JSONRPCRequest(method=…)`
//! and `SSE message: …`, each message as Python shows it.

use super::entry::{Entries, Entry, Text};
use super::python::fields_to_json;
use super::time::stamp;
use super::{Kind, Lost, Reading, several, starts_initialize};
use crate::capture::Opening;
use crate::event::{LinkKind, Role};
use crate::file::json::Wrong;
use crate::lines::Line;

pub(super) const FORMAT: super::Format = super::Format {
    name: "python-sdk-http",
    what: "a log of a client of the Python SDK",
    found: "logging at DEBUG, mcp.client.streamable_http",
    lost: Lost::RAW.with(Lost::LINES).with(Lost::HTTP),
    hint: "its times are local; answers that came as plain JSON, not as a stream, are not in it",
    is_read: true,
    recognises: |head| head.any(|line| message(line).is_some()),
    kind: Kind::PythonHttp,
};

/// Who sent the message that the line has, and where it begins.
fn message(line: &[u8]) -> Option<(Role, usize)> {
    let logger = b"mcp.client.streamable_http";
    let at = memchr::memmem::find(&line[..line.len().min(200)], logger)?;
    let rest = &line[at + logger.len()..];
    // Formats differ in what they write between the logger and the message.
    let words: [(&[u8], Role); 3] = [
        (b"Sending client message: ", Role::Client),
        (b"SSE message: ", Role::Server),
        (b"JSON response: ", Role::Server),
    ];
    let found = words.iter().find_map(|(words, role)| {
        let near = &rest[..rest.len().min(words.len() + 24)];
        let at = memchr::memmem::find(near, words)?;
        Some((*role, &rest[at + words.len()..]))
    });
    let (role, text) = found?;
    Some((role, line.len() - text.len()))
}

#[derive(Clone, Default)]
pub(super) struct Form {
    kept: Vec<u8>,
    begun: u64,
    sent: u64,
    received: u64,
    untimed: bool,
    /// An answer came as plain JSON.
    is_plain: bool,
}

impl super::Form for Form {
    fn is_serial(&self) -> bool {
        false
    }

    fn line(&mut self, line: &Line<'_>, out: &mut Entries) -> Reading<()> {
        let Some((role, at)) = message(line.bytes) else {
            self.is_plain |= is_plain_answer(line.bytes);
            return Ok(());
        };
        // Half a name is a name as well: Python ends its lines.
        if !line.has_eol && !line.bytes.trim_ascii_end().ends_with(b")") {
            return Err(Wrong::new(at, "a line that has no end"));
        }
        self.kept.clear();
        let text = line.bytes[at..].trim_ascii_end();
        fields_to_json(text, &mut self.kept).map_err(|mut wrong| {
            wrong.at += at;
            wrong
        })?;
        match role {
            Role::Client => self.sent += 1,
            Role::Server => self.received += 1,
        }
        self.begun += u64::from(role == Role::Client && starts_initialize(&self.kept));
        let t_ms = stamp(line.bytes).map(|stamp| stamp.ms);
        self.untimed |= t_ms.is_none();
        let text = Text::Kept {
            text: 0..self.kept.len(),
            at,
        };
        out.push_back(Entry::frame(role, t_ms, text));
        Ok(())
    }

    fn kept(&self) -> &[u8] {
        &self.kept
    }

    fn opening(&self) -> Opening {
        Opening {
            transport: Some(LinkKind::Http),
            ..Opening::default()
        }
    }

    fn lost(&self) -> Lost {
        let mut lost = Lost::NOTHING;
        if self.lacks_answers() {
            lost |= Lost::FRAMES;
        }
        if self.begun > 1 {
            lost |= Lost::IDS | Lost::ORDER | Lost::FRAMES;
        }
        if self.untimed {
            lost |= Lost::TIME;
        }
        lost
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = vec![];
        if self.lacks_answers() {
            let sent = several(self.sent, "message was", "messages were");
            remarks.push(format!(
                "{sent} sent; answers that came as plain JSON are not in the log"
            ));
        }
        if self.begun > 1 {
            remarks.push(super::mixed(self.begun));
        }
        remarks
    }
}

impl Form {
    fn lacks_answers(&self) -> bool {
        self.is_plain || self.sent > 0 && self.received == 0
    }
}

/// Whether the line shows the head of an answer of plain JSON that was no error.
fn is_plain_answer(line: &[u8]) -> bool {
    let has = |words: &[u8]| memchr::memmem::find(line, words).is_some();
    has(b"receive_response_headers.complete")
        && has(b", 200, ")
        && has(b"b'application/json")
        && !has(b"text/event-stream")
}
