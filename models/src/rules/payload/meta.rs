//! `_meta`: how its keys are spelled, which are reserved, and what the known ones hold.

use mcpsim_traces::judge::Severity;
use mcpsim_traces::message::Revision;
use mcpsim_traces::tape::Value;

use super::content::ICONS;
use super::lifecycle::client_capabilities;
use crate::deep::levels::LEVELS;
use crate::rules::stateless::payload::{
    LOG_LEVEL_VALID, META_SERVER_INFO_SHAPE, META_TRACE_CONTEXT_FORMAT, REQUEST_SCHEMA,
};
use crate::rules::{Basis, Level, MUST, NOTE, Rule, When};
use crate::shape::{Def, Form, Member, Walk, What, optional, required, shown, text};

pub(crate) const META_KEY_FORMAT: Rule = Rule {
    id: "meta-key-format",
    basis: Basis::Text,
    severity_by: &[(Revision::V2026_07_28, Severity::Warning)],
    from: Revision::V2025_06_18,
    until: Revision::V2026_07_28,
    source: "2025-11-25 basic/index (_meta)",
    says: "A key in `_meta` is a name, or a dotted prefix, a slash and a name.",
    why: "The prefix keeps the keys of different makers apart; of a key of another form nobody knows whose it is.",
    when: When::META,
    ..MUST
};

pub(crate) const META_RESERVED_PREFIX: Rule = Rule {
    id: "meta-reserved-prefix",
    level_by: &[(Revision::V2026_07_28, Level::Must)],
    from: Revision::V2025_06_18,
    until: Revision::V2026_07_28,
    source: "2025-11-25 basic/index (_meta)",
    says: "Keys with a prefix that is kept for the protocol are those that the protocol defines.",
    why: "A later revision may give the key a meaning of its own. Official extensions add keys too, so this is a note.",
    when: When::META,
    ..NOTE
};

pub(crate) const META_PREFIX_REVERSE_DNS: Rule = Rule {
    id: "meta-prefix-reverse-dns",
    from: Revision::V2025_11_25,
    source: "2025-11-25 basic/index (_meta)",
    says: "The prefix of a key in `_meta` is a domain written backwards.",
    why: "com.example/ and example.com/ are two keys; guessed from the names, so it is a note.",
    when: When::META,
    ..NOTE
};

/// The rows that stand here.
pub(crate) const ROWS: &[Rule] = &[
    META_KEY_FORMAT,
    META_RESERVED_PREFIX,
    META_PREFIX_REVERSE_DNS,
];

/// `_meta` of something within a payload.
pub(crate) const NESTED: Member =
    optional("_meta", What::Check("an object", nested)).since(Revision::V2025_06_18);

fn nested<'a>(walk: &mut Walk<'a>, meta: Value<'a>, rule: &'static Rule) {
    if !meta.is_object() {
        return walk.wrong(meta, &What::Object, rule);
    }
    keys(walk, meta);
}

/// Judges the `_meta` of a payload.
pub(crate) fn judge(walk: &mut Walk<'_>) {
    let Some(meta) = walk.root().get("_meta").filter(|meta| meta.is_object()) else {
        return;
    };
    walk.saw(When::META);
    keys(walk, meta);
    if !walk.is_stateless() {
        return;
    }
    if walk.is_result() {
        walk.object(meta, &OF_RESULT, &META_SERVER_INFO_SHAPE);
    } else {
        walk.object(meta, &OF_CALL, &REQUEST_SCHEMA);
    }
}

static TRACE_PARENT: Form = Form {
    name: "a traceparent",
    rule: &META_TRACE_CONTEXT_FORMAT,
    flaw: text::traceparent,
};

static KEY_VALUES: Form = Form {
    name: "a list of key=value",
    rule: &META_TRACE_CONTEXT_FORMAT,
    flaw: text::key_values,
};

const PARENT: Member =
    optional("traceparent", What::Form(&TRACE_PARENT)).rule(&META_TRACE_CONTEXT_FORMAT);
const STATE: Member =
    optional("tracestate", What::Form(&KEY_VALUES)).rule(&META_TRACE_CONTEXT_FORMAT);
const BAGGAGE: Member =
    optional("baggage", What::Form(&KEY_VALUES)).rule(&META_TRACE_CONTEXT_FORMAT);

static INFO: Def = Def::new(
    "the server's info",
    &[
        required("name", What::Text),
        required("version", What::Text),
        optional("title", What::Text).at_most(Severity::Warning),
        optional("description", What::Text).at_most(Severity::Warning),
        optional("websiteUrl", What::Text).at_most(Severity::Warning),
        ICONS,
    ],
);

