//! Two files of bare frames, one for each direction, as `tee` leaves them: a line is what was written, frame or not. A time may
//! stand before each frame. How the two were interleaved is told by times, as far as these tell it; otherwise by what cannot have
//! been the other way round: no answer comes before its question. Where neither decides, [`Lost::ORDER`] says so, and where one
//! file seems to lack what the other one speaks of, [`Recording::has_gaps`] does.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{self, Read};

use super::entry::{Entry, Text};
use super::handshakes::{ANEW, begins_anew};
use super::{HEAD_BYTES, Lost};
use crate::capture::{CaptureLine, EventKind, Opening};
use crate::classify::classify;
use crate::event::Role;
use crate::file::reader::{is_cut, start, too_long};
use crate::key::Key;
use crate::lines::{LineReader, ReadError};
use crate::message::{Kind, Message, Method};
use crate::recording::Recording;
use crate::scan::{Scanner, white};

mod stamps;

use stamps::{Scale, Stamps, Time};

/// So many ids of each direction are remembered; then an answer is taken to follow its question.
const IDS_MAX: usize = 1 << 16;
/// So much of a file is looked at ahead of the other one, for what the other one answers.
const AHEAD_BYTES_MAX: usize = 512 << 20;
/// Two programs that write times each wait for their turn: what is nearer than this may have been the other way round.
const NEAR_MS: u64 = 2;

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
    /// The first line of the client's was the request that a session begins with.
    is_from_start: bool,
    has_client_begun: bool,
    /// The id of that request, until it is answered.
    handshake: Option<Key>,
    /// Somebody went on though it was not answered.
    went_on: bool,
    /// The id of the connection's first handshake.
    begun: Option<Key>,
    /// A handshake that comes next was announced as that of another connection.
    is_announced: bool,
    /// Some were.
    has_restarts: bool,
    is_aligned: bool,
    has_untimed: bool,
    /// Times of the two files could not be held against each other, or were the same, and nothing else decided.
    is_unordered: bool,
    /// What the one answers may have been asked where the other one was not recorded.
    has_gaps: bool,
    /// How many frames were handed on, and the first of them that stood behind the end of the other file.
    handed_on: u32,
    alone_from: Option<u32>,
    /// The line that was handed on last, and the side that it came from.
    last: Vec<u8>,
    number: u64,
}

struct Side<R> {
    lines: LineReader<Either<R>>,
    stamps: Stamps,
    /// Lines that wait for their turn.
    queue: VecDeque<Result<Ahead, ReadError>>,
    queued_bytes: usize,
    is_over: bool,
    has_lines: bool,
    /// The number of its last line, where that stops in the middle and was left out.
    cut_at: Option<u64>,
    /// The requests that were handed on and not answered yet.
    open: BTreeMap<Key, Open>,
    /// Progress tokens that were handed on.
    tokens: BTreeSet<Key>,
    /// What stands in the queue.
    coming: Coming,
    first: Option<Time>,
    latest: Option<Time>,
    /// Is added to its times.
    shift_ms: u64,
    /// It begins just after midnight, as the other file tells.
    is_of_day: bool,
}

#[derive(Clone, Copy, Default)]
struct Open {
    /// So often under one id.
    count: u32,
    is_ping: bool,
}

#[derive(Default)]
struct Coming {
    asks: BTreeMap<Key, u32>,
    answers: BTreeMap<Key, u32>,
    tokens: BTreeMap<Key, u32>,
}

/// A line that waits for its turn.
struct Ahead {
    line: Vec<u8>,
    number: u64,
    time: Option<Time>,
    /// Where the frame begins in it.
    at: usize,
    told: Vec<Piece>,
}

/// What a message is to the other side.
#[derive(Clone, Copy)]
enum Piece {
    Asks {
        id: Key,
        method: Method,
    },
    Answers(Key),
    /// A request goes by that progress token.
    Offers(Key),
    /// Progress of what goes by that token.
    Tells(Key),
    /// The client is ready.
    Opens,
    Other,
}

