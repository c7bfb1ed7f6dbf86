//! Traces judged again: from the world as when they were made, or as an observer at one end, or in between, saw them.

use std::collections::{BTreeMap, BTreeSet};

use mcpsim_traces::classify::classify;
use mcpsim_traces::event::{Fault, FrameNo, LinkId, LinkKind, PartyId, Pipe, Role, Stream};
use mcpsim_traces::file::{Header, Link, OwnedEvent, OwnedWhat};
use mcpsim_traces::http::Http;
use mcpsim_traces::judge::{Blocked, EndState, Ending, Finding, Judge, PartEvent, Sight, Vantage};
use mcpsim_traces::message::{Kind, Message, Revision};
use mcpsim_traces::scan::Scanner;

use crate::foreign::ForeignVersion;
use crate::ledger::Outcome;
use crate::monitor::Monitor;
use crate::observer::{LogEvent, LogWhat, Observer, ObserverOptions, Seen};
use crate::part::Part;
use crate::rules::Rule;
use crate::unread::Unread;

/// A frame on its way.
struct Flown {
    message: Message,
    raw: Vec<u8>,
    stream: Stream,
    http: Option<Box<Http<'static>>>,
    slips: Vec<String>,
    /// How many copies are on their way.
    copies: u32,
}

/// Pipes that are full, and whose writer waits.
#[derive(Default)]
struct FullPipes(BTreeSet<(LinkId, Pipe)>);

impl FullPipes {
    fn block(&mut self, link: LinkId, on: Pipe) {
        self.0.insert((link, on));
    }

    fn unblock(&mut self, link: LinkId, on: Pipe) {
        self.0.remove(&(link, on));
    }

    /// What that end waits to write into.
    fn of(&self, link: LinkId, role: Role) -> Blocked {
        let waits = |pipe: Pipe| pipe.writer() == role && self.0.contains(&(link, pipe));
        Blocked {
            frames: waits(Pipe::of_frames(role)),
            stderr: waits(Pipe::Stderr),
        }
    }
}

/// The judge of a world, told again what it was told when the trace was made.
pub struct Again {
    monitor: Monitor,
    links: Vec<Link>,
    /// The parts of each link's client and server end, and whether the end is open.
    parts: Vec<[(Part, bool); 2]>,
    flown: BTreeMap<FrameNo, Flown>,
    /// http: requests of clients, which a lost exchange is told by.
    requests: BTreeMap<FrameNo, (LinkId, Message)>,
    /// Pipes that are full, and whose writer waits.
    full: FullPipes,
    settled: bool,
}

impl Again {
    /// A judge that has been told nothing.
    pub fn new(header: &Header) -> Again {
        let monitor = Monitor::new();
        let parts = header
            .links
            .iter()
            .map(|link| {
                [Role::Client, Role::Server].map(|role| (monitor.part(role, link.kind), true))
            })
            .collect();
        Again {
            monitor,
            links: header.links.clone(),
            parts,
            flown: BTreeMap::new(),
            requests: BTreeMap::new(),
            full: FullPipes::default(),
            settled: false,
        }
    }

    fn party(&self, link: LinkId, role: Role) -> PartyId {
        party_at(&self.links[usize::from(link.0)], role)
    }

    fn part_event(&mut self, link: LinkId, role: Role, event: PartEvent) {
        let party = self.party(link, role);
        let (part, _) = &mut self.parts[usize::from(link.0)][role as usize];
        self.monitor.event(part, party, link, event);
    }

    fn sight(&mut self, frame: FrameNo, link: LinkId, role: Role, sent: bool) {
        let party = self.party(link, role);
        let Some(flown) = self.flown.get(&frame) else {
            return;
        };
        let slips: Vec<&str> = flown.slips.iter().map(String::as_str).collect();
        let sight = Sight {
            message: &flown.message,
            text: Some(&flown.raw),
            body: None,
            frame,
            party,
            link,
            stream: flown.stream,
            slips: &slips,
        };
        let (part, _) = &mut self.parts[usize::from(link.0)][role as usize];
        if sent {
            self.monitor.by(part, &sight);
        } else {
            self.monitor.toward(part, &sight);
        }
    }

    /// One copy of the frame is no longer on its way.
    fn land(&mut self, frame: FrameNo) -> Option<Message> {
        let flown = self.flown.get_mut(&frame)?;
        let message = flown.message;
        flown.copies -= 1;
        if flown.copies == 0 {
            self.flown.remove(&frame);
        }
        Some(message)
    }

    fn leave(&mut self, party: PartyId, event: PartEvent) {
        for at in 0..self.links.len() {
            for role in [Role::Client, Role::Server] {
                let link = LinkId(at as u8);
                if self.party(link, role) == party && self.parts[at][role as usize].1 {
                    self.part_event(link, role, event);
                    self.parts[at][role as usize].1 = false;
                }
            }
        }
    }

