//! Server-sent events of a session: which were delivered before, and on which stream first.

use std::collections::{BTreeMap, VecDeque};

use mcpsim_traces::event::{FrameNo, Stream};
use mcpsim_traces::key::Key;

/// The ids of so many events are remembered; older ones are taken for new.
const EVENTS_MAX: usize = 4096;
/// So many messages are remembered that came without an id.
const RECENT_MAX: usize = 64;

/// The stream that an event belongs to, however often the connection broke.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Root {
    pub(crate) stream: Stream,
    pub(crate) is_post: bool,
}

/// An event as it was delivered first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Event {
    /// Its data.
    pub(crate) content: Key,
    pub(crate) root: Option<Root>,
    /// The exchange that delivered it last.
    pub(crate) stream: Stream,
    pub(crate) frame: FrameNo,
}

/// Events with and without ids.
#[derive(Clone, Debug, Default)]
pub(crate) struct Events {
    by_id: BTreeMap<Key, Event>,
    order: VecDeque<Key>,
    recent: VecDeque<Event>,
    /// The server has given some event an id.
    pub(crate) has_ids: bool,
}

impl Events {
    /// The event of that id.
    pub(crate) fn get(&self, id: Key) -> Option<Event> {
        self.by_id.get(&id).copied()
    }

    pub(crate) fn put(&mut self, id: Key, event: Event) {
        if self.by_id.insert(id, event).is_some() {
            return;
        }
        self.order.push_back(id);
        if self.order.len() > EVENTS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.by_id.remove(&oldest);
        }
    }

    /// An earlier delivery of that message on another stream.
    pub(crate) fn elsewhere(&self, content: Key, stream: Stream) -> Option<Event> {
        let is_it = |event: &&Event| event.content == content && event.stream != stream;
        self.recent.iter().rev().find(is_it).copied()
    }

    pub(crate) fn put_recent(&mut self, event: Event) {
        if self.recent.len() == RECENT_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back(event);
    }
}
