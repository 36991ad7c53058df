//! Records of two generations, for the history.

use std::collections::HashMap;

use super::generation::Generation;
use super::record_diff::StoredRecord;
use super::session::get;
use super::{PgSession, StoreResult};
use crate::store::changes::ComparableGenerations;

impl ComparableGenerations for PgSession {
    /// More than are ever written in one transaction: one query for each generation.
    const RECORDS_PER_READ: usize = usize::MAX;

    fn records_at(&self, generation: &Generation, rows: &[i64]) -> StoreResult<HashMap<i64, StoredRecord>> {
        let found = self.rows(&StoredRecord::select::<PgSession>(generation, "_n = ANY($1)"), &[&rows])?;
        found.iter().map(|row| Ok((get(row, 0)?, StoredRecord::read(generation, row)?))).collect()
    }
}
