//! Resources: lists, contents, subscriptions.

use crate::rules::Rule;

pub(crate) const ROWS: &[Rule] = &[];
