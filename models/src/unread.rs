//! Frames with more values than are written down, and answers to more requests than are followed: their envelope is judged and
//! nothing else, so no rule about what they carry can be said to be kept.

use mcpsim_traces::event::{FrameNo, Role};
use mcpsim_traces::message::{Kind, Method, Revision};

use crate::ledger::{Seen, bit, stateless_bits};
use crate::rules::{Rule, When};

/// So many of these frames are named.
const NAMED_MAX: usize = 4;

/// What could not be looked into.
#[derive(Clone, Debug, Default)]
pub struct Unread {
    /// The first few of these frames, in their order.
    pub frames: Vec<FrameNo>,
    /// How many there are.
    pub count: u32,
    /// The first request that came while more were open than are followed.
    pub beyond: Option<FrameNo>,
    /// What they may have carried.
    carried: Seen,
    /// What they are.
    kinds: Seen,
    /// Some stand inside a session; some outside any.
    is_inside: bool,
    is_outside: bool,
}

/// One frame that could not be looked into.
#[derive(Clone, Copy)]
pub(crate) struct Closed {
    pub(crate) frame: FrameNo,
    pub(crate) by: Role,
    pub(crate) kind: Kind,
    /// Its own method, or that of the request that it answers.
    pub(crate) method: Method,
    pub(crate) is_stateless: bool,
}

impl Unread {
    #[cold]
    pub(crate) fn put(&mut self, closed: &Closed) {
        self.count = self.count.saturating_add(1);
        if self.frames.len() < NAMED_MAX {
            self.frames.push(closed.frame);
        }
        self.hide(closed);
    }

    /// So many requests are open that this one is not followed, or what it asked for is not: what answers it is not judged.
    #[cold]
    pub(crate) fn go_beyond(&mut self, request: &Closed) {
        self.beyond.get_or_insert(request.frame);
        for kind in [Kind::Result, Kind::Error] {
            self.hide(&Closed {
                by: request.by.other(),
                kind,
                ..*request
            });
        }
    }

    fn hide(&mut self, closed: &Closed) {
        self.is_inside |= !closed.is_stateless;
        self.is_outside |= closed.is_stateless;
        self.carried |= carried(closed);
        self.kinds |= kinds(closed);
    }

    /// Whether one of them may have kept or broken the rule.
    pub(crate) fn hides(&self, rule: &Rule) -> bool {
        let is_of_era = self.is_inside && rule.from < Revision::V2026_07_28
            || self.is_outside && rule.until == Revision::V2026_07_28;
        is_of_era
            && (self.carried.has(rule.when)
                || self.kinds.has(rule.when) && LOOKS_INSIDE.contains(&rule.id))
    }
}

/// Rules that any frame of a kind triggers, and that look into it all the same.
const LOOKS_INSIDE: &[&str] = &[
    "caps-extension-id-prefix",
    "caps-legacy-tasks-key",
    "caps-missing-error",
    "caps-not-inferred",
    "err-invalid-params",
    "invalid-params-code",
    "is-error-type",
    "meta-client-info-present",
    "meta-field-types",
    "meta-missing-rejected",
    "meta-required-fields",
    "meta-server-info-present",
    "meta-server-info-shape",
    "notification-schema",
    "params-shape",
    "progress-message-type",
    "cancel-reason-type",
    "request-schema",
    "result-schema",
    "result-shape",
    "result-type-known",
    "result-type-present",
    "task-capability",
    "task-input-required-meta",
    "task-related-meta",
    "version-error-data",
];

fn all<const N: usize>(of: [When; N]) -> Seen {
    of.into_iter()
        .fold(Seen::default(), |all, when| all | bit(when))
}

/// What the frame triggers whatever it carries.
fn kinds(closed: &Closed) -> Seen {
    let is_client = closed.by == Role::Client;
    let call = if is_client {
        When::CLIENT_CALL
    } else {
        When::SERVER_CALL
    };
    let result = if is_client {
        When::CLIENT_RESULT
    } else {
        When::SERVER_RESULT
    };
    let kinds = bit(When::FRAME)
        | match closed.kind {
            Kind::Request => all([When::CALL, When::REQUEST, call]),
            Kind::Notification => all([When::CALL, When::NOTIFICATION, call]),
            Kind::Result => all([When::RESPONSE, result]),
            Kind::Error => bit(When::RESPONSE),
            Kind::Batch | Kind::Malformed => Seen::default(),
        }
        | match closed.method {
            Method::Cancelled => bit(When::CANCEL),
            Method::Progress => bit(When::PROGRESS),
            _ => Seen::default(),
        };
    match closed.is_stateless {
        true => kinds | stateless_bits(closed.kind),
        false => kinds,
    }
}

