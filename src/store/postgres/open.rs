//! Opening the database: its tables are made, or brought up to date, by whoever writes first.

use std::collections::HashMap;

use super::{Keep, Owings, Postgres, Session, StoreError, schema, stored};
use crate::model::{PostgresAddress, StoreAddress};

impl Postgres {
    /// Opens the database for writing; makes the tables, or brings their format up to date, if need be.
    pub fn open(at: &PostgresAddress) -> Result<Postgres, StoreError> {
        let session = Session::open(at, false)?;
        schema::make(&session)?;
        schema::refuse_newer(&session)?;
        schema::migrate(&session)?;
        schema::refuse_half(&session)?;
        Ok(Postgres::with(session))
    }

    /// Opens the database for reading; works with the daemon up or down.
    pub fn open_reader(at: &PostgresAddress) -> Result<Postgres, StoreError> {
        let session = Session::open(at, true)?;
        if !schema::is_made(&session)? {
            return Err(StoreError::Missing(StoreAddress::Postgres(at.clone())));
        }
        schema::refuse_newer(&session)?;
        schema::refuse_half(&session)?;
        Ok(Postgres::with(session))
    }

    pub(super) fn with(session: Session) -> Postgres {
        let (keep, boot) = (Keep::default(), stored::boot_id());
        Postgres { session, keep, member: None, staged: HashMap::new(), owed: Owings::default(), boot }
    }
}
