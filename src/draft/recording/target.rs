//! Which of the visits is the list, and what was done with it.

use std::collections::BTreeSet;

use super::super::pages::{are_on_page, longest_list, path_of};
use super::super::series::{Series, between, is_page_name};
use super::Visit;
use crate::robot::pager;

/// The list.
#[derive(Debug)]
pub struct ListTarget {
    /// Its first page.
    pub first_visit: usize,
    pub continuation: Option<Continuation>,
    /// How many pages behind its rows were visited.
    pub details: usize,
    /// It is data, not a page.
    pub is_data: bool,
}

/// How the list goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Continuation {
    /// By a link that the robot finds by itself.
    NextLink,
    Counting(Series),
    /// By something in the answer: parameter and place.
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

/// Data that no page shows: the list that a script draws.
fn find_data_list(visits: &[Visit]) -> Option<ListTarget> {
    let count = |visit: &Visit| visit.json.as_ref().map_or(0, |json| longest_list(json).len());
    let is_hidden = |index: usize| {
        let shown = visits[..index].iter().rev().find_map(|visit| visit.page.as_ref());
        let list = visits[index].json.as_ref().map(longest_list).unwrap_or_default();
        !list.is_empty() && !shown.is_some_and(|page| are_on_page(list, page))
    };
    let found: Vec<usize> = (0..visits.len()).filter(|&index| !visits[index].is_document && is_hidden(index)).collect();
    let most = found.iter().map(|&index| count(&visits[index])).max()?;
    // Pages of one list have about as many rows: the first of them is where it begins.
    let first = *found.iter().find(|&&index| count(&visits[index]) * 2 > most)?;
    let series = found
        .iter()
        .filter(|&&index| index > first)
        .find_map(|&index| continuation_between(&visits[first], &visits[index]));
    Some(ListTarget { first_visit: first, continuation: series, details: 0, is_data: true })
}

/// The last of the lists that somebody has paged through.
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

/// The last page whose rows' links were followed.
fn find_list_with_followed_rows(visits: &[Visit]) -> Option<ListTarget> {
    let indices = (0..visits.len()).rev().filter(|&index| visits[index].is_document);
    // Learning costs some ten milliseconds a page.
    const LOOKED_AT: usize = 30;
    let mut counted = indices.take(LOOKED_AT).map(|index| (index, count_detail_visits(visits, index)));
    let (first, details) = counted.find(|(_, details)| *details > 0)?;
    // Somebody who came back to the list has seen it before: the first time is the way there.
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

/// Visits after the list that lead to one of its rows.
fn count_detail_visits(visits: &[Visit], list: usize) -> usize {
    let later: BTreeSet<String> =
        visits[list + 1..].iter().filter(|visit| visit.is_page()).map(|visit| visit.request.url.to_string()).collect();
    match &visits[list].page {
        Some(page) if !later.is_empty() => page.row_links().intersection(&later).count(),
        _ => 0,
    }
}

/// Does the one list go on with the other?
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
