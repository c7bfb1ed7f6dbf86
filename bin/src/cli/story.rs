//! Traces and captures as text, with findings in their places.

use std::io::{Cursor, Read, stdin};
use std::path::Path;

use super::outcome::{Failure, Result};
use super::replay::{open, read_failure};
use crate::traces::judge::Finding;
use crate::traces::show::{Story, StoryFinding, TextOptions, text};
use crate::traces::sniff::Log;

/// The story of a file; `-` is standard input.
///
/// # Errors
/// A file that is no log, with the place.
pub(crate) fn of_file(path: &Path) -> Result<Story> {
    let input: Box<dyn Read> = if path == Path::new("-") {
        Box::new(stdin())
    } else {
        Box::new(open(path)?)
    };
    of_input(path, input)
}

fn of_input(path: &Path, input: impl Read + 'static) -> Result<Story> {
    let wrong = |error: &std::io::Error| Failure::file("read", path, error);
    match Log::open(input).map_err(|error| read_failure(path, &error))? {
        Log::Trace(mut reader) => Story::of_trace(&mut reader).map_err(|error| wrong(&error)),
        Log::Capture(mut reader) => {
            Story::of_recording(&mut *reader).map_err(|error| wrong(&error))
        }
        Log::Import(mut log) => Story::of_recording(&mut *log).map_err(|error| wrong(&error)),
    }
}

/// A trace in memory as text, with findings in place.
///
/// # Errors
/// None that a trace of ours can meet.
pub(crate) fn text_of_trace(bytes: &[u8], findings: &[Finding]) -> Result<String> {
    Ok(as_text(
        &of_input(Path::new("trace"), Cursor::new(bytes.to_vec()))?,
        findings,
    ))
}

/// A file as text, with findings in place.
///
/// # Errors
/// A file that is no log, with the place.
pub(crate) fn text_of_file(path: &Path, findings: &[Finding]) -> Result<String> {
    Ok(as_text(&of_file(path)?, findings))
}

fn as_text(story: &Story, findings: &[Finding]) -> String {
    let findings: Vec<StoryFinding> = findings.iter().map(StoryFinding::from).collect();
    let mut out = vec![];
    text(story, &findings, &TextOptions::USUAL, &mut out).expect("memory takes all");
    String::from_utf8_lossy(&out).into_owned()
}
