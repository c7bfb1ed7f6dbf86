//! The world: parties, links and virtual time, moved by [`World::step`] alone.

mod losses;
mod pipes;
mod resumption;

use mcpsim_traces::classify::classify;
use mcpsim_traces::event::{
    Fault, FrameNo, FrameText, Label, LinkId, LinkKind, Origin, PartyId, Role, Sink, Site, Stream,
    Told, What,
};
use mcpsim_traces::judge::{Blocked, EndState, Ending, Finding, Judge, PartEvent, Sight};
use mcpsim_traces::message::{Kind, Message};
use mcpsim_traces::render::{Spellings, render, render_with};
use mcpsim_traces::scan::Scanner;

use losses::Loss;

use crate::actor::{Actor, End, Habits, Input, Out, Port, Route, Sent, Wish};
use crate::choose::{Chooser, Options};
use crate::door::Door;
use crate::net::{Cargo, Entry, Flight, Frame, Net};
use crate::setup::{Bounds, FaultBudget, LinkSetup, Setup};

/// How long a delayed stream is held, in milliseconds: below and above the time-outs that reference
/// clients set.
const DELAY_MS: u64 = 20_000;

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ended {
    /// Steps taken.
    pub steps: u32,
    /// Frames sent.
    pub frames: FrameNo,
    /// Why it ended.
    pub end: RunEnd,
}

/// Why a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunEnd {
    /// Nothing could happen any more.
    Quiet,
    /// Its caller had seen enough.
    Stopped,
    /// The bound on steps was reached.
    Unfinished,
}

/// A party with all that belongs to it.
#[derive(Clone, Debug)]
struct Party<A, P> {
    actor: A,
    /// Its ends, in the order of the links.
    ends: Vec<PartyEnd<P>>,
    /// Steps put off, oldest first.
    own: Vec<(u32, Origin)>,
    timers: Vec<Timer>,
    alive: bool,
    habits: Habits,
    /// How many pipes are full that it waits to write into: while one is, it does nothing.
    blocked: u32,
}

impl<A, P> Party<A, P> {
    /// Forgets the timer of that tag; returns how many there were.
    fn forget_timer(&mut self, tag: u32) -> usize {
        let before = self.timers.len();
        self.timers.retain(|timer| timer.tag != tag);
        before - self.timers.len()
    }
}

#[derive(Clone, Debug)]
struct PartyEnd<P> {
    link: LinkId,
    role: Role,
    open: bool,
    /// The judge's part.
    part: P,
}

#[derive(Clone, Copy, Debug)]
struct Timer {
    tag: u32,
    due_ms: u64,
    delay_ms: u32,
    origin: Origin,
}

/// An exchange of http that is open.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    stream: Stream,
    /// The frame of the request that opened it.
    frame: FrameNo,
    request: Message,
}

#[derive(Clone, Debug)]
struct Link {
    setup: LinkSetup,
    /// Where the client's and the server's end lie, by role.
    ends: [End; 2],
    next_stream: Stream,
    /// Frames in flight to the client and to the server.
    in_flight: [u32; 2],
    /// Pipe: lines of the server's stderr that the client has not read.
    stderr_unread: u32,
    /// Whether exchanges are followed, or with `setup.resumable` what arrives on streams: only where something
    /// can be dropped.
    tracks: bool,
    /// http: the request that opened each exchange, while it is open.
    exchanges: Vec<Exchange>,
    /// http: exchanges whose connection is gone; what is sent on them is lost.
    broken: Vec<Stream>,
    /// http, resumable: what waits at the server for broken streams, oldest first.
    kept: Vec<Flight>,
    /// http, resumable: how many frames have arrived at the client on each stream.
    arrived: Vec<(Stream, u32)>,
    /// The link is gone; both ends have been told or will be.
    cut: bool,
}

/// The world. Everything in it is a function of the set-up and the answers it was given.
#[derive(Clone, Debug)]
pub struct World<A, J: Judge> {
    parties: Vec<Party<A, J::Part>>,
    links: Vec<Link>,
    net: Net,
    judge: J,
    now_ms: u64,
    frames: FrameNo,
    steps: u32,
    faults: FaultBudget,
    bounds: Bounds,
    calm: bool,
    /// How many pipes that block their writer are full, and parties dead: while none is, every frame that is first can arrive.
    hindered: u32,
    /// Whether some link delivers frames out of order, beyond its kind.
    reorders: bool,
    /// How many steps put off and timers all parties have.
    pending: usize,
    spellings: Spellings,
    scratch: Scratch,
}

