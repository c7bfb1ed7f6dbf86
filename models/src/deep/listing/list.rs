//! One list of a server: the items that it showed, the pages that it came in, and whether it changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mcpsim_traces::encode::Encoder;
use mcpsim_traces::event::FrameNo;
use mcpsim_traces::key::Key;
use mcpsim_traces::tape::Value;

use super::ListKind;
use crate::deep::Asked;
use crate::idset::{IdSet, Used};
use crate::ledger::Ledger;
use crate::part::Fact;
use crate::schema::Schema;

/// With more items than this in a list, no more of them are followed.
pub(super) const ENTRIES_MAX: usize = 10_000;
/// Of so many cursors it is known which frame handed them out.
pub(super) const LATEST_MAX: usize = 64;
/// A prompt with more required arguments than this is not judged.
const REQUIRED_MAX: usize = 64;

/// What an item of a list said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    /// When it went to the party; nothing for what the party said itself.
    pub(crate) fact: Fact,
    pub(crate) frame: FrameNo,
    /// What answers are judged by, as a key: the outputSchema of a tool, the arguments of a prompt;
    /// [`Key::NULL`] where it has none.
    pub(crate) key: Key,
    pub(crate) body: Body,
}

/// What an item of a list asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Body {
    /// Nothing that is judged.
    Plain,
    /// Two of that name say two things, or too much.
    Unclear,
    Tool {
        input: Option<Arc<Schema>>,
        /// `None` where there is none, or none that can be kept.
        output: Option<Arc<Schema>>,
    },
    /// The names of the arguments that it requires.
    Prompt(Arc<[Key]>),
}

/// A list that was read from its first page to its last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Whole {
    /// Of the items in any order.
    pub(super) set: u128,
    /// Of the items in their order.
    pub(super) order: u128,
    pub(crate) frame: FrameNo,
    pub(crate) fact: Fact,
    pub(super) is_stateless: bool,
}

/// How a whole list differs from the one before it, although nothing was announced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Difference {
    /// Other items.
    Items { before: FrameNo },
    /// The same ones in another order.
    Order { before: FrameNo },
}

/// Whether a list changes without a word.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Watch {
    pub(crate) whole: Option<Whole>,
    /// A change was announced since the first page of that one was sent.
    pub(crate) is_changed: bool,
}

impl Watch {
    /// A whole list; whether a change was announced between its pages.
    pub(super) fn complete(&mut self, whole: Whole, is_changed: bool) -> Option<Difference> {
        let was_changed = std::mem::replace(&mut self.is_changed, is_changed);
        let old = self.whole.replace(whole)?;
        let before = old.frame;
        if was_changed || old.is_stateless != whole.is_stateless {
            None
        } else if old.set != whole.set {
            Some(Difference::Items { before })
        } else if old.order != whole.order {
            Some(Difference::Order { before })
        } else {
            None
        }
    }
}

/// A list that is being read, page by page.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Chain {
    /// Every cursor handed out in it.
    cursors: IdSet,
    /// The cursor of the last page; absent for the first.
    at: Key,
    /// Where it goes on; absent where it has ended.
    pub(crate) next: Key,
    names: BTreeMap<Key, (FrameNo, Key)>,
    set: u128,
    order: u128,
    pub(crate) frame: FrameNo,
    pub(crate) fact: Fact,
    /// A change was announced since its first page.
    pub(crate) is_changed: bool,
    /// It is not known as a whole: it has more items than are followed, or some without a name, or began
    /// somewhere.
    is_many: bool,
    is_looped: bool,
    /// The next page was asked for.
    pub(crate) is_asked: bool,
    pub(crate) is_stateless: bool,
}

/// One list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct List {
    /// Cursors that its results handed out.
    pub(crate) cursors: IdSet,
    pub(super) latest: Vec<(Key, FrameNo, Fact)>,
    /// What stands in it, since a change was last announced.
    pub(crate) entries: BTreeMap<Key, Entry>,
    /// What stood in it before.
    pub(super) gone: BTreeSet<Key>,
    /// More items than are followed.
    pub(super) is_many: bool,
    pub(crate) chain: Option<Box<Chain>>,
    pub(crate) watch: Watch,
    /// A result of it was seen.
    pub(crate) is_seen: bool,
}

/// A name that stands twice in one list.
pub(crate) struct Doubled<'a> {
    pub(crate) name: Value<'a>,
    pub(crate) first: FrameNo,
    /// Both items say the same, so that it may be one that moved to the next page.
    pub(crate) is_same: bool,
    /// A change was announced between their pages.
    pub(crate) is_torn: bool,
}

