//! Completion: references, contexts, values.

use crate::rules::Rule;

pub(crate) const ROWS: &[Rule] = &[];