/// Buffers that are reused from step to step.
#[derive(Clone, Debug, Default)]
struct Scratch {
    options: Vec<Next>,
    sent: Vec<Sent>,
    wishes: Vec<Wish>,
    scanner: ScannerBox,
    /// The text of the frame that is judged, where the judge reads it.
    text: Vec<u8>,
}

/// A scanner, without state that could differ between clones.
#[derive(Debug, Default)]
struct ScannerBox(Scanner);

impl Clone for ScannerBox {
    fn clone(&self) -> Self {
        ScannerBox::default()
    }
}

/// One option of what happens next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    /// The flight at that place of the order arrives.
    Arrive(u32),
    Own {
        party: PartyId,
        at: u32,
    },
    Timer {
        party: PartyId,
        at: u32,
    },
    /// The held stream of that flight goes on, and the flight arrives.
    Release(u32),
}

/// The options of [`Site::Next`].
struct NextOptions<'a, A, J: Judge> {
    world: &'a World<A, J>,
    list: &'a [Next],
    prompt: u32,
}

impl<A, J: Judge> Options for NextOptions<'_, A, J> {
    fn bound(&self) -> u32 {
        self.list.len() as u32
    }

    fn prompt(&self) -> u32 {
        self.prompt
    }

    fn label(&self, answer: u32) -> Label {
        match self.list[answer as usize] {
            Next::Own { party, at } => Label::Own {
                party,
                tag: self.world.party(party).own[at as usize].0,
            },
            Next::Timer { party, at } => Label::Timer {
                party,
                tag: self.world.party(party).timers[at as usize].tag,
            },
            Next::Arrive(index) | Next::Release(index) => {
                let net = &self.world.net;
                let entry = &net.entries()[index as usize];
                let same = |option: &&Next| match option {
                    Next::Arrive(index) | Next::Release(index) => {
                        net.entries()[*index as usize].same_name(entry)
                    }
                    _ => false,
                };
                let nth = self.list[..answer as usize].iter().filter(same).count() as u16;
                net.label(index as usize, nth)
            }
        }
    }

    /// A stream of a link in one direction is a lane, so is each own step and each timer of a party.
    fn lane(&self, answer: u32) -> u64 {
        let of_party = |kind: u64, party: PartyId, tag: u32| {
            kind << 62 | u64::from(party.0) << 32 | u64::from(tag)
        };
        match self.list[answer as usize] {
            Next::Own { party, at } => {
                of_party(1, party, self.world.party(party).own[at as usize].0)
            }
            Next::Timer { party, at } => {
                of_party(2, party, self.world.party(party).timers[at as usize].tag)
            }
            Next::Arrive(index) | Next::Release(index) => {
                let net = &self.world.net;
                let entry = &net.entries()[index as usize];
                let link = &self.world.links[usize::from(entry.link().0)];
                match &net.flight(index as usize).cargo {
                    // Where frames overtake each other a stream keeps no order.
                    Cargo::Frame(frame) if link.setup.beyond.reorder => {
                        3 << 62 | u64::from(frame.number)
                    }
                    _ => entry.lane(),
                }
            }
        }
    }
}

impl<A, J: Judge> World<A, J> {
    fn party(&self, party: PartyId) -> &Party<A, J::Part> {
        &self.parties[usize::from(party.0)]
    }
}

