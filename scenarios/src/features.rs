//! What a reference server does beside tools: resources and subscriptions, prompts, completion, log levels,
//! `server/discover` and `subscriptions/listen`. A handler takes a request and its params, and answers.

use mcpsim_sim::actor::{Out, Route};
use mcpsim_traces::event::Role;
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Capability, Message, Method, Revision, Shape};
use mcpsim_traces::render::Body;
use serde_json::Value;

use crate::defect::Defect;
use crate::dress::declaration;
use crate::library;
use crate::plan::Plan;
use crate::session::{INVALID_PARAMS, Kinds, Letter, METHOD_NOT_FOUND, Owed, Session, Work};
use crate::tasks::{self, Task};

/// The code that tells a client of a stateful revision that there is no such resource.
const RESOURCE_NOT_FOUND: i64 = -32002;

/// What a server's session keeps beside its requests.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Features {
    /// The least severe level of log messages that the client wants; none said: all.
    pub(crate) level: Option<u8>,
    /// The resources that the client has subscribed to, in order.
    pub(crate) watched: Vec<u32>,
    /// Tasks, in the order in which they were created.
    pub(crate) tasks: Vec<Task>,
    /// Server: tasks of the client's, with the request that each was asked for.
    pub(crate) asked_tasks: Vec<(Key, String)>,
    /// Which subscription wants to hear of which task.
    pub(crate) task_watches: Vec<(Key, u16)>,
}

/// The kinds of changes, by the member of a filter that asks for them.
const TOOLS: u8 = 1;
const PROMPTS: u8 = 2;
const RESOURCES: u8 = 4;
/// The bit of the first resource.
const FIRST_RESOURCE: u32 = 3;

impl Kinds {
    /// Changes of that list.
    pub(crate) fn has_list(self, method: Method) -> bool {
        let bit = match method {
            Method::ToolsListChanged => TOOLS,
            Method::PromptsListChanged => PROMPTS,
            _ => RESOURCES,
        };
        self.0 & bit != 0
    }

    /// Changes of that resource.
    pub(crate) fn has_resource(self, at: u32) -> bool {
        self.0 >> (FIRST_RESOURCE + at) & 1 == 1
    }
}

/// The params or the result of a frame; null where there are none.
pub(crate) fn member(raw: Option<&[u8]>, name: &str) -> Value {
    let frame = raw.and_then(|raw| serde_json::from_slice::<Value>(raw).ok());
    frame
        .and_then(|mut frame| frame.get_mut(name).map(Value::take))
        .unwrap_or(Value::Null)
}

