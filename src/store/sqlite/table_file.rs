//! A separate SQLite file for exported rows, with plain tables that any SQLite reads. The caller gives it its name when
//! it is complete, so nothing here waits for the disk row by row.

use std::fs::File;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, params_from_iter};

use super::names::quoted;
use super::{StoreError, StoreResult};
use crate::model::TaskName;
use crate::store::SqlValue;

const SETTINGS: &str = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; BEGIN";

/// A new SQLite file with one table per task.
pub struct TableFile {
    path: PathBuf,
    connection: Connection,
    insert: String,
}

impl TableFile {
    pub fn create(path: &Path) -> StoreResult<TableFile> {
        let connection = Connection::open(path)?;
        connection.execute_batch(SETTINGS)?;
        Ok(TableFile { path: path.to_owned(), connection, insert: String::new() })
    }

    /// Begins the table of a task, for the rows that follow. Each column has a type affinity.
    pub fn begin(&mut self, task: &TaskName, columns: &[(&str, &'static str)]) -> StoreResult<()> {
        let declared: Vec<String> =
            columns.iter().map(|(name, affinity)| format!("{} {affinity}", quoted(name))).collect();
        let table = quoted(task.as_str());
        self.connection.execute_batch(&format!("CREATE TABLE {table} ({})", declared.join(", ")))?;
        let marks = vec!["?"; columns.len()].join(", ");
        self.insert = format!("INSERT INTO {table} VALUES ({marks})");
        Ok(())
    }

    pub fn insert<'s>(&mut self, cells: impl Iterator<Item = SqlValue<'s>>) -> StoreResult<()> {
        self.connection.prepare_cached(&self.insert)?.execute(params_from_iter(cells))?;
        Ok(())
    }

    /// Afterwards all of it is on the disk.
    pub fn finish(self) -> StoreResult<()> {
        self.connection.execute_batch("COMMIT")?;
        self.connection.close().map_err(|(_, error)| error)?;
        let synced = File::open(&self.path).and_then(|file| file.sync_all());
        synced.map_err(|source| StoreError::Io { path: self.path, source })
    }
}
