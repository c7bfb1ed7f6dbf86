//! The judge of a world: chains of waiting through a gateway, losses, exits and crashes, equal states.

use mcpsim_models::{Monitor, Part};
use mcpsim_traces::classify::classify;
use mcpsim_traces::encode::Encoder;
use mcpsim_traces::event::{LinkId, LinkKind, PartyId, Role};
use mcpsim_traces::judge::{Blocked, EndState, Ending, Finding, Judge, PartEvent, Sight, Verdict};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Capabilities, Capability, Message, Method, Revision, Shape, Tool};
use mcpsim_traces::scan::Scanner;

/// A few links between parties; a frame is sent and received at once, unless it is lost.
struct Stage {
    monitor: Monitor,
    /// Party, link, role and part of each end.
    ends: Vec<(u8, u8, Role, Part)>,
    /// What the client's and the server's end of each link wait to write into at the end.
    blocked: Vec<[Blocked; 2]>,
    frames: u32,
    numbered: bool,
}

impl Stage {
    fn new(links: &[(u8, u8)], numbered: bool) -> Stage {
        let mut stage = Stage::unopened(links, numbered);
        for link in 0..links.len() as u8 {
            stage.open(link);
        }
        stage
    }

    /// Before any handshake.
    fn unopened(links: &[(u8, u8)], numbered: bool) -> Stage {
        let monitor = Monitor::new();
        let mut ends = vec![];
        for (link, &(client, server)) in links.iter().enumerate() {
            for (party, role) in [(client, Role::Client), (server, Role::Server)] {
                ends.push((party, link as u8, role, monitor.part(role, LinkKind::Pipe)));
            }
        }
        Stage {
            monitor,
            ends,
            blocked: vec![[Blocked::default(); 2]; links.len()],
            frames: 0,
            numbered,
        }
    }

    fn open(&mut self, link: u8) {
        let id = Key::text(b"init");
        let (client, server) = (
            Capabilities::of(&[Capability::Sampling, Capability::Roots]),
            Capabilities::of(&[Capability::Tools]),
        );
        self.pass(
            link,
            Role::Client,
            Message::initialize(id, Revision::V2025_11_25, client),
        );
        self.pass(
            link,
            Role::Server,
            Message::initialize_result(id, Revision::V2025_11_25, server),
        );
        self.pass(
            link,
            Role::Client,
            Message::notification(Method::Initialized),
        );
    }

    fn see(&mut self, link: u8, at: Role, message: &Message, is_own: bool) {
        let end = self
            .ends
            .iter_mut()
            .find(|end| end.1 == link && end.2 == at)
            .expect("an end");
        let sight = Sight {
            message,
            text: None,
            body: None,
            frame: if self.numbered { self.frames } else { 0 },
            party: PartyId(end.0),
            link: LinkId(link),
            stream: 0,
            slips: &[],
        };
        if is_own {
            self.monitor.by(&mut end.3, &sight);
        } else {
            self.monitor.toward(&mut end.3, &sight);
        }
    }

    /// That text goes out on the first link, or arrives.
    fn text(&mut self, text: &str, from: Role, is_sent: bool) {
        self.text_on(0, text, from, is_sent);
    }

    /// That text goes over the link.
    fn pass_text(&mut self, link: u8, text: &str, from: Role) {
        self.frames += 1;
        self.text_on(link, text, from, true);
        self.text_on(link, text, from, false);
    }

    fn text_on(&mut self, link: u8, text: &str, from: Role, is_sent: bool) {
        let at = if is_sent { from } else { from.other() };
        let end = self
            .ends
            .iter_mut()
            .find(|end| end.1 == link && end.2 == at);
        let end = end.expect("an end");
        let sight = Sight {
            message: &classify(text.as_bytes(), &mut Scanner::new()).message,
            text: Some(text.as_bytes()),
            body: None,
            frame: self.frames,
            party: PartyId(end.0),
            link: LinkId(link),
            stream: 0,
            slips: &[],
        };
        if is_sent {
            self.monitor.by(&mut end.3, &sight);
        } else {
            self.monitor.toward(&mut end.3, &sight);
        }
    }

