//! Capabilities that each request declares, and those that a server lists.

use mcpsim_traces::event::Role;
use mcpsim_traces::judge::{Severity, Verdict};
use mcpsim_traces::message::{Capability, Kind, Method};
use mcpsim_traces::tape::Value;

use crate::deep::discover::{Told, extensions_of, once};
use crate::deep::subscriptions::SUBSCRIPTION_ID;
use crate::deep::{Asked, Deep, Frame};
use crate::era::Era;
use crate::ledger::Cx;
use crate::part::{Knows, Part, flag};
use crate::rules::stateless::eras::ERA_DUAL_SERVER_SEPARATION;
use crate::rules::stateless::subscriptions::brings;
use crate::rules::{
    Basis, Category, Level, Needs, Rule, STATELESS_MUST, STATELESS_NOTE, STATELESS_SHOULD, Side,
    When,
};

pub(crate) const CAPS_LIST_ANSWERED: Rule = Rule {
    id: "caps-list-answered",
    category: Category::Capability,
    side: Side::Server,
    source: "2026-07-28 server/tools (Capabilities)",
    says: "A server that offers tools, resources or prompts answers the request that lists them.",
    why: "Clients take the offer at its word, and find nothing to use.",
    needs: Needs::Causal,
    when: When::DISCOVERED,
    ..STATELESS_MUST
};

pub(crate) const CAPS_NOT_INFERRED: Rule = Rule {
    id: "caps-not-inferred",
    category: Category::Capability,
    side: Side::Server,
    needs: Needs::Causal,
    when: When::STATELESS_RESULT,
    source: "2026-07-28 basic/index (Statelessness)",
    says: "What the client can do is read from the request at hand.",
    why: "The client may have lost the ability since, or another one may have sent the earlier request: nobody answers what is asked.",
    ..STATELESS_MUST
};

pub(crate) const CAPS_MISSING_ERROR: Rule = Rule {
    id: "caps-missing-error",
    category: Category::Capability,
    side: Side::Server,
    needs: Needs::Causal,
    when: When::STATELESS_ERROR,
    source: "2026-07-28 basic/index (`_meta`)",
    says: "The error -32021 lists in `data.requiredCapabilities` what the request lacks.",
    why: "The client cannot tell what to declare, and gives up or tries the same again.",
    ..STATELESS_MUST
};

pub(crate) const CAPS_EXTENSION_ID_PREFIX: Rule = Rule {
    id: "caps-extension-id-prefix",
    category: Category::Capability,
    side: Side::Both,
    when: When::STATELESS_FRAME,
    source: "2026-07-28 basic/versioning (Extension Negotiation)",
    says: "An extension is named by a prefix, a slash and a name, and has an object of settings.",
    why: "Two vendors take the same name for two things, and each side believes that the other knows its own.",
    ..STATELESS_MUST
};

pub(crate) const CAPS_LEGACY_TASKS_KEY: Rule = Rule {
    id: "caps-legacy-tasks-key",
    category: Category::Capability,
    level: Level::Must,
    side: Side::Server,
    when: When::STATELESS_FRAME,
    source: "SEP-2663 tasks-extension (Backward Compatibility)",
    says: "Tasks are declared as an extension, not as the capability that they were.",
    why: "A client of this revision takes the server for one without tasks; an older one would use methods that are gone.",
    ..STATELESS_SHOULD
};

pub(crate) const CAPS_SERVER_DECLARES_WHAT_IT_SERVES: Rule = Rule {
    id: "caps-server-declares-what-it-serves",
    category: Category::Capability,
    side: Side::Server,
    needs: Needs::SameDirection,
    when: When::DISCOVERED,
    source: "2026-07-28 server/tools (Capabilities)",
    says: "A server lists the capabilities that it serves.",
    why: "Clients that keep to the list never find what it leaves out.",
    ..STATELESS_MUST
};

pub(crate) const SUB_CHANGE_CAPABILITY: Rule = Rule {
    id: "sub-change-capability",
    category: Category::Capability,
    basis: Basis::Derived,
    side: Side::Server,
    needs: Needs::SameDirection,
    when: When::DISCOVERED,
    source: "2026-07-28 basic/patterns/subscriptions (Acknowledgment)",
    says: "Changes are announced only by a server that lists `listChanged`, or `resources.subscribe`.",
    why: "Clients that keep to the list do not subscribe, and go on with what they have.",
    ..STATELESS_SHOULD
};

