//! Where the rows are kept, as a person writes it: in config.toml, or behind a command.

use std::path::Path;

use super::secrets::{self, SecretError};
use crate::model::{AddressError, PostgresAddress, StoreAddress};

/// Why a text names no store.
#[derive(Debug, thiserror::Error)]
pub enum StoreTextError {
    #[error("a store at {0}:// is not known; it is a file of SQLite or a PostgreSQL database")]
    Scheme(String),
    #[error("{0}")]
    Secret(#[from] SecretError),
    #[error("a password does not stand in config.toml")]
    Password,
    #[error("{0}")]
    Address(AddressError),
}

impl StoreTextError {
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            StoreTextError::Scheme(_) => {
                Some("write store = \"state/pieme.db\" or store = \"postgres://user@host/database\"")
            }
            StoreTextError::Secret(_) => None,
            StoreTextError::Password => {
                Some("write postgres://user:${secret:db}@host/database and put it into the file secrets/db (mode 0600)")
            }
            StoreTextError::Address(_) => Some("it looks like postgres://user@host/database"),
        }
    }
}

/// Reads a path, which is beside `folder`, or an address of PostgreSQL, with the secrets that it names.
pub fn read(text: &str, folder: &Path, secrets: &Path) -> Result<StoreAddress, StoreTextError> {
    if StoreAddress::is_postgres(text) {
        return Ok(StoreAddress::Postgres(postgres(text, secrets)?));
    }
    match text.split_once("://") {
        Some((scheme, _)) => Err(StoreTextError::Scheme(scheme.to_owned())),
        None => Ok(StoreAddress::Sqlite(folder.join(text))),
    }
}

fn postgres(text: &str, folder: &Path) -> Result<PostgresAddress, StoreTextError> {
    let mut filled = text.to_owned();
    for name in secrets::names_in_text(text) {
        let missing = || SecretError::Missing { name: name.clone(), file: folder.join(&name) };
        let value = secrets::lookup_at(folder, &name)?.ok_or_else(missing)?;
        let value = percent_encoding::utf8_percent_encode(&value, percent_encoding::NON_ALPHANUMERIC);
        filled = filled.replace(&format!("${{secret:{name}}}"), &value.to_string());
    }
    PostgresAddress::new(text, &filled).map_err(|error| match error {
        AddressError::Password => StoreTextError::Password,
        error => StoreTextError::Address(error),
    })
}
