//! Column checks: compares fill rate and kind of value of each column with the good runs of the window.

use serde::Serialize;

use super::kind_shift;
use super::window::Window;
use crate::model::{Column, ColumnStatistics, ColumnType};

/// Minimum fill rate of a column that counts as filled.
const USUALLY_FILLED: f64 = 0.8;
/// Minimum fill rate of a column that is often filled. It counts as emptied if no row has a value, and if that many
/// empty cells in a row are no chance: `MAX_CHANCE`.
const OFTEN_FILLED: f64 = 0.5;
/// The greatest probability of an empty column that is still filled as often: ten rows at half, eight at 60 %.
const MAX_CHANCE: f64 = 0.001;
/// A named column counts as emptied below this share of its earlier fill rate.
const MAX_EMPTIED_FILL: f64 = 0.3;
/// The same for a column whose values identified the rows.
const MAX_EMPTIED_KEY_FILL: f64 = 0.5;
/// A column has lost cells below this share of its earlier fill rate.
const MIN_KEPT_FILL: f64 = 0.9;
/// Minimum share of distinct values of a column that identifies the rows.
const MIN_DISTINCT_SHARE: f64 = 0.5;
/// A column has one kind of value if at least this share of its values is of that kind.
const MIN_KIND_SHARE: f64 = 0.8;
/// Fewer values do not determine a kind.
const MIN_VALUES: u64 = 3;

/// A column of this run beside the good runs. Shares are shares of the rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ColumnMeasure {
    pub name: String,
    /// Share of cells with a value of the column's type.
    pub filled: f64,
    /// Share of cells with a text that has no value of the type.
    #[serde(skip_serializing_if = "is_none")]
    pub unread: f64,
    /// The type in task.toml; `None` for text.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<ColumnType>,
    /// The kind of nearly all values; `None` if they are mixed or few.
    pub kind: Option<&'static str>,
    /// The lowest fill rate of the good runs; `None` if none of them had the column.
    pub filled_before: Option<f64>,
    /// The kind of value in all good runs; `None` if they differ.
    pub kind_before: Option<&'static str>,
    /// The minimum fill rate; `None` for a column that may be empty.
    pub must_fill: Option<f64>,
    /// What is wrong, as a sentence.
    pub off: Option<String>,
}

/// All columns of a run with `rows` rows. `named` are the columns of task.toml.
pub(super) fn measure(
    columns: &[ColumnStatistics],
    rows: u64,
    named: &[Column],
    window: &Window<'_>,
) -> Vec<ColumnMeasure> {
    columns.iter().map(|column| measure_one(column, rows, named, window)).collect()
}

fn measure_one(column: &ColumnStatistics, rows: u64, named: &[Column], window: &Window<'_>) -> ColumnMeasure {
    let person = named.iter().find(|it| it.name == column.name);
    let before = window.column(&column.name);
    let told_apart = column.is_text
        && !before.is_empty()
        && before.iter().all(|(it, rows)| share(it.different, *rows) >= MIN_DISTINCT_SHARE);
    let is_watched = person.is_some() || told_apart;
    let filled_before = before.iter().map(|(it, rows)| share(it.readable(), *rows)).reduce(f64::min);
    let floor = if told_apart { MAX_EMPTIED_KEY_FILL } else { MAX_EMPTIED_FILL };
    // A column that nobody has named may become empty.
    let usual = filled_before.filter(|_| is_watched).and_then(|least| match least {
        least if least >= USUALLY_FILLED => Some(least * floor),
        least if least >= OFTEN_FILLED && is_no_chance(least, rows) => Some(1.0 / rows as f64),
        _ => None,
    });
    // Entries of another kind, without this field, make its share smaller and cost no value.
    let usual = usual.filter(|_| before.iter().any(|(it, _)| column.readable() < it.readable()));
    let is_required = person.is_some_and(|it| it.required);
    let measure = ColumnMeasure {
        name: column.name.clone(),
        filled: share(column.readable(), rows),
        unread: share(column.unread, rows),
        type_: person.map(|it| it.kind).filter(|&kind| kind != ColumnType::Text),
        kind: kind(column),
        filled_before,
        kind_before: before.iter().map(|(it, _)| kind(it)).reduce(|a, b| if a == b { a } else { None }).flatten(),
        must_fill: if is_required { Some(USUALLY_FILLED) } else { usual },
        off: None,
    };
    let off = measure.anomaly(is_required, usual, is_watched).or_else(|| kind_shift::anomaly(column, rows, &before));
    ColumnMeasure { off, ..measure }
}

impl ColumnMeasure {
    fn anomaly(&self, is_required: bool, usual: Option<f64>, is_watched: bool) -> Option<String> {
        let (name, now) = (&self.name, percent(self.filled));
        if is_required && self.filled < USUALLY_FILLED {
            return Some(format!(
                "the required column {name} is filled in {now} of the rows; at least {} are needed{}",
                percent(USUALLY_FILLED),
                self.unread_clause()
            ));
        }
        if let (Some(usual), Some(before)) = (usual, self.filled_before)
            && self.filled < usual
        {
            let of_them = self.unread_clause();
            return Some(format!(
                "the column {name} is filled in {now} of the rows; good runs had at least {}{of_them}",
                percent(before)
            ));
        }
        let (is, was) = (self.kind?, self.kind_before?);
        (is_watched && is != was).then(|| format!("the column {name} now holds {is}; good runs had {was}"))
    }

