//! What each request says of itself in `_meta`.

use crate::rules::Rule;

pub(crate) const ROWS: &[Rule] = &[];
