//! Runs from the parent's side: job, child process, report, verdict, repair; the runs under way and who waits for them.

pub mod baseline;
pub mod clients;
pub mod collect;
mod job;
pub mod overtime;
pub mod progress;
mod refused;
mod repair;
pub mod runner;
pub mod start;
pub mod stepping;
pub mod stop;
pub(super) mod verdict;
