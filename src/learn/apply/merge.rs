//! Merges a list with its detail pages: matches rows with pages, finds the link column, and joins the columns.

mod matching;

use std::collections::{HashMap, HashSet};

pub use matching::{DetailWords, match_rows};

use crate::learn::view::count_keys;
use crate::model::{Row, Table};

/// The list with the columns of the detail pages appended. A row without a detail page keeps its own cells.
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

/// The name itself; if the list has a column of that name, `detail_name`, `detail_name_2`, …
fn free_name(taken: &[String], name: &str) -> String {
    let prefixed = format!("detail_{name}");
    let numbered = (2..).map(|i| format!("{prefixed}_{i}"));
    let mut names = [name.to_owned(), prefixed.clone()].into_iter().chain(numbered);
    names.find(|name| !taken.contains(name)).expect("numbers do not end")
}

/// The known addresses of a detail page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DetailAddress {
    /// The file name it was saved under.
    pub name: String,
    /// The canonical address that the page states.
    pub canonical: Option<String>,
}

impl DetailAddress {
    fn matches_link(&self, link: &str) -> bool {
        let path = link.split(['?', '#']).next().unwrap_or("").trim_end_matches('/');
        let last = path.rsplit('/').next().unwrap_or("");
        let canonical = self.canonical.as_deref().is_some_and(|it| {
            let it = it.trim_end_matches('/');
            !last.is_empty() && (it == path || it.ends_with(path.trim_start_matches("..")))
        });
        canonical || !last.is_empty() && stem(&self.name) == stem(last)
    }
}

fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// Minimum share of the matched rows whose link leads to their page and to no other.
const MIN_LINK_AGREEMENT: f64 = 0.8;

/// The column among `links` that leads to the detail pages: rows of one page have one link, rows of different pages
/// have different ones, and the link is the page's address or consists of its words.
pub fn link_column(
    list: &Table,
    links: &[usize],
    rows: &[Option<usize>],
    details: &[DetailWords],
    addresses: &[DetailAddress],
) -> Option<usize> {
    let mut best: Option<(f64, usize)> = None;
    for &column in links {
        let Some(score) = link_score(list, column, rows, details, addresses) else { continue };
        if score > best.map_or(0.0, |it| it.0) {
            best = Some((score, column));
        }
    }
    best.map(|(_, column)| column)
}

/// `None` if the links contradict the matching of rows and pages.
fn link_score(
    list: &Table,
    column: usize,
    rows: &[Option<usize>],
    details: &[DetailWords],
    addresses: &[DetailAddress],
) -> Option<f64> {
    let mut pages_of: HashMap<&str, HashSet<usize>> = HashMap::new();
    let mut links_of: HashMap<usize, HashSet<&str>> = HashMap::new();
    let pairs = rows.iter().zip(&list.rows).filter_map(|(page, row)| Some(((*page)?, row.cells[column].as_deref())));
    let pairs: Vec<(usize, Option<&str>)> = pairs.collect();
    for &(page, link) in &pairs {
        let Some(link) = link else { continue };
        pages_of.entry(link).or_default().insert(page);
        links_of.entry(page).or_default().insert(link);
    }
    let mut own = 0;
    let mut score = 0.0;
    for &(page, link) in &pairs {
        let Some(link) = link else { continue };
        own += usize::from(pages_of[link].len() == 1 && links_of[&page].len() == 1);
        let is_address = addresses.get(page).is_some_and(|address| address.matches_link(link));
        score += f64::from(u8::from(is_address)) + words_shared(link, &details[page]);
    }
    let all = pairs.len().max(1) as f64;
    (own as f64 >= MIN_LINK_AGREEMENT * all).then(|| (own as f64 + score) / all)
}

/// Share of the link's words that are on the page: `/books/snow-crash_12` is derived from a title.
fn words_shared(link: &str, page: &DetailWords) -> f64 {
    let words = link.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().any(char::is_alphabetic));
    let words: Vec<String> = words.map(str::to_lowercase).collect();
    words.iter().filter(|word| page.all.has_word(word)).count() as f64 / words.len().max(1) as f64
}

/// Corrects the matching: rows with the same link get the same page, others do not. Links are more reliable than texts.
pub fn follow_links(list: &Table, link: usize, rows: &[Option<usize>]) -> Vec<Option<usize>> {
    let links = list.rows.iter().map(|row| row.cells[link].as_deref());
    let votes = count_keys(links.zip(rows).filter_map(|(link, page)| Some((link?, (*page)?))));
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

#[cfg(test)]
mod tests;
