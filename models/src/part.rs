//! What the judge knows of one party on one link: what it sent, and what it had received, may have
//! received, or must have received.

use std::collections::{BTreeMap, BTreeSet};

use mcpsim_traces::classify::{batch_members, classify, key_of};
use mcpsim_traces::encode::Encoder;
use mcpsim_traces::event::{FrameNo, LinkKind, Role, Stream};
use mcpsim_traces::judge::{Blame, Severity, Verdict};
use mcpsim_traces::key::{Key, KeyType};
use mcpsim_traces::message::{
    Capabilities, Condition, Conditions, Kind, Message, Method, Revision, Shape, Version,
};
use mcpsim_traces::scan::{Scanner, unescape, white};
use mcpsim_traces::tape::Value;

use crate::deep::Deep;
use crate::era::{Era, Held, Light, encode_held, is_of_any_session};
use crate::idset::{IdSet, Latest, Used};
use crate::ledger::{Case, Cx, Member, Seen, bit, stateless_bits};
use crate::opens::{Keyed, Opens};
use crate::rules::ids::{Taken, shown_ids};
use crate::rules::transport_stdio::Run;
use crate::rules::{Rule, When};

/// How exactly the party's knowledge is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// `by` and `toward` come in the party's own order.
    Exact,
    /// Seen from elsewhere over a pipe: the party had received a prefix of what was sent to it.
    Fifo,
    /// Seen from elsewhere over http: no order at all.
    Loose,
}

/// A frame toward the party that matters later, as a moment: 0 for "there was none", 1 where the
/// knowledge is exact, the frame's number among those toward the party on a pipe, 1 (may be known) or
/// 2 (must be known) on http.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Fact(pub(crate) u32);

impl Fact {
    pub(crate) const NONE: Fact = Fact(0);

    #[inline]
    pub(crate) fn is_some(self) -> bool {
        self.0 != 0
    }
}

/// Whether the party had received the frame in question.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Knows {
    /// It cannot have.
    No,
    /// It may have.
    May,
    /// It must have.
    Must,
}

macro_rules! flags {
    ($($name:ident = $bit:literal, $doc:literal;)+) => {
        $(#[doc = $doc] pub(crate) const $name: u32 = 1 << $bit;)+
    };
}

/// Bits of a part.
pub(crate) mod flag {
    flags! {
        INIT_SENT = 0, "The client sent initialize.";
        ANSWERED_INIT = 1, "The server answered initialize with a result.";
        INITIALIZED_SENT = 2, "The client sent notifications/initialized.";
        JOINED = 3, "The recording begins in the middle of the session.";
        STATELESS = 4, "Stateless requests were seen in either direction.";
        SPOKE = 5, "The client's first message was seen.";
        LAST_IN_CANCEL = 6, "The last frame toward the party was a cancel.";
        NOTIFIED = 7, "Some notification went to the party.";
        CLOSED = 8, "The link is closed, and the party knows.";
        EXITED = 9, "The party's program ended by itself.";
        CRASHED = 10, "A fault of the world took the party.";
        CRLF = 11, "A CR LF of the party was reported.";
        HEADER = 12, "The party wrote a Content-Length header.";
        FORCED = 13, "The revision was given, not negotiated.";
        OPERATED = 14, "The client sent an operation request after the answer to initialize.";
        GARBLED_IN = 15, "Something that may have been a message went to the party and could not be read.";
        EVICTED = 16, "Something that may still matter had to be forgotten.";
        PEER_CLOSED = 17, "The other end closed the link, or it was cut.";
        INIT_REFUSED = 18, "The server answered initialize with an error.";
        DEPRIVED = 19, "The world took a notification on its way to the party.";
        LAST_IN_RACE = 21, "The last frame toward the party came too late: it crossed another one.";
        NOTIFIED_IN_BATCH = 23, "An array of nothing but notifications went to the party.";
        WHOLE = 24, "The recording is known to begin with the session, or to be of a whole world.";
        STRANGE = 25, "The handshake agreed on a version that is not known here.";
        DEPRIVED_FORBIDDEN = 20, "... although the link's kind forbids that.";
        MODERN = 22, "The server has shown that it knows 2026-07-28.";
        UNTOLD_MINE = 27, "The party's handshake has no capabilities to be read.";
        UNTOLD_THEIRS = 28, "... nor has the other side's.";
        ODD_TOKEN = 29, "A request toward the party has a progress token that can be none.";
        LATE = 26, "The recording begins with a request of 2026-07-28, and a session may have begun before it.";
    }
}

/// Bits of an open request, in either direction.
pub(crate) mod open {
    /// Its sender withdrew it.
    pub(crate) const CANCELLED: u16 = 1;
    /// Nothing is owed any more, for a reason that was reported or accuses nobody.
    pub(crate) const EXCUSED: u16 = 2;
    /// The request itself breaks a rule of form.
    pub(crate) const BAD: u16 = 4;
    /// It stays open as long as its sender likes.
    pub(crate) const LONG: u16 = 8;
    /// A second request with its id came while it was open.
    pub(crate) const REUSED: u16 = 16;
    /// It speaks for itself: no session.
    pub(crate) const STATELESS: u16 = 32;
    /// The world took it or its answer.
    pub(crate) const LOST: u16 = 64;
    /// … although the link's kind forbids that.
    pub(crate) const FORBIDDEN: u16 = 128;
    /// More requests were open toward its sender than the mask holds.
    pub(crate) const MANY: u16 = 256;
    /// A stray answer of the other side may have been meant for it.
    pub(crate) const MAYBE: u16 = 512;
    /// Its answer came under an id that only looks like its own: reported, and its sender still waits.
    pub(crate) const MISANSWERED: u16 = 1024;
    /// Its sender gave up waiting for it.
    pub(crate) const TIMED_OUT: u16 = 2048;
    /// It came before any handshake, and not in the form of 2026-07-28.
    pub(crate) const BARE: u16 = 4096;
    /// It speaks for itself, in a version that is not judged here beyond its form.
    pub(crate) const FOREIGN: u16 = 8192;
    /// It came in a lawful array, of which nothing is answered yet.
    pub(crate) const BATCH: u16 = 16384;
    /// The connection that was to bring its answer broke, and nobody has gone on with it.
    pub(crate) const CUT: u16 = 32768;
}

/// A request that the party sent and that is not settled for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Own {
    pub(crate) id: Key,
    /// Which of the requests open toward the party can have caused it, by their place in `inn`.
    pub(crate) mask: u32,
    pub(crate) value: u32,
    pub(crate) frame: FrameNo,
    /// Since when its sender has heard nothing, in milliseconds of the log.
    pub(crate) since: u32,
    /// Its answer, once one went to the party and may not have arrived yet.
    pub(crate) answer: Fact,
    pub(crate) flags: u16,
    pub(crate) method: Method,
}

