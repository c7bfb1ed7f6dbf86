//! Which message travels on which stream, and that each is delivered once.

use mcpsim_traces::event::{FrameNo, Role};
use mcpsim_traces::http::Sse;
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Condition, Kind, Method};
use mcpsim_traces::tape::Value;

use super::{HTTP, HTTP_NOTE, HTTP_SHOULD};
use crate::deep::subscriptions::SUBSCRIPTION_ID;
use crate::http::events::Event;
use crate::http::head::Media;
use crate::http::{Exchange, Exchanges, Fault, OldTransport, Scene, Verb, mark};
use crate::observer::{LogEvent, Seen};
use crate::part::{In, open};
use crate::rules::ids::name;
use crate::rules::stateless::versioning::UNSUPPORTED;
use crate::rules::{Basis, Rule, Side, When};

pub(crate) const HTTP_RELATED_ON_POST_STREAM: Rule = Rule {
    id: "http-related-on-post-stream",
    side: Side::Server,
    source: "2025-11-25 basic/transports (Sending Messages to the Server)",
    says: "What travels on the stream of a request belongs to that request.",
    why: "A client that reads the stream for one call shows another call's progress on it, or drops it.",
    when: When::HTTP_STREAM,
    twin: "http-stream-scope",
    ..HTTP_NOTE
};

pub(crate) const HTTP_RESPONSE_ON_OWN_STREAM: Rule = Rule {
    id: "http-response-on-own-stream",
    basis: Basis::Derived,
    side: Side::Server,
    source: "2025-11-25 basic/transports (Sending Messages to the Server)",
    says: "A response travels on the stream of the POST that carried its request.",
    why: "Whoever waits on that stream gets nothing, and somebody else gets an answer that is not theirs.",
    when: When::HTTP_STREAM,
    twin: "http-stream-scope",
    ..HTTP_SHOULD
};

pub(crate) const HTTP_RESPONSE_ON_GET: Rule = Rule {
    id: "http-response-on-get",
    side: Side::Server,
    source: "2025-11-25 basic/transports (Listening for Messages from the Server)",
    says: "A stream that was opened by GET carries no response, unless it goes on with a request's stream.",
    why: "Clients take what comes there for requests and notifications; the caller waits on its own stream for ever.",
    when: When::HTTP_GET,
    ..HTTP
};

pub(crate) const HTTP_UNRELATED_ON_GET: Rule = Rule {
    id: "http-unrelated-on-get",
    side: Side::Server,
    source: "2025-11-25 basic/transports (Listening for Messages from the Server)",
    says: "What travels on a stream that was opened by GET does not belong to a request that is still running.",
    why: "It has no order against the request's own stream: progress comes after the result.",
    when: When::HTTP_GET,
    ..HTTP_NOTE
};

pub(crate) const HTTP_NO_BROADCAST: Rule = Rule {
    id: "http-no-broadcast",
    side: Side::Server,
    source: "2025-11-25 basic/transports (Multiple Connections)",
    says: "A message of the server goes out on one stream only.",
    why: "The client handles it once for each stream: a sampling request is asked, and paid, twice.",
    when: When::HTTP_STREAM,
    ..HTTP
};

pub(crate) const HTTP_EVENT_ID_UNIQUE: Rule = Rule {
    id: "http-event-id-unique",
    side: Side::Server,
    source: "2025-11-25 basic/transports (Resumability and Redelivery)",
    says: "The id of an event is unique over all streams of the session.",
    why: "After a break the server cannot tell from the id which stream to go on with, and from where.",
    when: When::SSE,
    ..HTTP
};

pub(crate) const HTTP_REPLAY_OWN_STREAM: Rule = Rule {
    id: "http-replay-own-stream",
    side: Side::Server,
    source: "2025-11-25 basic/transports (Resumability and Redelivery)",
    says: "A stream that is gone on with brings only events of the stream that broke.",
    why: "Events of another stream come twice, or where nobody waits for them.",
    when: When::HTTP_RESUMED,
    ..HTTP
};

/// The rows of this theme.
pub(crate) const ROWS: &[Rule] = &[
    HTTP_RELATED_ON_POST_STREAM,
    HTTP_RESPONSE_ON_OWN_STREAM,
    HTTP_RESPONSE_ON_GET,
    HTTP_UNRELATED_ON_GET,
    HTTP_NO_BROADCAST,
    HTTP_EVENT_ID_UNIQUE,
    HTTP_REPLAY_OWN_STREAM,
];

