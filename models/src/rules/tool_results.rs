//! What tools return: structured content, its copy as text, and what blocks need to be declared.

use mcpsim_traces::judge::{Severity, Verdict};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Capability, Condition, Revision};
use mcpsim_traces::scan::{Scanner, white};
use mcpsim_traces::tape::{Value, ValueKind};

use crate::deep::listing::{Basis as Told, Body, ListKind};
use crate::deep::{Deep, Frame};
use crate::ledger::{Cx, bit};
use crate::part::{Part, flag};
use crate::rules::{Basis, Category, MUST, Needs, Rule, SHOULD, Side, When};
use crate::same::is_same;
use crate::schema::{Fit, Reading, Validity};

pub(crate) const STRUCTURED_CONTENT_MISSING: Rule = Rule {
    id: "structured-content-missing",
    category: Category::Tools,
    basis: Basis::Text,
    side: Side::Server,
    from: Revision::V2025_06_18,
    source: "2025-11-25 server/tools (Output Schema)",
    says: "A tool that was listed with an outputSchema returns structuredContent when it succeeds.",
    why: "The client promised its program typed data; SDK clients raise an error instead of the result.",
    needs: Needs::Causal,
    when: When::OUTPUT_SCHEMA,
    twin: "tools-structured-output",
    ..MUST
};

pub(crate) const STRUCTURED_CONTENT_INVALID: Rule = Rule {
    id: "structured-content-invalid",
    category: Category::Tools,
    basis: Basis::Text,
    side: Side::Server,
    from: Revision::V2025_06_18,
    source: "2025-11-25 server/tools (Output Schema)",
    says: "structuredContent satisfies the outputSchema that the tool was listed with.",
    why: "Clients validate it and throw the whole result away.",
    needs: Needs::Causal,
    when: When::OUTPUT_SCHEMA,
    twin: "tools-structured-output",
    ..MUST
};

pub(crate) const STRUCTURED_CONTENT_TEXT_COPY: Rule = Rule {
    id: "structured-content-text-copy",
    category: Category::Tools,
    side: Side::Server,
    from: Revision::V2025_06_18,
    source: "2025-11-25 server/tools (Structured Content)",
    says: "structuredContent is repeated as JSON in a text block.",
    why: "Clients that know only content blocks, and many models behind them, see nothing else.",
    when: When::STRUCTURED,
    twin: "tools-structured-text-copy",
    ..SHOULD
};

pub(crate) const EMBEDDED_RESOURCE_CAPABILITY: Rule = Rule {
    id: "embedded-resource-capability",
    category: Category::Tools,
    side: Side::Server,
    from: Revision::V2025_06_18,
    source: "2025-11-25 server/tools (Embedded Resources)",
    says: "A server whose tools embed resources declares `resources`.",
    why: "A client that keeps to the capabilities has no handling for them.",
    needs: Needs::SameDirection,
    when: When::CONTENT,
    ..SHOULD
};

/// The rows of this group.
pub(crate) const ROWS: &[Rule] = &[
    STRUCTURED_CONTENT_MISSING,
    STRUCTURED_CONTENT_INVALID,
    STRUCTURED_CONTENT_TEXT_COPY,
    EMBEDDED_RESOURCE_CAPABILITY,
];

/// The server answers tools/call with a result.
pub(crate) fn returned(part: &Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let (Some(asked), Some(result)) = (frame.asked, frame.payload) else {
        return;
    };
    if !frame.is_stateless && frame.message.has(Condition::TaskCreated) {
        // The result comes later, as that of tasks/result.
        let id = result.path(&["task", "taskId"]).filter(|id| id.is_text());
        if let Some(id) = id {
            deep.listings.run(id.key(), asked.subject, asked.basis);
        }
        return;
    }
    let is_whole = result
        .get("resultType")
        .is_none_or(|kind| kind.is("complete"));
    if frame.is_stateless && !is_whole {
        return;
    }
    judge(part, deep, cx, frame, (asked.subject, asked.basis));
}

/// The server answers tasks/result, which stands for the answer to the call that became the task.
pub(crate) fn returned_late(part: &Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let task = frame.asked.map_or(Key::ABSENT, |asked| asked.subject);
    if let Some(run) = deep.listings.ran(task)
        && !frame.is_stateless
    {
        judge(part, deep, cx, frame, run);
    }
}

