//! Error codes: what is refused, and with which number.

use mcpsim_traces::judge::Severity;
use mcpsim_traces::message::{Capability, Message, Method, Revision};

use crate::ledger::Cx;
use crate::part::{In, Part, flag, open};
use crate::rules::{Basis, Category, Level, Needs, Rule, Side, When};

pub(crate) const UNKNOWN_METHOD_CODE: Rule = Rule {
    id: "unknown-method-code",
    category: Category::Errors,
    level: Level::Should,
    level_by: &[],
    basis: Basis::Jsonrpc,
    severity: Severity::Warning,
    severity_by: &[],
    side: Side::Receiver,
    from: Revision::V2024_11_05,
    until: Revision::V2025_11_25,
    source: "JSON-RPC 2.0 specification (Error object), adopted by 2025-11-25 basic/index (Messages)",
    says: "An unknown method is refused with -32601.",
    why: "A caller that probes for a feature takes any other code for a failure of that feature.",
    tier: 2,
    needs: Needs::Causal,
    when: When::RESPONSE,
    twin: "",
};

pub(crate) const ERROR_CODE_RESERVED_RANGE: Rule = Rule {
    id: "error-code-reserved-range",
    category: Category::Errors,
    level: Level::Should,
    level_by: &[],
    basis: Basis::Jsonrpc,
    severity: Severity::Warning,
    severity_by: &[],
    side: Side::Sender,
    from: Revision::V2024_11_05,
    until: Revision::V2025_11_25,
    source: "JSON-RPC 2.0 specification (Error object), adopted by 2025-11-25 basic/index (Messages)",
    says: "Codes from -32768 to -32000 are used as defined.",
    why: "The rest of the range is kept for later versions of JSON-RPC.",
    tier: 2,
    needs: Needs::Frame,
    when: When::RESPONSE,
    twin: "",
};

/// The rows of this category.
pub(crate) const ROWS: &[Rule] = &[UNKNOWN_METHOD_CODE, ERROR_CODE_RESERVED_RANGE];

/// Whether the code lies in JSON-RPC's own range and is neither defined nor a server's own.
pub(crate) fn is_undefined(code: i64) -> bool {
    (-32768..=-32000).contains(&code)
        && !(-32099..=-32000).contains(&code)
        && !matches!(code, -32700 | -32600..=-32600 | -32603..=-32601)
}

impl Part {
    /// The party refused a request.
    #[inline]
    pub(crate) fn refusal(&mut self, cx: &mut Cx<'_>, message: &Message, request: &In) {
        if request.method != Method::Unknown || message.number == -32601 {
            return;
        }
        let is_open = self.is(flag::ANSWERED_INIT) || self.opened.is_some();
        let is_agreed =
            self.mine.has(Capability::Experimental) || self.theirs.has(Capability::Experimental);
        if request.flags & open::BAD != 0 || !is_open || is_agreed || self.is(flag::JOINED) {
            return;
        }
        let text = format!(
            "the unknown method of request {} is refused with {}; the code for that is -32601",
            request.id, message.number
        );
        self.broken(cx, &UNKNOWN_METHOD_CODE, &[request.frame, cx.frame], text);
    }
}
