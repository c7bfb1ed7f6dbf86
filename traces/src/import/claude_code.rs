//! The MCP logs of Claude Code: one JSON object a line, with a text, a time and a session; older ones are one array of these.
//! Most texts tell a state. Some hold a message whole, behind words that may tell who sent it.

use std::collections::BTreeMap;
use std::io::Read;
use std::ops::Range;

use super::entry::{Entries, Entry, Text};
use super::json_lines::{Members, members_of};
use super::mark::{Mark, mark};
use super::sender::{Sender, Senders};
use super::whole::{self, Document, Item, Plan, Words};
use super::{HEAD_BYTES, Head, Kind, Lost, Reading, several};
use crate::capture::{EventKind, Opening};
use crate::classify::classify;
use crate::event::{LinkKind, Role};
use crate::file::json::Wrong;
use crate::key::Key;
use crate::lines::{Line, LineReader, ReadError};
use crate::message::{Kind as MessageKind, Message, Method};
use crate::recording::Recording;
use crate::scan::{Scanner, unescape, white};

pub(super) const FORMAT: super::Format = super::Format {
    name: "claude-code",
    what: "an MCP log of Claude Code",
    found: "~/.cache/claude-cli-nodejs/PROJECT/mcp-logs-NAME, macOS ~/Library/Caches/claude-cli-nodejs, \
            Windows %LOCALAPPDATA%\\claude-cli-nodejs\\Cache",
    lost: Lost::RAW.with(Lost::LINES),
    hint: "most have states and no messages, and are refused: put a recorder such as mcpsnoop between Claude Code and the server",
    is_read: true,
    recognises,
    kind: Kind::ClaudeCode,
};

const NO_MESSAGES: &str = "this is an MCP log of Claude Code, which cannot be checked: it has states and no messages: \
                           put a recorder such as mcpsnoop between Claude Code and the server";

/// The words before a message are no longer than that.
const PREFIX_BYTES_MAX: usize = 160;
/// Sessions beyond this are followed together.
const SESSIONS_MAX: usize = 1024;
/// Open requests of a session beyond this are not kept in mind.
const OPEN_MAX: usize = 1 << 12;

const NAMES: [&[u8]; 5] = [b"debug", b"error", b"info", b"timestamp", b"sessionId"];
/// The members that have a text.
const TEXTS: Range<usize> = 0..3;
const ERROR: usize = 1;
const TIME: usize = 3;
const SESSION: usize = 4;

fn recognises(head: &Head<'_>) -> bool {
    let names: [&[u8]; 5] = [b"debug", b"error", b"timestamp", b"sessionId", b"cwd"];
    // Older ones are one array, however it is laid out.
    let is_array = head.bytes.trim_ascii_start().starts_with(b"[")
        && (head.has(b"\"debug\"") || head.has(b"\"error\""))
        && head.has(b"\"timestamp\"")
        && head.has(b"\"sessionId\"")
        && head.has(b"\"cwd\"");
    is_array
        || head.lines.iter().take(4).any(|line| {
            members_of(line, &names).is_some_and(|members| {
                (members.has(0) || members.has(1)) && (2..5).all(|name| members.has(name))
            })
        })
}

/// Reads one of the two layouts.
///
/// # Errors
/// The input cannot be read, or it is clear already that no message is in it.
pub(super) fn open<R: Read + 'static>(
    format: &'static super::Format,
    mut lines: LineReader<R>,
) -> Result<Box<dyn Recording>, ReadError> {
    let beginning = lines.peek(HEAD_BYTES)?;
    let is_all = beginning.len() < HEAD_BYTES;
    let head = Head::of(beginning);
    if head.bytes.trim_ascii_start().starts_with(b"[") {
        return whole::open(format, lines, plan);
    }
    let mut log = Log::default();
    for line in &head.lines {
        // One that is broken is told when it is read.
        let _ = log.take(line, white(line, 0));
    }
    if is_all && log.frames == 0 {
        return Err(Wrong::new(0, NO_MESSAGES).on(1).into());
    }
    let form = Form {
        log: Log::default(),
        is_http: log.is_http,
    };
    super::log(format, lines, form)
}

