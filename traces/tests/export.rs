//! Recordings written in each form and read back: what the form can hold comes back as it was, and what does not was counted.

use std::collections::BTreeMap;
use std::io::Cursor;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mcpsim_traces::capture::{
    CaptureEvent, CaptureFrame, CaptureLine, CaptureWhat, EventKind, Opening,
};
use mcpsim_traces::event::{LinkKind, Role};
use mcpsim_traces::export::{Converted, Destination, Target, convert};
use mcpsim_traces::http::{Field, Head, Http, Sse, Start};
use mcpsim_traces::judge::Vantage;
use mcpsim_traces::lines::{InputError, ReadError};
use mcpsim_traces::lost::Lost;
use mcpsim_traces::recording::Recording;
use mcpsim_traces::sniff::Log;
use proptest::prelude::*;
use serde_json::Value;

/// The forms that can be read back line by line.
const READ_BACK: [Target; 4] = [
    Target::Capture,
    Target::Trace,
    Target::McpTrace,
    Target::Mcpsnoop,
];

/// A line of a recording.
#[derive(Clone, PartialEq, Debug)]
struct Told {
    t_ms: Option<u64>,
    session: Option<String>,
    stream: Option<String>,
    http: Option<Http<'static>>,
    what: What,
}

#[derive(Clone, PartialEq, Debug)]
enum What {
    Frame {
        from: Role,
        raw: Vec<u8>,
        has_eol: bool,
        pad_to: Option<u64>,
        cut_from_bytes: Option<u64>,
    },
    Event {
        name: String,
        by: Option<Role>,
        status: Option<i64>,
        raw: Vec<u8>,
    },
    Head(Role),
}

impl Told {
    fn of(line: &CaptureLine<'_>) -> Told {
        Told {
            t_ms: line.t_ms,
            session: line.session.as_deref().map(str::to_owned),
            stream: line.stream.as_deref().map(str::to_owned),
            http: line.http.as_deref().map(|http| http.clone().into_owned()),
            what: match &line.what {
                CaptureWhat::Frame(frame) => What::Frame {
                    from: frame.from,
                    raw: frame.raw.to_vec(),
                    has_eol: frame.has_eol,
                    pad_to: frame.pad_to,
                    cut_from_bytes: frame.cut_from_bytes,
                },
                CaptureWhat::Event(event) => What::Event {
                    name: event.name.clone().into_owned(),
                    by: event.by,
                    status: event.status,
                    raw: event.raw.to_vec(),
                },
                CaptureWhat::Http(by) => What::Head(*by),
            },
        }
    }

    fn frame(from: Role, raw: &[u8]) -> Told {
        let what = What::Frame {
            from,
            raw: raw.to_vec(),
            has_eol: true,
            pad_to: None,
            cut_from_bytes: None,
        };
        Told::new(what)
    }

    fn event(name: &str, by: Role) -> Told {
        Told::new(What::Event {
            name: name.to_owned(),
            by: Some(by),
            status: None,
            raw: vec![],
        })
    }

    fn new(what: What) -> Told {
        Told {
            t_ms: None,
            session: None,
            stream: None,
            http: None,
            what,
        }
    }

    fn is_of_server(&self) -> bool {
        match &self.what {
            What::Frame { from, .. } => *from == Role::Server,
            What::Head(by) => *by == Role::Server,
            What::Event { .. } => false,
        }
    }

    /// Says where the observer stood, or what was lost: told otherwise, too.
    fn is_about_the_recording(&self) -> bool {
        let is_of_all = self.session.is_none() && self.stream.is_none();
        match &self.what {
            What::Event { name, .. } => name == "recording" || name == "open" && is_of_all,
            What::Frame { .. } | What::Head(_) => false,
        }
    }

    fn line(&self, number: u64) -> CaptureLine<'_> {
        CaptureLine {
            line: number,
            t_ms: self.t_ms,
            session: self.session.as_deref().map(Into::into),
            stream: self.stream.as_deref().map(Into::into),
            http: self.http.clone().map(Box::new),
            what: match &self.what {
                What::Frame {
                    from,
                    raw,
                    has_eol,
                    pad_to,
                    cut_from_bytes,
                } => CaptureWhat::Frame(CaptureFrame {
                    from: *from,
                    raw,
                    is_utf8: false,
                    has_eol: *has_eol,
                    is_laid_out: false,
                    pad_to: *pad_to,
                    cut_from_bytes: *cut_from_bytes,
                }),
                What::Event {
                    name,
                    by,
                    status,
                    raw,
                } => CaptureWhat::Event(CaptureEvent {
                    kind: EventKind::ALL
                        .iter()
                        .copied()
                        .find(|kind| kind.as_str() == name)
                        .unwrap_or(EventKind::Other),
                    name: name.as_str().into(),
                    by: *by,
                    raw,
                    status: *status,
                    vantage: None,
                    transport: None,
                    whole: false,
                    lost: Lost::NOTHING,
                }),
                What::Head(by) => CaptureWhat::Http(*by),
            },
            origin: None,
        }
    }
}

/// A recording in memory; a line that is missing cannot be used.
#[derive(Clone, Debug, Default)]
struct Made {
    lines: Vec<Option<Told>>,
    opening: Opening,
    lost: Lost,
    next: usize,
}

impl Recording for Made {
    fn format(&self) -> &'static str {
        "made"
    }

    fn opening(&self) -> Opening {
        self.opening
    }

    fn next_line(&mut self) -> Result<Option<CaptureLine<'_>>, ReadError> {
        let line = self.next as u64 + 1;
        self.next += 1;
        match self.lines.get(self.next - 1) {
            None => Ok(None),
            Some(Some(told)) => Ok(Some(told.line(line))),
            Some(None) => Err(InputError {
                line,
                column: 1,
                message: "unusable".to_owned(),
            }
            .into()),
        }
    }

    fn line_number(&self) -> u64 {
        self.next as u64
    }

    fn is_cut(&self) -> bool {
        false
    }

    fn lost(&self) -> Lost {
        self.lost
    }
}

fn made(lines: &[Told]) -> Made {
    Made {
        lines: lines.iter().cloned().map(Some).collect(),
        ..Made::default()
    }
}

fn written(mut recording: impl Recording, target: Target) -> (Vec<u8>, Converted) {
    let mut out = vec![];
    let to = Destination {
        out: &mut out,
        spool: Cursor::new(vec![]),
        program: "mcpsim test".to_owned(),
    };
    let converted = convert(&mut recording, target, to, |_| {}).expect("memory does not fail");
    (out, converted)
}

