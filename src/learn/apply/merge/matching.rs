//! Matches the rows of a list with their detail pages, by texts that few pages have.

use std::collections::{BTreeSet, HashMap};

use crate::learn::rows::details::{PageWord, WordIndex, words_of};
use crate::model::Table;
use crate::page::tokens::Tokens;

/// A row shares a page with the page's best row if its score is at least this share of the best: several records of a
/// list may link to one page (the author of three quotations).
const SHARED_PAGE_RATIO: f64 = 0.9;
/// Minimum score: one text that no other detail page has, or the equivalent in texts that few have.
const MIN_SCORE: f64 = 1.0;
/// With a single page nothing shows which texts are common, so two texts are needed, or one in the title.
const MIN_SCORE_SINGLE_PAGE: f64 = 2.0;
/// Minimum score, instead of [`MIN_SCORE`], if row and page are each other's only best match: one text that two pages
/// have.
const MIN_MUTUAL_SCORE: f64 = 0.25;

/// The words of a detail page.
pub struct DetailWords {
    pub all: WordIndex,
    /// Title and first headings: there a page names its own record, and no similar ones.
    title: WordIndex,
}

impl DetailWords {
    pub fn new(page: &Tokens<'_>) -> DetailWords {
        let tree = page.tree;
        let titles = tree.elements("title").take(1).chain(tree.elements("h1").take(MAX_HEADINGS));
        let title: Vec<String> = titles.map(|node| tree.text(node)).collect();
        DetailWords { all: WordIndex::new(page), title: WordIndex::of_text(&title.join(" | ")) }
    }
}

/// Maximum number of main headings that are used.
const MAX_HEADINGS: usize = 3;

/// The detail page of each row. A text counts for a page the more, the fewer pages have it; texts of all pages or of
/// most rows are ignored.
pub fn match_rows(list: &Table, details: &[DetailWords]) -> Vec<Option<usize>> {
    let texts = ListTexts::new(list, details);
    let scores: Vec<Vec<f64>> = texts.of_rows.iter().map(|row| texts.scores(row, details.len())).collect();
    let by_page: Vec<Vec<f64>> = (0..details.len()).map(|page| scores.iter().map(|row| row[page]).collect()).collect();
    let bests: Vec<Option<BestScore>> = by_page.iter().map(|scores| best(scores)).collect();
    let (enough, little) =
        if details.len() == 1 { (MIN_SCORE_SINGLE_PAGE, MIN_SCORE_SINGLE_PAGE) } else { (MIN_SCORE, MIN_MUTUAL_SCORE) };
    let page_of = |(row, scores): (usize, &Vec<f64>)| {
        let page = best(scores)?;
        let of_page = bests[page.index].as_ref()?;
        let is_good = page.score >= enough && page.score >= SHARED_PAGE_RATIO * of_page.score;
        let is_mutual = of_page.index == row && page.is_unique && of_page.is_unique && page.score >= little;
        (is_good || is_mutual).then_some(page.index)
    };
    scores.iter().enumerate().map(page_of).collect()
}

struct BestScore {
    index: usize,
    score: f64,
    is_unique: bool,
}

fn best(scores: &[f64]) -> Option<BestScore> {
    let score = scores.iter().copied().fold(0.0, f64::max);
    let place = scores.iter().position(|&it| it > 0.0 && it >= score)?;
    Some(BestScore { index: place, score, is_unique: scores.iter().filter(|&&it| it >= score).count() == 1 })
}

/// Additional weight of a text in a page's title: pages also show records “last seen”, with title, picture and price.
const TITLE_WEIGHT: f64 = 4.0;
/// Maximum length of a text in bytes; lists show longer texts shortened.
const MAX_TEXT: usize = 1_000;
/// Maximum number of texts of the list that are looked up on the detail pages.
const MAX_TEXTS: usize = 40_000;

/// The distinct texts of a list and the detail pages that contain them.
struct ListTexts {
    /// For each text: the pages that contain it, the pages with it in their title, and the number of rows with it.
    occurrences: Vec<([Vec<usize>; 2], usize)>,
    /// The texts of each row.
    of_rows: Vec<BTreeSet<usize>>,
}

impl ListTexts {
    fn new(list: &Table, details: &[DetailWords]) -> ListTexts {
        let mut numbers: HashMap<Vec<u64>, usize> = HashMap::new();
        let mut known: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut texts = ListTexts { occurrences: Vec::new(), of_rows: Vec::new() };
        for row in &list.rows {
            let mut own = BTreeSet::new();
            for cell in row.cells.iter().flatten().filter(|text| text.len() <= MAX_TEXT) {
                own.extend(known.entry(cell).or_insert_with(|| texts.add(cell, &mut numbers, details)).iter().copied());
            }
            own.iter().for_each(|&number| texts.occurrences[number].1 += 1);
            texts.of_rows.push(own);
        }
        texts
    }

    /// The texts of a cell: its runs of words without a separator.
    fn add(&mut self, cell: &str, numbers: &mut HashMap<Vec<u64>, usize>, details: &[DetailWords]) -> Vec<usize> {
        let words = words_of(cell);
        let mut own = Vec::new();
        for run in words.chunk_by(|_, next| !next.is_separated) {
            let prints: Vec<u64> = run.iter().map(|word| word.fingerprint).collect();
            if let Some(&number) = numbers.get(&prints) {
                own.push(number);
            } else if numbers.len() < MAX_TEXTS {
                numbers.insert(prints, self.occurrences.len());
                own.push(self.occurrences.len());
                self.occurrences.push((pages_with_text(run, details), 0));
            }
        }
        own
    }

    /// The score of each page for this row.
    fn scores(&self, row: &BTreeSet<usize>, details: usize) -> Vec<f64> {
        let mut scores = vec![0.0; details];
        let rows = self.of_rows.len();
        for (pages, with_it) in row.iter().map(|&text| &self.occurrences[text]) {
            let is_common = rows > 2 && with_it * 2 > rows;
            for (pages, weight) in pages.iter().zip([1.0, TITLE_WEIGHT]) {
                if !is_common && (pages.len() < details || details == 1) {
                    pages.iter().for_each(|&page| scores[page] += weight * (pages.len() as f64).powi(-2));
                }
            }
        }
        scores
    }
}

/// The pages that contain the text, and those with it in their title.
fn pages_with_text(text: &[PageWord], details: &[DetailWords]) -> [Vec<usize>; 2] {
    let on = |index: fn(&DetailWords) -> &WordIndex| {
        (0..details.len()).filter(|&page| index(&details[page]).has(text)).collect()
    };
    [on(|words| &words.all), on(|words| &words.title)]
}
