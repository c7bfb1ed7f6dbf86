//! Choosers: who answers a question that has more than one answer. Dice for runs, scripts for replays and
//! shrinking, an odometer for all answers in turn.

use std::fmt;

use mcpsim_traces::event::{Choice, Label, Site};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::pct::Pct;
use crate::strategy::Strategy;

/// Seeds lie below 2^53, so that tools which read JSON numbers as doubles keep them.
pub const SEED_END: u64 = 1 << 53;

/// The options of one question, plainest first.
pub trait Options {
    /// How many there are, at least 1.
    fn bound(&self) -> u32;

    /// How many of them, from the front, need no waiting: the rest are timers and held streams.
    fn prompt(&self) -> u32 {
        self.bound()
    }

    /// What an option is.
    ///
    /// # Panics
    /// When `answer` is not below [`Options::bound`].
    fn label(&self, answer: u32) -> Label;

    /// At [`Site::Next`]: the lane that an option is the next step of. Steps of one lane happen in their order, steps of
    /// different lanes in any; a lane is to messages what a thread is to a scheduler.
    ///
    /// # Panics
    /// When `answer` is not below [`Options::bound`].
    fn lane(&self, answer: u32) -> u64 {
        u64::from(answer)
    }
}

/// Answers questions.
pub trait Chooser {
    /// One of `0..options.bound()`. Asked only where there are at least two.
    fn choose(&mut self, site: Site, options: &dyn Options) -> u32;

    /// Told of a step that was forced (one option), so that scripts stay whole.
    #[inline]
    fn forced(&mut self, _site: Site, _options: &dyn Options) {}
}

impl<C: Chooser + ?Sized> Chooser for &mut C {
    #[inline]
    fn choose(&mut self, site: Site, options: &dyn Options) -> u32 {
        (**self).choose(site, options)
    }

    #[inline]
    fn forced(&mut self, site: Site, options: &dyn Options) {
        (**self).forced(site, options);
    }
}

/// The seed of run `index` of a campaign: run 0 uses the campaign's own, the others one derived
/// from both through the generator.
pub fn derive_seed(campaign: u64, index: u64) -> u64 {
    if index == 0 {
        return campaign;
    }
    let mut generator = generator(campaign);
    generator.set_stream(index);
    generator.next_u64() % SEED_END
}

/// ChaCha8 keyed with the seed in its first eight bytes: spelled out here, since other crates may
/// change how they expand a seed in a minor version.
fn generator(seed: u64) -> ChaCha8Rng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    ChaCha8Rng::from_seed(key)
}

/// Random words of a seed, and the map from them to answers.
#[derive(Clone, Debug)]
pub struct Draws {
    generator: ChaCha8Rng,
}

impl Draws {
    /// The words that the answers of a run are drawn from.
    pub(crate) fn new(seed: u64) -> Draws {
        Draws {
            generator: generator(seed),
        }
    }

    /// The words for something else that hangs on the seed: they repeat none of the run's own, nor those that the seeds of a
    /// campaign come from.
    pub fn apart(seed: u64, purpose: Purpose) -> Draws {
        let mut draws = Draws::new(seed);
        draws.generator.set_stream(u64::MAX - purpose as u64);
        draws
    }

    /// Our own map from a random word to `0..bound`, integers only (Lemire's multiplication without
    /// the rejection step: the bias is below bound / 2^32).
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(self.generator.next_u32()) * u64::from(bound)) >> 32) as u32
    }

    /// A whole word.
    pub(crate) fn word(&mut self) -> u64 {
        self.generator.next_u64()
    }
}

/// What words apart are drawn for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub enum Purpose {
    /// Which strategy a run of a mix has.
    Mix,
    /// Priorities and change points.
    Priorities,
    /// Which part of a workload is left out.
    Workload,
}

