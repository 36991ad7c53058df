//! Other ways in which sites lead through a list, and to it: every one of them ends at the same 48 products.

mod logins;
mod lists;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use super::catalogue::{self, PRODUCTS_PER_PAGE, Product, money};
use super::html::escape;
use super::routes::Shop;

pub use self::logins::CODE_KEY;

/// What the front page tells of these, in its order.
pub const ROUTES: [(&str, &str); 10] = [
    ("/ways/grid.aspx", "a grid that a post-back turns"),
    ("/ways/offset", "counts rows in its address, links to nothing"),
    ("/ways/api", "JSON, a page a number"),
    ("/ways/cursor", "JSON that says how to go on"),
    ("/ways/fragment?page=1", "HTML inside JSON"),
    ("/ways/more", "a button that fetches more"),
    ("/ways/gaps", "a list that links to a page that is gone"),
    ("/ways/parts", "a form that is sent in parts"),
    ("/ways/basic", "HTTP basic authentication"),
    ("/ways/club", "name, password and one-time code on a page each; forgets its members soon"),
];

pub fn router() -> Router<Arc<Shop>> {
    Router::new()
        .route("/grid.aspx", get(lists::grid).post(lists::turn_grid))
        .route("/offset", get(lists::offset))
        .route("/api", get(lists::api).post(lists::api_by_post))
        .route("/cursor", get(lists::cursor))
        .route("/fragment", get(lists::fragment))
        .route("/more", get(lists::more))
        .route("/more/{page}", get(lists::more_page))
        .route("/gaps", get(lists::gaps))
        .route("/parts", get(lists::parts_form).post(lists::parts))
        .route("/basic", get(logins::basic))
        .route("/club", get(logins::club))
        .route("/club/name", post(logins::name))
        .route("/club/password", post(logins::password))
        .route("/club/code", post(logins::code))
}

/// The products from `skip` on, a page of them.
fn products_from(skip: usize) -> Vec<Product> {
    catalogue::products(0).into_iter().skip(skip).take(PRODUCTS_PER_PAGE).collect()
}

fn products_of_page(number: usize) -> Vec<Product> {
    products_from(number.saturating_sub(1).saturating_mul(PRODUCTS_PER_PAGE))
}

fn list(products: &[Product]) -> String {
    let item = |product: &Product| {
        format!(
            "<li><a href=\"/product/{}\">{}</a> <b>{}</b></li>\n",
            product.id,
            escape(&product.name),
            money(product.price_cents)
        )
    };
    format!("<ul class=\"products\">\n{}</ul>\n", products.iter().map(item).collect::<String>())
}

fn framed(title: &str, content: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title></head>\n\
         <body><h1>{title}</h1>\n{content}</body></html>\n"
    )
}
