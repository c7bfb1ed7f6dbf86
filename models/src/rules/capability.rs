//! Capabilities: nobody uses, serves or announces what was not declared.

use mcpsim_traces::event::Role;
use mcpsim_traces::judge::Severity;
use mcpsim_traces::message::{
    Capabilities, Capability, Condition, Kind, Message, Method, Revision, Shape,
};

use crate::ledger::Cx;
use crate::part::{In, Knows, Part, flag};
use crate::rules::envelope::is_in;
use crate::rules::lifecycle::CLIENT_REQUEST_BEFORE_INIT_RESPONSE;
use crate::rules::updates::RESOURCES_UPDATED_UNDECLARED;
use crate::rules::{
    Basis, Category, Level, MUST, MUST_SINCE_2025_06, Needs, Rule, SHOULD, Side,
    WARNING_BEFORE_2025_06, When,
};

/// What the other side did not declare is not used: a MUST since 2025-06-18.
const UNDECLARED: Rule = Rule {
    category: Category::Capability,
    level: Level::Should,
    level_by: MUST_SINCE_2025_06,
    basis: Basis::Text,
    severity_by: WARNING_BEFORE_2025_06,
    side: Side::Client,
    source: "2025-11-25 basic/lifecycle (Operation)",
    needs: Needs::Causal,
    when: When::CLIENT_CALL,
    ..MUST
};

/// A change of a list is announced where such were promised: a MUST since 2025-06-18.
const UNPROMISED: Rule = Rule {
    category: Category::Capability,
    level_by: MUST_SINCE_2025_06,
    basis: Basis::Derived,
    side: Side::Server,
    needs: Needs::SameDirection,
    when: When::SERVER_CALL,
    ..SHOULD
};

pub(crate) const CAP_TOOLS_NOT_DECLARED: Rule = Rule {
    id: "cap-tools-not-declared",
    says: "tools/list and tools/call only where the server declared `tools`.",
    why: "The server said that it has none; the refusal that follows is right.",
    ..UNDECLARED
};

pub(crate) const CAP_RESOURCES_NOT_DECLARED: Rule = Rule {
    id: "cap-resources-not-declared",
    says: "resources/list, resources/read and resources/templates/list only where the server declared `resources`.",
    why: "The server said that it has none; the refusal that follows is right.",
    ..UNDECLARED
};

pub(crate) const CAP_PROMPTS_NOT_DECLARED: Rule = Rule {
    id: "cap-prompts-not-declared",
    says: "prompts/list and prompts/get only where the server declared `prompts`.",
    why: "The server said that it has none; the refusal that follows is right.",
    ..UNDECLARED
};

pub(crate) const CAP_LOGGING_NOT_DECLARED: Rule = Rule {
    id: "cap-logging-not-declared",
    says: "logging/setLevel only where the server declared `logging`.",
    why: "The server said that it does not log to the client.",
    ..UNDECLARED
};

pub(crate) const CAP_COMPLETIONS_NOT_DECLARED: Rule = Rule {
    id: "cap-completions-not-declared",
    severity_by: &[(Revision::V2025_03_26, Severity::Warning)],
    from: Revision::V2025_03_26,
    says: "completion/complete only where the server declared `completions`.",
    why: "2024-11-05 has no such capability, so there the request is free.",
    ..UNDECLARED
};

pub(crate) const CAP_SUBSCRIBE_NOT_DECLARED: Rule = Rule {
    id: "cap-subscribe-not-declared",
    says: "resources/subscribe and resources/unsubscribe only where the server declared `resources.subscribe`.",
    why: "`resources` alone promises no updates.",
    ..UNDECLARED
};

pub(crate) const SERVER_SERVES_UNDECLARED: Rule = Rule {
    id: "server-serves-undeclared",
    category: Category::Capability,
    basis: Basis::Text,
    side: Side::Server,
    source: "2025-11-25 server/tools (Capabilities)",
    says: "A server that serves tools, resources, prompts or completions declares them.",
    why: "Clients that keep to the capabilities never find what was not declared.",
    needs: Needs::Causal,
    when: When::SERVER_RESULT,
    ..MUST
};

pub(crate) const LOG_WITHOUT_CAPABILITY: Rule = Rule {
    id: "log-without-capability",
    category: Category::Capability,
    basis: Basis::Text,
    side: Side::Server,
    source: "2025-11-25 server/utilities/logging (Capabilities)",
    says: "A server that sends notifications/message declared `logging`.",
    why: "Clients that keep to the capabilities have no handler; strict ones close the session.",
    needs: Needs::SameDirection,
    when: When::SERVER_CALL,
    ..MUST
};

