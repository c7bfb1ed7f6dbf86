//! Which resources a client is subscribed to, inside sessions.

use std::collections::BTreeMap;

use mcpsim_traces::encode::Encoder;
use mcpsim_traces::event::FrameNo;
use mcpsim_traces::key::Key;

use crate::idset::{IdSet, Used};

/// More subscriptions than this are not followed.
const LIVE_MAX: usize = 1000;

/// What is known of subscriptions: by the server's part of those toward it, by the client's of its own.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Subscribed {
    live: BTreeMap<Key, Live>,
    /// Those that ended, with the answer that ended them.
    ended: BTreeMap<Key, FrameNo>,
    /// What the client ever subscribed to.
    asked: IdSet,
    is_many: bool,
    /// Some subscription has ended or was refused.
    is_spent: bool,
}

/// Invariant: it is granted, or a request for it is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Live {
    /// Requests for it that are not answered: each may be in force already.
    open: u32,
    is_granted: bool,
    /// The request to end it that came after all of these; absent where there is none. It is in force once
    /// it is answered: until then the server may not have come to it.
    undo: Key,
}

/// What an update of a resource may rest on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ground {
    /// A subscription that may be live, to it or to what it may belong to.
    Live,
    /// None: the one that there was ended with that answer.
    Ended(FrameNo),
    /// None at all.
    None,
    Unknown,
}

impl Subscribed {
    /// The client asks for updates.
    pub(crate) fn asks(&mut self, uri: Key) {
        self.asked.insert(uri);
    }

    /// Whether the client never asked for updates of that.
    pub(crate) fn never_asked(&self, uri: Key) -> bool {
        self.asked.has(uri) == Used::Never
    }

    /// The client was heard to ask for updates.
    pub(crate) fn begin(&mut self, uri: Key) {
        self.ended.remove(&uri);
        if !self.live.contains_key(&uri) && self.live.len() >= LIVE_MAX {
            self.is_many = true;
            return;
        }
        let live = self.live.entry(uri).or_default();
        live.open = live.open.saturating_add(1);
        live.undo = Key::ABSENT;
    }

    /// The server answered the request for updates.
    pub(crate) fn begun(&mut self, uri: Key, is_granted: bool) {
        let Some(live) = self.live.get_mut(&uri) else {
            return;
        };
        live.open = live.open.saturating_sub(1);
        live.is_granted |= is_granted;
        if live.open == 0 && !live.is_granted {
            self.is_spent = true;
            self.live.remove(&uri);
        }
    }

    /// The client was heard to ask for the end of updates.
    pub(crate) fn undo(&mut self, uri: Key, id: Key) {
        if let Some(live) = self.live.get_mut(&uri)
            && !live.undo.is_present()
        {
            live.undo = id;
        }
    }

    /// The server answered the request to end updates. One that the client has taken back since, by
    /// subscribing again, ends nothing: which of the two the server did last nobody can tell.
    pub(crate) fn end(&mut self, uri: Key, id: Key, is_done: bool, frame: FrameNo) {
        let Some(live) = self.live.get_mut(&uri).filter(|live| live.undo == id) else {
            return;
        };
        live.undo = Key::ABSENT;
        live.is_granted &= !is_done;
        if live.is_granted || live.open != 0 {
            return;
        }
        self.is_spent = true;
        self.live.remove(&uri);
        if self.ended.len() >= LIVE_MAX {
            self.ended.pop_first();
        }
        self.ended.insert(uri, frame);
    }

    /// What an update of that resource rests on.
    pub(crate) fn ground(&self, uri: Key) -> Ground {
        if self.is_many {
            return Ground::Unknown;
        }
        // The resource may be a part of any that is subscribed to.
        if !self.live.is_empty() {
            return Ground::Live;
        }
        match self.ended.get(&uri) {
            Some(&frame) => Ground::Ended(frame),
            None => Ground::None,
        }
    }

    /// Whether some subscription was there and is no more.
    pub(crate) fn is_spent(&self) -> bool {
        self.is_spent
    }

    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.word(0x7375_6273 << 32 | self.live.len() as u64);
        for (uri, live) in &self.live {
            encoder.key(*uri);
            encoder.key(live.undo);
            encoder.word(u64::from(live.open) << 1 | u64::from(live.is_granted));
        }
        for uri in self.ended.keys() {
            encoder.key(*uri);
        }
        self.asked.encode(encoder);
        encoder.word(u64::from(self.is_spent) << 1 | u64::from(self.is_many));
    }
}
