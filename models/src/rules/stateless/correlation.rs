//! Which response belongs to which request, and who may speak, outside sessions.

use crate::rules::Rule;

pub(crate) const ROWS: &[Rule] = &[];
