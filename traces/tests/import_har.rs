//! Documents of HTTP exchanges, as recordings.

use std::io::Cursor;

use mcpsim_traces::capture::CaptureWhat;
use mcpsim_traces::event::Role;
use mcpsim_traces::lost::Lost;
use mcpsim_traces::recording::Recording;
use mcpsim_traces::sniff::Log;
use proptest::prelude::*;

const HAR: &str = include_str!("logs/http.har");
const HAR_REAL: &str = include_str!("logs/http-real.har");
const NETWORK: &str = include_str!("logs/inspector-network.json");

fn open(text: impl AsRef<[u8]>) -> Result<Box<dyn Recording>, String> {
    match Log::open(Cursor::new(text.as_ref().to_vec())) {
        Ok(Log::Import(recording)) => Ok(recording),
        Ok(_) => Err("no log of another program".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Each frame: who sent it, on which stream, and what it says.
fn frames(recording: &mut dyn Recording) -> Vec<(Role, String, String)> {
    let mut frames = vec![];
    while let Some(line) = recording.next_line().expect("readable") {
        if let CaptureWhat::Frame(frame) = &line.what {
            let text = String::from_utf8_lossy(frame.raw).into_owned();
            let stream = line.stream.as_deref().unwrap_or_default();
            frames.push((frame.from, stream.to_owned(), text));
        }
    }
    frames
}

fn counts(frames: &[(Role, String, String)]) -> (usize, usize) {
    let of_client = frames.iter().filter(|(from, ..)| *from == Role::Client);
    let client = of_client.count();
    (client, frames.len() - client)
}

/// The server's request comes from the stream of the GET, right before the client's answer to it.
#[test]
fn an_archive_comes_back_into_an_order() {
    let mut recording = open(HAR).expect("an archive");
    assert_eq!(recording.format(), "har");
    let frames = frames(&mut *recording);
    assert_eq!(counts(&frames), (6, 7));
    let streams: Vec<&str> = frames.iter().map(|(_, stream, _)| &**stream).collect();
    let expected = [
        "1", "1", "2", "4", "4", "3", "5", "6", "6", "6", "6", "7", "7",
    ];
    assert_eq!(streams, expected);
    assert!(frames[5].2.contains("roots/list"));
    assert!(frames[9].2.contains("half way – 1 l"));
    assert!(frames[7].2.contains("\"litres\":2.0"));
    let lost = Lost::TIME | Lost::STREAMS | Lost::EVENT_IDS;
    assert_eq!(recording.lost(), lost);
}

/// Its exchanges do not overlap, but for a GET without frames; its text was read as Latin-1.
#[test]
fn an_archive_of_mitmproxy_is_put_right() {
    let mut recording = open(HAR_REAL).expect("an archive");
    let frames = frames(&mut *recording);
    assert_eq!(counts(&frames), (6, 5));
    assert!(
        frames[1]
            .2
            .contains("Everything Server – Server Instructions")
    );
    assert_eq!(recording.lost(), Lost::TIME);
    assert_eq!(recording.guessed().len(), 1);
}

#[test]
fn an_export_of_the_network_screen_is_read() {
    let mut recording = open(NETWORK).expect("an export");
    assert_eq!(recording.format(), "inspector-network");
    assert_eq!(counts(&frames(&mut *recording)), (6, 6));
    assert!(recording.lost().has(Lost::FRAMES | Lost::EVENT_IDS));
}

/// One exchange with that answer.
fn archive(request: &str, content: &str) -> String {
    format!(
        "{{\"log\":{{\"creator\":{{\"name\":\"x\"}},\"entries\":[{{\"startedDateTime\":\"2026-03-04T09:15:00Z\",\"time\":1.5,\
         \"request\":{{\"method\":\"POST\",\"url\":\"http://h/mcp\",\"headers\":[],\"bodySize\":9,{request}}},\
         \"response\":{{\"status\":200,\"headers\":[],\"content\":{content}}}}}]}}}}"
    )
}

const PING: &str = r#""postData":{"text":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"}"#;

#[test]
fn bodies_in_base64_are_decoded() {
    let content = r#"{"size":38,"mimeType":"application/json","encoding":"base64","text":"eyJqc29ucnBjIjoiMi4wIiwiaWQiOjEsInJlc3VsdCI6e319"}"#;
    let frames = frames(&mut *open(archive(PING, content)).expect("an archive"));
    assert_eq!(frames[1].2, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
}

#[test]
fn data_of_several_lines_is_one_frame() {
    let content = r#"{"mimeType":"text/event-stream","text":"data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":1,\"result\":{}}\n\n"}"#;
    let frames = frames(&mut *open(archive(PING, content)).expect("an archive"));
    assert_eq!(
        frames[1].2,
        "{\"jsonrpc\":\"2.0\",\n\"id\":1,\"result\":{}}"
    );
}

/// What the recorder left out is lost, and nobody's fault.
#[test]
fn bodies_that_are_not_there_are_said() {
    for content in [
        r#"{"size":38,"mimeType":"application/json"}"#,
        r#"{"size":38,"mimeType":"text/event-stream","text":"data: {\"jsonrpc\":"}"#,
    ] {
        let mut recording = open(archive(PING, content)).expect("an archive");
        assert_eq!(counts(&frames(&mut *recording)), (1, 0));
        assert!(recording.lost().has(Lost::FRAMES));
        assert_eq!(recording.remarks(), ["one body was cut by the recorder"]);
    }
}

#[test]
fn what_is_no_mcp_is_refused_or_passed_over() {
    let error = open(archive("\"comment\":\"\"", "{}")).err();
    assert!(error.expect("refused").contains("no exchange in it"));
    let other = HAR.replacen("http://localhost:3000/mcp", "http://localhost:3000/page", 7);
    let other = other.replacen("/page", "/mcp", 6);
    let error = open(HAR.replace("hand-made", "mcpsnoop")).err();
    assert!(error.expect("refused").contains("JSON Lines"));
    assert_eq!(
        counts(&frames(&mut *open(other).expect("two addresses"))),
        (6, 7)
    );
}

#[test]
fn broken_archives_are_told_with_their_place() {
    for (broken, place) in [
        (HAR.replacen("\"POST\"", "?", 1), "14:16: "),
        (
            HAR.replacen("\"startedDateTime\"", "\"x\":[}", 1),
            "11:10: ",
        ),
        ("{\"log\":{\"entries\":7}}".to_owned(), "1:19: "),
        ("{\"log\":{\"entries\":[\n3]}}".to_owned(), "2:1: "),
        (
            "{\"log\":{\"entries\":[{\"request\":[]}]}}".to_owned(),
            "1:31: ",
        ),
    ] {
        let error = open(&broken).err().expect("broken");
        assert!(error.starts_with(place), "{place}{error}");
    }
}

/// Many entries, and deep ones, take time in proportion.
#[test]
fn large_archives_are_read() {
    let start = HAR.find("\"entries\": [").expect("entries") + 12;
    let end = HAR.rfind("]\n }").expect("the end");
    let entries = &HAR[start..end];
    let many = vec![entries; 3000].join(",");
    let deep = format!("{{\"x\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let text = format!("{}{many}{}", &HAR[..start], &HAR[end..]);
    let text = text.replacen("\"cache\": {}", &format!("\"cache\": {deep}"), 1);
    assert_eq!(frames(&mut *open(text).expect("an archive")).len(), 39_000);
}

proptest! {
    /// Whatever is cut off or changed: an answer, and no panic.
    #[test]
    fn mangled_archives_do_no_harm(end in 0..HAR.len(), at in 0..HAR.len(), byte: u8) {
        let mut bytes = HAR.as_bytes().to_vec();
        bytes[at] = byte;
        for bytes in [&bytes[..], &bytes[..end]] {
            if let Ok(mut recording) = open(bytes) {
                while let Ok(Some(_)) = recording.next_line() {}
            }
        }
    }
}
