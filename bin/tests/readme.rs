//! What the README shows is what the program prints: every `$ mcpsim` line in it is run, and so are its two commands.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn readme() -> String {
    std::fs::read_to_string(repository().join("README.md")).expect("the README is there")
}

/// A folder in which the README's commands find what they name.
fn workshop() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let cases = folder.path().join("models/cases/real");
    std::fs::create_dir_all(&cases).expect("a folder in it");
    for entry in
        std::fs::read_dir(repository().join("models/cases/real")).expect("the recorded sessions")
    {
        let path = entry.expect("a file").path();
        std::fs::copy(&path, cases.join(path.file_name().expect("a name"))).expect("a copy");
    }
    folder
}

fn mcpsim(arguments: &str, folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mcpsim"))
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .env_remove("MCPSIM_SEED")
        .output()
        .expect("the program runs")
}

/// The README's `console` blocks: the command's arguments, and what is printed below it.
fn blocks(text: &str) -> Vec<(String, String)> {
    let mut blocks = vec![];
    for block in text.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap_or("");
        let (command, output) = block.split_once('\n').expect("a command and its output");
        let arguments = command
            .strip_prefix("$ mcpsim ")
            .expect("a block begins with `$ mcpsim `");
        blocks.push((arguments.to_owned(), output.to_owned()));
    }
    blocks
}

/// Set `UPDATE_README=1` to write what is printed into the README; read the difference before keeping it.
#[test]
fn console_blocks_show_what_is_printed() {
    let folder = workshop();
    let mut text = readme();
    let shown = blocks(&text);
    assert!(
        shown.len() >= 3,
        "the README shows a failure from start to minimal trace"
    );
    let update = std::env::var_os("UPDATE_README").is_some();
    for (arguments, output) in shown {
        let ran = mcpsim(&arguments, folder.path());
        let printed = String::from_utf8(ran.stdout).expect("text");
        // What could not be used shows nothing: a file whose name has changed, say.
        assert!(
            matches!(ran.status.code(), Some(0 | 1)),
            "mcpsim {arguments}: {printed}"
        );
        if update {
            let old = format!("```console\n$ mcpsim {arguments}\n{output}```");
            text = text.replace(
                &old,
                &format!("```console\n$ mcpsim {arguments}\n{printed}```"),
            );
        } else {
            assert_eq!(printed, output, "mcpsim {arguments}");
        }
    }
    if update {
        std::fs::write(repository().join("README.md"), text).expect("the README is written");
    }
}

/// The line that the first failure ends with repeats it.
#[test]
fn the_repeat_line_repeats() {
    let folder = workshop();
    let (arguments, output) = blocks(&readme()).remove(0);
    mcpsim(&arguments, folder.path());
    let repeat = output
        .lines()
        .last()
        .and_then(|line| line.strip_prefix("repeat: mcpsim "));
    let again = mcpsim(repeat.expect("the last line repeats"), folder.path());
    let printed = String::from_utf8_lossy(&again.stdout).into_owned();
    assert_eq!(again.status.code(), Some(1), "{printed}");
    assert!(printed.contains(": same, "), "{printed}");
}

/// The main command, with the binary under test in the place of `cargo run --release --`.
#[test]
fn the_main_command_fails_and_says_how_to_repeat_it() {
    let text = readme();
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("cargo run --release -- "));
    let ran = mcpsim(line.expect("the main command"), workshop().path());
    let printed = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert_eq!(ran.status.code(), Some(1), "{printed}");
    assert!(
        printed
            .lines()
            .last()
            .is_some_and(|line| line.starts_with("repeat: mcpsim replay ")),
        "{printed}"
    );
}

#[test]
fn the_test_command_is_what_ci_calls() {
    let text = readme();
    let command = text
        .lines()
        .map(str::trim)
        .find(|line| line.starts_with("cargo test "));
    let ci = std::fs::read_to_string(repository().join(".ci/run")).expect("the CI script is there");
    assert!(
        ci.contains(command.expect("the test command")),
        "{command:?}"
    );
}

/// Every form of log that there is stands in the README's list.
#[test]
fn every_form_of_log_is_named() {
    let ran = mcpsim("list formats --format json", workshop().path());
    let report: serde_json::Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    let rows = report["formats"].as_array().expect("rows");
    assert!(rows.len() > 30, "{}", rows.len());
    let text = readme();
    for row in rows {
        let name = row["format"].as_str().expect("a name");
        let is_own = matches!(name, "trace" | "capture");
        assert!(is_own || text.contains(&format!("`{name}`")), "{name}");
    }
}
