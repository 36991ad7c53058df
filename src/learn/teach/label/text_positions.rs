//! Texts of the page that a person labels, and their positions: whole texts first, then parts of texts, then
//! attributes.

use serde::{Deserialize, Serialize};

use crate::learn::view::{ATTRIBUTES, PageView};
use crate::page::text::is_blank;
use crate::page::tokens::{Span, TokenKind};

/// A text of the page and its meaning according to a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueLabel {
    pub meaning: Meaning,
    pub text: String,
}

/// The meaning of a labelled text (thesis, 5.3.2); all other texts of the page are unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Meaning {
    /// A value of this column.
    Variable(String),
    /// A text that is the same in every record and helps to recognise records, such as “by”.
    Constant,
    /// A text of each record that is not wanted.
    Wildcard,
}

impl ValueLabel {
    pub fn value(name: &str, text: &str) -> ValueLabel {
        ValueLabel { meaning: Meaning::Variable(name.to_owned()), text: text.to_owned() }
    }

    pub fn name(&self) -> Option<&str> {
        match &self.meaning {
            Meaning::Variable(name) => Some(name),
            Meaning::Constant | Meaning::Wildcard => None,
        }
    }
}

/// The labels of one record, each with its positions on the page, at least one.
pub struct LabelledRecord {
    pub labels: Vec<(ValueLabel, Vec<Span>)>,
}

/// Maximum number of positions of one text; a more frequent text says little about where the list is.
pub(super) const MAX_POSITIONS: usize = 500;

/// The text of the page without white space, with the token of each part. White space is ignored because a text that a
/// person types or copies differs in it from the page.
pub struct PageText<'v, 't> {
    pub view: &'v PageView<'t>,
    text: String,
    /// The start of each text token in `text`.
    starts: Vec<(usize, u32)>,
    /// For each byte of `text`: whether white space or a tag came before it.
    gap_before: Vec<bool>,
}

/// Quality of a match, best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TextMatch {
    WholeTexts,
    WholeWords,
    Letters,
}

impl<'v, 't> PageText<'v, 't> {
    pub fn new(view: &'v PageView<'t>) -> PageText<'v, 't> {
        let mut page = PageText { view, text: String::new(), starts: Vec::new(), gap_before: Vec::new() };
        for (i, token) in view.tokens.list.iter().enumerate() {
            if token.kind == TokenKind::Text {
                page.starts.push((page.text.len(), i as u32));
                page.push(view.tokens.raw(token));
            }
        }
        page
    }

    fn push(&mut self, raw: &str) {
        let mut gap = true;
        for c in raw.chars() {
            if is_blank(c) {
                gap = true;
                continue;
            }
            self.text.push(c);
            self.gap_before.push(gap);
            self.gap_before.resize(self.text.len(), false);
            gap = false;
        }
    }

    /// The spans of tokens that contain the text, in page order; only those of the best quality found.
    pub fn positions(&self, wanted: &str) -> Vec<Span> {
        let needle: String = wanted.chars().filter(|&c| !is_blank(c)).collect();
        if needle.is_empty() {
            return Vec::new();
        }
        let mut best = TextMatch::Letters;
        let mut places = Vec::new();
        for (from, _) in self.text.match_indices(&needle).take(MAX_POSITIONS) {
            let to = from + needle.len();
            let fit = self.text_match(from, to);
            if fit < best {
                best = fit;
                places.clear();
            }
            if fit == best {
                places.push(self.span(from, to));
            }
        }
        if places.is_empty() { self.attributes(wanted.trim()) } else { places }
    }

    fn span(&self, from: usize, to: usize) -> Span {
        let token = |byte: usize| self.starts[self.starts.partition_point(|&(start, _)| start <= byte) - 1].1;
        Span { start: token(from), stop: token(to - 1) + 1 }
    }

    fn text_match(&self, from: usize, to: usize) -> TextMatch {
        let is_start = |byte: usize| self.starts.binary_search_by_key(&byte, |&(start, _)| start).is_ok();
        if is_start(from) && (to == self.text.len() || is_start(to)) {
            return TextMatch::WholeTexts;
        }
        let parts = |byte: usize| {
            let before = self.text[..byte].chars().next_back().is_some_and(char::is_alphanumeric);
            let after = self.text[byte..].chars().next().is_some_and(char::is_alphanumeric);
            self.gap_before.get(byte).copied().unwrap_or(true) || !before || !after
        };
        if parts(from) && parts(to) { TextMatch::WholeWords } else { TextMatch::Letters }
    }

    fn attributes(&self, wanted: &str) -> Vec<Span> {
        let tree = self.view.tree();
        let holds = |&node: &crate::page::NodeId| {
            let mut values = ATTRIBUTES.iter().filter_map(|(_, name)| tree.attribute(node, name));
            values.any(|value| value.trim() == wanted)
        };
        let spans = tree.subtree(tree.root()).filter(holds).map(|node| self.view.span(node));
        let opens = spans.filter(|span| span.start < span.stop).map(|it| Span { start: it.start, stop: it.start + 1 });
        opens.take(MAX_POSITIONS).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::view::text;
    use crate::page::Tree;

    fn check(html: &str, wanted: &str, expected: &[&str]) {
        let tree = Tree::parse(html);
        let view = PageView::new(&tree);
        let places = PageText::new(&view).positions(wanted);
        let found: Vec<String> = places
            .iter()
            .map(|&span| match view.tokens.list[span.start as usize].kind {
                TokenKind::Open => format!("<{}>", tree.tag(view.first_node(span))),
                _ => text(&view.tokens, span),
            })
            .collect();
        assert_eq!(found, expected, "{wanted}");
    }

    #[test]
    fn whole_texts_come_before_words_and_words_before_letters_and_attributes_are_looked_at_last() {
        let page = "<p>95</p><p>costs 95 today</p><p>1995</p>";
        check(page, "95", &["95"]);
        check(page, "today", &["costs 95 today"]);
        check(page, "99", &["1995"]);
        check(page, "96", &[]);
        check("<a href='/1'>x</a><img alt=x src=/1.png>", "/1.png", &["<img>"]);
        check("<a href='/1'>x</a><img alt=x>", "x", &["x"]);
    }

    #[test]
    fn a_text_may_run_over_several_elements_and_line_ends() {
        check("<p>Oak\n  <b>chair</b></p><i>€ 95</i><p>Oak</p>", "Oak chair € 95", &["Oak chair € 95"]);
    }
}
