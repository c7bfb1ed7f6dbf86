//! What stands before a frame in a log of somebody's own and tells who sent it: an arrow, a word, the names of the sides.

use std::borrow::Cow;

use super::quoting::colour;
use crate::event::Role;
use crate::key::Key;

/// What stands before a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mark {
    /// It names who sent the frame.
    From(Role),
    /// Away from whoever wrote the log.
    Out,
    /// Towards whoever wrote the log.
    In,
    /// From somebody of that name: which side he is, others of his frames tell.
    Of(Key),
}

/// Arrows, longer ones before those that they begin with.
const ARROWS: [(&str, Mark); 21] = [
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
    ("⇒", Mark::Out),
    ("⇐", Mark::In),
    ("⟶", Mark::Out),
    ("⟵", Mark::In),
    ("➜", Mark::Out),
    ("▶", Mark::Out),
    ("◀", Mark::In),
];

/// Words for what is done with a frame.
const OUT: [&str; 18] = [
    "out",
    "outgoing",
    "outbound",
    "tx",
    "send",
    "sends",
    "sent",
    "sending",
    "write",
    "writes",
    "wrote",
    "writing",
    "forward",
    "forwards",
    "forwarded",
    "forwarding",
    "relaying",
    "relayed",
];
const IN: [&str; 13] = [
    "in",
    "incoming",
    "inbound",
    "rx",
    "recv",
    "receive",
    "receives",
    "received",
    "receiving",
    "got",
    "read",
    "reads",
    "reading",
];

/// What the text says of the direction: a word, an arrow, or two names with an arrow between them.
pub(super) fn mark(text: &str) -> Option<Mark> {
    mark_of(&plain(text).to_ascii_lowercase())
}

/// The same of a text without colours, in small letters.
fn mark_of(text: &str) -> Option<Mark> {
    phrase(
        text.trim()
            .trim_matches(['[', ']', '(', ')', ':', '|', ' ']),
    )
}

/// The mark that the text ends with, behind a level, say, or the name of a logger; and what is left before it.
pub(super) fn last_mark(text: &str) -> Option<(Mark, String)> {
    let text = plain(text);
    let body = text.trim_end_matches([':', ' ', '|']);
    // Every letter stands where it stood.
    let small_body = body.to_ascii_lowercase();
    if let Some(mark) = mark_of(&small_body) {
        return Some((mark, String::new()));
    }
    if let Some(named) = named(body) {
        return Some(named);
    }
    if body.ends_with(']')
        && let Some(open) = body.rfind('[')
        && let Some(mark) = mark_of(&small_body[open..])
    {
        return Some((mark, label(&body[..open])));
    }
    // The more words tell it together, the more they tell.
    let words: Vec<&str> = body.split_whitespace().collect();
    let small: Vec<&str> = small_body.split_whitespace().collect();
    (1..=words.len().min(4))
        .rev()
        .find_map(|count| {
            let at = words.len() - count;
            let mark = mark_of(&small[at..].join(" "))?;
            Some((mark, label(&words[..at].join(" "))))
        })
        .or_else(|| {
            // An arrow to or from somebody whose side is not known names him.
            let (name, before) = words.split_last()?;
            let mark = arrow(before.last()?)?;
            Some((mark, label(name)))
        })
        .or_else(|| {
            // `DEBUG:mcp:sent`, as Python writes it.
            let at = body.rfind(':')?;
            let mark = mark_of(&small_body[at..])?;
            Some((mark, label(&body[..at])))
        })
}

/// Somebody, an arrow and somebody else, of whatever names: who sends, and what is left before them.
fn named(body: &str) -> Option<(Mark, String)> {
    let words: Vec<&str> = body.split_whitespace().collect();
    let at = words.iter().rposition(|word| arrow(word).is_some())?;
    let way = arrow(words[at])?;
    let right = label(&words[at + 1..].join(" "));
    let left = label(words[..at].last()?);
    if right.is_empty() || left.is_empty() {
        return None;
    }
    let before = label(&words[..at - 1].join(" "));
    let (from, to) = match way {
        Mark::Out => (&left, &right),
        _ => (&right, &left),
    };
    let mark = match (side_in(from), side_in(to)) {
        (Some(from), to) if to != Some(from) => Mark::From(from),
        (None, Some(to)) => Mark::From(to.other()),
        (None, None) => Mark::Of(Key::text(from.as_bytes())),
        _ => return None,
    };
    Some((mark, before))
}

