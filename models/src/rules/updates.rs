//! Updates of resources: who may send them, and when they end.

use mcpsim_traces::event::Role;
use mcpsim_traces::judge::Verdict;
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Capability, Kind, Method};

use crate::deep::subscribed::Ground;
use crate::deep::{Deep, Frame, Topic};
use crate::ledger::Cx;
use crate::part::{Mode, Part, flag};
use crate::rules::listing::is_partial;
use crate::rules::{Basis, Category, MUST_SINCE_2025_06, NOTE, Needs, Rule, SHOULD, Side, When};
use crate::shape::shown;

pub(crate) const UPDATED_WITHOUT_SUBSCRIPTION: Rule = Rule {
    id: "updated-without-subscription",
    category: Category::Resources,
    basis: Basis::Lowercase,
    side: Side::Server,
    source: "2025-11-25 schema.ts (ResourceUpdatedNotification)",
    says: "notifications/resources/updated goes only to a client that subscribed.",
    why: "Clients that did not ask have no handler, or read the resource again at every change of anything.",
    needs: Needs::Causal,
    when: When::call(Method::ResourcesUpdated),
    ..SHOULD
};

pub(crate) const UPDATED_AFTER_UNSUBSCRIBE: Rule = Rule {
    id: "updated-after-unsubscribe",
    category: Category::Resources,
    basis: Basis::Derived,
    side: Side::Server,
    source: "2025-11-25 schema.ts (UnsubscribeRequest)",
    says: "Once the server has answered an unsubscribe, it sends no more updates of that resource.",
    why: "The client has forgotten what the uri was to it.",
    needs: Needs::SameDirection,
    when: When::call(Method::ResourcesUpdated),
    ..SHOULD
};

pub(crate) const UNSUBSCRIBE_UNKNOWN: Rule = Rule {
    id: "unsubscribe-unknown",
    category: Category::Resources,
    basis: Basis::Lowercase,
    side: Side::Client,
    source: "2025-11-25 schema.ts (UnsubscribeRequest)",
    says: "A client unsubscribes from what it has subscribed to.",
    why: "Mostly the uri is spelt in another way, and the subscription that was meant goes on.",
    needs: Needs::SameDirection,
    when: When::call(Method::ResourcesUnsubscribe),
    ..NOTE
};

pub(crate) const RESOURCES_UPDATED_UNDECLARED: Rule = Rule {
    id: "resources-updated-undeclared",
    category: Category::Capability,
    level_by: MUST_SINCE_2025_06,
    basis: Basis::Derived,
    side: Side::Server,
    source: "2025-11-25 basic/lifecycle (Operation)",
    says: "notifications/resources/updated only with `resources.subscribe`.",
    why: "The client was told that it cannot subscribe, so it cannot have asked for this.",
    needs: Needs::SameDirection,
    when: When::call(Method::ResourcesUpdated),
    ..SHOULD
};

/// The rows of this group.
pub(crate) const ROWS: &[Rule] = &[
    UPDATED_WITHOUT_SUBSCRIPTION,
    UPDATED_AFTER_UNSUBSCRIBE,
    UNSUBSCRIBE_UNKNOWN,
    RESOURCES_UPDATED_UNDECLARED,
];

/// Subscriptions inside sessions, and what comes of them.
pub(crate) const UPDATES: Topic = Topic {
    by: sent,
    toward: heard,
};

/// The uri that a frame, or the request that it answers, is about.
fn uri(frame: &Frame<'_>) -> Option<Key> {
    let uri = match frame.message.kind {
        Kind::Notification => {
            let uri = frame.payload.and_then(|params| params.get("uri"));
            uri.filter(|uri| uri.is_text())?.key()
        }
        _ => frame.asked?.subject,
    };
    uri.is_present().then_some(uri)
}

fn heard(part: &mut Part, deep: &mut Deep, _: &mut Cx<'_>, frame: &Frame<'_>) {
    let is_asked = part.role == Role::Server && frame.message.kind == Kind::Request;
    let Some(uri) = uri(frame).filter(|_| is_asked && !frame.is_stateless) else {
        return;
    };
    match frame.method {
        Method::ResourcesSubscribe => deep.subscribed.begin(uri),
        Method::ResourcesUnsubscribe => deep.subscribed.undo(uri, frame.message.id),
        _ => {}
    }
}

fn sent(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let Some(uri) = uri(frame).filter(|_| !frame.is_stateless) else {
        return;
    };
    let is_result = frame.message.kind == Kind::Result;
    match (part.role, frame.message.kind, frame.method) {
        (Role::Client, Kind::Request, Method::ResourcesSubscribe) => deep.subscribed.asks(uri),
        (Role::Client, Kind::Request, Method::ResourcesUnsubscribe) => {
            undone(part, deep, cx, frame, uri);
        }
        (Role::Server, Kind::Result | Kind::Error, Method::ResourcesSubscribe) => {
            deep.subscribed.begun(uri, is_result);
        }
        (Role::Server, Kind::Result | Kind::Error, Method::ResourcesUnsubscribe) => {
            let id = frame.message.id;
            deep.subscribed.end(uri, id, is_result, cx.frame);
        }
        (Role::Server, Kind::Notification, Method::ResourcesUpdated) => {
            updated(part, deep, cx, frame, uri);
        }
        _ => {}
    }
}

fn undone(part: &Part, deep: &Deep, cx: &mut Cx<'_>, frame: &Frame<'_>, uri: Key) {
    // Over http, seen from elsewhere, the subscribe may just be seen later.
    let is_known = part.mode != Mode::Loose && !is_partial(part, deep);
    if is_known && deep.subscribed.never_asked(uri) {
        let value = frame.payload.and_then(|params| params.get("uri"));
        let text = format!(
            "an unsubscribe from {}, to which the client never subscribed",
            value.map_or(String::new(), shown)
        );
        let frames = [cx.frame];
        let verdict = Verdict::Broken;
        let rule = &UNSUBSCRIBE_UNKNOWN;
        part.case(cx, rule, verdict, None, &frames, value, text);
    }
}

fn updated(part: &Part, deep: &Deep, cx: &mut Cx<'_>, frame: &Frame<'_>, uri: Key) {
    // Without the capability the more general rule speaks.
    let is_declared = part.mine.has(Capability::ResourcesSubscribe);
    let is_open =
        part.is(flag::GARBLED_IN) || !part.is(flag::ANSWERED_INIT) || is_partial(part, deep);
    if !is_declared || is_open {
        return;
    }
    let value = frame.payload.and_then(|params| params.get("uri"));
    let told = value.map_or(String::new(), shown);
    let (rule, first, text) = match deep.subscribed.ground(uri) {
        Ground::Live | Ground::Unknown => return,
        Ground::Ended(first) => (
            &UPDATED_AFTER_UNSUBSCRIBE,
            first,
            format!(
                "an update of {told} after the answer to its unsubscribe; updates end with that"
            ),
        ),
        Ground::None => (
            &UPDATED_WITHOUT_SUBSCRIPTION,
            0,
            format!(
                "an update of {told}, and no subscription of the client is live; what is not subscribed to is not updated"
            ),
        ),
    };
    // Without an order it may have been sent while a subscription was live that is no more.
    let verdict = match part.mode {
        Mode::Loose if deep.subscribed.is_spent() => Verdict::Unsure,
        Mode::Loose | Mode::Exact | Mode::Fifo => Verdict::Broken,
    };
    part.case(cx, rule, verdict, None, &[first, cx.frame], value, text);
}
