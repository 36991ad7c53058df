//! Published records, for the history.

use rusqlite::Connection;

use super::keys;
use super::names::{quoted, rows_table};
use super::reader::RecordReader;
use super::{StoreError, record_diff, timestamp};
use crate::store::generation::Generation;
use crate::store::history::{PublishedRecord, PublishedRecords, RECORD_COLUMNS, read_record};
use crate::store::sql::SqlSession;
use crate::store::{RecordChange, RecordKey};

impl PublishedRecords for Connection {
    fn changed_among(&self, change: i64, keys: &[RecordKey]) -> Result<Vec<RecordChange>, StoreError> {
        // Searches the index on keys, from the first record of the change on (`+` rules out the index on changes): a
        // record may have changed a thousand times before, and a change may have 100,000 records.
        let sql = format!(
            "SELECT {RECORD_COLUMNS} FROM _changed_record r
             WHERE r.key = $1 AND r.id >= (SELECT min(id) FROM _changed_record WHERE change = $2) AND +r.change = $2
                 AND EXISTS (SELECT 1 FROM _change WHERE id = $2 AND added IS NOT NULL)"
        );
        let mut records = Vec::new();
        for key in keys {
            records.extend(self.query(&sql, &[key, &change], read_record)?);
        }
        Ok(records)
    }

    fn record_of_key(&self, published: &Generation, key: RecordKey) -> Result<Option<PublishedRecord>, StoreError> {
        let blocks = keys::has_blocks(self, published.id)?;
        let Some(found) = keys::find(self, published.id, blocks, key.0.to_be_bytes())? else { return Ok(None) };
        let record = RecordReader::new(self, published)?.read(found.row)?;
        let first_seen = timestamp::parse(&record.first_seen)?;
        Ok(Some(PublishedRecord { name: record.name, first_seen, cells: record.cells }))
    }

    fn named_sql(published: &Generation, columns: &[String]) -> String {
        let texts: Vec<String> = columns.iter().map(|name| format!("coalesce({}, '')", quoted(name))).collect();
        let name = texts.join(&format!(" || '{}' || ", record_diff::SEPARATOR));
        let table = quoted(&rows_table(published.id));
        format!("SELECT _key, {name} FROM {table} WHERE instr(lower({name}), lower($1)) > 0 LIMIT $2")
    }
}