fn opened(bytes: &[u8]) -> Box<dyn Recording> {
    let log = Log::open(Cursor::new(bytes.to_vec()));
    log.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(bytes)))
        .into_recording()
}

/// Everything in a recording but what it says of itself.
fn all(recording: &mut dyn Recording) -> Vec<Told> {
    let mut all = vec![];
    while let Some(line) = recording.next_line().expect("every line is good") {
        all.push(Told::of(&line));
    }
    all.retain(|told| !told.is_about_the_recording());
    all
}

fn read_back(bytes: &[u8]) -> Vec<Told> {
    all(&mut *opened(bytes))
}

// ---- What the forms can hold.

/// What is to come back of these lines.
fn held(target: Target, lines: &[Told]) -> Vec<Told> {
    match target {
        Target::Capture => lines.to_vec(),
        Target::Trace => held_by_traces(lines),
        Target::McpTrace => held_by_mcp_trace(lines),
        Target::Mcpsnoop => held_by_mcpsnoop(lines),
        Target::Har => held_by_har(lines),
    }
}

/// Frames, eofs and exits; times from the first one on; streams by number.
fn held_by_traces(lines: &[Told]) -> Vec<Told> {
    let is_timed = lines.iter().any(|told| told.t_ms.is_some());
    let (mut start, mut now) = (None, 0);
    let mut links: Vec<Option<String>> = vec![];
    let mut streams: BTreeMap<Option<String>, Vec<String>> = BTreeMap::new();
    let mut held = vec![];
    for told in lines {
        if let Some(t_ms) = told.t_ms {
            let from = if t_ms < 100_000_000_000 { 0 } else { t_ms };
            now = t_ms.saturating_sub(*start.get_or_insert(from));
        }
        let told = Told {
            t_ms: is_timed.then_some(now),
            ..told.clone()
        };
        match &told.what {
            What::Frame {
                from,
                raw,
                cut_from_bytes: None,
                ..
            } => {
                let seen = streams.entry(told.session.clone()).or_default();
                let stream = told.stream.as_ref().map(|name| {
                    let at = seen.iter().position(|known| known == name);
                    let at = at.unwrap_or_else(|| {
                        seen.push(name.clone());
                        seen.len() - 1
                    });
                    (at + 1).to_string()
                });
                if !links.contains(&told.session) {
                    links.push(told.session.clone());
                }
                let plain = Told::frame(*from, raw);
                held.push(Told {
                    stream,
                    what: plain.what,
                    ..told
                });
            }
            What::Event {
                name, by: Some(by), ..
            } if (name == "eof" || name == "exit") && told.stream.is_none() => {
                let concerned = if told.session.is_none() && !links.is_empty() {
                    links.clone()
                } else {
                    if !links.contains(&told.session) {
                        links.push(told.session.clone());
                    }
                    vec![told.session.clone()]
                };
                held.extend(concerned.into_iter().map(|session| Told {
                    t_ms: told.t_ms,
                    session,
                    ..Told::event(name, *by)
                }));
            }
            _ => {}
        }
    }
    held
}

/// JSON as it stands between the white space around it, on one line; everything else as text.
fn on_a_line(told: &Told, raw: &[u8], is_value: impl Fn(&str) -> bool) -> Vec<u8> {
    let text = String::from_utf8_lossy(raw);
    let plain = text.trim_matches([' ', '\t', '\r', '\n']);
    let is_broken = told.stream.is_none() && raw.contains(&b'\n');
    if is_broken || matches!(text, std::borrow::Cow::Owned(_)) || !is_value(plain) {
        return text.into_owned().into_bytes();
    }
    plain.replace(['\n', '\r'], " ").into_bytes()
}

const LAST_DATE_MS: u64 = 253_402_300_799_999;

fn held_by_mcp_trace(lines: &[Told]) -> Vec<Told> {
    let (mut is_http, mut exchange) = (false, 0_u64);
    let mut held = vec![];
    for told in lines {
        is_http |= told.stream.is_some() || told.http.is_some();
        let t_ms = told.t_ms.filter(|t_ms| *t_ms <= LAST_DATE_MS);
        let is_placed = !matches!(told.what, What::Event { by: None, .. });
        let head = told.http.as_ref().and_then(|http| http.head.clone());
        if let Some(head) = head.filter(|_| is_placed) {
            let by = match head.start {
                Start::Request { .. } => Role::Client,
                Start::Answer { .. } => Role::Server,
            };
            exchange += u64::from(by == Role::Client);
            held.push(Told {
                t_ms,
                stream: (by == Role::Client).then(|| exchange.to_string()),
                http: Some(Http {
                    head: Some(without_target(head)),
                    sse: Sse::default(),
                }),
                ..Told::new(What::Head(by))
            });
        }
        match &told.what {
            What::Frame {
                from,
                raw,
                cut_from_bytes: None,
                ..
            } => {
                let is_value = |text: &str| {
                    !text.starts_with(['"', 'n']) && serde_json::from_str::<Value>(text).is_ok()
                };
                held.push(Told {
                    t_ms,
                    stream: (is_http && *from == Role::Client).then(|| exchange.to_string()),
                    ..Told::frame(*from, &on_a_line(told, raw, is_value))
                });
            }
            What::Event {
                name, by: Some(by), ..
            } if told.stream.is_none() => {
                let name = match name.as_str() {
                    "eof" | "exit" => "eof",
                    "drop" => "drop",
                    _ => continue,
                };
                held.push(Told {
                    t_ms,
                    ..Told::event(name, *by)
                });
            }
            _ => {}
        }
    }
    held
}

