//! Lines on a pipe: one message each, and nothing else. Several bad lines of one cause are one finding.

use mcpsim_traces::classify::classify;
use mcpsim_traces::encode::Encoder;
use mcpsim_traces::event::{FrameNo, LinkKind, Role};
use mcpsim_traces::judge::Severity;
use mcpsim_traces::message::{Condition, Kind, Message, Method};
use mcpsim_traces::scan::{FaultKind, Scanner, white};

use crate::ledger::{Cx, Member};
use crate::part::{Part, flag, open};
use crate::rules::envelope::{
    MESSAGE_KIND_UNCLEAR, MESSAGE_NOT_OBJECT, METHOD_NOT_STRING, UNPARSABLE_MESSAGE,
};
use crate::rules::ids::shown_ids;
use crate::rules::stateless::transport_stdio::STDIO_LINE_FRAMING;
use crate::rules::{Basis, Category, Level, MUST, NOTE, Needs, Rule, Side, When};

pub(crate) const STDIO_EMBEDDED_NEWLINE: Rule = Rule {
    id: "stdio-embedded-newline",
    category: Category::TransportStdio,
    basis: Basis::Text,
    source: "2025-11-25 basic/transports (stdio)",
    says: "A message is one line.",
    why: "Pretty-printed JSON is read as several broken lines; the message is lost.",
    needs: Needs::Transport,
    when: When::LINE,
    twin: "stdio-line-framing",
    ..MUST
};

pub(crate) const STDIO_STDOUT_NOISE: Rule = Rule {
    id: "stdio-stdout-noise",
    category: Category::TransportStdio,
    basis: Basis::Text,
    side: Side::Server,
    source: "2025-11-25 basic/transports (stdio)",
    says: "The server writes nothing but messages to stdout.",
    why: "A banner, a print or a stack trace there is read as a broken message; strict clients end the session. Logs belong on stderr.",
    needs: Needs::Transport,
    when: When::LINE,
    twin: "stdio-stdout-clean",
    ..MUST
};

pub(crate) const STDIO_STDIN_NOISE: Rule = Rule {
    id: "stdio-stdin-noise",
    category: Category::TransportStdio,
    basis: Basis::Text,
    side: Side::Client,
    source: "2025-11-25 basic/transports (stdio)",
    says: "The client writes nothing but messages to the server's stdin.",
    why: "The server reads every line as a message; a Content-Length header belongs to another protocol.",
    needs: Needs::Transport,
    when: When::LINE,
    twin: "stdio-stdin-clean",
    ..MUST
};

pub(crate) const STDIO_CRLF: Rule = Rule {
    id: "stdio-crlf",
    category: Category::TransportStdio,
    level: Level::MayNote,
    basis: Basis::Derived,
    source: "2025-11-25 basic/transports (stdio)",
    says: "A line ends with LF alone.",
    why: "CR is white space before it, but some readers take it for part of the line.",
    needs: Needs::Transport,
    when: When::LINE,
    ..NOTE
};

pub(crate) const STDIO_TRUNCATED_AT_EXIT: Rule = Rule {
    id: "stdio-truncated-at-exit",
    category: Category::TransportStdio,
    basis: Basis::Derived,
    severity: Severity::Warning,
    source: "2025-11-25 basic/transports (stdio)",
    says: "A line feed ends every message, the last one included.",
    why: "Readers wait for the end of the line, and drop what stands there when the pipe closes.",
    tier: 2,
    needs: Needs::Transport,
    when: When::LINE,
    ..MUST
};

pub(crate) const STDIO_SERVER_EXITS_ON_EOF: Rule = Rule {
    id: "stdio-server-exits-on-eof",
    category: Category::TransportStdio,
    basis: Basis::Derived,
    side: Side::Server,
    source: "2025-11-25 basic/lifecycle (stdio)",
    says: "The server ends soon after its stdin is closed.",
    why: "It has to be killed, or is left behind: one more process for each session.",
    needs: Needs::Time,
    when: When::INPUT_END,
    twin: "stdio-exit-on-eof",
    ..NOTE
};

/// What is no JSON belongs to rules of its own outside sessions: which one depends on where it stands. As
/// rows these are all `unparsable-message`.
const fn unparsable_with(twin: &'static str) -> Rule {
    Rule {
        twin,
        ..UNPARSABLE_MESSAGE
    }
}