    /// Is it less filled than in any good run?
    pub(super) fn has_lost_cells(&self) -> bool {
        self.filled_before.is_some_and(|before| self.filled < before * MIN_KEPT_FILL)
    }

    /// A clause about texts without a value of the column's type.
    fn unread_clause(&self) -> String {
        match self.type_ {
            Some(kind) if self.unread > 0.0 => {
                format!("; {} of the rows have a text that is not of type {}", percent(self.unread), kind.word())
            }
            _ => String::new(),
        }
    }
}

/// Is an empty column of so many rows no chance, if the fill rate is still the same?
fn is_no_chance(filled: f64, rows: u64) -> bool {
    (1.0 - filled).powf(rows as f64) <= MAX_CHANCE
}

/// The kind of nearly all values.
fn kind(column: &ColumnStatistics) -> Option<&'static str> {
    let kinds = [(column.numbers, "numbers"), (column.words, "words"), (column.links, "links")];
    let (count, word) = kinds.into_iter().max_by_key(|(count, _)| *count)?;
    (count >= MIN_VALUES && share(count, column.filled) >= MIN_KIND_SHARE).then_some(word)
}

fn is_none(share: &f64) -> bool {
    *share == 0.0
}

fn share(part: u64, all: u64) -> f64 {
    part as f64 / all.max(1) as f64
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::past_run;
    use crate::model::{Outcome, PastRun, Publication, RunStatistics, Verdict};

    fn column(name: &str, filled: u64, words: u64) -> ColumnStatistics {
        let (name, numbers, different) = (name.to_owned(), filled - words, filled);
        ColumnStatistics { name, filled, words, numbers, different, is_text: true, ..ColumnStatistics::default() }
    }

    fn good_run(columns: Vec<ColumnStatistics>) -> PastRun {
        let figures = RunStatistics { columns, ..RunStatistics::default() };
        let outcome = Outcome::Published(Publication::Changed);
        past_run(Verdict { outcome, rows: 10, statistics: figures, ..Verdict::interrupted() })
    }

    #[test]
    fn a_column_is_measured_against_the_least_of_the_good_runs() {
        let past =
            [good_run(vec![column("price", 10, 0), column("badge", 2, 2)]), good_run(vec![column("price", 9, 0)])];
        let now = [column("price", 4, 0), column("badge", 0, 0), column("new", 10, 10)];
        let measured = measure(&now, 10, &[], &Window::of(&past));
        let seen: Vec<_> = measured.iter().map(|it| (it.filled, it.filled_before, it.off.is_some())).collect();
        assert_eq!(seen, [(0.4, Some(0.9), true), (0.0, Some(0.2), false), (1.0, None, false)]);
        assert_eq!(measured[0].must_fill, Some(0.45));
        assert_eq!((measured[0].kind, measured[0].kind_before), (Some("numbers"), Some("numbers")));
    }

    #[test]
    fn a_column_that_was_often_filled_and_is_empty_now_is_off() {
        for (rows, filled, now, is_off) in [(10, 6, 0, true), (10, 6, 1, false), (5, 3, 0, false), (40, 19, 0, false)] {
            let mut run = good_run(vec![column("price", filled, 0)]);
            run.verdict.rows = rows;
            let past = [run];
            let named = [Column::text("price")];
            let measured = measure(&[column("price", now, 0)], rows, &named, &Window::of(&past));
            assert_eq!(measured[0].off.is_some(), is_off, "{filled} of {rows} rows, now {now}");
            let nobody_named_it = measure(&[column("price", now, 0)], rows, &[], &Window::of(&past));
            assert_eq!(
                nobody_named_it[0].must_fill.is_some(),
                filled * 2 >= rows && rows >= 10,
                "by its distinct values"
            );
        }
    }

    #[test]
    fn a_column_that_holds_another_kind_is_off() {
        let past = [good_run(vec![column("price", 10, 0)])];
        let measured = measure(&[column("price", 10, 10)], 10, &[], &Window::of(&past));
        assert_eq!(measured[0].off.as_deref(), Some("the column price now holds words; good runs had numbers"));
    }

    #[test]
    fn a_text_that_is_no_value_counts_as_if_it_were_not_there() {
        let past = [good_run(vec![column("price", 10, 0)])];
        let price = Column { kind: ColumnType::Money, ..Column::text("price") };
        let now = ColumnStatistics { unread: 8, ..column("price", 10, 0) };
        let measured = measure(&[now], 10, &[price], &Window::of(&past));
        let sentence = "the column price is filled in 20 % of the rows; good runs had at least 100 %; \
                        80 % of the rows have a text that is not of type money";
        assert_eq!(measured[0].off.as_deref(), Some(sentence));
    }

    #[test]
    fn a_required_column_needs_no_past() {
        let mut price = Column::text("price");
        price.required = true;
        let measured = measure(&[column("price", 7, 0)], 10, &[price], &Window::of(&[]));
        let sentence = "the required column price is filled in 70 % of the rows; at least 80 % are needed";
        assert_eq!(measured[0].off.as_deref(), Some(sentence));
    }
}