/// What a page shows.
#[derive(Default)]
pub(crate) struct Page<'a> {
    pub(crate) doubled: Option<Doubled<'a>>,
    /// Its nextCursor leads back into the list.
    pub(crate) looped: Option<Value<'a>>,
    pub(crate) difference: Option<Difference>,
}

/// A page as it comes.
pub(crate) struct Seen<'a> {
    pub(crate) kind: ListKind,
    pub(crate) asked: &'a Asked,
    pub(crate) result: Value<'a>,
    pub(crate) frame: FrameNo,
    pub(crate) fact: Fact,
}

impl List {
    /// When that cursor was handed out: the earliest time, where that is still known.
    pub(crate) fn handed_out(&self, cursor: Key) -> Option<(FrameNo, Fact)> {
        let found = self.latest.iter().find(|(known, ..)| *known == cursor);
        found.map(|&(_, frame, fact)| (frame, fact))
    }

    /// Whether an item of that name ever stood in it, as far as is known.
    pub(crate) fn knows(&self, name: Key) -> bool {
        self.entries.contains_key(&name) || self.gone.contains(&name)
    }

    /// Whether the newest whole list, which nothing has changed since, is without that name, and every
    /// other one too.
    pub(crate) fn lacks(&self, name: Key) -> bool {
        let is_whole = self.watch.whole.is_some() && !self.watch.is_changed && !self.is_many;
        is_whole && name.is_present() && !self.knows(name)
    }

    /// A change is announced: what is in the list may be something else now.
    pub(super) fn announced(&mut self) {
        self.watch.is_changed = true;
        if let Some(chain) = &mut self.chain {
            chain.is_changed = true;
        }
        let names = std::mem::take(&mut self.entries).into_keys();
        self.gone.extend(names);
        if self.gone.len() > ENTRIES_MAX {
            self.gone = BTreeSet::new();
            self.is_many = true;
        }
    }

    /// A page of the list.
    pub(super) fn page<'a>(&mut self, seen: &Seen<'a>, ledger: &mut Ledger) -> Page<'a> {
        let mut page = Page::default();
        let cursor = seen.asked.cursor;
        // One that was never handed out begins somewhere: at the beginning where it is empty.
        let is_strange = cursor.is_present() && self.cursors.has(cursor) == Used::Never;
        let is_first = !cursor.is_present() || is_strange;
        self.is_seen = true;
        let next = seen.result.get("nextCursor");
        let mut chain = match self.chain.take() {
            _ if is_first => Some(Box::new(Chain {
                is_stateless: seen.asked.is_stateless,
                is_many: is_strange && cursor != Key::text(b""),
                ..Chain::default()
            })),
            // The same page again, or another listing's.
            Some(chain) if chain.next != cursor => {
                let is_again = chain.at == cursor;
                self.chain = is_again.then_some(chain);
                None
            }
            chain => chain,
        };
        if let Some(chain) = &mut chain {
            chain.at = cursor;
            chain.frame = seen.frame;
            chain.fact = seen.fact;
            chain.is_asked = false;
        }
        self.items(seen, chain.as_deref_mut(), &mut page, ledger);
        let Some(next) = next else {
            if let Some(chain) = chain {
                page.difference = self.finish(&chain);
            }
            return page;
        };
        if !next.is_text() {
            return page;
        }
        let key = next.key();
        self.hand_out(key, seen);
        let is_back = match &mut chain {
            Some(chain) => {
                chain.next = key;
                let is_old = chain.cursors.insert(key) == Used::Before || key == cursor;
                is_old && !std::mem::replace(&mut chain.is_looped, true)
            }
            None => false,
        };
        page.looped = is_back.then_some(next);
        if chain.is_some() {
            self.chain = chain;
        }
        page
    }

    fn hand_out(&mut self, cursor: Key, seen: &Seen<'_>) {
        if self.cursors.insert(cursor) != Used::Never && self.handed_out(cursor).is_some() {
            return;
        }
        if self.latest.len() >= LATEST_MAX {
            self.latest.drain(..LATEST_MAX / 2);
        }
        self.latest.push((cursor, seen.frame, seen.fact));
    }

    /// The items of a page.
    fn items<'a>(
        &mut self,
        seen: &Seen<'a>,
        mut chain: Option<&mut Chain>,
        page: &mut Page<'a>,
        ledger: &mut Ledger,
    ) {
        let items = seen.result.get(seen.kind.items());
        for item in items.into_iter().flat_map(Value::items) {
            let name = item.get(seen.kind.id()).filter(|name| name.is_text());
            let Some(name) = name else {
                if let Some(chain) = &mut chain {
                    chain.is_many = true;
                }
                continue;
            };
            let key = name.key();
            let mut is_doubled = false;
            if let Some(chain) = &mut chain
                && let Some((first, text)) = chain.put(key, item, seen.frame)
            {
                is_doubled = true;
                page.doubled.get_or_insert(Doubled {
                    name,
                    first,
                    is_same: first != seen.frame && text == Key::text(item.raw()),
                    is_torn: first != seen.frame && chain.is_changed,
                });
            }
            if self.entries.len() >= ENTRIES_MAX && !self.entries.contains_key(&key) {
                self.is_many = true;
                continue;
            }
            let mut entry = entry(seen, item, ledger);
            if is_doubled {
                entry.body = Body::Unclear;
            }
            self.entries.insert(key, entry);
        }
    }

    /// The last page was read.
    fn finish(&mut self, chain: &Chain) -> Option<Difference> {
        if chain.is_many {
            self.watch = Watch::default();
            return None;
        }
        let whole = Whole {
            set: chain.set,
            order: chain.order,
            frame: chain.frame,
            fact: chain.fact,
            is_stateless: chain.is_stateless,
        };
        self.watch.complete(whole, chain.is_changed)
    }

    pub(super) fn encode(&self, encoder: &mut Encoder) {
        self.cursors.encode(encoder);
        encoder.word(self.entries.len() as u64);
        for (name, entry) in &self.entries {
            encoder.key(*name);
            encoder.key(entry.key);
            encoder.word(u64::from(entry.fact.0));
        }
        for name in &self.gone {
            encoder.key(*name);
        }
        if let Some(chain) = &self.chain {
            chain.cursors.encode(encoder);
            encoder.key(chain.at);
            encoder.key(chain.next);
            encoder.word(chain.order as u64);
            encoder.word(u64::from(chain.is_changed) | u64::from(chain.is_asked) << 1);
        }
        self.watch.encode(encoder);
        encoder.word(u64::from(self.is_many) | u64::from(self.is_seen) << 1);
    }
}

