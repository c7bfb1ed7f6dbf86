//! Stories as text and as Mermaid: whole outputs, and what no peer's text can do to them.

use mcpsim_traces::capture::CaptureReader;
use mcpsim_traces::event::{
    Choice, Event, Fault, FrameText, Label, LinkId, LinkKind, Origin, PartyId, Pipe, Role, Sink,
    Site, Told, What,
};
use mcpsim_traces::file::{Header, Link, Party, PartyRole, TraceReader, TraceWriter};
use mcpsim_traces::judge::{Blame, Finding, Severity, Verdict};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Message, Method, Tool};
use mcpsim_traces::render::Spellings;
use mcpsim_traces::show::{Story, StoryFinding, TextOptions, is_hidden, mermaid, text};
use proptest::prelude::*;

fn header(kind: LinkKind) -> Header {
    let party = |name: &str, role| Party {
        name: name.into(),
        role,
    };
    Header {
        generator: Some("chacha8".into()),
        seed: Some(7),
        parties: vec![
            party("client", PartyRole::Client),
            party("end", PartyRole::Server),
        ],
        links: vec![Link {
            kind,
            client: PartyId(0),
            server: PartyId(1),
        }],
        ..Header::new("mcpsim 0.1.0")
    }
}

const LINK: LinkId = LinkId(0);

/// Writes a trace of frames and what else a test wants.
struct Tale {
    writer: TraceWriter<Vec<u8>>,
    at_ms: u64,
    frame: u32,
}

impl Tale {
    fn new(kind: LinkKind) -> Tale {
        Tale {
            writer: TraceWriter::new(vec![], &header(kind)),
            at_ms: 0,
            frame: 0,
        }
    }

    fn event(&mut self, what: What<'_>) {
        let at_ms = self.at_ms;
        self.writer.event(&Event { at_ms, what });
    }

    fn send(
        &mut self,
        from: Role,
        message: Message,
        raw: Option<&[u8]>,
        slips: &'static [&'static str],
    ) {
        self.frame += 1;
        let (frame, spellings) = (self.frame, Spellings::default());
        let text = FrameText {
            message: &message,
            raw,
            spellings: &spellings,
        };
        self.event(What::Send {
            frame,
            link: LINK,
            from,
            stream: frame,
            origin: Origin::default(),
            text,
            http: None,
            slips,
        });
    }

    fn receive(&mut self, frame: u32, to: Role) {
        self.event(What::Choice(Choice {
            site: Site::Next,
            bound: 2,
            answer: 0,
            label: Label::Number(frame),
        }));
        self.at_ms += 5;
        self.event(What::Recv {
            frame,
            link: LINK,
            to,
        });
    }

    fn story(self) -> Story {
        let file = self.writer.finish(&[]).expect("memory takes all").out;
        Story::of_trace(&mut TraceReader::new(&file[..]).expect("a trace")).expect("memory is read")
    }
}

/// Frames that arrive at once, later, twice, never; faults; what parties do; slips.
fn tale() -> Story {
    let mut tale = Tale::new(LinkKind::Http);
    let (client, server) = (Role::Client, Role::Server);
    tale.event(What::Open { link: LINK });
    tale.send(
        client,
        Message::request(Method::ToolsList, Key::integer(1)),
        None,
        &[],
    );
    tale.receive(1, server);
    let call = Message::tools_call(Key::text(b"1"), Tool::Echo, 2, Key::integer(9));
    tale.send(client, call, None, &[]);
    tale.send(
        client,
        Message::request(Method::Ping, Key::integer(3)),
        None,
        &[],
    );
    tale.receive(3, server);
    tale.receive(2, server);
    tale.event(What::Own {
        party: PartyId(1),
        tag: 4,
    });
    tale.send(server, Message::error(Key::text(b"1"), -32601), None, &[]);
    tale.event(What::Fault {
        fault: Fault::Duplicate,
        frame: 4,
        link: LINK,
        party: PartyId(0),
        forbidden: false,
    });
    tale.receive(4, client);
    tale.receive(4, client);
    tale.send(server, Message::tool_result(Key::integer(7), 0), None, &[]);
    tale.event(What::Fault {
        fault: Fault::Drop,
        frame: 5,
        link: LINK,
        party: PartyId(0),
        forbidden: true,
    });
    tale.event(What::Lost {
        frame: 5,
        link: LINK,
        to: client,
        told: Told::Client,
        forbidden: true,
    });
    tale.event(What::ExchangeLost {
        frame: 3,
        link: LINK,
        forbidden: false,
    });
    tale.event(What::Timer {
        party: PartyId(0),
        tag: 3,
    });
    tale.send(client, Message::cancelled(Key::integer(3)), None, &[]);
    tale.send(
        client,
        Message::malformed(Default::default()),
        Some(b"[{}]"),
        &["no-batches"],
    );
    tale.event(What::Calm);
    tale.event(What::Note("a note"));
    tale.event(What::Fault {
        fault: Fault::Delay,
        frame: 6,
        link: LINK,
        party: PartyId(1),
        forbidden: false,
    });
    tale.event(What::Fault {
        fault: Fault::Cut,
        frame: 6,
        link: LINK,
        party: PartyId(1),
        forbidden: false,
    });
    tale.event(What::Fault {
        fault: Fault::Crash,
        frame: 6,
        link: LINK,
        party: PartyId(1),
        forbidden: false,
    });
    tale.event(What::Close {
        link: LINK,
        by: client,
    });
    tale.event(What::Closed {
        link: LINK,
        to: server,
    });
    tale.event(What::Exit { party: PartyId(1) });
    tale.event(What::Quiet);
    tale.story()
}

