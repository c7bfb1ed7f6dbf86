//! Every member of the params and results of every method in every revision: lawful frames with all of them
//! are clean, and for each that is left out where it has to be there, or is of another type, one finding
//! accuses who sent it. The facts stand in `cases/members.jsonl`, the form of a line in [`Block`] and `Row`.

mod common;

use std::collections::BTreeSet;

use common::members::{Block, blocks};
use common::{cases, describe, read};
use mcpsim_traces::event::Role;
use mcpsim_traces::judge::{Finding, Verdict};
use mcpsim_traces::message::{Method, Revision};
use serde_json::{Value, json};

/// What is not as the rows say.
fn problems(block: &Block, revision: Revision) -> Vec<String> {
    let lawful = block.lawful(revision);
    let (before, sender, frame) = block.judge(revision, &lawful);
    let name = format!("{} {} {revision}", block.method, block.part);
    let mut wrong: Vec<String> = before
        .iter()
        .map(|finding| {
            format!(
                "line {}: {name}: lawful, but {}",
                block.place,
                describe(finding)
            )
        })
        .collect();
    for row in block.rows.iter().filter(|row| row.is_of(revision)) {
        for slip in row.slips() {
            let mut value = lawful.clone();
            row.slip(slip, &mut value);
            let (after, ..) = block.judge(revision, &value);
            let found: Vec<String> = after.iter().map(|one| short(one, sender, frame)).collect();
            let found = if found.is_empty() {
                "none".to_string()
            } else {
                found.join("; ")
            };
            let right = row.right(slip);
            if found != right {
                let path = json!(row.at);
                wrong.push(format!(
                    "line {}: {name} {path} {slip}: it is {right:?}, found was {found:?}",
                    row.place
                ));
            }
        }
    }
    wrong
}

/// A finding as the rows have it, with what is not as it has to be: certain, against the sender, for the frame.
fn short(finding: &Finding, sender: Role, frame: u32) -> String {
    let mut text = format!("{} {}", finding.rule, finding.severity.as_str());
    if finding.verdict != Verdict::Broken {
        text.push_str(" unsure");
    }
    if finding.blame.as_str() != sender.as_str() {
        text.push_str(&format!(" against the {}", finding.blame.as_str()));
    }
    if !finding.frames.contains(&frame) {
        text.push_str(&format!(" in {:?}", finding.frames));
    }
    text
}

#[test]
fn every_member_of_every_method_is_judged() {
    let wrong: Vec<String> = blocks()
        .iter()
        .flat_map(|block| {
            block
                .revisions
                .iter()
                .flat_map(|&revision| problems(block, revision))
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{} problems\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// No method, revision or part is left out: what has no params or no result of its own has a block all the same.
/// `cases/methods.json` says which revisions have which method.
#[test]
fn every_method_has_facts() {
    let facts: Value = serde_json::from_str(&read(&cases().join("methods.json"))).expect("JSON");
    let facts = facts.as_object().expect("revisions by method");
    let known: BTreeSet<&str> = Method::ALL.iter().map(|method| method.as_str()).collect();
    let listed: BTreeSet<&str> = facts.keys().map(String::as_str).collect();
    assert_eq!(known, listed);
    let mut wanted = BTreeSet::new();
    for (method, revisions) in facts {
        let is_notification = Method::parse(method.as_bytes()).is_notification();
        let parts: &[&str] = if is_notification {
            &["params"]
        } else {
            &["params", "result"]
        };
        for revision in revisions.as_array().expect("a list") {
            let revision = revision.as_str().expect("a date");
            wanted.extend(
                parts
                    .iter()
                    .map(|part| format!("{method} {part} {revision}")),
            );
        }
    }
    let has =
        |block: &Block, revision: &Revision| format!("{} {} {revision}", block.method, block.part);
    let blocks = blocks();
    let found: BTreeSet<String> = blocks
        .iter()
        .flat_map(|block| {
            block
                .revisions
                .iter()
                .map(move |revision| has(block, revision))
        })
        .collect();
    assert_eq!(wanted, found);
    // A row that no revision of its block has, or that no slip fits, tests nothing.
    for block in &blocks {
        for row in &block.rows {
            let is_used = block.revisions.iter().any(|revision| row.is_of(*revision));
            assert!(is_used, "line {}: no revision has it", row.place);
        }
    }
}
