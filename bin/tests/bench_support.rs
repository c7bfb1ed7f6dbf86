//! What the benchmarks measure against is itself held to what it claims: lawful logs, equal loops. No time is looked at.

#[path = "../benches/support/bare_loops.rs"]
mod bare_loops;
#[path = "../benches/support/log_generator.rs"]
mod log_generator;

use log_generator::{Form, Mix, Written};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

fn log(seed: u64, form: Form) -> (String, Written) {
    log_of(Mix::Whole, seed, form)
}

fn log_of(mix: Mix, seed: u64, form: Form) -> (String, Written) {
    let mut bytes = Vec::new();
    let written =
        log_generator::write(300_000, seed, mix, form, &mut bytes).expect("memory can be written");
    (String::from_utf8(bytes).expect("the log is UTF-8"), written)
}

/// The value loop and the text loop deliver the same frames in the same order, and a seed decides which.
#[test]
fn bare_loops_agree() {
    for calls in [0, 1, 8, 9, 500] {
        let typed = bare_loops::typed(calls, 3);
        assert_eq!(typed, bare_loops::json(calls, 3));
        assert_eq!(typed.frames, 3 + 3 * calls);
    }
    assert_ne!(
        bare_loops::typed(500, 3).digest,
        bare_loops::typed(500, 4).digest
    );
}

#[test]
fn a_seed_gives_one_log() {
    assert_eq!(log(1, Form::Capture), log(1, Form::Capture));
    assert_ne!(log(1, Form::Bare).0, log(2, Form::Bare).0);
}

/// The capture holds the bare frames byte for byte, each with a direction, at times that do not go back.
#[test]
fn a_capture_holds_the_bare_frames() {
    let (bare, bare_written) = log(1, Form::Bare);
    let (capture, capture_written) = log(1, Form::Capture);
    assert!(bare_written.frame_bytes >= 300_000);
    assert_eq!(bare_written.bytes, bare.len() as u64);
    assert_eq!(bare_written.frames, bare.lines().count() as u64);
    assert_eq!(capture_written.bytes, capture.len() as u64);
    assert_eq!(capture_written.frame_bytes, bare_written.frame_bytes);
    assert_eq!(capture_written.frames, bare_written.frames);

    let mut last_ms = 0;
    for (bare, line) in bare.lines().zip(capture.lines()) {
        let line: Value = serde_json::from_str(line).expect("a line is JSON");
        assert_eq!(line["raw"], *bare);
        assert!(line["t_ms"].as_u64() >= Some(last_ms));
        last_ms = line["t_ms"].as_u64().expect("a time");
        let of_the_server = ["roots/list"];
        let frame: Value = serde_json::from_str(bare).expect("a frame is JSON");
        let roots = frame["id"]
            .as_str()
            .is_some_and(|id| id.starts_with("roots-"));
        let from_client = match frame["method"].as_str() {
            None => roots,
            Some("notifications/initialized") => true,
            Some(method) => {
                !method.starts_with("notifications/") && !of_the_server.contains(&method)
            }
        };
        assert_eq!(line["dir"], if from_client { "c2s" } else { "s2c" });
    }
}

/// The third form holds the same frames as values, numbered from zero, with their directions.
#[test]
fn the_validators_form_holds_the_bare_frames() {
    let (bare, bare_written) = log(1, Form::Bare);
    let (capture, _) = log(1, Form::Capture);
    let (other, written) = log(1, Form::Validator);
    assert_eq!(
        (written.frames, written.frame_bytes),
        (bare_written.frames, bare_written.frame_bytes)
    );
    let lines = other.lines().zip(capture.lines()).zip(bare.lines());
    let mut count = 0;
    for (seq, ((other, capture), bare)) in lines.enumerate() {
        let other: Value = serde_json::from_str(other).expect("a line is JSON");
        let capture: Value = serde_json::from_str(capture).expect("a line is JSON");
        let bare: Value = serde_json::from_str(bare).expect("a frame is JSON");
        assert_eq!((&other["seq"], &other["payload"]), (&seq.into(), &bare));
        let direction = match capture["dir"].as_str() {
            Some("c2s") => "client-to-server",
            _ => "server-to-client",
        };
        assert_eq!(other["direction"], direction);
        count += 1;
    }
    assert_eq!(count, bare_written.frames);
}

