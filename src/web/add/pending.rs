//! Tasks that are being added: their trial run and its result, limited in number and age.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use chrono::Utc;
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

use crate::config::Config;
use crate::daemon::runs::runner::{RunOrder, RunResult, Runner};
use crate::daemon::store_handle::StoreHandle;
use crate::labelling::task::add::{AddError, TaskDraft};
use crate::model::{Failure, Outcome, RunId, TaskName, TraceLine};
use crate::store::{RunStart, Store, StoreError, Trigger};
use crate::web::error::WebError;
use crate::web::labelling_session::LabellingSession;
use crate::web::threads::blocking;

use super::super::token;

/// Tasks that may be added at the same time; one more discards the oldest.
const MAX_PENDING: usize = 8;
/// After this time without a choice the draft is discarded.
const MAX_AGE: Duration = Duration::from_secs(30 * 60);
/// Lines of the trace that are shown while the page is fetched.
const MAX_LINES: usize = 20;

#[derive(Clone, Default)]
pub(crate) struct PendingTasks(Arc<Mutex<BTreeMap<String, Arc<PendingTask>>>>);

/// The stage that adding a task has reached.
#[derive(Clone)]
pub enum AddStage {
    /// The trial run goes on; its trace so far.
    Fetching(Vec<String>),
    /// There are lists to choose from, on the first page at least.
    Ready(Option<Shortfall>),
    /// There are none, and why.
    Refused(String),
}

/// The list continues on a second page that cannot be read.
#[derive(Clone)]
pub enum Shortfall {
    /// Why it cannot be read.
    Unread(String),
    /// The person chose to read page 1 only.
    LeftOut,
}

pub struct PendingTask {
    pub name: TaskName,
    config: Config,
    began: Instant,
    stage: Mutex<AddStage>,
    /// None once the task is created. Dropping the draft removes its files.
    draft: Mutex<Option<TaskDraft>>,
    /// Stops the trial run when the draft is discarded.
    stop: watch::Sender<bool>,
}

impl PendingTasks {
    /// Starts the trial run and returns the id of the pending task.
    pub async fn begin(&self, runner: &Runner, draft: TaskDraft) -> Result<String, WebError> {
        let (config, name) = (draft.config.clone(), draft.name.clone());
        let store_handle = blocking({
            let (config, name) = (config.clone(), name.clone());
            move || open_store(&config, &name)
        });
        let store_handle = store_handle.await??;
        let runner = Runner { config: Arc::new(config.clone()), store: store_handle, ..runner.clone() };
        let (stop, stopped) = watch::channel(false);
        let pending = Arc::new(PendingTask {
            name,
            config,
            began: Instant::now(),
            stage: Mutex::new(AddStage::Fetching(Vec::new())),
            draft: Mutex::new(Some(draft)),
            stop,
        });
        let id = token::random_id();
        self.insert(id.clone(), Arc::clone(&pending));
        tokio::spawn(async move { pending.run(runner, stopped).await });
        let (adding, forgotten) = (self.clone(), id.clone());
        tokio::spawn(async move {
            sleep(MAX_AGE).await;
            adding.forget(&forgotten);
        });
        Ok(id)
    }

    pub fn get(&self, id: &str) -> Result<Arc<PendingTask>, WebError> {
        let found = self.lock().get(id).cloned();
        found.ok_or_else(|| WebError::Refused("These pages are no longer kept. Add the address again.".to_owned()))
    }

    pub fn forget(&self, id: &str) {
        if let Some(pending) = self.lock().remove(id) {
            pending.stop.send_replace(true);
        }
    }

