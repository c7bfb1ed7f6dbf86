//! Notifications: their names, their side, and what each of them means to the judge.

use mcpsim_traces::event::Role;
use mcpsim_traces::message::{Condition, Message, Method};

use crate::era::Era;
use crate::ledger::Cx;
use crate::part::{Part, flag};
use crate::rules::correlation::NOTIFICATION_WRONG_DIRECTION;
use crate::rules::envelope::may_send;
use crate::rules::ids::REQUEST_WITHOUT_ID;
use crate::rules::{Basis, Category, Level, Rule, SHOULD, When};

pub(crate) const NOTIFICATION_UNPREFIXED: Rule = Rule {
    id: "notification-unprefixed",
    category: Category::Notification,
    level: Level::Must,
    basis: Basis::Derived,
    source: "2025-11-25 basic/lifecycle (Initialization)",
    says: "Defined notifications are named below `notifications/`.",
    why: "A bare `initialized` is an unknown notification and ignored: the session never leaves its handshake, and nobody says why.",
    when: When::NOTIFICATION,
    ..SHOULD
};

/// The rows of this category.
pub(crate) const ROWS: &[Rule] = &[NOTIFICATION_UNPREFIXED];

impl Part {
    /// The party sends a notification.
    #[inline]
    pub(crate) fn notification_by(&mut self, cx: &mut Cx<'_>, message: &Message) {
        let method = message.method;
        if cx.era != Era::Session {
            let is_odd = self.newer_notification(cx, message);
            if cx.is_stateless {
                return match method {
                    _ if is_odd => {}
                    Method::Cancelled => self.cancel_by(cx, message),
                    Method::Progress => self.progress_by(cx, message),
                    _ => {}
                };
            }
        }
        if method == Method::Unknown {
            return self.unknown_notification(cx, message);
        }
        if method.is_request() {
            self.set(flag::SPOKE);
            let text = format!("{} has no id, so nobody may answer it", method.words());
            return self.broken(cx, &REQUEST_WITHOUT_ID, &[cx.frame], text);
        }
        if self.is_foreign(method) {
            return self.not_in_revision(cx, method);
        }
        if !may_send(self.role, method) {
            let text = format!(
                "{} is the {}'s notification to send",
                method.words(),
                self.role.other().as_str()
            );
            return self.broken(cx, &NOTIFICATION_WRONG_DIRECTION, &[cx.frame], text);
        }
        self.notification_in_order(cx, message);
        match method {
            Method::Cancelled => self.cancel_by(cx, message),
            Method::Progress => self.progress_by(cx, message),
            _ => self.announced_as_declared(cx, message),
        }
    }

    #[cold]
    fn unknown_notification(&mut self, cx: &mut Cx<'_>, message: &Message) {
        if self.role == Role::Client {
            self.set(flag::SPOKE);
        }
        if message.has(Condition::UnprefixedNotification) {
            // Perhaps it was this one: then nothing else is missing.
            self.set(flag::INITIALIZED_SENT);
            let text = "a notification's name without `notifications/` before it is an unknown one, which is ignored".to_string();
            self.broken(cx, &NOTIFICATION_UNPREFIXED, &[cx.frame], text);
        }
    }
}
