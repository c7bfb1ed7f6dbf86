//! Sampling requests and their answers.

mod messages;
mod rows;
mod shapes;

use mcpsim_traces::judge::{Severity, Verdict};
use mcpsim_traces::message::Revision;
use mcpsim_traces::tape::Value;

use crate::deep::{Asked, Deep, Frame};
use crate::ledger::{Cx, bit};
use crate::part::Part;
use crate::rules::asks::{Declared, Told, may_be_cancelled};
use crate::rules::{Rule, When};
use crate::shape::{self, Walk, shown};

use messages::{ToolFaults, blocks, is_type};
pub(crate) use rows::ROWS;
use rows::{
    SAMPLING_CONTENT_TYPE, SAMPLING_CONTEXT_UNDECLARED, SAMPLING_MESSAGE_SHAPE, SAMPLING_PARAMS,
    SAMPLING_REFUSED_CODE, SAMPLING_RESULT_SHAPE, SAMPLING_TOOL_BALANCE,
    SAMPLING_TOOL_CHOICE_OBEYED, SAMPLING_TOOL_FAULT_REFUSED, SAMPLING_TOOL_RESULT_ONLY,
    SAMPLING_TOOL_RESULT_ORPHAN, SAMPLING_TOOL_ROLES, SAMPLING_TOOL_USE_NAME,
    SAMPLING_TOOLS_MUST_ERROR, SAMPLING_TOOLS_UNDECLARED,
};

/// The server asks for a sampling, inside a session.
pub(crate) fn requested(part: &Part, deep: &Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let (Some(mut walk), Some(params)) = (Walk::begin(frame), frame.payload) else {
        return shape::judge(part, cx, frame, &shapes::REQUEST, &SAMPLING_PARAMS);
    };
    judge_request(&mut walk, params, &Declared::of_session(part, deep));
    walk.report(part, cx);
}

/// What is wrong with a sampling request, be it a frame's or one inside a result.
pub(crate) fn judge_request<'a>(walk: &mut Walk<'a>, params: Value<'a>, declared: &Declared) {
    walk.object(params, &shapes::REQUEST, &SAMPLING_PARAMS);
    // Before, tools are unknown members, and all contexts are free.
    if !walk.every(Revision::V2025_11_25, Revision::V2026_07_28) {
        return;
    }
    let discouraged = params
        .get("includeContext")
        .filter(|context| context.is_one_of(&["thisServer", "allServers"]));
    if let Some(context) = discouraged {
        judge_context(walk, context, declared);
    }
    let used = params.get("tools").or_else(|| params.get("toolChoice"));
    if let Some(used) = used {
        walk.saw(When::SAMPLING_TOOLS);
        if declared.tools == Told::No {
            walk.flaw(&SAMPLING_TOOLS_UNDECLARED, used, || {
                "a sampling request brings tools, but the client did not declare `sampling.tools`"
                    .to_string()
            });
        }
    }
    let list = params.get("messages").filter(|list| list.is_array());
    let Some(list) = list else { return };
    // Messages of the wrong shape lack what they would have been paired by.
    if walk.has(&SAMPLING_MESSAGE_SHAPE) || walk.has(&SAMPLING_CONTENT_TYPE) {
        return;
    }
    let faults = ToolFaults::of(list, walk.is_stateless());
    if faults.uses_tools {
        walk.saw(When::SAMPLING_TOOLS);
    }
    // A result that names another tool use is missing where it belongs: one fault.
    let unbalanced = faults.unbalanced.filter(|_| faults.orphan.is_none());
    for (rule, fault) in [
        (&SAMPLING_TOOL_ROLES, faults.misplaced),
        (&SAMPLING_TOOL_RESULT_ONLY, faults.mixed),
        (&SAMPLING_TOOL_BALANCE, unbalanced),
        (&SAMPLING_TOOL_RESULT_ORPHAN, faults.orphan),
    ] {
        if let Some((value, text)) = fault {
            walk.flaw(rule, value, || text);
        }
    }
}