impl<A: Actor, J: Judge> World<A, J> {
    /// A world whose links are about to open.
    ///
    /// # Panics
    /// When a link names a party that is not there, or more than 255 parties or links are asked for.
    pub fn new(setup: Setup<A>, judge: J) -> World<A, J> {
        assert!(
            setup.parties.len() <= 255 && setup.links.len() <= 255,
            "at most 255 parties and links"
        );
        let mut parties: Vec<Party<A, J::Part>> = setup
            .parties
            .into_iter()
            .map(|actor| Party {
                habits: actor.habits(),
                actor,
                ends: vec![],
                own: vec![],
                timers: vec![],
                alive: true,
                blocked: 0,
            })
            .collect();
        let reorders = setup.links.iter().any(|link| link.beyond.reorder);
        let mut links = vec![];
        for (at, link) in setup.links.into_iter().enumerate() {
            let ends = [Role::Client, Role::Server].map(|role| {
                let id = link.party(role);
                let party = &mut parties[usize::from(id.0)];
                let part = judge.part(role, link.kind);
                party.ends.push(PartyEnd {
                    link: LinkId(at as u8),
                    role,
                    open: true,
                    part,
                });
                End {
                    party: id,
                    port: Port(party.ends.len() as u8 - 1),
                    role,
                }
            });
            links.push(Link {
                setup: link,
                ends,
                next_stream: 1,
                in_flight: [0; 2],
                stderr_unread: 0,
                tracks: link.kind == LinkKind::Http && setup.faults.drop > 0,
                exchanges: vec![],
                broken: vec![],
                kept: vec![],
                arrived: vec![],
                cut: false,
            });
        }
        World {
            parties,
            links,
            net: Net::default(),
            judge,
            now_ms: 0,
            frames: 0,
            steps: 0,
            faults: setup.faults,
            bounds: setup.bounds,
            calm: false,
            hindered: 0,
            reorders,
            pending: 0,
            spellings: Spellings::default(),
            scratch: Scratch::default(),
        }
    }

    /// Opens the links and moves until `stop` says so after a step, nothing can happen, or a bound
    /// is reached; a run that was not stopped is settled.
    pub fn run<C: Chooser + ?Sized, S: Sink + ?Sized>(
        &mut self,
        door: &mut Door<'_, C, S>,
        mut stop: impl FnMut(&J) -> bool,
    ) -> Ended {
        self.open(door);
        let end = loop {
            if stop(&self.judge) {
                break RunEnd::Stopped;
            }
            if self.steps >= self.bounds.steps_max {
                break RunEnd::Unfinished;
            }
            if !self.step(door) {
                break RunEnd::Quiet;
            }
        };
        match end {
            RunEnd::Stopped => {}
            RunEnd::Unfinished => self.settle(Ending::Unfinished),
            RunEnd::Quiet => self.settle(Ending::Quiet),
        }
        Ended {
            steps: self.steps,
            frames: self.frames,
            end,
        }
    }

    /// Opens every link: servers hear of it before clients, since they must be ready first.
    pub fn open<C: Chooser + ?Sized, S: Sink + ?Sized>(&mut self, door: &mut Door<'_, C, S>) {
        for at in 0..self.links.len() {
            let link = LinkId(at as u8);
            door.event(What::Open { link });
            let lossy = self.may_lose(link);
            for role in [Role::Server, Role::Client] {
                let end = self.end(link, role);
                let origin = Origin {
                    party: end.party,
                    step: 0,
                };
                self.local(
                    end.party,
                    &Input::Opened {
                        port: end.port,
                        lossy,
                    },
                    origin,
                    door,
                );
            }
        }
    }

    /// Lets one thing happen; false when nothing can.
    pub fn step<C: Chooser + ?Sized, S: Sink + ?Sized>(
        &mut self,
        door: &mut Door<'_, C, S>,
    ) -> bool {
        if !self.calm && self.steps >= self.bounds.hostile_steps {
            self.calm = true;
            door.event(What::Calm);
        }
        let mut options = std::mem::take(&mut self.scratch.options);
        let prompt = self.list_options(&mut options);
        let taken = if options.is_empty() {
            None
        } else {
            let answer = door.ask(
                Site::Next,
                &NextOptions {
                    world: self,
                    list: &options,
                    prompt,
                },
            );
            Some(options[answer as usize])
        };
        self.scratch.options = options;
        match taken {
            None => {
                if !self.calm {
                    self.calm = true;
                    door.event(What::Calm);
                }
                door.event(What::Quiet);
                return false;
            }
            Some(Next::Arrive(index)) => self.arrive(index as usize, door),
            Some(Next::Own { party, at }) => {
                let (tag, origin) = self.parties[usize::from(party.0)].own.remove(at as usize);
                self.pending -= 1;
                door.event(What::Own { party, tag });
                self.local(party, &Input::Own { tag }, origin, door);
            }
            Some(Next::Timer { party, at }) => {
                let timer = self.parties[usize::from(party.0)]
                    .timers
                    .remove(at as usize);
                self.pending -= 1;
                self.move_clock(timer.due_ms, door);
                door.event(What::Timer {
                    party,
                    tag: timer.tag,
                });
                self.local(party, &Input::Timer { tag: timer.tag }, timer.origin, door);
            }
            Some(Next::Release(index)) => {
                if let Some(until_ms) = self.net.release(index as usize) {
                    self.move_clock(until_ms, door);
                }
                self.arrive(index as usize, door);
            }
        }
        self.steps += 1;
        true
    }

