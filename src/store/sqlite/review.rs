//! Removal of unpublished rows, for `store/review.rs`, and staged rows written early, for `store/refused.rs`.

use super::run_end::is_same;
use super::{Sqlite, StoreResult, generation};
use crate::model::{RunId, TaskName};
use crate::store::generation::{Generation, find_with_key};
use crate::store::refused::StagedWriting;
use crate::store::review::ReviewedStore;
use crate::store::sql::SqlSession;

impl StagedWriting for Sqlite {
    fn write_staged(&mut self, run: RunId, task: &TaskName) -> StoreResult<Option<Generation>> {
        let Some(staged) = self.staged.get_mut(&run) else { return Ok(None) };
        let published = generation::published(&self.connection, task)?;
        if staged.batch.rows == 0 || published.is_some_and(|it| is_same(&staged.batch, &it)) {
            return Ok(None);
        }
        staged.copy_unchanged_prefix(&mut self.connection, self.file.as_ref(), run, task)?;
        let written = staged.spill(&mut self.connection, run, task)?;
        find_with_key(&self.connection, "id = $1", &written)
    }
}

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