/// A request that went to the party and that it has not answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct In {
    pub(crate) id: Key,
    pub(crate) value: u32,
    pub(crate) stream: Stream,
    pub(crate) frame: FrameNo,
    pub(crate) fact: Fact,
    pub(crate) cancel: Fact,
    pub(crate) cancel_frame: FrameNo,
    pub(crate) flags: u16,
    pub(crate) method: Method,
}

impl Own {
    /// Among very many, which request caused it is not followed.
    fn blur(&mut self) {
        if std::mem::take(&mut self.mask) != 0 {
            self.flags |= open::MANY;
        }
    }
}

impl Keyed for Own {
    type By = Key;

    #[inline]
    fn by(&self) -> Key {
        self.id
    }
}

impl Keyed for In {
    type By = Key;

    #[inline]
    fn by(&self) -> Key {
        self.id
    }
}

/// Progress of one request toward the party.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Series {
    pub(crate) token: Key,
    pub(crate) id: Key,
    pub(crate) last: i64,
    pub(crate) begun: bool,
    pub(crate) frame: FrameNo,
}

/// What belongs to a token: of each request there is one at most.
pub(crate) trait Tokened {
    fn token(&self) -> Key;
    fn id(&self) -> Key;
}

impl Tokened for Series {
    #[inline]
    fn token(&self) -> Key {
        self.token
    }

    #[inline]
    fn id(&self) -> Key {
        self.id
    }
}

impl Tokened for (Key, Key) {
    #[inline]
    fn token(&self) -> Key {
        self.0
    }

    #[inline]
    fn id(&self) -> Key {
        self.1
    }
}

/// Sorted by token, then id; and the way back from the id where there are many.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TokenList<T> {
    pub(crate) list: Opens<T>,
    /// Invariant: whole where the list is long, empty where it is short.
    by_id: BTreeMap<Key, Key>,
}

impl<T> Default for TokenList<T> {
    fn default() -> Self {
        TokenList {
            list: Opens::default(),
            by_id: BTreeMap::new(),
        }
    }
}

impl<T: Tokened> TokenList<T> {
    /// A list that is longer has the way back.
    const SHORT_MAX: usize = 64;

    fn place(&self, token: Key, id: Key) -> usize {
        self.list.place(|one| (one.token(), one.id()) < (token, id))
    }

    pub(crate) fn insert(&mut self, one: T) {
        let (token, id) = (one.token(), one.id());
        self.list.insert(self.place(token, id), one);
        if self.list.len() > Self::SHORT_MAX {
            if self.by_id.is_empty() {
                self.by_id = self
                    .list
                    .iter()
                    .map(|one| (one.id(), one.token()))
                    .collect();
            } else {
                self.by_id.insert(id, token);
            }
        }
    }

    /// Takes what belongs to that request out.
    pub(crate) fn remove(&mut self, id: Key) -> Option<T> {
        if self.by_id.is_empty() && !self.list.is_large() {
            let at = self.list.head().iter().position(|one| one.id() == id)?;
            return Some(self.list.remove(at));
        }
        let token = if self.by_id.is_empty() {
            self.list.iter().find(|one| one.id() == id)?.token()
        } else {
            self.by_id.remove(&id)?
        };
        if self.list.len() == Self::SHORT_MAX + 1 {
            self.by_id = BTreeMap::new();
        }
        Some(self.list.remove(self.place(token, id)))
    }

    /// The place of the first with that token.
    pub(crate) fn first(&self, token: Key) -> usize {
        self.list.place(|one| one.token() < token)
    }

    /// The ids of the requests with that token.
    pub(crate) fn ids(&self, token: Key) -> impl Iterator<Item = Key> {
        let from = self.list.iter_from(self.first(token));
        from.take_while(move |one| one.token() == token)
            .map(Tokened::id)
    }
}

/// Everything about progress tokens; most sessions have none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Tokens {
    /// Tokens of open own requests, with the request's id.
    pub(crate) own: TokenList<(Key, Key)>,
    /// Series of requests open toward the party.
    pub(crate) inn: TokenList<Series>,
    /// Tokens that the party ever supplied.
    pub(crate) supplied: IdSet,
    /// Tokens toward the party whose request it has answered.
    pub(crate) done: IdSet,
    /// Tokens that stay legal for reasons that are not followed: tasks, forgotten cancels.
    pub(crate) open_ended: IdSet,
}

/// What most parts never need.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Rare {
    /// Ids whose answers are not judged: of ambiguous, malformed or unsplit requests.
    pub(crate) undecided: IdSet,
    /// Ids in what could not be read: toward the party, and in what it sent. Whether they came to be used
    /// nobody can tell.
    pub(crate) glimpsed: Latest,
    pub(crate) spoilt: Latest,
    /// Own ids spent outside the session.
    pub(crate) outside: IdSet,
    /// Findings that wait until it can be told by which rules their frames are judged.
    pub(crate) held: Vec<Held>,
    /// Ids that notifications toward the party named, and that no request had; and streams whose only
    /// frame was a notification.
    pub(crate) named: Vec<(Key, FrameNo)>,
    pub(crate) one_way: Vec<(Stream, FrameNo)>,
    /// What could not be read: bits of [`crate::rules::stateless::errors::unread`].
    pub(crate) unread_kinds: u8,
    /// The id of the first request of a recording that may begin in the middle, outside any session.
    pub(crate) first_id: Key,
    /// A run of lines that are no messages.
    pub(crate) run: Option<Run>,
    /// Capabilities used by notifications before they were declared, with the first such frame.
    pub(crate) early: Capabilities,
    pub(crate) early_frame: FrameNo,
    /// The batch that held initialize.
    pub(crate) batch_init: Option<FrameNo>,
    /// Server: initialize came in a batch.
    pub(crate) init_in_array: bool,
    /// Cancels that fit nothing yet, where a party's own frames have no order.
    pub(crate) early_cancels: Vec<(Key, FrameNo)>,
    /// Answers toward the party to ids that it had not issued.
    pub(crate) strays: Vec<(Key, FrameNo)>,
    /// The cancel or late answer that crossed another frame and came to the party last, and what it
    /// belongs to.
    pub(crate) race_frames: (FrameNo, FrameNo),
    /// The latest answers that the party sent, for findings that name two frames.
    pub(crate) answers: Vec<(Key, FrameNo)>,
    /// The latest answers that ended a token's series.
    pub(crate) token_answers: Vec<(Key, FrameNo)>,
    /// Answers of the array that is being judged.
    pub(crate) batch_answers: Option<BTreeSet<Key>>,
    /// Own requests whose answer may be unread, in the order of the answers; some may be settled.
    unread: Vec<Key>,
    /// The last notification toward the party.
    pub(crate) notification_frame: FrameNo,
    /// The initialize request.
    pub(crate) init_frame: FrameNo,
    /// Client: the first request of a session that it had not begun with notifications/initialized.
    pub(crate) operated_frame: FrameNo,
}

