//! Cassettes of mcp-cassette: one JSON document with a list of messages, each with who sent it and when, counted from the
//! beginning. Messages are written anew, and what looks like a secret is replaced.

use super::json_lines::Members;
use super::whole::{Document, Item, Plan, Words};
use super::{Head, Kind, Lost, Reading};
use crate::event::{LinkKind, Role};
use crate::file::json::Wrong;
use crate::scan::Scanner;

pub(super) const FORMAT: super::Format = super::Format {
    name: "mcp-cassette",
    what: "a cassette of mcp-cassette",
    found: "the .json files that mcp-cassette records",
    lost: Lost::RAW.with(Lost::LINES),
    hint: "it redacts by default: what was replaced is not judged",
    is_read: true,
    recognises,
    kind: Kind::McpCassette,
};

fn recognises(head: &Head<'_>) -> bool {
    let has = |words: &[u8]| memchr::memmem::find(head.bytes, words).is_some();
    head.bytes.trim_ascii_start().starts_with(b"{")
        && has(b"\"format_version\"")
        && has(b"\"recorded_at\"")
        && has(b"\"messages\"")
}

const MESSAGES: usize = 0;
const TRANSPORT: usize = 1;

const SENDER: usize = 0;
const TIME: usize = 1;
const PAYLOAD: usize = 2;
const REDACTED: usize = 3;
const EXCHANGE: usize = 4;

/// Streams beyond this are not told apart.
const STREAMS_MAX: usize = 1024;

pub(super) fn plan(document: &Document, plan: &mut Plan) -> Reading<()> {
    let bytes = &document.bytes;
    let mut scanner = Scanner::new();
    let names: [&[u8]; 2] = [b"messages", b"transport"];
    let cassette = Members::of(bytes, document.root(), &names, &mut scanner)?;
    let Some(messages) = cassette.span(MESSAGES) else {
        return Err(Wrong::new(
            document.root(),
            "a cassette without \"messages\"",
        ));
    };
    if cassette.has(TRANSPORT) && !cassette.is(TRANSPORT, "stdio") {
        plan.opening.transport = Some(LinkKind::Http);
        plan.lost |= Lost::HTTP;
    }
    let mut redacted = 0;
    for message in document.items(messages.start) {
        redacted += u64::from(take(document, message.start, plan, &mut scanner)?);
    }
    if redacted > 0 {
        plan.lost |= Lost::PAYLOAD;
        plan.remarks
            .push(format!("frames that the recorder redacted: {redacted}"));
    }
    Ok(())
}

/// Takes one message, and says whether it was redacted.
fn take(document: &Document, at: usize, plan: &mut Plan, scanner: &mut Scanner) -> Reading<bool> {
    let names: [&[u8]; 5] = [
        b"sender",
        b"t_offset_ms",
        b"payload",
        b"redacted",
        b"exchange",
    ];
    let members = Members::of(&document.bytes, at, &names, scanner)?;
    let from = match () {
        () if members.is(SENDER, "client") => Role::Client,
        () if members.is(SENDER, "server") => Role::Server,
        () => {
            let message = "a message whose \"sender\" is neither \"client\" nor \"server\"";
            return Err(Wrong::new(at, message));
        }
    };
    let Some(payload) = members.span(PAYLOAD) else {
        return Err(Wrong::new(at, "a message without a \"payload\""));
    };
    let stream = members
        .raw(EXCHANGE)
        .and_then(|raw| stream_of(plan, &String::from_utf8_lossy(raw)));
    let t_ms = members.integer(TIME);
    plan.lost |= match t_ms {
        Some(_) => Lost::NOTHING,
        None => Lost::TIME,
    };
    let words = match document.inside(&payload) {
        Some(inside) => Words::Inside(inside),
        None => Words::Value(payload),
    };
    let t_ms = t_ms.and_then(|ms| u64::try_from(ms).ok());
    plan.items.push(Item {
        stream,
        ..Item::frame(from, t_ms, words)
    });
    Ok(members.raw(REDACTED) == Some(b"true"))
}

/// The place of that stream among the plan's.
fn stream_of(plan: &mut Plan, name: &str) -> Option<u32> {
    let known = plan.streams.iter().position(|known| known == name);
    if known.is_none() && plan.streams.len() < STREAMS_MAX {
        plan.streams.push(name.to_owned());
        return u32::try_from(plan.streams.len() - 1).ok();
    }
    u32::try_from(known?).ok()
}
