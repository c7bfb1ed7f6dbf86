//! What a piece of work costs: CPU time of this process, and CPU time and peak memory of another one.
//!
//! CPU time, not wall time: on a shared machine wall time says more about the neighbours than about the program.

use std::time::Duration;

/// CPU time that this process has used so far, all threads together.
#[cfg(unix)]
pub(crate) fn time_used() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Wall time since the first call, where there is no such clock: good for a glance, not for a comparison.
#[cfg(not(unix))]
pub(crate) fn time_used() -> Duration {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed()
}

/// What another process used from start to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Usage {
    pub(crate) peak_memory_kib: u64,
    /// In steps of a clock tick (10 ms): good for work that takes a second.
    pub(crate) time: Duration,
}

/// Runs a command to its end and says what it used, or `None` where the system does not tell (only Linux does).
///
/// The peak is the high-water mark in `/proc/<pid>/status`, looked at every two milliseconds: what grows in the last two
/// may be missed. The peak that `wait4` gives is not used, since it counts what the parent had when it forked.
pub(crate) fn run_child(command: &mut std::process::Command) -> std::io::Result<Option<Usage>> {
    let mut child = command.spawn()?;
    let process = format!("/proc/{}", child.id());
    let mut usage = Usage {
        peak_memory_kib: 0,
        time: Duration::ZERO,
    };
    // An ended child stays readable as a zombie until it is waited for, so its last figures are not lost.
    while let Some((state, time)) = state_and_time(&process) {
        usage.time = time;
        usage.peak_memory_kib = peak_memory_kib(&process)
            .unwrap_or(0)
            .max(usage.peak_memory_kib);
        if state == 'Z' {
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let status = child.wait()?;
    if !status.success() {
        return Err(std::io::Error::other(format!(
            "{command:?} ended with {status}"
        )));
    }
    Ok((usage.peak_memory_kib > 0).then_some(usage))
}

fn state_and_time(process: &str) -> Option<(char, Duration)> {
    const TICK: Duration = Duration::from_millis(10);
    let stat = std::fs::read_to_string(format!("{process}/stat")).ok()?;
    // The second field is the name in parentheses and may hold anything, so count from its end: state is the next.
    let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    let mut ticks = fields.skip(10).map_while(|field| field.parse::<u32>().ok());
    Some((state, TICK * (ticks.next()? + ticks.next()?)))
}

fn peak_memory_kib(process: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("{process}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}
