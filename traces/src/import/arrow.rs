//! Logs that people write for themselves: a time perhaps, something that tells a direction, and the frame:
//! `TIME --> {…}`, `[CLIENT -> SERVER] {…}`, `[OUT] {…}`, `Server: {…}`. Which way a bare arrow goes is concluded.

use std::collections::{BTreeMap, BTreeSet};

use super::copies;
use super::entry::{Entries, Entry, Text};
use super::mark::{Mark, last_mark};
use super::sender::only_sender;
use super::time::{Clocks, Time};
use super::{Head, Kind, Lost, Reading};
use crate::classify::classify;
use crate::event::Role;
use crate::file::json::Wrong;
use crate::key::Key;
use crate::lines::{InputError, Line};
use crate::message::Kind as MessageKind;
use crate::scan::Scanner;

pub(super) const FORMAT: super::Format = super::Format {
    name: "arrow",
    what: "a log with an arrow or a name before each frame",
    found: "home-made loggers, such as wraps of an SDK's transport, that write -->, <<, [CLIENT -> SERVER], [OUT], Server: and the like",
    lost: Lost::LINES,
    hint: "where it is read wrongly, say with --pattern how its lines look",
    is_read: true,
    recognises: |head| head.any(has_frame),
    kind: Kind::Arrow,
};

fn has_frame(line: &[u8]) -> bool {
    marked(line).is_some_and(|marked| has_version(&line[marked.at..]))
}

/// Whether a log that begins so has shown a frame.
pub(super) fn has_frames(beginning: &[u8]) -> bool {
    Head::of(beginning).any(has_frame)
}

/// A line with a mark and a frame.
struct Marked {
    mark: Mark,
    /// What else stands before the frame: the server's name, or a level, a thread.
    label: String,
    /// When, where it says.
    time: Time,
    /// Where the frame begins.
    at: usize,
}

/// A mark stands so near to the beginning of its line.
const PREFIX_BYTES_MAX: usize = 160;

fn marked(line: &[u8]) -> Option<Marked> {
    let brace = memchr::memchr(b'{', &line[..line.len().min(PREFIX_BYTES_MAX)])?;
    let at = match brace.checked_sub(1).map(|before| line[before]) {
        Some(b'[') => brace - 1,
        _ => brace,
    };
    let prefix = &line[..at];
    if prefix.contains(&b'"') {
        return None;
    }
    let open = usize::from(prefix.first() == Some(&b'['));
    let (time, length) = Time::of(&prefix[open..]);
    let rest = match time {
        Time::None => prefix,
        _ => &prefix[open + length..],
    };
    let rest = std::str::from_utf8(rest)
        .ok()?
        .trim_start_matches(']')
        .trim();
    let (mark, label) = last_mark(rest)?;
    Some(Marked {
        mark,
        label,
        time,
        at,
    })
}

/// Which side the marks are told from, and whether that was concluded from a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Standpoint {
    out: Role,
    is_concluded: bool,
    /// Somebody of that name is that side.
    named: Option<(Key, Role)>,
}

impl Standpoint {
    /// The first frame that only one side can have sent tells; each is given with its mark.
    pub(super) fn of<'a>(frames: impl Iterator<Item = (Mark, &'a [u8])>) -> Standpoint {
        let mut scanner = Scanner::new();
        let mut first = None;
        for (mark, text) in frames {
            let message = classify(text, &mut scanner).message;
            if let (Mark::Of(name), None) = (mark, first) {
                // Who asks first is the client, as a rule.
                let asks = message.kind == MessageKind::Request;
                let role = if asks { Role::Client } else { Role::Server };
                first = Some((name, role));
            }
            let Some(role) = only_sender(message.method) else {
                continue;
            };
            let (out, named) = match mark {
                Mark::From(_) => continue,
                Mark::Out => (role, first),
                Mark::In => (role.other(), first),
                Mark::Of(name) => (Role::Client, Some((name, role))),
            };
            return Standpoint {
                out,
                is_concluded: true,
                named,
            };
        }
        Standpoint {
            out: Role::Client,
            is_concluded: false,
            named: first,
        }
    }

    pub(super) fn role(self, mark: Mark) -> Role {
        match mark {
            Mark::From(role) => role,
            Mark::Out => self.out,
            Mark::In => self.out.other(),
            Mark::Of(name) => match self.named {
                Some((known, role)) if known == name => role,
                Some((_, role)) => role.other(),
                None => Role::Client,
            },
        }
    }

    /// What to say of it, where marks needed it.
    pub(super) fn guessed(self) -> String {
        if self.named.is_some() {
            return "direction: who asks what only a client asks is the client, by the names before the frames".to_owned();
        }
        let out = self.out.as_str();
        match self.is_concluded {
            true => format!(
                "direction: what goes out is the {out}'s, by the first frame that only one side can send"
            ),
            false => format!("direction: what goes out is taken for the {out}'s"),
        }
    }
}

