//! Roots of the client.

use crate::rules::Rule;

pub(crate) const ROWS: &[Rule] = &[];