/// An event as it comes.
struct Arrival {
    content: Key,
    frame: FrameNo,
    is_blank: bool,
}

impl Exchanges {
    /// Whether what the server sent is a message at all.
    pub(crate) fn is_message(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        seen: &Seen<'_>,
    ) -> bool {
        let message = seen.message;
        let sse = seen
            .http
            .map(|http| &http.sse)
            .filter(|sse| !sse.is_empty());
        let event = sse.and_then(|sse| sse.event.as_deref()).unwrap_or_default();
        self.has_event_names |= !event.is_empty();
        if event == "endpoint" {
            self.endpoint_event(scene, exchange, seen);
            return false;
        }
        if message.has(Condition::Blank) {
            if let Some(sse) = sse {
                self.event_comes(scene, exchange, sse, seen.text, seen.frame);
            }
            return false;
        }
        let is_named = !matches!(event, "" | "message");
        let is_malformed = message.kind == Kind::Malformed;
        let is_bare = message.has(Condition::VersionTagMissing) && !message.id.is_present();
        let is_refusal = exchange.status.is_some_and(|status| status >= 400);
        // The bodies of HTTP's own errors, and of the acknowledgements of the old transport.
        if is_named && is_malformed || is_refusal && (is_malformed || is_bare) {
            return false;
        }
        let may_be_foreign =
            !scene.options.whole && (exchange.is_unasked() || !self.is_endpoint(exchange));
        if may_be_foreign && (is_malformed || is_bare) {
            return false;
        }
        let is_posted = exchange.requests + exchange.one_way > 0;
        if self.old.is_some() {
            if is_posted && is_malformed {
                return false;
            }
            if !is_refusal && (is_posted || is_named) {
                self.judge_old_message(scene, exchange, seen, event);
            }
        }
        if is_malformed && matches!(exchange.media, Media::Other | Media::Missing) {
            return false;
        }
        if exchange.first_message == 0 && !is_posted {
            exchange.first_message = seen.frame;
        }
        true
    }

    /// A server-sent event without data.
    pub(crate) fn event_without_data(
        &mut self,
        scene: &mut Scene<'_>,
        stream: mcpsim_traces::event::Stream,
        event: &LogEvent<'_>,
    ) {
        let Some(http) = event.http else { return };
        self.with(stream, |all, exchange| {
            all.event_comes(scene, exchange, &http.sse, None, event.frame);
        });
    }

    /// An event comes on the stream. Whether it was delivered before.
    fn event_comes(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        sse: &Sse<'_>,
        text: Option<&[u8]>,
        frame: FrameNo,
    ) -> bool {
        scene.saw(When::SSE);
        self.has_event_fields = true;
        let text = text.unwrap_or_default();
        let arrival = Arrival {
            content: Key::text(text),
            frame,
            is_blank: text.iter().all(u8::is_ascii_whitespace),
        };
        let id = sse.id.as_deref().filter(|id| !id.is_empty());
        // A field of its own, without id and data, is no event.
        if id.is_some() || !arrival.is_blank {
            self.judge_priming(scene, exchange, id.is_some(), arrival.is_blank, frame);
        }
        exchange.set(mark::EVENTS);
        if sse.retry_ms.is_some() {
            exchange.retry_ms = sse.retry_ms;
        }
        let Some(id) = id else { return false };
        self.events.has_ids = true;
        exchange.set(mark::HAS_ID);
        self.take_event_id(scene, exchange, Key::text(id.as_bytes()), &arrival)
    }

    /// Whether the event of that id was delivered before.
    fn take_event_id(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        id: Key,
        arrival: &Arrival,
    ) -> bool {
        let mut event = Event {
            content: arrival.content,
            root: exchange.root,
            stream: exchange.stream,
            frame: arrival.frame,
        };
        let Some(before) = self.events.get(id) else {
            self.events.put(id, event);
            return false;
        };
        let is_elsewhere = before.stream != exchange.stream;
        let is_fresh = is_elsewhere && exchange.is_fresh();
        let frames = [before.frame, arrival.frame];
        if before.content != arrival.content || is_fresh && arrival.is_blank {
            if !exchange.is(mark::IDS_TOLD) && !exchange.is_stateless() {
                exchange.set(mark::IDS_TOLD);
                let text = "the id of an event stood on another event before; ids are unique over all streams of a session";
                let rule = &HTTP_EVENT_ID_UNIQUE;
                self.broken(scene, Role::Server, rule, &frames, text);
            }
            self.events.put(id, event);
            return false;
        }
        if exchange.is_stateless() {
            return false;
        }
        if is_fresh {
            let text = "an event comes on a second stream under the same id; a message goes out on one stream";
            self.broken(scene, Role::Server, &HTTP_NO_BROADCAST, &frames, text);
        } else if let (Some(own), Some(other)) = (exchange.root, before.root)
            && own != other
        {
            let text = "an event of another stream is brought again; only those of the stream that broke are";
            let rule = &HTTP_REPLAY_OWN_STREAM;
            self.broken(scene, Role::Server, rule, &frames, text);
        }
        event.root = before.root;
        self.events.put(id, event);
        true
    }

