//! A recording of a session, in whatever form, as it is read: one frame or event after the other.

use crate::capture::{CaptureLine, CaptureReader, Opening};
use crate::lines::ReadError;
use crate::lost::Lost;
use std::io;

/// Gives what a recording tells, in its order. What it lends is gone when the next is asked for.
pub trait Recording {
    /// The form's name.
    fn format(&self) -> &'static str;

    /// What its beginning says of the observer.
    fn opening(&self) -> Opening;

    /// The next frame or event; `None` at the end.
    ///
    /// # Errors
    /// A place that cannot be used: ask again for what follows. Or the input cannot be read.
    fn next_line(&mut self) -> Result<Option<CaptureLine<'_>>, ReadError>;

    /// The number of the last line that was read.
    fn line_number(&self) -> u64;

    /// Whether the file stopped in the middle of its last line, which was left out.
    fn is_cut(&self) -> bool;

    /// The time of the last line that gave neither a frame nor an event: until then nothing else came.
    fn last_ms(&self) -> Option<u64> {
        None
    }

    /// What it does not have, as far as it was read.
    fn lost(&self) -> Lost {
        Lost::NOTHING
    }

    /// What was concluded and does not stand there, as far as it was read: each once.
    fn guessed(&self) -> Vec<String> {
        vec![]
    }

    /// Whether frames seem to be missing where nothing tells of them, as far as it was read: what rests on more than one frame is
    /// not certain then.
    fn has_gaps(&self) -> bool {
        false
    }

    /// The first frame, by its number, from which on only one side is recorded: what rests on more than those frames is not
    /// certain then.
    fn alone_from(&self) -> Option<u32> {
        None
    }

    /// How many lines gave nothing, neither a frame nor an event, as far as it was read; 0 too where frames go over several.
    fn passed_over(&self) -> u64 {
        0
    }

    /// What a reader should know of it, as far as it was read: each once.
    fn remarks(&self) -> Vec<String> {
        vec![]
    }
}

impl<R: io::Read> Recording for CaptureReader<R> {
    fn format(&self) -> &'static str {
        "capture"
    }

    fn opening(&self) -> Opening {
        CaptureReader::opening(self)
    }

    #[inline]
    fn next_line(&mut self) -> Result<Option<CaptureLine<'_>>, ReadError> {
        CaptureReader::next_line(self)
    }

    fn line_number(&self) -> u64 {
        CaptureReader::line_number(self)
    }

    fn is_cut(&self) -> bool {
        CaptureReader::is_cut(self)
    }

    fn lost(&self) -> Lost {
        CaptureReader::lost(self)
    }
}
