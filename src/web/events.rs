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
use crate::show::Line;

use super::Shared;
use super::overview::Overview;
use super::route::Route;

/// Writes that come within this time are one piece of news.
const DEBOUNCE: Duration = Duration::from_millis(300);
/// How far a run is, is looked at so often; it is not in the store.
const WHILE_RUNNING: Duration = Duration::from_secs(1);
/// A task becomes overdue without anything being written.
const WHILE_QUIET: Duration = Duration::from_secs(10);
/// A page takes a daemon that says nothing for twenty seconds for dead (app.js).
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

/// Tells all open pages.
pub struct Feed(watch::Receiver<u64>);

impl Feed {
    pub fn start(overview: Overview) -> Feed {
        let (news, heard) = watch::channel(0);
        tokio::spawn(watch_out(overview, news));
        Feed(heard)
    }
}

pub fn routes() -> Vec<Route> {
    vec![Route::get("/events", events)]
}

async fn events(State(web): State<Shared>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let heard = web.feed.0.clone();
    let news = stream::unfold(heard, |mut heard| async move {
        heard.changed().await.ok()?;
        let number = *heard.borrow_and_update();
        Some((Ok(Event::default().event("changed").data(number.to_string())), heard))
    });
    let alive = Event::default().event("alive").data("yes");
    Sse::new(news).keep_alive(KeepAlive::new().interval(SIGN_OF_LIFE).event(alive))
}

/// What a page would show, as far as it can change by itself.
#[derive(PartialEq)]
struct Look {
    lines: Vec<Glimpse>,
    going: Vec<Progress>,
}

/// What of a line can change: its run, its state, its rows, its next time, what is wrong with it.
type Glimpse = (String, String, Option<u64>, Option<String>, Option<i64>, u32, Option<String>);

async fn watch_out(overview: Overview, news: watch::Sender<u64>) {
    let mut changes = overview.door().changes();
    let mut last: Option<Look> = None;
    loop {
        let pause = if overview.going().is_empty() { WHILE_QUIET } else { WHILE_RUNNING };
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
        let look = look(&lines, overview.going().into_values().collect());
        if last.as_ref().is_some_and(|last| *last != look) || last.is_none() {
            news.send_modify(|number| *number += 1);
        }
        last = Some(look);
    }
}

fn look(lines: &[Line], going: Vec<Progress>) -> Look {
    let now = Utc::now();
    let glimpse = |line: &Line| {
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
    Look { lines: lines.iter().map(glimpse).collect(), going }
}
