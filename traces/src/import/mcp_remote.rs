//! What mcp-remote writes with `--debug`: `[TIME][PID] Local → Remote message {"method":…,"id":…}`. Of a message it keeps the
//! method, the id and the beginning of the params; of a result only that there was one. Frames are made of that.

use super::entry::{Entries, Entry, Text};
use super::json_lines::Members;
use super::time::stamp;
use super::{Head, Kind, Lost, Reading};
use crate::event::Role;
use crate::lines::Line;
use crate::scan::{Scanner, unescape};

pub(super) const FORMAT: super::Format = super::Format {
    name: "mcp-remote",
    what: "a debug log of mcp-remote",
    found: "~/.mcp-auth/mcp-remote-VERSION/HASH_debug.log, with --debug",
    lost: Lost::RAW
        .with(Lost::PAYLOAD)
        .with(Lost::LINES)
        .with(Lost::HTTP),
    hint: "it has methods, ids and times: what is in results is lost",
    is_read: true,
    recognises: |head: &Head<'_>| head.any(|line| message(line).is_some()),
    kind: Kind::McpRemote,
};

struct Parts<'a> {
    t_ms: u64,
    process: &'a [u8],
    from: Role,
    /// Where its JSON begins.
    at: usize,
}

fn message(line: &[u8]) -> Option<Parts<'_>> {
    let rest = line.strip_prefix(b"[")?;
    let stamp = stamp(rest)?;
    let rest = rest[stamp.length..].strip_prefix(b"][")?;
    let end = memchr::memchr(b']', rest)?;
    let process = &rest[..end];
    let rest = rest[end + 1..].strip_prefix(b" ")?;
    let arrows = [
        ("Local → Remote message ", Role::Client),
        ("Remote → Local message ", Role::Server),
    ];
    let mut known = arrows.iter();
    let (text, from) =
        known.find_map(|(arrow, role)| Some((rest.strip_prefix(arrow.as_bytes())?, *role)))?;
    let at = line.len() - text.len();
    let t_ms = stamp.ms;
    text.starts_with(b"{").then_some(Parts {
        t_ms,
        process,
        from,
        at,
    })
}

const NAMES: [&[u8]; 5] = [b"method", b"id", b"params", b"result", b"error"];
const METHOD: usize = 0;
const ID: usize = 1;
const PARAMS: usize = 2;
const ERROR: usize = 4;

#[derive(Clone, Default)]
pub(super) struct Form {
    scanner: Scanner,
    kept: Vec<u8>,
    /// Cancellations that do not tell what they cancel.
    blind: u64,
}

impl super::Form for Form {
    fn line(&mut self, line: &Line<'_>, out: &mut Entries) -> Reading<()> {
        let Some(parts) = message(line.bytes) else {
            return Ok(());
        };
        let members = Members::of(line.bytes, parts.at, &NAMES, &mut self.scanner)?;
        self.kept.clear();
        self.make(&members);
        let text = Text::Kept {
            text: 0..self.kept.len(),
            at: parts.at,
        };
        let session = String::from_utf8_lossy(parts.process).into_owned();
        out.push_back(Entry::frame(parts.from, Some(parts.t_ms), text).in_session(Some(session)));
        Ok(())
    }

    fn kept(&self) -> &[u8] {
        &self.kept
    }

    fn lost(&self) -> Lost {
        match self.blind {
            0 => Lost::NOTHING,
            _ => Lost::IDS,
        }
    }

    fn remarks(&self) -> Vec<String> {
        match self.blind {
            0 => vec![],
            _ => vec!["what was cancelled is not told everywhere".to_owned()],
        }
    }
}

impl Form {
    /// Writes the frame of which the line tells.
    fn make(&mut self, members: &Members<'_, 5>) {
        self.kept.extend_from_slice(b"{\"jsonrpc\":\"2.0\"");
        let mut put = |name: &str, value: &[u8]| {
            self.kept
                .extend_from_slice(format!(",\"{name}\":").as_bytes());
            self.kept.extend_from_slice(value);
        };
        if let Some(id) = members.raw(ID) {
            put("id", id);
        }
        let Some(method) = members.raw(METHOD) else {
            match members.raw(ERROR) {
                Some(error) if error.starts_with(b"{") => put("error", error),
                Some(_) => put("error", b"{\"code\":0,\"message\":\"\"}"),
                // Of what the client answers it tells nothing.
                None => put("result", b"{}"),
            }
            self.kept.push(b'}');
            return;
        };
        put("method", method);
        let params = self.params(members);
        if let Some(params) = &params {
            self.kept.extend_from_slice(b",\"params\":");
            self.kept.extend_from_slice(params);
        } else if method == b"\"notifications/cancelled\"" {
            self.blind += 1;
        }
        self.kept.push(b'}');
    }

    /// The params, where they are all there.
    fn params(&mut self, members: &Members<'_, 5>) -> Option<Vec<u8>> {
        let inner = members
            .raw(PARAMS)?
            .strip_prefix(b"\"")?
            .strip_suffix(b"\"")?;
        let mut plain = vec![];
        unescape(inner, &mut plain);
        let is_whole = plain.starts_with(b"{") && self.scanner.value(&plain, 0) == Ok(plain.len());
        is_whole.then_some(plain)
    }
}
