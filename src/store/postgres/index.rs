//! The index of words follows what is published. A publication does not wait for it: afterwards the rows of the new generation
//! are gone through in small steps, records whose texts are new are added, then those that are gone are removed. How far it is
//! stands in the database, so that it goes on wherever it was cut short.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::names::{quoted, rows_table};
use super::session::get;
use super::settle::Generation;
use super::view::column;
use super::{Postgres, Session, StoreError, digest, generation, stored};
use crate::model::TaskName;
use crate::store::Indexed;
use crate::store::search::words;

/// Rows that a step looks at, or removes.
const A_STEP: i64 = 1_000;

/// Of one record; a vector of words has room for a megabyte.
const MOST_WORDS: usize = 20_000;
/// The last place that a vector can say.
const LAST_PLACE: usize = 16_383;
/// No phrase goes from one cell into the next.
const BETWEEN_CELLS: usize = 8;

impl Postgres {
    pub(super) fn index_step(&self, task: &TaskName) -> Result<Indexed, StoreError> {
        let session = &self.session;
        session.in_one(|| {
            let done = Indexed { is_done: true, ..Indexed::default() };
            let Some(published) = generation::published(session, task)? else { return Ok(done) };
            session.execute(
                "INSERT INTO _indexed (task, generation, after) VALUES ($1, $2, 0) ON CONFLICT DO NOTHING",
                &[&task.as_str(), &published.id],
            )?;
            let sql = "SELECT generation, after, digest FROM _indexed WHERE task = $1 FOR UPDATE";
            let Some(row) = session.row(sql, &[&task.as_str()])? else { return Ok(done) };
            if get::<Option<&[u8]>>(&row, 2)? == Some(published.digest.to_bytes().as_slice()) {
                return Ok(done);
            }
            let after = if get::<i64>(&row, 0)? == published.id { get(&row, 1)? } else { 0 };
            match after < published.rows {
                true => look_at_rows(session, task, &published, after),
                false => remove_gone(session, task, &published),
            }
        })
    }
}

/// The tasks whose published rows are not all in the index, with how many they have.
pub(super) fn behind(session: &Session) -> Result<Vec<(TaskName, u64)>, StoreError> {
    let sql = "SELECT t.name, g.rows FROM _task t JOIN _generation g ON g.id = t.published
               LEFT JOIN _indexed i ON i.task = t.name WHERE i.digest IS DISTINCT FROM g.digest ORDER BY t.name";
    let found = session.rows(sql, &[])?;
    found.iter().map(|row| Ok((stored::task_name(get(row, 0)?)?, stored::count(get(row, 1)?).unwrap_or(0)))).collect()
}

fn look_at_rows(session: &Session, task: &TaskName, published: &Generation, after: i64) -> Result<Indexed, StoreError> {
    let texts: Vec<usize> = (0..published.columns.len()).filter(|&at| published.columns[at].is_text()).collect();
    let names: String = texts.iter().map(|&at| format!(", {}", column(at))).collect();
    let table = quoted(&rows_table(published.table));
    let sql = format!("SELECT _n, _key{names} FROM {table} WHERE _generation = $1 AND _n > $2 ORDER BY _n LIMIT $3");
    let mut added = 0;
    for row in session.rows(&sql, &[&published.id, &after, &A_STEP])? {
        let mut cells: Vec<(&str, &str)> = Vec::with_capacity(texts.len());
        for (index, &at) in texts.iter().enumerate() {
            let name = published.columns[at].stored.as_str();
            cells.extend(get::<Option<&str>>(&row, index + 2)?.map(|text| (name, text)));
        }
        let hash = short(digest::of_cells(cells.iter().copied()));
        // Of rows that say the same the first counts.
        let seen = session.execute(
            "UPDATE _words SET n = CASE WHEN generation = $3 THEN n ELSE $4 END, generation = $3 WHERE task = $1 AND digest = $2",
            &[&task.as_str(), &hash, &published.id, &get::<i64>(&row, 0)?],
        )?;
        if seen == 0 {
            let vector = vector(cells.iter().map(|(_, text)| *text));
            session.execute(
                "INSERT INTO _words (task, digest, key, generation, n, words) VALUES ($1, $2, $3, $4, $5, $6::text::tsvector)",
                &[&task.as_str(), &hash, &get::<&[u8]>(&row, 1)?, &published.id, &get::<i64>(&row, 0)?, &vector],
            )?;
            added += 1;
        }
    }
    let sql = "UPDATE _indexed SET generation = $2, after = $3 WHERE task = $1";
    session.execute(sql, &[&task.as_str(), &published.id, &(after + A_STEP)])?;
    Ok(Indexed { added, ..Indexed::default() })
}

fn remove_gone(session: &Session, task: &TaskName, published: &Generation) -> Result<Indexed, StoreError> {
    let removed = session.execute(
        "DELETE FROM _words WHERE task = $1 AND digest IN
             (SELECT digest FROM _words WHERE task = $1 AND generation <> $2 LIMIT $3)",
        &[&task.as_str(), &published.id, &A_STEP],
    )?;
    if removed > 0 {
        return Ok(Indexed { removed, ..Indexed::default() });
    }
    let sql = "UPDATE _indexed SET digest = $2 WHERE task = $1";
    session.execute(sql, &[&task.as_str(), &published.digest.to_bytes().as_slice()])?;
    Ok(Indexed { is_done: true, ..Indexed::default() })
}

/// The hash of a record's texts as the index has it.
pub(super) fn short(record: u128) -> i64 {
    record as i64
}

/// Words with their places, as a vector is written. Words are letters and digits only, so none of them is syntax.
fn vector<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let (mut place, mut count) = (1, 0);
    for text in texts {
        for word in words(text) {
            count += 1;
            if count > MOST_WORDS {
                break;
            }
            places.entry(word.folded).or_default().push(place.min(LAST_PLACE));
            place += 1;
        }
        place += BETWEEN_CELLS;
    }
    let mut vector = String::new();
    for (word, places) in places {
        let places: Vec<String> = places.iter().map(usize::to_string).collect();
        // Writing to a string does not fail.
        let _ = write!(vector, "'{word}':{} ", places.join(","));
    }
    vector
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_in_a_vector_with_their_places() {
        assert_eq!(vector(["Hôtel de l'Europe", "de"].into_iter()), "'de':2,13 'europe':4 'hotel':1 'l':3 ");
    }
}
