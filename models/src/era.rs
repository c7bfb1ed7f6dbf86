//! Which era and revision governs a frame; and the findings that wait until that can be told.

use mcpsim_traces::encode::Encoder;
use mcpsim_traces::event::{FrameNo, LinkKind, Role};
use mcpsim_traces::judge::{Finding, Verdict};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Condition, Kind, Message, Method, Revision, Version};
use mcpsim_traces::tape::Value;

use crate::deep::log_streams::Level;
use crate::idset::Used;
use crate::ledger::{Cx, Ledger};
use crate::part::{Part, flag, open};
use crate::rules::stateless::result_type::RESULT_TYPE_PRESENT;
use crate::rules::transport_stdio::contains;
use crate::rules::{Category, Rule};

/// By which rules a frame is judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Era {
    /// Those of a session: the revision that its handshake settles.
    #[default]
    Session,
    /// Those of 2026-07-28: the frame speaks for itself, or nothing else is spoken here.
    Stateless,
    /// As [`Era::Stateless`], but the frame answers for a server that has not shown that it knows that
    /// revision: an older one may answer so, and breaks nothing.
    Unproven,
    /// Outside sessions, by a version that is not known here or by an older one that is named in the
    /// newer form: form, ids and correlation alone.
    Foreign,
    /// Nothing tells: before any handshake, and not in the newer form.
    Bare,
}

impl Era {
    /// Whether the frame stands outside sessions.
    #[inline]
    pub(crate) fn is_stateless(self) -> bool {
        matches!(self, Era::Stateless | Era::Unproven | Era::Foreign)
    }
}

/// What decides whether a finding is made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Awaits {
    /// A handshake, or the end where nothing of 2026-07-28 was seen. Void once the server has shown that
    /// it knows that revision.
    Handshake,
    /// That the server shows that it knows 2026-07-28, or an end without a handshake where something of
    /// that revision was seen. Void once there is a handshake.
    Newer,
    /// That the server shows that it knows 2026-07-28; nothing else.
    Proof,
}

/// A finding that waits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Held {
    pub(crate) awaits: Awaits,
    pub(crate) finding: Finding,
}

/// With more findings waiting than this, what seems likelier so far is taken as settled for them.
const HELD_MAX: usize = 64;

/// What has come to light.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Light {
    /// A handshake begins, or may lie before the recording.
    Handshake,
    /// The server has shown that it knows 2026-07-28.
    Proof,
    /// There will be no more.
    End,
}

impl Part {
    /// By which rules a frame of the party's link is judged; `is_by` where the party sent it.
    #[inline]
    pub(crate) fn era_of(&self, cx: &Cx<'_>, message: &Message, is_by: bool) -> Era {
        let is_of_client = (self.role == Role::Client) == is_by;
        if !self.is_mixed && self.is_of_session(message) {
            return Era::Session;
        }
        match message.kind {
            Kind::Request if is_of_client => self.era_of_request(cx, message),
            Kind::Request => self.era_of_rest(),
            Kind::Result | Kind::Error => self.era_of_response(cx, message, is_by),
            Kind::Notification => self.era_of_notification(cx, message, is_by),
            Kind::Batch | Kind::Malformed => self.era_of_broken(cx),
        }
    }

    /// Whether it is the session's, whichever request it belongs to: all are.
    #[inline]
    fn is_of_session(&self, message: &Message) -> bool {
        let belongs = match message.kind {
            Kind::Result | Kind::Error => self.revision.is_some(),
            Kind::Notification => message.method == Method::Progress,
            _ => false,
        };
        belongs && !message.has(Condition::MetaVersion) && self.era_of_rest() == Era::Session
    }

    /// Of what does not speak for itself.
    #[inline]
    pub(crate) fn era_of_rest(&self) -> Era {
        if self.is(flag::FORCED) {
            return match self.revision {
                Some(Revision::V2026_07_28) => Era::Stateless,
                _ => Era::Session,
            };
        }
        let is_modern = self.is(flag::MODERN);
        let has_session = self.handshake_begun() && !(is_modern && self.was_refused());
        match () {
            // A session may lie before the recording.
            () if self.is(flag::JOINED) || has_session => Era::Session,
            () if self.is(flag::LATE) => Era::Bare,
            () if is_modern => Era::Stateless,
            () => Era::Bare,
        }
    }

