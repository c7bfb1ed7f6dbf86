//! Peers that speak older revisions too: probing, falling back, and keeping the two apart.

use mcpsim_traces::event::{LinkKind, Role};
use mcpsim_traces::judge::Verdict;
use mcpsim_traces::message::{Kind, Method};
use mcpsim_traces::tape::Value;

use crate::deep::discover::Versions;
use crate::deep::topics::ignore;
use crate::deep::{Asked, Deep, Frame, Outside, Topic};
use crate::era::{Era, wants_handshake};
use crate::ledger::Cx;
use crate::part::{Knows, Mode, Part, flag, open};
use crate::rules::{
    Basis, Category, Level, Needs, Rule, STATELESS_MUST, STATELESS_NOTE, STATELESS_SHOULD, Side,
    When,
};

pub(crate) const NO_INITIALIZE: Rule = Rule {
    id: "no-initialize",
    category: Category::Versioning,
    level: Level::Must,
    basis: Basis::Derived,
    side: Side::Client,
    needs: Needs::OffenderLog,
    when: When::INITIALIZE,
    source: "2026-07-28 basic/versioning (Backward Compatibility with Initialization-Based Versions)",
    says: "A client that was answered under this revision sends no initialize.",
    why: "There is no handshake: the request is refused, and a session, if one begins, is not what the other requests are part of.",
    ..STATELESS_SHOULD
};

pub(crate) const INITIALIZE_ERROR_NAMES_VERSIONS: Rule = Rule {
    id: "initialize-error-names-versions",
    category: Category::Versioning,
    side: Side::Server,
    needs: Needs::Causal,
    when: When::error(Method::Initialize),
    source: "2026-07-28 basic/versioning (Backward Compatibility with Initialization-Based Versions)",
    says: "A server without a handshake that refuses initialize names its versions in the error.",
    why: "The user of an older client sees an unknown method, and nothing of the version that would be needed.",
    ..STATELESS_SHOULD
};

pub(crate) const ERA_NO_FALLBACK_AFTER_MODERN_ERROR: Rule = Rule {
    id: "era-no-fallback-after-modern-error",
    category: Category::Versioning,
    side: Side::Client,
    needs: Needs::OffenderLog,
    when: When::INITIALIZE,
    source: "2026-07-28 basic/transports/stdio (Backward Compatibility)",
    says: "An answer of this revision proves that the server knows it: the client goes on there.",
    why: "The server is taken for an older one, and what it can do since is never used.",
    ..STATELESS_SHOULD
};

pub(crate) const ERA_DUAL_SERVER_SEPARATION: Rule = Rule {
    id: "era-dual-server-separation",
    category: Category::Versioning,
    basis: Basis::Derived,
    side: Side::Server,
    needs: Needs::Causal,
    when: When::STATELESS_RESPONSE,
    source: "2026-07-28 basic/versioning (Compatibility Matrix)",
    says: "A server of both eras serves requests that speak for themselves without a session, and those of a session by its handshake.",
    why: "A client that never opened a session is refused for it, or one that did gets answers that its revision does not have.",
    ..STATELESS_MUST
};

pub(crate) const ERA_PROBE_FIRST: Rule = Rule {
    id: "era-probe-first",
    category: Category::Versioning,
    side: Side::Client,
    needs: Needs::OffenderLog,
    source: "2026-07-28 basic/transports/stdio (Backward Compatibility)",
    says: "On stdio a client of both eras begins with server/discover.",
    why: "An older server may do the work of another request, fail in the middle of it, or be silent on it.",
    ..STATELESS_NOTE
};

pub(crate) const ERA_FALLBACK_ANY_ERROR: Rule = Rule {
    id: "era-fallback-any-error",
    category: Category::Versioning,
    tier: 3,
    side: Side::Client,
    when: When::error(Method::ServerDiscover),
    source: "2026-07-28 basic/transports/stdio (Backward Compatibility)",
    says: "A client of both eras falls back to initialize after any other error to its probe, and after silence.",
    why: "Older servers refuse what they do not know with codes of all kinds; a client that waits for one of them \
        never reaches the others.",
    ..STATELESS_MUST
};

