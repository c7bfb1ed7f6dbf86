//! Frames of both sides in one stream, with nothing that tells who sent them: that is concluded from initialize, from methods
//! that only one side has, and from requests that responses belong to.

use super::entry::{Entries, Entry, Text};
use super::json_lines::members_of;
use super::sender::{Sender, Senders};
use super::{Head, Kind, Lost, Reading, several, starts_initialize};
use crate::lines::Line;
use crate::scan::{Scanner, white};

pub(super) const FORMAT: super::Format = super::Format {
    name: "bare",
    what: "frames of both sides without a word of who sent them",
    found: "home-made loggers, dumps on standard error",
    lost: Lost::DIRECTION.with(Lost::TIME).with(Lost::LINES),
    hint: "who sent a frame is concluded: {\"dir\":\"c2s\",\"raw\":\"…\"} says it",
    is_read: true,
    recognises,
    kind: Kind::Bare,
};

/// The request that a session begins with and the answer to it: one side alone is no session.
fn recognises(head: &Head<'_>) -> bool {
    let is_frame = |line: &[u8]| {
        let names: [&[u8]; 3] = [b"jsonrpc", b"dir", b"direction"];
        members_of(line, &names)
            .is_some_and(|members| members.has(0) && !members.has(1) && !members.has(2))
    };
    let mut is_asked = false;
    for line in head.lines.iter().copied() {
        if line.first().is_none_or(|byte| *byte != b'{') {
            continue;
        }
        if starts_initialize(line) && is_frame(line) {
            is_asked = true;
        } else if is_asked && is_hello(line) && is_frame(line) {
            return true;
        }
    }
    false
}

/// Whether it is what a server answers to initialize.
fn is_hello(line: &[u8]) -> bool {
    let names: [&[u8]; 1] = [b"result"];
    let Some(result) = members_of(line, &names).and_then(|members| members.raw(0)) else {
        return false;
    };
    let names: [&[u8]; 1] = [b"protocolVersion"];
    members_of(result, &names).is_some_and(|members| members.has(0))
}

#[derive(Clone, Default)]
pub(super) struct Form {
    scanner: Scanner,
    senders: Senders,
    likely: u64,
    unknown: u64,
    /// Lines that are no frames.
    others: u64,
}

impl super::Form for Form {
    fn line(&mut self, line: &Line<'_>, out: &mut Entries) -> Reading<()> {
        let mark = line.number == 1 && line.bytes.starts_with(b"\xEF\xBB\xBF");
        let first = white(line.bytes, if mark { 3 } else { 0 });
        let text = line.bytes[first..].trim_ascii_end();
        if !matches!(text.first(), Some(b'{' | b'[')) {
            self.others += 1;
            return Ok(());
        }
        let role = match self.senders.next(text, &mut self.scanner) {
            Sender::Certain(role) => role,
            Sender::Likely(role) => {
                self.likely += 1;
                role
            }
            Sender::Unknown => {
                self.unknown += 1;
                return Ok(());
            }
        };
        out.push_back(Entry::frame(
            role,
            None,
            Text::Here(first..first + text.len()),
        ));
        Ok(())
    }

    fn lost(&self) -> Lost {
        match self.unknown {
            0 => Lost::NOTHING,
            _ => Lost::FRAMES,
        }
    }

    fn guessed(&self) -> Vec<String> {
        let mut guessed = vec!["direction: from methods, and from what is answered".to_owned()];
        if self.likely > 0 {
            guessed.push(format!(
                "direction of {} either side may send: by whose ids go on with its id",
                several(self.likely, "request that", "requests that")
            ));
        }
        guessed
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = vec![];
        if self.unknown > 0 {
            remarks.push(format!(
                "{} does not tell who sent it, and was passed over",
                several(self.unknown, "frame", "frames: what each says")
            ));
        }
        if self.others > 0 {
            remarks.push(super::passed_over(self.others));
        }
        remarks
    }
}
