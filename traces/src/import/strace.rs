//! What strace saw a server read and write: `PID TIME read(0, "…", 65536) = 41` and `write(1, "…", 36) = 36`. Frames are cut out
//! of the bytes that passed: one may come in several writes, and several in one read.

use std::collections::BTreeMap;
use std::ops::Range;

use super::entry::{Entries, Entry, Text, Told};
use super::time::{DayClock, clock, seconds, stamp};
use super::{Head, Kind, Lost, Reading, several, starts_initialize};
use crate::capture::EventKind;
use crate::event::Role;
use crate::lines::Line;
use crate::place::{c_escape, c_offset};
use crate::scan::{Scanner, white};

pub(super) const FORMAT: super::Format = super::Format {
    name: "strace",
    what: "a trace of strace",
    found: "strace -f -tt -T -e trace=read,write -s 1048576 -o FILE SERVER …",
    lost: Lost::NOTHING,
    hint: "the traced program is taken for the server: it reads what the client sent from 0 and writes to 1",
    is_read: true,
    recognises,
    kind: Kind::Strace,
};

fn recognises(head: &Head<'_>) -> bool {
    head.any(|line| {
        let call = Call::of(line);
        call.is_some_and(|call| call.role().is_some() && !matches!(call.text, Quoted::None))
    })
}

/// So many processes are told apart.
const PROCESSES_MAX: usize = 4096;
/// A frame that is longer is handed on as one that was cut.
const FRAME_BYTES_MAX: usize = crate::lines::LINE_BYTES_MAX;

/// A line of such a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Call<'a> {
    pid: &'a [u8],
    time: Time,
    name: &'a [u8],
    /// The line is the end of a call that another one began.
    is_resumed: bool,
    /// The call ends in a later line.
    is_unfinished: bool,
    fd: Option<u32>,
    text: Quoted,
    /// What it gave back: how many bytes, where it did not fail.
    result: Option<usize>,
    /// How long it took, in milliseconds, where -T was given.
    took_ms: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Time {
    None,
    OfDay(i64),
    Since(u64),
}

/// A string in the line.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Quoted {
    None,
    /// Between its quotes; and whether strace left something out.
    There(Range<usize>, bool),
}