    /// Whether there is no session, because the server refused to begin one.
    fn was_refused(&self) -> bool {
        match self.role {
            Role::Server => self.is(flag::INIT_REFUSED) && !self.is(flag::ANSWERED_INIT),
            Role::Client => self.refused.is_some() && !self.opened.is_some(),
        }
    }

    #[inline]
    fn era_of_request(&self, cx: &Cx<'_>, message: &Message) -> Era {
        if message.method == Method::Initialize {
            return Era::Session;
        }
        if message.has(Condition::MetaVersion) {
            return self.era_of_version(message.version);
        }
        let is_newer = matches!(
            message.method,
            Method::ServerDiscover | Method::SubscriptionsListen | Method::TasksUpdate
        );
        if (is_newer || cx.is_newer_head) && !self.handshake_begun() {
            return Era::Stateless;
        }
        self.era_of_rest()
    }

    /// Of a frame whose `_meta` names that version.
    fn era_of_version(&self, version: Version) -> Era {
        match version {
            Version::Known(Revision::V2026_07_28) | Version::NotString | Version::None => {
                Era::Stateless
            }
            // Whoever repeats what the handshake settled means the session.
            Version::Known(revision) if self.revision == Some(revision) => Era::Session,
            Version::Known(_) | Version::Unknown => Era::Foreign,
        }
    }

    /// Whether nothing tells the era of the request of that id, which the party owes an answer.
    pub(crate) fn owes_of_either_era(&self, id: Key) -> bool {
        let asked = self.find_in(id).ok().map(|at| self.inn[at].flags);
        asked.is_some_and(|flags| Part::era_of_asked(flags) == Era::Bare)
    }

    /// The era of the request of that id, as its flags have it.
    fn era_of_asked(flags: u16) -> Era {
        match () {
            () if flags & open::FOREIGN != 0 => Era::Foreign,
            () if flags & open::STATELESS != 0 => Era::Stateless,
            () if flags & open::BARE != 0 => Era::Bare,
            () => Era::Session,
        }
    }

    #[inline]
    fn era_of_response(&self, cx: &Cx<'_>, message: &Message, is_by: bool) -> Era {
        let asked = match is_by {
            true => self.find_in(message.id).ok().map(|at| self.inn[at].flags),
            false => self.find_own(message.id).ok().map(|at| self.own[at].flags),
        };
        let Some(flags) = asked else {
            // It may answer what lies before the recording, where no session need have been.
            let is_open = self.is(flag::JOINED) && self.revision.is_none();
            return match self.era_of_rest() {
                Era::Session if !is_open => Era::Session,
                Era::Session | Era::Bare if is_newer_answer(cx.body, message) => Era::Stateless,
                era => era,
            };
        };
        match Part::era_of_asked(flags) {
            Era::Stateless | Era::Bare
                if !self.is(flag::MODERN | flag::FORCED) && is_newer_answer(cx.body, message) =>
            {
                Era::Stateless
            }
            Era::Stateless if !self.is(flag::MODERN | flag::FORCED) && cx.body.is_some() => {
                Era::Unproven
            }
            era => era,
        }
    }

    fn era_of_notification(&self, cx: &Cx<'_>, message: &Message, is_by: bool) -> Era {
        match message.method {
            Method::Cancelled => {
                if let Some(flags) = self.flags_of(message.token) {
                    return Part::era_of_asked(flags);
                }
                let is_ended = self.rare.as_ref().is_some_and(|rare| {
                    rare.outside.has(message.token) != Used::Never
                        && self.issued.has(message.token) == Used::Never
                });
                if is_by && is_ended {
                    return Era::Stateless;
                }
            }
            Method::Progress => {
                if let Some(era) = self.era_of_token(message.token, is_by) {
                    return era;
                }
            }
            Method::SubscriptionsAcknowledged | Method::TasksNotification => return Era::Stateless,
            Method::LogMessage if self.some_request_logs() => return Era::Stateless,
            _ => {}
        }
        match () {
            () if message.has(Condition::MetaVersion) => self.era_of_version(message.version),
            () if is_tagged(cx) => Era::Stateless,
            () => match self.era_of_rest() {
                Era::Bare if is_by && self.is_for_newer(cx) => Era::Unproven,
                era => era,
            },
        }
    }

