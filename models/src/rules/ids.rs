//! Ids: that requests have them, that they are used once, and that answers repeat them.

use memchr::memmem;

use mcpsim_traces::classify::key_of;
use mcpsim_traces::event::Role;
use mcpsim_traces::judge::Severity;
use mcpsim_traces::key::{Key, KeyType};
use mcpsim_traces::message::{Condition, Message, Method, Revision};
use mcpsim_traces::scan::{Scanner, white};

use crate::era::Era;
use crate::idset::Used;
use crate::ledger::Cx;
use crate::part::{Part, flag, is_text, open};
use crate::rules::errors::PARSE_ERROR;
use crate::rules::{Basis, Category, Level, MUST, NOTE, Needs, Rule, SHOULD, Side, When};

pub(crate) const REQUEST_ID_NULL: Rule = Rule {
    id: "request-id-null",
    category: Category::Ids,
    basis: Basis::Text,
    source: "2025-11-25 basic/index (Requests)",
    says: "A request's id is never null.",
    why: "JSON-RPC allows it, this protocol does not: an answer with a null id means that the request could not be read.",
    when: When::REQUEST,
    twin: "env-request-id-type",
    ..MUST
};

pub(crate) const REQUEST_ID_TYPE: Rule = Rule {
    id: "request-id-type",
    category: Category::Ids,
    basis: Basis::Text,
    source: "2025-11-25 basic/index (Requests)",
    says: "A request's id is a string or an integer.",
    why: "Booleans, objects and fractions do not survive the tables and languages that ids pass through. 1.0 is the integer 1.",
    when: When::REQUEST,
    twin: "env-request-id-type",
    ..MUST
};

pub(crate) const ID_REUSED_BY_SENDER: Rule = Rule {
    id: "id-reused-by-sender",
    category: Category::Ids,
    basis: Basis::Text,
    source: "2025-11-25 basic/index (Requests)",
    says: "A sender never uses an id twice in a session.",
    why: "A late answer to the first request would be taken for the answer to the second, even after a cancel.",
    needs: Needs::SameDirection,
    when: When::REQUEST,
    ..MUST
};

pub(crate) const ID_REUSED_WHILE_ACTIVE: Rule = Rule {
    id: "id-reused-while-active",
    category: Category::Ids,
    basis: Basis::Text,
    source: "2025-11-25 basic/index (Requests)",
    says: "No two unanswered requests of one sender share an id.",
    why: "Nobody can tell which of the two an answer is for; most servers run both, some drop one.",
    needs: Needs::SameDirection,
    when: When::REQUEST,
    twin: "id-unique-in-flight",
    ..MUST
};

pub(crate) const NOTIFICATION_WITH_ID: Rule = Rule {
    id: "notification-with-id",
    category: Category::Ids,
    basis: Basis::Text,
    source: "2025-11-25 basic/index (Notifications)",
    says: "A notification has no id.",
    why: "With an id it is a request, and the other side owes it an answer that nobody waits for.",
    when: When::CALL,
    twin: "env-notification-no-id",
    ..MUST
};

pub(crate) const REQUEST_WITHOUT_ID: Rule = Rule {
    id: "request-without-id",
    category: Category::Ids,
    until: Revision::V2026_07_28,
    source: "2025-11-25 schema.ts (JSONRPCRequest)",
    says: "A request has an id.",
    why: "Without one it is a notification: the other side must stay silent, and the sender waits for ever.",
    when: When::CALL,
    ..MUST
};

pub(crate) const RESPONSE_ID_MISMATCH: Rule = Rule {
    id: "response-id-mismatch",
    category: Category::Ids,
    basis: Basis::Text,
    side: Side::Receiver,
    source: "2025-11-25 basic/index (Responses)",
    says: "A response repeats the request's id with its type and value.",
    why: "The requester finds nothing waiting under \"7\" when it asked with 7, drops the answer \
        and times out. Ids that pass through a double lose their last digits.",
    needs: Needs::Causal,
    when: When::RESPONSE,
    twin: "corr-id-type-preserved",
    ..MUST
};