    /// The next event of the trace.
    pub fn event(&mut self, event: OwnedEvent, scanner: &mut Scanner) {
        match event.what {
            OwnedWhat::Send {
                frame,
                link,
                from,
                stream,
                raw,
                http,
                slips,
                ..
            } => {
                let message = classify(&raw, scanner).message;
                let is_http = self.links[usize::from(link.0)].kind == LinkKind::Http;
                if is_http && from == Role::Client && message.kind == Kind::Request {
                    self.requests.insert(frame, (link, message));
                }
                self.flown.insert(
                    frame,
                    Flown {
                        message,
                        raw,
                        stream,
                        http,
                        slips,
                        copies: 1,
                    },
                );
                self.sight(frame, link, from, true);
            }
            OwnedWhat::Recv { frame, link, to } => {
                self.sight(frame, link, to, false);
                let answered = self
                    .land(frame)
                    .filter(|message| message.kind.is_response());
                if let (Some(answer), Role::Client) = (answered, to) {
                    self.requests
                        .retain(|_, (on, request)| *on != link || request.id != answer.id);
                }
            }
            OwnedWhat::Fault {
                fault: Fault::Duplicate,
                frame,
                ..
            } => {
                if let Some(flown) = self.flown.get_mut(&frame) {
                    flown.copies += 1;
                }
            }
            OwnedWhat::Fault {
                fault: Fault::Crash,
                party,
                ..
            } => self.leave(party, PartEvent::Crashed),
            OwnedWhat::Exit { party } => self.leave(party, PartEvent::Exited),
            OwnedWhat::Lost {
                frame,
                link,
                to,
                told,
                forbidden,
            } => {
                if let Some(message) = self.land(frame) {
                    let sender = to.other();
                    let event = PartEvent::SentLost {
                        message,
                        told: told.is(sender),
                        forbidden,
                    };
                    self.part_event(link, sender, event);
                    let event = PartEvent::InboundLost {
                        message,
                        told: told.is(to),
                        forbidden,
                    };
                    self.part_event(link, to, event);
                }
            }
            OwnedWhat::ExchangeLost {
                frame,
                link,
                forbidden,
            } => {
                if let Some((_, message)) = self.requests.remove(&frame) {
                    let event = PartEvent::SentLost {
                        message,
                        told: true,
                        forbidden,
                    };
                    self.part_event(link, Role::Client, event);
                }
            }
            OwnedWhat::Forgotten { frame, link } => {
                if let Some(message) = self.land(frame) {
                    for role in [Role::Server, Role::Client] {
                        self.part_event(link, role, PartEvent::Forgotten { message });
                    }
                }
            }
            OwnedWhat::Close { link, by } => {
                self.part_event(link, by, PartEvent::ClosedByIt);
                self.parts[usize::from(link.0)][by as usize].1 = false;
            }
            OwnedWhat::Closed { link, to } => {
                self.parts[usize::from(link.0)][to as usize].1 = false;
                self.part_event(link, to, PartEvent::ClosedByPeer);
            }
            OwnedWhat::Quiet => self.settle(Ending::Quiet),
            OwnedWhat::Blocked { link, on } => self.full.block(link, on),
            OwnedWhat::Unblocked { link, on } => self.full.unblock(link, on),
            OwnedWhat::Stderr { .. }
            | OwnedWhat::Fault { .. }
            | OwnedWhat::Broken { .. }
            | OwnedWhat::Resumed { .. }
            | OwnedWhat::Open { .. }
            | OwnedWhat::Timer { .. }
            | OwnedWhat::Own { .. }
            | OwnedWhat::Calm
            | OwnedWhat::Choice(_)
            | OwnedWhat::Note(_) => {}
        }
    }

    /// The judge, with what it found.
    pub fn monitor(&self) -> &Monitor {
        &self.monitor
    }

    /// The trace is over, unless it has said so itself. Ends are judged by party and port, as the world has them.
    pub fn settle(&mut self, ending: Ending) {
        if std::mem::replace(&mut self.settled, true) {
            return;
        }
        let mut ends: Vec<EndState<'_, Part>> = vec![];
        for (at, parts) in self.parts.iter_mut().enumerate() {
            let link = &self.links[at];
            for ((part, _), role) in parts.iter_mut().zip([Role::Client, Role::Server]) {
                ends.push(EndState {
                    party: party_at(link, role),
                    link: LinkId(at as u8),
                    role,
                    blocked: self.full.of(LinkId(at as u8), role),
                    part,
                });
            }
        }
        ends.sort_by_key(|end| (end.party, end.link));
        self.monitor.settle(&mut ends, ending);
    }
}

