//! Logs as people have them: cut off, appended to, quoted, shortened, with a logger's own words around the frames.

use mcpsim_traces::capture::EventKind;
use mcpsim_traces::event::Role;
use mcpsim_traces::lost::Lost;

mod logs_read;

use logs_read::{All, garden, read, refusal, sample};

/// Samples that are read line by line.
const LINES: [&str; 20] = [
    "arrow-text.log",
    "bare.ndjson",
    "claude-desktop-mcp.log",
    "claude-desktop-mid.log",
    "claude-desktop-old.log",
    "claude-desktop.log",
    "mcp-rec-real.jsonl",
    "mcp-rec.jsonl",
    "mcp-remote-debug.log",
    "mcp-server-logger.log",
    "mcp-snoop-real.log",
    "mcp-trace-validator.jsonl",
    "mcp-vcr.ndjson",
    "mcpsnoop.jsonl",
    "python-sdk-http.log",
    "strace.txt",
    "supergateway.log",
    "vscode-output-old.log",
    "vscode-output.log",
    "mcp-vcr-real.ndjson",
];

/// Where the last line begins that has a frame.
fn last_frame(text: &[u8]) -> usize {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    let mut at = 0;
    let mut last = 0;
    for line in lines {
        let has_frame = memchr::memmem::find(line, b"jsonrpc").is_some();
        last = if has_frame { at } else { last };
        at += line.len();
    }
    last
}

#[test]
fn a_last_line_that_is_cut_is_left_out() {
    for name in LINES {
        let text = sample(name);
        let whole = read(&text);
        let begin = last_frame(&text);
        if begin == 0 {
            continue;
        }
        let end = begin + memchr::memchr(b'\n', &text[begin..]).unwrap_or(text.len() - begin);
        for stop in (begin + 1..end)
            .step_by(7)
            .chain(end.saturating_sub(9)..end)
        {
            let all = read(&text[..stop]);
            assert_eq!(all.errors, [""; 0], "{name}: {stop}");
            let frames = all
                .frames
                .iter()
                .filter(|frame| frame.cut_from_bytes.is_none());
            for (frame, expected) in frames.zip(&whole.frames) {
                assert_eq!(frame.text, expected.text, "{name}: {stop}");
            }
        }
    }
}

#[test]
fn what_was_cut_is_said() {
    for (name, behind) in [
        ("claude-desktop.log", 40),
        ("vscode-output.log", 5),
        ("mcp-rec.jsonl", 5),
        ("mcp-server-logger.log", 5),
        ("arrow-text.log", 5),
    ] {
        let text = sample(name);
        let begin = last_frame(&text);
        let end = memchr::memchr(b'\n', &text[begin..]).map_or(text.len(), |end| begin + end);
        let all = read(&text[..end - behind]);
        assert!(all.is_cut, "{name}");
        assert_eq!(all.frames.len(), 12, "{name}");
        assert!(!read(&text).is_cut, "{name}");
    }
    // What is no frame is none, cut or not.
    let noise = format!(
        "{}2026-03-04T09:20:00.000Z [STDOUT] Loadi",
        text_of("mcp-server-logger.log")
    );
    let all = read(noise);
    assert_eq!((all.is_cut, all.frames.len()), (false, 14));
}

fn text_of(name: &str) -> String {
    String::from_utf8(sample(name)).expect("text")
}

/// A log of that text and another one behind it has two connections.
#[track_caller]
fn is_twice(name: &str, text: &str) -> All {
    let once = read(text);
    let all = read(format!("{text}{text}"));
    assert_eq!(all.frames.len(), 2 * once.frames.len(), "{name}");
    assert!(is_parted(&all), "{name}: {:?}", all.events);
    all
}

/// Whether something stands between two connections.
fn is_parted(all: &All) -> bool {
    all.events.iter().any(|(kind, by, _)| match kind {
        EventKind::Open => true,
        EventKind::Teardown => by.is_none(),
        EventKind::Exit => *by == Some(Role::Server),
        EventKind::Eof => *by == Some(Role::Client),
        _ => false,
    })
}

