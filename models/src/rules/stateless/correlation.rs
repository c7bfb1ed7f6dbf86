//! Which response belongs to which request, and who may speak, outside sessions.

use mcpsim_traces::event::LinkKind;
use mcpsim_traces::event::{FrameNo, Role};
use mcpsim_traces::judge::Severity;
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Condition, Kind, Message, Method, Revision};

use crate::ledger::Cx;
use crate::part::{Mode, Part, flag};
use crate::rules::correlation::{
    NOTIFICATION_WRONG_DIRECTION, REQUEST_WRONG_DIRECTION, RESPONSE_TO_NOTIFICATION,
};
use crate::rules::envelope::{is_in, may_send};
use crate::rules::ids::{REQUEST_WITHOUT_ID, name};
use crate::rules::stateless::versioning::{REMOVED_NOTIFICATION, is_removed};

use crate::rules::{Basis, Category, Needs, Rule, STATELESS_MUST, Side, When};

pub(crate) const ID_UNIQUE_IN_FLIGHT: Rule = Rule {
    id: "id-unique-in-flight",
    category: Category::Ids,
    side: Side::Client,
    needs: Needs::OffenderLog,
    source: "2026-07-28 basic/index (Requests)",
    says: "No two unanswered requests of a client share an id.",
    why: "Nobody can tell which of the two an answer is for. Once it is answered an id is free again; after a cancel \
        no answer may ever come, so taking its id again is worth a note.",
    ..STATELESS_MUST
};

pub(crate) const CORR_RESPONSE_KNOWN_ID: Rule = Rule {
    id: "corr-response-known-id",
    category: Category::Correlation,
    side: Side::Server,
    needs: Needs::Causal,
    when: When::STATELESS_RESPONSE,
    source: "2026-07-28 basic/index (Result Responses)",
    says: "A response carries the id of a request in flight.",
    why: "An answer to nothing is dropped; the request that it was meant for stays open.",
    ..STATELESS_MUST
};

pub(crate) const CORR_ID_TYPE_PRESERVED: Rule = Rule {
    id: "corr-id-type-preserved",
    category: Category::Correlation,
    side: Side::Server,
    needs: Needs::Causal,
    when: When::STATELESS_RESPONSE,
    source: "2026-07-28 basic/index (Result Responses)",
    says: "A response repeats the request's id with its JSON type.",
    why: "The client finds nothing waiting under \"7\" when it asked with 7, drops the answer and times out.",
    ..STATELESS_MUST
};

pub(crate) const CORR_ONE_RESPONSE: Rule = Rule {
    id: "corr-one-response",
    category: Category::Correlation,
    basis: Basis::Derived,
    side: Side::Server,
    needs: Needs::SameDirection,
    when: When::STATELESS_RESPONSE,
    source: "2026-07-28 basic/index (Responses)",
    says: "A request is answered once.",
    why: "Ids may be used again: the second answer can be taken for the answer to the next request of that id. A \
        result that asks for input ends its request too.",
    ..STATELESS_MUST
};

pub(crate) const CORR_EVERY_REQUEST_ANSWERED: Rule = Rule {
    id: "corr-every-request-answered",
    category: Category::Correlation,
    basis: Basis::Jsonrpc,
    side: Side::Server,
    needs: Needs::Time,
    source: "2026-07-28 basic/patterns/index (Request and Response)",
    says: "Every request is answered, unless it is cancelled or its channel breaks.",
    why: "The other side waits until its patience ends. A subscription stays open as long as its client likes, and \
        silence on a server/discover is how some older servers refuse it.",
    ..STATELESS_MUST
};

pub(crate) const DIR_SERVER_NEVER_REQUESTS: Rule = Rule {
    id: "dir-server-never-requests",
    category: Category::Correlation,
    side: Side::Server,
    needs: Needs::Causal,
    when: When::STATELESS_FRAME,
    source: "2026-07-28 basic/patterns/index (Overview)",
    says: "A server sends no requests.",
    why: "What it needs to know it asks for inside a result; the client has no handler for a request, and the call \
        that waits for its answer hangs.",
    ..STATELESS_MUST
};

pub(crate) const DIR_CLIENT_NEVER_RESPONDS: Rule = Rule {
    id: "dir-client-never-responds",
    category: Category::Correlation,
    side: Side::Client,
    needs: Needs::Causal,
    when: When::STATELESS_FRAME,
    source: "2026-07-28 basic/patterns/index (Overview)",
    says: "A client sends no responses.",
    why: "Nothing was asked by a request: what a result asks for is answered in the `inputResponses` of a new request.",
    ..STATELESS_MUST
};

