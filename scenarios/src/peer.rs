//! The reference peers as one type, so that a world of them is a plain vector.

use mcpsim_sim::actor::{Actor, Habits, Input, Out};

pub use crate::client::Client;
pub use crate::gateway::Gateway;
pub use crate::server::Server;

/// A reference peer, right or with one defect.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a world has a handful of them, and steps go through them by reference"
)]
pub enum Peer {
    /// A client with a workload.
    Client(Client),
    /// A server with the reference tools.
    Server(Server),
    /// A gateway between the two.
    Gateway(Gateway),
}

impl Actor for Peer {
    #[inline]
    fn on(&mut self, input: &Input<'_>, out: &mut Out<'_>) {
        match self {
            Peer::Client(client) => client.on(input, out),
            Peer::Server(server) => server.on(input, out),
            Peer::Gateway(gateway) => gateway.on(input, out),
        }
    }

    fn habits(&self) -> Habits {
        match self {
            Peer::Client(client) => client.habits(),
            Peer::Server(server) => server.habits(),
            Peer::Gateway(gateway) => gateway.habits(),
        }
    }
}
