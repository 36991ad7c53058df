//! The route table of the dashboard: method, path, access, handler.

use axum::handler::Handler;
use axum::http::Method;
use axum::routing::{MethodRouter, get, post};

use super::SharedState;

/// A task.toml has at most 64 kB, and URL encoding takes up to three bytes per byte.
pub(super) const MAX_BODY_BYTES: usize = 256 << 10;

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
    pub(super) handler: MethodRouter<SharedState>,
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
