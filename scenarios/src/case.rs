//! A scenario as something to shrink: smaller scenarios, biggest cuts first, run under the choices of the first one.

use mcpsim_sim::actor::Port;
use mcpsim_sim::choose::LenientScript;
use mcpsim_sim::run::run;
use mcpsim_sim::shrink::{Attempt, Case, Target};
use mcpsim_traces::event::{Choice, Choices, Label, LinkId, Origin, PartyId};
use mcpsim_traces::judge::Judge;
use mcpsim_traces::message::Tool;

use mcpsim_models::Monitor;

use crate::faults::fault;
use crate::revisions::Revisions;
use crate::scenario::{Act, Faults, Ids, PartyRole, Scenario, Step, Transport, keep, leave_out};
use crate::tag::Tag;

/// A scenario with a fault, and where each of its pieces stood in the scenario that it was cut from.
///
/// Choices name parties, links and workload steps by their place. All that [`Case::run`] takes and
/// gives is in the places of the first scenario, so that a cut does not change the meaning of what
/// was recorded; [`ScenarioCase::own_choices`] gives them in the places of the cut scenario.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScenarioCase {
    scenario: Scenario,
    fault: Option<&'static str>,
    /// For each party, link, and step of each party, its place in the first scenario.
    parties: Vec<u8>,
    links: Vec<u8>,
    steps: Vec<Vec<u16>>,
    /// The links of each party of the first scenario, in the order of its ports.
    first_ports: Vec<Vec<u8>>,
}

impl ScenarioCase {
    /// The case of a valid scenario, whole.
    ///
    /// # Errors
    /// When no party of the scenario could have the fault, or there is no such fault.
    pub fn new(scenario: Scenario, fault_name: Option<&str>) -> Result<ScenarioCase, String> {
        scenario.check().map_err(|mistake| mistake.to_string())?;
        scenario.setup(fault_name)?;
        let steps = scenario.parties.iter().map(|party| {
            let count = scenario.workload.get(&party.name).map_or(0, Vec::len);
            (1..=count as u16).collect()
        });
        Ok(ScenarioCase {
            steps: steps.collect(),
            first_ports: ports(&scenario),
            parties: (0..scenario.parties.len() as u8).collect(),
            links: (0..scenario.links.len() as u8).collect(),
            fault: fault_name.and_then(fault).map(|fault| fault.name),
            scenario,
        })
    }

