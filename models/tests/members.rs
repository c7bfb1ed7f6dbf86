//! Every member of the params and results of every method in every revision: lawful frames with all of them
//! are clean, and for each that is left out where it has to be there, or is of another type, one finding
//! accuses who sent it. The facts stand in `cases/members.jsonl`, the form of a line in [`Block`] and [`Row`].

mod common;

use std::collections::BTreeSet;

use common::{How, cases, describe, judge, read};
use mcpsim_models::examples::spell_out;
use mcpsim_traces::event::Role;
use mcpsim_traces::judge::{Finding, Severity, Vantage, Verdict};
use mcpsim_traces::message::{Method, Revision};
use serde_json::{Value, json};

/// A lawful session, and a frame in it whose payload is looked at.
struct Block {
    place: usize,
    method: String,
    /// `params` or `result`.
    part: String,
    revisions: Vec<Revision>,
    /// Lines in the short form of the cases. `%` stands for the payload, `$R` for the revision.
    session: Vec<String>,
    /// The payload with all members that some revision has.
    value: Value,
    rows: Vec<Row>,
}

/// What is known of one member, in these revisions.
struct Row {
    place: usize,
    at: Vec<Value>,
    /// The types that it may have, or `=TEXT` for each of the texts that it may be.
    types: Vec<String>,
    is_required: bool,
    since: Revision,
    until: Revision,
    /// Which rule its flaws are charged to: an error, or a warning for a `null` that could be left out.
    rule: String,
    /// Slips for which something else is right: `RULE SEVERITY`; with a reason, `none` or several of them.
    but: Value,
}

/// A note on every session outside handshakes that has roots, sampling or logging, whatever else stands there.
const DEPRECATED: &str = "deprecated-features";

/// The values that are put in place of a member's own.
const SLIPS: &[&str] = &["null", "true", "7", "7.5", "\"x\"", "[]", "{}"];

impl Row {
    fn parse(place: usize, line: &Value) -> Row {
        let text = |name: &str| line[name].as_str().unwrap_or_default();
        let row = Row {
            place,
            at: line["at"].as_array().expect("a path").clone(),
            types: text("type").split('|').map(str::to_string).collect(),
            is_required: line["required"] == true,
            since: Revision::parse(text("since")).expect("a revision"),
            until: Revision::parse(text("until")).expect("a revision"),
            rule: text("rule").to_string(),
            but: line["but"].clone(),
        };
        let is_plain = |right: &Value| {
            let right = right.as_str().expect("a rule and a severity");
            right != "none" && !right.contains(';')
        };
        let has_odd = row.but.as_object().is_some_and(|but| {
            but.values().any(|right| right == "none") && line["why"].as_str().is_none()
        });
        assert!(
            !has_odd,
            "line {place}: what is let pass, or found twice, has a reason"
        );
        row
    }

    fn is_of(&self, revision: Revision) -> bool {
        self.since <= revision && revision <= self.until
    }

    /// Whether a value is of a type that the member may have.
    fn may_be(&self, slip: &str) -> bool {
        let is = |name: &str| self.types.iter().any(|one| one == name);
        is("any")
            || match slip {
                "null" => is("null"),
                "true" => is("boolean"),
                "7" => is("integer") || is("number"),
                "7.5" => is("number"),
                "[]" => is("array"),
                "{}" => is("object"),
                _ => is("string"),
            }
    }

    /// The slips of this member, by name: what has to be there and is not, and what is of another type.
    fn slips(&self) -> Vec<&'static str> {
        let wrong = SLIPS.iter().copied().filter(|slip| !self.may_be(slip));
        self.is_required
            .then_some("absent")
            .into_iter()
            .chain(wrong)
            .collect()
    }

    /// What is found after a slip: `RULE SEVERITY`, or `none`.
    fn right(&self, slip: &str) -> String {
        if let Some(right) = self.but[slip].as_str() {
            return right.to_string();
        }
        let is_mild = slip == "null" && !self.is_required;
        let severity = if is_mild { "warning" } else { "error" };
        format!("{} {severity}", self.rule)
    }
}

