//! Sessions over the transport of 2024-11-05: each has a stream of events that a GET opens, and that names in its `endpoint` event the
//! address to which the client's messages are posted (2024-11-05 basic/transports, HTTP with SSE).

use std::collections::BTreeMap;

use super::super::account::Watched;
use super::route::Name;
use super::{SESSIONS_MAX, Sessions, stream_number};
use crate::models::resolved_target;
use crate::traces::capture::{CaptureLine, CaptureWhat};
use crate::traces::event::Role;
use crate::traces::http::Start;
use crate::traces::key::Key;
use crate::traces::message::Message;

/// So many addresses are remembered.
const ADDRESSES_MAX: usize = 2 * SESSIONS_MAX;

/// A session's stream of events.
struct Talk {
    stream: String,
    is_over: bool,
    /// The same address was named again on another stream: the session goes on there, or another one begins.
    renewed_on: Option<String>,
}

/// Which session an address is of.
#[derive(Default)]
pub(super) struct Addresses {
    sessions: BTreeMap<Key, Name>,
    talks: BTreeMap<Name, Talk>,
}

impl Addresses {
    /// Nothing is known of that session any more.
    pub(super) fn forget(&mut self, name: &Name) {
        if self.talks.remove(name).is_some() {
            self.sessions.retain(|_, session| session != name);
        }
    }

    /// The stream has ended.
    pub(super) fn end(&mut self, name: &Name, stream: &str) {
        if let Some(talk) = self
            .talks
            .get_mut(name)
            .filter(|talk| talk.stream == stream)
        {
            talk.is_over = true;
        }
    }

    /// Several sessions go on at once: what names no address may be any one's.
    pub(super) fn are_many(&self) -> bool {
        let live = self.talks.values().filter(|talk| !talk.is_over);
        live.take(2).count() > 1
    }

    fn put(&mut self, address: Key, name: &Name, stream: &str) {
        if self.sessions.len() >= ADDRESSES_MAX {
            return;
        }
        self.sessions.insert(address, name.clone());
        let talk = Talk {
            stream: stream.to_owned(),
            is_over: false,
            renewed_on: None,
        };
        self.talks.insert(name.clone(), talk);
    }
}

/// Where the client's request goes, of whose head the line is the beginning: method and target.
pub(super) fn target<'l>(line: &'l CaptureLine<'_>) -> Option<(&'l str, &'l str)> {
    let head = line.http.as_deref()?.head.as_ref()?;
    match &head.start {
        Start::Request { method, target } => Some((method, target.as_deref()?)),
        Start::Answer { .. } => None,
    }
}

/// The address that an `endpoint` event names.
fn named_address<'l>(line: &CaptureLine<'l>) -> Option<&'l [u8]> {
    let event = line.http.as_deref()?.sse.event.as_deref()?;
    match &line.what {
        CaptureWhat::Frame(frame) if event == "endpoint" && frame.from == Role::Server => {
            Some(frame.raw)
        }
        _ => None,
    }
}

impl Sessions<'_> {
    /// The session whose address the client's message is posted to. A handshake begins another one where the address was named
    /// anew for it.
    pub(super) fn of_address(
        &mut self,
        line: &CaptureLine<'_>,
        message: Option<&Message>,
    ) -> Option<Name> {
        let (_, target) = target(line).filter(|(method, _)| *method == "POST")?;
        let address = resolved_target(target, "/");
        let name = self.routes.addresses.sessions.get(&address)?.clone();
        let talk = self.routes.addresses.talks.get(&name);
        let is_handshake = message.is_some_and(Message::is_handshake);
        let begins = |watched: &Watched| is_handshake && watched.observer.has_begun();
        let renewed = talk.and_then(|talk| talk.renewed_on.clone());
        match renewed {
            Some(stream) if self.observers.get(&name).is_some_and(begins) => {
                let another = self.open_beside(&name, &stream);
                self.routes.addresses.put(address, &another, &stream);
                Some(another)
            }
            _ => Some(name),
        }
    }

    /// The session of a stream that was taken for that session's, where the line names its address: one session has one stream
    /// and one address.
    pub(super) fn of_named_address(
        &mut self,
        line: &CaptureLine<'_>,
        stream: &str,
        name: Name,
    ) -> Name {
        let Some(address) = named_address(line) else {
            return name;
        };
        let base = self.routes.streams.get_target(stream).unwrap_or("/");
        let address = resolved_target(&String::from_utf8_lossy(address), base);
        let addresses = &mut self.routes.addresses;
        if let Some(known) = addresses.sessions.get(&address).cloned() {
            if let Some(talk) = addresses.talks.get_mut(&known)
                && talk.stream != stream
            {
                talk.renewed_on = Some(stream.to_owned());
                talk.is_over = false;
            }
            return known;
        }
        let is_anothers = addresses
            .talks
            .get(&name)
            .is_some_and(|talk| talk.stream != stream);
        let name = match is_anothers {
            true => self.open_beside(&name, stream),
            false => name,
        };
        self.routes.addresses.put(address, &name, stream);
        name
    }

    /// Another session begins beside that one, and the stream is its.
    fn open_beside(&mut self, name: &Name, stream: &str) -> Name {
        let number = stream_number(Some(stream));
        let Some(watched) = self.observers.get_mut(name) else {
            return name.clone();
        };
        let beside = Watched::new(watched.observer.beside_on(number));
        let another = self.open(beside);
        self.routes.streams.put(stream, &another);
        another
    }
}
