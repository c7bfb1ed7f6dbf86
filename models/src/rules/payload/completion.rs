//! Requests for completions of an argument and what these return.

use mcpsim_traces::judge::Severity;
use mcpsim_traces::message::{Method, Revision};
use mcpsim_traces::tape::Value;

use crate::rules::stateless::payload::RESULT_SCHEMA;
use crate::rules::{Basis, Category, MUST, Needs, Rule, Side, When};
use crate::shape::{Arm, Def, Union, Walk, What, optional, required};

pub(crate) const COMPLETE_PARAMS: Rule = Rule {
    id: "complete-params",
    category: Category::Completion,
    side: Side::Client,
    source: "2025-11-25 schema.ts (CompleteRequest)",
    says: "A request for completions names a prompt or a resource, and an argument with its name and value.",
    why: "The server cannot tell what is being typed; an empty value is the usual beginning.",
    when: When::call(Method::CompletionComplete),
    twin: "request-schema",
    ..MUST
};

pub(crate) const COMPLETE_CONTEXT: Rule = Rule {
    id: "complete-context",
    category: Category::Completion,
    side: Side::Client,
    from: Revision::V2025_06_18,
    source: "2025-11-25 schema.ts (CompleteRequest)",
    says: "The arguments in a completion's context are strings by their names.",
    why: "They are what was completed before; servers look them up as strings.",
    when: When::COMPLETION_CONTEXT,
    twin: "request-schema",
    ..MUST
};

pub(crate) const COMPLETE_RESULT_SHAPE: Rule = Rule {
    id: "complete-result-shape",
    category: Category::Completion,
    side: Side::Server,
    source: "2025-11-25 schema.ts (CompleteResult)",
    says: "A completion has an array `values` of strings, and perhaps an integer `total` and `hasMore`, true or false.",
    why: "Whoever is typing gets no suggestion, or one that is no text.",
    needs: Needs::Causal,
    when: When::result(Method::CompletionComplete),
    twin: "comp-max-100",
    ..MUST
};

pub(crate) const COMPLETE_OVER_100: Rule = Rule {
    id: "complete-over-100",
    category: Category::Completion,
    basis: Basis::Lowercase,
    severity: Severity::Warning,
    side: Side::Server,
    source: "2025-11-25 server/utilities/completion (Completion Results)",
    says: "A completion has at most 100 values.",
    why: "Strict clients refuse more; `total` and `hasMore` say that there are.",
    tier: 2,
    needs: Needs::Causal,
    when: When::result(Method::CompletionComplete),
    twin: "comp-max-100",
    ..MUST
};

/// The rows that stand here.
pub(crate) const ROWS: &[Rule] = &[
    COMPLETE_PARAMS,
    COMPLETE_CONTEXT,
    COMPLETE_RESULT_SHAPE,
    COMPLETE_OVER_100,
];

static PROMPT: Def = Def::new(
    "a reference to a prompt",
    &[
        required("name", What::Text),
        optional("title", What::Text).since(Revision::V2025_06_18),
    ],
);

static RESOURCE: Def = Def::new("a reference to a resource", &[required("uri", What::Text)]);

static REFERENCE: Union = Union {
    name: "a reference",
    tag: "type",
    arms: &[
        Arm::new("ref/prompt", &PROMPT),
        Arm::new("ref/resource", &RESOURCE),
    ],
    rule: None,
    unknown: None,
};

static ARGUMENT: Def = Def::new(
    "an argument to complete",
    &[required("name", What::Text), required("value", What::Text)],
);

static CONTEXT: Def = Def::new(
    "a completion's context",
    &[optional("arguments", What::MapOf(&What::Text))],
);

/// The params of completion/complete.
pub(crate) static CALL: Def = Def::new(
    "a call of completion/complete",
    &[
        required("ref", What::Union(&REFERENCE)),
        required("argument", What::Def(&ARGUMENT)),
        optional("context", What::Def(&CONTEXT))
            .since(Revision::V2025_06_18)
            .rule(&COMPLETE_CONTEXT),
    ],
);

static COMPLETION: Def = Def::new(
    "a completion",
    &[
        required("values", What::ArrayOf(&What::Text)),
        optional("total", What::Integer).until(Revision::V2025_11_25),
        optional("total", What::Integer)
            .since(Revision::V2026_07_28)
            .rule(&RESULT_SCHEMA),
        optional("hasMore", What::Bool).until(Revision::V2025_11_25),
        optional("hasMore", What::Bool)
            .since(Revision::V2026_07_28)
            .rule(&RESULT_SCHEMA),
    ],
)
.rule(&COMPLETE_RESULT_SHAPE)
.also(not_too_many);

const VALUES_MAX: usize = 100;

fn not_too_many<'a>(walk: &mut Walk<'a>, object: Value<'a>, _: &'static Rule) {
    let Some(values) = object.get("values") else {
        return;
    };
    let count = values.items().count();
    if count > VALUES_MAX {
        walk.flaw(&COMPLETE_OVER_100, values, || {
            format!("the completion has {count} values; it has at most {VALUES_MAX}, and `hasMore`")
        });
    }
}

/// The result of completion/complete.
pub(crate) static RESULT: Def = Def::new(
    "a result of completion/complete",
    &[
        required("completion", What::Def(&COMPLETION)).until(Revision::V2025_11_25),
        required("completion", What::Def(&COMPLETION))
            .since(Revision::V2026_07_28)
            .absent(&RESULT_SCHEMA),
    ],
);
