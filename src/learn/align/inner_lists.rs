//! Inner lists: tags, authors or sizes inside a row. Adjacent elements of equal structure, in varying number, become
//! one repeated part of the template with several values, not one column each.

use std::ops::Range;

use foldhash::{HashMap, HashMapExt};

use crate::learn::view::{
    Leaf, LeafKind, PathId, PathInterner, class_step, count_keys, first_leaves, leaves, value_type,
};
use crate::page::tokens::{Span, Tokens};
use crate::page::{NodeId, Tree};

/// Maximum length of a text between two elements of an inner list: “,”, “and”.
const MAX_SEPARATOR: usize = 5;
/// Minimum rows with at least two elements; a single row may be an accident.
const MIN_ROWS: usize = 2;
/// A position with the same value in this share of the rows is a field, not an element of a list.
const SAME_VALUE: f64 = 0.6;
/// From this share of units with a label, the units are named fields, not a list.
const MIN_LABELLED_SHARE: f64 = 0.5;
/// Minimum overlap of the value types at the first position and the others.
const SAME_KINDS: f64 = 0.5;
/// Maximum ratio of the mean text lengths at the first position and the others.
const SAME_LENGTH: f64 = 4.0;

/// A row's leaves with inner lists folded: the leaves of the first unit stay and hold the values of all units. `most`
/// is the maximum number of leaves if nothing is folded.
pub fn read_leaves(
    tokens: &Tokens<'_>,
    row: Span,
    repeats: &[PathId],
    most: usize,
    paths: &mut PathInterner,
) -> Vec<Leaf> {
    if repeats.is_empty() {
        return first_leaves(tokens, row, paths, most);
    }
    let read = leaves(tokens, row, paths);
    fold_all(tokens.tree, read, repeats, paths)
}

/// All leaves of a row with its inner lists folded.
pub fn fold_all(tree: &Tree, row: Vec<Leaf>, repeats: &[PathId], paths: &PathInterner) -> Vec<Leaf> {
    repeats.iter().fold(row, |row, &repeat| fold(tree, row, repeat, paths))
}

/// The paths of elements that form inner lists in these rows, the innermost first.
pub fn find(tree: &Tree, rows: &[Vec<Leaf>], paths: &PathInterner) -> Vec<PathId> {
    let mut seen: HashMap<PathId, InnerListStatistics> = HashMap::new();
    for row in rows {
        for (path, runs) in runs_of(tree, row, paths) {
            seen.entry(path).or_default().add(row, &runs);
        }
    }
    let mut found: Vec<PathId> =
        seen.iter().filter(|(path, seen)| seen.is_list(paths.last(**path))).map(|(path, _)| *path).collect();
    found.sort_by_key(|&path| (std::cmp::Reverse(paths.depth(path)), path));
    found
}

/// Units of one list, in page order: each is a range of the row's leaves.
type UnitRun = Vec<Range<usize>>;

/// For each path: the runs of similar adjacent elements.
fn runs_of(tree: &Tree, row: &[Leaf], paths: &PathInterner) -> HashMap<PathId, Vec<UnitRun>> {
    let mut runs: HashMap<PathId, Vec<UnitRun>> = HashMap::new();
    let mut last: HashMap<PathId, NodeId> = HashMap::new();
    for (i, leaf) in row.iter().enumerate() {
        let (mut path, mut node) = (leaf.path, leaf.holder);
        while path != PathId::TOP {
            let before = last.insert(path, node);
            let of_path = runs.entry(path).or_default();
            match (before, of_path.last_mut()) {
                (Some(before), Some(run)) if before == node => {
                    run.last_mut().expect("a run has a unit").end = i + 1;
                }
                (Some(before), Some(run)) if are_neighbours(tree, before, node) => run.push(i..i + 1),
                _ => of_path.push(std::iter::once(i..i + 1).collect()),
            }
            path = paths.above(path);
            let Some(parent) = tree.parent(node) else { break };
            node = parent;
        }
    }
    runs
}

/// Similar elements of one parent, with at most a separator between them.
fn are_neighbours(tree: &Tree, before: NodeId, node: NodeId) -> bool {
    let next = |at: NodeId| tree.sibling_after(at);
    let mut between = next(before);
    while let Some(at) = between.filter(|&at| at < node) {
        let is_separator = tree.own_text(at).is_some_and(|text| text.trim().chars().count() <= MAX_SEPARATOR)
            || matches!(tree.tag(at), "br" | "wbr");
        if !is_separator {
            return false;
        }
        between = next(at);
    }
    between == Some(node) && look_alike(tree, before, node)
}

