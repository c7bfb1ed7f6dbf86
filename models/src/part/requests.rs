//! Open requests of either direction, and how long they are kept.

use mcpsim_traces::event::{FrameNo, LinkKind, Role, Stream};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Condition, Message, Method};

use super::{ANSWERS_MAX, Fact, Mode, Part, Reached, Series, flag, open};
use crate::era::{Era, Light};
use crate::idset::Used;
use crate::ledger::Cx;
use crate::opens::Keyed;
use crate::rules::ids::Taken;
use crate::unread::Closed;

/// A request that the party sent and that is not settled for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Own {
    pub(crate) id: Key,
    /// Which of the requests open toward the party can have caused it, by their place in `inn`.
    pub(crate) mask: u32,
    pub(crate) value: u32,
    pub(crate) frame: FrameNo,
    /// Since when its sender has heard nothing, in milliseconds of the log.
    pub(crate) since: u64,
    /// When it was sent.
    pub(crate) asked: u64,
    /// Its answer, once one went to the party and may not have arrived yet.
    pub(crate) answer: Fact,
    pub(crate) flags: u16,
    pub(crate) method: Method,
}

/// So many requests of a side are followed at once; a million that nobody answers must not take the machine's memory.
pub(crate) const OPEN_MAX: usize = 1 << 17;

/// Which way a request goes, as seen from a party.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// The party sent it.
    Own,
    /// It went to the party.
    In,
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

impl Part {
    pub(super) fn request_by(&mut self, cx: &mut Cx<'_>, message: &Message, is_bad: bool) {
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
        if self.own.len() >= OPEN_MAX {
            return self.goes_beyond(cx, message, Way::Own);
        }
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

    /// More requests are open than are followed: this one is not, nor what becomes of it.
    #[cold]
    fn goes_beyond(&mut self, cx: &mut Cx<'_>, message: &Message, way: Way) {
        let by = match way {
            Way::Own => self.role,
            Way::In => self.role.other(),
        };
        cx.ledger.unread.go_beyond(&Closed {
            frame: cx.frame,
            by,
            kind: message.kind,
            method: message.method,
            is_stateless: cx.is_stateless,
        });
        self.rare().beyond[way as usize].insert(message.id);
        if message.token.is_present() && message.token.is_legal() {
            self.tokens().open_ended.insert(message.token);
        }
    }

    /// What the era of a new request means for what is kept of it.
    pub(super) fn era_flags(&mut self, cx: &Cx<'_>, message: &Message) -> u16 {
        let mut flags = match cx.era {
            Era::Session => 0,
            Era::Stateless | Era::Unproven => open::STATELESS,
            Era::Foreign => open::STATELESS | open::FOREIGN,
            Era::Bare => open::BARE,
        };
        self.is_mixed |= flags != 0;
        if self.is_long(message.method, cx.is_stateless) {
            flags |= open::LONG;
        }
        flags
    }

    /// Whether such a request stays open for as long as its sender likes.
    pub(super) fn is_long(&self, method: Method, is_stateless: bool) -> bool {
        match method {
            Method::SubscriptionsListen | Method::TasksResult => true,
            // An older server may be silent on a probe.
            Method::ServerDiscover => is_stateless && !self.is(flag::MODERN | flag::FORCED),
            _ => false,
        }
    }

    pub(super) fn push_own(&mut self, cx: &Cx<'_>, message: &Message, mut flags: u16) {
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
            asked: cx.now_ms,
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
    pub(super) fn sweep_own(&mut self) {
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
    pub(super) fn causes(&self, stream: Stream) -> (u32, bool) {
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

    pub(super) fn insert_in(&mut self, at: usize, request: In) {
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

    pub(super) fn request_toward(
        &mut self,
        cx: &mut Cx<'_>,
        message: &Message,
        fact: Fact,
        is_bad: bool,
    ) {
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
                if message.token.is_present() && message.token.is_legal() {
                    let tokens = self.tokens();
                    let is_known = tokens.inn.ids(message.token).any(|id| id == request.id);
                    if !is_known {
                        // Another token than the first one's: it was supplied, and nobody can tell until when.
                        tokens.open_ended.insert(message.token);
                    }
                }
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
                if self.inn.len() >= OPEN_MAX {
                    return self.goes_beyond(cx, message, Way::In);
                }
                self.insert_in(at, request);
            }
        }
        if message.token.is_present() && message.token.is_legal() {
            let series = Series {
                token: message.token,
                id: message.id,
                last: Reached::NOTHING,
                begun: false,
                frame: 0,
                stream: 0,
            };
            self.tokens().inn.insert(series);
        }
    }

    /// Forgets the first half of the cancelled inbound requests; their answers will not be judged.
    #[cold]
    pub(super) fn sweep_in(&mut self) {
        let cancelled = self.inn.iter().filter(|request| request.cancel.is_some());
        let ids: Vec<Key> = cancelled.map(|request| request.id).collect();
        for &id in &ids[..ids.len().div_ceil(2)] {
            if let Ok(at) = self.find_in(id) {
                self.drop_in(at);
                self.answerable(id);
                self.retire_tokens(id, false, (0, 0));
            }
        }
        self.inn.swept();
    }

    /// The tokens of a request that is answered by that frame, on that stream (or, with `is_done` false, no longer
    /// followed).
    pub(crate) fn retire_tokens(
        &mut self,
        id: Key,
        is_done: bool,
        (frame, stream): (FrameNo, Stream),
    ) {
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
                if rare.token_answers.len() >= ANSWERS_MAX {
                    rare.token_answers.drain(..ANSWERS_MAX / 2);
                }
                rare.token_answers.push((token, frame, stream));
            }
        }
    }
}
