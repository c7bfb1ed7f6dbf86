//! Findings about the party.

use mcpsim_traces::event::FrameNo;
use mcpsim_traces::judge::{Blame, Severity, Verdict};
use mcpsim_traces::tape::Value;

use super::{Part, flag};
use crate::era::is_of_any_session;
use crate::ledger::{Case, Cx};
use crate::rules::Rule;

impl Part {
    #[cold]
    pub(crate) fn broken(
        &self,
        cx: &mut Cx<'_>,
        rule: &'static Rule,
        frames: &[FrameNo],
        message: String,
    ) {
        self.case(cx, rule, Verdict::Broken, None, frames, None, message);
    }

    /// As [`Part::broken`], for this frame, with the offending value.
    #[cold]
    pub(crate) fn broken_value(
        &self,
        cx: &mut Cx<'_>,
        rule: &'static Rule,
        value: Value<'_>,
        message: String,
    ) {
        let frames = [cx.frame];
        self.case(
            cx,
            rule,
            Verdict::Broken,
            None,
            &frames,
            Some(value),
            message,
        );
    }

    /// As [`Part::broken_value`], with the frames that matter (the offending one last), the verdict and,
    /// where it is not the rule's own, the severity.
    #[cold]
    #[expect(clippy::too_many_arguments)]
    pub(crate) fn case(
        &self,
        cx: &mut Cx<'_>,
        rule: &'static Rule,
        verdict: Verdict,
        severity: Option<Severity>,
        frames: &[FrameNo],
        value: Option<Value<'_>>,
        message: String,
    ) {
        if self.is_strange(cx) && !is_of_any_session(rule) {
            return;
        }
        cx.report(Case {
            rule,
            verdict,
            severity,
            revision: self.revision,
            blame: Blame::from(self.role),
            frames,
            spot: value.map(Value::span),
            knew: self.knowledge(cx, rule, verdict),
            message,
        });
    }

    /// Whether the frame belongs to a session of a version that is not known here.
    #[inline]
    pub(crate) fn is_strange(&self, cx: &Cx<'_>) -> bool {
        self.is(flag::STRANGE) && !cx.is_stateless
    }

    #[cold]
    pub(crate) fn broken_at(
        &self,
        cx: &mut Cx<'_>,
        rule: &'static Rule,
        severity: Severity,
        frames: &[FrameNo],
        message: String,
    ) {
        self.case(
            cx,
            rule,
            Verdict::Broken,
            Some(severity),
            frames,
            None,
            message,
        );
    }

    #[cold]
    pub(crate) fn unsure(
        &self,
        cx: &mut Cx<'_>,
        rule: &'static Rule,
        frames: &[FrameNo],
        message: String,
    ) {
        self.case(cx, rule, Verdict::Unsure, None, frames, None, message);
    }
}