pub(crate) const RESULT_ID_MISSING: Rule = Rule {
    id: "result-id-missing",
    category: Category::Ids,
    basis: Basis::Text,
    side: Side::Receiver,
    source: "2025-11-25 basic/index (Responses)",
    says: "A result has an id.",
    why: "Nobody can tell which request it answers.",
    when: When::RESPONSE,
    twin: "env-shape",
    ..MUST
};

pub(crate) const ERROR_ID_MISSING: Rule = Rule {
    id: "error-id-missing",
    category: Category::Ids,
    level: Level::Must,
    side: Side::Receiver,
    source: "2025-11-25 basic/index (Responses)",
    says: "An error repeats the request's id, unless that could not be read.",
    why: "The requester goes on waiting, since it cannot tell that the error was meant for it.",
    needs: Needs::Causal,
    when: When::RESPONSE,
    twin: "env-error-id-absent-only-if-unreadable",
    ..SHOULD
};

pub(crate) const ID_BEYOND_2_53: Rule = Rule {
    id: "id-beyond-2-53",
    category: Category::Ids,
    level: Level::MayNote,
    basis: Basis::Derived,
    source: "2025-11-25 schema.ts (RequestId)",
    says: "Integer ids stay within what a double keeps exactly.",
    why: "Legal, but many peers read numbers as doubles and answer with a neighbouring id.",
    when: When::REQUEST,
    ..NOTE
};

/// The rows of this category.
pub(crate) const ROWS: &[Rule] = &[
    REQUEST_ID_NULL,
    REQUEST_ID_TYPE,
    ID_REUSED_BY_SENDER,
    ID_REUSED_WHILE_ACTIVE,
    NOTIFICATION_WITH_ID,
    REQUEST_WITHOUT_ID,
    RESPONSE_ID_MISMATCH,
    RESULT_ID_MISSING,
    ERROR_ID_MISSING,
    ID_BEYOND_2_53,
];

/// The largest integer that a double and its neighbours keep apart.
const EXACT_MAX: u64 = 9_007_199_254_740_991;

/// What became of a request's id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Taken {
    /// It is new.
    New,
    /// It was used before, by a request that is settled.
    Again,
    /// It belongs to an open request: there is no telling the two apart.
    Shared,
}

impl Part {
    /// Whether the request's id can be an id; a finding where not.
    #[inline]
    pub(crate) fn legal_id(&mut self, cx: &mut Cx<'_>, message: &Message) -> bool {
        if message.id.is_legal() {
            return true;
        }
        if message.id == Key::NULL {
            let text = format!(
                "{} has a null id; an id is a string or an integer",
                name(message)
            );
            self.broken(cx, &REQUEST_ID_NULL, &[cx.frame], text);
        } else {
            let text = format!(
                "the id of {} is neither a string nor an integer",
                name(message)
            );
            self.broken(cx, &REQUEST_ID_TYPE, &[cx.frame], text);
        }
        false
    }

    /// A frame named as a notification that has an id.
    #[cold]
    pub(crate) fn notification_with_id(&mut self, cx: &mut Cx<'_>, message: &Message) {
        self.set(flag::SPOKE);
        if message.method == Method::Unknown {
            return;
        }
        let text = format!("{} has an id; a notification has none", name(message));
        self.broken(cx, &NOTIFICATION_WITH_ID, &[cx.frame], text);
        // What it announces is taken as said, so that nothing else is blamed for it.
        if message.method == Method::Initialized {
            self.set(flag::INITIALIZED_SENT);
            self.proven(self.opened);
        }
        if message.method == Method::SubscriptionsAcknowledged
            && let Some(deep) = &mut self.deep
        {
            let waiting = deep.subscriptions.iter_mut();
            waiting.for_each(|one| one.told_of_ack());
        }
    }