/// What the beginning of a log tells of all of it.
struct Beginning {
    standpoint: Standpoint,
    /// Labels that have a handshake of their own each, with its answer: they name servers.
    servers: BTreeSet<String>,
    /// What else stands before frames.
    labels: BTreeSet<String>,
}

impl Beginning {
    /// # Errors
    /// The marks cannot mean what they say: what is wrong with them, and in which line.
    fn of(head: &Head<'_>) -> Result<Beginning, (u64, String)> {
        let lines = head.lines.iter().zip(1..);
        let mut scanner = Scanner::new();
        let frames: Vec<_> = lines
            .clone()
            .filter_map(|(line, number)| {
                let marked = marked(line).filter(|marked| is_frame(&line[marked.at..]))?;
                let text = line[marked.at..].trim_ascii_end();
                let end = scanner.value(text, 0).unwrap_or(text.len());
                Some((number, &text[..end], marked))
            })
            .collect();
        let marks = frames.iter().map(|(_, text, marked)| (marked.mark, *text));
        let standpoint = Standpoint::of(marks);
        let mut sides = [0u32; 2];
        // Whose handshake it is, and the labels that have both halves of one.
        let mut asked: BTreeMap<&str, Key> = BTreeMap::new();
        let mut servers = BTreeSet::new();
        let mut wrong = None;
        let mut answers_itself = false;
        for (number, text, marked) in &frames {
            let role = standpoint.role(marked.mark);
            let message = classify(text, &mut scanner).message;
            sides[role as usize] += 1;
            let is_handshake = message.is_handshake();
            match role {
                Role::Client if is_handshake => {
                    asked.entry(&marked.label).or_insert(message.id);
                }
                Role::Server if is_handshake => wrong = wrong.or(Some(*number)),
                Role::Server if asked.get(marked.label.as_str()) == Some(&message.id) => {
                    servers.insert(marked.label.clone());
                }
                _ => {}
            }
            // Ids tell nothing: both sides may use the same.
            answers_itself |= message.kind == MessageKind::Result
                && asked.get(marked.label.as_str()) == Some(&message.id)
                && role == Role::Client
                && memchr::memmem::find(text, b"\"protocolVersion\"").is_some();
        }
        if let (Some(number), true) = (wrong, asked.is_empty()) {
            let message = "what stands before this frame says that the server sent it, and only a client sends initialize";
            return Err((number, message.to_owned()));
        }
        let mut both = [Role::Client, Role::Server].into_iter();
        let silent = both.find(|role| sides[*role as usize] == 0);
        if let (Some(silent), Some((number, ..))) = (silent, frames.first()) {
            let mut unmarked =
                lines.filter(|(line, _)| marked(line).is_none() && has_plain_frame(line));
            if let Some((_, number)) = unmarked.next() {
                let message =
                    "nothing that is known stands before this frame and tells who sent it";
                return Err((number, message.to_owned()));
            }
            if answers_itself {
                let message = format!(
                    "what stands before the frames says that all of them are the {}'s, initialize and its answer",
                    silent.other().as_str()
                );
                return Err((*number, message));
            }
        }
        let texts = frames.iter().map(|(_, text, _)| *text);
        let told = texts
            .clone()
            .zip(frames.iter().map(|(.., marked)| marked.mark));
        let passes = copies::in_a_row(texts) > 1 && copies::in_a_row(told.clone()) == 1;
        if let (true, Some((number, ..))) = (passes, frames.first()) {
            let message = "each frame stands here as it came and as it went on, and what stands before it does not tell who sent it";
            return Err((*number, message.to_owned()));
        }
        // Handlers of one logger name the same things, each in its own way.
        let are_handlers = || are_alike(&servers) && copies::in_a_row(told) > 1;
        if servers.len() < 2 || are_handlers() {
            servers.clear();
        }
        let versioned = frames.iter().filter(|(_, text, _)| has_version(text));
        let labels = versioned.map(|(.., marked)| marked.label.clone()).collect();
        Ok(Beginning {
            standpoint,
            servers,
            labels,
        })
    }
}

