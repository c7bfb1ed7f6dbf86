//! `mcpsim check`: sessions over HTTP that only the headers of their exchanges tell apart.
#![cfg(feature = "cli")]

mod common;

use std::cell::Cell;

use common::{folder, mcpsim, write};
use serde_json::{Value, json};

/// Writes exchanges, each on a stream of its own.
#[derive(Default)]
struct Log {
    streams: Cell<u32>,
}

/// A session at a server that gives it an id.
struct Session<'a> {
    log: &'a Log,
    id: &'a str,
}

impl Log {
    fn session<'a>(&'a self, id: &'a str) -> Session<'a> {
        Session { log: self, id }
    }

    fn stream(&self) -> String {
        self.streams.set(self.streams.get() + 1);
        format!("x{}", self.streams.get())
    }

    /// A request and its answer, of which either may be empty.
    fn exchange(
        &self,
        request: Value,
        headers: Value,
        status: u16,
        given: Value,
        answer: &Value,
    ) -> [String; 2] {
        let stream = self.stream();
        let mut sent = json!({"content-type": "application/json", "accept": "application/json, text/event-stream"});
        put(&mut sent, headers);
        let head = json!({"method": "POST", "target": "/mcp", "headers": sent});
        let asked =
            json!({"dir": "c2s", "stream": stream, "head": head, "raw": request.to_string()});
        let mut got = json!({});
        if !answer.is_null() {
            got["content-type"] = "application/json".into();
        }
        put(&mut got, given);
        let mut came =
            json!({"dir": "s2c", "stream": stream, "head": {"status": status, "headers": got}});
        if answer.is_null() {
            came["event"] = "empty-body".into();
        } else {
            came["raw"] = answer.to_string().into();
        }
        [format!("{asked}\n"), format!("{came}\n")]
    }
}

fn put(into: &mut Value, more: Value) {
    let (Some(into), Value::Object(more)) = (into.as_object_mut(), more) else {
        panic!("headers are an object");
    };
    into.extend(more);
}

impl Session<'_> {
    fn headers(&self) -> Value {
        json!({"mcp-session-id": self.id, "mcp-protocol-version": "2025-11-25"})
    }

    fn opening(&self) -> [String; 2] {
        let info = json!({"name": "n", "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {"roots": {}}, "clientInfo": info});
        let ask = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let result = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info});
        let answer = json!({"jsonrpc": "2.0", "id": 0, "result": result});
        self.log.exchange(
            ask,
            json!({}),
            200,
            json!({"mcp-session-id": self.id}),
            &answer,
        )
    }

    fn initialized(&self) -> [String; 2] {
        let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        self.log
            .exchange(told, self.headers(), 202, json!({}), &Value::Null)
    }

    fn list(&self, id: u32) -> [String; 2] {
        let ask = json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"});
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": {"tools": []}});
        self.log
            .exchange(ask, self.headers(), 200, json!({}), &answer)
    }

    /// A request that is not served.
    fn refused(&self, id: u32, status: u16) -> [String; 2] {
        let ask = json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"});
        self.log
            .exchange(ask, self.headers(), status, json!({}), &Value::Null)
    }

    /// A call in whose stream the server asks for roots, always under the same id.
    fn call(&self, id: u32) -> Vec<String> {
        let ask =
            json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "a"}});
        let stream = self.log.stream();
        let mut sent = json!({"content-type": "application/json", "accept": "application/json, text/event-stream"});
        put(&mut sent, self.headers());
        let line = |line: Value| format!("{line}\n");
        let head = json!({"method": "POST", "target": "/mcp", "headers": sent});
        let events = json!({"content-type": "text/event-stream"});
        let roots = json!({"jsonrpc": "2.0", "id": 7, "method": "roots/list"});
        let mut lines = vec![
            line(json!({"dir": "c2s", "stream": stream, "head": head, "raw": ask.to_string()})),
            line(
                json!({"dir": "s2c", "stream": stream, "head": {"status": 200, "headers": events}, "raw": roots.to_string()}),
            ),
        ];
        let found = json!({"jsonrpc": "2.0", "id": 7, "result": {"roots": []}});
        lines.extend(
            self.log
                .exchange(found, self.headers(), 202, json!({}), &Value::Null),
        );
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": {"content": []}});
        lines.push(line(
            json!({"dir": "s2c", "stream": stream, "raw": answer.to_string()}),
        ));
        lines.push(line(
            json!({"dir": "s2c", "stream": stream, "event": "eof"}),
        ));
        lines
    }

    fn delete(&self) -> Vec<String> {
        let stream = self.log.stream();
        let head = json!({"method": "DELETE", "target": "/mcp", "headers": self.headers()});
        vec![
            format!(
                "{}\n",
                json!({"dir": "c2s", "stream": stream, "head": head})
            ),
            format!(
                "{}\n",
                json!({"dir": "s2c", "stream": stream, "head": {"status": 200, "headers": {}}})
            ),
        ]
    }

    /// From its opening on.
    fn whole(&self) -> String {
        [
            self.opening().concat(),
            self.initialized().concat(),
            self.call(1).concat(),
        ]
        .concat()
    }
}

