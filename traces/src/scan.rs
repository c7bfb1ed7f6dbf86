//! JSON grammar over bytes (RFC 8259): finds where values end, strictly, without recursion and without a tree.

use wide::u8x16;

use crate::tape::{Tape, Value, ValueKind};

/// Why bytes are not JSON, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    /// Offset in bytes from the start of the frame.
    pub at: usize,
    /// What is wrong there.
    pub kind: FaultKind,
}

/// What is wrong with bytes that are not JSON.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// The bytes end inside a value.
    End,
    /// A byte that cannot stand there.
    Unexpected,
    /// `NaN` or `Infinity`.
    NotANumber,
    /// A string with an unknown escape.
    Escape,
    /// A control character inside a string.
    Control,
    /// A number that JSON's grammar does not allow.
    Number,
}

impl FaultKind {
    /// The fault in words, for a message.
    pub const fn as_str(self) -> &'static str {
        match self {
            FaultKind::End => "ends in the middle of a value",
            FaultKind::Unexpected => "unexpected character",
            FaultKind::NotANumber => "NaN and Infinity are not JSON",
            FaultKind::Escape => "unknown escape in a string",
            FaultKind::Control => "control character inside a string",
            FaultKind::Number => "not a JSON number",
        }
    }
}

type Scan<T> = Result<T, Fault>;

fn fault<T>(at: usize, kind: FaultKind) -> Scan<T> {
    Err(Fault { at, kind })
}

/// What became of a block of a string.
enum Block {
    /// The string ends before this offset.
    Ended(usize),
    /// The string goes on at this offset.
    Passed(usize),
}

/// The arrays and objects that are open.
#[derive(Clone, Copy, Default)]
struct Levels {
    depth: usize,
    /// The innermost 64, the last in the lowest bit. Set: an object; clear: an array.
    objects: u64,
}

/// Scans JSON values; keeps what is open as one bit a level, so that any depth is fine and nothing is
/// allocated on the usual path.
#[derive(Clone, Default, Debug)]
pub struct Scanner {
    /// What is open above the innermost 64 levels.
    outer: Vec<u64>,
    depth_max: usize,
    lone_surrogate: bool,
    /// Whether the last string had an escape.
    is_escaped: bool,
    /// Where the values lie, if that is asked for.
    tape: Tape,
}

impl Scanner {
    /// A scanner with an empty stack.
    pub fn new() -> Scanner {
        Scanner::default()
    }

    /// A scanner that writes down where the values lie: [`Scanner::body`] reads it.
    pub fn recording() -> Scanner {
        Scanner {
            tape: Tape::recording(),
            ..Scanner::default()
        }
    }

    /// Forgets what earlier frames had: depth, surrogates, places.
    #[inline]
    pub fn reset(&mut self) {
        self.depth_max = 0;
        self.lone_surrogate = false;
        self.tape.clear();
    }

    /// The first value that was scanned since [`Scanner::reset`], of the text that was scanned: it
    /// must have been scanned without a fault. `None` where nothing was recorded, or more than a tape
    /// holds ([`Scanner::is_tape_cut`]).
    #[inline]
    pub fn body<'a>(&'a self, text: &'a [u8]) -> Option<Value<'a>> {
        self.tape.root(text)
    }

    /// Whether the text had more values than are written down.
    #[inline]
    pub fn is_tape_cut(&self) -> bool {
        self.tape.is_cut()
    }

    /// The deepest nesting below the values scanned since [`Scanner::reset`].
    #[inline]
    pub fn depth_max(&self) -> usize {
        self.depth_max
    }

    /// Whether an escape of half a surrogate pair was seen since [`Scanner::reset`].
    #[inline]
    pub fn saw_lone_surrogate(&self) -> bool {
        self.lone_surrogate
    }

    /// Whether the last string that was scanned has an escape.
    #[inline]
    pub(crate) fn was_escaped(&self) -> bool {
        self.is_escaped
    }

    /// An array or object opens.
    #[inline]
    fn push(&mut self, levels: &mut Levels, is_object: bool) {
        if levels.depth.is_multiple_of(64) && levels.depth > 0 {
            self.outer.push(levels.objects);
        }
        levels.objects = levels.objects << 1 | u64::from(is_object);
        levels.depth += 1;
        self.depth_max = self.depth_max.max(levels.depth);
    }

