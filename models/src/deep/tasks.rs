//! What is known of tasks of 2025-11-25: what a receiver issued and showed, what a requestor was told.
//! Either side can be either; so a part keeps both.

use std::cmp::Ordering;

use mcpsim_traces::encode::Encoder;
use mcpsim_traces::event::{FrameNo, Stream};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::Method;
use mcpsim_traces::tape::Value;

use crate::deep::Frame;
use crate::deep::discover::may_declare;
use crate::deep::instant::{self, Instant};
use crate::deep::task_tools::Tools;
use crate::idset::IdSet;
use crate::ledger::Cx;
use crate::opens::{Keyed, Opens};
use crate::part::{Fact, Mode, Part, Reached};

/// The member of `_meta` that names a task.
pub(crate) const RELATED: &str = "io.modelcontextprotocol/related-task";

/// More tasks of one side than this are not followed: the oldest that is over goes first.
const TASKS_MAX: usize = 256;

/// Where a task is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Status {
    Working,
    InputRequired,
    Completed,
    Failed,
    Cancelled,
}

impl Status {
    const ALL: [Status; 5] = [
        Status::Working,
        Status::InputRequired,
        Status::Completed,
        Status::Failed,
        Status::Cancelled,
    ];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Status::Working => "working",
            Status::InputRequired => "input_required",
            Status::Completed => "completed",
            Status::Failed => "failed",
            Status::Cancelled => "cancelled",
        }
    }

    fn of(value: Value<'_>) -> Option<Status> {
        Status::ALL
            .into_iter()
            .find(|status| value.is(status.as_str()))
    }

    /// Whether nothing can follow.
    pub(crate) const fn is_terminal(self) -> bool {
        matches!(self, Status::Completed | Status::Failed | Status::Cancelled)
    }
}

/// A task as one frame shows it; what is mistyped there is left out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub(crate) id: Key,
    pub(crate) status: Option<Status>,
    pub(crate) born: Option<Instant>,
    pub(crate) updated: Option<Instant>,
    /// The polling interval asked for, in milliseconds.
    pub(crate) interval: Option<i64>,
}

impl View {
    /// `interval` is the name of the member that holds the polling interval.
    pub(crate) fn of(task: Value<'_>, interval: &str) -> View {
        let time = |name: &str| instant::rfc3339(&task.get(name)?.as_bytes()?);
        View {
            id: text_key(task.get("taskId")),
            status: task.get("status").and_then(Status::of),
            born: time("createdAt"),
            updated: time("lastUpdatedAt"),
            interval: task.get(interval).and_then(Value::as_integer),
        }
    }
}

/// The key of a string; absent for anything else.
pub(crate) fn text_key(value: Option<Value<'_>>) -> Key {
    value
        .filter(|value| value.is_text())
        .map_or(Key::ABSENT, Value::key)
}

/// A showing of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shown {
    pub(crate) status: Status,
    pub(crate) place: Place,
    pub(crate) updated: Option<Instant>,
}

impl Shown {
    pub(crate) fn encode(shown: Option<Shown>, encoder: &mut Encoder) {
        let Some(shown) = shown else {
            return encoder.word(0);
        };
        encoder.word(1 << 8 | shown.status as u64);
        encode_time(shown.updated, encoder);
    }
}

pub(crate) fn encode_time(time: Option<Instant>, encoder: &mut Encoder) {
    for word in time.map_or([u64::MAX; 2], Instant::words) {
        encoder.word(word);
    }
}

/// Where a frame of the party stands among its others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Place {
    pub(crate) frame: FrameNo,
    stream: Stream,
}

impl Place {
    pub(crate) fn of(cx: &Cx<'_>) -> Place {
        Place {
            frame: cx.frame,
            stream: cx.stream,
        }
    }

    /// Whether the party sent this frame certainly after the one at that place: frames of one stream keep
    /// their order, and what answers a request comes after all that had been seen before the request.
    pub(crate) fn is_before(self, part: &Part, cx: &Cx<'_>, frame: &Frame<'_>) -> bool {
        part.mode != Mode::Loose
            || self.stream != 0 && self.stream == cx.stream
            || self.was_seen_before(frame)
    }

    /// Whether this frame answers a request that came after the one at that place was seen.
    pub(crate) fn was_seen_before(self, frame: &Frame<'_>) -> bool {
        self.frame != 0
            && frame.message.kind.is_response()
            && frame.asked.is_some_and(|asked| asked.frame > self.frame)
    }

