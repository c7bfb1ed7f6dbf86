//! subscriptions/listen and what is sent on it.

use crate::rules::Rule;

pub(crate) const ROWS: &[Rule] = &[];
