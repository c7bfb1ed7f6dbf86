//! A log that is being written: findings are told as they come, until Ctrl-C.

use std::cell::Cell;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use super::{Checked, Wanted, capture, failed, finish};
use crate::cli::args::Format;
use crate::cli::evidence::{self, Source, Tee};
use crate::cli::findings::findings_text;
use crate::cli::input::is_packed;
use crate::cli::interrupt;
use crate::cli::outcome::{Failure, Result, print, remark, shown};
use crate::cli::replay::read_failure;
use crate::cli::report::FindingReport;
use crate::traces::import::pattern::Pattern;
use crate::traces::lines::LineReader;
use crate::traces::recording::Recording;
use crate::traces::sniff::Log;

/// How often a log is looked at again.
const PAUSE: Duration = Duration::from_millis(100);
/// A file that has less may not have said yet what it is.
const HEAD_BYTES: u64 = 64 << 10;

/// Judges a log while it is written.
///
/// # Errors
/// More than one file, standard input, or no handler for Ctrl-C.
pub(super) fn check(files: &[PathBuf], wanted: &Wanted, format: Format) -> Result<Checked> {
    let [path] = files else {
        return Err(Failure::new(
            "--follow: one log is followed at a time; name one",
        ));
    };
    if path == Path::new("-") || path.is_dir() {
        let message = "--follow needs the name of a file, which may be written yet";
        return Err(Failure::new(format!("{}: {message}", shown(path))));
    }
    let stop = interrupt::flag()?;
    let mut checked = match begin(path, wanted.pattern.as_ref(), stop) {
        Ok(Some(followed)) => follow(path, followed, wanted, format),
        Ok(None) => failed(&Failure::new(format!(
            "{}: nothing that can be judged was written",
            shown(path)
        ))),
        Err(failure) => failed(&failure),
    };
    checked.report.file = path.display().to_string();
    Ok(checked)
}

/// A log that is followed.
struct Followed {
    recording: Box<dyn Recording>,
    /// What was read of it.
    copy: File,
    /// So much was there when it was told what it is.
    told_bytes: u64,
    tail: Rc<State>,
}

/// Waits until the file says what it is; `None` where it is stopped before.
fn begin(
    path: &Path,
    pattern: Option<&Pattern>,
    stop: &'static AtomicBool,
) -> Result<Option<Followed>> {
    let mut is_told = false;
    let mut looked_at = 0;
    let mut seen = None;
    loop {
        let is_stopped = stop.load(Ordering::Relaxed);
        let size = path.metadata().map_or(0, |data| data.len());
        if size != looked_at {
            looked_at = size;
            if is_packed(path).unwrap_or(false) {
                return Err(whole(path, "what is packed is not written on"));
            }
            match open(path, pattern, stop) {
                Ok(Opened::Log(followed)) => return Ok(Some(followed)),
                Ok(Opened::Trace) => return Err(whole(path, "a trace is not followed")),
                Err(failure) if size >= HEAD_BYTES => return Err(failure),
                Err(failure) => seen = Some(failure),
            }
        }
        if is_stopped {
            return seen.map_or(Ok(None), Err);
        }
        if !std::mem::replace(&mut is_told, true) {
            remark(&format!(
                "mcpsim: {}: waits until a log is written there",
                shown(path)
            ));
        }
        sleep(PAUSE);
    }
}

/// What the file is.
enum Opened {
    Log(Followed),
    Trace,
}

/// What is said of a file that is judged as a whole.
fn whole(path: &Path, why: &str) -> Failure {
    Failure::new(format!(
        "{}: {why}: check it without --follow, once it is there",
        shown(path)
    ))
}

fn open(path: &Path, pattern: Option<&Pattern>, stop: &'static AtomicBool) -> Result<Opened> {
    let unreadable = |error: &io::Error| Failure::file("read", path, error);
    let state = Rc::new(State::default());
    let tail = Tail::open(path, state.clone(), stop).map_err(|error| unreadable(&error))?;
    let (tee, copy) = Tee::new(tail).map_err(|error| Failure::file("copy", path, &error))?;
    let log = match pattern {
        Some(pattern) => pattern.open(LineReader::new(tee)).map(Log::Import),
        None => Log::open(tee),
    };
    let recording = match log.map_err(|error| read_failure(path, &error))? {
        Log::Trace(_) => return Ok(Opened::Trace),
        log => log.into_recording(),
    };
    state.is_live.set(true);
    Ok(Opened::Log(Followed {
        recording,
        told_bytes: copy.metadata().map_or(u64::MAX, |data| data.len()),
        copy,
        tail: state,
    }))
}

