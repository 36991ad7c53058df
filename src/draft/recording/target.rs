//! Which of the visits is the list, and what was done with it.

use std::collections::BTreeSet;

use super::super::pages::{are_shown, path_of, rows};
use super::super::series::{Series, between, is_page_name};
use super::Visit;
use crate::robot::pager;

/// The list.
#[derive(Debug)]
pub struct Target {
    /// Its first page.
    pub first: usize,
    pub series: Option<Goes>,
    /// How many pages behind its rows were visited.
    pub details: usize,
    /// It is data, not a page.
    pub is_data: bool,
}

/// How the list goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Goes {
    /// By a link that the robot finds by itself.
    ByItself,
    By(Series),
    /// By something in the answer: parameter and place.
    Cursor {
        name: String,
        path: String,
    },
}

pub fn find(visits: &[Visit]) -> Option<Target> {
    data(visits).or_else(|| paged(visits)).or_else(|| clicked(visits)).or_else(|| last(visits))
}

/// Data that no page shows: the list that a script draws.
fn data(visits: &[Visit]) -> Option<Target> {
    let count = |visit: &Visit| visit.json.as_ref().map_or(0, |json| rows(json).len());
    let is_hidden = |index: usize| {
        let shown = visits[..index].iter().rev().find_map(|visit| visit.page.as_ref());
        let list = visits[index].json.as_ref().map(rows).unwrap_or_default();
        !list.is_empty() && !shown.is_some_and(|page| are_shown(list, page))
    };
    let found: Vec<usize> = (0..visits.len()).filter(|&index| !visits[index].is_document && is_hidden(index)).collect();
    let most = found.iter().map(|&index| count(&visits[index])).max()?;
    // Pages of one list have about as many rows: the first of them is where it begins.
    let first = *found.iter().find(|&&index| count(&visits[index]) * 2 > most)?;
    let series = found.iter().filter(|&&index| index > first).find_map(|&index| goes(&visits[first], &visits[index]));
    Some(Target { first, series, details: 0, is_data: true })
}

/// The last of the lists that somebody has paged through.
fn paged(visits: &[Visit]) -> Option<Target> {
    let pages: Vec<usize> = (0..visits.len()).filter(|&index| visits[index].is_document).collect();
    let mut found = None;
    let mut inside: BTreeSet<usize> = BTreeSet::new();
    for (place, &first) in pages.iter().enumerate() {
        if inside.contains(&first) {
            continue;
        }
        for &next in pages[place + 1..].iter().filter(|&&next| visits[next].is_page()) {
            if let Some(series) = goes(&visits[first], &visits[next]) {
                inside.insert(next);
                if found.as_ref().is_none_or(|(known, _)| *known != first) {
                    found = Some((first, series));
                }
            }
        }
    }
    let (first, series) = found?;
    Some(Target { first, series: Some(series), details: details(visits, first), is_data: false })
}

/// The last page whose rows' links were followed.
fn clicked(visits: &[Visit]) -> Option<Target> {
    let indices = (0..visits.len()).rev().filter(|&index| visits[index].is_document);
    // Learning costs some ten milliseconds a page.
    const LOOKED_AT: usize = 30;
    let mut counted = indices.take(LOOKED_AT).map(|index| (index, details(visits, index)));
    let (first, details) = counted.find(|(_, details)| *details > 0)?;
    // Somebody who came back to the list has seen it before: the first time is the way there.
    let first =
        visits.iter().position(|visit| visit.is_document && visit.url() == visits[first].url()).unwrap_or(first);
    Some(Target { first, series: by_itself(&visits[first]), details, is_data: false })
}

fn last(visits: &[Visit]) -> Option<Target> {
    let first = (0..visits.len()).rev().find(|&index| visits[index].is_document)?;
    Some(Target { first, series: by_itself(&visits[first]), details: 0, is_data: false })
}

fn by_itself(visit: &Visit) -> Option<Goes> {
    let page = visit.page.as_ref()?;
    pager::next_link(&page.tree, &page.url).map(|_| Goes::ByItself)
}

/// Visits after the list that lead to one of its rows.
fn details(visits: &[Visit], list: usize) -> usize {
    let later: BTreeSet<String> =
        visits[list + 1..].iter().filter(|visit| visit.is_page()).map(|visit| visit.asked.url.to_string()).collect();
    match &visits[list].page {
        Some(page) if !later.is_empty() => page.row_links().intersection(&later).count(),
        _ => 0,
    }
}

/// Does the one list go on with the other?
fn goes(first: &Visit, second: &Visit) -> Option<Goes> {
    let next = first.page.as_ref().and_then(|page| pager::next_link(&page.tree, &page.url));
    if next.as_ref() == Some(&second.asked.url) {
        return Some(Goes::ByItself);
    }
    if second.asked.is_post() {
        return None;
    }
    let series = between(first.url(), &second.asked.url)?;
    match &series {
        Series::Cursor { name, value } => {
            let path = path_of(first.json.as_ref()?, value)?;
            Some(Goes::Cursor { name: name.clone(), path })
        }
        Series::Param { name, .. } if is_page_name(name) => Some(Goes::By(series)),
        Series::Path { url, .. } if url.contains("/page/${page}") || url.contains("/p/${page}") => {
            Some(Goes::By(series))
        }
        Series::Param { .. } | Series::Path { .. } => None,
    }
}
