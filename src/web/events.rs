//! News for open pages: that something of the tasks has changed, not what. A page then asks for itself again.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use chrono::Utc;
use futures_util::stream::{self, Stream};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::daemon::progress::Progress;
use crate::show::StatusLine;

use super::SharedState;
use super::overview::Overview;
use super::route::Route;

/// Writes that come within this time are one piece of news.
const DEBOUNCE: Duration = Duration::from_millis(300);
/// How far a run is, is looked at so often; it is not in the store.
const RUNNING_INTERVAL: Duration = Duration::from_secs(1);
/// A task becomes overdue without anything being written.
const IDLE_INTERVAL: Duration = Duration::from_secs(10);
/// A page takes a daemon that says nothing for twenty seconds for dead (app.js).
const KEEP_ALIVE: Duration = Duration::from_secs(5);

/// Tells all open pages.
pub struct ChangeFeed(watch::Receiver<u64>);

impl ChangeFeed {
    pub fn start(overview: Overview) -> ChangeFeed {
        let (news, heard) = watch::channel(0);
        tokio::spawn(publish_changes(overview, news));
        ChangeFeed(heard)
    }
}

pub fn routes() -> Vec<Route> {
    vec![Route::get("/events", events)]
}

async fn events(State(web): State<SharedState>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let heard = web.feed.0.clone();
    let news = stream::unfold(heard, |mut heard| async move {
        heard.changed().await.ok()?;
        let number = *heard.borrow_and_update();
        Some((Ok(Event::default().event("changed").data(number.to_string())), heard))
    });
    let alive = Event::default().event("alive").data("yes");
    Sse::new(news).keep_alive(KeepAlive::new().interval(KEEP_ALIVE).event(alive))
}

/// What a page would show, as far as it can change by itself.
#[derive(PartialEq)]
struct OverviewDigest {
    lines: Vec<LineDigest>,
    progress: Vec<Progress>,
}

/// What of a line can change: its run, its state, its rows, its next time, what is wrong with it.
type LineDigest = (String, String, Option<u64>, Option<String>, Option<i64>, u32, Option<String>);

async fn publish_changes(overview: Overview, news: watch::Sender<u64>) {
    let mut changes = overview.daemon().store_changes();
    let mut last: Option<OverviewDigest> = None;
    loop {
        let pause = if overview.progress().is_empty() { IDLE_INTERVAL } else { RUNNING_INTERVAL };
        if let Ok(Err(_)) = timeout(pause, changes.changed()).await {
            return;
        }
        sleep(DEBOUNCE).await;
        changes.mark_unchanged();
        // One receiver is our own: with nobody looking there is nothing to look for.
        if news.receiver_count() <= 1 {
            last = None;
            continue;
        }
        let Ok(lines) = overview.fresh().await else { continue };
        let look = digest(&lines, overview.progress().into_values().collect());
        if last.as_ref().is_some_and(|last| *last != look) || last.is_none() {
            news.send_modify(|number| *number += 1);
        }
        last = Some(look);
    }
}

fn digest(lines: &[StatusLine], going: Vec<Progress>) -> OverviewDigest {
    let now = Utc::now();
    let glimpse = |line: &StatusLine| {
        (
            line.task.to_string(),
            line.state_at(now).to_string(),
            line.rows,
            line.last_run.as_ref().map(|run| run.run.to_string()),
            line.next.map(|next| next.timestamp()),
            line.fails,
            line.problem.clone(),
        )
    };
    OverviewDigest { lines: lines.iter().map(glimpse).collect(), progress: going }
}
