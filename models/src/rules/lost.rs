//! Which rules a recording can no longer decide, because it lost what they look at.

use mcpsim_traces::lost::Lost;
use mcpsim_traces::message::Revision;

use super::{Category, Needs, Rule, Side};

/// Rules about the bytes of a frame: whoever writes frames anew hides what they look for.
const OF_BYTES: &[&str] = &[
    "env-utf8",
    "id-beyond-2-53",
    "json-duplicate-keys",
    "mrtr-unique-keys",
    "not-utf8",
];

/// Rules whose whole point is how much time goes by. What else needs time is decided by ends as well.
const OF_TIME: &[&str] = &[
    "http-retry-respected",
    "log-flood",
    "ping-flood",
    "progress-flood",
    "request-timeout-cancel",
    "task-ext-poll-interval",
    "task-poll-interval",
];

/// Rules about methods and who may send them.
const OF_DIRECTION: &[&str] = &[
    "dir-server-never-requests",
    "notification-wrong-direction",
    "request-wrong-direction",
];

/// Rules of the life cycle that look into params or results all the same.
const OF_PAYLOAD: &[&str] = &["initialize-result", "request-timeout-cancel"];

/// Rules that hold a response against its request, wherever each was among the frames of the other side.
const WITHOUT_ORDER: &[&str] = &[
    "corr-every-request-answered",
    "corr-response-known-id",
    "request-unanswered",
    "response-id-mismatch",
    "response-unknown-id",
];

/// Rules that hold the ids of events against each other, or rest on their being the server's.
const OF_EVENT_IDS: &[&str] = &[
    "http-event-id-unique",
    "http-poll-after-close",
    "http-prime-event",
    "http-replay-own-stream",
    "http-response-on-get",
    "http-resume-with-get",
    "http-sse-close-early",
];

/// Rules for which it matters what came before on another stream, beside those that need the offender's own log: whether a request
/// was withdrawn or answered, what a list or `server/discover` had told, whether a connection was still there.
const ACROSS_STREAMS: &[&str] = &[
    "cache-scope-same-across-pages",
    "caps-client-respects-server",
    "caps-list-answered",
    "complete-error-codes",
    "cursor-loop",
    "dir-server-not-first",
    "elicit-mode-error",
    "env-error-id-absent-only-if-unreadable",
    "err-parse",
    "error-id-missing",
    "http-401-invalid-token",
    "http-404-new-session",
    "http-auth-header",
    "http-cancel-explicit",
    "http-no-broadcast",
    "http-param-headers",
    "http-poll-after-close",
    "http-reissue-new-id",
    "http-related-on-post-stream",
    "http-replay-own-stream",
    "http-resume-with-get",
    "http-retry-field",
    "http-retry-respected",
    "http-session-ended-404",
    "http-sse-close-early",
    "http-sse-has-response",
    "http-stream-scope",
    "http-unrelated-on-get",
    "http-x-mcp-header-tool-dropped",
    "id-reused-while-active",
    "id-unique-in-flight",
    "invalid-cursor-error",
    "invalid-params-code",
    "log-invalid-level-error",
    "log-needs-level",
    "mrtr-state-type",
    "page-invalid-cursor-error",
    "page-no-loop",
    "pages-not-followed",
    "parse-error-answer",
    "ping-answered",
    "prompt-required-argument",
    "prompts-bad-name-error",
    "request-timeout-cancel",
    "res-empty-contents",
    "res-not-found-code",
    "resource-not-found-code",
    "response-before-request-observed",
    "roots-unsupported-error",
    "sampling-refused-code",
    "sampling-tool-fault-refused",
    "structured-content-invalid",
    "structured-content-missing",
    "tool-failure-as-protocol-error",
    "tools-structured-output",
    "tools-unknown-tool-error",
    "unknown-method-answer",
    "unknown-tool-error",
    "updated-without-subscription",
    "version-unsupported-error",
];

/// Rules that only count, or hold one frame against what the handshake said: no order between streams changes them.
const OF_ANY_STREAM: &[&str] = &[
    "cancel-initialize",
    "caps-server-declares-what-it-serves",
    "corr-one-response",
    "duplicate-response",
    "elicit-complete-twice",
    "elicit-id-unique",
    "embedded-resource-capability",
    "id-reused-by-sender",
    "log-without-capability",
    "prompts-list-changed-undeclared",
    "resources-list-changed-undeclared",
    "resources-updated-undeclared",
    "sub-change-capability",
    "task-id-unique",
    "tools-list-changed-undeclared",
];

/// Rules about a single frame that hold in every revision with a handshake, and forbid something else in each.
const OF_AGREEMENT: &[&str] = &["batch-not-in-revision", "method-not-in-revision"];

/// Whether the revision that was agreed on decides what the rule says of a frame. What a frame of 2026-07-28 has to be, it
/// says itself.
pub fn rests_on_agreement(rule: &Rule) -> bool {
    let is_of_some = rule.from != Revision::V2024_11_05 || rule.until < Revision::V2025_11_25;
    let is_of_handshakes = rule.from <= Revision::V2025_11_25;
    is_of_handshakes && (is_of_some || OF_AGREEMENT.contains(&rule.id))
}