/// The names of fields are small there, each once, in their order.
fn without_target(head: Head<'static>) -> Head<'static> {
    let start = match head.start {
        Start::Request { method, .. } => Start::Request {
            method,
            target: None,
        },
        answer @ Start::Answer { .. } => answer,
    };
    let fields = head.fields.map(|fields| {
        let mut joined: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for Field { name, value } in fields {
            let values = joined.entry(name.to_ascii_lowercase()).or_default();
            values.push(value.into_owned());
        }
        let joined = joined.into_iter();
        let field = |(name, values): (String, Vec<String>)| Field {
            name: name.into(),
            value: values.join(", ").into(),
        };
        joined.map(field).collect()
    });
    Head { start, fields }
}

fn held_by_mcpsnoop(lines: &[Told]) -> Vec<Told> {
    let mut held = vec![];
    for told in lines {
        let kept = match &told.what {
            What::Frame {
                from,
                raw,
                cut_from_bytes,
                ..
            } => {
                let is_value = |text: &str| text != "null" && is_json(text);
                let mut kept = Told::frame(*from, &on_a_line(told, raw, is_value));
                if let What::Frame {
                    cut_from_bytes: cut,
                    ..
                } = &mut kept.what
                {
                    *cut = cut_from_bytes.map(|_| 0);
                }
                kept
            }
            What::Event {
                name,
                by: Some(Role::Server),
                raw,
                ..
            } if name == "stderr" => {
                let raw = String::from_utf8_lossy(raw).into_owned().into_bytes();
                let mut kept = Told::event("stderr", Role::Server);
                if let What::Event { raw: said, .. } = &mut kept.what {
                    *said = raw;
                }
                kept
            }
            _ => continue,
        };
        held.push(Told {
            t_ms: told.t_ms.filter(|t_ms| *t_ms <= LAST_DATE_MS),
            session: Some(told.session.clone().unwrap_or("mcpsim".to_owned())),
            ..kept
        });
    }
    held
}

/// JSON of any depth, with numbers of any size.
fn is_json(text: &str) -> bool {
    let mut scanner = mcpsim_traces::scan::Scanner::new();
    scanner.value(text.as_bytes(), 0) == Ok(text.len())
}

/// Frames of each side.
fn held_by_har(lines: &[Told]) -> Vec<Told> {
    let mut held = vec![];
    for told in lines {
        if let What::Frame {
            from,
            raw,
            cut_from_bytes: None,
            ..
        } = &told.what
        {
            held.push(Told::frame(*from, raw));
        }
    }
    held
}

// ---- Any recording.

fn any_role() -> impl Strategy<Value = Role> {
    prop_oneof![Just(Role::Client), Just(Role::Server)]
}

/// Frames as they should be, and as they should not.
fn any_raw() -> impl Strategy<Value = Vec<u8>> {
    let deep = format!("{}{}", "[".repeat(300), "]".repeat(300));
    let odd = [
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        r#" {"jsonrpc":"2.0","id":1,"result":{}}"#,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r",
        "{\"jsonrpc\":\n\"2.0\",\r\n\"id\":1}",
        r#"{"a":2.0,"b":1e400,"c":123456789012345678901234567890,"d":-0.0}"#,
        r#"{"a":1,"a":2,"b":{"c":1,"c":[]}}"#,
        r#"{"half":"\ud800","pair":"\ud83d\ude00"}"#,
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{}]"#,
        r#""text""#,
        "null",
        "true",
        "17",
        "",
        " ",
        "{\"jsonrpc\":\"2.0\",\"id\":",
        "Listening on port 80\u{1b}[0m",
        "two\nlines",
        "null and void",
        "\u{feff}{}",
        "{\"a\":\"\u{2028}\u{7f}é\"}",
        &deep,
    ];
    let odd: Vec<Vec<u8>> = odd.iter().map(|text| text.as_bytes().to_vec()).collect();
    prop_oneof![
        4 => proptest::sample::select(odd),
        1 => proptest::collection::vec(any::<u8>(), 0..20),
        1 => Just(b"{\"a\":\"\xFF\"}".to_vec()),
        1 => any::<String>().prop_map(String::into_bytes),
        1 => any::<String>().prop_map(|text| serde_json::json!({ text.clone(): text }).to_string().into_bytes()),
    ]
}

fn any_time() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![
        2 => Just(None),
        2 => (0u64..100_000).prop_map(Some),
        2 => (1_772_615_700_000u64..1_772_615_800_000).prop_map(Some),
        1 => Just(Some(LAST_DATE_MS + 1)),
        1 => any::<u64>().prop_map(Some),
    ]
}

fn any_fields() -> impl Strategy<Value = Option<Vec<Field<'static>>>> {
    let names = [
        "Accept",
        "content-type",
        "Mcp-Session-Id",
        "MCP-Protocol-Version",
    ];
    let values = [
        "application/json",
        "text/event-stream; charset=utf-8",
        "s\u{e9} \"1\"",
        "",
    ];
    let any = |texts: &'static [&'static str]| proptest::sample::select(texts);
    let (names, values): (&'static [_; 4], &'static [_; 4]) =
        (Box::leak(Box::new(names)), Box::leak(Box::new(values)));
    let field = (any(names), any(values)).prop_map(|(name, value)| Field {
        name: name.into(),
        value: value.into(),
    });
    // Names come in order: a capture puts those together that are the same.
    let fields = proptest::collection::vec(field, 0..4).prop_map(|mut fields| {
        fields.sort_by(|one, other| one.name.cmp(&other.name));
        fields
    });
    proptest::option::of(fields)
}

fn any_http(by: Role) -> impl Strategy<Value = Http<'static>> {
    let target = proptest::option::of(proptest::sample::select(
        &["/mcp", "/a?b=c&d", "http://h:1/x"][..],
    ));
    let method = proptest::sample::select(&["POST", "GET", "DELETE"][..]);
    let start = match by {
        Role::Client => (method, target)
            .prop_map(|(method, target)| Start::Request {
                method: method.into(),
                target: target.map(Into::into),
            })
            .boxed(),
        Role::Server => (100u16..600)
            .prop_map(|status| Start::Answer { status })
            .boxed(),
    };
    let head = (start, any_fields()).prop_map(|(start, fields)| Head { start, fields });
    let text = proptest::option::of(proptest::sample::select(&["1", "e\u{e9}", ""][..]));
    let sse =
        (text.clone(), text, proptest::option::of(0u64..1000)).prop_map(|(id, event, retry_ms)| {
            Sse {
                id: id.map(Into::into),
                event: event.map(Into::into),
                retry_ms,
            }
        });
    let sse = match by {
        Role::Client => Just(Sse::default()).boxed(),
        Role::Server => sse.boxed(),
    };
    (proptest::option::of(head), sse).prop_map(|(head, sse)| Http { head, sse })
}

fn any_what() -> impl Strategy<Value = (Role, What)> {
    let size = || proptest::option::weighted(0.1, 0u64..1000);
    let frame = (
        any_role(),
        any_raw(),
        prop::bool::weighted(0.9),
        size(),
        size(),
    )
        .prop_map(|(from, raw, has_eol, pad_to, cut_from_bytes)| {
            let what = What::Frame {
                from,
                raw,
                has_eol,
                pad_to,
                cut_from_bytes,
            };
            (from, what)
        });
    let names = EventKind::ALL.iter().map(|kind| kind.as_str());
    let names = names.filter(|name| *name != "recording");
    let names: Vec<&str> = names.chain(["stderr", "something \u{1b}"]).collect();
    let event = (
        any_role(),
        any::<bool>(),
        proptest::sample::select(names),
        proptest::option::of(any::<i64>()),
        any_raw(),
    )
        .prop_map(|(role, is_placed, name, status, raw)| {
            let what = What::Event {
                name: name.to_owned(),
                by: is_placed.then_some(role),
                status,
                raw,
            };
            (role, what)
        });
    let head = any_role().prop_map(|role| (role, What::Head(role)));
    prop_oneof![6 => frame, 2 => event, 1 => head]
}

