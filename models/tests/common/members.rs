//! Facts of the members of params and results: how they are read, and sessions in which one of them is slipped.
#![allow(dead_code, unreachable_pub)]

use mcpsim_models::examples::spell_out;
use mcpsim_traces::event::Role;
use mcpsim_traces::judge::{Finding, Vantage};
use mcpsim_traces::message::Revision;
use serde_json::Value;

use super::{How, cases, judge, read};

/// A lawful session, and a frame in it whose payload is looked at.
pub struct Block {
    pub place: usize,
    pub method: String,
    /// `params` or `result`.
    pub part: String,
    pub revisions: Vec<Revision>,
    /// Lines in the short form of the cases. `%` stands for the payload, `$R` for the revision.
    pub session: Vec<String>,
    /// The payload with all members that some revision has.
    pub value: Value,
    pub rows: Vec<Row>,
}

/// What is known of one member, in these revisions.
pub struct Row {
    pub place: usize,
    pub at: Vec<Value>,
    /// The types that it may have, or `=TEXT` for each of the texts that it may be.
    pub types: Vec<String>,
    pub is_required: bool,
    pub since: Revision,
    pub until: Revision,
    /// Which rule its flaws are charged to: an error, or a warning for a `null` that could be left out.
    pub rule: String,
    /// Slips for which something else is right: `RULE SEVERITY`; with a reason, `none` or several of them.
    pub but: Value,
}

/// A note on every session outside handshakes that has roots, sampling or logging, whatever else stands there.
pub const DEPRECATED: &str = "deprecated-features";

/// The values that are put in place of a member's own.
pub const SLIPS: &[&str] = &["null", "true", "7", "7.5", "\"x\"", "[]", "{}"];

impl Row {
    pub fn parse(place: usize, line: &Value) -> Row {
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
        let mut all = row.but.as_object().into_iter().flat_map(|but| but.values());
        let has_odd = line["why"].is_null() && !all.all(is_plain);
        assert!(
            !has_odd,
            "line {place}: what is let pass, or found twice, has a reason"
        );
        row
    }

    pub fn is_of(&self, revision: Revision) -> bool {
        self.since <= revision && revision <= self.until
    }

    /// Whether a value is of a type that the member may have.
    pub fn may_be(&self, slip: &str) -> bool {
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
    pub fn slips(&self) -> Vec<&'static str> {
        let wrong = SLIPS.iter().copied().filter(|slip| !self.may_be(slip));
        self.is_required
            .then_some("absent")
            .into_iter()
            .chain(wrong)
            .collect()
    }

    /// Puts the slip into a payload that has the member.
    pub fn slip(&self, slip: &str, value: &mut Value) {
        let is_there = self.try_slip(slip, value);
        assert!(is_there, "line {}: nothing there", self.place);
    }

    /// … and whether it has the member.
    pub fn try_slip(&self, slip: &str, value: &mut Value) -> bool {
        let Some(place) = at(value, &self.at) else {
            return false;
        };
        if slip == "absent" {
            remove(value, &self.at);
        } else {
            *place = serde_json::from_str(slip).expect("JSON");
        }
        true
    }

    /// What is found after a slip: `RULE SEVERITY`, or `none`.
    pub fn right(&self, slip: &str) -> String {
        if let Some(right) = self.but[slip].as_str() {
            return right.to_string();
        }
        let is_mild = slip == "null" && !self.is_required;
        let severity = if is_mild { "warning" } else { "error" };
        format!("{} {severity}", self.rule)
    }
}

pub fn blocks() -> Vec<Block> {
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
pub fn at<'a>(value: &'a mut Value, path: &[Value]) -> Option<&'a mut Value> {
    path.iter().try_fold(value, |value, step| match step {
        Value::Number(number) => value.get_mut(number.as_u64()? as usize),
        step => value.get_mut(step.as_str()?),
    })
}

pub fn remove(value: &mut Value, path: &[Value]) {
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
    pub fn lawful(&self, revision: Revision) -> Value {
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
    pub fn judge(&self, revision: Revision, value: &Value) -> (Vec<Finding>, Role, u32) {
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
}