pub(crate) const ROWS: &[Rule] = &[
    NO_INITIALIZE,
    INITIALIZE_ERROR_NAMES_VERSIONS,
    ERA_NO_FALLBACK_AFTER_MODERN_ERROR,
    ERA_DUAL_SERVER_SEPARATION,
    ERA_PROBE_FIRST,
    ERA_FALLBACK_ANY_ERROR,
];

/// Requests outside sessions and their answers.
pub(crate) const TOPIC: Topic = Topic { by, toward };

/// initialize and its answer.
pub(crate) const HANDSHAKE: Topic = Topic {
    by: handshake_by,
    toward: ignore,
};

/// Answers inside a session.
pub(crate) const SESSION: Topic = Topic {
    by: session_by,
    toward: ignore,
};

fn by(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    match (part.role, frame.message.kind) {
        (Role::Client, Kind::Request) => {
            if let Some(asked) = frame.asked {
                part.note_request(deep, cx, asked);
            }
        }
        (Role::Server, Kind::Error) => part.refuses_for_handshake(cx, frame),
        _ => {}
    }
}

fn toward(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    if part.role == Role::Client && frame.message.kind.is_response() {
        learn_answer(part, deep, cx, frame);
    }
}

/// What an answer tells the client about the server's era.
fn learn_answer(part: &Part, deep: &mut Deep, cx: &Cx<'_>, frame: &Frame<'_>) {
    if cx.era == Era::Foreign {
        return;
    }
    let outside = deep.outside();
    if !part.is(flag::MODERN) {
        outside.has_reason = true;
        if frame.method == Method::ServerDiscover && frame.message.kind == Kind::Error {
            let asked = frame.asked.map_or(0, |asked| asked.frame);
            outside.probe = Some((asked, cx.frame, frame.message.number));
        }
        return;
    }
    let versions = match (frame.message.kind, frame.method) {
        (Kind::Result, Method::ServerDiscover) => frame
            .payload
            .and_then(|result| result.get("supportedVersions")),
        (Kind::Error, _) => frame
            .payload
            .and_then(|error| error.path(&["data", "supported"])),
        _ => None,
    };
    if let Some(versions) = Versions::of(versions) {
        // Only older ones in common.
        let is_common = versions
            .newer()
            .any(|version| outside.used.contains(&version));
        outside.has_reason |= versions.has_older() && !is_common;
    }
    if outside.proof.is_none() {
        outside.proof = Some((frame.fact, cx.frame));
        outside.is_plain =
            frame.message.kind == Kind::Error || frame.method == Method::ServerDiscover;
    }
}

fn handshake_by(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    match (part.role, frame.message.kind) {
        (Role::Client, Kind::Request) => part.falls_back(deep, cx),
        (Role::Server, Kind::Error) => part.refuses_handshake(cx, frame),
        _ => {}
    }
}

fn session_by(part: &mut Part, _: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let is_answer = frame.asked.is_some() && frame.method != Method::Initialize;
    if part.role == Role::Server && is_answer {
        part.answers_as_newer(cx, frame);
    }
}

/// Has something said by the rules of 2026-07-28 about a frame of a session.
fn outside(part: &Part, cx: &mut Cx<'_>, is_certain: bool, say: impl FnOnce(&Part, &mut Cx<'_>)) {
    let era = cx.era;
    cx.set_era(match is_certain || part.is(flag::MODERN) {
        true => Era::Stateless,
        false => Era::Unproven,
    });
    say(part, cx);
    cx.set_era(era);
}

impl Part {
    #[inline]
    fn note_request(&mut self, deep: &mut Deep, cx: &Cx<'_>, asked: &Asked) {
        let is_known = deep.outside.as_ref().is_some_and(|outside| {
            outside.began.is_some()
                && (outside.is_past || outside.proof.is_none())
                && outside.used.contains(&asked.meta.version)
        });
        if is_known {
            return;
        }
        let outside = deep.outside();
        if outside.began.is_none() {
            outside.began = Some((asked.method, cx.frame));
        }
        outside.is_past |= outside
            .proof
            .is_some_and(|(fact, _)| self.knows(fact) == Knows::Must);
        let is_new = asked.meta.version.is_present() && !outside.used.contains(&asked.meta.version);
        if is_new && outside.used.len() < Outside::USED_MAX {
            outside.used.push(asked.meta.version);
        }
    }

