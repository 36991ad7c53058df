//! Who has changed a template: a person, whose change starts a run, or a run that has learned it. Pure.

use std::collections::BTreeMap;

use crate::model::TaskName;
use crate::tasks::TemplateText;

#[derive(Debug, Default)]
pub struct TemplateOrigins {
    /// Templates as this daemon last read or wrote them.
    known: BTreeMap<TaskName, Option<TemplateText>>,
    /// Templates that changed during a run, which may have learned them.
    unresolved: BTreeMap<TaskName, Option<TemplateText>>,
}

impl TemplateOrigins {
    /// Whether a person has changed the template that was just read. `is_learned_elsewhere` is asked for a first
    /// template: a run on another daemon may have learned it.
    pub fn read(
        &mut self,
        name: &TaskName,
        template: Option<TemplateText>,
        is_running: bool,
        is_learned_elsewhere: impl FnOnce() -> bool,
    ) -> bool {
        let before = self.known.get(name).cloned();
        let is_other = before.as_ref().is_some_and(|before| *before != template && template.is_some());
        if is_other && is_running {
            // The run under way may have learned it; that is known when the run ends.
            self.unresolved.insert(name.clone(), template);
            return false;
        }
        self.known.insert(name.clone(), template);
        is_other && !(before == Some(None) && is_learned_elsewhere())
    }

    /// Whether a template changed during the run under way.
    pub fn is_unresolved(&self, name: &TaskName) -> bool {
        self.unresolved.contains_key(name)
    }

    /// Decides who changed a template during the run that has ended: a person, unless the run has learned it.
    pub fn run_ended(&mut self, name: &TaskName, learned: Option<TemplateText>) -> bool {
        if learned.is_some() {
            self.known.insert(name.clone(), learned);
        }
        let Some(read) = self.unresolved.remove(name) else { return false };
        self.known.insert(name.clone(), read.clone()) != Some(read)
    }

    pub fn forget(&mut self, name: &TaskName) {
        self.known.remove(name);
        self.unresolved.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> TaskName {
        TaskName::new("hotels").expect("a name")
    }

    fn template(text: &str) -> Option<TemplateText> {
        Some(TemplateText::new(text))
    }

    /// Reads a template while nothing runs.
    fn read(origins: &mut TemplateOrigins, text: Option<&str>) -> bool {
        origins.read(&name(), text.and_then(template), false, || false)
    }

    #[test]
    fn a_template_that_was_there_at_the_start_is_nobodys_change_and_a_later_one_is_a_persons() {
        let mut origins = TemplateOrigins::default();
        assert!(!read(&mut origins, Some("a")), "the daemon has just started");
        assert!(!read(&mut origins, Some("a")), "another file of the folder was edited");
        assert!(read(&mut origins, Some("b")));
        assert!(!read(&mut origins, None), "a template that was removed starts no run");
        assert!(read(&mut origins, Some("b")), "and one that is back does");
        origins.forget(&name());
        assert!(!read(&mut origins, Some("c")), "a folder that comes back is a new one");
    }

    #[test]
    fn a_template_that_a_run_has_learned_starts_no_other_run() {
        let mut origins = TemplateOrigins::default();
        read(&mut origins, None);
        assert!(!origins.run_ended(&name(), template("a")), "the folder is read later");
        assert!(!read(&mut origins, Some("a")));
        assert!(!origins.read(&name(), template("b"), true, || false), "the folder is read during the run");
        assert!(origins.is_unresolved(&name()));
        assert!(!origins.run_ended(&name(), template("b")));
        assert!(!origins.is_unresolved(&name()) && !read(&mut origins, Some("b")));
    }

    #[test]
    fn a_person_who_labels_during_a_run_is_not_overlooked() {
        let mut origins = TemplateOrigins::default();
        read(&mut origins, Some("a"));
        assert!(!origins.read(&name(), template("b"), true, || false));
        assert!(origins.run_ended(&name(), None), "the run has learned nothing");
        assert!(!origins.read(&name(), template("c"), true, || false));
        assert!(origins.run_ended(&name(), template("learned")), "the run has learned another");
        assert!(!origins.run_ended(&name(), None), "once");
    }

    #[test]
    fn a_first_template_may_come_from_another_daemon_and_a_second_is_not_asked_about() {
        let mut origins = TemplateOrigins::default();
        read(&mut origins, None);
        assert!(!origins.read(&name(), template("a"), false, || true));
        assert!(origins.read(&name(), template("b"), false, || panic!("there was a template before")));
    }
}
