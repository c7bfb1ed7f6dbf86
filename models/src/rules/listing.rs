//! Lists as a whole: names that stand twice, and changes that nobody announced.

use mcpsim_traces::event::{LinkKind, Role};
use mcpsim_traces::judge::Verdict;
use mcpsim_traces::message::{Kind, Method, Revision};

use crate::deep::listing::{Difference, Doubled, Due, ListKind, Seen};
use crate::deep::topics::ignore;
use crate::deep::{Deep, Frame, Topic};
use crate::ledger::{Cx, bit};
use crate::part::{Mode, Part, flag};
use crate::rules::stateless::tools::TOOLS_LIST_ORDER;
use crate::rules::{
    Basis, Category, MUST, NOTE, Needs, Rule, SHOULD, Side, When, pagination, refusals,
    tool_schemas,
};
use crate::shape::shown;

pub(crate) const TOOL_NAME_UNIQUE: Rule = Rule {
    id: "tool-name-unique",
    category: Category::Tools,
    side: Side::Server,
    source: "2025-11-25 server/tools (Tool Names)",
    says: "No two tools of a server have one name; the case counts.",
    why: "A call names its tool, and which of the two runs is anybody's guess; some clients refuse the whole list.",
    needs: Needs::SameDirection,
    when: When::result(Method::ToolsList),
    twin: "tools-names",
    ..SHOULD
};

pub(crate) const RESOURCE_URI_UNIQUE: Rule = Rule {
    id: "resource-uri-unique",
    category: Category::Resources,
    basis: Basis::Lowercase,
    side: Side::Server,
    source: "2025-11-25 server/resources (Data Types)",
    says: "A uri stands for one resource in a list.",
    why: "A read names the uri, so one of the two can never be read.",
    needs: Needs::SameDirection,
    when: When::result(Method::ResourcesList),
    ..SHOULD
};

pub(crate) const PROMPT_NAME_UNIQUE: Rule = Rule {
    id: "prompt-name-unique",
    category: Category::Prompts,
    basis: Basis::Lowercase,
    side: Side::Server,
    source: "2025-11-25 server/prompts (Data Types)",
    says: "No two prompts of a server have one name.",
    why: "A prompt is asked for by its name, so one of the two can never be had.",
    needs: Needs::SameDirection,
    when: When::result(Method::PromptsList),
    ..SHOULD
};

pub(crate) const LIST_CHANGED_NOT_SENT: Rule = Rule {
    id: "list-changed-not-sent",
    category: Category::Notification,
    side: Side::Server,
    source: "2025-11-25 server/tools (List Changed Notification)",
    says: "A server that promised `listChanged` says so when its list of tools, prompts or resources changes.",
    why: "Clients read the list once and rely on the promise: new tools stay unseen, calls of removed ones fail.",
    needs: Needs::SameDirection,
    when: When::WHOLE_LIST,
    ..NOTE
};

pub(crate) const ROOTS_CHANGE_NOTIFIED: Rule = Rule {
    id: "roots-change-notified",
    category: Category::Roots,
    side: Side::Client,
    level: MUST.level,
    source: "2025-11-25 client/roots (Root List Changes)",
    says: "A client that declared `roots.listChanged` tells of every change of its roots.",
    why: "The server goes on working in directories that the user has taken away.",
    needs: Needs::SameDirection,
    when: When::result(Method::RootsList),
    ..SHOULD
};

/// The rows of this group.
pub(crate) const ROWS: &[Rule] = &[
    TOOL_NAME_UNIQUE,
    RESOURCE_URI_UNIQUE,
    PROMPT_NAME_UNIQUE,
    LIST_CHANGED_NOT_SENT,
    ROOTS_CHANGE_NOTIFIED,
];

/// Lists that come in pages.
pub(crate) const LIST: Topic = Topic {
    by: list_by,
    toward: list_toward,
};

/// Notifications that a list has changed.
pub(crate) const CHANGED: Topic = Topic {
    by: changed,
    toward: changed,
};

/// The roots of the client.
pub(crate) const ROOTS: Topic = Topic {
    by: roots_by,
    toward: ignore,
};

fn list_by(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let Some(kind) = ListKind::of(frame.method) else {
        return;
    };
    match (part.role, frame.message.kind) {
        (Role::Client, Kind::Request) => pagination::page_asked(part, deep, cx, frame, kind),
        (Role::Server, Kind::Result) => {
            if let Some(seen) = seen(cx, frame, kind) {
                note_cursor(part, &seen);
            }
            page_sent(part, deep, cx, frame, kind);
        }
        (Role::Server, Kind::Error) => refusals::list_refused(part, deep, cx, frame, kind),
        _ => {}
    }
}

fn list_toward(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    if let Some(kind) = ListKind::of(frame.method)
        && let Some(seen) = seen(cx, frame, kind)
        && part.role == Role::Client
    {
        note_cursor(part, &seen);
        deep.listings.page(&seen, cx.ledger);
    }
}

fn seen<'a>(cx: &Cx<'_>, frame: &Frame<'a>, kind: ListKind) -> Option<Seen<'a>> {
    (frame.message.kind == Kind::Result).then_some(Seen {
        kind,
        asked: frame.asked?,
        result: frame.payload?,
        frame: cx.frame,
        fact: frame.fact,
    })
}

/// A cursor that is none: who sends it back repeats what it was given.
fn note_cursor(part: &mut Part, seen: &Seen<'_>) {
    let next = seen.result.get("nextCursor");
    if next.is_some_and(|next| !next.is_text()) {
        part.set(flag::ODD_CURSOR);
    }
}

