//! The robot of a task, step by step: forward, back, its variables, and the page where it stands. It walks in a sealed process of
//! its own; nothing is published and nothing is kept.

mod show;
mod list;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::daemon::threads::blocking;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::{Html, Redirect, Response};
use tokio::time::{sleep, timeout};

use crate::daemon::stepping::Stepping;
use crate::model::{Stepped, TaskName};
use crate::taskdir::{self, ScriptText};

use super::super::Shared;
use super::super::gate::Visitor;
use super::super::route::Route;
use super::super::trouble::Trouble;
use super::super::verbs::task_name;
use super::{Side, address, found, page, source};

/// Each is a process.
const MOST: usize = 4;
/// Who has not looked for so long has left.
const IDLE: Duration = Duration::from_secs(600);
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// A step that takes longer goes on while the page is shown.
const PATIENCE: Duration = Duration::from_secs(20);

pub fn routes() -> Vec<Route> {
    vec![
        Route::get("/task/{name}/step", show),
        Route::post("/task/{name}/step", begin),
        Route::post("/task/{name}/step/next", next),
        Route::post("/task/{name}/step/back", back),
        Route::post("/task/{name}/step/end", end),
        Route::get("/task/{name}/step/source", page_source),
    ]
}

/// The walks under way, one a task.
#[derive(Clone, Default)]
pub struct Walks(Arc<Mutex<HashMap<TaskName, Arc<Walk>>>>);

pub struct Walk {
    stepping: Arc<tokio::sync::Mutex<Stepping>>,
    /// robot.toml as it was when the walk began.
    text: ScriptText,
    seen: Mutex<Seen>,
}

struct Seen {
    stepped: Stepped,
    /// Where it stands, compressed.
    page: Vec<u8>,
    used: Instant,
    is_gone: bool,
}

impl Walk {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A step, or one back. False: the one before is not done yet.
    async fn go(self: &Arc<Walk>, forward: bool) -> bool {
        let Ok(mut stepping) = Arc::clone(&self.stepping).try_lock_owned() else { return false };
        let walk = Arc::clone(self);
        // By itself, so that a visitor who leaves in the middle of a step does not lose its end.
        let going = tokio::spawn(async move {
            let gone = stepping.go(forward).await;
            let mut seen = walk.seen();
            match gone {
                Some((stepped, page)) => (seen.stepped, seen.page) = (stepped, page),
                None => seen.is_gone = true,
            }
        });
        let _ = timeout(PATIENCE, going).await;
        true
    }
}

impl Walks {
    fn lock(&self) -> MutexGuard<'_, HashMap<TaskName, Arc<Walk>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, task: &TaskName) -> Option<Arc<Walk>> {
        let walk = self.lock().get(task).cloned()?;
        walk.seen().used = Instant::now();
        Some(walk)
    }

    /// Ends it when nobody looks any more.
    fn keep(&self, task: TaskName, walk: Walk) {
        let walk = Arc::new(walk);
        self.lock().insert(task.clone(), Arc::clone(&walk));
        let (walks, walk) = (self.clone(), Arc::downgrade(&walk));
        tokio::spawn(async move {
            while let Some(walk) = walk.upgrade() {
                if walk.seen().used.elapsed() > IDLE {
                    walks.lock().retain(|name, it| *name != task || !Arc::ptr_eq(it, &walk));
                    return;
                }
                drop(walk);
                sleep(LOOK_EVERY).await;
            }
        });
    }
}

async fn show(State(web): State<Shared>, visitor: Visitor, name: Path<String>) -> Result<Html<String>, Trouble> {
    let line = found(&web, name).await?;
    let body = match web.walks.get(&line.task) {
        None => show::beginning(&visitor, &line.task),
        Some(walk) => {
            let is_busy = walk.stepping.try_lock().is_err();
            let seen = walk.seen();
            let look = show::Look { text: &walk.text, is_busy, is_gone: seen.is_gone, has_page: !seen.page.is_empty() };
            show::walk(&visitor, &line.task, &seen.stepped, &look)
        }
    };
    Ok(page(&visitor, &line, Side::Step, body))
}

async fn begin(State(web): State<Shared>, name: Path<String>) -> Result<Redirect, Trouble> {
    let line = found(&web, name).await?;
    web.walks.lock().remove(&line.task);
    if web.walks.lock().len() >= MOST {
        return Err(Trouble::Refused(format!("{MOST} robots are being walked through already; end one of them")));
    }
    let dir = web.config.tasks.join(line.task.as_str());
    let read = blocking(move || taskdir::read(&dir).map(|folder| (ScriptText::of(&folder), folder)));
    let read = read.await.map_err(|_| Trouble::Internal)?;
    let (text, folder) = read.map_err(|problem| Trouble::Refused(problem.to_string()))?;
    let folder = Arc::new(folder);
    let (stepping, stepped) = web.door.runner.step_through(&folder).await.map_err(Trouble::Refused)?;
    let seen = Seen { stepped, page: Vec::new(), used: Instant::now(), is_gone: false };
    let stepping = Arc::new(tokio::sync::Mutex::new(stepping));
    web.walks.keep(line.task.clone(), Walk { stepping, text, seen: Mutex::new(seen) });
    Ok(here(&line.task))
}

async fn next(State(web): State<Shared>, Path(name): Path<String>) -> Result<Redirect, Trouble> {
    go(&web, &name, true).await
}

async fn back(State(web): State<Shared>, Path(name): Path<String>) -> Result<Redirect, Trouble> {
    go(&web, &name, false).await
}

async fn go(web: &Shared, name: &str, forward: bool) -> Result<Redirect, Trouble> {
    let task = task_name(name)?;
    let over = || Trouble::Refused("this walk is over; begin another".to_owned());
    let walk = web.walks.get(&task).ok_or_else(over)?;
    if !walk.go(forward).await {
        return Err(Trouble::Refused("the step before is not done yet".to_owned()));
    }
    Ok(here(&task))
}

async fn end(State(web): State<Shared>, Path(name): Path<String>) -> Result<Redirect, Trouble> {
    let task = task_name(&name)?;
    web.walks.lock().remove(&task);
    Ok(here(&task))
}

async fn page_source(
    State(web): State<Shared>,
    headers: HeaderMap,
    Path(name): Path<String>,
) -> Result<Response, Trouble> {
    let walk = web.walks.get(&task_name(&name)?).ok_or(Trouble::NoPage)?;
    let packed = walk.seen().page.clone();
    source::as_text(&headers, packed, "utf-8")
}

fn here(task: &TaskName) -> Redirect {
    Redirect::to(&address(task, "/step"))
}
