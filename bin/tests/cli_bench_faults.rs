//! `mcpsim bench-faults` from the outside: the table, the report, and that both hang on the seed alone.
#![cfg(feature = "cli")]

mod common;

use common::{Ran, documented, faults, folder, mcpsim, members, text};
use serde_json::Value;

/// Two faults that need a schedule and one that shows at once.
const THREE: [&str; 6] = [
    "--fault",
    "answers-twice",
    "--fault",
    "lists-a-request-late",
    "--fault",
    "cancels-the-newest",
];

fn bench(args: &[&str]) -> Ran {
    let mut all = vec!["bench-faults"];
    all.extend(args);
    mcpsim(folder().path(), &all)
}

fn three(more: &[&str]) -> Ran {
    let mut all = THREE.to_vec();
    all.extend(more);
    bench(&all)
}

#[test]
fn the_report_has_the_members_that_are_documented() {
    let report = three(&["--seeds", "3", "--format", "json"]).ends(0).json();
    let documented = documented("`mcpsim bench-faults`");
    let below = |list: &str| {
        let names = documented.iter().filter_map(|name| name.strip_prefix(list));
        let mut names: Vec<String> = names.map(str::to_owned).collect();
        names.sort_unstable();
        names
    };
    let mut top: Vec<String> = documented.clone();
    top.retain(|name| !name.contains('.'));
    top.push("schema".to_owned());
    top.sort_unstable();
    assert_eq!(members(&report), top);
    assert_eq!(members(&report["summary"]), below("summary."));
    assert_eq!(members(&report["faults"][0]), below("faults[]."));
    assert_eq!(report["schema"], "mcpsim-bench-faults/1");
    assert_eq!(
        report["strategies"],
        serde_json::json!(["uniform", "pct:3", "swarm", "mix"])
    );
    let summary = &report["summary"];
    assert_eq!(
        (&summary["faults"], &summary["need_schedule"]),
        (&3.into(), &2.into())
    );
    let by_strategy = summary["by_strategy"].as_array().expect("a list");
    assert_eq!(by_strategy.len(), 4);
    for row in by_strategy {
        assert_eq!(
            (&row["always_found"], &row["found"]),
            (&3.into(), &3.into())
        );
        assert_eq!(row["worst_fault"], "cancels-the-newest");
    }
    let first = &report["faults"][0];
    assert_eq!(text(first, "scenario"), "one-call");
    assert_eq!(first["needs_schedule"], false);
    assert_eq!(
        first["by_strategy"][0],
        serde_json::json!({"found": 3, "median": 1, "worst": 1})
    );
}

/// The seed alone decides: neither threads nor what else is measured.
#[test]
fn the_numbers_depend_on_the_seed_alone() {
    let with = |jobs, format| three(&["--seeds", "6", "--jobs", jobs, "--format", format]).ends(0);
    for format in ["text", "json"] {
        let one = with("1", format);
        for jobs in ["2", "7"] {
            assert_eq!(with(jobs, format), one, "--jobs {jobs}");
        }
    }
    let of = |seed, fault: &str| {
        let args = [
            "--seed",
            seed,
            "--seeds",
            "6",
            "--strategy",
            "uniform",
            "--format",
            "json",
            "--fault",
            fault,
        ];
        bench(&args).ends(0).json()["faults"][0]["by_strategy"][0].clone()
    };
    let whole = with("1", "json").json();
    for (at, fault) in [(1, "lists-a-request-late"), (2, "cancels-the-newest")] {
        assert_eq!(of("1", fault), whole["faults"][at]["by_strategy"][0]);
    }
    assert_ne!(
        of("1", "cancels-the-newest"),
        of("100", "cancels-the-newest")
    );
}

