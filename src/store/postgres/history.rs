//! Published records, for the history.

use super::names::{quoted, rows_table};
use super::view::column_name;
use super::{PgSession, StoreError, reader, record_diff};
use crate::store::generation::Generation;
use crate::store::history::{PublishedRecord, PublishedRecords, RECORD_COLUMNS, read_record};
use crate::store::{RecordChange, RecordKey};

impl PublishedRecords for PgSession {
    fn changed_among(&self, change: i64, keys: &[RecordKey]) -> Result<Vec<RecordChange>, StoreError> {
        let sql = format!(
            "SELECT {RECORD_COLUMNS} FROM _changed_record r JOIN _change c ON c.id = r.change
             WHERE r.change = $1 AND r.key = ANY($2) AND c.added IS NOT NULL"
        );
        let keys: Vec<Vec<u8>> = keys.iter().map(|key| key.0.to_be_bytes().to_vec()).collect();
        self.rows(&sql, &[&change, &keys])?.iter().map(|row| read_record(row)).collect()
    }

    fn record_of_key(&self, published: &Generation, key: RecordKey) -> Result<Option<PublishedRecord>, StoreError> {
        reader::of_key(self, published, key.0)
    }

    fn named_sql(published: &Generation, columns: &[String]) -> String {
        let place = |name: &String| published.columns.iter().position(|it| it.is_text() && it.stored == *name);
        let texts = columns.iter().filter_map(place).map(|at| format!("coalesce({}, '')", column_name(at)));
        let name = texts.collect::<Vec<_>>().join(&format!(" || '{}' || ", record_diff::SEPARATOR));
        let (table, id) = (quoted(&rows_table(published.table)), published.id);
        format!(
            "SELECT _key, {name} FROM {table}
             WHERE _generation = {id} AND strpos(lower({name}), lower($1)) > 0 LIMIT $2"
        )
    }
}
