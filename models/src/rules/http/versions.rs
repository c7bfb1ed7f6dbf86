//! The header that repeats the agreed version with every request.

use mcpsim_traces::event::Role;
use mcpsim_traces::http::Head;
use mcpsim_traces::judge::Severity;
use mcpsim_traces::message::Revision;
use mcpsim_traces::tape::Value;

use super::{HTTP, HTTP_NOTE, HTTP_SHOULD};
use crate::http::head::shown;
use crate::http::{Exchange, Exchanges, Fault, Scene, mark};
use crate::observer::Seen;
use crate::part::Knows;
use crate::rules::{Rule, Side, When};

pub(crate) const HTTP_VERSION_HEADER: Rule = Rule {
    id: "http-version-header",
    side: Side::Client,
    from: Revision::V2025_06_18,
    source: "2025-11-25 basic/transports (Protocol Version Header)",
    says: "After the answer to initialize every request carries MCP-Protocol-Version.",
    why: "A server that keeps no sessions takes the request for one of 2025-03-26, or refuses it.",
    when: When::HTTP_VERSION,
    ..HTTP
};

pub(crate) const HTTP_VERSION_HEADER_VALUE: Rule = Rule {
    id: "http-version-header-value",
    side: Side::Client,
    from: Revision::V2025_06_18,
    source: "2025-11-25 basic/transports (Protocol Version Header)",
    says: "The header has the version that was agreed on.",
    why: "The server answers by the rules of another version than the client reads by.",
    when: When::HTTP_VERSION,
    ..HTTP_SHOULD
};

pub(crate) const HTTP_VERSION_HEADER_400: Rule = Rule {
    id: "http-version-header-400",
    side: Side::Server,
    from: Revision::V2025_06_18,
    source: "2025-11-25 basic/transports (Protocol Version Header)",
    says: "A version that is invalid or not supported is refused with 400.",
    why: "Served all the same, the client takes its version for agreed on.",
    when: When::HTTP_VERSION,
    ..HTTP
};

pub(crate) const HTTP_VERSION_HEADER_ABSENT_DEFAULT: Rule = Rule {
    id: "http-version-header-absent-default",
    side: Side::Server,
    from: Revision::V2025_06_18,
    source: "2025-11-25 basic/transports (Protocol Version Header)",
    says: "Without the header the server assumes 2025-03-26, unless it knows the version otherwise.",
    why: "Clients from before the header are shut out.",
    when: When::HTTP_VERSION,
    ..HTTP_NOTE
};

/// The rows of this theme.
pub(crate) const ROWS: &[Rule] = &[
    HTTP_VERSION_HEADER,
    HTTP_VERSION_HEADER_VALUE,
    HTTP_VERSION_HEADER_400,
    HTTP_VERSION_HEADER_ABSENT_DEFAULT,
];

/// Whether that may be a version from after this program.
fn is_newer(version: &str) -> bool {
    let latest = Revision::V2026_07_28.as_str();
    let is_date = version.len() == latest.len()
        && version
            .bytes()
            .zip(latest.bytes())
            .all(|(byte, like)| byte.is_ascii_digit() && like != b'-' || byte == like);
    is_date && version > latest
        || version
            .get(..5)
            .is_some_and(|start| start.eq_ignore_ascii_case("draft"))
}

