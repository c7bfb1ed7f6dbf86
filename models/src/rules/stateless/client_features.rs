//! Sampling, elicitation and roots, asked for inside results.

use mcpsim_traces::event::Role;
use mcpsim_traces::judge::Severity;
use mcpsim_traces::message::{Kind, Method, Revision};
use mcpsim_traces::tape::Value;

use crate::deep::topics::ignore;
use crate::deep::{Deep, Frame, Topic};
use crate::ledger::{Cx, bit};
use crate::part::Part;
use crate::rules::asks::Declared;
use crate::rules::{
    Basis, Category, Needs, Rule, STATELESS_MUST, STATELESS_SHOULD, Side, When, elicitation,
    sampling,
};
use crate::shape::Walk;

/// What the rows of sampling have in common.
const SAMPLING: Rule = Rule {
    category: Category::Sampling,
    side: Side::Server,
    when: When::SAMPLING_INSIDE,
    ..STATELESS_MUST
};

/// What the rows of elicitation have in common.
const ELICIT: Rule = Rule {
    category: Category::Elicitation,
    when: When::ELICITATION_INSIDE,
    ..SAMPLING
};

const SAMP_REQUEST_SHAPE: Rule = Rule {
    id: "samp-request-shape",
    source: "2026-07-28 client/sampling (Messages)",
    says: "A sampling request has messages, each with a role and content blocks, and an integer maxTokens.",
    why: "The client cannot call a model with anything else, and has no way to say so: it just does not come back.",
    ..SAMPLING
};

const SAMP_TOOLS_CAPABILITY: Rule = Rule {
    id: "samp-tools-capability",
    needs: Needs::Causal,
    source: "2026-07-28 client/sampling (Tools in Sampling)",
    says: "Tools come with a sampling request only where the request that is answered declared `sampling.tools`.",
    why: "The client leaves the tools out or drops the whole round; what an earlier request declared does not count.",
    ..SAMPLING
};

const SAMP_TOOL_RESULT_ONLY: Rule = Rule {
    id: "samp-tool-result-only",
    source: "2026-07-28 client/sampling (Tool Result Messages)",
    says: "A message of the user that holds tool results holds nothing else.",
    why: "Model APIs that have a role of their own for tool results cannot take the mixture.",
    ..SAMPLING
};

const SAMP_TOOL_USE_BALANCE: Rule = Rule {
    id: "samp-tool-use-balance",
    source: "2026-07-28 client/sampling (Tool Use and Result Balance)",
    says: "The message after one with tool uses brings a result for each of them, and for no other.",
    why: "Model APIs refuse a conversation in which a tool use was left open or a result comes out of nowhere.",
    ..SAMPLING
};

const SAMP_TOOL_ROLES: Rule = Rule {
    id: "samp-tool-roles",
    basis: Basis::Lowercase,
    severity: Severity::Warning,
    tier: 2,
    side: Side::Both,
    source: "2026-07-28 client/sampling (Message Roles)",
    says: "The assistant uses tools, and the user brings their results.",
    why: "The schema takes it the other way round too, and the model API behind the client does not.",
    ..SAMPLING
};

const SAMP_INCLUDE_CONTEXT: Rule = Rule {
    id: "samp-include-context",
    category: Category::Sampling,
    side: Side::Server,
    needs: Needs::Causal,
    source: "2026-07-28 client/sampling (Capabilities)",
    says: "Context of servers is asked for at most where `sampling.context` was declared, and better not at all.",
    why: "The values are going away; a client that does not know them answers without what the server counts on.",
    when: When::SAMPLING_INSIDE,
    ..STATELESS_SHOULD
};

const ELIC_REQUEST_SHAPE: Rule = Rule {
    id: "elic-request-shape",
    source: "2026-07-28 client/elicitation (Form Mode Elicitation Requests)",
    says: "An elicitation has a message, and either a requestedSchema or the mode url with an absolute url.",
    why: "The client has nothing to show or to open, and has no way to say so.",
    ..ELICIT
};

const ELIC_SCHEMA_FLAT: Rule = Rule {
    id: "elic-schema-flat",
    basis: Basis::Schema,
    source: "2026-07-28 schema.ts (PrimitiveSchemaDefinition)",
    says: "What a form asks for is flat: strings, numbers, integers, booleans and choices among strings.",
    why: "Generators of schemas write references, nested objects and unions with null, for which clients have no widget.",
    ..ELICIT
};

const ELIC_MODE_DECLARED: Rule = Rule {
    id: "elic-mode-declared",
    needs: Needs::Causal,
    source: "2026-07-28 client/elicitation (Capabilities)",
    says: "An elicitation is done in a mode that the request that is answered declared.",
    why: "The client cannot do it and does not come back; an empty `elicitation` declares forms only.",
    ..ELICIT
};

const ELIC_RESULT_CONTENT: Rule = Rule {
    id: "elic-result-content",
    category: Category::Elicitation,
    basis: Basis::Lowercase,
    side: Side::Client,
    needs: Needs::Causal,
    source: "2026-07-28 client/elicitation (Response Actions)",
    says: "An accepted form brings content that fits the requested schema, and an accepted url brings none.",
    why: "A server that trusts the form reads a value that is not there, or of the wrong type.",
    when: When::ELICITED_INSIDE,
    ..STATELESS_SHOULD
};

