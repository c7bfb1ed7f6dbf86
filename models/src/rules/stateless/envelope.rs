//! The form of a frame outside sessions.

use crate::rules::{Basis, Level, Needs, Rule, STATELESS_MUST, STATELESS_SHOULD, Side, When};

pub(crate) const ENV_JSONRPC_VERSION: Rule = Rule {
    id: "env-jsonrpc-version",
    side: Side::Both,
    when: When::STATELESS_FRAME,
    source: "2026-07-28 basic/index (Messages)",
    says: "Each message carries `jsonrpc` with the string \"2.0\".",
    why: "The tag is how a reader knows that the object is a message at all; a strict reader drops what has none.",
    ..STATELESS_MUST
};

pub(crate) const ENV_SINGLE_MESSAGE: Rule = Rule {
    id: "env-single-message",
    side: Side::Both,
    when: When::STATELESS_FRAME,
    source: "2026-07-28 basic/transports/stdio (stdio)",
    says: "A frame holds one message, never an array of them.",
    why: "Readers of this revision have no batches: the array is dropped whole, and everything in it waits for ever.",
    ..STATELESS_MUST
};

pub(crate) const ENV_SHAPE: Rule = Rule {
    id: "env-shape",
    side: Side::Both,
    when: When::STATELESS_FRAME,
    source: "2026-07-28 basic/index (Messages)",
    says: "A message is an object with `method`, or with `id` and one of `result` and `error`.",
    why: "Each reader guesses differently what anything else may be: some drop it, some end, and whoever waits for it goes on waiting.",
    ..STATELESS_MUST
};

pub(crate) const ENV_REQUEST_ID_TYPE: Rule = Rule {
    id: "env-request-id-type",
    side: Side::Client,
    source: "2026-07-28 basic/index (Requests)",
    says: "A request's id is a string or an integer, never null.",
    why: "Booleans, objects and fractions do not survive the tables and languages that ids pass through, and nobody \
        can answer null. 1.0 is the integer 1.",
    ..STATELESS_MUST
};

pub(crate) const ENV_NOTIFICATION_NO_ID: Rule = Rule {
    id: "env-notification-no-id",
    side: Side::Both,
    when: When::STATELESS_FRAME,
    source: "2026-07-28 basic/index (Notifications)",
    says: "A notification has no id.",
    why: "With an id it looks like a request, and a careful receiver cannot know whether to answer.",
    ..STATELESS_MUST
};

pub(crate) const ENV_NO_REPLY_TO_NOTIFICATION: Rule = Rule {
    id: "env-no-reply-to-notification",
    side: Side::Receiver,
    needs: Needs::Causal,
    when: When::STATELESS_RESPONSE,
    source: "2026-07-28 basic/index (Notifications)",
    says: "A notification is never answered.",
    why: "Nobody waits for the answer, and strict clients close the channel when it comes all the same.",
    ..STATELESS_MUST
};

pub(crate) const ENV_PARAMS_OBJECT: Rule = Rule {
    id: "env-params-object",
    when: When::STATELESS_FRAME,
    source: "2026-07-28 basic/index (Requests)",
    says: "`params`, where present, is an object.",
    why: "Parameters have names here, and `_meta` has its place among them: arrays and null are refused by typed readers.",
    ..STATELESS_MUST
};

pub(crate) const ENV_RESULT_OBJECT: Rule = Rule {
    id: "env-result-object",
    basis: Basis::Schema,
    side: Side::Server,
    when: When::STATELESS_RESPONSE,
    source: "2026-07-28 schema.ts (Result)",
    says: "`result` is an object.",
    why: "Every result says what kind it is in `resultType`, which null and scalars have no place for.",
    ..STATELESS_MUST
};

pub(crate) const ENV_ERROR_SHAPE: Rule = Rule {
    id: "env-error-shape",
    side: Side::Server,
    when: When::STATELESS_RESPONSE,
    source: "2026-07-28 basic/index (Error Responses)",
    says: "`error` is an object with an integer `code` and a string `message`.",
    why: "Clients decide by the code whether to retry, to fall back to an older revision, or to give up.",
    ..STATELESS_MUST
};

pub(crate) const ENV_ERROR_ID_ABSENT_ONLY_IF_UNREADABLE: Rule = Rule {
    id: "env-error-id-absent-only-if-unreadable",
    level: Level::Must,
    side: Side::Server,
    needs: Needs::Causal,
    when: When::STATELESS_RESPONSE,
    source: "2026-07-28 basic/index (Error Responses)",
    says: "An error repeats the request's id; it leaves the id out, and never makes it null, where that could not be read.",
    why: "The requester cannot tell that the error was meant for it and goes on waiting; typed readers refuse null.",
    ..STATELESS_SHOULD
};

pub(crate) const ENV_UTF8: Rule = Rule {
    id: "env-utf8",
    side: Side::Both,
    needs: Needs::Transport,
    when: When::STATELESS_FRAME,
    source: "2026-07-28 basic/transports (Messages)",
    says: "Messages are UTF-8.",
    why: "Line readers that decode strictly end the connection on the first bad byte.",
    ..STATELESS_MUST
};

pub(crate) const ROWS: &[Rule] = &[
    ENV_JSONRPC_VERSION,
    ENV_SINGLE_MESSAGE,
    ENV_SHAPE,
    ENV_REQUEST_ID_TYPE,
    ENV_NOTIFICATION_NO_ID,
    ENV_NO_REPLY_TO_NOTIFICATION,
    ENV_PARAMS_OBJECT,
    ENV_RESULT_OBJECT,
    ENV_ERROR_SHAPE,
    ENV_ERROR_ID_ABSENT_ONLY_IF_UNREADABLE,
    ENV_UTF8,
];
