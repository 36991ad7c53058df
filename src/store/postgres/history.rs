//! Reads the history: by publication, and by record.

use chrono::{DateTime, Utc};
use tokio_postgres::Row;

use super::names::{quoted, rows_table};
use super::run_end::Generation;
use super::session::get;
use super::view::column_name;
use super::{Postgres, StoreError, decode, digest, generation, reader, record_diff};
use crate::model::{ChangeCounts, RunId, TaskName, TimeSpan};
use crate::store::{
    ChangeKind, ChangeSet, History, RecordChange, RecordEvent, RecordHistory, RecordKey, UnlistedReason,
};

const CHANGE_COLUMNS: &str = "id, run, at, rows_before, rows_after, added, changed, removed, unlisted";
const RECORD_COLUMNS: &str = "r.id, r.key, r.what, r.name, r.cells";

/// Events that are read per record.
const MAX_EVENTS: u32 = 10_000;

impl History for Postgres {
    fn keep_history(&mut self, spans: &[(TaskName, TimeSpan)]) -> Result<(), StoreError> {
        let session = &self.session;
        session.in_transaction(|| {
            for (task, span) in spans {
                let seconds = i64::try_from(span.0.as_secs()).unwrap_or(i64::MAX);
                let sql = "UPDATE _task SET history = $2 WHERE name = $1 AND history IS DISTINCT FROM $2";
                session.execute(sql, &[&task.as_str(), &seconds])?;
            }
            Ok(())
        })
    }

    fn changes(&self, task: &TaskName, before: Option<i64>, limit: u32) -> Result<Vec<ChangeSet>, StoreError> {
        let sql = format!("SELECT {CHANGE_COLUMNS} FROM _change WHERE task = $1 AND id < $2 ORDER BY id DESC LIMIT $3");
        let values = (task.as_str(), before.unwrap_or(i64::MAX), i64::from(limit));
        self.session.rows(&sql, &[&values.0, &values.1, &values.2])?.iter().map(read_change).collect()
    }

    fn change_of(&self, run: RunId) -> Result<Option<ChangeSet>, StoreError> {
        let sql = format!("SELECT {CHANGE_COLUMNS} FROM _change WHERE run = $1 ORDER BY id LIMIT 1");
        self.session.row(&sql, &[&run.to_string()])?.as_ref().map(read_change).transpose()
    }

    fn records_of(&self, change: i64, after: i64, limit: u32) -> Result<Vec<RecordChange>, StoreError> {
        let sql = format!(
            "SELECT {RECORD_COLUMNS} FROM _changed_record r JOIN _change c ON c.id = r.change
             WHERE r.change = $1 AND r.id > $2 AND c.added IS NOT NULL ORDER BY r.id LIMIT $3"
        );
        self.session.rows(&sql, &[&change, &after, &i64::from(limit)])?.iter().map(read_record).collect()
    }

    fn changed_among(&self, change: i64, keys: &[RecordKey]) -> Result<Vec<RecordChange>, StoreError> {
        let sql = format!(
            "SELECT {RECORD_COLUMNS} FROM _changed_record r JOIN _change c ON c.id = r.change
             WHERE r.change = $1 AND r.key = ANY($2) AND c.added IS NOT NULL"
        );
        let keys: Vec<Vec<u8>> = keys.iter().map(|key| key.0.to_be_bytes().to_vec()).collect();
        self.session.rows(&sql, &[&change, &keys])?.iter().map(read_record).collect()
    }

    fn records_named(
        &self,
        task: &TaskName,
        words: &[String],
        limit: u32,
    ) -> Result<Vec<(RecordKey, String)>, StoreError> {
        let published = generation::published(&self.session, task)?;
        let columns = published.as_ref().and_then(|it| it.key.clone()).unwrap_or_default();
        if !columns.is_empty() && columns.len() == words.len() {
            let cells = columns.iter().zip(words).map(|(column, word)| (column.as_str(), word.as_str()));
            let key = RecordKey(digest::record_digest(cells));
            if let Some(life) = self.record_history(task, key)? {
                return Ok(vec![(key, life.name)]);
            }
        }
        let text = words.join(record_diff::SEPARATOR);
        let sql = "SELECT r.key, max(r.name) FROM _change c JOIN _changed_record r ON r.change = c.id
                   WHERE c.task = $1 AND c.added IS NOT NULL AND strpos(lower(r.name), lower($2)) > 0
                   GROUP BY r.key ORDER BY 2 LIMIT $3";
        let mut named = self.session.rows(sql, &[&task.as_str(), &text, &i64::from(limit)])?;
        if let Some(published) = published.filter(|_| !columns.is_empty()) {
            let sql = key_text_sql(&published, &columns);
            named.extend(self.session.rows(&sql, &[&published.id, &text, &i64::from(limit)])?);
        }
        let named = named.iter().map(|row| Ok((record_key(row, 0)?, get(row, 1)?)));
        let mut found = named.collect::<Result<Vec<(RecordKey, String)>, StoreError>>()?;
        found.sort_unstable();
        found.dedup_by_key(|(key, _)| *key);
        found.sort_unstable_by(|one, two| one.1.cmp(&two.1));
        found.truncate(limit as usize);
        Ok(found)
    }