/// With more answered but perhaps unread requests than this, the oldest is forgotten.
const UNREAD_MAX: usize = 8;
const ANSWERS_MAX: usize = 64;

/// What is known of one party on one link.
///
/// Where the knowledge is exact and frames have no numbers, equal histories of one party (but for the
/// order of what does not matter) give equal parts: there are no counters, and everything is sorted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    pub(crate) role: Role,
    pub(crate) link: LinkKind,
    pub(crate) mode: Mode,
    /// How many units that could not be read went to the party and have had no error yet.
    pub(crate) unreadable: u8,
    pub(crate) revision: Option<Revision>,
    pub(crate) flags: u32,
    /// On a pipe: the party must have received so many of the frames toward it.
    pub(crate) lo: u32,
    /// On a pipe: how many frames went toward it.
    pub(crate) hi: u32,
    /// Server: initialize. Client: the successful answer to it.
    pub(crate) opened: Fact,
    /// Client: an error in answer to initialize.
    pub(crate) refused: Fact,
    /// Server: notifications/initialized.
    pub(crate) initialized: Fact,
    pub(crate) mine: Capabilities,
    pub(crate) theirs: Capabilities,
    pub(crate) init_id: Key,
    /// When a request last came to the party: that shows that the other side is at work.
    pub(crate) heard: u32,
    pub(crate) own: Opens<Own>,
    pub(crate) inn: Opens<In>,
    /// Ids of requests that the party sent.
    pub(crate) issued: IdSet,
    /// Ids of requests that it answered.
    pub(crate) answered: IdSet,
    pub(crate) tokens: Option<Box<Tokens>>,
    pub(crate) rare: Option<Box<Rare>>,
    /// What payloads told; only where frames have their text.
    pub(crate) deep: Option<Box<Deep>>,
}

/// Conditions of frames that break a rule of form: such a frame owes and is owed nothing.
pub(crate) const BAD: Conditions = Conditions::of(&[
    Condition::NotUtf8,
    Condition::VersionTagMissing,
    Condition::VersionTagWrong,
    Condition::DuplicateMember,
    Condition::ParamsNotObject,
    Condition::ResultNotObject,
    Condition::ErrorNotObject,
    Condition::ErrorCodeMissing,
    Condition::ErrorCodeNotInteger,
    Condition::ErrorMessageMissing,
    Condition::ResultAndError,
    Condition::MetaNotObject,
]);

impl Part {
    pub(crate) fn new(role: Role, link: LinkKind, mode: Mode) -> Part {
        Part {
            role,
            link,
            mode,
            unreadable: 0,
            revision: None,
            flags: 0,
            lo: 0,
            hi: 0,
            opened: Fact::NONE,
            refused: Fact::NONE,
            initialized: Fact::NONE,
            mine: Capabilities::NONE,
            theirs: Capabilities::NONE,
            init_id: Key::ABSENT,
            heard: 0,
            own: Opens::default(),
            inn: Opens::default(),
            issued: IdSet::default(),
            answered: IdSet::default(),
            tokens: None,
            rare: None,
            deep: None,
        }
    }

    // What the party knows.

    #[inline]
    pub(crate) fn knows(&self, fact: Fact) -> Knows {
        match self.mode {
            _ if fact.0 == 0 => Knows::No,
            Mode::Exact => Knows::Must,
            Mode::Fifo if fact.0 <= self.lo => Knows::Must,
            Mode::Loose if fact.0 == 2 => Knows::Must,
            Mode::Fifo | Mode::Loose => Knows::May,
        }
    }

    /// The moment of the frame that goes to the party now.
    #[inline]
    fn now(&mut self) -> Fact {
        match self.mode {
            Mode::Exact | Mode::Loose => Fact(1),
            Mode::Fifo => {
                self.hi = self.hi.saturating_add(1);
                Fact(self.hi)
            }
        }
    }

    /// The party's own frame shows that it had received that one, and on a pipe all before it.
    #[inline]
    pub(crate) fn proven(&mut self, fact: Fact) {
        if self.mode == Mode::Fifo && fact.0 > self.lo {
            self.lo = fact.0;
            if self
                .rare
                .as_ref()
                .is_some_and(|rare| !rare.unread.is_empty())
            {
                self.forget_read_answers();
            }
        }
    }

    fn forget_read_answers(&mut self) {
        let mut unread = std::mem::take(&mut self.rare().unread);
        unread.retain(|&id| {
            let Some(at) = self.unread_at(id) else {
                return false;
            };
            let is_unread = self.own[at].answer.0 > self.lo;
            if !is_unread {
                self.drop_own(at);
            }
            is_unread
        });
        self.rare().unread = unread;
    }

    /// The own request with that id, where its answer may be unread.
    fn unread_at(&self, id: Key) -> Option<usize> {
        let at = self.find_own(id).ok()?;
        let own = &self.own[at];
        (own.answer.is_some() && own.flags & open::REUSED == 0).then_some(at)
    }

    /// Since when the party has heard nothing on that request.
    #[inline]
    pub(crate) fn since(&self, own: &Own) -> u32 {
        own.since.max(self.heard)
    }

    #[inline]
    pub(crate) fn is(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    #[inline]
    pub(crate) fn set(&mut self, flag: u32) {
        self.flags |= flag;
    }

    #[inline]
    pub(crate) fn put(&mut self, flag: u32, is_on: bool) {
        self.flags = self.flags & !flag | if is_on { flag } else { 0 };
    }

    #[inline]
    pub(crate) fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_with(Box::default)
    }

    #[inline]
    pub(crate) fn tokens(&mut self) -> &mut Tokens {
        self.tokens.get_or_insert_with(Box::default)
    }

    /// The revision that governs what the party sends, where it certainly knows it.
    #[inline]
    pub(crate) fn governing(&self) -> Option<Revision> {
        match self.role {
            _ if self.is(flag::FORCED) => self.revision,
            Role::Server => self.revision,
            Role::Client if self.knows(self.opened) == Knows::Must => self.revision,
            Role::Client => None,
        }
    }

