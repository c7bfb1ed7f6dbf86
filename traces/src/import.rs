//! Logs that other programs wrote, read as recordings: each form has a row in [`FORMATS`] and a module that knows it.
//! What a log lost is said, what had to be guessed too, and nothing is judged here.

use std::io::Read;

use crate::file::json::{Read as Reading, Wrong};
use crate::lines::{LineReader, ReadError};
use crate::lost::Lost;
use crate::recording::Recording;

mod arrow;
mod bare;
mod claude_code;
mod claude_desktop;
mod copies;
mod disorder;
mod entry;
mod exchange;
mod handshakes;
mod har;
mod http_sessions;
mod inspector_network;
mod inspector_protocol;
mod json_lines;
mod line_log;
mod mark;
mod mcp_cassette;
mod mcp_debugger;
mod mcp_rec;
mod mcp_remote;
mod mcp_trace;
mod mcp_vcr;
mod mcp_vcr_yaml;
mod mcpsnoop;
pub(crate) mod overlap;
pub mod pair;
pub mod pattern;
mod python;
mod python_http;
mod quoting;
mod refused;
mod sender;
mod shortened;
mod snoop_text;
mod sse;
mod strace;
mod supergateway;
mod tags;
pub(crate) mod time;
mod vscode;
mod whole;

use line_log::{Form, log};
use quoting::Quoting;

/// A form of log.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Its name.
    pub name: &'static str,
    /// Whose log it is.
    pub what: &'static str,
    /// Where people find it.
    pub found: &'static str,
    /// What it does not have, as a rule.
    pub lost: Lost,
    /// What else to know of it; or, where nothing in it can be judged, what to do instead.
    pub hint: &'static str,
    /// Whether it has frames that can be judged.
    pub is_read: bool,
    recognises: fn(&Head<'_>) -> bool,
    kind: Kind,
}

/// The importers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    ClaudeCode,
    ClaudeDesktop,
    VsCode,
    McpTrace,
    Mcpsnoop,
    Tags,
    McpCassette,
    Har,
    InspectorNetwork,
    InspectorProtocol,
    Supergateway,
    Strace,
    McpRec,
    McpVcr,
    McpVcrYaml,
    SnoopText,
    McpRemote,
    PythonHttp,
    Arrow,
    Bare,
    None,
}

/// All of them, in the order in which they are looked for.
pub const FORMATS: &[Format] = &[
    refused::MARKDOWN,
    claude_desktop::FORMAT,
    vscode::FORMAT,
    vscode::FORMAT_OF_STATES,
    mcp_trace::FORMAT,
    mcpsnoop::FORMAT,
    tags::FORMAT,
    har::FORMAT,
    mcp_cassette::FORMAT,
    mcp_debugger::FORMAT,
    inspector_network::FORMAT,
    inspector_protocol::FORMAT,
    supergateway::FORMAT,
    strace::FORMAT,
    mcp_rec::FORMAT,
    mcp_vcr::FORMAT,
    mcp_vcr_yaml::FORMAT,
    snoop_text::FORMAT,
    mcp_remote::FORMAT,
    python_http::FORMAT,
    claude_code::FORMAT,
    refused::PCAP,
    refused::SQLITE,
    refused::MITMPROXY,
    refused::HTML,
    refused::OTLP,
    arrow::FORMAT,
    bare::FORMAT,
    // What has frames as well is read for these.
    refused::CURSOR,
    refused::PYTHON_STDIO,
    refused::RMCP,
    refused::SESSION_AUDIT,
];

/// So much of a file is looked at to tell what it is.
pub(crate) const HEAD_BYTES: usize = 64 << 10;

/// So much may a program write before its first frame.
pub(crate) const CHATTER_BYTES: usize = 8 << 20;

/// The beginning of a file.
pub(crate) struct Head<'a> {
    /// Its first bytes, without a byte order mark.
    pub(crate) bytes: &'a [u8],
    /// Its first lines, without their ends and without what others put before each; the last may be cut.
    pub(crate) lines: Vec<&'a [u8]>,
    /// What stands before each line.
    quoting: Quoting,
}

