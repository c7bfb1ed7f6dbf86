//! Tasks of 2025-11-25: requests that are answered twice.

use crate::rules::Rule;

pub(crate) const ROWS: &[Rule] = &[];
