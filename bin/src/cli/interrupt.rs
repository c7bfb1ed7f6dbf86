//! Ctrl-C: a flag that long work looks at, so that what was found is saved and summed up.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::outcome::{Failure, Result};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static INSTALLED: OnceLock<std::result::Result<(), String>> = OnceLock::new();

/// The flag; it is set by the first Ctrl-C (or SIGTERM). A second one ends the program at once.
///
/// # Errors
/// The system refuses a handler.
pub(crate) fn flag() -> Result<&'static AtomicBool> {
    let installed = INSTALLED.get_or_init(|| {
        ctrlc::set_handler(|| {
            if INTERRUPTED.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        })
        .map_err(|error| format!("cannot watch for Ctrl-C: {error}"))
    });
    match installed {
        Ok(()) => Ok(&INTERRUPTED),
        Err(message) => Err(Failure::new(message)),
    }
}