impl<'a> Call<'a> {
    fn of(line: &'a [u8]) -> Option<Call<'a>> {
        let (pid, at) = pid(line);
        let (time, at) = time(line, at);
        let rest = &line[at..];
        let (name, is_resumed, at) = match rest.strip_prefix(b"<... ") {
            Some(rest) => {
                let space = memchr::memchr(b' ', rest)?;
                let end = memchr::memchr(b'>', rest)?;
                (&rest[..space.min(end)], true, at + 5 + end + 1)
            }
            None => {
                let open = memchr::memchr(b'(', rest)?;
                (&rest[..open], false, at + open + 1)
            }
        };
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        if name.is_empty() || !name.iter().all(is_name) {
            return None;
        }
        let mut call = Call {
            pid,
            time,
            name,
            is_resumed,
            is_unfinished: line.trim_ascii_end().ends_with(b"<unfinished ...>"),
            fd: None,
            text: Quoted::None,
            result: None,
            took_ms: None,
        };
        call.arguments(line, at);
        Some(call)
    }

    fn arguments(&mut self, line: &[u8], mut at: usize) {
        if !self.is_resumed {
            let digits = line[at..].iter().take_while(|byte| byte.is_ascii_digit());
            let end = at + digits.count();
            self.fd = std::str::from_utf8(&line[at..end])
                .ok()
                .and_then(|fd| fd.parse().ok());
            at = end;
            // With -y there is what it is.
            if line.get(at) == Some(&b'<') {
                at += memchr::memchr(b'>', &line[at..]).map_or(0, |end| end + 1);
            }
            if let Some(rest) = line[at..].strip_prefix(b",") {
                at = line.len() - rest.len();
            }
        }
        at = white(line, at);
        if line.get(at) == Some(&b'"') {
            let end = closing(line, at + 1);
            let is_cut = line
                .get(end + 1..)
                .is_some_and(|rest| rest.starts_with(b"..."));
            self.text = Quoted::There(at + 1..end, is_cut || end == line.len());
            at = (end + 1).min(line.len());
        }
        if let Some(equals) =
            memchr::memmem::rfind(&line[at..], b") = ").map(|found| at + found + 4)
        {
            let result = &line[equals..];
            let digits = result
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            self.result = std::str::from_utf8(&result[..digits])
                .ok()
                .and_then(|text| text.parse().ok());
            let took = memchr::memrchr(b'<', result).and_then(|open| seconds(&result[open + 1..]));
            self.took_ms = took.map(|(ms, _)| ms);
        }
    }

    /// Who sent what passes in the call.
    fn role(&self) -> Option<Role> {
        match (self.name, self.fd) {
            (b"read", Some(0)) => Some(Role::Client),
            (b"write", Some(1)) => Some(Role::Server),
            _ => None,
        }
    }
}

/// The process that the line begins with, and where the rest begins.
fn pid(line: &[u8]) -> (&[u8], usize) {
    let (start, close) = match line.starts_with(b"[pid ") {
        true => (white(line, 5), 1),
        false => (0, 0),
    };
    let digits = line[start..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit());
    let end = start + digits.count();
    let is_pid = end > start && line.get(end) == Some(if close == 1 { &b']' } else { &b' ' });
    if is_pid {
        (&line[start..end], white(line, end + close))
    } else {
        (&[], 0)
    }
}

fn time(line: &[u8], at: usize) -> (Time, usize) {
    let rest = &line[at..];
    let (time, length) = match (stamp(rest), clock(rest, 0), seconds(rest)) {
        (Some(stamp), _, _) => (Time::Since(stamp.ms), stamp.length),
        (_, Some((ms, length)), _) => (Time::OfDay(ms), length),
        (_, _, Some((ms, length))) if rest.get(length) == Some(&b' ') => (Time::Since(ms), length),
        _ => return (Time::None, at),
    };
    (time, white(line, at + length))
}

/// Where the string ends that has its first letter there.
fn closing(line: &[u8], mut at: usize) -> usize {
    while let Some(found) = memchr::memchr2(b'"', b'\\', line.get(at..).unwrap_or_default()) {
        at += found;
        if line[at] == b'"' {
            return at;
        }
        at += 2;
    }
    line.len()
}

/// Undoes the escapes of C in a string.
fn decode(inside: &[u8], out: &mut Vec<u8>) {
    let mut at = 0;
    while at < inside.len() {
        let run = memchr::memchr(b'\\', &inside[at..]).unwrap_or(inside.len() - at);
        out.extend_from_slice(&inside[at..at + run]);
        at += run;
        if at < inside.len() {
            let (byte, length) = c_escape(&inside[at + 1..]);
            out.push(byte);
            at += 1 + length;
        }
    }
}

/// What one side has sent and no line end has ended yet.
#[derive(Clone, Default)]
struct Pending {
    text: Vec<u8>,
    /// The line and the byte of it where that begins.
    line: u64,
    at: usize,
    /// How it stands there, where it stands in one string.
    inside: Option<Vec<u8>>,
    /// The rest of a frame that was cut is still to come.
    is_in_cut: bool,
    /// Something of that side was seen.
    is_heard: bool,
}

/// Where a part of a frame stands.
struct Part {
    line: u64,
    at: usize,
    inside: Vec<u8>,
}

/// A server in the trace: one process, or several that share its pipes.
#[derive(Clone, Default)]
struct Session {
    name: Option<String>,
    from: [Pending; 2],
    is_begun: bool,
}

/// A call that is not over.
#[derive(Clone)]
struct Begun {
    name: Vec<u8>,
    fd: Option<u32>,
    text: Vec<u8>,
    is_cut: bool,
    line: u64,
    at: usize,
}

/// What passed in a call.
#[derive(Clone)]
struct Passed {
    role: Role,
    text: Vec<u8>,
    /// How many bytes it truly had.
    size: usize,
    line: u64,
    at: usize,
    /// The string as it stands in the line where the call ends, to find places in.
    inside: Vec<u8>,
}

/// A read that is told when it began, and may have waited.
#[derive(Clone)]
struct Held {
    pid: Vec<u8>,
    passed: Passed,
    t_ms: u64,
}

/// A read that began so long before what came next may have waited.
const WAITED_MS: u64 = 1000;

#[derive(Clone, Default)]
pub(super) struct Form {
    scanner: Scanner,
    kept: Vec<u8>,
    clock: DayClock,
    untimed: bool,
    sessions: Vec<Session>,
    /// Which session a process belongs to.
    of: BTreeMap<Vec<u8>, usize>,
    begun: BTreeMap<Vec<u8>, Begun>,
    held: Option<Held>,
    /// Reads of which it is not known when they ended.
    waited: u64,
    /// Calls of processes that speak no JSON-RPC, and calls that gather from several places.
    strangers: u64,
    gathered: u64,
}

impl super::Form for Form {
    fn line(&mut self, line: &Line<'_>, out: &mut Entries) -> Reading<()> {
        self.kept.clear();
        let bytes = line.bytes;
        self.release(bytes, out);
        if let Some((pid, status, time)) = exit(bytes) {
            let t_ms = self.time(time, 0);
            self.exit(pid, status, t_ms, out);
            return Ok(());
        }
        let Some(call) = Call::of(bytes) else {
            return Ok(());
        };
        let is_gathered = match call.name {
            b"readv" => call.fd == Some(0),
            b"writev" => call.fd == Some(1),
            _ => false,
        };
        self.gathered += u64::from(is_gathered);
        // A call that waited is told when it began.
        let is_read = call.name == b"read" && !call.is_resumed;
        let took_ms = call.took_ms.filter(|_| is_read);
        let t_ms = self.time(call.time, took_ms.unwrap_or(0));
        if call.is_unfinished && !call.is_resumed {
            self.begin(&call, line);
            return Ok(());
        }
        let Some(passed) = self.passed(&call, line) else {
            return Ok(());
        };
        match t_ms.filter(|_| is_read && took_ms.is_none()) {
            Some(t_ms) => {
                let pid = call.pid.to_vec();
                self.held = Some(Held { pid, passed, t_ms });
            }
            None => self.pass(call.pid, passed, t_ms, out),
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Entries) -> Reading<()> {
        self.kept.clear();
        self.release(b"", out);
        for session in 0..self.sessions.len() {
            self.flush(session, None, false, out);
        }
        Ok(())
    }

    fn is_by_line(&self) -> bool {
        false
    }

    fn kept(&self) -> &[u8] {
        &self.kept
    }

    fn lost(&self) -> Lost {
        let mut lost = Lost::NOTHING;
        if self.untimed {
            lost |= Lost::TIME;
        }
        if self.gathered > 0 {
            lost |= Lost::FRAMES;
        }
        lost
    }

    fn guessed(&self) -> Vec<String> {
        match self.sessions.len() {
            0 | 1 => vec![],
            _ => vec!["sessions: told apart by the processes that read an initialize".to_owned()],
        }
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = vec![];
        if self.strangers > 0 {
            remarks.push(format!(
                "{} of processes that speak no JSON-RPC and {} passed over",
                several(self.strangers, "call is", "calls are"),
                if self.strangers == 1 { "was" } else { "were" }
            ));
        }
        if self.waited > 0 {
            remarks.push(format!(
                "{} told only when {} began, and counted as of what came next: strace -T tells how long they waited",
                several(self.waited, "read is", "reads are"),
                if self.waited == 1 { "it" } else { "they" }
            ));
        }
        if self.gathered > 0 {
            remarks.push(format!(
                "{} readv or writev, which is not read here: frames are missing",
                several(self.gathered, "call is", "calls are")
            ));
        }
        remarks
    }
}

/// The process that has ended, with its status, and when: `+++ exited with 0 +++`.
fn exit(line: &[u8]) -> Option<(&[u8], Option<i64>, Time)> {
    let (pid, at) = pid(line);
    let (time, at) = time(line, at);
    let rest = line[at..].strip_prefix(b"+++ ")?;
    let status = rest.strip_prefix(b"exited with ").and_then(|rest| {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()
    });
    Some((pid, status, time))
}

impl Form {
    fn time(&mut self, time: Time, later_ms: u64) -> Option<u64> {
        let ms = match time {
            Time::None => {
                self.untimed = true;
                return None;
            }
            Time::OfDay(ms) => self.clock.at(ms),
            Time::Since(ms) => ms,
        };
        Some(ms.saturating_add(later_ms))
    }

