//! Subscriptions of 2026-07-28: what each request subscriptions/listen asked for, what was agreed to, and
//! how it ended.

use std::collections::BTreeSet;

use mcpsim_traces::encode::Encoder;
use mcpsim_traces::event::{FrameNo, Stream};
use mcpsim_traces::key::Key;
use mcpsim_traces::tape::Value;

use crate::part::Fact;

/// The `_meta` member that names the subscription of a frame.
pub(crate) const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// More subscriptions than this are not followed: the one that ended first is forgotten.
const SUBSCRIPTIONS_MAX: usize = 256;
/// A filter with more URIs or ids than this, or longer ones, is not kept.
const ITEMS_MAX: usize = 1024;
const BYTES_MAX: usize = 1 << 16;

/// What a subscription can bring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    /// The list of tools has changed.
    Tools,
    /// The list of prompts has changed.
    Prompts,
    /// The list of resources has changed.
    Resources,
    /// A resource has changed.
    Updated,
    /// A task has changed.
    Tasks,
}

impl Change {
    const FLAGS: [(Change, &'static str); 3] = [
        (Change::Tools, "toolsListChanged"),
        (Change::Prompts, "promptsListChanged"),
        (Change::Resources, "resourcesListChanged"),
    ];

    /// The member of the filter that asks for it.
    pub(crate) const fn member(self) -> &'static str {
        match self {
            Change::Tools => "toolsListChanged",
            Change::Prompts => "promptsListChanged",
            Change::Resources => "resourcesListChanged",
            Change::Updated => "resourceSubscriptions",
            Change::Tasks => "taskIds",
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// What is asked for, or agreed to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Filter {
    topics: u8,
    uris: BTreeSet<Box<[u8]>>,
    tasks: BTreeSet<Key>,
    /// It is no filter, or too long: nothing is known of it.
    pub(crate) is_vague: bool,
}

impl Filter {
    fn vague() -> Filter {
        Filter {
            is_vague: true,
            ..Filter::default()
        }
    }

    /// Reads the member `notifications`.
    pub(crate) fn read(value: Option<Value<'_>>) -> Filter {
        let Some(value) = value.filter(|value| value.is_object()) else {
            return Filter::vague();
        };
        let mut filter = Filter::default();
        for (name, value) in value.members() {
            let flag = Change::FLAGS.iter().find(|(_, member)| name.is(member));
            let is_fine = match flag {
                Some((topic, _)) => filter.read_flag(*topic, value),
                None if name.is(Change::Updated.member()) => filter.read_uris(value),
                None if name.is(Change::Tasks.member()) => filter.read_tasks(value),
                None => true,
            };
            if !is_fine {
                return Filter::vague();
            }
        }
        filter
    }

    fn read_flag(&mut self, topic: Change, value: Value<'_>) -> bool {
        if value.as_bool() == Some(true) {
            self.topics |= topic.bit();
        }
        value.as_bool().is_some()
    }

    fn read_uris(&mut self, value: Value<'_>) -> bool {
        let mut bytes = 0;
        for item in value.items() {
            let Some(uri) = item.as_bytes() else {
                return false;
            };
            bytes += uri.len();
            if bytes > BYTES_MAX || self.uris.len() >= ITEMS_MAX {
                return false;
            }
            self.uris.insert(uri.into());
            self.topics |= Change::Updated.bit();
        }
        value.is_array()
    }

    fn read_tasks(&mut self, value: Value<'_>) -> bool {
        for item in value.items() {
            if !item.is_text() || self.tasks.len() >= ITEMS_MAX {
                return false;
            }
            self.tasks.insert(item.key());
            self.topics |= Change::Tasks.bit();
        }
        value.is_array()
    }

    /// Whether it has that topic, in whatever part.
    pub(crate) fn has(&self, topic: Change) -> bool {
        self.topics & topic.bit() != 0
    }

    /// Whether it lists that task.
    #[allow(dead_code)] // For the rules of tasks.
    pub(crate) fn has_task(&self, task: Key) -> bool {
        self.tasks.contains(&task)
    }

    /// Whether it lists that URI, or one that this one extends by a path, a query or a fragment.
    pub(crate) fn covers(&self, uri: &[u8]) -> bool {
        self.uris.contains(uri)
            || self.uris.iter().any(|listed| {
                let base = listed.strip_suffix(b"/").unwrap_or(listed);
                let rest = uri.strip_prefix(base);
                rest.is_some_and(|rest| matches!(rest.first(), Some(b'/' | b'?' | b'#')))
            })
    }

    /// What stands in the filter `value` and not in this one.
    pub(crate) fn excess<'a>(&self, value: Value<'a>) -> Option<(Change, Value<'a>)> {
        for (name, value) in value.members() {
            let flag = Change::FLAGS.iter().find(|(_, member)| name.is(member));
            if let Some((topic, _)) = flag {
                if value.as_bool() == Some(true) && !self.has(*topic) {
                    return Some((*topic, value));
                }
            } else if name.is(Change::Updated.member()) {
                let is_new = |item: &Value<'_>| {
                    let uri = item.as_bytes();
                    uri.is_some_and(|uri| !self.uris.contains(&*uri))
                };
                if let Some(item) = value.items().find(is_new) {
                    return Some((Change::Updated, item));
                }
            } else if name.is(Change::Tasks.member()) {
                let is_new = |item: &Value<'_>| item.is_text() && !self.has_task(item.key());
                if let Some(item) = value.items().find(is_new) {
                    return Some((Change::Tasks, item));
                }
            }
        }
        None
    }