    /// Takes the id of a new request.
    #[inline]
    pub(crate) fn take_id(
        &mut self,
        cx: &mut Cx<'_>,
        message: &Message,
        is_stateless: bool,
    ) -> Taken {
        let id = message.id;
        if !is_text(id)
            && id
                .as_integer()
                .is_none_or(|id| id.unsigned_abs() > EXACT_MAX)
        {
            let text = format!(
                "the id {id} is beyond 2^53: legal, but peers that read numbers as doubles change it"
            );
            self.broken(cx, &ID_BEYOND_2_53, &[cx.frame], text);
        }
        if let Ok(at) = self.find_own(id) {
            return self.take_open_id(cx, message, at, is_stateless);
        }
        if is_stateless {
            self.rare().outside.insert(id);
            return Taken::New;
        }
        self.take_id_in_session(cx, message)
    }

    /// An id that no open request has: within a session it must never have been used.
    fn take_id_in_session(&mut self, cx: &mut Cx<'_>, message: &Message) -> Taken {
        let id = message.id;
        if self.issued.insert(id) != Used::Before {
            return Taken::New;
        }
        let text = format!(
            "the id {id} was used before in this session; {} needs a new one",
            name(message)
        );
        self.broken(cx, &ID_REUSED_BY_SENDER, &[cx.frame], text);
        Taken::Again
    }

    #[cold]
    fn take_open_id(
        &mut self,
        cx: &mut Cx<'_>,
        message: &Message,
        at: usize,
        is_stateless: bool,
    ) -> Taken {
        let own = self.own[at];
        let frames = [own.frame, cx.frame];
        let is_settled = own.answer.is_some() || own.flags & open::CANCELLED != 0;
        if is_stateless && is_settled {
            self.drop_own(at);
            self.rare().outside.insert(own.id);
            if !own.answer.is_some() {
                self.takes_cancelled_id(cx, message, &frames);
            }
            return Taken::New;
        }
        if is_settled && own.flags & open::STATELESS != 0 {
            // It belonged to no session: there it is free again.
            self.drop_own(at);
            self.issued.insert(own.id);
            return Taken::New;
        }
        if is_settled {
            self.drop_own(at);
            if own.flags & open::STATELESS != 0 {
                // Outside sessions it was free again, and inside this one it may be new.
                return self.take_id_in_session(cx, message);
            }
            let text = format!(
                "the id {} was used before in this session; {} needs a new one",
                own.id,
                name(message)
            );
            self.broken(cx, &ID_REUSED_BY_SENDER, &frames, text);
            return Taken::Again;
        }
        self.own[at].flags |= open::REUSED;
        let text = format!(
            "{} takes the id {}, whose request has no answer yet",
            name(message),
            own.id
        );
        self.broken(cx, &ID_REUSED_WHILE_ACTIVE, &frames, text);
        Taken::Shared
    }

