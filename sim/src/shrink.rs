//! The shrinker: a smaller case first, then fewer faults, then plainer choices, until nothing more can be
//! taken; the same rule with the same blame must still be broken.

use mcpsim_traces::event::{Choice, Label, Site};
use mcpsim_traces::judge::{Blame, Finding, Verdict};

/// What is shrunk: something that can be run under a script and that knows smaller ones.
pub trait Case: Clone {
    /// Smaller cases, the biggest cut first. Finite: a chain of candidates must end.
    fn candidates(&self) -> Vec<Self>;

    /// Runs the case under a lenient script (by label; used up means the plainest answer), until
    /// the target is found or the world is quiet.
    fn run(&self, script: &[Choice], target: &Target) -> Attempt;
}

/// What must stay broken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    /// The rule.
    pub rule: &'static str,
    /// Who is to blame.
    pub blame: Blame,
}

impl Target {
    /// Whether that finding is the target.
    pub fn is(&self, finding: &Finding) -> bool {
        finding.rule == self.rule
            && finding.blame == self.blame
            && finding.verdict == Verdict::Broken
    }

    /// Whether one of these is.
    pub fn is_in(&self, findings: &[Finding]) -> bool {
        findings.iter().any(|finding| self.is(finding))
    }
}

/// What one execution gave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attempt {
    /// What was found.
    pub findings: Vec<Finding>,
    /// The choices as they were taken.
    pub choices: Vec<Choice>,
    /// How many frames were sent.
    pub frames: u32,
}

/// The result of shrinking.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shrunk<C> {
    /// The smallest case.
    pub case: C,
    /// Its last execution, with the choices that repeat it.
    pub attempt: Attempt,
    /// How many executions it took.
    pub executions: u32,
    /// Whether nothing more can be taken; false where the limit on executions came first.
    pub minimal: bool,
}

/// A script entry that says: the plainest answer here, whatever it is.
pub(crate) const PLAIN: Choice = Choice {
    site: Site::Next,
    bound: 0,
    answer: 0,
    label: Label::Number(0),
};

/// The same script with these entries set to their plainest answer.
pub fn with_plain(choices: &[Choice], mut which: impl FnMut(usize) -> bool) -> Vec<Choice> {
    let plain = |(at, choice): (usize, &Choice)| {
        if which(at) {
            Choice {
                site: choice.site,
                ..PLAIN
            }
        } else {
            *choice
        }
    };
    choices.iter().enumerate().map(plain).collect()
}

/// Shrinks a failing case; `None` when the case does not break the target under that script.
///
/// The result is 1-minimal (after Zeller and Hildebrandt's ddmin, 2002): no candidate of the final
/// case breaks the target, and setting any one of its choices to the plainest answer loses it.
/// Each accepted step makes the triple (case, faults, answers) smaller in a well-founded order, so
/// it ends; `executions_max` bounds it all the same.
pub fn shrink<C: Case>(
    case: C,
    choices: &[Choice],
    target: &Target,
    executions_max: u32,
) -> Option<Shrunk<C>> {
    let attempt = case.run(choices, target);
    if !target.is_in(&attempt.findings) {
        return None;
    }
    let mut shrinker = Shrinker {
        case,
        attempt,
        target,
        executions: 1,
        executions_max,
    };
    let minimal = shrinker.reduce_all().is_ok();
    let Shrinker {
        case,
        attempt,
        executions,
        ..
    } = shrinker;
    Some(Shrunk {
        case,
        attempt,
        executions,
        minimal,
    })
}

struct Shrinker<'a, C> {
    case: C,
    attempt: Attempt,
    target: &'a Target,
    executions: u32,
    executions_max: u32,
}

/// The limit on executions is reached.
struct Exhausted;

