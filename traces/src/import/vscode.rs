//! The output channel of an MCP server in VS Code: `TIME [LEVEL] [editor -> server] {…}`, where the level of the channel is
//! Debug or Trace. Early ones have `[Client Says]` and `[Server Says]`.

use super::entry::{Entries, Entry, Text, Told};
use super::time::{Stamp, stamp};
use super::{Head, Kind, Lost, Reading};
use crate::capture::EventKind;
use crate::event::Role;
use crate::lines::Line;

pub(super) const FORMAT: super::Format = super::Format {
    name: "vscode",
    what: "the output channel of an MCP server in VS Code",
    found: "the Output panel, \"MCP: NAME\", at the level Debug or Trace; the folder of the window's logs",
    lost: Lost::LINES,
    hint: "its times are local: only how far apart they are counts",
    is_read: true,
    recognises: |head| head.any(|line| message(line).is_some()),
    kind: Kind::VsCode,
};

pub(super) const FORMAT_OF_STATES: super::Format = super::Format {
    name: "vscode-info",
    what: "the output channel of an MCP server in VS Code at its default level",
    found: "the Output panel, \"MCP: NAME\"",
    lost: Lost::NOTHING,
    hint: "set the level of this output to Debug or Trace (the gear in the Output panel) and start the server again",
    is_read: false,
    recognises: has_states,
    kind: Kind::None,
};

fn has_states(head: &Head<'_>) -> bool {
    let words: [&[u8]; 3] = [
        b"[info] Connection state: ",
        b"[info] Starting server ",
        b"[info] Waiting for server to respond to `initialize` request",
    ];
    head.any(|line| {
        stamp(line).is_some_and(|stamp| {
            let rest = line[stamp.length..].trim_ascii_start();
            words.iter().any(|words| rest.starts_with(words))
        })
    })
}

/// The time, the level and what comes after it.
fn parts(line: &[u8]) -> Option<(Stamp, &[u8])> {
    let stamp = stamp(line)?;
    let rest = line[stamp.length..].strip_prefix(b" [")?;
    let level = memchr::memchr(b']', rest)?;
    let is_word = rest[..level].iter().all(u8::is_ascii_lowercase);
    is_word.then(|| (stamp, &rest[level + 1..]))
}

/// Who sent the frame that the line has, and the frame.
fn message(line: &[u8]) -> Option<(Role, &[u8])> {
    let (_, rest) = parts(line)?;
    let arrows: [(&[u8], Role); 4] = [
        (b" [editor -> server] ", Role::Client),
        (b" [server -> editor] ", Role::Server),
        (b" [Client Says] ", Role::Client),
        (b" [Server Says] ", Role::Server),
    ];
    let mut known = arrows.iter();
    known.find_map(|(arrow, role)| Some((*role, rest.strip_prefix(*arrow)?)))
}

const EXITED: &[u8] = b" Connection state: Error Process exited with code ";

/// What else the log says of the server, and what that means.
const EVENTS: [(&[u8], Option<Role>, EventKind); 4] = [
    (b" Starting server ", None, EventKind::Open),
    (b" Stopping server ", Some(Role::Client), EventKind::Eof),
    // Whoever did it.
    (b" Connection state: Stopped", None, EventKind::Teardown),
    (b" Connection state: Error", None, EventKind::Teardown),
];

#[derive(Clone)]
pub(super) struct Form;

impl super::Form for Form {
    fn line(&mut self, line: &Line<'_>, out: &mut Entries) -> Reading<()> {
        let Some((stamp, rest)) = parts(line.bytes) else {
            return Ok(());
        };
        let t_ms = Some(stamp.ms);
        if let Some((role, text)) = message(line.bytes) {
            let at = line.bytes.len() - text.len();
            let end = at + text.trim_ascii_end().len();
            out.push_back(Entry::frame(role, t_ms, Text::Here(at..end)));
        } else if let Some(status) = rest.strip_prefix(EXITED) {
            let mut exit = Entry::event(Some(Role::Server), t_ms, EventKind::Exit);
            if let Told::Event { status: told, .. } = &mut exit.told {
                *told = std::str::from_utf8(status.trim_ascii())
                    .ok()
                    .and_then(|text| text.parse().ok());
            }
            out.push_back(exit);
        } else if let Some((_, by, kind)) =
            EVENTS.iter().find(|(words, ..)| rest.starts_with(words))
        {
            out.push_back(Entry::event(*by, t_ms, *kind));
        }
        Ok(())
    }

    fn moment(&mut self, line: &[u8]) -> Option<u64> {
        parts(line).map(|(stamp, _)| stamp.ms)
    }
}
