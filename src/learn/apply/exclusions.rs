//! Rows that look like rows of the list and are none: a total, a repeated header, another list of the same kind.

use crate::learn::template::Exclusions;
use crate::learn::view::PageView;
use crate::page::tokens::{Span, TokenKind};
use crate::page::{NodeId, Tree};

/// Maximum length of a first text.
const MAX_CHARS: usize = 80;
/// Classes of a row that say where it stands and not what it is.
const POSITIONS: &[&str] = &["first", "last", "odd", "even", "alt", "active", "selected", "hover"];

/// Whether a row is one of those that are left out.
pub fn is_excluded(view: &PageView<'_>, row: Span, exclusions: &Exclusions) -> bool {
    let Exclusions { texts, elements, .. } = exclusions;
    !texts.is_empty() && first_text(view, row).is_some_and(|text| texts.contains(&text))
        || !elements.is_empty() && features(view.tree(), view.first_node(row)).any(|it| elements.contains(&it))
}

/// The first visible text of a row.
pub fn first_text(view: &PageView<'_>, row: Span) -> Option<String> {
    let tokens = view.tokens.slice(row).iter().zip(row.start..);
    let mut texts =
        tokens.filter(|(token, _)| token.kind == TokenKind::Text).map(|(_, at)| view.tokens.words(at).trim());
    texts.find(|text| !text.is_empty()).map(|text| text.chars().take(MAX_CHARS).collect())
}

/// Features of an element and of those around it.
pub fn features(tree: &Tree, node: NodeId) -> impl Iterator<Item = String> {
    std::iter::once(node).chain(tree.ancestors(node)).flat_map(|it| features_of(tree, it))
}

/// `tag#id` and `tag.class`, as far as they look the same tomorrow.
pub fn features_of(tree: &Tree, node: NodeId) -> Vec<String> {
    let tag = tree.tag(node);
    // Names with digits are often generated.
    let is_stable = |name: &&str| !name.bytes().any(|b| b.is_ascii_digit());
    let classes = tree.classes(node).filter(|class| is_stable(class) && !is_position(class));
    let classes = classes.map(|class| format!("{tag}.{class}"));
    let id = tree.attribute(node, "id").filter(is_stable).map(|id| format!("{tag}#{id}"));
    id.into_iter().chain(classes).collect()
}

fn is_position(class: &str) -> bool {
    class.split(['-', '_']).any(|word| POSITIONS.contains(&word.to_ascii_lowercase().as_str()))
}
