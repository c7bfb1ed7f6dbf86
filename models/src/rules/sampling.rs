//! Sampling requests and their answers.

use crate::rules::Rule;

pub(crate) const ROWS: &[Rule] = &[];
