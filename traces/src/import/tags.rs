//! Logs with a tag for each standard stream: `TIME [STDIN] {…}`, `[STDOUT]` and `[STDERR]`, as mcp-server-logger and its
//! relatives write them.

use super::entry::{Entries, Entry, Text};
use super::time::stamp;
use super::{Head, Kind, Lost, Reading};
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
    let length = stamp(line).map_or(0, |stamp| stamp.length);
    let rest = line[length..].trim_ascii_start();
    let (role, text) = match rest.strip_prefix(b"[STDIN] ") {
        Some(text) => (Role::Client, text),
        None => (Role::Server, rest.strip_prefix(b"[STDOUT] ")?),
    };
    Some((role, line.len() - text.len()))
}

pub(super) struct Form;

impl super::Form for Form {
    fn line(&mut self, line: &Line<'_>, out: &mut Entries) -> Reading<()> {
        if let Some((role, at)) = tagged(line.bytes) {
            let t_ms = stamp(line.bytes).map(|stamp| stamp.ms);
            let end = at + line.bytes[at..].trim_ascii_end().len();
            out.push_back(Entry::frame(role, t_ms, Text::Here(at..end)));
        }
        Ok(())
    }
}
