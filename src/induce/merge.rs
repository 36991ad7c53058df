//! List and detail pages as one table: whose detail page is whose, which link leads there, and the columns of both.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::find::details::Index;
use crate::model::{Row, Table};

/// A row is this near the best row of a detail page in what they have in common to share the page with it: several records of a
/// list may link to one page (the author of three quotations).
const AS_GOOD: f64 = 0.9;
/// One text that no other detail page has, or as much in texts that few have.
const ENOUGH: f64 = 1.0;

/// Of each row: its detail page, by what these columns of the list say. A text counts for a page by how few pages have it; texts of
/// all pages, or of most rows, say nothing.
pub fn match_rows(list: &Table, columns: &[usize], details: &[Index]) -> Vec<Option<usize>> {
    let mut rows_with: HashMap<&str, usize> = HashMap::new();
    for row in &list.rows {
        texts(row, columns).into_iter().for_each(|text| *rows_with.entry(text).or_default() += 1);
    }
    let is_common = |text: &str| list.rows.len() > 2 && rows_with[text] * 2 > list.rows.len();
    let mut known: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut scores: Vec<Vec<f64>> = Vec::with_capacity(list.rows.len());
    let mut best_of = vec![0.0_f64; details.len()];
    for row in &list.rows {
        let mut score = vec![0.0; details.len()];
        for text in texts(row, columns).into_iter().filter(|text| !is_common(text)) {
            let pages = known.entry(text).or_insert_with(|| seen_on(text, details));
            if pages.len() < details.len() || details.len() == 1 {
                pages.iter().for_each(|&page| score[page] += (pages.len() as f64).powi(-2));
            }
        }
        best_of.iter_mut().zip(&score).for_each(|(best, it)| *best = best.max(*it));
        scores.push(score);
    }
    let page_of = |score: &Vec<f64>| {
        let best = (0..score.len()).fold(None, |best: Option<usize>, it| match best {
            Some(best) if score[best] >= score[it] => Some(best),
            _ => Some(it),
        })?;
        (score[best] >= ENOUGH && score[best] >= AS_GOOD * best_of[best]).then_some(best)
    };
    scores.iter().map(page_of).collect()
}

fn texts<'a>(row: &'a Row, columns: &[usize]) -> BTreeSet<&'a str> {
    columns.iter().filter_map(|&column| row.cells[column].as_deref()).collect()
}

fn seen_on(text: &str, details: &[Index]) -> Vec<usize> {
    (0..details.len()).filter(|&page| details[page].has_text(text)).collect()
}

/// What a detail page says of where it came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// The name it was saved under.
    pub name: String,
    /// The address that it calls its own.
    pub canonical: Option<String>,
}

impl Address {
    fn is_of(&self, link: &str) -> bool {
        let path = link.split(['?', '#']).next().unwrap_or("").trim_end_matches('/');
        let last = path.rsplit('/').next().unwrap_or("");
        let canonical = self.canonical.as_deref().is_some_and(|it| {
            let it = it.trim_end_matches('/');
            !last.is_empty() && (it == path || it.ends_with(path.trim_start_matches("..")))
        });
        canonical || !last.is_empty() && stem(&self.name) == stem(last)
    }
}

/// A file's name without its ending.
fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// Which of the `links` (columns of the list) leads to the detail pages: rows of one page have one link, rows of different pages
/// different ones, and the link is the page's address or made of its words.
pub fn link_column(
    list: &Table,
    links: &[usize],
    rows: &[Option<usize>],
    details: &[Index],
    addresses: &[Address],
) -> Option<usize> {
    let mut best: Option<(f64, usize)> = None;
    for &column in links {
        let score = link_score(list, column, rows, details, addresses);
        if score > best.map_or(0.0, |it| it.0) {
            best = Some((score, column));
        }
    }
    best.map(|(_, column)| column)
}

fn link_score(list: &Table, column: usize, rows: &[Option<usize>], details: &[Index], addresses: &[Address]) -> f64 {
    let mut pages_of: HashMap<&str, HashSet<usize>> = HashMap::new();
    let mut links_of: HashMap<usize, HashSet<&str>> = HashMap::new();
    let pairs = rows.iter().zip(&list.rows).filter_map(|(page, row)| Some(((*page)?, row.cells[column].as_deref())));
    let pairs: Vec<(usize, Option<&str>)> = pairs.collect();
    for &(page, link) in &pairs {
        let Some(link) = link else { continue };
        pages_of.entry(link).or_default().insert(page);
        links_of.entry(page).or_default().insert(link);
    }
    let mut score = 0.0;
    for &(page, link) in &pairs {
        let Some(link) = link else { continue };
        let is_own = pages_of[link].len() == 1 && links_of[&page].len() == 1;
        let is_address = addresses.get(page).is_some_and(|address| address.is_of(link));
        score += f64::from(u8::from(is_own)) + f64::from(u8::from(is_address)) + words_shared(link, &details[page]);
    }
    score / pairs.len().max(1) as f64
}

/// Share of the link's words that are on the page: `/books/snow-crash_12` is made of a title.
fn words_shared(link: &str, page: &Index) -> f64 {
    let words = link.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().any(char::is_alphabetic));
    let words: Vec<String> = words.map(str::to_lowercase).collect();
    words.iter().filter(|word| page.has_word(word)).count() as f64 / words.len().max(1) as f64
}