    /// Hands on what the last line read, now that another one tells when it can have ended at the latest.
    fn release(&mut self, next: &[u8], out: &mut Entries) {
        let Some(mut held) = self.held.take() else {
            return;
        };
        let (_, at) = pid(next);
        let next_ms = match time(next, at).0 {
            Time::None => None,
            // A look ahead: the clock goes on when the line is read.
            Time::OfDay(ms) => {
                let mut clock = self.clock;
                Some(clock.at(ms))
            }
            Time::Since(ms) => Some(ms),
        };
        if let Some(next_ms) = next_ms.filter(|ms| *ms >= held.t_ms.saturating_add(WAITED_MS)) {
            self.waited += 1;
            held.t_ms = next_ms;
        }
        self.pass(&held.pid, held.passed, Some(held.t_ms), out);
    }

    fn begin(&mut self, call: &Call<'_>, line: &Line<'_>) {
        let mut begun = Begun {
            name: call.name.to_vec(),
            fd: call.fd,
            text: vec![],
            is_cut: false,
            line: line.number,
            at: 0,
        };
        if let Quoted::There(inside, is_cut) = &call.text {
            decode(&line.bytes[inside.clone()], &mut begun.text);
            (begun.at, begun.is_cut) = (inside.start, *is_cut);
        }
        if self.begun.len() < PROCESSES_MAX || self.begun.contains_key(call.pid) {
            self.begun.insert(call.pid.to_vec(), begun);
        }
    }

