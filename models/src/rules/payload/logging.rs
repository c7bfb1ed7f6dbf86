//! Levels of logging and log messages.

use mcpsim_traces::judge::Severity;
use mcpsim_traces::message::{Method, Revision};

use super::PARAMS_SHAPE;
use crate::deep::levels::LEVELS;
use crate::rules::{Category, MUST, Rule, Side, When};
use crate::shape::{Def, What, optional, required};

pub(crate) const LOG_LEVEL_ENUM: Rule = Rule {
    id: "log-level-enum",
    category: Category::Logging,
    source: "2025-11-25 schema.ts (LoggingLevel)",
    says: "Log levels are the eight names of syslog, in lower case.",
    why: "\"warn\", \"fatal\" and \"trace\" come from other libraries: whoever compares levels does not know where they stand.",
    when: When::LOG_LEVEL,
    twin: "log-level-valid",
    ..MUST
};

pub(crate) const LOG_MESSAGE_FIELDS: Rule = Rule {
    id: "log-message-fields",
    category: Category::Logging,
    side: Side::Server,
    source: "2025-11-25 schema.ts (LoggingMessageNotification)",
    says: "A log message has `level` and `data`; `logger`, where it is there, is a string.",
    why: "Strict clients close the session over a message without data; data may be any value, also null.",
    when: When::call(Method::LogMessage),
    twin: "notification-schema",
    ..MUST
};

/// The rows that stand here.
pub(crate) const ROWS: &[Rule] = &[LOG_LEVEL_ENUM, LOG_MESSAGE_FIELDS];

/// The params of logging/setLevel.
pub(crate) static SET_LEVEL: Def = Def::new(
    "a call of logging/setLevel",
    &[required("level", What::OneOf(&LEVELS))
        .rule(&LOG_LEVEL_ENUM)
        .absent(&PARAMS_SHAPE)],
);

/// The params of notifications/message.
pub(crate) static MESSAGE: Def = Def::new(
    "a log message",
    &[
        required("level", What::OneOf(&LEVELS))
            .rule(&LOG_LEVEL_ENUM)
            .absent(&LOG_MESSAGE_FIELDS),
        required("data", What::Any),
        optional("logger", What::Text).until(Revision::V2025_11_25),
        optional("logger", What::Text)
            .since(Revision::V2026_07_28)
            .at_most(Severity::Warning),
    ],
);