/// Rows with the same link have the same detail page, rows with another have not: the link knows better than the texts.
pub fn follow_links(list: &Table, link: usize, rows: &[Option<usize>]) -> Vec<Option<usize>> {
    let mut votes: HashMap<(&str, usize), usize> = HashMap::new();
    for (row, page) in list.rows.iter().zip(rows) {
        if let (Some(link), Some(page)) = (row.cells[link].as_deref(), *page) {
            *votes.entry((link, page)).or_default() += 1;
        }
    }
    let mut votes: Vec<((&str, usize), usize)> = votes.into_iter().collect();
    votes.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    let mut page_of: HashMap<&str, usize> = HashMap::new();
    let mut taken: HashSet<usize> = HashSet::new();
    for ((link, page), _) in votes {
        if !page_of.contains_key(link) && taken.insert(page) {
            page_of.insert(link, page);
        }
    }
    list.rows.iter().map(|row| page_of.get(row.cells[link].as_deref()?).copied()).collect()
}

/// The list with the columns of the detail pages behind its own. A row without a detail keeps its own cells.
pub fn merge(list: &Table, columns: &[String], details: &[Option<Row>]) -> Table {
    let mut merged = list.clone();
    for name in columns {
        let name = free_name(&merged.columns, name);
        merged.columns.push(name);
    }
    let width = merged.columns.len();
    for (i, row) in merged.rows.iter_mut().enumerate() {
        if let Some(detail) = details.get(i).and_then(Option::as_ref) {
            row.cells.extend(detail.cells.iter().take(columns.len()).cloned());
        }
        row.cells.resize(width, None);
    }
    merged
}

/// The name, or, where the list has a column of that name, `detail_name`, `detail_name_2`, …
fn free_name(taken: &[String], name: &str) -> String {
    let prefixed = format!("detail_{name}");
    let numbered = (2..).map(|i| format!("{prefixed}_{i}"));
    let mut names = [name.to_owned(), prefixed.clone()].into_iter().chain(numbered);
    names.find(|name| !taken.contains(name)).expect("numbers do not end")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Tree;
    use crate::page::tokens::Tokens;

    fn table(columns: &[&str], rows: &[&[&str]]) -> Table {
        let cell = |text: &&str| (!text.is_empty()).then(|| (*text).to_owned());
        Table {
            columns: columns.iter().map(|&name| name.to_owned()).collect(),
            rows: rows.iter().map(|row| Row { cells: row.iter().map(cell).collect(), page: 0 }).collect(),
        }
    }

    fn indexes(pages: &[&str]) -> Vec<Index> {
        pages.iter().map(|page| Index::new(&Tokens::new(&Tree::parse(page)))).collect()
    }

    fn quotes() -> (Table, Vec<Index>) {
        let rows: [&[&str]; 4] = [
            &["Try not to become", "Einstein", "/tag/value", "/author/Einstein"],
            &["It is our choices", "Rowling", "/tag/choice", "/author/Rowling"],
            &["There are two ways", "Einstein", "/tag/life", "/author/Einstein"],
            &["Nobody knows", "Anonymous", "/tag/life", "/author/nobody"],
        ];
        let pages =
            ["<h3>Rowling</h3><p>born in Yate", "<h3>Einstein</h3><p>born in Ulm", "<h3>Gide</h3><p>born in Paris"];
        (table(&["text", "author", "tag", "link"], &rows), indexes(&pages))
    }

    #[test]
    fn rows_find_their_detail_page_by_what_stands_on_it_and_two_may_share_one() {
        let (list, details) = quotes();
        assert_eq!(match_rows(&list, &[0, 1], &details), [Some(1), Some(0), Some(1), None]);
    }

    #[test]
    fn a_price_that_is_by_chance_on_another_page_does_not_take_it() {
        let list = table(&["name", "price"], &[&["Tea", "3.50"], &["Milk", "1.10"], &["Salt", "3.50"]]);
        let details = indexes(&["<h1>Tea</h1>3.50", "<h1>Milk</h1>1.10"]);
        assert_eq!(match_rows(&list, &[0, 1], &details), [Some(0), Some(1), None]);
    }

    #[test]
    fn the_link_to_the_detail_pages_is_the_one_that_goes_with_them() {
        let (list, details) = quotes();
        let rows = match_rows(&list, &[0, 1], &details);
        assert_eq!(link_column(&list, &[2, 3], &rows, &details, &[]), Some(3));
        assert_eq!(link_column(&list, &[], &rows, &details, &[]), None);
        assert_eq!(link_column(&list, &[2, 3], &[None; 4], &details, &[]), None);
    }

    #[test]
    fn the_address_of_a_page_decides_between_two_links_that_both_go_with_it() {
        let list = table(&["name", "shop", "item"], &[&["Tea", "/s/1", "/i/7"], &["Milk", "/s/2", "/i/8?x=1"]]);
        let details = indexes(&["Tea", "Milk"]);
        let canonical = |it: &str| Address { name: "a.html".to_owned(), canonical: Some(it.to_owned()) };
        let addresses = [canonical("https://example.org/i/7/"), canonical("https://example.org/i/8")];
        assert_eq!(link_column(&list, &[1, 2], &[Some(0), Some(1)], &details, &addresses), Some(2));
    }

    #[test]
    fn rows_with_one_link_have_one_detail_page() {
        let (list, _) = quotes();
        assert_eq!(follow_links(&list, 3, &[None, Some(0), Some(1), None]), [Some(1), Some(0), Some(1), None]);
    }

    #[test]
    fn a_row_without_a_detail_keeps_its_own_cells_and_no_name_stands_twice() {
        let list = table(&["name", "detail_name"], &[&["Tea", "x"], &["Milk", "y"]]);
        let detail = table(&["name", "price"], &[&["Green tea", "3.50"]]);
        let merged = merge(&list, &detail.columns, &[Some(detail.rows[0].clone()), None]);
        let expected = table(
            &["name", "detail_name", "detail_name_2", "price"],
            &[&["Tea", "x", "Green tea", "3.50"], &["Milk", "y", "", ""]],
        );
        assert_eq!(merged, expected);
    }
}
