//! What happened between peers that speak the Model Context Protocol: frames verbatim, their
//! classification, events, the trace file and renderers. What is legal is not known here.

pub mod classify;
pub mod key;
pub mod message;
pub mod scan;
