//! The same sessions judged from the world, from either end's log, and from in between: an outside vantage never
//! accuses a party that breaks no rule. What it misses is counted in `docs/vantage.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use mcpsim_models::examples::{How, examples, judge};
use mcpsim_models::retold::{Again, EndLog};
use mcpsim_models::rules::milder;
use mcpsim_models::{Needs, rule, rules};
use mcpsim_scenarios::scenario::PartyRole as Role;
use mcpsim_scenarios::{Scenario, faults, play, scenario, scenarios};
use mcpsim_sim::choose::{Dice, derive_seed};
use mcpsim_traces::event::PartyId;
use mcpsim_traces::file::{Header, Link, OwnedEvent, Party, PartyRole, TraceReader, TraceWriter};
use mcpsim_traces::judge::{Ending, Finding, Judge, Severity, Vantage, Verdict};
use mcpsim_traces::scan::Scanner;

const OUTSIDE: [Vantage; 3] = [Vantage::Client, Vantage::Server, Vantage::Between];
/// Runs of each fault, and of each scenario without one.
const RUNS: u64 = 40;
const FINDINGS_MAX: u32 = 1_000;

/// Who broke or may have broken what.
type Who = (&'static str, PartyId);

fn who(findings: &[Finding], verdict: Verdict) -> BTreeSet<Who> {
    let fitting = findings.iter().filter(|one| one.verdict == verdict);
    fitting.map(|one| (one.rule, one.party)).collect()
}

fn header(scenario: &Scenario, fault: Option<&str>) -> Header {
    let mut header = Header::new("test");
    header.parties = scenario
        .parties
        .iter()
        .map(|party| Party {
            name: party.name.clone(),
            role: match party.role {
                Role::Client => PartyRole::Client,
                Role::Server => PartyRole::Server,
                Role::Gateway => PartyRole::Gateway,
            },
        })
        .collect();
    let setup = scenario.setup(fault).expect("a setup");
    let link = |link: &mcpsim_sim::setup::LinkSetup| Link {
        kind: link.kind,
        client: link.client,
        server: link.server,
    };
    header.links = setup.links.iter().map(link).collect();
    header
}

/// One run, as a trace that has the text of every frame.
struct Run {
    name: String,
    header: Header,
    events: Vec<OwnedEvent>,
}

impl Run {
    fn new(scenario: &Scenario, fault: Option<&str>, seed: u64) -> Run {
        let header = header(scenario, fault);
        let mut writer = TraceWriter::new(Vec::new(), &header);
        play(scenario, fault, &mut Dice::new(seed), &mut writer).expect("valid");
        let bytes = writer.finish(&[]).expect("memory").out;
        let reader = TraceReader::new(&bytes[..]).expect("a trace");
        Run {
            name: format!("{} {} seed {seed}", scenario.name, fault.unwrap_or("-")),
            header,
            events: reader.map(|event| event.expect("an event")).collect(),
        }
    }

    fn judged_by_the_world(&self) -> Vec<Finding> {
        let mut again = Again::new(&self.header);
        let mut scanner = Scanner::new();
        for event in &self.events {
            again.event(event.clone(), &mut scanner);
        }
        again.settle(Ending::Unfinished);
        again.monitor().findings().to_vec()
    }

    fn judged_outside(&self, vantage: Vantage) -> Vec<Finding> {
        let mut log = EndLog::new(&self.header, vantage, None, FINDINGS_MAX);
        let mut scanner = Scanner::new();
        for event in &self.events {
            log.event(event.clone(), &mut scanner);
        }
        let told = log.finish();
        told.iter()
            .flat_map(|told| told.findings().to_vec())
            .collect()
    }
}

/// How often a rule that is broken at world is found from elsewhere.
#[derive(Clone, Copy, Default)]
struct Count {
    world: u32,
    /// Broken, unsure, nothing; by vantage.
    outside: [[u32; 3]; 3],
    /// Of the broken ones, those of less severity than at world.
    milder: [u32; 3],
}

/// How severe what the party broke is at most.
fn severity(findings: &[Finding], (rule, party): Who) -> Option<Severity> {
    let broken = findings
        .iter()
        .filter(|one| one.verdict == Verdict::Broken && (one.rule, one.party) == (rule, party));
    broken.map(|one| one.severity).max()
}

/// Compares one session; what is wrong with it is returned.
fn compare(
    name: &str,
    world: &[Finding],
    outside: impl Fn(Vantage) -> Vec<Finding>,
    counts: &mut BTreeMap<&'static str, Count>,
) -> Vec<String> {
    let broken = who(world, Verdict::Broken);
    let guilty: BTreeSet<PartyId> = broken.iter().map(|(_, party)| *party).collect();
    let mut wrong = vec![];
    for (rule, _) in &broken {
        counts.entry(rule).or_default().world += 1;
    }
    for (at, vantage) in OUTSIDE.into_iter().enumerate() {
        let findings = outside(vantage);
        let seen = who(&findings, Verdict::Broken);
        let unsure = who(&findings, Verdict::Unsure);
        for finding in &findings {
            if finding.verdict == Verdict::Broken && !guilty.contains(&finding.party) {
                wrong.push(format!(
                    "{name}, {}: {} {} {:?}: {}",
                    vantage.as_str(),
                    finding.rule,
                    finding.blame.as_str(),
                    finding.frames,
                    finding.message
                ));
            }
        }
        for one in &broken {
            let count = counts.entry(one.0).or_default();
            let place = match (seen.contains(one), unsure.contains(one)) {
                (true, _) => 0,
                (false, true) => 1,
                (false, false) => 2,
            };
            count.outside[at][place] += 1;
            let is_milder = place == 0 && severity(&findings, *one) < severity(world, *one);
            count.milder[at] += u32::from(is_milder);
        }
    }
    wrong
}

/// Every fault of the catalogue, and every scenario without one.
fn worlds(counts: &mut BTreeMap<&'static str, Count>) -> Vec<String> {
    let faulty = faults().iter().map(|fault| {
        let scenario = scenario(fault.scenario).expect("its scenario");
        (scenario, Some(fault.name))
    });
    let clean = scenarios().iter().map(|scenario| (scenario, None));
    let mut wrong = vec![];
    for (scenario, fault) in faulty.chain(clean) {
        for index in 0..RUNS {
            let run = Run::new(scenario, fault, derive_seed(17, index));
            let world = run.judged_by_the_world();
            let outside = |vantage| run.judged_outside(vantage);
            wrong.extend(compare(&run.name, &world, outside, counts));
        }
    }
    wrong
}

/// Every session of the cases that is told as the world saw it, in that order.
fn cases(counts: &mut BTreeMap<&'static str, Count>) -> Vec<String> {
    let mut wrong = vec![];
    for rule in rules() {
        for (at, example) in examples(rule.id).iter().enumerate() {
            let how = example.how().expect("options");
            if how.vantage != Vantage::World {
                continue;
            }
            let lines = example.lines().expect("a session");
            let seen_from = |vantage| judge(&lines, &How { vantage, ..how });
            let name = format!("{}, session {}", rule.id, at + 1);
            wrong.extend(compare(
                &name,
                &seen_from(Vantage::World),
                seen_from,
                counts,
            ));
        }
    }
    wrong
}

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/vantage.md")
}

