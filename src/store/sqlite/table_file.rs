//! A separate SQLite file for exported rows, with plain tables that any SQLite reads. The caller gives it its name when
//! it is complete, so nothing here waits for the disk row by row.

use std::fs::File;
use std::path::{Path, PathBuf};

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql, params_from_iter};

use super::StoreError;
use super::names::quoted;
use crate::model::TaskName;

const SETTINGS: &str = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; BEGIN";

/// A new SQLite file with one table per task.
pub struct TableFile {
    path: PathBuf,
    connection: Connection,
    insert: String,
}

/// How a column is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Affinity {
    Text,
    Integer,
    Real,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar<'s> {
    Null,
    Text(&'s str),
    Int(i64),
    Number(f64),
}

impl TableFile {
    pub fn create(path: &Path) -> Result<TableFile, StoreError> {
        let connection = Connection::open(path)?;
        connection.execute_batch(SETTINGS)?;
        Ok(TableFile { path: path.to_owned(), connection, insert: String::new() })
    }

    /// Begins the table of a task, for the rows that follow.
    pub fn begin(&mut self, task: &TaskName, columns: &[(&str, Affinity)]) -> Result<(), StoreError> {
        let word = |affinity: Affinity| match affinity {
            Affinity::Text => "TEXT",
            Affinity::Integer => "INTEGER",
            Affinity::Real => "REAL",
        };
        let declared: Vec<String> =
            columns.iter().map(|(name, affinity)| format!("{} {}", quoted(name), word(*affinity))).collect();
        let table = quoted(task.as_str());
        self.connection.execute_batch(&format!("CREATE TABLE {table} ({})", declared.join(", ")))?;
        let marks = vec!["?"; columns.len()].join(", ");
        self.insert = format!("INSERT INTO {table} VALUES ({marks})");
        Ok(())
    }

    pub fn insert<'s>(&mut self, cells: impl Iterator<Item = Scalar<'s>>) -> Result<(), StoreError> {
        self.connection.prepare_cached(&self.insert)?.execute(params_from_iter(cells))?;
        Ok(())
    }

    /// Afterwards all of it is on the disk.
    pub fn finish(self) -> Result<(), StoreError> {
        self.connection.execute_batch("COMMIT")?;
        self.connection.close().map_err(|(_, error)| error)?;
        let synced = File::open(&self.path).and_then(|file| file.sync_all());
        synced.map_err(|source| StoreError::Io { path: self.path, source })
    }
}

impl ToSql for Scalar<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match *self {
            Scalar::Null => ValueRef::Null,
            Scalar::Text(text) => ValueRef::Text(text.as_bytes()),
            Scalar::Int(number) => ValueRef::Integer(number),
            Scalar::Number(number) => ValueRef::Real(number),
        }))
    }
}
