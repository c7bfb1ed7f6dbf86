//! HTTP under 2026-07-28: what each exchange is, and what a server answers.

use mcpsim_traces::event::{FrameNo, Role};
use mcpsim_traces::http::Head;
use mcpsim_traces::judge::Severity;
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Kind, Method, Revision};
use mcpsim_traces::tape::Value;

use crate::http::head::Media;
use crate::http::{Exchange, Exchanges, Fault, Scene, Verb, mark};
use crate::observer::Seen;
use crate::part::flag;
use crate::rules::{
    Basis, Category, Needs, Rule, STATELESS_MUST, STATELESS_NOTE, STATELESS_SHOULD, Side, When,
    rule,
};

const MUST: Rule = Rule {
    category: Category::TransportHttp,
    needs: Needs::Transport,
    when: When::STATELESS_HTTP,
    ..STATELESS_MUST
};

const SHOULD: Rule = Rule {
    category: Category::TransportHttp,
    needs: Needs::Transport,
    when: When::STATELESS_HTTP,
    ..STATELESS_SHOULD
};

pub(crate) const HTTP_POST_ONLY: Rule = Rule {
    id: "http-post-only",
    side: Side::Client,
    source: "2026-07-28 basic/transports/streamable-http (Sending Messages)",
    says: "Each message of the client is a POST of its own whose body is one request or notification.",
    why: "Another method or path reaches no handler; a body that is no single message is not read.",
    ..MUST
};

pub(crate) const HTTP_ACCEPT: Rule = Rule {
    id: "http-accept",
    side: Side::Client,
    source: "2026-07-28 basic/transports/streamable-http (Sending Messages)",
    says: "Accept lists application/json and text/event-stream, both by name.",
    why: "The server chooses which of the two it answers with; many refuse a request that lacks one with 406.",
    ..MUST
};

pub(crate) const HTTP_STATUS_CODES: Rule = Rule {
    id: "http-status-codes",
    side: Side::Server,
    source: "2026-07-28 basic/transports/streamable-http (Protocol Version Header, Server Validation)",
    says: "-32020, -32021, -32022 and -32602 for a missing _meta come with status 400, -32601 with 404.",
    why: "Gateways and clients that look for the era of a server decide by the status.",
    when: When::STATELESS_ERROR,
    ..MUST
};

pub(crate) const HTTP_RESPONSE_TYPE: Rule = Rule {
    id: "http-response-type",
    side: Side::Server,
    source: "2026-07-28 basic/transports/streamable-http (Sending Messages)",
    says: "A request is answered as application/json with one object, or as text/event-stream.",
    why: "The client chooses its reader by the media type; what is no message in it ends the call.",
    when: When::HTTP_ANSWER,
    ..MUST
};

pub(crate) const HTTP_NOTIFICATION_202: Rule = Rule {
    id: "http-notification-202",
    side: Side::Server,
    source: "2026-07-28 basic/transports/streamable-http (Sending Messages)",
    says: "A notification that is accepted gets 202 without a body, one that is refused an HTTP error.",
    why: "Clients decode the body of any other success as a message, and fail when it is none.",
    when: When::HTTP_ONE_WAY,
    ..MUST
};

pub(crate) const HTTP_STREAM_SCOPE: Rule = Rule {
    id: "http-stream-scope",
    side: Side::Server,
    source: "2026-07-28 basic/transports/streamable-http (Receiving Messages)",
    says: "A stream carries what belongs to its request, and nothing else.",
    why: "Whoever reads that stream waits for one answer: another one is lost, or taken for it.",
    when: When::HTTP_STREAM,
    ..MUST
};

pub(crate) const HTTP_STREAM_ENDS_WITH_RESPONSE: Rule = Rule {
    id: "http-stream-ends-with-response",
    side: Side::Server,
    source: "2026-07-28 basic/transports/streamable-http (Receiving Messages)",
    says: "The response is the last frame of its stream and ends it.",
    why: "Clients stop reading there, and what comes later is lost.",
    when: When::HTTP_STREAM,
    ..SHOULD
};

pub(crate) const HTTP_REISSUE_NEW_ID: Rule = Rule {
    id: "http-reissue-new-id",
    side: Side::Client,
    source: "2026-07-28 changelog (Major changes)",
    says: "After its stream broke a request is issued anew, under a new id.",
    why: "The server may still be at work on the first one: two requests under one id cannot be told apart.",
    when: When::HTTP_END,
    ..MUST
};

