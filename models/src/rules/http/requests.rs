//! What a client sends over HTTP: by which method, where to, and what it accepts.

use mcpsim_traces::event::Role;
use mcpsim_traces::http::Head;
use mcpsim_traces::judge::Severity;
use mcpsim_traces::message::Revision;
use mcpsim_traces::tape::Value;

use super::{HTTP, HTTP_NOTE, HTTP_SHOULD};
use crate::http::head::{Listed, accepts, shown};
use crate::http::{Exchange, Exchanges, Fault, Scene, Sent, Verb, mark};
use crate::observer::Seen;
use crate::rules::ids::name;
use crate::rules::stateless::transport_http::{HTTP_POST_ONLY, HTTP_REISSUE_NEW_ID};
use crate::rules::{Rule, Side, When};

pub(crate) const HTTP_ONE_POST_PER_MESSAGE: Rule = Rule {
    id: "http-one-post-per-message",
    side: Side::Client,
    source: "2025-11-25 basic/transports (Sending Messages to the Server)",
    says: "Every message of the client is a POST of its own to the one endpoint.",
    why: "Another method or path reaches no handler; of two messages in one body the second is lost.",
    when: When::HTTP_POST,
    twin: "http-post-only",
    ..HTTP
};

pub(crate) const HTTP_BODY_KIND: Rule = Rule {
    id: "http-body-kind",
    side: Side::Client,
    from: Revision::V2025_06_18,
    source: "2025-11-25 basic/transports (Sending Messages to the Server)",
    says: "The body of a POST is one request, one notification or one response.",
    why: "A server parses the body whole: two messages in it are no JSON, and neither arrives.",
    when: When::HTTP_POST,
    twin: "http-post-only",
    ..HTTP
};

pub(crate) const HTTP_ACCEPT_POST: Rule = Rule {
    id: "http-accept-post",
    side: Side::Client,
    source: "2025-11-25 basic/transports (Sending Messages to the Server)",
    says: "A POST accepts application/json and text/event-stream, both by name.",
    why: "The server chooses which of the two it answers with; many refuse a request that lacks one with 406.",
    when: When::HTTP_POST,
    twin: "http-accept",
    ..HTTP
};

pub(crate) const HTTP_ACCEPT_GET: Rule = Rule {
    id: "http-accept-get",
    side: Side::Client,
    source: "2025-11-25 basic/transports (Listening for Messages from the Server)",
    says: "A GET that listens accepts text/event-stream.",
    why: "Without it servers answer 406, and what they want to say on their own never arrives.",
    when: When::HTTP_GET,
    ..HTTP
};

pub(crate) const HTTP_RESUME_WITH_GET: Rule = Rule {
    id: "http-resume-with-get",
    side: Side::Client,
    source: "2025-11-25 basic/transports (Resumability and Redelivery)",
    says: "A client goes on with a broken stream by GET with Last-Event-ID.",
    why: "A request that is posted once more under its id runs twice, or is refused for its id.",
    when: When::HTTP_END,
    ..HTTP_SHOULD
};

pub(crate) const HTTP_CANCEL_EXPLICIT: Rule = Rule {
    id: "http-cancel-explicit",
    side: Side::Client,
    source: "2025-11-25 basic/transports (Sending Messages to the Server)",
    says: "A client that gives a request up says so with a cancel.",
    why: "A closed connection is no cancel: the server goes on working for nobody.",
    when: When::HTTP_END,
    ..HTTP_NOTE
};

/// The rows of this theme.
pub(crate) const ROWS: &[Rule] = &[
    HTTP_ONE_POST_PER_MESSAGE,
    HTTP_BODY_KIND,
    HTTP_ACCEPT_POST,
    HTTP_ACCEPT_GET,
    HTTP_RESUME_WITH_GET,
    HTTP_CANCEL_EXPLICIT,
];

impl Exchanges {
    /// The head of a request, once it is known what it carries: a frame, or nothing.
    pub(crate) fn judge_request(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        head: &Head<'_>,
        seen: Option<&Seen<'_>>,
        body: Option<Value<'_>>,
    ) {
        if exchange.is(mark::FOREIGN) {
            return;
        }
        match exchange.verb {
            Verb::Post => scene.saw(When::HTTP_POST),
            Verb::Get => scene.saw(When::HTTP_GET),
            _ => {}
        }
        if self.old.is_some() {
            return self.judge_old_request(scene, exchange, head, seen);
        }
        let is_aside = !self.is_endpoint(exchange);
        if seen.is_none() && is_aside {
            // Until the endpoint is known, a GET may be the one that listens.
            if self.session.tried.is_present() && exchange.session != self.session.id {
                exchange.set(mark::FOREIGN);
            }
            return;
        }
        if exchange.is_stateless() {
            return self.judge_stateless_request(scene, exchange, head, seen, body);
        }
        if seen.is_none() && self.judge_no_resume(scene, exchange, head) {
            return;
        }
        let version = head.value("mcp-protocol-version");
        if version.is_some() && version == scene.revision().map(Revision::as_str) {
            exchange.set(mark::AGREED);
        }
        self.judge_place(scene, exchange, head, seen);
        self.judge_accept(scene, exchange, head);
        self.judge_session_sent(scene, exchange, seen);
        self.judge_version_sent(scene, exchange, head, seen);
        self.judge_token_sent(scene, exchange, head, seen);
    }