    /// What passed in a call that is over.
    fn passed(&mut self, call: &Call<'_>, line: &Line<'_>) -> Option<Passed> {
        let (mut text, mut at, mut first, mut role) = (vec![], 0, line.number, call.role());
        let mut is_cut = false;
        if call.is_resumed {
            let begun = self.begun.remove(call.pid)?;
            let whole = Call {
                name: &begun.name,
                fd: begun.fd,
                ..call.clone()
            };
            role = whole.role();
            (text, is_cut) = (begun.text, begun.is_cut);
            if !text.is_empty() {
                (first, at) = (begun.line, begun.at);
            }
        }
        let role = role?;
        let size = call.result?;
        let mut inside = vec![];
        if let Quoted::There(there, cut) = &call.text {
            decode(&line.bytes[there.clone()], &mut text);
            (at, is_cut) = (there.start, *cut);
            inside = line.bytes[there.clone()].to_vec();
        }
        // A write may have taken less than it was given.
        text.truncate(size);
        let size = if is_cut { size } else { text.len() };
        Some(Passed {
            role,
            text,
            size,
            line: first,
            at,
            inside,
        })
    }

    /// The session that the process belongs to; `None` for one that has nothing to do with any.
    fn session(&mut self, pid: &[u8], passed: &Passed) -> Option<usize> {
        let starts = passed.role == Role::Client && starts_initialize(&passed.text);
        let known = self.of.get(pid).copied();
        let is_frame = memchr::memmem::find(&passed.text, b"\"jsonrpc\"").is_some();
        let session = match known {
            Some(session) => session,
            None if self.sessions.is_empty() => self.new_session(pid),
            None if !is_frame => return None,
            None if starts && self.sessions.iter().all(|session| session.is_begun) => {
                self.new_session(pid)
            }
            None => self.sessions.len() - 1,
        };
        if known.is_none() && self.of.len() < PROCESSES_MAX {
            self.of.insert(pid.to_vec(), session);
        }
        self.sessions[session].is_begun |= starts;
        Some(session)
    }

    fn new_session(&mut self, pid: &[u8]) -> usize {
        let name = String::from_utf8_lossy(pid).into_owned();
        if self.sessions.len() < PROCESSES_MAX {
            self.sessions.push(Session {
                name: Some(name).filter(|name| !name.is_empty()),
                ..Session::default()
            });
        }
        self.sessions.len() - 1
    }

    fn pass(&mut self, pid: &[u8], passed: Passed, t_ms: Option<u64>, out: &mut Entries) {
        let Some(number) = self.session(pid, &passed) else {
            self.strangers += 1;
            return;
        };
        let session = self.sessions[number].name.clone();
        if passed.size == 0 {
            if passed.role == Role::Client {
                let by = Some(Role::Client);
                out.push_back(Entry::event(by, t_ms, EventKind::Eof).in_session(session));
            }
            return;
        }
        let is_begun = self.sessions[number].is_begun;
        let pending = &mut self.sessions[number].from[side(passed.role)];
        // A tracer that was attached later sees the rest of a frame first.
        if !std::mem::replace(&mut pending.is_heard, true) {
            pending.is_in_cut = !is_begun && is_rest(&passed.text);
        }
        // Places in the plain text and in the string, which go on together.
        let (mut plain, mut source) = (0, 0);
        let mut part_of = |from: usize, end: usize| {
            source += c_offset(
                passed.inside.get(source..).unwrap_or_default(),
                from - plain,
            );
            let begin = source;
            source += c_offset(passed.inside.get(source..).unwrap_or_default(), end - from);
            plain = end;
            Part {
                line: passed.line,
                at: passed.at + begin,
                inside: passed
                    .inside
                    .get(begin..source)
                    .unwrap_or_default()
                    .to_vec(),
            }
        };
        let mut from = 0;
        while let Some(end) = memchr::memchr(b'\n', &passed.text[from..]).map(|end| from + end) {
            let part = &passed.text[from..end];
            if !pending.skips(part, &mut self.scanner) {
                pending.add(part, || part_of(from, end));
                out.extend(pending.take(passed.role, t_ms, true, None, &session, &mut self.kept));
            }
            pending.is_in_cut = false;
            from = end + 1;
        }
        let rest = &passed.text[from..];
        let is_cut = passed.size > passed.text.len();
        if pending.skips(rest, &mut self.scanner) && !(rest.is_empty() && is_cut) {
            return;
        }
        pending.add(rest, || part_of(from, passed.text.len()));
        let is_long = pending.text.len() > FRAME_BYTES_MAX;
        if is_cut || is_long {
            let missing = passed.size - passed.text.len();
            let size = (pending.text.len() + missing) as u64;
            out.extend(pending.take(
                passed.role,
                t_ms,
                false,
                Some(size),
                &session,
                &mut self.kept,
            ));
            pending.is_in_cut = true;
        }
    }

