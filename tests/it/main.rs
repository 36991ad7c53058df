//! One binary for all tests from outside.

mod store;
mod taskdir;
