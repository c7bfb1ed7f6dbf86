//! Logs that people have and in which nothing can be checked: they are recognised, so that what to do instead can be said.

use super::json_lines::members_of;
use super::time::stamp;
use super::{Format, Head, Kind, Lost};

/// A form that is only recognised.
const fn refused(
    name: &'static str,
    what: &'static str,
    found: &'static str,
    hint: &'static str,
    recognises: fn(&Head<'_>) -> bool,
) -> Format {
    Format {
        name,
        what,
        found,
        lost: Lost::NOTHING,
        hint,
        is_read: false,
        recognises,
        kind: Kind::None,
    }
}

pub(super) const PCAP: Format = refused(
    "pcap",
    "a packet capture (pcap)",
    "tcpdump -w FILE, Wireshark",
    "record HTTP with `mitmdump -w FILE` in front of the server and convert that to HAR, \
     or take the bodies out with `tshark -r FILE -Y http -T fields -e http.file_data`",
    |head| {
        let magics: [&[u8]; 5] = [
            b"\xD4\xC3\xB2\xA1",
            b"\xA1\xB2\xC3\xD4",
            b"\x4D\x3C\xB2\xA1",
            b"\xA1\xB2\x3C\x4D",
            b"\x0A\x0D\x0D\x0A",
        ];
        magics.iter().any(|magic| head.bytes.starts_with(magic))
    },
);

pub(super) const SQLITE: Format = refused(
    "sqlite",
    "a SQLite database",
    "~/.mcphawk/mcphawk.db",
    "of mcphawk, export the messages with \
     `sqlite3 -json mcphawk.db 'select * from messages order by ts'` and write each as \
     {\"dir\":\"c2s\",\"raw\":\"…\"}, a line each",
    |head| head.bytes.starts_with(b"SQLite format 3\0"),
);

pub(super) const MITMPROXY: Format = refused(
    "mitmproxy",
    "a flow file of mitmproxy",
    "mitmdump -w FILE",
    "convert it to HAR with `mitmdump -nr FILE --set hardump=OUT.har`",
    |head| {
        let beginning = &head.bytes[..head.bytes.len().min(4096)];
        let digits = beginning
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let has = |words: &[u8]| memchr::memmem::find(beginning, words).is_some();
        digits > 0
            && beginning.get(digits) == Some(&b':')
            && (has(b":websocket;") || has(b":response;") || has(b":client_conn;"))
    },
);

pub(super) const MARKDOWN: Format = refused(
    "markdown",
    "a text about logs that quotes lines of them",
    "notes and bug reports in Markdown",
    "cut out the log, and give that alone",
    |head| {
        let is_quoted = |line: &[u8]| memchr::memmem::find(line, b"\"jsonrpc\"").is_some();
        let filled = head
            .lines
            .iter()
            .filter(|line| !line.trim_ascii().is_empty());
        let [mut frames, mut prose, mut fences] = [0; 3];
        let mut is_greeted = false;
        for line in filled.clone() {
            frames += u32::from(is_quoted(line));
            prose += u32::from(!is_quoted(line) && stamp(line).is_none());
            fences += u32::from(line.starts_with(b"```"));
            is_greeted |= is_quoted(line)
                && memchr::memmem::find(line, b"\"result\"").is_some()
                && memchr::memmem::find(line, b"\"protocolVersion\"").is_some();
        }
        let is_titled = filled.clone().next().is_some_and(|line| {
            let title = line.iter().position(|byte| *byte != b'#').unwrap_or(0);
            title > 0 && line[title] == b' '
        });
        // A report that has a whole session in it can be read as that.
        (is_titled || fences > 1) && frames > 0 && prose > frames && !is_greeted
    },
);

pub(super) const HTML: Format = refused(
    "html",
    "an HTML page",
    "reports of mcpsnoop, mcp-debugger and others",
    "export the messages themselves, as JSON Lines where that is offered",
    |head| {
        let begin = head.bytes.trim_ascii_start();
        let begin = begin[..begin.len().min(15)].to_ascii_lowercase();
        begin.starts_with(b"<!doctype html") || begin.starts_with(b"<html")
    },
);

pub(super) const OTLP: Format = refused(
    "otlp",
    "telemetry as OTLP writes it",
    "exports of spans and logs",
    "spans do not hold the messages: record the session itself",
    |head| {
        let first = first(head);
        let names: [&[u8]; 3] = [
            b"{\"resourceSpans\"",
            b"{\"resourceLogs\"",
            b"{\"resourceMetrics\"",
        ];
        names.iter().any(|name| first.starts_with(name))
    },
);

pub(super) const CURSOR: Format = refused(
    "cursor",
    "the MCP log of Cursor",
    "the Output panel, \"MCP Logs\"",
    "it has states and no messages: put a recorder such as mcpsnoop between Cursor and the server",
    |head| {
        let words: [&[u8]; 7] = [
            b"Handling CreateClient action",
            b"Starting new stdio process with command:",
            b"Successfully connected to stdio server",
            b"Handling ListOfferings action",
            b"Handling CallTool action",
            b"Successfully called tool",
            b"Client closed for command",
        ];
        head.any(|line| {
            let Some(stamp) = stamp(line) else {
                return false;
            };
            let rest = &line[stamp.length..];
            rest.starts_with(b" [")
                && words
                    .iter()
                    .any(|words| memchr::memmem::find(rest, words).is_some())
        })
    },
);

pub(super) const PYTHON_STDIO: Format = refused(
    "python-sdk-stdio",
    "a log of a server of the Python SDK",
    "logging at DEBUG, mcp.server.lowlevel",
    "it has no messages: record the server's standard streams, with tee or strace or mcpsnoop",
    |head| head.any(|line| is_of_logger(line, b"mcp.server.lowlevel")),
);

pub(super) const RMCP: Format = refused(
    "rmcp",
    "tracing output of the Rust SDK (rmcp)",
    "RUST_LOG=rmcp=trace",
    "messages are shown as Rust shows values, and not all of them: record the standard streams, with tee or mcpsnoop",
    |head| {
        head.any(|line| {
            let has = |words: &[u8]| memchr::memmem::find(line, words).is_some();
            !line.starts_with(b"{")
                && has(b"rmcp::")
                && (has(b"new event") || has(b"received request") || has(b"response message"))
        })
    },
);

pub(super) const SESSION_AUDIT: Format = refused(
    "mcp-session-audit",
    "a log of mcp-session-audit",
    "hand-made",
    "its `direction` tells requests from responses and not who sent them: write \
     {\"dir\":\"c2s\",\"raw\":\"…\"} instead, c2s for what the client sent",
    |head| {
        let names: [&[u8]; 6] = [
            b"direction",
            b"method",
            b"result",
            b"error",
            b"message",
            b"origin",
        ];
        head.lines.iter().take(4).any(|line| {
            members_of(line, &names).is_some_and(|members| {
                let is_kind = members.is(0, "request") || members.is(0, "response");
                let is_frame = (1..4).any(|name| members.has(name));
                is_kind && is_frame && !members.has(4) && !members.has(5)
            })
        })
    },
);

/// The first line that is not blank.
fn first<'a>(head: &Head<'a>) -> &'a [u8] {
    let mut lines = head.lines.iter().map(|line| line.trim_ascii());
    lines.find(|line| !line.is_empty()).unwrap_or_default()
}

/// Whether it is a line of Python's logging, of a logger whose name begins so.
fn is_of_logger(line: &[u8], logger: &[u8]) -> bool {
    let rest = match stamp(line) {
        Some(stamp) => &line[stamp.length..],
        None => line,
    };
    let Some(at) = memchr::memmem::find(rest, logger) else {
        return false;
    };
    // Before it there is the level, after it what is said.
    at < 24 && !rest[..at].contains(&b'{') && rest[at..].contains(&b':')
}
