//! Debug and release print, save and replay the same bytes: the seed decides, not the optimizer or an overflow check.
#![cfg(feature = "cli")]

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{MCPSIM, Ran, command, files, finish, folder, write};

/// Optimised and without checks as a release is; it builds in a fraction of the time.
const PROFILE: &str = "quick-release";

/// Builds the release binary beside the one under test, from the same sources; nothing to do where it is there.
fn release() -> PathBuf {
    let target = Path::new(MCPSIM)
        .parent()
        .and_then(Path::parent)
        .expect("a target folder");
    let built = Command::new(env!("CARGO"))
        .args([
            "build",
            "--profile",
            PROFILE,
            "-p",
            "mcpsim",
            "--locked",
            "--quiet",
            "--target-dir",
        ])
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo");
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    let name = Path::new(MCPSIM).file_name().expect("a name");
    target.join(PROFILE).join(name)
}

/// What a binary says and saves, command after command in one folder.
fn session(binary: &Path) -> (Vec<Ran>, BTreeMap<String, Vec<u8>>) {
    let here = folder();
    let mut said = vec![];
    let mut run = |args: &[&str]| {
        let ran = finish(command(binary, here.path(), args), b"");
        said.push(ran);
    };
    for seed in ["1", "2", "9007199254740991"] {
        for fault in [
            "answers-under-the-last-id",
            "lists-a-request-late",
            "gateway-mixes-servers",
            "passes-ids-through-a-double",
        ] {
            run(&[
                "run",
                "--fault",
                fault,
                "--seed",
                seed,
                "--runs",
                "60",
                "--out",
                "out",
                "--keep-going",
            ]);
        }
        for scenario in [
            "busy",
            "lossy-http",
            "unreliable-parties",
            "busy-gateway",
            "big-ids",
        ] {
            let record = format!("{scenario}-{seed}.jsonl");
            run(&[
                "run", scenario, "--seed", seed, "--record", &record, "--out", "out",
            ]);
            run(&["check", &record, "--format", "json"]);
            run(&["check", &record, "--format", "json", "--vantage", "client"]);
            run(&["replay", &record, "--format", "json"]);
            run(&["show", &record, "--as", "mermaid"]);
        }
        run(&[
            "run",
            "busy",
            "--fault",
            "reports-after-the-answer",
            "--seed",
            seed,
            "--runs",
            "20",
            "--format",
            "json",
            "--out",
            "out",
        ]);
    }
    let saved = files(&here.path().join("out"));
    let mut shorts: Vec<&String> = saved.keys().collect();
    shorts.sort();
    for name in shorts {
        run(&["replay", &format!("out/{name}")]);
        run(&["check", &format!("out/{name}"), "--format", "json"]);
    }
    let real = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/cases/real");
    for (name, bytes) in files(&real)
        .into_iter()
        .filter(|(name, _)| name.ends_with(".jsonl"))
    {
        write(here.path(), &name, bytes);
        run(&["check", &name, "--format", "json"]);
    }
    (said, saved)
}

#[test]
fn debug_and_release_give_the_same_bytes() {
    let (debug, debug_files) = session(Path::new(MCPSIM));
    let (release, release_files) = session(&release());
    assert_eq!(debug.len(), release.len());
    for (one, other) in debug.iter().zip(&release) {
        assert_eq!(one.text(), other.text());
        assert_eq!((one.code, &one.err), (other.code, &other.err));
    }
    assert!(debug.iter().any(|ran| ran.code == 1) && debug.iter().all(|ran| ran.code < 2));
    assert!(debug_files.len() >= 8, "{:?}", debug_files.keys());
    assert!(
        debug_files == release_files,
        "{:?} and {:?}",
        debug_files.keys(),
        release_files.keys()
    );
}
