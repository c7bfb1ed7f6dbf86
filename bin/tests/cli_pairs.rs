//! Two files of frames, one for each direction: their order is taken from times as far as these tell it, and nobody is accused of
//! what was only put together here.

mod common;

use common::{folder, mcpsim, write};
use serde_json::Value;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}"#;
const WELCOME: &str = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

fn ping(id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)
}

fn pong(id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}

/// Judges two files of these lines.
fn both(client: &[String], server: &[String]) -> Value {
    let here = folder();
    let text = |lines: &[String]| {
        lines
            .iter()
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    };
    write(here.path(), "c2s", text(client));
    write(here.path(), "s2c", text(server));
    let args = ["check", "--format", "json", "--c2s", "c2s", "--s2c", "s2c"];
    mcpsim(here.path(), &args).json()["files"][0].take()
}

/// Each finding as rule, blame and verdict.
fn found(report: &Value) -> Vec<String> {
    let all = report["findings"].as_array().expect("a list");
    let word = |finding: &Value, name: &str| finding[name].as_str().unwrap_or("?").to_owned();
    all.iter()
        .map(|finding| {
            ["rule", "blame", "verdict"]
                .map(|name| word(finding, name))
                .join(" ")
        })
        .collect()
}

fn has(report: &Value, list: &str, what: &str) -> bool {
    let all = report[list].as_array().expect("a list");
    all.iter()
        .any(|one| one.as_str().is_some_and(|one| one.contains(what)))
}

/// A handshake and two pings, with times before the frames, as they come from that clock: steps of 0 ms are the same time.
fn timed(stamp: impl Fn(u32) -> String, step: u32) -> [Vec<String>; 2] {
    let line = |nth: u32, frame: &str| format!("{} {frame}", stamp(nth * step));
    let client = vec![
        line(0, INITIALIZE),
        line(2, INITIALIZED),
        line(3, &ping(1)),
        line(5, &ping(2)),
    ];
    let server = vec![line(1, WELCOME), line(4, &pong(1)), line(6, &pong(2))];
    [client, server]
}

#[test]
fn equal_times_accuse_nobody() {
    let stamp = |ms: u32| format!("2026-03-04T09:15:00.{ms:03}Z");
    let [client, server] = timed(stamp, 0);
    let report = both(&client, &server);
    assert_eq!(found(&report), [""; 0]);
    assert_eq!(report["frames"], 7);
    // Who asks one thing after the other leaves no doubt.
    assert!(!has(&report, "lost", "order"), "{}", report["lost"]);
    // Times to the second; here the server says something unasked.
    let to_second = |_: u32| "2026-03-04T09:15:00Z".to_owned();
    let [client, mut server] = timed(to_second, 1);
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    server.insert(1, format!("{} {changed}", to_second(0)));
    let report = both(&client, &server);
    assert_eq!(found(&report), [""; 0]);
    assert!(has(&report, "lost", "order between the sides"));
    // Apart, nothing is lost.
    let [client, server] = timed(stamp, 10);
    let report = both(&client, &server);
    assert_eq!(
        (found(&report), &report["lost"]),
        (vec![], &serde_json::json!([]))
    );
}

/// An answer whose time is before that of its request, since whoever wrote the times was slow.
#[test]
fn times_that_cannot_be_right_lose_the_order() {
    let client = vec![
        format!("2026-03-04T09:15:00.010Z {INITIALIZE}"),
        format!("2026-03-04T09:15:00.030Z {INITIALIZED}"),
        format!("2026-03-04T09:15:00.090Z {}", ping(1)),
    ];
    let server = vec![
        format!("2026-03-04T09:15:00.020Z {WELCOME}"),
        format!("2026-03-04T09:15:00.085Z {}", pong(1)),
    ];
    let report = both(&client, &server);
    assert_eq!(found(&report), [""; 0]);
    assert!(has(&report, "lost", "order between the sides"));
}

