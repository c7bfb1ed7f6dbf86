//! Captures and sniffing from outside: what each member means, every message with its place, nothing panics.

use std::io::{BufReader, Cursor};

use base64::Engine;
use mcpsim_traces::capture::{CaptureReader, CaptureWhat, EventKind, Opening};
use mcpsim_traces::event::{LinkKind, Role};
use mcpsim_traces::judge::Vantage;
use mcpsim_traces::lines::ReadError;
use mcpsim_traces::sniff::Log;
use proptest::prelude::*;

/// A line of a capture in words, for comparison.
fn words(line: &mcpsim_traces::capture::CaptureLine<'_>) -> String {
    let mut words = vec![line.line.to_string()];
    let mut say = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            words.push(format!("{name}={value}"));
        }
    };
    say("t", line.t_ms.map(|t| t.to_string()));
    say(
        "session",
        line.session.as_ref().map(|name| name.to_string()),
    );
    say("stream", line.stream.as_ref().map(|name| name.to_string()));
    let text = |raw: &[u8]| raw.escape_ascii().to_string();
    if let Some(http) = &line.http {
        let head = http.head.as_ref();
        say(
            "method",
            head.and_then(|head| head.method().map(str::to_owned)),
        );
        say(
            "target",
            head.and_then(|head| head.target().map(str::to_owned)),
        );
        say("http", http.status().map(|n| n.to_string()));
        for field in head
            .and_then(|head| head.fields.as_ref())
            .into_iter()
            .flatten()
        {
            say(&field.name, Some(field.value.clone().into_owned()));
        }
        say("sse_id", http.sse.id.as_ref().map(|id| id.to_string()));
        say(
            "sse_event",
            http.sse.event.as_ref().map(|id| id.to_string()),
        );
        say("sse_retry", http.sse.retry_ms.map(|n| n.to_string()));
    }
    match &line.what {
        CaptureWhat::Http(from) => say("by", Some(from.as_str().to_owned())),
        CaptureWhat::Frame(frame) => {
            say("from", Some(frame.from.as_str().to_owned()));
            say("eol", (!frame.has_eol).then(|| "no".to_owned()));
            say("pad_to", frame.pad_to.map(|n| n.to_string()));
            say("cut_from", frame.cut_from_bytes.map(|n| n.to_string()));
            say("raw", Some(text(frame.raw)));
        }
        CaptureWhat::Event(event) => {
            say("event", Some(event.name.to_string()));
            say("kind", Some(event.kind.as_str().to_owned()));
            say("by", event.by.map(|by| by.as_str().to_owned()));
            say("status", event.status.map(|n| n.to_string()));
            say("vantage", event.vantage.map(|v| v.as_str().to_owned()));
            say("transport", event.transport.map(|t| t.as_str().to_owned()));
            say("raw", (!event.raw.is_empty()).then(|| text(event.raw)));
        }
    }
    words.join(" ")
}

/// Everything that a capture gives, errors as `line:column: message`, and whether it was cut.
fn read(file: &[u8], capacity: usize) -> (Vec<String>, bool) {
    let input = BufReader::with_capacity(capacity, file);
    let mut reader = CaptureReader::new(input).expect("memory does not fail");
    let mut found = vec![];
    loop {
        match reader.next_line() {
            Ok(Some(line)) => found.push(words(&line)),
            Ok(None) => return (found, reader.is_cut()),
            Err(ReadError::Input(error)) => found.push(error.to_string()),
            Err(ReadError::Io(error)) => panic!("memory does not fail: {error}"),
        }
    }
}

fn check(line: &str, expected: &str) {
    assert_eq!(
        read(line.as_bytes(), 64),
        (vec![expected.to_owned()], false),
        "{line}"
    );
}

