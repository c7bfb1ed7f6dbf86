//! Error codes of 2026-07-28.

use mcpsim_traces::event::{LinkKind, Role};
use mcpsim_traces::judge::{Severity, Verdict};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Condition, Conditions, Kind, Message, Method, Revision};

use crate::deep::{Asked, Deep, Frame};
use crate::era::Era;
use crate::ledger::Cx;
use crate::part::{Part, open};
use crate::rules::stateless::capability::of_request;
use crate::rules::stateless::correlation::may_send_newer;
use crate::rules::stateless::versioning::is_removed;
use crate::rules::{
    Basis, Category, Needs, Rule, STATELESS_MUST, STATELESS_NOTE, STATELESS_SHOULD, Side, When,
};

pub(crate) const UNKNOWN_METHOD_ANSWER: Rule = Rule {
    id: "unknown-method-answer",
    category: Category::Errors,
    side: Side::Server,
    needs: Needs::Causal,
    when: When::STATELESS_RESPONSE,
    source: "2026-07-28 schema.ts (MethodNotFoundError)",
    says: "A method that the server does not have is refused with -32601.",
    why: "A caller that probes for a feature takes any other code for a failure of that feature, and a result for its presence.",
    ..STATELESS_MUST
};

pub(crate) const ERR_RESERVED_RANGE: Rule = Rule {
    id: "err-reserved-range",
    category: Category::Errors,
    side: Side::Server,
    when: When::STATELESS_ERROR,
    source: "2026-07-28 basic/index (Error Codes)",
    says: "Of the codes from -32099 to -32020 only -32020, -32021 and -32022 are used, and as they are defined.",
    why: "Clients act on these codes: they mend their headers, declare more, or choose another version.",
    ..STATELESS_MUST
};

pub(crate) const ERR_RETIRED_CODES: Rule = Rule {
    id: "err-retired-codes",
    category: Category::Errors,
    side: Side::Server,
    needs: Needs::Causal,
    when: When::STATELESS_ERROR,
    source: "2026-07-28 basic/index (Error Codes)",
    says: "-32002 and -32042 are not used any more.",
    why: "They tell a client to treat the server as one of an older revision, or mean nothing to it.",
    ..STATELESS_MUST
};

pub(crate) const ERR_CUSTOM_RANGE: Rule = Rule {
    id: "err-custom-range",
    category: Category::Errors,
    side: Side::Server,
    when: When::STATELESS_ERROR,
    source: "2026-07-28 basic/index (Error Codes)",
    says: "A server's own codes lie outside -32768 to -32000.",
    why: "JSON-RPC keeps the range for itself: a later revision may give the code another meaning.",
    ..STATELESS_SHOULD
};

pub(crate) const ERR_LEGACY_RANGE: Rule = Rule {
    id: "err-legacy-range",
    category: Category::Errors,
    side: Side::Server,
    when: When::STATELESS_ERROR,
    source: "2026-07-28 basic/index (Error Codes)",
    says: "New programs avoid the codes from -32019 to -32000.",
    why: "Many libraries use them for failures of their own, such as a time-out, so nobody can read a meaning into them.",
    ..STATELESS_NOTE
};

pub(crate) const ERR_PARSE: Rule = Rule {
    id: "err-parse",
    category: Category::Errors,
    basis: Basis::Jsonrpc,
    side: Side::Server,
    needs: Needs::Causal,
    when: When::STATELESS_ERROR,
    source: "2026-07-28 schema.ts (ParseError)",
    says: "Text that is no JSON is refused with -32700 and without an id, JSON that is no request with -32600 or -32602.",
    why: "Whoever reads the code looks for a broken line on the wire and finds none, or the other way round.",
    ..STATELESS_SHOULD
};

pub(crate) const ERR_INVALID_PARAMS: Rule = Rule {
    id: "err-invalid-params",
    category: Category::Errors,
    basis: Basis::Schema,
    tier: 3,
    side: Side::Server,
    needs: Needs::Causal,
    when: When::STATELESS_RESPONSE,
    source: "2026-07-28 schema.ts (InvalidParamsError)",
    says: "A request without a parameter that its method needs is refused with -32602.",
    why: "The caller cannot tell its own slip from a failure of the server, and tries the same again.",
    ..STATELESS_SHOULD
};

