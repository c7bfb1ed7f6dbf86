//! Defects of writing: what stands between frames, inside them, and where lines end.

use mcpsim_traces::message::Method;

use super::{Fault, does, writes};
use crate::defect::Defect;
use crate::scenario::PartyRole::{Client, Server};
use crate::tamper::{Edit, On};

pub(super) const FAULTS: &[Fault] = &[
    writes(
        "prints-a-banner",
        "The server prints a banner on its standard output.",
        "one-call",
        Server,
        "stdio-stdout-noise",
        On::Result(Method::Initialize),
        Edit::Before(b"Server listening on stdio"),
    ),
    writes(
        "prints-while-it-works",
        "The server prints what it does on its standard output.",
        "one-call",
        Server,
        "stdio-stdout-noise",
        On::Result(Method::ToolsCall),
        Edit::Before(b"[debug] echo called"),
    ),
    writes(
        "leads-with-a-length",
        "The server writes a Content-Length header before each frame.",
        "one-call",
        Server,
        "stdio-stdout-noise",
        On::Any,
        Edit::LengthHeader,
    ),
    writes(
        "client-leads-with-a-length",
        "The client writes a Content-Length header before each frame.",
        "one-call",
        Client,
        "stdio-stdin-noise",
        On::Any,
        Edit::LengthHeader,
    ),
    writes(
        "writes-over-several-lines",
        "The server writes its frames over several lines.",
        "one-call",
        Server,
        "stdio-embedded-newline",
        On::Result(Method::ToolsCall),
        Edit::Pretty,
    ),
    writes(
        "client-writes-over-several-lines",
        "The client writes its frames over several lines.",
        "one-call",
        Client,
        "stdio-embedded-newline",
        On::Request(Method::ToolsCall),
        Edit::Pretty,
    ),
    writes(
        "begins-with-a-mark",
        "The server writes a byte-order mark before its first frame.",
        "one-call",
        Server,
        "stdio-stdout-noise",
        On::Result(Method::Initialize),
        Edit::Marked,
    ),
    writes(
        "writes-latin-1",
        "The server writes text in another encoding than UTF-8.",
        "one-call",
        Server,
        "not-utf8",
        On::Result(Method::ToolsCall),
        Edit::Latin1,
    ),
    writes(
        "client-writes-latin-1",
        "The client writes text in another encoding than UTF-8.",
        "one-call",
        Client,
        "not-utf8",
        On::Request(Method::ToolsCall),
        Edit::Latin1,
    ),
    writes(
        "weaves-two-writers",
        "Two tasks of the server write at once, and one's frame lies inside the other's.",
        "parallel-calls",
        Server,
        "unparsable-message",
        On::Result(Method::ToolsCall),
        Edit::Woven,
    )
    .sometimes(),
    writes(
        "client-weaves-two-writers",
        "Two tasks of the client write at once, and one's frame lies inside the other's.",
        "parallel-calls",
        Client,
        "unparsable-message",
        On::Request(Method::ToolsCall),
        Edit::Woven,
    )
    .sometimes(),
    writes(
        "breaks-a-line-in-two",
        "The server's line breaks in the middle of a frame.",
        "one-call",
        Server,
        "stdio-embedded-newline",
        On::Result(Method::ToolsCall),
        Edit::BrokenAfter(40),
    ),
    writes(
        "cuts-a-line",
        "The server's answer stops in the middle.",
        "one-call",
        Server,
        "unparsable-message",
        On::Result(Method::ToolsCall),
        Edit::CutAfter(40),
    ),
    writes(
        "client-cuts-a-line",
        "The client's call stops in the middle.",
        "one-call",
        Client,
        "unparsable-message",
        On::Request(Method::ToolsCall),
        Edit::CutAfter(40),
    ),
    writes(
        "two-things-on-a-line",
        "Something follows an answer on the same line.",
        "one-call",
        Server,
        "unparsable-message",
        On::Result(Method::ToolsCall),
        Edit::Followed(b" ok"),
    ),
    writes(
        "a-buffer-for-one",
        "The server's answers go through a buffer that holds one: of two that are done at once one is lost.",
        "parallel-calls",
        Server,
        "request-unanswered",
        On::Result(Method::ToolsCall),
        Edit::ThroughOneSlot,
    )
    .sometimes(),
    does(
        "never-reads-stderr",
        "The client takes hold of its server's stderr and never reads it: the server stops when that is full.",
        "stderr-lines",
        Client,
        "request-unanswered",
        Defect::LeavesStderr,
    ),
    does(
        "writes-before-it-reads",
        "Neither side reads while a frame of its own waits for room in a pipe: two full pipes stop both.",
        "full-pipes",
        Server,
        "request-unanswered",
        Defect::WritesBeforeReading,
    )
    .shared()
    .sometimes(),
    does(
        "client-writes-before-it-reads",
        "The client reads nothing while a frame of its own waits for room in a pipe, and a server that waits to write on its \
            stderr waits for it.",
        "full-pipes-and-stderr",
        Client,
        "request-unanswered",
        Defect::WritesBeforeReading,
    )
    .sometimes(),
];