/// Who stands at that end of the link.
fn party_at(link: &Link, role: Role) -> PartyId {
    match role {
        Role::Client => link.client,
        Role::Server => link.server,
    }
}

/// One observer for each link, told what stands in one end's log, or passes between the two.
pub struct EndLog {
    observers: Vec<Observer>,
    vantage: Vantage,
    links: Vec<Link>,
    flown: BTreeMap<FrameNo, Flown>,
    /// Rules that frames break on purpose.
    on_purpose: BTreeMap<FrameNo, Vec<String>>,
    /// The client and server end of each link.
    ends: Vec<[EndOfLink; 2]>,
    quiet: bool,
    /// The world took something: an end's log alone cannot tell that from a peer's silence.
    lossy: bool,
    /// Nor from a peer that waits to write.
    full: FullPipes,
}

/// What became of an end of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum EndOfLink {
    Open,
    /// It closed, or its party's program ended.
    Ended(LogWhat),
    /// It was told that the other end is gone.
    Told,
}

impl EndLog {
    /// Observers that have seen nothing, one for each link. A revision that is given governs whatever the traffic
    /// agrees on; findings of one rule beyond the limit are counted and not kept.
    pub fn new(
        header: &Header,
        vantage: Vantage,
        revision: Option<Revision>,
        findings_max: u32,
    ) -> EndLog {
        // The world's clock leaps where a stream was held back: nobody's patience is measured by it.
        let patience_ms = 0;
        let observers = header.links.iter().enumerate().map(|(at, link)| {
            let mut options = ObserverOptions::new(vantage, link.kind);
            options.revision = revision;
            options.patience_ms = patience_ms;
            options.findings_max = findings_max;
            options.client = link.client;
            options.server = link.server;
            options.link = LinkId(at as u8);
            options.whole = true;
            Observer::new(options)
        });
        EndLog {
            observers: observers.collect(),
            vantage,
            links: header.links.clone(),
            flown: BTreeMap::new(),
            on_purpose: BTreeMap::new(),
            ends: vec![[EndOfLink::Open; 2]; header.links.len()],
            quiet: false,
            lossy: false,
            full: FullPipes::default(),
        }
    }

    /// Whether what that end does is seen at once: a frame when it is sent and not when it arrives, an end before
    /// the other end learns of it.
    fn seen_at_once(&self, end: Role) -> bool {
        match self.vantage {
            Vantage::World | Vantage::Between => true,
            Vantage::Client => end == Role::Client,
            Vantage::Server => end == Role::Server,
        }
    }

    /// A copy that the transport makes is not seen as another frame of its sender.
    fn frame(&mut self, number: FrameNo, link: LinkId, from: Role, at_ms: u64) {
        if let Some(flown) = self.flown.remove(&number) {
            self.observers[usize::from(link.0)].frame(&Seen {
                frame: number,
                from,
                message: &flown.message,
                text: Some(&flown.raw),
                body: None,
                at_ms: Some(at_ms),
                base: 0,
                stream: flown.stream,
                ended: true,
                http: flown.http.as_deref(),
            });
        }
    }

    /// The next event of the trace.
    pub fn event(&mut self, event: OwnedEvent, scanner: &mut Scanner) {
        let at_ms = event.at_ms;
        match event.what {
            OwnedWhat::Send {
                frame,
                link,
                from,
                stream,
                raw,
                http,
                slips,
                ..
            } => {
                let message = classify(&raw, scanner).message;
                if !slips.is_empty() {
                    self.on_purpose.insert(frame, slips);
                }
                self.flown.insert(
                    frame,
                    Flown {
                        message,
                        raw,
                        stream,
                        http,
                        slips: vec![],
                        copies: 1,
                    },
                );
                if self.seen_at_once(from) {
                    self.frame(frame, link, from, at_ms);
                }
            }
            OwnedWhat::Recv { frame, link, to } => {
                let is_open = self.ends[usize::from(link.0)][to as usize] == EndOfLink::Open;
                // What arrives at an end that is gone is seen by nobody.
                if !self.seen_at_once(to.other()) && is_open {
                    self.frame(frame, link, to.other(), at_ms);
                }
            }
            OwnedWhat::Close { link, by } => self.end(link, by, LogWhat::Eof, at_ms),
            OwnedWhat::Closed { link, to } => self.told(link, to, at_ms),
            OwnedWhat::Exit { party } => {
                for at in 0..self.links.len() {
                    for role in [Role::Client, Role::Server] {
                        if party_at(&self.links[at], role) == party {
                            let link = LinkId(at as u8);
                            self.end(link, role, LogWhat::Exit { status: None }, at_ms);
                        }
                    }
                }
            }
            OwnedWhat::Quiet => self.quiet = true,
            OwnedWhat::Lost { frame, .. } | OwnedWhat::Forgotten { frame, .. } => {
                self.flown.remove(&frame);
                self.lossy = true;
            }
            OwnedWhat::ExchangeLost { .. } => self.lossy = true,
            OwnedWhat::Blocked { link, on } => self.full.block(link, on),
            OwnedWhat::Unblocked { link, on } => self.full.unblock(link, on),
            OwnedWhat::Fault { fault, .. } => self.lossy |= fault != Fault::Delay,
            _ => {}
        }
    }