const ELIC_NO_SECRETS_IN_FORM: Rule = Rule {
    id: "elic-no-secrets-in-form",
    severity: Severity::Warning,
    tier: 3,
    source: "2026-07-28 client/elicitation (Form Mode Security)",
    says: "A form never asks for passwords, keys, tokens or cards.",
    why: "What is typed into a form passes through the client, its logs and perhaps a model. Names alone are a guess.",
    ..ELICIT
};

const ELIC_URL_SAFE: Rule = Rule {
    id: "elic-url-safe",
    category: Category::Elicitation,
    side: Side::Server,
    tier: 3,
    source: "2026-07-28 client/elicitation (Safe URL Handling)",
    says: "The url of an elicitation goes over https and holds no login.",
    why: "Whoever sits on the way, or sees the link, can act as the user. This machine and private networks are excused.",
    when: When::BY_URL,
    ..STATELESS_SHOULD
};

/// The rows of sampling and elicitation outside sessions.
pub(crate) const ROWS: &[Rule] = &[
    SAMP_REQUEST_SHAPE,
    SAMP_TOOLS_CAPABILITY,
    SAMP_TOOL_RESULT_ONLY,
    SAMP_TOOL_USE_BALANCE,
    SAMP_TOOL_ROLES,
    SAMP_INCLUDE_CONTEXT,
    ELIC_REQUEST_SHAPE,
    ELIC_SCHEMA_FLAT,
    ELIC_MODE_DECLARED,
    ELIC_RESULT_CONTENT,
    ELIC_NO_SECRETS_IN_FORM,
    ELIC_URL_SAFE,
];

/// Results and statuses of tasks that ask for input.
pub(crate) const TOPIC: Topic = Topic { by, toward: ignore };

fn by(part: &mut Part, _: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let is_told = matches!(frame.message.kind, Kind::Result | Kind::Notification);
    if !frame.is_stateless || part.role != Role::Server || !is_told {
        return;
    }
    let payload = frame.payload.filter(|payload| payload.is_object());
    let requests = payload.and_then(|payload| payload.get("inputRequests"));
    let (Some(payload), Some(requests)) = (payload, requests) else {
        return;
    };
    let is = |name: &str| {
        let kind = payload.get(name);
        kind.is_some_and(|kind| kind.is("input_required"))
    };
    let is_task = is("status");
    if is_task || is("resultType") {
        judge(part, cx, frame, requests, is_task);
    }
}

fn judge(part: &Part, cx: &mut Cx<'_>, frame: &Frame<'_>, requests: Value<'_>, is_task: bool) {
    let Some(mut walk) = Walk::begin(frame) else {
        return;
    };
    // A task has to list what it once asked for, whatever the client that looks at it declares.
    let asked = frame.asked.filter(|_| !is_task);
    let declared = Declared::of_request(asked);
    for (_, request) in requests.members() {
        asked_inside(&mut walk, request, &declared);
    }
    walk.report(part, cx);
    for (_, request) in requests.members() {
        match method_of(request) {
            Method::SamplingCreateMessage => cx.ledger.saw(bit(When::SAMPLING_INSIDE)),
            Method::ElicitationCreate => cx.ledger.saw(bit(When::ELICITATION_INSIDE)),
            _ => {}
        }
    }
}

fn method_of(request: Value<'_>) -> Method {
    let name = request.get("method").and_then(Value::as_bytes);
    name.map_or(Method::None, |name| Method::parse(&name))
}

/// What is wrong with a request inside a result, given what the client declared. One without params is
/// another rule's matter.
pub(crate) fn asked_inside<'a>(walk: &mut Walk<'a>, request: Value<'a>, declared: &Declared) {
    let Some(params) = request.get("params").filter(|params| params.is_object()) else {
        return;
    };
    match method_of(request) {
        Method::SamplingCreateMessage => sampling::judge_request(walk, params, declared),
        Method::ElicitationCreate => elicitation::judge_request(walk, params, declared),
        _ => {}
    }
}

/// What is wrong with an answer inside a request, given the request inside a result that it answers.
pub(crate) fn answered_inside<'a>(walk: &mut Walk<'a>, request: Value<'_>, answer: Value<'a>) {
    if !answer.is_object() {
        return;
    }
    match method_of(request) {
        Method::SamplingCreateMessage => sampling::judge_result(walk, answer),
        Method::ElicitationCreate => {
            walk.saw(When::ELICITED_INSIDE);
            elicitation::judge_result(walk, answer);
            let params = request.get("params").filter(|params| params.is_object());
            if let (Some(params), false) = (params, elicitation::is_misshapen(walk)) {
                let revision = Revision::V2026_07_28;
                elicitation::judge_fit(params, answer, revision, &mut |rule, value, text| {
                    walk.flaw(rule, value.unwrap_or(answer), || text);
                });
            }
        }
        _ => {}
    }
}
