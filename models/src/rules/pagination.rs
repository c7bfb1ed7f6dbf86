//! Cursors and pages.

use mcpsim_traces::judge::{Severity, Verdict};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::Method;
use mcpsim_traces::tape::Value;

use crate::deep::listing::ListKind;
use crate::deep::{Deep, Frame};
use crate::idset::Used;
use crate::ledger::{Cx, bit};
use crate::part::{Knows, Part, flag};
use crate::rules::listing::is_partial;
use crate::rules::{Basis, Category, MUST, NOTE, Needs, Rule, SHOULD, Side, When};
use crate::shape::shown;

pub(crate) const CURSOR_NOT_ISSUED: Rule = Rule {
    id: "cursor-not-issued",
    category: Category::Pagination,
    basis: Basis::Text,
    source: "2025-11-25 server/utilities/pagination (Implementation Guidelines)",
    says: "A client sends only cursors that it was given in this session, as they were.",
    why: "A cursor means something to its server alone: a made-up or stored one is refused, or silently read \
        as another place in the list.",
    needs: Needs::Causal,
    when: When::CURSOR,
    twin: "page-cursor-opaque",
    ..MUST
};

pub(crate) const CURSOR_FROM_OTHER_LIST: Rule = Rule {
    id: "cursor-from-other-list",
    category: Category::Pagination,
    basis: Basis::Derived,
    severity: Severity::Warning,
    tier: 2,
    source: "2025-11-25 server/utilities/pagination (Implementation Guidelines)",
    says: "A cursor goes back to the list that handed it out.",
    why: "Another list refuses it, or takes its number for a place of its own and skips items.",
    needs: Needs::Causal,
    when: When::CURSOR,
    twin: "page-cursor-opaque",
    ..MUST
};

pub(crate) const CURSOR_LOOP: Rule = Rule {
    id: "cursor-loop",
    category: Category::Pagination,
    basis: Basis::Derived,
    side: Side::Receiver,
    source: "2025-11-25 server/utilities/pagination (Implementation Guidelines)",
    says: "Following nextCursor comes to an end: no page leads back to itself or to an earlier one.",
    why: "A client that reads the whole list reads for ever.",
    needs: Needs::Causal,
    when: When::PAGE,
    twin: "page-no-loop",
    ..SHOULD
};

pub(crate) const PAGES_NOT_FOLLOWED: Rule = Rule {
    id: "pages-not-followed",
    category: Category::Pagination,
    side: Side::Client,
    source: "2025-11-25 server/utilities/pagination (Implementation Guidelines)",
    says: "A client reads a list to its last page, the one without nextCursor.",
    why: "What stands on later pages does not exist for it; a client may stop, but usually it never looked.",
    needs: Needs::Causal,
    when: When::PAGE,
    ..NOTE
};

pub(crate) const INVALID_CURSOR_ERROR: Rule = Rule {
    id: "invalid-cursor-error",
    category: Category::Pagination,
    side: Side::Server,
    source: "2025-11-25 server/utilities/pagination (Error Handling)",
    says: "A cursor that the server never handed out is refused with -32602.",
    why: "A client that gets a page instead goes on from a place that nobody chose.",
    needs: Needs::Causal,
    when: When::CURSOR,
    twin: "page-invalid-cursor-error",
    ..NOTE
};

/// The rows of this category.
pub(crate) const ROWS: &[Rule] = &[
    CURSOR_NOT_ISSUED,
    CURSOR_FROM_OTHER_LIST,
    CURSOR_LOOP,
    INVALID_CURSOR_ERROR,
    PAGES_NOT_FOLLOWED,
];

/// The client asks for a page.
pub(crate) fn page_asked(
    part: &mut Part,
    deep: &mut Deep,
    cx: &mut Cx<'_>,
    frame: &Frame<'_>,
    kind: ListKind,
) {
    let cursor = frame.asked.map_or(Key::ABSENT, |asked| asked.cursor);
    if let Some(chain) = &mut deep.listings.list_mut(kind).chain {
        // From the beginning: what was left of the old list is not wanted any more.
        chain.is_asked |= !cursor.is_present() || chain.next == cursor;
    }
    if !cursor.is_present() {
        return;
    }
    cx.ledger.saw(bit(When::CURSOR));
    let list = deep.listings.list(kind);
    match list.cursors.has(cursor) {
        Used::Before => {
            if let Some((_, fact)) = list.handed_out(cursor) {
                part.proven(fact);
            }
        }
        Used::Unknown => cx.pass_over(&CURSOR_NOT_ISSUED),
        Used::Never if part.is(flag::GARBLED_IN) || is_partial(part, deep) => {
            cx.pass_over(&CURSOR_NOT_ISSUED);
        }
        Used::Never => strange_cursor(part, deep, cx, frame, kind, cursor),
    }
}

