//! The named scenarios: what every finding and every clean run of the reference peers is tried on.

use std::sync::OnceLock;

use mcpsim_traces::message::{Capabilities, Tool};

use crate::scenario::{
    Act, Beyond, Bounds, Faults, Ids, Link, Party, PartyRole, Routing, Scenario, Step, Transport,
    Unkept,
};

/// All named scenarios.
pub fn scenarios() -> &'static [Scenario] {
    static ALL: OnceLock<Vec<Scenario>> = OnceLock::new();
    ALL.get_or_init(all)
}

/// The scenario of that name.
pub fn scenario(name: &str) -> Option<&'static Scenario> {
    scenarios().iter().find(|scenario| scenario.name == name)
}

/// 2^53 + 1: the first integer that a double cannot hold.
const BEYOND_DOUBLE: i64 = (1 << 53) + 1;

fn all() -> Vec<Scenario> {
    vec![
        one_call(),
        parallel_calls(),
        eager_calls(),
        progress(),
        count_quietly(),
        failing_tool(),
        cancel_on_timeout(),
        mixed_ids(),
        nested(),
        undeclared(),
        zero_id(),
        big_ids(),
        hostile_batch(),
        two_clients(),
        clients_apart(),
        gateway(),
        gateway_progress(),
        gateway_from_zero(),
        gateway_two_clients(),
        http_calls(),
        http_nested(),
        lossy_http(),
        unreliable_parties(),
        busy(),
        busy_gateway(),
    ]
}

fn one_call() -> Scenario {
    pair(
        "one-call",
        "A client calls one tool over a pipe.",
        Transport::Pipe,
        1,
        vec![Step::call(Tool::Echo, 1)],
    )
}

fn parallel_calls() -> Scenario {
    let steps = vec![
        Step::call(Tool::Slow, 1),
        Step::call(Tool::Slow, 2),
        Step::call(Tool::Echo, 3),
        Step::plain(Act::ListTools),
        Step::call(Tool::Slow, 4),
    ];
    pair(
        "parallel-calls",
        "Three calls are open at once, and answers come in any order.",
        Transport::Pipe,
        3,
        steps,
    )
}

fn eager_calls() -> Scenario {
    let steps = vec![
        Step::call(Tool::Slow, 1),
        Step::call(Tool::Slow, 2),
        Step::call(Tool::Slow, 3),
        Step::call(Tool::Echo, 4),
    ];
    let about = "The client never hesitates: it writes its calls in one go.";
    pair("eager-calls", about, Transport::Pipe, 3, steps)
        .with(|scenario| scenario.parties[0].hesitates = false)
}

fn progress() -> Scenario {
    let steps = vec![counting(3), counting(2), Step::call(Tool::Echo, 7)];
    pair(
        "progress",
        "Two calls report progress at the same time.",
        Transport::Pipe,
        2,
        steps,
    )
}

fn count_quietly() -> Scenario {
    let steps = vec![Step::call(Tool::Count, 2), counting(2)];
    pair(
        "count-quietly",
        "One call asks for progress, the other does not.",
        Transport::Pipe,
        2,
        steps,
    )
}

fn failing_tool() -> Scenario {
    let steps = vec![Step::call(Tool::Fail, 1), Step::call(Tool::Echo, 2)];
    pair(
        "failing-tool",
        "A tool fails, which is a result and no error.",
        Transport::Pipe,
        1,
        steps,
    )
}

fn cancel_on_timeout() -> Scenario {
    let steps = vec![
        timed(Step::call(Tool::Slow, 1), 50),
        timed(Step::call(Tool::Slow, 2), 50),
        Step::call(Tool::Slow, 3),
        Step {
            cancel_soon: true,
            ..Step::call(Tool::Slow, 4)
        },
        Step {
            cancel_after_progress: Some(1),
            ..counting(3)
        },
        Step {
            of: Some(3),
            ..Step::plain(Act::Cancel)
        },
    ];
    pair(
        "cancel-on-timeout",
        "Calls are cancelled by time-out, by a step of their own, and after a progress report.",
        Transport::Pipe,
        3,
        steps,
    )
}

fn mixed_ids() -> Scenario {
    let steps = vec![
        Step::call(Tool::Slow, 1),
        Step {
            cancel_soon: true,
            ..Step::call(Tool::Slow, 2)
        },
        Step::call(Tool::Slow, 3),
        Step::plain(Act::Ping),
        Step::call(Tool::Slow, 5),
    ];
    let mut scenario = pair(
        "mixed-ids",
        "The client's ids are 1, \"1\", 2, \"2\", …, and one of its calls is cancelled.",
        Transport::Pipe,
        5,
        steps,
    );
    scenario.parties[0].ids = Ids::Mixed;
    scenario
}

fn nested() -> Scenario {
    pair(
        "nested",
        "Tools ask the client for a sampling, an elicitation and its roots before they answer.",
        Transport::Pipe,
        2,
        nested_steps(),
    )
    .with(|scenario| scenario.parties[1].pings = true)
}

