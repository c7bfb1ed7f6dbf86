//! HTTP exchanges of a session: what each carries and how it ends, from the heads and events that a log has beside its
//! frames. What is wrong with them is judged in `rules/http`.

use std::collections::{BTreeMap, VecDeque};

use mcpsim_traces::event::{Role, Stream};
use mcpsim_traces::message::Kind;
use mcpsim_traces::tape::Value;

use crate::observer::{LogEvent, LogWhat, Seen};

mod course;
pub(crate) mod events;
mod exchange;
pub(crate) mod head;
mod messages;
pub(crate) mod params;
mod scene;
mod sent;
mod session;

use events::Events;
pub(crate) use exchange::{End, Exchange, Verb, mark};
use head::Media;
use params::Tools;
pub(crate) use scene::{Fault, Scene};
pub(crate) use sent::Sent;
pub(crate) use session::{Dead, HowDead, Issued, OldTransport, Past, Session};

/// What becomes of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    /// It is judged.
    Frame,
    /// It is judged, in the body of an answer that refuses what was asked on transport grounds.
    Refusal,
    /// It is judged, but for that rule: a closer one was found broken.
    But(&'static [&'static str]),
    /// It is no message, or was delivered before.
    Nothing,
}

/// All exchanges of a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exchanges {
    map: BTreeMap<Stream, Exchange>,
    over: VecDeque<Stream>,
    started: VecDeque<Stream>,
    sent: VecDeque<Sent>,
    held: Vec<Fault>,
    pub(crate) events: Events,
    pub(crate) session: Session,
    pub(crate) past: VecDeque<Past>,
    pub(crate) old: Option<OldTransport>,
    pub(crate) tools: Tools,
    /// The log has fields of server-sent events; names of them; ends of exchanges.
    pub(crate) has_event_fields: bool,
    pub(crate) has_event_names: bool,
    has_ends: bool,
    /// A request was answered in its own exchange.
    has_own_answers: bool,
    /// Sessions cannot be told apart.
    is_mixed: bool,
    /// A stateless request was served; the server says that it serves nothing else.
    pub(crate) is_modern: bool,
    pub(crate) is_modern_only: bool,
    /// Notes that are made once.
    pub(crate) told_priming: bool,
    pub(crate) told_buffering: bool,
    pub(crate) told_old_version: bool,
    /// The client left in order.
    has_left: bool,
}

impl Exchanges {
    pub(crate) fn exchange(&self, stream: Stream) -> Option<&Exchange> {
        self.map.get(&stream)
    }

    pub(crate) fn exchange_mut(&mut self, stream: Stream) -> Option<&mut Exchange> {
        self.map.get_mut(&stream)
    }

    /// Whether the client ended the session by DELETE.
    pub(crate) fn is_deleted(&self) -> bool {
        let dead = self.session.dead;
        dead.is_some_and(|dead| dead.how == HowDead::Deleted)
    }

    /// Whether the stream goes on with one that broke.
    pub(crate) fn is_resumed(&self, stream: Stream) -> bool {
        let exchange = self.exchange(stream);
        exchange.is_some_and(|exchange| exchange.last_event.is_present())
    }

    /// Whether the client's request names 2026-07-28 in its headers.
    pub(crate) fn is_newer(&self, stream: Stream) -> bool {
        let exchange = self.exchange(stream);
        exchange.is_some_and(|exchange| exchange.is(mark::NEWER))
    }

    /// Whether some request was sent in a session, or may have been where its head alone is missing.
    pub(crate) fn carried_session(&self) -> bool {
        let mut all = self.map.values();
        let has_heads = self.map.values().any(|exchange| exchange.is(mark::FIELDS));
        all.any(|exchange| {
            exchange.session.is_present() || has_heads && exchange.verb == Verb::Unknown
        })
    }

    /// Whether the client's request shows that it is sent by the revision that was agreed on, wherever it is seen.
    pub(crate) fn is_agreed(&self, stream: Stream) -> bool {
        self.exchange(stream).is_some_and(|exchange| {
            let is_of_session =
                exchange.session.is_present() && exchange.session == self.session.id;
            exchange.is(mark::AGREED) || is_of_session
        })
    }