#[test]
fn times_are_read_as_tools_write_them() {
    type Clock = fn(u32) -> String;
    let clocks: [(Clock, bool); 9] = [
        (|ms| format!("[2026-03-04T09:15:00.{ms:03}Z]"), true),
        (|ms| format!("2026-03-04 09:15:00,{ms:03}:"), true),
        (|ms| format!("Mar 04 09:15:00.{ms:03}"), true),
        (|ms| format!("09:15:00.{ms:03}"), true),
        (|ms| format!("[09:15:00.{ms:03}]\t"), true),
        (|ms| format!("1772615700.{ms:03}456"), true),
        (|ms| format!("1772615700{ms:03}"), true),
        (|ms| format!("1772615700{ms:03}000000"), true),
        // Each file has its own beginning.
        (|ms| format!("00:00:00.{ms:03}"), false),
    ];
    for (clock, has_order) in clocks {
        let [client, server] = timed(clock, 10);
        let report = both(&client, &server);
        assert_eq!(found(&report), [""; 0], "{}", clock(0));
        assert_eq!(report["frames"], 7, "{}", clock(0));
        assert_eq!(report["sessions"][0]["lasted_ms"], 60, "{}", clock(0));
        let is_lost = has(&report, "lost", "order between the sides");
        assert_eq!(!is_lost, has_order, "{}", clock(0));
    }
    // To the second, and counters of which nobody knows what they count.
    for clock in [
        |ms| format!("Mar  4 09:15:{ms:02}"),
        |ms: u32| format!("{ms}"),
    ] {
        let [client, server] = timed(clock, 1);
        assert_eq!(found(&both(&client, &server)), [""; 0], "{}", clock(0));
    }
    // Midnight lies between the beginnings of the two.
    let at = |time: &str, frame: &str| format!("{time} {frame}");
    let client = [
        at("23:59:59.900", INITIALIZE),
        at("00:00:00.300", INITIALIZED),
    ];
    let report = both(&client, &[at("00:00:00.100", WELCOME)]);
    assert_eq!(found(&report), [""; 0]);
    assert_eq!(report["sessions"][0]["lasted_ms"], 400);
}

#[test]
fn what_is_no_time_is_told_and_nobody_is_accused() {
    let here = folder();
    let frame = |before: &str| format!("{before} {INITIALIZE}\n{before} {INITIALIZED}\n");
    write(here.path(), "c2s", frame("2026/03/04 noon |"));
    let args = ["check", "--c2s", "c2s"];
    mcpsim(here.path(), &args).ends(2).says(&[
        "c2s:1:1: ",
        "2026/03/04 noon |",
        "no time",
        "Mar 04 09:15:00",
    ]);
    // A log of both sides.
    let desktop = "../traces/tests/logs/claude-desktop.log";
    let desktop = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(desktop);
    write(
        here.path(),
        "s2c",
        std::fs::read(desktop).expect("a sample"),
    );
    let args = ["check", "--s2c", "s2c"];
    mcpsim(here.path(), &args)
        .ends(2)
        .says(&["s2c:1:1: ", "Claude Desktop", "both sides"]);
    let capture = format!(
        "{{\"dir\":\"c2s\",\"raw\":{}}}\n",
        serde_json::json!(INITIALIZE)
    );
    write(here.path(), "c2s", capture);
    mcpsim(here.path(), &["convert", "--c2s", "c2s", "-o", "log"])
        .ends(2)
        .says(&["c2s:1:1: ", "both sides"]);
    // Noise alone is what the server wrote.
    write(here.path(), "c2s", "ready\n");
    mcpsim(here.path(), &["check", "--c2s", "c2s"]).ends(1);
}

/// A wrong answer of the one side does not hold up what the other side has answered.
#[test]
fn a_wrong_answer_is_blamed_on_its_sender_alone() {
    let client = [
        INITIALIZE.to_owned(),
        INITIALIZED.to_owned(),
        pong(99),
        ping(1),
        ping(2),
    ];
    let server = [WELCOME.to_owned(), pong(1), pong(2)];
    assert_eq!(
        found(&both(&client, &server)),
        ["response-unknown-id client broken"]
    );
    // Null stands for no request.
    let null = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}"#;
    let client = [
        INITIALIZE.to_owned(),
        INITIALIZED.to_owned(),
        "{nope".to_owned(),
        ping(1),
    ];
    let server = [WELCOME.to_owned(), null.to_owned(), pong(1)];
    assert_eq!(
        found(&both(&client, &server)),
        ["unparsable-message client broken"]
    );
}

#[test]
fn an_id_that_is_used_again_is_answered_again() {
    let client = [
        INITIALIZE.to_owned(),
        INITIALIZED.to_owned(),
        ping(1),
        ping(1),
    ];
    let server = [WELCOME.to_owned(), pong(1), pong(1)];
    assert_eq!(
        found(&both(&client, &server)),
        ["id-reused-by-sender client broken"]
    );
}

