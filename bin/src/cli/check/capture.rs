//! Captures: one observer for each session in the file.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::Hasher;
use std::io::BufRead;
use std::ops::Range;
use std::path::Path;

use super::versions::Versions;
use super::{Checked, Context, FINDINGS_MAX, Lines, Wanted};
use crate::cli::outcome::{counted, shown};
use crate::cli::replay::read_failure;
use crate::models::{
    LogEvent, LogWhat, Needs, Observer, ObserverOptions, Outcome, Rule, Seen, rule,
};
use crate::traces::capture::{
    CaptureEvent, CaptureFrame, CaptureLine, CaptureReader, CaptureWhat, EventKind, Opening,
};
use crate::traces::classify::{classify, classify_utf8};
use crate::traces::event::{FrameNo, LinkKind, Role, Stream};
use crate::traces::file::{Party, PartyRole};
use crate::traces::judge::{Ending, Finding, Vantage, Verdict};
use crate::traces::lines::ReadError;
use crate::traces::message::{Condition, Kind, Message, Method};
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
                sessions.hole(reader.line_number());
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
            "{}: {} could not be used",
            shown(path),
            counted(errors - ERRORS_MAX, "more line")
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

/// The sessions of a capture, by name; a capture without names is one session, and after the exit of
/// the server's program the next handshake, or the next request that needs none, begins another one.
struct Sessions<'a> {
    opening: Opening,
    wanted: &'a Wanted,
    observers: BTreeMap<String, Observer>,
    /// Sessions whose server's program has ended.
    exited: BTreeSet<String>,
    streams: Streams,
    /// What came of sessions that are over.
    done: Checked,
    scanner: Scanner,
    /// Frames, and what HTTP tells beside them; and how many of these are no frames.
    frame: FrameNo,
    heads: FrameNo,
    lines: Lines,
    shortened: u64,
    /// The first line that could not be used: from there on something may be missing.
    hole: Option<u64>,
}

