//! The judge of a recorded session: what can be said from where the observer stood.

use mcpsim_traces::event::{FrameNo, LinkId, LinkKind, PartyId, Role, Stream};
use mcpsim_traces::http::Http;
use mcpsim_traces::judge::{Blame, Ending, Finding, Severity, Vantage, Verdict};
use mcpsim_traces::message::{Condition, Kind, Message, Method, Revision};
use mcpsim_traces::scan::{Scanner, white};
use mcpsim_traces::tape::Value;

use crate::era::{Era, Light};
use crate::hangs::{self, End, Open, Reason, Report, Silence, Stuck};
use crate::ledger::{Cx, Ledger, Outcome, Summary};
use crate::part::{Mode, Own, Part, flag, open, waits_for_people};
use crate::rules::Rule;
use crate::rules::correlation::REQUEST_UNANSWERED;
use crate::rules::ids::name;
use crate::rules::lifecycle::{
    INITIALIZE_FIRST, INITIALIZED_MISSING, PEER_DIED, SERVER_SPEAKS_BEFORE_INITIALIZE,
};

/// How a session was recorded, and how it is to be judged.
#[derive(Clone, Copy, Debug)]
pub struct ObserverOptions {
    /// Where the observer stood.
    pub vantage: Vantage,
    /// What carried the frames.
    pub transport: LinkKind,
    /// Judge by this revision, whatever the traffic agrees on.
    pub revision: Option<Revision>,
    /// How long a request may stay open, in the log's own time; 0 for ever.
    pub patience_ms: u64,
    /// The recording is known to begin with the session. Otherwise that is concluded from its first
    /// frames: one that begins with something else than a handshake is taken to have joined later,
    /// unless the handshake follows.
    pub whole: bool,
    /// Findings of one rule beyond this are counted and not kept.
    pub findings_max: u32,
    /// The client's party, for findings.
    pub client: PartyId,
    /// The server's party, for findings.
    pub server: PartyId,
    /// The link, for findings.
    pub link: LinkId,
}

impl ObserverOptions {
    /// The usual patience: 30 seconds of the log's own time.
    pub const PATIENCE_MS: u64 = 30_000;

    /// A recording from there, judged as usual: client is party 0, server party 1, on link 0.
    pub fn new(vantage: Vantage, transport: LinkKind) -> ObserverOptions {
        ObserverOptions {
            vantage,
            transport,
            revision: None,
            patience_ms: ObserverOptions::PATIENCE_MS,
            whole: vantage == Vantage::World,
            findings_max: 100,
            client: PartyId(0),
            server: PartyId(1),
            link: LinkId(0),
        }
    }
}

/// One frame of a recording.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Its number, from 1.
    pub frame: FrameNo,
    /// Who sent it.
    pub from: Role,
    /// What it says.
    pub message: &'a Message,
    /// Its bytes: batches and broken lines are judged by them.
    pub text: Option<&'a [u8]>,
    /// Where the values lie in the text, if it was scanned by a recording scanner; else it is scanned again.
    pub body: Option<Value<'a>>,
    /// When it was seen, in milliseconds.
    pub at_ms: Option<u64>,
    /// The exchange that carried it; 0 on a pipe.
    pub stream: Stream,
    /// Whether its line end was seen. A line without one was never a whole frame to its reader.
    pub ended: bool,
    /// What HTTP tells beside it.
    pub http: Option<&'a Http<'a>>,
}

/// Something in a recording that is no frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogEvent<'a> {
    /// The side that it happened to, or that did it.
    pub by: Role,
    /// What it was.
    pub what: LogWhat,
    /// When it was seen, in milliseconds.
    pub at_ms: Option<u64>,
    /// The exchange that it concerns, where not the whole side.
    pub stream: Option<Stream>,
    /// What HTTP tells beside it.
    pub http: Option<&'a Http<'a>>,
}

