//! Which session of a capture a line belongs to: the one that it names, that its exchange belongs to, or that the
//! headers of HTTP tell.

use std::collections::BTreeMap;

use super::super::account::Watched;
use super::addresses::{Addresses, target};
use super::streams::Streams;
use super::{SESSIONS_MAX, Sessions};
use crate::traces::capture::{CaptureLine, CaptureWhat};
use crate::traces::event::{FrameNo, Role};
use crate::traces::http::Head;
use crate::traces::judge::Vantage;
use crate::traces::message::{Kind, Message};

/// So many clients that nothing tells apart share out what they ask.
const LANES_MAX: usize = 1024;

/// A session of the capture.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(super) struct Name {
    /// Which one of those that the headers tell apart, from 0. It comes first because it is compared fast.
    nth: u32,
    /// As the lines name it; empty where they do not.
    given: String,
}

impl Name {
    pub(super) fn given(name: &str) -> Name {
        Name {
            given: name.to_owned(),
            nth: 0,
        }
    }

    fn found(nth: u32) -> Name {
        Name {
            given: String::new(),
            nth,
        }
    }

    /// As the lines name it.
    pub(super) fn as_given(&self) -> Option<String> {
        (!self.given.is_empty()).then(|| self.given.clone())
    }

    /// The lines name it so.
    pub(super) fn is_given(&self, name: &str) -> bool {
        self.nth == 0 && self.given == name
    }

    /// It is none of those that only the headers tell apart.
    pub(super) fn is_first(&self) -> bool {
        self.nth == 0
    }

    /// No line names it, and it is the first of those.
    pub(super) fn is_nameless(&self) -> bool {
        self.given.is_empty() && self.nth == 0
    }
}

/// What is known of sessions that no line names.
#[derive(Default)]
pub(super) struct Routes {
    pub(super) streams: Streams,
    pub(super) addresses: Addresses,
    /// Ids that servers gave, with the session that they belong to; and the other way round.
    ids: BTreeMap<String, Name>,
    id_of: BTreeMap<Name, String>,
    /// How many sessions were told apart beside the first.
    found: u32,
    /// The one that was opened last: what names none belongs to it.
    latest: u32,
    /// Those that share out the requests which speak for themselves.
    lanes: Vec<u32>,
    /// Some requests may have gone to another session than they are judged in: nothing tells the clients apart.
    is_blurred: bool,
    /// How many handshakes without an id began in each session.
    opened: BTreeMap<Name, u32>,
    /// The client's lines name their exchanges: one that nobody began was not recorded from its beginning on.
    has_begun: bool,
}

impl Routes {
    /// Whether requests of several clients may be mixed up.
    pub(super) fn is_blurred(&self) -> bool {
        self.is_blurred
    }

    /// Whether the exchange belongs to a session.
    pub(super) fn knows(&self, stream: &str) -> bool {
        self.streams.session(stream).is_some()
    }

    /// The exchange has ended.
    pub(super) fn ends(&mut self, stream: &str) {
        if let Some(name) = self.streams.session(stream) {
            self.addresses.end(name, stream);
        }
    }

    /// The server of that session has ended: the next one gives other ids.
    pub(super) fn forget_ids(&mut self, name: &Name) {
        self.opened.remove(name);
        if let Some(id) = self.id_of.remove(name)
            && self.ids.get(&id) == Some(name)
        {
            self.ids.remove(&id);
        }
    }

    /// The session is judged to its end, to make room.
    fn let_go(&mut self, name: &Name) {
        self.forget_ids(name);
        self.addresses.forget(name);
        if name.given.is_empty() {
            self.lanes.retain(|nth| *nth != name.nth);
        }
    }

    fn has_id(&self, name: &Name) -> bool {
        self.id_of.contains_key(name)
    }

    fn put_id(&mut self, id: &str, name: &Name) {
        self.ids.insert(id.to_owned(), name.clone());
        self.id_of.insert(name.clone(), id.to_owned());
    }
}

/// Whose line it is.
fn by(line: &CaptureLine<'_>) -> Option<Role> {
    match &line.what {
        CaptureWhat::Frame(frame) => Some(frame.from),
        CaptureWhat::Http(by) => Some(*by),
        CaptureWhat::Event(event) => event.by,
    }
}

/// The head of the line, if it begins a request (or, from the server, an answer) and its headers were recorded.
fn head<'l>(line: &'l CaptureLine<'_>) -> Option<(&'l Head<'l>, Role)> {
    let head = line.http.as_deref()?.head.as_ref()?;
    head.fields.as_ref()?;
    let from = by(line)?;
    let is_its = match from {
        Role::Client => head.method().is_some(),
        Role::Server => head.status().is_some(),
    };
    is_its.then_some((head, from))
}

