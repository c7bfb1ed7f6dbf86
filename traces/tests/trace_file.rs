//! The trace file from outside: write-read is the identity, every unusable line has its place, a cut file reads up to the cut.

use std::borrow::Cow;
use std::io::BufReader;

use mcpsim_traces::event::{
    Choice, Event, Fault, FrameText, Label, LinkId, LinkKind, Origin, PartyId, Pipe, Role, Sink,
    Site, Told, What,
};
use mcpsim_traces::file::{
    End, EndFinding, Header, Link, OwnedEvent, OwnedWhat, Party, PartyRole, TraceReader,
    TraceWriter,
};
use mcpsim_traces::http::{Field, Head, Http, Sse, Start};
use mcpsim_traces::judge::{Blame, Verdict};
use mcpsim_traces::lines::{InputError, ReadError};
use mcpsim_traces::message::{Kind, Message};
use mcpsim_traces::render::Spellings;
use proptest::prelude::*;

fn header() -> Header {
    let party = |name: &str, role| Party {
        name: name.into(),
        role,
    };
    let link = |client, server| Link {
        kind: LinkKind::Http,
        client: PartyId(client),
        server: PartyId(server),
    };
    Header {
        generator: Some("chacha8".into()),
        seed: Some(7),
        parties: vec![
            party("client", PartyRole::Client),
            party("gateway", PartyRole::Gateway),
            party("server", PartyRole::Server),
        ],
        links: vec![link(0, 1), link(1, 2)],
        ..Header::new("mcpsim 0.1.0")
    }
}

/// Writes events; a send's slips are leaked, since the program's own are static.
fn write(events: &[(u64, OwnedWhat)], findings: &[EndFinding]) -> Vec<u8> {
    let (message, spellings) = (Message::malformed(Default::default()), Spellings::default());
    let mut writer = TraceWriter::new(vec![], &header());
    for (at_ms, what) in events {
        let what = match what {
            OwnedWhat::Open { link } => What::Open { link: *link },
            OwnedWhat::Send {
                frame,
                link,
                from,
                stream,
                origin,
                raw,
                http,
                slips,
            } => What::Send {
                frame: *frame,
                link: *link,
                from: *from,
                stream: *stream,
                origin: *origin,
                text: FrameText {
                    message: &message,
                    raw: Some(raw),
                    spellings: &spellings,
                },
                http: http.as_deref(),
                slips: leak(slips),
            },
            OwnedWhat::Recv { frame, link, to } => What::Recv {
                frame: *frame,
                link: *link,
                to: *to,
            },
            OwnedWhat::Fault {
                fault,
                frame,
                link,
                party,
                forbidden,
            } => What::Fault {
                fault: *fault,
                frame: *frame,
                link: *link,
                party: *party,
                forbidden: *forbidden,
            },
            OwnedWhat::Lost {
                frame,
                link,
                to,
                told,
                forbidden,
            } => What::Lost {
                frame: *frame,
                link: *link,
                to: *to,
                told: *told,
                forbidden: *forbidden,
            },
            OwnedWhat::ExchangeLost {
                frame,
                link,
                forbidden,
            } => What::ExchangeLost {
                frame: *frame,
                link: *link,
                forbidden: *forbidden,
            },
            OwnedWhat::Broken { stream, link } => What::Broken {
                stream: *stream,
                link: *link,
            },
            OwnedWhat::Resumed { stream, link } => What::Resumed {
                stream: *stream,
                link: *link,
            },
            OwnedWhat::Forgotten { frame, link } => What::Forgotten {
                frame: *frame,
                link: *link,
            },
            OwnedWhat::Stderr { link, text } => What::Stderr { link: *link, text },
            OwnedWhat::Blocked { link, on } => What::Blocked {
                link: *link,
                on: *on,
            },
            OwnedWhat::Unblocked { link, on } => What::Unblocked {
                link: *link,
                on: *on,
            },
            OwnedWhat::Closed { link, to } => What::Closed {
                link: *link,
                to: *to,
            },
            OwnedWhat::Timer { party, tag } => What::Timer {
                party: *party,
                tag: *tag,
            },
            OwnedWhat::Own { party, tag } => What::Own {
                party: *party,
                tag: *tag,
            },
            OwnedWhat::Close { link, by } => What::Close {
                link: *link,
                by: *by,
            },
            OwnedWhat::Exit { party } => What::Exit { party: *party },
            OwnedWhat::Calm => What::Calm,
            OwnedWhat::Quiet => What::Quiet,
            OwnedWhat::Choice(choice) => What::Choice(*choice),
            OwnedWhat::Note(text) => What::Note(text),
        };
        writer.event(&Event {
            at_ms: *at_ms,
            what,
        });
    }
    writer.finish(findings).expect("memory takes all").out
}

