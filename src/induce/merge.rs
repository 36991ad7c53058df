//! List and detail pages as one table: whose detail page is whose, which link leads there, and the columns of both.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::find::details::{Index, Word, words_of};
use crate::model::{Row, Table};
use crate::page::tokens::Tokens;

/// A row is this near the best row of a detail page in what they have in common to share the page with it: several records of a
/// list may link to one page (the author of three quotations).
const AS_GOOD: f64 = 0.9;
/// One text that no other detail page has, or as much in texts that few have.
const ENOUGH: f64 = 1.0;
/// Less than [`ENOUGH`] will do where row and page are each other's only best: one text that two pages have.
const LITTLE: f64 = 0.25;

/// What a detail page says.
pub struct Words {
    pub all: Index,
    /// Its title and first headings: there a page names its record, and not others that are like it.
    title: Index,
}

impl Words {
    pub fn new(page: &Tokens<'_>) -> Words {
        let tree = page.tree;
        let titles = tree.elements("title").take(1).chain(tree.elements("h1").take(MAX_HEADINGS));
        let title: Vec<String> = titles.map(|node| tree.text(node)).collect();
        Words { all: Index::new(page), title: Index::of_text(&title.join(" | ")) }
    }
}

/// Main headings of a page that are looked at.
const MAX_HEADINGS: usize = 3;

/// Of each row: its detail page. A text counts for a page by how few pages have it; texts of all pages, or of most rows, say nothing.
pub fn match_rows(list: &Table, details: &[Words]) -> Vec<Option<usize>> {
    let texts = Texts::new(list, details);
    let scores: Vec<Vec<f64>> = texts.of_rows.iter().map(|row| texts.scores(row, details.len())).collect();
    let by_page: Vec<Vec<f64>> = (0..details.len()).map(|page| scores.iter().map(|row| row[page]).collect()).collect();
    let bests: Vec<Option<Best>> = by_page.iter().map(|scores| best(scores)).collect();
    let page_of = |(row, scores): (usize, &Vec<f64>)| {
        let page = best(scores)?;
        let of_page = bests[page.place].as_ref()?;
        let is_good = page.score >= ENOUGH && page.score >= AS_GOOD * of_page.score;
        let is_mutual = of_page.place == row && page.is_only && of_page.is_only && page.score >= LITTLE;
        (is_good || is_mutual).then_some(page.place)
    };
    scores.iter().enumerate().map(page_of).collect()
}

/// The first of the highest scores.
struct Best {
    place: usize,
    score: f64,
    is_only: bool,
}

fn best(scores: &[f64]) -> Option<Best> {
    let score = scores.iter().copied().fold(0.0, f64::max);
    let place = scores.iter().position(|&it| it > 0.0 && it >= score)?;
    Some(Best { place, score, is_only: scores.iter().filter(|&&it| it >= score).count() == 1 })
}

/// What a text in a page's title counts more than elsewhere: pages also show records “last seen”, with title, picture and price.
const IN_TITLE: f64 = 4.0;
/// Texts longer than this, in bytes, are not looked for: a list shows them shortened.
const MAX_TEXT: usize = 1_000;
/// Texts of the list that are looked for on the detail pages.
const MAX_TEXTS: usize = 40_000;

/// The texts of a list, each once, and the detail pages that have them.
struct Texts {
    /// Of each text: the pages that have it, the pages that have it in their title, and how many rows have it.
    seen: Vec<([Vec<usize>; 2], usize)>,
    /// Of each row: its texts.
    of_rows: Vec<BTreeSet<usize>>,
}

impl Texts {
    fn new(list: &Table, details: &[Words]) -> Texts {
        let mut numbers: HashMap<Vec<u64>, usize> = HashMap::new();
        let mut known: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut texts = Texts { seen: Vec::new(), of_rows: Vec::new() };
        for row in &list.rows {
            let mut own = BTreeSet::new();
            for cell in row.cells.iter().flatten().filter(|text| text.len() <= MAX_TEXT) {
                own.extend(known.entry(cell).or_insert_with(|| texts.add(cell, &mut numbers, details)).iter().copied());
            }
            own.iter().for_each(|&number| texts.seen[number].1 += 1);
            texts.of_rows.push(own);
        }
        texts
    }

    /// The texts of a cell: its runs of words that nothing parts.
    fn add(&mut self, cell: &str, numbers: &mut HashMap<Vec<u64>, usize>, details: &[Words]) -> Vec<usize> {
        let words = words_of(cell);
        let mut own = Vec::new();
        for run in words.chunk_by(|_, next| !next.is_parted) {
            let prints: Vec<u64> = run.iter().map(|word| word.print).collect();
            if let Some(&number) = numbers.get(&prints) {
                own.push(number);
            } else if numbers.len() < MAX_TEXTS {
                numbers.insert(prints, self.seen.len());
                own.push(self.seen.len());
                self.seen.push((seen_on(run, details), 0));
            }
        }
        own
    }

