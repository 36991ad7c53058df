//! Published records, for the history.

use super::record_diff::StoredRecord;
use super::{PgSession, SqlSession, StoreResult};
use crate::store::generation::Generation;
use crate::store::history::{PublishedRecords, RECORD_COLUMNS, read_record};
use crate::store::{RecordChange, RecordKey};

impl PublishedRecords for PgSession {
    fn changed_among(&self, change: i64, keys: &[RecordKey]) -> StoreResult<Vec<RecordChange>> {
        let sql = format!(
            "SELECT {RECORD_COLUMNS} FROM _changed_record r JOIN _change c ON c.id = r.change
             WHERE r.change = $1 AND r.key = ANY($2) AND c.added IS NOT NULL"
        );
        let keys: Vec<Vec<u8>> = keys.iter().map(|key| key.0.to_be_bytes().to_vec()).collect();
        self.rows(&sql, &[&change, &keys])?.iter().map(|row| read_record(row)).collect()
    }

    fn record_of_key(&self, published: &Generation, key: RecordKey) -> StoreResult<Option<StoredRecord>> {
        let of_key = StoredRecord::select::<PgSession>(published, "_key = $1");
        let sql = format!("{of_key} ORDER BY _first_seen, _n LIMIT 1");
        self.query_first(&sql, &[&key], |row| StoredRecord::read(published, row))
    }
}