fn leak(slips: &[String]) -> &'static [&'static str] {
    let slips: Vec<&'static str> = slips.iter().map(|slip| &*slip.clone().leak()).collect();
    slips.leak()
}

struct Whole {
    events: Vec<OwnedEvent>,
    errors: Vec<InputError>,
    end: Option<End>,
    cut: bool,
    altered: bool,
}

fn read(file: &[u8], capacity: usize) -> Result<Whole, InputError> {
    let input = BufReader::with_capacity(capacity, file);
    let mut reader = TraceReader::new(input).map_err(input_error)?;
    let (mut events, mut errors) = (vec![], vec![]);
    for item in &mut reader {
        match item {
            Ok(event) => events.push(event),
            Err(error) => errors.push(input_error(error)),
        }
    }
    Ok(Whole {
        events,
        errors,
        end: reader.end().cloned(),
        cut: reader.is_cut(),
        altered: reader.is_altered(),
    })
}

fn input_error(error: ReadError) -> InputError {
    match error {
        ReadError::Input(error) => error,
        ReadError::Io(error) => panic!("memory does not fail: {error}"),
    }
}

fn any_role() -> impl Strategy<Value = Role> {
    prop_oneof![Just(Role::Client), Just(Role::Server)]
}

fn any_label() -> impl Strategy<Value = Label> {
    let party = any::<u8>().prop_map(PartyId);
    let kind = prop_oneof![
        Just(Kind::Request),
        Just(Kind::Malformed),
        Just(Kind::Error)
    ];
    prop_oneof![
        (any::<u8>(), any_role(), kind, any::<(u8, u16, u16)>()).prop_map(
            |(link, to, kind, (party, step, nth))| Label::Frame {
                link: LinkId(link),
                to,
                kind,
                origin: Origin {
                    party: PartyId(party),
                    step
                },
                nth
            }
        ),
        (party.clone(), any::<u32>()).prop_map(|(party, tag)| Label::Own { party, tag }),
        (party, any::<u32>()).prop_map(|(party, tag)| Label::Timer { party, tag }),
        (0u8..=5).prop_map(Label::Fault),
        any::<u32>().prop_map(Label::Number),
    ]
}

/// Bytes of frames: arbitrary ones, text with what JSON and terminals care about, and now and then long ones.
fn any_raw() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..80),
        any::<String>().prop_map(String::into_bytes),
        "[\\x00-\\x7f]{0,60}".prop_map(String::into_bytes),
        "(\\\\ud8[0-9a-f]{2}|\\\\|\"|\u{202e}|\u{9b}|\u{e0041}|\u{feff}|🎉|\u{10ffff}|\n|a){0,30}"
            .prop_map(String::into_bytes),
        // Half pairs as bytes, which are not UTF-8.
        Just(b"{\"a\":\"\xED\xA0\x80\"}".to_vec()),
        (any::<u8>(), 60_000usize..140_000).prop_map(|(byte, length)| vec![byte; length]),
    ]
}

type AnyHttp = Option<Box<Http<'static>>>;

