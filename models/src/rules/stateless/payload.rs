//! Params and results of 2026-07-28: members and their types.

use crate::rules::Rule;

pub(crate) const ROWS: &[Rule] = &[];
