//! Captures and other recordings: one observer for each session in the file.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hasher;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::time::Instant;

mod addresses;
mod route;
mod streams;

use route::{Name, Routes};

use super::account::Watched;
use super::versions::Versions;
use super::{Checked, Context, FINDINGS_MAX, Lines, Wanted};
use crate::cli::findings::report_of;
use crate::cli::outcome::{counted, shown};
use crate::cli::replay::read_failure;
use crate::cli::report::{FindingReport, SessionReport};
use crate::models::rules::lost::{needed, rests_on_agreement};
use crate::models::{
    Category, LogEvent, LogWhat, Needs, Observer, ObserverOptions, Outcome, Rule, Seen, rule, rules,
};
use crate::traces::capture::{
    CaptureEvent, CaptureFrame, CaptureLine, CaptureWhat, EventKind, Opening,
};
use crate::traces::classify::{classify, classify_utf8};
use crate::traces::event::{FrameNo, LinkKind, Role, Stream};
use crate::traces::file::{Party, PartyRole};
use crate::traces::judge::{Ending, Finding, Vantage, Verdict};
use crate::traces::lines::ReadError;
use crate::traces::lost::Lost;
use crate::traces::message::{Message, Revision};
use crate::traces::recording::Recording;
use crate::traces::scan::Scanner;

/// Errors beyond this many are counted and not listed.
const ERRORS_MAX: u64 = 20;

/// So many sessions are judged at once; then those that were silent for longest give way.
const SESSIONS_MAX: usize = 4096;

/// Is told of findings while the log is still being written.
pub(crate) type Live<'a> = &'a mut dyn FnMut(Vec<FindingReport>);

/// Judges a recording.
pub(crate) fn judge(
    path: &Path,
    reader: &mut (impl Recording + ?Sized),
    wanted: &Wanted,
) -> Checked {
    judge_live(path, reader, wanted, None)
}

