//! Ctrl-C: a flag that long work looks at, so that what was found is saved and summed up.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::outcome::{Failure, Result};
use super::store;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static ENDS: AtomicBool = AtomicBool::new(false);
static INSTALLED: OnceLock<std::result::Result<(), String>> = OnceLock::new();

/// The flag; it is set by the first Ctrl-C (or SIGTERM). A second one ends the program at once.
///
/// # Errors
/// The system refuses a handler.
pub(crate) fn flag() -> Result<&'static AtomicBool> {
    let installed = INSTALLED.get_or_init(|| {
        ctrlc::set_handler(|| {
            let is_second = INTERRUPTED.swap(true, Ordering::Relaxed);
            if is_second || ENDS.load(Ordering::Relaxed) {
                store::exit_without_leftovers(130);
            }
        })
        .map_err(|error| format!("cannot watch for Ctrl-C: {error}"))
    });
    match installed {
        Ok(()) => Ok(&INTERRUPTED),
        Err(message) => Err(Failure::new(message)),
    }
}

/// From now on the first Ctrl-C ends the program, for work of which no part is of use; files that are not whole go with it.
///
/// # Errors
/// The system refuses a handler.
pub(crate) fn ends_the_program() -> Result<()> {
    ENDS.store(true, Ordering::Relaxed);
    flag().map(|_| ())
}