fn findings() -> Vec<StoryFinding> {
    let finding = |frames: &[u32], verdict, message: &str| Finding {
        rule: "response-matches-request",
        verdict,
        severity: Severity::Error,
        blame: Blame::Server,
        party: PartyId(1),
        link: LINK,
        frames: frames.to_vec(),
        message: message.into(),
        spot: None,
        knew: String::new(),
        waits: vec![],
    };
    [
        finding(
            &[1, 5],
            Verdict::Broken,
            "no request 7 was open; 1, \"1\" and 3 were",
        ),
        finding(&[4], Verdict::Unsure, "may have crossed"),
        finding(&[], Verdict::Broken, "of the whole"),
        finding(&[99], Verdict::Broken, "of a frame that is not here"),
    ]
    .iter()
    .map(StoryFinding::from)
    .collect()
}

fn as_text(story: &Story, findings: &[StoryFinding], options: &TextOptions) -> String {
    let mut out = vec![];
    text(story, findings, options, &mut out).expect("memory takes all");
    String::from_utf8(out).expect("text")
}

fn as_mermaid(story: &Story, findings: &[StoryFinding]) -> String {
    let mut out = vec![];
    mermaid(story, findings, &mut out).expect("memory takes all");
    String::from_utf8(out).expect("text")
}

#[test]
fn a_story_as_text() {
    let expected = r##"
trace by mcpsim 0.1.0, seed 7: client → end (http)
      0 ms  -- link 0 opens: client and end
 #1   0 ms  client → end  request tools/list 1  [stream 1]
 #2   5 ms  client → end  request tools/call "1"  {"name":"echo","arguments":{"n":2},"_meta":{"progressToken":…  [stream 2]  [arrives later]
 #3   5 ms  client → end  request ping 3  [stream 3]
     15 ms  client → end  #2 arrives
 #4  15 ms  client ← end  error "1" of tools/call  {"code":-32601,"message":"Method not found"}  [stream 4]  [arrives later]
     ? response-matches-request (server, unsure): may have crossed
     15 ms  -- fault: #4 to client will arrive twice
     20 ms  client ← end  #4 arrives
     25 ms  client ← end  #4 arrives again
 #5  25 ms  client ← end  result 7 of an unknown request  {"content":[{"type":"text","text":"{}"}],"structuredContent"…  [stream 5]  [lost]
     ! response-matches-request (server, broken): no request 7 was open; 1, "1" and 3 were
     25 ms  -- fault: #5 to client is dropped (which http forbids)
     25 ms  -- #5 to client is lost, the client is told (which http forbids)
     25 ms  -- the exchange of #3 is lost: no answer can come
     25 ms  -- client: timer 3 fires
 #6  25 ms  client → end  notifications/cancelled of 3  {"requestId":3}  [stream 6]  [never arrives]
 #7  25 ms  client → end  batch  [{}]  [stream 7]  [on purpose: no-batches]  [never arrives]
     25 ms  -- calm: no more faults
     25 ms  -- note: a note
     25 ms  -- fault: #6 to end is held back
     25 ms  -- fault: link 0 is cut
     25 ms  -- fault: end crashes
     25 ms  -- client closes link 0
     25 ms  -- end learns that link 0 is closed
     25 ms  -- end exits
     25 ms  -- quiet: nothing can happen any more
     ! response-matches-request (server, broken): of the whole
     ! response-matches-request (server, broken): of a frame that is not here
"##;
    assert_eq!(
        as_text(&tale(), &findings(), &TextOptions::USUAL),
        expected.trim_start()
    );
}

