//! mcpsim
