//! `mcpsim run` from the outside: the same seed gives the same bytes, failures repeat, and nothing is lost by an interruption.
#![cfg(feature = "cli")]

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use common::{Ran, command, documented, files, finish, folder, mcpsim, members, read, text, write};
use serde_json::Value;

/// A campaign in a fresh folder: what it said, and the files that it saved.
fn campaign(args: &[&str]) -> (Ran, BTreeMap<String, Vec<u8>>) {
    let here = folder();
    let ran = mcpsim(here.path(), args);
    (ran, files(&here.path().join("out")))
}

/// Campaigns with a failure, with several groups of them, with none, with warnings, and as JSON.
#[test]
fn the_same_seed_gives_the_same_bytes_for_any_number_of_jobs() {
    let campaigns: [&[&str]; 6] = [
        &["--fault", "answers-under-the-last-id", "--runs", "200"],
        &[
            "--fault",
            "raises-its-id-late",
            "--runs",
            "300",
            "--keep-going",
        ],
        &[
            "busy",
            "--fault",
            "reports-after-the-answer",
            "--runs",
            "40",
            "--keep-going",
        ],
        &["nested", "--runs", "200"],
        &[
            "--fault",
            "asks-too-early",
            "--runs",
            "200",
            "--fail-on",
            "warning",
        ],
        &[
            "--fault",
            "gateway-mixes-servers",
            "--runs",
            "100",
            "--keep-going",
            "--format",
            "json",
        ],
    ];
    for args in campaigns {
        let with_jobs = |jobs| {
            let mut all = vec!["run", "--seed", "11", "--out", "out", "--jobs", jobs];
            all.extend(args);
            campaign(&all)
        };
        let first = with_jobs("1");
        let is_clean = args.contains(&"nested");
        assert_eq!(
            first.0.code,
            i32::from(!is_clean),
            "{args:?}: {}",
            first.0.err
        );
        // Each failure is two files: the whole trace and the short one.
        assert_eq!(first.1.is_empty(), is_clean, "{args:?}");
        assert_eq!(first.1.len() % 2, 0, "{args:?}");
        for jobs in ["1", "2", "5"] {
            assert_eq!(with_jobs(jobs), first, "{args:?} with --jobs {jobs}");
        }
    }
    // The comparison would see a difference: another seed gives one.
    let other = |seed| {
        campaign(&[
            "run",
            "--fault",
            "answers-under-the-last-id",
            "--seed",
            seed,
            "--out",
            "out",
        ])
    };
    assert_ne!(other("1").1, other("2").1);
}

/// The last line is copied as a person would, into a shell; also where the folder's name needs quotes.
#[cfg(unix)]
#[test]
fn the_repeat_line_repeats_the_failure() {
    for (fault, out) in [
        ("answers-twice", ".mcpsim/failures"),
        ("lists-a-request-late", "it's here; rm *"),
        ("gateway-mixes-servers", "größe/$HOME"),
        ("asks-too-early", "--out"),
    ] {
        let here = folder();
        let out = format!("--out={out}");
        let args = [
            "run", "--fault", fault, "--seed", "7", "--runs", "500", &out,
        ];
        let ran = mcpsim(here.path(), &args).ends(1);
        let last = ran.text().trim_end().lines().last().expect("a last line");
        let repeat = last.strip_prefix("repeat: mcpsim ").expect(last);
        let mut shell = std::process::Command::new("sh");
        shell
            .args(["-c", &format!("\"$0\" {repeat}"), common::MCPSIM])
            .current_dir(here.path());
        let again = finish(shell, b"").ends(1);
        assert!(again.text().contains(": same, "), "{}", again.text());
    }
}