#[test]
fn choices_are_shown_when_asked_for() {
    let options = TextOptions {
        with_choices: true,
        ..TextOptions::USUAL
    };
    let with = as_text(&tale(), &[], &options);
    let added: Vec<&str> = with
        .lines()
        .filter(|line| line.contains("-- choice") || line.contains("own step"))
        .collect();
    assert_eq!(
        added,
        [
            "     0 ms  -- choice next: 0 of 2, number/1",
            "     5 ms  -- choice next: 0 of 2, number/3",
            "    10 ms  -- choice next: 0 of 2, number/2",
            "    15 ms  -- end: own step 4",
            "    15 ms  -- choice next: 0 of 2, number/4",
            "    20 ms  -- choice next: 0 of 2, number/4"
        ]
    );
    let without = as_text(&tale(), &[], &TextOptions::USUAL);
    assert_eq!(with.lines().count(), without.lines().count() + added.len());
}

#[test]
fn a_story_in_ascii() {
    let options = TextOptions {
        is_ascii: true,
        with_choices: false,
        payload_chars_max: 10,
    };
    let shown = as_text(&tale(), &findings(), &options);
    assert!(shown.is_ascii());
    let first: Vec<&str> = shown.lines().take(3).collect();
    assert_eq!(
        first,
        [
            "trace by mcpsim 0.1.0, seed 7: client -> end (http)",
            "      0 ms  -- link 0 opens: client and end",
            " #1   0 ms  client -> end  request tools/list 1  [stream 1]"
        ]
    );
}

#[test]
fn a_story_as_mermaid() {
    let expected = r##"
sequenceDiagram
    participant P0 as client
    participant P1 as #101;nd
    Note over P0,P1: link 0 opens#58; client and #101;nd
    P0->>P1: #35;1 request tools/list 1
    P0-)P1: #35;2 request tools/call #34;1#34;
    P0->>P1: #35;3 request ping 3
    Note over P1: #35;2 arrives
    P1--)P0: #35;4 error #34;1#34; of tools/call
    Note over P0,P1: ? response-matches-request (server)#58; may have crossed
    Note over P0: fault#58; #35;4 to client will arrive twice
    Note over P0: #35;4 arrives
    Note over P0: #35;4 arrives again
    P1--xP0: #35;5 result 7 of an unknown request
    Note over P0,P1: ! response-matches-request (server)#58; no request 7 was open#59; 1, #34;1#34; and 3 were
    Note over P0: fault#58; #35;5 to client is dropped (which http forbids)
    Note over P0: #35;5 to client is lost, the client is told (which http forbids)
    Note over P0: the exchange of #35;3 is lost#58; no answer can come
    Note over P0: client#58; timer 3 fires
    P0--xP1: #35;6 notifications/cancelled of 3
    P0--xP1: #35;7 batch (on purpose#58; no-batches)
    Note over P0,P1: calm#58; no more faults
    Note over P0,P1: note#58; a note
    Note over P1: fault#58; #35;6 to #101;nd is held back
    Note over P1: fault#58; link 0 is cut
    Note over P1: fault#58; #101;nd crashes
    Note over P0: client closes link 0
    Note over P1: #101;nd learns that link 0 is closed
    Note over P1: #101;nd exits
    Note over P0,P1: quiet#58; nothing can happen any more
    Note over P0,P1: ! response-matches-request (server)#58; of the whole
    Note over P0,P1: ! response-matches-request (server)#58; of a frame that is not here
"##;
    assert_eq!(as_mermaid(&tale(), &findings()), expected.trim_start());
}

