//! Very many requests open at once: what is found stays the same, and the work grows with their number, not
//! with its square. Nothing here looks at a clock; a judge that looks through everything that is open at
//! each frame takes minutes.

use mcpsim_models::{LogEvent, LogWhat, Observer, ObserverOptions, Outcome, Seen, rule};
use mcpsim_traces::classify::classify;
use mcpsim_traces::event::{LinkKind, Role};
use mcpsim_traces::judge::{Ending, Vantage};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Capabilities, Capability, Message, Method, Revision, Shape, Tool};
use mcpsim_traces::scan::Scanner;

const MANY: i64 = 100_000;
/// Odd, and no divisor of the number: what it steps through is all of it, in no order.
const STEP: i64 = 38_231;

struct Log {
    observer: Observer,
    frame: u32,
    at_ms: u64,
}

impl Log {
    fn new(vantage: Vantage, link: LinkKind, revision: Revision) -> Log {
        let mut options = ObserverOptions::new(vantage, link);
        options.whole = true;
        let mut log = Log {
            observer: Observer::new(options),
            frame: 0,
            at_ms: 0,
        };
        let id = Key::text(b"init");
        let client = Capabilities::of(&[Capability::Roots]);
        let server = Capabilities::of(&[Capability::Tools]);
        log.see(
            Role::Client,
            &Message::initialize(id, revision, client),
            None,
        );
        log.see(
            Role::Server,
            &Message::initialize_result(id, revision, server),
            None,
        );
        log.see(
            Role::Client,
            &Message::notification(Method::Initialized),
            None,
        );
        log
    }

    fn see(&mut self, from: Role, message: &Message, text: Option<&[u8]>) {
        self.frame += 1;
        self.at_ms += u64::from(self.frame.is_multiple_of(32));
        self.observer.frame(&Seen {
            frame: self.frame,
            from,
            message,
            text,
            body: None,
            at_ms: Some(self.at_ms),
            base: 0,
            stream: 0,
            ended: true,
            http: None,
        });
    }

    /// A frame with its text and what it holds.
    fn say(&mut self, from: Role, text: &str) {
        self.frame += 1;
        let mut scanner = Scanner::recording();
        let message = classify(text.as_bytes(), &mut scanner).message;
        self.observer.frame(&Seen {
            frame: self.frame,
            from,
            message: &message,
            text: Some(text.as_bytes()),
            body: scanner.body(text.as_bytes()),
            at_ms: Some(self.at_ms),
            base: 0,
            stream: 0,
            ended: true,
            http: None,
        });
    }

    fn array(&mut self, from: Role, member: impl Fn(i64) -> String) {
        let members: Vec<String> = (0..MANY).map(member).collect();
        let text = format!("[{}]", members.join(","));
        let message = classify(text.as_bytes(), &mut Scanner::new()).message;
        self.see(from, &message, Some(text.as_bytes()));
    }

    fn finish(mut self, ending: Ending) -> Vec<String> {
        self.observer.finish(ending);
        let findings = self.observer.findings().iter();
        findings
            .map(|one| format!("{} {} {}", one.rule, one.verdict.as_str(), one.message))
            .collect()
    }
}

fn orders() -> [fn(i64) -> i64; 3] {
    [|at| at, |at| MANY - 1 - at, |at| at * STEP % MANY]
}

fn views() -> [(Vantage, LinkKind); 4] {
    [
        (Vantage::World, LinkKind::Pipe),
        (Vantage::Client, LinkKind::Pipe),
        (Vantage::Between, LinkKind::Pipe),
        (Vantage::Between, LinkKind::Http),
    ]
}

fn call(id: Key, token: Key) -> Message {
    Message::tools_call(id, Tool::Echo, 1, token)
}

#[test]
fn answered_in_whatever_order() {
    for (vantage, link) in views() {
        for order in orders() {
            // Strings, and tokens, in no order; numbers in one.
            let is_text = order(1) == STEP;
            let mut log = Log::new(vantage, link, Revision::V2025_11_25);
            let id = |at: i64| match is_text {
                true => Key::text(format!("req-{at}").as_bytes()),
                false => Key::integer(at),
            };
            for at in 0..MANY {
                let token = if is_text { id(at) } else { Key::ABSENT };
                log.see(Role::Client, &call(id(at), token), None);
            }
            for at in 0..MANY {
                log.see(Role::Server, &Message::tool_result(id(order(at)), 1), None);
            }
            assert_eq!(log.finish(Ending::Quiet), [""; 0]);
        }
    }
}

