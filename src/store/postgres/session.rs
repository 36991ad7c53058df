//! One connection to the server. It is made again when it was lost, with bounded patience; what was asked outside a
//! transaction is then asked once more, and a transaction is begun anew. So every transaction here can be done twice.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use tokio_postgres::types::{FromSql, ToSql};
use tokio_postgres::{Client, Config, Row, Statement};

use super::StoreError;
use super::line::{self, Line, Unconnected};
use super::tls;
use super::trouble::{is_passing, named};
use crate::model::{PostgresAddress, Span};

/// A server that restarts is back within seconds; one that is away for longer costs the runs that end meanwhile.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(250);
/// A server that said nothing is not asked again at once: who waits in line would wait as long, one after the other.
const REST: Duration = Duration::from_secs(1);
/// After so long the system gives up a machine that fell silent under a connection.
const SILENCE: Duration = Duration::from_secs(30);
/// How often a transaction is begun anew: others were in its way, or the connection was lost.
const MOST_TIMES: u32 = 10;
const SETTINGS: &str = "SET client_min_messages TO warning; SET lock_timeout TO '20s'; SET TIME ZONE 'UTC'";
/// A reader may stand still for so long (`pieme export` into a pager): it holds no lock that others wait for.
const IDLE_READER: Span = Span::seconds(60);

/// What is given with a statement.
pub(super) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

pub(super) struct Session {
    at: PostgresAddress,
    reads_only: bool,
    line: RefCell<Option<Arc<Line>>>,
    statements: RefCell<HashMap<String, Statement>>,
    in_one: Cell<bool>,
    /// It could not be reached the last time: nobody waits for it in vain again.
    away: Cell<bool>,
    /// Why that is believed for a moment without asking.
    rests: Arc<Mutex<Option<String>>>,
}

impl Session {
    pub fn open(at: &PostgresAddress, reads_only: bool) -> Result<Session, StoreError> {
        let session = Session {
            at: at.clone(),
            reads_only,
            line: RefCell::default(),
            statements: RefCell::default(),
            in_one: Cell::new(false),
            // At the start a person waits: one try.
            away: Cell::new(true),
            rests: Arc::default(),
        };
        session.line()?;
        Ok(session)
    }

    pub fn at(&self) -> &PostgresAddress {
        &self.at
    }

    pub fn rows(&self, sql: &str, values: Values<'_>) -> Result<Vec<Row>, StoreError> {
        self.with(async |client| client.query(&self.prepared(client, sql).await?, values).await)
    }

    pub fn row(&self, sql: &str, values: Values<'_>) -> Result<Option<Row>, StoreError> {
        self.with(async |client| client.query_opt(&self.prepared(client, sql).await?, values).await)
    }

