//! The findings and what is counted beside them: kept, broken, idle and unsure for each rule.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use mcpsim_traces::event::{FrameNo, LinkId, PartyId, Stream};
use mcpsim_traces::judge::{Blame, Finding, Severity, Verdict};
use mcpsim_traces::lost::Lost;
use mcpsim_traces::message::{Kind, Revision};
use mcpsim_traces::tape::Value;

use crate::coverage::Reached;
use crate::era::{Awaits, Era, Held, is_of_all_versions};
use crate::rules::lost::needed;
use crate::rules::{Category, Rule, When, rule, rules};
use crate::schema::Schemas;
use crate::spelled::{has_long, spelled};
use crate::spots::spot;
use crate::unread::Unread;

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

impl Summary {
    pub(crate) fn of(outcomes: impl Iterator<Item = Outcome>) -> Summary {
        let mut summary = Summary::default();
        for outcome in outcomes {
            match outcome {
                Outcome::Idle => summary.idle += 1,
                Outcome::Kept => summary.kept += 1,
                Outcome::Unsure => summary.unsure += 1,
                Outcome::Broken => summary.broken += 1,
            }
        }
        summary
    }
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
    /// Findings on the frame at hand that wait for what is to come; the part keeps them.
    pub(crate) held: Vec<Held>,
    counts: BTreeMap<&'static str, Counts>,
    /// What was seen: one bit for each [`When`].
    pub(crate) seen: Seen,
    /// What else was: messages, and how far each end's session came.
    pub(crate) reached: Reached,
    per_rule_max: u32,
    /// Schemas that were announced, for both sides.
    pub(crate) schemas: Schemas,
    /// Frames that could not be looked into.
    pub(crate) unread: Unread,
    /// Rules of which some case could not be told, for it hangs on what lies before the recording.
    passed_over: BTreeSet<&'static str>,
}

impl Ledger {
    pub(crate) fn new(per_rule_max: u32) -> Ledger {
        Ledger {
            findings: vec![],
            held: vec![],
            counts: BTreeMap::new(),
            seen: Seen::default(),
            reached: Reached::default(),
            per_rule_max,
            schemas: Schemas::default(),
            unread: Unread::default(),
            passed_over: BTreeSet::new(),
        }
    }

    #[inline]
    pub(crate) fn saw(&mut self, bits: Seen) {
        for (known, new) in self.seen.0.iter_mut().zip(bits.0) {
            *known |= new;
        }
    }

    #[cold]
    pub(crate) fn add(&mut self, finding: Finding) {
        self.filed(finding);
    }

    /// Takes a finding; which one it is among those that are kept, if it is.
    pub(crate) fn filed(&mut self, mut finding: Finding) -> Option<usize> {
        // Whatever was not spelled out where the frame was at hand.
        let waits = finding.waits.iter_mut().map(|wait| &mut wait.request);
        for words in waits.chain([&mut finding.message, &mut finding.knew]) {
            if has_long(words) {
                *words = spelled(words, None);
            }
        }
        let counts = self.counts.entry(finding.rule).or_default();
        let count = match finding.verdict {
            Verdict::Broken => &mut counts.broken,
            Verdict::Unsure => &mut counts.unsure,
        };
        *count = count.saturating_add(1);
        let is_kept = *count <= self.per_rule_max;
        is_kept.then(|| {
            self.findings.push(finding);
            self.findings.len() - 1
        })
    }

    /// A finding of that rule that was certain is so no longer.
    pub(crate) fn soften(&mut self, rule: &'static str) {
        let counts = self.counts.entry(rule).or_default();
        counts.broken = counts.broken.saturating_sub(1);
        counts.unsure = counts.unsure.saturating_add(1);
    }

    /// Whether another finding of that rule would only be counted.
    pub(crate) fn is_full(&self, rule: &str, verdict: Verdict) -> bool {
        self.counts.get(rule).is_some_and(|counts| {
            let count = match verdict {
                Verdict::Broken => counts.broken,
                Verdict::Unsure => counts.unsure,
            };
            count >= self.per_rule_max
        })
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
            None if self.unread.hides(rule) || self.passed_over.contains(rule.id) => {
                Outcome::Unsure
            }
            None if self.seen.has(rule.when) => Outcome::Kept,
            None => Outcome::Idle,
        }
    }

    /// Rules that were broken, or that could not be told.
    pub(crate) fn found(&self) -> impl Iterator<Item = (&'static str, Outcome)> {
        let found = self
            .counts
            .iter()
            .map(|(&rule, counts)| match counts.broken {
                0 => (rule, Outcome::Unsure),
                _ => (rule, Outcome::Broken),
            });
        // Seldom anything at all: only then every rule is asked.
        let is_hidden = self.unread.count > 0 || !self.passed_over.is_empty();
        let asked = if is_hidden { rules() } else { &[] };
        let hidden = asked.iter().filter(|rule| {
            !self.counts.contains_key(rule.id) && self.outcome(rule) == Outcome::Unsure
        });
        found.chain(hidden.map(|rule| (rule.id, Outcome::Unsure)))
    }

    pub(crate) fn summary(&self) -> Summary {
        Summary::of(rules().iter().map(|rule| self.outcome(rule)))
    }
}

