//! The session as the headers of its exchanges tell it: its id, its endpoint, its end, and the sessions before it.

use std::collections::BTreeSet;

use mcpsim_traces::event::{FrameNo, Stream};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Kind, Message, Method};

use crate::http::events::Events;
use crate::http::{Exchange, Exchanges, Scene, Verb, mark};
use crate::observer::ObserverOptions;
use crate::part::{Knows, Part, flag};

/// So many ids of earlier sessions are remembered.
const PAST_MAX: usize = 64;

/// Whether the server gave the session an id.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Issued {
    #[default]
    Unknown,
    Never,
    Given,
}

/// How a session came to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HowDead {
    NotFound,
    Deleted,
    /// The server's program ended; another one may know its sessions.
    Exited,
}

/// The end of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Dead {
    pub(crate) how: HowDead,
    pub(crate) frame: FrameNo,
    /// A client that goes on with it was reported.
    pub(crate) is_told: bool,
}

/// The session as its headers tell it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Session {
    pub(crate) issued: Issued,
    pub(crate) id: Key,
    pub(crate) issued_frame: FrameNo,
    /// The text of its initialize request.
    pub(crate) opening: Key,
    /// Its answer to initialize came in that exchange.
    pub(crate) opened_by: Stream,
    /// Where messages are answered, and where they were sent last.
    pub(crate) endpoint: Key,
    pub(crate) tried: Key,
    pub(crate) dead: Option<Dead>,
    /// The exchange of initialize failed; that of notifications/initialized.
    pub(crate) is_refused: bool,
    pub(super) is_initialized_refused: bool,
    /// A request with a token was served, and initialize was one.
    pub(crate) is_authorized: bool,
    pub(crate) is_opened_with_token: bool,
    /// The session id whose characters were looked at.
    pub(crate) checked: Key,
    /// The client sent DELETE.
    pub(crate) asked_to_end: bool,
    /// Methods of which a request without a token was refused with 401.
    pub(crate) needs_token: BTreeSet<Method>,
    /// How often the client has begun an exchange.
    pub(crate) begun: u32,
}

/// An earlier session of the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Past {
    pub(crate) id: Key,
    /// The text of its initialize, and whether the client went on after the answer.
    pub(crate) opening: Key,
    pub(crate) is_opened: bool,
    pub(crate) frame: FrameNo,
    pub(crate) dead: Option<Dead>,
}

/// The transport of 2024-11-05: messages of the server come on one stream, those of the client are posted.
#[derive(Clone, Debug, Default)]
pub(crate) struct OldTransport {
    /// Where messages go, with the stream that said so; the latest last.
    pub(crate) endpoints: Vec<(Key, Stream)>,
}

impl Exchanges {
    /// The session ended.
    pub(crate) fn die(&mut self, how: HowDead, frame: FrameNo) {
        self.session.dead.get_or_insert(Dead {
            how,
            frame,
            is_told: false,
        });
    }

    /// initialize: of another session, or once more of the one that could not be opened.
    pub(super) fn initialize_comes(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        text: Key,
    ) {
        let was_refused = self.session.is_refused;
        let is_new = self.session.dead.is_some()
            || self.session.issued == Issued::Never
            || exchange.is(mark::FIELDS) && !exchange.session.is_present();
        if scene.client.handshake_begun() {
            let was_opened = scene.server.is(flag::ANSWERED_INIT);
            if was_refused && !was_opened || was_opened && is_new {
                let is_mixed = self.session.issued == Issued::Never && self.session.dead.is_none();
                self.is_mixed |= is_mixed;
                if was_opened && !is_mixed {
                    let others = self.map.values_mut();
                    others.for_each(|exchange| exchange.set(mark::OTHER_SESSION));
                }
                self.begin_session(scene.client.is(flag::INITIALIZED_SENT | flag::OPERATED));
                scene.client.begin_anew(scene.options);
                scene.server.begin_anew(scene.options);
            }
        }
        self.session.opening = text;
        self.session.opened_by = exchange.stream;
    }

