//! What a rule about HTTP may look at, and where its findings go: some wait until the revision is settled.

use mcpsim_traces::event::{FrameNo, Role};
use mcpsim_traces::judge::{Severity, Verdict};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::Revision;

use crate::era::{Awaits, Era};
use crate::http::Exchanges;
use crate::ledger::{Ledger, bit};
use crate::observer::{ObserverOptions, outside};
use crate::part::{Part, flag, open};
use crate::rules::{Rule, When};

/// So many findings wait for the revision to be settled.
const HELD_MAX: usize = 64;

/// What a rule may look at and where its findings go.
pub(crate) struct Scene<'a> {
    pub(crate) ledger: &'a mut Ledger,
    pub(crate) client: &'a mut Part,
    pub(crate) server: &'a mut Part,
    pub(crate) options: &'a ObserverOptions,
    pub(crate) now_ms: u64,
}

impl Scene<'_> {
    pub(crate) fn saw(&mut self, when: When) {
        self.ledger.saw(bit(when));
    }

    /// The revision that was agreed on.
    pub(crate) fn revision(&self) -> Option<Revision> {
        self.server.revision.or(self.client.revision)
    }

    /// The own order of the client's frames is known.
    pub(crate) fn is_client_exact(&self) -> bool {
        self.client.mode == crate::part::Mode::Exact
    }

    /// The connection of that request broke: its answer may be lost with it.
    #[cold]
    pub(crate) fn cut(&mut self, id: Key) {
        if let Ok(at) = self.client.find_own(id) {
            self.client.own[at].flags |= open::CUT;
            self.server.drop_subscription(id);
        }
    }

    /// The client has come back for the answer: from now on it is waited for again.
    #[cold]
    pub(crate) fn uncut(&mut self, id: Key) {
        if let Ok(at) = self.client.find_own(id) {
            let own = &mut self.client.own[at];
            own.flags &= !open::CUT;
            own.since = own.since.max(self.now_ms);
        }
    }

    /// Files a finding whose rule the revision has.
    #[cold]
    pub(super) fn file(&mut self, fault: Fault) {
        let is_client = fault.blame == Role::Client;
        // An older server may answer a newer request as it likes.
        let is_unproven = !is_client && !self.server.is(flag::MODERN | flag::FORCED);
        let (part, party) = match fault.blame {
            Role::Client => (&mut *self.client, self.options.client),
            Role::Server => (&mut *self.server, self.options.server),
        };
        let mut cx = outside(self.ledger, party, self.options.link);
        cx.frame = fault.frames.last().copied().unwrap_or(0);
        cx.now_ms = self.now_ms;
        cx.awaits = match part.handshake_begun() {
            true => Awaits::Proof,
            false => Awaits::Newer,
        };
        cx.set_era(match fault.is_stateless {
            true if is_unproven => Era::Unproven,
            true => Era::Stateless,
            false => Era::Session,
        });
        part.case(
            &mut cx,
            fault.rule,
            fault.verdict,
            fault.severity,
            &fault.frames,
            None,
            fault.text,
        );
        if !self.ledger.held.is_empty() {
            part.keep_held(self.ledger);
        }
    }
}

/// A finding that may have to wait for the revision.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    blame: Role,
    rule: &'static Rule,
    is_stateless: bool,
    /// It binds the transport whatever revision was agreed on.
    is_of_transport: bool,
    verdict: Verdict,
    severity: Option<Severity>,
    frames: Vec<FrameNo>,
    text: String,
}

impl Fault {
    pub(crate) fn new(
        blame: Role,
        rule: &'static Rule,
        frames: &[FrameNo],
        text: impl Into<String>,
    ) -> Fault {
        Fault {
            blame,
            rule,
            is_stateless: rule.from == Revision::V2026_07_28,
            is_of_transport: false,
            verdict: Verdict::Broken,
            severity: None,
            frames: frames.to_vec(),
            text: text.into(),
        }
    }

    pub(crate) fn unsure(self) -> Fault {
        Fault {
            verdict: Verdict::Unsure,
            ..self
        }
    }

    /// Broken only where that is certain.
    pub(crate) fn sure_if(self, is_certain: bool) -> Fault {
        if is_certain { self } else { self.unsure() }
    }

    pub(crate) fn at(self, severity: Severity) -> Fault {
        Fault {
            severity: Some(severity),
            ..self
        }
    }

    /// The frame may stand outside any session: then the twin is broken.
    pub(crate) fn in_era(self, is_stateless: bool) -> Fault {
        Fault {
            is_stateless,
            ..self
        }
    }

    pub(crate) fn of_transport(self) -> Fault {
        Fault {
            is_of_transport: true,
            ..self
        }
    }
}

impl Exchanges {
    /// Files the finding, or keeps it until it is known whether the revision has the rule.
    #[cold]
    pub(crate) fn say(&mut self, scene: &mut Scene<'_>, fault: Fault) {
        if fault.is_stateless || fault.is_of_transport {
            return scene.file(fault);
        }
        if self.old.is_some() {
            return;
        }
        match scene.revision() {
            Some(revision) if !fault.rule.is_in(revision) => {}
            Some(_) => scene.file(fault),
            None if fault.rule.from == Revision::V2024_11_05 => scene.file(fault),
            None if scene.client.is(flag::JOINED) => {}
            None if self.held.len() < HELD_MAX => self.held.push(fault),
            None => {}
        }
    }

    /// As [`Exchanges::say`], where nothing is left to say but that the rule is broken.
    #[cold]
    pub(crate) fn broken(
        &mut self,
        scene: &mut Scene<'_>,
        blame: Role,
        rule: &'static Rule,
        frames: &[FrameNo],
        text: impl Into<String>,
    ) {
        self.say(scene, Fault::new(blame, rule, frames, text));
    }

    /// A frame was judged: the revision may be settled now.
    pub(crate) fn after(&mut self, scene: &mut Scene<'_>) {
        if self.held.is_empty() {
            return;
        }
        if scene.revision().is_some() || self.old.is_some() {
            for fault in std::mem::take(&mut self.held) {
                self.say(scene, fault);
            }
        }
    }
}