#[test]
fn a_log_that_was_appended_to_has_two_connections() {
    for name in [
        "arrow-text.log",
        "claude-desktop-mid.log",
        "claude-desktop-old.log",
        "claude-desktop.log",
        "mcp-rec.jsonl",
        "mcp-remote-debug.log",
        "mcp-server-logger.log",
        "mcp-vcr.ndjson",
        "vscode-output-old.log",
        "vscode-output.log",
    ] {
        is_twice(name, &text_of(name));
    }
    let all = is_twice("arrow-text.log", &text_of("arrow-text.log"));
    let said = "connections: where a handshake begins the ids anew, another one begins";
    assert!(all.guessed.contains(&said.to_owned()), "{:?}", all.guessed);
    // A handshake that goes on with the ids is the same client's.
    let text = text_of("arrow-text.log");
    let again = text
        .lines()
        .next()
        .expect("a line")
        .replace("\"id\":0", "\"id\":99");
    let all = read(format!("{text}{again}\n"));
    assert!(
        !is_parted(&all) && all.frames.len() == 14,
        "{:?}",
        all.events
    );
}

#[test]
fn words_of_the_logs_own_part_connections() {
    let say = |line: &str| {
        format!("2026-03-04T09:15:00.000Z [garden] [info] {line} {{ metadata: undefined }}\n")
    };
    let frame = |text: &str| say(&format!("Message from client: {text}"));
    let ping = |id: u32| {
        frame(&format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}"
        ))
    };
    for (words, expected) in [
        ("Initializing server...", (EventKind::Open, None)),
        (
            "Shutting down server...",
            (EventKind::Eof, Some(Role::Client)),
        ),
        ("Server transport closed", (EventKind::Teardown, None)),
        (
            "Client transport closed",
            (EventKind::Eof, Some(Role::Client)),
        ),
        (
            "Server transport closed unexpectedly, this is likely due to the process exiting early.",
            (EventKind::Exit, Some(Role::Server)),
        ),
    ] {
        let all = read(format!("{}{}{}", ping(1), say(words), ping(2)));
        let found: Vec<_> = all
            .events
            .iter()
            .map(|(kind, by, _)| (*kind, *by))
            .collect();
        assert_eq!(found, [expected], "{words}");
    }
    // A client that closes because the server is gone closed nothing of its own accord.
    let gone = say(
        "Server transport closed unexpectedly, this is likely due to the process exiting early.",
    );
    let all = read(format!(
        "{}{}{gone}",
        ping(1),
        say("Client transport closed")
    ));
    assert_eq!(all.events, [(EventKind::Exit, Some(Role::Server), None)]);
    let line = |level: &str, text: &str| format!("2026-03-04 09:15:00.000 [{level}] {text}\n");
    let ping = line(
        "debug",
        "[editor -> server] {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
    );
    for (words, expected) in [
        ("Starting server garden", (EventKind::Open, None, None)),
        (
            "Stopping server garden",
            (EventKind::Eof, Some(Role::Client), None),
        ),
        (
            "Connection state: Stopped",
            (EventKind::Teardown, None, None),
        ),
        (
            "Connection state: Error spawn garden ENOENT",
            (EventKind::Teardown, None, None),
        ),
        (
            "Connection state: Error Process exited with code 3",
            (EventKind::Exit, Some(Role::Server), Some(3)),
        ),
    ] {
        let all = read(format!("{ping}{}{ping}", line("info", words)));
        assert_eq!(all.events, [expected], "{words}");
    }
}

