//! pieme keeps tables from web sites fresh, and notices when a site has changed.
//!
//! ```text
//! run (in the child):   robot → pages → tokens → rows → records → judgement → report on stdout
//! daemon (the parent):  watch tasks/ → schedule → spawn child → collect report → publish or quarantine
//!                       → status, alerts
//! ```
//!
//! The child has no database. The daemon fetches nothing and parses no HTML of strangers.

pub mod model;
pub mod due;
pub mod page;
pub mod learn;
pub mod normalise;
pub mod judge;
pub mod guard;
pub mod robot;
pub mod process;
pub mod draft;
pub mod alert;
pub mod tasks;
pub mod config;
pub mod store;
pub mod export;
pub mod labelling;
pub mod protocol;
pub mod sandbox;
pub mod stepwise;
pub mod worker;
pub mod daemon;
pub mod show;
pub mod practice;
pub mod web;
pub mod cli;