    /// The session is over, or the trace: what was waiting for its line end is handed on.
    fn flush(&mut self, number: usize, t_ms: Option<u64>, is_over: bool, out: &mut Entries) {
        let name = self.sessions[number].name.clone();
        for role in [Role::Client, Role::Server] {
            let pending = &mut self.sessions[number].from[side(role)];
            if pending.text.is_empty() {
                continue;
            }
            let is_whole = is_whole(&pending.text, &mut self.scanner);
            // Where the trace just stops, what would have come is not known.
            let cut = (!is_over && !is_whole).then_some(pending.text.len() as u64);
            out.extend(pending.take(role, t_ms, !is_over, cut, &name, &mut self.kept));
        }
    }

    fn exit(&mut self, pid: &[u8], status: Option<i64>, t_ms: Option<u64>, out: &mut Entries) {
        // What one process of several does is no end of the server.
        let Some(number) = self.of.remove(pid) else {
            return;
        };
        if self.of.values().any(|other| *other == number) {
            return;
        }
        self.flush(number, t_ms, true, out);
        let by = Some(Role::Server);
        let mut entry = Entry::told(
            t_ms,
            Told::Event {
                kind: EventKind::Exit,
                by,
                status,
            },
        );
        entry.session = self.sessions[number].name.clone();
        out.push_back(entry);
    }
}

fn side(role: Role) -> usize {
    match role {
        Role::Client => 0,
        Role::Server => 1,
    }
}

/// Whether that can be the rest of a frame, and is not the beginning of one.
fn is_rest(text: &[u8]) -> bool {
    let begins = matches!(text.trim_ascii_start().first(), None | Some(b'{' | b'['));
    let has = |what: &[u8]| memchr::memmem::find(text, what).is_some();
    !begins && (has(b"\":") || has(b"\"}") || has(b"}}"))
}

fn is_whole(text: &[u8], scanner: &mut Scanner) -> bool {
    let first = white(text, 0);
    let end = scanner.value(text, first);
    end.is_ok_and(|end| white(text, end) == text.len())
}

impl Pending {
    fn add(&mut self, part: &[u8], place: impl FnOnce() -> Part) {
        if part.is_empty() {
            return;
        }
        if self.text.is_empty() {
            let place = place();
            (self.line, self.at) = (place.line, place.at);
            self.inside = Some(place.inside).filter(|inside| !inside.is_empty());
        } else {
            self.inside = None;
        }
        self.text.extend_from_slice(part);
    }

    /// Whether that is the rest of a frame that was cut.
    fn skips(&mut self, part: &[u8], scanner: &mut Scanner) -> bool {
        self.is_in_cut && !is_whole(part, scanner)
    }

    /// The frame that is there now; blank lines are none.
    fn take(
        &mut self,
        from: Role,
        t_ms: Option<u64>,
        has_eol: bool,
        cut_from_bytes: Option<u64>,
        session: &Option<String>,
        kept: &mut Vec<u8>,
    ) -> Option<Entry> {
        let text = std::mem::take(&mut self.text);
        if text.is_empty() {
            return None;
        }
        let start = kept.len();
        kept.extend_from_slice(&text);
        let text = start..kept.len();
        let at = self.at;
        let text = match self.inside.take() {
            Some(inside) => {
                let begin = kept.len();
                kept.extend_from_slice(&inside);
                let inside = begin..kept.len();
                Text::C { text, inside, at }
            }
            None => Text::Kept { text, at },
        };
        let told = Told::Frame {
            from,
            text,
            has_eol,
            cut_from_bytes,
        };
        let mut entry = Entry::told(t_ms, told).in_session(session.clone());
        entry.line = self.line;
        Some(entry)
    }
}
