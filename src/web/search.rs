//! `/search`: words in, published rows out. It changes nothing and tells nothing but what is published, so it can stand on an
//! address of its own, for everybody.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Query, Request, State};
use axum::middleware::{self, Next};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use maud::{Markup, html};
use serde::Deserialize;
use url::form_urlencoded;

use crate::config::Config;
use crate::model::TaskName;
use crate::store::{self, Hit, Query as Words, QueryError, SearchResults, Snippet};

use super::auth;
use super::auth::SessionUser;
use super::error;
use super::error::WebError;
use super::layout::{self, NavItem};
use super::read_pool::ReadPool;
use super::route::Route;
use super::{SharedState, assets, components};

/// Rows of one page.
const HITS: u64 = 20;
/// Nobody reads further.
const MOST_PAGES: usize = 100;
/// Longer texts of a row are cut.
const MOST_CHARS: usize = 300;
/// More words than that are not looked for.
const MAX_QUERY_CHARS: usize = 200;

pub fn routes() -> Vec<Route> {
    vec![Route::get("/search", dashboard_page)]
}

/// The search page by itself.
pub fn public_router(reader: ReadPool) -> Router {
    Router::new()
        .route("/", get(public_page))
        .route("/search", get(public_page))
        .route("/assets/{version}/{name}", get(assets::asset))
        .fallback(error::no_such_page)
        .layer(middleware::from_fn_with_state(Arc::clone(&reader.config), check_loopback_host))
        .layer(middleware::from_fn(auth::add_security_headers))
        .with_state(reader)
}

/// Where it is served to this machine alone, a page of the web whose name leads here reads nothing.
async fn check_loopback_host(State(config): State<Arc<Config>>, request: Request, next: Next) -> Response {
    let is_open = matches!(&config.web.search, crate::config::ListenAddress::Tcp(at) if !at.ip().is_loopback());
    if is_open || auth::is_allowed_host(&config, request.headers()) {
        next.run(request).await
    } else {
        WebError::ForeignHost.into_response()
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct SearchParams {
    pub q: String,
    pub page: usize,
}

async fn dashboard_page(
    State(web): State<SharedState>,
    visitor: SessionUser,
    Query(wanted): Query<SearchParams>,
) -> Result<Html<String>, WebError> {
    let found = find(&web.store, &wanted).await?;
    let link = |task: &TaskName| Some(format!("/task/{task}"));
    Ok(layout::page(&visitor, NavItem::Search, "Search", page(&wanted, &found, link)))
}

async fn public_page(
    State(reader): State<ReadPool>,
    Query(wanted): Query<SearchParams>,
) -> Result<Html<String>, WebError> {
    let found = find(&reader, &wanted).await?;
    Ok(layout::public_page("Search", page(&wanted, &found, |_| None)))
}

/// Nothing where nothing is looked for; a sentence where it cannot be.
pub async fn find(reader: &ReadPool, wanted: &SearchParams) -> Result<Result<SearchResults, QueryError>, WebError> {
    let words: String = wanted.q.trim().chars().take(MAX_QUERY_CHARS).collect();
    if words.is_empty() {
        return Ok(Ok(SearchResults::default()));
    }
    let query = match Words::parse(&words, None) {
        Ok(query) => query,
        Err(error) => return Ok(Err(error)),
    };
    let offset = (wanted.page.clamp(1, MOST_PAGES) as u64 - 1) * HITS;
    let wanted = store::SearchRequest { query, tasks: Vec::new(), limit: HITS, offset };
    reader.read(move |store| store.search(&wanted)).await.map(Ok)
}

fn page(
    wanted: &SearchParams,
    found: &Result<SearchResults, QueryError>,
    link: impl Fn(&TaskName) -> Option<String>,
) -> Markup {
    html! {
        h1 { "Search" }
        form.filter role="search" data-filter action="/search" {
            label.sr for="q" { "Words" }
            input #q type="search" name="q" value=(wanted.q) placeholder="Words, \"a phrase\", begin*, -not, column:word" autofocus autocomplete="off";
            noscript { button { "Search" } }
        }
        div #found data-live {
            @match found {
                Err(error) => p.empty { (error) },
                Ok(_) if wanted.q.trim().is_empty() => p.empty { "Type words that stand in a row." },
                Ok(answer) => (hits(wanted, answer, link)),
            }
        }
    }
}

fn hits(wanted: &SearchParams, answer: &SearchResults, link: impl Fn(&TaskName) -> Option<String>) -> Markup {
    let here = wanted.page.clamp(1, MOST_PAGES);
    let address = |page: usize| {
        let query = form_urlencoded::Serializer::new(String::new()).append_pair("q", &wanted.q).finish();
        format!("/search?{query}&page={page}")
    };
    let pages = usize::try_from(answer.total.div_ceil(HITS)).unwrap_or(MOST_PAGES).min(MOST_PAGES);
    html! {
        p.faint {
            @if answer.total == 0 { "Nothing was found." } @else {
                @if answer.is_total_capped { "More than " } (components::number(answer.total)) " found."
            }
            @if answer.unindexed_rows > 0 { " " (components::number(answer.unindexed_rows)) " rows that were published just now may not be in the index yet." }
        }
        ol.hits { @for hit in &answer.hits { (hit_row(hit, &link)) } }
        (components::pager(here, pages, address))
    }
}

fn hit_row(hit: &Hit, link: &impl Fn(&TaskName) -> Option<String>) -> Markup {
    let snippets = hit.snippets();
    let cells = hit.columns.iter().zip(&hit.row.cells);
    let filled = cells.filter_map(|(name, cell)| Some((name, cell.as_deref().filter(|it| !it.is_empty())?)));
    html! {
        li.card {
            p.faint { @match link(&hit.task) { Some(link) => a href=(link) { (hit.task) }, None => (hit.task) } ", since " (components::time(Some(hit.first_seen), "")) }
            dl.facts { @for (column, text) in filled {
                dt { (column) }
                dd { @match snippets.iter().find(|(name, _)| name == column) {
                    Some((_, snippet)) => (highlighted(snippet)),
                    None => (components::text(text, MOST_CHARS)),
                } }
            } }
        }
    }
}

/// What was found stands out.
fn highlighted(snippet: &Snippet) -> Markup {
    let letters: Vec<char> = snippet.text.chars().collect();
    let part = |from: usize, to: usize| letters.get(from..to).unwrap_or_default().iter().collect::<String>();
    let ends = std::iter::once(0).chain(snippet.marks.iter().map(|mark| mark.1));
    html! {
        @for (before, (from, to)) in ends.clone().zip(&snippet.marks) { (part(before, *from)) mark { (part(*from, *to)) } }
        (part(ends.last().unwrap_or(0), letters.len()))
    }
}
