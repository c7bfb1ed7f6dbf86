//! For whom the pages of a list may be kept, by the cursors that lead to the next ones.

use mcpsim_traces::encode::Encoder;
use mcpsim_traces::event::FrameNo;
use mcpsim_traces::key::Key;
use mcpsim_traces::message::Method;
use mcpsim_traces::tape::Value;

/// Of more cursors than this the oldest is forgotten.
const CURSORS_MAX: usize = 256;

/// For whom a result may be kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scope {
    Public,
    Private,
}

impl Scope {
    pub(crate) fn read(value: Value<'_>) -> Option<Scope> {
        match () {
            () if value.is("public") => Some(Scope::Public),
            () if value.is("private") => Some(Scope::Private),
            () => None,
        }
    }

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Scope::Public => "public",
            Scope::Private => "private",
        }
    }

    pub(crate) const fn other(self) -> Scope {
        match self {
            Scope::Public => Scope::Private,
            Scope::Private => Scope::Public,
        }
    }
}

/// The pages that gave a cursor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Page {
    method: Method,
    cursor: Key,
    /// The scopes of all of them, one bit each.
    scopes: u8,
    /// The last one.
    pub(crate) frame: FrameNo,
}

impl Page {
    /// Whether one of them had that scope.
    pub(crate) fn has(&self, scope: Scope) -> bool {
        self.scopes & 1 << scope as u8 != 0
    }
}

/// The cursors that a server gave.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Scopes {
    list: Vec<Page>,
}

impl Scopes {
    /// The pages that gave that cursor.
    pub(crate) fn of(&self, method: Method, cursor: Key) -> Option<&Page> {
        let mut list = self.list.iter().rev();
        list.find(|page| page.method == method && page.cursor == cursor)
    }

    /// A page of that scope gives a cursor.
    pub(crate) fn give(&mut self, method: Method, cursor: Key, scope: Scope, frame: FrameNo) {
        let known = |page: &Page| page.method == method && page.cursor == cursor;
        // The same cursor may come from another walk through the list, which may have another scope.
        let scopes = match self.list.iter().rposition(known) {
            Some(at) => self.list.remove(at).scopes,
            None => 0,
        };
        if self.list.len() >= CURSORS_MAX {
            self.list.remove(0);
        }
        self.list.push(Page {
            method,
            cursor,
            scopes: scopes | 1 << scope as u8,
            frame,
        });
    }

    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.word(0x7363_6f70 << 32 | self.list.len() as u64);
        for page in &self.list {
            encoder.key(page.cursor);
            encoder.word(u64::from(page.scopes) << 8 | page.method as u64);
        }
    }
}