/// What happened beside frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogWhat {
    /// The side closed its output.
    Eof,
    /// The side's process ended.
    Exit {
        /// Its exit status, where that was recorded.
        status: Option<i32>,
    },
    /// Nothing more came from the side, though it was waited for.
    Stall,
    /// The side gave up waiting.
    Timeout,
    /// Nobody read the side's stderr until it could write no more.
    StderrFull,
    /// Nothing but what HTTP tells: a head without a body, a server-sent event without data.
    Http,
    /// The HTTP answer has no body.
    EmptyBody,
    /// The exchange broke: nobody closed it.
    Drop,
    /// Anything else: counted.
    Other,
}

/// How the recording begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Start {
    /// Nothing tells yet.
    Open,
    /// With the session.
    Whole,
    /// In its middle, it seems; the first frame that a whole session could not begin with.
    Joined {
        first: FrameNo,
        from: Role,
        name: &'static str,
    },
}

/// Judges one recorded session. What it keeps is bounded by what is open in the session.
#[derive(Clone, Debug)]
pub struct Observer {
    options: ObserverOptions,
    ledger: Ledger,
    client: Part,
    server: Part,
    start: Start,
    frames: u64,
    ignored: u64,
    /// The log's first time, and the latest relative to it (from 1).
    began_ms: Option<u64>,
    now_ms: u32,
    /// No patience runs out before.
    check_ms: u32,
    closed_first: Option<Role>,
    ended: [bool; 2],
    stderr_full: [bool; 2],
    /// A hang was reported, and the side has answered nothing since.
    is_hung: [bool; 2],
    finished: bool,
    scanner: Scanner,
}

impl Observer {
    /// An observer that has seen nothing.
    pub fn new(options: ObserverOptions) -> Observer {
        let elsewhere = match options.transport {
            LinkKind::Pipe => Mode::Fifo,
            LinkKind::Http => Mode::Loose,
        };
        let (client, server) = match options.vantage {
            Vantage::World => (Mode::Exact, Mode::Exact),
            Vantage::Client => (Mode::Exact, elsewhere),
            Vantage::Server => (elsewhere, Mode::Exact),
            Vantage::Between => (elsewhere, elsewhere),
        };
        let part = |role, mode| {
            let mut part = Part::new(role, options.transport, mode);
            if options.revision.is_some() {
                part.revision = options.revision;
                part.set(flag::FORCED);
            }
            part
        };
        Observer {
            ledger: Ledger::new(options.findings_max),
            client: part(Role::Client, client),
            server: part(Role::Server, server),
            start: if options.whole {
                Start::Whole
            } else {
                Start::Open
            },
            frames: 0,
            ignored: 0,
            began_ms: None,
            now_ms: 0,
            check_ms: 0,
            closed_first: None,
            ended: [false; 2],
            stderr_full: [false; 2],
            is_hung: [false; 2],
            finished: false,
            scanner: Scanner::recording(),
            options,
        }
    }

    /// The next frame of the recording, in its order.
    pub fn frame(&mut self, seen: &Seen<'_>) {
        self.frames += 1;
        self.clock(seen.at_ms);
        if !seen.ended {
            self.ignored += 1;
            return;
        }
        if self.start != Start::Whole {
            self.judge_start(seen);
        }
        let from = seen.from as usize;
        self.ended[from] = false;
        if seen.message.kind.is_response() {
            self.is_hung[from] = false;
        }
        let status = seen.http.and_then(Http::status);
        let refused = status.is_some_and(|status| status >= 400);
        let body = seen
            .body
            .or_else(|| body_of(&mut self.scanner, seen.text?, seen.message));
        let (by, toward, party) = match seen.from {
            Role::Client => (&mut self.client, &mut self.server, self.options.client),
            Role::Server => (&mut self.server, &mut self.client, self.options.server),
        };
        let mut cx = Cx {
            ledger: &mut self.ledger,
            party,
            link: self.options.link,
            frame: seen.frame,
            stream: seen.stream,
            text: seen.text,
            body,
            base: 0,
            era: Era::Session,
            is_stateless: false,
            has_session: false,
            slips: &[],
            now_ms: self.now_ms,
            refused,
        };
        by.by(&mut cx, seen.message);
        cx.party = match seen.from {
            Role::Client => self.options.server,
            Role::Server => self.options.client,
        };
        toward.toward(&mut cx, seen.message);
        if refused {
            self.settle_exchange(seen);
        }
    }

