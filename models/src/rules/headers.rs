//! Rules that are about one header of HTTP: where a finding of theirs is seen.

/// By rule: the name of its header, in lower case. `Authorization` is left out: what it holds is nobody else's business.
const HEADERS: &[(&str, &str)] = &[
    ("http-accept", "accept"),
    ("http-accept-get", "accept"),
    ("http-accept-post", "accept"),
    ("http-get-answer", "content-type"),
    ("http-method-header", "mcp-method"),
    ("http-name-header", "mcp-name"),
    ("http-no-resume", "last-event-id"),
    ("http-no-session", "mcp-session-id"),
    ("http-request-content-type", "content-type"),
    ("http-response-type", "content-type"),
    ("http-session-id-charset", "mcp-session-id"),
    ("http-session-id-issue", "mcp-session-id"),
    ("http-session-id-on-initialize", "mcp-session-id"),
    ("http-session-id-sent", "mcp-session-id"),
    ("http-session-id-unique", "mcp-session-id"),
    ("http-version-header", "mcp-protocol-version"),
    ("http-version-header-in-body", "mcp-protocol-version"),
    ("http-version-header-value", "mcp-protocol-version"),
];

/// The header that a rule is about, in lower case; `None` where it is about something else, or about several.
pub fn header(id: &str) -> Option<&'static str> {
    let found = HEADERS.iter().find(|(rule, _)| *rule == id);
    found.map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::rule;

    #[test]
    fn the_table_is_sorted_and_names_rules() {
        assert!(HEADERS.is_sorted_by(|one, other| one.0 < other.0));
        for (id, name) in HEADERS {
            assert!(rule(id).is_some(), "{id}");
            assert_eq!(*name, name.to_ascii_lowercase());
        }
        assert_eq!(header("duplicate-response"), None);
    }
}
