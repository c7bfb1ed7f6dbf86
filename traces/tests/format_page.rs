//! The examples on the format's page are what it says they are.

use mcpsim_traces::capture::EventKind;
use mcpsim_traces::file::{FORMAT_VERSION, OwnedWhat};
use mcpsim_traces::sniff::Log;

const PAGE: &str = include_str!("../../docs/trace-format.md");

/// The code blocks whose first line is that.
fn blocks(opening: &str) -> Vec<&'static str> {
    let fence = format!("```{opening}\n");
    let starts = PAGE.match_indices(&fence);
    let block = |(at, _): (usize, &str)| {
        let rest = &PAGE[at + fence.len()..];
        &rest[..rest.find("```").expect("a block ends")]
    };
    starts.map(block).collect()
}

#[test]
fn the_trace_on_the_page_is_a_whole_trace_with_every_kind_of_line() {
    let blocks = blocks("jsonl trace");
    assert_eq!(blocks.len(), 1);
    let Log::Trace(mut reader) = Log::open(blocks[0].as_bytes()).expect("a log") else {
        panic!("the page calls it a trace");
    };
    let events: Result<Vec<_>, _> = reader.by_ref().collect();
    let events = events.expect("every line is good");
    let end = reader.end().expect("it has a closing line");
    assert_eq!(end.findings.len(), 1);
    assert_eq!(end.events, reader.events());
    assert!(
        !reader.is_altered(),
        "its digest is {:032x}",
        reader.digest()
    );
    let kinds = [
        events
            .iter()
            .any(|event| matches!(event.what, OwnedWhat::Open { .. })),
        events
            .iter()
            .any(|event| matches!(event.what, OwnedWhat::Send { .. })),
        events
            .iter()
            .any(|event| matches!(event.what, OwnedWhat::Recv { .. })),
        events
            .iter()
            .any(|event| matches!(event.what, OwnedWhat::Choice(_))),
        events
            .iter()
            .any(|event| matches!(event.what, OwnedWhat::Fault { .. })),
        events
            .iter()
            .any(|event| matches!(event.what, OwnedWhat::Lost { .. })),
        events
            .iter()
            .any(|event| matches!(event.what, OwnedWhat::ExchangeLost { .. })),
        events
            .iter()
            .any(|event| matches!(event.what, OwnedWhat::Broken { .. })),
        events
            .iter()
            .any(|event| matches!(event.what, OwnedWhat::Resumed { .. })),
        events
            .iter()
            .any(|event| matches!(event.what, OwnedWhat::Forgotten { .. })),
        events
            .iter()
            .any(|event| matches!(event.what, OwnedWhat::Stderr { .. })),
        events
            .iter()
            .any(|event| matches!(event.what, OwnedWhat::Blocked { .. })),
        events
            .iter()
            .any(|event| matches!(event.what, OwnedWhat::Unblocked { .. })),
        events
            .iter()
            .any(|event| matches!(event.what, OwnedWhat::Timer { .. })),
        events
            .iter()
            .any(|event| matches!(event.what, OwnedWhat::Own { .. })),
        events
            .iter()
            .any(|event| matches!(event.what, OwnedWhat::Close { .. })),
        events
            .iter()
            .any(|event| matches!(event.what, OwnedWhat::Closed { .. })),
        events
            .iter()
            .any(|event| matches!(event.what, OwnedWhat::Exit { .. })),
        events
            .iter()
            .any(|event| matches!(event.what, OwnedWhat::Calm)),
        events
            .iter()
            .any(|event| matches!(event.what, OwnedWhat::Quiet)),
        events
            .iter()
            .any(|event| matches!(event.what, OwnedWhat::Note(_))),
    ];
    assert_eq!(kinds, [true; 21]);
    assert!(PAGE.contains(&format!("describes format {FORMAT_VERSION} of traces")));
}

#[test]
fn the_captures_on_the_page_are_captures() {
    let blocks = blocks("jsonl capture");
    assert_eq!(blocks.len(), 3);
    for block in blocks {
        let Log::Capture(mut reader) = Log::open(block.as_bytes()).expect("a log") else {
            panic!("the page calls it a capture");
        };
        let mut lines = 0;
        while reader.next_line().expect("every line is good").is_some() {
            lines += 1;
        }
        assert_eq!(lines, block.lines().count());
    }
}

#[test]
fn the_page_names_every_format_and_event() {
    for kind in EventKind::ALL {
        assert!(
            PAGE.contains(&format!("`{}`", kind.as_str())),
            "{}",
            kind.as_str()
        );
    }
    for format in ["trace", "capture"] {
        assert!(PAGE.contains(&format!("**{format}**")));
    }
}
