//! Scenario files: what is wrong is named with its place, and what is right survives writing and reading.

use mcpsim_scenarios::scenario::{
    Act, Beyond, Bounds, Faults, Ids, Link, Party, PartyRole, Routing, Scenario, Step, Transport,
    Unkept,
};
use mcpsim_scenarios::{Scenario as Reexported, scenarios};
use mcpsim_traces::message::{Capabilities, Capability, Tool};
use proptest::prelude::*;

const GOOD: &str = r#"{
  "name": "mine",
  "parties": [
    {"name": "c", "role": "client", "window": 2},
    {"name": "s", "role": "server"}
  ],
  "links": [{"kind": "pipe", "client": "c", "server": "s"}],
  "workload": {
    "c": [
      {"do": "call", "tool": "count", "n": 2, "progress": true},
      {"do": "cancel", "of": 1}
    ]
  }
}"#;

/// Replaces `old` in the good file and expects that error.
fn check(old: &str, new: &str, expected: &str) {
    assert_eq!(GOOD.matches(old).count(), 1, "`{old}` stands there once");
    let text = GOOD.replace(old, new);
    let said = match Reexported::parse(&text) {
        Ok(_) => "(no error)".to_owned(),
        Err(error) => error.to_string(),
    };
    assert_eq!(said, expected, "with {new}");
}

#[test]
fn the_good_file_is_good() {
    let scenario = Scenario::parse(GOOD).expect("valid");
    assert_eq!(scenario.workload["c"].len(), 2);
    assert_eq!(scenario.parties[0].window, 2);
}

#[test]
fn unknown_names_are_placed_and_the_nearest_is_offered() {
    check(
        "\"window\"",
        "\"widow\"",
        "4:37: unknown key `widow`; did you mean `window`?",
    );
    check(
        "\"progress\": true",
        "\"proggress\": true",
        "10:47: unknown key `proggress`; did you mean `progress`?",
    );
    check(
        "\"pipe\"",
        "\"pip\"",
        "7:22: unknown value `pip`; did you mean `pipe`? known here: pipe, http",
    );
    check(
        "\"tool\": \"count\"",
        "\"tool\": \"cuont\"",
        "10:30: unknown tool `cuont`; did you mean `count`? known here: \
         echo, slow, count, ask, confirm, look, fail, touch, log, link",
    );
    check(
        "\"n\": 2",
        "\"zzzzzzz\": 2",
        "10:39: unknown key `zzzzzzz`; known here: do, tool, n, progress, timeout_ms, cancel_after_progress, cancel_soon, of, task",
    );
    check(
        "\"do\": \"cancel\"",
        "\"do\": \"stop\"",
        "11:14: unknown value `stop`; known here: call, list_tools, ping, roots_changed, cancel, batch, garbage, list_resources, \
         list_templates, read_resource, subscribe, unsubscribe, list_prompts, get_prompt, complete, set_level, get_task, \
         list_tasks, cancel_task, discover, listen",
    );
    let text = GOOD.replace(
        "\"role\": \"server\"",
        "\"role\": \"server\", \"capabilities\": [\"tool\"]",
    );
    let said = Scenario::parse(&text).expect_err("unknown").to_string();
    let start = "5:54: unknown capability `tool`; did you mean `tools`? known here: roots, ";
    assert!(said.starts_with(start), "{said}");
}

#[test]
fn what_is_no_json_is_placed() {
    check("\"mine\",", "\"mine\"", "3:3: expected `,` or `}`");
    check(
        "\"name\": \"mine\",",
        "\"name\": \"mine\", \"name\": \"x\",",
        "2:19: `name` stands here twice",
    );
    check(
        "\"n\": 2",
        "\"n\": -2",
        "10:44: `n` must be a whole number from 0 to 4294967295, not -2",
    );
    check(
        "      {\"do\": \"cancel\", \"of\": 1}\n    ]",
        "      {\"do\": \"cancel\", \"of\": 1}\n    ], \"c\": [{\"do\": \"ping\"}]",
        "12:8: `c` stands here twice",
    );
    check("\"kind\": \"pipe\", ", "", "7:42: `kind` is missing");
}

