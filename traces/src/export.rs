//! Recordings written in other forms: captures, traces, and what other programs read. Each form has a row in [`Target`] and
//! a module that knows it. What a form cannot hold is counted ([`Losses`]), never dropped in silence.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read, Seek, Write};

use crate::capture::{CaptureFrame, CaptureLine, CaptureWhat, EventKind, Opening};
use crate::event::{LinkKind, Role};
use crate::lines::{InputError, ReadError};
use crate::lost::Lost;
use crate::recording::Recording;
use crate::scan::{Scanner, white};

mod capture;
mod date;
pub(crate) mod har;
mod mcp_trace;
mod mcpsnoop;
mod restarts;
mod trace;

use restarts::Restarts;

/// A form that recordings are written in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Target {
    /// A capture, which holds everything that a recording has.
    Capture,
    /// A trace: frames in their order, which `show` renders and `check` judges.
    Trace,
    /// What mcp-trace-validator reads.
    McpTrace,
    /// What mcpsnoop reads.
    Mcpsnoop,
    /// HTTP Archive 1.2.
    Har,
}

impl Target {
    /// All of them.
    pub const ALL: [Target; 5] = [
        Target::Capture,
        Target::Trace,
        Target::McpTrace,
        Target::Mcpsnoop,
        Target::Har,
    ];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Target::Capture => "capture",
            Target::Trace => "trace",
            Target::McpTrace => "mcp-trace",
            Target::Mcpsnoop => "mcpsnoop",
            Target::Har => "har",
        }
    }

    /// The form of that name.
    pub fn parse(name: &str) -> Option<Target> {
        Target::ALL
            .into_iter()
            .find(|target| target.as_str() == name)
    }
}

/// What a form could not hold of a recording: each kind in words, and how often.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Losses(BTreeMap<&'static str, u64>);

impl Losses {
    /// Counts one more.
    fn add(&mut self, what: &'static str) {
        self.add_many(what, 1);
    }

    /// Counts so many more.
    fn add_many(&mut self, what: &'static str, count: u64) {
        if count > 0 {
            *self.0.entry(what).or_default() += count;
        }
    }

    /// Counts one more where that holds.
    fn add_if(&mut self, is_lost: bool, what: &'static str) {
        self.add_many(what, u64::from(is_lost));
    }

    /// Whether everything is there.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How often that was lost.
    pub fn count(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or(0)
    }

    /// Each kind, and how often.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().map(|(what, count)| (*what, *count))
    }
}

// What is lost in more than one form.

/// White space before or after the JSON of a frame, a CR before the line end too.
const BLANKS: &str = "white space around frames";
/// Line feeds and carriage returns between the values of a frame are blanks now.
const BREAKS: &str = "line breaks inside frames, now blanks";
/// `"eol":""`.
const LINE_ENDS: &str = "line ends that were not sent";
/// A text of the form must be UTF-8.
const BYTES: &str = "frames with bytes that are not UTF-8, now U+FFFD";
/// Frames that somebody cut off, in a form that has no mark for it: whole they would be taken for broken.
const CUT_FRAMES: &str = "frames whose end was cut off, left out";
/// `cut_from_bytes`, `pad_to`.
const SIZES: &str = "true sizes of shortened frames";
/// Where the observer stood, that nothing came before.
const OPENING: &str = "where the observer stood";
/// What a log of another program has lost, where the form has no words for it.
const LOST_BEFORE: &str = "what the log had lost before";
/// Whatever has no member in the form.
const EVENTS: &str = "events";
/// What stands with an event.
const TEXTS: &str = "texts beside events";
/// How a program ended.
const STATUSES: &str = "exit statuses";
/// The form has one session, or one for each file.
const SESSIONS: &str = "names of sessions: all are one";
/// Which exchange a frame belongs to.
const STREAMS: &str = "frames and events whose exchange is lost";
/// `sse_id`, `sse_event`, `sse_retry`.
const SSE: &str = "ids, names and delays of server-sent events";
/// Heads that are told of nowhere.
const HEADS: &str = "heads of HTTP requests and answers";
/// The path of a request.
const TARGETS: &str = "targets of HTTP requests";
/// There is no mark for fields that were not recorded.
const FIELDS: &str = "that headers were not recorded";
/// Beyond the year 9999 no date is written.
const FAR_TIMES: &str = "times beyond the year 9999";

/// Earlier than this (in March 1973) a time is no date, but counted from the beginning of the recording.
const DATES_BEGIN_MS: u64 = 100_000_000_000;

/// What is said of times that are no dates, in forms that need dates.
const EPOCH: &str = "times without a date are written as counted from 1970-01-01T00:00:00Z";

