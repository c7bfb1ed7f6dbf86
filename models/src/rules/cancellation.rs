//! Cancellation: what may be withdrawn, by whom, and what a cancel does not undo.

use mcpsim_traces::event::{FrameNo, LinkKind, Role};
use mcpsim_traces::judge::{Severity, Verdict};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Condition, Message, Method, Revision};

use crate::era::Era;
use crate::idset::Used;
use crate::ledger::{Cx, bit};
use crate::part::{In, Knows, Mode, Part, Way, flag, open};
use crate::rules::ids::is_coerced;
use crate::rules::stateless::tasks_extension::TASK_CANCEL_METHOD;
use crate::rules::stateless::utilities::{CANCEL_NOT_ON_HTTP, CANCEL_SERVER_ONLY_LISTEN};
use crate::rules::{Basis, Category, Level, MUST, NOTE, Needs, Rule, SHOULD, Side, When};

pub(crate) const CANCEL_UNKNOWN_REQUEST: Rule = Rule {
    id: "cancel-unknown-request",
    category: Category::Cancellation,
    basis: Basis::Text,
    source: "2025-11-25 basic/utilities/cancellation (Behavior Requirements)",
    says: "A cancel names a request that its sender had sent.",
    why: "It withdraws nothing: what was meant runs on.",
    needs: Needs::SameDirection,
    when: When::CANCEL,
    twin: "cancel-own-request",
    ..MUST
};

pub(crate) const CANCEL_PEERS_REQUEST: Rule = Rule {
    id: "cancel-peers-request",
    category: Category::Cancellation,
    basis: Basis::Text,
    source: "2025-11-25 basic/utilities/cancellation (Behavior Requirements)",
    says: "Nobody cancels the other side's request.",
    why: "To stop serving a request, answer it with an error.",
    needs: Needs::Causal,
    when: When::CANCEL,
    twin: "cancel-server-only-listen",
    ..MUST
};

pub(crate) const CANCEL_AFTER_RESPONSE_RECEIVED: Rule = Rule {
    id: "cancel-after-response-received",
    category: Category::Cancellation,
    level: Level::Must,
    source: "2025-11-25 basic/utilities/cancellation (Behavior Requirements)",
    says: "A cancel comes only while its sender takes the request to be in progress.",
    why: "A cancel and an answer may cross, but here the answer had been received. It usually \
        means that finished requests stay in the client's table.",
    needs: Needs::OffenderLog,
    when: When::CANCEL,
    twin: "cancel-own-request",
    ..SHOULD
};

pub(crate) const CANCEL_INITIALIZE: Rule = Rule {
    id: "cancel-initialize",
    category: Category::Cancellation,
    basis: Basis::Text,
    side: Side::Client,
    source: "2025-11-25 basic/utilities/cancellation (Behavior Requirements)",
    says: "The client never cancels initialize.",
    why: "There is nothing to go back to: some servers obey and never answer, and the session is neither open nor closed.",
    needs: Needs::SameDirection,
    when: When::CANCEL,
    ..MUST
};

pub(crate) const CANCEL_REQUEST_ID_MISSING: Rule = Rule {
    id: "cancel-request-id-missing",
    category: Category::Cancellation,
    severity_by: &[(Revision::V2025_11_25, Severity::Warning)],
    source: "2025-11-25 schema.ts (CancelledNotification)",
    says: "A cancel carries the id of a request.",
    why: "It withdraws nothing.",
    when: When::CANCEL,
    ..MUST
};

pub(crate) const CANCEL_ID_TYPE_MISMATCH: Rule = Rule {
    id: "cancel-id-type-mismatch",
    category: Category::Cancellation,
    basis: Basis::Derived,
    source: "2025-11-25 schema.ts (CancelledNotification)",
    says: "A cancel's requestId has the type of the request's id.",
    why: "A strict receiver finds no such request and goes on; a lenient one may cancel another.",
    needs: Needs::SameDirection,
    when: When::CANCEL,
    twin: "cancel-own-request",
    ..MUST
};