    /// Ends the run: the judge names hangs.
    pub fn settle(&mut self, ending: Ending) {
        let mut ends = vec![];
        for (at, party) in self.parties.iter_mut().enumerate() {
            for end in &mut party.ends {
                ends.push(EndState {
                    party: PartyId(at as u8),
                    link: end.link,
                    role: end.role,
                    blocked: match party.alive && party.blocked > 0 {
                        true => self.links[usize::from(end.link.0)].blocks(end.role, party.habits),
                        false => Blocked::default(),
                    },
                    part: &mut end.part,
                });
            }
        }
        self.judge.settle(&mut ends, ending);
    }

    /// The judge.
    pub fn judge(&self) -> &J {
        &self.judge
    }

    /// What the judge found, taken out of it.
    pub fn take_findings(&mut self) -> Vec<Finding> {
        self.judge.take_findings()
    }

    /// The actor of that party.
    pub fn actor(&self, party: PartyId) -> &A {
        &self.party(party).actor
    }

    /// Milliseconds since the start.
    pub fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// Fills in what can happen, plainest first; returns how many of these need no waiting.
    fn list_options(&self, options: &mut Vec<Next>) -> u32 {
        options.clear();
        let entries = self.net.entries();
        if self.hindered == 0 && !self.reorders {
            // Which frames are first in their stream is as random as the order: no branch on it.
            options.resize(entries.len(), Next::Arrive(0));
            let mut count = 0;
            for (index, entry) in entries.iter().enumerate() {
                options[count] = Next::Arrive(index as u32);
                count += usize::from((entry.behind == 0) & !entry.held);
            }
            options.truncate(count);
        } else {
            let ready = (0..).zip(entries).filter(|(_, entry)| self.is_ready(entry));
            options.extend(ready.map(|(index, _)| Next::Arrive(index)));
        }
        if self.pending == 0 && !self.net.holds() {
            return options.len() as u32;
        }
        for (at, party) in self.parties.iter().enumerate() {
            if party.alive && party.blocked == 0 {
                let id = PartyId(at as u8);
                options.extend((0..party.own.len() as u32).map(|at| Next::Own { party: id, at }));
            }
        }
        let prompt = options.len() as u32;
        if !self.calm || prompt == 0 {
            self.list_late_options(options);
        }
        prompt
    }

    /// Whether a flight can arrive, where some party is dead or blocked or some link reorders.
    #[cold]
    fn is_ready(&self, entry: &Entry) -> bool {
        let link = &self.links[usize::from(entry.link().0)];
        let first = entry.behind == 0 || link.setup.beyond.reorder;
        first && !entry.held && self.takes_events(link.ends[entry.to() as usize].party)
    }

    fn takes_events(&self, party: PartyId) -> bool {
        let party = self.party(party);
        party.alive && party.blocked == 0
    }

    /// Timers and held streams, by due time. Equal delays of one party fire in the order of setting.
    fn list_late_options(&self, options: &mut Vec<Next>) {
        let from = options.len();
        for (at, party) in self.parties.iter().enumerate() {
            if !party.alive || party.blocked > 0 {
                continue;
            }
            for (index, timer) in party.timers.iter().enumerate() {
                let first = !party.timers[..index]
                    .iter()
                    .any(|other| other.delay_ms == timer.delay_ms);
                if first {
                    options.push(Next::Timer {
                        party: PartyId(at as u8),
                        at: index as u32,
                    });
                }
            }
        }
        if self.net.holds() {
            for (index, entry) in self.net.entries().iter().enumerate() {
                let to = self.links[usize::from(entry.link().0)].ends[entry.to() as usize].party;
                if entry.behind == 0 && entry.held && self.takes_events(to) {
                    options.push(Next::Release(index as u32));
                }
            }
        }
        if options.len() == from {
            return;
        }
        options[from..].sort_by_key(|option| match *option {
            Next::Timer { party, at } => self.party(party).timers[at as usize].due_ms,
            Next::Release(index) => self.net.held_until(index as usize).unwrap_or(0),
            Next::Arrive(_) | Next::Own { .. } => 0,
        });
    }

