//! Removal of unpublished rows, for `store/review.rs`, and staged rows written early, for `store/refused.rs`.

use super::run_end::is_same;
use super::{Postgres, StoreResult, generation};
use crate::model::{RunId, TaskName};
use crate::store::generation::{Generation, find_with_key};
use crate::store::refused::StagedWriting;
use crate::store::review::ReviewedStore;

impl StagedWriting for Postgres {
    fn write_staged(&mut self, run: RunId, task: &TaskName) -> StoreResult<Option<Generation>> {
        let Some(staged) = self.staged.get_mut(&run) else { return Ok(None) };
        let published = generation::published_with_key(&self.session, task)?;
        if staged.batch.rows == 0 || published.as_ref().is_some_and(|it| is_same(&staged.batch, it)) {
            return Ok(None);
        }
        let (written, _) = staged.spill(&self.session, self.member.as_ref(), (run, task), published.as_ref())?;
        find_with_key(&self.session, "id = $1", &written)
    }
}

impl ReviewedStore for Postgres {
    fn drop_quarantined_rows(&mut self, task: &TaskName) -> StoreResult<()> {
        generation::drop_quarantined(&self.session, task, 0)?;
        generation::remove_all_old(&self.session, task)
    }
}