/// What is found broken from there, with the lines, and what the report has of the file.
fn found(lines: &str, vantage: &str) -> (Vec<String>, Value) {
    let here = folder();
    write(here.path(), "log", lines);
    let report = mcpsim(
        here.path(),
        &["check", "log", "--vantage", vantage, "--format", "json"],
    )
    .json();
    let file = report["files"][0].clone();
    assert!(file.get("errors").is_none(), "{}", file["errors"]);
    let findings = file["findings"].as_array().cloned().unwrap_or_default();
    let found = findings
        .iter()
        .filter(|finding| finding["severity"] != "note")
        .map(|finding| {
            let word = |name: &str| finding[name].as_str().unwrap_or_default().to_owned();
            format!(
                "{} {} {} line {}",
                word("rule"),
                word("verdict"),
                word("blame"),
                finding["line"]
            )
        })
        .collect();
    (found, file)
}

/// Lines of several sessions by turns.
fn by_turns(sessions: &[String]) -> String {
    let mut sessions: Vec<_> = sessions.iter().map(|lines| lines.lines()).collect();
    let mut all = String::new();
    loop {
        let round: Vec<&str> = sessions.iter_mut().filter_map(Iterator::next).collect();
        if round.is_empty() {
            return all;
        }
        for line in round {
            all += line;
            all.push('\n');
        }
    }
}

/// After a 404, or after its DELETE, a client opens another session: ids begin anew on both sides.
#[test]
fn a_session_follows_another_one() {
    for vantage in ["between", "client", "server"] {
        let log = Log::default();
        let (one, two, three) = (log.session("one"), log.session("two"), log.session("three"));
        let lines = [
            one.whole(),
            one.refused(2, 404).concat(),
            two.whole(),
            two.delete().concat(),
            three.whole(),
        ];
        let (found, file) = found(&lines.concat(), vantage);
        assert_eq!(found, [""; 0], "{vantage}");
        assert_eq!(file["sessions"].as_array().map(Vec::len), Some(3));
    }
}

/// A client that goes on with the session that is not found is found, though it has opened another one.
#[test]
fn what_comes_late_for_a_session_is_judged_there() {
    let log = Log::default();
    let (one, two) = (log.session("one"), log.session("two"));
    let lines = [
        one.whole(),
        one.refused(2, 404).concat(),
        two.whole(),
        one.refused(3, 404).concat(),
    ];
    let (found, _) = found(&lines.concat(), "client");
    assert_eq!(found, ["http-404-new-session broken client line 23"]);
}

