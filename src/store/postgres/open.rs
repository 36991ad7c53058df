//! Opens the database. The first writer creates its tables, or migrates them.

use std::collections::HashMap;

use super::{PendingEnds, PgSession, Postgres, RetentionLimits, StoreError, StoreResult, decode, fleet, runs, schema};
use crate::model::{PostgresAddress, RunId, StoreAddress, TaskName};
use crate::store::sql::SqlStore;

impl Postgres {
    /// Opens the database for writing; creates the tables, or migrates their format, if necessary.
    pub fn open(at: &PostgresAddress) -> StoreResult<Postgres> {
        let session = schema::open(at)?;
        schema::refuse_incomplete_copy(&session)?;
        Ok(Postgres::with_session(session))
    }

    /// Opens the database for reading; works with the daemon up or down.
    pub fn open_reader(at: &PostgresAddress) -> StoreResult<Postgres> {
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

impl SqlStore for Postgres {
    type Session = PgSession;

    fn session(&self) -> &PgSession {
        &self.session
    }

    fn retention(&self) -> RetentionLimits {
        self.retention
    }

    fn require_open(&self, run: RunId) -> StoreResult<TaskName> {
        runs::require_open(&self.session, self.member.as_ref(), run)
    }

    fn owned_condition(&self, name: &str) -> String {
        fleet::owned_condition(self.member.as_ref(), name)
    }
}
