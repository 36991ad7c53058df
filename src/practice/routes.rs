//! The routes of the practice site.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use axum::Router;
use axum::extract::{Form, Path, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use serde::Deserialize;

use super::shop::Shop;
use super::visitors::ShopVisitor;
use super::{PASSWORD, USER, bad, pages, scripted, ways};

type ShopState = State<Arc<Shop>>;

pub fn router(shop: Arc<Shop>) -> Router {
    Router::new()
        .route("/", get(home))
        .route("/products", get(products))
        .route("/search", get(search))
        .route("/product/{id}", get(product))
        .route("/image/{file}", get(image))
        .route("/login", get(login_form).post(login))
        .route("/logout", get(logout))
        .route("/orders", get(orders))
        .route("/robots.txt", get(ROBOTS))
        .route("/staff/{page}", get(staff))
        .route("/switch", get(switches))
        .route("/switch/redesign", post(switch_redesign))
        .route("/switch/prices", post(switch_prices))
        .nest("/ways", ways::router())
        .nest("/js", scripted::router())
        .nest("/bad", bad::router())
        .fallback(not_found)
        .layer(middleware::from_fn_with_state(Arc::clone(&shop), count_request))
        .with_state(shop)
}

/// The pages under `/staff/` are linked from nowhere and disallowed for robots.
const ROBOTS: &str = "User-agent: *\nDisallow: /staff/\n";

async fn staff() -> Html<&'static str> {
    Html("<!DOCTYPE html><title>Staff</title><h1>For staff only</h1>")
}

async fn count_request(State(shop): ShopState, request: Request, next: Next) -> Response {
    shop.count_request();
    next.run(request).await
}

async fn home(State(shop): ShopState, headers: HeaderMap) -> Html<String> {
    Html(pages::home(&shop.view(&headers)))
}

#[derive(Deserialize)]
struct ListQuery {
    #[serde(default)]
    q: String,
    category: Option<String>,
    page: Option<usize>,
}

async fn products(State(shop): ShopState, headers: HeaderMap, Query(query): Query<ListQuery>) -> Response {
    let view = shop.view(&headers);
    let page = pages::products(&view, query.category, query.page.unwrap_or(1));
    shop.failure_mode().replacement_page(&view, &page).unwrap_or_else(|| respond_conditionally(&shop, &headers, page))
}

/// The page with its ETag, or 304 if the client has it.
fn respond_conditionally(shop: &Shop, headers: &HeaderMap, page: String) -> Response {
    let mut hasher = DefaultHasher::new();
    page.hash(&mut hasher);
    let tag = format!("\"{:016x}\"", hasher.finish());
    let is_known = headers.get(header::IF_NONE_MATCH).is_some_and(|it| it.as_bytes() == tag.as_bytes());
    let answer = if is_known {
        shop.count_not_modified();
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        Html(page).into_response()
    };
    ([(header::ETAG, tag)], answer).into_response()
}

async fn search(State(shop): ShopState, headers: HeaderMap, Query(query): Query<ListQuery>) -> Html<String> {
    Html(pages::search(&shop.view(&headers), &query.q, query.page.unwrap_or(1)))
}

async fn product(state: ShopState, headers: HeaderMap, Path(id): Path<u32>) -> Response {
    match pages::product(&state.view(&headers), id) {
        Some(page) => Html(page).into_response(),
        None => not_found(state, headers).await,
    }
}

async fn image(state: ShopState, headers: HeaderMap, Path(file): Path<String>) -> Response {
    let id = file.strip_suffix(".svg").and_then(|id| id.parse().ok());
    match id.and_then(|id| pages::image(&state.view(&headers), id)) {
        Some(svg) => ([(header::CONTENT_TYPE, "image/svg+xml")], svg).into_response(),
        None => not_found(state, headers).await,
    }
}

async fn login_form(State(shop): ShopState, headers: HeaderMap) -> Response {
    let visitor = shop.visitors.find_or_create(&headers);
    let page = Html(pages::login(&shop.view(&headers), &visitor.csrf, None));
    with_cookie(page.into_response(), &visitor)
}

#[derive(Deserialize)]
struct LoginForm {
    #[serde(default)]
    user: String,
    #[serde(default)]
    password: String,
    #[serde(default)]
    csrf_token: String,
}

async fn login(State(shop): ShopState, headers: HeaderMap, Form(form): Form<LoginForm>) -> Response {
    let visitor = shop.visitors.find_or_create(&headers);
    let complaint = if form.csrf_token != visitor.csrf {
        "This form is out of date. Please try again."
    } else if form.user != USER || form.password != PASSWORD {
        "Wrong user or password."
    } else {
        let visitor = shop.visitors.log_in(&visitor);
        return with_cookie(Redirect::to("/orders").into_response(), &visitor);
    };
    // Status 200, as in most shops: only the page's text says that the login failed.
    let page = Html(pages::login(&shop.view(&headers), &visitor.csrf, Some(complaint)));
    with_cookie(page.into_response(), &visitor)
}

async fn logout(State(shop): ShopState, headers: HeaderMap) -> Redirect {
    if let Some(visitor) = shop.visitors.find(&headers) {
        shop.visitors.log_out(&visitor);
    }
    Redirect::to("/login")
}

async fn orders(State(shop): ShopState, headers: HeaderMap, Query(query): Query<ListQuery>) -> Response {
    let view = shop.view(&headers);
    if view.logged_in {
        Html(pages::orders(&view, query.page.unwrap_or(1))).into_response()
    } else {
        Redirect::to("/login").into_response()
    }
}

async fn switches(State(shop): ShopState, headers: HeaderMap) -> Html<String> {
    Html(pages::switches(&shop.view(&headers), shop.price_calls()))
}

async fn switch_redesign(State(shop): ShopState) -> Redirect {
    shop.toggle_redesign();
    Redirect::to("/switch")
}

async fn switch_prices(State(shop): ShopState) -> Redirect {
    shop.change_prices();
    Redirect::to("/switch")
}

async fn not_found(State(shop): ShopState, headers: HeaderMap) -> Response {
    (StatusCode::NOT_FOUND, Html(pages::not_found(&shop.view(&headers)))).into_response()
}

fn with_cookie(mut response: Response, visitor: &ShopVisitor) -> Response {
    response.headers_mut().insert(header::SET_COOKIE, visitor.set_cookie());
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