    /// … and closes.
    #[inline]
    fn pop(&mut self, levels: &mut Levels) {
        levels.depth -= 1;
        levels.objects >>= 1;
        if levels.depth.is_multiple_of(64) && levels.depth > 0 {
            levels.objects = self.outer.pop().unwrap_or_default();
        }
    }

    /// Scans one value that begins at `at` (no white space before it) and returns its end.
    ///
    /// # Errors
    /// The first place where the bytes are not JSON.
    pub fn value(&mut self, bytes: &[u8], mut at: usize) -> Scan<usize> {
        let mut levels = Levels::default();
        self.outer.clear();
        loop {
            at = match bytes.get(at) {
                None => return fault(at, FaultKind::End),
                Some(b'"') => {
                    let end = self.string(bytes, at)?;
                    self.tape.text(bytes, at, end, self.is_escaped);
                    end
                }
                Some(b'{') => {
                    self.push(&mut levels, true);
                    self.tape.open(ValueKind::Object, at);
                    at = white(bytes, at + 1);
                    if bytes.get(at) != Some(&b'}') {
                        at = self.member_name(bytes, at)?;
                        continue;
                    }
                    self.pop(&mut levels);
                    self.tape.close(at + 1);
                    at + 1
                }
                Some(b'[') => {
                    self.push(&mut levels, false);
                    self.tape.open(ValueKind::Array, at);
                    at = white(bytes, at + 1);
                    if bytes.get(at) != Some(&b']') {
                        continue;
                    }
                    self.pop(&mut levels);
                    self.tape.close(at + 1);
                    at + 1
                }
                Some(b'-' | b'0'..=b'9') => {
                    let end = number(bytes, at)?;
                    self.tape.leaf(ValueKind::Number, at, end);
                    end
                }
                Some(b't') => self.word(bytes, at, b"true", ValueKind::True)?,
                Some(b'f') => self.word(bytes, at, b"false", ValueKind::False)?,
                Some(b'n') => self.word(bytes, at, b"null", ValueKind::Null)?,
                Some(b'N') => return not_a_number(bytes, at, b"NaN"),
                Some(b'I') => return not_a_number(bytes, at, b"Infinity"),
                Some(_) => return fault(at, FaultKind::Unexpected),
            };
            // A value has ended: close what ends with it, or go on to the next one.
            loop {
                if levels.depth == 0 {
                    return Ok(at);
                }
                at = white(bytes, at);
                match (bytes.get(at), levels.objects & 1 == 1) {
                    (None, _) => return fault(at, FaultKind::End),
                    (Some(b','), true) => {
                        at = self.member_name(bytes, white(bytes, at + 1))?;
                        break;
                    }
                    (Some(b','), false) => {
                        at = white(bytes, at + 1);
                        break;
                    }
                    (Some(b'}'), true) | (Some(b']'), false) => {
                        self.pop(&mut levels);
                        at += 1;
                        self.tape.close(at);
                    }
                    _ => return fault(at, FaultKind::Unexpected),
                }
            }
        }
    }

    /// A member's name, its colon and the white space around it; returns where its value begins.
    #[inline]
    fn member_name(&mut self, bytes: &[u8], at: usize) -> Scan<usize> {
        expect(bytes, at, b'"')?;
        let end = self.string(bytes, at)?;
        self.tape.name(bytes, at, end, self.is_escaped);
        let colon = white(bytes, end);
        expect(bytes, colon, b':')?;
        Ok(white(bytes, colon + 1))
    }

    #[inline]
    fn word(&mut self, bytes: &[u8], at: usize, word: &[u8], kind: ValueKind) -> Scan<usize> {
        let end = literal(bytes, at, word)?;
        self.tape.leaf(kind, at, end);
        Ok(end)
    }

