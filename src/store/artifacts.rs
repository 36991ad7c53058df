//! Run artifacts: the trace lines of a run, and the raw pages of the last good run and of the most recent bad ones.

use super::retention::RetentionLimits;
use super::sql::{SqlSession, SqlStore};
use super::{StoreError, StoreResult};
use crate::model::{PageMeta, RunId, TaskName, TraceLine};

/// Per run. A script of fifty steps over fifty pages writes some 200.
const MAX_TRACE_LINES: i64 = 2_000;

/// Pages that a script's `save` step names are numbered from 1,000, and there are at most 1,000 of them.
const MAX_SAVED_INDEX: u32 = 2_000;

const MAX_TRACE_CHARS: usize = 4_096;

/// Traces and raw pages, kept for diagnosis.
pub trait RunArtifacts {
    /// Appends to a run's trace; beyond the limit lines are dropped.
    fn append_trace(&mut self, run: RunId, lines: &[TraceLine]) -> StoreResult<()>;

    fn trace_lines(&self, run: RunId) -> StoreResult<Vec<TraceLine>>;

    /// Keeps a raw page, which the caller has compressed. Pages beyond the limit per run are ignored, unless the script
    /// has named them.
    fn store_page(&mut self, run: RunId, index: u32, meta: &PageMeta, zstd: &[u8]) -> StoreResult<()>;

    /// The kept pages of a run in order, with the bodies as they were stored (compressed).
    fn pages(&self, run: RunId) -> StoreResult<Vec<(PageMeta, Vec<u8>)>>;
}

impl<S: SqlStore> RunArtifacts for S {
    fn append_trace(&mut self, run: RunId, lines: &[TraceLine]) -> StoreResult<()> {
        let session = self.session();
        session.in_transaction(|| {
            self.require_open(run)?;
            let written = session.query_number("SELECT count(*) FROM _trace WHERE run = $1", &[&run])?;
            for (number, line) in (written..MAX_TRACE_LINES).zip(lines) {
                let text: String = line.text.chars().take(MAX_TRACE_CHARS).collect();
                session.modify(
                    "INSERT INTO _trace (run, line, at, step, verb, text) VALUES ($1, $2, $3, $4, $5, $6)",
                    &[&run, &number, &line.at, &line.step, &line.verb, &text],
                )?;
            }
            Ok(())
        })
    }

    fn trace_lines(&self, run: RunId) -> StoreResult<Vec<TraceLine>> {
        let sql = "SELECT at, step, verb, text FROM _trace WHERE run = $1 ORDER BY line";
        self.session().query(sql, &[&run], |row| {
            Ok(TraceLine { at: row.get(0)?, step: row.get(1)?, verb: row.get(2)?, text: row.get(3)? })
        })
    }

    fn store_page(&mut self, run: RunId, index: u32, meta: &PageMeta, zstd: &[u8]) -> StoreResult<()> {
        let most = if meta.saved_as.is_some() { MAX_SAVED_INDEX } else { self.retention().pages_per_run };
        if index >= most {
            return Ok(());
        }
        let task = self.require_open(run)?;
        let meta = serde_json::to_string(meta).map_err(StoreError::invalid_value)?;
        self.session().apply(
            "INSERT INTO _pages (run, page, task, meta, body) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (run, page) DO UPDATE SET meta = excluded.meta, body = excluded.body",
            &[&run, &index, &task, &meta, &zstd],
        )
    }

    fn pages(&self, run: RunId) -> StoreResult<Vec<(PageMeta, Vec<u8>)>> {
        let sql = "SELECT meta, body FROM _pages WHERE run = $1 ORDER BY page";
        self.session().query(sql, &[&run], |row| Ok((row.json(0)?, row.get(1)?)))
    }
}

/// Keeps the pages of the last good run that has any, and of the last few bad ones.
pub(super) fn prune_pages(session: &impl SqlSession, task: &TaskName, keep: RetentionLimits) -> StoreResult<()> {
    let (mut good, mut bad) = (1, keep.bad_runs);
    // Newest first, with whether the run was published.
    let sql = "SELECT DISTINCT p.run, coalesce(r.outcome = 'published', false), r.started
               FROM _pages p JOIN _runs r ON r.id = p.run WHERE p.task = $1 ORDER BY r.started DESC, p.run DESC";
    for (run, is_published) in session.query(sql, &[task], |row| Ok((row.get::<RunId>(0)?, row.get(1)?)))? {
        let left = if is_published { &mut good } else { &mut bad };
        match left.checked_sub(1) {
            Some(fewer) => *left = fewer,
            None => _ = session.modify("DELETE FROM _pages WHERE run = $1", &[&run])?,
        }
    }
    Ok(())
}