    /// What was known of the session is that of an earlier one.
    fn begin_session(&mut self, is_opened: bool) {
        let session = &mut self.session;
        if session.id.is_present() {
            if self.past.len() == PAST_MAX {
                self.past.pop_front();
            }
            self.past.push_back(Past {
                id: session.id,
                opening: session.opening,
                is_opened,
                frame: session.issued_frame,
                dead: session.dead,
            });
        }
        self.session = Session {
            tried: session.tried,
            is_authorized: session.is_authorized,
            needs_token: std::mem::take(&mut session.needs_token),
            begun: session.begun,
            ..Session::default()
        };
        // Its initialize may be sent once more under the same id, and is new; so are its events, whose ids count anew.
        self.sent.clear();
        self.events = Events::default();
    }

    /// Whether an initialize without a session id can be one more of this session: it has none yet, or what was sent for it
    /// came to nothing, or sessions of that server cannot be told apart.
    pub(crate) fn takes_initialize(&self, client: &Part, server: &Part) -> bool {
        if !client.handshake_begun() {
            return true;
        }
        if server.is(flag::ANSWERED_INIT) {
            return self.session.dead.is_none() && self.session.issued != Issued::Given;
        }
        let opening = self.map.get(&self.session.opened_by);
        self.session.is_refused
            || opening.is_none_or(|exchange| exchange.end.is_some() || exchange.is(mark::ANSWERED))
    }

    /// The exchanges of a session that begins beside this one, at the same server: what is known of the server, and which
    /// ids it has given away.
    pub(crate) fn beside(&self) -> Exchanges {
        let mut beside = Exchanges {
            past: self.past.clone(),
            session: self.session.clone(),
            has_event_fields: self.has_event_fields,
            has_event_names: self.has_event_names,
            has_ends: self.has_ends,
            is_modern: self.is_modern,
            is_modern_only: self.is_modern_only,
            told_priming: self.told_priming,
            told_buffering: self.told_buffering,
            told_old_version: self.told_old_version,
            ..Exchanges::default()
        };
        beside.begin_session(true);
        beside
    }

    /// Gives a stream of events of the transport of 2024-11-05 away, with the addresses that it named.
    pub(crate) fn hand_over(&mut self, stream: Stream, to: &mut Exchanges) {
        if let Some(exchange) = self.map.remove(&stream) {
            to.start(exchange);
        }
        let Some(old) = &mut self.old else { return };
        let (its, rest) = old.endpoints.iter().partition(|(_, by)| *by == stream);
        old.endpoints = rest;
        to.old = Some(OldTransport { endpoints: its });
    }

    /// Whether that is the endpoint, as far as the log tells.
    pub(crate) fn is_endpoint(&self, exchange: &Exchange) -> bool {
        let session = &self.session;
        !exchange.path.is_present()
            || exchange.path == session.endpoint
            || !session.endpoint.is_present() && exchange.path == session.tried
    }

    /// Whether the client knew the answer to initialize when it sent this.
    pub(crate) fn client_knew(
        &self,
        scene: &Scene<'_>,
        exchange: &Exchange,
        message: Option<&Message>,
    ) -> Knows {
        let known = scene.client.knows(scene.client.opened);
        if known != Knows::May {
            return known;
        }
        let shows = match message {
            Some(message) => {
                message.method == Method::Initialized
                    || message.kind == Kind::Request
                        && !matches!(message.method, Method::Ping | Method::Initialize)
            }
            None => exchange.verb == Verb::Delete,
        };
        let is_of_session = exchange.session.is_present() && exchange.session == self.session.id;
        if shows || is_of_session || exchange.is(mark::AGREED) {
            Knows::Must
        } else {
            Knows::May
        }
    }
}

impl Part {
    /// The next session begins: nothing is known of it.
    #[cold]
    fn begin_anew(&mut self, options: &ObserverOptions) {
        *self = Part::new(self.role, self.link, self.mode);
        if options.revision.is_some() {
            self.revision = options.revision;
            self.set(flag::FORCED);
        }
    }
}