    /// Whether the server's answer came on an exchange of which no request was recorded, where answers come each in the exchange
    /// of their request: it is the answer to another one than any that was seen.
    pub(crate) fn is_anothers(&self, seen: &Seen<'_>) -> bool {
        if self.map.is_empty()
            || !matches!(seen.message.kind, Kind::Result | Kind::Error | Kind::Batch)
        {
            return false;
        }
        self.exchange(seen.stream)
            .is_some_and(|exchange| self.is_unseen(exchange))
    }

    /// Whether the exchange's request was not recorded, so that what answers nothing known there may answer that one.
    pub(crate) fn may_be_anothers(&self, stream: Stream) -> bool {
        let exchange = self.exchange(stream);
        self.old.is_none() && exchange.is_some_and(Exchange::is_unasked)
    }

    fn is_unseen(&self, exchange: &Exchange) -> bool {
        let is_own = self.has_own_answers || exchange.media == Media::Json;
        exchange.is_unasked() && is_own && self.old.is_none()
    }

    /// A frame, before it is judged.
    pub(crate) fn see(
        &mut self,
        scene: &mut Scene<'_>,
        seen: &Seen<'_>,
        body: Option<Value<'_>>,
    ) -> Fate {
        if seen.stream == 0 {
            return Fate::Frame;
        }
        match seen.from {
            Role::Client => self.client_frame(scene, seen, body),
            Role::Server => self.server_frame(scene, seen, body),
        }
    }

    /// Something on an exchange that is no frame. Returns whether it concerns that exchange alone.
    pub(crate) fn event(&mut self, scene: &mut Scene<'_>, event: &LogEvent<'_>) -> bool {
        let Some(stream) = event.stream.filter(|&stream| stream != 0) else {
            if event.by == Role::Client && matches!(event.what, LogWhat::Eof) {
                self.has_left = true;
            }
            if event.by == Role::Server && matches!(event.what, LogWhat::Exit { .. }) {
                self.die(HowDead::Exited, event.frame);
            }
            if event.what == LogWhat::Drop {
                self.cut_all(scene);
            }
            return false;
        };
        if let Some(http) = event.http {
            self.http(scene, event.by, stream, event.frame, http);
        }
        match event.what {
            LogWhat::Http => {
                if event.by == Role::Server && event.http.is_some_and(|http| !http.sse.is_empty()) {
                    self.event_without_data(scene, stream, event);
                }
                true
            }
            LogWhat::EmptyBody => {
                self.with(stream, |all, exchange| all.judge_empty(scene, exchange));
                true
            }
            LogWhat::Eof | LogWhat::Drop => {
                let by = matches!(event.what, LogWhat::Eof).then_some(event.by);
                self.end(scene, stream, by);
                true
            }
            _ => false,
        }
    }

    /// The log is over. `is_over`: the session was seen to end, or to come to rest.
    pub(crate) fn finish(&mut self, scene: &mut Scene<'_>, is_over: bool) {
        let is_deleted = |dead: Dead| dead.how == HowDead::Deleted;
        let is_over = is_over || self.session.dead.is_some_and(is_deleted);
        let streams: Vec<Stream> = self.map.keys().copied().collect();
        for stream in streams {
            self.with(stream, |all, exchange| {
                all.close(scene, exchange);
                all.judge_left(scene, exchange, is_over);
            });
        }
        self.judge_leaving(scene, self.has_left);
        // No revision was agreed on: whether the rule binds cannot be told.
        for fault in std::mem::take(&mut self.held) {
            if self.old.is_none() {
                scene.file(fault.unsure());
            }
        }
    }

    /// Takes an exchange out while something is done with it.
    pub(crate) fn with<T>(
        &mut self,
        stream: Stream,
        work: impl FnOnce(&mut Exchanges, &mut Exchange) -> T,
    ) -> Option<T> {
        let mut exchange = self.map.remove(&stream)?;
        let done = work(self, &mut exchange);
        self.map.insert(stream, exchange);
        Some(done)
    }

    pub(crate) fn has_ends(&self) -> bool {
        self.has_ends
    }

    pub(crate) fn is_mixed(&self) -> bool {
        self.is_mixed
    }
}
