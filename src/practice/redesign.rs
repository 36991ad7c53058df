//! The redesigned shop: the same data with other tags, classes, nesting and order.

use super::catalogue::{Product, ShopOrder, money};
use super::html::escape;
use super::original::{rating, stock};
use super::shop_view::ListPage;

pub fn products(shown: &[Product], stretch: &ListPage) -> String {
    let tiles: String = shown.iter().map(tile).collect();
    format!("<section class=\"shelf\">\n{tiles}</section>\n{}", arrow_pager(stretch))
}

fn tile(product: &Product) -> String {
    let flag = product.badge.map(|badge| format!("<em class=\"flag\">{badge}</em>")).unwrap_or_default();
    format!(
        "<div class=\"tile\">\n<div class=\"tile-price\">{price}</div>\n<div class=\"tile-text\">\n\
         <div class=\"tile-more\"><span data-stock=\"{count}\">{stock}</span><span>★ {stars} · {reviews}</span></div>\n\
         <div class=\"tile-name\"><b><a class=\"go\" href=\"/product/{id}\">{name}</a></b> {flag}</div>\n</div>\n\
         <figure><img class=\"thumb\" loading=\"lazy\" src=\"/image/{id}.svg\" alt=\"{name}\" \
         width=\"80\" height=\"50\"></figure>\n</div>\n",
        price = money(product.price_cents),
        count = product.stock,
        stock = stock(product),
        stars = rating(product),
        reviews = product.reviews,
        id = product.id,
        name = escape(&product.name),
    )
}

pub fn product(product: &Product) -> String {
    let rows: String = product
        .specifications
        .iter()
        .map(|(key, value)| format!("<tr><td>{}</td><td>{}</td></tr>\n", escape(value), escape(key)))
        .collect();
    format!(
        "<section class=\"sheet\">\n<table class=\"facts\"><tbody>\n{rows}</tbody></table>\n\
         <div class=\"tile-price\">{}</div>\n<div class=\"tile-more\">{}</div>\n</section>",
        money(product.price_cents),
        stock(product)
    )
}

pub fn orders(shown: &[ShopOrder], stretch: &ListPage) -> String {
    let items: String = shown
        .iter()
        .map(|order| {
            format!(
                "<section class=\"purchase\">\n<header><b>{}</b><i>{}</i></header>\n\
                 <div><span class=\"who\">{}</span> <small>{} on {}</small></div>\n</section>\n",
                money(order.total_cents),
                order.status,
                escape(&order.customer),
                order.number,
                order.date
            )
        })
        .collect();
    format!("<div class=\"purchases\">\n{items}</div>\n{}", arrow_pager(stretch))
}

/// A pager without page numbers and without `rel`: two links with arrows.
fn arrow_pager(stretch: &ListPage) -> String {
    let link =
        |page: usize, text: &str| format!("<a class=\"step\" href=\"{}\">{text}</a>\n", escape(&stretch.href(page)));
    let back = if stretch.page > 1 { link(stretch.page - 1, "← Newer") } else { String::new() };
    let on = if stretch.page < stretch.pages { link(stretch.page + 1, "Next page →") } else { String::new() };
    format!(
        "<div class=\"steps\">\n{back}<span class=\"soft\">{} of {}</span>\n{on}</div>",
        stretch.page, stretch.pages
    )
}
