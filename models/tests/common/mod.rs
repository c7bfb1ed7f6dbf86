//! Reads captures and expectations, and compares findings with what was expected.
#![allow(dead_code, unreachable_pub)]

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mcpsim_models::{LogEvent, LogWhat, Observer, ObserverOptions, Seen, rule};
use mcpsim_traces::classify::classify;
use mcpsim_traces::event::{LinkKind, Role};
use mcpsim_traces::http::{Field, Head, Http, Sse, Start};
use mcpsim_traces::judge::{Ending, Finding, Vantage, Verdict};
use mcpsim_traces::message::Revision;
use mcpsim_traces::scan::Scanner;
use serde_json::Value;

pub fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("cases")
}

pub fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// One line of a capture.
#[derive(Clone, Debug)]
pub struct Line {
    pub from: Role,
    pub bytes: Vec<u8>,
    pub event: Option<String>,
    pub at_ms: Option<u64>,
    pub ended: bool,
    pub stream: Option<String>,
    pub session: Option<String>,
    pub http: Option<Http<'static>>,
    pub status: Option<i32>,
}

impl Line {
    pub fn new(from: Role, text: &str) -> Line {
        Line {
            from,
            bytes: text.as_bytes().to_vec(),
            event: None,
            at_ms: None,
            ended: true,
            stream: None,
            session: None,
            http: None,
            status: None,
        }
    }

    pub fn parse(value: &Value) -> Line {
        let text = |name: &str| value[name].as_str().map(str::to_string);
        let from = match value["dir"].as_str() {
            Some("c2s") => Role::Client,
            Some("s2c") => Role::Server,
            other => panic!("a direction, not {other:?}: {value}"),
        };
        let mut bytes = match text("raw_b64") {
            Some(coded) => base64(&coded),
            None => text("raw").unwrap_or_default().into_bytes(),
        };
        if let Some(size) = value["pad_to"].as_u64() {
            grow(&mut bytes, size as usize);
        }
        Line {
            from,
            bytes,
            event: text("event"),
            at_ms: value["t_ms"].as_u64(),
            ended: value["eol"] != "",
            stream: text("stream"),
            session: text("session"),
            http: http(value),
            status: value["status"].as_i64().map(|status| status as i32),
        }
    }
}

/// What a line tells of HTTP, from its members.
fn http(value: &Value) -> Option<Http<'static>> {
    let text = |value: &Value| value.as_str().map(|text| Cow::Owned(text.to_string()));
    let number = |value: &Value| value.as_u64();
    let head = &value["head"];
    let status = number(&head["status"]).or(number(&value["http"]));
    let start = match text(&head["method"]) {
        Some(method) => Some(Start::Request {
            method,
            target: text(&head["target"]),
        }),
        None => status.map(|status| Start::Answer {
            status: status as u16,
        }),
    };
    let http = Http {
        head: start.map(|start| Head {
            start,
            fields: head["headers"].as_object().map(fields),
        }),
        sse: Sse {
            id: text(&value["sse_id"]),
            event: text(&value["sse_event"]),
            retry_ms: number(&value["sse_retry"]),
        },
    };
    (!http.is_empty()).then_some(http)
}

/// Header fields from an object of names and values, or lists of them.
pub fn fields(headers: &serde_json::Map<String, Value>) -> Vec<Field<'static>> {
    let one = |name: &str, value: &Value| Field {
        name: Cow::Owned(name.to_string()),
        value: Cow::Owned(value.as_str().expect("a header's value").to_string()),
    };
    let mut all = vec![];
    for (name, value) in headers {
        match value.as_array() {
            Some(list) => all.extend(list.iter().map(|value| one(name, value))),
            None => all.push(one(name, value)),
        }
    }
    all
}

fn grow(bytes: &mut Vec<u8>, size: usize) {
    let Some(at) = bytes.iter().position(|&byte| byte == b'A') else {
        return;
    };
    while bytes.len() < size {
        bytes.insert(at, b'A');
    }
}

fn base64(text: &str) -> Vec<u8> {
    let (mut out, mut word, mut bits) = (vec![], 0u32, 0);
    for byte in text.bytes().filter(|&byte| byte != b'=') {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            _ => 63,
        };
        word = word << 6 | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((word >> bits) as u8);
        }
    }
    out
}

/// How a capture is judged.
#[derive(Clone, Copy, Debug)]
pub struct How {
    pub vantage: Vantage,
    pub http: bool,
    pub revision: Option<Revision>,
    pub whole: bool,
    pub quiet: bool,
    pub patience_ms: u64,
}

impl How {
    pub fn from(vantage: Vantage) -> How {
        How {
            vantage,
            http: false,
            revision: None,
            whole: vantage == Vantage::World,
            quiet: false,
            patience_ms: ObserverOptions::PATIENCE_MS,
        }
    }
}