    /// A response without a usable id.
    #[cold]
    pub(crate) fn response_without_id(&mut self, cx: &mut Cx<'_>, message: &Message) {
        if self.role == Role::Client && cx.era != Era::Session {
            self.client_responds(cx, message);
            if cx.is_stateless {
                return;
            }
        }
        let null_is_owed = self
            .rare
            .as_ref()
            .is_some_and(|rare| rare.undecided.has(Key::NULL) != Used::Never);
        if null_is_owed {
            return;
        }
        if message.kind == mcpsim_traces::message::Kind::Result {
            self.maybe_answered_all();
            let text =
                "a result without an id answers nobody; it repeats the request's id".to_string();
            self.broken(cx, &RESULT_ID_MISSING, &[cx.frame], text);
            self.meant_for_initialize(cx, message);
            return;
        }
        let is_null = message.id == Key::NULL && cx.is_stateless;
        if is_null {
            let text =
                "the id of the error is null; it repeats the request's id, or is left out where that could not be read"
                    .to_string();
            self.broken(cx, &ERROR_ID_MISSING, &[cx.frame], text);
        }
        if cx.refused {
            return;
        }
        if self.unreadable > 0 {
            match cx.is_stateless {
                true => self.newer_unreadable_answered(cx, message),
                false => self.unreadable_answered(cx, message),
            }
            // A full counter has lost count.
            if self.unreadable < u8::MAX {
                self.unreadable -= 1;
            }
            return;
        }
        if self.refuses_batch(cx, message) || is_null {
            return;
        }
        // What came before the recording may have been unreadable.
        let has_begun = self.is(flag::WHOLE | flag::MODERN) || self.handshake_begun();
        if self.may_be_unseen() || !has_begun {
            return cx.pass_over(&ERROR_ID_MISSING);
        }
        let notification = self.rare.as_ref().map_or(0, |rare| rare.notification_frame);
        let frames = [notification, cx.frame];
        if self.is(flag::LAST_IN_CANCEL) {
            let text = "a cancel was answered with an error; what it does not mean to its receiver is dropped".to_string();
            return self.broken(cx, &super::cancellation::CANCEL_ANSWERED, &frames, text);
        }
        let is_owed = self
            .inn
            .iter()
            .any(|request| request.flags & open::LONG == 0 && !request.cancel.is_some());
        // What could be read is no text that could not.
        let is_unread = message.number == PARSE_ERROR;
        if is_owed || is_unread || !self.is(flag::NOTIFIED) {
            let text = "an error without an id, although nothing unreadable came before; it repeats the request's id".to_string();
            return self.broken(cx, &ERROR_ID_MISSING, &[cx.frame], text);
        }
        // The order is the only proof.
        let text = "an error without an id while no request is open: a notification was answered"
            .to_string();
        self.broken_at(
            cx,
            &super::correlation::RESPONSE_TO_NOTIFICATION,
            Severity::Warning,
            &frames,
            text,
        );
    }
}

/// So many ids are looked for in a line that is no message.
const SHOWN_MAX: usize = 8;

/// Hands on what stands after the name `id`, quoted somehow, in a text that is no JSON, or only a piece of it.
#[cold]
pub(crate) fn shown_ids(text: &[u8], mut use_id: impl FnMut(Key)) {
    const NAME: &[u8] = b"id";
    let quoted = memmem::find_iter(text, NAME).filter_map(|at| {
        let quote = *text.get(at.checked_sub(1)?)?;
        let after = at + NAME.len();
        let is_name = matches!(quote, b'"' | b'\'') && text.get(after) == Some(&quote);
        is_name.then_some(after + 1)
    });
    for after in quoted.take(SHOWN_MAX) {
        let colon = white(text, after);
        if text.get(colon) != Some(&b':') {
            continue;
        }
        let at = white(text, colon + 1);
        if text.get(at) == Some(&b'\'') {
            let rest = &text[at + 1..];
            if let Some(end) = memchr::memchr(b'\'', rest) {
                use_id(Key::text(&rest[..end]));
            }
        } else if let Ok(end) = Scanner::new().value(text, at) {
            let id = key_of(text, at, end);
            if id.is_legal() {
                use_id(id);
            }
        }
    }
}

/// A request or notification in words.
pub(crate) fn name(message: &Message) -> &'static str {
    match message.method {
        Method::Unknown if message.has(Condition::NotificationPrefix) => "an unknown notification",
        Method::Unknown => "an unknown method",
        method => method.words(),
    }
}

/// Whether `got` is what a careless peer makes of the id `want`.
pub(crate) fn is_coerced(want: Key, got: Key) -> bool {
    if want == got {
        return false;
    }
    match (want.key_type(), got.key_type()) {
        (KeyType::Text, KeyType::Text) => match (want.as_short_text(), got.as_short_text()) {
            (Some(want), Some(got)) => want.trim().eq_ignore_ascii_case(got.trim()),
            _ => false,
        },
        (KeyType::Integer, KeyType::Text) => spells(got, want),
        (KeyType::Text, KeyType::Integer) => spells(want, got),
        (KeyType::Integer, KeyType::Integer) => is_rounded(want, got),
        _ => false,
    }
}

