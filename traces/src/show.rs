//! Renderers of traces and captures for people, and the one place where a peer's text is made safe to print.

mod escape;
mod mermaid;
mod story;
mod text;

pub use escape::{escape, escape_bytes, is_hidden};
pub use mermaid::mermaid;
pub use story::{
    Delivery, Item, ItemWhat, Story, StoryBuilder, StoryFinding, StoryFrame, StoryLink, StoryParty,
};
pub use text::{TextOptions, text};
