//! History: what changed in the published rows, record by record, for as long as the task's `data.history` says.
//!
//! Each publication that changes the rows is one [`ChangeSet`]. The first publication of a task has none, since
//! `_first_seen` says as much. docs/history.md has the rules.

use chrono::{DateTime, Utc};

use super::change_set::{ChangeKind, ChangeSet, RecordChange, RecordKey, UnlistedReason};
use super::generation::{self, Generation, RowTables};
use super::record_diff::{self, StoredRecord};
use super::record_history::{RecordEvent, RecordHistory};
use super::sql::{FromSqlValue, SqlParam, SqlRow, SqlSession, SqlStore, SqlValue};
use super::{StoreError, StoreResult, digest};
use crate::model::{ChangeCounts, RunId, TaskName, TimeSpan};

const CHANGE_COLUMNS: &str = "id, run, at, rows_before, rows_after, added, changed, removed, unlisted";

/// The columns that `read_record` takes, of `_changed_record` under the name `r`.
pub(super) const RECORD_COLUMNS: &str = "r.id, r.key, r.what, r.name, r.cells";

/// Events that are read per record.
const MAX_EVENTS: u32 = 10_000;

/// Changes of the published rows.
pub trait History {
    /// Sets how long changes of tasks are kept; the default is 90 days.
    fn keep_history(&mut self, spans: &[(TaskName, TimeSpan)]) -> StoreResult<()>;

    /// The changes of a task, newest first; only those before `before`, where that is given.
    fn changes(&self, task: &TaskName, before: Option<i64>, limit: u32) -> StoreResult<Vec<ChangeSet>>;

    /// The change that a run has made, if any.
    fn change_of(&self, run: RunId) -> StoreResult<Option<ChangeSet>>;

    /// The records of a change: those added, changed and removed, each in the order of the table; only those after
    /// `after`.
    fn records_of(&self, change: i64, after: i64, limit: u32) -> StoreResult<Vec<RecordChange>>;

    /// What a change did to the records of these keys; unchanged records are left out.
    fn changed_among(&self, change: i64, keys: &[RecordKey]) -> StoreResult<Vec<RecordChange>>;

    /// Records that a person may mean: the one whose key columns equal the text, or else those whose names contain it.
    fn records_named(&self, task: &TaskName, words: &[String], limit: u32) -> StoreResult<Vec<(RecordKey, String)>>;

    /// The history of one record; none where it is neither published nor in the history.
    fn record_history(&self, task: &TaskName, key: RecordKey) -> StoreResult<Option<RecordHistory>>;
}

/// Published records, where the databases store their rows differently.
pub(super) trait PublishedRecords: RowTables {
    /// What a change did to the records of these keys.
    fn changed_among(&self, change: i64, keys: &[RecordKey]) -> StoreResult<Vec<RecordChange>>;

    /// The record of a key; the oldest, where there are several.
    fn record_of_key(&self, published: &Generation, key: RecordKey) -> StoreResult<Option<StoredRecord>>;
}

impl<S: SqlStore<Session: PublishedRecords>> History for S {
    fn keep_history(&mut self, spans: &[(TaskName, TimeSpan)]) -> StoreResult<()> {
        let session = self.session();
        session.in_transaction(|| {
            for (task, span) in spans {
                let sql = "UPDATE _task SET history = $2 WHERE name = $1 AND history IS DISTINCT FROM $2";
                session.modify(sql, &[task, &span.0.as_secs()])?;
            }
            Ok(())
        })
    }

    fn changes(&self, task: &TaskName, before: Option<i64>, limit: u32) -> StoreResult<Vec<ChangeSet>> {
        let sql = format!("SELECT {CHANGE_COLUMNS} FROM _change WHERE task = $1 AND id < $2 ORDER BY id DESC LIMIT $3");
        self.session().query(&sql, &[task, &before.unwrap_or(i64::MAX), &limit], read_change)
    }

    fn change_of(&self, run: RunId) -> StoreResult<Option<ChangeSet>> {
        let sql = format!("SELECT {CHANGE_COLUMNS} FROM _change WHERE run = $1 ORDER BY id LIMIT 1");
        self.session().query_first(&sql, &[&run], read_change)
    }

    fn records_of(&self, change: i64, after: i64, limit: u32) -> StoreResult<Vec<RecordChange>> {
        let sql = format!(
            "SELECT {RECORD_COLUMNS} FROM _changed_record r JOIN _change c ON c.id = r.change
             WHERE r.change = $1 AND r.id > $2 AND c.added IS NOT NULL ORDER BY r.id LIMIT $3"
        );
        self.session().query(&sql, &[&change, &after, &limit], read_record)
    }

    fn changed_among(&self, change: i64, keys: &[RecordKey]) -> StoreResult<Vec<RecordChange>> {
        self.session().changed_among(change, keys)
    }

    fn records_named(&self, task: &TaskName, words: &[String], limit: u32) -> StoreResult<Vec<(RecordKey, String)>> {
        let published = generation::published_with_key(self.session(), task)?;
        let columns = published.as_ref().and_then(|it| it.key.clone()).unwrap_or_default();
        if !columns.is_empty() && columns.len() == words.len() {
            let cells = columns.iter().zip(words).map(|(column, word)| (column.as_str(), word.as_str()));
            let key = RecordKey(digest::record_digest(cells));
            if let Some(life) = self.record_history(task, key)? {
                return Ok(vec![(key, life.name)]);
            }
        }
        let text = words.join(record_diff::SEPARATOR);
        let mut found = changed_named(self.session(), task, &text, limit)?;
        if let Some(published) = published.filter(|_| !columns.is_empty()) {
            let sql = named_sql::<S::Session>(&published, &columns);
            found.extend(self.session().query(&sql, &[&text, &limit], read_key_and_name)?);
        }
        found.sort_unstable();
        found.dedup_by_key(|(key, _)| *key);
        found.sort_unstable_by(|one, two| one.1.cmp(&two.1));
        found.truncate(limit as usize);
        Ok(found)
    }

