//! Points in time as logs write them.

/// A point in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stamp {
    /// Milliseconds since 1970; by the clock on the wall where no zone is told.
    pub(crate) ms: u64,
    /// A zone is told.
    pub(crate) has_zone: bool,
    /// How many bytes it takes.
    pub(crate) length: usize,
}

/// The date and time that the bytes begin with, as ISO 8601 and its relatives write them: a `T` or a space in the middle, a
/// fraction behind a point or a comma, a zone or none. A fraction is cut to milliseconds.
pub(crate) fn stamp(bytes: &[u8]) -> Option<Stamp> {
    let year = digits(bytes, 0, 4)?;
    let month = digits(bytes, 5, 2).filter(|month| (1..=12).contains(month))?;
    let day = digits(bytes, 8, 2).filter(|day| (1..=days_of(year, month)).contains(day))?;
    let is_date = matches!((bytes[4], bytes[7]), (b'-', b'-') | (b'/', b'/'));
    if !is_date || !matches!(bytes.get(10), Some(b'T' | b't' | b' ')) {
        return None;
    }
    let (of_day, end) = clock(bytes, 11)?;
    let days = days_before(year) + days_before_month(year, month) + day - 1;
    let mut ms = i64::from(days) * DAY_MS + of_day;
    let (zone_ms, length) = zone(bytes, end);
    ms -= zone_ms.unwrap_or(0);
    Some(Stamp {
        ms: u64::try_from(ms).ok()?,
        has_zone: zone_ms.is_some(),
        length,
    })
}

/// The month, the day and the time of day that the bytes begin with, as `ts` and syslog write them, in milliseconds since the
/// beginning of a leap year, and how long they are.
pub(crate) fn month_day(bytes: &[u8]) -> Option<(u64, usize)> {
    const NAMES: [&[u8]; 12] = [
        b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov",
        b"Dec",
    ];
    let name = bytes.get(..3)?;
    let month = NAMES.iter().position(|one| *one == name)? as u32 + 1;
    let mut at = 3 + blanks(&bytes[3..])?;
    let length = usize::from(bytes.get(at + 1).is_some_and(u8::is_ascii_digit)) + 1;
    let day = digits(bytes, at, length)?;
    at += length;
    at += blanks(&bytes[at..])?;
    let (of_day, end) = clock(bytes, at)?;
    if !(1..=days_of(LEAP_YEAR, month)).contains(&day) {
        return None;
    }
    let before = days_before_month(LEAP_YEAR, month) + day - 1;
    let ms = i64::from(before) * DAY_MS + of_day;
    Some((u64::try_from(ms).ok()?, end))
}

/// How many blanks stand there; `None` where there is none.
fn blanks(bytes: &[u8]) -> Option<usize> {
    let count = bytes.iter().take_while(|byte| **byte == b' ').count();
    (count > 0).then_some(count)
}

/// The time of day that stands there, in milliseconds, and where it ends.
pub(crate) fn clock(bytes: &[u8], at: usize) -> Option<(i64, usize)> {
    let hour = digits(bytes, at, 2).filter(|hour| *hour < 24)?;
    let minute = digits(bytes, at + 3, 2).filter(|minute| *minute < 60)?;
    // A leap second is the one before it.
    let second = digits(bytes, at + 6, 2).filter(|second| *second <= 60)?;
    if bytes[at + 2] != b':' || bytes[at + 5] != b':' {
        return None;
    }
    let mut ms = i64::from((hour * 60 + minute) * 60 + second.min(59)) * 1000;
    let mut end = at + 8;
    if let Some(b'.' | b',') = bytes.get(end)
        && bytes.get(end + 1).is_some_and(u8::is_ascii_digit)
    {
        end += 1;
        let mut unit = 100;
        while let Some(digit) = bytes.get(end).filter(|byte| byte.is_ascii_digit()) {
            ms += i64::from(digit - b'0') * unit;
            unit /= 10;
            end += 1;
        }
    }
    // A clock of twelve hours.
    let half = bytes.get(end..end + 3).map(<[u8]>::to_ascii_lowercase);
    let of_twelve = hour % 12;
    let hour_now = match half.as_deref() {
        Some(b" am") => of_twelve,
        Some(b" pm") => of_twelve + 12,
        _ => return Some((ms, end)),
    };
    ms += (i64::from(hour_now) - i64::from(hour)) * 3_600_000;
    Some((ms, end + 3))
}

/// Seconds or milliseconds since 1970 that the bytes begin with, in milliseconds, and how long they are: fewer digits are a number
/// of some other kind.
pub(crate) fn since_1970(bytes: &[u8]) -> Option<(u64, usize)> {
    let whole = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let (ms, length) = seconds(bytes)?;
    match whole {
        10 => Some((ms, length)),
        13 => Some((ms / 1000, length)),
        _ => None,
    }
}

/// Times of day without a date, told one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct DayClock {
    last: i64,
    days: i64,
}

impl DayClock {
    /// That time of day: where it is earlier than the last one by more than half a day, it is of the next day.
    pub(crate) fn at(&mut self, of_day: i64) -> u64 {
        let gone = self.last - of_day;
        if gone > DAY_MS / 2 {
            self.days += 1;
        } else if gone < -DAY_MS / 2 && self.days > 0 {
            // A line of the day before that comes late.
            return u64::try_from((self.days - 1) * DAY_MS + of_day).unwrap_or(0);
        }
        self.last = of_day;
        u64::try_from(self.days * DAY_MS + of_day).unwrap_or(0)
    }
}

