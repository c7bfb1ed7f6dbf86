//! Pipes that are full: who waits to write into them, and whether it reads meanwhile. What a server writes on its stderr.

use mcpsim_traces::event::{LinkId, LinkKind, Origin, PartyId, Pipe, Role, Sink, Stream, What};
use mcpsim_traces::judge::{Blocked, Judge};

use super::{Link, World};
use crate::actor::{Actor, Habits, Port};
use crate::choose::Chooser;
use crate::door::Door;
use crate::net::{Cargo, Flight};

/// The stream of what a server writes on its stderr: it has an order of its own, beside that of the frames on stream 0.
const STDERR: Stream = 1;

impl Link {
    /// What stops the end of that role of a party with those habits.
    pub(super) fn blocks(&self, role: Role, habits: Habits) -> Blocked {
        let is_pipe = self.setup.kind == LinkKind::Pipe;
        let unread = self.in_flight[role.other() as usize];
        let has_queue = habits.reads_while_writing;
        Blocked {
            frames: is_pipe && !has_queue && unread > self.setup.capacity,
            stderr: is_pipe
                && role == Role::Server
                && self.stderr_unread > self.setup.stderr_capacity,
        }
    }
}

impl<A: Actor, J: Judge> World<A, J> {
    /// The pipe of the frames of that end is full, which stops a party without a queue.
    #[cold]
    pub(super) fn is_full<C: Chooser + ?Sized, S: Sink + ?Sized>(
        &mut self,
        link: LinkId,
        writer: Role,
        door: &mut Door<'_, C, S>,
    ) {
        let id = self.end(link, writer).party;
        if !self.party(id).habits.reads_while_writing {
            self.block(link, Pipe::of_frames(writer), door);
        }
    }

    /// … and has room again.
    #[cold]
    pub(super) fn has_room<C: Chooser + ?Sized, S: Sink + ?Sized>(
        &mut self,
        link: LinkId,
        writer: Role,
        door: &mut Door<'_, C, S>,
    ) {
        let id = self.end(link, writer).party;
        if !self.party(id).habits.reads_while_writing {
            self.unblock(link, Pipe::of_frames(writer), door);
        }
    }

    fn block<C: Chooser + ?Sized, S: Sink + ?Sized>(
        &mut self,
        link: LinkId,
        on: Pipe,
        door: &mut Door<'_, C, S>,
    ) {
        let writer = self.end(link, on.writer()).party;
        self.parties[usize::from(writer.0)].blocked += 1;
        self.hindered += 1;
        door.event(What::Blocked { link, on });
    }

    fn unblock<C: Chooser + ?Sized, S: Sink + ?Sized>(
        &mut self,
        link: LinkId,
        on: Pipe,
        door: &mut Door<'_, C, S>,
    ) {
        let writer = self.end(link, on.writer()).party;
        self.parties[usize::from(writer.0)].blocked -= 1;
        self.hindered -= 1;
        door.event(What::Unblocked { link, on });
    }

    /// A server writes a line on its stderr: its client reads it some time later, or never.
    pub(super) fn write_stderr<C: Chooser + ?Sized, S: Sink + ?Sized>(
        &mut self,
        id: PartyId,
        port: Port,
        text: &'static str,
        origin: Origin,
        door: &mut Door<'_, C, S>,
    ) {
        let end = &self.parties[usize::from(id.0)].ends[usize::from(port.0)];
        let (link, role, is_open) = (end.link, end.role, end.open);
        if role != Role::Server || !is_open {
            return;
        }
        door.event(What::Stderr { link, text });
        let client = self.end(link, Role::Client);
        let reader = &self.parties[usize::from(client.party.0)];
        let reads = reader.habits.reads_stderr;
        let is_there = reader.ends[usize::from(client.port.0)].open;
        let state = &mut self.links[usize::from(link.0)];
        if state.setup.kind != LinkKind::Pipe || state.cut || !is_there {
            return;
        }
        state.stderr_unread += 1;
        let is_full = state.stderr_unread == state.setup.stderr_capacity + 1;
        if reads {
            self.net.push(Flight {
                link,
                to: Role::Client,
                stream: STDERR,
                origin,
                cargo: Cargo::Stderr(text),
            });
        }
        if is_full {
            self.block(link, Pipe::Stderr, door);
        }
    }

    /// A line of the server's stderr is read, or nobody is left to read it.
    #[cold]
    pub(super) fn stderr_read<C: Chooser + ?Sized, S: Sink + ?Sized>(
        &mut self,
        link: LinkId,
        door: &mut Door<'_, C, S>,
    ) {
        let state = &mut self.links[usize::from(link.0)];
        state.stderr_unread -= 1;
        if state.stderr_unread == state.setup.stderr_capacity {
            self.unblock(link, Pipe::Stderr, door);
        }
    }

    /// Nobody reads the server's stderr any more, and nobody keeps what is written there.
    pub(super) fn drain_stderr<C: Chooser + ?Sized, S: Sink + ?Sized>(
        &mut self,
        link: LinkId,
        door: &mut Door<'_, C, S>,
    ) {
        while self.links[usize::from(link.0)].stderr_unread > 0 {
            self.stderr_read(link, door);
        }
    }
}