impl<R: Read> Side<R> {
    fn new(input: Option<R>) -> Result<Side<R>, ReadError> {
        let mut lines = LineReader::new(Either(input));
        let head = lines.peek(HEAD_BYTES)?;
        let stamps = Stamps::of(head).map_err(|wrong| wrong.on(1))?;
        Ok(Side {
            lines,
            stamps,
            queue: VecDeque::new(),
            queued_bytes: 0,
            is_over: false,
            has_lines: false,
            cut_at: None,
            open: BTreeMap::new(),
            tokens: BTreeSet::new(),
            coming: Coming::default(),
            first: None,
            latest: None,
            shift_ms: 0,
            is_of_day: false,
        })
    }

    /// Reads one more line into the queue; `false` where there is none, or no room.
    fn more(&mut self, scanner: &mut Scanner) -> bool {
        if self.is_over || self.queued_bytes > AHEAD_BYTES_MAX {
            return false;
        }
        let line = match self.lines.next_filled() {
            Ok(Some(line)) => line,
            Ok(None) => {
                self.is_over = true;
                return false;
            }
            Err(error) => {
                self.is_over = true;
                self.queue.push_back(Err(error.into()));
                return true;
            }
        };
        self.has_lines = true;
        if line.too_long {
            self.queue.push_back(Err(too_long(&line).into()));
            return true;
        }
        let first = start(&line);
        let is_cut_in_time = !line.has_eol && self.stamps.stop_inside(&line.bytes[first..]);
        let (time, begin) = self.stamps.read(&line.bytes[first..]);
        let text = &line.bytes[first + begin..];
        // Whoever wrote it was stopped, or the file was copied meanwhile.
        if is_cut_in_time || !line.has_eol && stops_inside(text, scanner) {
            self.cut_at = Some(line.number);
            self.is_over = true;
            return false;
        }
        let ahead = Ahead {
            number: line.number,
            time,
            at: first + begin,
            told: pieces(&line.bytes[first + begin..], scanner),
            line: line.bytes.to_vec(),
        };
        self.first = self.first.or(time);
        self.latest = time.or(self.latest);
        self.queued_bytes += ahead.line.len();
        self.coming.change(&ahead.told, |count| *count += 1);
        self.queue.push_back(Ok(ahead));
        true
    }

    /// Reads on until something stands in the queue, or in vain.
    fn find(&mut self, scanner: &mut Scanner, is_there: impl Fn(&Coming) -> bool) -> bool {
        while !is_there(&self.coming) {
            if !self.more(scanner) {
                return false;
            }
        }
        true
    }

    fn head(&self) -> Option<&Ahead> {
        self.queue.front()?.as_ref().ok()
    }

    /// Its times count from its own beginning.
    fn is_of_file(&self) -> bool {
        self.first().is_some_and(|first| first.scale == Scale::File)
    }

    fn time(&self, time: Time) -> Time {
        let is_of_day = time.scale == Scale::File && self.is_of_day;
        Time {
            ms: time.ms + self.shift_ms,
            scale: if is_of_day { Scale::Day } else { time.scale },
            ..time
        }
    }

    fn first(&self) -> Option<Time> {
        self.first.map(|time| self.time(time))
    }
}

impl Coming {
    fn change(&mut self, told: &[Piece], change: impl Fn(&mut u32)) {
        for piece in told {
            let (map, key) = match piece {
                Piece::Asks { id, .. } => (&mut self.asks, id),
                Piece::Answers(id) => (&mut self.answers, id),
                Piece::Offers(token) => (&mut self.tokens, token),
                Piece::Tells(_) | Piece::Opens | Piece::Other => continue,
            };
            let count = map.entry(*key).or_default();
            change(count);
            if *count == 0 {
                map.remove(key);
            }
        }
    }
}

impl Ahead {
    fn answers(&self) -> impl Iterator<Item = Key> {
        self.told.iter().filter_map(|piece| match piece {
            Piece::Answers(id) => Some(*id),
            _ => None,
        })
    }

    /// The id of the request that a session begins with.
    fn handshake(&self) -> Option<Key> {
        self.told.iter().find_map(|piece| match piece {
            Piece::Asks { id, method } if *method == Method::Initialize => Some(*id),
            _ => None,
        })
    }

    /// Whether it may be sent before the handshake is answered.
    fn is_early(&self) -> bool {
        let is_early = |piece: &Piece| match piece {
            Piece::Asks { method, .. } => matches!(method, Method::Initialize | Method::Ping),
            Piece::Answers(_) | Piece::Offers(_) => true,
            _ => false,
        };
        self.told.iter().all(is_early)
    }
}

