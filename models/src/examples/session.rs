//! Sessions in the short form of the cases, spelled out into frames and events, and judged.

use std::collections::BTreeMap;

use mcpsim_traces::classify::classify;
use mcpsim_traces::event::{LinkKind, Role};
use mcpsim_traces::http::Http;
use mcpsim_traces::judge::{Ending, Finding, Vantage};
use mcpsim_traces::message::Revision;
use mcpsim_traces::scan::Scanner;

use super::expand;
use super::http::{http, http_handshake};
use crate::observer::{LogEvent, LogWhat, Observer, ObserverOptions, Seen};

/// One line of a session: a frame, or an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// Who sent it, or to whom it happened.
    pub from: Role,
    /// The frame's bytes, without a line end; empty for an event.
    pub bytes: Vec<u8>,
    /// The event's name, as captures have it.
    pub event: Option<String>,
    /// When, in milliseconds.
    pub at_ms: Option<u64>,
    /// Whether the line's end was seen.
    pub ended: bool,
    /// The HTTP exchange that carried it.
    pub stream: Option<String>,
    /// The session, where there are several.
    pub session: Option<String>,
    /// What HTTP tells beside it.
    pub http: Option<Http<'static>>,
    /// The exit status of a program.
    pub status: Option<i32>,
    /// It is one of the lines that `handshake` or `http-handshake` stands for.
    pub is_handshake: bool,
}

impl Line {
    /// A frame with that text.
    pub fn new(from: Role, text: &str) -> Line {
        Line {
            from,
            bytes: text.as_bytes().to_vec(),
            event: None,
            at_ms: None,
            ended: true,
            stream: None,
            session: None,
            http: None,
            status: None,
            is_handshake: false,
        }
    }

    /// Whether it has a number among the frames: heads and server-sent events without data are counted with them.
    pub fn is_numbered(&self) -> bool {
        self.event.as_ref().is_none_or(|event| event == "http")
    }
}

/// How a session is judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct How {
    /// Where the observer stood.
    pub vantage: Vantage,
    /// Over http, and not over a pipe.
    pub http: bool,
    /// The revision, where it is given and not agreed on.
    pub revision: Option<Revision>,
    /// It is seen from its start.
    pub whole: bool,
    /// It came to rest.
    pub quiet: bool,
    /// As in [`ObserverOptions`].
    pub patience_ms: u64,
}

impl How {
    /// As a recording from there is judged that says nothing else.
    pub fn from(vantage: Vantage) -> How {
        How {
            vantage,
            http: false,
            revision: None,
            whole: vantage == Vantage::World,
            quiet: false,
            patience_ms: ObserverOptions::PATIENCE_MS,
        }
    }

    /// What stands behind the word `frames` of a block: from the world, from the start, on a pipe, unless it
    /// says otherwise.
    ///
    /// # Errors
    /// A word that has no meaning here.
    pub fn parse(options: &str) -> Result<How, String> {
        let mut how = How {
            whole: true,
            ..How::from(Vantage::World)
        };
        for option in options.split_whitespace() {
            let unknown = || format!("unknown option {option}");
            match option.split_once('=').unwrap_or((option, "")) {
                ("vantage", name) => how.vantage = Vantage::parse(name).ok_or_else(unknown)?,
                ("revision", date) => {
                    how.revision = Some(Revision::parse(date).ok_or_else(unknown)?);
                }
                ("http", _) => how.http = true,
                ("joined", _) => how.whole = false,
                ("quiet", _) => how.quiet = true,
                _ => return Err(unknown()),
            }
        }
        Ok(how)
    }
}

/// The lines of a block, spelled out.
///
/// # Errors
/// A line that has no meaning.
pub fn spell_out<'a>(block: impl IntoIterator<Item = &'a str>) -> Result<Vec<Line>, String> {
    let mut lines = vec![];
    for line in block {
        let Some((count, line)) = repeated(line)? else {
            spell_out_line(&expand(line), &mut lines)?;
            continue;
        };
        for number in 1..=count {
            let line = line.replace("$N", &number.to_string());
            spell_out_line(&expand(&line), &mut lines)?;
        }
    }
    Ok(lines)
}

/// More repetitions of a line than this are a slip.
const REPEAT_MAX: u32 = 10_000;

