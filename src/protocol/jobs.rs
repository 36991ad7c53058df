//! What a child receives: one type per job. It has no database, no environment and no secrets of other tasks.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::labelling::page::LabellingRequest;
use crate::model::script::ScriptStep;
use crate::model::task::{Alert, Engine, Limits};
use crate::model::{
    AddressGrants, CachedPage, Column, GrantedSecret, PageMeta, PastRun, RobotsTxt, Script, Table, Task,
};

use super::bounds::BoundedMessage;
use super::budgets::Budget;
use super::kinds::{FrameKind, FrameMessage};
use super::messages::{InspectAnswer, RepairAnswer, RunMessage, StepMessage};

/// The first frame that a child reads.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Job {
    Run(Box<RunJob>),
    Step(Box<StepJob>),
    Repair(Box<RepairJob>),
    Inspect(Box<InspectJob>),
}

/// One of the four jobs, and what its child may send.
pub trait ChildJob: Into<Job> + Send + 'static {
    type Message: BoundedMessage + DeserializeOwned + Send + 'static;

    /// What its child may send in all; the same on both sides.
    fn budget(&self) -> Budget {
        Budget::new(Self::Message::kinds())
    }
}

/// Execute the script, extract the rows and judge them.
#[derive(Debug, Serialize, Deserialize)]
pub struct RunJob {
    pub fetch: FetchInput,
    /// The template of the detail pages as JSON; none: it is learned.
    pub details: Option<String>,
    /// Whether a person has confirmed the template.
    pub confirmed: bool,
    /// The latest good runs, newest first, for the judge.
    pub past: Vec<PastRun>,
}

/// Execute the script step by step: the child waits before every step for [`super::ParentAnswer::Step`].
#[derive(Debug, Serialize, Deserialize)]
pub struct StepJob {
    pub fetch: FetchInput,
    pub audience: StepAudience,
}

/// Who looks at the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepAudience {
    /// Gets the page compressed, as it is stored.
    Dashboard,
    /// Gets the page as it is, and its text, links and forms; with `keep_session` the cookies, too.
    Terminal { keep_session: bool },
}

/// Find the list again after a redesign; nothing is fetched. The frame's raw bytes are the page, compressed as the
/// child had sent it, followed by the samples.
#[derive(Debug, Serialize, Deserialize)]
pub struct RepairJob {
    /// The process that the child must not outlive.
    pub parent_pid: u32,
    pub limits: Limits,
    /// `fetch.charset` of task.toml.
    pub charset: String,
    pub columns: Vec<Column>,
    /// The template that no longer fits, as JSON.
    pub template: String,
    pub page: PageMeta,
    /// Length of the compressed page.
    pub page_bytes: usize,
    /// The last good rows.
    pub good: Table,
    pub samples: Vec<RepairSample>,
    /// Whether samples were omitted because they are too large.
    pub samples_left_out: bool,
}

/// A sample page that the repaired template must still extract correctly.
#[derive(Debug, Serialize, Deserialize)]
pub struct RepairSample {
    /// Its number in `samples/`.
    pub index: u32,
    pub bytes: usize,
    pub expected: Table,
}

/// Answer a question of a labelling session about a stored page; nothing is fetched. The frame's raw bytes are the
/// page, compressed as the child had sent it.
#[derive(Debug, Serialize, Deserialize)]
pub struct InspectJob {
    /// The process that the child must not outlive.
    pub parent_pid: u32,
    pub limits: Limits,
    /// Whether the page may be sent back in several messages; the daemon takes one, a terminal more.
    pub in_parts: bool,
    pub request: LabellingRequest,
}

/// What a child needs that fetches: a run and a stepping session.
#[derive(Debug, Serialize, Deserialize)]
pub struct FetchInput {
    /// The process that the child must not outlive.
    pub parent_pid: u32,
    /// Without its alert targets.
    pub task: Task,
    pub script: Script,
    /// What config.toml says about the task's addresses. The parent, which connects, decides by its own copy.
    pub addresses: AddressGrants,
    /// The template as JSON; none: it is learned.
    pub template: Option<String>,
    /// Files of the folder that the script reads, by name.
    pub files: BTreeMap<String, String>,
    /// The secrets that the script names, and no others.
    pub secrets: Secrets,
    /// The session's cookies from the last run.
    pub cookies: Option<String>,
    /// Cached pages of earlier runs. Their bodies are requested when needed ([`super::FetchRequest::Body`]).
    pub cached_pages: Vec<CachedPage>,
    pub robots: Vec<RobotsTxt>,
    /// Path of Chromium, for tasks with the browser engine; none: it is searched.
    pub browser: Option<PathBuf>,
    /// Folder for temporary files of the run; the parent removes it.
    pub scratch: Option<PathBuf>,
}

