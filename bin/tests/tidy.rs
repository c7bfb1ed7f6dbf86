//! Style as tests: which crate may see which, what only `bin` may touch, how files and manifests look.
//!
//! Each check is a function from a text to a list of problems, run over the whole repository by one test and over a bad
//! example by another, so that a check that has gone blind is noticed. A problem says where, what, and what to write
//! instead. Comments and the insides of literals are set aside first: prose may name what code may not.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

// ---- What is allowed, as data.

/// Which crate folder may depend on which. `sim` and `models` never see each other.
const ARROWS: [(&str, &[&str]); 5] = [
    ("traces", &[]),
    ("models", &["traces"]),
    ("sim", &["traces"]),
    ("scenarios", &["sim", "models", "traces"]),
    ("bin", &["scenarios", "sim", "models", "traces"]),
];

/// Everything that may stand at the top of the repository.
const TOP_LEVEL: [&str; 20] = [
    "Cargo.toml",
    "Cargo.lock",
    "README.md",
    "CHANGELOG.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    "deny.toml",
    "rustfmt.toml",
    "traces",
    "models",
    "sim",
    "scenarios",
    "bin",
    "docs",
    "fuzz",
    ".ci",
    ".git",
    ".github",
    ".gitignore",
    ".mcpsim",
];

/// Where builds go; it may stand there too, and is not looked into.
const BUILD: &str = "target";

const LINE_LENGTH_MAX: usize = 140;

/// Names that may not be used somewhere, and what to write instead.
struct Ban {
    /// `a::b` is a path and all below it, `name!` a macro, a plain word any identifier that is exactly this.
    names: &'static [&'static str],
    folders: &'static [&'static str],
    parts: &'static [Part],
    instead: &'static str,
}

/// Part of a crate that a file belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    Source,
    Tests,
    Benches,
}

const EVERYWHERE: &[&str] = &["traces", "models", "sim", "scenarios", "bin"];
const OUTSIDE_BIN: &[&str] = &["traces", "models", "sim", "scenarios"];
const ALL_PARTS: &[Part] = &[Part::Source, Part::Tests, Part::Benches];
const SOURCE: &[Part] = &[Part::Source];

const BANS: &[Ban] = &[
    Ban {
        names: &[
            "std::time::Instant",
            "std::time::SystemTime",
            "std::time::UNIX_EPOCH",
            "std::thread::sleep",
        ],
        folders: OUTSIDE_BIN,
        parts: ALL_PARTS,
        instead: "time is a number that the world moves: take the milliseconds as a `u64` from whoever calls; only `bin` reads a clock",
    },
    Ban {
        names: &["std::process", "std::net", "std::os"],
        folders: OUTSIDE_BIN,
        parts: ALL_PARTS,
        instead: "only `bin` starts processes and opens sockets: take a reader, a writer or an `Actor`, or move this to `bin/src/live`",
    },
    Ban {
        names: &[
            "std::fs",
            "std::env",
            "std::io::stdin",
            "std::io::stdout",
            "std::io::stderr",
        ],
        folders: OUTSIDE_BIN,
        parts: SOURCE,
        instead: "only `bin` opens files and reads its surroundings: take `impl Read`, `impl Write` or `&str`; \
                  a test that needs a file uses `include_str!` or stands in the crate's `tests` folder",
    },
    Ban {
        names: &[
            "rand::rng",
            "rand::random",
            "rand::make_rng",
            "thread_rng",
            "from_os_rng",
            "try_from_os_rng",
            "from_entropy",
            "getrandom",
            "OsRng",
            "SysRng",
            "ThreadRng",
        ],
        folders: OUTSIDE_BIN,
        parts: ALL_PARTS,
        instead: "only `bin` draws a fresh seed: ask `Door::ask`, or take the seed as a `u64` and use `ChaCha8Rng::seed_from_u64`",
    },
    Ban {
        names: &[
            "std::collections::HashMap",
            "std::collections::HashSet",
            "std::collections::hash_map",
            "std::collections::hash_set",
            "std::hash::RandomState",
            "std::hash::DefaultHasher",
            "RandomState",
        ],
        folders: OUTSIDE_BIN,
        parts: ALL_PARTS,
        instead: "its order differs from run to run: use `BTreeMap`, `BTreeSet` or a sorted `Vec`; for pure look-up a table with a fixed \
                  hasher (siphasher with written-down keys) that is never iterated",
    },
    Ban {
        names: &["print!", "println!", "eprint!", "eprintln!"],
        folders: OUTSIDE_BIN,
        parts: SOURCE,
        instead: "a library does not write to the terminal: return the text, or write it to an `impl Write` that the caller gives",
    },
    Ban {
        names: &["dbg!"],
        folders: EVERYWHERE,
        parts: ALL_PARTS,
        instead: "left over from debugging: take it out, or use `tracing` in `bin`",
    },
    Ban {
        names: &["todo!", "unimplemented!"],
        folders: EVERYWHERE,
        parts: ALL_PARTS,
        instead: "write the code, return an error that says what is not supported, or use `unreachable!` with the reason why \
                  it cannot happen",
    },
    Ban {
        names: &["f32", "f64"],
        folders: &["sim", "models"],
        parts: &[Part::Source, Part::Tests],
        instead: "integers and ratios only, they are the same on every machine: use `u32`, `u64`, or a numerator and a denominator",
    },
];

