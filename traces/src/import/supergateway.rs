//! What supergateway says of the frames that pass: `[supergateway] StreamableHttp → Child: {…}`. Some ways of running it write
//! objects as JavaScript shows them instead of JSON: those are lost.

use super::entry::{Entries, Entry, Text, Told};
use super::{Kind, Lost, Reading, several, starts_initialize};
use crate::capture::EventKind;
use crate::event::Role;
use crate::lines::Line;
use crate::scan::Scanner;

pub(super) const FORMAT: super::Format = super::Format {
    name: "supergateway",
    what: "a log of supergateway",
    found: "what the gateway writes to its standard output",
    lost: Lost::TIME,
    hint: "frames that it writes as JavaScript objects, not as JSON, cannot be read",
    is_read: true,
    recognises: |head| head.any(|line| message(line).is_some()),
    kind: Kind::Supergateway,
};

/// What stands before a line of the server that the gateway could not pass on.
const NO_JSON: &[u8] = b"[supergateway] Child non-JSON: ";

/// Who sent the frame that the line tells of, and where it begins.
fn message(line: &[u8]) -> Option<(Role, usize)> {
    let rest = line.strip_prefix(b"[supergateway] ")?;
    let arrow = " → ".as_bytes();
    let at = memchr::memmem::find(rest, arrow)?;
    let colon = at + memchr::memchr(b':', &rest[at..])?;
    let (left, right) = (&rest[..at], &rest[at + arrow.len()..colon]);
    let role = match () {
        () if left == b"Child" => Role::Server,
        () if right.starts_with(b"Child") => Role::Client,
        () if left == b"Stdio" => Role::Client,
        () if right == b"Stdio" => Role::Server,
        () => return None,
    };
    let text = rest[colon + 1..].trim_ascii_start();
    Some((role, line.len() - text.len()))
}

#[derive(Clone, Default)]
pub(super) struct Form {
    scanner: Scanner,
    /// Frames that are no JSON.
    shown: u64,
    /// How often a session began.
    begun: u64,
}

impl super::Form for Form {
    fn is_serial(&self) -> bool {
        false
    }

    fn line(&mut self, line: &Line<'_>, out: &mut Entries) -> Reading<()> {
        let bytes = line.bytes;
        if bytes.starts_with(b"[supergateway] Child exited") {
            let mut entry = Entry::event(Some(Role::Server), None, EventKind::Exit);
            if let Told::Event { status, .. } = &mut entry.told {
                *status = exit_status(bytes);
            }
            out.push_back(entry);
            return Ok(());
        }
        if let Some(text) = bytes.strip_prefix(NO_JSON) {
            let at = bytes.len() - text.len();
            let end = at + text.trim_ascii_end().len();
            out.push_back(Entry::frame(Role::Server, None, Text::Here(at..end)));
            return Ok(());
        }
        let Some((role, at)) = message(bytes) else {
            return Ok(());
        };
        let text = bytes[at..].trim_ascii_end();
        if self.scanner.value(text, 0).is_err() && is_shown(text) {
            self.shown += 1;
            return Ok(());
        }
        self.begun += u64::from(role == Role::Client && starts_initialize(text));
        out.push_back(Entry::frame(role, None, Text::Here(at..at + text.len())));
        Ok(())
    }

    fn lost(&self) -> Lost {
        let mut lost = Lost::NOTHING;
        if self.shown > 0 {
            lost |= Lost::FRAMES;
        }
        if self.begun > 1 {
            lost |= Lost::IDS | Lost::ORDER | Lost::FRAMES;
        }
        lost
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = vec![];
        if self.shown > 0 {
            remarks.push(format!(
                "{} written as JavaScript objects, not as JSON, and cannot be read",
                several(self.shown, "frame is", "frames are")
            ));
        }
        if self.begun > 1 {
            remarks.push(super::mixed(self.begun));
        }
        remarks
    }
}

/// Whether it is the beginning of an object as JavaScript shows it: names without quotes, or a line of its own for each.
fn is_shown(text: &[u8]) -> bool {
    let Some(inside) = text.strip_prefix(b"{").or(text.strip_prefix(b"[")) else {
        return text.starts_with(b"<ref *");
    };
    let first = inside.trim_ascii_start().first();
    first.is_none_or(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'\'' | b'_' | b'$'))
}

fn exit_status(line: &[u8]) -> Option<i64> {
    let at = memchr::memmem::find(line, b"code=")? + 5;
    let digits = line[at..].iter().take_while(|byte| byte.is_ascii_digit());
    std::str::from_utf8(&line[at..at + digits.count()])
        .ok()?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_child_is_the_server_and_so_is_what_stdio_reads_from() {
        for (line, role) in [
            ("[supergateway] SSE → Child (session 1): {}", Role::Client),
            ("[supergateway] Child → SSE: {}", Role::Server),
            ("[supergateway] Stdio → SSE: {}", Role::Client),
            ("[supergateway] SSE → Stdio: {}", Role::Server),
        ] {
            let (from, at) = message(line.as_bytes()).expect(line);
            assert_eq!((from, &line[at..]), (role, "{}"));
        }
        assert_eq!(message(b"[supergateway] Child stderr: {}"), None);
    }

    #[test]
    fn objects_of_javascript_are_told_from_broken_json() {
        for text in [
            "{",
            "{ jsonrpc: '2.0', id: 1 }",
            "[",
            "[ { id: 1 } ]",
            "<ref *1> {",
        ] {
            let is_list = text.starts_with("[ {");
            assert_eq!(is_shown(text.as_bytes()), !is_list, "{text}");
        }
        assert!(!is_shown(b"{\"jsonrpc\":\"2.0\""));
        assert_eq!(
            exit_status(b"[supergateway] Child exited: code=7, signal=null"),
            Some(7)
        );
        assert_eq!(
            exit_status(b"[supergateway] Child exited: code=null, signal=SIGTERM"),
            None
        );
    }
}
