//! Progress: tokens, their series, and when they end.

use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Condition, Message, Revision};

use crate::idset::Used;
use crate::ledger::{Cx, bit};
use crate::part::{In, Mode, Part, Reached, flag, open};
use crate::rules::ids::Taken;
use crate::rules::{Basis, Category, Level, MUST, NOTE, Needs, Rule, Side, When};

pub(crate) const PROGRESS_TOKEN_TYPE: Rule = Rule {
    id: "progress-token-type",
    category: Category::Progress,
    basis: Basis::Text,
    until: Revision::V2026_07_28,
    source: "2025-11-25 basic/utilities/progress (Progress Flow)",
    says: "A progress token is a string or an integer.",
    why: "Other types are coerced on the way, and progress comes back under a token that nobody gave.",
    when: When::TOKEN,
    ..MUST
};

pub(crate) const PROGRESS_TOKEN_NOT_UNIQUE: Rule = Rule {
    id: "progress-token-not-unique",
    category: Category::Progress,
    basis: Basis::Text,
    source: "2025-11-25 basic/utilities/progress (Progress Flow)",
    says: "A progress token belongs to one active request of its sender.",
    why: "Nobody can tell whose progress it is.",
    needs: Needs::OffenderLog,
    when: When::TOKEN,
    twin: "progress-token-unique",
    ..MUST
};

pub(crate) const PROGRESS_UNKNOWN_TOKEN: Rule = Rule {
    id: "progress-unknown-token",
    category: Category::Progress,
    basis: Basis::Text,
    side: Side::Receiver,
    source: "2025-11-25 basic/utilities/progress (Behavior Requirements)",
    says: "Progress is reported only for a token that the other side supplied.",
    why: "It is dropped, and the request that it is for looks dead. The request's id is no substitute.",
    needs: Needs::Causal,
    when: When::PROGRESS,
    twin: "progress-known-token",
    ..MUST
};

pub(crate) const PROGRESS_OWN_TOKEN: Rule = Rule {
    id: "progress-own-token",
    category: Category::Progress,
    basis: Basis::Derived,
    source: "2025-11-25 basic/utilities/progress (Progress Flow)",
    says: "Progress comes from the side that does the work.",
    why: "The sender supplied this token itself: it reports to itself.",
    needs: Needs::Causal,
    when: When::PROGRESS,
    ..MUST
};

pub(crate) const PROGRESS_AFTER_RESPONSE: Rule = Rule {
    id: "progress-after-response",
    category: Category::Progress,
    basis: Basis::Text,
    side: Side::Receiver,
    source: "2025-11-25 basic/utilities/progress (Implementation Notes)",
    says: "Progress ends with the response.",
    why: "The token is retired by then; some clients report an error, some show it on the wrong call.",
    needs: Needs::SameDirection,
    when: When::PROGRESS,
    twin: "progress-stops-after-response",
    ..MUST
};

pub(crate) const PROGRESS_AFTER_CANCEL: Rule = Rule {
    id: "progress-after-cancel",
    category: Category::Progress,
    basis: Basis::Derived,
    side: Side::Receiver,
    source: "2025-11-25 basic/utilities/cancellation (Behavior Requirements)",
    says: "After a cancel there is no more progress.",
    why: "Who cannot stop the work may go on, so this is never more than a note.",
    needs: Needs::OffenderLog,
    when: When::PROGRESS,
    twin: "cancel-no-more-messages",
    ..NOTE
};

pub(crate) const PROGRESS_NOT_INCREASING: Rule = Rule {
    id: "progress-not-increasing",
    category: Category::Progress,
    basis: Basis::Text,
    side: Side::Receiver,
    source: "2025-11-25 basic/utilities/progress (Progress Flow)",
    says: "Each progress value is greater than the one before.",
    why: "Bars jump back, and timers that restart on progress never end. Equal values count.",
    needs: Needs::SameDirection,
    when: When::PROGRESS,
    twin: "progress-increases",
    ..MUST
};

pub(crate) const PROGRESS_FIELDS: Rule = Rule {
    id: "progress-fields",
    category: Category::Progress,
    side: Side::Receiver,
    source: "2025-11-25 schema.ts (ProgressNotification)",
    says: "A progress notification has a token and a number.",
    why: "Without them it reports nothing on nothing.",
    when: When::PROGRESS,
    ..MUST
};

pub(crate) const PROGRESS_BEYOND_TOTAL: Rule = Rule {
    id: "progress-beyond-total",
    category: Category::Progress,
    level: Level::MayNote,
    basis: Basis::Derived,
    side: Side::Receiver,
    source: "2025-11-25 basic/utilities/progress (Progress Flow)",
    says: "Progress goes up to the total, not past it.",
    why: "Bars stand at more than all of it; nothing forbids it, and a total may be corrected later.",
    when: When::PROGRESS,
    ..NOTE
};

