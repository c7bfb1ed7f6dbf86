//! Logs that people write for themselves: a time perhaps, something that tells a direction, and the frame:
//! `TIME --> {…}`, `[CLIENT -> SERVER] {…}`, `[OUT] {…}`, `Server: {…}`. Which way a bare arrow goes is concluded.

use super::entry::{Entries, Entry, Text};
use super::sender::only_sender;
use super::time::{DayClock, clock, stamp};
use super::{Head, Kind, Lost, Reading};
use crate::classify::classify;
use crate::event::Role;
use crate::lines::Line;
use crate::scan::Scanner;

pub(super) const FORMAT: super::Format = super::Format {
    name: "arrow",
    what: "a log with an arrow or a name before each frame",
    found: "home-made loggers, such as wraps of an SDK's transport, that write -->, <<, [CLIENT -> SERVER], [OUT], Server: and the like",
    lost: Lost::LINES,
    hint: "where it is read wrongly, say with --pattern how its lines look",
    is_read: true,
    recognises: |head| {
        head.any(|line| {
            let is_frame = |at: usize| memchr::memmem::find(&line[at..], b"\"jsonrpc\"").is_some();
            marked(line).is_some_and(|marked| is_frame(marked.at))
        })
    },
    kind: Kind::Arrow,
};

/// What stands before a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mark {
    /// It names who sent the frame.
    From(Role),
    /// Away from whoever wrote the log.
    Out,
    /// Towards whoever wrote the log.
    In,
}

/// Marks that say nothing of sides; longer ones before those that they end with.
const ARROWS: [(&str, Mark); 22] = [
    ("-->", Mark::Out),
    ("<--", Mark::In),
    ("==>", Mark::Out),
    ("<==", Mark::In),
    (">>>", Mark::Out),
    ("<<<", Mark::In),
    ("->", Mark::Out),
    ("<-", Mark::In),
    ("=>", Mark::Out),
    ("<=", Mark::In),
    (">>", Mark::Out),
    ("<<", Mark::In),
    ("→", Mark::Out),
    ("←", Mark::In),
    ("out", Mark::Out),
    ("in", Mark::In),
    ("outgoing", Mark::Out),
    ("incoming", Mark::In),
    ("sent", Mark::Out),
    ("received", Mark::In),
    ("send", Mark::Out),
    ("recv", Mark::In),
];

/// What the text says of the direction: a word, an arrow, or two names with an arrow between them.
pub(super) fn mark(text: &str) -> Option<Mark> {
    let text = text
        .trim()
        .trim_matches(['[', ']', '(', ')', ':', '|', ' ']);
    let text = text.to_ascii_lowercase();
    if let Some(mark) = sides(&text) {
        return Some(mark);
    }
    let same = |(word, _): &&(&str, Mark)| text == *word;
    ARROWS.iter().find(same).map(|(_, mark)| *mark)
}

/// One name, or two with an arrow or a word between them.
fn sides(text: &str) -> Option<Mark> {
    if let Some(role) = side(text) {
        return Some(Mark::From(role));
    }
    let (left, behind) = match () {
        () if text.starts_with("from ") => return side(&text[5..]).map(Mark::From),
        () if text.starts_with("to ") => return side(&text[3..]).map(|to| Mark::From(to.other())),
        () => {
            let end = text.find(|letter: char| !letter.is_ascii_alphabetic())?;
            (side(&text[..end])?, &text[end..])
        }
    };
    let between = behind.trim_start();
    let arrows = ["-->", "->", "==>", "=>", ">>", ">", "→", "to ", "2"];
    let back = ["<--", "<-", "<==", "<=", "<<", "<", "←", "from "];
    let right = |list: &[&str]| {
        let mut rest = list.iter().filter_map(|arrow| between.strip_prefix(arrow));
        rest.find_map(|rest| side(rest.trim()))
    };
    if right(&arrows).is_some_and(|to| to != left) {
        return Some(Mark::From(left));
    }
    let from = right(&back).filter(|from| *from != left)?;
    Some(Mark::From(from))
}

fn side(name: &str) -> Option<Role> {
    match name {
        "client" | "c2s" | "host" | "stdin" | "c" => Some(Role::Client),
        "server" | "s2c" | "stdout" | "s" => Some(Role::Server),
        _ => None,
    }
}