/// Each number is what `mcpsim run` counts.
#[test]
fn a_campaign_is_one_of_run() {
    for (strategy, seed) in [("uniform", "4"), ("pct:3", "5"), ("mix", "6")] {
        let here = folder();
        let common = [
            "--fault",
            "cancels-the-newest",
            "--seed",
            seed,
            "--strategy",
            strategy,
        ];
        let with = |command, more: &[&str]| {
            let mut args = vec![command, "--format", "json", "--runs", "900"];
            args.extend(common);
            args.extend(more);
            mcpsim(here.path(), &args)
        };
        let measured = with("bench-faults", &["--seeds", "1"]).ends(0).json();
        let run = with("run", &["--out", "out"]).ends(1).json();
        let counted = &measured["faults"][0]["by_strategy"][0];
        assert_eq!(counted["median"], run["runs"], "{strategy}");
        assert_eq!(counted["worst"], run["runs"], "{strategy}");
    }
}

/// Every fault of the catalogue has its row, by default.
#[test]
fn the_table_has_every_fault_and_sums_up() {
    let args = ["--seeds", "1", "--runs", "1000", "--strategy", "mix"];
    let ran = bench(&args).ends(0);
    let told = ran.text();
    let rows: Vec<Vec<&str>> = told
        .lines()
        .filter(|line| line.starts_with("| "))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    for fault in faults() {
        let row = rows.iter().find(|row| row[1] == text(&fault, "name"));
        let row = row.unwrap_or_else(|| panic!("no row of {fault}"));
        assert_eq!(row[2], text(&fault, "scenario"));
        assert_eq!(row[3] == "yes", fault["needs_schedule"] == true);
        assert!(row[4].parse::<u64>().is_ok(), "{row:?}");
    }
    let count = faults().len();
    let sum = rows.last().expect("a row");
    assert_eq!(
        (sum[1], sum[2]),
        ("mix", format!("{count} of {count}").as_str())
    );
    assert!(
        told.ends_with(&format!("\nall of {count} faults found\n")),
        "{told}"
    );
}

/// Where the budget is too small that is said, it counts as the worst, and the exit code tells.
#[test]
fn what_is_not_found_is_shown_and_fails() {
    let ran = three(&["--seeds", "5", "--runs", "1", "--strategy", "uniform"]).ends(1);
    let told = ran.text();
    assert!(told.contains("> 1 "), "{told}");
    assert!(told.contains("found by no strategy: "), "{told}");
    let report = three(&[
        "--seeds",
        "5",
        "--runs",
        "1",
        "--strategy",
        "uniform",
        "--format",
        "json",
    ]);
    let report = report.ends(1).json();
    let never = report["summary"]["never_found"].as_array().expect("a list");
    assert!(never.contains(&"cancels-the-newest".into()), "{report}");
    assert!(!never.contains(&"answers-twice".into()), "{report}");
    let hidden = &report["faults"][2]["by_strategy"][0];
    assert_eq!(
        *hidden,
        serde_json::json!({"found": 0, "median": null, "worst": null})
    );
    let sum = &report["summary"]["by_strategy"][0];
    assert_eq!(
        (&sum["worst_median"], &sum["worst"]),
        (&Value::Null, &Value::Null)
    );
}

#[test]
fn what_cannot_be_used_is_told() {
    bench(&["--fault", "answers-twic"])
        .ends(2)
        .says(&["unknown fault", "did you mean `answers-twice`"]);
    bench(&["--seed", "9007199254740992"])
        .ends(2)
        .says(&["2^53"]);
    bench(&["--seed", "9007199254740991", "--seeds", "2"])
        .ends(2)
        .says(&["--seeds 2", "2^53"]);
    for wrong in [["--seeds", "0"], ["--runs", "0"], ["--jobs", "0"]] {
        let ran = bench(&wrong).ends(2);
        assert!(ran.err.contains(wrong[0]), "{}", ran.err);
    }
    let last = [
        "--fault",
        "answers-twice",
        "--seed",
        "9007199254740991",
        "--seeds",
        "1",
    ];
    bench(&last).ends(0);
}
