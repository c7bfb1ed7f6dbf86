//! The rows of results that ask for input, and of the requests that bring it.

use mcpsim_traces::judge::Severity;

use crate::rules::{Basis, Category, Needs, Rule, STATELESS_MUST, STATELESS_SHOULD, Side, When};

const ASKED: Rule = Rule {
    category: Category::Mrtr,
    side: Side::Server,
    when: When::INPUT_REQUIRED,
    ..STATELESS_MUST
};

const RETRIED: Rule = Rule {
    category: Category::Mrtr,
    side: Side::Client,
    needs: Needs::Causal,
    source: "2026-07-28 basic/patterns/mrtr (Client Requirements (Basic Workflow))",
    when: When::RETRY,
    ..STATELESS_MUST
};

pub(crate) const MRTR_ALLOWED_METHODS: Rule = Rule {
    id: "mrtr-allowed-methods",
    needs: Needs::Causal,
    source: "2026-07-28 basic/patterns/mrtr (Supported Requests)",
    says: "Only tools/call, prompts/get and resources/read are answered with a question.",
    why: "For other methods clients have no way to ask anybody and come back: they take the question for the result.",
    ..ASKED
};

pub(crate) const MRTR_HAS_REQUESTS_OR_STATE: Rule = Rule {
    id: "mrtr-has-requests-or-state",
    source: "2026-07-28 basic/patterns/mrtr (Server Requirements (Basic Workflow))",
    says: "A result that asks for input says what it asks for, or brings a state to come back with.",
    why: "With neither the client can only send the same request again, for ever.",
    ..ASKED
};

pub(crate) const MRTR_INPUT_REQUEST_KIND: Rule = Rule {
    id: "mrtr-input-request-kind",
    source: "2026-07-28 basic/patterns/mrtr (Server Requirements (Basic Workflow))",
    says: "What is asked for is an object of requests: elicitation/create, sampling/createMessage or roots/list.",
    why: "Clients know these three and drop the whole round over a fourth. They are no frames: no jsonrpc, no id.",
    ..ASKED
};

pub(crate) const MRTR_UNIQUE_KEYS: Rule = Rule {
    id: "mrtr-unique-keys",
    needs: Needs::Transport,
    source: "2026-07-28 basic/patterns/mrtr (Server Requirements (Basic Workflow))",
    says: "Each key of what is asked for stands there once.",
    why: "Of two questions under one key readers keep one, the first or the last, and the other is never asked.",
    ..ASKED
};

pub(crate) const MRTR_CAPABILITY_GATE: Rule = Rule {
    id: "mrtr-capability-gate",
    needs: Needs::Causal,
    source: "2026-07-28 basic/patterns/mrtr (Server Requirements (Basic Workflow))",
    says: "A result asks only for what the capabilities of its own request allow.",
    why: "The client has nobody to ask and cannot say so: it does not come back, and the call is lost.",
    ..ASKED
};

pub(crate) const MRTR_STATE_TYPE: Rule = Rule {
    id: "mrtr-state-type",
    side: Side::Both,
    source: "2026-07-28 basic/patterns/mrtr (InputRequiredResult)",
    says: "requestState is a string wherever it stands.",
    why: "Only a string comes back byte for byte: of anything else clients change the order, the spacing, the digits.",
    when: When::REQUEST_STATE,
    ..ASKED
};

pub(crate) const MRTR_MISSING_ANSWER_REASKS: Rule = Rule {
    id: "mrtr-missing-answer-reasks",
    category: Category::Mrtr,
    side: Side::Server,
    needs: Needs::Causal,
    source: "2026-07-28 basic/patterns/mrtr (Error Handling)",
    says: "Where an answer that is needed does not come, the server asks for it again.",
    why: "An error throws away the rest of the answers, and the user has to begin from the start.",
    when: When::RETRY,
    ..STATELESS_SHOULD
};

