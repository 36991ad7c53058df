//! Published records, for the history.

use rusqlite::Connection;

use super::record_diff::StoredRecord;
use super::{StoreResult, keys};
use crate::store::changes::ComparableGenerations;
use crate::store::generation::Generation;
use crate::store::history::{PublishedRecords, RECORD_COLUMNS, read_record};
use crate::store::sql::SqlSession;
use crate::store::{RecordChange, RecordKey};

impl PublishedRecords for Connection {
    fn changed_among(&self, change: i64, keys: &[RecordKey]) -> StoreResult<Vec<RecordChange>> {
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

    fn record_of_key(&self, published: &Generation, key: RecordKey) -> StoreResult<Option<StoredRecord>> {
        let blocks = keys::has_blocks(self, published.id)?;
        let Some(found) = keys::find(self, published.id, blocks, key.0.to_be_bytes())? else { return Ok(None) };
        Ok(self.records_at(published, &[found.row])?.remove(&found.row))
    }
}