/// A server that gives no ids: from elsewhere than the client nobody can tell two of its clients apart, and nobody is accused of
/// what the other one did.
#[test]
fn clients_without_ids_are_not_accused_of_each_other() {
    for vantage in ["between", "server"] {
        let log = Log::default();
        let (one, two) = (log.session("one"), log.session("two"));
        let nameless = |lines: String| {
            lines
                .replace("\"mcp-session-id\":\"one\",", "")
                .replace("\"mcp-session-id\":\"two\",", "")
                .replace(",\"mcp-session-id\":\"one\"", "")
                .replace(",\"mcp-session-id\":\"two\"", "")
        };
        let lines = nameless(by_turns(&[one.whole(), two.whole()]));
        assert!(!lines.contains("mcp-session-id"), "{lines}");
        let (found, file) = found(&lines, vantage);
        let broken: Vec<&String> = found.iter().filter(|one| one.contains("broken")).collect();
        assert!(broken.is_empty(), "{vantage}: {broken:?}");
        assert!(
            file["remarks"].to_string().contains("nothing tells"),
            "{file}"
        );
    }
}

/// What is right under the one revision and wrong under the other, when nobody can tell which of the two clients sent it.
#[test]
fn clients_of_two_revisions_are_not_held_to_each_others() {
    let log = Log::default();
    let (one, two) = (log.session("one"), log.session("two"));
    let nameless = |lines: String| {
        let mut lines = lines.replace(",\"mcp-session-id\":\"one\"", "");
        for text in [
            "\"mcp-session-id\":\"one\",",
            "\"mcp-session-id\":\"two\",",
            ",\"mcp-session-id\":\"two\"",
        ] {
            lines = lines.replace(text, "");
        }
        lines
    };
    let ping = |id: u32| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    let pong = |id: u32| json!({"jsonrpc": "2.0", "id": id, "result": {}});
    let headers = json!({"mcp-protocol-version": "2025-03-26"});
    let [asks, answers] = log.exchange(
        json!([ping(8), ping(9)]),
        headers,
        200,
        json!({}),
        &json!([pong(8), pong(9)]),
    );
    let opening = one.opening().concat().replace("2025-11-25", "2025-03-26");
    let lines = [opening, two.opening().concat(), asks, answers].concat();
    for vantage in ["between", "server"] {
        let (found, _) = found(&nameless(lines.clone()), vantage);
        let broken: Vec<&String> = found.iter().filter(|one| one.contains("broken")).collect();
        assert!(broken.is_empty(), "{vantage}: {broken:?}");
    }
}

/// A ping may go out before the answer to initialize has brought the id of the session.
#[test]
fn what_is_sent_before_the_id_came_belongs_to_who_waits_for_it() {
    let log = Log::default();
    let (one, two) = (log.session("one"), log.session("two"));
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let pong = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
    let [asks, pongs] = log.exchange(ping, json!({}), 200, json!({}), &pong);
    let [opens, welcomes] = two.opening();
    let [opens_first, welcomes_first] = one.opening();
    let rest = |one: &Session<'_>| [one.initialized().concat(), one.list(2).concat()].concat();
    // Of the second while the first is at work; of the first while the second has its id already.
    let at_work = [
        one.whole(),
        opens.clone(),
        asks.clone(),
        pongs.clone(),
        welcomes.clone(),
        rest(&two),
    ];
    let waits = [
        opens_first.clone(),
        opens.clone(),
        welcomes.clone(),
        rest(&two),
        two.list(1).concat(),
        asks.clone(),
        pongs.clone(),
        welcomes_first.clone(),
        rest(&one),
    ];
    // Both wait: it may be of either.
    let both_wait = [opens_first, opens, asks, pongs, welcomes_first, welcomes];
    let twice = [
        rest(&one),
        one.list(1).concat(),
        rest(&two),
        two.list(1).concat(),
    ]
    .concat();
    for lines in [
        at_work.concat(),
        waits.concat(),
        both_wait.concat() + &twice,
    ] {
        for vantage in ["between", "server"] {
            let (found, _) = found(&lines, vantage);
            let broken: Vec<&String> = found.iter().filter(|one| one.contains("broken")).collect();
            assert!(broken.is_empty(), "{vantage}: {broken:?}");
        }
    }
}

