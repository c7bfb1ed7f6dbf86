//! The rows of elicitation.

use mcpsim_traces::judge::Severity;
use mcpsim_traces::message::{Method, Revision};

use crate::rules::{Basis, Category, Level, MUST, NOTE, Needs, Rule, SHOULD, Side, When};

/// What most rows of elicitation have in common.
const ELICIT: Rule = Rule {
    category: Category::Elicitation,
    from: Revision::V2025_06_18,
    side: Side::Server,
    when: When::call(Method::ElicitationCreate),
    ..MUST
};

/// … and those of answers.
const ANSWER: Rule = Rule {
    side: Side::Client,
    needs: Needs::Causal,
    when: When::result(Method::ElicitationCreate),
    ..ELICIT
};

/// … and those about modes, which came with 2025-11-25.
const MODE: Rule = Rule {
    from: Revision::V2025_11_25,
    basis: Basis::Text,
    ..ELICIT
};

pub(crate) const ELICIT_FORM_PARAMS: Rule = Rule {
    id: "elicit-form-params",
    source: "2025-11-25 schema.ts (ElicitRequestFormParams)",
    says: "An elicitation by form has a message and a requestedSchema of type object with properties.",
    why: "The client builds its form from them; without either there is nothing to show.",
    twin: "elic-request-shape",
    ..ELICIT
};

pub(crate) const ELICIT_SCHEMA_FLAT: Rule = Rule {
    id: "elicit-schema-flat",
    needs: Needs::Causal,
    source: "2025-11-25 schema.ts (PrimitiveSchemaDefinition)",
    says: "What a form asks for is flat: strings, numbers, integers, booleans and choices among strings.",
    why: "Generators of schemas write references, nested objects and unions with null, for which clients have no widget.",
    twin: "elic-schema-flat",
    ..ELICIT
};

pub(crate) const ELICIT_STRING_FORMAT: Rule = Rule {
    id: "elicit-string-format",
    source: "2025-11-25 schema.ts (StringSchema)",
    says: "The format of a string is email, uri, date or date-time.",
    why: "Typed clients refuse the form, others take anything for it.",
    twin: "elic-schema-flat",
    ..ELICIT
};

pub(crate) const ELICIT_ACTION: Rule = Rule {
    id: "elicit-action",
    source: "2025-11-25 schema.ts (ElicitResult)",
    says: "The answer to an elicitation is accept, decline or cancel.",
    why: "Servers know no other action; reject stood in a draft, and is taken for consent or for garbage.",
    twin: "mrtr-response-shape",
    ..ANSWER
};

pub(crate) const ELICIT_CONTENT_WITH_DECLINE: Rule = Rule {
    id: "elicit-content-with-decline",
    category: Category::Elicitation,
    from: Revision::V2025_06_18,
    basis: Basis::Lowercase,
    side: Side::Client,
    source: "2025-11-25 client/elicitation (Response Actions)",
    says: "Only an accepted form comes with content.",
    why: "A server that reads the content before the action uses what the user did not agree to send.",
    when: When::result(Method::ElicitationCreate),
    ..NOTE
};

pub(crate) const ELICIT_ACCEPT_CONTENT: Rule = Rule {
    id: "elicit-accept-content",
    category: Category::Elicitation,
    from: Revision::V2025_06_18,
    side: Side::Client,
    needs: Needs::Causal,
    source: "2025-11-25 client/elicitation (Response Actions)",
    says: "An accepted form comes with content that fits the requested schema.",
    why: "A server that trusts the form reads a value that is not there, or of the wrong type.",
    when: When::result(Method::ElicitationCreate),
    twin: "elic-result-content",
    ..SHOULD
};

pub(crate) const ELICIT_CONTENT_VALUE_TYPE: Rule = Rule {
    id: "elicit-content-value-type",
    source: "2025-11-25 schema.ts (ElicitResult)",
    says: "Values of the content are strings, numbers, booleans, and from 2025-11-25 arrays of strings.",
    why: "Typed servers fail to parse null for a field that was left empty; such a field is left out.",
    twin: "mrtr-response-shape",
    ..ANSWER
};