/// The side that a name of several words tells: `mcp_client`, `MCP server`.
fn side_in(name: &str) -> Option<Role> {
    let name = name.to_ascii_lowercase();
    let mut words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    words.find_map(|word| match word {
        // One letter tells nothing among others.
        "c" | "s" => None,
        word => side(word),
    })
}

/// What is left beside a mark, without what stands around it.
fn label(text: &str) -> String {
    text.trim_matches(|letter: char| letter.is_whitespace() || "[]():|".contains(letter))
        .to_owned()
}

/// Without the codes for colours.
fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains('\x1B') {
        return Cow::Borrowed(text);
    }
    let mut left = text;
    let mut plain = String::with_capacity(text.len());
    while let Some(at) = left.find('\x1B') {
        plain.push_str(&left[..at]);
        let length = colour(&left.as_bytes()[at..]).unwrap_or(1);
        left = &left[at + length..];
    }
    plain.push_str(left);
    Cow::Owned(plain)
}

/// One word or a few that belong together, in small letters.
fn phrase(text: &str) -> Option<Mark> {
    if let Some(mark) = between(text) {
        return Some(mark);
    }
    let words: Vec<&str> = text
        .split(|letter: char| {
            letter.is_whitespace() || matches!(letter, ':' | '(' | ')' | '[' | ']')
        })
        .filter(|word| !word.is_empty() && !matches!(*word, "the" | "a" | "message" | "msg"))
        .collect();
    match words[..] {
        [one] => side(one)
            .map(Mark::From)
            .or_else(|| verb(one))
            .or_else(|| arrow(one)),
        [one, two] => match (side(one), side(two)) {
            // `client sent`, `server received`.
            (Some(who), None) => match verb(two)? {
                Mark::Out => Some(Mark::From(who)),
                _ => Some(Mark::From(who.other())),
            },
            // `to server`, `from client`, `-> server`.
            (None, Some(whom)) => toward(one, whom),
            _ => {
                let way = match one {
                    "to" => Mark::Out,
                    "from" => Mark::In,
                    _ => return None,
                };
                Some(way)
            }
        },
        // `received from client`.
        [what, way, whom] => {
            verb(what)?;
            toward(way, side(whom)?)
        }
        _ => None,
    }
}

/// Who sends what goes that way.
fn toward(way: &str, whom: Role) -> Option<Mark> {
    match (way, arrow(way)) {
        ("to", _) | (_, Some(Mark::Out)) => Some(Mark::From(whom.other())),
        ("from", _) | (_, Some(Mark::In)) => Some(Mark::From(whom)),
        _ => None,
    }
}

/// Two names with an arrow or a word between them, of which one is known at least.
fn between(text: &str) -> Option<Mark> {
    let mut ways = ARROWS.iter().map(|(arrow, mark)| (*arrow, *mark)).chain([
        (" to ", Mark::Out),
        (" from ", Mark::In),
        ("2", Mark::Out),
        (">", Mark::Out),
        ("<", Mark::In),
    ]);
    ways.find_map(|(way, mark)| {
        let (left, right) = text.split_once(way)?;
        let (left, right) = (left.trim_end(), right.trim_start());
        let is_name = |name: &str| {
            let is_of_names =
                |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
            !name.is_empty() && name.chars().all(is_of_names)
        };
        let is_arrow = !way.trim().chars().all(char::is_alphanumeric);
        let (from, to) = match mark {
            Mark::Out => (left, right),
            _ => (right, left),
        };
        match (side(from), side(to)) {
            (Some(from), Some(to)) => (from != to).then_some(Mark::From(from)),
            (Some(from), None) if is_arrow && is_name(to) => Some(Mark::From(from)),
            (None, Some(to)) if is_arrow && is_name(from) && verb(from).is_none() => {
                Some(Mark::From(to.other()))
            }
            _ => None,
        }
    })
}

fn arrow(word: &str) -> Option<Mark> {
    let mut known = ARROWS.iter();
    known
        .find(|(arrow, _)| *arrow == word)
        .map(|(_, mark)| *mark)
}

fn verb(word: &str) -> Option<Mark> {
    match () {
        () if OUT.contains(&word) => Some(Mark::Out),
        () if IN.contains(&word) => Some(Mark::In),
        () => None,
    }
}

fn side(name: &str) -> Option<Role> {
    match name {
        "client" | "c2s" | "host" | "stdin" | "c" => Some(Role::Client),
        "server" | "s2c" | "stdout" | "s" => Some(Role::Server),
        _ => None,
    }
}