/// `tee -a` goes on in the same files with the next connection.
#[test]
fn a_handshake_whose_ids_begin_anew_is_another_connections() {
    let run = |ids: [u32; 2]| {
        [
            vec![INITIALIZE.to_owned(), INITIALIZED.to_owned(), ping(ids[0])],
            vec![WELCOME.to_owned(), pong(ids[1])],
        ]
    };
    let [mut client, mut server] = run([1, 1]);
    // The last one stands open when the first connection breaks off.
    client.push(ping(2));
    let [more_client, more_server] = run([1, 1]);
    let stamped = |lines: &[String], times: &[u32]| -> Vec<String> {
        let stamp = |second: &u32| format!("2026-03-04T09:15:{second:02}.000Z");
        let lines = lines.iter().zip(times);
        lines
            .map(|(line, second)| format!("{} {line}", stamp(second)))
            .collect()
    };
    client.extend(more_client);
    server.extend(more_server);
    let timed_client = stamped(&client, &[0, 2, 3, 5, 10, 12, 13]);
    let timed_server = stamped(&server, &[1, 4, 11, 14]);
    for (client, server) in [
        (&client[..], &server[..]),
        (&timed_client[..], &timed_server[..]),
        (&client[..], &[][..]),
    ] {
        let report = both(client, server);
        let found = found(&report);
        assert!(
            found.iter().all(|one| !one.ends_with("broken")),
            "{found:?}"
        );
        let guesses = report["guessed"].as_array().expect("a list");
        let is_told = |guess: &&Value| guess.as_str().is_some_and(|one| one.contains("ids anew"));
        assert_eq!(guesses.iter().filter(is_told).count(), 1, "{guesses:?}");
    }
    // Numbers that go on are those of a client that says it twice.
    let again = INITIALIZE.replace("\"id\":0", "\"id\":2");
    let client = [INITIALIZE, INITIALIZED, &again].map(str::to_owned);
    let server = [WELCOME.to_owned(), WELCOME.replace("\"id\":0", "\"id\":2")];
    assert_eq!(
        found(&both(&client, &server)),
        ["initialize-twice client broken"]
    );
}

/// A file may be copied while it is written.
#[test]
fn a_line_that_stops_in_the_middle_is_left_out() {
    let here = folder();
    let client = [INITIALIZE, INITIALIZED, &ping(1)].join("\n");
    let server = format!("{WELCOME}\n{}", pong(1));
    for (client_cut, server_cut, lines) in [
        (0, 0, &[][..]),
        (0, 5, &["line 2 is cut and was left out"][..]),
        (9, 0, &["line 3 is cut and was left out"]),
        (
            9,
            5,
            &[
                "line 3 is cut and was left out",
                "line 2 of what the server sent is cut too and was left out",
            ],
        ),
    ] {
        write(here.path(), "c2s", &client[..client.len() - client_cut]);
        write(here.path(), "s2c", &server[..server.len() - server_cut]);
        let args = ["check", "--format", "json", "--c2s", "c2s", "--s2c", "s2c"];
        let report = mcpsim(here.path(), &args).json()["files"][0].take();
        let found = found(&report);
        let is_broken = |one: &String| one.ends_with("broken");
        assert!(!found.iter().any(is_broken), "{found:?}");
        let remarks = report["remarks"].to_string();
        assert!(lines.iter().all(|line| remarks.contains(line)), "{remarks}");
        assert_eq!(remarks.contains("is cut"), !lines.is_empty(), "{remarks}");
    }
}

/// One file begins later or ends earlier than the other one.
#[test]
fn a_line_that_stops_in_its_time_is_left_out() {
    let here = folder();
    for stamp in [
        "09:15:02.000",
        "2026-03-04T09:15:02.000Z",
        "[Mar 04 09:15:02]",
        "1772615702.000",
    ] {
        let line = |frame: &str| format!("{stamp} {frame}\n");
        let last = line(&ping(2));
        for stop in 1..=stamp.len() + 1 {
            write(
                here.path(),
                "c2s",
                format!("{}{}", line(&ping(1)), &last[..stop]),
            );
            write(here.path(), "s2c", line(&pong(1)));
            let args = ["check", "--format", "json", "--c2s", "c2s", "--s2c", "s2c"];
            let report = mcpsim(here.path(), &args).json()["files"][0].take();
            assert_eq!(found(&report), [""; 0], "{}", &last[..stop]);
            assert!(
                has(&report, "remarks", "line 2 is cut"),
                "{}",
                &last[..stop]
            );
        }
    }
    // What a program writes as its last line is on the wire.
    let noisy = format!("09:15:02.000 {}\n09:15:02.000 bye", ping(1));
    write(here.path(), "c2s", noisy);
    write(here.path(), "s2c", format!("09:15:02.000 {}\n", pong(1)));
    let args = ["check", "--format", "json", "--c2s", "c2s", "--s2c", "s2c"];
    let report = mcpsim(here.path(), &args).json()["files"][0].take();
    assert_eq!(found(&report), ["stdio-stdin-noise client broken"]);
}

