//! Params and results of 2026-07-28: members and their types.

use mcpsim_traces::judge::Severity;
use mcpsim_traces::message::Method;

use crate::rules::{Category, Needs, Rule, STATELESS_MUST, STATELESS_SHOULD, Side, When};

pub(crate) const RES_NOT_FOUND_CODE: Rule = Rule {
    id: "res-not-found-code",
    category: Category::Resources,
    side: Side::Server,
    source: "2026-07-28 server/resources (Error Handling)",
    says: "Reading a resource that does not exist is refused with -32602.",
    why: "-32002 belongs to the revisions before; clients of this one do not know what it says.",
    needs: Needs::Causal,
    when: When::error(Method::ResourcesRead),
    ..STATELESS_MUST
};

pub(crate) const RES_EMPTY_CONTENTS: Rule = Rule {
    id: "res-empty-contents",
    category: Category::Resources,
    severity: Severity::Warning,
    side: Side::Server,
    source: "2026-07-28 server/resources (Error Handling)",
    says: "That a resource does not exist is told by an error, not by empty contents.",
    why: "The client takes it for an empty resource, and keeps that.",
    needs: Needs::Causal,
    tier: 3,
    when: When::result(Method::ResourcesRead),
    ..STATELESS_MUST
};

pub(crate) const PROMPTS_BAD_NAME_ERROR: Rule = Rule {
    id: "prompts-bad-name-error",
    category: Category::Prompts,
    side: Side::Server,
    source: "2026-07-28 server/prompts (Error Handling)",
    says: "A prompt that does not exist, or asked for without a required argument, is refused with -32602.",
    why: "A prompt with a hole in it goes to the model as if somebody had meant it.",
    needs: Needs::Causal,
    tier: 3,
    when: When::call(Method::PromptsGet),
    ..STATELESS_SHOULD
};

/// The rows of this group.
pub(crate) const ROWS: &[Rule] = &[
    RES_NOT_FOUND_CODE,
    RES_EMPTY_CONTENTS,
    PROMPTS_BAD_NAME_ERROR,
];