// ---- The tests: each check over the repository, then over what it must catch.

#[test]
fn crate_arrows_point_one_way() {
    let mut problems = Vec::new();
    for (folder, _) in ARROWS {
        problems.extend(arrows_in_manifest(
            folder,
            &read(&root().join(folder).join("Cargo.toml")),
        ));
    }
    for source in sources() {
        problems.extend(arrows_in_source(&source));
    }
    expect_none(problems);
}

#[test]
fn crate_arrows_check_sees_a_wrong_arrow() {
    let manifest = "[dependencies]\nmcpsim-traces.workspace = true\n[dev-dependencies]\nmcpsim-models.workspace = true\n";
    assert_one(
        &arrows_in_manifest("sim", manifest),
        "sim/Cargo.toml:4: `sim` may not depend on `models`",
    );
    assert_eq!(arrows_in_manifest("scenarios", manifest), [""; 0]);
    assert_one(
        &arrows_in_manifest("traces", "[dependencies.mcpsim]\n"),
        "traces/Cargo.toml:1: `traces` may not depend on `bin`",
    );
    let for_tests =
        "[target.'cfg(unix)'.dev-dependencies]\n\"mcpsim-sim\" = { workspace = true }\n";
    assert_one(
        &arrows_in_manifest("models", for_tests),
        "models/Cargo.toml:2: `models` may not depend on `sim`",
    );

    let source = Source::new(
        "models/src/lib.rs",
        "//! Text.\n// use mcpsim_sim::World;\nuse mcpsim_sim::World;\n",
    );
    assert_one(
        &arrows_in_source(&source),
        "models/src/lib.rs:3: `models` may not depend on `sim`",
    );
    let source = Source::new(
        "sim/tests/a.rs",
        "//! Text.\nfn f() { mcpsim::run(mcpsim_sim::World); }\n",
    );
    assert_one(
        &arrows_in_source(&source),
        "sim/tests/a.rs:2: `sim` may not depend on `bin`",
    );
    let source = Source::new(
        "bin/src/lib.rs",
        "//! Text.\nuse {mcpsim_sim as sim, mcpsim_models};\n",
    );
    assert_eq!(arrows_in_source(&source), [""; 0]);
}

#[test]
fn banned_names_are_not_used() {
    expect_none(sources().iter().flat_map(banned_names).collect());
}

/// Every row of the table trips in every place that it names, and nowhere else.
#[test]
fn banned_names_check_sees_each_of_them() {
    for ban in BANS {
        for name in ban.names {
            let code = match name.strip_suffix('!') {
                Some(_) => format!("//! Text.\nfn f() {{ {name}(\"x\"); }}\n"),
                None if name.contains("::") => format!("//! Text.\nuse {name};\n"),
                None => format!("//! Text.\nfn f(x: {name}) {{}}\n"),
            };
            let prose = format!(
                "//! Not {name}.\nconst TEXT: &str = \"{name}\"; // {name}\n/* {name} /* */ {name} */\n"
            );
            for (folder, _) in ARROWS {
                for (part, path) in [
                    (Part::Source, "src"),
                    (Part::Tests, "tests"),
                    (Part::Benches, "benches"),
                ] {
                    let path = format!("{folder}/{path}/a.rs");
                    let problems = banned_names(&Source::new(&path, &code));
                    if ban.folders.contains(&folder) && ban.parts.contains(&part) {
                        assert!(
                            problems[0].starts_with(&format!("{path}:2: `{name}`: ")),
                            "{problems:?}"
                        );
                        assert!(problems[0].ends_with(ban.instead), "{problems:?}");
                    } else {
                        assert_eq!(problems, [""; 0], "{name} may be used in {path}");
                    }
                    assert_eq!(
                        banned_names(&Source::new(&path, &prose)),
                        [""; 0],
                        "prose may name {name}"
                    );
                }
            }
        }
    }
}

