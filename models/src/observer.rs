//! The judge of a recorded session: what can be said from where the observer stood.

use mcpsim_traces::classify::classify;
use mcpsim_traces::event::{FrameNo, LinkId, LinkKind, PartyId, Role, Stream};
use mcpsim_traces::http::Http;
use mcpsim_traces::judge::{Blame, Ending, Finding, Severity, Vantage, Verdict};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Condition, Kind, Message, Method, Revision};
use mcpsim_traces::scan::{Scanner, white};
use mcpsim_traces::tape::Value;

use crate::era::{Awaits, Era, Light, is_newer_answer};
use crate::foreign::{ForeignVersion, Versions};
use crate::hangs::{self, End, Open, Reason, Report, Silence, Stuck};
use crate::http::{Exchanges, Fate, Scene};
use crate::ledger::{Cx, Ledger, Outcome, Summary, bit, payload_of};
use crate::monitor::counted;
use crate::overdue::Overdue;
use crate::part::{Mode, Own, Part, Tokens, flag, open, waits_for_people};
use crate::rules::correlation::REQUEST_UNANSWERED;
use crate::rules::ids::name;
use crate::rules::lifecycle::{
    INITIALIZE_FIRST, INITIALIZED_MISSING, PEER_DIED, SERVER_SPEAKS_BEFORE_INITIALIZE,
};
use crate::rules::transport_stdio::{STDIO_SERVER_EXITS_ON_EOF, STDIO_TRUNCATED_AT_EXIT};
use crate::rules::{Category, Rule, When, rules};
use crate::unread::Unread;

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

    /// A recording from there, judged as usual: client is party 0, server party 1, on link 0. One of the
    /// world is taken to begin with the session.
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

/// A request without an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenRequest {
    /// Who asked; the other side owes the answer.
    pub by: Role,
    /// Its method and id.
    pub request: String,
    /// Its frame.
    pub frame: FrameNo,
    /// How long it has waited, in milliseconds of the log's own time, since it was asked or progress of it came; `None` where the
    /// log has no times.
    pub waited_ms: Option<u32>,
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
    /// Where the text begins in the frame as it is numbered: not at its beginning, where a frame holds several lines.
    pub base: u32,
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
    /// Its number among the frames, where it has one: what HTTP tells beside frames is counted with them.
    pub frame: FrameNo,
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
    /// The side decided to close the exchange, and has not yet.
    CloseQueued,
    /// The side takes down what it serves, and goes on.
    Teardown,
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
    /// With a request that needs no session, where nobody says that nothing was before it.
    Late,
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
    /// Frames of that side were seen.
    has_spoken: [bool; 2],
    /// A hang was reported, and the side has answered nothing since.
    is_hung: [bool; 2],
    /// The server was waited for, and nothing more came.
    is_stalled: bool,
    /// A side was waited for in vain since the last frame.
    is_resting: bool,
    finished: bool,
    scanner: Scanner,
    /// Only on http.
    exchanges: Exchanges,
    /// Only on a pipe: what each side wrote without a line end.
    tails: [Option<Tail>; 2],
    /// When the client closed the server's stdin; 0 where it has not, or no time is kept.
    input_ended: u32,
    outlived: bool,
    versions: Versions,
    /// Requests that the patience ran out on.
    overdue: Overdue,
}

/// The last line of a side, of which no end was seen.
#[derive(Clone, Debug)]
struct Tail {
    frame: FrameNo,
    base: u32,
    /// Its bytes, where they are a whole message.
    text: Option<Vec<u8>>,
    /// The side's output has ended with it, and its program with that status.
    is_last: bool,
    status: Option<i32>,
}

