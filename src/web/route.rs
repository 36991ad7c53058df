//! A route of the dashboard: what it is called, who may ask for it, and who answers.

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::handler::Handler;
use axum::http::Method;
use axum::middleware;
use axum::routing::{MethodRouter, get, post};

use super::{Shared, Web, gate, trouble};

/// A task.toml has 64 kB at most, and a form spells each of its bytes with three at the worst.
pub const MAX_BODY_BYTES: usize = 256 << 10;

/// Who may ask for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Whoever can reach the address.
    Anybody,
    /// Who has logged in.
    Person,
}

pub struct Route {
    pub method: Method,
    pub path: &'static str,
    pub access: Access,
    answer: MethodRouter<Shared>,
}

impl Route {
    /// Changes nothing.
    pub fn get<T: 'static>(path: &'static str, handler: impl Handler<T, Shared>) -> Route {
        Route { method: Method::GET, path, access: Access::Person, answer: get(handler) }
    }

    /// Changes something: the gate lets it through only with a token, from our own pages.
    pub fn post<T: 'static>(path: &'static str, handler: impl Handler<T, Shared>) -> Route {
        Route { method: Method::POST, path, access: Access::Person, answer: post(handler) }
    }

    pub fn for_anybody(self) -> Route {
        Route { access: Access::Anybody, ..self }
    }
}

pub fn router(routes: Vec<Route>, web: Arc<Web>) -> Router {
    let mut router = Router::new();
    for Route { path, access, answer, .. } in routes {
        let gate = middleware::from_fn_with_state((Arc::clone(&web), access), gate::gate);
        router = router.route(path, answer.layer(gate));
    }
    router
        .fallback(trouble::no_such_page)
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(middleware::from_fn_with_state(Arc::clone(&web), gate::known_host))
        .layer(middleware::from_fn(gate::headers))
        .with_state(web)
}