/// Judges the lines, session by session; frames are numbered over all of them.
pub fn judge(lines: &[Line], how: &How) -> Vec<Finding> {
    let mut session_of = BTreeMap::new();
    let mut streams = BTreeMap::new();
    for line in lines {
        if let Some(stream) = &line.stream {
            let number = streams.len() as u32 + 1;
            streams.entry(stream.clone()).or_insert(number);
            if let Some(session) = &line.session {
                session_of.insert(stream.clone(), session.clone());
            }
        }
    }
    let kind = if how.http {
        LinkKind::Http
    } else {
        LinkKind::Pipe
    };
    let options = ObserverOptions {
        revision: how.revision,
        whole: how.whole,
        patience_ms: how.patience_ms,
        ..ObserverOptions::new(how.vantage, kind)
    };
    let mut observers: BTreeMap<String, Observer> = BTreeMap::new();
    let mut scanner = Scanner::new();
    let mut frame = 0;
    for line in lines {
        let by_stream = line
            .stream
            .as_ref()
            .and_then(|stream| session_of.get(stream));
        let session = line.session.as_ref().or(by_stream);
        let stream = line.stream.as_ref().map(|stream| streams[stream]);
        if let Some(event) = &line.event {
            let what = match event.as_str() {
                "eof" => LogWhat::Eof,
                "exit" => LogWhat::Exit {
                    status: line.status,
                },
                "stall" => LogWhat::Stall,
                "timeout" => LogWhat::Timeout,
                "stderr-full" => LogWhat::StderrFull,
                "drop" => LogWhat::Drop,
                "empty-body" => LogWhat::EmptyBody,
                "http" => LogWhat::Http,
                _ => LogWhat::Other,
            };
            let event = LogEvent {
                by: line.from,
                what,
                at_ms: line.at_ms,
                stream,
                http: line.http.as_ref(),
            };
            match session {
                Some(session) => {
                    let observer = observers.entry(session.clone());
                    observer
                        .or_insert_with(|| Observer::new(options))
                        .event(&event);
                }
                // What names no session concerns all of them.
                None if !observers.is_empty() => observers
                    .values_mut()
                    .for_each(|observer| observer.event(&event)),
                None => observers
                    .entry(String::new())
                    .or_insert_with(|| Observer::new(options))
                    .event(&event),
            }
            continue;
        }
        frame += 1;
        let key = session.cloned().unwrap_or_default();
        let observer = observers
            .entry(key)
            .or_insert_with(|| Observer::new(options));
        observer.frame(&Seen {
            frame,
            from: line.from,
            message: &classify(&line.bytes, &mut scanner).message,
            text: Some(&line.bytes),
            body: None,
            at_ms: line.at_ms,
            stream: if how.http { stream.unwrap_or(0) } else { 0 },
            ended: line.ended,
            http: line.http.as_ref(),
        });
    }
    let ending = if how.quiet {
        Ending::Quiet
    } else {
        Ending::Unfinished
    };
    let mut findings = vec![];
    for observer in observers.values_mut() {
        observer.finish(ending);
        findings.extend(observer.take_findings());
    }
    findings
}

/// A finding that is expected.
#[derive(Clone, Debug)]
pub struct Expected {
    pub rules: Vec<String>,
    pub blame: String,
    pub verdict: String,
    pub severity: Option<String>,
    pub frames: Option<Vec<u32>>,
    pub optional: bool,
}

impl Expected {
    pub fn parse(value: &Value) -> Expected {
        let text = |name: &str| value[name].as_str().map(str::to_string);
        let mut rules = vec![text("rule").expect("a rule")];
        if let Some(others) = value["or"].as_array() {
            rules.extend(
                others
                    .iter()
                    .filter_map(|rule| rule.as_str())
                    .map(str::to_string),
            );
        }
        Expected {
            rules,
            blame: text("blame").expect("a blame"),
            verdict: text("verdict").expect("a verdict"),
            severity: text("severity"),
            frames: value["frames"].as_array().map(|frames| {
                frames
                    .iter()
                    .filter_map(Value::as_u64)
                    .map(|frame| frame as u32)
                    .collect()
            }),
            optional: value["optional"] == true,
        }
    }

    pub fn list(value: &Value) -> Vec<Expected> {
        value
            .as_array()
            .map_or(vec![], |list| list.iter().map(Expected::parse).collect())
    }

    pub fn is_judged(&self) -> bool {
        self.rules.iter().any(|id| rule(id).is_some())
    }

    pub fn matches(&self, finding: &Finding) -> bool {
        self.rules.iter().any(|id| id == finding.rule)
            && self.blame == finding.blame.as_str()
            && self.verdict == finding.verdict.as_str()
            && self
                .severity
                .as_ref()
                .is_none_or(|severity| severity == finding.severity.as_str())
            && self
                .frames
                .as_ref()
                .is_none_or(|frames| *frames == finding.frames)
    }
}

pub fn describe(finding: &Finding) -> String {
    format!(
        "{} {} {} {} {:?}: {}",
        finding.rule,
        finding.blame.as_str(),
        finding.verdict.as_str(),
        finding.severity.as_str(),
        finding.frames,
        finding.message
    )
}

/// What is wrong with the findings: expected ones that are missing, broken ones that nobody expects.
pub fn compare(findings: &[Finding], expected: &[Expected]) -> Vec<String> {
    let mut wrong = vec![];
    let mut taken = vec![false; findings.len()];
    for want in expected.iter().filter(|want| want.is_judged()) {
        let found = (0..findings.len()).find(|&at| !taken[at] && want.matches(&findings[at]));
        match found {
            Some(at) => taken[at] = true,
            None if want.optional => {}
            None => wrong.push(format!("missing: {want:?}")),
        }
    }
    for (finding, is_taken) in findings.iter().zip(taken) {
        if !is_taken && finding.verdict == Verdict::Broken {
            wrong.push(format!("not expected: {}", describe(finding)));
        }
    }
    wrong
}
