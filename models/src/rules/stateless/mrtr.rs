//! Results that ask for input, and the retries that bring it.

use crate::rules::Rule;

pub(crate) const ROWS: &[Rule] = &[];
