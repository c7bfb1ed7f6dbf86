//! Versions, from request to request.

use mcpsim_traces::event::{LinkKind, Role};
use mcpsim_traces::judge::{Severity, Verdict};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Kind, Message, Method, Revision};

use crate::deep::discover::{Listed, Versions};
use crate::deep::{Asked, Deep, Frame};
use crate::era::Era;
use crate::ledger::Cx;
use crate::part::{Knows, Part, flag};
use crate::rules::envelope::is_in;
use crate::rules::stateless::errors::has_subject;
use crate::rules::{
    Basis, Category, Level, Needs, Rule, STATELESS_MUST, STATELESS_SHOULD, Side, When,
};

pub(crate) const REMOVED_METHOD: Rule = Rule {
    id: "removed-method",
    category: Category::Versioning,
    basis: Basis::Derived,
    side: Side::Client,
    needs: Needs::Causal,
    source: "2026-07-28 changelog (Major changes)",
    says: "Methods that this revision dropped are not used under it.",
    why: "A server of this revision has no ping, no logging/setLevel, no resources/subscribe and no tasks/list or \
        tasks/result to answer with: the call fails, and what it was to bring about does not happen.",
    ..STATELESS_MUST
};

pub(crate) const REMOVED_NOTIFICATION: Rule = Rule {
    id: "removed-notification",
    category: Category::Versioning,
    basis: Basis::Derived,
    side: Side::Both,
    needs: Needs::Causal,
    when: When::STATELESS_NOTIFICATION,
    source: "2026-07-28 changelog (Major changes)",
    says: "Notifications that this revision dropped are not sent under it.",
    why: "Nobody listens: there is no handshake to complete, and roots, tasks and elicitations report in other ways.",
    ..STATELESS_MUST
};

pub(crate) const VERSION_UNSUPPORTED_ERROR: Rule = Rule {
    id: "version-unsupported-error",
    category: Category::Versioning,
    side: Side::Server,
    needs: Needs::Causal,
    when: When::STATELESS_RESPONSE,
    source: "2026-07-28 basic/versioning (Protocol Version Negotiation)",
    says: "A request for a version that the server does not list is refused with -32022.",
    why: "A client that is served all the same believes that the version is understood; with another code it does \
        not learn which versions are.",
    ..STATELESS_MUST
};

pub(crate) const VERSION_ERROR_DATA: Rule = Rule {
    id: "version-error-data",
    category: Category::Versioning,
    side: Side::Server,
    needs: Needs::Causal,
    when: When::STATELESS_ERROR,
    source: "2026-07-28 schema.ts (UnsupportedProtocolVersionError)",
    says: "The error -32022 lists the versions in `data.supported` and repeats the one asked for in `data.requested`.",
    why: "Without the list the client has nothing to choose from and gives up.",
    ..STATELESS_MUST
};

pub(crate) const VERSION_ERROR_CONSISTENT: Rule = Rule {
    id: "version-error-consistent",
    category: Category::Versioning,
    level: Level::Must,
    basis: Basis::Derived,
    side: Side::Server,
    needs: Needs::SameDirection,
    when: When::STATELESS_ERROR,
    source: "2026-07-28 basic/versioning (Protocol Version Negotiation)",
    says: "The list in -32022 leaves out the version that is refused, and is the one that server/discover gives.",
    why: "The client chooses from one list what the other refuses, and goes round in circles.",
    ..STATELESS_SHOULD
};

pub(crate) const VERSION_CLIENT_RETRIES_SUPPORTED: Rule = Rule {
    id: "version-client-retries-supported",
    category: Category::Versioning,
    side: Side::Client,
    needs: Needs::OffenderLog,
    when: When::STATELESS_ERROR,
    source: "2026-07-28 basic/versioning (Protocol Version Negotiation)",
    says: "After -32022 the client goes on with a version that the server lists, or gives up.",
    why: "The next request is refused as the one before was.",
    ..STATELESS_SHOULD
};