    fn move_clock<C: Chooser + ?Sized, S: Sink + ?Sized>(
        &mut self,
        to_ms: u64,
        door: &mut Door<'_, C, S>,
    ) {
        self.now_ms = self.now_ms.max(to_ms);
        door.set_time(self.now_ms);
    }

    fn end(&self, link: LinkId, role: Role) -> End {
        self.links[usize::from(link.0)].ends[role as usize]
    }

    fn part_mut(&mut self, end: End) -> (&mut J, &mut J::Part) {
        let party = &mut self.parties[usize::from(end.party.0)];
        (
            &mut self.judge,
            &mut party.ends[usize::from(end.port.0)].part,
        )
    }

    /// Whether frames of that link can get lost in this world.
    fn may_lose(&self, link: LinkId) -> bool {
        let setup = &self.links[usize::from(link.0)].setup;
        let drops = (setup.kind == LinkKind::Http && !setup.resumable) || setup.beyond.drop;
        (drops && self.faults.drop > 0) || self.faults.cut > 0 || self.faults.crash > 0
    }

    fn arrive<C: Chooser + ?Sized, S: Sink + ?Sized>(
        &mut self,
        index: usize,
        door: &mut Door<'_, C, S>,
    ) {
        if !self.calm
            && !self.faults.is_empty()
            && matches!(self.net.flight(index).cargo, Cargo::Frame(_))
        {
            let options = self.fault_options(index);
            let answer = door.ask(Site::Fault, &options);
            if answer > 0 {
                return self.befall(options.list[answer as usize - 1], index, door);
            }
        }
        self.note_overtaking(index, door);
        let flight = self.take(index, door);
        let end = self.end(flight.link, flight.to);
        match flight.cargo {
            Cargo::Frame(ref frame) => self.deliver(&flight, frame, end, door),
            Cargo::Close => {
                door.event(What::Closed {
                    link: flight.link,
                    to: flight.to,
                });
                self.forget_link(end);
                let (judge, part) = self.part_mut(end);
                judge.event(part, end.party, flight.link, PartEvent::ClosedByPeer);
                self.local(
                    end.party,
                    &Input::Closed { port: end.port },
                    flight.origin,
                    door,
                );
            }
            Cargo::Lost(message) => {
                let input = Input::ExchangeLost {
                    port: end.port,
                    message: &message,
                };
                self.local(end.party, &input, flight.origin, door);
            }
            Cargo::Broken(stream) => {
                let port = end.port;
                let input = Input::StreamBroken { port, stream };
                self.local(end.party, &input, flight.origin, door);
            }
            Cargo::Reopen(stream) => self.reopened(&flight, stream, end, door),
            Cargo::Stderr(text) => {
                let port = end.port;
                let ends = &self.parties[usize::from(end.party.0)].ends;
                if ends[usize::from(port.0)].open {
                    let input = Input::Stderr { port, text };
                    self.local(end.party, &input, flight.origin, door);
                }
            }
        }
        self.net.give_back(flight);
    }

    /// The text of a structured frame, for a judge that reads it; hand it back to the scratch space.
    #[inline]
    fn text_for_judge(&mut self, message: &Message, raw: Option<&[u8]>) -> Option<Vec<u8>> {
        if raw.is_some() || !self.judge.reads_text() {
            return None;
        }
        let mut text = std::mem::take(&mut self.scratch.text);
        text.clear();
        render(message, &self.spellings, &mut text);
        Some(text)
    }

    fn deliver<C: Chooser + ?Sized, S: Sink + ?Sized>(
        &mut self,
        flight: &Flight,
        frame: &Frame,
        end: End,
        door: &mut Door<'_, C, S>,
    ) {
        door.event(What::Recv {
            frame: frame.number,
            link: flight.link,
            to: flight.to,
        });
        let text = self.text_for_judge(&frame.message, frame.raw.as_deref());
        let mut sight = sight_of(frame, end.party, flight);
        sight.text = sight.text.or(text.as_deref());
        let (judge, part) = self.part_mut(end);
        judge.toward(part, &sight);
        if let Some(text) = text {
            self.scratch.text = text;
        }
        let state = &mut self.links[usize::from(flight.link.0)];
        if state.tracks && flight.to == Role::Client {
            if state.setup.resumable {
                state.count_arrival(flight.stream);
            } else if frame.message.kind.is_response() {
                let id = frame.message.id;
                state.exchanges.retain(|exchange| exchange.request.id != id);
            }
        }
        let input = Input::Frame {
            port: end.port,
            message: &frame.message,
            raw: frame.raw.as_deref(),
            stream: flight.stream,
        };
        self.local(end.party, &input, flight.origin, door);
    }

