//! What clean scenarios exercise: every message that a revision has for a side, and every way between the states of a session.
//! `docs/coverage.md` has the table.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use mcpsim_models::coverage::Coverage;
use mcpsim_scenarios::{Scenario, scenarios};
use mcpsim_sim::choose::{Dice, derive_seed};
use mcpsim_sim::run::run_seen;
use mcpsim_sim::strategy::{Strategy, length};
use mcpsim_traces::event::{Nothing, Role};
use mcpsim_traces::message::{Kind, Method, Revision};

/// Runs of each scenario.
const RUNS: u64 = 100;
/// So many scenarios are named in a row.
const NAMES_MAX: usize = 3;

const HEAD: &str = "# What clean scenarios exercise

Each named scenario without a fault, 100 runs (600 where a party may crash): by whom a message of each method is sent under each revision, and which ways between its
states each end's session takes. A row names the first scenarios that do it, and says how many others do; where none does, the reason.
`mcpsim run --coverage FILE` writes the same of any campaign.
`UPDATE_COVERAGE=1 cargo test -p mcpsim-scenarios --test covered` writes this page.
";

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/coverage.md")
}

fn reach(scenario: &Scenario) -> Coverage {
    let setup = scenario.setup(None).expect("no fault");
    let steps = length(setup.clone());
    let mut coverage = Coverage::default();
    // When somebody is gone is a matter of luck.
    let runs = if scenario.faults.crash > 0 {
        6 * RUNS
    } else {
        RUNS
    };
    for run in 0..runs {
        run_seen(
            setup.clone(),
            scenario.judge(None),
            &mut Dice::by(Strategy::Mix, derive_seed(11, run), steps),
            &mut Nothing,
            |_| false,
            |judge| coverage.add(run, judge),
        );
    }
    coverage
}

/// Something to be reached, and the scenarios that reach it.
type Rows = BTreeMap<String, Vec<String>>;

fn note(rows: &mut Rows, row: String, scenario: &str, is_reached: bool) {
    let names = rows.entry(row).or_default();
    if is_reached {
        names.push(scenario.to_owned());
    }
}

/// What no clean scenario does, and why.
const LEFT_OUT: &[(&str, &str)] = &[
    ("client `fresh` → `closed`", ALWAYS_FIRST),
    ("client `fresh` → `gone`", ALWAYS_FIRST),
    ("server `opening` → `closed`", AT_ONCE),
    ("server `opening` → `gone`", AT_ONCE),
    ("client `refused` → `gone`", LEAVES),
    ("server `refused` → `gone`", LEAVES),
    ("client `refused` → `greeted`", OFFERS),
    ("server `refused` → `greeted`", OFFERS),
];

const ALWAYS_FIRST: &str = "a client speaks as soon as its link is there";
const AT_ONCE: &str = "a server answers `initialize` in the step in which it hears it";
const LEAVES: &str = "a client that is refused closes at once";
const OFFERS: &str = "a server that knows another version offers it and refuses nothing";

fn left_out(row: &str) -> Option<&'static str> {
    let mut rows = LEFT_OUT.iter();
    rows.find(|(left, _)| *left == row).map(|(_, why)| *why)
}

/// The name of a message as the tables have it.
fn message(by: Role, kind: Kind, method: Method) -> String {
    let kind = match kind {
        Kind::Request => "request",
        Kind::Notification => "notification",
        _ => "result",
    };
    format!("{} `{}` {kind}", by.as_str(), method.as_str())
}

/// Where each row is done, in order, and what is done nowhere.
fn table(title: &str, rows: &Rows, text: &mut String, missing: &mut Vec<String>) {
    let _ = write!(text, "\n## {title}\n\n| what | where |\n|---|---|\n");
    for (row, names) in rows {
        let shown: Vec<String> = names
            .iter()
            .take(NAMES_MAX)
            .map(|name| format!("`{name}`"))
            .collect();
        let more = match names.len().saturating_sub(NAMES_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        match (names.is_empty(), left_out(row)) {
            (true, None) => missing.push(format!("{title}: {row}")),
            (true, Some(why)) => drop(writeln!(text, "| {row} | nowhere: {why} |")),
            (false, None) => drop(writeln!(text, "| {row} | {}{more} |", shown.join(", "))),
            (false, Some(_)) => missing.push(format!(
                "{title}: {row} is done, and stands among what is left out"
            )),
        }
    }
}

/// And the page says so. Set `UPDATE_COVERAGE=1` to write it anew.
#[test]
fn clean_scenarios_do_everything_that_there_is() {
    let mut messages: BTreeMap<Revision, Rows> = BTreeMap::new();
    let mut ways = Rows::new();
    for scenario in scenarios() {
        let coverage = reach(scenario);
        for revision in Revision::ALL {
            let rows = messages.entry(revision).or_default();
            // Every request may be refused: errors are none of what has to be done.
            let lawful = coverage.methods(revision).into_iter();
            for row in lawful.filter(|row| row.is_lawful && row.kind != Kind::Error) {
                let what = message(row.by, row.kind, row.method);
                note(rows, what, &scenario.name, row.first.is_some());
            }
        }
        for way in coverage.ways().into_iter().filter(|way| way.is_lawful) {
            let (from, to) = (way.from.as_str(), way.to.as_str());
            let what = format!("{} `{from}` → `{to}`", way.role.as_str());
            note(&mut ways, what, &scenario.name, way.first.is_some());
        }
    }
    let mut text = HEAD.to_owned();
    let mut missing = vec![];
    table("Ways between states", &ways, &mut text, &mut missing);
    for (revision, rows) in &messages {
        table(revision.as_str(), rows, &mut text, &mut missing);
    }
    assert!(missing.is_empty(), "\n{}", missing.join("\n"));
    if std::env::var_os("UPDATE_COVERAGE").is_some() {
        std::fs::write(page(), &text).expect("the page is written");
    }
    let written = std::fs::read_to_string(page()).unwrap_or_default();
    assert!(
        written == text,
        "docs/coverage.md is not what the scenarios do: set UPDATE_COVERAGE=1"
    );
}