pub(crate) const ROWS: &[Rule] = &[
    REMOVED_METHOD,
    REMOVED_NOTIFICATION,
    VERSION_UNSUPPORTED_ERROR,
    VERSION_ERROR_DATA,
    VERSION_ERROR_CONSISTENT,
    VERSION_CLIENT_RETRIES_SUPPORTED,
];

/// The code for a version that the server does not support.
pub(crate) const UNSUPPORTED: i64 = -32022;

/// Whether 2026-07-28 dropped that method. initialize is a matter of its own.
pub(crate) fn is_removed(method: Method) -> bool {
    !matches!(method, Method::Initialize | Method::None | Method::Unknown)
        && !is_in(method, Revision::V2026_07_28)
}

/// The version of a request, and how it is answered.
pub(crate) fn by(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let Some(asked) = frame.asked else { return };
    match (part.role, frame.message.kind) {
        (Role::Client, Kind::Request) => part.goes_on(deep, cx, asked),
        (Role::Server, Kind::Error) if frame.message.number == UNSUPPORTED => {
            part.refuses_version(deep, cx, frame, asked);
            learn_listed(deep, cx, frame);
        }
        (Role::Server, Kind::Error | Kind::Result) => part.serves_version(deep, cx, frame, asked),
        _ => {}
    }
}

/// What the party learns of versions.
pub(crate) fn toward(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let is_refusal = frame.message.kind == Kind::Error && frame.message.number == UNSUPPORTED;
    if part.role == Role::Client && is_refusal {
        learn_listed(deep, cx, frame);
    }
}

fn learn_listed(deep: &mut Deep, cx: &Cx<'_>, frame: &Frame<'_>) {
    let supported = frame
        .payload
        .and_then(|error| error.path(&["data", "supported"]));
    if let Some(versions) = Versions::of(supported) {
        deep.outside().listed = Some(Listed {
            fact: frame.fact,
            frame: cx.frame,
            versions,
            is_used: false,
        });
    }
}

impl Part {
    /// A request of the client that does not belong to a session, or that may not: what can be said of it
    /// without its text.
    #[inline]
    pub(crate) fn newer_request(&mut self, cx: &mut Cx<'_>, message: &Message) {
        if cx.era == Era::Foreign {
            return;
        }
        let method = message.method;
        // Pings may come before a handshake: most that do are followed by one.
        let is_early = cx.era == Era::Bare && !self.is(flag::STATELESS);
        if is_early && method == Method::Ping {
            return;
        }
        if is_removed(method) {
            return self.removed(cx, method);
        }
        if !cx.is_stateless || !self.direction_outside(cx, message) {
            self.names_its_version(cx, message);
        }
    }

    #[cold]
    fn removed(&mut self, cx: &mut Cx<'_>, method: Method) {
        let text = format!("revision 2026-07-28 has no {} any more", method.words());
        self.broken(cx, &REMOVED_METHOD, &[cx.frame], text);
    }

    /// The client goes on after its version was refused.
    #[inline]
    fn goes_on(&mut self, deep: &mut Deep, cx: &mut Cx<'_>, asked: &Asked) {
        let Some(listed) = deep
            .outside
            .as_mut()
            .and_then(|outside| outside.listed.as_mut())
        else {
            return;
        };
        let version = asked.meta.version;
        if listed.is_used || !version.is_present() || self.knows(listed.fact) != Knows::Must {
            return;
        }
        listed.is_used = true;
        if listed.versions.lacks(version) {
            let text = format!(
                "the client goes on with version {version}, which the server did not list when it refused one"
            );
            let frames = [listed.frame, cx.frame];
            self.broken(cx, &VERSION_CLIENT_RETRIES_SUPPORTED, &frames, text);
        }
    }

    /// The server answers a request whose version it may have said that it does not support.
    #[inline]
    fn serves_version(&mut self, deep: &Deep, cx: &mut Cx<'_>, frame: &Frame<'_>, asked: &Asked) {
        let Some(outside) = &deep.outside else { return };
        let version = asked.meta.version;
        let told = outside.told.as_ref();
        let told = told.filter(|told| told.answered != version);
        let told = told.map(|told| &told.versions);
        let refused = outside.listed.as_ref().map(|listed| &listed.versions);
        let lacks = |versions: Option<&Versions>| versions.is_some_and(|list| list.lacks(version));
        if version.is_present() && (lacks(told) || lacks(refused)) {
            self.unsupported_answered(cx, frame, asked);
        }
    }

