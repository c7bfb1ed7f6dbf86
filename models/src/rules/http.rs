//! HTTP in the revisions with a handshake: what a request and its answer look like, which message travels on which
//! stream, sessions, versions, tokens, and the transport of 2024-11-05.

use crate::rules::Rule;

pub(crate) mod answers;
pub(crate) mod auth;
pub(crate) mod endings;
pub(crate) mod old;
pub(crate) mod requests;
pub(crate) mod sessions;
pub(crate) mod streams;
pub(crate) mod versions;

/// What all rows of this category have in common.
const HTTP: Rule = Rule {
    category: crate::rules::Category::TransportHttp,
    basis: crate::rules::Basis::Text,
    from: mcpsim_traces::message::Revision::V2025_03_26,
    needs: crate::rules::Needs::Transport,
    when: crate::rules::When::HTTP,
    ..crate::rules::MUST
};

/// A SHOULD: a warning.
const HTTP_SHOULD: Rule = Rule {
    level: crate::rules::Level::Should,
    severity: mcpsim_traces::judge::Severity::Warning,
    tier: 2,
    ..HTTP
};

/// Something worth a note.
const HTTP_NOTE: Rule = Rule {
    level: crate::rules::Level::Should,
    severity: mcpsim_traces::judge::Severity::Note,
    tier: 3,
    ..HTTP
};
