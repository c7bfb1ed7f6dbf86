//! The dispatcher frame by frame: what a reference peer says to each thing that can arrive, by hand and without a world.

use mcpsim_scenarios::scenario::{Act, Step};
use mcpsim_scenarios::{Peer, Scenario, scenario};
use mcpsim_sim::actor::{Actor, Ask, Input, Out, Port, Sent, Wish};
use mcpsim_traces::classify::classify;
use mcpsim_traces::event::{Origin, PartyId};
use mcpsim_traces::message::Tool;
use mcpsim_traces::render::{Spellings, render};
use mcpsim_traces::scan::Scanner;

/// Gives every question the same answer.
struct Always(u32);

impl Ask for Always {
    fn ask(&mut self, bound: u32) -> u32 {
        self.0.min(bound - 1)
    }
}

/// One peer in a hand, with what it wants noted.
struct Hand {
    peer: Peer,
    party: PartyId,
    answer: u32,
    own: Vec<(u32, Origin)>,
    timers: Vec<(u32, u32)>,
    closed: bool,
    /// The cause of the next frame that is fed in, as a step of the first client.
    step: u16,
}

impl Hand {
    fn new(scenario: &Scenario, at: usize) -> Hand {
        let mut peers = scenario.setup(None).expect("no fault").parties;
        Hand {
            peer: peers.swap_remove(at),
            party: PartyId(at as u8),
            answer: 0,
            own: vec![],
            timers: vec![],
            closed: false,
            step: 0,
        }
    }

    /// A server that has finished its handshake with a client that declares everything.
    fn ready_server(name: &str) -> Hand {
        let mut hand = Hand::new(scenario(name).expect("named"), 1);
        hand.opened();
        hand.says(HELLO, &[HELLO_BACK]);
        hand.says(INITIALIZED, &[]);
        hand
    }

    fn on(&mut self, input: &Input<'_>, origin: Origin) -> Vec<String> {
        let (mut sent, mut wishes) = (vec![], vec![]);
        let mut ask = Always(self.answer);
        let mut out = Out::new(self.party, origin, &mut sent, &mut wishes, &mut ask);
        self.peer.on(input, &mut out);
        for wish in wishes {
            match wish {
                Wish::Again { tag, origin } => self.own.push((tag, origin)),
                Wish::Timer { tag, delay_ms } => self.timers.push((tag, delay_ms)),
                Wish::CancelTimer { tag } => self.timers.retain(|timer| timer.0 != tag),
                Wish::Resume { .. } | Wish::Replay { .. } | Wish::Forget { .. } => {}
                Wish::Stderr { .. } => {}
                Wish::Close { .. } | Wish::Exit => self.closed = true,
            }
        }
        sent.iter().map(text).collect()
    }

    fn origin(&self) -> Origin {
        Origin {
            party: PartyId(0),
            step: self.step,
        }
    }

    fn opened(&mut self) -> Vec<String> {
        let origin = self.origin();
        let input = Input::Opened {
            port: Port(0),
            lossy: false,
        };
        self.on(&input, origin)
    }

    fn feed(&mut self, frame: &str) -> Vec<String> {
        let found = classify(frame.as_bytes(), &mut Scanner::new());
        self.step += 1;
        let origin = self.origin();
        let input = Input::Frame {
            port: Port(0),
            message: &found.message,
            raw: None,
            stream: 0,
        };
        self.on(&input, origin)
    }

    /// Feeds a frame in and expects these frames out.
    fn says(&mut self, frame: &str, expected: &[&str]) {
        assert_eq!(self.feed(frame), expected, "to {frame}");
    }

    /// Takes the oldest own step.
    fn own_step(&mut self) -> Vec<String> {
        let (tag, origin) = self.own.remove(0);
        self.on(&Input::Own { tag }, origin)
    }

    fn timer(&mut self) -> Vec<String> {
        let (tag, _) = self.timers.remove(0);
        let origin = self.origin();
        self.on(&Input::Timer { tag }, origin)
    }
}

fn text(sent: &Sent) -> String {
    if let Some(raw) = &sent.raw {
        return String::from_utf8_lossy(raw).into_owned();
    }
    let mut out = vec![];
    render(&sent.message, &Spellings::default(), &mut out);
    let text = String::from_utf8(out).expect("rendered frames are UTF-8");
    // Every frame has it; the cases below leave it out.
    text.replace("\"jsonrpc\":\"2.0\",", "")
}

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{},"sampling":{},"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}"#;
const HELLO_BACK: &str = r#"{"id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"mcpsim","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

fn call(id: &str, tool: &str, rest: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"n":2}}{rest}}}}}"#
    )
}

