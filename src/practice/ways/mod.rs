//! Other kinds of pagination and login. Each of them leads to the same 48 products.

mod lists;
mod logins;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use super::catalogue::{self, PRODUCTS_PER_PAGE, Product, money};
use super::html::escape;
use super::shop::Shop;

pub use logins::CODE_KEY;

/// Addresses and descriptions for the front page, in its order.
pub const ROUTES: [(&str, &str); 10] = [
    ("/ways/grid.aspx", "a grid with POST-back pagination"),
    ("/ways/offset", "pagination by an offset parameter, without links"),
    ("/ways/api", "JSON, pagination by page number"),
    ("/ways/cursor", "JSON, pagination by cursor"),
    ("/ways/fragment?page=1", "HTML inside JSON"),
    ("/ways/more", "a load-more button"),
    ("/ways/gaps", "a list with a link to a missing page"),
    ("/ways/parts", "a multipart form"),
    ("/ways/basic", "HTTP basic authentication"),
    ("/ways/club", "a login with name, password and one-time code on a page each; its sessions end soon"),
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

/// One page of products, from `skip` on.
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
