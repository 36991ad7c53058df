//! Cache for fitting a variant to one page after another. Interned paths, scores of leaves for columns and comparisons
//! of tags stay valid for the next page of a run.

use crate::learn::align::{Aligner, Profile, SlotPositions};
use crate::learn::apply::similarity::{ClassComparison, TokenMatcher};
use crate::learn::template::Variant;
use crate::learn::view::{PathId, PathInterner};

pub struct FitCache {
    pub(super) aligner: Aligner,
    pub(super) repeats: Vec<PathId>,
    pub(super) token_matcher: TokenMatcher,
    pub(super) slot_positions: SlotPositions,
    /// The learned header names.
    pub(super) header: Vec<String>,
    pub paths: PathInterner,
}

/// Maximum number of paths that are kept for the next page: pages with ever new paths would fill the memory.
const MAX_PATHS: usize = 10_000;

impl FitCache {
    pub(super) fn new(variant: &Variant, mut paths: PathInterner) -> FitCache {
        let columns = variant.slots.iter().map(|slot| Profile::from_slot(slot, &mut paths)).collect();
        let repeats = variant.repeats.iter().map(|path| paths.parse(path)).collect();
        let places = SlotPositions::new(&variant.slots, &mut paths);
        let looks = TokenMatcher::new(variant, ClassComparison::Count);
        FitCache {
            aligner: Aligner::new(columns),
            repeats,
            token_matcher: looks,
            slot_positions: places,
            header: variant.header.clone(),
            paths,
        }
    }

    /// The cache for the next page; `None` if it has grown too large.
    pub fn reusable(mut self) -> Option<FitCache> {
        self.token_matcher.reset_for_page();
        self.aligner.reset_for_page();
        (self.paths.count() <= MAX_PATHS).then_some(self)
    }
}