    /// Whether the frame comes on the HTTP stream of an open request outside sessions: it is about that one.
    #[cold]
    fn is_for_newer(&self, cx: &Cx<'_>) -> bool {
        let mut asked = self.inn.iter();
        self.role == Role::Server
            && self.link == LinkKind::Http
            && cx.stream != 0
            && asked.any(|asked| asked.stream == cx.stream && asked.flags & open::STATELESS != 0)
    }

    fn flags_of(&self, id: Key) -> Option<u16> {
        let own = self.find_own(id).ok().map(|at| self.own[at].flags);
        own.or_else(|| self.find_in(id).ok().map(|at| self.inn[at].flags))
    }

    /// The era of the request whose token that is.
    fn era_of_token(&self, token: Key, is_by: bool) -> Option<Era> {
        let tokens = self.tokens.as_ref()?;
        let mut found = None;
        let mut look = |flags: Option<u16>| {
            let era = flags.map(Part::era_of_asked);
            found = found.or(era);
            era == Some(Era::Session)
        };
        let is_session = match is_by {
            true => tokens
                .inn
                .ids(token)
                .any(|id| look(self.find_in(id).ok().map(|at| self.inn[at].flags))),
            false => tokens
                .own
                .ids(token)
                .any(|id| look(self.find_own(id).ok().map(|at| self.own[at].flags))),
        };
        if is_session {
            return Some(Era::Session);
        }
        found
    }

    /// Whether a request outside sessions is in flight that asks for log messages.
    fn some_request_logs(&self) -> bool {
        let Some(deep) = &self.deep else { return false };
        let asked = match self.role {
            Role::Client => &deep.own,
            Role::Server => &deep.inn,
        };
        asked.iter().any(|asked| asked.level != Level::None)
    }

    /// Of an array, or of what is no message: by what its text says of itself.
    #[cold]
    fn era_of_broken(&self, cx: &Cx<'_>) -> Era {
        const KEY: &[u8] = b"io.modelcontextprotocol/protocolVersion\"";
        let speaks = |text: &[u8]| contains(text, KEY);
        match self.era_of_rest() {
            Era::Bare if cx.text.is_some_and(speaks) => Era::Stateless,
            era => era,
        }
    }

    /// The revision that governs a frame; `None` where that is not settled, or not known here.
    pub(crate) fn revision_of(&self, era: Era, is_by: bool) -> Option<Revision> {
        match era {
            Era::Stateless | Era::Unproven => Some(Revision::V2026_07_28),
            Era::Foreign | Era::Bare => None,
            Era::Session if is_by => self.governing(),
            Era::Session => self.revision,
        }
    }

    /// Takes note of what a frame says about its server.
    #[inline]
    pub(crate) fn mark_era(&mut self, cx: &mut Cx<'_>, message: &Message, is_by: bool) {
        let is_of_server = (self.role == Role::Server) == is_by;
        if cx.era != Era::Stateless || !is_of_server || self.is(flag::MODERN) {
            return;
        }
        let shows = match message.kind {
            Kind::Result | Kind::Error => is_newer_answer(cx.body, message),
            Kind::Notification => {
                matches!(
                    message.method,
                    Method::SubscriptionsAcknowledged | Method::TasksNotification
                ) || is_tagged(cx)
            }
            _ => false,
        };
        if shows {
            self.set(flag::MODERN);
            // Silence on a probe was an older server's right.
            let probes = self.own.iter_mut();
            probes
                .filter(|own| own.method == Method::ServerDiscover)
                .for_each(|own| own.flags &= !open::LONG);
            let probes = self.inn.iter_mut();
            probes
                .filter(|request| request.method == Method::ServerDiscover)
                .for_each(|request| request.flags &= !open::LONG);
            self.settle_era(cx.ledger, Light::Proof);
        }
    }

    // Findings that wait.

