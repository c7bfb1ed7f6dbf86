//! Headers under 2026-07-28 that repeat what stands in the body, so that gateways need not read it.

use mcpsim_traces::event::{FrameNo, Role};
use mcpsim_traces::http::Head;
use mcpsim_traces::message::{Kind, Method};
use mcpsim_traces::tape::{Value, ValueKind};

use crate::http::head::shown;
use crate::http::params::{Carried, carried, has_marks, is_plain, is_same};
use crate::http::{Exchange, Exchanges, Fault, Scene, mark};
use crate::observer::Seen;
use crate::rules::{Category, Needs, Rule, STATELESS_MUST, Side, When};

const MUST: Rule = Rule {
    category: Category::TransportHttp,
    needs: Needs::Transport,
    when: When::STATELESS_HTTP,
    side: Side::Client,
    ..STATELESS_MUST
};

pub(crate) const HTTP_VERSION_HEADER_IN_BODY: Rule = Rule {
    id: "http-version-header-in-body",
    source: "2026-07-28 basic/transports/streamable-http (Protocol Version Header)",
    says: "A request carries MCP-Protocol-Version with the version that stands in its _meta.",
    why: "Gateways route by the header, servers by the body; where the two differ the request is refused.",
    ..MUST
};

pub(crate) const HTTP_METHOD_HEADER: Rule = Rule {
    id: "http-method-header",
    source: "2026-07-28 basic/transports/streamable-http (Standard Request Headers)",
    says: "A request carries Mcp-Method with the method of its body.",
    why: "Gateways route by it; a request whose header and body differ is refused.",
    ..MUST
};

pub(crate) const HTTP_NAME_HEADER: Rule = Rule {
    id: "http-name-header",
    source: "2026-07-28 basic/transports/streamable-http (Standard Request Headers)",
    says: "tools/call, prompts/get, resources/read and the methods of tasks carry Mcp-Name with the name, uri or task.",
    why: "Gateways route by it, and only one server may hold the task; a request without it is refused.",
    ..MUST
};

pub(crate) const HTTP_HEADER_ENCODING: Rule = Rule {
    id: "http-header-encoding",
    source: "2026-07-28 basic/transports/streamable-http (Value Encoding)",
    says: "A value that is not plain ASCII, or looks like the coded form, is sent as =?base64?…?=.",
    why: "Anything else is cut, changed or refused on the way.",
    ..MUST
};

pub(crate) const HTTP_PARAM_HEADERS: Rule = Rule {
    id: "http-param-headers",
    source: "2026-07-28 basic/transports/streamable-http (Client Behavior)",
    says: "Arguments that a tool marks with x-mcp-header are repeated in Mcp-Param headers, and only where they have a value.",
    why: "Gateways decide by them; a call whose headers and arguments differ is refused.",
    when: When::call(Method::ToolsCall),
    ..MUST
};

pub(crate) const HTTP_MISMATCH_REJECTED: Rule = Rule {
    id: "http-mismatch-rejected",
    side: Side::Server,
    source: "2026-07-28 basic/transports/streamable-http (Server Validation)",
    says: "A request whose headers are missing, malformed or contradict its body is refused with -32020.",
    why: "Otherwise one request is let through by what its header says and does what its body says.",
    ..MUST
};

pub(crate) const HTTP_X_MCP_HEADER_TOOL_DROPPED: Rule = Rule {
    id: "http-x-mcp-header-tool-dropped",
    tier: 3,
    source: "2026-07-28 basic/transports/streamable-http (Schema Extension)",
    says: "A client does not use a tool of which an x-mcp-header annotation is invalid.",
    why: "Which header the call would need cannot be told, and the server refuses it without.",
    when: When::call(Method::ToolsCall),
    ..MUST
};

