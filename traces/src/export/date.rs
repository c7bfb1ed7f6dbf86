//! Points in time as the forms of other programs want them.

use super::{DATES_BEGIN_MS, FAR_TIMES, Losses};

/// Milliseconds since 1970 as a date and time in UTC; `None` beyond the year 9999.
pub(super) fn iso(ms: u64) -> Option<String> {
    let of_day = ms % DAY_MS;
    let (year, month, day) = date(ms / DAY_MS)?;
    let (hour, minute) = (of_day / 3_600_000, of_day / 60_000 % 60);
    let (second, rest) = (of_day / 1000 % 60, of_day % 1000);
    Some(format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{rest:03}Z"
    ))
}

const DAY_MS: u64 = 86_400_000;

/// Days before the year 10000.
const DAYS_MAX: u64 = 2_932_896;

/// The date that many days after the first of 1970. Counted in years that begin in March, so that a leap day is the last
/// of its year, from the March before the year 0: 400 such years have 146,097 days.
fn date(days: u64) -> Option<(u64, u64, u64)> {
    if days > DAYS_MAX {
        return None;
    }
    let since = days + 719_468;
    let (era, of_era) = (since / 146_097, since % 146_097);
    let leaps = of_era / 1460 + of_era / 146_096;
    let year = (of_era + of_era / 36_524 - leaps) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    Some((400 * era + year + next, month, day))
}

/// The times of a recording, on their way to dates.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dates {
    /// A time was none that a calendar has.
    pub(super) has_no_date: bool,
}

impl Dates {
    /// The time as a date; counts those that none can tell.
    pub(super) fn of(&mut self, t_ms: Option<u64>, losses: &mut Losses) -> Option<String> {
        let t_ms = t_ms?;
        self.has_no_date |= t_ms < DATES_BEGIN_MS;
        let date = iso(t_ms);
        losses.add_if(date.is_none(), FAR_TIMES);
        date
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (ms, date) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (1, "1970-01-01T00:00:00.001Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199_999, "2024-02-29T23:59:59.999Z"),
            (1_772_615_700_456, "2026-03-04T09:15:00.456Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(iso(ms).as_deref(), Some(date));
        }
        assert_eq!(iso(253_402_300_800_000), None);
        assert_eq!(iso(u64::MAX), None);
    }

    /// The importers' reader of dates is the other half.
    #[test]
    fn dates_are_read_as_they_are_written() {
        for days in (0..DAYS_MAX).step_by(97) {
            let ms = days * DAY_MS + days % DAY_MS;
            let text = iso(ms).expect("a date");
            let stamp = crate::import::time::stamp(text.as_bytes());
            assert_eq!(stamp.map(|stamp| stamp.ms), Some(ms), "{text}");
        }
    }
}
