//! Defects of peers of 2026-07-28.

use mcpsim_traces::message::Method;

use super::{Fault, does, writes};
use crate::defect::Defect;
use crate::scenario::PartyRole::{Client, Server};
use crate::tamper::{Edit, On};

/// A request that the revision does not have.
const PING: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\",\
    \"params\":{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\
    \"io.modelcontextprotocol/clientCapabilities\":{}}}}";
/// A notification that the revision does not have.
const INITIALIZED: &[u8] = b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}";
/// A request in an array.
const ARRAY: &[u8] = b"[{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"server/discover\",\
    \"params\":{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\
    \"io.modelcontextprotocol/clientCapabilities\":{}}}}]";

pub(super) const FAULTS: &[Fault] = &[
    writes(
        "a-result-of-no-type",
        "A result does not say of what type it is.",
        "features-2026-07-28",
        Server,
        "result-type-present",
        On::Result(Method::ToolsCall),
        Edit::Remove("/result/resultType"),
    ),
    writes(
        "a-result-of-a-made-up-type",
        "A result is of a type that there is not.",
        "features-2026-07-28",
        Server,
        "result-type-known",
        On::Result(Method::ToolsCall),
        Edit::Set("/result/resultType", "\"partial\""),
    ),
    writes(
        "a-list-for-no-time",
        "A list does not say how long it holds.",
        "features-2026-07-28",
        Server,
        "cache-hints-present",
        On::Result(Method::ToolsList),
        Edit::Remove("/result/ttlMs"),
    ),
    writes(
        "a-list-for-everyone",
        "A list is to be kept for a scope that there is not.",
        "features-2026-07-28",
        Server,
        "cache-scope-valid",
        On::Result(Method::ToolsList),
        Edit::Set("/result/cacheScope", "\"everyone\""),
    ),
    writes(
        "a-change-without-a-tag",
        "A change does not name the subscription that it belongs to.",
        "subscriptions",
        Server,
        "sub-id-tag",
        On::Notification(Method::ToolsListChanged),
        Edit::Remove("/params/_meta"),
    ),
    writes(
        "a-change-under-a-wrong-tag",
        "A change names a subscription that there is not.",
        "subscriptions",
        Server,
        "sub-id-matches-open",
        On::Notification(Method::ToolsListChanged),
        Edit::Set(
            "/params/_meta/io.modelcontextprotocol~1subscriptionId",
            "\"x\"",
        ),
    ),
    does(
        "never-acknowledges",
        "The server takes a subscription, and says nothing of it or on it.",
        "subscriptions",
        Server,
        "sub-ack-missing",
        Defect::IgnoresListen,
    ),
    does(
        "asks-outright",
        "The server sends the client a request, which 2026-07-28 does not have.",
        "questions",
        Server,
        "dir-server-never-requests",
        Defect::AsksOutright,
    ),
    writes(
        "asks-for-nothing",
        "A result asks for input and does not say which.",
        "questions",
        Server,
        "mrtr-has-requests-or-state",
        On::Result(Method::ToolsCall),
        Edit::Set("/result", "{\"resultType\":\"input_required\"}"),
    ),
    writes(
        "forgets-the-state",
        "The client comes back without the state that it was given.",
        "questions",
        Client,
        "mrtr-retry-state-echo",
        On::Request(Method::ToolsCall),
        Edit::Remove("/params/requestState"),
    ),
    writes(
        "comes-back-without-an-answer",
        "The client comes back without what it was asked for.",
        "questions",
        Client,
        "mrtr-retry-answers-all",
        On::Request(Method::ToolsCall),
        Edit::Remove("/params/inputResponses"),
    ),
    writes(
        "names-no-version",
        "The client's requests name no version.",
        "features-2026-07-28",
        Client,
        "meta-required-fields",
        On::Request(Method::ToolsCall),
        Edit::Remove("/params/_meta/io.modelcontextprotocol~1protocolVersion"),
    ),
    writes(
        "declares-nothing",
        "The client's requests do not say what it can do.",
        "features-2026-07-28",
        Client,
        "meta-required-fields",
        On::Request(Method::ToolsCall),
        Edit::Remove("/params/_meta/io.modelcontextprotocol~1clientCapabilities"),
    ),
    writes(
        "leaves-out-its-own-version",
        "server/discover leaves out the version that it was asked in.",
        "discovery",
        Server,
        "discover-lists-used-version",
        On::Result(Method::ServerDiscover),
        Edit::Set("/result/supportedVersions", "[\"2025-11-25\"]"),
    ),
    writes(
        "no-resource-in-the-old-way",
        "The server refuses a resource that is not there with the code of older revisions.",
        "features-2026-07-28",
        Server,
        "res-not-found-code",
        On::Error(Method::ResourcesRead),
        Edit::Set("/error/code", "-32002"),
    ),
    writes(
        "errs-under-null-2026",
        "The server's errors have the id null.",
        "features-2026-07-28",
        Server,
        "env-error-id-absent-only-if-unreadable",
        On::Error(Method::ResourcesRead),
        Edit::Set("/id", "null"),
    ),
    writes(
        "pings-still",
        "The client sends a ping, which 2026-07-28 does not have.",
        "discovery",
        Client,
        "removed-method",
        On::Request(Method::ToolsList),
        Edit::After(PING),
    ),
    writes(
        "initialized-still",
        "The client sends notifications/initialized, which 2026-07-28 does not have.",
        "discovery",
        Client,
        "removed-notification",
        On::Request(Method::ToolsList),
        Edit::After(INITIALIZED),
    ),
    does(
        "logs-unasked",
        "The server logs for a request that wants no log.",
        "unwanted-logs",
        Server,
        "log-needs-level",
        Defect::LogsUnasked,
    )
    .sometimes(),
    does(
        "makes-tasks-unasked",
        "The server makes a call a task for a client that does not know tasks.",
        "tasks-unasked",
        Server,
        "task-capability",
        Defect::MakesTasksUnasked,
    ),
    writes(
        "answers-twice-2026",
        "The server answers a call twice.",
        "questions",
        Server,
        "corr-one-response",
        On::Result(Method::ToolsCall),
        Edit::Twice,
    ),
    writes(
        "answers-as-text-2026",
        "The server turns the ids of answers into strings.",
        "discovery",
        Server,
        "corr-id-type-preserved",
        On::Result(Method::ToolsCall),
        Edit::Set("/id", "\"3\""),
    ),
    writes(
        "never-answers-2026",
        "The server never answers a read that fails.",
        "features-2026-07-28",
        Server,
        "corr-every-request-answered",
        On::Error(Method::ResourcesRead),
        Edit::Lost,
    ),
    writes(
        "a-task-that-lasts-for-text",
        "A task says in words how long it is kept.",
        "tasks-2026-07-28",
        Server,
        "task-result-shape",
        On::Result(Method::TasksGet),
        Edit::Set("/result/ttlMs", "\"long\""),
    ),
    writes(
        "an-array-in-2026",
        "The client sends its requests in arrays, which 2026-07-28 does not have.",
        "discovery",
        Client,
        "env-single-message",
        On::Request(Method::ToolsList),
        Edit::After(ARRAY),
    ),
];
