//! What each request says of itself in `_meta`.

use mcpsim_traces::event::Role;
use mcpsim_traces::message::{Condition, Conditions, Kind, Message};

use crate::deep::{Deep, Frame};
use crate::era::Era;
use crate::ledger::Cx;
use crate::part::Part;
use crate::rules::ids::name;

use crate::rules::{Category, Rule, STATELESS_MUST, Side, When};

pub(crate) const META_REQUIRED_FIELDS: Rule = Rule {
    id: "meta-required-fields",
    category: Category::RequestMeta,
    side: Side::Client,
    when: When::STATELESS,
    source: "2026-07-28 basic/index (`_meta`)",
    says: "Each request's `_meta` names the protocol version and the client's capabilities.",
    why: "There is no handshake to remember them from: a server that finds neither has to refuse the request.",
    ..STATELESS_MUST
};

pub(crate) const ROWS: &[Rule] = &[META_REQUIRED_FIELDS];

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// What the client says of itself in a request outside any session.
pub(crate) fn by(part: &mut Part, _: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let is_judged = part.role == Role::Client
        && frame.message.kind == Kind::Request
        && cx.era == Era::Stateless
        && frame.message.has(Condition::MetaVersion);
    if is_judged {
        part.judge_meta(cx, frame);
    }
}

impl Part {
    /// Whether a request outside any session names its version, as far as its text need not be known.
    #[inline]
    pub(crate) fn names_its_version(&mut self, cx: &mut Cx<'_>, message: &Message) {
        const OTHERS: Conditions =
            Conditions::of(&[Condition::MetaNotObject, Condition::ParamsNotObject]);
        if message.has(Condition::MetaVersion) || message.conditions.intersects(OTHERS) {
            return;
        }
        self.lacks_field(cx, message, VERSION);
    }

    fn judge_meta(&mut self, cx: &mut Cx<'_>, frame: &Frame<'_>) {
        let meta = frame.payload.and_then(|params| params.get("_meta"));
        if meta.is_some_and(|meta| meta.get(CAPABILITIES).is_none()) {
            self.lacks_field(cx, frame.message, CAPABILITIES);
        }
    }

    #[cold]
    fn lacks_field(&mut self, cx: &mut Cx<'_>, message: &Message, field: &str) {
        let text = format!("the `_meta` of {} has no {field}", name(message));
        self.broken(cx, &META_REQUIRED_FIELDS, &[cx.frame], text);
    }
}
