//! Moved values: compares the records of a run with the published ones, cell by cell. Where nothing on the page names
//! the columns, values under another column than before are the only sign that its columns were moved.

use std::collections::{HashMap, HashSet};

use crate::model::{Row, Table};

/// Rows of each of the two tables that are compared, from the first.
pub const MAX_COMPARED_ROWS: usize = 300;

/// Columns that are compared, each with each.
const MAX_COMPARED_COLUMNS: usize = 100;

/// Fewer records prove nothing.
const MIN_RECORDS: usize = 3;
/// Minimum share of a row's values that a published row must have, in any column, to be the same record.
const MIN_SAME_VALUES: f64 = 0.5;
/// A value in more rows than this does not identify a record.
const MAX_ROWS_OF_VALUE: usize = 2;
/// Minimum share of the records, of those where the two columns differed, that have the one's value in the other now.
const MIN_MOVED_SHARE: f64 = 0.6;
/// Minimum share of all records in which two columns differed.
const MIN_DIFFERENT_SHARE: f64 = 0.2;
/// A column has one kind of value if at least this share of its values is of that kind.
const MIN_KIND_SHARE: f64 = 0.8;
/// Minimum share of distinct values of the column that identifies the records.
const MIN_DISTINCT_SHARE: f64 = 0.9;

/// A sentence if the values of a column are in another one now.
///
/// A list may move values by itself: last week's rank becomes the rank before, the next match the last one. Then values
/// of one kind move on in one direction. Moved columns change places, or bring values of another kind, or take the
/// identifying column with them.
pub fn moved_values(published: &Table, now: &Table) -> Option<String> {
    let shared: Vec<(usize, usize, &str)> = now
        .columns
        .iter()
        .enumerate()
        .filter_map(|(at, name)| {
            let before = published.columns.iter().position(|it| it == name)?;
            Some((before, at, name.as_str()))
        })
        .take(MAX_COMPARED_COLUMNS)
        .collect();
    let cells = |table: &'_ Table, of: fn(&(usize, usize, &str)) -> usize| -> Vec<Vec<String>> {
        let cell = |row: &Row, at: usize| row.cells.get(at).and_then(Option::as_deref).unwrap_or("").trim().to_owned();
        let row = |row: &Row| shared.iter().map(|it| cell(row, of(it))).collect();
        table.rows.iter().take(MAX_COMPARED_ROWS).map(row).collect()
    };
    let (before, after) = (cells(published, |it| it.0), cells(now, |it| it.1));
    let names: Vec<&str> = shared.iter().map(|it| it.2).collect();
    let records = PairedRecords::link(&before, &after);
    let moves = records.moves(names.len());
    let is_sign = |of: &&Move| records.is_sign(of, &moves);
    let sign = moves.iter().find(is_sign)?;
    let back = moves.iter().find(|it| it.from == sign.to && it.to == sign.from);
    let further =
        back.map(|it| format!(", and those of `{}` in `{}`", names[it.from], names[it.to])).unwrap_or_default();
    Some(format!("the values of `{}` are now in `{}`{further}", names[sign.from], names[sign.to]))
}

/// The values of one column are in another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Move {
    from: usize,
    to: usize,
}

/// Records that are in both tables, each with its cells before and now.
struct PairedRecords<'t> {
    pairs: Vec<(&'t [String], &'t [String])>,
}

