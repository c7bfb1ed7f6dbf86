//! `mcpsim run --strategy` from the outside: each strategy repeats, is named in what is saved, and is no matter for a replay.
#![cfg(feature = "cli")]

mod common;

use std::path::Path;

use common::{Ran, files, folder, mcpsim, read, text, write};
use serde_json::Value;

const STRATEGIES: [&str; 5] = ["uniform", "pct:1", "pct:4", "swarm", "mix"];

/// A campaign for a fault by a strategy, in that folder.
fn run(folder: &Path, strategy: &str, more: &[&str]) -> Ran {
    let mut args = vec![
        "run",
        "--fault",
        "lists-a-request-late",
        "--out",
        "out",
        "--strategy",
        strategy,
    ];
    args.extend(more);
    mcpsim(folder, &args)
}

fn header(trace: &Path) -> Value {
    let bytes = read(trace);
    let line = bytes.split(|&byte| byte == b'\n').next().expect("a line");
    serde_json::from_slice(line).expect("JSON")
}

/// For any number of threads; and no two strategies are the same.
#[test]
fn each_strategy_gives_the_same_bytes_for_the_same_seed() {
    let mut all = vec![];
    for strategy in STRATEGIES {
        let with_jobs = |jobs| {
            let here = folder();
            let more = ["--seed", "11", "--runs", "300", "--jobs", jobs];
            let ran = run(here.path(), strategy, &more).ends(1);
            (ran, files(&here.path().join("out")))
        };
        let first = with_jobs("1");
        let told = format!(" · strategy {strategy} · seed 11 · ");
        assert!(first.0.text().contains(&told), "{}", first.0.text());
        assert_eq!(with_jobs("3"), first, "{strategy}");
        all.push(first.1);
    }
    all.sort_unstable();
    all.dedup();
    assert!(all.len() >= STRATEGIES.len() - 1, "{}", all.len());
}

/// What is saved names the strategy of its run, never a mix, and is replayed without being told; its seed repeats the run
/// by the strategy that is named as well as by the one that was asked for.
#[test]
fn a_failure_is_repeated_by_its_own_strategy() {
    for strategy in STRATEGIES {
        let here = folder();
        let json = ["--seed", "7", "--runs", "500", "--format", "json"];
        let report = run(here.path(), strategy, &json).ends(1).json();
        assert_eq!(report["strategy"], strategy);
        let failure = &report["failures"][0];
        let own = text(failure, "strategy").to_owned();
        if strategy == "mix" {
            assert_ne!(own, "mix");
        } else {
            assert_eq!(own, strategy);
        }
        let trace = here.path().join(text(failure, "trace"));
        let header = header(&trace);
        assert_eq!(header["strategy"], own.as_str());
        assert_eq!(header["seed"], failure["seed"]);

        for saved in ["trace", "shrunk"] {
            let again = mcpsim(here.path(), &["replay", text(failure, saved)]).ends(1);
            assert!(again.text().contains(": same, "), "{}", again.text());
        }

        let seed = failure["seed"].to_string();
        for name in [strategy, &own] {
            let there = folder();
            let more = ["--seed", &seed, "--record", "r.jsonl"];
            run(there.path(), name, &more).ends(1);
            let recorded = read(&there.path().join("r.jsonl"));
            assert!(recorded == read(&trace), "{strategy} by {name}");
        }
    }
}

/// The choices are the run: with another strategy in its header, or none as in older traces, a trace is replayed to the same
/// bytes but for that.
#[test]
fn a_replay_does_not_depend_on_the_strategy() {
    let here = folder();
    run(
        here.path(),
        "pct:2",
        &["--seed", "7", "--record", "pct.jsonl"],
    );
    let whole = String::from_utf8(read(&here.path().join("pct.jsonl"))).expect("text");
    let member = r#""strategy":"pct:2","#;
    assert!(whole.contains(member), "{whole}");
    for (name, other) in [("none", ""), ("swarm", r#""strategy":"swarm","#)] {
        let file = format!("{name}.jsonl");
        write(here.path(), &file, whole.replacen(member, other, 1));
        let of = |file: &str| {
            let report = mcpsim(here.path(), &["replay", file, "--format", "json"]).json();
            (report["same"].clone(), report["findings"].clone())
        };
        let (same, findings) = of(&file);
        assert_eq!(same, true, "{name}");
        assert_eq!((same, findings), of("pct.jsonl"), "{name}");
    }
}

#[test]
fn a_clean_campaign_is_clean_by_every_strategy() {
    let here = folder();
    for strategy in STRATEGIES {
        let args = [
            "run",
            "busy",
            "--seed",
            "3",
            "--runs",
            "30",
            "--strategy",
            strategy,
        ];
        mcpsim(here.path(), &args).ends(0);
    }
}

#[test]
fn a_wrong_strategy_is_told_with_the_nearest() {
    let here = folder();
    for (name, told) in [
        (
            "unifrom",
            "unknown strategy \"unifrom\"; did you mean `uniform`?",
        ),
        ("swram", "did you mean `swarm`?"),
        ("mixed", "did you mean `mix`?"),
        (
            "pct:0",
            "--strategy pct:0: the depth is a number from 1 to 16",
        ),
        ("pct:17", "from 1 to 16"),
        ("pct:x", "from 1 to 16"),
        (
            "everything",
            "unknown strategy \"everything\" (see `mcpsim run --help`)",
        ),
    ] {
        run(here.path(), name, &["--seed", "1"])
            .ends(2)
            .says(&[told]);
        let args = ["bench-faults", "--strategy", name];
        mcpsim(here.path(), &args).ends(2).says(&[told]);
    }
    assert!(!here.path().join("out").exists());
}

/// A campaign goes on by its own strategy only: its later runs would be others.
#[test]
fn another_strategy_does_not_resume_a_campaign() {
    let here = folder();
    let args = |strategy| {
        [
            "run",
            "nested",
            "--out",
            "out",
            "--seed",
            "1",
            "--strategy",
            strategy,
        ]
    };
    let with = |strategy, more: &[&str]| {
        let mut all = args(strategy).to_vec();
        all.extend(more);
        mcpsim(here.path(), &all)
    };
    with("pct:2", &["--time", "100ms", "--runs", "1000000"]).ends(0);
    let resume = ["--resume", "--runs", "1000000", "--time", "100ms"];
    with("swarm", &resume)
        .ends(2)
        .says(&["out/campaign.json", "go on with --strategy pct:2"]);
    with("pct:2", &resume).ends(0);
}
