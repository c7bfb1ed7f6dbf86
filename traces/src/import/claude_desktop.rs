//! The logs of Claude Desktop: `TIME [NAME] [LEVEL] Message from client: {…} { metadata: undefined }`, one for each server, or
//! all of them in `mcp.log`. Older ones have level and name the other way round, and no tail.

use std::collections::BTreeMap;

use super::entry::{Entries, Entry, Text};
use super::time::stamp;
use super::{Head, Kind, Lost, Reading};
use crate::capture::EventKind;
use crate::event::Role;
use crate::lines::Line;
use crate::scan::Scanner;

pub(super) const FORMAT: super::Format = super::Format {
    name: "claude-desktop",
    what: "a log of Claude Desktop",
    found: "macOS ~/Library/Logs/Claude/mcp-server-NAME.log and mcp.log, Windows %APPDATA%\\Claude\\logs",
    lost: Lost::LINES,
    hint: "the servers in mcp.log are told apart by their names",
    is_read: true,
    recognises,
    kind: Kind::ClaudeDesktop,
};

/// More servers than this are not waited for: a log has a handful.
const NAMES_MAX: usize = 1024;

fn recognises(head: &Head<'_>) -> bool {
    head.any(|line| Parts::of(line).is_some_and(|parts| parts.message(line).is_some()))
}

/// A line of such a log.
struct Parts<'a> {
    t_ms: u64,
    name: &'a [u8],
    /// Where the rest begins.
    rest: usize,
}

