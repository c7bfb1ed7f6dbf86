//! Times as they stand before the frames of a file of one direction: whoever wrote it used one form for all of its lines.

use crate::classify::classify;
use crate::file::json::{Wrong, quoted};
use crate::import::time::{DayClock, clock, month_day, seconds, stamp};
use crate::import::{Head, Kind, recognise};
use crate::message::Kind as MessageKind;
use crate::scan::{Scanner, white};

/// What a number counts from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scale {
    /// 1970, in UTC.
    Utc,
    /// 1970, by a clock on the wall.
    Wall,
    /// The beginning of some year.
    Year,
    /// The beginning of some day.
    Day,
    /// The beginning of the file: each has its own.
    File,
}

/// When a line was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Time {
    pub(super) ms: u64,
    pub(super) scale: Scale,
    /// It is cut to the second.
    pub(super) is_coarse: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Style {
    /// `2026-03-04T09:15:00.000Z`
    Date,
    /// `Mar 04 09:15:00`
    Month,
    /// `09:15:00.000`
    Clock,
    /// `1772615700.000`
    Number,
}

/// Reads the times of one file.
#[derive(Debug, Default)]
pub(super) struct Stamps {
    style: Option<Style>,
    /// How far the last one went.
    length: usize,
    day: DayClock,
    year: Years,
    /// The first one was next to nothing: the times count from the beginning of the file.
    is_of_file: Option<bool>,
}

/// Dates without a year, told one after the other.
#[derive(Debug, Default)]
struct Years {
    last: u64,
    gone: u64,
}

const YEAR_MS: u64 = 366 * 86_400_000;
const MINUTE_MS: u64 = 60_000;
/// A smaller number of seconds is no time of a computer's clock.
const SECONDS_MIN: u64 = 100_000_000;

impl Years {
    fn at(&mut self, ms: u64) -> u64 {
        if self.last > ms + YEAR_MS / 2 {
            self.gone += YEAR_MS;
        }
        self.last = ms;
        self.gone + ms
    }
}

impl Stamps {
    /// How times stand in the file that begins so.
    ///
    /// # Errors
    /// It is a log of both sides, or what stands before its frames is no time that is known.
    pub(super) fn of(head: &[u8]) -> Result<Stamps, Wrong> {
        let mut lines = Head::of(head).lines;
        // The last may be cut.
        if lines.len() > 1 {
            lines.pop();
        }
        lines.retain(|line| !line.trim_ascii().is_empty());
        let styles = [Style::Date, Style::Month, Style::Clock, Style::Number];
        let fitting = |style: &Style| {
            let begin = |line: &&&[u8]| told(*style, line).is_some_and(|(_, at)| opens(line, at));
            lines.iter().filter(begin).count()
        };
        let best = styles
            .into_iter()
            .max_by_key(fitting)
            .filter(|style| fitting(style) > 0);
        let stamps = Stamps {
            style: best,
            ..Stamps::default()
        };
        let mut scanner = Scanner::new();
        let mut is_frame = |text: &[u8]| {
            let message = classify(text, &mut scanner).message;
            message.kind != MessageKind::Malformed
        };
        if lines
            .iter()
            .any(|line| is_frame(&line[stamps.begin(line)..]))
        {
            return Ok(stamps);
        }
        let what = match recognise(head) {
            Some(format) if !matches!(format.kind, Kind::Bare | Kind::Arrow) => Some(format.what),
            _ if lines.first().is_some_and(|line| is_own(line)) => {
                Some("a log of mcpsim's own form")
            }
            _ => None,
        };
        if let Some(what) = what {
            let message = format!(
                "this is {what}, which holds both sides: give it as a log of its own, without --c2s and --s2c"
            );
            return Err(Wrong::new(0, message));
        }
        for line in &lines {
            let mut braces = memchr::memchr_iter(b'{', line);
            if let Some(at) = braces
                .find(|at| is_frame(&line[*at..]))
                .filter(|at| *at > 0)
            {
                let message = format!(
                    "before the frames stands {}, which is no time that can be read here: {KNOWN}; cut it off, or write times so",
                    quoted(line[..at].trim_ascii())
                );
                return Err(Wrong::new(0, message));
            }
        }
        Ok(stamps)
    }

    /// When the line was seen, and where the frame begins in it.
    pub(super) fn read(&mut self, line: &[u8]) -> (Option<Time>, usize) {
        let Some((told, begin)) = self.style.and_then(|style| told(style, line)) else {
            return (None, white(line, 0));
        };
        let Told {
            ms,
            scale,
            is_coarse,
        } = told;
        self.length = begin;
        let is_of_file = *self.is_of_file.get_or_insert(ms < MINUTE_MS);
        let (ms, scale) = match scale {
            Scale::Day => {
                let scale = if is_of_file { Scale::File } else { Scale::Day };
                (self.day.at(i64::try_from(ms).unwrap_or(0)), scale)
            }
            Scale::Year => (self.year.at(ms), scale),
            _ => (ms, scale),
        };
        // Whether such numbers are seconds or something smaller nobody knows.
        let is_counter = self.style == Some(Style::Number) && scale == Scale::File && is_coarse;
        let time = Time {
            ms,
            scale,
            is_coarse,
        };
        ((!is_counter).then_some(time), begin)
    }

