//! The judge of a world: both ends' own order is known, so nothing is unsure but what the text leaves open.

use std::collections::BTreeMap;

use mcpsim_traces::encode::Encoder;
use mcpsim_traces::event::{LinkId, LinkKind, PartyId, Role};
use mcpsim_traces::judge::{
    Blame, Blocked, EndState, Ending, Finding, Judge, PartEvent, Severity, Sight, Verdict,
};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Kind, Message, Method};
use mcpsim_traces::scan::Scanner;

use crate::coverage::{Reached, State};
use crate::era::{Awaits, Era, Light};
use crate::full_pipes;
use crate::hangs::{self, End, Reason, Report, Silence};
use crate::ledger::{Cx, Ledger, Outcome, Seen, Summary, payload_of};
use crate::observer::{body_of, outside};
use crate::part::{Mode, Part, flag, open};
use crate::rules::Rule;
use crate::rules::correlation::REQUEST_UNANSWERED;
use crate::rules::lifecycle::{INITIALIZED_MISSING, PEER_DIED};
use crate::unread::Unread;

/// Judges a world. Frame numbers are used where they are given and never needed.
#[derive(Clone, Debug)]
pub struct Monitor {
    ledger: Ledger,
    scanner: Scanner,
    reads_text: bool,
}

/// More findings of one rule than this are counted and not kept.
const FINDINGS_MAX: u32 = 1000;

impl Default for Monitor {
    fn default() -> Self {
        Monitor::new()
    }
}

impl Monitor {
    /// A judge that has seen nothing.
    pub fn new() -> Monitor {
        Monitor {
            ledger: Ledger::new(FINDINGS_MAX),
            scanner: Scanner::recording(),
            reads_text: false,
        }
    }

    /// A judge that reads the text of every frame, so that rules about params and results look at frames of
    /// reference peers as well. Slower: each frame is rendered and scanned for it.
    pub fn reading() -> Monitor {
        Monitor {
            reads_text: true,
            ..Monitor::new()
        }
    }

    /// How many findings each rule had, kept or not.
    pub fn counted(&self) -> impl Iterator<Item = (&'static str, u32)> {
        self.ledger.counted()
    }

    /// What became of the rule so far.
    pub fn outcome(&self, rule: &Rule) -> Outcome {
        self.ledger.outcome(rule)
    }

    /// What was seen so far, …
    pub(crate) fn seen(&self) -> &Seen {
        &self.ledger.seen
    }

    /// … and what else was reached.
    pub(crate) fn reached(&self) -> &Reached {
        &self.ledger.reached
    }

    /// Rules that were broken so far, or that could not be told.
    pub(crate) fn found(&self) -> impl Iterator<Item = (&'static str, Outcome)> {
        self.ledger.found()
    }

    /// Frames that could not be looked into: rules about what they carry are unsure.
    pub fn unread(&self) -> &Unread {
        &self.ledger.unread
    }

    /// How many rules had which outcome so far.
    pub fn summary(&self) -> Summary {
        self.ledger.summary()
    }

    #[inline]
    fn cx<'a>(&'a mut self, sight: &Sight<'a>) -> Cx<'a> {
        let body = match sight.text {
            Some(text) if sight.body.is_none() => body_of(&mut self.scanner, text, sight.message),
            _ => sight.body,
        };
        Cx {
            ledger: &mut self.ledger,
            party: sight.party,
            link: sight.link,
            frame: sight.frame,
            stream: sight.stream,
            text: sight.text,
            body,
            payload: payload_of(body, sight.message.kind),
            base: 0,
            era: Era::Session,
            is_stateless: false,
            awaits: Awaits::Proof,
            slips: sight.slips,
            now_ms: 0,
            refused: false,
            is_agreed: false,
            is_unasked: false,
            is_astray: false,
            is_replayed: false,
            is_newer_head: false,
            is_misshapen: None,
        }
    }

    /// The part was in that state before.
    fn went(&mut self, part: &Part, before: State) {
        let reached = &mut self.ledger.reached;
        reached.way(part.role, before, State::of(part));
    }

