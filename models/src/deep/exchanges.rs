//! Exchanges of 2026-07-28: requests whose result asked for input, until a new request brings it.

use std::sync::Arc;

use mcpsim_traces::encode::Encoder;
use mcpsim_traces::event::FrameNo;
use mcpsim_traces::key::Key;
use mcpsim_traces::message::Method;
use mcpsim_traces::tape::Value;

use crate::deep::digest;
use crate::part::Fact;

/// More exchanges than this are not followed: one that is over is forgotten first.
const EXCHANGES_MAX: usize = 256;
/// More requests that lack something than this are not followed: the oldest is forgotten.
const LACKING_MAX: usize = 64;
/// A result that asks for more than this is followed without what it asks for.
const KEYS_MAX: usize = 64;
const REQUESTS_MAX: usize = 1 << 16;
/// So many characters of a key's name are kept for messages.
const NAME_MAX: usize = 40;

/// What a request inside a result asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Input {
    Elicitation,
    Sampling,
    Roots,
    /// What the revision does not know.
    Other,
}

impl Input {
    /// What that request inside a result asks for.
    pub(crate) fn of(request: Value<'_>) -> Input {
        let method = request.get("method").and_then(Value::as_bytes);
        match method.map_or(Method::None, |name| Method::parse(&name)) {
            Method::ElicitationCreate => Input::Elicitation,
            Method::SamplingCreateMessage => Input::Sampling,
            Method::RootsList => Input::Roots,
            _ => Input::Other,
        }
    }
}

/// A key that was asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct AskedKey {
    pub(crate) key: Key,
    pub(crate) input: Input,
    /// Its beginning, for messages.
    pub(crate) name: Box<str>,
}

/// The requestState of a result or a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    None,
    Some(Key),
    /// It is no string.
    Unclear,
}

impl State {
    pub(crate) fn read(value: Option<Value<'_>>) -> State {
        match value {
            None => State::None,
            Some(value) if value.is_text() => State::Some(value.key()),
            Some(_) => State::Unclear,
        }
    }
}

/// How far an exchange is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// Nobody has come back to it.
    Asked,
    /// The request of that id brought the input, and has no answer yet.
    Retried,
    /// The retry was answered by something else than a further question.
    Over,
    /// The retry was answered by a further question.
    Superseded,
}

/// A request whose result asked for input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Exchange {
    pub(crate) method: Method,
    pub(crate) subject: Key,
    /// The id of the request.
    pub(crate) id: Key,
    /// The id of the request that began it all, some rounds before.
    pub(crate) first_id: Key,
    /// The frame of the result.
    pub(crate) frame: FrameNo,
    pub(crate) state: State,
    pub(crate) keys: Vec<AskedKey>,
    /// The keys are not all known.
    pub(crate) is_vague: bool,
    /// What the request asked for beside input and `_meta`; `None` where that is not known.
    pub(crate) params: Option<u128>,
    /// The text of what was asked.
    pub(crate) requests: Option<Arc<[u8]>>,
    /// When the result went to the party.
    pub(crate) fact: Fact,
    pub(crate) stage: Stage,
    /// The request that last came back to it.
    pub(crate) retry: Key,
    /// When its answer went to the party, where that asked further.
    pub(crate) superseded: Fact,
}

impl Exchange {
    /// Whether that key was asked.
    pub(crate) fn asked(&self, key: Key) -> Option<&AskedKey> {
        self.keys.iter().find(|asked| asked.key == key)
    }

    /// Reads what a result asks for.
    pub(crate) fn read_requests(&mut self, requests: Option<Value<'_>>) {
        let Some(requests) = requests else { return };
        if !requests.is_object() {
            self.is_vague = true;
            return;
        }
        for (name, request) in requests.members() {
            if self.keys.len() >= KEYS_MAX {
                self.is_vague = true;
                return;
            }
            let text = name.as_text().unwrap_or_default();
            self.keys.push(AskedKey {
                key: name.key(),
                input: Input::of(request),
                name: text.chars().take(NAME_MAX).collect(),
            });
        }
        let raw = requests.raw();
        self.requests = (raw.len() <= REQUESTS_MAX).then(|| Arc::from(raw));
    }
}

/// The exchanges of one party.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Exchanges {
    /// In the order of their results.
    list: Vec<Exchange>,
    /// One had to be forgotten.
    pub(crate) is_lossy: bool,
    /// Server: open requests that bring less than was asked.
    lacking: Vec<(Key, Lack)>,
}

/// What a request lacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lack {
    /// An answer to something that was asked.
    Lacking {
        /// It brings a state, which may be refused too.
        has_state: bool,
    },
    /// Its answers are no object.
    Mistyped,
}

impl Exchanges {
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (usize, &Exchange)> {
        self.list.iter().enumerate()
    }