#[test]
fn the_report_has_the_members_that_are_documented() {
    let here = folder();
    let args = [
        "run",
        "--fault",
        "answers-twice",
        "--seed",
        "5",
        "--out",
        "out",
        "--format",
        "json",
    ];
    let report = mcpsim(here.path(), &args).ends(1).json();
    let mut wanted: Vec<String> = documented("`mcpsim run`");
    let mut of_failures: Vec<String> = wanted
        .extract_if(.., |name| name.starts_with("failures[]."))
        .map(|name| name["failures[].".len()..].to_owned())
        .collect();
    wanted.push("schema".to_owned());
    wanted.sort_unstable();
    of_failures.sort_unstable();
    assert_eq!(members(&report), wanted);
    assert_eq!(members(&report["failures"][0]), of_failures);
    // Those that scripts were promised, whatever the page says.
    for member in ["seed", "runs", "failures"] {
        assert!(!report[member].is_null(), "{member}");
    }
    for member in [
        "rule", "blame", "seed", "trace", "shrunk", "frames", "repeat",
    ] {
        assert!(!report["failures"][0][member].is_null(), "{member}");
    }

    assert_eq!(report["schema"], "mcpsim-run/1");
    assert_eq!(report["seed"], 5);
    assert_eq!(report["scenario"], "one-call");
    assert_eq!(report["fault"], "answers-twice");
    assert_eq!(
        (&report["runs"], &report["complete"]),
        (&1.into(), &true.into())
    );
    let failure = &report["failures"][0];
    assert_eq!(failure["rule"], "duplicate-response");
    assert_eq!(failure["blame"], "server");
    assert_eq!(failure["seed"], 5);
    assert_eq!(
        text(failure, "repeat"),
        format!("mcpsim replay {}", text(failure, "shrunk"))
    );
    for trace in ["trace", "shrunk"] {
        assert!(
            here.path().join(text(failure, trace)).is_file(),
            "{failure}"
        );
    }

    let clean = mcpsim(
        here.path(),
        &["run", "one-call", "--seed", "5", "--format", "json"],
    );
    let clean = clean.ends(0).json();
    assert_eq!(members(&clean), wanted);
    assert_eq!(clean["failures"], Value::Array(vec![]));
    assert_eq!((&clean["runs"], &clean["fault"]), (&1.into(), &Value::Null));
}

/// Failures that come late in a campaign, each repeated by its own seed as run 0.
#[test]
fn a_failures_own_seed_repeats_it() {
    for (fault, options) in [
        ("cancels-by-text", &["--runs", "300"][..]),
        ("lists-a-request-late", &["--runs", "300"]),
        ("raises-its-id-late", &["--runs", "300", "--keep-going"]),
        (
            "cancels-the-newest",
            &["--time", "100s", "--runs", "300", "--jobs", "2"],
        ),
    ] {
        let with_seed = |seed: &str| {
            let mut args = vec![
                "run", "--fault", fault, "--seed", seed, "--out", "out", "--format", "json",
            ];
            args.extend(options);
            let (ran, saved) = campaign(&args);
            (ran.ends(1).json(), saved)
        };
        let (report, saved) = with_seed("3");
        let failures = report["failures"].as_array().expect("a list");
        assert!(!failures.is_empty());
        for failure in failures {
            let (again, saved_again) = with_seed(&failure["seed"].to_string());
            let first = &again["failures"][0];
            for same in [
                "rule",
                "blame",
                "seed",
                "trace",
                "shrunk",
                "frames",
                "frames_before",
                "message",
            ] {
                assert_eq!(first[same], failure[same], "{fault}: {same}");
            }
            let name = text(failure, "trace").trim_start_matches("out/").to_owned();
            assert_eq!(saved_again[&name], saved[&name], "{fault}");
            if !options.contains(&"--keep-going") {
                assert_eq!(again["runs"], 1, "{fault}: at run 0");
            }
        }
    }
    let late = mcpsim(
        folder().path(),
        &[
            "run",
            "--fault",
            "cancels-by-text",
            "--seed",
            "3",
            "--runs",
            "300",
            "--format",
            "json",
        ],
    );
    assert_ne!(
        late.json()["failures"][0]["seed"],
        3,
        "a failure that is not run 0 was tried"
    );
}

/// Whatever is listed as a fault is found by naming it, without knowing how severe its rule is.
#[test]
fn every_fault_is_found_as_the_catalogue_says() {
    let here = folder();
    for row in common::faults() {
        let failure = common::failure(here.path(), text(&row, "name"));
        assert_eq!(failure["rule"], row["rule"], "{row}");
        assert_eq!(failure["blame"], row["blame"], "{row}");
    }
}

