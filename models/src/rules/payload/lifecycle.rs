//! The handshake, discovery, and what each side declares.

use mcpsim_traces::message::{Kind, Method, Revision, Version};
use mcpsim_traces::tape::Value;

use super::content::ICONS;
use super::pagination::{CACHE_SCOPE, TTL};
use super::{PARAMS_SHAPE, RESULT_SHAPE};
use crate::deep::Frame;
use crate::ledger::Cx;
use crate::part::{Part, flag};
use crate::rules::stateless::eras::may_ask;
use crate::rules::stateless::payload::CAPS_ROOTS_LIST_CHANGED_GONE;
use crate::rules::{
    Basis, Category, Level, MUST, MUST_SINCE_2025_06, Needs, Rule, Side, WARNING_BEFORE_2025_06,
    When,
};
use crate::shape::{Def, Member, Walk, What, optional, required};

pub(crate) const INITIALIZE_PARAMS: Rule = Rule {
    id: "initialize-params",
    category: Category::Lifecycle,
    side: Side::Client,
    source: "2025-11-25 schema.ts (InitializeRequest)",
    says: "initialize carries a version, an object of capabilities, and the client's name and version.",
    why: "Strict servers refuse the session; lenient ones do not know whom they talk to.",
    when: When::call(Method::Initialize),
    ..MUST
};

pub(crate) const INITIALIZE_RESULT: Rule = Rule {
    id: "initialize-result",
    category: Category::Lifecycle,
    side: Side::Server,
    source: "2025-11-25 schema.ts (InitializeResult)",
    says: "The answer to initialize carries the version, an object of capabilities, and the server's name and version.",
    why: "Strict clients end the session here.",
    needs: Needs::Causal,
    when: When::result(Method::Initialize),
    ..MUST
};

pub(crate) const CAPABILITY_OBJECT_SHAPE: Rule = Rule {
    id: "capability-object-shape",
    category: Category::Lifecycle,
    side: Side::Both,
    until: Revision::V2026_07_28,
    source: "2025-11-25 schema.ts (ServerCapabilities)",
    says: "Each declared capability is an object, and its listChanged and subscribe are true or false.",
    why: "`\"tools\": true` declares nothing to a reader that looks for an object. \
        Names that the revision does not have may hold anything.",
    when: When::CAPABILITIES,
    ..MUST
};

pub(crate) const RESPECT_NEGOTIATED_VERSION: Rule = Rule {
    id: "respect-negotiated-version",
    category: Category::Lifecycle,
    level: Level::Should,
    level_by: MUST_SINCE_2025_06,
    basis: Basis::Text,
    severity_by: WARNING_BEFORE_2025_06,
    side: Side::Both,
    source: "2025-11-25 basic/lifecycle (Operation)",
    says: "After the handshake both sides keep to the revision that they agreed on.",
    why: "A result that asks for input or stands for a task, as 2026-07-28 has them, is an empty result to a reader of an older one.",
    when: When::RESPONSE,
    ..MUST
};

/// The rows that stand here.
pub(crate) const ROWS: &[Rule] = &[
    INITIALIZE_PARAMS,
    INITIALIZE_RESULT,
    RESPECT_NEGOTIATED_VERSION,
    CAPABILITY_OBJECT_SHAPE,
];

static CLIENT_INFO: Def = Def::new(
    "a client's info",
    &[
        required("name", What::Text),
        required("version", What::Text),
        optional("title", What::Text)
            .since(Revision::V2025_06_18)
            .rule(&PARAMS_SHAPE),
        optional("description", What::Text)
            .since(Revision::V2025_11_25)
            .rule(&PARAMS_SHAPE),
        optional("websiteUrl", What::Text)
            .since(Revision::V2025_11_25)
            .rule(&PARAMS_SHAPE),
        ICONS,
    ],
);