    fn send(&mut self, link: u8, from: Role, message: Message) {
        self.frames += 1;
        self.see(link, from, &message, true);
    }

    fn pass(&mut self, link: u8, from: Role, message: Message) {
        self.send(link, from, message);
        self.see(link, from.other(), &message, false);
    }

    fn event(&mut self, link: u8, role: Role, event: PartEvent) {
        let end = self
            .ends
            .iter_mut()
            .find(|end| end.1 == link && end.2 == role)
            .expect("an end");
        self.monitor
            .event(&mut end.3, PartyId(end.0), LinkId(link), event);
    }

    fn settle(&mut self) -> Vec<Finding> {
        self.settle_at(Ending::Quiet)
    }

    fn settle_at(&mut self, ending: Ending) -> Vec<Finding> {
        let mut ends: Vec<EndState<'_, Part>> = self
            .ends
            .iter_mut()
            .map(|(party, link, role, part)| EndState {
                party: PartyId(*party),
                link: LinkId(*link),
                role: *role,
                blocked: self.blocked[*link as usize][*role as usize],
                part,
            })
            .collect();
        self.monitor.settle(&mut ends, ending);
        self.monitor.take_findings()
    }
}

fn call(id: i64, value: u32) -> Message {
    Message::tools_call(Key::integer(id), Tool::Echo, value, Key::ABSENT)
}

fn one(findings: &[Finding]) -> String {
    let told: Vec<String> = findings
        .iter()
        .map(|one| {
            format!(
                "{} {} {} {} {:?} | {}",
                one.rule,
                one.blame.as_str(),
                one.verdict.as_str(),
                one.party.0,
                one.frames,
                one.message
            )
        })
        .collect();
    told.join("\n")
}

/// Client 0, gateway 1, servers 2 and 3: one server never answers. The gateway waits for it, so it is not
/// to blame; what goes through the other server is answered.
#[test]
fn a_gateway_waits_for_its_server() {
    let mut stage = Stage::new(&[(0, 1), (1, 2), (1, 3)], true);
    stage.pass(0, Role::Client, call(7, 41));
    stage.pass(0, Role::Client, call(8, 42));
    stage.pass(1, Role::Client, call(100, 41));
    stage.pass(2, Role::Client, call(100, 42));
    stage.pass(2, Role::Server, Message::tool_result(Key::integer(100), 42));
    stage.pass(0, Role::Server, Message::tool_result(Key::integer(8), 42));
    assert_eq!(
        one(&stage.settle()),
        "request-unanswered server broken 2 [10, 12] | server never answered tools/call 100; \
         the server's answer to tools/call 7 waits for it"
    );
}

/// The gateway has its answer and keeps it: then it is at the end of the chain.
#[test]
fn a_gateway_that_keeps_an_answer_is_named() {
    let mut stage = Stage::new(&[(0, 1), (1, 2)], true);
    stage.pass(0, Role::Client, call(7, 41));
    stage.pass(1, Role::Client, call(100, 41));
    stage.pass(1, Role::Server, Message::tool_result(Key::integer(100), 41));
    assert_eq!(
        one(&stage.settle()),
        "request-unanswered server broken 1 [7] | server never answered tools/call 7"
    );
}

/// A nested request through the gateway, back to the client that asked first and answers nothing.
#[test]
fn a_chain_through_the_gateway_ends_at_the_client() {
    let mut stage = Stage::new(&[(0, 1), (1, 2)], true);
    stage.pass(0, Role::Client, call(7, 41));
    stage.pass(1, Role::Client, call(100, 41));
    let ask = |id| Message::request(Method::SamplingCreateMessage, Key::integer(id));
    stage.pass(1, Role::Server, ask(1));
    stage.pass(0, Role::Server, ask(1));
    let findings = stage.settle();
    assert_eq!(findings.len(), 1, "{}", one(&findings));
    assert_eq!(findings[0].blame.as_str(), "client");
    assert_eq!(
        (findings[0].party, findings[0].frames.clone()),
        (PartyId(0), vec![7, 8, 9, 10])
    );
}

