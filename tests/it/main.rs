//! All integration tests in one binary: one link, one build.

mod stage;

mod architecture;
mod cli;
mod daemon;
mod docs;
mod induce;
mod robot;
mod store;
mod taskdir;
mod trouble;