    /// A frame that goes before older ones of its stream: only a link beyond its kind does that.
    fn note_overtaking<C: Chooser + ?Sized, S: Sink + ?Sized>(
        &self,
        index: usize,
        door: &mut Door<'_, C, S>,
    ) {
        if !self.links.iter().any(|link| link.setup.beyond.reorder)
            || self.net.entries()[index].behind == 0
        {
            return;
        }
        let overtaken = self.net.oldest_beside(index);
        if let Cargo::Frame(frame) = &overtaken.cargo {
            door.event(What::Fault {
                fault: Fault::Delay,
                frame: frame.number,
                link: overtaken.link,
                party: self.end(overtaken.link, overtaken.to).party,
                forbidden: true,
            });
        }
    }

    /// Takes a flight out; where it had made a pipe full, whoever waits to write goes on.
    fn take<C: Chooser + ?Sized, S: Sink + ?Sized>(
        &mut self,
        index: usize,
        door: &mut Door<'_, C, S>,
    ) -> Box<Flight> {
        let flight = self.net.take(index);
        if matches!(flight.cargo, Cargo::Frame(_)) {
            let link = &mut self.links[usize::from(flight.link.0)];
            let count = &mut link.in_flight[flight.to as usize];
            *count -= 1;
            if link.setup.kind == LinkKind::Pipe && *count == link.setup.capacity {
                self.has_room(flight.link, flight.to.other(), door);
            }
        } else if matches!(flight.cargo, Cargo::Stderr(_)) {
            self.stderr_read(flight.link, door);
        }
        flight
    }

    /// One local step: the party's actor takes the input, and what it wants is carried out.
    fn local<C: Chooser + ?Sized, S: Sink + ?Sized>(
        &mut self,
        id: PartyId,
        input: &Input<'_>,
        origin: Origin,
        door: &mut Door<'_, C, S>,
    ) {
        let mut sent = std::mem::take(&mut self.scratch.sent);
        let mut wishes = std::mem::take(&mut self.scratch.wishes);
        let party = &mut self.parties[usize::from(id.0)];
        if party.alive {
            let mut out = Out::new(id, origin, &mut sent, &mut wishes, door);
            party.actor.on(input, &mut out);
        }
        for frame in &mut sent {
            self.send(id, frame, door);
        }
        sent.clear();
        for wish in wishes.drain(..) {
            self.grant(id, wish, origin, door);
        }
        self.scratch.sent = sent;
        self.scratch.wishes = wishes;
    }

    fn send<C: Chooser + ?Sized, S: Sink + ?Sized>(
        &mut self,
        id: PartyId,
        sent: &mut Sent,
        door: &mut Door<'_, C, S>,
    ) {
        let end = &self.parties[usize::from(id.0)].ends[usize::from(sent.port.0)];
        let (link, from, open) = (end.link, end.role, end.open);
        if !open {
            return;
        }
        if let Some(body) = sent.body.take() {
            let mut text = vec![];
            render_with(&sent.message, &body, &self.spellings, &mut text);
            sent.raw = Some(text.into_boxed_slice());
        }
        if let Some(raw) = &sent.raw {
            let found = classify(raw, &mut self.scratch.scanner.0);
            sent.message = found.message;
            self.spellings
                .remember(sent.message.id, &raw[found.spans.id]);
        }
        self.frames += 1;
        let stream = self.stream_of(link, from, sent.route, &sent.message);
        let text = self.text_for_judge(&sent.message, sent.raw.as_deref());
        let sight = Sight {
            message: &sent.message,
            text: sent.raw.as_deref().or(text.as_deref()),
            body: None,
            frame: self.frames,
            party: id,
            link,
            stream,
            slips: sent.slips,
        };
        let party = &mut self.parties[usize::from(id.0)];
        let part = &mut party.ends[usize::from(sent.port.0)].part;
        self.judge.by(part, &sight);
        if let Some(text) = text {
            self.scratch.text = text;
        }
        door.event(What::Send {
            frame: self.frames,
            link,
            from,
            stream,
            origin: sent.origin,
            text: FrameText {
                message: &sent.message,
                raw: sent.raw.as_deref(),
                spellings: &self.spellings,
            },
            http: None,
            slips: sent.slips,
        });
        let flight = Flight {
            link,
            to: from.other(),
            stream,
            origin: sent.origin,
            cargo: Cargo::Frame(Frame {
                number: self.frames,
                message: sent.message,
                raw: sent.raw.take(),
                slips: sent.slips,
            }),
        };
        match self.obstacle(link, from.other(), stream) {
            None => self.launch(flight, door),
            Some(loss) => self.stop(flight, loss, door),
        }
    }