#[test]
fn the_seed_can_come_from_the_environment() {
    let args = ["run", "--fault", "lists-a-request-late", "--runs", "100"];
    let with = |variable: Option<&str>, more: &[&str]| {
        let here = folder();
        let mut all = args.to_vec();
        all.extend(more);
        let mut command = command(common::MCPSIM, here.path(), &all);
        if let Some(seed) = variable {
            command.env("MCPSIM_SEED", seed);
        }
        finish(command, b"")
    };
    let flag = with(None, &["--seed", "21"]).ends(1);
    assert_eq!(with(Some("21"), &[]), flag);
    assert_eq!(
        with(Some("22"), &["--seed", "21"]),
        flag,
        "the flag is nearer"
    );
    assert_ne!(with(Some("22"), &[]), flag);
    let wrong = with(Some("many"), &[]).ends(2);
    assert!(
        wrong.err.contains("--seed") && wrong.err.contains("many"),
        "{}",
        wrong.err
    );
    let big = with(Some("9007199254740992"), &[]).ends(2);
    assert!(big.err.contains("2^53"), "{}", big.err);
}

#[test]
fn record_keeps_the_trace_of_a_clean_run() {
    let here = folder();
    let run = |args: &[&str]| mcpsim(here.path(), args);
    run(&[
        "run",
        "nested",
        "--seed",
        "3",
        "--record",
        "deep/clean.jsonl",
    ])
    .ends(0);
    let replayed = run(&["replay", "deep/clean.jsonl"]).ends(0);
    assert!(
        replayed.text().contains("deep/clean.jsonl: same, "),
        "{}",
        replayed.text()
    );
    let json = run(&["replay", "deep/clean.jsonl", "--format", "json"])
        .ends(0)
        .json();
    assert_eq!(
        (&json["same"], &json["difference"]),
        (&true.into(), &Value::Null)
    );
    run(&[
        "run",
        "nested",
        "--seed",
        "3",
        "--runs",
        "1",
        "--record",
        "again.jsonl",
    ])
    .ends(0);
    assert_eq!(
        read(&here.path().join("again.jsonl")),
        read(&here.path().join("deep/clean.jsonl"))
    );

    run(&[
        "run",
        "--fault",
        "answers-twice",
        "--seed",
        "3",
        "--record",
        "bad.jsonl",
        "--out",
        "out",
    ])
    .ends(1);
    run(&["replay", "bad.jsonl"]).ends(1);
    let saved = files(&here.path().join("out"));
    assert!(
        saved
            .values()
            .any(|bytes| *bytes == read(&here.path().join("bad.jsonl")))
    );

    for many in [&["--seed", "3", "--runs", "2"][..], &[], &["--time", "1s"]] {
        let mut args = vec!["run", "nested", "--record", "none.jsonl"];
        args.extend(many);
        run(&args)
            .ends(2)
            .says(&["--record", "single run", "--runs 1"]);
        assert!(!here.path().join("none.jsonl").exists());
    }
}