    /// As [`Place::is_before`], for a frame that answers nothing.
    pub(crate) fn is_on_stream(self, part: &Part, cx: &Cx<'_>) -> bool {
        part.mode != Mode::Loose || self.stream != 0 && self.stream == cx.stream
    }
}

fn is_later(one: Option<Instant>, other: Option<Instant>) -> bool {
    let both = one.zip(other);
    both.is_some_and(|(one, other)| one.order(other) == Ordering::Greater)
}

/// Notes a showing; gives the earlier one that it contradicts, since what is over stays as it is. Where
/// frames have no order the times in them tell.
pub(crate) fn contradicts(
    part: &Part,
    cx: &Cx<'_>,
    frame: &Frame<'_>,
    (open, end): (&mut Option<Shown>, &mut Option<Shown>),
    shown: Shown,
) -> Option<Shown> {
    if !shown.status.is_terminal() {
        *open = Some(shown);
        let first = end.filter(|end| {
            end.place.is_before(part, cx, frame) || is_later(shown.updated, end.updated)
        });
        if first.is_some() {
            *end = None;
        }
        return first;
    }
    match end.replace(shown) {
        None => {
            open.filter(|open| part.mode == Mode::Loose && is_later(open.updated, shown.updated))
        }
        Some(first) if first.status == shown.status => {
            *end = Some(first);
            None
        }
        first => first,
    }
}

/// What a table holds.
pub(crate) trait Entry: Keyed<By = Key> {
    fn new(id: Key) -> Self;
    /// Whether nothing more is expected of it.
    fn is_over(&self) -> bool;
    /// The frame that it is from.
    fn age(&self) -> FrameNo;
}

/// Tasks by their id; never more than [`TASKS_MAX`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Table<T> {
    list: Opens<T>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table {
            list: Opens::default(),
        }
    }
}

impl<T: Entry> Table<T> {
    pub(crate) fn get(&self, id: Key) -> Option<&T> {
        self.list.find(id).ok().map(|at| &self.list[at])
    }

    pub(crate) fn get_mut(&mut self, id: Key) -> Option<&mut T> {
        let at = self.list.find(id).ok()?;
        Some(&mut self.list[at])
    }

    /// What stands under that id; a new one where nothing does.
    pub(crate) fn entry(&mut self, id: Key) -> &mut T {
        let at = match self.list.find(id) {
            Ok(at) => at,
            Err(at) => {
                let at = if self.list.len() >= TASKS_MAX {
                    self.forget_one();
                    self.list.find(id).unwrap_or_else(|at| at)
                } else {
                    at
                };
                self.list.insert(at, T::new(id));
                at
            }
        };
        &mut self.list[at]
    }

    #[cold]
    fn forget_one(&mut self) {
        let oldest = self
            .list
            .iter()
            .min_by_key(|one| (!one.is_over(), one.age()));
        if let Some(at) = oldest.and_then(|one| self.list.find(one.by()).ok()) {
            self.list.remove(at);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.list.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.list.iter_mut()
    }
}

/// A task that the party runs for the other side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Run {
    pub(crate) id: Key,
    /// The method of the request that it came from; none where that was not seen.
    pub(crate) method: Method,
    /// The token of that request.
    pub(crate) token: Key,
    /// The answer that created it, if that was seen.
    pub(crate) created: Option<Place>,
    pub(crate) born: Option<Instant>,
    /// The last showing before its end, and the first one of its end.
    pub(crate) open: Option<Shown>,
    pub(crate) end: Option<Shown>,
    /// The first success of tasks/result.
    pub(crate) outcome: Option<Outcome>,
    /// The first success of tasks/get.
    pub(crate) got: FrameNo,
    /// It stands in the listing that is under way.
    pub(crate) is_listed: bool,
    /// The last page of a listing without it.
    pub(crate) missing: FrameNo,
    /// The last progress, with its frame.
    pub(crate) progress: Option<(Reached, FrameNo)>,
}

/// What tasks/result gave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Outcome {
    pub(crate) place: Place,
    pub(crate) digest: u128,
    pub(crate) is_error: bool,
}

impl Keyed for Run {
    type By = Key;

    fn by(&self) -> Key {
        self.id
    }
}

impl Entry for Run {
    fn new(id: Key) -> Run {
        Run {
            id,
            method: Method::None,
            token: Key::ABSENT,
            created: None,
            born: None,
            open: None,
            end: None,
            outcome: None,
            got: 0,
            is_listed: false,
            missing: 0,
            progress: None,
        }
    }