fn any_told() -> impl Strategy<Value = Told> {
    let name = |names: &'static [&'static str]| {
        proptest::option::of(proptest::sample::select(names).prop_map(str::to_owned))
    };
    let with_http = |(role, what): (Role, What)| {
        let needs_one = matches!(what, What::Head(_));
        // What happened to nobody has no head of somebody's.
        let has_none = matches!(what, What::Event { by: None, .. });
        let http = match needs_one {
            true => any_http(role).prop_map(Some).boxed(),
            false => proptest::option::weighted(0.3, any_http(role)).boxed(),
        };
        http.prop_map(move |http| {
            let http = http.filter(|http| !http.is_empty() && !has_none);
            let is_bare = needs_one && http.is_none();
            let status = Http {
                head: Some(Head::of_status(202)),
                sse: Sse::default(),
            };
            match is_bare {
                true => (Some(status), What::Head(Role::Server)),
                false => (http, what.clone()),
            }
        })
    };
    (
        any_time(),
        name(&["one", "tw\u{f6}"]),
        name(&["1", "2", "get"]),
        any_what().prop_flat_map(with_http),
    )
        .prop_map(|(t_ms, session, stream, (http, what))| Told {
            t_ms,
            session,
            stream,
            http,
            what,
        })
}

fn any_lines() -> impl Strategy<Value = Vec<Told>> {
    // Most recordings have neither times nor streams here and there.
    let thin = |(mut lines, is_timed, is_piped, is_one): (Vec<Told>, bool, bool, bool)| {
        for told in &mut lines {
            told.t_ms = told.t_ms.filter(|_| is_timed);
            told.session = told.session.take().filter(|_| !is_one);
            if is_piped {
                told.stream = None;
                told.http = None;
            }
        }
        lines.retain(|told| !matches!(told.what, What::Head(_)) || told.http.is_some());
        lines.retain(|told| !told.is_about_the_recording());
        lines
    };
    let lines = proptest::collection::vec(any_told(), 0..12);
    (lines, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(thin)
}

fn any_opening() -> impl Strategy<Value = Opening> {
    let vantages = [Vantage::Client, Vantage::Server, Vantage::Between];
    let vantage = proptest::option::of(proptest::sample::select(vantages.to_vec()));
    let kinds = [LinkKind::Pipe, LinkKind::Http];
    let transport = proptest::option::of(proptest::sample::select(kinds.to_vec()));
    (vantage, transport, any::<bool>()).prop_map(|(vantage, transport, whole)| Opening {
        vantage,
        transport,
        whole,
    })
}

/// No line of mcp-trace says which exchange it belongs to. What a reader concludes from what fits is not lost, anything else is.
#[test]
fn overlapping_exchanges_are_lost_where_they_are_read_otherwise() {
    let head = |stream: &str, by: Role, start: Start<'static>| {
        let head = Some(Head {
            start,
            fields: Some(vec![]),
        });
        let sse = Sse::default();
        Told {
            stream: Some(stream.to_owned()),
            http: Some(Http { head, sse }),
            ..Told::new(What::Head(by))
        }
    };
    let post = |stream: &str, text: &str| {
        let start = Start::Request {
            method: "POST".into(),
            target: None,
        };
        let frame = Told {
            stream: Some(stream.to_owned()),
            ..Told::frame(Role::Client, text.as_bytes())
        };
        [head(stream, Role::Client, start), frame]
    };
    let status = |stream: &str, status| head(stream, Role::Server, Start::Answer { status });
    let ping = |id: u32| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}");
    let pong = |stream: &str, id: u32| {
        let text = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}");
        Told {
            stream: Some(stream.to_owned()),
            ..Told::frame(Role::Server, text.as_bytes())
        }
    };
    let note = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let lost = |lines: &[Told]| {
        let (bytes, converted) = written(made(lines), Target::McpTrace);
        let mut losses = converted.losses.iter();
        let lost = losses.find(|(what, _)| what.ends_with("whose exchange is lost"));
        (bytes, lost.map_or(0, |(_, count)| count))
    };
    let begun = [post("1", note), post("2", &ping(1)), post("3", &ping(2))].concat();

    // The 202 is the notification's, and each answer that of its request.
    let rest = [
        status("1", 202),
        status("2", 200),
        status("3", 200),
        pong("3", 2),
        pong("2", 1),
    ];
    let lines = [&begun[..], &rest].concat();
    let (bytes, count) = lost(&lines);
    assert_eq!(count, 0);
    let streams = |lines: &[Told]| -> Vec<Option<String>> {
        lines.iter().map(|told| told.stream.clone()).collect()
    };
    assert_eq!(streams(&read_back(&bytes)), streams(&lines));

    // A status that the other request may have got as well.
    let rest = [status("3", 404), status("1", 202), status("2", 200)];
    let (_, count) = lost(&[&begun[..], &rest].concat());
    assert!(count > 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// What the form can hold comes back as it was.
    #[test]
    fn what_a_form_holds_comes_back(lines in any_lines()) {
        for target in READ_BACK {
            let (bytes, _) = written(made(&lines), target);
            let held = held(target, &lines);
            // Without a line there is nothing to tell the form by.
            if held.is_empty() {
                continue;
            }
            let mut back = read_back(&bytes);
            if target == Target::McpTrace {
                // Which exchange a line of the server is read as part of is concluded, and has tests of its own.
                let of_server = |told: &&mut Told| told.is_of_server() && told.stream.is_some();
                back.iter_mut().filter(of_server).for_each(|told| told.stream = None);
            }
            prop_assert_eq!(back, held, "{}: {}", target.as_str(), String::from_utf8_lossy(&bytes));
        }
    }

    /// Nothing is lost in silence: without a word of it, all is there.
    #[test]
    fn what_is_lost_is_counted(lines in any_lines()) {
        for target in READ_BACK {
            let (bytes, converted) = written(made(&lines), target);
            let mut losses = converted.losses.iter();
            // That readers take payloads as parsed loses nothing that this one reads.
            if losses.any(|(what, _)| !what.starts_with("raw text of frames")) || lines.is_empty() {
                continue;
            }
            let nameless = |told: &Told| Told {
                // Traces count from the first one.
                t_ms: told.t_ms.filter(|_| target != Target::Trace),
                session: told.session.clone().filter(|name| name != "mcpsim"),
                // An exchange is what has the same name.
                stream: None,
                ..told.clone()
            };
            let before: Vec<Told> = lines.iter().map(nameless).collect();
            let after: Vec<Told> = read_back(&bytes).iter().map(nameless).collect();
            if target == Target::McpTrace && lines.iter().any(|told| told.http.is_some()) {
                // Heads have lines of their own there.
                continue;
            }
            prop_assert_eq!(after, before, "{}", target.as_str());
        }
    }

    /// A capture that is converted to a capture is the same to the byte, and so are what it says of itself.
    #[test]
    fn a_capture_of_a_capture_is_the_same(lines in any_lines(), opening in any_opening(), is_lossy in any::<bool>()) {
        let lost = if is_lossy { Lost::RAW | Lost::TIME } else { Lost::NOTHING };
        let recording = Made { opening, lost, ..made(&lines) };
        let (first, converted) = written(recording, Target::Capture);
        prop_assert!(converted.losses.is_empty());
        if first.is_empty() {
            return Ok(());
        }
        let mut again = opened(&first);
        prop_assert_eq!(again.opening(), opening);
        let lines_again = all(&mut *again);
        prop_assert_eq!((lines_again, again.lost()), (lines, lost));
        let Log::Capture(reader) = Log::open(Cursor::new(first.clone())).expect("a capture") else {
            panic!("a capture");
        };
        prop_assert_eq!(String::from_utf8(written(*reader, Target::Capture).0), String::from_utf8(first));
    }

    /// A trace says what the recording was: where its observer stood, what it had lost.
    #[test]
    fn a_trace_keeps_the_circumstances(lines in any_lines(), opening in any_opening(), is_lossy in any::<bool>()) {
        let lost = if is_lossy { Lost::RAW | Lost::ORDER } else { Lost::NOTHING };
        let (bytes, _) = written(Made { opening, lost, ..made(&lines) }, Target::Trace);
        let again = opened(&bytes);
        let is_timed = lines.iter().any(|told| told.t_ms.is_some());
        let untimed = if is_timed { Lost::NOTHING } else { Lost::TIME };
        // An event without data has no line there, and its id is gone.
        let has_ids = |told: &Told| told.http.as_ref().is_some_and(|http| !http.sse.is_empty());
        let is_bare = |told: &&Told| matches!(told.what, What::Head(_));
        let without_ids = if lines.iter().filter(is_bare).any(has_ids) { Lost::EVENT_IDS } else { Lost::NOTHING };
        prop_assert_eq!(again.lost(), lost | untimed | without_ids);
        prop_assert_eq!(again.opening().whole, opening.whole);
        prop_assert_eq!(again.opening().vantage, opening.vantage.or(Some(Vantage::Between)));
    }

    /// In what order exchanges were, an archive does not hold; each of them comes back.
    #[test]
    fn what_an_archive_holds_comes_back(lines in any_lines()) {
        let (bytes, converted) = written(made(&lines), Target::Har);
        let again = read_back_if_any(&bytes);
        let shown = String::from_utf8_lossy(&bytes);
        prop_assert_eq!(Exchanged::of(&again).frames, Exchanged::of(&lines).frames, "{}", shown);
        prop_assert_eq!(Exchanged::of(&again).asked, Exchanged::of(&lines).asked, "{}", shown);
        prop_assert_eq!(Exchanged::of(&again).events, Exchanged::of(&lines).events, "{}", shown);
        let mut given = Exchanged::of(&lines).answered;
        for head in Exchanged::of(&again).answered {
            let at = given.iter().position(|known| *known == head);
            prop_assert!(at.is_some(), "{} in {}", head, shown);
            given.remove(at.expect("it is there"));
        }
        // Without a word of loss, nothing is missing.
        if converted.losses.is_empty() {
            prop_assert_eq!(given, Vec::<String>::new());
            prop_assert_eq!(Exchanged::of(&again).ends, Exchanged::of(&lines).ends, "{}", shown);
        }
    }

    /// … and what the recording was.
    #[test]
    fn an_archive_keeps_the_circumstances(lines in any_lines(), opening in any_opening(), is_lossy in any::<bool>()) {
        let lost = if is_lossy { Lost::RAW | Lost::EVENT_IDS } else { Lost::NOTHING };
        let (bytes, _) = written(Made { opening, lost, ..made(&lines) }, Target::Har);
        let Ok(log) = Log::open(Cursor::new(bytes)) else {
            return Ok(());
        };
        let again = log.into_recording();
        prop_assert!(again.lost().has(lost));
        prop_assert_eq!(again.lost().has(Lost::EVENT_IDS), is_lossy);
        prop_assert_eq!(again.opening().vantage, opening.vantage);
        prop_assert_eq!(again.opening().whole, opening.whole);
    }

    /// An archive has the members that HTTP Archive 1.2 wants, and every frame of each side.
    #[test]
    fn an_archive_has_its_form_and_every_frame(lines in any_lines()) {
        let (bytes, _) = written(made(&lines), Target::Har);
        let archive: Value = serde_json::from_slice(&bytes).expect("JSON");
        let mut found = frames_of(&archive);
        let is_text = |told: &Told| matches!(&told.what, What::Frame { raw, .. } if plain(raw));
        // What an archive does not keep to the byte is counted, and not compared.
        let mut wanted = held(Target::Har, &lines);
        wanted.retain(is_text);
        found.retain(is_text);
        let order = |told: &Told| format!("{told:?}");
        wanted.sort_by_key(order);
        found.sort_by_key(order);
        prop_assert_eq!(found, wanted, "{}", String::from_utf8_lossy(&bytes));
    }
}

