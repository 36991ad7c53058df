//! What the daemon answers: the control socket, `/metrics` and `/healthz`, and the handle of the dashboard.

pub mod connections;
pub mod control;
pub mod handle;
mod host_metrics;
pub mod metrics;
pub mod peer;
pub mod replies;
pub mod serve;
pub mod server;