/// A path is seen however it is spelt.
#[test]
fn banned_names_check_sees_through_spellings() {
    for code in [
        "use std::{collections::{BTreeMap, HashMap as Map}, fmt};",
        "use std::collections::*;",
        "use std::collections;\nfn f() { collections::HashMap::<u8, u8>::new(); }",
        "use std as s;\nfn f(x: s::collections::HashMap<u8, u8>) {}",
        "fn f() -> ::std::collections::HashSet<u8> { r#\"\"\"#.into() }",
        "fn f<'a>(x: &'a str, quote: char) { let y = '\"'; std::collections::HashMap::new(); let z = '\"'; }",
    ] {
        let problems = banned_names(&Source::new("traces/src/a.rs", code));
        assert!(
            problems.iter().any(|problem| problem.contains("BTreeMap")),
            "{code}: {problems:?}"
        );
    }
    for code in [
        "use std::time::Duration;",
        "use hashbrown::HashMap;",
        "fn f() -> impl Sized + use<'a> {}",
        "let println = 1;",
    ] {
        assert_eq!(
            banned_names(&Source::new("traces/src/a.rs", code)),
            [""; 0],
            "{code}"
        );
    }
}

#[test]
fn no_floats_where_verdicts_and_schedules_are_made() {
    expect_none(sources().iter().flat_map(float_spellings).collect());
}

#[test]
fn float_check_sees_literals_and_conversions() {
    for code in [
        "let x = 0.5;",
        "let x = 1e3;",
        "let x = 2_f64;",
        "let x = value.as_f64();",
    ] {
        let problems = float_spellings(&Source::new("models/src/a.rs", code));
        assert!(
            problems
                .iter()
                .any(|problem| problem.contains("integers and ratios")),
            "{code}: {problems:?}"
        );
        assert_eq!(
            float_spellings(&Source::new("traces/src/a.rs", code)),
            [""; 0],
            "{code}"
        );
    }
    for code in [
        "let x = pair.0.1;",
        "for x in 0..10 {}",
        "let x = 0x1e3;",
        "let x = 0usize;",
        "let x = \"2.5\";",
        "let x = 1.max(2);",
    ] {
        assert_eq!(
            float_spellings(&Source::new("models/src/a.rs", code)),
            [""; 0],
            "{code}"
        );
    }
}

#[test]
fn top_of_the_repository_is_as_listed() {
    let entries = fs::read_dir(root()).expect("the repository can be listed");
    let names = entries.map(|entry| {
        entry
            .expect("an entry can be read")
            .file_name()
            .to_string_lossy()
            .into_owned()
    });
    expect_none(stray_entries(names));
}

#[test]
fn top_of_the_repository_check_sees_a_stray_file() {
    let names = ["Cargo.toml", "target", "notes.txt"].map(str::to_owned);
    assert_one(
        &stray_entries(names.into_iter()),
        "notes.txt: does not belong at the top",
    );
}

#[test]
fn dependencies_have_a_reason_and_one_place() {
    let workspace = read(&root().join("Cargo.toml"));
    assert!(
        dependencies(&workspace).count() > 10,
        "the reader of Cargo.toml finds the dependencies"
    );
    let mut problems = dependencies_without_reason(&workspace);
    for (folder, _) in ARROWS {
        problems.extend(dependencies_beside_the_workspace(
            folder,
            &read(&root().join(folder).join("Cargo.toml")),
        ));
    }
    expect_none(problems);
}

#[test]
fn dependency_checks_see_a_bare_one() {
    let workspace = r##"
        [workspace.dependencies]
        mcpsim-sim = { path = "sim" }
        # Finds line ends fast.
        memchr = "2"
        odd = "1" # why
        hash = { version = "1", features = ["#not a comment"] }
        base64 = "0.23" # frames that are not UTF-8
        [profile.release]
        lto = true
    "##;
    let problems = dependencies_without_reason(workspace);
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(
        problems[0].starts_with("Cargo.toml:6: `odd` has no reason"),
        "{problems:?}"
    );
    assert!(
        problems[1].starts_with("Cargo.toml:7: `hash` has no reason"),
        "{problems:?}"
    );

    let member = r#"[dependencies]
a.workspace = true
b = { workspace = true, features = [
  "x",
] }
c = "1"
[dev-dependencies.d]
version = "1"
"#;
    let problems = dependencies_beside_the_workspace("sim", member);
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(
        problems[0].starts_with("sim/Cargo.toml:6: `c` does not come from the workspace"),
        "{problems:?}"
    );
    assert!(
        problems[1].starts_with("sim/Cargo.toml:7: `d` does not come from the workspace"),
        "{problems:?}"
    );
}

