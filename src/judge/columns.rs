//! Whether the columns still hold what they held: filled as before, with values of the same kind.

use super::window::Window;
use crate::model::{Column, ColumnFigures};

/// A column was always filled when this share of its cells was.
const FULL: f64 = 0.8;
/// … and is empty now when less than this share of as many are, which a person has named,
const EMPTIED: f64 = 0.3;
/// … or when it told the rows apart, which takes a share of different values.
const EMPTIED_KEY: f64 = 0.5;
const TELLS_APART: f64 = 0.5;
/// A column holds one kind of value when this share of them is.
const ONE_KIND: f64 = 0.8;
/// Fewer values say nothing about their kind.
const MIN_VALUES: u64 = 3;

/// What is off in the columns, in words; nothing where all is as it was. `named` are the person's.
pub fn off(columns: &[ColumnFigures], rows: u64, named: &[Column], window: &Window<'_>) -> Option<String> {
    columns.iter().find_map(|column| {
        let person = named.iter().find(|it| it.name == column.name);
        let now = share(column.filled, rows);
        if person.is_some_and(|it| it.required) && now < FULL {
            return Some(format!(
                "the column {} is required, and {} of its cells are filled",
                column.name,
                percent(now)
            ));
        }
        let before = window.column(&column.name);
        let least = before.iter().map(|(it, rows)| share(it.filled, *rows)).reduce(f64::min)?;
        let told_apart = column.is_text && before.iter().all(|(it, rows)| share(it.different, *rows) >= TELLS_APART);
        let floor = match (person, told_apart) {
            (_, true) => EMPTIED_KEY,
            (Some(_), false) => EMPTIED,
            // A column that nobody has named may come and go.
            (None, false) => 0.0,
        };
        if least >= FULL && now < least * floor {
            let (now, least) = (percent(now), percent(least));
            return Some(format!("{now} of the column {} are filled, and it was at least {least}", column.name));
        }
        let (is, was) =
            (kind(column)?, before.iter().map(|(it, _)| kind(it)).reduce(|a, b| if a == b { a } else { None })??);
        let is_watched = person.is_some() || told_apart;
        (is_watched && is != was).then(|| format!("the column {} holds {is} where it held {was}", column.name))
    })
}

/// What nearly all its values are.
fn kind(column: &ColumnFigures) -> Option<&'static str> {
    let kinds = [(column.numbers, "numbers"), (column.words, "words"), (column.links, "links")];
    let (count, word) = kinds.into_iter().max_by_key(|(count, _)| *count)?;
    (count >= MIN_VALUES && share(count, column.filled) >= ONE_KIND).then_some(word)
}

fn share(part: u64, all: u64) -> f64 {
    part as f64 / all.max(1) as f64
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
