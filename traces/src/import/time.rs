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

/// The date and time that the bytes begin with, the month by its number or by its name. A fraction is cut to milliseconds.
pub(crate) fn stamp(bytes: &[u8]) -> Option<Stamp> {
    iso(bytes).or_else(|| named(bytes))
}

/// … as ISO 8601 and its relatives write them: a `T` or a space in the middle, a fraction behind a point or a comma, a zone or
/// none.
fn iso(bytes: &[u8]) -> Option<Stamp> {
    let year = digits(bytes, 0, 4)?;
    let month = digits(bytes, 5, 2).filter(|month| (1..=12).contains(month))?;
    let day = digits(bytes, 8, 2).filter(|day| (1..=days_of(year, month)).contains(day))?;
    let is_date = matches!((bytes[4], bytes[7]), (b'-', b'-') | (b'/', b'/'));
    if !is_date || !matches!(bytes.get(10), Some(b'T' | b't' | b' ')) {
        return None;
    }
    let (of_day, end) = clock(bytes, 11)?;
    on([year, month, day], of_day, zone(bytes, end))
}

/// That time of that day, in a zone that is so far ahead and ends there.
fn on([year, month, day]: [u32; 3], of_day: i64, zone: (Option<i64>, usize)) -> Option<Stamp> {
    let days = days_before(year) + days_before_month(year, month) + day - 1;
    let (zone_ms, length) = zone;
    let ms = i64::from(days) * DAY_MS + of_day - zone_ms.unwrap_or(0);
    Some(Stamp {
        ms: u64::try_from(ms).ok()?,
        has_zone: zone_ms.is_some(),
        length,
    })
}

