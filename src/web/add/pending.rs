//! Tasks that are being added: few, and not for ever.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::daemon::threads::blocking;
use chrono::Utc;
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

use crate::config::Config;
use crate::daemon::runner::{RunOrder, RunResult, Runner};
use crate::daemon::store_handle::StoreHandle;
use crate::labelling::task::add::{AddError, TaskDraft};
use crate::model::{Failure, Outcome, RunId, TaskName, TraceLine};
use crate::store::{RunStart, Store, StoreError, Trigger};

use super::super::token;
use crate::web::error::WebError;
use crate::web::labelling_session::LabellingSession;

/// At the same time; the oldest gives way.
const MAX_PENDING: usize = 8;
/// Whoever has not chosen by then begins anew.
const MAX_AGE: Duration = Duration::from_secs(30 * 60);
/// Lines of the trace that are shown while the page is fetched.
const MAX_LINES: usize = 20;

#[derive(Clone, Default)]
pub struct PendingTasks(Arc<Mutex<BTreeMap<String, Arc<PendingTask>>>>);

/// How far it is.
#[derive(Clone)]
pub enum AddStage {
    /// What its first run has done so far.
    Fetching(Vec<String>),
    /// There is something to choose from, on the first page at least.
    Ready(Option<Shortfall>),
    /// There is not, and why.
    Refused(String),
}

/// The list goes on, and cannot be read there.
#[derive(Clone)]
pub enum Shortfall {
    /// Why.
    Unread(String),
    /// Runs leave it out.
    LeftOut,
}

pub struct PendingTask {
    name: TaskName,
    config: Config,
    began: Instant,
    stage: Mutex<AddStage>,
    /// Gone once the task is made. Its files go with it.
    draft: Mutex<Option<TaskDraft>>,
    /// Ends its run when nobody waits for it any more.
    stop: watch::Sender<bool>,
}

impl PendingTasks {
    /// Starts the first run; what it sees can be asked for under this name.
    pub async fn begin(&self, runner: &Runner, draft: TaskDraft) -> Result<String, WebError> {
        let (config, name) = (draft.config.clone(), draft.name.clone());
        let keeper = blocking({
            let (config, name) = (config.clone(), name.clone());
            move || open_store(&config, &name)
        });
        let keeper = keeper.await.map_err(|_| WebError::Internal)??;
        let runner = Runner { config: Arc::new(config.clone()), store: keeper, ..runner.clone() };
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
        found.ok_or_else(|| WebError::Refused("this address was given too long ago; add it again".to_owned()))
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A store of its own, which goes with the draft.
fn open_store(config: &Config, name: &TaskName) -> Result<StoreHandle, WebError> {
    let failed = |error: std::io::Error| WebError::Refused(format!("{}: {error}", config.state.display()));
    std::fs::create_dir_all(&config.state).map_err(failed)?;
    let mut store = Store::open(&config.store)?;
    store.upsert_task(name, None, Utc::now())?;
    StoreHandle::start(store).map_err(failed)
}

impl PendingTask {
    pub fn name(&self) -> &TaskName {
        &self.name
    }

    pub fn stage(&self) -> AddStage {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The page that was fetched, and what is known of it.
    pub async fn labelling_session(&self) -> Result<LabellingSession, WebError> {
        let folder = match self.draft.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(TaskDraft::folder) {
            Some(Ok(folder)) => folder,
            Some(Err(problem)) => return Err(WebError::Refused(problem.to_string())),
            None => return Err(WebError::Refused("this task was made already".to_owned())),
        };
        let store = self.config.store.clone();
        let laying = blocking(move || LabellingSession::open(&Store::open_reader(&store)?, folder));
        laying.await.map_err(|_| WebError::Internal)?
    }

    /// The draft, once.
    pub fn take_draft(&self) -> Option<TaskDraft> {
        self.draft.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Runs of the task leave out the pages after the first.
    pub fn read_first_page_only(&self) -> Result<(), WebError> {
        match self.draft.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            Some(draft) => draft.read_first_page_only()?,
            None => return Err(WebError::Refused("this task was made already".to_owned())),
        }
        self.set_stage(AddStage::Ready(Some(Shortfall::LeftOut)));
        Ok(())
    }

    async fn run(self: Arc<PendingTask>, runner: Runner, stop: watch::Receiver<bool>) {
        let folder = self.draft.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(TaskDraft::trial);
        let Some(Ok(folder)) = folder else {
            return self.set_stage(AddStage::Refused("its folder is gone".to_owned()));
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
                return AddStage::Refused("the run could not begin; try again".to_owned());
            }
            Err(error) => return AddStage::Refused(error.to_string()),
        };
        let draft = self.draft.lock().unwrap_or_else(PoisonError::into_inner);
        match draft.as_ref().map(|draft| draft.check(&verdict)) {
            Some(Err(error)) => AddStage::Refused(format!("{error}{}", hint(&error))),
            Some(Ok(shortfall)) => AddStage::Ready(shortfall.map(Shortfall::Unread)),
            None => AddStage::Ready(None),
        }
    }

    fn set_stage(&self, stage: AddStage) {
        if matches!(stage, AddStage::Refused(_)) {
            // Nothing is left behind of what was not made.
            drop(self.take_draft());
        }
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = stage;
    }

    fn add_line(&self, line: String) {
        if let AddStage::Fetching(lines) = &mut *self.stage.lock().unwrap_or_else(PoisonError::into_inner)
            && lines.len() < MAX_LINES
        {
            lines.push(line.chars().filter(|c| !c.is_control()).take(300).collect());
        }
    }
}

/// What to do in the form about it.
fn hint(error: &AddError) -> &'static str {
    match error {
        AddError::Private(_) => ": tick “private network” in the form",
        AddError::NothingSeen { outcome: Outcome::Failed(Failure::RobotsTxt), .. } => {
            ": tick “Ignore its robots.txt” in the form"
        }
        AddError::NothingSeen { outcome: Outcome::Empty(_) | Outcome::Failed(Failure::Blocked), .. } => {
            ": tick “A real browser” in the form"
        }
        _ => "",
    }
}