    /// What findings on an answer wait for, where its server has not shown what it knows: in the older form,
    /// or with an error, it is a fault unless a session follows. A refused probe, and one for want of a
    /// handshake, tell of an older server. What comes before an answer may be an older server's too.
    #[cold]
    pub(crate) fn awaits(&self, cx: &Cx<'_>, message: &Message, is_by: bool) -> Awaits {
        if message.kind == Kind::Notification {
            return Awaits::Proof;
        }
        let asked = match is_by {
            true => self.find_in(message.id).ok().map(|at| self.inn[at].method),
            false => self.find_own(message.id).ok().map(|at| self.own[at].method),
        };
        let is_probe = asked == Some(Method::ServerDiscover);
        let is_older = message.kind == Kind::Error
            && (is_probe
                || cx
                    .body
                    .and_then(|body| body.get("error"))
                    .is_some_and(wants_handshake));
        match self.handshake_begun() || is_older {
            true => Awaits::Proof,
            false => Awaits::Newer,
        }
    }

    /// Keeps what the frame's era does not settle.
    #[cold]
    pub(crate) fn keep_held(&mut self, ledger: &mut Ledger) {
        let held = std::mem::take(&mut ledger.held);
        let rare = self.rare();
        rare.held.extend(held);
        if rare.held.len() > HELD_MAX {
            let light = match self.is(flag::STATELESS) {
                true => Light::Proof,
                false => Light::Handshake,
            };
            self.settle_held(ledger, light, &[]);
        }
    }

    /// What has come to light settles for requests before it.
    #[cold]
    pub(crate) fn settle_era(&mut self, ledger: &mut Ledger, light: Light) {
        let is_newer = match light {
            Light::Handshake => false,
            Light::Proof => true,
            Light::End => self.is(flag::STATELESS) && !self.handshake_begun(),
        };
        let settle = |flags: &mut u16, is_of_server: bool| {
            if *flags & open::BARE == 0 {
                return;
            }
            *flags &= !open::BARE;
            if is_newer {
                *flags |= open::STATELESS;
            }
            if is_newer && is_of_server {
                *flags |= open::BAD;
            }
        };
        let open = match light {
            Light::End if self.may_be_unseen() => self.bare_frames(),
            _ => vec![],
        };
        let is_server = self.role == Role::Server;
        let own = self.own.iter_mut();
        own.for_each(|own| settle(&mut own.flags, is_server));
        let inn = self.inn.iter_mut();
        inn.for_each(|request| settle(&mut request.flags, !is_server));
        self.settle_held(ledger, light, &open);
    }

    /// The frames of open requests that nothing tells the era of.
    fn bare_frames(&self) -> Vec<FrameNo> {
        let is_bare = |flags: u16| flags & open::BARE != 0;
        let own = self
            .own
            .iter()
            .filter(|own| is_bare(own.flags) && !own.answer.is_some());
        let inn = self.inn.iter().filter(|request| is_bare(request.flags));
        own.map(|own| own.frame)
            .chain(inn.map(|request| request.frame))
            .collect()
    }

    /// Whether server/discover was asked and no result came: a session may follow.
    fn has_open_probe(&self) -> bool {
        let outside = self.deep.as_ref().and_then(|deep| deep.outside.as_ref());
        if outside.is_some_and(|outside| outside.probe.is_some()) {
            return true;
        }
        let is_probe = |method| method == Method::ServerDiscover;
        match self.role {
            Role::Client => self
                .own
                .iter()
                .any(|own| is_probe(own.method) && !own.answer.is_some()),
            Role::Server => self.inn.iter().any(|request| is_probe(request.method)),
        }
    }

