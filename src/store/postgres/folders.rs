//! Task folders that a fleet shares, file by file.

use chrono::{DateTime, Utc};

use super::{PgSession, Postgres, SqlSession, StoreResult};
use crate::model::TaskName;
use crate::store::{FolderVersion, SharedFile, SharedFolders};

impl SharedFolders for Postgres {
    fn folders(&self) -> StoreResult<Vec<FolderVersion>> {
        let sql = "SELECT task, version, removed FROM _folder ORDER BY task";
        self.session
            .query(sql, &[], |row| Ok(FolderVersion { task: row.get(0)?, version: row.get(1)?, removed: row.get(2)? }))
    }

    fn folder(&self, task: &TaskName) -> StoreResult<Vec<SharedFile>> {
        let sql = "SELECT path, body, changed_at FROM _file WHERE task = $1 ORDER BY path";
        self.session
            .query(sql, &[task], |row| Ok(SharedFile { path: row.get(0)?, body: row.get(1)?, changed_at: row.get(2)? }))
    }

    fn put_folder(&mut self, task: &TaskName, files: &[SharedFile]) -> StoreResult<i64> {
        let session = &self.session;
        session.in_transaction(|| {
            let version = next_version(session, task, false)?;
            for SharedFile { path, body, changed_at } in files {
                session.modify(
                    "INSERT INTO _file (task, path, body, changed_at) VALUES ($1, $2, $3, $4)
                     ON CONFLICT (task, path) DO UPDATE SET body = excluded.body, changed_at = excluded.changed_at",
                    &[task, path, &body.as_deref(), changed_at],
                )?;
            }
            Ok(version)
        })
    }

    fn remove_folder(&mut self, task: &TaskName, now: DateTime<Utc>) -> StoreResult<i64> {
        let session = &self.session;
        session.in_transaction(|| {
            let version = next_version(session, task, true)?;
            let sql = "UPDATE _file SET body = NULL, changed_at = $2 WHERE task = $1 AND body IS NOT NULL";
            session.modify(sql, &[task, &now])?;
            Ok(version)
        })
    }
}

/// Locks the folder's row: concurrent changes of a folder wait here.
fn next_version(session: &PgSession, task: &TaskName, removed: bool) -> StoreResult<i64> {
    session.query_number(
        "INSERT INTO _folder (task, version, removed) VALUES ($1, 1, $2)
         ON CONFLICT (task) DO UPDATE SET version = _folder.version + 1, removed = excluded.removed RETURNING version",
        &[task, &removed],
    )
}