/// Serves a request that is neither the handshake nor a tool's call.
pub(crate) fn serve(
    session: &mut Session,
    plan: &Plan,
    owed: Owed,
    raw: Option<&[u8]>,
    out: &mut Out<'_>,
) {
    if !is_offered(owed.method, plan, owed.revision) {
        return session.refuse(plan, &owed, METHOD_NOT_FOUND, out);
    }
    let params = member(raw, "params");
    let text = |name: &str| params.get(name).and_then(Value::as_str);
    let cursor = text("cursor");
    match owed.method {
        Method::ToolsList if cursor.is_none() && tasks::are_asked_for(plan, owed.revision) => {
            let letter = Letter::with(
                Message::result(owed.id, Shape::Tools),
                library::tools_as_tasks(),
            );
            session.answer(plan, &owed, letter, out);
        }
        Method::ToolsList if cursor.is_none() => {
            session.answer(plan, &owed, Message::result(owed.id, Shape::Tools), out);
        }
        // All tools are on one page: no cursor was ever given out.
        Method::ToolsList => session.refuse(plan, &owed, INVALID_PARAMS, out),
        Method::ResourcesList => {
            let page = library::resources(cursor, owed.revision);
            answer_or_refuse(session, plan, &owed, page, out);
        }
        Method::ResourcesTemplatesList => {
            answer_or_refuse(session, plan, &owed, library::templates(cursor), out);
        }
        Method::PromptsList => {
            answer_or_refuse(session, plan, &owed, library::prompts(cursor), out);
        }
        Method::ResourcesRead => match text("uri").map(|uri| (uri, library::resource(uri))) {
            Some((_, Some(at))) => give(session, plan, &owed, library::contents(at), out),
            Some((uri, None)) => {
                let code = match owed.revision {
                    Revision::V2026_07_28 => INVALID_PARAMS,
                    _ => RESOURCE_NOT_FOUND,
                };
                let data = format!("\"data\":{{\"uri\":{}}}", Value::from(uri));
                session.refuse_with(plan, &owed, code, &data, out);
            }
            None => session.refuse(plan, &owed, INVALID_PARAMS, out),
        },
        Method::ResourcesSubscribe | Method::ResourcesUnsubscribe => {
            let Some(at) = text("uri").and_then(library::resource) else {
                return session.refuse(plan, &owed, INVALID_PARAMS, out);
            };
            let watched = &mut session.features.watched;
            watched.retain(|&other| other != at);
            if owed.method == Method::ResourcesSubscribe {
                watched.push(at);
                watched.sort_unstable();
            }
            session.answer(plan, &owed, Message::result(owed.id, Shape::Empty), out);
        }
        Method::PromptsGet => {
            let topic = params.pointer("/arguments/topic");
            let prompt = text("name").and_then(library::prompt);
            let prompt = prompt.filter(|at| at % 2 == 0 || topic.is_some());
            answer_or_refuse(session, plan, &owed, prompt.map(library::messages), out);
        }
        Method::CompletionComplete => {
            let value = params.pointer("/argument/value").and_then(Value::as_str);
            let is_known = match params.pointer("/ref/type").and_then(Value::as_str) {
                Some("ref/prompt") => params
                    .pointer("/ref/name")
                    .and_then(Value::as_str)
                    .is_some_and(|name| library::prompt(name).is_some()),
                Some("ref/resource") => params.pointer("/ref/uri").is_some(),
                _ => false,
            };
            let found = value.filter(|_| is_known).map(library::completions);
            answer_or_refuse(session, plan, &owed, found, out);
        }
        Method::LoggingSetLevel => {
            let wanted = text("level");
            let is_wanted = |level: &&str| Some(*level) == wanted;
            match library::LEVELS.iter().position(is_wanted) {
                Some(level) => {
                    session.features.level = Some(level as u8);
                    session.answer(plan, &owed, Message::result(owed.id, Shape::Empty), out);
                }
                None => session.refuse(plan, &owed, INVALID_PARAMS, out),
            }
        }
        Method::ServerDiscover => give(session, plan, &owed, discovery(plan), out),
        Method::SubscriptionsListen => listen(session, plan, owed, &params, out),
        _ => tasks::serve(session, plan, owed, &params, out),
    }
}

/// Whether the server has that method, by what it declares and what the revision knows.
fn is_offered(method: Method, plan: &Plan, revision: Revision) -> bool {
    let declares = |capability| plan.capabilities.has(capability);
    let is_stateless = revision == Revision::V2026_07_28;
    match method {
        Method::ToolsList => declares(Capability::Tools),
        Method::ResourcesList | Method::ResourcesTemplatesList | Method::ResourcesRead => {
            declares(Capability::Resources)
        }
        Method::ResourcesSubscribe | Method::ResourcesUnsubscribe => {
            !is_stateless && declares(Capability::ResourcesSubscribe)
        }
        Method::PromptsList | Method::PromptsGet => declares(Capability::Prompts),
        // 2024-11-05 has completion without a word for it.
        Method::CompletionComplete => {
            declares(Capability::Completions) && revision >= Revision::V2025_03_26
                || declares(Capability::Prompts) && revision == Revision::V2024_11_05
        }
        Method::LoggingSetLevel => !is_stateless && declares(Capability::Logging),
        Method::ServerDiscover | Method::SubscriptionsListen => is_stateless,
        Method::TasksGet | Method::TasksCancel => {
            declares(Capability::Tasks) && revision >= Revision::V2025_11_25
        }
        Method::TasksResult => declares(Capability::Tasks) && revision == Revision::V2025_11_25,
        Method::TasksList => declares(Capability::TasksList) && revision == Revision::V2025_11_25,
        Method::TasksUpdate => declares(Capability::Tasks) && is_stateless,
        _ => false,
    }
}

/// Answers with those members.
pub(crate) fn give(
    session: &mut Session,
    plan: &Plan,
    owed: &Owed,
    members: String,
    out: &mut Out<'_>,
) {
    let letter = Letter::with(Message::result(owed.id, Shape::Other), members);
    session.answer(plan, owed, letter, out);
}