#[test]
fn files_say_what_they_hold_and_are_not_wide() {
    let sources = sources();
    assert!(sources.len() > 5, "the walk finds the sources");
    expect_none(
        sources
            .iter()
            .flat_map(|source| [first_line(source), wide_lines(source)].concat())
            .collect(),
    );
}

#[test]
fn file_checks_see_a_missing_heading_and_a_wide_line() {
    let source = Source::new("sim/src/a.rs", "use a::b;\n");
    assert_one(
        &first_line(&source),
        "sim/src/a.rs:1: does not start with `//!`",
    );

    let long = "x".repeat(LINE_LENGTH_MAX);
    let code = format!(
        "//! Text.\nconst A: &str = \"{long}\";\n#[cfg(test)]\nconst B: &str = \"{long}\";\n// {long}\n"
    );
    let problems = wide_lines(&Source::new("sim/src/a.rs", &code));
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(
        problems[0].starts_with("sim/src/a.rs:2: 159 characters"),
        "{problems:?}"
    );
    assert!(
        problems[1].starts_with("sim/src/a.rs:5: 143 characters"),
        "{problems:?}"
    );
    assert_one(
        &wide_lines(&Source::new("sim/tests/a.rs", &code)),
        "sim/tests/a.rs:5: 143 characters",
    );
}

#[test]
fn no_test_is_ignored() {
    expect_none(sources().iter().flat_map(ignored_tests).collect());
}

#[test]
fn ignored_test_check_sees_one() {
    for code in [
        "#[ignore]",
        "#[ignore = \"slow\"]",
        "# [ ignore ]",
        "#[cfg_attr(windows, ignore)]",
    ] {
        let source = Source::new(
            "sim/src/a.rs",
            &format!("//! Text.\n#[test]\n{code}\nfn f() {{}}\n"),
        );
        assert_one(&ignored_tests(&source), "sim/src/a.rs:3: a test is ignored");
    }
    assert_eq!(
        ignored_tests(&Source::new(
            "sim/src/a.rs",
            "// #[ignore]\nlet ignore = 1;\n"
        )),
        [""; 0]
    );
}

// ---- The checks.

fn arrows_in_manifest(folder: &str, manifest: &str) -> Vec<String> {
    dependencies(manifest)
        .filter_map(|entry| Some((entry.line, crate_folder(&entry.name.replace('-', "_"))?)))
        .filter_map(|(line, target)| {
            wrong_arrow(&format!("{folder}/Cargo.toml:{line}"), folder, target)
        })
        .collect()
}

fn arrows_in_source(source: &Source) -> Vec<String> {
    let code = source.code();
    let tokens = tokens(&code);
    let mut problems = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let Some(target) = crate_folder(token.text) else {
            continue;
        };
        // `mcpsim` alone is an ordinary word; it is the crate where a path starts with it.
        let starts_a_path = tokens.get(index + 1).is_some_and(|next| next.text == "::");
        if target != "bin" || starts_a_path {
            problems.extend(wrong_arrow(&source.at(token.line), source.folder(), target));
        }
    }
    problems
}

/// The folder of one of our crates, by its name in code.
fn crate_folder(name: &str) -> Option<&'static str> {
    let folder = if name == "mcpsim" {
        "bin"
    } else {
        name.strip_prefix("mcpsim_")?
    };
    ARROWS
        .iter()
        .map(|(known, _)| *known)
        .find(|known| *known == folder)
}

fn wrong_arrow(place: &str, folder: &str, target: &str) -> Option<String> {
    // Folders that are no member (a fuzzing package) stand outside and may use anything.
    let (_, allowed) = ARROWS.iter().find(|(known, _)| *known == folder)?;
    if folder == target || allowed.contains(&target) {
        return None;
    }
    let allowed = if allowed.is_empty() {
        "none of our crates".to_owned()
    } else {
        format!("`{}`", allowed.join("`, `"))
    };
    Some(format!(
        "{place}: `{folder}` may not depend on `{target}`, only on {allowed}: move the shared part down, or the code that joins both up \
         into `scenarios` or `bin`"
    ))
}