fn session_id<'h>(head: &'h Head<'_>) -> Option<&'h str> {
    head.value("mcp-session-id").filter(|id| !id.is_empty())
}

impl Sessions<'_> {
    /// The session of a line, with the message where it has one.
    pub(super) fn session_of(&mut self, line: &CaptureLine<'_>, message: Option<&Message>) -> Name {
        let named = line.session.as_deref();
        let Some(stream) = line.stream.as_deref() else {
            return Name::given(named.unwrap_or_default());
        };
        match named {
            Some(named) => self.is_named(stream, named),
            None => self.is_found(stream, line, message),
        }
    }

    fn is_named(&mut self, stream: &str, named: &str) -> Name {
        let name = Name::given(named);
        // The answer to initialize is the first to name a session: what came before it is part of that.
        if let Some(known) = self.routes.streams.session(stream)
            && known.given.is_empty()
            && !self.observers.contains_key(&name)
            && let known = known.clone()
            && let Some(observer) = self.observers.remove(&known)
        {
            self.observers.insert(name.clone(), observer);
            self.routes.streams.rename(&known, &name);
            if let Some(id) = self.routes.id_of.remove(&known) {
                self.routes.put_id(&id, &name);
            }
        }
        self.routes.streams.put(stream, &name);
        name
    }

    fn is_found(
        &mut self,
        stream: &str,
        line: &CaptureLine<'_>,
        message: Option<&Message>,
    ) -> Name {
        let head = head(line);
        let known = self.routes.streams.session(stream).cloned();
        let of_client = head.filter(|(_, from)| *from == Role::Client);
        let is_clients = by(line) == Some(Role::Client);
        self.routes.has_begun |= is_clients;
        let name = match (of_client, known) {
            (Some((head, _)), _) => self.of_request(head, line, message),
            (None, Some(known)) => known,
            (None, None) if is_clients => self.of_headless(line, message),
            (None, None) => self.of_unasked(head.map(|(head, _)| head)),
        };
        let name = self.of_named_address(line, stream, name);
        if let Some((head, Role::Server)) = head
            && let Some(id) = session_id(head)
            && self.routes.ids.get(id).is_none_or(|of| *of != name)
            && !self.routes.has_id(&name)
        {
            self.routes.put_id(id, &name);
        }
        self.routes.streams.put(stream, &name);
        if let Some(("GET", target)) = target(line) {
            self.routes.streams.put_get(stream, target);
        }
        name
    }

    /// The session of what the client sends where the headers were not recorded.
    fn of_headless(&mut self, line: &CaptureLine<'_>, message: Option<&Message>) -> Name {
        if let Some(name) = self.of_address(line, message) {
            return name;
        }
        self.routes.is_blurred |= self.routes.addresses.are_many();
        match message.filter(|message| self.shares_out(message)) {
            Some(request) => self.lane(request, line.line),
            None => Name::found(self.routes.latest),
        }
    }

    /// The session of an answer whose request was not recorded: an id that is new is that of another session than those whose
    /// beginning was seen.
    fn of_unasked(&mut self, head: Option<&Head<'_>>) -> Name {
        let latest = Name::found(self.routes.latest);
        let Some(id) = head.and_then(session_id) else {
            return latest;
        };
        if let Some(name) = self.routes.ids.get(id) {
            return name.clone();
        }
        if !self.routes.has_begun || !self.observers.contains_key(&latest) {
            return latest;
        }
        let name = self.find_another();
        self.routes.put_id(id, &name);
        name
    }

    /// The session of a request of HTTP.
    fn of_request(
        &mut self,
        head: &Head<'_>,
        line: &CaptureLine<'_>,
        message: Option<&Message>,
    ) -> Name {
        let latest = Name::found(self.routes.latest);
        let is_initialize = message.is_some_and(Message::is_handshake);
        let id = session_id(head);
        if let Some(name) = id.and_then(|id| self.routes.ids.get(id)) {
            return name.clone();
        }
        if let Some(name) = self.of_address(line, message) {
            return name;
        }
        match id {
            Some(id) => {
                let is_bound = self.routes.has_id(&latest);
                // A client that stands elsewhere than the observer may have had its session before.
                if is_initialize || is_bound && self.has_one_client() {
                    return latest;
                }
                if !is_bound {
                    self.routes.put_id(id, &latest);
                    return latest;
                }
                let name = self.find_another();
                self.routes.put_id(id, &name);
                name
            }
            None if is_initialize => {
                let name = match self.observers.get(&latest) {
                    Some(watched)
                        if !watched.observer.takes_initialize()
                            && !self.exited.contains(&latest) =>
                    {
                        let beside = Watched::new(watched.observer.beside());
                        self.open(beside)
                    }
                    _ => latest,
                };
                *self.routes.opened.entry(name.clone()).or_default() += 1;
                name
            }
            None => match message.filter(|message| self.shares_out(message)) {
                Some(request) => self.lane(request, line.line),
                None if self.has_one_client() => latest,
                None => self.one_without_id().unwrap_or(latest),
            },
        }
    }

    /// The session that has been given no id, or not yet. Where several clients have none, nothing tells which one goes on.
    fn one_without_id(&mut self) -> Option<Name> {
        let routes = &self.routes;
        let mut waiting = routes
            .opened
            .iter()
            .filter(|(name, _)| !routes.has_id(name));
        let (first, times) = waiting.next()?;
        let is_blurred = *times > 1 || waiting.next().is_some();
        let one = (!is_blurred).then(|| first.clone());
        self.routes.is_blurred |= is_blurred;
        one
    }

    /// All that is seen goes through one client.
    fn has_one_client(&self) -> bool {
        matches!(self.vantage(), Vantage::Client | Vantage::World)
    }

    /// Whether many clients may send requests like that to the server, with nothing that tells them apart.
    fn shares_out(&self, message: &Message) -> bool {
        message.kind == Kind::Request && message.speaks_for_itself() && !self.has_one_client()
    }

    /// A request that speaks for itself, from whichever client: the first session in which its id and its token are free.
    fn lane(&mut self, request: &Message, line: u64) -> Name {
        // Beside a session with an id it may be another client's.
        self.routes.is_blurred |= !self.routes.ids.is_empty();
        if self.routes.lanes.is_empty() {
            self.routes.lanes.push(0);
        }
        let is_free = |nth: &&u32| {
            let observer = self.observers.get(&Name::found(**nth));
            observer.is_none_or(|watched| !watched.observer.is_taken(request))
        };
        if let Some(nth) = self.routes.lanes.iter().find(is_free) {
            return Name::found(*nth);
        }
        self.routes.is_blurred = true;
        if self.routes.lanes.len() >= LANES_MAX {
            return Name::default();
        }
        if self.routes.lanes.len() == 1
            && let Some(first) = self.observers.get_mut(&Name::default())
        {
            first.observer.see_part();
            self.done.report.remarks.push(format!(
                "line {line}: the id or token of an open request comes again, from another client it seems; name the clients in \
                 \"session\", or say --vantage client where there is one"
            ));
        }
        let first = self.observers.get(&Name::default());
        let Some(mut beside) = first.map(|first| first.observer.beside()) else {
            return Name::default();
        };
        beside.see_part();
        let name = self.put_another(Watched::new(beside));
        self.routes.lanes.push(name.nth);
        name
    }

    /// One more session that no line names.
    fn find_another(&mut self) -> Name {
        self.routes.found += 1;
        Name::found(self.routes.found)
    }

    fn put_another(&mut self, watched: Watched) -> Name {
        self.make_room();
        let name = self.find_another();
        self.observers.insert(name.clone(), watched);
        name
    }

    /// Another session begins: what names none belongs to it from now on.
    pub(super) fn open(&mut self, watched: Watched) -> Name {
        let name = self.put_another(watched);
        self.routes.latest = name.nth;
        name
    }

    /// There is room for one more session.
    pub(super) fn make_room(&mut self) {
        if self.observers.len() >= SESSIONS_MAX {
            self.let_go();
        }
    }

    /// Judges the quarter of the sessions that were silent for longest to their end. What still comes for one of them is judged
    /// as a recording that begins in the middle.
    #[cold]
    fn let_go(&mut self) {
        let silent = self.observers.iter();
        let mut silent: Vec<(FrameNo, Name)> = silent
            .map(|(name, watched)| (watched.account.last_frame(), name.clone()))
            .collect();
        silent.sort_unstable();
        let count = silent.len().div_ceil(4);
        for (_, name) in silent.drain(..count) {
            if let Some(watched) = self.observers.remove(&name) {
                self.close(&name, watched);
            }
            self.routes.let_go(&name);
        }
        if !std::mem::replace(&mut self.has_let_go, true) {
            self.done.report.remarks.push(format!(
                "more than {SESSIONS_MAX} sessions go on at once: those that were silent for longest were judged as if they ended; \
                 what comes for them later is judged as a recording that begins in the middle"
            ));
        }
    }

    /// After the server's program, or the client's output, has ended, a handshake or a request that speaks for itself goes to another
    /// one, and begins another session.
    pub(super) fn begin_again(&mut self, name: &Name, message: &Message) {
        if self.exited.is_empty() || !message.begins_session() || !self.exited.remove(name) {
            return;
        }
        self.routes.forget_ids(name);
        if let Some(observer) = self.observers.remove(name) {
            self.close(name, observer);
        }
    }
}
