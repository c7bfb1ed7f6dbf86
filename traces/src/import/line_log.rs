//! Logs that are read line by line: what their forms have in common, and what becomes of a log's last line and of frames that
//! were shortened.

use std::io::{Cursor, Read};

use super::copies;
use super::disorder::Disorder;
use super::entry::{Entries, Entry, Text, Told};
use super::handshakes::Handshakes;
use super::quoting::{Quoting, without_colour};
use super::shortened::{Limit, Tail};
use super::{Format, HEAD_BYTES, Head};
use crate::capture::{CaptureLine, Opening};
use crate::file::json::Read as Reading;
use crate::file::reader::too_long;
use crate::lines::{Line, LineReader, ReadError};
use crate::lost::Lost;
use crate::recording::Recording;
use crate::scan::Scanner;

/// Opens a log of that form.
///
/// # Errors
/// The input cannot be read.
pub(super) fn log<R: Read + 'static, F: Form + Clone + 'static>(
    format: &'static Format,
    mut lines: LineReader<R>,
    form: F,
) -> Result<Box<dyn Recording>, ReadError> {
    let head = Head::of(lines.peek(HEAD_BYTES)?);
    let (line_copies, frame_copies) = copies_in(format, &head, &form);
    let (quoting, limit) = (head.quoting, Limit::of(&head.lines));
    Ok(Box::new(LineLog {
        line_copies,
        frame_copies,
        ..LineLog::new(format, lines, form, quoting, limit)
    }))
}

/// What stands several times in a log that begins so.
fn copies_in<F: Form + Clone>(
    format: &'static Format,
    head: &Head<'_>,
    form: &F,
) -> (copies::Lines, copies::Frames) {
    let are_all = head.bytes.len() < HEAD_BYTES;
    let by_line = copies::Lines::of(&head.lines, are_all);
    if by_line.has_copies() {
        return (by_line, copies::Frames::default());
    }
    let lines = LineReader::new(Cursor::new(head.bytes));
    let limit = Limit::of(&head.lines);
    let mut log = LineLog::new(format, lines, form.clone(), head.quoting, limit);
    let frames = std::iter::from_fn(|| log.next_frame());
    (by_line, copies::Frames::of(frames, are_all))
}

/// How one form of log is read, line by line.
pub(super) trait Form {
    /// Takes the line that comes next; what it tells goes into `out`. Lines that tell nothing are passed over.
    ///
    /// # Errors
    /// A line that has to tell something and cannot be read.
    fn line(&mut self, line: &Line<'_>, out: &mut Entries) -> Reading<()>;

    /// The log is over: whatever was still waiting.
    ///
    /// # Errors
    /// Nothing that can be judged was in all of it.
    fn end(&mut self, _out: &mut Entries) -> Reading<()> {
        Ok(())
    }

    /// When a line was written that gave nothing, where it is surely the log's own: until then nothing else came.
    fn moment(&mut self, _line: &[u8]) -> Option<u64> {
        None
    }

    /// Texts that were decoded, for entries that point into them.
    fn kept(&self) -> &[u8] {
        &[]
    }

    /// Whether a line is a thing of its own: a frame does not go over several.
    fn is_by_line(&self) -> bool {
        true
    }

    /// Whether the log is of one connection at a time: a handshake whose ids begin anew is another connection's.
    fn is_serial(&self) -> bool {
        true
    }

    /// What the observer's place is, where the form tells.
    fn opening(&self) -> Opening {
        Opening::default()
    }

    /// What it lost beside what the form always loses.
    fn lost(&self) -> Lost {
        Lost::NOTHING
    }

    /// What was guessed.
    fn guessed(&self) -> Vec<String> {
        vec![]
    }

    /// What else to say of it.
    fn remarks(&self) -> Vec<String> {
        vec![]
    }
}

/// A log of lines.
struct LineLog<R, F> {
    format: &'static Format,
    lines: LineReader<R>,
    form: F,
    /// What stands before each line.
    quoting: Quoting,
    /// How long lines become.
    limit: Limit,
    scanner: Scanner,
    entries: Entries,
    line_copies: copies::Lines,
    frame_copies: copies::Frames,
    handshakes: Handshakes,
    disorder: Disorder,
    has_given: bool,
    /// When the last line was written that gave nothing and has a time.
    last_ms: Option<u64>,
    /// Lines that gave nothing.
    passed_over: u64,
    /// The last line stops in the middle and was left out.
    is_cut: bool,
    is_over: bool,
}

impl<R: Read, F: Form> LineLog<R, F> {
    fn new(
        format: &'static Format,
        lines: LineReader<R>,
        form: F,
        quoting: Quoting,
        limit: Limit,
    ) -> LineLog<R, F> {
        LineLog {
            format,
            lines,
            form,
            quoting,
            limit,
            scanner: Scanner::new(),
            entries: Entries::new(),
            line_copies: copies::Lines::default(),
            frame_copies: copies::Frames::default(),
            handshakes: Handshakes::default(),
            disorder: Disorder::default(),
            has_given: false,
            last_ms: None,
            passed_over: 0,
            is_cut: false,
            is_over: false,
        }
    }

    /// The next frame that can be read.
    fn next_frame(&mut self) -> Option<copies::Seen> {
        loop {
            let entry = self.next().ok()??;
            let seen = copies::Seen::of(&entry, self.lines.last(), self.form.kept());
            if seen.is_some() {
                return seen;
            }
        }
    }

