//! Calls of tools against what was listed: names that no list had, and arguments that do not fit.

use mcpsim_traces::event::Role;
use mcpsim_traces::judge::{Severity, Verdict};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Kind, Method};

use crate::deep::listing::{Body, ListKind};
use crate::deep::topics::ignore;
use crate::deep::{Deep, Frame, Topic};
use crate::ledger::{Cx, bit};
use crate::part::{Knows, Part, flag};
use crate::rules::listing::is_partial;
use crate::rules::{Basis, Category, Level, NOTE, Needs, Rule, Side, When, refusals, tool_results};
use crate::schema::{Fit, Validity};
use crate::shape::shown;

pub(crate) const TOOL_CALL_UNLISTED: Rule = Rule {
    id: "tool-call-unlisted",
    category: Category::Tools,
    level: Level::MayNote,
    basis: Basis::Derived,
    side: Side::Client,
    source: "2025-11-25 server/tools (Message Flow)",
    says: "A client calls tools that the server listed.",
    why: "Legal, since it may know the tool from elsewhere; but mostly it is a misspelt or stale name.",
    needs: Needs::OffenderLog,
    when: When::call(Method::ToolsCall),
    ..NOTE
};

pub(crate) const TOOL_ARGUMENTS_FIT_SCHEMA: Rule = Rule {
    id: "tool-arguments-fit-schema",
    category: Category::Tools,
    basis: Basis::Derived,
    side: Side::Client,
    source: "2025-11-25 server/tools (Security Considerations)",
    says: "The arguments of a call satisfy the inputSchema that the tool was listed with.",
    why: "It explains the refusal that follows; the server has to check them anyway.",
    needs: Needs::OffenderLog,
    when: When::TOOL_ARGUMENTS,
    ..NOTE
};

/// The rows of this group.
pub(crate) const ROWS: &[Rule] = &[TOOL_CALL_UNLISTED, TOOL_ARGUMENTS_FIT_SCHEMA];

/// tools/call and its answers.
pub(crate) const CALL: Topic = Topic {
    by: call_by,
    toward: ignore,
};

/// The answers to tools/result.
pub(crate) const TASK_RESULT: Topic = Topic {
    by: |part, deep, cx, frame| {
        if part.role == Role::Server && frame.message.kind == Kind::Result {
            tool_results::returned_late(part, deep, cx, frame);
        }
    },
    toward: ignore,
};

fn call_by(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    match (part.role, frame.message.kind) {
        (Role::Client, Kind::Request) if !frame.is_stateless => called(part, deep, cx, frame),
        (Role::Server, Kind::Result) => {
            tool_results::returned(part, deep, cx, frame);
            refusals::tool_failed_politely(part, deep, cx, frame);
        }
        (Role::Server, Kind::Error) => refusals::tool_refused(part, deep, cx, frame),
        _ => {}
    }
}

/// The client calls a tool inside a session.
fn called(part: &Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let Some(params) = frame.payload else { return };
    let Some(name) = params.get("name").filter(|name| name.is_text()) else {
        return;
    };
    let list = deep.listings.list(ListKind::Tools);
    let key: Key = name.key();
    let Some(entry) = list.entries.get(&key) else {
        let whole = list.watch.whole.filter(|_| list.lacks(key));
        let is_known = |fact| part.knows(fact) == Knows::Must;
        if let Some(whole) = whole.filter(|whole| is_known(whole.fact))
            && !part.is(flag::GARBLED_IN)
            && !is_partial(part, deep)
        {
            let text = format!(
                "a call of tool {}, which no list had; tools are called by the names in tools/list",
                shown(name)
            );
            let frames = [whole.frame, cx.frame];
            part.broken(cx, &TOOL_CALL_UNLISTED, &frames, text);
        }
        return;
    };
    let Body::Tool {
        input: Some(input), ..
    } = &entry.body
    else {
        return;
    };
    cx.ledger.saw(bit(When::TOOL_ARGUMENTS));
    let arguments = params.get("arguments");
    // What is no object is another rule's matter.
    let is_judged = arguments.is_none_or(|arguments| arguments.is_object());
    if !is_judged || part.knows(entry.fact) != Knows::Must {
        return;
    }
    let reading = tool_results::reading(frame.revision);
    let (verdict, severity, text) = match input.fit(arguments, reading) {
        Fit::Fits => return,
        Fit::Misfit(words) => {
            let tool = shown(name);
            let text =
                format!("the arguments do not satisfy the inputSchema of tool {tool}: {words}");
            (Verdict::Broken, None, text)
        }
        Fit::Unknown(why) => {
            // A schema that is not judged by was told of where it was listed.
            let is_told = deep.listings.is_noted || *input.validity() != Validity::Valid;
            if is_told {
                return;
            }
            let because = why.told();
            let text =
                format!("the object of arguments is not held against the inputSchema: {because}");
            (Verdict::Unsure, Some(Severity::Note), text)
        }
    };
    let frames = [entry.frame, cx.frame];
    deep.listings.is_noted |= verdict == Verdict::Unsure;
    let (rule, value) = (&TOOL_ARGUMENTS_FIT_SCHEMA, arguments.or(Some(params)));
    part.case(cx, rule, verdict, severity, &frames, value, text);
}
