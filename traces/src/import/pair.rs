//! Two files of bare frames, one for each direction, as `tee` leaves them: a line is what was written, frame or not. A time may
//! stand before each frame. Without times nobody knows how the two were interleaved: they are put together in an order in
//! which no answer comes before its question, and [`Lost::ORDER`] says what that is worth.

use std::collections::BTreeSet;
use std::io::{self, Read};

use super::entry::{Entry, Text};
use super::time::stamp;
use crate::capture::{CaptureLine, Opening};
use crate::classify::classify;
use crate::event::Role;
use crate::file::reader::{start, too_long};
use crate::key::Key;
use crate::lines::{LineReader, ReadError};
use crate::lost::Lost;
use crate::message::{Kind, Message, Method};
use crate::recording::Recording;
use crate::scan::Scanner;

/// So many ids of each direction are remembered; then an answer is taken to follow its question.
const IDS_MAX: usize = 1 << 16;

/// A file, or nothing where there is none.
#[derive(Debug)]
pub struct Either<R>(Option<R>);

impl<R: Read> Read for Either<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.0.as_mut().map_or(Ok(0), |input| input.read(out))
    }
}

/// Two files of frames.
pub struct Pair<R> {
    sides: [Side<R>; 2],
    /// One of them is missing.
    is_half: bool,
    scanner: Scanner,
    /// The client has said that it is ready: the server may speak for itself.
    is_open: bool,
    has_untimed: bool,
    /// The side that the last line came from.
    at: usize,
}

struct Side<R> {
    lines: LineReader<R>,
    next: Next,
    /// What it has asked so far.
    asked: BTreeSet<Key>,
}

/// What stands before the reader of a side.
enum Next {
    /// It was not looked at yet.
    Unread,
    Line(Ahead),
    End,
}

/// A line that waits for its turn.
#[derive(Clone, Copy)]
struct Ahead {
    t_ms: Option<u64>,
    /// Where the frame begins in it.
    at: usize,
    /// The id that it answers.
    answers: Option<Key>,
    /// The id that it asks under.
    asks: Option<Key>,
    opens: bool,
}

impl<R: Read> Pair<R> {
    /// What the client sent, and what the server sent; either may be missing.
    pub fn new(client: Option<R>, server: Option<R>) -> Pair<Either<R>> {
        let is_half = client.is_none() || server.is_none();
        let side = |input: Option<R>| Side {
            lines: LineReader::new(Either(input)),
            next: Next::Unread,
            asked: BTreeSet::new(),
        };
        Pair {
            sides: [side(client), side(server)],
            is_half,
            scanner: Scanner::new(),
            is_open: false,
            has_untimed: false,
            at: 0,
        }
    }

    fn look(&mut self, at: usize) -> Result<(), ReadError> {
        let side = &mut self.sides[at];
        if !matches!(side.next, Next::Unread) {
            return Ok(());
        }
        // The reader's line stays where it is until the next one is asked for.
        let Some(line) = side.lines.next_filled()? else {
            side.next = Next::End;
            return Ok(());
        };
        if line.too_long {
            return Err(too_long(&line).into());
        }
        let first = start(&line);
        let time = stamp(&line.bytes[first..]);
        let begin = time.map_or(first, |time| {
            let rest = &line.bytes[first + time.length..];
            line.bytes.len() - rest.trim_ascii_start().len()
        });
        let message = classify(&line.bytes[begin..], &mut self.scanner).message;
        let t_ms = time.map(|time| time.ms);
        self.has_untimed |= t_ms.is_none();
        side.next = Next::Line(Ahead::of(&message, t_ms, begin));
        Ok(())
    }

    /// Which side's line comes next; `None` at the end of both.
    fn turn(&self) -> Option<usize> {
        let [client, server] = [0, 1].map(|at| match &self.sides[at].next {
            Next::Line(ahead) => Some(ahead),
            Next::Unread | Next::End => None,
        });
        let (client, server) = match (client, server) {
            (None, None) => return None,
            (Some(_), None) => return Some(0),
            (None, Some(_)) => return Some(1),
            (Some(client), Some(server)) => (client, server),
        };
        if let (Some(one), Some(other)) = (client.t_ms, server.t_ms) {
            return Some(usize::from(other < one));
        }
        let waits = |ahead: &Ahead, asker: usize| {
            let asked = &self.sides[asker].asked;
            ahead
                .answers
                .is_some_and(|id| !asked.contains(&id) && asked.len() < IDS_MAX)
        };
        Some(match (waits(client, 1), waits(server, 0)) {
            // Each waits for the other: one of them answers what nobody asked.
            (true, _) => 1,
            (false, true) => 0,
            (false, false) if server.answers.is_some() || self.is_open => 1,
            (false, false) => 0,
        })
    }
}

impl Ahead {
    fn of(message: &Message, t_ms: Option<u64>, at: usize) -> Ahead {
        let id = Some(message.id).filter(|id| id.is_present());
        Ahead {
            t_ms,
            at,
            answers: id.filter(|_| message.kind.is_response()),
            asks: id.filter(|_| message.kind == Kind::Request),
            opens: message.method == Method::Initialized,
        }
    }
}

impl<R: Read> Recording for Pair<R> {
    fn format(&self) -> &'static str {
        "tee"
    }

    fn opening(&self) -> Opening {
        Opening::default()
    }

    fn next_line(&mut self) -> Result<Option<CaptureLine<'_>>, ReadError> {
        for at in [0, 1] {
            if let Err(error) = self.look(at) {
                self.at = at;
                return Err(error);
            }
        }
        let Some(at) = self.turn() else {
            return Ok(None);
        };
        self.at = at;
        let side = &mut self.sides[at];
        let Next::Line(ahead) = std::mem::replace(&mut side.next, Next::Unread) else {
            return Ok(None);
        };
        if let Some(id) = ahead.asks.filter(|_| side.asked.len() < IDS_MAX) {
            side.asked.insert(id);
        }
        self.is_open |= at == 0 && ahead.opens;
        let from = [Role::Client, Role::Server][at];
        let line = side.lines.last();
        let text = Text::Here(ahead.at..line.len());
        let entry = Entry::frame(from, ahead.t_ms, text);
        Ok(Some(entry.hand_on(line, side.lines.number(), &[])))
    }

    fn line_number(&self) -> u64 {
        self.sides[self.at].lines.number()
    }

    fn is_cut(&self) -> bool {
        false
    }

    fn lost(&self) -> Lost {
        let mut lost = Lost::NOTHING;
        if self.has_untimed {
            lost |= Lost::ORDER | Lost::TIME;
        }
        if self.is_half {
            lost |= Lost::FRAMES;
        }
        lost
    }

    fn guessed(&self) -> Vec<String> {
        match self.has_untimed && !self.is_half {
            true => vec!["how the two files were interleaved".to_owned()],
            false => vec![],
        }
    }
}
