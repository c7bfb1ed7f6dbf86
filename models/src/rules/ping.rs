//! Pings: answered with nothing.

use mcpsim_traces::event::Role;
use mcpsim_traces::message::{Message, Method, Shape};

use crate::ledger::Cx;
use crate::part::{In, Part, flag, open};
use crate::rules::{Basis, Category, Level, MUST, Needs, Rule, SHOULD, Side, When};

pub(crate) const PING_RESULT_EMPTY: Rule = Rule {
    id: "ping-result-empty",
    category: Category::Ping,
    level: Level::Must,
    side: Side::Receiver,
    source: "2025-11-25 basic/utilities/ping (Behavior Requirements)",
    says: "A ping is answered with an empty result.",
    why: "There is nothing to say; strict readers refuse anything else.",
    needs: Needs::Causal,
    when: When::RESPONSE,
    ..SHOULD
};

pub(crate) const PING_ANSWERED: Rule = Rule {
    id: "ping-answered",
    category: Category::Ping,
    basis: Basis::Text,
    side: Side::Receiver,
    source: "2025-11-25 basic/utilities/ping (Behavior Requirements)",
    says: "A ping succeeds, whatever state the session is in.",
    why: "Pings are how the other side tells a living peer from a dead one: a client that takes an error for \
        ill health kills the server and starts it again, for ever.",
    needs: Needs::Causal,
    when: When::call(Method::Ping),
    ..MUST
};

/// The rows of this category.
pub(crate) const ROWS: &[Rule] = &[PING_RESULT_EMPTY, PING_ANSWERED];

impl Part {
    /// A ping's error. One that was itself broken, or withdrawn, may be refused, and before initialize came
    /// there is nobody to ping.
    #[cold]
    pub(crate) fn ping_refused(&mut self, cx: &mut Cx<'_>, message: &Message, request: &In) {
        let is_open = match self.role {
            Role::Client => self.is(flag::INIT_SENT | flag::JOINED),
            Role::Server => self.opened.is_some() || self.is(flag::JOINED),
        };
        let is_excused =
            request.cancel.is_some() || request.flags & (open::BAD | open::REUSED) != 0;
        if cx.refused || !is_open || is_excused {
            return;
        }
        let text = format!(
            "ping {} is refused with error {}; its answer is the empty result `{{}}`",
            request.id, message.number
        );
        self.broken(cx, &PING_ANSWERED, &[request.frame, cx.frame], text);
    }

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
