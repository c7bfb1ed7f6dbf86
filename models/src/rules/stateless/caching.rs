//! How long, and for whom, a result may be kept.

use mcpsim_traces::event::Role;
use mcpsim_traces::judge::{Severity, Verdict};
use mcpsim_traces::message::{Kind, Method};
use mcpsim_traces::tape::Value;

use crate::deep::scopes::Scope;
use crate::deep::topics::ignore;
use crate::deep::{Asked, Deep, Frame, Topic};
use crate::ledger::{Cx, bit};
use crate::part::Part;
use crate::rules::{Basis, Category, Needs, Rule, STATELESS_MUST, Side, When};

const CACHE: Rule = Rule {
    category: Category::Caching,
    side: Side::Server,
    needs: Needs::Causal,
    when: When::CACHEABLE,
    ..STATELESS_MUST
};

pub(crate) const CACHE_HINTS_PRESENT: Rule = Rule {
    id: "cache-hints-present",
    source: "2026-07-28 server/utilities/caching (Cacheable Results)",
    says: "Lists, resources that are read and server/discover come with ttlMs and cacheScope.",
    why: "Without them a client asks for the same list again and again, or a shared cache shows one user's to another.",
    ..CACHE
};

pub(crate) const CACHE_SCOPE_SAME_ACROSS_PAGES: Rule = Rule {
    id: "cache-scope-same-across-pages",
    source: "2026-07-28 server/utilities/caching (Interaction with Pagination)",
    says: "All pages of a list have the same cacheScope.",
    why: "A page that is shared among users belongs to a list that is not: what they see together fits nobody.",
    when: When::PAGE_SCOPE,
    ..CACHE
};

pub(crate) const CACHE_NO_HINTS_ON_INTERIM: Rule = Rule {
    id: "cache-no-hints-on-interim",
    needs: Needs::Frame,
    basis: Basis::Lowercase,
    severity: Severity::Warning,
    tier: 2,
    source: "2026-07-28 server/utilities/caching (Cacheable Results)",
    says: "A result that asks for input says nothing about keeping it.",
    why: "A cache that keeps the question asks the next one who calls, with the state of another exchange.",
    when: When::INPUT_REQUIRED,
    ..CACHE
};

/// The rows of this category.
pub(crate) const ROWS: &[Rule] = &[
    CACHE_HINTS_PRESENT,
    CACHE_SCOPE_SAME_ACROSS_PAGES,
    CACHE_NO_HINTS_ON_INTERIM,
];

/// Results that a client may keep.
pub(crate) const TOPIC: Topic = Topic { by, toward: ignore };

/// Whether results of that method say how long they may be kept.
fn is_cacheable(method: Method) -> bool {
    matches!(
        method,
        Method::ServerDiscover
            | Method::ToolsList
            | Method::PromptsList
            | Method::ResourcesList
            | Method::ResourcesTemplatesList
            | Method::ResourcesRead
    )
}

fn by(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let is_result = part.role == Role::Server && frame.message.kind == Kind::Result;
    if !is_result || !is_cacheable(frame.method) {
        return;
    }
    let (Some(result), Some(asked)) = (frame.payload, frame.asked) else {
        return;
    };
    let (mut ttl, mut scope, mut next, mut is_complete) = (None, None, None, false);
    for (name, value) in result.members() {
        match () {
            () if name.is("ttlMs") => ttl = Some(value),
            () if name.is("cacheScope") => scope = Some(value),
            () if name.is("nextCursor") => next = Some(value),
            () if name.is("resultType") => is_complete = value.is("complete"),
            () => {}
        }
    }
    // A result without its kind may be of an older server: that is another finding.
    if !is_complete {
        return;
    }
    cx.ledger.saw(bit(When::CACHEABLE));
    let missing = match (ttl, scope) {
        (None, None) => "neither ttlMs nor cacheScope",
        (None, Some(_)) => "no ttlMs",
        (Some(_), None) => "no cacheScope",
        (Some(_), Some(_)) => "",
    };
    if !missing.is_empty() {
        let text = format!("the result of {} has {missing}", frame.method.words());
        part.broken(cx, &CACHE_HINTS_PRESENT, &[asked.frame, cx.frame], text);
    }
    if let Some(scope) = scope {
        judge_scope(part, deep, cx, asked, scope, next);
    }
}

/// Holds a page's scope against that of the page that gave its cursor.
fn judge_scope(
    part: &Part,
    deep: &mut Deep,
    cx: &mut Cx<'_>,
    asked: &Asked,
    value: Value<'_>,
    next: Option<Value<'_>>,
) {
    let Some(scope) = Scope::read(value) else {
        return;
    };
    if asked.cursor.is_present() {
        let before = deep.scopes.of(asked.method, asked.cursor);
        if let Some((frame, is_same)) = before.map(|page| (page.frame, page.has(scope))) {
            cx.ledger.saw(bit(When::PAGE_SCOPE));
            if !is_same {
                let text = format!(
                    "this page is {}, and the page that gave its cursor is {}",
                    scope.as_str(),
                    scope.other().as_str()
                );
                let frames = [frame, cx.frame];
                let rule = &CACHE_SCOPE_SAME_ACROSS_PAGES;
                part.case(cx, rule, Verdict::Broken, None, &frames, Some(value), text);
            }
        }
    }
    if let Some(next) = next.filter(|next| next.is_text()) {
        deep.scopes.give(asked.method, next.key(), scope, cx.frame);
    }
}

/// A result that asks for input.
pub(crate) fn interim(part: &Part, cx: &mut Cx<'_>, result: Value<'_>) {
    for member in ["ttlMs", "cacheScope"] {
        if let Some(value) = result.get(member) {
            let text = format!("the result asks for input and has `{member}`; it is not kept");
            return part.broken_value(cx, &CACHE_NO_HINTS_ON_INTERIM, value, text);
        }
    }
}
