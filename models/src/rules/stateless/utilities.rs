//! Progress, cancellation, logging, pages and cache hints under 2026-07-28.

use mcpsim_traces::judge::Severity;

use crate::rules::{
    Basis, Category, Level, Needs, Rule, STATELESS_MUST, STATELESS_SHOULD, Side, When,
};

pub(crate) const PAGE_CURSOR_OPAQUE: Rule = Rule {
    id: "page-cursor-opaque",
    category: Category::Pagination,
    severity: Severity::Warning,
    side: Side::Client,
    source: "2026-07-28 server/utilities/pagination (Implementation Guidelines)",
    says: "A cursor goes back as it was, to the list that handed it out, and is never made up.",
    why: "It means something to its server alone; another one is refused, or read as another place in the list.",
    tier: 2,
    needs: Needs::Causal,
    when: When::CURSOR,
    ..STATELESS_MUST
};

pub(crate) const PAGE_NO_LOOP: Rule = Rule {
    id: "page-no-loop",
    category: Category::Pagination,
    level: Level::Should,
    basis: Basis::Derived,
    side: Side::Server,
    source: "2026-07-28 server/utilities/pagination (Implementation Guidelines)",
    says: "Following nextCursor comes to an end: no page leads back to itself or to an earlier one.",
    why: "A client that reads the whole list reads for ever.",
    needs: Needs::Causal,
    when: When::PAGE,
    ..STATELESS_SHOULD
};

pub(crate) const PAGE_INVALID_CURSOR_ERROR: Rule = Rule {
    id: "page-invalid-cursor-error",
    category: Category::Pagination,
    side: Side::Server,
    source: "2026-07-28 server/utilities/pagination (Error Handling)",
    says: "A cursor that the server does not know is refused with -32602.",
    why: "A client that gets a page instead goes on from a place that nobody chose.",
    tier: 3,
    needs: Needs::Causal,
    when: When::CURSOR,
    ..STATELESS_SHOULD
};

/// The rows of this group.
pub(crate) const ROWS: &[Rule] = &[PAGE_CURSOR_OPAQUE, PAGE_NO_LOOP, PAGE_INVALID_CURSOR_ERROR];