fn read_back_if_any(bytes: &[u8]) -> Vec<Told> {
    // Without an exchange there is nothing to be read.
    match Log::open(Cursor::new(bytes.to_vec())) {
        Ok(log) => all(&mut *log.into_recording()),
        Err(error) => {
            assert!(error.to_string().contains("no exchange in it"), "{error}");
            vec![]
        }
    }
}

/// What is told of exchanges, each kind in words and in no order.
#[derive(Default)]
struct Exchanged {
    frames: Vec<String>,
    asked: Vec<String>,
    answered: Vec<String>,
    /// What server-sent events have beside their data.
    events: Vec<String>,
    ends: Vec<String>,
}

impl Exchanged {
    fn of(lines: &[Told]) -> Exchanged {
        let mut told = Exchanged::default();
        for line in lines {
            told.take(line);
        }
        for all in [
            &mut told.frames,
            &mut told.asked,
            &mut told.answered,
            &mut told.events,
            &mut told.ends,
        ] {
            all.sort();
        }
        told
    }

    fn take(&mut self, line: &Told) {
        let is_of_exchange = line.stream.is_some();
        let http = line.http.as_ref().filter(|_| is_of_exchange);
        // A session that only the answer names is that of the request, too.
        let session = |by| match by {
            Role::Client => None,
            Role::Server => line.session.clone(),
        };
        if let Some(head) = http.and_then(|http| http.head.as_ref()) {
            match &head.start {
                // Addresses are whole there: how a request spelled its own is not held.
                Start::Request { method, target } => {
                    let path = target
                        .as_deref()
                        .map(|target| target.strip_prefix("http://h:1").unwrap_or(target));
                    self.asked
                        .push(format!("{method} {path:?} {:?}", head.fields));
                }
                Start::Answer { status } => {
                    let session = session(Role::Server);
                    self.answered
                        .push(format!("{session:?} {status} {:?}", head.fields));
                }
            }
        }
        let is_cut = matches!(
            line.what,
            What::Frame {
                cut_from_bytes: Some(_),
                ..
            }
        );
        let sse = http.map(|http| &http.sse).filter(|sse| !sse.is_empty());
        if let Some(sse) = sse.filter(|_| !is_cut) {
            self.events.push(format!("{:?} {sse:?}", line.session));
        }
        match &line.what {
            What::Frame {
                from,
                raw,
                cut_from_bytes: None,
                ..
            } if plain(raw) => {
                let raw = String::from_utf8_lossy(raw);
                self.frames
                    .push(format!("{from:?} {:?} {raw}", session(*from)));
            }
            What::Event { name, by, .. } if is_of_exchange => {
                let by = by.filter(|_| name == "eof");
                if matches!(name.as_str(), "eof" | "drop" | "empty-body") {
                    self.ends.push(format!("{name} {by:?}"));
                }
            }
            _ => {}
        }
    }
}