/// What HTTP tells beside a frame of a client, and of a server. Values of one name stand together.
fn any_http() -> impl Strategy<Value = (AnyHttp, AnyHttp)> {
    let text = || any::<String>().prop_map(Cow::Owned);
    let fields = proptest::collection::btree_map(
        "[a-z\\x00-\\x1f\"é]{0,6}",
        proptest::collection::vec(text(), 1..3),
        0..4,
    );
    let fields = fields.prop_map(|fields| {
        let field = |(name, values): (String, Vec<Cow<'static, str>>)| {
            let name = Cow::Owned(name);
            let one = move |value| Field {
                name: Cow::clone(&name),
                value,
            };
            values.into_iter().map(one).collect::<Vec<_>>()
        };
        fields.into_iter().flat_map(field).collect()
    });
    let parts = (
        proptest::option::of((text(), proptest::option::of(text()), any::<u16>())),
        proptest::option::of(fields),
        proptest::option::of(text()),
        proptest::option::of(text()),
        proptest::option::of(any::<u64>()),
    );
    parts.prop_map(|(start, fields, id, event, retry_ms)| {
        let sse = Sse {
            id,
            event,
            retry_ms,
        };
        let http = |start: Option<Start<'static>>| {
            let fields = fields.clone();
            let head = start.map(|start| Head { start, fields });
            let http = Http {
                head,
                sse: sse.clone(),
            };
            (!http.is_empty()).then(|| Box::new(http))
        };
        let request = |(method, target, _)| Start::Request { method, target };
        (
            http(start.clone().map(request)),
            http(start.map(|(_, _, status)| Start::Answer { status })),
        )
    })
}

fn any_what() -> impl Strategy<Value = OwnedWhat> {
    let link = || (0u8..2).prop_map(LinkId);
    let party = || (0u8..3).prop_map(PartyId);
    let slips = proptest::collection::vec(any::<String>(), 0..3);
    let send = (
        (1u32.., link(), any_role(), any::<u32>()),
        any::<(u8, u16)>(),
        any_raw(),
        slips,
        any_http(),
    );
    prop_oneof![
        6 => send.prop_map(|((frame, link, from, stream), (party, step), raw, slips, (client, server))| {
            let origin = Origin { party: PartyId(party), step };
            let http = if from == Role::Client { client } else { server };
            OwnedWhat::Send { frame, link, from, stream, origin, raw, http, slips }
        }),
        3 => (1u32.., link(), any_role())
            .prop_map(|(frame, link, to)| OwnedWhat::Recv { frame, link, to }),
        3 => (proptest::sample::select(&Site::ALL[..]), any::<u32>(), 1u32.., any_label())
            .prop_map(|(site, answer, bound, label)| {
                OwnedWhat::Choice(Choice { site, bound, answer: answer % bound, label })
            }),
        1 => (proptest::sample::select(&Fault::ALL[..]), any::<u32>(), link(), party(), any::<bool>())
            .prop_map(|(fault, frame, link, party, forbidden)| {
                OwnedWhat::Fault { fault, frame, link, party, forbidden }
            }),
        1 => (1u32.., link(), any_role(), proptest::sample::select(&Told::ALL[..]), any::<bool>())
            .prop_map(|(frame, link, to, told, forbidden)| {
                OwnedWhat::Lost { frame, link, to, told, forbidden }
            }),
        1 => (1u32.., link(), any::<bool>())
            .prop_map(|(frame, link, forbidden)| OwnedWhat::ExchangeLost { frame, link, forbidden }),
        1 => (any::<u32>(), link()).prop_map(|(stream, link)| OwnedWhat::Broken { stream, link }),
        1 => (any::<u32>(), link()).prop_map(|(stream, link)| OwnedWhat::Resumed { stream, link }),
        1 => (1u32.., link()).prop_map(|(frame, link)| OwnedWhat::Forgotten { frame, link }),
        1 => (link(), any::<String>()).prop_map(|(link, text)| OwnedWhat::Stderr { link, text }),
        1 => (link(), proptest::sample::select(&Pipe::ALL[..]), any::<bool>()).prop_map(|(link, on, is_full)| match is_full {
            true => OwnedWhat::Blocked { link, on },
            false => OwnedWhat::Unblocked { link, on },
        }),
        1 => (link(), any_role()).prop_map(|(link, to)| OwnedWhat::Closed { link, to }),
        1 => (party(), any::<u32>()).prop_map(|(party, tag)| OwnedWhat::Timer { party, tag }),
        1 => (party(), any::<u32>()).prop_map(|(party, tag)| OwnedWhat::Own { party, tag }),
        1 => (link(), any_role()).prop_map(|(link, by)| OwnedWhat::Close { link, by }),
        1 => link().prop_map(|link| OwnedWhat::Open { link }),
        1 => party().prop_map(|party| OwnedWhat::Exit { party }),
        1 => prop_oneof![Just(OwnedWhat::Calm), Just(OwnedWhat::Quiet)],
        1 => any::<String>().prop_map(OwnedWhat::Note),
    ]
}