#[test]
fn every_member_is_read() {
    for (line, expected) in [
        (
            r#"{"dir":"c2s","raw":"{\"id\":1}"}"#,
            r#"1 from=client raw={\"id\":1}"#,
        ),
        (
            r#" { "raw" : "a\\b" , "dir" : "s2c" } "#,
            r"1 from=server raw=a\\b",
        ),
        (
            r#"{"dir":"c2s","raw_b64":"/wo="}"#,
            r"1 from=client raw=\xff\n",
        ),
        (
            r#"{"dir":"c2s","raw":"","eol":""}"#,
            "1 from=client eol=no raw=",
        ),
        (
            r#"{"dir":"c2s","raw":"x\r","eol":"\n"}"#,
            r"1 from=client raw=x\r",
        ),
        (
            r#"{"t_ms":12,"dir":"c2s","raw":"x"}"#,
            "1 t=12 from=client raw=x",
        ),
        (
            r#"{"t_ms":1765.93,"dir":"c2s","raw":"x"}"#,
            "1 t=1765 from=client raw=x",
        ),
        (
            r#"{"session":"S\u0031","stream":7,"dir":"c2s","raw":"x"}"#,
            "1 session=S1 stream=7 from=client raw=x",
        ),
        (
            r#"{"dir":"s2c","raw":"x","pad_to":70000,"cut_from_bytes":9,"http":202,"sse_id":"e-1"}"#,
            "1 http=202 sse_id=e-1 from=server pad_to=70000 cut_from=9 raw=x",
        ),
        (
            r#"{"dir":"c2s","raw":"x","head":{"method":"POST","target":"/mcp","headers":{"Accept":["a","b"],"x":" y "}}}"#,
            "1 method=POST target=/mcp Accept=a Accept=b x= y  from=client raw=x",
        ),
        (
            r#"{"dir":"c2s","stream":1,"head":{"method":"GET","version":"HTTP/2"}}"#,
            "1 stream=1 method=GET by=client",
        ),
        (
            r#"{"dir":"s2c","http":202,"head":{"status":202,"headers":{}}}"#,
            "1 http=202 by=server",
        ),
        (
            r#"{"dir":"s2c","sse_id":7,"sse_event":"endpoint","sse_retry":500,"raw":"/messages"}"#,
            "1 sse_id=7 sse_event=endpoint sse_retry=500 from=server raw=/messages",
        ),
        (r#"{"dir":"s2c","sse_id":"7"}"#, "1 sse_id=7 by=server"),
        // What is null is not there; what is unknown does not matter.
        (
            r#"{"dir":"s2c","raw":"x","stream":null,"t_ms":null,"event":null,"who":[{"dir":1}],"status":"ok"}"#,
            "1 from=server raw=x",
        ),
        (
            r#"{"dir":"s2c","raw":"","event":"exit","status":-9}"#,
            "1 event=exit kind=exit by=server status=-9",
        ),
        (
            r#"{"event":"exit","status":"SIGKILL"}"#,
            "1 event=exit kind=exit",
        ),
        (
            r#"{"event":"exit","code":3}"#,
            "1 event=exit kind=exit status=3",
        ),
        (
            r#"{"event":"teatime","dir":"c2s"}"#,
            "1 event=teatime kind= by=client",
        ),
        (
            r#"{"event":"lost","dir":"s2c","raw":"{}","sse_id":"4"}"#,
            "1 sse_id=4 event=lost kind=lost by=server raw={}",
        ),
        (
            r#"{"event":"empty-body","dir":"s2c","http":202}"#,
            "1 http=202 event=empty-body kind=empty-body by=server",
        ),
        (
            r#"{"event":"open","vantage":"client","transport":"stdio"}"#,
            "1 event=open kind=open vantage=client transport=pipe",
        ),
        (
            r#"{"event":"open","transport":"streamable-http"}"#,
            "1 event=open kind=open transport=http",
        ),
        // Only an open line says where the observer stood.
        (
            r#"{"event":"stall","vantage":7}"#,
            "1 event=stall kind=stall",
        ),
        (
            r#"{"dir":"c2s","raw":"\ud83d\ude00é"}"#,
            r"1 from=client raw=\xf0\x9f\x98\x80\xc3\xa9",
        ),
    ] {
        check(line, expected);
        check(&format!("\u{feff}{line}\r\n"), expected);
    }
    for kind in EventKind::ALL {
        let name = kind.as_str();
        check(
            &format!("{{\"event\":\"{name}\"}}"),
            &format!("1 event={name} kind={name}"),
        );
    }
}

/// Every message, with the text at whose first occurrence it stands.
#[test]
fn what_is_wrong_has_its_place() {
    let form = "a capture has lines of {\"dir\":\"c2s\",\"raw\":\"…\"}";
    for (line, place, message) in [
        ("hello", "hello", format!("{form}, not \"hello\"")),
        (" [1]", "[1]", format!("{form}, not \"[1]\"")),
        ("\x1b[31m", "\x1b", format!("{form}, not \"\\u{{1b}}[31m\"")),
        (r#"{"raw":"x"}"#, "{", format!("the line has no \"dir\"; {form}")),
        (r#"{"dir":"c2s"}"#, "{", format!("the line has no \"raw\"; {form}")),
        (r#"{"dir":"c2s","raw":null}"#, "{", format!("the line has no \"raw\"; {form}")),
        (
            r#"{"jsonrpc":"2.0","id":1}"#,
            "{",
            format!("the line has no \"dir\": a bare frame, which does not tell who sent it; {form}"),
        ),
        (r#"{"dir":"up","raw":"x"}"#, "\"up\"", "\"c2s\" (client to server) or \"s2c\" was expected, not \"up\"".into()),
        (r#"{"dir":"c2s","raw":{"id":1}}"#, "{\"id\"", "a string was expected, not {\"id\":1}".into()),
        (r#"{"dir":"c2s","raw":"x","raw":"y"}"#, "\"y\"", "\"raw\" stands there twice".into()),
        (r#"{"dir":"c2s","raw":"x","raw_b64":"eQ=="}"#, "\"eQ==\"", "\"raw\" and \"raw_b64\" stand there both".into()),
        (r#"{"dir":"c2s","raw_b64":"?"}"#, "\"?\"", "not base64".into()),
        (r#"{"dir":"c2s","raw_b64":5}"#, "5}", "a string was expected, not 5".into()),
        (
            r#"{"dir":"c2s","raw":"ab\udc80c"}"#,
            "\\udc80",
            "half of a surrogate pair is no character: bytes that are not UTF-8 belong into \"raw_b64\"".into(),
        ),
        (
            r#"{"dir":"c2s","raw":"x","stream":"\ud800"}"#,
            "\\ud800",
            "half of a surrogate pair is no character: bytes that are not UTF-8 belong into \"raw_b64\"".into(),
        ),
        (r#"{"dir":"c2s","raw":"x","eol":"\r"}"#, "\"\\r\"", "\"\" or \"\\n\" was expected, not \"\\r\"".into()),
        (r#"{"dir":"c2s","raw":"x","t_ms":-1}"#, "-1", "a time in milliseconds was expected, not -1".into()),
        (r#"{"dir":"c2s","raw":"x","t_ms":"now"}"#, "\"now\"", "a time in milliseconds was expected, not \"now\"".into()),
        (r#"{"dir":"c2s","raw":"x","pad_to":1.5}"#, "1.5", "a whole number was expected, not 1.5".into()),
        (r#"{"dir":"c2s","head":{"status":200}}"#, "{\"status", "a head has no \"method\"".into()),
        (r#"{"dir":"s2c","head":{"method":"GET"}}"#, "{\"method", "a head has no \"status\"".into()),
        (r#"{"head":{"method":"GET"}}"#, "{\"head", "the line has no \"dir\"; a capture has lines of {\"dir\":\"c2s\",\"raw\":\"…\"}".into()),
        (r#"{"dir":"s2c","http":202,"head":{"status":200}}"#, "202", "\"http\" is another status than that of \"head\"".into()),
        (r#"{"dir":"c2s","head":{"method":"GET","headers":{"a":1}}}"#, "1}}}", "a string was expected, not 1".into()),
        (r#"{"dir":"c2s","raw":"x","http":70000}"#, "70000", "a number in its bounds was expected, not 70000".into()),
        (r#"{"dir":"c2s","raw":"x","session":["a"]}"#, "[\"a\"]", "a name was expected, not [\"a\"]".into()),
        (r#"{"event":7}"#, "7", "a string was expected, not 7".into()),
        (r#"{"event":"open","vantage":"moon"}"#, "\"moon\"", "client, server, between or world was expected, not \"moon\"".into()),
        (r#"{"event":"open","transport":"pigeon"}"#, "\"pigeon\"", "stdio or http was expected, not \"pigeon\"".into()),
        (r#"{"dir":"c2s","raw":"x"} {}"#, "{}", "something stands after the JSON object".into()),
        (r#"{"dir":"c2s","raw":"x",}"#, "}", "not JSON: unexpected character".into()),
        ("{\"dir\":\"c2s\",\"raw\":\"a\tb\"}", "\t", "not JSON: control character inside a string".into()),
        (r#"{"dir":"c2s","raw":"\x"}"#, "\\x", "not JSON: unknown escape in a string".into()),
    ] {
        let at = line.find(place).expect("stands there") + 1;
        check(line, &format!("1:{at}: {message}"));
        // The lines around it are read.
        let file = format!("{{\"event\":\"eof\"}}\n\n{line}\n{{\"event\":\"exit\"}}\n");
        let expected = ["1 event=eof kind=eof", &format!("3:{at}: {message}"), "4 event=exit kind=exit"];
        assert_eq!(read(file.as_bytes(), 64).0, expected);
    }
    let file = b"{\"dir\":\"c2s\",\"raw\":\"\xFF\"}";
    let message = "1:21: not UTF-8: bytes that are not belong into \"raw_b64\"";
    assert_eq!(read(file, 8).0, [message]);
}

#[test]
fn the_first_line_tells_where_the_observer_stood() {
    for (file, vantage, transport) in [
        (
            r#"{"event":"open","vantage":"server","transport":"http"}"#,
            Some(Vantage::Server),
            Some(LinkKind::Http),
        ),
        (
            "\n\r\n{\"event\":\"open\",\"vantage\":\"between\"}",
            Some(Vantage::Between),
            None,
        ),
        (r#"{"event":"stall"}"#, None, None),
        (r#"{"dir":"c2s","raw":"x"}"#, None, None),
        (
            "{\"dir\":\"c2s\",\"raw\":\"x\"}\n{\"event\":\"open\",\"vantage\":\"client\"}",
            None,
            None,
        ),
        ("nonsense", None, None),
        ("", None, None),
    ] {
        let reader = CaptureReader::new(BufReader::with_capacity(3, file.as_bytes()));
        let opening = reader.expect("memory does not fail").opening();
        let whole = false;
        let wanted = Opening {
            vantage,
            transport,
            whole,
        };
        assert_eq!(opening, wanted, "{file}");
    }
}

/// Whoever made the capture of another log says what that had lost, anywhere and several times.
#[test]
fn a_capture_says_what_it_has_lost() {
    let lost_of = |file: &str| {
        let mut reader = CaptureReader::new(file.as_bytes()).expect("memory does not fail");
        loop {
            match reader.next_line() {
                Ok(Some(_)) => {}
                Ok(None) => return Ok(reader.lost().to_string()),
                Err(error) => return Err(error.to_string()),
            }
        }
    };
    let known = "known are raw text, time, order between the sides, direction, ids, payload, \
        lines that are no frames, HTTP, some frames, order between streams, event ids";
    for (file, wanted) in [
        ("{\"dir\":\"c2s\",\"raw\":\"\"}", Ok("nothing".to_owned())),
        ("{\"event\":\"recording\"}", Ok("nothing".to_owned())),
        (
            "{\"event\":\"recording\",\"lost\":[\"time\"]}\n{\"event\":\"recording\",\"lost\":[\"ids\",\"raw text\"]}",
            Ok("raw text, time, ids".to_owned()),
        ),
        (
            "{\"event\":\"stall\",\"lost\":[\"time\"]}",
            Ok("nothing".to_owned()),
        ),
        (
            "{\"event\":\"recording\",\"lost\":[\"hope\"]}",
            Err(format!("1:30: {known}")),
        ),
        (
            "{\"event\":\"recording\",\"lost\":\"time\"}",
            Err("1:29: an array was expected, not \"time\"".to_owned()),
        ),
    ] {
        assert_eq!(lost_of(file), wanted, "{file}");
    }
}

/// A capture may say that it begins with its session, on the line that opens it.
#[test]
fn the_first_line_says_whether_anything_came_before() {
    for (file, wanted) in [
        (r#"{"event":"open","whole":true}"#, Ok(true)),
        (r#"{"event":"open","whole":false}"#, Ok(false)),
        (r#"{"event":"open","whole":null}"#, Ok(false)),
        (r#"{"event":"stall","whole":true}"#, Ok(false)),
        (
            r#"{"event":"open","whole":"yes"}"#,
            Err("1:25: true or false was expected, not \"yes\""),
        ),
    ] {
        let mut reader = CaptureReader::new(file.as_bytes()).expect("memory does not fail");
        let whole = reader.opening().whole;
        let found = match reader.next_line() {
            Ok(_) => Ok(whole),
            Err(error) => Err(error.to_string()),
        };
        assert_eq!(found, wanted.map_err(str::to_owned), "{file}");
    }
}

/// What `Log::open` says: the format, or the message.
fn opened(file: &[u8]) -> String {
    match Log::open(BufReader::with_capacity(16, Cursor::new(file.to_vec()))) {
        Ok(log) => log.format().to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_log_is_recognised_by_its_first_line() {
    let trace = r#"{"mcpsim_trace":1,"program":"p","revisions":[],"parties":[],"links":[],"vantage":"world"}"#;
    for (file, format) in [
        (trace.to_owned(), "trace"),
        (format!("\u{feff}{trace}\n"), "trace"),
        (format!("\r\n \n{trace}\n"), "trace"),
        (
            r#"{"dir":"c2s","raw":"{\"mcpsim_trace\":1}"}"#.into(),
            "capture",
        ),
        ("\n\n{\"event\":\"open\"}\n".into(), "capture"),
        // Broken or cut after a name that tells.
        (r#"{"t_ms":1,"dir":"c2s","raw":"{\"id"#.into(), "capture"),
        (
            "{\"t_ms\":1,\"dir\":\"c2s\",\"raw\":\"a\tb\"}".into(),
            "capture",
        ),
    ] {
        assert_eq!(opened(file.as_bytes()), format, "{file}");
    }
}

#[test]
fn what_is_no_log_is_named() {
    let accepted = "accepted are traces, whose first line is {\"mcpsim_trace\":1,…}, captures, whose lines are \
                    {\"dir\":\"c2s\",\"raw\":\"…\"}, and the logs that `mcpsim list formats` names";
    let cases: [(&[u8], &str); 15] = [
        (b"", "1:1: the file is empty"),
        (b"\n \r\n", "2:1: there is nothing but blank lines"),
        (b"\x1F\x8B\x08\x00", "1:1: this is gzip: unpack it first"),
        (b"\x28\xB5\x2F\xFD", "1:1: this is zstd: unpack it first"),
        (b"PK\x03\x04", "1:1: this is a zip archive: unpack it first"),
        (b"\xFF\xFE{\0", "1:1: this is UTF-16: save it as UTF-8"),
        (b"\xFE\xFF\0{", "1:1: this is UTF-16: save it as UTF-8"),
        (b"\x7FELF\x02\x01\x00", "1:7: this is binary: byte 0x00"),
        (b"\nab\xE9c", "2:3: this is binary: byte 0xe9"),
        (b"[{\"dir\":\"c2s\"}]", "1:1: this is a JSON array or a log"),
        (
            b"2026-01-01 \x1b[1mstarted",
            "1:1: this is no JSON: \"2026-01-01 \\u{1b}[1mstarted\"",
        ),
        (
            b" {\"jsonrpc\":\"2.0\",\"id\":1}",
            "1:2: this is a bare frame, which does not tell who sent it: where all of it is one side's, name the file with --c2s (what the client sent) or --s2c",
        ),
        (
            b"{\"log\":{}}",
            "1:1: this is JSON and no capture: \"{\"log\":{}}\"",
        ),
        (
            b"{\n\"log\":{}}",
            "1:1: this is JSON that goes on in the next line",
        ),
        (b"{'dir':1}", "1:2: not JSON: unexpected character"),
    ];
    for (file, seen) in cases {
        assert_eq!(opened(file), format!("{seen}; {accepted}"));
    }
    // The trace's own reader speaks where the first line says that it is one.
    assert_eq!(
        opened(b"{\"mcpsim_trace\":9}"),
        "1:17: the trace is of format 9 and this program reads up to 1: use a newer mcpsim"
    );
    let long = [b"{\"x\":\"", "é".repeat(100).as_bytes(), b"\"}"].concat();
    let shown = opened(&long);
    assert!(
        shown.contains(&format!("{{\"x\":\"{}…\"; ", "é".repeat(54))),
        "{shown}"
    );
}

/// A frame's bytes as a capture's line.
fn line(from: Role, raw: &[u8]) -> String {
    let dir = if from == Role::Client { "c2s" } else { "s2c" };
    match std::str::from_utf8(raw) {
        Ok(text) => serde_json::json!({ "dir": dir, "raw": text, "t_ms": 5 }).to_string(),
        Err(_) => {
            let base64 = base64::engine::general_purpose::STANDARD.encode(raw);
            serde_json::json!({ "dir": dir, "raw_b64": base64 }).to_string()
        }
    }
}

fn any_raw() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..60),
        any::<String>().prop_map(String::into_bytes),
        "[\\x00-\\x7f\"\\\\]{0,60}".prop_map(String::into_bytes),
        (0usize..70_000).prop_map(|length| "\"é".repeat(length / 3).into_bytes()),
    ]
}

fn any_frames() -> impl Strategy<Value = Vec<(Role, Vec<u8>)>> {
    let from = prop_oneof![Just(Role::Client), Just(Role::Server)];
    proptest::collection::vec((from, any_raw()), 1..6)
}

proptest! {
    /// Every frame comes back to the byte, however the reads are split, with or without the last LF; a cut last line is
    /// told and left out.
    #[test]
    fn frames_are_read_as_they_were(frames in any_frames(), capacity in 1usize..200, cut in any::<proptest::sample::Index>()) {
        let lines: Vec<String> = frames.iter().map(|(from, raw)| line(*from, raw)).collect();
        let file = lines.join("\n");
        let expected: Vec<(u64, Role, Vec<u8>)> = frames
            .into_iter().zip(1..).map(|((from, raw), number)| (number, from, raw)).collect();
        let cut = lines[lines.len() - 1].len() - 1 - cut.index(lines[lines.len() - 1].len() - 1);
        let short = &file[..file.floor_char_boundary(file.len() - cut)];
        for (text, count, is_cut) in [
            (&*file, lines.len(), false),
            (&*(file.clone() + "\n"), lines.len(), false),
            (short, lines.len() - 1, !short.ends_with('\n')),
        ] {
            let input = BufReader::with_capacity(capacity, text.as_bytes());
            let mut reader = CaptureReader::new(input).expect("memory does not fail");
            let mut found = vec![];
            while let Some(line) = reader.next_line().expect("all lines are good") {
                let CaptureWhat::Frame(frame) = line.what else { panic!("a frame") };
                found.push((line.line, frame.from, frame.raw.to_vec()));
            }
            prop_assert_eq!(&found, &expected[..count]);
            prop_assert_eq!(reader.is_cut(), is_cut);
        }
    }

    /// Any bytes, and any change of good ones, give lines and errors; split reads give the same as the whole.
    #[test]
    fn no_bytes_make_the_reader_panic(
        noise in proptest::collection::vec(any::<u8>(), 0..200),
        frames in any_frames(),
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..4),
        capacity in 1usize..40,
    ) {
        let mut file: Vec<u8> = vec![];
        for (from, raw) in &frames {
            file.extend_from_slice(line(*from, &raw[..raw.len().min(100)]).as_bytes());
            file.push(b'\n');
        }
        file.extend_from_slice(&noise);
        for (at, byte) in changes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        for bytes in [&noise, &file] {
            let whole = read(bytes, 4096);
            prop_assert_eq!(&read(bytes, capacity), &whole);
            let _ = opened(bytes);
        }
    }
}
