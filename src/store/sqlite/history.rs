//! Reads the history: by publication, and by record.

use rusqlite::{Row, params};

use super::generation;
use super::names::{quoted, rows_table};
use super::reader::{RecordReader, StoredRecord};
use super::run_end::Generation;
use super::{Sqlite, StoreError, decode, digest, keys, record_diff, timestamp};
use crate::model::{ChangeCounts, RunId, TaskName, TimeSpan};
use crate::store::{
    ChangeKind, ChangeSet, History, RecordChange, RecordEvent, RecordHistory, RecordKey, UnlistedReason,
};

const CHANGE_COLUMNS: &str = "id, run, at, rows_before, rows_after, added, changed, removed, unlisted";
const RECORD_COLUMNS: &str = "r.id, r.key, r.what, r.name, r.cells";

/// Events that are read per record.
const MAX_EVENTS: u32 = 10_000;

impl History for Sqlite {
    fn keep_history(&mut self, spans: &[(TaskName, TimeSpan)]) -> Result<(), StoreError> {
        let transaction = self.connection.transaction()?;
        for (task, span) in spans {
            transaction
                .prepare_cached("UPDATE _task SET history = ?2 WHERE name = ?1 AND history IS NOT ?2")?
                .execute(params![task.as_str(), i64::try_from(span.0.as_secs()).unwrap_or(i64::MAX)])?;
        }
        Ok(transaction.commit()?)
    }