pub(crate) const ELICIT_MODE_UNDECLARED: Rule = Rule {
    id: "elicit-mode-undeclared",
    needs: Needs::Causal,
    source: "2025-11-25 client/elicitation (Capabilities)",
    says: "A server elicits only in the modes that the client declared.",
    why: "The client has no way to do it and has to refuse; an empty `elicitation` declares forms only.",
    twin: "elic-mode-declared",
    ..MODE
};

pub(crate) const ELICIT_MODE_ERROR: Rule = Rule {
    id: "elicit-mode-error",
    side: Side::Client,
    needs: Needs::Causal,
    source: "2025-11-25 client/elicitation (Error Handling)",
    says: "An elicitation in a mode that the client did not declare is refused with -32602.",
    why: "By that code a server learns that the mode is the trouble, and tries the other one.",
    when: When::MISASKED,
    ..MODE
};

pub(crate) const ELICIT_MODE_VALUE: Rule = Rule {
    id: "elicit-mode-value",
    source: "2025-11-25 client/elicitation (Elicitation Requests)",
    says: "The mode of an elicitation is form or url, or is left out.",
    why: "A client cannot guess what another mode asks of it.",
    twin: "elic-request-shape",
    ..MODE
};

pub(crate) const ELICIT_CAPABILITY_MODE: Rule = Rule {
    id: "elicit-capability-mode",
    severity: Severity::Warning,
    tier: 2,
    side: Side::Client,
    source: "2025-11-25 client/elicitation (Capabilities)",
    says: "A client that declares elicitation names form or url, or leaves the object empty for forms.",
    why: "Of an object with other members alone a server cannot tell what the client can do.",
    when: When::INITIALIZE,
    ..MODE
};

pub(crate) const ELICIT_URL_PARAMS: Rule = Rule {
    id: "elicit-url-params",
    source: "2025-11-25 client/elicitation (URL Mode Elicitation Requests)",
    says: "An elicitation by url has a message, an elicitationId and an absolute url.",
    why: "Without them the client has nothing to open, or cannot tell when it is over.",
    when: When::BY_URL,
    twin: "elic-request-shape",
    ..MODE
};

pub(crate) const ELICIT_URL_CONTENT: Rule = Rule {
    id: "elicit-url-content",
    basis: Basis::Lowercase,
    severity: Severity::Warning,
    tier: 2,
    side: Side::Client,
    needs: Needs::Causal,
    source: "2025-11-25 client/elicitation (Response Actions)",
    says: "The answer to an elicitation by url has no content.",
    why: "What the user enters at the url is not for the client; content there shows that it was asked for by a form.",
    when: When::BY_URL,
    twin: "elic-result-content",
    ..MODE
};

pub(crate) const ELICIT_ID_UNIQUE: Rule = Rule {
    id: "elicit-id-unique",
    basis: Basis::Lowercase,
    severity: Severity::Warning,
    tier: 2,
    needs: Needs::SameDirection,
    source: "2025-11-25 schema.ts (ElicitRequestURLParams)",
    says: "Each elicitation by url has an elicitationId of its own.",
    why: "The completion of one is taken for that of the other, and the client goes on too early.",
    when: When::BY_URL,
    ..MODE
};

pub(crate) const ELICIT_COMPLETE_KNOWN: Rule = Rule {
    id: "elicit-complete-known",
    needs: Needs::SameDirection,
    source: "2025-11-25 client/elicitation (Completion Notifications for URL Mode Elicitation)",
    says: "A completion names an elicitation that this client was told of.",
    why: "Clients ignore unknown ids: the one that waits goes on waiting, and an id may have gone to a stranger.",
    when: When::call(Method::ElicitationComplete),
    ..MODE
};

