//! The seam between SQL that is written once and the drivers of the databases. A statement names its parameters `$1`,
//! `$2` and so on; each database binds the values, executes the statement and decodes the cells.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::retention::RetentionLimits;
use super::{StoreError, StoreResult, decode, timestamp};
use crate::model::{RunId, TaskName};

/// `LIMIT` of a query that skips rows and limits nothing: SQLite requires a limit before an `OFFSET`.
pub(super) const NO_LIMIT: i64 = i64::MAX;

/// A parameter of a statement, or a cell of its answer.
#[derive(Clone, Debug, PartialEq)]
pub enum SqlValue<'v> {
    Null,
    Text(Cow<'v, str>),
    Int(i64),
    Real(f64),
    Bool(bool),
    Time(DateTime<Utc>),
    Bytes(Cow<'v, [u8]>),
}

/// Parameters of a statement.
pub type SqlParams<'p> = &'p [&'p dyn SqlParam];

/// A type that can be a parameter.
pub trait SqlParam {
    fn sql_value(&self) -> SqlValue<'_>;
}

/// A type that a cell can be decoded into. Stored values are not trusted: each is validated.
pub trait FromSqlValue: Sized {
    fn from_sql_value(value: SqlValue<'_>) -> StoreResult<Self>;
}

/// One row of an answer.
pub trait SqlRow {
    fn cell(&self, at: usize) -> StoreResult<SqlValue<'_>>;
}

impl dyn SqlRow + '_ {
    pub fn get<T: FromSqlValue>(&self, at: usize) -> StoreResult<T> {
        T::from_sql_value(self.cell(at)?)
    }

    /// A text, without copying it.
    pub fn text(&self, at: usize) -> StoreResult<Option<&str>> {
        match self.cell(at)? {
            SqlValue::Null => Ok(None),
            SqlValue::Text(Cow::Borrowed(text)) => Ok(Some(text)),
            other => Err(unexpected(&other, "text")),
        }
    }

    /// The texts from a cell on, under these names; empty cells are left out.
    pub fn named_texts<'r>(&'r self, from: usize, names: &[&'r str]) -> StoreResult<Vec<(&'r str, &'r str)>> {
        let mut texts = Vec::with_capacity(names.len());
        for (at, name) in names.iter().enumerate() {
            texts.extend(self.text(from + at)?.map(|text| (*name, text)));
        }
        Ok(texts)
    }

    /// Decodes all cells from one on.
    pub fn cells<T: FromSqlValue>(&self, from: usize, count: usize) -> StoreResult<Vec<T>> {
        (from..from + count).map(|at| self.get(at)).collect()
    }

    /// Decodes a text of JSON.
    pub fn json<T: DeserializeOwned>(&self, at: usize) -> StoreResult<T> {
        match self.cell(at)? {
            SqlValue::Text(json) => serde_json::from_str(&json).map_err(StoreError::invalid_value),
            other => Err(unexpected(&other, "JSON")),
        }
    }
}

/// Receives one row after the other.
pub type RowSink<'t> = &'t mut dyn FnMut(&dyn SqlRow) -> StoreResult<()>;

/// Which rows of an answer are wanted, and how.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum FetchedRows {
    All,
    First,
    /// All, one after the other, however many there are.
    Streamed,
}

/// A connection to a database.
pub trait SqlSession {
    /// The function that finds a text in another one; the position counts from 1.
    const STRPOS: &'static str;

    /// The column of `_generation` with the number of the table that has the rows.
    const ROWS_TABLE: &'static str;

    /// Executes a statement that returns no rows; returns the number of rows that it affected.
    fn modify(&self, sql: &str, values: SqlParams<'_>) -> StoreResult<u64>;

    /// As `modify`, where the number does not matter.
    fn apply(&self, sql: &str, values: SqlParams<'_>) -> StoreResult<()> {
        self.modify(sql, values).map(|_| ())
    }

    /// Passes the rows of an answer to `take`.
    fn fetch(&self, which: FetchedRows, sql: &str, values: SqlParams<'_>, take: RowSink<'_>) -> StoreResult<()>;

    fn query<T>(
        &self,
        sql: &str,
        values: SqlParams<'_>,
        mut read: impl FnMut(&dyn SqlRow) -> StoreResult<T>,
    ) -> StoreResult<Vec<T>> {
        let mut found = Vec::new();
        self.fetch(FetchedRows::All, sql, values, &mut |row| read(row).map(|it| found.push(it)))?;
        Ok(found)
    }

    /// For a query that returns one row at most.
    fn query_first<T>(
        &self,
        sql: &str,
        values: SqlParams<'_>,
        mut read: impl FnMut(&dyn SqlRow) -> StoreResult<T>,
    ) -> StoreResult<Option<T>> {
        let mut found = None;
        self.fetch(FetchedRows::First, sql, values, &mut |row| read(row).map(|it| found = Some(it)))?;
        Ok(found)
    }

    /// Passes every row of an answer to `take`, without keeping them.
    fn query_each(
        &self,
        sql: &str,
        values: SqlParams<'_>,
        mut take: impl FnMut(&dyn SqlRow) -> StoreResult<()>,
    ) -> StoreResult<()> {
        self.fetch(FetchedRows::Streamed, sql, values, &mut take)
    }

    /// A single number of an answer that always has one row.
    fn query_number(&self, sql: &str, values: SqlParams<'_>) -> StoreResult<i64> {
        let found = self.query_first(sql, values, |row| row.get(0))?;
        found.ok_or_else(|| StoreError::InvalidValue("an answer without a row".to_owned()))
    }

    /// Executes `work` in one transaction. It may be executed more than once, so it must change nothing else. Inside
    /// another transaction it is part of that.
    fn in_transaction<T>(&self, work: impl Fn() -> StoreResult<T>) -> StoreResult<T>;

    /// All queries of `work` read one snapshot.
    fn in_snapshot<T>(&self, work: impl Fn() -> StoreResult<T>) -> StoreResult<T>;

    /// Executes `work` and rolls it back.
    fn in_rolled_back_transaction<T>(&self, work: impl Fn() -> StoreResult<T>) -> StoreResult<T>;
}

/// A database whose concerns are written once, where their SQL is the same in every database.
pub trait SqlStore {
    type Session: SqlSession;

    fn session(&self) -> &Self::Session;

    fn retention(&self) -> RetentionLimits;

    /// Refuses to write where what is reported as stored would be lost.
    fn ensure_writable(&self) -> StoreResult<()> {
        Ok(())
    }

    /// The task of a run that has not ended, and still belongs to this daemon.
    fn require_open(&self, run: RunId) -> StoreResult<TaskName>;

    /// Condition that this daemon owns a task; holds for every task where the store acts for no daemon of a fleet, as
    /// the one writer of a file. Only the owner sends a task's alerts and maintains its history.
    fn owned_condition(&self, _name: &str) -> String {
        "TRUE".to_owned()
    }
}

impl<T: SqlParam + ?Sized> SqlParam for &T {
    fn sql_value(&self) -> SqlValue<'_> {
        (**self).sql_value()
    }
}

impl<T: SqlParam> SqlParam for Option<T> {
    fn sql_value(&self) -> SqlValue<'_> {
        self.as_ref().map_or(SqlValue::Null, SqlParam::sql_value)
    }
}

