//! What is known of tasks as an extension of 2026-07-28: what a server created and showed, what a client
//! was told and answered.

use std::sync::Arc;

use mcpsim_traces::encode::Encoder;
use mcpsim_traces::event::FrameNo;
use mcpsim_traces::key::Key;
use mcpsim_traces::tape::Value;

use crate::deep::discover::may_declare;
use crate::deep::exchanges;
use crate::deep::tasks::{Entry, Place, Poll, Shown, Table, text_key};
use crate::deep::{Asked, digest};
use crate::idset::IdSet;
use crate::opens::Keyed;
use crate::part::Fact;

/// The extension's name.
pub(crate) const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// More requests for input of one task than this are not followed.
const KEYS_MAX: usize = 64;
/// Of what one task asks for so many bytes are kept; answers to the rest are not held against it.
const REQUESTS_MAX: usize = 1 << 14;
/// More subscriptions to tasks than this are not followed.
const LISTENS_MAX: usize = 64;
/// A subscription to more tasks than this is not followed.
const LISTENED_MAX: usize = 1024;

/// How long a task is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Ttl {
    /// Not said.
    #[default]
    Unknown,
    /// For ever.
    Unlimited,
    /// For so many milliseconds.
    Ms(i64),
}

impl Ttl {
    pub(crate) fn of(task: Value<'_>) -> Ttl {
        match task.get("ttlMs") {
            Some(value) if value.is_null() => Ttl::Unlimited,
            Some(value) => value.as_integer().map_or(Ttl::Unknown, Ttl::Ms),
            None => Ttl::Unknown,
        }
    }
}

/// A request for input of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Input {
    pub(crate) key: Key,
    pub(crate) digest: u128,
    pub(crate) frame: FrameNo,
    /// It was answered, and the answer acknowledged.
    pub(crate) is_answered: bool,
    /// It was left out after that, in that frame.
    pub(crate) gone: Option<Place>,
}

/// A task that the party, a server, created or showed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Run {
    pub(crate) id: Key,
    /// The request that it came from; absent where that was not seen.
    pub(crate) request: Key,
    /// The token of that request.
    pub(crate) token: Key,
    pub(crate) created: Place,
    /// When that was, in milliseconds of the log.
    pub(crate) born_ms: u64,
    pub(crate) ttl: Ttl,
    pub(crate) open: Option<Shown>,
    pub(crate) end: Option<Shown>,
    pub(crate) inputs: Vec<Input>,
    /// The client asked to cancel it.
    pub(crate) is_cancelled: bool,
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
            ..Run::default()
        }
    }

    fn is_over(&self) -> bool {
        self.end.is_some()
    }

    fn age(&self) -> FrameNo {
        self.created.frame
    }
}

impl Run {
    /// Whether its time to live may be over.
    pub(crate) fn may_have_expired(&self, now_ms: u64) -> bool {
        match self.ttl {
            Ttl::Unlimited => false,
            Ttl::Unknown => true,
            Ttl::Ms(ttl) => {
                let age = now_ms.saturating_sub(self.born_ms);
                let age = i64::try_from(age).unwrap_or(i64::MAX);
                // It is counted from a moment before the answer.
                self.born_ms == 0 || now_ms == 0 || age >= ttl - ttl / 10
            }
        }
    }

    /// Adds a request for input, where there is room.
    pub(crate) fn push_input(&mut self, input: Input) {
        if self.inputs.len() < KEYS_MAX {
            self.inputs.push(input);
        }
    }
}

/// A task that the party, a client, was told of.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Told {
    pub(crate) id: Key,
    /// The tools/call that it came from; absent where that was not seen.
    pub(crate) request: Key,
    pub(crate) frame: FrameNo,
    pub(crate) fact: Fact,
    pub(crate) poll: Poll,
    /// Keys of its requests for input.
    keys: Vec<TaskKey>,
    /// There were more than are kept.
    pub(crate) has_more: bool,
    pub(crate) is_over: bool,
}