    /// Every row of an answer, however many there are, without keeping them.
    pub fn each(
        &self,
        sql: &str,
        values: Values<'_>,
        mut take: impl FnMut(&Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let line = self.line()?;
        let asked = line.client.query_raw(sql, values.iter().copied());
        let rows = self.answer(&line, asked)?.map_err(|error| named(&error, &self.at))?;
        futures_util::pin_mut!(rows);
        // Whoever takes a row may wait for another server meanwhile.
        while let Some(row) = self.answer(&line, rows.next())? {
            take(&row.map_err(|error| named(&error, &self.at))?)?;
        }
        Ok(())
    }

    /// One number of an answer that always has it.
    pub fn number(&self, sql: &str, values: Values<'_>) -> Result<i64, StoreError> {
        self.with(async |client| client.query_one(&self.prepared(client, sql).await?, values).await?.try_get(0))
    }

    /// Answers with how many rows it touched.
    pub fn execute(&self, sql: &str, values: Values<'_>) -> Result<u64, StoreError> {
        self.with(async |client| client.execute(&self.prepared(client, sql).await?, values).await)
    }

    /// Statements without values.
    pub fn batch(&self, sql: &str) -> Result<(), StoreError> {
        self.with(async |client| client.batch_execute(sql).await)
    }

    /// Rows in the text format of COPY.
    pub fn copy_in(&self, sql: &str, text: &Bytes) -> Result<(), StoreError> {
        self.with(async |client| {
            let sink = client.copy_in(sql).await?;
            futures_util::pin_mut!(sink);
            sink.send(text.clone()).await?;
            sink.finish().await.map(|_| ())
        })
    }

    /// All of the work in one transaction, or none of it. It may be done more than once, so it changes nothing else. Inside
    /// another it is part of that.
    pub fn in_one<T>(&self, work: impl Fn() -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.transaction("BEGIN", "COMMIT", work)
    }

    /// All looks of one moment.
    pub fn moment<T>(&self, work: impl Fn() -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.transaction("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY", "COMMIT", work)
    }

    /// The same, done once: a connection that is lost meanwhile is an error.
    pub fn moment_once<T>(&self, work: impl Fn() -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.once("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY", "COMMIT", &work)
    }

    /// Does the work and takes it back.
    pub fn taken_back<T>(&self, work: impl Fn() -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.transaction("BEGIN", "ROLLBACK", work)
    }

    fn transaction<T>(
        &self,
        begin: &str,
        end: &str,
        work: impl Fn() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if self.in_one.get() {
            return work();
        }
        let mut times = 1;
        loop {
            match self.once(begin, end, &work) {
                Err(error) if times < MOST_TIMES && self.may_be_done_again(&error) => {
                    times += 1;
                    thread::sleep(Duration::from_millis(u64::from(times)));
                }
                done => return done,
            }
        }
    }

    fn once<T>(&self, begin: &str, end: &str, work: &impl Fn() -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.batch(begin)?;
        self.in_one.set(true);
        let done = work().and_then(|it| self.batch(end).map(|()| it));
        if done.is_err() && self.batch("ROLLBACK").is_err() {
            // The first error is the one to tell; the server takes back what a lost connection had begun.
            self.line.replace(None);
        }
        self.in_one.set(false);
        done
    }

    fn may_be_done_again(&self, error: &StoreError) -> bool {
        is_passing(error) || (matches!(error, StoreError::Away { .. }) && !self.away.get())
    }

    fn with<T>(&self, work: impl AsyncFn(&Client) -> Result<T, tokio_postgres::Error>) -> Result<T, StoreError> {
        let mut again = !self.in_one.get();
        loop {
            let line = self.line()?;
            let error = match self.answer(&line, work(&line.client))? {
                Ok(done) => return Ok(done),
                Err(error) => named(&error, &self.at),
            };
            if matches!(error, StoreError::Away { .. }) {
                self.line.replace(None);
                if std::mem::take(&mut again) {
                    continue;
                }
            }
            return Err(error);
        }
    }

    async fn prepared(&self, client: &Client, sql: &str) -> Result<Statement, tokio_postgres::Error> {
        // Tables of rows come and go.
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

    /// What the server answers; one that does not is given up, and not asked again at once.
    fn answer<T>(&self, line: &Line, asked: impl Future<Output = T>) -> Result<T, StoreError> {
        let timeouts = self.at.timeouts();
        let limit = if self.reads_only { timeouts.read_timeout } else { timeouts.statement_timeout };
        line.answer(asked, timeouts, limit).map_err(|why| {
            self.line.replace(None);
            self.away.set(true);
            self.lost(&why)
        })
    }

    /// The connection, made again if it is lost. Inside a transaction it is not: that is lost with it.
    fn line(&self) -> Result<Arc<Line>, StoreError> {
        let there = self.line.borrow().as_ref().filter(|line| !line.client.is_closed()).cloned();
        if let Some(line) = there {
            return Ok(line);
        }
        if self.in_one.get() {
            return Err(self.lost("the connection was lost in the middle of a transaction"));
        }
        if let Some(why) = &*self.rests.lock().unwrap_or_else(PoisonError::into_inner) {
            return Err(self.lost(why));
        }
        self.statements.borrow_mut().clear();
        let mut patience = if self.away.get() { Duration::ZERO } else { PATIENCE };
        loop {
            let mut took = Duration::ZERO;
            match self.connect(&mut took) {
                Err(StoreError::Away { .. }) if patience > took => {
                    patience = patience.saturating_sub(took + PAUSE);
                    thread::sleep(PAUSE);
                }
                Err(error) => {
                    self.away.set(true);
                    if !took.is_zero() {
                        self.rest(&error);
                    }
                    return Err(error);
                }
                Ok(line) => {
                    self.away.set(false);
                    let line = Arc::new(line);
                    self.line.replace(Some(Arc::clone(&line)));
                    return Ok(line);
                }
            }
        }
    }

    fn rest(&self, error: &StoreError) {
        let StoreError::Away { why, .. } = error else { return };
        *self.rests.lock().unwrap_or_else(PoisonError::into_inner) = Some(why.clone());
        let rests = Arc::clone(&self.rests);
        line::after(REST, move || *rests.lock().unwrap_or_else(PoisonError::into_inner) = None);
    }

    /// Notes in `took` how long nobody said anything.
    fn connect(&self, took: &mut Duration) -> Result<Line, StoreError> {
        let mut config: Config = self.at.with_password().parse().map_err(|_| StoreError::NotLetIn {
            at: self.at.clone(),
            why: "the address says what the driver does not understand".to_owned(),
        })?;
        tls::settle(&mut config, self.at.with_password());
        let deadline = self.at.timeouts().connect_timeout.0;
        config.application_name("pieme").connect_timeout(deadline);
        config.keepalives_idle(SILENCE).tcp_user_timeout(SILENCE);
        let (read_only, idle) = match self.reads_only {
            true => ("; SET default_transaction_read_only TO on", IDLE_READER),
            false => ("", self.at.timeouts().idle_in_transaction),
        };
        let idle = idle.0.as_millis();
        let greeting = format!(
            "SET search_path TO {}; {SETTINGS}; SET idle_in_transaction_session_timeout TO {idle}{read_only}",
            self.at.schema()
        );
        line::connect(&config, greeting, deadline).map_err(|error| match error {
            Unconnected::Driver(error) => named(&error, &self.at),
            Unconnected::Silent(why) => {
                *took = deadline;
                self.lost(&why)
            }
            Unconnected::Other(why) => self.lost(&why),
        })
    }

    fn lost(&self, why: &str) -> StoreError {
        StoreError::Away { at: self.at.clone(), why: why.to_owned() }
    }
}

/// A cell of an answer, which is what its column says or makes no sense.
pub(super) fn get<'r, T: FromSql<'r>>(row: &'r Row, at: usize) -> Result<T, StoreError> {
    row.try_get(at).map_err(StoreError::value)
}