    /// A string that begins with its quote at `at`; returns the offset after the closing quote.
    ///
    /// # Errors
    /// An unknown escape, a control character, or the end of the bytes.
    #[inline]
    pub fn string(&mut self, bytes: &[u8], at: usize) -> Scan<usize> {
        self.is_escaped = false;
        // Most strings are names, and end in the first step.
        if let Some(step) = bytes.get(at + 1..).and_then(<[u8]>::first_chunk) {
            let length = special_step(step).trailing_zeros() as usize;
            if length < STEP && step[length] == b'"' {
                return Ok(at + length + 2);
            }
        }
        self.long_string(bytes, at + 1)
    }

    /// What is left of a string.
    #[inline(never)]
    fn long_string(&mut self, bytes: &[u8], mut at: usize) -> Scan<usize> {
        while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
            match self.string_block(bytes, at, block)? {
                Block::Ended(end) => return Ok(end),
                Block::Passed(next) => at = next,
            }
        }
        loop {
            at = special(bytes, at);
            match bytes.get(at) {
                None => return fault(at, FaultKind::End),
                Some(b'"') => return Ok(at + 1),
                Some(b'\\') => at = self.escape(bytes, at)?,
                Some(_) => return fault(at, FaultKind::Control),
            }
        }
    }

    /// One block of a string, and the byte after it: all its special bytes from one mask.
    #[inline]
    fn string_block(&mut self, bytes: &[u8], at: usize, block: &[u8; BLOCK + 1]) -> Scan<Block> {
        let mut mask = special_mask(block.first_chunk().expect("it is longer"));
        while mask != 0 {
            let hit = mask.trailing_zeros() as usize;
            let taken = match block[hit] {
                b'"' => return Ok(Block::Ended(at + hit + 1)),
                b'\\' if PLAIN[usize::from(block[hit + 1])] != 0 => {
                    self.is_escaped = true;
                    hit + 2
                }
                b'\\' => self.escape(bytes, at + hit)? - at,
                _ => return fault(at + hit, FaultKind::Control),
            };
            if taken >= BLOCK {
                return Ok(Block::Passed(at + taken));
            }
            // The escaped byte may be marked, too.
            mask &= u64::MAX << taken;
        }
        Ok(Block::Passed(at + BLOCK))
    }

    /// As [`Scanner::string`], and resolves the string's escapes as [`unescape`] does, in the same
    /// pass. Returns the offset after the closing quote and the length of the plain text, which lies
    /// at the beginning of `out`; `out` grows where it must and is never shortened, so that a buffer
    /// that is used again is not cleared again.
    ///
    /// `buffer` begins with the bytes, and may go on with a control character, such as a line feed, and anything
    /// after it: whole blocks are read from it and nothing of them is taken.
    ///
    /// # Errors
    /// An unknown escape, a control character, or the end of the bytes.
    pub fn string_into(
        &mut self,
        bytes: &[u8],
        at: usize,
        buffer: &[u8],
        out: &mut Vec<u8>,
    ) -> Scan<(usize, usize)> {
        debug_assert!(buffer.starts_with(bytes), "the buffer has the bytes");
        debug_assert!(
            buffer.get(bytes.len()).is_none_or(|byte| *byte < 0x20),
            "a string ends there"
        );
        let mut at = at + 1;
        // Plain text is never longer than its source; runs are copied in whole steps.
        let room = bytes.len().saturating_sub(at) + ROOM;
        if out.len() < room {
            out.resize(room, 0);
        }
        let mut length = 0;
        let mut tail;
        loop {
            let rest = buffer.get(at..).unwrap_or(&[]);
            let window = match rest.first_chunk() {
                Some(window) => window,
                None => {
                    // The zeros after the text are control characters, at which every run ends.
                    tail = [0; ROOM];
                    tail[..rest.len()].copy_from_slice(rest);
                    &tail
                }
            };
            let target = out[length..].first_chunk_mut().expect("there is room");
            let (taken, plain, hit) = plain_block(window, target);
            at += taken;
            length += plain;
            if !hit {
                continue;
            }
            match bytes.get(at) {
                None => return fault(at, FaultKind::End),
                Some(b'"') => return Ok((at + 1, length)),
                Some(b'\\') => {
                    let plain = match bytes.get(at + 1) {
                        Some(&escaped) => PLAIN[usize::from(escaped)],
                        None => 0,
                    };
                    if plain != 0 {
                        out[length] = plain;
                        length += 1;
                        at += 2;
                    } else {
                        let end = self.escape(bytes, at)?;
                        length += unescape_unit(&bytes[at..end], &mut out[length..]);
                        at = end;
                    }
                }
                Some(_) => return fault(at, FaultKind::Control),
            }
        }
    }

    /// An escape that begins with its backslash at `at`.
    #[inline]
    fn escape(&mut self, bytes: &[u8], at: usize) -> Scan<usize> {
        self.is_escaped = true;
        match bytes.get(at + 1) {
            None => fault(at + 1, FaultKind::End),
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
            Some(b'u') => {
                let unit = hex4(bytes, at + 2)?;
                match unit {
                    0xD800..=0xDBFF => {
                        let low = bytes.get(at + 6) == Some(&b'\\')
                            && bytes.get(at + 7) == Some(&b'u')
                            && matches!(hex4(bytes, at + 8), Ok(0xDC00..=0xDFFF));
                        self.lone_surrogate |= !low;
                        Ok(at + if low { 12 } else { 6 })
                    }
                    0xDC00..=0xDFFF => {
                        self.lone_surrogate = true;
                        Ok(at + 6)
                    }
                    _ => Ok(at + 6),
                }
            }
            Some(_) => fault(at, FaultKind::Escape),
        }
    }

    /// Calls `member` for each member of the object that begins at `at`, with the name's bytes
    /// between the quotes (escapes unresolved) and where its value begins; `member` returns where
    /// the value ends. Returns the offset after the closing brace.
    ///
    /// # Errors
    /// What `member` returns, or the first place where the object is not JSON.
    #[inline]
    pub fn object(
        &mut self,
        bytes: &[u8],
        at: usize,
        mut member: impl FnMut(&mut Scanner, &[u8], usize) -> Scan<usize>,
    ) -> Scan<usize> {
        expect(bytes, at, b'{')?;
        self.tape.open(ValueKind::Object, at);
        let mut at = white(bytes, at + 1);
        if bytes.get(at) == Some(&b'}') {
            self.tape.close(at + 1);
            return Ok(at + 1);
        }
        loop {
            expect(bytes, at, b'"')?;
            let end = self.string(bytes, at)?;
            self.tape.name(bytes, at, end, self.is_escaped);
            let name = &bytes[at + 1..end - 1];
            let colon = white(bytes, end);
            expect(bytes, colon, b':')?;
            at = white(bytes, member(self, name, white(bytes, colon + 1))?);
            match bytes.get(at) {
                Some(b',') => at = white(bytes, at + 1),
                Some(b'}') => {
                    self.tape.close(at + 1);
                    return Ok(at + 1);
                }
                Some(_) => return fault(at, FaultKind::Unexpected),
                None => return fault(at, FaultKind::End),
            }
        }
    }
}

