//! Lines of a file, one after the other in bounded memory, and the words for what is wrong with one of them.

use std::fmt;
use std::io::{self, Read};

use memchr::memchr;

/// A longer line is given only up to here, and marked ([`Line::too_long`]).
pub const LINE_BYTES_MAX: usize = 64 << 20;

/// Buffers that a long line has made larger than this are given back after it.
pub(crate) const KEPT_BYTES_MAX: usize = 1 << 20;

/// Something in a file that cannot be used, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InputError {
    /// The line, from 1.
    pub line: u64,
    /// The column in bytes, from 1.
    pub column: u64,
    /// What is wrong there; safe to print.
    pub message: String,
}

/// `line:column: message`, so that a file's name and a colon can stand before it.
impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for InputError {}

/// Why nothing more, or not this line, can be read.
#[derive(Debug)]
pub enum ReadError {
    /// The file itself: nothing more comes.
    Io(io::Error),
    /// What stands in it: the lines after it can still be read.
    Input(InputError),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Io(error) => error.fmt(f),
            ReadError::Input(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ReadError::Io(error) => Some(error),
            ReadError::Input(error) => Some(error),
        }
    }
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> ReadError {
        ReadError::Io(error)
    }
}

impl From<InputError> for ReadError {
    fn from(error: InputError) -> ReadError {
        ReadError::Input(error)
    }
}

/// One line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line<'a> {
    /// Its number, from 1.
    pub number: u64,
    /// Its bytes without the LF; a CR before that is part of them.
    pub bytes: &'a [u8],
    /// What the line lies in, from its beginning: its bytes, and perhaps its LF and what is behind that.
    pub buffer: &'a [u8],
    /// Whether an LF ended it: only the last line of a file can lack it.
    pub has_eol: bool,
    /// Whether it was longer than the reader's limit: `bytes` is then its beginning.
    pub too_long: bool,
}

impl Line<'_> {
    /// Nothing but JSON white space.
    #[inline]
    pub fn is_blank(&self) -> bool {
        self.bytes
            .iter()
            .all(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
    }
}

/// The line that was given out last.
#[derive(Clone, Copy, Debug)]
struct Lent {
    /// How many bytes it has, from where the unread part of the buffer begins.
    length: usize,
    /// Where the next one begins, from there.
    next: usize,
    has_eol: bool,
    too_long: bool,
}

/// So much of an input is asked for at once: little at first, since most are short.
const BUFFER_BYTES: std::ops::Range<usize> = 1 << 13..1 << 18;

/// Reads lines in one buffer, which is not copied but where a line would not fit its rest. It asks for large parts of the
/// input: one that is slow in small parts needs no buffer of its own. What is kept is bounded by the longest line and by
/// [`LINE_BYTES_MAX`].
#[derive(Debug)]
pub struct LineReader<R> {
    input: R,
    buffer: Vec<u8>,
    /// What lies between is read and not given up.
    start: usize,
    filled: usize,
    lent: Option<Lent>,
    again: bool,
    number: u64,
    line_bytes_max: usize,
}

impl<R: Read> LineReader<R> {
    /// A reader that stands before the first line.
    pub fn new(input: R) -> LineReader<R> {
        LineReader::with_limit(input, LINE_BYTES_MAX)
    }

    /// A reader with a limit of its own.
    pub fn with_limit(input: R, line_bytes_max: usize) -> LineReader<R> {
        LineReader {
            input,
            buffer: Vec::new(),
            start: 0,
            filled: 0,
            lent: None,
            again: false,
            number: 0,
            line_bytes_max,
        }
    }