fn nested_steps() -> Vec<Step> {
    vec![
        Step::call(Tool::Ask, 1),
        Step::call(Tool::Confirm, 2),
        Step::call(Tool::Look, 3),
        Step::plain(Act::RootsChanged),
        Step {
            cancel_soon: true,
            ..Step::call(Tool::Ask, 4)
        },
    ]
}

fn undeclared() -> Scenario {
    let steps = vec![
        Step::call(Tool::Ask, 1),
        Step::call(Tool::Confirm, 2),
        Step::call(Tool::Look, 3),
    ];
    pair(
        "undeclared",
        "The client declares nothing, so tools that would ask it fail.",
        Transport::Pipe,
        2,
        steps,
    )
    .with(|scenario| scenario.parties[0].capabilities = Some(Capabilities::NONE))
}

fn zero_id() -> Scenario {
    let steps = vec![Step::call(Tool::Look, 1), Step::call(Tool::Echo, 2)];
    pair(
        "zero-id",
        "Both sides number their requests from 0.",
        Transport::Pipe,
        1,
        steps,
    )
    .with(|scenario| {
        for party in &mut scenario.parties {
            party.first_id = 0;
        }
    })
}

fn big_ids() -> Scenario {
    let steps = vec![Step::call(Tool::Slow, 1), Step::call(Tool::Slow, 2)];
    pair(
        "big-ids",
        "Ids begin where a double no longer holds every integer.",
        Transport::Pipe,
        2,
        steps,
    )
    .with(|scenario| scenario.parties[0].first_id = BEYOND_DOUBLE)
}

fn hostile_batch() -> Scenario {
    let steps = vec![
        Step::plain(Act::Batch),
        Step::call(Tool::Slow, 1),
        Step::call(Tool::Echo, 2),
    ];
    pair(
        "hostile-batch",
        "The client sends a top-level array on purpose, which a server must survive.",
        Transport::Pipe,
        2,
        steps,
    )
}

fn two_clients() -> Scenario {
    let mut scenario = pair(
        "two-clients",
        "Two clients that number alike call the same server.",
        Transport::Pipe,
        2,
        vec![Step::call(Tool::Slow, 1), Step::call(Tool::Ask, 2)],
    );
    let mut second = Party::plain("second", PartyRole::Client);
    second.window = 2;
    scenario.parties.push(second);
    scenario
        .links
        .push(link(Transport::Pipe, "second", "server"));
    let steps = vec![Step::call(Tool::Slow, 3), counting(2)];
    scenario.workload.insert("second".to_owned(), steps);
    scenario
}

fn clients_apart() -> Scenario {
    let mut scenario = two_clients();
    scenario.name = "clients-apart".to_owned();
    scenario.about = "Two clients of the same server number far from each other.".to_owned();
    scenario.parties[2].first_id = 100;
    scenario
}

fn gateway() -> Scenario {
    let steps = vec![
        Step::call(Tool::Slow, 1),
        Step::call(Tool::Slow, 2),
        Step {
            cancel_soon: true,
            ..Step::call(Tool::Slow, 3)
        },
        Step::call(Tool::Ask, 4),
        counting(2),
    ];
    through_gateway(
        "gateway",
        "A gateway passes calls on to two servers and translates the ids.",
        Transport::Pipe,
        3,
        steps,
    )
}

fn gateway_progress() -> Scenario {
    // The gateway counts in text, so that no token of its own is one of its client's by accident.
    through_gateway(
        "gateway-progress",
        "Progress comes through a gateway that numbers in its own way.",
        Transport::Pipe,
        2,
        vec![counting(2), counting(3)],
    )
    .with(|scenario| scenario.parties[1].ids = Ids::Text)
}

fn gateway_from_zero() -> Scenario {
    let steps = vec![Step::call(Tool::Slow, 1), Step::call(Tool::Slow, 2)];
    let about = "A client that numbers from 0 calls through a gateway that numbers from 1.";
    through_gateway("gateway-from-zero", about, Transport::Pipe, 2, steps)
        .with(|scenario| scenario.parties[0].first_id = 0)
}

fn gateway_two_clients() -> Scenario {
    let steps = vec![Step::call(Tool::Slow, 1), Step::call(Tool::Slow, 3)];
    let mut scenario = through_gateway(
        "gateway-two-clients",
        "Two clients that number alike call through one gateway.",
        Transport::Pipe,
        2,
        steps.clone(),
    );
    let mut second = Party::plain("second", PartyRole::Client);
    second.window = 2;
    scenario.parties.push(second);
    scenario
        .links
        .push(link(Transport::Pipe, "second", "gateway"));
    scenario.workload.insert("second".to_owned(), steps);
    scenario
}

fn http_calls() -> Scenario {
    let steps = vec![
        counting(2),
        Step::call(Tool::Slow, 2),
        Step {
            cancel_soon: true,
            ..Step::call(Tool::Slow, 3)
        },
        Step::plain(Act::Ping),
        Step::call(Tool::Echo, 4),
    ];
    pair(
        "http-calls",
        "Calls over http, where messages overtake each other and streams are held back.",
        Transport::Http,
        3,
        steps,
    )
    .with(|scenario| scenario.faults.delay = 2)
}

