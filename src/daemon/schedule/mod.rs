//! When each task runs: the queue of due runs, the clock that drives it, and what holds a task back.

pub mod clock;
pub mod crash_backoff;
pub mod login_hold;
pub mod plan;
pub mod queue;
