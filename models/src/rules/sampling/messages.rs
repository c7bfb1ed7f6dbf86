//! Tool uses and tool results in the messages of a sampling request: who holds them, and which belongs to
//! which.

use std::collections::BTreeSet;

use mcpsim_traces::key::Key;
use mcpsim_traces::tape::Value;

use crate::shape::shown;

/// The blocks of a content: one, or those of an array.
pub(crate) fn blocks<'a>(content: Value<'a>) -> impl Iterator<Item = Value<'a>> {
    let one = content.is_object().then_some(content);
    one.into_iter().chain(content.items())
}

pub(crate) fn is_type(block: Value<'_>, name: &str) -> bool {
    block.get("type").is_some_and(|kind| kind.is(name))
}

/// A value and what is wrong with it.
type Fault<'a> = (Value<'a>, String);

/// What is wrong with the tool uses and results of a list of messages: the first of each kind.
#[derive(Default)]
pub(crate) struct ToolFaults<'a> {
    pub(crate) uses_tools: bool,
    /// A tool use of the user, or a tool result of the assistant.
    pub(crate) misplaced: Option<Fault<'a>>,
    /// Something beside tool results.
    pub(crate) mixed: Option<Fault<'a>>,
    /// A tool use without its result in the next message.
    pub(crate) unbalanced: Option<Fault<'a>>,
    /// A tool result without a tool use.
    pub(crate) orphan: Option<Fault<'a>>,
}

impl<'a> ToolFaults<'a> {
    /// Reads a list of messages. Where it `is_strict`, a result belongs to the message right before its own.
    pub(crate) fn of(list: Value<'a>, is_strict: bool) -> ToolFaults<'a> {
        let mut faults = ToolFaults::default();
        for message in list.items() {
            if let Some(content) = message.get("content") {
                let is_user = message.get("role").is_some_and(|role| role.is("user"));
                faults.place(is_user, content);
            }
        }
        if faults.uses_tools {
            faults.pair(list, is_strict);
        }
        faults
    }

    /// Tool uses stand in messages of the assistant, results in those of the user, and there alone.
    fn place(&mut self, is_user: bool, content: Value<'a>) {
        let (mut used, mut result, mut other) = (None, None, None);
        for block in blocks(content) {
            let kind = block.get("type");
            let is = |name: &str| kind.is_some_and(|kind| kind.is(name));
            let place = match () {
                () if is("tool_use") => &mut used,
                () if is("tool_result") => &mut result,
                () => &mut other,
            };
            *place = Some(block);
        }
        self.uses_tools |= used.is_some() || result.is_some();
        let (misplaced, text) = if is_user {
            let text = "a message of the user holds a tool use; the assistant uses tools";
            (used, text)
        } else {
            let text = "a message of the assistant holds a tool result; those stand in messages of the user";
            (result, text)
        };
        if let (None, Some(block)) = (&self.misplaced, misplaced) {
            self.misplaced = Some((block, text.to_string()));
        }
        if let (None, true, Some(_), Some(block)) = (&self.mixed, is_user, result, other) {
            let text = "a message with tool results holds another block beside them";
            self.mixed = Some((block, text.to_string()));
        }
    }

    /// Each tool use has its result in the very next message, and no result stands alone. Only ids are
    /// looked at: a wrong role is another rule's matter, and so is a missing id.
    fn pair(&mut self, list: Value<'a>, is_strict: bool) {
        let mut earlier: BTreeSet<Key> = BTreeSet::new();
        let mut open: Vec<Named<'a>> = vec![];
        let mut is_owed = false;
        for message in list.items() {
            let named = message.get("content").and_then(named);
            let Some((uses, results)) = named else { return };
            let unmet = open.iter().find(|(id, _)| !has(&results, *id));
            if let (true, Some((_, block))) = (is_owed, unmet) {
                self.unanswered(*block);
            }
            for (id, block) in results.iter().filter(|(id, _)| !has(&open, *id)) {
                if !earlier.contains(id) {
                    self.stray(*block);
                } else if is_strict {
                    let text = "which is not of the message before it";
                    self.unbalance(
                        *block,
                        format!("a tool result is for {}, {text}", id_of(*block)),
                    );
                }
            }
            earlier.extend(open.iter().map(|(id, _)| *id));
            is_owed = message.get("role").is_some_and(|role| role.is("assistant"));
            if let Some(pair) = uses.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                let text = format!(
                    "two tool uses of one message share the id {}",
                    id_of(pair[1].1)
                );
                self.unbalance(pair[1].1, text);
                is_owed = false;
            }
            open = uses;
        }
        if let (true, Some((_, block))) = (is_owed, open.first()) {
            self.unanswered(*block);
        }
    }

    #[cold]
    fn unanswered(&mut self, block: Value<'a>) {
        let text = "has no result in the message after it";
        self.unbalance(block, format!("the tool use {} {text}", id_of(block)));
    }

    #[cold]
    fn unbalance(&mut self, block: Value<'a>, text: String) {
        self.unbalanced.get_or_insert((block, text));
    }

    #[cold]
    fn stray(&mut self, block: Value<'a>) {
        let text = "which no tool use before it has";
        let text = format!("a tool result names {}, {text}", id_of(block));
        self.orphan.get_or_insert((block, text));
    }
}

/// A tool use or result by its id.
type Named<'a> = (Key, Value<'a>);

/// The tool uses of a message and the results, sorted by id; `None` where one has no id.
fn named<'a>(content: Value<'a>) -> Option<(Vec<Named<'a>>, Vec<Named<'a>>)> {
    let (mut uses, mut results) = (vec![], vec![]);
    for block in blocks(content) {
        let (list, id) = match () {
            () if is_type(block, "tool_use") => (&mut uses, "id"),
            () if is_type(block, "tool_result") => (&mut results, "toolUseId"),
            () => continue,
        };
        let id = block.get(id).filter(|id| id.is_text())?;
        list.push((id.key(), block));
    }
    uses.sort_by_key(|(id, _)| *id);
    results.sort_by_key(|(id, _)| *id);
    Some((uses, results))
}

fn has(list: &[Named<'_>], id: Key) -> bool {
    list.binary_search_by_key(&id, |(known, _)| *known).is_ok()
}

fn id_of(block: Value<'_>) -> String {
    let id = block.get("id").or_else(|| block.get("toolUseId"));
    id.map(shown).unwrap_or_default()
}
