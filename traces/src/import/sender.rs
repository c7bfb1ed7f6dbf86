//! Who sent a frame, concluded from what the frame says and from what was said before.

use std::collections::BTreeSet;

use crate::classify::classify;
use crate::event::Role;
use crate::key::Key;
use crate::message::{Kind, Message, Method};
use crate::scan::Scanner;

/// The only side that may send that request or notification, in every revision; `None` where both may.
pub(super) fn only_sender(method: Method) -> Option<Role> {
    Some(match method {
        Method::SamplingCreateMessage
        | Method::ElicitationCreate
        | Method::RootsList
        | Method::LogMessage
        | Method::ToolsListChanged
        | Method::PromptsListChanged
        | Method::ResourcesListChanged
        | Method::ResourcesUpdated
        | Method::ElicitationComplete
        | Method::SubscriptionsAcknowledged => Role::Server,
        Method::Initialize
        | Method::Initialized
        | Method::ToolsCall
        | Method::ToolsList
        | Method::ResourcesList
        | Method::ResourcesRead
        | Method::ResourcesTemplatesList
        | Method::ResourcesSubscribe
        | Method::ResourcesUnsubscribe
        | Method::PromptsList
        | Method::PromptsGet
        | Method::CompletionComplete
        | Method::LoggingSetLevel
        | Method::ServerDiscover
        | Method::SubscriptionsListen
        | Method::RootsListChanged => Role::Client,
        _ => return None,
    })
}

/// How sure a sender is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sender {
    /// It can be nobody else.
    Certain(Role),
    /// It is likely, by the ids that the sides have used.
    Likely(Role),
    Unknown,
}

/// More requests than this are not kept in mind.
const OPEN_MAX: usize = 1 << 16;

/// One side, as far as it is known.
#[derive(Clone, Default)]
struct Side {
    /// Requests that are not answered.
    open: BTreeSet<Key>,
    tokens: BTreeSet<Key>,
    /// The last id, where ids are numbers.
    last: Option<i64>,
}

/// Follows one session, frame by frame.
#[derive(Clone, Default)]
pub(super) struct Senders {
    client: Side,
    server: Side,
}

impl Senders {
    /// Who sent the next frame.
    pub(super) fn next(&mut self, text: &[u8], scanner: &mut Scanner) -> Sender {
        let message = classify(text, scanner).message;
        let sender = self.of(&message);
        if let Sender::Certain(role) | Sender::Likely(role) = sender {
            self.take(role, &message);
        }
        sender
    }

    /// Its sender is known from elsewhere.
    pub(super) fn told(&mut self, role: Role, message: &Message) {
        self.take(role, message);
    }

    fn of(&self, message: &Message) -> Sender {
        match message.kind {
            Kind::Request | Kind::Notification => match only_sender(message.method) {
                Some(role) => Sender::Certain(role),
                None if message.method == Method::Progress => {
                    self.other_of(|side| side.tokens.contains(&message.token))
                }
                None if message.method == Method::Cancelled => {
                    self.one_of(|side| side.open.contains(&message.token))
                }
                None if message.kind == Kind::Request => self.by_id(message.id),
                None => Sender::Unknown,
            },
            Kind::Result | Kind::Error => self.other_of(|side| side.open.contains(&message.id)),
            Kind::Batch | Kind::Malformed => Sender::Unknown,
        }
    }

    /// The side of which that is true, where it is true of one alone.
    fn one_of(&self, is: impl Fn(&Side) -> bool) -> Sender {
        match (is(&self.client), is(&self.server)) {
            (true, false) => Sender::Certain(Role::Client),
            (false, true) => Sender::Certain(Role::Server),
            _ => Sender::Unknown,
        }
    }

    fn other_of(&self, is: impl Fn(&Side) -> bool) -> Sender {
        match self.one_of(is) {
            Sender::Certain(Role::Client) => Sender::Certain(Role::Server),
            Sender::Certain(Role::Server) => Sender::Certain(Role::Client),
            other => other,
        }
    }

    /// Sides that count their requests use the next number.
    fn by_id(&self, id: Key) -> Sender {
        let is_next = |side: &Side| {
            let next = side.last.and_then(|last| last.checked_add(1));
            next.is_some() && id.as_integer() == next
        };
        match self.one_of(is_next) {
            Sender::Certain(role) => Sender::Likely(role),
            other => other,
        }
    }

    fn take(&mut self, role: Role, message: &Message) {
        let (own, other) = match role {
            Role::Client => (&mut self.client, &mut self.server),
            Role::Server => (&mut self.server, &mut self.client),
        };
        match message.kind {
            Kind::Request => {
                if own.open.len() < OPEN_MAX {
                    own.open.insert(message.id);
                }
                own.last = message.id.as_integer().or(own.last);
                if message.token.is_present() && own.tokens.len() < OPEN_MAX {
                    own.tokens.insert(message.token);
                }
            }
            Kind::Result | Kind::Error => {
                other.open.remove(&message.id);
            }
            Kind::Notification | Kind::Batch | Kind::Malformed => {}
        }
    }
}