pub(crate) const ELICIT_COMPLETE_TWICE: Rule = Rule {
    id: "elicit-complete-twice",
    category: Category::Elicitation,
    level: Level::MayNote,
    from: Revision::V2025_11_25,
    basis: Basis::Derived,
    side: Side::Server,
    needs: Needs::SameDirection,
    source: "2025-11-25 client/elicitation (Completion Notifications for URL Mode Elicitation)",
    says: "One completion for each elicitation is enough.",
    why: "Clients ignore the second one; it may show that the user was led through the same page twice.",
    when: When::call(Method::ElicitationComplete),
    ..NOTE
};

pub(crate) const URL_REQUIRED_ERROR_SHAPE: Rule = Rule {
    id: "url-required-error-shape",
    source: "2025-11-25 client/elicitation (URL Elicitation Required Error)",
    says: "The error -32042 lists the elicitations by url that are needed, each with its id.",
    why: "The client cannot do what it is told is missing, and retries in vain.",
    when: When::URL_REQUIRED,
    ..MODE
};

pub(crate) const URL_REQUIRED_UNDECLARED: Rule = Rule {
    id: "url-required-undeclared",
    category: Category::Elicitation,
    basis: Basis::Derived,
    from: Revision::V2025_11_25,
    side: Side::Server,
    needs: Needs::Causal,
    source: "2025-11-25 client/elicitation (Capabilities)",
    says: "The error -32042 is for clients that declared elicitation by url.",
    why: "Another client sees a code that it does not know, and its user never learns what to do.",
    when: When::URL_REQUIRED,
    ..SHOULD
};

pub(crate) const ELICIT_SENSITIVE: Rule = Rule {
    id: "elicit-sensitive",
    severity: Severity::Note,
    tier: 3,
    basis: Basis::Text,
    source: "2025-11-25 client/elicitation (Security Considerations)",
    says: "A form never asks for passwords, keys, tokens or cards.",
    why: "What is typed into a form passes through the client, its logs and perhaps a model. Words alone are a guess.",
    twin: "elic-no-secrets-in-form",
    ..ELICIT
};

pub(crate) const ELICIT_URL_SECRETS: Rule = Rule {
    id: "elicit-url-secrets",
    severity: Severity::Note,
    tier: 3,
    source: "2025-11-25 client/elicitation (Safe URL Handling)",
    says: "The url of an elicitation holds no credentials, nothing personal, and lets nobody in by itself.",
    why: "Whoever sees the link, in a log or over a shoulder, can act as the user. Names of parameters are a guess.",
    when: When::BY_URL,
    twin: "elic-url-safe",
    ..MODE
};

pub(crate) const ELICIT_FORM_LINK: Rule = Rule {
    id: "elicit-form-link",
    category: Category::Elicitation,
    from: Revision::V2025_11_25,
    side: Side::Server,
    source: "2025-11-25 client/elicitation (Safe URL Handling)",
    says: "A form offers no links to click.",
    why: "Only the url of an elicitation by url is shown whole and opened with consent. Whether a text is meant as a link is a guess.",
    when: When::call(Method::ElicitationCreate),
    ..NOTE
};

/// The rows of this category.
pub(crate) const ROWS: &[Rule] = &[
    ELICIT_FORM_PARAMS,
    ELICIT_SCHEMA_FLAT,
    ELICIT_STRING_FORMAT,
    ELICIT_ACTION,
    ELICIT_CONTENT_WITH_DECLINE,
    ELICIT_ACCEPT_CONTENT,
    ELICIT_CONTENT_VALUE_TYPE,
    ELICIT_MODE_UNDECLARED,
    ELICIT_MODE_ERROR,
    ELICIT_MODE_VALUE,
    ELICIT_CAPABILITY_MODE,
    ELICIT_URL_PARAMS,
    ELICIT_URL_CONTENT,
    ELICIT_ID_UNIQUE,
    ELICIT_COMPLETE_KNOWN,
    ELICIT_COMPLETE_TWICE,
    URL_REQUIRED_ERROR_SHAPE,
    URL_REQUIRED_UNDECLARED,
    ELICIT_SENSITIVE,
    ELICIT_URL_SECRETS,
    ELICIT_FORM_LINK,
];