    pub(crate) fn handshake_begun(&self) -> bool {
        self.is(flag::INIT_SENT) || self.role == Role::Server && self.opened.is_some()
    }

    // Findings.

    #[cold]
    pub(crate) fn broken(
        &self,
        cx: &mut Cx<'_>,
        rule: &'static Rule,
        frames: &[FrameNo],
        message: String,
    ) {
        self.case(cx, rule, Verdict::Broken, None, frames, None, message);
    }

    /// As [`Part::broken`], for this frame, with the offending value.
    #[cold]
    pub(crate) fn broken_value(
        &self,
        cx: &mut Cx<'_>,
        rule: &'static Rule,
        value: Value<'_>,
        message: String,
    ) {
        let frames = [cx.frame];
        self.case(
            cx,
            rule,
            Verdict::Broken,
            None,
            &frames,
            Some(value),
            message,
        );
    }

    /// As [`Part::broken_value`], with the frames that matter (the offending one last), the verdict and,
    /// where it is not the rule's own, the severity.
    #[cold]
    #[expect(clippy::too_many_arguments)]
    pub(crate) fn case(
        &self,
        cx: &mut Cx<'_>,
        rule: &'static Rule,
        verdict: Verdict,
        severity: Option<Severity>,
        frames: &[FrameNo],
        value: Option<Value<'_>>,
        message: String,
    ) {
        if self.is_strange(cx) && !is_of_any_session(rule) {
            return;
        }
        cx.report(Case {
            rule,
            verdict,
            severity,
            revision: self.revision,
            blame: Blame::from(self.role),
            frames,
            spot: value.map(Value::span),
            knew: self.knowledge(cx, rule, verdict),
            message,
        });
    }

    /// Whether the frame belongs to a session of a version that is not known here.
    #[inline]
    pub(crate) fn is_strange(&self, cx: &Cx<'_>) -> bool {
        self.is(flag::STRANGE) && !cx.is_stateless
    }

    #[cold]
    pub(crate) fn broken_at(
        &self,
        cx: &mut Cx<'_>,
        rule: &'static Rule,
        severity: Severity,
        frames: &[FrameNo],
        message: String,
    ) {
        self.case(
            cx,
            rule,
            Verdict::Broken,
            Some(severity),
            frames,
            None,
            message,
        );
    }

    #[cold]
    pub(crate) fn unsure(
        &self,
        cx: &mut Cx<'_>,
        rule: &'static Rule,
        frames: &[FrameNo],
        message: String,
    ) {
        self.case(cx, rule, Verdict::Unsure, None, frames, None, message);
    }

    // Frames.

    /// The party sent this frame.
    #[inline]
    pub(crate) fn by(&mut self, cx: &mut Cx<'_>, message: &Message) {
        let mut seen = bit(When::FRAME) | bit(When::LINE);
        if self.rare.is_some() {
            cx.set_era(self.era_of_rest());
            self.settle_run_before(cx, message);
        }
        cx.set_era(self.era_of(cx, message, true));
        if cx.era == Era::Unproven {
            cx.awaits = self.awaits(cx, message, true);
        }
        self.mark_era(cx, message, true);
        let is_bad = message.conditions.intersects(BAD);
        if !message.conditions.is_empty() || message.kind == Kind::Error {
            self.form(cx, message);
        }
        if message.method == Method::Unknown {
            self.asks_for_the_end(cx);
        }
        match message.kind {
            Kind::Request => {
                seen |= bit(When::CALL) | bit(When::REQUEST);
                seen |= bit(if self.role == Role::Client {
                    When::CLIENT_CALL
                } else {
                    When::SERVER_CALL
                });
                if message.method == Method::Initialize {
                    seen |= bit(When::INITIALIZE);
                }
                self.request_by(cx, message, is_bad);
                self.deep_by(cx, message);
            }
            Kind::Notification => {
                seen |= bit(When::CALL) | bit(When::NOTIFICATION);
                seen |= bit(if self.role == Role::Client {
                    When::CLIENT_CALL
                } else {
                    When::SERVER_CALL
                });
                seen |= match message.method {
                    Method::Cancelled => bit(When::CANCEL),
                    Method::Progress => bit(When::PROGRESS) | bit(When::TOKEN),
                    Method::Initialized => bit(When::INITIALIZED),
                    _ => Seen::default(),
                };
                self.notification_by(cx, message);
                self.deep_by(cx, message);
            }
            Kind::Result | Kind::Error => {
                self.deep_by(cx, message);
                seen |= bit(When::RESPONSE);
                if message.kind == Kind::Result {
                    seen |= bit(if self.role == Role::Client {
                        When::CLIENT_RESULT
                    } else {
                        When::SERVER_RESULT
                    });
                    if message.shape == Shape::Initialize {
                        seen |= bit(When::INITIALIZE);
                    }
                }
                self.response_by(cx, message, is_bad);
            }
            Kind::Batch => {
                seen |= bit(When::BATCH);
                self.batch_by(cx, message);
            }
            Kind::Malformed => self.malformed_by(cx, message),
        }
        if cx.is_stateless {
            seen |= stateless_bits(message.kind);
        }
        cx.ledger.saw(seen);
        if !cx.ledger.held.is_empty() {
            self.keep_held(cx.ledger);
        }
    }

    /// This frame goes to the party.
    #[inline]
    pub(crate) fn toward(&mut self, cx: &mut Cx<'_>, message: &Message) {
        let fact = self.now();
        cx.set_era(self.era_of(cx, message, false));
        if cx.era == Era::Unproven {
            cx.awaits = self.awaits(cx, message, false);
        }
        self.mark_era(cx, message, false);
        self.flags &= !(flag::LAST_IN_CANCEL | flag::LAST_IN_RACE);
        let is_bad = message.conditions.intersects(BAD);
        let unreadable = self.unreadable;
        match message.kind {
            Kind::Request => {
                self.request_toward(cx, message, fact, is_bad);
                self.deep_toward(cx, message, fact);
            }
            Kind::Notification => {
                self.notification_toward(cx, message, fact);
                self.deep_toward(cx, message, fact);
            }
            Kind::Result | Kind::Error => {
                self.deep_toward(cx, message, fact);
                self.response_toward(cx, message, fact);
            }
            Kind::Batch => self.batch_toward(cx, message),
            Kind::Malformed => {
                self.unread();
                if message.conditions.intersects(Conditions::of(&[
                    Condition::NotJson,
                    Condition::TrailingData,
                ])) {
                    self.set(flag::GARBLED_IN);
                }
                if message.conditions.intersects(Conditions::of(&[
                    Condition::NotJson,
                    Condition::TrailingData,
                    Condition::Noise,
                ])) {
                    // Who reads more of it than is there to be read may answer.
                    shown_ids(cx.text.unwrap_or_default(), |id| {
                        self.rare().glimpsed.insert(id);
                    });
                }
                self.answerable(message.id);
                // A response of no kind, or with a method: no answer, but the sender's last word.
                if let Ok(at) = self.find_own(message.id) {
                    self.own[at].flags |= open::EXCUSED;
                }
            }
        }
        if is_bad {
            self.unread();
            if message.has(Condition::DuplicateMember) && message.kind != Kind::Batch {
                self.doubled(cx, message);
            }
        }
        if self.unreadable != unreadable && self.role == Role::Server {
            self.note_unreadable(message);
        }
        if !cx.ledger.held.is_empty() {
            self.keep_held(cx.ledger);
        }
    }