#[inline]
fn expect(bytes: &[u8], at: usize, byte: u8) -> Scan<()> {
    match bytes.get(at) {
        Some(&found) if found == byte => Ok(()),
        Some(_) => fault(at, FaultKind::Unexpected),
        None => fault(at, FaultKind::End),
    }
}

/// The first offset from `at` that is not JSON white space.
#[inline]
pub fn white(bytes: &[u8], mut at: usize) -> usize {
    // Most JSON on wires has none.
    if bytes.get(at).is_some_and(|&byte| byte > b' ') {
        return at;
    }
    while let Some(b' ' | b'\t' | b'\n' | b'\r') = bytes.get(at) {
        at += 1;
    }
    at
}

/// Bytes that are looked at together.
const WORD: usize = 8;

/// Marks the quotes, backslashes and control characters in a word of eight bytes: the lowest set
/// bit belongs to the first one, since borrows only travel upward.
#[inline]
fn special_bits(word: u64) -> u64 {
    const HIGH: u64 = ONES << 7;
    const fn first_zero(word: u64) -> u64 {
        word.wrapping_sub(ONES) & !word & HIGH
    }
    let quote = first_zero(word ^ (ONES * b'"' as u64));
    let backslash = first_zero(word ^ (ONES * b'\\' as u64));
    let control = word.wrapping_sub(ONES * 0x20) & !word & HIGH;
    quote | backslash | control
}

/// Bytes whose special ones are found together.
const BLOCK: usize = 64;

