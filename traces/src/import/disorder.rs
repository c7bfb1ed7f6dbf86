//! Lines that do not stand in the order of their times, as in a log that was sorted by something else or put together from buffers:
//! which of two frames came first is not certain then.

use std::collections::BTreeMap;

use super::entry::{Entries, Told};
use crate::lost::Lost;

/// Threads that write one log are no further apart.
const JITTER_MS: u64 = 20;
/// More sessions are not looked at.
const SESSIONS_MAX: usize = 1024;

/// The times of one connection.
#[derive(Clone, Copy, Debug)]
struct Track {
    first_ms: u64,
    last_ms: u64,
    /// How often they went back.
    steps: u32,
}

/// Whether the lines of a log are in order.
#[derive(Debug, Default)]
pub(super) struct Disorder {
    /// By session.
    tracks: BTreeMap<Option<String>, Track>,
    is_out_of_order: bool,
}

impl Disorder {
    pub(super) fn look(&mut self, entries: &Entries) {
        for entry in entries {
            match &entry.told {
                Told::Event { kind, by, .. } if kind.ends_connection(*by) => match entry.session {
                    Some(_) => drop(self.tracks.remove(&entry.session)),
                    None => self.tracks.clear(),
                },
                Told::Frame { .. } => {
                    if let Some(t_ms) = entry.t_ms {
                        self.frame(&entry.session, t_ms);
                    }
                }
                _ => {}
            }
        }
    }

    fn frame(&mut self, session: &Option<String>, t_ms: u64) {
        let Some(track) = self.tracks.get_mut(session) else {
            if self.tracks.len() < SESSIONS_MAX {
                let track = Track {
                    first_ms: t_ms,
                    last_ms: t_ms,
                    steps: 0,
                };
                self.tracks.insert(session.clone(), track);
            }
            return;
        };
        let back_ms = track.last_ms.saturating_sub(t_ms);
        if back_ms > JITTER_MS {
            track.steps += 1;
            // A clock that was set goes back once, and not over all of the log.
            let is_far = back_ms > track.last_ms.saturating_sub(track.first_ms) / 2;
            self.is_out_of_order |= is_far || track.steps > 1;
        }
        track.first_ms = track.first_ms.min(t_ms);
        track.last_ms = t_ms;
    }

    /// What of the log is not known for that: an answer may stand before its question.
    pub(super) fn lost(&self) -> Lost {
        match self.is_out_of_order {
            true => Lost::ORDER | Lost::FRAMES,
            false => Lost::NOTHING,
        }
    }

    pub(super) fn remark(&self) -> Option<String> {
        let said = "the lines are not in the order of their times: which of two frames came first is not certain; sorted by \
            time they tell it";
        self.is_out_of_order.then(|| said.to_owned())
    }
}
