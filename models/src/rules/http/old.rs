//! The transport of 2024-11-05: one stream of events from the server, and an endpoint that it names for messages to it.

use mcpsim_traces::event::Role;
use mcpsim_traces::http::Head;
use mcpsim_traces::judge::Severity;
use mcpsim_traces::message::Revision;

use super::HTTP;
use crate::http::head::{resolved_target, shown};
use crate::http::{Exchange, Exchanges, Fault, OldTransport, Scene, Verb, mark};
use crate::observer::Seen;
use crate::rules::ids::name;
use crate::rules::{Basis, Rule, Side, When};

/// What the rows have in common: they bind the transport, whatever revision is agreed on over it.
const OLD: Rule = Rule {
    from: Revision::V2024_11_05,
    until: Revision::V2024_11_05,
    source: "2024-11-05 basic/transports (HTTP with SSE)",
    when: When::OLD_SSE,
    ..HTTP
};

pub(crate) const SSE_ENDPOINT_FIRST: Rule = Rule {
    id: "sse-endpoint-first",
    side: Side::Server,
    says: "On connection the server sends an endpoint event with the URI for the client's messages.",
    why: "Until it comes the client does not know where to send initialize.",
    ..OLD
};

pub(crate) const SSE_POST_TO_ENDPOINT: Rule = Rule {
    id: "sse-post-to-endpoint",
    side: Side::Client,
    says: "The client posts its messages to the URI of the endpoint event.",
    why: "The URI names the session: elsewhere the message reaches none, or another one.",
    ..OLD
};

pub(crate) const SSE_MESSAGE_EVENT: Rule = Rule {
    id: "sse-message-event",
    basis: Basis::Lowercase,
    severity: Severity::Warning,
    tier: 2,
    side: Side::Server,
    says: "The server's messages come as message events on its stream.",
    why: "Clients read nothing else: an answer in the body of the POST, or under another name, is lost.",
    ..OLD
};

/// The rows of this theme.
pub(crate) const ROWS: &[Rule] = &[SSE_ENDPOINT_FIRST, SSE_POST_TO_ENDPOINT, SSE_MESSAGE_EVENT];

/// So many endpoints are remembered.
const ENDPOINTS_MAX: usize = 16;

impl Exchanges {
    /// The server says where messages go.
    pub(crate) fn endpoint_event(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        seen: &Seen<'_>,
    ) {
        scene.saw(When::OLD_SSE);
        self.has_event_fields = true;
        exchange.unset(mark::FOREIGN);
        exchange.set(mark::ENDPOINT | mark::EVENTS);
        let old = self.old.get_or_insert_with(OldTransport::default);
        let text = String::from_utf8_lossy(seen.text.unwrap_or_default());
        let key = resolved_target(&text, exchange.target.as_deref().unwrap_or("/"));
        old.endpoints.push((key, exchange.stream));
        if old.endpoints.len() > ENDPOINTS_MAX {
            old.endpoints.remove(0);
        }
        if exchange.first_message != 0 {
            let text = "a message comes before the endpoint event, which comes first";
            let frames = [exchange.first_message, seen.frame];
            let fault = Fault::new(Role::Server, &SSE_ENDPOINT_FIRST, &frames, text);
            self.say(scene, fault.of_transport());
        }
    }

    /// initialize is answered on a stream that has not named an endpoint.
    pub(crate) fn judge_no_endpoint(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &Exchange,
        seen: &Seen<'_>,
    ) {
        let text = "the stream of events begins without an endpoint event";
        let first = exchange.first_message;
        let frames = [if first == 0 { seen.frame } else { first }];
        let fault = Fault::new(Role::Server, &SSE_ENDPOINT_FIRST, &frames, text);
        self.say(scene, fault.of_transport());
    }

    /// How and where a message is sent.
    pub(crate) fn judge_old_request(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &Exchange,
        head: &Head<'_>,
        seen: Option<&Seen<'_>>,
    ) {
        let (Some(seen), Some(old)) = (seen, &self.old) else {
            return;
        };
        let Some(&(latest, stream)) = old.endpoints.last() else {
            return;
        };
        let what = name(seen.message);
        let text = if exchange.verb != Verb::Post {
            let method = shown(head.method().unwrap_or_default());
            format!("{what} comes by {method}; messages are posted to the endpoint")
        } else {
            let Some(target) = head.target() else { return };
            let key = resolved_target(target, "/");
            let is_known = old.endpoints.iter().any(|(known, _)| *known == key);
            // Only the client's own log shows that it had the new one.
            let was_told = scene.is_client_exact() && latest != key;
            if is_known && !was_told {
                return self.judge_version_on_old(scene, exchange, head, seen);
            }
            let old_stream = old.endpoints.iter().rev().find(|(known, _)| *known == key);
            let is_live = old_stream.is_some_and(|(_, old)| {
                *old != stream && self.exchange(*old).is_some_and(|old| old.end.is_none())
            });
            if is_live {
                return;
            }
            format!(
                "{what} is posted to {}, which is not the endpoint that the server named",
                shown(target)
            )
        };
        let fault = Fault::new(Role::Client, &SSE_POST_TO_ENDPOINT, &[seen.frame], text);
        self.say(scene, fault.of_transport());
    }

    /// A message that is no message event.
    pub(crate) fn judge_old_message(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &Exchange,
        seen: &Seen<'_>,
        event: &str,
    ) {
        let is_posted = exchange.requests + exchange.one_way > 0;
        let text = if is_posted {
            "a message stands in the body of the answer to a POST; it comes as an event on the stream"
                .to_string()
        } else {
            format!(
                "a message comes as an event named {}; it comes as a message event",
                shown(event)
            )
        };
        let frames = [exchange.frame, seen.frame];
        let fault = Fault::new(Role::Server, &SSE_MESSAGE_EVENT, &frames, text);
        self.say(scene, fault.of_transport());
    }
}