/// A key under which a task asked for something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TaskKey {
    key: Key,
    /// What the request that stands under it asks for.
    pub(crate) input: exchanges::Input,
    digest: u128,
    /// Its text; `None` where it was too long, or where another one came under the same key.
    pub(crate) request: Option<Arc<[u8]>>,
    /// The last tasks/update that answers it.
    pub(crate) sent: FrameNo,
    /// The acknowledgement of that.
    pub(crate) acked: Fact,
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
    pub(crate) fn key(&mut self, key: Key) -> Option<&mut TaskKey> {
        self.keys.iter_mut().find(|known| known.key == key)
    }

    /// The tasks/update of that frame is acknowledged.
    pub(crate) fn acknowledged(&mut self, update: FrameNo, fact: Fact) {
        let sent = self.keys.iter_mut().filter(|key| key.sent == update);
        sent.for_each(|key| key.acked = fact);
    }

    /// The task asks for that under the key.
    pub(crate) fn learn(&mut self, key: Key, request: Value<'_>) {
        let digest = digest::of(request);
        if let Some(known) = self.key(key) {
            if known.digest != digest {
                // Nobody can tell which of the two is answered.
                (known.input, known.request) = (exchanges::Input::Other, None);
            }
            return;
        }
        if self.keys.len() >= KEYS_MAX {
            self.has_more = true;
            return;
        }
        let kept = self.keys.iter().filter_map(|key| key.request.as_ref());
        let size: usize = kept.map(|text| text.len()).sum();
        let text = Some(request.raw()).filter(|text| size + text.len() <= REQUESTS_MAX);
        self.keys.push(TaskKey {
            key,
            input: exchanges::Input::of(request),
            digest,
            request: text.map(Arc::from),
            sent: 0,
            acked: Fact::NONE,
        });
    }
}

/// A subscription that a client asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Listen {
    pub(crate) id: Key,
    pub(crate) frame: FrameNo,
    /// The tasks that it names.
    pub(crate) tasks: Vec<Key>,
    /// It declared the extension.
    pub(crate) is_declared: Option<bool>,
}

/// What a part knows of tasks as an extension.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Tasks {
    pub(crate) runs: Table<Run>,
    /// Ids that the party created tasks under.
    pub(crate) created: IdSet,
    pub(crate) told: Table<Told>,
    /// Subscriptions to tasks, the newest last.
    listens: Vec<Listen>,
    /// Whether the party's discover result has the extension.
    pub(crate) has: Option<bool>,
}

impl Tasks {
    /// Remembers a subscription that names tasks.
    pub(crate) fn listen(&mut self, asked: &Asked, task_ids: Value<'_>) {
        self.listens.retain(|listen| listen.id != asked.id);
        let tasks: Vec<Key> = task_ids
            .items()
            .take(LISTENED_MAX + 1)
            .map(|id| text_key(Some(id)))
            .collect();
        if tasks.len() > LISTENED_MAX {
            return;
        }
        if self.listens.len() >= LISTENS_MAX {
            self.listens.remove(0);
        }
        self.listens.push(Listen {
            id: asked.id,
            frame: asked.frame,
            tasks,
            is_declared: declares(asked),
        });
    }

    pub(crate) fn listened(&self, id: Key) -> Option<&Listen> {
        self.listens.iter().find(|listen| listen.id == id)
    }

    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.word(0x7465_7874 << 32 | self.has.map_or(2, u64::from));
        for run in self.runs.iter() {
            encoder.key(run.id);
            encoder.key(run.request);
            encoder.key(run.token);
            encoder.word(run.born_ms << 1 | u64::from(run.is_cancelled));
            encoder.word(match run.ttl {
                Ttl::Unknown => u64::MAX,
                Ttl::Unlimited => u64::MAX - 1,
                Ttl::Ms(ttl) => ttl as u64,
            });
            Shown::encode(run.open, encoder);
            Shown::encode(run.end, encoder);
            for input in &run.inputs {
                encoder.key(input.key);
                encoder.word(input.digest as u64);
                encoder.word(u64::from(input.is_answered) << 1 | u64::from(input.gone.is_some()));
            }
        }
        for told in self.told.iter() {
            encoder.key(told.id);
            encoder.key(told.request);
            encoder.word(u64::from(told.fact.0) << 1 | u64::from(told.is_over));
            told.poll.encode(encoder);
            for key in &told.keys {
                encoder.key(key.key);
                encoder.word(key.digest as u64);
                encoder.word(
                    u64::from(key.acked.0) << 4
                        | (key.input as u64) << 1
                        | u64::from(key.sent != 0),
                );
                encoder.word(u64::from(key.request.is_some()));
            }
        }
        for listen in &self.listens {
            encoder.key(listen.id);
            listen.tasks.iter().for_each(|&task| encoder.key(task));
        }
        self.created.encode(encoder);
    }
}

/// Whether a request declares the extension; `None` where its capabilities are not known.
pub(crate) fn declares(asked: &Asked) -> Option<bool> {
    asked.read_params(|params| {
        let capabilities = params.path(&["_meta", "io.modelcontextprotocol/clientCapabilities"])?;
        if !capabilities.is_object() {
            return None;
        }
        let declared = capabilities.path(&["extensions", EXTENSION]);
        Some(declared.is_some_and(may_declare))
    })?
}
