//! Params and results: the members that each method asks for, and their types.

use mcpsim_traces::message::{Kind, Method};

use crate::deep::Frame;
use crate::ledger::Cx;
use crate::part::Part;
use crate::rules::{Rule, roots};
use crate::shape;

pub(crate) const ROWS: &[Rule] = &[];

/// Judges the shape of what the party sends.
pub(crate) fn judge(part: &Part, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    if let (Kind::Result, Method::RootsList) = (frame.message.kind, frame.method) {
        shape::judge(part, cx, frame, &roots::RESULT, &roots::ROOTS_RESULT_SHAPE);
    }
}
