//! Which rules look at the payloads of which method.

use mcpsim_traces::message::Method;

use super::Topic;

/// The topics of every frame outside sessions, before those of its method.
pub(crate) const STATELESS: &[Topic] = &[];

/// The topics of that method: its calls and their answers.
pub(crate) fn of(method: Method) -> &'static [Topic] {
    match method {
        _ => &[],
    }
}
