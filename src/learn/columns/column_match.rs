//! Finds the columns of a learned table in a table of a later page: by header, then by class, once for all rows.

use foldhash::{HashMap, HashMapExt};

use super::names::is_telling_class;
use crate::learn::template::TableColumn;
use crate::model::TableChanges;

/// Minimum number of columns that are found by name, and their minimum share of those that have one. With fewer it is
/// another table, as for the headers in the similarity (`model/statistics.rs`).
const MIN_FOUND: usize = 2;
const MIN_FOUND_SHARE: f64 = 0.5;

/// Where the learned columns are in another table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnMatch {
    /// In their places, or nothing says where they are.
    InPlace { is_sure: bool },
    /// For each learned column: its column now, if it is still there.
    Moved(Vec<Option<usize>>),
}

/// Do headers or classes distinguish enough columns?
pub fn are_named(columns: &[TableColumn]) -> bool {
    named_count(columns) >= MIN_FOUND
}

fn named_count(columns: &[TableColumn]) -> usize {
    let classes = Words::of(columns, telling_classes);
    let is_named = |(at, column): (usize, &TableColumn)| !column.header.is_empty() || classes.name_column(at);
    columns.iter().enumerate().filter(|&it| is_named(it)).count()
}

pub fn match_columns(learned: &[TableColumn], now: &[TableColumn]) -> ColumnMatch {
    let mut places = Places { learned: vec![None; learned.len()], now: vec![None; now.len()] };
    places.match_equal_headers(learned, now);
    places.match_words(&Words::of(learned, header_words), &Words::of(now, header_words));
    places.match_words(&Words::of(learned, telling_classes), &Words::of(now, telling_classes));
    let found = places.learned.iter().flatten().count();
    if found < MIN_FOUND || (found as f64) < MIN_FOUND_SHARE * named_count(learned) as f64 {
        return ColumnMatch::InPlace { is_sure: false };
    }
    let is_in_place = places.learned.iter().enumerate().all(|(at, place)| place.is_none_or(|it| it == at));
    if is_in_place && learned.len() == now.len() {
        return ColumnMatch::InPlace { is_sure: true };
    }
    places.match_by_neighbours(learned, now);
    ColumnMatch::Moved(places.learned)
}

/// Which column of one table is which of the other.
struct Places {
    learned: Vec<Option<usize>>,
    now: Vec<Option<usize>>,
}

impl Places {
    fn pair(&mut self, learned: usize, now: usize) {
        self.learned[learned] = Some(now);
        self.now[now] = Some(learned);
    }

    /// Equal headers; of several equal ones the first is the first, if there are as many as before.
    fn match_equal_headers(&mut self, learned: &[TableColumn], now: &[TableColumn]) {
        let places = |columns: &[TableColumn]| {
            let mut places: HashMap<String, Vec<usize>> = HashMap::new();
            let named = columns.iter().enumerate().filter(|(_, column)| !column.header.is_empty());
            named.for_each(|(at, column)| places.entry(column.header.clone()).or_default().push(at));
            places
        };
        let there = places(now);
        for (header, places) in places(learned) {
            let Some(others) = there.get(&header).filter(|others| others.len() == places.len()) else { continue };
            places.iter().zip(others).for_each(|(&learned, &now)| self.pair(learned, now));
        }
    }

    /// Columns that share words which no other column of their table has; not if the words contradict each other.
    fn match_words(&mut self, learned: &Words, now: &Words) {
        let mut votes: Vec<(usize, usize)> = Vec::new();
        for (word, &at) in &learned.columns {
            if let (Some(at), Some(&Some(place))) = (at, now.columns.get(word))
                && self.learned[at].is_none()
                && self.now[place].is_none()
            {
                votes.push((at, place));
            }
        }
        votes.sort_unstable();
        votes.dedup();
        for &(at, place) in &votes {
            let contradicts = |&(a, b): &(usize, usize)| (a == at) != (b == place);
            if !votes.iter().any(contradicts) {
                self.pair(at, place);
            }
        }
    }

    /// Columns that nothing names are the same between the same neighbours, if there are as many as before. One with a
    /// name on only one side is so too: its header was reworded.
    fn match_by_neighbours(&mut self, learned: &[TableColumn], now: &[TableColumn]) {
        let (gaps, others) = (gaps(&self.learned), gaps(&self.now));
        for gap in &gaps {
            // The columns now beside the gap, as in a table with the learned order.
            let before = gap.start.checked_sub(1).map(|it| self.learned[it]);
            let after = self.learned.get(gap.end).copied();
            let same = |other: &&std::ops::Range<usize>| {
                let starts = before.map_or(other.start == 0, |it| it.is_some_and(|it| it + 1 == other.start));
                let ends = after.map_or(other.end == now.len(), |it| it == Some(other.end));
                let unnamed = |columns: &[TableColumn]| columns.iter().all(|column| column.header.is_empty());
                let are_unnamed = unnamed(&learned[gap.clone()]) && unnamed(&now[other.start..other.end]);
                other.len() == gap.len() && (starts && ends || (starts || ends) && are_unnamed)
            };
            if let Some(other) = others.iter().find(same) {
                if other.clone().any(|place| self.now[place].is_some()) {
                    continue;
                }
                gap.clone().zip(other.clone()).for_each(|(learned, now)| self.pair(learned, now));
            }
        }
    }
}