/// Seeded random answers. The seed first draws the run's character (swarm testing: Groce et al.,
/// ISSTA 2012): which kinds of fault it leaves out, how often faults come, how eager timers are.
#[derive(Clone, Debug)]
pub struct Dice {
    draws: Draws,
    /// Bit set: the fault of that number in `Fault::ALL` may come.
    faults: u32,
    /// Of 256 frames, how many meet a fault where one is possible.
    fault_rate: u32,
    /// Of 256 steps, how many let a timer go first although something else is ready.
    timer_rate: u32,
    /// Decides what happens next; `None` for equal odds.
    pct: Option<Pct>,
}

impl Dice {
    /// The dice of that seed: what happens next has equal odds, and some kinds of fault are left out.
    pub fn new(seed: u64) -> Dice {
        let mut draws = Draws::new(seed);
        let faults = draws.generator.next_u32();
        let fault_rate = [4, 16, 48, 128][draws.below(4) as usize];
        let timer_rate = [0, 2, 16, 64][draws.below(4) as usize];
        Dice {
            draws,
            faults,
            fault_rate,
            timer_rate,
            pct: None,
        }
    }

    /// The dice of that seed by a strategy. `length` is about how many choices of what happens next a run has: change points
    /// of priorities are spread over so many.
    pub fn by(strategy: Strategy, seed: u64, length: u32) -> Dice {
        let mut dice = Dice::new(seed);
        match strategy.of_run(seed) {
            Strategy::Uniform => dice.faults = u32::MAX,
            Strategy::Swarm | Strategy::Mix => {}
            Strategy::Pct(depth) => {
                let draws = Draws::apart(seed, Purpose::Priorities);
                dice.pct = Some(Pct::new(draws, depth, length, dice.timer_rate));
            }
        }
        dice
    }

    fn fault(&mut self, options: &dyn Options) -> u32 {
        if self.draws.below(256) >= self.fault_rate {
            return 0;
        }
        let allowed = |answer: &u32| match options.label(*answer) {
            Label::Fault(number) => self.faults >> number & 1 == 1,
            _ => false,
        };
        let count = (1..options.bound()).filter(allowed).count() as u32;
        if count == 0 {
            return 0;
        }
        let faults = self.faults;
        let pick = self.draws.below(count);
        (1..options.bound())
            .filter(|&answer| matches!(options.label(answer), Label::Fault(number) if faults >> number & 1 == 1))
            .nth(pick as usize)
            .unwrap_or(0)
    }
}

impl Chooser for Dice {
    #[inline]
    fn choose(&mut self, site: Site, options: &dyn Options) -> u32 {
        match site {
            Site::Party => self.draws.below(options.bound()),
            Site::Fault => self.fault(options),
            Site::Next => {
                if let Some(pct) = &mut self.pct {
                    return pct.next(options);
                }
                let (prompt, bound) = (options.prompt(), options.bound());
                if prompt == bound {
                    return self.draws.below(bound);
                }
                if prompt > 0 && self.draws.below(256) >= self.timer_rate {
                    return self.draws.below(prompt);
                }
                prompt + self.draws.below(bound - prompt)
            }
        }
    }
}

/// The first place where a strict replay leaves its script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Drift {
    /// The choice, from 0.
    pub at: usize,
    /// What the script has there; `None` where it has ended.
    pub wanted: Option<Choice>,
    /// Where the world asked instead.
    pub site: Site,
    /// Among how many options.
    pub bound: u32,
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "choice {}: ", self.at + 1)?;
        match self.wanted {
            Some(wanted) => write!(
                f,
                "recorded {} of {} options ({}), asked {} of {}",
                wanted.site.as_str(),
                wanted.bound,
                wanted.label,
                self.site.as_str(),
                self.bound
            ),
            None => write!(
                f,
                "the recording has ended, asked {} of {}",
                self.site.as_str(),
                self.bound
            ),
        }
    }
}

/// A strict replay: every choice must be asked as it was recorded. The first that is not is kept
/// in [`Script::drift`], and from there on the plainest option is taken.
#[derive(Clone, Debug)]
pub struct Script<'a> {
    choices: &'a [Choice],
    at: usize,
    drift: Option<Drift>,
}