/// Judges a recording. Where somebody listens, an input that would block is asked again, and what was found up to there is told.
pub(crate) fn judge_live(
    path: &Path,
    reader: &mut (impl Recording + ?Sized),
    wanted: &Wanted,
    mut live: Option<Live<'_>>,
) -> Checked {
    let mut sessions = Sessions::new(reader.opening(), wanted);
    sessions.clock = live.as_ref().map(|_| Clock::default());
    let mut checked = Checked::default();
    let mut errors = 0;
    loop {
        sessions.lost = reader.lost();
        match reader.next_line() {
            Ok(Some(line)) => sessions.line(&line),
            Ok(None) => break,
            Err(ReadError::Io(error)) if live.is_some() && would_block(&error) => {
                if let Some(tell) = &mut live {
                    sessions.wait();
                    tell(sessions.fresh());
                }
            }
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
    if let Some(last_ms) = reader.last_ms() {
        sessions.go_on(last_ms, |_| true);
    }
    sessions.lost = reader.lost();
    sessions.has_gaps = reader.has_gaps();
    sessions.alone_from = reader.alone_from();
    sessions.finish(&mut checked);
    let report = &mut checked.report;
    report.format = reader.format().to_owned();
    for name in reader.lost().names() {
        super::put_new(&mut report.lost, &[name.to_owned()]);
    }
    super::put_new(&mut report.guessed, &reader.guessed());
    super::put_new(&mut report.remarks, &reader.remarks());
    checked
}

/// The sessions of a capture, by name or as the headers of HTTP tell them apart; otherwise it is one session, and after the
/// exit of the server's program, or the end of what the client writes, the next handshake, or the next request that needs none,
/// begins another one.
struct Sessions<'a> {
    opening: Opening,
    wanted: &'a Wanted,
    observers: BTreeMap<Name, Watched>,
    /// Sessions whose server's program has ended, or whose client has closed what it writes to.
    exited: BTreeSet<Name>,
    routes: Routes,
    /// What came of sessions that are over.
    done: Checked,
    scanner: Scanner,
    /// Frames, and what HTTP tells beside them; and how many of these are no frames.
    frame: FrameNo,
    heads: FrameNo,
    lines: Lines,
    shortened: u64,
    /// What the recording does not have, as far as it was read.
    lost: Lost,
    /// The first line that could not be used: from there on something may be missing.
    hole: Option<u64>,
    /// Frames seem to be missing, and nobody knows where.
    has_gaps: bool,
    /// Sessions that were judged to their end to make room may go on.
    has_let_go: bool,
    /// From there on only one side was recorded.
    alone_from: Option<FrameNo>,
    /// Where the log is still being written: how its time goes.
    clock: Option<Clock>,
    /// There: findings of sessions that are over, until they are told.
    fresh: Vec<FindingReport>,
}

/// When the last line that has a time was read, and what its time was.
#[derive(Default)]
struct Clock {
    last: Option<(Instant, u64)>,
}

fn would_block(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}

/// The two parties of a session, by their roles.
fn both_parties() -> [Party; 2] {
    [Role::Client, Role::Server].map(|role| Party {
        name: role.as_str().to_owned(),
        role: match role {
            Role::Client => PartyRole::Client,
            Role::Server => PartyRole::Server,
        },
    })
}

impl<'a> Sessions<'a> {
    fn new(opening: Opening, wanted: &'a Wanted) -> Sessions<'a> {
        Sessions {
            opening,
            wanted,
            observers: BTreeMap::new(),
            exited: BTreeSet::new(),
            routes: Routes::default(),
            done: Checked::default(),
            scanner: Scanner::recording(),
            frame: 0,
            heads: 0,
            lines: Lines::default(),
            shortened: 0,
            lost: Lost::NOTHING,
            hole: None,
            has_gaps: false,
            has_let_go: false,
            alone_from: None,
            clock: None,
            fresh: vec![],
        }
    }

    /// Nothing comes for the moment: time goes on all the same.
    fn wait(&mut self) {
        let Some((at, t_ms)) = self.clock.as_ref().and_then(|clock| clock.last) else {
            return;
        };
        let waited = u64::try_from(at.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.go_on(t_ms.saturating_add(waited), |_| true);
    }

    /// Until then nothing else came in the sessions of such names. What is over does not wait.
    fn go_on(&mut self, t_ms: u64, is_one: impl Fn(&Name) -> bool) {
        let exited = &self.exited;
        let live = self.observers.iter_mut();
        let live = live.filter(|(name, _)| is_one(name) && !exited.contains(name));
        live.for_each(|(_, watched)| watched.goes_on(t_ms));
    }

    /// What was found since it was asked last.
    fn fresh(&mut self) -> Vec<FindingReport> {
        let mut all = std::mem::take(&mut self.fresh);
        let mut observers = std::mem::take(&mut self.observers);
        let is_alone = observers.len() + self.done.report.sessions.len() < 2;
        for (name, watched) in &mut observers {
            all.extend(self.fresh_of(Some(name).filter(|_| !is_alone), watched));
        }
        self.observers = observers;
        all
    }

    /// What was found in that session, which is named where there are others.
    fn fresh_of(&self, named: Option<&Name>, watched: &mut Watched) -> Vec<FindingReport> {
        let observer = &watched.observer;
        let mut findings = observer.findings()[watched.told..].to_vec();
        watched.told = observer.findings().len();
        let revision = observer.revision();
        self.settle(&mut findings, revision);
        let choice = &self.wanted.choice;
        choice.weigh(&mut findings);
        findings.retain(|finding| choice.shows(finding));
        let line_of = |frame| self.lines.of(frame);
        let server = named.and_then(|name| name.as_given().or_else(|| watched.account.server()));
        let report = |finding| FindingReport {
            server: server.clone(),
            ..report_of(finding, &both_parties(), line_of, revision)
        };
        findings.iter().map(report).collect()
    }

    /// Leaves out what the recording cannot show, and makes unsure what lines that could not be used may explain; which rules
    /// these are.
    fn settle(
        &self,
        findings: &mut Vec<Finding>,
        revision: Option<Revision>,
    ) -> BTreeSet<&'static str> {
        // Which one was agreed on may stand among the frames that are not there.
        let is_open = revision.is_none() && self.lost.has(Lost::FRAMES);
        let doubtful = findings
            .iter_mut()
            .filter(|finding| {
                rests_on_the_whole(finding, self.hole, &self.lines)
                    || (self.has_gaps || self.is_behind_the_end(finding))
                        && rests_on_all_frames(finding)
                    || self.routes.is_blurred() && rests_on_others(finding)
                    || is_open && is_of_the_agreement(finding)
            })
            .map(|finding| {
                finding.verdict = Verdict::Unsure;
                finding.rule
            })
            .collect();
        findings.retain(|finding| is_decided(finding.rule, self.lost));
        doubtful
    }

    /// Whether what it is about came when the other side was not recorded any more. Who owes an answer for so long hangs.
    fn is_behind_the_end(&self, finding: &Finding) -> bool {
        let last = finding.frames.last();
        let is_behind = self
            .alone_from
            .zip(last)
            .is_some_and(|(from, last)| from <= *last);
        is_behind && finding.rule != "request-unanswered"
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
        if let (Some(clock), Some(t_ms)) = (&mut self.clock, line.t_ms) {
            clock.last = Some((Instant::now(), t_ms));
        }
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
                let is_piped = line.stream.is_none() && !frame.is_laid_out;
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
                self.observer(line, None).event(&event);
            }
            CaptureWhat::Event(event) => self.event(line, event),
        }
    }

    fn event(&mut self, line: &CaptureLine<'_>, event: &CaptureEvent<'_>) {
        let told = log_event(line, event);
        let session = line.session.as_deref();
        // A line that is no concern of a session's, and has a time: until then nothing else has come.
        if let (None, Some(t_ms)) = (&told, line.t_ms) {
            self.go_on(t_ms, |name| {
                session.is_none_or(|session| name.is_given(session))
            });
        }
        // What comes then is another session's.
        if line.stream.is_none() && event.kind.ends_connection(event.by) {
            match session {
                Some(session) => drop(self.exited.insert(Name::given(session))),
                None => self.exited.extend(self.observers.keys().cloned()),
            }
        }
        let Some(event) = told else { return };
        // What names no session and no exchange concerns all of them.
        let stream = line.stream.as_deref();
        let is_known = stream.is_some_and(|name| self.routes.knows(name));
        if let (Some(stream), LogWhat::Eof | LogWhat::Drop) = (stream, event.what) {
            self.routes.ends(stream);
        }
        let is_of_all = session.is_none() && !is_known;
        if is_of_all && !self.observers.is_empty() {
            let all = self.observers.values_mut();
            all.for_each(|observer| observer.event(&event));
        } else {
            self.observer(line, None).event(&event);
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
        self.observer(line, Some(&found.message)).frame(&seen);
        self.scanner = scanner;
    }

    fn observer(&mut self, line: &CaptureLine<'_>, message: Option<&Message>) -> &mut Watched {
        // Most captures name nothing.
        let is_over = !self.exited.is_empty();
        if !is_over && line.session.is_none() && line.stream.is_none() && self.nameless().is_some()
        {
            return self.nameless().expect("it is there");
        }
        let session = self.session_of(line, message);
        if let Some(message) = message {
            self.begin_again(&session, message);
        }
        if !self.observers.contains_key(&session) {
            self.make_room();
        }
        let vantage = self.vantage();
        // Whoever stood at both ends may still have come late; and a session that turns up later began before.
        let whole = self.opening.whole && session.is_first() && !self.has_let_go;
        self.observers.entry(session).or_insert_with(|| {
            let streams = match line.stream {
                Some(_) => LinkKind::Http,
                None => LinkKind::Pipe,
            };
            let transport = self.opening.transport.unwrap_or(streams);
            Watched::new(Observer::new(ObserverOptions {
                whole,
                revision: self.wanted.revision,
                patience_ms: self.wanted.patience_ms,
                findings_max: FINDINGS_MAX,
                ..ObserverOptions::new(vantage, transport)
            }))
        })
    }

    /// The session without a name, where there is one.
    #[inline]
    fn nameless(&mut self) -> Option<&mut Watched> {
        // An empty name is the least of all.
        let first = self.observers.first_entry()?;
        first.key().is_nameless().then(|| first.into_mut())
    }

    /// A session is over: keeps what came of it.
    fn close(&mut self, name: &Name, mut watched: Watched) {
        if self.clock.is_some() {
            let is_alone = self.observers.is_empty() && self.done.report.sessions.is_empty();
            let fresh = self.fresh_of(Some(name).filter(|_| !is_alone), &mut watched);
            self.fresh.extend(fresh);
        }
        let Watched {
            mut observer,
            account,
            ..
        } = watched;
        let parties = both_parties();
        observer.finish(Ending::Unfinished);
        let revision = observer.revision();
        let versions = Versions::of(&observer.revisions(), observer.foreign_versions());
        let (mut findings, lost) = (observer.take_findings(), self.lost);
        let doubtful = self.settle(&mut findings, revision);
        let outcome = |rule: &Rule| match observer.outcome(rule) {
            Outcome::Broken | Outcome::Kept if !needed(rule, lost).is_nothing() => Outcome::Unsure,
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
        let choice = &self.wanted.choice;
        let context = Context {
            parties: &parties,
            revision,
            versions: &versions,
            lines: &self.lines,
            unread: observer.unread(),
            choice,
            session: SessionReport {
                is_told: true,
                name: name.as_given(),
                ..account.close(&observer, |frame| self.lines.of(frame))
            },
        };
        let counted = observer.counted().filter(|(id, _)| is_decided(id, lost));
        for rule in rules().iter().filter(|rule| choice.tells(rule.id)) {
            let open = needed(rule, lost);
            if !open.is_nothing() && observer.outcome(rule) != Outcome::Idle {
                let names = open.names().collect();
                self.done.report.not_checkable.insert(rule.id, names);
            }
        }
        self.done.add(&findings, counted, outcome, &context);
    }

    fn finish(mut self, checked: &mut Checked) {
        for (name, watched) in std::mem::take(&mut self.observers) {
            self.close(&name, watched);
        }
        checked.hidden = self.done.hidden;
        checked.worst = self.done.worst;
        checked.outcomes = std::mem::take(&mut self.done.outcomes);
        checked.report.findings = std::mem::take(&mut self.done.report.findings);
        checked.report.counted = std::mem::take(&mut self.done.report.counted);
        checked.report.not_checkable = std::mem::take(&mut self.done.report.not_checkable);
        checked.report.sessions = std::mem::take(&mut self.done.report.sessions);
        checked.report.revisions = std::mem::take(&mut self.done.report.revisions);
        checked.report.remarks.append(&mut self.done.report.remarks);
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
        if self.routes.is_blurred() {
            checked.report.remarks.push(
                "several clients talk to this server, and nothing tells all of them apart: what rests on more than one frame is \
                 unsure; name the clients in \"session\""
                    .to_owned(),
            );
        }
        if self.opening.vantage.is_none() && self.wanted.vantage.is_none() {
            checked.report.guessed.push("vantage: between".to_owned());
        }
    }
}

/// Whether a recording that has lost that can show anything of the rule.
fn is_decided(id: &str, lost: Lost) -> bool {
    rule(id).is_none_or(|rule| needed(rule, lost).is_nothing())
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

fn rests_on_all_frames(finding: &Finding) -> bool {
    finding.verdict == Verdict::Broken && !is_decided(finding.rule, Lost::FRAMES)
}

/// Whether a finding rests on other frames than its own, which may be another client's: what a result has to hold depends on
/// the request, and much on the revision.
fn rests_on_others(finding: &Finding) -> bool {
    let is_form = |rule: &Rule| {
        let is_of_any = matches!(
            rule.category,
            Category::Envelope | Category::Ids | Category::Batch
        );
        rule.needs == Needs::Frame && is_of_any && !rests_on_agreement(rule)
    };
    let needs_more = |rule: &Rule| !is_form(rule) && rule.id != "request-unanswered";
    finding.verdict == Verdict::Broken && rule(finding.rule).is_none_or(needs_more)
}

/// Whether the revision that was agreed on decides whether the rule is broken.
fn is_of_the_agreement(finding: &Finding) -> bool {
    finding.verdict == Verdict::Broken && rule(finding.rule).is_some_and(rests_on_agreement)
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
        EventKind::Open
        | EventKind::Queued
        | EventKind::Lost
        | EventKind::Recording
        | EventKind::Other => return None,
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
