//! Whose an exchange is, where a document holds exchanges of several sessions: told by the address, by `Mcp-Session-Id`, and on
//! the transport of 2024-11-05 by the endpoint that a stream of events named.

use std::collections::{BTreeMap, BTreeSet};

/// What an exchange tells of its session.
#[derive(Clone, Debug, Default)]
pub(super) struct Signs {
    /// The session as the document itself names it.
    pub(super) given: Option<String>,
    /// Scheme, host and path.
    pub(super) address: String,
    /// The address with its query.
    pub(super) url: String,
    /// The id in the request.
    pub(super) asked: Option<String>,
    /// The id in the answer.
    pub(super) answered: Option<String>,
    pub(super) is_initialize: bool,
    /// It was answered, and not refused.
    pub(super) is_served: bool,
    /// Where its events say that messages are to be posted, as whole addresses.
    pub(super) endpoints: Vec<String>,
}

/// The sessions of a document.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    /// Of each exchange: its session.
    pub(super) of: Vec<usize>,
    /// A name for each of them, all different.
    pub(super) names: Vec<String>,
    /// Whether the headers of the exchanges alone would not tell them apart: they lie at several addresses, or have names.
    pub(super) are_apart: bool,
    /// An address at which several sessions began without an id, and go on: whose a request is cannot be told.
    pub(super) mixed: Option<String>,
}

#[derive(Debug)]
struct Session {
    /// Where its first exchange went.
    address: String,
    given: Option<String>,
    id: Option<String>,
    /// On the transport of 2024-11-05: the addresses for messages.
    endpoint: Option<String>,
    /// A handshake was.
    is_served: bool,
}

#[derive(Debug, Default)]
struct Place {
    /// The session that began last.
    latest: Option<usize>,
    ids: BTreeMap<String, usize>,
    /// Handshakes that were served without giving an id.
    nameless: usize,
}

#[derive(Debug, Default)]
struct Sorter {
    sessions: Vec<Session>,
    named: BTreeMap<String, usize>,
    places: BTreeMap<String, Place>,
    /// The latest session that messages to an address belong to: with its query, and without.
    endpoints: BTreeMap<String, usize>,
    mixed: Option<String>,
}

/// Sorts exchanges that are given in the order in which they began.
pub(super) fn sort(all: &[Signs]) -> Sessions {
    let mut sorter = Sorter::default();
    let of: Vec<usize> = all.iter().map(|one| sorter.session_of(one)).collect();
    let sessions = &sorter.sessions;
    let has_names = !sorter.named.is_empty();
    let streams = sessions.iter().filter(|one| one.endpoint.is_some()).count();
    let of_one = |one: &Session| one.endpoint.is_none();
    let places: BTreeSet<&str> = sessions
        .iter()
        .filter(|one| of_one(one))
        .map(|one| &*one.address)
        .collect();
    Sessions {
        of,
        names: names(sessions),
        are_apart: has_names || streams + places.len() > 1,
        mixed: sorter.mixed,
    }
}

impl Sorter {
    fn session_of(&mut self, one: &Signs) -> usize {
        if let Some(name) = &one.given {
            if let Some(known) = self.named.get(name) {
                return *known;
            }
            let nth = self.begin(one);
            self.named.insert(name.clone(), nth);
            return nth;
        }
        if !one.endpoints.is_empty() {
            return self.stream(one);
        }
        let by_endpoint = self.endpoints.get(&one.url);
        if let Some(&nth) = by_endpoint.or_else(|| self.endpoints.get(&one.address)) {
            return nth;
        }
        let nth = match &one.asked {
            Some(id) => self.by_id(one, id),
            None if one.is_initialize => self.handshake(one),
            None => self.without_id(one),
        };
        if one.is_initialize && one.is_served {
            self.opens(one, nth);
        }
        nth
    }

    fn begin(&mut self, one: &Signs) -> usize {
        self.sessions.push(Session {
            address: one.address.clone(),
            given: one.given.clone(),
            id: None,
            endpoint: None,
            is_served: false,
        });
        self.sessions.len() - 1
    }

    fn place(&mut self, one: &Signs) -> &mut Place {
        self.places.entry(one.address.clone()).or_default()
    }

    fn begin_at(&mut self, one: &Signs) -> usize {
        let nth = self.begin(one);
        self.place(one).latest = Some(nth);
        nth
    }

    fn bind(&mut self, one: &Signs, id: &str, nth: usize) {
        self.sessions[nth].id = Some(id.to_owned());
        self.place(one).ids.insert(id.to_owned(), nth);
    }

    /// A stream of events that names an endpoint is a session of its own: each connection is one there.
    fn stream(&mut self, one: &Signs) -> usize {
        // A client that knows both transports tries the newer one at the same address before.
        let latest = self.place(one).latest;
        let tried = latest.filter(|nth| {
            let session = &self.sessions[*nth];
            !session.is_served && session.id.is_none() && session.endpoint.is_none()
        });
        let nth = tried.unwrap_or_else(|| self.begin(one));
        self.place(one).latest = None;
        self.sessions[nth].endpoint = one.endpoints.last().cloned();
        for url in &one.endpoints {
            let address = url.split('?').next().unwrap_or_default();
            for place in [url, address] {
                self.endpoints.insert(place.to_owned(), nth);
            }
        }
        nth
    }