#[test]
fn a_file_that_lacks_a_part_accuses_nobody() {
    let call = r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":"p"}}}"#;
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}"#;
    let called = r#"{"jsonrpc":"2.0","id":4,"result":{"content":[]}}"#;
    let ask = r#"{"jsonrpc":"2.0","id":0,"method":"roots/list"}"#;
    let roots = r#"{"jsonrpc":"2.0","id":0,"result":{"roots":[]}}"#;
    let owned = |lines: &[&str]| {
        lines
            .iter()
            .map(|line| (*line).to_owned())
            .collect::<Vec<_>>()
    };
    let (ping, pong) = (ping(1), pong(1));
    let client = owned(&[INITIALIZE, INITIALIZED, &ping, call, roots]);
    let server = owned(&[WELCOME, &pong, progress, ask, called]);
    let stamped = |lines: &[String], first: u32| -> Vec<String> {
        let stamp = |nth: u32| format!("2026-03-04T09:15:{:02}.000Z", 2 * nth + first);
        lines
            .iter()
            .zip(0..)
            .map(|(line, nth)| format!("{} {line}", stamp(nth)))
            .collect()
    };
    for is_timed in [false, true] {
        let [client, server] = match is_timed {
            false => [client.to_vec(), server.to_vec()],
            true => [stamped(&client, 0), stamped(&server, 1)],
        };
        for cut in 0..client.len() {
            for (client, server) in [
                (&client[cut..], &server[..]),
                (&client[..cut], &server[..]),
                (&client[..], &server[cut.min(server.len())..]),
                (&client[..], &server[..cut.min(server.len())]),
            ] {
                let report = both(client, server);
                let broken = found(&report)
                    .into_iter()
                    .filter(|found| found.ends_with("broken"));
                assert_eq!(broken.collect::<Vec<_>>(), [""; 0], "{client:?} {server:?}");
            }
        }
    }
    let report = both(&client, &[]);
    assert!(
        has(&report, "remarks", "what the server sent"),
        "{}",
        report["remarks"]
    );
    assert!(has(&report, "lost", "some frames"));
}

/// Arrays of messages are answered like their messages.
#[test]
fn arrays_wait_for_each_other() {
    let old = |text: &str| text.replace("2025-06-18", "2025-03-26");
    let client = [
        old(INITIALIZE),
        INITIALIZED.to_owned(),
        format!("[{},{}]", ping(1), ping(2)),
        ping(3),
    ];
    let server = [old(WELCOME), format!("[{},{}]", pong(2), pong(1)), pong(3)];
    assert_eq!(found(&both(&client, &server)), [""; 0]);
}

/// Which revision was agreed on stands in the answer to initialize: without it nobody can tell whether arrays may be sent.
#[test]
fn the_client_alone_does_not_show_what_was_agreed_on() {
    let array = format!("[{},{}]", ping(1), ping(2));
    let here = folder();
    write(
        here.path(),
        "c2s",
        format!("{INITIALIZE}\n{INITIALIZED}\n{array}\n"),
    );
    let args = ["check", "--format", "json", "--c2s", "c2s"];
    let report = mcpsim(here.path(), &args).ends(0).json()["files"][0].take();
    let expected = ["batch-not-in-revision client unsure"];
    assert_eq!(found(&report), expected);
    // With the answer it is known.
    let client = [INITIALIZE.to_owned(), INITIALIZED.to_owned(), array];
    let server = [WELCOME.to_owned(), pong(1), pong(2)];
    let found = found(&both(&client, &server));
    assert!(
        found.contains(&"batch-not-in-revision client broken".to_owned()),
        "{found:?}"
    );
}
