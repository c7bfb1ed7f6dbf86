//! Levels of log messages outside sessions: what requests asked for, and the streams whose requests are
//! answered.

use mcpsim_traces::encode::Encoder;
use mcpsim_traces::event::{FrameNo, Stream};
use mcpsim_traces::key::Key;
use mcpsim_traces::tape::Value;

use crate::deep::levels::LEVELS;

/// Of more answered streams than this the oldest is forgotten.
const STREAMS_MAX: usize = 64;

/// What a request says of log messages, or how severe one is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) enum Level {
    /// The request asks for none.
    #[default]
    None,
    /// By its place among the names.
    Known(u8),
    /// By a name that is none.
    Unknown,
}

impl Level {
    /// The member of `_meta` by which a request asks.
    pub(crate) const MEMBER: &'static str = "io.modelcontextprotocol/logLevel";

    /// Reads a level.
    pub(crate) fn read(value: Option<Value<'_>>) -> Level {
        let Some(value) = value else {
            return Level::None;
        };
        match LEVELS.iter().position(|name| value.is(name)) {
            Some(at) => Level::Known(at as u8),
            None => Level::Unknown,
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Level::None => "no level",
            Level::Known(at) => LEVELS[usize::from(at)],
            Level::Unknown => "an unknown level",
        }
    }

    pub(crate) fn word(self) -> u64 {
        match self {
            Level::None => 0,
            Level::Known(at) => 1 + u64::from(at),
            Level::Unknown => 9,
        }
    }
}

/// A stream whose request is answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Answered {
    pub(crate) stream: Stream,
    pub(crate) id: Key,
    pub(crate) level: Level,
    pub(crate) frame: FrameNo,
}

/// What a server must have kept to be right about log messages.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct LogStreams {
    answered: Vec<Answered>,
    /// A stream had to be forgotten, or a request that asked for log messages.
    pub(crate) is_lossy: bool,
}

impl LogStreams {
    /// The request on that stream is answered.
    pub(crate) fn answer(&mut self, new: Answered) {
        if self.answered.len() >= STREAMS_MAX {
            self.answered.remove(0);
            self.is_lossy = true;
        }
        self.answered.push(new);
    }

    pub(crate) fn on_stream(&self, stream: Stream) -> Option<&Answered> {
        self.answered.iter().rev().find(|one| one.stream == stream)
    }

    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.word(0x6c65_7665 << 32 | self.answered.len() as u64);
        for one in &self.answered {
            encoder.key(one.id);
            encoder.word(u64::from(one.stream) << 8 | one.level.word());
        }
        encoder.word(u64::from(self.is_lossy));
    }
}
