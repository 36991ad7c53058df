//! What a stranger, a local user, a hostile folder and a taken-over run cannot do, tried with the real programs.

mod ceilings;
mod dashboard;
mod local_users;
mod private;
mod search_page;
mod terminal;