pub(crate) const HTTP_NO_RESUME: Rule = Rule {
    id: "http-no-resume",
    basis: Basis::Lowercase,
    side: Side::Client,
    source: "2026-07-28 basic/transports/streamable-http (Receiving Messages)",
    says: "There is nothing to go on with: no Last-Event-ID, and no stream by GET.",
    why: "The server ignores the one and refuses the other; what was missed stays missed.",
    ..SHOULD
};

pub(crate) const HTTP_NO_SESSION: Rule = Rule {
    id: "http-no-session",
    side: Side::Server,
    source: "2026-07-28 basic/transports/streamable-http (Earlier Streamable HTTP Revisions)",
    says: "A server mints and echoes no session id, and answers GET and DELETE with 405.",
    why: "Clients would send the id back and expect what it stood for.",
    ..SHOULD
};

pub(crate) const HTTP_LISTEN_IS_STREAM: Rule = Rule {
    id: "http-listen-is-stream",
    basis: Basis::Derived,
    side: Side::Server,
    source: "2026-07-28 basic/patterns/subscriptions (Opening a Stream)",
    says: "subscriptions/listen is answered with a stream that stays open, or with an error.",
    why: "A single object leaves no way for the notifications that were asked for.",
    when: When::result(Method::SubscriptionsListen),
    ..MUST
};

pub(crate) const HTTP_NO_BUFFERING_HEADER: Rule = Rule {
    id: "http-no-buffering-header",
    category: Category::TransportHttp,
    side: Side::Server,
    needs: Needs::Transport,
    source: "2026-07-28 basic/transports/streamable-http (Receiving Messages)",
    says: "A stream of events comes with X-Accel-Buffering: no.",
    why: "Reverse proxies hold events back until their buffer is full.",
    when: When::HTTP_STREAM,
    ..STATELESS_NOTE
};

/// The rows of this category.
pub(crate) const ROWS: &[Rule] = &[
    HTTP_POST_ONLY,
    HTTP_ACCEPT,
    HTTP_STATUS_CODES,
    HTTP_RESPONSE_TYPE,
    HTTP_NOTIFICATION_202,
    HTTP_STREAM_SCOPE,
    HTTP_STREAM_ENDS_WITH_RESPONSE,
    HTTP_REISSUE_NEW_ID,
    HTTP_NO_RESUME,
    HTTP_NO_SESSION,
    HTTP_LISTEN_IS_STREAM,
    HTTP_NO_BUFFERING_HEADER,
];

impl Exchanges {
    /// The head of a request outside any session.
    pub(crate) fn judge_stateless_request(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        head: &Head<'_>,
        seen: Option<&Seen<'_>>,
        body: Option<Value<'_>>,
    ) {
        scene.saw(When::STATELESS_HTTP);
        self.judge_place(scene, exchange, head, seen);
        self.judge_accept(scene, exchange, head);
        if exchange.last_event.is_present() {
            let text = "a request carries Last-Event-ID; streams are not gone on with";
            self.broken(
                scene,
                Role::Client,
                &HTTP_NO_RESUME,
                &[exchange.frame],
                text,
            );
        }
        if let (Some(seen), Some(body)) = (seen, body)
            && exchange.is(mark::FIELDS)
            && seen.message.kind == Kind::Request
        {
            self.judge_headers(scene, exchange, head, seen, body);
        }
    }

    /// A GET or DELETE of a client that speaks no revision with sessions. Whether it is one.
    pub(crate) fn judge_no_resume(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        head: &Head<'_>,
    ) -> bool {
        let version = head.value("mcp-protocol-version").and_then(Revision::parse);
        let is_modern = match version {
            Some(version) => version == Revision::V2026_07_28,
            // After a request that failed it may be looking for an older server.
            None => {
                self.is_modern && !scene.client.handshake_begun() && !scene.client.is(flag::JOINED)
            }
        };
        if !is_modern {
            return false;
        }
        scene.saw(When::STATELESS_HTTP);
        exchange.set(mark::STATELESS);
        if exchange.verb == Verb::Get {
            let text = if exchange.last_event.is_present() {
                "a GET with Last-Event-ID asks for the rest of a stream; streams are not gone on with"
            } else {
                "a GET opens a stream; notifications come in answer to subscriptions/listen"
            };
            self.broken(
                scene,
                Role::Client,
                &HTTP_NO_RESUME,
                &[exchange.frame],
                text,
            );
        }
        true
    }