/// Whether a frame is the same in an archive, in a body or in an event.
fn plain(raw: &[u8]) -> bool {
    let has_ends = raw.iter().any(|byte| matches!(byte, b'\r' | b'\n'));
    std::str::from_utf8(raw).is_ok_and(|text| !text.contains('\u{fffd}'))
        && !has_ends
        && !raw.is_empty()
}

/// The frames of an archive, whose members are looked at on the way.
fn frames_of(archive: &Value) -> Vec<Told> {
    let log = &archive["log"];
    assert_eq!(log["version"], "1.2");
    assert!(log["creator"]["name"].is_string() && log["creator"]["version"].is_string());
    let pages = log["pages"].as_array().expect("pages");
    let mut frames = vec![];
    for entry in log["entries"].as_array().expect("entries") {
        let started = entry["startedDateTime"].as_str().expect("a date");
        assert!(started.len() == 24 && started.ends_with('Z'), "{started}");
        let timings =
            ["send", "wait", "receive"].map(|name| entry["timings"][name].as_u64().expect(name));
        assert_eq!(entry["time"].as_u64(), Some(timings.iter().sum()));
        assert!(entry["cache"].is_object());
        if let Some(page) = entry.get("pageref") {
            assert!(pages.iter().any(|known| known["id"] == *page));
        }
        let (request, response) = (&entry["request"], &entry["response"]);
        for part in [request, response] {
            for list in ["cookies", "headers"] {
                assert!(part[list].is_array(), "{list}");
            }
            assert!(part["httpVersion"].is_string());
            assert!(part["headersSize"].is_i64() && part["bodySize"].is_i64());
        }
        assert!(request["method"].is_string() && request["queryString"].is_array());
        assert!(request["url"].as_str().expect("an address").contains("://"));
        assert!(response["status"].is_u64() && response["statusText"].is_string());
        assert_eq!(response["redirectURL"], "");
        if let Some(body) = request.get("postData") {
            assert!(body["mimeType"].is_string());
            let text = body["text"].as_str().expect("a body");
            frames.push(Told::frame(Role::Client, text.as_bytes()));
        }
        let content = &response["content"];
        let kind = content["mimeType"].as_str().expect("its kind");
        // Where nothing is known of a body, its size is not either.
        if content["size"] == -1 {
            assert!(content.get("text").is_none() && response["bodySize"] == -1);
            continue;
        }
        let text = content["text"].as_str().expect("text");
        let text = match content.get("encoding") {
            Some(encoding) => {
                assert_eq!(encoding, "base64");
                STANDARD.decode(text).expect("base64")
            }
            None => text.as_bytes().to_vec(),
        };
        assert_eq!(content["size"], text.len());
        if kind.starts_with("text/event-stream") {
            let data = events_of(&text).into_iter();
            frames.extend(data.map(|data| Told::frame(Role::Server, &data)));
        } else if !text.is_empty() {
            frames.push(Told::frame(Role::Server, &text));
        }
    }
    frames
}

/// The data of server-sent events.
fn events_of(text: &[u8]) -> Vec<Vec<u8>> {
    let mut events = vec![];
    let mut data: Vec<&[u8]> = vec![];
    for line in text.split(|byte| *byte == b'\n') {
        match line.strip_prefix(b"data: ") {
            Some(rest) => data.push(rest),
            None if line.is_empty() && !data.is_empty() => {
                events.push(data.join(&b'\n'));
                data.clear();
            }
            None => {}
        }
    }
    events
}

// ---- One thing at a time.

fn losses(lines: &[Told], target: Target) -> Vec<(&'static str, u64)> {
    written(made(lines), target).1.losses.iter().collect()
}

