//! pieme keeps tables out of web sites fresh, and knows when a site has changed under it.
//!
//! ```text
//! run (in the child):   robot → pages → tokens → rows → records → judgement → report on stdout
//! daemon (the parent):  watch tasks/ → schedule → spawn child → collect report → publish or quarantine → status, alerts
//! ```
//!
//! The child has no database. The daemon fetches nothing and parses no HTML of strangers.

pub mod model;
pub mod page;
pub mod robot;
pub mod practice;
