//! server/discover.

use crate::rules::Rule;

pub(crate) const ROWS: &[Rule] = &[];
