//! Progress tokens: of which requests they are, and how far their progress has come.

use std::collections::BTreeMap;
use std::fmt;

use mcpsim_traces::encode::Encoder;
use mcpsim_traces::event::{FrameNo, Stream};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Condition, Message, spelled_order};

use crate::idset::IdSet;
use crate::opens::Opens;

/// How far it has come, as near as a double tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reached {
    order: i64,
    /// Another number may be the same double.
    is_rounded: bool,
}

impl Reached {
    pub(crate) const NOTHING: Reached = Reached {
        order: 0,
        is_rounded: false,
    };

    /// What a progress notification says.
    #[inline]
    pub(crate) fn of(message: &Message) -> Reached {
        Reached {
            order: message.number,
            is_rounded: message.has(Condition::ProgressRounded),
        }
    }

    /// Whether it went on from there; `None` where that cannot be told: rounding keeps the order of two numbers, or makes
    /// them one.
    #[inline]
    pub(crate) fn is_beyond(self, last: Reached) -> Option<bool> {
        if self.order == last.order && (self.is_rounded || last.is_rounded) {
            return None;
        }
        Some(self.order > last.order)
    }

    pub(crate) fn encode(self, encoder: &mut Encoder) {
        encoder.word(self.order as u64);
        encoder.word(u64::from(self.is_rounded));
    }
}

impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&spelled_order(self.order))
    }
}

/// Progress of one request toward the party.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Series {
    pub(crate) token: Key,
    pub(crate) id: Key,
    pub(crate) last: Reached,
    pub(crate) begun: bool,
    pub(crate) frame: FrameNo,
    /// Where its last progress came.
    pub(crate) stream: Stream,
}

/// What belongs to a token: of each request there is one at most.
pub(crate) trait Tokened {
    fn token(&self) -> Key;
    fn id(&self) -> Key;
}

impl Tokened for Series {
    #[inline]
    fn token(&self) -> Key {
        self.token
    }

    #[inline]
    fn id(&self) -> Key {
        self.id
    }
}

impl Tokened for (Key, Key) {
    #[inline]
    fn token(&self) -> Key {
        self.0
    }

    #[inline]
    fn id(&self) -> Key {
        self.1
    }
}

/// Sorted by token, then id; and the way back from the id where there are many.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TokenList<T> {
    pub(crate) list: Opens<T>,
    /// Invariant: whole where the list is long, empty where it is short.
    by_id: BTreeMap<Key, Key>,
}

impl<T> Default for TokenList<T> {
    fn default() -> Self {
        TokenList {
            list: Opens::default(),
            by_id: BTreeMap::new(),
        }
    }
}

impl<T: Tokened> TokenList<T> {
    /// A list that is longer has the way back.
    const SHORT_MAX: usize = 64;

    fn place(&self, token: Key, id: Key) -> usize {
        self.list.place(|one| (one.token(), one.id()) < (token, id))
    }

    pub(crate) fn insert(&mut self, one: T) {
        let (token, id) = (one.token(), one.id());
        self.list.insert(self.place(token, id), one);
        if self.list.len() > Self::SHORT_MAX {
            if self.by_id.is_empty() {
                self.by_id = self
                    .list
                    .iter()
                    .map(|one| (one.id(), one.token()))
                    .collect();
            } else {
                self.by_id.insert(id, token);
            }
        }
    }

    /// Takes what belongs to that request out.
    pub(crate) fn remove(&mut self, id: Key) -> Option<T> {
        if self.by_id.is_empty() && !self.list.is_large() {
            let at = self.list.head().iter().position(|one| one.id() == id)?;
            return Some(self.list.remove(at));
        }
        let token = if self.by_id.is_empty() {
            self.list.iter().find(|one| one.id() == id)?.token()
        } else {
            self.by_id.remove(&id)?
        };
        if self.list.len() == Self::SHORT_MAX + 1 {
            self.by_id = BTreeMap::new();
        }
        Some(self.list.remove(self.place(token, id)))
    }

    /// The place of the first with that token.
    pub(crate) fn first(&self, token: Key) -> usize {
        self.list.place(|one| one.token() < token)
    }

    /// The ids of the requests with that token.
    pub(crate) fn ids(&self, token: Key) -> impl Iterator<Item = Key> {
        let from = self.list.iter_from(self.first(token));
        from.take_while(move |one| one.token() == token)
            .map(Tokened::id)
    }
}

/// Everything about progress tokens; most sessions have none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Tokens {
    /// Tokens of open own requests, with the request's id.
    pub(crate) own: TokenList<(Key, Key)>,
    /// Series of requests open toward the party.
    pub(crate) inn: TokenList<Series>,
    /// Tokens that the party ever supplied.
    pub(crate) supplied: IdSet,
    /// Tokens toward the party whose request it has answered.
    pub(crate) done: IdSet,
    /// Tokens that stay legal for reasons that are not followed: tasks, forgotten cancels.
    pub(crate) open_ended: IdSet,
}

impl Tokens {
    pub(super) fn encode(&self, encoder: &mut Encoder) {
        encoder.word(0x746f_6b65 << 32 | self.own.list.len() as u64);
        for &(token, id) in self.own.list.iter() {
            encoder.key(token);
            encoder.key(id);
        }
        encoder.word(self.inn.list.len() as u64);
        for series in self.inn.list.iter() {
            encoder.key(series.token);
            encoder.key(series.id);
            series.last.encode(encoder);
            encoder.word(u64::from(series.begun));
        }
        self.supplied.encode(encoder);
        self.done.encode(encoder);
        self.open_ended.encode(encoder);
    }
}