fn blocks() -> Vec<Block> {
    let text = read(&cases().join("members.jsonl"));
    let mut blocks: Vec<Block> = vec![];
    for (number, line) in text.lines().enumerate() {
        let place = number + 1;
        let line: Value = serde_json::from_str(line).expect("JSON");
        if line["method"].is_null() {
            blocks
                .last_mut()
                .expect("a block before")
                .rows
                .push(Row::parse(place, &line));
            continue;
        }
        let texts = |name: &str| -> Vec<String> {
            let list = line[name].as_array().expect("a list");
            list.iter()
                .map(|text| text.as_str().expect("a text").to_string())
                .collect()
        };
        let text = |name: &str| line[name].as_str().expect("a text").to_string();
        blocks.push(Block {
            place,
            method: text("method"),
            part: text("part"),
            revisions: texts("revs")
                .iter()
                .map(|date| Revision::parse(date).expect("a revision"))
                .collect(),
            session: texts("session"),
            value: line["value"].clone(),
            rows: vec![],
        });
    }
    blocks
}

/// What stands at a path.
fn at<'a>(value: &'a mut Value, path: &[Value]) -> Option<&'a mut Value> {
    path.iter().try_fold(value, |value, step| match step {
        Value::Number(number) => value.get_mut(number.as_u64()? as usize),
        step => value.get_mut(step.as_str()?),
    })
}

fn remove(value: &mut Value, path: &[Value]) {
    let (last, before) = path.split_last().expect("a path");
    match at(value, before) {
        Some(Value::Array(items)) => {
            items.remove(last.as_u64().expect("a number") as usize);
        }
        Some(Value::Object(members)) => {
            members.remove(last.as_str().expect("a name"));
        }
        _ => {}
    }
}

impl Block {
    /// The payload as the revision has it.
    fn lawful(&self, revision: Revision) -> Value {
        let text = self.value.to_string().replace("$R", revision.as_str());
        let mut value: Value = serde_json::from_str(&text).expect("JSON");
        let is_known = |row: &Row| {
            self.rows
                .iter()
                .any(|other| other.at == row.at && other.is_of(revision))
        };
        let mut strange: Vec<&[Value]> = vec![];
        for row in self.rows.iter().filter(|row| !is_known(row)) {
            if !strange.contains(&row.at.as_slice()) {
                strange.push(&row.at);
            }
        }
        // From the last on, so that what stands before in an array keeps its place.
        for path in strange.into_iter().rev() {
            remove(&mut value, path);
        }
        value
    }

    /// The findings in the session with that payload, who sent it, and in which frame.
    fn judge(&self, revision: Revision, value: &Value) -> (Vec<Finding>, Role, u32) {
        let (mut lines, mut sender, mut frame) = (vec![], Role::Client, 0);
        for line in &self.session {
            let line = line.replace("$R", revision.as_str());
            let spelled = spell_out([line.replacen('%', &value.to_string(), 1).as_str()]);
            lines.extend(spelled.unwrap_or_else(|wrong| panic!("line {}: {wrong}", self.place)));
            if line.contains('%') {
                (sender, frame) = (lines.last().expect("a frame").from, lines.len() as u32);
            }
        }
        let how = How {
            whole: true,
            ..How::from(Vantage::World)
        };
        let mut findings = judge(&lines, &how);
        findings.retain(|finding| finding.rule != DEPRECATED);
        (findings, sender, frame)
    }

    /// What is not as the rows say.
    fn problems(&self, revision: Revision) -> Vec<String> {
        let lawful = self.lawful(revision);
        let (before, sender, frame) = self.judge(revision, &lawful);
        let name = format!("{} {} {revision}", self.method, self.part);
        let mut wrong: Vec<String> = before
            .iter()
            .map(|finding| {
                format!(
                    "line {}: {name}: lawful, but {}",
                    self.place,
                    describe(finding)
                )
            })
            .collect();
        for row in self.rows.iter().filter(|row| row.is_of(revision)) {
            for slip in row.slips() {
                let mut value = lawful.clone();
                match slip {
                    "absent" => remove(&mut value, &row.at),
                    slip => match at(&mut value, &row.at) {
                        Some(place) => *place = serde_json::from_str(slip).expect("JSON"),
                        None => panic!("line {}: nothing there in {revision}", row.place),
                    },
                }
                let (after, ..) = self.judge(revision, &value);
                let found: Vec<String> =
                    after.iter().map(|one| short(one, sender, frame)).collect();
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
                .flat_map(|&revision| block.problems(revision))
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
