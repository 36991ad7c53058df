//! What runs next. Pure: told what is due, what was asked for and what has ended; never looks at a clock.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use chrono::{DateTime, Utc};

use crate::due::{Due, Slot};
use crate::model::TaskName;
use crate::model::task::Overlap;
use crate::store::Trigger;

/// A task is at most once in `waiting` and at most once in `running`.
#[derive(Debug, Default)]
pub struct Agenda {
    plans: BTreeMap<TaskName, Due>,
    /// The same plans in the order in which they start.
    by_time: BTreeSet<(DateTime<Utc>, TaskName)>,
    waiting: VecDeque<Waiting>,
    /// The names in `waiting`: thousands may fall due at once.
    in_line: BTreeSet<TaskName>,
    running: BTreeMap<TaskName, Trigger>,
}

/// A run that may start as soon as there is room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub name: TaskName,
    pub slot: Option<Slot>,
    pub trigger: Trigger,
}

impl Agenda {
    pub fn plan(&mut self, name: TaskName, due: Due) {
        self.unplan(&name);
        self.by_time.insert((due.start_at, name.clone()));
        self.plans.insert(name, due);
    }

    fn unplan(&mut self, name: &TaskName) {
        if let Some(due) = self.plans.remove(name) {
            self.by_time.remove(&(due.start_at, name.clone()));
        }
    }

    /// When the first plan falls due.
    pub fn first_start(&self) -> Option<DateTime<Utc>> {
        self.by_time.first().map(|(start_at, _)| *start_at)
    }

    /// No further runs; one under way goes on.
    pub fn forget(&mut self, name: &TaskName) {
        self.unplan(name);
        if self.in_line.remove(name) {
            self.waiting.retain(|it| it.name != *name);
        }
    }

    pub fn planned(&self, name: &TaskName) -> Option<Due> {
        self.plans.get(name).copied()
    }

    /// Takes out the plans whose time has come, the oldest first; the caller plans each task's next one.
    pub fn fallen_due(&mut self, now: DateTime<Utc>) -> Vec<(TaskName, Slot)> {
        let mut fallen = Vec::new();
        while self.first_start().is_some_and(|start_at| start_at <= now)
            && let Some((_, name)) = self.by_time.pop_first()
        {
            fallen.extend(self.plans.remove(&name).map(|due| (name, due.slot)));
        }
        fallen
    }

    /// Puts a scheduled run in line. False when it is skipped because the task is still busy with an earlier one.
    pub fn queue(&mut self, name: TaskName, slot: Slot, trigger: Trigger, overlap: Overlap) -> bool {
        let waits = self.in_line.contains(&name);
        let free = match overlap {
            Overlap::Skip => !waits && !self.running.contains_key(&name),
            Overlap::Queue => !waits,
        };
        if free {
            self.in_line.insert(name.clone());
            self.waiting.push_back(Waiting { name, slot: Some(slot), trigger });
        }
        free
    }

    /// The first run of a new task goes last: ten thousand of them are in nobody's way.
    pub fn new_task(&mut self, name: TaskName) {
        if self.in_line.insert(name.clone()) {
            self.waiting.push_back(Waiting { name, slot: None, trigger: Trigger::Schedule });
        }
    }

    /// A run out of turn goes first. One that waits already is moved to the front; it keeps its slot.
    pub fn now(&mut self, name: TaskName, trigger: Trigger) {
        let place = match self.in_line.insert(name.clone()) {
            true => None,
            false => self.waiting.iter().position(|it| it.name == name),
        };
        let first = match place.and_then(|place| self.waiting.remove(place)) {
            Some(waiting) => waiting,
            None => Waiting { name, slot: None, trigger },
        };
        self.waiting.push_front(first);
    }

    /// The next run to start, if there is room; a task that is running lets others pass.
    pub fn start(&mut self, max_running: usize) -> Option<Waiting> {
        if self.running.len() >= max_running {
            return None;
        }
        let place = self.waiting.iter().position(|it| !self.running.contains_key(&it.name))?;
        let waiting = self.waiting.remove(place)?;
        self.in_line.remove(&waiting.name);
        self.running.insert(waiting.name.clone(), waiting.trigger);
        Some(waiting)
    }

    pub fn ended(&mut self, name: &TaskName) {
        self.running.remove(name);
    }

    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// The tasks that run or wait to.
    pub fn busy(&self) -> Vec<TaskName> {
        self.running.keys().chain(&self.in_line).cloned().collect()
    }

    /// Runs that wait for room.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Why the task is running, if it is.
    pub fn running_for(&self, name: &TaskName) -> Option<Trigger> {
        self.running.get(name).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> TaskName {
        TaskName::new(text).expect("a name of the test")
    }

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + seconds, 0).expect("a time of this century")
    }

    fn due(seconds: i64) -> Due {
        Due { slot: Slot(at(seconds)), start_at: at(seconds) }
    }

    fn started(agenda: &mut Agenda, max_running: usize) -> Vec<String> {
        std::iter::from_fn(|| agenda.start(max_running)).map(|it| it.name.to_string()).collect()
    }

    #[test]
    fn due_runs_start_in_turn_and_never_above_the_cap() {
        let mut agenda = Agenda::default();
        for (task, seconds) in [("a", 0), ("b", 0), ("c", 10)] {
            agenda.plan(name(task), due(seconds));
        }
        for (task, slot) in agenda.fallen_due(at(5)) {
            assert!(agenda.queue(task, slot, Trigger::Schedule, Overlap::Skip));
        }
        assert_eq!(started(&mut agenda, 1), ["a"]);
        agenda.ended(&name("a"));
        assert_eq!(started(&mut agenda, 1), ["b"]);
        assert_eq!(agenda.fallen_due(at(9)), []);
        assert_eq!(agenda.fallen_due(at(10)).len(), 1);
    }

    #[test]
    fn a_task_never_overlaps_itself() {
        let mut agenda = Agenda::default();
        agenda.now(name("a"), Trigger::Person);
        assert_eq!(started(&mut agenda, 9), ["a"]);
        assert!(!agenda.queue(name("a"), Slot(at(0)), Trigger::Schedule, Overlap::Skip));
        assert!(agenda.queue(name("a"), Slot(at(0)), Trigger::Schedule, Overlap::Queue));
        assert!(!agenda.queue(name("a"), Slot(at(60)), Trigger::Schedule, Overlap::Queue), "one in line is enough");
        agenda.now(name("b"), Trigger::Person);
        assert_eq!(started(&mut agenda, 9), ["b"], "a task that runs lets others pass");
        agenda.ended(&name("a"));
        assert_eq!(started(&mut agenda, 9), ["a"]);
    }

    #[test]
    fn a_forgotten_task_starts_no_more() {
        let mut agenda = Agenda::default();
        agenda.plan(name("a"), due(0));
        agenda.now(name("a"), Trigger::Person);
        agenda.forget(&name("a"));
        assert_eq!(agenda.fallen_due(at(99)), []);
        assert_eq!(started(&mut agenda, 9), Vec::<String>::new());
    }

    #[test]
    fn asking_for_a_run_that_waits_keeps_its_slot() {
        let mut agenda = Agenda::default();
        agenda.queue(name("b"), Slot(at(0)), Trigger::Schedule, Overlap::Skip);
        agenda.queue(name("a"), Slot(at(0)), Trigger::Schedule, Overlap::Skip);
        agenda.now(name("a"), Trigger::Person);
        let first = agenda.start(9).expect("there is room");
        assert_eq!((first.name, first.slot), (name("a"), Some(Slot(at(0)))));
    }
}