/// A line with a mark and a frame.
struct Marked {
    mark: Mark,
    /// When, where it says.
    time: Time,
    /// Where the frame begins.
    at: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Time {
    None,
    Point(u64),
    OfDay(i64),
}

/// The point in time or the time of day that the text begins with, and how long it is.
pub(super) fn time_of(text: &[u8]) -> (Time, usize) {
    match (stamp(text), clock(text, 0)) {
        (Some(stamp), _) => (Time::Point(stamp.ms), stamp.length),
        (_, Some((ms, length))) => (Time::OfDay(ms), length),
        _ => (Time::None, 0),
    }
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
    let (time, length) = time_of(&prefix[open..]);
    let rest = match time {
        Time::None => prefix,
        _ => &prefix[open + length..],
    };
    let rest = std::str::from_utf8(rest)
        .ok()?
        .trim_start_matches(']')
        .trim();
    let mark = last_mark(rest)?;
    Some(Marked { mark, time, at })
}

/// The mark that the text ends with: behind a level, say, or the name of a logger.
fn last_mark(text: &str) -> Option<Mark> {
    if let Some(mark) = mark(text) {
        return Some(mark);
    }
    let body = text.trim_end_matches([':', ' ', '|']);
    if body.ends_with(']') {
        let open = body.rfind('[')?;
        return mark(&body[open..]);
    }
    // The last word alone, or the last three of `client -> server`.
    let words: Vec<&str> = body.split_whitespace().collect();
    let last = |count: usize| words.get(words.len().checked_sub(count)?..);
    let three = last(3).and_then(|words| sides(&words.join(" ").to_ascii_lowercase()));
    three.or_else(|| last(1).and_then(|words| mark(words.first()?)))
}

/// Which side the marks are told from, and whether that was concluded from a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Standpoint {
    out: Role,
    is_concluded: bool,
}

impl Standpoint {
    /// The first frame that only one side can have sent tells; each is given with its mark.
    pub(super) fn of<'a>(frames: impl Iterator<Item = (Mark, &'a [u8])>) -> Standpoint {
        let mut scanner = Scanner::new();
        for (mark, text) in frames {
            let method = classify(text, &mut scanner).message.method;
            let Some(role) = only_sender(method) else {
                continue;
            };
            let out = match mark {
                Mark::From(_) => continue,
                Mark::Out => role,
                Mark::In => role.other(),
            };
            let is_concluded = true;
            return Standpoint { out, is_concluded };
        }
        Standpoint {
            out: Role::Client,
            is_concluded: false,
        }
    }

    pub(super) fn role(self, mark: Mark) -> Role {
        match mark {
            Mark::From(role) => role,
            Mark::Out => self.out,
            Mark::In => self.out.other(),
        }
    }

    /// What to say of it, where marks needed it.
    pub(super) fn guessed(self) -> String {
        let out = self.out.as_str();
        match self.is_concluded {
            true => format!(
                "direction: what goes out is the {out}'s, by the first frame that only one side can send"
            ),
            false => format!("direction: what goes out is taken for the {out}'s"),
        }
    }
}

pub(super) struct Form {
    standpoint: Standpoint,
    clock: DayClock,
    is_guessed: bool,
    untimed: bool,
    /// Lines without a frame.
    others: u64,
}

impl Form {
    /// Reads a log that begins so.
    pub(super) fn new(beginning: &[u8]) -> Form {
        let head = Head::of(beginning);
        let lines = head.lines.iter();
        let frames = lines.filter_map(|line| {
            let marked = marked(line)?;
            Some((marked.mark, line[marked.at..].trim_ascii_end()))
        });
        Form {
            standpoint: Standpoint::of(frames),
            clock: DayClock::default(),
            is_guessed: false,
            untimed: false,
            others: 0,
        }
    }
}

impl super::Form for Form {
    fn line(&mut self, line: &Line<'_>, out: &mut Entries) -> Reading<()> {
        let Some(marked) = marked(line.bytes) else {
            self.others += 1;
            return Ok(());
        };
        let t_ms = match marked.time {
            Time::None => None,
            Time::Point(ms) => Some(ms),
            Time::OfDay(ms) => Some(self.clock.at(ms)),
        };
        self.untimed |= t_ms.is_none();
        self.is_guessed |= !matches!(marked.mark, Mark::From(_));
        let end = marked.at + line.bytes[marked.at..].trim_ascii_end().len();
        let role = self.standpoint.role(marked.mark);
        out.push_back(Entry::frame(role, t_ms, Text::Here(marked.at..end)));
        Ok(())
    }

    fn lost(&self) -> Lost {
        match self.untimed {
            true => Lost::TIME,
            false => Lost::NOTHING,
        }
    }

    fn guessed(&self) -> Vec<String> {
        match self.is_guessed {
            true => vec![self.standpoint.guessed()],
            false => vec![],
        }
    }

    fn remarks(&self) -> Vec<String> {
        match self.others {
            0 => vec![],
            others => vec![super::passed_over(others)],
        }
    }
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
