//! The run queue: planned, queued and running tasks. Pure: all inputs come as arguments, and no clock is read.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use chrono::{DateTime, Utc};

use crate::due::{Due, ScheduleSlot};
use crate::model::TaskName;
use crate::model::task::Overlap;
use crate::store::Trigger;

/// A task is at most once in `queued` and at most once in `running`.
#[derive(Debug, Default)]
pub struct RunQueue {
    plans: BTreeMap<TaskName, Due>,
    /// The same plans, sorted by start time.
    by_time: BTreeSet<(DateTime<Utc>, TaskName)>,
    queued: VecDeque<QueuedRun>,
    /// The names in `queued`, for fast lookup: thousands may be due at once.
    queued_names: BTreeSet<TaskName>,
    running: BTreeMap<TaskName, QueuedRun>,
    /// The server that each task begins at, as the rate limit counts them.
    servers: BTreeMap<TaskName, String>,
}

/// A run that starts as soon as a slot is free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedRun {
    pub name: TaskName,
    pub slot: Option<ScheduleSlot>,
    pub trigger: Trigger,
}

impl RunQueue {
    pub fn plan(&mut self, name: TaskName, due: Due) {
        self.remove_plan(&name);
        self.by_time.insert((due.start_at, name.clone()));
        self.plans.insert(name, due);
    }

    fn remove_plan(&mut self, name: &TaskName) {
        if let Some(due) = self.plans.remove(name) {
            self.by_time.remove(&(due.start_at, name.clone()));
        }
    }

    /// When the first planned run is due.
    pub fn next_start(&self) -> Option<DateTime<Utc>> {
        self.by_time.first().map(|(start_at, _)| *start_at)
    }

    /// Removes plan and queued run of a task; a run under way finishes.
    pub fn forget(&mut self, name: &TaskName) {
        self.remove_plan(name);
        if self.queued_names.remove(name) {
            self.queued.retain(|it| it.name != *name);
        }
    }

    pub fn planned(&self, name: &TaskName) -> Option<Due> {
        self.plans.get(name).copied()
    }

    /// Removes and returns the plans that are due, oldest first; the caller plans each task's next one.
    pub fn take_due(&mut self, now: DateTime<Utc>) -> Vec<(TaskName, ScheduleSlot)> {
        let mut fallen = Vec::new();
        while self.next_start().is_some_and(|start_at| start_at <= now)
            && let Some((_, name)) = self.by_time.pop_first()
        {
            fallen.extend(self.plans.remove(&name).map(|due| (name, due.slot)));
        }
        fallen
    }

    /// Queues a scheduled run. False when it is skipped because an earlier run of the task is queued or still going.
    pub fn queue_slot(&mut self, name: TaskName, slot: ScheduleSlot, trigger: Trigger, overlap: Overlap) -> bool {
        let waits = self.queued_names.contains(&name);
        let free = match overlap {
            Overlap::Skip => !waits && !self.running.contains_key(&name),
            Overlap::Queue => !waits,
        };
        if free {
            self.queued_names.insert(name.clone());
            self.queued.push_back(QueuedRun { name, slot: Some(slot), trigger });
        }
        free
    }

    /// Queues the first run of a new task at the end, so that ten thousand new tasks delay no scheduled run.
    pub fn queue_last(&mut self, name: TaskName) {
        if self.queued_names.insert(name.clone()) {
            self.queued.push_back(QueuedRun { name, slot: None, trigger: Trigger::Schedule });
        }
    }

    /// Queues a run at the front. A run that is queued already is moved there and keeps its slot.
    pub fn queue_first(&mut self, name: TaskName, trigger: Trigger) {
        let place = match self.queued_names.insert(name.clone()) {
            true => None,
            false => self.queued.iter().position(|it| it.name == name),
        };
        let first = match place.and_then(|place| self.queued.remove(place)) {
            Some(waiting) => waiting,
            None => QueuedRun { name, slot: None, trigger },
        };
        self.queued.push_front(first);
    }

    /// Sets the server that the task begins at.
    pub fn set_server(&mut self, name: &TaskName, server: Option<String>) {
        match server {
            Some(server) => self.servers.insert(name.clone(), server),
            None => self.servers.remove(name),
        };
    }

    /// The next run to start, if a slot is free. Passed over are tasks that are still running, and those whose server
    /// has `per_host` runs: such a run would hold a slot and a process, only to wait for its turn.
    pub fn start_next(&mut self, max_running: usize, per_host: usize) -> Option<QueuedRun> {
        if self.running.len() >= max_running {
            return None;
        }
        let mut runs_at: BTreeMap<&str, usize> = BTreeMap::new();
        for server in self.running.keys().filter_map(|name| self.servers.get(name)) {
            *runs_at.entry(server).or_default() += 1;
        }
        let is_full = |name: &TaskName| {
            let server = self.servers.get(name).filter(|_| !runs_at.is_empty());
            server.and_then(|server| runs_at.get(server.as_str())).is_some_and(|runs| *runs >= per_host)
        };
        let is_free = |it: &QueuedRun| !self.running.contains_key(&it.name) && !is_full(&it.name);
        let place = self.queued.iter().position(is_free)?;
        let waiting = self.queued.remove(place)?;
        self.queued_names.remove(&waiting.name);
        self.running.insert(waiting.name.clone(), waiting.clone());
        Some(waiting)
    }