    /// The next entry: of the line at hand, or of one that follows.
    fn next(&mut self) -> Result<Option<Entry>, ReadError> {
        loop {
            if let Some(entry) = self.entries.pop_front() {
                self.has_given = true;
                return Ok(Some(entry));
            }
            if self.is_over {
                return Ok(None);
            }
            let Some(line) = self.lines.next_filled()? else {
                self.is_over = true;
                self.form
                    .end(&mut self.entries)
                    .map_err(|wrong| wrong.on(1))?;
                self.leave_out_open();
                continue;
            };
            if line.too_long {
                return Err(too_long(&line).into());
            }
            let skip = self.quoting.skip(line.bytes);
            let bare = Line {
                bytes: without_colour(&line.bytes[skip..]),
                ..line
            };
            if self.line_copies.is_copy(bare.bytes) {
                continue;
            }
            match self.form.line(&bare, &mut self.entries) {
                Ok(()) => {}
                // Whoever wrote it was stopped, or has not gone on yet.
                Err(_) if !line.has_eol && self.has_given => {
                    self.entries.clear();
                    self.is_cut = true;
                }
                Err(mut wrong) => {
                    wrong.at += skip;
                    return Err(wrong.on(line.number).into());
                }
            }
            let mut tails = Tails {
                limit: self.limit,
                is_by_message: self.format.lost.has(Lost::LINES),
                scanner: &mut self.scanner,
            };
            for entry in &mut self.entries {
                self.is_cut |= tails.is_cut(entry, &bare);
                entry.told.shift(skip);
            }
            if self.is_cut {
                self.entries.clear();
            }
            let are_copies =
                self.frame_copies
                    .leave_out(&mut self.entries, line.bytes, self.form.kept());
            if self.form.is_serial() {
                self.handshakes.look(
                    &mut self.entries,
                    line.bytes,
                    self.form.kept(),
                    &mut self.scanner,
                );
            }
            self.disorder.look(&self.entries);
            if self.entries.is_empty() && !self.is_cut && !are_copies {
                self.passed_over += 1;
                let moment = self.form.moment(&line.bytes[skip..]);
                self.last_ms = moment.or(self.last_ms);
            }
        }
    }

    /// A frame over several lines stops where the log stops: it is left out.
    fn leave_out_open(&mut self) {
        let before = self.entries.len();
        let kept = self.form.kept();
        self.entries.retain(|entry| match &entry.told {
            Told::Frame {
                text: text @ Text::Rows { .. },
                ..
            } => Tail::of(text.bytes(b"", kept), &mut self.scanner) != Tail::Open,
            _ => true,
        });
        self.is_cut |= self.entries.len() < before;
    }
}

/// Looks at how the frames of a line end.
struct Tails<'a> {
    limit: Limit,
    /// Whoever wrote the log had parsed what it shows: a frame that is open was laid out over several lines by the logger.
    is_by_message: bool,
    scanner: &'a mut Scanner,
}

impl Tails<'_> {
    /// Whether the entry's frame stops where the log stops. What was shortened is marked as such.
    fn is_cut(&mut self, entry: &mut Entry, line: &Line<'_>) -> bool {
        let Told::Frame {
            text: Text::Here(place),
            cut_from_bytes,
            ..
        } = &mut entry.told
        else {
            return false;
        };
        if entry.line != 0 || cut_from_bytes.is_some() {
            return false;
        }
        let text = &line.bytes[place.clone()];
        let is_at_limit = self.limit.is(line.bytes.len());
        let is_loggers = is_at_limit || self.is_by_message && is_laid_out(text);
        // Most frames end as they have to.
        let seems_whole = matches!(
            (text.first(), text.last()),
            (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']'))
        );
        if seems_whole && line.has_eol && !is_at_limit {
            return false;
        }
        match Tail::of(text, self.scanner) {
            Tail::Own => false,
            Tail::Open if !line.has_eol => true,
            Tail::Open if !is_loggers => false,
            Tail::Open | Tail::Marked => {
                *cut_from_bytes = Some(text.len() as u64);
                false
            }
        }
    }
}

/// Whether the text stops where one who lays JSON out begins a new line.
fn is_laid_out(text: &[u8]) -> bool {
    matches!(text.last(), Some(b'{' | b'[' | b','))
}

impl<R: Read, F: Form> Recording for LineLog<R, F> {
    fn format(&self) -> &'static str {
        self.format.name
    }

    fn opening(&self) -> Opening {
        self.form.opening()
    }

    fn next_line(&mut self) -> Result<Option<CaptureLine<'_>>, ReadError> {
        let Some(entry) = self.next()? else {
            return Ok(None);
        };
        let number = self.lines.number();
        Ok(Some(entry.hand_on(
            self.lines.last(),
            number,
            self.form.kept(),
        )))
    }

    fn line_number(&self) -> u64 {
        self.lines.number()
    }

    fn is_cut(&self) -> bool {
        self.is_cut
    }

    fn last_ms(&self) -> Option<u64> {
        self.last_ms
    }

    fn lost(&self) -> Lost {
        self.format.lost | self.form.lost() | self.handshakes.lost() | self.disorder.lost()
    }

    fn guessed(&self) -> Vec<String> {
        let mut guessed = self.form.guessed();
        guessed.extend(copies::guessed(&self.line_copies, &self.frame_copies));
        guessed.extend(self.handshakes.guessed());
        guessed
    }

    fn passed_over(&self) -> u64 {
        match self.form.is_by_line() {
            true => self.passed_over,
            false => 0,
        }
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.form.remarks();
        remarks.extend(self.handshakes.remark());
        remarks.extend(self.disorder.remark());
        remarks
    }
}