pub(crate) const TOOLS_LIST_CHANGED_UNDECLARED: Rule = Rule {
    id: "tools-list-changed-undeclared",
    source: "2025-11-25 server/tools (List Changed Notification)",
    says: "notifications/tools/list_changed only with `tools.listChanged`.",
    why: "The client was told that there would be none, so it does not listen and keeps a stale list.",
    ..UNPROMISED
};

pub(crate) const PROMPTS_LIST_CHANGED_UNDECLARED: Rule = Rule {
    id: "prompts-list-changed-undeclared",
    source: "2025-11-25 server/prompts (List Changed Notification)",
    says: "notifications/prompts/list_changed only with `prompts.listChanged`.",
    why: "The client was told that there would be none, so it does not listen and keeps a stale list.",
    ..UNPROMISED
};

pub(crate) const RESOURCES_LIST_CHANGED_UNDECLARED: Rule = Rule {
    id: "resources-list-changed-undeclared",
    source: "2025-11-25 server/resources (List Changed Notification)",
    says: "notifications/resources/list_changed only with `resources.listChanged`.",
    why: "The client was told that there would be none, so it does not listen and keeps a stale list.",
    ..UNPROMISED
};

pub(crate) const CAP_ROOTS_NOT_DECLARED: Rule = Rule {
    id: "cap-roots-not-declared",
    side: Side::Server,
    says: "roots/list only where the client declared `roots`.",
    why: "The client said that it has none; some clients never answer what they did not declare.",
    when: When::SERVER_CALL,
    ..UNDECLARED
};

pub(crate) const CAP_SAMPLING_NOT_DECLARED: Rule = Rule {
    id: "cap-sampling-not-declared",
    side: Side::Server,
    says: "sampling/createMessage only where the client declared `sampling`.",
    why: "The client has no model to ask; some clients never answer what they did not declare, and the tool call hangs.",
    when: When::SERVER_CALL,
    ..UNDECLARED
};

pub(crate) const CAP_ELICITATION_NOT_DECLARED: Rule = Rule {
    id: "cap-elicitation-not-declared",
    category: Category::Capability,
    basis: Basis::Text,
    side: Side::Server,
    from: Revision::V2025_06_18,
    source: "2025-11-25 basic/lifecycle (Operation)",
    says: "elicitation/create only where the client declared `elicitation`.",
    why: "The client has nobody to ask; the tool call hangs or fails.",
    needs: Needs::Causal,
    when: When::SERVER_CALL,
    ..MUST
};

pub(crate) const CLIENT_SERVES_UNDECLARED: Rule = Rule {
    id: "client-serves-undeclared",
    category: Category::Capability,
    basis: Basis::Text,
    side: Side::Client,
    source: "2025-11-25 client/roots (Capabilities)",
    says: "A client that serves roots, sampling or elicitation declares it.",
    why: "Servers that keep to the capabilities never ask for what was not declared.",
    needs: Needs::Causal,
    when: When::CLIENT_RESULT,
    ..MUST
};

pub(crate) const ROOTS_LIST_CHANGED_UNDECLARED: Rule = Rule {
    id: "roots-list-changed-undeclared",
    side: Side::Client,
    source: "2025-11-25 client/roots (Capabilities)",
    says: "notifications/roots/list_changed only with `roots.listChanged`.",
    why: "The server was told that there would be none.",
    when: When::CLIENT_CALL,
    ..UNPROMISED
};

/// The rows of this category.
pub(crate) const ROWS: &[Rule] = &[
    CAP_TOOLS_NOT_DECLARED,
    CAP_RESOURCES_NOT_DECLARED,
    CAP_PROMPTS_NOT_DECLARED,
    CAP_LOGGING_NOT_DECLARED,
    CAP_COMPLETIONS_NOT_DECLARED,
    CAP_SUBSCRIBE_NOT_DECLARED,
    SERVER_SERVES_UNDECLARED,
    LOG_WITHOUT_CAPABILITY,
    TOOLS_LIST_CHANGED_UNDECLARED,
    PROMPTS_LIST_CHANGED_UNDECLARED,
    RESOURCES_LIST_CHANGED_UNDECLARED,
    CAP_ROOTS_NOT_DECLARED,
    CAP_SAMPLING_NOT_DECLARED,
    CAP_ELICITATION_NOT_DECLARED,
    CLIENT_SERVES_UNDECLARED,
    ROOTS_LIST_CHANGED_UNDECLARED,
];

