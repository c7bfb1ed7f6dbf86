//! Sampling, elicitation and roots, asked for inside results.

use crate::rules::Rule;

pub(crate) const ROWS: &[Rule] = &[];