const HEAD: &str = "\
# What can be said from where

The same sessions, judged from the world (both ends' own order is known), from the client's log, from the server's, and from
in between. From outside a party is judged by what it must have known, so less can be said; nobody is accused from outside who
breaks no rule at world. Each cell counts the times in which a rule that is broken at world is found *broken / unsure / not at all*
there. *Milder* are those that are an error at world and a warning from there, because a party that did not know better would be
less to blame: the revision, say, may have been agreed on without its knowing yet. `UPDATE_VANTAGE=1 cargo test -p mcpsim-scenarios --test vantage` writes this page.
";

fn table(counts: &BTreeMap<&'static str, Count>) -> String {
    let mut text = String::from(
        "| rule | decided by | world | client | server | between |\n|---|---|---|---|---|---|\n",
    );
    for (id, count) in counts {
        let needs = rule(id).map_or("", |rule| Needs::as_str(rule.needs));
        let _ = write!(text, "| `{id}` | {needs} | {} |", count.world);
        for ([broken, unsure, nothing], milder) in count.outside.into_iter().zip(count.milder) {
            let milder = match milder {
                0 => String::new(),
                milder => format!(" ({milder} milder)"),
            };
            let _ = write!(text, " {broken}{milder} / {unsure} / {nothing} |");
        }
        text.push('\n');
    }
    text
}

/// And the page has a row for every rule that was seen broken. Set `UPDATE_VANTAGE=1` to write it anew.
#[test]
fn no_vantage_accuses_who_breaks_no_rule() {
    let (mut played, mut told) = (BTreeMap::new(), BTreeMap::new());
    let wrong = [worlds(&mut played), cases(&mut told)].concat();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(played.len() > 20, "{}", played.len());
    let milder: Vec<&&str> = played
        .iter()
        .chain(&told)
        .filter(|(id, count)| count.milder != [0; 3] && milder(id).is_none())
        .map(|(id, _)| id)
        .collect();
    assert!(milder.is_empty(), "`explain` does not say when: {milder:?}");
    if std::env::var_os("UPDATE_VANTAGE").is_some() {
        let page_text = format!(
            "{HEAD}\n## Simulated sessions\n\nReference peers with each fault of the catalogue, {RUNS} runs of each.\n\n{}\n\
             ## Sessions of the cases\n\nThose of `models/cases` that are told as the world saw them.\n\n{}",
            table(&played),
            table(&told)
        );
        std::fs::write(page(), page_text).expect("the page is written");
    }
    let text = std::fs::read_to_string(page()).expect("docs/vantage.md");
    let missing: Vec<&&str> = played
        .keys()
        .chain(told.keys())
        .filter(|id| !text.contains(&format!("| `{id}` |")))
        .collect();
    assert!(
        missing.is_empty(),
        "no row for {missing:?}: set UPDATE_VANTAGE=1"
    );
}