/// Bytes that are copied at once, more than are needed.
const STEP: usize = 16;

/// A block, and what copying whole steps from its last bytes reads or writes behind it. Offsets are kept below
/// twice a block, so that the compiler sees that they lie within and checks no more.
const ROOM: usize = 3 * BLOCK;

/// Copies a block of a string, with its escapes of one character resolved, up to the first special
/// byte that is no such escape. Frames inside a capture have an escape every few bytes: they are
/// found by one mask of the block, so that no branch depends on where they are. Returns the bytes
/// taken, the bytes of plain text, and whether a special byte was the end.
#[inline(never)]
fn plain_block(window: &[u8; ROOM], out: &mut [u8; ROOM]) -> (usize, usize, bool) {
    // Each escape so far has one character less in the plain text.
    let (mut taken, mut escapes, mut hit) = (0, 0, 0);
    let mut mask = special_mask(window.first_chunk().expect("it is longer"));
    while mask != 0 {
        hit = mask.trailing_zeros() as usize;
        copy_run(window, taken, out, taken - escapes, hit - taken);
        // The escaped byte may be marked, too.
        mask &= !(0b11 << hit);
        let pair = *window[hit..].first_chunk().expect("it is longer");
        const QUOTE: u16 = u16::from_le_bytes(*b"\\\"");
        const BACKSLASH: u16 = u16::from_le_bytes(*b"\\\\");
        if matches!(u16::from_le_bytes(pair), QUOTE | BACKSLASH) {
            // By far the most: the next run begins with what is escaped.
            escapes += 1;
            taken = hit + 1;
            continue;
        }
        let plain = match window[hit] {
            b'\\' => PLAIN[usize::from(window[hit + 1])],
            _ => 0,
        };
        if plain == 0 {
            return (hit, hit - escapes, true);
        }
        out[(hit - escapes) % BLOCK] = plain;
        escapes += 1;
        taken = hit + 2;
    }
    if taken < BLOCK {
        copy_run(window, taken, out, taken - escapes, BLOCK - taken);
        taken = BLOCK;
    } else if hit == BLOCK - 1 && taken == BLOCK {
        // What is escaped by a backslash that was the block's last byte.
        out[(BLOCK - escapes) % BLOCK] = window[BLOCK];
        taken += 1;
    }
    (taken, taken - escapes, false)
}

/// Copies `run` bytes, at most a block, and up to two whole steps some more.
#[inline]
fn copy_run(window: &[u8; ROOM], from: usize, out: &mut [u8; ROOM], to: usize, run: usize) {
    let (from, to) = (from % (2 * BLOCK), to % (2 * BLOCK));
    // Most runs are short, and copying more than is needed costs less than asking.
    out[to..to + 2 * STEP].copy_from_slice(&window[from..from + 2 * STEP]);
    if run > 2 * STEP {
        let (from, to) = (from + 2 * STEP, to + 2 * STEP);
        out[to..to + 2 * STEP].copy_from_slice(&window[from..from + 2 * STEP]);
    }
}

/// A bit for each quote, backslash and control character among 64 bytes.
#[inline]
fn special_mask(block: &[u8; BLOCK]) -> u64 {
    let mut mask = 0;
    for (part, step) in block.as_chunks().0.iter().enumerate() {
        mask |= u64::from(special_step(step)) << (STEP * part);
    }
    mask
}

/// … among 16.
#[inline]
fn special_step(step: &[u8; STEP]) -> u32 {
    let bytes = u8x16::new(*step);
    let last_control = u8x16::splat(0x1F);
    let marks = bytes.simd_eq(u8x16::splat(b'"'))
        | bytes.simd_eq(u8x16::splat(b'\\'))
        | bytes.simd_eq(bytes.min(last_control));
    marks.to_bitmask()
}

const ONES: u64 = 0x0101_0101_0101_0101;

/// The first offset from `at` of a quote, a backslash or a control character; the length if none.
#[inline]
fn special(bytes: &[u8], mut at: usize) -> usize {
    while let Some(chunk) = bytes.get(at..at + WORD) {
        let word = u64::from_le_bytes(chunk.try_into().expect("a word was asked for"));
        let hits = special_bits(word);
        if hits != 0 {
            return at + hits.trailing_zeros() as usize / 8;
        }
        at += WORD;
    }
    while let Some(&byte) = bytes.get(at) {
        if byte == b'"' || byte == b'\\' || byte < 0x20 {
            break;
        }
        at += 1;
    }
    at
}

