//! Traces and raw pages of runs, in SQLite.

use rusqlite::{Connection, TransactionBehavior, params};

use super::{RetentionLimits, Sqlite, StoreError, decode, runs, timestamp};
use crate::model::{PageMeta, RunId, TaskName, TraceLine};
use crate::store::artifacts::{MAX_SAVED_INDEX, MAX_TRACE_CHARS, MAX_TRACE_LINES, RunArtifacts};

impl RunArtifacts for Sqlite {
    fn append_trace(&mut self, run: RunId, lines: &[TraceLine]) -> Result<(), StoreError> {
        runs::require_open(&self.connection, run)?;
        let id = run.to_string();
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let written: i64 = transaction
            .prepare_cached("SELECT count(*) FROM _trace WHERE run = ?1")?
            .query_row([&id], |row| row.get(0))?;
        for (number, line) in (written..MAX_TRACE_LINES).zip(lines) {
            let text: String = line.text.chars().take(MAX_TRACE_CHARS).collect();
            transaction
                .prepare_cached("INSERT INTO _trace (run, line, at, step, verb, text) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
                .execute(params![id, number, timestamp::text(line.at), line.step, line.verb, text])?;
        }
        Ok(transaction.commit()?)
    }

    fn trace_lines(&self, run: RunId) -> Result<Vec<TraceLine>, StoreError> {
        let mut statement =
            self.connection.prepare_cached("SELECT at, step, verb, text FROM _trace WHERE run = ?1 ORDER BY line")?;
        let mut rows = statement.query([run.to_string()])?;
        let mut lines = Vec::new();
        while let Some(row) = rows.next()? {
            let at = timestamp::parse(&row.get::<_, String>(0)?)?;
            lines.push(TraceLine { at, step: row.get(1)?, verb: row.get(2)?, text: row.get(3)? });
        }
        Ok(lines)
    }

    fn store_page(&mut self, run: RunId, index: u32, meta: &PageMeta, zstd: &[u8]) -> Result<(), StoreError> {
        let most = if meta.saved_as.is_some() { MAX_SAVED_INDEX } else { self.retention.pages_per_run };
        if index >= most {
            return Ok(());
        }
        let task = runs::require_open(&self.connection, run)?;
        let meta = serde_json::to_string(meta).map_err(StoreError::invalid_value)?;
        self.connection
            .prepare_cached("INSERT OR REPLACE INTO _pages (run, page, task, meta, body) VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute(params![run.to_string(), index, task.as_str(), meta, zstd])?;
        Ok(())
    }

    fn pages(&self, run: RunId) -> Result<Vec<(PageMeta, Vec<u8>)>, StoreError> {
        let mut statement =
            self.connection.prepare_cached("SELECT meta, body FROM _pages WHERE run = ?1 ORDER BY page")?;
        let mut rows = statement.query([run.to_string()])?;
        let mut pages = Vec::new();
        while let Some(row) = rows.next()? {
            let meta = row.get::<_, String>(0)?;
            let meta = serde_json::from_str(&meta).map_err(StoreError::invalid_value)?;
            pages.push((meta, row.get(1)?));
        }
        Ok(pages)
    }
}

/// Keeps the pages of the last good run that has any, and of the last few bad ones.
pub(super) fn prune_pages(connection: &Connection, task: &TaskName, keep: RetentionLimits) -> Result<(), StoreError> {
    let (mut good, mut bad) = (1, keep.bad_runs);
    for (run, is_published) in runs_with_pages(connection, task)? {
        let left = if is_published { &mut good } else { &mut bad };
        match left.checked_sub(1) {
            Some(fewer) => *left = fewer,
            None => _ = connection.execute("DELETE FROM _pages WHERE run = ?1", [run.to_string()])?,
        }
    }
    Ok(())
}

/// Newest first, with whether the run was published.
fn runs_with_pages(connection: &Connection, task: &TaskName) -> Result<Vec<(RunId, bool)>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT DISTINCT p.run, coalesce(r.outcome = 'published', 0), r.started
         FROM _pages p JOIN _runs r ON r.id = p.run WHERE p.task = ?1 ORDER BY r.started DESC, p.run DESC",
    )?;
    let mut rows = statement.query([task.as_str()])?;
    let mut runs = Vec::new();
    while let Some(row) = rows.next()? {
        runs.push((decode::run_id(&row.get::<_, String>(0)?)?, row.get(1)?));
    }
    Ok(runs)
}