/// What the server must have declared for the client to send that request.
fn of_server(method: Method) -> Option<(Capability, &'static Rule)> {
    use Method as M;
    Some(match method {
        M::ToolsList | M::ToolsCall => (Capability::Tools, &CAP_TOOLS_NOT_DECLARED),
        M::ResourcesList | M::ResourcesRead | M::ResourcesTemplatesList => {
            (Capability::Resources, &CAP_RESOURCES_NOT_DECLARED)
        }
        M::ResourcesSubscribe | M::ResourcesUnsubscribe => {
            (Capability::ResourcesSubscribe, &CAP_SUBSCRIBE_NOT_DECLARED)
        }
        M::PromptsList | M::PromptsGet => (Capability::Prompts, &CAP_PROMPTS_NOT_DECLARED),
        M::LoggingSetLevel => (Capability::Logging, &CAP_LOGGING_NOT_DECLARED),
        M::CompletionComplete => (Capability::Completions, &CAP_COMPLETIONS_NOT_DECLARED),
        _ => return None,
    })
}

/// What the client must have declared for the server to send that request.
fn of_client(method: Method) -> Option<(Capability, &'static Rule)> {
    Some(match method {
        Method::RootsList => (Capability::Roots, &CAP_ROOTS_NOT_DECLARED),
        Method::SamplingCreateMessage => (Capability::Sampling, &CAP_SAMPLING_NOT_DECLARED),
        Method::ElicitationCreate => (Capability::Elicitation, &CAP_ELICITATION_NOT_DECLARED),
        _ => return None,
    })
}

/// What the sender of that notification must have declared itself.
fn of_sender(method: Method) -> Option<(Capability, &'static Rule)> {
    Some(match method {
        Method::LogMessage => (Capability::Logging, &LOG_WITHOUT_CAPABILITY),
        Method::ToolsListChanged => (Capability::ToolsListChanged, &TOOLS_LIST_CHANGED_UNDECLARED),
        Method::PromptsListChanged => (
            Capability::PromptsListChanged,
            &PROMPTS_LIST_CHANGED_UNDECLARED,
        ),
        Method::ResourcesListChanged => (
            Capability::ResourcesListChanged,
            &RESOURCES_LIST_CHANGED_UNDECLARED,
        ),
        Method::RootsListChanged => (Capability::RootsListChanged, &ROOTS_LIST_CHANGED_UNDECLARED),
        Method::ResourcesUpdated => (
            Capability::ResourcesSubscribe,
            &RESOURCES_UPDATED_UNDECLARED,
        ),
        _ => return None,
    })
}

impl Part {
    /// The client sends a request after initialize was answered, as far as it may know.
    #[inline]
    pub(crate) fn used_as_declared(&mut self, cx: &mut Cx<'_>, message: &Message) {
        let Some((capability, rule)) = of_server(message.method) else {
            return;
        };
        let is_untold = self.is(flag::UNTOLD_THEIRS);
        if self.theirs.has(capability) || is_untold || self.is_free(message.method) {
            return;
        }
        let (method, path) = (message.method.words(), capability.as_str());
        if self.knows(self.opened) == Knows::Must {
            let text = format!("{method}, but the server did not declare `{path}`");
            self.broken(cx, rule, &[cx.frame], text);
        } else {
            // A fault either way: the milder of the two is reported.
            let text = format!(
                "{method}, either before the answer to initialize or against it: the server did not declare `{path}`"
            );
            self.broken(cx, &CLIENT_REQUEST_BEFORE_INIT_RESPONSE, &[cx.frame], text);
        }
    }

    /// The party's handshake says what it can, or should.
    pub(crate) fn tells_of_mine(&mut self, message: &Message) {
        self.mine = message.capabilities;
        self.put(flag::UNTOLD_MINE, tells_nothing(message));
    }

    /// The other side's handshake says what it can, or should.
    pub(crate) fn told_of_theirs(&mut self, message: &Message) {
        self.theirs = message.capabilities;
        self.put(flag::UNTOLD_THEIRS, tells_nothing(message));
    }

    /// 2024-11-05 has no capability for completions, and a method that the revision lacks is another
    /// rule's matter.
    fn is_free(&self, method: Method) -> bool {
        self.revision.is_some_and(|revision| {
            method == Method::CompletionComplete && revision == Revision::V2024_11_05
                || !is_in(method, revision)
        })
    }

