//! Payloads of 2025-11-25, read by somebody else's types: what these refuse has a flaw of form here, and the
//! other way round, but for the differences that are listed with their reasons.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::members::{Block, Row, blocks};
use common::{How, Line, cases, judge, line_of, read};
use mcpsim_models::examples::examples;
use mcpsim_models::rules;
use mcpsim_traces::event::Role;
use mcpsim_traces::judge::{Finding, Severity, Vantage};
use mcpsim_traces::message::Revision;
use proptest::prelude::*;
use proptest::sample::Index;
use rust_mcp_schema as typed;
use serde_json::Value;

const REVISION: Revision = Revision::V2025_11_25;

/// Whether the payload is of that type.
macro_rules! is {
    ($type:ident, $value:expr) => {
        serde_json::from_value::<typed::$type>($value.clone()).is_ok()
    };
}

/// Whether the other reader takes the params of that method.
fn takes_params(method: &str, params: &Value) -> Option<bool> {
    Some(match method {
        "initialize" => is!(InitializeRequestParams, params),
        "ping" | "roots/list" => is!(RequestParams, params),
        "tools/list"
        | "prompts/list"
        | "resources/list"
        | "resources/templates/list"
        | "tasks/list" => {
            is!(PaginatedRequestParams, params)
        }
        "tools/call" => is!(CallToolRequestParams, params),
        "prompts/get" => is!(GetPromptRequestParams, params),
        "resources/read" => is!(ReadResourceRequestParams, params),
        "resources/subscribe" => is!(SubscribeRequestParams, params),
        "resources/unsubscribe" => is!(UnsubscribeRequestParams, params),
        "completion/complete" => is!(CompleteRequestParams, params),
        "logging/setLevel" => is!(SetLevelRequestParams, params),
        "sampling/createMessage" => is!(CreateMessageRequestParams, params),
        "elicitation/create" => is!(ElicitRequestParams, params),
        "tasks/get" => is!(GetTaskParams, params),
        "tasks/cancel" => is!(CancelTaskParams, params),
        "tasks/result" => is!(GetTaskPayloadParams, params),
        "notifications/cancelled" => is!(CancelledNotificationParams, params),
        "notifications/progress" => is!(ProgressNotificationParams, params),
        "notifications/message" => is!(LoggingMessageNotificationParams, params),
        "notifications/resources/updated" => is!(ResourceUpdatedNotificationParams, params),
        "notifications/elicitation/complete" => is!(ElicitCompleteParams, params),
        "notifications/tasks/status" => is!(TaskStatusNotificationParams, params),
        "notifications/initialized"
        | "notifications/roots/list_changed"
        | "notifications/tools/list_changed"
        | "notifications/prompts/list_changed"
        | "notifications/resources/list_changed" => is!(NotificationParams, params),
        _ => return None,
    })
}

/// Whether the other reader takes the result of that method.
fn takes_result(method: &str, result: &Value) -> Option<bool> {
    let is_task = result.get("task").is_some() && result.get("content").is_none();
    Some(match method {
        "initialize" => is!(InitializeResult, result),
        "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => {
            is!(Result, result)
        }
        "tools/list" => is!(ListToolsResult, result),
        "prompts/list" => is!(ListPromptsResult, result),
        "resources/list" => is!(ListResourcesResult, result),
        "resources/templates/list" => is!(ListResourceTemplatesResult, result),
        "resources/read" => is!(ReadResourceResult, result),
        "tools/call" | "sampling/createMessage" | "elicitation/create" if is_task => {
            is!(CreateTaskResult, result)
        }
        "tools/call" => is!(CallToolResult, result),
        "prompts/get" => is!(GetPromptResult, result),
        "completion/complete" => is!(CompleteResult, result),
        "roots/list" => is!(ListRootsResult, result),
        "sampling/createMessage" => is!(CreateMessageResult, result),
        "elicitation/create" => is!(ElicitResult, result),
        "tasks/get" => is!(GetTaskResult, result),
        "tasks/cancel" => is!(CancelTaskResult, result),
        "tasks/list" => is!(ListTasksResult, result),
        // Of this one the other reader cannot know what it is for; all tasks of the sessions are calls.
        "tasks/result" => is!(CallToolResult, result),
        _ => return None,
    })
}

