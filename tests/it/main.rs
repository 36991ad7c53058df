//! All integration tests in one binary: one link, one build.

#![allow(clippy::print_stderr, reason = "a test that leaves the corpus out says so")]

mod all_kept;
mod files;
mod kept;
mod postgres;
mod stage;
mod terminal;

mod add;
mod alerts;
mod apps;
mod architecture;
mod browser;
mod cli;
mod daemon;
mod details;
mod docs;
mod examples;
mod exits;
mod export;
mod fleet;
mod hostile;
mod induce;
mod installed;
mod json;
mod killed;
mod limits;
mod manners;
mod manual;
mod migrate_store;
mod monitor;
mod monitoring;
mod moved;
mod promises;
mod redesign;
mod robot;
mod runs;
mod samples;
mod schedule;
mod search;
mod shared_keys;
mod shortage;
mod silent;
mod socket;
mod status;
mod step;
mod store;
mod study;
mod taskdir;
mod traces;
mod trouble;
mod typed;
mod values;
mod waiting;
mod web;
