//! Members of tasks that have a wrong value: a task is shown again and again, and what is wrong with it is told once.

use mcpsim_traces::encode::Encoder;
use mcpsim_traces::key::Key;
use mcpsim_traces::tape::Value;

use crate::deep::Frame;
use crate::ledger::Cx;
use crate::part::Part;
use crate::rules::Rule;
use crate::shape::{self, Def, Walk};

/// Members that mostly stay as they were.
const MEMBERS: [&str; 6] = [
    "createdAt",
    "lastUpdatedAt",
    "ttl",
    "ttlMs",
    "pollInterval",
    "pollIntervalMs",
];
/// More wrong members than this are told each time.
const ODD_MAX: usize = 64;

/// What was told of the tasks of one side.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct OddTasks(Vec<(Key, u8, Key)>);

impl OddTasks {
    /// Judges the payload of a frame that shows tasks.
    pub(crate) fn judge(
        &mut self,
        part: &Part,
        cx: &mut Cx<'_>,
        frame: &Frame<'_>,
        def: &'static Def,
        rule: &'static Rule,
    ) {
        let Some(mut walk) = Walk::begin(frame) else {
            return shape::judge(part, cx, frame, def, rule);
        };
        if !self.0.is_empty() {
            for (odd, value) in members(walk.root()) {
                if self.0.contains(&odd) {
                    walk.forgive_value(value);
                }
            }
        }
        walk.whole(def, rule);
        if walk.has_flaws() {
            for (odd, value) in members(walk.root()) {
                if walk.is_wrong(value) && self.0.len() < ODD_MAX {
                    self.0.push(odd);
                }
            }
        }
        walk.report(part, cx);
    }

    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.word(self.0.len() as u64);
        for &(task, member, value) in &self.0 {
            encoder.key(task);
            encoder.word(member.into());
            encoder.key(value);
        }
    }
}

/// The members of the tasks in a payload: of which task, which one, and what it says.
fn members(payload: Value<'_>) -> impl Iterator<Item = ((Key, u8, Key), Value<'_>)> {
    let nested = payload.get("task");
    let listed = payload.get("tasks").into_iter().flat_map(Value::items);
    let tasks = std::iter::once(payload).chain(nested).chain(listed);
    tasks.flat_map(|task| {
        let id = task.get("taskId").filter(|id| id.is_text());
        MEMBERS.iter().zip(0u8..).filter_map(move |(name, at)| {
            let value = task.get(name)?;
            Some(((id?.key(), at, value.key()), value))
        })
    })
}