/// What a server says of itself.
pub(crate) static SERVER_INFO: Def = Def::new(
    "a server's info",
    &[
        required("name", What::Text),
        required("version", What::Text),
        optional("title", What::Text)
            .since(Revision::V2025_06_18)
            .rule(&RESULT_SHAPE),
        optional("description", What::Text)
            .since(Revision::V2025_11_25)
            .rule(&RESULT_SHAPE),
        optional("websiteUrl", What::Text)
            .since(Revision::V2025_11_25)
            .rule(&RESULT_SHAPE),
        ICONS,
    ],
);

const EXPERIMENTAL: Member = optional("experimental", What::MapOf(&What::Object));

/// What stands under the name of each is another rule's matter.
const EXTENSIONS: Member = optional("extensions", What::Object).since(Revision::V2026_07_28);

static ROOTS: Def = Def::new(
    "the roots capability",
    &[
        optional("listChanged", What::Bool).until(Revision::V2025_11_25),
        optional("listChanged", What::Check("absent", list_changed_is_gone))
            .since(Revision::V2026_07_28)
            .rule(&CAPS_ROOTS_LIST_CHANGED_GONE)
            .null_is_worse(),
    ],
);

fn list_changed_is_gone<'a>(walk: &mut Walk<'a>, value: Value<'a>, rule: &'static Rule) {
    walk.flaw(rule, value, || {
        "2026-07-28 has no listChanged for roots any more; nobody reads it".to_string()
    });
}

static SAMPLING: Def = Def::new(
    "the sampling capability",
    &[
        optional("context", What::Object).since(Revision::V2025_11_25),
        optional("tools", What::Object).since(Revision::V2025_11_25),
    ],
);

static ELICITATION: Def = Def::new(
    "the elicitation capability",
    &[
        optional("form", What::Object).since(Revision::V2025_11_25),
        optional("url", What::Object).since(Revision::V2025_11_25),
    ],
);

static CLIENT_TASK_REQUESTS: Def = Def::new(
    "the requests that may be tasks",
    &[
        optional(
            "sampling",
            What::Def(&Def::new(
                "sampling as tasks",
                &[optional("createMessage", What::Object)],
            )),
        ),
        optional(
            "elicitation",
            What::Def(&Def::new(
                "elicitation as tasks",
                &[optional("create", What::Object)],
            )),
        ),
    ],
);

static SERVER_TASK_REQUESTS: Def = Def::new(
    "the requests that may be tasks",
    &[optional(
        "tools",
        What::Def(&Def::new(
            "tools as tasks",
            &[optional("call", What::Object)],
        )),
    )],
);

static CLIENT_TASKS: Def = Def::new(
    "the tasks capability",
    &[
        optional("list", What::Object),
        optional("cancel", What::Object),
        optional("requests", What::Def(&CLIENT_TASK_REQUESTS)),
    ],
);

static SERVER_TASKS: Def = Def::new(
    "the tasks capability",
    &[
        optional("list", What::Object),
        optional("cancel", What::Object),
        optional("requests", What::Def(&SERVER_TASK_REQUESTS)),
    ],
);

static CLIENT_CAPABILITIES: Def = Def::new(
    "a client's capabilities",
    &[
        EXPERIMENTAL,
        EXTENSIONS,
        optional("roots", What::Def(&ROOTS)),
        optional("sampling", What::Def(&SAMPLING)),
        optional("elicitation", What::Def(&ELICITATION)).since(Revision::V2025_06_18),
        optional("tasks", What::Def(&CLIENT_TASKS))
            .since(Revision::V2025_11_25)
            .until(Revision::V2025_11_25),
    ],
)
.rule(&CAPABILITY_OBJECT_SHAPE);

static LIST_CHANGED: Def = Def::new(
    "a capability",
    &[
        optional("listChanged", What::Bool),
        optional("subscribe", What::Bool),
    ],
);

static SERVER_CAPABILITIES: Def = Def::new(
    "a server's capabilities",
    &[
        EXPERIMENTAL,
        EXTENSIONS,
        optional("logging", What::Object),
        optional("completions", What::Object).since(Revision::V2025_03_26),
        optional("prompts", What::Def(&LIST_CHANGED)),
        optional("resources", What::Def(&LIST_CHANGED)),
        optional("tools", What::Def(&LIST_CHANGED)),
        optional("tasks", What::Def(&SERVER_TASKS))
            .since(Revision::V2025_11_25)
            .until(Revision::V2025_11_25),
    ],
)
.rule(&CAPABILITY_OBJECT_SHAPE);

