//! Alerts: what is worth telling a person, in which words, and by which way.
//!
//! ```text
//! how a task stands + what was told already → decide → notice → words → deliver ─┬ mail
//!                                             (pure)   (pure)  (pure)            ├ hook: webhook, ntfy, chats
//!                                                                                └ exec: a program that config.toml lists
//! ```
//!
//! What was told, and what is still to be delivered, is kept by whoever calls.

mod decide;
mod notice;
mod words;
mod target;
mod fill;
mod settings;
mod hook;
mod mail;
mod exec;
mod deliver;

pub use decide::{Look, Said, decide, in_a_row};
pub use deliver::{Means, Undelivered, deliver, secrets_of};
pub use notice::{Kind, Notice};
pub use settings::{Encryption, Settings, Smtp};
pub use target::{Channels, Target, TargetError, check};
pub use words::{subject, text};
