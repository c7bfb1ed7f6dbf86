//! The rows of subscriptions.

use mcpsim_traces::judge::Severity;
use mcpsim_traces::message::Method;

use crate::rules::{Basis, Category, Needs, Rule, STATELESS_MUST, STATELESS_SHOULD, Side, When};

const SUB: Rule = Rule {
    category: Category::Subscriptions,
    side: Side::Server,
    needs: Needs::Causal,
    when: When::SUBSCRIPTION,
    ..STATELESS_MUST
};

pub(crate) const SUB_ACK_FIRST: Rule = Rule {
    id: "sub-ack-first",
    needs: Needs::SameDirection,
    source: "2026-07-28 basic/patterns/subscriptions (Acknowledgment)",
    says: "The first message of a subscription is its acknowledgement.",
    why: "Until then the client does not know what it will be told, and drops what it cannot place.",
    ..SUB
};

pub(crate) const SUB_ACK_MISSING: Rule = Rule {
    id: "sub-ack-missing",
    needs: Needs::Time,
    tier: 3,
    source: "2026-07-28 basic/patterns/subscriptions (Acknowledgment)",
    says: "A subscription is acknowledged, or refused with an error.",
    why: "The client waits for the first and serves stale lists meanwhile; nothing tells it that nobody listens.",
    when: When::call(Method::SubscriptionsListen),
    ..SUB
};

pub(crate) const SUB_ACK_SUBSET: Rule = Rule {
    id: "sub-ack-subset",
    basis: Basis::Lowercase,
    source: "2026-07-28 basic/patterns/subscriptions (Acknowledgment)",
    says: "An acknowledgement holds at most what the request asked for.",
    why: "The client has no handler for the rest. To leave out what is not supported is the usual way.",
    when: When::call(Method::SubscriptionsAcknowledged),
    ..SUB
};

pub(crate) const SUB_ONLY_REQUESTED_TYPES: Rule = Rule {
    id: "sub-only-requested-types",
    source: "2026-07-28 basic/patterns/subscriptions (Opening a Stream)",
    says: "A subscription brings only kinds of notifications that its own request asked for.",
    why: "Clients open several and route by the subscription: what another one asked for does not count.",
    ..SUB
};

pub(crate) const SUB_ONLY_ACKNOWLEDGED_TYPES: Rule = Rule {
    id: "sub-only-acknowledged-types",
    needs: Needs::SameDirection,
    basis: Basis::Derived,
    source: "2026-07-28 basic/patterns/subscriptions (Acknowledgment)",
    says: "A subscription brings no kind of notifications that its acknowledgement left out.",
    why: "The client was told to do without, and polls instead: it is told twice or not where it counts on it.",
    ..SUB_WARNING
};

const SUB_WARNING: Rule = Rule {
    category: Category::Subscriptions,
    side: Side::Server,
    when: When::SUBSCRIPTION,
    ..STATELESS_SHOULD
};

pub(crate) const SUB_UPDATED_URI_REQUESTED: Rule = Rule {
    id: "sub-updated-uri-requested",
    basis: Basis::Lowercase,
    severity: Severity::Warning,
    tier: 2,
    source: "2026-07-28 basic/patterns/subscriptions (Notification Filter)",
    says: "An update is of a resource that the request listed, or of one below it.",
    why: "The client looks the URI up among those it listed and finds nothing. What lies below what, the server decides.",
    when: When::call(Method::ResourcesUpdated),
    ..SUB
};

pub(crate) const SUB_ID_TAG: Rule = Rule {
    id: "sub-id-tag",
    source: "2026-07-28 basic/patterns/subscriptions (Receiving Notifications)",
    says: "What is sent on a subscription names it in `_meta`, under io.modelcontextprotocol/subscriptionId.",
    why: "On a pipe all subscriptions share one channel, and clients find theirs by this member alone.",
    ..SUB
};

pub(crate) const SUB_ID_MATCHES_OPEN: Rule = Rule {
    id: "sub-id-matches-open",
    source: "2026-07-28 basic/patterns/subscriptions (Receiving Notifications)",
    says: "The tag is the id of the request subscriptions/listen, with its type, and on HTTP of the one whose stream it is.",
    why: "The client looks the subscription up by it: \"1\" is not 1, and what is not found is dropped.",
    ..SUB
};

pub(crate) const SUB_NO_TAG_ELSEWHERE: Rule = Rule {
    id: "sub-no-tag-elsewhere",
    needs: Needs::Frame,
    source: "2026-07-28 basic/transports/streamable-http (Receiving Messages)",
    says: "Progress and log messages belong to a request and are not sent on a subscription.",
    why: "Whoever waits for them looks at the request; a subscription outlives it and serves somebody else.",
    when: When::STATELESS_SCOPED,
    ..SUB
};

pub(crate) const SUB_SILENCE_AFTER_END: Rule = Rule {
    id: "sub-silence-after-end",
    needs: Needs::SameDirection,
    basis: Basis::Derived,
    source: "2026-07-28 basic/patterns/subscriptions (Cancellation)",
    says: "Nothing is sent for a subscription that has ended.",
    why: "Its id is free again: what comes late is taken for the next request that has it.",
    ..SUB
};

pub(crate) const SUB_END_ANNOUNCED: Rule = Rule {
    id: "sub-end-announced",
    needs: Needs::SameDirection,
    source: "2026-07-28 basic/patterns/subscriptions (Graceful Closure)",
    says: "A server that ends a subscription says so: with a result, or on a pipe with a cancel of the request.",
    why: "The client goes on waiting for changes that nobody reports any more.",
    ..SUB_WARNING
};

pub(crate) const SUB_RESULT_TAG: Rule = Rule {
    id: "sub-result-tag",
    basis: Basis::Schema,
    source: "2026-07-28 schema.ts (SubscriptionsListenResult)",
    says: "The result that closes a subscription names it in `_meta`, by the id that is also its own.",
    why: "Clients that route by the tag miss the end, and go on as if the subscription were open.",
    when: When::result(Method::SubscriptionsListen),
    ..SUB
};

pub(crate) const SUB_ACK_ONCE: Rule = Rule {
    id: "sub-ack-once",
    needs: Needs::SameDirection,
    basis: Basis::Derived,
    severity: Severity::Warning,
    tier: 3,
    source: "2026-07-28 basic/patterns/subscriptions (Acknowledgment)",
    says: "A subscription is acknowledged once.",
    why: "The second one looks like the beginning of another subscription, or like a change of what was agreed to.",
    when: When::call(Method::SubscriptionsAcknowledged),
    ..SUB
};

/// The rows of this category.
pub(crate) const ROWS: &[Rule] = &[
    SUB_ACK_FIRST,
    SUB_ACK_MISSING,
    SUB_ACK_SUBSET,
    SUB_ACK_ONCE,
    SUB_ONLY_REQUESTED_TYPES,
    SUB_ONLY_ACKNOWLEDGED_TYPES,
    SUB_UPDATED_URI_REQUESTED,
    SUB_ID_TAG,
    SUB_ID_MATCHES_OPEN,
    SUB_NO_TAG_ELSEWHERE,
    SUB_SILENCE_AFTER_END,
    SUB_END_ANNOUNCED,
    SUB_RESULT_TAG,
];