fn any_events() -> impl Strategy<Value = Vec<(u64, OwnedWhat)>> {
    let at_ms = prop_oneof![0u64..3, any::<u64>()];
    proptest::collection::vec((at_ms, any_what()), 0..12)
}

fn any_findings() -> impl Strategy<Value = Vec<EndFinding>> {
    let blame = prop_oneof![Just(Blame::Client), Just(Blame::Harness), Just(Blame::None)];
    let verdict = prop_oneof![Just(Verdict::Broken), Just(Verdict::Unsure)];
    let finding = (any::<String>(), blame, verdict);
    let finding = finding.prop_map(|(rule, blame, verdict)| EndFinding {
        rule,
        blame,
        verdict,
    });
    proptest::collection::vec(finding, 0..3)
}

proptest! {
    /// What is written is read, to the byte, however the reads are split; and the digest holds.
    #[test]
    fn written_and_read_is_the_same(events in any_events(), findings in any_findings(), capacity in 1usize..100) {
        let file = write(&events, &findings);
        prop_assert!(std::str::from_utf8(&file).is_ok());
        let whole = read(&file, capacity).expect("a header");
        prop_assert_eq!(whole.errors, []);
        let found: Vec<_> = whole.events.iter().map(|event| (event.at_ms, event.what.clone())).collect();
        prop_assert_eq!(&found, &events);
        let lines: Vec<u64> = whole.events.iter().map(|event| event.line).collect();
        prop_assert_eq!(lines, (2..events.len() as u64 + 2).collect::<Vec<_>>());
        let end = whole.end.expect("a closing line");
        prop_assert_eq!((end.events, end.findings), (events.len() as u64, findings));
        prop_assert!(!whole.cut && !whole.altered);
        // The same events, the same bytes.
        let again: Vec<_> = found;
        prop_assert_eq!(write(&again, &read(&file, 64).expect("a header").end.expect("an end").findings), file);
    }

    /// Cut anywhere, the file gives the events of its whole lines and no error.
    #[test]
    fn a_cut_file_reads_up_to_the_cut(events in any_events(), at in any::<proptest::sample::Index>(), zeros in 0usize..3) {
        let file = write(&events, &[]);
        let cut = at.index(file.len());
        let mut left = file[..cut].to_vec();
        let header_end = file.iter().position(|&byte| byte == b'\n').expect("a header");
        if cut < header_end {
            let error = read(&left, 64).err().expect("no whole header");
            let message = if cut == 0 { "an empty file is no trace" } else { "the file ends inside the header" };
            prop_assert_eq!((error.line, error.column, &*error.message), (1, cut as u64 + 1, message));
            return Ok(());
        }
        let whole_lines = left.iter().filter(|&&byte| byte == b'\n').count();
        let after = &left[left.iter().rposition(|&byte| byte == b'\n').map_or(0, |lf| lf + 1)..];
        // A line that only lacks its LF is whole.
        let complete = after.ends_with(b"}") && file[cut] == b'\n';
        let cut_inside = !after.is_empty() && !complete;
        if cut_inside {
            left.extend(vec![0; zeros]);
        }
        let whole = read(&left, 64).expect("a header");
        prop_assert_eq!(whole.errors, []);
        prop_assert_eq!(whole.cut, cut_inside);
        let expected = (whole_lines + usize::from(complete)).saturating_sub(1).min(events.len());
        prop_assert_eq!(whole.events.len(), expected);
        prop_assert!(!whole.altered);
    }

    /// Any bytes and any change of a good file give events and errors, never a panic; the digest tells of the change.
    #[test]
    fn no_bytes_make_the_reader_panic(
        noise in proptest::collection::vec(any::<u8>(), 0..200),
        events in any_events(),
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..4),
        capacity in 1usize..40,
    ) {
        let _ = read(&noise, capacity);
        let mut file = write(&events, &[]);
        let mut with_noise = file.clone();
        with_noise.extend_from_slice(&noise);
        let _ = read(&with_noise, capacity);
        let before = file.clone();
        for (at, byte) in changes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        let Ok(whole) = read(&file, capacity) else { return Ok(()) };
        let lines = file.iter().filter(|&&byte| byte == b'\n').count() as u64;
        for error in &whole.errors {
            prop_assert!(error.line >= 1 && error.line <= lines + 1 && error.column >= 1);
        }
        let body = |file: &[u8]| file.split(|&byte| byte == b'\n').skip(1).map(<[u8]>::to_vec).collect::<Vec<_>>();
        let count = events.len();
        if whole.end.is_some() && whole.errors.is_empty() && body(&file)[..count] != body(&before)[..count] {
            prop_assert!(whole.altered);
        }
    }
}

