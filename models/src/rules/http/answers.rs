//! What a server answers over HTTP: statuses and media types.

use mcpsim_traces::event::Role;
use mcpsim_traces::http::Head;
use mcpsim_traces::message::{Kind, Method};

use super::{HTTP, HTTP_SHOULD};
use crate::http::head::{Media, shown};
use crate::http::{Exchange, Exchanges, Fault, Issued, Scene, Verb, mark};
use crate::observer::Seen;
use crate::rules::tasks::TASK_GET_NO_STREAM;
use crate::rules::{Rule, Side, When};

pub(crate) const HTTP_202_FOR_ONE_WAY: Rule = Rule {
    id: "http-202-for-one-way",
    side: Side::Server,
    source: "2025-11-25 basic/transports (Sending Messages to the Server)",
    says: "A notification or a response that is accepted is acknowledged by 202 without a body.",
    why: "Clients decode the body of any other success as a message, and end the session when it is none.",
    when: When::HTTP_ONE_WAY,
    twin: "http-notification-202",
    ..HTTP
};

pub(crate) const HTTP_ERROR_FOR_REFUSED_ONE_WAY: Rule = Rule {
    id: "http-error-for-refused-one-way",
    side: Side::Server,
    source: "2025-11-25 basic/transports (Sending Messages to the Server)",
    says: "A notification or a response that is not accepted gets an HTTP error status.",
    why: "An error under a status of success is an answer to nothing; the client takes its message for accepted.",
    when: When::HTTP_ONE_WAY,
    twin: "http-notification-202",
    ..HTTP
};

pub(crate) const HTTP_REQUEST_CONTENT_TYPE: Rule = Rule {
    id: "http-request-content-type",
    side: Side::Server,
    source: "2025-11-25 basic/transports (Sending Messages to the Server)",
    says: "A request is answered as text/event-stream or as application/json.",
    why: "The client chooses its reader by the media type; of another one, or of 202, it reads no answer at all.",
    when: When::HTTP_ANSWER,
    twin: "http-response-type",
    ..HTTP
};

pub(crate) const HTTP_GET_ANSWER: Rule = Rule {
    id: "http-get-answer",
    side: Side::Server,
    source: "2025-11-25 basic/transports (Listening for Messages from the Server)",
    says: "A GET is answered by a stream of events, or by 405.",
    why: "By 405 a client learns that there is nothing to listen to; after anything else it tries again or gives up.",
    when: When::HTTP_GET,
    ..HTTP
};

pub(crate) const HTTP_SINGLE_ENDPOINT: Rule = Rule {
    id: "http-single-endpoint",
    side: Side::Server,
    source: "2025-11-25 basic/transports (Streamable HTTP)",
    says: "One path serves POST and GET.",
    why: "A client knows one address: it never finds a stream that is served at another one.",
    severity: mcpsim_traces::judge::Severity::Warning,
    tier: 2,
    level: crate::rules::Level::Must,
    when: When::HTTP_GET,
    ..HTTP_SHOULD
};

/// The rows of this theme.
pub(crate) const ROWS: &[Rule] = &[
    HTTP_202_FOR_ONE_WAY,
    HTTP_ERROR_FOR_REFUSED_ONE_WAY,
    HTTP_REQUEST_CONTENT_TYPE,
    HTTP_GET_ANSWER,
    HTTP_SINGLE_ENDPOINT,
];

/// Statuses of which somebody else may be the author, or that come before the question is looked at.
fn is_excused(status: u16) -> bool {
    matches!(status, 300..=399 | 400 | 401 | 403 | 405..=408 | 421 | 429 | 431 | 500 | 502..=599)
}

impl Exchanges {
    /// The head of an answer, inside a session or where one is opened.
    pub(crate) fn judge_answer(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        head: &Head<'_>,
    ) {
        self.judge_session_of_answer(scene, exchange, head);
        self.judge_version_of_answer(scene, exchange);
        self.judge_token_of_answer(scene, exchange, head);
        if exchange.verb == Verb::Get {
            self.judge_get_answer(scene, exchange);
        } else if exchange.is_post() {
            self.judge_content(scene, exchange, head);
        }
    }

    fn judge_get_answer(&mut self, scene: &mut Scene<'_>, exchange: &mut Exchange) {
        let Some(status) = exchange.status else {
            return;
        };
        let is_open = (200..300).contains(&status);
        if !self.is_endpoint(exchange) {
            let is_session = self.session.id.is_present() && exchange.session == self.session.id;
            if is_open && exchange.media == Media::Events && is_session {
                let text =
                    "a GET at another path than that of the POSTs is served; one path serves both";
                let frames = exchange.frames(exchange.answer_frame);
                self.broken(scene, Role::Server, &HTTP_SINGLE_ENDPOINT, &frames, text);
            }
            return;
        }
        // What stands at that path shows only once messages were answered there.
        if !self.session.endpoint.is_present() && exchange.path.is_present() {
            return;
        }
        let what = match (status, exchange.media) {
            (_, Media::Events | Media::Unknown) if is_open => return,
            (404, _) if self.session.issued == Issued::Never => "404".to_string(),
            (404, _) => return,
            (status, _) if is_excused(status) => return,
            (status, Media::Missing) if is_open => format!("{status} without a Content-Type"),
            (status, _) if is_open => format!("{status} and another body than a stream of events"),
            (status, _) => status.to_string(),
        };
        let text = format!(
            "a GET is answered with {what}; it is answered with a stream of events, or 405"
        );
        let frames = exchange.frames(exchange.answer_frame);
        exchange.set(mark::BODY_TOLD);
        self.broken(scene, Role::Server, &HTTP_GET_ANSWER, &frames, text);
    }