/// Something that an entry tells.
struct Found {
    t_ms: Option<u64>,
    session: String,
    tells: Tells,
}

enum Tells {
    Frame(Role, Place),
    Closed,
}

/// Where a frame stands.
enum Place {
    /// It is a value of the entry.
    Value(Range<usize>),
    /// In a text, from that byte to the text's end; decoded, it is all that is kept, up to that length.
    Inside(Range<usize>, usize),
}

/// One session of the client, which may connect several times.
#[derive(Clone, Default)]
struct Session {
    senders: Senders,
    /// Requests without an answer so far.
    open: BTreeMap<Key, Method>,
    /// So many connections were begun before this one.
    connections: u32,
    /// Whether this connection has frames.
    is_used: bool,
}

/// What was read so far.
#[derive(Clone, Default)]
struct Log {
    scanner: Scanner,
    kept: Vec<u8>,
    sessions: BTreeMap<String, Session>,
    frames: u64,
    /// Frames whose sender no word told.
    concluded: u64,
    likely: u64,
    unknown: u64,
    /// Texts that speak of JSON-RPC and hold no message that can be read.
    unread: u64,
    /// Entries without a message.
    others: u64,
    untimed: u64,
    /// What states tell of …
    connected: u64,
    established: u64,
    called: u64,
    completed: u64,
    /// … and what messages there are.
    hellos: u64,
    welcomes: u64,
    calls: u64,
    returns: u64,
    is_http: bool,
}

impl Log {
    /// Takes the entry that begins there.
    fn take(&mut self, bytes: &[u8], first: usize) -> Reading<Option<Found>> {
        if bytes.get(first) != Some(&b'{') {
            return Err(Wrong::new(first, "an entry of the log was expected"));
        }
        let members = Members::of(bytes, first, &NAMES, &mut self.scanner)?;
        let t_ms = members.time(TIME);
        let name = members.text(SESSION).unwrap_or_default();
        let text = TEXTS.clone().find(|place| members.has(*place));
        let Some((text, span)) = text.and_then(|text| Some((text, members.span(text)?))) else {
            self.others += 1;
            return Ok(None);
        };
        let tells = match bytes[span.start] {
            b'"' => self.text(bytes, span.start + 1..span.end - 1, text == ERROR, &name),
            _ => {
                let value = &bytes[span.clone()];
                let is_frame = is_message(value, &mut self.scanner);
                let from = is_frame.then(|| self.sender(&name, None, value)).flatten();
                self.others += u64::from(!is_frame);
                from.map(|from| Tells::Frame(from, Place::Value(span)))
            }
        };
        let Some(tells) = tells else {
            return Ok(None);
        };
        let session = self.session(&name);
        let session_name = match session.connections {
            0 => name.into_owned(),
            before => format!("{name} #{}", before + 1),
        };
        if let Tells::Frame(..) = tells {
            session.is_used = true;
            self.frames += 1;
            self.untimed += u64::from(t_ms.is_none());
        }
        Ok(Some(Found {
            t_ms,
            session: session_name,
            tells,
        }))
    }

    fn session(&mut self, name: &str) -> &mut Session {
        let is_full = self.sessions.len() >= SESSIONS_MAX && !self.sessions.contains_key(name);
        let name = if is_full { "" } else { name };
        self.sessions.entry(name.to_owned()).or_default()
    }

