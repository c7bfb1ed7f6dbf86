//! Payloads of 2025-11-25, read by somebody else's types: what these refuse has a flaw of form here, and the
//! other way round, but for the differences that are listed with their reasons.

mod common;

use std::collections::BTreeSet;

use common::members::{Block, Row, blocks};
use mcpsim_traces::judge::Severity;
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
    let is_task = result.get("task").is_some();
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
