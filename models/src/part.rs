//! What the judge knows of one party on one link: what it sent, and what it had received, may have
//! received, or must have received.

use std::collections::BTreeSet;

use mcpsim_traces::classify::{batch_members, classify, key_of};
use mcpsim_traces::encode::Encoder;
use mcpsim_traces::event::{FrameNo, LinkKind, Role, Stream};
use mcpsim_traces::key::{Key, KeyType};
use mcpsim_traces::message::{
    Capabilities, Condition, Conditions, Kind, Message, Method, Revision, Shape,
};
use mcpsim_traces::scan::{Scanner, unescape, white};

use crate::deep::Deep;
use crate::era::{Era, Held, encode_held};
use crate::idset::{IdSet, Latest};
use crate::ledger::{Cx, Member, Seen, bit, stateless_bits};
use crate::opens::Opens;
use crate::rules::When;
use crate::rules::ids::shown_ids;
use crate::rules::transport_stdio::Run;
use crate::rules::transport_stdio::holds;

mod answers;
mod flags;
mod report;
mod requests;
mod tokens;

pub(crate) use flags::{flag, open};
pub(crate) use requests::{In, Own, Way};
pub(crate) use tokens::{Reached, Series, Tokens};

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

/// What most parts never need.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Rare {
    /// Ids whose answers are not judged: of ambiguous, malformed or unsplit requests.
    pub(crate) undecided: IdSet,
    /// Ids of requests that came while more were open than are followed, in either direction.
    pub(crate) beyond: [IdSet; 2],
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
    /// The recording begins with a probe, which may be a later one of its client.
    pub(crate) is_probed: bool,
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
    pub(crate) token_answers: Vec<(Key, FrameNo, Stream)>,
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
    /// Some request, of either side, was none of a session. While that is not so, what belongs to a request is the session's.
    pub(crate) is_mixed: bool,
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
    pub(crate) heard: u64,
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
            is_mixed: false,
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

    /// The party answers the request of that frame.
    #[inline]
    pub(crate) fn note_read(&mut self, frame: FrameNo) {
        if self.is(flag::AT_DOOR) {
            self.hi = self.hi.max(frame);
        }
    }

    /// Whether the party's program had read that cancel. A log beside it shows when the cancel came, and what the program wrote
    /// then may have been on its way: only its answer to something later is proof.
    pub(crate) fn has_read(&self, cancel: Fact, frame: FrameNo) -> bool {
        self.knows(cancel) == Knows::Must && (!self.is(flag::AT_DOOR) || self.hi > frame)
    }

    /// Since when the party has heard nothing on that request.
    #[inline]
    pub(crate) fn since(&self, own: &Own) -> u64 {
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
            Kind::Result | Kind::Error if cx.is_unasked && self.answers_another(cx, message) => {}
            Kind::Result | Kind::Error => {
                match self.owed_alike(message.id) {
                    None => self.deep_by(cx, message),
                    Some(id) => self.deep_by(cx, &Message { id, ..*message }),
                }
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
        if matches!(message.kind, Kind::Request | Kind::Notification) {
            let revision = self.revision_of(cx.era, true);
            let reached = &mut cx.ledger.reached;
            reached.message(self.role, message.kind, message.method, revision);
        }
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
        let is_opening = message.method == Method::Initialize && self.role == Role::Server;
        if is_opening && !message.id.is_legal() && !self.opened.is_some() {
            // Nobody may answer it; that the session was to begin is seen all the same.
            self.opened = fact;
            self.told_of_theirs(message);
        }
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
            Kind::Result | Kind::Error if cx.is_unasked => {}
            Kind::Result | Kind::Error => {
                match self.asked_alike(message.id) {
                    None => self.deep_toward(cx, message, fact),
                    Some((id, _)) => self.deep_toward(cx, &Message { id, ..*message }, fact),
                }
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
                    let mut shown = vec![];
                    shown_ids(cx.text.unwrap_or_default(), |id| {
                        self.rare().glimpsed.insert(id);
                        shown.push(id);
                    });
                    // An answer behind a word of a log is an answer that nobody can read: told as that.
                    let is_answer = ["\"result\"", "\"error\""]
                        .iter()
                        .any(|name| holds(cx.text, name.as_bytes()));
                    for id in shown.into_iter().filter(|_| is_answer) {
                        if let Ok(at) = self.find_own(id) {
                            self.own[at].flags |= open::EXCUSED;
                        }
                    }
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
            // Who writes `initialized` means this one.
            Method::Unknown
                if self.role == Role::Server
                    && message.has(Condition::UnprefixedNotification)
                    && !self.initialized.is_some() =>
            {
                self.initialized = fact;
            }
            // A request without an id: what is said to it, if anything, cannot repeat one.
            method if method.is_request() => self.answerable(Key::NULL),
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
        encoder.word(
            u64::from(self.flags) << 32
                | u64::from(self.is_mixed) << 16
                | u64::from(self.unreadable) << 8
                | revision,
        );
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

impl Rare {
    fn encode(&self, encoder: &mut Encoder) {
        encoder.word(0x7261_7265 << 32 | u64::from(self.early.bits()));
        self.undecided.encode(encoder);
        self.beyond.iter().for_each(|ids| ids.encode(encoder));
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
            cx.now_ms = u64::from(number);
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
