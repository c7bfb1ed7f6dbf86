//! What goes wrong in a world: faults that befall frames, links and parties, ends that close, and what is lost with them.

use mcpsim_traces::event::{
    Fault, Label, LinkId, LinkKind, Origin, PartyId, Role, Sink, Stream, Told, What,
};
use mcpsim_traces::judge::{Judge, PartEvent};

use super::{DELAY_MS, World};
use crate::actor::{Actor, End, Port};
use crate::choose::{Chooser, Options};
use crate::door::Door;
use crate::net::{Cargo, Flight};

/// How a frame was lost.
#[derive(Clone, Copy)]
pub(super) struct Loss {
    pub(super) told: Told,
    pub(super) forbidden: bool,
}

impl Loss {
    /// Both ends learn of it, since their link closes.
    pub(super) const CLOSED: Loss = Loss {
        told: Told::Both,
        forbidden: false,
    };
}

/// The options of [`mcpsim_traces::event::Site::Fault`]: none, then those that may come, mildest first.
pub(super) struct FaultOptions {
    pub(super) list: [Fault; Fault::ALL.len()],
    count: usize,
}

impl Options for FaultOptions {
    fn bound(&self) -> u32 {
        self.count as u32 + 1
    }

    fn label(&self, answer: u32) -> Label {
        match answer {
            0 => Label::Fault(0),
            _ => {
                let fault = self.list[answer as usize - 1];
                let number = Fault::ALL.iter().position(|&known| known == fault);
                Label::Fault(number.map_or(0, |number| number as u8 + 1))
            }
        }
    }
}

impl<A: Actor, J: Judge> World<A, J> {
    pub(super) fn fault_options(&self, index: usize) -> FaultOptions {
        let flight = self.net.flight(index);
        let link = &self.links[usize::from(flight.link.0)].setup;
        // What a client posts in vain it posts again.
        let posted = link.resumable && flight.to == Role::Server;
        let http = link.kind == LinkKind::Http;
        let mut options = FaultOptions {
            list: Fault::ALL,
            count: 0,
        };
        for fault in Fault::ALL {
            let allowed = match fault {
                Fault::Delay | Fault::Cut | Fault::Crash => true,
                Fault::Duplicate => http || link.beyond.duplicate,
                Fault::Drop => (http || link.beyond.drop) && !posted,
            };
            if allowed && self.faults.left(fault) > 0 {
                options.list[options.count] = fault;
                options.count += 1;
            }
        }
        options
    }

    /// A fault befalls the frame at that place, or its link or receiver.
    pub(super) fn befall<C: Chooser + ?Sized, S: Sink + ?Sized>(
        &mut self,
        fault: Fault,
        index: usize,
        door: &mut Door<'_, C, S>,
    ) {
        self.faults.spend(fault);
        let flight = self.net.flight(index);
        let (link, to, origin) = (flight.link, flight.to, flight.origin);
        let Cargo::Frame(frame) = &flight.cargo else {
            return;
        };
        let number = frame.number;
        let party = self.end(link, to).party;
        let pipe = self.links[usize::from(link.0)].setup.kind == LinkKind::Pipe;
        let forbidden = pipe && matches!(fault, Fault::Drop | Fault::Duplicate);
        door.event(What::Fault {
            fault,
            frame: number,
            link,
            party,
            forbidden,
        });
        match fault {
            Fault::Delay => self.net.hold(index, self.now_ms + DELAY_MS),
            Fault::Duplicate => self.duplicate(index, door),
            Fault::Drop if self.links[usize::from(link.0)].setup.resumable => {
                self.break_stream(index, door);
            }
            Fault::Drop => self.drop_frame(index, forbidden, door),
            Fault::Cut => {
                self.links[usize::from(link.0)].cut = true;
                self.lose_all(Loss::CLOSED, |flight| flight.link == link, door);
                self.lose_kept(link, door);
                self.drain_stderr(link, door);
                for role in [Role::Client, Role::Server] {
                    self.announce_close(link, role, origin);
                }
            }
            Fault::Crash => self.end_party(party, PartEvent::Crashed, origin, door),
        }
    }

    /// A second copy, youngest of all; on http on a stream of its own, as a retry would be.
    fn duplicate<C: Chooser + ?Sized, S: Sink + ?Sized>(
        &mut self,
        index: usize,
        door: &mut Door<'_, C, S>,
    ) {
        let mut copy = self.net.flight(index).clone();
        let link = &mut self.links[usize::from(copy.link.0)];
        if link.setup.kind == LinkKind::Http && copy.to == Role::Server {
            copy.stream = link.next_stream;
            link.next_stream += 1;
        }
        self.launch(copy, door);
    }

    /// A frame is lost. On http the exchange goes with it, and the client learns of that.
    fn drop_frame<C: Chooser + ?Sized, S: Sink + ?Sized>(
        &mut self,
        index: usize,
        forbidden: bool,
        door: &mut Door<'_, C, S>,
    ) {
        let flight = self.take(index, door);
        let (link, stream) = (flight.link, flight.stream);
        let state = &mut self.links[usize::from(link.0)];
        let open = state
            .exchanges
            .iter()
            .position(|exchange| exchange.stream == stream && stream != 0);
        let Some(at) = open else {
            return self.lose(
                &flight,
                Loss {
                    told: Told::Nobody,
                    forbidden,
                },
                door,
            );
        };
        let exchange = state.exchanges.remove(at);
        state.broken.push(stream);
        let loss = Loss {
            told: Told::Client,
            forbidden,
        };
        self.lose(&flight, loss, door);
        self.lose_all(
            loss,
            |other| other.link == link && other.stream == stream,
            door,
        );
        if flight.to == Role::Client {
            // An answer or what belongs to it is gone, and with it the client's exchange.
            door.event(What::ExchangeLost {
                frame: exchange.frame,
                link,
                forbidden,
            });
            let client = self.end(link, Role::Client);
            let (judge, part) = self.part_mut(client);
            let event = PartEvent::SentLost {
                message: exchange.request,
                told: true,
                forbidden,
            };
            judge.event(part, client.party, link, event);
        }
        // The client learns some time later that the exchange of its request is lost.
        let cargo = Cargo::Lost(exchange.request);
        self.send_news(link, Role::Client, flight.origin, cargo);
    }