/// What the frame may have carried.
fn carried(closed: &Closed) -> Seen {
    let method = closed.method;
    let carried = match closed.kind {
        Kind::Request | Kind::Notification => bit(When::call(method)) | of_call(method),
        Kind::Result => bit(When::result(method)) | of_result(method),
        Kind::Error => bit(When::error(method)) | all([When::ERROR, When::URL_REQUIRED]),
        Kind::Batch | Kind::Malformed => Seen::default(),
    };
    let outside = match closed.kind {
        _ if !closed.is_stateless => Seen::default(),
        Kind::Request | Kind::Notification => all([
            When::RETRY,
            When::REQUEST_STATE,
            When::ELICITED_INSIDE,
            When::BAD_LEVEL,
            When::CAPABILITIES,
        ]),
        Kind::Result => all([
            When::INPUT_REQUIRED,
            When::SAMPLING_INSIDE,
            When::ELICITATION_INSIDE,
            When::REQUEST_STATE,
            When::CACHEABLE,
            When::CACHE_HINTS,
            When::PAGE_SCOPE,
        ]),
        _ => Seen::default(),
    };
    carried | outside | bit(When::META)
}

fn of_call(method: Method) -> Seen {
    bit(When::CURSOR)
        | match method {
            Method::Initialize => bit(When::CAPABILITIES),
            Method::ToolsCall => all([When::TOOL_ARGUMENTS, When::TASK]),
            Method::CompletionComplete => bit(When::COMPLETION_CONTEXT),
            Method::LoggingSetLevel => bit(When::LOG_LEVEL),
            Method::LogMessage => all([When::LOG_LEVEL, When::STATELESS_LOG]),
            Method::SamplingCreateMessage => {
                blocks() | all([When::SAMPLING_TOOLS, When::MISASKED, When::TASK])
            }
            Method::ElicitationCreate => all([When::BY_URL, When::MISASKED, When::TASK]),
            Method::SubscriptionsListen | Method::SubscriptionsAcknowledged => {
                bit(When::SUBSCRIPTION)
            }
            _ if is_of_tasks(method) => bit(When::TASK),
            _ => Seen::default(),
        }
}

fn of_result(method: Method) -> Seen {
    // The next page was named in it, or none: cursors that follow cannot be told from invented ones.
    let page = all([
        When::NEXT_CURSOR,
        When::PAGE,
        When::WHOLE_LIST,
        When::CURSOR,
    ]);
    let resource = all([
        When::RESOURCE_URI,
        When::RESOURCE_SIZE,
        When::ANNOTATIONS,
        When::ICON,
    ]);
    let returned = all([When::STRUCTURED, When::OUTPUT_SCHEMA, When::TASK]);
    match method {
        Method::Initialize => all([When::CAPABILITIES, When::ICON]),
        Method::ServerDiscover => all([When::CAPABILITIES, When::DISCOVERED, When::ICON]),
        Method::ToolsList => {
            page | all([
                When::TOOL,
                When::ICON,
                When::TOOL_ARGUMENTS,
                When::OUTPUT_SCHEMA,
            ])
        }
        Method::ToolsCall => returned | blocks() | resource,
        Method::TasksResult => returned | blocks() | resource,
        Method::ResourcesList | Method::ResourcesTemplatesList => page | resource,
        Method::ResourcesRead => all([When::RESOURCE_URI, When::BINARY]),
        Method::PromptsList => page | bit(When::ICON),
        Method::PromptsGet => {
            blocks() | resource | all([When::PROMPT_RESOURCE, When::PROMPT_MEDIA])
        }
        Method::SamplingCreateMessage => blocks(),
        Method::SubscriptionsListen => bit(When::SUBSCRIPTION),
        Method::TasksList => page | bit(When::TASK),
        _ if is_of_tasks(method) => bit(When::TASK),
        _ => Seen::default(),
    }
}

fn blocks() -> Seen {
    all([When::CONTENT, When::BINARY, When::ANNOTATIONS])
}

fn is_of_tasks(method: Method) -> bool {
    method.as_str().contains("tasks/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::rule;

    #[test]
    fn every_rule_that_is_named_is_there() {
        for id in LOOKS_INSIDE {
            assert!(rule(id).is_some(), "{id}");
        }
    }

    /// A result that could not be looked into leaves the rules about what it may hold open, and no others.
    #[test]
    fn only_what_it_may_have_carried_is_hidden() {
        let mut unread = Unread::default();
        for frame in 3..9 {
            unread.put(&Closed {
                frame,
                by: Role::Server,
                kind: Kind::Result,
                method: Method::ToolsCall,
                is_stateless: false,
            });
        }
        assert_eq!((&unread.frames[..], unread.count), (&[3, 4, 5, 6][..], 6));
        let hides = |id| unread.hides(rule(id).expect("a rule"));
        for id in [
            "content-block-fields",
            "tool-result-content",
            "result-shape",
            "meta-key-format",
        ] {
            assert!(hides(id), "{id}");
        }
        for id in [
            "jsonrpc-version",
            "tools-list-shape",
            "tool-call-params",
            "prompt-media-mime",
            "result-type-known",
        ] {
            assert!(!hides(id), "{id}");
        }
    }
}