pub(crate) const PROGRESS_TASK_TOKEN: Rule = Rule {
    id: "progress-task-token",
    category: Category::Progress,
    basis: Basis::Text,
    side: Side::Receiver,
    from: Revision::V2025_11_25,
    source: "2025-11-25 basic/utilities/progress (Behavior Requirements)",
    says: "Progress of a task keeps the token of the request that created it.",
    why: "The bar of another request moves, and the task's own stands still.",
    needs: Needs::Causal,
    when: When::PROGRESS,
    ..MUST
};

pub(crate) const PROGRESS_AFTER_TASK_END: Rule = Rule {
    id: "progress-after-task-end",
    category: Category::Progress,
    basis: Basis::Text,
    side: Side::Receiver,
    from: Revision::V2025_11_25,
    source: "2025-11-25 basic/utilities/progress (Behavior Requirements)",
    says: "Progress of a task ends when the task does.",
    why: "The requestor has let the token go; what comes later is dropped or shown on another request.",
    needs: Needs::SameDirection,
    when: When::PROGRESS,
    ..MUST
};

/// The rows of this category.
pub(crate) const ROWS: &[Rule] = &[
    PROGRESS_TOKEN_TYPE,
    PROGRESS_TOKEN_NOT_UNIQUE,
    PROGRESS_UNKNOWN_TOKEN,
    PROGRESS_OWN_TOKEN,
    PROGRESS_AFTER_RESPONSE,
    PROGRESS_AFTER_CANCEL,
    PROGRESS_NOT_INCREASING,
    PROGRESS_FIELDS,
    PROGRESS_BEYOND_TOTAL,
    PROGRESS_TASK_TOKEN,
    PROGRESS_AFTER_TASK_END,
];

impl Part {
    /// Takes the token of a new request; whether it can be none.
    #[inline]
    pub(crate) fn take_token(&mut self, cx: &mut Cx<'_>, message: &Message, taken: Taken) -> bool {
        if !message.token.is_present() {
            return false;
        }
        cx.ledger.saw(bit(When::TOKEN));
        if cx.is_stateless {
            cx.ledger.saw(bit(When::STATELESS_TOKEN));
        }
        if !message.token.is_legal() {
            let text = "the progress token is neither a string nor an integer".to_string();
            self.broken(cx, &PROGRESS_TOKEN_TYPE, &[cx.frame], text);
            return true;
        }
        if taken == Taken::Shared {
            return false;
        }
        let tokens = self.tokens();
        let same: Vec<Key> = tokens.own.ids(message.token).collect();
        tokens.own.insert((message.token, message.id));
        tokens.supplied.insert(message.token);
        for id in same {
            let Ok(at) = self.find_own(id) else { continue };
            let own = self.own[at];
            // Where own frames have no order, a cancel of the first may be on its way.
            let is_active = own.flags & (open::CANCELLED | open::EXCUSED | open::REUSED) == 0
                && !own.answer.is_some()
                && self.mode != Mode::Loose;
            if is_active {
                let text = format!(
                    "the progress token {} still belongs to the open request {id}",
                    message.token
                );
                self.broken(cx, &PROGRESS_TOKEN_NOT_UNIQUE, &[own.frame, cx.frame], text);
                break;
            }
        }
        false
    }

    /// The party reports progress.
    pub(crate) fn progress_by(&mut self, cx: &mut Cx<'_>, message: &Message) {
        let token = message.token;
        if message.has(Condition::ParamsNotObject) {
            return;
        }
        if !token.is_present()
            || message.has(Condition::ProgressMissing)
            || message.has(Condition::TotalNotNumber)
        {
            let what = match () {
                () if !token.is_present() => "no progressToken",
                () if message.has(Condition::ProgressMissing) => "no number as `progress`",
                () => "a `total` that is no number",
            };
            let text = format!("the progress notification has {what}");
            return self.broken(cx, &PROGRESS_FIELDS, &[cx.frame], text);
        }
        if !token.is_legal() && self.is(flag::ODD_TOKEN) {
            // It repeats what it was given: whoever asked for it was told.
            return;
        }
        if !token.is_legal() {
            let text = "the progress token is neither a string nor an integer".to_string();
            return self.broken(cx, &PROGRESS_TOKEN_TYPE, &[cx.frame], text);
        }
        self.progress_within_total(cx, message);
        if self.deep.is_some() && self.progress_of_task(cx, message) {
            return;
        }
        let Some(tokens) = &self.tokens else {
            return self.progress_for_nobody(cx, message);
        };
        let from = tokens.inn.first(token);
        let list = tokens.inn.list.iter_from(from);
        let count = list.take_while(|series| series.token == token).count();
        match count {
            0 => self.progress_for_nobody(cx, message),
            1 => self.progress_in_series(cx, message, from),
            _ => self.progress_in_some(token),
        }
    }

