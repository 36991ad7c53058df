//! SHELL: the dashboard. Offers the actions of `cli`, in the same words, in a browser.
//!
//! ```text
//! connection → auth (Host, Origin, CSRF token, session) → page → HTML (maud)
//!                                                       ↘ action → DaemonHandle → requests of the control socket
//! ```
//!
//! Runs inside the daemon's process, so it fetches nothing and parses no untrusted HTML. It reads the store through
//! its own connections and never blocks the event loop. All assets are compiled in.

mod actions;
mod add;
mod api;
mod asset_route;
mod assets;
mod audit;
mod auth;
mod chart;
mod components;
mod error;
mod events;
mod instance;
mod label;
mod labelling_session;
mod layout;
mod listen;
mod login;
mod overview;
pub mod password;
mod read_pool;
mod route;
mod router;
mod search;
mod session;
mod status;
mod task;
mod task_path;
mod threads;
mod throttle;
mod token;

use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use tokio::sync::Semaphore;

use crate::config::{Config, ListenAddress};
use crate::daemon::child::page_jobs::PageInspector;
use crate::daemon::http::handle::DaemonHandle;
use crate::labelling::task::add::remove_abandoned;

pub use route::{Access, Route};

use add::PendingTasks;
use audit::AuditLog;
use events::ChangeFeed;
use instance::Instance;
use overview::Overview;
use read_pool::{ReadLimits, ReadPool};
use session::Sessions;
use task::StepSessions;
use throttle::LoginThrottle;

/// State shared by all request handlers.
pub struct DashboardState {
    config: Arc<Config>,
    daemon: DaemonHandle,
    store: ReadPool,
    overview: Overview,
    feed: ChangeFeed,
    sessions: Sessions,
    throttle: LoginThrottle,
    instance: Instance,
    audit: AuditLog,
    /// Robots that people execute step by step.
    step_sessions: StepSessions,
    /// Starts the sandboxed processes that parse pages for labelling.
    inspector: PageInspector,
    pending_tasks: PendingTasks,
    /// Admits one search for duplicates at a time: each reads all rows twice.
    duplicate_search: Semaphore,
}

type SharedState = Arc<DashboardState>;

/// For logged-in users, whose pages make several queries each.
const READ_LIMITS: ReadLimits = ReadLimits { readers: 4, queue: 256, longest: Duration::from_secs(60) };

/// File in the state folder that holds the dashboard's address.
pub const ADDRESS_FILE: &str = "web-url";

/// Serves the dashboard and the search page at the addresses of config.toml until the daemon ends. An address that is
/// taken is logged and retried; runs do not depend on it.
pub fn open(door: DaemonHandle) {
    let config = Arc::clone(&door.runner.config);
    if config.web.search != ListenAddress::Off {
        let reader = ReadPool::new(Arc::clone(&config), search::PUBLIC_LIMITS);
        let (search, listening) = (search::public_router(reader), door.listeners.register("search"));
        let note = config.state.join("search-url");
        listen::serve(config.web.search.clone(), search, note, listening, config.grants.clone());
    }
    if config.web.at == ListenAddress::Off {
        return;
    }
    remove_abandoned(&config.tasks, Utc::now().into());
    let reader = ReadPool::new(Arc::clone(&config), READ_LIMITS);
    let overview = Overview::new(reader.clone(), door.clone());
    let feed = ChangeFeed::start(overview.clone());
    let listening = door.listeners.register("dashboard");
    let web = Arc::new(DashboardState {
        inspector: PageInspector::new(door.runner.spawner.clone(), config.grants.clone()),
        pending_tasks: PendingTasks::default(),
        duplicate_search: Semaphore::new(1),
        daemon: door,
        store: reader,
        overview,
        feed,
        sessions: Sessions::open_file(&config),
        throttle: LoginThrottle::default(),
        instance: Instance::open(&config),
        audit: AuditLog::new(&config),
        step_sessions: StepSessions::default(),
        config: Arc::clone(&config),
    });
    let (router, note) = (router::router(routes(), web), config.state.join(ADDRESS_FILE));
    listen::serve(config.web.at.clone(), router, note, listening, config.grants.clone());
}

/// All routes. The router is built from this table, and a test tries every entry.
pub fn routes() -> Vec<Route> {
    [
        vec![
            Route::get(asset_route::PATH, asset_route::asset).public(),
            Route::get("/", status::show),
            Route::get("/events", events::events),
        ],
        login::routes(),
        task::routes(),
        actions::routes(),
        label::routes(),
        add::routes(),
        search::routes(),
        api::routes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
