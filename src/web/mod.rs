//! SHELL: the dashboard. It stands beside `cli`: the same verbs, the same words, in a browser.
//!
//! ```text
//! connection → gate (name, origin, token, who) → page → shown by maud
//!                                              ↘ verb → daemon::Door → the same requests as the control socket
//! ```
//!
//! It runs inside the daemon's process, so it fetches nothing and parses no page of strangers; what it reads it reads by a
//! connection of its own, beside the loop. Everything that it serves is compiled in.

mod actions;
mod error;
mod read_pool;
mod components;
mod login;
mod auth;
mod labelling_session;
mod listen;
mod route;
mod token;
mod session;
mod throttle;
mod peer;
mod overview;
mod events;
mod layout;
mod assets;
mod chart;
pub mod password;
mod status;
mod task;
mod label;
mod add;
mod search;
mod api;

use std::sync::Arc;

use chrono::Utc;
use tokio::sync::Semaphore;

use crate::config::{Config, ListenAddress};
use crate::daemon::child::page_jobs::PageInspector;
use crate::daemon::handle::DaemonHandle;
use crate::labelling;

pub use route::{Access, Route};

use self::read_pool::ReadPool;
use add::PendingTasks;
use events::ChangeFeed;
use overview::Overview;
use session::Sessions;
use task::StepSessions;
use throttle::LoginThrottle;
use token::CsrfKey;

/// What all pages share.
pub struct DashboardState {
    config: Arc<Config>,
    daemon: DaemonHandle,
    store: ReadPool,
    overview: Overview,
    feed: ChangeFeed,
    sessions: Sessions,
    throttle: LoginThrottle,
    csrf_key: CsrfKey,
    /// Robots that are walked through step by step.
    step_sessions: StepSessions,
    /// Has pages studied that a person looks at.
    inspector: PageInspector,
    pending_tasks: PendingTasks,
    /// Whoever goes through all rows waits for the one before.
    duplicate_search: Semaphore,
}

type SharedState = Arc<DashboardState>;

/// In the state folder: where the dashboard is served, for whoever looks for it.
pub const ADDRESS_FILE: &str = "web-url";

/// Serves the dashboard where config.toml says so, until the daemon ends. What cannot be served costs no run: it is said in the
/// log, and tried again.
pub fn open(door: DaemonHandle) {
    let config = Arc::clone(&door.runner.config);
    let reader = ReadPool::new(Arc::clone(&config));
    if config.web.search != ListenAddress::Off {
        let (search, listening) = (search::public_router(reader.clone()), door.listeners.register("search"));
        listen::serve(config.web.search.clone(), search, config.state.join("search-url"), listening);
    }
    if config.web.at == ListenAddress::Off {
        return;
    }
    labelling::task::add::remove_abandoned(&config.tasks, Utc::now().into());
    let overview = Overview::new(reader.clone(), door.clone());
    let feed = ChangeFeed::start(overview.clone());
    let listening = door.listeners.register("dashboard");
    let web = Arc::new(DashboardState {
        inspector: PageInspector::new(door.runner.clone()),
        pending_tasks: PendingTasks::default(),
        duplicate_search: Semaphore::new(1),
        daemon: door,
        store: reader,
        overview,
        feed,
        sessions: Sessions::default(),
        throttle: LoginThrottle::default(),
        csrf_key: CsrfKey::new(),
        step_sessions: StepSessions::default(),
        config: Arc::clone(&config),
    });
    listen::serve(config.web.at.clone(), route::router(routes(), web), config.state.join(ADDRESS_FILE), listening);
}

/// Every route that there is: the router is built of this table, and a test walks through it.
pub fn routes() -> Vec<Route> {
    [
        assets::routes(),
        login::routes(),
        status::routes(),
        task::routes(),
        actions::routes(),
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
