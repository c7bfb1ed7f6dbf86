//! Log levels and log messages.

use crate::rules::Rule;

pub(crate) const ROWS: &[Rule] = &[];