    /// A member stands twice in the frame: where that is the id, an answer to either is right.
    #[cold]
    fn doubled(&mut self, cx: &Cx<'_>, message: &Message) {
        let Some(text) = cx.text else {
            return self.set(flag::GARBLED_IN);
        };
        for id in all_ids(text) {
            if message.kind == Kind::Request {
                self.answerable(id);
            } else if let Ok(at) = self.find_own(id) {
                self.own[at].flags |= open::EXCUSED;
            }
        }
    }

    /// A unit that the party could not read, or had to refuse: an error without an id may answer it.
    #[inline]
    pub(crate) fn unread(&mut self) {
        self.unreadable = self.unreadable.saturating_add(1);
    }

    /// Answers to that id are not judged.
    pub(crate) fn answerable(&mut self, id: Key) {
        if id.is_present() {
            self.rare().undecided.insert(id);
        }
    }

    /// Whether an answer of that id may be one that nobody judges.
    #[cold]
    pub(crate) fn is_undecided(&self, id: Key) -> bool {
        let Some(rare) = &self.rare else { return false };
        rare.undecided.has(id) != Used::Never || rare.glimpsed.has(id) == Used::Before
    }

    fn request_by(&mut self, cx: &mut Cx<'_>, message: &Message, is_bad: bool) {
        if message.has(Condition::NotificationPrefix) {
            // A notification with an id: one slip, whatever follows from it.
            self.notification_with_id(cx, message);
            if message.id.is_present() {
                self.issued.insert(message.id);
            }
            return;
        }
        let is_stateless = cx.is_stateless;
        if self.role == Role::Server && cx.era != Era::Session {
            self.server_requests(cx, message);
            if is_stateless && !message.id.is_legal() {
                return;
            }
        }
        if !self.legal_id(cx, message) {
            self.set(flag::SPOKE);
            return;
        }
        if is_stateless {
            self.set(flag::STATELESS);
        }
        match self.role {
            Role::Client => {
                if cx.era != Era::Session {
                    self.newer_request(cx, message);
                }
                if !is_stateless {
                    self.client_request(cx, message);
                }
            }
            Role::Server if !is_stateless => self.server_request(cx, message),
            Role::Server => {}
        }
        if !is_stateless {
            self.direction_of_request(cx, message);
        }
        if self.rare.is_some() {
            self.was_answered_early(cx, message.id);
        }
        let taken = self.take_id(cx, message, is_stateless);
        let token_is_bad = self.take_token(cx, message, taken);
        if taken == Taken::Shared {
            return;
        }
        let mut flags = 0;
        // What takes a spent id is not owed what nobody can tell apart.
        if is_bad || token_is_bad || taken == Taken::Again {
            flags |= open::BAD;
        }
        flags |= self.era_flags(cx, message);
        if is_stateless && self.role == Role::Server {
            // Nobody owes an answer to it.
            flags |= open::BAD;
        }
        if self.mode == Mode::Loose && self.rare.is_some() && self.was_cancelled_early(cx, message)
        {
            flags |= open::CANCELLED;
        }
        self.push_own(cx, message, flags);
    }

    /// What the era of a new request means for what is kept of it.
    fn era_flags(&self, cx: &Cx<'_>, message: &Message) -> u16 {
        let mut flags = match cx.era {
            Era::Session => 0,
            Era::Stateless | Era::Unproven => open::STATELESS,
            Era::Foreign => open::STATELESS | open::FOREIGN,
            Era::Bare => open::BARE,
        };
        if self.is_long(message.method, cx.is_stateless) {
            flags |= open::LONG;
        }
        flags
    }

    /// Whether such a request stays open for as long as its sender likes.
    fn is_long(&self, method: Method, is_stateless: bool) -> bool {
        match method {
            Method::SubscriptionsListen | Method::TasksResult => true,
            // An older server may be silent on a probe.
            Method::ServerDiscover => is_stateless && !self.is(flag::MODERN | flag::FORCED),
            _ => false,
        }
    }

    fn push_own(&mut self, cx: &Cx<'_>, message: &Message, mut flags: u16) {
        let mut mask = 0;
        if !self.inn.is_empty() {
            let (causes, is_many) = self.causes(cx.stream);
            mask = causes;
            if is_many {
                flags |= open::MANY;
            }
        }
        let own = Own {
            id: message.id,
            mask,
            value: message.value,
            frame: cx.frame,
            since: cx.now_ms,
            answer: Fact::NONE,
            flags,
            method: message.method,
        };
        if self.own.is_sweep_due() {
            self.sweep_own();
        }
        if let Err(at) = self.find_own(own.id) {
            let was_large = self.own.is_large();
            self.own.insert(at, own);
            if was_large {
                if let Ok(at) = self.find_own(own.id) {
                    self.own[at].blur();
                }
            } else if self.own.is_large() {
                self.own.iter_mut().for_each(Own::blur);
            }
        }
    }

    /// Forgets the first half of the own requests that are cancelled.
    #[cold]
    fn sweep_own(&mut self) {
        let cancelled = self
            .own
            .iter()
            .filter(|own| own.flags & open::CANCELLED != 0);
        let ids: Vec<Key> = cancelled.map(|own| own.id).collect();
        for &id in &ids[..ids.len().div_ceil(2)] {
            if let Ok(at) = self.find_own(id) {
                self.set(flag::EVICTED);
                self.drop_own(at);
            }
        }
        self.own.swept();
    }