fn done(id: &str) -> String {
    format!(
        r#"{{"id":{id},"result":{{"content":[{{"type":"text","text":"{{\"n\":2}}"}}],"structuredContent":{{"n":2}},"isError":false}}}}"#
    )
}

fn failed(id: &str) -> String {
    done(id).replace("\"isError\":false", "\"isError\":true")
}

fn cancelled(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
    )
}

#[test]
fn what_a_server_answers_at_once() {
    let mut server = Hand::ready_server("one-call");
    let cases: &[(&str, &[&str])] = &[
        (
            r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#,
            &[r#"{"id":2,"result":{}}"#],
        ),
        (
            r#"{"jsonrpc":"2.0","id":"2","method":"ping"}"#,
            &[r#"{"id":"2","result":{}}"#],
        ),
        (
            r#"{"jsonrpc":"2.0","id":3,"method":"no/such"}"#,
            &[r#"{"id":3,"error":{"code":-32601,"message":"Method not found"}}"#],
        ),
        (
            r#"{"jsonrpc":"2.0","id":4,"method":"roots/list"}"#,
            &[r#"{"id":4,"error":{"code":-32601,"message":"Method not found"}}"#],
        ),
        (
            r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"nosuch","arguments":{}}}"#,
            &[r#"{"id":5,"error":{"code":-32602,"message":"Invalid params"}}"#],
        ),
        (
            r#"{"jsonrpc":"2.0","id":6,"method":"ping","params":[]}"#,
            &[r#"{"id":6,"error":{"code":-32602,"message":"Invalid params"}}"#],
        ),
        (
            r#"{"id":7,"method":"ping"}"#,
            &[r#"{"id":7,"error":{"code":-32600,"message":"Invalid request"}}"#],
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            &[r#"{"id":null,"error":{"code":-32600,"message":"Invalid request"}}"#],
        ),
        (
            r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
            &[r#"{"id":null,"error":{"code":-32600,"message":"Invalid request"}}"#],
        ),
        // A second initialize.
        (
            HELLO,
            &[r#"{"id":1,"error":{"code":-32600,"message":"Invalid request"}}"#],
        ),
        // No JSON, no message, a top-level array: one error each.
        (
            r#"{"jsonrpc":"2.0","id":8,"#,
            &[r#"{"id":null,"error":{"code":-32700,"message":"Parse error"}}"#],
        ),
        (
            "hello",
            &[r#"{"id":null,"error":{"code":-32700,"message":"Parse error"}}"#],
        ),
        (
            r#"{"jsonrpc":"2.0","id":9}"#,
            &[r#"{"id":null,"error":{"code":-32600,"message":"Invalid request"}}"#],
        ),
        (
            "17",
            &[r#"{"id":null,"error":{"code":-32600,"message":"Invalid request"}}"#],
        ),
        (
            r#"[{"jsonrpc":"2.0","id":10,"method":"ping"},{"jsonrpc":"2.0","id":11,"method":"ping"}]"#,
            &[r#"{"id":null,"error":{"code":-32600,"message":"Invalid request"}}"#],
        ),
        (
            "[]",
            &[r#"{"id":null,"error":{"code":-32600,"message":"Invalid request"}}"#],
        ),
        ("  ", &[]),
        // Notifications and answers are never answered, however odd they are.
        (INITIALIZED, &[]),
        (r#"{"jsonrpc":"2.0","method":"notifications/no/such"}"#, &[]),
        (r#"{"jsonrpc":"2.0","method":"no/such"}"#, &[]),
        (r#"{"jsonrpc":"2.0","method":"tools/call"}"#, &[]),
        (
            r#"{"jsonrpc":"2.0","id":12,"method":"notifications/initialized"}"#,
            &[],
        ),
        (r#"{"jsonrpc":"2.0","id":99,"result":{}}"#, &[]),
        (
            r#"{"jsonrpc":"2.0","id":99,"result":{},"error":{"code":1,"message":"x"}}"#,
            &[],
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}"#,
            &[],
        ),
        (r#"{"jsonrpc":"2.0","error":{}}"#, &[]),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#,
            &[],
        ),
    ];
    for (frame, expected) in cases {
        server.says(frame, expected);
    }
    server.says(&call("20", "echo", ""), &[&done("20")]);
    server.says(&call("21", "fail", ""), &[&failed("21")]);
    assert!(server.own.is_empty());
    assert!(!server.closed);
}

#[test]
fn before_initialize_only_pings_are_served() {
    let mut server = Hand::new(scenario("one-call").expect("named"), 1);
    server.opened();
    server.says(
        &call("1", "echo", ""),
        &[r#"{"id":1,"error":{"code":-32600,"message":"Invalid request"}}"#],
    );
    server.says(
        r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#,
        &[r#"{"id":2,"result":{}}"#],
    );
    // Too early: it does not make the session ready, and is not answered.
    server.says(INITIALIZED, &[]);
    let incomplete = r#"{"jsonrpc":"2.0","id":3,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}"#;
    server.says(
        incomplete,
        &[r#"{"id":3,"error":{"code":-32602,"message":"Invalid params"}}"#],
    );
    server.says(HELLO, &[HELLO_BACK]);
}

#[test]
fn any_offered_revision_gets_the_one_that_the_server_speaks() {
    let mut server = Hand::new(scenario("one-call").expect("named"), 1);
    server.opened();
    server.says(&HELLO.replace("2025-11-25", "1999-01-01"), &[HELLO_BACK]);
}

#[test]
fn a_cancelled_call_is_not_answered_and_a_late_cancel_changes_nothing() {
    let mut server = Hand::ready_server("one-call");
    server.says(&call("2", "slow", ""), &[]);
    server.says(&call("3", "slow", ""), &[]);
    // The ids "2" and 4 are no requests of this client's.
    server.says(&cancelled("\"2\""), &[]);
    server.says(&cancelled("4"), &[]);
    server.says(&cancelled("2"), &[]);
    assert_eq!(server.own_step(), Vec::<String>::new());
    assert_eq!(server.own_step(), [done("3")]);
    server.says(&cancelled("3"), &[]);
}

#[test]
fn progress_comes_under_the_callers_token_and_ends_with_the_answer() {
    let mut server = Hand::ready_server("one-call");
    let report = |n| {
        format!(
            r#"{{"method":"notifications/progress","params":{{"progressToken":"t","progress":{n}}}}}"#
        )
    };
    server.says(
        &call("2", "count", r#","_meta":{"progressToken":"t"}"#),
        &[],
    );
    assert_eq!(server.own_step(), [report(1)]);
    assert_eq!(server.own_step(), [report(2)]);
    assert_eq!(server.own_step(), [done("2")]);
    // Without a token there is nothing to report to.
    server.says(&call("3", "count", ""), &[]);
    assert_eq!(server.own_step(), [done("3")]);
    // Cancelled in the middle: no more reports.
    server.says(
        &call("4", "count", r#","_meta":{"progressToken":"t"}"#),
        &[],
    );
    assert_eq!(server.own_step(), [report(1)]);
    server.says(&cancelled("4"), &[]);
    assert_eq!(server.own_step(), Vec::<String>::new());
    assert!(server.own.is_empty());
}

#[test]
fn a_tool_asks_the_client_and_answers_after_its_reply() {
    let mut server = Hand::ready_server("one-call");
    let asked = |id| format!(r#"{{"id":{id},"method":"roots/list"}}"#);
    server.says(&call("2", "look", ""), &[&asked("1")]);
    // The client's own id 1 was another request; the spaces are separate. A wrong type is no answer.
    server.says(r#"{"jsonrpc":"2.0","id":"1","result":{"roots":[]}}"#, &[]);
    server.says(
        r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#,
        &[&done("2")],
    );
    server.says(r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#, &[]);
    // Refused by the client: the tool fails, which is a result.
    server.says(&call("3", "look", ""), &[&asked("2")]);
    server.says(
        r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"x"}}"#,
        &[&failed("3")],
    );
    // Cancelled: so is the nested request, and its late answer changes nothing.
    server.says(&call("4", "look", ""), &[&asked("3")]);
    let cancel = r#"{"method":"notifications/cancelled","params":{"requestId":3}}"#;
    server.says(&cancelled("4"), &[cancel]);
    server.says(r#"{"jsonrpc":"2.0","id":3,"result":{"roots":[]}}"#, &[]);
}

#[test]
fn a_tool_that_would_ask_waits_for_initialized_and_for_a_capability() {
    let mut server = Hand::new(scenario("one-call").expect("named"), 1);
    server.opened();
    server.says(HELLO, &[HELLO_BACK]);
    server.says(&call("2", "look", ""), &[]);
    server.says(INITIALIZED, &[r#"{"id":1,"method":"roots/list"}"#]);
    let mut bare = Hand::new(scenario("one-call").expect("named"), 1);
    bare.opened();
    bare.says(&HELLO.replace(r#""roots":{},"#, ""), &[HELLO_BACK]);
    bare.says(INITIALIZED, &[]);
    bare.says(&call("2", "look", ""), &[&failed("2")]);
}

/// A client whose workload is this, past its handshake; `sent` is what it sent with `initialized`.
fn client(steps: Vec<Step>, hesitates: bool) -> (Hand, Vec<String>) {
    let mut scenario = scenario("one-call").expect("named").clone();
    scenario.parties[0].window = 2;
    scenario.parties[0].hesitates = hesitates;
    scenario.workload.insert("client".to_owned(), steps);
    let mut hand = Hand::new(&scenario, 0);
    assert_eq!(hand.opened().len(), 1);
    let welcome = HELLO_BACK.replacen('{', "{\"jsonrpc\":\"2.0\",", 1);
    let sent = hand.feed(&welcome);
    (hand, sent)
}

#[test]
fn a_client_cancels_at_its_time_out_and_ignores_the_late_answer() {
    let slow = Step {
        timeout_ms: Some(50),
        ..Step::call(Tool::Slow, 2)
    };
    let (mut client, sent) = client(vec![slow, slow, slow], false);
    assert_eq!(
        sent.len(),
        3,
        "initialized and a window of two calls: {sent:?}"
    );
    assert_eq!(client.timers.len(), 2);
    let sent = client.timer();
    assert_eq!(
        sent[0],
        r#"{"method":"notifications/cancelled","params":{"requestId":2}}"#
    );
    assert!(
        sent[1].contains("\"id\":4"),
        "the next call begins: {sent:?}"
    );
    client.says(&format!("{{\"jsonrpc\":\"2.0\",{}", &done("2")[1..]), &[]);
    client.says(&format!("{{\"jsonrpc\":\"2.0\",{}", &done("3")[1..]), &[]);
    assert_eq!(client.timers.len(), 1, "the answered call's timer is off");
}

#[test]
fn a_client_that_hesitates_takes_its_ids_first() {
    let (mut client, sent) = client(
        vec![Step::call(Tool::Echo, 2), Step::plain(Act::Ping)],
        true,
    );
    assert_eq!(
        sent.len(),
        3,
        "every question was answered plainly: {sent:?}"
    );
    let mut scenario = scenario("one-call").expect("named").clone();
    scenario.parties[0].window = 2;
    scenario
        .workload
        .insert("client".to_owned(), vec![Step::call(Tool::Echo, 2); 2]);
    let mut putting_off = Hand::new(&scenario, 0);
    putting_off.answer = 1;
    putting_off.opened();
    let welcome = HELLO_BACK.replacen('{', "{\"jsonrpc\":\"2.0\",", 1);
    putting_off.says(&welcome, &[]);
    assert_eq!(
        putting_off.own.len(),
        3,
        "initialized and two calls are put off"
    );
    let later = putting_off.own.remove(2);
    putting_off.own.insert(0, later);
    let first = putting_off.own_step();
    assert!(
        first[0].contains("\"id\":3"),
        "the later id goes first: {first:?}"
    );
    client.says(
        r#"{"jsonrpc":"2.0","id":5,"method":"sampling/createMessage","params":{}}"#,
        &[],
    );
    assert_eq!(
        client.own_step(),
        [
            r#"{"id":5,"result":{"role":"assistant","model":"m","content":{"type":"text","text":"yes"}}}"#
        ]
    );
    // Withdrawn before it was answered: no answer.
    client.says(
        r#"{"jsonrpc":"2.0","id":6,"method":"sampling/createMessage","params":{}}"#,
        &[],
    );
    client.says(&cancelled("6"), &[]);
    assert_eq!(client.own_step(), Vec::<String>::new());
    client.says(
        r#"{"jsonrpc":"2.0","id":7,"method":"roots/list"}"#,
        &[r#"{"id":7,"result":{"roots":[]}}"#],
    );
    client.says(
        r#"{"jsonrpc":"2.0","id":8,"method":"tools/list"}"#,
        &[r#"{"id":8,"error":{"code":-32601,"message":"Method not found"}}"#],
    );
}

#[test]
fn a_client_leaves_when_it_does_not_speak_the_answered_revision() {
    let mut client = Hand::new(scenario("one-call").expect("named"), 0);
    client.opened();
    let other = HELLO_BACK.replacen('{', "{\"jsonrpc\":\"2.0\",", 1);
    client.says(&other.replace("2025-11-25", "2024-11-05"), &[]);
    assert!(client.closed);
    let mut refused = Hand::new(scenario("one-call").expect("named"), 0);
    refused.opened();
    refused.says(
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"x"}}"#,
        &[],
    );
    assert!(refused.closed);
}

#[test]
fn a_closed_link_ends_everything() {
    let slow = Step {
        timeout_ms: Some(50),
        ..Step::call(Tool::Slow, 2)
    };
    let (mut client, _) = client(vec![slow, slow, slow], false);
    let origin = client.origin();
    let sent = client.on(&Input::Closed { port: Port(0) }, origin);
    assert_eq!(sent, Vec::<String>::new());
    assert!(client.timers.is_empty());
    client.says(&format!("{{\"jsonrpc\":\"2.0\",{}", &done("2")[1..]), &[]);
}
