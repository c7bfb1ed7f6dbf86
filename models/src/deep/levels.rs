//! The level of log messages that a client asked for, inside sessions.

use mcpsim_traces::encode::Encoder;
use mcpsim_traces::event::FrameNo;
use mcpsim_traces::key::Key;

/// The levels, which are those of syslog (RFC 5424), least severe first.
pub(crate) const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// More requests than this at a time are not told apart.
const OPEN_MAX: usize = 16;

/// What was asked for, and what was granted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Levels {
    /// The level in force, with the answer that granted it.
    granted: Option<(u8, FrameNo)>,
    /// Requests since then, in their order.
    open: Vec<Open>,
    is_many: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Open {
    id: Key,
    /// An unknown level counts as the laxest.
    level: u8,
    answer: Answer,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Answer {
    None,
    Granted(FrameNo),
    Refused,
}

impl Levels {
    /// The client was heard to ask for a level.
    pub(crate) fn ask(&mut self, id: Key, level: Option<u8>) {
        if self.open.len() >= OPEN_MAX {
            self.is_many = true;
            return;
        }
        self.open.push(Open {
            id,
            level: level.unwrap_or(0),
            answer: Answer::None,
        });
    }

    /// The server answered one of these.
    pub(crate) fn answer(&mut self, id: Key, is_granted: bool, frame: FrameNo) {
        for open in self.open.iter_mut().filter(|open| open.id == id) {
            open.answer = match is_granted {
                true => Answer::Granted(frame),
                false => Answer::Refused,
            };
        }
        if self.open.iter().any(|open| open.answer == Answer::None) {
            return;
        }
        // All are answered: the newest counts. Answered in another order than asked, either may be in force.
        let mut granted: Vec<(u8, FrameNo)> = vec![];
        for open in self.open.drain(..) {
            if let Answer::Granted(frame) = open.answer {
                granted.push((open.level, frame));
            }
        }
        self.granted = match granted.is_sorted_by_key(|&(_, frame)| frame) {
            true => granted.last().copied(),
            false => granted.iter().min_by_key(|&&(level, _)| level).copied(),
        }
        .or(self.granted);
    }

    /// Something was answered that was asked before the recording: it may have granted any level.
    pub(crate) fn forget(&mut self) {
        *self = Levels::default();
    }

    /// The lowest level that may be sent now, with the answer that granted it; nothing where all may be.
    pub(crate) fn least(&self) -> Option<(u8, FrameNo)> {
        let granted = self.granted.filter(|_| !self.is_many)?;
        let asked = self
            .open
            .iter()
            .filter(|open| open.answer != Answer::Refused);
        let laxest = asked.map(|open| open.level).min();
        Some(match laxest {
            Some(level) if level < granted.0 => (level, granted.1),
            _ => granted,
        })
    }

    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.word(0x6c65_7665);
        encoder.word(self.granted.map_or(9, |(level, _)| u64::from(level)));
        for open in &self.open {
            encoder.key(open.id);
            let answer = match open.answer {
                Answer::None => 0,
                Answer::Granted(_) => 1,
                Answer::Refused => 2,
            };
            encoder.word(u64::from(open.level) << 8 | answer);
        }
        encoder.word(u64::from(self.is_many));
    }
}