    fn record_history(&self, task: &TaskName, key: RecordKey) -> StoreResult<Option<RecordHistory>> {
        let session = self.session();
        session.in_snapshot(|| {
            let (events, gone_seen) = events(session, task, key)?;
            let published = generation::published_with_key(session, task)?;
            let now = published.map(|it| session.record_of_key(&it, key)).transpose()?.flatten();
            let last_name = events.last().map(|event: &RecordEvent| event.record.name.clone());
            let (name, first_seen) = match (&now, last_name) {
                (Some(present), _) => (present.name.clone(), Some(present.first_seen)),
                (None, Some(name)) => (name, gone_seen),
                (None, None) => return Ok(None),
            };
            Ok(Some(RecordHistory { key, name, first_seen, events, now: now.map(|it| it.cells) }))
        })
    }
}

/// Query for the keys and names of records whose key columns contain a text: `$1`; `$2` is the limit.
fn named_sql<S: RowTables>(published: &Generation, columns: &[String]) -> String {
    let place = |name: &String| published.columns.iter().position(|it| it.is_text() && it.stored == *name);
    let texts = columns.iter().filter_map(place).map(|at| S::cell_sql(at, &published.columns[at]));
    let texts: Vec<String> = texts.map(|text| format!("coalesce({text}, '')")).collect();
    let name = texts.join(&format!(" || '{}' || ", record_diff::SEPARATOR));
    let (rows, strpos) = (S::rows_sql(published), S::STRPOS);
    format!("SELECT _key, {name} FROM {rows} AND {strpos}(lower({name}), lower($1)) > 0 LIMIT $2")
}

/// Records of the history whose names contain the text.
fn changed_named<S: SqlSession>(
    session: &S,
    task: &TaskName,
    text: &str,
    limit: u32,
) -> StoreResult<Vec<(RecordKey, String)>> {
    let sql = format!(
        "SELECT r.key, max(r.name) FROM _change c JOIN _changed_record r ON r.change = c.id
         WHERE c.task = $1 AND c.added IS NOT NULL AND {}(lower(r.name), lower($2)) > 0
         GROUP BY r.key ORDER BY 2 LIMIT $3",
        S::STRPOS
    );
    session.query(&sql, &[task, &text, &limit], read_key_and_name)
}

/// The events, oldest first, and when the record was first seen according to the newest of them.
fn events(
    session: &impl SqlSession,
    task: &TaskName,
    key: RecordKey,
) -> StoreResult<(Vec<RecordEvent>, Option<DateTime<Utc>>)> {
    let sql = format!(
        "SELECT {RECORD_COLUMNS}, c.run, c.at, r.first_seen FROM _changed_record r JOIN _change c ON c.id = r.change
         WHERE r.key = $1 AND c.task = $2 AND c.added IS NOT NULL ORDER BY r.id DESC LIMIT {MAX_EVENTS}"
    );
    let mut first_seen = None;
    let mut events = session.query(&sql, &[&key, task], |row| {
        first_seen = first_seen.or(Some(row.get(7)?));
        Ok(RecordEvent { run: row.get(5)?, at: row.get(6)?, record: read_record(row)? })
    })?;
    events.reverse();
    Ok((events, first_seen))
}

fn read_key_and_name(row: &dyn SqlRow) -> StoreResult<(RecordKey, String)> {
    Ok((row.get(0)?, row.get(1)?))
}

fn read_change(row: &dyn SqlRow) -> StoreResult<ChangeSet> {
    let counts = match (row.get(5)?, row.get(6)?, row.get(7)?) {
        (Some(added), Some(changed), Some(removed)) => Some(ChangeCounts { added, changed, removed }),
        _ => None,
    };
    let unlisted: Option<String> = row.get(8)?;
    Ok(ChangeSet {
        id: row.get(0)?,
        run: row.get(1)?,
        at: row.get(2)?,
        rows_before: row.get(3)?,
        rows_after: row.get(4)?,
        counts,
        unlisted: unlisted.as_deref().and_then(UnlistedReason::from_word),
    })
}

pub(super) fn read_record(row: &dyn SqlRow) -> StoreResult<RecordChange> {
    let what: String = row.get(2)?;
    Ok(RecordChange {
        id: row.get(0)?,
        key: row.get(1)?,
        what: ChangeKind::from_word(&what)
            .ok_or_else(|| StoreError::InvalidValue(format!("unknown kind of change `{what}`")))?,
        name: row.get(3)?,
        cells: record_diff::read_cells(&row.get::<String>(4)?)?,
    })
}

impl SqlParam for RecordKey {
    fn sql_value(&self) -> SqlValue<'_> {
        SqlValue::Bytes(self.0.to_be_bytes().to_vec().into())
    }
}

impl FromSqlValue for RecordKey {
    fn from_sql_value(value: SqlValue<'_>) -> StoreResult<RecordKey> {
        Ok(RecordKey(u128::from_be_bytes(FromSqlValue::from_sql_value(value)?)))
    }
}
