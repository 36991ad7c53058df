//! A run's end. Only a published verdict touches what readers see, and it does so in one short transaction.

use std::cell::Cell;

use chrono::{DateTime, Utc};

use super::session::get;
use super::settle::{Fate, Generation, believe, fate};
use super::stage::Staged;
use super::{Owings, Postgres, Session, StoreError, changes, generation, runs, shape, stamp, trace, view};
use crate::model::{RunId, TaskName, Verdict};
use crate::store::{Ending, Runs};

/// Somebody else may publish between our look and our transaction, once; not again and again.
const LOOKS: u32 = 3;

impl Ending for Postgres {
    fn end_run(&mut self, run: RunId, verdict: &Verdict, now: DateTime<Utc>) -> Result<Verdict, StoreError> {
        let task = runs::must_be_open(&self.session, self.member.as_ref(), run)?;
        let mut staged = self.staged.remove(&run).unwrap_or_default();
        let ended = self.settle(run, &task, &mut staged, verdict, now);
        match ended {
            // The run has ended whatever comes of this; what is not tidied now is at the next end.
            Ok(_) => _ = self.finish_changes(Some(&task)).and_then(|()| self.tidy(&task)),
            Err(_) => _ = self.staged.insert(run, staged),
        }
        ended
    }

    fn interrupted(&mut self, now: DateTime<Utc>) -> Result<Vec<(RunId, TaskName)>, StoreError> {
        let open = runs::open(&self.session, self.member.as_ref())?;
        for (run, task) in &open {
            self.staged.remove(run);
            self.bury_run(*run, task, now)?;
            self.sweep(task)?;
        }
        self.finish_changes(None)?;
        Ok(open)
    }

    fn owings(&mut self) -> &mut Owings {
        &mut self.owed
    }

    fn forget_staged(&mut self, run: RunId) {
        self.staged.remove(&run);
    }
}

impl Postgres {
    fn settle(
        &mut self,
        run: RunId,
        task: &TaskName,
        staged: &mut Staged,
        verdict: &Verdict,
        now: DateTime<Utc>,
    ) -> Result<Verdict, StoreError> {
        let believed = believe(verdict, staged.batch.rows);
        let mut looks = LOOKS;
        loop {
            looks -= 1;
            let published = generation::published(&self.session, task)?;
            let mut verdict = believed.clone();
            let fate = fate(&mut verdict, &staged.batch, published.as_ref());
            if matches!(fate, Fate::Publish) && published.is_some() {
                // The rows of before are about to go.
                self.finish_changes(Some(task))?;
            }
            let place = match fate {
                Fate::Publish | Fate::SetAside => {
                    Some(staged.spill(&self.session, self.member.as_ref(), (run, task), published.as_ref())?)
                }
                Fate::Confirm | Fate::Drop => None,
            };
            let end = End { run, task, staged, verdict: &verdict, fate, place, published: published.as_ref(), now };
            match self.write_end(&end)? {
                Written::Done => return Ok(verdict),
                // The connection was lost when it was as good as done.
                Written::Before(verdict) => return Ok(verdict),
                Written::Overtaken if looks > 0 => {}
                Written::Overtaken => {
                    return Err(StoreError::Busy("somebody else publishes this task all the time".into()));
                }
            }
        }
    }

    fn write_end(&self, end: &End<'_>) -> Result<Written, StoreError> {
        let session = &self.session;
        let tried = Cell::new(false);
        session.in_one(|| {
            match runs::lock_open(session, self.member.as_ref(), end.run) {
                Err(StoreError::RunEnded(_)) if tried.get() => {
                    let recorded = self.run(end.run)?.and_then(|run| run.end).map(|(_, verdict)| verdict);
                    return Ok(recorded.map_or(Written::Done, Written::Before));
                }
                open => _ = open?,
            }
            tried.set(true);
            if lock_published(session, end.task)? != end.published.map(|old| old.id) {
                return Ok(Written::Overtaken);
            }
            self.do_to_rows(end)?;
            drop_staged(session, end.run)?;
            runs::record_end(session, end.run, end.task, end.verdict, end.now)?;
            Ok(Written::Done)
        })
    }

