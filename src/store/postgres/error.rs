//! Maps errors of the server and of the driver to [`StoreError`].

use std::fmt;

use tokio_postgres::error::SqlState;

use super::{StoreError, tls};
use crate::model::PostgresAddress;

/// An error of the server without a variant of its own. It contains no address and no password.
#[derive(Debug)]
pub(super) struct ServerError {
    pub code: Option<SqlState>,
    sentence: String,
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for ServerError {}

/// Failures of the login in the driver itself; it distinguishes its errors by these texts alone.
const LOGIN_FAILURES: [&str; 2] = ["authentication error", "invalid configuration"];

pub(super) fn to_store_error(error: &tokio_postgres::Error, at: &PostgresAddress) -> StoreError {
    let said = ServerError { code: error.code().cloned(), sentence: sentence(error) };
    let Some(code) = error.code() else {
        if let Some(why) = tls::trust_failure(error) {
            return StoreError::UntrustedServer { at: at.clone(), why };
        }
        if LOGIN_FAILURES.contains(&error.to_string().as_str()) {
            return StoreError::LoginRejected { at: at.clone(), why: said.sentence };
        }
        // No answer at all: the connection could not be made, or was lost.
        return StoreError::Unreachable { at: at.clone(), why: said.sentence };
    };
    match (&code.code()[..2], code) {
        ("08", _) | (_, &SqlState::ADMIN_SHUTDOWN | &SqlState::CRASH_SHUTDOWN | &SqlState::CANNOT_CONNECT_NOW) => {
            StoreError::Unreachable { at: at.clone(), why: said.sentence }
        }
        (_, &SqlState::TOO_MANY_CONNECTIONS | &SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT) => {
            StoreError::Unreachable { at: at.clone(), why: said.sentence }
        }
        ("28", _) | (_, &SqlState::INVALID_CATALOG_NAME) => {
            StoreError::LoginRejected { at: at.clone(), why: said.sentence }
        }
        (_, &SqlState::DISK_FULL) => StoreError::DiskFull(said.into()),
        (_, &SqlState::READ_ONLY_SQL_TRANSACTION | &SqlState::INSUFFICIENT_PRIVILEGE) => {
            StoreError::ReadOnly(said.into())
        }
        ("40", _) | (_, &SqlState::LOCK_NOT_AVAILABLE) => StoreError::Busy(said.into()),
        (_, &SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED) => StoreError::Damaged(said.sentence),
        _ => StoreError::Sql(said.into()),
    }
}

/// The driver's own text is only “db error”: the details are in its source.
fn sentence(error: &tokio_postgres::Error) -> String {
    if let Some(said) = error.as_db_error() {
        let more = said.detail().or(said.hint()).map(|more| format!(" ({more})")).unwrap_or_default();
        return format!("{}{more}", said.message());
    }
    let mut sentence = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        sentence = format!("{sentence}: {error}");
        cause = error.source();
    }
    sentence
}

/// A conflict with another writer, or a table that was created or dropped meanwhile: the whole transaction may be
/// retried.
pub(super) fn is_transient(error: &StoreError) -> bool {
    let (StoreError::Busy(cause) | StoreError::Sql(cause)) = error else { return false };
    let code = cause.downcast_ref::<ServerError>().and_then(|said| said.code.as_ref());
    code.is_some_and(|code| {
        let made_by_another = [SqlState::UNIQUE_VIOLATION, SqlState::DUPLICATE_TABLE, SqlState::DUPLICATE_SCHEMA];
        code.code().starts_with("40") || *code == SqlState::UNDEFINED_TABLE || made_by_another.contains(code)
    })
}