    fn insert(&self, id: String, pending: Arc<PendingTask>) {
        let oldest = |all: &BTreeMap<String, Arc<PendingTask>>| {
            all.iter().min_by_key(|(_, it)| it.began).map(|(id, _)| id.clone())
        };
        let too_many = {
            let all = self.lock();
            (all.len() >= MAX_PENDING).then(|| oldest(&all)).flatten()
        };
        if let Some(id) = too_many {
            self.forget(&id);
        }
        self.lock().insert(id, pending);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<PendingTask>>> {
        lock(&self.0)
    }
}

pub(super) fn already_created() -> WebError {
    WebError::Refused("This task has been created already.".to_owned())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens a store for the trial run, in the draft's own folder.
fn open_store(config: &Config, name: &TaskName) -> Result<StoreHandle, WebError> {
    let failed = |error: std::io::Error| WebError::Refused(format!("{}: {error}", config.state.display()));
    config.prepare_state_folder().map_err(failed)?;
    let mut store = Store::open(&config.store)?;
    store.upsert_task(name, None, Utc::now())?;
    StoreHandle::start(store).map_err(failed)
}

impl PendingTask {
    pub fn stage(&self) -> AddStage {
        lock(&self.stage).clone()
    }

    /// A labelling session for the page that the trial run fetched.
    pub async fn labelling_session(&self) -> Result<LabellingSession, WebError> {
        let folder = lock(&self.draft).as_ref().map(TaskDraft::folder).ok_or_else(already_created)??;
        let store = self.config.store.clone();
        let laying = blocking(move || LabellingSession::open(&Store::open_reader(&store)?, folder));
        laying.await?
    }

    /// Hands out the draft, once.
    pub fn take_draft(&self) -> Option<TaskDraft> {
        lock(&self.draft).take()
    }

    /// Limits the task to its first page.
    pub fn read_first_page_only(&self) -> Result<(), WebError> {
        lock(&self.draft).as_ref().ok_or_else(already_created)?.read_first_page_only()?;
        self.set_stage(AddStage::Ready(Some(Shortfall::LeftOut)));
        Ok(())
    }

    async fn run(self: Arc<PendingTask>, runner: Runner, stop: watch::Receiver<bool>) {
        let folder = lock(&self.draft).as_ref().map(TaskDraft::trial);
        let Some(Ok(folder)) = folder else {
            return self.set_stage(AddStage::Refused("The draft's folder is gone. Add the address again.".to_owned()));
        };
        let (listener, mut lines) = mpsc::unbounded_channel::<TraceLine>();
        let heard = Arc::clone(&self);
        tokio::spawn(async move {
            while let Some(line) = lines.recv().await {
                heard.add_line(format!("{:>2} {:<9} {}", line.step, line.verb, line.text));
            }
        });
        let start = RunStart {
            run: RunId::new(),
            task: self.name.clone(),
            slot: None,
            trigger: Trigger::Person,
            started_at: Utc::now(),
            pid: None,
        };
        let order = RunOrder { folder: Arc::new(folder), start, next_due: None, listener: Some(listener), stop };
        let ended = runner.run_catching_panics(order).await;
        self.set_stage(self.stage_after(ended));
    }

    fn stage_after(&self, ended: Result<RunResult, StoreError>) -> AddStage {
        let verdict = match ended {
            Ok(RunResult::Run(end)) => end.verdict,
            Ok(RunResult::SlotTaken | RunResult::NotOurs) => {
                return AddStage::Refused("The trial run could not start. Try again.".to_owned());
            }
            Err(error) => return AddStage::Refused(error.to_string()),
        };
        let draft = lock(&self.draft);
        match draft.as_ref().map(|draft| draft.check(&verdict)) {
            Some(Err(error)) => AddStage::Refused(format!("{error}{}", hint(&error))),
            Some(Ok(shortfall)) => AddStage::Ready(shortfall.map(Shortfall::Unread)),
            None => AddStage::Ready(None),
        }
    }

    fn set_stage(&self, stage: AddStage) {
        if matches!(stage, AddStage::Refused(_)) {
            // Dropping the draft removes its files.
            drop(self.take_draft());
        }
        *lock(&self.stage) = stage;
    }

    fn add_line(&self, line: String) {
        if let AddStage::Fetching(lines) = &mut *lock(&self.stage)
            && lines.len() < MAX_LINES
        {
            lines.push(line.chars().filter(|c| !c.is_control()).take(300).collect());
        }
    }
}

/// What to change in the form after this error.
fn hint(error: &AddError) -> &'static str {
    match error {
        AddError::NothingSeen { outcome: Outcome::Failed(Failure::RobotsTxt), .. } => ": tick “Ignore its robots.txt”",
        AddError::NothingSeen { outcome: Outcome::Empty(_) | Outcome::Failed(Failure::Blocked), .. } => {
            ": tick “Fetch with a real browser”"
        }
        _ => "",
    }
}
