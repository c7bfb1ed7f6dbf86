//! Logs in which everything stands several times in a row, as where a logger has two handlers: each frame is handed on once, and
//! one that was sent twice stays two.

use super::entry::{Entries, Entry, Told};
use crate::event::Role;

/// More copies of each are not looked for.
const COPIES_MAX: u32 = 4;
/// Fewer frames may have been sent several times each.
const RUNS_MIN: usize = 3;
/// Handlers that write one after the other are no further apart.
const NEAR_MS: u64 = 2;

/// How often everything stands there, by how often what is alike comes in a row: a few may stand there otherwise.
fn copies(runs: &[u32]) -> u32 {
    let fits = |copies: &u32| {
        let fitting = runs.iter().filter(|run| *run % copies == 0).count();
        runs.len() >= RUNS_MIN && fitting * 10 >= runs.len() * 9
    };
    (2..=COPIES_MAX).rev().find(fits).unwrap_or(1)
}

/// How often everything stands there in a row.
pub(super) fn in_a_row<T: PartialEq>(all: impl Iterator<Item = T>) -> u32 {
    let mut runs = Runs::new();
    all.for_each(|next| runs.put(next, T::eq));
    copies(&runs.lengths)
}

/// Counts what is alike and comes in a row.
struct Runs<T> {
    last: Option<T>,
    lengths: Vec<u32>,
}

impl<T> Runs<T> {
    fn new() -> Runs<T> {
        Runs {
            last: None,
            lengths: vec![],
        }
    }

    /// … in the beginning of a log; whether the last of it may go on.
    fn copies(mut self, is_cut: bool) -> u32 {
        if is_cut {
            self.lengths.pop();
        }
        copies(&self.lengths)
    }

    fn put(&mut self, next: T, is_alike: impl Fn(&T, &T) -> bool) {
        match (&self.last, self.lengths.last_mut()) {
            (Some(last), Some(length)) if is_alike(last, &next) => *length += 1,
            _ => self.lengths.push(1),
        }
        self.last = Some(next);
    }
}

/// Whether the line may have a frame: all forms name the version of JSON-RPC.
fn may_tell_frame(line: &[u8]) -> bool {
    memchr::memmem::find(line, b"jsonrpc").is_some()
}

/// Lines that stand there several times.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    copies: u32,
    last: Vec<u8>,
    nth: u32,
}

impl Lines {
    /// Of a log that begins with these lines, and has more of them where they are not all.
    pub(super) fn of(lines: &[&[u8]], are_all: bool) -> Lines {
        let mut runs = Runs::new();
        let whole = lines.split_last().map_or(lines, |(_, whole)| whole);
        let filled = whole.iter().filter(|line| !line.trim_ascii().is_empty());
        // A member that stands alone in each of its lines is not repeated by anybody.
        for (at, line) in filled.enumerate().filter(|(_, line)| may_tell_frame(line)) {
            runs.put((at, *line), |last, next| {
                last.1 == next.1 && last.0 + 1 == next.0
            });
        }
        Lines {
            copies: runs.copies(!are_all),
            ..Lines::default()
        }
    }

    pub(super) fn has_copies(&self) -> bool {
        self.copies > 1
    }

    /// Whether that line is a copy of the one before it.
    pub(super) fn is_copy(&mut self, line: &[u8]) -> bool {
        if self.copies < 2 {
            return false;
        }
        if line != self.last {
            self.last.clear();
            self.last.extend_from_slice(line);
            self.nth = 0;
            return false;
        }
        self.nth += 1;
        !self.nth.is_multiple_of(self.copies) && may_tell_frame(line)
    }
}

/// A frame as far as its copies have it too.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    from: Role,
    session: Option<String>,
    t_ms: Option<u64>,
    text: Vec<u8>,
}

impl Seen {
    /// Of an entry whose text lies there; `None` where it is no frame.
    pub(super) fn of(entry: &Entry, line: &[u8], kept: &[u8]) -> Option<Seen> {
        let Told::Frame { from, text, .. } = &entry.told else {
            return None;
        };
        Some(Seen {
            from: *from,
            session: entry.session.clone(),
            t_ms: entry.t_ms,
            text: text.bytes(line, kept).to_vec(),
        })
    }

    fn is_like(&self, other: &Seen) -> bool {
        let is_near = match self.t_ms.zip(other.t_ms) {
            // One of the two may be cut to the second.
            Some((one, other)) if one % 1000 == 0 || other % 1000 == 0 => {
                one / 1000 == other / 1000
            }
            Some((one, other)) => one.abs_diff(other) <= NEAR_MS,
            None => true,
        };
        is_near
            && (self.from, &self.session, &self.text) == (other.from, &other.session, &other.text)
    }
}

/// Frames that stand there several times, in lines that differ.
#[derive(Clone, Debug, Default)]
pub(super) struct Frames {
    copies: u32,
    last: Option<Seen>,
    nth: u32,
}

impl Frames {
    /// Of a log that begins with these frames, and has more of them where they are not all.
    pub(super) fn of(frames: impl Iterator<Item = Seen>, are_all: bool) -> Frames {
        let mut runs = Runs::new();
        frames.for_each(|seen| runs.put(seen, Seen::is_like));
        Frames {
            copies: runs.copies(!are_all),
            ..Frames::default()
        }
    }

    /// Leaves out the copies of what came before; whether there were any.
    pub(super) fn leave_out(&mut self, entries: &mut Entries, line: &[u8], kept: &[u8]) -> bool {
        if self.copies < 2 {
            return false;
        }
        let before = entries.len();
        entries.retain(|entry| {
            let Some(seen) = Seen::of(entry, line, kept) else {
                return true;
            };
            let is_alike = self.last.as_ref().is_some_and(|last| last.is_like(&seen));
            self.nth = if is_alike { self.nth + 1 } else { 0 };
            self.last = Some(seen);
            self.nth.is_multiple_of(self.copies)
        });
        entries.len() < before
    }
}

/// What to say of such a log.
pub(super) fn guessed(is_by_line: &Lines, is_by_frame: &Frames) -> Option<String> {
    let copies = is_by_line.copies.max(is_by_frame.copies);
    let times = match copies {
        0 | 1 => return None,
        2 => "twice".to_owned(),
        copies => format!("{copies} times"),
    };
    Some(format!(
        "copies: every frame stands {times} in a row, as loggers with several handlers write it, and is judged once"
    ))
}
