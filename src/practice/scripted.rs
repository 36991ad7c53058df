//! Lists made by scripts: a button, or scrolling to the end, loads more.

use axum::Router;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

use super::catalogue::{PRODUCTS_PER_PAGE, money};
use super::shop::Shop;
use super::shop_view::{ShopView, framed};

/// Shared by both lists: `more()` fetches the next twelve products and appends them.
const MORE: &str = include_str!("more.js");

const BUTTON: &str = "<p><button type=\"button\" id=\"more\">Load more</button></p>\n<script>\n\
    const button = document.getElementById('more');\n\
    const next = async () => { button.disabled = true; \
    if (await more()) button.disabled = false; else button.remove(); };\n\
    button.addEventListener('click', next);\nnext();\n</script>";

/// Infinite scroll. Twelve items are higher than a window.
const ENDLESS: &str = "<style>#list { display: block } #list li { min-height: 8rem }</style>\n\
    <p id=\"end\">…</p>\n<script>\n\
    const end = document.getElementById('end');\n\
    const eye = new IntersectionObserver(async (seen) => {\n\
      if (!seen.some((it) => it.isIntersecting)) return;\n\
      eye.disconnect();\n\
      if (await more()) eye.observe(end); else end.remove();\n\
    });\n\
    eye.observe(end);\n</script>";

pub fn router() -> Router<Arc<Shop>> {
    Router::new()
        .route(
            "/products",
            get(|State(shop): State<Arc<Shop>>, headers: HeaderMap| async move { shell(&shop.view(&headers), BUTTON) }),
        )
        .route(
            "/endless",
            get(
                |State(shop): State<Arc<Shop>>, headers: HeaderMap| async move { shell(&shop.view(&headers), ENDLESS) },
            ),
        )
        .route("/data", get(data))
}

/// The page as sent, without any product.
fn shell(view: &ShopView, rest: &str) -> Html<String> {
    let content =
        format!("<h1>Products</h1>\n<ul class=\"products\" id=\"list\"></ul>\n<script>\n{MORE}</script>\n{rest}");
    Html(framed(view, "Products", &content))
}

#[derive(Deserialize)]
struct ScriptedListQuery {
    #[serde(default)]
    from: usize,
}

async fn data(State(shop): State<Arc<Shop>>, headers: HeaderMap, Query(wanted): Query<ScriptedListQuery>) -> Response {
    let all = shop.view(&headers).products;
    let shown = all.iter().skip(wanted.from).take(PRODUCTS_PER_PAGE);
    let products: Vec<_> = shown
        .map(|it| json!({ "id": it.id, "name": it.name, "price": money(it.price_cents), "badge": it.badge }))
        .collect();
    let more = wanted.from.saturating_add(products.len()) < all.len();
    let body = json!({ "products": products, "more": more }).to_string();
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}