#[test]
fn a_replay_names_the_first_difference() {
    let here = folder();
    mcpsim(
        here.path(),
        &["run", "nested", "--seed", "3", "--record", "t.jsonl"],
    )
    .ends(0);
    let whole = String::from_utf8(read(&here.path().join("t.jsonl"))).expect("text");
    let changed = whole.replacen("tools/call", "tools/cawl", 1);
    assert_ne!(changed, whole);
    let line = 1 + whole
        .lines()
        .position(|line| line.contains("tools/call"))
        .expect("a call");
    write(here.path(), "c.jsonl", changed);
    let ran = mcpsim(here.path(), &["replay", "c.jsonl"]).ends(2);
    assert!(
        ran.text().contains(&format!("not the same: line {line}: ")),
        "{}",
        ran.text()
    );

    // One choice that the world cannot follow.
    let (from, to) = (r#""of":2,"took":0"#, r#""of":3,"took":0"#);
    assert!(whole.contains(from));
    write(here.path(), "d.jsonl", whole.replacen(from, to, 1));
    let ran = mcpsim(here.path(), &["replay", "d.jsonl", "--format", "json"])
        .ends(2)
        .json();
    assert_eq!(ran["same"], false);
    assert!(text(&ran, "difference").contains("choice"), "{ran}");
}

/// Whole lines, so that what is left is a file that was being written when the power failed.
#[test]
fn a_cut_trace_is_replayed_as_far_as_it_goes() {
    let here = folder();
    mcpsim(
        here.path(),
        &["run", "nested", "--seed", "3", "--record", "t.jsonl"],
    )
    .ends(0);
    let whole = String::from_utf8(read(&here.path().join("t.jsonl"))).expect("text");
    let lines: Vec<&str> = whole.lines().collect();
    let half = lines[..lines.len() / 2].join("\n") + "\n{\"t\":";
    write(here.path(), "half.jsonl", half);
    let ran = mcpsim(here.path(), &["replay", "half.jsonl"]).ends(2);
    assert!(
        ran.text().contains("half.jsonl: the file is cut"),
        "{}",
        ran.text()
    );
    assert!(ran.text().contains("not the same"), "{}", ran.text());
}

#[test]
fn numbers_of_runs_and_time_are_held() {
    let here = folder();
    let run = |args: &[&str]| mcpsim(here.path(), args);
    run(&["run", "nested", "--runs", "0"])
        .ends(2)
        .says(&["--runs 0"]);
    let json = run(&[
        "run", "one-call", "--runs", "37", "--seed", "1", "--format", "json",
    ])
    .json();
    assert_eq!(
        (&json["runs"], &json["complete"]),
        (&37.into(), &true.into())
    );
    let json = run(&["run", "one-call", "--seed", "1", "--format", "json"]).json();
    assert_eq!(json["runs"], 1, "one run where a seed is given");
    let json = run(&["run", "one-call", "--format", "json"]).json();
    assert_eq!(json["runs"], 1000, "a thousand where none is");

    let began = std::time::Instant::now();
    let timed = run(&["run", "nested", "--time", "400ms", "--out", "timed"]).ends(0);
    assert!(began.elapsed().as_millis() >= 400);
    assert!(
        timed.text().contains("time is up after "),
        "{}",
        timed.text()
    );
    assert!(
        !timed.text().contains("18446744073709551615"),
        "{}",
        timed.text()
    );
    let json = run(&[
        "run", "nested", "--time", "100ms", "--out", "timed", "--format", "json",
    ]);
    let json = json.ends(0).json();
    assert_eq!(json["complete"], false);
    assert!(json["runs"].as_u64().is_some_and(|runs| runs > 0), "{json}");
    // Enough time for all runs is no limit.
    let json = run(&[
        "run", "one-call", "--runs", "20", "--time", "1h", "--format", "json",
    ])
    .json();
    assert_eq!(
        (&json["runs"], &json["complete"]),
        (&20.into(), &true.into())
    );
}

/// A fresh seed is not the same twice, and the run that it began can be repeated with it.
#[test]
fn a_fresh_seed_is_told_and_repeats_the_campaign() {
    let here = folder();
    let fresh = |out: &str| {
        mcpsim(
            here.path(),
            &[
                "run",
                "--fault",
                "lists-a-request-late",
                "--runs",
                "200",
                "--out",
                out,
            ],
        )
        .ends(1)
    };
    let (one, other) = (fresh("out"), fresh("out"));
    let seed = |ran: &Ran| {
        let first = ran.text().lines().next().expect("a line").to_owned();
        let after = first.split("seed ").nth(1).expect("a seed").to_owned();
        after.split(' ').next().expect("a number").to_owned()
    };
    assert_ne!(seed(&one), seed(&other));
    let args = [
        "run",
        "--fault",
        "lists-a-request-late",
        "--runs",
        "200",
        "--out",
        "out",
        "--seed",
        &seed(&one),
    ];
    assert_eq!(mcpsim(here.path(), &args), one);
    // A report keeps standard output for itself.
    let args = [
        "run",
        "--fault",
        "answers-twice",
        "--out",
        "out",
        "--format",
        "json",
    ];
    let json = mcpsim(here.path(), &args);
    assert!(
        json.err.contains(&format!("seed {}", json.json()["seed"])),
        "{}",
        json.err
    );
}

#[test]
fn a_campaign_that_is_over_is_not_resumed() {
    let here = folder();
    let run = |args: &[&str]| mcpsim(here.path(), args);
    run(&["run", "nested", "--out", "out", "--resume"])
        .ends(2)
        .says(&["out/campaign.json", "no interrupted campaign"]);
    let paused = run(&[
        "run", "nested", "--seed", "1", "--time", "100ms", "--runs", "1000000", "--out", "out",
        "--format", "json",
    ]);
    let played = paused.ends(0).json()["runs"].as_u64().expect("a number");
    assert!(here.path().join("out/campaign.json").is_file());
    run(&["run", "one-call", "--out", "out", "--resume"])
        .ends(2)
        .says(&["another scenario"]);
    run(&["run", "nested", "--seed", "2", "--out", "out", "--resume"])
        .ends(2)
        .says(&["has seed 1"]);
    run(&[
        "run",
        "nested",
        "--out",
        "out",
        "--resume",
        "--runs",
        &played.to_string(),
    ])
    .ends(2)
    .says(&["are played"]);
    let end = played + 50;
    let json = run(&[
        "run",
        "nested",
        "--out",
        "out",
        "--resume",
        "--runs",
        &end.to_string(),
        "--format",
        "json",
    ]);
    let json = json.ends(0).json();
    assert_eq!(
        (&json["runs"], &json["complete"]),
        (&end.into(), &true.into())
    );
    assert!(!here.path().join("out/campaign.json").exists());
    write(&here.path().join("out"), "campaign.json", "{\"play\":3}\n");
    run(&["run", "nested", "--out", "out", "--resume"])
        .ends(2)
        .says(&["out/campaign.json:1:"]);
}

/// Failures before a pause count in the total: those of the whole campaign, as if it had not paused.
#[test]
fn a_resumed_campaign_sums_up_what_was_found_before() {
    let common = [
        "run",
        "--fault",
        "raises-its-id-late",
        "--seed",
        "4",
        "--out",
        "out",
        "--keep-going",
        "--format",
        "json",
    ];
    let with = |folder: &Path, more: &[&str]| {
        let mut args = common.to_vec();
        args.extend(more);
        mcpsim(folder, &args)
    };
    let (paused, whole) = (folder(), folder());
    let first = with(paused.path(), &["--runs", "1000000", "--time", "300ms"])
        .ends(1)
        .json();
    let played = first["runs"].as_u64().expect("a number");
    assert!(played > 0 && first["complete"] == false, "{first}");
    let end = (played + 200).to_string();
    let resumed = with(paused.path(), &["--resume", "--runs", &end]).ends(1);
    assert_eq!(resumed, with(whole.path(), &["--runs", &end]).ends(1));
    assert_eq!(
        files(&paused.path().join("out")),
        files(&whole.path().join("out"))
    );
}

/// `mcpsim run … --coverage`: what was printed, and the file.
fn covered(folder: &Path, args: &[&str]) -> (Ran, Value) {
    let mut all = vec!["run", "--out", "out", "--coverage", "new/c.json"];
    all.extend(args);
    let ran = mcpsim(folder, &all);
    let report = serde_json::from_slice(&read(&folder.join("new/c.json"))).expect("JSON");
    (ran, report)
}

#[test]
fn the_coverage_report_has_the_members_that_are_documented() {
    let here = folder();
    let args = ["--fault", "skips-initialized", "--seed", "5", "--runs", "9"];
    let (ran, report) = covered(here.path(), &args);
    let lines: Vec<&str> = ran.text().lines().collect();
    let rules = &report["summary"]["rules"];
    assert_eq!(rules["broken"], 1);
    let told = format!(
        "rules: 1 broken, {} unsure, {} kept, {} not triggered · methods of 2025-11-25: {} of {} · transitions: {} of {}",
        rules["unsure"],
        rules["kept"],
        rules["idle"],
        report["summary"]["methods"][0]["reached"],
        report["summary"]["methods"][0]["all"],
        report["summary"]["transitions"]["reached"],
        report["summary"]["transitions"]["all"],
    );
    assert_eq!(lines[1], told);
    assert_eq!(report["schema"], "mcpsim-coverage/1");
    assert_eq!((&report["runs"], &report["seed"]), (&1.into(), &5.into()));
    let wanted = documented("`mcpsim run --coverage FILE`");
    let is_top = |name: &&String| !name.contains('.');
    let mut top: Vec<String> = wanted.iter().filter(is_top).cloned().collect();
    top.push("schema".to_owned());
    top.sort_unstable();
    assert_eq!(members(&report), top);
    for (list, named) in [
        ("methods", "methods[]."),
        ("states", "states[]."),
        ("transitions", "transitions[]."),
    ] {
        let named = wanted.iter().filter_map(|name| name.strip_prefix(named));
        let mut named: Vec<String> = named.map(str::to_owned).collect();
        named.sort_unstable();
        assert_eq!(members(&report[list][0]), named);
    }
    let of_summary = wanted
        .iter()
        .filter_map(|name| name.strip_prefix("summary."));
    let mut of_summary: Vec<String> = of_summary.map(str::to_owned).collect();
    of_summary.sort_unstable();
    assert_eq!(members(&report["summary"]), of_summary);
    let rule = report["rules"].as_array().expect("a list").iter();
    let mut broken = rule.filter(|rule| rule["outcome"] == "broken");
    let broken = broken.next().expect("one is broken");
    assert_eq!(
        (text(broken, "rule"), &broken["first"]),
        ("initialized-missing", &1.into())
    );
}

/// Neither threads nor a pause change what is said to be reached, or in which run.
#[test]
fn coverage_depends_on_the_seed_alone() {
    for (args, code) in [
        (&["lossy-http", "--seed", "8", "--runs", "600"][..], 0),
        (
            &["--fault", "asks-too-early", "--seed", "8", "--runs", "600"],
            1,
        ),
        (
            &[
                "--fault",
                "cancels-by-text",
                "--seed",
                "8",
                "--runs",
                "300",
                "--keep-going",
            ],
            1,
        ),
    ] {
        let with = |jobs: &str| {
            let here = folder();
            let (ran, report) = covered(here.path(), &[args, &["--jobs", jobs]].concat());
            (ran.ends(code), report)
        };
        let one = with("1");
        for jobs in ["2", "5"] {
            assert_eq!(with(jobs), one, "{args:?}");
        }
    }
    let (paused, whole) = (folder(), folder());
    let seed = ["unreliable-parties", "--seed", "3"];
    let time = ["--runs", "1000000", "--time", "300ms"];
    let (_, first) = covered(paused.path(), &[&seed[..], &time].concat());
    assert_eq!(first["complete"], false);
    let end = (first["runs"].as_u64().expect("a number") + 100).to_string();
    let (_, resumed) = covered(
        paused.path(),
        &[&seed[..], &["--resume", "--runs", &end]].concat(),
    );
    let (_, unbroken) = covered(whole.path(), &[&seed[..], &["--runs", &end]].concat());
    assert_eq!(resumed, unbroken);
}

/// A path that leads nowhere is told before the first run, and no input is written over.
#[test]
fn a_coverage_file_that_cannot_be_is_refused_at_once() {
    let here = folder();
    write(here.path(), "file", "x");
    let long = [
        "run",
        "busy",
        "--seed",
        "1",
        "--runs",
        "100000000",
        "--coverage",
    ];
    let with = |more: &[&str]| mcpsim(here.path(), &[&long, more].concat()).ends(2);
    with(&["file/c.json"]).says(&["file/c.json: cannot write"]);
    let mine = r#"{"name": "mine", "parties": [{"name": "c", "role": "client"}, {"name": "s", "role": "server"}],
        "links": [{"kind": "pipe", "client": "c", "server": "s"}], "workload": {"c": [{"do": "ping"}]}}"#;
    write(here.path(), "mine.json", mine);
    let args = [
        "run",
        "--scenario",
        "mine.json",
        "--coverage",
        "./mine.json",
    ];
    mcpsim(here.path(), &args)
        .ends(2)
        .says(&["mine.json: --coverage would take the place"]);
    assert_eq!(read(&here.path().join("mine.json")), mine.as_bytes());
    let args = [
        "run",
        "busy",
        "--seed",
        "1",
        "--record",
        "t.jsonl",
        "--coverage",
        "t.jsonl",
    ];
    mcpsim(here.path(), &args)
        .ends(2)
        .says(&["t.jsonl: --coverage would take the place"]);
    assert!(!here.path().join("t.jsonl").exists());
}