#[cold]
fn strange_cursor(
    part: &Part,
    deep: &Deep,
    cx: &mut Cx<'_>,
    frame: &Frame<'_>,
    kind: ListKind,
    cursor: Key,
) {
    let value = frame.payload.and_then(|params| params.get("cursor"));
    let method = kind.method().as_str();
    let told = value.map_or(String::new(), shown);
    let mut others = ListKind::ALL.into_iter().filter(|&other| other != kind);
    let has = |other: ListKind| deep.listings.list(other).cursors.has(cursor);
    // A server outside sessions may have handed it out on another connection.
    let is_open = frame.is_stateless && !deep.listings.list(kind).is_seen;
    let verdict = if is_open {
        Verdict::Unsure
    } else {
        Verdict::Broken
    };
    if let Some(other) = others.clone().find(|&other| has(other) == Used::Before) {
        let text = format!(
            "{method} with the cursor {told} of {}; a cursor goes back to the list that handed it out",
            other.method().as_str()
        );
        let given = deep.listings.list(other).handed_out(cursor);
        let frames = [given.map_or(0, |(frame, _)| frame), cx.frame];
        let rule = &CURSOR_FROM_OTHER_LIST;
        return part.case(cx, rule, verdict, None, &frames, value, text);
    }
    if others.any(|other| has(other) == Used::Unknown) {
        return;
    }
    let rule = &CURSOR_NOT_ISSUED;
    if cursor == Key::text(b"") {
        let text =
            format!("{method} with an empty cursor; the first page is asked for without one");
        let severity = Some(Severity::Warning);
        return part.case(cx, rule, verdict, severity, &[cx.frame], value, text);
    }
    let text = format!(
        "{method} with the cursor {told}, which the server never handed out; a cursor is the `nextCursor` of a page"
    );
    part.case(cx, rule, verdict, None, &[cx.frame], value, text);
}

/// A page of the server leads back into the list.
#[cold]
pub(crate) fn page_loops(part: &Part, cx: &mut Cx<'_>, frame: &Frame<'_>, next: Value<'_>) {
    let asked = frame.asked.map_or(0, |asked| asked.frame);
    let text = format!(
        "{} goes on at the cursor {}, where it has been; following it never ends",
        frame.method.words(),
        shown(next)
    );
    let frames = [asked, cx.frame];
    part.case(
        cx,
        &CURSOR_LOOP,
        Verdict::Broken,
        None,
        &frames,
        Some(next),
        text,
    );
}

/// The server answers a request with a cursor that it never handed out: with a page (`code` is nothing), or
/// with an error.
pub(crate) fn strange_cursor_answered(
    part: &Part,
    deep: &Deep,
    cx: &mut Cx<'_>,
    frame: &Frame<'_>,
    kind: ListKind,
    code: Option<i64>,
) {
    let Some(asked) = frame.asked.filter(|asked| asked.cursor.is_present()) else {
        return;
    };
    let list = deep.listings.list(kind);
    let lists = ListKind::ALL.map(|kind| deep.listings.list(kind));
    let is_strange = lists
        .iter()
        .all(|list| list.cursors.has(asked.cursor) == Used::Never);
    // An empty one stands for none; of tasks, another rule speaks.
    let is_judged = is_strange
        && asked.cursor != Key::text(b"")
        && kind != ListKind::Tasks
        && !is_partial(part, deep)
        && (!frame.is_stateless || list.is_seen);
    if !is_judged {
        return;
    }
    let method = frame.method.words();
    let text = match code {
        // Not about the cursor.
        Some(-32602 | -32601) => return,
        Some(code) => format!(
            "{method} with a cursor that was never handed out is refused with {code}, not with -32602"
        ),
        None => format!(
            "{method} with a cursor that was never handed out is answered with a page, not with -32602"
        ),
    };
    part.broken(cx, &INVALID_CURSOR_ERROR, &[asked.frame, cx.frame], text);
}

/// The session is over: lists that the client did not read to their end.
pub(crate) fn pages_left(part: &Part, deep: &Deep, cx: &mut Cx<'_>, is_quiet: bool) {
    for kind in ListKind::ALL {
        let Some(chain) = &deep.listings.list(kind).chain else {
            continue;
        };
        let is_known = is_quiet || part.knows(chain.fact) == Knows::Must;
        let is_left = chain.next.is_present()
            && chain.next != Key::text(b"")
            && !chain.is_asked
            && !chain.is_changed
            && !chain.is_stateless;
        if is_known && is_left {
            let method: Method = kind.method();
            let text = format!(
                "the client never asked for the page of {} that follows this one",
                method.words()
            );
            part.broken(cx, &PAGES_NOT_FOLLOWED, &[chain.frame], text);
        }
    }
}
