//! Tasks as an extension.

use crate::rules::Rule;

pub(crate) const ROWS: &[Rule] = &[];
