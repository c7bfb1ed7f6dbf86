//! The kind of a result.

use mcpsim_traces::event::Role;
use mcpsim_traces::message::Kind;
use mcpsim_traces::tape::Value;

use crate::deep::{Deep, Frame};
use crate::era::Era;
use crate::ledger::Cx;
use crate::part::Part;

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

pub(crate) const ROWS: &[Rule] = &[RESULT_TYPE_PRESENT];

/// The kind of a result outside any session.
pub(crate) fn by(part: &mut Part, _: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    if part.role == Role::Server && frame.message.kind == Kind::Result && cx.era != Era::Foreign {
        part.judge_kind(cx, frame);
    }
}

impl Part {
    fn judge_kind(&mut self, cx: &mut Cx<'_>, frame: &Frame<'_>) {
        let Some(result) = frame.payload.filter(|result| result.is_object()) else {
            return;
        };
        match result.get("resultType") {
            Some(mark) if mark.is_text() => {}
            mark => self.lacks_kind(cx, frame, mark),
        }
    }

    #[cold]
    fn lacks_kind(&mut self, cx: &mut Cx<'_>, frame: &Frame<'_>, mark: Option<Value<'_>>) {
        let asked = frame.asked.map_or(0, |asked| asked.frame);
        let method = frame.method.as_str();
        let text = match mark {
            None => format!("the result of {method} has no `resultType`"),
            Some(mark) => format!(
                "the `resultType` of the result of {method} is {}; it is a string",
                mark.kind().as_str()
            ),
        };
        self.broken(cx, &RESULT_TYPE_PRESENT, &[asked, cx.frame], text);
    }
}
