//! Which response belongs to which request, and who sends what.

use mcpsim_traces::event::Role;
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Condition, Kind, Message, Method, Shape};

use crate::era::Era;
use crate::idset::Used;
use crate::ledger::{Case, Cx};
use crate::part::{In, Mode, Part, flag, open};
use crate::rules::ids::{RESPONSE_ID_MISMATCH, is_coerced, twin};
use crate::rules::{
    Basis, Category, Level, MUST, NOTE, Needs, Rule, Side, When, batch, cancellation,
};

pub(crate) const RESPONSE_UNKNOWN_ID: Rule = Rule {
    id: "response-unknown-id",
    category: Category::Correlation,
    basis: Basis::Text,
    source: "2025-11-25 basic/index (Responses)",
    says: "A response answers a request of the other side.",
    why: "An answer to nothing is dropped; the request that it was meant for stays open.",
    needs: Needs::Causal,
    when: When::RESPONSE,
    twin: "corr-response-known-id",
    ..MUST
};

pub(crate) const DUPLICATE_RESPONSE: Rule = Rule {
    id: "duplicate-response",
    category: Category::Correlation,
    basis: Basis::Text,
    source: "JSON-RPC 2.0 specification (Response object), adopted by 2025-11-25 basic/index (Responses)",
    says: "A request is answered once.",
    why: "The second answer finds nothing waiting: some clients end the session, and what it says may contradict the first.",
    needs: Needs::SameDirection,
    when: When::RESPONSE,
    twin: "corr-one-response",
    ..MUST
};

pub(crate) const RESPONSE_TO_NOTIFICATION: Rule = Rule {
    id: "response-to-notification",
    category: Category::Correlation,
    basis: Basis::Text,
    side: Side::Receiver,
    source: "2025-11-25 basic/index (Notifications)",
    says: "A notification is never answered.",
    why: "The sender of a notification waits for nothing; strict clients close the pipe when an answer comes \
        all the same. On a pipe its usual form is an error without an id, whose only proof is the order: that is a warning.",
    needs: Needs::Causal,
    when: When::RESPONSE,
    twin: "env-no-reply-to-notification",
    ..MUST
};

pub(crate) const REQUEST_UNANSWERED: Rule = Rule {
    id: "request-unanswered",
    category: Category::Correlation,
    basis: Basis::Jsonrpc,
    side: Side::Receiver,
    source: "JSON-RPC 2.0 specification (Response object), adopted by 2025-11-25 basic/index (Messages)",
    says: "Every request that is not cancelled is answered.",
    why: "The other side waits until its patience ends. Named is the party at the end of the \
        chain of waiting, once its end was seen or patience ran out; a recording that merely \
        stops proves nothing. Elicitation and sampling may wait for a person: no patience runs out on them.",
    needs: Needs::Time,
    when: When::REQUEST,
    twin: "corr-every-request-answered",
    ..MUST
};

pub(crate) const REQUEST_WRONG_DIRECTION: Rule = Rule {
    id: "request-wrong-direction",
    category: Category::Correlation,
    source: "2025-11-25 schema.ts (ClientRequest)",
    says: "Each request is sent by the side that the revision gives it to.",
    why: "A server has no tools/call to send, a client no sampling: the other side has no handler for it.",
    when: When::REQUEST,
    twin: "dir-method-wrong-side",
    ..MUST
};

pub(crate) const NOTIFICATION_WRONG_DIRECTION: Rule = Rule {
    id: "notification-wrong-direction",
    category: Category::Correlation,
    source: "2025-11-25 schema.ts (ClientNotification)",
    says: "Each notification is sent by the side that the revision gives it to.",
    why: "The other side has no use for it; it usually means that a proxy echoes or that roles are mixed up.",
    when: When::NOTIFICATION,
    twin: "dir-method-wrong-side",
    ..MUST
};

pub(crate) const RESPONSE_BEFORE_REQUEST_OBSERVED: Rule = Rule {
    id: "response-before-request-observed",
    category: Category::Correlation,
    level: Level::MayNote,
    basis: Basis::Derived,
    side: Side::Both,
    source: "2025-11-25 basic/index (Responses)",
    says: "In the log of the side that asked, an answer stands after its request.",
    why: "Nobody answers what was not asked yet: such a log was put together in another order than things happened, \
        or the answer has a wrong id that a later request happens to take.",
    needs: Needs::Causal,
    when: When::RESPONSE,
    ..NOTE
};

