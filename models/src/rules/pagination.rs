//! Cursors and pages.

use crate::rules::Rule;

pub(crate) const ROWS: &[Rule] = &[];