/// Two sessions, events, bytes that are not UTF-8, a cut line.
#[test]
fn a_capture_as_text() {
    let file = concat!(
        r#"{"event":"open","vantage":"between","transport":"http"}"#,
        "\n",
        r#"{"t_ms":3,"dir":"c2s","session":"A","stream":"p1","raw":"{\"jsonrpc\":\"2.0\",\"id\":1e0,\"method\":\"x/y\\u001b\",\"params\":{\"a\":1}}"}"#,
        "\n",
        "nonsense\n",
        r#"{"t_ms":14,"dir":"s2c","session":"A","raw":"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"}"#,
        "\n",
        r#"{"t_ms":15,"dir":"s2c","session":"B","raw_b64":"/3sbWzMxbQ=="}"#,
        "\n",
        r#"{"dir":"s2c","session":"B","event":"exit","status":1,"raw":"by\nby"}"#,
        "\n",
        r#"{"dir":"s2c","ses"#,
    );
    let mut reader = CaptureReader::new(file.as_bytes()).expect("memory is read");
    let story = Story::of_recording(&mut reader).expect("memory is read");
    assert_eq!(story.frames(), 3);
    let expected = r##"
capture: client A → server A (http), client B → server B (http)
           -- open (seen from between, over http)
#1   3 ms  client A → server A  request x/y\u001b 1e0  {"a":1}  [stream p1]
#2  14 ms  client A ← server A  result 1 of x/y\u001b  {}
#3  15 ms  client B ← server B  malformed (not-utf-8, noise)  \xff{\u{1b}[31m
           -- server B: exit (status 1, by\nby)
note: the file stops in the middle of line 7
unusable: 3:1: a capture has lines of {"dir":"c2s","raw":"…"}, not "nonsense"
"##;
    assert_eq!(
        as_text(&story, &[], &TextOptions::USUAL),
        expected.trim_start()
    );
    assert!(as_mermaid(&story, &[]).contains("Note over P3: exit (status 1, by#92;nby)"));
}