/// Beside a session with an id, a request that needs none may be another client's: both may use one id.
#[test]
fn a_request_beside_a_session_is_perhaps_of_another_client() {
    let log = Log::default();
    let one = log.session("one");
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "n", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let ask = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {"_meta": meta}});
    let result =
        json!({"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private"});
    let answer = json!({"jsonrpc": "2.0", "id": 7, "result": result});
    let headers = json!({"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list"});
    let [asked, answered] = log.exchange(ask, headers, 200, json!({}), &answer);
    let [sent, got] = one.list(7);
    let lines = [one.whole(), asked, sent, got, answered].concat();
    for vantage in ["between", "server"] {
        let (found, _) = found(&lines, vantage);
        let broken: Vec<&String> = found.iter().filter(|one| one.contains("broken")).collect();
        assert!(broken.is_empty(), "{vantage}: {broken:?}");
    }
}

/// Once the client has closed what it writes to, it can begin again only in another session.
#[test]
fn a_session_ends_with_what_the_client_closes() {
    let eof = "{\"event\":\"eof\",\"dir\":\"c2s\"}\n";
    let session = common::handshake() + &common::ping(2);
    let lines = session.clone() + eof + &session;
    for vantage in ["between", "client", "server"] {
        let (found, file) = found(&lines, vantage);
        assert_eq!(found, [""; 0], "{vantage}");
        assert_eq!(file["sessions"].as_array().map(Vec::len), Some(2));
    }
}

/// Sessions whose lines come by turns are judged apart, and what is wrong in one of them is found there.
#[test]
fn sessions_at_once_are_told_apart() {
    for vantage in ["between", "client", "server"] {
        let log = Log::default();
        let (one, two) = (log.session("one"), log.session("two"));
        let (lines, other) = (one.whole(), two.whole());
        let (good, file) = found(&by_turns(&[lines.clone(), other.clone()]), vantage);
        assert_eq!(good, [""; 0], "{vantage}");
        assert_eq!(file["sessions"].as_array().map(Vec::len), Some(2));
        // The server's answer to a request that nobody sent.
        let [ask, answer] = one.list(2);
        let wrong = ask + &answer.replace("\\\"id\\\":2", "\\\"id\\\":9");
        let (bad, _) = found(&by_turns(&[lines + &wrong, other]), vantage);
        let expected = ["response-unknown-id broken server line 22"];
        assert_eq!(&bad[..1], expected, "{vantage}");
    }
}

/// Sessions that began before the recording are told apart too.
#[test]
fn sessions_of_which_no_beginning_was_recorded_are_told_apart() {
    let log = Log::default();
    let (one, two) = (log.session("one"), log.session("two"));
    let rest = |session: &Session<'_>| session.call(1).concat() + &session.list(2).concat();
    for vantage in ["between", "server"] {
        let (found, file) = found(&by_turns(&[rest(&one), rest(&two)]), vantage);
        assert_eq!(found, [""; 0], "{vantage}");
        assert_eq!(file["sessions"].as_array().map(Vec::len), Some(2));
    }
}

/// A client that sends another id than it was given is found where all requests are one client's.
#[test]
fn an_id_that_nobody_gave_is_found() {
    let log = Log::default();
    let (one, wrong) = (log.session("one"), log.session("wrong"));
    let lines = one.whole() + &wrong.refused(2, 400).concat();
    let (found, _) = found(&lines, "client");
    assert_eq!(found, ["http-session-id-sent broken client line 11"]);
}