/// Whether a line stops in the middle of what would be a frame.
fn stops_inside(text: &[u8], scanner: &mut Scanner) -> bool {
    text.starts_with(b"{") && is_cut(text, scanner)
}

/// What a line says: of an array of messages, each.
fn pieces(text: &[u8], scanner: &mut Scanner) -> Vec<Piece> {
    let message = classify(text, scanner).message;
    let mut told = vec![];
    if message.kind != Kind::Batch {
        put(&message, &mut told);
        return told;
    }
    let mut at = white(text, 0) + 1;
    loop {
        at = white(text, at);
        scanner.reset();
        let Ok(end) = scanner.value(text, at) else {
            return told;
        };
        put(&classify(&text[at..end], scanner).message, &mut told);
        at = white(text, end);
        if text.get(at) != Some(&b',') {
            return told;
        }
        at += 1;
    }
}

fn put(message: &Message, told: &mut Vec<Piece>) {
    let id = Some(message.id).filter(|id| id.is_present() && *id != Key::NULL);
    match (message.kind, id) {
        (Kind::Request, Some(id)) => {
            let method = message.method;
            told.push(Piece::Asks { id, method });
            if message.token.is_present() {
                told.push(Piece::Offers(message.token));
            }
        }
        (Kind::Result | Kind::Error, Some(id)) => told.push(Piece::Answers(id)),
        (Kind::Notification, _) => told.push(match message.method {
            Method::Progress if message.token.is_present() => Piece::Tells(message.token),
            Method::Initialized => Piece::Opens,
            _ => Piece::Other,
        }),
        _ => told.push(Piece::Other),
    }
}

impl<R: Read> Pair<R> {
    /// What the client sent, and what the server sent; either may be missing.
    ///
    /// # Errors
    /// A file cannot be read, or is not of one direction; whose it is.
    pub fn new(client: Option<R>, server: Option<R>) -> Result<Pair<R>, (Role, ReadError)> {
        let is_half = client.is_none() || server.is_none();
        let sides = [
            Side::new(client).map_err(|error| (Role::Client, error))?,
            Side::new(server).map_err(|error| (Role::Server, error))?,
        ];
        Ok(Pair {
            sides,
            is_half,
            scanner: Scanner::new(),
            is_open: false,
            is_from_start: false,
            has_client_begun: false,
            handshake: None,
            went_on: false,
            begun: None,
            is_announced: false,
            has_restarts: false,
            is_aligned: false,
            has_untimed: false,
            is_unordered: false,
            has_gaps: false,
            handed_on: 0,
            alone_from: None,
            last: vec![],
            number: 0,
        })
    }

    /// Clocks that tell no date begin on the same day.
    fn align(&mut self) {
        if std::mem::replace(&mut self.is_aligned, true) {
            return;
        }
        let scales = [0, 1].map(|at: usize| self.sides[at].first.map(|first| first.scale));
        for at in [0, 1] {
            let side = &mut self.sides[at];
            side.is_of_day = scales[1 - at] == Some(Scale::Day) && side.stamps.is_clock();
        }
        let [Some(client), Some(server)] = [0, 1].map(|at: usize| self.sides[at].first()) else {
            return;
        };
        let round = match client.scale {
            Scale::Day => 86_400_000,
            Scale::Year => 366 * 86_400_000,
            Scale::Utc | Scale::Wall | Scale::File => return,
        };
        if client.scale == server.scale && client.ms.abs_diff(server.ms) > round / 2 {
            let earlier = usize::from(server.ms < client.ms);
            self.sides[earlier].shift_ms = round;
        }
    }

    /// Whether the side's next line answers what the other side has yet to ask.
    fn waits(&mut self, at: usize) -> bool {
        let ids: Vec<Key> = match self.sides[at].head() {
            Some(ahead) => ahead.answers().collect(),
            None => return false,
        };
        let asker = &mut self.sides[1 - at];
        ids.iter().any(|id| {
            let is_open = asker.open.contains_key(id) || asker.open.len() >= IDS_MAX;
            !is_open && asker.find(&mut self.scanner, |coming| coming.asks.contains_key(id))
        })
    }

