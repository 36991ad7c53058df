//! The child's `RunHost`: asks the parent for turns at hosts (rate limit) and for cached pages of earlier runs.

use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};

use url::Url;

use crate::model::{CachedPage, RobotsTxt};
use crate::protocol::{Job, Message, ParentAnswer};
use crate::robot::{Connector, HostFuture, RunHost};

use super::connector::ParentConnector;
use super::{ParentAnswers, report, report_with};

/// A task without a delay keeps its turn at a host this long: asking again for every page cost more than the page.
const TURN_HOLD: Duration = Duration::from_millis(100);

pub struct ParentHost {
    /// The host whose turn this run holds, and since when.
    held_turn: Option<(String, Instant)>,
    cached_pages: Vec<CachedPage>,
    robots: Vec<RobotsTxt>,
    connector: ParentConnector,
    answers: ParentAnswers,
}

impl ParentHost {
    pub fn new(job: &Job, door: ParentConnector, answers: ParentAnswers) -> ParentHost {
        ParentHost {
            held_turn: None,
            cached_pages: job.kept.clone(),
            robots: job.robots.clone(),
            connector: door,
            answers,
        }
    }

    /// Waits for the next answer that `wanted` accepts. One always comes: the parent's end ends this process.
    async fn wait_for_answer<T>(&mut self, wanted: impl Fn(ParentAnswer, Vec<u8>) -> Option<T>) -> T {
        loop {
            match self.answers.recv().await {
                Some((answer, raw)) => {
                    if let Some(found) = wanted(answer, raw) {
                        return found;
                    }
                }
                None => std::future::pending::<()>().await,
            }
        }
    }
}

impl RunHost for ParentHost {
    fn acquire_turn<'h>(&'h mut self, host: &'h str, delay: Duration) -> HostFuture<'h, Duration> {
        let is_ours = |(held, since): &(String, Instant)| held == host && since.elapsed() < TURN_HOLD;
        if delay.is_zero() && self.held_turn.as_ref().is_some_and(is_ours) {
            return Box::pin(std::future::ready(Duration::ZERO));
        }
        self.release_turn();
        if delay.is_zero() {
            self.held_turn = Some((host.to_owned(), Instant::now()));
        }
        report(&Message::Turn { host: host.to_owned(), delay_ms: ms(delay) });
        Box::pin(self.wait_for_answer(|answer, _| match answer {
            ParentAnswer::Turn { wait_ms } => Some(Duration::from_millis(wait_ms)),
            _ => None,
        }))
    }

    fn finish_turn(&mut self, pause: Duration) {
        if pause.is_zero() && self.held_turn.is_some() {
            return;
        }
        self.held_turn = None;
        report(&Message::TurnFinished { pause_ms: ms(pause) });
    }

    fn release_turn(&mut self) {
        if self.held_turn.take().is_some() {
            report(&Message::TurnFinished { pause_ms: 0 });
        }
    }

    fn connector(&self) -> Option<Arc<dyn Connector>> {
        Some(Arc::new(self.connector.clone()))
    }

    fn cached_page(&self, url: &Url) -> Option<&CachedPage> {
        self.cached_pages.iter().find(|page| page.url == *url)
    }

    fn cached_body<'h>(&'h mut self, url: &'h Url, most: u64) -> HostFuture<'h, Option<Vec<u8>>> {
        report(&Message::Body { url: url.clone() });
        Box::pin(self.wait_for_answer(move |answer, raw| match answer {
            ParentAnswer::Body { found } => Some(found.then(|| decompress(&raw, most)).flatten()),
            _ => None,
        }))
    }

    fn cache_page(&mut self, page: CachedPage, body: &[u8]) {
        if let Ok(packed) = zstd::encode_all(body, zstd::DEFAULT_COMPRESSION_LEVEL)
            && packed.len() <= CachedPage::MAX_BODY_BYTES
        {
            report_with(&Message::CachePage(page), &packed);
        }
    }

    fn evict_page(&mut self, url: &Url) {
        self.cached_pages.retain(|page| page.url != *url);
    }

    fn cached_robots_txt(&self, origin: &str) -> Option<&RobotsTxt> {
        self.robots.iter().find(|robots| robots.origin == origin)
    }

    fn cache_robots_txt(&mut self, robots: RobotsTxt) {
        report(&Message::Robots(robots));
    }
}

fn decompress(packed: &[u8], most: u64) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    zstd::Decoder::new(packed).ok()?.take(most + 1).read_to_end(&mut body).ok()?;
    (body.len() as u64 <= most).then_some(body)
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
