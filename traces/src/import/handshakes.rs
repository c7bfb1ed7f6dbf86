//! Handshakes in a log of lines: one whose ids begin anew is another connection's, though nothing said that the last one ended.

use std::collections::BTreeMap;

use super::entry::{Entries, Entry, Told};
use super::starts_initialize;
use crate::capture::EventKind;
use crate::classify::classify;
use crate::event::Role;
use crate::key::Key;
use crate::lost::Lost;
use crate::scan::Scanner;

/// Sessions beyond this are not told apart here.
const SESSIONS_MAX: usize = 1024;
/// A handshake is no longer.
const HANDSHAKE_BYTES_MAX: usize = 64 << 10;

/// What was guessed of connections that nothing but their handshakes part.
pub(super) const ANEW: &str =
    "connections: where a handshake begins the ids anew, another one begins";

/// Whether a handshake of that id, after one of the other id, is another connection's. Numbers that go on are those of a client that
/// says it twice.
pub(super) fn begins_anew(id: Key, last: Key) -> bool {
    id == last || last.as_integer().is_none()
}

/// The handshake that a session began with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Begun {
    id: Key,
    /// Answers that are still to come: two, where another handshake came before the answer to the first.
    due: u8,
    overlaps: bool,
}

/// Handshakes, and what follows from them.
#[derive(Debug, Default)]
pub(super) struct Handshakes {
    /// By session.
    begun: BTreeMap<Option<String>, Begun>,
    /// How many were taken for those of another connection, and nothing said so.
    renewed: u64,
    /// Both of two that overlap were answered: two connections are there at once, and nothing tells them apart.
    are_mixed: bool,
}

impl Handshakes {
    /// Puts the beginning of a connection before each handshake whose ids begin anew, though nothing said that the last
    /// connection ended.
    pub(super) fn look(
        &mut self,
        entries: &mut Entries,
        line: &[u8],
        kept: &[u8],
        scanner: &mut Scanner,
    ) {
        let mut at = 0;
        while let Some(entry) = entries.get(at) {
            let session = &entry.session;
            match &entry.told {
                Told::Event { kind, by, .. } if kind.ends_connection(*by) => match session {
                    Some(_) => drop(self.begun.remove(session)),
                    None => self.begun.clear(),
                },
                Told::Frame { from, text, .. } => {
                    let text = text.bytes(line, kept);
                    let is_anew = match from {
                        Role::Client => self.asked(session, text, scanner),
                        Role::Server => {
                            self.answered(session, text, scanner);
                            false
                        }
                    };
                    if is_anew {
                        let open = Entry::event(None, entry.t_ms, EventKind::Open);
                        let open = open.in_session(session.clone());
                        entries.insert(at, open);
                        at += 1;
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// The client has sent that; whether it begins another connection.
    fn asked(&mut self, session: &Option<String>, text: &[u8], scanner: &mut Scanner) -> bool {
        let Some(id) = handshake(text, scanner) else {
            return false;
        };
        let last = self.begun.get(session).copied();
        let is_anew = last.is_some_and(|last| begins_anew(id, last.id));
        let overlaps = is_anew && last.is_some_and(|last| last.due > 0 && last.id == id);
        let due = if overlaps { 2 } else { 1 };
        if last.is_some() || self.begun.len() < SESSIONS_MAX {
            self.begun
                .insert(session.clone(), Begun { id, due, overlaps });
        }
        self.renewed += u64::from(is_anew);
        is_anew
    }

    /// The server has sent that.
    fn answered(&mut self, session: &Option<String>, text: &[u8], scanner: &mut Scanner) {
        let Some(begun) = self.begun.get_mut(session).filter(|begun| begun.due > 0) else {
            return;
        };
        let message = classify(text, scanner).message;
        if message.kind.is_response() && message.id == begun.id {
            begun.due -= 1;
            self.are_mixed |= begun.overlaps && begun.due == 0;
        }
    }

    /// What of the log is not known for that.
    pub(super) fn lost(&self) -> Lost {
        match self.are_mixed {
            true => Lost::IDS | Lost::ORDER | Lost::FRAMES,
            false => Lost::NOTHING,
        }
    }

    pub(super) fn guessed(&self) -> Option<String> {
        (self.renewed > 0).then(|| ANEW.to_owned())
    }

    pub(super) fn remark(&self) -> Option<String> {
        let said = "two connections are there at once, and nothing tells whose a frame is";
        self.are_mixed.then(|| said.to_owned())
    }
}

/// The id of the request that a session begins with.
fn handshake(text: &[u8], scanner: &mut Scanner) -> Option<Key> {
    if text.len() > HANDSHAKE_BYTES_MAX || !starts_initialize(text) {
        return None;
    }
    let message = classify(text, scanner).message;
    message.is_handshake().then_some(message.id)
}