    /// An end closes its link: what it sent still arrives, what is on its way to it is lost.
    pub(super) fn close<C: Chooser + ?Sized, S: Sink + ?Sized>(
        &mut self,
        party: PartyId,
        port: Port,
        origin: Origin,
        door: &mut Door<'_, C, S>,
    ) {
        let end = &self.parties[usize::from(party.0)].ends[usize::from(port.0)];
        if end.open {
            let (link, role) = (end.link, end.role);
            door.event(What::Close { link, by: role });
            self.leave(
                End { party, port, role },
                link,
                PartEvent::ClosedByIt,
                origin,
                door,
            );
        }
    }

    /// A party is gone, with all its ends.
    pub(super) fn end_party<C: Chooser + ?Sized, S: Sink + ?Sized>(
        &mut self,
        id: PartyId,
        why: PartEvent,
        origin: Origin,
        door: &mut Door<'_, C, S>,
    ) {
        let party = &mut self.parties[usize::from(id.0)];
        party.alive = false;
        self.pending -= party.own.len() + party.timers.len();
        party.own.clear();
        party.timers.clear();
        self.hindered += 1;
        for port in 0..self.parties[usize::from(id.0)].ends.len() {
            let end = &self.parties[usize::from(id.0)].ends[port];
            if end.open {
                let (link, role) = (end.link, end.role);
                self.leave(
                    End {
                        party: id,
                        port: Port(port as u8),
                        role,
                    },
                    link,
                    why,
                    origin,
                    door,
                );
            }
        }
    }

    /// Shuts one end: the judge hears why, the other end will hear of it after what was sent.
    fn leave<C: Chooser + ?Sized, S: Sink + ?Sized>(
        &mut self,
        end: End,
        link: LinkId,
        why: PartEvent,
        origin: Origin,
        door: &mut Door<'_, C, S>,
    ) {
        let (judge, part) = self.part_mut(end);
        judge.event(part, end.party, link, why);
        self.forget_link(end);
        self.lose_all(
            Loss::CLOSED,
            |flight| flight.link == link && flight.to == end.role,
            door,
        );
        self.lose_kept(link, door);
        if end.role == Role::Client {
            // Nobody is left to read it: what is written from here on goes nowhere, and blocks nobody.
            self.drain_stderr(link, door);
        }
        self.announce_close(link, end.role.other(), origin);
    }

    /// Puts the end of the link behind everything that is on its way to that end.
    fn announce_close(&mut self, link: LinkId, to: Role, origin: Origin) {
        let end = self.end(link, to);
        if !self.parties[usize::from(end.party.0)].ends[usize::from(end.port.0)].open {
            return;
        }
        // On http the close is the end of the session, on a stream of its own.
        let stream = match self.links[usize::from(link.0)].setup.kind {
            LinkKind::Pipe => 0,
            LinkKind::Http => Stream::MAX,
        };
        self.net.push(Flight {
            link,
            to,
            stream,
            origin,
            cargo: Cargo::Close,
        });
    }

    pub(super) fn forget_link(&mut self, end: End) {
        self.parties[usize::from(end.party.0)].ends[usize::from(end.port.0)].open = false;
    }

    fn lose_all<C: Chooser + ?Sized, S: Sink + ?Sized>(
        &mut self,
        loss: Loss,
        mut which: impl FnMut(&Flight) -> bool,
        door: &mut Door<'_, C, S>,
    ) {
        while let Some(index) = self.net.first(&mut which) {
            let flight = self.take(index, door);
            self.lose(&flight, loss, door);
            self.net.give_back(flight);
        }
    }

    /// A frame is gone: the trace says so, and the judge is told for both ends.
    pub(super) fn lose<C: Chooser + ?Sized, S: Sink + ?Sized>(
        &mut self,
        flight: &Flight,
        loss: Loss,
        door: &mut Door<'_, C, S>,
    ) {
        let Cargo::Frame(frame) = &flight.cargo else {
            return;
        };
        let Loss {
            told: who,
            forbidden,
        } = loss;
        let (link, to, message) = (flight.link, flight.to, frame.message);
        door.event(What::Lost {
            frame: frame.number,
            link,
            to,
            told: who,
            forbidden,
        });
        let sender = self.end(link, to.other());
        let told = who.is(sender.role);
        let (judge, part) = self.part_mut(sender);
        judge.event(
            part,
            sender.party,
            link,
            PartEvent::SentLost {
                message,
                told,
                forbidden,
            },
        );
        let receiver = self.end(link, to);
        let told = who.is(receiver.role);
        let (judge, part) = self.part_mut(receiver);
        judge.event(
            part,
            receiver.party,
            link,
            PartEvent::InboundLost {
                message,
                told,
                forbidden,
            },
        );
    }
}