    /// Something that is no frame, in its place among them.
    pub fn event(&mut self, event: &LogEvent<'_>) {
        self.clock(event.at_ms);
        let by = event.by as usize;
        match event.what {
            LogWhat::Other | LogWhat::Http | LogWhat::EmptyBody | LogWhat::Drop => {
                self.ignored += 1;
                return;
            }
            LogWhat::StderrFull => {
                self.stderr_full[by] = true;
                return;
            }
            LogWhat::Timeout => return self.judge_timeout(event.by),
            LogWhat::Eof | LogWhat::Exit { .. } => {
                if self.closed_first.is_none()
                    && event
                        .stream
                        .is_none_or(|_| matches!(event.what, LogWhat::Exit { .. }))
                {
                    self.closed_first = Some(event.by);
                }
            }
            LogWhat::Stall => {}
        }
        self.end_runs(event.by);
        let is_orderly = match self.closed_first {
            // Who closes first leaves everything open, in both directions.
            Some(Role::Client) => event.what != LogWhat::Stall || event.by == Role::Client,
            Some(first) => first != event.by && event.what != LogWhat::Stall,
            None => false,
        };
        if !is_orderly && !self.ended[by] {
            if event.what == LogWhat::Stall && event.stream.is_none() {
                self.judge_timeouts(event.by, Verdict::Unsure);
            }
            self.judge_end(event);
        }
        if !matches!(event.what, LogWhat::Stall) {
            self.ended[by] = true;
        }
    }

    /// The recording is over. [`Ending::Quiet`] says that the session was seen to come to rest, with
    /// everything delivered; [`Ending::Unfinished`] that the recording merely stops.
    pub fn finish(&mut self, ending: Ending) {
        if std::mem::replace(&mut self.finished, true) {
            return;
        }
        self.end_runs(Role::Client);
        self.end_runs(Role::Server);
        self.judge_timeouts(Role::Client, Verdict::Broken);
        self.judge_timeouts(Role::Server, Verdict::Broken);
        self.judge_left_over();
        self.judge_missing_initialized(ending);
        let (verdict, severity, because) = match (ending, self.closed_first) {
            (Ending::Quiet, _) => (Verdict::Broken, REQUEST_UNANSWERED.severity, ""),
            (_, Some(Role::Client)) => (
                Verdict::Unsure,
                Severity::Note,
                "the client closed the session with it open",
            ),
            _ => (
                Verdict::Unsure,
                REQUEST_UNANSWERED.severity,
                "the recording stops with it open",
            ),
        };
        self.report_open(
            |_, _| true,
            &Report {
                verdict,
                severity,
                silence: if ending == Ending::Quiet {
                    Silence::Never
                } else {
                    Silence::SoFar
                },
                because,
                blame: None,
            },
        );
        if verdict == Verdict::Broken {
            // What is left may have been answered by a stray.
            let report = Report {
                verdict: Verdict::Unsure,
                severity,
                silence: Silence::Never,
                because: "a stray answer may have been meant for it",
                blame: None,
            };
            self.report_open(|open, _| open.is_hazy, &report);
        }
    }

    /// The findings so far, in the order in which they were made.
    pub fn findings(&self) -> &[Finding] {
        &self.ledger.findings
    }