pub(crate) const MRTR_SERVER_VALIDATES_RESPONSES: Rule = Rule {
    id: "mrtr-server-validates-responses",
    category: Category::Mrtr,
    side: Side::Server,
    needs: Needs::Causal,
    tier: 3,
    source: "2026-07-28 basic/patterns/mrtr (Error Handling)",
    says: "A server checks the answers that come back, and refuses what is none.",
    why: "What it cannot read it takes for a refusal or an empty answer. Whether it used it is not seen: never certain.",
    when: When::RETRY,
    ..STATELESS_SHOULD
};

pub(crate) const MRTR_RETRY_NEW_ID: Rule = Rule {
    id: "mrtr-retry-new-id",
    says: "The request that brings the input has another id than the one that was answered with the question.",
    why: "It is a request of its own: under the old id it looks like a copy of the first, and is dropped or answered twice.",
    ..RETRIED
};

pub(crate) const MRTR_RETRY_STATE_ECHO: Rule = Rule {
    id: "mrtr-retry-state-echo",
    says: "The request that brings the input repeats requestState as it was received last.",
    why: "All that the server knows of the exchange is in there; it refuses what is changed, and begins anew without.",
    ..RETRIED
};

pub(crate) const MRTR_NO_INVENTED_STATE: Rule = Rule {
    id: "mrtr-no-invented-state",
    says: "A request has a requestState only if the result that it goes on from had one.",
    why: "The server takes it for a forged one: a state kept from another call leads into somebody else's exchange.",
    ..RETRIED
};

pub(crate) const MRTR_STATE_SINGLE_EXCHANGE: Rule = Rule {
    id: "mrtr-state-single-exchange",
    says: "A state and the answers to a question serve the retry of the request that was asked, and no other.",
    why: "A server that does not check goes on with another tool where the first was left: on rights that were given for that.",
    ..RETRIED
};

pub(crate) const MRTR_RETRY_SAME_REQUEST: Rule = Rule {
    id: "mrtr-retry-same-request",
    basis: Basis::Derived,
    severity: Severity::Warning,
    tier: 2,
    source: "2026-07-28 basic/patterns/mrtr (Basic Workflow)",
    says: "The request that brings the input is the first one again: same method, same parameters.",
    why: "The user agreed to what the first one asked for, and the server may do what the second one says.",
    ..RETRIED
};

pub(crate) const MRTR_RETRY_ANSWERS_ALL: Rule = Rule {
    id: "mrtr-retry-answers-all",
    says: "The request that brings the input answers every key of the latest question.",
    why: "The server asks again, and a client that never answers that key turns in a circle. To decline is an answer.",
    ..RETRIED
};

pub(crate) const MRTR_RESPONSE_SHAPE: Rule = Rule {
    id: "mrtr-response-shape",
    basis: Basis::Schema,
    source: "2026-07-28 basic/patterns/mrtr (InputResponses)",
    says: "Each answer is the bare result for what was asked: of an elicitation, of a sampling, or a list of roots.",
    why: "Servers read its members where they belong, and find none in a wrapping of JSON-RPC or in an error.",
    ..RETRIED
};

/// The rows of this category.
pub(crate) const ROWS: &[Rule] = &[
    MRTR_ALLOWED_METHODS,
    MRTR_HAS_REQUESTS_OR_STATE,
    MRTR_INPUT_REQUEST_KIND,
    MRTR_UNIQUE_KEYS,
    MRTR_CAPABILITY_GATE,
    MRTR_STATE_TYPE,
    MRTR_RETRY_NEW_ID,
    MRTR_RETRY_STATE_ECHO,
    MRTR_NO_INVENTED_STATE,
    MRTR_STATE_SINGLE_EXCHANGE,
    MRTR_RETRY_SAME_REQUEST,
    MRTR_RETRY_ANSWERS_ALL,
    MRTR_RESPONSE_SHAPE,
    MRTR_MISSING_ANSWER_REASKS,
    MRTR_SERVER_VALIDATES_RESPONSES,
];