pub(crate) const DIR_SERVER_NOT_FIRST: Rule = Rule {
    id: "dir-server-not-first",
    category: Category::Correlation,
    basis: Basis::Lowercase,
    side: Side::Server,
    needs: Needs::Causal,
    when: When::STATELESS_FRAME,
    source: "2026-07-28 basic/patterns/index (Overview)",
    says: "The server speaks only about requests in flight and open subscriptions.",
    why: "A client that reads its channel only while it waits for something never sees the notification, or takes it \
        for part of its next call.",
    ..STATELESS_MUST
};

pub(crate) const DIR_METHOD_WRONG_SIDE: Rule = Rule {
    id: "dir-method-wrong-side",
    category: Category::Correlation,
    basis: Basis::Schema,
    side: Side::Both,
    when: When::STATELESS_FRAME,
    source: "2026-07-28 schema.ts (ClientRequest)",
    says: "Each method is sent by the side that the revision gives it to.",
    why: "The other side has no use for it; progress, which clients once could send, goes only from servers to clients here.",
    ..STATELESS_MUST
};

pub(crate) const ROWS: &[Rule] = &[
    ID_UNIQUE_IN_FLIGHT,
    CORR_RESPONSE_KNOWN_ID,
    CORR_ID_TYPE_PRESERVED,
    CORR_ONE_RESPONSE,
    CORR_EVERY_REQUEST_ANSWERED,
    DIR_SERVER_NEVER_REQUESTS,
    DIR_CLIENT_NEVER_RESPONDS,
    DIR_SERVER_NOT_FIRST,
    DIR_METHOD_WRONG_SIDE,
];

/// So many of the latest odd notifications are remembered.
const NAMED_MAX: usize = 32;

/// Whether that side may send that method under 2026-07-28: no requests come from servers, and fewer
/// notifications from clients than before.
pub(crate) fn may_send_newer(role: Role, method: Method) -> bool {
    match method {
        Method::Progress => role == Role::Server,
        Method::TasksGet | Method::TasksCancel | Method::TasksUpdate => role == Role::Client,
        _ => may_send(role, method),
    }
}

impl Part {
    /// The server sends a request outside any session.
    #[cold]
    pub(crate) fn server_requests(&mut self, cx: &mut Cx<'_>, message: &Message) {
        let text = format!(
            "the server sends a request, {}; what it needs to know it asks for inside a result",
            name(message)
        );
        // It may belong to a session from before the recording.
        match self.is(flag::JOINED | flag::LATE) {
            true => self.unsure(cx, &DIR_SERVER_NEVER_REQUESTS, &[cx.frame], text),
            false => self.broken(cx, &DIR_SERVER_NEVER_REQUESTS, &[cx.frame], text),
        }
    }

    /// The client sends a response outside any session, and to no request of the server.
    #[cold]
    pub(crate) fn client_responds(&mut self, cx: &mut Cx<'_>, message: &Message) {
        // Something unreadable came, and it says so in the old way.
        if message.kind == Kind::Error && !message.id.is_present() && self.unreadable > 0 {
            return;
        }
        let text = "the client sends a response, and no request was sent to it; \
            what a result asks for is answered in a new request"
            .to_string();
        self.broken(cx, &DIR_CLIENT_NEVER_RESPONDS, &[cx.frame], text);
    }

    /// The id of a request that was cancelled and never answered is taken again.
    #[cold]
    pub(crate) fn takes_cancelled_id(
        &self,
        cx: &mut Cx<'_>,
        message: &Message,
        frames: &[FrameNo],
    ) {
        let text = format!(
            "{} takes the id {}, whose request was cancelled and has no answer; one may be on its way still",
            name(message),
            message.id
        );
        self.broken_at(cx, &ID_UNIQUE_IN_FLIGHT, Severity::Note, frames, text);
    }