    fn changes(&self, task: &TaskName, before: Option<i64>, limit: u32) -> Result<Vec<ChangeSet>, StoreError> {
        let sql = format!("SELECT {CHANGE_COLUMNS} FROM _change WHERE task = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params![task.as_str(), before.unwrap_or(i64::MAX), limit])?;
        let mut changes = Vec::new();
        while let Some(row) = rows.next()? {
            changes.push(read_change(row)?);
        }
        Ok(changes)
    }

    fn change_of(&self, run: RunId) -> Result<Option<ChangeSet>, StoreError> {
        let sql = format!("SELECT {CHANGE_COLUMNS} FROM _change WHERE run = ?1");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query([run.to_string()])?;
        rows.next()?.map(read_change).transpose()
    }

    fn records_of(&self, change: i64, after: i64, limit: u32) -> Result<Vec<RecordChange>, StoreError> {
        let sql = format!(
            "SELECT {RECORD_COLUMNS} FROM _changed_record r JOIN _change c ON c.id = r.change
             WHERE r.change = ?1 AND r.id > ?2 AND c.added IS NOT NULL ORDER BY r.id LIMIT ?3"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params![change, after, limit])?;
        let mut records = Vec::new();
        while let Some(row) = rows.next()? {
            records.push(read_record(row)?);
        }
        Ok(records)
    }

    fn changed_among(&self, change: i64, keys: &[RecordKey]) -> Result<Vec<RecordChange>, StoreError> {
        // Searches the index on keys, from the first record of the change on (`+` rules out the index on changes): a
        // record may have changed a thousand times before, and a change may have 100,000 records.
        let sql = format!(
            "SELECT {RECORD_COLUMNS} FROM _changed_record r
             WHERE r.key = ?1 AND r.id >= (SELECT min(id) FROM _changed_record WHERE change = ?2) AND +r.change = ?2
                 AND EXISTS (SELECT 1 FROM _change WHERE id = ?2 AND added IS NOT NULL)"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut records = Vec::new();
        for key in keys {
            let mut rows = statement.query(params![key.0.to_be_bytes(), change])?;
            while let Some(row) = rows.next()? {
                records.push(read_record(row)?);
            }
        }
        Ok(records)
    }

    fn records_named(
        &self,
        task: &TaskName,
        words: &[String],
        limit: u32,
    ) -> Result<Vec<(RecordKey, String)>, StoreError> {
        let published =
            generation::find_with_key(&self.connection, "task = ?1 AND state = 'published'", task.as_str())?;
        let columns = published.as_ref().and_then(|it| it.key.clone()).unwrap_or_default();
        if !columns.is_empty() && columns.len() == words.len() {
            let cells = columns.iter().zip(words).map(|(column, word)| (column.as_str(), word.as_str()));
            let key = RecordKey(digest::record_digest(cells));
            if let Some(life) = self.record_history(task, key)? {
                return Ok(vec![(key, life.name)]);
            }
        }
        let mut found = self.changed_named(task, &words.join(record_diff::SEPARATOR), limit)?;
        if let Some(published) = published.filter(|_| !columns.is_empty()) {
            found.extend(self.published_named(&published, &columns, &words.join(record_diff::SEPARATOR), limit)?);
        }
        found.sort_unstable();
        found.dedup_by_key(|(key, _)| *key);
        found.sort_unstable_by(|one, two| one.1.cmp(&two.1));
        found.truncate(limit as usize);
        Ok(found)
    }

    fn record_history(&self, task: &TaskName, key: RecordKey) -> Result<Option<RecordHistory>, StoreError> {
        let moment = self.connection.unchecked_transaction()?;
        let (events, gone_seen) = self.events(task, key)?;
        let published = generation::find_with_key(&moment, "task = ?1 AND state = 'published'", task.as_str())?;
        let now = published.map(|it| self.published_record(&it, key)).transpose()?.flatten();
        let last_name = events.last().map(|event: &RecordEvent| event.record.name.clone());
        let (name, first_seen) = match (&now, last_name) {
            (Some(present), _) => (present.name.clone(), Some(&present.first_seen)),
            (None, Some(name)) => (name, gone_seen.as_ref()),
            (None, None) => return Ok(None),
        };
        let first_seen = first_seen.map(|text| timestamp::parse(text)).transpose()?;
        Ok(Some(RecordHistory { key, name, first_seen, events, now: now.map(|it| it.cells) }))
    }
}

impl Sqlite {
    /// Records of the history whose names contain the text.
    fn changed_named(&self, task: &TaskName, text: &str, limit: u32) -> Result<Vec<(RecordKey, String)>, StoreError> {
        let sql = "SELECT r.key, max(r.name) FROM _change c JOIN _changed_record r ON r.change = c.id
                   WHERE c.task = ?1 AND c.added IS NOT NULL AND instr(lower(r.name), lower(?2)) > 0
                   GROUP BY r.key ORDER BY 2 LIMIT ?3";
        let mut statement = self.connection.prepare_cached(sql)?;
        let found = statement.query_map(params![task.as_str(), text, limit], read_key_and_name)?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// Published records whose key columns contain the text.
    fn published_named(
        &self,
        published: &Generation,
        columns: &[String],
        text: &str,
        limit: u32,
    ) -> Result<Vec<(RecordKey, String)>, StoreError> {
        let texts: Vec<String> = columns.iter().map(|name| format!("coalesce({}, '')", quoted(name))).collect();
        let name = texts.join(&format!(" || '{}' || ", record_diff::SEPARATOR));
        let table = quoted(&rows_table(published.id));
        let sql = format!("SELECT _key, {name} FROM {table} WHERE instr(lower({name}), lower(?1)) > 0 LIMIT ?2");
        let mut statement = self.connection.prepare(&sql)?;
        let found = statement.query_map(params![text, limit], read_key_and_name)?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// The events, oldest first, and when the record was first seen according to the newest of them.
    fn events(&self, task: &TaskName, key: RecordKey) -> Result<(Vec<RecordEvent>, Option<String>), StoreError> {
        let sql = format!(
            "SELECT {RECORD_COLUMNS}, c.run, c.at, r.first_seen FROM _changed_record r JOIN _change c ON c.id = r.change
             WHERE r.key = ?1 AND c.task = ?2 AND c.added IS NOT NULL ORDER BY r.id DESC LIMIT {MAX_EVENTS}"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params![key.0.to_be_bytes(), task.as_str()])?;
        let (mut events, mut first_seen) = (Vec::new(), None);
        while let Some(row) = rows.next()? {
            let (run, at) = (decode::run_id(&row.get::<_, String>(5)?)?, timestamp::parse(&row.get::<_, String>(6)?)?);
            events.push(RecordEvent { run, at, record: read_record(row)? });
            first_seen = first_seen.or(Some(row.get(7)?));
        }
        events.reverse();
        Ok((events, first_seen))
    }

    /// The record, where it is published.
    fn published_record(&self, generation: &Generation, key: RecordKey) -> Result<Option<StoredRecord>, StoreError> {
        let blocks = keys::has_blocks(&self.connection, generation.id)?;
        let found = keys::find(&self.connection, generation.id, blocks, key.0.to_be_bytes())?;
        found.map(|it| RecordReader::new(&self.connection, generation)?.read(it.row)).transpose()
    }
}

fn read_key_and_name(row: &Row<'_>) -> rusqlite::Result<(RecordKey, String)> {
    Ok((RecordKey(u128::from_be_bytes(row.get(0)?)), row.get(1)?))
}

fn read_change(row: &Row<'_>) -> Result<ChangeSet, StoreError> {
    let text = |at: usize| row.get::<_, String>(at);
    let count = |at: usize| Ok::<_, StoreError>(decode::count(row.get(at)?));
    let counts = match (count(5)?, count(6)?, count(7)?) {
        (Some(added), Some(changed), Some(removed)) => Some(ChangeCounts { added, changed, removed }),
        _ => None,
    };
    let unlisted: Option<String> = row.get(8)?;
    Ok(ChangeSet {
        id: row.get(0)?,
        run: decode::run_id(&text(1)?)?,
        at: timestamp::parse(&text(2)?)?,
        rows_before: count(3)?.unwrap_or(0),
        rows_after: count(4)?.unwrap_or(0),
        counts,
        unlisted: unlisted.as_deref().and_then(UnlistedReason::from_word),
    })
}

fn read_record(row: &Row<'_>) -> Result<RecordChange, StoreError> {
    let what: String = row.get(2)?;
    let cells: String = row.get(4)?;
    Ok(RecordChange {
        id: row.get(0)?,
        key: RecordKey(u128::from_be_bytes(row.get(1)?)),
        what: ChangeKind::from_word(&what)
            .ok_or_else(|| StoreError::InvalidValue(format!("unknown kind of change `{what}`")))?,
        name: row.get(3)?,
        cells: record_diff::read_cells(&cells)?,
    })
}
