//! How streams begin, end, and are gone on with.

use mcpsim_traces::event::{FrameNo, Role};
use mcpsim_traces::judge::Severity;
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Kind, Method, Revision};

use super::requests::HTTP_CANCEL_EXPLICIT;
use super::{HTTP_NOTE, HTTP_SHOULD};
use crate::http::head::Media;
use crate::http::{End, Exchange, Exchanges, Fault, HowDead, Scene, mark};
use crate::observer::Seen;
use crate::part::open;
use crate::rules::ids::name;
use crate::rules::stateless::subscriptions::is_of_subscriptions;
use crate::rules::{Level, Rule, Side, When};

pub(crate) const HTTP_SSE_HAS_RESPONSE: Rule = Rule {
    id: "http-sse-has-response",
    side: Side::Server,
    source: "2025-11-25 basic/transports (Sending Messages to the Server)",
    says: "The stream that answers a request carries the response in the end.",
    why: "The stream is over and the caller has no result and no error: it can only guess.",
    when: When::HTTP_END,
    ..HTTP_SHOULD
};

pub(crate) const HTTP_SSE_CLOSE_EARLY: Rule = Rule {
    id: "http-sse-close-early",
    level_by: &[(Revision::V2025_11_25, Level::MayNote)],
    severity_by: &[(Revision::V2025_11_25, Severity::Note)],
    side: Side::Server,
    source: "2025-06-18 basic/transports (Sending Messages to the Server)",
    says: "The server keeps a request's stream open until the response is sent; \
        since 2025-11-25 it may close the connection once an event had an id.",
    why: "Without an event id the client has no way to ask for the rest.",
    when: When::HTTP_END,
    ..HTTP_SHOULD
};

pub(crate) const HTTP_SSE_CLOSE_AFTER_RESPONSE: Rule = Rule {
    id: "http-sse-close-after-response",
    side: Side::Server,
    source: "2025-11-25 basic/transports (Sending Messages to the Server)",
    says: "After the response the stream ends.",
    why: "Clients stop reading there: what comes later is lost, and a stream left open holds a connection.",
    when: When::HTTP_STREAM,
    twin: "http-stream-ends-with-response",
    ..HTTP_NOTE
};

pub(crate) const HTTP_PRIME_EVENT: Rule = Rule {
    id: "http-prime-event",
    side: Side::Server,
    from: Revision::V2025_11_25,
    source: "2025-11-25 basic/transports (Sending Messages to the Server)",
    says: "A stream begins with an event that has an id and no data.",
    why: "A connection that breaks before the first message leaves the client without an id to go on from.",
    when: When::SSE,
    ..HTTP_NOTE
};

pub(crate) const HTTP_RETRY_FIELD: Rule = Rule {
    id: "http-retry-field",
    side: Side::Server,
    from: Revision::V2025_11_25,
    source: "2025-11-25 basic/transports (Sending Messages to the Server)",
    says: "A server that closes a connection before the stream is over says with retry how long to wait.",
    why: "Otherwise the client comes back at once, or after its own long pause.",
    when: When::HTTP_END,
    ..HTTP_NOTE
};

pub(crate) const HTTP_RETRY_RESPECTED: Rule = Rule {
    id: "http-retry-respected",
    level: Level::Must,
    severity: Severity::Warning,
    side: Side::Client,
    from: Revision::V2025_11_25,
    source: "2025-11-25 basic/transports (Sending Messages to the Server)",
    says: "A client waits as long as retry says before it connects again.",
    why: "Clients that come back too early are the load that the server wanted to avoid.",
    when: When::HTTP_RESUMED,
    ..HTTP_NOTE
};

pub(crate) const HTTP_POLL_AFTER_CLOSE: Rule = Rule {
    id: "http-poll-after-close",
    side: Side::Client,
    from: Revision::V2025_11_25,
    source: "2025-11-25 basic/transports (Sending Messages to the Server)",
    says: "After the server has closed the connection of an unfinished stream, the client connects again to go on with it.",
    why: "The result waits there; a client that does not fetch it has lost its request.",
    when: When::HTTP_END,
    ..HTTP_NOTE
};

/// The rows of this theme.
pub(crate) const ROWS: &[Rule] = &[
    HTTP_SSE_HAS_RESPONSE,
    HTTP_SSE_CLOSE_EARLY,
    HTTP_SSE_CLOSE_AFTER_RESPONSE,
    HTTP_PRIME_EVENT,
    HTTP_RETRY_FIELD,
    HTTP_RETRY_RESPECTED,
    HTTP_POLL_AFTER_CLOSE,
];

/// Clocks of timers are no finer.
const GRAIN_MS: u64 = 20;

