//! Alerts: decides which notifications are due, words them, and delivers them.
//!
//! ```text
//! task condition + notified state → decide → notification → message text → deliver ─┬ mail
//!                                   (pure)   (pure)         (pure)                  ├ webhook: ours, ntfy, chats
//!                                                                                   └ exec: a command of config.toml
//! ```
//!
//! The notified state and the outbox are stored by the caller (`daemon/alerts`).

mod decide;
mod deliver;
mod error;
mod exec;
mod mail;
mod message_text;
mod notification;
mod secret_refs;
mod settings;
mod target;
mod webhook;

pub use decide::{NotifiedState, TaskCondition, consecutive_failures, decide};
pub use deliver::{DeliveryContext, config_secrets, deliver};
pub use error::DeliveryError;
pub use message_text::{subject, text};
pub use notification::{Notification, NotificationKind};
pub use secret_refs::names as secret_names;
pub use settings::{Encryption, Settings, Smtp};
pub use target::{Channels, DeliveryTarget, TargetError, check, target_origin, webhook_url};
pub use webhook::webhook_key;
