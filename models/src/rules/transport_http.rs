//! HTTP: methods, headers, status codes, streams.

use crate::rules::Rule;

pub(crate) const ROWS: &[Rule] = &[];