    /// The server sends a request after initialize.
    #[inline]
    pub(crate) fn asked_as_declared(&mut self, cx: &mut Cx<'_>, message: &Message) {
        let Some((capability, rule)) = of_client(message.method) else {
            return;
        };
        let is_untold = self.is(flag::UNTOLD_THEIRS);
        if self.theirs.has(capability) || is_untold || self.is_free(message.method) {
            return;
        }
        let text = format!(
            "{}, but the client did not declare `{}`",
            message.method.words(),
            capability.as_str()
        );
        self.broken(cx, rule, &[cx.frame], text);
    }

    /// The party announces something.
    #[inline]
    pub(crate) fn announced_as_declared(&mut self, cx: &mut Cx<'_>, message: &Message) {
        let Some((capability, rule)) = of_sender(message.method) else {
            return;
        };
        if self.has_declared() {
            if !self.mine.has(capability) && !self.is(flag::UNTOLD_MINE) {
                let text = format!(
                    "{} without having declared `{}`",
                    message.method.words(),
                    capability.as_str()
                );
                self.broken(cx, rule, &[cx.frame], text);
            }
        } else if self.role == Role::Server && !self.mine.has(capability) && !cx.is_expected(rule) {
            let frame = cx.frame;
            let rare = self.rare();
            if rare.early.bits() == 0 {
                rare.early_frame = frame;
            }
            rare.early.insert(capability);
        }
    }

    /// The server has declared what it can: what it announced before is judged now.
    #[cold]
    pub(crate) fn judge_early_uses(&mut self, cx: &mut Cx<'_>) {
        let Some(rare) = &mut self.rare else { return };
        let early = std::mem::take(&mut rare.early);
        let frame = std::mem::take(&mut rare.early_frame);
        if self.is(flag::UNTOLD_MINE) {
            return;
        }
        for &method in Method::ALL {
            let Some((capability, rule)) = of_sender(method) else {
                continue;
            };
            if early.has(capability) && !self.mine.has(capability) {
                let text = format!(
                    "{} without declaring `{}`",
                    method.words(),
                    capability.as_str()
                );
                self.broken(cx, rule, &[frame, cx.frame], text);
            }
        }
    }

    /// The party served a request.
    #[inline]
    pub(crate) fn served(&mut self, cx: &mut Cx<'_>, message: &Message, request: &In) {
        let method = request.method;
        match (self.role, method) {
            (_, Method::Ping) => return self.ping_served(cx, message),
            (Role::Server, Method::ToolsCall) => self.tool_served(cx, message),
            _ => {}
        }
        if !self.has_declared() || self.is(flag::UNTOLD_MINE) {
            return;
        }
        // An empty list proves little.
        let (needed, rule, if_empty) = match self.role {
            Role::Server => (
                of_server(method).filter(|_| is_family(method)),
                &SERVER_SERVES_UNDECLARED,
                Severity::Warning,
            ),
            Role::Client => (of_client(method), &CLIENT_SERVES_UNDECLARED, Severity::Note),
        };
        let Some((capability, _)) = needed else {
            return;
        };
        if self.mine.has(capability) || self.is_free(method) {
            return;
        }
        let severity = if message.has(Condition::EmptyList) {
            if_empty
        } else {
            Severity::Error
        };
        let text = format!(
            "{} is served without `{}` having been declared",
            method.words(),
            capability.as_str()
        );
        self.broken_at(cx, rule, severity, &[request.frame, cx.frame], text);
    }

    /// Whether it has said what it can.
    fn has_declared(&self) -> bool {
        self.is(match self.role {
            Role::Client => flag::INIT_SENT,
            Role::Server => flag::ANSWERED_INIT,
        })
    }
}

/// Whether a message of a handshake has no capabilities that could be read.
fn tells_nothing(message: &Message) -> bool {
    let is_misshapen = message.kind == Kind::Result && message.shape != Shape::Initialize;
    message.has(Condition::CapabilitiesMissing)
        || is_misshapen && message.capabilities == Capabilities::NONE
}

/// Whether the method is of what the capability names, rather than of something beside it.
fn is_family(method: Method) -> bool {
    !matches!(
        method,
        Method::ResourcesSubscribe | Method::ResourcesUnsubscribe | Method::LoggingSetLevel
    )
}
