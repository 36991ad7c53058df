//! Tasks that are being added: few, and not for ever.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::daemon::threads::blocking;
use chrono::Utc;
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

use crate::config::Config;
use crate::daemon::keeper::Keeper;
use crate::daemon::runner::{Ended, Order, Runner};
use crate::model::{Failure, Outcome, RunId, TaskName, TraceLine};
use crate::store::{RunStart, Store, StoreError, Trigger};
use crate::supervise::add::{AddError, Draft};

use super::super::bench::Bench;
use super::super::token;
use super::super::trouble::Trouble;

/// At the same time; the oldest gives way.
const MOST: usize = 8;
/// Whoever has not chosen by then begins anew.
const LONGEST: Duration = Duration::from_secs(30 * 60);
/// Lines of the trace that are shown while the page is fetched.
const MOST_LINES: usize = 20;

#[derive(Clone, Default)]
pub struct Adding(Arc<Mutex<BTreeMap<String, Arc<Pending>>>>);

/// How far it is.
#[derive(Clone)]
pub enum Stage {
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

pub struct Pending {
    name: TaskName,
    config: Config,
    began: Instant,
    stage: Mutex<Stage>,
    /// Gone once the task is made. Its files go with it.
    draft: Mutex<Option<Draft>>,
    /// Ends its run when nobody waits for it any more.
    stop: watch::Sender<bool>,
}

impl Adding {
    /// Starts the first run; what it sees can be asked for under this name.
    pub async fn begin(&self, runner: &Runner, draft: Draft) -> Result<String, Trouble> {
        let (config, name) = (draft.config.clone(), draft.name.clone());
        let keeper = blocking({
            let (config, name) = (config.clone(), name.clone());
            move || opened(&config, &name)
        });
        let keeper = keeper.await.map_err(|_| Trouble::Internal)??;
        let runner = Runner { config: Arc::new(config.clone()), keeper, ..runner.clone() };
        let (stop, stopped) = watch::channel(false);
        let pending = Arc::new(Pending {
            name,
            config,
            began: Instant::now(),
            stage: Mutex::new(Stage::Fetching(Vec::new())),
            draft: Mutex::new(Some(draft)),
            stop,
        });
        let id = token::name();
        self.put(id.clone(), Arc::clone(&pending));
        tokio::spawn(async move { pending.run(runner, stopped).await });
        let (adding, forgotten) = (self.clone(), id.clone());
        tokio::spawn(async move {
            sleep(LONGEST).await;
            adding.forget(&forgotten);
        });
        Ok(id)
    }

    pub fn get(&self, id: &str) -> Result<Arc<Pending>, Trouble> {
        let found = self.lock().get(id).cloned();
        found.ok_or_else(|| Trouble::Refused("this address was given too long ago; add it again".to_owned()))
    }

    pub fn forget(&self, id: &str) {
        if let Some(pending) = self.lock().remove(id) {
            pending.stop.send_replace(true);
        }
    }

    fn put(&self, id: String, pending: Arc<Pending>) {
        let oldest =
            |all: &BTreeMap<String, Arc<Pending>>| all.iter().min_by_key(|(_, it)| it.began).map(|(id, _)| id.clone());
        let too_many = {
            let all = self.lock();
            (all.len() >= MOST).then(|| oldest(&all)).flatten()
        };
        if let Some(id) = too_many {
            self.forget(&id);
        }
        self.lock().insert(id, pending);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Pending>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A store of its own, which goes with the draft.
fn opened(config: &Config, name: &TaskName) -> Result<Keeper, Trouble> {
    let failed = |error: std::io::Error| Trouble::Refused(format!("{}: {error}", config.state.display()));
    std::fs::create_dir_all(&config.state).map_err(failed)?;
    let mut store = Store::open(&config.store)?;
    store.remember_task(name, None, Utc::now())?;
    Keeper::start(store).map_err(failed)
}

impl Pending {
    pub fn name(&self) -> &TaskName {
        &self.name
    }

    pub fn stage(&self) -> Stage {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The page that was fetched, and what is known of it.
    pub async fn laid(&self) -> Result<Bench, Trouble> {
        let folder = match self.draft.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(Draft::folder) {
            Some(Ok(folder)) => folder,
            Some(Err(problem)) => return Err(Trouble::Refused(problem.to_string())),
            None => return Err(Trouble::Refused("this task was made already".to_owned())),
        };
        let store = self.config.store.clone();
        let laying = blocking(move || Bench::lay(&Store::open_reader(&store)?, folder));
        laying.await.map_err(|_| Trouble::Internal)?
    }

    /// The draft, once.
    pub fn finished(&self) -> Option<Draft> {
        self.draft.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Runs of the task leave out the pages after the first.
    pub fn read_first_page_only(&self) -> Result<(), Trouble> {
        match self.draft.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            Some(draft) => draft.read_first_page_only()?,
            None => return Err(Trouble::Refused("this task was made already".to_owned())),
        }
        self.turn(Stage::Ready(Some(Shortfall::LeftOut)));
        Ok(())
    }

    async fn run(self: Arc<Pending>, runner: Runner, stop: watch::Receiver<bool>) {
        let folder = self.draft.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(Draft::trial);
        let Some(Ok(folder)) = folder else { return self.turn(Stage::Refused("its folder is gone".to_owned())) };
        let (listener, mut lines) = mpsc::unbounded_channel::<TraceLine>();
        let heard = Arc::clone(&self);
        tokio::spawn(async move {
            while let Some(line) = lines.recv().await {
                heard.hear(format!("{:>2} {:<9} {}", line.step, line.verb, line.text));
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
        let order = Order { folder: Arc::new(folder), start, next_due: None, listener: Some(listener), stop };
        let ended = runner.run_to_its_end(order).await;
        self.turn(self.after(ended));
    }

    fn after(&self, ended: Result<Ended, StoreError>) -> Stage {
        let verdict = match ended {
            Ok(Ended::Run(end)) => end.verdict,
            Ok(Ended::SlotTaken | Ended::NotOurs) => {
                return Stage::Refused("the run could not begin; try again".to_owned());
            }
            Err(error) => return Stage::Refused(error.to_string()),
        };
        let draft = self.draft.lock().unwrap_or_else(PoisonError::into_inner);
        match draft.as_ref().map(|draft| draft.check(&verdict)) {
            Some(Err(error)) => Stage::Refused(format!("{error}{}", hint(&error))),
            Some(Ok(shortfall)) => Stage::Ready(shortfall.map(Shortfall::Unread)),
            None => Stage::Ready(None),
        }
    }

    fn turn(&self, stage: Stage) {
        if matches!(stage, Stage::Refused(_)) {
            // Nothing is left behind of what was not made.
            drop(self.finished());
        }
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = stage;
    }

    fn hear(&self, line: String) {
        if let Stage::Fetching(lines) = &mut *self.stage.lock().unwrap_or_else(PoisonError::into_inner)
            && lines.len() < MOST_LINES
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