/// A set of [`When`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Seen([u64; When::WORDS]);

impl Seen {
    pub(crate) const fn words(&self) -> &[u64; When::WORDS] {
        &self.0
    }

    #[inline]
    pub(crate) const fn has(self, when: When) -> bool {
        self.0[when.0 as usize / 64] >> (when.0 % 64) & 1 == 1
    }
}

/// The set of that trigger alone.
#[inline]
pub(crate) const fn bit(when: When) -> Seen {
    let mut seen = [0; When::WORDS];
    seen[when.0 as usize / 64] = 1 << (when.0 % 64);
    Seen(seen)
}

/// What a frame outside sessions triggers.
#[inline]
pub(crate) fn stateless_bits(kind: Kind) -> Seen {
    let frame = bit(When::STATELESS_FRAME);
    frame
        | match kind {
            Kind::Request => bit(When::STATELESS) | bit(When::STATELESS_CALL),
            Kind::Notification => bit(When::STATELESS_CALL) | bit(When::STATELESS_NOTIFICATION),
            Kind::Result => bit(When::STATELESS_RESPONSE) | bit(When::STATELESS_RESULT),
            Kind::Error => bit(When::STATELESS_RESPONSE) | bit(When::STATELESS_ERROR),
            Kind::Batch | Kind::Malformed => Seen::default(),
        }
}

impl std::ops::BitOr for Seen {
    type Output = Seen;

    #[inline]
    fn bitor(mut self, other: Seen) -> Seen {
        self |= other;
        self
    }
}

impl std::ops::BitOrAssign for Seen {
    #[inline]
    fn bitor_assign(&mut self, other: Seen) {
        for (word, new) in self.0.iter_mut().zip(other.0) {
            *word |= new;
        }
    }
}

/// The frame that is judged, and where its findings go.
pub(crate) struct Cx<'a> {
    pub(crate) ledger: &'a mut Ledger,
    pub(crate) party: PartyId,
    pub(crate) link: LinkId,
    pub(crate) frame: FrameNo,
    pub(crate) stream: Stream,
    pub(crate) text: Option<&'a [u8]>,
    /// The values of the text; `None` where there is no text, or where it is no JSON.
    pub(crate) body: Option<Value<'a>>,
    /// `params`, `result` or `error`, as the kind of the frame has it ([`payload_of`]).
    pub(crate) payload: Option<Value<'a>>,
    /// Where the text begins in the frame: not at its beginning in an array.
    pub(crate) base: u32,
    /// By which rules the frame is judged.
    pub(crate) era: Era,
    /// The frame stands outside any session: revision 2026-07-28 or later governs it.
    pub(crate) is_stateless: bool,
    /// What findings wait for where the server has not shown what it knows.
    pub(crate) awaits: Awaits,
    pub(crate) slips: &'a [&'a str],
    /// Milliseconds of the log; 0 where no time is kept.
    pub(crate) now_ms: u64,
    /// The frame was refused by an HTTP error status, or stands in the body of one.
    pub(crate) refused: bool,
    /// Its HTTP request shows that the client sends it by the revision that was agreed on.
    pub(crate) is_agreed: bool,
    /// An answer, in an exchange whose request was not recorded: it belongs to another one than any that was seen.
    pub(crate) is_unasked: bool,
    /// It comes on an HTTP exchange whose request was not recorded.
    pub(crate) is_astray: bool,
    /// It came on a stream that goes on with a broken one: what was kept for that may have been said long before.
    pub(crate) is_replayed: bool,
    /// Its HTTP request names 2026-07-28 in its headers.
    pub(crate) is_newer_head: bool,
    /// Whether the params of a request break the shape of its method, where its sender was judged.
    pub(crate) is_misshapen: Option<bool>,
}

