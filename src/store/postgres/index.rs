//! Maintains the full-text index. Publications do not wait for it: afterwards the rows of the new generation are
//! scanned in small steps, records with new texts are added, then those that are gone are removed. The progress is
//! stored in the database, so that an interrupted scan continues where it stopped.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;

use super::generation::{self, Generation, RowTables};
use super::names::ColumnName;
use super::session::get;
use super::{PgSession, SqlSession, StoreResult, digest};
use crate::model::TaskName;
use crate::store::IndexProgress;
use crate::store::search::{folded, slot, words};

/// Rows that a step scans, or removes.
const ROWS_PER_STEP: i64 = 1_000;

/// Words per record; a `tsvector` has room for a megabyte.
const MAX_WORDS: usize = 20_000;
/// The highest position that a `tsvector` can hold.
const MAX_POSITION: usize = 16_383;
/// Gap between two cells, so that no phrase matches across them.
const CELL_GAP: usize = 8;

pub(super) fn step(session: &PgSession, task: &TaskName) -> StoreResult<IndexProgress> {
    session.in_transaction(|| {
        let done = IndexProgress { is_done: true, ..IndexProgress::default() };
        let Some(published) = generation::published(session, task)? else { return Ok(done) };
        session.execute(
            "INSERT INTO _indexed (task, generation, after) VALUES ($1, $2, 0) ON CONFLICT DO NOTHING",
            &[&task.as_str(), &published.id],
        )?;
        let sql = "SELECT generation, after, digest FROM _indexed WHERE task = $1 FOR UPDATE";
        let found: Option<(i64, i64, Option<Vec<u8>>)> =
            session.query_first(sql, &[task], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let Some((generation, after, digest)) = found else { return Ok(done) };
        if digest.is_some_and(|digest| digest == published.digest.to_bytes()) {
            return Ok(done);
        }
        let after = if generation == published.id { after } else { 0 };
        match after < published.rows {
            true => index_rows(session, task, &published, after),
            false => remove_unpublished(session, task, &published),
        }
    })
}

fn index_rows(session: &PgSession, task: &TaskName, published: &Generation, after: i64) -> StoreResult<IndexProgress> {
    let looked_at = read(session, published, after)?;
    let mut first = HashSet::new();
    // Of rows with equal texts the first counts.
    let all: Vec<&IndexRow> = looked_at.iter().filter(|it| first.insert(it.digest)).collect();
    let (digests, places) = digests_and_rows(&all);
    let known = session.rows(
        "UPDATE _entry SET n = CASE WHEN generation = $2 THEN _entry.n ELSE s.n END, generation = $2
         FROM unnest($3::bigint[], $4::bigint[]) AS s (digest, n) WHERE task = $1 AND _entry.digest = s.digest
         RETURNING _entry.digest",
        &[&task.as_str(), &published.id, &digests, &places],
    )?;
    let known: HashSet<i64> = known.iter().map(|row| get(row, 0)).collect::<Result<_, _>>()?;
    let new: Vec<&IndexRow> = all.into_iter().filter(|it| !known.contains(&it.digest)).collect();
    add(session, task, published.id, &new)?;
    let sql = "UPDATE _indexed SET generation = $2, after = $3 WHERE task = $1";
    session.execute(sql, &[&task.as_str(), &published.id, &(after + ROWS_PER_STEP)])?;
    Ok(IndexProgress { added: new.len() as u64, ..IndexProgress::default() })
}

/// A row that a step scans.
struct IndexRow {
    digest: i64,
    key: Vec<u8>,
    n: i64,
    vector: String,
}

fn read(session: &PgSession, published: &Generation, after: i64) -> StoreResult<Vec<IndexRow>> {
    let names = published.texts();
    let weights: HashMap<&str, char> = names.iter().map(|name| (*name, weight(&folded(name)))).collect();
    let cells = PgSession::cells_sql(&published.columns, ColumnName::is_text);
    let rows = PgSession::rows_sql(published);
    let sql = format!("SELECT _n, _key{cells} FROM {rows} AND _n > $1 ORDER BY _n LIMIT $2");
    session.query(&sql, &[&after, &ROWS_PER_STEP], |row| {
        let cells = row.named_texts(2, &names)?;
        let digest = digest::short(digest::record_digest(cells.iter().copied()));
        let vector = vector(cells.iter().map(|&(name, text)| (weights[name], text)));
        Ok(IndexRow { digest, key: row.get(1)?, n: row.get(0)?, vector })
    })
}

fn digests_and_rows(all: &[&IndexRow]) -> (Vec<i64>, Vec<i64>) {
    all.iter().map(|it| (it.digest, it.n)).unzip()
}

fn add(session: &PgSession, task: &TaskName, generation: i64, new: &[&IndexRow]) -> StoreResult<()> {
    let (digests, places) = digests_and_rows(new);
    let keys: Vec<&[u8]> = new.iter().map(|it| it.key.as_slice()).collect();
    let vectors: Vec<&str> = new.iter().map(|it| it.vector.as_str()).collect();
    session.execute(
        "INSERT INTO _entry (task, digest, key, generation, n) SELECT $1, s.digest, s.key, $2, s.n
         FROM unnest($3::bigint[], $4::bytea[], $5::bigint[]) AS s (digest, key, n)",
        &[&task.as_str(), &generation, &digests, &keys, &places],
    )?;
    session.execute(
        "INSERT INTO _words (task, digest, words) SELECT $1, s.digest, s.words::tsvector
         FROM unnest($2::bigint[], $3::text[]) AS s (digest, words)",
        &[&task.as_str(), &digests, &vectors],
    )?;
    Ok(())
}

fn remove_unpublished(session: &PgSession, task: &TaskName, published: &Generation) -> StoreResult<IndexProgress> {
    let removed = session.rows(
        "DELETE FROM _entry WHERE task = $1 AND digest IN
             (SELECT digest FROM _entry WHERE task = $1 AND generation <> $2 LIMIT $3) RETURNING digest",
        &[&task.as_str(), &published.id, &ROWS_PER_STEP],
    )?;
    if !removed.is_empty() {
        let gone: Vec<i64> = removed.iter().map(|row| get(row, 0)).collect::<Result<_, _>>()?;
        session.execute("DELETE FROM _words WHERE task = $1 AND digest = ANY($2)", &[&task.as_str(), &gone])?;
        return Ok(IndexProgress { removed: removed.len() as u64, ..IndexProgress::default() });
    }
    let sql = "UPDATE _indexed SET digest = $2 WHERE task = $1";
    session.execute(sql, &[&task.as_str(), &published.digest.to_bytes().as_slice()])?;
    Ok(IndexProgress { is_done: true, ..IndexProgress::default() })
}

/// A position in a `tsvector` has one of four weights; the columns are distributed over them.
const WEIGHTS: [char; 4] = ['A', 'B', 'C', 'D'];

/// The weight of a column, by its folded name.
pub(super) fn weight(folded: &str) -> char {
    WEIGHTS[slot(folded, WEIGHTS.len())]
}

/// Words with their positions, in the syntax of `tsvector`. Words contain letters and digits only, so none of them is
/// syntax.
fn vector<'t>(texts: impl Iterator<Item = (char, &'t str)>) -> String {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let (mut place, mut count) = (1, 0);
    for (weight, text) in texts {
        for word in words(text) {
            count += 1;
            if count > MAX_WORDS {
                break;
            }
            places.entry(word.folded).or_default().push(format!("{}{weight}", place.min(MAX_POSITION)));
            place += 1;
        }
        place += CELL_GAP;
    }
    let mut vector = String::new();
    for (word, places) in places {
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
        let vector = vector([('A', "Hôtel de l'Europe"), ('C', "de")].into_iter());
        assert_eq!(vector, "'de':2A,13C 'europe':4A 'hotel':1A 'l':3A ");
    }
}