/// The id that this one is most often made of: the number that it spells, or its digits.
pub(crate) fn twin(got: Key) -> Option<Key> {
    match got.as_integer() {
        Some(number) => Some(Key::text(number.to_string().as_bytes())),
        None => Key::number(got.as_short_text()?.trim().as_bytes()),
    }
}

fn spells(text: Key, number: Key) -> bool {
    text.as_short_text()
        .is_some_and(|text| Key::number(text.trim().as_bytes()) == Some(number))
}

/// What is left of an integer after a trip through a double (53 significant bits, ties to even),
/// read back with saturation.
fn through_double(value: i64) -> i64 {
    let size = value.unsigned_abs();
    let spare = (u64::BITS - size.leading_zeros()).saturating_sub(53);
    if spare == 0 {
        return value;
    }
    let (kept, rest, half) = (size >> spare, size & ((1 << spare) - 1), 1 << (spare - 1));
    let up = rest > half || (rest == half && kept & 1 == 1);
    let rounded = i128::from(kept + u64::from(up)) << spare;
    let signed = if value < 0 { -rounded } else { rounded };
    i64::try_from(signed).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

/// Through a double, or cut to 32 bits.
fn is_rounded(want: Key, got: Key) -> bool {
    match (want.as_integer(), got.as_integer()) {
        (Some(want), Some(got)) => {
            let is_large = want.unsigned_abs() > EXACT_MAX;
            is_large && through_double(want) == got
                || i32::try_from(want).is_err() && i64::from(want as i32) == got
                || u32::try_from(want).is_err() && i64::from(want as u32) == got
        }
        // Beyond 64 bits only the size of what came back can be told.
        (None, Some(got)) => got.unsigned_abs() > EXACT_MAX,
        (None, None) => true,
        (Some(_), None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_keep_53_bits() {
        for (value, expected) in [
            (9_007_199_254_740_993, 9_007_199_254_740_992),
            (9_007_199_254_740_995, 9_007_199_254_740_996),
            (-9_007_199_254_740_993, -9_007_199_254_740_992),
            (1 << 60, 1 << 60),
            (i64::MAX, i64::MAX),
            (i64::MIN, i64::MIN),
            (i64::MAX - 1024, 9_223_372_036_854_774_784),
            (7, 7),
            (0, 0),
        ] {
            assert_eq!(through_double(value), expected, "{value}");
        }
    }

    #[track_caller]
    fn check_shown(text: &str, expected: &[Key]) {
        let mut found = vec![];
        shown_ids(text.as_bytes(), |id| found.push(id));
        assert_eq!(found, expected, "{text}");
    }

    /// Ids are seen in pieces and in other people's notations, and nothing else is taken for one.
    #[test]
    fn ids_are_seen_in_what_is_no_json() {
        check_shown(r#""id": 5,"#, &[Key::integer(5)]);
        check_shown(r#"{"id" :"a\u0062","method":"#, &[Key::text(b"ab")]);
        check_shown("{'id': 'b', 'x': 1}", &[Key::text(b"b")]);
        check_shown(r#"{"id":1}{"id":2}"#, &[Key::integer(1), Key::integer(2)]);
        check_shown(r#"{"id":null,"id":[1],"id":1.5,"grid":3,id:4,"id"#, &[]);
        check_shown(r#"{"id":"a"#, &[]);
        check_shown(r#"{"a":"\"id\":7"#, &[]);
        check_shown("id", &[]);
        check_shown("'id':'", &[]);
        let many = r#""id":1 "#.repeat(100);
        check_shown(&many, &[Key::integer(1); SHOWN_MAX]);
    }
}
