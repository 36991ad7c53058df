//! Server-sent events for open pages. An event says that some task changed, not what; the page then renews its live
//! parts.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use chrono::Utc;
use futures_util::stream::{self, Stream};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::daemon::runs::progress::Progress;
use crate::show::StatusLine;

use super::SharedState;
use super::overview::Overview;

/// Writes within this time make one event.
const DEBOUNCE: Duration = Duration::from_millis(300);
/// How often what no write of this daemon announces is compared: the progress of runs, a task that becomes overdue, the
/// writes of other daemons.
const COMPARE_INTERVAL: Duration = Duration::from_secs(1);
/// A page considers the daemon gone after 20 s of silence (app.js).
const KEEP_ALIVE: Duration = Duration::from_secs(5);

/// Wakes all open pages when a task changes.
pub(super) struct ChangeFeed(watch::Receiver<u64>);

impl ChangeFeed {
    pub fn start(overview: Overview) -> ChangeFeed {
        let (news, heard) = watch::channel(0);
        tokio::spawn(publish_changes(overview, news));
        ChangeFeed(heard)
    }
}

pub(super) async fn events(State(web): State<SharedState>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let heard = web.feed.0.clone();
    let news = stream::unfold(heard, |mut heard| async move {
        heard.changed().await.ok()?;
        let number = *heard.borrow_and_update();
        Some((Ok(Event::default().event("changed").data(number.to_string())), heard))
    });
    let alive = Event::default().event("alive").data("yes");
    Sse::new(news).keep_alive(KeepAlive::new().interval(KEEP_ALIVE).event(alive))
}

/// The parts of the status page that can change without an action of its reader.
#[derive(PartialEq)]
struct OverviewDigest {
    lines: Vec<LineDigest>,
    progress: Vec<Progress>,
}

/// Of one task: name, state, rows, last run, next run, failures in a row, configuration problem.
type LineDigest = (String, String, Option<u64>, Option<String>, Option<i64>, u32, Option<String>);

async fn publish_changes(overview: Overview, news: watch::Sender<u64>) {
    let mut changes = overview.daemon.store_changes();
    let mut last: Option<OverviewDigest> = None;
    loop {
        if let Ok(Err(_)) = timeout(COMPARE_INTERVAL, changes.changed()).await {
            return;
        }
        sleep(DEBOUNCE).await;
        changes.mark_unchanged();
        // One receiver is our own. Without others no page is open, and nothing needs to be compared.
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