    /// The head of an answer outside any session.
    pub(crate) fn judge_stateless_answer(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        head: &Head<'_>,
    ) {
        let Some(status) = exchange.status else {
            return;
        };
        let frames = exchange.frames(exchange.answer_frame);
        if head.value("mcp-session-id").is_some() {
            let text = "the answer carries a session id; this revision has no sessions";
            self.broken(scene, Role::Server, &HTTP_NO_SESSION, &frames, text);
        }
        if !exchange.is_post() {
            let is_excused = matches!(status, 300..=399 | 401 | 403 | 405 | 429 | 500..=599);
            if self.is_modern_only && !is_excused && self.is_endpoint(exchange) {
                let verb = if exchange.verb == Verb::Get {
                    "GET"
                } else {
                    "DELETE"
                };
                let text = format!("a {verb} is answered with {status}; it is refused with 405");
                self.broken(scene, Role::Server, &HTTP_NO_SESSION, &frames, text);
            }
            return;
        }
        self.judge_content(scene, exchange, head);
        let is_held_back = exchange.media == Media::Events
            && !head
                .values("x-accel-buffering")
                .any(|value| value.trim().eq_ignore_ascii_case("no"));
        if is_held_back && !std::mem::replace(&mut self.told_buffering, true) {
            let text = "a stream of events comes without X-Accel-Buffering: no";
            let rule = &HTTP_NO_BUFFERING_HEADER;
            self.broken(scene, Role::Server, rule, &frames, text);
        }
    }

    /// A single object in answer to a subscription.
    pub(crate) fn judge_listen_object(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        seen: &Seen<'_>,
    ) {
        let is_success = exchange
            .status
            .is_none_or(|status| (200..300).contains(&status));
        if seen.message.kind == Kind::Error || !is_success || exchange.is(mark::BODY_TOLD) {
            return;
        }
        exchange.set(mark::BODY_TOLD);
        let text = "subscriptions/listen is answered with a single object; it is answered with a stream, or an error";
        let frames = exchange.frames(seen.frame);
        let rule = &HTTP_LISTEN_IS_STREAM;
        self.broken(scene, Role::Server, rule, &frames, text);
    }

    /// A response in the exchange of a request outside any session.
    pub(crate) fn judge_stateless_response(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        seen: &Seen<'_>,
        body: Option<Value<'_>>,
    ) {
        let message = seen.message;
        if !exchange.asked.contains(&message.id) && exchange.requests > 0 && message.id.is_legal() {
            return;
        }
        self.judge_mismatch_answer(scene, exchange, seen);
        if message.kind == Kind::Error {
            return self.judge_status_code(scene, exchange, seen);
        }
        self.is_modern = true;
        let result = body.and_then(|body| body.get("result"));
        match (exchange.method, result) {
            (Method::ServerDiscover, Some(result)) => {
                let versions = result.get("supportedVersions");
                let is_old = |version: Value<'_>| {
                    let text = version.as_text().unwrap_or_default();
                    Revision::parse(&text).is_some_and(Revision::has_handshake)
                };
                self.is_modern_only =
                    versions.is_some_and(|versions| !versions.items().any(is_old));
            }
            (Method::ToolsList, Some(result)) => self.tools.learn(result, seen.frame),
            _ => {}
        }
    }

    /// The HTTP status that comes with an error's code.
    pub(crate) fn judge_status_code(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &Exchange,
        seen: &Seen<'_>,
    ) {
        let Some(status) = exchange.status.filter(|_| !exchange.is_stream()) else {
            return;
        };
        let code = seen.message.number;
        let wanted = match code {
            -32022..=-32020 => 400,
            -32601 => 404,
            -32602 if exchange.is(mark::META_MISSING) => 400,
            _ => return,
        };
        if status != wanted {
            let text =
                format!("the error {code} comes with status {status}; it comes with {wanted}");
            let frames = exchange.frames(seen.frame);
            self.broken(scene, Role::Server, &HTTP_STATUS_CODES, &frames, text);
        }
    }

    /// Another request takes the id of one whose stream broke.
    pub(crate) fn judge_id_of_broken(
        &mut self,
        scene: &mut Scene<'_>,
        frames: &[FrameNo],
        id: Key,
    ) {
        let Some(unique) = rule("id-unique-in-flight") else {
            return;
        };
        let text =
            format!("another request takes the id {id}, whose stream broke before the answer");
        let fault = Fault::new(Role::Client, unique, frames, text);
        self.say(scene, fault.at(Severity::Note));
    }
}
