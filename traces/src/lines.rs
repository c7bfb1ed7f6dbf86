//! Lines of a file, one after the other in bounded memory, and the words for what is wrong with one of them.

use std::fmt;
use std::io::{self, BufRead};

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

/// Where the line that was given out last lies.
#[derive(Clone, Copy, Debug)]
enum Lent {
    Nothing,
    /// Whole in the input's own buffer, which still holds it; so many bytes and an LF.
    Input(usize),
    Gathered {
        has_eol: bool,
        too_long: bool,
    },
}

/// Reads lines without copying them where the input's buffer holds them whole. What it keeps is
/// bounded by the longest line and by [`LINE_BYTES_MAX`].
#[derive(Debug)]
pub struct LineReader<R> {
    input: R,
    gathered: Vec<u8>,
    lent: Lent,
    again: bool,
    number: u64,
    line_bytes_max: usize,
}

impl<R: BufRead> LineReader<R> {
    /// A reader that stands before the first line.
    pub fn new(input: R) -> LineReader<R> {
        LineReader::with_limit(input, LINE_BYTES_MAX)
    }

    /// A reader with a limit of its own.
    pub fn with_limit(input: R, line_bytes_max: usize) -> LineReader<R> {
        LineReader {
            input,
            gathered: Vec::new(),
            lent: Lent::Nothing,
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
        self.lent()
    }

    /// The next line that is not blank; `None` at the end of the input.
    ///
    /// # Errors
    /// What the input reports; an interrupted read is tried again.
    #[inline]
    pub fn next_filled(&mut self) -> io::Result<Option<Line<'_>>> {
        while self.next_line()?.is_some_and(|line| line.is_blank()) {}
        self.lent()
    }

    /// The line that was given out last.
    #[inline]
    fn lent(&mut self) -> io::Result<Option<Line<'_>>> {
        let number = self.number;
        Ok(match self.lent {
            Lent::Nothing => None,
            Lent::Input(length) => {
                let buffer = self.input.fill_buf()?;
                Some(Line {
                    number,
                    bytes: &buffer[..length],
                    buffer,
                    has_eol: true,
                    too_long: false,
                })
            }
            Lent::Gathered { has_eol, too_long } => Some(Line {
                number,
                bytes: &self.gathered,
                buffer: &self.gathered,
                has_eol,
                too_long,
            }),
        })
    }

    /// The next call gives the last line once more.
    pub fn unread(&mut self) {
        self.again = !matches!(self.lent, Lent::Nothing);
    }

    /// The number of the last line; 0 before the first.
    pub fn number(&self) -> u64 {
        self.number
    }

    #[inline]
    fn advance(&mut self) -> io::Result<()> {
        match std::mem::replace(&mut self.lent, Lent::Nothing) {
            Lent::Nothing => {}
            Lent::Input(length) => self.input.consume(length + 1),
            Lent::Gathered { .. } => {
                self.gathered.clear();
                self.gathered.shrink_to(KEPT_BYTES_MAX);
            }
        }
        let chunk = fill(&mut self.input)?;
        if chunk.is_empty() {
            return Ok(());
        }
        match memchr(b'\n', chunk) {
            Some(length) if length <= self.line_bytes_max => self.lent = Lent::Input(length),
            _ => self.lent = self.gather()?,
        }
        self.number += 1;
        Ok(())
    }

    /// Copies a line together that does not lie whole in the input's buffer.
    fn gather(&mut self) -> io::Result<Lent> {
        let mut too_long = false;
        loop {
            let chunk = fill(&mut self.input)?;
            if chunk.is_empty() {
                return Ok(Lent::Gathered {
                    has_eol: false,
                    too_long,
                });
            }
            let end = memchr(b'\n', chunk);
            let part = &chunk[..end.unwrap_or(chunk.len())];
            let room = self.line_bytes_max - self.gathered.len();
            self.gathered
                .extend_from_slice(&part[..part.len().min(room)]);
            too_long |= part.len() > room;
            let used = part.len() + usize::from(end.is_some());
            self.input.consume(used);
            if end.is_some() {
                return Ok(Lent::Gathered {
                    has_eol: true,
                    too_long,
                });
            }
        }
    }
}

/// The input's buffer, filled; empty at the end.
fn fill<R: BufRead>(input: &mut R) -> io::Result<&[u8]> {
    loop {
        match input.fill_buf() {
            Ok(_) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    input.fill_buf()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::{BufReader, Read};

    fn all(mut reader: LineReader<impl BufRead>) -> Vec<(u64, Vec<u8>, bool, bool)> {
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

    fn lines(bytes: &[u8], capacity: usize) -> Vec<(u64, Vec<u8>, bool, bool)> {
        all(LineReader::new(BufReader::with_capacity(capacity, bytes)))
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
        let mut reader = LineReader::new(BufReader::with_capacity(4096, &bytes[..]));
        let long = reader.next_line().expect("reads").expect("a line");
        assert_eq!(
            (long.bytes.len(), long.has_eol, long.too_long),
            (10 << 20, true, false)
        );
        let short = reader.next_line().expect("reads").expect("a line");
        assert_eq!(short.bytes, b"short");
        assert!(reader.gathered.capacity() <= KEPT_BYTES_MAX);
    }

    #[test]
    fn a_line_beyond_the_limit_is_cut_and_the_next_one_is_whole() {
        for capacity in [1, 3, 64] {
            let input = BufReader::with_capacity(capacity, &b"abcdef\nabcd\nabcdefg"[..]);
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
            let input = BufReader::with_capacity(capacity, &b"one\ntwo"[..]);
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
        let mut reader = LineReader::new(BufReader::new(Flaky(0)));
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
