//! A form of log that a user describes: a regular expression with named groups, which a line matches that has a frame.

use std::collections::BTreeSet;
use std::io::Read;

use regex::bytes::{Captures, Regex, RegexBuilder};

use super::arrow::{Standpoint, left_out, own_end};
use super::entry::{Entries, Entry, Text};
use super::mark::{Mark, mark};
use super::time::{Clocks, Time, seconds};
use super::{Format, HEAD_BYTES, Head, Kind, Lost, Reading};
use crate::event::Role;
use crate::file::json::{Wrong, quoted};
use crate::lines::{Line, LineReader, ReadError};
use crate::recording::Recording;
use crate::scan::Scanner;

/// What a recording of a pattern calls itself. No content is recognised as it.
const FORMAT: Format = Format {
    name: "pattern",
    what: "a log of a pattern",
    found: "any log with a line for each frame",
    lost: Lost::LINES,
    hint: "groups are named dir (or c2s and s2c), frame, and perhaps time and session",
    is_read: true,
    recognises: |_| false,
    kind: Kind::None,
};
static OF_PATTERN: Format = FORMAT;

/// Names of groups that mean something.
const GROUPS: [&str; 6] = ["dir", "c2s", "s2c", "frame", "time", "session"];
/// So large may a pattern be when it is compiled.
const SIZE_MAX: usize = 4 << 20;

/// How the lines of a log look that have a frame. Groups are named: `frame` is the frame; `dir` tells the direction in a word or
/// an arrow, or `c2s` matches where the client sent it and `s2c` where the server did; `time` and `session` may be there.
///
/// ```
/// use mcpsim_traces::import::pattern::Pattern;
/// assert!(Pattern::new(r"^(?<time>\S+) (?:(?<c2s>REQ)|(?<s2c>RES)) (?<frame>\{.*)$").is_ok());
/// assert!(Pattern::new(r"^(?<dir>\S+) (.*)$").is_err());
/// ```
#[derive(Clone, Debug)]
pub struct Pattern {
    regex: Regex,
}

impl Pattern {
    /// Reads a regular expression.
    ///
    /// # Errors
    /// What is wrong with it, and in which column: it is none, or lacks a group.
    pub fn new(text: &str) -> Result<Pattern, String> {
        let built = RegexBuilder::new(text).size_limit(SIZE_MAX).build();
        let regex = built.map_err(|error| fault(text, &error))?;
        let names: Vec<&str> = regex.capture_names().flatten().collect();
        if let Some(unknown) = names.iter().find(|name| !GROUPS.contains(name)) {
            let column = column_of(text, unknown);
            let known = GROUPS.join(", ");
            return Err(format!(
                "column {column}: no meaning for a group named {unknown:?}: known are {known}"
            ));
        }
        let has = |name: &str| names.contains(&name);
        let end = text.chars().count() + 1;
        if !has("frame") {
            return Err(format!(
                "column {end}: a group for the frame is missing: (?<frame>\\{{.*)"
            ));
        }
        let has_direction = has("dir") || has("c2s") && has("s2c");
        if !has_direction {
            return Err(format!(
                "column {end}: groups for the direction are missing: (?<dir>…), or (?<c2s>…) and (?<s2c>…)"
            ));
        }
        Ok(Pattern { regex })
    }

    /// Reads a log whose lines look so.
    ///
    /// # Errors
    /// The input cannot be read.
    pub fn open<R: Read + 'static>(
        &self,
        mut lines: LineReader<R>,
    ) -> Result<Box<dyn Recording>, ReadError> {
        let head = Head::of(lines.peek(HEAD_BYTES)?);
        let frames = head.lines.iter().filter_map(|line| {
            let found = self.regex.captures(line)?;
            Some((direction(&found)?, found.name("frame")?.as_bytes()))
        });
        let texts: Vec<&[u8]> = frames.clone().map(|(_, text)| text.trim_ascii()).collect();
        let is_json = |text: &&[u8]| matches!(text.first(), Some(b'{' | b'['));
        if !texts.is_empty() && !texts.iter().any(is_json) {
            let shown = quoted(texts[0]);
            let message = format!(
                "the pattern's frames are no JSON, the first is {shown}: let the group begin at the brace, as (?<frame>\\{{.*)"
            );
            return Err(Wrong::new(0, message).on(1).into());
        }
        let form = Form {
            standpoint: Standpoint::of(frames),
            scanner: Scanner::new(),
            tailed: 0,
            regex: self.regex.clone(),
            clocks: Clocks::default(),
            is_guessed: false,
            untimed: false,
            others: 0,
            blind: 0,
            frames: 0,
            unknown: BTreeSet::new(),
        };
        super::log(&OF_PATTERN, lines, form)
    }
}

/// A message with the column that the library shows in several lines.
fn fault(text: &str, error: &regex::Error) -> String {
    let message = error.to_string();
    let said = message.lines().last().unwrap_or_default();
    let said = said.strip_prefix("error: ").unwrap_or(said);
    // Below the pattern there is a line of carets.
    let caret = message.lines().find_map(|line| {
        let at = line.find('^')?;
        line.trim_matches([' ', '^']).is_empty().then_some(at)
    });
    let indent = message.lines().find_map(|line| {
        let is_it = !text.is_empty() && line.ends_with(text);
        is_it.then(|| line.len() - text.len())
    });
    match caret.zip(indent) {
        Some((caret, indent)) if caret >= indent => {
            format!("column {}: {said}", caret - indent + 1)
        }
        _ => said.to_owned(),
    }
}

