//! Rules of 2026-07-28, which has no sessions: every frame speaks for itself.

pub(crate) mod caching;
pub(crate) mod capability;
pub(crate) mod client_features;
pub(crate) mod correlation;
pub(crate) mod deprecated;
pub(crate) mod discovery;
pub(crate) mod envelope;
pub(crate) mod eras;
pub(crate) mod errors;
pub(crate) mod http_headers;
pub(crate) mod logging;
pub(crate) mod mrtr;
pub(crate) mod payload;
pub(crate) mod request_meta;
pub(crate) mod result_type;
pub(crate) mod subscriptions;
pub(crate) mod tasks_extension;
pub(crate) mod tools;
pub(crate) mod transport_http;
pub(crate) mod transport_stdio;
pub(crate) mod utilities;
pub(crate) mod versioning;
