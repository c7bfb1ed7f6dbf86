//! What a run has reached, and which run of a campaign was the first to: rules, methods, and the states of each end with the
//! ways between them. Nothing here depends on the order in which runs are merged.

use std::collections::BTreeMap;

use mcpsim_traces::event::Role;
use mcpsim_traces::message::{Kind, Method, Revision};

use crate::ledger::{Outcome, Summary};
use crate::monitor::Monitor;
use crate::part::{Part, flag};
use crate::rules::envelope::{is_in, may_send};
use crate::rules::stateless::correlation::may_send_newer;
use crate::rules::{Rule, When, rules};

/// How far one end's session has come, as the judge sees it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum State {
    /// Nothing has been said that begins a session, or does without one.
    Fresh,
    /// `initialize` is sent (client) or has come (server), and has no answer.
    Opening,
    /// `initialize` is answered; `notifications/initialized` is not sent (client) or has not come (server).
    Greeted,
    /// The handshake is done.
    Ready,
    /// `initialize` was answered with an error.
    Refused,
    /// Requests speak for themselves: 2026-07-28.
    Stateless,
    /// The link is closed, and the party knows.
    Closed,
    /// The party is gone: it ended by itself, or the world took it.
    Gone,
}

impl State {
    /// All states.
    pub const ALL: [State; 8] = [
        State::Fresh,
        State::Opening,
        State::Greeted,
        State::Ready,
        State::Refused,
        State::Stateless,
        State::Closed,
        State::Gone,
    ];

    /// The state in one lower-case word.
    pub const fn as_str(self) -> &'static str {
        match self {
            State::Fresh => "fresh",
            State::Opening => "opening",
            State::Greeted => "greeted",
            State::Ready => "ready",
            State::Refused => "refused",
            State::Stateless => "stateless",
            State::Closed => "closed",
            State::Gone => "gone",
        }
    }

    /// The state of that part.
    #[cold]
    pub(crate) fn of(part: &Part) -> State {
        let (is_answered, is_refused, is_initialized) = match part.role {
            Role::Client => (
                part.opened.is_some(),
                part.refused.is_some(),
                part.is(flag::INITIALIZED_SENT),
            ),
            Role::Server => (
                part.is(flag::ANSWERED_INIT),
                part.is(flag::INIT_REFUSED),
                part.initialized.is_some(),
            ),
        };
        match () {
            () if part.is(flag::EXITED | flag::CRASHED) => State::Gone,
            () if part.is(flag::CLOSED) => State::Closed,
            () if is_answered && is_initialized => State::Ready,
            () if is_answered => State::Greeted,
            () if is_refused => State::Refused,
            () if part.handshake_begun() => State::Opening,
            () if part.is(flag::STATELESS | flag::MODERN) => State::Stateless,
            () => State::Fresh,
        }
    }

    /// Whether no frame leads out of it.
    #[inline]
    pub(crate) fn is_settled(part: &Part) -> bool {
        match part.role {
            Role::Client => part.is(flag::INITIALIZED_SENT) && part.opened.is_some(),
            Role::Server => part.is(flag::ANSWERED_INIT) && part.initialized.is_some(),
        }
    }
}

/// The ways between states that sessions of a revision with a handshake can take …
const WAYS: &[(State, State)] = &[
    (State::Fresh, State::Opening),
    (State::Opening, State::Greeted),
    (State::Opening, State::Refused),
    // A client may try again with another version.
    (State::Refused, State::Greeted),
    (State::Greeted, State::Ready),
    (State::Fresh, State::Closed),
    (State::Opening, State::Closed),
    (State::Greeted, State::Closed),
    (State::Ready, State::Closed),
    (State::Refused, State::Closed),
    (State::Fresh, State::Gone),
    (State::Opening, State::Gone),
    (State::Greeted, State::Gone),
    (State::Ready, State::Gone),
    (State::Refused, State::Gone),
];

/// … and those of a revision without one.
const WAYS_STATELESS: &[(State, State)] = &[
    (State::Fresh, State::Stateless),
    // A client that knows both may fall back.
    (State::Stateless, State::Opening),
    (State::Fresh, State::Closed),
    (State::Stateless, State::Closed),
    (State::Fresh, State::Gone),
    (State::Stateless, State::Gone),
];

/// What can be reached, one bit each: triggers of rules, which a run has in its ledger, then methods, then ways between states.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reached([u64; Reached::WORDS]);

const METHODS_AT: usize = When::WORDS;
/// No revision agreed on yet, and each of the revisions.
const REVISIONS: usize = Revision::ALL.len() + 1;
/// Requests, notifications, results, errors.
const KINDS: usize = 4;
const WAYS_AT: usize = METHODS_AT + REVISIONS * 2 * KINDS;

