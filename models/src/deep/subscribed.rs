//! Which resources a client is subscribed to, inside sessions.

use std::collections::BTreeMap;

use mcpsim_traces::encode::Encoder;
use mcpsim_traces::event::FrameNo;
use mcpsim_traces::key::Key;

use crate::idset::{IdSet, Used};
use crate::part::{Fact, Knows};

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
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Live {
    /// The request that began it.
    id: Key,
    /// The request that undoes it.
    undone: Fact,
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
    pub(crate) fn begin(&mut self, uri: Key, id: Key) {
        self.ended.remove(&uri);
        let is_live = |live: &Live| !live.undone.is_some();
        if self.live.get(&uri).is_some_and(is_live) {
            return;
        }
        if self.live.len() >= LIVE_MAX {
            self.is_many = true;
            return;
        }
        let undone = Fact::NONE;
        self.live.insert(uri, Live { id, undone });
    }

    /// The client was heard to ask for the end of updates.
    pub(crate) fn undo(&mut self, uri: Key, fact: Fact) {
        if let Some(live) = self.live.get_mut(&uri) {
            live.undone = fact;
        }
    }

    /// The server refused to send updates.
    pub(crate) fn refused(&mut self, uri: Key, id: Key) {
        if self.live.get(&uri).is_some_and(|live| live.id == id) {
            self.live.remove(&uri);
        }
    }

    /// The server answered the request to end updates.
    pub(crate) fn end(&mut self, uri: Key, is_done: bool, frame: FrameNo) {
        let Some(live) = self.live.get_mut(&uri).filter(|live| live.undone.is_some()) else {
            return;
        };
        if !is_done {
            live.undone = Fact::NONE;
            return;
        }
        self.live.remove(&uri);
        if self.ended.len() >= LIVE_MAX {
            self.ended.pop_first();
        }
        self.ended.insert(uri, frame);
    }

    /// What an update of that resource rests on.
    pub(crate) fn ground(&self, uri: Key, knows: impl Fn(Fact) -> Knows) -> Ground {
        if self.is_many {
            return Ground::Unknown;
        }
        // The resource may be a part of any that is subscribed to.
        let mut live = self.live.values();
        if live.any(|live| knows(live.undone) != Knows::Must) {
            return Ground::Live;
        }
        match self.ended.get(&uri) {
            Some(&frame) => Ground::Ended(frame),
            None => Ground::None,
        }
    }

    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.word(0x7375_6273 << 32 | self.live.len() as u64);
        for (uri, live) in &self.live {
            encoder.key(*uri);
            encoder.key(live.id);
            encoder.word(u64::from(live.undone.0));
        }
        for uri in self.ended.keys() {
            encoder.key(*uri);
        }
        self.asked.encode(encoder);
        encoder.word(u64::from(self.is_many));
    }
}
