//! What a revision adds to every request and every result, and what peers say of themselves.

use std::fmt::Write as _;

use mcpsim_traces::event::Role;
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Capabilities, Capability, Kind, Message, Method, Revision, Version};
use mcpsim_traces::render::Body;

use crate::plan::Plan;
use crate::session::{Letter, Owed, Session};

/// The name of the extension that has tasks in 2026-07-28.
pub(crate) const TASKS: &str = "io.modelcontextprotocol/tasks";

/// A request as the session's revision has it.
#[inline]
pub(crate) fn request(
    session: &Session,
    plan: &Plan,
    message: &Message,
    body: Option<Body>,
) -> Option<Body> {
    if !session.is_stateless() || message.method == Method::Initialize {
        return body;
    }
    let mut meta = String::from(
        "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\
         \"io.modelcontextprotocol/clientInfo\":{\"name\":\"mcpsim\",\"version\":\"1\"},\
         \"io.modelcontextprotocol/clientCapabilities\":",
    );
    declaration(
        plan.capabilities,
        Role::Client,
        Revision::V2026_07_28,
        &mut meta,
    );
    Some(body.unwrap_or_default().with_meta(&meta))
}

/// An answer as the revision of its request has it.
#[inline]
pub(crate) fn answer(owed: &Owed, message: &Message, body: Option<Body>) -> Option<Body> {
    if owed.revision != Revision::V2026_07_28 || message.kind != Kind::Result {
        return body;
    }
    let body = body.unwrap_or_default();
    if body.more.contains("\"resultType\"") {
        return Some(body);
    }
    let body = body.and("\"resultType\":\"complete\"");
    let can_be_kept = matches!(
        owed.method,
        Method::ToolsList
            | Method::ResourcesList
            | Method::ResourcesTemplatesList
            | Method::ResourcesRead
            | Method::PromptsList
            | Method::ServerDiscover
    );
    Some(match can_be_kept {
        true => body.and("\"ttlMs\":0,\"cacheScope\":\"private\""),
        false => body,
    })
}

/// What a client opens a session with.
pub(crate) fn hello(plan: &Plan, revision: Revision) -> Letter {
    let declared = known_in(plan.capabilities, revision);
    let message = Message::initialize(Key::ABSENT, revision, declared);
    greeting(message, declared, Role::Client, revision, "clientInfo")
}

/// What a server answers that with.
pub(crate) fn welcome(capabilities: Capabilities, id: Key, revision: Revision) -> Letter {
    let declared = known_in(capabilities, revision);
    let message = Message::initialize_result(id, revision, declared);
    greeting(message, declared, Role::Server, revision, "serverInfo")
}

/// Tasks have more levels than a structured message holds.
fn greeting(
    message: Message,
    declared: Capabilities,
    role: Role,
    revision: Revision,
    info: &str,
) -> Letter {
    if !declared.has(Capability::Tasks) {
        return message.into();
    }
    let mut members = format!("\"protocolVersion\":\"{revision}\",\"capabilities\":");
    declaration(declared, role, revision, &mut members);
    let _ = write!(
        members,
        ",\"{info}\":{{\"name\":\"mcpsim\",\"version\":\"1\"}}"
    );
    Letter::with(message, members)
}

/// The version that a server answers an offer with.
pub(crate) fn counter_offer(plan: &Plan, offered: Version) -> Revision {
    match offered {
        Version::Known(revision) if revision.has_handshake() && plan.revisions.has(revision) => {
            revision
        }
        _ => plan.offer(),
    }
}

/// Those of the capabilities that the revision knows.
pub(crate) fn known_in(capabilities: Capabilities, revision: Revision) -> Capabilities {
    let mut known = Capabilities::NONE;
    for &capability in Capability::ALL {
        let (since, until) = lifetime(capability);
        if capabilities.has(capability) && (since..=until).contains(&revision) {
            known.insert(capability);
        }
    }
    known
}

/// The first and the last revision that has the capability.
fn lifetime(capability: Capability) -> (Revision, Revision) {
    use Revision::{V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};
    match capability {
        Capability::RootsListChanged => (V2024_11_05, V2025_11_25),
        Capability::Completions => (V2025_03_26, V2026_07_28),
        Capability::Elicitation => (V2025_06_18, V2026_07_28),
        Capability::SamplingTools
        | Capability::SamplingContext
        | Capability::ElicitationForm
        | Capability::ElicitationUrl
        | Capability::Tasks => (V2025_11_25, V2026_07_28),
        Capability::TasksList | Capability::TasksCancel => (V2025_11_25, V2025_11_25),
        _ => (V2024_11_05, V2026_07_28),
    }
}

