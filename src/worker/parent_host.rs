//! The child's `RunHost`: asks the parent for turns at hosts (rate limit) and for cached pages of earlier runs.

use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};

use url::Url;

use crate::model::{CachedPage, RobotsTxt};
use crate::protocol::bounds::{MAX_HOST_BYTES, MAX_TIME_MS, cut};
use crate::protocol::{ChildSocket, FetchInput, FetchRequest, ParentAnswer, RunMessage};
use crate::robot::{Connector, HostFuture, LaunchedBrowser, RunHost, WalkInput};

use super::connector::ParentConnector;
use super::message_sender::{MessageSender, RequestSender};
use super::parent_listener::{ParentAnswers, StepCommands, listen_to_parent};

/// A task without a delay keeps its turn at a host this long: asking again for every page cost more than the page.
const TURN_HOLD: Duration = Duration::from_millis(100);

pub struct ParentHost {
    /// The host whose turn this run holds, and since when.
    held_turn: Option<(String, Instant)>,
    cached_pages: Vec<CachedPage>,
    robots: Vec<RobotsTxt>,
    connector: ParentConnector,
    requests: RequestSender,
    answers: ParentAnswers,
    /// Where pages are sent that the next run may need; none in a stepping session, which keeps nothing.
    page_cache: Option<MessageSender<RunMessage>>,
}

impl ParentHost {
    /// Starts to listen to the parent. Also returns the commands of a stepping session.
    pub fn connect(
        input: &FetchInput,
        inlet: ChildSocket,
        requests: RequestSender,
        page_cache: Option<MessageSender<RunMessage>>,
    ) -> (ParentHost, StepCommands) {
        let connector = ParentConnector::new(Arc::clone(&requests));
        let (answers, commands) = listen_to_parent(inlet, connector.clone());
        let host = ParentHost {
            held_turn: None,
            cached_pages: input.cached_pages.clone(),
            robots: input.robots.clone(),
            connector,
            requests,
            answers,
            page_cache,
        };
        (host, commands)
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
        // No host has a longer name; connecting to it fails.
        let host = cut(host.to_owned(), MAX_HOST_BYTES);
        (self.requests)(FetchRequest::Turn { host, delay_ms: ms(delay) });
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
        (self.requests)(FetchRequest::TurnFinished { pause_ms: ms(pause) });
    }

    fn release_turn(&mut self) {
        if self.held_turn.take().is_some() {
            (self.requests)(FetchRequest::TurnFinished { pause_ms: 0 });
        }
    }

    fn connector(&self) -> Option<Arc<dyn Connector>> {
        Some(Arc::new(self.connector.clone()))
    }

    fn cached_page(&self, url: &Url) -> Option<&CachedPage> {
        self.cached_pages.iter().find(|page| page.url == *url)
    }

    fn cached_body<'h>(&'h mut self, url: &'h Url, most: u64) -> HostFuture<'h, Option<Vec<u8>>> {
        (self.requests)(FetchRequest::Body { url: url.clone() });
        Box::pin(self.wait_for_answer(move |answer, raw| match answer {
            ParentAnswer::Body { found } => Some(found.then(|| decompress(&raw, most)).flatten()),
            _ => None,
        }))
    }

    fn cache_page(&mut self, page: CachedPage, body: &[u8]) {
        if let Some(sender) = &self.page_cache
            && let Ok(packed) = zstd::encode_all(body, zstd::DEFAULT_COMPRESSION_LEVEL)
            && packed.len() <= CachedPage::MAX_BODY_BYTES
        {
            // Over the budget, later runs fetch it again; here and below.
            let _ = sender.send(&RunMessage::CachePage(page), &packed);
        }
    }

    fn evict_page(&mut self, url: &Url) {
        self.cached_pages.retain(|page| page.url != *url);
    }

    fn cached_robots_txt(&self, origin: &str) -> Option<&RobotsTxt> {
        self.robots.iter().find(|robots| robots.origin == origin)
    }

    fn cache_robots_txt(&mut self, robots: RobotsTxt) {
        // Invalid bytes become longer when they are replaced.
        if let Some(sender) = self.page_cache.as_ref().filter(|_| robots.text.len() <= RobotsTxt::MAX_BYTES) {
            let _ = sender.send(&RunMessage::Robots(robots), &[]);
        }
    }
}

fn decompress(packed: &[u8], most: u64) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    zstd::Decoder::new(packed).ok()?.take(most + 1).read_to_end(&mut body).ok()?;
    (body.len() as u64 <= most).then_some(body)
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).min(MAX_TIME_MS)
}

pub fn walk_input<'a>(input: &'a FetchInput, browser: Option<&'a LaunchedBrowser>, deadline: Instant) -> WalkInput<'a> {
    WalkInput {
        task: &input.task,
        script: &input.script,
        addresses: &input.addresses,
        secrets: &input.secrets.0,
        files: &input.files,
        cookies: input.cookies.as_deref(),
        deadline,
        browser,
    }
}
