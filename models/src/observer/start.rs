//! How a recording begins: with its session, or in the middle of one.

use mcpsim_traces::event::{FrameNo, Role};
use mcpsim_traces::message::{Kind, Message, Method};

use super::{Observer, Seen, body_of, outside};
use crate::era::{Light, is_newer_answer};
use crate::http::head::names_newer;
use crate::part::{Mode, Part, flag};
use crate::rules::ids::name;
use crate::rules::lifecycle::{INITIALIZE_FIRST, SERVER_SPEAKS_BEFORE_INITIALIZE};

/// How the recording begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Start {
    /// Nothing tells yet.
    Open,
    /// With the session.
    Whole,
    /// With a request that needs no session, where nobody says that nothing was before it.
    Late,
    /// In its middle, it seems; the first frame that a whole session could not begin with.
    Joined {
        first: FrameNo,
        from: Role,
        name: &'static str,
    },
}

impl Observer {
    #[cold]
    pub(super) fn judge_start(&mut self, seen: &Seen<'_>) {
        let message = seen.message;
        let head = seen.http.and_then(|http| http.head.as_ref());
        let is_newer_head = seen.from == Role::Client
            && message.method != Method::Initialize
            && (head.is_some_and(names_newer) || self.exchanges.is_newer(seen.stream));
        let is_stateless = message.speaks_for_itself() || is_newer_head;
        let opens = match message.kind {
            Kind::Request => message.method == Method::Initialize || is_stateless,
            Kind::Batch => seen.text.is_none_or(|text| {
                holds(text, |one| one.is_handshake() || one.speaks_for_itself())
            }),
            _ => false,
        };
        if seen.from == Role::Client && opens {
            // A request that speaks for itself may stand in the middle too.
            return match self.start {
                Start::Joined { .. } | Start::Late
                    if is_stateless && message.kind == Kind::Request => {}
                _ => self.begin(seen),
            };
        }
        if self.start != Start::Open || message.kind == Kind::Malformed {
            return;
        }
        let may_begin = match (seen.from, message.kind) {
            (_, Kind::Request) => message.method == Method::Ping,
            (_, Kind::Batch) => false,
            (Role::Client, Kind::Notification) => self.client.mode == Mode::Loose,
            (Role::Server, Kind::Notification) => message.method == Method::LogMessage,
            (Role::Server, _) => self.client.find_own(message.id).is_ok() || !message.id.is_legal(),
            (Role::Client, _) => self.server.find_own(message.id).is_ok() || !message.id.is_legal(),
        };
        if !may_begin {
            let name = match message.kind.is_response() {
                true => "",
                false => name(message),
            };
            self.join(seen.frame, seen.from, name);
        }
    }

    /// Two that get on with each other without a sign of 2026-07-28 have agreed on a session before.
    pub(super) fn look_back(&mut self, seen: &Seen<'_>) {
        let by = match seen.from {
            Role::Client => &self.client,
            Role::Server => &self.server,
        };
        if !by.owes_of_either_era(seen.message.id) {
            return;
        }
        let body = match (seen.body, seen.text) {
            (None, Some(text)) => body_of(&mut self.scanner, text, seen.message),
            (body, _) => body,
        };
        if body.is_some() && !is_newer_answer(body, seen.message) {
            self.join(seen.frame, seen.from, "");
        }
    }

    /// The recording begins in the middle of a session: this frame shows it.
    pub(super) fn join(&mut self, first: FrameNo, from: Role, name: &'static str) {
        self.start = Start::Joined { first, from, name };
        for part in [&mut self.client, &mut self.server] {
            part.set(flag::JOINED);
            part.settle_era(&mut self.ledger, Light::Handshake);
        }
    }

    /// The session begins here: what came before it is judged as such.
    pub(super) fn begin(&mut self, seen: &Seen<'_>) {
        let method = seen.message.method;
        let is_handshake = method == Method::Initialize;
        // A batch is read on its own; a probe comes before any session.
        let is_late = !is_handshake
            && method != Method::ServerDiscover
            && !(seen.message.kind == Kind::Batch
                && seen
                    .text
                    .is_none_or(|text| holds(text, Message::is_handshake)));
        let next = if is_late { Start::Late } else { Start::Whole };
        let start = std::mem::replace(&mut self.start, next);
        for part in [&mut self.client, &mut self.server] {
            part.begin();
            if is_late {
                part.set(flag::LATE);
            }
            match method {
                Method::Initialize => {}
                // A client may probe again.
                Method::ServerDiscover => part.rare().is_probed = true,
                _ => part.rare().first_id = seen.message.id,
            }
        }
        let Start::Joined { first, from, name } = start else {
            return;
        };
        // A session over HTTP that has an id goes on beside the new one.
        let has_session = self.exchanges.carried_session();
        if !is_handshake || name.is_empty() || has_session {
            return;
        }
        let (part, rule, party) = match from {
            Role::Client => (&self.client, &INITIALIZE_FIRST, self.options.client),
            Role::Server => (
                &self.server,
                &SERVER_SPEAKS_BEFORE_INITIALIZE,
                self.options.server,
            ),
        };
        let mut cx = outside(&mut self.ledger, party, self.options.link);
        cx.frame = first;
        let text = format!(
            "{name} before initialize, which follows in frame {}",
            seen.frame
        );
        part.broken(&mut cx, rule, &[first], text);
    }
}

/// Whether the array holds such a message.
fn holds(text: &[u8], is_one: fn(&Message) -> bool) -> bool {
    let mut found = false;
    Part::members(text, |_, member| found |= is_one(member));
    found
}