#[test]
fn a_cut_or_changed_trace_says_so() {
    let mut tale = Tale::new(LinkKind::Pipe);
    tale.event(What::Calm);
    tale.event(What::Quiet);
    let file = tale.writer.finish(&[]).expect("memory takes all").out;
    let shown = |file: &[u8]| {
        let mut reader = TraceReader::new(file).expect("a header");
        let story = Story::of_trace(&mut reader).expect("memory is read");
        let text = as_text(&story, &[], &TextOptions::USUAL);
        text.lines()
            .filter(|line| line.starts_with("note:") || line.starts_with("unusable:"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(shown(&file), [""; 0]);
    assert_eq!(
        shown(&file[..file.len() - 9]),
        ["note: the file stops in the middle of a line after line 3"]
    );
    let end = file.len()
        - 2
        - file
            .iter()
            .rev()
            .skip(1)
            .position(|&byte| byte == b'\n')
            .expect("lines");
    assert_eq!(
        shown(&file[..=end]),
        ["note: the file has no closing line: its writer was interrupted"]
    );
    let changed = String::from_utf8(file)
        .expect("text")
        .replace("calm", "quiet");
    assert_eq!(
        shown(changed.as_bytes()),
        ["note: the file was changed after it was written"]
    );
    let broken = changed.replacen("{\"t\":0,\"quiet\":true}", "{\"t\":0,\"quiet\":yes}", 1);
    assert_eq!(
        shown(broken.as_bytes())[1],
        "unusable: 2:16: not JSON: unexpected character"
    );
}

#[test]
fn what_mermaid_would_misread_is_an_entity() {
    let mut tale = Tale::new(LinkKind::Pipe);
    let raw = br#"{"jsonrpc":"2.0","id":"a;b#35;","method":"end%%{init: {}}%%<b>$$x$$ wrap:`"}"#;
    tale.send(
        Role::Client,
        Message::malformed(Default::default()),
        Some(raw),
        &[],
    );
    let shown = as_mermaid(&tale.story(), &[]);
    let line = shown.lines().last().expect("a frame");
    assert_eq!(
        line,
        "    P0--xP1: #35;1 request #101;nd#37;#37;#123;init#58; #123;#125;#125;#37;#37;#60;b#62;#36;#36;x#36;#36; wrap#58;#96; #34;a#59;b#35;35#59;#34;"
    );
}

/// What may stand after the colon of a message or note, or in a participant's name.
fn is_plain(text: &str) -> bool {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('#') {
        let Some((number, after)) = after.split_once(';') else {
            return false;
        };
        if number.is_empty()
            || !number.bytes().all(|byte| byte.is_ascii_digit())
            || before.contains(';')
        {
            return false;
        }
        rest = after;
    }
    let odd = |c: char| !c.is_alphanumeric() && !" /.,_-()!?'=…".contains(c);
    !rest.contains(odd)
        && !text
            .split_whitespace()
            .any(|word| word.eq_ignore_ascii_case("end"))
}

proptest! {
    /// Whatever a peer sends and whatever the rules say of it, no line is broken, nothing hidden is shown, and
    /// Mermaid sees only text.
    #[test]
    fn no_text_of_a_peer_gets_out(
        raws in proptest::collection::vec(prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..40),
            "\\{\"id\":(1|\"[^\"\\\\]{0,9}\"),\"method\":\"(end|%%|;|#|:|<br>|\n|\u{202e}|x){0,6}\"\\}".prop_map(String::into_bytes),
        ], 0..4),
        words in "(end|END|%%\\{|;|#|:|<|\n|\u{1b}|ﬂ°|x| ){0,12}",
        is_ascii in any::<bool>(),
    ) {
        let mut tale = Tale::new(LinkKind::Pipe);
        for raw in &raws {
            tale.send(Role::Server, Message::malformed(Default::default()), Some(raw), &[]);
        }
        tale.event(What::Note(&words));
        let mut story = tale.story();
        story.parties[0].name = words.clone();
        story.title = words.clone();
        let finding = StoryFinding {
            frame: 1,
            rule: words.clone(),
            blame: Blame::Client,
            verdict: Verdict::Unsure,
            message: words.clone(),
        };
        let options = TextOptions { is_ascii, with_choices: true, payload_chars_max: 20 };
        let shown = as_text(&story, std::slice::from_ref(&finding), &options);
        // A title, a line for each frame, a note, a finding.
        prop_assert_eq!(shown.lines().count(), raws.len() + 3);
        prop_assert!(!shown.replace('\n', "").contains(is_hidden));
        prop_assert!(!is_ascii || shown.is_ascii());
        let diagram = as_mermaid(&story, &[finding]);
        prop_assert_eq!(diagram.lines().count(), 1 + 2 + raws.len() + 2);
        for line in diagram.lines().skip(1) {
            let text = line.split_once(": ").or_else(|| line.split_once(" as ")).expect("text").1;
            prop_assert!(is_plain(text), "{}", line);
        }
    }
}

#[test]
fn pipes_that_are_full() {
    let mut tale = Tale::new(LinkKind::Pipe);
    let link = LINK;
    let text = "a line \u{1b}[2J";
    tale.event(What::Stderr { link, text });
    for on in [Pipe::Stderr, Pipe::Stdin] {
        tale.event(What::Blocked { link, on });
        tale.event(What::Unblocked { link, on });
    }
    let story = tale.story();
    let shown = as_text(&story, &[], &TextOptions::USUAL);
    for line in [
        "-- end on stderr: a line \\u{1b}[2J",
        "-- end waits to write: its stderr to client is full",
        "-- end goes on: its stderr has room",
        "-- client waits to write: its pipe to end is full",
    ] {
        assert!(shown.contains(line), "{shown}");
    }
    let drawn = as_mermaid(&story, &[]);
    assert!(drawn.contains("Note over P0: client waits"), "{drawn}");
    assert!(drawn.contains("Note over P1: #101;nd waits"), "{drawn}");
}

#[test]
fn a_stream_that_breaks_and_goes_on() {
    let mut tale = Tale::new(LinkKind::Http);
    let link = LINK;
    tale.send(
        Role::Client,
        Message::request(Method::Ping, Key::integer(1)),
        None,
        &[],
    );
    tale.event(What::Broken { stream: 1, link });
    tale.event(What::Resumed { stream: 1, link });
    tale.event(What::Forgotten { frame: 1, link });
    let story = tale.story();
    let shown = as_text(&story, &[], &TextOptions::USUAL);
    for line in [
        "-- stream 1 to client breaks: end keeps what comes on it",
        "-- client has opened stream 1 again",
        "-- end does not have #1 any more",
    ] {
        assert!(shown.contains(line), "{shown}");
    }
    let drawn = as_mermaid(&story, &[]);
    assert!(drawn.contains("Note over P0: stream 1"), "{drawn}");
    assert!(drawn.contains("Note over P1: client has opened"), "{drawn}");
}