/// A set of capabilities as the object that declares it.
pub(crate) fn declaration(
    capabilities: Capabilities,
    role: Role,
    revision: Revision,
    out: &mut String,
) {
    let declared = known_in(capabilities, revision);
    out.push('{');
    let parents = Capability::ALL
        .iter()
        .filter(|parent| declared.has(**parent) && !parent.as_str().contains('.'));
    for (at, parent) in parents.enumerate() {
        if at > 0 {
            out.push(',');
        }
        let name = parent.as_str();
        if *parent == Capability::Tasks && revision == Revision::V2026_07_28 {
            let _ = write!(out, "\"extensions\":{{\"{TASKS}\":{{}}}}");
            continue;
        }
        let _ = write!(out, "\"{name}\":{{");
        let mut children = vec![];
        for child in Capability::ALL.iter().filter(|child| declared.has(**child)) {
            if let Some((above, below)) = child.as_str().split_once('.')
                && above == name
            {
                let flag = matches!(below, "listChanged" | "subscribe");
                children.push(format!("\"{below}\":{}", if flag { "true" } else { "{}" }));
            }
        }
        if *parent == Capability::Tasks {
            let requests: Vec<&str> = [
                (Role::Server, Capability::Tools, "\"tools\":{\"call\":{}}"),
                (
                    Role::Client,
                    Capability::Sampling,
                    "\"sampling\":{\"createMessage\":{}}",
                ),
                (
                    Role::Client,
                    Capability::Elicitation,
                    "\"elicitation\":{\"create\":{}}",
                ),
            ]
            .into_iter()
            .filter(|(side, needed, _)| *side == role && declared.has(*needed))
            .map(|(_, _, text)| text)
            .collect();
            children.push(format!("\"requests\":{{{}}}", requests.join(",")));
        }
        out.push_str(&children.join(","));
        out.push('}');
    }
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(list: &[Capability], role: Role, revision: Revision) -> String {
        let mut out = String::new();
        declaration(Capabilities::of(list), role, revision, &mut out);
        out
    }

    #[test]
    fn a_declaration_holds_what_the_revision_knows() {
        use Capability::*;
        let client = [Roots, RootsListChanged, Sampling, Elicitation, Tasks];
        assert_eq!(
            declared(&client, Role::Client, Revision::V2024_11_05),
            r#"{"roots":{"listChanged":true},"sampling":{}}"#
        );
        assert_eq!(
            declared(&client, Role::Client, Revision::V2026_07_28),
            r#"{"roots":{},"sampling":{},"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#
        );
        assert_eq!(
            declared(&client, Role::Client, Revision::V2025_11_25),
            r#"{"roots":{"listChanged":true},"sampling":{},"elicitation":{},"tasks":{"requests":{"sampling":{"createMessage":{}},"elicitation":{"create":{}}}}}"#
        );
        let server = [Tools, Tasks, TasksList, Resources, ResourcesSubscribe];
        assert_eq!(
            declared(&server, Role::Server, Revision::V2025_11_25),
            r#"{"tasks":{"list":{},"requests":{"tools":{"call":{}}}},"tools":{},"resources":{"subscribe":true}}"#
        );
    }

    #[test]
    fn a_server_answers_with_the_offer_where_it_speaks_it() {
        use crate::revisions::Revisions;
        let plan = |revisions: &[Revision]| Plan {
            revisions: Revisions::of(revisions),
            ..Plan::default()
        };
        let old = [Revision::V2024_11_05, Revision::V2025_06_18];
        let offers = [
            (Version::Known(Revision::V2024_11_05), Revision::V2024_11_05),
            (Version::Known(Revision::V2025_03_26), Revision::V2025_06_18),
            (Version::Known(Revision::V2026_07_28), Revision::V2025_06_18),
            (Version::Unknown, Revision::V2025_06_18),
        ];
        for (offer, answer) in offers {
            assert_eq!(counter_offer(&plan(&old), offer), answer, "{offer:?}");
        }
    }
}
