//! Guesses column names from the page (as DeLa does): names in the markup, the table header, the label beside a value,
//! structured data and forms with the same values, and finally the form of the values.
//!
//! A guess is only a first proposal: names given by a person, and names carried over, take precedence.

mod class_hint;
mod shapes;
mod titles;

use std::collections::{HashMap, HashSet};

use class_hint::ClassHint;
pub use class_hint::is_telling as is_telling_class;
use titles::Titles;

use crate::learn::align::AlignedRow;
use crate::learn::template::{ColumnSource, Recipe, Variant};
use crate::learn::view::{Leaf, LeafKind, PageView, clean, clean_key, sample};
use crate::page::{NodeId, Tree};

/// Minimum share of the sampled rows that must agree on a name.
const MIN_AGREEMENT: f64 = 0.6;
/// Maximum number of rows that are sampled; the markup of further rows says the same.
const MAX_SAMPLED_ROWS: usize = 12;
/// Maximum number of enclosing elements that may name a value.
const MAX_ABOVE: usize = 4;

/// A unique name for every column of the variant. Columns without any hint are numbered.
pub fn guess(view: &PageView<'_>, variant: &Variant, rows: &[AlignedRow], hidden: &[bool]) -> Vec<String> {
    let namer = Namer::new(view, variant, rows);
    let mut names = UniqueNames::default();
    let mut guessed: Vec<Option<String>> = vec![None; variant.sources.len()];
    // Shown columns choose first.
    for wanted in [false, true] {
        for (i, source) in variant.sources.iter().enumerate().filter(|&(i, _)| hidden[i] == wanted) {
            let name = source.as_ref().and_then(|source| namer.name(source));
            guessed[i] = Some(names.claim(name.unwrap_or_else(|| format!("c{}", i + 1))));
        }
    }
    guessed.into_iter().map(|name| name.expect("every column is shown or hidden")).collect()
}

/// Names that are taken, in lower case: databases do not distinguish `Price` from `price`.
#[derive(Default)]
pub struct UniqueNames {
    taken: HashSet<String>,
    counts: HashMap<String, u32>,
}

impl UniqueNames {
    pub fn claim(&mut self, name: String) -> String {
        let count = self.counts.entry(name.clone()).or_insert(0);
        loop {
            *count += 1;
            let unique = if *count == 1 { name.clone() } else { format!("{name}_{count}") };
            if self.taken.insert(unique.to_lowercase()) {
                return unique;
            }
        }
    }
}

struct Namer<'a, 't> {
    tree: &'t Tree,
    variant: &'a Variant,
    rows: Vec<&'a AlignedRow>,
    /// The root element of each row, if the row is one element.
    roots: Vec<Option<NodeId>>,
    titles: Option<Titles>,
    view: &'a PageView<'t>,
    /// True for documents other than HTML, whose elements are named after their contents.
    has_semantic_tags: bool,
}

impl<'a, 't> Namer<'a, 't> {
    fn new(view: &'a PageView<'t>, variant: &'a Variant, rows: &'a [AlignedRow]) -> Namer<'a, 't> {
        let tree = view.tokens.tree;
        let mut rows: Vec<&AlignedRow> = sample(&rows.iter().collect::<Vec<_>>());
        rows.truncate(MAX_SAMPLED_ROWS);
        let roots: Vec<Option<NodeId>> = rows.iter().map(|row| view.root(row.span)).collect();
        let titles = Titles::above(tree, roots.first().copied().flatten());
        let names_itself = tree.children(tree.root()).all(|node| tree.tag(node) != "html");
        Namer { tree, variant, rows, roots, titles, view, has_semantic_tags: names_itself }
    }

    fn name(&self, source: &ColumnSource) -> Option<String> {
        match source {
            ColumnSource::Slot(slot) => match self.variant.slots[*slot].kind {
                LeafKind::Text => self.text(*slot),
                kind => Some(self.attribute(*slot, kind)),
            },
            ColumnSource::Derived(recipe) => match recipe {
                Recipe::Label { label } => clean(label),
                Recipe::Heading | Recipe::HeadingIn { .. } => Some("heading".to_owned()),
                Recipe::Class { .. } => Some("class".to_owned()),
                Recipe::Element { path, .. } | Recipe::Elements { path } => {
                    let (ClassHint::Semantic(word) | ClassHint::Other(word)) =
                        class_hint::of_classes(path.rsplit('/').next()?.split('.').skip(1))?;
                    Some(word)
                }
                _ => None,
            },
        }
    }

    fn text(&self, slot: usize) -> Option<String> {
        self.markup_name(slot)
            .or_else(|| self.column_title(slot))
            .or_else(|| self.label_name(slot))
            .or_else(|| self.view.structured_data().name(&self.values(slot)))
            .or_else(|| self.class_name(slot, true))
            .or_else(|| shapes::name(&self.values(slot)).map(str::to_owned))
            .or_else(|| self.is_title(slot).then(|| "title".to_owned()))
            .or_else(|| self.class_name(slot, false))
            .or_else(|| shapes::are_numbers(&self.values(slot)).then(|| "number".to_owned()))
    }