    /// Whether the side's next line speaks of what the other side has yet to say, though nothing forbids that.
    fn waits_perhaps(&mut self, at: usize) -> bool {
        let Some(ahead) = self.sides[at].head() else {
            return false;
        };
        let token = ahead.told.iter().find_map(|piece| match piece {
            Piece::Tells(token) => Some(*token),
            _ => None,
        });
        let handshake = self.handshake.filter(|_| at == 0 && !ahead.is_early());
        let other = &mut self.sides[1 - at];
        let scanner = &mut self.scanner;
        if let Some(id) = handshake
            && other.find(scanner, |coming| coming.answers.contains_key(&id))
        {
            return true;
        }
        token.is_some_and(|token| {
            !other.tokens.contains(&token)
                && other.find(scanner, |coming| coming.tokens.contains_key(&token))
        })
    }

    /// Whether the times of the two files can be held against each other.
    fn times_agree(&self) -> bool {
        let [client, server] = [0, 1].map(|at: usize| self.sides[at].first());
        match client.zip(server) {
            Some((client, server)) => client.scale == server.scale,
            None => true,
        }
    }

    /// A time of that side's, where it can be held against the other's.
    fn told_ms(&self, at: usize, time: Option<Time>) -> Option<u64> {
        let is_told = self.is_half || self.times_agree();
        let time = time.filter(|_| is_told)?;
        Some(self.sides[at].time(time).ms)
    }

