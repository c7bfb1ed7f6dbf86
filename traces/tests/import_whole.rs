//! Logs that are one JSON document, as recordings.

use mcpsim_traces::capture::CaptureWhat;
use mcpsim_traces::event::Role;
use mcpsim_traces::lost::Lost;
use mcpsim_traces::recording::Recording;
use mcpsim_traces::sniff::Log;
use proptest::prelude::*;

const CASSETTE: &[u8] = include_bytes!("logs/mcp-cassette.json");
const CASSETTE_REAL: &[u8] = include_bytes!("logs/mcp-cassette-real.json");
const PROTOCOL: &[u8] = include_bytes!("logs/inspector-protocol.json");
const DEBUGGER: &[u8] = include_bytes!("logs/mcp-debugger-real.json");

fn open(bytes: &[u8]) -> Result<Box<dyn Recording>, String> {
    match Log::open(std::io::Cursor::new(bytes.to_vec())) {
        Ok(Log::Import(recording)) => Ok(recording),
        Ok(_) => Err("no log of another program".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Frames from the client, from the server, and their times. Each stands where its origin says.
fn frames(bytes: &[u8], recording: &mut dyn Recording) -> (usize, usize, Vec<Option<u64>>) {
    let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    let (mut client, mut server, mut times) = (0, 0, vec![]);
    while let Some(line) = recording.next_line().expect("readable") {
        let CaptureWhat::Frame(frame) = &line.what else {
            continue;
        };
        match frame.from {
            Role::Client => client += 1,
            Role::Server => server += 1,
        }
        times.push(line.t_ms);
        let origin = line.origin.expect("an origin");
        let last = frame.raw.len() - 1;
        let (below, column) = origin.place(frame.raw, last);
        let stands = lines[(line.line + below) as usize - 1][column as usize - 1];
        assert_eq!(stands, frame.raw[last]);
        assert!(frame.is_laid_out && line.session.is_none() && line.stream.is_none());
    }
    (client, server, times)
}

#[test]
fn a_cassette_is_read_with_its_times() {
    let mut recording = open(CASSETTE).expect("a cassette");
    assert_eq!(recording.format(), "mcp-cassette");
    let (client, server, times) = frames(CASSETTE, &mut *recording);
    assert_eq!((client, server), (6, 7));
    let expected = [0, 14, 16, 20, 27, 31, 33, 420, 455, 467, 502, 900, 901];
    assert_eq!(times, expected.map(Some));
    assert_eq!(recording.lost(), Lost::RAW | Lost::LINES);
}

#[test]
fn what_a_cassette_redacted_is_lost() {
    let mut recording = open(CASSETTE_REAL).expect("a cassette");
    let (client, server, _) = frames(CASSETTE_REAL, &mut *recording);
    assert_eq!((client, server), (8, 13));
    assert!(recording.lost().has(Lost::PAYLOAD));
    assert_eq!(
        recording.remarks(),
        ["frames that the recorder redacted: 4"]
    );
}

/// Responses stand in their requests, and come back to their own place.
#[test]
fn folded_responses_come_when_they_came() {
    let mut recording = open(PROTOCOL).expect("an export");
    assert_eq!(recording.format(), "inspector-protocol");
    let (client, server, times) = frames(PROTOCOL, &mut *recording);
    assert_eq!((client, server), (6, 7));
    let begin = times[0].expect("a time");
    let times: Vec<u64> = times.iter().flatten().map(|ms| ms - begin).collect();
    let expected = [0, 14, 16, 20, 27, 31, 33, 420, 455, 467, 502, 900, 901];
    assert_eq!(times, expected);
    assert_eq!(recording.lost(), Lost::RAW | Lost::LINES);
}

/// Old exports do not say who sent a message: that is concluded, and said.
#[test]
fn an_export_without_origins_says_what_was_guessed() {
    let text = String::from_utf8_lossy(PROTOCOL);
    let old = text
        .replace("\"origin\": \"client\",", "")
        .replace("\"origin\": \"server\",", "");
    let mut recording = open(old.as_bytes()).expect("an export");
    let (client, server, _) = frames(old.as_bytes(), &mut *recording);
    assert_eq!((client, server), (6, 7));
    assert!(recording.lost().has(Lost::DIRECTION));
    assert_eq!(recording.guessed().len(), 2);
}

#[test]
fn an_old_log_of_claude_code_is_refused_with_a_hint() {
    let log = "[\n {\n  \"debug\": \"Closing transport\",\n  \"timestamp\": \"2026-03-04T09:15:31.500Z\",\n  \
               \"sessionId\": \"1\",\n  \"cwd\": \"/srv\"\n }\n]\n";
    let error = open(log.as_bytes()).err().expect("refused");
    assert!(error.contains("Claude Code") && error.contains("put a recorder"));
}

#[test]
fn an_export_without_ids_is_refused() {
    let error = open(DEBUGGER).err().expect("refused");
    assert!(error.contains("mcp-debugger") && error.contains("leaves out the ids"));
}

#[test]
fn a_broken_document_is_told_with_its_place() {
    let text = String::from_utf8_lossy(CASSETTE);
    let at = text.find("\"sender\"").expect("there");
    let broken = format!("{}?{}", &text[..at], &text[at..]);
    let line = text[..at].lines().count();
    let error = open(broken.as_bytes()).err().expect("broken");
    let place = format!("{line}:7: not JSON: unexpected character");
    assert!(error.starts_with(&place), "{error}");
    let error = open(&CASSETTE[..at]).err().expect("cut");
    assert!(error.contains("ends in the middle of a value"), "{error}");
}

proptest! {
    /// Whatever is cut off or changed: an answer, and no panic.
    #[test]
    fn mangled_documents_do_no_harm(end in 0..CASSETTE.len(), at in 0..CASSETTE.len(), byte: u8) {
        let mut bytes = CASSETTE.to_vec();
        bytes[at] = byte;
        for bytes in [&bytes[..], &bytes[..end]] {
            if let Ok(mut recording) = open(bytes) {
                while let Ok(Some(_)) = recording.next_line() {}
            }
        }
    }
}