fn takes(block: &Block, payload: &Value) -> bool {
    let takes = if block.part == "params" {
        takes_params
    } else {
        takes_result
    };
    takes(&block.method, payload).unwrap_or_else(|| panic!("{}: no type", block.method))
}

/// Whether an error is found in the frame.
fn refuses(block: &Block, payload: &Value) -> bool {
    let (findings, sender, frame) = block.judge(REVISION, payload);
    findings.iter().any(|one| {
        one.severity == Severity::Error
            && one.blame.as_str() == sender.as_str()
            && one.frames.contains(&frame)
    })
}

fn path_of(row: &Row) -> String {
    let steps = row.at.iter().map(|step| match step {
        Value::String(name) => name.clone(),
        _ => "*".to_string(),
    });
    steps.collect::<Vec<_>>().join(".")
}

/// Who alone refuses a payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Only {
    Here,
    There,
}

/// A difference that is no fault of either, or none of ours.
struct Known {
    only: Only,
    /// How the path ends, or what it goes through between dots.
    at: &'static str,
    /// One of the types that the member has, where that decides.
    of: &'static str,
    /// Empty for all.
    slips: &'static [&'static str],
    why: &'static str,
}

const KNOWN: &[Known] = &[
    Known {
        only: Only::Here,
        at: "",
        of: "object",
        slips: &["[]"],
        why: "there an array is read as a struct's members in their order",
    },
    Known {
        only: Only::Here,
        at: "",
        of: "",
        slips: &["null"],
        why: "there null is as good as absent; here it is worse where null misleads the usual reader",
    },
    Known {
        only: Only::Here,
        at: "ttl",
        of: "null",
        slips: &["absent"],
        why: "there null is as good as absent; the ttl of a task has to be there, and may be null",
    },
    Known {
        only: Only::There,
        at: "",
        of: "array",
        slips: &["null"],
        why: "there optional lists may be absent and not null; here that is a warning, as for all that may be absent",
    },
    Known {
        only: Only::Here,
        at: "_meta",
        of: "",
        slips: &[],
        why: "there the params of some methods have no `_meta`; all params may have it",
    },
    Known {
        only: Only::Here,
        at: "requestedSchema.properties",
        of: "",
        slips: &[],
        why: "there an enumeration that is none is read as free text",
    },
    Known {
        only: Only::There,
        at: "properties.a",
        of: "object",
        slips: &["true"],
        why: "JSON Schema has true and false for schemas, the published type has not: here it is a note",
    },
    Known {
        only: Only::There,
        at: "content.s",
        of: "",
        slips: &["7.5"],
        why: "there a form's numbers are whole; the text has numbers",
    },
];

impl Known {
    fn fits(&self, row: &Row, slip: &str, only: Only) -> bool {
        let path = path_of(row);
        let is_there = self.at.is_empty()
            || path == self.at
            || path.ends_with(&format!(".{}", self.at))
            || path.starts_with(&format!("{}.", self.at));
        let is_of = self.of.is_empty() || row.types.iter().any(|one| one == self.of);
        let is_slip = self.slips.is_empty() || self.slips.contains(&slip);
        self.only == only && is_there && is_of && is_slip
    }
}

/// Who alone refuses that payload; `None` where both do, or neither.
fn difference(block: &Block, payload: &Value) -> Option<Only> {
    match (refuses(block, payload), takes(block, payload)) {
        (true, true) => Some(Only::Here),
        (false, false) => Some(Only::There),
        _ => None,
    }
}