    /// The next line; `None` at the end of the input.
    ///
    /// # Errors
    /// What the input reports; an interrupted read is tried again.
    #[inline]
    pub fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        if !std::mem::take(&mut self.again) {
            self.advance()?;
        }
        Ok(self.lent())
    }

    /// The next line that is not blank; `None` at the end of the input.
    ///
    /// # Errors
    /// What the input reports; an interrupted read is tried again.
    #[inline]
    pub fn next_filled(&mut self) -> io::Result<Option<Line<'_>>> {
        while self.next_line()?.is_some_and(|line| line.is_blank()) {}
        Ok(self.lent())
    }

    /// The line that was given out last.
    #[inline]
    fn lent(&self) -> Option<Line<'_>> {
        let lent = self.lent?;
        let buffer = &self.buffer[self.start..self.filled];
        Some(Line {
            number: self.number,
            bytes: &buffer[..lent.length],
            buffer,
            has_eol: lent.has_eol,
            too_long: lent.too_long,
        })
    }

    /// The beginning of the input, so many bytes of it if there are, before the first line is read.
    ///
    /// # Errors
    /// What the input reports before it gives anything; what it reports later is told where it is met again.
    pub fn peek(&mut self, bytes: usize) -> io::Result<&[u8]> {
        while self.filled - self.start < bytes {
            match self.fill() {
                Ok(true) => {}
                Err(error) if self.filled == self.start => return Err(error),
                Ok(false) | Err(_) => break,
            }
        }
        let end = self.filled.min(self.start + bytes);
        Ok(&self.buffer[self.start..end])
    }

    /// All of the input, instead of lines; `None` where it is longer than that.
    ///
    /// # Errors
    /// What the input reports.
    pub(crate) fn whole(mut self, bytes_max: usize) -> io::Result<Option<Vec<u8>>> {
        let mut all = self.buffer;
        all.truncate(self.filled);
        all.drain(..self.start);
        if all.len() <= bytes_max {
            let room = (bytes_max - all.len()) as u64 + 1;
            self.input.by_ref().take(room).read_to_end(&mut all)?;
        }
        Ok((all.len() <= bytes_max).then_some(all))
    }

    /// The bytes of the line that was given out last; none at the end of the input.
    pub fn last(&self) -> &[u8] {
        self.lent().map_or(&[], |line| line.bytes)
    }

    /// The next call gives the last line once more.
    pub fn unread(&mut self) {
        self.again = self.lent.is_some();
    }

    /// The number of the last line; 0 before the first.
    pub fn number(&self) -> u64 {
        self.number
    }

    #[inline]
    fn advance(&mut self) -> io::Result<()> {
        if let Some(lent) = self.lent.take() {
            self.start += lent.next;
            if lent.next > KEPT_BYTES_MAX {
                self.give_back();
            }
        }
        let unread = &self.buffer[self.start..self.filled];
        match memchr(b'\n', unread) {
            Some(length) if length <= self.line_bytes_max => {
                self.lend(length, length + 1, true, false);
                Ok(())
            }
            _ => self.gather(),
        }
    }

    #[inline]
    fn lend(&mut self, length: usize, next: usize, has_eol: bool, too_long: bool) {
        self.number += 1;
        self.lent = Some(Lent {
            length,
            next,
            has_eol,
            too_long,
        });
    }

    /// Reads on until a line is whole, or longer than the limit.
    fn gather(&mut self) -> io::Result<()> {
        self.give_back();
        // So much of the line is known to have no end.
        let mut plain = 0;
        loop {
            let max = self.line_bytes_max;
            match memchr(b'\n', &self.buffer[self.start + plain..self.filled]) {
                Some(at) => {
                    let length = plain + at;
                    self.lend(length.min(max), length + 1, true, length > max);
                    return Ok(());
                }
                None => plain = self.filled - self.start,
            }
            if plain > max {
                return self.pass_over();
            }
            if !self.fill()? {
                if plain > 0 {
                    self.lend(plain, plain, false, false);
                }
                return Ok(());
            }
        }
    }

    /// What of a line is beyond the limit is not kept.
    #[cold]
    fn pass_over(&mut self) -> io::Result<()> {
        let kept = self.line_bytes_max;
        let room = self.start + kept + BUFFER_BYTES.end;
        self.buffer.resize(room.max(self.buffer.len()), 0);
        loop {
            self.filled = self.start + kept;
            let has_more = self.fill()?;
            let rest = &self.buffer[self.start + kept..self.filled];
            if let Some(at) = memchr(b'\n', rest) {
                self.lend(kept, kept + at + 1, true, true);
                return Ok(());
            }
            if !has_more {
                self.lend(kept, kept, false, true);
                return Ok(());
            }
        }
    }

    /// Reads a part of the input behind what there is; `false` at its end.
    fn fill(&mut self) -> io::Result<bool> {
        if self.filled == self.buffer.len() {
            self.make_room();
        }
        let room = &mut self.buffer[self.filled..];
        let count = loop {
            match self.input.read(room) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        self.filled += count;
        Ok(count > 0)
    }

    /// The buffer is full: what is given up makes room in it, or it grows.
    fn make_room(&mut self) {
        let unread = self.start..self.filled;
        let length = self.buffer.len();
        let wanted = (2 * length).clamp(BUFFER_BYTES.start, BUFFER_BYTES.end);
        self.filled = unread.len();
        self.buffer.copy_within(unread, 0);
        self.start = 0;
        let wanted = match self.filled > length / 2 {
            true => wanted.max(2 * length),
            false => wanted.max(length),
        };
        self.buffer.resize(wanted, 0);
    }

    /// A buffer that a long line has made large is given back after it.
    #[cold]
    fn give_back(&mut self) {
        if self.start == self.filled {
            (self.start, self.filled) = (0, 0);
        }
        let unread = self.start..self.filled;
        if self.buffer.len() > KEPT_BYTES_MAX && unread.len() <= BUFFER_BYTES.end {
            self.filled = unread.len();
            self.buffer.copy_within(unread, 0);
            self.start = 0;
            self.buffer.truncate(BUFFER_BYTES.end);
            self.buffer.shrink_to_fit();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(mut reader: LineReader<impl Read>) -> Vec<(u64, Vec<u8>, bool, bool)> {
        let mut found = vec![];
        while let Some(line) = reader.next_line().expect("memory does not fail") {
            found.push((
                line.number,
                line.bytes.to_vec(),
                line.has_eol,
                line.too_long,
            ));
        }
        assert!(
            reader.next_line().expect("still at the end").is_none(),
            "the end stays the end"
        );
        found
    }

    /// An input that comes in parts of so many bytes.
    struct Parts<'a>(&'a [u8], usize);

    impl Read for Parts<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let length = out.len().min(self.1).min(self.0.len());
            let (part, rest) = self.0.split_at(length);
            out[..length].copy_from_slice(part);
            self.0 = rest;
            Ok(length)
        }
    }

    fn lines(bytes: &[u8], part: usize) -> Vec<(u64, Vec<u8>, bool, bool)> {
        all(LineReader::new(Parts(bytes, part)))
    }

    #[test]
    fn every_line_has_its_number_its_bytes_and_its_end() {
        let expected = vec![
            (1, b"one\r".to_vec(), true, false),
            (2, b"".to_vec(), true, false),
            (3, b"nul\0\xFF".to_vec(), true, false),
            (4, b"last".to_vec(), false, false),
        ];
        for capacity in [1, 2, 3, 5, 64] {
            assert_eq!(lines(b"one\r\n\nnul\0\xFF\nlast", capacity), expected);
        }
        assert_eq!(lines(b"", 8), []);
        assert_eq!(lines(b"\n", 8), [(1, vec![], true, false)]);
    }

    #[test]
    fn a_line_of_ten_megabytes_is_one_line_and_its_buffer_is_given_back() {
        let mut bytes = vec![b'x'; 10 << 20];
        bytes.extend_from_slice(b"\nshort\nlast");
        let mut reader = LineReader::new(Parts(&bytes, 4096));
        let long = reader.next_line().expect("reads").expect("a line");
        assert_eq!(
            (long.bytes.len(), long.has_eol, long.too_long),
            (10 << 20, true, false)
        );
        let short = reader.next_line().expect("reads").expect("a line");
        assert_eq!(short.bytes, b"short");
        assert!(reader.buffer.capacity() <= KEPT_BYTES_MAX);
    }

    #[test]
    fn a_line_beyond_the_limit_is_cut_and_the_next_one_is_whole() {
        for capacity in [1, 3, 64] {
            let input = Parts(b"abcdef\nabcd\nabcdefg", capacity);
            assert_eq!(
                all(LineReader::with_limit(input, 4)),
                [
                    (1, b"abcd".to_vec(), true, true),
                    (2, b"abcd".to_vec(), true, false),
                    (3, b"abcd".to_vec(), false, true),
                ]
            );
        }
    }

    #[test]
    fn a_line_can_be_read_again() {
        for capacity in [1, 64] {
            let input = Parts(b"one\ntwo", capacity);
            let mut reader = LineReader::new(input);
            reader.unread();
            for expected in [(1, &b"one"[..]), (2, b"two")] {
                for _ in 0..3 {
                    let line = reader.next_line().expect("reads").expect("a line");
                    assert_eq!((line.number, line.bytes), expected);
                    reader.unread();
                }
                let line = reader.next_line().expect("reads").expect("a line");
                assert_eq!((line.number, line.bytes), expected);
            }
            assert!(reader.next_line().expect("reads").is_none());
            reader.unread();
            assert!(reader.next_line().expect("reads").is_none());
        }
    }

    /// Fails once in the middle, with an interruption before it.
    struct Flaky(u8);

    impl Read for Flaky {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            self.0 += 1;
            match self.0 {
                1 => Err(io::ErrorKind::Interrupted.into()),
                2 => {
                    out[..3].copy_from_slice(b"ab\n");
                    Ok(3)
                }
                _ => Err(io::Error::other("gone")),
            }
        }
    }

    #[test]
    fn an_interruption_is_tried_again_and_a_failure_is_told() {
        let mut reader = LineReader::new(Flaky(0));
        assert_eq!(
            reader.next_line().expect("retried").expect("a line").bytes,
            b"ab"
        );
        let error = reader.next_line().expect_err("the input fails");
        assert_eq!(ReadError::from(error).to_string(), "gone");
    }

    #[test]
    fn an_error_says_where() {
        let error = InputError {
            line: 3,
            column: 14,
            message: "unknown key".into(),
        };
        assert_eq!(ReadError::from(error).to_string(), "3:14: unknown key");
    }

    proptest! {
        /// However the input is split, the lines are those of the whole, and together they are the input.
        #[test]
        fn split_reads_are_the_whole(
            bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..200),
            capacity in 1usize..20,
        ) {
            let whole = lines(&bytes, 4096);
            prop_assert_eq!(&lines(&bytes, capacity), &whole);
            let mut joined = vec![];
            for (_, line, has_eol, _) in whole {
                joined.extend_from_slice(&line);
                if has_eol {
                    joined.push(b'\n');
                }
            }
            prop_assert_eq!(joined, bytes);
        }
    }
}