/// With two calls open, the nested request may belong to either: only who owes the nested one is certain.
#[test]
fn of_two_possible_causes_neither_is_accused() {
    let mut stage = Stage::new(&[(0, 1)], true);
    stage.pass(0, Role::Client, call(1, 1));
    stage.pass(0, Role::Client, call(2, 2));
    stage.pass(
        0,
        Role::Server,
        Message::request(Method::RootsList, Key::integer(1)),
    );
    let findings = stage.settle();
    let broken: Vec<_> = findings
        .iter()
        .filter(|one| one.verdict == Verdict::Broken)
        .collect();
    assert_eq!(broken.len(), 1, "{}", one(&findings));
    assert_eq!(
        (broken[0].blame.as_str(), broken[0].frames.clone()),
        ("client", vec![6])
    );
    // A request sent before the owed one came is no cause of anything.
    let mut stage = Stage::new(&[(0, 1)], true);
    stage.pass(
        0,
        Role::Server,
        Message::request(Method::RootsList, Key::integer(1)),
    );
    stage.pass(0, Role::Client, call(1, 1));
    stage.pass(
        0,
        Role::Client,
        Message::result(Key::integer(1), Shape::Roots),
    );
    stage.pass(
        0,
        Role::Server,
        Message::request(Method::Ping, Key::integer(2)),
    );
    let findings = stage.settle();
    assert_eq!(
        one(&findings),
        "request-unanswered client broken 0 [5, 7] | client never answered ping 2; the server's answer to tools/call 1 waits for it"
    );
}

/// What the world takes accuses no peer; what the link's kind forbids is the transport's.
#[test]
fn losses_accuse_no_peer() {
    for (told, forbidden, expected) in [
        (true, false, ""),
        (true, true, ""),
        (false, false, "request-unanswered none unsure"),
        (false, true, "request-unanswered transport broken"),
    ] {
        let mut stage = Stage::new(&[(0, 1)], true);
        stage.send(0, Role::Client, call(1, 1));
        let message = call(1, 1);
        stage.event(
            0,
            Role::Client,
            PartEvent::SentLost {
                message,
                told,
                forbidden,
            },
        );
        let findings = stage.settle();
        assert!(
            one(&findings).starts_with(expected) && findings.is_empty() == expected.is_empty(),
            "{}",
            one(&findings)
        );
        // The answer is lost instead.
        let mut stage = Stage::new(&[(0, 1)], true);
        stage.pass(0, Role::Client, call(1, 1));
        let message = Message::tool_result(Key::integer(1), 1);
        stage.send(0, Role::Server, message);
        stage.event(
            0,
            Role::Client,
            PartEvent::InboundLost {
                message,
                told,
                forbidden,
            },
        );
        let findings = stage.settle();
        assert!(
            one(&findings).starts_with(expected) && findings.is_empty() == expected.is_empty(),
            "{}",
            one(&findings)
        );
    }
}

/// Client 0, gateway 1, server 2. The client's initialized is lost, so the gateway waits for it and does
/// not hand on what the server asks: that accuses nobody. A gateway that lost nothing, or nothing that
/// matters here, is named.
#[test]
fn a_gateway_that_the_world_deprived_is_not_accused() {
    let ask = Message::request(Method::RootsList, Key::integer(1));
    for (lost, forbidden, expected) in [
        (Some(Method::Initialized), false, "none unsure 1"),
        (Some(Method::Initialized), true, "transport unsure 1"),
        (Some(Method::Progress), false, "client broken 1"),
        (None, false, "client broken 1"),
    ] {
        let mut stage = Stage::new(&[(0, 1), (1, 2)], true);
        if let Some(method) = lost {
            let message = Message::notification(method);
            let event = PartEvent::InboundLost {
                message,
                told: true,
                forbidden,
            };
            stage.event(0, Role::Server, event);
        }
        stage.pass(1, Role::Server, ask);
        let findings = stage.settle();
        assert_eq!(findings.len(), 1, "{}", one(&findings));
        assert!(
            one(&findings).starts_with(&format!("request-unanswered {expected} [7]")),
            "{}",
            one(&findings)
        );
    }
    // The server's own silence is not explained by what the gateway lost.
    let mut stage = Stage::new(&[(0, 1), (1, 2)], true);
    let event = PartEvent::InboundLost {
        message: Message::notification(Method::Initialized),
        told: true,
        forbidden: false,
    };
    stage.event(0, Role::Server, event);
    stage.pass(1, Role::Client, call(3, 1));
    assert!(one(&stage.settle()).starts_with("request-unanswered server broken 2 [7]"));
}