impl<'a> Sessions<'a> {
    fn new(opening: Opening, wanted: &'a Wanted) -> Sessions<'a> {
        Sessions {
            opening,
            wanted,
            observers: BTreeMap::new(),
            exited: BTreeSet::new(),
            streams: Streams::default(),
            done: Checked::default(),
            scanner: Scanner::recording(),
            frame: 0,
            heads: 0,
            lines: Lines::default(),
            shortened: 0,
            hole: None,
        }
    }

    /// That line could not be used.
    fn hole(&mut self, line: u64) {
        self.hole.get_or_insert(line);
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
                    self.hole(line.line);
                    return;
                }
                // On a pipe a line feed inside the text was the end of a line to whoever read it.
                let is_piped = line.stream.is_none();
                let mut from = 0;
                while let Some(length) =
                    memchr::memchr(b'\n', &frame.raw[from..]).filter(|_| is_piped)
                {
                    self.part(line, frame, from..from + length, true);
                    from += length + 1;
                }
                self.part(line, frame, from..frame.raw.len(), frame.has_eol);
            }
            CaptureWhat::Http(by) => {
                self.frame += 1;
                self.heads += 1;
                self.lines.put(self.frame, line.line);
                let event = LogEvent {
                    frame: self.frame,
                    ..log_event_of(line, *by, LogWhat::Http)
                };
                self.observer(line).event(&event);
            }
            CaptureWhat::Event(event) => {
                let Some(event) = log_event(line, event) else {
                    return;
                };
                if let LogWhat::Exit { .. } = event.what
                    && event.by == Role::Server
                    && line.stream.is_none()
                {
                    let all: Vec<String> = match line.session.as_deref() {
                        Some(session) => vec![session.to_owned()],
                        None => self.observers.keys().cloned().collect(),
                    };
                    self.exited.extend(all);
                }
                // What names no session and no exchange concerns all of them.
                let stream = line.stream.as_deref();
                let is_known = stream.is_some_and(|name| self.streams.session(name).is_some());
                let is_of_all = line.session.is_none() && !is_known;
                if is_of_all && !self.observers.is_empty() {
                    let all = self.observers.values_mut();
                    all.for_each(|observer| observer.event(&event));
                } else {
                    self.observer(line).event(&event);
                }
            }
        }
    }

    /// One line of a frame: all of it, where it holds no line feed.
    fn part(
        &mut self,
        line: &CaptureLine<'_>,
        frame: &CaptureFrame<'_>,
        place: Range<usize>,
        ended: bool,
    ) {
        let base = place.start as u32;
        let text = &frame.raw[place];
        // Taken out while the observer looks at what it wrote down.
        let mut scanner = std::mem::take(&mut self.scanner);
        let found = match frame.is_utf8 {
            true => classify_utf8(text, &mut scanner),
            false => classify(text, &mut scanner),
        };
        self.begin_again(line, &found.message);
        let seen = Seen {
            frame: self.frame,
            from: frame.from,
            message: &found.message,
            text: Some(text),
            body: scanner.body(text).filter(|_| found.fault.is_none()),
            at_ms: line.t_ms,
            stream: stream_number(line.stream.as_deref()),
            base,
            ended,
            http: line.http.as_deref(),
        };
        self.observer(line).frame(&seen);
        self.scanner = scanner;
    }

    /// After the server's program has ended, a handshake or a request that speaks for itself goes to another
    /// one, and begins another session.
    fn begin_again(&mut self, line: &CaptureLine<'_>, message: &Message) {
        if self.exited.is_empty() || !begins(message) {
            return;
        }
        let session = self.session_of(line);
        if self.exited.remove(&*session)
            && let Some(observer) = self.observers.remove(&*session)
        {
            self.close(observer);
        }
    }

    /// The session of a line: the one that it names, or that another line of its exchange has named.
    fn session_of<'l>(&mut self, line: &'l CaptureLine<'_>) -> Cow<'l, str> {
        let named = line.session.as_deref();
        let Some(stream) = line.stream.as_deref() else {
            return Cow::Borrowed(named.unwrap_or(""));
        };
        let known = self.streams.session(stream);
        let Some(named) = named else {
            let known = known.unwrap_or_default().to_owned();
            if known.is_empty() {
                self.streams.put(stream, "");
            }
            return Cow::Owned(known);
        };
        // The answer to initialize is the first to name a session: what came before it is part of that.
        if known == Some("")
            && !self.observers.contains_key(named)
            && let Some(observer) = self.observers.remove("")
        {
            self.observers.insert(named.to_owned(), observer);
            self.streams.rename("", named);
        }
        self.streams.put(stream, named);
        Cow::Borrowed(named)
    }

    fn observer(&mut self, line: &CaptureLine<'_>) -> &mut Observer {
        // Most captures name nothing.
        if line.session.is_none() && line.stream.is_none() && self.nameless().is_some() {
            return self.nameless().expect("it is there");
        }
        let session = &*self.session_of(line);
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

    /// The session without a name, where there is one.
    #[inline]
    fn nameless(&mut self) -> Option<&mut Observer> {
        // An empty name is the least of all.
        let first = self.observers.first_entry()?;
        first.key().is_empty().then(|| first.into_mut())
    }

    /// A session is over: keeps what came of it.
    fn close(&mut self, mut observer: Observer) {
        let parties = [Role::Client, Role::Server].map(|role| Party {
            name: role.as_str().to_owned(),
            role: match role {
                Role::Client => PartyRole::Client,
                Role::Server => PartyRole::Server,
            },
        });
        observer.finish(Ending::Unfinished);
        let revision = observer.revision();
        let versions = Versions::of(&observer.revisions(), observer.foreign_versions());
        let (mut findings, hole) = (observer.take_findings(), self.hole);
        let doubtful: BTreeSet<&str> = findings
            .iter_mut()
            .filter(|finding| rests_on_the_whole(finding, hole, &self.lines))
            .map(|finding| {
                finding.verdict = Verdict::Unsure;
                finding.rule
            })
            .collect();
        let outcome = |rule: &Rule| match observer.outcome(rule) {
            Outcome::Broken if doubtful.contains(rule.id) => {
                let certain = |finding: &Finding| {
                    finding.rule == rule.id && finding.verdict == Verdict::Broken
                };
                let still = findings.iter().any(certain);
                if still {
                    Outcome::Broken
                } else {
                    Outcome::Unsure
                }
            }
            other => other,
        };
        let context = Context {
            parties: &parties,
            revision,
            versions: &versions,
            lines: &self.lines,
            unread: observer.unread(),
        };
        self.done
            .add(&findings, observer.counted(), outcome, &context);
    }

    fn finish(mut self, checked: &mut Checked) {
        for observer in std::mem::take(&mut self.observers).into_values() {
            self.close(observer);
        }
        checked.worst = self.done.worst;
        checked.outcomes = std::mem::take(&mut self.done.outcomes);
        checked.report.findings = std::mem::take(&mut self.done.report.findings);
        checked.report.counted = std::mem::take(&mut self.done.report.counted);
        checked.report.sessions = std::mem::take(&mut self.done.report.sessions);
        checked.report.revisions = std::mem::take(&mut self.done.report.revisions);
        checked.report.remarks.append(&mut self.done.report.remarks);
        checked.report.format = "capture".to_owned();
        checked.report.vantage = self.vantage().as_str().to_owned();
        checked.report.frames = u64::from(self.frame - self.heads);
        if self.shortened > 0 {
            checked.report.lost.push("raw text".to_owned());
            let (was, is) = match self.shortened {
                1 => ("was", "is"),
                _ => ("were", "are"),
            };
            checked.report.remarks.push(format!(
                "{} {was} shortened in the recording and {is} not judged",
                counted(self.shortened, "frame")
            ));
        }
        if self.opening.vantage.is_none() && self.wanted.vantage.is_none() {
            checked.report.guessed.push("vantage: between".to_owned());
        }
    }
}

