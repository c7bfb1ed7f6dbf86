//! Tools and their results under 2026-07-28.

use crate::rules::Rule;

pub(crate) const ROWS: &[Rule] = &[];