    /// The client sends initialize: whether it had a reason to.
    #[cold]
    fn falls_back(&mut self, deep: &mut Deep, cx: &mut Cx<'_>) {
        let Some(known) = deep.outside.as_mut() else {
            return;
        };
        if let Some(listed) = &mut known.listed {
            listed.is_used = true;
        }
        match known.proof {
            Some((fact, frame)) if !known.has_reason => {
                let is_at_once = known.is_plain && !known.is_past;
                // Behind one endpoint another client may begin its session.
                let is_own = match self.link {
                    LinkKind::Pipe => true,
                    LinkKind::Http => is_at_once && self.mode == Mode::Exact,
                };
                if self.knows(fact) != Knows::Must || !is_own {
                    return;
                }
                let frames = [frame, cx.frame];
                let (rule, text) = match is_at_once {
                    false => (
                        &NO_INITIALIZE,
                        "initialize, though requests without a handshake were answered before",
                    ),
                    true => (
                        &ERA_NO_FALLBACK_AFTER_MODERN_ERROR,
                        "initialize after an answer that only a server of 2026-07-28 gives",
                    ),
                };
                outside(self, cx, true, |part, cx| {
                    part.broken(cx, rule, &frames, text.to_string());
                });
            }
            None => self.probed_late(cx, known.began),
            Some(_) => {}
        }
    }

    /// The client turns out to speak older revisions too: whether it asked first.
    fn probed_late(&self, cx: &mut Cx<'_>, began: Option<(Method, u32)>) {
        let Some((method, frame)) = began else { return };
        let is_judged = self.link == LinkKind::Pipe && !self.is(flag::JOINED);
        if method == Method::ServerDiscover || !is_judged {
            return;
        }
        let may_be_late = self
            .rare
            .as_ref()
            .is_some_and(|rare| rare.first_id.is_present());
        let verdict = match may_be_late {
            true => Verdict::Unsure,
            false => Verdict::Broken,
        };
        let text = format!(
            "the client speaks older revisions too, and begins with {}; on stdio it begins with server/discover",
            match method.as_str() {
                "" => "an unknown method",
                name => name,
            }
        );
        let frames = [frame, cx.frame];
        outside(self, cx, true, |part, cx| {
            part.case(cx, &ERA_PROBE_FIRST, verdict, None, &frames, None, text);
        });
    }

    /// The server refuses initialize: whether it says what it speaks instead.
    #[cold]
    fn refuses_handshake(&mut self, cx: &mut Cx<'_>, frame: &Frame<'_>) {
        let Some(error) = frame.payload else { return };
        let is_about_http =
            self.link == LinkKind::Http && matches!(frame.message.number, -32020 | -32601);
        if is_about_http || has_date(error.raw()) {
            return;
        }
        let asked = frame.asked.map_or(0, |asked| asked.frame);
        let frames = [asked, cx.frame];
        outside(self, cx, false, |part, cx| {
            let text = "initialize is refused by a server without a handshake, which does not say which versions it speaks";
            part.broken(
                cx,
                &INITIALIZE_ERROR_NAMES_VERSIONS,
                &frames,
                text.to_string(),
            );
        });
    }

    /// A request that speaks for itself is refused for want of a handshake.
    fn refuses_for_handshake(&mut self, cx: &mut Cx<'_>, frame: &Frame<'_>) {
        let code = frame.message.number;
        if matches!(code, -32022..=-32020 | -32601) {
            return;
        }
        if !frame.payload.is_some_and(wants_handshake) {
            return;
        }
        let asked = frame.asked.map_or(0, |asked| asked.frame);
        let text =
            "the request speaks for itself and is refused for want of a handshake".to_string();
        self.broken(cx, &ERA_DUAL_SERVER_SEPARATION, &[asked, cx.frame], text);
    }

