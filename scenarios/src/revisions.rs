//! The revisions that a party speaks.

use mcpsim_traces::message::Revision;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A set of revisions, as a party has them; in a scenario file a list of dates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Revisions(u8);

impl Revisions {
    /// These.
    pub const fn of(list: &[Revision]) -> Revisions {
        let mut bits = 0;
        let mut at = 0;
        while at < list.len() {
            bits |= 1 << list[at] as u8;
            at += 1;
        }
        Revisions(bits)
    }

    /// Whether the party speaks it.
    pub const fn has(self, revision: Revision) -> bool {
        self.0 >> revision as u8 & 1 == 1
    }

    /// Those of the party, oldest first.
    pub fn iter(self) -> impl Iterator<Item = Revision> {
        Revision::ALL
            .into_iter()
            .filter(move |&revision| self.has(revision))
    }

    /// The newest with a handshake, if there is one.
    pub fn newest_with_handshake(self) -> Option<Revision> {
        self.iter()
            .filter(|revision| revision.has_handshake())
            .last()
    }

    /// Whether the party speaks the revision without a handshake.
    pub const fn is_stateless_too(self) -> bool {
        self.has(Revision::V2026_07_28)
    }

    /// Whether nothing is in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl Default for Revisions {
    fn default() -> Self {
        Revisions::of(&[Revision::V2025_11_25])
    }
}

impl Serialize for Revisions {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.iter().map(Revision::as_str))
    }
}

impl<'de> Deserialize<'de> for Revisions {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut set = Revisions(0);
        for name in Vec::<String>::deserialize(from)? {
            let Some(revision) = Revision::parse(&name) else {
                let known = Revision::ALL.map(Revision::as_str);
                let message = crate::parse::unknown("unknown revision", &name, &known);
                return Err(serde::de::Error::custom(message));
            };
            if set.has(revision) {
                let message = format!("revision {name} stands there twice");
                return Err(serde::de::Error::custom(message));
            }
            set.0 |= 1 << revision as u8;
        }
        if set.is_empty() {
            return Err(serde::de::Error::custom(
                "a party speaks at least one revision",
            ));
        }
        Ok(set)
    }
}
