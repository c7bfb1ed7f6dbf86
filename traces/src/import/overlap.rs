//! HTTP exchanges that overlap, in logs whose lines do not say which one they belong to.

use crate::http::Field;
use crate::key::Key;
use crate::message::{Kind as MessageKind, Message};

/// HTTP exchanges overlap, and no line says which one it belongs to: that is concluded from what fits.
#[derive(Clone, Default)]
pub(crate) struct Exchanges {
    /// The number of the last one that was begun.
    pub(crate) last: u64,
    /// Those of which something may still come.
    live: Vec<Exchange>,
    /// Whether several were possible.
    pub(crate) is_concluded: bool,
    /// … and nothing decided between them.
    pub(crate) is_blurred: bool,
}

#[derive(Clone)]
struct Exchange {
    number: u64,
    is_post: bool,
    is_get: bool,
    /// The request in it, once it was seen.
    asks: Option<Key>,
    /// What it brought wants no answer but a status.
    is_one_way: bool,
    is_answered: bool,
}

/// More exchanges than this are not open at once.
pub(crate) const LIVE_MAX: usize = 1024;

impl Exchanges {
    /// The client begins another one.
    pub(crate) fn begin(&mut self, method: &str) {
        self.last += 1;
        if self.live.len() == LIVE_MAX {
            self.live.remove(0);
        }
        self.live.push(Exchange {
            number: self.last,
            is_post: method == "POST",
            is_get: method == "GET",
            asks: None,
            is_one_way: false,
            is_answered: false,
        });
    }

    /// What the client sends stands behind the head that brings it.
    pub(crate) fn sent(&mut self, message: &Message) -> u64 {
        if let Some(last) = self.live.last_mut() {
            match message.kind {
                MessageKind::Request => last.asks = Some(message.id),
                MessageKind::Notification | MessageKind::Result | MessageKind::Error => {
                    last.is_one_way = true;
                }
                MessageKind::Batch | MessageKind::Malformed => {}
            }
        }
        self.last
    }

    /// The exchange that a status belongs to.
    pub(crate) fn answered(&mut self, status: u16, is_stream: bool) -> u64 {
        let fits = |exchange: &Exchange| match status {
            202 => exchange.is_one_way,
            405 => !exchange.is_post,
            200 => !exchange.is_one_way,
            _ => true,
        };
        let waiting = |exchange: &Exchange| !exchange.is_answered;
        let all = self.live.iter().filter(|one| waiting(one)).count();
        let fitting = self.live.iter().filter(|one| waiting(one) && fits(one));
        // Streams that open one after the other are as good as each other.
        let is_one_of_streams = is_stream && fitting.clone().all(|one| one.is_get || one.is_post);
        let fitting = fitting.count();
        self.is_concluded |= all > 1;
        self.is_blurred |= match fitting {
            0 => all > 1,
            1 => false,
            _ => status != 202 && !is_one_of_streams,
        };
        let mut live = self.live.iter();
        let Some(at) = live.position(|one| waiting(one) && (fitting == 0 || fits(one))) else {
            return self.last;
        };
        let exchange = &mut self.live[at];
        exchange.is_answered = true;
        let number = exchange.number;
        let is_over = exchange.is_one_way || status != 200 || !exchange.is_get && !exchange.is_post;
        if is_over {
            self.live.remove(at);
        }
        number
    }

    /// The exchange that a message of the server belongs to.
    pub(crate) fn received(&mut self, message: &Message) -> u64 {
        if matches!(message.kind, MessageKind::Result | MessageKind::Error) {
            let asked = |one: &Exchange| one.asks == Some(message.id);
            if let Some(at) = self.live.iter().position(asked) {
                return self.live.remove(at).number;
            }
        }
        let mut open = self.live.iter().filter(|one| one.is_answered);
        let newest = open.next_back().map(|one| one.number);
        if open.next().is_some() {
            self.is_concluded = true;
            self.is_blurred = true;
        }
        newest.unwrap_or(self.last)
    }
}

/// Whether a head says that a stream of events follows.
pub(crate) fn tells_stream<'a>(mut fields: impl Iterator<Item = &'a Field<'a>>) -> bool {
    fields.any(|field| {
        field.name.eq_ignore_ascii_case("content-type")
            && field.value.starts_with("text/event-stream")
    })
}