fn http_nested() -> Scenario {
    pair(
        "http-nested",
        "Nested requests over http, on the stream of the call that they belong to.",
        Transport::Http,
        2,
        nested_steps(),
    )
    .with(|scenario| scenario.parties[1].pings = true)
}

fn lossy_http() -> Scenario {
    let mut steps = nested_steps();
    steps.push(counting(2));
    steps.push(timed(Step::call(Tool::Slow, 6), 1_000));
    pair(
        "lossy-http",
        "Http that loses, repeats and holds back what it carries.",
        Transport::Http,
        3,
        steps,
    )
    .with(|scenario| {
        scenario.faults = Faults {
            delay: 2,
            duplicate: 2,
            drop: 2,
            cut: 1,
            crash: 0,
        };
    })
}

fn unreliable_parties() -> Scenario {
    let steps = vec![
        Step::call(Tool::Slow, 1),
        Step::call(Tool::Ask, 2),
        counting(2),
        Step::call(Tool::Slow, 4),
    ];
    through_gateway(
        "unreliable-parties",
        "Servers and gateways crash and connections are cut in the middle of calls.",
        Transport::Pipe,
        2,
        steps,
    )
    .with(|scenario| {
        scenario.faults.cut = 1;
        scenario.faults.crash = 1;
    })
}

fn busy() -> Scenario {
    pair(
        "busy",
        "Seventy calls of every kind, eight at a time.",
        Transport::Pipe,
        8,
        every_kind(70),
    )
    .with(|scenario| scenario.parties[1].pings = true)
}

fn busy_gateway() -> Scenario {
    through_gateway(
        "busy-gateway",
        "Forty calls of every kind through a gateway, eight at a time.",
        Transport::Pipe,
        8,
        every_kind(40),
    )
}

fn every_kind(count: u32) -> Vec<Step> {
    let step = |n: u32| match n % 10 {
        1 => counting(n % 3 + 1),
        2 => Step::call(Tool::Ask, n),
        3 => timed(Step::call(Tool::Slow, n), 100),
        4 => Step::plain(Act::ListTools),
        5 => Step::call(Tool::Confirm, n),
        6 => Step {
            cancel_soon: true,
            ..Step::call(Tool::Slow, n)
        },
        7 => Step::call(Tool::Look, n),
        8 => Step::call(Tool::Fail, n),
        9 => Step::plain(Act::Ping),
        _ => Step::call(Tool::Slow, n),
    };
    (1..=count).map(step).collect()
}

fn counting(n: u32) -> Step {
    Step {
        progress: true,
        ..Step::call(Tool::Count, n)
    }
}

fn timed(step: Step, timeout_ms: u32) -> Step {
    Step {
        timeout_ms: Some(timeout_ms),
        ..step
    }
}

fn link(kind: Transport, client: &str, server: &str) -> Link {
    Link {
        kind,
        client: client.to_owned(),
        server: server.to_owned(),
        capacity: None,
        beyond: Beyond::default(),
    }
}

fn pair(name: &str, about: &str, kind: Transport, window: u32, steps: Vec<Step>) -> Scenario {
    let mut client = Party::plain("client", PartyRole::Client);
    client.window = window;
    Scenario {
        schema: Unkept,
        name: name.to_owned(),
        about: about.to_owned(),
        parties: vec![client, Party::plain("server", PartyRole::Server)],
        links: vec![link(kind, "client", "server")],
        workload: [("client".to_owned(), steps)].into(),
        faults: Faults::default(),
        bounds: Bounds::default(),
    }
}

fn through_gateway(
    name: &str,
    about: &str,
    kind: Transport,
    window: u32,
    steps: Vec<Step>,
) -> Scenario {
    let mut client = Party::plain("client", PartyRole::Client);
    client.window = window;
    let mut gateway = Party::plain("gateway", PartyRole::Gateway);
    gateway.routing = Routing::Value;
    Scenario {
        parties: vec![
            client,
            gateway,
            Party::plain("even", PartyRole::Server),
            Party::plain("odd", PartyRole::Server),
        ],
        links: vec![
            link(kind, "client", "gateway"),
            link(kind, "gateway", "even"),
            link(kind, "gateway", "odd"),
        ],
        ..pair(name, about, kind, window, steps)
    }
}

impl Scenario {
    fn with(mut self, change: impl FnOnce(&mut Scenario)) -> Scenario {
        change(&mut self);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_scenarios_are_valid_and_survive_json() {
        for scenario in scenarios() {
            scenario
                .check()
                .unwrap_or_else(|mistake| panic!("{}: {mistake}", scenario.name));
            assert_eq!(Scenario::parse(&scenario.to_json()).as_ref(), Ok(scenario));
            assert!(scenario.about.ends_with('.'), "{}", scenario.name);
            assert_eq!(
                scenarios()
                    .iter()
                    .filter(|other| other.name == scenario.name)
                    .count(),
                1
            );
        }
    }
}
