//! Answers the requests of a child during a run: turns at hosts, connections, cached pages and robots.txt files. A
//! child is not trusted: every request is bounded by the limits here.

use std::time::Duration;

use chrono::{DateTime, Utc};
use url::Url;

use crate::due;
use crate::model::{AddressGrants, CachedPage, RobotsTxt, RunId};
use crate::protocol::{FetchRequest, ParentAnswer};
use crate::tasks;
use crate::tasks::{PageCache, TaskFolder};

use super::answers::{AnswerSender, ChildAnswer};
use super::connector::ChildConnector;
use super::host_limiter::SharedHostLimiter;

/// The longest crawl delay of a robots.txt that is honoured; a task's `fetch.delay` may be longer.
const MAX_DELAY: Duration = Duration::from_secs(60);
/// No child can block a host for other tasks for longer than this, nor for longer than until its own next run
/// (docs/design/safety.md 6.23). A host that needs a longer pause asks for it again at the next request.
const MAX_PAUSE: Duration = Duration::from_secs(3600);
/// Turns that are reserved with the other daemons at a time; then the run waits for the store.
const TURNS_PER_WAIT: u32 = 64;

pub struct ChildRequests {
    run: RunId,
    folder: TaskFolder,
    host_limiter: SharedHostLimiter,
    answers: AnswerSender,
    connector: ChildConnector,
    page_cache: PageCache,
    robots: Vec<RobotsTxt>,
    /// Turns since the store was last waited for.
    turns: u32,
}

impl ChildRequests {
    /// Registers the run with the host limiter; it has no turn yet.
    pub fn open(
        run: RunId,
        folder: &TaskFolder,
        grants: &AddressGrants,
        turns: SharedHostLimiter,
        answers: AnswerSender,
    ) -> ChildRequests {
        turns.register(run, answers.clone());
        let kept = PageCache::read(&folder.dir);
        let broker = ChildConnector::new(&folder.task, &folder.script, grants, answers.clone());
        ChildRequests {
            run,
            folder: folder.clone(),
            host_limiter: turns,
            answers,
            connector: broker,
            page_cache: kept,
            robots: Vec::new(),
            turns: 0,
        }
    }

    /// What the run may reuse.
    pub fn cached_pages(&self) -> Vec<CachedPage> {
        self.page_cache.pages()
    }

    /// Blocks while the child does not read its answers.
    pub fn answer(&mut self, request: FetchRequest, now: DateTime<Utc>) {
        self.answers.wait_for_room();
        match request {
            FetchRequest::Turn { host, delay_ms } => self.request_turn(&host, delay_ms),
            FetchRequest::TurnFinished { pause_ms } => self.release_turn(pause_ms, now),
            FetchRequest::Body { url } => self.send_cached_body(&url, now),
            FetchRequest::Connect { question, host, port } => self.connector.connect(question, host, port),
        }
    }

    fn request_turn(&mut self, host: &str, delay_ms: u64) {
        self.wait_for_fleet();
        let most = MAX_DELAY.max(self.folder.task.fetch.delay.0);
        self.host_limiter.request_turn(self.run, host, Duration::from_millis(delay_ms).min(most));
    }

    fn release_turn(&mut self, pause_ms: u64, now: DateTime<Utc>) {
        self.wait_for_fleet();
        let due = due::next_due(&self.folder.task.schedule, now, &self.folder.name);
        let period = due.ok().and_then(|due| (due.start_at - now).to_std().ok()).unwrap_or(MAX_PAUSE);
        self.host_limiter.release_turn(self.run, Duration::from_millis(pause_ms).min(period).min(MAX_PAUSE));
    }

    /// Turns are sent to the store without waiting for it; a child that asks and asks would fill its queue.
    fn wait_for_fleet(&mut self) {
        self.turns += 1;
        if self.turns >= TURNS_PER_WAIT {
            self.turns = 0;
            self.host_limiter.wait_for_fleet();
        }
    }

    /// Releases the host while the child waits for a person.
    pub fn release_while_idle(&self) {
        self.host_limiter.release_while_idle(self.run);
    }

    pub fn keep_page(&mut self, page: CachedPage, body: &[u8], now: DateTime<Utc>) {
        if let Err(error) = self.page_cache.put(page, body, now) {
            tracing::warn!(task = %self.folder.name, "{}: caching a page failed: {error}", self.folder.name);
        }
    }

    fn send_cached_body(&mut self, url: &Url, now: DateTime<Utc>) {
        let body = self.page_cache.body(url, now);
        let answer = ParentAnswer::Body { found: body.is_some() };
        // A child that has ended needs no answer.
        self.answers.send(ChildAnswer::Reply(answer, body.unwrap_or_default()));
    }

    pub fn keep_robots(&mut self, robots: RobotsTxt) {
        self.robots.push(robots);
    }

    /// Writes the caches after the child's last message.
    pub fn save(mut self) {
        let mut written = self.page_cache.write();
        let robots = std::mem::take(&mut self.robots);
        if !robots.is_empty() {
            written = written.and(tasks::write_robots(&self.folder.dir, robots));
        }
        if let Err(error) = written {
            tracing::warn!(task = %self.folder.name, "{}: writing the page cache failed: {error}", self.folder.name);
        }
    }
}

impl Drop for ChildRequests {
    /// However the run ended, its turns are released and its channel is closed.
    fn drop(&mut self) {
        self.host_limiter.unregister(self.run);
    }
}
