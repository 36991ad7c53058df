//! One score for each row set, from its features.

use super::features::{Features, Meter};
use crate::learn::rows::RowSet;
use crate::learn::view::PageView;

/// A row set with its features and score.
pub struct RankedRowSet {
    pub set: RowSet,
    pub features: Features,
    pub score: f64,
}

// Refitted over the corpus, the drift series, 52 list pages of other sites and 93 more (whose lists were taken from the
// candidates), each page scored with weights from other sites: no change ranked more lists first. The right list, in
// some cut, is first on 235 of 242 pages where it is a candidate; the misses were wrong cuts: see `superset`,
// `atypical`, `outlier_rows`.
//
// The weights of docs/design/learning.md 2.3, from some 150 pages: changing one by half moves the first place by 0 to
// 4 points. Dropping compactness costs 2.7 points, dispersion 2.2, halving the weight of the row count 2.7.
const COVERAGE: f64 = 1.0;
const SAMENESS: f64 = 1.5;
const VARIETY: f64 = 0.5;
const ROWS: f64 = 3.0;
const DISTINCT: f64 = 0.5;
const COMPACT: f64 = 0.8;
const DISPERSION: f64 = 1.0;
const NAVIGATION: f64 = 0.9;
const BARE_LINKS: f64 = 0.9;
const GRID_LINES: f64 = 1.2;
const ROTATION: f64 = 0.5;
// From pages with several tables (case counts of the day beside advice and contacts): a table with a header is wanted
// before bare ones, and one table before two merged ones.
const TITLED: f64 = 0.7;
const JOINED: f64 = 0.7;

// Contents of the rows, and features that separate menus and sections from records. Fitted with the weights above held
// nearly fixed, on the 145 pages where a right list was a candidate (corpus, first captures of the drift series, 52
// list pages of other sites). Cross-validated by site, the right list comes first by score alone on 124 pages instead
// of 120; no single weight does that alone. The optimum is a plateau: sections 0.6 to 1.2 and aside 0.5 to 0.9 give the
// same number of right pages.
const PICTURES: f64 = 0.5;
const FIGURES: f64 = 0.5;
const HEADINGS: f64 = 0.3;
const PRICES: f64 = 0.2;
const SECTIONS: f64 = 0.8;
/// For small tables of plain values, which have more cells than rows.
const BARE_CELLS: f64 = 1.2;
const TALLIES: f64 = 0.4;
/// For a table of figures in a long article or beside lists of documents. On 332 pages where the right list is a
/// candidate, by score alone: from 1.6 to 2.0, 8 more pages of three sites come first, at 1.2 already 4 of two sites;
/// none gets worse.
const VALUES: f64 = 1.6;
const ASIDE: f64 = 0.7;

/// Lower bound of the coverage: below a few hundredths, the share of the page says little. A table of figures in a long
/// article is small and is what people want. With 0.03 instead of 0.001, and [`crate::page::tokens::TEXT_ITSELF`], the
/// right list of 49 first captures of drift series is among five on 31 pages instead of 28, first on 27 instead of 25;
/// nothing changes on the corpus.
const COVERAGE_FLOOR: f64 = 0.03;

/// Keeps the logarithm finite if a feature is 0.
const FLOOR: f64 = 0.001;

fn score(it: &Features) -> f64 {
    let ln = |value: f64| (value + FLOOR).ln();
    // Saturating: the step from 2 to 5 rows, or from 1 to 3 varying slots, says more than the step from 50 to 100.
    let rows = 1.0 - (-(it.rows as f64 - 1.0) / 3.0).exp();
    let variety = 1.0 - (-it.variety / 1.5).exp();
    COVERAGE * (it.coverage + COVERAGE_FLOOR).ln()
        + SAMENESS * ln(it.sameness)
        + VARIETY * ln(variety)
        + ROWS * ln(rows)
        + DISTINCT * ln(it.distinct)
        + COMPACT * ln(it.compact)
        - DISPERSION * (1.0 + it.dispersion).ln()
        - NAVIGATION * it.navigation
        - BARE_LINKS * it.bare_links
        - ROTATION * it.rotation
        + if it.has_column_titles { TITLED } else { 0.0 }
        - if it.spans_different_tables { JOINED } else { 0.0 }
        + PICTURES * it.signals.picture
        + FIGURES * it.signals.figure
        + HEADINGS * it.signals.heading
        + PRICES * it.signals.price
        - TALLIES * it.signals.tally
        + VALUES * it.signals.values
        // Both mean that the records are inside the rows, so they count once.
        - (GRID_LINES * it.grid_lines).max(SECTIONS * it.sections)
        - BARE_CELLS * it.bare_cells
        - if it.is_aside { ASIDE } else { 0.0 }
}

/// The row sets with their scores, in the given order.
pub fn measure_all(view: &PageView<'_>, sets: Vec<RowSet>) -> Vec<RankedRowSet> {
    let mut meter = Meter::new(view);
    sets.into_iter().map(|set| measured(&mut meter, set)).collect()
}

pub fn measured(meter: &mut Meter<'_, '_>, set: RowSet) -> RankedRowSet {
    let features = meter.measure(&set);
    RankedRowSet { score: score(&features), set, features }
}