    /// Inside a session: whether the answer is one that only the newer revision has.
    #[inline]
    fn answers_as_newer(&mut self, cx: &mut Cx<'_>, frame: &Frame<'_>) {
        let Some(payload) = frame.payload else { return };
        let (is_newer, is_certain) = match (frame.message.kind, frame.message.number) {
            (Kind::Error, -32021) => (true, is_object(payload, "requiredCapabilities")),
            (Kind::Error, -32022) => (
                true,
                payload
                    .path(&["data", "supported"])
                    .is_some_and(Value::is_array),
            ),
            (Kind::Result, _) => {
                let is_one = may_ask(frame.method)
                    && payload
                        .get("resultType")
                        .is_some_and(|mark| mark.is("input_required"));
                (is_one, is_one)
            }
            _ => (false, false),
        };
        if is_newer {
            self.mixes_eras(cx, frame, is_certain);
        }
    }

    #[cold]
    fn mixes_eras(&mut self, cx: &mut Cx<'_>, frame: &Frame<'_>, is_certain: bool) {
        let asked = frame.asked.map_or(0, |asked| asked.frame);
        let frames = [asked, cx.frame];
        outside(self, cx, is_certain, |part, cx| {
            let text = "a request of a session is answered as only requests outside sessions are";
            part.broken(cx, &ERA_DUAL_SERVER_SEPARATION, &frames, text.to_string());
        });
    }

    /// The client has ended: whether it gave up where it should have fallen back, which only the client knows.
    #[cold]
    pub(crate) fn judge_given_up(&self, cx: &mut Cx<'_>) {
        let Some((frames, what, code)) = self.probed_in_vain() else {
            return;
        };
        if code == Some(-32601) {
            return;
        }
        let text = format!(
            "the server/discover {what} and the client ends; if it speaks older revisions too it falls back to initialize"
        );
        cx.set_era(Era::Stateless);
        self.unsure(cx, &ERA_FALLBACK_ANY_ERROR, &frames, text);
    }

    /// At another server the same client fell back after a probe: here it did not.
    #[cold]
    pub(crate) fn judge_fallback(&self, cx: &mut Cx<'_>) {
        let Some((frames, what, _)) = self.probed_in_vain() else {
            return;
        };
        let text = format!(
            "the server/discover {what} and the client does not fall back to initialize, as it does at another server"
        );
        cx.set_era(Era::Stateless);
        self.broken(cx, &ERA_FALLBACK_ANY_ERROR, &frames, text);
    }

    /// Whether the client asked for the server's era and then began a session.
    pub(crate) fn has_fallen_back(&self) -> bool {
        self.role == Role::Client
            && self.handshake_begun()
            && !self.is(flag::MODERN)
            && self.probe().is_some()
    }

    fn probe(&self) -> Option<(u32, u32, i64)> {
        self.deep.as_ref()?.outside.as_ref()?.probe
    }

    /// A probe that an older server refused or left unanswered, and that no handshake followed: its frames, what became of it, and
    /// with which code.
    fn probed_in_vain(&self) -> Option<([u32; 2], String, Option<i64>)> {
        if self.handshake_begun() || self.is(flag::MODERN | flag::JOINED) {
            return None;
        }
        if let Some((asked, answer, code)) = self.probe() {
            let what = format!("is refused with {code}");
            return Some(([asked, answer], what, Some(code)));
        }
        let silent = self.own.iter().find(|own| {
            own.method == Method::ServerDiscover
                && own.flags & open::STATELESS != 0
                && !own.answer.is_some()
        });
        let asked = silent?.frame;
        Some(([0, asked], "has no answer".to_string(), None))
    }
}

/// Whether answers to that method may ask for input.
pub(crate) fn may_ask(method: Method) -> bool {
    matches!(
        method,
        Method::ToolsCall | Method::PromptsGet | Method::ResourcesRead
    )
}

fn is_object(error: Value<'_>, name: &str) -> bool {
    error.path(&["data", name]).is_some_and(Value::is_object)
}

/// Whether a text names a version, as revisions are named: by a date.
fn has_date(text: &[u8]) -> bool {
    text.windows(10).any(|part| {
        part.iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        })
    })
}
