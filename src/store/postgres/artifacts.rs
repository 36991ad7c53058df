//! Traces and raw pages of runs, in PostgreSQL.

use super::session::get;
use super::{PgSession, Postgres, RetentionLimits, StoreError, runs, timestamp};
use crate::model::{PageMeta, RunId, TaskName, TraceLine};
use crate::store::artifacts::{MAX_SAVED_INDEX, MAX_TRACE_CHARS, MAX_TRACE_LINES, RunArtifacts};
use crate::store::batch::storable;

impl RunArtifacts for Postgres {
    fn append_trace(&mut self, run: RunId, lines: &[TraceLine]) -> Result<(), StoreError> {
        let (session, id) = (&self.session, run.to_string());
        session.in_transaction(|| {
            runs::require_open(session, self.member.as_ref(), run)?;
            let written = session.number("SELECT count(*) FROM _trace WHERE run = $1", &[&id])?;
            for (number, line) in (written..MAX_TRACE_LINES).zip(lines) {
                let text: String = line.text.chars().take(MAX_TRACE_CHARS).collect();
                session.execute(
                    "INSERT INTO _trace (run, line, at, step, verb, text) VALUES ($1, $2, $3, $4, $5, $6)",
                    &[
                        &id,
                        &number,
                        &timestamp::to_millis(line.at),
                        &i64::from(line.step),
                        &storable(&line.verb),
                        &storable(&text),
                    ],
                )?;
            }
            Ok(())
        })
    }

    fn trace_lines(&self, run: RunId) -> Result<Vec<TraceLine>, StoreError> {
        let sql = "SELECT at, step, verb, text FROM _trace WHERE run = $1 ORDER BY line";
        let found = self.session.rows(sql, &[&run.to_string()])?;
        let line = |row| {
            let step = u32::try_from(get::<i64>(row, 1)?).map_err(StoreError::invalid_value)?;
            Ok(TraceLine { at: get(row, 0)?, step, verb: get(row, 2)?, text: get(row, 3)? })
        };
        found.iter().map(line).collect()
    }

    fn store_page(&mut self, run: RunId, index: u32, meta: &PageMeta, zstd: &[u8]) -> Result<(), StoreError> {
        let most = if meta.saved_as.is_some() { MAX_SAVED_INDEX } else { self.retention.pages_per_run };
        if index >= most {
            return Ok(());
        }
        let task = runs::require_open(&self.session, self.member.as_ref(), run)?;
        let meta = serde_json::to_string(meta).map_err(StoreError::invalid_value)?;
        self.session.execute(
            "INSERT INTO _pages (run, page, task, meta, body) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (run, page) DO UPDATE SET meta = excluded.meta, body = excluded.body",
            &[&run.to_string(), &i64::from(index), &task.as_str(), &meta, &zstd],
        )?;
        Ok(())
    }

    fn pages(&self, run: RunId) -> Result<Vec<(PageMeta, Vec<u8>)>, StoreError> {
        let sql = "SELECT meta, body FROM _pages WHERE run = $1 ORDER BY page";
        let found = self.session.rows(sql, &[&run.to_string()])?;
        let page = |row| Ok((serde_json::from_str(get(row, 0)?).map_err(StoreError::invalid_value)?, get(row, 1)?));
        found.iter().map(page).collect()
    }
}

/// Keeps the pages of the last good run that has any, and of the last few bad ones.
pub(super) fn prune_pages(session: &PgSession, task: &TaskName, keep: RetentionLimits) -> Result<(), StoreError> {
    let (mut good, mut bad) = (1, keep.bad_runs);
    // Newest first, with whether the run was published.
    let found = session.rows(
        "SELECT DISTINCT p.run, coalesce(r.outcome = 'published', false), r.started
         FROM _pages p JOIN _runs r ON r.id = p.run WHERE p.task = $1 ORDER BY r.started DESC, p.run DESC",
        &[&task.as_str()],
    )?;
    for row in &found {
        let left = if get(row, 1)? { &mut good } else { &mut bad };
        match left.checked_sub(1) {
            Some(fewer) => *left = fewer,
            None => _ = session.execute("DELETE FROM _pages WHERE run = $1", &[&get::<&str>(row, 0)?])?,
        }
    }
    Ok(())
}
