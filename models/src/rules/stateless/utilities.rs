//! Progress, cancellation, logging, pages and cache hints under 2026-07-28.

use crate::rules::Rule;

pub(crate) const ROWS: &[Rule] = &[];
