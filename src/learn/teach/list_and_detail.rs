//! Learns a list page together with detail pages of its records (Lerman et al.).

use super::error::HelpError;
use super::help::Help;
use super::located_help::learn_with;
use crate::learn::apply::merge::{self, DetailAddress, DetailWords};
use crate::learn::candidates::{Candidate, LearnOptions, RecordPages, TOKEN_REPEAT_PENALTY, candidate, learn_pages};
use crate::learn::rank::{self, RankedRowSet};
use crate::learn::rows::details::{self, Evidence, Segmentation};
use crate::learn::rows::{RowSet, row_sets};
use crate::learn::template::ColumnSource;
use crate::learn::view::{LeafKind, PageView, PathInterner};
use crate::model::{Row, Table};
use crate::page::Tree;

/// A detail page that a person gave.
pub struct DetailPage {
    pub page: Tree,
    /// Its file name.
    pub name: String,
}

/// What was learned from list and detail pages.
pub struct ListAndDetail {
    /// Lists of the first page; those that agree with the detail pages come first.
    pub candidates: Vec<JoinedCandidate>,
    /// Template and rows of the detail pages; `None` if they have no values of their own.
    pub pages: Option<RecordPages>,
}

pub struct JoinedCandidate {
    pub candidate: Candidate,
    /// Index of each row's detail page.
    pub details: Vec<Option<usize>>,
    /// The column of the list whose links lead to the detail pages.
    pub link: Option<usize>,
    /// List and detail columns, joined.
    pub table: Table,
}

/// Score bonus of rows that agree with the segmentation by detail pages: as much as labels (`located_help.rs`).
const AGREEMENT_WEIGHT: f64 = 5.0;
/// Score penalty of rows that only the segmentation proposes, since they agree with it by construction: as for matched
/// rows (`located_help.rs`), and less if nothing contradicts them.
const SEGMENTED_PENALTY: f64 = 1.5;
const EXACT_SEGMENTED_PENALTY: f64 = 0.5;
/// Additional penalty if these rows are not elements, as for the other token-based methods.
const TOKEN_ROWS_PENALTY: f64 = TOKEN_REPEAT_PENALTY;

/// As [`learn_with`], with detail pages of some or all records, in any order. Other help by a person takes precedence
/// in choosing the list.
pub fn learn_with_details(
    pages: &[Tree],
    details: &[DetailPage],
    options: &LearnOptions,
    help: &Help,
) -> Result<ListAndDetail, HelpError> {
    let views: Vec<PageView<'_>> =
        details.iter().take(details::MAX_DETAILS).map(|detail| PageView::new(&detail.page)).collect();
    let candidates = match pages.split_first() {
        Some((first, further)) if help.is_empty() => lists(first, further, &views, options),
        _ => learn_with(pages, options, help)?,
    };
    let words: Vec<DetailWords> = views.iter().map(|view| DetailWords::new(&view.tokens)).collect();
    let addresses: Vec<DetailAddress> = details.iter().map(address).collect();
    let trees: Vec<&Tree> = views.iter().map(PageView::tree).collect();
    let pages = learn_pages(&trees, pages);
    let join = |candidate| join_details(candidate, &words, &addresses, pages.as_ref());
    Ok(ListAndDetail { candidates: candidates.into_iter().map(join).collect(), pages })
}

/// The lists of the page; those that agree with the detail pages come first.
fn lists(first: &Tree, further: &[Tree], details: &[PageView<'_>], options: &LearnOptions) -> Vec<Candidate> {
    let view = PageView::new(first);
    let further: Vec<PageView<'_>> = further.iter().map(PageView::new).collect();
    let evidence = Evidence::new(&view, &further, details);
    let segmentation = details::segment(&evidence);
    let mut ranked = rank::rank(&view, row_sets(&view));
    ranked.extend(segmented_row_sets(&view, &evidence, &segmentation, &ranked));
    for it in &mut ranked {
        it.score += AGREEMENT_WEIGHT * details::agreement(&evidence, &segmentation, &it.set.rows);
    }
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
    if let Some(wanted) = options.rows {
        ranked.sort_by_key(|it| it.set.rows.len() != wanted);
    }
    let shown = rank::select_candidates(&view.tokens, ranked, options.top);
    let paths = &mut PathInterner::default();
    shown.into_iter().map(|it| candidate(None, &view, it, &further, paths)).collect()
}

/// Row sets from the segmentation that the page's finders do not propose.
fn segmented_row_sets(
    view: &PageView<'_>,
    evidence: &Evidence,
    segmentation: &Segmentation,
    offered: &[RankedRowSet],
) -> Vec<RankedRowSet> {
    let is_new = |set: &RowSet| offered.iter().all(|it| it.set.rows != set.rows);
    let sets = details::row_sets(view, evidence, segmentation).into_iter().filter(is_new).collect();
    let mut made = rank::measure_all(view, sets);
    let cost = if segmentation.is_exact { EXACT_SEGMENTED_PENALTY } else { SEGMENTED_PENALTY };
    for it in &mut made {
        it.score -= cost + if it.set.finder.is_token_based() { TOKEN_ROWS_PENALTY } else { 0.0 };
    }
    made
}

fn join_details(
    candidate: Candidate,
    details: &[DetailWords],
    addresses: &[DetailAddress],
    pages: Option<&RecordPages>,
) -> JoinedCandidate {
    let list = &candidate.table;
    let mut rows = merge::match_rows(list, details);
    let link = merge::link_column(list, &link_columns(&candidate), &rows, details, addresses);
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
    JoinedCandidate { details: rows, link, table, candidate }
}

/// The columns that are links.
fn link_columns(candidate: &Candidate) -> Vec<usize> {
    let Some(variant) = candidate.template.variants.first() else { return Vec::new() };
    let is_link = |source: &Option<ColumnSource>| match source {
        Some(ColumnSource::Slot(slot)) => variant.slots[*slot].kind == LeafKind::Href,
        _ => false,
    };
    (0..variant.sources.len()).filter(|&i| is_link(&variant.sources[i])).collect()
}

/// File name and canonical address of a detail page.
fn address(detail: &DetailPage) -> DetailAddress {
    let page = &detail.page;
    let says = |tag: &'static str, key: &'static str, word: &'static str, value: &'static str| {
        let node = page.elements(tag).find(|&node| page.attribute(node, key) == Some(word))?;
        page.attribute(node, value).map(str::to_owned)
    };
    let canonical = says("link", "rel", "canonical", "href").or_else(|| says("meta", "property", "og:url", "content"));
    DetailAddress { name: detail.name.clone(), canonical }
}