#[test]
fn single_slips_are_told_alike() {
    let mut wrong = BTreeSet::new();
    let mut used = BTreeSet::new();
    for block in blocks()
        .iter()
        .filter(|block| block.revisions.contains(&REVISION))
    {
        let lawful = block.lawful(REVISION);
        assert_eq!(difference(block, &lawful), None, "line {}", block.place);
        for row in block.rows.iter().filter(|row| row.is_of(REVISION)) {
            for slip in row.slips() {
                let mut value = lawful.clone();
                row.slip(slip, &mut value);
                let Some(only) = difference(block, &value) else {
                    continue;
                };
                match KNOWN.iter().position(|known| known.fits(row, slip, only)) {
                    Some(at) => drop(used.insert(at)),
                    None => drop(wrong.insert(format!(
                        "{} {} {} {slip}: refused {only:?} only",
                        block.method,
                        block.part,
                        path_of(row)
                    ))),
                }
            }
        }
    }
    let wrong: Vec<String> = wrong.into_iter().collect();
    assert!(
        wrong.is_empty(),
        "{} differences\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    for (at, known) in KNOWN.iter().enumerate() {
        assert!(
            used.contains(&at),
            "nothing differs so any more: {}: {}",
            known.at,
            known.why
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// Two or three slips in one payload: told alike, or one of them alone is a known difference.
    #[test]
    fn several_slips_are_told_alike(
        at in any::<Index>(),
        picks in proptest::collection::vec((any::<Index>(), any::<Index>()), 2..4),
    ) {
        let blocks = blocks();
        let blocks: Vec<&Block> = blocks.iter().filter(|block| block.revisions.contains(&REVISION)).collect();
        let block = at.get(&blocks);
        let lawful = block.lawful(REVISION);
        let rows: Vec<&Row> = block.rows.iter().filter(|row| row.is_of(REVISION) && !row.slips().is_empty()).collect();
        let mut value = lawful.clone();
        let mut alone = false;
        let mut made = vec![];
        for (pick, slip) in picks {
            let row = pick.get(&rows);
            let slip = *slip.get(&row.slips());
            // An earlier slip may have taken the place away.
            if row.try_slip(slip, &mut value) {
                let mut single = lawful.clone();
                row.slip(slip, &mut single);
                alone |= difference(block, &single).is_some();
                made.push(format!("{} {slip}", path_of(row)));
            }
        }
        let only = difference(block, &value);
        prop_assert!(only.is_none() || alone, "{} {} {made:?}: refused {only:?} only", block.method, block.part);
    }
}

/// A session by name, its lines and how it is judged.
type Session = (String, Vec<Line>, How);

/// The sessions of the cases, and recorded ones.
fn sessions() -> Vec<Session> {
    let mut sessions = vec![];
    for rule in rules() {
        for (at, example) in examples(rule.id).iter().enumerate() {
            let (lines, how) = (
                example.lines().expect("lines"),
                example.how().expect("options"),
            );
            sessions.push((format!("{} {}", rule.id, at + 1), lines, how));
        }
    }
    let folder = cases().join("real");
    let names: Value = serde_json::from_str(&read(&folder.join("expect.json"))).expect("JSON");
    for name in names.as_object().expect("sessions by name").keys() {
        let text = read(&folder.join(format!("{name}.jsonl")));
        let all = text
            .lines()
            .skip(1)
            .map(|line| serde_json::from_str(line).expect("JSON"));
        let lines = all.map(|line: Value| line_of(&line)).collect();
        sessions.push((name.clone(), lines, How::from(Vantage::Between)));
    }
    sessions
}

/// What one frame of a session holds: its number, its sender, its method, `params` or `result`, and that.
struct Held {
    frame: u32,
    from: Role,
    method: String,
    part: &'static str,
    payload: Value,
}

/// The payloads of a session that agreed on 2025-11-25, from the answer to initialize on.
fn held(lines: &[Line]) -> Vec<Held> {
    let mut asked: BTreeMap<(Role, String), String> = BTreeMap::new();
    let mut all = vec![];
    let (mut frame, mut is_agreed) = (0, false);
    for line in lines {
        frame += u32::from(line.event.as_deref().is_none_or(|event| event == "http"));
        let Ok(body) = serde_json::from_slice::<Value>(&line.bytes) else {
            continue;
        };
        let id = body["id"].to_string();
        // What speaks for itself stands outside the session, and so does its answer.
        if !body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].is_null() {
            asked.remove(&(line.from, id));
            continue;
        }
        let (method, part) = match body["method"].as_str() {
            Some(method) => {
                asked.insert((line.from, id), method.to_string());
                (method.to_string(), "params")
            }
            None => match asked.remove(&(line.from.other(), id)) {
                Some(method) => (method, "result"),
                None => continue,
            },
        };
        let payload = body[part].clone();
        if method == "initialize" && part == "result" {
            is_agreed = payload["protocolVersion"] == REVISION.as_str();
        }
        // Of a task's result only the session tells what it is; what is no object is the envelope's matter.
        if is_agreed && payload.is_object() && method != "tasks/result" {
            all.push(Held {
                frame,
                from: line.from,
                method,
                part,
                payload,
            });
        }
    }
    all
}

/// Rules that say more of frames in sessions than the other's types do.
const MORE_HERE: &[(&str, &str)] = &[
    (
        "elicit-schema-flat",
        "there an enumeration that is none is read as free text",
    ),
    ("elicit-url-params", "there a url is any text"),
    (
        "elicit-complete-known",
        "it is also about which elicitations there were",
    ),
    ("task-create-result", "it is about when a task is due"),
    ("task-params-shape", "there null is as good as absent"),
    ("next-cursor-type", "there null is as good as absent"),
    (
        "task-object-shape",
        "there a ttl that is absent is as good as null",
    ),
    ("task-id-type", "there metadata may hold anything"),
];

/// What the other's types refuse without reason, by method and something in the payload.
const MORE_THERE: &[(&str, &str, &str)] = &[
    (
        "elicitation/create",
        "0.5",
        "there a form's numbers are whole",
    ),
    (
        "tools/call",
        "60000.0",
        "there a whole number is one without a point; JSON does not tell 60000.0 from 60000",
    ),
];

#[test]
fn sessions_are_told_alike() {
    let of_form: BTreeSet<String> = blocks()
        .into_iter()
        .flat_map(|block| block.rows)
        .map(|row| row.rule)
        .collect();
    let (mut seen, mut wrong, mut used) = (0, vec![], BTreeSet::new());
    for (name, lines, how) in sessions() {
        let held = held(&lines);
        if held.is_empty() {
            continue;
        }
        let findings = judge(&lines, &how);
        for one in held {
            let takes = if one.part == "params" {
                takes_params
            } else {
                takes_result
            };
            let Some(takes) = takes(&one.method, &one.payload) else {
                continue;
            };
            seen += 1;
            let about = |finding: &&Finding| {
                finding.frames.contains(&one.frame) && finding.blame.as_str() == one.from.as_str()
            };
            let is_form = |finding: &&Finding| {
                finding.severity == Severity::Error && of_form.contains(finding.rule)
            };
            let told: Vec<&str> = findings
                .iter()
                .filter(about)
                .filter(|one| !takes || is_form(one))
                .map(|one| one.rule)
                .collect();
            if takes != told.is_empty() {
                let text = one.payload.to_string();
                let here = MORE_HERE
                    .iter()
                    .find(|(rule, _)| takes && told.iter().all(|told| told == rule));
                let there = MORE_THERE.iter().find(|(method, part, _)| {
                    !takes && *method == one.method && text.contains(part)
                });
                match here.map(|known| known.0).or(there.map(|known| known.1)) {
                    Some(known) => drop(used.insert(known)),
                    None => wrong.push(format!(
                        "{name} [{}] {}: taken {takes}, {told:?}: {text}",
                        one.frame, one.method
                    )),
                }
            }
        }
    }
    assert!(seen > 500, "{seen}");
    assert!(
        wrong.is_empty(),
        "{} of {seen}\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    let listed = MORE_HERE
        .iter()
        .map(|known| known.0)
        .chain(MORE_THERE.iter().map(|known| known.1));
    assert_eq!(used, listed.collect(), "what is listed still differs");
}