    fn progress_within_total(&self, cx: &mut Cx<'_>, message: &Message) {
        let total = cx.payload.and_then(|params| params.get("total"));
        let Some(total) = total else { return };
        if total.as_ordered().is_some_and(|most| message.number > most) {
            let text = format!(
                "progress {} of a total of {}",
                Reached::of(message),
                String::from_utf8_lossy(total.raw())
            );
            self.broken_value(cx, &PROGRESS_BEYOND_TOTAL, total, text);
        }
    }

    fn progress_in_series(&mut self, cx: &mut Cx<'_>, message: &Message, from: usize) {
        let Some(series) = self.tokens.as_ref().map(|tokens| tokens.inn.list[from]) else {
            return;
        };
        let Ok(at) = self.find_in(series.id) else {
            return;
        };
        let request = self.inn[at];
        self.proven(request.fact);
        if request.cancel.is_some() {
            self.progress_after_cancel(cx, &request);
        }
        // Across streams there is no order to compare in.
        let is_ordered = self.mode != Mode::Loose || cx.stream == series.stream;
        let reached = Reached::of(message);
        let is_compared = is_ordered && series.begun;
        let is_beyond = match is_compared {
            true => reached.is_beyond(series.last),
            false => Some(true),
        };
        if is_beyond.is_none() {
            cx.pass_over(&PROGRESS_NOT_INCREASING);
        }
        if is_beyond == Some(false) {
            let text = format!(
                "progress for token {} is {reached} after {}; each value is greater than the one before",
                series.token, series.last
            );
            self.broken(
                cx,
                &PROGRESS_NOT_INCREASING,
                &[series.frame, cx.frame],
                text,
            );
        }
        let series = &mut self.tokens().inn.list[from];
        series.last = reached;
        series.begun = true;
        series.frame = cx.frame;
        series.stream = cx.stream;
    }

    #[cold]
    fn progress_after_cancel(&self, cx: &mut Cx<'_>, request: &In) {
        if request.flags & open::STATELESS != 0 {
            let what = format!("progress for {}", request.id);
            return self.more_after_cancel(cx, request, &PROGRESS_AFTER_CANCEL, &what);
        }
        let text = format!(
            "progress for {} after its cancel; the two may have crossed, or the work cannot be stopped",
            request.id
        );
        let frames = [request.cancel_frame, cx.frame];
        self.unsure(cx, &PROGRESS_AFTER_CANCEL, &frames, text);
    }

    /// Several open requests share the token (after a cancel, say): which one this is for cannot be told,
    /// so no series is compared, and it proves no more than the earliest of them.
    #[cold]
    fn progress_in_some(&mut self, token: Key) {
        let Some(tokens) = &mut self.tokens else {
            return;
        };
        let sharing = tokens.inn.list.iter_mut();
        let sharing = sharing.filter(|series| series.token == token);
        sharing.for_each(|series| series.begun = false);
        let ids: Vec<Key> = tokens.inn.ids(token).collect();
        let facts = ids
            .iter()
            .filter_map(|&id| self.find_in(id).ok())
            .map(|at| self.inn[at].fact);
        if let Some(earliest) = facts.min_by_key(|fact| fact.0) {
            self.proven(earliest);
        }
    }

    /// Progress under a token that belongs to no request that is open toward the party.
    #[cold]
    fn progress_for_nobody(&mut self, cx: &mut Cx<'_>, message: &Message) {
        let token = message.token;
        let (mut is_supplied, mut is_done) = (Used::Never, Used::Never);
        if let Some(tokens) = &self.tokens {
            if tokens.open_ended.has(token) != Used::Never {
                return;
            }
            is_done = tokens.done.has(token);
            is_supplied = tokens.supplied.has(token);
        }
        if is_done == Used::Unknown || is_supplied == Used::Unknown {
            return;
        }
        if is_done == Used::Before {
            let text = format!(
                "progress for token {token} after the answer to its request; it ends with the answer"
            );
            let (answer, stream) = self.token_answer(token);
            let frames = [answer, cx.frame];
            // Only along one stream something is late.
            let is_late = self.mode != Mode::Loose || stream != 0 && stream == cx.stream;
            if !is_late {
                return self.unsure(cx, &PROGRESS_AFTER_RESPONSE, &frames, text);
            }
            return self.broken(cx, &PROGRESS_AFTER_RESPONSE, &frames, text);
        }
        if self.may_be_unseen() {
            return cx.pass_over(&PROGRESS_UNKNOWN_TOKEN);
        }
        if self.is(flag::GARBLED_IN) {
            return;
        }
        if is_supplied == Used::Before {
            let text = format!("progress under token {token}, which its sender supplied itself");
            return self.broken(cx, &PROGRESS_OWN_TOKEN, &[cx.frame], text);
        }
        let text = format!(
            "progress under token {token}, which no request of the other side supplied; progress names the token of an open request"
        );
        self.broken(cx, &PROGRESS_UNKNOWN_TOKEN, &[cx.frame], text);
    }
}
