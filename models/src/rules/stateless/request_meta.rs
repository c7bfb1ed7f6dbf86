//! What each request says of itself in `_meta`.

use mcpsim_traces::event::{LinkKind, Role};
use mcpsim_traces::message::{Condition, Conditions, Kind, Message, Method};
use mcpsim_traces::tape::Value;

use crate::deep::discover::once;
use crate::deep::{Asked, Deep, Frame};
use crate::era::Era;
use crate::ledger::Cx;
use crate::part::Part;
use crate::rules::ids::name;
use crate::rules::transport_stdio::contains;
use crate::rules::{Basis, Category, Needs, Rule, STATELESS_MUST, STATELESS_NOTE, Side, When};

pub(crate) const META_REQUIRED_FIELDS: Rule = Rule {
    id: "meta-required-fields",
    category: Category::RequestMeta,
    side: Side::Client,
    source: "2026-07-28 basic/index (`_meta`)",
    says: "Each request's `_meta` names the protocol version and the client's capabilities.",
    why: "There is no handshake to remember them from: a server that finds neither has to refuse the request.",
    ..STATELESS_MUST
};

pub(crate) const META_FIELD_TYPES: Rule = Rule {
    id: "meta-field-types",
    category: Category::RequestMeta,
    basis: Basis::Schema,
    side: Side::Client,
    source: "2026-07-28 schema.ts (RequestMetaObject)",
    says: "In `_meta` the version and the log level are strings, the capabilities an object, and the client is an \
        object with a name and a version.",
    why: "A typed reader refuses the whole request for one such member.",
    ..STATELESS_MUST
};

pub(crate) const META_MISSING_REJECTED: Rule = Rule {
    id: "meta-missing-rejected",
    category: Category::RequestMeta,
    side: Side::Server,
    needs: Needs::Causal,
    when: When::STATELESS_RESPONSE,
    source: "2026-07-28 basic/index (`_meta`)",
    says: "A request that does not name its version and capabilities is refused with -32602.",
    why: "A server that serves it guesses what the client can take, and a client that forgets the fields learns of \
        it from the next server only.",
    ..STATELESS_MUST
};

pub(crate) const META_CLIENT_INFO_OPTIONAL: Rule = Rule {
    id: "meta-client-info-optional",
    category: Category::RequestMeta,
    basis: Basis::Derived,
    side: Side::Server,
    needs: Needs::Causal,
    when: When::STATELESS_ERROR,
    source: "2026-07-28 basic/index (`_meta`)",
    says: "A server does not ask for `clientInfo`.",
    why: "A client may keep its name to itself, and is shut out for it.",
    ..STATELESS_MUST
};

pub(crate) const META_CLIENT_INFO_PRESENT: Rule = Rule {
    id: "meta-client-info-present",
    category: Category::RequestMeta,
    side: Side::Client,
    source: "2026-07-28 basic/index (`_meta`)",
    says: "A client that names itself does so in each request.",
    why: "Logs and usage figures attribute a part of its requests to nobody. Requests that never name the client are taken as its wish.",
    ..STATELESS_NOTE
};

pub(crate) const META_SERVER_INFO_PRESENT: Rule = Rule {
    id: "meta-server-info-present",
    category: Category::RequestMeta,
    side: Side::Server,
    when: When::STATELESS_RESULT,
    source: "2026-07-28 basic/index (`_meta`)",
    says: "A server that names itself does so in each result.",
    why: "A reader of several servers cannot tell whose result it has. Results that never name the server are taken as its wish.",
    ..STATELESS_NOTE
};