fn banned_names(source: &Source) -> Vec<String> {
    let code = source.code();
    let tokens = tokens(&code);
    let paths = paths(&tokens);
    let mut problems = Vec::new();
    for ban in BANS.iter().filter(|ban| source.is_within(ban)) {
        for name in ban.names {
            let lines: Vec<usize> = if let Some(name) = name.strip_suffix('!') {
                let pairs = tokens
                    .windows(2)
                    .filter(|pair| pair[0].text == name && pair[1].text == "!");
                pairs.map(|pair| pair[0].line).collect()
            } else if name.contains("::") {
                paths
                    .iter()
                    .filter(|(_, path)| leads_to(path, name))
                    .map(|(line, _)| *line)
                    .collect()
            } else {
                tokens
                    .iter()
                    .filter(|token| token.text == *name)
                    .map(|token| token.line)
                    .collect()
            };
            problems.extend(
                lines
                    .into_iter()
                    .map(|line| format!("{}: `{name}`: {}", source.at(line), ban.instead)),
            );
        }
    }
    problems
}

/// Whether a path is the banned one, something below it, or a glob that brings it in.
fn leads_to(path: &str, banned: &str) -> bool {
    match path.strip_suffix("::*") {
        Some(parent) => {
            banned
                .rsplit_once("::")
                .is_some_and(|(banned_parent, _)| banned_parent == parent)
                || leads_to(parent, banned)
        }
        None => path
            .strip_prefix(banned)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with("::")),
    }
}

/// Floats that do not say `f64`: literals and conversions. The ban on the types themselves is a row of the table.
fn float_spellings(source: &Source) -> Vec<String> {
    let ban = BANS
        .iter()
        .find(|ban| ban.names.contains(&"f64"))
        .expect("the table bans floats");
    if !source.is_within(ban) {
        return Vec::new();
    }
    let is_float = |text: &str| {
        let typed = text.ends_with("f64") || text.ends_with("f32");
        let is_number =
            text.starts_with(|first: char| first.is_ascii_digit()) && !text.starts_with("0x");
        let conversion = text.ends_with("_f64") || text.ends_with("_f32");
        // The `e` of `0usize` is no exponent: that follows digits and comes before digits.
        let digits = text.trim_start_matches(|digit: char| digit.is_ascii_digit() || digit == '_');
        conversion || (is_number && (typed || digits.starts_with(['.', 'e', 'E'])))
    };
    let code = source.code();
    let floats = tokens(&code)
        .into_iter()
        .filter(|token| is_float(token.text));
    floats
        .map(|token| {
            format!(
                "{}: `{}`: {}",
                source.at(token.line),
                token.text,
                ban.instead
            )
        })
        .collect()
}

fn stray_entries(names: impl Iterator<Item = String>) -> Vec<String> {
    names
        .filter(|name| name != BUILD && !TOP_LEVEL.contains(&name.as_str()))
        .map(|name| {
            format!(
                "{name}: does not belong at the top of the repository: put it into the crate that it serves, \
                 or into docs; if it does belong there, list it in TOP_LEVEL"
            )
        })
        .collect()
}

fn dependencies_without_reason(workspace: &str) -> Vec<String> {
    dependencies(workspace)
        .filter(|entry| !entry.value.contains("path =") && entry.comment.split_whitespace().count() < 2)
        .map(|entry| {
            format!("Cargo.toml:{}: `{}` has no reason: write `# what it does for us` behind it or above it", entry.line, entry.name)
        })
        .collect()
}

fn dependencies_beside_the_workspace(folder: &str, manifest: &str) -> Vec<String> {
    dependencies(manifest)
        .filter(|entry| !entry.value.replace(' ', "").contains("workspace=true"))
        .map(|Entry { line, name, .. }| {
            format!(
                "{folder}/Cargo.toml:{line}: `{name}` does not come from the workspace: list it with its reason under \
                 [workspace.dependencies], and write `{name}.workspace = true` here"
            )
        })
        .collect()
}

fn first_line(source: &Source) -> Vec<String> {
    if source.text.starts_with("//! ") {
        return Vec::new();
    }
    let place = source.at(1);
    vec![format!(
        "{place}: does not start with `//!`: say in one sentence what the file holds and what it leaves to others"
    )]
}

