//! Run artifacts: the trace lines of a run, and the raw pages of the last good run and of the most recent bad ones.

use super::StoreError;
use crate::model::{PageMeta, RunId, TraceLine};

/// Per run. A script of fifty steps over fifty pages writes some 200.
pub(super) const MAX_TRACE_LINES: i64 = 2_000;

/// Pages that a script's `save` step names are numbered from 1,000, and there are at most 1,000 of them.
pub(super) const MAX_SAVED_INDEX: u32 = 2_000;

pub(super) const MAX_TRACE_CHARS: usize = 4_096;

/// Traces and raw pages, kept for diagnosis.
pub trait RunArtifacts {
    /// Appends to a run's trace; beyond the limit lines are dropped.
    fn append_trace(&mut self, run: RunId, lines: &[TraceLine]) -> Result<(), StoreError>;

    fn trace_lines(&self, run: RunId) -> Result<Vec<TraceLine>, StoreError>;

    /// Keeps a raw page, which the caller has compressed. Pages beyond the limit per run are ignored, unless the script
    /// has named them.
    fn store_page(&mut self, run: RunId, index: u32, meta: &PageMeta, zstd: &[u8]) -> Result<(), StoreError>;

    /// The kept pages of a run in order, with the bodies as they were stored (compressed).
    fn pages(&self, run: RunId) -> Result<Vec<(PageMeta, Vec<u8>)>, StoreError>;
}
