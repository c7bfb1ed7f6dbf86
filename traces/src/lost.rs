//! What of a session a recording does not have: what was lost cannot be judged, and is neither kept nor broken.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// A set of what a recording has lost.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Lost(u16);

impl Lost {
    /// Everything is there.
    pub const NOTHING: Lost = Lost(0);
    /// Frames were parsed and written anew: their bytes, the order of their members, how numbers were spelled.
    pub const RAW: Lost = Lost(1);
    /// There are no times.
    pub const TIME: Lost = Lost(1 << 1);
    /// In which order frames of the one side came among those of the other.
    pub const ORDER: Lost = Lost(1 << 2);
    /// Who sent a frame: it was concluded from what the frame says.
    pub const DIRECTION: Lost = Lost(1 << 3);
    /// The ids of requests and responses.
    pub const IDS: Lost = Lost(1 << 4);
    /// What params, results and errors hold.
    pub const PAYLOAD: Lost = Lost(1 << 5);
    /// Lines on the wire that were no frames, and line ends.
    pub const LINES: Lost = Lost(1 << 6);
    /// What HTTP tells: heads, exchanges, streams.
    pub const HTTP: Lost = Lost(1 << 7);
    /// Frames here and there, or whole streams of them.
    pub const FRAMES: Lost = Lost(1 << 8);

    /// In which order frames of one exchange came among those of others, where these overlap in time.
    pub const STREAMS: Lost = Lost(1 << 9);
    /// The ids of server-sent events: whoever recorded them may have numbered them.
    pub const EVENT_IDS: Lost = Lost(1 << 10);

    const NAMES: [(Lost, &'static str); 11] = [
        (Lost::RAW, "raw text"),
        (Lost::TIME, "time"),
        (Lost::ORDER, "order between the sides"),
        (Lost::DIRECTION, "direction"),
        (Lost::IDS, "ids"),
        (Lost::PAYLOAD, "payload"),
        (Lost::LINES, "lines that are no frames"),
        (Lost::HTTP, "HTTP"),
        (Lost::FRAMES, "some frames"),
        (Lost::STREAMS, "order between streams"),
        (Lost::EVENT_IDS, "event ids"),
    ];

    /// Whether all of that is lost.
    pub const fn has(self, other: Lost) -> bool {
        self.0 & other.0 == other.0
    }

    /// What both have lost.
    pub const fn and(self, other: Lost) -> Lost {
        Lost(self.0 & other.0)
    }

    /// What one or the other has lost, in constants.
    pub const fn with(self, other: Lost) -> Lost {
        Lost(self.0 | other.0)
    }

    /// Whether nothing is lost.
    pub const fn is_nothing(self) -> bool {
        self.0 == 0
    }

    /// What goes by that name; `None` for any other.
    pub fn parse(name: &str) -> Option<Lost> {
        let named = Lost::NAMES.iter().find(|(_, known)| *known == name);
        named.map(|(one, _)| *one)
    }

    /// Everything that a recording can lose.
    pub(crate) fn all() -> Lost {
        let all = Lost::NAMES.iter();
        all.fold(Lost::NOTHING, |all, (one, _)| all | *one)
    }

    /// Each of them in a few words.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let all = Lost::NAMES.iter();
        all.filter(move |(one, _)| self.has(*one))
            .map(|(_, name)| *name)
    }
}

impl BitOr for Lost {
    type Output = Lost;
    fn bitor(self, other: Lost) -> Lost {
        self.with(other)
    }
}

impl BitOrAssign for Lost {
    fn bitor_assign(&mut self, other: Lost) {
        *self = self.with(other);
    }
}

/// The names with commas between them; `nothing` where there are none.
impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_nothing() {
            return f.write_str("nothing");
        }
        for (at, name) in self.names().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{name}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_names_what_is_in_it() {
        let both = Lost::RAW | Lost::TIME;
        assert!(both.has(Lost::TIME) && !both.has(Lost::ORDER) && !Lost::RAW.has(both));
        assert_eq!(both.to_string(), "raw text, time");
        assert_eq!(Lost::NOTHING.to_string(), "nothing");
        assert_eq!(both.and(Lost::TIME | Lost::IDS), Lost::TIME);
        assert_eq!(Lost::all().names().count(), Lost::NAMES.len());
        for (one, name) in Lost::NAMES {
            assert_eq!(Lost::parse(name), Some(one));
        }
        assert_eq!(Lost::parse("hope"), None);
    }
}