pub(crate) const CAPS_CLIENT_RESPECTS_SERVER: Rule = Rule {
    id: "caps-client-respects-server",
    category: Category::Capability,
    side: Side::Client,
    needs: Needs::Causal,
    when: When::DISCOVERED,
    source: "2026-07-28 server/prompts (Implementation Considerations)",
    says: "A client that knows what the server lists asks for nothing else.",
    why: "The call comes back as an error, after a round trip that could have been saved.",
    ..STATELESS_NOTE
};

/// The rows of this group.
pub(crate) const ROWS: &[Rule] = &[
    CAPS_LIST_ANSWERED,
    CAPS_NOT_INFERRED,
    CAPS_MISSING_ERROR,
    CAPS_EXTENSION_ID_PREFIX,
    CAPS_LEGACY_TASKS_KEY,
    CAPS_SERVER_DECLARES_WHAT_IT_SERVES,
    SUB_CHANGE_CAPABILITY,
    CAPS_CLIENT_RESPECTS_SERVER,
];

/// What the client says that it can.
const CLIENT: &[&str] = &["_meta", "io.modelcontextprotocol/clientCapabilities"];

/// Objects of capabilities are looked into so deep; they have two levels.
const DEPTH_MAX: u32 = 8;

/// What is declared, listed, used and served outside any session.
pub(crate) fn by(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    if cx.era == Era::Foreign {
        return;
    }
    match (part.role, frame.message.kind) {
        (Role::Client, Kind::Request) => {
            let declared = frame.payload.and_then(|params| params.path(CLIENT));
            if let Some(declared) = declared {
                part.judge_declared(deep, cx, declared);
            }
            part.asks_for_listed(deep, cx, frame);
        }
        (Role::Server, Kind::Result) if frame.method == Method::ServerDiscover => {
            if let Some(listed) = frame.payload.and_then(|result| result.get("capabilities")) {
                part.judge_declared(deep, cx, listed);
            }
        }
        (Role::Server, Kind::Result) => part.serves_listed(deep, cx, frame),
        (Role::Server, Kind::Notification) => part.announces_listed(deep, cx, frame),
        (Role::Server, Kind::Error) if frame.message.number == -32021 => {
            part.judge_missing(cx, frame);
        }
        _ => {}
    }
}

/// The capability that a server lists for that request to be served.
pub(crate) fn of_request(method: Method) -> Option<Capability> {
    Some(match method {
        Method::ToolsList | Method::ToolsCall => Capability::Tools,
        Method::ResourcesList | Method::ResourcesRead | Method::ResourcesTemplatesList => {
            Capability::Resources
        }
        Method::PromptsList | Method::PromptsGet => Capability::Prompts,
        Method::CompletionComplete => Capability::Completions,
        _ => return None,
    })
}

/// The capability that a server lists for that notification, and the flag in it.
fn of_notification(method: Method) -> Option<(Capability, Option<Capability>)> {
    use Capability as C;
    Some(match method {
        Method::LogMessage => (C::Logging, None),
        Method::ToolsListChanged => (C::Tools, Some(C::ToolsListChanged)),
        Method::PromptsListChanged => (C::Prompts, Some(C::PromptsListChanged)),
        Method::ResourcesListChanged => (C::Resources, Some(C::ResourcesListChanged)),
        Method::ResourcesUpdated => (C::Resources, Some(C::ResourcesSubscribe)),
        _ => return None,
    })
}

/// The kinds of changes that a subscription asks for, as members of its filter.
const KINDS: &[(&str, Method)] = &[
    ("toolsListChanged", Method::ToolsListChanged),
    ("promptsListChanged", Method::PromptsListChanged),
    ("resourcesListChanged", Method::ResourcesListChanged),
    ("resourceSubscriptions", Method::ResourcesUpdated),
];