#[test]
fn what_stands_before_every_line_is_passed_over() {
    for name in LINES {
        let text = text_of(name);
        let plain = read(&text);
        let numbered: String = text
            .lines()
            .zip(1..)
            .map(|(line, number)| format!("{number}:{line}\n"))
            .collect();
        let quoted: String = text.lines().map(|line| format!("> {line}\n")).collect();
        let indented: String = text.lines().map(|line| format!("   {line}\n")).collect();
        let marked = format!("\u{FEFF}{text}");
        for changed in [numbered, quoted, indented, marked] {
            let all = read(&changed);
            assert_eq!(all.texts(), plain.texts(), "{name}");
            assert_eq!(
                (all.errors, all.events),
                (plain.errors.clone(), plain.events.clone()),
                "{name}"
            );
            // A frame of one line stands where it stands.
            let lines: Vec<&str> = changed.lines().collect();
            // Some tell only where a frame begins, or go over several lines.
            let is_plain =
                !["mcp-snoop-real.log", "python-sdk-http.log", "strace.txt"].contains(&name);
            for frame in all.frames.iter().filter(|_| is_plain) {
                let line = lines
                    .get(frame.line as usize - 1)
                    .unwrap_or_else(|| panic!("{name}: {}", frame.line))
                    .as_bytes();
                if frame.column > 1 && matches!(frame.text.as_bytes()[0], b'{') {
                    let at = frame.column as usize - 1;
                    assert!(
                        matches!(line[at], b'{' | b'"'),
                        "{name}: {}:{}",
                        frame.line,
                        frame.column
                    );
                }
            }
        }
    }
}

/// The garden's session in a log whose lines begin with the words of each side, and end so.
fn logged(words: [&str; 2], end: &str) -> String {
    let lines = garden().into_iter().zip(10..);
    let line = |((role, text), second): ((Role, String), u32)| {
        let word = words[usize::from(role == Role::Server)];
        format!("2026-03-04T09:15:{second}.000Z {word} {text}{end}\n")
    };
    lines.map(line).collect()
}

#[test]
fn what_a_logger_writes_behind_frames_is_its_own() {
    for end in [
        " +3ms",
        " (12 ms)",
        ";",
        ",",
        " {\"took\":3}",
        " { metadata: undefined }",
    ] {
        let all = read(logged(["-->", "<--"], end));
        let expected: Vec<String> = garden().into_iter().map(|(_, text)| text).collect();
        assert_eq!(all.texts(), expected, "{end}");
        assert_eq!(
            all.remarks,
            ["what the logger wrote behind 13 frames was left out"]
        );
    }
    // Two frames on one line are no logger's doing.
    let two = "--> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}";
    assert_eq!(read(two).texts(), [&two[4..]]);
}

#[test]
fn words_before_frames_are_understood_together() {
    for words in [
        ["Sent:", "Got:"],
        ["SEND", "RECEIVE"],
        ["Sending:", "Received:"],
        ["sent to server", "received from server"],
        ["received from client", "sent to client"],
        ["forwarding to server", "forwarding to client"],
        ["Client sent", "Server sent"],
        ["-> server", "<- server"],
        ["-> garden:", "<- garden:"],
        ["to garden", "from garden"],
        ["cursor -> server", "server -> cursor"],
        ["INFO [transport] tx", "INFO [transport] rx"],
        ["\u{1B}[32m-->\u{1B}[0m", "\u{1B}[33m<--\u{1B}[0m"],
        ["[garden] -->", "[garden] <--"],
        ["mcp_client → mcp_server", "mcp_server → mcp_client"],
        ["Cursor -> garden:", "garden -> Cursor:"],
        ["Agent -> MCP server", "MCP server -> Agent"],
        ["garden <- LLM", "LLM <- garden"],
        [
            "x | [supergateway] Http → Child:",
            "x | [supergateway] Child → Http:",
        ],
    ] {
        let all = read(logged(words, ""));
        let roles: Vec<Role> = all.frames.iter().map(|frame| frame.from).collect();
        let expected: Vec<Role> = garden().into_iter().map(|(role, _)| role).collect();
        assert_eq!(roles, expected, "{words:?}");
        assert_eq!(all.errors, [""; 0]);
    }
}

#[test]
fn words_that_cannot_mean_what_they_say_are_refused() {
    for (words, said) in [
        (
            ["server:", "client:"],
            "says that the server sent it, and only a client sends initialize",
        ),
        (["server:", "server:"], "says that the server sent it"),
        (
            ["->", "->"],
            "all of them are the client's, initialize and its answer",
        ),
        (
            ["sent", "shrug"],
            "nothing that is known stands before this frame",
        ),
    ] {
        let error = refusal(logged(words, "").as_bytes());
        assert!(
            error.contains(said) && error.contains("--pattern"),
            "{words:?}: {error}"
        );
    }
    // A client alone is a recording of one side.
    let alone: String = logged(["->", "<-"], "")
        .lines()
        .filter(|line| line.contains("->"))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(read(alone).counts(), [6, 0]);
}