/// `repeat COUNT LINE`: how often, and what; `$N` in it is the number of the repetition.
fn repeated(line: &str) -> Result<Option<(u32, &str)>, String> {
    let Some(rest) = line.strip_prefix("repeat ") else {
        return Ok(None);
    };
    let parsed = rest.split_once(' ').and_then(|(count, line)| {
        let count = count.parse().ok().filter(|count| *count <= REPEAT_MAX)?;
        Some((count, line))
    });
    parsed
        .map(Some)
        .ok_or_else(|| format!("no line of a session: {line}"))
}

/// One line of a block: `c2s FRAME`, `s2c FRAME`, `c2s! EVENT`, or `handshake [REVISION [CLIENT SERVER]]`.
/// `@N` before it gives the time, `/S` after the direction the stream. A frame that begins with one
/// of the usual members gets its version tag; `c2s= FRAME` stands as it is, `c2s- FRAME` has no line end. On HTTP a head may stand for the
/// frame, and `#ID`, `event=NAME` and `retry=MS` before it.
pub(super) fn spell_out_line(line: &str, out: &mut Vec<Line>) -> Result<(), String> {
    let unknown = || format!("no line of a session: {line}");
    if line.is_empty() {
        return Ok(());
    }
    let (at_ms, rest) = match line.strip_prefix('@') {
        Some(rest) => {
            let (time, rest) = rest.split_once(' ').ok_or_else(unknown)?;
            (Some(time.parse().map_err(|_| unknown())?), rest)
        }
        None => (None, line),
    };
    let (head, text) = rest.split_once(' ').unwrap_or((rest, ""));
    if head == "handshake" {
        handshake(text, at_ms, out);
        return Ok(());
    }
    if head == "http-handshake" {
        return http_handshake(text, out);
    }
    let (head, stream) = match head.split_once('/') {
        Some((head, stream)) => (head, Some(stream.to_string())),
        None => (head, None),
    };
    let (from, how) = match (head.strip_prefix("c2s"), head.strip_prefix("s2c")) {
        (Some(how), _) => (Role::Client, how),
        (_, Some(how)) => (Role::Server, how),
        _ => return Err(unknown()),
    };
    let (http, text) = http(text)?;
    let mut spelled = match how {
        "" if http.is_some() && text.is_empty() => {
            let mut spelled = Line::new(from, "");
            spelled.event = Some("http".to_string());
            spelled
        }
        "=" => Line::new(from, &text.replace("\\r", "\r")),
        "-" => Line {
            ended: false,
            ..Line::new(from, &tagged(text))
        },
        "!" => {
            let (event, status) = text.split_once(' ').unwrap_or((text, ""));
            let mut spelled = Line::new(from, "");
            spelled.event = Some(event.to_string());
            spelled.status = status.parse().ok();
            spelled
        }
        "" => Line::new(from, &tagged(text)),
        "x" => {
            let mut spelled = Line::new(from, &tagged(text));
            let garble = |byte: &mut u8| {
                if *byte == b'~' {
                    *byte = 0xFF;
                }
            };
            spelled.bytes.iter_mut().for_each(garble);
            spelled
        }
        _ => return Err(unknown()),
    };
    spelled.at_ms = at_ms;
    spelled.stream = stream;
    spelled.http = http;
    out.push(spelled);
    Ok(())
}

/// Puts the version tag into the objects that begin with one of the envelope's members.
fn tagged(text: &str) -> String {
    let mut text = text.to_string();
    for member in ["{\"id\":", "{\"method\":", "{\"result\":", "{\"error\":"] {
        for before in ["", "[", "},"] {
            let plain = format!("{before}{member}");
            let full = format!("{before}{{\"jsonrpc\":\"2.0\",{}", &member[1..]);
            text = match before {
                "" if text.starts_with(&plain) => text.replacen(&plain, &full, 1),
                "" => text,
                _ if text.starts_with('[') => text.replace(&plain, &full),
                _ => text,
            };
        }
    }
    text
}