// A word holds every method, and every pair of states.
const _: () = assert!((Method::Unknown as usize) < 64 && State::ALL.len() <= 8);

impl Default for Reached {
    fn default() -> Reached {
        Reached([0; Reached::WORDS])
    }
}

impl Reached {
    const WORDS: usize = WAYS_AT + 2;

    #[inline]
    fn set(&mut self, bit: usize) {
        self.0[bit / 64] |= 1 << (bit % 64);
    }

    /// That side has sent a message of that kind that is about that method.
    #[inline]
    pub(crate) fn message(
        &mut self,
        by: Role,
        kind: Kind,
        method: Method,
        revision: Option<Revision>,
    ) {
        self.set(method_bit(by, kind, method, revision));
    }

    /// An end of that role has gone from one state to another. From an end of a session no way leads on.
    pub(crate) fn way(&mut self, role: Role, from: State, to: State) {
        if from != to && !matches!(from, State::Closed | State::Gone) {
            self.set(way_bit(role, from, to));
        }
    }
}

#[inline]
fn method_bit(by: Role, kind: Kind, method: Method, revision: Option<Revision>) -> usize {
    let revision = revision.map_or(0, |revision| revision as usize + 1);
    // What is no message of these is counted as none.
    let kind = match kind {
        Kind::Notification => 1,
        Kind::Result => 2,
        Kind::Error => 3,
        Kind::Request | Kind::Batch | Kind::Malformed => 0,
    };
    let word = METHODS_AT + (revision * 2 + by as usize) * KINDS + kind;
    word * 64 + method as usize
}

fn way_bit(role: Role, from: State, to: State) -> usize {
    (WAYS_AT + role as usize) * 64 + from as usize * 8 + to as usize
}

fn trigger_bit(rule: &Rule) -> usize {
    usize::from(rule.when.0)
}

/// A rule over a campaign: what became of it, and in which run that was first seen.
#[derive(Clone, Copy, Debug)]
pub struct RuleCovered {
    /// The rule.
    pub rule: &'static Rule,
    /// The worst that any run has seen of it.
    pub outcome: Outcome,
    /// The first run with that outcome; `None` where nothing triggered the rule.
    pub first: Option<u64>,
}

/// Messages that a side sends about a method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MethodCovered {
    /// Who sends.
    pub by: Role,
    /// A request, a notification, a result or an error.
    pub kind: Kind,
    /// Its method, or that of the request that it answers.
    pub method: Method,
    /// Whether the revision gives that method to that side.
    pub is_lawful: bool,
    /// The first run in which it was sent.
    pub first: Option<u64>,
}

impl MethodCovered {
    /// Whether it is a request or a notification, and no answer.
    pub fn is_call(&self) -> bool {
        matches!(self.kind, Kind::Request | Kind::Notification)
    }
}

/// A state of an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StateCovered {
    /// The end.
    pub role: Role,
    /// The state.
    pub state: State,
    /// The first run in which it was reached.
    pub first: Option<u64>,
}

/// A way from one state of an end to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WayCovered {
    /// The end.
    pub role: Role,
    /// Where it begins.
    pub from: State,
    /// Where it leads.
    pub to: State,
    /// Whether a session can take it without anybody's fault.
    pub is_lawful: bool,
    /// The first run in which it was taken.
    pub first: Option<u64>,
}

/// What a campaign has reached: for each thing the first run that did, however the runs were shared among threads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Coverage {
    /// By bit of [`Reached`]; [`NEVER`] where none did.
    first: Vec<u64>,
    /// Which bits have a run, to tell quickly that a run brings nothing new.
    known: Reached,
    /// Rules that were broken, and that could not be told: the first run of each.
    found: BTreeMap<(&'static str, Outcome), u64>,
    /// One past the last run.
    next: u64,
}

/// No run.
const NEVER: u64 = u64::MAX;

impl Default for Coverage {
    fn default() -> Coverage {
        Coverage {
            first: vec![NEVER; Reached::WORDS * 64],
            known: Reached::default(),
            found: BTreeMap::new(),
            next: 0,
        }
    }
}

impl Coverage {
    /// Takes in what the judge of that run has counted. Runs are added in their order; other threads' runs are merged.
    pub fn add(&mut self, run: u64, judge: &Monitor) {
        // Invariant: what is known already has a run before this one.
        assert!(run >= self.next, "runs are added in their order");
        self.next = run + 1;
        self.take(0, judge.seen().words(), run);
        let Reached(reached) = judge.reached();
        self.take(METHODS_AT, &reached[METHODS_AT..], run);
        for (rule, outcome) in judge.found() {
            self.find(rule, outcome, run);
        }
    }

