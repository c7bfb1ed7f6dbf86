//! Times that peers write down, read and compared as integers.

use std::cmp::Ordering;

/// A moment with the digits that its writer gave: a time in whole seconds says nothing about the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Instant {
    /// Since the year 0 began.
    seconds: i64,
    nanos: u32,
    /// How many digits of the second were written, at most nine.
    digits: u8,
}

/// What a text is as a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Written {
    /// As RFC 3339 has it.
    Rfc3339(Instant),
    /// Some other form of ISO 8601: without an offset, by weeks, without dashes.
    OtherIso,
    /// In such a form, on a day that there is not.
    NoDay,
    /// No time.
    No,
}

/// A second has no more digits than this; what is written beyond is dropped.
const DIGITS_MAX: u8 = 9;

impl Instant {
    /// Which is later, as far as both were written: times of different precision are compared in the
    /// coarser one.
    pub(crate) fn order(self, other: Instant) -> Ordering {
        let digits = self.digits.min(other.digits);
        let unit = 10u32.pow(u32::from(DIGITS_MAX - digits));
        let cut = |one: Instant| (one.seconds, one.nanos / unit);
        cut(self).cmp(&cut(other))
    }

    /// Two words that stand for it.
    pub(crate) fn words(self) -> [u64; 2] {
        let fraction = u64::from(self.nanos) << 8 | u64::from(self.digits);
        [self.seconds as u64, fraction]
    }
}

/// Reads a time.
pub(crate) fn read(text: &[u8]) -> Written {
    match rfc3339(text) {
        Some(instant) => Written::Rfc3339(instant),
        None if is_no_day(text) => Written::NoDay,
        None if is_like_iso(text) => Written::OtherIso,
        None => Written::No,
    }
}

/// The time, where the text is one of RFC 3339.
pub(crate) fn rfc3339(text: &[u8]) -> Option<Instant> {
    let mut rest = Reader(text);
    let date = rest.date()?;
    // The space is allowed for the sake of readers.
    rest.one_of(b"Tt ")?;
    let hour = rest.digits(2)?;
    rest.one_of(b":")?;
    let minute = rest.digits(2)?;
    rest.one_of(b":")?;
    let second = rest.digits(2)?;
    let (nanos, digits) = rest.fraction()?;
    let offset = rest.offset()?;
    let is_real = date.is_real()
        && hour < 24
        && minute < 60
        // 60 is a leap second.
        && second <= 60;
    (is_real && rest.0.is_empty()).then(|| Instant {
        seconds: date.days() * 86_400 + hour * 3600 + minute * 60 + second - offset,
        nanos,
        digits,
    })
}

/// A year, a month and a day as they stand there, whether there is such a day or not.
struct Date {
    year: i64,
    month: i64,
    day: i64,
}

impl Date {
    /// Whether the calendar has it.
    fn is_real(&self) -> bool {
        (1..=12).contains(&self.month) && (1..=days_of(self.year, self.month)).contains(&self.day)
    }

    /// Days since the year 0 began.
    fn days(&self) -> i64 {
        days_before(self.year, self.month) + self.day - 1
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn date(&mut self) -> Option<Date> {
        let year = self.digits(4)?;
        self.one_of(b"-")?;
        let month = self.digits(2)?;
        self.one_of(b"-")?;
        let day = self.digits(2)?;
        Some(Date { year, month, day })
    }

    fn one_of(&mut self, allowed: &[u8]) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        allowed.contains(&first).then_some(first)
    }