/// Lines that are too long. What stands inside a literal does not count in tests, where it is data.
fn wide_lines(source: &Source) -> Vec<String> {
    let classes = classify(&source.text);
    let mut classes = &classes[..];
    let mut is_test = source.part() == Part::Tests;
    let mut problems = Vec::new();
    for (index, line) in source.text.split('\n').enumerate() {
        is_test |= line.trim() == "#[cfg(test)]";
        let length = line.chars().count();
        let counted = classes[..length]
            .iter()
            .filter(|class| !(is_test && **class == Class::Literal))
            .count();
        if counted > LINE_LENGTH_MAX {
            let place = source.at(index + 1);
            problems.push(format!(
                "{place}: {length} characters: break the line before {LINE_LENGTH_MAX}, a string with `\\` at its end or `concat!`"
            ));
        }
        classes = &classes[(length + 1).min(classes.len())..];
    }
    problems
}

fn ignored_tests(source: &Source) -> Vec<String> {
    let code = source.code();
    let tokens = tokens(&code);
    let mut problems = Vec::new();
    let mut brackets_open = 0;
    for (index, token) in tokens.iter().enumerate() {
        match token.text {
            "[" if brackets_open > 0 || (index > 0 && tokens[index - 1].text == "#") => brackets_open += 1,
            "]" if brackets_open > 0 => brackets_open -= 1,
            "ignore" if brackets_open > 0 => problems.push(format!(
                "{}: a test is ignored: make it fast enough to run, turn it into a benchmark, or delete it",
                source.at(token.line)
            )),
            _ => {}
        }
    }
    problems
}

// ---- Reading Rust: just enough of it.

/// A file of Rust with its path from the root, `/` between the names.
struct Source {
    path: String,
    text: String,
}

