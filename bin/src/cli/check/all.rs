//! Many logs at once: they are looked at in parallel, and told in the order in which they were named.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use indicatif::{ProgressBar, ProgressStyle};

use super::{Checked, Wanted, check_input};
use crate::cli::input::{Input, Meter, Starts};
use crate::cli::inputs::{Inputs, gather};
use crate::cli::outcome::{counted, shown};
use crate::cli::report::FileReport;
use crate::cli::run::cores;

/// Less than that is checked before anybody has read a bar.
const BAR_BYTES_MIN: u64 = 64 << 20;

/// Judges all that was named.
pub(super) fn check(named: &[PathBuf], jobs: Option<u16>, wanted: &Wanted) -> Vec<Checked> {
    let inputs = gather(named);
    let all = &inputs.all;
    let total = all.iter().map(|(input, _)| input.size()).sum();
    let bar = bar(total);
    let meter: Option<Meter> = bar.clone().map(|bar| {
        let count = move |bytes| bar.inc(bytes);
        Arc::new(count) as Meter
    });
    let checked = in_parallel(all.len(), jobs.unwrap_or_else(cores), |nth| {
        check_input(&all[nth].0, wanted, meter.as_ref())
    });
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    told(named, inputs, checked)
}

/// The work of each, in their order; so many at once.
fn in_parallel(count: usize, jobs: u16, work: impl Fn(usize) -> Checked + Sync) -> Vec<Checked> {
    let done: Mutex<Vec<Option<Checked>>> = Mutex::new((0..count).map(|_| None).collect());
    let next = AtomicUsize::new(0);
    let worker = || {
        loop {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            if nth >= count {
                return;
            }
            let checked = work(nth);
            done.lock().expect("nobody panics with it")[nth] = Some(checked);
        }
    };
    thread::scope(|scope| {
        for _ in 1..usize::from(jobs).min(count) {
            scope.spawn(worker);
        }
        worker();
    });
    let done = done.into_inner().expect("nobody panics with it");
    done.into_iter().flatten().collect()
}

/// What is told: of a folder the logs, with a count of what else is in it.
fn told(named: &[PathBuf], inputs: Inputs, checked: Vec<Checked>) -> Vec<Checked> {
    let mut told = vec![];
    let mut others = 0_u64;
    for ((_, is_found), checked) in inputs.all.iter().zip(checked) {
        // A file in a folder need not be a log.
        let is_log = !checked.report.format.is_empty();
        if is_log || !is_found {
            told.push(checked);
        } else {
            others += 1;
        }
    }
    let has_folder = inputs.all.iter().any(|(_, is_found)| *is_found);
    let mut rest = FileReport {
        file: names(named),
        errors: inputs.errors,
        remarks: inputs.loops,
        ..FileReport::default()
    };
    if others > 0 {
        let (is, no) = match others {
            1 => ("is", "no log"),
            _ => ("are", "no logs"),
        };
        let count = counted(others, "file");
        let words = format!("{count} {is} {no} that can be checked; name one to see why");
        rest.remarks.push(words);
    }
    if has_folder && told.is_empty() {
        rest.errors
            .push(format!("{}: no log is in it", names(named)));
    }
    if !rest.errors.is_empty() || !rest.remarks.is_empty() {
        told.push(Checked {
            report: rest,
            ..Checked::default()
        });
    }
    told
}

fn names(named: &[PathBuf]) -> String {
    let names: Vec<String> = named.iter().map(|path| shown(path)).collect();
    names.join(", ")
}

/// A bar of so many bytes, where somebody sees it.
fn bar(total: u64) -> Option<ProgressBar> {
    if total < BAR_BYTES_MIN || !std::io::stderr().is_terminal() {
        return None;
    }
    let bar = ProgressBar::new(total);
    let template = "{wide_bar} {bytes} of {total_bytes}, {eta} left";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    Some(bar)
}

/// Lines of a rotated log are told by the part that they stand in.
pub(super) fn place(report: &mut FileReport, input: &Input, starts: &Starts) {
    let name = input.name();
    let whole = format!("{}:", shown(Path::new(&name)));
    for finding in &mut report.findings {
        for line in finding.lines.iter_mut().flatten() {
            *line = input.place(starts, *line).1;
        }
        for shown in &mut finding.evidence {
            shown.line = shown.line.map(|line| input.place(starts, line).1);
        }
        if let Some(line) = finding.line {
            let (part, line) = input.place(starts, line);
            finding.line = Some(line);
            finding.file = Some(part.display().to_string());
        }
    }
    for error in &mut report.errors {
        let place = error.strip_prefix(&whole).and_then(|rest| {
            let (line, rest) = rest.split_once(':')?;
            let (part, line) = input.place(starts, line.parse().ok()?);
            Some(format!("{}:{line}:{rest}", shown(part)))
        });
        if let Some(place) = place {
            *error = place;
        }
    }
}