#[cold]
fn judge_context<'a>(walk: &mut Walk<'a>, context: Value<'a>, declared: &Declared) {
    let (severity, but) = match declared.context {
        Told::No => (
            Severity::Error,
            "but the client did not declare `sampling.context`",
        ),
        Told::Yes => (
            Severity::Note,
            "which is discouraged even where the client declared `sampling.context`",
        ),
        Told::Unclear => return,
    };
    walk.flaw_at(&SAMPLING_CONTEXT_UNDECLARED, severity, context, || {
        format!("includeContext is {}, {but}", shown(context))
    });
}

/// The client answers a sampling request with a message.
pub(crate) fn answered(
    part: &mut Part,
    deep: &mut Deep,
    cx: &mut Cx<'_>,
    frame: &Frame<'_>,
    asked: &Asked,
) {
    let (Some(mut walk), Some(result)) = (Walk::begin(frame), frame.payload) else {
        return;
    };
    judge_result(&mut walk, result);
    walk.report(part, cx);
    if frame.revision == Some(Revision::V2025_11_25) {
        let declared = Declared::of_session(part, deep);
        asked.read_params(|params| {
            let answer = Answer {
                result,
                params,
                asked,
            };
            answer.fits(part, cx, &declared);
        });
    }
}

/// What is wrong with the result of a sampling, be it a frame's or one inside a request.
pub(crate) fn judge_result<'a>(walk: &mut Walk<'a>, result: Value<'a>) {
    walk.object(result, &shapes::RESULT, &SAMPLING_RESULT_SHAPE);
    if let Some(role) = result.get("role").filter(|role| role.is("user"))
        && !walk.is_stateless()
    {
        walk.flaw_at(&SAMPLING_RESULT_SHAPE, Severity::Note, role, || {
            "a sampling result speaks as the user; a model speaks as the assistant".to_string()
        });
    }
    if !walk.every(Revision::V2025_11_25, Revision::V2026_07_28) {
        return;
    }
    let mut all = result.get("content").into_iter().flat_map(blocks);
    if let Some(block) = all.find(|block| is_type(*block, "tool_result")) {
        walk.flaw(&SAMPLING_TOOL_ROLES, block, || {
            "a sampling result holds a tool result; those stand in messages of the user".to_string()
        });
    }
}

/// Of more tool uses than this the names are not looked up.
const USES_MAX: usize = 256;

/// A result beside what was asked for.
struct Answer<'a, 'b> {
    result: Value<'a>,
    params: Value<'b>,
    asked: &'b Asked,
}

impl<'a> Answer<'a, '_> {
    #[cold]
    fn broken(
        &self,
        part: &Part,
        cx: &mut Cx<'_>,
        rule: &'static Rule,
        value: Option<Value<'a>>,
        text: String,
    ) {
        let frames = [self.asked.frame, cx.frame];
        part.case(cx, rule, Verdict::Broken, None, &frames, value, text);
    }

    /// What was asked for decides what may come back (2025-11-25).
    fn fits(&self, part: &Part, cx: &mut Cx<'_>, declared: &Declared) {
        let tools = self.params.get("tools");
        let choice = self.params.get("toolChoice");
        if (tools.is_some() || choice.is_some()) && declared.tools == Told::No {
            cx.ledger.saw(bit(When::MISASKED));
            let text = "the client answers a sampling request with tools, which it did not declare; it refuses that";
            return self.broken(part, cx, &SAMPLING_TOOLS_MUST_ERROR, None, text.to_string());
        }
        if has_refusable_tools(self.params) {
            cx.ledger.saw(bit(When::MISASKED));
            let text = "the client answers a sampling request whose tool results are missing or mixed; it refuses that with -32602";
            self.broken(
                part,
                cx,
                &SAMPLING_TOOL_FAULT_REFUSED,
                None,
                text.to_string(),
            );
        }
        let content = self.result.get("content");
        let used = self.tool_uses().next();
        let mode = choice.and_then(|choice| choice.get("mode"));
        let is_mode = |name: &str| mode.is_some_and(|mode| mode.is(name));
        if is_mode("none") && used.is_some() {
            let text = "a tool is used although toolChoice is none".to_string();
            return self.broken(part, cx, &SAMPLING_TOOL_CHOICE_OBEYED, used, text);
        }
        if is_mode("required") && used.is_none() && self.has_ended() && is_offered(tools) {
            let text = "no tool is used although toolChoice is required".to_string();
            return self.broken(part, cx, &SAMPLING_TOOL_CHOICE_OBEYED, content, text);
        }
        let mut uses = self.tool_uses().take(USES_MAX);
        let unknown = uses.find(|used| !offers(tools, *used));
        if let Some(name) = unknown.and_then(|used| used.get("name")) {
            let text = format!(
                "the result uses the tool {}, which the request does not offer",
                shown(name)
            );
            self.broken(part, cx, &SAMPLING_TOOL_USE_NAME, Some(name), text);
        }
    }

    fn tool_uses(&self) -> impl Iterator<Item = Value<'a>> {
        let content = self.result.get("content").into_iter();
        content
            .flat_map(blocks)
            .filter(|block| is_type(*block, "tool_use"))
    }

    /// A model that ran out of tokens, or failed, never came to use a tool.
    fn has_ended(&self) -> bool {
        self.result
            .get("stopReason")
            .is_some_and(|reason| reason.is_one_of(&["endTurn", "stopSequence", "toolUse"]))
    }
}

