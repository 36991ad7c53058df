//! Imports a copy of another store. A mark in `_daemon` keeps everybody from opening the database until it is complete;
//! a new attempt takes the mark over and removes what the previous one left. Each part is one transaction that also
//! advances the mark, so that no part is applied twice, or by an attempt that was superseded.

use std::cell::Cell;
use std::fmt::Write as _;

use uuid::Uuid;

use super::names::quoted;
use super::stage::{copy_sql, escape, push_row};
use super::view::{self, PgType};
use super::{PgSession, Postgres, SqlSession, StoreError, StoreResult, fleet, schema, shape, timestamp, verify};
use crate::model::{PostgresAddress, StoreAddress};
use crate::store::batch::storable;
use crate::store::copy::{
    CopiedGeneration, CopiedRow, CopiedTable, CopyPart, CopyTarget, FOLDER_TABLES, TABLES_AFTER_ROWS,
    TABLES_BEFORE_ROWS,
};
use crate::store::sql::SqlValue;
use crate::store::{Exporter, RunEnding};

/// Tables with an id sequence.
const TABLES_WITH_SEQUENCES: &[&str] = &["_generation", "_change", "_changed_record"];

/// Views, or tables, that are dropped per transaction: each takes a lock, and a server has some thousand.
const MAX_DROPPED_PER_TRANSACTION: usize = 200;

/// A database under construction.
pub struct Importer {
    store: Postgres,
    /// Id of this copy, and how many parts it has applied.
    copy: Uuid,
    parts: Cell<u64>,
    /// The table of the current generation, and how many of its rows are written.
    table: i64,
    rows: i64,
}

impl Importer {
    pub fn begin(at: &PostgresAddress) -> StoreResult<Importer> {
        let taker = Importer {
            store: Postgres::with_session(schema::open(at)?),
            copy: Uuid::now_v7(),
            parts: Cell::new(0),
            table: 0,
            rows: 0,
        };
        let was_begun = taker.claim_copy_mark(at)?;
        if was_begun {
            taker.remove_leftovers()?;
        }
        Ok(taker)
    }

    fn session(&self) -> &PgSession {
        &self.store.session
    }

    fn copy_mark(&self, parts: u64) -> String {
        format!("{} {parts}", self.copy)
    }

    /// Returns whether another copy was begun here.
    fn claim_copy_mark(&self, at: &PostgresAddress) -> StoreResult<bool> {
        let session = self.session();
        session.in_transaction(|| {
            // Concurrent attempts wait here.
            session.query_number("SELECT version FROM _format WHERE id = 1 FOR UPDATE", &[])?;
            let was_begun = schema::is_incomplete_copy(session)?;
            let held = "SELECT (SELECT count(*) FROM _task) + (SELECT count(*) FROM _folder)";
            if !was_begun && session.query_number(held, &[])? > 0 {
                return Err(StoreError::Occupied(StoreAddress::Postgres(at.clone())));
            }
            let daemons = self.store.active_daemons()?;
            if !daemons.is_empty() {
                return Err(StoreError::DaemonsActive(daemons));
            }
            let sql = "INSERT INTO _daemon (name, value) VALUES ('copying', $1)
                       ON CONFLICT (name) DO UPDATE SET value = excluded.value";
            session.execute(sql, &[&self.copy_mark(0)])?;
            Ok(was_begun)
        })
    }

    /// Applies a part exactly once, as long as this copy holds the mark.
    fn apply_once(&self, work: impl Fn(&PgSession) -> StoreResult<()>) -> StoreResult<()> {
        let session = self.session();
        let (before, after) = (self.copy_mark(self.parts.get()), self.copy_mark(self.parts.get() + 1));
        session.in_transaction(|| {
            let moved = "UPDATE _daemon SET value = $2 WHERE name = 'copying' AND value = $1";
            if session.execute(moved, &[&before, &after])? > 0 {
                return work(session);
            }
            let mark = "SELECT value FROM _daemon WHERE name = 'copying'";
            match session.query_first(mark, &[], |row| row.get::<String>(0))? {
                // The connection was lost after the commit.
                Some(mark) if mark == after => Ok(()),
                _ => Err(StoreError::Busy("another copy into this database was begun meanwhile".into())),
            }
        })?;
        self.parts.set(self.parts.get() + 1);
        Ok(())
    }

