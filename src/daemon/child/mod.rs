//! What the daemon does for a child process: answers its requests, connects for it, and runs page jobs.

pub mod connector;
pub mod page_jobs;
pub mod repair;
pub mod requests;