const UNPARSABLE_LINES: Rule = unparsable_with("stdio-line-framing");
const UNPARSABLE_ON_STDOUT: Rule = unparsable_with("stdio-stdout-clean");
const UNPARSABLE_ON_STDIN: Rule = unparsable_with("stdio-stdin-clean");
const UNPARSABLE_POST: Rule = unparsable_with("http-post-only");
const UNPARSABLE_ANSWER: Rule = unparsable_with("http-response-type");

/// The rows of this category.
pub(crate) const ROWS: &[Rule] = &[
    STDIO_EMBEDDED_NEWLINE,
    STDIO_STDOUT_NOISE,
    STDIO_STDIN_NOISE,
    STDIO_CRLF,
    STDIO_TRUNCATED_AT_EXIT,
    STDIO_SERVER_EXITS_ON_EOF,
];

/// A message split over lines is put together up to this size.
const JOINED_MAX: usize = 1 << 20;

/// So many bytes are looked at, in all, to tell the pieces of a message from other lines.
const SCANNED_MAX: usize = 16 << 20;

/// Lines of one party that are no messages, one after the other: one cause, one finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Run {
    /// The lines joined, while they may still be one message.
    text: Vec<u8>,
    /// How long the first one of them is.
    first: usize,
    /// How much was looked at to tell whether they may.
    scanned: usize,
    began: Began,
    /// The first line's frame, and where it begins there.
    frame: FrameNo,
    base: u32,
    /// The finding is made, or was announced.
    is_reported: bool,
    /// The lines may be pieces of one message.
    may_join: bool,
}

/// What the first line of a run was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Began {
    /// No message, nor meant to be one.
    Noise,
    /// A message that cannot be parsed, to its end.
    Message,
    /// A part of a message: what follows may be the rest.
    Piece,
}

impl Run {
    /// One that began with that frame, of which nothing is left to report.
    fn reported(frame: FrameNo, began: Began) -> Run {
        Run {
            text: vec![],
            first: 0,
            scanned: 0,
            began,
            frame,
            base: 0,
            is_reported: true,
            may_join: false,
        }
    }

    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.word(
            (self.first as u64) << 4
                | (self.began as u64) << 2
                | u64::from(self.is_reported) << 1
                | u64::from(self.may_join),
        );
        encoder.word(self.scanned as u64);
        encoder.bytes(&self.text);
    }

    /// Whether the lines may be the beginning of one message. A line feed inside it counts as a space: it may
    /// stand within a string.
    fn may_go_on(&mut self) -> bool {
        self.scanned = self.scanned.saturating_add(self.text.len());
        let scanned = Scanner::new().value(&self.text, white(&self.text, 0));
        match scanned {
            Ok(end) => white(&self.text, end) == self.text.len(),
            Err(fault) => fault.kind == FaultKind::End,
        }
    }
}

/// The rule against anything but messages from that side.
pub(crate) fn noise_rule(role: Role) -> &'static Rule {
    match role {
        Role::Server => &STDIO_STDOUT_NOISE,
        Role::Client => &STDIO_STDIN_NOISE,
    }
}

/// Whether the words stand somewhere in the text.
pub(crate) fn holds(text: Option<&[u8]>, words: &[u8]) -> bool {
    text.is_some_and(|text| memchr::memmem::find(text, words).is_some())
}

impl Part {
    /// A frame that is no message.
    #[cold]
    pub(crate) fn malformed_by(&mut self, cx: &mut Cx<'_>, message: &Message) {
        let frame = [cx.frame];
        let has = |condition| message.has(condition);
        let may_begin = || match has(Condition::Noise) {
            true => holds(cx.text, b"\"initialize\""),
            false => !has(Condition::Blank),
        };
        if self.role == Role::Client && may_begin() {
            // It may have been what the client has to begin with.
            self.set(flag::SPOKE);
        }
        // A value that stands on a line of its own may be a piece of a message that has begun.
        let may_be_piece = has(Condition::Scalar)
            || has(Condition::KindUnclear) && has(Condition::VersionTagMissing);
        if may_be_piece && self.is_in_pieces() && self.continues_run(cx, message) {
            return;
        }
        if has(Condition::KindUnclear) || has(Condition::MethodAndAnswer) {
            let what = if has(Condition::KindUnclear) {
                "has no method, result or error"
            } else {
                "has a method and an answer"
            };
            let text = format!("the object {what}, so it is no message of any kind");
            self.broken(cx, &MESSAGE_KIND_UNCLEAR, &frame, text);
            return self.last_word_on(message);
        }
        if has(Condition::MethodNotString) {
            let text = "`method` is no string".to_string();
            self.broken(cx, &METHOD_NOT_STRING, &frame, text);
            return self.last_word_on(message);
        }
        if has(Condition::Scalar) {
            let text = "a bare JSON value is no message; a message is an object".to_string();
            return self.broken(cx, &MESSAGE_NOT_OBJECT, &frame, text);
        }
        if has(Condition::Blank) {
            if self.link == LinkKind::Http {
                return;
            }
        } else {
            shown_ids(cx.text.unwrap_or_default(), |id| {
                self.rare().spoilt.insert(id);
            });
        }
        if self.continues_run(cx, message) {
            return;
        }
        if has(Condition::NotJson) || has(Condition::TrailingData) {
            return self.unparsable(cx, message);
        }
        if self.link == LinkKind::Http {
            let text = "what was sent as a message is no JSON".to_string();
            return self.broken(cx, self.unparsable_rule(false), &frame, text);
        }
        self.noise(cx, message);
    }