/// Each oddity of a frame, and what the forms that cannot hold it say.
#[test]
fn odd_frames_are_counted_where_they_do_not_fit() {
    let raw = "raw text of frames: what reads payloads takes them as parsed";
    for (frame, of_mcp_trace, of_mcpsnoop) in [
        (
            &b"{\"a\":2.0,\"b\":12345678901234567890123}"[..],
            vec![(raw, 1)],
            vec![],
        ),
        (
            b"{\"a\":1e400}",
            vec![(
                "frames that its reader cannot parse (numbers, nesting, half surrogates), now text",
                1,
            )],
            vec![],
        ),
        (
            b"{\"a\":\"\\ud800\"}",
            vec![(
                "frames that its reader cannot parse (numbers, nesting, half surrogates), now text",
                1,
            )],
            vec![],
        ),
        (
            b"{\"a\":[{\"b\":1,\"b\":2}]}",
            vec![
                (
                    "frames in which a member stands twice: what reads them keeps the last",
                    1,
                ),
                (raw, 1),
            ],
            vec![],
        ),
        (
            b"{\"a\":1}\r",
            vec![(raw, 1), ("white space around frames", 1)],
            vec![("white space around frames", 1)],
        ),
        (
            b"{\"a\":\"\xFF\"}",
            vec![("frames with bytes that are not UTF-8, now U+FFFD", 1)],
            vec![("frames with bytes that are not UTF-8, now U+FFFD", 1)],
        ),
        (b"no JSON", vec![], vec![]),
        (b"[{\"id\":1},{\"id\":2}]", vec![(raw, 1)], vec![]),
    ] {
        let lines = [Told::frame(Role::Server, frame)];
        let shown = frame.escape_ascii();
        assert_eq!(losses(&lines, Target::McpTrace), of_mcp_trace, "{shown}");
        assert_eq!(losses(&lines, Target::Mcpsnoop), of_mcpsnoop, "{shown}");
        for target in [Target::Capture, Target::Trace] {
            assert_eq!(losses(&lines, target), [], "{shown}");
        }
    }
}

/// mcp-trace wants no credentials, and has each name once.
#[test]
fn headers_of_mcp_trace_are_few_and_small() {
    let field = |name: &'static str, value: &'static str| Field {
        name: name.into(),
        value: value.into(),
    };
    let head = Head {
        start: Start::Request {
            method: "POST".into(),
            target: None,
        },
        fields: Some(vec![
            field("Authorization", "Bearer x"),
            field("Accept", "a/b"),
            field("accept", "c/d"),
        ]),
    };
    let told = Told {
        stream: Some("1".to_owned()),
        http: Some(Http {
            head: Some(head),
            sse: Sse::default(),
        }),
        ..Told::new(What::Head(Role::Client))
    };
    let (bytes, converted) = written(made(&[told]), Target::McpTrace);
    let wanted = concat!(
        r#"{"seq":0,"direction":"client-to-server","transport":"streamable-http","kind":"http","method":"POST","#,
        r#""headers":{"accept":"a/b, c/d"}}"#,
        "\n"
    );
    assert_eq!(String::from_utf8(bytes).as_deref(), Ok(wanted));
    let losses: Vec<_> = converted.losses.iter().collect();
    assert_eq!(
        losses,
        [
            (
                "header fields that stand there more than once, now joined",
                1
            ),
            ("header fields with credentials, left out", 1),
        ]
    );
}

/// A place that cannot be used is told, and what is around it is there; the new file knows that something is missing.
#[test]
fn broken_places_are_told_and_leave_a_mark() {
    let ping = || Some(Told::frame(Role::Client, b"{}"));
    for target in Target::ALL {
        let mut recording = Made {
            lines: vec![ping(), None, ping(), None],
            ..Made::default()
        };
        let (mut out, mut told) = (vec![], vec![]);
        let to = Destination {
            out: &mut out,
            spool: Cursor::new(vec![]),
            program: "mcpsim 1".to_owned(),
        };
        let converted = convert(&mut recording, target, to, |error| {
            told.push(error.to_string())
        });
        let converted = converted.expect("memory does not fail");
        assert_eq!(told, ["2:1: unusable", "4:1: unusable"]);
        assert_eq!((converted.frames, converted.errors), (2, 2));
        if matches!(target, Target::Capture | Target::Trace | Target::Har) {
            let mut again = opened(&out);
            assert_eq!(all(&mut *again).len(), 2);
            assert!(again.lost().has(Lost::FRAMES));
        } else {
            let warned = converted
                .remarks
                .iter()
                .any(|remark| remark.contains("some frames"));
            assert!(warned, "{:?}", converted.remarks);
        }
    }
}