/// In which column a group of that name begins.
fn column_of(text: &str, name: &str) -> usize {
    let spellings = [format!("(?<{name}>"), format!("(?P<{name}>")];
    let at = spellings.iter().find_map(|group| text.find(group.as_str()));
    at.map_or(1, |at| text[..at].chars().count() + 1)
}

/// What a match tells of the direction.
fn direction(found: &Captures<'_>) -> Option<Mark> {
    if found.name("c2s").is_some() {
        return Some(Mark::From(Role::Client));
    }
    if found.name("s2c").is_some() {
        return Some(Mark::From(Role::Server));
    }
    let word = std::str::from_utf8(found.name("dir")?.as_bytes()).ok()?;
    // Words of the wire, which whoever describes a log may mean: in a log of any form they mean too much.
    match word.trim().to_ascii_lowercase().as_str() {
        "tx" => Some(Mark::Out),
        "rx" => Some(Mark::In),
        _ => mark(word),
    }
}

#[derive(Clone)]
struct Form {
    standpoint: Standpoint,
    scanner: Scanner,
    /// Frames with something of the logger's behind them.
    tailed: u64,
    regex: Regex,
    clocks: Clocks,
    is_guessed: bool,
    untimed: bool,
    /// Lines that do not match.
    others: u64,
    /// Lines that match and whose direction means nothing.
    blind: u64,
    frames: u64,
    /// What stands there for the direction.
    unknown: BTreeSet<String>,
}

/// So many words that mean nothing are repeated.
const WORDS_MAX: usize = 4;
/// What the group `dir` may hold.
const KNOWN: &str = "known are c2s and s2c, client and server, client->server, in and out, tx and rx, sent and received, arrows";

impl super::Form for Form {
    fn line(&mut self, line: &Line<'_>, out: &mut Entries) -> Reading<()> {
        let Some(found) = self.regex.captures(line.bytes) else {
            self.others += 1;
            return Ok(());
        };
        let Some(frame) = found.name("frame").map(|frame| frame.range()) else {
            self.others += 1;
            return Ok(());
        };
        let Some(mark) = direction(&found) else {
            self.blind += 1;
            if let Some(word) = found.name("dir").filter(|_| self.unknown.len() < WORDS_MAX) {
                self.unknown.insert(quoted(word.as_bytes()));
            }
            return Ok(());
        };
        self.frames += 1;
        let time = found
            .name("time")
            .map_or((Time::None, 0), |time| when(time.as_bytes()));
        let t_ms = self.clocks.at(time.0);
        self.untimed |= t_ms.is_none();
        self.is_guessed |= !matches!(mark, Mark::From(_));
        let session = found.name("session").map(|session| session.as_bytes());
        let session = session.map(|name| String::from_utf8_lossy(name).into_owned());
        let text = &line.bytes[frame.clone()];
        let end = own_end(text, &mut self.scanner);
        self.tailed += u64::from(end < text.trim_ascii_end().len());
        let text = Text::Here(frame.start..frame.start + end);
        let role = self.standpoint.role(mark);
        out.push_back(Entry::frame(role, t_ms, text).in_session(session));
        Ok(())
    }

    fn end(&mut self, _out: &mut Entries) -> Reading<()> {
        if self.frames > 0 || self.blind == 0 {
            return Ok(());
        }
        let lines = super::several(self.blind, "line matches", "lines match");
        let words: Vec<&str> = self.unknown.iter().map(String::as_str).collect();
        let message = match words.is_empty() {
            true => format!(
                "{lines} the pattern, and neither group for the direction matches with them"
            ),
            false => format!(
                "{lines} the pattern, and what stands for the direction means nothing here: {}; {KNOWN}; or name the groups c2s \
                 and s2c: (?:(?<c2s>one)|(?<s2c>other))",
                words.join(", ")
            ),
        };
        Err(Wrong::new(0, message))
    }

    fn lost(&self) -> Lost {
        let mut lost = Lost::NOTHING;
        if self.untimed {
            lost |= Lost::TIME;
        }
        if self.blind > 0 {
            lost |= Lost::FRAMES;
        }
        lost
    }

    fn guessed(&self) -> Vec<String> {
        match self.is_guessed {
            true => vec![self.standpoint.guessed()],
            false => vec![],
        }
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = vec![];
        remarks.extend(left_out(self.tailed));
        if self.others > 0 {
            let lines = super::several(self.others, "line does", "lines do");
            remarks.push(format!("{lines} not match the pattern"));
        }
        if self.blind > 0 {
            let lines = super::several(self.blind, "line matches", "lines match");
            let words: Vec<&str> = self.unknown.iter().map(String::as_str).collect();
            remarks.push(format!(
                "{lines} with a direction that means nothing here, and no frame was taken: {}; {KNOWN}",
                words.join(", ")
            ));
        }
        remarks
    }
}

/// A time as logs write it: a date and a time of day, a time of day, or seconds or milliseconds since 1970.
fn when(text: &[u8]) -> (Time, usize) {
    let text = text.trim_ascii();
    match (Time::of(text), seconds(text)) {
        ((Time::None, _), Some((ms, length))) if length == text.len() => {
            // Thirteen digits without a point are milliseconds.
            let is_ms = length >= 12 && !text.contains(&b'.');
            (Time::Point(if is_ms { ms / 1000 } else { ms }), length)
        }
        (time, _) => time,
    }
}