pub(crate) const ROWS: &[Rule] = &[
    META_REQUIRED_FIELDS,
    META_FIELD_TYPES,
    META_MISSING_REJECTED,
    META_CLIENT_INFO_OPTIONAL,
    META_CLIENT_INFO_PRESENT,
    META_SERVER_INFO_PRESENT,
];

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
const SERVER: &str = "io.modelcontextprotocol/serverInfo";
const LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// What is said in `_meta` of requests and results outside any session, and how it is answered.
pub(crate) fn by(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    if cx.era == Era::Foreign {
        return;
    }
    match (part.role, frame.message.kind) {
        (Role::Client, Kind::Request) => part.judge_meta(deep, cx, frame),
        (Role::Server, Kind::Result) => {
            part.names_server(deep, cx, frame);
            part.answers_whole(cx, frame);
        }
        (Role::Server, Kind::Error) => {
            part.answers_whole(cx, frame);
            part.asks_for_client(cx, frame);
        }
        _ => {}
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

    fn judge_meta(&mut self, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
        let given = frame.payload.and_then(|params| params.get("_meta"));
        let (Some(given), Some(asked)) = (given.filter(|given| given.is_object()), frame.asked)
        else {
            return;
        };
        let is_versioned = frame.message.has(Condition::MetaVersion);
        let mut has_capabilities = false;
        let mut wrong = None;
        for (name, value) in given.members() {
            let (is_right, wanted) = match () {
                () if name.is(VERSION) => (value.is_text(), "a string"),
                () if name.is(CAPABILITIES) => {
                    has_capabilities = true;
                    (value.is_object(), "an object")
                }
                () if name.is(CLIENT) => (
                    is_info(value),
                    "an object with the strings `name` and `version`",
                ),
                () if name.is(LEVEL) => (value.is_text(), "a string"),
                () => continue,
            };
            if !is_right && wrong.is_none() {
                wrong = Some((name, value, wanted));
            }
        }
        if is_versioned && !has_capabilities {
            self.lacks_field(cx, frame.message, CAPABILITIES);
        }
        if let Some((name, value, wanted)) = wrong {
            let name = name.as_text().unwrap_or_default();
            let text = format!("{name} is {}; it is {wanted}", value.kind().as_str());
            self.broken_value(cx, &META_FIELD_TYPES, value, text);
        }
        let is_odd = deep
            .outside()
            .is_odd(once::CLIENT_INFO, asked.meta.names_client);
        if is_odd {
            let text =
                "some requests of this client name it and some do not; all of them do".to_string();
            self.broken(cx, &META_CLIENT_INFO_PRESENT, &[cx.frame], text);
        }
    }

    #[cold]
    fn lacks_field(&mut self, cx: &mut Cx<'_>, message: &Message, field: &str) {
        let text = format!("the `_meta` of {} has no {field}", name(message));
        self.broken(cx, &META_REQUIRED_FIELDS, &[cx.frame], text);
    }

    fn names_server(&mut self, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
        let Some(result) = frame.payload else { return };
        let is_named = result.path(&["_meta", SERVER]).is_some();
        if deep.outside().is_odd(once::SERVER_INFO, is_named) {
            let text =
                "some results of this server name it and some do not; all of them do".to_string();
            self.broken(cx, &META_SERVER_INFO_PRESENT, &[cx.frame], text);
        }
    }

    /// Whether a request that does not say what it has to is answered as it should be.
    #[inline]
    fn answers_whole(&mut self, cx: &mut Cx<'_>, frame: &Frame<'_>) {
        let Some(asked) = frame.asked.filter(|asked| !asked.meta.is_whole) else {
            return;
        };
        self.answers_part(cx, frame, asked);
    }

    #[cold]
    fn answers_part(&mut self, cx: &mut Cx<'_>, frame: &Frame<'_>, asked: &Asked) {
        let code = frame.message.number;
        let has_other_fault = match code {
            -32602 => true,
            // Unknown, or dropped.
            -32601 => true,
            // The header is there and the body has none to hold against it, or neither is.
            -32020 => self.link == LinkKind::Http,
            // A version that is named may be one that the server does not know.
            -32022 => asked.meta.version.is_present(),
            _ => false,
        };
        let is_error = frame.message.kind == Kind::Error;
        if is_error && has_other_fault || asked.method == Method::Initialize {
            return;
        }
        let what = match is_error {
            true => format!("is refused with {code}"),
            false => "is served".to_string(),
        };
        let text = format!(
            "the request {} does not name version and capabilities and {what}; it is refused with -32602",
            asked.id
        );
        self.broken(cx, &META_MISSING_REJECTED, &[asked.frame, cx.frame], text);
    }

    /// Whether a refusal asks for the client's name.
    #[inline]
    fn asks_for_client(&mut self, cx: &mut Cx<'_>, frame: &Frame<'_>) {
        let Some(asked) = frame.asked else { return };
        let is_without = asked.meta.is_whole && !asked.meta.names_client;
        if frame.message.number != -32602 || !is_without {
            return;
        }
        if frame
            .payload
            .is_some_and(|error| contains(error.raw(), b"clientInfo"))
        {
            let text = format!(
                "the request {} is refused because it does not name the client, which it need not",
                asked.id
            );
            self.broken(
                cx,
                &META_CLIENT_INFO_OPTIONAL,
                &[asked.frame, cx.frame],
                text,
            );
        }
    }
}

/// Whether a value is the description of a program.
fn is_info(value: Value<'_>) -> bool {
    let is_text = |name| value.get(name).is_some_and(Value::is_text);
    value.is_object() && is_text("name") && is_text("version")
}
