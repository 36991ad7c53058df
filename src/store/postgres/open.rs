//! Opens the database. The first writer creates its tables, or migrates them.

use std::collections::HashMap;

use super::{PendingEnds, PgSession, Postgres, RetentionLimits, StoreError, decode, schema};
use crate::model::{PostgresAddress, StoreAddress};

impl Postgres {
    /// Opens the database for writing; creates the tables, or migrates their format, if necessary.
    pub fn open(at: &PostgresAddress) -> Result<Postgres, StoreError> {
        let session = PgSession::open(at, false)?;
        schema::create(&session)?;
        schema::refuse_newer(&session)?;
        schema::migrate(&session)?;
        schema::refuse_incomplete_copy(&session)?;
        Ok(Postgres::with_session(session))
    }

    /// Opens the database for reading; works with the daemon up or down.
    pub fn open_reader(at: &PostgresAddress) -> Result<Postgres, StoreError> {
        let session = PgSession::open(at, true)?;
        if !schema::exists(&session)? {
            return Err(StoreError::Missing(StoreAddress::Postgres(at.clone())));
        }
        schema::refuse_newer(&session)?;
        schema::refuse_incomplete_copy(&session)?;
        Ok(Postgres::with_session(session))
    }

    pub(super) fn with_session(session: PgSession) -> Postgres {
        let (keep, boot) = (RetentionLimits::default(), decode::boot_id());
        Postgres {
            session,
            retention: keep,
            member: None,
            staged: HashMap::new(),
            pending_ends: PendingEnds::default(),
            boot,
        }
    }
}
