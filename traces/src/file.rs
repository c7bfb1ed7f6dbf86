//! The trace file: JSON Lines, one header, the events as they happened, a closing line. What the lines mean is in
//! `docs/trace-format.md`; opening a file is left to others.

mod compare;
mod header;
pub(crate) mod json;
pub(crate) mod reader;
mod writer;

pub use compare::{Comparison, Difference, first_difference};
pub use header::{BEGINNING, FORMAT_VERSION, Header, Link, Party, PartyRole};
pub use reader::{OwnedEvent, OwnedWhat, TraceReader};
pub use writer::{EventText, TraceWriter, Written};

use crate::judge::{Blame, Finding, Verdict};

/// A finding as the closing line keeps it: enough to see whether a replay came to the same.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct EndFinding {
    /// The rule's id.
    pub rule: String,
    /// Who is to blame.
    pub blame: Blame,
    /// Whether it is certain.
    pub verdict: Verdict,
}

impl From<&Finding> for EndFinding {
    fn from(finding: &Finding) -> EndFinding {
        EndFinding {
            rule: finding.rule.to_owned(),
            blame: finding.blame,
            verdict: finding.verdict,
        }
    }
}

/// The closing line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct End {
    /// How many events stand before it.
    pub events: u64,
    /// The digest of their lines.
    pub digest: u128,
    /// What was found, in the order given.
    pub findings: Vec<EndFinding>,
}

/// The salt of the digest over the events' lines.
const DIGEST_SALT: u64 = 0x7472_6163_6531;
