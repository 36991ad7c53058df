//! All integration tests in one binary: one link, one build.

#![allow(clippy::print_stderr, reason = "a test that leaves the corpus out says so")]

// The fuzz targets name the crate that feeds them.
extern crate self as libfuzzer_sys;

mod all_kept;
mod files;
mod kept;
mod postgres;
mod stage;
mod terminal;

mod add;
mod alerts;
mod apps;
mod approve;
mod architecture;
mod browser;
mod citations;
mod cli;
mod columns;
mod daemon;
mod details;
mod docs;
mod drift;
mod examples;
mod exits;
mod export;
mod fair;
mod fleet;
mod fuzz;
mod hostile;
mod learn;
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
mod reference;
mod robot;
mod rollback;
mod runs;
mod samples;
mod schedule;
mod search;
mod sessions;
mod shared_keys;
mod shortage;
mod silent;
mod socket;
mod status;
mod step;
mod store;
mod labelling;
mod tasks;
mod traces;
mod trouble;
mod trust;
mod typed;
mod values;
mod waiting;
mod walks;
mod web;