    /// A notification that does not belong to a session, or that may not. Whether a finding says all
    /// there is to say about it.
    pub(crate) fn newer_notification(&mut self, cx: &mut Cx<'_>, message: &Message) -> bool {
        let method = message.method;
        if method == Method::Unknown {
            self.speaks_unasked(cx, message);
            return false;
        }
        if is_removed(method) && method.is_notification() {
            let text = format!("revision 2026-07-28 has no {} any more", method.words());
            self.broken(cx, &REMOVED_NOTIFICATION, &[cx.frame], text);
            return true;
        }
        if !cx.is_stateless {
            // The rules of sessions say the rest, and these under their other names.
            return false;
        }
        let is_of_side = may_send_newer(self.role, method);
        if method.is_request() && self.role == Role::Client && is_of_side {
            let text = format!("{} has no id, so nobody may answer it", method.words());
            self.broken(cx, &REQUEST_WITHOUT_ID, &[cx.frame], text);
            return true;
        }
        if !is_of_side || method.is_request() {
            let text = format!(
                "{} is the {}'s to send",
                method.words(),
                self.role.other().as_str()
            );
            self.broken(cx, &NOTIFICATION_WRONG_DIRECTION, &[cx.frame], text);
            return true;
        }
        false
    }

    /// A notification of the server that no other rule speaks about, while nothing is open.
    fn speaks_unasked(&mut self, cx: &mut Cx<'_>, message: &Message) {
        let is_judged = self.role == Role::Server && self.mode != Mode::Loose;
        let has_cause = !self.inn.is_empty() || self.has_extensions();
        if !is_judged || has_cause || message.has(Condition::UnprefixedNotification) {
            return;
        }
        if self.may_be_unseen() {
            return cx.pass_over(&DIR_SERVER_NOT_FIRST);
        }
        let text = "the server sends a notification while no request is in flight and no subscription is open"
            .to_string();
        self.broken(cx, &DIR_SERVER_NOT_FIRST, &[cx.frame], text);
    }

    /// Whether the client ever said that it knows an extension.
    fn has_extensions(&self) -> bool {
        let outside = self.deep.as_ref().and_then(|deep| deep.outside.as_ref());
        outside.is_some_and(|outside| !outside.extensions.is_empty())
    }

    /// Judges who sends a request outside any session.
    pub(crate) fn direction_outside(&mut self, cx: &mut Cx<'_>, message: &Message) -> bool {
        let method = message.method;
        let is_known = !matches!(method, Method::None | Method::Unknown);
        if !is_known || !is_in(method, Revision::V2026_07_28) || may_send_newer(self.role, method) {
            return false;
        }
        let text = format!(
            "{} is the {}'s to send",
            method.words(),
            self.role.other().as_str()
        );
        self.broken(cx, &REQUEST_WRONG_DIRECTION, &[cx.frame], text);
        true
    }

    /// Remembers what a notification toward the party may wrongly be answered by.
    pub(crate) fn note_named(&mut self, cx: &Cx<'_>, message: &Message) {
        if self.role != Role::Server {
            return;
        }
        if self.link == LinkKind::Http && cx.stream != 0 {
            let list = &mut self.rare().one_way;
            if list.len() == NAMED_MAX {
                list.remove(0);
            }
            list.push((cx.stream, cx.frame));
        }
        if message.method == Method::Cancelled
            && message.token.is_legal()
            && self.find_in(message.token).is_err()
        {
            let list = &mut self.rare().named;
            if list.len() == NAMED_MAX {
                list.remove(0);
            }
            list.push((message.token, cx.frame));
        }
    }

    /// Whether a response with an id that no request had answers a notification; then it is a finding.
    pub(crate) fn answers_notification(&mut self, cx: &mut Cx<'_>, id: Key) -> bool {
        let Some(rare) = &self.rare else { return false };
        // A cancel may have crossed the answer to a request that was not seen.
        let has_missed = self.may_be_unseen() || self.is(flag::GARBLED_IN);
        let named = rare.named.iter().find(|(named, _)| *named == id);
        let named = named.filter(|_| !has_missed);
        let on_stream = rare.one_way.iter().find(|(stream, _)| *stream == cx.stream);
        let frame = match (named, on_stream) {
            (Some((_, frame)), _) | (None, Some((_, frame))) => *frame,
            (None, None) => return false,
        };
        let text = format!("the response {id} answers a notification; nobody waits for it");
        self.broken(cx, &RESPONSE_TO_NOTIFICATION, &[frame, cx.frame], text);
        true
    }

    /// Whether a request may stand before the recording: it begins in the middle of a session, or with a request that need
    /// not be the first one. Ids tell nothing: outside sessions they are free again once they are answered.
    pub(crate) fn may_be_unseen(&self) -> bool {
        let is_probed = || self.rare.as_ref().is_some_and(|rare| rare.is_probed);
        self.is(flag::JOINED | flag::LATE) || is_probed() && !self.handshake_begun()
    }
}