    /// The scenario as it is now.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The name of the fault, if there is one.
    pub fn fault(&self) -> Option<&'static str> {
        self.fault
    }

    /// Choices of this case in the places of the cut scenario: what a strict replay of it asks.
    pub fn own_choices(&self, choices: &[Choice]) -> Vec<Choice> {
        self.translate(choices, &self.inward())
    }

    fn inward(&self) -> Places<'_> {
        Places {
            case: self,
            ports: ports(&self.scenario),
            inward: true,
        }
    }

    fn outward(&self) -> Places<'_> {
        Places {
            inward: false,
            ..self.inward()
        }
    }

    /// Entries about pieces that are gone are left out.
    fn translate(&self, choices: &[Choice], places: &Places<'_>) -> Vec<Choice> {
        let mapped = choices.iter().filter_map(|choice| {
            // An entry without options says only that the plainest answer is wanted.
            let label = if choice.bound == 0 {
                Some(choice.label)
            } else {
                places.label(choice.label)
            };
            label.map(|label| Choice { label, ..*choice })
        });
        mapped.collect()
    }

    /// The same case after a change of the scenario that moves no piece; `None` where it is no valid
    /// scenario or the same.
    fn changed(&self, change: impl FnOnce(&mut Scenario)) -> Option<ScenarioCase> {
        let mut case = self.clone();
        change(&mut case.scenario);
        case.if_smaller_than(self)
    }

    fn if_smaller_than(self, other: &ScenarioCase) -> Option<ScenarioCase> {
        let valid = self.scenario.check().is_ok() && self.scenario.setup(self.fault).is_ok();
        (valid && self.scenario != other.scenario).then_some(self)
    }

    /// Without a party, its links, and whoever has no link left then.
    fn without_party(&self, at: usize) -> Option<ScenarioCase> {
        let mut gone = vec![self.scenario.parties[at].name.clone()];
        loop {
            let linked = |name: &String| {
                self.scenario.links.iter().any(|link| {
                    !gone.contains(&link.client)
                        && !gone.contains(&link.server)
                        && (link.client == *name || link.server == *name)
                })
            };
            let lonely = self
                .scenario
                .parties
                .iter()
                .map(|party| &party.name)
                .find(|name| !gone.contains(name) && !linked(name))
                .cloned();
            match lonely {
                Some(name) => gone.push(name),
                None => break,
            }
        }
        let mut case = self.clone();
        let scenario = &mut case.scenario;
        let kept: Vec<bool> = scenario
            .parties
            .iter()
            .map(|party| !gone.contains(&party.name))
            .collect();
        let linked: Vec<bool> = scenario
            .links
            .iter()
            .map(|link| !gone.contains(&link.client) && !gone.contains(&link.server))
            .collect();
        keep(&mut scenario.parties, &kept);
        keep(&mut scenario.links, &linked);
        keep(&mut case.parties, &kept);
        keep(&mut case.steps, &kept);
        keep(&mut case.links, &linked);
        scenario.workload.retain(|name, _| !gone.contains(name));
        case.if_smaller_than(self)
    }

    /// Without the steps of a client from there on, `count` of them, and all that is about these.
    fn without_steps(&self, party: usize, from: usize, count: usize) -> Option<ScenarioCase> {
        let name = &self.scenario.parties[party].name;
        let steps = self.scenario.workload.get(name)?;
        let gone = from..(from + count).min(steps.len());
        let mut case = self.clone();
        let list = case.scenario.workload.get_mut(name)?;
        let kept = leave_out(list, |at, _| gone.contains(&at));
        keep(&mut case.steps[party], &kept);
        case.if_smaller_than(self)
    }

    fn steps_of(&self, party: usize) -> &[Step] {
        let name = &self.scenario.parties[party].name;
        self.scenario.workload.get(name).map_or(&[], Vec::as_slice)
    }

    /// All steps gone but a few, then fewer at a time, then one by one.
    fn cut_steps(&self, cuts: &mut Vec<ScenarioCase>) {
        for party in 0..self.scenario.parties.len() {
            let total = self.steps_of(party).len();
            let mut count = total / 2;
            while count > 0 {
                // The last steps first: they are least likely to matter.
                let mut end = total;
                while end > 0 {
                    let from = end.saturating_sub(count);
                    cuts.extend(self.without_steps(party, from, end - from));
                    end = from;
                }
                count /= 2;
            }
        }
    }

    /// Plainer steps: one change each.
    fn plainer_steps(&self, cuts: &mut Vec<ScenarioCase>) {
        for party in 0..self.scenario.parties.len() {
            let name = self.scenario.parties[party].name.clone();
            for (at, step) in self.steps_of(party).iter().enumerate() {
                for plainer in plainer(step) {
                    let replaced = self.changed(|scenario| {
                        if let Some(steps) = scenario.workload.get_mut(&name) {
                            steps[at] = plainer;
                        }
                    });
                    cuts.extend(replaced);
                }
            }
        }
    }

    fn plainer_parties(&self, cuts: &mut Vec<ScenarioCase>) {
        for at in 0..self.scenario.parties.len() {
            // A server that never hesitates says more at once: that would be no cut.
            if self.scenario.parties[at].role != PartyRole::Server {
                cuts.extend(self.changed(|scenario| scenario.parties[at].hesitates = false));
            }
            cuts.extend(self.changed(|scenario| scenario.parties[at].pings = false));
            cuts.extend(self.changed(|scenario| scenario.parties[at].asks_for_tasks = false));
            cuts.extend(self.changed(|scenario| scenario.parties[at].closes = false));
            cuts.extend(self.changed(|scenario| scenario.parties[at].window = 1));
            cuts.extend(self.changed(|scenario| {
                let window = &mut scenario.parties[at].window;
                *window = (*window).min(2);
            }));
            cuts.extend(self.changed(|scenario| {
                let window = &mut scenario.parties[at].window;
                *window = (*window - 1).max(1);
            }));
            cuts.extend(self.changed(|scenario| scenario.parties[at].first_id = 1));
            cuts.extend(self.changed(|scenario| scenario.parties[at].ids = Ids::Numbers));
            cuts.extend(self.changed(|scenario| scenario.parties[at].capabilities = None));
            let spoken = self.scenario.parties[at].revisions;
            if spoken.iter().count() > 1 {
                for revision in spoken.iter() {
                    let alone = Revisions::of(&[revision]);
                    cuts.extend(self.changed(|scenario| scenario.parties[at].revisions = alone));
                }
            }
        }
    }

    fn plainer_links(&self, cuts: &mut Vec<ScenarioCase>) {
        for at in 0..self.scenario.links.len() {
            cuts.extend(self.changed(|scenario| scenario.links[at].beyond = Default::default()));
            cuts.extend(self.changed(|scenario| scenario.links[at].resumable = false));
            cuts.extend(self.changed(|scenario| scenario.links[at].capacity = None));
            cuts.extend(self.without_stderr(at));
            cuts.extend(self.changed(|scenario| {
                scenario.links[at].kind = Transport::Pipe;
                scenario.links[at].resumable = false;
            }));
        }
    }

    /// Without what the server of that link writes on its stderr, and room for it.
    fn without_stderr(&self, link: usize) -> Option<ScenarioCase> {
        let server = &self.scenario.links[link].server;
        self.changed(|scenario| {
            let own = scenario.links.iter_mut();
            own.filter(|link| link.server == *server)
                .for_each(|link| link.stderr_capacity = None);
            let parties = scenario.parties.iter_mut();
            parties
                .filter(|party| party.name == *server)
                .for_each(|party| party.writes_stderr = false);
        })
    }

    fn fewer_faults(&self, cuts: &mut Vec<ScenarioCase>) {
        cuts.extend(self.changed(|scenario| {
            scenario.faults = Faults::default();
            for link in &mut scenario.links {
                link.beyond.drop = false;
                link.beyond.duplicate = false;
                link.resumable = false;
            }
        }));
        let budgets: [fn(&mut Faults) -> &mut u8; 5] = [
            |faults| &mut faults.crash,
            |faults| &mut faults.cut,
            |faults| &mut faults.drop,
            |faults| &mut faults.duplicate,
            |faults| &mut faults.delay,
        ];
        for budget in budgets {
            for smaller in [|_| 0, |left: u8| left.saturating_sub(1)] {
                cuts.extend(self.changed(|scenario| {
                    let left = budget(&mut scenario.faults);
                    *left = smaller(*left);
                    for link in &mut scenario.links {
                        link.beyond.drop &= scenario.faults.drop > 0;
                        link.beyond.duplicate &= scenario.faults.duplicate > 0;
                        link.resumable &= scenario.faults.drop > 0;
                    }
                }));
            }
        }
    }
}