impl<'t> PairedRecords<'t> {
    /// Pairs the rows that share most values, whatever columns these are in.
    fn link(before: &'t [Vec<String>], after: &'t [Vec<String>]) -> PairedRecords<'t> {
        let mut rows_with: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, row) in before.iter().enumerate() {
            distinct(row).into_iter().for_each(|value| rows_with.entry(value).or_default().push(index));
        }
        let mut taken = HashSet::new();
        let mut pairs = Vec::new();
        for row in after {
            let values = distinct(row);
            let telling = values.iter().filter_map(|value| rows_with.get(value));
            let mut candidates: Vec<usize> =
                telling.filter(|rows| rows.len() <= MAX_ROWS_OF_VALUE).flatten().copied().collect();
            candidates.sort_unstable();
            candidates.dedup();
            let same = |index: usize| before[index].iter().filter(|it| values.contains(it.as_str())).count();
            let free = candidates.into_iter().filter(|index| !taken.contains(index));
            let best = free.map(|index| (same(index), index)).max_by_key(|&(same, index)| (same, usize::MAX - index));
            if let Some((same, index)) = best
                && same as f64 >= MIN_SAME_VALUES * values.len() as f64
            {
                taken.insert(index);
                pairs.push((before[index].as_slice(), row.as_slice()));
            }
        }
        PairedRecords { pairs }
    }

    fn moves(&self, columns: usize) -> Vec<Move> {
        let all = (0..columns).flat_map(|from| (0..columns).map(move |to| Move { from, to }));
        all.filter(|it| it.from != it.to && self.is_move(it)).collect()
    }

    /// Do most records that had different values in the two columns have the one's value in the other now?
    fn is_move(&self, &Move { from, to }: &Move) -> bool {
        let differed = self.pairs.iter().filter(|(old, _)| !old[from].is_empty() && old[from] != old[to]);
        let (mut all, mut moved) = (0, 0);
        for (old, new) in differed {
            all += 1;
            moved += usize::from(new[to] == old[from]);
        }
        moved >= MIN_RECORDS
            && moved as f64 >= MIN_MOVED_SHARE * f64::from(all)
            && f64::from(all) >= MIN_DIFFERENT_SHARE * self.pairs.len() as f64
    }

    fn is_sign(&self, it: &Move, all: &[Move]) -> bool {
        let is_of_another_kind = matches!((self.kind(it.from), self.kind(it.to)), (Some(a), Some(b)) if a != b);
        let changes_places = all.iter().any(|back| back.from == it.to && back.to == it.from);
        is_of_another_kind
            || self.is_emptied(it.from)
            || changes_places && self.are_the_same_records(all)
            || !changes_places && (self.identifies(it.from) || is_on_cycle(it, all))
    }

    /// Of a column's values before.
    fn kind(&self, column: usize) -> Option<ValueKind> {
        let values = || self.pairs.iter().map(|(old, _)| old[column].as_str()).filter(|value| !value.is_empty());
        let all = values().count() as f64;
        [ValueKind::Number, ValueKind::Word, ValueKind::Link]
            .into_iter()
            .find(|kind| values().filter(|value| ValueKind::of(value) == *kind).count() as f64 >= MIN_KIND_SHARE * all)
    }

    /// Is it the first column of words that are distinct? Its values never move on to another column.
    fn identifies(&self, column: usize) -> bool {
        let is_distinct = |column: &usize| {
            let values: HashSet<&str> = self.pairs.iter().map(|(old, _)| old[*column].as_str()).collect();
            values.len() as f64 >= MIN_DISTINCT_SHARE * self.pairs.len() as f64
                && self.kind(*column) == Some(ValueKind::Word)
        };
        let columns = self.pairs.first().map_or(0, |(old, _)| old.len());
        (0..columns).find(is_distinct) == Some(column)
    }

    fn is_emptied(&self, column: usize) -> bool {
        self.pairs.iter().all(|(_, new)| new[column].is_empty())
    }

    /// Are most values equal in the columns that have not moved? Otherwise they may be other records with the same
    /// values, such as the return matches of two teams.
    fn are_the_same_records(&self, moves: &[Move]) -> bool {
        let has_moved = |column: usize| moves.iter().any(|it| it.from == column || it.to == column);
        let cells = self.pairs.iter().flat_map(|(old, new)| old.iter().zip(*new).enumerate());
        let others: Vec<bool> = cells
            .filter(|(at, (old, _))| !has_moved(*at) && !old.is_empty())
            .map(|(_, (old, new))| old == new)
            .collect();
        let same = others.iter().filter(|&&it| it).count();
        same as f64 >= MIN_SAME_VALUES * others.len() as f64
    }
}

/// Does following the moves lead back to where it comes from?
fn is_on_cycle(it: &Move, all: &[Move]) -> bool {
    let mut reached = vec![it.to];
    let mut at = 0;
    while let Some(&column) = reached.get(at) {
        for next in all.iter().filter(|next| next.from == column) {
            if next.to == it.from {
                return true;
            }
            if !reached.contains(&next.to) {
                reached.push(next.to);
            }
        }
        at += 1;
    }
    false
}