/// Secrets by name, with the origins that they may be sent to. `Debug` prints only the names.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secrets(pub BTreeMap<String, GrantedSecret>);

impl FetchInput {
    /// For a child of this process, with nothing from earlier runs.
    pub fn new(task: &Task, script: &Script, template: Option<String>) -> FetchInput {
        FetchInput {
            parent_pid: std::process::id(),
            task: Task { alert: Alert::default(), ..task.clone() },
            script: script.clone(),
            addresses: AddressGrants::default(),
            template,
            files: BTreeMap::new(),
            secrets: Secrets::default(),
            cookies: None,
            cached_pages: Vec::new(),
            robots: Vec::new(),
            browser: None,
            scratch: None,
        }
    }
}

impl Job {
    pub fn parent_pid(&self) -> u32 {
        match self {
            Job::Run(job) => job.fetch.parent_pid,
            Job::Step(job) => job.fetch.parent_pid,
            Job::Repair(job) => job.parent_pid,
            Job::Inspect(job) => job.parent_pid,
        }
    }

    pub fn limits(&self) -> &Limits {
        match self {
            Job::Run(job) => &job.fetch.task.limits,
            Job::Step(job) => &job.fetch.task.limits,
            Job::Repair(job) => &job.limits,
            Job::Inspect(job) => &job.limits,
        }
    }

    /// Where nothing is fetched no browser is needed, and the sandbox has no exceptions.
    pub fn engine(&self) -> Engine {
        match self {
            Job::Run(job) => job.fetch.task.fetch.engine,
            Job::Step(job) => job.fetch.task.fetch.engine,
            Job::Repair(_) | Job::Inspect(_) => Engine::Http,
        }
    }
}

impl ChildJob for RunJob {
    type Message = RunMessage;

    /// A template is asked for only where there is none.
    fn budget(&self) -> Budget {
        let mut budget = Budget::new(RunMessage::kinds());
        if self.fetch.template.is_some() {
            budget = budget.without(FrameKind::Template);
        }
        let steps = self.fetch.script.every_step();
        let has_details = steps.iter().any(|step| matches!(step, ScriptStep::Details(_)));
        if self.details.is_some() || !has_details {
            budget = budget.without(FrameKind::DetailTemplate);
        }
        budget
    }
}

impl FrameMessage for Job {
    fn kind(&self) -> FrameKind {
        FrameKind::Job
    }
}

impl ChildJob for StepJob {
    type Message = StepMessage;
}

impl ChildJob for RepairJob {
    type Message = RepairAnswer;
}

impl ChildJob for InspectJob {
    type Message = InspectAnswer;

    fn budget(&self) -> Budget {
        Budget::new(InspectAnswer::kinds()).times(FrameKind::Inspection, self.max_answers() as u64)
    }
}

impl InspectJob {
    /// Answers in parts: the rows of each list, or a page.
    const MAX_PARTS: usize = 40;

    pub fn max_answers(&self) -> usize {
        if self.in_parts { InspectJob::MAX_PARTS } else { 1 }
    }
}

impl From<RunJob> for Job {
    fn from(job: RunJob) -> Job {
        Job::Run(Box::new(job))
    }
}

impl From<StepJob> for Job {
    fn from(job: StepJob) -> Job {
        Job::Step(Box::new(job))
    }
}

impl From<RepairJob> for Job {
    fn from(job: RepairJob) -> Job {
        Job::Repair(Box::new(job))
    }
}

impl From<InspectJob> for Job {
    fn from(job: InspectJob) -> Job {
        Job::Inspect(Box::new(job))
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printing_an_assignment_does_not_print_its_secrets() {
        let secret = GrantedSecret { value: "hunter2".to_owned(), origins: Vec::new() };
        let secrets = Secrets(BTreeMap::from([("shop".to_owned(), secret)]));
        assert_eq!(format!("{secrets:?}"), r#"{"shop"}"#);
    }
}