impl<C: Case> Shrinker<'_, C> {
    fn reduce_all(&mut self) -> Result<(), Exhausted> {
        // The plainest schedule of all is one execution, and often all that is needed.
        self.try_script(vec![])?;
        loop {
            let mut smaller = self.reduce_case()?;
            // A smaller case may fail under the plainest schedule although the whole one did not.
            if self.attempt.choices.iter().any(|choice| choice.answer != 0) {
                smaller |= self.try_script(vec![])?;
            }
            smaller |= self.reduce_choices(Site::Fault)?;
            smaller |= self.reduce_choices(Site::Party)?;
            smaller |= self.reduce_choices(Site::Next)?;
            if !smaller {
                return Ok(());
            }
        }
    }

    /// Runs and keeps what still breaks the target; a script is kept only if its answers are plainer.
    fn run(&mut self, case: &C, script: &[Choice]) -> Result<Option<Attempt>, Exhausted> {
        if self.executions >= self.executions_max {
            return Err(Exhausted);
        }
        self.executions += 1;
        let attempt = case.run(script, self.target);
        Ok(self.target.is_in(&attempt.findings).then_some(attempt))
    }

    fn try_script(&mut self, script: Vec<Choice>) -> Result<bool, Exhausted> {
        let case = self.case.clone();
        let found = self.run(&case, &script)?;
        let plainer =
            found.filter(|attempt| measure(&attempt.choices) < measure(&self.attempt.choices));
        let kept = plainer.is_some();
        if let Some(attempt) = plainer {
            self.attempt = attempt;
        }
        Ok(kept)
    }

    /// Takes the first candidate that still fails, again and again. After a success the search goes
    /// on at the same place of the new case's list: what failed before it fails again most likely.
    fn reduce_case(&mut self) -> Result<bool, Exhausted> {
        let mut smaller = false;
        let mut at = 0;
        let mut failed_in_a_row = 0;
        let mut candidates = self.case.candidates();
        while failed_in_a_row < candidates.len() {
            let candidate = candidates[at % candidates.len()].clone();
            let script = std::mem::take(&mut self.attempt.choices);
            let found = self.run(&candidate, &script);
            self.attempt.choices = script;
            match found? {
                Some(attempt) => {
                    self.case = candidate;
                    self.attempt = attempt;
                    smaller = true;
                    candidates = self.case.candidates();
                    failed_in_a_row = 0;
                    // The list is shorter now: what stood at this place is gone, the next has moved up.
                    at = if candidates.is_empty() {
                        0
                    } else {
                        at % candidates.len()
                    };
                }
                None => {
                    failed_in_a_row += 1;
                    at += 1;
                }
            }
        }
        Ok(smaller)
    }

    /// Sets choices of that site to their plainest answer: all, halves, quarters, …, one by one.
    fn reduce_choices(&mut self, site: Site) -> Result<bool, Exhausted> {
        let mut smaller = false;
        let mut chunk = self.open(site).len();
        while chunk > 0 {
            let mut from = 0;
            loop {
                let open = self.open(site);
                if from >= open.len() {
                    break;
                }
                let which = &open[from..(from + chunk).min(open.len())];
                let script = with_plain(&self.attempt.choices, |at| which.contains(&at));
                if self.try_script(script)? {
                    smaller = true;
                } else {
                    from += chunk;
                }
            }
            chunk /= 2;
        }
        Ok(smaller)
    }

    /// Where the choices of that site are not plain.
    fn open(&self, site: Site) -> Vec<usize> {
        let open = |(at, choice): (usize, &Choice)| {
            (choice.site == site && choice.answer != 0).then_some(at)
        };
        self.attempt
            .choices
            .iter()
            .enumerate()
            .filter_map(open)
            .collect()
    }
}

/// Fewer faults first, then answers in lexicographic order: setting one choice to 0 always makes it
/// smaller, whatever comes after.
fn measure(choices: &[Choice]) -> (usize, Vec<u32>) {
    let faults = choices
        .iter()
        .filter(|choice| choice.site == Site::Fault && choice.answer != 0)
        .count();
    (faults, choices.iter().map(|choice| choice.answer).collect())
}
