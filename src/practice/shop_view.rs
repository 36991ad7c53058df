//! The shop as one visitor sees it, and one page of its lists.

use url::form_urlencoded;

use super::catalogue::Product;
use super::html::page;

/// The shop as this visitor sees it: design, login state, prices.
pub struct ShopView {
    pub redesign: bool,
    pub logged_in: bool,
    pub products: Vec<Product>,
}

/// One page of a list, and the address of its other pages.
pub struct ListPage {
    pub page: usize,
    pub pages: usize,
    path: &'static str,
    /// Further query parameters: the category, or the words searched for.
    pub query: Vec<(&'static str, String)>,
}

impl ListPage {
    pub fn new(count: usize, per_page: usize, page: usize, path: &'static str) -> ListPage {
        ListPage { page: page.max(1), pages: count.div_ceil(per_page), path, query: Vec::new() }
    }

    pub fn href(&self, page: usize) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (key, value) in &self.query {
            query.append_pair(key, value);
        }
        if page > 1 {
            query.append_pair("page", &page.to_string());
        }
        let query = query.finish();
        if query.is_empty() { self.path.to_owned() } else { format!("{}?{query}", self.path) }
    }

    /// The items of this page.
    pub fn items_of_page<T>(&self, items: Vec<T>, per_page: usize) -> Vec<T> {
        items.into_iter().skip((self.page - 1).saturating_mul(per_page)).take(per_page).collect()
    }
}

/// Header, menu and footer of the shop around `content`, which is HTML.
pub fn framed(view: &ShopView, title: &str, content: &str) -> String {
    let popular = &view.products[..view.products.len().min(4)];
    page(title, view.logged_in, popular, content)
}