/// Takes a recording line by line and writes it in a form.
trait Export {
    /// Takes the next frame or event.
    fn line(&mut self, line: &CaptureLine<'_>) -> io::Result<()>;

    /// Writes what is still to be written, and flushes.
    fn finish(&mut self, end: &End) -> io::Result<()>;

    /// What the form could not hold so far.
    fn losses(&mut self) -> &mut Losses;

    /// What a reader should know of what was written, each once.
    fn remarks(&self) -> Vec<String>;
}

/// What is known of a recording before its first line.
#[derive(Clone, Debug)]
struct Beginning {
    opening: Opening,
    /// What logs of that form have lost, as a rule.
    lost: Lost,
    /// The program that writes.
    program: String,
}

/// What is known of a recording behind its last line.
#[derive(Clone, Debug)]
struct End {
    lost: Lost,
    guessed: Vec<String>,
}

/// A place to keep what cannot be written before the end is known.
pub trait Spool: Read + Write + Seek {}

impl<T: Read + Write + Seek> Spool for T {}

/// What was converted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Converted {
    /// Frames that were read.
    pub frames: u64,
    /// Events that were read, and heads without a frame.
    pub events: u64,
    /// Places that could not be used.
    pub errors: u64,
    /// What the form could not hold.
    pub losses: Losses,
    /// What a reader should know, each once.
    pub remarks: Vec<String>,
    /// Those of the remarks that say why whoever reads the new file accuses somebody of what was only lost.
    pub misleads: Vec<String>,
}

/// Why nothing was converted to the end.
#[derive(Debug)]
pub enum Broken {
    /// The recording cannot be read.
    Read(io::Error),
    /// The output, or the spool, cannot be written.
    Write(io::Error),
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Broken::Read(error) => write!(f, "cannot read: {error}"),
            Broken::Write(error) => write!(f, "cannot write: {error}"),
        }
    }
}

impl std::error::Error for Broken {}

/// Where a recording is written to.
#[derive(Debug)]
pub struct Destination<W, S> {
    /// Takes the file.
    pub out: W,
    /// Empty; traces are kept there until their header is known.
    pub spool: S,
    /// The program that writes, with its version.
    pub program: String,
}

/// Reads a recording to its end and writes it in that form. Places that cannot be used are told one by one, and what
/// is around them is converted.
///
/// # Errors
/// The recording cannot be read, or the output not be written.
pub fn convert<W: Write, S: Spool>(
    recording: &mut (impl Recording + ?Sized),
    target: Target,
    to: Destination<W, S>,
    mut on_error: impl FnMut(&InputError),
) -> Result<Converted, Broken> {
    let beginning = Beginning {
        opening: recording.opening(),
        lost: recording.lost(),
        program: to.program,
    };
    let mut export: Box<dyn Export + '_> = match target {
        Target::Capture => Box::new(capture::Capture::new(to.out, beginning)),
        Target::Trace => Box::new(trace::Trace::new(to.out, to.spool, beginning)),
        Target::McpTrace => Box::new(mcp_trace::McpTrace::new(to.out, &beginning)),
        Target::Mcpsnoop => Box::new(mcpsnoop::Mcpsnoop::new(to.out, &beginning)),
        Target::Har => Box::new(har::Har::new(to.out, beginning)),
    };
    let mut converted = Converted::default();
    let mut restarts = Restarts::default();
    loop {
        match recording.next_line() {
            Ok(Some(mut line)) => {
                // A capture has the events that part connections, and whoever reads it knows them.
                if target != Target::Capture {
                    restarts.rename(&mut line);
                }
                match line.what {
                    CaptureWhat::Frame(_) => converted.frames += 1,
                    CaptureWhat::Event(_) | CaptureWhat::Http(_) => converted.events += 1,
                }
                export.line(&line).map_err(Broken::Write)?;
            }
            Ok(None) => break,
            Err(ReadError::Io(error)) => return Err(Broken::Read(error)),
            Err(ReadError::Input(error)) => {
                converted.errors += 1;
                on_error(&error);
            }
        }
    }
    let mut lost = recording.lost();
    if converted.errors > 0 || recording.has_gaps() {
        // What stood there may have been frames.
        lost |= Lost::FRAMES;
    }
    let guessed = recording.guessed();
    export
        .finish(&End { lost, guessed })
        .map_err(Broken::Write)?;
    converted.losses = std::mem::take(export.losses());
    if recording.is_cut() {
        let number = recording.line_number();
        converted
            .remarks
            .push(format!("line {number} is cut and was left out"));
    }
    if let passed @ 1.. = recording.passed_over() {
        let words = "lines of the log that are neither frame nor event, left out";
        converted.remarks.push(format!("{words}: {passed}"));
    }
    let are_merged = target == Target::McpTrace && restarts.has_any();
    converted.misleads = warnings(target, lost, &converted.losses, are_merged);
    let remarks = export.remarks().into_iter().chain(recording.remarks());
    for remark in converted.misleads.clone().into_iter().chain(remarks) {
        if !converted.remarks.contains(&remark) {
            converted.remarks.push(remark);
        }
    }
    Ok(converted)
}

