//! The child's side of what it asks of its parent: turns at hosts, and pages of earlier runs.

use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};

use url::Url;

use crate::model::{KeptPage, RobotsTxt};
use crate::robot::{Answered, Door, Home};
use crate::wire::{Answer, Assignment, Message};

use super::door::ParentDoor;
use super::{Answers, report, report_with};

/// A task that wants no delay keeps its turn at a host this long: asking again for every page cost more than the page.
const HELD_FOR: Duration = Duration::from_millis(100);

pub struct Parent {
    /// The host whose turn is ours, and since when.
    held: Option<(String, Instant)>,
    kept: Vec<KeptPage>,
    robots: Vec<RobotsTxt>,
    door: ParentDoor,
    answers: Answers,
}

impl Parent {
    pub fn new(assignment: &Assignment, door: ParentDoor, answers: Answers) -> Parent {
        Parent { held: None, kept: assignment.kept.clone(), robots: assignment.robots.clone(), door, answers }
    }

    /// The next answer that is one to this question. There is always one: a parent that is gone ends this process.
    async fn answer<T>(&mut self, wanted: impl Fn(Answer, Vec<u8>) -> Option<T>) -> T {
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

impl Home for Parent {
    fn turn<'h>(&'h mut self, host: &'h str, delay: Duration) -> Answered<'h, Duration> {
        let is_ours = |(held, since): &(String, Instant)| held == host && since.elapsed() < HELD_FOR;
        if delay.is_zero() && self.held.as_ref().is_some_and(is_ours) {
            return Box::pin(std::future::ready(Duration::ZERO));
        }
        self.rest();
        if delay.is_zero() {
            self.held = Some((host.to_owned(), Instant::now()));
        }
        report(&Message::Turn { host: host.to_owned(), delay_ms: ms(delay) });
        Box::pin(self.answer(|answer, _| match answer {
            Answer::Turn { wait_ms } => Some(Duration::from_millis(wait_ms)),
            _ => None,
        }))
    }

    fn over(&mut self, pause: Duration) {
        if pause.is_zero() && self.held.is_some() {
            return;
        }
        self.held = None;
        report(&Message::Over { pause_ms: ms(pause) });
    }

    fn rest(&mut self) {
        if self.held.take().is_some() {
            report(&Message::Over { pause_ms: 0 });
        }
    }

    fn door(&self) -> Option<Arc<dyn Door>> {
        Some(Arc::new(self.door.clone()))
    }

    fn kept(&self, url: &Url) -> Option<&KeptPage> {
        self.kept.iter().find(|page| page.url == *url)
    }

    fn body<'h>(&'h mut self, url: &'h Url, most: u64) -> Answered<'h, Option<Vec<u8>>> {
        report(&Message::Body { url: url.clone() });
        Box::pin(self.answer(move |answer, raw| match answer {
            Answer::Body { found } => Some(found.then(|| unpack(&raw, most)).flatten()),
            _ => None,
        }))
    }

    fn keep(&mut self, page: KeptPage, body: &[u8]) {
        if let Ok(packed) = zstd::encode_all(body, zstd::DEFAULT_COMPRESSION_LEVEL)
            && packed.len() <= KeptPage::MAX_BODY_BYTES
        {
            report_with(&Message::Keep(page), &packed);
        }
    }

    fn forget(&mut self, url: &Url) {
        self.kept.retain(|page| page.url != *url);
    }

    fn robots(&self, origin: &str) -> Option<&RobotsTxt> {
        self.robots.iter().find(|robots| robots.origin == origin)
    }

    fn keep_robots(&mut self, robots: RobotsTxt) {
        report(&Message::Robots(robots));
    }
}

fn unpack(packed: &[u8], most: u64) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    zstd::Decoder::new(packed).ok()?.take(most + 1).read_to_end(&mut body).ok()?;
    (body.len() as u64 <= most).then_some(body)
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