/// Whether the rule needs to know which of two frames on different streams came first. The client's requests have an order of
/// their own, and an answer comes after what it answers.
fn needs_streams(rule: &Rule) -> bool {
    let id = rule.id;
    let is_across = ACROSS_STREAMS.contains(&id);
    if rule.needs == Needs::Frame && !is_across || OF_ANY_STREAM.contains(&id) {
        return false;
    }
    let is_of_server = rule.needs == Needs::SameDirection && rule.side != Side::Client;
    let is_of_both = matches!(
        rule.category,
        Category::Cancellation
            | Category::Mrtr
            | Category::Progress
            | Category::Subscriptions
            | Category::Tasks
            | Category::TasksExtension
    );
    rule.needs == Needs::OffenderLog || is_of_server || is_of_both || is_across
}

/// Categories that look at ids, or at who asked what.
fn looks_at_ids(category: Category) -> bool {
    matches!(
        category,
        Category::Ids | Category::Correlation | Category::Cancellation | Category::Mrtr
    )
}

/// Categories that look at no more than the method, the id and the kind of a message.
fn needs_no_payload(rule: &Rule) -> bool {
    matches!(
        rule.category,
        Category::Ids
            | Category::Correlation
            | Category::Ping
            | Category::Notification
            | Category::TransportStdio
            | Category::TransportHttp
    ) || rule.category == Category::Lifecycle && rule.needs != Needs::Frame
}

/// What of that the rule would need: [`Lost::NOTHING`] where a recording that lost it can still decide the rule.
pub fn needed(rule: &Rule, lost: Lost) -> Lost {
    let mut needed = Lost::NOTHING;
    let mut needs = |what: Lost, is_needed: bool| {
        if is_needed && lost.has(what) {
            needed |= what;
        }
    };
    let is_of = |list: &[&str]| list.contains(&rule.id);
    let is_of_lines = rule.category == Category::TransportStdio
        || rule.needs == Needs::Transport && rule.category == Category::Envelope;
    needs(Lost::RAW, is_of(OF_BYTES));
    // A line of the client that was no frame may be what the error answers.
    let is_of_lines = is_of_lines || rule.id == "error-id-missing";
    needs(Lost::LINES, is_of_lines);
    needs(Lost::TIME, is_of(OF_TIME));
    // A line is judged by itself, or by those before it on its side.
    let is_of_side = is_of_lines || matches!(rule.needs, Needs::Frame | Needs::SameDirection);
    // What looks at what came before on another stream looks at what came before on the other side.
    let needs_order = !is_of_side || is_of(ACROSS_STREAMS);
    needs(Lost::ORDER, !is_of(WITHOUT_ORDER) && needs_order);
    needs(Lost::DIRECTION, is_of(OF_DIRECTION));
    needs(Lost::IDS, looks_at_ids(rule.category));
    needs(Lost::PAYLOAD, !needs_no_payload(rule) || is_of(OF_PAYLOAD));
    needs(
        Lost::HTTP,
        rule.category == Category::TransportHttp && rule.needs == Needs::Transport,
    );
    needs(Lost::STREAMS, needs_streams(rule));
    needs(Lost::EVENT_IDS, is_of(OF_EVENT_IDS));
    needs(Lost::FRAMES, rule.needs != Needs::Frame && !is_of_lines);
    needed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{rule, rules};

    #[test]
    fn lists_name_rules() {
        let lists = [
            OF_BYTES,
            OF_TIME,
            OF_DIRECTION,
            OF_PAYLOAD,
            WITHOUT_ORDER,
            OF_EVENT_IDS,
            ACROSS_STREAMS,
            OF_ANY_STREAM,
            OF_AGREEMENT,
        ];
        for list in lists {
            assert!(list.is_sorted());
            for id in list {
                assert!(rule(id).is_some(), "{id}");
            }
        }
    }

    #[test]
    fn what_was_agreed_on_decides_what_not_every_revision_says() {
        let rests = |id: &str| rests_on_agreement(rule(id).expect(id));
        for id in [
            "batch-not-in-revision",
            "method-not-in-revision",
            "batch-mixed",
            "not-utf8",
        ] {
            assert!(rests(id), "{id}");
        }
        for id in [
            "jsonrpc-version",
            "request-id-null",
            "env-single-message",
            "meta-not-object",
        ] {
            assert!(!rests(id), "{id}");
        }
    }

    #[test]
    fn a_rule_needs_what_it_looks_at_and_nothing_else() {
        let needed = |id: &str, lost| needed(rule(id).expect(id), lost);
        let all = Lost::RAW | Lost::TIME | Lost::ORDER;
        assert_eq!(needed("json-duplicate-keys", all), Lost::RAW);
        assert_eq!(needed("ping-flood", Lost::TIME), Lost::TIME);
        assert_eq!(needed("initialized-missing", Lost::ORDER), Lost::ORDER);
        assert_eq!(needed("error-id-missing", all), Lost::ORDER);
        assert_eq!(needed("stdio-stdout-noise", all), Lost::NOTHING);
        assert_eq!(needed("request-unanswered", all), Lost::NOTHING);
        assert_eq!(needed("jsonrpc-version", all), Lost::NOTHING);
        assert_eq!(needed("duplicate-response", Lost::IDS), Lost::IDS);
        let of_streams = Lost::STREAMS | Lost::EVENT_IDS;
        assert_eq!(needed("duplicate-response", of_streams), Lost::NOTHING);
        assert_eq!(needed("http-version-header", of_streams), Lost::NOTHING);
        assert_eq!(needed("id-unique-in-flight", of_streams), Lost::STREAMS);
        assert_eq!(needed("http-event-id-unique", of_streams), Lost::EVENT_IDS);
        for rule in rules() {
            assert_eq!(super::needed(rule, Lost::NOTHING), Lost::NOTHING);
        }
    }
}