pub(crate) const CANCEL_TWICE: Rule = Rule {
    id: "cancel-twice",
    category: Category::Cancellation,
    level: Level::MayNote,
    basis: Basis::Derived,
    source: "2025-11-25 basic/utilities/cancellation (Behavior Requirements)",
    says: "One cancel is enough.",
    why: "Useless, and a sign that two timers watch one request.",
    needs: Needs::SameDirection,
    when: When::CANCEL,
    ..NOTE
};

pub(crate) const RESPONSE_AFTER_CANCEL_RECEIVED: Rule = Rule {
    id: "response-after-cancel-received",
    category: Category::Cancellation,
    side: Side::Receiver,
    source: "2025-11-25 basic/utilities/cancellation (Behavior Requirements)",
    says: "Who took up a cancel stops and does not answer.",
    why: "Answering is right all the same where the work was done or cannot be stopped, so this is never more than a note.",
    needs: Needs::OffenderLog,
    when: When::RESPONSE,
    twin: "cancel-no-more-messages",
    ..NOTE
};

pub(crate) const CANCEL_ANSWERED: Rule = Rule {
    id: "cancel-answered",
    category: Category::Cancellation,
    side: Side::Receiver,
    source: "2025-11-25 basic/utilities/cancellation (Error Handling)",
    says: "A cancel that means nothing to its receiver is dropped without a reply.",
    why: "The canceller waits for nothing, and the two may have crossed.",
    needs: Needs::Causal,
    when: When::RESPONSE,
    twin: "cancel-ignored-if-moot",
    ..SHOULD
};

pub(crate) const CANCEL_RACE_BROKEN: Rule = Rule {
    id: "cancel-race-broken",
    category: Category::Cancellation,
    level: Level::Must,
    side: Side::Receiver,
    source: "2025-11-25 basic/utilities/cancellation (Timing Considerations)",
    says: "A cancel and an answer that cross disturb nothing: the one that comes too late is dropped.",
    why: "The two cross sooner or later in every busy session, and a peer that ends of it takes with it all that was \
        open. That one thing followed the other is no proof, so this is a warning that names the two frames.",
    needs: Needs::Transport,
    when: When::CANCEL,
    ..SHOULD
};

pub(crate) const CANCEL_TASK_BY_NOTIFICATION: Rule = Rule {
    id: "cancel-task-by-notification",
    category: Category::Cancellation,
    basis: Basis::Text,
    from: Revision::V2025_11_25,
    source: "2025-11-25 basic/utilities/cancellation (Behavior Requirements)",
    says: "What runs as a task is cancelled with tasks/cancel.",
    why: "The request was answered when its task began: a cancelled notification finds nothing, and the task runs on.",
    needs: Needs::OffenderLog,
    when: When::CANCEL,
    ..MUST
};

/// The rows of this category.
pub(crate) const ROWS: &[Rule] = &[
    CANCEL_UNKNOWN_REQUEST,
    CANCEL_PEERS_REQUEST,
    CANCEL_AFTER_RESPONSE_RECEIVED,
    CANCEL_INITIALIZE,
    CANCEL_REQUEST_ID_MISSING,
    CANCEL_ID_TYPE_MISMATCH,
    CANCEL_TWICE,
    RESPONSE_AFTER_CANCEL_RECEIVED,
    CANCEL_ANSWERED,
    CANCEL_RACE_BROKEN,
    CANCEL_TASK_BY_NOTIFICATION,
];

/// With more cancels than this that fit nothing yet, the oldest is no longer followed.
const EARLY_MAX: usize = 64;

impl Part {
    /// What comes to the party now crossed another frame: it means nothing to it any more.
    pub(crate) fn raced(&mut self, cx: &Cx<'_>, other: FrameNo) {
        if cx.is_stateless {
            return;
        }
        self.set(flag::LAST_IN_RACE);
        if cx.frame != 0 {
            self.rare().race_frames = (other, cx.frame);
        }
    }