/// What a stateless result says of itself.
static OF_RESULT: Def = Def::new(
    "a result's metadata",
    &[
        optional("io.modelcontextprotocol/serverInfo", What::Def(&INFO)).null_is_worse(),
        PARENT,
        STATE,
        BAGGAGE,
    ],
);

/// What a client need not say; whether its name and version are there, and of what type, is another rule's matter.
static CLIENT: Def = Def::new(
    "the client's info",
    &[
        optional("title", What::Text).at_most(Severity::Warning),
        optional("description", What::Text).at_most(Severity::Warning),
        optional("websiteUrl", What::Text).at_most(Severity::Warning),
        ICONS,
    ],
);
static CLIENT_INFO: What = What::Def(&CLIENT);

/// What a stateless request says of itself, as far as it lies within: types at the top are another rule's.
static OF_CALL: Def = Def::new(
    "a request's metadata",
    &[
        optional(
            "io.modelcontextprotocol/logLevel",
            What::Check("a level", level),
        )
        .rule(&LOG_LEVEL_VALID),
        optional(
            "io.modelcontextprotocol/clientCapabilities",
            What::Check("an object", declared),
        ),
        optional(
            "io.modelcontextprotocol/clientInfo",
            What::Check("an object", client_info),
        ),
        PARENT,
        STATE,
        BAGGAGE,
    ],
);

fn level<'a>(walk: &mut Walk<'a>, value: Value<'a>, rule: &'static Rule) {
    if value.is_text() {
        walk.value(value, &What::OneOf(&LEVELS), rule);
    }
}

fn declared<'a>(walk: &mut Walk<'a>, value: Value<'a>, rule: &'static Rule) {
    if value.is_object() {
        client_capabilities(walk, value, rule);
    }
}

fn client_info<'a>(walk: &mut Walk<'a>, value: Value<'a>, rule: &'static Rule) {
    if value.is_object() {
        walk.value(value, &CLIENT_INFO, rule);
    }
}

/// Keys that the protocol defines under a prefix of its own, with the first revision and the last.
const DEFINED: &[(&str, Revision, Revision)] = &[
    (
        "io.modelcontextprotocol/protocolVersion",
        Revision::V2026_07_28,
        Revision::V2026_07_28,
    ),
    (
        "io.modelcontextprotocol/clientCapabilities",
        Revision::V2026_07_28,
        Revision::V2026_07_28,
    ),
    (
        "io.modelcontextprotocol/clientInfo",
        Revision::V2026_07_28,
        Revision::V2026_07_28,
    ),
    (
        "io.modelcontextprotocol/serverInfo",
        Revision::V2026_07_28,
        Revision::V2026_07_28,
    ),
    (
        "io.modelcontextprotocol/subscriptionId",
        Revision::V2026_07_28,
        Revision::V2026_07_28,
    ),
    (
        "io.modelcontextprotocol/logLevel",
        Revision::V2026_07_28,
        Revision::V2026_07_28,
    ),
    (
        "io.modelcontextprotocol/related-task",
        Revision::V2025_11_25,
        Revision::V2026_07_28,
    ),
    (
        "io.modelcontextprotocol/model-immediate-response",
        Revision::V2025_11_25,
        Revision::V2026_07_28,
    ),
];

/// The keys of a `_meta`.
fn keys<'a>(walk: &mut Walk<'a>, meta: Value<'a>) {
    // Before, keys had no form.
    if !walk.every(Revision::V2025_06_18, Revision::V2026_07_28) {
        return;
    }
    for (name, _) in meta.members() {
        let raw = name.raw();
        let inner = &raw[1..raw.len() - 1];
        let is_known = DEFINED
            .iter()
            .any(|(known, from, until)| known.as_bytes() == inner && walk.every(*from, *until));
        if !is_known && !inner.iter().all(u8::is_ascii_alphanumeric) {
            key(walk, name);
        }
    }
}

#[cold]
fn key<'a>(walk: &mut Walk<'a>, name: Value<'a>) {
    let Some(key) = name.as_bytes() else { return };
    let slash = key.iter().position(|&byte| byte == b'/');
    let (prefix, rest) = match slash {
        Some(at) => (Some(&key[..at]), &key[at + 1..]),
        None => (None, &key[..]),
    };
    let ill = prefix.and_then(prefix_flaw).or_else(|| name_flaw(rest));
    if let Some((severity, why)) = ill {
        return walk.flaw_at(&META_KEY_FORMAT, severity, name, || {
            format!("the key {} in `_meta` {why}", shown(name))
        });
    }
    let Some(prefix) = prefix else { return };
    if is_reserved(
        prefix,
        walk.every(Revision::V2025_06_18, Revision::V2025_06_18),
    ) {
        return walk.flaw(&META_RESERVED_PREFIX, name, || {
            format!(
                "the key {} in `_meta` has a prefix that is kept for the protocol, which does not define it",
                shown(name)
            )
        });
    }
    if is_forward(prefix) {
        walk.flaw(&META_PREFIX_REVERSE_DNS, name, || {
            format!(
                "the prefix of the key {} in `_meta` looks like a domain that is not written backwards",
                shown(name)
            )
        });
    }
}

