//! Builds the router from the route table. Every route gets the middleware of `auth`.

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;

use super::route::{MAX_BODY_BYTES, Route};
use super::{DashboardState, auth, error};

pub(super) fn router(routes: Vec<Route>, web: Arc<DashboardState>) -> Router {
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
