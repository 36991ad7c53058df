//! The HTML document around every page, and the escaping of texts.

use super::catalogue::{CATEGORIES, Product, money};

const STYLE: &str = include_str!("style.css");

/// Text made safe for HTML, in elements and in quoted attributes.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
    out
}

/// Header, menu, side bar and footer around `content`, which is HTML.
pub fn page(title: &str, logged_in: bool, popular: &[Product], content: &str) -> String {
    let title = escape(title);
    let account = if logged_in {
        "<a href=\"/orders\">Orders</a> <a href=\"/logout\">Log out</a>"
    } else {
        "<a href=\"/login\">Log in</a>"
    };
    let categories: String = CATEGORIES
        .iter()
        .map(|(name, _)| format!("<li><a href=\"/products?category={name}\">{name}</a></li>\n"))
        .collect();
    let popular: String = popular.iter().map(popular_item).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title} · Practice shop</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <header class=\"top\">\n<a class=\"logo\" href=\"/\">Practice shop</a>\n\
         <nav class=\"menu\"><a href=\"/products\">Products</a> {account} <a href=\"/switch\">Switches</a></nav>\n\
         <form class=\"find\" role=\"search\" action=\"/search\" method=\"get\">\
         <input type=\"search\" name=\"q\" placeholder=\"Search products\" aria-label=\"Search products\">\
         <button type=\"submit\">Search</button></form>\n</header>\n\
         <div class=\"columns\">\n<aside class=\"side\">\n\
         <h2>Categories</h2>\n<ul class=\"categories\">\n{categories}</ul>\n\
         <h2>Popular now</h2>\n<ol class=\"popular\">\n{popular}</ol>\n</aside>\n\
         <main>\n{content}\n</main>\n</div>\n\
         <footer class=\"bottom\"><p>Everything here is made up. Nothing can be bought.</p>\
         <p><a href=\"/\">About this site</a> <a href=\"/switch\">Switches</a></p></footer>\n</body>\n</html>\n"
    )
}

fn popular_item(product: &Product) -> String {
    format!(
        "<li><a href=\"/product/{}\">{}</a> <span>{}</span></li>\n",
        product.id,
        escape(&product.name),
        money(product.price_cents)
    )
}