    /// Takes the findings out.
    pub fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.ledger.findings)
    }

    /// How many findings each rule had, kept or not.
    pub fn counted(&self) -> impl Iterator<Item = (&'static str, u32)> {
        self.ledger.counted()
    }

    /// What became of the rule so far.
    pub fn outcome(&self, rule: &Rule) -> Outcome {
        self.ledger.outcome(rule)
    }

    /// How many rules had which outcome so far.
    pub fn summary(&self) -> Summary {
        self.ledger.summary()
    }

    /// The revision of the session: given, or agreed on in the traffic; 2026-07-28 where frames speak
    /// for themselves and no handshake was seen.
    pub fn revision(&self) -> Option<Revision> {
        let is_stateless = self.server.is(flag::STATELESS) && !self.server.handshake_begun();
        self.server
            .revision
            .or(self.client.revision)
            .or(is_stateless.then_some(Revision::V2026_07_28))
    }

    /// How many frames were seen.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// How many events and cut lines said nothing to the judge.
    pub fn ignored(&self) -> u64 {
        self.ignored
    }

    /// Whether the recording seems to begin in the middle of the session.
    pub fn joined(&self) -> bool {
        matches!(self.start, Start::Joined { .. })
    }

    // Time.

    fn clock(&mut self, at_ms: Option<u64>) {
        let Some(at_ms) = at_ms else { return };
        let began = *self.began_ms.get_or_insert(at_ms);
        let now = u32::try_from(at_ms.saturating_sub(began).saturating_add(1)).unwrap_or(u32::MAX);
        // A log's clock may jump back: then no time has passed.
        self.now_ms = self.now_ms.max(now);
        if self.options.patience_ms != 0 && self.now_ms >= self.check_ms {
            self.judge_patience();
        }
    }

    #[cold]
    fn judge_patience(&mut self) {
        let patience = u32::try_from(self.options.patience_ms).unwrap_or(u32::MAX);
        let now = self.now_ms;
        let hung = self.is_hung;
        let ended = self.ended;
        // Nobody is asked again who hangs or has ended, and nothing that is excused runs out.
        let youngest = |since: u32| now.saturating_sub(since) < patience || since == 0;
        let mut oldest: Option<u32> = None;
        let mut is_any_over = false;
        for (part, debtor) in [(&self.client, Role::Server), (&self.server, Role::Client)] {
            let is_silent = hung[debtor as usize] || ended[debtor as usize];
            if is_silent && !part.own.is_empty() {
                // It may speak again any time: soon is early enough.
                oldest = Some(0);
                continue;
            }
            let settled = open::EXCUSED | open::CANCELLED | open::LONG;
            let waiting = part.own.iter().filter(|own| own.flags & settled == 0);
            for own in waiting.filter(|own| !own.answer.is_some()) {
                match part.since(own) {
                    0 => {}
                    since if youngest(since) => {
                        oldest = Some(oldest.map_or(since, |oldest| oldest.min(since)));
                    }
                    _ => is_any_over |= !waits_for_people(own.method),
                }
            }
        }
        if is_any_over {
            let heard = [self.client.heard, self.server.heard];
            self.report_open(
                |open, debtor| {
                    let since = open.own.since.max(heard[open.asker]);
                    !youngest(since)
                        && !waits_for_people(open.own.method)
                        && !hung[debtor as usize]
                        && !ended[debtor as usize]
                },
                &Report {
                    verdict: Verdict::Broken,
                    severity: REQUEST_UNANSWERED.severity,
                    silence: Silence::Within(self.options.patience_ms),
                    because: "",
                    blame: None,
                },
            );
        }
        // Whatever is sent from now on is younger. A session that hangs with very many requests open is
        // not looked through at each of them.
        let next = oldest.unwrap_or(now).saturating_add(patience);
        self.check_ms = next.max(now.saturating_add(patience / 8));
    }

    // Beginning.

    #[cold]
    fn judge_start(&mut self, seen: &Seen<'_>) {
        let message = seen.message;
        let is_stateless = message.has(Condition::MetaVersion)
            || matches!(
                message.method,
                Method::ServerDiscover | Method::SubscriptionsListen
            );
        let opens = message.kind == Kind::Batch
            || message.kind == Kind::Request
                && (message.method == Method::Initialize || is_stateless);
        if seen.from == Role::Client && opens {
            // A request that speaks for itself may stand in the middle too.
            return match self.start {
                Start::Joined { .. } if is_stateless && message.kind == Kind::Request => {}
                _ => self.begin(seen),
            };
        }
        if self.start != Start::Open
            || message.kind == Kind::Malformed
            || self.options.revision.is_some()
        {
            return;
        }
        let may_begin = match (seen.from, message.kind) {
            (_, Kind::Request) => message.method == Method::Ping,
            (Role::Client, Kind::Notification) => self.client.mode == Mode::Loose,
            (Role::Server, Kind::Notification) => message.method == Method::LogMessage,
            (Role::Server, _) => self.client.find_own(message.id).is_ok() || !message.id.is_legal(),
            (Role::Client, _) => self.server.find_own(message.id).is_ok() || !message.id.is_legal(),
        };
        if !may_begin {
            self.start = Start::Joined {
                first: seen.frame,
                from: seen.from,
                name: if message.kind.is_response() {
                    ""
                } else {
                    name(message)
                },
            };
            for part in [&mut self.client, &mut self.server] {
                part.set(flag::JOINED);
                part.settle_era(&mut self.ledger, Light::Handshake);
            }
        }
    }

    /// The session begins here: what came before it is judged as such.
    fn begin(&mut self, seen: &Seen<'_>) {
        let start = std::mem::replace(&mut self.start, Start::Whole);
        self.client.begin();
        self.server.begin();
        let is_handshake = seen.message.method == Method::Initialize;
        if !is_handshake && seen.message.method != Method::ServerDiscover {
            self.server.rare().first_id = seen.message.id;
        }
        let Start::Joined { first, from, name } = start else {
            return;
        };
        if !is_handshake || name.is_empty() {
            return;
        }
        let (part, rule, party) = match from {
            Role::Client => (&self.client, &INITIALIZE_FIRST, self.options.client),
            Role::Server => (
                &self.server,
                &SERVER_SPEAKS_BEFORE_INITIALIZE,
                self.options.server,
            ),
        };
        let mut cx = Cx {
            ledger: &mut self.ledger,
            party,
            link: self.options.link,
            frame: first,
            stream: 0,
            text: None,
            body: None,
            base: 0,
            era: Era::Session,
            is_stateless: false,
            has_session: false,
            slips: &[],
            now_ms: 0,
            refused: false,
        };
        let text = format!(
            "{name} before initialize, which follows in frame {}",
            seen.frame
        );
        part.broken(&mut cx, rule, &[first], text);
    }

    // Ends.

    /// An HTTP error status settles what its exchange carried; the rules of HTTP judge it.
    #[cold]
    fn settle_exchange(&mut self, seen: &Seen<'_>) {
        let asked: Vec<_> = self
            .server
            .inn
            .iter()
            .filter(|request| request.stream == seen.stream)
            .map(|request| request.id)
            .collect();
        for id in asked {
            if let Ok(at) = self.client.find_own(id) {
                self.client.own[at].flags |= open::EXCUSED;
            }
        }
    }

    fn end_runs(&mut self, by: Role) {
        let (part, party) = match by {
            Role::Client => (&mut self.client, self.options.client),
            Role::Server => (&mut self.server, self.options.server),
        };
        part.end_run(&mut outside(&mut self.ledger, party, self.options.link));
    }

    fn judge_left_over(&mut self) {
        for (part, party) in [
            (&mut self.client, self.options.client),
            (&mut self.server, self.options.server),
        ] {
            let mut cx = outside(&mut self.ledger, party, self.options.link);
            part.judge_early_cancels(&mut cx);
            part.judge_early_completions(&mut cx);
            part.settle_batch_init(&mut cx);
            part.settle_era(cx.ledger, Light::End);
        }
    }

    fn judge_missing_initialized(&mut self, ending: Ending) {
        if !self.client.initialized_is_missing() {
            return;
        }
        // Whoever is cut off owes no more: the server's end proves nothing where it came first.
        let has_ended = self.ended[Role::Client as usize]
            || (self.ended != [false; 2] && self.closed_first != Some(Role::Server));
        let is_seen = ending == Ending::Quiet || has_ended;
        let mut cx = outside(&mut self.ledger, self.options.client, self.options.link);
        let text =
            "the client uses the session and never sends notifications/initialized".to_string();
        if is_seen {
            self.client.broken(&mut cx, &INITIALIZED_MISSING, &[], text);
        } else {
            self.client.unsure(&mut cx, &INITIALIZED_MISSING, &[], text);
        }
    }

    /// The side's end, or that nothing more comes from it, is seen.
    fn judge_end(&mut self, event: &LogEvent<'_>) {
        let by = event.by;
        let stream = event
            .stream
            .filter(|_| self.options.transport == LinkKind::Http && event.what == LogWhat::Stall);
        let because = match event.what {
            LogWhat::Eof => "it has closed its output",
            LogWhat::Exit { .. } => "its process has ended",
            _ => "nothing more came from it",
        };
        if !matches!(event.what, LogWhat::Stall) {
            let (part, party) = match by {
                Role::Client => (&self.client, self.options.client),
                Role::Server => (&self.server, self.options.server),
            };
            part.judge_race(&mut outside(&mut self.ledger, party, self.options.link));
        }
        let debtor_inn = match by {
            Role::Client => &self.client.inn,
            Role::Server => &self.server.inn,
        };
        let on_stream: Option<Vec<_>> = stream.map(|stream| {
            let asked = debtor_inn.iter().filter(|request| request.stream == stream);
            asked.map(|request| request.id).collect()
        });
        let had_bad = debtor_inn
            .iter()
            .any(|request| request.flags & open::BAD != 0);
        let is_blocked = self.stderr_full[by as usize];
        let blame = is_blocked.then_some(Blame::from(by.other()));
        let because = if is_blocked {
            "nobody read its stderr until it could write no more"
        } else {
            because
        };
        let report = Report {
            verdict: Verdict::Broken,
            severity: REQUEST_UNANSWERED.severity,
            silence: Silence::Never,
            because,
            blame,
        };
        let is_cut = event.what != LogWhat::Stall && !is_blocked;
        let reported = self.report_open(
            |open, debtor| {
                debtor == by
                    && !(is_cut && open.is_stateless())
                    && on_stream
                        .as_ref()
                        .is_none_or(|ids| ids.binary_search(&open.own.id).is_ok())
            },
            &report,
        );
        let lost = if is_cut { self.lose_open(by) } else { vec![] };
        let status = match event.what {
            LogWhat::Exit { status } => status,
            _ => None,
        };
        let is_exit = matches!(event.what, LogWhat::Exit { .. });
        let is_crash = is_exit && (had_bad || status.is_some_and(|status| status != 0));
        if !reported && (is_crash || !lost.is_empty()) {
            self.report_death(by, &lost);
        } else if !reported && is_cut {
            self.note_probe(by);
        }
    }

    /// A side's end takes the requests outside sessions that it owes with it: which, as frames.
    fn lose_open(&mut self, by: Role) -> Vec<FrameNo> {
        let asker = match by {
            Role::Client => &mut self.server,
            Role::Server => &mut self.client,
        };
        const NOT_OWED: u16 =
            open::CANCELLED | open::EXCUSED | open::LONG | open::BAD | open::MISANSWERED;
        let open = asker.own.iter_mut().filter(|own| {
            own.flags & NOT_OWED == 0 && own.flags & open::STATELESS != 0 && !own.answer.is_some()
        });
        let mut frames: Vec<FrameNo> = open
            .map(|own| {
                own.flags |= open::EXCUSED;
                own.frame
            })
            .collect();
        frames.sort_unstable();
        frames.truncate(hangs::FRAMES_MAX);
        frames
    }

    fn report_death(&mut self, by: Role, lost: &[FrameNo]) {
        let (part, party) = match by {
            Role::Client => (&self.client, self.options.client),
            Role::Server => (&self.server, self.options.server),
        };
        let mut cx = outside(&mut self.ledger, party, self.options.link);
        let text = match lost.len() {
            0 => format!(
                "the {} ended by itself, without the other side having closed",
                by.as_str()
            ),
            count => format!(
                "the {} ended by itself with {count} request(s) open that it had to answer",
                by.as_str()
            ),
        };
        part.broken(&mut cx, &PEER_DIED, lost, text);
    }

    /// An older server that ends on a probe leaves nothing to fall back to, and breaks no rule.
    fn note_probe(&mut self, by: Role) {
        let is_probe = |own: &&Own| {
            own.method == Method::ServerDiscover
                && own.flags & open::STATELESS != 0
                && !own.answer.is_some()
        };
        let probe = self.client.own.iter().find(is_probe).map(|own| own.frame);
        if by != Role::Server || self.server.is(flag::MODERN) {
            return;
        }
        if let Some(frame) = probe {
            let mut cx = outside(&mut self.ledger, self.options.server, self.options.link);
            let text = "the server ended on a server/discover, which it may not know".to_string();
            self.server.case(
                &mut cx,
                &PEER_DIED,
                Verdict::Unsure,
                Some(Severity::Note),
                &[frame],
                None,
                text,
            );
        }
    }

    /// Requests that a side gave up, or seems to have given up, without a word.
    fn judge_timeouts(&mut self, by: Role, verdict: Verdict) {
        let (part, party) = match by {
            Role::Client => (&self.client, self.options.client),
            Role::Server => (&self.server, self.options.server),
        };
        part.judge_timeouts(
            &mut outside(&mut self.ledger, party, self.options.link),
            verdict,
        );
    }

    fn judge_timeout(&mut self, by: Role) {
        let part = match by {
            Role::Client => &mut self.client,
            Role::Server => &mut self.server,
        };
        for own in part.own.iter_mut() {
            own.flags |= open::TIMED_OUT;
        }
        let report = Report {
            verdict: Verdict::Unsure,
            severity: REQUEST_UNANSWERED.severity,
            silence: Silence::SoFar,
            because: "the other side gave up waiting",
            blame: None,
        };
        self.report_open(|_, debtor| debtor == by.other(), &report);
    }

    /// Reports what is open and fits, one finding for each side that owes, and excuses it from then on.
    fn report_open(&mut self, fits: impl Fn(&Open, Role) -> bool, report: &Report<'_>) -> bool {
        let ends = [
            End {
                party: self.options.client,
                link: self.options.link,
                role: Role::Client,
                part: &self.client,
            },
            End {
                party: self.options.server,
                link: self.options.link,
                role: Role::Server,
                part: &self.server,
            },
        ];
        let waits = hangs::waits(&ends, |_| true);
        let is_sure = report.verdict == Verdict::Broken;
        let fitting = |stuck: &&Stuck| {
            stuck.open.reason == Reason::Owed
                && !(is_sure && stuck.open.is_hazy)
                && fits(&stuck.open, ends[stuck.open.debtor].role)
        };
        let groups = hangs::by_debtor(waits.stuck.iter().filter(fitting));
        let mut excused = vec![];
        let mut findings = vec![];
        for ((debtor, ..), group) in groups {
            findings.extend(hangs::finding(&ends, &group, report));
            self.is_hung[ends[debtor].role as usize] |= is_sure;
            excused.extend(
                group
                    .iter()
                    .map(|stuck| (stuck.open.asker, stuck.open.own.id)),
            );
            // What waits for it is explained by it.
            let waiting = group.iter().flat_map(|stuck| &stuck.waiting);
            excused.extend(waiting.map(|open| (open.asker, open.own.id)));
        }
        let reported = !findings.is_empty();
        for finding in findings {
            self.ledger.add(finding);
        }
        for (asker, id) in excused {
            let part = if asker == 0 {
                &mut self.client
            } else {
                &mut self.server
            };
            if let Ok(at) = part.find_own(id) {
                part.own[at].flags |= open::EXCUSED;
            }
        }
        reported
    }
}

/// Scans a frame's text again, where its values are not known.
pub(crate) fn body_of<'a>(
    scanner: &'a mut Scanner,
    text: &'a [u8],
    message: &Message,
) -> Option<Value<'a>> {
    if matches!(message.kind, Kind::Malformed | Kind::Batch) {
        return None;
    }
    scanner.reset();
    scanner.value(text, white(text, 0)).ok()?;
    scanner.body(text)
}

fn outside(ledger: &mut Ledger, party: PartyId, link: LinkId) -> Cx<'_> {
    Cx {
        ledger,
        party,
        link,
        frame: 0,
        stream: 0,
        text: None,
        body: None,
        base: 0,
        era: Era::Session,
        is_stateless: false,
        has_session: false,
        slips: &[],
        now_ms: 0,
        refused: false,
    }
}