#[test]
fn servers_in_one_log_are_told_apart_by_what_stands_before_the_arrow() {
    let one = logged(["[garden] -->", "[garden] <--"], "");
    let other = logged(["[weather] -->", "[weather] <--"], "");
    let both: String = one
        .lines()
        .zip(other.lines())
        .map(|(one, other)| format!("{one}\n{other}\n"))
        .collect();
    let all = read(both);
    let of = |name: &str| {
        all.frames
            .iter()
            .filter(|frame| frame.session.as_deref() == Some(name))
            .count()
    };
    assert_eq!((of("garden"), of("weather")), (13, 13));
    // The names of threads are none of servers.
    let threads = read(logged(["[main] -->", "[reader] <--"], ""));
    assert!(threads.frames.iter().all(|frame| frame.session.is_none()));
}

#[test]
fn json_that_is_no_frame_is_passed_over() {
    let text = format!(
        "{}2026-03-04T09:16:00.000Z cache miss -> {{\"key\":1}}\n",
        logged(["->", "<-"], "")
    );
    assert_eq!(read(text).frames.len(), 13);
}

#[test]
fn frames_that_a_logger_shortened_are_cut() {
    let long = |line: &str| line.len() > 200;
    for mark in ["...", "… (truncated)", ""] {
        for (words, tail) in [
            (["-->", "<--"], ""),
            (
                [
                    "[garden] [info] Message from client:",
                    "[garden] [info] Message from server:",
                ],
                " { metadata: undefined }",
            ),
            (["[STDIN]", "[STDOUT]"], ""),
        ] {
            let text: String = logged(words, "")
                .lines()
                .map(|line| {
                    if long(line) {
                        format!("{}{mark}{tail}\n", &line[..200])
                    } else {
                        format!("{line}{tail}\n")
                    }
                })
                .collect();
            let all = read(text);
            assert_eq!(
                (all.frames.len(), &all.errors[..]),
                (13, &[][..]),
                "{mark} {words:?}"
            );
            let is_cut = |text: &str| serde_json::from_str::<serde_json::Value>(text).is_err();
            for frame in &all.frames {
                assert_eq!(
                    frame.cut_from_bytes.is_some(),
                    is_cut(&frame.text),
                    "{mark} {words:?}: {}",
                    frame.text
                );
            }
        }
    }
}

#[test]
fn frames_that_a_logger_laid_out_are_cut_and_those_of_a_server_are_not() {
    let laid_out = |text: &str| {
        format!("{text} {{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"method\": \"ping\"\n}}\n")
    };
    let all = read(laid_out(
        "2026-03-04T09:15:00.000Z [garden] [info] Message from client:",
    ));
    assert_eq!(
        (all.frames.len(), all.frames[0].cut_from_bytes),
        (1, Some(1))
    );
    let own =
        "2026-03-04T09:15:00.000Z [STDIN] {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    let all = read(format!(
        "{own}{}",
        laid_out("2026-03-04T09:15:00.000Z [STDOUT]")
    ));
    assert_eq!(all.frames[1].cut_from_bytes, None);
}

#[test]
fn names_of_servers_may_have_brackets() {
    let text = text_of("claude-desktop.log").replace("[garden]", "[my [garden] server]");
    let all = read(text);
    assert_eq!(all.frames.len(), 13);
    assert!(
        all.frames
            .iter()
            .all(|frame| frame.session.as_deref() == Some("my [garden] server"))
    );
}

#[test]
fn frames_may_come_after_much_else() {
    let chatter = "2026-03-04 09:14:00 INFO still warming up\n".repeat(4000);
    for name in ["arrow-text.log", "claude-desktop.log"] {
        assert_eq!(
            read(format!("{chatter}{}", text_of(name))).frames.len(),
            13,
            "{name}"
        );
    }
}

