//! Removal of unpublished rows, for `store/review.rs`.

use super::{Sqlite, StoreResult, generation};
use crate::model::TaskName;
use crate::store::review::ReviewedStore;
use crate::store::sql::SqlSession;

impl ReviewedStore for Sqlite {
    fn drop_quarantined_rows(&mut self, task: &TaskName) -> StoreResult<()> {
        let connection = &self.connection;
        connection.in_transaction(|| {
            while let Some(found) = generation::find(connection, "task = $1 AND state = 'quarantined'", task)? {
                generation::remove(connection, found.id)?;
            }
            Ok(())
        })
    }
}
