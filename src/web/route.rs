//! The route table of the dashboard: method, path, access, handler.

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::handler::Handler;
use axum::http::Method;
use axum::middleware;
use axum::routing::{MethodRouter, get, post};

use super::{DashboardState, SharedState, auth, error};

/// A task.toml has at most 64 kB, and URL encoding takes up to three bytes per byte.
pub const MAX_BODY_BYTES: usize = 256 << 10;

/// Who may use a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Everybody who can reach the address.
    Public,
    /// Logged-in users.
    LoggedIn,
}

pub struct Route {
    pub method: Method,
    pub path: &'static str,
    pub access: Access,
    handler: MethodRouter<SharedState>,
}

impl Route {
    /// A route that changes nothing.
    pub fn get<T: 'static>(path: &'static str, handler: impl Handler<T, SharedState>) -> Route {
        Route { method: Method::GET, path, access: Access::LoggedIn, handler: get(handler) }
    }

    /// A route that changes something: `auth::authorize` requires the dashboard's Origin and a CSRF token.
    pub fn post<T: 'static>(path: &'static str, handler: impl Handler<T, SharedState>) -> Route {
        Route { method: Method::POST, path, access: Access::LoggedIn, handler: post(handler) }
    }

    pub fn public(self) -> Route {
        Route { access: Access::Public, ..self }
    }
}

pub fn router(routes: Vec<Route>, web: Arc<DashboardState>) -> Router {
    let mut router = Router::new();
    for Route { path, access, handler: answer, .. } in routes {
        let gate = middleware::from_fn_with_state((Arc::clone(&web), access), auth::authorize);
        router = router.route(path, answer.layer(gate));
    }
    router
        .fallback(error::no_such_page)
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(middleware::from_fn_with_state(Arc::clone(&web), auth::check_host))
        .layer(middleware::from_fn(auth::add_security_headers))
        .with_state(web)
}