#[test]
fn values_of_another_type_are_refused_in_words() {
    let links = "\"links\"";
    for (member, expected) in [
        (
            "\"faults\": [1, 2, 3]",
            "7:13: `faults` must be an object, not a list",
        ),
        (
            "\"bounds\": []",
            "7:13: `bounds` must be an object, not a list",
        ),
        (
            "\"faults\": {\"cut\": 256}",
            "7:21: `cut` must be a whole number from 0 to 255, not 256",
        ),
        (
            "\"faults\": {\"cut\": 1.5}",
            "7:21: `cut` must be a whole number from 0 to 255, not 1.5",
        ),
        ("\"about\": null", "7:12: `about` must be a text, not null"),
    ] {
        check(links, &format!("{member},\n  {links}"), expected);
    }
    check(
        "{\"name\": \"s\", \"role\": \"server\"}",
        "[\"s\", \"server\"]",
        "5:5: a party must be an object, not a list",
    );
    check(
        "\"server\": \"s\"}]",
        "\"server\": \"s\", \"beyond\": [true]}]",
        "7:70: `beyond` must be an object, not a list",
    );
    check(
        "\"pipe\"",
        "{\"pipe\": null}",
        "7:22: `kind` must be a text, not an object",
    );
    check(
        "{\"do\": \"cancel\", \"of\": 1}",
        "\"cancel\"",
        "11:7: a step must be an object, not a text",
    );
    check(
        "\"progress\": true",
        "\"progress\": 1",
        "10:59: `progress` must be true or false, not 1",
    );
    check(
        "\"window\": 2",
        "\"capabilities\": {}",
        "4:53: `capabilities` must be a list, not an object",
    );
    let said = Scenario::parse("[1]").map_err(|error| error.to_string());
    assert_eq!(
        said,
        Err("1:1: a scenario must be an object, not a list".to_owned())
    );
}

#[test]
fn what_makes_no_world_is_placed_with_the_reason() {
    check(
        "\"client\": \"c\"",
        "\"client\": \"cc\"",
        "7:40: there is no party `cc`; did you mean `c`?",
    );
    check(
        "\"client\": \"c\"",
        "\"client\": \"s\"",
        "7:40: `s` is a server and has no client end",
    );
    check(
        "\"server\": \"s\"}]",
        "\"server\": \"s\"},\n {\"kind\": \"pipe\", \"client\": \"c\", \"server\": \"s\"}]",
        "8:29: client `c` has a link already, and one end only",
    );
    check(
        "\"window\": 2",
        "\"window\": 2, \"writes_stderr\": true",
        "4:67: `writes_stderr` is for a server; `c` is a client",
    );
    check(
        "\"window\": 2",
        "\"window\": 0",
        "4:47: a window of 0 lets no step begin",
    );
    check(
        "\"role\": \"server\"}",
        "\"role\": \"server\", \"window\": 3}",
        "5:47: `window` is for a client; `s` is a server",
    );
    check(
        "\"name\": \"s\"",
        "\"name\": \"c\"",
        "5:14: there are two parties named `c`",
    );
    check(
        "\"c\": [\n",
        "\"s\": [\n",
        "9:10: `s` is a server: only clients have a workload",
    );
    check(
        "\"of\": 1",
        "\"of\": 2",
        "11:30: the step to cancel must be an earlier one",
    );
    check(
        ", \"of\": 1",
        "",
        "11:7: a cancel needs `of`: the number of an earlier step, from 1",
    );
    check(
        ", \"tool\": \"count\", \"n\": 2, \"progress\": true",
        "",
        "10:14: a call needs a `tool`",
    );
    check(
        "\"links\"",
        "\"bounds\": {\"steps_max\": 0},\n  \"links\"",
        "7:27: a run of 0 steps shows nothing",
    );
    check(
        "\"links\"",
        "\"faults\": {\"drop\": 1},\n  \"links\"",
        "7:22: no link can drop a frame: a pipe does it only with `beyond`",
    );
    check(
        "\"server\": \"s\"}]",
        "\"server\": \"s\", \"beyond\": {\"drop\": true}}]",
        "7:79: the budget of `faults.drop` is 0: it never happens",
    );
    check(
        "\"role\": \"server\"",
        "\"role\": \"server\", \"capabilities\": [\"tools.listChanged\"]",
        "5:53: `tools.listChanged` needs the capability above it",
    );
    check(
        "\"role\": \"server\"}",
        "\"role\": \"server\"}, {\"name\": \"t\", \"role\": \"server\"}",
        "5:47: server `t` has no link",
    );
}

