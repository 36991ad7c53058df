//! What a stranger, a local user, a hostile folder and a taken-over run cannot do, tried with the real programs.

mod browser;
mod ceilings;
mod cli;
mod dashboard;
mod descriptors;
mod hostile_child;
mod listener;
mod local_users;
mod origins;
mod private;
mod rebinding;
mod root;
mod search_page;
mod secrets;
mod terminal;
mod webhooks;
