//! Prompts: lists, arguments, messages.

use crate::rules::Rule;

pub(crate) const ROWS: &[Rule] = &[];