fn hex4(bytes: &[u8], at: usize) -> Scan<u32> {
    let mut unit = 0;
    for offset in 0..4 {
        let digit = match bytes.get(at + offset) {
            None => return fault(at + offset, FaultKind::End),
            Some(byte) => (*byte as char).to_digit(16),
        };
        match digit {
            Some(digit) => unit = unit << 4 | digit,
            None => return fault(at + offset, FaultKind::Escape),
        }
    }
    Ok(unit)
}

#[inline]
fn literal(bytes: &[u8], at: usize, word: &[u8]) -> Scan<usize> {
    let rest = &bytes[at..];
    if rest.starts_with(word) {
        return Ok(at + word.len());
    }
    let same = rest
        .iter()
        .zip(word)
        .take_while(|(one, other)| one == other)
        .count();
    if same == rest.len() {
        return fault(bytes.len(), FaultKind::End);
    }
    fault(at + same, FaultKind::Unexpected)
}

fn not_a_number(bytes: &[u8], at: usize, word: &[u8]) -> Scan<usize> {
    let known = bytes[at..].starts_with(word);
    fault(
        at,
        if known {
            FaultKind::NotANumber
        } else {
            FaultKind::Unexpected
        },
    )
}

/// A number that begins at `at`; returns its end.
///
/// # Errors
/// A number that the grammar of RFC 8259, section 6, does not allow.
#[inline]
pub fn number(bytes: &[u8], at: usize) -> Scan<usize> {
    let start = if bytes[at] == b'-' { at + 1 } else { at };
    let digits = |mut at: usize| {
        while let Some(b'0'..=b'9') = bytes.get(at) {
            at += 1;
        }
        at
    };
    let mut end = digits(start);
    if end == start {
        if bytes.get(start) == Some(&b'I') {
            return not_a_number(bytes, start, b"Infinity");
        }
        return fault(
            start,
            if start == bytes.len() {
                FaultKind::End
            } else {
                FaultKind::Number
            },
        );
    }
    if bytes[start] == b'0' && end > start + 1 {
        return fault(start, FaultKind::Number);
    }
    if bytes.get(end) == Some(&b'.') {
        let from = end + 1;
        end = digits(from);
        if end == from {
            return fault(
                end,
                if end == bytes.len() {
                    FaultKind::End
                } else {
                    FaultKind::Number
                },
            );
        }
    }
    if let Some(b'e' | b'E') = bytes.get(end) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let from = end + 1 + sign;
        end = digits(from);
        if end == from {
            return fault(
                end,
                if end == bytes.len() {
                    FaultKind::End
                } else {
                    FaultKind::Number
                },
            );
        }
    }
    Ok(end)
}

/// What an escape of one character stands for; 0 for `u` and for what is no escape.
pub(crate) const PLAIN: [u8; 256] = {
    let mut plain = [0; 256];
    let escapes = [
        (b'"', b'"'),
        (b'\\', b'\\'),
        (b'/', b'/'),
        (b'b', 8),
        (b'f', 12),
        (b'n', b'\n'),
        (b'r', b'\r'),
        (b't', b'\t'),
    ];
    let mut at = 0;
    while at < escapes.len() {
        plain[escapes[at].0 as usize] = escapes[at].1;
        at += 1;
    }
    plain
};

/// Resolves the escapes of a string's inner bytes (between its quotes, already scanned). Half
/// surrogate pairs become their three generalised UTF-8 bytes, so that different texts stay
/// different.
pub fn unescape(inner: &[u8], out: &mut Vec<u8>) {
    let mut rest = inner;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        let escape = &rest[at..];
        let taken = match escape.get(1) {
            Some(b'u') => {
                let pair = escape.len() >= 12 && escape[6..8] == *b"\\u";
                let pair = pair && matches!(hex4(escape, 2), Ok(0xD800..=0xDBFF));
                let pair = pair && matches!(hex4(escape, 8), Ok(0xDC00..=0xDFFF));
                let taken = if pair { 12 } else { 6.min(escape.len()) };
                let mut text = [0; 4];
                let length = unescape_unit(&escape[..taken], &mut text);
                out.extend_from_slice(&text[..length]);
                taken
            }
            Some(&other) => {
                let plain = PLAIN[usize::from(other)];
                out.push(if plain == 0 { other } else { plain });
                2
            }
            None => {
                out.push(b'\\');
                1
            }
        };
        rest = &escape[taken..];
    }
    out.extend_from_slice(rest);
}