    /// Takes in words from that one on.
    fn take(&mut self, start: usize, words: &[u64], run: u64) {
        let known = self.known.0[start..].iter().zip(words);
        if known.fold(0, |new, (&known, &word)| new | word & !known) == 0 {
            return;
        }
        for (at, &word) in words.iter().enumerate() {
            let at = start + at;
            let mut new = word & !self.known.0[at];
            while new != 0 {
                self.reach(at * 64 + new.trailing_zeros() as usize, run);
                new &= new - 1;
            }
        }
    }

    fn reach(&mut self, bit: usize, run: u64) {
        self.known.set(bit);
        self.first[bit] = self.first[bit].min(run);
    }

    fn find(&mut self, rule: &'static str, outcome: Outcome, run: u64) {
        let first = self.found.entry((rule, outcome)).or_insert(NEVER);
        *first = run.min(*first);
    }

    /// Takes in what other runs have reached.
    pub fn merge(&mut self, other: &Coverage) {
        for (bit, &run) in other.first.iter().enumerate() {
            if run != NEVER {
                self.reach(bit, run);
            }
        }
        for (&(rule, outcome), &run) in &other.found {
            self.find(rule, outcome, run);
        }
        self.next = self.next.max(other.next);
    }

    /// The same without what only runs from that one on have reached.
    pub fn before(&self, end: u64) -> Coverage {
        let mut kept = Coverage {
            next: self.next.min(end),
            ..Coverage::default()
        };
        for (bit, &run) in self.first.iter().enumerate() {
            if run < end {
                kept.reach(bit, run);
            }
        }
        for (&(rule, outcome), &run) in &self.found {
            if run < end {
                kept.find(rule, outcome, run);
            }
        }
        kept
    }

    /// The last run that reached anything that no run before it had; `None` where nothing was reached.
    pub fn last_new(&self) -> Option<u64> {
        let reached = self.first.iter().filter(|&&run| run != NEVER);
        reached.chain(self.found.values()).max().copied()
    }

    fn first(&self, bit: usize) -> Option<u64> {
        Some(self.first[bit]).filter(|&run| run != NEVER)
    }