    /// The side whose file is there and has nothing in it.
    fn empty(&self) -> Option<&'static str> {
        let is_empty = |side: &Side<R>| side.is_over && !side.has_lines;
        let at = self
            .sides
            .iter()
            .position(is_empty)
            .filter(|_| !self.is_half)?;
        Some([Role::Client, Role::Server][at].as_str())
    }

    /// The lines that stop in the middle, of the client's file first.
    fn cuts(&self) -> impl Iterator<Item = u64> {
        self.sides.iter().filter_map(|side| side.cut_at)
    }

    /// The times of the two next lines, where they count from the same beginning.
    fn times(&self) -> Option<[Time; 2]> {
        let [one, other] = [0, 1].map(|at: usize| {
            let time = self.sides[at].head()?.time?;
            Some(self.sides[at].time(time))
        });
        one.zip(other)
            .filter(|(one, other)| one.scale == other.scale)
            .map(|(one, other)| [one, other])
    }

    /// Which side's line comes next; `None` at the end of both.
    fn turn(&mut self) -> Option<usize> {
        for side in &mut self.sides {
            if side.queue.is_empty() {
                side.more(&mut self.scanner);
            }
        }
        match [0, 1].map(|at: usize| self.sides[at].queue.front()) {
            [None, None] => return None,
            [Some(_), None] => return Some(0),
            [None, Some(_)] => return Some(1),
            // What could not be read is told at once.
            [Some(Err(_)), _] => return Some(0),
            [_, Some(Err(_))] => return Some(1),
            [Some(Ok(_)), Some(Ok(_))] => {}
        }
        self.align();
        let times = self.times();
        let early = |times: [Time; 2]| usize::from(times[1].ms < times[0].ms);
        match [0, 1].map(|at| self.waits(at)) {
            [true, true] => {
                // Each answers what the other one asks later: the same ids were used before, where nothing is recorded.
                self.has_gaps = true;
                return Some(times.map_or(1, early));
            }
            [false, false] => {}
            [client, _] => {
                let at = usize::from(client);
                // The times say it the other way round, and cannot be right.
                self.is_unordered |= times.is_none_or(|times| times[at].ms > times[1 - at].ms);
                return Some(at);
            }
        }
        let is_near = times.is_none_or(|[one, other]| {
            let is_coarse = one.is_coarse || other.is_coarse;
            match is_coarse {
                true => one.ms / 1000 == other.ms / 1000,
                false => one.ms.abs_diff(other.ms) <= NEAR_MS,
            }
        });
        if is_near {
            match [0, 1].map(|at| self.waits_perhaps(at)) {
                [true, false] => return Some(1),
                [false, true] => return Some(0),
                _ => {}
            }
        }
        if let Some(times) = times
            && (!is_near
                || times[0].ms != times[1].ms && !(times[0].is_coarse || times[1].is_coarse))
        {
            return Some(early(times));
        }
        let answer = self.sides[1]
            .head()
            .and_then(|ahead| ahead.answers().next());
        // Who has one question open waits for the answer before it asks the next.
        let asks =
            |piece: &Piece| matches!(piece, Piece::Asks { .. } | Piece::Offers(_) | Piece::Opens);
        let asks = self.sides[0]
            .head()
            .is_some_and(|ahead| ahead.told.iter().all(asks));
        let is_in_turn =
            self.sides[0].open.len() == 1 && answer.is_some() && asks && times.is_some();
        self.is_unordered |= !is_in_turn;
        Some(match answer.is_some() || self.is_open && times.is_none() {
            true => 1,
            false => 0,
        })
    }

    /// Whether the client's next line begins another connection: its handshake begins the ids anew.
    fn is_anew(&self) -> bool {
        let id = self.sides[0].head().and_then(Ahead::handshake);
        id.zip(self.begun)
            .is_some_and(|(id, last)| begins_anew(id, last))
    }

    /// Another connection begins: nothing of the last one is open in it.
    fn begin_anew(&mut self) {
        self.has_gaps |= self.handshake.is_some() && self.went_on;
        self.handshake = None;
        (self.went_on, self.is_open) = (false, false);
        for side in &mut self.sides {
            side.open.clear();
            side.tokens.clear();
        }
        (self.is_announced, self.has_restarts) = (true, true);
    }

    /// That side answers a request that is not in the other file: what speaks for its having been sent where that file was not
    /// recorded?
    fn stray(&mut self, at: usize, time: Option<Time>) {
        let asker = &self.sides[1 - at];
        let time = time.map(|time| self.sides[at].time(time));
        let apart = |one: Option<Time>, other: Option<Time>| {
            let both = one
                .zip(other)
                .filter(|(one, other)| one.scale == other.scale);
            both.is_some_and(|(one, other)| one.ms + NEAR_MS < other.ms)
        };
        let last = asker.latest.map(|time| asker.time(time));
        let is_answered = at == 1 || self.handshake.is_none();
        let has_begun = apart(asker.first(), time) || self.is_from_start && is_answered;
        let mut goes_on = apart(time, last);
        if !goes_on {
            // Whoever answers what was asked later was recorded until then.
            while self.sides[at].more(&mut self.scanner) {}
            let [asked, answers] = [at, 1 - at].map(|at: usize| &self.sides[at].coming);
            goes_on = asked.asks.keys().any(|id| answers.answers.contains_key(id));
        }
        self.has_gaps |= !(has_begun && goes_on);
    }

    /// What the line changes.
    fn take(&mut self, at: usize, ahead: &Ahead) {
        let side = &mut self.sides[at];
        side.queued_bytes -= ahead.line.len();
        side.coming
            .change(&ahead.told, |count| *count = count.saturating_sub(1));
        self.has_untimed |= ahead.time.is_none();
        self.handed_on += 1;
        let other = &self.sides[1 - at];
        let is_alone = other.is_over && other.queue.is_empty();
        if is_alone && !self.is_half && self.alone_from.is_none() {
            self.alone_from = Some(self.handed_on);
        }
        let asks =
            |piece: &Piece| matches!(piece, Piece::Asks { method, .. } if *method != Method::Ping);
        // What the server waits for before it asks may stand behind the end of the other file.
        self.has_gaps |= is_alone && at == 1 && !self.is_open && ahead.told.iter().any(asks);
        if at == 0 {
            if !std::mem::replace(&mut self.has_client_begun, true) {
                self.is_from_start = ahead.handshake().is_some();
            }
            if let Some(id) = ahead.handshake() {
                (self.handshake, self.begun) = (Some(id), Some(id));
            } else {
                self.went_on |= self.handshake.is_some() && !ahead.is_early();
            }
        }
        for piece in &ahead.told {
            let side = &mut self.sides[at];
            match piece {
                Piece::Asks { id, method } if side.open.len() < IDS_MAX => {
                    let open = side.open.entry(*id).or_default();
                    open.count += 1;
                    open.is_ping = *method == Method::Ping;
                }
                Piece::Offers(token) if side.tokens.len() < IDS_MAX => {
                    side.tokens.insert(*token);
                }
                Piece::Opens => self.is_open |= at == 0,
                Piece::Answers(id) => self.answer(at, *id, ahead.time),
                Piece::Tells(token) => {
                    let asker = &mut self.sides[1 - at];
                    let is_known = asker.tokens.contains(token) || asker.tokens.len() >= IDS_MAX;
                    let is_coming = |coming: &Coming| coming.tokens.contains_key(token);
                    if !is_known && !asker.find(&mut self.scanner, is_coming) {
                        self.stray(at, ahead.time);
                    }
                }
                _ => {}
            }
        }
    }

    /// That side answers the id.
    fn answer(&mut self, at: usize, id: Key, time: Option<Time>) {
        let asker = &mut self.sides[1 - at];
        let is_full = asker.open.len() >= IDS_MAX;
        let is_ping = match asker.open.get_mut(&id) {
            Some(open) => {
                open.count -= 1;
                let Open { count, is_ping } = *open;
                if count == 0 {
                    asker.open.remove(&id);
                }
                is_ping
            }
            None if is_full => false,
            None => {
                self.stray(at, time);
                false
            }
        };
        let Some(handshake) = self.handshake.filter(|_| at == 1) else {
            return;
        };
        if handshake == id {
            self.handshake = None;
        } else if !is_ping {
            // Who answers other things has answered that: before the recording began, or later.
            let is_coming = |coming: &Coming| coming.answers.contains_key(&handshake);
            self.has_gaps |= !self.sides[at].find(&mut self.scanner, is_coming);
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
        let is_announced = std::mem::take(&mut self.is_announced);
        let Some(at) = Some(0).filter(|_| is_announced).or_else(|| self.turn()) else {
            let cut_at = self.cuts().next();
            self.number = cut_at.unwrap_or(self.number);
            return Ok(None);
        };
        if at == 0 && !is_announced && self.is_anew() {
            self.begin_anew();
            let ahead = self.sides[0].head();
            let t_ms = self.told_ms(0, ahead.and_then(|ahead| ahead.time));
            let number = ahead.map_or(self.number, |ahead| ahead.number);
            let open = Entry::event(None, t_ms, EventKind::Open);
            return Ok(Some(open.hand_on(b"", number, &[])));
        }
        let ahead = match self.sides[at].queue.pop_front() {
            Some(Ok(ahead)) => ahead,
            Some(Err(error)) => {
                self.number = self.sides[at].lines.number();
                return Err(error);
            }
            None => return Ok(None),
        };
        self.take(at, &ahead);
        let from = [Role::Client, Role::Server][at];
        let t_ms = self.told_ms(at, ahead.time);
        self.number = ahead.number;
        self.last = ahead.line;
        let text = Text::Here(ahead.at..self.last.len());
        let entry = Entry::frame(from, t_ms, text);
        Ok(Some(entry.hand_on(&self.last, self.number, &[])))
    }

    fn line_number(&self) -> u64 {
        self.number
    }

    fn is_cut(&self) -> bool {
        self.cuts().next().is_some()
    }

    fn lost(&self) -> Lost {
        let mut lost = Lost::NOTHING;
        if self.has_untimed || !self.times_agree() {
            lost |= Lost::ORDER | Lost::TIME;
        }
        if self.is_unordered || self.sides.iter().any(|side| side.is_of_file()) {
            lost |= Lost::ORDER;
        }
        if self.is_half || self.empty().is_some() {
            lost |= Lost::FRAMES;
        }
        lost
    }

    fn guessed(&self) -> Vec<String> {
        let mut guessed = vec![];
        if self.lost().has(Lost::ORDER) && !self.is_half {
            guessed.push("how the two files were interleaved".to_owned());
        }
        if self.has_restarts {
            guessed.push(ANEW.to_owned());
        }
        guessed
    }

    fn has_gaps(&self) -> bool {
        let is_unanswered = self.handshake.is_some() && self.went_on;
        !self.is_half && (self.has_gaps || is_unanswered)
    }

    fn alone_from(&self) -> Option<u32> {
        self.alone_from
    }

    fn remarks(&self) -> Vec<String> {
        let mut all = vec![];
        // The first one is told of as with any recording.
        for number in self.cuts().skip(1) {
            all.push(format!(
                "line {number} of what the server sent is cut too and was left out"
            ));
        }
        if let Some(side) = self.empty() {
            all.push(format!(
                "nothing stands in the file of what the {side} sent"
            ));
        } else if self.has_gaps() {
            all.push(
                "one of the two files seems to lack what the other one speaks of: what rests on both is unsure"
                    .to_owned(),
            );
        }
        all
    }
}