    /// Whether that message was delivered before, on this stream or on another one.
    pub(crate) fn was_delivered(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        seen: &Seen<'_>,
    ) -> bool {
        let sse = seen
            .http
            .map(|http| &http.sse)
            .filter(|sse| !sse.is_empty());
        if let Some(sse) = sse {
            if self.event_comes(scene, exchange, sse, seen.text, seen.frame) {
                return true;
            }
        } else if exchange.media == Media::Events && self.has_event_fields {
            self.judge_priming(scene, exchange, false, false, seen.frame);
            exchange.set(mark::EVENTS);
        }
        let message = seen.message;
        let is_unmistakable = message.kind == Kind::Request
            || message.kind == Kind::Notification && message.method == Method::Progress;
        let Some(text) = seen.text.filter(|_| is_unmistakable) else {
            return false;
        };
        let content = Key::text(text);
        if let Some(before) = self.events.elsewhere(content, seen.stream) {
            // Where sessions cannot be told apart, it may be the same message of another one.
            if exchange.is_fresh() && !exchange.is_stateless() && !self.is_mixed() {
                let text = format!(
                    "{} comes on a second stream; a message goes out on one stream",
                    name(message)
                );
                let frames = [before.frame, seen.frame];
                self.broken(scene, Role::Server, &HTTP_NO_BROADCAST, &frames, text);
                return true;
            }
            if exchange.last_event.is_present() {
                return true;
            }
        }
        if exchange.is_fresh() {
            self.events.put_recent(Event {
                content,
                root: exchange.root,
                stream: exchange.stream,
                frame: seen.frame,
            });
        }
        false
    }

    /// A message of the server on its stream.
    pub(crate) fn judge_message(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        seen: &Seen<'_>,
        body: Option<Value<'_>>,
    ) {
        if self.old.is_some() {
            return;
        }
        if exchange.is(mark::ASIDE) {
            // The refusal of a version that is not known here is 2026-07-28's own.
            if seen.message.kind == Kind::Error && seen.message.number == UNSUPPORTED {
                self.judge_status_code(scene, exchange, seen);
            }
            return;
        }
        if exchange.is_stream() {
            scene.saw(When::HTTP_STREAM);
        }
        let message = seen.message;
        if exchange.is_post() && exchange.requests == 0 && exchange.one_way > 0 {
            self.judge_body_of_one_way(scene, exchange, seen);
        }
        let is_object = exchange.is_stateless() && exchange.media == Media::Json;
        if is_object && exchange.method == Method::SubscriptionsListen {
            self.judge_listen_object(scene, exchange, seen);
        }
        match message.kind {
            Kind::Result | Kind::Error => {
                self.judge_response(scene, exchange, seen);
                if exchange.is_stateless() {
                    self.judge_stateless_response(scene, exchange, seen, body);
                } else if message.kind == Kind::Error {
                    self.judge_refusal_for_version(scene, exchange, seen, body);
                }
            }
            Kind::Notification if message.method == Method::Progress => {
                self.judge_progress_place(scene, exchange, seen, body);
            }
            Kind::Request | Kind::Notification => self.judge_trailing(scene, exchange, seen),
            _ => {}
        }
    }