fn judge(
    part: &Part,
    deep: &mut Deep,
    cx: &mut Cx<'_>,
    frame: &Frame<'_>,
    (tool, told): (Key, Told),
) {
    let Some(result) = frame.payload.filter(|result| result.is_object()) else {
        return;
    };
    // Before that revision both are members like any other.
    let is_in = frame
        .revision
        .is_some_and(|revision| revision >= Revision::V2025_06_18);
    if !is_in {
        return;
    }
    let content = result.get("content").filter(|content| content.is_array());
    if let Some(content) = content {
        cx.ledger.saw(bit(When::CONTENT));
        embeds(part, cx, frame, content);
    }
    let structured = result.get("structuredContent");
    if let Some(structured) = structured {
        cx.ledger.saw(bit(When::STRUCTURED));
        // What is no object has no place there before 2026-07-28: one finding says so.
        let has_place = frame.is_stateless || structured.is_object();
        if let (Some(content), true) = (content, has_place) {
            copied(part, cx, structured, content);
        }
    }
    let Some(entry) = deep.listings.steady(ListKind::Tools, tool, told) else {
        return;
    };
    let Body::Tool { output, .. } = &entry.body else {
        return;
    };
    if entry.key == Key::NULL {
        return;
    }
    cx.ledger.saw(bit(When::OUTPUT_SCHEMA));
    let is_error = result.get("isError").and_then(Value::as_bool) == Some(true);
    let frames = [entry.frame, cx.frame];
    let Some(structured) = structured else {
        if !is_error {
            let text =
                "the tool was listed with an outputSchema, and its result has no structuredContent"
                    .to_string();
            let rule = &STRUCTURED_CONTENT_MISSING;
            part.case(cx, rule, Verdict::Broken, None, &frames, Some(result), text);
        }
        return;
    };
    // Where it has to be an object and is none, another rule says so.
    let is_judged = if frame.is_stateless {
        !is_error
    } else {
        structured.is_object()
    };
    let Some(output) = output.clone().filter(|_| is_judged) else {
        return;
    };
    let reading = reading(frame.revision);
    match output.fit(Some(structured), reading) {
        Fit::Fits => {}
        Fit::Misfit(words) => {
            let severity = is_error.then_some(Severity::Warning);
            let text = format!("structuredContent does not satisfy the outputSchema: {words}");
            let rule = &STRUCTURED_CONTENT_INVALID;
            let value = Some(structured);
            part.case(cx, rule, Verdict::Broken, severity, &frames, value, text);
        }
        Fit::Unknown(why) => {
            let is_told = deep.listings.is_noted || matches!(output.validity(), Validity::Odd(_));
            if is_told {
                return;
            }
            let because = why.told();
            deep.listings.is_noted = true;
            let text = format!("structuredContent is not held against the outputSchema: {because}");
            let rule = &STRUCTURED_CONTENT_INVALID;
            let (severity, value) = (Some(Severity::Note), Some(structured));
            part.case(cx, rule, Verdict::Unsure, severity, &frames, value, text);
        }
    }
}

/// In which dialects a schema that names none may be written.
pub(crate) fn reading(revision: Option<Revision>) -> Reading {
    match revision {
        Some(revision) if revision >= Revision::V2025_11_25 => Reading::Newest,
        _ => Reading::Either,
    }
}

/// Resources in the content.
fn embeds(part: &Part, cx: &mut Cx<'_>, frame: &Frame<'_>, content: Value<'_>) {
    let is_declared = part.mine.has(Capability::Resources) || !part.is(flag::ANSWERED_INIT);
    if is_declared || frame.is_stateless {
        return;
    }
    let is_resource = |block: &Value<'_>| block.get("type").is_some_and(|kind| kind.is("resource"));
    if let Some(block) = content.items().find(is_resource) {
        let text = "a tool's result embeds a resource, and the server did not declare `resources`"
            .to_string();
        part.broken_value(cx, &EMBEDDED_RESOURCE_CAPABILITY, block, text);
    }
}

/// Whether some text block says the same as the structured content.
fn copied(part: &Part, cx: &mut Cx<'_>, structured: Value<'_>, content: Value<'_>) {
    let texts = || {
        content.items().filter_map(|block| {
            let is_text = block.get("type").is_some_and(|kind| kind.is("text"));
            block.get("text").filter(|text| is_text && text.is_text())
        })
    };
    let is_verbatim = texts().any(|text| text.spells(structured.raw()));
    if is_verbatim || texts().any(|text| says(text, structured)) {
        return;
    }
    let is_bare = is_wrapped(structured).is_some_and(|inner| {
        let mut items = inner.items();
        texts().any(|text| says_bare(text, inner))
            || inner.is_null() && texts().next().is_none()
            || inner.is_array()
                && texts().all(|text| items.next().is_some_and(|item| says_bare(text, item)))
                && items.next().is_none()
    });
    let (severity, text) = if is_bare {
        let text = "structuredContent wraps a value whose text block repeats it bare; clients that compare find no copy";
        (Some(Severity::Note), text)
    } else {
        (None, "no text block repeats structuredContent as JSON")
    };
    part.case(
        cx,
        &STRUCTURED_CONTENT_TEXT_COPY,
        Verdict::Broken,
        severity,
        &[cx.frame],
        Some(structured),
        text.to_string(),
    );
}

/// The one member of an object of one member.
fn is_wrapped(structured: Value<'_>) -> Option<Value<'_>> {
    let mut members = structured.members();
    let (_, inner) = members.next()?;
    members.next().is_none().then_some(inner)
}

/// Whether the text is that value as JSON.
fn says(text: Value<'_>, value: Value<'_>) -> bool {
    // Most texts that are no copy show it in their first character.
    let first = text.raw()[1..].iter().find(|byte| **byte != b' ');
    let may_say = match (first, value.kind()) {
        (Some(b'\\'), _) => true,
        (first, ValueKind::Object) => first == Some(&b'{'),
        (first, ValueKind::Array) => first == Some(&b'['),
        _ => true,
    };
    let Some(text) = text.as_bytes().filter(|_| may_say) else {
        return false;
    };
    let mut scanner = Scanner::recording();
    let start = white(&text, 0);
    let Ok(end) = scanner.value(&text, start) else {
        return false;
    };
    white(&text, end) == text.len() && scanner.body(&text).is_some_and(|said| is_same(said, value))
}

/// … or, for a string, the string itself.
fn says_bare(text: Value<'_>, value: Value<'_>) -> bool {
    let bytes = value.as_bytes();
    bytes.is_some_and(|bytes| text.spells(&bytes)) || says(text, value)
}