/// The rows of this theme.
pub(crate) const ROWS: &[Rule] = &[
    HTTP_VERSION_HEADER_IN_BODY,
    HTTP_METHOD_HEADER,
    HTTP_NAME_HEADER,
    HTTP_HEADER_ENCODING,
    HTTP_PARAM_HEADERS,
    HTTP_MISMATCH_REJECTED,
    HTTP_X_MCP_HEADER_TOOL_DROPPED,
];

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// How a header compares with the body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Compared {
    Same,
    Missing,
    Different,
    /// It is not written as it has to be; reported.
    Malformed,
}

impl Exchanges {
    /// The headers of a request outside any session.
    pub(crate) fn judge_headers(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        head: &Head<'_>,
        seen: &Seen<'_>,
        body: Value<'_>,
    ) {
        let params = body.get("params");
        let meta = params.and_then(|params| params.get("_meta"));
        let version = meta.and_then(|meta| meta.get(VERSION));
        if version.is_none() || meta.is_none_or(|meta| meta.get(CAPABILITIES).is_none()) {
            exchange.set(mark::META_MISSING);
        }
        self.judge_version_header(scene, exchange, head, version, seen.frame);
        self.judge_method_header(scene, exchange, head, body, seen.frame);
        if let Some(params) = params {
            self.judge_name_header(scene, exchange, head, params, seen);
            if seen.message.method == Method::ToolsCall {
                self.judge_param_headers(scene, exchange, head, params, seen.frame);
            }
        }
    }

    fn judge_version_header(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        head: &Head<'_>,
        version: Option<Value<'_>>,
        frame: FrameNo,
    ) {
        let text = match (head.value("mcp-protocol-version"), version) {
            (None, _) => {
                exchange.set(mark::MISMATCH_VERSION);
                "there is no MCP-Protocol-Version header; every request carries it".to_string()
            }
            (Some(header), Some(version)) if version.is_text() && !version.is(header) => format!(
                "MCP-Protocol-Version is {} and the body says {}",
                shown(header),
                shown(&version.as_text().unwrap_or_default())
            ),
            _ => return,
        };
        if !exchange.is(mark::MISMATCH_VERSION) {
            exchange.set(mark::MISMATCH);
        }
        let rule = &HTTP_VERSION_HEADER_IN_BODY;
        self.broken(scene, Role::Client, rule, &[frame], text);
    }

    fn judge_method_header(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        head: &Head<'_>,
        body: Value<'_>,
        frame: FrameNo,
    ) {
        let Some(method) = body.get("method").filter(|method| method.is_text()) else {
            return;
        };
        let text = match head.value("mcp-method") {
            None => "there is no Mcp-Method header; every request carries it".to_string(),
            Some(header) if !method.is(header) => format!(
                "Mcp-Method is {} and the method of the body {}",
                shown(header),
                shown(&method.as_text().unwrap_or_default())
            ),
            Some(_) => return,
        };
        exchange.set(mark::MISMATCH);
        self.broken(scene, Role::Client, &HTTP_METHOD_HEADER, &[frame], text);
    }

    fn judge_name_header(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        head: &Head<'_>,
        params: Value<'_>,
        seen: &Seen<'_>,
    ) {
        let member = match seen.message.method {
            Method::ToolsCall | Method::PromptsGet => "name",
            Method::ResourcesRead => "uri",
            Method::TasksGet | Method::TasksUpdate | Method::TasksCancel => "taskId",
            _ => return,
        };
        let Some(value) = params.get(member).filter(|value| value.is_text()) else {
            return;
        };
        let header = head.value("mcp-name");
        let text = match self.compare(scene, "Mcp-Name", header, value, seen.frame) {
            Compared::Same => return,
            Compared::Malformed => return exchange.set(mark::MISMATCH),
            Compared::Missing => format!(
                "there is no Mcp-Name header; {} carries it with params.{member}",
                seen.message.method.words()
            ),
            Compared::Different => format!(
                "Mcp-Name is {} and params.{member} {}",
                shown(header.unwrap_or_default()),
                shown(&value.as_text().unwrap_or_default())
            ),
        };
        exchange.set(mark::MISMATCH);
        self.broken(scene, Role::Client, &HTTP_NAME_HEADER, &[seen.frame], text);
    }

