//! Lawful runs, written in every form and as two files of frames with and without times: nobody is accused in any of them.
#![cfg(feature = "cli")]

mod common;

use std::path::Path;

use common::{folder, mcpsim, read, write};
use serde_json::Value;

/// What stands before a frame that was seen then.
type Clock = fn(u64) -> String;

const CLOCKS: [(&str, Clock); 6] = [
    ("none", |_| String::new()),
    ("ms", |ms| format!("{} ", iso(ms, 1))),
    ("10 ms", |ms| format!("{} ", iso(ms, 10))),
    ("s", |ms| format!("Mar 04 09:15:{:02} ", ms / 1000 % 60)),
    ("since 1970", |ms| {
        format!("{}.{:03} ", 1_772_615_700 + ms / 1000, ms % 1000)
    }),
    ("since the beginning", |ms| {
        format!("{}.{:03}000 ", ms / 1000, ms % 1000)
    }),
];

/// Scenarios of one client and one server over a pipe.
const ONE_PIPE: [&str; 22] = [
    "one-call",
    "parallel-calls",
    "eager-calls",
    "progress",
    "cancel-on-timeout",
    "mixed-ids",
    "nested",
    "zero-id",
    "listed-calls",
    "pings",
    "roots-change",
    "resources",
    "prompts",
    "log-levels",
    "tasks",
    "tasks-polled",
    "batches",
    "older-server",
    "features-2025-03-26",
    "features-2025-11-25",
    "features-2026-07-28",
    "busy",
];
/// Scenarios with several links, or over http.
const OTHERS: [&str; 6] = [
    "two-clients",
    "gateway",
    "http-calls",
    "http-nested",
    "http-features",
    "http-2026-07-28",
];

fn iso(ms: u64, grain: u64) -> String {
    let ms = ms / grain * grain;
    format!(
        "2026-03-04T09:{:02}:{:02}.{:03}Z",
        ms / 60_000 % 60,
        ms / 1000 % 60,
        ms % 1000
    )
}

/// What is broken for certain, and no note, by rule and blame.
fn accused(here: &Path, args: &[&str]) -> Vec<String> {
    let args = [&["check", "--format", "json"], args].concat();
    let report = mcpsim(here, &args).json();
    let findings = report["files"][0]["findings"]
        .as_array()
        .expect("a list")
        .clone();
    let is_accusation =
        |finding: &Value| finding["verdict"] == "broken" && finding["severity"] != "note";
    let accusations = findings.into_iter().filter(is_accusation);
    accusations
        .map(|finding| format!("{} {}", finding["rule"], finding["blame"]))
        .collect()
}

/// The frames of a capture by direction, each with its time.
fn frames(capture: &[u8]) -> Vec<(bool, u64, String)> {
    let text = std::str::from_utf8(capture).expect("text");
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let frames = lines.filter(|line| line["raw"].is_string());
    frames
        .map(|line| {
            let text = line["raw"].as_str().expect("a frame").to_owned();
            let ms = line["t_ms"].as_u64().expect("a time");
            (line["dir"] == "c2s", ms, text)
        })
        .collect()
}

#[test]
fn nobody_is_accused_of_what_a_form_lacks() {
    let here = folder();
    let here = here.path();
    let mut checked = 0;
    for scenario in ONE_PIPE.into_iter().chain(OTHERS) {
        for seed in ["1", "9"] {
            let name = format!("{scenario} {seed}");
            let run = ["run", scenario, "--seed", seed, "--record", "run.jsonl"];
            _ = std::fs::remove_file(here.join("run.jsonl"));
            mcpsim(here, &run).ends(0);
            for form in ["capture", "mcp-trace", "mcpsnoop", "har"] {
                let args = ["convert", "run.jsonl", "-o", form, "--force", "--to", form];
                if mcpsim(here, &args).code == 2 {
                    continue;
                }
                assert_eq!(accused(here, &[form]), [""; 0], "{name} as {form}");
                // There and back.
                let args = ["convert", form, "-o", "back", "--force"];
                mcpsim(here, &args).ends(0);
                assert_eq!(
                    accused(here, &["back"]),
                    [""; 0],
                    "{name} as {form} and back"
                );
                checked += 2;
            }
            if OTHERS.contains(&scenario) {
                continue;
            }
            let all = frames(&read(&here.join("capture")));
            for (clock, stamp) in CLOCKS {
                for side in [true, false] {
                    let of_side = all.iter().filter(|(is_client, ..)| *is_client == side);
                    let lines = of_side.map(|(_, ms, text)| format!("{}{text}\n", stamp(*ms)));
                    write(
                        here,
                        if side { "c2s" } else { "s2c" },
                        lines.collect::<String>(),
                    );
                }
                let args = ["--c2s", "c2s", "--s2c", "s2c"];
                assert_eq!(accused(here, &args), [""; 0], "{name} with times: {clock}");
                let args = [
                    "convert", "--c2s", "c2s", "--s2c", "s2c", "-o", "back", "--force",
                ];
                mcpsim(here, &args).ends(0);
                assert_eq!(
                    accused(here, &["back"]),
                    [""; 0],
                    "{name} with times: {clock}, joined"
                );
                checked += 2;
            }
        }
    }
    assert!(checked > 150, "{checked}");
}
