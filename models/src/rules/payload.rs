//! Params and results: the members that each method asks for, and their types.

use crate::rules::Rule;

pub(crate) const ROWS: &[Rule] = &[];
