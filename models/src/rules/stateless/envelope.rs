//! The form of a frame outside sessions.

use crate::rules::Rule;

pub(crate) const ROWS: &[Rule] = &[];
