//! The sessions of the latest exchanges.

use std::collections::{BTreeMap, VecDeque};

use super::SESSIONS_MAX;
use super::route::Name;

/// So many exchanges are remembered: some of each session.
const MAX: usize = 4 * SESSIONS_MAX;

/// What is known of an exchange.
struct Of {
    session: Name,
    /// The target of the GET that opened it.
    get: Option<String>,
}

/// The sessions of the latest exchanges.
#[derive(Default)]
pub(super) struct Streams {
    all: BTreeMap<String, Of>,
    order: VecDeque<String>,
}

impl Streams {
    pub(super) fn session(&self, stream: &str) -> Option<&Name> {
        self.all.get(stream).map(|of| &of.session)
    }

    /// The target of the GET that opened it.
    pub(super) fn get_target(&self, stream: &str) -> Option<&str> {
        self.all.get(stream)?.get.as_deref()
    }

    pub(super) fn put_get(&mut self, stream: &str, target: &str) {
        if let Some(of) = self.all.get_mut(stream) {
            of.get = Some(target.to_owned());
        }
    }

    pub(super) fn put(&mut self, stream: &str, session: &Name) {
        if let Some(known) = self.all.get_mut(stream) {
            if known.session != *session {
                known.session.clone_from(session);
            }
            return;
        }
        let of = Of {
            session: session.clone(),
            get: None,
        };
        self.all.insert(stream.to_owned(), of);
        self.order.push_back(stream.to_owned());
        if self.order.len() > MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.all.remove(&oldest);
        }
    }

    pub(super) fn rename(&mut self, from: &Name, to: &Name) {
        let all = self.all.values_mut().map(|of| &mut of.session);
        let renamed = all.filter(|session| *session == from);
        renamed.for_each(|session| session.clone_from(to));
    }
}