impl<'a> Script<'a> {
    /// A replay of these choices.
    pub fn new(choices: &'a [Choice]) -> Script<'a> {
        Script {
            choices,
            at: 0,
            drift: None,
        }
    }

    /// The first misaligned choice, if there was one.
    pub fn drift(&self) -> Option<Drift> {
        self.drift
    }

    /// How many choices were taken as recorded.
    pub fn used(&self) -> usize {
        self.at
    }

    fn take(&mut self, site: Site, options: &dyn Options) -> u32 {
        if self.drift.is_some() {
            return 0;
        }
        let bound = options.bound();
        match self.choices.get(self.at) {
            Some(choice)
                if choice.site == site
                    && choice.bound == bound
                    && choice.answer < bound
                    && options.label(choice.answer) == choice.label =>
            {
                self.at += 1;
                choice.answer
            }
            wanted => {
                self.drift = Some(Drift {
                    at: self.at,
                    wanted: wanted.copied(),
                    site,
                    bound,
                });
                0
            }
        }
    }
}

impl Chooser for Script<'_> {
    fn choose(&mut self, site: Site, options: &dyn Options) -> u32 {
        self.take(site, options)
    }

    fn forced(&mut self, site: Site, options: &dyn Options) {
        self.take(site, options);
    }
}

/// A lenient replay, for shrinking. At [`Site::Next`] it takes the first recorded step that is on
/// offer by its label and drops those before it; what was asked within a step (faults, a party's
/// questions) is answered from that step's own entries. No match means the plainest option.
#[derive(Clone, Debug)]
pub struct LenientScript<'a> {
    choices: &'a [Choice],
    /// The first entry not used or dropped yet.
    next: usize,
    /// The first entry not used yet of the step that is under way.
    within: usize,
}

impl<'a> LenientScript<'a> {
    /// A lenient replay of these choices.
    pub fn new(choices: &'a [Choice]) -> LenientScript<'a> {
        LenientScript {
            choices,
            next: 0,
            within: 0,
        }
    }

    fn step(&mut self, options: &dyn Options) -> u32 {
        for (at, choice) in self.choices.iter().enumerate().skip(self.next) {
            if choice.site != Site::Next {
                continue;
            }
            if choice.bound == 0 {
                // Set to the plainest answer by the shrinker.
                self.next = at + 1;
                self.within = at + 1;
                return 0;
            }
            if let Some(answer) = position(options, choice.label) {
                self.next = at + 1;
                self.within = at + 1;
                return answer;
            }
        }
        // A step that was not recorded has no entries of its own.
        self.within = self.choices.len();
        0
    }

    fn inside(&mut self, site: Site, options: &dyn Options) -> u32 {
        while let Some(choice) = self.choices.get(self.within) {
            if choice.site == Site::Next {
                return 0;
            }
            self.within += 1;
            if choice.site == site {
                let plain = choice.bound == 0;
                return if plain {
                    0
                } else {
                    position(options, choice.label).unwrap_or(0)
                };
            }
        }
        0
    }
}

fn position(options: &dyn Options, label: Label) -> Option<u32> {
    (0..options.bound()).find(|&answer| options.label(answer) == label)
}

impl Chooser for LenientScript<'_> {
    fn choose(&mut self, site: Site, options: &dyn Options) -> u32 {
        match site {
            Site::Next => self.step(options),
            Site::Fault | Site::Party => self.inside(site, options),
        }
    }

    fn forced(&mut self, site: Site, options: &dyn Options) {
        self.choose(site, options);
    }
}

/// All answers in turn: counts like an odometer whose wheels have as many digits as each question
/// has options.
#[derive(Clone, Debug, Default)]
pub struct Odometer {
    wheels: Vec<(u32, u32)>,
    at: usize,
}