fn answer_or_refuse(
    session: &mut Session,
    plan: &Plan,
    owed: &Owed,
    members: Option<String>,
    out: &mut Out<'_>,
) {
    match members {
        Some(members) => give(session, plan, owed, members, out),
        None => session.refuse(plan, owed, INVALID_PARAMS, out),
    }
}

fn discovery(plan: &Plan) -> String {
    let versions: Vec<String> = plan
        .revisions
        .iter()
        .map(|revision| format!("\"{revision}\""))
        .collect();
    let mut members = format!(
        "\"supportedVersions\":[{}],\"capabilities\":",
        versions.join(",")
    );
    let newest = Revision::V2026_07_28;
    declaration(plan.capabilities, Role::Server, newest, &mut members);
    members
}

/// Opens a subscription: says what of the filter is granted, and stays open.
fn listen(session: &mut Session, plan: &Plan, owed: Owed, params: &Value, out: &mut Out<'_>) {
    let Some(filter) = params.get("notifications").and_then(Value::as_object) else {
        return session.refuse(plan, &owed, INVALID_PARAMS, out);
    };
    if plan.defect == Defect::IgnoresListen {
        return;
    }
    let mut granted = vec![];
    let mut kinds = 0;
    for (name, bit, needed) in [
        ("toolsListChanged", TOOLS, Capability::ToolsListChanged),
        (
            "promptsListChanged",
            PROMPTS,
            Capability::PromptsListChanged,
        ),
        (
            "resourcesListChanged",
            RESOURCES,
            Capability::ResourcesListChanged,
        ),
    ] {
        let is_wanted = filter.get(name).and_then(Value::as_bool) == Some(true);
        if is_wanted && plan.capabilities.has(needed) {
            kinds |= bit;
            granted.push(format!("\"{name}\":true"));
        }
    }
    let listed = |name: &str| -> Vec<&str> {
        let list = filter.get(name).and_then(Value::as_array);
        list.into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect()
    };
    if plan.capabilities.has(Capability::ResourcesSubscribe) {
        let wanted: Vec<u32> = listed("resourceSubscriptions")
            .into_iter()
            .filter_map(library::resource)
            .collect();
        for &at in &wanted {
            kinds |= 1 << (FIRST_RESOURCE + at);
        }
        if !wanted.is_empty() {
            let uris: Vec<String> = wanted
                .iter()
                .map(|&at| format!("\"{}\"", library::uri(at)))
                .collect();
            granted.push(format!("\"resourceSubscriptions\":[{}]", uris.join(",")));
        }
    }
    let tasks: Vec<u16> = listed("taskIds")
        .into_iter()
        .filter_map(tasks::number)
        .filter(|&number| {
            session
                .features
                .tasks
                .iter()
                .any(|task| task.number == number)
        })
        .collect();
    if !tasks.is_empty() {
        let ids: Vec<String> = tasks
            .iter()
            .map(|&number| format!("\"{}\"", tasks::id(number)))
            .collect();
        granted.push(format!("\"taskIds\":[{}]", ids.join(",")));
        let watches = tasks.into_iter().map(|number| (owed.id, number));
        session.features.task_watches.extend(watches);
    }
    let members = format!("\"notifications\":{{{}}}", granted.join(","));
    out.caused_by(owed.origin);
    tagged(
        session,
        plan,
        &owed,
        Method::SubscriptionsAcknowledged,
        &members,
        out,
    );
    session.owe(owed, Work::Listens(Kinds(kinds)));
}

/// Sends a notification on a subscription, under its id.
pub(crate) fn tagged(
    session: &mut Session,
    plan: &Plan,
    owed: &Owed,
    method: Method,
    members: &str,
    out: &mut Out<'_>,
) {
    let letter = Letter {
        message: Message::notification(method),
        body: Some(Body::of(members).with_meta(&tag_of(owed))),
    };
    let route = session.route(owed);
    session.say(plan, letter, route, out);
}

/// The member that says to which subscription something belongs.
fn tag_of(owed: &Owed) -> String {
    let id = match owed.id.as_integer() {
        Some(number) => number.to_string(),
        None => Value::from(owed.id.as_short_text().unwrap_or_default()).to_string(),
    };
    format!("\"io.modelcontextprotocol/subscriptionId\":{id}")
}

