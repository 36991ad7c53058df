//! Parses a page.

use super::{Tree, build, json};

impl Tree {
    /// Parses HTML, or JSON where the whole text is JSON. Plain text becomes a listing: without a single tag its lines
    /// are the only structure.
    pub fn parse(html: &str) -> Tree {
        if let Some(tree) = json::parse(html) {
            return tree;
        }
        if html.contains('<') || html.trim().is_empty() {
            build::parse(html)
        } else {
            build::parse(&format!("<pre>\n{html}</pre>"))
        }
    }
}
