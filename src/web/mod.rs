//! SHELL: the dashboard. It stands beside `cli`: the same verbs, the same words, in a browser.
//!
//! ```text
//! connection → gate (name, origin, token, who) → page → shown by maud
//!                                              ↘ verb → daemon::Door → the same requests as the control socket
//! ```
//!
//! It runs inside the daemon's process, so it fetches nothing and parses no page of strangers; what it reads it reads by a
//! connection of its own, beside the loop. Everything that it serves is compiled in.

mod listen;
mod route;
mod gate;
mod token;
mod session;
mod throttle;
mod peer;
mod log_in;
mod reader;
mod overview;
mod events;
mod trouble;
mod layout;
mod assets;
mod parts;
mod chart;
pub mod password;
mod status;
mod task;
mod verbs;
mod bench;
mod label;
mod add;
mod search;
mod api;

use std::sync::Arc;

use chrono::Utc;
use tokio::sync::Semaphore;

use crate::config::{Config, Place};
use crate::daemon::door::Door;
use crate::daemon::still::Scholar;
use crate::supervise;

pub use route::{Access, Route};

use add::Adding;
use events::Feed;
use overview::Overview;
use reader::Reader;
use session::Sessions;
use task::Walks;
use throttle::Throttle;
use token::Key;

/// What all pages share.
pub struct Web {
    config: Arc<Config>,
    door: Door,
    reader: Reader,
    overview: Overview,
    feed: Feed,
    sessions: Sessions,
    throttle: Throttle,
    key: Key,
    /// Robots that are walked through step by step.
    walks: Walks,
    /// Has pages studied that a person looks at.
    scholar: Scholar,
    adding: Adding,
    /// Whoever goes through all rows waits for the one before.
    looking: Semaphore,
}

type Shared = Arc<Web>;

/// In the state folder: where the dashboard is served, for whoever looks for it.
pub const ADDRESS_FILE: &str = "web-url";

/// Serves the dashboard where config.toml says so, until the daemon ends. What cannot be served costs no run: it is said in the
/// log, and tried again.
pub fn open(door: Door) {
    let config = Arc::clone(&door.runner.config);
    let reader = Reader::new(Arc::clone(&config));
    if config.web.search != Place::Off {
        let (search, listening) = (search::alone(reader.clone()), door.listeners.enter("search"));
        listen::serve(config.web.search.clone(), search, config.state.join("search-url"), listening);
    }
    if config.web.at == Place::Off {
        return;
    }
    supervise::add::sweep(&config.tasks, Utc::now().into());
    let overview = Overview::new(reader.clone(), door.clone());
    let feed = Feed::start(overview.clone());
    let listening = door.listeners.enter("dashboard");
    let web = Arc::new(Web {
        scholar: Scholar::new(door.runner.clone()),
        adding: Adding::default(),
        looking: Semaphore::new(1),
        door,
        reader,
        overview,
        feed,
        sessions: Sessions::default(),
        throttle: Throttle::default(),
        key: Key::new(),
        walks: Walks::default(),
        config: Arc::clone(&config),
    });
    listen::serve(config.web.at.clone(), route::router(routes(), web), config.state.join(ADDRESS_FILE), listening);
}

/// Every route that there is: the router is built of this table, and a test walks through it.
pub fn routes() -> Vec<Route> {
    [
        assets::routes(),
        log_in::routes(),
        status::routes(),
        task::routes(),
        verbs::routes(),
        label::routes(),
        add::routes(),
        search::routes(),
        api::routes(),
        events::routes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