impl Exchanges {
    /// The first event of a stream, in a session whose server gives events ids.
    pub(crate) fn judge_priming(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &Exchange,
        has_id: bool,
        is_blank: bool,
        frame: FrameNo,
    ) {
        let is_first = !exchange.is(mark::EVENTS) && exchange.is_post() && exchange.requests > 0;
        if !is_first || self.told_priming || exchange.is_stateless() || self.old.is_some() {
            return;
        }
        let gives_ids = has_id || self.events.has_ids;
        if !gives_ids || has_id && is_blank {
            return;
        }
        self.told_priming = true;
        let text = if has_id {
            "the first event of a stream has data; a stream begins with an id and no data"
        } else {
            "the first event of a stream has no id; a stream begins with an id and no data"
        };
        let frames = exchange.frames(frame);
        self.broken(scene, Role::Server, &HTTP_PRIME_EVENT, &frames, text);
    }

    /// A GET goes on with a stream.
    pub(crate) fn resume(&mut self, scene: &mut Scene<'_>, exchange: &Exchange) {
        scene.saw(When::HTTP_RESUMED);
        let Some(event) = self.events.get(exchange.last_event) else {
            return;
        };
        if let Some(root) = event.root
            && let Some(first) = self.exchange_mut(root.stream)
        {
            first.set(mark::RESUMED);
            first.asked.iter().for_each(|&id| scene.uncut(id));
        }
        let Some(before) = self.exchange_mut(event.stream) else {
            return;
        };
        before.set(mark::RESUMED);
        let (Some(retry_ms), Some(End { at_ms, .. })) = (before.retry_ms, before.end) else {
            return;
        };
        let last = before.answer_frame.max(event.frame);
        if at_ms == 0 || scene.now_ms == 0 {
            return;
        }
        let waited_ms = scene.now_ms.saturating_sub(at_ms);
        if waited_ms + GRAIN_MS < retry_ms {
            let text = format!(
                "the client connects again after {waited_ms} ms; the stream said to wait {retry_ms} ms"
            );
            let frames = [last, exchange.frame];
            self.broken(scene, Role::Client, &HTTP_RETRY_RESPECTED, &frames, text);
        }
    }

    /// Something that is no answer comes after the last answer.
    pub(crate) fn judge_trailing(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        seen: &Seen<'_>,
    ) {
        let is_done =
            exchange.requests > 0 && exchange.asked.is_empty() && exchange.is(mark::ANSWERED);
        if !is_done || !exchange.is_post() || exchange.is(mark::TRAILED | mark::SHARED) {
            return;
        }
        let message = seen.message;
        let has_closer_rule = message.kind == Kind::Request
            || message.method == Method::LogMessage
            || is_of_subscriptions(message.method);
        if exchange.is_stateless() && has_closer_rule {
            return;
        }
        exchange.set(mark::TRAILED);
        let text = format!(
            "{} comes on the stream after the answer to its request; the stream ends with it",
            name(message)
        );
        let rule = &HTTP_SSE_CLOSE_AFTER_RESPONSE;
        let frames = exchange.frames(seen.frame);
        let fault = Fault::new(Role::Server, rule, &frames, text).at(Severity::Warning);
        self.say(scene, fault.in_era(exchange.is_stateless()));
    }

    /// The exchange ended.
    pub(crate) fn judge_end(&mut self, scene: &mut Scene<'_>, exchange: &mut Exchange) {
        scene.saw(When::HTTP_END);
        let by = exchange.end.and_then(|end| end.by);
        if exchange.is_stateless() && by == Some(Role::Client) {
            return self.withdraw(scene, exchange);
        }
        let is_success = exchange
            .status
            .is_none_or(|status| (200..300).contains(&status));
        let is_asked = exchange.is_post() && !exchange.asked.is_empty();
        if by != Some(Role::Server) || !is_asked || !is_success || self.old.is_some() {
            return;
        }
        if exchange.media == Media::Json && exchange.messages == 0 {
            return self.judge_empty(scene, exchange);
        }
        let is_cut = exchange.is_stream() && self.open_request(scene, exchange).is_some();
        if !is_cut || self.session.dead.is_some() || exchange.is_stateless() {
            return;
        }
        exchange.set(mark::CUT_EARLY);
        let is_told = exchange.retry_ms.is_some() || !self.has_event_fields;
        if exchange.is(mark::HAS_ID) && !is_told {
            let text = "the connection is closed before the answer, and no retry field said how long to wait";
            let frames = exchange.frames(exchange.answer_frame);
            self.broken(scene, Role::Server, &HTTP_RETRY_FIELD, &frames, text);
        }
    }

    /// Outside sessions, who closes the exchange withdraws the request.
    fn withdraw(&mut self, scene: &mut Scene<'_>, exchange: &Exchange) {
        for &id in &exchange.asked {
            if let Ok(at) = scene.client.find_own(id) {
                scene.client.own[at].flags |= open::CANCELLED;
            }
        }
    }

    /// A request of the exchange that nobody has answered or withdrawn.
    fn open_request(&self, scene: &Scene<'_>, exchange: &Exchange) -> Option<Key> {
        exchange.asked.iter().copied().find(|&id| {
            let is_owed = |at: usize| !scene.server.inn[at].cancel.is_some();
            scene.server.find_in(id).is_ok_and(is_owed)
        })
    }

