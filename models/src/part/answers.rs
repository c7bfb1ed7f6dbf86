//! Answers that go to the party, and what is remembered of those that it sent.

use mcpsim_traces::event::{FrameNo, Stream};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Kind, Message, Method, Shape, Version};

use super::{Fact, Knows, Part, UNREAD_MAX, Way, flag, open, push_latest};
use crate::idset::Used;
use crate::ledger::Cx;
use crate::rules::ids::{is_coerced, twin};

impl Part {
    pub(super) fn forget_read_answers(&mut self) {
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
    pub(super) fn unread_at(&self, id: Key) -> Option<usize> {
        let at = self.find_own(id).ok()?;
        let own = &self.own[at];
        (own.answer.is_some() && own.flags & open::REUSED == 0).then_some(at)
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
        rare.undecided.has(id) != Used::Never
            || rare.beyond[Way::In as usize].has(id) != Used::Never
            || rare.glimpsed.has(id) == Used::Before
    }

    pub(super) fn response_toward(&mut self, cx: &mut Cx<'_>, message: &Message, fact: Fact) {
        let Ok(at) = self.find_own(message.id) else {
            self.excuse_mismatch(message.id);
            let alike = self.asked_alike(message.id);
            // What looks like the answer to the open initialize, under another id or none, opens the session for a lenient client.
            let is_shaped = message.shape == Shape::Initialize;
            let meant = self.own.iter().position(|own| {
                is_shaped && own.method == Method::Initialize && !own.answer.is_some()
            });
            if let Some(at) = meant {
                self.own[at].flags |= open::EXCUSED | open::MISANSWERED;
            }
            if meant.is_some() || alike.is_some_and(|(_, method)| method == Method::Initialize) {
                self.handshake_answered(cx, message, fact);
            }
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

    /// The party's own request that an answer is meant for whose id only looks like that request's.
    #[inline]
    pub(super) fn asked_alike(&self, id: Key) -> Option<(Key, Method)> {
        match self.find_own(id) {
            Ok(_) => None,
            Err(_) => self.own_alike(id),
        }
    }

    #[cold]
    fn own_alike(&self, id: Key) -> Option<(Key, Method)> {
        let found = match self.own.is_large() {
            true => twin(id).and_then(|twin| self.find_own(twin).ok()),
            false => self.own.iter().position(|own| is_coerced(own.id, id)),
        };
        found.map(|at| (self.own[at].id, self.own[at].method))
    }

    /// The answer has the id of none of the party's requests, but one that looks like it.
    pub(super) fn excuse_mismatch(&mut self, id: Key) {
        if !id.is_present() || self.own.is_empty() {
            return;
        }
        if self.own.is_large() {
            // Looking through very many each time takes too long: the usual form is looked up.
            let twin = twin(id).and_then(|twin| self.find_own(twin).ok());
            if let Some(at) = twin {
                self.own[at].flags |= open::EXCUSED | open::MISANSWERED;
            }
            return;
        }
        for own in self.own.iter_mut() {
            if is_coerced(own.id, id) {
                own.flags |= open::EXCUSED | open::MISANSWERED;
            }
        }
    }

    /// The answer to that request went to the party, which may not have read it yet.
    pub(super) fn note_unread(&mut self, id: Key) {
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

    pub(super) fn handshake_answered(&mut self, cx: &mut Cx<'_>, message: &Message, fact: Fact) {
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

    /// The answer that ended a token's series, and its stream; zeros where that is not kept.
    pub(crate) fn token_answer(&self, token: Key) -> (FrameNo, Stream) {
        let answers = self
            .rare
            .as_ref()
            .map_or(&[][..], |rare| &rare.token_answers);
        let last = answers.iter().rev().find(|(known, ..)| *known == token);
        last.map_or((0, 0), |&(_, frame, stream)| (frame, stream))
    }

    /// A stray answer of this party may have been meant for any request that it owes.
    pub(crate) fn maybe_answered_all(&mut self) {
        for request in self.inn.iter_mut() {
            request.flags |= open::MAYBE;
        }
    }
}
