//! The messages that exchanges carry: which request or answer each of them is, and what becomes of it.

use mcpsim_traces::event::Role;
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Condition, Kind, Message, Method};
use mcpsim_traces::tape::Value;

use crate::era::Era;
use crate::http::events::Root;
use crate::http::head::Media;
use crate::http::{Exchange, Exchanges, Fate, Scene, Verb, mark};
use crate::observer::{Seen, outside};
use crate::part::{Part, flag};

impl Exchanges {
    pub(super) fn client_frame(
        &mut self,
        scene: &mut Scene<'_>,
        seen: &Seen<'_>,
        body: Option<Value<'_>>,
    ) -> Fate {
        if let Some(http) = seen.http {
            self.http(scene, Role::Client, seen.stream, seen.frame, http);
        }
        let is_used_up = |exchange: &Exchange| {
            exchange.waiting.is_none()
                && (exchange.answer_frame != 0
                    || exchange.status.is_some()
                    || exchange.end.is_some())
        };
        if self.map.get(&seen.stream).is_none_or(is_used_up) {
            self.replace(scene, seen.stream);
            self.start(Exchange {
                root: Some(Root {
                    stream: seen.stream,
                    is_post: true,
                }),
                ..Exchange::new(seen.stream, seen.frame)
            });
            self.session.begun += 1;
        }
        let of_it = |all: &mut Exchanges, exchange: &mut Exchange| {
            all.message_of_client(scene, exchange, seen, body)
        };
        self.with(seen.stream, of_it).unwrap_or(Fate::Frame)
    }

    fn message_of_client(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        seen: &Seen<'_>,
        body: Option<Value<'_>>,
    ) -> Fate {
        let message = seen.message;
        let is_message = message.kind != Kind::Malformed;
        let is_other_path = exchange.path.is_present()
            && self.session.tried.is_present()
            && ![self.session.tried, self.session.endpoint].contains(&exchange.path);
        // What is posted as something else than JSON, before the endpoint is known.
        let is_other_type = !scene.options.whole
            && !self.session.tried.is_present()
            && exchange
                .waiting
                .as_ref()
                .is_some_and(|head| Media::of(head) == Media::Other);
        if exchange.is(mark::FOREIGN) || (is_other_path || is_other_type) && !is_message {
            exchange.set(mark::FOREIGN);
            exchange.waiting = None;
            return Fate::Nothing;
        }
        if message.has(Condition::Blank) {
            return Fate::Nothing;
        }
        let is_second = exchange.requests + exchange.one_way > 0;
        let is_told = (is_second || message.has(Condition::TrailingData))
            && self.second_message(scene, exchange, seen);
        let era = era_of(scene, seen, body, exchange.is(mark::NEWER));
        let is_stateless = era.is_stateless();
        if is_stateless {
            exchange.set(mark::STATELESS);
        }
        if era == Era::Foreign {
            exchange.set(mark::ASIDE);
            exchange.waiting = None;
        }
        if message.kind == Kind::Request && message.has(Condition::NotificationPrefix) {
            // Whether it wants an answer is anybody's guess.
            exchange.set(mark::ASIDE);
        }
        if exchange.path.is_present() && is_message {
            self.session.tried = exchange.path;
        }
        let text = seen.text.map_or(Key::ABSENT, Key::text);
        if message.kind == Kind::Request {
            if message.method == Method::Initialize && !is_stateless {
                self.initialize_comes(scene, exchange, text);
            } else {
                self.comes_again(scene, exchange, seen, text);
            }
            self.remember(message.id, text, seen);
        }
        if message.kind == Kind::Notification && message.method == Method::Initialized {
            exchange.set(mark::INITIALIZED);
            // What was refused, or sent on to another address, may come again.
            if std::mem::take(&mut self.session.is_initialized_refused) {
                scene.client.flags &= !flag::INITIALIZED_SENT;
            }
        }
        self.note_contents(exchange, seen);
        if !exchange.is(mark::FIELDS) {
            self.mark_after_end(exchange);
        }
        if let Some(head) = exchange.waiting.take() {
            self.judge_request(scene, exchange, &head, Some(seen), body);
        } else if exchange.verb != Verb::Unknown {
            self.judge_body_of(scene, exchange, seen);
        }
        if exchange.is(mark::OTHER_SESSION) {
            return Fate::Nothing;
        }
        if self.is_mixed && message.kind == Kind::Request {
            self.forget(scene, message.id);
            scene.server.answerable(message.id);
        }
        if is_told {
            Fate::But(&["unparsable-message"])
        } else {
            Fate::Frame
        }
    }