/// Well-formed, and of a world that could be made: but something that it asks for never happens.
#[test]
fn what_contradicts_itself_is_placed_with_the_reason() {
    for (old, new, expected) in [
        (
            "\"links\"",
            "\"bounds\": {\"steps_max\": 500, \"hostile_steps\": 501},\n  \"links\"",
            "7:49: a run is given up after 500 steps: it would never be calm",
        ),
        (
            "\"pipe\", \"client\": \"c\", \"server\": \"s\"",
            "\"http\", \"client\": \"c\", \"server\": \"s\", \"capacity\": 80",
            "7:72: `capacity` is for a pipe: http holds as much as is sent",
        ),
        (
            "\"role\": \"server\"",
            "\"role\": \"server\", \"asks_for_tasks\": true",
            "5:55: no client of `s` declares `tasks` under 2025-11-25",
        ),
        (
            "\"server\": \"s\"}]",
            "\"server\": \"s\", \"stderr_capacity\": 2}]",
            "7:79: `s` writes nothing on the stderr of this link",
        ),
        (
            "\"role\": \"server\"}\n  ],\n  \"links\": [{\"kind\": \"pipe\"",
            "\"role\": \"server\", \"writes_stderr\": true}\n  ],\n  \"links\": [{\"kind\": \"http\"",
            "5:54: over http no client has the stderr of its server: nothing is written",
        ),
        (
            "[{\"kind\": \"pipe\", \"client\": \"c\", \"server\": \"s\"}]",
            "[{\"kind\": \"http\", \"client\": \"c\", \"server\": \"s\", \"beyond\": {\"drop\": true}}], \"faults\": {\"drop\": 1}",
            "7:79: `drop` is for a pipe: http loses frames as it is",
        ),
        (
            "[{\"kind\": \"pipe\", \"client\": \"c\", \"server\": \"s\"}]",
            "[{\"kind\": \"http\", \"client\": \"c\", \"server\": \"s\", \"beyond\": {\"duplicate\": true}}], \"faults\": {\"duplicate\": 1}",
            "7:84: `duplicate` is for a pipe: http delivers frames twice as it is",
        ),
        (
            "\"pipe\", \"client\": \"c\", \"server\": \"s\"",
            "\"pipe\", \"client\": \"c\", \"server\": \"s\", \"resumable\": true",
            "7:73: `resumable` is for http: a pipe has no streams that break",
        ),
        (
            "\"pipe\", \"client\": \"c\", \"server\": \"s\"",
            "\"http\", \"client\": \"c\", \"server\": \"s\", \"resumable\": true",
            "7:73: the budget of `faults.drop` is 0: no connection ever breaks",
        ),
        (
            "\"role\": \"server\"}\n  ],\n  \"links\": [{\"kind\": \"pipe\", \"client\": \"c\", \"server\": \"s\"}]",
            "\"role\": \"server\", \"revisions\": [\"2026-07-28\"]}\n  ], \"faults\": {\"drop\": 1},\n  \"links\": [{\"kind\": \"http\", \"client\": \"c\", \"server\": \"s\", \"resumable\": true}]",
            "7:73: `s` speaks nothing but 2026-07-28, where no stream that broke is opened again",
        ),
        (
            "\"window\": 2},\n    {\"name\": \"s\", \"role\": \"server\"}\n  ],\n  \"links\": [{\"kind\": \"pipe\", \"client\": \"c\", \"server\": \"s\"}]",
            "\"window\": 2, \"revisions\": [\"2025-11-25\", \"2026-07-28\"]},\n    {\"name\": \"s\", \"role\": \"server\", \"revisions\": [\"2025-11-25\", \"2026-07-28\"]}\n  ], \"faults\": {\"drop\": 1},\n  \"links\": [{\"kind\": \"http\", \"client\": \"c\", \"server\": \"s\", \"resumable\": true}]",
            "7:73: `c` and `s` both speak 2026-07-28, where no stream that broke is opened again",
        ),
        (
            "\"role\": \"server\"",
            "\"role\": \"server\", \"capabilities\": [\"tools\", \"roots\"]",
            "5:53: `roots` is for clients to declare; `s` is a server",
        ),
        (
            "\"window\": 2",
            "\"window\": 2, \"capabilities\": [\"logging\"]",
            "4:66: `logging` is for servers to declare; `c` is a client",
        ),
        (
            "\"window\": 2",
            "\"window\": 2, \"capabilities\": [\"roots\", \"sampling\", \"roots\"]",
            "4:88: `roots` stands here twice",
        ),
        (
            "\"role\": \"server\"",
            "\"role\": \"server\", \"capabilities\": [\"logging\"]",
            "10:14: `s` does not declare `tools`: nothing is sent",
        ),
        (
            "\"window\": 2",
            "\"window\": 1",
            "11:14: with a window of 1 every step is settled when the next one begins",
        ),
        (
            "\"progress\": true",
            "\"progress\": true, \"cancel_after_progress\": 3",
            "10:90: `count` reports 2 times only, as `n` says",
        ),
        (
            "\"count\", \"n\": 2, \"progress\": true",
            "\"slow\", \"progress\": true, \"cancel_after_progress\": 1",
            "10:81: `slow` reports no progress: `count` does",
        ),
        (
            "\"progress\": true",
            "\"cancel_after_progress\": 1",
            "10:72: `cancel_after_progress` is for a call with `progress`",
        ),
        (
            "\"of\": 1}",
            "\"of\": 1},\n      {\"do\": \"cancel\", \"of\": 1}",
            "12:30: step 2 cancels that already",
        ),
        (
            "{\"do\": \"cancel\", \"of\": 1}",
            "{\"do\": \"batch\"}, {\"do\": \"cancel\", \"of\": 2}",
            "11:47: the step to cancel sends no request",
        ),
    ] {
        check(old, new, expected);
    }
    let text = GOOD
        .replace(
            "\"window\": 2",
            "\"window\": 2, \"capabilities\": [\"roots\"]",
        )
        .replace("\"cancel\", \"of\": 1", "\"roots_changed\"");
    let said = Scenario::parse(&text).map_err(|error| error.to_string());
    let expected = "11:14: `c` does not declare `roots.listChanged`: nothing is sent";
    assert_eq!(said, Err(expected.to_owned()));
}

