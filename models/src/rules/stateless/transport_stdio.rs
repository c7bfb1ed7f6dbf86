//! stdio under 2026-07-28. The code is that of the rules of sessions, in `transport_stdio`.

use mcpsim_traces::judge::Severity;

use crate::rules::{Category, Needs, Rule, STATELESS_MUST, STATELESS_NOTE, Side, When};

const MUST: Rule = Rule {
    category: Category::TransportStdio,
    source: "2026-07-28 basic/transports/stdio (stdio)",
    needs: Needs::Transport,
    when: When::LINE,
    ..STATELESS_MUST
};

pub(crate) const STDIO_LINE_FRAMING: Rule = Rule {
    id: "stdio-line-framing",
    side: Side::Both,
    says: "A line holds one message, and a message is one line.",
    why: "Readers take each line for a message: pieces of one, or two on one line, are lost.",
    ..MUST
};

pub(crate) const STDIO_STDOUT_CLEAN: Rule = Rule {
    id: "stdio-stdout-clean",
    side: Side::Server,
    says: "The server writes nothing but messages to stdout.",
    why: "A banner or a print there is read as a broken message; logs belong on stderr.",
    ..MUST
};

pub(crate) const STDIO_STDIN_CLEAN: Rule = Rule {
    id: "stdio-stdin-clean",
    side: Side::Client,
    says: "The client writes nothing but messages to the server's stdin.",
    why: "The server reads every line as a message.",
    ..MUST
};

pub(crate) const STDIO_EXIT_ON_EOF: Rule = Rule {
    id: "stdio-exit-on-eof",
    category: Category::TransportStdio,
    side: Side::Server,
    severity: Severity::Warning,
    source: "2026-07-28 basic/transports/stdio (Shutdown)",
    says: "The server ends soon after its stdin is closed.",
    why: "It has to be killed, or is left behind: one more process for each client.",
    needs: Needs::Time,
    when: When::INPUT_END,
    ..STATELESS_NOTE
};

/// The rows of this category.
pub(crate) const ROWS: &[Rule] = &[
    STDIO_LINE_FRAMING,
    STDIO_STDOUT_CLEAN,
    STDIO_STDIN_CLEAN,
    STDIO_EXIT_ON_EOF,
];
