//! Copies one store into another, whichever databases they are. The source is read part by part as one snapshot; the
//! target cannot be opened before it is complete.

use serde::Serialize;

use super::copy::{CopyPart, CopyTarget};
use super::digest::Digest;
use super::{Store, StoreError, StoreResult, postgres, sqlite};
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

/// Row count and digest of the current generation.
#[derive(Default)]
struct GenerationChecksum {
    rows: i64,
    digest: Digest,
}

impl GenerationChecksum {
    /// Checks a part before it is passed on. A generation that differs from its recorded digest ends the copy with an
    /// error.
    fn check(&mut self, part: &CopyPart<'_>) -> StoreResult<()> {
        match part {
            CopyPart::Entries(..) => {}
            CopyPart::GenerationBegin(_) => *self = GenerationChecksum::default(),
            CopyPart::Rows(set, records) => {
                self.rows += i64::try_from(records.len()).unwrap_or(i64::MAX);
                records.iter().for_each(|record| self.digest.add(record.digest(&set.generation.columns)));
            }
            CopyPart::GenerationEnd(set) => {
                if (self.rows, self.digest) != (set.generation.rows, set.generation.digest) {
                    let which = format!("the {} rows of {}", set.state, set.task);
                    return Err(StoreError::Damaged(format!("{which} do not match their recorded digest")));
                }
            }
        }
        Ok(())
    }
}

/// Copies a store into a new one at another address; `watch` is called with the progress.
pub fn copy(from: &Store, to: &StoreAddress, watch: &mut dyn FnMut(&CopyCounts)) -> StoreResult<CopyCounts> {
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
pub fn refuse_if_daemons_active(from: &Store) -> StoreResult<()> {
    let daemons = from.active_daemons()?;
    if daemons.is_empty() { Ok(()) } else { Err(StoreError::DaemonsActive(daemons)) }
}