    /// What speaks for each page.
    fn scores(&self, row: &BTreeSet<usize>, details: usize) -> Vec<f64> {
        let mut scores = vec![0.0; details];
        let rows = self.of_rows.len();
        for (pages, with_it) in row.iter().map(|&text| &self.seen[text]) {
            let is_common = rows > 2 && with_it * 2 > rows;
            for (pages, weight) in pages.iter().zip([1.0, IN_TITLE]) {
                if !is_common && (pages.len() < details || details == 1) {
                    pages.iter().for_each(|&page| scores[page] += weight * (pages.len() as f64).powi(-2));
                }
            }
        }
        scores
    }
}

/// The pages that have the text, and those that have it in their title.
fn seen_on(text: &[Word], details: &[Words]) -> [Vec<usize>; 2] {
    let on = |index: fn(&Words) -> &Index| (0..details.len()).filter(|&page| index(&details[page]).has(text)).collect();
    [on(|words| &words.all), on(|words| &words.title)]
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

/// Share of the matched rows whose link leads to their page and no other.
const GOES_WITH: f64 = 0.8;

/// Which of the `links` (columns of the list) leads to the detail pages: rows of one page have one link, rows of different pages
/// different ones, and the link is the page's address or made of its words.
pub fn link_column(
    list: &Table,
    links: &[usize],
    rows: &[Option<usize>],
    details: &[Words],
    addresses: &[Address],
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

/// None where the links do not go with the pages.
fn link_score(
    list: &Table,
    column: usize,
    rows: &[Option<usize>],
    details: &[Words],
    addresses: &[Address],
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
        let is_address = addresses.get(page).is_some_and(|address| address.is_of(link));
        score += f64::from(u8::from(is_address)) + words_shared(link, &details[page]);
    }
    let all = pairs.len().max(1) as f64;
    (own as f64 >= GOES_WITH * all).then(|| (own as f64 + score) / all)
}

/// Share of the link's words that are on the page: `/books/snow-crash_12` is made of a title.
fn words_shared(link: &str, page: &Words) -> f64 {
    let words = link.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().any(char::is_alphabetic));
    let words: Vec<String> = words.map(str::to_lowercase).collect();
    words.iter().filter(|word| page.all.has_word(word)).count() as f64 / words.len().max(1) as f64
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

    fn table(columns: &[&str], rows: &[&[&str]]) -> Table {
        let cell = |text: &&str| (!text.is_empty()).then(|| (*text).to_owned());
        Table {
            columns: columns.iter().map(|&name| name.to_owned()).collect(),
            rows: rows.iter().map(|row| Row { cells: row.iter().map(cell).collect(), page: 0 }).collect(),
        }
    }

    fn words(pages: &[&str]) -> Vec<Words> {
        pages.iter().map(|page| Words::new(&Tokens::new(&Tree::parse(page)))).collect()
    }

    fn quotes() -> (Table, Vec<Words>) {
        let rows: [&[&str]; 4] = [
            &["Try not to become", "Einstein", "/tag/value", "/author/Einstein"],
            &["It is our choices", "Rowling", "/tag/choice", "/author/Rowling"],
            &["There are two ways", "Einstein", "/tag/life", "/author/Einstein"],
            &["Nobody knows", "Anonymous", "/tag/life", "/author/nobody"],
        ];
        let pages =
            ["<h3>Rowling</h3><p>born in Yate", "<h3>Einstein</h3><p>born in Ulm", "<h3>Gide</h3><p>born in Paris"];
        (table(&["text", "author", "tag", "link"], &rows), words(&pages))
    }

    #[test]
    fn rows_find_their_detail_page_by_what_stands_on_it_and_two_may_share_one() {
        let (list, details) = quotes();
        assert_eq!(match_rows(&list, &details), [Some(1), Some(0), Some(1), None]);
    }

    #[test]
    fn a_price_that_is_by_chance_on_another_page_does_not_take_it() {
        let list = table(&["name", "price"], &[&["Tea", "3.50"], &["Milk", "1.10"], &["Salt", "3.50"]]);
        let details = words(&["<h1>Tea</h1>3.50", "<h1>Milk</h1>1.10"]);
        assert_eq!(match_rows(&list, &details), [Some(0), Some(1), None]);
    }

    #[test]
    fn a_page_belongs_to_the_record_in_its_title_and_not_to_those_seen_before() {
        let list = table(&["name", "price"], &[&["Tea", "3.50"], &["Milk", "1.10"], &["Salt", "0.90"]]);
        let details = words(&["<title>Milk - Shop</title><h1>Milk</h1>1.10<h2>Last seen</h2>Tea<br>3.50"]);
        assert_eq!(match_rows(&list, &details), [None, Some(0), None]);
    }

    #[test]
    fn the_link_to_the_detail_pages_is_the_one_that_goes_with_them() {
        let (list, details) = quotes();
        let rows = match_rows(&list, &details);
        assert_eq!(link_column(&list, &[2, 3], &rows, &details, &[]), Some(3));
        assert_eq!(link_column(&list, &[], &rows, &details, &[]), None);
        assert_eq!(link_column(&list, &[2, 3], &[None; 4], &details, &[]), None);
    }

    #[test]
    fn the_address_of_a_page_decides_between_two_links_that_both_go_with_it() {
        let list = table(&["name", "shop", "item"], &[&["Tea", "/s/1", "/i/7"], &["Milk", "/s/2", "/i/8?x=1"]]);
        let details = words(&["Tea", "Milk"]);
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