/// The runs of columns without a place.
fn gaps(places: &[Option<usize>]) -> Vec<std::ops::Range<usize>> {
    let mut gaps: Vec<std::ops::Range<usize>> = Vec::new();
    for (at, _) in places.iter().enumerate().filter(|(_, place)| place.is_none()) {
        match gaps.last_mut() {
            Some(gap) if gap.end == at => gap.end += 1,
            _ => gaps.push(at..at + 1),
        }
    }
    gaps
}

/// The words of the columns, each with its column; `None` for a word of several.
struct Words {
    columns: HashMap<String, Option<usize>>,
}

impl Words {
    fn of<'c, W: Iterator<Item = &'c str>>(columns: &'c [TableColumn], words: impl Fn(&'c TableColumn) -> W) -> Words {
        let mut found: HashMap<String, Option<usize>> = HashMap::new();
        for (at, column) in columns.iter().enumerate() {
            for word in words(column) {
                let place = found.entry(word.to_owned()).or_insert(Some(at));
                if *place != Some(at) {
                    *place = None;
                }
            }
        }
        Words { columns: found }
    }

    fn name_column(&self, at: usize) -> bool {
        self.columns.values().any(|place| *place == Some(at))
    }
}

fn header_words(column: &TableColumn) -> impl Iterator<Item = &str> {
    column.header.split(' ').filter(|word| !word.is_empty())
}

/// Header or classes of a column, if it has any that tell.
pub fn name_of(column: &TableColumn) -> Option<String> {
    let name = match column.header.as_str() {
        "" => telling_classes(column).collect::<Vec<_>>().join(" "),
        header => header.to_owned(),
    };
    (!name.is_empty()).then(|| name.chars().take(TableChanges::MAX_NAME).collect())
}

fn telling_classes(column: &TableColumn) -> impl Iterator<Item = &str> {
    column.classes.iter().map(String::as_str).filter(|class| is_telling_class(class))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns as `Header.class.class`.
    fn columns(text: &str) -> Vec<TableColumn> {
        let column = |text: &str| {
            let mut parts = text.split('.').map(str::to_owned);
            let header = parts.next().unwrap_or_default();
            TableColumn { header, classes: parts.collect(), is_row_header: false }
        };
        text.split('|').map(column).collect()
    }

    /// The learned columns' places: `=` in place, `?` not known, a number each, `-` for one that is gone.
    fn check(learned: &str, now: &str, expected: &str) {
        let found = match match_columns(&columns(learned), &columns(now)) {
            ColumnMatch::InPlace { is_sure } => (if is_sure { "=" } else { "?" }).to_owned(),
            ColumnMatch::Moved(places) => {
                let place = |it: &Option<usize>| it.map_or("-".to_owned(), |it| it.to_string());
                places.iter().map(place).collect::<Vec<_>>().join(" ")
            }
        };
        assert_eq!(found, expected, "{learned} → {now}");
    }

    #[test]
    fn columns_are_found_by_header_then_by_class() {
        check("name|town|price", "name|town|price", "=");
        check("name|town|price", "town|name|price", "1 0 2");
        check("name|town|price", "name|new|town|price", "0 2 3");
        check("name|town|price", "name|price", "0 - 1");
        check("name|town|price", "name|town|cost", "=");
        check("name|town|price", "town|price|name", "2 0 1");
        check("name|town|price", "stadt|preis|name", "?");
        check(".name|.town|.price", ".price|.name|.town", "1 2 0");
        check(".name|.town|.price", ".name.x1|.town|.price", "=");
        check("name.id|town.place|price.cost", "nom.place|ville.id|prix.cost", "1 0 2");
        check("name|town", "", "?");
    }

    #[test]
    fn reworded_headers_are_found_by_their_own_words() {
        check("cases 9 april|deaths 9 april|board", "board|cases 10 april|deaths 10 april", "1 2 0");
        check("title sort ascending|author sort|date", "author sort|title sort descending|date", "1 0 2");
    }

    #[test]
    fn equal_headers_keep_their_order() {
        check("team|g|a|g|a", "g|a|g|a|team", "4 0 1 2 3");
        check("team|g|a|g|p", "g|a|team|p", "2 - 1 - 3");
    }

    #[test]
    fn columns_without_a_name_stay_beside_their_neighbours() {
        check("|title|author|", "|author|title|", "0 2 1 3");
        check("a||b|c", "c|a||b", "1 2 3 0");
        check("a||b|c", "c|a|||b", "1 - 4 0");
        check("a|x|b|c", "b|c|a|y", "2 - 0 1");
        check("a|b|x|c", "new|a|b|y|c", "1 2 3 4");
    }

    #[test]
    fn classes_of_layout_and_state_name_nothing() {
        check(".first|.num|.last.sorted", ".first.sorted|.num|.last", "?");
        check(".c1|.c2|.c3", ".c2|.c1|.c3", "?");
    }
}
