//! Carries column names over to a new list: matches new and old columns by the values they share.

use std::collections::{BTreeSet, HashSet};

use crate::model::Table;

/// Minimum number of equal values, and their minimum share of the new column's values, to carry a name over.
const CARRY_MIN_VALUES: usize = 2;
const CARRY_MIN_SHARE: f64 = 0.3;
/// Maximum texts compared per column.
const COMPARED_TEXTS: usize = 100;

/// Matches columns that task.toml splits or joins. Their texts are not published as they are, so a new column is found
/// by the published texts derived from it.
pub(in crate::labelling::page) fn match_transformed_columns(
    old: &Table,
    new: &Table,
    made: &[(String, Vec<String>)],
) -> Vec<(usize, String)> {
    let texts = |table: &Table, column: usize| -> Vec<String> {
        let cells = table.rows.iter().filter_map(|row| row.cells.get(column)?.clone());
        cells.filter(|text| !text.is_empty()).take(COMPARED_TEXTS).collect()
    };
    let mut found: Vec<(usize, String)> = Vec::new();
    for (name, outcomes) in made {
        let columns = (0..old.columns.len()).filter(|&column| outcomes.contains(&old.columns[column]));
        let before: Vec<Vec<String>> = columns.map(|column| texts(old, column)).collect();
        let likeness = |column: usize| {
            let now = texts(new, column);
            let has = |text: &String| {
                let holds = |old: &String| text.contains(old.as_str()) || old.contains(text.as_str());
                before.iter().all(|column| column.iter().any(holds))
            };
            let shared = now.iter().filter(|text| has(text)).count();
            let is_enough = shared >= CARRY_MIN_VALUES && shared as f64 >= now.len() as f64 * CARRY_MIN_SHARE;
            // Prefer the shortest texts: the text of a whole row contains everything.
            (is_enough && !before.is_empty())
                .then(|| (shared, std::cmp::Reverse(now.iter().map(String::len).sum::<usize>())))
        };
        let free = (0..new.columns.len()).filter(|column| found.iter().all(|(taken, _)| taken != column));
        let best = free.filter_map(|column| Some((likeness(column)?, column))).max();
        found.extend(best.map(|(_, column)| (column, name.clone())));
    }
    found
}

/// Greedy matching: pairs (new column, old column) that share the most values, each column used once.
pub(in crate::labelling::page) fn match_columns(old: &Table, new: &Table) -> Vec<(usize, usize)> {
    let values = |table: &Table, column: usize| -> HashSet<String> {
        table.rows.iter().filter_map(|row| row.cells.get(column)?.clone()).collect()
    };
    let old_values: Vec<HashSet<String>> = (0..old.columns.len()).map(|column| values(old, column)).collect();
    let mut pairs = Vec::new();
    for new_column in 0..new.columns.len() {
        let mine = values(new, new_column);
        for (old_column, theirs) in old_values.iter().enumerate() {
            let shared = mine.intersection(theirs).count();
            if shared >= CARRY_MIN_VALUES && shared as f64 >= mine.len() as f64 * CARRY_MIN_SHARE {
                pairs.push((shared, new_column, old_column));
            }
        }
    }
    pairs.sort_by_key(|&(shared, new_column, old_column)| (std::cmp::Reverse(shared), new_column, old_column));
    let (mut used_new, mut used_old, mut carried) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for (_, new_column, old_column) in pairs {
        if !used_new.contains(&new_column) && !used_old.contains(&old_column) {
            used_new.insert(new_column);
            used_old.insert(old_column);
            carried.push((new_column, old_column));
        }
    }
    carried.sort_unstable();
    carried
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_values_into_the_new_layout() {
        let old = Table::of_texts(&["name", "price"], &[&["Oak chair", "95"], &["Pine desk", "240"], &["Lamp", "31"]]);
        let new = Table::of_texts(
            &["c1", "c2", "c3"],
            &[&["31", "in stock", "Lamp"], &["95", "in stock", "Oak chair"], &["120", "", "Shelf"]],
        );
        assert_eq!(match_columns(&old, &new), [(0, 1), (2, 0)]);
    }

    #[test]
    fn a_sample_expects_the_rows_that_a_person_chose() {
        let learned = Table::of_texts(&["c1", "c2", "c3"], &[&["31", "in stock", "Lamp"], &["95", "", "Oak chair"]]);
        let names = [Some("price".to_owned()), None, Some("name".to_owned())];
        assert_eq!(
            learned.with_column_names(&names),
            Table::of_texts(&["price", "name"], &[&["31", "Lamp"], &["95", "Oak chair"]])
        );
    }

    #[test]
    fn a_column_that_is_cut_is_found_again_by_its_pieces() {
        let old =
            Table::of_texts(&["book", "author", "price"], &[&["Emma", "Austen", "5"], &["Ulysses", "Joyce", "7"]]);
        let new = Table::of_texts(
            &["c1", "c2", "c3"],
            &[&["Ulysses by Joyce, 7", "7", "Ulysses by Joyce"], &["Emma by Austen, 5", "5", "Emma by Austen"]],
        );
        let made = [("line".to_owned(), vec!["book".to_owned(), "author".to_owned()])];
        assert_eq!(match_transformed_columns(&old, &new, &made), [(2, "line".to_owned())]);
    }

    #[test]
    fn one_chance_hit_carries_no_name() {
        let old = Table::of_texts(&["rank"], &[&["1"], &["2"]]);
        let new = Table::of_texts(&["c1"], &[&["1"], &["9"], &["8"]]);
        assert_eq!(match_columns(&old, &new), []);
    }
}