pub(crate) const ROWS: &[Rule] = &[
    UNKNOWN_METHOD_ANSWER,
    ERR_RESERVED_RANGE,
    ERR_RETIRED_CODES,
    ERR_CUSTOM_RANGE,
    ERR_LEGACY_RANGE,
    ERR_PARSE,
    ERR_INVALID_PARAMS,
];

/// JSON-RPC's code for text that is no JSON.
const PARSE_ERROR: i64 = -32700;

/// Bits of what could not be read.
pub(crate) mod unread {
    /// Text that is no JSON.
    pub(crate) const NO_JSON: u8 = 1;
    /// JSON that is no request.
    pub(crate) const NO_REQUEST: u8 = 2;
}

/// How a request outside any session is refused, and what should have been refused.
pub(crate) fn by(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    if part.role != Role::Server || cx.era == Era::Foreign {
        return;
    }
    let Some(asked) = frame.asked else { return };
    match frame.message.kind {
        Kind::Error => {
            let code = frame.message.number;
            let is_told = part.refuses_absent(deep, cx, frame, asked);
            if !is_told && (-32768..=-32000).contains(&code) {
                part.judge_code(cx, frame, asked);
            }
        }
        Kind::Result if is_absent(asked.method) => part.serves_absent(cx, asked),
        Kind::Result => part.answers_incomplete(cx, frame, asked),
        _ => {}
    }
}

/// Whether no server has that method under this revision.
fn is_absent(method: Method) -> bool {
    method == Method::Unknown || is_removed(method) || !may_send_newer(Role::Client, method)
}

/// Whether a request has a fault of its own that the code is right for.
fn explains(part: &Part, asked: &Asked, code: i64) -> bool {
    match code {
        -32602 => !asked.meta.is_whole || lacks_param(asked),
        -32020 => part.link == LinkKind::Http,
        -32022 => {
            let version = Key::text(Revision::V2026_07_28.as_str().as_bytes());
            asked.meta.version != version
        }
        _ => false,
    }
}

/// Whether requests of that method name what they are about.
pub(crate) fn has_subject(method: Method) -> bool {
    matches!(
        method,
        Method::ToolsCall
            | Method::PromptsGet
            | Method::ResourcesRead
            | Method::TasksGet
            | Method::TasksUpdate
            | Method::TasksCancel
    )
}

/// Whether the request lacks what its method is about.
fn lacks_param(asked: &Asked) -> bool {
    has_subject(asked.method) && !asked.subject.is_present() && asked.params.is_some()
}

impl Part {
    /// The server refuses what it does not have; whether that is a finding.
    fn refuses_absent(
        &mut self,
        deep: &Deep,
        cx: &mut Cx<'_>,
        frame: &Frame<'_>,
        asked: &Asked,
    ) -> bool {
        let code = frame.message.number;
        if code == -32601 || explains(self, asked, code) {
            return false;
        }
        let is_vendors = asked.method == Method::Unknown && asked.meta.has_extensions;
        let unlisted = of_request(asked.method).filter(|capability| {
            deep.told()
                .is_some_and(|told| !told.capabilities.has(*capability))
        });
        let (severity, what) = match unlisted {
            _ if is_absent(asked.method) && !is_vendors => (None, "an unknown method"),
            Some(_) => (Some(Severity::Warning), "what the server does not list"),
            _ => return false,
        };
        let text = format!(
            "the request {} for {what} is refused with {code}; the code for that is -32601",
            asked.id
        );
        let frames = [asked.frame, cx.frame];
        let rule = &UNKNOWN_METHOD_ANSWER;
        self.case(cx, rule, Verdict::Broken, severity, &frames, None, text);
        true
    }

    /// The server serves a method that the revision does not have.
    #[cold]
    fn serves_absent(&mut self, cx: &mut Cx<'_>, asked: &Asked) {
        let frames = [asked.frame, cx.frame];
        if asked.method != Method::Unknown {
            let text = format!(
                "{} is served, which revision 2026-07-28 does not have; it is refused with -32601",
                asked.method.words()
            );
            self.broken(cx, &UNKNOWN_METHOD_ANSWER, &frames, text);
        } else if !asked.meta.has_extensions {
            let text = "an unknown method is served, and the request declares no extension that could define it"
                .to_string();
            self.unsure(cx, &UNKNOWN_METHOD_ANSWER, &frames, text);
        }
    }