    fn digits(&mut self, count: usize) -> Option<i64> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        digits.iter().try_fold(0, |sum, digit| {
            digit
                .is_ascii_digit()
                .then(|| sum * 10 + i64::from(digit - b'0'))
        })
    }

    /// What stands behind the second's dot, in nanoseconds, and how many digits that were.
    fn fraction(&mut self) -> Option<(u32, u8)> {
        if self.0.first() != Some(&b'.') {
            return Some((0, 0));
        }
        let rest = &self.0[1..];
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count == 0 {
            return None;
        }
        let kept = &rest[..count.min(usize::from(DIGITS_MAX))];
        let value = kept
            .iter()
            .fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'));
        self.0 = &rest[count..];
        let digits = kept.len() as u8;
        Some((value * 10u32.pow(u32::from(DIGITS_MAX - digits)), digits))
    }

    /// Seconds east of Greenwich.
    fn offset(&mut self) -> Option<i64> {
        let sign = match self.one_of(b"Zz+-")? {
            b'+' => 1,
            b'-' => -1,
            _ => return Some(0),
        };
        let hours = self.digits(2)?;
        self.one_of(b":")?;
        let minutes = self.digits(2)?;
        (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap(year) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days from the year 0 to that month.
fn days_before(year: i64, month: i64) -> i64 {
    let past = (year - 1).max(0);
    let leaps = if year == 0 {
        0
    } else {
        // The year 0 is one itself.
        past / 4 - past / 100 + past / 400 + 1
    };
    year * 365 + leaps + (1..month).map(|month| days_of(year, month)).sum::<i64>()
}

/// Whether the text begins with a date, and no calendar has it: 2025-02-30.
pub(crate) fn is_no_day(text: &[u8]) -> bool {
    let mut rest = Reader(text);
    let Some(date) = rest.date() else {
        return false;
    };
    let is_whole = rest.0.first().is_none_or(|byte| b"Tt ".contains(byte));
    is_whole && !date.is_real()
}

/// Whether it looks like a date of ISO 8601 that RFC 3339 does not have.
fn is_like_iso(text: &[u8]) -> bool {
    let is_dated = text.len() >= 8 && text[..4].iter().all(u8::is_ascii_digit);
    let is_marked = text.len() == 8 || text.iter().any(|byte| matches!(byte, b'-' | b'T' | b'W'));
    is_dated
        && is_marked
        && text
            .iter()
            .all(|byte| byte.is_ascii_digit() || b"-:.,+TWZtz ".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Instant {
        rfc3339(text.as_bytes()).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn times_are_compared_as_moments() {
        for (earlier, later) in [
            ("2025-11-25T10:30:00Z", "2025-11-25T10:30:01Z"),
            ("2025-11-25T10:30:00+02:00", "2025-11-25T10:30:00Z"),
            ("2025-11-25T10:30:00.25Z", "2025-11-25T10:30:00.3Z"),
            ("2024-02-29T23:59:60Z", "2024-03-01T00:00:01Z"),
            ("1999-12-31T23:59:59.999Z", "2000-01-01T00:00:00.000Z"),
            ("0000-02-29T00:00:00Z", "0001-01-01T00:00:00Z"),
        ] {
            assert_eq!(at(earlier).order(at(later)), Ordering::Less, "{earlier}");
            assert_eq!(at(later).order(at(earlier)), Ordering::Greater, "{later}");
        }
        for (one, other) in [
            ("2025-11-25T10:30:00Z", "2025-11-25t12:30:00.7+02:00"),
            ("2025-11-25T10:30:00.123Z", "2025-11-25 10:30:00.123456z"),
            (
                "2025-11-25T10:30:00.1234567891Z",
                "2025-11-25T10:30:00.123456789Z",
            ),
        ] {
            assert_eq!(at(one).order(at(other)), Ordering::Equal, "{one}");
        }
    }

    /// The day number agrees with a calendar counted day by day.
    #[test]
    fn days_follow_each_other() {
        let mut expected = 0;
        for year in 0..2105 {
            for month in 1..=12 {
                assert_eq!(days_before(year, month), expected, "{year}-{month}");
                expected += days_of(year, month);
            }
        }
    }

    #[test]
    fn other_forms_are_told_from_no_times() {
        for text in [
            "2025-11-25T10:30:00",
            "2025-W48-2",
            "20251125T103000Z",
            "2025-11-25",
            "20251125",
            "2025-11-25T24:00:00Z",
            "2025-11-25T10:30:00.Z",
            "2025-11-25T10:30:00+0200",
        ] {
            assert_eq!(read(text.as_bytes()), Written::OtherIso, "{text}");
        }
        for text in [
            "2025-02-29T00:00:00Z",
            "2025-02-30",
            "2025-13-01T00:00:00Z",
            "2025-11-00 10:30",
        ] {
            assert_eq!(read(text.as_bytes()), Written::NoDay, "{text}");
        }
        for text in [
            "",
            "now",
            "1764066600",
            "1764066600000",
            "Tue Nov 25 2025",
            "25.11.2025",
            "2025",
        ] {
            assert_eq!(read(text.as_bytes()), Written::No, "{text}");
        }
    }
}