/// The server sends a page.
fn page_sent(part: &Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>, kind: ListKind) {
    let Some(seen) = seen(cx, frame, kind) else {
        return;
    };
    pagination::strange_cursor_answered(part, deep, cx, frame, kind, None);
    if kind == ListKind::Tools {
        tool_schemas::listed(part, deep, cx, frame, seen.result);
    }
    let page = deep.listings.page(&seen, cx.ledger);
    if seen.result.get("nextCursor").is_some() {
        cx.ledger.saw(bit(When::PAGE));
    } else {
        cx.ledger.saw(bit(When::WHOLE_LIST));
    }
    if let Some(doubled) = page.doubled {
        stands_twice(part, cx, frame, kind, &doubled);
    }
    if let Some(next) = page.looped {
        pagination::page_loops(part, cx, frame, next);
    }
    match page.difference {
        Some(Difference::Items { before }) => {
            let is_promised = kind.promise().is_some_and(|promise| part.mine.has(promise));
            if is_promised && !frame.is_stateless {
                deep.listings.expect(Some(kind), [before, cx.frame]);
            }
        }
        Some(Difference::Order { before }) if kind == ListKind::Tools => {
            let text = "the same tools as before in another order; the order is the same each time"
                .to_string();
            part.broken(cx, &TOOLS_LIST_ORDER, &[before, cx.frame], text);
        }
        _ => {}
    }
}

/// A name stands twice in a list.
#[cold]
fn stands_twice(
    part: &Part,
    cx: &mut Cx<'_>,
    frame: &Frame<'_>,
    kind: ListKind,
    doubled: &Doubled<'_>,
) {
    let (rule, what) = match kind {
        ListKind::Tools => (&TOOL_NAME_UNIQUE, "tools have the name"),
        ListKind::Resources => (&RESOURCE_URI_UNIQUE, "resources have the uri"),
        ListKind::Prompts => (&PROMPT_NAME_UNIQUE, "prompts have the name"),
        ListKind::Templates | ListKind::Tasks => return,
    };
    if doubled.is_torn {
        return;
    }
    // Of a list that may change unseen, an item may just have moved on to the next page.
    let is_promised = kind.promise().is_some_and(|promise| part.mine.has(promise));
    let verdict = if doubled.is_same && !is_promised {
        Verdict::Unsure
    } else {
        Verdict::Broken
    };
    let name = shown(doubled.name);
    let text = match frame.revision {
        Some(revision) if kind == ListKind::Tools && revision < Revision::V2025_11_25 => format!(
            "two {what} {name}; {revision} calls it a unique identifier, without a key word"
        ),
        _ => format!("two {what} {name}; it stands for one of a list"),
    };
    let frames = [doubled.first, cx.frame];
    part.case(cx, rule, verdict, None, &frames, Some(doubled.name), text);
}

fn changed(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let _ = (part, cx);
    if frame.message.kind == Kind::Notification {
        deep.listings.announced(ListKind::changed(frame.method));
    }
}

fn roots_by(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    match (part.role, frame.message.kind, frame.payload) {
        (Role::Client, Kind::Result, Some(result)) if !frame.is_stateless => {
            let promise = mcpsim_traces::message::Capability::RootsListChanged;
            let difference = deep.listings.roots(result, cx.frame);
            if let Some(Difference::Items { before }) = difference
                && part.mine.has(promise)
            {
                deep.listings.expect(None, [before, cx.frame]);
            }
        }
        (Role::Client, Kind::Error, _) => refusals::roots_refused(part, cx, frame),
        _ => {}
    }
}

/// Whether something that the session told before may be missing here: it began before the recording, or a
/// frame was too large, or had to be forgotten.
pub(crate) fn is_partial(part: &Part, deep: &Deep) -> bool {
    let has_session = part.revision.is_some_and(Revision::has_handshake);
    part.may_be_unseen()
        || deep.listings.is_blind
        // With a revision that is given, nothing else tells that the beginning is not there.
        || part.is(flag::FORCED) && has_session && !part.handshake_begun()
}

/// The party sends a frame while it owes word of a change.
pub(crate) fn tick(part: &Part, deep: &mut Deep, cx: &mut Cx<'_>) {
    if part.mode != Mode::Loose
        && let Some(due) = deep.listings.overdue()
    {
        report(part, cx, &due, Verdict::Broken);
    }
}

/// The session is over: changes of which no word came.
pub(crate) fn never_told(part: &Part, deep: &mut Deep, cx: &mut Cx<'_>, is_quiet: bool) {
    for due in deep.listings.take_dues() {
        let verdict = if is_quiet {
            Verdict::Broken
        } else {
            Verdict::Unsure
        };
        report(part, cx, &due, verdict);
    }
}

fn report(part: &Part, cx: &mut Cx<'_>, due: &Due, verdict: Verdict) {
    let (rule, text) = match due.kind {
        Some(kind) => (
            &LIST_CHANGED_NOT_SENT,
            format!(
                "{} gave other {} than before, and no list_changed told of it",
                kind.method().as_str(),
                kind.items()
            ),
        ),
        None => (
            &ROOTS_CHANGE_NOTIFIED,
            "roots/list gave other roots than before, and no notifications/roots/list_changed told of it"
                .to_string(),
        ),
    };
    // Over http a list may depend on who asks, and that is not in the frames.
    let verdict = match part.link {
        LinkKind::Http if due.kind.is_some() => Verdict::Unsure,
        _ => verdict,
    };
    part.case(cx, rule, verdict, None, &due.frames, None, text);
}