/// The decimal number of seconds that the bytes begin with, in milliseconds, and how long it is.
pub(crate) fn seconds(bytes: &[u8]) -> Option<(u64, usize)> {
    let whole = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if whole == 0 || whole > 15 {
        return None;
    }
    let digits = std::str::from_utf8(&bytes[..whole]).ok()?;
    let mut ms = digits.parse::<u64>().ok()? * 1000;
    let mut end = whole;
    if bytes.get(end) == Some(&b'.') {
        end += 1;
        let mut unit = 100;
        while let Some(digit) = bytes.get(end).filter(|byte| byte.is_ascii_digit()) {
            ms += u64::from(digit - b'0') * unit;
            unit /= 10;
            end += 1;
        }
    }
    Some((ms, end))
}

/// How far the zone is ahead of UTC, where one stands there, and where it ends.
fn zone(bytes: &[u8], at: usize) -> (Option<i64>, usize) {
    let sign = match bytes.get(at) {
        Some(b'Z' | b'z') => return (Some(0), at + 1),
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => return (None, at),
    };
    let colon = usize::from(bytes.get(at + 3) == Some(&b':'));
    let hours = digits(bytes, at + 1, 2);
    match hours.zip(digits(bytes, at + 3 + colon, 2)) {
        Some((hours, minutes)) => {
            let ahead = i64::from(hours * 60 + minutes) * 60_000;
            (Some(sign * ahead), at + 5 + colon)
        }
        None => (None, at),
    }
}

fn digits(bytes: &[u8], at: usize, count: usize) -> Option<u32> {
    let digits = bytes.get(at..at + count)?;
    digits.iter().try_fold(0, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| u32::from(digit - b'0'))?;
        Some(number * 10 + digit)
    })
}

const DAY_MS: i64 = 86_400_000;
const LEAP_YEAR: u32 = 2000;

fn is_leap(year: u32) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_of(year: u32, month: u32) -> u32 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn days_before_month(year: u32, month: u32) -> u32 {
    const BEFORE: [u32; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    BEFORE[month as usize - 1] + u32::from(month > 2 && is_leap(year))
}

/// Days from 1970 to the beginning of that year.
fn days_before(year: u32) -> u32 {
    let since = year.saturating_sub(1).max(1969);
    let leaps = |year: u32| year / 4 - year / 100 + year / 400;
    (since - 1969) * 365 + leaps(since) - leaps(1969)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, ms: u64, has_zone: bool, rest: &str) {
        let stamp = stamp(text.as_bytes()).expect(text);
        assert_eq!((stamp.ms, stamp.has_zone), (ms, has_zone), "{text}");
        assert_eq!(&text[stamp.length..], rest);
    }

    #[test]
    fn times_are_read_as_logs_write_them() {
        check("1970-01-01T00:00:00Z", 0, true, "");
        check("2026/03/04 09:15:00 x", 1_772_615_700_000, false, " x");
        check("2026-03-04 09:15:00 PM x", 1_772_658_900_000, false, " x");
        check("2026-03-04 12:15:00.5 AM", 1_772_583_300_500, false, "");
        check(
            "2026-03-04T09:15:00.456Z [x]",
            1_772_615_700_456,
            true,
            " [x]",
        );
        check(
            "2026-03-04 09:15:00.456 [x]",
            1_772_615_700_456,
            false,
            " [x]",
        );
        check(
            "2026-03-04 09:15:00,456 DEBUG",
            1_772_615_700_456,
            false,
            " DEBUG",
        );
        check(
            "2026-03-04T10:15:00.4567891+01:00",
            1_772_615_700_456,
            true,
            "",
        );
        check("2026-03-04T08:15:00-0100x", 1_772_615_700_000, true, "x");
        check("2024-02-29T23:59:60Z", 1_709_251_199_000, true, "");
        check("2000-12-31T00:00:00Z", 978_220_800_000, true, "");
        check("2100-03-01T00:00:00Z", 4_107_542_400_000, true, "");
    }

    #[test]
    fn a_month_and_a_day_need_no_year() {
        const DAY: u64 = 86_400_000;
        assert_eq!(month_day(b"Jan 01 00:00:00 {}"), Some((0, 15)));
        assert_eq!(
            month_day(b"Mar  1 00:00:01.5 x"),
            Some((60 * DAY + 1_500, 17))
        );
        assert_eq!(month_day(b"Feb 29 00:00:00"), Some((59 * DAY, 15)));
        for text in [
            "Feb 30 00:00:00",
            "Mat 01 00:00:00",
            "Mar01 00:00:00",
            "Mar",
            "",
        ] {
            assert_eq!(month_day(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "2026-03-04",
            "2026-13-04T09:15:00Z",
            "2026-02-30T09:15:00Z",
            "2026-03-04T24:15:00Z",
            "2026/03-04 09:15:00",
            "2026-03-04T9:15:00",
            "{\"jsonrpc\":\"2.0\"}",
        ] {
            assert_eq!(stamp(text.as_bytes()), None, "{text}");
        }
    }
}