#[test]
fn a_tracer_that_comes_late_sees_the_rest_of_a_frame_first() {
    let text = "4711  09:15:00.014000 write(1, \"ources\\\":{\\\"subscribe\\\":true}}}\", 28) = 28\n\
        4711  09:15:00.014000 write(1, \"\\n\", 1) = 1\n\
        4711  09:15:00.016000 read(0, \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":2,\\\"method\\\":\\\"ping\\\"}\\n\", 65536) = 41\n\
        4711  09:15:00.017000 write(1, \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":2,\\\"result\\\":{}}\\n\", 37) = 37\n";
    assert_eq!(read(text).counts(), [1, 1]);
    // What a program writes before its first frame is on the wire.
    let noisy = text.replace(
        "ources\\\":{\\\"subscribe\\\":true}}}",
        "warming up, have some patience",
    );
    assert_eq!(read(noisy).counts(), [1, 2]);
}

#[test]
fn a_log_of_a_service_is_that_services_log() {
    let text = text_of("supergateway.log");
    let named: String = text
        .lines()
        .map(|line| format!("gw-1  | {line}\n"))
        .collect();
    assert_eq!(read(named).texts(), read(&text).texts());
    let numbered: String = text
        .lines()
        .zip(1..)
        .map(|(line, number)| format!("{number:>6}\t{line}\n"))
        .collect();
    assert_eq!(read(numbered).texts(), read(&text).texts());
}

#[test]
fn colours_behind_a_frame_are_none_of_it() {
    for name in [
        "vscode-output.log",
        "mcp-server-logger.log",
        "claude-desktop.log",
        "supergateway.log",
    ] {
        let text = text_of(name);
        let coloured: String = text
            .lines()
            .map(|line| format!("\u{1B}[2m{line}\u{1B}[0m\n"))
            .collect();
        assert_eq!(read(coloured).texts(), read(&text).texts(), "{name}");
    }
}

#[test]
fn a_line_of_the_log_behind_one_that_had_no_end_is_read() {
    let text = text_of("claude-desktop.log");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let at = lines
        .iter()
        .position(|line| line.contains("Message from server"))
        .expect("a frame");
    let before = lines[at].find("{\"jsonrpc").expect("a frame") as u64 + 1;
    lines[at].insert_str(0, "Loading model 50% ");
    let all = read(lines.join("\n"));
    assert_eq!(all.texts(), read(&text).texts());
    let frame = all
        .frames
        .iter()
        .find(|frame| frame.line == at as u64 + 1)
        .expect("a frame");
    assert_eq!(frame.column, before + 18);
}

#[test]
fn two_objects_on_one_line_are_an_error() {
    for name in [
        "mcp-rec.jsonl",
        "mcp-vcr.ndjson",
        "mcp-trace-validator.jsonl",
    ] {
        let text = text_of(name);
        let last = text.trim_end().rfind('\n').expect("lines");
        let mut joined = text.clone();
        joined.remove(last);
        let all = read(joined);
        assert_eq!(all.errors.len(), 1, "{name}");
        assert!(
            all.errors[0].contains("one JSON object a line"),
            "{:?}",
            all.errors
        );
    }
}

#[test]
fn lines_that_are_missing_are_lost_frames() {
    let text = text_of("mcp-trace-validator.jsonl");
    let some: String = text
        .lines()
        .enumerate()
        .filter(|(at, _)| *at != 4)
        .map(|(_, line)| format!("{line}\n"))
        .collect();
    let all = read(some);
    assert!(all.lost.has(Lost::FRAMES));
    assert_eq!(
        all.remarks,
        ["the numbers of the lines have gaps: one line is missing"]
    );
    assert!(!read(&text).lost.has(Lost::FRAMES));
}

