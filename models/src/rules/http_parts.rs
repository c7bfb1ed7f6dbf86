//! Rules that are about one part of what HTTP says: where a finding of theirs is seen.

use mcpsim_traces::place::HttpPart;

/// By rule: what it is about. `Authorization` is left out: what it holds is nobody else's business.
const PARTS: &[(&str, HttpPart)] = &[
    ("http-202-for-one-way", HttpPart::Status),
    ("http-401-challenge", HttpPart::Status),
    ("http-401-invalid-token", HttpPart::Status),
    ("http-accept", HttpPart::Header("accept")),
    ("http-accept-get", HttpPart::Header("accept")),
    ("http-accept-post", HttpPart::Header("accept")),
    ("http-auth-header", HttpPart::Target),
    ("http-error-for-refused-one-way", HttpPart::Status),
    ("http-event-id-unique", HttpPart::EventId),
    ("http-get-answer", HttpPart::Header("content-type")),
    ("http-method-header", HttpPart::Header("mcp-method")),
    ("http-name-header", HttpPart::Header("mcp-name")),
    ("http-no-resume", HttpPart::Header("last-event-id")),
    ("http-no-session", HttpPart::Header("mcp-session-id")),
    ("http-notification-202", HttpPart::Status),
    ("http-one-post-per-message", HttpPart::Method),
    ("http-post-only", HttpPart::Method),
    (
        "http-request-content-type",
        HttpPart::Header("content-type"),
    ),
    ("http-response-type", HttpPart::Header("content-type")),
    ("http-session-ended-404", HttpPart::Status),
    (
        "http-session-id-charset",
        HttpPart::Header("mcp-session-id"),
    ),
    ("http-session-id-issue", HttpPart::Header("mcp-session-id")),
    (
        "http-session-id-on-initialize",
        HttpPart::Header("mcp-session-id"),
    ),
    ("http-session-id-sent", HttpPart::Header("mcp-session-id")),
    ("http-session-id-unique", HttpPart::Header("mcp-session-id")),
    ("http-session-required-400", HttpPart::Status),
    ("http-status-codes", HttpPart::Status),
    (
        "http-version-header",
        HttpPart::Header("mcp-protocol-version"),
    ),
    ("http-version-header-400", HttpPart::Status),
    (
        "http-version-header-in-body",
        HttpPart::Header("mcp-protocol-version"),
    ),
    (
        "http-version-header-value",
        HttpPart::Header("mcp-protocol-version"),
    ),
];

/// The part of HTTP that a rule is about; `None` where it is about something else, or about several.
pub fn http_part(id: &str) -> Option<HttpPart> {
    let found = PARTS.iter().find(|(rule, _)| *rule == id);
    found.map(|(_, part)| *part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::rule;

    #[test]
    fn the_table_is_sorted_and_names_rules() {
        assert!(PARTS.is_sorted_by(|one, other| one.0 < other.0));
        for (id, part) in PARTS {
            assert!(rule(id).is_some(), "{id}");
            if let HttpPart::Header(name) = part {
                assert_eq!(*name, name.to_ascii_lowercase());
            }
        }
        assert_eq!(http_part("duplicate-response"), None);
    }
}