/// The same tag and the same classes without digits.
fn look_alike(tree: &Tree, a: NodeId, b: NodeId) -> bool {
    let same_tag = tree.tag(a) == tree.tag(b);
    same_tag && (tree.class(a) == tree.class(b) || class_step(tree, a) == class_step(tree, b))
}

/// Statistics of one path over the rows.
#[derive(Default)]
struct InnerListStatistics {
    /// Number of units, for each row that has the path.
    counts: Vec<usize>,
    /// A row has two separate runs: separate fields, or a list in a list.
    is_scattered: bool,
    /// The first texts of the units, by position in the list.
    texts: Vec<Vec<String>>,
    /// Leaves of each unit.
    sizes: Vec<usize>,
}

/// Positions of a list that are examined separately.
const MAX_POSITIONS: usize = 4;

impl InnerListStatistics {
    fn add(&mut self, leaves: &[Leaf], runs: &[UnitRun]) {
        let Some(run) = runs.iter().max_by_key(|run| run.len()) else { return };
        self.is_scattered |= runs.len() > 1;
        self.counts.push(run.len());
        for (place, unit) in run.iter().enumerate() {
            self.sizes.push(unit.len());
            let text = leaves[unit.clone()].iter().find(|leaf| leaf.kind == LeafKind::Text);
            let place = place.min(MAX_POSITIONS - 1);
            if self.texts.len() <= place {
                self.texts.resize(place + 1, Vec::new());
            }
            self.texts[place].extend(text.map(|leaf| leaf.value.clone()));
        }
    }

    fn is_list(&self, tag: &str) -> bool {
        // Cells, terms and definitions are fields, however many a row has.
        let is_cell = matches!(tag, "td" | "th" | "dt" | "dd");
        // Links around images are buttons, each with its own meaning.
        let says_something = tag == "img" || self.texts.iter().any(|texts| !texts.is_empty());
        let several = self.counts.iter().filter(|&&count| count >= 2).count();
        let varies = self.counts.iter().any(|count| *count != self.counts[0]);
        !is_cell
            && says_something
            && !self.is_scattered
            && several >= MIN_ROWS
            && varies
            && self.has_uniform_units()
            && self.has_no_fixed_fields()
    }

    /// The units have similar sizes, and the first has the same value types as the others.
    fn has_uniform_units(&self) -> bool {
        let mut sizes = self.sizes.clone();
        sizes.sort_unstable();
        let median = sizes[sizes.len() / 2];
        let alike = sizes.iter().filter(|&&size| size == median).count();
        let first: Vec<&String> = self.texts.iter().take(1).flatten().collect();
        let others: Vec<&String> = self.texts.iter().skip(1).flatten().collect();
        let shares = |texts: &[&String]| {
            let mut shares = [0.0_f64; 16];
            texts.iter().for_each(|text| shares[usize::from(value_type(text)) % 16] += 1.0);
            shares.map(|share| share / texts.len().max(1) as f64)
        };
        let kinds: f64 = shares(&first).iter().zip(&shares(&others)).map(|(a, b)| a.min(*b)).sum();
        let chars = |texts: &[&String]| texts.iter().map(|text| text.len()).sum::<usize>() as f64;
        let length = |texts: &[&String]| chars(texts) / texts.len().max(1) as f64 + 1.0;
        let ratio = length(&first) / length(&others);
        let has_texts = !first.is_empty() && !others.is_empty();
        let alike_texts = kinds >= SAME_KINDS && (1.0 / SAME_LENGTH..=SAME_LENGTH).contains(&ratio);
        alike * 3 >= sizes.len() * 2 && (!has_texts || alike_texts)
    }

    /// No position has a fixed value or a label.
    fn has_no_fixed_fields(&self) -> bool {
        let texts = || self.texts.iter().flatten();
        let labelled = texts().filter(|text| text.contains(": ") || text.ends_with(':')).count();
        let says_the_same = |texts: &Vec<String>| {
            let most = count_keys(texts).into_values().max().unwrap_or(0);
            texts.len() >= 3 && most as f64 >= SAME_VALUE * texts.len() as f64
        };
        (labelled as f64) < MIN_LABELLED_SHARE * texts().count().max(1) as f64 && !self.texts.iter().any(says_the_same)
    }
}

