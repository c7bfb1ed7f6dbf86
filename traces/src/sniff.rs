//! What a file is, told nothing but its first line: a trace, a capture, or something that is named.

use std::io;

use crate::capture::CaptureReader;
use crate::file::TraceReader;
use crate::file::json::{Wrong, quoted};
use crate::import::{CHATTER_BYTES, HEAD_BYTES, recognise};
use crate::lines::{Line, LineReader, ReadError};
use crate::observed::ObservedTrace;
use crate::recording::Recording;
use crate::scan::{Fault, FaultKind, Scanner, white};

/// Which of the program's own forms a log has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Own {
    Trace,
    Capture,
}

/// An open log, of whatever form its first line has.
pub enum Log<R> {
    /// A trace.
    Trace(Box<TraceReader<R>>),
    /// A capture.
    Capture(Box<CaptureReader<R>>),
    /// A log of another program.
    Import(Box<dyn Recording>),
}

impl<R: io::Read + 'static> Log<R> {
    /// Looks at the first line that is not blank and opens what it belongs to.
    ///
    /// # Errors
    /// What was seen instead, and what is accepted.
    pub fn open(input: R) -> Result<Log<R>, ReadError> {
        let mut lines = LineReader::new(input);
        let mut format = recognise(lines.peek(HEAD_BYTES)?);
        if format.is_none() && is_chatter(lines.peek(HEAD_BYTES)?) {
            format = recognise(lines.peek(CHATTER_BYTES)?);
        }
        if let Some(format) = format {
            return Ok(Log::Import(format.open(lines)?));
        }
        let format = loop {
            match lines.next_line()? {
                Some(line) if line.is_blank() => {}
                Some(line) => break sniff(&line).map_err(|wrong| wrong.on(line.number))?,
                None => {
                    let seen = match lines.number() {
                        0 => "the file is empty",
                        _ => "there is nothing but blank lines",
                    };
                    let line = lines.number().max(1);
                    return Err(Wrong::new(0, format!("{seen}; {ACCEPTED}")).on(line).into());
                }
            }
        };
        lines.unread();
        Ok(match format {
            Own::Trace => Log::Trace(Box::new(TraceReader::from_lines(lines)?)),
            Own::Capture => Log::Capture(Box::new(CaptureReader::from_lines(lines)?)),
        })
    }
}

impl<R: io::Read + 'static> Log<R> {
    /// The log as a recording; of a trace, what an observer would have recorded.
    pub fn into_recording(self) -> Box<dyn Recording> {
        match self {
            Log::Trace(reader) => Box::new(ObservedTrace::new(*reader)),
            Log::Capture(reader) => reader,
            Log::Import(recording) => recording,
        }
    }
}

impl<R: io::Read> Log<R> {
    /// The form's name.
    pub fn format(&self) -> &'static str {
        match self {
            Log::Trace(_) => "trace",
            Log::Capture(_) => "capture",
            Log::Import(recording) => recording.format(),
        }
    }
}

/// Whether a long text begins so that is no JSON: what it is may show later.
fn is_chatter(beginning: &[u8]) -> bool {
    let text = beginning.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(beginning);
    let first = text.trim_ascii_start().first();
    beginning.len() >= HEAD_BYTES && !matches!(first, Some(b'{')) && !text.contains(&0)
}

/// What is accepted, for messages.
const ACCEPTED: &str = "accepted are traces, whose first line is {\"mcpsim_trace\":1,…}, captures, \
     whose lines are {\"dir\":\"c2s\",\"raw\":\"…\"}, and the logs that `mcpsim list formats` names";

/// How files begin that people have and that are no text.
const MAGICS: [(&[u8], &str); 5] = [
    (b"\x1F\x8B", "gzip: unpack it first"),
    (b"\x28\xB5\x2F\xFD", "zstd: unpack it first"),
    (b"PK\x03\x04", "a zip archive: unpack it first"),
    (b"\xFF\xFE", "UTF-16: save it as UTF-8"),
    (b"\xFE\xFF", "UTF-16: save it as UTF-8"),
];

/// What the first line that is not blank belongs to.
fn sniff(line: &Line<'_>) -> Result<Own, Wrong> {
    let wrong = |at, seen: &str| Err(Wrong::new(at, format!("this is {seen}; {ACCEPTED}")));
    let bytes = line.bytes;
    if line.number == 1
        && let Some((_, name)) = MAGICS.iter().find(|(magic, _)| bytes.starts_with(magic))
    {
        return wrong(0, name);
    }
    let mark = bytes.starts_with(b"\xEF\xBB\xBF");
    let first = white(bytes, if mark { 3 } else { 0 });
    if bytes.get(first) == Some(&b'{') {
        return object(bytes, first);
    }
    let text = simdutf8::compat::from_utf8(bytes).map_err(|error| error.valid_up_to());
    let nul = memchr::memchr(0, bytes).map_or(Ok(()), Err);
    if let Err(at) = nul.and(text.map(|_| ())) {
        return wrong(at, &format!("binary: byte 0x{:02x}", bytes[at]));
    }
    if bytes.get(first) == Some(&b'[') {
        return wrong(first, "a JSON array or a log");
    }
    let scanned = Scanner::new().value(bytes, first);
    let what = match scanned.is_ok_and(|end| white(bytes, end) == bytes.len()) {
        true => "JSON, but no object",
        false => "no JSON",
    };
    wrong(first, &format!("{what}: {}", quoted(&bytes[first..])))
}

/// Looks at the names of an object's members; the object may be cut or broken after them.
fn object(bytes: &[u8], first: usize) -> Result<Own, Wrong> {
    let mut scanner = Scanner::new();
    let (mut trace, mut capture, mut frame) = (false, false, false);
    let scanned = scanner.object(bytes, first, |scanner, name, at| {
        match name {
            b"mcpsim_trace" => trace = true,
            b"dir" | b"event" => capture = true,
            b"jsonrpc" => frame = true,
            _ => {}
        }
        scanner.value(bytes, at)
    });
    let seen = match scanned {
        _ if trace => return Ok(Own::Trace),
        _ if capture => return Ok(Own::Capture),
        _ if frame => "a bare frame, which does not tell who sent it: where all of it is one side's, name the file with --c2s (what the client sent) or --s2c".to_owned(),
        Ok(_) => format!("JSON and no capture: {}", quoted(&bytes[first..])),
        Err(Fault {
            kind: FaultKind::End,
            ..
        }) => "JSON that goes on in the next line".to_owned(),
        Err(fault) => {
            let message = format!("not JSON: {}; {ACCEPTED}", fault.kind.as_str());
            return Err(Wrong::new(fault.at, message));
        }
    };
    Err(Wrong::new(first, format!("this is {seen}; {ACCEPTED}")))
}