/// The sessions of the latest exchanges.
#[derive(Default)]
struct Streams {
    sessions: BTreeMap<String, String>,
    order: VecDeque<String>,
}

impl Streams {
    const MAX: usize = 1024;

    fn session(&self, stream: &str) -> Option<&str> {
        self.sessions.get(stream).map(String::as_str)
    }

    fn put(&mut self, stream: &str, session: &str) {
        if let Some(known) = self.sessions.get_mut(stream) {
            if known != session {
                session.clone_into(known);
            }
            return;
        }
        self.sessions.insert(stream.to_owned(), session.to_owned());
        self.order.push_back(stream.to_owned());
        if self.order.len() > Streams::MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.sessions.remove(&oldest);
        }
    }

    fn rename(&mut self, from: &str, to: &str) {
        let renamed = self
            .sessions
            .values_mut()
            .filter(|session| *session == from);
        renamed.for_each(|session| to.clone_into(session));
    }
}

/// Whether a session may begin with that message.
fn begins(message: &Message) -> bool {
    let is_modern = || {
        message.has(Condition::MetaVersion)
            || matches!(
                message.method,
                Method::ServerDiscover | Method::SubscriptionsListen
            )
    };
    message.method == Method::Initialize || message.kind == Kind::Request && is_modern()
}

/// Whether a finding could be the doing of lines that could not be used: it needs more than its own
/// frame, and that frame does not stand before the first such line.
fn rests_on_the_whole(finding: &Finding, hole: Option<u64>, lines: &Lines) -> bool {
    let Some(hole) = hole else { return false };
    let needs_more = rule(finding.rule).is_none_or(|rule| rule.needs != Needs::Frame);
    let line = finding.frames.last().and_then(|&frame| lines.of(frame));
    let is_before = line.is_some_and(|line| line < hole) && finding.rule != "request-unanswered";
    finding.verdict == Verdict::Broken && needs_more && !is_before
}

/// A stream's number: 0 where there is no name; names are hashed, since only their equality counts.
fn stream_number(name: Option<&str>) -> Stream {
    let Some(name) = name else { return 0 };
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(name.as_bytes());
    (hasher.finish() as Stream).max(1)
}

fn log_event<'a>(line: &'a CaptureLine<'_>, event: &CaptureEvent<'_>) -> Option<LogEvent<'a>> {
    let what = match event.kind {
        EventKind::Eof => LogWhat::Eof,
        EventKind::Exit => LogWhat::Exit {
            status: event.status.and_then(|status| i32::try_from(status).ok()),
        },
        EventKind::Stall => LogWhat::Stall,
        EventKind::Timeout => LogWhat::Timeout,
        EventKind::StderrFull => LogWhat::StderrFull,
        EventKind::Drop => LogWhat::Drop,
        EventKind::EmptyBody => LogWhat::EmptyBody,
        EventKind::CloseQueued => LogWhat::CloseQueued,
        EventKind::Teardown => LogWhat::Teardown,
        EventKind::Open | EventKind::Queued | EventKind::Lost | EventKind::Other => return None,
    };
    Some(log_event_of(line, event.by?, what))
}

fn log_event_of<'a>(line: &'a CaptureLine<'_>, by: Role, what: LogWhat) -> LogEvent<'a> {
    let stream = line.stream.as_deref();
    LogEvent {
        by,
        what,
        at_ms: line.t_ms,
        stream: stream.map(|name| stream_number(Some(name))),
        frame: 0,
        http: line.http.as_deref(),
    }
}