    /// Which requests open toward the party can have caused one that it sends now.
    fn causes(&self, stream: Stream) -> (u32, bool) {
        let mut mask = 0u32;
        let mut is_many = false;
        if self.inn.is_large() {
            is_many = true;
        }
        for (at, request) in self.inn.head().iter().enumerate() {
            if request.flags & open::LONG != 0 || request.cancel.is_some() {
                continue;
            }
            // On http, what belongs to a request travels on its stream.
            if self.link == LinkKind::Http && stream != 0 && request.stream == stream {
                return match u32::try_from(at) {
                    Ok(at) if at < 32 => (1 << at, false),
                    _ => (0, true),
                };
            }
            if at < 32 {
                mask |= 1 << at;
            } else {
                is_many = true;
            }
        }
        (mask, is_many)
    }

    #[inline]
    pub(crate) fn find_own(&self, id: Key) -> Result<usize, usize> {
        self.own.find(id)
    }

    #[inline]
    pub(crate) fn find_in(&self, id: Key) -> Result<usize, usize> {
        self.inn.find(id)
    }

    pub(crate) fn drop_own(&mut self, at: usize) {
        let own = self.own.remove(at);
        if own.answer.is_some()
            && let Some(rare) = &mut self.rare
        {
            rare.unread.retain(|id| *id != own.id);
        }
        self.deep_forget(own.id, true);
        if let Some(tokens) = &mut self.tokens {
            tokens.own.remove(own.id);
        }
    }

    /// Takes an inbound request out; the masks of own requests follow.
    pub(crate) fn drop_in(&mut self, at: usize) -> In {
        let request = self.inn.remove(at);
        self.deep_forget(request.id, false);
        if !self.own.is_empty() && !self.own.is_large() && at < 32 {
            let low = (1u32 << at) - 1;
            for own in self.own.iter_mut() {
                own.mask = own.mask & low | own.mask >> 1 & !low;
            }
        }
        request
    }

    fn insert_in(&mut self, at: usize, request: In) {
        self.inn.insert(at, request);
        if !self.own.is_empty() && !self.own.is_large() && at < 32 {
            let low = (1u32 << at) - 1;
            for own in self.own.iter_mut() {
                if own.mask & 1 << 31 != 0 {
                    own.flags |= open::MANY;
                }
                own.mask = own.mask & low | (own.mask & !low) << 1;
            }
        }
    }

    fn request_toward(&mut self, cx: &mut Cx<'_>, message: &Message, fact: Fact, is_bad: bool) {
        if message.has(Condition::NotificationPrefix) {
            self.answerable(message.id);
            self.unread();
            self.notification_toward(cx, message, fact);
            // Who takes such a cancel for none does right.
            if let (Method::Cancelled, Ok(at)) = (message.method, self.find_in(message.token)) {
                self.inn[at].flags |= open::EXCUSED;
            }
            return;
        }
        if !message.id.is_legal() {
            self.answerable(message.id);
            self.unread();
            return;
        }
        let is_stateless = cx.is_stateless;
        if is_stateless {
            self.set(flag::STATELESS);
        }
        if message.method == Method::Initialize && self.role == Role::Server {
            self.settle_era(cx.ledger, Light::Handshake);
            if !self.opened.is_some() {
                self.opened = fact;
                self.told_of_theirs(message);
            } else if self.is(flag::INIT_REFUSED) && !self.is(flag::ANSWERED_INIT) {
                self.told_of_theirs(message);
            }
        }
        // A request of the other side shows that it is at work.
        self.heard = cx.now_ms;
        let mut flags = 0;
        let has_odd_token = message.token.is_present() && !message.token.is_legal();
        if has_odd_token {
            self.set(flag::ODD_TOKEN);
        }
        if is_bad || has_odd_token {
            flags |= open::BAD;
        }
        flags |= self.era_flags(cx, message);
        if is_stateless && self.role == Role::Client {
            flags |= open::BAD;
        }
        let request = In {
            id: message.id,
            value: message.value,
            stream: if self.link == LinkKind::Http {
                cx.stream
            } else {
                0
            },
            frame: cx.frame,
            fact,
            cancel: Fact::NONE,
            cancel_frame: 0,
            flags,
            method: message.method,
        };
        match self.find_in(request.id) {
            Ok(at) => {
                // A second copy, or a reused id: either way nobody can tell the answers apart.
                self.inn[at].flags |= open::REUSED;
                return;
            }
            Err(at) => {
                if !is_stateless
                    && !self.answered.is_empty()
                    && self.answered.has(request.id) != Used::Never
                {
                    self.answerable(request.id);
                }
                let mut at = at;
                if self.inn.is_sweep_due() {
                    self.sweep_in();
                    at = self.find_in(request.id).unwrap_or_else(|at| at);
                }
                self.insert_in(at, request);
            }
        }
        if message.token.is_present() && message.token.is_legal() {
            let series = Series {
                token: message.token,
                id: message.id,
                last: 0,
                begun: false,
                frame: 0,
            };
            self.tokens().inn.insert(series);
        }
    }

    /// Forgets the first half of the cancelled inbound requests; their answers will not be judged.
    #[cold]
    fn sweep_in(&mut self) {
        let cancelled = self.inn.iter().filter(|request| request.cancel.is_some());
        let ids: Vec<Key> = cancelled.map(|request| request.id).collect();
        for &id in &ids[..ids.len().div_ceil(2)] {
            if let Ok(at) = self.find_in(id) {
                self.drop_in(at);
                self.answerable(id);
                self.retire_tokens(id, false, 0);
            }
        }
        self.inn.swept();
    }

    /// The tokens of a request that is answered by that frame (or, with `is_done` false, no longer
    /// followed).
    pub(crate) fn retire_tokens(&mut self, id: Key, is_done: bool, frame: FrameNo) {
        let Some(tokens) = &mut self.tokens else {
            return;
        };
        if let Some(series) = tokens.inn.remove(id) {
            let token = series.token;
            if is_done {
                tokens.done.insert(token);
            } else {
                tokens.open_ended.insert(token);
            }
            if is_done && frame != 0 {
                let rare = self.rare.get_or_insert_with(Box::default);
                push_latest(&mut rare.token_answers, (token, frame));
            }
        }
    }