static OF_A_CLIENT: What = What::Def(&CLIENT_CAPABILITIES);
static OF_A_SERVER: What = What::Def(&SERVER_CAPABILITIES);

/// That capabilities are an object is the frame's matter, what they hold is theirs.
pub(crate) fn client_capabilities<'a>(walk: &mut Walk<'a>, value: Value<'a>, rule: &'static Rule) {
    capabilities(walk, value, &OF_A_CLIENT, rule);
}

fn server_capabilities<'a>(walk: &mut Walk<'a>, value: Value<'a>, rule: &'static Rule) {
    capabilities(walk, value, &OF_A_SERVER, rule);
}

fn capabilities<'a>(
    walk: &mut Walk<'a>,
    value: Value<'a>,
    what: &'static What,
    rule: &'static Rule,
) {
    if !value.is_object() {
        return walk.wrong(value, &What::Object, rule);
    }
    walk.saw(CAPABILITY_OBJECT_SHAPE.when);
    walk.value(value, what, rule);
}

/// The params of initialize.
pub(crate) static CALL: Def = Def::new(
    "a call of initialize",
    &[
        required("protocolVersion", What::Text),
        required(
            "capabilities",
            What::Check("an object", client_capabilities),
        ),
        required("clientInfo", What::Def(&CLIENT_INFO)),
    ],
);

/// The result of initialize.
pub(crate) static RESULT: Def = Def::new(
    "a result of initialize",
    &[
        required("protocolVersion", What::Text),
        required(
            "capabilities",
            What::Check("an object", server_capabilities),
        ),
        required("serverInfo", What::Def(&SERVER_INFO)),
        optional("instructions", What::Text),
    ],
);

/// The result of server/discover.
pub(crate) static DISCOVERED: Def = Def::new(
    "a result of server/discover",
    &[
        required("supportedVersions", What::ArrayOf(&What::Text)),
        required(
            "capabilities",
            What::Check("an object", server_capabilities),
        ),
        optional("instructions", What::Text),
        TTL,
        CACHE_SCOPE,
    ],
);

/// A result of a kind that came with 2026-07-28, in a session of an older revision: whether it is one. What
/// the older revision asks for is then missing for that reason, and is not looked for.
pub(crate) fn is_of_later<'a>(walk: &mut Walk<'a>, frame: &Frame<'a>) -> bool {
    if walk.is_stateless() || frame.message.kind != Kind::Result {
        return false;
    }
    let Some(kind) = walk.root().get("resultType") else {
        return false;
    };
    let what = match () {
        // There the rule speaks of it that keeps the two eras apart.
        () if kind.is("input_required") && may_ask(frame.method) => return true,
        () if kind.is("input_required") => "asks for input",
        () if kind.is("task") => "stands for a task",
        () => return false,
    };
    let revision = frame
        .revision
        .map_or("the session's revision", Revision::as_str);
    walk.flaw(&RESPECT_NEGOTIATED_VERSION, kind, || {
        format!("the result {what} as results of 2026-07-28 do; {revision} has no such result")
    });
    true
}

/// The answer to initialize goes to the client: now it is known by which revision its own initialize is
/// to be judged. What all revisions call wrong in it was reported when it was sent.
pub(crate) fn initialize_settled(part: &Part, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let Version::Known(revision) = frame.message.version else {
        return;
    };
    let Some(asked) = frame.asked else { return };
    if part.is(flag::FORCED) || !revision.has_handshake() {
        return;
    }
    asked.read_params(|params| {
        if !params.is_object() {
            return;
        }
        let mut before = Walk::of_params(params, None);
        before.whole(&CALL, &INITIALIZE_PARAMS);
        let mut walk = Walk::of_params(params, Some(revision));
        walk.whole(&CALL, &INITIALIZE_PARAMS);
        super::meta::judge(&mut walk);
        walk.report_later(part, cx, asked.frame, &before);
    });
}