macro_rules! parameters {
    ($($type:ty: |$it:ident| $value:expr;)+) => {$(
        impl SqlParam for $type {
            fn sql_value(&self) -> SqlValue<'_> {
                let $it = self;
                $value
            }
        }
    )+};
}

parameters! {
    str: |text| SqlValue::Text(text.into());
    String: |text| SqlValue::Text(text.into());
    TaskName: |name| SqlValue::Text(name.as_str().into());
    RunId: |run| SqlValue::Text(run.to_string().into());
    i64: |number| SqlValue::Int(*number);
    u32: |number| SqlValue::Int((*number).into());
    // Databases have no unsigned numbers.
    u64: |number| SqlValue::Int(i64::try_from(*number).unwrap_or(i64::MAX));
    f64: |number| SqlValue::Real(*number);
    bool: |is_so| SqlValue::Bool(*is_so);
    DateTime<Utc>: |at| SqlValue::Time(*at);
    [u8]: |bytes| SqlValue::Bytes(bytes.into());
}

impl<T: FromSqlValue> FromSqlValue for Option<T> {
    fn from_sql_value(value: SqlValue<'_>) -> StoreResult<Option<T>> {
        if value == SqlValue::Null { Ok(None) } else { T::from_sql_value(value).map(Some) }
    }
}

macro_rules! cells {
    ($($type:ty: $($pattern:pat => $decoded:expr),+;)+) => {$(
        impl FromSqlValue for $type {
            fn from_sql_value(value: SqlValue<'_>) -> StoreResult<$type> {
                match value {
                    $($pattern => $decoded,)+
                    other => Err(unexpected(&other, stringify!($type))),
                }
            }
        }
    )+};
}

cells! {
    String: SqlValue::Text(text) => Ok(text.into_owned());
    TaskName: SqlValue::Text(text) => decode::task_name(&text);
    RunId: SqlValue::Text(text) => decode::run_id(&text);
    i64: SqlValue::Int(number) => Ok(number);
    u32: SqlValue::Int(number) => u32::try_from(number).map_err(StoreError::invalid_value);
    // A count.
    u64: SqlValue::Int(number) => Ok(u64::try_from(number).unwrap_or(0));
    // SQLite may keep a whole number as an integer.
    f64: SqlValue::Real(number) => Ok(number), SqlValue::Int(number) => Ok(number as f64);
    // SQLite has no booleans.
    bool: SqlValue::Bool(is_so) => Ok(is_so), SqlValue::Int(number) => Ok(number != 0);
    // SQLite keeps timestamps as texts.
    DateTime<Utc>: SqlValue::Time(at) => Ok(at), SqlValue::Text(text) => timestamp::parse(&text);
    Vec<u8>: SqlValue::Bytes(bytes) => Ok(bytes.into_owned());
    [u8; 16]: SqlValue::Bytes(bytes) => bytes.as_ref().try_into().map_err(StoreError::invalid_value);
}

/// A cell of a published row. Booleans are 0 and 1, as in SQLite, which has none.
impl FromSqlValue for Json {
    fn from_sql_value(value: SqlValue<'_>) -> StoreResult<Json> {
        Ok(match value {
            SqlValue::Text(text) => text.into(),
            SqlValue::Int(number) => number.into(),
            SqlValue::Real(number) => number.into(),
            SqlValue::Bool(is_so) => i64::from(is_so).into(),
            SqlValue::Null | SqlValue::Time(_) | SqlValue::Bytes(_) => Json::Null,
        })
    }
}

fn unexpected(value: &SqlValue<'_>, expected: &str) -> StoreError {
    StoreError::InvalidValue(format!("{value:?} where {expected} was expected"))
}
