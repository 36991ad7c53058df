//! When records were first seen, where a person has added or changed the key: the published rows were stored under
//! their old keys, so their new keys are computed from their cells.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use super::StoreResult;
use super::batch::Batch;
use super::compare::ComparisonBasis;
use super::digest::KeyHash;
use super::generation::{Generation, RowTables};

/// When the buffered rows were first seen (milliseconds), by their keys; none where the published rows are stored under
/// the same key columns, or lack some of the new ones. Reads all published rows, once for each full buffer.
pub(super) fn first_seen_by_new_key<S: RowTables>(
    session: &S,
    published: &Generation,
    batch: &Batch,
) -> StoreResult<Option<HashMap<KeyHash, i64>>> {
    // The key of a generation of an older version is unknown.
    let is_other_key = published.key.as_ref().is_some_and(|key| *key != batch.key);
    let texts = published.texts();
    if !is_other_key || !batch.key.iter().all(|column| texts.contains(&column.as_str())) {
        return Ok(None);
    }
    let mut found: HashMap<KeyHash, Option<i64>> = batch.pending().iter().map(|record| (record.key, None)).collect();
    let basis = ComparisonBasis::by_key(&published.shape(), &batch.key);
    let cells = S::cells_sql(&published.columns, |it| it.is_text());
    let sql = format!("SELECT _first_seen{cells} FROM {}", S::rows_sql(published));
    session.query_each(&sql, &[], |row| {
        let key = basis.fingerprint(0, 0, &row.named_texts(1, &texts)?).key;
        if let Some(first) = found.get_mut(&key.to_be_bytes()) {
            let seen = row.get::<DateTime<Utc>>(0)?.timestamp_millis();
            *first = Some(first.map_or(seen, |first| first.min(seen)));
        }
        Ok(())
    })?;
    Ok(Some(found.into_iter().filter_map(|(key, seen)| Some((key, seen?))).collect()))
}