    /// Why nothing can travel to that end any more.
    #[inline]
    fn obstacle(&self, link: LinkId, to: Role, stream: Stream) -> Option<Loss> {
        let state = &self.links[usize::from(link.0)];
        let receiver = state.ends[to as usize];
        let party = &self.parties[usize::from(receiver.party.0)];
        let gone = state.cut || !party.ends[usize::from(receiver.port.0)].open;
        let told = match gone {
            true => Told::Both,
            false if state.broken.contains(&stream) => Told::Client,
            false => return None,
        };
        Some(Loss {
            told,
            forbidden: false,
        })
    }

    /// Puts a frame on its way; where a pipe is full then, its writer may wait.
    #[inline]
    fn launch<C: Chooser + ?Sized, S: Sink + ?Sized>(
        &mut self,
        flight: Flight,
        door: &mut Door<'_, C, S>,
    ) {
        let state = &mut self.links[usize::from(flight.link.0)];
        let count = &mut state.in_flight[flight.to as usize];
        *count += 1;
        if state.setup.kind == LinkKind::Pipe && *count == state.setup.capacity + 1 {
            self.is_full(flight.link, flight.to.other(), door);
        }
        self.net.push(flight);
    }

    fn stream_of(&mut self, link: LinkId, from: Role, route: Route, message: &Message) -> Stream {
        let frame = self.frames;
        let link = &mut self.links[usize::from(link.0)];
        match (link.setup.kind, from, route) {
            (LinkKind::Pipe, ..) | (LinkKind::Http, Role::Server, Route::Usual) => 0,
            (LinkKind::Http, Role::Server, Route::On(stream)) => stream,
            (LinkKind::Http, Role::Client, _) => {
                let stream = link.next_stream;
                link.next_stream += 1;
                if link.tracks && !link.setup.resumable && message.kind == Kind::Request {
                    link.exchanges.push(Exchange {
                        stream,
                        frame,
                        request: *message,
                    });
                }
                stream
            }
        }
    }

    fn grant<C: Chooser + ?Sized, S: Sink + ?Sized>(
        &mut self,
        id: PartyId,
        wish: Wish,
        origin: Origin,
        door: &mut Door<'_, C, S>,
    ) {
        let now_ms = self.now_ms;
        let party = &mut self.parties[usize::from(id.0)];
        match wish {
            Wish::Timer { tag, delay_ms } => {
                self.pending += 1 - party.forget_timer(tag);
                party.timers.push(Timer {
                    tag,
                    due_ms: now_ms + u64::from(delay_ms),
                    delay_ms,
                    origin,
                });
            }
            Wish::CancelTimer { tag } => self.pending -= party.forget_timer(tag),
            Wish::Again { tag, origin } => {
                party.own.push((tag, origin));
                self.pending += 1;
            }
            Wish::Resume { port, stream } => self.resume(id, port, stream, origin),
            Wish::Replay { port, stream } => self.replay(id, port, stream, door),
            Wish::Forget { port, stream } => self.forget_kept(id, port, stream, door),
            Wish::Stderr { port, text } => self.write_stderr(id, port, text, origin, door),
            Wish::Close { port } => self.close(id, port, origin, door),
            Wish::Exit => {
                door.event(What::Exit { party: id });
                self.end_party(id, PartEvent::Exited, origin, door);
            }
        }
    }
}

#[inline]
fn sight_of<'a>(frame: &'a Frame, party: PartyId, flight: &Flight) -> Sight<'a> {
    Sight {
        message: &frame.message,
        text: frame.raw.as_deref(),
        body: None,
        frame: frame.number,
        party,
        link: flight.link,
        stream: flight.stream,
        slips: frame.slips,
    }
}
