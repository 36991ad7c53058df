//! Task folders that a fleet shares, file by file.

use chrono::{DateTime, Utc};

use super::session::get;
use super::{PgSession, Postgres, StoreError, decode, timestamp};
use crate::model::TaskName;
use crate::store::{FolderVersion, SharedFile, SharedFolders};

impl SharedFolders for Postgres {
    fn folders(&self) -> Result<Vec<FolderVersion>, StoreError> {
        let found = self.session.rows("SELECT task, version, removed FROM _folder ORDER BY task", &[])?;
        let head = |row| {
            Ok(FolderVersion { task: decode::task_name(get(row, 0)?)?, version: get(row, 1)?, removed: get(row, 2)? })
        };
        found.iter().map(head).collect()
    }

    fn folder(&self, task: &TaskName) -> Result<Vec<SharedFile>, StoreError> {
        let sql = "SELECT path, body, changed_at FROM _file WHERE task = $1 ORDER BY path";
        let found = self.session.rows(sql, &[&task.as_str()])?;
        found
            .iter()
            .map(|row| Ok(SharedFile { path: get(row, 0)?, body: get(row, 1)?, changed_at: get(row, 2)? }))
            .collect()
    }

    fn put_folder(&mut self, task: &TaskName, files: &[SharedFile]) -> Result<i64, StoreError> {
        let session = &self.session;
        session.in_transaction(|| {
            let version = next_version(session, task, false)?;
            for SharedFile { path, body, changed_at } in files {
                session.execute(
                    "INSERT INTO _file (task, path, body, changed_at) VALUES ($1, $2, $3, $4)
                     ON CONFLICT (task, path) DO UPDATE SET body = excluded.body, changed_at = excluded.changed_at",
                    &[&task.as_str(), path, body, &timestamp::to_millis(*changed_at)],
                )?;
            }
            Ok(version)
        })
    }

    fn remove_folder(&mut self, task: &TaskName, now: DateTime<Utc>) -> Result<i64, StoreError> {
        let session = &self.session;
        session.in_transaction(|| {
            let version = next_version(session, task, true)?;
            let sql = "UPDATE _file SET body = NULL, changed_at = $2 WHERE task = $1 AND body IS NOT NULL";
            session.execute(sql, &[&task.as_str(), &timestamp::to_millis(now)])?;
            Ok(version)
        })
    }
}

/// Locks the folder's row: concurrent changes of a folder wait here.
fn next_version(session: &PgSession, task: &TaskName, removed: bool) -> Result<i64, StoreError> {
    session.number(
        "INSERT INTO _folder (task, version, removed) VALUES ($1, 1, $2)
         ON CONFLICT (task) DO UPDATE SET version = _folder.version + 1, removed = excluded.removed RETURNING version",
        &[&task.as_str(), &removed],
    )
}