/// Ten megabytes in one frame, with what makes escapes long.
#[test]
fn a_huge_frame_is_kept() {
    let mut raw = b"\"\\\x00\x1b\xE2\x80\xAE".repeat(1_500_000);
    for _ in 0..2 {
        let send = OwnedWhat::Send {
            frame: 1,
            link: LinkId(0),
            from: Role::Client,
            stream: 0,
            origin: Origin::default(),
            raw: raw.clone(),
            http: None,
            slips: vec![],
        };
        let file = write(&[(0, send.clone())], &[]);
        let whole = read(&file, 4096).expect("a header");
        assert!(whole.errors.is_empty());
        assert!(whole.events[0].what == send);
        raw[77] = 0xFF;
    }
}

/// Every message of the reader, each with its place.
#[test]
fn what_is_wrong_with_an_event_has_its_place() {
    let send = r#"{"t":1,"send":3,"link":0,"from":"client","stream":0,"origin":"0.2","raw":"x"}"#;
    let choice = r#"{"choice":"next","of":4,"took":1,"label":"number/1"}"#;
    let end = r#"{"end":{"events":0,"digest":"00000000000000000000000000000000","findings":[{"rule":"r","blame":"client","verdict":"broken"}]}}"#;
    // A good line, what of it is replaced by what, the text at whose last occurrence the error stands, the message.
    let cases: [(&str, &str, &str, &str, &str); 56] = [
        (send, send, "", "", "a blank line is no event"),
        (
            send,
            send,
            "hello",
            "hello",
            "not JSON: unexpected character",
        ),
        (send, send, "[1]", "[1]", "an object was expected, not [1]"),
        (
            send,
            send,
            "{\"t\":1}",
            "{",
            "the line has none of send, recv, choice, open, close, closed, exit, fault, lost, exchange_lost, broken, resumed, forgotten, stderr, blocked, unblocked, timer, own, calm, quiet, note, end",
        ),
        (
            send,
            "\"send\"",
            "\"sent\"",
            "{",
            "the line has none of send, recv, choice, open, close, closed, exit, fault, lost, exchange_lost, broken, resumed, forgotten, stderr, blocked, unblocked, timer, own, calm, quiet, note, end",
        ),
        (
            send,
            "\"raw\":\"x\"}",
            "\"raw\":\"x\"",
            "",
            "not JSON: ends in the middle of a value",
        ),
        (
            send,
            "\"raw\":\"x\"}",
            "\"raw\":\"x\"} 5",
            "5",
            "something stands after the JSON object",
        ),
        (
            send,
            "\"x\"",
            "\"a\tb\"",
            "\t",
            "not JSON: control character inside a string",
        ),
        (
            send,
            "\"x\"",
            "\"\\q\"",
            "\\q",
            "not JSON: unknown escape in a string",
        ),
        (
            send,
            "\"t\":1",
            "\"t\":NaN",
            "NaN",
            "not JSON: NaN and Infinity are not JSON",
        ),
        (
            send,
            "\"t\":1",
            "\"t\":1.5",
            "1.5",
            "a whole number was expected, not 1.5",
        ),
        (
            send,
            "\"t\":1",
            "\"t\":\"1\"",
            "\"1\"",
            "a whole number was expected, not \"1\"",
        ),
        (
            send,
            "\"send\":3",
            "\"send\":0",
            "0,\"link",
            "frames are numbered from 1",
        ),
        (
            send,
            "\"send\":3",
            "\"send\":4294967296",
            "4294967296",
            "the number 4294967296 is too large here",
        ),
        (
            send,
            "\"link\":0",
            "\"link\":2",
            "2,\"from",
            "there is no link 2: the header has 2",
        ),
        (send, ",\"link\":0", "", "{", "a send has no \"link\""),
        (
            send,
            "\"client\"",
            "\"sidecar\"",
            "\"sidecar\"",
            "unknown word \"sidecar\"; known: client, server",
        ),
        (
            send,
            "\"client\"",
            "7",
            "7,",
            "a string was expected, not 7",
        ),
        (
            send,
            "\"0.2\"",
            "\"0:2\"",
            "\"0:2\"",
            "an origin is a party and a step such as \"0.2\", not \"0:2\"",
        ),
        (
            send,
            "\"0.2\"",
            "\"0.70000\"",
            "\"0.70000\"",
            "an origin is a party and a step such as \"0.2\", not \"0.70000\"",
        ),
        (
            send,
            ",\"raw\":\"x\"",
            "",
            "{",
            "a send has no \"raw\" and no \"raw_b64\"",
        ),
        (
            send,
            "\"raw\":\"x\"",
            "\"raw\":\"x\",\"raw_b64\":\"\"",
            "\"\"}",
            "\"raw\" stands there already",
        ),
        (
            send,
            "\"raw\":\"x\"",
            "\"raw_b64\":\"=x\"",
            "\"=x\"",
            "not base64",
        ),
        (
            send,
            "\"x\"",
            "\"é\\ud800\"",
            "\\ud800",
            "half of a surrogate pair is no character: bytes that are not UTF-8 belong into \"raw_b64\"",
        ),
        (
            send,
            "\"x\"",
            "\"x\",\"slips\":\"r\"",
            "\"r\"}",
            "an array was expected, not \"r\"",
        ),
        (
            send,
            "\"x\"",
            "\"x\",\"slips\":[1]",
            "1]",
            "a string was expected, not 1",
        ),
        (
            send,
            "\"x\"",
            "\"x\",\"pad\u{1b}\":1",
            "\u{1b}",
            "not JSON: control character inside a string",
        ),
        (
            send,
            "\"x\"",
            "\"x\",\"p\u{202e}\":1",
            "\"p",
            "unknown key \"p\\u{202e}\" in a send",
        ),
        (
            send,
            "\"x\"",
            "\"x\",\"head\":7",
            "7}",
            "an object was expected, not 7",
        ),
        (
            send,
            "\"x\"",
            "\"x\",\"head\":{\"status\":200}",
            "{\"status",
            "a head has no \"method\"",
        ),
        (
            send,
            "\"x\"",
            "\"x\",\"head\":{\"method\":\"GET\",\"body\":1}",
            "\"body",
            "unknown key \"body\" in a head",
        ),
        (
            send,
            "\"x\"",
            "\"x\",\"head\":{\"method\":\"GET\",\"headers\":{\"a\":[\"1\",2]}}",
            "2]",
            "a string was expected, not 2",
        ),
        (
            send,
            "\"x\"",
            "\"x\",\"sse_retry\":-1",
            "-1",
            "a whole number was expected, not -1",
        ),
        (
            send,
            "\"x\"",
            "\"x\",\"recv\":1",
            "\"recv\"",
            "unknown key \"recv\" in a send",
        ),
        (
            send,
            "\"x\"",
            "\"x\",\"t\":2",
            "\"t\":2",
            "\"t\" stands there twice",
        ),
        (
            choice,
            "\"next\"",
            "\"last\"",
            "\"last\"",
            "unknown word \"last\"; known: next, fault, party",
        ),
        (
            choice,
            "\"took\":1",
            "\"took\":4",
            "4,\"label",
            "option 4 of 4, counted from 0",
        ),
        (
            choice,
            "number/1",
            "number/x",
            "\"number/x",
            "unknown label \"number/x\"",
        ),
        (choice, "\"of\":4,", "", "{", "a choice has no \"of\""),
        (
            r#"{"t":1,"exit":1}"#,
            "\"exit\":1",
            "\"exit\":3",
            "3}",
            "there is no party 3: the header has 3",
        ),
        (
            r#"{"t":1,"calm":true}"#,
            "true",
            "false",
            "false",
            "true was expected",
        ),
        (
            r#"{"t":1,"quiet":true}"#,
            "true}",
            "1}",
            "1}",
            "true or false was expected, not 1",
        ),
        (
            r#"{"t":1,"fault":"drop","link":0,"party":1}"#,
            "drop",
            "flood",
            "\"flood",
            "unknown word \"flood\"; known: delay, duplicate, drop, cut, crash",
        ),
        (
            r#"{"t":1,"fault":"drop","frame":1,"link":0,"party":1}"#,
            "\"frame\":1",
            "\"frame\":0",
            "0,\"link",
            "frames are numbered from 1",
        ),
        (
            r#"{"t":1,"lost":1,"link":0,"to":"server","told":"nobody"}"#,
            "\"nobody\"",
            "\"all\"",
            "\"all\"",
            "unknown word \"all\"; known: nobody, client, both",
        ),
        (
            r#"{"t":1,"broken":2,"link":0}"#,
            ",\"link\":0",
            "",
            "{",
            "a broken has no \"link\"",
        ),
        (
            r#"{"t":1,"forgotten":1,"link":0}"#,
            "1,\"link",
            "0,\"link",
            "0,\"link",
            "frames are numbered from 1",
        ),
        (
            r#"{"t":1,"blocked":0,"on":"stderr"}"#,
            "\"stderr\"",
            "\"pipe\"",
            "\"pipe\"",
            "unknown word \"pipe\"; known: stdin, stdout, stderr",
        ),
        (
            r#"{"t":1,"unblocked":0,"on":"stdin"}"#,
            ",\"on\":\"stdin\"",
            "",
            "{",
            "an unblocked has no \"on\"",
        ),
        (
            r#"{"t":1,"stderr":0,"text":"x"}"#,
            ",\"text\":\"x\"",
            "",
            "{",
            "a stderr has no \"text\"",
        ),
        (
            r#"{"t":1,"exchange_lost":1,"link":0}"#,
            "1,\"link",
            "0,\"link",
            "0,\"link",
            "frames are numbered from 1",
        ),
        (
            r#"{"t":1,"closed":0,"to":"server"}"#,
            ",\"to\":\"server\"",
            "",
            "{",
            "a closed has no \"to\"",
        ),
        (
            end,
            "0000000000000000\"",
            "\"",
            "\"0000000000000000\"",
            "a digest has 32 hexadecimal digits",
        ),
        (
            end,
            "\"blame\":\"client\"",
            "\"blame\":\"you\"",
            "\"you\"",
            "unknown word \"you\"; known: client, server, transport, none, harness",
        ),
        (
            end,
            ",\"verdict\":\"broken\"",
            "",
            "{\"rule",
            "a finding has no \"verdict\"",
        ),
        (
            end,
            "\"findings\"",
            "\"t\":1,\"findings\"",
            "\"t\"",
            "unknown key \"t\" in the closing line",
        ),
    ];
    let head = String::from_utf8(write(&[], &[])).expect("text");
    let head = head.lines().next().expect("a header");
    for (good, old, new, place, message) in cases {
        let bad = good.replacen(old, new, 1);
        assert_ne!(bad, good, "{old} stands in the line");
        let file =
            format!("{head}\n{{\"t\":0,\"quiet\":true}}\n{bad}\n{{\"t\":2,\"calm\":true}}\n");
        let whole = read(file.as_bytes(), 64).expect("the header is good");
        let at = if place.is_empty() {
            bad.len()
        } else {
            bad.rfind(place).expect("stands there")
        };
        let expected = InputError {
            line: 3,
            column: at as u64 + 1,
            message: message.into(),
        };
        assert_eq!(whole.errors, [expected], "{bad}");
        let lines: Vec<u64> = whole.events.iter().map(|event| event.line).collect();
        assert_eq!(lines, [2, 4], "the lines around it are read");
    }
}