/// The whole of a small session on a pipe, in every form: read the difference before accepting another.
#[test]
fn a_small_session_in_every_form() {
    let mut lines = vec![
        Told::frame(Role::Client, br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#),
        Told::frame(Role::Server, br#"{"jsonrpc":"2.0","method":"x"}"#),
        Told::frame(Role::Server, br#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
        Told::event("exit", Role::Server),
    ];
    for (told, t_ms) in lines.iter_mut().zip([2, 3, 5, 9]) {
        told.t_ms = Some(t_ms);
    }
    for (target, wanted) in [
        (
            Target::Capture,
            concat!(
                r#"{"t_ms":2,"dir":"c2s","raw":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"}"#,
                "\n",
                r#"{"t_ms":3,"dir":"s2c","raw":"{\"jsonrpc\":\"2.0\",\"method\":\"x\"}"}"#,
                "\n",
                r#"{"t_ms":5,"dir":"s2c","raw":"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"}"#,
                "\n",
                r#"{"t_ms":9,"dir":"s2c","event":"exit"}"#,
                "\n",
            ),
        ),
        (
            Target::McpTrace,
            concat!(
                r#"{"seq":0,"direction":"client-to-server","transport":"stdio","kind":"message","payload":{"jsonrpc":"2.0","id":1,"method":"ping"},"ts":"1970-01-01T00:00:00.002Z"}"#,
                "\n",
                r#"{"seq":1,"direction":"server-to-client","transport":"stdio","kind":"message","payload":{"jsonrpc":"2.0","method":"x"},"ts":"1970-01-01T00:00:00.003Z"}"#,
                "\n",
                r#"{"seq":2,"direction":"server-to-client","transport":"stdio","kind":"message","payload":{"jsonrpc":"2.0","id":1,"result":{}},"ts":"1970-01-01T00:00:00.005Z"}"#,
                "\n",
                r#"{"seq":3,"direction":"server-to-client","transport":"stdio","kind":"lifecycle","event":"transport-close","ts":"1970-01-01T00:00:00.009Z"}"#,
                "\n",
            ),
        ),
        (
            Target::Mcpsnoop,
            concat!(
                r#"{"session_id":"mcpsim","server_label":"server","seq":1,"ts":"1970-01-01T00:00:00.002Z","direction":"c2s","transport":"stdio","raw":{"jsonrpc":"2.0","id":1,"method":"ping"}}"#,
                "\n",
                r#"{"session_id":"mcpsim","server_label":"server","seq":2,"ts":"1970-01-01T00:00:00.003Z","direction":"s2c","transport":"stdio","raw":{"jsonrpc":"2.0","method":"x"}}"#,
                "\n",
                r#"{"session_id":"mcpsim","server_label":"server","seq":3,"ts":"1970-01-01T00:00:00.005Z","direction":"s2c","transport":"stdio","raw":{"jsonrpc":"2.0","id":1,"result":{}}}"#,
                "\n",
            ),
        ),
        (
            Target::Har,
            concat!(
                r#"{"log":{"version":"1.2","creator":{"name":"mcpsim","version":"test"},"pages":[],"entries":["#,
                "\n",
                r#"{"startedDateTime":"1970-01-01T00:00:00.002Z","time":3,"request":{"method":"POST","url":"http://mcp.invalid","httpVersion":"unknown","cookies":[],"headers":[],"comment":"the head was not recorded","queryString":[],"headersSize":-1,"bodySize":40,"postData":{"mimeType":"application/json","text":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"}},"response":{"status":200,"statusText":"OK","httpVersion":"unknown","cookies":[],"headers":[],"comment":"the head was not recorded","content":{"size":82,"mimeType":"text/event-stream","text":"data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"},"redirectURL":"","headersSize":-1,"bodySize":82},"cache":{},"timings":{"send":0,"wait":1,"receive":2},"comment":"made up of frames on a pipe"}"#,
                "\n",
                r#"],"comment":"the log tells of no HTTP exchanges: methods and statuses are made up"}}"#,
                "\n",
            ),
        ),
        (
            Target::Trace,
            concat!(
                r#"{"mcpsim_trace":1,"program":"mcpsim test","generator":null,"seed":null,"scenario":null,"revisions":[],"parties":[{"name":"client","role":"client"},{"name":"server","role":"server"}],"links":[{"kind":"pipe","client":0,"server":1}],"vantage":"between","lost":["beginning"],"guessed":[]}"#,
                "\n",
                r#"{"t":2,"open":0}"#,
                "\n",
                r#"{"t":2,"send":1,"link":0,"from":"client","stream":0,"origin":"0.0","raw":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"}"#,
                "\n",
                r#"{"t":2,"recv":1,"link":0,"to":"server"}"#,
                "\n",
                r#"{"t":3,"send":2,"link":0,"from":"server","stream":0,"origin":"1.0","raw":"{\"jsonrpc\":\"2.0\",\"method\":\"x\"}"}"#,
                "\n",
                r#"{"t":3,"recv":2,"link":0,"to":"client"}"#,
                "\n",
                r#"{"t":5,"send":3,"link":0,"from":"server","stream":0,"origin":"1.0","raw":"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"}"#,
                "\n",
                r#"{"t":5,"recv":3,"link":0,"to":"client"}"#,
                "\n",
                r#"{"t":9,"exit":1}"#,
                "\n",
            ),
        ),
    ] {
        let (bytes, _) = written(made(&lines), target);
        let found = String::from_utf8(bytes).expect("text");
        // A trace's closing line has a digest, which its reader checks.
        let found = match target {
            Target::Trace => {
                let Log::Trace(mut trace) = Log::open(Cursor::new(found.clone())).expect("a trace")
                else {
                    panic!("a trace");
                };
                assert!(trace.by_ref().all(|event| event.is_ok()));
                assert!(trace.end().is_some() && !trace.is_altered());
                found
                    .split_inclusive('\n')
                    .filter(|line| !line.starts_with("{\"end\""))
                    .collect()
            }
            _ => found,
        };
        assert_eq!(found, wanted, "{}", target.as_str());
    }
}

/// An exchange over HTTP: its heads, a server-sent event without data, one with a name, and data of two lines.
#[test]
fn an_exchange_is_an_entry() {
    let capture = concat!(
        r#"{"t_ms":10,"dir":"c2s","session":"s","stream":"1","head":{"method":"POST","target":"/mcp?a=b","headers":{"Host":"h:1","Content-Type":"application/json"}},"raw":"{\"id\":1}"}"#,
        "\n",
        r#"{"t_ms":14,"dir":"s2c","session":"s","stream":"1","head":{"status":200,"headers":{"content-type":"text/event-stream"}},"sse_id":"e1","sse_retry":500}"#,
        "\n",
        r#"{"t_ms":15,"dir":"c2s","session":"s","stream":"2","head":{"method":"DELETE"}}"#,
        "\n",
        r#"{"t_ms":17,"dir":"s2c","session":"s","stream":"1","sse_id":"e2","sse_event":"message","raw":"{\n}"}"#,
        "\n",
        r#"{"t_ms":18,"dir":"s2c","session":"s","stream":"2","http":405,"event":"empty-body"}"#,
        "\n",
        r#"{"t_ms":19,"dir":"s2c","session":"s","stream":"1","event":"drop"}"#,
        "\n",
    );
    let Log::Capture(reader) = Log::open(Cursor::new(capture)).expect("a capture") else {
        panic!("a capture");
    };
    let (bytes, converted) = written(*reader, Target::Har);
    let losses: Vec<_> = converted.losses.iter().collect();
    assert_eq!(
        losses,
        [
            ("places of frames among those of other exchanges", 1),
            ("that headers were not recorded", 2),
        ]
    );
    let archive: Value = serde_json::from_slice(&bytes).expect("JSON");
    assert_eq!(frames_of(&archive).len(), 2);
    let entries = archive["log"]["entries"].as_array().expect("entries");
    let [posted, deleted] = &entries[..] else {
        panic!("{entries:?}");
    };
    assert_eq!(posted["startedDateTime"], "1970-01-01T00:00:00.010Z");
    let times = serde_json::json!({"send": 0, "wait": 4, "receive": 3});
    assert_eq!((&posted["time"], &posted["timings"]), (&7.into(), &times));
    assert_eq!(posted["request"]["url"], "http://h:1/mcp?a=b");
    let query = serde_json::json!([{"name": "a", "value": "b"}]);
    assert_eq!(posted["request"]["queryString"], query);
    assert_eq!(posted["request"]["postData"]["text"], "{\"id\":1}");
    let events = "id: e1\nretry: 500\n\nevent: message\nid: e2\ndata: {\ndata: }\n\n";
    assert_eq!(posted["response"]["content"]["text"], events);
    assert_eq!(posted["comment"], "the connection broke");
    assert_eq!(posted["pageref"], archive["log"]["pages"][0]["id"]);
    assert_eq!(deleted["request"]["method"], "DELETE");
    assert_eq!(deleted["response"]["status"], 405);
    assert_eq!(deleted["response"]["content"]["size"], 0);
}
