//! Sessions that mcpsnoop wrote: a JSON object a line, `{"session_id":…,"seq":…,"ts":…,"direction":"c2s","raw":{…}}`; `text`
//! instead of `raw` for what was no JSON; `stderr` and `meta` lines between.

use std::collections::BTreeMap;

use super::entry::{Entries, Entry, Text, Told};
use super::json_lines::Members;
use super::{Head, Kind, Lost, Reading};
use crate::event::Role;
use crate::lines::Line;
use crate::scan::{Scanner, unescape};

pub(super) const FORMAT: super::Format = super::Format {
    name: "mcpsnoop",
    what: "a session of mcpsnoop",
    found: "~/.local/state/mcpsnoop/sessions/*.jsonl, --trace-file",
    lost: Lost::NOTHING,
    hint: "gaps in `seq` are frames that the recorder dropped",
    is_read: true,
    recognises,
    kind: Kind::Mcpsnoop,
};

fn recognises(head: &Head<'_>) -> bool {
    head.lines.iter().take(4).any(|line| {
        let has = |words: &[u8]| memchr::memmem::find(line, words).is_some();
        line.starts_with(b"{")
            && has(b"\"session_id\":")
            && has(b"\"seq\":")
            && has(b"\"direction\":\"")
    })
}

const NAMES: [&[u8]; 9] = [
    b"session_id",
    b"seq",
    b"ts",
    b"direction",
    b"raw",
    b"text",
    b"conn_id",
    b"truncated",
    b"redacted",
];
const SESSION: usize = 0;
const SEQ: usize = 1;
const TIME: usize = 2;
const DIRECTION: usize = 3;
const RAW: usize = 4;
const TEXT: usize = 5;
const CONNECTION: usize = 6;
const TRUNCATED: usize = 7;
const REDACTED: usize = 8;

/// Sessions beyond this are not looked at for gaps.
const SESSIONS_MAX: usize = 1024;

#[derive(Clone, Default)]
pub(super) struct Form {
    scanner: Scanner,
    kept: Vec<u8>,
    /// The last number of each session.
    last: BTreeMap<String, i64>,
    missing: u64,
    redacted: u64,
}

impl super::Form for Form {
    fn line(&mut self, line: &Line<'_>, out: &mut Entries) -> Reading<()> {
        let members = Members::read(line, &NAMES, &mut self.scanner)?;
        let mut session = members.text(SESSION).unwrap_or_default().into_owned();
        if let Some(seq) = members.integer(SEQ)
            && self.last.len() < SESSIONS_MAX
        {
            let last = self.last.entry(session.clone()).or_insert(seq);
            if seq > *last + 1 {
                self.missing += (seq - *last - 1) as u64;
            }
            *last = seq;
        }
        let from = match () {
            () if members.is(DIRECTION, "c2s") => Some(Role::Client),
            () if members.is(DIRECTION, "s2c") => Some(Role::Server),
            () if members.is(DIRECTION, "stderr") => None,
            () => return Ok(()),
        };
        if let Some(connection) = members.text(CONNECTION).filter(|one| !one.is_empty()) {
            session = format!("{session}/{connection}");
        }
        let text = match (members.span(RAW), members.span(TEXT)) {
            (Some(raw), _) => Text::Here(raw),
            (None, Some(text)) if line.bytes[text.start] == b'"' => {
                self.kept.clear();
                let inside = text.start + 1..text.end - 1;
                unescape(&line.bytes[inside.clone()], &mut self.kept);
                let text = 0..self.kept.len();
                Text::Json { text, inside }
            }
            _ if from.is_none() => return Ok(()),
            _ => return Err(members.wrong(DIRECTION, "a frame with neither \"raw\" nor \"text\"")),
        };
        let Some(from) = from else {
            let entry = Entry::told(members.time(TIME), Told::Stderr(text));
            out.push_back(entry.in_session(Some(session)));
            return Ok(());
        };
        self.redacted += u64::from(members.raw(REDACTED).is_some_and(|raw| raw != b"false"));
        let is_cut = members.raw(TRUNCATED).is_some_and(|raw| raw != b"false");
        let mut entry = Entry::frame(from, members.time(TIME), text);
        if let Told::Frame { cut_from_bytes, .. } = &mut entry.told {
            *cut_from_bytes = is_cut.then_some(0);
        }
        out.push_back(entry.in_session(Some(session)));
        Ok(())
    }

    fn kept(&self) -> &[u8] {
        &self.kept
    }

    fn lost(&self) -> Lost {
        let mut lost = Lost::NOTHING;
        if self.missing > 0 {
            lost |= Lost::FRAMES;
        }
        if self.redacted > 0 {
            lost |= Lost::PAYLOAD;
        }
        lost
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = vec![];
        if self.missing > 0 {
            remarks.push(format!(
                "the numbers of the lines have gaps: {} are missing",
                self.missing
            ));
        }
        if self.redacted > 0 {
            remarks.push(format!(
                "frames that the recorder redacted: {}",
                self.redacted
            ));
        }
        remarks
    }
}