    pub(crate) fn get(&self, at: usize) -> &Exchange {
        &self.list[at]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// A result asks for input.
    pub(crate) fn ask(&mut self, new: Exchange) {
        if self.list.len() >= EXCHANGES_MAX {
            let is_over = |one: &Exchange| matches!(one.stage, Stage::Over | Stage::Superseded);
            let at = self.list.iter().position(is_over).unwrap_or(0);
            self.list.remove(at);
            self.is_lossy = true;
        }
        self.list.push(new);
    }

    /// The request of that id comes back to the exchange at that place.
    pub(crate) fn retry(&mut self, at: usize, id: Key) {
        let one = &mut self.list[at];
        one.stage = Stage::Retried;
        one.retry = id;
    }

    /// The request of that id is answered: the exchange that it came back to moves on. Handed back is the
    /// id with which that began.
    pub(crate) fn answer(&mut self, id: Key, asks_further: bool, fact: Fact) -> Option<Key> {
        let mut list = self.list.iter_mut();
        let one = list.find(|one| one.stage == Stage::Retried && one.retry == id)?;
        if asks_further {
            one.stage = Stage::Superseded;
            one.superseded = fact;
        } else {
            one.stage = Stage::Over;
        }
        Some(one.first_id)
    }

    /// An open request brings less than was asked.
    pub(crate) fn lack(&mut self, id: Key, lack: Lack) {
        if self.lacking.len() >= LACKING_MAX {
            self.lacking.remove(0);
        }
        self.lacking.push((id, lack));
    }

    /// The request of that id is answered: what it lacked.
    pub(crate) fn settle(&mut self, id: Key) -> Option<Lack> {
        let at = self.lacking.iter().position(|(known, _)| *known == id)?;
        Some(self.lacking.remove(at).1)
    }

    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.word(0x6578_6368 << 32 | self.list.len() as u64);
        for one in &self.list {
            for key in [one.subject, one.id, one.first_id, one.retry] {
                encoder.key(key);
            }
            match one.state {
                State::Some(key) => encoder.key(key),
                State::None => encoder.word(1),
                State::Unclear => encoder.word(2),
            }
            encoder.word(
                u64::from(one.fact.0) << 32
                    | u64::from(one.superseded.0) << 16
                    | u64::from(one.is_vague) << 15
                    | (one.stage as u64) << 12
                    | one.method as u64,
            );
            encoder.word(one.params.unwrap_or_default() as u64);
            encoder.bytes(one.requests.as_deref().unwrap_or_default());
            encoder.word(one.keys.len() as u64);
            for asked in &one.keys {
                encoder.key(asked.key);
                encoder.word(asked.input as u64);
            }
        }
        encoder.word(u64::from(self.is_lossy) << 32 | self.lacking.len() as u64);
        for (id, lack) in &self.lacking {
            encoder.key(*id);
            encoder.word(match lack {
                Lack::Mistyped => 0,
                Lack::Lacking { has_state } => 1 + u64::from(*has_state),
            });
        }
    }
}

/// A fingerprint of what a request asks for beside input and `_meta`: equal for equal JSON values, however
/// they are written. `None` where it is nested too deep to tell.
pub(crate) fn fingerprint(params: Value<'_>) -> Option<u128> {
    const INPUT: &[&str] = &["_meta", "inputResponses", "requestState"];
    digest::of_members(params, |name, value| {
        // Absent arguments are no arguments.
        let is_empty = value.is_object() && value.size() == 1;
        !name.is_one_of(INPUT) && !is_empty
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpsim_traces::scan::Scanner;

    fn of(text: &str) -> Option<u128> {
        let mut scanner = Scanner::recording();
        scanner.value(text.as_bytes(), 0).expect("JSON");
        fingerprint(scanner.body(text.as_bytes()).expect("a body"))
    }

    /// Equal values have equal fingerprints, whatever their spelling; others have not.
    #[test]
    fn values_are_compared_and_not_texts() {
        let one = of(r#"{"name":"t","arguments":{"a":1,"b":["x",{"c":null}]}}"#);
        for same in [
            r#"{"arguments":{"b":["x",{"c":null}],"a":1.0},"name":"t"}"#,
            r#"{"name":"t","arguments":{"a":1e0,"b":["\u0078",{"c":null}]},"_meta":{"n":7},"requestState":"s"}"#,
        ] {
            assert_eq!(of(same), one, "{same}");
        }
        for other in [
            r#"{"name":"t","arguments":{"a":1,"b":["x",{"c":false}]}}"#,
            r#"{"name":"t","arguments":{"a":1,"b":[{"c":null},"x"]}}"#,
            r#"{"name":"t","arguments":{"a":"1","b":["x",{"c":null}]}}"#,
            r#"{"name":"t"}"#,
        ] {
            assert_ne!(of(other), one, "{other}");
        }
        assert_eq!(of(r#"{"name":"t"}"#), of(r#"{"name":"t","arguments":{}}"#));
        let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(100), "]".repeat(100));
        assert_eq!(of(&deep), None);
    }
}
