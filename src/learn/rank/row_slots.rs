//! The slots of rows (tag path and ordinal of each text), and the core that rows have in common.

use foldhash::{HashMap, HashMapExt};

use crate::learn::view::count_keys;

/// Maximum tokens examined per row; rows have at most a few hundred. In lists nested 500 deep, each token of the
/// innermost would otherwise be read 500 times.
pub const MAX_ROW_TOKENS: u32 = 4_000;

/// Which part of a text's path identifies its slot.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PathPrecision {
    Whole,
    /// Only the last two tags: on a badly nested page (one more nested `<font>` in each row) whole paths would make
    /// every row an outlier.
    LastTwo,
    /// Only the last tag, for rows with one text each: a link inside a paragraph is still that link.
    Last,
}

pub struct RowSlots {
    pub slots: Vec<((u32, u32), u64)>,
    pub fingerprint: u64,
}

/// Minimum slots of a core that distinguishes a record from a menu entry, which has a link and its text too.
pub const RICH_CORE: usize = 3;

/// The slots that at least half of the rows have.
pub struct Core {
    counts: HashMap<(u32, u32), usize>,
    rows: usize,
    pub len: usize,
}

impl Core {
    pub fn of(rows: &[RowSlots]) -> Core {
        let counts = count_keys(rows.iter().flat_map(|row| &row.slots).map(|&(slot, _)| slot));
        let len = counts.values().filter(|&&count| count * 2 >= rows.len()).count();
        Core { counts, rows: rows.len(), len }
    }

    pub fn shared(&self, row: &RowSlots) -> usize {
        row.slots.iter().filter(|(slot, _)| self.counts[slot] * 2 >= self.rows).count()
    }

    pub fn sameness(&self, row: &RowSlots) -> f64 {
        let shared = self.shared(row);
        let all = row.slots.len() + self.len - shared;
        if all == 0 { 1.0 } else { shared as f64 / all as f64 }
    }
}

pub fn variety(rows: &[RowSlots]) -> f64 {
    let mut values: HashMap<(u32, u32), Vec<u64>> = HashMap::new();
    for &(slot, print) in rows.iter().flat_map(|row| &row.slots) {
        values.entry(slot).or_default().push(print);
    }
    let n = rows.len() as f64;
    let mut parts: Vec<f64> = values
        .values_mut()
        .filter(|prints| prints.len() >= 2 && prints.len() as f64 >= 0.3 * n)
        .map(|prints| {
            let count = prints.len();
            prints.sort_unstable();
            prints.dedup();
            let varies = (prints.len() - 1) as f64 / (count - 1) as f64;
            count as f64 / n * varies
        })
        .collect();
    // Summed in a fixed order, so that equal pages have bit-identical scores.
    parts.sort_unstable_by(f64::total_cmp);
    parts.iter().sum()
}

pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
