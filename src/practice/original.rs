//! The original design of the shop: cards in a list, orders in a table, a numbered pager.

use super::catalogue::{Product, ShopOrder, money};
use super::html::escape;
use super::shop_view::ListPage;

pub fn products(shown: &[Product], stretch: &ListPage) -> String {
    let cards: String = shown.iter().map(card).collect();
    format!("<ul class=\"products\">\n{cards}</ul>\n{}", pager(stretch))
}

fn card(product: &Product) -> String {
    let badge = product.badge.map(|badge| format!("<span class=\"badge\">{badge}</span>\n")).unwrap_or_default();
    format!(
        "<li class=\"product\">\n\
         <a href=\"/product/{id}\"><img src=\"/image/{id}.svg\" alt=\"\" width=\"240\" height=\"150\"></a>\n\
         {badge}<h3><a href=\"/product/{id}\">{name}</a></h3>\n<p class=\"price\">{price}</p>\n\
         <p class=\"rating\">{stars} out of 5 <span>({reviews} reviews)</span></p>\n\
         <p class=\"stock\">{stock}</p>\n</li>\n",
        id = product.id,
        name = escape(&product.name),
        price = money(product.price_cents),
        stars = rating(product),
        reviews = product.reviews,
        stock = stock(product),
    )
}

pub fn product(product: &Product) -> String {
    let rows: String = product
        .specifications
        .iter()
        .map(|(key, value)| format!("<dt>{}</dt><dd>{}</dd>\n", escape(key), escape(value)))
        .collect();
    format!(
        "<article class=\"detail\">\n<img src=\"/image/{}.svg\" alt=\"\" width=\"480\" height=\"300\">\n\
         <p class=\"price\">{}</p>\n<p class=\"stock\">{}</p>\n<h2>Specification</h2>\n<dl>\n{rows}</dl>\n</article>",
        product.id,
        money(product.price_cents),
        stock(product)
    )
}

pub fn orders(shown: &[ShopOrder], stretch: &ListPage) -> String {
    let rows: String = shown
        .iter()
        .map(|order| {
            format!(
                "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                order.number,
                order.date,
                escape(&order.customer),
                money(order.total_cents),
                order.status
            )
        })
        .collect();
    format!(
        "<div class=\"wide\"><table class=\"orders\">\n<thead><tr><th>Number</th><th>Date</th><th>Customer</th>\
         <th>Total</th><th>Status</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n{}",
        pager(stretch)
    )
}

fn pager(stretch: &ListPage) -> String {
    if stretch.pages < 2 {
        return String::new();
    }
    let mut links = String::new();
    if stretch.page > 1 {
        links.push_str(&format!(
            "<a rel=\"prev\" href=\"{}\">« Previous</a>\n",
            escape(&stretch.href(stretch.page - 1))
        ));
    }
    for number in 1..=stretch.pages {
        if number == stretch.page {
            links.push_str(&format!("<strong aria-current=\"page\">{number}</strong>\n"));
        } else {
            links.push_str(&format!("<a href=\"{}\">{number}</a>\n", escape(&stretch.href(number))));
        }
    }
    if stretch.page < stretch.pages {
        links.push_str(&format!("<a rel=\"next\" href=\"{}\">Next »</a>\n", escape(&stretch.href(stretch.page + 1))));
    }
    format!("<nav class=\"pager\" aria-label=\"Pages\">\n{links}</nav>")
}

pub fn rating(product: &Product) -> String {
    format!("{}.{}", product.rating_tenths / 10, product.rating_tenths % 10)
}

pub fn stock(product: &Product) -> String {
    if product.stock == 0 { "Sold out".to_owned() } else { format!("{} in stock", product.stock) }
}
