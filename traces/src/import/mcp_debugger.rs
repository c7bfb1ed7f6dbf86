//! Exports of mcp-debugger: one JSON document whose messages have lost their ids. A request without its id is a notification,
//! and a response belongs to nothing: there are no frames that could be handed on without inventing them.

use super::{Head, Kind, Lost};

pub(super) const FORMAT: super::Format = super::Format {
    name: "mcp-debugger",
    what: "an export of mcp-debugger",
    found: "mcp-debugger export N",
    lost: Lost::IDS.with(Lost::RAW),
    hint: "the export leaves out the ids of requests and responses, so that no answer can be held against its request; record the \
           session with a program that keeps messages whole",
    is_read: false,
    recognises,
    kind: Kind::None,
};

fn recognises(head: &Head<'_>) -> bool {
    let has = |words: &[u8]| memchr::memmem::find(head.bytes, words).is_some();
    head.bytes.trim_ascii_start().starts_with(b"{")
        && has(b"\"friendly_name\"")
        && has(b"\"server_command\"")
        && has(b"\"session\"")
}
