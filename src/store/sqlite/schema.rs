//! The tables, as numbered migrations. Each is one transaction that also moves `user_version`: a crash in the middle
//! leaves the format before it.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::StoreError;

/// Says whose file this is, in the header of the file: "piem".
const APPLICATION_ID: i64 = 0x7069_656d;

/// A migration that was released is never edited; a change is a new one at the end.
pub(super) const MIGRATIONS: &[&str] = &[
    "
    CREATE TABLE _task (
        name TEXT PRIMARY KEY,
        title TEXT,
        added_at TEXT NOT NULL,
        paused INTEGER NOT NULL DEFAULT 0,
        removed_at TEXT,
        next_due TEXT,
        problem TEXT,
        published INTEGER REFERENCES _generation (id),
        published_rows INTEGER,
        previous_rows INTEGER,
        last_run TEXT,
        last_slot TEXT,
        last_ok TEXT,
        fails INTEGER NOT NULL DEFAULT 0
    ) STRICT;

    CREATE TABLE _runs (
        id TEXT PRIMARY KEY,
        task TEXT NOT NULL REFERENCES _task (name),
        slot TEXT,
        trigger TEXT NOT NULL,
        started TEXT NOT NULL,
        ended TEXT,
        outcome TEXT,
        cause TEXT,
        sentence TEXT,
        similarity REAL,
        rows INTEGER,
        pages INTEGER,
        provisional INTEGER,
        pid INTEGER,
        boot TEXT
    ) STRICT;
    CREATE UNIQUE INDEX _runs_slot ON _runs (task, slot) WHERE slot IS NOT NULL;
    CREATE INDEX _runs_task ON _runs (task, started);
    CREATE INDEX _runs_open ON _runs (task) WHERE ended IS NULL;

    -- state: staging, published, previous, quarantined, old
    CREATE TABLE _generation (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        task TEXT NOT NULL REFERENCES _task (name),
        run TEXT NOT NULL REFERENCES _runs (id),
        state TEXT NOT NULL,
        columns TEXT NOT NULL,
        rows INTEGER NOT NULL,
        digest BLOB NOT NULL,
        last_seen TEXT NOT NULL
    ) STRICT;
    CREATE INDEX _generation_task ON _generation (task);
    CREATE INDEX _generation_run ON _generation (run);
    CREATE INDEX _generation_old ON _generation (id) WHERE state = 'old';

    CREATE TABLE _trace (
        run TEXT NOT NULL REFERENCES _runs (id) ON DELETE CASCADE,
        line INTEGER NOT NULL,
        at TEXT NOT NULL,
        step INTEGER NOT NULL,
        verb TEXT NOT NULL,
        text TEXT NOT NULL,
        PRIMARY KEY (run, line)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE _pages (
        run TEXT NOT NULL REFERENCES _runs (id) ON DELETE CASCADE,
        page INTEGER NOT NULL,
        task TEXT NOT NULL,
        meta TEXT NOT NULL,
        body BLOB NOT NULL,
        PRIMARY KEY (run, page)
    ) STRICT;
    CREATE INDEX _pages_task ON _pages (task, run);
",
    "
    CREATE TABLE _daemon (
        name TEXT PRIMARY KEY,
        value TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
",
    "
    CREATE TABLE _keys (
        generation INTEGER NOT NULL REFERENCES _generation (id) ON DELETE CASCADE,
        first BLOB NOT NULL,
        entries BLOB NOT NULL,
        PRIMARY KEY (generation, first)
    ) STRICT, WITHOUT ROWID;
",
    "
    ALTER TABLE _runs ADD COLUMN figures TEXT;
",
    "
    -- Tasks with alerts: what is wanted, and what was told since it was last well, both JSON.
    CREATE TABLE _watched (
        task TEXT PRIMARY KEY REFERENCES _task (name),
        wanted TEXT NOT NULL,
        said TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE _alert (
        id TEXT PRIMARY KEY,
        task TEXT NOT NULL REFERENCES _task (name),
        made_at TEXT NOT NULL,
        notice TEXT NOT NULL
    ) STRICT;
    CREATE INDEX _alert_task ON _alert (task, id);

    -- next_try: absent once it was delivered or given up
    CREATE TABLE _delivery (
        alert TEXT NOT NULL REFERENCES _alert (id) ON DELETE CASCADE,
        task TEXT NOT NULL,
        target TEXT NOT NULL,
        tries INTEGER NOT NULL DEFAULT 0,
        next_try TEXT,
        delivered_at TEXT,
        trouble TEXT,
        PRIMARY KEY (alert, target)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX _delivery_open ON _delivery (next_try) WHERE next_try IS NOT NULL;
    CREATE INDEX _delivery_line ON _delivery (task, target, alert) WHERE next_try IS NOT NULL;
",
    "
    -- `_generation.columns` may name columns of values beside those of texts (`names.rs`): an older program would take them
    -- for texts. The tables that are there have none, and stay as they are.
",
];

/// The format this program writes.
fn known() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// Brings the format up to date, one transaction a step.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    migrate_by(connection, MIGRATIONS)
}

pub(super) fn migrate_by(connection: &mut Connection, migrations: &[&str]) -> Result<(), StoreError> {
    loop {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let version = pragma(&transaction, "user_version")?;
        let Some(migration) = usize::try_from(version).ok().and_then(|version| migrations.get(version)) else {
            return Ok(());
        };
        transaction.execute_batch(migration)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", version + 1)?;
        transaction.commit()?;
    }
}

/// Refuses another program's database, and one of a later pieme.
pub(super) fn refuse_foreign(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let (version, application) = (pragma(connection, "user_version")?, pragma(connection, "application_id")?);
    if application != APPLICATION_ID || version < 1 {
        return Err(StoreError::Foreign(path.into()));
    }
    if version > known() {
        return Err(StoreError::TooNew { at: path.into(), found: version, known: known() });
    }
    Ok(())
}

fn pragma(connection: &Connection, name: &str) -> Result<i64, StoreError> {
    Ok(connection.pragma_query_value(None, name, |row| row.get(0))?)
}