/// More sessions than are judged at once: the oldest give way, and nobody is accused.
#[test]
fn very_many_sessions_are_judged_in_bounds() {
    let log = Log::default();
    let ids: Vec<String> = (0..4_200).map(|nth| format!("s{nth}")).collect();
    let sessions: Vec<Session<'_>> = ids.iter().map(|id| log.session(id)).collect();
    // A SHOULD that all of them break: a structured result has its text beside it.
    let structured = |session: &Session<'_>| {
        let [ask, answer] = session.list(3);
        [
            ask.replace(
                "tools/list\\\"",
                "tools/call\\\",\\\"params\\\":{\\\"name\\\":\\\"a\\\"}",
            ),
            answer.replace(
                "\\\"tools\\\":[]",
                "\\\"content\\\":[],\\\"structuredContent\\\":{}",
            ),
        ]
    };
    let each = |session: &Session<'_>| session.whole() + &structured(session).concat();
    let mut lines: String = sessions.iter().map(each).collect();
    lines += &sessions[1].list(2).concat();
    lines += &sessions[4_000].list(2).concat();
    let (found, file) = found(&lines, "between");
    assert_eq!(file["sessions"].as_array().map(Vec::len), Some(4_201));
    // Findings of the whole file are listed like those of one session, and all are counted.
    let counted = json!({"structured-content-text-copy": 4_200});
    assert_eq!(file["counted"], counted);
    assert_eq!(found.len(), 50);
}

/// Requests that need no session, of clients that count alike: the observer at the client knows that they are one's.
#[test]
fn clients_without_sessions_are_not_taken_for_one() {
    let log = Log::default();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": "t",
    });
    let call = |id: u32| {
        let params = json!({"name": "a", "_meta": meta});
        let ask = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        let headers = json!({"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "a"});
        let result = json!({"resultType": "complete", "content": []});
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
        log.exchange(ask, headers, 200, json!({}), &answer).concat()
    };
    // The same id and token at the same time; the same token alone.
    let lines = by_turns(&[call(1) + &call(2), call(1) + &call(3)]);
    for vantage in ["between", "server"] {
        let (found, file) = found(&lines, vantage);
        assert_eq!(found, [""; 0], "{vantage}");
        let remarks = file["remarks"].to_string();
        assert!(remarks.contains("line 2: the id or token"), "{remarks}");
    }
    let (found, _) = found(&lines, "client");
    let expected = ["id-unique-in-flight broken client line 2"];
    assert_eq!(&found[..1], expected, "{found:?}");
}

/// The lines of a session over the transport of 2024-11-05: the stream of events that a GET opens, and what the client posts.
fn over_sse(log: &Log, address: &str, calls: u32) -> String {
    let events = log.stream();
    let line = |line: Value| format!("{line}\n");
    let info = json!({"name": "n", "version": "1"});
    let head =
        json!({"method": "GET", "target": "/sse", "headers": {"accept": "text/event-stream"}});
    let opened = json!({"status": 200, "headers": {"content-type": "text/event-stream"}});
    let mut lines = vec![
        line(json!({"dir": "c2s", "stream": events, "head": head})),
        line(json!({"dir": "s2c", "stream": events, "head": opened})),
        line(json!({"dir": "s2c", "stream": events, "sse_event": "endpoint", "raw": address})),
    ];
    let mut say = |frame: Value, answer: Value| {
        let stream = log.stream();
        let headers = json!({"content-type": "application/json"});
        let head = json!({"method": "POST", "target": address, "headers": headers});
        lines.push(line(
            json!({"dir": "c2s", "stream": stream, "head": head, "raw": frame.to_string()}),
        ));
        let taken = json!({"status": 202, "headers": {}});
        lines.push(line(
            json!({"dir": "s2c", "stream": stream, "head": taken, "event": "empty-body"}),
        ));
        if !answer.is_null() {
            lines.push(line(
                json!({"dir": "s2c", "stream": events, "sse_event": "message", "raw": answer.to_string()}),
            ));
        }
    };
    let params = json!({"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": info});
    let result =
        json!({"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": info});
    say(
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}),
        json!({"jsonrpc": "2.0", "id": 0, "result": result}),
    );
    say(
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        Value::Null,
    );
    for id in 1..=calls {
        say(
            json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "a"}}),
            json!({"jsonrpc": "2.0", "id": id, "result": {"content": []}}),
        );
    }
    lines.concat()
}

