//! Revisions from frame to frame, and peers of both eras.

use crate::rules::Rule;

pub(crate) const ROWS: &[Rule] = &[];
