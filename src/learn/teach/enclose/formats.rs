//! Several formats: blocks that were enclosed on different pages become variants of one template.

use super::matching::{BlockEncoding, Matcher};
use crate::learn::columns::names::UniqueNames;
use crate::learn::template::{ColumnSource, Slot, Template, Variant};
use crate::learn::view::PageView;
use crate::page::tokens::Span;

/// Adds the first variant of another template. Its columns are assigned to those with the same source (the same kind of
/// leaf on the same path), or appended. Returns the new index of each column.
pub fn join(template: &mut Template, other: &Template) -> Vec<usize> {
    let (Some(ours), Some(theirs)) = (template.variants.first(), other.variants.first()) else { return Vec::new() };
    let mut free: Vec<bool> = vec![true; template.columns().len()];
    let mut place_of: Vec<usize> = Vec::new();
    let mut added: Vec<usize> = Vec::new();
    for (column, source) in theirs.sources.iter().enumerate() {
        let mine = source.as_ref().and_then(|source| {
            (0..free.len()).find(|&i| {
                free[i] && ours.sources[i].as_ref().is_some_and(|it| is_same_source(ours, it, theirs, source))
            })
        });
        match mine {
            Some(i) => {
                free[i] = false;
                place_of.push(i);
            }
            None => {
                place_of.push(free.len() + added.len());
                added.push(column);
            }
        }
    }
    *template = with_added_columns(template, other, &added);
    let mut variant = theirs.clone();
    variant.sources = vec![None; template.columns().len()];
    for (source, &place) in theirs.sources.iter().zip(&place_of) {
        variant.sources[place].clone_from(source);
    }
    template.variants.push(variant);
    place_of
}

/// Groups the rows by the most similar block. `None` if two blocks are similar to each other: then there is one format.
pub fn rows_by_format(view: &PageView<'_>, blocks: &[Span], rows: &[Span], threshold: f64) -> Option<Vec<Vec<Span>>> {
    let mut matchers: Vec<Matcher<'_, '_>> =
        blocks.iter().map(|&block| Matcher::new(view, block, BlockEncoding::Tags)).collect();
    let alike = |(i, matcher): (usize, &mut Matcher<'_, '_>)| {
        blocks.iter().enumerate().any(|(j, &block)| i != j && matcher.similarity(block) > threshold)
    };
    if blocks.len() < 2 || matchers.iter_mut().enumerate().any(alike) {
        return None;
    }
    let mut parts: Vec<Vec<Span>> = vec![Vec::new(); blocks.len()];
    for &row in rows {
        let values: Vec<f64> = matchers.iter_mut().map(|matcher| matcher.similarity(row)).collect();
        let most = (0..values.len()).max_by(|&a, &b| values[a].total_cmp(&values[b]).then(b.cmp(&a)))?;
        parts[most].push(row);
    }
    parts.iter().all(|part| !part.is_empty()).then_some(parts)
}

/// The template with further columns appended, which are empty in all existing variants.
fn with_added_columns(template: &Template, other: &Template, added: &[usize]) -> Template {
    let columns = || template.columns().iter().chain(added.iter().map(|&column| &other.columns()[column]));
    let hidden: Vec<bool> = columns().map(|column| column.hidden).collect();
    let widen = |variant: &Variant| {
        let mut variant = variant.clone();
        variant.sources.resize(hidden.len(), None);
        variant
    };
    let mut variants = template.variants.iter().map(widen);
    let first = variants.next().expect("a template has a variant");
    // Existing columns come first and keep their names; a new column whose name is taken gets a number.
    let mut names = UniqueNames::default();
    let names = columns().map(|column| names.claim(column.name.clone())).collect();
    let mut wide = Template::new(first, names, &hidden);
    wide.variants.extend(variants);
    wide
}

fn is_same_source(ours: &Variant, mine: &ColumnSource, theirs: &Variant, source: &ColumnSource) -> bool {
    match (mine, source) {
        (ColumnSource::Slot(a), ColumnSource::Slot(b)) => {
            let (a, b) = (&ours.slots[*a], &theirs.slots[*b]);
            let path = |slot: &Slot| slot.class_paths.first().map(|(path, _)| path.clone());
            a.kind == b.kind && path(a) == path(b)
        }
        (ColumnSource::Derived(a), ColumnSource::Derived(b)) => a == b,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::learn::apply::extract;
    use crate::learn::teach::Block;
    use crate::learn::{Help, LearnOptions, learn_with};
    use crate::page::Tree;

    #[test]
    fn formats_of_two_pages_are_variants_of_one_template() {
        let shop = "<div class=sheet><h1>Oak chair</h1><p>95</p><i>new</i></div>";
        let books = "<div class=book><h1>Emma</h1><p>12</p><ul><li>Austen</li></ul></div>";
        let pages = [Tree::parse(shop), Tree::parse(books)];
        let enclosed = vec![Block::Css(".sheet".to_owned()), Block::Css(".book".to_owned())];
        let help = Help { enclosed, ..Help::default() };
        let found = learn_with(&pages, &LearnOptions::default(), &help).expect("both blocks are there");
        let template = &found[0].template;
        assert_eq!(template.variants.len(), 2);
        let cells = |page: &Tree| -> Vec<String> {
            extract(template, page).table.rows[0].cells.iter().flatten().take(3).cloned().collect()
        };
        assert_eq!(cells(&pages[0]), ["Oak chair", "95", "new"]);
        assert_eq!(cells(&pages[1])[..2], ["Emma", "12"]);
    }

    #[test]
    fn unlike_blocks_of_one_page_are_variants_that_are_read_in_page_order() {
        let hotel = |name: &str, price: &str| format!("<li class=h><h3>{name}</h3><p>{price}</p></li>");
        let offer = |name: &str| {
            format!("<li class=o><a href=/{name}><img src={name}.png></a><table><tr><td>{name}<td>new</table></li>")
        };
        let list = |rows: &[String]| format!("<ul>{}</ul>", rows.concat());
        let page = list(&[hotel("Adler", "95"), offer("spa"), hotel("Ida", "70"), offer("golf"), hotel("Krone", "88")]);
        let enclosed = vec![Block::Css("li.h".to_owned()), Block::Css("li.o".to_owned())];
        let help = Help { enclosed, ..Help::default() };
        let page = Tree::parse(&page);
        let found = learn_with(std::slice::from_ref(&page), &LearnOptions::default(), &help).expect("both blocks");
        let (template, table) = (&found[0].template, &found[0].table);
        assert_eq!((template.variants.len(), table.rows.len()), (2, 5), "{template}");
        assert_eq!(&extract(template, &page).table, table, "read by its own template");
        let next = Tree::parse(&list(&[offer("sail"), hotel("Linde", "60"), hotel("Post", "54")]));
        let rows = extract(template, &next).table.rows;
        let has = |row: usize, text: &str| rows[row].cells.iter().flatten().any(|cell| cell == text);
        assert!(rows.len() == 3 && has(0, "sail") && has(1, "Linde") && has(2, "54"), "{rows:?}");
    }
}