/// Over the transport of 2024-11-05 the address that the server names tells the sessions apart: one after the other, and at once.
#[test]
fn an_address_names_the_session_of_2024_11_05() {
    for vantage in ["between", "client", "server"] {
        let log = Log::default();
        let one = over_sse(&log, "/messages?session=1", 3);
        let two = over_sse(&log, "/messages?session=2", 3);
        let twice = [one.clone(), two.clone()];
        let lines = [twice.concat(), by_turns(&twice)];
        for lines in &lines {
            let (found, file) = found(lines, vantage);
            assert_eq!(found, [""; 0], "{vantage}");
            assert_eq!(file["sessions"].as_array().map(Vec::len), Some(2));
        }
        // What is wrong in one of them is found there.
        let wrong = two.replace(
            "\\\"id\\\":3,\\\"jsonrpc\\\":\\\"2.0\\\",\\\"result\\\"",
            "\\\"id\\\":9,\\\"jsonrpc\\\":\\\"2.0\\\",\\\"result\\\"",
        );
        assert_ne!(wrong, two);
        let (found, _) = found(&by_turns(&[one, wrong]), vantage);
        let broken: Vec<&String> = found.iter().filter(|one| one.contains("broken")).collect();
        assert_eq!(broken, ["response-unknown-id broken server line 34"]);
    }
}

/// A server that names the same address to everybody: a client that connects again begins another session with its handshake.
#[test]
fn a_client_that_connects_again_to_one_address_begins_another_session() {
    for vantage in ["between", "client", "server"] {
        let log = Log::default();
        let lines = over_sse(&log, "/messages", 2) + &over_sse(&log, "/messages", 2);
        let (found, file) = found(&lines, vantage);
        assert_eq!(found, [""; 0], "{vantage}");
        assert_eq!(file["sessions"].as_array().map(Vec::len), Some(2));
    }
}

/// An answer whose POST was not recorded settles no request that was: it may be another client's, with the same id.
#[test]
fn an_answer_to_what_was_not_recorded_settles_nothing() {
    for vantage in ["between", "server"] {
        let log = Log::default();
        let one = log.session("one");
        let [_, alien] = log.session("two").list(5);
        let [ask, answer] = one.list(5);
        let whole = one.whole();
        // The alien answer comes while the request of the same id is open, and after it, with another request of the name.
        for lines in [
            [whole.clone(), ask.clone(), alien.clone(), answer.clone()],
            [whole.clone(), alien.clone(), ask.clone(), answer.clone()],
            [whole.clone(), ask.clone(), answer.clone(), alien.clone()],
        ] {
            let (found, _) = found(&lines.concat(), vantage);
            let broken: Vec<&String> = found.iter().filter(|one| one.contains("broken")).collect();
            assert!(broken.is_empty(), "{vantage}: {broken:?}");
        }
        // It is no answer to the one that stays open.
        let (found, _) = found(
            &[
                whole,
                ask,
                alien,
                one.list(6).concat(),
                "{\"event\":\"stall\"}\n".to_owned(),
            ]
            .concat(),
            vantage,
        );
        assert!(
            found
                .iter()
                .any(|one| one.starts_with("request-unanswered")),
            "{vantage}: {found:?}"
        );
    }
}

