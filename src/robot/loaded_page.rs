//! A page of a walk, decoded and parsed. Pure.

use encoding_rs::Encoding;

use crate::model::Page;
use crate::page::{Tree, charset};

/// A page with its decoded text and parsed tree.
pub struct LoadedPage {
    pub page: Page,
    /// The body, decoded.
    pub text: String,
    pub tree: Tree,
    pub encoding: &'static Encoding,
    /// Some bytes are invalid in this encoding; they became U+FFFD.
    pub has_invalid_bytes: bool,
}

impl LoadedPage {
    /// `charset` is the task's setting: a name, or `auto` for the charset that the page declares.
    pub fn parse(page: Page, charset: &str) -> LoadedPage {
        let told = match charset {
            "auto" => page.meta.header("content-type").and_then(charset::from_content_type),
            told => Some(told),
        };
        let decoded = charset::decode(&page.body, told);
        let tree = Tree::parse(&decoded.text);
        let (text, encoding, has_invalid_bytes) = (decoded.text, decoded.encoding, decoded.had_errors);
        LoadedPage { page, text, tree, encoding, has_invalid_bytes }
    }

    /// A piece of HTML inside this page as a page of its own; its text stays that of the whole page.
    pub fn fragment(&self, html: &str) -> LoadedPage {
        LoadedPage {
            page: Page { meta: self.page.meta.clone(), body: html.as_bytes().to_vec() },
            text: self.text.clone(),
            tree: Tree::parse(html),
            encoding: encoding_rs::UTF_8,
            has_invalid_bytes: false,
        }
    }
}
