//! Executes a task's robot step by step, forward and back, and shows its variables and the current page. The robot runs
//! in a sandboxed process of its own; nothing is published or stored.

mod show;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{Html, Redirect, Response};
use tokio::time::{sleep, timeout};

use crate::daemon::child::stepping::StepProcess;
use crate::model::{StepwiseState, TaskName};
use crate::tasks;
use crate::tasks::ScriptText;
use crate::web::SharedState;
use crate::web::error::WebError;
use crate::web::task_path::TaskPath;
use crate::web::threads::blocking;

use super::source;
use super::task_page::{TaskPage, TaskTab, address};

/// Each session is a process.
const MAX_SESSIONS: usize = 4;
/// A session ends after this time without a request.
const IDLE_LIMIT: Duration = Duration::from_secs(600);
const CHECK_INTERVAL: Duration = Duration::from_secs(30);
/// The page is shown after this time even if the step is still running.
const STEP_WAIT: Duration = Duration::from_secs(20);

/// The open sessions, one per task.
#[derive(Clone, Default)]
pub(crate) struct StepSessions(Arc<Mutex<HashMap<TaskName, Arc<StepSession>>>>);

pub(super) struct StepSession {
    process: Arc<tokio::sync::Mutex<StepProcess>>,
    /// robot.toml as it was at the start of the session.
    text: ScriptText,
    view: Mutex<StepView>,
}

struct StepView {
    stepped: StepwiseState,
    /// The current page, compressed.
    page: Vec<u8>,
    used: Instant,
    has_ended: bool,
}

impl StepSession {
    fn view(&self) -> MutexGuard<'_, StepView> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Goes one step forward or back. Returns false if the previous step is still running.
    async fn step(self: &Arc<StepSession>, forward: bool) -> bool {
        let Ok(mut stepping) = Arc::clone(&self.process).try_lock_owned() else { return false };
        let walk = Arc::clone(self);
        // A task of its own: the step finishes even if the browser closes the connection.
        let going = tokio::spawn(async move {
            let gone = stepping.step(forward).await;
            let mut seen = walk.view();
            match gone {
                Some((stepped, page)) => (seen.stepped, seen.page) = (stepped, page),
                None => seen.has_ended = true,
            }
        });
        let _ = timeout(STEP_WAIT, going).await;
        true
    }
}

impl StepSessions {
    fn lock(&self) -> MutexGuard<'_, HashMap<TaskName, Arc<StepSession>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, task: &TaskName) -> Option<Arc<StepSession>> {
        let walk = self.lock().get(task).cloned()?;
        walk.view().used = Instant::now();
        Some(walk)
    }

    /// Adds a session, and ends it when it has been idle for too long.
    fn insert(&self, task: TaskName, walk: StepSession) {
        let walk = Arc::new(walk);
        self.lock().insert(task.clone(), Arc::clone(&walk));
        let (walks, walk) = (self.clone(), Arc::downgrade(&walk));
        tokio::spawn(async move {
            while let Some(walk) = walk.upgrade() {
                if walk.view().used.elapsed() > IDLE_LIMIT {
                    walks.lock().retain(|name, it| *name != task || !Arc::ptr_eq(it, &walk));
                    return;
                }
                drop(walk);
                sleep(CHECK_INTERVAL).await;
            }
        });
    }
}

pub(super) async fn show(at: TaskPage) -> Result<Html<String>, WebError> {
    let body = match at.web.step_sessions.get(at.task()) {
        None => show::start_form(&at.visitor, at.task()),
        Some(walk) => {
            let is_busy = walk.process.try_lock().is_err();
            let seen = walk.view();
            let look = show::StepPageState {
                text: &walk.text,
                is_busy,
                has_ended: seen.has_ended,
                has_page: !seen.page.is_empty(),
            };
            show::walk(&at.visitor, at.task(), &seen.stepped, &look)
        }
    };
    Ok(at.show(TaskTab::Step, body))
}

pub(super) async fn begin(at: TaskPage) -> Result<Redirect, WebError> {
    at.web.step_sessions.lock().remove(at.task());
    if at.web.step_sessions.lock().len() >= MAX_SESSIONS {
        return Err(WebError::Refused(format!(
            "{MAX_SESSIONS} robots are being stepped through already. End one of these sessions first."
        )));
    }
    let dir = at.dir();
    let read = blocking(move || tasks::read(&dir).map(|folder| (ScriptText::of(&folder), folder)));
    let (text, folder) = read.await??;
    let folder = Arc::new(folder);
    let started = at.web.daemon.runner.start_stepping(&folder).await;
    let (stepping, stepped) = started.map_err(|error| WebError::Refused(error.to_string()))?;
    let seen = StepView { stepped, page: Vec::new(), used: Instant::now(), has_ended: false };
    let stepping = Arc::new(tokio::sync::Mutex::new(stepping));
    at.web.step_sessions.insert(at.task().clone(), StepSession { process: stepping, text, view: Mutex::new(seen) });
    Ok(step_page(at.task()))
}

pub(super) async fn next(State(web): State<SharedState>, TaskPath(task): TaskPath) -> Result<Redirect, WebError> {
    step_session(&web, &task, true).await
}

pub(super) async fn back(State(web): State<SharedState>, TaskPath(task): TaskPath) -> Result<Redirect, WebError> {
    step_session(&web, &task, false).await
}

async fn step_session(web: &SharedState, task: &TaskName, forward: bool) -> Result<Redirect, WebError> {
    let over = || WebError::Refused("This session has ended. Start another one.".to_owned());
    let walk = web.step_sessions.get(task).ok_or_else(over)?;
    if !walk.step(forward).await {
        return Err(WebError::Refused("The previous step is still running.".to_owned()));
    }
    Ok(step_page(task))
}

pub(super) async fn end(State(web): State<SharedState>, TaskPath(task): TaskPath) -> Redirect {
    web.step_sessions.lock().remove(&task);
    step_page(&task)
}

pub(super) async fn page_source(
    State(web): State<SharedState>,
    headers: HeaderMap,
    TaskPath(task): TaskPath,
) -> Result<Response, WebError> {
    let walk = web.step_sessions.get(&task).ok_or(WebError::NoPage)?;
    let packed = walk.view().page.clone();
    source::as_text(&headers, packed, "utf-8")
}

fn step_page(task: &TaskName) -> Redirect {
    Redirect::to(&address(task, "/step"))
}
