//! What a run leaves to look at: its trace lines, and the raw pages of the last good run and of the last bad ones.

use super::StoreError;
use crate::model::{PageMeta, RunId, TraceLine};

/// Of one run. A script of fifty steps over fifty pages writes some 200.
pub(super) const MAX_TRACE_LINES: i64 = 2_000;

/// Pages that a script's `save` names are counted from 1,000 and are at most as many.
pub(super) const MAX_SAVED_INDEX: u32 = 2_000;

/// Of one line of a trace.
pub(super) const MAX_TRACE_CHARS: usize = 4_096;

/// What a run leaves to look at.
pub trait RunArtifacts {
    /// Appends to a run's trace; beyond the limit lines are dropped.
    fn append_trace(&mut self, run: RunId, lines: &[TraceLine]) -> Result<(), StoreError>;

    fn trace_lines(&self, run: RunId) -> Result<Vec<TraceLine>, StoreError>;

    /// Keeps a raw page, compressed by the caller; beyond the number kept of a run it is passed over, unless the script has
    /// named it.
    fn store_page(&mut self, run: RunId, index: u32, meta: &PageMeta, zstd: &[u8]) -> Result<(), StoreError>;

    /// The kept pages of a run in order, their bodies as they were given.
    fn pages(&self, run: RunId) -> Result<Vec<(PageMeta, Vec<u8>)>, StoreError>;
}
