//! A list page and detail pages of its records, learned together.

use super::find::details::{self, Evidence, Segmentation, Solver};
use super::find::{RowSet, View, row_sets};
use super::leaf::LeafKind;
use super::merge::{self, Address, Words};
use super::paths::Paths;
use super::rank::{self, Ranked};
use super::record_page::{RecordPages, learn_pages};
use super::template::Source;
use super::{Candidate, Help, HelpError, LearnOptions, TOKEN_REPEAT, candidate, learn_with};
use crate::model::{Row, Table};
use crate::page::Tree;

/// A detail page that a person gave.
pub struct Detail {
    pub page: Tree,
    /// The name it was saved under.
    pub name: String,
}

/// What list and detail pages say together.
pub struct ListAndDetail {
    /// Lists of the first page, those that go with the detail pages first.
    pub candidates: Vec<Joined>,
    /// The detail pages' own template and rows; none where they have nothing of their own.
    pub pages: Option<RecordPages>,
}

pub struct Joined {
    pub candidate: Candidate,
    /// Of each row: its detail page.
    pub details: Vec<Option<usize>>,
    /// The column of the list whose links lead to the detail pages.
    pub link: Option<usize>,
    /// The columns of list and detail pages together.
    pub table: Table,
}

/// What it is worth that rows agree with the segmentation of the detail pages: as much as labels (`help.rs`).
const AGREES: f64 = 5.0;
/// What it costs rows that the segmentation alone has made, for they agree with it by their nature: as matched rows (`help.rs`), and
/// less where nothing contradicts it.
const MADE: f64 = 1.5;
const MADE_EXACTLY: f64 = 0.5;
/// What it costs them on top when they are no elements, as for other readers of tokens.
const CUT_BY_TOKENS: f64 = TOKEN_REPEAT;

/// As [`learn_with`], with detail pages of some or all records, in any order. Where a person also said something else, that decides
/// on the list.
pub fn learn_with_details(
    pages: &[Tree],
    details: &[Detail],
    options: &LearnOptions,
    help: &Help,
) -> Result<ListAndDetail, HelpError> {
    let views: Vec<View<'_>> =
        details.iter().take(details::MAX_DETAILS).map(|detail| View::new(&detail.page)).collect();
    let candidates = match pages.split_first() {
        Some((first, further)) if help.is_empty() => lists(first, further, &views, options),
        _ => learn_with(pages, options, help)?,
    };
    let words: Vec<Words> = views.iter().map(|view| Words::new(&view.tokens)).collect();
    let addresses: Vec<Address> = details.iter().map(address).collect();
    let trees: Vec<&Tree> = views.iter().map(View::tree).collect();
    let pages = learn_pages(&trees, pages);
    let join = |candidate| joined(candidate, &words, &addresses, pages.as_ref());
    Ok(ListAndDetail { candidates: candidates.into_iter().map(join).collect(), pages })
}

/// The lists of the page, those that agree with the detail pages first.
fn lists(first: &Tree, further: &[Tree], details: &[View<'_>], options: &LearnOptions) -> Vec<Candidate> {
    let view = View::new(first);
    let further: Vec<View<'_>> = further.iter().map(View::new).collect();
    let evidence = Evidence::new(&view, &further, details);
    let segmentation = segmentation(&evidence);
    let mut ranked = rank::ranked(&view, row_sets(&view));
    ranked.extend(made(&view, &evidence, &segmentation, &ranked));
    for it in &mut ranked {
        it.score += AGREES * details::agreement(&evidence, &segmentation, &it.set.rows);
    }
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
    if let Some(wanted) = options.rows {
        ranked.sort_by_key(|it| it.set.rows.len() != wanted);
    }
    let shown = rank::shown(&view.tokens, ranked, options.top);
    let paths = &mut Paths::default();
    shown.into_iter().map(|it| candidate(&view, it, &further, paths)).collect()
}

/// By constraints where all of them can hold, by probability where list and detail pages contradict each other: so the paper
/// concludes.
fn segmentation(evidence: &Evidence) -> Segmentation {
    let exact = details::segment(evidence, Solver::Constraints);
    if exact.is_exact { exact } else { details::segment(evidence, Solver::Probability) }
}

/// Rows that the page does not offer by itself.
fn made(view: &View<'_>, evidence: &Evidence, segmentation: &Segmentation, offered: &[Ranked]) -> Vec<Ranked> {
    let is_new = |set: &RowSet| offered.iter().all(|it| it.set.rows != set.rows);
    let sets = details::row_sets(view, evidence, segmentation).into_iter().filter(is_new).collect();
    let mut made = rank::as_found(view, sets);
    let cost = if segmentation.is_exact { MADE_EXACTLY } else { MADE };
    for it in &mut made {
        it.score -= cost + if it.set.finder.reads_tokens() { CUT_BY_TOKENS } else { 0.0 };
    }
    made
}

fn joined(candidate: Candidate, details: &[Words], addresses: &[Address], pages: Option<&RecordPages>) -> Joined {
    let list = &candidate.table;
    let mut rows = merge::match_rows(list, details);
    let link = merge::link_column(list, &links(&candidate), &rows, details, addresses);
    if let Some(link) = link {
        rows = merge::follow_links(list, link, &rows);
    }
    let table = match pages {
        Some(pages) => {
            let row = |page: &Option<usize>| -> Option<Row> { pages.table.rows.get((*page)?).cloned() };
            let found: Vec<Option<Row>> = rows.iter().map(row).collect();
            merge::merge(list, &pages.table.columns, &found)
        }
        None => list.clone(),
    };
    Joined { details: rows, link, table, candidate }
}

/// The columns that are links.
fn links(candidate: &Candidate) -> Vec<usize> {
    let Some(variant) = candidate.template.variants.first() else { return Vec::new() };
    let is_link = |source: &Option<Source>| match source {
        Some(Source::Slot(slot)) => variant.slots[*slot].kind == LeafKind::Href,
        _ => false,
    };
    (0..variant.sources.len()).filter(|&i| is_link(&variant.sources[i])).collect()
}

/// The name of the page's file, and the address that it calls its own.
fn address(detail: &Detail) -> Address {
    let page = &detail.page;
    let says = |tag: &'static str, key: &'static str, word: &'static str, value: &'static str| {
        let node = page.elements(tag).find(|&node| page.attribute(node, key) == Some(word))?;
        page.attribute(node, value).map(str::to_owned)
    };
    let canonical = says("link", "rel", "canonical", "href").or_else(|| says("meta", "property", "og:url", "content"));
    Address { name: detail.name.clone(), canonical }
}