impl Odometer {
    /// An odometer at its first reading: answer 0 everywhere.
    pub fn new() -> Odometer {
        Odometer::default()
    }

    /// Goes to the next reading; false when all have been seen. The run must have ended.
    pub fn advance(&mut self) -> bool {
        self.wheels.truncate(self.at);
        self.at = 0;
        while let Some((answer, bound)) = self.wheels.last_mut() {
            if *answer + 1 < *bound {
                *answer += 1;
                return true;
            }
            self.wheels.pop();
        }
        false
    }
}

impl Chooser for Odometer {
    fn choose(&mut self, _: Site, options: &dyn Options) -> u32 {
        if self.at == self.wheels.len() {
            self.wheels.push((0, options.bound()));
        }
        let (answer, bound) = self.wheels[self.at];
        assert_eq!(
            bound,
            options.bound(),
            "the same answers lead to the same questions"
        );
        self.at += 1;
        answer
    }
}

/// Answer 0 everywhere: the plainest run there is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

impl Chooser for Plain {
    fn choose(&mut self, _: Site, _: &dyn Options) -> u32 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop};
    use proptest::{prop_assert, prop_assert_eq, proptest};

    struct Numbers(u32);

    impl Options for Numbers {
        fn bound(&self) -> u32 {
            self.0
        }
        fn label(&self, answer: u32) -> Label {
            Label::Number(answer)
        }
    }

    /// Pinned: the words of the generator and the map to answers are part of the format. If this
    /// fails, seeds that people wrote down no longer repeat their runs.
    #[test]
    fn dice_are_pinned() {
        let mut dice = Dice::new(42);
        let answers: Vec<u32> = (0..12)
            .map(|_| dice.choose(Site::Party, &Numbers(10)))
            .collect();
        assert_eq!(answers, PINNED_ANSWERS);
        assert_eq!(derive_seed(42, 0), 42);
        assert_eq!([derive_seed(42, 1), derive_seed(42, 2)], PINNED_SEEDS);
    }
    const PINNED_ANSWERS: [u32; 12] = [2, 3, 4, 5, 3, 5, 8, 0, 0, 1, 4, 4];
    const PINNED_SEEDS: [u64; 2] = [154_386_496_395_454, 2_490_400_255_771_901];

    /// What is drawn for one purpose says nothing of what is drawn for another, nor of the run's own answers.
    #[test]
    fn words_apart_are_others() {
        let ten = |mut draws: Draws| -> Vec<u64> { (0..10).map(|_| draws.word()).collect() };
        let purposes = [Purpose::Mix, Purpose::Priorities, Purpose::Workload];
        let mut all = vec![ten(Draws::new(42))];
        all.extend(purposes.map(|purpose| ten(Draws::apart(42, purpose))));
        let mut words = all.concat();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), 40);
    }

    /// Equal odds have every kind of fault, the others leave some out.
    #[test]
    fn only_equal_odds_have_every_kind_of_fault() {
        let kinds = |name: &str, seed| {
            let strategy = Strategy::parse(name).expect("a name");
            Dice::by(strategy, seed, 10).faults
        };
        for seed in 0..20 {
            assert_eq!(kinds("uniform", seed), u32::MAX);
            for name in ["pct", "swarm"] {
                assert_eq!(kinds(name, seed), Dice::new(seed).faults, "{name}");
            }
        }
        assert!((0..20).all(|seed| Dice::new(seed).faults != u32::MAX));
    }

    #[test]
    fn an_odometer_sees_every_answer_once() {
        let mut odometer = Odometer::new();
        let mut seen = vec![];
        loop {
            let first = odometer.choose(Site::Party, &Numbers(3));
            // The second question depends on the first answer, as in a world.
            let second = if first == 1 {
                0
            } else {
                odometer.choose(Site::Party, &Numbers(2))
            };
            seen.push((first, second));
            if !odometer.advance() {
                break;
            }
        }
        assert_eq!(seen, [(0, 0), (0, 1), (1, 0), (2, 0), (2, 1)]);
    }

    fn choice(bound: u32, answer: u32) -> Choice {
        Choice {
            site: Site::Party,
            bound,
            answer,
            label: Label::Number(answer),
        }
    }

    #[test]
    fn a_strict_script_names_its_first_drift() {
        let choices = [choice(3, 2), choice(2, 1)];
        let mut script = Script::new(&choices);
        assert_eq!(script.choose(Site::Party, &Numbers(3)), 2);
        assert_eq!(script.choose(Site::Party, &Numbers(4)), 0);
        let drift = script
            .drift()
            .expect("four options were asked, two are recorded");
        assert_eq!((drift.at, drift.bound), (1, 4));
        assert_eq!(
            drift.to_string(),
            "choice 2: recorded party of 2 options (number/1), asked party of 4"
        );
        assert_eq!(script.choose(Site::Party, &Numbers(2)), 0);
        assert_eq!(script.drift(), Some(drift), "the first difference stays");
    }

    fn next(label: u32) -> Choice {
        Choice {
            site: Site::Next,
            bound: 9,
            answer: 8,
            label: Label::Number(label),
        }
    }

    /// Entries whose step is gone are dropped with all that was asked within them.
    #[test]
    fn a_lenient_script_follows_labels() {
        let choices = [next(7), choice(2, 1), next(1), choice(3, 2), next(0)];
        let mut script = LenientScript::new(&choices);
        assert_eq!(
            script.choose(Site::Next, &Numbers(3)),
            1,
            "7 is not on offer, 1 is"
        );
        assert_eq!(
            script.choose(Site::Party, &Numbers(3)),
            2,
            "the answer within step 1"
        );
        assert_eq!(
            script.choose(Site::Party, &Numbers(3)),
            0,
            "step 1 has no second question"
        );
        script.forced(Site::Next, &Numbers(1));
        assert_eq!(script.choose(Site::Next, &Numbers(1)), 0);
        assert_eq!(script.choose(Site::Next, &Numbers(4)), 0, "used up");
    }

    proptest! {
        #[test]
        fn dice_stay_within_bounds_and_repeat(seed in 0..SEED_END, bounds in prop::collection::vec(1u32..50, 1..50)) {
            let roll = |mut dice: Dice| -> Vec<u32> {
                bounds.iter().map(|&bound| dice.choose(Site::Next, &Numbers(bound))).collect()
            };
            let answers = roll(Dice::new(seed));
            prop_assert!(answers.iter().zip(&bounds).all(|(answer, bound)| answer < bound));
            prop_assert_eq!(answers, roll(Dice::new(seed)));
        }

        /// Also by every strategy; and a run of a mix has the answers of the strategy that its seed draws.
        #[test]
        fn strategies_stay_within_bounds_and_repeat(
            seed in 0..SEED_END,
            name in prop::sample::select(vec!["uniform", "pct:1", "pct:2", "pct:7", "swarm", "mix"]),
            bounds in prop::collection::vec((1u32..50, prop::sample::select(vec![Site::Next, Site::Party])), 1..50),
        ) {
            let roll = |strategy: Strategy| -> Vec<u32> {
                let mut dice = Dice::by(strategy, seed, 20);
                bounds.iter().map(|&(bound, site)| dice.choose(site, &Numbers(bound))).collect()
            };
            let strategy = Strategy::parse(name).expect("a name");
            let answers = roll(strategy);
            prop_assert!(answers.iter().zip(&bounds).all(|(answer, (bound, _))| answer < bound));
            prop_assert_eq!(&answers, &roll(strategy));
            prop_assert_eq!(&answers, &roll(strategy.of_run(seed)));
        }

        #[test]
        fn derived_seeds_stay_below_2_to_53(seed in 0..SEED_END, index in any::<u64>()) {
            prop_assert!(derive_seed(seed, index) < SEED_END);
        }
    }
}