fn follow(path: &Path, followed: Followed, wanted: &Wanted, format: Format) -> Checked {
    let Followed {
        mut recording,
        copy,
        told_bytes,
        tail,
    } = followed;
    let source = Source::Followed(&copy, told_bytes);
    let is_capture = recording.format() == "capture";
    let show = |findings: &mut [FindingReport]| {
        match is_capture {
            true => evidence::fill(findings, &source),
            false => evidence::fill_from_import(findings, &source, wanted.pattern.as_ref()),
        }
        place(findings, tail.before.get());
    };
    let mut tell = |mut findings: Vec<FindingReport>| {
        if findings.is_empty() {
            return;
        }
        show(&mut findings);
        let text = match format {
            Format::Text => findings_text(&findings),
            Format::Json => lines_of(&findings),
        };
        if let Err(failure) = print(&text) {
            remark(&format!("mcpsim: {failure}"));
        }
    };
    let mut checked = capture::judge_live(path, &mut *recording, wanted, Some(&mut tell));
    finish(path, &mut checked);
    show(&mut checked.report.findings);
    checked
}

/// One JSON object a line.
fn lines_of(findings: &[FindingReport]) -> String {
    let lines = findings
        .iter()
        .filter_map(|finding| serde_json::to_string(finding).ok());
    lines.map(|line| line + "\n").collect()
}

/// Lines of the file as it is now; what stands in one that was rotated away keeps its number, counted over all, and says so.
fn place(findings: &mut [FindingReport], before: u64) {
    for finding in findings.iter_mut().filter(|_| before > 0) {
        match finding.line {
            Some(line) if line > before => {
                finding.line = Some(line - before);
                let all = finding.lines.iter_mut().flatten();
                all.for_each(|line| *line = line.saturating_sub(before));
            }
            _ => finding.line = None,
        }
    }
}

/// What both ends of a followed file know.
#[derive(Default)]
struct State {
    /// Whether its end is waited at. Before that, to tell what it is, the end is the end.
    is_live: Cell<bool>,
    /// So many lines stood in files that were rotated away.
    before: Cell<u64>,
}

/// A file that is read on as it grows, and where another one takes its place that one.
struct Tail {
    path: PathBuf,
    file: File,
    position: u64,
    feeds: u64,
    last: u8,
    state: Rc<State>,
    stop: &'static AtomicBool,
}

impl Tail {
    fn open(path: &Path, state: Rc<State>, stop: &'static AtomicBool) -> io::Result<Tail> {
        Ok(Tail {
            path: path.to_owned(),
            file: File::open(path)?,
            position: 0,
            feeds: 0,
            last: b'\n',
            state,
            stop,
        })
    }

    fn take(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(out)?;
        self.position += count as u64;
        self.feeds += memchr::memchr_iter(b'\n', &out[..count]).count() as u64;
        if count > 0 {
            self.last = out[count - 1];
        }
        Ok(count)
    }

    /// Whether another file stands there now, or this one begins anew.
    fn is_rotated(&self) -> bool {
        let (Ok(now), Ok(mine)) = (self.path.metadata(), self.file.metadata()) else {
            return false;
        };
        !is_same(&now, &mine) || mine.len() < self.position
    }

    fn begin_again(&mut self) -> io::Result<()> {
        if is_same(&self.path.metadata()?, &self.file.metadata()?) {
            self.file.seek(SeekFrom::Start(0))?;
        } else {
            self.file = File::open(&self.path)?;
        }
        self.position = 0;
        self.state.before.set(self.feeds);
        Ok(())
    }
}

impl Read for Tail {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.take(out)?;
            let is_over = !self.state.is_live.get() || self.stop.load(Ordering::Relaxed);
            if count > 0 || is_over || out.is_empty() {
                return Ok(count);
            }
            if !self.is_rotated() {
                sleep(PAUSE);
                let count = self.take(out)?;
                return match count {
                    0 => Err(io::ErrorKind::WouldBlock.into()),
                    count => Ok(count),
                };
            }
            // What was written to the old one in the meantime.
            let count = match is_shorter(&self.file, self.position) {
                true => 0,
                false => self.take(out)?,
            };
            if count > 0 {
                return Ok(count);
            }
            let is_cut = self.last != b'\n';
            self.feeds += u64::from(is_cut);
            self.last = b'\n';
            self.begin_again()?;
            if is_cut {
                out[0] = b'\n';
                return Ok(1);
            }
        }
    }
}

fn is_shorter(file: &File, position: u64) -> bool {
    file.metadata().is_ok_and(|data| data.len() < position)
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Where files have no number only their length tells.
#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true
}
