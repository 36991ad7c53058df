//! The content of the shop's pages, in the current design.

use super::catalogue::{self, ORDERS_PER_PAGE, PRODUCTS_PER_PAGE, Product};
use super::html::escape;
use super::shop_view::{ListPage, ShopView, framed};
use super::{PASSWORD, USER, bad, original, redesign, ways};

pub fn home(view: &ShopView) -> String {
    let told = |routes: &[(&str, &str)]| -> String {
        let told = routes.iter().map(|(path, says)| format!("<dt><a href=\"{path}\">{path}</a></dt><dd>{says}</dd>\n"));
        told.collect()
    };
    let (others, traps) = (told(&ways::ROUTES), told(&bad::ROUTES));
    let content = format!(
        "<h1>pieme's practice site</h1>\n\
         <p>A made-up shop for trying pieme. It runs on this machine only.</p>\n<dl>\n\
         <dt><a href=\"/products\">/products</a></dt><dd>48 products, 12 a page, some with badges</dd>\n\
         <dt><a href=\"/search?q=lamp\">/search?q=lamp</a></dt><dd>the same list, searched</dd>\n\
         <dt><a href=\"/search?q=unicorn\">/search?q=unicorn</a></dt><dd>a search without results</dd>\n\
         <dt><a href=\"/login\">/login</a></dt><dd>user <code>{USER}</code>, password <code>{PASSWORD}</code></dd>\n\
         <dt><a href=\"/orders\">/orders</a></dt><dd>30 orders behind the login</dd>\n\
         <dt><a href=\"/js/products\">/js/products</a></dt>\
         <dd>the same list, made by a script; a button loads more</dd>\n\
         <dt><a href=\"/js/endless\">/js/endless</a></dt><dd>the same list with infinite scroll</dd>\n\
         <dt><a href=\"/switch\">/switch</a></dt><dd>redesigns the site, changes prices</dd>\n</dl>\n\
         <h2>Other kinds of pagination and login</h2>\n<dl>\n{others}</dl>\n\
         <h2>Faulty pages</h2>\n<dl>\n{traps}</dl>"
    );
    framed(view, "About", &content)
}

pub fn products(view: &ShopView, category: Option<String>, number: usize) -> String {
    let heading = category.clone().unwrap_or_else(|| "Products".to_owned());
    let keep = |product: &Product| category.as_deref().is_none_or(|it| it.eq_ignore_ascii_case(product.category));
    let along = category.clone().map(|it| ("category", it)).into_iter().collect();
    product_list(view, &heading, keep, "/products", along, number)
}

pub fn search(view: &ShopView, words: &str, number: usize) -> String {
    let wanted = words.trim().to_lowercase();
    let keep = |product: &Product| {
        !wanted.is_empty() && format!("{} {}", product.name, product.category).to_lowercase().contains(&wanted)
    };
    let heading = format!("Search: {}", words.trim());
    product_list(view, &heading, keep, "/search", vec![("q", words.to_owned())], number)
}

fn product_list(
    view: &ShopView,
    heading: &str,
    keep: impl Fn(&Product) -> bool,
    path: &'static str,
    along: Vec<(&'static str, String)>,
    number: usize,
) -> String {
    let found: Vec<Product> = view.products.iter().filter(|product| keep(product)).cloned().collect();
    let mut stretch = ListPage::new(found.len(), PRODUCTS_PER_PAGE, number, path);
    stretch.query = along;
    let count = found.len();
    let shown = stretch.items_of_page(found, PRODUCTS_PER_PAGE);
    let list = if shown.is_empty() {
        "<p class=\"nothing\">Nothing found. Try another word, or browse the <a href=\"/products\">whole list</a>.</p>"
            .to_owned()
    } else if view.redesign {
        redesign::products(&shown, &stretch)
    } else {
        original::products(&shown, &stretch)
    };
    framed(view, heading, &format!("<h1>{}</h1>\n<p class=\"soft\">{count} products</p>\n{list}", escape(heading)))
}

pub fn product(view: &ShopView, id: u32) -> Option<String> {
    let product = view.products.iter().find(|product| product.id == id)?;
    let body = if view.redesign { redesign::product(product) } else { original::product(product) };
    Some(framed(view, &product.name, &format!("<h1>{}</h1>\n{body}", escape(&product.name))))
}

pub fn orders(view: &ShopView, number: usize) -> String {
    let all = catalogue::orders();
    let stretch = ListPage::new(all.len(), ORDERS_PER_PAGE, number, "/orders");
    let shown = stretch.items_of_page(all, ORDERS_PER_PAGE);
    let list = if view.redesign { redesign::orders(&shown, &stretch) } else { original::orders(&shown, &stretch) };
    framed(view, "Orders", &format!("<h1>Orders</h1>\n<p>Welcome back, {USER}.</p>\n{list}"))
}

pub fn login(view: &ShopView, csrf: &str, error: Option<&str>) -> String {
    let error =
        error.map(|error| format!("<p class=\"error\" role=\"alert\">{}</p>\n", escape(error))).unwrap_or_default();
    let content = format!(
        "<h1>Log in</h1>\n{error}<form class=\"stack\" name=\"login\" method=\"post\" action=\"/login\">\n\
         <input type=\"hidden\" name=\"csrf_token\" value=\"{}\">\n\
         <label>User <input type=\"text\" name=\"user\" autocomplete=\"username\"></label>\n\
         <label>Password <input type=\"password\" name=\"password\" autocomplete=\"current-password\"></label>\n\
         <label><span><input type=\"checkbox\" name=\"remember\" value=\"yes\" checked> Remember me</span></label>\n\
         <button type=\"submit\" name=\"action\" value=\"log-in\">Log in</button>\n</form>",
        escape(csrf)
    );
    framed(view, "Log in", &content)
}

pub fn switches(view: &ShopView, price_calls: u32) -> String {
    let (state, verb) = if view.redesign { ("new", "Go back to the old design") } else { ("old", "Redesign the site") };
    let content = format!(
        "<h1>Switches</h1>\n<p>The site shows its {state} design. Prices were changed {price_calls} times.</p>\n\
         <form method=\"post\" action=\"/switch/redesign\"><button type=\"submit\">{verb}</button></form>\n\
         <form method=\"post\" action=\"/switch/prices\">\
         <p><button type=\"submit\">Change a tenth of the prices</button></p></form>"
    );
    framed(view, "Switches", &content)
}

pub fn not_found(view: &ShopView) -> String {
    framed(view, "Not found", "<h1>Not found</h1>\n<p>There is no such page here.</p>")
}

/// A product's image as SVG: its initials on a colour of its own.
pub fn image(view: &ShopView, id: u32) -> Option<String> {
    let product = view.products.iter().find(|product| product.id == id)?;
    let letters: String = product.name.split(' ').filter_map(|word| word.chars().next()).take(2).collect();
    let hue = id * 47 % 360;
    Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 240 150\">\
         <rect width=\"240\" height=\"150\" fill=\"hsl({hue},45%,55%)\"/>\
         <text x=\"120\" y=\"95\" font-family=\"sans-serif\" font-size=\"56\" text-anchor=\"middle\" \
         fill=\"#fff\">{}</text></svg>",
        escape(&letters)
    ))
}