/// Over a pipe, what ends a connection lets the next handshake begin another session: the server's output ends, or the pipe
/// breaks.
#[test]
fn a_handshake_after_the_end_of_a_pipe_begins_a_session() {
    let session = common::handshake() + &common::ping(2);
    for end in [
        "{\"event\":\"eof\",\"dir\":\"s2c\"}\n",
        "{\"event\":\"drop\"}\n",
        "{\"event\":\"drop\",\"dir\":\"s2c\"}\n",
        "{\"event\":\"exit\",\"dir\":\"s2c\",\"status\":0}\n",
    ] {
        for vantage in ["between", "client", "server"] {
            let (found, file) = found(&[&session, end, &session].concat(), vantage);
            assert_eq!(found, [""; 0], "{vantage}: {end}");
            assert_eq!(
                file["sessions"].as_array().map(Vec::len),
                Some(2),
                "{vantage}: {end}"
            );
        }
    }
    // A note about the log ends nothing.
    let (found, _) = found(
        &[&session, "{\"event\":\"stall\"}\n", &session].concat(),
        "between",
    );
    assert!(
        found
            .iter()
            .any(|one| one.starts_with("id-reused-by-sender")),
        "{found:?}"
    );
}

/// Sessions without ids, each between a client and the server of its own, are bounded like those with ids.
#[test]
fn very_many_nameless_sessions_are_judged_in_bounds() {
    let log = Log::default();
    let mut lines = String::new();
    for _ in 0..4_200 {
        let one = log.session("x");
        let opening = [one.opening().concat(), one.initialized().concat()].concat();
        lines += &opening
            .replace("\"mcp-session-id\":\"x\",", "")
            .replace(",\"mcp-session-id\":\"x\"", "");
    }
    assert!(!lines.contains("session-id"), "{}", &lines[..2_000]);
    for vantage in ["between", "server"] {
        let (found, _) = found(&lines, vantage);
        let broken: Vec<&String> = found.iter().filter(|one| one.contains("broken")).collect();
        assert!(broken.is_empty(), "{vantage}: {broken:?}");
    }
}

/// More named sessions than are judged at once: the silent ones give way, and what comes back is not taken for a session that
/// begins without a handshake.
#[test]
fn very_many_named_sessions_give_way_to_each_other() {
    let mut lines = String::from(
        "{\"event\":\"open\",\"vantage\":\"between\",\"transport\":\"stdio\",\"whole\":true}\n",
    );
    let mut say = |session: u32, dir: &str, frame: Value| {
        let session = format!("s{session}");
        let line = json!({"dir": dir, "session": session, "raw": frame.to_string()});
        lines.push_str(&format!("{line}\n"));
    };
    let info = json!({"name": "n", "version": "1"});
    const COUNT: u32 = 4_200;
    for session in 0..COUNT {
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
        let ask = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let result =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info});
        say(session, "c2s", ask);
        say(
            session,
            "s2c",
            json!({"jsonrpc": "2.0", "id": 0, "result": result}),
        );
        say(
            session,
            "c2s",
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        );
        say(
            session,
            "c2s",
            json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}),
        );
        say(
            session,
            "s2c",
            json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
        );
    }
    // One that gave way goes on; the newest is still known, with the id that it used.
    for (session, id) in [(3, 2), (COUNT - 1, 1)] {
        say(
            session,
            "c2s",
            json!({"jsonrpc": "2.0", "id": id, "method": "ping"}),
        );
        say(
            session,
            "s2c",
            json!({"jsonrpc": "2.0", "id": id, "result": {}}),
        );
    }
    let here = folder();
    write(here.path(), "log", &lines);
    let report = mcpsim(here.path(), &["check", "log", "--format", "json"])
        .ends(1)
        .json();
    let file = &report["files"][0];
    let rules: Vec<&str> = file["findings"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["rule"].as_str().expect("a rule"))
        .collect();
    assert_eq!(rules, ["id-reused-by-sender"]);
    let sessions = file["sessions"].as_array().expect("a list");
    assert_eq!(sessions.len(), COUNT as usize + 1);
    assert!(
        file["remarks"]
            .to_string()
            .contains("more than 4096 sessions")
    );
}