/// The rows of this category.
pub(crate) const ROWS: &[Rule] = &[
    RESPONSE_UNKNOWN_ID,
    DUPLICATE_RESPONSE,
    RESPONSE_TO_NOTIFICATION,
    REQUEST_UNANSWERED,
    REQUEST_WRONG_DIRECTION,
    NOTIFICATION_WRONG_DIRECTION,
    RESPONSE_BEFORE_REQUEST_OBSERVED,
];

/// With more answers than this to ids that were not issued, the rest is no longer followed.
const STRAYS_MAX: usize = 64;

impl Part {
    /// The party answers.
    #[inline]
    pub(crate) fn response_by(&mut self, cx: &mut Cx<'_>, message: &Message, is_bad: bool) {
        if !message.id.is_present() || message.id == mcpsim_traces::key::Key::NULL {
            return self.response_without_id(cx, message);
        }
        match self.find_in(message.id) {
            Ok(at) => self.answer(cx, message, at, is_bad),
            Err(_) => self.stray(cx, message),
        }
    }

    fn answer(&mut self, cx: &mut Cx<'_>, message: &Message, at: usize, is_bad: bool) {
        let request = self.drop_in(at);
        self.proven(request.fact);
        self.note_read(request.frame);
        self.answered.insert(request.id);
        if cx.is_astray && request.stream != 0 && request.stream != cx.stream {
            // It may answer another request of that id, which was not recorded; its own answer may come yet.
            self.rare().undecided.insert(request.id);
        }
        self.note_answer(request.id, cx.frame);
        if self.rare.is_some() {
            self.note_batch_answer(request.id);
        }
        if request.flags & open::BATCH != 0 {
            self.batch_answered(request.frame);
        }
        if request.flags & open::REUSED != 0 {
            self.answerable(request.id);
        }
        if self.tokens.is_some() {
            // A task goes on reporting after its request was answered; so may the second request under one id.
            let is_done = !message.has(Condition::TaskCreated) && request.flags & open::REUSED == 0;
            self.retire_tokens(request.id, is_done, (cx.frame, cx.stream));
        }
        if request.cancel.is_some() && request.flags & open::REUSED == 0 {
            self.answered_after_cancel(cx, &request);
        }
        if request.method == Method::Initialize {
            self.initialize_answered(cx, message);
        }
        let revision = self.revision_of(cx.era, true);
        let reached = &mut cx.ledger.reached;
        reached.message(self.role, message.kind, request.method, revision);
        if is_bad || request.flags & open::STATELESS != 0 {
            return;
        }
        match message.kind {
            Kind::Error => self.refusal(cx, message, &request),
            _ => self.served(cx, message, &request),
        }
    }

    #[cold]
    fn answered_after_cancel(&mut self, cx: &mut Cx<'_>, request: &In) {
        if request.method == Method::Initialize {
            return;
        }
        if request.flags & open::STATELESS != 0 {
            let what = format!("the answer to {}", request.id);
            let rule = &cancellation::RESPONSE_AFTER_CANCEL_RECEIVED;
            return self.more_after_cancel(cx, request, rule, &what);
        }
        let text = format!(
            "the answer to {} comes after its cancel; the two may have crossed, or the work was done",
            request.id
        );
        self.unsure(
            cx,
            &cancellation::RESPONSE_AFTER_CANCEL_RECEIVED,
            &[request.cancel_frame, cx.frame],
            text,
        );
    }

    /// An answer of an id that the party never issued comes to it, in its own log.
    #[cold]
    pub(crate) fn note_stray(&mut self, cx: &Cx<'_>, id: Key) {
        let is_new = self.issued.has(id) == Used::Never && id.is_legal();
        if self.mode != Mode::Exact || cx.frame == 0 || !is_new || cx.is_stateless {
            return;
        }
        let rare = self.rare();
        if rare.spoilt.has(id) != Used::Never {
            return;
        }
        let strays = &mut rare.strays;
        if strays.len() < STRAYS_MAX {
            strays.push((id, cx.frame));
        }
    }

    /// The party issues an id: whether an answer to it was seen before.
    #[cold]
    pub(crate) fn was_answered_early(&mut self, cx: &mut Cx<'_>, id: Key) {
        let Some(rare) = &mut self.rare else { return };
        let Some(at) = rare.strays.iter().position(|(known, _)| *known == id) else {
            return;
        };
        let (_, frame) = rare.strays.remove(at);
        let message = format!(
            "an answer to {id} stands before the request of that id; a log that was put together in another \
                order accuses nobody"
        );
        let mut case = Case::new(&RESPONSE_BEFORE_REQUEST_OBSERVED, message);
        let frames = [frame, cx.frame];
        case.frames = &frames;
        case.revision = self.revision;
        cx.report(case);
    }

