//! Finds the list among the visits, and how it was used.

use std::collections::BTreeSet;

use super::super::pages::{are_on_page, longest_list, path_of};
use super::super::series::{Series, between, is_page_name};
use super::Visit;
use crate::page::pager;

#[derive(Debug)]
pub struct ListTarget {
    /// Index of the visit with its first page.
    pub first_visit: usize,
    pub continuation: Option<Continuation>,
    /// Number of visited detail pages.
    pub details: usize,
    /// It is JSON data, not a page.
    pub is_data: bool,
}

/// How the list continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Continuation {
    /// By a link that the robot finds automatically.
    NextLink,
    Counting(Series),
    /// By a value in the response: parameter and path.
    Cursor {
        name: String,
        path: String,
    },
}

pub fn find_list(visits: &[Visit]) -> Option<ListTarget> {
    find_data_list(visits)
        .or_else(|| find_paged_list(visits))
        .or_else(|| find_list_with_followed_rows(visits))
        .or_else(|| last_page(visits))
}

/// Data that no page shows: a list that a script renders.
fn find_data_list(visits: &[Visit]) -> Option<ListTarget> {
    let count = |visit: &Visit| visit.json.as_ref().map_or(0, |json| longest_list(json).len());
    let is_hidden = |index: usize| {
        let shown = visits[..index].iter().rev().find_map(|visit| visit.page.as_ref());
        let list = visits[index].json.as_ref().map(longest_list).unwrap_or_default();
        !list.is_empty() && !shown.is_some_and(|page| are_on_page(list, page))
    };
    let found: Vec<usize> = (0..visits.len()).filter(|&index| !visits[index].is_document && is_hidden(index)).collect();
    let most = found.iter().map(|&index| count(&visits[index])).max()?;
    // Pages of one list have a similar number of rows: the first of them is the start.
    let first = *found.iter().find(|&&index| count(&visits[index]) * 2 > most)?;
    let series = found
        .iter()
        .filter(|&&index| index > first)
        .find_map(|&index| continuation_between(&visits[first], &visits[index]));
    Some(ListTarget { first_visit: first, continuation: series, details: 0, is_data: true })
}

/// The last list that was paged through.
fn find_paged_list(visits: &[Visit]) -> Option<ListTarget> {
    let pages: Vec<usize> = (0..visits.len()).filter(|&index| visits[index].is_document).collect();
    let mut found = None;
    let mut inside: BTreeSet<usize> = BTreeSet::new();
    for (place, &first) in pages.iter().enumerate() {
        if inside.contains(&first) {
            continue;
        }
        for &next in pages[place + 1..].iter().filter(|&&next| visits[next].is_page()) {
            if let Some(series) = continuation_between(&visits[first], &visits[next]) {
                inside.insert(next);
                if found.as_ref().is_none_or(|(known, _)| *known != first) {
                    found = Some((first, series));
                }
            }
        }
    }
    let (first, series) = found?;
    Some(ListTarget {
        first_visit: first,
        continuation: Some(series),
        details: count_detail_visits(visits, first),
        is_data: false,
    })
}

/// The last page from which links of rows were followed.
fn find_list_with_followed_rows(visits: &[Visit]) -> Option<ListTarget> {
    let indices = (0..visits.len()).rev().filter(|&index| visits[index].is_document);
    // Learning takes some ten milliseconds per page.
    const LOOKED_AT: usize = 30;
    let mut counted = indices.take(LOOKED_AT).map(|index| (index, count_detail_visits(visits, index)));
    let (first, details) = counted.find(|(_, details)| *details > 0)?;
    // If the list was visited several times, the first visit shows the way to it.
    let first =
        visits.iter().position(|visit| visit.is_document && visit.url() == visits[first].url()).unwrap_or(first);
    Some(ListTarget { first_visit: first, continuation: next_link(&visits[first]), details, is_data: false })
}

fn last_page(visits: &[Visit]) -> Option<ListTarget> {
    let first = (0..visits.len()).rev().find(|&index| visits[index].is_document)?;
    Some(ListTarget { first_visit: first, continuation: next_link(&visits[first]), details: 0, is_data: false })
}

fn next_link(visit: &Visit) -> Option<Continuation> {
    let page = visit.page.as_ref()?;
    pager::next_link(&page.tree, &page.url).map(|_| Continuation::NextLink)
}

/// Visits after the list to pages of its rows.
fn count_detail_visits(visits: &[Visit], list: usize) -> usize {
    let later: BTreeSet<String> =
        visits[list + 1..].iter().filter(|visit| visit.is_page()).map(|visit| visit.request.url.to_string()).collect();
    match &visits[list].page {
        Some(page) if !later.is_empty() => page.row_links().intersection(&later).count(),
        _ => 0,
    }
}

/// True if one list continues with the other.
fn continuation_between(first: &Visit, second: &Visit) -> Option<Continuation> {
    let next = first.page.as_ref().and_then(|page| pager::next_link(&page.tree, &page.url));
    if next.as_ref() == Some(&second.request.url) {
        return Some(Continuation::NextLink);
    }
    if second.request.is_post() {
        return None;
    }
    let series = between(first.url(), &second.request.url)?;
    match &series {
        Series::Cursor { name, value } => {
            let path = path_of(first.json.as_ref()?, value)?;
            Some(Continuation::Cursor { name: name.clone(), path })
        }
        Series::Param { name, .. } if is_page_name(name) => Some(Continuation::Counting(series)),
        Series::Path { url, .. } if url.contains("/page/${page}") || url.contains("/p/${page}") => {
            Some(Continuation::Counting(series))
        }
        Series::Param { .. } | Series::Path { .. } => None,
    }
}
