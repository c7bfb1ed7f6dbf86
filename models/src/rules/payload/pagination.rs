//! Cursors of lists, and how long a list may be kept.

use mcpsim_traces::judge::Severity;
use mcpsim_traces::message::{Kind, Method, Revision};
use mcpsim_traces::tape::Value;

use crate::deep::Frame;
use crate::rules::stateless::payload::{CACHE_SCOPE_VALID, CACHE_TTL_VALID};
use crate::rules::{Basis, Category, Level, MUST, NOTE, Needs, Rule, Side, When};
use crate::shape::{Def, Member, Walk, What, optional};

pub(crate) const CURSOR_TYPE: Rule = Rule {
    id: "cursor-type",
    category: Category::Pagination,
    source: "2025-11-25 schema.ts (Cursor)",
    says: "A cursor is a string.",
    why: "It is left out on the first page; servers take null for a cursor that they do not know.",
    when: When::CURSOR,
    twin: "request-schema",
    ..MUST
};

pub(crate) const NEXT_CURSOR_TYPE: Rule = Rule {
    id: "next-cursor-type",
    category: Category::Pagination,
    side: Side::Receiver,
    source: "2025-11-25 schema.ts (PaginatedResult)",
    says: "nextCursor is a string, and is left out on the last page.",
    why: "Of null some clients make a cursor and ask for ever. An empty string is a cursor, though some stop at it: a note.",
    needs: Needs::Causal,
    when: When::NEXT_CURSOR,
    twin: "page-next-cursor-type",
    ..MUST
};

pub(crate) const CURSOR_ON_UNPAGED_METHOD: Rule = Rule {
    id: "cursor-on-unpaged-method",
    category: Category::Pagination,
    level: Level::MayNote,
    basis: Basis::Lowercase,
    side: Side::Both,
    source: "2025-11-25 server/utilities/pagination (Operations Supporting Pagination)",
    says: "Only lists of tools, prompts, resources, templates and (2025-11-25) tasks come in pages.",
    why: "The other side ignores the cursor: what it was to bring is not asked for, or comes again.",
    needs: Needs::Causal,
    when: When::CURSOR,
    ..NOTE
};

/// The rows that stand here.
pub(crate) const ROWS: &[Rule] = &[CURSOR_TYPE, NEXT_CURSOR_TYPE, CURSOR_ON_UNPAGED_METHOD];

/// The params of a list.
pub(crate) static LIST_CALL: Def = Def::new(
    "a call for a list",
    &[optional("cursor", What::Text).rule(&CURSOR_TYPE)],
);

/// `nextCursor` of a list.
pub(crate) const NEXT_CURSOR: Member = optional("nextCursor", What::Check("a string", next_cursor))
    .rule(&NEXT_CURSOR_TYPE)
    .null_is_worse();

fn next_cursor<'a>(walk: &mut Walk<'a>, value: Value<'a>, rule: &'static Rule) {
    if !value.is_text() {
        return walk.wrong(value, &What::Text, rule);
    }
    if value.is("") && !walk.is_stateless() {
        walk.flaw_at(rule, Severity::Note, value, || {
            "`result.nextCursor` is the empty string: a cursor, though some clients stop at it"
                .to_string()
        });
    }
}

/// `ttlMs` of what may be kept.
pub(crate) const TTL: Member = optional("ttlMs", What::Check("an integer, not below zero", ttl))
    .since(Revision::V2026_07_28)
    .rule(&CACHE_TTL_VALID)
    .null_is_worse();

fn ttl<'a>(walk: &mut Walk<'a>, value: Value<'a>, rule: &'static Rule) {
    let is_negative = value.raw().starts_with(b"-") && value.as_integer() != Some(0);
    if !value.is_integer() || is_negative {
        walk.wrong(value, &What::Check("an integer, not below zero", ttl), rule);
    }
}

/// `cacheScope` of what may be kept.
pub(crate) const CACHE_SCOPE: Member = optional("cacheScope", What::OneOf(&["public", "private"]))
    .since(Revision::V2026_07_28)
    .rule(&CACHE_SCOPE_VALID)
    .null_is_worse();

/// A cursor where nothing comes in pages.
pub(crate) fn unpaged<'a>(walk: &mut Walk<'a>, frame: &Frame<'a>) {
    let is_paged = matches!(
        frame.method,
        Method::ToolsList
            | Method::PromptsList
            | Method::ResourcesList
            | Method::ResourcesTemplatesList
            | Method::TasksList
            | Method::None
            | Method::Unknown
    );
    let name = match frame.message.kind {
        Kind::Request => "cursor",
        Kind::Result => "nextCursor",
        _ => return,
    };
    if is_paged || walk.is_stateless() {
        return;
    }
    if let Some(value) = walk.root().get(name) {
        walk.saw(CURSOR_ON_UNPAGED_METHOD.when);
        walk.flaw(&CURSOR_ON_UNPAGED_METHOD, value, || {
            let method = frame.method.words();
            format!("{method} does not come in pages; its `{name}` is ignored")
        });
    }
}
