//! Which line of the file each frame stands on.

use crate::traces::event::FrameNo;

/// A block's codes take no more bytes than that: so many are looked through to find a line.
const BLOCK_BYTES: usize = 1024;
/// The longest code.
const CODE_BYTES_MAX: usize = 1 + 5 + 10;
/// Stands before a step that does not fit into a byte.
const LONG: u8 = 0;

/// Frames and lines run side by side: only the places are kept where the distance between their numbers changes. In a log of
/// which every other line is no frame these are as many as there are frames, so that most take one byte.
#[derive(Default)]
pub(super) struct Lines {
    blocks: Vec<Block>,
    /// The last place, and the distance from there on.
    frame: FrameNo,
    offset: i64,
}

/// Places that follow each other.
struct Block {
    /// The first one, and the distance from there on.
    frame: FrameNo,
    offset: i64,
    /// The steps to the others.
    codes: Vec<u8>,
}

impl Lines {
    /// The next frame stands on that line; a line may hold several.
    pub(super) fn put(&mut self, frame: FrameNo, line: u64) {
        let offset = line as i64 - i64::from(frame);
        if !self.blocks.is_empty() && offset == self.offset {
            return;
        }
        let frames = frame.saturating_sub(self.frame);
        let step = zigzag(offset - self.offset);
        (self.frame, self.offset) = (frame, offset);
        match self.blocks.last_mut() {
            Some(block) if block.codes.len() + CODE_BYTES_MAX <= BLOCK_BYTES => {
                put_code(&mut block.codes, frames, step);
            }
            _ => self.blocks.push(Block {
                frame,
                offset,
                codes: Vec::with_capacity(BLOCK_BYTES),
            }),
        }
    }

    /// The line of that frame.
    pub(super) fn of(&self, frame: FrameNo) -> Option<u64> {
        let after = self.blocks.partition_point(|block| block.frame <= frame);
        let block = self.blocks.get(after.checked_sub(1)?)?;
        let (mut at, mut offset) = (block.frame, block.offset);
        let mut codes = &block.codes[..];
        while let Some((frames, step)) = take_code(&mut codes) {
            at += frames;
            if at > frame {
                break;
            }
            offset += unzigzag(step);
        }
        u64::try_from(i64::from(frame) + offset).ok()
    }
}

/// Numbers near zero become small ones, whatever their sign.
fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

fn unzigzag(code: u64) -> i64 {
    (code >> 1) as i64 ^ -((code & 1) as i64)
}

fn put_code(codes: &mut Vec<u8>, frames: FrameNo, step: u64) {
    if let (1..=15, 0..=15) = (frames, step) {
        codes.push((frames as u8) << 4 | step as u8);
        return;
    }
    codes.push(LONG);
    for mut number in [u64::from(frames), step] {
        while number >= 0x80 {
            codes.push(number as u8 | 0x80);
            number >>= 7;
        }
        codes.push(number as u8);
    }
}

fn take_code(codes: &mut &[u8]) -> Option<(FrameNo, u64)> {
    let (&first, rest) = codes.split_first()?;
    *codes = rest;
    if first != LONG {
        return Some((FrameNo::from(first >> 4), u64::from(first & 15)));
    }
    let mut number = || {
        let mut number = 0;
        for shift in (0..).step_by(7) {
            let (&byte, rest) = codes.split_first()?;
            *codes = rest;
            number |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                break;
            }
        }
        Some(number)
    };
    let frames = number()?;
    Some((frames as FrameNo, number()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_again() {
        let mut lines = Lines::default();
        for (frame, line) in [(1, 2), (2, 3), (3, 7), (4, 8), (5, 20)] {
            lines.put(frame, line);
        }
        let found = [1, 2, 3, 4, 5].map(|frame| lines.of(frame));
        assert_eq!(found, [2, 3, 7, 8, 20].map(Some));
        assert_eq!(lines.of(0), None);
        // Those that come are on the lines that follow.
        assert_eq!(lines.of(7), Some(22));
    }

    /// Steps of all sizes, forwards and backwards, over many blocks.
    #[test]
    fn every_step_is_found_again() {
        let mut lines = Lines::default();
        let mut line = 1_u64 << 40;
        let mut all = vec![];
        for nth in 1..30_000_u32 {
            line = match nth % 97 {
                0 => line + (1 << (nth % 37)),
                1 => line - u64::from(nth),
                2..40 => line + 2,
                40..60 => line,
                _ => line + 1,
            };
            lines.put(nth, line);
            all.push((nth, line));
        }
        assert!(lines.blocks.len() > 10);
        for (nth, line) in all {
            assert_eq!(lines.of(nth), Some(line), "{nth}");
        }
    }

    #[test]
    fn a_line_between_frames_takes_a_byte() {
        let mut lines = Lines::default();
        for nth in 0..100_000 {
            lines.put(nth, 2 * u64::from(nth));
        }
        let bytes: usize = lines.blocks.iter().map(|block| block.codes.len()).sum();
        assert!(bytes <= 100_000, "{bytes}");
    }
}
