//! What the Inspector exports of its Network screen: one JSON array of exchanges over HTTP, with their bodies. The stream that a GET
//! opens is not among them.

use super::exchange::{Body, Exchange, Fields, Writer, plan as plan_exchanges};
use super::json_lines::Members;
use super::whole::{Document, Plan, Span};
use super::{Head, Kind, Lost, Reading};
use crate::file::json::Wrong;
use crate::scan::Scanner;

pub(super) const FORMAT: super::Format = super::Format {
    name: "inspector-network",
    what: "an export of the Inspector's Network screen",
    found: "the Inspector, Network, Export",
    lost: Lost::FRAMES,
    hint: "what the server says on a stream that a GET opened is not in it",
    is_read: true,
    recognises,
    kind: Kind::InspectorNetwork,
};

fn recognises(head: &Head<'_>) -> bool {
    let names: [&[u8]; 3] = [b"\"timestamp\"", b"\"url\"", b"\"requestHeaders\""];
    head.begins_with(b"[", b"{") && names.into_iter().all(|name| head.has(name))
}

const NAMES: [&[u8]; 9] = [
    b"timestamp",
    b"duration",
    b"method",
    b"url",
    b"requestHeaders",
    b"requestBody",
    b"responseStatus",
    b"responseHeaders",
    b"responseBody",
];
const TIME: usize = 0;
const DURATION: usize = 1;
const METHOD: usize = 2;
const URL: usize = 3;
const ASKED: usize = 4;
const REQUEST: usize = 5;
const STATUS: usize = 6;
const ANSWERED: usize = 7;
const RESPONSE: usize = 8;

pub(super) fn plan(document: &Document, plan: &mut Plan) -> Reading<()> {
    let mut scanner = Scanner::new();
    let mut exchanges = vec![];
    for entry in document.items(document.root()) {
        exchanges.push(exchange(document, entry.start, &mut scanner)?);
    }
    // A browser shows the page no header that the server does not expose: the session's id may be missing in answers.
    let writer = Writer {
        is_one_session: true,
        ..Writer::default()
    };
    plan_exchanges(document, exchanges, writer, plan)
}

fn exchange<'a>(document: &'a Document, at: usize, scanner: &mut Scanner) -> Reading<Exchange<'a>> {
    if document.bytes[at] != b'{' {
        return Err(Wrong::new(at, "an exchange of the export was expected"));
    }
    let members = Members::of(&document.bytes, at, &NAMES, scanner)?;
    let missing = |what| Wrong::new(at, format!("an exchange without a {what}"));
    let unsigned = |nth| members.integer(nth).and_then(|one| u64::try_from(one).ok());
    let status = unsigned(STATUS).and_then(|status| u16::try_from(status).ok());
    let mime = match members.span(ANSWERED) {
        Some(span) if document.bytes[span.start] == b'{' => {
            let names: [&[u8]; 2] = [b"content-type", b"Content-Type"];
            let fields = Members::of(&document.bytes, span.start, &names, scanner)?;
            fields.text(0).or(fields.text(1)).unwrap_or_default()
        }
        _ => "".into(),
    };
    Ok(Exchange {
        at,
        start_ms: members.time(TIME),
        took_ms: unsigned(DURATION),
        method: members.text(METHOD).ok_or_else(|| missing("method"))?,
        url: members.text(URL).ok_or_else(|| missing("url"))?,
        asked: fields(members.span(ASKED)),
        request: body(document, members.span(REQUEST))?,
        status: status.filter(|status| (100..1000).contains(status)),
        answered: fields(members.span(ANSWERED)),
        mime,
        response: body(document, members.span(RESPONSE))?,
        has_request_head: true,
        has_answer_head: true,
        ..Exchange::default()
    })
}

fn fields(span: Option<Span>) -> Fields {
    span.map_or(Fields::Unknown, Fields::Members)
}

fn body(document: &Document, span: Option<Span>) -> Reading<Body> {
    let Some(span) = span else {
        return Ok(Body::Empty);
    };
    let text = document.inside(&span).map(Body::Text);
    text.ok_or_else(|| Wrong::new(span.start, "a text was expected"))
}