/// A longer line without an end is not kept.
const TAIL_MAX: usize = 1 << 20;

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
            if options.whole {
                part.set(flag::WHOLE);
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
            has_spoken: [false; 2],
            is_hung: [false; 2],
            is_stalled: false,
            is_resting: false,
            finished: false,
            scanner: Scanner::recording(),
            exchanges: Exchanges::default(),
            tails: [None, None],
            input_ended: 0,
            outlived: false,
            versions: Versions::default(),
            overdue: Overdue::default(),
            options,
        }
    }

    /// An observer of a session that begins beside this one, between the same programs: it has seen nothing, and knows
    /// which session ids the server has given away.
    pub fn beside(&self) -> Observer {
        Observer {
            exchanges: self.exchanges.beside(),
            ..Observer::new(self.options)
        }
    }

    /// From here on it sees a part of the traffic only: what it does not know may have been elsewhere.
    pub fn see_part(&mut self) {
        for part in [&mut self.client, &mut self.server] {
            part.set(flag::JOINED);
        }
        self.start = Start::Joined {
            first: 0,
            from: Role::Client,
            name: "",
        };
    }

    /// Whether an initialize over HTTP that names no session can be this session's.
    pub fn takes_initialize(&self) -> bool {
        self.exchanges.takes_initialize(&self.client, &self.server)
    }

    /// Whether the client's request takes an id or a progress token that one of its open requests has: another client may
    /// have sent it.
    pub fn is_taken(&self, request: &Message) -> bool {
        let has_token = |tokens: &Tokens| tokens.inn.ids(request.token).next().is_some();
        self.server.find_in(request.id).is_ok()
            || request.token.is_present() && self.server.tokens.as_deref().is_some_and(has_token)
    }

    /// The next frame of the recording, in its order.
    pub fn frame(&mut self, seen: &Seen<'_>) {
        self.frames += 1;
        self.clock(seen.at_ms);
        if !seen.ended {
            self.ignored += 1;
            self.keep_tail(seen);
            return;
        }
        self.tails[seen.from as usize] = None;
        if self.input_ended != 0 && seen.from == Role::Server {
            self.judge_outlived();
        }
        if self.start != Start::Whole {
            self.judge_start(seen);
        }
        if self.start == Start::Late && seen.message.kind == Kind::Result {
            self.look_back(seen);
        }
        let from = seen.from as usize;
        self.ended[from] = false;
        self.has_spoken[from] = true;
        self.is_resting = false;
        self.is_stalled &= seen.from == Role::Client;
        if seen.message.kind.is_response() {
            self.is_hung[from] = false;
        }
        if !self.overdue.is_empty() {
            self.answered_late(seen);
        }
        let status = seen.http.and_then(Http::status);
        let mut refused = status.is_some_and(|status| status >= 400);
        let body = seen
            .body
            .or_else(|| body_of(&mut self.scanner, seen.text?, seen.message));
        let mut slips: &[&str] = &[];
        if self.options.transport == LinkKind::Http {
            let mut scene = Scene {
                ledger: &mut self.ledger,
                client: &mut self.client,
                server: &mut self.server,
                options: &self.options,
                now_ms: self.now_ms,
            };
            match self.exchanges.see(&mut scene, seen, body) {
                Fate::Frame => {}
                Fate::But(rules) => slips = rules,
                Fate::Refusal => refused = true,
                Fate::Nothing => {
                    self.ignored += 1;
                    return;
                }
            }
        }
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
            payload: payload_of(body, seen.message.kind),
            base: seen.base,
            era: Era::Session,
            is_stateless: false,
            awaits: Awaits::Proof,
            slips,
            now_ms: self.now_ms,
            refused,
            is_agreed: seen.message.kind == Kind::Batch && self.exchanges.is_agreed(seen.stream),
            is_misshapen: None,
        };
        by.by(&mut cx, seen.message);
        self.versions.is_modern |= cx.era == Era::Stateless;
        let is_foreign = cx.era == Era::Foreign || by.is_strange(&cx);
        cx.party = match seen.from {
            Role::Client => self.options.server,
            Role::Server => self.options.client,
        };
        toward.toward(&mut cx, seen.message);
        if is_foreign {
            self.versions.foreign(seen, body);
        }
        self.versions
            .agreed(self.server.revision.or(self.client.revision));
        if refused {
            self.settle_exchange(seen);
        }
        self.on_http(|exchanges, scene| exchanges.after(scene));
    }

    /// What is to be done with exchanges, where there are any.
    fn on_http(&mut self, work: impl FnOnce(&mut Exchanges, &mut Scene<'_>)) {
        if self.options.transport == LinkKind::Http {
            let mut scene = Scene {
                ledger: &mut self.ledger,
                client: &mut self.client,
                server: &mut self.server,
                options: &self.options,
                now_ms: self.now_ms,
            };
            work(&mut self.exchanges, &mut scene);
        }
    }

    /// Until then nothing more has come, by the recording's clock: patience may run out.
    pub fn wait_until(&mut self, at_ms: u64) {
        self.clock(Some(at_ms));
    }

    /// Something that is no frame, in its place among them.
    pub fn event(&mut self, event: &LogEvent<'_>) {
        self.clock(event.at_ms);
        let by = event.by as usize;
        let mut is_of_exchange = false;
        self.on_http(|exchanges, scene| is_of_exchange = exchanges.event(scene, event));
        if event.what == LogWhat::Eof && event.stream.is_some() {
            self.exchange_closed(event);
        }
        if is_of_exchange {
            return;
        }
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
            LogWhat::CloseQueued => return self.give_up(event),
            LogWhat::Teardown => {
                if event.by == Role::Server {
                    self.server.tear_down(event.stream);
                }
                return;
            }
            LogWhat::Eof | LogWhat::Exit { .. } => {
                if self.closed_first.is_none()
                    && event
                        .stream
                        .is_none_or(|_| matches!(event.what, LogWhat::Exit { .. }))
                {
                    self.closed_first = Some(event.by);
                }
            }
            LogWhat::Stall => {
                self.is_resting |= event.stream.is_none();
                self.is_stalled |=
                    event.by == Role::Server && event.stream.is_none() && !self.stderr_full[by];
            }
        }
        self.end_runs(event.by);
        if !matches!(event.what, LogWhat::Stall) {
            self.end_tail(event);
        }
        if event.by == Role::Client && event.what != LogWhat::Stall && event.stream.is_none() {
            let mut cx = outside(&mut self.ledger, self.options.client, self.options.link);
            self.client.judge_given_up(&mut cx);
        }
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
        if event.stream.is_none() && self.options.transport == LinkKind::Pipe {
            self.judge_input_end(event);
        }
        if !matches!(event.what, LogWhat::Stall) {
            self.ended[by] = true;
        }
    }

    // Ends of a pipe.

    /// A line whose end was not seen: it may be the last one.
    #[cold]
    fn keep_tail(&mut self, seen: &Seen<'_>) {
        if self.options.transport != LinkKind::Pipe || seen.message.has(Condition::Blank) {
            return;
        }
        let is_whole = seen.message.kind != Kind::Malformed;
        let text = seen.text.filter(|text| is_whole && text.len() <= TAIL_MAX);
        self.tails[seen.from as usize] = Some(Tail {
            frame: seen.frame,
            base: seen.base,
            text: text.map(<[u8]>::to_vec),
            is_last: false,
            status: None,
        });
    }

    /// The side's output has ended. What it wrote last counts, where it is whole.
    fn end_tail(&mut self, event: &LogEvent<'_>) {
        let Some(mut tail) = self.tails[event.by as usize].take() else {
            return;
        };
        if let LogWhat::Exit { status } = event.what {
            tail.status = status;
        }
        if !std::mem::replace(&mut tail.is_last, true) {
            match &tail.text {
                Some(text) => self.frame(&Seen {
                    frame: tail.frame,
                    from: event.by,
                    message: &classify(text, &mut Scanner::new()).message,
                    text: Some(text),
                    body: None,
                    base: tail.base,
                    at_ms: None,
                    stream: 0,
                    ended: true,
                    http: None,
                }),
                // It may have been the answer to anything.
                None => self.part_mut(event.by).maybe_answered_all(),
            }
        }
        self.tails[event.by as usize] = Some(tail);
    }

    /// At the end of the log: outputs that ended in the middle of a line.
    fn judge_tails(&mut self) {
        for by in [Role::Client, Role::Server] {
            let Some(tail) = self.tails[by as usize].take().filter(|tail| tail.is_last) else {
                continue;
            };
            let text = match (&tail.text, tail.status) {
                (Some(_), _) => {
                    "the last message has no line feed at its end; one ends every message"
                        .to_string()
                }
                (None, Some(status)) => format!(
                    "the output ends in the middle of a line; the program ended with status {status}"
                ),
                (None, None) => "the output ends in the middle of a line".to_string(),
            };
            self.report_on(by, tail.frame, &STDIO_TRUNCATED_AT_EXIT, text);
        }
    }

    /// The client has closed the server's input: the server ends.
    fn judge_input_end(&mut self, event: &LogEvent<'_>) {
        match (event.by, event.what) {
            (Role::Client, LogWhat::Eof) => {
                self.ledger.saw(bit(When::INPUT_END));
                self.input_ended = self.now_ms.max(1);
            }
            (Role::Server, LogWhat::Stall)
                if self.closed_first == Some(Role::Client)
                    && self.input_ended != 0
                    && !self.is_hung[Role::Server as usize] =>
            {
                self.report_outlived();
            }
            (Role::Server, LogWhat::Exit { .. }) => self.judge_outlived(),
            _ => {}
        }
    }

    /// The server is still there: whether it has been for too long.
    #[cold]
    fn judge_outlived(&mut self) {
        let patience = self.options.patience_ms;
        let since = u64::from(self.now_ms.saturating_sub(self.input_ended));
        if self.input_ended != 0 && patience != 0 && since > patience {
            self.report_outlived();
        }
    }

    fn report_outlived(&mut self) {
        if std::mem::replace(&mut self.outlived, true) {
            return;
        }
        let text = "the server goes on after its stdin was closed; it ends with it".to_string();
        self.report_on(Role::Server, 0, &STDIO_SERVER_EXITS_ON_EOF, text);
    }

    fn part_mut(&mut self, role: Role) -> &mut Part {
        match role {
            Role::Client => &mut self.client,
            Role::Server => &mut self.server,
        }
    }

    /// A certain finding about a side as a whole, by the rules that govern its link.
    #[cold]
    fn report_on(&mut self, by: Role, frame: FrameNo, rule: &'static Rule, text: String) {
        let (part, party) = match by {
            Role::Client => (&mut self.client, self.options.client),
            Role::Server => (&mut self.server, self.options.server),
        };
        let mut cx = outside(&mut self.ledger, party, self.options.link);
        cx.frame = frame;
        cx.set_era(part.era_of_rest());
        part.broken(&mut cx, rule, &[frame], text);
        if !cx.ledger.held.is_empty() {
            part.keep_held(cx.ledger);
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
        self.judge_tails();
        self.judge_timeouts(Role::Client, Verdict::Broken);
        self.judge_timeouts(Role::Server, Verdict::Broken);
        self.judge_left_over(ending);
        let is_over = ending == Ending::Quiet || self.ended[Role::Client as usize];
        self.on_http(|exchanges, scene| exchanges.finish(scene, is_over));
        self.judge_subscriptions(ending);
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
        match self.ledger.outcome(rule) {
            Outcome::Kept if !self.governs(rule) => Outcome::Idle,
            outcome => outcome,
        }
    }

    /// Whether the rule has a say here: nothing about pipes is kept where there is none, and nothing of revisions that
    /// nobody went by.
    fn governs(&self, rule: &Rule) -> bool {
        let is_http = self.options.transport == LinkKind::Http;
        if is_http && rule.category == Category::TransportStdio {
            return false;
        }
        let revisions = self.revisions();
        let is_written = |revision: &Revision| (rule.from..=rule.until).contains(revision);
        revisions.is_empty()
            || !self.foreign_versions().is_empty()
            || revisions.iter().any(is_written)
    }

    /// How many rules had which outcome so far.
    pub fn summary(&self) -> Summary {
        Summary::of(rules().iter().map(|rule| self.outcome(rule)))
    }

    /// Frames that could not be looked into: rules about what they carry are unsure.
    pub fn unread(&self) -> &Unread {
        &self.ledger.unread
    }

    /// The revisions that governed something: given, agreed on, or named by frames that speak for themselves.
    pub fn revisions(&self) -> Vec<Revision> {
        let mut all = self.versions.agreed.clone();
        all.extend(self.revision());
        all.extend(self.versions.is_modern.then_some(Revision::V2026_07_28));
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The versions that frames go by and that are not known here, in the order in which they came.
    pub fn foreign_versions(&self) -> &[ForeignVersion] {
        &self.versions.foreign
    }

    /// The revision of the session: given, or agreed on in the traffic; 2026-07-28 where frames speak
    /// for themselves and no handshake was seen.
    pub fn revision(&self) -> Option<Revision> {
        let is_stateless = self.versions.is_modern && !self.server.handshake_begun();
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

    /// Requests that have no answer and still want one, by whom they were asked, the oldest first.
    pub fn open_requests(&self) -> Vec<OpenRequest> {
        let sides = [(&self.client, Role::Client), (&self.server, Role::Server)];
        let open = |(part, by): (&Part, Role)| {
            let owed = part.own.iter().filter(|own| hangs::is_unanswered(own));
            let list = owed.map(|own| OpenRequest {
                by,
                request: hangs::request(own),
                frame: own.frame,
                waited_ms: match part.since(own) {
                    0 => None,
                    since => Some(self.now_ms.saturating_sub(since)),
                },
            });
            list.collect::<Vec<_>>()
        };
        let mut all: Vec<OpenRequest> = sides.into_iter().flat_map(open).collect();
        all.sort_by_key(|one| one.frame);
        all
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
            let settled = open::EXCUSED | open::CANCELLED | open::LONG | open::CUT;
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

    /// What was reported as missing may come after all.
    #[cold]
    fn answered_late(&mut self, seen: &Seen<'_>) {
        let (ledger, now_ms) = (&mut self.ledger, self.now_ms);
        let mut answer = |message: &Message| {
            if message.kind.is_response() {
                let which = (seen.from, message.id);
                self.overdue.answered(ledger, which, seen.frame, now_ms);
            } else if message.method == Method::Cancelled {
                let which = (seen.from, message.token);
                self.overdue.cancelled(ledger, which, now_ms);
            }
        };
        match (seen.message.kind, seen.text) {
            (Kind::Batch, Some(text)) => Part::members(text, |_, member| answer(member)),
            _ => answer(seen.message),
        }
    }

    // Beginning.

    #[cold]
    fn judge_start(&mut self, seen: &Seen<'_>) {
        let message = seen.message;
        let is_stateless = speaks_for_itself(message);
        let opens = match message.kind {
            Kind::Request => message.method == Method::Initialize || is_stateless,
            Kind::Batch => seen.text.is_none_or(|text| {
                holds(text, |one| begins_session(one) || speaks_for_itself(one))
            }),
            _ => false,
        };
        if seen.from == Role::Client && opens {
            // A request that speaks for itself may stand in the middle too.
            return match self.start {
                Start::Joined { .. } | Start::Late
                    if is_stateless && message.kind == Kind::Request => {}
                _ => self.begin(seen),
            };
        }
        if self.start != Start::Open || message.kind == Kind::Malformed {
            return;
        }
        let may_begin = match (seen.from, message.kind) {
            (_, Kind::Request) => message.method == Method::Ping,
            (_, Kind::Batch) => false,
            (Role::Client, Kind::Notification) => self.client.mode == Mode::Loose,
            (Role::Server, Kind::Notification) => message.method == Method::LogMessage,
            (Role::Server, _) => self.client.find_own(message.id).is_ok() || !message.id.is_legal(),
            (Role::Client, _) => self.server.find_own(message.id).is_ok() || !message.id.is_legal(),
        };
        if !may_begin {
            let name = match message.kind.is_response() {
                true => "",
                false => name(message),
            };
            self.join(seen.frame, seen.from, name);
        }
    }

    /// Two that get on with each other without a sign of 2026-07-28 have agreed on a session before.
    fn look_back(&mut self, seen: &Seen<'_>) {
        let by = match seen.from {
            Role::Client => &self.client,
            Role::Server => &self.server,
        };
        if !by.owes_of_either_era(seen.message.id) {
            return;
        }
        let body = match (seen.body, seen.text) {
            (None, Some(text)) => body_of(&mut self.scanner, text, seen.message),
            (body, _) => body,
        };
        if body.is_some() && !is_newer_answer(body, seen.message) {
            self.join(seen.frame, seen.from, "");
        }
    }

    /// The recording begins in the middle of a session: this frame shows it.
    fn join(&mut self, first: FrameNo, from: Role, name: &'static str) {
        self.start = Start::Joined { first, from, name };
        for part in [&mut self.client, &mut self.server] {
            part.set(flag::JOINED);
            part.settle_era(&mut self.ledger, Light::Handshake);
        }
    }

    /// The session begins here: what came before it is judged as such.
    fn begin(&mut self, seen: &Seen<'_>) {
        let method = seen.message.method;
        let is_handshake = method == Method::Initialize;
        // A batch is read on its own; a probe comes first by its nature.
        let is_late = !is_handshake
            && method != Method::ServerDiscover
            && !(seen.message.kind == Kind::Batch
                && seen.text.is_none_or(|text| holds(text, begins_session)));
        let next = if is_late { Start::Late } else { Start::Whole };
        let start = std::mem::replace(&mut self.start, next);
        for part in [&mut self.client, &mut self.server] {
            part.begin();
            if is_late {
                part.set(flag::LATE);
            }
            if !is_handshake && method != Method::ServerDiscover {
                part.rare().first_id = seen.message.id;
            }
        }
        let Start::Joined { first, from, name } = start else {
            return;
        };
        // A session over HTTP that has an id goes on beside the new one.
        let has_session = self.exchanges.carried_session();
        if !is_handshake || name.is_empty() || has_session {
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
        let mut cx = outside(&mut self.ledger, party, self.options.link);
        cx.frame = first;
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
        for id in self.asked_on(Some(seen.stream)) {
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

    fn judge_left_over(&mut self, ending: Ending) {
        let is_quiet = ending == Ending::Quiet;
        let is_over = is_quiet || self.closed_first == Some(Role::Client);
        for (part, party) in [
            (&mut self.client, self.options.client),
            (&mut self.server, self.options.server),
        ] {
            let mut cx = outside(&mut self.ledger, party, self.options.link);
            part.judge_early_cancels(&mut cx);
            part.judge_early_completions(&mut cx);
            part.settle_batch_init(&mut cx);
            part.deep_end(&mut cx, is_over, is_quiet);
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
        let frames = self.client.operated_frames();
        if is_seen {
            self.client
                .broken(&mut cx, &INITIALIZED_MISSING, &frames, text);
        } else {
            self.client
                .unsure(&mut cx, &INITIALIZED_MISSING, &frames, text);
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
        const NOT_OWED: u16 = open::CANCELLED
            | open::EXCUSED
            | open::LONG
            | open::BAD
            | open::MISANSWERED
            | open::CUT;
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
        if self.start != Start::Whole && !self.has_spoken[by.other() as usize] {
            // The other side may have closed before the recording began.
            return;
        }
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
                "the {} ended by itself with {} open that it had to answer",
                by.as_str(),
                counted(count, "request")
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

    /// A side ends the stream of an exchange. What the server ends without a word, it should have
    /// announced; what the client closes is cancelled.
    fn exchange_closed(&mut self, event: &LogEvent) {
        if self.options.transport != LinkKind::Http {
            return;
        }
        if event.by == Role::Server {
            return self.server.tear_down(event.stream);
        }
        for id in self.asked_on(event.stream) {
            if let Ok(at) = self.client.find_own(id)
                && self.client.own[at].flags & open::STATELESS != 0
            {
                self.client.own[at].flags |= open::CANCELLED;
                self.server.drop_subscription(id);
            }
        }
    }

    /// The client means to close an exchange.
    fn give_up(&mut self, event: &LogEvent) {
        if event.by != Role::Client {
            return;
        }
        for id in self.asked_on(event.stream) {
            if let Ok(at) = self.client.find_own(id) {
                self.client.own[at].flags |= open::TIMED_OUT;
            }
        }
    }

    /// The open requests of that exchange.
    fn asked_on(&self, stream: Option<Stream>) -> Vec<Key> {
        let asked = self.server.inn.iter();
        let asked = asked.filter(|request| Some(request.stream) == stream);
        asked.map(|request| request.id).collect()
    }

    /// The recording is over: what the server should have said of subscriptions.
    fn judge_subscriptions(&mut self, ending: Ending) {
        let mut cx = outside(&mut self.ledger, self.options.server, self.options.link);
        cx.now_ms = self.now_ms;
        let is_silent = self.is_stalled || self.ended[Role::Server as usize];
        let is_at_rest = is_silent || self.is_resting || ending == Ending::Quiet;
        self.server.judge_teardown(&mut cx, is_at_rest);
        let patience = u32::try_from(self.options.patience_ms).unwrap_or(u32::MAX);
        let seen = match (ending, self.closed_first) {
            (Ending::Quiet, None) => Some(0),
            // Whoever is left has nobody to acknowledge anything to.
            (_, Some(Role::Client)) => None,
            _ if is_silent => Some(0),
            _ if patience != 0 => Some(patience),
            _ => None,
        };
        if self.closed_first != Some(Role::Client) {
            self.server.judge_acknowledged(&mut cx, seen);
        }
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
            let role = ends[debtor].role;
            if let Some(finding) = hangs::finding(&ends, &group, report) {
                let own = group.iter().map(|stuck| stuck.open.own);
                let requests: Vec<_> = own.map(|own| (own.id, own.since)).collect();
                findings.push((finding, role, requests));
            }
            self.is_hung[role as usize] |= is_sure;
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
        for (finding, debtor, requests) in findings {
            let rule = finding.rule;
            let nth = self.ledger.filed(finding);
            if matches!(report.silence, Silence::Within(_)) {
                self.overdue
                    .put(&self.ledger, (rule, nth), debtor, requests.into_iter());
            }
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

pub(crate) fn outside(ledger: &mut Ledger, party: PartyId, link: LinkId) -> Cx<'_> {
    Cx {
        ledger,
        party,
        link,
        frame: 0,
        stream: 0,
        text: None,
        body: None,
        payload: None,
        base: 0,
        era: Era::Session,
        is_stateless: false,
        awaits: Awaits::Proof,
        slips: &[],
        now_ms: 0,
        refused: false,
        is_agreed: false,
        is_misshapen: None,
    }
}

/// Whether the request begins a session.
fn begins_session(message: &Message) -> bool {
    message.kind == Kind::Request && message.method == Method::Initialize
}

/// Whether the request needs no session, by what it says of itself.
fn speaks_for_itself(message: &Message) -> bool {
    message.has(Condition::MetaVersion)
        || matches!(
            message.method,
            Method::ServerDiscover | Method::SubscriptionsListen
        )
}

/// Whether the array holds such a message.
fn holds(text: &[u8], is_one: fn(&Message) -> bool) -> bool {
    let mut found = false;
    Part::members(text, |_, member| found |= is_one(member));
    found
}
