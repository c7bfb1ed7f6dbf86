//! Who stands still when all is over, because a pipe is full that it waits to write into, and who is to blame for it.

use mcpsim_traces::event::{PartyId, Role};
use mcpsim_traces::judge::{Blame, Blocked, Finding, Verdict};

use crate::hangs::{self, End, Report, Silence, Stuck, Waits};
use crate::part::flag;
use crate::rules::correlation::REQUEST_UNANSWERED;

/// What somebody does wrong whom others wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Neglect {
    /// It reads nothing while it waits to write itself.
    WritesOnly,
    /// It has taken hold of the server's stderr, and does not read it.
    Stderr,
}

/// Whether an end of that party waits to write into a full pipe.
pub(crate) fn is_stopped(ends: &[End<'_>], party: PartyId) -> bool {
    let mut own = ends.iter().filter(|end| end.party == party);
    own.any(|end| blocked(end) != Blocked::default())
}

/// Nobody waits at an end that is gone.
fn blocked(end: &End<'_>) -> Blocked {
    match end.part.is(flag::CLOSED | flag::EXITED | flag::CRASHED) {
        true => Blocked::default(),
        false => end.blocked,
    }
}

/// One finding for each end that does not read what others wait to write to it, where requests stay open for that.
pub(crate) fn findings(ends: &[End<'_>], waits: &Waits) -> Vec<Finding> {
    let mut findings = vec![];
    for writer in ends {
        let full = blocked(writer);
        let reader = ends
            .iter()
            .find(|end| end.link == writer.link && end.role != writer.role);
        let Some(reader) = reader.filter(|_| full != Blocked::default()) else {
            continue;
        };
        let Some(neglect) = neglect(ends, full, reader) else {
            // Somebody else stops the reader, too: there is a finding of its own.
            continue;
        };
        let touches = |end: usize| ends[end].party == writer.party;
        let group: Vec<&Stuck> = waits
            .stopped
            .iter()
            .filter(|stuck| touches(stuck.open.asker) || touches(stuck.open.debtor))
            .collect();
        let because = because(neglect, reader.role);
        let report = Report {
            verdict: Verdict::Broken,
            severity: REQUEST_UNANSWERED.severity,
            silence: Silence::NoneArrived,
            because: &because,
            blame: Some(Blame::from(reader.role)),
        };
        if let Some(mut finding) = hangs::finding(ends, &group, &report) {
            (finding.party, finding.link) = (reader.party, reader.link);
            findings.push(finding);
        }
    }
    findings
}

/// What the reader does wrong; `None` where it would read if others let it.
fn neglect(ends: &[End<'_>], full: Blocked, reader: &End<'_>) -> Option<Neglect> {
    let mut own = ends.iter().filter(|end| end.party == reader.party);
    if own.any(|end| blocked(end).frames) {
        return Some(Neglect::WritesOnly);
    }
    (full.stderr && !is_stopped(ends, reader.party)).then_some(Neglect::Stderr)
}

fn because(neglect: Neglect, reader: Role) -> String {
    let (reader, writer) = (reader.as_str(), reader.other().as_str());
    match neglect {
        Neglect::WritesOnly => format!(
            "the {reader} reads nothing while it waits to write, and the {writer} waits to write to it"
        ),
        Neglect::Stderr => format!(
            "the {reader} never reads the stderr of the {writer}, which is full: the {writer} waits to write there"
        ),
    }
}