/// A campaign that goes on for long without anything new says so, and since when; a short one does not.
#[test]
fn a_campaign_says_since_when_nothing_is_new() {
    let here = folder();
    let run = |runs: &str| {
        let args = [
            "run", "nested", "--seed", "3", "--runs", runs, "--out", "out",
        ];
        mcpsim(here.path(), &args).ends(0)
    };
    let long = run("500");
    let json = mcpsim(
        here.path(),
        &[
            "run", "nested", "--seed", "3", "--runs", "500", "--format", "json",
        ],
    );
    let last = json.json()["coverage"]["last_new"].as_u64();
    let told = format!("nothing new since run {} of 500\n", last.expect("a run"));
    assert!(long.text().contains(&told), "{}", long.text());
    assert!(!run("50").text().contains("nothing new"));
}

#[cfg(unix)]
mod interrupted {
    //! Ctrl-C, as the terminal sends it.

    use super::*;
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Child, Stdio};
    use std::time::Duration;

    /// A long campaign, and its first line as soon as that is there.
    fn begin(
        folder: &Path,
        args: &[&str],
    ) -> (Child, BufReader<std::process::ChildStdout>, String) {
        let mut all = vec!["run", "--runs", "100000000", "--out", "out"];
        all.extend(args);
        let mut child = command(common::MCPSIM, folder, &all)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("spawned");
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut first = String::new();
        if !args.contains(&"json") {
            out.read_line(&mut first).expect("readable");
        }
        (child, out, first)
    }

    fn interrupt(child: &mut Child) {
        assert_eq!(child.try_wait().expect("a child"), None, "still at work");
        let kill = format!("kill -INT {}", child.id());
        let status = std::process::Command::new("sh")
            .args(["-c", &kill])
            .status();
        assert!(status.expect("a shell").success());
    }

    /// Some time later a Ctrl-C; then the code and the rest of the output.
    fn end(mut child: Child, mut out: BufReader<std::process::ChildStdout>) -> (i32, String) {
        std::thread::sleep(Duration::from_millis(300));
        interrupt(&mut child);
        let mut rest = String::new();
        out.read_to_string(&mut rest).expect("text");
        let code = common::wait(&mut child, "an interrupted campaign");
        let mut err = String::new();
        child
            .stderr
            .take()
            .expect("a pipe")
            .read_to_string(&mut err)
            .expect("text");
        assert!(!err.contains("panicked"), "{err}");
        (code, rest)
    }

    #[test]
    fn what_was_played_is_summed_up_and_goes_on() {
        let here = folder();
        let (child, out, first) = begin(here.path(), &["nested", "--seed", "9"]);
        assert!(first.contains("seed 9"), "before the first step: {first}");
        let (code, rest) = end(child, out);
        assert_eq!(code, 130, "{rest}");
        let played = rest.split("interrupted after ").nth(1).expect(&rest);
        let played: u64 = played
            .split(' ')
            .next()
            .expect("a number")
            .parse()
            .expect("a number");
        assert!(played > 0);
        assert!(
            rest.contains(&format!("nothing found in {played} runs")),
            "{rest}"
        );
        assert_eq!(
            files(&here.path().join("out")).keys().collect::<Vec<_>>(),
            ["campaign.json"]
        );

        let end = (played + 300).to_string();
        let args = [
            "run", "nested", "--runs", &end, "--out", "out", "--format", "json",
        ];
        let with = |folder: &Path, more: &[&str]| {
            let mut all = args.to_vec();
            all.extend(more);
            mcpsim(folder, &all).ends(0)
        };
        let whole = with(folder().path(), &["--seed", "9"]).json();
        assert_eq!(with(here.path(), &["--resume"]).json(), whole);
        assert_eq!(whole["runs"].to_string(), end);
        assert!(files(&here.path().join("out")).is_empty(), "it is over");
    }

    #[test]
    fn what_was_found_is_saved_and_summed_up() {
        let here = folder();
        let args = [
            "--fault",
            "gateway-mixes-servers",
            "--seed",
            "9",
            "--keep-going",
        ];
        let (child, out, _) = begin(here.path(), &args);
        let (code, rest) = end(child, out);
        assert_eq!(code, 130, "{rest}");
        assert!(
            rest.contains("FOUND  request-unanswered   server"),
            "{rest}"
        );
        assert!(
            rest.contains("runs fail this way") && rest.contains("interrupted after "),
            "{rest}"
        );
        let repeat = rest
            .lines()
            .find_map(|line| line.strip_prefix("repeat: mcpsim replay "));
        mcpsim(here.path(), &["replay", repeat.expect(&rest)]).ends(1);
        assert_eq!(
            files(&here.path().join("out")).len(),
            3,
            "two traces and the place"
        );
    }

    #[test]
    fn a_report_is_whole_after_an_interruption() {
        let here = folder();
        let args = [
            "--fault",
            "gateway-mixes-servers",
            "--seed",
            "9",
            "--keep-going",
            "--format",
            "json",
        ];
        let (child, out, _) = begin(here.path(), &args);
        let (code, rest) = end(child, out);
        assert_eq!(code, 130, "{rest}");
        let report: Value = serde_json::from_str(&rest).expect("JSON");
        assert_eq!(report["complete"], false);
        let failure = &report["failures"][0];
        assert_eq!(failure["rule"], "request-unanswered");
        assert!(
            failure["runs"].as_u64() < report["runs"].as_u64(),
            "{report}"
        );
        assert!(here.path().join(text(failure, "shrunk")).is_file());
    }
}
