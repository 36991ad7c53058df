//! When the rows that are published were first seen, all at once. Asking the database for each of 500,000 new rows is as many
//! searches all over the old table; the index on the key holds the instants, and is read from end to end instead.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension};

use super::StoreError;
use super::names::{quoted, rows_table};
use crate::model::TaskName;

/// A guess at what is small enough, not measured. Of a larger table each row is asked for: it takes longer, and the daemon stays small.
const MOST: i64 = 1_000_000;

/// Keys with the instants of their first sight, of which there are few.
pub(super) struct Known {
    instants: Vec<String>,
    by_key: HashMap<[u8; 16], u32, foldhash::fast::RandomState>,
}

impl Known {
    /// Of the published generation; none where there is none, or where it is too large.
    pub fn load(connection: &Connection, task: &TaskName) -> Result<Option<Known>, StoreError> {
        let published: Option<(i64, i64)> = connection
            .prepare_cached("SELECT id, rows FROM _generation WHERE task = ?1 AND state = 'published'")?
            .query_row([task.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let Some((generation, _)) = published.filter(|&(_, rows)| rows <= MOST) else { return Ok(None) };
        let mut known = Known { instants: Vec::new(), by_key: HashMap::default() };
        let mut numbers: HashMap<String, u32> = HashMap::new();
        // By key and age, so that the first of a key that stands twice is the oldest; the index on both has that order.
        let sql =
            format!("SELECT _key, _first_seen FROM {} ORDER BY _key, _first_seen", quoted(&rows_table(generation)));
        let mut statement = connection.prepare(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (key, instant) = (row.get_ref(0)?.as_blob_or_null(), row.get_ref(1)?.as_str_or_null());
            let (Ok(Some(key)), Ok(Some(instant))) = (key, instant) else { continue };
            let Ok(key) = <[u8; 16]>::try_from(key) else { continue };
            let number = match numbers.get(instant) {
                Some(&number) => number,
                None => known.add(instant, &mut numbers),
            };
            known.by_key.entry(key).or_insert(number);
        }
        Ok(Some(known))
    }

    pub fn first_seen(&self, key: [u8; 16]) -> Option<&str> {
        let number = usize::try_from(*self.by_key.get(&key)?).ok()?;
        self.instants.get(number).map(String::as_str)
    }

    fn add(&mut self, instant: &str, numbers: &mut HashMap<String, u32>) -> u32 {
        let number = u32::try_from(self.instants.len()).unwrap_or(u32::MAX);
        self.instants.push(instant.to_owned());
        numbers.insert(instant.to_owned(), number);
        number
    }
}