#[test]
fn two_connections_at_once_are_mixed() {
    let one = logged(["-->", "<--"], "");
    // After the first line the other one is a line behind.
    let lines: Vec<&str> = one.lines().collect();
    let mut both = format!("{}\n{}\n{}\n", lines[0], lines[0], lines[1]);
    for pair in lines[1..].windows(2) {
        both.push_str(&format!("{}\n{}\n", pair[1], pair[0]));
    }
    let all = read(both);
    assert!(all.lost.has(Lost::IDS), "{:?}", all.remarks);
    // A client that starts again because nobody answers is one at a time.
    let mut lines = one.lines();
    let again: String = [lines.next().expect("a line")]
        .into_iter()
        .chain(one.lines())
        .map(|line| format!("{line}\n"))
        .collect();
    let all = read(again);
    assert!(!all.lost.has(Lost::IDS) && is_parted(&all));
}

#[test]
fn prose_about_frames_is_none() {
    let text = format!(
        "{}2026-03-04T09:16:00.000Z DEBUG handler received {{\"method\":\"ping\"}}\n",
        logged(["->", "<-"], "")
    );
    assert_eq!(read(text).frames.len(), 13);
    // Where frames stand, one without its version is one.
    let text = format!(
        "{}2026-03-04T09:16:00.000Z -> {{\"method\":\"ping\"}}\n",
        logged(["->", "<-"], "")
    );
    assert_eq!(read(text).frames.len(), 14);
}

/// The same lines, each so often in a row.
fn repeated(text: &str, times: usize) -> String {
    let lines = text.lines();
    lines
        .flat_map(|line| std::iter::repeat_n(line, times))
        .map(|line| format!("{line}\n"))
        .collect()
}

/// Frames in a log of two handlers stand there once, and what was sent twice twice.
#[test]
fn frames_that_a_logger_wrote_twice_were_sent_once() {
    for name in LINES {
        let text = text_of(name);
        // A frame over several lines comes again as a whole, and YAML is written by no logger.
        if ["mcp-snoop-real.log"].contains(&name) {
            continue;
        }
        let once = read(&text);
        for (times, said) in [(2, "twice"), (3, "3 times")] {
            let all = read(repeated(&text, times));
            assert_eq!(all.texts(), once.texts(), "{name}");
            let copies = format!("copies: every frame stands {said} in a row");
            let guessed = all
                .guessed
                .iter()
                .filter(|guess| guess.starts_with(&copies));
            assert_eq!(guessed.count(), 1, "{name}: {:?}", all.guessed);
            let beside = |all: &All| {
                let lost = all.lost;
                (lost, is_parted(all))
            };
            assert_eq!(beside(&all), beside(&once), "{name}");
        }
    }
    // Two handlers write lines of their own.
    let lines = garden().into_iter().zip(10..);
    let line = |((role, text), second): ((Role, String), u32)| {
        let word = ["-->", "<--"][usize::from(role == Role::Server)];
        format!(
            "2026-03-04 09:15:{second}.123 - mcp - DEBUG - {word} {text}\nDEBUG:mcp:{word} {text}\n"
        )
    };
    let twice: String = lines.map(line).collect();
    assert_eq!(read(&twice).counts(), [6, 7]);
    assert!(read(&twice).guessed[1].starts_with("copies: "));
}

#[test]
fn what_was_sent_twice_stands_there_twice() {
    let text = text_of("arrow-text.log");
    let mut lines: Vec<&str> = text.lines().collect();
    lines.insert(7, lines[7]);
    let single = lines.join("\n");
    let all = read(&single);
    assert_eq!(all.frames.len(), 14);
    assert!(!all.guessed.iter().any(|guess| guess.starts_with("copies")));
    // So it does in a log of two handlers.
    assert_eq!(read(repeated(&single, 2)).texts(), all.texts());
    // A few frames that come again are a client's that asks again.
    let again = repeated(&text.lines().take(2).collect::<Vec<_>>().join("\n"), 2);
    assert_eq!(read(again).frames.len(), 4);
    // In a gateway's log each frame comes and goes.
    let through: String = garden()
        .into_iter()
        .map(|(_, text)| format!("<-- {text}\n--> {text}\n"))
        .collect();
    let error = refusal(through.as_bytes());
    assert!(
        error.contains("as it came and as it went on") && error.contains("--pattern"),
        "{error}"
    );
}