/// The fourth form holds the same frames as they are, behind times that do not go back.
#[test]
fn a_desktop_log_holds_the_bare_frames() {
    let (bare, bare_written) = log(1, Form::Bare);
    let (capture, _) = log(1, Form::Capture);
    let (desktop, written) = log(1, Form::Desktop);
    assert_eq!(
        (written.frames, written.frame_bytes),
        (bare_written.frames, bare_written.frame_bytes)
    );
    let lines = desktop.lines().zip(capture.lines()).zip(bare.lines());
    let mut last = "2026-03-01T00:00:00.000Z";
    for ((desktop, capture), bare) in lines {
        let capture: Value = serde_json::from_str(capture).expect("a line is JSON");
        let side = match capture["dir"].as_str() {
            Some("c2s") => "client",
            _ => "server",
        };
        let (time, rest) = desktop.split_at(24);
        assert!(last <= time);
        last = time;
        let frame = rest.strip_prefix(&format!(" [log-server] [info] Message from {side}: "));
        let frame = frame.and_then(|frame| frame.strip_suffix(" { metadata: undefined }"));
        assert_eq!(frame, Some(bare));
    }
}

/// Every request is answered once, no id is used twice, progress rises and belongs to an open call, and everything that
/// the mixture promises occurs.
#[test]
fn a_log_is_lawful_and_mixed() {
    let (text, _) = log(1, Form::Bare);
    let mut open = BTreeMap::new();
    let mut used = BTreeSet::new();
    let mut kinds = BTreeMap::new();
    for line in text.lines() {
        let frame: Value = serde_json::from_str(line).expect("a frame is JSON");
        let id = frame.get("id").map(Value::to_string);
        let kind = match (frame["method"].as_str(), id) {
            (Some(method), Some(id)) => {
                assert!(used.insert(id.clone()), "{id} is new");
                let token = frame["params"]["_meta"]["progressToken"].as_u64();
                assert!(
                    !open
                        .values()
                        .any(|(open, _)| token.is_some() && *open == token),
                    "{token:?} is free"
                );
                assert!(open.insert(id, (token, 0)).is_none());
                method
            }
            (Some("notifications/progress"), None) => {
                let token = frame["params"]["progressToken"].as_u64();
                let (_, last) = open
                    .values_mut()
                    .find(|(open, _)| *open == token)
                    .expect("the call is open");
                let progress = frame["params"]["progress"].as_u64().expect("a number");
                assert!(
                    progress > *last && progress <= 100,
                    "{progress} follows {last}"
                );
                *last = progress;
                "notifications/progress"
            }
            (Some(method), None) => method,
            (None, Some(id)) => {
                assert!(open.remove(&id).is_some(), "{id} was asked");
                if frame.get("error").is_some() {
                    "error"
                } else {
                    "result"
                }
            }
            (None, None) => panic!("{line}"),
        };
        *kinds.entry(kind.to_owned()).or_insert(0u64) += 1;
    }
    assert!(open.is_empty());
    let calls: u64 = ["tools/call", "resources/read", "prompts/get"]
        .iter()
        .map(|method| kinds[*method])
        .sum();
    assert!(calls > 100);
    assert_eq!(kinds["result"] + kinds["error"], used.len() as u64);
    for method in [
        "tools/list",
        "resources/list",
        "prompts/list",
        "resources/read",
        "prompts/get",
    ] {
        assert!(kinds[method] > 0, "{method}");
    }
    assert!(
        kinds["error"] > 0
            && kinds["notifications/message"] > 0
            && kinds["notifications/progress"] > calls / 2
    );
    assert_eq!(
        used.iter().filter(|id| id.starts_with("\"call-")).count() as u64,
        calls / 5
    );
}

/// The hard cases are lawful, too: every ping is answered, in one order or the other.
#[test]
fn pings_are_answered() {
    for is_open in [false, true] {
        let mut bytes = Vec::new();
        let written = log_generator::write_pings(100, is_open, Form::Bare, &mut bytes);
        assert_eq!(written.expect("memory").frames, 3 + 200);
        let text = String::from_utf8(bytes).expect("UTF-8");
        let last = text.lines().last().expect("a line");
        let id = if is_open { 1 } else { 100 };
        assert_eq!(
            last,
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}")
        );
    }
}

/// The checker itself finds nothing in what it is measured with. So many pings take longer than patience lasts.
#[test]
fn nothing_is_found_in_the_logs() {
    let folder = tempfile::tempdir().expect("a folder");
    let mixes = [Mix::Plain, Mix::Whole];
    let forms = [Form::Capture, Form::Desktop];
    let logs = forms.map(|form| mixes.map(|mix| log_of(mix, 1, form).0.into_bytes()));
    let mut written = logs.concat();
    for is_open in [false, true] {
        let mut bytes = Vec::new();
        log_generator::write_pings(2_000, is_open, Form::Capture, &mut bytes).expect("memory");
        written.push(bytes);
    }
    for bytes in written {
        let path = folder.path().join("log");
        std::fs::write(&path, bytes).expect("written");
        let ran = std::process::Command::new(env!("CARGO_BIN_EXE_mcpsim"))
            .args(["check", "--fail-on", "warning"])
            .arg(&path)
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(
            ran.status.success() && said.contains("nothing found"),
            "{said}"
        );
    }
}
