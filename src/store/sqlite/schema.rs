//! The tables, as numbered migrations. Each is one transaction that also updates `user_version`: a crash in the middle
//! leaves the previous format.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::{StoreError, StoreResult};

/// Identifies the file as pieme's, in its header: "piem".
const APPLICATION_ID: i64 = 0x7069_656d;

/// The full-text index (`index.rs`), which can be created again at any time. `_words` has the columns of tasks in slots
/// by their names; the texts themselves are in the tables of rows.
pub(super) const INDEX: &str = "
    CREATE VIRTUAL TABLE IF NOT EXISTS _words USING fts5 (
        c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15,
        content = '', contentless_delete = 1, tokenize = 'ascii'
    );

    -- Which record an entry of `_words` is: a hash of its texts, of its key, and which row of the table it was.
    CREATE TABLE IF NOT EXISTS _doc (
        id INTEGER PRIMARY KEY,
        digest INTEGER NOT NULL,
        key BLOB NOT NULL,
        row INTEGER NOT NULL
    ) STRICT;

    -- number: the upper bits of its entries' ids; digest: of the generation that is in the index
    CREATE TABLE IF NOT EXISTS _indexed (
        task TEXT PRIMARY KEY REFERENCES _task (name),
        number INTEGER NOT NULL UNIQUE,
        digest BLOB
    ) STRICT, WITHOUT ROWID;
";

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
    -- `_generation.columns` may name columns of values beside those of texts (`names.rs`): an older program would take
    -- them for texts. The tables that are there have none, and stay as they are.
",
    "
    -- key: the columns that identify a record, JSON; absent in tables of before, as are the digests of records.
    ALTER TABLE _generation ADD COLUMN key TEXT;
    ALTER TABLE _keys ADD COLUMN digests BLOB;
    -- In seconds; absent: as by default.
    ALTER TABLE _task ADD COLUMN history INTEGER;

    -- A publication that changed what is published. added: absent until it was compared. A run may be forgotten
    -- earlier.
    CREATE TABLE _change (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        task TEXT NOT NULL REFERENCES _task (name),
        run TEXT NOT NULL,
        at TEXT NOT NULL,
        rows_before INTEGER NOT NULL,
        rows_after INTEGER NOT NULL,
        added INTEGER,
        changed INTEGER,
        removed INTEGER,
        unlisted TEXT
    ) STRICT;
    CREATE INDEX _change_task ON _change (task, id);
    CREATE INDEX _change_run ON _change (run);
    CREATE INDEX _change_open ON _change (task) WHERE added IS NULL;

    -- cells: JSON, of each [column, before, after, value before, value after]
    CREATE TABLE _changed_record (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        change INTEGER NOT NULL REFERENCES _change (id) ON DELETE CASCADE,
        key BLOB NOT NULL,
        what TEXT NOT NULL,
        name TEXT NOT NULL,
        first_seen TEXT NOT NULL,
        cells TEXT NOT NULL
    ) STRICT;
    CREATE INDEX _changed_record_change ON _changed_record (change);
    CREATE INDEX _changed_record_key ON _changed_record (key);

    CREATE VIEW _history AS
        SELECT c.task, c.at, r.what, r.name AS record, cell.value ->> 0 AS \"column\", cell.value ->> 1 AS \"before\",
            cell.value ->> 2 AS \"after\", cell.value ->> 3 AS value_before, cell.value ->> 4 AS value_after, c.run
        FROM _change c JOIN _changed_record r ON r.change = c.id, json_each(r.cells) cell
        WHERE c.added IS NOT NULL;
",
    INDEX,
];

/// The format this program writes.
fn current_version() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// Migrates the format, one transaction per step.
pub(super) fn migrate(connection: &mut Connection) -> StoreResult<()> {
    migrate_with(connection, MIGRATIONS)
}

pub(super) fn migrate_with(connection: &mut Connection, migrations: &[&str]) -> StoreResult<()> {
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

/// Refuses the database of another program, or of a newer pieme.
pub(super) fn refuse_foreign(connection: &Connection, path: &Path) -> StoreResult<()> {
    let (version, application) = (pragma(connection, "user_version")?, pragma(connection, "application_id")?);
    if application != APPLICATION_ID || version < 1 {
        return Err(StoreError::Foreign(path.into()));
    }
    if version > current_version() {
        return Err(StoreError::NewerFormat { at: path.into(), found: version, known: current_version() });
    }
    Ok(())
}

fn pragma(connection: &Connection, name: &str) -> StoreResult<i64> {
    Ok(connection.pragma_query_value(None, name, |row| row.get(0))?)
}
