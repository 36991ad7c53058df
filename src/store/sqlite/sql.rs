//! SQLite behind the seam of `store/sql.rs`.

use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, Row, Statement, ToSql, Transaction, TransactionBehavior};

use super::{StoreError, StoreResult, timestamp};
use crate::store::sql::{FetchedRows, RowSink, SqlParams, SqlRow, SqlSession, SqlValue};

/// Names of the parameters. To SQLite `$2` is a name and no number, so values are bound by name.
const PARAMETERS: &[&str] = &["$1", "$2", "$3", "$4", "$5", "$6", "$7", "$8", "$9", "$10"];

impl SqlSession for Connection {
    const STRPOS: &'static str = "instr";
    /// A generation has a table of its own.
    const ROWS_TABLE: &'static str = "id";

    fn modify(&self, sql: &str, values: SqlParams<'_>) -> StoreResult<u64> {
        with_statement(self, sql, values, |statement| Ok(statement.raw_execute()? as u64))
    }

    fn fetch(&self, which: FetchedRows, sql: &str, values: SqlParams<'_>, take: RowSink<'_>) -> StoreResult<()> {
        with_statement(self, sql, values, |statement| {
            let mut rows = statement.raw_query();
            while let Some(row) = rows.next()? {
                take(row)?;
                if which == FetchedRows::First {
                    break;
                }
            }
            Ok(())
        })
    }

    fn in_transaction<T>(&self, work: impl Fn() -> StoreResult<T>) -> StoreResult<T> {
        if !self.is_autocommit() {
            return work();
        }
        // Rolled back on drop: without that nothing could be written any more.
        let transaction = Transaction::new_unchecked(self, TransactionBehavior::Immediate)?;
        let done = work()?;
        transaction.commit()?;
        Ok(done)
    }

    fn in_snapshot<T>(&self, work: impl Fn() -> StoreResult<T>) -> StoreResult<T> {
        let _moment = self.is_autocommit().then(|| self.unchecked_transaction()).transpose()?;
        work()
    }

    fn in_rolled_back_transaction<T>(&self, work: impl Fn() -> StoreResult<T>) -> StoreResult<T> {
        let _rolled_back = Transaction::new_unchecked(self, TransactionBehavior::Immediate)?;
        work()
    }
}

fn with_statement<T>(
    connection: &Connection,
    sql: &str,
    values: SqlParams<'_>,
    work: impl FnOnce(&mut Statement<'_>) -> StoreResult<T>,
) -> StoreResult<T> {
    // Not cached: tables of rows come and go.
    if sql.contains("_rows_") {
        let mut statement = connection.prepare(sql)?;
        bind(&mut statement, values)?;
        return work(&mut statement);
    }
    let mut statement = connection.prepare_cached(sql)?;
    bind(&mut statement, values)?;
    work(&mut statement)
}

fn bind(statement: &mut Statement<'_>, values: SqlParams<'_>) -> StoreResult<()> {
    let expected = statement.parameter_count();
    if values.len() != expected || values.len() > PARAMETERS.len() {
        return Err(rusqlite::Error::InvalidParameterCount(values.len(), expected).into());
    }
    for (name, value) in PARAMETERS.iter().zip(values) {
        statement.raw_bind_parameter(*name, value.sql_value())?;
    }
    Ok(())
}

impl SqlRow for Row<'_> {
    fn cell(&self, at: usize) -> StoreResult<SqlValue<'_>> {
        Ok(match self.get_ref(at)? {
            ValueRef::Null => SqlValue::Null,
            ValueRef::Integer(number) => SqlValue::Int(number),
            ValueRef::Real(number) => SqlValue::Real(number),
            ValueRef::Text(text) => SqlValue::Text(str::from_utf8(text).map_err(StoreError::invalid_value)?.into()),
            ValueRef::Blob(bytes) => SqlValue::Bytes(bytes.into()),
        })
    }
}

impl ToSql for SqlValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            SqlValue::Null => ToSqlOutput::Borrowed(ValueRef::Null),
            SqlValue::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            SqlValue::Int(number) => ToSqlOutput::Borrowed(ValueRef::Integer(*number)),
            SqlValue::Real(number) => ToSqlOutput::Borrowed(ValueRef::Real(*number)),
            SqlValue::Bool(is_so) => ToSqlOutput::Borrowed(ValueRef::Integer((*is_so).into())),
            SqlValue::Time(at) => ToSqlOutput::Owned(Value::Text(timestamp::text(*at))),
            SqlValue::Bytes(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
        })
    }
}
