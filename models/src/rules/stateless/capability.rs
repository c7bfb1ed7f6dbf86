//! Capabilities that each request declares, and those that a server lists.

use crate::rules::{Category, Needs, Rule, STATELESS_MUST, Side, When};

pub(crate) const CAPS_LIST_ANSWERED: Rule = Rule {
    id: "caps-list-answered",
    category: Category::Capability,
    side: Side::Server,
    source: "2026-07-28 server/tools (Capabilities)",
    says: "A server that offers tools, resources or prompts answers the request that lists them.",
    why: "Clients take the offer at its word, and find nothing to use.",
    needs: Needs::Causal,
    when: When::DISCOVERED,
    ..STATELESS_MUST
};

/// The rows of this group.
pub(crate) const ROWS: &[Rule] = &[CAPS_LIST_ANSWERED];