/// A run that was cut off proves nothing: what is open is listed as unsure.
#[test]
fn an_unfinished_run_accuses_nobody_for_sure() {
    let mut stage = Stage::new(&[(0, 1)], true);
    stage.pass(0, Role::Client, call(1, 1));
    stage.pass(0, Role::Client, call(2, 2));
    // On its way: nobody owes it yet.
    stage.send(0, Role::Client, call(3, 3));
    assert_eq!(
        one(&stage.settle_at(Ending::Unfinished)),
        "request-unanswered server unsure 1 [4, 5] | server had not answered tools/call 1 and one more; \
         the trace stops with it open"
    );
}

/// An exit is the party's own; a crash is the world's; after the other side closed, an exit is orderly.
#[test]
fn exits_are_named_and_crashes_are_not() {
    let mut stage = Stage::new(&[(0, 1), (2, 1)], true);
    stage.pass(0, Role::Client, call(1, 1));
    for link in 0..2 {
        stage.event(link, Role::Server, PartEvent::Exited);
        stage.event(link, Role::Client, PartEvent::ClosedByPeer);
    }
    let findings = stage.settle();
    assert_eq!(
        findings.len(),
        1,
        "one exit, one finding: {}",
        one(&findings)
    );
    assert!(
        one(&findings).starts_with("request-unanswered server broken 1 [7]"),
        "{}",
        one(&findings)
    );

    let mut stage = Stage::new(&[(0, 1)], true);
    stage.event(0, Role::Server, PartEvent::Exited);
    assert!(one(&stage.settle()).starts_with("peer-died server broken 1 []"));

    let mut stage = Stage::new(&[(0, 1)], true);
    stage.pass(0, Role::Client, call(1, 1));
    stage.event(0, Role::Server, PartEvent::Crashed);
    stage.event(0, Role::Client, PartEvent::ClosedByPeer);
    assert_eq!(one(&stage.settle()), "");

    let mut stage = Stage::new(&[(0, 1)], true);
    stage.pass(0, Role::Client, call(1, 1));
    stage.event(0, Role::Client, PartEvent::ClosedByIt);
    stage.event(0, Role::Server, PartEvent::ClosedByPeer);
    stage.event(0, Role::Server, PartEvent::Exited);
    assert_eq!(one(&stage.settle()), "");
}

/// A copy that the link makes accuses nobody: neither of answering both, nor of answering one.
#[test]
fn copies_accuse_nobody() {
    for answers in 1..=2 {
        let mut stage = Stage::new(&[(0, 1)], true);
        stage.pass(0, Role::Client, call(1, 1));
        stage.see(0, Role::Server, &call(1, 1), false);
        for _ in 0..answers {
            stage.pass(0, Role::Server, Message::tool_result(Key::integer(1), 1));
        }
        assert_eq!(one(&stage.settle()), "");
        // The copy comes after the answer.
        let mut stage = Stage::new(&[(0, 1)], true);
        stage.pass(0, Role::Client, call(1, 1));
        stage.pass(0, Role::Server, Message::tool_result(Key::integer(1), 1));
        stage.see(0, Role::Server, &call(1, 1), false);
        for _ in 1..answers {
            stage.pass(0, Role::Server, Message::tool_result(Key::integer(1), 1));
        }
        assert_eq!(one(&stage.settle()), "");
    }
}

