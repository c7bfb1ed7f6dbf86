//! Renderers of traces and captures for people, and the one place where a peer's text is made safe to print.

mod escape;

pub use escape::{escape, escape_bytes, is_hidden};