    /// Whether a line without an end stops in its time, or behind it: all lines have one.
    pub(super) fn stop_inside(&self, line: &[u8]) -> bool {
        let is_of_time = |byte: &u8| byte.is_ascii_alphanumeric() || b"-:./,+[] ".contains(byte);
        self.style.is_some_and(|style| match told(style, line) {
            Some((_, begin)) => line[begin..].trim_ascii().is_empty(),
            None => line.len() < self.length && line.iter().all(is_of_time),
        })
    }

    /// Whether they are times of day.
    pub(super) fn is_clock(&self) -> bool {
        self.style == Some(Style::Clock)
    }

    fn begin(&self, line: &[u8]) -> usize {
        let told = self.style.and_then(|style| told(style, line));
        told.map_or_else(|| white(line, 0), |(_, begin)| begin)
    }
}

const KNOWN: &str =
    "known are 2026-03-04T09:15:00.000Z, Mar 04 09:15:00, 09:15:00.000 and 1772615700.000";

/// A time as it stands there.
struct Told {
    ms: u64,
    scale: Scale,
    is_coarse: bool,
}

/// The time of that style that a line begins with, and where what follows it begins.
fn told(style: Style, line: &[u8]) -> Option<(Told, usize)> {
    let mut at = white(line, 0);
    let is_bracketed = line.get(at) == Some(&b'[');
    at += usize::from(is_bracketed);
    let text = &line[at..];
    let (ms, length, scale) = match style {
        Style::Date => {
            let stamp = stamp(text)?;
            let scale = if stamp.has_zone {
                Scale::Utc
            } else {
                Scale::Wall
            };
            (stamp.ms, stamp.length, scale)
        }
        Style::Month => {
            let (ms, length) = month_day(text)?;
            (ms, length, Scale::Year)
        }
        Style::Clock => {
            let (of_day, length) = clock(text, 0)?;
            (u64::try_from(of_day).ok()?, length, Scale::Day)
        }
        Style::Number => number(text)?,
    };
    let is_coarse = match style {
        Style::Number => scale == Scale::Utc && text[..length].len() <= 11 || scale == Scale::File,
        _ => true,
    };
    let is_coarse = is_coarse
        && !text[..length]
            .iter()
            .any(|byte| matches!(byte, b'.' | b','));
    at += length;
    for (byte, is_there) in [(b']', is_bracketed), (b':', true)] {
        at += usize::from(is_there && line.get(at) == Some(&byte));
    }
    let begin = white(line, at);
    // A number that goes on as something else is none.
    let is_apart = begin > at || matches!(line.get(at), None | Some(b'{' | b'['));
    is_apart.then_some((
        Told {
            ms,
            scale,
            is_coarse,
        },
        begin,
    ))
}

/// Seconds, or parts of a second where there are too many for seconds.
fn number(text: &[u8]) -> Option<(u64, usize, Scale)> {
    let count = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let digits = count(text);
    let whole = std::str::from_utf8(&text[..digits]).ok()?;
    let whole = whole.parse::<u64>().ok()?;
    let fraction = text[digits..].strip_prefix(b".").map_or(0, count);
    let length = if fraction > 0 {
        digits + 1 + fraction
    } else {
        digits
    };
    let ms = match digits {
        0..=11 => seconds(&text[..length])?.0,
        12..=14 => whole,
        15..=17 => whole / 1000,
        _ => whole / 1_000_000,
    };
    let scale = match ms / 1000 {
        0..SECONDS_MIN => Scale::File,
        _ => Scale::Utc,
    };
    Some((ms, length, scale))
}

/// Whether a message may begin there.
fn opens(line: &[u8], at: usize) -> bool {
    match line.get(at) {
        Some(b'{') => true,
        Some(b'[') => line.get(white(line, at + 1)) == Some(&b'{'),
        _ => false,
    }
}

/// Whether the line is of a capture or a trace.
fn is_own(line: &[u8]) -> bool {
    let mut is_own = false;
    let mut scanner = Scanner::new();
    let at = white(line, 0);
    let _ = (line.get(at) == Some(&b'{')).then(|| {
        scanner.object(line, at, |scanner, name, at| {
            is_own |= matches!(name, b"mcpsim_trace" | b"dir" | b"event");
            scanner.value(line, at)
        })
    });
    is_own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<(u64, usize)>) {
        let found = number(text.as_bytes()).map(|(ms, length, _)| (ms, length));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn numbers_are_seconds_or_parts_of_them() {
        for (text, ms, length) in [
            ("7 {", 7_000, 1),
            ("7.5 {", 7_500, 3),
            ("0.000123 {", 0, 8),
            ("1772615700 {", 1_772_615_700_000, 10),
            ("1772615700.123456 {", 1_772_615_700_123, 17),
            ("1772615700.05", 1_772_615_700_050, 13),
            ("1772615700123", 1_772_615_700_123, 13),
            ("1772615700123.9 {", 1_772_615_700_123, 15),
            ("1772615700123456 {", 1_772_615_700_123, 16),
            ("1772615700123456789 {", 1_772_615_700_123, 19),
        ] {
            check(text, Some((ms, length)));
        }
        check("1. {", Some((1_000, 1)));
        for text in ["", "x", ".5", "99999999999999999999999"] {
            check(text, None);
        }
    }
}
