//! How exchanges begin, are answered, and end; and which of them are forgotten first.

use mcpsim_traces::event::{FrameNo, Role, Stream};
use mcpsim_traces::http::{Head, Http, Start};
use mcpsim_traces::key::Key;

use crate::http::events::Root;
use crate::http::head::{self, Media};
use crate::http::sent::SentFate;
use crate::http::{End, Exchange, Exchanges, Scene, Verb, mark};
use crate::rules::When;

/// So many exchanges are remembered that are over: something may still come on them.
const OVER_MAX: usize = 512;
/// So many exchanges are remembered in all.
const EXCHANGES_MAX: usize = 1 << 14;

impl Exchanges {
    /// The head, if the line has one.
    pub(super) fn http(
        &mut self,
        scene: &mut Scene<'_>,
        by: Role,
        stream: Stream,
        frame: FrameNo,
        http: &Http<'_>,
    ) {
        match (&http.head, by) {
            (Some(head), Role::Client) if head.method().is_some() => {
                self.begin(scene, stream, frame, head);
            }
            (Some(head), Role::Server) if head.status().is_some() => {
                if !scene.options.whole && !self.map.contains_key(&stream) {
                    self.start(Exchange::new(stream, 0));
                }
                self.with(stream, |all, exchange| {
                    all.answer_begins(scene, exchange, frame, head);
                });
            }
            _ => {}
        }
    }

    /// The head of a request begins an exchange.
    fn begin(&mut self, scene: &mut Scene<'_>, stream: Stream, frame: FrameNo, head: &Head<'_>) {
        let Start::Request { method, target } = &head.start else {
            return;
        };
        self.replace(scene, stream);
        scene.saw(When::HTTP);
        let mut exchange = Exchange {
            verb: Verb::of(method),
            path: head::path_key(head),
            ..Exchange::new(stream, frame)
        };
        if head.fields.is_some() {
            exchange.set(mark::FIELDS);
            let key = |name: &str| {
                head.value(name)
                    .map_or(Key::ABSENT, |value| Key::text(value.as_bytes()))
            };
            if head::names_newer(head) {
                exchange.set(mark::NEWER);
            }
            exchange.session = key("mcp-session-id");
            exchange.last_event = key("last-event-id");
            if head.value("authorization").is_some() {
                exchange.set(mark::TOKEN);
            }
        }
        if target.as_deref().is_some_and(head::is_discovery) {
            exchange.set(mark::FOREIGN);
        }
        match exchange.verb {
            Verb::Post | Verb::Other => {
                exchange.root = Some(Root {
                    stream,
                    is_post: true,
                });
                exchange.waiting = Some(Box::new(head.clone().into_owned()));
            }
            Verb::Get => self.begin_get(scene, &mut exchange, head),
            _ => {}
        }
        if matches!(exchange.verb, Verb::Get | Verb::Delete) {
            self.judge_request(scene, &mut exchange, head, None, None);
        }
        if !exchange.is(mark::FOREIGN) {
            self.session.begun += 1;
        }
        self.start(exchange);
    }

    fn begin_get(&mut self, scene: &mut Scene<'_>, exchange: &mut Exchange, head: &Head<'_>) {
        exchange.target = head.target().map(Box::from);
        if !exchange.is(mark::FIELDS) {
            return;
        }
        exchange.root = match self.events.get(exchange.last_event) {
            Some(event) => event.root,
            None if exchange.last_event.is_present() => None,
            None => Some(Root {
                stream: exchange.stream,
                is_post: false,
            }),
        };
        if exchange.last_event.is_present() {
            self.resume(scene, exchange);
        }
    }

    /// Puts the exchange into the list; the oldest give way.
    pub(super) fn start(&mut self, exchange: Exchange) {
        let stream = exchange.stream;
        self.map.insert(stream, exchange);
        self.started.push_back(stream);
        while self.map.len() > EXCHANGES_MAX {
            match self.started.pop_front() {
                Some(oldest) => drop(self.map.remove(&oldest)),
                None => break,
            }
        }
        while self.started.len() > 2 * EXCHANGES_MAX {
            self.started.pop_front();
        }
    }

