//! PostgreSQL behind the seam of `store/sql.rs`.

use bytes::BytesMut;
use chrono::{DateTime, Utc};
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use super::session::{PgSession, get};
use super::{StoreError, StoreResult, timestamp};
use crate::store::batch::storable;
use crate::store::sql::{FetchedRows, RowSink, SqlParams, SqlRow, SqlSession, SqlValue};

impl SqlSession for PgSession {
    const STRPOS: &'static str = "strpos";
    /// Generations with the same columns share a table.
    const ROWS_TABLE: &'static str = "shape";

    fn modify(&self, sql: &str, values: SqlParams<'_>) -> StoreResult<u64> {
        with_values(values, |values| self.execute(sql, values))
    }

    fn fetch(&self, which: FetchedRows, sql: &str, values: SqlParams<'_>, take: RowSink<'_>) -> StoreResult<()> {
        with_values(values, |values| match which {
            FetchedRows::All => self.rows(sql, values)?.iter().try_for_each(|row| take(row)),
            FetchedRows::First => self.row(sql, values)?.iter().try_for_each(|row| take(row)),
            FetchedRows::Streamed => self.each(sql, values, |row| take(row)),
        })
    }

    fn in_transaction<T>(&self, work: impl Fn() -> StoreResult<T>) -> StoreResult<T> {
        self.retry_transaction("BEGIN", "COMMIT", work)
    }

    fn in_snapshot<T>(&self, work: impl Fn() -> StoreResult<T>) -> StoreResult<T> {
        self.retry_transaction("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY", "COMMIT", work)
    }

    fn in_rolled_back_transaction<T>(&self, work: impl Fn() -> StoreResult<T>) -> StoreResult<T> {
        self.retry_transaction("BEGIN", "ROLLBACK", work)
    }
}

fn with_values<T>(values: SqlParams<'_>, work: impl FnOnce(&[&(dyn ToSql + Sync)]) -> T) -> T {
    let values: Vec<SqlValue<'_>> = values.iter().map(|value| value.sql_value()).collect();
    let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
    work(&values)
}

impl SqlRow for Row {
    fn cell(&self, at: usize) -> StoreResult<SqlValue<'_>> {
        fn value<'r, T: FromSql<'r>>(
            row: &'r Row,
            at: usize,
            of: impl FnOnce(T) -> SqlValue<'r>,
        ) -> StoreResult<SqlValue<'r>> {
            Ok(get::<Option<T>>(row, at)?.map_or(SqlValue::Null, of))
        }
        match self.columns()[at].type_() {
            &Type::TEXT => value(self, at, |text: &str| SqlValue::Text(text.into())),
            &Type::INT8 => value(self, at, SqlValue::Int),
            &Type::FLOAT8 => value(self, at, SqlValue::Real),
            &Type::BOOL => value(self, at, SqlValue::Bool),
            &Type::TIMESTAMPTZ => value(self, at, |at: DateTime<Utc>| SqlValue::Time(at)),
            &Type::BYTEA => value(self, at, |bytes: &[u8]| SqlValue::Bytes(bytes.into())),
            other => Err(StoreError::InvalidValue(format!("a column of type {other}"))),
        }
    }
}

impl ToSql for SqlValue<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            SqlValue::Null => Ok(IsNull::Yes),
            SqlValue::Text(text) => storable(text).to_sql_checked(kind, out),
            SqlValue::Int(number) => number.to_sql_checked(kind, out),
            SqlValue::Real(number) => number.to_sql_checked(kind, out),
            SqlValue::Bool(is_so) => is_so.to_sql_checked(kind, out),
            SqlValue::Time(at) => timestamp::to_millis(*at).to_sql_checked(kind, out),
            SqlValue::Bytes(bytes) => bytes.as_ref().to_sql_checked(kind, out),
        }
    }

    /// Which types a value accepts depends on its variant, and is checked when it is written.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
