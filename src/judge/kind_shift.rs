//! Kind check of a sparse column: a new field of all rows is read into a column that few rows filled. Its former values
//! are still there, among others of another kind.

use crate::model::ColumnStatistics;

/// Minimum number of values in every run.
const MIN_VALUES: u64 = 5;
/// A column has one kind of value if at least this share of its values is of that kind.
const MIN_KIND_SHARE: f64 = 0.9;
/// It has become mixed if less than this share is of the former kind: there are more new values than old ones.
const MAX_KEPT_SHARE: f64 = 0.5;
/// It is no longer sparse if it is filled this many times as often as in the last good run. Columns whose kind changed
/// on captures of the same template were as full as before, or had none of their former values.
const MIN_GROWTH: f64 = 2.0;
/// Minimum share of the former values that are still there.
const MIN_KEPT_VALUES: f64 = 0.5;

type Counter = fn(&ColumnStatistics) -> u64;

const KINDS: [(&str, Counter); 3] = [("numbers", |it| it.numbers), ("words", |it| it.words), ("links", |it| it.links)];

/// `before` are the column's statistics and the row counts of the good runs, newest first.
pub(super) fn anomaly(column: &ColumnStatistics, rows: u64, before: &[(&ColumnStatistics, u64)]) -> Option<String> {
    let (last, last_rows) = before.first()?;
    let is_fuller = share(column.filled, rows) >= MIN_GROWTH * share(last.filled, *last_rows);
    let is_pure = |it: &ColumnStatistics, count: Counter| {
        it.filled >= MIN_VALUES && share(count(it), it.filled) >= MIN_KIND_SHARE
    };
    let (kind, count) = KINDS.into_iter().find(|(_, count)| before.iter().all(|(it, _)| is_pure(it, *count)))?;
    let kept = share(count(column), column.filled);
    let has_kept_values = count(column) as f64 >= MIN_KEPT_VALUES * count(last) as f64;
    (column.is_text && is_fuller && has_kept_values && kept < MAX_KEPT_SHARE).then(|| {
        let (name, others) = (&column.name, (1.0 - kept) * 100.0);
        format!("the column {name} held {kind} in good runs; now {others:.0} % of its values are of another kind")
    })
}

fn share(part: u64, all: u64) -> f64 {
    part as f64 / all.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(words: u64, numbers: u64) -> ColumnStatistics {
        let filled = words + numbers;
        ColumnStatistics { name: "author".to_owned(), filled, words, numbers, is_text: true, ..Default::default() }
    }

    #[test]
    fn a_sparse_column_that_a_new_field_fills_is_off() {
        let sparse = column(8, 0);
        for (what, now, is_off) in [
            ("as before", column(9, 0), false),
            ("dates in the other rows", column(11, 16), true),
            ("authors in all rows", column(27, 0), false),
            ("all values replaced: the site writes it in another way", column(0, 27), false),
            ("a few dates", column(9, 6), false),
        ] {
            assert_eq!(anomaly(&now, 27, &[(&sparse, 26)]).is_some(), is_off, "{what}");
        }
        let full = column(27, 0);
        assert_eq!(anomaly(&column(12, 15), 27, &[(&full, 27)]), None, "it was full before");
    }
}
