//! Pings: answered with nothing.

use mcpsim_traces::judge::Severity;
use mcpsim_traces::message::{Message, Revision, Shape};

use crate::ledger::Cx;
use crate::part::Part;
use crate::rules::{Basis, Category, Level, Needs, Rule, Side, When};

pub(crate) const PING_RESULT_EMPTY: Rule = Rule {
    id: "ping-result-empty",
    category: Category::Ping,
    level: Level::Must,
    level_by: &[],
    basis: Basis::Text,
    severity: Severity::Warning,
    severity_by: &[],
    side: Side::Receiver,
    from: Revision::V2024_11_05,
    until: Revision::V2025_11_25,
    source: "2025-11-25 basic/utilities/ping (Behavior Requirements)",
    says: "A ping is answered with an empty result.",
    why: "There is nothing to say; strict readers refuse anything else.",
    tier: 2,
    needs: Needs::Causal,
    when: When::RESPONSE,
    twin: "",
};

/// The rows of this category.
pub(crate) const ROWS: &[Rule] = &[PING_RESULT_EMPTY];

impl Part {
    /// A ping's result.
    #[inline]
    pub(crate) fn ping_served(&mut self, cx: &mut Cx<'_>, message: &Message) {
        if !matches!(message.shape, Shape::Empty | Shape::None) {
            let text = format!(
                "the result of ping {} has members; it is `{{}}`",
                message.id
            );
            self.broken(cx, &PING_RESULT_EMPTY, &[cx.frame], text);
        }
    }
}