    fn do_to_rows(&self, end: &End<'_>) -> Result<(), StoreError> {
        let session = &self.session;
        match (end.fate, end.place) {
            (Fate::Publish, Some((generation, table))) => {
                publish(session, end, generation, table)?;
                drop_quarantined(session, end.task, 0)
            }
            (Fate::Confirm, _) => {
                confirm(session, end)?;
                drop_quarantined(session, end.task, 0)
            }
            (Fate::SetAside, Some((generation, _))) => {
                generation::set_state(session, generation, "quarantined")?;
                drop_quarantined(session, end.task, self.keep.quarantined)
            }
            (Fate::Publish | Fate::SetAside, None) | (Fate::Drop, _) => Ok(()),
        }
    }

    /// Removes what a publication left behind. Nothing here is visible to readers, so it has transactions of its own; cut
    /// short, it goes on the next time.
    fn tidy(&mut self, task: &TaskName) -> Result<(), StoreError> {
        self.sweep(task)?;
        self.session.in_one(|| {
            trace::prune_pages(&self.session, task, self.keep)?;
            runs::prune(&self.session, task, self.keep)
        })
    }

    pub(super) fn sweep(&self, task: &TaskName) -> Result<(), StoreError> {
        for old in generation::removable(&self.session, task)? {
            generation::remove(&self.session, old)?;
        }
        shape::drop_unused(&self.session, task)
    }
}

/// A run's end as it is to be written.
struct End<'a> {
    run: RunId,
    task: &'a TaskName,
    staged: &'a Staged,
    verdict: &'a Verdict,
    fate: Fate,
    /// The generation and the table of its rows, where they are kept.
    place: Option<(i64, i64)>,
    /// What was published when the fate was decided.
    published: Option<&'a Generation>,
    now: DateTime<Utc>,
}

enum Written {
    Done,
    /// By the try before.
    Before(Verdict),
    Overtaken,
}

/// Whoever publishes a task waits here for whoever does so already.
fn lock_published(session: &Session, task: &TaskName) -> Result<Option<i64>, StoreError> {
    let row = session.row("SELECT published FROM _task WHERE name = $1 FOR UPDATE", &[&task.as_str()])?;
    row.map_or(Ok(None), |row| get(&row, 0))
}

/// The new rows are shown, those before are kept to go back to, and those before them go. The view is made anew only where the
/// columns are others.
fn publish(session: &Session, end: &End<'_>, generation: i64, table: i64) -> Result<(), StoreError> {
    let task = end.task.as_str();
    session.execute("UPDATE _generation SET state = 'old' WHERE task = $1 AND state = 'previous'", &[&task])?;
    if let Some(old) = end.published {
        generation::set_state(session, old.id, "previous")?;
    }
    session.execute(
        "UPDATE _generation SET state = 'published', run = $2, last_seen = $3 WHERE id = $1",
        &[&generation, &end.run.to_string(), &stamp::to_millis(end.now)],
    )?;
    session.execute(
        "UPDATE _task SET published = $2, previous_rows = published_rows, published_rows = $3 WHERE name = $1",
        &[&task, &generation, &end.staged.batch.rows],
    )?;
    if end.published.is_none_or(|old| old.table != table) {
        let drop = format!("DROP VIEW IF EXISTS {}", view::name(end.task));
        session.batch(&format!("{drop}; {}", view::create_sql(end.task, table, &end.staged.batch.columns)))?;
    }
    match end.published {
        Some(before) => changes::note(session, end.task, end.run, before, end.staged.batch.rows, end.now),
        None => Ok(()),
    }
}

/// The published rows were seen again: only when and by whom moves.
fn confirm(session: &Session, end: &End<'_>) -> Result<(), StoreError> {
    session.execute(
        "UPDATE _generation SET run = $2, last_seen = $3 WHERE id = $1",
        &[&end.published.map(|old| old.id), &end.run.to_string(), &stamp::to_millis(end.now)],
    )?;
    session.execute("UPDATE _task SET previous_rows = published_rows WHERE name = $1", &[&end.task.as_str()])?;
    Ok(())
}

/// What a run had written and nobody took over.
pub(super) fn drop_staged(session: &Session, run: RunId) -> Result<(), StoreError> {
    let sql = "UPDATE _generation SET state = 'old' WHERE run = $1 AND state = 'staging'";
    session.execute(sql, &[&run.to_string()])?;
    Ok(())
}

pub(super) fn drop_quarantined(session: &Session, task: &TaskName, keep: u32) -> Result<(), StoreError> {
    session.execute(
        "UPDATE _generation SET state = 'old' WHERE id IN (
             SELECT id FROM _generation WHERE task = $1 AND state = 'quarantined' ORDER BY id DESC OFFSET $2)",
        &[&task.as_str(), &i64::from(keep)],
    )?;
    Ok(())
}
