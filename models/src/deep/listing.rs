//! What lists told: which tools, prompts and resources there are and what they ask for, the cursors of their
//! pages, and whether a list changed without a word.
//!
//! Both parts of a link keep this of the server's lists, the server from what it sends, the client from what
//! goes to it. All of it is bounded: what is beyond is not judged.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mcpsim_traces::encode::Encoder;
use mcpsim_traces::event::FrameNo;
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Capability, Method};
use mcpsim_traces::tape::Value;

use super::{Asked, Frame};
use crate::idset::{IdSet, Used};
use crate::ledger::Ledger;
use crate::part::Fact;
use crate::schema::Schema;

/// With more items than this in a list, no more of them are followed.
const ENTRIES_MAX: usize = 10_000;
/// Of so many cursors it is known which frame handed them out.
const LATEST_MAX: usize = 64;
/// A prompt with more required arguments than this is not judged.
const REQUIRED_MAX: usize = 64;
/// Of so many tasks it is known which tool they run.
const TASKS_MAX: usize = 256;
/// So many frames of a party may pass before it announces that a list has changed.
const GRACE: u8 = 8;

/// A list that comes in pages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub(crate) enum ListKind {
    Tools,
    Resources,
    Templates,
    Prompts,
    Tasks,
}

impl ListKind {
    pub(crate) const ALL: [ListKind; 5] = [
        ListKind::Tools,
        ListKind::Resources,
        ListKind::Templates,
        ListKind::Prompts,
        ListKind::Tasks,
    ];

    /// The list that this method asks for.
    pub(crate) fn of(method: Method) -> Option<ListKind> {
        ListKind::ALL
            .into_iter()
            .find(|kind| kind.method() == method)
    }

    /// The list that such a notification says has changed.
    pub(crate) fn changed(method: Method) -> Option<ListKind> {
        Some(match method {
            Method::ToolsListChanged => ListKind::Tools,
            Method::ResourcesListChanged => ListKind::Resources,
            Method::PromptsListChanged => ListKind::Prompts,
            _ => return None,
        })
    }

    pub(crate) const fn method(self) -> Method {
        match self {
            ListKind::Tools => Method::ToolsList,
            ListKind::Resources => Method::ResourcesList,
            ListKind::Templates => Method::ResourcesTemplatesList,
            ListKind::Prompts => Method::PromptsList,
            ListKind::Tasks => Method::TasksList,
        }
    }

    /// The member of the result that holds the items.
    pub(crate) const fn items(self) -> &'static str {
        match self {
            ListKind::Tools => "tools",
            ListKind::Resources => "resources",
            ListKind::Templates => "resourceTemplates",
            ListKind::Prompts => "prompts",
            ListKind::Tasks => "tasks",
        }
    }

    /// The member that tells one item from another.
    pub(crate) const fn id(self) -> &'static str {
        match self {
            ListKind::Tools | ListKind::Prompts => "name",
            ListKind::Resources => "uri",
            ListKind::Templates => "uriTemplate",
            ListKind::Tasks => "taskId",
        }
    }

    /// What promises to tell of changes; `None` where nothing does.
    pub(crate) const fn promise(self) -> Option<Capability> {
        match self {
            ListKind::Tools => Some(Capability::ToolsListChanged),
            ListKind::Resources => Some(Capability::ResourcesListChanged),
            ListKind::Prompts => Some(Capability::PromptsListChanged),
            ListKind::Templates | ListKind::Tasks => None,
        }
    }
}

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

/// What the answer to a request is judged by, as far as lists told when it was asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Basis {
    /// [`Entry::key`]; [`Key::ILLEGAL`] where a whole list did not have the item.
    pub(crate) entry: Key,
    /// An argument that is required and not there.
    pub(crate) lacks: Key,
}

/// A list that was read from its first page to its last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Whole {
    /// Of the items in any order.
    set: u128,
    /// Of the items in their order.
    order: u128,
    pub(crate) frame: FrameNo,
    pub(crate) fact: Fact,
    is_stateless: bool,
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
    fn complete(&mut self, whole: Whole, is_changed: bool) -> Option<Difference> {
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
    latest: Vec<(Key, FrameNo, Fact)>,
    /// What stands in it, since a change was last announced.
    pub(crate) entries: BTreeMap<Key, Entry>,
    /// What stood in it before.
    gone: BTreeSet<Key>,
    /// More items than are followed.
    is_many: bool,
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
    fn announced(&mut self) {
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
    fn page<'a>(&mut self, seen: &Seen<'a>, ledger: &mut Ledger) -> Page<'a> {
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

    fn encode(&self, encoder: &mut Encoder) {
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
    fn encode(&self, encoder: &mut Encoder) {
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

/// A list that changed, and whose change was not announced yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Due {
    /// Which list of the server; `None` for the roots of the client.
    pub(crate) kind: Option<ListKind>,
    pub(crate) frames: [FrameNo; 2],
    grace: u8,
}

/// A task that a tool was run as, and what its result is judged by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Run {
    tool: Key,
    basis: Basis,
}

/// Everything that lists told.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Listings {
    lists: [List; 5],
    pub(crate) roots: Watch,
    dues: Vec<Due>,
    runs: BTreeMap<Key, Run>,
    /// What a server/discover result offered, by list.
    pub(crate) offered: [bool; 5],
    /// It was said that something is not judged.
    pub(crate) is_noted: bool,
    /// A frame was too large to be looked into: it may have told more.
    pub(crate) is_blind: bool,
}

