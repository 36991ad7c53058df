//! The next link of a page. Pure.

use url::Url;

use super::link::{self, Wanted};
use crate::page::Tree;

/// Where the page after this one is.
pub fn next_link(tree: &Tree, url: &Url) -> Option<Url> {
    let by = |text, rel| link::find(tree, url, Wanted { css: None, text, rel });
    by(None, Some("next")).or_else(|| by(Some("next page"), None))
}
