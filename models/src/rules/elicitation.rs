//! Elicitation by form and by URL.

use crate::rules::Rule;

pub(crate) const ROWS: &[Rule] = &[];
