//! Tools: what their results look like. A tool's own failure is a result, no error object.

use mcpsim_traces::message::{Condition, Message};

use crate::ledger::Cx;
use crate::part::Part;
use crate::rules::{Category, MUST, Rule, Side, When};

pub(crate) const IS_ERROR_TYPE: Rule = Rule {
    id: "is-error-type",
    category: Category::Tools,
    side: Side::Server,
    source: "2025-11-25 schema.ts (CallToolResult)",
    says: "`isError` is a boolean.",
    why: "\"false\" is true in half of the languages.",
    when: When::SERVER_RESULT,
    ..MUST
};

/// The rows of this category.
pub(crate) const ROWS: &[Rule] = &[IS_ERROR_TYPE];

impl Part {
    /// A tool's result.
    #[inline]
    pub(crate) fn tool_served(&mut self, cx: &mut Cx<'_>, message: &Message) {
        if message.has(Condition::IsErrorNotBoolean) {
            let text = "`isError` is no boolean; it is true or false".to_string();
            self.broken(cx, &IS_ERROR_TYPE, &[cx.frame], text);
        }
    }
}