fn labels(prefix: &[u8]) -> impl Iterator<Item = &[u8]> {
    prefix.split(|&byte| byte == b'.')
}

/// What keeps the part before the slash from being dotted labels.
fn prefix_flaw(prefix: &[u8]) -> Option<(Severity, &'static str)> {
    let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
    let is_label = |label: &[u8]| {
        label.first().is_some_and(u8::is_ascii_alphabetic)
            && label.last().is_some_and(u8::is_ascii_alphanumeric)
            && label.iter().all(is_inner)
    };
    let why = "has a prefix that is no series of labels with dots between them: \
        each begins with a letter and ends with a letter or digit, hyphens in between";
    (!labels(prefix).all(is_label)).then_some((Severity::Error, why))
}

/// What keeps the part after the slash from being a name; it may be empty.
fn name_flaw(name: &[u8]) -> Option<(Severity, &'static str)> {
    let (first, last) = (name.first()?, name.last()?);
    if !first.is_ascii_alphanumeric() || !last.is_ascii_alphanumeric() {
        let why = "has a name that does not begin and end with a letter or digit";
        return Some((Severity::Error, why));
    }
    let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let why = "has a name with other characters than ASCII letters, digits, hyphens, underscores and dots";
    (!name.iter().all(is_inner)).then_some((Severity::Warning, why))
}

/// Whether a prefix is kept for the protocol: by its second label, in 2025-06-18 by any but the last.
fn is_reserved(prefix: &[u8], is_first_rule: bool) -> bool {
    let is_ours = |label: &[u8]| label == b"mcp" || label == b"modelcontextprotocol";
    if !is_first_rule {
        return labels(prefix).nth(1).is_some_and(is_ours);
    }
    let count = labels(prefix).count();
    labels(prefix).take(count - 1).any(is_ours)
}

/// Whether a prefix ends as domains do and does not begin so.
fn is_forward(prefix: &[u8]) -> bool {
    const ENDS: &[&[u8]] = &[
        b"com", b"org", b"net", b"edu", b"gov", b"io", b"dev", b"ai", b"app",
    ];
    let (Some(first), Some(last)) = (labels(prefix).next(), labels(prefix).last()) else {
        return false;
    };
    let is_end = |label: &[u8]| ENDS.contains(&label);
    labels(prefix).count() >= 2 && is_end(last) && !is_end(first) && first.len() != 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_a_form() {
        let flaw = |key: &str| {
            let (prefix, name) = match key.split_once('/') {
                Some((prefix, name)) => (Some(prefix), name),
                None => (None, key),
            };
            let prefix = prefix.and_then(|prefix| prefix_flaw(prefix.as_bytes()));
            prefix
                .or_else(|| name_flaw(name.as_bytes()))
                .map(|(severity, _)| severity)
        };
        for key in [
            "",
            "a",
            "1",
            "a.b_c-d",
            "com.example/",
            "com.example/a",
            "x-y.z1/0",
            "a/b",
        ] {
            assert_eq!(flaw(key), None, "{key}");
        }
        for key in [
            "/a",
            "1a/b",
            "a-/b",
            "a..b/c",
            "a_b/c",
            "-a",
            "a-",
            "com.example/_a",
            "ä",
        ] {
            assert_eq!(flaw(key), Some(Severity::Error), "{key}");
        }
        for key in ["a b", "a/b/c", "aéa"] {
            assert_eq!(flaw(key), Some(Severity::Warning), "{key}");
        }
    }

    #[test]
    fn prefixes_are_reserved_by_revision() {
        let first = |prefix: &str| is_reserved(prefix.as_bytes(), true);
        let later = |prefix: &str| is_reserved(prefix.as_bytes(), false);
        for prefix in ["mcp.dev", "tools.mcp.com", "a.mcp.b.c"] {
            assert!(first(prefix), "{prefix}");
        }
        for prefix in ["dev.mcp", "com.mcp.tools", "io.modelcontextprotocol"] {
            assert!(later(prefix), "{prefix}");
        }
        for prefix in ["mcp", "modelcontextprotocol", "com.example.mcp"] {
            assert!(!first(prefix) && !later(prefix), "{prefix}");
        }
        assert!(!first("io.modelcontextprotocol") && !later("mcp.dev"));
        assert!(is_forward(b"example.com") && is_forward(b"grafana.com"));
        assert!(
            !is_forward(b"com.example") && !is_forward(b"com") && !is_forward(b"de.example.app")
        );
    }
}
