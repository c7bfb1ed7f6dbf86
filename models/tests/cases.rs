//! The cases of every rule: traces that break it and near-misses that do not, as Markdown in `cases/`.

mod common;

use std::borrow::Cow;
use std::collections::BTreeMap;

use common::{How, Line, cases, describe, fields, judge, read};
use mcpsim_models::examples::expand;
use mcpsim_models::rules;
use mcpsim_traces::event::Role;
use mcpsim_traces::http::{Head, Http, Start};
use mcpsim_traces::judge::{Finding, Vantage};
use mcpsim_traces::message::Revision;

/// One fenced block and what is found in it.
struct Case {
    rule: String,
    place: String,
    lines: Vec<Line>,
    how: How,
    expected: Vec<String>,
}

#[test]
fn every_case_is_judged_as_written() {
    let mut wrong = vec![];
    for case in all_cases() {
        let findings = judge(&case.lines, &case.how);
        let found: Vec<String> = findings.iter().map(short).collect();
        if found != case.expected {
            let told: Vec<String> = findings.iter().map(describe).collect();
            wrong.push(format!(
                "{} ({}): expected {:?}, found\n    {}",
                case.place,
                case.rule,
                case.expected,
                told.join("\n    ")
            ));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// A rule without a case that breaks it, or without a near-miss, is not finished.
#[test]
fn every_rule_has_a_case_that_breaks_it_and_a_near_miss() {
    let mut seen: BTreeMap<String, (bool, bool)> = BTreeMap::new();
    for case in all_cases() {
        let entry = seen.entry(case.rule.clone()).or_default();
        let breaks = case
            .expected
            .iter()
            .any(|found| found.starts_with(&format!("{} ", case.rule)));
        if breaks {
            entry.0 = true;
        } else {
            entry.1 = true;
        }
    }
    let missing: Vec<&str> = rules()
        .iter()
        .map(|rule| rule.id)
        .filter(|&id| seen.get(id) != Some(&(true, true)))
        .collect();
    assert!(
        missing.is_empty(),
        "without both kinds of case: {missing:?}"
    );
    for id in seen.keys() {
        assert!(
            rules().iter().any(|rule| rule.id == id),
            "cases for an unknown rule: {id}"
        );
    }
}

/// The table is whole: ids are unique, and no row is without its words.
#[test]
fn rows_are_complete() {
    for (at, rule) in rules().iter().enumerate() {
        assert!(
            rules()[..at].iter().all(|other| other.id != rule.id),
            "{} twice",
            rule.id
        );
        for words in [rule.says, rule.why, rule.source] {
            assert!(!words.is_empty(), "{}", rule.id);
        }
        assert!(
            rule.says.ends_with('.') && rule.why.ends_with('.'),
            "{}",
            rule.id
        );
        assert!(rule.from <= rule.until, "{}", rule.id);
    }
}

fn short(finding: &Finding) -> String {
    let frames: Vec<String> = finding.frames.iter().map(u32::to_string).collect();
    format!(
        "{} {} {} {} [{}]",
        finding.rule,
        finding.blame.as_str(),
        finding.verdict.as_str(),
        finding.severity.as_str(),
        frames.join(",")
    )
}

fn all_cases() -> Vec<Case> {
    let files = std::fs::read_dir(cases()).expect("the cases");
    let mut names: Vec<String> = files
        .map(|file| {
            file.expect("a file")
                .file_name()
                .into_string()
                .expect("UTF-8")
        })
        .filter(|name| name.ends_with(".md") && name != "README.md")
        .collect();
    names.sort();
    names
        .iter()
        .flat_map(|name| parse(name, &read(&cases().join(name))))
        .collect()
}

/// Reads one file: `## rule`, words, fenced blocks of frames, and after each a line `findings:`.
fn parse(file: &str, text: &str) -> Vec<Case> {
    let mut found = vec![];
    let mut rule = String::new();
    let mut open: Option<Case> = None;
    let mut is_inside = false;
    for (number, line) in text.lines().enumerate() {
        let place = format!("{file}:{}", number + 1);
        if let Some(id) = line.strip_prefix("## ") {
            rule = id.trim().to_string();
        } else if line == "```" && is_inside {
            is_inside = false;
        } else if is_inside {
            let case = open.as_mut().expect("an open case");
            frames(&expand(line), &place, &mut case.lines);
        } else if let Some(options) = line.strip_prefix("```frames") {
            assert!(open.is_none(), "{place}: the case before has no findings");
            is_inside = true;
            open = Some(Case {
                rule: rule.clone(),
                place,
                lines: vec![],
                how: how(options),
                expected: vec![],
            });
        } else if let Some(list) = line.strip_prefix("findings:") {
            let mut case = open
                .take()
                .unwrap_or_else(|| panic!("{place}: findings without a case"));
            if list.trim() != "none" {
                case.expected = list.split(';').map(|one| one.trim().to_string()).collect();
            }
            found.push(case);
        }
    }
    assert!(open.is_none(), "{file}: the last case has no findings");
    found
}

fn how(options: &str) -> How {
    let mut how = How {
        whole: true,
        ..How::from(Vantage::World)
    };
    for option in options.split_whitespace() {
        match option.split_once('=').unwrap_or((option, "")) {
            ("vantage", name) => how.vantage = Vantage::parse(name).expect("a vantage"),
            ("revision", date) => how.revision = Some(Revision::parse(date).expect("a revision")),
            ("http", _) => how.http = true,
            ("joined", _) => how.whole = false,
            ("quiet", _) => how.quiet = true,
            _ => panic!("unknown option {option}"),
        }
    }
    how
}

/// One line of a block: `c2s FRAME`, `s2c FRAME`, `c2s! EVENT`, or `handshake [REVISION [CLIENT SERVER]]`.
/// `@N` before it gives the time, `/S` after the direction the stream. A frame that begins with one
/// of the usual members gets its version tag; `c2s= FRAME` stands as it is. On HTTP a head may stand for the
/// frame, and `#ID`, `event=NAME` and `retry=MS` before it.
fn frames(line: &str, place: &str, out: &mut Vec<Line>) {
    if line.is_empty() {
        return;
    }
    let (at_ms, line) = match line.strip_prefix('@') {
        Some(rest) => {
            let (time, rest) = rest.split_once(' ').expect("a time and a frame");
            (Some(time.parse().expect("milliseconds")), rest)
        }
        None => (None, line),
    };
    let (head, text) = line.split_once(' ').unwrap_or((line, ""));
    if head == "handshake" {
        return handshake(text, at_ms, out);
    }
    if head == "http-handshake" {
        return http_handshake(text, place, out);
    }
    let (head, stream) = match head.split_once('/') {
        Some((head, stream)) => (head, Some(stream.to_string())),
        None => (head, None),
    };
    let from = match &head[..3] {
        "c2s" => Role::Client,
        "s2c" => Role::Server,
        _ => panic!("{place}: {line}"),
    };
    let (http, text) = http(text);
    let mut parsed = match &head[3..] {
        "" if http.is_some() && text.is_empty() => {
            let mut parsed = Line::new(from, "");
            parsed.event = Some("http".to_string());
            parsed
        }
        "=" => Line::new(from, &text.replace("\\r", "\r")),
        "!" => {
            let (event, status) = text.split_once(' ').unwrap_or((text, ""));
            let mut parsed = Line::new(from, "");
            parsed.event = Some(event.to_string());
            parsed.status = status.parse().ok();
            parsed
        }
        "" => Line::new(from, &tagged(text)),
        "x" => {
            let mut parsed = Line::new(from, "");
            parsed.bytes = tagged(text)
                .bytes()
                .map(|byte| if byte == b'~' { 0xFF } else { byte })
                .collect();
            parsed
        }
        _ => panic!("{place}: {line}"),
    };
    parsed.at_ms = at_ms;
    parsed.stream = stream;
    parsed.http = http;
    out.push(parsed);
}

/// What a line tells of HTTP before its frame: `POST /mcp {…}`, `200 {…}`, or the marks of an event.
fn http(text: &str) -> (Option<Http<'static>>, &str) {
    let mut http = Http::default();
    let mut rest = text;
    while let Some((word, after)) = rest
        .split_once(' ')
        .or((!rest.is_empty()).then_some((rest, "")))
    {
        let owned = |text: &str| Some(Cow::Owned(text.to_string()));
        if let Some(id) = word.strip_prefix('#') {
            http.sse.id = owned(id);
        } else if let Some(name) = word.strip_prefix("event=") {
            http.sse.event = owned(name);
        } else if let Some(retry_ms) = word.strip_prefix("retry=") {
            http.sse.retry_ms = Some(retry_ms.parse().expect("milliseconds"));
        } else {
            break;
        }
        rest = after;
    }
    let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
    let is_method = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_uppercase());
    let start = if word.len() == 3 && word.bytes().all(|byte| byte.is_ascii_digit()) {
        let status = word.parse().expect("a status");
        Some((Start::Answer { status }, after))
    } else if is_method && after.starts_with(['/', 'h']) {
        let (target, after) = after.split_once(' ').unwrap_or((after, ""));
        let start = Start::Request {
            method: Cow::Owned(word.to_string()),
            target: Some(Cow::Owned(target.to_string())),
        };
        Some((start, after))
    } else {
        None
    };
    if let Some((start, headers)) = start {
        let headers = (!headers.is_empty()).then(|| {
            let headers: serde_json::Value = serde_json::from_str(headers).expect("headers");
            fields(headers.as_object().expect("headers by name"))
        });
        http.head = Some(Head {
            start,
            fields: headers,
        });
        rest = "";
    }
    ((!http.is_empty()).then_some(http), rest)
}

/// `http-handshake [REVISION [SESSION]]`: the exchanges that open a session on `/mcp`.
fn http_handshake(options: &str, place: &str, out: &mut Vec<Line>) {
    let mut options = options.split_whitespace();
    let revision = options.next().unwrap_or("2025-06-18");
    let session = options.next();
    let id = session.map_or(String::new(), |id| format!(",\"mcp-session-id\":\"{id}\""));
    let mut opening = vec![];
    handshake(revision, None, &mut opening);
    let mut frame = opening.into_iter();
    let mut put = |stream: &str, out: &mut Vec<Line>| {
        let mut line = frame.next().expect("three frames");
        line.stream = Some(stream.to_string());
        out.push(line);
    };
    let mut head = |line: String, out: &mut Vec<Line>| frames(&expand(&line), place, out);
    head("c2s/i POST /mcp {$H}".to_string(), out);
    put("i", out);
    head(
        format!("s2c/i 200 {{\"content-type\":\"application/json\"{id}}}"),
        out,
    );
    put("i", out);
    let version = match revision {
        "2024-11-05" | "2025-03-26" => String::new(),
        revision => format!(",\"mcp-protocol-version\":\"{revision}\""),
    };
    head(format!("c2s/n POST /mcp {{$H{id}{version}}}"), out);
    put("n", out);
    head("s2c/n 202 {}".to_string(), out);
}

/// Puts the version tag into the objects that begin with one of the envelope's members.
fn tagged(text: &str) -> String {
    let mut text = text.to_string();
    for member in ["{\"id\":", "{\"method\":", "{\"result\":", "{\"error\":"] {
        for before in ["", "[", "},"] {
            let plain = format!("{before}{member}");
            let full = format!("{before}{{\"jsonrpc\":\"2.0\",{}", &member[1..]);
            text = match before {
                "" if text.starts_with(&plain) => text.replacen(&plain, &full, 1),
                "" => text,
                _ if text.starts_with('[') => text.replace(&plain, &full),
                _ => text,
            };
        }
    }
    text
}

fn handshake(options: &str, at_ms: Option<u64>, out: &mut Vec<Line>) {
    let mut options = options.split_whitespace();
    let revision = options.next().unwrap_or("2025-06-18");
    let client = options.next().unwrap_or("{}");
    let server = options.next().unwrap_or("{\"tools\":{}}");
    let info = "{\"name\":\"n\",\"version\":\"1\"}";
    for (from, text) in [
        (
            Role::Client,
            format!(
                "{{\"id\":0,\"method\":\"initialize\",\"params\":{{\"protocolVersion\":\"{revision}\",\"capabilities\":{client},\"clientInfo\":{info}}}}}"
            ),
        ),
        (
            Role::Server,
            format!(
                "{{\"id\":0,\"result\":{{\"protocolVersion\":\"{revision}\",\"capabilities\":{server},\"serverInfo\":{info}}}}}"
            ),
        ),
        (
            Role::Client,
            "{\"method\":\"notifications/initialized\"}".to_string(),
        ),
    ] {
        let mut line = Line::new(from, &tagged(&text));
        line.at_ms = at_ms;
        out.push(line);
    }
}

/// "Never" is said only where the end was seen: when patience runs out, an answer may still come.
#[test]
fn patience_says_what_is_true_at_that_moment() {
    let session = "\
        @0 handshake\n\
        @10 c2s {\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}\n\
        @40000 c2s {\"id\":2,\"method\":\"ping\"}\n\
        @40001 s2c {\"id\":1,\"result\":{\"content\":[]}}\n\
        @40002 s2c {\"id\":2,\"result\":{}}\n";
    for (patience_ms, expected) in [
        (
            30_000,
            "server had not answered tools/call 1 after 30 s (patience)",
        ),
        (
            1_500,
            "server had not answered tools/call 1 after 1500 ms (patience)",
        ),
    ] {
        let page = format!("## x\n\n```frames vantage=client\n{session}```\nfindings: none\n");
        let case = &parse("x", &page)[0];
        let how = How {
            patience_ms,
            ..case.how
        };
        let findings = judge(&case.lines, &how);
        let told: Vec<&str> = findings.iter().map(|one| one.message.as_str()).collect();
        assert_eq!(told, [expected]);
    }
}