    /// Files the findings that this makes certain, and drops those that it makes void. At the end they are unsure where an
    /// older server may still refuse the probe, and on requests that are still open where a session may lie before.
    fn settle_held(&mut self, ledger: &mut Ledger, light: Light, open: &[FrameNo]) {
        let Some(rare) = &mut self.rare else { return };
        if rare.held.is_empty() {
            return;
        }
        let held = std::mem::take(&mut rare.held);
        let is_newer = self.is(flag::STATELESS) && !self.handshake_begun();
        let is_open = light == Light::End && self.has_open_probe();
        let sure = sure_frames(&held);
        let unmarked: Vec<Vec<u32>> = match light {
            Light::End => unmarked(&held),
            _ => vec![],
        };
        for mut one in held {
            let frames = &one.finding.frames;
            let is_unanswered = frames.last().is_some_and(|frame| open.contains(frame));
            if (is_open || is_unanswered) && !sure.contains(frames) {
                one.finding.verdict = Verdict::Unsure;
            }
            let is_made = match (one.awaits, light) {
                (Awaits::Handshake, Light::Handshake) => true,
                (Awaits::Handshake, Light::Proof) => false,
                (Awaits::Newer | Awaits::Proof, Light::Proof) => true,
                (Awaits::Newer, Light::Handshake) => false,
                (Awaits::Proof, Light::Handshake) => {
                    self.rare().held.push(one);
                    continue;
                }
                (Awaits::Handshake, Light::End) => !is_newer,
                (Awaits::Newer, Light::End) => {
                    // What lacks its mark lacks more: one fault.
                    let is_consequence = one.finding.rule != RESULT_TYPE_PRESENT.id
                        && unmarked.contains(&one.finding.frames);
                    is_newer && !is_consequence
                }
                (Awaits::Proof, Light::End) => false,
            };
            if is_made {
                ledger.add(one.finding);
            }
        }
    }
}

/// Mixes the findings that wait in.
pub(crate) fn encode_held(held: &[Held], encoder: &mut Encoder) {
    encoder.word(0x6865_6c64 << 32 | held.len() as u64);
    for one in held {
        encoder.key(Key::text(one.finding.rule.as_bytes()));
        encoder.word(one.awaits as u64);
    }
}

/// The frames of findings that are made by the rules of either era.
fn sure_frames(held: &[Held]) -> Vec<Vec<FrameNo>> {
    let frames = |awaits: Awaits| {
        let those = held.iter().filter(move |one| one.awaits == awaits);
        those.map(|one| &one.finding.frames)
    };
    let is_either = |one: &&Vec<FrameNo>| frames(Awaits::Newer).any(|other| other == *one);
    frames(Awaits::Handshake)
        .filter(is_either)
        .cloned()
        .collect()
}

/// The frames of findings that a result has no mark of its kind.
fn unmarked(held: &[Held]) -> Vec<Vec<u32>> {
    let marks = held
        .iter()
        .filter(|one| one.finding.rule == RESULT_TYPE_PRESENT.id);
    marks.map(|one| one.finding.frames.clone()).collect()
}

/// Whether an error complains of a missing handshake.
pub(crate) fn wants_handshake(error: Value<'_>) -> bool {
    let says = |value: Value<'_>| {
        let text = value.raw().to_ascii_lowercase();
        contains(&text, b"initializ") || contains(&text, b"initialis")
    };
    error.get("message").is_some_and(says)
}

/// Whether a rule applies to frames of versions that are not known here.
pub(crate) fn is_of_all_versions(rule: &Rule) -> bool {
    matches!(
        rule.category,
        Category::Envelope | Category::Ids | Category::Correlation | Category::Versioning
    )
}

/// Whether a rule applies inside a session of a version that is not known here: also to what carries its frames.
pub(crate) fn is_of_any_session(rule: &Rule) -> bool {
    is_of_all_versions(rule)
        || matches!(
            rule.category,
            Category::TransportStdio | Category::TransportHttp
        )
}

/// Whether only a server that knows 2026-07-28 answers so.
pub(crate) fn is_newer_answer(body: Option<Value<'_>>, message: &Message) -> bool {
    let Some(body) = body else { return false };
    match message.kind {
        Kind::Error => matches!(message.number, -32022..=-32020),
        Kind::Result => body.get("result").is_some_and(|result| {
            let mark = result.get("resultType");
            mark.is_some_and(|mark| mark.is_text()) || result.get("supportedVersions").is_some()
        }),
        _ => false,
    }
}

/// Whether a notification carries the tag of a subscription.
fn is_tagged(cx: &Cx<'_>) -> bool {
    cx.payload
        .and_then(|params| params.path(&["_meta", "io.modelcontextprotocol/subscriptionId"]))
        .is_some()
}