    /// The trace is over: what each observer came to, by link.
    pub fn finish(self) -> Vec<Told> {
        let at_rest = self.quiet && !self.lossy && self.full.0.is_empty();
        let ends = self.observers.into_iter().zip(self.ends);
        ends.map(|(mut observer, ends)| {
            // Who closes leaves open what is open: that it stays so accuses nobody.
            let is_open = ends.iter().all(|end| *end == EndOfLink::Open);
            observer.finish(if at_rest && is_open {
                Ending::Quiet
            } else {
                Ending::Unfinished
            });
            Told::new(observer, &self.on_purpose)
        })
        .collect()
    }

    fn end(&mut self, link: LinkId, by: Role, what: LogWhat, at_ms: u64) {
        let end = &mut self.ends[usize::from(link.0)][by as usize];
        if *end != EndOfLink::Open {
            return;
        }
        *end = EndOfLink::Ended(what);
        if self.seen_at_once(by) {
            self.tell(link, by, what, at_ms);
        }
    }

    fn told(&mut self, link: LinkId, to: Role, at_ms: u64) {
        let ends = &mut self.ends[usize::from(link.0)];
        let other = ends[to.other() as usize];
        if ends[to as usize] == EndOfLink::Open {
            ends[to as usize] = EndOfLink::Told;
        }
        if let EndOfLink::Ended(what) = other
            && !self.seen_at_once(to.other())
        {
            self.tell(link, to.other(), what, at_ms);
        }
    }

    fn tell(&mut self, link: LinkId, by: Role, what: LogWhat, at_ms: u64) {
        let event = LogEvent {
            by,
            what,
            at_ms: Some(at_ms),
            stream: None,
            frame: 0,
            http: None,
        };
        self.observers[usize::from(link.0)].event(&event);
    }
}

/// What an observer found, without the rules that a frame was marked to break when it was sent: an observer does
/// not see marks.
#[derive(Clone, Debug)]
pub struct Told {
    observer: Observer,
    findings: Vec<Finding>,
    /// How many were left out, by rule.
    left_out: BTreeMap<&'static str, u32>,
}

impl Told {
    fn new(mut observer: Observer, on_purpose: &BTreeMap<FrameNo, Vec<String>>) -> Told {
        let mut left_out: BTreeMap<&str, u32> = BTreeMap::new();
        let mut findings = observer.take_findings();
        findings.retain(|finding| {
            let marks = |frame| on_purpose.get(frame).into_iter().flatten();
            let is_marked = finding
                .frames
                .iter()
                .flat_map(marks)
                .any(|rule| rule == finding.rule);
            if is_marked {
                *left_out.entry(finding.rule).or_default() += 1;
            }
            !is_marked
        });
        Told {
            observer,
            findings,
            left_out,
        }
    }

    /// The revision of the session, as far as the observer could know it.
    pub fn revision(&self) -> Option<Revision> {
        self.observer.revision()
    }

    /// The revisions that governed something.
    pub fn revisions(&self) -> Vec<Revision> {
        self.observer.revisions()
    }

    /// The versions that frames go by and that are not known here.
    pub fn foreign_versions(&self) -> &[ForeignVersion] {
        self.observer.foreign_versions()
    }

    /// The findings, in the order in which they were made.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// How many findings each rule had, kept or not.
    pub fn counted(&self) -> impl Iterator<Item = (&'static str, u32)> {
        let rest = |(rule, count): (&'static str, u32)| {
            let left = count - self.left_out.get(rule).copied().unwrap_or(0);
            (left > 0).then_some((rule, left))
        };
        self.observer.counted().filter_map(rest)
    }

    /// Frames that could not be looked into: rules about what they carry are unsure.
    pub fn unread(&self) -> &Unread {
        self.observer.unread()
    }

    /// What became of the rule.
    pub fn outcome(&self, rule: &Rule) -> Outcome {
        if self.left_out.contains_key(rule.id) && self.counted().all(|(id, _)| id != rule.id) {
            return Outcome::Kept;
        }
        self.observer.outcome(rule)
    }
}
