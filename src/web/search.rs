//! `/search`: full-text search over the published rows. It changes nothing and shows only published rows, so it can be
//! served on an address of its own, without a login.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{ConnectInfo, Query, Request, State};
use axum::middleware::{self, Next};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use maud::{Markup, html};
use serde::Deserialize;
use url::form_urlencoded;

use crate::config::Config;
use crate::daemon::http::peer::{Peer, PeerLimit};
use crate::model::TaskName;
use crate::store::{self, Hit, Query as Words, QueryError, SearchResults, Snippet};

use super::auth;
use super::error;
use super::error::WebError;
use super::layout::{self, NavItem};
use super::read_pool::{ReadLimits, ReadPool};
use super::route::Route;
use super::session::SessionUser;
use super::{SharedState, asset_route, components};

/// Rows per page.
const HITS: u64 = 20;
/// Later pages are not served.
const MOST_PAGES: usize = 100;
/// Longer cells are truncated.
const MOST_CHARS: usize = 300;
/// Longer queries are truncated.
const MAX_QUERY_CHARS: usize = 200;

/// For strangers, who can ask for anything. The beginning of every word in 500,000 rows costs 200 MB, so one such query
/// runs at a time.
pub(super) const PUBLIC_LIMITS: ReadLimits = ReadLimits { readers: 1, queue: 64, longest: Duration::from_secs(5) };
/// Searches of one peer at the same time.
const MOST_PER_PEER: usize = 16;

/// What the public search page needs.
#[derive(Clone)]
pub(super) struct PublicSearch {
    reader: ReadPool,
    peers: PeerLimit,
}

pub(super) fn routes() -> Vec<Route> {
    vec![Route::get("/search", dashboard_page)]
}

/// The router of the separate search address.
pub(super) fn public_router(reader: ReadPool) -> Router {
    Router::new()
        .route("/", get(public_page))
        .route("/search", get(public_page))
        .route(asset_route::PATH, get(asset_route::asset))
        .fallback(error::no_such_page)
        .layer(middleware::from_fn_with_state(Arc::clone(&reader.config), check_loopback_host))
        .layer(middleware::from_fn(auth::add_security_headers))
        .with_state(PublicSearch { reader, peers: PeerLimit::new(MOST_PER_PEER) })
}

/// On a loopback address, refuses foreign Host headers. This stops DNS rebinding.
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
pub(super) struct SearchParams {
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
    State(search): State<PublicSearch>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Query(wanted): Query<SearchParams>,
) -> Result<Html<String>, WebError> {
    let _place = search.peers.enter(&peer).ok_or(WebError::Busy)?;
    let found = find(&search.reader, &wanted).await?;
    Ok(layout::public_page("Search", page(&wanted, &found, |_| None)))
}

/// Searches; an empty query finds nothing, an invalid one returns its error.
pub(super) async fn find(
    reader: &ReadPool,
    wanted: &SearchParams,
) -> Result<Result<SearchResults, QueryError>, WebError> {
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
            input #q type="search" name="q" value=(wanted.q) autofocus autocomplete="off"
                placeholder="Words, \"a phrase\", begin*, -not, column:word";
            noscript { button { "Search" } }
        }
        div #found data-live {
            @match found {
                Err(error) => p.empty { (error) },
                Ok(_) if wanted.q.trim().is_empty() => p.empty { "Type words that occur in a row." },
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
            @if answer.total == 0 { "No rows found." } @else {
                @if answer.is_total_capped { "More than " } (components::counted(answer.total, "row")) " found."
            }
            @if answer.unindexed_rows > 0 {
                " " (components::counted(answer.unindexed_rows, "row"))
                " published just now may not be in the index yet."
            }
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
            p.faint {
                @match link(&hit.task) { Some(link) => a href=(link) { (hit.task) }, None => (hit.task) }
                ", since " (components::time(Some(hit.first_seen), ""))
            }
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

/// The snippet with its matches highlighted.
fn highlighted(snippet: &Snippet) -> Markup {
    let letters: Vec<char> = snippet.text.chars().collect();
    let part = |from: usize, to: usize| letters.get(from..to).unwrap_or_default().iter().collect::<String>();
    let ends = std::iter::once(0).chain(snippet.marks.iter().map(|mark| mark.1));
    html! {
        @for (before, (from, to)) in ends.clone().zip(&snippet.marks) {
            (part(before, *from)) mark { (part(*from, *to)) }
        }
        (part(ends.last().unwrap_or(0), letters.len()))
    }
}