impl Source {
    fn new(path: &str, text: &str) -> Source {
        Source {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    fn folder(&self) -> &str {
        self.path.split('/').next().unwrap_or_default()
    }

    fn part(&self) -> Part {
        match self.path.split('/').nth(1) {
            Some("tests") => Part::Tests,
            Some("benches") => Part::Benches,
            _ => Part::Source,
        }
    }

    fn is_within(&self, ban: &Ban) -> bool {
        ban.folders.contains(&self.folder()) && ban.parts.contains(&self.part())
    }

    fn at(&self, line: usize) -> String {
        format!("{}:{line}", self.path)
    }

    /// The text with blanks for comments and for what is inside literals; line ends stay.
    fn code(&self) -> String {
        let classes = classify(&self.text);
        let code = |(letter, class): (char, Class)| {
            if class == Class::Code || letter == '\n' {
                letter
            } else {
                ' '
            }
        };
        self.text.chars().zip(classes).map(code).collect()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Class {
    Code,
    Comment,
    /// Inside quotes; the quotes themselves are code.
    Literal,
}

/// The class of each character.
fn classify(text: &str) -> Vec<Class> {
    let letters: Vec<char> = text.chars().collect();
    let mut classes = vec![Class::Code; letters.len()];
    let mut at = 0;
    while at < letters.len() {
        let rest = &letters[at..];
        let starts_a_word = at == 0 || !is_word(letters[at - 1]);
        let (class, before, length) = match rest {
            ['/', '/', ..] => (
                Class::Comment,
                0,
                length_until(rest, |rest| rest[0] == '\n'),
            ),
            ['/', '*', ..] => (Class::Comment, 0, block_comment_length(rest)),
            ['"', ..] => (Class::Literal, 1, string_length(&rest[1..], '"')),
            ['\'', '\\', ..] => (Class::Literal, 1, string_length(&rest[1..], '\'')),
            ['\'', _, '\'', ..] => (Class::Literal, 1, 1),
            ['r', '"' | '#', ..] if starts_a_word || matches!(letters[at - 1], 'b' | 'c') => {
                match raw_string(&rest[1..]) {
                    Some((before, length)) => (Class::Literal, 1 + before, length),
                    None => (Class::Code, 0, 1),
                }
            }
            _ => (Class::Code, 0, 1),
        };
        let (start, end) = (at + before, (at + before + length).min(letters.len()));
        classes[start..end].fill(class);
        at = if class == Class::Literal {
            end + 1
        } else {
            end
        };
    }
    classes
}

fn length_until(letters: &[char], ends: impl Fn(&[char]) -> bool) -> usize {
    (0..letters.len())
        .find(|&at| ends(&letters[at..]))
        .unwrap_or(letters.len())
}

/// Block comments nest.
fn block_comment_length(letters: &[char]) -> usize {
    let (mut at, mut depth) = (0, 0);
    while at < letters.len() {
        match letters[at..] {
            ['/', '*', ..] => (at, depth) = (at + 2, depth + 1),
            ['*', '/', ..] => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn string_length(letters: &[char], quote: char) -> usize {
    let mut at = 0;
    while at < letters.len() && letters[at] != quote {
        at += if letters[at] == '\\' { 2 } else { 1 };
    }
    at
}

/// Given what follows an `r`: how far it is to the inside of the raw string, and how long that is. `r#name` is none.
fn raw_string(letters: &[char]) -> Option<(usize, usize)> {
    let hashes = length_until(letters, |rest| rest[0] != '#');
    if letters.get(hashes) != Some(&'"') {
        return None;
    }
    let inside = &letters[hashes + 1..];
    let closes = |rest: &[char]| {
        rest[0] == '"'
            && rest[1..]
                .iter()
                .take(hashes)
                .filter(|letter| **letter == '#')
                .count()
                == hashes
    };
    Some((hashes + 1, length_until(inside, closes)))
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// A word, a number, `::`, or one other character that is not blank.
#[derive(Clone, Copy, Debug)]
struct Token<'a> {
    line: usize,
    text: &'a str,
}

fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut tokens: Vec<Token<'_>> = Vec::new();
    for (index, line) in code.lines().enumerate() {
        let mut rest = line.trim_start();
        while !rest.is_empty() {
            let follows_a_dot = tokens.last().is_some_and(|token| token.text == ".");
            let (text, after) = rest.split_at(token_length(rest, follows_a_dot));
            tokens.push(Token {
                line: index + 1,
                text,
            });
            rest = after.trim_start();
        }
    }
    tokens
}

fn token_length(rest: &str, follows_a_dot: bool) -> usize {
    let word_length = |text: &str| text.find(|letter| !is_word(letter)).unwrap_or(text.len());
    if rest.starts_with("::") {
        return 2;
    }
    let length = word_length(rest);
    let is_number = rest.starts_with(|first: char| first.is_ascii_digit());
    match rest[length..].strip_prefix('.') {
        // `1.5` is one number, `pair.0.1` and `0..9` are not.
        Some(fraction)
            if is_number
                && !follows_a_dot
                && fraction.starts_with(|first: char| first.is_ascii_digit()) =>
        {
            length + 1 + word_length(fraction)
        }
        _ if length == 0 => rest.chars().next().map_or(0, char::len_utf8),
        _ => length,
    }
}

/// Every path of the file in full: what `use` brings in, and what is written in place, with renamed beginnings put back.
fn paths(tokens: &[Token<'_>]) -> Vec<(usize, String)> {
    let mut imports = Vec::new();
    let mut in_place = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        // `use<'a>` in a type is something else.
        if tokens[at].text == "use" && tokens.get(at + 1).is_some_and(|next| next.text != "<") {
            at = use_tree(tokens, at + 1, "", &mut imports);
        } else {
            let (end, path) = plain_path(tokens, at);
            if path.contains("::") {
                in_place.push((tokens[at].line, path));
            }
            at = end.max(at + 1);
        }
    }
    let names: BTreeMap<&str, &str> = imports
        .iter()
        .map(|import| (import.name.as_str(), import.path.as_str()))
        .collect();
    let in_full = |path: &str| {
        let (first, rest) = path.split_once("::").unwrap_or((path, ""));
        names
            .get(first)
            .map(|full| format!("{full}::{rest}"))
            .unwrap_or(path.to_owned())
    };
    let imported = imports
        .iter()
        .map(|import| (import.line, in_full(&import.path)));
    let written = in_place.iter().map(|(line, path)| (*line, in_full(path)));
    imported.chain(written).collect()
}

struct Import {
    line: usize,
    path: String,
    /// What it is called in this file.
    name: String,
}

/// Reads one branch of a `use` from `at`, adds what it brings in, and gives the place behind it.
fn use_tree(tokens: &[Token<'_>], at: usize, parent: &str, imports: &mut Vec<Import>) -> usize {
    let (mut at, own) = plain_path(tokens, at);
    let path = if parent.is_empty() || own.is_empty() {
        format!("{parent}{own}")
    } else {
        format!("{parent}::{own}")
    };
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
    let line = tokens
        .get(at.saturating_sub(1))
        .map_or(0, |token| token.line);
    if text(at) == "::" {
        at += 1;
    }
    match text(at) {
        "{" => {
            at += 1;
            while !matches!(text(at), "}" | "") {
                at = use_tree(tokens, at, &path, imports);
                if text(at) == "," {
                    at += 1;
                }
            }
            return at + 1;
        }
        "*" => {
            imports.push(Import {
                line,
                path: format!("{path}::*"),
                name: String::new(),
            });
            return at + 1;
        }
        _ => {}
    }
    let path = path.strip_suffix("::self").unwrap_or(&path).to_owned();
    let last = path.rsplit("::").next().unwrap_or_default().to_owned();
    if text(at) == "as" {
        imports.push(Import {
            line,
            path,
            name: text(at + 1).to_owned(),
        });
        return at + 2;
    }
    imports.push(Import {
        line,
        path,
        name: last,
    });
    // Whatever stands here, go on: a check of style is no place to get stuck.
    if matches!(text(at), "," | "}") {
        at
    } else {
        at + 1
    }
}

/// `a::b::c` from `at` as far as it goes, a leading `::` set aside; gives the place behind it.
fn plain_path(tokens: &[Token<'_>], mut at: usize) -> (usize, String) {
    let word = |at: usize| {
        tokens
            .get(at)
            .filter(|token| token.text.starts_with(is_word))
            .map(|token| token.text)
    };
    let joint = |at: usize| tokens.get(at).is_some_and(|token| token.text == "::");
    let mut path = String::new();
    if joint(at) && word(at + 1).is_some() {
        at += 1;
    }
    while let Some(segment) = word(at) {
        path.push_str(segment);
        at += 1;
        if !joint(at) || word(at + 1).is_none() {
            break;
        }
        path.push_str("::");
        at += 1;
    }
    (at, path)
}

// ---- Reading Cargo.toml: the way ours are written.

/// One dependency of a manifest.
#[derive(Debug)]
struct Entry {
    line: usize,
    name: String,
    value: String,
    /// What is said behind it, or on the line above.
    comment: String,
}

/// The entries of every table whose name ends in `dependencies`; a table of its own (`[dependencies.x]`) is one with an
/// empty value.
fn dependencies(manifest: &str) -> impl Iterator<Item = Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut in_table = false;
    let mut brackets_open = 0;
    let mut said_above = String::new();
    for (index, line) in manifest.lines().enumerate() {
        let (content, comment) = split_comment(line.trim());
        let continues = brackets_open > 0;
        if !content.starts_with('[') || continues {
            brackets_open += content.matches(['[', '{']).count();
            brackets_open -= content.matches([']', '}']).count();
        }
        if continues && in_table {
            let entry = entries
                .last_mut()
                .expect("a value that continues has begun");
            entry.value.push_str(content);
            entry.comment.push_str(comment);
        } else if let Some(table) = content.strip_prefix('[') {
            let table = table.trim_end_matches(']');
            in_table = table.ends_with("dependencies");
            if let Some((_, name)) = table.rsplit_once("dependencies.") {
                let name = name.trim_matches('"').to_owned();
                entries.push(Entry {
                    line: index + 1,
                    name,
                    value: String::new(),
                    comment: comment.to_owned(),
                });
            }
        } else if let (true, Some((key, value))) = (in_table, content.split_once('=')) {
            // `a.workspace = true` is the same as `a = { workspace = true }`.
            let (name, member) = key.trim().split_once('.').unwrap_or((key.trim(), ""));
            let value = format!("{member} ={value}");
            let comment = format!("{said_above} {comment}");
            entries.push(Entry {
                line: index + 1,
                name: name.trim_matches('"').to_owned(),
                value,
                comment,
            });
        }
        said_above = if content.is_empty() {
            comment.to_owned()
        } else {
            String::new()
        };
    }
    entries.into_iter()
}

/// A line up to its comment, and what the comment says.
fn split_comment(line: &str) -> (&str, &str) {
    let mut in_string = false;
    for (place, letter) in line.char_indices() {
        match letter {
            '"' => in_string = !in_string,
            '#' if !in_string => return (line[..place].trim_end(), line[place + 1..].trim()),
            _ => {}
        }
    }
    (line, "")
}

// ---- The repository.

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the crate stands inside the workspace")
        .to_owned()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every Rust file of the repository, in the order of their paths.
fn sources() -> Vec<Source> {
    let mut sources = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        let entries =
            fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for entry in entries {
            let path = entry.expect("an entry can be read").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() && name != BUILD && !name.starts_with('.') {
                folders.push(path);
            } else if name.ends_with(".rs") {
                let below_root = path
                    .strip_prefix(root())
                    .expect("the walk starts at the root");
                let names: Vec<_> = below_root
                    .iter()
                    .map(|name| name.to_string_lossy())
                    .collect();
                sources.push(Source {
                    path: names.join("/"),
                    text: read(&path),
                });
            }
        }
    }
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    sources
}

fn expect_none(problems: Vec<String>) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[track_caller]
fn assert_one(problems: &[String], start: &str) {
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].starts_with(start), "{problems:?}");
}