#[derive(Clone)]
pub(super) struct Form {
    standpoint: Standpoint,
    servers: BTreeSet<String>,
    labels: BTreeSet<String>,
    clocks: Clocks,
    scanner: Scanner,
    is_guessed: bool,
    untimed: bool,
    frames: u64,
    /// Frames without anything before them that tells a direction.
    unmarked: u64,
    /// Frames with something of the logger's behind them.
    tailed: u64,
    /// Lines without a frame.
    others: u64,
}

/// Whether each label has the words of the one before it, or that one its.
fn are_alike(labels: &BTreeSet<String>) -> bool {
    let words = |label: &String| -> BTreeSet<String> {
        let words = label.split(|letter: char| !letter.is_alphanumeric());
        words
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let all: Vec<BTreeSet<String>> = labels.iter().map(words).collect();
    all.windows(2)
        .all(|two| two[0].is_subset(&two[1]) || two[1].is_subset(&two[0]))
}

/// What to do where marks are not understood.
const SAY_IT: &str = "say with --pattern how the lines look, as in --pattern '^(?:(?<c2s>sent)|(?<s2c>got)): (?<frame>\\{.*)'";

impl Form {
    /// Reads a log that begins so.
    ///
    /// # Errors
    /// Its marks cannot mean what they say.
    pub(super) fn new(beginning: &[u8]) -> Result<Form, InputError> {
        let head = Head::of(beginning);
        let Beginning {
            standpoint,
            servers,
            labels,
        } = Beginning::of(&head)
            .map_err(|(line, message)| Wrong::new(0, format!("{message}; {SAY_IT}")).on(line))?;
        Ok(Form {
            standpoint,
            servers,
            labels,
            clocks: Clocks::default(),
            scanner: Scanner::new(),
            is_guessed: false,
            untimed: false,
            frames: 0,
            unmarked: 0,
            tailed: 0,
            others: 0,
        })
    }
}

impl super::Form for Form {
    fn line(&mut self, line: &Line<'_>, out: &mut Entries) -> Reading<()> {
        // What has no version may be a broken frame where frames stand, and is prose elsewhere.
        let is_one = |marked: &Marked| {
            let text = &line.bytes[marked.at..];
            let is_known = self.labels.is_empty() || self.labels.contains(&marked.label);
            is_frame(text) && (is_known || has_version(text))
        };
        let marked = marked(line.bytes);
        let is_marked = marked.is_some();
        let Some(marked) = marked.filter(is_one) else {
            self.unmarked += u64::from(!is_marked && has_plain_frame(line.bytes));
            self.others += 1;
            return Ok(());
        };
        let t_ms = self.clocks.at(marked.time);
        self.frames += 1;
        self.untimed |= t_ms.is_none();
        self.is_guessed |= !matches!(marked.mark, Mark::From(_));
        let text = &line.bytes[marked.at..];
        let length = own_end(text, &mut self.scanner);
        self.tailed += u64::from(length < text.trim_ascii_end().len());
        let end = marked.at + length;
        let role = self.standpoint.role(marked.mark);
        let entry = Entry::frame(role, t_ms, Text::Here(marked.at..end));
        let server = self.servers.contains(&marked.label);
        out.push_back(entry.in_session(server.then_some(marked.label)));
        Ok(())
    }

    fn lost(&self) -> Lost {
        let mut lost = Lost::NOTHING;
        if self.untimed {
            lost |= Lost::TIME;
        }
        // A few are quoted by messages about them.
        if self.unmarked > self.frames / 4 {
            lost |= Lost::FRAMES;
        }
        lost
    }

    fn guessed(&self) -> Vec<String> {
        let mut guessed = vec![];
        if self.is_guessed {
            guessed.push(self.standpoint.guessed());
        }
        if !self.servers.is_empty() {
            guessed.push(
                "servers: by what stands before the arrow, where each has a handshake of its own"
                    .to_owned(),
            );
        }
        guessed
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = vec![];
        remarks.extend(left_out(self.tailed));
        if self.unmarked > 0 {
            remarks.push(format!(
                "{} nothing known before it that tells who sent it, and was passed over",
                super::several(self.unmarked, "frame has", "frames have each")
            ));
        }
        if self.others > 0 {
            remarks.push(super::passed_over(self.others));
        }
        remarks
    }
}

/// How long the frame is that the text begins with: what a logger writes behind it is none of it. Two frames on one line stay
/// what they are.
pub(super) fn own_end(text: &[u8], scanner: &mut Scanner) -> usize {
    let whole = text.trim_ascii_end();
    if matches!(whole.last(), Some(b'}' | b']')) && memchr::memmem::find(whole, b"} ").is_none() {
        return whole.len();
    }
    let Ok(end) = scanner.value(whole, 0) else {
        return whole.len();
    };
    let tail = whole[end..].trim_ascii_start();
    let is_another = matches!(tail.first(), Some(b'{' | b'[')) && is_frame(tail);
    match tail.is_empty() || is_another {
        true => whole.len(),
        false => end,
    }
}

/// What to say of frames with something of the logger's behind them.
pub(super) fn left_out(tailed: u64) -> Option<String> {
    let frames = super::several(tailed, "frame", "frames");
    (tailed > 0).then(|| format!("what the logger wrote behind {frames} was left out"))
}

/// Whether an object or an array may be a frame: it has a member that only frames have.
fn is_frame(text: &[u8]) -> bool {
    let names: [&[u8]; 4] = [b"\"jsonrpc\"", b"\"method\"", b"\"result\"", b"\"error\""];
    let mut names = names.iter();
    names.any(|name| memchr::memmem::find(text, name).is_some())
}

fn has_version(text: &[u8]) -> bool {
    memchr::memmem::find(text, b"\"jsonrpc\"").is_some()
}

/// Whether a frame stands near the beginning of the line, by how it begins.
fn has_plain_frame(line: &[u8]) -> bool {
    let near = &line[..line.len().min(PREFIX_BYTES_MAX)];
    let Some(brace) = memchr::memchr(b'{', near) else {
        return false;
    };
    line[brace + 1..]
        .trim_ascii_start()
        .starts_with(b"\"jsonrpc\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(prefix: &str, expected: Option<Mark>) {
        let line = format!("{prefix}{{\"jsonrpc\":\"2.0\"}}");
        let found = marked(line.as_bytes());
        assert_eq!(found.as_ref().map(|found| found.mark), expected, "{prefix}");
        if let Some(found) = found {
            assert_eq!(found.at, prefix.len(), "{prefix}");
        }
    }

    #[test]
    fn marks_are_known_in_many_spellings() {
        let (client, server) = (
            Some(Mark::From(Role::Client)),
            Some(Mark::From(Role::Server)),
        );
        for prefix in [
            "[CLIENT -> SERVER] ",
            "[CLIENT → SERVER]: ",
            "client->server: ",
            "2026-03-04T09:15:00.000Z [client -> server] ",
            "Client: ",
            "[Client] ",
            "C2S ",
            "C->S ",
            "server <- client ",
            "INFO from client: ",
            "client to server: ",
        ] {
            check(prefix, client);
        }
        for prefix in [
            "[SERVER -> CLIENT] ",
            "09:15:00 Server: ",
            "to client: ",
            "s2c: ",
            "client <-- server ",
        ] {
            check(prefix, server);
        }
        for prefix in [
            "--> ",
            ">> ",
            "→ ",
            "[OUT] ",
            "[09:15:00.123] -> ",
            "DEBUG Sent: ",
            "DEBUG:mcp.client:--> ",
            "DEBUG:mcp:Sent: ",
            "mcp.log ==> ",
            "> > -> ",
        ] {
            check(prefix, Some(Mark::Out));
        }
        for prefix in [
            "<-- ",
            "<< ",
            "←",
            "[IN] ",
            "IN: ",
            "12:00:01,5 [debug] <<< ",
            "Received: ",
        ] {
            check(prefix, Some(Mark::In));
        }
        for prefix in [
            "",
            "  ",
            "\"x\": \"--> ",
            "2026-03-04 09:15:00 ",
            "result: ",
            "[info] ",
        ] {
            check(prefix, None);
        }
    }

    #[test]
    fn an_arrow_goes_where_initialize_goes() {
        let (initialize, other): (&[u8], &[u8]) = (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
        );
        let of = |frames: &[(Mark, &'static [u8])]| Standpoint::of(frames.iter().copied());
        assert_eq!(of(&[(Mark::Out, initialize)]).role(Mark::Out), Role::Client);
        let server = of(&[(Mark::Out, other), (Mark::In, initialize)]);
        assert_eq!(server.role(Mark::Out), Role::Server);
        assert_eq!(server.role(Mark::From(Role::Client)), Role::Client);
        assert!(!of(&[(Mark::In, other)]).is_concluded);
    }
}