    /// At the end of the log: streams that were left, or left open.
    pub(crate) fn judge_left(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        is_over: bool,
    ) {
        let aside =
            mark::FOREIGN | mark::OTHER_SESSION | mark::SHARED | mark::STATELESS | mark::ASIDE;
        if self.old.is_some() || exchange.is(aside) || !exchange.is_post() {
            return;
        }
        let Some(revision) = scene.revision() else {
            return;
        };
        if exchange.is(mark::CUT_EARLY) {
            self.judge_cut_early(scene, exchange, revision, is_over);
        } else if exchange.end.and_then(|end| end.by) == Some(Role::Client) {
            self.judge_given_up(scene, exchange, revision, is_over);
        } else if exchange.end.is_none() {
            self.judge_left_open(scene, exchange);
        }
    }

    fn judge_cut_early(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        revision: Revision,
        is_over: bool,
    ) {
        let is_expired = |dead: &crate::http::Dead| dead.how != HowDead::Deleted;
        if self.session.dead.as_ref().is_some_and(is_expired) {
            return;
        }
        let open = self.open_request(scene, exchange);
        if open.is_some_and(|id| scene.client.was_overtaken(id)) {
            return self.settle(scene, exchange);
        }
        let is_latest = revision == Revision::V2025_11_25;
        if is_latest && exchange.is(mark::HAS_ID) {
            if open.is_some() && is_over {
                self.judge_not_polled(scene, exchange);
            }
            return;
        }
        if is_latest && !self.has_event_fields {
            return;
        }
        let frames = exchange.frames(exchange.answer_frame);
        let fault = match open {
            Some(id) if is_over || is_latest => {
                let text = format!(
                    "the stream ended without the answer to {} {id}",
                    exchange.method.words()
                );
                let fault = Fault::new(Role::Server, &HTTP_SSE_HAS_RESPONSE, &frames, text);
                fault.sure_if(is_over)
            }
            _ => {
                let text = format!(
                    "the server closed the stream before the answer to {}",
                    exchange.method.words()
                );
                Fault::new(Role::Server, &HTTP_SSE_CLOSE_EARLY, &frames, text)
            }
        };
        self.settle(scene, exchange);
        self.say(scene, fault);
    }

    fn judge_not_polled(&mut self, scene: &mut Scene<'_>, exchange: &mut Exchange) {
        let at = exchange.end.map_or(0, |end| end.at_ms);
        let waited_ms = scene.now_ms.saturating_sub(at);
        let is_early = exchange
            .retry_ms
            .is_some_and(|retry_ms| waited_ms < retry_ms);
        if exchange.is(mark::RESUMED) || is_of_tasks(exchange.method) || is_early && at != 0 {
            return;
        }
        self.settle(scene, exchange);
        let text = format!(
            "the server closed the connection before the answer to {}, and the client never came back for it",
            exchange.method.words()
        );
        let frames = exchange.frames(exchange.answer_frame);
        self.broken(scene, Role::Client, &HTTP_POLL_AFTER_CLOSE, &frames, text);
    }

    fn judge_given_up(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        revision: Revision,
        is_over: bool,
    ) {
        let Some(id) = self.open_request(scene, exchange) else {
            return;
        };
        let may_leave = revision == Revision::V2025_11_25 && is_of_tasks(exchange.method);
        let went_on = exchange
            .end
            .is_some_and(|end| self.session.begun > end.begun);
        if may_leave || !went_on || exchange.is(mark::RESUMED) {
            return;
        }
        self.settle(scene, exchange);
        let text = format!(
            "the client closed the connection of {} {id} before the answer and sent no cancel",
            exchange.method.words()
        );
        let fault = Fault::new(Role::Client, &HTTP_CANCEL_EXPLICIT, &[exchange.frame], text);
        self.say(scene, fault.sure_if(is_over));
    }

    fn judge_left_open(&mut self, scene: &mut Scene<'_>, exchange: &Exchange) {
        let patience_ms = scene.options.patience_ms;
        let is_done = exchange.is_stream()
            && exchange.is(mark::ANSWERED)
            && exchange.asked.is_empty()
            && exchange.answered_at != 0
            && !exchange.is(mark::TRAILED);
        let open_ms = scene.now_ms.saturating_sub(exchange.answered_at);
        if !is_done || !self.has_ends() || patience_ms == 0 || open_ms < patience_ms {
            return;
        }
        let text = "the stream is still open long after the answer to its request; it ends with it";
        let rule = &HTTP_SSE_CLOSE_AFTER_RESPONSE;
        let frames = exchange.frames(exchange.answer_frame);
        self.broken(scene, Role::Server, rule, &frames, text);
    }
}

/// Whether the stream of such a request may be left at any time.
fn is_of_tasks(method: Method) -> bool {
    matches!(method, Method::TasksGet | Method::TasksResult)
}