    fn notification_toward(&mut self, cx: &Cx<'_>, message: &Message, fact: Fact) {
        self.set(flag::NOTIFIED);
        if cx.era != Era::Session {
            self.note_named(cx, message);
        }
        if cx.frame != 0 {
            self.rare().notification_frame = cx.frame;
        }
        match message.method {
            Method::Initialized if self.role == Role::Server && !self.initialized.is_some() => {
                self.initialized = fact;
            }
            Method::Cancelled => {
                self.set(flag::LAST_IN_CANCEL);
                let found = self.find_in(message.token);
                if found.is_err() && message.token.is_legal() {
                    let answer = self.answer_frame(message.token);
                    self.raced(cx, answer);
                }
                if let Ok(at) = found {
                    let request = &mut self.inn[at];
                    if !request.cancel.is_some() {
                        request.cancel = fact;
                        request.cancel_frame = cx.frame;
                    }
                }
                if self.role == Role::Client && cx.is_stateless {
                    self.subscription_ended(message.token, fact);
                }
            }
            Method::Progress if cx.now_ms != 0 => {
                let Some(tokens) = self.tokens.take() else {
                    return;
                };
                for id in tokens.own.ids(message.token) {
                    if let Ok(at) = self.find_own(id) {
                        self.own[at].since = cx.now_ms;
                    }
                }
                self.tokens = Some(tokens);
            }
            _ => {}
        }
    }

    /// The server cancels a request of the client: a subscription ends, and its id is free.
    fn subscription_ended(&mut self, id: Key, fact: Fact) {
        let Ok(at) = self.find_own(id) else { return };
        let own = &mut self.own[at];
        if own.method == Method::SubscriptionsListen && !own.answer.is_some() {
            own.flags |= open::CANCELLED;
            own.answer = fact;
        }
    }

    fn response_toward(&mut self, cx: &mut Cx<'_>, message: &Message, fact: Fact) {
        let Ok(at) = self.find_own(message.id) else {
            self.excuse_mismatch(message.id);
            self.note_stray(cx, message.id);
            if message.kind == Kind::Error && !message.id.is_legal() {
                self.batch_refused(message);
            }
            return;
        };
        let own = self.own[at];
        if own.flags & open::CANCELLED != 0 {
            self.raced(cx, own.frame);
        }
        if own.method == Method::Initialize {
            self.handshake_answered(cx, message, fact);
        } else if own.method == Method::Unknown && message.kind == Kind::Error {
            self.unknown_method_refused(cx, &own, message);
        }
        if own.flags & open::REUSED != 0 {
            return;
        }
        if self.knows(fact) == Knows::Must {
            self.drop_own(at);
        } else if !own.answer.is_some() {
            self.own[at].answer = fact;
            self.note_unread(message.id);
        }
    }

    /// The answer has the id of none of the party's requests, but one that looks like it.
    fn excuse_mismatch(&mut self, id: Key) {
        if !id.is_present() || self.own.is_empty() {
            return;
        }
        if self.own.is_large() {
            // Looking through very many each time takes too long: the usual form is looked up.
            let twin = crate::rules::ids::twin(id).and_then(|twin| self.find_own(twin).ok());
            if let Some(at) = twin {
                self.own[at].flags |= open::EXCUSED | open::MISANSWERED;
            }
            return;
        }
        for own in self.own.iter_mut() {
            if crate::rules::ids::is_coerced(own.id, id) {
                own.flags |= open::EXCUSED | open::MISANSWERED;
            }
        }
    }

    /// The answer to that request went to the party, which may not have read it yet.
    fn note_unread(&mut self, id: Key) {
        let mut unread = std::mem::take(&mut self.rare().unread);
        unread.retain(|old| *old != id);
        unread.push(id);
        if unread.len() > UNREAD_MAX {
            // The first has waited longest: each is put in when its answer goes out.
            let old = unread.remove(0);
            if let Some(at) = self.unread_at(old) {
                self.set(flag::EVICTED);
                self.drop_own(at);
            }
        }
        self.rare().unread = unread;
    }

    fn handshake_answered(&mut self, cx: &mut Cx<'_>, message: &Message, fact: Fact) {
        if message.kind == Kind::Error {
            if !self.refused.is_some() {
                self.refused = fact;
            }
            return;
        }
        if self.opened.is_some() {
            return;
        }
        self.opened = fact;
        self.told_of_theirs(message);
        self.agree(message.version);
        self.settle_batch_init(cx);
    }

    /// The revision that an answer to initialize settles.
    pub(crate) fn agree(&mut self, version: Version) {
        if self.is(flag::FORCED) {
            return;
        }
        self.revision = match version {
            Version::Known(revision) if revision.has_handshake() => Some(revision),
            _ => None,
        };
        self.flags &= !flag::STRANGE;
        if version == Version::Unknown {
            self.set(flag::STRANGE);
        }
    }

    /// Remembers which frame answered an id, so that a second answer can name the first.
    pub(crate) fn note_answer(&mut self, id: Key, frame: FrameNo) {
        if frame == 0 {
            return;
        }
        push_latest(&mut self.rare().answers, (id, frame));
    }

    pub(crate) fn answer_frame(&self, id: Key) -> FrameNo {
        self.rare
            .as_ref()
            .and_then(|rare| rare.answers.iter().rev().find(|(known, _)| *known == id))
            .map_or(0, |(_, frame)| *frame)
    }

    /// The answer that ended a token's series.
    pub(crate) fn token_answer_frame(&self, token: Key) -> FrameNo {
        self.rare
            .as_ref()
            .and_then(|rare| {
                rare.token_answers
                    .iter()
                    .rev()
                    .find(|(known, _)| *known == token)
            })
            .map_or(0, |(_, frame)| *frame)
    }

    /// A stray answer of this party may have been meant for any request that it owes.
    pub(crate) fn maybe_answered_all(&mut self) {
        for request in self.inn.iter_mut() {
            request.flags |= open::MAYBE;
        }
    }

    /// Hands each member of an array that parses to `use_member`.
    pub(crate) fn members(text: &[u8], mut use_member: impl FnMut(&Member<'_>, &Message)) {
        let mut walk = Scanner::new();
        let mut scanner = Scanner::recording();
        for range in batch_members(text, &mut walk) {
            let at = range.start as u32;
            let text = &text[range];
            let found = classify(text, &mut scanner);
            let body = scanner.body(text).filter(|_| found.fault.is_none());
            use_member(&Member { text, body, at }, &found.message);
        }
    }

    /// Mixes the part's canonical encoding in.
    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        let revision = self.revision.map_or(0, |revision| revision as u64 + 1);
        encoder.word(u64::from(self.flags) << 32 | u64::from(self.unreadable) << 8 | revision);
        encoder.word(
            u64::from(self.opened.0) << 40
                | u64::from(self.refused.0) << 20
                | u64::from(self.initialized.0),
        );
        encoder.word(u64::from(self.lo) << 32 | u64::from(self.hi));
        encoder.word(u64::from(self.mine.bits()) << 32 | u64::from(self.theirs.bits()));
        encoder.key(self.init_id);
        encoder.word(self.own.len() as u64);
        for own in self.own.iter() {
            encoder.key(own.id);
            encoder.word(u64::from(own.mask) << 32 | u64::from(own.value));
            encoder.word(
                u64::from(own.answer.0) << 32 | u64::from(own.flags) << 8 | own.method as u64,
            );
        }
        encoder.word(self.inn.len() as u64);
        for request in self.inn.iter() {
            encoder.key(request.id);
            encoder.word(u64::from(request.value) << 32 | u64::from(request.stream));
            encoder.word(u64::from(request.fact.0) << 32 | u64::from(request.cancel.0));
            encoder.word(u64::from(request.flags) << 8 | request.method as u64);
        }
        self.issued.encode(encoder);
        self.answered.encode(encoder);
        if let Some(tokens) = &self.tokens {
            tokens.encode(encoder);
        }
        if let Some(rare) = &self.rare {
            rare.encode(encoder);
        }
        if let Some(deep) = &self.deep {
            deep.encode(encoder);
        }
    }
}