    fn attribute(&self, slot: usize, kind: LeafKind) -> String {
        let plain = match kind {
            LeafKind::Href => "link",
            LeafKind::Src | LeafKind::DataSrc => "image",
            LeafKind::Alt => "image_text",
            LeafKind::Title => "hint",
            LeafKind::Datetime => "time",
            LeafKind::Content | LeafKind::Value | LeafKind::Text => "value",
        };
        let said = self.majority_name(slot, |leaf, _| self.tree.attribute(leaf.holder, "itemprop").and_then(clean_key));
        match (said, kind) {
            // For machine-readable values the name in the markup is used without a suffix.
            (Some(said), LeafKind::Datetime | LeafKind::Content | LeafKind::Value) => said,
            (Some(said), _) if said == "url" || said == plain => plain.to_owned(),
            (Some(said), _) => format!("{said}_{plain}"),
            (None, _) => plain.to_owned(),
        }
    }

    /// An explicit name in the markup: `itemprop`, the `data-label` of a responsive table, or, in a document whose
    /// elements are named after their contents, the element itself.
    fn markup_name(&self, slot: usize) -> Option<String> {
        self.majority_name(slot, |leaf, root| {
            self.enclosing_elements(leaf, root).find_map(|node| {
                let own =
                    self.has_semantic_tags.then(|| self.tree.attribute(node, "key").unwrap_or(self.tree.tag(node)));
                let said = NAMING_ATTRIBUTES.iter().find_map(|name| self.tree.attribute(node, name));
                said.or(own.filter(|&tag| tag != "item")).and_then(clean_key)
            })
        })
    }

    /// The header of the value's table column.
    fn column_title(&self, slot: usize) -> Option<String> {
        let titles = self.titles.as_ref()?;
        self.majority_name(slot, |leaf, root| titles.over(self.tree, root?, leaf.holder).and_then(clean))
    }

    /// The constant text directly before the value, if it is a label.
    fn label_name(&self, slot: usize) -> Option<String> {
        let (label, own) = (self.variant.slots.get(slot.checked_sub(1)?)?, &self.variant.slots[slot]);
        if label.kind != LeafKind::Text || own.constant().is_some() {
            return None;
        }
        let text = label.constant()?;
        let tag = label.paths.first()?.0.rsplit('/').next()?;
        let is_label = text.ends_with(':') || matches!(tag, "dt" | "th" | "label" | "b" | "strong");
        is_label.then(|| clean(text)).flatten()
    }

    fn class_name(&self, slot: usize, telling: bool) -> Option<String> {
        self.majority_name(slot, |leaf, root| {
            self.enclosing_elements(leaf, root).find_map(|node| {
                match class_hint::of_classes(self.tree.classes(node))? {
                    ClassHint::Semantic(word) => Some(word),
                    ClassHint::Other(word) => (!telling).then_some(word),
                }
            })
        })
    }

    /// Whether the slot is in a heading, or is the text of the row's first link.
    fn is_title(&self, slot: usize) -> bool {
        let slots = &self.variant.slots;
        let is_in = |slot: usize, tags: &[&str]| {
            let path = slots[slot].paths.first().map_or("", |(path, _)| path);
            slots[slot].kind == LeafKind::Text && path.split('/').any(|tag| tags.contains(&tag))
        };
        is_in(slot, &["h1", "h2", "h3", "h4", "h5", "h6"])
            || is_in(slot, &["a"]) && !(0..slot).any(|before| is_in(before, &["a"]))
    }

    /// The value's element and its ancestors inside the row, nearest first.
    fn enclosing_elements(&self, leaf: &Leaf, root: Option<NodeId>) -> impl Iterator<Item = NodeId> {
        let around = std::iter::once(leaf.holder).chain(self.tree.ancestors(leaf.holder));
        around.take_while(move |&node| root.is_some_and(|root| node > root)).take(MAX_ABOVE)
    }

    fn values(&self, slot: usize) -> Vec<&'a str> {
        let value = |row: &&'a AlignedRow| Some(row.leaves[row.cells[slot]?].value.as_str());
        self.rows.iter().filter_map(value).collect()
    }

    /// The name that most sampled rows agree on.
    fn majority_name(&self, slot: usize, say: impl Fn(&Leaf, Option<NodeId>) -> Option<String>) -> Option<String> {
        let mut counts: Vec<(String, usize)> = Vec::new();
        let mut all = 0;
        for (row, &root) in self.rows.iter().zip(&self.roots) {
            let Some(leaf) = row.cells[slot].map(|leaf| &row.leaves[leaf]) else { continue };
            all += 1;
            let Some(name) = say(leaf, root) else { continue };
            match counts.iter_mut().find(|(it, _)| *it == name) {
                Some((_, count)) => *count += 1,
                None => counts.push((name, 1)),
            }
        }
        let (name, count) = counts.into_iter().max_by_key(|&(_, count)| count)?;
        (count as f64 >= MIN_AGREEMENT * f64::from(all)).then_some(name)
    }
}

/// Attributes in which authors name the contents of an element.
pub const NAMING_ATTRIBUTES: [&str; 7] =
    ["itemprop", "data-label", "data-title", "data-th", "data-field", "data-column", "data-colname"];

#[cfg(test)]
mod tests;
