//! Headings above a row.

use std::rc::Rc;

use crate::learn::view::{PageView, class_step, text};
use crate::page::tokens::{Span, TokenKind};

/// Maximum distance of a heading before the first row, in tokens.
const MAX_ABOVE: u32 = 30;

/// Headings above a row, outside all rows: a category above its items belongs to each of them (PIEME).
#[derive(Debug, Default, Clone)]
pub struct RowHeadings {
    /// The last text above.
    pub last: Option<String>,
    /// Its element: tag and classes.
    pub element: String,
    /// It was the only text between two rows, as a category is; headers and advertisements have several texts.
    pub is_alone: bool,
    /// The last text of each kind of element (tag and classes): categories and sub-categories. The second of a kind in
    /// one gap is `td#2`, because a category may be beside column titles.
    pub levels: Vec<(String, String)>,
}

/// Maximum kinds of headings, and texts examined between two rows.
const MAX_LEVELS: usize = 6;
const MAX_TEXTS: usize = 12;

/// The headings above each row.
pub fn headings(view: &PageView<'_>, rows: &[Span]) -> Vec<Rc<RowHeadings>> {
    let mut above = Rc::new(RowHeadings::default());
    let mut from = rows.first().map_or(0, |first| first.start.saturating_sub(MAX_ABOVE));
    let mut headings = Vec::with_capacity(rows.len());
    for row in rows {
        let between = from..row.start.max(from);
        let is_text = |&i: &u32| view.tokens.list[i as usize].kind == TokenKind::Text;
        let mut texts: Vec<u32> = between.rev().filter(is_text).take(MAX_TEXTS).collect();
        texts.reverse();
        if !texts.is_empty() {
            // The texts above the first row include the rest of the page.
            let alone = texts.len() == 1 || headings.is_empty();
            let mut next = RowHeadings { is_alone: alone, ..RowHeadings::clone(&above) };
            let mut before: Vec<String> = Vec::new();
            for i in texts {
                let text = text(&view.tokens, Span { start: i, stop: i + 1 });
                let element = element_kind(view, i);
                let nth = before.iter().filter(|it| **it == element).count() + 1;
                next.set(if nth == 1 { element.clone() } else { format!("{element}#{nth}") }, &text);
                next.last = Some(text);
                next.element.clone_from(&element);
                before.push(element);
            }
            above = Rc::new(next);
        }
        from = row.stop;
        headings.push(Rc::clone(&above));
    }
    headings
}

impl RowHeadings {
    pub fn level(&self, element: &str) -> Option<&str> {
        self.levels.iter().find(|(it, _)| it == element).map(|(_, text)| text.as_str())
    }

    fn set(&mut self, element: String, text: &str) {
        match self.levels.iter().position(|(it, _)| *it == element) {
            Some(i) => text.clone_into(&mut self.levels[i].1),
            None if self.levels.len() < MAX_LEVELS => self.levels.push((element, text.to_owned())),
            None => {}
        }
    }
}

/// Tag and classes of a text's element.
fn element_kind(view: &PageView<'_>, text: u32) -> String {
    let tree = view.tree();
    let parent = tree.parent(view.tokens.list[text as usize].node);
    parent.map(|node| class_step(tree, node)).unwrap_or_default()
}