impl Tokens {
    fn encode(&self, encoder: &mut Encoder) {
        encoder.word(0x746f_6b65 << 32 | self.own.list.len() as u64);
        for &(token, id) in self.own.list.iter() {
            encoder.key(token);
            encoder.key(id);
        }
        encoder.word(self.inn.list.len() as u64);
        for series in self.inn.list.iter() {
            encoder.key(series.token);
            encoder.key(series.id);
            encoder.word(series.last as u64);
            encoder.word(u64::from(series.begun));
        }
        self.supplied.encode(encoder);
        self.done.encode(encoder);
        self.open_ended.encode(encoder);
    }
}

impl Rare {
    fn encode(&self, encoder: &mut Encoder) {
        encoder.word(0x7261_7265 << 32 | u64::from(self.early.bits()));
        self.undecided.encode(encoder);
        self.glimpsed.encode(encoder);
        self.spoilt.encode(encoder);
        self.outside.encode(encoder);
        if !self.held.is_empty() {
            encode_held(&self.held, encoder);
        }
        for (id, _) in &self.named {
            encoder.key(*id);
        }
        if let Some(run) = &self.run {
            run.encode(encoder);
        }
        encoder.word(u64::from(self.batch_init.is_some()) | u64::from(self.init_in_array) << 1);
        for (id, _) in &self.early_cancels {
            encoder.key(*id);
        }
        for (id, _) in &self.strays {
            encoder.key(*id);
        }
    }
}

/// Keeps the latest few.
fn push_latest(list: &mut Vec<(Key, FrameNo)>, entry: (Key, FrameNo)) {
    if list.len() >= ANSWERS_MAX {
        list.drain(..ANSWERS_MAX / 2);
    }
    list.push(entry);
}

/// Whether a person may have to answer such a request.
pub(crate) fn waits_for_people(method: Method) -> bool {
    matches!(
        method,
        Method::SamplingCreateMessage | Method::ElicitationCreate
    )
}

/// Every value that an object's member `id` has, where it stands there more than once.
fn all_ids(text: &[u8]) -> Vec<Key> {
    let mut ids = vec![];
    let mut scanner = Scanner::new();
    let start = white(text, 0);
    if text.get(start) != Some(&b'{') {
        return ids;
    }
    // What does not parse was found before.
    let _ = scanner.object(text, start, |scanner, name, at| {
        let mut plain = vec![];
        unescape(name, &mut plain);
        let end = scanner.value(text, at)?;
        if plain == b"id" {
            ids.push(key_of(text, at, end));
        }
        Ok(end)
    });
    ids
}

/// Whether the key is a string.
pub(crate) fn is_text(key: Key) -> bool {
    key.key_type() == KeyType::Text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Ledger;
    use crate::observer::outside;
    use crate::opens::SWEEP_MIN;
    use mcpsim_traces::event::{LinkId, PartyId};

    fn heap(part: &Part) -> usize {
        let sets = [&part.issued, &part.answered];
        let blocks: usize = sets.iter().map(|set| set.entries()).sum();
        part.own.len() * size_of::<Own>() + part.inn.len() * size_of::<In>() + blocks * 48
    }

    /// Exploring copies and hashes parts all day: eight open requests stay below 512 bytes beside the
    /// part itself, and the part itself is small too.
    #[test]
    fn a_part_is_small() {
        let mut ledger = Ledger::new(1);
        for kind in [LinkKind::Pipe, LinkKind::Http] {
            let mut part = Part::new(Role::Client, kind, Mode::Exact);
            for id in 0..8 {
                let mut cx = outside(&mut ledger, PartyId(0), LinkId(0));
                part.by(&mut cx, &Message::request(Method::Ping, Key::integer(id)));
            }
            assert!(heap(&part) <= 512, "{} bytes", heap(&part));
            assert!(size_of::<Part>() <= 256, "{} bytes", size_of::<Part>());
            assert!(part.tokens.is_none() && part.rare.is_none());
        }
    }

    /// A log of half a million requests, seen from in between, with nothing nested that would prove what
    /// the client has read: what is kept does not grow.
    #[test]
    fn a_long_log_is_kept_small() {
        let mut ledger = Ledger::new(1);
        let mut client = Part::new(Role::Client, LinkKind::Pipe, Mode::Fifo);
        let mut server = Part::new(Role::Server, LinkKind::Pipe, Mode::Fifo);
        client.set(flag::JOINED);
        server.set(flag::JOINED);
        for number in 1..=500_000u32 {
            let id = Key::text(format!("req-{number}").as_bytes());
            let mut cx = outside(&mut ledger, PartyId(0), LinkId(0));
            cx.frame = number;
            cx.now_ms = number;
            let request = Message::tools_call(id, mcpsim_traces::message::Tool::Echo, 1, id);
            client.by(&mut cx, &request);
            server.toward(&mut cx, &request);
            if number % 4 == 0 {
                let cancel = Message::cancelled(id);
                client.by(&mut cx, &cancel);
                server.toward(&mut cx, &cancel);
            } else {
                let answer = Message::tool_result(id, 1);
                server.by(&mut cx, &answer);
                client.toward(&mut cx, &answer);
            }
        }
        assert_eq!(ledger.findings, []);
        assert!(
            client.own.len() <= SWEEP_MIN + UNREAD_MAX,
            "{}",
            client.own.len()
        );
        assert!(server.inn.len() <= SWEEP_MIN, "{}", server.inn.len());
        assert!(
            client.issued.entries() < 8000,
            "{}",
            client.issued.entries()
        );
        let tokens = client
            .tokens
            .as_ref()
            .map_or(0, |tokens| tokens.own.list.len());
        assert!(tokens <= SWEEP_MIN + UNREAD_MAX, "{tokens}");
    }
}
