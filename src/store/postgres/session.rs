//! One connection to the server. A lost connection is opened again within a bounded time; a statement outside a
//! transaction is then repeated, and a transaction is restarted. So every transaction here must be safe to execute
//! twice.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use tokio_postgres::types::{FromSql, ToSql};
use tokio_postgres::{Client, Config, Row, Statement};

use super::connection;
use super::connection::{ConnectFailure, ServerConnection};
use super::error::{is_transient, to_store_error};
use super::tls;
use super::{StoreError, StoreResult};
use crate::model::{PostgresAddress, TimeSpan};
use crate::store::Interrupter;

/// A server that restarts is back within seconds; a longer outage fails the runs that end meanwhile.
const MAX_RECONNECT_TIME: Duration = Duration::from_secs(10);
const RECONNECT_PAUSE: Duration = Duration::from_millis(250);
/// A server that did not answer is not asked again at once: all waiting callers would time out one after the other.
const COOLDOWN: Duration = Duration::from_secs(1);
/// After this time the kernel gives up a connection whose peer does not answer.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(30);
/// How often a transaction is attempted: it conflicted with others, or the connection was lost.
const MAX_ATTEMPTS: u32 = 10;
const SETTINGS: &str = "SET client_min_messages TO warning; SET lock_timeout TO '20s'; SET TIME ZONE 'UTC'";
/// A reader may be idle for this long (`pieme export` into a pager): it holds no lock that others wait for.
const READER_IDLE_TIMEOUT: TimeSpan = TimeSpan::seconds(60);