    #[cold]
    fn unsupported_answered(&mut self, cx: &mut Cx<'_>, frame: &Frame<'_>, asked: &Asked) {
        let code = frame.message.number;
        let is_error = frame.message.kind == Kind::Error;
        let is_explained = match code {
            -32601 => asked.method == Method::Unknown || is_removed(asked.method),
            // What it is about may be unknown to the server.
            -32602 => !asked.meta.is_whole || has_subject(asked.method),
            -32020 => self.link == LinkKind::Http,
            // Whoever may not ask at all.
            _ => cx.refused && (-32019..=-32000).contains(&code),
        };
        // A result of server/discover has a rule of its own.
        let is_list = !is_error && asked.method == Method::ServerDiscover;
        if is_error && is_explained || is_list {
            return;
        }
        let what = match is_error {
            true => format!("refused with {code}"),
            false => "served".to_string(),
        };
        let text = format!(
            "the request {} of version {} is {what}, though the server does not list that version; \
                it is refused with -32022",
            asked.id, asked.meta.version
        );
        let frames = [asked.frame, cx.frame];
        self.broken(cx, &VERSION_UNSUPPORTED_ERROR, &frames, text);
    }

    /// The server refuses a version.
    #[cold]
    fn refuses_version(&mut self, deep: &Deep, cx: &mut Cx<'_>, frame: &Frame<'_>, asked: &Asked) {
        let data = frame.payload.and_then(|error| error.get("data"));
        let supported = data.and_then(|data| data.get("supported"));
        let requested = data.and_then(|data| data.get("requested"));
        let version = asked.meta.version;
        let is_list = supported
            .is_some_and(|list| list.is_array() && list.items().all(|item| item.is_text()));
        let is_repeated = |value: mcpsim_traces::tape::Value<'_>| {
            value.is_text() && (!version.is_present() || value.key() == version)
        };
        let frames = [asked.frame, cx.frame];
        let (what, spot) = match () {
            () if supported.is_none() => ("has no `data.supported`", None),
            () if !is_list => (
                "has a `data.supported` that is no list of strings",
                supported,
            ),
            () if requested.is_none() => ("has no `data.requested`", None),
            () if !requested.is_some_and(is_repeated) => (
                "does not repeat the version asked for in `data.requested`",
                requested,
            ),
            () => return self.lists_versions(deep, cx, &frames, supported, version),
        };
        let text = format!("the error -32022 {what}");
        let rule = &VERSION_ERROR_DATA;
        self.case(cx, rule, Verdict::Broken, None, &frames, spot, text);
    }

    /// The list in the refusal, against what else is known.
    fn lists_versions(
        &mut self,
        deep: &Deep,
        cx: &mut Cx<'_>,
        frames: &[u32],
        supported: Option<mcpsim_traces::tape::Value<'_>>,
        version: Key,
    ) {
        let Some(versions) = Versions::of(supported).filter(|versions| !versions.is_cut) else {
            return;
        };
        let mut report = |rule, severity, text: String| {
            self.case(cx, rule, Verdict::Broken, severity, frames, supported, text);
        };
        if versions.list.is_empty() {
            let text =
                "the list of supported versions is empty; the client has nothing to choose from";
            return report(&VERSION_ERROR_DATA, Some(Severity::Note), text.to_string());
        }
        if version.is_present() && versions.list.contains(&version) {
            let text = format!("the version {version} is refused and listed as supported");
            return report(&VERSION_ERROR_CONSISTENT, None, text);
        }
        let Some(told) = deep.told().filter(|told| !told.versions.is_cut) else {
            return;
        };
        if !told.versions.newer().eq(versions.newer()) {
            let text = "the list of supported versions is not the one that server/discover gave";
            report(&VERSION_ERROR_CONSISTENT, None, text.to_string());
        }
    }
}