    /// The party ended by itself: whether that came right after frames that crossed. The verdict is what it is then.
    pub(crate) fn judge_race(&self, cx: &mut Cx<'_>, verdict: Verdict) {
        if !self.is(flag::LAST_IN_RACE) || self.inn.is_empty() && self.own.is_empty() {
            return;
        }
        let frames = self.rare.as_ref().map_or((0, 0), |rare| rare.race_frames);
        let text = format!(
            "the {} ended right after a cancel and an answer had crossed; the late one is dropped",
            self.role.as_str()
        );
        let (rule, frames) = (&CANCEL_RACE_BROKEN, [frames.0, frames.1]);
        self.case(cx, rule, verdict, None, &frames, None, text);
    }

    /// The party cancels a request.
    pub(crate) fn cancel_by(&mut self, cx: &mut Cx<'_>, message: &Message) {
        let id = message.token;
        if cx.is_stateless {
            cx.ledger.saw(bit(When::STATELESS_CANCEL));
        }
        if !id.is_legal() {
            return self.cancels_nothing(cx, message);
        }
        if self.role == Role::Server && cx.is_stateless {
            return self.server_cancels(cx, id);
        }
        if self.role == Role::Client && id == self.init_id {
            return self.cancels_initialize(cx);
        }
        match self.find_own(id) {
            Ok(at) => self.cancels_open(cx, at),
            Err(_) => self.cancels_other(cx, id),
        }
    }

    #[cold]
    fn cancels_nothing(&mut self, cx: &mut Cx<'_>, message: &Message) {
        // The schema of 2025-11-25 makes requestId optional, and nothing else.
        let is_optional = self.revision == Some(Revision::V2025_11_25)
            && !message.token.is_present()
            && message.has(Condition::HasParams);
        let severity = if is_optional {
            Severity::Warning
        } else {
            Severity::Error
        };
        let what = if message.token.is_present() {
            "a requestId that can be no id"
        } else {
            "no requestId"
        };
        let text = format!("the cancel has {what}, so it withdraws nothing");
        self.broken_at(cx, &CANCEL_REQUEST_ID_MISSING, severity, &[cx.frame], text);
    }

    #[cold]
    fn cancels_initialize(&mut self, cx: &mut Cx<'_>) {
        // It withdraws nothing and excuses much: neither an answer nor silence is reported.
        let first = self.rare.as_ref().map_or(0, |rare| rare.init_frame);
        if let Ok(at) = self.find_own(self.init_id) {
            self.own[at].flags |= open::EXCUSED;
        }
        let text = "the client cancels initialize, which cannot be withdrawn".to_string();
        self.broken(cx, &CANCEL_INITIALIZE, &[first, cx.frame], text);
    }

    fn cancels_open(&mut self, cx: &mut Cx<'_>, at: usize) {
        let own = self.own[at];
        let frames = [own.frame, cx.frame];
        if own.flags & open::CANCELLED != 0 {
            let text = format!(
                "the request {} is cancelled a second time; once is enough",
                own.id
            );
            return self.broken(cx, &CANCEL_TWICE, &frames, text);
        }
        self.own[at].flags |= open::CANCELLED;
        if self.deep.is_some() && self.cancels_task(cx, own.id, own.frame) {
            return;
        }
        if own.answer.is_some() && self.knows(own.answer) == Knows::Must {
            self.cancels_answered(cx, own.id);
        } else if cx.is_stateless && self.link == LinkKind::Http {
            let text = format!(
                "{} is cancelled by a notification; on HTTP its stream is closed instead",
                own.id
            );
            self.broken(cx, &CANCEL_NOT_ON_HTTP, &frames, text);
        }
    }