/// Findings of rules that the sender breaks on purpose are expected.
#[test]
fn slips_on_purpose_are_not_reported() {
    let mut monitor = Monitor::new();
    let mut part = monitor.part(Role::Client, LinkKind::Pipe);
    let message = call(1, 1);
    let sight = Sight {
        message: &message,
        text: None,
        body: None,
        frame: 1,
        party: PartyId(0),
        link: LinkId(0),
        stream: 0,
        slips: &["initialize-first"],
    };
    monitor.by(&mut part, &sight);
    assert_eq!(monitor.findings(), []);
}

/// In a world a request arrives long after it was sent: its receiver is judged by what it reads itself.
#[test]
fn a_receiver_is_judged_by_the_params_that_it_reads() {
    let frames = |params: &str, answer: &str| {
        let mut stage = Stage::new(&[(0, 1)], true);
        let call = format!(r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call"{params}}}"#);
        let answer = format!(r#"{{"jsonrpc":"2.0","id":2,{answer}}}"#);
        let ping = r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#;
        // The ping is sent before the call arrives.
        stage.text(&call, Role::Client, true);
        stage.text(ping, Role::Client, true);
        stage.text(&call, Role::Client, false);
        stage.text(ping, Role::Client, false);
        stage.text(&answer, Role::Server, true);
        let findings = stage.monitor.findings().iter();
        findings.map(|one| one.rule).collect::<Vec<_>>()
    };
    let (served, refused) = (
        r#""result":{"content":[]}"#,
        r#""error":{"code":-32602,"message":"m"}"#,
    );
    let slip = r#","params":{"name":5}"#;
    assert_eq!(
        frames(slip, served),
        ["tool-call-params", "invalid-params-code"]
    );
    assert_eq!(
        frames("", served),
        ["tool-call-params", "invalid-params-code"]
    );
    assert_eq!(frames(slip, refused), ["tool-call-params"]);
    assert_eq!(frames(r#","params":{"name":"t"}"#, served), [""; 0]);
}

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// A client that falls back to a handshake at one server, and at the other only waits: it speaks older revisions, so it has to.
/// One that never falls back may not know them.
#[test]
fn who_falls_back_at_one_server_falls_back_at_the_other() {
    let probe =
        format!(r#"{{"jsonrpc":"2.0","id":"p","method":"server/discover","params":{{{META}}}}}"#);
    let refusal = |code: i32| {
        format!(r#"{{"jsonrpc":"2.0","id":"p","error":{{"code":{code},"message":"m"}}}}"#)
    };
    let run = |codes: [i32; 2], opened: &[u8]| {
        let mut stage = Stage::unopened(&[(0, 1), (0, 2)], true);
        for (link, code) in codes.into_iter().enumerate() {
            stage.pass_text(link as u8, &probe, Role::Client);
            stage.pass_text(link as u8, &refusal(code), Role::Server);
        }
        for &link in opened {
            stage.open(link);
        }
        one(&stage.settle())
    };
    assert_eq!(
        run([-32601, -32602], &[0]),
        "era-fallback-any-error client broken 0 [3, 4] | the server/discover is refused with -32602 and the client does not fall \
         back to initialize, as it does at another server"
    );
    assert_eq!(run([-32601, -32602], &[0, 1]), "");
    assert_eq!(run([-32601, -32602], &[]), "");
    // An answer of its own revision proves a server that has no handshake.
    assert!(!run([-32601, -32022], &[0]).contains("era-fallback"));
}

/// A subscription that nobody spoke of until the world came to rest.
#[test]
fn a_subscription_is_acknowledged_by_the_end() {
    let listen = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true}},{META}}}}}"#
    );
    let run = |then: &dyn Fn(&mut Stage)| {
        let mut stage = Stage::unopened(&[(0, 1)], true);
        stage.pass_text(0, &listen, Role::Client);
        then(&mut stage);
        one(&stage.settle())
    };
    assert_eq!(
        run(&|_| {}),
        "sub-ack-missing server broken 1 [1] | the subscription 1 was neither acknowledged nor refused"
    );
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    assert_eq!(run(&|stage| stage.pass_text(0, cancel, Role::Client)), "");
    // A cancel on its way is none yet for the server, and the client waits for nothing more.
    assert_eq!(run(&|stage| stage.text(cancel, Role::Client, true)), "");
    assert_eq!(
        run(&|stage| stage.event(0, Role::Server, PartEvent::Crashed)),
        ""
    );
}