    /// What comes next on that stream is another exchange.
    pub(super) fn replace(&mut self, scene: &mut Scene<'_>, stream: Stream) {
        if let Some(mut exchange) = self.map.remove(&stream) {
            self.close(scene, &mut exchange);
        }
    }

    /// Nothing more is expected on it: it is among the first to be forgotten.
    pub(crate) fn over(&mut self, exchange: &mut Exchange) {
        if exchange.is(mark::OVER) {
            return;
        }
        exchange.set(mark::OVER);
        self.over.push_back(exchange.stream);
        if self.over.len() > OVER_MAX
            && let Some(oldest) = self.over.pop_front()
            && self.map.get(&oldest).is_some_and(|old| old.is(mark::OVER))
        {
            self.map.remove(&oldest);
        }
    }

    pub(super) fn end(&mut self, scene: &mut Scene<'_>, stream: Stream, by: Option<Role>) {
        self.has_ends = true;
        let end = End {
            by,
            at_ms: scene.now_ms,
            begun: self.session.begun,
        };
        self.with(stream, |all, exchange| {
            if exchange.end.is_some() {
                return;
            }
            exchange.end = Some(end);
            if by != Some(Role::Client) {
                all.fail(exchange, SentFate::Broke);
            }
            if by.is_none() {
                all.cut(scene, exchange);
            }
            all.close(scene, exchange);
            if !exchange.is(mark::FOREIGN | mark::SHARED | mark::OTHER_SESSION) {
                all.judge_end(scene, exchange);
            }
            if exchange.asked.is_empty() {
                all.over(exchange);
            }
        });
    }

    /// The connection broke: what it was to bring may have been sent, and nobody has it.
    fn cut(&mut self, scene: &mut Scene<'_>, exchange: &Exchange) {
        let is_old = self.old.is_some();
        if is_old && exchange.is(mark::ENDPOINT) {
            // All answers come on that stream.
            return self.cut_all(scene);
        }
        // There a POST that was acknowledged has brought all that it brings.
        let is_done = is_old && exchange.status.is_some_and(|status| status < 300);
        let root = exchange.root.filter(|root| root.stream != exchange.stream);
        let first = root.and_then(|root| self.exchange(root.stream));
        let ids = match first {
            Some(first) => &first.asked,
            None => &exchange.asked,
        };
        for &id in ids.iter().filter(|_| !is_done) {
            scene.cut(id);
        }
    }

    /// A connection broke, and nothing tells which: it may be that of any request.
    pub(super) fn cut_all(&mut self, scene: &mut Scene<'_>) {
        let ids: Vec<Key> = scene.client.own.iter().map(|own| own.id).collect();
        for id in ids {
            scene.cut(id);
        }
    }

    /// What had to wait for more on the exchange waits no longer.
    pub(super) fn close(&mut self, scene: &mut Scene<'_>, exchange: &mut Exchange) {
        if let Some(head) = exchange.waiting.take() {
            // A POST without a message is none of the protocol's.
            drop(head);
        }
        self.judge_elsewhere(scene, exchange);
        self.judge_odd_ack(scene, exchange);
    }

    /// The head of an answer.
    fn answer_begins(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        frame: FrameNo,
        head: &Head<'_>,
    ) {
        let Some(status) = head.status() else { return };
        if exchange.answer_frame == 0 {
            exchange.answer_frame = frame;
        }
        exchange.status = Some(status);
        exchange.media = Media::of(head);
        if exchange.is(mark::FOREIGN | mark::OTHER_SESSION | mark::SHARED) {
            return;
        }
        scene.saw(When::HTTP_ANSWER);
        self.judge_elsewhere(scene, exchange);
        if status >= 300 {
            self.fail(exchange, SentFate::Failed);
            self.settle(scene, exchange);
            self.session.is_refused |= exchange.is(mark::INITIALIZE);
            self.session.is_initialized_refused |= exchange.is(mark::INITIALIZED);
        }
        if self.old.is_none() && !exchange.is(mark::ASIDE) {
            if exchange.is_stateless() {
                self.judge_stateless_answer(scene, exchange, head);
            } else {
                self.judge_answer(scene, exchange, head);
            }
        }
        if status >= 300 || exchange.requests == 0 && exchange.is_post() {
            self.over(exchange);
        }
    }
}
