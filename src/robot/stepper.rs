//! A walk that waits after every step and can go back: what `pieme step` drives.
//!
//! Every step has the whole time of a run, since a person reads in between; all other limits, and the guard, are a run's.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};

use super::walker::{Memory, Walker, says_where};
use super::{Alone, Home, Observer, Order, Trouble, session, steps};
use crate::model::script::{Ask, Extract, Paginate};
use crate::model::{Page, Step};
use crate::page::Tree;

pub struct Stepper<'a> {
    walker: Walker<'a>,
    steps: Vec<Step>,
    /// How many of them stand in robot.toml; the rest is implied.
    written: usize,
    done: usize,
    /// How everything stood before each step that was done, and before the one that failed.
    before: Vec<Memory>,
    time: Duration,
    began: DateTime<Utc>,
}

impl<'a> Stepper<'a> {
    pub fn new(order: &Order<'a>, observer: &'a mut dyn Observer) -> Result<Stepper<'a>, Trouble> {
        Stepper::from_home(Box::new(Alone::default()), order, observer)
    }

    /// As [`Stepper::new`], for a robot that does not go alone.
    pub fn from_home(
        home: Box<dyn Home>,
        order: &Order<'a>,
        observer: &'a mut dyn Observer,
    ) -> Result<Stepper<'a>, Trouble> {
        let session = session(order, home)?;
        let today = Utc::now().with_timezone(&order.task.schedule.timezone).date_naive();
        let written = order.script.steps.len();
        let mut steps = order.script.steps.clone();
        match &order.task.url {
            Some(url) if written == 0 => {
                steps.extend([Step::Get(Ask::url(url.as_str())), Step::Paginate(Paginate::default())]);
            }
            _ if !says_where(&steps) => steps.push(Step::Extract(Extract {})),
            _ => {}
        }
        let walker = Walker::new(order, session, observer, today);
        Ok(Stepper {
            walker,
            steps,
            written,
            done: 0,
            before: Vec::new(),
            time: order.task.limits.timeout.0,
            began: Utc::now(),
        })
    }

    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Steps beyond those of robot.toml are what pieme does of itself.
    pub fn is_implied(&self, index: usize) -> bool {
        index >= self.written
    }

    /// How many steps are done; the next one has this index.
    pub fn done(&self) -> usize {
        self.done
    }

    /// Does the next step; `None` when there is none. One that failed is the next one still, and is tried from where it began.
    pub async fn next(&mut self) -> Option<Result<(), Trouble>> {
        if self.done == self.steps.len() {
            return None;
        }
        if let Some(memory) = self.before.get(self.done) {
            self.walker.go_back_to(memory.clone());
        } else {
            self.before.push(self.walker.memory());
        }
        self.walker.session.end_at(Instant::now() + self.time);
        self.began = Utc::now();
        let is_done_already = self.is_implied(self.done) && self.written > 0 && self.walker.extracted;
        let result =
            if is_done_already { Ok(()) } else { steps::run_one(&mut self.walker, &self.steps, self.done).await };
        // A person reads now, for a minute or for ten: others may ask the host meanwhile.
        self.walker.session.home.rest();
        self.done += usize::from(result.is_ok());
        Some(result)
    }

    /// Goes back to before the last step, or to before the one that failed. False when there is nothing to go back to.
    pub fn back(&mut self) -> bool {
        let Some(memory) = self.before.pop() else { return false };
        self.done = self.before.len();
        self.walker.go_back_to(memory);
        true
    }

    /// The current page, secrets and tokens blanked.
    pub fn page(&self) -> Option<Page> {
        let mut page = self.walker.stand.as_ref()?.page.clone();
        self.walker.blanks.page(&mut page);
        self.walker.tokens.blank_page(&mut page);
        Some(page)
    }

    /// The current page, read. What is shown of it must be [`Stepper::blank`]ed.
    pub fn tree(&self) -> Option<&Tree> {
        self.walker.stand.as_ref().map(|stand| &stand.tree)
    }

    pub fn blank(&self, text: &str) -> String {
        self.walker.blank(text)
    }

    /// Variables as they are now, secrets and tokens blanked.
    pub fn variables(&self) -> BTreeMap<String, String> {
        let tokens = &self.walker.tokens;
        let shown = |(name, value): (&String, &String)| {
            (name.clone(), if tokens.is_variable(name) { "***".to_owned() } else { self.blank(value) })
        };
        self.walker.variables.iter().map(shown).collect()
    }

    /// When the last step began.
    pub fn began(&self) -> DateTime<Utc> {
        self.began
    }

    /// The session as it is now.
    pub fn cookies(&self) -> Option<String> {
        self.walker.session.cookies()
    }
}
