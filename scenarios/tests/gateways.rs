//! Gateways between links that lose, repeat and reorder: what goes wrong on one link makes no reference
//! peer break a rule on another.

use mcpsim_scenarios::play;
use mcpsim_scenarios::scenario::{
    Act, Beyond, Bounds, Faults, Link, Party, PartyRole, Scenario, Step, Transport, Unkept,
};
use mcpsim_sim::choose::{Dice, derive_seed};
use mcpsim_traces::event::Nothing;
use mcpsim_traces::judge::{Finding, Severity, Verdict};
use mcpsim_traces::message::Tool;

fn counts(finding: &Finding) -> bool {
    finding.verdict == Verdict::Broken && finding.severity > Severity::Note
}

/// The first finding against a peer in so many runs, with its seed. The peers have no defect.
fn first_blamed(scenario: &Scenario, campaign: u64, runs: u64) -> Option<(u64, Finding)> {
    (0..runs).find_map(|index| {
        let seed = derive_seed(campaign, index);
        let outcome = play(scenario, None, &mut Dice::new(seed), &mut Nothing).expect("valid");
        let mut findings = outcome.findings.into_iter();
        findings.find(counts).map(|finding| (seed, finding))
    })
}

const RELAYED_PROGRESS: &str = r#"{
  "name": "relayed-progress",
  "parties": [
    {"name": "c", "role": "client"},
    {"name": "g", "role": "gateway"},
    {"name": "s", "role": "server"}
  ],
  "links": [
    {"kind": "pipe", "client": "c", "server": "g"},
    {"kind": "http", "client": "g", "server": "s"}
  ],
  "workload": {"c": [{"do": "call", "tool": "count", "n": 3, "progress": true}]},
  "faults": {"duplicate": 1}
}"#;

#[test]
fn progress_that_comes_twice_is_passed_on_once() {
    let scenario = Scenario::parse(RELAYED_PROGRESS).expect("valid");
    assert_eq!(first_blamed(&scenario, 1, 5_000), None);
}

#[test]
fn progress_that_comes_out_of_order_is_passed_on_in_order() {
    let mut scenario = Scenario::parse(RELAYED_PROGRESS).expect("valid");
    scenario.faults = Faults::default();
    scenario.links[1].beyond.reorder = true;
    let blamed = first_blamed(&scenario, 1, 5_000);
    assert_eq!(blamed, None);
}

/// Numbers for making scenarios (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) % bound
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }
}

fn any_step(numbers: &mut Numbers, before: usize) -> Step {
    const TOOLS: [Tool; 5] = [
        Tool::Count,
        Tool::Look,
        Tool::Ask,
        Tool::Confirm,
        Tool::Slow,
    ];
    if before > 0 && numbers.one_in(5) {
        return Step {
            of: Some(1),
            ..Step::plain(Act::Cancel)
        };
    }
    let tool = TOOLS[numbers.below(5) as usize];
    let progress = numbers.one_in(2);
    let cancel = numbers.one_in(4);
    Step {
        progress,
        timeout_ms: numbers.one_in(5).then_some(50),
        cancel_after_progress: (progress && cancel).then_some(1),
        cancel_soon: cancel && !progress,
        ..Step::call(tool, numbers.below(4) as u32)
    }
}

/// The steps that can do what they say; a client that cancels has room for what it cancels.
fn sensible(steps: Vec<Step>, client: &mut Party) -> Vec<Step> {
    let mut kept: Vec<Step> = vec![];
    for mut step in steps {
        let reports = if step.tool == Tool::Count { step.n } else { 0 };
        step.cancel_after_progress = step.cancel_after_progress.filter(|&after| after <= reports);
        let is_cancel = step.act == Act::Cancel;
        if is_cancel && kept.iter().any(|other| other.of == step.of) {
            step = Step::plain(Act::Ping);
        } else if is_cancel {
            client.window = client.window.max(2);
        }
        kept.push(step);
    }
    kept
}

/// A small scenario with one gateway, one or two clients and one or two servers.
fn any_gateway(at: u64) -> Scenario {
    let mut numbers = Numbers(at);
    let clients = 1 + u64::from(numbers.one_in(4));
    let servers = 1 + u64::from(numbers.one_in(3));
    let mut parties = vec![Party::plain("g", PartyRole::Gateway)];
    let mut links = vec![];
    let mut workload = std::collections::BTreeMap::new();
    let faults = Faults {
        delay: numbers.below(3) as u8,
        duplicate: numbers.below(3) as u8,
        drop: numbers.below(3) as u8,
        cut: u8::from(numbers.one_in(4)),
        crash: u8::from(numbers.one_in(4)),
    };
    let mut link = |client: &str, server: &str, numbers: &mut Numbers| {
        let kind = [Transport::Pipe, Transport::Http][numbers.below(2) as usize];
        let beyond = Beyond {
            reorder: numbers.one_in(5),
            drop: faults.drop > 0 && kind == Transport::Pipe && numbers.one_in(3),
            duplicate: faults.duplicate > 0 && kind == Transport::Pipe && numbers.one_in(3),
        };
        links.push(Link {
            kind,
            client: client.to_owned(),
            server: server.to_owned(),
            capacity: None,
            stderr_capacity: None,
            resumable: false,
            beyond,
        });
    };
    for client in 0..clients {
        let name = format!("c{client}");
        let mut party = Party::plain(&name, PartyRole::Client);
        party.window = 1 + numbers.below(3) as u32;
        party.closes = numbers.one_in(4);
        parties.push(party);
        link(&name, "g", &mut numbers);
        let steps = 1 + numbers.below(3) as usize;
        let steps = (0..steps).map(|before| any_step(&mut numbers, before));
        let steps: Vec<Step> = steps.collect();
        workload.insert(name, sensible(steps, parties.last_mut().expect("a client")));
    }
    for server in 0..servers {
        let name = format!("s{server}");
        let mut party = Party::plain(&name, PartyRole::Server);
        party.pings = numbers.one_in(5);
        parties.push(party);
        link("g", &name, &mut numbers);
    }
    let mut scenario = Scenario {
        schema: Unkept,
        name: format!("gateway {at}"),
        about: String::new(),
        parties,
        links,
        workload,
        faults,
        bounds: Bounds::default(),
    };
    let can = |pick: fn(&Beyond) -> bool| {
        let mut links = scenario.links.iter();
        links.any(|link| link.kind == Transport::Http || pick(&link.beyond))
    };
    let (can_drop, can_duplicate) = (can(|beyond| beyond.drop), can(|beyond| beyond.duplicate));
    if !can_drop {
        scenario.faults.drop = 0;
    }
    if !can_duplicate {
        scenario.faults.duplicate = 0;
    }
    scenario
}

#[test]
fn gateways_stay_clean_whatever_their_links_do() {
    let mut blamed = vec![];
    for at in 0..200 {
        let scenario = any_gateway(at);
        assert_eq!(scenario.check(), Ok(()), "{}", scenario.to_json());
        if let Some((seed, finding)) = first_blamed(&scenario, at, 200) {
            println!("{}\nseed {seed}: {finding:?}", scenario.to_json());
            blamed.push((at, seed, finding.rule, finding.blame));
        }
    }
    assert!(blamed.is_empty(), "{} of 200: {blamed:#?}", blamed.len());
}
