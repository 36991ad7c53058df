//! `/search`: words in, published rows out. It changes nothing and tells nothing but what is published, so it can stand on an
//! address of its own, for everybody.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Query, Request, State};
use axum::middleware::{self, Next};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use maud::{Markup, html};
use serde::{Deserialize, Serialize};
use url::form_urlencoded;

use crate::config::Config;
use crate::model::TaskName;
use crate::store::{Browse, Store, StoreError};

use super::gate::{self, Visitor};
use super::layout::{self, Here};
use super::reader::Reader;
use super::route::Route;
use super::trouble::{self, Trouble};
use super::{Shared, assets, parts};

/// Rows of one page.
const HITS: usize = 20;
/// Longer texts of a row are cut.
const MOST_CHARS: usize = 300;
/// More words than that are not looked for.
const MOST_WORDS_CHARS: usize = 200;

pub fn routes() -> Vec<Route> {
    vec![Route::get("/search", within)]
}

/// The search page by itself.
pub fn alone(reader: Reader) -> Router {
    Router::new()
        .route("/", get(outside))
        .route("/search", get(outside))
        .route("/assets/{version}/{name}", get(assets::asset))
        .fallback(trouble::no_such_page)
        .layer(middleware::from_fn_with_state(Arc::clone(&reader.config), only_here))
        .layer(middleware::from_fn(gate::headers))
        .with_state(reader)
}

/// Where it is served to this machine alone, a page of the web whose name leads here reads nothing.
async fn only_here(State(config): State<Arc<Config>>, request: Request, next: Next) -> Response {
    let is_open = matches!(&config.web.search, crate::config::Place::Tcp(at) if !at.ip().is_loopback());
    if is_open || gate::is_known(&config, request.headers()) {
        next.run(request).await
    } else {
        Trouble::ForeignHost.into_response()
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Wanted {
    pub q: String,
    pub page: usize,
}

/// A row that has the words.
#[derive(Clone, Debug, Serialize)]
pub struct Hit {
    pub task: TaskName,
    pub title: Option<String>,
    /// The row's cells that are not empty, under their columns.
    pub row: Vec<(String, String)>,
}

/// What was found, one page of it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Found {
    pub hits: Vec<Hit>,
    pub more: bool,
}

async fn within(
    State(web): State<Shared>,
    visitor: Visitor,
    Query(wanted): Query<Wanted>,
) -> Result<Html<String>, Trouble> {
    let found = find(&web.reader, &wanted).await?;
    let link = |task: &TaskName| Some(format!("/task/{task}"));
    Ok(layout::page(&visitor, Here::Search, "Search", page(&wanted, &found, link)))
}

async fn outside(State(reader): State<Reader>, Query(wanted): Query<Wanted>) -> Result<Html<String>, Trouble> {
    let found = find(&reader, &wanted).await?;
    Ok(layout::bare("Search", page(&wanted, &found, |_| None)))
}

pub async fn find(reader: &Reader, wanted: &Wanted) -> Result<Found, Trouble> {
    let words: String = wanted.q.trim().chars().take(MOST_WORDS_CHARS).collect();
    if words.is_empty() {
        return Ok(Found::default());
    }
    let skip = (wanted.page.clamp(1, 1_000) - 1) * HITS;
    reader.read(move |store| look_through(store, &words, skip)).await
}

/// Task by task, as the filter of a task's rows does it.
fn look_through(store: &Store, words: &str, skip: usize) -> Result<Found, StoreError> {
    let mut hits = Vec::new();
    for task in store.tasks()?.into_iter().filter(|task| task.published_rows.is_some()) {
        let limit = (skip + HITS + 1 - hits.len()) as u64;
        let browse = Browse { has: Some(words.to_owned()), limit, ..Browse::default() };
        let Some(rows) = store.browse(&task.name, &browse)? else { continue };
        for row in rows.table.rows {
            let cells = rows.table.columns.iter().zip(row.cells);
            let filled = cells.filter_map(|(name, cell)| Some((name.clone(), cell.filter(|it| !it.is_empty())?)));
            hits.push(Hit { task: task.name.clone(), title: task.title.clone(), row: filled.collect() });
        }
        if hits.len() > skip + HITS {
            break;
        }
    }
    let more = hits.len() > skip + HITS;
    Ok(Found { hits: hits.into_iter().skip(skip).take(HITS).collect(), more })
}

fn page(wanted: &Wanted, found: &Found, link: impl Fn(&TaskName) -> Option<String>) -> Markup {
    let here = wanted.page.max(1);
    let address = |page: usize| {
        let query = form_urlencoded::Serializer::new(String::new()).append_pair("q", &wanted.q).finish();
        format!("/search?{query}&page={page}")
    };
    html! {
        h1 { "Search" }
        form.filter role="search" data-filter action="/search" {
            label.sr for="q" { "Words" }
            input #q type="search" name="q" value=(wanted.q) placeholder="Words in a row" autofocus autocomplete="off";
            noscript { button { "Search" } }
        }
        div #found data-live {
            @if wanted.q.trim().is_empty() { p.empty { "Type words that stand in a row." } }
            @else if found.hits.is_empty() { p.empty { "Nothing was found." } }
            @else {
                ol.hits { @for hit in &found.hits { (shown(hit, &link)) } }
                (parts::pager(here, here + usize::from(found.more), address))
            }
        }
    }
}

fn shown(hit: &Hit, link: &impl Fn(&TaskName) -> Option<String>) -> Markup {
    let name = hit.title.as_deref().unwrap_or(hit.task.as_str());
    html! {
        li.card {
            p.faint { @match link(&hit.task) { Some(link) => a href=(link) { (name) }, None => (name) } }
            dl.facts { @for (column, text) in &hit.row { dt { (column) } dd { (parts::text(text, MOST_CHARS)) } } }
        }
    }
}
