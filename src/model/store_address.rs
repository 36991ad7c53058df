//! The address of the database: an SQLite file or a PostgreSQL database.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use url::Url;

use super::TimeSpan;

/// The PostgreSQL schema of pieme's tables and views, unless the address names another.
const SCHEMA: &str = "pieme";

/// Replaces a password wherever an address is shown.
const PASSWORD_MASK: &str = "…";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreAddress {
    /// Path of an SQLite file.
    Sqlite(PathBuf),
    Postgres(PostgresAddress),
}

/// A PostgreSQL database, and pieme's schema in it. Displayed without its password.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresAddress {
    /// In the driver's format, with the password.
    url: String,
    shown: String,
    schema: String,
    /// Behind an `Arc`, because errors carry addresses and must stay small.
    timeouts: Arc<PostgresTimeouts>,
}

/// Timeouts of a PostgreSQL server: `[postgres]` of config.toml.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PostgresTimeouts {
    /// For name resolution, connection, TLS and login together, at each of its addresses.
    pub connect_timeout: TimeSpan,
    /// A server that has not answered for this long must accept another connection; otherwise it counts as lost.
    pub answer_timeout: TimeSpan,
    /// For one answer to a command or a dashboard page while the server is reachable.
    pub read_timeout: TimeSpan,
    /// The same for the daemon's own work, and for commands that write.
    pub statement_timeout: TimeSpan,
    /// The server ends one of our transactions that has been idle for this long. It equals the fleet's lease: a daemon
    /// that hangs past its lease must not block its tasks for other daemons by the locks it holds.
    #[serde(skip)]
    pub idle_in_transaction: TimeSpan,
}

impl Default for PostgresTimeouts {
    fn default() -> PostgresTimeouts {
        PostgresTimeouts {
            connect_timeout: TimeSpan::seconds(5),
            answer_timeout: TimeSpan::seconds(5),
            read_timeout: TimeSpan::seconds(60),
            statement_timeout: TimeSpan::seconds(3_600),
            idle_in_transaction: TimeSpan::seconds(15),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("the address is not valid ({0})")]
    Url(url::ParseError),
    #[error("the address names no database")]
    NoDatabase,
    #[error("an address must not contain a password; write `${{secret:NAME}}` instead")]
    Password,
    #[error("a schema name consists of at most 63 lower-case letters, digits and `_`, and begins with a letter")]
    Schema,
}

impl StoreAddress {
    /// The same address with other timeouts; a file has none.
    pub fn with_timeouts(self, timeouts: PostgresTimeouts) -> StoreAddress {
        match self {
            StoreAddress::Postgres(address) => {
                StoreAddress::Postgres(PostgresAddress { timeouts: Arc::new(timeouts), ..address })
            }
            file @ StoreAddress::Sqlite(_) => file,
        }
    }

    /// True if a text is a PostgreSQL address, not a path.
    pub fn is_postgres(text: &str) -> bool {
        ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme))
    }
}

impl PostgresAddress {
    /// Parses `postgres://user@host/database?schema=pieme`. `filled` is the same address with its secrets filled in;
    /// only this one may contain a password.
    pub fn new(written: &str, filled: &str) -> Result<PostgresAddress, AddressError> {
        let plain = Url::parse(written).map_err(AddressError::Url)?;
        let has_word = |url: &Url| url.query_pairs().any(|(name, _)| name == "password");
        if plain.password().is_some_and(|it| !it.starts_with("$%7Bsecret%3A")) || has_word(&plain) {
            return Err(AddressError::Password);
        }
        let mut url = Url::parse(filled).map_err(AddressError::Url)?;
        if url.path().trim_matches('/').is_empty() {
            return Err(AddressError::NoDatabase);
        }
        let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        let schema = pairs.iter().find(|(name, _)| name == "schema").map_or(SCHEMA, |(_, value)| value).to_owned();
        if !is_schema(&schema) {
            return Err(AddressError::Schema);
        }
        let mut shown = url.clone();
        if shown.password().is_some() {
            // Fails only for an address without a host, which has no password.
            let _ = shown.set_password(Some("x"));
        }
        let shown = shown.to_string().replacen(":x@", &format!(":{PASSWORD_MASK}@"), 1);
        let others: Vec<&(String, String)> = pairs.iter().filter(|(name, _)| name != "schema").collect();
        url.set_query(None);
        if !others.is_empty() {
            url.query_pairs_mut().extend_pairs(others.into_iter().map(|(name, value)| (name, value)));
        }
        Ok(PostgresAddress { url: url.to_string(), shown, schema, timeouts: Arc::default() })
    }

    pub fn timeouts(&self) -> &PostgresTimeouts {
        &self.timeouts
    }

    /// For the driver only: contains the password.
    pub fn with_password(&self) -> &str {
        &self.url
    }

    pub fn schema(&self) -> &str {
        &self.schema
    }
}

/// A name that needs no quotes in SQL.
fn is_schema(name: &str) -> bool {
    name.len() <= 63
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && !name.starts_with("pg_")
}

impl fmt::Display for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Display for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreAddress::Sqlite(path) => path.display().fmt(f),
            StoreAddress::Postgres(address) => address.fmt(f),
        }
    }
}

impl From<&Path> for StoreAddress {
    fn from(path: &Path) -> StoreAddress {
        StoreAddress::Sqlite(path.to_owned())
    }
}

impl From<&PathBuf> for StoreAddress {
    fn from(path: &PathBuf) -> StoreAddress {
        StoreAddress::Sqlite(path.clone())
    }
}

impl From<&StoreAddress> for StoreAddress {
    fn from(address: &StoreAddress) -> StoreAddress {
        address.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        let written = "postgres://me:${secret:db}@db.example:5433/rows?sslmode=require&schema=fleet_2";
        let address = PostgresAddress::new(written, &written.replace("${secret:db}", "hunter2")).expect("an address");
        assert_eq!(address.schema(), "fleet_2");
        assert_eq!(address.with_password(), "postgres://me:hunter2@db.example:5433/rows?sslmode=require");
        for shown in [address.to_string(), format!("{:?}", StoreAddress::Postgres(address.clone()))] {
            assert!(shown.contains("me:…@db.example:5433") && !shown.contains("hunter2"), "{shown}");
        }
    }

    #[test]
    fn an_address_may_be_a_socket_and_has_a_schema_by_default() {
        for text in ["postgres:///rows?host=%2Frun%2Fpg&user=me", "postgresql://me@%2Frun%2Fpg/rows"] {
            let address = PostgresAddress::new(text, text).expect("an address");
            assert_eq!((address.schema(), address.to_string().as_str()), ("pieme", text));
            address.with_password().parse::<tokio_postgres::Config>().expect("the driver reads it");
        }
    }

    #[test]
    fn what_is_no_address_of_a_database_is_said() {
        for (text, error) in [
            ("postgres://db/", AddressError::NoDatabase),
            ("postgres://me:hunter2@db/rows", AddressError::Password),
            ("postgres://db/rows?password=hunter2", AddressError::Password),
            ("postgres://db/rows?schema=My%20Rows", AddressError::Schema),
            ("postgres://db/rows?schema=pg_toast", AddressError::Schema),
        ] {
            assert_eq!(PostgresAddress::new(text, text).expect_err(text), error);
        }
        assert!(StoreAddress::is_postgres("postgres://db/rows") && !StoreAddress::is_postgres("state/pieme.db"));
    }
}
