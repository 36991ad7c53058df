//! Features of menus, footers, filters and the like.

use super::row_slots::MAX_ROW_TOKENS;
use crate::learn::view::PageView;
use crate::page::NodeId;
use crate::page::tokens::{Span, TokenKind};

/// Text weight of a menu entry (“Terms and conditions of use”), and of a headline, twice as long.
const MENU_TEXT_WEIGHT: f64 = 30.0;
const HEADLINE_TEXT_WEIGHT: f64 = 60.0;

pub fn bare_links(view: &PageView<'_>, sample: &[Span]) -> f64 {
    let (mut linked, mut all, mut texts) = (0, 0, 0);
    for &row in sample {
        let mut links = 0_usize;
        for i in row.start..row.stop.min(row.start + MAX_ROW_TOKENS) {
            let token = &view.tokens.list[i as usize];
            let is_link = view.tree().tag(token.node) == "a";
            match token.kind {
                TokenKind::Open if is_link => links += 1,
                TokenKind::Close if is_link => links = links.saturating_sub(1),
                TokenKind::Text => {
                    let weight = view.tokens.weight(Span { start: i, stop: i + 1 });
                    texts += 1;
                    all += weight;
                    linked += if links > 0 { weight } else { 0 };
                }
                TokenKind::Open | TokenKind::Close | TokenKind::Line => {}
            }
        }
    }
    if f64::from(linked) < 0.9 * f64::from(all) || f64::from(texts) >= 2.2 * sample.len() as f64 {
        return 0.0;
    }
    let weight = f64::from(all) / sample.len().max(1) as f64;
    ((HEADLINE_TEXT_WEIGHT - weight) / (HEADLINE_TEXT_WEIGHT - MENU_TEXT_WEIGHT)).clamp(0.0, 1.0)
}

/// Words in ids and classes that mark navigation; they matter for the top five only (docs/design/learning.md 2.3).
const NAVIGATION_WORDS: &str = "nav menu breadcrumb footer sidebar side-bar pagin pager toolbar header tagcloud \
    tag-cloud social widget related facet filter dropdown slider ticker popular share banner carousel cookie tabs";

/// Fewer words for any depth: “header” and “widget” name whole pages too.
const ASIDE_WORDS: &str = "nav menu footer sidebar facet filter refine dropdown breadcrumb";

pub fn is_named_navigation(view: &PageView<'_>, node: NodeId) -> bool {
    is_named(view, node, NAVIGATION_WORDS)
}

pub fn is_aside(view: &PageView<'_>, node: NodeId) -> bool {
    let tree = view.tree();
    let hidden = tree.attribute(node, "style").is_some_and(|style| style.replace(' ', "").contains("display:none"));
    hidden || matches!(tree.tag(node), "nav" | "footer" | "aside") || is_named(view, node, ASIDE_WORDS)
}

fn is_named(view: &PageView<'_>, node: NodeId, words: &str) -> bool {
    let tree = view.tree();
    let names = tree.classes(node).chain(tree.attribute(node, "id"));
    let mut names = names.map(str::to_ascii_lowercase);
    names.any(|name| words.split(' ').any(|word| name.contains(word)))
}
