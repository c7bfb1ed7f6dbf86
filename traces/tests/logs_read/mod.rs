//! Reads the sample logs, for tests.
#![allow(dead_code, reason = "each test needs its part of it")]

use std::fs;
use std::io::Cursor;
use std::path::PathBuf;

use mcpsim_traces::capture::{CaptureWhat, EventKind};
use mcpsim_traces::event::Role;
use mcpsim_traces::lines::ReadError;
use mcpsim_traces::lost::Lost;
use mcpsim_traces::recording::Recording;
use mcpsim_traces::sniff::Log;

pub(crate) fn sample(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/logs");
    fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A frame as it was read.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Frame {
    pub(crate) from: Role,
    pub(crate) text: String,
    pub(crate) t_ms: Option<u64>,
    pub(crate) session: Option<String>,
    pub(crate) line: u64,
    pub(crate) has_eol: bool,
    pub(crate) cut_from_bytes: Option<u64>,
    /// Where its first byte stands.
    pub(crate) column: u64,
}

/// All of a recording.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct All {
    pub(crate) frames: Vec<Frame>,
    pub(crate) events: Vec<(EventKind, Option<Role>, Option<i64>)>,
    pub(crate) errors: Vec<String>,
    pub(crate) is_cut: bool,
    pub(crate) lost: Lost,
    pub(crate) guessed: Vec<String>,
    pub(crate) remarks: Vec<String>,
}

impl All {
    pub(crate) fn of(mut recording: Box<dyn Recording>) -> All {
        let mut all = All::default();
        loop {
            let line = match recording.next_line() {
                Ok(Some(line)) => line,
                Ok(None) => break,
                Err(ReadError::Input(error)) => {
                    all.errors.push(error.to_string());
                    continue;
                }
                Err(error) => panic!("{error}"),
            };
            match line.what {
                CaptureWhat::Frame(frame) => all.frames.push(Frame {
                    from: frame.from,
                    text: String::from_utf8_lossy(frame.raw).into_owned(),
                    t_ms: line.t_ms,
                    session: line.session.map(|session| session.into_owned()),
                    line: line.line,
                    has_eol: frame.has_eol,
                    cut_from_bytes: frame.cut_from_bytes,
                    column: line.origin.map_or(0, |origin| origin.place(frame.raw, 0).1),
                }),
                CaptureWhat::Event(event) => {
                    all.events.push((event.kind, event.by, event.status));
                }
                CaptureWhat::Http(_) => {}
            }
        }
        all.is_cut = recording.is_cut();
        all.lost = recording.lost();
        all.guessed = recording.guessed();
        all.remarks = recording.remarks();
        all
    }

    pub(crate) fn counts(&self) -> [usize; 2] {
        let of = |role| {
            self.frames
                .iter()
                .filter(|frame| frame.from == role)
                .count()
        };
        [of(Role::Client), of(Role::Server)]
    }

    pub(crate) fn texts(&self) -> Vec<&str> {
        self.frames
            .iter()
            .map(|frame| frame.text.as_str())
            .collect()
    }
}

#[track_caller]
pub(crate) fn read(text: impl AsRef<[u8]>) -> All {
    match Log::open(Cursor::new(text.as_ref().to_vec())) {
        Ok(Log::Import(recording)) => All::of(recording),
        Ok(other) => panic!("read as {}", other.format()),
        Err(error) => panic!("{error}"),
    }
}

pub(crate) fn refusal(text: &[u8]) -> String {
    match Log::open(Cursor::new(text.to_vec())) {
        Ok(other) => panic!("read as {}", other.format()),
        Err(error) => error.to_string(),
    }
}

/// The session that every made-up sample holds, and from when on.
pub(crate) fn garden() -> Vec<(Role, String)> {
    let frames = String::from_utf8(sample("bare.ndjson")).expect("text");
    let from = [0, 1, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1];
    let roles = from.map(|side| [Role::Client, Role::Server][side]);
    let lines = frames.lines().map(str::to_owned);
    roles.into_iter().zip(lines).collect()
}
