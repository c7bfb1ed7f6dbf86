//! The findings and what is counted beside them: kept, broken, idle and unsure for each rule.

use std::collections::BTreeMap;

use mcpsim_traces::event::{FrameNo, LinkId, PartyId, Stream};
use mcpsim_traces::judge::{Blame, Finding, Severity, Verdict};

use crate::rules::{Rule, When, rules};

/// What became of a rule over a trace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Outcome {
    /// Nothing triggered it.
    Idle,
    /// It was triggered and held.
    Kept,
    /// This vantage cannot tell at least once, and it was never seen broken.
    Unsure,
    /// It was broken.
    Broken,
}

impl Outcome {
    /// The outcome in one lower-case word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Outcome::Idle => "idle",
            Outcome::Kept => "kept",
            Outcome::Unsure => "unsure",
            Outcome::Broken => "broken",
        }
    }
}

/// How many rules had which outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// Rules broken at least once.
    pub broken: u32,
    /// Rules that this vantage could not tell about.
    pub unsure: u32,
    /// Rules triggered and kept.
    pub kept: u32,
    /// Rules that nothing triggered.
    pub idle: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    broken: u32,
    unsure: u32,
}

/// Keeps findings, capped for each rule with the rest counted.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    pub(crate) findings: Vec<Finding>,
    counts: BTreeMap<&'static str, Counts>,
    /// One bit for each [`When`].
    pub(crate) seen: u32,
    per_rule_max: u32,
}

impl Ledger {
    pub(crate) fn new(per_rule_max: u32) -> Ledger {
        Ledger {
            findings: vec![],
            counts: BTreeMap::new(),
            seen: 0,
            per_rule_max,
        }
    }

    #[inline]
    pub(crate) fn saw(&mut self, bits: u32) {
        self.seen |= bits;
    }

    #[cold]
    pub(crate) fn add(&mut self, finding: Finding) {
        let counts = self.counts.entry(finding.rule).or_default();
        let count = match finding.verdict {
            Verdict::Broken => &mut counts.broken,
            Verdict::Unsure => &mut counts.unsure,
        };
        *count = count.saturating_add(1);
        if *count <= self.per_rule_max {
            self.findings.push(finding);
        }
    }

    /// All findings of each rule that had any, kept or not.
    pub(crate) fn counted(&self) -> impl Iterator<Item = (&'static str, u32)> {
        self.counts
            .iter()
            .map(|(&rule, counts)| (rule, counts.broken.saturating_add(counts.unsure)))
    }

    pub(crate) fn outcome(&self, rule: &Rule) -> Outcome {
        match self.counts.get(rule.id) {
            Some(counts) if counts.broken > 0 => Outcome::Broken,
            Some(_) => Outcome::Unsure,
            None if self.seen >> rule.when as u32 & 1 == 1 => Outcome::Kept,
            None => Outcome::Idle,
        }
    }

    pub(crate) fn summary(&self) -> Summary {
        let mut summary = Summary::default();
        for rule in rules() {
            match self.outcome(rule) {
                Outcome::Idle => summary.idle += 1,
                Outcome::Kept => summary.kept += 1,
                Outcome::Unsure => summary.unsure += 1,
                Outcome::Broken => summary.broken += 1,
            }
        }
        summary
    }
}

/// The bit of a trigger in [`Ledger::seen`].
pub(crate) const fn bit(when: When) -> u32 {
    1 << when as u32
}

/// The frame that is judged, and where its findings go.
pub(crate) struct Cx<'a> {
    pub(crate) ledger: &'a mut Ledger,
    pub(crate) party: PartyId,
    pub(crate) link: LinkId,
    pub(crate) frame: FrameNo,
    pub(crate) stream: Stream,
    pub(crate) text: Option<&'a [u8]>,
    pub(crate) slips: &'a [&'a str],
    /// Milliseconds of the log; 0 where no time is kept.
    pub(crate) now_ms: u32,
    /// The frame was refused by an HTTP error status, or stands in the body of one.
    pub(crate) refused: bool,
}

impl Cx<'_> {
    /// The same place, for a member of the frame.
    pub(crate) fn member<'b>(&'b mut self, text: &'b [u8]) -> Cx<'b> {
        Cx {
            ledger: self.ledger,
            party: self.party,
            link: self.link,
            frame: self.frame,
            stream: self.stream,
            text: Some(text),
            slips: self.slips,
            now_ms: self.now_ms,
            refused: self.refused,
        }
    }

    /// Whether the sender said that it breaks this rule with this frame.
    pub(crate) fn is_expected(&self, rule: &Rule) -> bool {
        self.slips.contains(&rule.id)
    }

    #[cold]
    pub(crate) fn report(&mut self, case: Case<'_>) {
        if self.is_expected(case.rule) {
            return;
        }
        let mut frames: Vec<FrameNo> = case.frames.iter().copied().filter(|&no| no != 0).collect();
        frames.dedup();
        self.ledger.add(Finding {
            rule: case.rule.id,
            verdict: case.verdict,
            severity: case.severity,
            blame: case.blame,
            party: self.party,
            link: self.link,
            frames,
            message: case.message,
        });
    }
}

/// A finding before it is filed.
pub(crate) struct Case<'a> {
    pub(crate) rule: &'static Rule,
    pub(crate) verdict: Verdict,
    pub(crate) severity: Severity,
    pub(crate) blame: Blame,
    pub(crate) frames: &'a [FrameNo],
    pub(crate) message: String,
}
