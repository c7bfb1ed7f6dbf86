//! What lists told: which tools, prompts and resources there are and what they ask for, the cursors of their
//! pages, and whether a list changed without a word.
//!
//! Both parts of a link keep this of the server's lists, the server from what it sends, the client from what
//! goes to it. All of it is bounded: what is beyond is not judged.

use std::collections::BTreeMap;

use mcpsim_traces::encode::Encoder;
use mcpsim_traces::event::FrameNo;
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Capability, Method};
use mcpsim_traces::tape::Value;

use super::Frame;
use crate::ledger::Ledger;
use crate::part::Fact;

use list::Whole;
pub(crate) use list::{Body, Difference, Doubled, Entry, List, Page, Seen, Watch};

mod list;
#[cfg(test)]
mod tests;

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

/// What the answer to a request is judged by, as far as lists told when it was asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Basis {
    /// [`Entry::key`]; [`Key::ILLEGAL`] where a whole list did not have the item.
    pub(crate) entry: Key,
    /// An argument that is required and not there.
    pub(crate) lacks: Key,
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