    fn is_over(&self) -> bool {
        self.end.is_some()
    }

    fn age(&self) -> FrameNo {
        let shown = self.open.or(self.end).map(|shown| shown.place);
        self.created.or(shown).map_or(0, |place| place.frame)
    }
}

impl Run {
    /// The first frame that shows that it is over.
    pub(crate) fn over(&self) -> Option<Place> {
        let end = self.end.map(|end| end.place);
        let outcome = self.outcome.map(|outcome| outcome.place);
        match (end, outcome) {
            (Some(end), Some(outcome)) if outcome.frame < end.frame => Some(outcome),
            (Some(end), _) => Some(end),
            (None, outcome) => outcome,
        }
    }

    fn encode(&self, encoder: &mut Encoder) {
        encoder.key(self.id);
        encoder.key(self.token);
        encoder.word(
            (self.method as u64) << 3
                | u64::from(self.created.is_some()) << 2
                | u64::from(self.is_listed) << 1
                | u64::from(self.progress.is_some()),
        );
        encode_time(self.born, encoder);
        Shown::encode(self.open, encoder);
        Shown::encode(self.end, encoder);
        if let Some(outcome) = self.outcome {
            encoder.word((outcome.digest >> 64) as u64);
            encoder.word(outcome.digest as u64 ^ u64::from(outcome.is_error));
        }
        let (last, _) = self.progress.unwrap_or((Reached::NOTHING, 0));
        last.encode(encoder);
    }
}

/// A task that the other side runs for the party, as the party was told.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Told {
    pub(crate) id: Key,
    /// The request that it came from; absent where that was not seen.
    pub(crate) request: Key,
    /// The frame that told of it first.
    pub(crate) frame: FrameNo,
    pub(crate) fact: Fact,
    pub(crate) poll: Poll,
    /// Shown as waiting for input, in that frame.
    pub(crate) wanted: Option<(Fact, FrameNo)>,
    /// Polled after that, with nothing asked for that would bring the input requests.
    pub(crate) idled: FrameNo,
    pub(crate) is_over: bool,
}

/// How often a task may be asked after.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Poll {
    /// The newest interval asked for, in milliseconds; 0 for none.
    interval: i64,
    /// The last poll, in milliseconds of the log.
    at_ms: u64,
    pub(crate) frame: FrameNo,
    /// Something has happened since that makes a poll at once worth while.
    pub(crate) is_news: bool,
}

impl Poll {
    /// The other side asked for that interval.
    pub(crate) fn asked_for(&mut self, interval: Option<i64>) {
        if let Some(interval) = interval {
            self.interval = interval;
        }
    }

    /// Polls; gives what was asked for and how long it was, where that was clearly too short.
    pub(crate) fn poll(&mut self, cx: &Cx<'_>) -> Option<(i64, i64)> {
        let gap = cx.now_ms.saturating_sub(self.at_ms);
        let gap = i64::try_from(gap).unwrap_or(i64::MAX);
        let is_timed = self.at_ms != 0 && cx.now_ms != 0 && !self.is_news;
        self.at_ms = cx.now_ms;
        self.is_news = false;
        // Timers are not exact: a tenth less is no fault.
        let is_early = is_timed && gap < self.interval.saturating_sub(self.interval / 10);
        is_early.then_some((self.interval, gap))
    }

    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.word(self.interval as u64);
        encoder.word(self.at_ms << 1 | u64::from(self.is_news));
    }
}

impl Keyed for Told {
    type By = Key;

    fn by(&self) -> Key {
        self.id
    }
}

impl Entry for Told {
    fn new(id: Key) -> Told {
        Told {
            id,
            ..Told::default()
        }
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn age(&self) -> FrameNo {
        self.frame
    }
}

impl Told {
    fn encode(&self, encoder: &mut Encoder) {
        encoder.key(self.id);
        encoder.key(self.request);
        let wanted = self.wanted.map_or(0, |(fact, _)| fact.0);
        encoder.word(u64::from(self.fact.0) << 32 | u64::from(wanted));
        encoder.word(u64::from(self.idled != 0) << 1 | u64::from(self.is_over));
        self.poll.encode(encoder);
    }
}

/// Which tasks a side declared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Declared(u8);

impl Declared {
    /// What it declared is known.
    const KNOWN: u8 = 1;
    const TASKS: u8 = 2;
    const LIST: u8 = 4;
    const CANCEL: u8 = 8;
    const TOOLS: u8 = 16;
    const SAMPLING: u8 = 32;
    const ELICITATION: u8 = 64;

