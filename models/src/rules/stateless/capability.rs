//! Capabilities that each request declares, and those that a server lists.

use crate::rules::Rule;

pub(crate) const ROWS: &[Rule] = &[];
