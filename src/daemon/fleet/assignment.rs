//! Which tasks of the fleet are assigned to this daemon. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::TaskName;

#[derive(Debug, Default)]
pub struct TaskAssignment {
    /// The tasks assigned to this daemon, and whether they are paused.
    own_tasks: BTreeMap<TaskName, bool>,
    /// Tasks whose folders were deleted, here or elsewhere.
    removed: BTreeSet<TaskName>,
    /// Differs when a shared folder has changed.
    folders: (i64, i64),
}

/// What a new assignment means for the schedule.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct AssignmentChange {
    /// Tasks that are another daemon's now.
    pub lost: Vec<TaskName>,
    /// Tasks that are this daemon's now, or were paused or resumed on another.
    pub gained: Vec<TaskName>,
}

impl TaskAssignment {
    pub fn is_ours(&self, name: &TaskName) -> bool {
        self.own_tasks.contains_key(name)
    }

    pub fn is_removed(&self, name: &TaskName) -> bool {
        self.removed.contains(name)
    }

    pub fn assign(&mut self, own_tasks: BTreeMap<TaskName, bool>) -> AssignmentChange {
        let before = std::mem::replace(&mut self.own_tasks, own_tasks);
        let lost = before.keys().filter(|name| !self.own_tasks.contains_key(*name)).cloned().collect();
        let is_new = |(name, paused): &(&TaskName, &bool)| before.get(*name) != Some(*paused);
        let gained = self.own_tasks.iter().filter(is_new).map(|(name, _)| name.clone()).collect();
        AssignmentChange { lost, gained }
    }

    /// Adds a task that was taken over because a person asked.
    pub fn claim(&mut self, name: TaskName) -> AssignmentChange {
        let mut own_tasks = self.own_tasks.clone();
        own_tasks.insert(name, false);
        self.assign(own_tasks)
    }

    /// The lease had expired: every task that is assigned again is a new one.
    pub fn expire(&mut self) {
        self.own_tasks.clear();
    }

    pub fn set_removed(&mut self, removed: BTreeSet<TaskName>) {
        self.removed = removed;
    }

    /// Whether a shared folder has changed since the last call.
    pub fn note_folders(&mut self, folders: (i64, i64)) -> bool {
        std::mem::replace(&mut self.folders, folders) != folders
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> TaskName {
        TaskName::new(text).expect("a name of the test")
    }

    fn tasks(all: &[(&str, bool)]) -> BTreeMap<TaskName, bool> {
        all.iter().map(|(task, paused)| (name(task), *paused)).collect()
    }

    fn change(lost: &[&str], gained: &[&str]) -> AssignmentChange {
        let names = |all: &[&str]| all.iter().map(|it| name(it)).collect();
        AssignmentChange { lost: names(lost), gained: names(gained) }
    }

    #[test]
    fn only_what_is_new_gone_or_paused_elsewhere_is_a_change() {
        let mut fleet = TaskAssignment::default();
        assert_eq!(fleet.assign(tasks(&[("a", false), ("b", false)])), change(&[], &["a", "b"]));
        assert_eq!(fleet.assign(tasks(&[("a", false), ("b", false)])), AssignmentChange::default());
        assert_eq!(fleet.assign(tasks(&[("b", true), ("c", false)])), change(&["a"], &["b", "c"]));
        assert!(!fleet.is_ours(&name("a")) && fleet.is_ours(&name("b")));
    }

    #[test]
    fn a_claimed_task_is_ours_at_once_and_the_next_heartbeat_is_no_news() {
        let mut fleet = TaskAssignment::default();
        fleet.assign(tasks(&[("a", false)]));
        assert_eq!(fleet.claim(name("b")), change(&[], &["b"]));
        assert!(fleet.is_ours(&name("a")) && fleet.is_ours(&name("b")));
        assert_eq!(fleet.assign(tasks(&[("a", false), ("b", false)])), AssignmentChange::default());
        assert_eq!(fleet.assign(tasks(&[("a", false)])), change(&["b"], &[]), "it was given away again");
    }

    #[test]
    fn after_an_expired_lease_every_task_is_planned_anew() {
        let mut fleet = TaskAssignment::default();
        fleet.assign(tasks(&[("a", false), ("b", false)]));
        fleet.expire();
        assert!(!fleet.is_ours(&name("a")));
        assert_eq!(fleet.assign(tasks(&[("a", false)])), change(&[], &["a"]));
    }

    #[test]
    fn a_change_of_the_folders_is_noticed_once() {
        let mut fleet = TaskAssignment::default();
        assert!(!fleet.note_folders((0, 0)));
        assert!(fleet.note_folders((1, 7)));
        assert!(!fleet.note_folders((1, 7)));
        fleet.set_removed(BTreeSet::from([name("a")]));
        assert!(fleet.is_removed(&name("a")) && !fleet.is_removed(&name("b")));
    }
}
