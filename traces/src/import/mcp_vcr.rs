//! Recordings of mcp-vcr, a JSON object a line: first `{"_type":"meta",…}`, then `{"t":14,"dir":"s2c","payload":{…}}` with
//! milliseconds from the beginning. Its other form, YAML, changes what values are.

use super::entry::{Entries, Entry};
use super::json_lines::{Members, members_of};
use super::{Head, Kind, Lost, Reading};
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

pub(super) const FORMAT_OF_YAML: super::Format = super::Format {
    name: "mcp-vcr-yaml",
    what: "a recording of mcp-vcr as YAML",
    found: "mcp-vcr record, as YAML",
    lost: Lost::NOTHING,
    hint: "YAML does not keep what is a number and what is a text: export it as NDJSON",
    is_read: false,
    recognises: is_yaml,
    kind: Kind::None,
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

fn is_yaml(head: &Head<'_>) -> bool {
    let has = |words: &[u8]| head.any(|line| line.trim_ascii_end() == words);
    let starts = |line: &&[u8]| !line.is_empty() && !line.starts_with(b"#") && *line != b"---";
    let first = head.lines.iter().copied().find(starts);
    first.is_some_and(|line| {
        line.first().is_some_and(u8::is_ascii_lowercase) && line.contains(&b':')
    }) && has(b"messages:")
        && (has(b"- dir: c2s") || has(b"- dir: s2c") || has(b"  dir: c2s") || has(b"  dir: s2c"))
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

#[derive(Default)]
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