/// What makes whoever reads the new file accuse somebody of what was only lost.
fn warnings(target: Target, lost: Lost, losses: &Losses, are_merged: bool) -> Vec<String> {
    let mut warnings = vec![];
    let mut mistaken = TAKEN_FOR_MISSING;
    if target == Target::McpTrace {
        // Its readers judge by which exchange a frame came on.
        mistaken |= Lost::HTTP;
    }
    let missed = lost.and(mistaken);
    let has_words = matches!(target, Target::Capture | Target::Trace | Target::Har);
    if !missed.is_nothing() && !has_words {
        warnings.push(format!(
            "{} cannot say what the log had lost ({missed}): whoever reads it may take that for missing",
            target.as_str()
        ));
    }
    if target == Target::McpTrace && losses.count(STREAMS) > 0 {
        warnings.push(
            "exchanges overlap, which mcp-trace has no words for: what reads it takes frames of the one for those of another"
                .to_owned(),
        );
    }
    if losses.count(SESSIONS) > 1 || are_merged {
        warnings.push(
            "several sessions became one: whoever reads it may take ids of the one for those of another"
                .to_owned(),
        );
    }
    warnings
}

/// What is lost in a way that looks like a fault of a peer's.
const TAKEN_FOR_MISSING: Lost = Lost::ORDER
    .with(Lost::DIRECTION)
    .with(Lost::IDS)
    .with(Lost::PAYLOAD)
    .with(Lost::STREAMS)
    .with(Lost::FRAMES);

/// Counts what forms without a word for it lose of how a recording began and what it had lost before.
fn lose_circumstances(losses: &mut Losses, opening: Opening, end: &End) {
    let has_place = opening.vantage.is_some() || opening.whole;
    losses.add_if(has_place, OPENING);
    losses.add_many(LOST_BEFORE, end.lost.names().count() as u64);
}

/// Counts what forms without a word for it lose of a frame beside its text.
fn lose_ends(losses: &mut Losses, frame: &CaptureFrame<'_>) {
    losses.add_if(!frame.has_eol, LINE_ENDS);
    losses.add_if(frame.pad_to.is_some(), SIZES);
}

/// How the text of a frame stands in a line of JSON.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape<'a> {
    /// As the JSON value that it is, without the white space around it.
    Value(&'a [u8]),
    /// As a string with all of it.
    Text,
}

/// Whether a frame can stand as a value.
fn shape<'a>(frame: &CaptureFrame<'a>, line: &CaptureLine<'_>, scanner: &mut Scanner) -> Shape<'a> {
    let raw = frame.raw;
    // On a pipe a line feed ended the line: what stood there were several, of which none is to be put together.
    let is_broken = line.stream.is_none() && !frame.is_laid_out && raw.contains(&b'\n');
    if is_broken || simdutf8::basic::from_utf8(raw).is_err() {
        return Shape::Text;
    }
    scanner.reset();
    let start = white(raw, 0);
    match scanner.value(raw, start) {
        Ok(end) if white(raw, end) == raw.len() => Shape::Value(&raw[start..end]),
        _ => Shape::Text,
    }
}

/// Appends a value that is JSON, on one line.
fn put_value(out: &mut Vec<u8>, value: &[u8]) {
    let blank = |byte: &u8| match byte {
        b'\n' | b'\r' => b' ',
        other => *other,
    };
    out.extend(value.iter().map(blank));
}

/// Counts what a value loses when it is put on a line of its own.
fn lose_white(losses: &mut Losses, raw: &[u8], value: &[u8]) {
    losses.add_if(raw.len() != value.len(), BLANKS);
    let has_breaks = value.iter().any(|byte| matches!(byte, b'\n' | b'\r'));
    losses.add_if(has_breaks, BREAKS);
}

/// Whether a line tells of HTTP.
fn is_http(opening: Opening, line: &CaptureLine<'_>) -> bool {
    let by_line = line.stream.is_some() || line.http.is_some();
    by_line || opening.transport == Some(LinkKind::Http)
}

/// Whether an event ends an exchange, not the session.
fn ends_exchange(line: &CaptureLine<'_>, kind: EventKind) -> bool {
    line.stream.is_some() && matches!(kind, EventKind::Eof | EventKind::Drop)
}

/// Whether an event tells of the recording alone: what it says is known from its opening, and from what it has lost.
fn is_of_recording(line: &CaptureLine<'_>, kind: EventKind) -> bool {
    let is_of_all = line.session.is_none() && line.stream.is_none();
    kind == EventKind::Recording || kind == EventKind::Open && is_of_all
}

/// `c2s` or `s2c`.
const fn direction(from: Role) -> &'static str {
    match from {
        Role::Client => "c2s",
        Role::Server => "s2c",
    }
}
