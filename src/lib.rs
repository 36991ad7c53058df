//! pieme keeps tables out of web sites fresh, and knows when a site has changed under it.
//!
//! ```text
//! run (in the child):   robot → pages → tokens → rows → records → judgement → report on stdout
//! daemon (the parent):  watch tasks/ → schedule → spawn child → collect report → publish or quarantine → status, alerts
//! ```
//!
//! The child has no database. The daemon fetches nothing and parses no HTML of strangers.

pub mod model;
pub mod due;
pub mod page;
pub mod induce;
pub mod normalise;
pub mod extract;
pub mod study;
pub mod judge;
pub mod guard;
pub mod robot;
pub mod draft;
pub mod alert;
pub mod taskdir;
pub mod config;
pub mod wire;
pub mod store;
pub mod export;
pub mod seal;
pub mod stepwise;
pub mod worker;
pub mod daemon;
pub mod supervise;
pub mod show;
pub mod practice;
pub mod web;
pub mod cli;
