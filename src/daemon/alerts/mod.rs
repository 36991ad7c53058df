//! Alerts: which notifications are due, and their delivery from the outbox.

pub mod evaluate;
pub mod notifier;