    /// What a text tells: a message, or a state.
    fn text(
        &mut self,
        bytes: &[u8],
        text: Range<usize>,
        is_error: bool,
        session: &str,
    ) -> Option<Tells> {
        let inner = &bytes[text.clone()];
        // What the server wrote beside the protocol may look like a message.
        let is_stderr = inner.starts_with(b"Server stderr");
        if is_stderr || memchr::memmem::find(inner, b"jsonrpc").is_none() {
            self.others += 1;
            return self.state(inner, session);
        }
        let near = &inner[..inner.len().min(PREFIX_BYTES_MAX)];
        for brace in memchr::memchr_iter(b'{', near) {
            let before = brace.checked_sub(1).filter(|at| inner[*at] == b'[');
            let at = before.unwrap_or(brace);
            self.kept.clear();
            unescape(&inner[at..], &mut self.kept);
            let Ok(end) = self.scanner.value(&self.kept, 0) else {
                continue;
            };
            let words = String::from_utf8_lossy(&inner[..at]);
            let told = told_sender(&words);
            // An error may repeat a message that came before.
            let is_quoted = is_error && told.is_none() && !words.trim().is_empty();
            let kept = std::mem::take(&mut self.kept);
            let is_frame = !is_quoted && is_message(&kept[..end], &mut self.scanner);
            let from = is_frame.then(|| self.sender(session, told, &kept[..end]));
            self.kept = kept;
            return match from {
                Some(from) => {
                    let place = Place::Inside(text.start + at..text.end, end);
                    from.map(|from| Tells::Frame(from, place))
                }
                None => {
                    self.unread += 1;
                    None
                }
            };
        }
        self.unread += 1;
        None
    }

    /// Who sent that frame: as the words say, or as it can be.
    fn sender(&mut self, session: &str, told: Option<Role>, text: &[u8]) -> Option<Role> {
        let mut scanner = std::mem::take(&mut self.scanner);
        let message = classify(text, &mut scanner).message;
        let senders = &mut self.session(session).senders;
        let sender = match told {
            Some(role) => {
                senders.told(role, &message);
                Sender::Certain(role)
            }
            None => senders.next(text, &mut scanner),
        };
        self.scanner = scanner;
        let from = match sender {
            Sender::Certain(role) => role,
            Sender::Likely(role) => {
                self.likely += 1;
                role
            }
            Sender::Unknown => {
                self.unknown += 1;
                return None;
            }
        };
        self.concluded += u64::from(told.is_none());
        self.count(session, from, &message);
        Some(from)
    }