#[test]
fn times_are_read_as_loggers_write_them() {
    let at = |stamp: &str, last: &str| {
        let frames = garden().into_iter().enumerate();
        let line = |(at, (role, text)): (usize, (Role, String))| {
            let word = ["-->", "<--"][usize::from(role == Role::Server)];
            format!("{} {word} {text}\n", if at < 12 { stamp } else { last })
        };
        read(frames.map(line).collect::<String>())
    };
    for (stamp, last) in [
        (
            "Wed, 04 Mar 2026 09:15:00 +0000",
            "Wed, 04 Mar 2026 09:15:07 +0000",
        ),
        (
            "[04/Mar/2026:09:15:00 +0000]",
            "[04/Mar/2026:09:15:07 +0000]",
        ),
        ("3/4/2026, 9:15:00 AM", "3/4/2026, 9:15:07 AM"),
    ] {
        let all = at(stamp, last);
        assert_eq!((all.frames.len(), all.lost.has(Lost::TIME)), (13, false));
        let went = all.frames[12].t_ms.zip(all.frames[0].t_ms);
        assert_eq!(went.map(|(last, first)| last - first), Some(7_000));
    }
    // How many days are between these depends on where it was written.
    let all = at("3/4/2026, 9:15:00 AM", "4/4/2026, 9:15:07 AM");
    assert_eq!(
        (all.frames[12].t_ms, all.lost.has(Lost::TIME)),
        (None, true)
    );
}

#[test]
fn lines_that_are_not_in_the_order_of_their_times_are_uncertain() {
    let text = logged(["-->", "<--"], "");
    let lines: Vec<&str> = text.lines().collect();
    let of = |word: &'static str| {
        lines
            .iter()
            .copied()
            .filter(move |line| line.contains(word))
    };
    let newest_first: Vec<&str> = lines.iter().rev().copied().collect();
    let from_buffers: Vec<&str> = of("-->").chain(of("<--")).collect();
    let mut late = lines.clone();
    late.swap(4, 7);
    for lines in [newest_first, from_buffers, late] {
        let all = read(lines.join("\n"));
        assert!(all.lost.has(Lost::ORDER | Lost::FRAMES), "{lines:?}");
        let said = all
            .remarks
            .iter()
            .filter(|remark| remark.contains("the order of their times"));
        assert_eq!(said.count(), 1);
    }
    let is_in_order = |text: &str| {
        let all = read(text);
        assert!(!all.lost.has(Lost::ORDER), "{:?}", all.remarks);
        assert_eq!(all.remarks, [""; 0]);
    };
    is_in_order(&text);
    // Some milliseconds are nothing, and neither is a clock that was set.
    let at = |nth: usize, ms: &str| text.replace(&format!(":{}.000Z", nth + 10), ms);
    is_in_order(&at(6, ":15.995Z"));
    is_in_order(&at(6, ":14.000Z"));
    // Another connection has times of its own.
    is_in_order(&format!("{}{text}", text.replace("T09:15", "T10:15")));
}

#[test]
fn prose_that_quotes_logs_is_none() {
    let frame = |words: &str| {
        format!(
            "2026-03-04T09:15:00.000Z [garden] [info] Message from {words} {{ metadata: undefined }}\n"
        )
    };
    let asked = frame(r#"client: {"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#);
    let answer = frame(r#"server: {"jsonrpc":"2.0","id":0,"result":{}}"#);
    let notes = format!(
        "# What logs look like\n\nThe first has\na time and\na name:\n\n```\n{asked}{answer}```\n"
    );
    let error = refusal(notes.as_bytes());
    assert!(error.contains("quotes lines of them"), "{error}");
    // A report with all of a session in it can be judged, and so can a log whose server writes titles.
    let report = format!("# It hangs\n\n```\n{}```\n", text_of("claude-desktop.log"));
    assert_eq!(read(report).frames.len(), 13);
    let titled = format!("{asked}# Garden\nopening\nready\n{answer}");
    assert_eq!(read(titled).frames.len(), 2);
}