    fn judge_code(&mut self, cx: &mut Cx<'_>, frame: &Frame<'_>, asked: &Asked) {
        let code = frame.message.number;
        let frames = [asked.frame, cx.frame];
        match code {
            PARSE_ERROR => {
                let text = format!(
                    "the request {} is refused with -32700, which is for text that is no JSON and has no id",
                    asked.id
                );
                self.broken(cx, &ERR_PARSE, &frames, text);
            }
            -32042 => self.is_retired(cx, code, &frames),
            -32002 if asked.method != Method::ResourcesRead => self.is_retired(cx, code, &frames),
            -32020 if self.link == LinkKind::Pipe => {
                let text = "the error -32020 is about HTTP headers, and there are none here";
                self.broken(cx, &ERR_RESERVED_RANGE, &frames, text.to_string());
            }
            -32022..=-32020 | -32002 => {}
            -32099..=-32020 => {
                let text = format!(
                    "the code {code} is kept for the specification, which does not define it"
                );
                self.broken(cx, &ERR_RESERVED_RANGE, &frames, text);
            }
            -32019..=-32000 => {
                let text =
                    format!("the code {code} has no meaning of its own: many libraries use it");
                self.broken(cx, &ERR_LEGACY_RANGE, &frames, text);
            }
            -32603..=-32600 if code != -32602 => self.answers_incomplete(cx, frame, asked),
            _ => {}
        }
    }

    #[cold]
    fn is_retired(&mut self, cx: &mut Cx<'_>, code: i64, frames: &[u32]) {
        let text = format!("the code {code} is one of older revisions and is not used any more");
        self.broken(cx, &ERR_RETIRED_CODES, frames, text);
    }

    /// A request that lacks what its method needs is served, or refused with another code.
    #[inline]
    fn answers_incomplete(&mut self, cx: &mut Cx<'_>, frame: &Frame<'_>, asked: &Asked) {
        let is_other = frame.message.kind == Kind::Error && frame.message.number == -32601;
        if !asked.meta.is_whole || is_other || !lacks_param(asked) {
            return;
        }
        let what = match frame.message.kind {
            Kind::Error => format!("refused with {}", frame.message.number),
            _ => "served".to_string(),
        };
        let text = format!(
            "the request {} lacks a parameter that {} needs and is {what}; it is refused with -32602",
            asked.id,
            asked.method.words()
        );
        let frames = [asked.frame, cx.frame];
        self.broken(cx, &ERR_INVALID_PARAMS, &frames, text);
    }

    /// Remembers what kind of thing could not be read.
    #[cold]
    pub(crate) fn note_unreadable(&mut self, message: &Message) {
        let is_json = message.kind != Kind::Malformed
            || message.conditions.intersects(Conditions::of(&[
                Condition::Scalar,
                Condition::KindUnclear,
                Condition::MethodAndAnswer,
                Condition::MethodNotString,
            ]));
        self.rare().unread_kinds |= match is_json {
            true => unread::NO_REQUEST,
            false => unread::NO_JSON,
        };
    }

    /// An error without an id outside any session, where something that could not be read came before.
    #[cold]
    pub(crate) fn newer_unreadable_answered(&mut self, cx: &mut Cx<'_>, message: &Message) {
        let kinds = self.rare.as_ref().map_or(0, |rare| rare.unread_kinds);
        if self.unreadable <= 1
            && let Some(rare) = &mut self.rare
        {
            rare.unread_kinds = 0;
        }
        let is_right = kinds & unread::NO_JSON != 0 && message.number == PARSE_ERROR
            || kinds & unread::NO_REQUEST != 0 && matches!(message.number, -32600 | -32602);
        let mut open = self.inn.iter();
        let is_owed = open.any(|request| request.flags & open::LONG == 0);
        if is_right || kinds == 0 || is_owed || self.may_be_unseen() {
            return;
        }
        let (what, code) = match kinds {
            unread::NO_JSON => ("text that is no JSON", "-32700"),
            unread::NO_REQUEST => ("JSON that is no request", "-32600 or -32602"),
            _ => ("what could not be read", "-32700, -32600 or -32602"),
        };
        let text = format!(
            "{what} is answered with {}; the code for that is {code}",
            message.number
        );
        self.broken(cx, &ERR_PARSE, &[cx.frame], text);
    }
}