    pub fn finish(&mut self, name: &TaskName) {
        self.running.remove(name);
    }

    pub fn running_count(&self) -> usize {
        self.running.len()
    }

    /// The tasks that are running or queued.
    pub fn active_tasks(&self) -> Vec<TaskName> {
        self.running.keys().chain(&self.queued_names).cloned().collect()
    }

    /// The number of queued runs.
    pub fn queued_count(&self) -> usize {
        self.queued.len()
    }

    pub fn is_running(&self, name: &TaskName) -> bool {
        self.running.contains_key(name)
    }

    /// Whether a person's request is refused because of a run under way. A run that the daemon began because a folder
    /// is new or its label has changed may have read the folder halfway: a request waits for its end and runs again.
    pub fn refuses_request(&self, name: &TaskName) -> bool {
        self.running.get(name).is_some_and(|run| run.slot.is_some() || run.trigger == Trigger::Person)
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
        Due { slot: ScheduleSlot(at(seconds)), start_at: at(seconds) }
    }

    fn started(queue: &mut RunQueue, max_running: usize) -> Vec<String> {
        std::iter::from_fn(|| queue.start_next(max_running, 1)).map(|it| it.name.to_string()).collect()
    }

    #[test]
    fn a_request_waits_for_a_run_that_nobody_asked_for_and_is_refused_beside_any_other() {
        let mut queue = RunQueue::default();
        assert!(!queue.refuses_request(&name("a")));
        queue.queue_last(name("a"));
        queue.queue_first(name("b"), Trigger::Learned);
        queue.queue_first(name("c"), Trigger::Person);
        assert!(queue.queue_slot(name("d"), ScheduleSlot(at(0)), Trigger::Schedule, Overlap::Skip));
        assert_eq!(started(&mut queue, 4).len(), 4);
        let refused = ["a", "b", "c", "d"].map(|it| queue.refuses_request(&name(it)));
        assert_eq!(refused, [false, false, true, true]);
    }

    #[test]
    fn due_runs_start_in_turn_and_never_above_the_cap() {
        let mut queue = RunQueue::default();
        for (task, seconds) in [("a", 0), ("b", 0), ("c", 10)] {
            queue.plan(name(task), due(seconds));
        }
        for (task, slot) in queue.take_due(at(5)) {
            assert!(queue.queue_slot(task, slot, Trigger::Schedule, Overlap::Skip));
        }
        assert_eq!(started(&mut queue, 1), ["a"]);
        queue.finish(&name("a"));
        assert_eq!(started(&mut queue, 1), ["b"]);
        assert_eq!(queue.take_due(at(9)), []);
        assert_eq!(queue.take_due(at(10)).len(), 1);
    }

    #[test]
    fn tasks_of_one_server_leave_slots_to_others() {
        let mut queue = RunQueue::default();
        for (task, server) in [("a", "slow.test"), ("b", "slow.test"), ("c", "slow.test"), ("d", "other.test")] {
            queue.set_server(&name(task), Some(server.to_owned()));
            queue.queue_last(name(task));
        }
        assert_eq!(started(&mut queue, 2), ["a", "d"]);
        queue.finish(&name("d"));
        assert_eq!(started(&mut queue, 2), Vec::<String>::new(), "b and c wait in the queue");
        queue.finish(&name("a"));
        assert_eq!(started(&mut queue, 2), ["b"]);
    }

    #[test]
    fn a_task_never_overlaps_itself() {
        let mut queue = RunQueue::default();
        queue.queue_first(name("a"), Trigger::Person);
        assert_eq!(started(&mut queue, 9), ["a"]);
        assert!(!queue.queue_slot(name("a"), ScheduleSlot(at(0)), Trigger::Schedule, Overlap::Skip));
        assert!(queue.queue_slot(name("a"), ScheduleSlot(at(0)), Trigger::Schedule, Overlap::Queue));
        assert!(
            !queue.queue_slot(name("a"), ScheduleSlot(at(60)), Trigger::Schedule, Overlap::Queue),
            "one in line is enough"
        );
        queue.queue_first(name("b"), Trigger::Person);
        assert_eq!(started(&mut queue, 9), ["b"], "a task that runs lets others pass");
        queue.finish(&name("a"));
        assert_eq!(started(&mut queue, 9), ["a"]);
    }

    #[test]
    fn a_forgotten_task_starts_no_more() {
        let mut queue = RunQueue::default();
        queue.plan(name("a"), due(0));
        queue.queue_first(name("a"), Trigger::Person);
        queue.forget(&name("a"));
        assert_eq!(queue.take_due(at(99)), []);
        assert_eq!(started(&mut queue, 9), Vec::<String>::new());
    }

    #[test]
    fn asking_for_a_run_that_waits_keeps_its_slot() {
        let mut queue = RunQueue::default();
        queue.queue_slot(name("b"), ScheduleSlot(at(0)), Trigger::Schedule, Overlap::Skip);
        queue.queue_slot(name("a"), ScheduleSlot(at(0)), Trigger::Schedule, Overlap::Skip);
        queue.queue_first(name("a"), Trigger::Person);
        let first = queue.start_next(9, 1).expect("there is room");
        assert_eq!((first.name, first.slot), (name("a"), Some(ScheduleSlot(at(0)))));
    }
}