    fn encode(&self, encoder: &mut Encoder) {
        encoder.word(u64::from(self.topics) << 1 | u64::from(self.is_vague));
        encoder.word(self.uris.len() as u64);
        for uri in &self.uris {
            encoder.bytes(uri);
        }
        encoder.word(self.tasks.len() as u64);
        for task in &self.tasks {
            encoder.key(*task);
        }
    }
}

/// Whether a subscription was acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ack {
    /// Not yet.
    None,
    /// A finding has told that it was not, or of what may have been meant for it: its acknowledgement may
    /// still come, and is no second one.
    Told,
    /// It was.
    Given,
}

/// How a subscription ended by the server's doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// It answered the request with a result.
    Result,
    /// It cancelled the request.
    Cancel,
    /// It answered with an error.
    Refusal,
}

/// One subscription.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Subscription {
    pub(crate) id: Key,
    pub(crate) stream: Stream,
    pub(crate) frame: FrameNo,
    pub(crate) fact: Fact,
    /// When it was asked for.
    pub(crate) since: u64,
    pub(crate) asked: Filter,
    /// What the server agreed to; vague until then.
    pub(crate) agreed: Filter,
    pub(crate) ack: Ack,
    /// Frames of an earlier one with its id may be taken for its own.
    pub(crate) is_blurred: bool,
    /// The client's cancel.
    pub(crate) cancel: Fact,
    pub(crate) cancel_frame: FrameNo,
    pub(crate) end: Option<End>,
    pub(crate) end_frame: FrameNo,
    /// The server was seen to stop serving it.
    pub(crate) is_torn: bool,
    /// ... and to end its stream: nothing more can come on it.
    pub(crate) is_shut: bool,
    /// The client closed its stream.
    pub(crate) is_dropped: bool,
}

impl Subscription {
    /// Whether nothing is left to say about a missing acknowledgement.
    pub(crate) fn is_acknowledged(&self) -> bool {
        self.ack != Ack::None
    }

    /// What may have acknowledged it was reported.
    pub(crate) fn told_of_ack(&mut self) {
        if self.ack == Ack::None {
            self.ack = Ack::Told;
        }
    }

    /// Whether one side ended it.
    pub(crate) fn is_over(&self) -> bool {
        self.end.is_some() || self.cancel.is_some() || self.is_dropped
    }
}

/// The subscriptions of one server.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Subscriptions {
    /// Sorted by id.
    list: Vec<Subscription>,
    /// One had to be forgotten.
    pub(crate) is_lossy: bool,
}

impl Subscriptions {
    pub(crate) fn find(&self, id: Key) -> Option<&Subscription> {
        let at = self.list.binary_search_by_key(&id, |one| one.id).ok()?;
        Some(&self.list[at])
    }

    pub(crate) fn find_mut(&mut self, id: Key) -> Option<&mut Subscription> {
        let at = self.list.binary_search_by_key(&id, |one| one.id).ok()?;
        Some(&mut self.list[at])
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Subscription> {
        self.list.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Subscription> {
        self.list.iter_mut()
    }

    /// The one whose frames travel on that stream.
    pub(crate) fn on_stream(&self, stream: Stream) -> Option<&Subscription> {
        let mut on = self.list.iter().filter(|one| one.stream == stream);
        on.find(|_| stream != 0)
    }

    /// A new request; one that ended and had its id gives way.
    pub(crate) fn open(&mut self, mut new: Subscription) {
        match self.list.binary_search_by_key(&new.id, |one| one.id) {
            Ok(at) => {
                new.is_blurred = self.list[at].end.is_none();
                self.list[at] = new;
            }
            Err(_) => {
                if self.list.len() >= SUBSCRIPTIONS_MAX {
                    self.forget_one();
                }
                if self.list.len() < SUBSCRIPTIONS_MAX {
                    let at = self.list.partition_point(|one| one.id < new.id);
                    self.list.insert(at, new);
                }
            }
        }
    }

    #[cold]
    fn forget_one(&mut self) {
        self.is_lossy = true;
        let all = self.list.iter().enumerate();
        let ended = all.filter(|(_, one)| one.end.is_some() || one.cancel.is_some());
        let oldest = ended.min_by_key(|(_, one)| one.end_frame.max(one.cancel_frame));
        if let Some((at, _)) = oldest {
            self.list.remove(at);
        }
    }

    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.word(0x7375_6273 << 32 | self.list.len() as u64);
        for one in &self.list {
            encoder.key(one.id);
            encoder.word(u64::from(one.fact.0) << 32 | u64::from(one.cancel.0));
            encoder.word(
                u64::from(one.stream) << 8
                    | u64::from(one.is_acknowledged())
                    | u64::from(one.is_blurred) << 1
                    | u64::from(one.is_shut) << 5
                    | u64::from(one.is_torn) << 6
                    | u64::from(one.is_dropped) << 7
                    | one.end.map_or(0, |end| end as u64 + 1) << 2
                    | u64::from(one.ack == Ack::Told) << 4,
            );
            one.asked.encode(encoder);
            one.agreed.encode(encoder);
        }
        encoder.word(u64::from(self.is_lossy));
    }
}
