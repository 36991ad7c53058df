//! Child processes: one lifecycle for the four jobs (`lifecycle.rs`), and what the daemon does for a child that runs.

pub mod answers;
pub mod connector;
pub mod host_limiter;
pub mod lifecycle;
pub mod page_jobs;
pub mod requests;
pub mod scratch;
pub mod spawn;
pub mod stepping;