fn distinct(row: &[String]) -> HashSet<&str> {
    row.iter().map(String::as_str).filter(|value| !value.is_empty()).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueKind {
    Number,
    Word,
    Link,
}

impl ValueKind {
    fn of(value: &str) -> ValueKind {
        if value.contains("://") || value.starts_with('/') {
            return ValueKind::Link;
        }
        let count = |is_it: fn(char) -> bool| value.chars().filter(|&c| is_it(c)).count();
        if count(char::is_numeric) > count(char::is_alphabetic) { ValueKind::Number } else { ValueKind::Word }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(columns: &[&str], before: &[&[&str]], now: &[&[&str]], expected: Option<&str>) {
        let found = moved_values(&Table::of_texts(columns, before), &Table::of_texts(columns, now));
        assert_eq!(found.as_deref(), expected, "{now:?}");
    }

    const HOUSES: [&[&str]; 4] = [
        &["Adler", "Bern", "95"],
        &["Bellevue", "Basel", "140"],
        &["Central", "Chur", "80"],
        &["Dorint", "Bern", "99"],
    ];
    const NAMES: [&str; 3] = ["name", "town", "price"];

    #[test]
    fn values_under_another_column_are_noticed() {
        let swapped: [&[&str]; 4] = [
            &["Bern", "Adler", "95"],
            &["Basel", "Bellevue", "140"],
            &["Chur", "Central", "85"],
            &["Bern", "Dorint", "99"],
        ];
        let both = "the values of `name` are now in `town`, and those of `town` in `name`";
        check(&NAMES, &HOUSES, &swapped, Some(both));
        let to_the_end: [&[&str]; 4] = [
            &["Bern", "95", "Adler"],
            &["Basel", "140", "Bellevue"],
            &["Chur", "80", "Central"],
            &["Bern", "99", "Dorint"],
        ];
        check(&NAMES, &HOUSES, &to_the_end, Some("the values of `name` are now in `price`"));
        let inserted: [&[&str]; 4] =
            [&["1", "Adler", "Bern"], &["2", "Bellevue", "Basel"], &["3", "Central", "Chur"], &["4", "Dorint", "Bern"]];
        check(&NAMES, &HOUSES, &inserted, Some("the values of `name` are now in `town`"));
        let dropped: [&[&str]; 4] =
            [&["Bern", "95", ""], &["Basel", "140", ""], &["Chur", "80", ""], &["Bern", "99", ""]];
        check(&NAMES, &HOUSES, &dropped, Some("the values of `price` are now in `town`"));
    }

    #[test]
    fn new_values_and_new_records_are_no_alarm() {
        check(&NAMES, &HOUSES, &HOUSES, None);
        let dearer: [&[&str]; 4] = [
            &["Adler", "Bern", "99"],
            &["Bellevue", "Basel", "150"],
            &["Central", "Chur", "95"],
            &["Emil", "Bern", "80"],
        ];
        check(&NAMES, &HOUSES, &dearer, None);
        check(&NAMES, &HOUSES, &[], None);
        check(&NAMES, &[], &HOUSES, None);
    }

    #[test]
    fn a_list_that_moves_values_on_by_itself_is_no_alarm() {
        let columns = ["team", "rank", "last", "next", "before"];
        let before: [&[&str]; 4] = [
            &["Ajax", "1", "3", "Bari", "Celta"],
            &["Bari", "2", "1", "Ajax", "Dynamo"],
            &["Celta", "3", "4", "Dynamo", "Ajax"],
            &["Dynamo", "4", "2", "Celta", "Bari"],
        ];
        let next_week: [&[&str]; 4] = [
            &["Celta", "1", "3", "Bari", "Dynamo"],
            &["Ajax", "2", "1", "Dynamo", "Bari"],
            &["Dynamo", "3", "4", "Ajax", "Celta"],
            &["Bari", "4", "2", "Celta", "Ajax"],
        ];
        check(&columns, &before, &next_week, None);
    }

    #[test]
    fn scores_and_return_matches_are_no_alarm() {
        let columns = ["home", "away", "goals", "against", "day"];
        let first: [&[&str]; 3] = [
            &["Ajax", "Bari", "2", "1", "3 May"],
            &["Celta", "Dynamo", "0", "0", "4 May"],
            &["Emil", "Fola", "1", "1", "5 May"],
        ];
        let return_match: [&[&str]; 3] = [
            &["Bari", "Ajax", "", "", "3 June"],
            &["Dynamo", "Celta", "", "", "4 June"],
            &["Fola", "Emil", "", "", "5 June"],
        ];
        check(&columns, &first, &return_match, None);
        let later: [&[&str]; 3] = [
            &["Ajax", "Bari", "2", "2", "3 May"],
            &["Celta", "Dynamo", "1", "0", "4 May"],
            &["Emil", "Fola", "1", "1", "5 May"],
        ];
        check(&columns, &first, &later, None);
    }
}