    /// What an initialize request or its result declares.
    pub(crate) fn of(payload: Option<Value<'_>>) -> Declared {
        let mut bits = Declared::KNOWN;
        let all = payload.and_then(|payload| payload.get("capabilities"));
        let tasks = all.and_then(|all| all.get("tasks"));
        // Of what is no object nobody can tell what would be in it.
        let is_odd = |value: Value<'_>| !value.is_object() && may_declare(value);
        if all.is_some_and(|all| !all.is_object())
            || tasks.is_some_and(|tasks| is_odd(tasks) || tasks.get("requests").is_some_and(is_odd))
        {
            return Declared::default();
        }
        if let Some(tasks) = tasks.filter(|tasks| tasks.is_object()) {
            bits |= Declared::TASKS;
            for (path, bit) in [
                (&["list"][..], Declared::LIST),
                (&["cancel"], Declared::CANCEL),
                (&["requests", "tools", "call"], Declared::TOOLS),
                (
                    &["requests", "sampling", "createMessage"],
                    Declared::SAMPLING,
                ),
                (
                    &["requests", "elicitation", "create"],
                    Declared::ELICITATION,
                ),
            ] {
                // The text speaks of booleans, its examples and types have objects.
                let declares =
                    |value: Value<'_>| value.is_object() || value.as_bool() == Some(true);
                if tasks.path(path).is_some_and(declares) {
                    bits |= bit;
                }
            }
        }
        Declared(bits)
    }

    pub(crate) fn is_known(self) -> bool {
        self.0 & Declared::KNOWN != 0
    }

    /// Whether it declared to serve that method, or to run requests of it as tasks.
    pub(crate) fn has(self, method: Method) -> bool {
        let bit = match method {
            Method::TasksGet | Method::TasksResult => Declared::TASKS,
            Method::TasksList => Declared::LIST,
            Method::TasksCancel => Declared::CANCEL,
            Method::ToolsCall => Declared::TOOLS,
            Method::SamplingCreateMessage => Declared::SAMPLING,
            Method::ElicitationCreate => Declared::ELICITATION,
            _ => return false,
        };
        self.0 & bit != 0
    }
}

/// Whether requests of that method can be run as tasks at all.
pub(crate) const fn is_augmentable(method: Method) -> bool {
    matches!(
        method,
        Method::ToolsCall | Method::SamplingCreateMessage | Method::ElicitationCreate
    )
}

/// A listing of tasks whose pages are coming.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Chain {
    /// The cursor of the next page.
    pub(crate) next: Key,
    /// The request for the first page.
    pub(crate) begun: FrameNo,
}

/// What a part knows of tasks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Tasks {
    /// What the party declared, and the other side.
    pub(crate) mine: Declared,
    pub(crate) theirs: Declared,
    /// Tools of the party where it is a server, of the other side where it is a client.
    pub(crate) tools: Tools,
    pub(crate) runs: Table<Run>,
    /// Ids that the party created tasks under, and all that it showed.
    pub(crate) created: IdSet,
    pub(crate) issued: IdSet,
    pub(crate) told: Table<Told>,
    /// All ids that the other side showed.
    pub(crate) heard: IdSet,
    /// Cursors that the party gave out with tasks/list.
    pub(crate) cursors: IdSet,
    pub(crate) chain: Option<Chain>,
}

impl Tasks {
    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.word(0x7461_736b << 32 | u64::from(self.mine.0) << 8 | u64::from(self.theirs.0));
        self.tools.encode(encoder);
        for run in self.runs.iter() {
            run.encode(encoder);
        }
        for told in self.told.iter() {
            told.encode(encoder);
        }
        self.created.encode(encoder);
        self.issued.encode(encoder);
        self.heard.encode(encoder);
        self.cursors.encode(encoder);
        encoder.key(self.chain.map_or(Key::ABSENT, |chain| chain.next));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However many tasks there are, no more than the bound is kept, and those that are over go first.
    #[test]
    fn a_table_is_bounded() {
        let mut table: Table<Told> = Table::default();
        for number in 0..2 * TASKS_MAX as i64 {
            let told = table.entry(Key::integer(number));
            told.frame = number as u32 + 1;
            told.is_over = number != 7;
        }
        assert_eq!(table.iter().count(), TASKS_MAX);
        assert!(table.get(Key::integer(7)).is_some());
        assert!(table.get(Key::integer(8)).is_none());
        assert!(table.get(Key::integer(2 * TASKS_MAX as i64 - 1)).is_some());
    }
}