/// Pipes that are full when all is over: named is who does not read, and why, and nobody else for what stays open.
#[test]
fn who_does_not_read_a_full_pipe_is_named() {
    let at = |frames, stderr| Blocked { frames, stderr };
    let (free, writes, prints) = (at(false, false), at(true, false), at(false, true));
    let told = |blocked: &[[Blocked; 2]]| {
        let mut stage = Stage::new(&[(0, 1), (1, 2)][..blocked.len()], true);
        stage.pass(0, Role::Client, call(1, 1));
        if blocked.len() > 1 {
            stage.pass(1, Role::Client, call(7, 1));
        }
        stage.blocked = blocked.to_vec();
        let findings = stage.settle();
        let line = |finding: &Finding| {
            let (blame, party) = (finding.blame.as_str(), finding.party.0);
            let verdict = finding.verdict.as_str();
            format!("{verdict} {blame} {party}: {}", finding.message)
        };
        findings.iter().map(line).collect::<Vec<_>>()
    };
    let call = "client never got an answer to tools/call 1";
    assert_eq!(
        told(&[[free, prints]]),
        [format!(
            "broken client 0: {call}; the client never reads the stderr of the server, which is full: the server waits to write there"
        )]
    );
    assert_eq!(
        told(&[[writes, writes]]),
        [
            format!(
                "broken server 1: {call}; the server reads nothing while it waits to write, and the client waits to write to it"
            ),
            format!(
                "broken client 0: {call}; the client reads nothing while it waits to write, and the server waits to write to it"
            ),
        ]
    );
    // The server would read if it could go on.
    assert_eq!(
        told(&[[writes, prints]]),
        [format!(
            "broken client 0: {call}; the client reads nothing while it waits to write, and the server waits to write to it"
        )]
    );
    // A gateway does not read its server's stderr: what its client waits for is explained.
    assert_eq!(
        told(&[[free, free], [free, prints]]),
        [
            "broken client 1: client never got an answer to tools/call 7; the server's answer to tools/call 1 waits for it; \
             the client never reads the stderr of the server, which is full: the server waits to write there"
        ]
    );
    // Nobody waits for an answer there.
    let mut quiet = Stage::new(&[(0, 1)], true);
    quiet.blocked = vec![[free, prints]];
    assert_eq!(quiet.settle(), []);
}

/// Without frame numbers, what order did not matter leaves equal parts with equal fingerprints.
#[test]
fn equal_histories_are_equal_parts() {
    let fingerprint = |stage: &Stage| {
        let mut encoder = Encoder::new(1);
        for end in &stage.ends {
            stage.monitor.encode(&end.3, &mut encoder);
        }
        encoder.finish()
    };
    let run = |first: i64, second: i64, answer: bool| {
        let mut stage = Stage::new(&[(0, 1)], false);
        for id in [first, second] {
            stage.pass(0, Role::Client, call(id, id as u32));
        }
        if answer {
            stage.pass(0, Role::Server, Message::tool_result(Key::integer(1), 1));
        }
        stage
    };
    let (one, other) = (run(1, 2, true), run(2, 1, true));
    assert_eq!(fingerprint(&one), fingerprint(&other));
    for (one, other) in one.ends.iter().zip(&other.ends) {
        assert_eq!(one.3, other.3);
    }
    assert_ne!(fingerprint(&one), fingerprint(&run(1, 2, false)));
}
