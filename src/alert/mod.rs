//! Alerts: what is worth telling a person, in which words, and by which way.
//!
//! ```text
//! how a task stands + what was told already → decide → notice → words → deliver ─┬ mail
//!                                             (pure)   (pure)  (pure)            ├ hook: webhook, ntfy, chats
//!                                                                                └ exec: a program that config.toml lists
//! ```
//!
//! What was told, and what is still to be delivered, is kept by whoever calls.

mod message_text;
mod notification;
mod webhook;
mod secret_refs;
mod decide;
mod target;
mod settings;
mod mail;
mod exec;
mod deliver;

pub use self::message_text::{subject, text};
pub use self::notification::{Notification, NotificationKind};
pub use decide::{NotifiedState, TaskCondition, consecutive_failures, decide};
pub use deliver::{DeliveryContext, DeliveryError, deliver, secrets_of};
pub use settings::{Encryption, Settings, Smtp};
pub use target::{Channels, DeliveryTarget, TargetError, check};