/// A resource and all lists have changed: says so to whoever wants to know.
pub(crate) fn changed(session: &mut Session, plan: &Plan, at: u32, out: &mut Out<'_>) {
    let lists = [
        (Method::ToolsListChanged, Capability::ToolsListChanged),
        (Method::PromptsListChanged, Capability::PromptsListChanged),
        (
            Method::ResourcesListChanged,
            Capability::ResourcesListChanged,
        ),
    ];
    let updated = format!("\"uri\":\"{}\"", library::uri(at));
    if session.agreed.is_some_and(Revision::has_handshake) {
        if session.features.watched.contains(&at) || plan.defect == Defect::TellsAll {
            let message = Message::notification(Method::ResourcesUpdated);
            let letter = Letter::with(message, updated.as_str());
            session.say(plan, letter, Route::Usual, out);
        }
        for (method, needed) in lists {
            if plan.capabilities.has(needed) || plan.defect == Defect::TellsUndeclared {
                let message = Message::notification(method);
                session.say(plan, message, Route::Usual, out);
            }
        }
    }
    let listens: Vec<Owed> = session.owed.to_vec();
    for owed in listens {
        let Work::Listens(kinds) = owed.work else {
            continue;
        };
        if kinds.has_resource(at) {
            tagged(
                session,
                plan,
                &owed,
                Method::ResourcesUpdated,
                &updated,
                out,
            );
        }
        for (method, _) in lists {
            if kinds.has_list(method) {
                tagged(session, plan, &owed, method, "", out);
            }
        }
    }
}

/// How a server ends subscriptions of its own accord.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LastWord {
    /// With the result of the request that began it.
    Result,
    /// With a cancellation, as a pipe has it.
    Cancelled,
}

impl LastWord {
    /// What a call of `touch` with that number asks for: from 5 on the server ends all subscriptions after the change, from 10 on
    /// it cancels them.
    pub(crate) fn of(value: u32) -> Option<LastWord> {
        match value {
            0..5 => None,
            5..10 => Some(LastWord::Result),
            _ => Some(LastWord::Cancelled),
        }
    }
}

/// The server ends what subscriptions there are.
pub(crate) fn end_subscriptions(
    session: &mut Session,
    plan: &Plan,
    how: LastWord,
    out: &mut Out<'_>,
) {
    let listens = |owed: &Owed| matches!(owed.work, Work::Listens(_));
    while let Some(at) = session.owed.iter().position(listens) {
        let owed = session.owed.remove(at);
        out.caused_by(owed.origin);
        match how {
            LastWord::Result => {
                let result = Letter {
                    message: Message::result(owed.id, Shape::Empty),
                    body: Some(Body::of("").with_meta(&tag_of(&owed))),
                };
                session.answer(plan, &owed, result, out);
            }
            LastWord::Cancelled => {
                let route = session.route(&owed);
                session.say(plan, Message::cancelled(owed.id), route, out);
            }
        }
    }
}

/// Writes log messages of two levels, as far as the client wants them. A session has its level; in
/// 2026-07-28 each request has its own.
pub(crate) fn log(
    session: &mut Session,
    plan: &Plan,
    owed: &Owed,
    raw: Option<&[u8]>,
    out: &mut Out<'_>,
) {
    if !plan.capabilities.has(Capability::Logging) {
        return;
    }
    let least = match owed.revision {
        Revision::V2026_07_28 => {
            let params = member(raw, "params");
            let level = params
                .pointer("/_meta/io.modelcontextprotocol~1logLevel")
                .and_then(Value::as_str)
                .and_then(|level| library::LEVELS.iter().position(|other| *other == level));
            match level {
                Some(level) => level,
                None if plan.defect == Defect::LogsUnasked => 0,
                None => return,
            }
        }
        _ if plan.defect == Defect::LogsAnyLevel => 0,
        _ => usize::from(session.features.level.unwrap_or(0)),
    };
    let route = session.route(owed);
    out.caused_by(owed.origin);
    for level in [0, 4] {
        if level >= least {
            let members = format!(
                "\"level\":\"{}\",\"logger\":\"tools\",\"data\":\"working\"",
                library::LEVELS[level]
            );
            let message = Message::notification(Method::LogMessage);
            session.say(plan, Letter::with(message, members), route, out);
        }
    }
}
