//! Captures: one observer for each session in the file.

use std::collections::BTreeMap;
use std::hash::Hasher;
use std::io::BufRead;
use std::path::Path;

use super::{Checked, Context, FINDINGS_MAX, Lines, Wanted};
use crate::cli::replay::read_failure;
use crate::models::{LogEvent, LogWhat, Observer, ObserverOptions, Seen};
use crate::traces::capture::{
    CaptureEvent, CaptureLine, CaptureReader, CaptureWhat, EventKind, Opening,
};
use crate::traces::classify::classify;
use crate::traces::event::{FrameNo, LinkKind, Role, Stream};
use crate::traces::file::{Party, PartyRole};
use crate::traces::judge::{Ending, Vantage};
use crate::traces::lines::ReadError;
use crate::traces::scan::Scanner;

/// Errors beyond this many are counted and not listed.
const ERRORS_MAX: u64 = 20;

/// Judges a capture.
pub(crate) fn judge(
    path: &Path,
    mut reader: CaptureReader<impl BufRead>,
    wanted: &Wanted,
) -> Checked {
    let mut sessions = Sessions::new(reader.opening(), wanted);
    let mut checked = Checked::default();
    let mut errors = 0;
    loop {
        match reader.next_line() {
            Ok(Some(line)) => sessions.line(&line),
            Ok(None) => break,
            Err(error) => {
                errors += 1;
                if errors <= ERRORS_MAX {
                    checked
                        .report
                        .errors
                        .push(read_failure(path, &error).to_string());
                }
                if matches!(error, ReadError::Io(_)) {
                    break;
                }
            }
        }
    }
    if errors > ERRORS_MAX {
        checked.report.errors.push(format!(
            "{}: {} more lines could not be used",
            path.display(),
            errors - ERRORS_MAX
        ));
    }
    if reader.is_cut() {
        checked.report.remarks.push(format!(
            "line {} is cut and was left out",
            reader.line_number()
        ));
    }
    sessions.finish(&mut checked);
    checked
}

/// The sessions of a capture, by name; a capture without names is one session.
struct Sessions<'a> {
    opening: Opening,
    wanted: &'a Wanted,
    observers: BTreeMap<String, Observer>,
    scanner: Scanner,
    frame: FrameNo,
    lines: Lines,
    shortened: u64,
}

impl<'a> Sessions<'a> {
    fn new(opening: Opening, wanted: &'a Wanted) -> Sessions<'a> {
        Sessions {
            opening,
            wanted,
            observers: BTreeMap::new(),
            scanner: Scanner::new(),
            frame: 0,
            lines: Lines::default(),
            shortened: 0,
        }
    }

    fn vantage(&self) -> Vantage {
        self.wanted
            .vantage
            .or(self.opening.vantage)
            .unwrap_or(Vantage::Between)
    }

    fn line(&mut self, line: &CaptureLine<'_>) {
        match &line.what {
            CaptureWhat::Frame(frame) => {
                self.frame += 1;
                self.lines.put(self.frame, line.line);
                if frame.cut_from_bytes.is_some() {
                    self.shortened += 1;
                    return;
                }
                let found = classify(frame.raw, &mut self.scanner);
                let seen = Seen {
                    frame: self.frame,
                    from: frame.from,
                    message: &found.message,
                    text: Some(frame.raw),
                    at_ms: line.t_ms,
                    stream: stream_number(line.stream.as_deref()),
                    ended: frame.has_eol,
                    http_status: frame.http,
                };
                self.observer(line).frame(&seen);
            }
            CaptureWhat::Event(event) => {
                let Some(event) = log_event(line, event) else {
                    return;
                };
                // What names no session concerns all of them.
                if line.session.is_none() && !self.observers.is_empty() {
                    let all = self.observers.values_mut();
                    all.for_each(|observer| observer.event(&event));
                } else {
                    self.observer(line).event(&event);
                }
            }
        }
    }

    fn observer(&mut self, line: &CaptureLine<'_>) -> &mut Observer {
        let session = line.session.as_deref().unwrap_or("");
        if !self.observers.contains_key(session) {
            let streams = if line.stream.is_some() {
                LinkKind::Http
            } else {
                LinkKind::Pipe
            };
            let mut options =
                ObserverOptions::new(self.vantage(), self.opening.transport.unwrap_or(streams));
            options.revision = self.wanted.revision;
            options.patience_ms = self.wanted.patience_ms;
            options.findings_max = FINDINGS_MAX;
            self.observers
                .insert(session.to_owned(), Observer::new(options));
        }
        self.observers
            .get_mut(session)
            .expect("it was put in just now")
    }

    fn finish(mut self, checked: &mut Checked) {
        let parties = [Role::Client, Role::Server].map(|role| Party {
            name: role.as_str().to_owned(),
            role: match role {
                Role::Client => PartyRole::Client,
                Role::Server => PartyRole::Server,
            },
        });
        checked.report.format = "capture".to_owned();
        checked.report.vantage = self.vantage().as_str().to_owned();
        checked.report.frames = u64::from(self.frame);
        for observer in self.observers.values_mut() {
            observer.finish(Ending::Unfinished);
            let context = Context {
                parties: &parties,
                revision: observer.revision(),
                lines: &self.lines,
            };
            checked.add(
                observer.findings(),
                observer.counted(),
                |rule| observer.outcome(rule),
                &context,
            );
        }
        if self.shortened > 0 {
            checked.report.lost.push("raw text".to_owned());
            checked.report.remarks.push(format!(
                "{} frames were shortened by whoever recorded them and are not judged",
                self.shortened
            ));
        }
        if self.opening.vantage.is_none() && self.wanted.vantage.is_none() {
            checked.report.guessed.push("vantage: between".to_owned());
        }
    }
}

/// A stream's number: 0 where there is no name; names are hashed, since only their equality counts.
fn stream_number(name: Option<&str>) -> Stream {
    let Some(name) = name else { return 0 };
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(name.as_bytes());
    (hasher.finish() as Stream).max(1)
}

fn log_event(line: &CaptureLine<'_>, event: &CaptureEvent<'_>) -> Option<LogEvent> {
    let what = match event.kind {
        EventKind::Eof => LogWhat::Eof,
        EventKind::Exit => LogWhat::Exit {
            status: event.status.and_then(|status| i32::try_from(status).ok()),
        },
        EventKind::Stall => LogWhat::Stall,
        EventKind::Timeout => LogWhat::Timeout,
        EventKind::StderrFull => LogWhat::StderrFull,
        EventKind::Open
        | EventKind::Drop
        | EventKind::CloseQueued
        | EventKind::Queued
        | EventKind::Lost
        | EventKind::Teardown
        | EventKind::EmptyBody
        | EventKind::Other => return None,
    };
    let stream = line.stream.as_deref().map(|name| stream_number(Some(name)));
    Some(LogEvent {
        by: event.by?,
        what,
        at_ms: line.t_ms,
        stream,
    })
}