    /// Handshakes and calls are what states tell of as well.
    fn count(&mut self, session: &str, from: Role, message: &Message) {
        let open = &mut self.session(session).open;
        match (from, message.kind) {
            (Role::Client, MessageKind::Request) => {
                if open.len() < OPEN_MAX {
                    open.insert(message.id, message.method);
                }
                match message.method {
                    Method::Initialize | Method::ServerDiscover => self.hellos += 1,
                    Method::ToolsCall => self.calls += 1,
                    _ => {}
                }
            }
            (Role::Server, MessageKind::Result | MessageKind::Error) => {
                match open.remove(&message.id) {
                    Some(Method::Initialize | Method::ServerDiscover) => self.welcomes += 1,
                    Some(Method::ToolsCall) => self.returns += 1,
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn state(&mut self, text: &[u8], session: &str) -> Option<Tells> {
        let has = |words: &[u8]| memchr::memmem::find(text, words).is_some();
        let of_http: [&[u8]; 6] = [
            b"HTTP transport",
            b"SSE transport",
            b"transport: http",
            b"transport: sse",
            b"to http server",
            b"to sse server",
        ];
        match () {
            () if text.starts_with(b"Successfully connected") => self.connected += 1,
            () if text.starts_with(b"Connection established") => self.established += 1,
            () if text.starts_with(b"Calling MCP tool") => self.called += 1,
            () if text.starts_with(b"Tool '") && has(b"completed successfully") => {
                self.completed += 1;
            }
            () if text.starts_with(b"Starting connection") => {
                let session = self.session(session);
                if std::mem::take(&mut session.is_used) {
                    session.connections += 1;
                    session.senders = Senders::default();
                    session.open.clear();
                }
            }
            () if text.starts_with(b"Closing transport") => return Some(Tells::Closed),
            () => {}
        }
        self.is_http |= of_http.into_iter().any(has);
        None
    }

    /// So many messages at least have to have passed that are not in the log.
    fn missing(&self) -> u64 {
        // Both are told of one connection.
        let connected = self.connected.max(self.established);
        let pairs = [
            (connected, self.hellos),
            (connected, self.welcomes),
            (self.called, self.calls),
            (self.completed, self.returns),
        ];
        let missing = pairs.map(|(told, there)| told.saturating_sub(there));
        missing.into_iter().sum()
    }

    fn lost(&self) -> Lost {
        let mut lost = Lost::NOTHING;
        if self.missing() + self.unknown + self.unread > 0 {
            lost |= Lost::FRAMES;
        }
        if self.concluded > 0 {
            lost |= Lost::DIRECTION;
        }
        if self.untimed > 0 {
            lost |= Lost::TIME;
        }
        lost
    }

    fn guessed(&self) -> Vec<String> {
        let mut guessed = vec![];
        if self.concluded > 0 {
            guessed.push(format!(
                "direction of {} behind words that do not tell it: from methods, and from what is answered",
                several(self.concluded, "frame", "frames")
            ));
        }
        if self.likely > 0 {
            guessed.push(format!(
                "direction of {} either side may send: by whose ids go on with its id",
                several(self.likely, "request that", "requests that")
            ));
        }
        guessed
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = vec![];
        if self.missing() > 0 {
            remarks.push(format!(
                "it tells of calls and answers whose messages are not in it, {} at least",
                self.missing()
            ));
        }
        if self.unknown > 0 {
            remarks.push(format!(
                "{} does not tell who sent it, and was passed over",
                several(self.unknown, "frame", "frames: what each says")
            ));
        }
        if self.unread > 0 {
            remarks.push(format!(
                "{} of JSON-RPC without a whole message",
                several(self.unread, "entry speaks", "entries speak")
            ));
        }
        if self.others > 0 {
            remarks.push(match self.others {
                1 => "one entry tells a state, holds no message and was passed over".to_owned(),
                others => {
                    format!("{others} entries tell states, hold no message and were passed over")
                }
            });
        }
        remarks
    }
}

/// Whether it is a message of JSON-RPC, or an array that begins with one.
fn is_message(text: &[u8], scanner: &mut Scanner) -> bool {
    let names: [&[u8]; 4] = [b"jsonrpc", b"method", b"result", b"error"];
    let array = usize::from(text.first() == Some(&b'['));
    let at = white(text, array);
    text.get(at) == Some(&b'{')
        && Members::of(text, at, &names, scanner)
            .is_ok_and(|members| members.has(0) && (1..4).any(|name| members.has(name)))
}

/// Who sent a message behind these words. The log is the client's: what is sent is sent to the server.
fn told_sender(words: &str) -> Option<Role> {
    let lower = words.to_ascii_lowercase();
    let words: Vec<&str> = lower
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let side = |word: &str| match word {
        "client" => Some(Role::Client),
        "server" => Some(Role::Server),
        _ => None,
    };
    // `… from server`, `… to the server`, `server sent …`, in this order.
    let behind = |preposition: &str| {
        let at = words.iter().position(|word| *word == preposition)?;
        let mut rest = words[at + 1..].iter().filter(|word| **word != "the");
        side(rest.next()?)
    };
    if let Some(from) = behind("from") {
        return Some(from);
    }
    if let Some(to) = behind("to") {
        return Some(to.other());
    }
    let is_out = |word: &&str| matches!(*word, "sending" | "sent" | "send" | "sends" | "outgoing");
    let is_in = |word: &&str| {
        matches!(
            *word,
            "receiving" | "received" | "receive" | "receives" | "incoming"
        )
    };
    let verb = words.iter().position(|word| is_out(word) || is_in(word));
    if let Some(verb) = verb {
        let subject = verb.checked_sub(1).and_then(|at| side(words[at]));
        let subject = subject.unwrap_or(Role::Client);
        return Some(match is_out(&words[verb]) {
            true => subject,
            false => subject.other(),
        });
    }
    match mark(lower.trim_end_matches([':', ' ']))? {
        Mark::From(role) => Some(role),
        Mark::Out => Some(Role::Client),
        Mark::In => Some(Role::Server),
        Mark::Of(_) => None,
    }
}

#[derive(Clone)]
struct Form {
    log: Log,
    is_http: bool,
}

impl super::Form for Form {
    fn line(&mut self, line: &Line<'_>, out: &mut Entries) -> Reading<()> {
        let mark = line.number == 1 && line.bytes.starts_with(b"\xEF\xBB\xBF");
        let first = white(line.bytes, if mark { 3 } else { 0 });
        let Some(found) = self.log.take(line.bytes, first)? else {
            return Ok(());
        };
        let entry = match found.tells {
            Tells::Closed => Entry::event(Some(Role::Client), found.t_ms, EventKind::Eof),
            Tells::Frame(from, Place::Value(span)) => {
                Entry::frame(from, found.t_ms, Text::Here(span))
            }
            Tells::Frame(from, Place::Inside(inside, length)) => {
                let text = 0..length;
                Entry::frame(from, found.t_ms, Text::Json { text, inside })
            }
        };
        out.push_back(entry.in_session(Some(found.session)));
        Ok(())
    }

    fn end(&mut self, _: &mut Entries) -> Reading<()> {
        match self.log.frames + self.log.unknown {
            0 => Err(Wrong::new(0, NO_MESSAGES)),
            _ => Ok(()),
        }
    }

    fn kept(&self) -> &[u8] {
        &self.log.kept
    }

    fn opening(&self) -> Opening {
        opening(self.is_http)
    }

    fn lost(&self) -> Lost {
        self.log.lost() | lost_of_http(self.is_http)
    }

    fn guessed(&self) -> Vec<String> {
        self.log.guessed()
    }

    fn remarks(&self) -> Vec<String> {
        self.log.remarks()
    }
}

fn opening(is_http: bool) -> Opening {
    Opening {
        transport: is_http.then_some(LinkKind::Http),
        ..Opening::default()
    }
}

fn lost_of_http(is_http: bool) -> Lost {
    match is_http {
        true => Lost::HTTP,
        false => Lost::NOTHING,
    }
}

fn plan(document: &Document, plan: &mut Plan) -> Reading<()> {
    let mut log = Log::default();
    let bytes = &document.bytes;
    for entry in document.items(document.root()) {
        let Some(found) = log.take(bytes, entry.start)? else {
            continue;
        };
        let mut item = match found.tells {
            Tells::Closed => Item::event(Role::Client, found.t_ms, EventKind::Eof, entry.start),
            Tells::Frame(from, Place::Value(span)) => {
                Item::frame(from, found.t_ms, Words::Value(span))
            }
            Tells::Frame(from, Place::Inside(inside, length)) => {
                let words = if length == log.kept.len() {
                    Words::Inside(inside)
                } else {
                    let start = plan.kept.len();
                    plan.kept.extend_from_slice(&log.kept[..length]);
                    let (text, at) = (start..plan.kept.len(), inside.start);
                    Words::Kept { text, at }
                };
                Item::frame(from, found.t_ms, words)
            }
        };
        let known = plan
            .sessions
            .iter()
            .rposition(|name| *name == found.session);
        let nth = known.unwrap_or_else(|| {
            plan.sessions.push(found.session);
            plan.sessions.len() - 1
        });
        item.session = u32::try_from(nth).ok();
        plan.items.push(item);
    }
    if log.frames + log.unknown == 0 {
        return Err(Wrong::new(document.root(), NO_MESSAGES));
    }
    plan.opening = opening(log.is_http);
    plan.lost = log.lost() | lost_of_http(log.is_http);
    plan.guessed = log.guessed();
    plan.remarks = log.remarks();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_tell_who_sent_a_message() {
        use Role::{Client, Server};
        for (words, expected) in [
            ("Sending message: ", Some(Client)),
            ("Sent request ", Some(Client)),
            ("Received message: ", Some(Server)),
            ("Received from server: ", Some(Server)),
            ("Message from client: ", Some(Client)),
            ("Response to server: ", Some(Client)),
            ("Sending to the server ", Some(Client)),
            ("Server sent: ", Some(Server)),
            ("Client received ", Some(Server)),
            ("[client -> server] ", Some(Client)),
            ("server: ", Some(Server)),
            ("Client: ", Some(Client)),
            ("--> ", Some(Client)),
            ("<< ", Some(Server)),
            ("", None),
            ("JSON-RPC message: ", None),
            ("Error handling server message: ", None),
        ] {
            assert_eq!(told_sender(words), expected, "{words:?}");
        }
    }
}
