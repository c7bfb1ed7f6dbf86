//! Which tools may be called as tasks of 2025-11-25, by what was listed.

use mcpsim_traces::encode::Encoder;
use mcpsim_traces::event::FrameNo;
use mcpsim_traces::key::Key;
use mcpsim_traces::tape::Value;

use crate::deep::Frame;
use crate::deep::tasks::text_key;
use crate::part::{Fact, Knows, Part};

/// More tools than this are not remembered.
const TOOLS_MAX: usize = 4096;

/// Whether a tool may be called as a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Support {
    /// It was not listed, or with a value that says nothing.
    Unknown,
    Forbidden,
    Optional,
    Required,
}

impl Support {
    fn of(tool: Value<'_>) -> Support {
        match tool.path(&["execution", "taskSupport"]) {
            None => Support::Forbidden,
            Some(value) if value.is("forbidden") => Support::Forbidden,
            Some(value) if value.is("optional") => Support::Optional,
            Some(value) if value.is("required") => Support::Required,
            Some(_) => Support::Unknown,
        }
    }
}

/// A tool as it was listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Listed {
    name: Key,
    /// Before the newest listing that differs.
    old: Support,
    new: Support,
    /// That listing.
    frame: FrameNo,
    fact: Fact,
    /// The tools have changed since.
    is_stale: bool,
    /// It stands in the listing that is read.
    is_seen: bool,
}

/// The tools of a server, as they were listed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Tools {
    /// Sorted by name.
    list: Vec<Listed>,
}

impl Tools {
    /// Reads a page of tools.
    pub(crate) fn read(&mut self, part: &Part, frame: &Frame<'_>, no: FrameNo) {
        let Some(page) = frame.payload else { return };
        let Some(tools) = page.get("tools") else {
            return;
        };
        for tool in tools.items() {
            let name = text_key(tool.get("name"));
            if name.is_present() {
                self.read_one(part, name, Support::of(tool), frame.fact, no);
            }
        }
        // The whole list on one page: what is not there is gone.
        let is_first = frame.asked.is_some_and(|asked| !asked.cursor.is_present());
        let is_whole = is_first && page.get("nextCursor").is_none();
        self.list
            .retain_mut(|tool| std::mem::take(&mut tool.is_seen) || !is_whole);
    }

    fn read_one(&mut self, part: &Part, name: Key, support: Support, fact: Fact, no: FrameNo) {
        match self.list.binary_search_by_key(&name, |tool| tool.name) {
            Ok(at) => {
                let tool = &mut self.list[at];
                tool.is_stale = false;
                tool.is_seen = true;
                if tool.new != support {
                    let is_settled = part.knows(tool.fact) == Knows::Must || !tool.fact.is_some();
                    tool.old = if is_settled {
                        tool.new
                    } else {
                        Support::Unknown
                    };
                    (tool.new, tool.fact, tool.frame) = (support, fact, no);
                }
            }
            Err(at) if self.list.len() < TOOLS_MAX => self.list.insert(
                at,
                Listed {
                    name,
                    old: Support::Unknown,
                    new: support,
                    frame: no,
                    fact,
                    is_stale: false,
                    is_seen: true,
                },
            ),
            Err(_) => {}
        }
    }

    /// The party announced that its tools have changed.
    pub(crate) fn changed(&mut self) {
        self.list.iter_mut().for_each(|tool| tool.is_stale = true);
    }

    fn tool(&self, name: Key) -> Option<&Listed> {
        let at = self.list.binary_search_by_key(&name, |tool| tool.name);
        at.ok().map(|at| &self.list[at])
    }

    /// What the party has certainly read of a tool of the other side's, and where.
    pub(crate) fn read_support(&self, part: &Part, name: Key) -> (Support, FrameNo) {
        let Some(tool) = self.tool(name) else {
            return (Support::Unknown, 0);
        };
        match part.knows(tool.fact) {
            Knows::Must => (tool.new, tool.frame),
            Knows::No => (tool.old, 0),
            Knows::May if tool.old == tool.new => (tool.new, tool.frame),
            Knows::May => (Support::Unknown, 0),
        }
    }

    /// What the party had told of its own tool before a call came to it, and where.
    pub(crate) fn told_support(&self, name: Key, call: FrameNo) -> (Support, FrameNo) {
        match self.tool(name) {
            Some(tool) if !tool.is_stale && tool.frame != 0 && tool.frame < call => {
                (tool.new, tool.frame)
            }
            _ => (Support::Unknown, 0),
        }
    }

    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        for tool in &self.list {
            encoder.key(tool.name);
            encoder.word(
                u64::from(tool.fact.0) << 16
                    | u64::from(tool.is_stale) << 15
                    | (tool.old as u64) << 8
                    | tool.new as u64,
            );
        }
    }
}