pub(super) fn handshake(options: &str, at_ms: Option<u64>, out: &mut Vec<Line>) {
    let mut options = options.split_whitespace();
    let revision = options.next().unwrap_or("2025-06-18");
    let client = options.next().unwrap_or("{}");
    let server = options.next().unwrap_or("{\"tools\":{}}");
    let info = "{\"name\":\"n\",\"version\":\"1\"}";
    for (from, text) in [
        (
            Role::Client,
            format!(
                "{{\"id\":0,\"method\":\"initialize\",\"params\":{{\"protocolVersion\":\"{revision}\",\
                 \"capabilities\":{client},\"clientInfo\":{info}}}}}"
            ),
        ),
        (
            Role::Server,
            format!(
                "{{\"id\":0,\"result\":{{\"protocolVersion\":\"{revision}\",\"capabilities\":{server},\"serverInfo\":{info}}}}}"
            ),
        ),
        (
            Role::Client,
            "{\"method\":\"notifications/initialized\"}".to_string(),
        ),
    ] {
        let mut line = Line::new(from, &tagged(&text));
        line.at_ms = at_ms;
        line.is_handshake = true;
        out.push(line);
    }
}

/// Judges the lines, session by session; frames are numbered over all of them.
pub fn judge(lines: &[Line], how: &How) -> Vec<Finding> {
    let mut session_of = BTreeMap::new();
    let mut streams = BTreeMap::new();
    for line in lines {
        if let Some(stream) = &line.stream {
            let number = streams.len() as u32 + 1;
            streams.entry(stream.clone()).or_insert(number);
            if let Some(session) = &line.session {
                session_of.insert(stream.clone(), session.clone());
            }
        }
    }
    let kind = if how.http {
        LinkKind::Http
    } else {
        LinkKind::Pipe
    };
    let options = ObserverOptions {
        revision: how.revision,
        whole: how.whole,
        patience_ms: how.patience_ms,
        ..ObserverOptions::new(how.vantage, kind)
    };
    let mut observers: BTreeMap<String, Observer> = BTreeMap::new();
    let mut scanner = Scanner::new();
    let mut frame = 0;
    for line in lines {
        let by_stream = line
            .stream
            .as_ref()
            .and_then(|stream| session_of.get(stream));
        let session = line.session.as_ref().or(by_stream);
        let stream = line.stream.as_ref().map(|stream| streams[stream]);
        if let Some(event) = &line.event {
            let is_counted = line.is_numbered();
            frame += u32::from(is_counted);
            let event = LogEvent {
                by: line.from,
                what: what_of(event, line.status),
                at_ms: line.at_ms,
                stream,
                frame: if is_counted { frame } else { 0 },
                http: line.http.as_ref(),
            };
            match session {
                // What names no session concerns all of them.
                None if !observers.is_empty() => observers
                    .values_mut()
                    .for_each(|observer| observer.event(&event)),
                session => observers
                    .entry(session.cloned().unwrap_or_default())
                    .or_insert_with(|| Observer::new(options))
                    .event(&event),
            }
            continue;
        }
        frame += 1;
        let key = session.cloned().unwrap_or_default();
        let observer = observers
            .entry(key)
            .or_insert_with(|| Observer::new(options));
        observer.frame(&Seen {
            frame,
            from: line.from,
            message: &classify(&line.bytes, &mut scanner).message,
            text: Some(&line.bytes),
            body: None,
            at_ms: line.at_ms,
            base: 0,
            stream: if how.http { stream.unwrap_or(0) } else { 0 },
            ended: line.ended,
            http: line.http.as_ref(),
        });
    }
    let ending = if how.quiet {
        Ending::Quiet
    } else {
        Ending::Unfinished
    };
    let mut findings = vec![];
    for observer in observers.values_mut() {
        observer.finish(ending);
        findings.extend(observer.take_findings());
    }
    findings
}

fn what_of(event: &str, status: Option<i32>) -> LogWhat {
    match event {
        "eof" => LogWhat::Eof,
        "exit" => LogWhat::Exit { status },
        "stall" => LogWhat::Stall,
        "timeout" => LogWhat::Timeout,
        "stderr-full" => LogWhat::StderrFull,
        "drop" => LogWhat::Drop,
        "empty-body" => LogWhat::EmptyBody,
        "http" => LogWhat::Http,
        "close-queued" => LogWhat::CloseQueued,
        "teardown" => LogWhat::Teardown,
        _ => LogWhat::Other,
    }
}
