//! Which versions a recording goes by, and which of them are not known here.

use mcpsim_traces::message::{Kind, Revision, Version};
use mcpsim_traces::tape::Value;

use crate::observer::Seen;

/// More versions than this are not told of one session.
const FOREIGN_MAX: usize = 8;
/// So many characters of a version are told.
const NAME_MAX: usize = 40;

/// A version whose frames are not judged like others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ForeignVersion {
    /// Its name, or the beginning of that.
    pub name: String,
    /// How frames come to go by it.
    pub how: Foreign,
}

/// How frames come to go by a version that is not known here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Foreign {
    /// A handshake agreed on it: of the session, form, ids, answers and transport are judged.
    Agreed,
    /// Requests name it: of them and their answers, form, ids and answers are judged.
    Named,
    /// As before; it is known, but is one that a handshake agrees on.
    Older,
}

/// The versions of one recording.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Versions {
    /// Revisions that handshakes agreed on, in their order; one that comes again stands there again only
    /// after another one.
    pub(crate) agreed: Vec<Revision>,
    pub(crate) foreign: Vec<ForeignVersion>,
    /// Some frame went by 2026-07-28.
    pub(crate) is_modern: bool,
}

impl Versions {
    /// The revision that the session has now.
    #[inline]
    pub(crate) fn agreed(&mut self, revision: Option<Revision>) {
        if self.agreed.last().copied() != revision {
            self.note(revision);
        }
    }

    #[cold]
    fn note(&mut self, revision: Option<Revision>) {
        let Some(revision) = revision else { return };
        // Moved to the end, so that it is found at once.
        self.agreed.retain(|known| *known != revision);
        self.agreed.push(revision);
    }

    /// A frame that goes by a version that is not known here.
    #[cold]
    pub(crate) fn foreign(&mut self, seen: &Seen<'_>, body: Option<Value<'_>>) {
        const META: &[&str] = &["params", "_meta", "io.modelcontextprotocol/protocolVersion"];
        const ANSWER: &[&str] = &["result", "protocolVersion"];
        let (path, how) = match (seen.message.kind, seen.message.version) {
            (Kind::Result, Version::Unknown) => (ANSWER, Foreign::Agreed),
            (Kind::Request, Version::Unknown) => (META, Foreign::Named),
            (Kind::Request, Version::Known(_)) => (META, Foreign::Older),
            _ => return,
        };
        let named = body.and_then(|body| body.path(path));
        let Some(name) = named.and_then(Value::as_text) else {
            return;
        };
        let version = ForeignVersion {
            name: name.chars().take(NAME_MAX).collect(),
            how,
        };
        if self.foreign.len() < FOREIGN_MAX && !self.foreign.contains(&version) {
            self.foreign.push(version);
        }
    }
}
