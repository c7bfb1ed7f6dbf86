//! Recordings of mcp-vcr, a JSON object a line: first `{"_type":"meta",…}`, then `{"t":14,"dir":"s2c","payload":{…}}` with
//! milliseconds from the beginning.

use super::entry::{Entries, Entry};
use super::json_lines::{Members, members_of};
use super::{Head, Kind, Lost, Reading};
use crate::capture::EventKind;
use crate::event::Role;
use crate::lines::Line;
use crate::scan::Scanner;

pub(super) const FORMAT: super::Format = super::Format {
    name: "mcp-vcr",
    what: "a recording of mcp-vcr",
    found: "mcp-vcr record, as NDJSON",
    lost: Lost::RAW.with(Lost::LINES),
    hint: "its recorder writes messages anew",
    is_read: true,
    recognises,
    kind: Kind::McpVcr,
};

fn recognises(head: &Head<'_>) -> bool {
    head.lines.iter().take(4).any(|line| {
        let Some(members) = members_of(line, &NAMES) else {
            return false;
        };
        let is_meta = members.is(TYPE, "meta") && members.has(SCHEMA);
        is_meta || role(&members).is_some() && members.has(PAYLOAD) && !members.has(RAW)
    })
}

const NAMES: [&[u8]; 7] = [
    b"t",
    b"dir",
    b"payload",
    b"_type",
    b"recorded_at",
    b"schema_version",
    b"raw",
];
const TIME: usize = 0;
const DIRECTION: usize = 1;
const PAYLOAD: usize = 2;
const TYPE: usize = 3;
const RECORDED: usize = 4;
const SCHEMA: usize = 5;
const RAW: usize = 6;

fn role(members: &Members<'_, 7>) -> Option<Role> {
    match () {
        () if members.is(DIRECTION, "c2s") => Some(Role::Client),
        () if members.is(DIRECTION, "s2c") => Some(Role::Server),
        () => None,
    }
}

#[derive(Clone, Default)]
pub(super) struct Form {
    scanner: Scanner,
    kept: Vec<u8>,
    /// When it begins.
    begin_ms: u64,
    untimed: bool,
}

impl super::Form for Form {
    fn line(&mut self, line: &Line<'_>, out: &mut Entries) -> Reading<()> {
        let members = Members::read(line, &NAMES, &mut self.scanner)?;
        if members.has(TYPE) {
            self.begin_ms = members.time(RECORDED).unwrap_or(self.begin_ms);
            let begin_ms = members.time(RECORDED);
            out.push_back(Entry::event(None, begin_ms, EventKind::Open));
            return Ok(());
        }
        let Some(role) = role(&members) else {
            let message = "\"c2s\" or \"s2c\" was expected";
            return Err(members.wrong(DIRECTION, message));
        };
        let Some(text) = members.payload(PAYLOAD, &mut self.kept) else {
            return Err(members.wrong(DIRECTION, "a line without a payload"));
        };
        let since = members.integer(TIME).and_then(|ms| u64::try_from(ms).ok());
        self.untimed |= since.is_none();
        let t_ms = since.map(|since| since.saturating_add(self.begin_ms));
        out.push_back(Entry::frame(role, t_ms, text));
        Ok(())
    }

    fn kept(&self) -> &[u8] {
        &self.kept
    }

    fn lost(&self) -> Lost {
        match self.untimed {
            true => Lost::TIME,
            false => Lost::NOTHING,
        }
    }
}