    /// A request that names a session.
    fn by_id(&mut self, one: &Signs, id: &str) -> usize {
        let place = self.place(one);
        if let Some(known) = place.ids.get(id) {
            return *known;
        }
        let latest = place.latest;
        if let Some(nth) = latest.filter(|_| one.is_initialize) {
            return nth;
        }
        // The answer to initialize may have been recorded without its headers.
        let is_free = |nth: &usize| self.sessions[*nth].id.is_none();
        let nth = match latest.filter(is_free) {
            Some(nth) => nth,
            None => self.begin_at(one),
        };
        self.bind(one, id, nth);
        nth
    }

    fn handshake(&mut self, one: &Signs) -> usize {
        let latest = self.place(one).latest;
        // What was refused is tried again; and what came before may have asked which versions there are.
        let is_open = |nth: &usize| {
            let session = &self.sessions[*nth];
            !session.is_served && session.id.is_none()
        };
        match latest.filter(is_open) {
            Some(nth) => nth,
            None => self.begin_at(one),
        }
    }

    fn opens(&mut self, one: &Signs, nth: usize) {
        self.sessions[nth].is_served = true;
        match &one.answered {
            Some(id) if self.sessions[nth].id.is_none() => self.bind(one, id, nth),
            Some(_) => {}
            None => self.place(one).nameless += 1,
        }
    }

    fn without_id(&mut self, one: &Signs) -> usize {
        let place = self.place(one);
        let (latest, nameless) = (place.latest, place.nameless);
        let Some(nth) = latest else {
            return self.begin_at(one);
        };
        if nameless > 1 && self.sessions[nth].id.is_none() {
            self.mixed.get_or_insert_with(|| one.address.clone());
        }
        nth
    }
}

/// By the address where that is enough; with the id or the endpoint, or with a number, where it is not.
fn names(sessions: &[Session]) -> Vec<String> {
    let mut at: BTreeMap<&str, usize> = BTreeMap::new();
    for session in sessions.iter().filter(|one| one.given.is_none()) {
        *at.entry(&session.address).or_default() += 1;
    }
    let mut taken: BTreeSet<String> = sessions
        .iter()
        .filter_map(|one| one.given.clone())
        .collect();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let name = |session: &Session| {
        if let Some(given) = &session.given {
            return given.clone();
        }
        let address = &session.address;
        let detail = session.id.as_ref().or(session.endpoint.as_ref());
        let wanted = match detail {
            Some(detail) if at[&**address] > 1 => format!("{address} ({detail})"),
            _ => address.clone(),
        };
        let count = counts.entry(wanted.clone()).or_default();
        loop {
            *count += 1;
            let name = match *count {
                1 => wanted.clone(),
                nth => format!("{wanted} ({nth})"),
            };
            if taken.insert(name.clone()) {
                return name;
            }
        }
    };
    sessions.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(url: &str, asked: Option<&str>) -> Signs {
        Signs {
            address: url.split('?').next().unwrap_or_default().to_owned(),
            url: url.to_owned(),
            asked: asked.map(str::to_owned),
            ..Signs::default()
        }
    }

    fn opening(url: &str, answered: Option<&str>) -> Signs {
        Signs {
            answered: answered.map(str::to_owned),
            is_initialize: true,
            is_served: true,
            ..post(url, None)
        }
    }

    #[test]
    fn names_say_what_tells_sessions_apart_and_are_all_different() {
        let all = [
            opening("http://a/mcp", Some("1")),
            opening("http://b/mcp", Some("1")),
            opening("http://b/mcp", Some("2")),
            // The server gives an id again: from here on it means the newer session.
            opening("http://b/mcp", Some("2")),
            post("http://b/mcp?x=1", Some("2")),
            post("http://b/mcp", Some("unheard of")),
            post("http://b/mcp", None),
        ];
        let sessions = sort(&all);
        assert_eq!(sessions.of, [0, 1, 2, 3, 3, 4, 4]);
        let names = [
            "http://a/mcp",
            "http://b/mcp (1)",
            "http://b/mcp (2)",
            "http://b/mcp (2) (2)",
            "http://b/mcp (unheard of)",
        ];
        assert_eq!(sessions.names, names);
        assert!(sessions.are_apart);
        assert_eq!(sessions.mixed, None);
    }

    #[test]
    fn many_sessions_of_one_address_have_names_of_their_own() {
        let all = vec![opening("http://a/mcp", None); 50_000];
        let sessions = sort(&all);
        let names: BTreeSet<&String> = sessions.names.iter().collect();
        assert_eq!(names.len(), all.len());
        assert!(!sessions.are_apart);
    }

    #[test]
    fn messages_go_to_the_latest_stream_that_named_their_endpoint() {
        let stream = |endpoint: &str| Signs {
            endpoints: vec![endpoint.to_owned()],
            ..post("http://a/sse", None)
        };
        let tried = Signs {
            is_initialize: true,
            ..post("http://a/sse", None)
        };
        let all = [
            tried,
            stream("http://a/m?s=1"),
            post("http://a/m?s=1", None),
            stream("http://a/m?s=2"),
            post("http://a/m?s=1", None),
            post("http://a/m?s=2", None),
            // Nothing named it: it is judged beside the latest.
            post("http://a/m?s=3", None),
        ];
        assert_eq!(sort(&all).of, [0, 0, 0, 1, 0, 1, 1]);
    }
}
