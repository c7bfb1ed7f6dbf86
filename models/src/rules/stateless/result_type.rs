//! The kind of a result.

use mcpsim_traces::event::Role;
use mcpsim_traces::judge::{Severity, Verdict};
use mcpsim_traces::message::Kind;
use mcpsim_traces::tape::Value;

use crate::deep::{Deep, Frame};
use crate::era::Era;
use crate::ledger::Cx;
use crate::part::Part;
use crate::rules::stateless::capability::CAPS_NOT_INFERRED;
use crate::rules::{Category, Needs, Rule, STATELESS_MUST, Side, When};

pub(crate) const RESULT_TYPE_PRESENT: Rule = Rule {
    id: "result-type-present",
    category: Category::ResultType,
    side: Side::Server,
    needs: Needs::Causal,
    when: When::STATELESS_RESULT,
    source: "2026-07-28 basic/index (ResultType)",
    says: "Every result says what kind it is in `resultType`, a string.",
    why: "A client that finds none takes the result for complete, as older servers send it: a question that was \
        asked in it is never answered.",
    ..STATELESS_MUST
};

pub(crate) const RESULT_TYPE_KNOWN: Rule = Rule {
    id: "result-type-known",
    category: Category::ResultType,
    side: Side::Server,
    needs: Needs::Causal,
    when: When::STATELESS_RESULT,
    source: "2026-07-28 basic/index (ResultType)",
    says: "`resultType` is `complete`, `input_required`, or a value of an extension that both sides know.",
    why: "A client has to take a result of a kind that it does not know for invalid: the work was done and is lost.",
    ..STATELESS_MUST
};

pub(crate) const ROWS: &[Rule] = &[RESULT_TYPE_PRESENT, RESULT_TYPE_KNOWN];

/// The kind of a result outside any session.
pub(crate) fn by(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    if part.role == Role::Server && frame.message.kind == Kind::Result && cx.era != Era::Foreign {
        part.judge_kind(deep, cx, frame);
    }
}

impl Part {
    fn judge_kind(&mut self, deep: &Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
        let Some(result) = frame.payload.filter(|result| result.is_object()) else {
            return;
        };
        match result.get("resultType") {
            Some(mark) if mark.is_text() => {
                // That of tasks has rules of its own.
                if !mark.is_one_of(&["complete", "input_required", "task"]) {
                    self.is_of_other_kind(deep, cx, frame, mark);
                }
            }
            mark => self.lacks_kind(cx, frame, mark),
        }
    }

    #[cold]
    fn lacks_kind(&mut self, cx: &mut Cx<'_>, frame: &Frame<'_>, mark: Option<Value<'_>>) {
        // A request that should have been refused was served: that is the fault.
        if frame.asked.is_some_and(|asked| !asked.meta.is_whole) {
            return;
        }
        let asked = frame.asked.map_or(0, |asked| asked.frame);
        let whose = match frame.method.as_str() {
            "" => "the result".to_owned(),
            method => format!("the result of {method}"),
        };
        let text = match mark {
            None => format!("{whose} has no `resultType`"),
            Some(mark) => format!(
                "the `resultType` of {whose} is {}; it is a string",
                mark.kind().as_str()
            ),
        };
        let frames = [asked, cx.frame];
        let rule = &RESULT_TYPE_PRESENT;
        self.case(cx, rule, Verdict::Broken, None, &frames, mark, text);
    }

    /// A kind that this revision does not define: an extension may, if the request declared it.
    #[cold]
    fn is_of_other_kind(
        &mut self,
        deep: &Deep,
        cx: &mut Cx<'_>,
        frame: &Frame<'_>,
        mark: Value<'_>,
    ) {
        let has_extensions = frame.asked.is_some_and(|asked| asked.meta.has_extensions);
        let was_declared = deep
            .outside
            .as_ref()
            .is_some_and(|outside| !outside.extensions.is_empty());
        let asked = frame.asked.map_or(0, |asked| asked.frame);
        let frames = [asked, cx.frame];
        let (rule, severity, why) = match () {
            () if has_extensions => (
                &RESULT_TYPE_KNOWN,
                Some(Severity::Warning),
                "which is no kind of this revision, and perhaps one of an extension",
            ),
            () if was_declared => (
                &CAPS_NOT_INFERRED,
                None,
                "and its request declares no extension that could define it, though an earlier one did",
            ),
            () => (
                &RESULT_TYPE_KNOWN,
                None,
                "which no extension of the request defines",
            ),
        };
        let text = format!("the result is of the kind {}, {why}", mark.key());
        self.case(
            cx,
            rule,
            Verdict::Broken,
            severity,
            &frames,
            Some(mark),
            text,
        );
    }
}
