//! Copies one store into another, whichever databases they are. The source is read part by part as one snapshot; the
//! target cannot be opened before it is complete.

use serde::Serialize;

use super::copy::{CopyPart, CopyTarget, GenerationChecksum};
use super::{Store, StoreError, postgres, sqlite};
use crate::model::StoreAddress;

/// How much was copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CopyCounts {
    pub tasks: u64,
    pub runs: u64,
    /// Published, previous and quarantined generations.
    pub sets: u64,
    pub rows: u64,
    pub pages: u64,
    /// Publications that changed something.
    pub changes: u64,
}

impl CopyCounts {
    fn count(&mut self, part: &CopyPart<'_>) {
        let number = |entries: usize| entries as u64;
        match part {
            CopyPart::Entries(table, entries) => match table.name {
                "_task" => self.tasks += number(entries.len()),
                "_runs" => self.runs += number(entries.len()),
                "_pages" => self.pages += number(entries.len()),
                "_change" => self.changes += number(entries.len()),
                _ => {}
            },
            CopyPart::GenerationBegin(_) => self.sets += 1,
            CopyPart::Rows(_, records) => self.rows += number(records.len()),
            CopyPart::GenerationEnd(_) => {}
        }
    }
}

/// Copies a store into a new one at another address; `watch` is called with the progress.
pub fn copy(from: &Store, to: &StoreAddress, watch: &mut dyn FnMut(&CopyCounts)) -> Result<CopyCounts, StoreError> {
    refuse_if_daemons_active(from)?;
    let mut target: Box<dyn CopyTarget> = match to {
        StoreAddress::Sqlite(path) => Box::new(sqlite::Importer::begin(path)?),
        StoreAddress::Postgres(address) => Box::new(postgres::Importer::begin(address)?),
    };
    let (mut copied, mut sum) = (CopyCounts::default(), GenerationChecksum::default());
    from.export(&mut |part| {
        copied.count(&part);
        watch(&copied);
        sum.check(&part)?;
        target.import_part(part)
    })?;
    // Changes that were made during the copy would be missing.
    refuse_if_daemons_active(from)?;
    target.finish()?;
    Ok(copied)
}

/// Refuses a store that active daemons may change.
pub fn refuse_if_daemons_active(from: &Store) -> Result<(), StoreError> {
    let daemons = from.active_daemons()?;
    if daemons.is_empty() { Ok(()) } else { Err(StoreError::DaemonsActive(daemons)) }
}