/// Both sides have very many open, and each answers the other.
#[test]
fn in_both_directions() {
    for (vantage, link) in views() {
        let mut log = Log::new(vantage, link, Revision::V2025_11_25);
        let sides = [Role::Client, Role::Server];
        for at in 0..MANY {
            for side in sides {
                log.see(
                    side,
                    &Message::request(Method::Ping, Key::integer(at)),
                    None,
                );
            }
        }
        for at in 0..MANY {
            for side in sides {
                log.see(side, &Message::result(Key::integer(at), Shape::Empty), None);
            }
        }
        assert_eq!(log.finish(Ending::Quiet), [""; 0]);
    }
}

#[test]
fn cancelled_in_bulk() {
    for (vantage, link) in views() {
        for order in &orders()[1..] {
            let mut log = Log::new(vantage, link, Revision::V2025_11_25);
            for at in 0..MANY {
                log.see(
                    Role::Client,
                    &call(Key::integer(at), Key::integer(at)),
                    None,
                );
            }
            for at in 0..MANY {
                log.see(
                    Role::Client,
                    &Message::cancelled(Key::integer(order(at))),
                    None,
                );
            }
            // What comes after makes room among them.
            for at in MANY..2 * MANY {
                log.see(
                    Role::Client,
                    &call(Key::integer(at), Key::integer(at)),
                    None,
                );
                log.see(
                    Role::Server,
                    &Message::tool_result(Key::integer(at), 1),
                    None,
                );
            }
            assert_eq!(log.finish(Ending::Quiet), [""; 0]);
        }
    }
}

/// One is never answered, and is found among all the others; all are, where nothing is answered.
#[test]
fn a_hang_is_found_among_them() {
    for left_out in [Some(77_777), None] {
        let mut log = Log::new(Vantage::World, LinkKind::Pipe, Revision::V2025_11_25);
        for at in 0..MANY {
            log.see(Role::Client, &call(Key::integer(at), Key::ABSENT), None);
        }
        for at in (0..MANY).filter(|&at| left_out.is_some_and(|left_out| left_out != at)) {
            log.see(
                Role::Server,
                &Message::tool_result(Key::integer(at), 1),
                None,
            );
        }
        log.observer.event(&LogEvent {
            by: Role::Server,
            what: LogWhat::Stall,
            at_ms: None,
            stream: None,
            frame: 0,
            http: None,
        });
        let expected = match left_out {
            Some(_) => "server never answered tools/call 77777;",
            None => "server never answered tools/call 0 and 99999 more;",
        };
        let findings = log.finish(Ending::Unfinished);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].contains(expected), "{findings:?}");
    }
}

#[test]
fn in_one_array() {
    for vantage in [Vantage::World, Vantage::Between] {
        let mut log = Log::new(vantage, LinkKind::Pipe, Revision::V2025_03_26);
        log.array(Role::Client, |id| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)
        });
        log.array(Role::Server, |id| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
        });
        let findings = log.finish(Ending::Quiet);
        // So many pings at a time are a flood too.
        let is_told = |one: &String| {
            one.contains("batch-not-in-revision") || one.contains("ping-flood broken")
        };
        assert!(findings.iter().all(is_told), "{findings:?}");
    }
}

/// More than are followed: what comes of the others accuses nobody, that it was not looked at is told, and no rule about it is
/// kept. The same ids twice are found as ever.
#[test]
fn more_than_are_followed() {
    const MORE: i64 = (1 << 17) + 2_000;
    for (vantage, is_text) in [(Vantage::World, true), (Vantage::Server, false)] {
        let mut log = Log::new(vantage, LinkKind::Pipe, Revision::V2025_11_25);
        let id = |at: i64| match is_text {
            true => format!("\"req-{at}\""),
            false => at.to_string(),
        };
        for at in 0..MORE {
            let meta = format!("{{\"progressToken\":{}}}", id(at));
            let params = format!("{{\"name\":\"t\",\"_meta\":{meta}}}");
            log.say(
                    Role::Client,
                    &format!(
                        "{{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"tools/call\",\"params\":{params}}}",
                        id(at)
                    ),
                );
        }
        for at in (0..MORE).rev() {
            let (method, result) = ("notifications/progress", "{\"content\":[]}");
            let params = format!("{{\"progressToken\":{},\"progress\":1}}", id(at));
            if at % 7 == 0 {
                log.say(
                    Role::Server,
                    &format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{params}}}"),
                );
            }
            match at % 5 {
                    0 => log.say(
                        Role::Client,
                        &format!(
                            "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{{\"requestId\":{}}}}}",
                            id(at)
                        ),
                    ),
                    _ => log.say(
                        Role::Server,
                        &format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}", id(at)),
                    ),
                }
        }
        // What asked is kept for fewer than are followed.
        let beyond = log.observer.unread().beyond;
        assert_eq!(beyond, Some(3 + (1 << 14) + 1));
        let rule = rule("structured-content-missing").expect("a rule about results");
        assert_eq!(log.observer.outcome(rule), Outcome::Unsure);
        assert_eq!(log.finish(Ending::Quiet), [""; 0], "{vantage:?} {is_text}");
    }
}
