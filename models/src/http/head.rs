//! What rules ask of a head: media types, paths, lists.

use mcpsim_traces::http::{Head, trimmed};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::Revision;

/// What an answer's body is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Media {
    /// The headers were not recorded.
    #[default]
    Unknown,
    /// There is no Content-Type.
    Missing,
    /// `application/json`
    Json,
    /// `text/event-stream`
    Events,
    /// Another one.
    Other,
}

impl Media {
    pub(crate) fn of(head: &Head<'_>) -> Media {
        if head.fields.is_none() {
            return Media::Unknown;
        }
        let Some(value) = head.value("content-type") else {
            return Media::Missing;
        };
        match essence(value) {
            it if it.eq_ignore_ascii_case("application/json") => Media::Json,
            it if it.eq_ignore_ascii_case("text/event-stream") => Media::Events,
            _ => Media::Other,
        }
    }
}

/// How a media type is accepted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Listed {
    No,
    /// Only by a wildcard.
    Wildcard,
    ByName,
}

/// Whether `Accept` lists that media type: several lines are one list.
pub(crate) fn accepts(head: &Head<'_>, wanted: &str) -> Listed {
    let ranges = head.values("accept").flat_map(|value| value.split(','));
    let kind = wanted.split('/').next().unwrap_or_default();
    ranges
        .map(|range| match essence(range) {
            range if range.eq_ignore_ascii_case(wanted) => Listed::ByName,
            "*/*" => Listed::Wildcard,
            range => match range.strip_suffix("/*") {
                Some(it) if it.eq_ignore_ascii_case(kind) => Listed::Wildcard,
                _ => Listed::No,
            },
        })
        .max()
        .unwrap_or(Listed::No)
}

/// A media type without its parameters.
fn essence(value: &str) -> &str {
    trimmed(value.split(';').next().unwrap_or_default())
}

/// A target without scheme, host and fragment.
fn local(target: &str) -> &str {
    let target = target.split('#').next().unwrap_or_default();
    let Some((scheme, rest)) = target.split_once("://") else {
        return target;
    };
    if scheme.contains(['/', '?']) {
        return target;
    }
    rest.find('/').map_or("/", |at| &rest[at..])
}

/// The path of a target: without query, and without the slash at its end.
pub(crate) fn path(target: &str) -> &str {
    let path = local(target).split('?').next().unwrap_or_default();
    path.trim_end_matches('/')
}

pub(crate) fn path_key(head: &Head<'_>) -> Key {
    head.target()
        .map_or(Key::ABSENT, |target| Key::text(path(target).as_bytes()))
}

/// Whether requests to that target are none of the protocol's: how a client finds out whom to trust.
pub(crate) fn is_discovery(target: &str) -> bool {
    path(target).contains("/.well-known/")
}

/// Whether a request's headers name 2026-07-28.
pub(crate) fn names_newer(head: &Head<'_>) -> bool {
    head.value("mcp-protocol-version") == Some(Revision::V2026_07_28.as_str())
}

/// Path and query of a URI that may be relative to another one.
pub fn resolved_target(uri: &str, base: &str) -> Key {
    let uri = local(trimmed(uri));
    if uri.starts_with('/') {
        return Key::text(uri.as_bytes());
    }
    let base = local(base).split('?').next().unwrap_or_default();
    let folder = base.rfind('/').map_or("/", |at| &base[..=at]);
    Key::text(format!("{folder}{uri}").as_bytes())
}

/// Whether the query of a target carries an access token.
pub(crate) fn has_token_in_query(target: &str) -> bool {
    let query = target.split_once('?').map_or("", |(_, query)| query);
    query
        .split(['&', '#'])
        .any(|pair| pair.starts_with("access_token="))
}

/// A header's value for a message: short, and safe to print.
pub(crate) fn shown(value: &str) -> String {
    const CHARS_MAX: usize = 40;
    match value.char_indices().nth(CHARS_MAX) {
        None => format!("{value:?}"),
        Some((end, _)) => format!("{:?}…", &value[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpsim_traces::http::{Field, Start};

    fn head(values: &[&'static str]) -> Head<'static> {
        let field = |&value| Field {
            name: "Accept".into(),
            value: std::borrow::Cow::Borrowed(value),
        };
        Head {
            start: Start::Answer { status: 200 },
            fields: Some(values.iter().map(field).collect()),
        }
    }

    #[test]
    fn accept_is_a_list_however_it_is_written() {
        for (values, expected) in [
            (&["application/json, text/event-stream"][..], Listed::ByName),
            (
                &["application/json;q=0.5", "TEXT/Event-Stream ;x=1"],
                Listed::ByName,
            ),
            (&["application/json", "*/*;q=0.1"], Listed::Wildcard),
            (&["text/*"], Listed::Wildcard),
            (&["application/*"], Listed::No),
            (&["text/event-streams"], Listed::No),
            (&[], Listed::No),
        ] {
            assert_eq!(
                accepts(&head(values), "text/event-stream"),
                expected,
                "{values:?}"
            );
        }
    }

    #[test]
    fn paths_are_compared_without_what_does_not_matter() {
        for (target, expected) in [
            ("/mcp", "/mcp"),
            ("/mcp/", "/mcp"),
            ("/mcp?x=/y", "/mcp"),
            ("https://a.example/mcp#f", "/mcp"),
            ("https://a.example", ""),
            ("/", ""),
        ] {
            assert_eq!(path(target), expected);
        }
        let key = |text: &str| Key::text(text.as_bytes());
        assert_eq!(resolved_target("/m?s=1", "/sse"), key("/m?s=1"));
        assert_eq!(resolved_target("m?s=1", "/a/sse?x"), key("/a/m?s=1"));
        assert_eq!(resolved_target("http://h/m?s=1", "/sse"), key("/m?s=1"));
    }

    #[test]
    fn values_are_short_and_plain() {
        assert_eq!(shown("a\u{1b}\"b"), r#""a\u{1b}\"b""#);
        assert_eq!(shown(&"x".repeat(50)), format!("\"{}\"…", "x".repeat(40)));
    }
}
