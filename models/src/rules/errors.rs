//! Error codes: what is refused, and with which number.

use mcpsim_traces::message::{Capability, Condition, Kind, Message, Method, Version};
use mcpsim_traces::tape::Value;

use crate::deep::topics::ignore;
use crate::deep::{Asked, Deep, Frame, Topic};
use crate::ledger::Cx;
use crate::part::{In, Part, flag, open};
use crate::rules::{Basis, Category, NOTE, Needs, Rule, SHOULD, Side, When};

pub(crate) const UNKNOWN_METHOD_CODE: Rule = Rule {
    id: "unknown-method-code",
    category: Category::Errors,
    basis: Basis::Jsonrpc,
    side: Side::Receiver,
    source: "JSON-RPC 2.0 specification (Error object), adopted by 2025-11-25 basic/index (Messages)",
    says: "An unknown method is refused with -32601.",
    why: "A caller that probes for a feature takes any other code for a failure of that feature.",
    needs: Needs::Causal,
    when: When::RESPONSE,
    ..SHOULD
};

pub(crate) const ERROR_CODE_RESERVED_RANGE: Rule = Rule {
    id: "error-code-reserved-range",
    category: Category::Errors,
    basis: Basis::Jsonrpc,
    source: "JSON-RPC 2.0 specification (Error object), adopted by 2025-11-25 basic/index (Messages)",
    says: "Codes from -32768 to -32000 are used as defined.",
    why: "The rest of the range is kept for later versions of JSON-RPC.",
    when: When::RESPONSE,
    twin: "err-custom-range",
    ..SHOULD
};

pub(crate) const PARSE_ERROR_ANSWER: Rule = Rule {
    id: "parse-error-answer",
    category: Category::Errors,
    basis: Basis::Jsonrpc,
    side: Side::Receiver,
    source: "JSON-RPC 2.0 specification (Error object), adopted by 2025-11-25 basic/index (Messages)",
    says: "-32700 stands for text that is no JSON, and such text has no id that could be repeated.",
    why: "Whoever reads the code looks for a broken line on the wire and finds none: the fault lies in the request's contents.",
    needs: Needs::Causal,
    when: When::RESPONSE,
    ..NOTE
};

pub(crate) const INVALID_PARAMS_CODE: Rule = Rule {
    id: "invalid-params-code",
    category: Category::Errors,
    basis: Basis::Jsonrpc,
    side: Side::Receiver,
    source: "JSON-RPC 2.0 specification (Error object), adopted by 2025-11-25 basic/index (Messages)",
    says: "Params that do not have the shape of their method are refused with -32602.",
    why: "Served all the same, or refused with a code that tells of a failure, the caller never learns of its own slip.",
    needs: Needs::Causal,
    when: When::RESPONSE,
    twin: "err-invalid-params",
    ..NOTE
};

/// The rows of this category.
pub(crate) const ROWS: &[Rule] = &[
    UNKNOWN_METHOD_CODE,
    ERROR_CODE_RESERVED_RANGE,
    PARSE_ERROR_ANSWER,
    INVALID_PARAMS_CODE,
];

/// Answers to requests whose params do not have the shape of their method.
pub(crate) const PARAMS: Topic = Topic {
    by: params_answered,
    toward: ignore,
};

/// Codes that are right for such a request too: the method is not there at all, or another rule speaks of the
/// code.
const RIGHT_CODES: &[i64] = &[-32602, -32601, PARSE_ERROR];

fn params_answered(part: &mut Part, _: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let Some(asked) = frame.asked.filter(|asked| asked.is_misshapen) else {
        return;
    };
    let answer = match frame.message.kind {
        Kind::Result if may_have_refused(frame) => return,
        Kind::Result => "is answered with a result".to_string(),
        Kind::Error if RIGHT_CODES.contains(&frame.message.number) => return,
        Kind::Error => format!("is refused with {}", frame.message.number),
        _ => return,
    };
    let is_settled = frame.revision.is_some()
        || asked.method == Method::Initialize
            && matches!(frame.message.version, Version::Known(known) if known.has_handshake());
    let request = part.find_in(asked.id).ok().map(|at| &part.inn[at]);
    let is_cancelled = request.is_some_and(|request| request.cancel.is_some());
    if !is_settled || is_cancelled || cx.refused || is_others_matter(part, frame, asked) {
        return;
    }
    let text = format!(
        "the params of {} {} do not have the shape of the method, and it {answer}; -32602 refuses such params",
        asked.method.words(),
        asked.id
    );
    let frames = [asked.frame, cx.frame];
    part.broken(cx, &INVALID_PARAMS_CODE, &frames, text);
}

/// A result that may tell of a refusal, now or later: of a tool, or of a task.
fn may_have_refused(frame: &Frame<'_>) -> bool {
    let is_error = || {
        let told = frame.payload.and_then(|result| result.get("isError"));
        told.and_then(Value::as_bool) == Some(true)
    };
    frame.message.has(Condition::TaskCreated) || frame.method == Method::ToolsCall && is_error()
}

/// Answers of which a rule speaks that knows more of the method.
fn is_others_matter(part: &Part, frame: &Frame<'_>, asked: &Asked) -> bool {
    let is_error = frame.message.kind == Kind::Error;
    match asked.method {
        Method::LoggingSetLevel => true,
        // A handshake may be refused for its version, or for coming twice.
        Method::Initialize => is_error,
        Method::PromptsGet => asked.basis.lacks.is_present(),
        Method::CompletionComplete if is_error => {
            let lacks_argument = asked.read_params(|params| params.get("argument").is_none());
            !part.mine.has(Capability::Completions) || lacks_argument != Some(false)
        }
        // One of a code of its own tells of the tool.
        Method::ToolsCall => is_error && !(-32768..=-32000).contains(&frame.message.number),
        _ => false,
    }
}

/// JSON-RPC's code for text that is no JSON.
pub(crate) const PARSE_ERROR: i64 = -32700;

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
        if message.number == PARSE_ERROR && !cx.refused {
            let text = format!(
                "the answer to request {} is error -32700, which is for text that is no JSON; \
                    a request that was read has a code of its own",
                request.id
            );
            self.broken(cx, &PARSE_ERROR_ANSWER, &[request.frame, cx.frame], text);
        } else if request.method == Method::Ping {
            self.ping_refused(cx, message, request);
        }
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

    /// An error without an id, where something that could not be read may be what it answers.
    #[cold]
    pub(crate) fn unreadable_answered(&self, cx: &mut Cx<'_>, message: &Message) {
        // Only where it can be nothing else: one unit, and that was no JSON.
        let is_one = self.unreadable == 1 && self.is(flag::GARBLED_IN) && self.inn.is_empty();
        if is_one && !self.is(flag::JOINED) && !matches!(message.number, PARSE_ERROR | -32600) {
            let text = format!(
                "what may be the answer to text that is no JSON has the code {}; the code for that is -32700",
                message.number
            );
            self.unsure(cx, &PARSE_ERROR_ANSWER, &[cx.frame], text);
        }
    }
}
