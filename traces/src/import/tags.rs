//! Logs with a tag for each standard stream: `TIME [STDIN] {…}`, `[STDOUT]` and `[STDERR]`, as mcp-server-logger and its
//! relatives write them.

use super::entry::{Entries, Entry, Text, Told};
use super::time::stamp;
use super::{Head, Kind, Lost, Reading};
use crate::capture::EventKind;
use crate::event::Role;
use crate::lines::Line;

pub(super) const FORMAT: super::Format = super::Format {
    name: "std-tags",
    what: "a log with tags for the standard streams",
    found: "mcp-server-logger and other wrappers that write [STDIN], [STDOUT] and [STDERR]",
    lost: Lost::NOTHING,
    hint: "what stands behind [STDOUT] is taken for what the server wrote, frame or not",
    is_read: true,
    recognises,
    kind: Kind::Tags,
};

fn recognises(head: &Head<'_>) -> bool {
    let is_frame =
        |line: &[u8]| tagged(line).is_some_and(|(_, at)| line[at..].starts_with(b"{\"jsonrpc\""));
    head.any(is_frame)
}

/// Whose stream it is, and where the text begins.
fn tagged(line: &[u8]) -> Option<(Role, usize)> {
    let tags: [(&[u8], Role); 2] = [(b"[STDIN] ", Role::Client), (b"[STDOUT] ", Role::Server)];
    let mut tags = tags.into_iter();
    tags.find_map(|(tag, role)| Some((role, behind(line, tag)?)))
}

/// Where the text behind that tag begins.
fn behind(line: &[u8], tag: &[u8]) -> Option<usize> {
    let length = stamp(line).map_or(0, |stamp| stamp.length);
    let text = line[length..].trim_ascii_start().strip_prefix(tag)?;
    Some(line.len() - text.len())
}

#[derive(Clone)]
pub(super) struct Form;

impl super::Form for Form {
    fn line(&mut self, line: &Line<'_>, out: &mut Entries) -> Reading<()> {
        let t_ms = stamp(line.bytes).map(|stamp| stamp.ms);
        let text = |at: usize| Text::Here(at..at + line.bytes[at..].trim_ascii_end().len());
        if let Some((role, at)) = tagged(line.bytes) {
            out.push_back(Entry::frame(role, t_ms, text(at)));
        } else if let Some(at) = behind(line.bytes, b"[STDERR] ") {
            out.push_back(Entry::told(t_ms, Told::Stderr(text(at))));
        } else if let Some(at) = behind(line.bytes, b"[INFO] ") {
            let said = &line.bytes[at..];
            if said.starts_with(b"Subprocess launched") {
                out.push_back(Entry::event(None, t_ms, EventKind::Open));
            } else if said.starts_with(b"Subprocess exited") {
                out.push_back(Entry::event(Some(Role::Server), t_ms, EventKind::Exit));
            }
        }
        Ok(())
    }

    fn moment(&mut self, line: &[u8]) -> Option<u64> {
        stamp(line).map(|stamp| stamp.ms)
    }
}