/// … as mail (RFC 5322), web servers, `date` and JavaScript write them: `Tue, 02 Dec 2026 10:00:00 +0000`,
/// `02/Dec/2026:10:00:00 +0000`, `Wed Dec  2 10:00:00 UTC 2026`, `Wed Dec 02 2026 10:00:00 GMT+0000`.
fn named(bytes: &[u8]) -> Option<Stamp> {
    const WEEKDAYS: [&[u8]; 7] = [b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat", b"Sun"];
    let is_weekday = WEEKDAYS.contains(&bytes.get(..3)?);
    let mut at = 0;
    if is_weekday {
        at = 3 + usize::from(bytes.get(3) == Some(&b','));
        at += blanks(&bytes[at..])?;
    }
    let (year, month, day);
    if bytes.get(at).is_some_and(u8::is_ascii_digit) {
        (day, at) = short(bytes, at)?;
        let apart = *bytes.get(at).filter(|byte| b" /-".contains(byte))?;
        month = month_at(bytes, at + 1)?;
        year = digits(bytes, at + 5, 4).filter(|_| bytes[at + 4] == apart)?;
        at += 9;
        at += usize::from(matches!(bytes.get(at), Some(b':' | b',')));
        at += blanks(&bytes[at..]).unwrap_or(0);
    } else {
        month = month_at(bytes, at).filter(|_| is_weekday)?;
        at += 3 + blanks(&bytes[at + 3..])?;
        (day, at) = short(bytes, at)?;
        at += blanks(&bytes[at..])?;
        let Some(first) = digits(bytes, at, 4) else {
            // The year comes last.
            let (of_day, end) = clock(bytes, at)?;
            let (zone_ms, mut end) = zone_apart(bytes, end);
            end += blanks(&bytes[end..])?;
            year = digits(bytes, end, 4)?;
            is_day(year, month, day)?;
            return on([year, month, day], of_day, (zone_ms, end + 4));
        };
        year = first;
        at += 4 + blanks(&bytes[at + 4..])?;
    }
    is_day(year, month, day)?;
    let (of_day, end) = clock(bytes, at)?;
    on([year, month, day], of_day, zone_apart(bytes, end))
}

fn is_day(year: u32, month: u32, day: u32) -> Option<()> {
    (1..=days_of(year, month)).contains(&day).then_some(())
}

/// The month whose name stands there.
fn month_at(bytes: &[u8], at: usize) -> Option<u32> {
    const NAMES: [&[u8]; 12] = [
        b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov",
        b"Dec",
    ];
    let name = bytes.get(at..at + 3)?;
    let at = NAMES.iter().position(|one| *one == name)?;
    Some(at as u32 + 1)
}

/// The number of one digit or two that stands there, and where it ends.
fn short(bytes: &[u8], at: usize) -> Option<(u32, usize)> {
    let length = usize::from(bytes.get(at + 1).is_some_and(u8::is_ascii_digit)) + 1;
    Some((digits(bytes, at, length)?, at + length))
}

/// The date in numbers that the bytes begin with, of which nobody knows which is the month, and the time of that day, as
/// `toLocaleString` of JavaScript writes them: `12/2/2026, 9:05:01 AM`, `2.12.2026, 09:05:01`; and how long they are.
pub(crate) fn local(bytes: &[u8]) -> Option<([u32; 3], i64, usize)> {
    let (first, at) = short(bytes, 0)?;
    let apart = *bytes.get(at).filter(|byte| b"/.-".contains(byte))?;
    let (second, at) = short(bytes, at + 1)?;
    let year = digits(bytes, at + 1, 4).filter(|_| bytes[at] == apart)?;
    let at = at + 5 + usize::from(bytes.get(at + 5) == Some(&b','));
    let at = at + blanks(&bytes[at..])?;
    let (_, behind_hour) = short(bytes, at)?;
    let (of_day, end) = match behind_hour - at {
        2 => clock(bytes, at)?,
        _ => {
            // As long as any time of day, with its zero.
            let mut padded = b"0".to_vec();
            padded.extend(bytes[at..].iter().take(CLOCK_BYTES_MAX));
            let (of_day, length) = clock(&padded, 0)?;
            (of_day, at + length - 1)
        }
    };
    Some(([first, second, year], of_day, end))
}

/// No time of day is longer.
const CLOCK_BYTES_MAX: usize = 32;

/// The month, the day and the time of day that the bytes begin with, as `ts` and syslog write them, in milliseconds since the
/// beginning of a leap year, and how long they are.
pub(crate) fn month_day(bytes: &[u8]) -> Option<(u64, usize)> {
    let month = month_at(bytes, 0)?;
    let (day, end) = short(bytes, 3 + blanks(&bytes[3..])?)?;
    let (of_day, end) = clock(bytes, end + blanks(&bytes[end..])?)?;
    is_day(LEAP_YEAR, month, day)?;
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
    let blank = match bytes.get(end..end + NARROW_BLANK.len()) {
        Some(NARROW_BLANK) => NARROW_BLANK.len(),
        _ => usize::from(bytes.get(end) == Some(&b' ')),
    };
    let half = bytes.get(end + blank..end + blank + 2);
    let of_twelve = hour % 12;
    let hour_now = match half.map(<[u8]>::to_ascii_lowercase).as_deref() {
        Some(b"am") if blank > 0 => of_twelve,
        Some(b"pm") if blank > 0 => of_twelve + 12,
        _ => return Some((ms, end)),
    };
    ms += (i64::from(hour_now) - i64::from(hour)) * 3_600_000;
    Some((ms, end + blank + 2))
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

/// A time as it stands before a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Time {
    None,
    Point(u64),
    OfDay(i64),
    /// … on a day of which nobody knows which one it is.
    Local([u32; 3], i64),
}

impl Time {
    /// The time that the text begins with, and how long it is.
    pub(crate) fn of(text: &[u8]) -> (Time, usize) {
        if let Some(stamp) = stamp(text) {
            return (Time::Point(stamp.ms), stamp.length);
        }
        if let Some((ms, length)) = clock(text, 0) {
            return (Time::OfDay(ms), length);
        }
        if let Some((date, ms, length)) = local(text) {
            return (Time::Local(date, ms), length);
        }
        if let Some((ms, length)) = month_day(text) {
            return (Time::Point(ms), length);
        }
        since_1970(text).map_or((Time::None, 0), |(ms, length)| (Time::Point(ms), length))
    }
}

/// Times of one log, told one after the other.
#[derive(Clone, Default, Debug)]
pub(crate) struct Clocks {
    day: DayClock,
    date: Option<[u32; 3]>,
}

impl Clocks {
    /// When that is, as far as it can be held against the others: how far two days are apart of which nobody knows which they are
    /// is not known either.
    pub(crate) fn at(&mut self, time: Time) -> Option<u64> {
        match time {
            Time::None => None,
            Time::Point(ms) => Some(ms),
            Time::OfDay(ms) => Some(self.day.at(ms)),
            Time::Local(date, ms) => {
                let is_known = *self.date.get_or_insert(date) == date;
                u64::try_from(ms).ok().filter(|_| is_known)
            }
        }
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

/// What stands between a time of day and its half in texts of newer runtimes (U+202F).
const NARROW_BLANK: &[u8] = "\u{202F}".as_bytes();

/// As [`zone`], behind a blank, and by its name perhaps.
fn zone_apart(bytes: &[u8], at: usize) -> (Option<i64>, usize) {
    let begin = at + usize::from(bytes.get(at) == Some(&b' '));
    let names: [&[u8]; 2] = [b"UTC", b"GMT"];
    let name = bytes
        .get(begin..begin + 3)
        .filter(|name| names.contains(name));
    let behind = begin + name.map_or(0, <[u8]>::len);
    match (zone(bytes, behind), name) {
        ((Some(ahead_ms), end), _) => (Some(ahead_ms), end),
        (_, Some(_)) => (Some(0), behind),
        (_, None) => (None, at),
    }
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
    fn months_may_have_names() {
        for text in [
            "Wed, 04 Mar 2026 09:15:00 +0000",
            "Wed, 4 Mar 2026 10:15:00 +0100",
            "04 Mar 2026 09:15:00 GMT",
            "04/Mar/2026:09:15:00 +0000",
            "04/Mar/2026:01:15:00.000 -0800",
            "Wed Mar  4 09:15:00 UTC 2026",
            "Wed Mar 04 2026 09:15:00 GMT+0000",
        ] {
            check(&format!("{text} x"), 1_772_615_700_000, true, " x");
        }
        for text in [
            "04-Mar-2026 09:15:00",
            "Wed Mar  4 09:15:00 2026",
            "4 Mar 2026, 09:15:00",
        ] {
            check(&format!("{text} -> x"), 1_772_615_700_000, false, " -> x");
        }
    }

    #[test]
    fn a_date_in_numbers_may_be_either() {
        const MS: i64 = 33_301_000;
        for (text, date, ms) in [
            ("3/4/2026, 9:15:01 AM", [3, 4, 2026], MS),
            ("03/04/2026, 09:15:01", [3, 4, 2026], MS),
            ("4.3.2026, 09:15:01.000", [4, 3, 2026], MS),
            ("3/4/2026, 9:15:01\u{202F}PM", [3, 4, 2026], MS + DAY_MS / 2),
        ] {
            let whole = format!("{text} -->");
            assert_eq!(local(whole.as_bytes()), Some((date, ms, text.len())));
        }
        for text in [
            "3/4-2026, 9:15:01",
            "3/4/26, 9:15:01",
            "1.2.3",
            "10:00:00",
            "",
        ] {
            assert_eq!(local(text.as_bytes()), None, "{text}");
        }
        let mut clocks = Clocks::default();
        let mut at = |day: u32| clocks.at(Time::Local([3, day, 2026], MS));
        assert_eq!(
            [at(4), at(5), at(4)],
            [Some(MS as u64), None, Some(MS as u64)]
        );
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
            "Wed, 31 Feb 2026 09:15:00 +0000",
            "04/Mar-2026:09:15:00",
            "Mar 04 2026 09:15:00",
            "Wednesday",
            "{\"jsonrpc\":\"2.0\"}",
        ] {
            assert_eq!(stamp(text.as_bytes()), None, "{text}");
        }
    }
}
