//! HTTP Archive 1.2, as browsers and mitmproxy write it: an entry for each exchange, with both bodies.

use std::borrow::Cow;

use super::exchange::{Body, Exchange, Fields, Writer, plan as plan_exchanges};
use super::json_lines::Members;
use super::whole::{Document, Plan, Span};
use super::{Head, Kind, Lost, Reading};
use crate::capture::EventKind;
use crate::event::Role;
use crate::export::har as written;
use crate::file::json::Wrong;
use crate::judge::Vantage;
use crate::scan::Scanner;

pub(super) const FORMAT: super::Format = super::Format {
    name: "har",
    what: "an HTTP Archive (HAR)",
    found: "developer tools of browsers, mitmproxy, `mcpsim convert --to har`",
    lost: Lost::NOTHING,
    hint: "events in an answer have no times; where exchanges overlap, so does the order of their frames",
    is_read: true,
    recognises,
    kind: Kind::Har,
};

fn recognises(head: &Head<'_>) -> bool {
    head.begins_with(b"{", b"\"log\"") && (head.has(b"\"creator\"") || head.has(b"\"entries\""))
}

/// Where a member that must be there stands.
fn need<const N: usize>(
    members: &Members<'_, N>,
    nth: usize,
    at: usize,
    what: &str,
) -> Reading<Span> {
    let missing = || Wrong::new(at, format!("{what} is missing"));
    members.span(nth).ok_or_else(missing)
}

/// The members of the object there.
fn object<'a, const N: usize>(
    document: &'a Document,
    at: usize,
    names: &[&[u8]; N],
    what: &str,
    scanner: &mut Scanner,
) -> Reading<Members<'a, N>> {
    if document.bytes[at] != b'{' {
        return Err(Wrong::new(at, format!("{what} was expected")));
    }
    Members::of(&document.bytes, at, names, scanner)
}

pub(super) fn plan(document: &Document, plan: &mut Plan) -> Reading<()> {
    let mut scanner = Scanner::new();
    let root = document.root();
    let outer = object(document, root, &[b"log"], "an object", &mut scanner)?;
    let at = need(&outer, 0, root, "\"log\"")?.start;
    let log = object(
        document,
        at,
        &[
            b"creator",
            b"entries",
            b"comment",
            b"_lost",
            b"_vantage",
            b"_whole",
        ],
        "an object",
        &mut scanner,
    )?;
    let creator = match log.span(0) {
        Some(span) if document.bytes[span.start] == b'{' => {
            let names: [&[u8]; 1] = [b"name"];
            let creator = Members::of(&document.bytes, span.start, &names, &mut scanner)?;
            creator.text(0).unwrap_or_default()
        }
        _ => Cow::Borrowed(""),
    };
    let creator = creator.to_ascii_lowercase();
    if creator == "mcpsnoop" {
        let message = "an archive of mcpsnoop has no whole messages: check its JSON Lines instead \
                       (--trace-file, or ~/.local/state/mcpsnoop/sessions)";
        return Err(Wrong::new(at, message));
    }
    let entries = need(&log, 1, at, "\"entries\"")?;
    if document.bytes[entries.start] != b'[' {
        return Err(Wrong::new(entries.start, "a list of entries was expected"));
    }
    let is_ours = creator == "mcpsim";
    let comment = log.text(2).unwrap_or_default();
    if is_ours {
        circumstances(document, &log, plan);
    }
    let is_undated = is_ours && comment.contains(written::UNDATED);
    let mut exchanges = vec![];
    for entry in document.items(entries.start) {
        let mut one = exchange(document, entry.start, is_ours, &mut scanner)?;
        one.start_ms = one.start_ms.filter(|start| *start > 0 || !is_undated);
        exchanges.push(one);
    }
    let writer = Writer {
        keeps_bodies: creator == "mitmproxy" || is_ours,
        is_ours,
        reads_latin: creator == "mitmproxy",
        is_one_session: false,
    };
    plan_exchanges(document, exchanges, writer, plan)
}

/// What our archives say of the log that they were made of.
fn circumstances(document: &Document, log: &Members<'_, 6>, plan: &mut Plan) {
    if let Some(lost) = log.span(3) {
        for item in document.items(lost.start) {
            let name = document.inside(&item).map(|name| &document.bytes[name]);
            let name = name.and_then(|name| std::str::from_utf8(name).ok());
            plan.lost |= name.and_then(Lost::parse).unwrap_or(Lost::NOTHING);
        }
    }
    let vantage = log.text(4);
    plan.opening.vantage = vantage.and_then(|name| Vantage::parse(&name));
    plan.opening.whole = log.raw(5) == Some(b"true");
}

fn exchange<'a>(
    document: &'a Document,
    at: usize,
    is_ours: bool,
    scanner: &mut Scanner,
) -> Reading<Exchange<'a>> {
    let names: [&[u8]; 6] = [
        b"startedDateTime",
        b"time",
        b"request",
        b"response",
        b"pageref",
        b"comment",
    ];
    let entry = object(document, at, &names, "an entry", scanner)?;
    let mut exchange = Exchange {
        at,
        start_ms: entry.time(0),
        took_ms: entry.raw(1).and_then(milliseconds),
        // Pages of browsers are no sessions.
        session: entry.text(4).filter(|_| is_ours),
        is_made_up: is_ours && entry.is(5, written::PIPED),
        has_request_head: true,
        has_answer_head: true,
        ..Exchange::default()
    };
    if is_ours {
        exchange.end = match () {
            () if entry.is(5, written::BROKEN) => Some((Role::Server, EventKind::Drop)),
            () if entry.is(5, written::CLOSED_BY_CLIENT) => Some((Role::Client, EventKind::Eof)),
            () if entry.is(5, written::CLOSED_BY_SERVER) => Some((Role::Server, EventKind::Eof)),
            () => None,
        };
    }
    let asked = need(&entry, 2, at, "the entry's \"request\"")?.start;
    request(document, asked, is_ours, &mut exchange, scanner)?;
    if let Some(span) = entry.span(3) {
        response(document, span.start, is_ours, &mut exchange, scanner)?;
    }
    Ok(exchange)
}