impl Listings {
    pub(crate) fn list(&self, kind: ListKind) -> &List {
        &self.lists[kind as usize]
    }

    pub(crate) fn list_mut(&mut self, kind: ListKind) -> &mut List {
        &mut self.lists[kind as usize]
    }

    /// A page of a list.
    pub(crate) fn page<'a>(&mut self, seen: &Seen<'a>, ledger: &mut Ledger) -> Page<'a> {
        self.lists[seen.kind as usize].page(seen, ledger)
    }

    /// A change of a list is announced; `None` for the roots.
    pub(crate) fn announced(&mut self, kind: Option<ListKind>) {
        match kind {
            Some(kind) => self.lists[kind as usize].announced(),
            None => self.roots.is_changed = true,
        }
        self.dues.retain(|due| due.kind != kind);
    }

    /// The roots of the client, as a whole.
    pub(crate) fn roots(&mut self, result: Value<'_>, frame: FrameNo) -> Option<Difference> {
        let mut set = 0u128;
        for root in result.get("roots")?.items() {
            let mut encoder = Encoder::new(0);
            for name in ["uri", "name"] {
                encoder.key(root.get(name).map_or(Key::ABSENT, Value::key));
            }
            set = set.wrapping_add(encoder.finish());
        }
        let whole = Whole {
            set,
            order: set,
            frame,
            fact: Fact::NONE,
            is_stateless: false,
        };
        self.roots.complete(whole, false)
    }

    /// A change must be announced soon.
    pub(crate) fn expect(&mut self, kind: Option<ListKind>, frames: [FrameNo; 2]) {
        self.dues.retain(|due| due.kind != kind);
        self.dues.push(Due {
            kind,
            frames,
            grace: GRACE,
        });
    }

    /// The party sent another frame: a change that it has not announced by now, where its frames have an
    /// order.
    pub(crate) fn overdue(&mut self) -> Option<Due> {
        for due in &mut self.dues {
            due.grace = due.grace.saturating_sub(1);
        }
        let at = self.dues.iter().position(|due| due.grace == 0)?;
        Some(self.dues.remove(at))
    }

    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        !self.dues.is_empty()
    }

    /// Every change that was not announced, at the end.
    pub(crate) fn take_dues(&mut self) -> Vec<Due> {
        std::mem::take(&mut self.dues)
    }

    /// What the answer to a request will be judged by.
    pub(crate) fn basis(&self, frame: &Frame<'_>) -> Basis {
        let kind = match frame.method {
            Method::ToolsCall => ListKind::Tools,
            Method::PromptsGet => ListKind::Prompts,
            _ => return Basis::default(),
        };
        let list = self.list(kind);
        let name = frame.payload.and_then(|params| params.get("name"));
        let Some(name) = name.filter(|name| name.is_text()) else {
            return Basis::default();
        };
        let subject = name.key();
        let Some(entry) = list.entries.get(&subject) else {
            let is_missing = list.lacks(subject);
            return Basis {
                entry: if is_missing {
                    Key::ILLEGAL
                } else {
                    Key::ABSENT
                },
                lacks: Key::ABSENT,
            };
        };
        let lacks = match &entry.body {
            Body::Prompt(required) => missing(required, frame.payload),
            _ => Key::ABSENT,
        };
        Basis {
            entry: entry.key,
            lacks,
        }
    }

    /// The item that a request was about, where lists say the same of it now as they did then.
    pub(crate) fn steady(&self, kind: ListKind, name: Key, basis: Basis) -> Option<&Entry> {
        let entry = self.list(kind).entries.get(&name)?;
        (entry.key == basis.entry).then_some(entry)
    }

    /// Whether an item was missing from a whole list when it was asked for, and still is.
    pub(crate) fn misses(&self, kind: ListKind, name: Key, basis: Basis) -> bool {
        basis.entry == Key::ILLEGAL && self.list(kind).lacks(name)
    }

    /// That tool was started as that task.
    pub(crate) fn run(&mut self, task: Key, tool: Key, basis: Basis) {
        if self.runs.len() >= TASKS_MAX {
            self.runs.pop_first();
        }
        self.runs.insert(task, Run { tool, basis });
    }

    /// The tool that runs as that task, and what its result is judged by.
    pub(crate) fn ran(&self, task: Key) -> Option<(Key, Basis)> {
        self.runs.get(&task).map(|run| (run.tool, run.basis))
    }

    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.word(0x6c69_7374);
        self.lists.iter().for_each(|list| list.encode(encoder));
        self.roots.encode(encoder);
        for due in &self.dues {
            encoder.word(u64::from(due.grace) << 8 | due.kind.map_or(9, |kind| kind as u64));
        }
        for (task, run) in &self.runs {
            encoder.key(*task);
            encoder.key(run.tool);
            encoder.key(run.basis.entry);
        }
        encoder.word(u64::from(self.is_noted) | u64::from(self.is_blind) << 1);
    }
}

/// The first of the required arguments that the params do not have.
fn missing(required: &[Key], params: Option<Value<'_>>) -> Key {
    let given = params.and_then(|params| params.get("arguments"));
    let has =
        |name: &Key| given.is_some_and(|given| given.members().any(|(one, _)| one.key() == *name));
    let lacking = required.iter().find(|name| !has(name));
    lacking.copied().unwrap_or(Key::ABSENT)
}