    /// A message whose exchange was judged before it came, or that came by no POST.
    pub(crate) fn judge_body_of(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        seen: &Seen<'_>,
    ) {
        if !matches!(exchange.verb, Verb::Get | Verb::Delete) {
            return;
        }
        let method = if exchange.verb == Verb::Get {
            "GET"
        } else {
            "DELETE"
        };
        let text = format!(
            "{} stands in the body of a {method}; messages are posted",
            name(seen.message)
        );
        let rule = &HTTP_ONE_POST_PER_MESSAGE;
        let fault = Fault::new(Role::Client, rule, &[seen.frame], text);
        self.say(scene, fault.in_era(exchange.is_stateless()));
    }

    /// Method and path of a message.
    pub(crate) fn judge_place(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        head: &Head<'_>,
        seen: Option<&Seen<'_>>,
    ) {
        let Some(seen) = seen else { return };
        if exchange.verb == Verb::Other {
            let text = format!(
                "{} comes by {}; messages are posted",
                name(seen.message),
                shown(head.method().unwrap_or_default())
            );
            let rule = &HTTP_ONE_POST_PER_MESSAGE;
            let fault = Fault::new(Role::Client, rule, &[seen.frame], text);
            return self.say(scene, fault.in_era(exchange.is_stateless()));
        }
        let endpoint = self.session.endpoint;
        if endpoint.is_present() && exchange.path.is_present() && exchange.path != endpoint {
            let target = shown(head.target().unwrap_or_default());
            let text = format!(
                "{} goes to {target}, which is not the endpoint",
                name(seen.message)
            );
            exchange.elsewhere = Some(text.into());
        }
    }

    /// Sent elsewhere, and not because the server said so.
    pub(crate) fn judge_elsewhere(&mut self, scene: &mut Scene<'_>, exchange: &mut Exchange) {
        let Some(text) = exchange.elsewhere.take() else {
            return;
        };
        if exchange
            .status
            .is_some_and(|status| (300..400).contains(&status))
        {
            return;
        }
        let rule = &HTTP_ONE_POST_PER_MESSAGE;
        let fault = Fault::new(Role::Client, rule, &[exchange.frame], text);
        // It may still be sent on.
        let is_answered = exchange.status.is_some() || exchange.messages > 0;
        let fault = fault.sure_if(is_answered);
        self.say(scene, fault.in_era(exchange.is_stateless()));
    }

    /// What the client accepts.
    pub(crate) fn judge_accept(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &Exchange,
        head: &Head<'_>,
    ) {
        if !exchange.is(mark::FIELDS) {
            return;
        }
        let (rule, wanted): (_, &[&str]) = match exchange.verb {
            Verb::Post => (
                &HTTP_ACCEPT_POST,
                &["application/json", "text/event-stream"],
            ),
            Verb::Get => (&HTTP_ACCEPT_GET, &["text/event-stream"]),
            _ => return,
        };
        let worst = wanted.iter().map(|it| (accepts(head, it), *it)).min();
        let Some((listed, missing)) = worst else {
            return;
        };
        let accept = match head.value("accept") {
            Some(accept) => format!("Accept is {}", shown(accept)),
            None => "there is no Accept header".to_string(),
        };
        let verb = if exchange.verb == Verb::Post {
            "POST"
        } else {
            "GET"
        };
        let fault = match listed {
            Listed::ByName => return,
            Listed::Wildcard => {
                let text = format!("{accept}; a {verb} lists {missing} by name");
                Fault::new(Role::Client, rule, &[exchange.frame], text).at(Severity::Warning)
            }
            Listed::No => {
                let text = format!("{accept}; a {verb} accepts {}", wanted.join(" and "));
                Fault::new(Role::Client, rule, &[exchange.frame], text)
            }
        };
        self.say(scene, fault.in_era(exchange.is_stateless()));
    }

    /// More than one message in a body. Whether that was reported.
    pub(crate) fn second_message(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        seen: &Seen<'_>,
    ) -> bool {
        if exchange.verb != Verb::Post || self.old.is_some() {
            if exchange.verb == Verb::Unknown && exchange.requests + exchange.one_way > 0 {
                exchange.set(mark::SHARED);
            }
            return false;
        }
        let rule = match scene.revision() {
            _ if exchange.is_stateless() => &HTTP_POST_ONLY,
            None => return false,
            Some(Revision::V2025_03_26) => &HTTP_ONE_POST_PER_MESSAGE,
            Some(_) => &HTTP_BODY_KIND,
        };
        let text = "more than one message in the body of a POST; each is posted by itself";
        let frames = exchange.frames(seen.frame);
        self.broken(scene, Role::Client, rule, &frames, text);
        true
    }

    /// A request whose exchange broke is posted once more.
    pub(crate) fn judge_sent_again(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &Exchange,
        before: &Sent,
        seen: &Seen<'_>,
        is_same: bool,
    ) {
        let id = seen.message.id;
        let frames = [before.frame, seen.frame];
        if !is_same {
            if exchange.is_stateless() {
                // The server has dropped the old one.
                self.forget(scene, id);
                self.judge_id_of_broken(scene, &frames, id);
            }
            return;
        }
        let what = name(seen.message);
        let fault = if exchange.is_stateless() {
            let text = format!(
                "{what} {id} is issued once more under its id after its stream broke; it needs a new one"
            );
            Fault::new(Role::Client, &HTTP_REISSUE_NEW_ID, &frames, text)
        } else {
            let text = format!(
                "{what} {id} is posted once more after its stream broke, perhaps by the HTTP library; \
                    a stream is gone on with by GET and Last-Event-ID"
            );
            Fault::new(Role::Client, &HTTP_RESUME_WITH_GET, &frames, text)
        };
        self.forget(scene, id);
        self.say(scene, fault);
    }
}
