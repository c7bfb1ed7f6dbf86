//! server/discover.

use mcpsim_traces::event::Role;
use mcpsim_traces::judge::Verdict;
use mcpsim_traces::message::{Kind, Method};

use crate::deep::discover::Versions;
use crate::deep::{Deep, Frame};
use crate::ledger::Cx;
use crate::part::{Part, flag};
use crate::rules::{Basis, Category, Needs, Rule, STATELESS_MUST, Side, When};

pub(crate) const DISCOVER_IMPLEMENTED: Rule = Rule {
    id: "discover-implemented",
    category: Category::Discovery,
    side: Side::Server,
    needs: Needs::Causal,
    when: When::error(Method::ServerDiscover),
    source: "2026-07-28 server/discover (Discovery)",
    says: "A server of this revision implements server/discover.",
    why: "Clients that probe with it take the server for an older one, and begin a handshake that it does not know.",
    ..STATELESS_MUST
};

pub(crate) const DISCOVER_LISTS_USED_VERSION: Rule = Rule {
    id: "discover-lists-used-version",
    category: Category::Discovery,
    basis: Basis::Derived,
    side: Side::Server,
    needs: Needs::Causal,
    when: When::DISCOVERED,
    source: "2026-07-28 basic/versioning (Protocol Version Negotiation)",
    says: "The versions that a server lists include the one under which it was asked.",
    why: "The client reads the list and leaves a version that works, or gives up.",
    ..STATELESS_MUST
};

pub(crate) const ROWS: &[Rule] = &[DISCOVER_IMPLEMENTED, DISCOVER_LISTS_USED_VERSION];

/// What a server answers to server/discover.
pub(crate) fn by(part: &mut Part, _: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    if part.role != Role::Server || frame.method != Method::ServerDiscover {
        return;
    }
    match frame.message.kind {
        Kind::Error => part.judge_refused_discover(cx, frame),
        Kind::Result => part.judge_discovered(cx, frame),
        _ => {}
    }
}

impl Part {
    #[cold]
    fn judge_refused_discover(&mut self, cx: &mut Cx<'_>, frame: &Frame<'_>) {
        let is_absent =
            frame.message.number == -32601 && (self.is(flag::MODERN) || !self.is(flag::FORCED));
        if !is_absent {
            return;
        }
        let asked = frame.asked.map_or(0, |asked| asked.frame);
        let text =
            "server/discover is refused as an unknown method by a server that knows 2026-07-28"
                .to_string();
        self.broken(cx, &DISCOVER_IMPLEMENTED, &[asked, cx.frame], text);
    }

    fn judge_discovered(&mut self, cx: &mut Cx<'_>, frame: &Frame<'_>) {
        let (Some(asked), Some(result)) = (frame.asked, frame.payload) else {
            return;
        };
        let value = result.get("supportedVersions");
        let Some(versions) = Versions::of(value) else {
            return;
        };
        let version = asked.meta.version;
        if !version.is_present() || !versions.lacks(version) {
            return;
        }
        let text = format!("the server answers under version {version} and does not list it");
        let frames = [asked.frame, cx.frame];
        let rule = &DISCOVER_LISTS_USED_VERSION;
        self.case(cx, rule, Verdict::Broken, None, &frames, value, text);
    }
}
