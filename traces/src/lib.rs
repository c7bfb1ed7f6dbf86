//! What happened between peers that speak the Model Context Protocol: frames verbatim, their
//! classification, events, the trace file and renderers. What is legal is not known here.

pub mod capture;
pub mod classify;
pub mod encode;
pub mod event;
pub mod export;
pub mod file;
pub mod http;
pub mod import;
pub mod judge;
pub mod key;
pub mod lines;
pub mod lost;
pub mod message;
pub mod observed;
pub mod place;
pub mod recording;
pub mod render;
pub mod scan;
pub mod show;
pub mod sniff;
pub mod tape;
