//! Removal of unpublished rows, for `store/review.rs`.

use super::{Postgres, StoreResult, generation};
use crate::model::TaskName;
use crate::store::review::ReviewedStore;

impl ReviewedStore for Postgres {
    fn drop_quarantined_rows(&mut self, task: &TaskName) -> StoreResult<()> {
        generation::drop_quarantined(&self.session, task, 0)?;
        generation::remove_all_old(&self.session, task)
    }
}