#[test]
fn a_gateway_has_one_link_to_a_server_and_declares_as_a_client() {
    let gateway = mcpsim_scenarios::scenario("gateway").expect("named");
    let mut doubled = gateway.clone();
    doubled.links.push(doubled.links[1].clone());
    let said = doubled.check().expect_err("two links").to_string();
    assert_eq!(
        said,
        "links[3].server: `gateway` and `even` have a link already"
    );
    let mut tooled = gateway.clone();
    tooled.parties[1].capabilities = Some(Capabilities::of(&[Capability::Tools]));
    let said = tooled.check().expect_err("tools").to_string();
    let expected = "parties[1].capabilities: `tools` is for servers to declare; `gateway` declares as a client, toward its servers";
    assert_eq!(said, expected);
    // A gateway has tools whatever is behind it, and answers for a server without any.
    let mut bare = gateway.clone();
    bare.parties[2].capabilities = Some(Capabilities::NONE);
    assert_eq!(bare.check(), Ok(()));
}

#[test]
fn a_file_may_name_its_schema_and_give_few_steps() {
    let text = GOOD.replace(
        "\"name\": \"mine\"",
        "\"$schema\": \"./s.json\", \"name\": \"mine\"",
    );
    assert_eq!(Scenario::parse(&text), Scenario::parse(GOOD));
    let text = GOOD.replace("\"links\"", "\"bounds\": {\"steps_max\": 500}, \"links\"");
    let scenario = Scenario::parse(&text).expect("valid");
    assert_eq!(scenario.bounds.hostile_steps, 500);
    assert_eq!(Scenario::parse(&scenario.to_json()), Ok(scenario));
}

#[test]
fn a_client_without_work_is_refused() {
    let text = GOOD.replace("\"c\": [\n      {\"do\": \"call\", \"tool\": \"count\", \"n\": 2, \"progress\": true},\n      {\"do\": \"cancel\", \"of\": 1}\n    ]", "\"c\": []");
    let error = Scenario::parse(&text).expect_err("nothing to do");
    assert_eq!(
        error.to_string(),
        "9:10: `c` must be a list of 1 to 65535 steps, not of 0"
    );
}

#[test]
fn gateways_in_a_ring_are_refused() {
    let mut scenario = mcpsim_scenarios::scenario("gateway")
        .expect("named")
        .clone();
    scenario.parties[2].role = PartyRole::Gateway;
    scenario.links.push(Link {
        client: "even".to_owned(),
        server: "gateway".to_owned(),
        ..scenario.links[0].clone()
    });
    let mistake = scenario.check().expect_err("a ring");
    assert!(mistake.to_string().contains("ring"), "{mistake}");
}

#[test]
fn deep_and_broken_texts_do_not_panic() {
    for text in [
        "",
        "[",
        "nul",
        "{\"name\":",
        "\u{feff}{}",
        "{\"name\": \"é\", \"partis\": []}",
    ] {
        let error = Scenario::parse(text).expect_err("no scenario");
        assert!(error.line >= 1 && error.column >= 1, "{text}: {error}");
    }
    let deep = "[".repeat(100_000);
    assert!(Scenario::parse(&deep).is_err());
}