    /// Removes what an interrupted copy has left.
    fn remove_leftovers(&self) -> StoreResult<()> {
        let schema = self.session().at().schema().to_owned();
        let views = "SELECT viewname::text FROM pg_catalog.pg_views WHERE schemaname = $1 AND viewname <> '_history'";
        let tables =
            "SELECT tablename::text FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename LIKE '\\_rows\\_%'";
        for (what, sql) in [("VIEW", views), ("TABLE", tables)] {
            let names = self.session().query(sql, &[&schema], |row| Ok(quoted(&row.get::<String>(0)?)))?;
            for names in names.chunks(MAX_DROPPED_PER_TRANSACTION) {
                self.apply_once(|session| session.batch(&format!("DROP {what} IF EXISTS {}", names.join(", "))))?;
            }
        }
        let kept = FOLDER_TABLES.iter().rev().chain(TABLES_AFTER_ROWS.iter().rev()).map(|table| table.name);
        let rows = ["_words", "_entry", "_indexed", "_generation", "_shape"].into_iter();
        for table in kept.chain(rows).chain(TABLES_BEFORE_ROWS.iter().rev().map(|table| table.name)) {
            self.apply_once(|session| session.batch(&format!("DELETE FROM {table}")))?;
        }
        Ok(())
    }

    fn insert_entries(&self, table: &CopiedTable, entries: &[Vec<SqlValue<'_>>]) -> StoreResult<()> {
        let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
        let sql = format!("COPY {} ({}) FROM STDIN", table.name, names.join(", "));
        let mut text = String::new();
        for entry in entries {
            for (at, cell) in entry.iter().enumerate() {
                text.push_str(if at == 0 { "" } else { "\t" });
                push_value(cell, &mut text);
            }
            text.push('\n');
        }
        let text = text.into();
        self.apply_once(|session| session.copy_in(&sql, &text))
    }

    fn begin_generation(&mut self, set: &CopiedGeneration) -> StoreResult<()> {
        let make = |session: &PgSession| shape::find_or_make(session, &set.task, &set.generation.columns);
        self.apply_once(|session| make(session).map(|_| ()))?;
        (self.table, self.rows) = (self.session().in_transaction(|| make(self.session()))?, 0);
        Ok(())
    }

    fn insert_rows(&mut self, set: &CopiedGeneration, records: &[CopiedRow]) -> StoreResult<()> {
        let columns = &set.generation.columns;
        let types: Vec<PgType> = columns.iter().map(PgType::of).collect();
        let mut text = String::new();
        for record in records {
            self.rows += 1;
            let key = record.key.as_slice().try_into().map_err(StoreError::invalid_value)?;
            let cells = types.iter().copied().zip(record.cells.iter().map(Option::as_deref));
            push_row(&mut text, (set.generation.id, self.rows), key, record.first_seen, record.page, cells);
        }
        let (sql, text) = (copy_sql(self.table, columns), text.into());
        self.apply_once(|session| session.copy_in(&sql, &text))
    }

    /// Writes the entry of a generation, once all of its rows are there.
    fn finish_generation(&self, set: &CopiedGeneration) -> StoreResult<()> {
        self.apply_once(|session| {
            set.insert(session, Some(self.table))?;
            match set.needs_key_lookup() {
                true => session.batch(&view::create_sql(&set.task, self.table, &set.generation.columns)),
                false => Ok(()),
            }
        })
    }
}

impl CopyTarget for Importer {
    fn import_part(&mut self, part: CopyPart<'_>) -> StoreResult<()> {
        match part {
            CopyPart::Entries(table, entries) => self.insert_entries(table, entries),
            CopyPart::GenerationBegin(set) => self.begin_generation(set),
            CopyPart::Rows(set, records) => self.insert_rows(set, records),
            CopyPart::GenerationEnd(set) => self.finish_generation(set),
        }
    }

    fn finish(mut self: Box<Self>) -> StoreResult<()> {
        for table in TABLES_WITH_SEQUENCES {
            let last = self.session().query_number(&format!("SELECT coalesce(max(id), 0) FROM {table}"), &[])?;
            if last > 0 {
                let sql = format!("SELECT setval(pg_get_serial_sequence('{table}', 'id'), $1)");
                self.session().query_number(&sql, &[&last])?;
            }
        }
        // An interrupted run has no owner here, and would keep its task from getting one.
        let now = fleet::server_time(self.session())?;
        self.store.end_interrupted_runs(now)?;
        verify::verify_published(self.session())?;
        self.apply_once(|session| session.batch("DELETE FROM _daemon WHERE name = 'copying'"))
    }
}

fn push_value(value: &SqlValue<'_>, text: &mut String) {
    // Writing to a string does not fail.
    let _ = match value {
        SqlValue::Null => write!(text, "\\N"),
        SqlValue::Text(it) => {
            escape(&storable(it), text);
            Ok(())
        }
        SqlValue::Int(number) => write!(text, "{number}"),
        SqlValue::Real(number) => write!(text, "{number}"),
        SqlValue::Bool(is_so) => write!(text, "{}", if *is_so { 't' } else { 'f' }),
        SqlValue::Time(at) => write!(text, "{}", timestamp::text(*at)),
        SqlValue::Bytes(bytes) => {
            text.push_str("\\\\x");
            bytes.iter().try_for_each(|byte| write!(text, "{byte:02x}"))
        }
    };
}