    /// The stream of a response.
    fn judge_response(&mut self, scene: &mut Scene<'_>, exchange: &mut Exchange, seen: &Seen<'_>) {
        let message = seen.message;
        let Ok(at) = scene.server.find_in(message.id) else {
            return;
        };
        let request = scene.server.inn[at];
        let is_clear = request.stream != 0 && request.flags & open::REUSED == 0;
        if request.stream == exchange.stream {
            if message.kind == Kind::Result {
                self.note_endpoint(exchange);
            }
            return;
        }
        if !is_clear {
            return;
        }
        if exchange.verb == Verb::Get && self.turns_out_old(scene, exchange, &request, seen) {
            return;
        }
        let own = self.exchange(request.stream);
        if own.is_some_and(|own| own.is(mark::SHARED) || !own.is_post()) {
            return;
        }
        let is_stateless = request.flags & open::STATELESS != 0;
        let frames = [request.frame, seen.frame];
        let what = request.method.words();
        let id = message.id;
        if exchange.is_post() && !exchange.is(mark::SHARED) {
            let text =
                format!("the answer to {what} {id} comes in the exchange of another request");
            let rule = &HTTP_RESPONSE_ON_OWN_STREAM;
            let fault = Fault::new(Role::Server, rule, &frames, text);
            return self.say(scene, fault.in_era(is_stateless));
        }
        if exchange.verb != Verb::Get || !exchange.is(mark::FIELDS) || is_stateless {
            return;
        }
        match exchange.root {
            Some(root) if root.is_post && root.stream != request.stream => {
                let text =
                    format!("the answer to {what} {id} comes on the stream of another request");
                let rule = &HTTP_RESPONSE_ON_OWN_STREAM;
                self.broken(scene, Role::Server, rule, &frames, text);
            }
            Some(root) if !root.is_post => {
                let text = format!(
                    "the answer to {what} {id} comes on a stream that a GET opened; it comes in answer to its POST"
                );
                self.broken(scene, Role::Server, &HTTP_RESPONSE_ON_GET, &frames, text);
            }
            _ => {}
        }
    }

    /// initialize was acknowledged and is answered on a stream: the transport of 2024-11-05.
    fn turns_out_old(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &Exchange,
        request: &In,
        seen: &Seen<'_>,
    ) -> bool {
        let post = self.exchange(request.stream);
        let is_acknowledged = post.is_some_and(|post| post.status == Some(202));
        if request.method != Method::Initialize || !is_acknowledged {
            return false;
        }
        self.old = Some(OldTransport::default());
        if self.has_event_names && !exchange.is(mark::ENDPOINT) {
            self.judge_no_endpoint(scene, exchange, seen);
        }
        true
    }

    /// Progress belongs to the request that gave the token.
    fn judge_progress_place(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        seen: &Seen<'_>,
        body: Option<Value<'_>>,
    ) {
        let token = seen.message.token;
        let ids = match &scene.server.tokens {
            Some(tokens) => tokens.inn.ids(token).collect::<Vec<_>>(),
            None => return,
        };
        let [id] = ids[..] else { return };
        let Ok(at) = scene.server.find_in(id) else {
            return;
        };
        let request = scene.server.inn[at];
        let is_reused = request.flags & open::REUSED != 0;
        if request.stream == 0 || request.stream == exchange.stream || is_reused {
            return;
        }
        let deep = scene.server.deep.as_ref();
        let asked = deep.and_then(|deep| deep.inn.find(id).ok().map(|at| deep.inn[at].wants_task));
        let related = "io.modelcontextprotocol/related-task";
        let is_of_task = asked == Some(true)
            || body.is_some_and(|body| body.path(&["params", "_meta", related]).is_some());
        if is_of_task {
            return;
        }
        let is_stateless = request.flags & open::STATELESS != 0;
        let is_on_listen =
            exchange.is_stateless() && exchange.method == Method::SubscriptionsListen;
        let tag = body.and_then(|body| body.path(&["params", "_meta", SUBSCRIPTION_ID]));
        if is_on_listen || is_stateless && tag.is_some() {
            // It is sent on a subscription: that has a rule of its own, which says more.
            return;
        }
        let frames = [request.frame, seen.frame];
        if exchange.is_post() && exchange.requests > 0 && !exchange.is(mark::SHARED) {
            let text = format!(
                "progress of {} {id} comes on the stream of another request",
                request.method.words()
            );
            let rule = &HTTP_RELATED_ON_POST_STREAM;
            let fault = Fault::new(Role::Server, rule, &frames, text);
            self.say(scene, fault.in_era(is_stateless));
        } else if exchange.verb == Verb::Get && exchange.is_fresh() && !is_stateless {
            let text = format!(
                "progress of {} {id}, which is still running, comes on a stream that a GET opened",
                request.method.words()
            );
            self.broken(scene, Role::Server, &HTTP_UNRELATED_ON_GET, &frames, text);
        }
    }
}