fn any_step() -> impl Strategy<Value = Step> {
    let tool = proptest::sample::select(&Tool::ALL[..]);
    let timeout = proptest::option::of(1u32..100);
    prop_oneof![
        (tool, 0u32..9, any::<bool>(), timeout.clone(), any::<bool>()).prop_map(
            |(tool, n, progress, timeout_ms, cancel_soon)| Step {
                progress,
                timeout_ms,
                cancel_soon,
                cancel_after_progress: (progress && tool == Tool::Count && n >= 2).then_some(2),
                ..Step::call(tool, n)
            }
        ),
        timeout.prop_map(|timeout_ms| Step {
            timeout_ms,
            ..Step::plain(Act::Ping)
        }),
        Just(Step::plain(Act::ListTools)),
        Just(Step::plain(Act::Batch)),
    ]
}

prop_compose! {
    fn any_scenario()(
        steps in proptest::collection::vec(any_step(), 1..6),
        window in 1u32..9,
        first_id in any::<i64>(),
        ids in proptest::sample::select(vec![Ids::Numbers, Ids::Text, Ids::Mixed]),
        flags in any::<(bool, bool, bool)>(),
        declared in proptest::option::of(any::<(bool, bool)>()),
        kind in proptest::sample::select(vec![Transport::Pipe, Transport::Http]),
        faults in any::<(u8, u8, u8, u8, u8)>(),
        capacity in proptest::option::of(0u32..200),
        stderr in proptest::option::of(0u32..200),
        steps_max in 1u32..1_000_000,
        hostile in 1u32..20_000,
        name in "[a-z\"\\\\é]{1,8}",
    ) -> Scenario {
        let mut client = Party::plain(&name, PartyRole::Client);
        client.window = window;
        client.first_id = first_id;
        client.ids = ids;
        client.hesitates = flags.0;
        client.closes = flags.1;
        client.capabilities = declared.map(|(sampling, roots)| {
            let mut set = Capabilities::NONE;
            if sampling { set.insert(Capability::Sampling); }
            if roots { set.insert(Capability::Roots); set.insert(Capability::RootsListChanged); }
            set
        });
        let mut server = Party::plain("the server", PartyRole::Server);
        server.pings = flags.2;
        server.writes_stderr = kind == Transport::Pipe && (flags.1 || stderr.is_some());
        server.routing = Routing::Value;
        let http = kind == Transport::Http;
        Scenario {
            schema: Unkept,
            name: format!("of {name}"),
            about: String::new(),
            parties: vec![client, server],
            links: vec![Link {
                kind,
                client: name.clone(),
                server: "the server".to_owned(),
                capacity: capacity.filter(|_| !http),
                stderr_capacity: stderr.filter(|_| !http),
                resumable: http && flags.2 && faults.2 > 0,
                beyond: Beyond {
                    reorder: flags.2,
                    ..Beyond::default()
                },
            }],
            workload: [(name, steps)].into(),
            faults: Faults {
                delay: faults.0,
                duplicate: if http { faults.1 } else { 0 },
                drop: if http { faults.2 } else { 0 },
                cut: faults.3,
                crash: faults.4,
            },
            bounds: Bounds { steps_max, hostile_steps: hostile.min(steps_max) },
        }
    }
}

proptest! {
    /// Reading what was written gives the same scenario, and writing it again the same text.
    #[test]
    fn writing_and_reading_is_the_identity(scenario in any_scenario()) {
        prop_assert_eq!(scenario.check(), Ok(()));
        let text = scenario.to_json();
        let read = Scenario::parse(&text).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(&read, &scenario);
        prop_assert_eq!(read.to_json(), text);
    }

    /// No cut of a scenario is an error without a place, and none panics.
    #[test]
    fn cut_files_are_refused(at in 0usize..2_000) {
        let text = scenarios()[0].to_json();
        let cut = at % text.len();
        if text.is_char_boundary(cut) && cut < text.trim_end().len() {
            prop_assert!(Scenario::parse(&text[..cut]).is_err());
        }
    }
}

/// Every file of the folder is a named scenario.
#[test]
fn no_file_is_left_out() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/named");
    let files = std::fs::read_dir(folder).expect("the folder is there");
    assert_eq!(files.count(), mcpsim_scenarios::scenarios().len());
}
