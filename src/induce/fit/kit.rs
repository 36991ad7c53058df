//! What a variant is laid over pages with. A run reads page after page of one template: what was worked out for one of them,
//! the paths of its rows, what leaves there are worth in each column and what their tags look like, holds for the next.

use crate::induce::align::Aligner;
use crate::induce::paths::{PathId, Paths};
use crate::induce::places::Places;
use crate::induce::profile::Profile;
use crate::induce::similarity::{Classes, Looks};
use crate::induce::template::Variant;

pub struct Kit {
    pub(super) aligner: Aligner,
    pub(super) repeats: Vec<PathId>,
    pub(super) looks: Looks,
    pub(super) places: Places,
    /// The names above the columns.
    pub(super) header: Vec<String>,
    pub paths: Paths,
}

/// More paths than this are not carried on: pages that make up new ones would fill the memory.
const MAX_PATHS: usize = 10_000;

impl Kit {
    pub(super) fn new(variant: &Variant, mut paths: Paths) -> Kit {
        let columns = variant.slots.iter().map(|slot| Profile::from_slot(slot, &mut paths)).collect();
        let repeats = variant.repeats.iter().map(|path| paths.parse(path)).collect();
        let places = Places::new(&variant.slots, &mut paths);
        let looks = Looks::new(variant, Classes::Count);
        Kit { aligner: Aligner::new(columns), repeats, looks, places, header: variant.header.clone(), paths }
    }

    /// As it may be used for the next page, if it may.
    pub fn kept(mut self) -> Option<Kit> {
        self.looks.begin_anew();
        self.aligner.begin_anew();
        (self.paths.count() <= MAX_PATHS).then_some(self)
    }
}
