//! What mcp-snoop writes with `-v`: `[21:05:12.916] →SERVER #1 initialize …`, and below it the message over several lines.

use super::entry::{Entries, Entry, Text};
use super::time::{DayClock, clock};
use super::{Head, Kind, Lost, Reading, several};
use crate::event::Role;
use crate::lines::Line;

pub(super) const FORMAT: super::Format = super::Format {
    name: "mcp-snoop-text",
    what: "a log of mcp-snoop",
    found: "mcp-snoop -v -o FILE",
    lost: Lost::RAW.with(Lost::LINES),
    hint: "without -v it has no messages; its times are local and have no date",
    is_read: true,
    recognises,
    kind: Kind::SnoopText,
};

fn recognises(head: &Head<'_>) -> bool {
    head.any(|line| title(line).is_some())
}

/// The time of day and the sender that a title tells.
fn title(line: &[u8]) -> Option<(i64, Role)> {
    let rest = line.strip_prefix(b"[")?;
    let (ms, end) = clock(rest, 0)?;
    let rest = rest[end..].strip_prefix(b"] ")?;
    let arrows = [("→SERVER ", Role::Client), ("←CLIENT ", Role::Server)];
    let mut known = arrows.iter();
    let (_, role) = known.find(|(arrow, _)| rest.starts_with(arrow.as_bytes()))?;
    Some((ms, *role))
}

/// A message of more bytes is handed on as it is so far.
const MESSAGE_BYTES_MAX: usize = crate::lines::LINE_BYTES_MAX;

/// The message at hand.
#[derive(Clone, Default)]
struct Open {
    from: Option<(Role, u64)>,
    /// Its first line, from 1; 0 before that.
    line: u64,
    rows: Vec<u8>,
}

#[derive(Clone, Default)]
pub(super) struct Form {
    open: Open,
    clock: DayClock,
    kept: Vec<u8>,
    /// Titles without a message.
    bare: u64,
}

impl super::Form for Form {
    fn line(&mut self, line: &Line<'_>, out: &mut Entries) -> Reading<()> {
        self.kept.clear();
        if let Some((of_day, role)) = title(line.bytes) {
            self.close(out);
            self.open.from = Some((role, self.clock.at(of_day)));
            return Ok(());
        }
        let open = &mut self.open;
        if open.from.is_none() {
            return Ok(());
        }
        let bytes = line.bytes.strip_suffix(b"\r").unwrap_or(line.bytes);
        if open.line == 0 {
            open.line = line.number;
        } else {
            open.rows.push(b'\n');
        }
        open.rows.extend_from_slice(bytes);
        if matches!(bytes, b"}" | b"]") || open.rows.len() > MESSAGE_BYTES_MAX {
            self.close(out);
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Entries) -> Reading<()> {
        self.kept.clear();
        self.close(out);
        Ok(())
    }

    fn is_by_line(&self) -> bool {
        false
    }

    fn kept(&self) -> &[u8] {
        &self.kept
    }

    fn lost(&self) -> Lost {
        match self.bare {
            0 => Lost::NOTHING,
            _ => Lost::FRAMES,
        }
    }

    fn remarks(&self) -> Vec<String> {
        match self.bare {
            0 => vec![],
            bare => vec![format!(
                "{} no message below",
                several(bare, "title has", "titles have")
            )],
        }
    }
}

impl Form {
    /// The message at hand is whole.
    fn close(&mut self, out: &mut Entries) {
        let open = std::mem::take(&mut self.open);
        let Some((role, t_ms)) = open.from else {
            return;
        };
        if open.line == 0 {
            self.bare += 1;
            return;
        }
        // Lines that it was written over were none on the wire.
        let rows = self.kept.len()..self.kept.len() + open.rows.len();
        self.kept.extend_from_slice(&open.rows);
        let text = rows.end..rows.end + open.rows.len();
        let flat = open
            .rows
            .iter()
            .map(|byte| if *byte == b'\n' { b' ' } else { *byte });
        self.kept.extend(flat);
        let mut entry = Entry::frame(role, Some(t_ms), Text::Rows { text, rows, at: 0 });
        entry.line = open.line;
        out.push_back(entry);
    }
}
