//! Rows of work that is the same, run in turns and printed side by side with their ratios.
//!
//! A figure is worth something only beside another one from the same minute of the same machine; so all rows run once,
//! then all again, and what is printed last is each row's ratio to the first. Nothing here asserts a time.

use crate::cpu;
use std::time::Duration;

/// One way to do the work.
pub(crate) struct Row<'a> {
    pub(crate) name: &'static str,
    /// Does the work once and says how many units of it there were, and what CPU time it took where not this process did it.
    pub(crate) work: Box<dyn FnMut() -> (u64, Option<Duration>) + 'a>,
}

impl<'a> Row<'a> {
    /// Work in this process, whose CPU time is what is measured.
    pub(crate) fn new(name: &'static str, mut work: impl FnMut() -> u64 + 'a) -> Row<'a> {
        Row {
            name,
            work: Box::new(move || (work(), None)),
        }
    }

    /// Work in a process of its own, which tells its CPU time.
    #[allow(dead_code, reason = "not every benchmark runs commands")]
    pub(crate) fn elsewhere(
        name: &'static str,
        mut work: impl FnMut() -> (u64, Duration) + 'a,
    ) -> Row<'a> {
        Row {
            name,
            work: Box::new(move || {
                let (units, time) = work();
                (units, Some(time))
            }),
        }
    }
}

/// Runs every row once without measuring it, then `REPETITIONS` times in turns, and prints a table. The first row is
/// the one that the others are compared with; `unit` is what rates are counted in (`frames`, `MB`), `units_per` how many of
/// what the rows count make one.
pub(crate) fn compare(title: &str, unit: &str, units_per: f64, rows: &mut [Row<'_>]) {
    let mut units = vec![0; rows.len()];
    let mut times = vec![Vec::with_capacity(REPETITIONS); rows.len()];
    for (row, units) in rows.iter_mut().zip(&mut units) {
        *units = (row.work)().0;
    }
    for _ in 0..REPETITIONS {
        for (index, row) in rows.iter_mut().enumerate() {
            let start = cpu::time_used();
            let (done, elsewhere) = (row.work)();
            times[index].push(elsewhere.unwrap_or_else(|| cpu::time_used() - start));
            assert_eq!(done, units[index], "{}: the same work each time", row.name);
        }
    }

    println!("\n{title}");
    println!(
        "{:<44} {:>9} {:>21} {:>16} {:>7}",
        "",
        "CPU s",
        "min .. max",
        format!("{unit}/CPU s"),
        "ratio"
    );
    let mut rate_of_first = None;
    for ((row, units), times) in rows.iter().zip(units).zip(&mut times) {
        times.sort();
        let seconds = |index: usize| times[index].max(Duration::from_nanos(1)).as_secs_f64();
        let median = seconds(REPETITIONS / 2);
        let rate = units as f64 / units_per / median;
        let ratio = rate / *rate_of_first.get_or_insert(rate);
        let spread = format!("{:.3} .. {:.3}", seconds(0), seconds(REPETITIONS - 1));
        println!(
            "{:<44} {median:>9.3} {spread:>21} {:>16} {ratio:>7.2}",
            row.name,
            rounded(rate)
        );
    }
}

const REPETITIONS: usize = 5;

/// Three figures or more, thousands apart: `42 100 000`, `9.13`.
fn rounded(rate: f64) -> String {
    if rate < 100.0 {
        return format!("{rate:.2}");
    }
    let digits = format!("{rate:.0}");
    let mut spaced = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            spaced.push(' ');
        }
        spaced.push(digit);
    }
    spaced
}