    /// Status and media type in answer to a POST.
    pub(crate) fn judge_content(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        head: &Head<'_>,
    ) {
        let Some(status) = exchange.status.filter(|status| (200..300).contains(status)) else {
            return;
        };
        if exchange.requests > 0 {
            let what = match exchange.media {
                _ if status == 202 => "202".to_string(),
                Media::Missing => format!("{status} without a Content-Type"),
                Media::Other => {
                    let media = head.value("content-type").unwrap_or_default();
                    format!("{status} and {}", shown(media))
                }
                Media::Events => return self.judge_poll(scene, exchange),
                Media::Unknown | Media::Json => return,
            };
            self.wrong_content(scene, exchange, &what);
        } else if exchange.one_way > 0 {
            scene.saw(When::HTTP_ONE_WAY);
            let length = head.value("content-length").unwrap_or_default();
            if status != 202 {
                exchange.set(mark::ODD_ACK);
            } else if length.bytes().any(|byte| matches!(byte, b'1'..=b'9')) {
                exchange.set(mark::BODY_TOLD);
                self.wrong_acknowledgement(scene, exchange, "202 and a body");
            }
        }
    }

    /// A stream of events in answer to a poll.
    fn judge_poll(&mut self, scene: &mut Scene<'_>, exchange: &Exchange) {
        if exchange.method != Method::TasksGet || exchange.is_stateless() {
            return;
        }
        let text =
            "tasks/get is answered with a stream of events; who polls is answered with plain JSON";
        let frames = exchange.frames(exchange.answer_frame);
        self.broken(scene, Role::Server, &TASK_GET_NO_STREAM, &frames, text);
    }

    fn wrong_content(&mut self, scene: &mut Scene<'_>, exchange: &mut Exchange, what: &str) {
        exchange.set(mark::BODY_TOLD);
        self.settle(scene, exchange);
        let text = format!(
            "a request is answered with {what}; it is answered with application/json or text/event-stream"
        );
        let frames = exchange.frames(exchange.answer_frame);
        let fault = Fault::new(Role::Server, &HTTP_REQUEST_CONTENT_TYPE, &frames, text);
        self.say(scene, fault.in_era(exchange.is_stateless()));
    }

    fn wrong_acknowledgement(&mut self, scene: &mut Scene<'_>, exchange: &Exchange, what: &str) {
        let text = format!(
            "{} is acknowledged with {what}; 202 without a body acknowledges it",
            what_is_sent(exchange)
        );
        let frames = exchange.frames(exchange.answer_frame);
        let fault = Fault::new(Role::Server, &HTTP_202_FOR_ONE_WAY, &frames, text);
        self.say(scene, fault.in_era(exchange.is_stateless()));
    }

    /// The answer has no body.
    pub(crate) fn judge_empty(&mut self, scene: &mut Scene<'_>, exchange: &mut Exchange) {
        self.judge_odd_ack(scene, exchange);
        let is_success = exchange
            .status
            .is_some_and(|status| (200..300).contains(&status));
        let is_asked = exchange.is_post() && exchange.requests > 0 && exchange.messages == 0;
        if self.old.is_none()
            && is_success
            && is_asked
            && !exchange.is(mark::BODY_TOLD | mark::FOREIGN | mark::ASIDE)
        {
            let what = format!("{} without a body", exchange.status.unwrap_or_default());
            self.wrong_content(scene, exchange, &what);
        }
    }

    /// A one-way message got another success than 202, and no body that says more.
    pub(crate) fn judge_odd_ack(&mut self, scene: &mut Scene<'_>, exchange: &mut Exchange) {
        if !exchange.is(mark::ODD_ACK) {
            return;
        }
        exchange.unset(mark::ODD_ACK);
        let what = exchange.status.unwrap_or_default().to_string();
        self.wrong_acknowledgement(scene, exchange, &what);
    }

    /// A message in the body of an answer to one-way messages.
    pub(crate) fn judge_body_of_one_way(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        seen: &Seen<'_>,
    ) {
        let Some(status) = exchange.status.filter(|status| (200..300).contains(status)) else {
            return;
        };
        if exchange.is(mark::BODY_TOLD) {
            return;
        }
        exchange.unset(mark::ODD_ACK);
        exchange.set(mark::BODY_TOLD);
        if seen.message.kind == Kind::Error {
            let text = format!(
                "{} is refused with an error under status {status}; a refusal has an error status",
                what_is_sent(exchange)
            );
            let frames = exchange.frames(seen.frame);
            let fault = Fault::new(Role::Server, &HTTP_ERROR_FOR_REFUSED_ONE_WAY, &frames, text);
            return self.say(scene, fault.in_era(exchange.is_stateless()));
        }
        let what = format!("{status} and a body");
        self.wrong_acknowledgement(scene, exchange, &what);
    }

    /// A message was answered: here is the endpoint.
    pub(crate) fn note_endpoint(&mut self, exchange: &Exchange) {
        if exchange.path.is_present() && !self.session.endpoint.is_present() {
            self.session.endpoint = exchange.path;
        }
    }
}

fn what_is_sent(exchange: &Exchange) -> &'static str {
    match exchange.method {
        Method::None if exchange.one_way > 1 => "an array of notifications or responses",
        _ => "a notification or response",
    }
}