/// What a frame of that kind carries: the value of `params`, `result` or `error`.
#[inline]
pub(crate) fn payload_of(body: Option<Value<'_>>, kind: Kind) -> Option<Value<'_>> {
    body?.get(match kind {
        Kind::Request | Kind::Notification => "params",
        Kind::Result => "result",
        Kind::Error => "error",
        Kind::Batch | Kind::Malformed => return None,
    })
}

impl Cx<'_> {
    /// The same place, for a member of the frame, which is of that kind.
    pub(crate) fn member<'b>(&'b mut self, member: &Member<'b>, kind: Kind) -> Cx<'b> {
        Cx {
            ledger: self.ledger,
            party: self.party,
            link: self.link,
            frame: self.frame,
            stream: self.stream,
            text: Some(member.text),
            body: member.body,
            payload: payload_of(member.body, kind),
            base: self.base + member.at,
            era: Era::Session,
            is_stateless: false,
            awaits: Awaits::Proof,
            slips: self.slips,
            now_ms: self.now_ms,
            refused: self.refused,
            is_agreed: self.is_agreed,
            is_unasked: self.is_unasked,
            is_astray: self.is_astray,
            is_replayed: self.is_replayed,
            is_newer_head: self.is_newer_head,
            is_misshapen: None,
        }
    }

    /// Whether the sender said that it breaks this rule with this frame.
    pub(crate) fn is_expected(&self, rule: &Rule) -> bool {
        self.slips.contains(&rule.id)
    }

    /// The frame is judged by those rules from here on.
    #[inline]
    pub(crate) fn set_era(&mut self, era: Era) {
        self.era = era;
        self.is_stateless = era.is_stateless();
    }

    /// Whether the rule is broken here hangs on what lies before the recording: it is not kept.
    #[cold]
    pub(crate) fn pass_over(&mut self, rule: &'static Rule) {
        let eras = match self.era {
            Era::Bare => &[false, true][..],
            _ if self.is_stateless => &[true],
            _ => &[false],
        };
        for &is_stateless in eras {
            if let Some(rule) = rule.in_era(is_stateless) {
                self.ledger.passed_over.insert(rule.id);
            }
        }
    }

    #[cold]
    pub(crate) fn report(&mut self, case: Case<'_>) {
        if self.era == Era::Bare {
            // One of the two, once it can be told which.
            for (is_stateless, awaits) in [(false, Awaits::Handshake), (true, Awaits::Newer)] {
                if let Some(finding) = self.finding(&case, is_stateless) {
                    self.ledger.held.push(Held { awaits, finding });
                }
            }
            return;
        }
        let Some(finding) = self.finding(&case, self.is_stateless) else {
            return;
        };
        let is_form = rule(finding.rule).is_some_and(is_of_form);
        match self.era {
            Era::Foreign if !rule(finding.rule).is_some_and(is_of_all_versions) => {}
            Era::Unproven if !is_form => {
                let awaits = self.awaits;
                self.ledger.held.push(Held { awaits, finding });
            }
            _ => self.ledger.add(finding),
        }
    }

    /// The finding of a case by the rules of that era; `None` where that has no such rule, or where the
    /// sender said that it breaks it.
    fn finding(&self, case: &Case<'_>, is_stateless: bool) -> Option<Finding> {
        let rule = case.rule.in_era(is_stateless)?;
        if self.is_expected(case.rule) || self.is_expected(rule) {
            return None;
        }
        let severity = match case.severity {
            Some(severity) => severity,
            None if is_stateless => rule.severity_at(Some(Revision::V2026_07_28)),
            None => rule.severity_at(case.revision),
        };
        let mut frames: Vec<FrameNo> = case.frames.iter().copied().filter(|&no| no != 0).collect();
        frames.dedup();
        // A spot lies in the last frame: where that is another one, there is none.
        let is_last = self.frame != 0 && frames.last() == Some(&self.frame);
        let spot = case
            .spot
            .clone()
            .or_else(|| spot(rule, self.text?, self.body))
            .filter(|_| is_last);
        let verdict = match self.is_replayed && needed(rule, Lost::STREAMS) != Lost::NOTHING {
            true => Verdict::Unsure,
            false => case.verdict,
        };
        Some(Finding {
            rule: rule.id,
            verdict,
            severity,
            blame: case.blame,
            party: self.party,
            link: self.link,
            frames,
            message: spelled(&case.message, self.body),
            spot: spot.map(|spot| (spot.start as u32 + self.base, spot.end as u32 + self.base)),
            knew: spelled(&case.knew, self.body),
            waits: vec![],
        })
    }
}

/// Whether a rule is one of form, ids or correlation.
fn is_of_form(rule: &Rule) -> bool {
    matches!(
        rule.category,
        Category::Envelope | Category::Ids | Category::Correlation
    )
}

/// A finding before it is filed.
pub(crate) struct Case<'a> {
    pub(crate) rule: &'static Rule,
    pub(crate) verdict: Verdict,
    /// Another one than the rule's own.
    pub(crate) severity: Option<Severity>,
    /// The revision that governs the party.
    pub(crate) revision: Option<Revision>,
    pub(crate) blame: Blame,
    pub(crate) frames: &'a [FrameNo],
    /// The offending member, in the frame's text.
    pub(crate) spot: Option<Range<usize>>,
    pub(crate) knew: String,
    pub(crate) message: String,
}

impl Case<'_> {
    /// A certain finding of the rule's own severity that blames nobody.
    pub(crate) fn new(rule: &'static Rule, message: String) -> Self {
        Case {
            rule,
            verdict: Verdict::Broken,
            severity: None,
            revision: None,
            blame: Blame::None,
            frames: &[],
            spot: None,
            knew: String::new(),
            message,
        }
    }
}

/// A member of an array of messages.
#[derive(Clone, Copy)]
pub(crate) struct Member<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) body: Option<Value<'a>>,
    /// Where it begins in the array's text.
    pub(crate) at: u32,
}