    /// The cancelled request runs as a task, or will; whether the cancel was reported as that.
    #[cold]
    fn cancels_task(&mut self, cx: &mut Cx<'_>, id: Key, asked: FrameNo) -> bool {
        let Some(deep) = self.deep.as_deref() else {
            return false;
        };
        let told = deep.tasks.told.iter().find(|told| told.request == id);
        if let Some(told) = told.filter(|_| !cx.is_stateless) {
            let severity = match self.knows(told.fact) {
                Knows::Must => Severity::Error,
                _ => Severity::Warning,
            };
            let text = format!("the cancel of {id}, which runs as a task: tasks/cancel cancels it");
            let frames = [told.frame, cx.frame];
            self.broken_at(cx, &CANCEL_TASK_BY_NOTIFICATION, severity, &frames, text);
            return true;
        }
        let told = deep.tasks_ext.told.iter().find(|told| told.request == id);
        if let Some(told) = told.filter(|told| self.knows(told.fact) == Knows::Must) {
            let text = format!("the cancel of {id}, which runs as a task: tasks/cancel cancels it");
            let frames = [told.frame, cx.frame];
            cx.set_era(Era::Stateless);
            self.broken(cx, &TASK_CANCEL_METHOD, &frames, text);
            return true;
        }
        let open = deep.own.find(id).ok().map(|at| &deep.own[at]);
        let will_run = self.revision == Some(Revision::V2025_11_25)
            && open.is_some_and(|open| {
                open.wants_task && !open.is_stateless && deep.tasks.theirs.has(open.method)
            });
        if will_run {
            // Without the task's id there is no other way.
            let text = format!(
                "the cancel of {id}, which asks to be run as a task, before its task is known: tasks/cancel cancels tasks"
            );
            let (rule, severity) = (&CANCEL_TASK_BY_NOTIFICATION, Severity::Warning);
            self.broken_at(cx, rule, severity, &[asked, cx.frame], text);
        }
        will_run
    }

    #[cold]
    fn cancels_answered(&mut self, cx: &mut Cx<'_>, id: Key) {
        let text = format!("the cancel of {id} comes after its answer was received");
        let severity = cx.is_stateless.then_some(Severity::Note);
        let (rule, frames) = (&CANCEL_AFTER_RESPONSE_RECEIVED, [cx.frame]);
        self.case(cx, rule, Verdict::Broken, severity, &frames, None, text);
    }

    /// A cancel that names no open request of its sender.
    fn cancels_other(&mut self, cx: &mut Cx<'_>, id: Key) {
        if self.deep.is_some() && self.cancels_task(cx, id, 0) {
            return;
        }
        let beyond = self
            .rare
            .as_ref()
            .map(|rare| &rare.beyond[Way::Own as usize]);
        if beyond.is_some_and(|beyond| beyond.has(id) != Used::Never) {
            return;
        }
        match self.issued.has(id) {
            Used::Before => {
                // What was forgotten may have been unread: then nothing is certain.
                if self.mode == Mode::Exact || !self.is(flag::EVICTED) {
                    self.cancels_answered(cx, id);
                }
                return;
            }
            Used::Unknown => return,
            Used::Never => {}
        }
        let outside = self.rare.as_ref();
        match outside.map_or(Used::Never, |rare| rare.outside.has(id)) {
            Used::Never => {}
            Used::Before if cx.is_stateless && !self.is(flag::EVICTED) => {
                return self.cancels_answered(cx, id);
            }
            Used::Before | Used::Unknown => return,
        }
        // Its request could not be read, and that was reported.
        if outside.is_some_and(|rare| rare.spoilt.has(id) != Used::Never) {
            return;
        }
        let coerced = self.own.iter().find(|own| {
            own.flags & open::CANCELLED == 0 && !own.answer.is_some() && is_coerced(own.id, id)
        });
        if let Some(own) = coerced {
            let frames = [own.frame, cx.frame];
            let text = format!(
                "the cancel names {id}; the request's id is {}, of another JSON type",
                own.id
            );
            return self.broken(cx, &CANCEL_ID_TYPE_MISMATCH, &frames, text);
        }
        if self.may_be_unseen() {
            return cx.pass_over(&CANCEL_UNKNOWN_REQUEST);
        }
        if self.mode == Mode::Loose {
            // On http a cancel may overtake its request.
            let early = (id, cx.frame);
            let cancels = &mut self.rare().early_cancels;
            if cancels.len() < EARLY_MAX && !cx.is_expected(&CANCEL_UNKNOWN_REQUEST) {
                cancels.push(early);
            }
            return;
        }
        if let Ok(at) = self.find_in(id) {
            let frames = [self.inn[at].frame, cx.frame];
            let text = format!(
                "the cancel names {id}, which the other side issued; to stop serving it, answer with an error"
            );
            return self.broken(cx, &CANCEL_PEERS_REQUEST, &frames, text);
        }
        self.cancels_unknown(cx, id, cx.frame);
    }