impl Watch {
    pub(super) fn encode(&self, encoder: &mut Encoder) {
        encoder.word(u64::from(self.is_changed));
        if let Some(whole) = &self.whole {
            encoder.word(whole.order as u64);
            encoder.word(u64::from(whole.fact.0));
        }
    }
}

impl Chain {
    /// Puts an item in; where one of its name stands already, that one's frame and text.
    fn put(&mut self, name: Key, item: Value<'_>, frame: FrameNo) -> Option<(FrameNo, Key)> {
        let mut encoder = Encoder::new(0);
        encoder.key(name);
        self.set = self.set.wrapping_add(encoder.finish());
        encoder.word(self.order as u64);
        encoder.word((self.order >> 64) as u64);
        self.order = encoder.finish();
        if let Some(first) = self.names.get(&name) {
            return Some(*first);
        }
        if self.names.len() >= ENTRIES_MAX {
            self.is_many = true;
            return None;
        }
        self.names.insert(name, (frame, Key::text(item.raw())));
        None
    }
}

/// What an item says.
fn entry(seen: &Seen<'_>, item: Value<'_>, ledger: &mut Ledger) -> Entry {
    let mut key = Key::NULL;
    let body = match seen.kind {
        ListKind::Tools => {
            let schema = |name| {
                let value: Option<Value<'_>> = item.get(name);
                value.filter(|value| value.is_object())
            };
            let (input, output) = (schema("inputSchema"), schema("outputSchema"));
            if let Some(output) = output {
                key = Key::text(output.raw());
            }
            Body::Tool {
                input: input.and_then(|schema| ledger.schemas.intern(schema)),
                output: output.and_then(|schema| ledger.schemas.intern(schema)),
            }
        }
        ListKind::Prompts => match item.get("arguments") {
            Some(arguments) => {
                key = Key::text(arguments.raw());
                required(arguments)
            }
            None => Body::Prompt(Arc::from([])),
        },
        _ => Body::Plain,
    };
    Entry {
        fact: seen.fact,
        frame: seen.frame,
        key,
        body,
    }
}

/// The names of the arguments that a prompt requires.
fn required(arguments: Value<'_>) -> Body {
    let is_required = |argument: &Value<'_>| {
        let required = argument.get("required").and_then(Value::as_bool);
        required == Some(true)
    };
    let names: Option<Vec<Key>> = arguments
        .items()
        .filter(is_required)
        .take(REQUIRED_MAX + 1)
        .map(|argument| argument.get("name").filter(|name| name.is_text()))
        .map(|name| name.map(Value::key))
        .collect();
    match names {
        Some(names) if names.len() <= REQUIRED_MAX => Body::Prompt(names.into()),
        _ => Body::Unclear,
    }
}