/// Plainer versions of a step, each one change away.
fn plainer(step: &Step) -> Vec<Step> {
    let mut all = vec![];
    let is_feature = !matches!(
        step.act,
        Act::Call | Act::Ping | Act::Cancel | Act::Batch | Act::Garbage
    );
    if is_feature {
        all.push(Step::plain(Act::Ping));
    }
    if step.task {
        all.push(Step {
            task: false,
            ..*step
        });
    }
    if step.act != Act::Call && step.n > 0 {
        all.push(Step { n: 0, ..*step });
    }
    if step.timeout_ms.is_some() {
        all.push(Step {
            timeout_ms: None,
            ..*step
        });
    }
    if step.cancel_soon {
        all.push(Step {
            cancel_soon: false,
            ..*step
        });
    }
    if step.cancel_after_progress.is_some() {
        all.push(Step {
            cancel_after_progress: None,
            ..*step
        });
    }
    if step.progress {
        all.push(Step {
            progress: false,
            cancel_after_progress: None,
            ..*step
        });
    }
    // A tool with less behaviour; `echo` has least.
    if step.act == Act::Call && step.tool != Tool::Echo {
        all.push(Step {
            tool: Tool::Echo,
            ..*step
        });
    }
    if step.act == Act::Call && !matches!(step.tool, Tool::Echo | Tool::Slow) {
        all.push(Step {
            tool: Tool::Slow,
            ..*step
        });
    }
    // Small values stay as they are: 0 and 1 decide a gateway's route.
    let mut n = step.n;
    while n > 2 {
        n = if n > 3 { n - 2 } else { 1 };
        if n <= 2 || n == step.n / 2 {
            all.push(Step { n, ..*step });
        }
    }
    if step.n == 2 && step.tool == Tool::Count {
        all.push(Step { n: 1, ..*step });
    }
    all
}