/// Parameters of a statement.
pub(super) type PgParams<'a> = &'a [&'a (dyn ToSql + Sync)];

pub struct PgSession {
    at: PostgresAddress,
    reads_only: bool,
    connection: RefCell<Option<Arc<ServerConnection>>>,
    statements: RefCell<HashMap<String, Statement>>,
    is_in_transaction: Cell<bool>,
    /// The last attempt to connect failed: later callers do not wait for a reconnection.
    is_unreachable: Cell<bool>,
    /// While this is set, calls fail with this reason without asking the server.
    cooldown: Arc<Mutex<Option<String>>>,
}

impl PgSession {
    pub fn open(at: &PostgresAddress, reads_only: bool) -> StoreResult<PgSession> {
        let session = PgSession {
            at: at.clone(),
            reads_only,
            connection: RefCell::default(),
            statements: RefCell::default(),
            is_in_transaction: Cell::new(false),
            // At the start a person waits: one attempt.
            is_unreachable: Cell::new(true),
            cooldown: Arc::default(),
        };
        session.connection()?;
        Ok(session)
    }

    pub fn at(&self) -> &PostgresAddress {
        &self.at
    }

    pub fn rows(&self, sql: &str, values: PgParams<'_>) -> StoreResult<Vec<Row>> {
        self.with_client(async |client| client.query(&self.prepared(client, sql).await?, values).await)
    }

    pub fn row(&self, sql: &str, values: PgParams<'_>) -> StoreResult<Option<Row>> {
        self.with_client(async |client| client.query_opt(&self.prepared(client, sql).await?, values).await)
    }

    /// Passes every row of an answer to `take`, without keeping them.
    pub fn each(
        &self,
        sql: &str,
        values: PgParams<'_>,
        mut take: impl FnMut(&Row) -> StoreResult<()>,
    ) -> StoreResult<()> {
        let line = self.connection()?;
        let asked = line.client.query_raw(sql, values.iter().copied());
        let rows = self.await_answer(&line, asked)?.map_err(|error| to_store_error(&error, &self.at))?;
        futures_util::pin_mut!(rows);
        // `take` may wait for another server meanwhile.
        while let Some(row) = self.await_answer(&line, rows.next())? {
            take(&row.map_err(|error| to_store_error(&error, &self.at))?)?;
        }
        Ok(())
    }

    /// Returns the number of affected rows.
    pub fn execute(&self, sql: &str, values: PgParams<'_>) -> StoreResult<u64> {
        self.with_client(async |client| client.execute(&self.prepared(client, sql).await?, values).await)
    }

    /// Executes statements without parameters.
    pub fn batch(&self, sql: &str) -> StoreResult<()> {
        self.with_client(async |client| client.batch_execute(sql).await)
    }

    /// Writes rows in the text format of COPY.
    pub fn copy_in(&self, sql: &str, text: &Bytes) -> StoreResult<()> {
        self.with_client(async |client| {
            let sink = client.copy_in(sql).await?;
            futures_util::pin_mut!(sink);
            sink.send(text.clone()).await?;
            sink.finish().await.map(|_| ())
        })
    }

    /// As `in_snapshot`, without a retry: a connection that is lost meanwhile is an error.
    pub fn in_snapshot_once<T>(&self, work: impl Fn() -> StoreResult<T>) -> StoreResult<T> {
        self.try_transaction("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY", "COMMIT", &work)
    }

    /// Executes `work` in one transaction; inside another transaction it is part of that.
    pub fn retry_transaction<T>(&self, begin: &str, end: &str, work: impl Fn() -> StoreResult<T>) -> StoreResult<T> {
        if self.is_in_transaction.get() {
            return work();
        }
        let mut times = 1;
        loop {
            match self.try_transaction(begin, end, &work) {
                Err(error) if times < MAX_ATTEMPTS && self.may_retry(&error) => {
                    times += 1;
                    thread::sleep(Duration::from_millis(u64::from(times)));
                }
                done => return done,
            }
        }
    }

    fn try_transaction<T>(&self, begin: &str, end: &str, work: &impl Fn() -> StoreResult<T>) -> StoreResult<T> {
        self.batch(begin)?;
        self.is_in_transaction.set(true);
        let done = work().and_then(|it| self.batch(end).map(|()| it));
        if done.is_err() && self.batch("ROLLBACK").is_err() {
            // The first error is reported; the server rolls back what a lost connection had begun.
            self.connection.replace(None);
        }
        self.is_in_transaction.set(false);
        done
    }

    /// Cancels what the present connection executes; nothing where there is none.
    pub fn interrupter(&self) -> Interrupter {
        let line = self.connection.borrow().clone();
        Interrupter::new(move || line.iter().for_each(|line| line.cancel_query()))
    }

    fn may_retry(&self, error: &StoreError) -> bool {
        is_transient(error) || (matches!(error, StoreError::Unreachable { .. }) && !self.is_unreachable.get())
    }

    fn with_client<T>(&self, work: impl AsyncFn(&Client) -> Result<T, tokio_postgres::Error>) -> StoreResult<T> {
        let mut again = !self.is_in_transaction.get();
        loop {
            let line = self.connection()?;
            let error = match self.await_answer(&line, work(&line.client))? {
                Ok(done) => return Ok(done),
                Err(error) => to_store_error(&error, &self.at),
            };
            if matches!(error, StoreError::Unreachable { .. }) {
                self.connection.replace(None);
                if std::mem::take(&mut again) {
                    continue;
                }
            }
            return Err(error);
        }
    }

    async fn prepared(&self, client: &Client, sql: &str) -> Result<Statement, tokio_postgres::Error> {
        // Not cached: tables of rows come and go.
        if sql.contains("_rows_") {
            return client.prepare(sql).await;
        }
        if let Some(known) = self.statements.borrow().get(sql) {
            return Ok(known.clone());
        }
        let statement = client.prepare(sql).await?;
        self.statements.borrow_mut().insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Waits for the server's answer. A server that does not answer is given up, and not asked again at once.
    fn await_answer<T>(&self, line: &ServerConnection, asked: impl Future<Output = T>) -> StoreResult<T> {
        let timeouts = self.at.timeouts();
        let limit = if self.reads_only { timeouts.read_timeout } else { timeouts.statement_timeout };
        line.await_answer(asked, timeouts, limit).map_err(|why| {
            self.connection.replace(None);
            self.is_unreachable.set(true);
            self.connection_lost(&why)
        })
    }

    /// The connection, opened again if it was lost; not inside a transaction, which is lost with it.
    fn connection(&self) -> StoreResult<Arc<ServerConnection>> {
        let there = self.connection.borrow().as_ref().filter(|line| !line.client.is_closed()).cloned();
        if let Some(line) = there {
            return Ok(line);
        }
        if self.is_in_transaction.get() {
            return Err(self.connection_lost("the connection was lost in the middle of a transaction"));
        }
        if let Some(why) = &*self.cooldown.lock().unwrap_or_else(PoisonError::into_inner) {
            return Err(self.connection_lost(why));
        }
        self.statements.borrow_mut().clear();
        let mut patience = if self.is_unreachable.get() { Duration::ZERO } else { MAX_RECONNECT_TIME };
        loop {
            let mut took = Duration::ZERO;
            match self.connect(&mut took) {
                Err(StoreError::Unreachable { .. }) if patience > took => {
                    patience = patience.saturating_sub(took + RECONNECT_PAUSE);
                    thread::sleep(RECONNECT_PAUSE);
                }
                Err(error) => {
                    self.is_unreachable.set(true);
                    if !took.is_zero() {
                        self.start_cooldown(&error);
                    }
                    return Err(error);
                }
                Ok(line) => {
                    self.is_unreachable.set(false);
                    let line = Arc::new(line);
                    self.connection.replace(Some(Arc::clone(&line)));
                    return Ok(line);
                }
            }
        }
    }

    fn start_cooldown(&self, error: &StoreError) {
        let StoreError::Unreachable { why, .. } = error else { return };
        *self.cooldown.lock().unwrap_or_else(PoisonError::into_inner) = Some(why.clone());
        let rests = Arc::clone(&self.cooldown);
        connection::run_later(COOLDOWN, move || *rests.lock().unwrap_or_else(PoisonError::into_inner) = None);
    }

    /// Sets `took` to the time that was waited for a server that did not answer.
    fn connect(&self, took: &mut Duration) -> StoreResult<ServerConnection> {
        let mut config: Config = self.at.with_password().parse().map_err(|_| StoreError::LoginRejected {
            at: self.at.clone(),
            why: "the driver cannot parse the address".to_owned(),
        })?;
        tls::require_tls_for_remote(&mut config, self.at.with_password());
        let deadline = self.at.timeouts().connect_timeout.0;
        config.application_name("pieme").connect_timeout(deadline);
        config.keepalives_idle(TCP_USER_TIMEOUT).tcp_user_timeout(TCP_USER_TIMEOUT);
        let (read_only, idle) = match self.reads_only {
            true => ("; SET default_transaction_read_only TO on", READER_IDLE_TIMEOUT),
            false => ("", self.at.timeouts().idle_in_transaction),
        };
        let idle = idle.0.as_millis();
        let greeting = format!(
            "SET search_path TO {}; {SETTINGS}; SET idle_in_transaction_session_timeout TO {idle}{read_only}",
            self.at.schema()
        );
        connection::connect(&config, greeting, deadline).map_err(|error| match error {
            ConnectFailure::Driver(error) => to_store_error(&error, &self.at),
            ConnectFailure::Silent(why) => {
                *took = deadline;
                self.connection_lost(&why)
            }
            ConnectFailure::Other(why) => self.connection_lost(&why),
        })
    }

    fn connection_lost(&self, why: &str) -> StoreError {
        StoreError::Unreachable { at: self.at.clone(), why: why.to_owned() }
    }
}

/// Decodes a cell of an answer; the stored value is not trusted.
pub(super) fn get<'r, T: FromSql<'r>>(row: &'r Row, at: usize) -> StoreResult<T> {
    row.try_get(at).map_err(StoreError::invalid_value)
}