    /// Every rule, in the order of the table.
    pub fn rules(&self) -> Vec<RuleCovered> {
        let covered = |rule: &'static Rule| {
            let found = |outcome| Some((outcome, *self.found.get(&(rule.id, outcome))?));
            let kept = || Some((Outcome::Kept, self.first(trigger_bit(rule))?));
            let worst = found(Outcome::Broken).or_else(|| found(Outcome::Unsure));
            let (outcome, first) = worst.or_else(kept).unzip();
            RuleCovered {
                rule,
                outcome: outcome.unwrap_or(Outcome::Idle),
                first,
            }
        };
        rules().iter().map(covered).collect()
    }

    /// How many rules had which outcome.
    pub fn summary(&self) -> Summary {
        Summary::of(self.rules().iter().map(|covered| covered.outcome))
    }

    /// The revisions under which something was sent, oldest first.
    pub fn revisions(&self) -> Vec<Revision> {
        let is_reached = |revision: &Revision| {
            let start = method_bit(Role::Client, Kind::Request, Method::None, Some(*revision));
            let words = &self.known.0[start / 64..start / 64 + 2 * KINDS];
            words.iter().any(|&word| word != 0)
        };
        Revision::ALL.into_iter().filter(is_reached).collect()
    }

    /// What each side may send under that revision, and what it sent without being allowed to. What was sent before a
    /// revision was agreed on counts for each that has it.
    pub fn methods(&self, revision: Revision) -> Vec<MethodCovered> {
        let mut all = vec![];
        let methods = Method::ALL.iter().chain([&Method::Unknown]);
        for (by, &method) in
            methods.flat_map(|method| [(Role::Client, method), (Role::Server, method)])
        {
            for kind in MESSAGES {
                let under = self.first(method_bit(by, kind, method, Some(revision)));
                let early = self.first(method_bit(by, kind, method, None));
                let is_lawful = may_be_sent(by, kind, method, revision);
                let first = match is_lawful {
                    true => under.into_iter().chain(early).min(),
                    false => under,
                };
                if is_lawful || first.is_some() {
                    all.push(MethodCovered {
                        by,
                        kind,
                        method,
                        is_lawful,
                        first,
                    });
                }
            }
        }
        all
    }

    /// The states of both ends. An end is fresh before anything happens.
    pub fn states(&self) -> Vec<StateCovered> {
        let ways = self.ways();
        let state = |role: Role, state: State| {
            let reached = ways
                .iter()
                .filter(|way| way.role == role && way.to == state);
            StateCovered {
                role,
                state,
                first: match state {
                    State::Fresh => Some(0).filter(|_| self.next > 0),
                    _ => reached.filter_map(|way| way.first).min(),
                },
            }
        };
        let role = |role| State::ALL.map(|one| state(role, one));
        [Role::Client, Role::Server].map(role).concat()
    }

    /// The ways between states that there are under the revisions in question, and those that were taken all the same.
    pub fn ways(&self) -> Vec<WayCovered> {
        let revisions = self.revisions();
        let has_sessions = revisions.is_empty() || revisions.iter().any(|one| one.has_handshake());
        let is_newer = revisions.iter().any(|one| !one.has_handshake());
        let is_there = |way: (State, State)| {
            has_sessions && WAYS.contains(&way) || is_newer && WAYS_STATELESS.contains(&way)
        };
        let mut all = vec![];
        for role in [Role::Client, Role::Server] {
            for from in State::ALL {
                for to in State::ALL {
                    let first = self.first(way_bit(role, from, to));
                    let is_lawful = is_there((from, to));
                    if is_lawful || first.is_some() {
                        all.push(WayCovered {
                            role,
                            from,
                            to,
                            is_lawful,
                            first,
                        });
                    }
                }
            }
        }
        all
    }

    /// All that was reached by its name, with the first run that did: what [`Coverage::restore`] takes.
    pub fn named(&self) -> BTreeMap<String, u64> {
        let mut named = BTreeMap::new();
        for rule in rules() {
            if let Some(run) = self.first(trigger_bit(rule)) {
                named.insert(format!("kept {}", rule.id), run);
            }
        }
        for (&(rule, outcome), &run) in &self.found {
            named.insert(format!("{} {rule}", outcome.as_str()), run);
        }
        for (bit, name) in message_bits().chain(way_bits()) {
            if let Some(run) = self.first(bit) {
                named.insert(name, run);
            }
        }
        named
    }

    /// What `runs` runs had reached by its names; names that are not known here are left out.
    pub fn restore(named: &BTreeMap<String, u64>, runs: u64) -> Coverage {
        let mut coverage = Coverage {
            next: runs,
            ..Coverage::default()
        };
        for rule in rules() {
            if let Some(&run) = named.get(&format!("kept {}", rule.id)) {
                coverage.reach(trigger_bit(rule), run);
            }
            for outcome in [Outcome::Broken, Outcome::Unsure] {
                if let Some(&run) = named.get(&format!("{} {}", outcome.as_str(), rule.id)) {
                    coverage.find(rule.id, outcome, run);
                }
            }
        }
        for (bit, name) in message_bits().chain(way_bits()) {
            if let Some(&run) = named.get(&name) {
                coverage.reach(bit, run);
            }
        }
        coverage
    }
}

const MESSAGES: [Kind; KINDS] = [Kind::Request, Kind::Notification, Kind::Result, Kind::Error];

/// Whether a side may send a message of that kind that is about that method.
fn may_be_sent(by: Role, kind: Kind, method: Method, revision: Revision) -> bool {
    let is_call = matches!(kind, Kind::Request | Kind::Notification);
    let caller = if is_call { by } else { by.other() };
    let is_notification = method.as_str().starts_with("notifications/");
    let may_call = match revision.has_handshake() {
        true => may_send(caller, method),
        // What a server needs to know it asks for inside a result.
        false => may_send_newer(caller, method) && (caller == Role::Client || is_notification),
    };
    method != Method::Unknown
        && is_in(method, revision)
        && may_call
        && is_notification == (kind == Kind::Notification)
}

/// The bit of every message, with its name.
fn message_bits() -> impl Iterator<Item = (usize, String)> {
    let revisions = [None].into_iter().chain(Revision::ALL.map(Some));
    let methods = || Method::ALL.iter().chain([&Method::Unknown]);
    revisions.flat_map(move |revision| {
        [Role::Client, Role::Server]
            .into_iter()
            .flat_map(move |by| {
                MESSAGES.into_iter().flat_map(move |kind| {
                    methods().map(move |&method| {
                        let words = [
                            revision.map_or("early", Revision::as_str),
                            by.as_str(),
                            kind.as_str(),
                            method.words(),
                        ];
                        (method_bit(by, kind, method, revision), words.join(" "))
                    })
                })
            })
    })
}

/// The bit of every way, with its name.
fn way_bits() -> impl Iterator<Item = (usize, String)> {
    [Role::Client, Role::Server].into_iter().flat_map(|role| {
        State::ALL.into_iter().flat_map(move |from| {
            State::ALL.into_iter().map(move |to| {
                let words = [role.as_str(), from.as_str(), "to", to.as_str()];
                (way_bit(role, from, to), words.join(" "))
            })
        })
    })
}