/// The rule that an answer breaks by a capability that its request does not declare, and from where the server
/// may have it: an earlier request, or the handshake of a session beside it; else the rule is the answer's own.
pub(crate) fn undeclared(
    part: &Part,
    asked: &Asked,
    capability: Capability,
    rule: &'static Rule,
) -> (&'static Rule, &'static str) {
    let is_of_session = part.is(flag::ANSWERED_INIT) && part.theirs.has(capability);
    match () {
        () if asked.earlier.has(capability) => (
            &CAPS_NOT_INFERRED,
            "; an earlier request did, which does not count",
        ),
        () if is_of_session => (
            &ERA_DUAL_SERVER_SEPARATION,
            "; the handshake of the session did, which does not count",
        ),
        () => (rule, ""),
    }
}

/// The rule that an answer breaks by an extension that its request does not declare: its own, or a wider one
/// where an earlier request did declare it.
pub(crate) fn undeclared_extension(deep: &Deep, name: &str, rule: &'static Rule) -> &'static Rule {
    let outside = deep.outside.as_ref();
    match outside.is_some_and(|outside| outside.has_extension(name)) {
        true => &CAPS_NOT_INFERRED,
        false => rule,
    }
}

impl Part {
    /// The names in an object of capabilities.
    fn judge_declared(&mut self, deep: &mut Deep, cx: &mut Cx<'_>, declared: Value<'_>) {
        let odd =
            extensions_of(declared).find(|(name, value)| !is_named(*name) || !value.is_object());
        if let Some((name, value)) = odd
            && deep.outside().first(once::EXTENSION)
        {
            self.is_no_extension(cx, name, value);
        }
        if let Some(tasks) = declared.get("tasks")
            && deep.outside().first(once::TASKS)
        {
            let text =
                "`tasks` is no capability of this revision; tasks are declared as an extension"
                    .to_string();
            let severity = (self.role == Role::Client).then_some(Severity::Note);
            let frames = [cx.frame];
            let rule = &CAPS_LEGACY_TASKS_KEY;
            self.case(
                cx,
                rule,
                Verdict::Broken,
                severity,
                &frames,
                Some(tasks),
                text,
            );
        }
    }

    #[cold]
    fn is_no_extension(&mut self, cx: &mut Cx<'_>, name: Value<'_>, value: Value<'_>) {
        let (spot, text) = match is_named(name) {
            true => (
                value,
                format!("the settings of the extension {} are no object", name.key()),
            ),
            false => (
                name,
                format!(
                    "{} names no extension; its name is a prefix, a slash and a name",
                    name.key()
                ),
            ),
        };
        self.broken_value(cx, &CAPS_EXTENSION_ID_PREFIX, spot, text);
    }

    /// The client asks for what the server does not list.
    #[inline]
    fn asks_for_listed(&mut self, deep: &Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
        let Some(told) = deep.told() else { return };
        let Some(capability) = of_request(frame.method) else {
            return;
        };
        if told.capabilities.has(capability) || self.knows(told.fact) != Knows::Must {
            return;
        }
        let text = format!(
            "{}, though the server does not list `{}`",
            frame.method.words(),
            capability.as_str()
        );
        let frames = [told.frame, cx.frame];
        self.broken(cx, &CAPS_CLIENT_RESPECTS_SERVER, &frames, text);
    }

    /// The server serves what it does not list.
    #[inline]
    fn serves_listed(&mut self, deep: &Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
        let Some(told) = deep.told() else { return };
        let Some(capability) = of_request(frame.method) else {
            return;
        };
        if !told.capabilities.has(capability) {
            let text = format!(
                "{} is served, and server/discover does not list `{}`",
                frame.method.words(),
                capability.as_str()
            );
            self.unlisted(cx, told, &CAPS_SERVER_DECLARES_WHAT_IT_SERVES, text);
        }
    }

    fn announces_listed(&mut self, deep: &Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
        let Some(told) = deep.told() else { return };
        if frame.method != Method::SubscriptionsAcknowledged {
            // What was promised was reported then.
            let tag = frame
                .payload
                .and_then(|params| params.path(&["_meta", SUBSCRIPTION_ID]));
            let promised = tag.and_then(|tag| deep.subscriptions.find(tag.key()));
            let is_promised = promised.is_some_and(|one| {
                let has = |topic| one.agreed.has(topic) && !one.agreed.is_vague;
                one.frame > told.frame && brings(frame.method).is_some_and(has)
            });
            if is_promised {
                return;
            }
            return self.announces(cx, told, frame.method, "is sent");
        }
        let granted = frame.payload.and_then(|params| params.get("notifications"));
        for (name, value) in granted.into_iter().flat_map(Value::members) {
            let is_on = value.as_bool() == Some(true) || value.items().next().is_some();
            let known = KINDS.iter().find(|(kind, _)| name.is(kind));
            if let Some((_, method)) = known.filter(|_| is_on) {
                return self.announces(cx, told, *method, "is promised");
            }
        }
    }

    fn announces(&mut self, cx: &mut Cx<'_>, told: &Told, method: Method, verb: &str) {
        let Some((capability, flag)) = of_notification(method) else {
            return;
        };
        let (rule, missing) = match flag {
            _ if !told.capabilities.has(capability) => {
                (&CAPS_SERVER_DECLARES_WHAT_IT_SERVES, capability)
            }
            Some(flag) if !told.capabilities.has(flag) => (&SUB_CHANGE_CAPABILITY, flag),
            _ => return,
        };
        let text = format!(
            "{} {verb}, and server/discover does not list `{}`",
            method.words(),
            missing.as_str()
        );
        self.unlisted(cx, told, rule, text);
    }

    #[cold]
    fn unlisted(&mut self, cx: &mut Cx<'_>, told: &Told, rule: &'static Rule, text: String) {
        let frames = [told.frame, cx.frame];
        self.broken(cx, rule, &frames, text);
    }

    /// The server says that it cannot work without something.
    #[cold]
    fn judge_missing(&mut self, cx: &mut Cx<'_>, frame: &Frame<'_>) {
        let Some(error) = frame.payload else { return };
        let required = error.path(&["data", "requiredCapabilities"]);
        let asked = frame.asked.map_or(0, |asked| asked.frame);
        let what = match required {
            None => "has no `data.requiredCapabilities`",
            Some(required) if !required.is_object() => {
                "has a `data.requiredCapabilities` that is no object"
            }
            Some(required) if required.members().next().is_none() => {
                "names nothing in `data.requiredCapabilities`"
            }
            Some(required) if declares_all(frame.asked, required) => {
                "names only capabilities that the request declares"
            }
            Some(_) => return,
        };
        let text = format!("the error -32021 {what}; it names those that the request lacks");
        let frames = [asked, cx.frame];
        let rule = &CAPS_MISSING_ERROR;
        self.case(cx, rule, Verdict::Broken, None, &frames, required, text);
    }
}

/// Whether a request certainly declares all of that.
fn declares_all(asked: Option<&Asked>, required: Value<'_>) -> bool {
    asked
        .and_then(|asked| {
            asked.read_params(|params| {
                let declared = params.path(CLIENT);
                declared.is_some_and(|declared| holds(declared, required, DEPTH_MAX))
            })
        })
        .unwrap_or(false)
}

/// Whether an object of capabilities has all the members of another one.
fn holds(declared: Value<'_>, required: Value<'_>, depth: u32) -> bool {
    depth > 0
        && required.members().all(|(name, wanted)| {
            let name = name.as_text().unwrap_or_default();
            let Some(has) = declared.get(&name) else {
                return false;
            };
            if !wanted.is_object() {
                return has.raw() == wanted.raw();
            }
            has.is_object() && holds(has, wanted, depth - 1)
        })
}

/// Whether a key can name an extension: labels with dots between them, a slash, and a name.
fn is_named(key: Value<'_>) -> bool {
    let Some(key) = key.as_bytes() else {
        return false;
    };
    let Some(slash) = key.iter().position(|&byte| byte == b'/') else {
        return false;
    };
    let (prefix, name) = (&key[..slash], &key[slash + 1..]);
    let is_label = |label: &[u8]| {
        label.first().is_some_and(u8::is_ascii_alphabetic)
            && label.last().is_some_and(u8::is_ascii_alphanumeric)
            && label
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
    };
    let is_name = |name: &[u8]| {
        name.first().is_none_or(u8::is_ascii_alphanumeric)
            && name.last().is_none_or(u8::is_ascii_alphanumeric)
            && name
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
    };
    prefix.split(|&byte| byte == b'.').all(is_label) && is_name(name)
}