#[test]
fn bytes_that_are_not_utf_8_have_their_place() {
    let mut file = write(&[(0, OwnedWhat::Note("note".into()))], &[]);
    let at = file
        .windows(4)
        .rposition(|window| window == b"note")
        .expect("the text");
    file[at] = 0xFF;
    let errors = read(&file, 64).expect("a header").errors;
    let start = file[..at]
        .iter()
        .rposition(|&byte| byte == b'\n')
        .expect("a line before")
        + 1;
    assert_eq!(
        errors[0].to_string(),
        format!(
            "2:{}: not UTF-8: bytes that are not belong into \"raw_b64\"",
            at - start + 1
        )
    );
}

#[test]
fn nothing_may_follow_the_closing_line() {
    let mut file = write(&[(0, OwnedWhat::Calm)], &[]);
    file.extend_from_slice(b"\n{\"t\":0,\"calm\":true}\n");
    let whole = read(&file, 64).expect("a header");
    assert_eq!(whole.errors.len(), 1);
    assert_eq!(
        whole.errors[0].to_string(),
        "4:1: something stands after the closing line"
    );
    assert_eq!(whole.events.len(), 1);
}

#[test]
fn a_changed_event_is_noticed_and_the_ends_of_lines_do_not_matter() {
    let file = write(&[(5, OwnedWhat::Calm), (6, OwnedWhat::Quiet)], &[]);
    let text = String::from_utf8(file).expect("text");
    let altered = |text: &str| {
        let whole = read(text.as_bytes(), 64).expect("a header");
        assert_eq!(whole.errors, []);
        assert!(whole.end.is_some());
        whole.altered
    };
    assert!(!altered(&text));
    assert!(!altered(&text.replace('\n', "\r\n")));
    assert!(!altered(&format!("\u{feff}{text}")));
    assert!(altered(&text.replace("\"t\":6", "\"t\":7")));
    assert!(altered(&text.replace("{\"t\":6,\"quiet\":true}\n", "")));
}

#[test]
fn choices_are_collected_for_a_replay() {
    let choice = |answer| Choice {
        site: Site::Fault,
        bound: 6,
        answer,
        label: Label::Fault(answer as u8),
    };
    let events = [
        (0, OwnedWhat::Choice(choice(0))),
        (0, OwnedWhat::Calm),
        (9, OwnedWhat::Choice(choice(5))),
    ];
    let file = write(&events, &[]);
    let mut reader = TraceReader::new(&file[..]).expect("a header");
    assert_eq!(
        reader.choices().expect("all is good"),
        [choice(0), choice(5)]
    );
    assert_eq!(reader.end().map(|end| end.events), Some(3));
    let broken = String::from_utf8(file)
        .expect("text")
        .replace("calm", "clam");
    let error = TraceReader::new(broken.as_bytes())
        .expect("a header")
        .choices();
    assert!(
        error
            .expect_err("a bad line")
            .to_string()
            .starts_with("3:1: the line has none of")
    );
}