    /// The rule that what cannot be parsed breaks; `is_joined`: it may be two messages.
    fn unparsable_rule(&self, is_joined: bool) -> &'static Rule {
        match (self.link, self.role) {
            (LinkKind::Pipe, _) if is_joined => &UNPARSABLE_LINES,
            (LinkKind::Pipe, Role::Server) => &UNPARSABLE_ON_STDOUT,
            (LinkKind::Pipe, Role::Client) => &UNPARSABLE_ON_STDIN,
            (LinkKind::Http, Role::Client) => &UNPARSABLE_POST,
            (LinkKind::Http, Role::Server) => &UNPARSABLE_ANSWER,
        }
    }

    /// A response of no kind, or an id with something else: its sender will say no more about it.
    fn last_word_on(&mut self, message: &Message) {
        if message.method != Method::None && message.id.is_legal() {
            self.issued.insert(message.id);
        }
        if let Ok(at) = self.find_in(message.id) {
            self.inn[at].flags |= open::MAYBE;
        }
    }

    fn noise(&mut self, cx: &mut Cx<'_>, message: &Message) {
        let is_header = cx.text.is_some_and(is_header);
        let was_header = self.is(flag::HEADER);
        if is_header {
            self.set(flag::HEADER);
        }
        // Headers before each frame are one habit.
        let is_known = is_header && was_header;
        if !is_known {
            let (severity, text) = match () {
                () if message.has(Condition::Blank) => (
                    Severity::Warning,
                    "a blank line where messages belong".to_string(),
                ),
                () if is_header => (
                    Severity::Error,
                    "a Content-Length header: messages here are lines, without headers".to_string(),
                ),
                () => (
                    Severity::Error,
                    format!("a line that is no message, on the {}", pipe(self.role)),
                ),
            };
            let is_blank = message.has(Condition::Blank);
            let (rule, severity) = match is_blank && cx.is_stateless {
                true => (&STDIO_LINE_FRAMING, Severity::Note),
                false => (noise_rule(self.role), severity),
            };
            self.broken_at(cx, rule, severity, &[cx.frame], text);
        }
        self.rare().run = Some(Run::reported(cx.frame, Began::Noise));
    }

    fn unparsable(&mut self, cx: &mut Cx<'_>, message: &Message) {
        // It may have been the answer to anything.
        self.maybe_answered_all();
        let text = cx.text.unwrap_or_default();
        if self.is(flag::HEADER) && contains(text, b"Content-Length") {
            return;
        }
        let may_join = message.has(Condition::Truncated)
            && self.link == LinkKind::Pipe
            && !text.is_empty()
            && text.len() < JOINED_MAX;
        let is_expected =
            cx.is_expected(&UNPARSABLE_MESSAGE) || cx.is_expected(&STDIO_EMBEDDED_NEWLINE);
        let mut began = Began::Message;
        if !may_join {
            // Whole values one after the other, or one inside the other.
            let is_trailing = message.has(Condition::TrailingData);
            let holds_two = contains(text.get(1..).unwrap_or_default(), b"{\"jsonrpc\"");
            let is_woven = holds_two && !(is_trailing && is_chain(text));
            let words = if is_woven {
                "the line is no JSON: two frames are woven into each other"
            } else if is_trailing {
                "more than one JSON value stands on the line"
            } else {
                "the line begins like a message and is no JSON"
            };
            if holds_two {
                began = Began::Piece;
            }
            let is_joined = is_trailing || is_woven;
            let rule = self.unparsable_rule(is_joined);
            self.broken(cx, rule, &[cx.frame], words.to_string());
        }
        if self.link == LinkKind::Pipe {
            let run = Run {
                text: if may_join { text.to_vec() } else { vec![] },
                first: if may_join { text.len() } else { 0 },
                scanned: 0,
                began,
                frame: cx.frame,
                base: cx.base,
                is_reported: !may_join || is_expected,
                may_join,
            };
            self.rare().run = Some(run);
        }
    }

    /// Whether a message has begun that may be split over lines.
    fn is_in_pieces(&self) -> bool {
        let run = self.rare.as_ref().and_then(|rare| rare.run.as_ref());
        run.is_some_and(|run| run.may_join)
    }

    /// Whether the bad line belongs to a run; a message whose last piece it is gets its finding.
    fn continues_run(&mut self, cx: &mut Cx<'_>, message: &Message) -> bool {
        let Some(run) = self.rare.as_mut().and_then(|rare| rare.run.as_mut()) else {
            return false;
        };
        let line = cx.text.unwrap_or_default();
        if !run.may_join {
            // Another fault than the one that the run began with is another cause.
            let is_message =
                message.has(Condition::NotJson) || message.has(Condition::TrailingData);
            let is_meant = || is_message && contains(line, b"\"jsonrpc\"");
            return match run.began {
                Began::Noise => !is_meant(),
                Began::Message => is_message && !is_meant(),
                Began::Piece => true,
            };
        }
        if run.text.len() + line.len() > JOINED_MAX {
            run.may_join = false;
            self.end_run(cx);
            self.rare().run = Some(Run::reported(cx.frame, Began::Piece));
            return true;
        }
        let before = run.text.len();
        run.text.push(b' ');
        run.text.extend_from_slice(line);
        if run.scanned < SCANNED_MAX && !run.may_go_on() {
            run.text.truncate(before);
            self.end_run(cx);
            return false;
        }
        let closes = line.iter().rev().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'}');
        if !closes {
            return true;
        }
        let joined = classify(&run.text, &mut Scanner::new()).message;
        if joined.kind == Kind::Malformed && !joined.has(Condition::KindUnclear) {
            return true;
        }
        let frames = [run.frame, cx.frame];
        let is_reported = run.is_reported;
        self.rare().run = None;
        self.last_word_on(&joined);
        if !is_reported {
            let text = "a message is split over several lines; a message is one line".to_string();
            self.broken(cx, &STDIO_EMBEDDED_NEWLINE, &frames, text);
        }
        true
    }

    /// Before a frame of the party: a whole message ends a run of bad lines.
    #[inline]
    pub(crate) fn settle_run_before(&mut self, cx: &mut Cx<'_>, message: &Message) {
        let is_open = self.rare.as_ref().is_some_and(|rare| rare.run.is_some());
        if is_open && message.kind != Kind::Malformed {
            self.end_run(cx);
        }
    }

    /// The run is over: what did not become a message is unparsable.
    pub(crate) fn end_run(&mut self, cx: &mut Cx<'_>) {
        let Some(run) = self.rare.as_mut().and_then(|rare| rare.run.take()) else {
            return;
        };
        if !run.is_reported {
            let text = "the line stops in the middle of a message".to_string();
            let line = Member {
                text: &run.text[..run.first],
                body: None,
                at: 0,
            };
            let mut cx = cx.member(&line, Kind::Malformed);
            (cx.frame, cx.base, cx.slips) = (run.frame, run.base, &[]);
            cx.set_era(self.era_of_rest());
            self.broken(&mut cx, self.unparsable_rule(false), &[run.frame], text);
            if !cx.ledger.held.is_empty() {
                self.keep_held(cx.ledger);
            }
        }
    }
}

fn pipe(role: Role) -> &'static str {
    match role {
        Role::Server => "server's stdout",
        Role::Client => "server's stdin",
    }
}

fn is_header(line: &[u8]) -> bool {
    const NAME: &[u8] = b"content-length:";
    line.len() > NAME.len() && line[..NAME.len()].eq_ignore_ascii_case(NAME)
}

/// Whether the line is whole JSON values, one after the other.
fn is_chain(text: &[u8]) -> bool {
    let mut scanner = Scanner::new();
    let mut at = white(text, 0);
    while at < text.len() {
        scanner.reset();
        match scanner.value(text, at) {
            Ok(end) => at = white(text, end),
            Err(_) => return false,
        }
    }
    true
}

pub(crate) fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}
