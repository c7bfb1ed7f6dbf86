//! Which rules look at the payloads of which method.

use mcpsim_traces::message::Method;

use crate::ledger::Cx;
use crate::part::Part;
use crate::rules::stateless::{client_features, request_meta, result_type, tasks_extension};
use crate::rules::{asks, elicitation, sampling, tasks};

use super::{Deep, Frame, Topic};

/// Where a topic learns nothing from what goes to the party.
pub(crate) fn ignore(_: &mut Part, _: &mut Deep, _: &mut Cx<'_>, _: &Frame<'_>) {}

/// The topics of every frame outside sessions, before those of its method.
pub(crate) const STATELESS: &[Topic] = &[
    Topic {
        by: request_meta::by,
        toward: ignore,
    },
    Topic {
        by: result_type::by,
        toward: ignore,
    },
    tasks_extension::TOPIC,
];

/// The topics of every frame inside sessions that is no error, before those of its method.
pub(crate) const SESSION: &[Topic] = &[tasks::TOPIC];

/// The topics of every error inside sessions, before those of its method.
pub(crate) const ERRORS: &[Topic] = &[tasks::TOPIC, elicitation::URL_REQUIRED];

/// The topics of that method: its calls and their answers.
pub(crate) fn of(method: Method) -> &'static [Topic] {
    match method {
        Method::Initialize => &[asks::HANDSHAKE],
        Method::SamplingCreateMessage => &[sampling::TOPIC],
        Method::ElicitationCreate => &[elicitation::TOPIC],
        Method::ElicitationComplete => &[elicitation::COMPLETE],
        Method::ToolsCall | Method::PromptsGet | Method::ResourcesRead => &[client_features::TOPIC],
        Method::TasksGet | Method::TasksNotification => &[client_features::TOPIC],
        Method::TasksResult => &[asks::TASK_RESULT],
        _ => &[],
    }
}
