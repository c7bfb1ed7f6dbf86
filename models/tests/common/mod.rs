//! Reads captures and expectations, and compares findings with what was expected.
#![allow(dead_code, unreachable_pub, unused_imports)]

pub mod members;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

pub use mcpsim_models::examples::{How, Line, judge};
use mcpsim_models::rule;
use mcpsim_traces::event::Role;
use mcpsim_traces::http::{Field, Head, Http, Sse, Start};
use mcpsim_traces::judge::{Finding, Verdict};
use serde_json::Value;

pub fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("cases")
}

pub fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// One line of a capture.
pub fn line_of(value: &Value) -> Line {
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
        bytes,
        event: text("event"),
        at_ms: value["t_ms"].as_u64(),
        ended: value["eol"] != "",
        stream: text("stream"),
        session: text("session"),
        http: http(value),
        status: value["status"].as_i64().map(|status| status as i32),
        ..Line::new(from, "")
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
fn fields(headers: &serde_json::Map<String, Value>) -> Vec<Field<'static>> {
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
