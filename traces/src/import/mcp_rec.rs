//! Recordings of mcp-rec: a JSON object a line, `{"ts":1772615700.014,"dir":"client->server","msg":{…}}`. Messages are parsed
//! and written anew.

use super::entry::{Entries, Entry};
use super::json_lines::{Members, members_of};
use super::time::seconds;
use super::{Kind, Lost, Reading};
use crate::event::Role;
use crate::lines::Line;
use crate::scan::Scanner;

pub(super) const FORMAT: super::Format = super::Format {
    name: "mcp-rec",
    what: "a recording of mcp-rec",
    found: "mcp-rec record -o FILE",
    lost: Lost::RAW.with(Lost::LINES),
    hint: "its recorder writes messages anew",
    is_read: true,
    recognises: |head| {
        head.lines
            .iter()
            .take(4)
            .any(|line| members_of(line, &NAMES).is_some_and(|members| role(&members).is_some()))
    },
    kind: Kind::McpRec,
};

const NAMES: [&[u8]; 3] = [b"ts", b"dir", b"msg"];
const TIME: usize = 0;
const DIRECTION: usize = 1;
const MESSAGE: usize = 2;

fn role(members: &Members<'_, 3>) -> Option<Role> {
    match () {
        () if members.is(DIRECTION, "client->server") => Some(Role::Client),
        () if members.is(DIRECTION, "server->client") => Some(Role::Server),
        () => None,
    }
}

#[derive(Clone, Default)]
pub(super) struct Form {
    scanner: Scanner,
    kept: Vec<u8>,
    untimed: bool,
}

impl super::Form for Form {
    fn line(&mut self, line: &Line<'_>, out: &mut Entries) -> Reading<()> {
        let members = Members::read(line, &NAMES, &mut self.scanner)?;
        let Some(role) = role(&members) else {
            let message = "\"client->server\" or \"server->client\" was expected";
            return Err(members.wrong(DIRECTION, message));
        };
        let Some(text) = members.payload(MESSAGE, &mut self.kept) else {
            return Err(members.wrong(DIRECTION, "a line without \"msg\""));
        };
        let t_ms = members.raw(TIME).and_then(seconds).map(|(ms, _)| ms);
        self.untimed |= t_ms.is_none();
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