    /// The request that an answer is meant for whose id only looks like that request's: what it says is said all the same.
    #[inline]
    pub(crate) fn owed_alike(&self, id: Key) -> Option<Key> {
        match self.find_in(id) {
            Ok(_) => None,
            Err(_) => self.alike(id).map(|at| self.inn[at].id),
        }
    }

    #[cold]
    fn alike(&self, id: Key) -> Option<usize> {
        if self.inn.is_large() {
            return twin(id).and_then(|twin| self.find_in(twin).ok());
        }
        let head = self.inn.head();
        head.iter().position(|request| is_coerced(request.id, id))
    }

    /// What looks like the answer to the open initialize, under another id or none: a lenient client goes on by what it says.
    #[cold]
    pub(crate) fn meant_for_initialize(&mut self, cx: &mut Cx<'_>, message: &Message) {
        let is_meant = message.shape == Shape::Initialize
            && self
                .inn
                .iter()
                .any(|request| request.method == Method::Initialize);
        if is_meant {
            self.initialize_answered(cx, message);
        }
    }

    /// An answer over HTTP whose request was not recorded, which may have the id of one that was: whether it settles that one is
    /// not told. `false` where nothing tells in which exchange that one was sent.
    #[cold]
    pub(crate) fn answers_another(&mut self, cx: &mut Cx<'_>, message: &Message) -> bool {
        if let Ok(at) = self.find_in(message.id) {
            let request = &mut self.inn[at];
            if request.stream == 0 {
                cx.is_unasked = false;
                return false;
            }
            request.flags |= open::MAYBE;
        }
        cx.pass_over(&RESPONSE_UNKNOWN_ID);
        true
    }

    /// A response whose id belongs to no open request.
    #[cold]
    fn stray(&mut self, cx: &mut Cx<'_>, message: &Message) {
        let id = message.id;
        if self.role == Role::Client && cx.era != Era::Session {
            self.client_responds(cx, message);
            if cx.is_stateless {
                return;
            }
        }
        if self.is_undecided(id) {
            return;
        }
        if message.has(Condition::DuplicateMember) {
            // Reported as such; another reader may find an id that fits.
            return self.maybe_answered_all();
        }
        if let Some(at) = self.alike(id) {
            let request = self.drop_in(at);
            self.proven(request.fact);
            self.answered.insert(request.id);
            // Where the right answer comes as well, the wrong one was the fault.
            self.rare().undecided.insert(request.id);
            let is_done = request.flags & open::REUSED == 0;
            self.retire_tokens(request.id, is_done, (cx.frame, cx.stream));
            let text = format!(
                "the answer to {} has the id {id}; it repeats the id, with its type",
                request.id
            );
            self.broken(cx, &RESPONSE_ID_MISMATCH, &[request.frame, cx.frame], text);
            if request.method == Method::Initialize {
                self.initialize_answered(cx, message);
            }
            return;
        }
        self.meant_for_initialize(cx, message);
        match self.answered.has(id) {
            Used::Unknown => return,
            Used::Before => {
                let is_same_array = self
                    .rare
                    .as_ref()
                    .and_then(|rare| rare.batch_answers.as_ref())
                    .is_some_and(|answers| answers.contains(&id));
                let frames = [self.answer_frame(id), cx.frame];
                let rule = if is_same_array {
                    &batch::BATCH_ANSWERS
                } else {
                    &DUPLICATE_RESPONSE
                };
                let text = format!(
                    "the request {id} is answered a second time; a request gets one response"
                );
                // The first answer may have been to a request with this id from before the recording.
                match self.is(flag::JOINED) || cx.is_astray {
                    true => self.unsure(cx, rule, &frames, text),
                    false => self.broken(cx, rule, &frames, text),
                }
                return self.maybe_answered_all();
            }
            Used::Never => {}
        }
        if self.is(flag::JOINED) {
            if let Some(deep) = &mut self.deep {
                deep.levels.forget();
            }
            return cx.pass_over(&RESPONSE_UNKNOWN_ID);
        }
        if cx.era != Era::Session && !cx.is_astray && self.answers_notification(cx, id) {
            return self.maybe_answered_all();
        }
        let text = format!("no request of the other side had the id {id}");
        if self.is(flag::GARBLED_IN) || self.may_be_unseen() || cx.is_astray {
            self.unsure(cx, &RESPONSE_UNKNOWN_ID, &[cx.frame], text);
        } else {
            self.broken(cx, &RESPONSE_UNKNOWN_ID, &[cx.frame], text);
        }
        self.maybe_answered_all();
    }
}
