//! Answers that come after the patience ran out: they were late, and are not missing. The protocol sets no time for an answer, so
//! what was reported as missing is then no certain fault any more.

use std::collections::BTreeMap;

use mcpsim_traces::event::{FrameNo, Role};
use mcpsim_traces::judge::{Severity, Verdict};
use mcpsim_traces::key::Key;

use crate::ledger::Ledger;

/// A request whose answer was reported as missing.
#[derive(Clone, Copy, Debug)]
struct Missing {
    /// Which of the groups it belongs to.
    group: usize,
    /// Since when its sender has heard nothing, in milliseconds of the log.
    since: u64,
}

/// Requests that one finding tells of.
#[derive(Clone, Debug)]
struct Group {
    rule: &'static str,
    /// Which finding it is; `None` where it was only counted.
    finding: Option<usize>,
    /// Where the finding's own words end.
    words: usize,
    all: u32,
    answered: u32,
}

/// Requests that were reported because the patience ran out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overdue {
    missing: BTreeMap<(Role, Key), Missing>,
    groups: Vec<Group>,
}

impl Overdue {
    pub(crate) fn is_empty(&self) -> bool {
        self.missing.is_empty()
    }

    /// The finding, which the ledger has just got, tells of these requests that the party owes answers to; with the time since when
    /// their sender has heard nothing.
    pub(crate) fn put(
        &mut self,
        ledger: &Ledger,
        (rule, finding): (&'static str, Option<usize>),
        debtor: Role,
        requests: impl Iterator<Item = (Key, u64)>,
    ) {
        let group = self.groups.len();
        let mut all = 0;
        for (id, since) in requests {
            self.missing.insert((debtor, id), Missing { group, since });
            all += 1;
        }
        let words = finding.map_or(0, |nth| ledger.findings[nth].message.len());
        self.groups.push(Group {
            rule,
            finding,
            words,
            all,
            answered: 0,
        });
    }

    /// The party sends an answer.
    #[cold]
    pub(crate) fn answered(
        &mut self,
        ledger: &mut Ledger,
        (by, id): (Role, Key),
        frame: FrameNo,
        now_ms: u64,
    ) {
        let Some(missing) = self.missing.remove(&(by, id)) else {
            return;
        };
        let group = &mut self.groups[missing.group];
        group.answered += 1;
        let is_last = group.answered == group.all;
        if is_last {
            ledger.soften(group.rule);
        }
        let Some(finding) = group.finding.and_then(|nth| ledger.findings.get_mut(nth)) else {
            return;
        };
        finding.message.truncate(group.words);
        let after = span(now_ms.saturating_sub(missing.since));
        finding.message.push_str(&match (is_last, group.all) {
            (true, 1) => format!("; the answer came after {after}"),
            (true, _) => format!("; the last of the answers came after {after}"),
            (false, _) => format!("; {} of the answers came later", group.answered),
        });
        if is_last {
            finding.verdict = Verdict::Unsure;
            finding.severity = Severity::Warning;
            finding.frames.push(frame);
        }
    }

    /// The party withdraws a request: whether an answer would have come nobody will know.
    #[cold]
    pub(crate) fn cancelled(&self, ledger: &mut Ledger, (by, id): (Role, Key), now_ms: u64) {
        let debtor = match by {
            Role::Client => Role::Server,
            Role::Server => Role::Client,
        };
        let Some(missing) = self.missing.get(&(debtor, id)) else {
            return;
        };
        let group = &self.groups[missing.group];
        let finding = group.finding.and_then(|nth| ledger.findings.get_mut(nth));
        if let (Some(finding), 1) = (finding, group.all) {
            finding.message.truncate(group.words);
            let after = span(now_ms.saturating_sub(missing.since));
            let words = format!("; the {} cancelled it after {after}", by.as_str());
            finding.message.push_str(&words);
        }
    }
}

fn span(ms: u64) -> String {
    match ms {
        0..10_000 => format!("{ms} ms"),
        ms => format!("{} s", ms / 1000),
    }
}
