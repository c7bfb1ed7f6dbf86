//! Streams of http that break and are opened again: what is on its way on one waits at the server meanwhile.

use mcpsim_traces::event::{LinkId, LinkKind, Origin, PartyId, Role, Sink, Stream, What};
use mcpsim_traces::judge::{Judge, PartEvent};

use super::losses::Loss;
use super::{Link, World};
use crate::actor::{Actor, End, Input, Port};
use crate::choose::Chooser;
use crate::door::Door;
use crate::net::{Cargo, Flight};

impl Link {
    /// Another frame has arrived at the client on that stream.
    #[cold]
    pub(super) fn count_arrival(&mut self, stream: Stream) {
        match self.arrived.iter_mut().find(|(one, _)| *one == stream) {
            Some((_, count)) => *count += 1,
            None => self.arrived.push((stream, 1)),
        }
    }
}

impl<A: Actor, J: Judge> World<A, J> {
    /// What cannot travel now is lost, or waits at the server where its stream can be resumed.
    #[cold]
    pub(super) fn stop<C: Chooser + ?Sized, S: Sink + ?Sized>(
        &mut self,
        flight: Flight,
        loss: Loss,
        door: &mut Door<'_, C, S>,
    ) {
        let state = &mut self.links[usize::from(flight.link.0)];
        let is_gone = loss.told == Loss::CLOSED.told;
        if state.setup.resumable && !is_gone {
            state.kept.push(flight);
        } else {
            self.lose(&flight, loss, door);
        }
    }

    /// The connection of the stream of that frame breaks: what is on its way there goes back to the server, and the
    /// client learns of it some time later.
    pub(super) fn break_stream<C: Chooser + ?Sized, S: Sink + ?Sized>(
        &mut self,
        index: usize,
        door: &mut Door<'_, C, S>,
    ) {
        let flight = self.net.flight(index);
        let (link, stream, origin) = (flight.link, flight.stream, flight.origin);
        door.event(What::Broken { stream, link });
        let of_it = |flight: &Flight| {
            flight.link == link && flight.stream == stream && flight.to == Role::Client
        };
        while let Some(index) = self.net.first(of_it) {
            let flight = self.take(index, door);
            self.links[usize::from(link.0)].kept.push(*flight);
        }
        self.links[usize::from(link.0)].broken.push(stream);
        self.send_news(link, Role::Client, origin, Cargo::Broken(stream));
    }

    /// A client opens a broken stream again: the server hears of it some time later.
    pub(super) fn resume(&mut self, id: PartyId, port: Port, stream: Stream, origin: Origin) {
        let end = &self.parties[usize::from(id.0)].ends[usize::from(port.0)];
        let (link, is_able) = (end.link, end.open && end.role == Role::Client);
        let server = self.end(link, Role::Server);
        let ends = &self.parties[usize::from(server.party.0)].ends;
        let state = &self.links[usize::from(link.0)];
        let is_there = !state.cut && ends[usize::from(server.port.0)].open;
        if is_able && is_there && state.broken.contains(&stream) {
            self.send_news(link, Role::Server, origin, Cargo::Reopen(stream));
        }
    }

    /// News of a stream or an exchange travel on a stream of their own.
    pub(super) fn send_news(&mut self, link: LinkId, to: Role, origin: Origin, cargo: Cargo) {
        let state = &mut self.links[usize::from(link.0)];
        debug_assert!(state.setup.kind == LinkKind::Http);
        let stream = state.next_stream;
        state.next_stream += 1;
        self.net.push(Flight {
            link,
            to,
            stream,
            origin,
            cargo,
        });
    }

    /// The server learns that a stream is open again.
    pub(super) fn reopened<C: Chooser + ?Sized, S: Sink + ?Sized>(
        &mut self,
        news: &Flight,
        stream: Stream,
        end: End,
        door: &mut Door<'_, C, S>,
    ) {
        let link = news.link;
        let state = &self.links[usize::from(link.0)];
        if !state.broken.contains(&stream) {
            // Opened again already: a second time changes nothing.
            return;
        }
        let mut arrived = state.arrived.iter().filter(|(one, _)| *one == stream);
        let delivered = arrived.next().map_or(0, |(_, count)| *count);
        door.event(What::Resumed { stream, link });
        let input = Input::StreamReopened {
            port: end.port,
            stream,
            delivered,
        };
        self.local(end.party, &input, news.origin, door);
    }

    /// The stream is whole again; what was kept for it, oldest first.
    fn mend(&mut self, id: PartyId, port: Port, stream: Stream) -> Vec<Flight> {
        let end = &self.parties[usize::from(id.0)].ends[usize::from(port.0)];
        let state = &mut self.links[usize::from(end.link.0)];
        if end.role != Role::Server || !state.broken.contains(&stream) {
            return vec![];
        }
        state.broken.retain(|broken| *broken != stream);
        let of_it = |flight: &mut Flight| flight.stream == stream;
        state.kept.extract_if(.., of_it).collect()
    }

    /// What was kept for a stream goes on its way again.
    pub(super) fn replay<C: Chooser + ?Sized, S: Sink + ?Sized>(
        &mut self,
        id: PartyId,
        port: Port,
        stream: Stream,
        door: &mut Door<'_, C, S>,
    ) {
        for flight in self.mend(id, port, stream) {
            self.launch(flight, door);
        }
    }

    /// What was kept for a stream is gone by the server's own doing.
    pub(super) fn forget_kept<C: Chooser + ?Sized, S: Sink + ?Sized>(
        &mut self,
        id: PartyId,
        port: Port,
        stream: Stream,
        door: &mut Door<'_, C, S>,
    ) {
        for flight in self.mend(id, port, stream) {
            let Cargo::Frame(frame) = &flight.cargo else {
                continue;
            };
            let (link, message) = (flight.link, frame.message);
            door.event(What::Forgotten {
                frame: frame.number,
                link,
            });
            for role in [Role::Server, Role::Client] {
                let end = self.end(link, role);
                let (judge, part) = self.part_mut(end);
                judge.event(part, end.party, link, PartEvent::Forgotten { message });
            }
        }
    }

    /// The link is gone, and with it what was kept for its streams.
    pub(super) fn lose_kept<C: Chooser + ?Sized, S: Sink + ?Sized>(
        &mut self,
        link: LinkId,
        door: &mut Door<'_, C, S>,
    ) {
        let state = &mut self.links[usize::from(link.0)];
        for flight in std::mem::take(&mut state.kept) {
            self.lose(&flight, Loss::CLOSED, door);
        }
    }
}