    fn outside(&mut self, party: PartyId, link: LinkId) -> Cx<'_> {
        outside(&mut self.ledger, party, link)
    }

    /// What can be said of one end alone once nothing more comes from it.
    fn close_part(&mut self, end: &mut EndState<'_, Part>, is_quiet: bool) {
        let mut cx = self.outside(end.party, end.link);
        end.part.end_run(&mut cx);
        end.part.settle_batch_init(&mut cx);
        end.part.deep_end(&mut cx, is_quiet, is_quiet);
        end.part.settle_era(cx.ledger, Light::End);
        // Nothing is owed any more by a client whose session somebody else ended.
        let is_cut_off = end.part.is(flag::PEER_CLOSED | flag::CRASHED);
        if is_quiet && !is_cut_off && end.part.initialized_is_missing() {
            let text = "the client uses the session and never sends notifications/initialized";
            let frames = end.part.operated_frames();
            end.part
                .broken(&mut cx, &INITIALIZED_MISSING, &frames, text.to_string());
            // A server that waits for it may leave what the client asked unanswered: one slip.
            for own in end.part.own.iter_mut() {
                own.flags |= open::EXCUSED;
            }
        }
    }

    /// Subscriptions that a server which is still there left without a word.
    fn judge_silent_subscriptions(&mut self, ends: &[End<'_>]) {
        const GONE: u32 = flag::CLOSED | flag::EXITED | flag::CRASHED;
        for end in ends {
            if end.role != Role::Server || end.part.is(GONE) {
                continue;
            }
            let mut askers = ends
                .iter()
                .filter(|other| other.link == end.link && other.role == Role::Client);
            let Some(asker) = askers.find(|asker| !asker.part.is(GONE)) else {
                continue;
            };
            // What the world took with an exchange was not the server's to say.
            const NOT_OWED: u16 = open::CANCELLED | open::EXCUSED | open::LOST | open::CUT;
            let is_owed = |id: Key| {
                let own = asker.part.find_own(id);
                own.is_ok_and(|at| asker.part.own[at].flags & NOT_OWED == 0)
            };
            let mut cx = outside(&mut self.ledger, end.party, end.link);
            end.part.judge_acknowledged(&mut cx, Some(0), is_owed);
        }
    }

    /// Clients that went on by a handshake at one server and gave up at another.
    fn judge_fallbacks(&mut self, ends: &[End<'_>]) {
        const GONE: u32 = flag::CLOSED | flag::EXITED | flag::CRASHED;
        let fell_back = ends.iter().filter(|end| end.part.has_fallen_back());
        let able: Vec<PartyId> = fell_back.map(|end| end.party).collect();
        for end in ends {
            let is_judged = end.role == Role::Client && !end.part.is(GONE);
            if is_judged && able.contains(&end.party) {
                let mut cx = outside(&mut self.ledger, end.party, end.link);
                end.part.judge_fallback(&mut cx);
            }
        }
    }

    /// Parties that ended by themselves: one finding each.
    fn judge_exits(&mut self, ends: &[End<'_>]) {
        let mut exited: BTreeMap<PartyId, Vec<usize>> = BTreeMap::new();
        for (at, end) in ends.iter().enumerate() {
            if end.part.is(flag::EXITED) && !end.part.is(flag::PEER_CLOSED) {
                exited.entry(end.party).or_default().push(at);
            }
        }
        for place in exited.values().flatten() {
            let end = &ends[*place];
            let mut cx = self.outside(end.party, end.link);
            end.part.judge_race(&mut cx, Verdict::Broken);
        }
        for places in exited.values() {
            let finding = exit_finding(ends, places);
            self.ledger.add(finding);
        }
    }

    /// Who leaves requests open, and stands still before a full pipe or lets others do so.
    fn judge_hangs(&mut self, ends: &[End<'_>], ending: Ending) {
        const GONE: u32 = flag::CLOSED | flag::EXITED | flag::CRASHED;
        let waits = hangs::waits(ends, |open| {
            let (asker, debtor) = (ends[open.asker].part, ends[open.debtor].part);
            !asker.is(GONE) && !debtor.is(flag::EXITED | flag::CRASHED)
        });
        let unclear: Vec<_> = waits
            .unclear
            .iter()
            .map(|&open| hangs::Stuck {
                open,
                waiting: vec![],
            })
            .collect();
        if ending == Ending::Unfinished {
            let owed = waits.stuck.iter().chain(&unclear);
            let owed = owed.filter(|stuck| stuck.open.reason == Reason::Owed);
            return self.report_unfinished(ends, owed);
        }
        for finding in full_pipes::findings(ends, &waits) {
            self.ledger.add(finding);
        }
        for ((debtor, reason, _), group) in hangs::by_debtor(waits.stuck.iter()) {
            let (sure, hazy): (Vec<_>, Vec<_>) =
                group.iter().partition(|stuck| !stuck.open.is_hazy);
            let report = match (reason, deprived(ends, debtor)) {
                (Reason::Owed, Some(blame)) => Report {
                    verdict: Verdict::Unsure,
                    severity: Severity::Note,
                    silence: Silence::Never,
                    because: "a notification that it may wait for was lost on its way to it",
                    blame: Some(blame),
                },
                (Reason::Owed, None) => Report {
                    verdict: Verdict::Broken,
                    severity: Severity::Error,
                    silence: Silence::Never,
                    because: "",
                    blame: None,
                },
                (Reason::Lost { forbidden: true }, _) => Report {
                    verdict: Verdict::Broken,
                    severity: Severity::Error,
                    silence: Silence::Never,
                    because: "the link lost it, which its kind forbids",
                    blame: Some(Blame::Transport),
                },
                (Reason::Lost { forbidden: false }, _) => Report {
                    verdict: Verdict::Unsure,
                    severity: Severity::Note,
                    silence: Silence::Never,
                    because: "the link lost it",
                    blame: Some(Blame::None),
                },
                (Reason::Forgotten, _) => Report {
                    verdict: Verdict::Broken,
                    severity: Severity::Error,
                    silence: Silence::Never,
                    because: "the server had kept it for a broken stream and lost it",
                    blame: Some(Blame::Server),
                },
                // Such requests are none of these: they have findings of their own.
                (Reason::NotThere | Reason::Stopped, _) => Report {
                    verdict: Verdict::Unsure,
                    severity: Severity::Note,
                    silence: Silence::Never,
                    because: "it never arrived",
                    blame: Some(Blame::None),
                },
            };
            let hazy_report = Report {
                verdict: Verdict::Unsure,
                because: "a stray answer may have been meant for it",
                ..report
            };
            let findings = [(sure, report), (hazy, hazy_report)];
            for (group, report) in findings {
                if let Some(finding) = hangs::finding(ends, &group, &report) {
                    self.ledger.add(finding);
                }
            }
        }
        for cycle in &waits.cycles {
            if let Some(mut finding) = hangs::cycle_finding(ends, cycle) {
                let mut lost = cycle.iter().filter_map(|open| deprived(ends, open.debtor));
                if let Some(blame) = lost.next() {
                    finding.verdict = Verdict::Unsure;
                    finding.severity = Severity::Note;
                    finding.blame = blame;
                }
                self.ledger.add(finding);
            }
        }
        for ((debtor, ..), group) in hangs::by_debtor(unclear.iter()) {
            let report = Report {
                verdict: Verdict::Unsure,
                severity: Severity::Note,
                silence: Silence::Never,
                because: "it may wait for another request that is open",
                blame: deprived(ends, debtor),
            };
            if let Some(finding) = hangs::finding(ends, &group, &report) {
                self.ledger.add(finding);
            }
        }
    }

    /// The run was cut off: what is open may have been answered later.
    fn report_unfinished<'a>(
        &mut self,
        ends: &[End<'_>],
        owed: impl Iterator<Item = &'a hangs::Stuck>,
    ) {
        for ((debtor, ..), group) in hangs::by_debtor(owed) {
            let report = Report {
                verdict: Verdict::Unsure,
                severity: REQUEST_UNANSWERED.severity,
                silence: Silence::SoFar,
                because: "the trace stops with it open",
                blame: deprived(ends, debtor),
            };
            if let Some(finding) = hangs::finding(ends, &group, &report) {
                self.ledger.add(finding);
            }
        }
    }
}

/// Who is to blame instead of the party at that end, where a notification that it may wait for was lost
/// on its way to it, on whichever link.
fn deprived(ends: &[End<'_>], at: usize) -> Option<Blame> {
    let own = ends.iter().filter(|end| end.party == ends[at].party);
    let flags = own.fold(0, |flags, end| flags | end.part.flags);
    match flags {
        _ if flags & flag::DEPRIVED_FORBIDDEN != 0 => Some(Blame::Transport),
        _ if flags & flag::DEPRIVED != 0 => Some(Blame::None),
        _ => None,
    }
}

/// Whether somebody may wait for such a frame before it goes on, without having asked for it.
fn is_awaited(message: &Message) -> bool {
    match message.kind {
        Kind::Notification => !matches!(message.method, Method::Progress | Method::LogMessage),
        Kind::Batch => true,
        _ => false,
    }
}

/// The finding for a party that ended by itself: what it still owed, or that it ended at all.
fn exit_finding(ends: &[End<'_>], places: &[usize]) -> Finding {
    let mut frames = vec![];
    let mut owing = None;
    let mut count = 0_usize;
    for &at in places {
        let no_debt = open::LONG | open::BAD | open::MAYBE;
        let owed = ends[at].part.inn.iter();
        for request in
            owed.filter(|request| request.flags & no_debt == 0 && !request.cancel.is_some())
        {
            owing.get_or_insert(at);
            count += 1;
            if request.frame != 0 {
                frames.push(request.frame);
            }
        }
    }
    frames.sort_unstable();
    let end = &ends[owing.unwrap_or(places[0])];
    let is_stateless = owing.is_some_and(|at| {
        let mut owed = ends[at].part.inn.iter();
        owed.any(|request| request.flags & open::STATELESS != 0)
    });
    let (rule, message) = match owing {
        Some(_) => (
            if is_stateless {
                &PEER_DIED
            } else {
                &REQUEST_UNANSWERED
            },
            format!(
                "the {} ended by itself with {} to answer",
                end.role.as_str(),
                counted(count, "open request")
            ),
        ),
        None => (
            &PEER_DIED,
            format!(
                "the {} ended by itself, with nothing open and without the other side having closed",
                end.role.as_str()
            ),
        ),
    };
    Finding {
        rule: rule.id,
        verdict: Verdict::Broken,
        severity: rule.severity_at(end.part.revision),
        blame: Blame::from(end.role),
        party: end.party,
        link: end.link,
        frames,
        message,
        spot: None,
        knew: String::new(),
        waits: vec![],
    }
}

/// So many of something, in words: `1 request`, `2 requests`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Marks the request that a lost frame carried or answered.
fn mark_lost(part: &mut Part, message: &Message, told: bool, forbidden: bool) {
    if let Ok(at) = part.find_own(message.id) {
        let mut bits = if told { open::EXCUSED } else { open::LOST };
        if forbidden {
            bits |= open::FORBIDDEN;
        }
        part.own[at].flags |= bits;
    }
}

/// Marks the request that a frame carried or answered which the server did not keep.
fn mark_forgotten(part: &mut Part, message: &Message) {
    let is_its_own = match part.role {
        Role::Client => message.kind.is_response(),
        Role::Server => message.kind == Kind::Request,
    };
    if !is_its_own {
        return;
    }
    if let Ok(at) = part.find_own(message.id) {
        part.own[at].flags |= open::FORBIDDEN;
    }
}

impl Judge for Monitor {
    type Part = Part;

    fn part(&self, role: Role, link: LinkKind) -> Part {
        let mut part = Part::new(role, link, Mode::Exact);
        part.set(flag::WHOLE);
        part
    }

    #[inline]
    fn by(&mut self, part: &mut Part, sight: &Sight<'_>) {
        if State::is_settled(part) {
            return part.by(&mut self.cx(sight), sight.message);
        }
        let before = State::of(part);
        part.by(&mut self.cx(sight), sight.message);
        self.went(part, before);
    }

    #[inline]
    fn toward(&mut self, part: &mut Part, sight: &Sight<'_>) {
        if State::is_settled(part) {
            return part.toward(&mut self.cx(sight), sight.message);
        }
        let before = State::of(part);
        part.toward(&mut self.cx(sight), sight.message);
        self.went(part, before);
    }

    fn event(&mut self, part: &mut Part, _party: PartyId, _link: LinkId, event: PartEvent) {
        let before = State::of(part);
        match event {
            PartEvent::ClosedByIt => part.set(flag::CLOSED),
            PartEvent::ClosedByPeer => {
                // An exit after the other side had closed is orderly; a close after an exit is its echo.
                if !part.is(flag::EXITED) {
                    part.set(flag::PEER_CLOSED);
                }
                part.set(flag::CLOSED);
            }
            PartEvent::Exited => part.set(flag::EXITED),
            PartEvent::Crashed => part.set(flag::CRASHED),
            PartEvent::SentLost {
                message,
                told,
                forbidden,
            } => {
                if message.kind == Kind::Request {
                    mark_lost(part, &message, told, forbidden);
                }
            }
            PartEvent::InboundLost {
                message,
                told,
                forbidden,
            } => {
                if message.kind.is_response() {
                    mark_lost(part, &message, told, forbidden);
                }
                if is_awaited(&message) {
                    part.set(if forbidden {
                        flag::DEPRIVED_FORBIDDEN
                    } else {
                        flag::DEPRIVED
                    });
                }
            }
            PartEvent::Forgotten { message } => mark_forgotten(part, &message),
        }
        self.went(part, before);
    }

    fn settle(&mut self, ends: &mut [EndState<'_, Part>], ending: Ending) {
        // Whoever stands still before a full pipe may have meant to say what is missing, and others may wait for it.
        let is_moving = |end: &EndState<'_, Part>| end.blocked == Blocked::default();
        let is_quiet = ending == Ending::Quiet && ends.iter().all(is_moving);
        for end in ends.iter_mut() {
            self.close_part(end, is_quiet);
        }
        let ends: Vec<End<'_>> = ends
            .iter()
            .map(|end| End {
                party: end.party,
                link: end.link,
                role: end.role,
                blocked: end.blocked,
                part: end.part,
            })
            .collect();
        self.judge_exits(&ends);
        self.judge_hangs(&ends, ending);
        if is_quiet {
            self.judge_silent_subscriptions(&ends);
            self.judge_fallbacks(&ends);
        }
    }

    fn encode(&self, part: &Part, encoder: &mut Encoder) {
        part.encode(encoder);
    }

    #[inline]
    fn reads_text(&self) -> bool {
        self.reads_text
    }

    fn findings(&self) -> &[Finding] {
        &self.ledger.findings
    }

    fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.ledger.findings)
    }
}