/// Folds the runs of one path: leaves of later units become further values of their counterparts in the first.
fn fold(tree: &Tree, row: Vec<Leaf>, repeat: PathId, paths: &PathInterner) -> Vec<Leaf> {
    let runs = runs_of(tree, &row, paths).remove(&repeat).unwrap_or_default();
    if runs.iter().all(|run| run.len() < 2) {
        return row;
    }
    let mut row: Vec<Option<Leaf>> = row.into_iter().map(Some).collect();
    for run in &runs {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
        for unit in &run[1..] {
            let mut taken = first.start;
            for i in unit.clone() {
                let Some(leaf) = row[i].take() else { continue };
                let is_counterpart =
                    |j: &usize| row[*j].as_ref().is_some_and(|own| own.kind == leaf.kind && own.path == leaf.path);
                // Without a counterpart in the first unit, it stays a leaf.
                match (taken..first.end).find(is_counterpart) {
                    Some(j) => {
                        let own = row[j].as_mut().expect("a counterpart was found there");
                        own.more_values.push(leaf.value);
                        own.more_values.extend(leaf.more_values);
                        taken = j + 1;
                    }
                    None => row[i] = Some(leaf),
                }
            }
        }
        let is_between = |i: &usize| run.iter().all(|unit| !unit.contains(i));
        for i in (first.start..last.end).filter(is_between) {
            row[i] = None;
        }
    }
    row.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use crate::learn::apply::{extract, visible};
    use crate::learn::tests::first;
    use crate::page::Tree;

    fn registry(books: &[(&str, &[&str])]) -> String {
        let book = |(i, (title, tags)): (usize, &(&str, &[&str]))| {
            let tags = tags.iter().map(|tag| format!("<a class=tag>{tag}</a>")).collect::<Vec<_>>().join(", ");
            format!("<li><h2><a href=/{i}>{title}</a></h2><p>{tags}</p><b>{i}.50</b></li>")
        };
        format!("<ul>{}</ul>", books.iter().enumerate().map(book).collect::<String>())
    }

    const BOOKS: [(&str, &[&str]); 5] = [
        ("Emma", &["love", "class", "irony"]),
        ("Dune", &["desert"]),
        ("Ulysses", &["dublin", "day"]),
        ("Walden", &["woods", "pond", "solitude", "beans"]),
        ("Middlemarch", &["town"]),
    ];

    fn check(html: &str, expected: &str) {
        assert_eq!(first(html).template.to_string(), expected);
    }

    #[test]
    fn a_list_inside_a_row_is_one_column_with_several_values() {
        let first = first(&registry(&BOOKS));
        let shown = visible(&first.table, &first.template);
        let tags = shown.columns.iter().position(|name| name == "tag").expect("the class says it");
        assert_eq!(shown.rows[3].cells[tags].as_deref(), Some("woods, pond, solitude, beans"));
        check(
            &registry(&BOOKS),
            "<li><h2><a href={link}>{title}</a></h2><p>(<a.tag>{tag}</a>)+</p><b>{number}</b></li>",
        );
    }

    #[test]
    fn a_row_with_a_far_longer_inner_list_still_belongs_to_the_list() {
        let template = first(&registry(&BOOKS)).template;
        let many: Vec<String> = (0..40).map(|i| format!("word{i}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let next =
            extract(&template, &Tree::parse(&registry(&[("Ilias", &many), ("Faust", &["pact"]), ("Kim", &["spy"])])));
        let tags = visible(&next.table, &template).rows[0].cells[2].clone().expect("it has tags");
        assert_eq!((next.table.rows.len(), tags.split(crate::learn::view::LIST_SEPARATOR).count()), (3, 40));
    }

    #[test]
    fn fields_that_only_look_alike_stay_columns() {
        let rows: String = (0..6)
            .map(|i| {
                let note = if i % 2 == 0 { "<p>with garden and cellar, close to the station</p>" } else { "" };
                format!("<li><h2>Flat {i}</h2><p>{}</p><p>{i} rooms</p>{note}</li>", 700 + i)
            })
            .collect();
        check(&format!("<ul>{rows}</ul>"), "<li><h2>{title}</h2><p>{number}</p><p>{c3}</p>[<p>{c4}</p>]</li>");
    }

    #[test]
    fn neighbours_of_which_a_row_has_one_are_a_choice() {
        let rows: String = (0..6)
            .map(|i| match i % 2 {
                0 => format!("<li><h2>Book {i}</h2><b>{i}.50</b></li>"),
                _ => format!("<li><h2>Book {i}</h2><div><p><a href=/tell/{i}>Tell me {i}</a></p></div></li>"),
            })
            .collect();
        check(
            &format!("<ul>{rows}</ul>"),
            "<li><h2>{title}</h2>(<b>{number}</b>|<div><p><a href={link}>{title_2}</a></p></div>)</li>",
        );
    }
}