impl<'a> Head<'a> {
    pub(crate) fn of(bytes: &'a [u8]) -> Head<'a> {
        let quoting = Quoting::of(bytes);
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        let lines = bytes.split(|byte| *byte == b'\n');
        Head {
            bytes,
            lines: lines
                .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
                .map(|line| &line[quoting.skip(line)..])
                .collect(),
            quoting,
        }
    }

    /// Whether it is JSON that begins with these two, with blanks at most between them.
    pub(crate) fn begins_with(&self, outer: &[u8], inner: &[u8]) -> bool {
        let text = self.bytes.trim_ascii_start();
        let inside = text.strip_prefix(outer).map(<[u8]>::trim_ascii_start);
        inside.is_some_and(|inside| inside.starts_with(inner))
    }

    /// Whether that stands in it.
    pub(crate) fn has(&self, words: &[u8]) -> bool {
        memchr::memmem::find(self.bytes, words).is_some()
    }

    /// Whether any of the first lines is such a one.
    pub(crate) fn any(&self, is: impl Fn(&[u8]) -> bool) -> bool {
        self.lines.iter().any(|line| is(line))
    }
}

/// The form of a file that begins so, if it is known.
pub fn recognise(beginning: &[u8]) -> Option<&'static Format> {
    let head = Head::of(beginning);
    FORMATS.iter().find(|format| (format.recognises)(&head))
}

impl Format {
    /// Reads a log of this form.
    ///
    /// # Errors
    /// The input cannot be read, or nothing in logs of this form can be judged.
    pub fn open<R: Read + 'static>(
        &'static self,
        lines: LineReader<R>,
    ) -> Result<Box<dyn Recording>, ReadError> {
        match self.kind {
            Kind::ClaudeCode => claude_code::open(self, lines),
            Kind::ClaudeDesktop => log(self, lines, claude_desktop::Form::default()),
            Kind::VsCode => log(self, lines, vscode::Form),
            Kind::McpTrace => log(self, lines, mcp_trace::Form::default()),
            Kind::Mcpsnoop => log(self, lines, mcpsnoop::Form::default()),
            Kind::Tags => log(self, lines, tags::Form),
            Kind::Har => whole::open(self, lines, har::plan),
            Kind::McpCassette => whole::open(self, lines, mcp_cassette::plan),
            Kind::InspectorNetwork => whole::open(self, lines, inspector_network::plan),
            Kind::InspectorProtocol => whole::open(self, lines, inspector_protocol::plan),
            Kind::Supergateway => log(self, lines, supergateway::Form::default()),
            Kind::Strace => log(self, lines, strace::Form::default()),
            Kind::McpRec => log(self, lines, mcp_rec::Form::default()),
            Kind::McpVcr => log(self, lines, mcp_vcr::Form::default()),
            Kind::McpVcrYaml => log(self, lines, mcp_vcr_yaml::Form::default()),
            Kind::SnoopText => log(self, lines, snoop_text::Form::default()),
            Kind::McpRemote => log(self, lines, mcp_remote::Form::default()),
            Kind::PythonHttp => log(self, lines, python_http::Form::default()),
            Kind::Arrow => {
                let mut lines = lines;
                // Its first frames may come late.
                let head_bytes = match arrow::has_frames(lines.peek(HEAD_BYTES)?) {
                    true => HEAD_BYTES,
                    false => CHATTER_BYTES,
                };
                let form = arrow::Form::new(lines.peek(head_bytes)?)?;
                log(self, lines, form)
            }
            Kind::Bare => log(self, lines, bare::Form::default()),
            Kind::None => {
                let message = format!(
                    "this is {}, which cannot be checked: {}",
                    self.what, self.hint
                );
                Err(Wrong::new(0, message).on(1).into())
            }
        }
    }
}

/// So many of something, with the right words.
fn several(count: u64, one: &str, many: &str) -> String {
    match count {
        1 => format!("one {one}"),
        count => format!("{count} {many}"),
    }
}

/// Lines that tell nothing.
fn passed_over(count: u64) -> String {
    match count {
        1 => "one line has no frame and was passed over".to_owned(),
        count => format!("{count} lines have no frame and were passed over"),
    }
}

/// Several sessions are in a log that does not tell their frames apart.
fn mixed(begun: u64) -> String {
    format!("{begun} sessions began in it, and it does not tell whose a frame is")
}

/// Whether a text has the request that a session begins with; looked at without parsing.
fn starts_initialize(text: &[u8]) -> bool {
    let name = b"\"initialize\"";
    memchr::memmem::find_iter(text, name).any(|at| {
        let before = text[..at].trim_ascii_end();
        let before = before.strip_suffix(b":").map(<[u8]>::trim_ascii_end);
        before.is_some_and(|before| before.ends_with(b"\"method\""))
    })
}