impl Exchanges {
    /// The version header of a request.
    pub(crate) fn judge_version_sent(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        head: &Head<'_>,
        seen: Option<&Seen<'_>>,
    ) {
        if !exchange.is(mark::FIELDS) || exchange.is(mark::INITIALIZE) {
            return;
        }
        let revision = scene.revision();
        if revision.is_some_and(|revision| HTTP_VERSION_HEADER.is_in(revision)) {
            scene.saw(When::HTTP_VERSION);
        }
        let knew = self.client_knew(scene, exchange, seen.map(|seen| seen.message));
        let frames = [exchange.frame];
        let Some(version) = head.value("mcp-protocol-version") else {
            exchange.set(mark::NO_VERSION);
            let text = "there is no MCP-Protocol-Version header; after the answer to initialize every request carries it";
            let fault = Fault::new(Role::Client, &HTTP_VERSION_HEADER, &frames, text);
            return match knew {
                _ if revision.is_none() => {}
                Knows::Must => self.say(scene, fault),
                // It may have been under way already.
                Knows::May if seen.is_none() => self.say(scene, fault.unsure()),
                Knows::May | Knows::No => {}
            };
        };
        if Revision::parse(version).is_none() && !is_newer(version) {
            exchange.set(mark::BAD_VERSION);
        }
        let Some(revision) = revision else { return };
        if knew != Knows::Must {
            return;
        }
        if version != revision.as_str() {
            let text = format!(
                "MCP-Protocol-Version is {}; agreed on was {revision}",
                shown(version)
            );
            let rule = &HTTP_VERSION_HEADER_VALUE;
            self.broken(scene, Role::Client, rule, &frames, text);
        }
    }

    /// On the transport of 2024-11-05 the header is not asked for.
    pub(crate) fn judge_version_on_old(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &Exchange,
        head: &Head<'_>,
        seen: &Seen<'_>,
    ) {
        let revision = scene.revision();
        let has_rule = revision.is_some_and(|revision| HTTP_VERSION_HEADER.is_in(revision));
        let knew = self.client_knew(scene, exchange, Some(seen.message));
        let is_there = head.value("mcp-protocol-version").is_some();
        if !has_rule || knew != Knows::Must || is_there || !exchange.is(mark::FIELDS) {
            return;
        }
        if std::mem::replace(&mut self.told_old_version, true) {
            return;
        }
        let text = "there is no MCP-Protocol-Version header, which a server on this transport may still look for";
        let fault = Fault::new(Role::Client, &HTTP_VERSION_HEADER, &[exchange.frame], text);
        self.say(scene, fault.at(Severity::Note).of_transport());
    }

    /// The status in answer to a version that there is not.
    pub(crate) fn judge_version_of_answer(&mut self, scene: &mut Scene<'_>, exchange: &Exchange) {
        let Some(status) = exchange.status.filter(|_| exchange.is(mark::BAD_VERSION)) else {
            return;
        };
        if matches!(status, 300..=399 | 400 | 401 | 403 | 404 | 405 | 429 | 500..=599) {
            return;
        }
        let text = format!(
            "a version that does not exist is answered with {status}; it is refused with 400"
        );
        let frames = exchange.frames(exchange.answer_frame);
        let rule = &HTTP_VERSION_HEADER_400;
        self.broken(scene, Role::Server, rule, &frames, text);
    }

    /// The server says that the header is missing.
    pub(crate) fn judge_refusal_for_version(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &Exchange,
        seen: &Seen<'_>,
        body: Option<Value<'_>>,
    ) {
        if exchange.status != Some(400) || !exchange.is(mark::NO_VERSION) {
            return;
        }
        let words = body.and_then(|body| body.path(&["error", "message"])?.as_text());
        let words = words.unwrap_or_default().to_ascii_lowercase();
        if !words.contains("protocol-version") && !words.contains("protocol version") {
            return;
        }
        let text = "a request is refused because it names no version; without the header 2025-03-26 is assumed";
        let rule = &HTTP_VERSION_HEADER_ABSENT_DEFAULT;
        let frames = exchange.frames(seen.frame);
        self.broken(scene, Role::Server, rule, &frames, text);
    }
}

#[cfg(test)]
mod tests {
    use super::is_newer;

    #[test]
    fn versions_of_the_future_are_told_from_wrong_ones() {
        for (version, expected) in [
            ("2027-01-01", true),
            ("DRAFT-2026-v1", true),
            ("2026-07-28", false),
            ("2025-12-01", false),
            ("2.0", false),
            ("2027-01-1x", false),
            ("9999/99/99", false),
        ] {
            assert_eq!(is_newer(version), expected, "{version}");
        }
    }
}