    fn record_history(&self, task: &TaskName, key: RecordKey) -> Result<Option<RecordHistory>, StoreError> {
        self.session.in_snapshot(|| {
            let (events, gone_seen) = self.events(task, key)?;
            let published = generation::published(&self.session, task)?;
            let now = published.map(|it| reader::of_key(&self.session, &it, key.0)).transpose()?.flatten();
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

impl Postgres {
    /// The events, oldest first, and when the record was first seen according to the newest of them.
    fn events(&self, task: &TaskName, key: RecordKey) -> Result<(Vec<RecordEvent>, Option<DateTime<Utc>>), StoreError> {
        let sql = format!(
            "SELECT {RECORD_COLUMNS}, c.run, c.at, r.first_seen FROM _changed_record r JOIN _change c ON c.id = r.change
             WHERE r.key = $1 AND c.task = $2 AND c.added IS NOT NULL ORDER BY r.id DESC LIMIT {MAX_EVENTS}"
        );
        let found = self.session.rows(&sql, &[&key.0.to_be_bytes().as_slice(), &task.as_str()])?;
        let first_seen = found.first().map(|row| get(row, 7)).transpose()?;
        let event =
            |row| Ok(RecordEvent { run: decode::run_id(get(row, 5)?)?, at: get(row, 6)?, record: read_record(row)? });
        Ok((found.iter().rev().map(event).collect::<Result<_, StoreError>>()?, first_seen))
    }
}

/// Published records whose key columns contain a text.
fn key_text_sql(published: &Generation, columns: &[String]) -> String {
    let place = |name: &String| published.columns.iter().position(|it| it.is_text() && it.stored == *name);
    let texts = columns.iter().filter_map(place).map(|at| format!("coalesce({}, '')", column_name(at)));
    let name = texts.collect::<Vec<_>>().join(&format!(" || '{}' || ", record_diff::SEPARATOR));
    let table = quoted(&rows_table(published.table));
    format!("SELECT _key, {name} FROM {table} WHERE _generation = $1 AND strpos(lower({name}), lower($2)) > 0 LIMIT $3")
}

pub(super) fn record_key(row: &Row, at: usize) -> Result<RecordKey, StoreError> {
    let key = <[u8; 16]>::try_from(get::<&[u8]>(row, at)?).map_err(StoreError::invalid_value)?;
    Ok(RecordKey(u128::from_be_bytes(key)))
}

fn read_change(row: &Row) -> Result<ChangeSet, StoreError> {
    let count = |at: usize| Ok::<_, StoreError>(decode::count(get(row, at)?));
    let counts = match (count(5)?, count(6)?, count(7)?) {
        (Some(added), Some(changed), Some(removed)) => Some(ChangeCounts { added, changed, removed }),
        _ => None,
    };
    let unlisted: Option<&str> = get(row, 8)?;
    Ok(ChangeSet {
        id: get(row, 0)?,
        run: decode::run_id(get(row, 1)?)?,
        at: get(row, 2)?,
        rows_before: count(3)?.unwrap_or(0),
        rows_after: count(4)?.unwrap_or(0),
        counts,
        unlisted: unlisted.and_then(UnlistedReason::from_word),
    })
}

fn read_record(row: &Row) -> Result<RecordChange, StoreError> {
    let what: &str = get(row, 2)?;
    Ok(RecordChange {
        id: get(row, 0)?,
        key: record_key(row, 1)?,
        what: ChangeKind::from_word(what)
            .ok_or_else(|| StoreError::InvalidValue(format!("unknown kind of change `{what}`")))?,
        name: get(row, 3)?,
        cells: record_diff::read_cells(get(row, 4)?)?,
    })
}
