//! What a child asks of its parent while it runs, and what the parent grants: turns at hosts, connections, kept pages, robots.txt
//! files.
//! Nothing that a child says is believed beyond the caps here.

use std::time::Duration;

use chrono::{DateTime, Utc};
use url::Url;

use crate::due;
use crate::model::{KeptPage, RobotsTxt, RunId};
use crate::taskdir::{self, KeptPages, TaskFolder};
use crate::wire::Answer;

use super::broker::Broker;
use super::turns::{Answers, Given, Turns};

/// A robots.txt may ask for a delay of its own, up to this; a task's `fetch.delay` may be longer.
const MAX_DELAY: Duration = Duration::from_secs(60);
/// No child can shut a host to other tasks for longer than this, nor for longer than until its own next run (safety.md
/// input 23). A host that wants more peace says so again to the one request that is made after it.
const MAX_PAUSE: Duration = Duration::from_secs(3600);
/// Pages and robots.txt files that one run may have kept: each is a write to the disk.
const MAX_KEPT: u32 = 100;

pub struct Desk {
    run: RunId,
    folder: TaskFolder,
    turns: Turns,
    answers: Answers,
    pub broker: Broker,
    pub kept: KeptPages,
    robots: Vec<RobotsTxt>,
    writes: u32,
}

impl Desk {
    /// Opens for a run; it is in no line yet.
    pub fn open(run: RunId, folder: &TaskFolder, turns: Turns, answers: Answers) -> Desk {
        turns.enter(run, answers.clone());
        let kept = KeptPages::read(&folder.dir);
        let broker = Broker::new(&folder.task, &folder.script, answers.clone());
        Desk { run, folder: folder.clone(), turns, answers, broker, kept, robots: Vec::new(), writes: 0 }
    }

    pub fn turn(&self, host: &str, delay_ms: u64) {
        let most = MAX_DELAY.max(self.folder.task.fetch.delay.0);
        self.turns.ask(self.run, host, Duration::from_millis(delay_ms).min(most));
    }

    pub fn over(&self, pause_ms: u64, now: DateTime<Utc>) {
        let due = due::next_due(&self.folder.task.schedule, now, &self.folder.name);
        let period = due.ok().and_then(|due| (due.start_at - now).to_std().ok()).unwrap_or(MAX_PAUSE);
        self.turns.over(self.run, Duration::from_millis(pause_ms).min(period).min(MAX_PAUSE));
    }

    /// The child waits for a person: whatever it has said of its turn, others may have the host.
    pub fn rest(&self) {
        self.turns.rest(self.run);
    }

    pub fn keep(&mut self, page: KeptPage, body: &[u8], now: DateTime<Utc>) {
        self.writes += 1;
        if self.writes <= MAX_KEPT
            && let Err(error) = self.kept.put(page, body, now)
        {
            tracing::warn!(task = %self.folder.name, "a page could not be kept for the next run: {error}");
        }
    }

    pub fn body(&mut self, url: &Url, now: DateTime<Utc>) {
        let body = self.kept.body(url, now);
        let answer = Answer::Body { found: body.is_some() };
        // A child that has gone needs no answer.
        let _ = self.answers.send(Given::Said(answer, body.unwrap_or_default()));
    }

    pub fn robots(&mut self, robots: RobotsTxt) {
        self.writes += 1;
        if self.writes <= MAX_KEPT {
            self.robots.push(robots);
        }
    }

    /// The run has said all it had to say: writes down what is kept.
    pub fn close(mut self) {
        let mut written = self.kept.write();
        let robots = std::mem::take(&mut self.robots);
        if !robots.is_empty() {
            written = written.and(taskdir::write_robots(&self.folder.dir, robots));
        }
        if let Err(error) = written {
            tracing::warn!(task = %self.folder.name, "what the next run could use was not kept: {error}");
        }
    }
}

impl Drop for Desk {
    /// However the run ended, nobody waits for it any longer, and its pipe can be closed.
    fn drop(&mut self) {
        self.turns.leave(self.run);
    }
}
