//! Parses the store's address, from config.toml or from a command line.

use std::path::{Path, PathBuf};

use super::secrets::{self, SecretError};
use crate::model::script::secret_names;
use crate::model::{AddressError, PostgresAddress, StoreAddress};

/// Why a text is not the address of a store.
#[derive(Debug, thiserror::Error)]
pub enum StoreTextError {
    #[error("unknown store {0}://; the store is an SQLite file or a PostgreSQL database")]
    Scheme(String),
    #[error("{0}")]
    Secret(#[from] SecretError),
    /// Without it there is no configuration, and so no `pieme secret set`.
    #[error("the secret `{name}` is missing: put it into {} (mode 0600)", file.display())]
    NoSecret { name: String, file: PathBuf },
    #[error("a password must not be written in config.toml")]
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
            StoreTextError::Secret(_) | StoreTextError::NoSecret { .. } => None,
            StoreTextError::Password => Some(
                "write postgres://user:${secret:db}@host/database and put the password into secrets/db (mode 0600)",
            ),
            StoreTextError::Address(_) => Some("write postgres://user@host/database"),
        }
    }
}

/// Parses a path relative to `folder`, or a PostgreSQL address, and fills in its secrets.
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
    for name in secret_names(text) {
        let missing = || StoreTextError::NoSecret { name: name.to_owned(), file: folder.join(name) };
        let value = secrets::lookup_at(folder, name)?.ok_or_else(missing)?;
        let value = percent_encoding::utf8_percent_encode(&value, percent_encoding::NON_ALPHANUMERIC);
        filled = filled.replace(&format!("${{secret:{name}}}"), &value.to_string());
    }
    PostgresAddress::new(text, &filled).map_err(|error| match error {
        AddressError::Password => StoreTextError::Password,
        error => StoreTextError::Address(error),
    })
}