/// Writes what one `\uXXXX`, or a pair of them, stands for; returns how many bytes that is.
fn unescape_unit(escape: &[u8], out: &mut [u8]) -> usize {
    let unit = hex4(escape, 2).unwrap_or(0xFFFD);
    let code = match hex4(escape, 8) {
        Ok(low) => 0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00),
        Err(_) => unit,
    };
    match char::from_u32(code) {
        Some(text) => text.encode_utf8(out).len(),
        None => {
            out[0] = 0xE0 | (code >> 12) as u8;
            out[1] = 0x80 | (code >> 6 & 0x3F) as u8;
            out[2] = 0x80 | (code & 0x3F) as u8;
            3
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(text: &str) -> Result<usize, FaultKind> {
        let mut scanner = Scanner::new();
        scanner
            .value(text.as_bytes(), 0)
            .map_err(|fault| fault.kind)
    }

    #[test]
    fn whole_values_end_where_they_end() {
        for text in [
            "0",
            "-0",
            "1.5e+10",
            "true",
            "null",
            r#""a\"b""#,
            "[]",
            "{}",
            "[1,[2,{}]]",
            r#"{"a":{"b":[]},"c":"\ud83d\ude00"}"#,
            "[ 1 , 2 ]",
            "1e999999999",
        ] {
            assert_eq!(scan(text), Ok(text.len()), "{text}");
        }
    }

    #[test]
    fn faults_are_named() {
        for (text, kind) in [
            ("", FaultKind::End),
            ("{\"a\":", FaultKind::End),
            ("[1,", FaultKind::End),
            ("\"abc", FaultKind::End),
            ("tru", FaultKind::End),
            ("trup", FaultKind::Unexpected),
            ("[1,]", FaultKind::Unexpected),
            ("{\"a\":1,}", FaultKind::Unexpected),
            ("{'a':1}", FaultKind::Unexpected),
            ("[1}", FaultKind::Unexpected),
            ("NaN", FaultKind::NotANumber),
            ("[-Infinity]", FaultKind::NotANumber),
            ("01", FaultKind::Number),
            ("1.", FaultKind::End),
            ("[1.]", FaultKind::Number),
            ("\"\\x\"", FaultKind::Escape),
            ("\"a\nb\"", FaultKind::Control),
            ("\"\\u12g4\"", FaultKind::Escape),
        ] {
            assert_eq!(scan(text), Err(kind), "{text:?}");
        }
    }

    /// Any depth, without recursion: the stack is one bit a level.
    #[test]
    fn a_hundred_thousand_levels_are_fine() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert_eq!(scan(&deep), Ok(200_000));
        assert_eq!(scan(&"[".repeat(100_000)), Err(FaultKind::End));
        let objects = "{\"a\":".repeat(100_000) + "1" + &"}".repeat(100_000);
        assert_eq!(scan(&objects), Ok(objects.len()));
    }

    /// Arrays and objects by turns, however deep: each is closed by its own bracket and by no other.
    #[test]
    fn levels_are_told_apart_at_every_depth() {
        for depth in [1, 63, 64, 65, 127, 128, 129, 500] {
            let open = |level: usize| {
                if level.is_multiple_of(3) {
                    "{\"a\":"
                } else {
                    "["
                }
            };
            let close = |level: usize| if level.is_multiple_of(3) { "}" } else { "]" };
            let opened: String = (0..depth).map(open).collect();
            let closed: Vec<&str> = (0..depth).rev().map(close).collect();
            let text = format!("{opened}1{}", closed.concat());
            assert_eq!(scan(&text), Ok(text.len()));
            for at in 0..depth {
                let mut wrong = closed.clone();
                wrong[at] = if closed[at] == "}" { "]" } else { "}" };
                let text = format!("{opened}1{}", wrong.concat());
                assert_eq!(scan(&text), Err(FaultKind::Unexpected), "{depth} {at}");
            }
        }
    }

    #[test]
    fn special_bytes_are_found_at_every_offset() {
        for byte in [b'"', b'\\', 0, 0x1f] {
            for length in 0..20 {
                for at in 0..length {
                    let mut text = vec![b'x'; length];
                    text[at] = byte;
                    assert_eq!(special(&text, 0), at);
                }
                assert_eq!(special(&vec![0xFF; length], 0), length);
                assert_eq!(special(&vec![0x7F; length], 0), length);
            }
        }
    }

    /// The mask marks what it must and nothing else, whatever stands beside it.
    #[test]
    fn a_block_is_marked_exactly() {
        let mut block = [0; BLOCK];
        for seed in 0..=255u8 {
            for (at, byte) in block.iter_mut().enumerate() {
                *byte =
                    seed.wrapping_add((at as u8).wrapping_mul(if seed % 2 == 0 { 1 } else { 37 }));
            }
            for (at, &byte) in block.iter().enumerate() {
                let expected = byte == b'"' || byte == b'\\' || byte < 0x20;
                assert_eq!(
                    special_mask(&block) >> at & 1 == 1,
                    expected,
                    "{byte:#x} at {at}"
                );
            }
        }
    }

    /// In one pass as in two: the same end, the same text, the same faults.
    #[test]
    fn scanning_and_unescaping_at_once_is_the_same() {
        let parts = [
            "a",
            "longer than a word",
            "\\\"",
            "\\\\",
            "\\n",
            "\\/",
            "\\u00e9",
            "é",
            "\\ud83d\\ude00",
            "\\ud800",
            "\\ud83d\\n",
            "\\udc00",
            "\\x",
            "\\u12",
            "\u{1}",
            "\"",
            "\\",
        ];
        // Every sequence of up to three parts, with and without a closing quote, after other text.
        let count = parts.len() + 1;
        for number in 0..count * count * count * 2 {
            let part = |at: usize| parts.get(at % count).copied().unwrap_or("");
            let close = if number % 2 == 0 { "\"" } else { "" };
            let (one, two, three) = (number / 2, number / 2 / count, number / 2 / count / count);
            // Before them, text of every length up to that of a block; after them, on half of the texts, enough for one.
            let before = "x".repeat(number / 3 % 70);
            let after = if number % 4 < 2 {
                ""
            } else {
                "  \\n           \\\"  } é   \\\\\\\""
            };
            let after = after.repeat(if close.is_empty() { 1 } else { 4 });
            let text = format!(
                "{{\"{before}{}{}{}{close}{after}",
                part(one),
                part(two),
                part(three)
            );
            let bytes = text.as_bytes();
            let (mut first, mut second) = (Scanner::new(), Scanner::new());
            let expected = first.string(bytes, 1).map(|end| {
                let mut plain = vec![];
                unescape(&bytes[2..end - 1], &mut plain);
                (end, plain)
            });
            // What lies behind the text is never taken for a part of it.
            for beyond in ["", "\n\"\\\"", &"\n \\\"  \"\n".repeat(40)] {
                let mut out = vec![];
                let buffer = [bytes, beyond.as_bytes()].concat();
                let found = second.string_into(bytes, 1, &buffer, &mut out);
                let found = found.map(|(end, length)| (end, out[..length].to_vec()));
                assert_eq!(found, expected, "{text}{beyond}");
            }
            assert_eq!(
                first.saw_lone_surrogate(),
                second.saw_lone_surrogate(),
                "{text}"
            );
        }
    }

    #[test]
    fn escapes_are_resolved() {
        let mut out = vec![];
        unescape(
            r#"a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\ud800x"#.as_bytes(),
            &mut out,
        );
        let mut expected = "a\"\\/\u{8}\u{c}\n\r\té😀".as_bytes().to_vec();
        expected.extend_from_slice(&[0xED, 0xA0, 0x80, b'x']);
        assert_eq!(out, expected);
    }
}
