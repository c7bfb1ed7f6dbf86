//! The judge of a recorded session: what can be said from where the observer stood.

use mcpsim_traces::event::{FrameNo, LinkId, LinkKind, PartyId, Role, Stream};
use mcpsim_traces::http::Http;
use mcpsim_traces::judge::{Ending, Finding, Severity, Vantage, Verdict};
use mcpsim_traces::message::{Kind, Message, Revision};
use mcpsim_traces::scan::{Scanner, white};
use mcpsim_traces::tape::Value;

use crate::era::{Awaits, Era};
use crate::foreign::{ForeignVersion, Versions};
use crate::hangs::{self, Report, Silence};
use crate::http::{Exchanges, Fate, Scene};
use crate::ledger::{Cx, Ledger, Outcome, Summary, payload_of};
use crate::overdue::Overdue;
use crate::part::{Mode, Part, Tokens, flag};
use crate::rules::correlation::REQUEST_UNANSWERED;
use crate::rules::{Category, Rule, rules};
use crate::unread::Unread;

mod ends;
mod patience;
mod start;

use start::Start;

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
    /// How long it has waited, in milliseconds of the log's own time, from when it was asked to the last time that the log knows;
    /// `None` where it has none.
    pub waited_ms: Option<u64>,
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
    now_ms: u64,
    /// No patience runs out before.
    check_ms: u64,
    closed_first: Option<Role>,
    ended: [bool; 2],
    /// Whose output is closed, while nothing has told how its process ended.
    is_race_open: [bool; 2],
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
    input_ended: u64,
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
            if mode == Mode::Exact && options.vantage != Vantage::World {
                part.set(flag::AT_DOOR);
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
            is_race_open: [false; 2],
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

    /// An observer of a session that begins beside this one at the transport of 2024-11-05: that stream of events was taken for
    /// this session's, and is its.
    pub fn beside_on(&mut self, stream: Stream) -> Observer {
        let mut beside = self.beside();
        self.exchanges.hand_over(stream, &mut beside.exchanges);
        beside
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

    /// Whether a handshake has begun.
    pub fn has_begun(&self) -> bool {
        self.client.handshake_begun()
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
            is_unasked: seen.from == Role::Server && self.exchanges.is_anothers(seen),
            is_astray: seen.from == Role::Server && self.exchanges.may_be_anothers(seen.stream),
            is_replayed: seen.from == Role::Server && self.exchanges.is_resumed(seen.stream),
            is_newer_head: seen.from == Role::Client && self.exchanges.is_newer(seen.stream),
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
        if !is_orderly && event.what != LogWhat::Stall {
            self.see_race(event.by, event.what);
        }
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
        self.judge_open_races();
        let is_over = ending == Ending::Quiet || self.ended[Role::Client as usize];
        self.on_http(|exchanges, scene| exchanges.finish(scene, is_over));
        self.judge_subscriptions(ending);
        self.judge_missing_initialized(ending);
        self.judge_cut();
        let (verdict, severity, because) = match (ending, self.closed_first) {
            (Ending::Quiet, _) => (Verdict::Broken, REQUEST_UNANSWERED.severity, ""),
            (_, Some(Role::Client)) => (
                Verdict::Unsure,
                Severity::Note,
                "the client closed the session with it open",
            ),
            _ if self.exchanges.is_deleted() => (
                Verdict::Unsure,
                Severity::Note,
                "the client deleted the session with it open",
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
                waited_ms: match own.asked {
                    0 => None,
                    asked => Some(self.now_ms.saturating_sub(asked)),
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
        is_unasked: false,
        is_astray: false,
        is_replayed: false,
        is_newer_head: false,
        is_misshapen: None,
    }
}