    /// What the body holds.
    fn note_contents(&mut self, exchange: &mut Exchange, seen: &Seen<'_>) {
        let mut note = |message: &Message| match message.kind {
            Kind::Request => {
                exchange.requests += 1;
                exchange.method = message.method;
                if message.method == Method::Initialize {
                    exchange.set(mark::INITIALIZE);
                }
                if message.id.is_legal() {
                    exchange.asked.push(message.id);
                }
            }
            Kind::Notification | Kind::Result | Kind::Error => exchange.one_way += 1,
            Kind::Batch | Kind::Malformed => {}
        };
        match (seen.message.kind, seen.text) {
            (Kind::Batch, Some(text)) => Part::members(text, |_, member| note(member)),
            _ => note(seen.message),
        }
    }

    pub(super) fn server_frame(
        &mut self,
        scene: &mut Scene<'_>,
        seen: &Seen<'_>,
        body: Option<Value<'_>>,
    ) -> Fate {
        if let Some(http) = seen.http {
            self.http(scene, Role::Server, seen.stream, seen.frame, http);
        }
        if !self.map.contains_key(&seen.stream) {
            self.start(Exchange::new(seen.stream, 0));
        }
        let of_it = |all: &mut Exchanges, exchange: &mut Exchange| {
            all.message_of_server(scene, exchange, seen, body)
        };
        self.with(seen.stream, of_it).unwrap_or(Fate::Frame)
    }

    fn message_of_server(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        seen: &Seen<'_>,
        body: Option<Value<'_>>,
    ) -> Fate {
        if exchange.answer_frame == 0 {
            exchange.answer_frame = seen.frame;
        }
        if exchange.is(mark::FOREIGN | mark::OTHER_SESSION) {
            return Fate::Nothing;
        }
        let message = seen.message;
        if !self.is_message(scene, exchange, seen) {
            return Fate::Nothing;
        }
        if self.was_delivered(scene, exchange, seen) {
            return Fate::Nothing;
        }
        exchange.messages += 1;
        let is_refused = exchange.status.is_some_and(|status| status >= 400);
        self.judge_message(scene, exchange, seen, body);
        match (message.kind, seen.text) {
            (Kind::Batch, Some(text)) => Part::members(text, |_, member| {
                if member.kind.is_response() {
                    self.note_answer(scene, exchange, member);
                }
            }),
            (Kind::Result | Kind::Error, _) => self.note_answer(scene, exchange, message),
            _ => {}
        }
        let is_told = exchange.is(mark::BODY_TOLD);
        let may_be_foreign =
            exchange.is_unasked() && !scene.options.whole && !message.id.is_legal();
        let is_odd = (is_told || may_be_foreign) && message.kind == Kind::Error;
        // A body that should not be there: that it is no message, or answers nothing, is no second fault.
        match message.kind {
            Kind::Batch if is_told => {
                return Fate::But(&["batch-no-empty-answer", "batch-empty"]);
            }
            Kind::Malformed if is_told => return Fate::Nothing,
            Kind::Result | Kind::Error if is_told && exchange.verb == Verb::Get => {
                return Fate::But(&["response-unknown-id", "response-to-notification"]);
            }
            Kind::Result if is_told && exchange.method == Method::SubscriptionsListen => {
                return Fate::But(&["sub-ack-first", "sub-result-tag"]);
            }
            _ => {}
        }
        if is_refused || is_odd {
            Fate::Refusal
        } else {
            Fate::Frame
        }
    }

    /// A request is answered, in its own exchange or in another one.
    fn note_answer(&mut self, scene: &mut Scene<'_>, exchange: &mut Exchange, message: &Message) {
        let now = scene.now_ms;
        let settle = |exchange: &mut Exchange| {
            let before = exchange.asked.len();
            exchange.asked.retain(|id| *id != message.id);
            if exchange.asked.len() < before {
                exchange.set(mark::ANSWERED);
                exchange.answered_at = now;
            }
            exchange.asked.len() < before
        };
        if settle(exchange) {
            self.has_own_answers = true;
            if exchange.asked.is_empty() && exchange.media == Media::Json {
                self.over(exchange);
            }
        } else if !self.is_unseen(exchange) {
            let place = scene.server.find_in(message.id);
            let stream = place.map_or(0, |at| scene.server.inn[at].stream);
            if let Some(other) = self.map.get_mut(&stream) {
                settle(other);
            }
        }
    }
}

/// By which rules what the client sends is judged.
fn era_of(
    scene: &mut Scene<'_>,
    seen: &Seen<'_>,
    body: Option<Value<'_>>,
    is_newer_head: bool,
) -> Era {
    let mut cx = outside(scene.ledger, scene.options.client, scene.options.link);
    cx.is_newer_head = is_newer_head;
    cx.frame = seen.frame;
    cx.stream = seen.stream;
    cx.text = seen.text;
    cx.body = body;
    scene.client.era_of(&cx, seen.message, true)
}
