//! The clients that asked for a run: they wait for its start, and then follow it to its end. Pure: who is to be
//! answered is returned, and the event loop sends the replies.

use std::collections::BTreeMap;

use crate::model::TaskName;

#[derive(Debug)]
pub struct RunClients<C> {
    /// Clients that wait for a task's next run.
    waiting: BTreeMap<TaskName, Vec<C>>,
    /// Clients that get the trace of a task's run under way.
    tracing: BTreeMap<TaskName, Vec<C>>,
}

impl<C> Default for RunClients<C> {
    fn default() -> RunClients<C> {
        RunClients { waiting: BTreeMap::new(), tracing: BTreeMap::new() }
    }
}

impl<C: Clone> RunClients<C> {
    pub fn add(&mut self, task: TaskName, client: C) {
        self.waiting.entry(task).or_default().push(client);
    }

    /// The clients of a run that will not start.
    pub fn refuse(&mut self, task: &TaskName) -> Vec<C> {
        self.waiting.remove(task).unwrap_or_default()
    }

    /// The clients of a run that starts now. A client that comes later waits for the next run.
    pub fn start(&mut self, task: &TaskName) -> Vec<C> {
        let clients = self.refuse(task);
        if !clients.is_empty() {
            self.tracing.insert(task.clone(), clients.clone());
        }
        clients
    }

    /// The clients of a run that has ended.
    pub fn end(&mut self, task: &TaskName) -> Vec<C> {
        self.tracing.remove(task).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> TaskName {
        TaskName::new(text).expect("a name of the test")
    }

    #[test]
    fn a_client_hears_of_its_own_run_from_the_start_to_the_end_and_once() {
        let mut clients = RunClients::default();
        clients.add(name("a"), 1);
        clients.add(name("a"), 2);
        clients.add(name("b"), 3);
        assert!(clients.end(&name("a")).is_empty(), "an earlier run of the task has ended");
        assert_eq!(clients.start(&name("a")), [1, 2]);
        assert!(clients.end(&name("b")).is_empty());
        assert_eq!(clients.end(&name("a")), [1, 2]);
        assert!(clients.end(&name("a")).is_empty());
    }

    #[test]
    fn a_client_that_comes_during_a_run_waits_for_the_next() {
        let mut clients = RunClients::default();
        clients.add(name("a"), 1);
        clients.start(&name("a"));
        clients.add(name("a"), 2);
        assert_eq!(clients.end(&name("a")), [1]);
        assert_eq!(clients.start(&name("a")), [2]);
    }

    #[test]
    fn a_run_that_will_not_start_frees_those_who_wait_and_not_those_who_follow_another() {
        let mut clients = RunClients::default();
        clients.add(name("a"), 1);
        clients.start(&name("a"));
        clients.add(name("a"), 2);
        assert_eq!(clients.refuse(&name("a")), [2]);
        assert!(clients.refuse(&name("a")).is_empty());
        assert_eq!(clients.end(&name("a")), [1]);
    }

    #[test]
    fn a_scheduled_run_has_no_clients() {
        let mut clients = RunClients::<u8>::default();
        assert!(clients.start(&name("a")).is_empty());
        assert!(clients.end(&name("a")).is_empty());
    }
}