fn request<'a>(
    document: &'a Document,
    at: usize,
    is_ours: bool,
    exchange: &mut Exchange<'a>,
    scanner: &mut Scanner,
) -> Reading<()> {
    let names: [&[u8]; 6] = [
        b"method",
        b"url",
        b"headers",
        b"postData",
        b"bodySize",
        b"comment",
    ];
    let request = object(document, at, &names, "a request", scanner)?;
    let missing = |what| Wrong::new(at, format!("a request without a {what}"));
    exchange.method = request.text(0).ok_or_else(|| missing("method"))?;
    exchange.url = request.text(1).ok_or_else(|| missing("url"))?;
    exchange.asked = fields(document, request.span(2), is_ours, request.has(5));
    exchange.has_request_head = !is_ours || !request.is(5, written::NO_HEAD);
    let text = match request.span(3) {
        Some(span) => {
            let names: [&[u8]; 1] = [b"text"];
            object(document, span.start, &names, "posted data", scanner)?.span(0)
        }
        None => None,
    };
    let size = size(&[request.integer(4)]).or_else(|| {
        let has_body = exchange.method.eq_ignore_ascii_case("post");
        (!has_body).then_some(0)
    });
    exchange.request = body(document, text, false, size)?;
    Ok(())
}

fn response<'a>(
    document: &'a Document,
    at: usize,
    is_ours: bool,
    exchange: &mut Exchange<'a>,
    scanner: &mut Scanner,
) -> Reading<()> {
    let names: [&[u8]; 5] = [b"status", b"headers", b"content", b"bodySize", b"comment"];
    let response = object(document, at, &names, "a response", scanner)?;
    let status = response
        .integer(0)
        .and_then(|status| u16::try_from(status).ok());
    // Browsers write 0 where no answer came.
    exchange.status = status.filter(|status| (100..1000).contains(status));
    exchange.answered = fields(document, response.span(1), is_ours, response.has(4));
    exchange.has_answer_head = !is_ours || !response.is(4, written::NO_HEAD);
    let mut sizes = [response.integer(3), None];
    let (mut text, mut is_base64) = (None, false);
    if let Some(span) = response.span(2) {
        let names: [&[u8]; 5] = [b"mimeType", b"text", b"encoding", b"size", b"comment"];
        let content = object(document, span.start, &names, "a body", scanner)?;
        exchange.mime = content.text(0).unwrap_or_default();
        text = content.span(1);
        is_base64 = content.is(2, "base64");
        sizes[1] = content.integer(3);
        exchange.is_cut = is_ours && content.is(4, written::LEFT_OUT);
    }
    let size = match exchange.status {
        // These never have one; an archive of our own says itself whether that was recorded.
        Some(100..200 | 204 | 304) if !is_ours => Some(0),
        _ => size(&sizes),
    };
    exchange.response = body(document, text, is_base64, size)?;
    Ok(())
}

/// In archives of our own a comment beside the fields says that they were not recorded. Elsewhere it may say anything; but no
/// head goes without fields, and the member has to be there: an empty list is one that was not recorded.
fn fields(document: &Document, span: Option<Span>, is_ours: bool, has_comment: bool) -> Fields {
    match span {
        Some(_) if is_ours && has_comment => Fields::Unknown,
        Some(span) if is_ours || document.items(span.start).next().is_some() => Fields::Pairs(span),
        _ => Fields::Unknown,
    }
}

/// How large a body was, of what is said of it: -1 stands for not known, and one that says more than nothing knows better.
fn size(said: &[Option<i64>]) -> Option<i64> {
    let known = said.iter().flatten().filter(|size| **size >= 0);
    known.max().copied()
}

fn body(
    document: &Document,
    text: Option<Span>,
    is_base64: bool,
    size: Option<i64>,
) -> Reading<Body> {
    let Some(span) = text else {
        return Ok(match size {
            Some(0) => Body::Empty,
            Some(_) => Body::Missing,
            None => Body::Unknown,
        });
    };
    let Some(inside) = document.inside(&span) else {
        return Err(Wrong::new(span.start, "a text was expected"));
    };
    let has_size = size.is_some_and(|size| size > 0);
    Ok(match () {
        () if inside.is_empty() && has_size => Body::Missing,
        () if is_base64 => Body::Base64(inside),
        () => Body::Text(inside),
    })
}

/// A number of milliseconds, without its fraction; `None` for -1, which stands for none.
fn milliseconds(text: &[u8]) -> Option<u64> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_plain = text[digits..]
        .iter()
        .all(|byte| byte.is_ascii_digit() || *byte == b'.');
    let text = std::str::from_utf8(&text[..digits]).ok()?;
    text.parse().ok().filter(|_| is_plain)
}