fn is_offered(tools: Option<Value<'_>>) -> bool {
    tools.is_some_and(|tools| tools.items().next().is_some())
}

/// Whether the tool that is used is among those; one without a name is another rule's matter.
fn offers(tools: Option<Value<'_>>, used: Value<'_>) -> bool {
    let Some(name) = used.get("name").filter(|name| name.is_text()) else {
        return true;
    };
    let name = name.key();
    tools.is_some_and(|tools| {
        tools
            .items()
            .filter_map(|tool| tool.get("name"))
            .any(|known| known.key() == name)
    })
}

/// Whether a request breaks what a client has to refuse: tool results missing, or mixed with others.
fn has_refusable_tools(params: Value<'_>) -> bool {
    let list = params.get("messages").filter(|list| list.is_array());
    list.is_some_and(|list| {
        let faults = ToolFaults::of(list, false);
        faults.mixed.is_some() || faults.unbalanced.is_some()
    })
}

/// The client refuses a sampling request.
pub(crate) fn refused(
    part: &mut Part,
    deep: &Deep,
    cx: &mut Cx<'_>,
    frame: &Frame<'_>,
    asked: &Asked,
) {
    if may_be_cancelled(part, frame) {
        return;
    }
    let code = frame.message.number;
    let frames = [asked.frame, cx.frame];
    // Only these cannot have another reason than the request itself.
    let is_vague = matches!(code, -32600 | -32603 | -32700);
    let has_tools = Declared::of_session(part, deep).tools == Told::Yes;
    if frame.revision == Some(Revision::V2025_11_25)
        && is_vague
        && has_tools
        && asked.read_params(has_refusable_tools) == Some(true)
    {
        cx.ledger.saw(bit(When::MISASKED));
        let text = format!(
            "a sampling request with missing or mixed tool results is refused with {code}; the code for that is -32602"
        );
        return part.broken(cx, &SAMPLING_TOOL_FAULT_REFUSED, &frames, text);
    }
    let message = frame.payload.and_then(|error| error.get("message"));
    if code != -1 && message.is_some_and(is_users_refusal) {
        let text = format!(
            "the user refused the sampling, and the error's code is {code}; the code for that is -1"
        );
        part.broken(cx, &SAMPLING_REFUSED_CODE, &frames, text);
    }
}

/// Whether an error's message says that a person refused.
fn is_users_refusal(message: Value<'_>) -> bool {
    let Some(text) = message.as_text().filter(|text| text.len() < 256) else {
        return false;
    };
    let text = text.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    says(&["user ", "human "]) && says(&["rejected", "declined", "denied", "refused"])
}
