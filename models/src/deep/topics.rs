//! Which rules look at the payloads of which method.

use mcpsim_traces::message::Method;

use crate::ledger::Cx;
use crate::part::Part;
use crate::rules::stateless::{
    caching, capability, client_features, deprecated, discovery, eras, errors, logging, mrtr,
    request_meta, result_type, subscriptions, tasks_extension, versioning,
};
use crate::rules::{asks, elicitation, errors as session_errors, tasks};
use crate::rules::{flood, listing, log_levels, refusals, tool_calls, updates};

use super::{Deep, Frame, Hook, Topic, discover};

/// Where a topic learns nothing from what goes to the party.
pub(crate) fn ignore(_: &mut Part, _: &mut Deep, _: &mut Cx<'_>, _: &Frame<'_>) {}

/// A topic that learns nothing from what goes to the party.
const fn judging(by: Hook) -> Topic {
    Topic { by, toward: ignore }
}

/// The topics of every frame outside sessions, before those of its method.
pub(crate) const STATELESS: &[Topic] = &[
    Topic {
        by: discover::by,
        toward: discover::toward,
    },
    judging(request_meta::by),
    judging(result_type::by),
    judging(capability::by),
    judging(discovery::by),
    Topic {
        by: versioning::by,
        toward: versioning::toward,
    },
    judging(errors::by),
    eras::TOPIC,
    tasks_extension::TOPIC,
    mrtr::TOPIC,
    subscriptions::TOPIC,
    logging::TOPIC,
    caching::TOPIC,
    deprecated::TOPIC,
];

/// The topics of every frame inside sessions that is no error, before those of its method.
pub(crate) const SESSION: &[Topic] = &[eras::SESSION, tasks::TOPIC, session_errors::PARAMS];

/// The topics of every error inside sessions, before those of its method.
pub(crate) const ERRORS: &[Topic] = &[
    eras::SESSION,
    tasks::TOPIC,
    elicitation::URL_REQUIRED,
    session_errors::PARAMS,
];

/// The topics of that method: its calls and their answers.
pub(crate) fn of(method: Method) -> &'static [Topic] {
    use Method as M;
    match method {
        M::Initialize => &[eras::HANDSHAKE, asks::HANDSHAKE],
        M::SamplingCreateMessage | M::ElicitationCreate => &[asks::TOPIC],
        M::ElicitationComplete => &[elicitation::COMPLETE],
        M::TasksGet | M::TasksNotification => &[client_features::TOPIC],
        M::ToolsList
        | M::ResourcesList
        | M::ResourcesTemplatesList
        | M::PromptsList
        | M::TasksList => &[listing::LIST],
        M::ToolsListChanged
        | M::ResourcesListChanged
        | M::PromptsListChanged
        | M::RootsListChanged => &[listing::CHANGED],
        M::ToolsCall => &[client_features::TOPIC, tool_calls::CALL],
        M::TasksResult => &[asks::TASK_RESULT, tool_calls::TASK_RESULT],
        M::RootsList => &[listing::ROOTS],
        M::ResourcesRead => &[client_features::TOPIC, refusals::READ],
        M::ResourcesSubscribe | M::ResourcesUnsubscribe | M::ResourcesUpdated => {
            &[updates::UPDATES]
        }
        M::PromptsGet => &[client_features::TOPIC, refusals::PROMPT],
        M::CompletionComplete => &[refusals::COMPLETE],
        M::LoggingSetLevel => &[log_levels::SET_LEVEL],
        M::LogMessage => &[log_levels::MESSAGE, flood::FLOODS],
        M::Progress | M::Ping => &[flood::FLOODS],
        M::ServerDiscover => &[refusals::DISCOVER],
        _ => &[],
    }
}
