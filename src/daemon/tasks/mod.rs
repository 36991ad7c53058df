//! The task folders as the event loop sees them: what is in tasks/, who has changed a template, and when to look again.

pub mod adopt;
pub mod rescan;
mod template_origin;
pub mod watch;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::config::Config;
use crate::model::TaskName;
use crate::store::{FolderState, TaskRow};
use crate::tasks::{self, FolderChange, RegistryEntry, TaskFolder, TaskRegistry, TemplateText};

use rescan::RescanTimer;
use template_origin::TemplateOrigins;

pub struct TaskFolders {
    config: Arc<Config>,
    registry: TaskRegistry,
    templates: TemplateOrigins,
    rescans: RescanTimer,
}

impl TaskFolders {
    pub fn new(config: Arc<Config>) -> TaskFolders {
        TaskFolders {
            registry: empty_registry(&config),
            config,
            templates: TemplateOrigins::default(),
            rescans: RescanTimer::default(),
        }
    }

    /// The last good version of a folder.
    pub fn folder(&self, name: &TaskName) -> Option<Arc<TaskFolder>> {
        self.registry.get(name)?.good.clone()
    }

    pub fn entry(&self, name: &TaskName) -> Option<&RegistryEntry> {
        self.registry.get(name)
    }

    /// The last good version of every folder.
    pub fn folders(&self) -> impl Iterator<Item = Arc<TaskFolder>> {
        self.registry.iter().filter_map(|(_, entry)| entry.good.clone())
    }

    pub fn count(&self) -> usize {
        self.registry.iter().count()
    }

    /// When the next scan is due, besides the chore.
    pub fn rescans(&mut self) -> &mut RescanTimer {
        &mut self.rescans
    }

    pub fn until_rescan(&self, now: Instant) -> Option<Duration> {
        self.rescans.wait(now)
    }

    /// What has changed in tasks/ since the last scan.
    pub fn scan(&mut self) -> Vec<FolderChange> {
        let changes = self.registry.rescan();
        if let Some(problem) = self.registry.scan_problem() {
            tracing::error!("{problem}");
        }
        changes
    }

    /// False if tasks/ could not be listed: a folder that was not found may be there all the same.
    pub fn is_listed(&self) -> bool {
        self.registry.scan_problem().is_none()
    }

    /// After a scan. If its changes could not be stored, every folder counts as new at the next scan, so that no
    /// change is lost.
    pub fn end_scan(&mut self, is_stored: bool, now: Instant) {
        if !is_stored {
            self.registry = empty_registry(&self.config);
        }
        if !is_stored || !self.is_listed() {
            self.rescans.retry(now);
        }
    }

    /// What the store records of a change.
    pub fn store_update(&self, change: &FolderChange) -> Option<FolderState> {
        match change {
            FolderChange::Added(name) | FolderChange::Edited(name) => {
                let title = self.folder(name)?.task.title.clone();
                Some(FolderState::Good { name: name.clone(), title })
            }
            FolderChange::Broken(name) => {
                let problem = self.registry.get(name)?.problem.as_ref()?.to_string();
                tracing::warn!(task = %name, "{problem}");
                adopt::request_adoption(&self.config.tasks.join(name.as_str()));
                Some(FolderState::Broken { name: name.clone(), problem })
            }
            FolderChange::Removed(name) => Some(FolderState::Gone { name: name.clone() }),
        }
    }

    /// Whether a person has changed the folder's template.
    pub fn is_relabelled(&mut self, folder: &TaskFolder, known: Option<&TaskRow>, is_running: bool) -> bool {
        let is_learned_elsewhere = || is_learned_elsewhere(folder, known);
        self.templates.read(&folder.name, folder.template.clone(), is_running, is_learned_elsewhere)
    }

    /// Whether a template changed during the run under way.
    pub fn is_template_unresolved(&self, name: &TaskName) -> bool {
        self.templates.is_unresolved(name)
    }

    /// Whether a person changed the template during the run that has ended.
    pub fn is_relabelled_during_run(&mut self, name: &TaskName, learned: Option<&str>) -> bool {
        self.templates.run_ended(name, learned.map(TemplateText::new))
    }

    pub fn forget(&mut self, name: &TaskName) {
        self.templates.forget(name);
    }
}

fn empty_registry(config: &Config) -> TaskRegistry {
    TaskRegistry::new(config.tasks.clone()).with_channels(config.channels())
}

/// Whether a run on another daemon has learned the template, and the file arrived after the task: the last run is
/// provisional, and no person has confirmed the template since.
fn is_learned_elsewhere(folder: &TaskFolder, known: Option<&TaskRow>) -> bool {
    let is_provisional = known.and_then(|row| row.last_run.as_ref()).is_some_and(|run| run.verdict.provisional);
    is_provisional && tasks::read_labels(&folder.dir).is_ok_and(|labels| !labels.is_confirmed())
}