    /// A server outside sessions cancels: that ends a subscription, and nothing else.
    #[cold]
    fn server_cancels(&self, cx: &mut Cx<'_>, id: Key) {
        let listens = self.deep.as_ref().map(|deep| &deep.subscriptions);
        let is_listen = listens.is_some_and(|all| all.find(id).is_some());
        let (frame, text) = match self.find_in(id) {
            _ if is_listen => return,
            Ok(at) if self.inn[at].method == Method::SubscriptionsListen => return,
            Ok(at) => (
                self.inn[at].frame,
                format!(
                    "the server cancels {} {id}; to stop serving a request, it answers with an error",
                    self.inn[at].method.words()
                ),
            ),
            Err(_) => {
                // What lies before the recording, or could not be read or kept, may have had that id.
                let is_lossy = listens.is_some_and(|all| all.is_lossy);
                if self.may_be_unseen() {
                    return cx.pass_over(&CANCEL_SERVER_ONLY_LISTEN);
                }
                if is_lossy || self.is(flag::GARBLED_IN) {
                    return;
                }
                (
                    0,
                    format!("the server cancels {id}, which is no subscription"),
                )
            }
        };
        self.broken(cx, &CANCEL_SERVER_ONLY_LISTEN, &[frame, cx.frame], text);
    }

    /// The party sends something for a request outside sessions that was cancelled. On HTTP a cancel is
    /// told by closing the stream.
    #[cold]
    pub(crate) fn more_after_cancel(
        &self,
        cx: &mut Cx<'_>,
        request: &In,
        rule: &'static Rule,
        what: &str,
    ) {
        if self.link == LinkKind::Http || request.flags & open::EXCUSED != 0 {
            return;
        }
        let is_certain = self.has_read(request.cancel, request.cancel_frame);
        let (verdict, severity, but) = match is_certain {
            true => (Verdict::Broken, None, "which had been received"),
            false => (
                Verdict::Unsure,
                Some(Severity::Note),
                "which it may have crossed",
            ),
        };
        let text = format!("{what} comes after its cancel, {but}");
        let frames = [request.cancel_frame, cx.frame];
        self.case(cx, rule, verdict, severity, &frames, None, text);
    }

    #[cold]
    fn cancels_unknown(&mut self, cx: &mut Cx<'_>, id: Key, frame: u32) {
        let text = format!(
            "the cancel names {id}, which its sender never issued; it names an open request of its sender"
        );
        self.broken(cx, &CANCEL_UNKNOWN_REQUEST, &[frame], text);
    }

    /// Whether the party's cancel of that request was seen before the request itself.
    pub(crate) fn was_overtaken(&self, id: Key) -> bool {
        let own = self.find_own(id).ok().map(|at| self.own[at].flags);
        own.is_some_and(|flags| flags & open::CANCELLED != 0)
    }

    /// Whether a cancel for this new request was seen before it.
    #[cold]
    pub(crate) fn was_cancelled_early(&mut self, cx: &mut Cx<'_>, message: &Message) -> bool {
        let Some(rare) = &mut self.rare else {
            return false;
        };
        let Some(at) = rare
            .early_cancels
            .iter()
            .position(|(id, _)| *id == message.id)
        else {
            return false;
        };
        let (_, frame) = rare.early_cancels.remove(at);
        if message.method == Method::Initialize {
            let text = "the client cancels initialize, which cannot be withdrawn".to_string();
            self.broken(cx, &CANCEL_INITIALIZE, &[frame, cx.frame], text);
        }
        true
    }

    /// At the end: cancels that never found their request.
    pub(crate) fn judge_early_cancels(&mut self, cx: &mut Cx<'_>) {
        let Some(rare) = &mut self.rare else { return };
        for (id, frame) in std::mem::take(&mut rare.early_cancels) {
            if !self.is(flag::JOINED) {
                // The request may have been lost, or be on its way still: only its sender knows.
                let text = format!("the cancel names {id}, and no request of that id was seen");
                self.unsure(cx, &CANCEL_UNKNOWN_REQUEST, &[frame], text);
            }
        }
    }
}
