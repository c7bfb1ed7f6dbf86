//! Revisions from frame to frame, and peers of both eras.

use mcpsim_traces::message::{Message, Method, Revision};

use crate::era::Era;
use crate::ledger::Cx;
use crate::part::{Part, flag};
use crate::rules::envelope::is_in;

use crate::rules::{Basis, Category, Needs, Rule, STATELESS_MUST, Side, When};

pub(crate) const REMOVED_METHOD: Rule = Rule {
    id: "removed-method",
    category: Category::Versioning,
    basis: Basis::Derived,
    side: Side::Client,
    needs: Needs::Causal,
    when: When::STATELESS,
    source: "2026-07-28 changelog (Major changes)",
    says: "Methods that this revision dropped are not used under it.",
    why: "A server of this revision has no ping, no logging/setLevel, no resources/subscribe and no tasks/list or \
        tasks/result to answer with: the call fails, and what it was to bring about does not happen.",
    ..STATELESS_MUST
};

pub(crate) const REMOVED_NOTIFICATION: Rule = Rule {
    id: "removed-notification",
    category: Category::Versioning,
    basis: Basis::Derived,
    side: Side::Both,
    needs: Needs::Causal,
    when: When::STATELESS_NOTIFICATION,
    source: "2026-07-28 changelog (Major changes)",
    says: "Notifications that this revision dropped are not sent under it.",
    why: "Nobody listens: there is no handshake to complete, and roots, tasks and elicitations report in other ways.",
    ..STATELESS_MUST
};

pub(crate) const ROWS: &[Rule] = &[REMOVED_METHOD, REMOVED_NOTIFICATION];

/// Whether 2026-07-28 dropped that method. initialize is a matter of its own.
pub(crate) fn is_removed(method: Method) -> bool {
    !matches!(method, Method::Initialize | Method::None | Method::Unknown)
        && !is_in(method, Revision::V2026_07_28)
}

impl Part {
    /// A request of the client that does not belong to a session, or that may not: what can be said of it
    /// without its text.
    #[inline]
    pub(crate) fn newer_request(&mut self, cx: &mut Cx<'_>, message: &Message) {
        if cx.era == Era::Foreign {
            return;
        }
        let method = message.method;
        // Pings may come before a handshake: most that do are followed by one.
        let is_early = cx.era == Era::Bare && !self.is(flag::STATELESS);
        if is_early && method == Method::Ping {
            return;
        }
        if is_removed(method) {
            return self.removed(cx, method);
        }
        if !cx.is_stateless || !self.direction_outside(cx, message) {
            self.names_its_version(cx, message);
        }
    }

    #[cold]
    fn removed(&mut self, cx: &mut Cx<'_>, method: Method) {
        let text = format!("revision 2026-07-28 has no {} any more", method.as_str());
        self.broken(cx, &REMOVED_METHOD, &[cx.frame], text);
    }
}