impl Case for ScenarioCase {
    fn candidates(&self) -> Vec<ScenarioCase> {
        let mut cuts = vec![];
        for at in 0..self.scenario.parties.len() {
            // Dropping a gateway would leave nobody to talk to.
            if self.scenario.parties[at].role != PartyRole::Gateway {
                cuts.extend(self.without_party(at));
            }
        }
        self.cut_steps(&mut cuts);
        self.fewer_faults(&mut cuts);
        self.plainer_links(&mut cuts);
        self.plainer_parties(&mut cuts);
        self.plainer_steps(&mut cuts);
        cuts
    }

    fn run(&self, script: &[Choice], target: &Target) -> Attempt {
        let setup = self
            .scenario
            .setup(self.fault)
            .expect("a case has a party for its fault");
        let script = self.own_choices(script);
        let mut choices = Choices::default();
        let mut chooser = LenientScript::new(&script);
        let outcome = run(
            setup,
            self.scenario.judge(self.fault),
            &mut chooser,
            &mut choices,
            |judge: &Monitor| target.is_in(judge.findings()),
        );
        Attempt {
            findings: outcome.findings,
            choices: self.translate(&choices.0, &self.outward()),
            frames: outcome.ended.frames,
        }
    }
}

/// Translates labels between the places of the first scenario and those of the cut one.
struct Places<'a> {
    case: &'a ScenarioCase,
    /// The links of each party of the cut scenario, in the order of its ports.
    ports: Vec<Vec<u8>>,
    /// From the first scenario to the cut one.
    inward: bool,
}

impl Places<'_> {
    fn label(&self, label: Label) -> Option<Label> {
        Some(match label {
            Label::Frame {
                link,
                to,
                kind,
                origin,
                nth,
            } => Label::Frame {
                link: LinkId(self.place(&self.case.links, link.0)?),
                to,
                kind,
                origin: self.origin(origin)?,
                nth,
            },
            Label::Own { party, tag } => Label::Own {
                party: self.party(party)?,
                tag: self.tag(tag, party)?,
            },
            Label::Timer { party, tag } => Label::Timer {
                party: self.party(party)?,
                tag: self.tag(tag, party)?,
            },
            Label::Fault(_) | Label::Number(_) => label,
        })
    }

    fn place<T: Copy + PartialEq + TryFrom<usize>>(&self, old: &[T], at: T) -> Option<T>
    where
        usize: TryFrom<T>,
    {
        if self.inward {
            T::try_from(old.iter().position(|&old| old == at)?).ok()
        } else {
            old.get(usize::try_from(at).ok()?).copied()
        }
    }

    fn party(&self, party: PartyId) -> Option<PartyId> {
        self.place(&self.case.parties, party.0).map(PartyId)
    }

    fn origin(&self, origin: Origin) -> Option<Origin> {
        let party = self.party(origin.party)?;
        if origin.step == 0 {
            return Some(Origin { party, step: 0 });
        }
        let cut = if self.inward { party } else { origin.party };
        let steps = &self.case.steps[usize::from(cut.0)];
        let step = if self.inward {
            steps.iter().position(|&old| old == origin.step)? as u16 + 1
        } else {
            *steps.get(usize::from(origin.step) - 1)?
        };
        Some(Origin { party, step })
    }

    /// A tag names its cause and a port; ports are a party's links in their order.
    fn tag(&self, tag: u32, party: PartyId) -> Option<u32> {
        let Some(tag) = Tag::read(tag) else {
            return Some(tag);
        };
        let origin = self.origin(tag.origin)?;
        let here = usize::from(party.0);
        let there = usize::from(self.party(party)?.0);
        let (from, to) = if self.inward {
            (&self.case.first_ports[here], &self.ports[there])
        } else {
            (&self.ports[here], &self.case.first_ports[there])
        };
        let link = self.place(&self.case.links, *from.get(usize::from(tag.port.0))?)?;
        let port = to.iter().position(|&other| other == link)?;
        let port = Port(port as u8);
        Some(
            Tag {
                origin,
                port,
                ..tag
            }
            .word(),
        )
    }
}

/// The links of each party, in the order of its ports.
fn ports(scenario: &Scenario) -> Vec<Vec<u8>> {
    let links = |name: &String| {
        let ends = scenario.links.iter().enumerate();
        ends.filter(|(_, link)| link.client == *name || link.server == *name)
            .map(|(at, _)| at as u8)
            .collect()
    };
    scenario
        .parties
        .iter()
        .map(|party| links(&party.name))
        .collect()
}