    /// A header against the value that it repeats; one that is not written as it has to be is reported.
    fn compare(
        &mut self,
        scene: &mut Scene<'_>,
        name: &str,
        header: Option<&str>,
        value: Value<'_>,
        frame: FrameNo,
    ) -> Compared {
        let Some(header) = header else {
            return Compared::Missing;
        };
        let why = match carried(header) {
            Carried::BadCharacters => "has characters that no header may have",
            Carried::BadCode => "has the marks of Base64 and is none",
            Carried::Coded(text) if is_same(&text, value) => return Compared::Same,
            Carried::Coded(_) if value.is(header) && has_marks(header) => {
                "looks like the coded form and is not coded"
            }
            Carried::Plain(text) if is_same(text, value) => return Compared::Same,
            // White space around a value does not survive the way.
            Carried::Plain(text)
                if value.kind() == ValueKind::Text
                    && value.as_text().is_some_and(|value| {
                        !is_plain(&value) && value.trim_matches([' ', '\t']) == text
                    }) =>
            {
                "stands for a value with white space around it"
            }
            Carried::Coded(_) | Carried::Plain(_) => return Compared::Different,
        };
        let text = format!("the value of {name} {why}; it is sent as =?base64?…?=");
        self.broken(scene, Role::Client, &HTTP_HEADER_ENCODING, &[frame], text);
        Compared::Malformed
    }

    fn judge_param_headers(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        head: &Head<'_>,
        params: Value<'_>,
        frame: FrameNo,
    ) {
        let Some(tool) = params
            .get("name")
            .and_then(|name| self.tools.get(name.key()))
        else {
            return;
        };
        let tool = tool.clone();
        let frames = [tool.frame, frame];
        let is_sure = scene.is_client_exact();
        if let Some(flaw) = tool.flaw {
            let text = format!(
                "the client calls a tool of which an x-mcp-header annotation {flaw}; it leaves such a tool out"
            );
            let rule = &HTTP_X_MCP_HEADER_TOOL_DROPPED;
            return self.say(
                scene,
                Fault::new(Role::Client, rule, &frames, text).sure_if(is_sure),
            );
        }
        let arguments = params.get("arguments");
        for param in &tool.params {
            let name = format!("Mcp-Param-{}", param.header);
            let header = head.value(&name);
            let value = arguments.and_then(|arguments| param.argument(arguments));
            let text = match value {
                None if header.is_none() => continue,
                None => format!("{name} is there although the argument has no value"),
                Some(value) => match self.compare(scene, &name, header, value, frame) {
                    Compared::Same => continue,
                    Compared::Malformed => {
                        exchange.set(mark::MISMATCH);
                        continue;
                    }
                    Compared::Missing => {
                        format!("there is no {name} header, which repeats an argument")
                    }
                    Compared::Different => {
                        format!("{name} has another value than the argument that it repeats")
                    }
                },
            };
            exchange.set(mark::MISMATCH);
            let rule = &HTTP_PARAM_HEADERS;
            return self.say(
                scene,
                Fault::new(Role::Client, rule, &frames, text).sure_if(is_sure),
            );
        }
    }

    /// The answer to a request whose headers contradict its body.
    pub(crate) fn judge_mismatch_answer(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &Exchange,
        seen: &Seen<'_>,
    ) {
        if !exchange.is(mark::MISMATCH) {
            // A server for older clients may take a missing version for an old one.
            return;
        }
        let text = match seen.message.kind {
            Kind::Result => "a request whose headers are missing or contradict its body is served; it is refused with -32020".to_string(),
            // Each of these may be right for another fault of the request.
            _ if matches!(seen.message.number, -32022..=-32020 | -32602 | -32601) => return,
            _ => format!(
                "a request whose headers are missing or contradict its body is refused with {}; the code for that is -32020",
                seen.message.number
            ),
        };
        let frames = exchange.frames(seen.frame);
        self.broken(scene, Role::Server, &HTTP_MISMATCH_REJECTED, &frames, text);
    }
}