impl<'a> Parts<'a> {
    fn of(line: &'a [u8]) -> Option<Parts<'a>> {
        let stamp = stamp(line).filter(|stamp| stamp.has_zone)?;
        let (first, at) = bracketed(line, stamp.length)?;
        let (name, rest) = match is_level(first) {
            true => bracketed(line, at)?,
            false => named(line, stamp.length)?,
        };
        Some(Parts {
            t_ms: stamp.ms,
            name,
            rest,
        })
    }

    /// Who sent the frame that the line has, and where it begins.
    fn message(&self, line: &[u8]) -> Option<(Role, usize)> {
        let rest = line[self.rest..].strip_prefix(b" Message from ")?;
        let (role, text) = match rest.strip_prefix(b"client: ") {
            Some(text) => (Role::Client, text),
            None => (Role::Server, rest.strip_prefix(b"server: ")?),
        };
        Some((role, line.len() - text.len()))
    }
}

/// What stands in brackets after a space, and where it ends.
fn bracketed(line: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let inner = line.get(at..)?.strip_prefix(b" [")?;
    let length = memchr::memchr(b']', inner)?;
    Some((&inner[..length], at + length + 3))
}

/// Where a line of the log's own begins behind something else.
fn glued(line: &[u8]) -> Option<usize> {
    const STAMP_BYTES: usize = "2026-03-04T09:15:00.000".len();
    let ends = memchr::memmem::find_iter(line, b"Z [").take(16);
    let mut begins = ends.filter_map(|end| end.checked_sub(STAMP_BYTES));
    begins.find(|at| *at > 0 && Parts::of(&line[*at..]).is_some())
}

/// A name in brackets, which may have brackets itself, and a level behind it; where that ends.
fn named(line: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let inner = line.get(at..)?.strip_prefix(b" [")?;
    let mut ends = memchr::memchr_iter(b']', inner);
    ends.find_map(|end| {
        let (level, rest) = bracketed(line, at + end + 3)?;
        is_level(level).then(|| (&inner[..end], rest))
    })
}

fn is_level(word: &[u8]) -> bool {
    matches!(
        word,
        b"info" | b"warn" | b"error" | b"debug" | b"silly" | b"verbose"
    )
}

/// What the log says of its servers, and what that means; more words before fewer.
const EVENTS: [(&[u8], Option<Role>, EventKind); 4] = [
    (b" Initializing server", None, EventKind::Open),
    (UNEXPECTED, Some(Role::Server), EventKind::Exit),
    // Whoever did it.
    (b" Server transport closed", None, EventKind::Teardown),
    (b" Shutting down server", Some(Role::Client), EventKind::Eof),
];

#[derive(Clone, Default)]
pub(super) struct Form {
    scanner: Scanner,
    /// Lines that are no frame and none of the log's own: stderr of the servers.
    others: u64,
    /// By name, in which line and when the client's end was closed: because the server had ended, perhaps.
    closed: BTreeMap<Vec<u8>, (u64, u64)>,
}

/// What the client closes so long before the log tells of the server's end, it closed because of that.
const CONSEQUENCE_MS: u64 = 1_000;
const CLIENT_CLOSED: &[u8] = b" Client transport closed";
const UNEXPECTED: &[u8] = b" Server transport closed unexpectedly";

/// The client closed its end, in that line and then.
fn eof((number, t_ms): (u64, u64), name: &[u8]) -> Entry {
    let mut eof = Entry::event(Some(Role::Client), Some(t_ms), EventKind::Eof);
    eof.line = number;
    eof.in_session(Some(String::from_utf8_lossy(name).into_owned()))
}

impl super::Form for Form {
    fn line(&mut self, line: &Line<'_>, out: &mut Entries) -> Reading<()> {
        let Some(parts) = Parts::of(line.bytes) else {
            self.others += 1;
            // A server that ends no line has the log's next one behind its own.
            if let Some(at) = glued(line.bytes) {
                let own = Line {
                    bytes: &line.bytes[at..],
                    ..*line
                };
                let before = out.len();
                self.line(&own, out)?;
                out.iter_mut()
                    .skip(before)
                    .for_each(|entry| entry.told.shift(at));
            }
            return Ok(());
        };
        let session = Some(String::from_utf8_lossy(parts.name).into_owned());
        let t_ms = Some(parts.t_ms);
        let rest = &line.bytes[parts.rest..];
        if let Some(place) = self.closed.remove(parts.name) {
            let soon_ms = place.1.saturating_add(CONSEQUENCE_MS);
            let is_consequence = rest.starts_with(UNEXPECTED) && parts.t_ms <= soon_ms;
            if !is_consequence {
                out.push_back(eof(place, parts.name));
            }
        }
        if rest.starts_with(CLIENT_CLOSED) {
            let place = (line.number, parts.t_ms);
            match self.closed.len() < NAMES_MAX {
                true => drop(self.closed.insert(parts.name.to_vec(), place)),
                false => out.push_back(eof(place, parts.name)),
            }
            return Ok(());
        }
        if let Some((role, at)) = parts.message(line.bytes) {
            let text = line.bytes[at..].trim_ascii_end();
            // Behind the frame there may be what else was given to the logger.
            let end = match self.scanner.value(text, 0) {
                Ok(end) => end,
                Err(_) => text
                    .strip_suffix(b" { metadata: undefined }")
                    .map_or(text.len(), <[u8]>::len),
            };
            let entry = Entry::frame(role, t_ms, Text::Here(at..at + end));
            out.push_back(entry.in_session(session));
            return Ok(());
        }
        let mut known = EVENTS.iter();
        if let Some((_, by, kind)) = known.find(|(words, ..)| rest.starts_with(words)) {
            out.push_back(Entry::event(*by, t_ms, *kind).in_session(session));
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Entries) -> Reading<()> {
        let closed = std::mem::take(&mut self.closed);
        out.extend(closed.into_iter().map(|(name, place)| eof(place, &name)));
        Ok(())
    }

    fn moment(&mut self, line: &[u8]) -> Option<u64> {
        Parts::of(line).map(|parts| parts.t_ms)
    }

    fn remarks(&self) -> Vec<String> {
        match self.others {
            0 => vec![],
            1 => vec!["one line is none of the log's own, stderr of the server perhaps, and was passed over".to_owned()],
            others => vec![format!(
                "{others} lines are none of the log's own, stderr of the server perhaps, and were passed over"
            )],
        }
    }
}
